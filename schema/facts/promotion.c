/* promotion.c - the element types that operators compute in. */
#include "schema/schema.h"

/* --- Two types -------------------------------------------------------------------------------- */

/* bool < integer < float < complex */
static int rank_of(fnz_dtype d) {
  switch (fnzi_dtype(d)->category) {
  case 'b':
    return 0;
  case 'f':
    return 2;
  case 'c':
    return 3;
  default:
    return 1;
  }
}

static size_t bytes_of(fnz_dtype d) {
  return fnzi_dtype(d)->bytes;
}

static fnz_dtype wider(fnz_dtype a, fnz_dtype b) {
  return bytes_of(a) >= bytes_of(b) ? a : b;
}

static bool is_signed(fnz_dtype d) {
  return fnzi_dtype(d)->category == 'i';
}

/* f16 and bf16 meet in f32, and so do two of the small types of 8 bits. */
static fnz_dtype promote_floats(fnz_dtype a, fnz_dtype b) {
  return bytes_of(a) == bytes_of(b) ? FNZ_F32 : wider(a, b);
}

static fnz_dtype real_of(fnz_dtype d) {
  return d == FNZ_C32 ? FNZ_F16 : d == FNZ_C64 ? FNZ_F32 : d == FNZ_C128 ? FNZ_F64 : d;
}

static fnz_dtype complex_of(fnz_dtype d) {
  return d == FNZ_F16 ? FNZ_C32 : d == FNZ_F64 ? FNZ_C128 : FNZ_C64;
}

fnz_dtype fnzi_promote(fnz_dtype a, fnz_dtype b) {
  if (a == b)
    return a;
  fnz_dtype high = rank_of(a) >= rank_of(b) ? a : b, low = high == a ? b : a;
  if (fnzi_is_complex(high) && fnzi_is_float(low)) {
    fnz_dtype part = real_of(high);
    return complex_of(part == low ? part : promote_floats(part, low));
  }
  if (rank_of(high) != rank_of(low))
    return high;
  if (fnzi_is_float(high))
    return promote_floats(high, low);
  if (!fnzi_is_integer(high))
    return wider(high, low);
  /* A signed type that is wider holds an unsigned one; else the next size up, 64 bits at most. */
  if (is_signed(high) == is_signed(low))
    return wider(high, low);
  fnz_dtype with = is_signed(high) ? high : low, without = is_signed(high) ? low : high;
  if (bytes_of(with) > bytes_of(without))
    return with;
  size_t bytes = bytes_of(without);
  return bytes == 1 ? FNZ_I16 : bytes == 2 ? FNZ_I32 : FNZ_I64;
}

bool fnzi_can_cast(fnz_dtype from, fnz_dtype to) {
  return rank_of(from) <= rank_of(to);
}

/* --- All operands of an operator -------------------------------------------------------------- */

static void add(fnz_dtype *sum, bool *has, fnz_dtype dtype) {
  *sum = *has ? fnzi_promote(*sum, dtype) : dtype;
  *has = true;
}

void fnzi_promotion_add_tensor(fnzi_promotion *p, fnz_dtype dtype, uint32_t rank) {
  if (rank)
    add(&p->dimensioned, &p->has_dimensioned, dtype);
  else
    add(&p->zero_dim, &p->has_zero_dim, dtype);
}

void fnzi_promotion_add_number(fnzi_promotion *p, const fnz_arg *number) {
  add(&p->number, &p->has_number,
      number->tag == FNZ_ARG_BOOL      ? FNZ_BOOL
      : number->tag == FNZ_ARG_FLOAT   ? FNZ_F32
      : number->tag == FNZ_ARG_COMPLEX ? FNZ_C64
                                       : FNZ_I64);
}

/* A lower class of operands only lifts the category of a higher one. */
static fnz_dtype lift(fnz_dtype high, bool has_high, fnz_dtype low, bool has_low) {
  if (!has_high || !has_low)
    return has_high ? high : low;
  if (fnzi_is_float(high) && fnzi_is_complex(low))
    return complex_of(high);
  return rank_of(low) > rank_of(high) ? fnzi_promote(high, low) : high;
}

fnz_dtype fnzi_promotion_result(const fnzi_promotion *p) {
  fnz_dtype low = lift(p->zero_dim, p->has_zero_dim, p->number, p->has_number);
  return lift(p->dimensioned, p->has_dimensioned, low, p->has_zero_dim || p->has_number);
}

/* --- Results ---------------------------------------------------------------------------------- */

/* A rounded quotient of integers stays an integer. */
static bool rounds(const fnz_op *op, const fnz_arg *args, size_t nargs) {
  int mode = fnzi_op_param(op, "rounding_mode");
  return mode >= 0 && fnzi_arg_get(op, args, nargs, (size_t)mode).tag == FNZ_ARG_STRING;
}

/* Only the first tensor, or all operands. */
static fnz_dtype operands_dtype(const fnz_op *op, const fnz_arg *args, size_t nargs, bool first,
                                fnzi_geometry_reader *geometry_of, void *user) {
  fnzi_promotion p = {0};
  for (size_t i = 0; i < op->nparams; i++) {
    const fnzi_param *param = &op->params[i];
    if (first ? param->type != FNZI_TYPE_TENSOR : !param->promotes)
      continue;
    bool is_given = i < nargs && args[i].tag != FNZ_ARG_DEFAULT;
    const fnz_arg *arg = is_given ? &args[i] : &param->default_value;
    const bool is_list = arg->tag == FNZ_ARG_LIST;
    for (uint32_t k = 0; k < (is_list ? arg->count : 1); k++) {
      const fnz_arg *item = is_list ? &arg->u.list[k] : arg;
      if (item->tag != FNZ_ARG_DEFAULT && item->tag != FNZ_ARG_NONE) {
        if (item->tag != FNZ_ARG_VALUE) {
          fnzi_promotion_add_number(&p, item);
        } else {
          const fnz_geometry *g = geometry_of(user, item);
          if (g)
            fnzi_promotion_add_tensor(&p, g->dtype, g->rank);
        }
      }
      if (first && (p.has_dimensioned || p.has_zero_dim))
        return fnzi_promotion_result(&p);
    }
  }
  return fnzi_promotion_result(&p);
}

static bool promotion_is_exact(fnz_dtype d) {
  return rank_of(d) < 2;
}

fnz_dtype fnzi_op_result_dtype(const fnz_op *op, const fnz_arg *args, size_t nargs,
                               fnzi_geometry_reader *geometry_of, void *user) {
  fnzi_promotion_kind kind = op->promotion;
  if (kind == FNZI_PROMOTE_ALWAYS_BOOL)
    return FNZ_BOOL;
  fnz_dtype d = operands_dtype(op, args, nargs, kind == FNZI_PROMOTE_SELF, geometry_of, user);
  switch (kind) {
  case FNZI_PROMOTE_INT_TO_FLOAT:
    return promotion_is_exact(d) && !rounds(op, args, nargs) ? FNZ_F32 : d;
  case FNZI_PROMOTE_COMPLEX_TO_FLOAT:
    return real_of(d);
  case FNZI_PROMOTE_INT_AND_COMPLEX_TO_FLOAT:
    return promotion_is_exact(d) ? FNZ_F32 : real_of(d);
  case FNZI_PROMOTE_BOOL_TO_LONG:
    return d == FNZ_BOOL ? FNZ_I64 : d;
  case FNZI_PROMOTE_DOUBLE:
    return fnzi_is_complex(d) ? FNZ_C128 : FNZ_F64;
  case FNZI_PROMOTE_DEFAULT:
  case FNZI_PROMOTE_NO_OPMATH:
  case FNZI_PROMOTE_ALWAYS_BOOL:
  case FNZI_PROMOTE_SELF:
    break;
  }
  return d;
}

bool fnzi_op_common_dtype(const fnz_op *op, const fnz_arg *args, size_t nargs,
                          fnzi_geometry_reader *geometry_of, void *user, fnz_dtype *out) {
  fnzi_promotion_kind kind = op->promotion;
  if (kind == FNZI_PROMOTE_SELF || kind == FNZI_PROMOTE_NO_OPMATH)
    return false;
  *out = operands_dtype(op, args, nargs, false, geometry_of, user);
  if (promotion_is_exact(*out) &&
      ((kind == FNZI_PROMOTE_INT_TO_FLOAT && !rounds(op, args, nargs)) ||
       kind == FNZI_PROMOTE_INT_AND_COMPLEX_TO_FLOAT))
    *out = FNZ_F32;
  return true;
}
