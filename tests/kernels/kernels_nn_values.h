/* kernels_nn_values.h - results as literal numbers, with their sizes and dtype. */
#ifndef FNZ_TESTS_KERNELS_KERNELS_NN_VALUES_H
#define FNZ_TESTS_KERNELS_KERNELS_NN_VALUES_H

#include "tests/kernels/kernels_nn.h"

#define SCALAR ((shape){0, {0}})
/* Result k: sizes, dtype, tolerance and the numbers; not compared when there are none.
 */
#define HAS(k, s, dtype, tolerance, ...) has(k, s, dtype, tolerance, (const double[]){__VA_ARGS__})
#define NO_INTS                          ((fnz_arg){.tag = FNZ_ARG_LIST})
#define INTS(...)                                                                                  \
  ints(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (const int64_t[]){__VA_ARGS__})

static inline void has(size_t k, shape s, fnz_dtype dtype, double tolerance, const double *want) {
  has_sizes(k, s);
  ck_assert_int_eq(cpu->geometry(cpu->self, outs[k])->dtype, dtype);
  is_close(k, want, volume(s), tolerance);
}

enum { MOST_INTS = 32 };

static inline fnz_arg ints(size_t count, const int64_t *values) {
  static fnz_arg items[MOST_INTS];
  static size_t used;
  if (used + count > MOST_INTS)
    used = 0;
  fnz_arg list = {.tag = FNZ_ARG_LIST, .count = (uint32_t)count, .u.list = &items[used]};
  for (size_t i = 0; i < count; i++)
    items[used++] = I(values[i]);
  return list;
}

static inline fnz_arg text(const char *s) {
  return (fnz_arg){.tag = FNZ_ARG_STRING, .count = (uint32_t)strlen(s), .u.s = s};
}

#endif
