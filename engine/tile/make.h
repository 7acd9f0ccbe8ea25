/* make.h - a group that is being made, and its slots, for make.c. */
#ifndef FNZI_TILE_MAKE_H
#define FNZI_TILE_MAKE_H

#include "engine/steps/taken.h"
#include "engine/tile/tile.h"

/* What a slot holds: an array's elements, in the type of the array or in another one; or a number.
 */
typedef struct fnzi_tile_held {
  const fnzi_krn_array *array;
  fnz_dtype dtype, by; /* `by`: through this one */
  bool keeps;
  bool of_rows;   /* an element for each row, */
  uint32_t rank;  /* of an operand from outside, as one of so many dimensions */
  bool is_result; /* of a node of the group */
  unsigned char number[16];
} fnzi_tile_held;

typedef struct fnzi_tile_making {
  fnz_workspace *ws;
  fnzi_stp_binding *b;
  fnzi_tile_program *tile;
  const fnz_geometry *space;
  int64_t count;           /* elements of it */
  bool of_rows;            /* the node computes numbers of rows, */
  uint32_t rank;           /* of so many dimensions; else that of the space */
  fnzi_stp_shaped *known;  /* of nodes like the one that is added; NULL */
  uint32_t first, node;    /* of the group, and that one; */
  fnzi_stp_taking *taking; /* NULL: it takes no number that data decide */
  fnzi_tile_held *held;    /* per slot */
  size_t slots, lanes;     /* there is room for */
} fnzi_tile_making;

/* --- operands.c: slots, lanes, and instructions that convert */
/* The slot that holds the same; a new one; a new lane of one. */
bool fnzi_tile_make_find_slot(const fnzi_tile_making *m, const fnzi_tile_held *h, uint16_t *out);
FNZ_MUST_CHECK fnz_status fnzi_tile_make_new_slot(fnzi_tile_making *m, fnzi_tile_held h,
                                                  uint16_t *out);
FNZ_MUST_CHECK fnz_status fnzi_tile_make_new_lane(fnzi_tile_making *m, const fnzi_krn_array *array,
                                                  uint16_t slot, bool stores);
/* One more instruction; and one from type to type, where that is another one. */
void fnzi_tile_make_add_ins(fnzi_tile_making *m, fnzi_tile_ins ins);
FNZ_MUST_CHECK fnz_status fnzi_tile_make_convert(fnzi_tile_making *m, uint16_t from,
                                                 fnz_dtype dtype, const fnzi_tile_held *to,
                                                 uint16_t *out);
/* An array as another type, by a third one; a result of the node. */
fnzi_tile_held fnzi_tile_make_held_as(const fnzi_tile_making *m, const fnzi_krn_array *array,
                                      fnz_dtype dtype, fnz_dtype by, bool of_rows);
fnzi_tile_held fnzi_tile_make_result_of(const fnzi_tile_making *m, const fnzi_krn_array *array);
/* What was computed of the array, or a lane of it. */
FNZ_MUST_CHECK fnz_status fnzi_tile_make_array_slot(fnzi_tile_making *m,
                                                    const fnzi_krn_array *array, uint16_t *out);
/* At the begin of a line of the cache. */
FNZ_MUST_CHECK fnz_status fnzi_tile_make_aligned(fnzi_arena *arena, size_t bytes,
                                                 unsigned char **out);
/* A number; number k of those that data decide; operand k of a row of point.def. */
FNZ_MUST_CHECK fnz_status fnzi_tile_make_number_operand(fnzi_tile_making *m,
                                                        const unsigned char *number,
                                                        fnz_dtype dtype, uint16_t *out);
FNZ_MUST_CHECK fnz_status fnzi_tile_make_taken_number(fnzi_tile_making *m, uint32_t k,
                                                      fnz_dtype dtype, uint16_t *out);
FNZ_MUST_CHECK fnz_status fnzi_tile_make_add_operand(fnzi_tile_making *m, const fnzi_krn_call *call,
                                                     const fnzi_meta_point_code *code, uint32_t k,
                                                     uint16_t *out);

#endif
