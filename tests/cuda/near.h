/* near.h - how far numbers of a GPU may be from the CPU's where sums have another order, or a
 * function is CUDA's own. */
#ifndef FNZ_TESTS_CUDA_NEAR_H
#define FNZ_TESTS_CUDA_NEAR_H

#include "kernels/core/half.h"
#include "program/program.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* By how much of 1 and itself a number may differ; 0: not at all. */
static inline double bound_of(fnz_dtype dtype) {
  switch (dtype) {
  case FNZ_F32:
  case FNZ_C64:
    return 1e-5;
  case FNZ_F64:
  case FNZ_C128:
    return 1e-13;
  case FNZ_F16:
    return 0x1p-9;
  case FNZ_BF16:
    return 0x1p-6;
  default:
    return 0;
  }
}

static inline double half_number(fnz_dtype dtype, uint16_t bits) {
  return dtype == FNZ_F16 ? (double)fnzi_krn_from_f16(bits) : (double)fnzi_krn_from_bf16(bits);
}

static inline double number_at(const fnz_array *a, size_t i) {
  switch (a->dtype) {
  case FNZ_F32:
  case FNZ_C64:
    return (double)((const float *)a->data)[i];
  case FNZ_F64:
  case FNZ_C128:
    return ((const double *)a->data)[i];
  case FNZ_F16:
  case FNZ_BF16:
    return half_number(a->dtype, ((const uint16_t *)a->data)[i]);
  default:
    return ((const unsigned char *)a->data)[i];
  }
}

static inline size_t count_of(const fnz_array *a) {
  size_t cell = fnz_dtype_get_info(a->dtype)->bytes;
  bool is_pair = a->dtype == FNZ_C64 || a->dtype == FNZ_C128;
  return bound_of(a->dtype) == 0 ? a->bytes : a->bytes / (is_pair ? cell / 2 : cell);
}

static inline bool is_close(const fnz_array *a, const fnz_array *b, char *why, size_t capacity) {
  double most = bound_of(b->dtype);
  for (size_t i = 0; i < count_of(b); i++) {
    double x = number_at(a, i), y = number_at(b, i);
    if (x == y || fabs(x - y) <= most * (1 + fabs(y)) || (isnan(x) && isnan(y)))
      continue;
    snprintf(why, capacity, "%s: element %zu is %.9g, not %.9g", b->name, i, x, y);
    return false;
  }
  return true;
}

static inline bool are_close(const fnz_arrays *got, const fnz_arrays *want, char *why,
                             size_t capacity) {
  for (size_t k = 0; k < fnz_arrays_count(want); k++)
    if (!is_close(fnz_arrays_at(got, k), fnz_arrays_at(want, k), why, capacity))
      return false;
  return true;
}

static inline bool are_equal(const fnz_arrays *a, const fnz_arrays *b) {
  for (size_t k = 0; k < fnz_arrays_count(b); k++)
    if (memcmp(fnz_arrays_at(a, k)->data, fnz_arrays_at(b, k)->data, fnz_arrays_at(b, k)->bytes))
      return false;
  return true;
}

#endif
