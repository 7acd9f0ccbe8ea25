/* apply.c - a functional operator on tensors: their values are read, and results become tensors.
 *
 * needs   request->args complete, one per parameter, tensors as fnz_tensor pointers
 * gives   request->out: every tensor result, lists flattened */
#include "functionalize/wrapper/wrapper.h"

/* --- arguments -------------------------------------------------------------------------------- */
fnz_status fnzi_wrap_tensor_args(fnz_wrapper *wrapper, const fnz_arg *args, size_t nargs,
                                 fnz_tensor ***out, size_t *count) {
  size_t most = 0;
  FNZI_EACH_ARG(each, args, nargs)
    most += each.arg->tag == FNZ_ARG_VALUE;
  FNZI_NEW(&wrapper->scratch, most, out);
  *count = 0;
  FNZI_EACH_ARG(each, args, nargs)
    if (each.arg->tag == FNZ_ARG_VALUE)
      (*out)[(*count)++] = each.arg->u.tensor;
  return FNZ_OK;
}

fnz_status fnzi_wrap_read_args(fnz_wrapper *wrapper, const fnz_arg *args, size_t nargs,
                               fnz_arg **out) {
  FNZ_TRY(fnzi_args_clone(&wrapper->scratch, args, nargs, nargs, out));
  FNZI_EACH_ARG(each, *out, nargs) {
    fnzi_value_ref *v;
    if (each.arg->tag != FNZ_ARG_VALUE)
      continue;
    FNZ_TRY(fnzi_wrap_read_tensor(each.arg->u.tensor, &v));
    fnzi_each_own(&each)->u.value = v->handle;
  }
  return FNZ_OK;
}

/* --- results ---------------------------------------------------------------------------------- */
static fnz_status grow(fnz_wrapper *wrapper, fnzi_wrap_tensors *list) {
  size_t capacity = list->capacity * 2 + 2;
  fnz_tensor **data;
  FNZI_NEW(&wrapper->scratch, capacity, &data);
  if (list->count)
    memcpy(data, list->data, list->count * sizeof *data);
  list->data = data;
  list->capacity = capacity;
  return FNZ_OK;
}

/* Takes over the reference. */
static fnz_status push(fnz_wrapper *wrapper, fnzi_wrap_tensors *list, fnz_tensor *t) {
  fnz_status status = FNZ_OK;
  if (list->count == list->capacity)
    status = grow(wrapper, list);
  if (status != FNZ_OK)
    fnz_tensor_release(t);
  else
    list->data[list->count++] = t;
  return status;
}

fnz_status fnzi_wrap_give(fnz_wrapper *wrapper, fnzi_wrap_request *request, fnz_tensor *t) {
  if (t)
    t->refs++;
  return push(wrapper, &request->out, t);
}

fnz_status fnzi_wrap_give_alias(fnz_wrapper *wrapper, fnzi_wrap_request *request,
                                fnzi_wrap_alias *alias) {
  fnz_tensor *t;
  FNZ_TRY(fnzi_wrap_tensor_on(wrapper, alias, &t));
  return push(wrapper, &request->out, t);
}

fnz_status fnzi_wrap_give_fresh(fnz_wrapper *wrapper, fnzi_wrap_request *request,
                                fnzi_value_ref *value) {
  fnz_tensor *t = NULL;
  size_t k = request->out.count;
  const fnz_geometry *g = request->expected && k < request->nexpected ? request->expected[k] : NULL;
  /* New memory shows each element once, though the file may say otherwise. */
  if (g && !fnzi_int_is_dense(wrapper->ints, g) &&
      fnzi_oracle_relate_self(wrapper->ints, g, FNZI_LITTLE_WORK) != FNZI_DISJOINT)
    FNZ_TRY(fnzi_dense_like(wrapper->ints, &wrapper->scratch, g, &g));
  if (value)
    FNZ_TRY(fnzi_wrap_tensor_new(wrapper, g, value, &t));
  return push(wrapper, &request->out, t);
}

fnz_status fnzi_wrap_hold_tensor(fnz_wrapper *wrapper, fnzi_wrap_request *request, fnz_tensor *t) {
  return push(wrapper, &request->held, t);
}

fnz_status fnzi_wrap_hold_fresh(fnz_wrapper *wrapper, fnzi_wrap_request *request,
                                fnzi_value_ref *value, fnz_tensor **out) {
  FNZ_TRY(fnzi_wrap_tensor_new(wrapper, NULL, value, out));
  return push(wrapper, &request->held, *out);
}

static void release_all(fnzi_wrap_tensors *list) {
  for (size_t i = 0; i < list->count; i++)
    fnz_tensor_release(list->data[i]);
  list->count = 0;
}

void fnzi_wrap_request_end(fnzi_wrap_request *request) {
  release_all(&request->out);
  release_all(&request->held);
}

/* --- functional operators --------------------------------------------------------------------- */
/* In eager a copy of a tensor with gaps keeps its order of strides; the value of the tensor has no
 * gaps and may have another order. *out is the geometry of the copy; NULL where the operator is no
 * copy, names a memory format, or the tensor has no gaps. */
static fnz_status expect_copy(fnz_wrapper *wrapper, const fnzi_wrap_request *r,
                              const fnz_geometry **out) {
  bool casts = r->op == fnzi_emitted_op(FNZI_EMIT_TO_COPY);
  if ((!casts && r->op != fnzi_emitted_op(FNZI_EMIT_CLONE)) || r->args[0].tag != FNZ_ARG_VALUE)
    return FNZ_OK;
  const fnz_geometry *self = &r->args[0].u.tensor->alias->geometry;
  const fnz_arg *format = &r->args[fnzi_op_param(r->op, "memory_format")];
  const fnz_arg *dtype = casts ? &r->args[fnzi_op_param(r->op, "dtype")] : NULL;
  bool keeps = format->tag == FNZ_ARG_DEFAULT || format->tag == FNZ_ARG_NONE;
  if (!keeps || fnzi_int_is_dense(wrapper->ints, self))
    return FNZ_OK;
  const bool is_cast = dtype && dtype->tag == FNZ_ARG_DTYPE;
  return fnzi_copy_as(wrapper->ints, &wrapper->scratch, self,
                      is_cast ? (fnz_dtype)dtype->u.i : self->dtype, out);
}

fnz_status fnzi_wrap_apply_functional(fnz_wrapper *wrapper, fnzi_wrap_request *r) {
  fnz_arg *args;
  size_t first, count;
  const fnz_geometry *copy = NULL;
  if (!r->expected)
    FNZ_TRY(expect_copy(wrapper, r, &copy));
  FNZ_TRY(fnzi_wrap_read_args(wrapper, r->args, r->op->nparams, &args));
  FNZ_TRY(fnzi_wrap_apply_values(wrapper, (fnzi_op_call){r->op, args, r->op->nparams},
                                 copy ? &copy : r->expected, copy ? 1 : r->nexpected, &first,
                                 &count));
  for (size_t i = 0; i < count; i++)
    FNZ_TRY(fnzi_wrap_give_fresh(wrapper, r, wrapper->fresh.data[first + i]));
  /* Results of these operators lie as their arguments do. */
  bool follows = fnzi_op_is_elementwise(r->op) || r->op == fnzi_emitted_op(FNZI_EMIT_TO_COPY) ||
                 r->op == fnzi_emitted_op(FNZI_EMIT_CLONE) || fnzi_ends_with(r->op->base, "_like");
  FNZI_EACH_ARG(each, r->args, follows ? r->op->nparams : 0) {
    const fnzi_wrap_storage *s =
        each.arg->tag == FNZ_ARG_VALUE ? each.arg->u.tensor->alias->storage : NULL;
    for (size_t k = 0; s && s->is_loose && k < r->out.count; k++)
      if (r->out.data[k])
        fnzi_wrap_loosen(r->out.data[k], s->loose_at);
  }
  return FNZ_OK;
}
