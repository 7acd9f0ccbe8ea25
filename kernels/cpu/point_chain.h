/* point_chain.h - rows as links of a chain: a block of elements stays in vector registers from row
 * to row. Behind point_vector.h, whose values it takes.
 *
 * Each row has a function for each of its operands that the previous link may have left in
 * registers. Its other operands are read from memory; a scalar is stored once per element. A link
 * ends with a call of the next one, which takes the same registers: a jump where the compiler
 * leaves out frames, and a frame per link elsewhere. */
enum { HELD = 8 }; /* vectors of a block */

#define HELD_VECTORS                                                                               \
  vector v0, vector v1, vector v2, vector v3, vector v4, vector v5, vector v6, vector v7
typedef void link_fn(const fnzi_meta_link *link, unsigned char *const *slots, int64_t at,
                     HELD_VECTORS);

/* Another operand of a link, from the block's first element on. */
static inline T *other(const fnzi_meta_link *link, unsigned char *const *slots, int64_t at,
                       uint32_t k) {
  return (T *)(void *)slots[link->in[k]] + at;
}

#define OTHER(k)     other(link, slots, at, k)
#define FOR_HELD(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#define GO_ON        ((link_fn *)link[1].run)(link + 1, slots, at, v0, v1, v2, v3, v4, v5, v6, v7)
#define LINK_FUNCTION(name)                                                                        \
  static void name(const fnzi_meta_link *link, unsigned char *const *slots, int64_t at,            \
                   HELD_VECTORS)

LINK_FUNCTION(chain_load) {
  const T *x = OTHER(0);
#define LOAD(i) v##i = get(x + (i)*LANES);
  FOR_HELD(LOAD)
  GO_ON;
}

LINK_FUNCTION(chain_store) {
  T *x = OTHER(0);
#define STORE(i) put(x + (i)*LANES, v##i);
  FOR_HELD(STORE)
  GO_ON;
}

/* Prefetches the next blocks of the operand. A processor computes too long on one block to meet the
 * loads of the next one in time. */
LINK_FUNCTION(chain_ahead) {
  enum { AHEAD = 1024, LINE = 64 };
  const char *x = (const char *)OTHER(0) + AHEAD;
  for (size_t i = 0; i < HELD * sizeof v0; i += LINE)
    __builtin_prefetch(x + i);
  GO_ON;
}

LINK_FUNCTION(chain_end) {
  (void)link, (void)slots, (void)at;
  (void)v0, (void)v1, (void)v2, (void)v3, (void)v4, (void)v5, (void)v6, (void)v7;
}

static void chain_run(const fnzi_meta_link *first, unsigned char *const *slots, int64_t count) {
  const vector v = {0};
  for (int64_t at = 0; at < count; at += HELD * LANES)
    ((link_fn *)first->run)(first, slots, at, v, v, v, v, v, v, v, v);
#ifdef __AVX__
  /* Links take wide registers, so compilers leave their upper halves as they are, and each narrow
   * instruction that comes after waits for these. */
  __builtin_ia32_vzeroupper();
#endif
}

#include "kernels/cpu/point_truths.h"

#ifdef HALVES_TOO
#include "kernels/cpu/point_halves.h"
#else
#define HALF_LINKS
#endif

static const fnzi_meta_chains chains = {.elements = HELD * LANES,
                                        .dtype = SELF,
                                        .load = (fnzi_meta_link_fn *)chain_load,
                                        .store = (fnzi_meta_link_fn *)chain_store,
                                        .ahead = (fnzi_meta_link_fn *)chain_ahead,
                                        .end = (fnzi_meta_link_fn *)chain_end,
                                        .run = chain_run,
                                        TRUTH_LINKS,
                                        HALF_LINKS};

/* --- Rows --------------------------------------------------------------------------------- */
#define X(i) get(x + (i)*LANES)
#define Y(i) get(y + (i)*LANES)
#define Z(i) get(z + (i)*LANES)

/* The operand at `place` is in registers; `operands` are the operands of vector i. */
#define LINK(name, place, others, operands)                                                        \
  LINK_FUNCTION(link_##name##_##place) {                                                           \
    const T *x = (others) > 0 ? OTHER(0) : NULL, *y = (others) > 1 ? OTHER(1) : NULL,              \
            *z = (others) > 2 ? OTHER(2) : NULL;                                                   \
    (void)x, (void)y, (void)z;                                                                     \
    v0 = value_##name operands(0), v1 = value_##name operands(1), v2 = value_##name operands(2),   \
    v3 = value_##name operands(3), v4 = value_##name operands(4), v5 = value_##name operands(5),   \
    v6 = value_##name operands(6), v7 = value_##name operands(7);                                  \
    GO_ON;                                                                                         \
  }

#define HELD_ALONE(i)  (v##i, v##i, v##i, v##i)
#define HELD_1_OF_2(i) (v##i, X(i), v##i, v##i)
#define HELD_2_OF_2(i) (X(i), v##i, v##i, v##i)
#define HELD_1_OF_3(i) (v##i, X(i), Y(i), v##i)
#define HELD_2_OF_3(i) (X(i), v##i, Y(i), v##i)
#define HELD_3_OF_3(i) (X(i), Y(i), v##i, v##i)
#define HELD_1_OF_4(i) (v##i, X(i), Y(i), Z(i))
#define HELD_2_OF_4(i) (X(i), v##i, Y(i), Z(i))
#define HELD_3_OF_4(i) (X(i), Y(i), v##i, Z(i))
#define HELD_4_OF_4(i) (X(i), Y(i), Z(i), v##i)

#define AS_LINK(name, place) (fnzi_meta_link_fn *)link_##name##_##place
#define LINKS_OF(name, ...)  static const fnzi_meta_links links_##name = {&chains, {__VA_ARGS__}};
#define LINKS_1(name)                                                                              \
  LINK(name, 0, 0, HELD_ALONE)                                                                     \
  LINKS_OF(name, AS_LINK(name, 0))
#define LINKS_2(name)                                                                              \
  LINK(name, 0, 1, HELD_1_OF_2)                                                                    \
  LINK(name, 1, 1, HELD_2_OF_2)                                                                    \
  LINKS_OF(name, AS_LINK(name, 0), AS_LINK(name, 1))
#define LINKS_3(name)                                                                              \
  LINK(name, 0, 2, HELD_1_OF_3)                                                                    \
  LINK(name, 1, 2, HELD_2_OF_3)                                                                    \
  LINK(name, 2, 2, HELD_3_OF_3)                                                                    \
  LINKS_OF(name, AS_LINK(name, 0), AS_LINK(name, 1), AS_LINK(name, 2))
#define LINKS_4(name)                                                                              \
  LINK(name, 0, 3, HELD_1_OF_4)                                                                    \
  LINK(name, 1, 3, HELD_2_OF_4)                                                                    \
  LINK(name, 2, 3, HELD_3_OF_4)                                                                    \
  LINK(name, 3, 3, HELD_4_OF_4)                                                                    \
  LINKS_OF(name, AS_LINK(name, 0), AS_LINK(name, 1), AS_LINK(name, 2), AS_LINK(name, 3))

/* A truth is in registers as a mask of its lane. */
#define CHAINED_BOOL(name, arity, value)                                                           \
  VALUE_OF(name) {                                                                                 \
    (void)a, (void)b, (void)c, (void)d;                                                            \
    return (vector)(lanes_mask)(value);                                                            \
  }                                                                                                \
  LINKS_##arity(name)
#define CHAINED_SAME(name, arity, value) LINKS_##arity(name)
#define CHAINED_KEPT                     CHAINED_SAME
#define FLOAT(name, arity, out, value)   CHAINED_##out(name, arity, value)
#include "kernels/point.def"
#undef FLOAT

#undef HAS_LINKS_BOOL
#undef HAS_LINKS_SAME
#undef HAS_LINKS_KEPT
#define HAS_LINKS_BOOL(name) &links_##name
#define HAS_LINKS_SAME       HAS_LINKS_BOOL
#define HAS_LINKS_KEPT       HAS_LINKS_BOOL
