/* lift_floats.c - floats of the results to expressions of the source.
 *
 * needs   the number that an argument is in each trial
 * gives   the expression whose label it is. A node has no labels whose operator computes sizes of
 *         floats, or that has no operator: there the expression, or the literal, that such a node
 *         of the source has and that is the number in all trials; a refusal where several are, or
 *         none */
#include "functionalize/dynamic/lift.h"

static fnz_status is_float(fnzi_lifter *l, const fnzi_expr *e, bool *out) {
  const fnzi_graph *graph;
  const fnzi_node *node = NULL;
  if (!e->is_real)
    FNZ_TRY(fnzi_computer_find(&l->computer, e, true, &graph, &node));
  *out = e->is_real || node;
  return FNZ_OK;
}

static bool has_literal(const fnzi_lifter *l, double literal) {
  for (size_t i = 0; i < l->floats.count; i++)
    if (!l->floats.data[i].e && memcmp(&l->floats.data[i].literal, &literal, sizeof literal) == 0)
      return true;
  return false;
}

static bool has_expr(const fnzi_lifter *l, const fnzi_expr *e) {
  for (size_t i = 0; i < l->floats.count; i++)
    if (l->floats.data[i].e == e)
      return true;
  return false;
}

static fnz_status add_float(fnzi_lifter *l, const fnzi_graph *graph, const fnz_arg *arg) {
  if (arg->tag == FNZ_ARG_FLOAT && !has_literal(l, arg->u.f))
    FNZI_PUSH(l->ctx, &l->floats, ((fnzi_float){NULL, arg->u.f}));
  if (arg->tag != FNZ_ARG_SYMBOL)
    return FNZ_OK;
  uint32_t symbol = graph->values.data[arg->u.value].symbol;
  const fnzi_expr *e = symbol ? l->sizes->symbols[symbol] : NULL;
  bool wanted = e && !has_expr(l, e);
  if (wanted)
    FNZ_TRY(is_float(l, e, &wanted));
  if (wanted)
    FNZI_PUSH(l->ctx, &l->floats, ((fnzi_float){e, 0}));
  l->has_unlabelled = l->has_unlabelled || wanted;
  return FNZ_OK;
}

/* Once for all graphs: a result's node may be of a body that was inlined. */
static fnz_status find_floats(fnzi_lifter *l) {
  l->knows_floats = true;
  for (size_t g = 0; g < l->from->graphs.count; g++) {
    const fnzi_graph *graph = &l->from->graphs.data[g];
    for (size_t n = 0; n < graph->nodes.count; n++) {
      const fnzi_node *node = &graph->nodes.data[n];
      if (!fnzi_is_unlabelled(node->op) || fnzi_is_size_node(node))
        continue;
      FNZI_EACH_ARG(each, node->args, node->nargs)
        FNZ_TRY(add_float(l, graph, each.arg));
    }
  }
  return FNZ_OK;
}

/* *done false: the source has no expressions in such places. */
static fnz_status lift_unlabelled(fnzi_lifter *l, const char *place, const double *numbers,
                                  bool same, fnz_arg *arg, bool *done) {
  const fnzi_expr *found = NULL;
  *done = false;
  if (!l->knows_floats)
    FNZ_TRY(find_floats(l));
  if (!l->has_unlabelled)
    return FNZ_OK;
  size_t count = same && has_literal(l, numbers[0]);
  for (size_t i = 0; i < l->floats.count; i++) {
    bool yes = false;
    if (l->floats.data[i].e)
      FNZ_TRY(fnzi_fit_gives(&l->fit, l->floats.data[i].e, numbers, false, &yes));
    found = yes ? l->floats.data[i].e : found;
    count += yes;
  }
  *done = true;
  if (count != 1)
    return fnzi_arena_format(
        l->arena, l->what, "%s has a float, %g at some size, that %s", fnzi_lift_place(l, place),
        numbers[0], count ? "may be one of several numbers of the source" : "is made of others");
  return found ? fnzi_compute_real(&l->computer, found, arg) : FNZ_OK;
}

/* Floating point numbers must come out as such, where they are whole too. */
fnz_status fnzi_lift_real(fnzi_lifter *l, const char *place, bool same, fnz_arg *arg, bool *found) {
  const fnzi_expr *e;
  double *numbers;
  FNZI_NEW(l->arena, l->count, &numbers);
  for (size_t k = 0; k < l->count; k++)
    numbers[k] = l->walks[k].arg->u.f;
  if (l->unlabelled)
    FNZ_TRY(lift_unlabelled(l, place, numbers, same, arg, found));
  if (*found)
    return FNZ_OK;
  FNZ_TRY(fnzi_fit_reals(&l->fit, numbers, same, &e));
  *found = e != NULL;
  return e ? fnzi_compute_real(&l->computer, e, arg) : FNZ_OK;
}
