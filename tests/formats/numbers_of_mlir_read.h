/* numbers_of_mlir_read.h - reads the MLIR that fnz writes and computes each integer, double and
 * truth value in it, line by line. It follows the meaning of the dialects and shares no table with
 * the writer. An operation on numbers that it does not know is refused.
 *
 * Both branches of torch.prim.If are read, and a loop's body once: their numbers do not depend on
 * which one runs. Tensors have no values here. */
#ifndef FNZ_TESTS_FORMATS_NUMBERS_OF_MLIR_READ_H
#define FNZ_TESTS_FORMATS_NUMBERS_OF_MLIR_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MLIR_VALUES = 16384, MLIR_OPERATIONS = 64 };

typedef enum mlir_kind {
  MLIR_UNKNOWN, /* a number that cannot be known: it divides by 0, leaves 64 bits, or data give it
                 */
  MLIR_INT,
  MLIR_FLOAT,
  MLIR_BOOL,
  MLIR_LIST,
  MLIR_OTHER /* a tensor, none, a string */
} mlir_kind;

typedef struct mlir_value {
  const char *name; /* in the text, "%" first */
  size_t size;
  mlir_kind kind;
  int64_t number;    /* INT, BOOL */
  double real;       /* FLOAT */
  const char *items; /* LIST: "%a, %b : ..." */
} mlir_value;

/* torch.symbolic_int */
typedef struct mlir_symbol {
  const char *name;
  size_t size;
  int64_t least, most;
} mlir_symbol;

typedef struct mlir_reader mlir_reader;
struct mlir_reader {
  void *user;
  /* Dimension `dim` of a tensor; false where it is not known. */
  bool (*size_of)(void *user, const char *name, size_t size, int64_t dim, int64_t *out);
  /* A number that data or the caller give; it stays UNKNOWN where it has none. */
  void (*leaf)(void *user, const char *name, size_t size, mlir_value *out);
  /* The number of a symbol; false where there is none with these bounds. */
  bool (*symbol)(void *user, const mlir_symbol *given, int64_t *out);
  /* An operation `op` that gives the tensor `name`; false after an entry in `refused`. */
  bool (*tensor)(mlir_reader *r, void *user, const char *name, const char *op);
  mlir_value values[MLIR_VALUES]; /* in the order of the text */
  size_t count;
  size_t used[MLIR_OPERATIONS]; /* per mlir_operation(): how often it was computed */
  char refused[512];            /* why the text is not right, and the line */
};

/* Evaluates the function of a module. False: see `refused`. */
bool mlir_read(mlir_reader *r, const char *text);

/* The last value of this name before the end; NULL. */
const mlir_value *mlir_find(const mlir_reader *r, const char *name, size_t size);

/* The k-th operation that is computed; NULL behind the last one. */
const char *mlir_operation(size_t k);

#endif
