/* write_masked.c - one number written to some places of a target that shows an element in several
 * places (masked_fill_, index_fill_ ...). An element is written if any of its places is in the
 * mask, in any order; the twin would also write old values back to the other places.
 *
 * needs   the mask; an operator without one is applied to a mask of zeros, and writes 1 there
 * gives   the same write by an elementwise operator, which is run slice after slice; along strides
 *         of 0 on the first slice alone, with the masks of all slices joined */
#include "functionalize/wrapper/write_rules.h"
#include "schema/aten_names.h"

/* A call as masked_fill_(target, mask, number). The request holds the tensors made for it. */
typedef struct masked_write {
  fnz_wrapper *wrapper;
  fnzi_wrap_request *request;
  fnz_arg mask, target, number;
} masked_write;

/* The one result of a functional operator. */
static fnz_status compute(masked_write *c, const fnz_op *op, const fnz_arg *args,
                          const fnz_geometry *expected, fnz_arg *out) {
  fnzi_wrap_request call = {.op = op, .args = args, .expected = &expected, .nexpected = 1};
  fnz_status status = fnzi_wrap_apply_functional(c->wrapper, &call);
  if (status == FNZ_OK) {
    *out = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.tensor = call.out.data[0]};
    out->u.tensor->refs++;
    status = fnzi_wrap_hold_tensor(c->wrapper, c->request, out->u.tensor);
  }
  fnzi_wrap_request_end(&call);
  return status;
}

/* A bool tensor full of `number`. */
static fnz_status make_full(masked_write *c, const fnz_geometry *sizes, const fnz_arg *number,
                            fnz_arg *out) {
  const fnz_op *op = fnzi_emitted_op(FNZI_EMIT_FULL);
  const fnz_geometry like = {.dtype = FNZ_BOOL, .rank = sizes->rank, .sizes = sizes->sizes}, *g;
  fnz_arg args[8] = {{0}};
  FNZ_TRY(fnzi_contiguous_like(c->wrapper->ints, &c->wrapper->scratch, &like, &g));
  FNZ_TRY(fnzi_arg_of_sizes(&c->wrapper->scratch, sizes, &args[0]));
  args[1] = *number;
  args[fnzi_op_param(op, "dtype")] = fnzi_arg_dtype(FNZ_BOOL);
  return compute(c, op, args, g, out);
}

/* The operator applied to a mask of zeros, with 1 for its number. */
static fnz_status make_mask(masked_write *c, int number) {
  const fnzi_wrap_request *r = c->request;
  const fnz_arg no = fnzi_arg_int(0), yes = fnzi_arg_int(1);
  const fnz_geometry *g = fnzi_wrap_geometry(c->target.u.tensor), *result, one = {.rank = 0};
  const fnz_op *twin = fnz_op_functional_twin(r->op);
  fnz_arg *args;
  FNZI_NEW(&c->wrapper->scratch, twin->nparams, &args);
  memcpy(args, r->args, twin->nparams * sizeof *args);
  FNZ_TRY(make_full(c, g, &no, &args[0]));
  args[number] = yes;
  if (r->args[number].tag == FNZ_ARG_VALUE)
    FNZ_TRY(make_full(c, &one, &yes, &args[number]));
  result = fnzi_wrap_geometry(args[0].u.tensor);
  return compute(c, twin, args, result, &c->mask);
}

/* The number in a tensor of one element, read before anything is written, in the target's dtype. */
static fnz_status read_number(masked_write *c) {
  fnz_wrapper *wrapper = c->wrapper;
  const fnz_geometry *g = fnzi_wrap_geometry(c->target.u.tensor);
  const fnz_geometry like = {.dtype = g->dtype}, *result;
  fnzi_value_ref *value;
  fnz_arg args[2];
  FNZ_TRY(fnzi_wrap_read_tensor(c->number.u.tensor, &value));
  FNZ_TRY(fnzi_wrap_cast(wrapper, g->dtype, &value));
  if (value->geometry->rank) {
    args[0] = fnzi_arg_value(value->handle);
    FNZ_TRY(fnzi_arg_ints(&wrapper->scratch, NULL, 0, &args[1]));
    FNZ_TRY(fnzi_contiguous_like(wrapper->ints, &wrapper->scratch, &like, &result));
    FNZ_TRY(fnzi_wrap_emit_one(wrapper, FNZI_EMIT_VIEW_COPY, args, 2, result, &value));
  }
  return fnzi_wrap_hold_fresh(wrapper, c->request, value, &c->number.u.tensor);
}

/* Along dimension d all elements of the target are one: takes its first slice and any() of the
 * mask. */
static fnz_status masked_join(masked_write *c, uint32_t d) {
  const fnz_op *any = &fnzi_ops[FNZI_ATEN_any__dim];
  const fnz_geometry *g = fnzi_wrap_geometry(c->target.u.tensor),
                     *mask = fnzi_wrap_geometry(c->mask.u.tensor), *result;
  const uint32_t missing = g->rank - mask->rank;
  const fnz_arg first[] = {c->target, fnzi_arg_int(d), fnzi_arg_int(0), fnzi_arg_int(1),
                           fnzi_arg_int(1)};
  if (d >= missing && mask->sizes[d - missing] > 1) {
    const fnz_arg args[] = {c->mask, fnzi_arg_int(d - missing), {.tag = FNZ_ARG_BOOL, .u.i = 1}};
    fnz_geometry like = *mask;
    int64_t *sizes;
    FNZI_NEW(&c->wrapper->scratch, mask->rank, &sizes);
    memcpy(sizes, mask->sizes, mask->rank * sizeof *sizes);
    sizes[d - missing] = 1;
    like.sizes = sizes;
    FNZ_TRY(fnzi_contiguous_like(c->wrapper->ints, &c->wrapper->scratch, &like, &result));
    FNZ_TRY(compute(c, any, args, result, &c->mask));
  }
  return fnzi_wrap_open_window(c->target.u.tensor, FNZI_STEP_SLICE, first, 5, c->request,
                               &c->target.u.tensor);
}

static fnz_status make_call(fnz_wrapper *wrapper, const fnzi_wrap_request *whole, size_t k,
                            fnzi_wrap_request *part) {
  (void)wrapper, (void)k;
  part->args = whole->parts.args;
  return FNZ_OK;
}

/* The mask, or an index, may not overlap the target. */
static fnz_status check_apart(const masked_write *c, int number) {
  fnz_tensor **reads, *target = c->target.u.tensor;
  size_t count;
  fnz_arg *args;
  FNZI_NEW(&c->wrapper->scratch, c->request->op->nparams, &args);
  memcpy(args, c->request->args, c->request->op->nparams * sizeof *args);
  args[0] = fnzi_arg_default();
  if (args[number].tag == FNZ_ARG_VALUE && fnzi_wrap_geometry(args[number].u.tensor)->rank == 0)
    args[number] = fnzi_arg_default();
  FNZ_TRY(fnzi_wrap_tensor_args(c->wrapper, args, c->request->op->nparams, &reads, &count));
  for (size_t i = 0; i < count; i++)
    if (fnzi_wrap_shares(reads[i], target))
      FNZ_TRY(
          fnzi_wrap_check_operand(c->request->op, target, reads[i], FNZI_READING_IN_STEP, NULL));
  return FNZ_OK;
}

static fnz_status split(masked_write *c, int number) {
  const fnzi_wrap_request *r = c->request;
  int mask = fnzi_op_param(r->op, "mask");
  FNZ_TRY(fnzi_wrap_check_slack(c->wrapper, r->op));
  FNZ_TRY(check_apart(c, number));
  if (mask >= 0)
    c->mask = r->args[mask];
  else
    FNZ_TRY(make_mask(c, number));
  FNZ_TRY(fnzi_check_broadcast(c->wrapper->ctx, r->op, fnzi_wrap_geometry(c->target.u.tensor),
                               fnzi_wrap_geometry(c->mask.u.tensor)));
  if (c->number.tag == FNZ_ARG_VALUE)
    FNZ_TRY(read_number(c));
  const fnz_geometry *g = fnzi_wrap_geometry(c->target.u.tensor);
  for (uint32_t d = 0; d < g->rank; d++)
    if (g->strides[d] == 0 && g->sizes[d] > 1)
      FNZ_TRY(masked_join(c, d));
  /* The call that is left is masked_fill_(target, mask, number), or where(mask, number, target)
   * into the target. */
  const bool of_tensor = c->number.tag == FNZ_ARG_VALUE;
  const fnz_arg fill[] = {c->target, c->mask, c->number};
  const fnz_arg where[] = {c->mask, c->number, c->target, c->target};
  fnz_arg *args;
  FNZI_NEW(&c->wrapper->scratch, 4, &args);
  memcpy(args, of_tensor ? where : fill, of_tensor ? sizeof where : sizeof fill);
  c->request->parts = (fnzi_wrap_parts){
      .count = 1,
      .make = make_call,
      .op = &fnzi_ops[of_tensor ? FNZI_ATEN_where__self_out : FNZI_ATEN_masked_fill___Scalar],
      .args = args};
  return FNZ_OK;
}

fnz_status fnzi_wrap_write_masked(fnz_wrapper *wrapper, fnzi_wrap_request *r, bool elementwise,
                                  bool *done) {
  fnz_tensor *target = fnzi_wrap_tensor_arg(r, 0);
  *done = false;
  if (!target || !target->alias->repeats)
    return FNZ_OK;
  const fnz_geometry *g = fnzi_wrap_geometry(target);
  const fnzi_mutation_call call = {
      .op = r->op, .args = r->args, .geometry_of = fnzi_wrap_arg_geometry, .ints = wrapper->ints};
  int number = fnzi_mutation_number(&call, g);
  bool alike = number >= 0 && fnzi_mutation_writes_alike(&call, g);
  bool plain = elementwise && !fnzi_has_zero_stride(g);
  if (number < 0 || alike || plain)
    return FNZ_OK;
  for (uint32_t d = 0; d < g->rank; d++)
    if (g->strides[d] == 0 && g->sizes[d] != 1 && !fnzi_int_is_number(fnzi_int_size(g, d)) &&
        !fnzi_int_decide_at_least(wrapper->ints, fnzi_int_size(g, d), fnzi_int_of(2),
                                  FNZI_MUTATION_ASKS_REPEATED))
      return fnzi_wrap_refuse_sizes(wrapper, r->op);
  masked_write c = {
      .wrapper = wrapper, .request = r, .target = r->args[0], .number = r->args[number]};
  FNZ_TRY(split(&c, number));
  *done = true;
  return fnzi_wrap_give(wrapper, r, target);
}
