/* make.h - a tile program under construction, and its slots. */
#ifndef FNZI_TILE_MAKE_H
#define FNZI_TILE_MAKE_H

#include "engine/steps/taken.h"
#include "engine/tile/tile.h"

/* The content of a slot: elements of an array, in its dtype or in another one; or a scalar. */
typedef struct fnzi_tile_held {
  const fnzi_krn_array *array;
  fnz_dtype dtype, by; /* converted to `dtype` by way of `by` */
  bool keeps;
  bool of_rows;   /* a scalar for each row */
  uint32_t rank;  /* with of_rows, of an operand from outside: its number of dimensions */
  bool is_result; /* of a node of the group */
  unsigned char number[16];
} fnzi_tile_held;

typedef struct fnzi_tile_making {
  fnz_workspace *ws;
  fnzi_stp_binding *b;
  fnzi_tile_program *tile;
  const fnz_geometry *space;
  int64_t count;           /* elements of the space */
  bool of_rows;            /* the node computes scalars of rows */
  uint32_t rank;           /* of its result, or of the space */
  fnzi_stp_shaped **known; /* per node: facts about nodes of its kind; NULL */
  uint32_t first, node;    /* first node of the group; the node that is added */
  fnzi_krn_call *calls;    /* of the nodes */
  uint32_t ncalls;
  fnzi_stp_taking *taking; /* its data-dependent scalars; NULL: none */
  fnzi_tile_held *held;    /* per slot */
  size_t slots, lanes;     /* capacities */
} fnzi_tile_making;

/* --- operands.c: slots, lanes, and instructions that convert */
/* Finds a slot with the same content; makes a new slot; makes a new lane of a slot. */
bool fnzi_tile_make_find_slot(const fnzi_tile_making *m, const fnzi_tile_held *h, uint16_t *out);
FNZ_MUST_CHECK fnz_status fnzi_tile_make_new_slot(fnzi_tile_making *m, fnzi_tile_held h,
                                                  uint16_t *out);
FNZ_MUST_CHECK fnz_status fnzi_tile_make_new_lane(fnzi_tile_making *m, const fnzi_krn_array *array,
                                                  uint16_t slot, bool stores);
/* Adds an instruction; adds a conversion to `dtype`, if that differs. */
void fnzi_tile_make_add_ins(fnzi_tile_making *m, fnzi_tile_ins ins);
FNZ_MUST_CHECK fnz_status fnzi_tile_make_convert(fnzi_tile_making *m, uint16_t from,
                                                 fnz_dtype dtype, const fnzi_tile_held *to,
                                                 uint16_t *out);
/* Describes an array as `dtype`, converted by way of `by`; a result of the node. */
fnzi_tile_held fnzi_tile_make_held_as(const fnzi_tile_making *m, const fnzi_krn_array *array,
                                      fnz_dtype dtype, fnz_dtype by, bool of_rows);
fnzi_tile_held fnzi_tile_make_result_of(const fnzi_tile_making *m, const fnzi_krn_array *array);
/* Returns the slot with the computed elements of the array, or a new lane of it. */
FNZ_MUST_CHECK fnz_status fnzi_tile_make_array_slot(fnzi_tile_making *m,
                                                    const fnzi_krn_array *array, uint16_t *out);
/* Allocates memory at the start of a cache line. */
FNZ_MUST_CHECK fnz_status fnzi_tile_make_aligned(fnzi_arena *arena, size_t bytes,
                                                 unsigned char **out);
/* Returns the slot of a scalar, of data-dependent scalar k, of operand k of a table row. */
FNZ_MUST_CHECK fnz_status fnzi_tile_make_number_operand(fnzi_tile_making *m,
                                                        const unsigned char *number,
                                                        fnz_dtype dtype, uint16_t *out);
FNZ_MUST_CHECK fnz_status fnzi_tile_make_taken_number(fnzi_tile_making *m, uint32_t k,
                                                      fnz_dtype dtype, uint16_t *out);
FNZ_MUST_CHECK fnz_status fnzi_tile_make_add_operand(fnzi_tile_making *m, const fnzi_krn_call *call,
                                                     const fnzi_meta_point_code *code, uint32_t k,
                                                     uint16_t *out);

#endif
