/* kernels_nn.h - calling one operator on the CPU backend with literal tensors, and looking at what
 * comes out as doubles. */
#ifndef FNZ_TESTS_KERNELS_KERNELS_NN_H
#define FNZ_TESTS_KERNELS_KERNELS_NN_H

#include "kernels/core/core.h"
#include "tests/help/test.h"

#include <fnz/numbers.h>
#include <math.h>

enum { MOST_VALUES = 32768, MOST_HANDLES = 64, MOST_OUTPUTS = 8 };

static fnz_context *ctx;
static fnz_backend *cpu;
static fnz_handle made[MOST_HANDLES];
static size_t nmade;
static fnz_handle outs[MOST_OUTPUTS];
static size_t nouts;

/* Sizes with their number: S(2, 3). */
typedef struct shape {
  uint32_t rank;
  int64_t sizes[6];
} shape;
#define COUNT(...) (sizeof((const double[]){__VA_ARGS__}) / sizeof(double))
#define S(...)     ((shape){COUNT(__VA_ARGS__), {__VA_ARGS__}})

static inline void start(int threads) {
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  OK(ctx, fnz_cpu_backend_create(ctx, threads, &cpu));
  nmade = nouts = 0;
}

static inline void drop_outputs(void) {
  for (size_t i = 0; i < nouts; i++)
    if (outs[i])
      cpu->release(cpu->self, outs[i]);
  nouts = 0;
}

static inline void finish(void) {
  drop_outputs();
  for (size_t i = 0; i < nmade; i++)
    cpu->release(cpu->self, made[i]);
  fnz_backend_destroy(cpu);
  ck_assert_uint_eq(ctx->live_bytes, 0);
  fnz_context_destroy(ctx);
}

static inline int64_t volume(shape s) {
  int64_t n = 1;
  for (uint32_t i = 0; i < s.rank; i++)
    n *= s.sizes[i];
  return n;
}

/* `strides` NULL: row-major. */
static inline fnz_arg tensor_at(fnz_dtype dtype, shape s, const int64_t *strides,
                                const double *values) {
  static char cells[MOST_VALUES * 8];
  int64_t plain[6];
  fnz_geometry g = {.dtype = dtype, .rank = s.rank, .sizes = s.sizes};
  fnzi_contiguous_strides(s.sizes, s.rank, plain);
  g.strides = strides ? strides : plain;
  ck_assert(volume(s) <= MOST_VALUES && nmade < MOST_HANDLES);
  fnzi_krn_convert(&(fnzi_krn_conversion){dtype, FNZ_F64, (int64_t)fnzi_dtype(dtype)->bytes, 8},
                   cells, values, volume(s));
  OK(ctx, cpu->upload(cpu->self, ctx, &g, cells, &made[nmade]));
  return (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = made[nmade++]};
}

static inline fnz_arg tensor(fnz_dtype dtype, shape s, const double *values) {
  return tensor_at(dtype, s, NULL, values);
}
#define T(s, ...)        tensor(FNZ_F32, s, (const double[]){__VA_ARGS__})
#define TYPED(d, s, ...) tensor(d, s, (const double[]){__VA_ARGS__})

/* Small numbers without a pattern that a mistake could share, in `values` too. */
static inline void make_values(uint64_t seed, int64_t count, double *values) {
  for (int64_t i = 0; i < count; i++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    values[i] = (double)(int64_t)(seed >> 52) / 1024 - 2;
  }
}

static inline fnz_arg noise(uint64_t seed, fnz_dtype dtype, shape s, double *values) {
  make_values(seed, volume(s), values);
  return tensor(dtype, s, values);
}

#define NONE    ((fnz_arg){.tag = FNZ_ARG_NONE})
#define DEFAULT ((fnz_arg){.tag = FNZ_ARG_DEFAULT})
static inline fnz_arg I(int64_t i) {
  return (fnz_arg){.tag = FNZ_ARG_INT, .u.i = i};
}
static inline fnz_arg B(bool b) {
  return (fnz_arg){.tag = FNZ_ARG_BOOL, .u.i = b};
}
static inline fnz_arg F(double f) {
  return (fnz_arg){.tag = FNZ_ARG_FLOAT, .u.f = f};
}
#define ITEM(number)                                                                               \
  { .tag = FNZ_ARG_INT, .u.i = (number) }
#define L1(a) ((fnz_arg){.tag = FNZ_ARG_LIST, .count = 1, .u.list = (const fnz_arg[]){ITEM(a)}})
#define L2(a, b)                                                                                   \
  ((fnz_arg){.tag = FNZ_ARG_LIST, .count = 2, .u.list = (const fnz_arg[]){ITEM(a), ITEM(b)}})
#define L3(a, b, c)                                                                                \
  ((fnz_arg){                                                                                      \
      .tag = FNZ_ARG_LIST, .count = 3, .u.list = (const fnz_arg[]){ITEM(a), ITEM(b), ITEM(c)}})

static inline fnz_status apply(const char *op, const fnz_arg *args, size_t nargs) {
  fnz_request call = {.op = fnz_op_find(NULL, op), .args = args, .nargs = nargs, .source = ""};
  ck_assert_msg(call.op != NULL, "there is no operator %s", op);
  drop_outputs();
  return cpu->apply(cpu->self, ctx, &call, outs, MOST_OUTPUTS, &nouts);
}
#define APPLY(op, ...)                                                                             \
  apply(op, (const fnz_arg[]){__VA_ARGS__},                                                        \
        sizeof((const fnz_arg[]){__VA_ARGS__}) / sizeof(fnz_arg))
#define RUN(op, ...) OK(ctx, APPLY(op, __VA_ARGS__))

/* Result k as doubles; valid until the next call. */
static inline const double *result(size_t k) {
  static char cells[MOST_VALUES * 8];
  static double values[MOST_VALUES];
  ck_assert_uint_lt(k, nouts);
  const fnz_geometry *g = cpu->geometry(cpu->self, outs[k]);
  int64_t count = fnz_geometry_numel(g);
  ck_assert(count <= MOST_VALUES);
  OK(ctx, cpu->download(cpu->self, ctx, outs[k], cells));
  fnzi_krn_convert(
      &(fnzi_krn_conversion){FNZ_F64, g->dtype, 8, (int64_t)fnzi_dtype(g->dtype)->bytes}, values,
      cells, count);
  return values;
}

static inline void has_sizes(size_t k, shape s) {
  ck_assert_uint_lt(k, nouts);
  const fnz_geometry *g = cpu->geometry(cpu->self, outs[k]);
  ck_assert_uint_eq(g->rank, s.rank);
  for (uint32_t i = 0; i < s.rank; i++)
    ck_assert_int_eq(g->sizes[i], s.sizes[i]);
}

/* Within `tolerance` of the largest magnitude wanted; NaN equals NaN. */
static inline void is_close(size_t k, const double *want, int64_t count, double tolerance) {
  const double *got = result(k);
  double most = 1e-3;
  ck_assert_int_eq(fnz_geometry_numel(cpu->geometry(cpu->self, outs[k])), count);
  for (int64_t i = 0; i < count; i++)
    most = isfinite(want[i]) && fabs(want[i]) > most ? fabs(want[i]) : most;
  for (int64_t i = 0; i < count; i++) {
    bool same = isnan(want[i])   ? isnan(got[i]) != 0
                : isinf(want[i]) ? got[i] == want[i]
                                 : fabs(got[i] - want[i]) <= tolerance * most;
    ck_assert_msg(same, "result %zu, element %lld: %.9g instead of %.9g", k, (long long)i, got[i],
                  want[i]);
  }
}
/* WANT(k, 1, 2, 3): the elements of result k. */
#define WANT(k, ...) is_close(k, (const double[]){__VA_ARGS__}, COUNT(__VA_ARGS__), 1e-6)

#endif
