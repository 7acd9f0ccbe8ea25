/* lift.h - what the files that lift results of trials to one program share. */
#ifndef FNZI_LIFT_H
#define FNZI_LIFT_H

#include "functionalize/generalize.h"

typedef struct fnzi_lifter {
  fnz_context *ctx;
  fnzi_sizes *sizes;
  fnzi_point *recorded;
  fnzi_arena *arena;
  fnzi_fit fit;
  const fnz_program **results; /* of the trials that fit */
  size_t count;
  const fnz_program *from;
  fnz_program *to;
  fnzi_computer computer;
  const fnzi_graph *source; /* of `from`: has the same asserts and readings, in order */
  size_t reading;           /* node of it where the next one is looked for */
  uint32_t graph;
  uint64_t *values; /* per value of the first result's graph: its number in `to` */
  int64_t *numbers; /* one per trial */
  const fnz_arg **lists;
  fnzi_walk *walks;
  const char **what;
  const fnz_geometry *given; /* of the source, for the geometry in hand; NULL: it is fitted */
  bool tells;                /* the geometry in hand is of a node that tells what data makes */
  struct {
    const fnzi_expr **data; /* sizes that nodes of `source` tell, in their order */
    size_t count;
  } told;
} fnzi_lifter;

/* --- lift_shape.c ----------------------------------------------------------------------------- */
/* Finds what nodes of l->source tell. */
FNZ_MUST_CHECK fnz_status fnzi_lift_told(fnzi_lifter *l);
/* Says that what the trials have in l->numbers has no expression; `place` is where they stand. */
FNZ_MUST_CHECK fnz_status fnzi_lift_refuse(fnzi_lifter *l, const char *place);
/* The expression of l->numbers; NULL, and *l->what, when there is none. */
FNZ_MUST_CHECK fnz_status fnzi_lift_fit(fnzi_lifter *l, const char *place, const fnzi_expr **out);
/* One geometry of those that the trials have; exprs: of its sizes, NULL when nobody asks. */
FNZ_MUST_CHECK fnz_status fnzi_lift_geometry(fnzi_lifter *l, const fnz_geometry *const *g,
                                             const fnzi_expr **exprs, const fnz_geometry **out);

#endif
