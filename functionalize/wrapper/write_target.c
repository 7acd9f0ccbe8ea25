/* write_target.c - targets of writes: values that fit them, checks, other windows and sizes. */
#include "functionalize/wrapper/write_rules.h"

/* --- values that fit their target ------------------------------------------------------------- */
fnz_status fnzi_wrap_cast(fnz_wrapper *wrapper, fnz_dtype dtype, fnzi_value_ref **value) {
  if ((*value)->geometry->dtype == dtype)
    return FNZ_OK;
  const fnz_op *op = fnzi_emitted_op(FNZI_EMIT_TO_COPY);
  fnz_arg args[8] = {fnzi_arg_value((*value)->handle)};
  const fnz_geometry *result;
  args[fnzi_op_param(op, "dtype")] = fnzi_arg_dtype(dtype);
  FNZ_TRY(fnzi_dense_as(wrapper->ints, &wrapper->scratch, (*value)->geometry, dtype, &result));
  return fnzi_wrap_emit_one(wrapper, FNZI_EMIT_TO_COPY, args, op->nparams, result, value);
}

fnz_status fnzi_wrap_broadcast(fnz_wrapper *wrapper, const fnz_geometry *target,
                               fnzi_value_ref **value) {
  if (fnzi_same_sizes((*value)->geometry, target))
    return FNZ_OK;
  const fnz_geometry *result;
  fnz_arg args[2] = {fnzi_arg_value((*value)->handle)};
  FNZ_TRY(fnzi_arg_of_sizes(&wrapper->scratch, target, &args[1]));
  FNZ_TRY(
      fnzi_dense_as(wrapper->ints, &wrapper->scratch, target, (*value)->geometry->dtype, &result));
  return fnzi_wrap_emit_one(wrapper, FNZI_EMIT_EXPAND_COPY, args, 2, result, value);
}

/* --- checks ----------------------------------------------------------------------------------- */
const fnz_geometry *fnzi_wrap_arg_geometry(void *user, const fnz_arg *arg) {
  (void)user;
  return fnzi_wrap_geometry(arg->u.tensor);
}

fnz_status fnzi_wrap_check_tensors_alike(fnz_wrapper *wrapper, const fnz_op *op,
                                         const fnz_arg *args) {
  return fnzi_check_uncast(wrapper->ctx, op, args, fnzi_wrap_arg_geometry, NULL);
}

bool fnzi_wrap_has_words(const fnz_arg *args, size_t count) {
  bool has = false;
  FNZI_EACH_ARG(each, args, count)
    has = has || fnzi_arg_is_expr(each.arg) ||
          (each.arg->tag == FNZ_ARG_VALUE && each.arg->u.tensor &&
           (fnzi_int_is_symbolic(fnzi_wrap_geometry(each.arg->u.tensor)) ||
            fnzi_int_is_symbolic(fnzi_wrap_root_geometry(each.arg->u.tensor))));
  return has;
}

fnz_status fnzi_wrap_refuse_sizes(fnz_wrapper *wrapper, const fnz_op *op) {
  return fnzi_fail_for(wrapper->ctx, FNZI_REASON_NO_ROUTE, FNZ_CLASS_UNSUPPORTED, NULL,
                       "%s writes in an order, or memory, that depends on the sizes; export the "
                       "program with fixed sizes",
                       op->name);
}

fnz_status fnzi_wrap_check_operand(const fnz_op *op, const fnz_tensor *target,
                                   const fnz_tensor *operand, fnzi_reading reading,
                                   fnzi_loop *loop) {
  const fnzi_operand read = {target->wrapper->ints, fnzi_wrap_geometry(operand),
                             fnzi_wrap_root_geometry(target), reading};
  return fnzi_check_operand(target->wrapper->ctx, op, fnzi_wrap_geometry(target), &read, loop);
}

fnz_status fnzi_wrap_need_tensor(fnz_wrapper *wrapper, const fnzi_wrap_request *r, size_t i) {
  return fnzi_wrap_tensor_arg(r, i)
             ? FNZ_OK
             : fnzi_fail(wrapper->ctx, FNZ_CLASS_TYPE, NULL, "%s: argument `%s` must be a tensor",
                         r->op->name, i < r->op->nparams ? r->op->params[i].name : "self");
}

fnz_status fnzi_wrap_refuse_overlapping_targets(fnz_wrapper *wrapper, const fnz_op *op) {
  return fnzi_fail(wrapper->ctx, FNZ_CLASS_OVERLAP, NULL,
                   "%s writes two arguments that share memory; the result would depend on their "
                   "order, clone() one of them",
                   op->name);
}

/* --- other windows and sizes ------------------------------------------------------------------ */
fnz_status fnzi_wrap_open_window(fnz_tensor *t, fnzi_step_op step, const fnz_arg *args,
                                 size_t nargs, fnzi_wrap_request *holder, fnz_tensor **out) {
  const fnzi_op_call call = {fnzi_op_of_step(step), args, nargs};
  fnz_wrapper *wrapper = t->wrapper;
  fnzi_wrap_alias **opened;
  size_t count;
  FNZ_TRY(fnzi_wrap_alias_open(t->alias, fnzi_wrap_route_of(wrapper, call.op).view, &call, &opened,
                               &count));
  fnz_status status = fnzi_wrap_tensor_on(wrapper, opened[0], out);
  fnzi_wrap_alias_release(opened[0]);
  return status == FNZ_OK ? fnzi_wrap_hold_tensor(wrapper, holder, *out) : status;
}

fnz_status fnzi_wrap_move_to_window(fnz_tensor *self, fnz_tensor *of, const fnz_arg *window) {
  const fnz_arg args[4] = {{0}, window[0], window[1], window[2]};
  const fnzi_op_call call = {fnzi_op_of_step(FNZI_STEP_AS_STRIDED), args, 4};
  fnzi_wrap_alias **opened;
  size_t count;
  FNZ_TRY(fnzi_wrap_alias_open(of->alias, fnzi_view_find(call.op), &call, &opened, &count));
  fnzi_wrap_tensor_move(self, opened[0]);
  fnzi_wrap_alias_release(opened[0]);
  return FNZ_OK;
}

fnz_status fnzi_wrap_window_args(fnz_wrapper *wrapper, const fnz_geometry *g, fnz_arg out[3]) {
  FNZ_TRY(fnzi_arg_of_sizes(&wrapper->scratch, g, &out[0]));
  FNZ_TRY(fnzi_arg_of_strides(&wrapper->scratch, g, &out[1]));
  out[2] = fnzi_arg_of_int(fnzi_int_offset(g));
  return FNZ_OK;
}

/* Over the memory that is there: a window of other sizes, in row-major order from the same offset.
 */
static fnz_status resize_within(fnz_wrapper *wrapper, fnz_tensor *self, const fnz_geometry *to) {
  fnz_arg window[3];
  FNZ_TRY(fnzi_wrap_window_args(wrapper, to, window));
  return fnzi_wrap_move_to_window(self, self, window);
}

/* More memory than there is: the storage grows, and everything else on it stays where it is. */
static fnz_status resize_beyond(fnz_wrapper *wrapper, const fnz_op *op, fnz_tensor *self,
                                const fnz_geometry *to, int64_t elements) {
  fnzi_wrap_alias *root = self->alias->storage->root;
  fnz_geometry flat = {.dtype = root->geometry.dtype, .rank = 1};
  const int64_t have = fnz_geometry_numel(&root->geometry), one = 1;
  fnzi_value_ref *value;
  fnz_arg args[2] = {{0}};
  if (!fnzi_is_dense(&root->geometry) || root->geometry.offset || to->dtype != flat.dtype)
    return fnzi_fail_for(
        wrapper->ctx, FNZI_REASON_NO_ROUTE, FNZ_CLASS_UNSUPPORTED, NULL,
        "%s makes a tensor larger whose base does not fill its memory; allocate the "
        "larger tensor first",
        op->name);
  flat.sizes = &have;
  flat.strides = &one;
  FNZ_TRY(fnzi_wrap_read_flat(root, &flat, &value));
  flat.sizes = &elements;
  args[0] = fnzi_arg_value(value->handle);
  FNZ_TRY(fnzi_arg_ints(&wrapper->scratch, &elements, 1, &args[1]));
  FNZ_TRY(fnzi_wrap_emit_one(wrapper, FNZI_EMIT_RESIZE, args, 2, &flat, &value));
  FNZ_TRY(fnzi_wrap_storage_grow(root, &flat, value));
  return resize_within(wrapper, self, to);
}

fnz_status fnzi_wrap_resized_geometry(fnz_wrapper *wrapper, const fnz_tensor *self,
                                      const fnz_geometry *sizes, fnz_geometry *out) {
  *out = *fnzi_wrap_geometry(self);
  out->rank = sizes->rank;
  int64_t *dims;
  FNZI_NEW(&wrapper->scratch, 2 * (size_t)out->rank, &dims);
  if (out->rank)
    memcpy(dims, sizes->sizes, out->rank * sizeof *dims);
  fnzi_contiguous_strides(dims, out->rank, dims + out->rank);
  if (out->rank && sizes->strides)
    memcpy(dims + out->rank, sizes->strides, out->rank * sizeof *dims);
  out->sizes = dims;
  out->strides = dims + out->rank;
  return FNZ_OK;
}

fnz_status fnzi_wrap_resize(fnz_wrapper *wrapper, const fnz_op *op, fnz_tensor *self,
                            const fnz_geometry *sizes) {
  fnz_geometry to;
  const fnz_geometry *root = fnzi_wrap_root_geometry(self);
  int64_t low, high, have, unused;
  if (fnzi_same_sizes(sizes, fnzi_wrap_geometry(self)))
    return FNZ_OK;
  if (fnzi_int_is_symbolic(sizes) || fnzi_int_is_symbolic(fnzi_wrap_geometry(self)) ||
      fnzi_int_is_symbolic(root))
    return fnzi_wrap_refuse_sizes(wrapper, op);
  FNZ_TRY(fnzi_wrap_resized_geometry(wrapper, self, sizes, &to));
  if (!fnzi_extent(&to, &low, &high) || !fnzi_extent(root, &unused, &have))
    return fnzi_fail(wrapper->ctx, FNZ_CLASS_OVERFLOW, NULL, "%s: the sizes leave 63 bits",
                     op->name);
  have = have * (int64_t)fnzi_dtype(root->dtype)->bytes / (int64_t)fnzi_dtype(to.dtype)->bytes;
  return high <= have ? resize_within(wrapper, self, &to)
                      : resize_beyond(wrapper, op, self, &to, high);
}
