/* stats.c - figures over all graphs of a program. */
#include "program/program.h"

bool fnzi_op_is_copy(const fnz_op *op) {
  return (op->tags & FNZI_TAG_VIEW_COPY) || fnzi_ends_with(op->base, "_scatter") ||
         strcmp(op->base, "_to_copy") == 0 || strcmp(op->base, "clone") == 0 ||
         strcmp(op->base, "copy") == 0;
}

fnz_stats fnz_program_stats(const fnz_program *p) {
  fnz_stats out = {.graphs = p->graphs.count};
  for (size_t i = 0; i < p->graphs.count; i++)
    for (size_t k = 0; k < p->graphs.data[i].nodes.count; k++) {
      const fnzi_node *n = &p->graphs.data[i].nodes.data[k];
      out.nodes++;
      if (n->op) {
        out.views += fnz_op_is_view(n->op);
        out.mutations += fnz_op_is_mutating(n->op);
        out.copies += fnzi_op_is_copy(n->op);
      }
    }
  out.weights = p->weights.count;
  for (size_t i = 0; i < p->weights.count; i++) {
    const fnz_geometry *g = p->weights.data[i].geometry;
    out.no_data += !p->weights.data[i].blob && fnz_geometry_numel(g) > 0;
    out.weight_bytes += (uint64_t)fnz_geometry_numel(g) * fnz_dtype_get_info(g->dtype)->bytes;
  }
  if (!p->graphs.count)
    return out;
  out.inputs = p->graphs.data[0].ninputs;
  out.outputs = p->graphs.data[0].noutputs;
  for (size_t k = 0; k < out.outputs; k++)
    out.mutated += fnzi_output_is_mutation(&p->outputs[k]);
  return out;
}
