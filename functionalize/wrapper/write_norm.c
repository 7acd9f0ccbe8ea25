/* write_norm.c - normalizations that update running statistics in training, which their schemas do
 * not declare: the functional operator returns the new statistics, which are written.
 *
 * batch_norm, native_batch_norm and instance_norm have the same first eight parameters: (input,
 * weight, bias, running_mean, running_var, training, momentum, eps, ...). */
#include "functionalize/wrapper/write_rules.h"

enum { MEAN = 3, VAR = 4, TRAINING = 5, MOMENTUM = 6, EPS = 7, NORM_RESULTS = 5, OWN_RESULTS = 3 };

/* Eager takes either both statistics or none. */
static fnz_status writes_statistics(fnz_wrapper *wrapper, const fnzi_wrap_request *r, bool *out) {
  bool mean = fnzi_wrap_tensor_arg(r, MEAN) != NULL, var = fnzi_wrap_tensor_arg(r, VAR) != NULL;
  *out = mean && r->args[TRAINING].u.i;
  FNZ_TRY(fnzi_wrap_need_tensor(wrapper, r, 0));
  if (mean == var)
    return FNZ_OK;
  return fnzi_fail(wrapper->ctx, FNZ_CLASS_TYPE, NULL,
                   "%s: %s is given and %s is None; give both or none", r->op->name,
                   mean ? "running_mean" : "running_var", mean ? "running_var" : "running_mean");
}

/* Refuses statistics that overlap themselves or each other: eager would read or write shared
 * elements in the order of its loop. */
static fnz_status check_targets(fnz_wrapper *wrapper, const fnzi_wrap_request *r) {
  fnz_tensor *mean = fnzi_wrap_tensor_arg(r, MEAN), *var = fnzi_wrap_tensor_arg(r, VAR);
  for (size_t k = MEAN; k <= VAR; k++) {
    fnz_tensor *target = fnzi_wrap_tensor_arg(r, k);
    if (target->alias->repeats)
      FNZ_TRY(fnzi_check_target(wrapper->ctx, wrapper->ints, r->op, fnzi_wrap_geometry(target),
                                FNZI_SPREAD_ANY, NULL));
  }
  return fnzi_wrap_overlap(mean, var) ? fnzi_wrap_refuse_overlapping_targets(wrapper, r->op)
                                      : FNZ_OK;
}

/* --- batch norm ------------------------------------------------------------------------------- */

fnz_status fnzi_wrap_write_batch_norm(fnz_wrapper *wrapper, fnzi_wrap_request *r) {
  const fnz_geometry *expected[NORM_RESULTS];
  fnzi_op_call call = {.op = fnzi_emitted_op(FNZI_EMIT_NATIVE_BATCH_NORM), .nargs = EPS + 1};
  fnz_arg *args;
  size_t first, count;
  bool writes;
  FNZ_TRY(writes_statistics(wrapper, r, &writes));
  if (!writes)
    return fnzi_wrap_apply_functional(wrapper, r);
  fnz_tensor *mean = fnzi_wrap_tensor_arg(r, MEAN), *var = fnzi_wrap_tensor_arg(r, VAR);
  FNZ_TRY(check_targets(wrapper, r));
  /* Eager reads its operands while it writes statistics, and afterwards. */
  for (size_t k = MEAN; k <= VAR; k++) {
    fnz_tensor *target = fnzi_wrap_tensor_arg(r, k);
    for (size_t i = 0; i < MEAN; i++) {
      fnz_tensor *operand = fnzi_wrap_tensor_arg(r, i);
      if (operand && fnzi_wrap_overlap(operand, target))
        FNZ_TRY(fnzi_wrap_check_operand(r->op, target, operand, FNZI_READING_IN_STEP, NULL));
    }
  }
  const fnz_geometry *stats = fnzi_wrap_geometry(fnzi_wrap_tensor_arg(r, MEAN));
  const fnz_geometry *input = fnzi_wrap_geometry(fnzi_wrap_tensor_arg(r, 0));
  for (size_t k = 0; k < NORM_RESULTS; k++)
    expected[k] = k < OWN_RESULTS && k < r->nexpected ? r->expected[k] : NULL;
  if (!expected[0])
    FNZ_TRY(fnzi_dense_as(wrapper->ints, &wrapper->scratch, input, input->dtype, &expected[0]));
  for (size_t k = 1; k < NORM_RESULTS; k++)
    if (!expected[k])
      FNZ_TRY(fnzi_dense_as(wrapper->ints, &wrapper->scratch, stats, stats->dtype, &expected[k]));
  FNZ_TRY(fnzi_wrap_read_args(wrapper, r->args, EPS + 1, &args));
  call.args = args;
  FNZ_TRY(fnzi_wrap_apply_values(wrapper, call, expected, NORM_RESULTS, &first, &count));
  for (size_t k = 0; k < r->op->nreturns && k < OWN_RESULTS; k++)
    FNZ_TRY(fnzi_wrap_give_fresh(wrapper, r, wrapper->fresh.data[first + k]));
  FNZ_TRY(fnzi_wrap_write(mean->alias, wrapper->fresh.data[first + OWN_RESULTS]));
  return fnzi_wrap_write(var->alias, wrapper->fresh.data[first + OWN_RESULTS + 1]);
}

/* --- instance norm ---------------------------------------------------------------------------- */
/* The value under other sizes, or repeated to them. */
static fnz_status reshape(fnz_wrapper *wrapper, fnzi_emit_op op, fnz_arg arg, const fnzi_int *sizes,
                          uint32_t rank, fnzi_value_ref **value) {
  const fnz_geometry like = {
      .dtype = (*value)->geometry->dtype, .rank = rank, .sizes = &sizes->bits};
  const fnz_geometry *result;
  const fnz_arg args[] = {fnzi_arg_value((*value)->handle), arg};
  FNZ_TRY(fnzi_contiguous_like(wrapper->ints, &wrapper->scratch, &like, &result));
  return fnzi_wrap_emit_one(wrapper, op, args, 2, result, value);
}

static fnz_status view(fnz_wrapper *wrapper, const fnzi_int *sizes, uint32_t rank,
                       fnzi_value_ref **value) {
  fnz_arg arg;
  FNZ_TRY(fnzi_arg_of_ints(&wrapper->scratch, sizes, rank, &arg));
  return reshape(wrapper, FNZI_EMIT_VIEW_COPY, arg, sizes, rank, value);
}

/* Statistics of each instance, then their mean. `of` is the input. */
static fnz_status new_statistics(fnz_wrapper *wrapper, const fnzi_wrap_request *r,
                                 const fnz_geometry *of, fnzi_value_ref *out[2]) {
  const fnzi_int sizes[2] = {fnzi_int_size(of, 0), fnzi_int_size(of, 1)},
                 all = fnzi_int_mul(wrapper->ints, sizes[0], sizes[1]);
  const fnz_arg batch = fnzi_arg_of_int(sizes[0]), first_dim = fnzi_arg_int(0);
  const fnz_arg times = {.tag = FNZ_ARG_LIST, .count = 1, .u.list = &batch},
                over = {.tag = FNZ_ARG_LIST, .count = 1, .u.list = &first_dim};
  fnzi_int whole[FNZ_MAX_RANK] = {{1}, all};
  const fnz_geometry *expected[NORM_RESULTS];
  fnzi_value_ref *input, *stats[2];
  size_t first, count;
  for (uint32_t d = 2; d < of->rank; d++)
    whole[d] = fnzi_int_size(of, d);
  FNZ_TRY(fnzi_wrap_read_tensor(fnzi_wrap_tensor_arg(r, 0), &input));
  FNZ_TRY(view(wrapper, whole, of->rank, &input));
  for (int i = 0; i < 2; i++) {
    FNZ_TRY(fnzi_wrap_read_tensor(fnzi_wrap_tensor_arg(r, MEAN + (size_t)i), &stats[i]));
    FNZ_TRY(reshape(wrapper, FNZI_EMIT_REPEAT, times, &all, 1, &stats[i]));
  }
  expected[0] = input->geometry;
  for (size_t k = 1; k < NORM_RESULTS; k++)
    expected[k] = stats[0]->geometry;
  const fnz_arg args[] = {fnzi_arg_value(input->handle),
                          {.tag = FNZ_ARG_NONE},
                          {.tag = FNZ_ARG_NONE},
                          fnzi_arg_value(stats[0]->handle),
                          fnzi_arg_value(stats[1]->handle),
                          r->args[TRAINING],
                          r->args[MOMENTUM],
                          r->args[EPS]};
  const fnzi_op_call call = {fnzi_emitted_op(FNZI_EMIT_NATIVE_BATCH_NORM), args, EPS + 1};
  FNZ_TRY(fnzi_wrap_apply_values(wrapper, call, expected, NORM_RESULTS, &first, &count));
  for (size_t i = 0; i < 2; i++) {
    out[i] = wrapper->fresh.data[first + OWN_RESULTS + i];
    FNZ_TRY(view(wrapper, sizes, 2, &out[i]));
    FNZ_TRY(reshape(wrapper, FNZI_EMIT_MEAN, over, &sizes[1], 1, &out[i]));
  }
  return FNZ_OK;
}

fnz_status fnzi_wrap_write_instance_norm(fnz_wrapper *wrapper, fnzi_wrap_request *r) {
  fnzi_value_ref *fresh[2];
  fnz_arg *args;
  bool writes;
  FNZ_TRY(writes_statistics(wrapper, r, &writes));
  if (!writes)
    return fnzi_wrap_apply_functional(wrapper, r);
  fnz_tensor *mean = fnzi_wrap_tensor_arg(r, MEAN), *var = fnzi_wrap_tensor_arg(r, VAR);
  const fnz_geometry *input = fnzi_wrap_geometry(fnzi_wrap_tensor_arg(r, 0));
  FNZ_TRY(check_targets(wrapper, r));
  if (input->rank < 2 || input->symbols)
    return fnzi_fail(wrapper->ctx, FNZ_CLASS_BOUNDS, NULL,
                     "%s: the input has %u dimensions; at least 2 of known sizes", r->op->name,
                     input->rank);
  FNZ_TRY(new_statistics(wrapper, r, input, fresh));
  FNZI_NEW(&wrapper->scratch, r->op->nparams, &args);
  memcpy(args, r->args, r->op->nparams * sizeof *args);
  args[MEAN] = args[VAR] = (fnz_arg){.tag = FNZ_ARG_NONE}; /* they do not matter to the result */
  r->args = args;
  FNZ_TRY(fnzi_wrap_apply_functional(wrapper, r));
  FNZ_TRY(fnzi_wrap_write(mean->alias, fresh[0]));
  return fnzi_wrap_write(var->alias, fresh[1]);
}

/* --- the others ------------------------------------------------------------------------------- */
fnz_status fnzi_wrap_check_statistics(fnz_wrapper *wrapper, const fnzi_wrap_request *r) {
  int mean = fnzi_op_param(r->op, "running_mean"), training = fnzi_op_param(r->op, "training");
  bool trains = training < 0 || r->args[training].u.i, is_out = r->op->kind == FNZI_KIND_OUT;
  if (trains && mean >= 0 && fnzi_wrap_tensor_arg(r, (size_t)mean))
    return fnzi_fail(wrapper->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "%s in training writes its running statistics, which its schema does not say; "
                     "call %s",
                     r->op->name,
                     is_out ? "it without out= and copy_() its results"
                            : "the operator that it is a part of");
  return FNZ_OK;
}
