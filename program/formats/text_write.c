/* text_write.c - a program as text that people read, type and diff (docs/text-format.md).
 *
 * Usual parts are left out: contiguous strides, offset 0, defaults of the schema, the kind "user".
 * The reader restores all of them. Long source notes are listed once and referred to by number. */
#include "program/formats/text_print.h"

enum { SHORT_SOURCE = 48 };

/* --- nodes ----------------------------------------------------------------------------------- */
static fnz_status put_notes(fnzi_printer *w, const fnzi_node *n) {
  uint64_t number;
  if (n->source[0]) {
    FNZ_TRY(fnzi_print(w, "  at "));
    if (fnzi_map_get(&w->sources, n->source, strlen(n->source), &number))
      FNZ_TRY(fnzi_put_int(w->ctx, w->out, (int64_t)number));
    else
      FNZ_TRY(fnzi_print_quoted(w, n->source));
  }
  if (!fnzi_node_metadata(n))
    return FNZ_OK;
  FNZ_TRY(fnzi_print(w, "  meta "));
  return fnzi_print_quoted(w, fnzi_node_metadata(n));
}

static fnz_status put_statement(fnzi_printer *w, const fnzi_node *n, fnzi_item_printer *item) {
  for (uint32_t i = 0; i < n->noutputs; i++) {
    if (i)
      FNZ_TRY(fnzi_print_comma(w));
    FNZ_TRY(fnzi_print_tree(w, &n->outputs[i], item));
  }
  if (n->noutputs)
    FNZ_TRY(fnzi_print(w, " = "));
  FNZ_TRY(fnzi_print_name(w, fnzi_node_target(n), ".:"));
  FNZ_TRY(fnzi_print(w, "("));
  if (n->op)
    FNZ_TRY(fnzi_print_op_args(w, n->op, n->args, n->nargs));
  for (uint32_t i = 0; i < n->nargs && !n->op; i++) {
    const char *name = fnzi_node_arg_name(n, i);
    if (i)
      FNZ_TRY(fnzi_print_comma(w));
    if (name[0]) {
      FNZ_TRY(fnzi_print_identifier(w, name));
      FNZ_TRY(fnzi_print(w, "="));
    }
    FNZ_TRY(fnzi_print_tree(w, &n->args[i], fnzi_print_use));
  }
  return fnzi_print(w, ")");
}

/* --- graphs ---------------------------------------------------------------------------------- */
static fnz_status put_inputs(fnzi_printer *w, const fnzi_graph *g) {
  FNZ_TRY(fnzi_print(w, "("));
  for (uint32_t k = 0; k < g->ninputs; k++) {
    FNZ_TRY(fnzi_print(w, k ? ",\n  " : "\n  "));
    w->line = w->out->size;
    FNZ_TRY(fnzi_print_tree(w, &g->inputs[k], fnzi_print_definition));
    if (w->graph == 0) {
      const fnz_input_spec *in = &w->p->inputs[k];
      if (in->kind != FNZ_INPUT_USER)
        FNZ_TRY(fnzi_printf(w->ctx, w->out, " %s", fnzi_input_kind_names[in->kind]));
      bool names_itself = fnzi_is_reference(&g->inputs[k]) &&
                          strcmp(g->values.data[g->inputs[k].u.value].name, in->target) == 0;
      if (!names_itself) {
        FNZ_TRY(fnzi_print(w, " "));
        FNZ_TRY(fnzi_print_quoted(w, in->target));
      }
      if (in->persistent)
        FNZ_TRY(fnzi_print(w, " persistent"));
      FNZ_TRY(fnzi_print_input_sharing(w, in));
    }
  }
  FNZ_TRY(fnzi_print(w, ")\n{"));
  return fnzi_print_line_end(w);
}

static fnz_status text_put_graph(fnzi_printer *w, uint32_t index) {
  const fnzi_graph *g = fnzi_graph_at(w->p, w->graph = index);
  if (index == 0)
    FNZ_TRY(fnzi_print(w, "program"));
  else {
    FNZ_TRY(fnzi_print(w, "\ngraph "));
    FNZ_TRY(fnzi_print_identifier(w, g->name));
  }
  FNZ_TRY(put_inputs(w, g));
  for (size_t k = 0; k < g->nodes.count; k++) {
    FNZ_TRY(fnzi_print(w, "  "));
    FNZ_TRY(put_statement(w, &g->nodes.data[k], fnzi_print_definition));
    FNZ_TRY(put_notes(w, &g->nodes.data[k]));
    FNZ_TRY(fnzi_print_line_end(w));
  }
  FNZ_TRY(fnzi_print(w, g->returns_single ? "  return single" : "  return"));
  for (uint32_t i = 0; i < g->noutputs; i++) {
    FNZ_TRY(i ? fnzi_print_comma(w) : fnzi_print(w, " "));
    FNZ_TRY(fnzi_print_tree(w, &g->outputs[i], fnzi_print_use));
    if (w->graph == 0) {
      const fnz_output_spec *out = &w->p->outputs[i];
      if (out->kind != FNZ_OUTPUT_USER)
        FNZ_TRY(fnzi_printf(w->ctx, w->out, " %s", fnzi_output_kind_names[out->kind]));
      if (out->target) {
        FNZ_TRY(fnzi_print(w, " "));
        FNZ_TRY(fnzi_print_quoted(w, out->target));
      }
      if (out->metadata)
        FNZ_TRY(fnzi_print(w, " metadata"));
      if (out->set)
        FNZ_TRY(fnzi_print(w, " set"));
      FNZ_TRY(fnzi_print_output_sharing(w, out));
    }
  }
  FNZ_TRY(fnzi_print(w, "\n}"));
  return fnzi_print_line_end(w);
}

/* --- what comes before the program ----------------------------------------------------------- */
static fnz_status text_put_ranges(fnzi_printer *w) {
  for (size_t i = 0; i < w->p->ranges.count; i++) {
    const fnzi_range *r = &w->p->ranges.data[i];
    FNZ_TRY(fnzi_print(w, "range "));
    FNZ_TRY(fnzi_print_identifier(w, r->symbol));
    FNZ_TRY(fnzi_print(w, " "));
    if (r->min != INT64_MIN)
      FNZ_TRY(fnzi_printf(w->ctx, w->out, "%lld", (long long)r->min));
    FNZ_TRY(fnzi_print(w, ".."));
    if (r->max != INT64_MAX)
      FNZ_TRY(fnzi_printf(w->ctx, w->out, "%lld", (long long)r->max));
    FNZ_TRY(fnzi_print_line_end(w));
  }
  return FNZ_OK;
}

static fnz_status put_declarations(fnzi_printer *w) {
  for (size_t i = 0; i < w->p->custom_ops.count; i++) {
    FNZ_TRY(fnzi_print(w, "operator "));
    FNZ_TRY(fnzi_print_quoted(w, fnz_op_schema(w->p->custom_ops.data[i])));
    FNZ_TRY(fnzi_print_line_end(w));
  }
  for (size_t i = 0; i < w->p->weights.count; i++) {
    FNZ_TRY(fnzi_print(w, "weight "));
    FNZ_TRY(fnzi_print_quoted(w, w->p->weights.data[i].name));
    FNZ_TRY(fnzi_print(w, ": "));
    FNZ_TRY(fnzi_print_tensor_type(w, w->p->weights.data[i].geometry));
    FNZ_TRY(fnzi_print_line_end(w));
  }
  return FNZ_OK;
}

static fnz_status text_put_source(fnzi_printer *w, const char *source, uint64_t *next) {
  uint64_t there;
  size_t size = strlen(source);
  bool is_short = size <= SHORT_SOURCE && !memchr(source, '\n', size);
  if (is_short || fnzi_map_get(&w->sources, source, size, &there))
    return FNZ_OK;
  FNZ_TRY(fnzi_map_set(&w->sources, source, size, *next));
  FNZ_TRY(fnzi_printf(w->ctx, w->out, "source %llu ", (unsigned long long)(*next)++));
  FNZ_TRY(fnzi_print_quoted(w, source));
  return fnzi_print_line_end(w);
}

static fnz_status put_program(fnzi_printer *w) {
  for (size_t i = 1; i < w->p->graphs.count; i++) {
    uint64_t count = 0;
    const char *name = w->p->graphs.data[i].name;
    fnzi_map_get(&w->regions, name, strlen(name), &count);
    FNZ_TRY(fnzi_map_set(&w->regions, name, strlen(name), count + 1));
  }
  FNZ_TRY(fnzi_printf(w->ctx, w->out, "fnz %d", FNZI_TEXT_VERSION));
  if (w->p->torch_version[0]) {
    FNZ_TRY(fnzi_print(w, " torch "));
    FNZ_TRY(fnzi_print_quoted(w, w->p->torch_version));
  }
  if (w->p->schema_major || w->p->schema_minor)
    FNZ_TRY(fnzi_printf(w->ctx, w->out, " schema %d.%d", w->p->schema_major, w->p->schema_minor));
  FNZ_TRY(fnzi_print_line_end(w));
  for (size_t i = 1; i < w->p->symbols.count; i++) {
    const fnzi_symbol *s = &w->p->symbols.data[i];
    FNZ_TRY(fnzi_print(w, "symbol "));
    FNZ_TRY(fnzi_print_identifier(w, s->text));
    if (s->has_hint)
      FNZ_TRY(fnzi_printf(w->ctx, w->out, " = %lld", (long long)s->hint));
    FNZ_TRY(fnzi_print_line_end(w));
  }
  FNZ_TRY(text_put_ranges(w));
  FNZ_TRY(put_declarations(w));
  FNZ_TRY(fnzi_print_guards(w));
  uint64_t next = 1;
  for (size_t i = 0; i < w->p->graphs.count; i++)
    for (size_t k = 0; k < w->p->graphs.data[i].nodes.count; k++)
      FNZ_TRY(text_put_source(w, w->p->graphs.data[i].nodes.data[k].source, &next));
  for (uint32_t i = 0; i < w->p->graphs.count; i++)
    FNZ_TRY(text_put_graph(w, i));
  return FNZ_OK;
}

fnz_status fnzi_write_text(fnz_context *ctx, const fnz_program *p, fnz_buffer *out,
                           struct fnzi_out_pieces *pieces) {
  (void)pieces;
  fnzi_printer w = {.ctx = ctx, .p = p, .out = out};
  fnzi_map_init(&w.sources, ctx);
  fnzi_map_init(&w.regions, ctx);
  fnz_status status = put_program(&w);
  fnzi_map_free(&w.sources);
  fnzi_map_free(&w.regions);
  return status;
}

/* --- parts, for messages --------------------------------------------------------------------- */
/* Without the table of regions that the whole text has, these go by number. */
fnz_status fnzi_write_node(fnz_context *ctx, const fnz_program *p, uint32_t graph, uint32_t node,
                           fnz_buffer *out) {
  return fnz_node_write(ctx, p, graph, node, true, out);
}

fnz_status fnz_node_write(fnz_context *ctx, const fnz_program *p, size_t graph, size_t node,
                          bool types, fnz_buffer *out) {
  fnzi_printer w = {.ctx = ctx, .p = p, .out = out, .graph = (uint32_t)graph, .line = out->size};
  if (node >= fnz_node_count(p, graph))
    return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL, "there is no node %zu in graph %zu", node,
                     graph);
  fnzi_map_init(&w.regions, ctx);
  return put_statement(&w, fnzi_node_at(p, (uint32_t)graph, (uint32_t)node),
                       types ? fnzi_print_definition : fnzi_print_use);
}

fnz_status fnzi_write_definition(fnz_context *ctx, const fnz_program *p, uint32_t graph,
                                 const fnz_arg *arg, fnz_buffer *out) {
  fnzi_printer w = {.ctx = ctx, .p = p, .out = out, .graph = graph, .line = out->size};
  fnzi_map_init(&w.regions, ctx);
  return fnzi_print_tree(&w, arg, fnzi_print_definition);
}

fnz_status fnzi_write_use(fnz_context *ctx, const fnz_program *p, uint32_t graph,
                          const fnz_arg *arg, fnz_buffer *out) {
  fnzi_printer w = {.ctx = ctx, .p = p, .out = out, .graph = graph, .line = out->size};
  fnzi_map_init(&w.regions, ctx);
  return fnzi_print_tree(&w, arg, fnzi_print_use);
}

fnz_status fnzi_write_type(fnz_context *ctx, const fnz_program *p, const fnz_geometry *g,
                           fnz_buffer *out) {
  fnzi_printer w = {.ctx = ctx, .p = p, .out = out};
  return fnzi_print_tensor_type(&w, g);
}
