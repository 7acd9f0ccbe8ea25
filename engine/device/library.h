/* library.h - calls of libraries as launches of a work: what they keep for the steps of a binding.
 */
#ifndef FNZI_DEV_LIBRARY_H
#define FNZI_DEV_LIBRARY_H

#include "engine/cuda/libraries.h"
#include "engine/device/way.h"

/* Operands of a call of cuBLASLt, and of one of cuDNN. FNZI_PRODUCT_C is what is added, or a bias.
 */
enum { FNZI_PRODUCT_A, FNZI_PRODUCT_B, FNZI_PRODUCT_D, FNZI_PRODUCT_SCRATCH, FNZI_PRODUCT_C };
enum { FNZI_CONV_X, FNZI_CONV_WEIGHT, FNZI_CONV_Y, FNZI_CONV_SCRATCH, FNZI_CONV_OPERANDS };

/* A library call for a work that it is to be added to; *made false, and nothing added, where the
 * library is not there or does not take it: *why says so, as long as the binding is there. `step`
 * is static. operands: those above, but for SCRATCH. */
FNZ_MUST_CHECK fnz_status fnzi_dev_library_product(fnzi_dev_maker *m, const char *step,
                                                   const fnzi_cuda_product *product,
                                                   fnzi_dev_operand *operands, fnzi_dev_work *out,
                                                   bool *made, const char **why);
FNZ_MUST_CHECK fnz_status fnzi_dev_library_conv(fnzi_dev_maker *m, const char *step,
                                                const fnzi_cuda_conv *conv,
                                                fnzi_dev_operand *operands, fnzi_dev_work *out,
                                                bool *made, const char **why);
/* It can be used. */
FNZ_MUST_CHECK fnz_status fnzi_dev_library_has_cublas(fnzi_dev_maker *m, bool *out);
FNZ_MUST_CHECK fnz_status fnzi_dev_library_has_cudnn(fnzi_dev_maker *m, bool *out);

#endif
