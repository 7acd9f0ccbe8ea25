/* composites_copy.c - the argument itself or a copy of it: contiguous, to, dropout, conj ... */
#include "views/composite.h"

static fnz_status keep(fnzi_resolving *r) {
  r->out->keep = true;
  return FNZ_OK;
}

/* --- itself, or a copy ------------------------------------------------------------------------ */
fnz_status fnzi_resolve_itself(fnzi_resolving *r) {
  return fnzi_composite_is_self(r);
}

static const char channels_last[] = "it decides whether a tensor has channels last, or is copied";

/* Channels-last: dimension 1 has the smallest stride, then the later dimensions from the last to 2,
 * then 0. */
static bool is_channels_last(fnzi_ints *s, const fnz_geometry *g, uint32_t rank) {
  fnzi_int stride = {1};
  if (g->rank != rank)
    return false;
  for (uint32_t k = 0; k < rank; k++) {
    uint32_t d = k == 0 ? 1 : k == rank - 1 ? 0 : rank - k;
    const fnzi_int size = fnzi_int_size(g, d);
    if (!fnzi_int_same(fnzi_int_stride(g, d), stride) &&
        !fnzi_int_decide_same(s, size, fnzi_int_of(1), channels_last) &&
        !fnzi_int_decide_same(s, fnzi_int_stride(g, d), stride, channels_last))
      return false;
    stride = fnzi_int_is(size, 0) ? stride : fnzi_int_mul(s, stride, size);
  }
  return true;
}

fnz_status fnzi_resolve_contiguous(fnzi_resolving *r) {
  fnz_arg format = fnzi_composite_arg(r, 1);
  const bool has_format = format.u.i == 2   ? is_channels_last(r->ints, r->self, 4)
                          : format.u.i == 3 ? is_channels_last(r->ints, r->self, 5)
                                            : fnzi_int_is_contiguous(r->ints, r->self);
  if (has_format)
    return fnzi_composite_is_self(r);
  const fnz_arg args[] = {fnzi_arg_default(), format};
  return fnzi_composite_is_call(r, FNZI_STEP_CLONE, args, 2);
}

static fnz_status clone_if(fnzi_resolving *r, bool needed) {
  const fnz_arg args[] = {fnzi_arg_default()};
  return needed ? fnzi_composite_is_call(r, FNZI_STEP_CLONE, args, 1) : fnzi_composite_is_self(r);
}

fnz_status fnzi_resolve_resolve_conj(fnzi_resolving *r) {
  return clone_if(r, r->self->is_conj);
}

fnz_status fnzi_resolve_resolve_neg(fnzi_resolving *r) {
  return clone_if(r, r->self->is_neg);
}

fnz_status fnzi_resolve_conj_physical(fnzi_resolving *r) {
  return fnzi_is_complex(r->self->dtype) ? keep(r) : fnzi_composite_is_self(r);
}

fnz_status fnzi_resolve_dropout(fnzi_resolving *r) {
  fnz_arg p = fnzi_composite_arg(r, 1), train = fnzi_composite_arg(r, 2);
  /* A file may write the float 0.0 as 0. */
  bool nothing = !train.u.i || (p.tag == FNZ_ARG_FLOAT && p.u.f == 0) ||
                 (p.tag == FNZ_ARG_INT && p.u.i == 0) || fnzi_int_is_empty(r->self);
  return nothing ? fnzi_composite_is_self(r) : keep(r);
}

/* A result without dimensions is a sum: a new tensor even where self has one element. */
fnz_status fnzi_resolve_sum_to_size(fnzi_resolving *r) {
  fnzi_int *sizes;
  size_t rank;
  FNZ_TRY(fnzi_composite_arg_ints(r, 1, &sizes, &rank));
  bool is_self = rank && rank == r->self->rank;
  r->out->may_be_self = is_self;
  for (uint32_t d = 0; is_self && d < rank; d++)
    is_self = fnzi_int_decide_same(r->ints, fnzi_int_size(r->self, d), sizes[d],
                                   "it decides whether there is something to sum");
  return is_self ? fnzi_composite_is_self(r) : keep(r);
}

/* The product of one tensor is that tensor. */
fnz_status fnzi_resolve_cartesian_prod(fnzi_resolving *r) {
  return r->ntensors == 1 && r->tensors[0]->rank == 1 ? fnzi_composite_is_self(r) : keep(r);
}

/* Unlike contiguous(), `to` does not ask for a dense tensor, only for the order of its strides;
 * every order but channels-last counts as rows. */
static bool suggests(const fnz_geometry *g, int64_t format) {
  if (fnzi_int_is_symbolic(g) && (g->rank == 4 || g->rank == 5))
    return false; /* not known: a copy is right, too */
  bool last = fnzi_suggests_channels_last(g);
  return format == 2 || format == 3 ? last && g->rank == format + 2 : !last;
}

/* `to` in all its forms: _to_copy, unless nothing changes and `copy` is false. */
static fnz_status to_dtype(fnzi_resolving *r, fnz_arg dtype, fnz_arg format, bool copy) {
  bool same_dtype = dtype.tag != FNZ_ARG_DTYPE || dtype.u.i == (int64_t)r->self->dtype;
  const bool asks = format.tag == FNZ_ARG_MEMORY_FORMAT && format.u.i != 4;
  bool same_format = !asks || suggests(r->self, format.u.i);
  if (asks && r->ints && fnzi_int_is_symbolic(r->self))
    fnzi_ints_leave_open(r->ints);
  if (same_dtype && same_format && !copy)
    return fnzi_composite_is_self(r);
  fnz_arg args[7] = {fnzi_arg_default()};
  const fnz_op *op = fnzi_op_of_step(FNZI_STEP_TO_COPY);
  args[fnzi_op_param(op, "dtype")] =
      dtype.tag == FNZ_ARG_DTYPE ? dtype : fnzi_arg_dtype(r->self->dtype);
  if (format.tag == FNZ_ARG_MEMORY_FORMAT && format.u.i != 4)
    args[fnzi_op_param(op, "memory_format")] = format;
  return fnzi_composite_is_call(r, FNZI_STEP_TO_COPY, args, 7);
}

fnz_status fnzi_resolve_to(fnzi_resolving *r) {
  fnz_arg device = fnzi_composite_arg_named(r, "device"),
          copy = fnzi_composite_arg_named(r, "copy");
  if (device.tag == FNZ_ARG_DEVICE && strncmp(device.u.s, "cpu", 3) != 0)
    return fnzi_fail(r->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "%s: a move to device %s; only cpu is supported", r->op->name, device.u.s);
  return to_dtype(r, fnzi_composite_arg_named(r, "dtype"),
                  fnzi_composite_arg_named(r, "memory_format"), copy.u.i != 0);
}

fnz_status fnzi_resolve_to_other(fnzi_resolving *r) {
  fnz_arg dtype = fnzi_arg_dtype(r->tensors[1]->dtype), copy = fnzi_composite_arg_named(r, "copy");
  return to_dtype(r, dtype, fnzi_composite_arg_named(r, "memory_format"),
                  copy.tag == FNZ_ARG_BOOL && copy.u.i);
}

/* --- complex numbers -------------------------------------------------------------------------- */
fnz_status fnzi_resolve_conj(fnzi_resolving *r) {
  const fnz_arg args[] = {fnzi_arg_default()};
  return fnzi_is_complex(r->self->dtype) ? fnzi_composite_is_call(r, FNZI_STEP_CONJ, args, 1)
                                         : fnzi_composite_is_self(r);
}

fnz_status fnzi_resolve_real(fnzi_resolving *r) {
  const fnz_arg args[] = {fnzi_arg_default()};
  FNZ_TRY(fnzi_composite_is_self(r));
  if (!fnzi_is_complex(r->self->dtype))
    return FNZ_OK;
  if (r->self->is_conj)
    FNZ_TRY(fnzi_composite_add_step(r, 0, FNZI_STEP_CONJ, args, 1));
  FNZ_TRY(fnzi_composite_add_step(r, 0, FNZI_STEP_VIEW_AS_REAL, args, 1));
  return fnzi_composite_add_ints_step(r, 0, FNZI_STEP_SELECT, -1, 0);
}

/* The imaginary part of a lazy conjugate is the negative of that in memory. */
fnz_status fnzi_resolve_imag(fnzi_resolving *r) {
  const fnz_arg args[] = {fnzi_arg_default()};
  if (!fnzi_is_complex(r->self->dtype))
    return fnzi_fail(r->ctx, FNZ_CLASS_TYPE, NULL, "imag: self is %s; it must be complex",
                     fnzi_dtype(r->self->dtype)->name);
  FNZ_TRY(fnzi_composite_is_self(r));
  if (r->self->is_conj)
    FNZ_TRY(fnzi_composite_add_step(r, 0, FNZI_STEP_CONJ, args, 1));
  FNZ_TRY(fnzi_composite_add_step(r, 0, FNZI_STEP_VIEW_AS_REAL, args, 1));
  FNZ_TRY(fnzi_composite_add_ints_step(r, 0, FNZI_STEP_SELECT, -1, 1));
  return r->self->is_conj ? fnzi_composite_add_step(r, 0, FNZI_STEP_NEG, args, 1) : FNZ_OK;
}
