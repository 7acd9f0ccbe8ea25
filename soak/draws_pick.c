/* draws_pick.c - values of a program that fit as operands of a random call. */
#include "soak/draws.h"

#include "views/views.h"

static size_t uniform(gen *g) {
  return g->count - 1 - choose(g->c, (uint32_t)g->count);
}

size_t fnzi_pick_value(gen *g) {
  if (g->in_chains && perhaps(g->c, 80))
    return g->count - 1;
  uint32_t how = choose(g->c, 8);
  if (how >= 6) {
    /* Some tensor that shares memory with the last one written, if there is one soon. */
    size_t k = uniform(g);
    for (size_t n = 0; n < g->count; n++, k = (k + 1) % g->count)
      if (k != g->focus && fnz_tensor_shares(g->values[k].tensor, g->values[g->focus].tensor))
        return k;
    return g->focus;
  }
  if (how >= 3)
    return uniform(g);
  size_t back = 0;
  while (back + 1 < g->count && perhaps(g->c, 50))
    back++;
  return g->count - 1 - back;
}

static bool repeats(const fnz_geometry *g) {
  return fnz_geometry_numel(g) > 1 && !fnzi_is_dense(g) &&
         fnzi_oracle_relate_self(NULL, g, FNZI_LITTLE_WORK) == FNZI_OVERLAPS;
}

size_t fnzi_pick_repeating(gen *g) {
  size_t k = uniform(g);
  for (size_t n = 0; n < g->count && n < 4 * MOST_TRIES; n++, k = (k + 1) % g->count)
    if (repeats(looks(g, k)))
      return k;
  return fnzi_pick_value(g);
}

static bool broadcasts(const fnz_geometry *from, const fnz_geometry *to) {
  if (from->rank > to->rank)
    return false;
  for (uint32_t d = 0; d < from->rank; d++) {
    int64_t size = from->sizes[from->rank - 1 - d];
    if (size != 1 && size != to->sizes[to->rank - 1 - d])
      return false;
  }
  return true;
}

fnz_arg fnzi_draw_number(gen *g, fnz_dtype dtype) {
  int64_t i = choose_in(g->c, 0, 5) - 2;
  if (dtype == FNZ_BOOL)
    return (fnz_arg){.tag = FNZ_ARG_BOOL, .u.i = i > 0};
  if (fnzi_is_integer(dtype) || perhaps(g->c, 60))
    return (fnz_arg){.tag = FNZ_ARG_INT, .u.i = i};
  return (fnz_arg){.tag = FNZ_ARG_FLOAT, .u.f = (double)i * 0.75};
}

bool fnzi_pick_operand(gen *g, size_t self, bool any_dtype, size_t *out) {
  const fnz_geometry *to = looks(g, self);
  bool promotes = repeats(to) && perhaps(g->c, 50); /* to another dtype than the target's */
  for (int n = 0; n < MOST_TRIES; n++) {
    *out = n == 0 ? fnzi_pick_value(g) : (*out + 1) % g->count;
    const fnz_geometry *from = looks(g, *out);
    if (broadcasts(from, to) && (any_dtype || fnzi_can_cast(from->dtype, to->dtype)) &&
        !(promotes && from->dtype == to->dtype && n + 1 < MOST_TRIES))
      return true;
  }
  return perhaps(g->c, 3);
}

void fnzi_draw_operand(gen *g, size_t self, bool any_dtype, fnzi_drawn_call *call) {
  size_t other;
  if (!perhaps(g->c, 20) && fnzi_pick_operand(g, self, any_dtype, &other))
    fnzi_call_add(call, tensor_arg(other));
  else
    fnzi_call_add(call, fnzi_draw_number(g, looks(g, self)->dtype));
}

/* A value that satisfies `is`, searched from a random one on. */
static bool search(gen *g, bool (*is)(const fnz_geometry *have, const fnz_geometry *like),
                   const fnz_geometry *like, size_t *out) {
  *out = fnzi_pick_value(g);
  for (size_t n = 0; n < g->count; n++, *out = (*out + 1) % g->count)
    if (is(looks(g, *out), like))
      return true;
  return false;
}

static bool is_mask(const fnz_geometry *have, const fnz_geometry *like) {
  return have->dtype == FNZ_BOOL && broadcasts(have, like);
}

static bool is_alike(const fnz_geometry *have, const fnz_geometry *like) {
  return have->dtype == like->dtype && fnzi_same_sizes(have, like);
}

static bool is_number(const fnz_geometry *have, const fnz_geometry *like) {
  return have->rank == 0 && fnzi_can_cast(have->dtype, like->dtype);
}

bool fnzi_find_alike(gen *g, size_t self, size_t *out) {
  return search(g, is_alike, looks(g, self), out);
}

bool fnzi_find_mask(gen *g, size_t self, size_t *out) {
  return search(g, is_mask, looks(g, self), out);
}

bool fnzi_find_number(gen *g, size_t self, size_t *out) {
  return search(g, is_number, looks(g, self), out);
}
