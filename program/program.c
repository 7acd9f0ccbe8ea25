/* program.c - creates and destroys programs, and the public functions that read them. */
#include "program/program.h"

#include <stdio.h>

fnz_status fnzi_program_create(fnz_context *ctx, fnz_program **out) {
  fnz_program *p = *out = fnzi_resize(ctx, NULL, 0, sizeof *p);
  if (!p)
    return fnzi_no_memory(ctx);
  *p = (fnz_program){.ctx = ctx, .torch_version = ""};
  fnzi_arena_init(&p->arena, ctx);
  fnzi_map_init(&p->strings, ctx);
  fnzi_map_init(&p->geometries, ctx);
  fnzi_map_init(&p->symbol_index, ctx);
  fnzi_map_init(&p->weight_index, ctx);
  fnzi_map_init(&p->op_index, ctx);
  fnzi_scope_init(&p->scope, ctx);
  return FNZ_OK;
}

void fnzi_graph_end(fnz_context *ctx, fnzi_graph *g) {
  fnzi_names_free(ctx, &g->names);
  FNZI_VEC_FREE(ctx, &g->counters);
  fnzi_map_free(&g->stems);
  FNZI_VEC_FREE(ctx, &g->values);
  FNZI_VEC_FREE(ctx, &g->nodes);
  FNZI_VEC_FREE(ctx, &g->unsaid);
}

void fnz_program_destroy(fnz_program *p) {
  if (!p)
    return;
  for (size_t i = 0; i < p->graphs.count; i++)
    fnzi_graph_end(p->ctx, &p->graphs.data[i]);
  FNZI_VEC_FREE(p->ctx, &p->graphs);
  for (size_t i = 0; i < p->weights.count; i++)
    fnzi_blob_release(p->weights.data[i].blob);
  FNZI_VEC_FREE(p->ctx, &p->weights);
  fnzi_extras_release(p->extras);
  FNZI_VEC_FREE(p->ctx, &p->symbols);
  FNZI_VEC_FREE(p->ctx, &p->ranges);
  FNZI_VEC_FREE(p->ctx, &p->custom_ops);
  FNZI_VEC_FREE(p->ctx, &p->guards);
  fnzi_map_free(&p->strings);
  fnzi_map_free(&p->geometries);
  fnzi_map_free(&p->symbol_index);
  fnzi_map_free(&p->weight_index);
  fnzi_map_free(&p->op_index);
  fnzi_scope_end(&p->scope);
  fnzi_arena_free(&p->arena);
  fnzi_free(p->ctx, p, sizeof *p);
}

/* --- looking ---------------------------------------------------------------------------------- */
const char *fnz_program_torch_version(const fnz_program *p) {
  return p->torch_version;
}

fnz_schema_version fnz_program_schema_version(const fnz_program *p) {
  return (fnz_schema_version){p->schema_major, p->schema_minor};
}

size_t fnz_graph_count(const fnz_program *p) {
  return p->graphs.count;
}

size_t fnz_node_count(const fnz_program *p, size_t graph) {
  return graph < p->graphs.count ? p->graphs.data[graph].nodes.count : 0;
}

fnz_node_info fnz_program_node(const fnz_program *p, size_t graph, size_t node) {
  if (node >= fnz_node_count(p, graph))
    return (fnz_node_info){.target = "", .source = ""};
  const fnzi_node *n = fnzi_node_at(p, (uint32_t)graph, (uint32_t)node);
  return (fnz_node_info){fnzi_node_target(n), n->op,       n->args,  n->nargs,
                         n->outputs,          n->noutputs, n->source};
}

const fnz_arg *fnz_graph_inputs(const fnz_program *p, size_t graph, size_t *count) {
  const fnzi_graph *g = graph < p->graphs.count ? &p->graphs.data[graph] : NULL;
  *count = g ? g->ninputs : 0;
  return g ? g->inputs : NULL;
}

const fnz_arg *fnz_graph_outputs(const fnz_program *p, size_t graph, size_t *count) {
  const fnzi_graph *g = graph < p->graphs.count ? &p->graphs.data[graph] : NULL;
  *count = g ? g->noutputs : 0;
  return g ? g->outputs : NULL;
}

static const fnzi_value *find_value(const fnz_program *p, size_t graph, uint64_t value) {
  if (graph >= p->graphs.count || value >= p->graphs.data[graph].values.count)
    return NULL;
  return fnzi_value_at(p, (uint32_t)graph, value);
}

const char *fnz_value_name(const fnz_program *p, size_t graph, uint64_t value) {
  const fnzi_value *v = find_value(p, graph, value);
  return v ? v->name : "";
}

const fnz_geometry *fnz_value_geometry(const fnz_program *p, size_t graph, uint64_t value) {
  const fnzi_value *v = find_value(p, graph, value);
  return v ? v->geometry : NULL;
}

fnz_symbol fnz_program_symbol(const fnz_program *p, uint32_t index) {
  if (!index || index >= p->symbols.count)
    return (fnz_symbol){NULL, false, 0, 0, 0};
  const fnzi_symbol *symbol = &p->symbols.data[index];
  fnz_symbol out = {symbol->text, symbol->has_hint, symbol->hint, INT64_MIN, INT64_MAX};
  for (size_t i = 0; i < p->ranges.count; i++)
    if (strcmp(p->ranges.data[i].symbol, symbol->text) == 0) {
      out.least = p->ranges.data[i].min;
      out.greatest = p->ranges.data[i].max;
    }
  return out;
}

fnz_input_spec fnz_program_input(const fnz_program *p, size_t k) {
  bool is_there = p->graphs.count && k < p->graphs.data[0].ninputs;
  return is_there ? p->inputs[k] : (fnz_input_spec){.kind = FNZ_INPUT_USER, .target = ""};
}

fnz_output_spec fnz_program_output(const fnz_program *p, size_t k) {
  bool is_there = p->graphs.count && k < p->graphs.data[0].noutputs;
  return is_there ? p->outputs[k] : (fnz_output_spec){.kind = FNZ_OUTPUT_USER};
}

const fnzi_weight *fnzi_weight_find(const fnz_program *p, const char *name) {
  uint64_t at;
  return fnzi_map_get(&p->weight_index, name, strlen(name), &at) ? &p->weights.data[at] : NULL;
}

fnz_weight fnz_program_weight(const fnz_program *p, const char *name) {
  const fnzi_weight *w = name ? fnzi_weight_find(p, name) : NULL;
  if (!w)
    return (fnz_weight){NULL, NULL, NULL, 0};
  if (!w->blob)
    return (fnz_weight){w->name, w->geometry, NULL, 0};
  return (fnz_weight){w->name, w->geometry, fnzi_blob_data(w->blob), fnzi_blob_bytes(w->blob)};
}

const fnz_op *fnzi_op_find(const fnz_program *p, const char *name) {
  uint64_t at;
  if (fnzi_map_get(&p->op_index, name, strlen(name), &at))
    return p->custom_ops.data[at];
  return fnzi_scope_find(&p->scope, name);
}

bool fnzi_program_has_symbols(const fnz_program *p) {
  for (size_t i = 0; i < p->graphs.count; i++) {
    const fnzi_graph *g = &p->graphs.data[i];
    for (size_t v = 0; v < g->values.count; v++) {
      const fnzi_value *value = &g->values.data[v];
      if (value->symbol || (value->geometry && value->geometry->symbols))
        return true;
    }
  }
  uint32_t noutputs = p->graphs.count ? p->graphs.data[0].noutputs : 0;
  for (uint32_t k = 0; p->outputs && k < noutputs; k++)
    if (p->outputs[k].window && p->outputs[k].window->symbols)
      return true;
  return false;
}

/* --- places, for messages -------------------------------------------------------------------- */
void fnzi_node_describe(const fnz_program *p, uint32_t graph, uint32_t node, const fnzi_node *n,
                        char out[160]) {
  const char *name = fnzi_graph_at(p, graph)->name;
  char source[80], region[64] = "";
  const char *from = n->source ? n->source : "";
  /* The last `File "path", line N` of a stack trace, where there is one. */
  static const char before[] = "File \"", behind[] = "\", line ";
  const char *path = NULL;
  for (const char *s = from; (s = strstr(s, before)) != NULL; s++)
    path = s + strlen(before);
  const char *end = path ? strstr(path, behind) : NULL;
  for (const char *s = path; end && s < end; s++)
    if (*s == '/')
      path = s + 1;
  if (end) {
    const char *line = end + strlen(behind);
    snprintf(source, sizeof source, "%.*s:%.*s", (int)(end - path), path,
             (int)strspn(line, "0123456789"), line);
  } else
    snprintf(source, sizeof source, "%.*s", (int)strcspn(from, "\n"), from);
  if (graph && name[0])
    snprintf(region, sizeof region, " of graph %.40s", name);
  else if (graph)
    snprintf(region, sizeof region, " of graph %u", graph);
  snprintf(out, 160, "node %u%s (%.40s%s%.48s)", node, region, fnzi_node_target(n),
           source[0] ? " at " : "", source);
}

void fnzi_node_place(const fnz_program *p, uint32_t graph, uint32_t node, char out[160]) {
  fnzi_node_describe(p, graph, node, fnzi_node_at(p, graph, node), out);
}
