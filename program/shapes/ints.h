/* ints.h - the expressions of a pass over a program with symbolic sizes, and their words. */
#ifndef FNZI_INTS_H
#define FNZI_INTS_H

#include "program/shapes/facts.h"
#include "program/shapes/int.h"
#include "program/shapes/sizes.h"

/* The words that an operation had and gave, while no fact about sizes is added. */
typedef struct fnzi_ints_done {
  fnzi_int a, b, result;
  uint32_t operation; /* or question; 0: none */
  uint32_t state;     /* of the facts */
} fnzi_ints_done;

/* Operations that are remembered, in places by their hash. With 64 the pass over a transformer of
 * 64 layers takes 2.5 % more instructions. */
enum { FNZI_INTS_DONE = 256 };

/* A condition on sizes without which the program that is made may be wrong. */
typedef struct fnzi_ints_guard {
  const fnzi_expr *condition;
  const char *question; /* static: the reason for the condition */
  const fnzi_node *node;
} fnzi_ints_guard;

struct fnzi_ints {
  const fnzi_sizes *sizes; /* of the program; `set` is a part */
  fnzi_exprs *set;
  fnzi_size_facts facts;
  fnzi_point *recorded; /* the sizes of the example; a proof has to hold there, too */
  bool has_settled;     /* guards keep some symbol at one number */
  fnzi_ints_done done[FNZI_INTS_DONE];
  const fnzi_node *at; /* guards are about this node */
  bool may_run;        /* it is in a body, which a run may leave out: it says nothing about sizes */
  struct {
    fnzi_ints_guard *data;
    size_t count, capacity;
  } guards;
  struct {
    fnzi_point *data; /* the first `usual` of them are usual sizes, the others special ones */
    size_t count, capacity, usual;
  } points;          /* at which nodes are decomposed (points.c) */
  fnzi_arena arena;  /* for as long as the pass */
  fnz_status status; /* of the first operation that ran out of memory; the pass returns it */
};

/* The expressions and facts of a program; fnzi_ints_close() must follow, also after a failure.
 * `recorded` has the sizes of the example, as far as they are known; NULL: none are. */
FNZ_MUST_CHECK fnz_status fnzi_ints_open(fnzi_ints *s, fnzi_sizes *sizes, fnzi_point *recorded);
void fnzi_ints_close(fnzi_ints *s);

/* Finds s->points, for functions that know numbers only; fnzi_ints_close() ends them. `draw` is of
 * the same sizes. */
FNZ_MUST_CHECK fnz_status fnzi_ints_points_draw(fnzi_ints *s, fnzi_draw *draw);
void fnzi_ints_points_free(fnzi_ints *s);

/* The word of an integer expression; FNZI_INT_NONE for a number that has none. */
fnzi_int fnzi_ints_word(const fnzi_expr *e);
/* The word of an expression that may be one number at all sizes. */
FNZ_MUST_CHECK fnz_status fnzi_ints_settled(fnzi_ints *s, const fnzi_expr *e, fnzi_int *out);
/* The expression of a word that is not FNZI_INT_NONE. */
FNZ_MUST_CHECK fnz_status fnzi_ints_expr(const fnzi_ints *s, fnzi_int a, const fnzi_expr **out);
/* A geometry of the program with words in place of its symbols, in `arena`; `g` itself where it has
 * none. */
FNZ_MUST_CHECK fnz_status fnzi_ints_geometry(fnzi_ints *s, const fnz_geometry *g, fnzi_arena *arena,
                                             const fnz_geometry **out);
/* The program with words in place of its symbols, as fnzi_instantiate() makes one with numbers. It
 * is for the pass alone: no other code takes words. */
FNZ_MUST_CHECK fnz_status fnzi_instantiate_words(fnzi_ints *s, fnz_program **out);

#endif
