/* collective.h - the operators of collective communication, as shape rules and kernels see them. */
#ifndef FNZI_META_COLLECTIVE_H
#define FNZI_META_COLLECTIVE_H

#include "kernels/meta/meta.h"

/* The tensors that a process gives: argument 0, or the items of that list. */
static inline size_t fnzi_meta_sent_count(const fnzi_krn_call *call) {
  return call->args[0].tag == FNZ_ARG_LIST ? call->args[0].count : 1;
}
static inline fnzi_krn_array *fnzi_meta_sent(const fnzi_krn_call *call, size_t k) {
  const fnz_arg *arg = &call->args[0];
  return fnzi_krn_arg_array(arg->tag == FNZ_ARG_LIST ? &arg->u.list[k] : arg);
}

#endif
