/* lift_geometry.c - sizes and strides that trials have in one place to a geometry with symbols.
 *
 * needs   geometries of one rank and dtype, one per trial
 * gives   expressions for all numbers but an offset, which may be anything: views determine it */
#include "functionalize/dynamic/lift.h"

/* A place without an expression: *what says which. */
/* Reports that l->numbers has no expression; `place` names where they are. */
static fnz_status refuse(fnzi_lifter *l, const char *place) {
  fnz_buffer text = {NULL, 0, 0};
  fnz_status status = FNZ_OK;
  for (size_t k = 0; k < l->count && k < 6 && status == FNZ_OK; k++)
    status = fnzi_printf(l->ctx, &text, "%s%lld", k ? ", " : "", (long long)l->numbers[k]);
  if (status == FNZ_OK)
    status = fnzi_arena_format(l->arena, l->what, "%s is %s at different sizes",
                               fnzi_lift_place(l, place), text.data);
  fnz_buffer_free(l->ctx, &text);
  return status;
}

fnz_status fnzi_lift_fit(fnzi_lifter *l, const char *place, const fnzi_expr **out) {
  FNZ_TRY(fnzi_fit_numbers(&l->fit, l->numbers, out));
  return *out || *l->what ? FNZ_OK : refuse(l, place);
}

/* --- geometries ------------------------------------------------------------------------------- */
typedef struct shape {
  int64_t sizes[FNZ_MAX_RANK], strides[FNZ_MAX_RANK];
  uint32_t symbols[2 * FNZ_MAX_RANK + 1];
  const fnzi_expr *exprs[FNZ_MAX_RANK];
} shape;

/* The example of a number; 0 where there is none. */
static fnz_status keep_number(fnzi_lifter *l, const fnzi_expr *e, int64_t *number,
                              uint32_t *symbol) {
  bool known;
  FNZ_TRY(fnzi_symbol_of(&l->computer, e, symbol));
  FNZ_TRY(fnzi_point_int(l->recorded, e, &known, number));
  *number = known && *number >= 0 ? *number : 0;
  return FNZ_OK;
}

static bool varies(const fnzi_lifter *l) {
  for (size_t k = 1; k < l->count; k++)
    if (l->numbers[k] != l->numbers[0])
      return true;
  return false;
}

static fnz_status gives(fnzi_lifter *l, const fnzi_expr *e, bool *yes) {
  int64_t number;
  *yes = true;
  for (size_t k = 0; k < l->count && *yes; k++) {
    FNZ_TRY(fnzi_point_int(&l->fit.trials[k]->point, e, yes, &number));
    *yes = *yes && number == l->numbers[k];
  }
  return FNZ_OK;
}

bool fnzi_expr_is_among(const fnzi_expr *const *exprs, size_t count, const fnzi_expr *e) {
  for (size_t i = 0; i < count; i++)
    if (exprs[i] == e)
      return true;
  return false;
}

/* Each of several symbols that data makes equal is determined by a node of its own, so take one
 * that no earlier node has determined. `before`: sizes of the same geometry. */
static fnz_status undetermined_expr(fnzi_lifter *l, const fnzi_expr *const *before, size_t count,
                                    const fnzi_expr **out) {
  for (size_t i = 0; i < l->determined.count && !*out; i++) {
    const fnzi_expr *e = l->determined.data[i], *of;
    uint64_t unused;
    bool yes;
    if (!fnzi_expr_is_linear(e, &of) || fnzi_expr_is_among(before, count, e) ||
        fnzi_map_get(&l->computer.origins, &of->id, sizeof of->id, &unused))
      continue;
    FNZ_TRY(gives(l, e, &yes));
    *out = yes ? e : NULL;
  }
  return FNZ_OK;
}

/* The expression that the source records for the number, if the source records this very geometry
 * and the number varies. `before`: the sizes before it. */
static fnz_status given_expr(fnzi_lifter *l, uint32_t place, const fnzi_expr *const *before,
                             size_t count, const fnzi_expr **out) {
  uint32_t symbol = l->given && l->given->symbols ? l->given->symbols[place] : 0;
  *out = NULL;
  if (!varies(l))
    return FNZ_OK;
  *out = symbol ? l->sizes->symbols[symbol] : NULL;
  return l->by_data ? undetermined_expr(l, before, count, out) : FNZ_OK;
}

/* The strides of a tensor without elements are arbitrary. */
static bool is_row_major(const fnzi_lifter *l, const fnz_geometry *const *g, uint32_t d) {
  for (size_t k = 0; k < l->count; k++) {
    if (fnz_geometry_numel(g[k]) == 0)
      continue;
    int64_t size = d + 1 < g[k]->rank ? g[k]->sizes[d + 1] : 1, stride;
    int64_t below = d + 1 < g[k]->rank ? g[k]->strides[d + 1] : 1;
    if (!fnzi_mul_i64(below, size ? size : 1, &stride) || stride != g[k]->strides[d])
      return false;
  }
  return true;
}

/* The stride of a dimension that has one place, or none, leads nowhere. */
static bool leads_somewhere(const fnz_geometry *g, uint32_t d) {
  bool places = g->sizes[d] > 1;
  for (uint32_t i = 0; i < g->rank; i++)
    places = places && g->sizes[i] > 0;
  return places;
}

/* Fits the strides that matter. `dense` is used if no stride matters and no expression fits. */
static fnz_status fit_stride(fnzi_lifter *l, const fnz_geometry *const *g, uint32_t d,
                             const fnzi_expr *dense, const fnzi_expr **out) {
  bool *matters, all = true, any = false;
  *out = NULL;
  FNZI_NEW(l->arena, l->count, &matters);
  for (size_t k = 0; k < l->count; k++) {
    matters[k] = leads_somewhere(g[k], d);
    all = all && matters[k];
    any = any || matters[k];
  }
  if (any && !all)
    FNZ_TRY(fnzi_fit_some(&l->fit, l->numbers, matters, out));
  if (!any)
    FNZ_TRY(fnzi_fit_numbers(&l->fit, l->numbers, out));
  if (!any && !*out)
    *out = dense;
  return *out ? FNZ_OK : fnzi_lift_fit(l, "a stride", out);
}

/* The stride of dimension d in a contiguous layout; NULL if the next stride has no expression. */
static fnz_status dense_stride(fnzi_lifter *l, uint32_t rank, uint32_t d, const shape *s,
                               const fnzi_expr *below, const fnzi_expr **out) {
  *out = NULL;
  if (d + 1 == rank)
    return fnzi_expr_number(&l->sizes->set, 1, 1, out);
  return below ? fnzi_expr_mul(&l->sizes->set, below, s->exprs[d + 1], out) : FNZ_OK;
}

/* Lifts strides from the last one on: contiguous ones from the sizes after them, if all trials are
 * contiguous here. */
static fnz_status lift_stride(fnzi_lifter *l, const fnz_geometry *const *g, uint32_t d, shape *s,
                              const fnzi_expr **below) {
  for (size_t k = 0; k < l->count; k++)
    l->numbers[k] = g[k]->strides[d];
  const fnzi_expr *e, *dense;
  FNZ_TRY(given_expr(l, g[0]->rank + d, NULL, 0, &e));
  FNZ_TRY(dense_stride(l, g[0]->rank, d, s, *below, &dense));
  if (!e && is_row_major(l, g, d))
    e = dense;
  if (!e)
    FNZ_TRY(fit_stride(l, g, d, dense, &e));
  *below = e;
  return e ? keep_number(l, e, &s->strides[d], &s->symbols[g[0]->rank + d]) : FNZ_OK;
}

/* An offset follows from what views do; nothing needs to know it, and it gets a symbol of its own.
 */
static fnz_status keep_unknown_offset(fnzi_lifter *l, int64_t *number, uint32_t *symbol) {
  const char *name;
  *number = 0;
  l->unnamed = true;
  FNZ_TRY(fnzi_arena_format(l->arena, &name, "offset_%zu", l->to->symbols.count));
  return fnzi_symbol_add(l->to, name, false, 0, symbol);
}

static fnz_status lift_shape(fnzi_lifter *l, const fnz_geometry *const *g, fnz_geometry *made,
                             shape *s) {
  uint32_t rank = g[0]->rank;
  const fnzi_expr *e, *below = NULL;
  for (uint32_t d = 0; d < rank && !*l->what; d++) {
    for (size_t k = 0; k < l->count; k++)
      l->numbers[k] = g[k]->sizes[d];
    FNZ_TRY(given_expr(l, d, s->exprs, d, &s->exprs[d]));
    if (!s->exprs[d])
      FNZ_TRY(fnzi_lift_fit(l, "a size", &s->exprs[d]));
    if (s->exprs[d])
      FNZ_TRY(keep_number(l, s->exprs[d], &s->sizes[d], &s->symbols[d]));
  }
  for (uint32_t d = rank; d-- > 0 && !*l->what;)
    FNZ_TRY(lift_stride(l, g, d, s, &below));
  for (size_t k = 0; k < l->count; k++)
    l->numbers[k] = g[k]->offset;
  FNZ_TRY(fnzi_fit_numbers(&l->fit, l->numbers, &e));
  return e ? keep_number(l, e, &made->offset, &s->symbols[2 * rank])
           : keep_unknown_offset(l, &made->offset, &s->symbols[2 * rank]);
}

/* The word of one number. */
static fnz_status lift_word(fnzi_lifter *l, int64_t bits, const fnzi_expr **e, int64_t *number,
                            uint32_t *symbol) {
  FNZ_TRY(fnzi_ints_expr(l->ints, (fnzi_int){bits}, e));
  *number = bits;
  return (*e)->kind == FNZI_EXPR_NUMBER ? FNZ_OK : keep_number(l, *e, number, symbol);
}

static fnz_status lift_words(fnzi_lifter *l, const fnz_geometry *g, fnz_geometry *made, shape *s) {
  const uint32_t rank = g->rank;
  const fnzi_expr *e;
  for (uint32_t d = 0; d < rank; d++) {
    FNZ_TRY(lift_word(l, g->sizes[d], &s->exprs[d], &s->sizes[d], &s->symbols[d]));
    FNZ_TRY(lift_word(l, g->strides[d], &e, &s->strides[d], &s->symbols[rank + d]));
  }
  return lift_word(l, g->offset, &e, &made->offset, &s->symbols[2 * rank]);
}

/* exprs: of the sizes; NULL when they are not needed. */
fnz_status fnzi_lift_geometry(fnzi_lifter *l, const fnz_geometry *const *g, const fnzi_expr **exprs,
                              const fnz_geometry **out) {
  shape s = {0};
  *out = NULL;
  if (!g[0])
    return FNZ_OK;
  fnz_geometry made = *g[0];
  made.sizes = s.sizes;
  made.strides = s.strides;
  made.symbols = s.symbols;
  FNZ_TRY(l->ints ? lift_words(l, g[0], &made, &s) : lift_shape(l, g, &made, &s));
  if (*l->what)
    return FNZ_OK;
  if (exprs)
    memcpy(exprs, s.exprs, g[0]->rank * sizeof *exprs);
  return fnzi_intern_geometry(l->to, &made, out);
}
