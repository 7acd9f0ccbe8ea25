/* evaluate.h - a functional operator, from its arguments to its results, step by step. */
#ifndef FNZI_META_EVALUATE_H
#define FNZI_META_EVALUATE_H

#include "kernels/core/machine.h"
#include "kernels/meta/meta.h"

/* The row of an operator, of the table or registered; NULL when there is none. */
const fnzi_kernel *fnzi_meta_row_find(const fnzi_krn_machine *m, const fnz_op *op);
/* Arguments with defaults filled in; `out` has room for op->nparams. */
FNZ_MUST_CHECK fnz_status fnzi_meta_args_fill(const fnzi_krn_call *call, const fnz_request *from,
                                              fnz_arg *out);
/* The arguments are what the row takes; then call->outputs are the results, without memory. */
FNZ_MUST_CHECK FNZI_SHARED fnz_status fnzi_meta_evaluate_shape(fnzi_krn_call *call,
                                                               const fnzi_kernel *row);
/* The row computes results of these types; part of the above where there are data. */
FNZ_MUST_CHECK fnz_status fnzi_meta_outputs_check(const fnzi_krn_call *call,
                                                  const fnzi_kernel *row);
/* Gives the results memory. Results that have a storage already keep it. */
FNZ_MUST_CHECK FNZI_SHARED fnz_status fnzi_meta_evaluate_memory(fnzi_krn_call *call,
                                                                const fnzi_kernel *row);
/* Fills them. */
FNZ_MUST_CHECK FNZI_SHARED fnz_status fnzi_meta_evaluate_run(fnzi_krn_call *call,
                                                             const fnzi_kernel *row);
FNZI_SHARED void fnzi_meta_outputs_release(fnzi_krn_call *call);
/* How many arguments of the call are this value. */
size_t fnzi_meta_args_count(const fnz_arg *args, size_t nargs, uint64_t value);
/* All steps, from the arguments as given. The caller has opened the call, and releases what results
 * there are after a failure. */
FNZ_MUST_CHECK fnz_status fnzi_meta_evaluate_request(fnzi_krn_call *call, const fnzi_kernel *row,
                                                     const fnz_request *from);

#endif
