/* library.h - calls of libraries as launches of a work, and the handles and plans that a binding
 * keeps for them. */
#ifndef FNZI_DEV_LIBRARY_H
#define FNZI_DEV_LIBRARY_H

#include "engine/cuda/libraries.h"
#include "engine/device/lowering.h"

/* Operands of a call of cuBLASLt, and of one of cuDNN. FNZI_PRODUCT_C is the added matrix, or a
 * bias. */
enum { FNZI_PRODUCT_A, FNZI_PRODUCT_B, FNZI_PRODUCT_D, FNZI_PRODUCT_SCRATCH, FNZI_PRODUCT_C };
enum { FNZI_CONV_X, FNZI_CONV_WEIGHT, FNZI_CONV_Y, FNZI_CONV_SCRATCH, FNZI_CONV_OPERANDS };

/* Whether a library computes a call, and the reason if none does, which lives as long as the
 * binding. */
typedef struct fnzi_dev_answer {
  bool is_library;
  const char *why;
} fnzi_dev_answer;
/* Adds a library call to `out`, or nothing if the library is missing or does not support the call.
 * `step` is a static string. operands: those above, except SCRATCH. */
FNZ_MUST_CHECK fnz_status fnzi_dev_library_product(fnzi_dev_builder *m, const char *step,
                                                   const fnzi_cuda_product *product,
                                                   fnzi_dev_operand *operands, fnzi_dev_work *out,
                                                   fnzi_dev_answer *answer);
FNZ_MUST_CHECK fnz_status fnzi_dev_library_conv(fnzi_dev_builder *m, const char *step,
                                                const fnzi_cuda_conv *conv,
                                                fnzi_dev_operand *operands, fnzi_dev_work *out,
                                                fnzi_dev_answer *answer);
/* It can be used. */
FNZ_MUST_CHECK fnz_status fnzi_dev_library_has_cublas(fnzi_dev_builder *m, bool *out);
FNZ_MUST_CHECK fnz_status fnzi_dev_library_has_cudnn(fnzi_dev_builder *m, bool *out);

#endif
