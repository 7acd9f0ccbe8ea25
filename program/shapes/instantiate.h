/* instantiate.h - making a program for given numbers, and an instance that moves to others.
 *
 * instantiate.c    the program, made node by node
 * instance_note.c  what of it changes with the numbers
 * instance.c       that, changed in place */
#ifndef FNZI_INSTANTIATE_H
#define FNZI_INSTANTIATE_H

#include "program/shapes/sizes.h"

typedef struct fnzi_maker {
  fnz_context *ctx;
  const fnzi_sizes *sizes;
  fnzi_point *point;
  fnzi_readings readings;
  const fnz_program *from;
  fnz_program *to;
  const fnzi_graph *graph; /* of `from` */
  uint32_t into;
  uint64_t *values;       /* per value of the graph: its number in `to` */
  bool labels;            /* floats get labels */
  uint8_t *reals;         /* per value: it is a floating point number, whole or not */
  struct fnzi_ints *ints; /* the program gets words in place of numbers; NULL: numbers */
  struct {
    fnz_arg *data;
    size_t count, capacity;
  } watched;               /* further outputs */
  uint8_t *shows;          /* per graph: HIDDEN, SHOWN, or NEVER */
  fnzi_instance *instance; /* notes what depends on numbers; NULL: nothing does */
} fnzi_maker;

/* The parts of an instance that depend on numbers. */
typedef enum fnzi_moving_kind {
  FNZI_MOVING_ARG,   /* an argument: the number of a value */
  FNZI_MOVING_NODE,  /* a node that computes a number, which must be what is recorded of it */
  FNZI_MOVING_VALUE, /* the geometry of a value */
  FNZI_MOVING_WINDOW /* the window of an output */
} fnzi_moving_kind;

typedef struct fnzi_moving {
  fnzi_moving_kind kind;
  uint32_t graph;
  bool labels;
  uint64_t value;        /* of the graph it is made from */
  uint64_t at;           /* a value of the instance, or an output */
  size_t geometry;       /* of the instance's */
  fnz_arg *arg;          /* in the instance */
  const fnzi_node *node; /* of the graph it is made from */
} fnzi_moving;

/* --- instantiate.c ---------------------------------------------------------------------------- */
/* The program for the maker's numbers, in m->to. */
FNZ_MUST_CHECK fnz_status fnzi_maker_run(fnzi_maker *m);
/* The number of a value as an argument. */
FNZ_MUST_CHECK fnz_status fnzi_maker_number(fnzi_maker *m, uint64_t value, bool labels,
                                            fnz_arg *out);
/* Fails where a node gives another number than is recorded. */
FNZ_MUST_CHECK fnz_status fnzi_maker_check_number(fnzi_maker *m, const fnzi_node *node);

/* --- instance_note.c -------------------------------------------------------------------------- */
/* Nothing without an instance. `geometry` may be NULL, and have no symbols. */
FNZ_MUST_CHECK fnz_status fnzi_instance_note(fnzi_maker *m, fnzi_moving moving,
                                             const fnz_geometry *geometry);
FNZ_MUST_CHECK fnz_status fnzi_instance_note_graph(fnzi_maker *m);
/* Arguments that were noted in `from` have been copied to `to`. */
void fnzi_instance_moved_args(const fnzi_maker *m, const fnz_arg *from, size_t count, fnz_arg *to);

#endif
