/* bodies.h - nodes with bodies whose bodies are plans too: a list of such regions, of a plan and of
 * the plans of their bodies.
 *
 * A body is planned as a program: graph 0 is the body. Its inputs lie where the operands of the
 * node do, or slices of them; its results where those of the node do, or their slices. What a loop
 * hands on is state of the body, in the place of the node's result: where the loop begins with
 * something else, that is moved there before. What a branch or a call changes of an operand that
 * its result may lie on (region.c) is state in the same way.
 *
 * The temporary buffers of a body are within one of the plan that the node is of. */
#ifndef FNZI_PLN_BODIES_H
#define FNZI_PLN_BODIES_H

#include "engine/plan/plan.h"
#include "program/region_ops.h"

enum { FNZI_PLN_LEVELS = 64 };

typedef struct fnzi_pln_region {
  uint32_t owner; /* the body whose plan the node is of; FNZI_PLN_NONE: the outermost plan */
  uint32_t step, node;
  fnzi_hop hop;
  const char *why;    /* it is left to the interpreter: why; NULL: it is not */
  uint32_t bodies[2]; /* in the list, as in `hop` */
  int64_t iterations; /* MAP, SCAN, ASSOCIATIVE_SCAN */
  /* The memory of the region, a temporary buffer of the owner's plan. In it: a predicate, results
   * that have no place, levels of an associative scan, the arena of the bodies. */
  uint32_t buffer;
  size_t predicate, arena, bytes;
  fnzi_pln_place *results; /* per result of the node; `buffer` where it has no place */
  /* ASSOCIATIVE_SCAN: per xs, the first place of the levels going down and up. */
  size_t *down[FNZI_PLN_LEVELS], *up[FNZI_PLN_LEVELS];
} fnzi_pln_region;

typedef struct fnzi_pln_body {
  uint32_t region, graph;     /* of the program */
  const fnz_program *source;  /* graph 0 is the body; it has no others */
  const fnz_program *program; /* that, arranged */
  fnzi_pln_policy policy;
  fnzi_pln_plan plan;
} fnzi_pln_body;

typedef struct fnzi_pln_bodies {
  struct {
    fnzi_pln_region *data;
    size_t count, capacity;
  } regions; /* those of a plan one after the other, bodies behind what they are bodies of */
  struct {
    fnzi_pln_body *data;
    size_t count, capacity;
  } list;
} fnzi_pln_bodies;

/* Plans the bodies of all nodes of the plan, and proves all these plans and that one. `program`:
 * whose graphs they are. Everything is in `arena` but what fnzi_pln_bodies_free() ends. */
FNZ_MUST_CHECK fnz_status fnzi_pln_bodies_plan(fnz_context *ctx, fnzi_arena *arena,
                                               const fnz_program *program, bool ungrouped,
                                               fnzi_pln_plan *plan, fnzi_pln_bodies *out);
void fnzi_pln_bodies_free(fnz_context *ctx, fnzi_pln_bodies *bodies);

/* bodies_left.c: why the region, of which only `hop` is read yet, is left to the interpreter; NULL:
 * it is not, and r->iterations is found. `program`: whose graphs its bodies are. */
const char *fnzi_pln_left_why(const fnz_program *program, const fnzi_pln_plan *plan,
                              fnzi_pln_region *r);
/* `g` in rows, from a byte of its memory on that is a multiple of its cells. */
FNZ_MUST_CHECK fnz_status fnzi_pln_rows_at(fnzi_arena *arena, const fnz_geometry *g, size_t at,
                                           const fnz_geometry **out);
/* The window of slice 0 along dimension 0. */
FNZ_MUST_CHECK fnz_status fnzi_pln_first_slice(fnzi_arena *arena, const fnz_geometry *map,
                                               const fnz_geometry **out);
/* Result j of the region is stacked from slices, one of each iteration; it is not carried. */
bool fnzi_pln_is_stacked(const fnzi_pln_region *r, uint32_t j);
/* The result of the node whose memory input k of body `which` is; FNZI_PLN_NONE: of none. */
uint32_t fnzi_pln_state_of_input(const fnzi_pln_region *r, uint32_t which, uint32_t k,
                                 const fnzi_pln_plan *owner);
/* Levels of an associative scan: places of level l. */
static inline int64_t fnzi_pln_places(int64_t iterations, uint32_t level) {
  return iterations >> level;
}

#endif
