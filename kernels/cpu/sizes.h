/* sizes.h - the small arithmetic of sizes that kernels share. */
#ifndef FNZI_CPU_SIZES_H
#define FNZI_CPU_SIZES_H

#include <stdint.h>

static inline int64_t fnzi_cpu_least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* The number of parts of a size, the last part may be smaller. */
static inline int64_t fnzi_cpu_parts(int64_t size, int64_t part) {
  return (size + part - 1) / part;
}

/* Places of a window or image; one of fewer dimensions has sizes of 1 in front. */
static inline int64_t fnzi_cpu_volume(const int64_t sizes[3]) {
  return sizes[0] * sizes[1] * sizes[2];
}

#endif
