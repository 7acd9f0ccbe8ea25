/* rows.h - groups for a GPU in which rows become numbers: operators that compute row by row,
 * taken apart into folds and rows of point.def.
 *
 *   rows.c       values and instructions of a group
 *   row_codes.c  an operator -> instructions
 *   row_pieces.c few long rows, by several kernels
 *   lower_rows.c   a call -> a group
 *   lower_norms.c  a norm over channels -> a group
 *
 * A group lives in the workspace's scratch arena until its launch is added. Functions that add
 * values return slots and cannot fail: what does not fit sets `is_full`. */
#ifndef FNZI_DEV_ROWS_H
#define FNZI_DEV_ROWS_H

#include "engine/device/lowering.h"
#include "engine/tile/tile.h"

enum {
  FNZI_DEV_ROWS_SLOTS = 1024, /* of a group at most */
  FNZI_DEV_ROWS_NONE = UINT16_MAX
};

/* A group that is being made. If it needs more values than fit, the last slot is returned again,
 * and the group is refused at the end. */
typedef struct fnzi_dev_rows {
  fnzi_dev_builder *m;
  fnzi_cuda_group g;
  fnzi_dev_operand *operands; /* per lane */
  unsigned char (*constants)[16];
  uint32_t nconstants;
  bool is_full, scans;
} fnzi_dev_rows;

/* --- rows.c ----------------------------------------------------------------------------------- */
FNZ_MUST_CHECK fnz_status fnzi_dev_rows_begin(fnzi_dev_builder *m, fnzi_dev_rows *out);
/* Dimensions that follow one another become one. */
void fnzi_dev_rows_join(fnzi_dev_rows *r);

/* Adds the group as a single launch, whatever its rows are. */
FNZ_MUST_CHECK fnz_status fnzi_dev_rows_launch(fnzi_dev_rows *r, fnzi_dev_work *work);

FNZ_MUST_CHECK fnz_status fnzi_dev_rows_launch_flat(fnzi_dev_rows *r, fnzi_dev_work *work);

uint16_t fnzi_dev_rows_value(fnzi_dev_rows *r, fnz_dtype dtype, bool of_rows);
uint16_t fnzi_dev_rows_constant(fnzi_dev_rows *r, fnz_dtype dtype, double number);
/* The same by its bits. */
uint16_t fnzi_dev_rows_bits(fnzi_dev_rows *r, fnz_dtype dtype, const void *cell);
/* Adds a lane. The caller fills in everything except the slot. */
fnzi_cuda_lane *fnzi_dev_rows_lane(fnzi_dev_rows *r, uint16_t slot, bool stores,
                                   fnzi_dev_operand operand);

/* Add an instruction and return the slot of its result: a row of point.def with one, two or three
 * operands of one type; a conversion, if the type differs; a choice; a fold; the best element of a
 * row. */
uint16_t fnzi_dev_rows_apply(fnzi_dev_rows *r, const char *row, uint16_t a, uint16_t b, uint16_t c);
uint16_t fnzi_dev_rows_convert(fnzi_dev_rows *r, fnz_dtype dtype, uint16_t a);
uint16_t fnzi_dev_rows_choose(fnzi_dev_rows *r, uint16_t mask, uint16_t a, uint16_t b);
uint16_t fnzi_dev_rows_fold(fnzi_dev_rows *r, const char *fold, uint16_t a);
/* `places`: the slot with a place for each element, or NONE for the index in the row. */
uint16_t fnzi_dev_rows_pick(fnzi_dev_rows *r, const char *pick, uint16_t a, uint16_t indices,
                            uint16_t *index);
/* Subtracts the mean, which is known in double, from elements in their own type. The mean is split
 * in two parts, so that no precision is lost if it is near the elements. A GPU computes f32 many
 * times faster than double. */
uint16_t fnzi_dev_rows_less_mean(fnzi_dev_rows *r, uint16_t elements, uint16_t mean);
/* Running folds along rows: by a fold or "logs" (logcumsumexp); or by a row of folds.def that picks
 * the best element. */
uint16_t fnzi_dev_rows_scan(fnzi_dev_rows *r, const char *fold, uint16_t a);
uint16_t fnzi_dev_rows_running(fnzi_dev_rows *r, const char *best, uint16_t a, uint16_t *index);
fnz_dtype fnzi_dev_rows_dtype(const fnzi_dev_rows *r, uint16_t a);
void fnzi_dev_rows_add(fnzi_dev_rows *r, fnzi_cuda_ins ins);

/* Describes a tile program, its lanes and instructions for the text of its kernel. */
void fnzi_dev_describe_lane(const fnzi_tile_program *t, const fnzi_tile_lane *lane,
                            fnzi_cuda_lane *out);
FNZ_MUST_CHECK fnz_status fnzi_dev_describe_tile(fnzi_dev_builder *m, const fnzi_tile_program *t,
                                                 fnzi_cuda_group *out);
void fnzi_dev_describe_ins(const fnzi_tile_ins *ins, fnzi_cuda_ins *out);

/* --- row_codes.c ------------------------------------------------------------------------------ */
/* Adds an operator over rows of `length` elements: in[0] is the elements, the others are weights or
 * NONE. Results are in the computing type. Returns false if there are no instructions for the
 * operator. */
bool fnzi_dev_rows_code(fnzi_dev_rows *r, const fnzi_meta_row_code *code, fnz_dtype out,
                        int64_t length, const uint16_t in[FNZI_ROW_OPERANDS],
                        uint16_t results[FNZI_ROW_RESULTS]);

/* --- row_pieces.c ----------------------------------------------------------------------------- */
/* Adds the launches of a group: several if its rows are few and long. */
FNZ_MUST_CHECK fnz_status fnzi_dev_rows_end(fnzi_dev_rows *r, fnzi_dev_work *work);

/* --- lower_rows.c ----------------------------------------------------------------------------- */
/* Makes the work of a tile program with rows. */
FNZ_MUST_CHECK fnz_status fnzi_dev_work_of_rows(fnzi_dev_builder *m, const fnzi_tile_program *t,
                                                fnzi_dev_work *out);

#endif
