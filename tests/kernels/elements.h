/* elements.h - a context, a CPU backend, and short ways to make tensors, call operators and look at
 * results. */
#ifndef FNZ_TESTS_KERNELS_ELEMENTS_H
#define FNZ_TESTS_KERNELS_ELEMENTS_H

#include "kernels/core/core.h"
#include "tests/help/test.h"

#include <fnz/numbers.h>
#include <math.h>

typedef struct desk {
  fnz_context *ctx;
  fnz_backend *cpu;
  fnz_handle live[128];
  size_t nlive;
} desk;

static inline desk open_desk(void) {
  desk d = {0};
  ck_assert_int_eq(fnz_context_create(NULL, &d.ctx), FNZ_OK);
  OK(d.ctx, fnz_cpu_backend_create(d.ctx, 2, &d.cpu));
  return d;
}

static inline void close_desk(desk *d) {
  while (d->nlive)
    d->cpu->release(d->cpu->self, d->live[--d->nlive]);
  fnz_backend_destroy(d->cpu);
  fnz_context_destroy(d->ctx);
}

static inline fnz_handle keep(desk *d, fnz_handle h) {
  d->live[d->nlive++] = h;
  return h;
}

static inline void drop(desk *d, fnz_handle h) {
  for (size_t i = 0; i < d->nlive; i++)
    if (d->live[i] == h) {
      d->cpu->release(d->cpu->self, h);
      d->live[i] = d->live[--d->nlive];
      return;
    }
}

/* Sizes end with -1. */
#define SIZES(...) ((const int64_t[]){__VA_ARGS__, -1})
#define SCALAR     ((const int64_t[]){-1})
#define NOTHING    NULL, 0
#define NUMBERS(...)                                                                               \
  ((const double[]){__VA_ARGS__}), sizeof((double[]){__VA_ARGS__}) / sizeof(double)

static inline fnz_handle tensor(desk *d, fnz_dtype dtype, const int64_t *sizes,
                                const double *values, size_t count) {
  int64_t strides[FNZ_MAX_RANK];
  uint32_t rank = 0;
  unsigned char cells[16 * 256];
  fnz_handle h;
  while (sizes[rank] >= 0)
    rank++;
  fnzi_contiguous_strides(sizes, rank, strides);
  fnz_geometry g = {.dtype = dtype, .rank = rank, .sizes = sizes, .strides = strides};
  ck_assert_int_eq(fnz_geometry_numel(&g), (int64_t)count);
  fnzi_krn_convert(&(fnzi_krn_conversion){dtype, FNZ_F64, (int64_t)fnzi_dtype(dtype)->bytes, 8},
                   cells, values, (int64_t)count);
  OK(d->ctx, d->cpu->upload(d->cpu->self, d->ctx, &g, cells, &h));
  return keep(d, h);
}

static inline fnz_arg T(fnz_handle h) {
  return (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = h};
}
static inline fnz_arg LAST(fnz_handle h) {
  return (fnz_arg){.tag = FNZ_ARG_VALUE, .flags = FNZ_ARG_LAST_USE, .u.value = h};
}
static inline fnz_arg I(int64_t i) {
  return (fnz_arg){.tag = FNZ_ARG_INT, .u.i = i};
}
static inline fnz_arg F(double f) {
  return (fnz_arg){.tag = FNZ_ARG_FLOAT, .u.f = f};
}
static inline fnz_arg B(bool b) {
  return (fnz_arg){.tag = FNZ_ARG_BOOL, .u.i = b};
}
static inline fnz_arg D(fnz_dtype d) {
  return (fnz_arg){.tag = FNZ_ARG_DTYPE, .u.i = d};
}
static inline fnz_arg S(const char *s) {
  return (fnz_arg){.tag = FNZ_ARG_STRING, .count = (uint32_t)strlen(s), .u.s = s};
}
static const fnz_arg NONE = {.tag = FNZ_ARG_NONE}, DEFAULT = {.tag = FNZ_ARG_DEFAULT};
#define LIST(...)                                                                                  \
  ((fnz_arg){.tag = FNZ_ARG_LIST,                                                                  \
             .count = sizeof((fnz_arg[]){__VA_ARGS__}) / sizeof(fnz_arg),                          \
             .u.list = (fnz_arg[]){__VA_ARGS__}})

static inline fnz_status try_call(desk *d, const char *name, const fnz_arg *args, size_t nargs,
                                  fnz_handle *outputs, size_t *count) {
  fnz_request call = {.op = fnz_op_find(NULL, name), .args = args, .nargs = nargs, .source = ""};
  ck_assert_msg(call.op != NULL, "no operator %s", name);
  return d->cpu->apply(d->cpu->self, d->ctx, &call, outputs, 16, count);
}
#define ARGS(...)                                                                                  \
  ((const fnz_arg[]){__VA_ARGS__}), sizeof((fnz_arg[]){__VA_ARGS__}) / sizeof(fnz_arg)

#define REFUSED(d, class_name, name, args)                                                         \
  do {                                                                                             \
    fnz_handle none_[16];                                                                          \
    size_t count_;                                                                                 \
    FAILS((d)->ctx, class_name, try_call(d, name, args, none_, &count_));                          \
    ck_assert_uint_eq(count_, 0);                                                                  \
  } while (0)

/* The only result. */
static inline fnz_handle call(desk *d, const char *name, const fnz_arg *args, size_t nargs) {
  fnz_handle outputs[16];
  size_t count;
  OK(d->ctx, try_call(d, name, args, nargs, outputs, &count));
  ck_assert_uint_eq(count, 1);
  return keep(d, outputs[0]);
}

static inline void expect(desk *d, fnz_handle h, fnz_dtype dtype, const int64_t *sizes,
                          const double *values, size_t count) {
  const fnz_geometry *g = d->cpu->geometry(d->cpu->self, h);
  unsigned char cells[16 * 256];
  double have[256];
  ck_assert_str_eq(fnzi_dtype(g->dtype)->name, fnzi_dtype(dtype)->name);
  for (uint32_t i = 0; i < g->rank; i++)
    ck_assert_int_eq(g->sizes[i], sizes[i]);
  ck_assert_int_eq(sizes[g->rank], -1);
  ck_assert_int_eq(fnz_geometry_numel(g), (int64_t)count);
  OK(d->ctx, d->cpu->download(d->cpu->self, d->ctx, h, cells));
  fnzi_krn_convert(&(fnzi_krn_conversion){FNZ_F64, dtype, 8, (int64_t)fnzi_dtype(dtype)->bytes},
                   have, cells, (int64_t)count);
  for (size_t i = 0; i < count; i++)
    if (isnan(values[i]) ? !isnan(have[i]) : have[i] != values[i])
      ck_abort_msg("element %zu is %.17g, not %.17g", i, have[i], values[i]);
}

/* One line per fact: the result of an operator has this type, these sizes and these values. */
#define IS(name, args, dtype, sizes, numbers)                                                      \
  expect(&d, call(&d, name, args), FNZ_##dtype, sizes, numbers)
#define MAKE(dtype, sizes, ...) tensor(&d, FNZ_##dtype, sizes, __VA_ARGS__)

#endif
