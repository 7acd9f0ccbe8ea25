/* ctc.h - the arguments of a loss of aligned sequences, read once by the shape rule and the kernel.
 */
#ifndef FNZI_META_CTC_H
#define FNZI_META_CTC_H

#include "kernels/meta/meta.h"

typedef struct fnzi_meta_ctc {
  bool single;                                   /* no dimension for the batch */
  int64_t steps, batch, labels, blank, longest;  /* longest target */
  const int64_t *input_lengths, *target_lengths; /* NULL where data is not there */
  int64_t target_step;                           /* from target to target; 0: one after the other */
} fnzi_meta_ctc;

enum { FNZI_CTC_KEPT, FNZI_CTC_MEAN }; /* argument "reduction" */

/* The `whole` loss takes a single sequence, and casts its targets. */
FNZ_MUST_CHECK fnz_status fnzi_meta_ctc_read(fnzi_krn_call *call, bool whole, fnzi_meta_ctc *a);

#endif
