/* point_choose.c - which row of point.def computes an operator: other names of the same, arguments
 * that choose among rows, and operands that the operator only implies. */
#include "kernels/cpu/point.h"

#include <float.h>
#include <math.h>

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
    {"float_power", "pow"},
    {"special_entr", "entr"},
    {"special_exp2", "exp2"},
    {"special_expit", "sigmoid"},
    {"special_expm1", "expm1"},
    {"special_gammaln", "lgamma"},
    {"special_log1p", "log1p"},
    {"special_logit", "logit"},
    {"special_polygamma", "polygamma"},
    {"special_round", "round"},
    {"special_sinc", "sinc"},
    {"special_xlog1py", "xlog1py"},
    {"special_xlogy", "xlogy"},
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

static bool is_number(const fnz_arg *arg) {
  return arg->tag == FNZ_ARG_INT || arg->tag == FNZ_ARG_FLOAT || arg->tag == FNZ_ARG_BOOL ||
         arg->tag == FNZ_ARG_COMPLEX;
}

static void collect_operands(const fnzi_call *call, fnzi_choice *c) {
  for (size_t i = 0; i < call->op->nparams; i++) {
    const fnz_arg *arg = &call->args[i];
    if ((arg->tag == FNZ_ARG_VALUE || is_number(arg)) && c->noperands < FNZI_POINT_OPERANDS)
      c->operands[c->noperands++] = arg;
  }
}

/* Results that say nothing about what is computed: promote the operands. */
static fnz_dtype computed_dtype(const fnzi_call *call, const fnzi_choice *c) {
  fnzi_result_kind kind = fnzi_op_result_kind(call->op);
  fnzi_promotion promotion = {0};
  if (kind != FNZI_RESULT_BOOL && kind != FNZI_RESULT_REAL && kind != FNZI_RESULT_REAL_FLOAT)
    return call->outputs[0]->place.dtype;
  for (uint32_t k = 0; k < c->noperands; k++) {
    const fnzi_array *a = fnzi_arg_array(c->operands[k]);
    if (a)
      fnzi_promotion_add_tensor(&promotion, a->place.dtype, a->place.rank);
    else
      fnzi_promotion_add_number(&promotion, c->operands[k]);
  }
  fnz_dtype dtype = fnzi_promotion_result(&promotion);
  bool is_exact = dtype == FNZ_BOOL || fnzi_is_integer(dtype);
  return kind == FNZI_RESULT_REAL_FLOAT && is_exact ? FNZ_F32 : dtype;
}

/* --- Operands that are not arguments ------------------------------------------------------ */
static void imply_number(fnzi_choice *c, uint32_t at, fnz_arg number) {
  c->extra[at] = number;
  c->operands[at] = &c->extra[at];
  if (c->noperands <= at)
    c->noperands = at + 1;
}

static void imply(fnzi_choice *c, uint32_t at, double value) {
  imply_number(c, at, (fnz_arg){.tag = FNZ_ARG_FLOAT, .u.f = value});
}

/* --- Choosers ----------------------------------------------------------------------------- */
static bool is_one(const fnz_arg *arg) {
  return !arg || (arg->tag != FNZ_ARG_COMPLEX && fnzi_number_float(arg) == 1.0);
}

/* The factor is a number of the element type. */
static void scale(const fnzi_call *call, fnzi_choice *c, const char *scaled) {
  const fnz_arg *alpha = fnzi_named(call, "alpha");
  double factor;
  uint16_t half;
  if (is_one(alpha))
    return;
  c->name = scaled;
  if (c->compute != FNZ_F16 && c->compute != FNZ_BF16)
    return;
  factor = fnzi_number_float(alpha);
  fnzi_convert(c->compute, &half, 0, FNZ_F64, &factor, 0, 1);
  fnzi_convert(FNZ_F64, &factor, 0, c->compute, &half, 0, 1);
  imply(c, 2, factor);
}

static void choose_add(const fnzi_call *call, fnzi_choice *c) {
  scale(call, c, "add_scaled");
}

static void choose_sub(const fnzi_call *call, fnzi_choice *c) {
  scale(call, c, "sub_scaled");
}

static void choose_rsub(const fnzi_call *call, fnzi_choice *c) {
  scale(call, c, "rsub_scaled");
}

static void choose_div(const fnzi_call *call, fnzi_choice *c) {
  const char *mode = fnzi_named_string(call, "rounding_mode");
  if (strcmp(mode, "floor") == 0)
    c->name = "div_floor";
  if (strcmp(mode, "trunc") == 0)
    c->name = "div_trunc";
}

static void choose_clamp(const fnzi_call *call, fnzi_choice *c) {
  if (fnzi_named(call, "max")->tag == FNZ_ARG_NONE)
    c->name = "clamp_min";
  if (fnzi_named(call, "min")->tag == FNZ_ARG_NONE)
    c->name = fnzi_named(call, "max")->tag == FNZ_ARG_NONE ? "positive" : "clamp_max";
}

/* Eager computes these exponents without pow. */
static void choose_pow(const fnzi_call *call, fnzi_choice *c) {
  static const struct {
    double exponent;
    const char *row;
  } special[] = {{0, "one"},    {1, "positive"}, {2, "square"},      {3, "cube"},
                 {0.5, "sqrt"}, {-0.5, "rsqrt"}, {-1, "reciprocal"}, {-2, "reciprocal_square"}};
  const fnz_arg *exponent = &call->args[1];
  if (exponent->tag != FNZ_ARG_INT && exponent->tag != FNZ_ARG_FLOAT)
    return;
  if (fnzi_point_class(c->compute) == FNZ_I64)
    return;
  for (size_t i = 0; i < sizeof special / sizeof *special; i++)
    if (fnzi_number_float(exponent) == special[i].exponent)
      c->name = special[i].row;
}

static void choose_polygamma(const fnzi_call *call, fnzi_choice *c) {
  int64_t n = fnzi_named_int(call, "n", 0);
  if (n > 1)
    return;
  c->name = n == 0 ? "digamma" : "trigamma";
  c->operands[0] = c->operands[1];
  c->noperands = 1;
}

/* The width of the element type. */
static void choose_shift(const fnzi_call *call, fnzi_choice *c) {
  size_t bits = 8 * fnzi_dtype(call->outputs[0]->place.dtype)->bytes;
  imply_number(c, 2, (fnz_arg){.tag = FNZ_ARG_INT, .u.i = (int64_t)bits});
}

static void choose_gelu(const fnzi_call *call, fnzi_choice *c) {
  if (strcmp(fnzi_named_string(call, "approximate"), "tanh") == 0)
    c->name = "gelu_tanh";
}

static void choose_not(const fnzi_call *call, fnzi_choice *c) {
  (void)call;
  if (c->compute == FNZ_BOOL)
    c->name = "bool_not";
}

static void choose_conj(const fnzi_call *call, fnzi_choice *c) {
  (void)call;
  if (c->compute != FNZ_C64)
    c->name = "positive";
}

static void choose_sgn(const fnzi_call *call, fnzi_choice *c) {
  (void)call;
  if (c->compute != FNZ_C64)
    c->name = "sign";
}

/* The largest finite number. */
static double largest(fnz_dtype dtype) {
  if (dtype == FNZ_F16)
    return 65504;
  if (dtype == FNZ_BF16)
    return 0x1.fep127;
  return dtype == FNZ_F64 ? DBL_MAX : (double)FLT_MAX;
}

static void choose_nan_to_num(const fnzi_call *call, fnzi_choice *c) {
  double limit = largest(c->compute);
  if (fnzi_point_class(c->compute) == FNZ_I64) {
    c->name = "positive";
    return;
  }
  imply(c, 1, fnzi_named_float(call, "nan", 0));
  imply(c, 2, fnzi_named_float(call, "posinf", limit));
  imply(c, 3, fnzi_named_float(call, "neginf", -limit));
}

static void choose_round(const fnzi_call *call, fnzi_choice *c) {
  int64_t places = fnzi_named_int(call, "decimals", 0);
  if (places == 0)
    return;
  c->name = places > 0 ? "round_up" : "round_down";
  imply(c, 1, pow(10, fabs((double)places)));
}

static void choose_logit(const fnzi_call *call, fnzi_choice *c) {
  (void)call;
  if (c->noperands > 1)
    c->name = "logit_inside";
}

/* elu(a, alpha, scale, input scale) */
static void choose_celu(const fnzi_call *call, fnzi_choice *c) {
  double alpha = fnzi_named_float(call, "alpha", 1);
  c->name = "elu";
  imply(c, 1, alpha);
  imply(c, 2, 1);
  imply(c, 3, 1 / alpha);
}

static void choose_selu(const fnzi_call *call, fnzi_choice *c) {
  (void)call;
  c->name = "elu";
  imply(c, 1, 1.6732632423543772848170429916717);
  imply(c, 2, 1.0507009873554804934193349852946);
  imply(c, 3, 1);
}

typedef void chooser(const fnzi_call *call, fnzi_choice *c);

static const struct {
  const char *name;
  chooser *choose;
} choosers[] = {{"add", choose_add},
                {"bitwise_left_shift", choose_shift},
                {"bitwise_not", choose_not},
                {"bitwise_right_shift", choose_shift},
                {"celu", choose_celu},
                {"clamp", choose_clamp},
                {"conj_physical", choose_conj},
                {"div", choose_div},
                {"gelu", choose_gelu},
                {"logit", choose_logit},
                {"nan_to_num", choose_nan_to_num},
                {"polygamma", choose_polygamma},
                {"pow", choose_pow},
                {"round", choose_round},
                {"rsub", choose_rsub},
                {"selu", choose_selu},
                {"sgn", choose_sgn},
                {"sub", choose_sub}};

void fnzi_choose(const fnzi_call *call, fnzi_choice *out) {
  const char *name = plain_name(call->op->base);
  out->name = name;
  collect_operands(call, out);
  out->compute = computed_dtype(call, out);
  for (size_t i = 0; i < sizeof choosers / sizeof *choosers; i++)
    if (strcmp(choosers[i].name, name) == 0)
      choosers[i].choose(call, out);
}
