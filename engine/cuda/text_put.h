/* text_put.h - what texts of kernels are written with: elements as types of sums. */
#ifndef FNZI_CUDA_TEXT_PUT_H
#define FNZI_CUDA_TEXT_PUT_H

#include "engine/cuda/text_parts.h"

/* The type in which sums of F32, F64, I64, C64 or C128 are formed. */
const char *fnzi_cuda_sum_type(fnz_dtype sum);
/* Statements that return the element at the address `at` as a `sum`. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_put_read(const fnzi_cuda_writer *w, fnz_dtype sum,
                                             fnz_dtype dtype);
/* A statement that stores the sum v there. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_put_store(const fnzi_cuda_writer *w, fnz_dtype sum,
                                              fnz_dtype dtype);
/* Within a struct: its member for the kernel's table; and its end, with an object `o` of it. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_put_table(const fnzi_cuda_writer *w);
FNZ_MUST_CHECK fnz_status fnzi_cuda_put_operands(const fnzi_cuda_writer *w);
/* " + index * stride", in bytes, if that is not 0. A stride of 1 is a constant in every text, so
 * the compiler sees that elements are adjacent. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_put_step(const fnzi_cuda_writer *w, const char *index,
                                             int64_t stride, fnz_dtype dtype);

#endif
