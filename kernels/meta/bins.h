/* bins.h - counts and places that shape rules read from arguments, and kernels again. */
#ifndef FNZI_META_BINS_H
#define FNZI_META_BINS_H

#include "kernels/meta/meta.h"

/* bincount: the numbers, checked; *most is one more than the largest. */
FNZ_MUST_CHECK fnz_status fnzi_meta_bincount_read(fnzi_krn_call *call, const int64_t **out,
                                                  int64_t *most);

/* repeat_interleave of a tensor: how often each place is repeated, and the sum of these. */
FNZ_MUST_CHECK fnz_status fnzi_meta_repeats_read(fnzi_krn_call *call, const int64_t **out,
                                                 int64_t *sum);

/* tril_indices, triu_indices. */
typedef struct fnzi_meta_triangle {
  int64_t rows, columns, offset;
  bool upper;
} fnzi_meta_triangle;
fnzi_meta_triangle fnzi_meta_triangle_of(const fnzi_krn_call *call);
/* Columns of a row from `first` to before `last`. */
void fnzi_meta_triangle_columns(const fnzi_meta_triangle *t, int64_t row, int64_t *first,
                                int64_t *last);

#endif
