/* collective.c - waiting for collectives, which have ended when they return. */
#include "kernels/decomp/decomp.h"

DECOMP(c10d_wait) {
  fnzi_dec_result_give(s, fnzi_dec_given_array(s, "tensor"));
}

DECOMP(c10d_wait_all) {
  for (size_t k = 0; k < fnzi_dec_given_count(s, "tensors"); k++)
    fnzi_dec_result_give(s, fnzi_dec_given_item(s, "tensors", k));
}

DECOMP(c10d_tagged_wait) {
  fnzi_dec_result_give(s, fnzi_dec_given_array(s, "self"));
}
