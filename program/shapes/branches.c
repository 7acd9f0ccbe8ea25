/* branches.c - numbers that regions give: where the sizes of a region's results depend on data,
 * exporters make up symbols for those of the node, which then seem to be free. They are what the
 * bodies return.
 *
 * needs   a verified program, expressions read only of what stands before the node
 * gives   such symbols stand for the expressions that all bodies have there; where bodies return
 *         different ones, or a loop does, they stay symbols */
#include "program/region_ops.h"
#include "program/shapes/sizes.h"

/* One number of a result: its place in a geometry, or the number that the result is. */
typedef struct place {
  const fnzi_hop *hop;
  uint32_t result, at;
} place;

/* What a body returns there; *out NULL when that has no expression. */
static fnz_status returned(fnzi_sizes *s, const place *p, uint32_t body, const fnzi_expr **out) {
  const fnzi_graph *g = fnzi_graph_at(s->program, p->hop->bodies[body]);
  const fnz_arg *arg = &g->outputs[p->result];
  *out = NULL;
  if (arg->tag == FNZ_ARG_INT)
    return fnzi_expr_number(&s->set, arg->u.i, 1, out);
  if (arg->tag == FNZ_ARG_SYMBOL) {
    uint32_t symbol = g->values.data[arg->u.value].symbol;
    return symbol ? fnzi_sizes_read(s, symbol, 0, out) : FNZ_OK;
  }
  const fnz_geometry *shape =
      arg->tag == FNZ_ARG_VALUE ? g->values.data[arg->u.value].geometry : NULL;
  if (!shape || p->at > 2 * shape->rank)
    return FNZ_OK;
  int64_t number = p->at < shape->rank       ? shape->sizes[p->at]
                   : p->at < 2 * shape->rank ? shape->strides[p->at - shape->rank]
                                             : shape->offset;
  return fnzi_sizes_read(s, shape->symbols ? shape->symbols[p->at] : 0, number, out);
}

static fnz_status define(fnzi_sizes *s, const place *p, uint32_t symbol) {
  const char *text = s->program->symbols.data[symbol].text;
  const fnzi_expr *meaning = NULL, *other;
  for (uint32_t i = 0; i < p->hop->nbodies; i++) {
    FNZ_TRY(returned(s, p, i, &other));
    if (!other || (meaning && other != meaning))
      return FNZ_OK;
    meaning = other;
  }
  return fnzi_expr_find(&s->set, text) ? FNZ_OK : fnzi_expr_name(&s->set, text, meaning);
}

fnz_status fnzi_sizes_define_results(fnzi_sizes *s, const fnzi_graph *graph, uint32_t node,
                                     const uint32_t *born) {
  fnzi_hop hop;
  if (!fnzi_hop_is_known(&graph->nodes.data[node]))
    return FNZ_OK;
  FNZ_TRY(fnzi_hop_read(s->set.ctx, s->program, &graph->nodes.data[node], &hop));
  if (hop.kind != FNZI_HOP_COND && hop.kind != FNZI_HOP_CALL)
    return FNZ_OK;
  for (uint32_t j = 0; j < hop.results.count; j++) {
    if (hop.results.args[j].tag != FNZ_ARG_VALUE && hop.results.args[j].tag != FNZ_ARG_SYMBOL)
      continue;
    const fnzi_value *v = &graph->values.data[hop.results.args[j].u.value];
    const uint32_t *symbols = v->geometry ? v->geometry->symbols : &v->symbol;
    uint32_t count = v->geometry ? 2 * v->geometry->rank + 1 : 1;
    for (uint32_t i = 0; symbols && i < count; i++)
      if (fnzi_is_made_up(s, symbols[i], node, born))
        FNZ_TRY(define(s, &(place){&hop, j, i}, symbols[i]));
  }
  return FNZ_OK;
}
