/* point_truth.c - see point_narrow.h. Truths are computed as 0 and 1, whatever byte is true. */
#include "kernels/cpu/point.h"

static inline bool is_true(uint8_t value) {
  return value != 0;
}

#define T                   uint8_t
#define QUOTIENT            float
#define SELF                FNZ_BOOL
#define NAME                FNZI_ISA_NAME(fnzi_cpu_points_truth)
#define READ(p)             ((p)[i] < 1 ? (p)[i] : 1)
#define RESULT(type, value) ((type)is_true((T)(value)))
#include "kernels/cpu/point_narrow.h"
