/* lift.h - what the files that lift the result of a pass to a program with symbolic sizes share. */
#ifndef FNZI_LIFT_H
#define FNZI_LIFT_H

#include "functionalize/dynamic/dynamic.h"
#include "program/shapes/computer.h"
#include "program/shapes/ints.h"

/* A node of the source that reads a number or asserts. */
typedef struct fnzi_model {
  const fnzi_graph *graph;
  const fnzi_node *node;
} fnzi_model;

/* A geometry of the program that is made. */
typedef struct fnzi_lifted {
  const fnz_geometry *g;
  const fnzi_expr **sizes;
} fnzi_lifted;

typedef struct fnzi_lifter {
  fnz_context *ctx;
  fnzi_sizes *sizes;
  fnzi_point *recorded;
  fnzi_arena *arena;
  const fnzi_ints *ints;
  const fnz_program *result, *from; /* with words; the source */
  fnz_program *to;
  fnzi_computer computer;
  const fnzi_graph *source; /* of `from` */
  struct {
    fnzi_model *data; /* of `source` and the bodies inlined in it: one per graph of the result, in
                       * its order */
    size_t count, capacity;
  } models;
  size_t reading; /* the model where the next one is looked for */
  uint32_t graph;
  bool *autocast;   /* per graph of the result: it runs inside an enabled autocast */
  uint64_t *values; /* per value of the result's graph: its number in `to` */
  fnzi_map met;     /* a geometry of the result -> its place in `lifted`, per graph */
  struct {
    fnzi_lifted *data;
    size_t count, capacity;
  } lifted;
} fnzi_lifter;

/* --- lift_models.c ---------------------------------------------------------------------------- */
/* The node's only results are scalars, or it has none. */
bool fnzi_is_reading(const fnzi_node *node);
/* Finds l->models for the graph in hand. */
FNZ_MUST_CHECK fnz_status fnzi_lift_models(fnzi_lifter *l);

#endif
