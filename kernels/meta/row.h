/* row.h - which operators compute row by row: a reduction, softmax or normalisation over the last
 * dimensions of a tensor, whose kernel takes one row after the other (kernels/row_ops.def). */
#ifndef FNZI_META_ROW_H
#define FNZI_META_ROW_H

#include "kernels/meta/meta.h"

enum { FNZI_ROW_OPERANDS = 3, FNZI_ROW_RESULTS = 3 };

/* How a call goes by rows. Argument 0 has the rows; each other operand is one row, which all share.
 */
typedef struct fnzi_meta_row {
  uint32_t dims;                  /* the last ones of argument 0: a row */
  int64_t count, length;          /* rows, and elements of one, at least 2 */
  bool whole;                     /* result 0 has the sizes of argument 0; all others have a number
                                     for each row */
  int8_t args[FNZI_ROW_OPERANDS]; /* arguments of the call; -1: none */
} fnzi_meta_row;

struct fnzi_meta_row_code;

/* One dense row of `length` elements: out[k] gets result k, whole or its number. out[0] may be
 * in[0]. Operands that are not there are NULL. */
typedef void fnzi_meta_row_fn(const struct fnzi_meta_row_code *code, const void *const *in,
                              void *const *out, int64_t length);

/* A call of rows taken apart, for who walks over them himself. */
typedef struct fnzi_meta_row_code {
  fnzi_meta_row_fn *run;
  const struct fnzi_fold *fold; /* of kernels/rows/folds.h, where `run` goes by it */
  uint16_t kernel;              /* of kernels/runs.def */
  uint8_t mode;                 /* of kernels/kernels.def */
  fnz_dtype dtype;              /* of argument 0 */
  double parameter;             /* fnzi_meta_row_parameter() */
  uint8_t nan;                  /* of a reduction: reduce.c */
  bool all;                     /* there is one row only */
} fnzi_meta_row_code;

/* False: the kernel of the call does not go by rows that lie along the last dimensions, or
 * converts, or its bits depend on more than the row. Results of the call exist. */
bool fnzi_meta_by_rows(fnzi_krn_call *call, fnzi_meta_row *out);
/* The same for a call that is not made yet: a refusal is no failure, NO_MEMORY is. */
FNZ_MUST_CHECK fnz_status fnzi_meta_find_rows(fnzi_krn_call *call, fnzi_meta_row *out, bool *found);
/* The number that rows of the call are computed with: correction, order, eps; else 0. */
FNZI_SHARED double fnzi_meta_row_parameter(const fnzi_krn_call *call);

#endif
