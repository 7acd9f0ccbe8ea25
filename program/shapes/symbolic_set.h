/* symbolic_set.h - what the files of symbolic.h share among themselves. */
#ifndef FNZI_SYMBOLIC_SET_H
#define FNZI_SYMBOLIC_SET_H

#include "program/shapes/symbolic.h"

/* A fraction in lowest terms, den > 0; never INT64_MIN. */
typedef struct fnzi_ratio_t {
  int64_t num, den;
} fnzi_ratio_t;

/* False when something leaves 63 bits, or den is 0. */
bool fnzi_ratio(int64_t num, int64_t den, fnzi_ratio_t *out);
bool fnzi_ratio_add(fnzi_ratio_t a, fnzi_ratio_t b, fnzi_ratio_t *out);
bool fnzi_ratio_mul(fnzi_ratio_t a, fnzi_ratio_t b, fnzi_ratio_t *out);
int64_t fnzi_ratio_floor(fnzi_ratio_t a);

typedef struct fnzi_function_row {
  const char *name, *srepr;
  uint32_t least, most; /* most 0: any number */
} fnzi_function_row;
extern const fnzi_function_row fnzi_functions[FNZI_FUNCTION_COUNT];

int64_t fnzi_gcd(int64_t a, int64_t b);

/* Any expression seen as a constant and terms. */
typedef struct fnzi_shapes_sum {
  fnzi_ratio_t constant;
  const fnzi_shapes_part *parts;
  uint32_t count;
  fnzi_shapes_part single; /* what `parts` may point to */
} fnzi_shapes_sum;
void fnzi_as_sum(const fnzi_expr *e, fnzi_shapes_sum *out);

/* Room for `count` parts, not initialised: `few` where these are enough. */
enum { FNZI_FEW_PARTS = 12 };
FNZ_MUST_CHECK fnz_status fnzi_parts_room(fnzi_exprs *set, size_t count, fnzi_shapes_part *few,
                                          fnzi_shapes_part **out);

/* --- Operations that were done ---
 * The pass asks for the same sum many times. A row is replaced by the next operation of its hash.
 */
enum {
  FNZI_DONE_ADD = FNZI_FUNCTION_COUNT, /* below: calls of functions */
  FNZI_DONE_SUB,
  FNZI_DONE_MUL,
  FNZI_DONE_ROWS = 1 << 12, /* 64 KiB; with less, a program of 16 layers computes its sums again */
  FNZI_DONE_FROM = 48       /* expressions of a set: the set of one text does no operation twice */
};
/* The result if the table has it, else NULL. */
const fnzi_expr *fnzi_done_get(const fnzi_exprs *set, uint32_t operation, const fnzi_expr *a,
                               const fnzi_expr *b);
FNZ_MUST_CHECK fnz_status fnzi_done_put(fnzi_exprs *set, uint32_t operation, const fnzi_expr *a,
                                        const fnzi_expr *b, const fnzi_expr *result);

/* The order of terms, factors and arguments: that of the texts, as strcmp() has it. */
FNZ_MUST_CHECK fnz_status fnzi_expr_order(const fnzi_exprs *set, const fnzi_expr *a,
                                          const fnzi_expr *b, int *out);

/* The one expression of the set like `made`, whose parts may be anywhere. */
FNZ_MUST_CHECK fnz_status fnzi_expr_intern(fnzi_exprs *set, const fnzi_expr *made,
                                           const fnzi_expr **out);
/* A call whose arguments stay as they are, but for numbers among doubles, which are the doubles
 * that they are computed as: 1/3 is 0.3333333333333333 there. */
FNZ_MUST_CHECK fnz_status fnzi_expr_plain_call(fnzi_exprs *set, fnzi_function function,
                                               const fnzi_expr *const *args, size_t count,
                                               const fnzi_expr **out);
fnz_status fnzi_expr_overflow(fnzi_exprs *set);
fnz_status fnzi_expr_too_many(fnzi_exprs *set);

/* --- Doubles ---------------------------------------------------------------------------------- */
/* One of them is real. */
static inline bool fnzi_exprs_are_real(const fnzi_expr *const *args, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (args[i]->is_real)
      return true;
  return false;
}
/* A number becomes the literal of the nearest double; other expressions stay. */
FNZ_MUST_CHECK fnz_status fnzi_expr_as_double(fnzi_exprs *set, const fnzi_expr *e,
                                              const fnzi_expr **out);
/* A call that computes with its arguments as doubles. */
static inline bool fnzi_expr_wants_doubles(const fnzi_expr *e) {
  return e->kind == FNZI_EXPR_CALL && (e->is_real || fnzi_expr_takes_real(e));
}
/* The value of a call of a function on doubles, or of one that rounds, compares or chooses among
 * arguments that are. */
fnzi_number fnzi_real_call(const fnzi_expr *e, const fnzi_number *values);
bool fnzi_number_as_real(const fnzi_expr *e, const fnzi_number *n, double *out);

/* --- What texts mean (program/shapes/symbolic_apply.c)
 * ----------------------------------------------- */
typedef enum fnzi_callee_kind {
  FNZI_CALLEE_NOTHING, /* a parenthesis around one expression */
  FNZI_CALLEE_SHORTHAND,
  FNZI_CALLEE_FUNCTION,
  FNZI_CALLEE_ADD,
  FNZI_CALLEE_MUL,
  FNZI_CALLEE_PAIR /* a case of a Piecewise: its two arguments become arguments of that */
} fnzi_callee_kind;

typedef struct fnzi_callee {
  fnzi_callee_kind kind;
  uint32_t row; /* of the shorthands, or the function */
} fnzi_callee;

static inline bool fnzi_is_word(const char *word, const char *text, size_t size) {
  return strlen(word) == size && memcmp(word, text, size) == 0;
}

/* False when there is no function of that name. */
bool fnzi_callee_find(const char *word, size_t size, fnzi_callee *out);
/* May it have so many arguments? */
bool fnzi_callee_takes(const fnzi_callee *callee, size_t count);
bool fnzi_callee_has_pairs(const fnzi_callee *callee); /* its arguments are these */
FNZ_MUST_CHECK fnz_status fnzi_callee_apply(fnzi_exprs *set, const fnzi_callee *callee,
                                            const fnzi_expr *const *args, size_t count,
                                            const fnzi_expr **out);
/* Applies a binary operator. `code` is the code of a row of `signs` in symbolic_parse.c, except +
 * and -. */
FNZ_MUST_CHECK fnz_status fnzi_expr_binary(fnzi_exprs *set, char code, const fnzi_expr *const *args,
                                           const fnzi_expr **out);

/* Appends the canonical text. Every part of a sum has a text, and so has every part of another
 * expression that is no number and no sum: the text is two levels deep at most. */
FNZ_MUST_CHECK fnz_status fnzi_expr_put_text(fnz_context *ctx, const fnzi_expr *e, fnz_buffer *out);

#endif
