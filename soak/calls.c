/* calls.c - random calls of view operators. Each row knows how to draw arguments that mostly
 * fit: negative dimensions and indices, slices that run over the end, unfolds with gaps,
 * overlapping as_strided, and now and then something that eager refuses. */
#include "soak/calls.h"

#include <string.h>

void fnzi_call_start(fnzi_drawn_call *call, const char *op) {
  call->op = op;
  call->nargs = call->nlists = 0;
}

void fnzi_call_add(fnzi_drawn_call *call, fnz_arg arg) {
  call->args[call->nargs++] = arg;
}

void fnzi_call_int(fnzi_drawn_call *call, int64_t i) {
  fnzi_call_add(call, (fnz_arg){.tag = FNZ_ARG_INT, .u.i = i});
}

void fnzi_call_ints(fnzi_drawn_call *call, const int64_t *ints, size_t count) {
  fnz_arg *items = call->items[call->nlists++];
  for (size_t i = 0; i < count; i++)
    items[i] = (fnz_arg){.tag = FNZ_ARG_INT, .u.i = ints[i]};
  fnzi_call_add(call, (fnz_arg){.tag = FNZ_ARG_LIST, .count = (uint32_t)count, .u.list = items});
}

/* --- dimensions and indices ------------------------------------------------------------------ */
/* A dimension of the tensor, sometimes counted from the end. */
static uint32_t draw_dim(choices *c, fnzi_drawn_call *call, uint32_t rank) {
  uint32_t d = choose(c, rank);
  fnzi_call_int(call, perhaps(c, 25) ? (int64_t)d - (int64_t)(rank ? rank : 1) : (int64_t)d);
  return d;
}

static int64_t size_of(const fnz_geometry *g, uint32_t d) {
  return d < g->rank ? g->sizes[d] : 1;
}

static void draw_nothing(choices *c, const fnz_geometry *g, fnzi_drawn_call *call) {
  (void)c, (void)g, (void)call;
}

static void draw_one_dim(choices *c, const fnz_geometry *g, fnzi_drawn_call *call) {
  draw_dim(c, call, g->rank);
}

static void draw_two_dims(choices *c, const fnz_geometry *g, fnzi_drawn_call *call) {
  draw_dim(c, call, g->rank);
  draw_dim(c, call, g->rank);
}

static void draw_unsqueeze(choices *c, const fnz_geometry *g, fnzi_drawn_call *call) {
  draw_dim(c, call, g->rank + 1);
}

static void draw_select(choices *c, const fnz_geometry *g, fnzi_drawn_call *call) {
  int64_t size = size_of(g, draw_dim(c, call, g->rank));
  int64_t index = (int64_t)choose(c, (uint32_t)size);
  fnzi_call_int(call, perhaps(c, 25) ? index - size : index);
}

static void draw_slice(choices *c, const fnz_geometry *g, fnzi_drawn_call *call) {
  int64_t size = size_of(g, draw_dim(c, call, g->rank));
  int64_t start = (int64_t)choose(c, (uint32_t)size);
  int64_t end = perhaps(c, 15) ? size + 7 : choose_in(c, start, size);
  fnzi_call_int(call, perhaps(c, 20) ? start - size : start);
  fnzi_call_int(call, perhaps(c, 10) && end < size ? end - size : end);
  fnzi_call_int(call, choose_in(c, 1, 3));
}

static void draw_narrow(choices *c, const fnz_geometry *g, fnzi_drawn_call *call) {
  int64_t size = size_of(g, draw_dim(c, call, g->rank));
  int64_t start = (int64_t)choose(c, (uint32_t)size);
  fnzi_call_int(call, start);
  fnzi_call_int(call, choose_in(c, 0, size - start));
}

static void draw_permutation(choices *c, const fnz_geometry *g, fnzi_drawn_call *call) {
  int64_t dims[FNZ_MAX_RANK];
  for (uint32_t d = 0; d < g->rank; d++)
    dims[d] = d;
  for (uint32_t d = g->rank; d > 1; d--) {
    uint32_t k = d - 1 - choose(c, d);
    int64_t t = dims[d - 1];
    dims[d - 1] = dims[k];
    dims[k] = t;
  }
  if (g->rank && perhaps(c, 20))
    dims[0] -= g->rank;
  fnzi_call_ints(call, dims, g->rank);
}

static void draw_squeeze_dims(choices *c, const fnz_geometry *g, fnzi_drawn_call *call) {
  int64_t dims[FNZ_MAX_RANK];
  size_t count = 0;
  for (uint32_t d = 0; d < g->rank; d++)
    if (perhaps(c, 50))
      dims[count++] = d;
  fnzi_call_ints(call, dims, count);
}

/* --- sizes ----------------------------------------------------------------------------------- */
/* Other sizes with as many elements: dimensions merged and split. */
static void calls_draw_sizes(choices *c, const fnz_geometry *g, fnzi_drawn_call *call) {
  int64_t sizes[FNZ_MAX_RANK + 4];
  uint32_t rank = g->rank;
  if (rank)
    memcpy(sizes, g->sizes, rank * sizeof *sizes);
  for (uint32_t n = 1 + choose(c, 3); n > 0; n--) {
    uint32_t d = choose(c, rank);
    int64_t by = choose_in(c, 1, 3);
    if (rank > 1 && d + 1 < rank && perhaps(c, 60)) {
      sizes[d] *= sizes[d + 1];
      memmove(&sizes[d + 1], &sizes[d + 2], (rank - d - 2) * sizeof *sizes);
      --rank;
    } else if (rank == 0)
      sizes[rank++] = 1;
    else if (sizes[d] % by == 0) {
      memmove(&sizes[d + 1], &sizes[d], (rank - d) * sizeof *sizes);
      sizes[d] /= by;
      sizes[d + 1] = by;
      ++rank;
    }
  }
  if (rank && fnz_geometry_numel(g) > 0 && perhaps(c, 25))
    sizes[choose(c, rank)] = -1;
  fnzi_call_ints(call, sizes, rank);
}

static void draw_flatten(choices *c, const fnz_geometry *g, fnzi_drawn_call *call) {
  uint32_t first = choose(c, g->rank);
  fnzi_call_int(call, first);
  fnzi_call_int(call, perhaps(c, 50) ? -1 : first + (int64_t)choose(c, g->rank - first));
}

static void draw_expand(choices *c, const fnz_geometry *g, fnzi_drawn_call *call) {
  int64_t sizes[FNZ_MAX_RANK + 1];
  uint32_t more = perhaps(c, 40) ? 1 : 0;
  sizes[0] = choose_in(c, 1, 3);
  for (uint32_t d = 0; d < g->rank; d++) {
    sizes[more + d] = g->sizes[d] == 1 ? choose_in(c, 1, 3) : g->sizes[d];
    if (perhaps(c, 15))
      sizes[more + d] = -1;
  }
  fnzi_call_ints(call, sizes, more + g->rank);
}

static void draw_broadcast(choices *c, const fnz_geometry *g, fnzi_drawn_call *call) {
  int64_t sizes[FNZ_MAX_RANK + 1];
  uint32_t more = perhaps(c, 40) ? 1 : 0;
  sizes[0] = choose_in(c, 1, 3);
  for (uint32_t d = 0; d < g->rank; d++)
    sizes[more + d] = g->sizes[d] == 1 ? choose_in(c, 1, 2) : g->sizes[d];
  fnzi_call_ints(call, sizes, more + g->rank);
}

/* --- pieces ---------------------------------------------------------------------------------- */
static void draw_split(choices *c, const fnz_geometry *g, fnzi_drawn_call *call) {
  uint32_t d = choose(c, g->rank);
  fnzi_call_int(call, choose_in(c, 1, 3));
  fnzi_call_int(call, d);
}

static void draw_split_sizes(choices *c, const fnz_geometry *g, fnzi_drawn_call *call) {
  uint32_t d = choose(c, g->rank);
  int64_t sizes[3], size = size_of(g, d);
  sizes[0] = choose_in(c, 0, size);
  sizes[1] = choose_in(c, 0, size - sizes[0]);
  sizes[2] = size - sizes[0] - sizes[1];
  fnzi_call_ints(call, sizes, 3);
  fnzi_call_int(call, d);
}

static void draw_indices(choices *c, const fnz_geometry *g, fnzi_drawn_call *call) {
  uint32_t d = choose(c, g->rank);
  const int64_t at[2] = {choose_in(c, 0, size_of(g, d)), choose_in(c, 0, size_of(g, d))};
  fnzi_call_ints(call, at, 2);
  fnzi_call_int(call, d);
}

/* --- strides --------------------------------------------------------------------------------- */
static void draw_diagonal(choices *c, const fnz_geometry *g, fnzi_drawn_call *call) {
  if (g->rank < 2) {
    fnzi_call_int(call, 0);
    return;
  }
  uint32_t a = choose(c, g->rank), b = (a + 1 + choose(c, g->rank - 1)) % g->rank;
  fnzi_call_int(call, choose_in(c, 0, 2) - (perhaps(c, 40) ? 2 : 0));
  fnzi_call_int(call, perhaps(c, 20) ? (int64_t)a - g->rank : (int64_t)a);
  fnzi_call_int(call, b);
}

static void draw_unfold(choices *c, const fnz_geometry *g, fnzi_drawn_call *call) {
  int64_t size = size_of(g, draw_dim(c, call, g->rank));
  fnzi_call_int(call, size > 0 ? choose_in(c, 1, size) : 0);
  fnzi_call_int(call, choose_in(c, 1, 3));
}

/* Places between the first and the last element of the tensor, or a little outside. */
static void draw_as_strided(choices *c, const fnz_geometry *g, fnzi_drawn_call *call) {
  int64_t sizes[3], strides[3], low, high;
  fnzi_extent(g, &low, &high);
  uint32_t rank = 1 + choose(c, 3);
  int64_t offset = high > low ? low + (int64_t)choose(c, (uint32_t)(high - low)) : low;
  int64_t left = high - 1 - offset;
  bool free_choice = perhaps(c, 5);
  for (uint32_t d = 0; d < rank; d++) {
    strides[d] = choose_in(c, 0, 5);
    int64_t most = free_choice || strides[d] == 0 ? 3 : left / strides[d] + 1;
    sizes[d] = most > 0 ? choose_in(c, 1, most < 4 ? most : 4) : 0;
    left -= (sizes[d] - 1) * strides[d];
  }
  fnzi_call_ints(call, sizes, rank);
  fnzi_call_ints(call, strides, rank);
  fnzi_call_int(call, offset);
}

/* --- bits ------------------------------------------------------------------------------------ */
/* The first `count` of them; halves, whose NaN lose their bits when they are negated, are last. */
static fnz_arg draw_dtype(choices *c, uint32_t count) {
  static const fnz_dtype dtypes[] = {FNZ_I32, FNZ_F32, FNZ_I64, FNZ_I16,
                                     FNZ_U8,  FNZ_F64, FNZ_F16, FNZ_BF16};
  return (fnz_arg){.tag = FNZ_ARG_DTYPE, .u.i = dtypes[choose(c, count)]};
}

static void draw_view_dtype(choices *c, const fnz_geometry *g, fnzi_drawn_call *call) {
  if (g->dtype == FNZ_BOOL)
    fnzi_call_add(call, (fnz_arg){.tag = FNZ_ARG_DTYPE, .u.i = FNZ_BOOL});
  else
    fnzi_call_add(call, draw_dtype(c, 6));
}

static void draw_to_dtype(choices *c, const fnz_geometry *g, fnzi_drawn_call *call) {
  fnz_arg other = draw_dtype(c, 8);
  if (!perhaps(c, 40))
    other.u.i = g->dtype;
  fnzi_call_add(call, other);
}

/* --- the table ------------------------------------------------------------------------------- */
const fnzi_view_draw fnzi_view_draws[] = {
    {"alias", draw_nothing, true},
    {"select.int", draw_select, true},
    {"slice.Tensor", draw_slice, true},
    {"view", calls_draw_sizes, true},
    {"transpose.int", draw_two_dims, true},
    {"permute", draw_permutation, true},
    {"unsqueeze", draw_unsqueeze, true},
    {"squeeze", draw_nothing, true},
    {"squeeze.dim", draw_one_dim, true},
    {"squeeze.dims", draw_squeeze_dims, true},
    {"expand", draw_expand, true},
    {"diagonal", draw_diagonal, true},
    {"unfold", draw_unfold, true},
    {"as_strided", draw_as_strided, true},
    {"split.Tensor", draw_split, true},
    {"split_with_sizes", draw_split_sizes, true},
    {"unbind.int", draw_one_dim, true},
    {"t", draw_nothing, true},
    {"detach", draw_nothing, true},
    {"view.dtype", draw_view_dtype, true},
    {"view_as_real", draw_nothing, true},
    {"view_as_complex", draw_nothing, true},
    {"_conj", draw_nothing, true},
    {"_neg_view", draw_nothing, true},
    {"reshape", calls_draw_sizes, false},
    {"contiguous", draw_nothing, false},
    {"flatten.using_ints", draw_flatten, false},
    {"to.dtype", draw_to_dtype, false},
    {"narrow", draw_narrow, false},
    {"chunk", draw_split, false},
    {"tensor_split.indices", draw_indices, false},
    {"tensor_split.sections", draw_split, false},
    {"movedim.int", draw_two_dims, false},
    {"swapaxes", draw_two_dims, false},
    {"broadcast_to", draw_broadcast, false},
    {"ravel", draw_nothing, false},
    {"real", draw_nothing, false},
    {"imag", draw_nothing, false},
    {"conj", draw_nothing, false},
    {"resolve_conj", draw_nothing, false},
    {"atleast_2d", draw_nothing, false},
    {"mT", draw_nothing, false},
};
const size_t fnzi_view_draw_count = sizeof fnzi_view_draws / sizeof *fnzi_view_draws;

/* --- tensors --------------------------------------------------------------------------------- */

enum { MOST_ELEMENTS = 512 };

void fnzi_draw_geometry(choices *c, fnz_dtype dtype, bool strided, int64_t *work,
                        fnz_geometry *out) {
  static const int64_t dims[] = {2, 3, 4, 1, 2, 3, 5, 6, 2, 1, 4, 3, 7, 8, 2, 0},
                       few[] = {1, 2, 1, 1};
  /* Most have up to four dimensions; tensors of more dimensions are small in each. */
  uint32_t n = choose(c, 100);
  uint32_t rank = n < 95 ? choose(c, 5) : n < 99 ? 5 + choose(c, 4) : 9 + choose(c, 8);
  int64_t *sizes = work, *strides = work + FNZ_MAX_RANK;
  for (uint32_t d = 0, numel = 1; d < rank; d++) {
    sizes[d] = rank > 4 ? few[choose(c, sizeof few / sizeof *few)]
                        : dims[choose(c, sizeof dims / sizeof *dims)];
    sizes[d] = numel * sizes[d] > MOST_ELEMENTS ? 1 : sizes[d];
    numel *= sizes[d] ? (uint32_t)sizes[d] : 1;
  }
  *out = (fnz_geometry){.dtype = dtype, .rank = rank, .sizes = sizes, .strides = strides};
  fnzi_contiguous_strides(sizes, rank, strides);
  if (!strided)
    return;
  bool done[FNZ_MAX_RANK] = {false};
  int64_t reach = 1;
  for (uint32_t k = 0; k < rank; k++) {
    uint32_t d = choose(c, rank);
    while (done[d])
      d = (d + 1) % rank;
    done[d] = true;
    strides[d] = perhaps(c, 30) ? reach + choose(c, 3) : reach;
    reach = (sizes[d] > 0 ? sizes[d] : 1) * strides[d];
  }
  out->offset = choose(c, 4);
}

void fnzi_draw_overlap(choices *c, const fnz_geometry *g, int64_t *strides) {
  uint32_t d = choose(c, g->rank);
  for (uint32_t n = 0; n < g->rank && g->sizes[d] < 2; n++)
    d = (d + 1) % g->rank;
  if (g->rank > 0)
    strides[d] = 0;
}
