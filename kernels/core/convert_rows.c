/* convert_rows.c - elements from one dtype to another, and copied: one loop per pair of rows of
 * convert.def, and per size. Compiled for each instruction set. */
#include "kernels/core/convert.h"
#include "kernels/core/half.h"

#if FNZI_ISA >= 3
#include <immintrin.h>
#endif

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

/* --- Halves by instructions, with the bits of half.h ---------------------------------------- */
#if FNZI_ISA >= 3
enum { EIGHT = 8 };

static inline bool has_nan(__m256 v) {
  return _mm256_movemask_ps(_mm256_cmp_ps(v, v, _CMP_UNORD_Q)) != 0;
}

/* Both stop at a NaN if `keeps`, and return how many elements they have converted. */
static inline int64_t widen_halves(float *to, const uint16_t *from, int64_t count, bool keeps) {
  int64_t i = 0;
  for (; i + EIGHT <= count; i += EIGHT) {
    __m256 v = _mm256_cvtph_ps(_mm_loadu_si128((const void *)(from + i)));
    if (keeps && has_nan(v))
      return i;
    _mm256_storeu_ps(to + i, v);
  }
  return i;
}
static inline int64_t narrow_floats(uint16_t *to, const float *from, int64_t count, bool keeps) {
  int64_t i = 0;
  for (; i + EIGHT <= count; i += EIGHT) {
    __m256 v = _mm256_loadu_ps(from + i);
    if (keeps && has_nan(v))
      return i;
    _mm_storeu_si128((void *)(to + i), _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
  }
  return i;
}
#endif

/* Truths of one byte: not by way of 64 bits, which compilers keep. */
static inline int64_t truths(uint8_t *to, const uint8_t *from, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    to[i] = from[i] < 1 ? from[i] : 1;
  return count;
}

/* Nor these. */
static inline int64_t floats_of_bytes(float *to, const uint8_t *from, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    to[i] = from[i];
  return count;
}

/* Converts elements from the first one on and returns how many. */
static inline __attribute__((always_inline)) int64_t
by_instructions(fnz_dtype to, fnz_dtype from, bool keeps, void *d, const void *s, int64_t count) {
#if FNZI_ISA >= 3
  if (to == FNZ_F32 && from == FNZ_F16)
    return widen_halves(d, s, count, keeps);
  if (to == FNZ_F16 && from == FNZ_F32)
    return narrow_floats(d, s, count, keeps);
#endif
  if ((to == FNZ_BOOL && (from == FNZ_U8 || from == FNZ_I8)) ||
      (from == FNZ_BOOL && (to == FNZ_U8 || to == FNZ_I8)))
    return truths(d, s, count);
  if (to == FNZ_F32 && from == FNZ_U8)
    return floats_of_bytes(d, s, count);
  (void)to, (void)from, (void)keeps, (void)d, (void)s, (void)count;
  return 0;
}

/* --- Loops ---------------------------------------------------------------------------------- */
/* The second loop is the first with strides the compiler knows; p is an element. */
#define LOOP(name, to, from, keeps, value)                                                         \
  static void name(char *dst, int64_t dst_stride, const char *src, int64_t src_stride,             \
                   int64_t count) {                                                                \
    if (dst_stride != sizeof(cell_##to) || src_stride != sizeof(cell_##from)) {                    \
      for (int64_t i = 0; i < count; i++, dst += dst_stride, src += src_stride) {                  \
        const cell_##from *p = (const void *)src;                                                  \
        *(cell_##to *)(void *)dst = value;                                                         \
      }                                                                                            \
      return;                                                                                      \
    }                                                                                              \
    cell_##to *d = (void *)dst;                                                                    \
    const cell_##from *s = (const void *)src;                                                      \
    for (int64_t i = by_instructions(FNZ_##to, FNZ_##from, keeps, d, s, count); i < count; i++) {  \
      const cell_##from *p = &s[i];                                                                \
      d[i] = value;                                                                                \
    }                                                                                              \
  }
#define PAIR(to, from, wide) LOOP(from##_to_##to, to, from, false, wide##_to_##to(read_##from(p)))

/* clang-format off */
#define TARGETS(DO, from, wide)                                                                    \
  DO(BOOL, from, wide) DO(U8, from, wide) DO(I8, from, wide) DO(I16, from, wide)                   \
  DO(I32, from, wide) DO(I64, from, wide) DO(U16, from, wide) DO(U32, from, wide)                  \
  DO(U64, from, wide) DO(F16, from, wide) DO(BF16, from, wide) DO(F32, from, wide)                 \
  DO(F64, from, wide)
/* clang-format on */

#define CONVERT(from, type, read, wide, from_integer, from_double) TARGETS(PAIR, from, wide)
#include "kernels/core/convert.def"

/* A NaN of f32 is eager's own of bf16 after a cast. */
LOOP(cast_to_BF16, BF16, F32, false, *p != *p ? 0xffff : fnzi_krn_to_bf16(*p))

/* NaN keeps its bits; that of bf16 does so anyway. */
static inline float kept_from_f16(uint16_t h) {
  uint32_t nan = fnzi_krn_widened_nan(false, h);
  return nan ? fnzi_krn_bits_float(nan) : fnzi_krn_from_f16(h);
}
static inline uint16_t kept_to_f16(float v) {
  return v != v ? fnzi_krn_narrowed_nan(false, fnzi_krn_float_bits(v)) : fnzi_krn_to_f16(v);
}
static inline uint16_t kept_to_bf16(float v) {
  return v != v ? fnzi_krn_narrowed_nan(true, fnzi_krn_float_bits(v)) : fnzi_krn_to_bf16(v);
}
LOOP(kept_from_F16, F32, F16, true, kept_from_f16(*p))
LOOP(kept_to_F16, F16, F32, true, kept_to_f16(*p))
LOOP(kept_to_BF16, BF16, F32, true, kept_to_bf16(*p))

/* --- Copies --------------------------------------------------------------------------------- */
typedef struct cell_16 {
  uint64_t halves[2];
} cell_16;

enum { REPEATED = FNZI_ISA == 4 ? 64 : 32 }; /* bytes */
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

/* Elements that are `step` apart; the compiler makes vectors of it. */
#define GATHER(type, step)                                                                         \
  for (int64_t i = 0; i < count; i++) {                                                            \
    memcpy(&v, src + i * (step)*cell, sizeof v);                                                   \
    memcpy(dst + i * cell, &v, sizeof v);                                                          \
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
    } else if (dst_stride == cell && src_stride == -cell) {                                        \
      GATHER(type, -1)                                                                             \
    } else if (dst_stride == cell && src_stride == 2 * cell) {                                     \
      GATHER(type, 2)                                                                              \
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

/* One element for each row of `size`, which follow one another; the elements are `step` bytes
 * apart.
 */
#define SPREAD(name, type)                                                                         \
  static void spread_##name(char *dst, const char *src, int64_t step, int64_t count,               \
                            int64_t size) {                                                        \
    type *to = (void *)dst, v;                                                                     \
    for (; count > 0; count--, src += step, to += size) {                                          \
      memcpy(&v, src, sizeof v);                                                                   \
      for (int64_t i = 0; i < size; i++)                                                           \
        to[i] = v;                                                                                 \
    }                                                                                              \
  }
SPREAD(2, uint16_t)
SPREAD(4, uint32_t)
SPREAD(8, uint64_t)

/* --- Choices --------------------------------------------------------------------------------- */
/* Without a branch, as masks are hard to foresee; loops whose strides the compiler knows. */
#define CHOOSE_ALL(type, yes_at, no_at)                                                            \
  for (int64_t i = 0; i < count; i++) {                                                            \
    type is_yes = (type)(0 - (type)(c->mask[i] != 0));                                             \
    to[i] = (type)((yes[yes_at] & is_yes) | (no[no_at] & (type)~is_yes));                          \
  }
#define CHOICE(name, type)                                                                         \
  static void choose_##name(const fnzi_krn_choice *c, int64_t count) {                             \
    const int64_t cell = sizeof(type), *s = c->strides;                                            \
    type *to = (void *)c->to;                                                                      \
    const type *yes = (const void *)c->yes, *no = (const void *)c->no;                             \
    bool is_dense = s[0] == cell && s[1] == 1;                                                     \
    if (is_dense && s[2] == cell && s[3] == cell)                                                  \
      CHOOSE_ALL(type, i, i)                                                                       \
    else if (is_dense && s[2] == 0 && s[3] == cell)                                                \
      CHOOSE_ALL(type, 0, i)                                                                       \
    else if (is_dense && s[2] == cell && s[3] == 0)                                                \
      CHOOSE_ALL(type, i, 0)                                                                       \
    else                                                                                           \
      for (int64_t i = 0; i < count; i++) {                                                        \
        type a, b, is_yes = (type)(0 - (type)(c->mask[i * s[1]] != 0));                            \
        memcpy(&a, c->yes + i * s[2], sizeof a);                                                   \
        memcpy(&b, c->no + i * s[3], sizeof b);                                                    \
        a = (type)((a & is_yes) | (b & (type)~is_yes));                                            \
        memcpy(c->to + i * s[0], &a, sizeof a);                                                    \
      }                                                                                            \
  }
CHOICE(1, uint8_t)
CHOICE(2, uint16_t)
CHOICE(4, uint32_t)
CHOICE(8, uint64_t)

static void choose_16(const fnzi_krn_choice *c, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    cell_16 a, b;
    uint64_t is_yes = 0 - (uint64_t)(c->mask[i * c->strides[1]] != 0);
    memcpy(&a, c->yes + i * c->strides[2], sizeof a);
    memcpy(&b, c->no + i * c->strides[3], sizeof b);
    for (int k = 0; k < 2; k++)
      a.halves[k] = (a.halves[k] & is_yes) | (b.halves[k] & ~is_yes);
    memcpy(c->to + i * c->strides[0], &a, sizeof a);
  }
}

const fnzi_krn_rows FNZI_ISA_NAME(fnzi_krn_rows_of) = {
    {
#define ENTRY(to, from, wide) [FNZ_##to] = from##_to_##to,
#define CONVERT(from, type, read, wide, from_integer, from_double)                                 \
  [FNZ_##from] = {TARGETS(ENTRY, from, wide)},
#include "kernels/core/convert.def"
    },
    {cast_to_BF16, kept_from_F16, kept_to_F16, kept_to_BF16},
    {copy_1, copy_2, copy_4, copy_8, copy_16},
    {NULL, spread_2, spread_4, spread_8, NULL},
    {choose_1, choose_2, choose_4, choose_8, choose_16}};
