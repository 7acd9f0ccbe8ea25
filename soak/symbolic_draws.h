/* symbolic_draws.h - a program of unknown sizes that is being drawn: the numbers and tensors that
 * it has so far, and its text. */
#ifndef FNZI_SOAK_SYMBOLIC_DRAWS_H
#define FNZI_SOAK_SYMBOLIC_DRAWS_H

#include "soak/symbolic.h"

#include "base/base.h"

enum {
  SYMBOLIC_TEXT = 100, /* of an expression; longer ones are not gone on with */
  SYMBOLIC_RANK = 4,
  SYMBOLIC_TENSORS = 64,
  SYMBOLIC_NUMBERS = 32,
  SYMBOLIC_SYMBOLS = 4, /* of sizes, and as many of data */
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
  uint32_t rank;
  number sizes[SYMBOLIC_RANK], strides[SYMBOLIC_RANK], offset;
  int64_t room;     /* elements of its memory in the exporter's example */
  bool may_overlap; /* an element may be there twice */
} tensor;

typedef struct symbolic_gen {
  fnz_context *ctx;
  choices *c;
  fnzi_random_counts *counts;
  fnz_buffer body;
  fnz_status status; /* of the text; the first failure stays */
  size_t tensors_count, numbers_count, sizes_count, data_count, items_count, names;
  tensor tensors[SYMBOLIC_TENSORS];
  number numbers[SYMBOLIC_NUMBERS];
  int64_t data[SYMBOLIC_SYMBOLS]; /* elements of the inputs from which numbers are read */
} symbolic_gen;

/* --- numbers (symbolic_numbers.c) ------------------------------------------------------------- */
number fnzi_number_known(int64_t n);
number fnzi_number_combine(arithmetic op, const number *a, const number *b);
number fnzi_number_with(arithmetic op, const number *a, int64_t b);
const char *fnzi_arithmetic_op(arithmetic op);
static inline bool fnzi_number_is_too_long(const number *n) {
  return !n->text[0];
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
/* `%name: type` */
void fnzi_symbolic_put_typed(symbolic_gen *g, const tensor *t);

/* --- views (symbolic_views.c) ----------------------------------------------------------------- */
/* Name of the k-th view operator that is drawn; NULL behind the last one. */
const char *fnzi_symbolic_view(size_t k);
/* Writes down a call of it; false where it fits no tensor that was picked. */
bool fnzi_symbolic_draw_view(symbolic_gen *g, size_t k);
/* False for a tensor without dimensions. */
bool fnzi_symbolic_pick_dim(symbolic_gen *g, const tensor *t, uint32_t *dim);

#endif
