/* overlap.h - which places of memory two windows have in common, and in which order eager's loops
 * go through them. */
#ifndef FNZI_RUN_EAGER_OVERLAP_H
#define FNZI_RUN_EAGER_OVERLAP_H

#include "run/run.h"

/* Every place of the second window is one of the first. */
FNZ_MUST_CHECK fnz_status fnzi_eag_places_cover(fnz_context *ctx, const fnz_geometry *first,
                                                const fnz_geometry *second, bool *out);
/* Two indices of `g` lie in the same place. */
FNZ_MUST_CHECK fnz_status fnzi_eag_places_overlap(fnz_context *ctx, const fnz_geometry *g,
                                                  bool *out);
/* Eager's own test for that: a stride of 0. */
bool fnzi_eag_is_expanded(const fnz_geometry *g);
/* Two windows into one memory have a place in common. */
FNZ_MUST_CHECK fnz_status fnzi_eag_places_meet(fnz_context *ctx, const fnz_geometry *a,
                                               const fnz_geometry *b, bool *out);

/* The same for windows of several dtypes: a byte in common. True where a window cannot be seen as
 * bytes. */
FNZ_MUST_CHECK fnz_status fnzi_eag_bytes_meet(fnz_context *ctx, const fnz_geometry *a,
                                              const fnz_geometry *b, bool *meet);

/* Does an elementwise loop over `target`, in eager's order, read places of `operand` (broadcast to
 * it) that it has already written? */
typedef enum fnzi_eag_order {
  FNZI_EAG_ORDER_FREE,   /* no: the result is the same when all is read first */
  FNZI_EAG_ORDER_LOOP,   /* yes: elements have to be computed one by one */
  FNZI_EAG_ORDER_UNKNOWN /* yes, within one vector of eager; or too large to find out */
} fnzi_eag_order;
enum {
  FNZI_EAG_SHORTEST_VECTOR = 8, /* eager does shorter inner loops element after element */
  FNZI_EAG_MOST_IN_LOOP = 1 << 14
};
FNZ_MUST_CHECK fnz_status fnzi_eag_find_order(fnz_context *ctx, const fnz_geometry *target,
                                              const fnz_geometry *operand, fnzi_eag_order *out);
/* The order of dimensions in eager's loop over `target`, the outermost first: by the strides of the
 * target, then by size, then by the strides of each of `count` operands. */
void fnzi_eag_loop_order(const fnz_geometry *target, const fnz_geometry *const *operands,
                         size_t count, uint32_t *out);
/* Calls visit(user, index) for each element of the target, dimensions in the given order. */
FNZ_MUST_CHECK fnz_status fnzi_eag_loop(const fnz_geometry *target, const uint32_t *order,
                                        fnz_status (*visit)(void *user, const int64_t *index),
                                        void *user);
/* As fnzi_run_scatter(), the elements in that order. */
void fnzi_eag_scatter_in_order(const fnz_geometry *g, const uint32_t *order,
                               const unsigned char *dense, size_t cell, unsigned char *memory);

#endif
