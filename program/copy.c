/* copy.c - a program once more: with all of its numbers, names and orders, in memory of its own.
 *
 * keeps   indices of graphs, nodes, values and symbols, so that what refers to them still does
 * gives   a program that shares weights, and the extras of a .pt2 file, by reference count */
#include "program/program.h"

static fnz_status copy_heading(const fnz_program *from, fnz_program *to) {
  to->torch_version = from->torch_version;
  to->schema_major = from->schema_major;
  to->schema_minor = from->schema_minor;
  to->instantiated = from->instantiated;
  to->extras = from->extras ? fnzi_extras_retain(from->extras) : NULL;
  to->is_rewritten = from->is_rewritten;
  FNZ_TRY(fnzi_intern_text(to, &to->torch_version));
  for (size_t i = 0; i < from->custom_ops.count; i++) {
    const fnz_op *op = from->custom_ops.data[i];
    FNZ_TRY(fnzi_op_adopt(to, &op));
  }
  uint32_t index;
  for (size_t i = 1; i < from->symbols.count; i++) {
    const fnzi_symbol *s = &from->symbols.data[i];
    FNZ_TRY(fnzi_symbol_add(to, s->text, s->has_hint, s->hint, &index));
  }
  for (size_t i = 0; i < from->ranges.count; i++) {
    const fnzi_range *r = &from->ranges.data[i];
    FNZ_TRY(fnzi_range_add(to, r->symbol, r->min, r->max));
  }
  for (size_t i = 0; i < from->guards.count; i++)
    FNZ_TRY(fnzi_guard_add(to, &from->guards.data[i]));
  for (size_t i = 0; i < from->weights.count; i++) {
    const fnzi_weight *w = &from->weights.data[i];
    const fnz_geometry *g;
    FNZ_TRY(fnzi_intern_geometry(to, w->geometry, &g));
    FNZ_TRY(fnzi_weight_add(to, w->name, w->blob, g));
  }
  return FNZ_OK;
}

/* --- graphs ----------------------------------------------------------------------------------- */
static fnz_status copy_node(const fnzi_node *from, fnz_program *to, uint32_t graph) {
  fnzi_node node = *from;
  fnzi_node_other other;
  uint32_t index;
  FNZ_TRY(fnzi_intern_text(to, &node.source));
  if (node.op)
    FNZ_TRY(fnzi_op_adopt(to, &node.op));
  if (node.op)
    FNZ_TRY(fnzi_intern_text(to, &node.u.metadata));
  else {
    const char **names = NULL;
    other = *from->u.other;
    FNZ_TRY(fnzi_intern_text(to, &other.target));
    FNZ_TRY(fnzi_intern_text(to, &other.metadata));
    if (other.arg_names) {
      FNZI_NEW(&to->arena, from->nargs, &names);
      for (uint32_t i = 0; i < from->nargs; i++) {
        names[i] = from->u.other->arg_names[i];
        FNZ_TRY(fnzi_intern_text(to, &names[i]));
      }
      other.arg_names = names;
    }
  }
  if (!node.op)
    node.u.other = &other;
  return fnzi_node_add(to, graph, &node, &index);
}

static fnz_status copy_graph(const fnz_program *from, fnz_program *to, uint32_t graph) {
  const fnzi_graph *g = fnzi_graph_at(from, graph);
  uint32_t index;
  FNZ_TRY(fnzi_graph_add(to, g->name, &index));
  for (size_t v = 0; v < g->values.count; v++) {
    const fnzi_value *value = &g->values.data[v];
    const fnz_geometry *shape = value->geometry;
    uint32_t at;
    if (shape)
      FNZ_TRY(fnzi_intern_geometry(to, shape, &shape));
    FNZ_TRY(fnzi_value_add(to, graph, value->name, shape, value->node, &at));
    fnzi_value_at(to, graph, at)->symbol = value->symbol;
    fnzi_value_at(to, graph, at)->number = value->number;
  }
  for (size_t i = 0; i < g->unsaid.count; i++)
    FNZ_TRY(fnzi_value_unsaid(to, graph, g->unsaid.data[i]));
  fnzi_source_node *sources;
  for (size_t n = 0; n < g->nodes.count; n++)
    FNZ_TRY(copy_node(&g->nodes.data[n], to, graph));
  if (g->source_nodes) {
    FNZI_NEW(&to->arena, g->nodes.count, &sources);
    if (g->nodes.count)
      memcpy(sources, g->source_nodes, g->nodes.count * sizeof *sources);
    fnzi_graph_at(to, graph)->source_nodes = sources;
  }
  FNZ_TRY(fnzi_graph_set_inputs(to, graph, g->ninputs));
  FNZ_TRY(fnzi_graph_set_outputs(to, graph, g->noutputs));
  fnzi_graph *made = fnzi_graph_at(to, graph);
  made->source = g->source;
  made->returns_single = g->returns_single;
  FNZ_TRY(fnzi_args_copy(to, g->inputs, g->ninputs, &made->inputs));
  return fnzi_args_copy(to, g->outputs, g->noutputs, &made->outputs);
}

fnz_status fnzi_program_copy(fnz_context *ctx, const fnz_program *from, fnz_program **out) {
  fnz_program *to;
  *out = NULL;
  FNZ_TRY(fnzi_program_create(ctx, &to));
  fnz_status status = copy_heading(from, to);
  for (uint32_t i = 0; status == FNZ_OK && i < from->graphs.count; i++)
    status = copy_graph(from, to, i);
  const fnzi_graph *g = fnzi_graph_main(from);
  for (uint32_t k = 0; k < g->ninputs && status == FNZ_OK; k++) {
    to->inputs[k] = from->inputs[k];
    status = fnzi_intern_text(to, &to->inputs[k].target);
  }
  for (uint32_t k = 0; k < g->noutputs && status == FNZ_OK; k++)
    status = fnzi_output_spec_copy(to, &from->outputs[k], &to->outputs[k]);
  if (status == FNZ_OK)
    *out = to;
  else
    fnz_program_destroy(to);
  return status;
}
