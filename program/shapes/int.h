/* int.h - sizes, strides, offsets and bounds: numbers, or expressions over symbolic sizes.
 *
 * A geometry holds 64-bit words. A word of less than 2^61, up or down, is the number itself; one
 * above that is an expression of the set that the pass works with. So a program with fixed sizes
 * pays one comparison for each operation, and geometries are copied, compared and hashed as they
 * are. The words of two equal expressions are equal, because a set has one form of each.
 *
 * All code that may meet symbolic sizes computes with these functions. A comparison answers "yes"
 * only where that is proved for all sizes; the other answer is "no, or not known". */
#ifndef FNZI_INT_H
#define FNZI_INT_H

#include "program/program.h"

/* A structure, so that the compiler finds code that computes with the word itself. */
typedef struct fnzi_int {
  int64_t bits;
} fnzi_int;

#define FNZI_INT_LIMIT ((int64_t)1 << 61) /* no tensor has so many elements: memory ends before */

/* The result of an operation that left the numbers; operations on it give it again. */
#define FNZI_INT_NONE ((fnzi_int){INT64_MIN})

/* The expressions of a pass over a program with symbolic sizes; NULL where all sizes are fixed. */
typedef struct fnzi_ints fnzi_ints;

/* The expressions that new geometries have, and the memory that they are made in. */
typedef struct fnzi_int_space {
  fnzi_ints *ints;
  fnzi_arena *arena;
} fnzi_int_space;

/* --- Words ------------------------------------------------------------------------------------ */
static inline bool fnzi_int_is_number(fnzi_int a) {
  return (uint64_t)a.bits + (uint64_t)FNZI_INT_LIMIT < 2 * (uint64_t)FNZI_INT_LIMIT;
}
/* The word of a number; of the nearest one that has a word, where it has none: the end of a slice
 * may be any number. */
static inline fnzi_int fnzi_int_of(int64_t number) {
  return (fnzi_int){number < -FNZI_INT_LIMIT   ? -FNZI_INT_LIMIT
                    : number >= FNZI_INT_LIMIT ? FNZI_INT_LIMIT - 1
                                               : number};
}
static inline bool fnzi_int_is_none(fnzi_int a) {
  return a.bits == INT64_MIN;
}
static inline bool fnzi_int_is(fnzi_int a, int64_t number) {
  return a.bits == number;
}
/* The same number at all sizes. */
static inline bool fnzi_int_same(fnzi_int a, fnzi_int b) {
  return a.bits == b.bits;
}

/* The words of a geometry. */
static inline fnzi_int fnzi_int_size(const fnz_geometry *g, uint32_t d) {
  return (fnzi_int){g->sizes[d]};
}
static inline fnzi_int fnzi_int_stride(const fnz_geometry *g, uint32_t d) {
  return (fnzi_int){g->strides[d]};
}
static inline fnzi_int fnzi_int_offset(const fnz_geometry *g) {
  return (fnzi_int){g->offset};
}

/* --- Arithmetic ------------------------------------------------------------------------------- */
fnzi_int fnzi_ints_add(fnzi_ints *s, fnzi_int a, fnzi_int b);
fnzi_int fnzi_ints_sub(fnzi_ints *s, fnzi_int a, fnzi_int b);
fnzi_int fnzi_ints_mul(fnzi_ints *s, fnzi_int a, fnzi_int b);

/* Without a set all words are numbers, so that only the result needs a look. */
static inline fnzi_int fnzi_int_add(fnzi_ints *s, fnzi_int a, fnzi_int b) {
  const fnzi_int sum = {(int64_t)((uint64_t)a.bits + (uint64_t)b.bits)};
  const bool are_numbers = !s || (fnzi_int_is_number(a) && fnzi_int_is_number(b));
  return are_numbers && fnzi_int_is_number(sum) ? sum : fnzi_ints_add(s, a, b);
}
static inline fnzi_int fnzi_int_sub(fnzi_ints *s, fnzi_int a, fnzi_int b) {
  const fnzi_int rest = {(int64_t)((uint64_t)a.bits - (uint64_t)b.bits)};
  const bool are_numbers = !s || (fnzi_int_is_number(a) && fnzi_int_is_number(b));
  return are_numbers && fnzi_int_is_number(rest) ? rest : fnzi_ints_sub(s, a, b);
}
static inline fnzi_int fnzi_int_mul(fnzi_ints *s, fnzi_int a, fnzi_int b) {
  fnzi_int product;
  const bool are_numbers = !s || (fnzi_int_is_number(a) && fnzi_int_is_number(b));
  return are_numbers && fnzi_mul_i64(a.bits, b.bits, &product.bits) && fnzi_int_is_number(product)
             ? product
             : fnzi_ints_mul(s, a, b);
}
/* `whole` is a * b. */
static inline bool fnzi_int_is_product(fnzi_ints *s, fnzi_int whole, fnzi_int a, fnzi_int b) {
  return fnzi_int_same(whole, fnzi_int_mul(s, a, b)) && !fnzi_int_is_none(whole);
}
/* Divided by b, which is above 0, and rounded down or up. */
fnzi_int fnzi_int_div_down(fnzi_ints *s, fnzi_int a, fnzi_int b);
fnzi_int fnzi_int_div_up(fnzi_ints *s, fnzi_int a, fnzi_int b);
/* A whole quotient that leaves little, found by dividing term by term; where something is left, not
 * always the greatest. */
fnzi_int fnzi_ints_quotient(fnzi_ints *s, fnzi_int a, fnzi_int b);
fnzi_int fnzi_int_min(fnzi_ints *s, fnzi_int a, fnzi_int b);
fnzi_int fnzi_int_max(fnzi_ints *s, fnzi_int a, fnzi_int b);
/* An index as Python reads it: one below 0 counts from the end of `size`. */
fnzi_int fnzi_int_from_end(fnzi_ints *s, fnzi_int index, fnzi_int size);

/* --- Questions -------------------------------------------------------------------------------- */
bool fnzi_ints_is_less(fnzi_ints *s, fnzi_int a, fnzi_int b);
bool fnzi_ints_is_at_least(fnzi_ints *s, fnzi_int a, fnzi_int b);
/* a is another number. */
bool fnzi_int_is_not(fnzi_ints *s, fnzi_int a, int64_t number);
/* a is a multiple of b, which is above 0. */
bool fnzi_ints_is_multiple(fnzi_ints *s, fnzi_int a, fnzi_int b);

static inline bool fnzi_int_is_less(fnzi_ints *s, fnzi_int a, fnzi_int b) {
  return !s || (fnzi_int_is_number(a) && fnzi_int_is_number(b)) ? a.bits < b.bits
                                                                : fnzi_ints_is_less(s, a, b);
}
static inline bool fnzi_int_is_at_least(fnzi_ints *s, fnzi_int a, fnzi_int b) {
  return !s || (fnzi_int_is_number(a) && fnzi_int_is_number(b)) ? a.bits >= b.bits
                                                                : fnzi_ints_is_at_least(s, a, b);
}
static inline bool fnzi_int_is_multiple(fnzi_ints *s, fnzi_int a, fnzi_int b) {
  return fnzi_int_is_number(a) && fnzi_int_is_number(b) ? a.bits % b.bits == 0
                                                        : fnzi_ints_is_multiple(s, a, b);
}

void fnzi_ints_assume_at_least(fnzi_ints *s, fnzi_int a, fnzi_int b);
/* Both are the same number in every run that the source survives: a fact from now on. */
void fnzi_int_assume_same(fnzi_ints *s, fnzi_int a, fnzi_int b);
/* a is at least b in every such run. */
static inline void fnzi_int_assume_at_least(fnzi_ints *s, fnzi_int a, fnzi_int b) {
  if (!fnzi_int_is_number(a) || !fnzi_int_is_number(b))
    fnzi_ints_assume_at_least(s, a, b);
}

/* --- Guards (guards.c) ------------------------------------------------------------------------ */
/* The number of a word at the recorded sizes, which keep to all facts; false where none is known.
 */
bool fnzi_ints_recorded(fnzi_ints *s, fnzi_int a, int64_t *out);
/* Asks for a guard by which `a` is another number. False without one: it is this number at the
 * recorded sizes, or nothing is recorded. `question` is static, and says why: "a dimension
 * would be dropped". */
bool fnzi_int_require_not(fnzi_ints *s, fnzi_int a, int64_t number, const char *question);
/* A node of the program with words. */
typedef struct fnzi_ints_node {
  uint32_t graph, node;
} fnzi_ints_node;
/* Questions from now on are about this node. A run may leave out a body, a graph other than 0, so
 * sizes at which its nodes work are no fact. */
void fnzi_ints_ask_about(fnzi_ints *s, fnzi_ints_node node);
fnzi_ints_node fnzi_ints_asks_about(const fnzi_ints *s);

/* The pass stops at a question of this node. The next pass decides the questions of the node: an
 * answer without a proof is that of the recorded sizes, and a guard keeps it. */
void fnzi_ints_stop_at(fnzi_ints *s, fnzi_ints_node node);
/* Questions that the next pass decides, if there is no other answer. Not proved, they are "no", or
 * decided. `question` is static, and says why: "a reshape shares memory only then". */
typedef enum fnzi_ints_relation { FNZI_INTS_SAME, FNZI_INTS_AT_LEAST } fnzi_ints_relation;
bool fnzi_ints_decide(fnzi_ints *s, fnzi_ints_relation relation, fnzi_int a, fnzi_int b,
                      const char *question);
static inline bool fnzi_int_decide_same(fnzi_ints *s, fnzi_int a, fnzi_int b,
                                        const char *question) {
  const bool are_numbers = !s || (fnzi_int_is_number(a) && fnzi_int_is_number(b));
  return fnzi_int_same(a, b) ||
         (!are_numbers && fnzi_ints_decide(s, FNZI_INTS_SAME, a, b, question));
}
static inline bool fnzi_int_decide_at_least(fnzi_ints *s, fnzi_int a, fnzi_int b,
                                            const char *question) {
  const bool are_numbers = !s || (fnzi_int_is_number(a) && fnzi_int_is_number(b));
  return fnzi_int_is_at_least(s, a, b) ||
         (!are_numbers && fnzi_ints_decide(s, FNZI_INTS_AT_LEAST, a, b, question));
}
/* All questions of the node so far have been decided. */
bool fnzi_ints_is_decided(const fnzi_ints *s);
/* A question of the node stays open. */
void fnzi_ints_leave_open(fnzi_ints *s);

/* --- Geometries (int_geometry.c) -------------------------------------------------------------- */
/* The product of the sizes. */
fnzi_int fnzi_int_numel(fnzi_ints *s, const fnz_geometry *g);
/* It has no elements, at any size. */
static inline bool fnzi_int_is_empty(const fnz_geometry *g) {
  for (uint32_t d = 0; d < g->rank; d++)
    if (g->sizes[d] == 0)
      return true;
  return false;
}
/* Row-major strides of its sizes; a size of 0 counts as 1. */
void fnzi_int_row_strides(fnzi_ints *s, const fnz_geometry *g, fnzi_int *out);
/* The elements follow each other in row-major order, at all sizes. */
bool fnzi_int_is_contiguous(fnzi_ints *s, const fnz_geometry *g);
/* The same from the first element of the memory on. */
static inline bool fnzi_int_lies_in_rows(fnzi_ints *s, const fnz_geometry *g) {
  return g->offset == 0 && fnzi_int_is_contiguous(s, g);
}
/* From the first element of the memory to behind the last, in elements, as if all sizes were above
 * 0. False when that has no word. */
bool fnzi_int_extent(fnzi_ints *s, const fnz_geometry *g, fnzi_int *low, fnzi_int *high);
/* The dimensions of more than one element, the outermost first; *count of them. False if the
 * strides have no order at all sizes, or one is 0 or does not step over everything that finer ones
 * reach. */
bool fnzi_int_nested(fnzi_ints *s, const fnz_geometry *g, uint32_t order[FNZ_MAX_RANK],
                     uint32_t *count);
/* Some word is an expression; strides may be NULL. */
bool fnzi_int_is_symbolic(const fnz_geometry *g);
/* A permutation of such a geometry. */
bool fnzi_int_is_dense(fnzi_ints *s, const fnz_geometry *g);
/* The sizes of `g` are these. */
bool fnzi_int_has_sizes(const fnz_geometry *g, const fnzi_int *sizes, uint32_t rank);

/* --- Arguments of operators ------------------------------------------------------------------- */
static inline fnz_arg fnzi_arg_of_int(fnzi_int a) {
  return (fnz_arg){.tag = fnzi_int_is_number(a) ? FNZ_ARG_INT : FNZI_ARG_SIZE, .u.i = a.bits};
}
static inline bool fnzi_arg_is_int(const fnz_arg *arg) {
  return arg->tag == FNZ_ARG_INT || arg->tag == FNZI_ARG_SIZE;
}
/* The word of such an argument. */
static inline fnzi_int fnzi_arg_word(const fnz_arg *arg) {
  return arg->tag == FNZ_ARG_INT ? fnzi_int_of(arg->u.i) : (fnzi_int){arg->u.i};
}
/* A list of them, in the arena; `items` may be the words of a geometry. */
FNZ_MUST_CHECK fnz_status fnzi_arg_of_ints(fnzi_arena *arena, const fnzi_int *items, size_t count,
                                           fnz_arg *out);
/* The sizes of a geometry, and its strides. */
FNZ_MUST_CHECK fnz_status fnzi_arg_of_sizes(fnzi_arena *arena, const fnz_geometry *g, fnz_arg *out);
FNZ_MUST_CHECK fnz_status fnzi_arg_of_strides(fnzi_arena *arena, const fnz_geometry *g,
                                              fnz_arg *out);

/* --- Text ------------------------------------------------------------------------------------- */
enum { FNZI_INT_WORDS = 128 };
/* For a message: the number, or the expression, which is cut where it is longer. Returns `out`. */
const char *fnzi_int_put(const fnzi_ints *s, fnzi_int a, char out[FNZI_INT_WORDS]);
#define FNZI_PUT(s, word) fnzi_int_put(s, word, (char[FNZI_INT_WORDS]){0})

#endif
