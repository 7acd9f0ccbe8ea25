/* row_codes.c - operators that compute row by row, as folds and rows of point.def. Sums that the
 * CPU's kernels add up in double are added up in double here too. */
#include "engine/device/rows.h"

#include <math.h>

enum { NONE = FNZI_DEV_ROWS_NONE };

typedef struct coding {
  fnzi_dev_rows *r;
  const fnzi_meta_row_code *code;
  fnz_dtype class, out; /* computing type; type of the result */
  int64_t length;
  uint16_t x; /* the elements, as `class` */
  const uint16_t *in;
  uint16_t *results;
} coding;

static uint16_t codes_unary(const coding *c, const char *row, uint16_t a) {
  return fnzi_dev_rows_apply(c->r, row, a, NONE, NONE);
}
static uint16_t codes_binary(const coding *c, const char *row, uint16_t a, uint16_t b) {
  return fnzi_dev_rows_apply(c->r, row, a, b, NONE);
}
static uint16_t codes_constant(const coding *c, fnz_dtype dtype, double n) {
  return fnzi_dev_rows_constant(c->r, dtype, n);
}
static uint16_t codes_as(const coding *c, fnz_dtype dtype, uint16_t a) {
  return fnzi_dev_rows_convert(c->r, dtype, a);
}
/* Returns the sum of a row in double. */
static uint16_t sum(const coding *c, uint16_t a) {
  return fnzi_dev_rows_fold(c->r, "sum", codes_as(c, FNZ_F64, a));
}

/* --- Sums and extremes ------------------------------------------------------------------------ */
static void code_sum(const coding *c) {
  uint16_t s = fnzi_dev_rows_fold(c->r, "sum", c->x);
  bool is_mean = c->code->mode == FNZI_MODE_mean;
  c->results[0] =
      is_mean ? codes_binary(c, "div", s, codes_constant(c, c->class, (double)c->length)) : s;
}

static void code_nansum(const coding *c) {
  uint16_t x = c->x;
  if (fnzi_is_float(c->class))
    x = fnzi_dev_rows_choose(c->r, codes_unary(c, "isnan", x), codes_constant(c, c->class, 0), x);
  c->results[0] = fnzi_dev_rows_fold(c->r, "sum", x);
}

/* NaN of extremes have no payload: lined up with elements one, of a whole tensor another. */
static uint16_t without_payload(const coding *c, uint16_t a) {
  bool overall = c->code->mode == FNZI_MODE_max || c->code->mode == FNZI_MODE_min;
  uint64_t ones = UINT64_MAX;
  float negative = copysignf(NAN, -1);
  uint16_t nan = c->class == FNZ_F64 && overall ? fnzi_dev_rows_bits(c->r, FNZ_F64, &ones)
                 : overall && c->out == FNZ_F16 ? fnzi_dev_rows_bits(c->r, FNZ_F32, &negative)
                 : overall                      ? fnzi_dev_rows_bits(c->r, FNZ_F32, &ones)
                                                : codes_constant(c, c->class, NAN);
  return fnzi_dev_rows_choose(c->r, codes_unary(c, "isnan", a), nan, a);
}

static void code_reduce(const coding *c) {
  static const char *const folds[] = {
      [FNZI_MODE_amax] = "amax", [FNZI_MODE_amin] = "amin", [FNZI_MODE_max] = "amax",
      [FNZI_MODE_min] = "amin",  [FNZI_MODE_any] = "any",   [FNZI_MODE_all] = "all"};
  bool asks = c->code->mode == FNZI_MODE_any || c->code->mode == FNZI_MODE_all;
  uint16_t x = asks ? codes_as(c, FNZ_BOOL, c->x) : c->x;
  uint16_t a = fnzi_dev_rows_fold(c->r, folds[c->code->mode], x);
  c->results[0] = asks || !fnzi_is_float(c->class) ? a : without_payload(c, a);
}

static void code_prod(const coding *c) {
  c->results[0] = fnzi_dev_rows_fold(c->r, "prod", c->x);
}

static const char *pick_of(const coding *c) {
  return c->code->mode == FNZI_MODE_max ? "max" : "min";
}

static void code_arg(const coding *c) {
  fnzi_dev_rows_pick(c->r, pick_of(c), c->x, NONE, &c->results[0]);
}

static void code_extreme(const coding *c) {
  c->results[0] = fnzi_dev_rows_pick(c->r, pick_of(c), c->x, NONE, &c->results[1]);
}

static void code_both_extremes(const coding *c) {
  c->results[0] = fnzi_dev_rows_fold(c->r, "amin", c->x);
  c->results[1] = fnzi_dev_rows_fold(c->r, "amax", c->x);
}

static void code_count(const coding *c) {
  c->results[0] =
      fnzi_dev_rows_fold(c->r, "sum", codes_as(c, FNZ_I64, codes_as(c, FNZ_BOOL, c->x)));
}

/* --- Exponentials ----------------------------------------------------------------------------- */
static uint16_t exponentials(const coding *c, uint16_t most) {
  return codes_unary(c, "exp", codes_binary(c, "sub", c->x, most));
}

static void code_logsumexp(const coding *c) {
  uint16_t most = fnzi_dev_rows_fold(c->r, "amax", c->x);
  uint16_t base = fnzi_dev_rows_choose(c->r, codes_unary(c, "isinf", most),
                                       codes_constant(c, c->class, 0), most);
  uint16_t log = codes_unary(c, "log", sum(c, exponentials(c, base)));
  c->results[0] = codes_binary(c, "add", codes_as(c, FNZ_F64, base), log);
}

/* Computes softmax with one division per row, in double, rounded once. A division per element would
 * take a GPU longer than loading a 16-bit element. */
static uint16_t softmax(const coding *c, uint16_t most) {
  uint16_t e = exponentials(c, most),
           scale = codes_binary(c, "div", codes_constant(c, FNZ_F64, 1), sum(c, e));
  return codes_binary(c, "mul", e, codes_as(c, c->class, scale));
}

static void code_softmax(const coding *c) {
  c->results[0] = softmax(c, fnzi_dev_rows_fold(c->r, "amax", c->x));
}

static void code_safe_softmax(const coding *c) {
  uint16_t most = fnzi_dev_rows_fold(c->r, "amax", c->x), y = softmax(c, most);
  c->results[0] = fnzi_dev_rows_choose(c->r, codes_unary(c, "isneginf", most),
                                       codes_constant(c, c->class, 0), y);
}

static void code_log_softmax(const coding *c) {
  uint16_t most = fnzi_dev_rows_fold(c->r, "amax", c->x);
  uint16_t log = codes_unary(c, "log", sum(c, exponentials(c, most)));
  uint16_t x = codes_as(c, FNZ_F64, c->x), m = codes_as(c, FNZ_F64, most);
  c->results[0] = c->class == FNZ_F64 ? codes_binary(c, "sub", codes_binary(c, "sub", x, m), log)
                                      : codes_binary(c, "sub", x, codes_binary(c, "add", m, log));
}

/* --- Moments ---------------------------------------------------------------------------------- */
static uint16_t codes_mean(const coding *c, uint16_t x) {
  return codes_binary(c, "div", sum(c, x), codes_constant(c, FNZ_F64, (double)c->length));
}

static void code_variance(const coding *c) {
  double free = (double)c->length - c->code->parameter;
  uint16_t x = codes_as(c, FNZ_F64, c->x), m = codes_mean(c, x), d = codes_binary(c, "sub", x, m);
  uint16_t var = codes_binary(c, "div", sum(c, codes_binary(c, "mul", d, d)),
                              codes_constant(c, FNZ_F64, free > 0 ? free : 0));
  c->results[0] = var;
  c->results[1] = m;
}

static void code_deviation(const coding *c) {
  code_variance(c);
  c->results[0] = codes_unary(c, "sqrt", c->results[0]);
}

static void code_vector_norm(const coding *c) {
  double order = c->code->parameter;
  uint16_t x = codes_unary(c, "abs", codes_as(c, FNZ_F64, c->x));
  if (isinf(order))
    c->results[0] = fnzi_dev_rows_fold(c->r, order > 0 ? "amax" : "amin", x);
  else if (order == 0)
    c->results[0] = sum(c, codes_as(c, FNZ_BOOL, x));
  else if (order == 1)
    c->results[0] = sum(c, x);
  else if (order == 2)
    c->results[0] = codes_unary(c, "sqrt", sum(c, codes_binary(c, "mul", x, x)));
  else
    c->results[0] =
        codes_binary(c, "pow", sum(c, codes_binary(c, "pow", x, codes_constant(c, FNZ_F64, order))),
                     codes_constant(c, FNZ_F64, 1 / order));
}

/* Returns 1 / sqrt(mean of squares + eps). Squares are in double, which is exact for f32. */
static uint16_t rstd_of(const coding *c, uint16_t elements) {
  uint16_t d = codes_as(c, FNZ_F64, elements), var = codes_mean(c, codes_binary(c, "mul", d, d));
  return codes_unary(c, "rsqrt",
                     codes_binary(c, "add", var, codes_constant(c, FNZ_F64, c->code->parameter)));
}

/* Weights are taken in the type that is computed, step by step, as kernels/rows/ takes them. */
static uint16_t weighted(const coding *c, uint16_t d, uint16_t rstd) {
  uint16_t y = codes_binary(c, "mul", d, codes_as(c, c->class, rstd));
  if (c->in[1] != NONE)
    y = codes_binary(c, "mul", y, codes_as(c, c->class, c->in[1]));
  return c->in[2] == NONE ? y : codes_binary(c, "add", y, codes_as(c, c->class, c->in[2]));
}

static void code_layer_norm(const coding *c) {
  uint16_t m = codes_mean(c, c->x), d = fnzi_dev_rows_less_mean(c->r, c->x, m),
           rstd = rstd_of(c, d);
  c->results[0] = weighted(c, d, rstd);
  c->results[1] = m;
  c->results[2] = rstd;
}

static void code_rms_norm(const coding *c) {
  uint16_t rstd = rstd_of(c, c->x);
  c->results[0] = weighted(c, c->x, rstd);
  c->results[1] = rstd;
}

/* --- Scans ------------------------------------------------------------------------------------ */
/* f32 accumulates in double, the 16-bit floats in f32. */
static void code_scan(const coding *c) {
  bool wide = c->out == FNZ_F32 || c->out == FNZ_F64;
  c->results[0] = fnzi_dev_rows_scan(c->r, c->code->mode == FNZI_MODE_prod ? "prod" : "sum",
                                     codes_as(c, wide ? FNZ_F64 : c->class, c->x));
}

static void code_cummax(const coding *c) {
  c->results[0] = fnzi_dev_rows_running(c->r, "max", c->x, &c->results[1]);
}

static void code_cummin(const coding *c) {
  c->results[0] = fnzi_dev_rows_running(c->r, "min", c->x, &c->results[1]);
}

static void code_logs(const coding *c) {
  c->results[0] = fnzi_dev_rows_scan(c->r, "logs", codes_as(c, FNZ_F64, c->x));
}

/* --- The whole -------------------------------------------------------------------------------- */

bool fnzi_dev_rows_code(fnzi_dev_rows *r, const fnzi_meta_row_code *code, fnz_dtype out,
                        int64_t length, const uint16_t in[FNZI_ROW_OPERANDS],
                        uint16_t results[FNZI_ROW_RESULTS]) {
  coding c = {.r = r, .code = code, .out = out, .length = length, .in = in, .results = results};
  const fnz_dtype dtype = fnzi_dev_rows_dtype(r, in[0]);
  if (dtype == FNZ_F16 || dtype == FNZ_BF16 || dtype == FNZ_F32)
    c.class = FNZ_F32;
  else if (dtype == FNZ_BOOL || (fnzi_is_integer(dtype) && dtype != FNZ_U64))
    c.class = FNZ_I64;
  else if (dtype == FNZ_F64)
    c.class = FNZ_F64;
  else /* no rows compute it */
    return false;
  c.x = fnzi_dev_rows_convert(r, c.class, in[0]);
  switch (code->kernel) {
#define EACH(run, over, parameter, code, input)                                                    \
  case FNZI_RUN_##run:                                                                             \
    code_##code(&c);                                                                               \
    return true;
#include "kernels/row_ops.def"
  default:
    return false;
  }
}
