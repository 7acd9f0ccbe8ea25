/* point_choose.c - chooses the row of point.def that computes an operator, and its operands: looks
 * up the rows of point_ops.def. */
#include "kernels/meta/point.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* --- Rows --------------------------------------------------------------------------------- */
typedef enum condition {
  WHEN_ALWAYS,
  WHEN_INTEGERS,
  WHEN_REALS,
  WHEN_COMPLEXES,
  WHEN_BOOLS,
  WHEN_NONE,
  WHEN_GIVEN,
  WHEN_TENSOR,
  WHEN_IS,
  WHEN_DIFFERS,
  WHEN_ABOVE,
  WHEN_BELOW,
  WHEN_TEXT
} condition;

typedef enum source {
  FROM_NOTHING,
  FROM_ARG,
  FROM_ROUNDED,
  FROM_NUMBER,
  FROM_INVERSE,
  FROM_TENS,
  FROM_BITS,
  FROM_ELSE,
  FROM_ELSE_LARGEST,
  FROM_ELSE_LOWEST
} source;

typedef struct operand {
  source from;
  const char *arg;
  double number;
} operand;

typedef struct use {
  const char *op;
  condition when;
  const char *arg, *text;
  double number;
  const char *row;
  operand operands[FNZI_POINT_OPERANDS]; /* the first from nothing: all */
} use;

/* A condition is four columns: the test, its argument, a text, a number. */
#define ALWAYS               WHEN_ALWAYS, NULL, NULL, 0
#define INTEGERS             WHEN_INTEGERS, NULL, NULL, 0
#define REALS                WHEN_REALS, NULL, NULL, 0
#define COMPLEXES            WHEN_COMPLEXES, NULL, NULL, 0
#define BOOLS                WHEN_BOOLS, NULL, NULL, 0
#define NONE(arg)            WHEN_NONE, arg, NULL, 0
#define GIVEN(arg)           WHEN_GIVEN, arg, NULL, 0
#define TENSOR(arg)          WHEN_TENSOR, arg, NULL, 0
#define IS(arg, number)      WHEN_IS, arg, NULL, number
#define DIFFERS(arg, number) WHEN_DIFFERS, arg, NULL, number
#define ABOVE(arg, number)   WHEN_ABOVE, arg, NULL, number
#define BELOW(arg, number)   WHEN_BELOW, arg, NULL, number
#define TEXT(arg, string)    WHEN_TEXT, arg, string, 0

/* clang-format off */
#define ALL               {{FROM_NOTHING, NULL, 0}}
#define THESE(...)        {__VA_ARGS__}
#define ARG(arg)          {FROM_ARG, arg, 0}
#define ROUNDED(arg)      {FROM_ROUNDED, arg, 0}
#define NUMBER(n)         {FROM_NUMBER, NULL, n}
#define INVERSE(arg)      {FROM_INVERSE, arg, 0}
#define TENS(arg)         {FROM_TENS, arg, 0}
#define BITS              {FROM_BITS, NULL, 0}
#define ELSE(arg, n)      {FROM_ELSE, arg, n}
#define ELSE_LARGEST(arg) {FROM_ELSE_LARGEST, arg, 0}
#define ELSE_LOWEST(arg)  {FROM_ELSE_LOWEST, arg, 0}
/* clang-format on */
#define USE(op, ...) {op, __VA_ARGS__},
static const use uses[] = {
#include "kernels/meta/point_ops.def"
};
#undef USE

enum { USES = sizeof uses / sizeof *uses };

static int by_operator(const void *key, const void *row) {
  return strcmp(key, ((const use *)row)->op);
}

fnz_dtype fnzi_meta_point_class(fnz_dtype d) {
  if (d == FNZ_BOOL || (fnzi_is_integer(d) && d != FNZ_U64))
    return FNZ_I64;
  if (d == FNZ_F16 || d == FNZ_BF16 || d == FNZ_F32)
    return FNZ_F32;
  return d == FNZ_F64 || d == FNZ_C64 || d == FNZ_C128 ? d : FNZ_DTYPE_COUNT;
}

/* --- Operands ----------------------------------------------------------------------------- */
/* Results that say nothing about what is computed: promote the operands. */
static fnz_dtype computed_dtype(const fnzi_krn_call *call, const fnzi_meta_point_choice *c) {
  fnzi_promotion_kind kind = call->op->promotion;
  fnzi_promotion promotion = {0};
  if (kind != FNZI_PROMOTE_ALWAYS_BOOL && kind != FNZI_PROMOTE_COMPLEX_TO_FLOAT &&
      kind != FNZI_PROMOTE_INT_AND_COMPLEX_TO_FLOAT)
    return call->outputs[0]->window.dtype;
  for (uint32_t k = 0; k < c->noperands; k++) {
    const fnzi_krn_array *a = fnzi_krn_arg_array(c->operands[k]);
    if (a)
      fnzi_promotion_add_tensor(&promotion, a->window.dtype, a->window.rank);
    else
      fnzi_promotion_add_number(&promotion, c->operands[k]);
  }
  fnz_dtype dtype = fnzi_promotion_result(&promotion);
  bool is_exact = dtype == FNZ_BOOL || fnzi_is_integer(dtype);
  return kind == FNZI_PROMOTE_INT_AND_COMPLEX_TO_FLOAT && is_exact ? FNZ_F32 : dtype;
}

/* The largest finite number. */
static double point_choose_largest(fnz_dtype dtype) {
  if (dtype == FNZ_F16)
    return 65504;
  if (dtype == FNZ_BF16)
    return 0x1.fep127;
  return dtype == FNZ_F64 || dtype == FNZ_C128 ? DBL_MAX : (double)FLT_MAX;
}

static double implied(const fnzi_krn_call *call, fnz_dtype compute, const operand *o) {
  switch (o->from) {
  case FROM_ROUNDED: {
    double number = fnzi_krn_named_float(call, o->arg, 0);
    uint16_t half;
    fnzi_krn_convert_one(compute, &half, FNZ_F64, &number);
    fnzi_krn_convert_one(FNZ_F64, &number, compute, &half);
    return number;
  }
  case FROM_INVERSE:
    return 1 / fnzi_krn_named_float(call, o->arg, 1);
  case FROM_TENS:
    return pow(10, fabs(fnzi_krn_named_float(call, o->arg, 0)));
  case FROM_BITS:
    return 8.0 * (double)fnzi_dtype(call->outputs[0]->window.dtype)->bytes;
  case FROM_ELSE:
    return fnzi_krn_named_float(call, o->arg, o->number);
  case FROM_ELSE_LARGEST:
    return fnzi_krn_named_float(call, o->arg, point_choose_largest(compute));
  case FROM_ELSE_LOWEST:
    return fnzi_krn_named_float(call, o->arg, -point_choose_largest(compute));
  case FROM_NOTHING:
  case FROM_ARG:
  case FROM_NUMBER:
    break;
  }
  return o->number;
}

static void take_operands(const fnzi_krn_call *call, const use *row, fnzi_meta_point_choice *c) {
  if (row->operands[0].from == FROM_NOTHING)
    return;
  uint32_t k = 0;
  for (; k < FNZI_POINT_OPERANDS && row->operands[k].from != FROM_NOTHING; k++) {
    const operand *o = &row->operands[k];
    /* A number that the dtype holds exactly is taken as it is. */
    c->operands[k] = o->from == FROM_ARG || (o->from == FROM_ROUNDED && c->compute != FNZ_F16 &&
                                             c->compute != FNZ_BF16)
                         ? fnzi_krn_named(call, o->arg)
                         : &c->extra[k];
    if (c->operands[k] == &c->extra[k])
      c->extra[k] = (fnz_arg){.tag = FNZ_ARG_FLOAT, .u.f = implied(call, c->compute, o)};
  }
  c->noperands = k;
}

/* --- Choosing ----------------------------------------------------------------------------- */
/* Data decide the number that the row asks about. */
static bool is_by_data(const fnzi_krn_call *call, const use *row) {
  bool asks = row->when == WHEN_IS || row->when == WHEN_DIFFERS || row->when == WHEN_ABOVE ||
              row->when == WHEN_BELOW;
  int i = asks && call->by_data ? fnzi_op_param(call->op, row->arg) : -1;
  return i >= 0 && (call->by_data >> i & 1) != 0;
}

static bool point_choose_holds(const fnzi_krn_call *call, fnz_dtype compute, const use *row) {
  const fnz_arg *arg = row->arg ? fnzi_krn_named(call, row->arg) : NULL;
  bool is_none = !arg || arg->tag == FNZ_ARG_NONE;
  switch (row->when) {
  case WHEN_INTEGERS:
    return fnzi_meta_point_class(compute) == FNZ_I64;
  case WHEN_REALS:
    return !fnzi_is_complex(compute);
  case WHEN_COMPLEXES:
    return fnzi_is_complex(compute);
  case WHEN_BOOLS:
    return compute == FNZ_BOOL;
  case WHEN_NONE:
    return is_none;
  case WHEN_GIVEN:
    return !is_none;
  case WHEN_TENSOR:
    return arg && arg->tag == FNZ_ARG_VALUE;
  case WHEN_IS:
  case WHEN_DIFFERS:
  case WHEN_ABOVE:
  case WHEN_BELOW: {
    if (!arg || !fnzi_arg_is_number(arg))
      return false;
    double have = fnzi_krn_number_float(arg);
    bool is = arg->tag != FNZ_ARG_COMPLEX && have == row->number;
    return row->when == WHEN_IS        ? is
           : row->when == WHEN_DIFFERS ? !is
           : row->when == WHEN_ABOVE   ? have > row->number
                                       : have < row->number;
  }
  case WHEN_TEXT:
    return strcmp(fnzi_krn_named_string(call, row->arg), row->text) == 0;
  case WHEN_ALWAYS:
    break;
  }
  return true;
}

/* The first row of an operator that holds; NULL when none does. Scaled by a factor of data, which
 * may be 1, it is the row with a factor: by 1 that computes the same. */
static const use *find_use(const fnzi_krn_call *call, fnzi_meta_point_choice *c) {
  const use *row = bsearch(c->name, uses, USES, sizeof *uses, by_operator);
  while (row && row > uses && strcmp(row[-1].op, c->name) == 0)
    row--; /* to the first of the operator's rows, which lie together */
  for (; row && row < uses + USES; row++) {
    if (strcmp(row->op, c->name) != 0)
      return NULL;
    bool scales = is_by_data(call, row) && row->when == WHEN_DIFFERS;
    c->by_data = c->by_data || (is_by_data(call, row) && !scales);
    if (scales || point_choose_holds(call, c->compute, row))
      return row;
  }
  return NULL;
}

void fnzi_meta_point_choose(const fnzi_krn_call *call, fnzi_meta_point_choice *out) {
  out->name = fnzi_op_canonical(call->op)->base;
  for (size_t i = 0; i < call->op->nparams; i++) {
    const fnz_arg *arg = &call->args[i];
    if ((arg->tag == FNZ_ARG_VALUE || fnzi_arg_is_number(arg)) &&
        out->noperands < FNZI_POINT_OPERANDS)
      out->operands[out->noperands++] = arg;
  }
  out->compute = computed_dtype(call, out);
  for (const use *row; (row = find_use(call, out)) != NULL;) {
    bool is_last = strcmp(row->row, row->op) == 0;
    out->name = row->row;
    take_operands(call, row, out);
    if (is_last)
      return;
  }
}
