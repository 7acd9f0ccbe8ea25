/* convert_rows.c - elements from one dtype to another, and copied: one loop per pair of rows of
 * convert.def, and per size. Compiled for each instruction set. */
#include "kernels/core/convert.h"
#include "kernels/core/half.h"

#define ACCESS(id, type, read, wide, from_integer, from_double)                                    \
  typedef type cell_##id;                                                                          \
  typedef wide wide_##id;                                                                          \
  static inline wide read_##id(const cell_##id *p) {                                               \
    return read;                                                                                   \
  }                                                                                                \
  static inline cell_##id int64_t_to_##id(int64_t v) {                                             \
    return (cell_##id)(from_integer);                                                              \
  }                                                                                                \
  static inline cell_##id uint64_t_to_##id(uint64_t v) {                                           \
    return (cell_##id)(from_integer);                                                              \
  }                                                                                                \
  static inline cell_##id double_to_##id(double v) {                                               \
    return (cell_##id)(from_double);                                                               \
  }
#define CONVERT ACCESS
#include "kernels/core/convert.def"
#undef ACCESS

/* The second loop is the first with strides the compiler knows. */
#define PAIR(to, from, wide)                                                                       \
  static void from##_to_##to(char *dst, int64_t dst_stride, const char *src, int64_t src_stride,   \
                             int64_t count) {                                                      \
    if (dst_stride != sizeof(cell_##to) || src_stride != sizeof(cell_##from)) {                    \
      for (int64_t i = 0; i < count; i++, dst += dst_stride, src += src_stride)                    \
        *(cell_##to *)(void *)dst = wide##_to_##to(read_##from((const void *)src));                \
      return;                                                                                      \
    }                                                                                              \
    cell_##to *d = (void *)dst;                                                                    \
    const cell_##from *s = (const void *)src;                                                      \
    for (int64_t i = 0; i < count; i++)                                                            \
      d[i] = wide##_to_##to(read_##from(&s[i]));                                                   \
  }

/* clang-format off */
#define TARGETS(DO, from, wide)                                                                    \
  DO(BOOL, from, wide) DO(U8, from, wide) DO(I8, from, wide) DO(I16, from, wide)                   \
  DO(I32, from, wide) DO(I64, from, wide) DO(U16, from, wide) DO(U32, from, wide)                  \
  DO(U64, from, wide) DO(F16, from, wide) DO(BF16, from, wide) DO(F32, from, wide)                 \
  DO(F64, from, wide)
/* clang-format on */

#define CONVERT(from, type, read, wide, from_integer, from_double) TARGETS(PAIR, from, wide)
#include "kernels/core/convert.def"

/* --- Copies --------------------------------------------------------------------------------- */
typedef struct cell_16 {
  uint64_t halves[2];
} cell_16;

enum { REPEATED = 32 }; /* bytes */
typedef uint64_t repeated __attribute__((vector_size(REPEATED)));

/* One cell as often as it fits in whole vectors, which loops over vectors read again at once. Says
 * how often that is. */
static inline int64_t repeat(char *dst, const char *cell, size_t bytes, int64_t count) {
  const int64_t many = REPEATED / (int64_t)bytes;
  _Alignas(REPEATED) char one[REPEATED];
  repeated all;
  int64_t i = 0;
  for (size_t k = 0; k < REPEATED; k += bytes)
    memcpy(one + k, cell, bytes);
  memcpy(&all, one, sizeof all);
  for (; i + many <= count; i += many)
    memcpy(dst + i * (int64_t)bytes, &all, sizeof all);
  return i;
}

/* Loops whose strides the compiler knows: one element repeated, strided ones gathered, dense ones
 * scattered. */
#define COPY(name, type)                                                                           \
  static void copy_##name(char *dst, int64_t dst_stride, const char *src, int64_t src_stride,      \
                          int64_t count) {                                                         \
    const int64_t cell = sizeof(type);                                                             \
    type v;                                                                                        \
    if (dst_stride == cell && src_stride == 0 && count > 0) {                                      \
      memcpy(&v, src, sizeof v);                                                                   \
      for (int64_t i = repeat(dst, (const char *)&v, sizeof v, count); i < count; i++)             \
        memcpy(dst + i * cell, &v, sizeof v);                                                      \
    } else if (dst_stride == cell) {                                                               \
      for (int64_t i = 0; i < count; i++)                                                          \
        memcpy(dst + i * cell, src + i * src_stride, sizeof v);                                    \
    } else {                                                                                       \
      for (int64_t i = 0; i < count; i++)                                                          \
        memcpy(dst + i * dst_stride, src + i * src_stride, sizeof v);                              \
    }                                                                                              \
  }
COPY(1, uint8_t)
COPY(2, uint16_t)
COPY(4, uint32_t)
COPY(8, uint64_t)
COPY(16, cell_16)

const fnzi_krn_rows FNZI_ISA_NAME(fnzi_krn_rows_of) = {{
#define ENTRY(to, from, wide) [FNZ_##to] = from##_to_##to,
#define CONVERT(from, type, read, wide, from_integer, from_double)                                 \
  [FNZ_##from] = {TARGETS(ENTRY, from, wide)},
#include "kernels/core/convert.def"
                                                       },
                                                       {copy_1, copy_2, copy_4, copy_8, copy_16}};
