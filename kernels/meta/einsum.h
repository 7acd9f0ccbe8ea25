/* einsum.h - an equation of einsum, read: every dimension of every tensor has a label. */
#ifndef FNZI_EINSUM_H
#define FNZI_EINSUM_H

#include "kernels/core/core.h"

enum {
  FNZI_EINSUM_OPERANDS = 16,
  FNZI_EINSUM_LETTERS = 52, /* A to Z, a to z; behind them the dimensions of the ellipsis */
  FNZI_EINSUM_LABELS = FNZI_EINSUM_LETTERS + FNZ_MAX_RANK
};

typedef struct fnzi_meta_labels {
  uint32_t rank;
  uint8_t at[FNZ_MAX_RANK];
} fnzi_meta_labels;

typedef struct fnzi_meta_einsum {
  uint32_t count;
  fnzi_meta_labels operands[FNZI_EINSUM_OPERANDS], out;
  int64_t sizes[FNZI_EINSUM_LABELS]; /* operands of size 1 broadcast */
} fnzi_meta_einsum;

static inline bool fnzi_meta_labels_have(const fnzi_meta_labels *labels, uint8_t label) {
  for (uint32_t i = 0; i < labels->rank; i++)
    if (labels->at[i] == label)
      return true;
  return false;
}

/* Reads the equation of a call of einsum against the sizes of its operands. */
FNZ_MUST_CHECK fnz_status fnzi_meta_einsum_read(fnzi_krn_call *call, fnzi_meta_einsum *out);

#endif
