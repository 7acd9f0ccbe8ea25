/* point_truths.h - links of chains that choose between operands by a truth, and that load truths
 * and store them. Behind point_chain.h.
 *
 * In registers a truth is a mask of its lane, in memory a byte. */
static inline lanes_mask get_truths(const unsigned char *from) {
#if FNZI_ISA == 4 && LANES == 16
  const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)from);
  return (lanes_mask)_mm512_movm_epi32(_mm_test_epi8_mask(bytes, bytes));
#elif FNZI_ISA == 3 && LANES == 8
  const __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)from);
  return (lanes_mask)_mm256_cvtepu8_epi32(bytes) != 0;
#else
  lanes_mask c;
  for (int i = 0; i < LANES; i++)
    c[i] = -(BITS)(from[i] != 0);
  return c;
#endif
}

static inline void put_truths(unsigned char *to, lanes_mask c) {
#if FNZI_ISA == 4 && LANES == 16
  _mm_storeu_si128((__m128i *)(void *)to, _mm_maskz_set1_epi8(_mm512_movepi32_mask((__m512i)c), 1));
#elif FNZI_ISA == 3 && LANES == 8
  const __m256i lanes = (__m256i)c;
  __m128i low = _mm256_castsi256_si128(lanes), high = _mm256_extracti128_si256(lanes, 1);
  __m128i pairs = _mm_packs_epi32(low, high), bytes = _mm_packs_epi16(pairs, pairs);
  _mm_storel_epi64((__m128i *)(void *)to, _mm_and_si128(bytes, _mm_set1_epi8(1)));
#else
  for (int i = 0; i < LANES; i++)
    to[i] = (unsigned char)(c[i] & 1);
#endif
}

/* --- Links ---------------------------------------------------------------------------------- */
#define TRUTHS(k, i) get_truths(slots[link->in[k]] + at + (i)*LANES)
#define HELD_MASK(i) (lanes_mask) v##i

LINK_FUNCTION(chain_load_truths) {
#define LOAD_TRUTHS(i) v##i = (vector)TRUTHS(0, i);
  FOR_HELD(LOAD_TRUTHS)
  GO_ON;
}

LINK_FUNCTION(chain_store_truths) {
#define STORE_TRUTHS(i) put_truths(slots[link->in[0]] + at + (i)*LANES, HELD_MASK(i));
  FOR_HELD(STORE_TRUTHS)
  GO_ON;
}

LINK_FUNCTION(chain_count_truths) {
#define COUNT_TRUTHS(i) v##i = TRUTH(HELD_MASK(i));
  FOR_HELD(COUNT_TRUTHS)
  GO_ON;
}

LINK_FUNCTION(chain_choose_0) {
  const T *yes = OTHER(0), *no = OTHER(1);
#define CHOOSE_0(i) v##i = choose(HELD_MASK(i), get(yes + (i)*LANES), get(no + (i)*LANES));
  FOR_HELD(CHOOSE_0)
  GO_ON;
}

LINK_FUNCTION(chain_choose_1) {
  const T *no = OTHER(1);
#define CHOOSE_1(i) v##i = choose(TRUTHS(0, i), v##i, get(no + (i)*LANES));
  FOR_HELD(CHOOSE_1)
  GO_ON;
}

LINK_FUNCTION(chain_choose_2) {
  const T *yes = OTHER(1);
#define CHOOSE_2(i) v##i = choose(TRUTHS(0, i), get(yes + (i)*LANES), v##i);
  FOR_HELD(CHOOSE_2)
  GO_ON;
}

#define AS_TRUTHS(x) (fnzi_meta_link_fn *)chain_##x
#define TRUTH_LINKS                                                                                \
  .load_truths = AS_TRUTHS(load_truths), .store_truths = AS_TRUTHS(store_truths),                  \
  .count_truths = AS_TRUTHS(count_truths),                                                         \
  .choose = {AS_TRUTHS(choose_0), AS_TRUTHS(choose_1), AS_TRUTHS(choose_2)}
