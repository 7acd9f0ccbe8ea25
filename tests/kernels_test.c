/* checks: 3
 * kernels_test.c - the CPU backend's kernels against values that can be stated. */
#include "tests/test.h"

#include "kernels/kernels.h"

#include <math.h>

/* --- A desk: a context, a backend, and short ways to make, call and look --------------------------- */
typedef struct desk {
  fnz_context *ctx;
  fnz_backend *cpu;
  fnz_handle live[64];
  size_t nlive;
} desk;

static desk open_desk(void) {
  desk d = {0};
  ck_assert_int_eq(fnz_context_create(NULL, &d.ctx), FNZ_OK);
  OK(d.ctx, fnz_cpu_backend_create(d.ctx, 2, &d.cpu));
  return d;
}

static void close_desk(desk *d) {
  while (d->nlive)
    d->cpu->release(d->cpu->self, d->live[--d->nlive]);
  fnz_backend_destroy(d->cpu);
  fnz_context_destroy(d->ctx);
}

static fnz_handle keep(desk *d, fnz_handle h) {
  d->live[d->nlive++] = h;
  return h;
}

static void drop(desk *d, fnz_handle h) {
  for (size_t i = 0; i < d->nlive; i++)
    if (d->live[i] == h) {
      d->cpu->release(d->cpu->self, h);
      d->live[i] = d->live[--d->nlive];
      return;
    }
}

/* Sizes end with -1. */
#define SIZES(...) ((const int64_t[]){__VA_ARGS__, -1})
#define NUMBERS(...) ((const double[]){__VA_ARGS__}), sizeof((double[]){__VA_ARGS__}) / sizeof(double)

static fnz_handle tensor(desk *d, fnz_dtype dtype, const int64_t *sizes, const double *values,
                         size_t count) {
  int64_t strides[FNZ_MAX_RANK];
  uint32_t rank = 0;
  unsigned char cells[16 * 256];
  fnz_handle h;
  while (sizes[rank] >= 0)
    rank++;
  fnzi_contiguous_strides(sizes, rank, strides);
  fnz_geometry g = {.dtype = dtype, .rank = rank, .sizes = sizes, .strides = strides};
  ck_assert_int_eq(fnz_geometry_numel(&g), (int64_t)count);
  fnzi_convert(dtype, cells, (int64_t)fnzi_dtype(dtype)->bytes, FNZ_F64, values, 8, (int64_t)count);
  OK(d->ctx, d->cpu->upload(d->cpu->self, d->ctx, &g, cells, &h));
  return keep(d, h);
}

static fnz_arg T(fnz_handle h) {
  return (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = h};
}
static fnz_arg LAST(fnz_handle h) {
  return (fnz_arg){.tag = FNZ_ARG_VALUE, .flags = FNZ_ARG_LAST_USE, .u.value = h};
}
static fnz_arg I(int64_t i) {
  return (fnz_arg){.tag = FNZ_ARG_INT, .u.i = i};
}
__attribute__((unused)) static fnz_arg F(double f) {
  return (fnz_arg){.tag = FNZ_ARG_FLOAT, .u.f = f};
}

static fnz_status try_call(desk *d, const char *name, const fnz_arg *args, size_t nargs,
                           fnz_handle *outputs, size_t *count) {
  fnz_call call = {.op = fnz_op_find(name), .args = args, .nargs = nargs, .source = ""};
  ck_assert_msg(call.op != NULL, "no operator %s", name);
  return d->cpu->apply(d->cpu->self, d->ctx, &call, outputs, 16, count);
}
#define ARGS(...) ((const fnz_arg[]){__VA_ARGS__}), sizeof((fnz_arg[]){__VA_ARGS__}) / sizeof(fnz_arg)

/* The only result. */
static fnz_handle call(desk *d, const char *name, const fnz_arg *args, size_t nargs) {
  fnz_handle outputs[16];
  size_t count;
  OK(d->ctx, try_call(d, name, args, nargs, outputs, &count));
  ck_assert_uint_eq(count, 1);
  return keep(d, outputs[0]);
}

static void expect(desk *d, fnz_handle h, fnz_dtype dtype, const int64_t *sizes,
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
  fnzi_convert(FNZ_F64, have, 8, dtype, cells, (int64_t)fnzi_dtype(dtype)->bytes, (int64_t)count);
  for (size_t i = 0; i < count; i++)
    if (isnan(values[i]) ? !isnan(have[i]) : have[i] != values[i])
      ck_abort_msg("element %zu is %.17g, not %.17g", i, have[i], values[i]);
}

START_TEST(adds) {
  desk d = open_desk();
  fnz_handle x = tensor(&d, FNZ_F32, SIZES(2, 3), NUMBERS(1, 2, 3, 4, 5, 6));
  fnz_handle row = tensor(&d, FNZ_F32, SIZES(3), NUMBERS(10, 20, 30));
  fnz_handle y = call(&d, "add.Tensor", ARGS(T(x), T(row), I(2)));
  expect(&d, y, FNZ_F32, SIZES(2, 3), NUMBERS(21, 42, 63, 24, 45, 66));
  close_desk(&d);
}
END_TEST

START_TEST(views_share_but_never_change) {
  desk d = open_desk();
  fnz_handle x = tensor(&d, FNZ_F32, SIZES(2, 3), NUMBERS(1, 2, 3, 4, 5, 6));
  fnz_handle row = call(&d, "select_copy.int", ARGS(T(x), I(0), I(1)));
  expect(&d, row, FNZ_F32, SIZES(3), NUMBERS(4, 5, 6));
  ck_assert_ptr_eq(fnzi_array_of(row)->storage, fnzi_array_of(x)->storage);
  fnz_handle z = tensor(&d, FNZ_F32, SIZES(3), NUMBERS(0, 0, 0));
  fnz_handle y = call(&d, "select_scatter", ARGS(LAST(x), T(z), I(0), I(1)));
  expect(&d, y, FNZ_F32, SIZES(2, 3), NUMBERS(1, 2, 3, 0, 0, 0));
  expect(&d, row, FNZ_F32, SIZES(3), NUMBERS(4, 5, 6));
  close_desk(&d);
}
END_TEST

START_TEST(scatter_reuses_a_dying_base) {
  desk d = open_desk();
  fnz_handle x = tensor(&d, FNZ_F32, SIZES(4), NUMBERS(1, 2, 3, 4));
  fnz_handle v = tensor(&d, FNZ_F32, SIZES(2), NUMBERS(8, 9));
  fnzi_storage *storage = fnzi_array_of(x)->storage;
  fnz_handle y = call(&d, "slice_scatter", ARGS(LAST(x), T(v), I(0), I(1), I(3)));
  ck_assert_ptr_eq(fnzi_array_of(y)->storage, storage);
  drop(&d, x);
  expect(&d, y, FNZ_F32, SIZES(4), NUMBERS(1, 8, 9, 4));
  close_desk(&d);
}
END_TEST

RUN_SUITE("kernels", adds, views_share_but_never_change, scatter_reuses_a_dying_base)
