/* check_types.h - shared by the files that compare the types that a program records with the types
 * that its operators compute.
 *
 *   check_types.c     runs the rule of each node's operator; node by node, graph by graph
 *   check_recorded.c  compares types and locations with the recorded ones
 *   check_fresh.c     do elements of one tensor share memory? */
#ifndef FNZI_CHECK_TYPES_H
#define FNZI_CHECK_TYPES_H

#include "kernels/backends.h"

typedef struct fnzi_krn_checker {
  fnz_context *ctx;
  const fnz_program *p;
  fnz_program *mends; /* the same program, when views are to be put where they lie; else NULL */
  fnzi_krn_machine *m;
  fnzi_arena scratch; /* of the node in hand */
  fnzi_arena lasting; /* of the graph in hand */
  fnzi_arena whole;   /* of the program */
  uint8_t *casts;     /* per graph: autocast is on */
  int64_t *samples;   /* per symbol (check_fresh.c) */
  const fnzi_graph *graph;
  const fnz_geometry **now; /* per tensor, by its first value: its type after an operator has
                               changed it; NULL if it has the recorded type; NULL itself while that
                               is so for all */
  uint32_t *first;          /* per value: the first one that is the same tensor */
  bool cast;                /* of the graph in hand */
  bool open;                /* some size of the node in hand has no example */
  bool vague;               /* and that is one of an argument */
  bool real;                /* some number of the node in hand may be real */
  bool is_ruled; /* the operator computes new tensors, and a rule says which arguments it takes */
  fnz_unruled_fn *unruled;
  void *user;
} fnzi_krn_checker;

/* The recorded types of a node's results, lists flattened; NULL for one that is not defined. */
typedef struct fnzi_krn_recorded {
  const fnz_geometry **wanted;
  uint64_t *values;
  size_t count, tensors;
} fnzi_krn_recorded;

/* The results of the operator. */
typedef struct fnzi_krn_made {
  fnz_handle *handles;
  size_t count, capacity;
} fnzi_krn_made;

/* --- check_recorded.c ------------------------------------------------------------------------- */
/* An operator has made this of a tensor: all values that are the tensor see it. */
FNZ_MUST_CHECK fnz_status fnzi_krn_note_change(fnzi_krn_checker *c, uint64_t value,
                                               const fnz_geometry *g);
/* The current type of the tensor: the recorded one, unless an operator has changed it. */
const fnz_geometry *fnzi_krn_look_of(const fnzi_krn_checker *c, uint64_t value);
/* TYPE where results are recorded otherwise than the operator gives them. */
FNZ_MUST_CHECK fnz_status fnzi_krn_compare_recorded(fnzi_krn_checker *c, const fnz_request *request,
                                                    const fnzi_krn_recorded *r,
                                                    const fnzi_krn_made *made);

/* --- check_fresh.c ---------------------------------------------------------------------------- */
/* A number per symbol, as a program may have it; -1 where that stays open. In the
 * arena. */
FNZ_MUST_CHECK fnz_status fnzi_krn_samples_choose(fnz_context *ctx, const fnz_program *p,
                                                  fnzi_arena *arena, int64_t **out);
/* Elements of a tensor share memory at these numbers. */
bool fnzi_krn_overlaps_itself(const int64_t *samples, const fnz_geometry *g);

#endif
