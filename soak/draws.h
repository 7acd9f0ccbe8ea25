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

typedef struct gen {
  fnz_context *ctx;
  choices *c;
  fnzi_random_counts *counts;
  fnz_backend *meta;
  fnz_world *world;
  fnz_program *p;
  size_t count, focus; /* focus: last written */
  uint32_t ninputs, deepest;
  uint32_t first_row[KINDS], row_count[KINDS]; /* of the operators that are drawn */
  uint8_t off[FNZI_RANDOM_MOST_OPS];           /* switched off in this program */
  bool in_chains;                              /* most steps go on with the newest value */
  bool ended;                                  /* a refused step was written down */
  drawn values[MOST_VALUES];                   /* `count` of them; stays the last member */
} gen;

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

/* Some value: a new one, any, or one that shares memory with the last one written. */
size_t fnzi_pick_value(gen *g);

#endif
