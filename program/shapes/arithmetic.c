/* arithmetic.c - nodes that compute numbers from numbers, by Python's rules.
 *
 * Integers and truth values stay integers, anything else is computed in doubles. */
#include "program/region_ops.h"
#include "program/shapes/python.h"
#include "program/shapes/sizes.h"

#include "schema/aten_names.h"

#include <math.h>

enum { MOST_ARGS = 3 };

typedef struct operands {
  int64_t i[MOST_ARGS];
  double f[MOST_ARGS];
  bool floats; /* one of them is a float */
} operands;

typedef enum outcome { FINE, BEYOND, UNDEFINED } outcome;

/* --- integers --------------------------------------------------------------------------------- */
/* A result in doubles: if Python raises an error, the value is NaN although no operand is. */
static outcome real(const operands *o, double value, fnz_arg *out) {
  *out = (fnz_arg){.tag = FNZ_ARG_FLOAT, .u.f = value};
  return isnan(value) && !isnan(o->f[0]) && !isnan(o->f[1]) ? UNDEFINED : FINE;
}

/* Dividing an infinite number may give NaN. */
static outcome divided(const operands *o, double value, fnz_arg *out) {
  *out = (fnz_arg){.tag = FNZ_ARG_FLOAT, .u.f = value};
  return o->f[1] == 0 ? UNDEFINED : FINE;
}

static outcome checked(bool fits) {
  return fits ? FINE : BEYOND;
}

/* --- the table -------------------------------------------------------------------------------- */
#define IS_FLOAT(x) ((fnz_arg){.tag = FNZ_ARG_FLOAT, .u.f = (x)})
#define IS_BOOL(x)  ((fnz_arg){.tag = FNZ_ARG_BOOL, .u.i = (x)})

#define TWO_KINDS(name, whole, real)                                                               \
  static outcome name(const operands *o, fnz_arg *out) {                                           \
    const int64_t a = o->i[0], b = o->i[1];                                                        \
    const double x = o->f[0], y = o->f[1];                                                         \
    *out = (fnz_arg){.tag = FNZ_ARG_INT};                                                          \
    (void)a, (void)b, (void)x, (void)y;                                                            \
    if (!o->floats)                                                                                \
      return whole;                                                                                \
    *out = real;                                                                                   \
    return FINE;                                                                                   \
  }
TWO_KINDS(op_add, checked(fnzi_add_i64(a, b, &out->u.i)), IS_FLOAT(x + y))
TWO_KINDS(op_sub, checked(!__builtin_sub_overflow(a, b, &out->u.i)), IS_FLOAT(x - y))
TWO_KINDS(op_mul, checked(fnzi_mul_i64(a, b, &out->u.i)), IS_FLOAT(x *y))
TWO_KINDS(op_neg, checked(!__builtin_sub_overflow(0, a, &out->u.i)), IS_FLOAT(-x))
TWO_KINDS(op_pos, (out->u.i = a, FINE), IS_FLOAT(x))
TWO_KINDS(op_min, (out->u.i = a < b ? a : b, FINE), IS_FLOAT(y < x ? y : x))
TWO_KINDS(op_max, (out->u.i = a > b ? a : b, FINE), IS_FLOAT(y > x ? y : x))
TWO_KINDS(op_eq, (*out = IS_BOOL(a == b), FINE), IS_BOOL(x == y))
TWO_KINDS(op_ne, (*out = IS_BOOL(a != b), FINE), IS_BOOL(x != y))
TWO_KINDS(op_lt, (*out = IS_BOOL(a < b), FINE), IS_BOOL(x < y))
TWO_KINDS(op_le, (*out = IS_BOOL(a <= b), FINE), IS_BOOL(x <= y))
TWO_KINDS(op_gt, (*out = IS_BOOL(a > b), FINE), IS_BOOL(x > y))
TWO_KINDS(op_ge, (*out = IS_BOOL(a >= b), FINE), IS_BOOL(x >= y))
TWO_KINDS(op_not, (*out = IS_BOOL(a == 0), FINE), IS_BOOL(x == 0))
TWO_KINDS(op_and, (out->u.i = a & b, FINE), IS_FLOAT(0))
TWO_KINDS(op_or, (out->u.i = a | b, FINE), IS_FLOAT(0))
#undef TWO_KINDS

static outcome op_floordiv(const operands *o, fnz_arg *out) {
  if (o->floats)
    return divided(o, fnzi_python_quotient(o->f[0], o->f[1]), out);
  *out = (fnz_arg){.tag = FNZ_ARG_INT};
  int64_t a = o->i[0], b = o->i[1];
  if (b == 0)
    return UNDEFINED;
  if (a == INT64_MIN && b == -1)
    return BEYOND;
  out->u.i = a / b - (a % b != 0 && (a < 0) != (b < 0));
  return FINE;
}

static outcome op_mod(const operands *o, fnz_arg *out) {
  if (o->floats)
    return divided(o, fnzi_python_remainder(o->f[0], o->f[1]), out);
  *out = (fnz_arg){.tag = FNZ_ARG_INT};
  int64_t a = o->i[0], b = o->i[1];
  if (b == 0)
    return UNDEFINED;
  out->u.i = b == -1 ? 0 : a % b;
  out->u.i += out->u.i && (out->u.i < 0) != (b < 0) ? b : 0;
  return FINE;
}

static outcome op_pow(const operands *o, fnz_arg *out) {
  if (o->floats)
    return real(o, fnzi_python_power(o->f[0], o->f[1]), out);
  *out = (fnz_arg){.tag = FNZ_ARG_INT};
  int64_t a = o->i[0], b = o->i[1];
  if (b < 0)
    return UNDEFINED;
  out->u.i = 1;
  for (; b > 0 && (a > 1 || a < -1); b--)
    if (!fnzi_mul_i64(out->u.i, a, &out->u.i))
      return BEYOND;
  if (b > 0)
    out->u.i = a == -1 && b % 2 == 0 ? 1 : a;
  return FINE;
}

static outcome op_truediv(const operands *o, fnz_arg *out) {
  return divided(o, o->floats ? o->f[0] / o->f[1] : fnzi_python_divide(o->i[0], o->i[1]), out);
}

static outcome op_float(const operands *o, fnz_arg *out) {
  *out = IS_FLOAT(o->f[0]);
  return FINE;
}

static outcome whole(double x, fnz_arg *out) {
  if (!(x > -9.2e18 && x < 9.2e18))
    return BEYOND;
  *out = (fnz_arg){.tag = FNZ_ARG_INT, .u.i = (int64_t)x};
  return FINE;
}

#define ROUNDS(name, rounded)                                                                      \
  static outcome name(const operands *o, fnz_arg *out) {                                           \
    *out = (fnz_arg){.tag = FNZ_ARG_INT, .u.i = o->i[0]};                                          \
    return o->floats ? whole(rounded(o->f[0]), out) : FINE;                                        \
  }
ROUNDS(op_trunc, trunc)
ROUNDS(op_floor, floor)
ROUNDS(op_ceil, ceil)
#undef ROUNDS

static const struct {
  const char *target;
  size_t nargs;
  outcome (*compute)(const operands *o, fnz_arg *out);
} rows[] = {{"_operator.add", 2, op_add},
            {"_operator.sub", 2, op_sub},
            {"_operator.mul", 2, op_mul},
            {"_operator.floordiv", 2, op_floordiv},
            {"_operator.mod", 2, op_mod},
            {"_operator.pow", 2, op_pow},
            {"_operator.truediv", 2, op_truediv},
            {"_operator.neg", 1, op_neg},
            {"_operator.pos", 1, op_pos},
            {"_operator.eq", 2, op_eq},
            {"_operator.ne", 2, op_ne},
            {"_operator.lt", 2, op_lt},
            {"_operator.le", 2, op_le},
            {"_operator.gt", 2, op_gt},
            {"_operator.ge", 2, op_ge},
            {"_operator.and_", 2, op_and},
            {"_operator.or_", 2, op_or},
            {"torch.sym_not", 1, op_not},
            {"torch.sym_min", 2, op_min},
            {"torch.sym_max", 2, op_max},
            {"torch.sym_float", 1, op_float},
            {"torch.sym_int", 1, op_trunc},
            {"math.trunc", 1, op_trunc},
            {"math.floor", 1, op_floor},
            {"math.ceil", 1, op_ceil}};

static bool read_operands(const fnz_arg *args, size_t nargs, operands *out) {
  *out = (operands){.floats = false};
  for (size_t k = 0; k < nargs; k++) {
    bool is_float = args[k].tag == FNZ_ARG_FLOAT;
    if (!is_float && args[k].tag != FNZ_ARG_INT && args[k].tag != FNZ_ARG_BOOL)
      return false;
    out->i[k] = is_float ? 0 : args[k].u.i;
    out->f[k] = is_float ? args[k].u.f : (double)args[k].u.i;
    out->floats = out->floats || is_float;
  }
  return true;
}

static fnz_status arithmetic_refuse(fnz_context *ctx, const char *target, const operands *o,
                                    size_t nargs, outcome result) {
  return fnzi_fail(ctx, FNZ_CLASS_OVERFLOW, "", "%s of %.17g and %.17g %s", target, o->f[0],
                   nargs > 1 ? o->f[1] : 0.0,
                   result == BEYOND ? "leaves 64 bits" : "is not defined");
}

static fnz_status by_target(fnz_context *ctx, const char *target, const fnz_arg *args, size_t nargs,
                            fnz_arg *out, bool *done) {
  operands o;
  /* torch.sym_sqrt, torch._sym_cos, math.exp ... */
  static const char *const heads[] = {"torch.sym_", "torch._sym_", "math."};
  const char *unary = NULL;
  for (size_t i = 0; i < sizeof heads / sizeof *heads && nargs == 1 && !unary; i++)
    if (strncmp(target, heads[i], strlen(heads[i])) == 0 &&
        fnzi_python_has_unary(target + strlen(heads[i])))
      unary = target + strlen(heads[i]);
  if (unary && read_operands(args, nargs, &o)) {
    *done = true;
    return real(&o, fnzi_python_unary(unary, o.f[0]), out) == FINE
               ? FNZ_OK
               : arithmetic_refuse(ctx, target, &o, nargs, UNDEFINED);
  }
  if (strcmp(target, "torch.sym_ite") == 0 && nargs == 3) {
    *out = args[args[0].u.i ? 1 : 2];
    *done = args[0].tag == FNZ_ARG_BOOL || args[0].tag == FNZ_ARG_INT;
    return FNZ_OK;
  }
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (strcmp(target, rows[i].target) != 0 || nargs != rows[i].nargs ||
        !read_operands(args, nargs, &o))
      continue;
    outcome result = rows[i].compute(&o, out);
    if (result != FINE)
      return arithmetic_refuse(ctx, target, &o, nargs, result);
    *done = true;
  }
  return FNZ_OK;
}

fnz_status fnzi_arithmetic(fnz_context *ctx, const fnzi_node *node, fnzi_shapes_number_of *number,
                           void *user, fnz_arg *out, bool *done) {
  fnz_arg args[MOST_ARGS];
  *done = false;
  if (node->nargs > MOST_ARGS || node->noutputs != 1 || node->outputs[0].tag != FNZ_ARG_SYMBOL)
    return FNZ_OK;
  for (uint32_t i = 0; i < node->nargs; i++) {
    args[i] = node->args[i];
    if (args[i].tag == FNZ_ARG_SYMBOL)
      FNZ_TRY(number(user, args[i].u.value, &args[i]));
  }
  return by_target(ctx, fnzi_node_target(node), args, node->nargs, out, done);
}

/* --- sizes and strides of tensors ------------------------------------------------------------- */
bool fnzi_asks_size(const fnz_op *op) {
  static const uint16_t asks[] = {FNZI_ATEN_sym_size__int, FNZI_ATEN_sym_numel};
  return fnzi_op_is_among(op, asks, sizeof asks / sizeof *asks);
}

fnz_status fnzi_size_asked(fnz_context *ctx, const fnzi_node *node, const fnz_geometry *g,
                           fnzi_shapes_number_of *number, void *user, int64_t *out) {
  fnz_arg dim = fnzi_arg_get(node->op, node->args, node->nargs, 1);
  uint32_t d;
  *out = fnz_geometry_numel(g);
  if (node->op == &fnzi_ops[FNZI_ATEN_sym_numel])
    return FNZ_OK;
  if (dim.tag == FNZ_ARG_SYMBOL)
    FNZ_TRY(number(user, dim.u.value, &dim));
  if (dim.tag != FNZ_ARG_INT && dim.tag != FNZ_ARG_BOOL)
    return fnzi_fail(ctx, FNZ_CLASS_TYPE, "", "%s needs an integer as dim", fnzi_node_target(node));
  if (g->rank == 0)
    return fnzi_fail(ctx, FNZ_CLASS_BOUNDS, "",
                     "%s: the tensor has no dimensions, dim is %lld; export the program again",
                     fnzi_node_target(node), (long long)dim.u.i);
  FNZ_TRY(fnzi_wrap_dim(ctx, "dim", dim.u.i, g->rank, &d));
  *out = node->op == &fnzi_ops[FNZI_ATEN_sym_stride__int] ? g->strides[d] : g->sizes[d];
  return FNZ_OK;
}

/* --- which nodes ------------------------------------------------------------------------------ */
bool fnzi_shapes_gives_numbers(const fnzi_node *node) {
  for (uint32_t i = 0; i < node->noutputs; i++)
    if (node->outputs[i].tag != FNZ_ARG_SYMBOL)
      return false;
  return node->noutputs > 0;
}

bool fnzi_is_size_node(const fnzi_node *node) {
  bool reads_data =
      node->op && (fnzi_op_is_custom(node->op) || (node->op->tags & FNZI_TAG_DATA_DEPENDENT));
  return fnzi_shapes_gives_numbers(node) && !reads_data && !fnzi_is_hop(node);
}
