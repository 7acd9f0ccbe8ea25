/* symbolic.h - expressions over symbolic sizes: read, simplified, compared, evaluated, printed.
 *
 * An expression lives in a set (fnzi_exprs) and never changes. Every expression is in canonical
 * form: a number, a symbol, a sum of products with rational coefficients, or a call of a function
 * of symbolic.def on canonical arguments. Equal expressions are the same pointer within one set,
 * and have the same text in any set. Texts are made when a caller needs them. For example, sympy's
 * form and a shorter form
 *
 *     Add(Mul(Integer(2), Symbol('s2', positive=True, integer=True)), Integer(-2))
 *     -2 + s2*2
 *
 * both become "2*s2 - 2". An expression that contains a literal such as 0.9, or a symbol of a
 * float, is *real*: it is computed in doubles, not in rational numbers. Its sums and products are
 * calls whose arguments keep their order, because the order decides the bits.
 *
 * Nothing here is recursive, and all numbers are checked. A number that exceeds 64 bits is an
 * OVERFLOW, an expression that grows too large is a LIMIT. Booleans are the numbers 0 and 1.
 *
 * symbolic_set.c    sets, numbers, doubles, symbols
 * symbolic.c        sums and products in canonical form
 * symbolic_calls.c  calls of functions in canonical form
 * symbolic_real.c   the values of doubles
 * symbolic_parse.c  texts to expressions
 * symbolic_print.c  expressions to texts
 * symbolic_eval.c   numbers for the symbols */
#ifndef FNZI_SYMBOLIC_H
#define FNZI_SYMBOLIC_H

#include "base/base.h"

enum {
  FNZI_EXPR_MAX_DEPTH = 256,  /* open parentheses and operators while reading */
  FNZI_EXPR_MAX_PARTS = 1024, /* terms of a sum, factors of a product, arguments of a call */
  FNZI_EXPR_MAX_POWER = 64
};

typedef enum fnzi_expr_kind {
  FNZI_EXPR_NUMBER,  /* num / den */
  FNZI_EXPR_REAL,    /* a double that is no short fraction */
  FNZI_EXPR_SYMBOL,  /* atom_text is the name */
  FNZI_EXPR_SUM,     /* num / den + sum of parts: coefficient * (symbol, product or call) */
  FNZI_EXPR_PRODUCT, /* product of parts: (symbol, call, or sum with a negative power) ** power */
  FNZI_EXPR_CALL     /* function(parts) */
} fnzi_expr_kind;

typedef enum fnzi_function {
#define FNZI_FUNCTION(id, name, srepr, least, most) FNZI_FUNCTION_##id,
#define FNZI_FUNCTION_NAME(name, id)
#include "program/shapes/symbolic.def"
#undef FNZI_FUNCTION
#undef FNZI_FUNCTION_NAME
  FNZI_FUNCTION_COUNT
} fnzi_function;

/* In a sum: expr times num / den. In a product: expr to the power num. In a call: an argument. */
typedef struct fnzi_shapes_part {
  const struct fnzi_expr *expr;
  int64_t num, den;
} fnzi_shapes_part;

typedef struct fnzi_expr {
  fnzi_expr_kind kind;
  fnzi_function function; /* of a call */
  uint32_t id;            /* its index in the set; its parts have lower ones */
  uint32_t count;         /* of parts */
  uint32_t hash;          /* of its structure; 0 for a symbol */
  uint32_t text_size;     /* of atom_text */
  int64_t num, den;       /* of a number or a sum; den > 0, in lowest terms */
  double real;            /* of a real literal */
  bool is_whole;          /* an integer for all integers; false if that is not known */
  bool is_real;           /* its value is a double */
  const fnzi_shapes_part *parts;
  const char *atom_text; /* the canonical text; NULL for a number or a sum: fnzi_expr_text() */
} fnzi_expr;

/* The result of an operation on two expressions. */
typedef struct fnzi_expr_done {
  uint32_t operation, a, b; /* FNZI_DONE_* or a function; ids */
  uint32_t result;          /* one more than its id; 0: an empty row */
} fnzi_expr_done;

typedef struct fnzi_exprs {
  fnz_context *ctx;
  fnzi_arena arena;
  fnzi_map names;  /* of symbols, to ids */
  fnz_buffer text; /* of the expression that is being made */
  struct {
    const fnzi_expr **data; /* by id */
    size_t count, capacity;
  } all;
  struct {
    char **data; /* by id: what fnzi_expr_text() made, or NULL */
    size_t count, capacity;
  } texts;
  uint32_t *slots;      /* by hash: one more than an id, 0 for an empty slot */
  size_t nslots;        /* a power of 2, or 0 */
  fnzi_expr_done *done; /* a table of FNZI_DONE_ROWS, by hash; NULL for a small set */
} fnzi_exprs;

/* --- Sets --------------------------------------------------------------------------------- */
void fnzi_exprs_init(fnzi_exprs *set, fnz_context *ctx);
void fnzi_exprs_free(fnzi_exprs *set);

/* --- Reading and printing ------------------------------------------------------------------ */
/* Reads sympy's srepr form as .pt2 files have it, and the printed form: + - * / // % ** with
 * Python's precedence, comparisons, & | ~, and functions by name (symbolic.def). Fails with SYNTAX,
 * LIMIT or OVERFLOW; the message says at which character. Functions that are not in the table are
 * UNSUPPORTED. */
FNZ_MUST_CHECK fnz_status fnzi_expr_parse(fnzi_exprs *set, const char *text, size_t size,
                                          const fnzi_expr **out);
/* Returns the canonical text, which fnzi_expr_parse() reads. The set owns it. */
FNZ_MUST_CHECK fnz_status fnzi_expr_text(const fnzi_exprs *set, const fnzi_expr *e,
                                         const char **out);
/* Prints an expression as .pt2 files have it. Symbols whose name begins with "s" are positive, as
 * PyTorch's are. */
FNZ_MUST_CHECK fnz_status fnzi_expr_put_srepr(fnz_context *ctx, const fnzi_expr *expr,
                                              fnz_buffer *out);
/* Returns the canonical form of `text`, in the set's memory, or `text` itself if it cannot be read.
 * Fails only without memory. */
FNZ_MUST_CHECK fnz_status fnzi_expr_tidy(fnzi_exprs *set, const char *text, const char **out);

/* --- Building ------------------------------------------------------------------------------ */
FNZ_MUST_CHECK fnz_status fnzi_expr_number(fnzi_exprs *set, int64_t num, int64_t den,
                                           const fnzi_expr **out);
/* Makes a literal of a double; a short fraction such as 1.5 becomes the number 3/2. */
FNZ_MUST_CHECK fnz_status fnzi_expr_real(fnzi_exprs *set, double number, const fnzi_expr **out);
FNZ_MUST_CHECK fnz_status fnzi_expr_symbol(fnzi_exprs *set, const char *name, size_t size,
                                           const fnzi_expr **out);
FNZ_MUST_CHECK fnz_status fnzi_expr_add(fnzi_exprs *set, const fnzi_expr *a, const fnzi_expr *b,
                                        const fnzi_expr **out);
FNZ_MUST_CHECK fnz_status fnzi_expr_sub(fnzi_exprs *set, const fnzi_expr *a, const fnzi_expr *b,
                                        const fnzi_expr **out);
/* Adds all at once. Adding one after the other would leave an expression in the set for each
 * partial sum. */
FNZ_MUST_CHECK fnz_status fnzi_expr_sum(fnzi_exprs *set, const fnzi_expr *const *args, size_t count,
                                        const fnzi_expr **out);
FNZ_MUST_CHECK fnz_status fnzi_expr_scale(fnzi_exprs *set, const fnzi_expr *a, int64_t num,
                                          int64_t den, const fnzi_expr **out);
FNZ_MUST_CHECK fnz_status fnzi_expr_mul(fnzi_exprs *set, const fnzi_expr *a, const fnzi_expr *b,
                                        const fnzi_expr **out);
FNZ_MUST_CHECK fnz_status fnzi_expr_pow(fnzi_exprs *set, const fnzi_expr *a, int64_t power,
                                        const fnzi_expr **out);
/* Calls a function; its row in symbolic.def must allow `count` arguments. */
FNZ_MUST_CHECK fnz_status fnzi_expr_call(fnzi_exprs *set, fnzi_function function,
                                         const fnzi_expr *const *args, size_t count,
                                         const fnzi_expr **out);

/* Makes the same sum, product or call over other parts. */
FNZ_MUST_CHECK fnz_status fnzi_expr_with_parts(fnzi_exprs *set, const fnzi_expr *e,
                                               const fnzi_expr *const *parts,
                                               const fnzi_expr **out);
/* Divides a product with a positive power of `factor`, or `factor` itself, by `factor`. */
FNZ_MUST_CHECK fnz_status fnzi_expr_without(fnzi_exprs *set, const fnzi_expr *e,
                                            const fnzi_expr *factor, const fnzi_expr **out);

/* Makes a name stand for `meaning`. The set must not have a symbol of that name. */
FNZ_MUST_CHECK fnz_status fnzi_expr_name(fnzi_exprs *set, const char *name,
                                         const fnzi_expr *meaning);

/* Returns whether it is the integer n. */
static inline bool fnzi_expr_is(const fnzi_expr *e, int64_t n) {
  return e->kind == FNZI_EXPR_NUMBER && e->den == 1 && e->num == n;
}
/* Returns the meaning of a name: a symbol of the set, or the expression set by fnzi_expr_name().
 * NULL: the set has no such name. */
const fnzi_expr *fnzi_expr_find(const fnzi_exprs *set, const char *name);
/* Returns whether e is num/den * symbol + constant. */
bool fnzi_expr_is_linear(const fnzi_expr *e, const fnzi_expr **symbol);
/* Returns whether it is a comparison, And, Or or Not. */
static inline bool fnzi_expr_is_condition(const fnzi_expr *e) {
  return e->kind == FNZI_EXPR_CALL && e->function >= FNZI_FUNCTION_EQ;
}
/* Returns whether it is a symbol of a float by its name in PyTorch: zuf0 of data, zf0 of an input.
 */
static inline bool fnzi_is_float_symbol(const fnzi_expr *e) {
  if (e->kind != FNZI_EXPR_SYMBOL || e->atom_text[0] != 'z')
    return false;
  const char *rest = e->atom_text + 1 + (e->atom_text[1] == 'u');
  return rest[0] == 'f' && fnzi_is_digit(rest[1]);
}
/* Returns whether one of its parts is real. */
static inline bool fnzi_expr_takes_real(const fnzi_expr *e) {
  for (uint32_t i = 0; i < e->count; i++)
    if (e->parts[i].expr->is_real)
      return true;
  return false;
}

/* --- Numbers for the symbols ---------------------------------------------------------------- */
typedef enum fnzi_known {
  FNZI_NUMBER_UNKNOWN, /* some symbol has no number */
  FNZI_NUMBER_KNOWN,
  FNZI_NUMBER_REAL,     /* `real` is the value */
  FNZI_NUMBER_UNDEFINED /* a division by zero, or more than 64 bits */
} fnzi_known;

typedef struct fnzi_number {
  int64_t num, den;
  fnzi_known known;
  double real;
} fnzi_number;

/* The values of all expressions of a set, for some numbers of the symbols. */
typedef struct fnzi_point {
  const fnzi_exprs *set;
  struct {
    fnzi_number *data; /* by id */
    size_t count, capacity;
  } values;
  size_t done;   /* values with a smaller index are computed */
  uint32_t salt; /* makes labels of this point differ from labels of others: fnzi_point_label() */
} fnzi_point;

void fnzi_point_init(fnzi_point *point, const fnzi_exprs *set);
void fnzi_point_free(fnzi_point *point);
/* Sets the number of a symbol. */
FNZ_MUST_CHECK fnz_status fnzi_point_set(fnzi_point *point, const fnzi_expr *symbol,
                                         int64_t number);
/* Forgets the number of a symbol. */
FNZ_MUST_CHECK fnz_status fnzi_point_unset(fnzi_point *point, const fnzi_expr *symbol);
/* Computes the value of an expression. Values are kept until the number of a symbol changes. */
FNZ_MUST_CHECK fnz_status fnzi_point_get(fnzi_point *point, const fnzi_expr *expr,
                                         fnzi_number *out);
/* The same as a double; *known: it has a value. A symbol of a float has an integer in a point,
 * which stands for an arbitrary double that is no integer. */
FNZ_MUST_CHECK fnz_status fnzi_point_real(fnzi_point *point, const fnzi_expr *expr, bool *known,
                                          double *out);
/* Computes the label of `e`: its value with bits of its name in place of the last bits. The label
 * is near the value but never equal to it, and not further from 0 unless the value is near 0.
 * Labels of different expressions differ, so that a comparison shows which one an argument is.
 * They also differ between points of different salt, so that a result computed from labels is not
 * taken for a constant. */
FNZ_MUST_CHECK fnz_status fnzi_point_label(const fnzi_point *point, const fnzi_expr *e,
                                           double value, double *out);
/* Computes the value as an integer; *known: it is one. */
FNZ_MUST_CHECK fnz_status fnzi_point_int(fnzi_point *point, const fnzi_expr *expr, bool *known,
                                         int64_t *out);
/* Solves expr = number, if `expr` is a multiple of one symbol without a number, plus known terms:
 * sets the number of that symbol. *solved: the expression has the value now. *wrong: no integer
 * solves the equation, or the expression has another value already. */
FNZ_MUST_CHECK fnz_status fnzi_point_solve(fnzi_point *point, const fnzi_expr *expr, int64_t number,
                                           bool *solved, bool *wrong);

/* --- Intervals ------------------------------------------------------------------------------ */
/* INT64_MIN and INT64_MAX mean "no bound". */
typedef struct fnzi_bounds {
  int64_t min, max;
} fnzi_bounds;

#endif
