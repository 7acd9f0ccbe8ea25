/* build.h - a tile program under construction, and its slots.
 *
 * It exists while fnzi_tile_of_group() runs. Its lists are in the workspace's scratch arena; the
 * finished ones are copied to the arena of the binding. Functions fail with NOMEM, or with INTERNAL
 * if the planner has let a group become too large. */
#ifndef FNZI_TILE_BUILD_H
#define FNZI_TILE_BUILD_H

#include "engine/steps/scalars.h"
#include "engine/tile/tile.h"

/* The content of a slot: elements of an array, in its dtype or in another one; or a scalar. */
typedef struct fnzi_tile_content {
  const fnzi_krn_array *array;
  fnz_dtype dtype, through; /* converted to `dtype` by way of `by` */
  bool keeps_nan;
  bool of_rows;   /* a scalar for each row */
  uint32_t rank;  /* with of_rows, of an operand from outside: its number of dimensions */
  bool is_result; /* of a node of the group */
  unsigned char scalar[16];
} fnzi_tile_content;

typedef struct fnzi_tile_builder {
  fnz_workspace *ws;
  fnzi_stp_binding *b;
  fnzi_tile_program *tile;
  const fnz_geometry *space;
  int64_t count;               /* elements of the space */
  bool of_rows;                /* the node computes scalars of rows */
  uint32_t rank;               /* of its result, or of the space */
  fnzi_stp_kind_facts **facts; /* per node: facts about nodes of its kind; NULL */
  uint32_t first, node;        /* first node of the group; the node that is added */
  fnzi_krn_call *calls;        /* of the nodes */
  uint32_t ncalls;
  fnzi_stp_scalar_call *scalars;       /* its data-dependent scalars; NULL: none */
  fnzi_tile_content *contents;         /* per slot */
  size_t slot_capacity, lane_capacity; /* capacities */
} fnzi_tile_builder;

/* --- operands.c: slots, lanes, and instructions that convert */
/* Finds a slot with the same content; makes a new slot; makes a new lane of a slot. */
bool fnzi_tile_slot_find(const fnzi_tile_builder *m, const fnzi_tile_content *h, uint16_t *out);
FNZ_MUST_CHECK fnz_status fnzi_tile_slot_add(fnzi_tile_builder *m, fnzi_tile_content h,
                                             uint16_t *out);
FNZ_MUST_CHECK fnz_status fnzi_tile_lane_add(fnzi_tile_builder *m, const fnzi_krn_array *array,
                                             uint16_t slot, bool stores);
/* Adds an instruction; adds a conversion to `dtype`, if that differs. */
void fnzi_tile_ins_add(fnzi_tile_builder *m, fnzi_tile_ins ins);
FNZ_MUST_CHECK fnz_status fnzi_tile_convert_add(fnzi_tile_builder *m, uint16_t from,
                                                fnz_dtype dtype, const fnzi_tile_content *to,
                                                uint16_t *out);
/* Describes an array as `dtype`, converted by way of `by`; a result of the node. */
fnzi_tile_content fnzi_tile_content_as(const fnzi_tile_builder *m, const fnzi_krn_array *array,
                                       fnz_dtype dtype, fnz_dtype by, bool of_rows);
fnzi_tile_content fnzi_tile_content_of_result(const fnzi_tile_builder *m,
                                              const fnzi_krn_array *array);
/* Returns the slot with the computed elements of the array, or a new lane of it. */
FNZ_MUST_CHECK fnz_status fnzi_tile_array_operand(fnzi_tile_builder *m, const fnzi_krn_array *array,
                                                  uint16_t *out);
/* Allocates memory at the start of a cache line. */
FNZ_MUST_CHECK fnz_status fnzi_tile_allocate(fnzi_arena *arena, size_t bytes, unsigned char **out);
/* Returns the slot of a scalar, of data-dependent scalar k, of operand k of a table row. */
FNZ_MUST_CHECK fnz_status fnzi_tile_constant_operand(fnzi_tile_builder *m,
                                                     const unsigned char *scalar, fnz_dtype dtype,
                                                     uint16_t *out);
FNZ_MUST_CHECK fnz_status fnzi_tile_scalar_operand(fnzi_tile_builder *m, uint32_t k,
                                                   fnz_dtype dtype, uint16_t *out);
FNZ_MUST_CHECK fnz_status fnzi_tile_row_operand(fnzi_tile_builder *m, const fnzi_krn_call *call,
                                                const fnzi_meta_point_code *code, uint32_t k,
                                                uint16_t *out);

#endif
