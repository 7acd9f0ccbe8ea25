/* cells.h - walking over strided memory, element by element. */
#ifndef FNZI_RUN_CELLS_H
#define FNZI_RUN_CELLS_H

#include "run/run.h"

typedef struct fnzi_run_walk {
  const fnz_geometry *g;
  int64_t index[FNZ_MAX_RANK];
  int64_t place; /* of the element at `index`, in elements */
  int64_t left;
} fnzi_run_walk;

static inline void fnzi_run_walk_start(fnzi_run_walk *w, const fnz_geometry *g) {
  memset(w, 0, sizeof *w);
  w->g = g;
  w->place = g->offset;
  w->left = fnz_geometry_numel(g);
}

/* To the next element in row-major order; only while elements are left. */
static inline void fnzi_run_walk_step(fnzi_run_walk *w) {
  w->left--;
  for (uint32_t d = w->g->rank; d-- > 0;) {
    if (++w->index[d] < w->g->sizes[d]) {
      w->place += w->g->strides[d];
      return;
    }
    w->place -= w->g->strides[d] * (w->g->sizes[d] - 1); /* a stride may lead out of 64 bits */
    w->index[d] = 0;
  }
}

#endif
