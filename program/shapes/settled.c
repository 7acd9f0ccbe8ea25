/* settled.c - minima and maxima that are one of their arguments for all numbers in range.
 *
 * needs   the expressions of a program and the ranges of its symbols
 * gives   yes if intervals prove it: Min(768, 768*s0) for s0 of 1 or more; no if they do not */
#include "program/shapes/facts.h"
#include "program/shapes/sizes.h"

/* One argument is at most, or at least, what all others are. */
static bool is_settled(const fnzi_size_facts *f, const fnzi_expr *e) {
  const bool least = e->function == FNZI_FUNCTION_MIN;
  bool settled = false;
  for (uint32_t i = 0; i < e->count && !settled; i++) {
    const fnzi_bounds b = f->of.data[e->parts[i].expr->id].bounds;
    settled = least ? b.max != INT64_MAX : b.min != INT64_MIN;
    for (uint32_t k = 0; k < e->count && settled; k++) {
      const fnzi_bounds other = f->of.data[e->parts[k].expr->id].bounds;
      settled = k == i || (least ? b.max <= other.min : b.min >= other.max);
    }
  }
  return settled;
}

static bool is_extreme(const fnzi_expr *e) {
  return e->kind == FNZI_EXPR_CALL &&
         (e->function == FNZI_FUNCTION_MIN || e->function == FNZI_FUNCTION_MAX);
}

/* Facts beside the intervals would make further expressions of the program's set. */
fnz_status fnzi_sizes_settled(const fnzi_sizes *s, fnzi_arena *arena, uint8_t **out) {
  fnzi_size_facts f = {.of = {NULL, s->own, s->own}};
  fnzi_bounds *of;
  FNZI_NEW(arena, s->set.all.count, out);
  FNZI_NEW(arena, s->own, &f.of.data);
  FNZ_TRY(fnzi_draw_bounds(s, arena, &of));
  for (size_t i = 0; i < s->own; i++) {
    const fnzi_expr *e = s->set.all.data[i];
    f.of.data[i].bounds = e->kind == FNZI_EXPR_SYMBOL ? of[i] : fnzi_interval_of(&f, e);
    (*out)[i] = is_extreme(e) && is_settled(&f, e);
  }
  return FNZ_OK;
}
