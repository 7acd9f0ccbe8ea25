/* lift.h - what the files that lift results of trials to one program share. */
#ifndef FNZI_LIFT_H
#define FNZI_LIFT_H

#include "functionalize/dynamic/dynamic.h"
#include "program/shapes/ints.h"

/* A node of the source that reads a number or asserts. */
typedef struct fnzi_model {
  const fnzi_graph *graph;
  const fnzi_node *node;
} fnzi_model;

/* A float of a node of the source: an expression, or else a literal. */
typedef struct fnzi_float {
  const fnzi_expr *e;
  double literal;
} fnzi_float;

/* A geometry of the program that is made. */
typedef struct fnzi_lifted {
  const fnz_geometry *g;
  const fnzi_expr **exprs; /* of its sizes */
} fnzi_lifted;

typedef struct fnzi_lifter {
  fnz_context *ctx;
  fnzi_sizes *sizes;
  fnzi_point *recorded;
  fnzi_arena *arena;
  fnzi_fit fit;
  const fnzi_ints *ints;       /* of a result with words in place of numbers; NULL of trials */
  const fnz_program **results; /* of the trials that fit */
  size_t count;
  const fnz_program *from;
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
  bool *autocast;   /* per graph of the first result: it runs inside an enabled autocast */
  uint64_t *values; /* per value of the first result's graph: its number in `to` */
  int64_t *numbers; /* one per trial */
  const fnz_arg **lists;
  fnzi_walk *walks;
  const char **what;
  uint32_t node;   /* in hand, of the first result's graph */
  char place[160]; /* how messages name the node; filled in on the first use */
  fnzi_map met;    /* geometries of all trials -> their place in `lifted`, per graph */
  struct {
    fnzi_lifted *data;
    size_t count, capacity;
  } lifted;
  bool unnamed;              /* the geometry in hand has an offset that nothing knows */
  const fnz_geometry *given; /* of the source, for the geometry in hand; NULL: it is fitted */
  struct {
    fnzi_float *data; /* of nodes of the source whose floats have no labels */
    size_t count, capacity;
  } floats;
  bool knows_floats, has_unlabelled; /* they were looked for; expressions are among them */
  bool unlabelled;                   /* the floats of the node in hand have no labels */
  bool by_data;                      /* the geometry in hand has sizes that data decide */
  struct {
    const fnzi_expr **data; /* sizes that nodes determine, in their order */
    size_t count;
  } determined;
} fnzi_lifter;

/* --- lift_place.c ------------------------------------------------------------------------------
 */
/* How messages name a place; NULL: the current node. */
const char *fnzi_lift_place(fnzi_lifter *l, const char *place);

/* --- lift_geometry.c -------------------------------------------------------------------------- */
bool fnzi_expr_is_among(const fnzi_expr *const *exprs, size_t count, const fnzi_expr *e);
/* The expression of l->numbers; NULL, and *l->what, when there is none. */
FNZ_MUST_CHECK fnz_status fnzi_lift_fit(fnzi_lifter *l, const char *place, const fnzi_expr **out);
/* Lifts the geometries of the trials to one. exprs: the expressions of its sizes; NULL if they are
 * not needed. */
FNZ_MUST_CHECK fnz_status fnzi_lift_geometry(fnzi_lifter *l, const fnz_geometry *const *g,
                                             const fnzi_expr **exprs, const fnz_geometry **out);

/* --- lift_floats.c ---------------------------------------------------------------------------- */
/* Lifts the float that all walks are at. `same`: it is equal in all trials. *found false without a
 * refusal: no expression is it. */
FNZ_MUST_CHECK fnz_status fnzi_lift_real(fnzi_lifter *l, const char *place, bool same, fnz_arg *arg,
                                         bool *found);

/* --- lift_models.c ---------------------------------------------------------------------------- */
/* The node's only results are scalars, or it has none. */
bool fnzi_is_reading(const fnzi_node *node);
/* Finds l->models and l->determined for the graph in hand. */
FNZ_MUST_CHECK fnz_status fnzi_lift_models(fnzi_lifter *l);

#endif
