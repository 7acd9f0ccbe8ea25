/* pointwise.c - runs the rows of point.def over strided operands of any dtype: operands are brought
 * to the computing type chunk by chunk, results to theirs. */
#include "kernels/cpu/point.h"

#include <stdio.h>

fnz_dtype fnzi_point_class(fnz_dtype d) {
  if (d == FNZ_BOOL || (fnzi_is_integer(d) && d != FNZ_U64))
    return FNZ_I64;
  if (d == FNZ_F16 || d == FNZ_BF16 || d == FNZ_F32)
    return FNZ_F32;
  return d == FNZ_F64 || d == FNZ_C64 ? d : FNZ_DTYPE_COUNT;
}

const fnzi_point *fnzi_point_find(fnz_dtype class_dtype, const char *name) {
  const fnzi_point *row = class_dtype == FNZ_I64   ? fnzi_points_i64
                          : class_dtype == FNZ_F32 ? fnzi_points_f32
                          : class_dtype == FNZ_F64 ? fnzi_points_f64
                          : class_dtype == FNZ_C64 ? fnzi_points_c64
                                                   : NULL;
  for (; row && row->name; row++)
    if (strcmp(row->name, name) == 0)
      return row;
  return NULL;
}

/* --- Loops ------------------------------------------------------------------------------- */
typedef union number_cell {
  unsigned char bytes[16];
  double aligned;
} number_cell;

typedef struct point {
  const char *name;
  const fnz_arg *operands[FNZI_POINT_OPERANDS + 1];
  uint32_t noperands;
  fnz_dtype compute, class_dtype; /* what is computed, and in which type */
  const fnzi_point *row;
  fnz_dtype out;
  struct {
    fnz_dtype dtype;
    bool rounds; /* to the 16-bit float that is computed, before computing */
    number_cell value;
  } in[FNZI_POINT_OPERANDS];
} point;

static void load(const point *p, uint32_t k, void *to, const char *from, int64_t stride,
                 int64_t count) {
  uint16_t half[FNZI_POINT_CHUNK];
  int64_t cell = (int64_t)fnzi_dtype(p->class_dtype)->bytes;
  fnz_dtype dtype = p->in[k].dtype;
  if (p->in[k].rounds) {
    fnzi_convert(p->compute, half, 2, dtype, from, stride, count);
    fnzi_convert(p->class_dtype, to, cell, p->compute, half, 2, count);
    return;
  }
  fnzi_convert(p->class_dtype, to, cell, dtype, from, stride, count);
}

static bool is_direct(fnz_dtype have, fnz_dtype want, int64_t stride) {
  return have == want && stride == (int64_t)fnzi_dtype(want)->bytes;
}

/* An operand that stays the same along the row is loaded once. */
static void point_row(const void *user, char *const *data, const int64_t *strides, int64_t count) {
  const point *p = user;
  double room[FNZI_POINT_OPERANDS + 1][FNZI_POINT_CHUNK];
  const void *in[FNZI_POINT_OPERANDS];
  bool direct_out = is_direct(p->out, p->row->out, strides[0]);
  for (int64_t at = 0; at < count; at += FNZI_POINT_CHUNK) {
    int64_t n = count - at < FNZI_POINT_CHUNK ? count - at : FNZI_POINT_CHUNK;
    for (uint32_t k = 0; k < p->noperands; k++) {
      const char *from = data[k + 1] + at * strides[k + 1];
      in[k] = room[k];
      if (is_direct(p->in[k].dtype, p->class_dtype, strides[k + 1]))
        in[k] = from;
      else if (at == 0 || strides[k + 1] != 0)
        load(p, k, room[k], from, strides[k + 1], n);
    }
    char *to = data[0] + at * strides[0];
    p->row->run(direct_out ? (void *)to : room[FNZI_POINT_OPERANDS], in, n);
    if (!direct_out)
      fnzi_convert(p->out, to, strides[0], p->row->out, room[FNZI_POINT_OPERANDS],
                   (int64_t)fnzi_dtype(p->row->out)->bytes, n);
  }
}

static void add_operand(point *p, fnzi_loop *loop, uint32_t k) {
  static const int64_t none[1] = {0};
  const fnzi_array *a = fnzi_arg_array(p->operands[k]);
  if (a) {
    p->in[k].dtype = a->place.dtype;
    p->in[k].rounds = (p->compute == FNZ_F16 || p->compute == FNZ_BF16) && a->place.rank > 0 &&
                      a->place.dtype != p->compute && a->place.dtype != FNZ_BOOL;
    fnzi_loop_add_array(loop, a);
    return;
  }
  fnzi_number_cell(p->operands[k], p->class_dtype, p->in[k].value.bytes);
  p->in[k].dtype = p->class_dtype;
  fnzi_loop_add(loop, p->in[k].value.bytes, 0, none, none, 1);
}

static fnz_status find_row(const fnzi_call *call, point *p) {
  p->class_dtype = fnzi_point_class(p->compute);
  p->row = fnzi_point_find(p->class_dtype, p->name);
  if (!p->row)
    return fnzi_refuse(call, FNZ_CLASS_UNSUPPORTED, "there is no kernel for element type %s",
                       fnzi_dtype(p->compute)->name);
  if (p->noperands < p->row->arity)
    return fnzi_refuse(call, FNZ_CLASS_TYPE, "%u operands given, %u needed", p->noperands,
                       (unsigned)p->row->arity);
  p->noperands = p->row->arity;
  return FNZ_OK;
}

static fnz_status run_point(fnzi_call *call, point *p) {
  fnzi_array *out = call->outputs[0];
  fnzi_loop loop;
  FNZ_TRY(find_row(call, p));
  p->out = out->place.dtype;
  fnzi_loop_start(&loop, out->place.rank, out->place.sizes);
  fnzi_loop_add_array(&loop, out);
  for (uint32_t k = 0; k < p->noperands; k++)
    add_operand(p, &loop, k);
  fnzi_loop_run(&loop, point_row, p, call->threads, false);
  return FNZ_OK;
}

static void add_window(point *p, fnzi_loop *loop, const fnzi_window *w) {
  p->in[p->noperands++].dtype = w->dtype;
  fnzi_loop_add_window(loop, w);
}

fnz_status fnzi_window_combine(fnzi_call *call, const char *row, const fnzi_window *to,
                               const fnzi_window *from, const fnz_arg *extra) {
  point p = {.name = row, .compute = to->dtype, .out = to->dtype};
  fnzi_window number;
  unsigned char room[16];
  fnzi_loop loop;
  fnzi_loop_start(&loop, to->rank, to->sizes);
  fnzi_loop_add_window(&loop, to);
  add_window(&p, &loop, to);
  add_window(&p, &loop, from);
  if (extra) {
    fnzi_window_number(extra, fnzi_point_class(to->dtype), room, &number);
    add_window(&p, &loop, &number);
  }
  FNZ_TRY(find_row(call, &p));
  fnzi_loop_run(&loop, point_row, &p, call->threads, false);
  return FNZ_OK;
}

/* --- Which row --------------------------------------------------------------------------- */
/* Other names of the same operators. */
static const char *const aliases[][2] = {
    {"__and__", "bitwise_and"},
    {"__or__", "bitwise_or"},
    {"__xor__", "bitwise_xor"},
    {"__lshift__", "bitwise_left_shift"},
    {"__rshift__", "bitwise_right_shift"},
    {"absolute", "abs"},
    {"arccos", "acos"},
    {"arccosh", "acosh"},
    {"arcsin", "asin"},
    {"arcsinh", "asinh"},
    {"arctan", "atan"},
    {"arctan2", "atan2"},
    {"arctanh", "atanh"},
    {"clip", "clamp"},
    {"divide", "div"},
    {"fix", "trunc"},
    {"floor_divide", "div_floor"},
    {"greater", "gt"},
    {"greater_equal", "ge"},
    {"less", "lt"},
    {"less_equal", "le"},
    {"multiply", "mul"},
    {"negative", "neg"},
    {"not_equal", "ne"},
    {"special_digamma", "digamma"},
    {"special_erf", "erf"},
    {"special_erfc", "erfc"},
    {"special_exp2", "exp2"},
    {"special_expit", "sigmoid"},
    {"special_expm1", "expm1"},
    {"special_gammaln", "lgamma"},
    {"special_log1p", "log1p"},
    {"special_polygamma", "polygamma"},
    {"special_round", "round"},
    {"subtract", "sub"},
    {"true_divide", "div"},
    {"_conj_physical", "conj_physical"},
    {"_conj_copy", "conj_physical"},
    {"_conj", "conj_physical"},
    {"_neg_view_copy", "neg"},
    {"_neg_view", "neg"},
    {"max", "maximum"},
    {"min", "minimum"},
};

static const char *plain_name(const char *base) {
  for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
    if (strcmp(aliases[i][0], base) == 0)
      return aliases[i][1];
  return base;
}

static void collect_operands(const fnzi_call *call, point *p) {
  for (size_t i = 0; i < call->op->nparams; i++) {
    const fnz_arg *arg = &call->args[i];
    bool is_operand = arg->tag == FNZ_ARG_VALUE || arg->tag == FNZ_ARG_INT ||
                      arg->tag == FNZ_ARG_FLOAT || arg->tag == FNZ_ARG_BOOL ||
                      arg->tag == FNZ_ARG_COMPLEX;
    if (is_operand && p->noperands < FNZI_POINT_OPERANDS)
      p->operands[p->noperands++] = arg;
  }
}

static bool is_one(const fnz_arg *arg) {
  return !arg || (arg->tag != FNZ_ARG_COMPLEX && fnzi_number_float(arg) == 1.0);
}

static void choose_scaled(const fnzi_call *call, point *p, const char *scaled) {
  if (!is_one(fnzi_named(call, "alpha")))
    p->name = scaled;
}

static void choose_division(const fnzi_call *call, point *p) {
  const char *mode = fnzi_named_string(call, "rounding_mode");
  if (strcmp(mode, "floor") == 0)
    p->name = "div_floor";
  if (strcmp(mode, "trunc") == 0)
    p->name = "div_trunc";
}

static void choose_clamp(const fnzi_call *call, point *p) {
  if (fnzi_named(call, "max")->tag == FNZ_ARG_NONE)
    p->name = "clamp_min";
  if (fnzi_named(call, "min")->tag == FNZ_ARG_NONE)
    p->name = fnzi_named(call, "max")->tag == FNZ_ARG_NONE ? "positive" : "clamp_max";
}

/* Eager computes these exponents without pow. */
static void choose_power(const fnzi_call *call, point *p) {
  static const struct {
    double exponent;
    const char *row;
  } special[] = {{0, "one"},    {1, "positive"}, {2, "square"},      {3, "cube"},
                 {0.5, "sqrt"}, {-0.5, "rsqrt"}, {-1, "reciprocal"}, {-2, "reciprocal_square"}};
  const fnz_arg *exponent = &call->args[1];
  if (exponent->tag != FNZ_ARG_INT && exponent->tag != FNZ_ARG_FLOAT)
    return;
  if (fnzi_point_class(p->compute) == FNZ_I64)
    return;
  for (size_t i = 0; i < sizeof special / sizeof *special; i++)
    if (fnzi_number_float(exponent) == special[i].exponent)
      p->name = special[i].row;
}

static void choose_polygamma(const fnzi_call *call, point *p) {
  int64_t n = fnzi_named_int(call, "n", 0);
  if (n > 1)
    return;
  p->name = n == 0 ? "digamma" : "trigamma";
  p->operands[0] = p->operands[1];
  p->noperands = 1;
}

static void choose_shift(const fnzi_call *call, point *p, fnz_arg *width) {
  size_t bits = 8 * fnzi_dtype(call->outputs[0]->place.dtype)->bytes;
  *width = (fnz_arg){.tag = FNZ_ARG_INT, .u.i = (int64_t)bits};
  p->operands[2] = width;
  p->noperands = 3;
}

static void choose_row(const fnzi_call *call, point *p, fnz_arg *extra) {
  const char *name = p->name;
  if (strcmp(name, "add") == 0)
    choose_scaled(call, p, "add_scaled");
  else if (strcmp(name, "sub") == 0)
    choose_scaled(call, p, "sub_scaled");
  else if (strcmp(name, "rsub") == 0)
    choose_scaled(call, p, "rsub_scaled");
  else if (strcmp(name, "div") == 0)
    choose_division(call, p);
  else if (strcmp(name, "clamp") == 0)
    choose_clamp(call, p);
  else if (strcmp(name, "pow") == 0)
    choose_power(call, p);
  else if (strcmp(name, "polygamma") == 0)
    choose_polygamma(call, p);
  else if (strncmp(name, "bitwise_", 8) == 0 && strstr(name, "_shift"))
    choose_shift(call, p, extra);
  else if (strcmp(name, "gelu") == 0 && strcmp(fnzi_named_string(call, "approximate"), "tanh") == 0)
    p->name = "gelu_tanh";
  else if (strcmp(name, "bitwise_not") == 0 && p->compute == FNZ_BOOL)
    p->name = "bool_not";
  else if (strcmp(name, "conj_physical") == 0 && p->compute != FNZ_C64)
    p->name = "positive";
}

/* Results that say nothing about what is computed: promote the operands. */
static fnz_dtype computed_dtype(const fnzi_call *call, const point *p) {
  fnzi_result_kind kind = fnzi_op_result_kind(call->op);
  fnzi_promotion promotion = {0};
  if (kind != FNZI_RESULT_BOOL && kind != FNZI_RESULT_REAL)
    return call->outputs[0]->place.dtype;
  for (uint32_t k = 0; k < p->noperands; k++) {
    const fnzi_array *a = fnzi_arg_array(p->operands[k]);
    if (a)
      fnzi_promotion_add_tensor(&promotion, a->place.dtype, a->place.rank);
    else
      fnzi_promotion_add_number(&promotion, p->operands[k]);
  }
  return fnzi_promotion_result(&promotion);
}

/* --- What eager refuses ------------------------------------------------------------------ */
static fnz_status refuse_zero(fnzi_call *call, const point *p) {
  const fnzi_array *a = fnzi_arg_array(p->operands[1]);
  const int64_t *values = NULL;
  const void *dense;
  int64_t count = a ? fnzi_array_numel(a) : 1, single = a ? 1 : fnzi_number_int(p->operands[1]);
  if (a) {
    FNZ_TRY(fnzi_dense_as(call, a, FNZ_I64, &dense));
    values = dense;
  }
  for (int64_t i = 0; i < count; i++)
    if ((values ? values[i] : single) == 0)
      return fnzi_refuse(call, FNZ_CLASS_BOUNDS, "integer division by zero at element %lld",
                         (long long)i);
  return FNZ_OK;
}

static bool divides(const char *name) {
  return strncmp(name, "div_", 4) == 0 || strcmp(name, "remainder") == 0 ||
         strcmp(name, "fmod") == 0;
}

static fnz_status check_values(fnzi_call *call, const point *p) {
  if (fnzi_point_class(p->compute) != FNZ_I64)
    return FNZ_OK;
  if (divides(p->name) && p->noperands > 1 && fnzi_array_numel(call->outputs[0]) > 0)
    return refuse_zero(call, p);
  if (strcmp(p->name, "pow") == 0 && !fnzi_arg_array(p->operands[1]) &&
      fnzi_number_int(p->operands[1]) < 0)
    return fnzi_refuse(call, FNZ_CLASS_BOUNDS,
                       "integers to negative integer powers are not allowed");
  if (p->compute == FNZ_BOOL &&
      (strcmp(p->name, "sub") == 0 || strcmp(p->name, "rsub") == 0 || strcmp(p->name, "neg") == 0))
    return fnzi_refuse(call, FNZ_CLASS_TYPE, "not for bool; use logical_xor or logical_not");
  return FNZ_OK;
}

/* --- Kernels ----------------------------------------------------------------------------- */
fnz_status fnzi_kernel_point(fnzi_call *call) {
  point p = {.name = plain_name(call->op->base)};
  fnz_arg extra;
  collect_operands(call, &p);
  p.compute = computed_dtype(call, &p);
  choose_row(call, &p, &extra);
  FNZ_TRY(check_values(call, &p));
  return run_point(call, &p);
}

/* where(mask, value, self) in the dtype of self. */
fnz_status fnzi_kernel_masked_fill(fnzi_call *call) {
  point p = {.name = "where", .noperands = 3};
  p.operands[0] = &call->args[1];
  p.operands[1] = &call->args[2];
  p.operands[2] = &call->args[0];
  p.compute = call->outputs[0]->place.dtype;
  return run_point(call, &p);
}
