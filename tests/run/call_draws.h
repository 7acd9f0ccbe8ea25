/* call_draws.h - a call of an operator with random arguments, drawn as data, so that it can be made
 * several times: on another backend, or of another operator.
 *
 * Arguments are mostly of the type that the schema says, and of one shape and dtype, so that many
 * calls are accepted; the others are of wrong types, of odd shapes and layouts, out of range, too
 * few or too many. */
#ifndef FNZ_TESTS_RUN_CALL_DRAWS_H
#define FNZ_TESTS_RUN_CALL_DRAWS_H

#include "schema/schema.h"
#include "soak/choices.h"

enum { DRAW_ARGS = 32, DRAW_ITEMS = 6, DRAW_TENSORS = 24, DRAW_RANK = 8, DRAW_CELLS = 128 };
enum { DRAW_NO_TENSOR = 255 };

/* A piece of memory. */
typedef struct drawn_base {
  fnz_dtype dtype;
  int64_t count;
  unsigned char cells[DRAW_CELLS * 16];
} drawn_base;

/* A window into one. */
typedef struct drawn_tensor {
  uint8_t base;
  uint32_t rank;
  int64_t sizes[DRAW_RANK], strides[DRAW_RANK], offset;
} drawn_tensor;

typedef enum drawn_kind { DRAWN_PLAIN, DRAWN_TENSOR, DRAWN_TENSORS } drawn_kind;

typedef struct drawn_arg {
  drawn_kind kind;
  const char *name; /* NULL: by its place */
  fnz_arg plain;    /* a list's items are those below */
  fnz_arg items[DRAW_ITEMS];
  uint8_t tensors[DRAW_ITEMS]; /* the first one of a single tensor; or DRAW_NO_TENSOR */
  size_t count;                /* of a list of tensors */
} drawn_arg;

typedef struct drawn_call {
  const fnz_op *op;
  drawn_base bases[DRAW_TENSORS];
  drawn_tensor tensors[DRAW_TENSORS];
  drawn_arg args[DRAW_ARGS];
  size_t nbases, ntensors, nargs;
  int64_t theme[DRAW_RANK]; /* sizes that most tensors have */
  uint32_t theme_rank;
  fnz_dtype theme_dtype;
  bool is_tame; /* arguments of the right types only */
  choices *c;
} drawn_call;

void draw_call(choices *c, const fnz_op *op, drawn_call *out);
/* A dense tensor of small numbers; its place. */
uint8_t draw_dense(drawn_call *d, fnz_dtype dtype, uint32_t rank, const int64_t *sizes);
/* One line for people, cut off at `room`. */
void draw_text(const drawn_call *d, char *out, size_t capacity);

#endif
