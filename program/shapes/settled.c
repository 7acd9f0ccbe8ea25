/* settled.c - minima and maxima that are one of their arguments for all numbers in range.
 *
 * needs   the expressions of a program and the ranges of its symbols
 * gives   yes if intervals prove it: Min(768, 768*s0) for s0 of 1 or more; no if they do not */
#include "program/shapes/sizes.h"

static const fnzi_bounds any = {INT64_MIN, INT64_MAX};

static bool is_any(int64_t end) {
  return end == INT64_MIN || end == INT64_MAX;
}

/* a + by * b at one end, which is no bound where it leaves 64 bits. */
static int64_t add_end(int64_t a, int64_t by, int64_t b, int64_t none) {
  int64_t term, sum;
  bool ok = !is_any(a) && !is_any(b) && fnzi_mul_i64(by, b, &term) && fnzi_add_i64(a, term, &sum);
  return ok ? sum : none;
}

static fnzi_bounds of_sum(const fnzi_expr *e, const fnzi_bounds *of) {
  fnzi_bounds out = {e->num, e->num};
  if (e->den != 1)
    return any;
  for (uint32_t i = 0; i < e->count; i++) {
    const fnzi_bounds *b = &of[e->parts[i].expr->id];
    const int64_t by = e->parts[i].num;
    if (e->parts[i].den != 1)
      return any;
    out.min = add_end(out.min, by, by < 0 ? b->max : b->min, INT64_MIN);
    out.max = add_end(out.max, by, by < 0 ? b->min : b->max, INT64_MAX);
  }
  return out;
}

static int64_t mul_end(int64_t a, int64_t b) {
  int64_t out;
  return !is_any(a) && !is_any(b) && fnzi_mul_i64(a, b, &out) ? out : INT64_MAX;
}

/* The factors must not be negative. */
static fnzi_bounds of_product(const fnzi_expr *e, const fnzi_bounds *of) {
  fnzi_bounds out = {1, 1};
  for (uint32_t i = 0; i < e->count; i++) {
    const fnzi_bounds *b = &of[e->parts[i].expr->id];
    if (b->min < 0 || e->parts[i].num < 1)
      return any;
    for (int64_t power = e->parts[i].num; power > 0; power--)
      out = (fnzi_bounds){mul_end(out.min, b->min), mul_end(out.max, b->max)};
  }
  return out.min == INT64_MAX ? any : out;
}

/* One argument is at most, or at least, what all others are. */
static bool is_settled(const fnzi_expr *e, const fnzi_bounds *of, fnzi_bounds *out) {
  const bool least = e->function == FNZI_FUNCTION_MIN;
  for (uint32_t i = 0; i < e->count; i++) {
    const fnzi_bounds *b = &of[e->parts[i].expr->id];
    bool settled = true;
    for (uint32_t k = 0; k < e->count; k++) {
      const fnzi_bounds *other = &of[e->parts[k].expr->id];
      settled = settled && (k == i || (least ? !is_any(b->max) && b->max <= other->min
                                             : !is_any(b->min) && b->min >= other->max));
    }
    *out = *b;
    if (settled)
      return true;
  }
  *out = any;
  return false;
}

static bool is_extreme(const fnzi_expr *e) {
  return e->kind == FNZI_EXPR_CALL &&
         (e->function == FNZI_FUNCTION_MIN || e->function == FNZI_FUNCTION_MAX);
}

fnz_status fnzi_sizes_settled(const fnzi_sizes *s, fnzi_arena *arena, uint8_t **out) {
  fnzi_bounds *of;
  FNZI_NEW(arena, s->set.all.count, out);
  FNZ_TRY(fnzi_draw_bounds(s, arena, &of));
  for (size_t i = 0; i < s->own; i++) {
    const fnzi_expr *e = s->set.all.data[i];
    if (e->kind == FNZI_EXPR_SYMBOL)
      continue;
    of[i] = any;
    if (e->kind == FNZI_EXPR_NUMBER && e->den == 1)
      of[i] = (fnzi_bounds){e->num, e->num};
    else if (e->kind == FNZI_EXPR_SUM)
      of[i] = of_sum(e, of);
    else if (e->kind == FNZI_EXPR_PRODUCT)
      of[i] = of_product(e, of);
    else if (is_extreme(e))
      (*out)[i] = is_settled(e, of, &of[i]);
  }
  return FNZ_OK;
}
