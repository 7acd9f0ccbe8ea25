/* point_rest_bf16.c - formulas of its own for bf16. */
#define TO   fnzi_krn_to_bf16
#define FROM fnzi_krn_from_bf16
#include "kernels/cpu/point_rest_half.h"

#define REST_HALF REST
#define REST_LOG  REST_LOG_ROW
#define REST_BF16 REST
#include "kernels/point.def"
#undef REST_HALF
#undef REST_LOG
#undef REST_BF16

const fnzi_cpu_rest FNZI_ISA_NAME(fnzi_cpu_rest_bf16)[] = {
#define REST_HALF REST_ENTRY
#define REST_LOG  REST_ENTRY
#define REST_BF16 REST_ENTRY
#include "kernels/point.def"
    {NULL, NULL}};
