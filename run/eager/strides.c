/* strides.c - how eager lays out the result of operands: an out= tensor that an elementwise
 * operator resizes, and a copy that keeps the order of dimensions. Both are dense, in the order in
 * which the operands lie in memory; a trace records row-major strides. */
#include "run/eager/eager.h"

enum { MOST_OPERANDS = 16 };

typedef struct operands {
  uint32_t rank;
  const int64_t *sizes; /* of the result */
  const fnz_geometry *at[MOST_OPERANDS];
  size_t count;
} operands;

/* The stride of an operand along a dimension of the result; 0 where it is broadcast. */
static int64_t step_along(const operands *o, const fnz_geometry *g, uint32_t dim) {
  uint32_t ahead = o->rank - g->rank;
  bool spread = dim < ahead || (g->sizes[dim - ahead] == 1 && o->sizes[dim] != 1);
  return spread ? 0 : g->strides[dim - ahead];
}

/* Above 0 when dimension b lies inside of a: the first operand with strides in both has a larger
 * one in a. */
static int order_of(const operands *o, uint32_t a, uint32_t b) {
  for (size_t i = 0; i < o->count; i++) {
    int64_t by_a = step_along(o, o->at[i], a), by_b = step_along(o, o->at[i], b);
    if (by_a == 0 || by_b == 0)
      continue;
    if (by_a != by_b)
      return by_a > by_b ? 1 : -1;
    if (o->sizes[a] > o->sizes[b])
      return 1;
  }
  return 0;
}

static void lay_out(const operands *o, int64_t *strides) {
  uint32_t dims[FNZ_MAX_RANK];
  int64_t stride = 1;
  /* The innermost dimension first. Each dimension moves inwards past all dimensions that it lies
   * inside of; a dimension without strides in any operand is skipped. */
  for (uint32_t i = 0; i < o->rank; i++)
    dims[i] = o->rank - 1 - i;
  for (uint32_t i = 1; i < o->rank; i++) {
    uint32_t carried = i;
    for (uint32_t j = i; j > 0; j--) {
      int order = order_of(o, dims[j - 1], dims[carried]);
      if (order < 0)
        break;
      if (order > 0) {
        uint32_t dim = dims[carried];
        dims[carried] = dims[j - 1];
        dims[j - 1] = dim;
        carried = j - 1;
      }
    }
  }
  for (uint32_t i = 0; i < o->rank; i++) {
    strides[dims[i]] = stride;
    stride = fnzi_run_wrap_mul(stride, o->sizes[dims[i]] ? o->sizes[dims[i]] : 1);
  }
}

void fnzi_eag_resized_strides(fnzi_eag_op *s, const fnz_op *twin, const fnz_arg *args,
                              uint32_t rank, const int64_t *sizes, int64_t *strides) {
  operands o = {.rank = rank, .sizes = sizes};
  FNZI_EACH_ARG(each, args, twin->nparams) {
    const fnzi_eag_tensor *t = fnzi_eag_arg_tensor(s->in, each.arg);
    if (t != NULL && o.count < MOST_OPERANDS && t->g->rank <= rank)
      o.at[o.count++] = t->g;
  }
  lay_out(&o, strides);
}

void fnzi_eag_window_preserve(fnzi_eag_window *w) {
  const fnz_geometry g = fnzi_eag_window_geometry(w);
  const operands o = {.rank = w->rank, .sizes = w->sizes, .at = {&g}, .count = 1};
  int64_t strides[FNZ_MAX_RANK];
  w->offset = 0;
  if (fnzi_is_dense(&g))
    return;
  lay_out(&o, strides);
  memcpy(w->strides, strides, w->rank * sizeof *strides);
}
