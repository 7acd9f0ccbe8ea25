/* rows.h - groups for a GPU in which rows become numbers: operators that compute row by row,
 * taken apart into folds and rows of point.def.
 *
 *   rows.c       values and instructions of a group
 *   row_codes.c  an operator -> instructions
 *   row_pieces.c few long rows, by several kernels
 *   row_ways.c   a call -> a group
 *   norm_ways.c  a norm over channels -> a group */
#ifndef FNZI_DEV_ROWS_H
#define FNZI_DEV_ROWS_H

#include "engine/device/way.h"
#include "engine/tile/tile.h"

enum {
  FNZI_DEV_ROWS_SLOTS = 1024, /* of a group at most */
  FNZI_DEV_ROWS_NONE = UINT16_MAX
};

/* A group that is being made. If it needs more values than fit, the last slot is returned again,
 * and the group is refused at the end. */
typedef struct fnzi_dev_rows {
  fnzi_dev_maker *m;
  fnzi_cuda_group g;
  fnzi_dev_operand *operands; /* per lane */
  unsigned char (*numbers)[16];
  uint32_t nnumbers;
  bool is_full, scans;
} fnzi_dev_rows;

/* --- rows.c ------------------------------------------------------------------------------
 */
FNZ_MUST_CHECK fnz_status fnzi_dev_rows_begin(fnzi_dev_maker *m, fnzi_dev_rows *out);
/* Dimensions that follow one another become one. */
void fnzi_dev_rows_join(fnzi_dev_rows *r);

/* One launch of it, whatever its rows are. */
FNZ_MUST_CHECK fnz_status fnzi_dev_rows_launch(fnzi_dev_rows *r, fnzi_dev_work *work);

FNZ_MUST_CHECK fnz_status fnzi_dev_rows_launch_flat(fnzi_dev_rows *r, fnzi_dev_work *work);

uint16_t fnzi_dev_rows_value(fnzi_dev_rows *r, fnz_dtype dtype, bool of_rows);
uint16_t fnzi_dev_rows_number(fnzi_dev_rows *r, fnz_dtype dtype, double number);
/* The same by its bits. */
uint16_t fnzi_dev_rows_bits(fnzi_dev_rows *r, fnz_dtype dtype, const void *cell);
/* Adds a lane. The caller fills in everything except the slot. */
fnzi_cuda_lane *fnzi_dev_rows_lane(fnzi_dev_rows *r, uint16_t slot, bool stores,
                                   fnzi_dev_operand at);

/* Results of instructions: a row of point.def of one, two or three operands of one type; a
 * conversion, where there is something to convert; a choice; a fold; the best element of a row. */
uint16_t fnzi_dev_rows_of(fnzi_dev_rows *r, const char *row, uint16_t a, uint16_t b, uint16_t c);
uint16_t fnzi_dev_rows_as(fnzi_dev_rows *r, fnz_dtype dtype, uint16_t a);
uint16_t fnzi_dev_rows_choose(fnzi_dev_rows *r, uint16_t mask, uint16_t a, uint16_t b);
uint16_t fnzi_dev_rows_fold(fnzi_dev_rows *r, const char *fold, uint16_t a);
/* `places`: of the elements, or NONE: their own. */
uint16_t fnzi_dev_rows_pick(fnzi_dev_rows *r, const char *pick, uint16_t a, uint16_t places,
                            uint16_t *place);
/* Elements less their mean, which is known in double, in the type that they have: the mean in two
 * parts, so that nothing is lost where they are near. A GPU computes f32 many times faster than
 * double. */
uint16_t fnzi_dev_rows_less_mean(fnzi_dev_rows *r, uint16_t elements, uint16_t mean);
/* Each element to what its row gives up to there: by a fold, or "logs"; to the best one of a row of
 * folds.def. */
uint16_t fnzi_dev_rows_scan(fnzi_dev_rows *r, const char *fold, uint16_t a);
uint16_t fnzi_dev_rows_running(fnzi_dev_rows *r, const char *best, uint16_t a, uint16_t *place);
fnz_dtype fnzi_dev_rows_dtype(const fnzi_dev_rows *r, uint16_t a);
void fnzi_dev_rows_add(fnzi_dev_rows *r, fnzi_cuda_ins ins);

/* Describes a tile program, its lanes and instructions for the text of its kernel. */
void fnzi_dev_describe_lane(const fnzi_tile_program *t, const fnzi_tile_lane *lane,
                            fnzi_cuda_lane *out);
FNZ_MUST_CHECK fnz_status fnzi_dev_describe_tile(fnzi_dev_maker *m, const fnzi_tile_program *t,
                                                 fnzi_cuda_group *out);
void fnzi_dev_describe_ins(const fnzi_tile_ins *ins, fnzi_cuda_ins *out);

/* --- row_codes.c -------------------------------------------------------------------------
 */
/* An operator over rows of `length` elements: in[0] has these, the others, or NONE, are weights.
 * Its results come in the types that are computed. False: there are no instructions for it. */
bool fnzi_dev_rows_code(fnzi_dev_rows *r, const fnzi_meta_row_code *code, fnz_dtype out,
                        int64_t length, const uint16_t in[FNZI_ROW_OPERANDS],
                        uint16_t results[FNZI_ROW_RESULTS]);

/* --- row_pieces.c ------------------------------------------------------------------------
 */
/* The launches of a group: several, where it has few rows that are long. */
FNZ_MUST_CHECK fnz_status fnzi_dev_rows_end(fnzi_dev_rows *r, fnzi_dev_work *work);

/* --- row_ways.c --------------------------------------------------------------------------
 */
/* A tile that goes by rows. */
FNZ_MUST_CHECK fnz_status fnzi_dev_work_of_rows(fnzi_dev_maker *m, const fnzi_tile_program *t,
                                                fnzi_dev_work *out);

#endif
