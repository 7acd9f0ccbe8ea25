/* bag.h - embedding bags as numbers, read off the arguments once for the shape rule and the kernel.
 */
#ifndef FNZI_META_BAG_H
#define FNZI_META_BAG_H

#include "kernels/core/core.h"

enum { FNZI_BAG_SUM, FNZI_BAG_MEAN, FNZI_BAG_MAX };

typedef struct fnzi_meta_bags {
  int64_t mode;        /* FNZI_BAG_... */
  int64_t rows, width; /* of weight */
  int64_t count, bags; /* of indices, in bags */
  int64_t padding;     /* an index that counts for nothing; negative for none */
  bool is_short;       /* eager's short way to a sum: only there a last offset ends the last bag */
} fnzi_meta_bags;

FNZ_MUST_CHECK fnz_status fnzi_meta_bags_read(fnzi_krn_call *call, fnzi_meta_bags *out);

#endif
