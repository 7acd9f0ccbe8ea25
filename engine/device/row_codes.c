/* row_codes.c - operators that compute row by row, as folds and rows of point.def. What the
 * CPU's kernels add up in double is added up in double here. */
#include "engine/device/rows.h"

#include <math.h>

enum { NONE = FNZI_ENG_ROWS_NONE };

typedef struct coding {
  fnzi_eng_rows *r;
  const fnzi_meta_row_code *code;
  fnz_dtype class, out; /* that is computed; of the result */
  int64_t length;
  uint16_t x; /* the elements, as `class` */
  const uint16_t *in;
  uint16_t *results;
} coding;

static uint16_t one(const coding *c, const char *row, uint16_t a) {
  return fnzi_eng_rows_of(c->r, row, a, NONE, NONE);
}
static uint16_t two(const coding *c, const char *row, uint16_t a, uint16_t b) {
  return fnzi_eng_rows_of(c->r, row, a, b, NONE);
}
static uint16_t number(const coding *c, fnz_dtype dtype, double n) {
  return fnzi_eng_rows_number(c->r, dtype, n);
}
static uint16_t as(const coding *c, fnz_dtype dtype, uint16_t a) {
  return fnzi_eng_rows_as(c->r, dtype, a);
}
/* The sum of a row in double. */
static uint16_t sum(const coding *c, uint16_t a) {
  return fnzi_eng_rows_fold(c->r, "sum", as(c, FNZ_F64, a));
}

/* --- Sums and extremes --------------------------------------------------------------------------
 */
static void code_sum(const coding *c) {
  bool skips = c->code->kernel == FNZI_RUN_nansum && fnzi_is_float(c->class);
  uint16_t x = skips
                   ? fnzi_eng_rows_choose(c->r, one(c, "isnan", c->x), number(c, c->class, 0), c->x)
                   : c->x;
  uint16_t s = fnzi_eng_rows_fold(c->r, "sum", x);
  bool is_mean = strcmp(c->code->op, "mean") == 0;
  c->results[0] = is_mean ? two(c, "div", s, number(c, c->class, (double)c->length)) : s;
}

/* NaN of extremes have no payload: lined up with elements one, of a whole tensor another. */
static uint16_t without_payload(const coding *c, uint16_t a) {
  bool overall = c->code->op[0] == 'm';
  uint64_t ones = UINT64_MAX;
  float negative = copysignf(NAN, -1);
  uint16_t nan = c->class == FNZ_F64 && overall ? fnzi_eng_rows_bits(c->r, FNZ_F64, &ones)
                 : overall && c->out == FNZ_F16 ? fnzi_eng_rows_bits(c->r, FNZ_F32, &negative)
                 : overall                      ? fnzi_eng_rows_bits(c->r, FNZ_F32, &ones)
                                                : number(c, c->class, NAN);
  return fnzi_eng_rows_choose(c->r, one(c, "isnan", a), nan, a);
}

static void code_reduce(const coding *c) {
  const char *op = c->code->op;
  const char *fold = strcmp(op, "max") == 0 ? "amax" : strcmp(op, "min") == 0 ? "amin" : op;
  bool asks = strcmp(op, "any") == 0 || strcmp(op, "all") == 0;
  uint16_t a = fnzi_eng_rows_fold(c->r, fold, asks ? as(c, FNZ_BOOL, c->x) : c->x);
  c->results[0] =
      asks || !fnzi_is_float(c->class) || strcmp(op, "prod") == 0 ? a : without_payload(c, a);
}

static const char *pick_of(const coding *c) {
  return strstr(c->code->op, "max") ? "max" : "min";
}

static void code_arg(const coding *c) {
  fnzi_eng_rows_pick(c->r, pick_of(c), c->x, NONE, &c->results[0]);
}

static void code_extreme(const coding *c) {
  c->results[0] = fnzi_eng_rows_pick(c->r, pick_of(c), c->x, NONE, &c->results[1]);
}

static void code_both_extremes(const coding *c) {
  c->results[0] = fnzi_eng_rows_fold(c->r, "amin", c->x);
  c->results[1] = fnzi_eng_rows_fold(c->r, "amax", c->x);
}

static void code_count(const coding *c) {
  c->results[0] = fnzi_eng_rows_fold(c->r, "sum", as(c, FNZ_I64, as(c, FNZ_BOOL, c->x)));
}

/* --- Exponentials -------------------------------------------------------------------------------
 */
static uint16_t exponentials(const coding *c, uint16_t most) {
  return one(c, "exp", two(c, "sub", c->x, most));
}

static void code_logsumexp(const coding *c) {
  uint16_t most = fnzi_eng_rows_fold(c->r, "amax", c->x);
  uint16_t base = fnzi_eng_rows_choose(c->r, one(c, "isinf", most), number(c, c->class, 0), most);
  uint16_t log = one(c, "log", sum(c, exponentials(c, base)));
  c->results[0] = two(c, "add", as(c, FNZ_F64, base), log);
}

/* A division for each element takes a GPU longer than its memory takes to bring one of 16 bits: one
 * for each row, in double, is rounded once. */
static void code_softmax(const coding *c) {
  uint16_t most = fnzi_eng_rows_fold(c->r, "amax", c->x), e = exponentials(c, most);
  uint16_t scale = two(c, "div", number(c, FNZ_F64, 1), sum(c, e));
  uint16_t y = two(c, "mul", e, as(c, c->class, scale));
  if (c->code->kernel == FNZI_RUN_safe_softmax)
    y = fnzi_eng_rows_choose(c->r, one(c, "isneginf", most), number(c, c->class, 0), y);
  c->results[0] = y;
}

static void code_log_softmax(const coding *c) {
  uint16_t most = fnzi_eng_rows_fold(c->r, "amax", c->x);
  uint16_t log = one(c, "log", sum(c, exponentials(c, most)));
  uint16_t x = as(c, FNZ_F64, c->x), m = as(c, FNZ_F64, most);
  c->results[0] = c->class == FNZ_F64 ? two(c, "sub", two(c, "sub", x, m), log)
                                      : two(c, "sub", x, two(c, "add", m, log));
}

/* --- Moments ------------------------------------------------------------------------------------
 */
static uint16_t mean(const coding *c, uint16_t x) {
  return two(c, "div", sum(c, x), number(c, FNZ_F64, (double)c->length));
}

static void code_variance(const coding *c) {
  double free = (double)c->length - c->code->parameter;
  uint16_t x = as(c, FNZ_F64, c->x), m = mean(c, x), d = two(c, "sub", x, m);
  uint16_t var =
      two(c, "div", sum(c, two(c, "mul", d, d)), number(c, FNZ_F64, free > 0 ? free : 0));
  c->results[0] = c->code->kernel == FNZI_RUN_deviation ? one(c, "sqrt", var) : var;
  c->results[1] = m;
}

static void code_norm(const coding *c) {
  double order = c->code->parameter;
  uint16_t x = one(c, "abs", as(c, FNZ_F64, c->x));
  if (isinf(order))
    c->results[0] = fnzi_eng_rows_fold(c->r, order > 0 ? "amax" : "amin", x);
  else if (order == 0)
    c->results[0] = sum(c, as(c, FNZ_BOOL, x));
  else if (order == 1)
    c->results[0] = sum(c, x);
  else if (order == 2)
    c->results[0] = one(c, "sqrt", sum(c, two(c, "mul", x, x)));
  else
    c->results[0] = two(c, "pow", sum(c, two(c, "pow", x, number(c, FNZ_F64, order))),
                        number(c, FNZ_F64, 1 / order));
}

/* Weights are taken in the type that is computed, step by step, as kernels/rows/ takes them. */
static void code_layer(const coding *c) {
  bool rms = c->code->kernel == FNZI_RUN_rms_norm;
  uint16_t x = as(c, FNZ_F64, c->x), m = rms ? NONE : mean(c, x);
  uint16_t d = rms ? x : two(c, "sub", x, m), var = mean(c, two(c, "mul", d, d));
  uint16_t rstd = one(c, "rsqrt", two(c, "add", var, number(c, FNZ_F64, c->code->parameter)));
  uint16_t y = as(c, c->class, two(c, "mul", d, rstd));
  if (c->in[1] != NONE)
    y = two(c, "mul", y, as(c, c->class, c->in[1]));
  if (c->in[2] != NONE)
    y = two(c, "add", y, as(c, c->class, c->in[2]));
  c->results[0] = y;
  c->results[1] = rms ? rstd : m;
  c->results[2] = rstd;
}

/* --- Scans --------------------------------------------------------------------------------------
 */
/* f32 accumulates in double, the 16-bit floats in f32. */
static void code_scan(const coding *c) {
  bool wide = c->out == FNZ_F32 || c->out == FNZ_F64;
  c->results[0] = fnzi_eng_rows_scan(c->r, strcmp(c->code->op, "cumprod") == 0 ? "prod" : "sum",
                                     as(c, wide ? FNZ_F64 : c->class, c->x));
}

static void code_running(const coding *c) {
  c->results[0] = fnzi_eng_rows_running(c->r, pick_of(c), c->x, &c->results[1]);
}

static void code_logs(const coding *c) {
  c->results[0] = fnzi_eng_rows_scan(c->r, "logs", as(c, FNZ_F64, c->x));
}

/* --- The whole ----------------------------------------------------------------------------------
 */
static const struct {
  uint16_t kernel;
  void (*code)(const coding *c);
} codes[] = {{FNZI_RUN_sum, code_sum},
             {FNZI_RUN_nansum, code_sum},
             {FNZI_RUN_prod, code_reduce},
             {FNZI_RUN_reduce, code_reduce},
             {FNZI_RUN_arg, code_arg},
             {FNZI_RUN_extreme, code_extreme},
             {FNZI_RUN_aminmax, code_both_extremes},
             {FNZI_RUN_count_nonzero, code_count},
             {FNZI_RUN_logsumexp, code_logsumexp},
             {FNZI_RUN_softmax, code_softmax},
             {FNZI_RUN_safe_softmax, code_softmax},
             {FNZI_RUN_log_softmax, code_log_softmax},
             {FNZI_RUN_variance, code_variance},
             {FNZI_RUN_deviation, code_variance},
             {FNZI_RUN_vector_norm, code_norm},
             {FNZI_RUN_layer_norm, code_layer},
             {FNZI_RUN_group_norm, code_layer},
             {FNZI_RUN_rms_norm, code_layer},
             {FNZI_RUN_scan, code_scan},
             {FNZI_RUN_cummax, code_running},
             {FNZI_RUN_cummin, code_running},
             {FNZI_RUN_logcumsumexp, code_logs}};

/* In which type it computes; FNZ_DTYPE_COUNT: in none that there are rows for. */
static fnz_dtype class_of(fnz_dtype dtype) {
  if (dtype == FNZ_F16 || dtype == FNZ_BF16 || dtype == FNZ_F32)
    return FNZ_F32;
  return dtype == FNZ_F64                                                    ? FNZ_F64
         : dtype == FNZ_BOOL || (fnzi_is_integer(dtype) && dtype != FNZ_U64) ? FNZ_I64
                                                                             : FNZ_DTYPE_COUNT;
}

bool fnzi_eng_rows_code(fnzi_eng_rows *r, const fnzi_meta_row_code *code, fnz_dtype out,
                        int64_t length, const uint16_t in[FNZI_ROW_OPERANDS],
                        uint16_t results[FNZI_ROW_RESULTS]) {
  coding c = {.r = r, .code = code, .out = out, .length = length, .in = in, .results = results};
  c.class = class_of(fnzi_eng_rows_dtype(r, in[0]));
  for (size_t i = 0; i < sizeof codes / sizeof *codes && c.class != FNZ_DTYPE_COUNT; i++)
    if (codes[i].kernel == code->kernel) {
      c.x = fnzi_eng_rows_as(r, c.class, in[0]);
      codes[i].code(&c);
      return true;
    }
  return false;
}
