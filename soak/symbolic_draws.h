/* symbolic_draws.h - a program of unknown sizes that is being drawn: the numbers and tensors that
 * it has so far, and its text. */
#ifndef FNZI_SOAK_SYMBOLIC_DRAWS_H
#define FNZI_SOAK_SYMBOLIC_DRAWS_H

#include "soak/symbolic.h"

#include "base/base.h"

enum {
  SYMBOLIC_TEXT = 100, /* of an expression; longer ones are not gone on with */
  SYMBOLIC_RANK = 5,
  SYMBOLIC_TENSORS = 64,
  SYMBOLIC_NUMBERS = 32,
  SYMBOLIC_SYMBOLS = 4, /* of sizes */
  SYMBOLIC_DATA = 8,    /* symbols of data; elements that they are read from are half as many */
  SYMBOLIC_LARGEST = 6  /* size in the exporter's example */
};

/* A size, stride, offset or index, and its value in the exporter's example. */
typedef struct number {
  bool is_known;            /* a constant */
  char name[8];             /* of the value that is it; "" for none */
  char text[SYMBOLIC_TEXT]; /* "": too long to go on with */
  int64_t seen;
} number;

/* Columns: id, operator, its text in an expression, its result. */
#define ARITHMETIC_ROWS(ROW)                                                                       \
  ROW(ADD, "_operator.add", "(%s) + (%s)", a + b)                                                  \
  ROW(SUB, "_operator.sub", "(%s) - (%s)", a - b)                                                  \
  ROW(MUL, "_operator.mul", "(%s)*(%s)", times(a, b))                                              \
  ROW(MIN, "torch.sym_min", "Min(%s, %s)", a < b ? a : b)                                          \
  ROW(MAX, "torch.sym_max", "Max(%s, %s)", a > b ? a : b)                                          \
  ROW(FLOORDIV, "_operator.floordiv", "(%s)//(%s)", quotient_of(a, b))                             \
  ROW(MOD, "_operator.mod", "PythonMod(%s, %s)", remainder_of(a, b))

typedef enum arithmetic {
#define ARITHMETIC_ENUM(id, op, format, result) ARITHMETIC_##id,
  ARITHMETIC_ROWS(ARITHMETIC_ENUM)
#undef ARITHMETIC_ENUM
      ARITHMETIC
} arithmetic;

typedef struct tensor {
  char name[8];
  const char *dtype; /* "f32", "i64", "bool" */
  uint32_t rank;
  number sizes[SYMBOLIC_RANK], strides[SYMBOLIC_RANK], offset;
  int64_t capacity; /* elements of its memory in the exporter's example */
  bool may_overlap; /* an element may be there twice */
} tensor;

typedef struct symbolic_gen symbolic_gen;

/* Draws lines of a body: views, writes and pure operators. */
typedef void fnzi_draw_lines_fn(symbolic_gen *g, uint32_t count);

struct symbolic_gen {
  fnz_context *ctx;
  choices *c;
  fnzi_random_counts *counts;
  fnz_buffer body;
  fnz_status status; /* of the text; the first failure stays */
  size_t tensors_count, numbers_count, sizes_count, data_count, items_count, names;
  tensor tensors[SYMBOLIC_TENSORS];
  number numbers[SYMBOLIC_NUMBERS];
  int64_t data[SYMBOLIC_DATA / 2]; /* elements of the inputs from which numbers are read */
  bool in_body;                    /* of a region: it reads no data and has no regions */
  size_t graphs_count;
  fnz_buffer guards, graphs; /* lines before and after the program */
  fnzi_draw_lines_fn *draw_lines;
};

/* --- numbers (symbolic_numbers.c) ------------------------------------------------------------- */
number fnzi_number_known(int64_t n);
number fnzi_number_combine(arithmetic op, const number *a, const number *b);
number fnzi_number_with(arithmetic op, const number *a, int64_t b);
const char *fnzi_arithmetic_op(arithmetic op);
static inline bool fnzi_number_is_too_long(const number *n) {
  return !n->text[0];
}
static inline bool fnzi_number_is_data(const number *n) {
  return fnzi_symbolic_is_data(n->text);
}
/* As an argument of a node. */
static inline const char *fnzi_number_argument(const number *n) {
  return n->is_known ? n->text : n->name;
}
/* A constant below `limit`, or some number of the program that was in the example. False when
 * there is none. */
bool fnzi_number_pick(symbolic_gen *g, int64_t limit, number *out);

/* --- tensors and text (symbolic_tensors.c) ---------------------------------------------------- */
/* None of its numbers is too long. */
bool fnzi_symbolic_is_usable(const tensor *t);
/* Row-major, in memory of its own. */
void fnzi_symbolic_make_dense(tensor *t);
/* As a pointwise operator on these makes its result: in memory of its own, in the order of their
 * strides. The first is the result, with its sizes. `others` may have fewer dimensions. */
void fnzi_symbolic_make_like(tensor *t, const tensor *const *others, size_t count);
/* It is so already, as far as its texts say. */
bool fnzi_symbolic_is_dense(const tensor *t);
/* Row-major from dimension `first` to `last`: these can be seen as one. */
bool fnzi_symbolic_is_mergeable(const tensor *t, uint32_t first, uint32_t last);
bool fnzi_symbolic_is_same_shape(const tensor *a, const tensor *b);
/* Often one of the newest. */
const tensor *fnzi_symbolic_pick(symbolic_gen *g);
void fnzi_symbolic_keep(symbolic_gen *g, const tensor *t);
void fnzi_symbolic_name(symbolic_gen *g, char out[8]);
void fnzi_symbolic_put(symbolic_gen *g, const char *format, ...) FNZI_PRINTF(2, 3);
/* Adds a condition on sizes that the exporter has noted. */
void fnzi_symbolic_guard(symbolic_gen *g, const char *condition, ...) FNZI_PRINTF(2, 3);
/* `%name: type` */
void fnzi_symbolic_put_typed(symbolic_gen *g, const tensor *t);
/* Adds a line that names and keeps `t`; false if it is not usable. `call`: the rest of the line. */
bool fnzi_symbolic_define(symbolic_gen *g, tensor *t, const char *call, ...) FNZI_PRINTF(3, 4);
/* Adds a line whose result is a number, and keeps it; false if there are too many. */
bool fnzi_symbolic_define_number(symbolic_gen *g, number *n, const char *call, ...)
    FNZI_PRINTF(3, 4);
/* Makes a size of `t` an argument: a constant, a number that the program has, or a new line. */
bool fnzi_symbolic_size(symbolic_gen *g, const tensor *t, uint32_t dim, number *out);
/* A symbol that data decide; false if there are too many. `seen`: in the exporter's example. */
bool fnzi_symbolic_data(symbolic_gen *g, int64_t seen, number *out);
/* Adds the lines of torch._check(a >= b), or "<=". */
void fnzi_symbolic_assert(symbolic_gen *g, const number *a, const char *sign, const number *b);
/* It is no input of a view that shows an element twice, and eager writes it. */
bool fnzi_symbolic_is_writable(const tensor *t);

/* --- views (symbolic_views.c) ----------------------------------------------------------------- */
/* Name of the k-th view operator that is drawn; NULL behind the last one. */
const char *fnzi_symbolic_view(size_t k);
/* Writes down a call of it; false where it fits no tensor that was picked. */
bool fnzi_symbolic_draw_view(symbolic_gen *g, size_t k);
/* False for a tensor without dimensions. */
bool fnzi_symbolic_pick_dim(symbolic_gen *g, const tensor *t, uint32_t *dim);

/* --- several lines (symbolic_idioms.c), bodies (symbolic_bodies.c) ---------------------------- */
/* Name of the k-th idiom; NULL behind the last one. */
const char *fnzi_symbolic_idiom(size_t k);
bool fnzi_symbolic_draw_idiom(symbolic_gen *g, size_t k);
bool fnzi_symbolic_draw_cond(symbolic_gen *g);
bool fnzi_symbolic_draw_loop(symbolic_gen *g);

#endif
