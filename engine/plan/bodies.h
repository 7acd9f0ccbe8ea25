/* bodies.h - plans of the bodies of nodes: a list of such regions, of a plan and of the plans of
 * their bodies.
 *
 * A body is planned as a program: graph 0 is the body. Its inputs have the locations of the node's
 * operands, or of their slices; its results have the locations of the node's results, or of their
 * slices. A carried value is state of the body, at the location of the node's result; its initial
 * value is moved there before. An operand whose location a result of a branch or call may take
 * (region.c) is state in the same way.
 *
 * The temporary buffers of a body are within one buffer of the surrounding plan.
 *
 * One thread makes and frees the lists; they are constant afterwards. Offsets are in bytes. */
#ifndef FNZI_PLN_BODIES_H
#define FNZI_PLN_BODIES_H

#include "engine/plan/plan.h"
#include "program/region_ops.h"

enum { FNZI_PLN_LEVELS = 64 };

typedef struct fnzi_pln_region {
  uint32_t owner; /* the body whose plan the node is of; FNZI_PLN_NONE: the outermost plan */
  uint32_t step, node;
  fnzi_hop hop;
  const char *why;    /* it is left to the interpreter; NULL: it is planned */
  uint32_t bodies[2]; /* in the list, as in `hop` */
  int64_t iterations; /* MAP, SCAN, ASSOCIATIVE_SCAN */
  /* The memory of the region, a temporary buffer of the owner's plan. In it: a predicate, results
   * without a location, levels of an associative scan, the arena of the bodies. */
  uint32_t buffer;
  size_t predicate, arena, bytes;
  fnzi_pln_location *results; /* per result of the node; in `buffer` if it has no location */
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
  } regions; /* all regions of a plan, then all regions of the plans of its bodies */
  struct {
    fnzi_pln_body *data;
    size_t count, capacity;
  } list;
} fnzi_pln_bodies;

/* Plans the bodies of all nodes of the plan, and proves all plans. `program`: has the graphs of the
 * bodies. Memory is in `arena`, or freed by fnzi_pln_bodies_free(). */
FNZ_MUST_CHECK fnz_status fnzi_pln_bodies_plan(fnz_context *ctx, fnzi_arena *arena,
                                               const fnz_program *program, bool ungrouped,
                                               fnzi_pln_plan *plan, fnzi_pln_bodies *out);
void fnzi_pln_bodies_free(fnz_context *ctx, fnzi_pln_bodies *bodies);

/* bodies_left.c: returns why the region is left to the interpreter, or NULL and sets r->iterations.
 * Reads only r->hop. `program`: has the graphs of its bodies. */
const char *fnzi_pln_left_why(const fnz_program *program, const fnzi_pln_plan *plan,
                              fnzi_pln_region *r);
/* `g` in rows, from a byte of its memory on that is a multiple of its cells. */
FNZ_MUST_CHECK fnz_status fnzi_pln_row_major_at(fnzi_arena *arena, const fnz_geometry *g, size_t at,
                                                const fnz_geometry **out);
/* Result j of the region is stacked from slices, one of each iteration; it is not carried. */
bool fnzi_pln_is_stacked(const fnzi_pln_region *r, uint32_t j);
/* Levels of an associative scan: places of level l. */
static inline int64_t fnzi_pln_level_size(int64_t iterations, uint32_t level) {
  return iterations >> level;
}

#endif
