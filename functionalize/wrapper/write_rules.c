/* write_rules.c - the rules for operators that write: the new value of each written argument.
 *
 * needs   the operator's kind of mutation (mutations.def)
 * keeps   eager's order: everything is read before anything is written, lists element by element
 * gives   new values at the written aliases; the backend sees functional operators only */
#include "functionalize/wrapper/write_rules.h"

/* --- copy, fill, zero ------------------------------------------------------------------------- */

static fnz_status fill(fnz_wrapper *wrapper, fnz_tensor *self, fnz_arg number) {
  const fnz_geometry *result;
  fnzi_value_ref *value;
  FNZ_TRY(fnzi_dense_like(wrapper->ints, &wrapper->scratch, fnzi_wrap_geometry(self), &result));
  FNZ_TRY(fnzi_wrap_emit_full(wrapper, result, number, &value));
  return fnzi_wrap_write(self->alias, value);
}

static fnz_status fill_request(fnz_wrapper *wrapper, fnzi_wrap_request *r) {
  fnz_tensor *self = fnzi_wrap_tensor_arg(r, 0), *source = fnzi_wrap_tensor_arg(r, 1);
  fnzi_value_ref *value;
  const fnzi_mutation_call call = {.op = r->op, .args = r->args, .ints = wrapper->ints};
  if (self->alias->repeats)
    FNZ_TRY(fnzi_check_target(wrapper->ctx, wrapper->ints, r->op, fnzi_wrap_geometry(self),
                              fnzi_mutation_spread(&call, fnzi_wrap_geometry(self)), NULL));
  if (!source) {
    FNZ_TRY(fill(wrapper, self, r->args[1]));
    return fnzi_wrap_give(wrapper, r, self);
  }
  if (fnzi_wrap_geometry(source)->rank)
    return fnzi_fail(wrapper->ctx, FNZ_CLASS_BOUNDS, NULL,
                     "%s: the value has %u dimensions; it must have none", r->op->name,
                     fnzi_wrap_geometry(source)->rank);
  FNZ_TRY(fnzi_wrap_read_tensor(source, &value));
  FNZ_TRY(fnzi_wrap_cast(wrapper, fnzi_wrap_geometry(self)->dtype, &value));
  FNZ_TRY(fnzi_wrap_broadcast(wrapper, fnzi_wrap_geometry(self), &value));
  FNZ_TRY(fnzi_wrap_write(self->alias, value));
  return fnzi_wrap_give(wrapper, r, self);
}

static fnz_status copy_request(fnz_wrapper *wrapper, fnzi_wrap_request *r) {
  fnz_tensor *self = fnzi_wrap_tensor_arg(r, 0), *source = fnzi_wrap_tensor_arg(r, 1);
  if (!source)
    return fill_request(wrapper, r);
  const fnz_geometry *to = fnzi_wrap_geometry(self), *from = fnzi_wrap_geometry(source);
  fnzi_loop loop = {.reads = &from, .nreads = 1, .slices = -1};
  if (self == source)
    return fnzi_wrap_give(wrapper, r, self);
  loop.reads_first = !fnzi_wrap_overlap(self, source);
  if (self->alias->repeats)
    FNZ_TRY(fnzi_check_target(wrapper->ctx, wrapper->ints, r->op, to, FNZI_SPREAD_ANY, &loop));
  if (fnzi_wrap_shares(self, source) && fnzi_geometry_equal(to, from))
    return fnzi_wrap_give(wrapper, r, self);
  if (fnzi_wrap_shares(self, source) && !r->is_slice)
    FNZ_TRY(fnzi_check_alike(wrapper->ctx, wrapper->ints, r->op, to, from));
  if (fnzi_wrap_shares(self, source))
    FNZ_TRY(fnzi_wrap_check_operand(r->op, self, source, FNZI_READING_IN_STEP, &loop));
  FNZ_TRY(fnzi_check_broadcast(wrapper->ctx, r->op, to, from));
  if (loop.slices >= 0)
    return fnzi_wrap_write_slices(wrapper, r, self, loop.slices);
  /* The order of eager's loop decides if self overlaps itself. */
  uint32_t order[FNZ_MAX_RANK];
  fnzi_value_ref *value;
  FNZ_TRY(fnzi_wrap_read_tensor(source, &value));
  FNZ_TRY(fnzi_wrap_cast(wrapper, fnzi_wrap_geometry(self)->dtype, &value));
  FNZ_TRY(fnzi_wrap_broadcast(wrapper, fnzi_wrap_geometry(self), &value));
  if (!loop.in_order)
    FNZ_TRY(fnzi_wrap_write(self->alias, value));
  else {
    fnzi_loop_order(fnzi_wrap_geometry(self), loop.reads, loop.nreads, order);
    FNZ_TRY(fnzi_wrap_write_in_order(wrapper, r->op, self, value, order));
  }
  return fnzi_wrap_give(wrapper, r, self);
}

static fnz_status zero_request(fnz_wrapper *wrapper, fnzi_wrap_request *r) {
  FNZ_TRY(fill(wrapper, fnzi_wrap_tensor_arg(r, 0), fnzi_arg_int(0)));
  return fnzi_wrap_give(wrapper, r, fnzi_wrap_tensor_arg(r, 0));
}

/* --- set_, resize_ ---------------------------------------------------------------------------- */
/* set_data and record_stream return nothing. */
static fnz_status give_self(fnz_wrapper *wrapper, fnzi_wrap_request *r) {
  return r->op->nreturns ? fnzi_wrap_give(wrapper, r, fnzi_wrap_tensor_arg(r, 0)) : FNZ_OK;
}

static fnz_status set_request(fnz_wrapper *wrapper, fnzi_wrap_request *r) {
  FNZ_TRY(fnzi_wrap_need_tensor(wrapper, r, 1));
  FNZ_TRY(fnzi_wrap_refuse_tied(fnzi_wrap_tensor_arg(r, 0)->alias));
  fnzi_wrap_tensor_move(fnzi_wrap_tensor_arg(r, 0), fnzi_wrap_tensor_arg(r, 1)->alias);
  return give_self(wrapper, r);
}

/* set_(self): memory of its own, without elements. */
static fnz_status set_empty_request(fnz_wrapper *wrapper, fnzi_wrap_request *r) {
  const int64_t zero = 0, one = 1;
  fnz_tensor *self = fnzi_wrap_tensor_arg(r, 0), *empty;
  const fnz_geometry g = {
      .dtype = fnzi_wrap_geometry(self)->dtype, .rank = 1, .sizes = &zero, .strides = &one};
  fnzi_value_ref *value;
  FNZ_TRY(fnzi_wrap_refuse_tied(self->alias));
  FNZ_TRY(fnzi_wrap_emit_full(wrapper, &g, fnzi_arg_int(0), &value));
  FNZ_TRY(fnzi_wrap_tensor_new(wrapper, &g, value, &empty));
  fnzi_wrap_tensor_move(self, empty->alias);
  fnz_tensor_release(empty);
  return give_self(wrapper, r);
}

/* set_(self, source, storage_offset, size, stride): without strides the sizes are row-major. The
 * source is memory that starts at its first element. */
static fnz_status set_window_request(fnz_wrapper *wrapper, fnzi_wrap_request *r) {
  fnz_arg window[] = {r->args[3], fnzi_arg_get(r->op, r->args, r->op->nparams, 4), r->args[2]};
  FNZ_TRY(fnzi_wrap_need_tensor(wrapper, r, 1));
  const fnz_geometry *source = fnzi_wrap_geometry(fnzi_wrap_tensor_arg(r, 1));
  int64_t *sizes, *strides;
  if (fnzi_wrap_has_words(r->args, r->op->nparams))
    return fnzi_wrap_refuse_sizes(wrapper, r->op);
  if (!fnzi_is_contiguous(source))
    return fnzi_fail(wrapper->ctx, FNZ_CLASS_TYPE, NULL,
                     "%s: the source must be contiguous to stand for memory; call contiguous() on "
                     "it before",
                     r->op->name);
  if (!fnzi_add_i64(source->offset, window[2].u.i, &window[2].u.i))
    return fnzi_fail(wrapper->ctx, FNZ_CLASS_OVERFLOW, NULL, "%s: the offset leaves 63 bits",
                     r->op->name);
  if (window[0].count && !window[1].count) {
    FNZI_NEW(&wrapper->scratch, window[0].count, &sizes);
    FNZI_NEW(&wrapper->scratch, window[0].count, &strides);
    for (uint32_t d = 0; d < window[0].count; d++)
      sizes[d] = window[0].u.list[d].u.i;
    fnzi_contiguous_strides(sizes, window[0].count, strides);
    FNZ_TRY(fnzi_arg_ints(&wrapper->scratch, strides, window[0].count, &window[1]));
  }
  FNZ_TRY(fnzi_wrap_move_to_window(fnzi_wrap_tensor_arg(r, 0), fnzi_wrap_tensor_arg(r, 1), window));
  return give_self(wrapper, r);
}

static fnz_status resize_request(fnz_wrapper *wrapper, fnzi_wrap_request *r) {
  fnz_tensor *self = fnzi_wrap_tensor_arg(r, 0), *other = fnzi_wrap_tensor_arg(r, 1);
  fnz_arg list = r->args[1];
  fnz_geometry to = other ? *fnzi_wrap_geometry(other) : (fnz_geometry){.rank = list.count};
  int64_t *sizes;
  if (fnzi_wrap_has_words(r->args, r->op->nparams))
    return fnzi_wrap_refuse_sizes(wrapper, r->op);
  FNZI_NEW(&wrapper->scratch, list.count, &sizes);
  for (uint32_t d = 0; d < list.count; d++)
    sizes[d] = list.u.list[d].u.i;
  if (!other)
    to.sizes = sizes;
  to.strides = NULL;
  FNZ_TRY(fnzi_wrap_resize(wrapper, r->op, self, &to));
  return fnzi_wrap_give(wrapper, r, self);
}

/* --- windows ---------------------------------------------------------------------------------- */

static fnz_status windows_request(fnz_wrapper *wrapper, fnzi_wrap_request *r) {
  fnz_tensor *self = fnzi_wrap_tensor_arg(r, 0);
  fnzi_mutation_windows at;
  FNZ_TRY(fnzi_mutation_windows_find(wrapper->ctx, wrapper->ints, r->op, r->args,
                                     fnzi_wrap_geometry(self), &at));
  for (size_t k = 0; k < at.count; k++) {
    fnzi_wrap_request holder = {0};
    fnz_arg args[4] = {{0}};
    fnz_tensor *part;
    FNZ_TRY(fnzi_wrap_window_args(wrapper, &at.windows[k], args + 1));
    fnz_status status = fnzi_wrap_open_window(self, FNZI_STEP_AS_STRIDED, args, 4, &holder, &part);
    if (status == FNZ_OK)
      status = fill(wrapper, part, r->args[1]);
    fnzi_wrap_request_end(&holder);
    FNZ_TRY(status);
  }
  return fnzi_wrap_give(wrapper, r, self);
}

/* --- collectives ------------------------------------------------------------------------------ */
/* The results of a collective arrive: the tensors stay and get the operator's values, which other
 * tensors on their memory show too. */
static fnz_status wait_request(fnz_wrapper *wrapper, fnzi_wrap_request *r) {
  const fnz_geometry **expected;
  fnz_tensor **tensors;
  fnz_arg *args;
  size_t n, first, count;
  FNZ_TRY(fnzi_wrap_tensor_args(wrapper, r->args, r->op->nparams, &tensors, &n));
  FNZI_NEW(&wrapper->scratch, n, &expected);
  for (size_t k = 0; k < n; k++)
    FNZ_TRY(fnzi_dense_like(wrapper->ints, &wrapper->scratch, fnzi_wrap_geometry(tensors[k]),
                            &expected[k]));
  FNZ_TRY(fnzi_wrap_read_args(wrapper, r->args, r->op->nparams, &args));
  FNZ_TRY(fnzi_wrap_apply_values(wrapper, (fnzi_op_call){r->op, args, r->op->nparams}, expected, n,
                                 &first, &count));
  for (size_t k = 0; k < n && k < count; k++) {
    FNZ_TRY(fnzi_wrap_write(tensors[k]->alias, wrapper->fresh.data[first + k]));
    FNZ_TRY(fnzi_wrap_give(wrapper, r, tensors[k]));
  }
  return FNZ_OK;
}

/* --- the rest --------------------------------------------------------------------------------- */
static fnz_status rules_refuse(fnz_wrapper *wrapper, const fnzi_wrap_request *r) {
  if (fnzi_op_is_custom(r->op))
    return fnzi_fail(wrapper->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "%s writes an argument and returns a view of one; return a copy, declared "
                     "without (a), or the written argument itself; the schema is %s",
                     r->op->name, r->op->schema);
  return fnzi_wrap_refuse_op(wrapper, r->op);
}

static fnz_status check_self(fnz_wrapper *wrapper, const fnzi_wrap_request *r) {
  const fnzi_param *self = r->op->nparams ? &r->op->params[0] : NULL;
  const bool is_given = fnzi_wrap_tensor_arg(r, 0) || (self && r->args[0].tag == FNZ_ARG_LIST);
  if (is_given || r->op->kind != FNZI_KIND_INPLACE || (self && self->optional))
    return FNZ_OK;
  return fnzi_wrap_need_tensor(wrapper, r, 0);
}

static fnz_status undeclared_request(fnz_wrapper *wrapper, fnzi_wrap_request *r,
                                     const fnzi_wrap_route *route) {
  FNZ_TRY(fnzi_wrap_check_statistics(wrapper, r));
  return r->op->kind == FNZI_KIND_OUT ? fnzi_wrap_write_twin(wrapper, r, route)
                                      : fnzi_wrap_apply_functional(wrapper, r);
}

fnz_status fnzi_wrap_write_request(fnz_wrapper *wrapper, fnzi_wrap_request *r,
                                   const fnzi_wrap_route *route) {
  FNZ_TRY(check_self(wrapper, r));
  switch (route->mutation) {
  case FNZI_MUTATION_TWIN:
    return fnzi_wrap_write_twin(wrapper, r, route);
  case FNZI_MUTATION_LIST:
    return fnzi_wrap_write_foreach(wrapper, r, route);
  case FNZI_MUTATION_COPY:
    return copy_request(wrapper, r);
  case FNZI_MUTATION_FILL:
    return fill_request(wrapper, r);
  case FNZI_MUTATION_ZERO:
    return zero_request(wrapper, r);
  case FNZI_MUTATION_WINDOWS:
    return windows_request(wrapper, r);
  case FNZI_MUTATION_SET:
    return set_request(wrapper, r);
  case FNZI_MUTATION_RESIZE:
    return resize_request(wrapper, r);
  case FNZI_MUTATION_BATCH_NORM:
    return fnzi_wrap_write_batch_norm(wrapper, r);
  case FNZI_MUTATION_INSTANCE_NORM:
    return fnzi_wrap_write_instance_norm(wrapper, r);
  case FNZI_MUTATION_UNDECLARED:
    return undeclared_request(wrapper, r, route);
  case FNZI_MUTATION_SET_EMPTY:
    return set_empty_request(wrapper, r);
  case FNZI_MUTATION_SET_WINDOW:
    return set_window_request(wrapper, r);
  case FNZI_MUTATION_WAIT:
    return wait_request(wrapper, r);
  case FNZI_MUTATION_NOTHING:
    return give_self(wrapper, r);
  case FNZI_MUTATION_NONE:
  case FNZI_MUTATION_REFUSED:
    break;
  }
  return rules_refuse(wrapper, r);
}
