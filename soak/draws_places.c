/* draws_places.c - random writes to places that a tensor of indices, or a mask, names. The indices
 * are made in a step before: they are in range, some of them several times. */
#include "soak/draws.h"

/* All of them the same, below `size`. */
static bool make_one_index(gen *g, const int64_t *sizes, uint32_t rank, int64_t size, size_t *out) {
  fnzi_drawn_call call;
  fnzi_call_start(&call, "full");
  fnzi_call_ints(&call, sizes, rank);
  fnzi_call_int(&call, (int64_t)choose(g->c, (uint32_t)size));
  fnzi_call_add(&call, (fnz_arg){.tag = FNZ_ARG_DTYPE, .u.i = FNZ_I64});
  return g->make_value(g, &call, out);
}

static bool make_list(gen *g, int64_t count, int64_t size, size_t *out) {
  if (!perhaps(g->c, 50) || count > size)
    return make_one_index(g, &count, 1, size, out);
  /* 0, 1 and so on. */
  fnzi_drawn_call call;
  fnzi_call_start(&call, "arange");
  fnzi_call_int(&call, count);
  return g->make_value(g, &call, out);
}

/* A dimension that has elements. */
static bool draw_place(gen *g, size_t self, fnzi_drawn_call *call, uint32_t *dim) {
  const fnz_geometry *like = looks(g, self);
  fnzi_call_add(call, tensor_arg(self));
  *dim = choose(g->c, like->rank);
  fnzi_call_int(call, *dim);
  return like->rank > 0 && fnz_geometry_numel(like) > 0;
}

bool fnzi_draw_index_fill(gen *g, size_t self, fnzi_drawn_call *call) {
  size_t index, number;
  uint32_t dim;
  fnzi_drawn_call full;
  const fnz_dtype dtype = looks(g, self)->dtype;
  if (!draw_place(g, self, call, &dim) ||
      !make_list(g, 1 + choose(g->c, 2), looks(g, self)->sizes[dim], &index))
    return false;
  fnzi_call_add(call, tensor_arg(index));
  if (strcmp(call->op, "index_fill_.int_Scalar") == 0) {
    fnzi_call_add(call, fnzi_draw_number(g, dtype));
    return true;
  }
  fnzi_call_start(&full, "full");
  fnzi_call_ints(&full, NULL, 0);
  fnzi_call_int(&full, choose_in(g->c, 0, 3));
  fnzi_call_add(&full, (fnz_arg){.tag = FNZ_ARG_DTYPE, .u.i = dtype});
  if (!g->make_value(g, &full, &number))
    return false;
  fnzi_call_add(call, tensor_arg(number));
  return true;
}

bool fnzi_draw_index_copy(gen *g, size_t self, fnzi_drawn_call *call) {
  size_t index, source;
  uint32_t dim;
  if (!draw_place(g, self, call, &dim) || !fnzi_find_alike(g, self, &source))
    return false;
  const int64_t size = looks(g, self)->sizes[dim];
  if (!make_list(g, size, size, &index))
    return false;
  fnzi_call_add(call, tensor_arg(index));
  fnzi_call_add(call, tensor_arg(source));
  return true;
}

bool fnzi_draw_scatter_value(gen *g, size_t self, fnzi_drawn_call *call) {
  size_t index;
  uint32_t dim;
  if (!draw_place(g, self, call, &dim))
    return false;
  const fnz_geometry *like = looks(g, self);
  if (!make_one_index(g, like->sizes, like->rank, like->sizes[dim], &index))
    return false;
  fnzi_call_add(call, tensor_arg(index));
  fnzi_call_add(call, fnzi_draw_number(g, looks(g, self)->dtype));
  return true;
}

bool fnzi_draw_scatter(gen *g, size_t self, fnzi_drawn_call *call) {
  size_t source;
  if (!fnzi_find_alike(g, self, &source) || !fnzi_draw_scatter_value(g, self, call))
    return false;
  call->args[call->nargs - 1] = tensor_arg(source);
  return true;
}

bool fnzi_draw_put(gen *g, size_t self, fnzi_drawn_call *call) {
  size_t index, source;
  const int64_t count = fnz_geometry_numel(looks(g, self));
  if (count == 0 || !fnzi_find_alike(g, self, &source) || !make_list(g, count, count, &index))
    return false;
  fnzi_call_add(call, tensor_arg(self));
  fnzi_call_add(call, tensor_arg(index));
  fnzi_call_add(call, tensor_arg(source));
  return true;
}

bool fnzi_draw_masked_scatter(gen *g, size_t self, fnzi_drawn_call *call) {
  size_t mask, source;
  if (!fnzi_find_mask(g, self, &mask) || !fnzi_find_alike(g, self, &source))
    return false;
  fnzi_call_add(call, tensor_arg(self));
  fnzi_call_add(call, tensor_arg(mask));
  fnzi_call_add(call, tensor_arg(source));
  return true;
}
