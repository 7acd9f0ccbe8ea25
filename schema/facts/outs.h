/* outs.h - results of operators that are not pointwise: their dtype, and what eager does where it
 * puts them into a tensor of another one. */
#ifndef FNZI_OUTS_H
#define FNZI_OUTS_H

#include "schema/facts/facts.h"

/* The rule of a functional operator with one tensor as result. */
fnzi_out_rule fnzi_out_rule_of(const fnz_op *functional);

/* The dtype of the result of such an operator, dtype= included; false when it is not known here.
 * `geometry_of` as in fnzi_op_result_dtype(), where NULL means unknown. */
bool fnzi_own_dtype(const fnz_op *functional, const fnz_arg *args, size_t nargs,
                    fnzi_geometry_reader *geometry_of, void *user, fnz_dtype *out);

/* It has a parameter dtype= that says nothing. -1 or its position. */
int fnzi_unsaid_dtype(const fnz_op *op, const fnz_arg *args);

#endif
