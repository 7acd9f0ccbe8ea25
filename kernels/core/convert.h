/* convert.h - loops that convert and copy elements, for one instruction set. */
#ifndef FNZI_CONVERT_H
#define FNZI_CONVERT_H

#include "kernels/core/core.h"
#include "kernels/core/isa.h"

/* Strides in bytes. */
typedef void fnzi_krn_row_fn(char *dst, int64_t dst_stride, const char *src, int64_t src_stride,
                             int64_t count);

/* `count` rows of `size` equal cells each, which are `step` bytes apart in `src`. */
typedef void fnzi_krn_spread_fn(char *dst, const char *src, int64_t step, int64_t count,
                                int64_t size);

typedef struct fnzi_krn_spreading {
  char *to;
  const char *from;
  int64_t step, count, size;
  size_t cell;
} fnzi_krn_spreading;

/* A cell of `yes` where the mask is true, else of `no`; strides of to, mask, yes and no in bytes.
 */
typedef struct fnzi_krn_choice {
  char *to;
  const char *mask, *yes, *no;
  int64_t strides[4];
} fnzi_krn_choice;
typedef void fnzi_krn_choose_fn(const fnzi_krn_choice *c, int64_t count);

/* Conversions from and to f32 that treat NaN in another way than pairs do: as fnzi_krn_cast(), and
 * as fnzi_krn_convert_kept(). */
enum {
  FNZI_KRN_CAST_TO_BF16,
  FNZI_KRN_KEPT_FROM_F16,
  FNZI_KRN_KEPT_TO_F16,
  FNZI_KRN_KEPT_TO_BF16,
  FNZI_KRN_HALVES
};

typedef struct fnzi_krn_rows {
  fnzi_krn_row_fn *pairs[FNZ_DTYPE_COUNT][FNZ_DTYPE_COUNT]; /* [from][to], NULL for none */
  fnzi_krn_row_fn *halves[FNZI_KRN_HALVES];
  fnzi_krn_row_fn *copies[5];     /* cells of 1, 2, 4, 8, 16 bytes */
  fnzi_krn_spread_fn *spreads[5]; /* likewise; NULL for none */
  fnzi_krn_choose_fn *choices[5];
} fnzi_krn_rows;

extern const fnzi_krn_rows fnzi_krn_rows_of, fnzi_krn_rows_of_v3, fnzi_krn_rows_of_v4;

/* For an instruction set that the build has. */
const fnzi_krn_rows *fnzi_krn_rows_for(fnzi_krn_isa isa);

/* As fnzi_krn_convert(), where a value is cast and nothing computed: a NaN of f32 becomes eager's
 * own of bf16. */
void fnzi_krn_cast(const fnzi_krn_conversion *c, void *to, const void *from, int64_t count);

/* `count` cells of `cell` bytes, in order; dense ones may overlap. */
void fnzi_krn_copy_row(char *dst, int64_t dst_stride, const char *src, int64_t src_stride,
                       int64_t count, size_t cell);

/* False, and nothing is copied, unless cells have 2, 4 or 8 bytes. */
bool fnzi_krn_spread_rows(const fnzi_krn_spreading *s);

/* Cells of 1, 2, 4, 8 or 16 bytes; an operand may be written over. */
void fnzi_krn_choose_row(const fnzi_krn_choice *c, size_t cell, int64_t count);

#endif
