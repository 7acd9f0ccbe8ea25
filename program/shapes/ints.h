/* ints.h - the expressions of a pass over a program with symbolic sizes, and their words. */
#ifndef FNZI_INTS_H
#define FNZI_INTS_H

#include "program/shapes/symbolic.h"
#include "program/shapes/int.h"

struct fnzi_ints {
  fnzi_exprs *set;
  fnz_status status; /* of the first operation that failed for memory; the pass returns it */
};

/* The word of an integer expression; FNZI_INT_NONE for a number that has none. */
fnzi_int fnzi_ints_word(const fnzi_expr *e);
/* The expression of a word that is not FNZI_INT_NONE. */
FNZ_MUST_CHECK fnz_status fnzi_ints_expr(const fnzi_ints *s, fnzi_int a, const fnzi_expr **out);

#endif
