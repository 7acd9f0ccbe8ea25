/* write_rules.h - what the rules for operators that write share (write_*.c). */
#ifndef FNZI_WRITE_RULES_H
#define FNZI_WRITE_RULES_H

#include "functionalize/wrapper/wrapper.h"

/* The value in another dtype; itself if it has that dtype. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_cast(fnz_wrapper *wrapper, fnz_dtype dtype,
                                         fnzi_value_ref **value);
/* The value repeated to the sizes of the target; itself when it has those. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_broadcast(fnz_wrapper *wrapper, const fnz_geometry *target,
                                              fnzi_value_ref **value);
/* The geometry of a tensor argument, for what asks by a callback. */
const fnz_geometry *fnzi_wrap_arg_geometry(void *user, const fnz_arg *arg);
/* self becomes the window as_strided(of, window[0], window[1], window[2]). */
FNZ_MUST_CHECK fnz_status fnzi_wrap_move_to_window(fnz_tensor *self, fnz_tensor *of,
                                                   const fnz_arg *window);
/* resize_: other sizes from the same offset, over the memory that is there or more; strides NULL
 * means row-major. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_resize(fnz_wrapper *wrapper, const fnz_op *op, fnz_tensor *self,
                                           const fnz_geometry *sizes);
/* The geometry after such a resize_. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_resized_geometry(fnz_wrapper *wrapper, const fnz_tensor *self,
                                                     const fnz_geometry *sizes, fnz_geometry *out);
/* fnzi_check_operand() of two tensors on one storage. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_check_operand(const fnz_op *op, const fnz_tensor *target,
                                                  const fnz_tensor *operand, fnzi_reading reading,
                                                  fnzi_loop *loop);
/* TYPE where argument i is no tensor. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_need_tensor(fnz_wrapper *wrapper, const fnzi_wrap_request *r,
                                                size_t i);
/* Some number, or some size of a tensor or of its memory, is an expression. */
bool fnzi_wrap_has_words(const fnz_arg *args, size_t count);
/* Refuses a call whose order of writes, or memory, depends on symbolic sizes. */
fnz_status fnzi_wrap_refuse_sizes(fnz_wrapper *wrapper, const fnz_op *op);
/* Refuses a call that writes two arguments that share memory. */
fnz_status fnzi_wrap_refuse_overlapping_targets(fnz_wrapper *wrapper, const fnz_op *op);
/* LIMIT where overlapping writes have made so many nodes that the program exceeds its bound. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_check_slack(fnz_wrapper *wrapper, const fnz_op *op);
/* The arguments of as_strided behind the tensor for a window. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_window_args(fnz_wrapper *wrapper, const fnz_geometry *g,
                                                fnz_arg out[3]);
/* The tensor that a view step of one window shows of `t`; `holder` holds it. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_open_window(fnz_tensor *t, fnzi_step_op step,
                                                const fnz_arg *args, size_t nargs,
                                                fnzi_wrap_request *holder, fnz_tensor **out);
/* write_slicewise.c: the argument's slice k along dimension `dim` of the target, which stays as one
 * of size 1: without dimensions an operand would count less for the dtype. Itself where it is
 * broadcast there. The holder holds a new tensor. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_slice_arg(const fnz_geometry *target, uint32_t dim, int64_t k,
                                              fnz_arg *arg, fnzi_wrap_request *holder);
/* Leaves the call to be run for one slice after the other along dimension `dim` of the target. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_write_slices(fnz_wrapper *wrapper, fnzi_wrap_request *request,
                                                 fnz_tensor *target, int dim);
/* Leaves it to be run for the first slice along a dimension whose elements all lie in one place and
 * get the same: writing the first of them is writing all, and the twin of the whole tensor would
 * give one place many results. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_write_first_slice(fnz_wrapper *wrapper,
                                                      fnzi_wrap_request *request,
                                                      fnz_tensor *target, int dim);
/* write_masked.c: an operator that writes one number to some places of a target that shows an
 * element in several places. *done is false for every other call. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_write_masked(fnz_wrapper *wrapper, fnzi_wrap_request *request,
                                                 bool elementwise, bool *done);
/* write_in_order.c: writes a value to a target that may overlap itself, element by element in the
 * order of a loop over these dimensions, outermost first. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_write_in_order(fnz_wrapper *wrapper, const fnz_op *op,
                                                   fnz_tensor *target, fnzi_value_ref *value,
                                                   const uint32_t *order);
/* write_twin.c, write_foreach.c: the rules TWIN and LIST. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_write_twin(fnz_wrapper *wrapper, fnzi_wrap_request *request,
                                               const fnzi_wrap_route *route);
FNZ_MUST_CHECK fnz_status fnzi_wrap_write_foreach(fnz_wrapper *wrapper, fnzi_wrap_request *request,
                                                  const fnzi_wrap_route *route);
/* write_norm.c: operators that write running statistics without saying so. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_write_batch_norm(fnz_wrapper *wrapper,
                                                     fnzi_wrap_request *request);
FNZ_MUST_CHECK fnz_status fnzi_wrap_write_instance_norm(fnz_wrapper *wrapper,
                                                        fnzi_wrap_request *request);
/* Refuses others in training that would write theirs. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_check_statistics(fnz_wrapper *wrapper,
                                                     const fnzi_wrap_request *request);

static inline const fnz_geometry *fnzi_wrap_geometry(const fnz_tensor *t) {
  return &t->alias->geometry;
}
static inline bool fnzi_wrap_shares(const fnz_tensor *a, const fnz_tensor *b) {
  return a->alias->storage == b->alias->storage;
}
/* The first, if it looked like `x`, and the second have a byte in common, or may have. */
static inline bool fnzi_wrap_overlap_as(const fnz_tensor *a, const fnz_geometry *x,
                                        const fnz_tensor *b) {
  if (!fnzi_wrap_shares(a, b))
    return false;
  fnzi_relation r = fnzi_oracle_relate(a->wrapper->ints, x, fnzi_wrap_geometry(b),
                                       fnzi_wrap_root_geometry(a), FNZI_MUCH_WORK);
  return r != FNZI_DISJOINT;
}
/* They have a byte in common, or may have. Eager refuses these where they overlap, so that their
 * distance is not logged. */
static inline bool fnzi_wrap_overlap(const fnz_tensor *a, const fnz_tensor *b) {
  return fnzi_wrap_overlap_as(a, fnzi_wrap_geometry(a), b);
}
/* Argument i when it is a tensor, else NULL. */
static inline fnz_tensor *fnzi_wrap_tensor_arg(const fnzi_wrap_request *r, size_t i) {
  return i < r->op->nparams && r->args[i].tag == FNZ_ARG_VALUE ? r->args[i].u.tensor : NULL;
}

#endif
