/* number.c - numbers that eager refuses since an element type cannot hold them: for the operators
 * in facts.def, and for shape rules. */
#include "kernels/meta/meta.h"
#include "schema/facts/facts.h"

#include <float.h>
#include <math.h>

/* --- What an element type holds --------------------------------------------------------------- */
/* The largest finite number, infinity where numbers become infinite at most. */
static double number_largest(fnz_dtype dtype) {
  if (dtype == FNZ_F16)
    return 65504;
  if (dtype == FNZ_BF16)
    return 0x1.fep127;
  return dtype == FNZ_F32 || dtype == FNZ_C64 ? FLT_MAX : INFINITY;
}

/* The first number above all integers of the type. */
static double reach_of(fnz_dtype dtype) {
  bool is_signed = fnzi_dtype(dtype)->category == 'i';
  return ldexp(1, (int)(8 * fnzi_dtype(dtype)->bytes) - (is_signed ? 1 : 0));
}

static double smallest_integer(fnz_dtype dtype) {
  return fnzi_dtype(dtype)->category == 'i' ? -reach_of(dtype) : 0;
}

/* A float below the end of the range is cut off. An integer of 64 bits is always below that of i64,
 * though its double is not. */
static bool is_below_end(fnz_dtype dtype, const fnz_arg *number, double value) {
  double reach = reach_of(dtype);
  return value < reach || (number->tag == FNZ_ARG_INT && value == reach && reach >= 0x1p63);
}

/* An integer may be negative for unsigned elements, where it wraps, as far as its opposite fits. */
static bool integer_holds(fnz_dtype dtype, const fnz_arg *number, double value) {
  double low = smallest_integer(dtype);
  if (low == 0 && number->tag == FNZ_ARG_INT)
    low = 1 - reach_of(dtype);
  return value >= low && is_below_end(dtype, number, value);
}

static bool float_holds(fnz_dtype dtype, double value) {
  return !(fabs(value) > number_largest(dtype)) || isinf(value);
}

static bool number_holds(fnz_dtype dtype, const fnz_arg *number, double value) {
  return fnzi_is_integer(dtype) ? integer_holds(dtype, number, value) : float_holds(dtype, value);
}

static fnz_status refuse(const fnzi_krn_call *call, const char *name, const fnz_arg *number,
                         fnz_dtype dtype) {
  return fnzi_krn_call_refuse(call, FNZ_CLASS_OVERFLOW,
                              "%s is %g, which no element of %s can hold; use a number in range",
                              name, fnzi_krn_number_float(number), fnzi_dtype(dtype)->name);
}

/* The result, which is there, takes the number of this name, and eager refuses what its elements
 * cannot hold. */
fnz_status fnzi_meta_number_check(const fnzi_krn_call *call, const char *name) {
  const fnz_arg *number = fnzi_krn_named(call, name);
  fnz_dtype dtype = call->outputs[0]->geometry.dtype;
  bool is_plain = number && (number->tag == FNZ_ARG_INT || number->tag == FNZ_ARG_FLOAT);
  if (!is_plain || dtype == FNZ_BOOL || number_holds(dtype, number, fnzi_krn_number_float(number)))
    return FNZ_OK;
  return refuse(call, name, number, dtype);
}

/* --- NUMBERS of facts.def --------------------------------------------------------------------- */
/* A bound of integers is one of 64 bits first. */
static bool bounds(fnz_dtype dtype, const fnz_arg *number, double value, bool lower) {
  if (!fnzi_is_integer(dtype))
    return float_holds(dtype, value);
  if (!integer_holds(FNZ_I64, number, value))
    return false;
  return lower ? is_below_end(dtype, number, value) : trunc(value) >= smallest_integer(dtype);
}

/* The type of the kind, in which a number must lie. */
static fnz_dtype type_of(fnzi_number_kind as, fnz_dtype computed, const fnz_arg *number) {
  const bool is_half = computed == FNZ_F16 || computed == FNZ_BF16;
  if ((as == FNZI_NUMBER_OPMATH && is_half) ||
      (as == FNZI_NUMBER_FLOAT && number->tag == FNZ_ARG_FLOAT))
    return FNZ_F32;
  bool takes_any = (as == FNZI_NUMBER_FLOAT) || (as == FNZI_NUMBER_WIDE && is_half) ||
                   (as == FNZI_NUMBER_NARROW && !fnzi_is_integer(computed) && !is_half);
  return takes_any ? FNZ_F64 : computed;
}

static bool is_taken(fnzi_number_kind as, fnz_dtype dtype, const fnz_arg *number) {
  double value = fnzi_krn_number_float(number);
  if (as == FNZI_NUMBER_COUNT)
    return value >= 0;
  if (as == FNZI_NUMBER_LOWER || as == FNZI_NUMBER_UPPER)
    return bounds(dtype, number, value, as == FNZI_NUMBER_LOWER);
  if (as == FNZI_NUMBER_RANGE && !(value >= 0 && value <= number_largest(dtype) && isfinite(value)))
    return false;
  return number_holds(dtype, number, as == FNZI_NUMBER_OPPOSITE ? -value : value);
}

/* Finds the kind of the number of this parameter; false if no row has it. */
static bool number_find(const fnz_op *op, const char *parameter, fnzi_number_kind *out) {
  for (size_t k = 0; k < FNZI_FACT_ROWS; k++)
    for (size_t i = 0; i < FNZI_FACT_PARAMS && fnzi_fact_of(op, k)->numbers[i].param; i++)
      if (strcmp(fnzi_fact_of(op, k)->numbers[i].param, parameter) == 0) {
        *out = fnzi_fact_of(op, k)->numbers[i].kind;
        return true;
      }
  return false;
}

/* Every type holds it. */
static bool is_small(const fnz_arg *number) {
  double value = fnzi_krn_number_float(number);
  return value >= 0 && value <= 127;
}

fnz_status fnzi_meta_numbers_check(const fnzi_krn_call *call) {
  if (call->noutputs == 0 || !call->outputs[0] || fnzi_op_is_custom(call->op))
    return FNZ_OK;
  fnz_dtype computed = call->outputs[0]->geometry.dtype;
  for (size_t i = 0; i < call->op->nparams && computed != FNZ_BOOL; i++) {
    const fnz_arg *number = &call->args[i];
    /* Checks `reduction` of a loss: eager leaves most losses unreduced for numbers that name
     * nothing. */
    const fnz_arg *arg = &call->args[i];
    bool known = arg->tag != FNZ_ARG_INT || (arg->u.i >= 0 && arg->u.i <= 2);
    if (!known && strcmp(call->op->params[i].name, "reduction") == 0)
      return fnzi_krn_call_refuse(
          call, FNZ_CLASS_UNSUPPORTED,
          "reduction is %lld, which names none; give 0 (none), 1 (mean) or 2 "
          "(sum)",
          (long long)arg->u.i);
    bool is_plain = number->tag == FNZ_ARG_INT || number->tag == FNZ_ARG_FLOAT;
    if (!is_plain ||
        (call->op->params[i].type != FNZI_TYPE_SCALAR &&
         call->op->params[i].type != FNZI_TYPE_INT) ||
        (i < 32 && (call->by_data >> i & 1)) || is_small(number))
      continue;
    const char *name = fnzi_op_canonical(call->op)->params[i].name;
    fnzi_number_kind as;
    if (!number_find(call->op, name, &as))
      continue;
    fnz_dtype dtype = type_of(as, computed, number);
    if (!is_taken(as, dtype, number))
      return as == FNZI_NUMBER_COUNT
                 ? fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "%s is %g; it must be 0 or more",
                                        name, fnzi_krn_number_float(number))
                 : refuse(call, name, number, dtype);
  }
  return FNZ_OK;
}
