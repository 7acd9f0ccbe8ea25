/* point_halves.h - links of chains that read f16 and bf16 and write them, with the bits of the
 * loops of convert_rows.c. Behind point_chain.h, in f32 and with INTRINSIC. */
typedef uint16_t half_lanes __attribute__((vector_size(2 * LANES)));
typedef uint32_t half_bits __attribute__((vector_size(4 * LANES)));

static inline half_bits half_choose(half_bits c, half_bits x, half_bits y) {
  return (x & c) | (y & ~c);
}

static inline half_bits half_nan(half_bits floats) {
  return (half_bits)((floats & 0x7fffffff) > 0x7f800000);
}

static inline bool half_has_nan(half_bits floats) {
#if LANES == 16
  return _mm512_cmp_ps_mask((__m512)floats, (__m512)floats, _CMP_UNORD_Q) != 0;
#else
  __m256 v = (__m256)floats;
  return _mm256_movemask_ps(_mm256_cmp_ps(v, v, _CMP_UNORD_Q)) != 0;
#endif
}

/* The compiler's own conversions between these take lanes one by one. */
static inline half_bits half_widened(half_lanes h) {
#if LANES == 16
  return (half_bits)_mm512_cvtepu16_epi32((__m256i)h);
#else
  return (half_bits)_mm256_cvtepu16_epi32((__m128i)h);
#endif
}

static inline half_lanes half_narrowed(half_bits v) {
#if LANES == 16
  return (half_lanes)_mm512_cvtepi32_epi16((__m512i)v);
#else
  __m256i pairs = _mm256_packus_epi32((__m256i)v, (__m256i)v);
  return (half_lanes)_mm256_castsi256_si128(_mm256_permute4x64_epi64(pairs, 0x8));
#endif
}

/* --- Halves as floats, and back: bits in lanes of 32 ---------------------------------------- */
static inline half_bits widen_bf16(half_lanes h) {
  return half_widened(h) << 16;
}

static inline half_bits widen_f16(half_lanes h) {
#if LANES == 16
  return (half_bits)_mm512_cvtph_ps((__m256i)h);
#else
  return (half_bits)_mm256_cvtph_ps((__m128i)h);
#endif
}

/* Conversion makes NaN quiet. */
static inline half_bits keep_wide_f16(half_lanes h) {
  half_bits wide = widen_f16(h);
  if (!half_has_nan(wide))
    return wide;
  half_bits kept = (wide & ~0x400000u) | (half_widened(h) & 0x200) << 13;
  return half_choose(half_nan(wide), kept, wide);
}

static inline half_bits rounded_bf16(half_bits v) {
  return (v + 0x7fff + ((v >> 16) & 1)) >> 16;
}

static inline half_lanes narrow_bf16(half_bits v) {
  half_bits rounded = rounded_bf16(v), none = {0};
  if (half_has_nan(v))
    rounded = half_choose(half_nan(v), none + 0x7fc0, rounded);
  return half_narrowed(rounded);
}

static inline half_lanes keep_narrow_bf16(half_bits v) {
  half_bits rounded = rounded_bf16(v), none = (half_bits)((v & 0x7f0000) == 0) & 0x40;
  if (half_has_nan(v))
    rounded = half_choose(half_nan(v), v >> 16 | none, rounded);
  return half_narrowed(rounded);
}

static inline half_lanes narrow_f16(half_bits v) {
#if LANES == 16
  return (half_lanes)_mm512_cvtps_ph((__m512)v, _MM_FROUND_TO_NEAREST_INT);
#else
  return (half_lanes)_mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT);
#endif
}

static inline half_lanes keep_narrow_f16(half_bits v) {
  half_lanes narrow = narrow_f16(v);
  if (!half_has_nan(v))
    return narrow;
  half_bits fraction = v >> 13 & 0x3ff, none = (half_bits)(fraction == 0) & 0x200;
  half_bits kept = (v >> 16 & 0x8000) | 0x7c00 | fraction | none;
  return half_narrowed(half_choose(half_nan(v), kept, half_widened(narrow)));
}

/* --- Links ---------------------------------------------------------------------------------- */
static inline half_lanes get_halves(const uint16_t *from) {
  half_lanes h;
  memcpy(&h, from, sizeof h);
  return h;
}

static inline void put_halves(uint16_t *to, half_lanes h) {
  memcpy(to, &h, sizeof h);
}

#define HALVES        (uint16_t *)(void *)slots[link->in[0]] + at
#define WIDEN(by, i)  v##i = (vector)by(get_halves(x + (i)*LANES));
#define NARROW(by, i) put_halves(x + (i)*LANES, by((half_bits)v##i));
#define BY_HELD(DO, by)                                                                            \
  DO(by, 0) DO(by, 1) DO(by, 2) DO(by, 3) DO(by, 4) DO(by, 5) DO(by, 6) DO(by, 7)
#define HALF_LINK(DO, by)                                                                          \
  LINK_FUNCTION(chain_##by) {                                                                      \
    uint16_t *x = HALVES;                                                                          \
    BY_HELD(DO, by)                                                                                \
    GO_ON;                                                                                         \
  }
HALF_LINK(WIDEN, widen_f16)
HALF_LINK(WIDEN, widen_bf16)
HALF_LINK(WIDEN, keep_wide_f16)
HALF_LINK(NARROW, narrow_f16)
HALF_LINK(NARROW, narrow_bf16)
HALF_LINK(NARROW, keep_narrow_f16)
HALF_LINK(NARROW, keep_narrow_bf16)
#undef NARROW

#define AS_HALVES(by) (fnzi_meta_link_fn *)chain_##by
#define HALF_LINKS                                                                                 \
  .widen = {{AS_HALVES(widen_f16), AS_HALVES(keep_wide_f16)},                                      \
            {AS_HALVES(widen_bf16), AS_HALVES(widen_bf16)}},                                       \
  .narrow = {{AS_HALVES(narrow_f16), AS_HALVES(keep_narrow_f16)},                                  \
             {AS_HALVES(narrow_bf16), AS_HALVES(keep_narrow_bf16)}},
