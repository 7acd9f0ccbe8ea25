/* backends.h - the backends of numbers and of shapes: one machine with other kernels. */
#ifndef FNZI_BACKENDS_H
#define FNZI_BACKENDS_H

#include "kernels/eager/eager.h"

/* rows.c: the table of kernels.def, by place in the operator table. Aliases have no row there. */
extern FNZI_SHARED const fnzi_kernel fnzi_kernel_rows[];
/* The row of an operator, or of its canonical operator if it is an alias; NULL if there is none. */
FNZI_SHARED const fnzi_kernel *fnzi_kernel_row(const fnz_op *op);

/* apply.c: functional operators on values. */
fnz_status fnzi_machine_apply(void *self, fnz_context *ctx, const fnz_request *call,
                              fnz_handle *outputs, size_t capacity, size_t *count);

/* The ATen operator that computes a library's operator, unless that has a kernel of its own; NULL
 * if none does. */
const fnz_op *fnzi_machine_stand_in(const fnzi_krn_machine *m, const fnz_op *op);

/* A backend with these kernels, whose values lie in memory of `elsewhere`, or of the CPU where that
 * is NULL. Both and the name must outlive it. */
FNZ_MUST_CHECK FNZI_SHARED fnz_status fnzi_machine_create(fnz_context *ctx, const char *name,
                                                          int threads,
                                                          const fnzi_krn_kernels *kernels,
                                                          const fnzi_krn_elsewhere *elsewhere,
                                                          fnz_backend **out);

/* That of a backend which was made in this way; NULL for another one. */
fnzi_krn_machine *fnzi_machine_of(const fnz_backend *backend);

/* Implements fnz_cpu_backend_create(): numbers.c, of libfnz. In its place libfnz_core has
 * no_numbers.c, which refuses. */
FNZ_MUST_CHECK fnz_status fnzi_machine_create_numbers(fnz_context *ctx, int threads,
                                                      fnz_backend **out);

#endif
