/* outs.h - results of operators that are not pointwise: their dtype, and what eager does where it
 * puts them into a tensor of another one. */
#ifndef FNZI_OUTS_H
#define FNZI_OUTS_H

#include "schema/schema.h"

/* The dtype of the result while no dtype= says another. */
typedef enum fnzi_own {
  FNZI_OWN_SELF,     /* that of the first tensor */
  FNZI_OWN_JOINED,   /* that to which all tensors promote */
  FNZI_OWN_COUNT,    /* of bool and integers i64, else that of the first tensor */
  FNZI_OWN_AS_FLOAT, /* of bool and integers the default float, else that of the first tensor */
  FNZI_OWN_REAL,     /* that of the first tensor, or of its parts */
  FNZI_OWN_NUMBERS,  /* i64 when all numbers are integers, else the default float */
  FNZI_OWN_VALUE,    /* that of the number */
  FNZI_OWN_FLOAT,    /* the default float, or complex where a number is */
  FNZI_OWN_LONG      /* i64 */
} fnzi_own;

/* What eager does with an out= tensor of another dtype. */
typedef enum fnzi_out_way {
  FNZI_OUT_EXACT,   /* refuses it: no row says otherwise */
  FNZI_OUT_DTYPE,   /* computes in that dtype, as if dtype= said it */
  FNZI_OUT_CAST,    /* computes in its own dtype and casts the result */
  FNZI_OUT_OPERAND, /* casts the operand and computes in that dtype */
  FNZI_OUT_MIXED    /* computes a part in each: no functional operator does that */
} fnzi_out_way;

/* The way of a functional operator with one tensor as result. */
fnzi_out_way fnzi_out_way_of(const fnz_op *functional);

/* The dtype of the result of such an operator, dtype= included; false when it is not known here.
 * `geometry_of` as in fnzi_op_result_dtype(), where NULL means unknown. */
bool fnzi_own_dtype(const fnz_op *functional, const fnz_arg *args, size_t nargs,
                    fnzi_geometry_reader *geometry_of, void *user, fnz_dtype *out);

/* It has a parameter dtype= that says nothing. -1 or its position. */
int fnzi_unsaid_dtype(const fnz_op *op, const fnz_arg *args);

#endif
