/* facts.h - knowledge about the expressions of a set, and questions that it settles for all sizes.
 *
 * A *size fact*, or fact, is an expression that is not negative in any run: by the range of a
 * symbol, a guard, an assertion, a recorded size, or the meaning of a call. An *interval* has the
 * least and the greatest number that an expression may be. Answers are proofs. YES and NO hold for
 * all numbers of the symbols that keep to the facts and at which the expressions of the question
 * have values in 64 bits. MAYBE says that no proof was found.
 *
 *     s0 >= 2, s1 = s0//2       s0 - s1 >= 1: YES, by the fact s0 - 2*s1 >= 0 of the quotient
 *
 * interval.c    intervals and divisors of expressions
 * facts.c       facts, the atoms they are found by, and symbols that stand for other expressions
 * conditions.c  guards and sizes of a program as facts
 * prove.c       questions
 *
 * An *atom* is a term without its number: a symbol, a product or a call. Questions cost time by the
 * size of their expression, not by the number of facts. */
#ifndef FNZI_SIZE_FACTS_H
#define FNZI_SIZE_FACTS_H

#include "program/shapes/symbolic.h"

enum {
  /* A sum of more terms has its interval only. Without a limit the rows of a question, three at a
   * time, could fill a stack. */
  FNZI_ROW_TERMS = 16,
  /* An atom has its first few facts only. Without a limit a program whose guards all speak of one
   * symbol takes time by the square of their number. */
  FNZI_ATOM_FACTS = 8,
  /* A question tries so many facts. Without a limit a sum of bounded terms tries the square of
   * terms times FNZI_ATOM_FACTS. */
  FNZI_PROOF_TRIES = 64
};

typedef enum fnzi_truth { FNZI_NO, FNZI_YES, FNZI_MAYBE } fnzi_truth;

/* constant + sum of by * atom: a sum with whole numbers. */
typedef struct fnzi_row_term {
  const fnzi_expr *atom;
  int64_t by;
} fnzi_row_term;

typedef struct fnzi_row {
  int64_t constant;
  uint32_t count;
  fnzi_row_term terms[FNZI_ROW_TERMS];
} fnzi_row;

/* A sum with at least two terms that is not negative. */
typedef struct fnzi_size_fact {
  int64_t constant;
  uint32_t count;
  const fnzi_row_term *terms;
} fnzi_size_fact;

/* A fact of an atom, and the next one of the same atom; 0: none. */
typedef struct fnzi_size_fact_link {
  uint32_t fact, next;
} fnzi_size_fact_link;

/* The knowledge about one expression. It begins as zeros with a divisor of 1. */
typedef struct fnzi_knowledge {
  fnzi_bounds bounds, given;     /* its interval; the part that facts said themselves */
  int64_t divisor, said_divisor; /* it is a multiple of it; 0: it is 0. 0 of the other: unsaid */
  const fnzi_expr *meaning;      /* of a symbol that an equality replaces */
  const fnzi_expr *plain;        /* the same without such symbols */
  uint32_t bounds_at, plain_at;  /* `state` and `replaced` when these were computed */
  uint32_t asked_at;             /* `news` when `failed` was found out */
  uint32_t marked_at;            /* the last search that passed it */
  uint32_t links, nlinks;        /* the first link; their number */
  uint8_t proved, failed;        /* questions about its sign, by bit (prove.c) */
  bool is_seen, is_fact, is_not_zero, has_given, is_partial;
} fnzi_knowledge;

typedef struct fnzi_size_facts {
  fnzi_exprs *set;
  struct {
    fnzi_knowledge *data; /* by id */
    size_t count, capacity;
  } of;
  struct {
    fnzi_size_fact *data;
    size_t count, capacity;
  } facts;
  struct {
    fnzi_size_fact_link *data; /* the first one is none */
    size_t count, capacity;
  } links;
  struct {
    const fnzi_expr **data;
    size_t count, capacity;
  } stack, calls;    /* of walks over the parts of an expression; calls seen first */
  uint32_t state;    /* goes up when an interval becomes narrower, or a divisor is known */
  uint32_t news;     /* goes up with `state`, and when a fact is added */
  uint32_t replaced; /* so many symbols have a meaning */
  uint32_t marks;    /* searches so far */
  uint64_t work;     /* expressions and facts looked at, for tests of the cost */
} fnzi_size_facts;

void fnzi_size_facts_init(fnzi_size_facts *facts, fnzi_exprs *set);
void fnzi_size_facts_free(fnzi_size_facts *facts);

/* --- Facts ------------------------------------------------------------------------------------ */
/* `e` is not negative. */
FNZ_MUST_CHECK fnz_status fnzi_size_facts_add(fnzi_size_facts *facts, const fnzi_expr *e);
/* `e` is at least `min` and at most `max`; INT64_MIN and INT64_MAX are no bounds. */
FNZ_MUST_CHECK fnz_status fnzi_size_facts_add_range(fnzi_size_facts *facts, const fnzi_expr *e,
                                                    int64_t min, int64_t max);
/* A condition holds. Only its comparisons and conjunctions say something. */
FNZ_MUST_CHECK fnz_status fnzi_size_facts_add_condition(fnzi_size_facts *facts,
                                                        const fnzi_expr *condition);
/* `e` is 0: a symbol that is one side of the equality is replaced, else there are two facts. */
FNZ_MUST_CHECK fnz_status fnzi_size_facts_add_zero(fnzi_size_facts *facts, const fnzi_expr *e);
/* The conditions and recorded sizes of a program (conditions.c). */
struct fnzi_sizes;
FNZ_MUST_CHECK fnz_status fnzi_size_facts_add_sizes(fnzi_size_facts *facts,
                                                    const struct fnzi_sizes *sizes);
/* The same expression without symbols that equalities replace. */
FNZ_MUST_CHECK fnz_status fnzi_size_facts_plain(fnzi_size_facts *facts, const fnzi_expr *e,
                                                const fnzi_expr **out);
/* Returns the knowledge about an expression; valid until the next call. */
FNZ_MUST_CHECK fnz_status fnzi_size_facts_see(fnzi_size_facts *facts, const fnzi_expr *e,
                                              fnzi_knowledge **out);

/* --- Questions (prove.c) ---------------------------------------------------------------------- */
/* Whether a relation, EQ to GE, of two expressions holds. */
FNZ_MUST_CHECK fnz_status fnzi_size_facts_compare(fnzi_size_facts *facts, fnzi_function relation,
                                                  const fnzi_expr *a, const fnzi_expr *b,
                                                  fnzi_truth *out);
/* Whether `n` is known to divide `e` without a rest. */
FNZ_MUST_CHECK fnz_status fnzi_size_facts_divides(fnzi_size_facts *facts, const fnzi_expr *n,
                                                  const fnzi_expr *e, bool *out);
/* The call of FLOOR_DIV, MOD, PYTHON_MOD, MIN or MAX, or something simpler that it is for all
 * sizes: Min(s0, s0 + 1) is s0. */
FNZ_MUST_CHECK fnz_status fnzi_size_facts_call(fnzi_size_facts *facts, fnzi_function function,
                                               const fnzi_expr *a, const fnzi_expr *b,
                                               const fnzi_expr **out);

/* --- Among the files of facts ----------------------------------------------------------------- */
/* The interval of an expression whose parts are known. */
fnzi_bounds fnzi_interval_of(const fnzi_size_facts *facts, const fnzi_expr *e);
/* The greatest number that is known to divide it. */
int64_t fnzi_divisor_of(const fnzi_size_facts *facts, const fnzi_expr *e);
/* The least or the greatest number of a sum of known terms; INT64_MIN or INT64_MAX for none. */
int64_t fnzi_row_least(const fnzi_size_facts *facts, const fnzi_row *row);
/* `a` is at least `b` by the intervals of their terms, without an expression for the difference. */
bool fnzi_interval_is_at_least(const fnzi_size_facts *facts, const fnzi_expr *a,
                               const fnzi_expr *b);
/* Sees the sum with whole numbers that has the sign of `e`; false if it has too many terms or an
 * atom that may be no integer. */
bool fnzi_row_of(const fnzi_expr *e, fnzi_row *out);
/* Divides by the greatest common factor of the numbers; the constant is rounded down, as the other
 * terms together are a multiple. */
void fnzi_row_reduce(fnzi_row *row);

#endif
