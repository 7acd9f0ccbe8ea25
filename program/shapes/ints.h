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
  fnzi_ints_node about;
} fnzi_ints_guard;

/* A node at which passes have stopped. */
typedef struct fnzi_ints_stop {
  fnzi_ints_node at;
  uint32_t times, last; /* how many passes; the last of them */
} fnzi_ints_stop;

struct fnzi_ints {
  const fnzi_sizes *sizes; /* of the program; `set` is a part */
  fnzi_exprs *set;
  fnzi_size_facts facts;
  fnzi_point *recorded; /* the sizes of the example; a proof has to hold there, too */
  fnzi_point *usual;    /* sizes that decide questions: the example's, and drawn ones for other
                         * symbols;    NULL for none */
  uint8_t *is_strange;  /* per expression of the program: it has a symbol that no run knows; NULL:
                         * none has */
  bool has_settled;     /* guards keep some symbol at one number */
  fnzi_ints_done done[FNZI_INTS_DONE];
  fnzi_ints_node at; /* questions are about this node */
  bool decides;      /* its questions that have no proof get the answers of the recorded sizes */
  bool is_open;      /* one of its questions has no answer */
  uint32_t passes;   /* that have stopped */
  struct {
    fnzi_ints_stop *data;
    size_t count, capacity;
  } stops;
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

/* After a pass over `words` that stopped. *out: the next one decides more. If passes stop at a node
 * twice, its symbols keep their recorded numbers. */
FNZ_MUST_CHECK fnz_status fnzi_ints_decide_more(fnzi_ints *s, const fnz_program *words, bool *out);
/* Drops guards that follow from others: what decides one question may decide the next one. */
FNZ_MUST_CHECK fnz_status fnzi_ints_prune_guards(fnzi_ints *s);
/* All symbols keep their recorded numbers, by guards with this question. */
FNZ_MUST_CHECK fnz_status fnzi_ints_keep_recorded(fnzi_ints *s, const char *question);

/* Finds s->points, for functions that know numbers only; fnzi_ints_close() ends them. `draw` is of
 * the same sizes. */
FNZ_MUST_CHECK fnz_status fnzi_ints_points_draw(fnzi_ints *s, fnzi_draw *draw);
void fnzi_ints_points_free(fnzi_ints *s);

/* A symbol that guards keep at one number becomes the number, in larger expressions too. */
FNZ_MUST_CHECK fnz_status fnzi_ints_settle_symbol(fnzi_ints *s, const fnzi_expr *symbol);
/* Notes that memory ran out. Other failures only mean that there is no result. */
static inline bool fnzi_ints_worked(fnzi_ints *s, fnz_status status) {
  if (fnzi_is_final(status))
    s->status = status;
  return status == FNZ_OK;
}
/* The word of an integer expression; FNZI_INT_NONE for a number that has none. */
fnzi_int fnzi_ints_word(const fnzi_expr *e);
/* The same expression without symbols that guards keep at one number. */
FNZ_MUST_CHECK fnz_status fnzi_ints_plain(fnzi_ints *s, const fnzi_expr *e, const fnzi_expr **out);
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
