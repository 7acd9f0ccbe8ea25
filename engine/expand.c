/* expand.c - operators that are computed by others become those others before a plan is made, so
 * that what lies between them has places too.
 *
 * needs   a functional program of fixed sizes
 * gives   one whose operators have kernels of their own, and the node that each of its nodes comes
 *         from; nothing where there is no such operator, or it cannot be taken apart: then it stays
 *         a call that is evaluated as the interpreter does */
#include "engine/engine.h"

#include <fnz/decompose.h>

static const char runnable[] = "runnable";

/* Some node of graph 0 is made of others. */
static bool has_recipe(const fnz_program *p) {
  const fnzi_graph *g = fnzi_graph_at(p, 0);
  for (size_t n = 0; n < g->nodes.count; n++)
    if (g->nodes.data[n].op && !fnz_decomposition_keeps(runnable, g->nodes.data[n].op))
      return true;
  return false;
}

/* The signature is the same, and results have the types and sizes that they had. */
static bool is_same_outside(const fnz_program *a, const fnz_program *b) {
  const fnzi_graph *x = fnzi_graph_at(a, 0), *y = fnzi_graph_at(b, 0);
  bool same = x->ninputs == y->ninputs && x->noutputs == y->noutputs;
  for (uint32_t k = 0; same && k < x->ninputs; k++)
    same = x->inputs[k].tag == y->inputs[k].tag && a->inputs[k].kind == b->inputs[k].kind;
  for (uint32_t k = 0; same && k < x->noutputs; k++) {
    same = x->outputs[k].tag == y->outputs[k].tag && a->outputs[k].kind == b->outputs[k].kind;
    if (!same || x->outputs[k].tag != FNZ_ARG_VALUE)
      continue;
    const fnz_geometry *g = x->values.data[x->outputs[k].u.value].geometry,
                       *h = y->values.data[y->outputs[k].u.value].geometry;
    same = g->dtype == h->dtype && fnzi_same_sizes(g, h);
  }
  return same;
}

fnz_status fnzi_eng_expand(fnz_context *ctx, const fnz_program *p, fnzi_eng_expansion *out) {
  fnz_decompose_options options = FNZ_DECOMPOSE_OPTIONS_INIT;
  *out = (fnzi_eng_expansion){.program = NULL};
  if (!has_recipe(p))
    return FNZ_OK;
  options.set = runnable;
  const fnz_error had = ctx->error; /* what cannot be taken apart is no failure */
  fnz_status status = fnz_decompose_explained(ctx, p, &options, &out->program, &out->origins);
  if (status == FNZ_OK && !is_same_outside(p, out->program))
    fnzi_eng_expansion_end(ctx, out);
  if (status == FNZ_NO_MEMORY)
    return status;
  ctx->error = had;
  return FNZ_OK;
}

void fnzi_eng_expansion_end(fnz_context *ctx, fnzi_eng_expansion *e) {
  fnz_origins_destroy(ctx, e->origins);
  fnz_program_destroy(e->program);
  *e = (fnzi_eng_expansion){.program = NULL};
}

uint32_t fnzi_eng_origin(const fnz_origins *origins, uint32_t node) {
  const fnz_origin *from = origins ? fnz_origins_at(origins, 0, node) : NULL;
  if (!origins)
    return node;
  return from && from->graph == 0 && from->node != SIZE_MAX ? (uint32_t)from->node : FNZI_ENG_NONE;
}

uint32_t fnzi_eng_whole_node(const fnzi_eng_binding *b, uint32_t node) {
  return fnzi_eng_origin(b->parts, b->plan.origins ? b->plan.origins[node] : node);
}

void fnzi_eng_place_of(const fnzi_eng_binding *b, uint32_t node, char out[160]) {
  uint32_t from = fnzi_eng_whole_node(b, node);
  if (from == FNZI_ENG_NONE)
    fnzi_node_place(b->program, 0, node, out);
  else
    fnzi_node_place(b->whole, 0, from, out);
}
