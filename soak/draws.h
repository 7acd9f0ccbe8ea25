/* draws.h - a random program that is being drawn, and the operators that take several
 * tensors: writes, in-place views, pure ones. */
#ifndef FNZI_SOAK_DRAWS_H
#define FNZI_SOAK_DRAWS_H

#include "soak/programs.h"

#include <fnz/tensor.h>

enum {
  MOST_VALUES = 1600,
  MOST_RESULTS = 64,
  MOST_DIMS = 20,
  MOST_ELEMENTS = 1024,
  MOST_TRIES = 8
};

typedef struct drawn {
  fnz_tensor *tensor;
  uint32_t value;
  uint32_t root, depth; /* the first value in its memory; by how many views it is away from it */
  uint32_t aliases;     /* of a root: tensors in its memory */
} drawn;

typedef enum step_kind { WRITE, PURE, VIEW, KINDS } step_kind;

typedef struct gen gen;

/* Adds a step before the step that is being drawn: one new value, values[*out]. False when it gives
 * none. */
typedef bool fnzi_make_value_fn(gen *g, const fnzi_drawn_call *call, size_t *out);

struct gen {
  fnz_context *ctx;
  choices *c;
  fnzi_random_counts *counts;
  fnz_backend *meta;
  fnz_wrapper *wrapper;
  fnz_program *p;
  size_t count, focus; /* focus: last written */
  uint32_t ninputs, deepest;
  uint32_t first_row[KINDS], row_count[KINDS]; /* of the operators that are drawn */
  uint8_t off[FNZI_RANDOM_MOST_OPS];           /* switched off in this program */
  bool in_chains;                              /* most steps go on with the newest value */
  bool in_draws;                               /* most steps draw random numbers */
  fnzi_make_value_fn *make_value;
  bool ended;                /* a refused step was written down */
  fnz_status failed;         /* a failure of a draw that is no refusal */
  drawn values[MOST_VALUES]; /* `count` of them; stays the last member */
};

/* Fills in a call on values[self]; false when there is nothing to call it on. */
typedef bool fnzi_draw_call_fn(gen *g, size_t self, fnzi_drawn_call *call);

typedef struct fnzi_call_draw {
  const char *op;
  fnzi_draw_call_fn *draw;
  step_kind kind;
} fnzi_call_draw;

extern const fnzi_call_draw fnzi_call_draws[];
extern const size_t fnzi_call_draw_count;

static inline const fnz_geometry *looks(const gen *g, size_t k) {
  return fnz_tensor_geometry(g->values[k].tensor);
}

static inline fnz_arg tensor_arg(size_t k) {
  return (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = k};
}

/* --- draws_pick.c: values that fit ---------------------------------------------------------- */
/* Some value: a new one, any, or one that shares memory with the last one written. */
size_t fnzi_pick_value(gen *g);
/* One that shows an element in several places, if there is one soon. */
size_t fnzi_pick_repeating(gen *g);
/* A value of the same sizes and dtype as values[self]. */
bool fnzi_find_alike(gen *g, size_t self, size_t *out);
/* A mask, or a tensor without dimensions, that fits values[self]. */
bool fnzi_find_mask(gen *g, size_t self, size_t *out);
bool fnzi_find_number(gen *g, size_t self, size_t *out);
/* A tensor that broadcasts to values[self], rarely any; of any dtype, or of one that casts to its.
 */
bool fnzi_pick_operand(gen *g, size_t self, bool any_dtype, size_t *out);
/* A number for a tensor of this dtype. */
fnz_arg fnzi_draw_number(gen *g, fnz_dtype dtype);

/* Adds a tensor that fits `self`, or a number, as operand of the call. */
void fnzi_draw_operand(gen *g, size_t self, bool any_dtype, fnzi_drawn_call *call);

/* draws_out.c: results that go into a tensor that is there, which may have other sizes, another
 * dtype, or the memory of an operand. */
fnzi_draw_call_fn fnzi_draw_out_binary, fnzi_draw_out_unary, fnzi_draw_out_number,
    fnzi_draw_out_clamp, fnzi_draw_out_where, fnzi_draw_out_cat, fnzi_draw_out_reduction,
    fnzi_draw_out_cumsum, fnzi_draw_out_law;

/* draws_places.c: writes to places that a tensor names. */
fnzi_draw_call_fn fnzi_draw_index_fill, fnzi_draw_index_copy, fnzi_draw_scatter,
    fnzi_draw_scatter_value, fnzi_draw_put, fnzi_draw_masked_scatter;

#endif
