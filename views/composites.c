/* composites.c - reshape, contiguous, to and the like: alias when eager geometry allows, else a
 * copy.
 *
 * Every decision is made on the eager strides, never on how a functional value happens to be laid
 * out. What each operator stands for is PyTorch's own decomposition of it. */
#include "views/composite.h"

/* What a rule may resolve to, as bits beside those of the steps. */
#define S(id)  (1u << FNZI_STEP_##id)
#define ITSELF (1u << 31)
#define KEPT   (1u << 30)

enum {
#define COMPOSITE(op, rule)
#define RULE(rule, steps) RULE_##rule,
#include "views/composites.def"
#undef COMPOSITE
#undef RULE
};

static const struct {
  const char *name;
  fnzi_resolve_fn *resolve;
  uint32_t steps;
} rules[] = {
#define COMPOSITE(op, rule)
#define RULE(rule, steps) {#rule, fnzi_resolve_##rule, steps},
#include "views/composites.def"
#undef COMPOSITE
#undef RULE
};

struct fnzi_composite_row {
  const char *op;
  int rule;
};

static const struct fnzi_composite_row rows[] = {
#define COMPOSITE(op, rule) {op, RULE_##rule},
#define RULE(rule, steps)
#include "views/composites.def"
#undef COMPOSITE
#undef RULE
};

const fnzi_composite_row *fnzi_composite_find(const fnz_op *op) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (!strcmp(rows[i].op, op->name))
      return &rows[i];
  return NULL;
}

fnzi_composite_facts fnzi_composite_describe(const fnzi_composite_row *row) {
  uint32_t steps = rules[row->rule].steps;
  fnzi_composite_facts f = {
      .rule = rules[row->rule].name, .itself = steps & ITSELF, .kept = steps & KEPT};
  for (int i = 0; i < FNZI_STEP_COUNT && f.count < FNZI_ITEM_STEPS; i++)
    if (steps >> i & 1)
      f.steps[f.count++] = fnzi_op_of_step((fnzi_step_op)i);
  return f;
}

static size_t tensors_needed(const fnz_op *op) {
  size_t needed = 0;
  for (size_t i = 0; i < op->nparams; i++)
    needed +=
        op->params[i].type == FNZI_TYPE_TENSOR && !op->params[i].is_list && !op->params[i].optional;
  return needed ? needed : 1;
}

static uint32_t all_used(const fnzi_resolving *r) {
  uint32_t used = r->out->keep ? KEPT : r->used;
  for (size_t k = 0; !r->out->keep && k < r->out->count; k++)
    if (!r->out->items[k].nsteps)
      used |= ITSELF;
  return used;
}

fnz_status fnzi_composite_resolve(fnzi_arena *arena, const fnzi_composite_row *row,
                                  const fnz_op *op, const fnz_arg *args, size_t nargs,
                                  const fnz_geometry *const *tensors, size_t ntensors,
                                  fnzi_resolution *out) {
  *out = (fnzi_resolution){0};
  if (ntensors < tensors_needed(op))
    return fnzi_fail(arena->ctx, FNZ_CLASS_TYPE, NULL, "%s: a tensor argument is missing: %s",
                     op->name, op->schema);
  fnzi_resolving r = {arena->ctx, arena, op, args, nargs, tensors, ntensors, tensors[0], out, 0};
  FNZ_TRY(rules[row->rule].resolve(&r));
  uint32_t unknown = all_used(&r) & ~rules[row->rule].steps;
  if (!unknown)
    return FNZ_OK;
  return fnzi_fail(arena->ctx, FNZ_CLASS_INTERNAL, NULL,
                   "%s was resolved to what its row does not say (bits %x)", op->name, unknown);
}

/* --- arguments and results -------------------------------------------------------------------- */
fnz_arg fnzi_resolving_named(const fnzi_resolving *r, const char *name) {
  int i = fnzi_op_param(r->op, name);
  return i < 0 ? fnzi_arg_default() : fnzi_resolving_arg(r, (size_t)i);
}

fnz_status fnzi_resolving_dim(const fnzi_resolving *r, size_t i, uint32_t *out) {
  fnz_arg a = fnzi_resolving_arg(r, i);
  if (a.tag != FNZ_ARG_INT)
    return fnzi_fail(r->ctx, FNZ_CLASS_TYPE, NULL,
                     "%s: argument `%s` must be an integer that is "
                     "known",
                     r->op->name, r->op->params[i].name);
  return fnzi_wrap_dim(r->ctx, r->op->name, a.u.i, r->self->rank, out);
}

fnz_status fnzi_resolving_ints(const fnzi_resolving *r, size_t i, int64_t **out, size_t *count) {
  fnz_arg a = fnzi_resolving_arg(r, i), one[] = {a};
  if (a.tag == FNZ_ARG_INT)
    a = (fnz_arg){.tag = FNZ_ARG_LIST, .count = 1, .u.list = one};
  bool known = a.tag == FNZ_ARG_LIST;
  for (size_t k = 0; known && k < a.count; k++)
    known = a.u.list[k].tag == FNZ_ARG_INT;
  if (!known)
    return fnzi_fail(r->ctx, FNZ_CLASS_TYPE, NULL,
                     "%s: argument `%s` must be a list of integers "
                     "that are known",
                     r->op->name, r->op->params[i].name);
  FNZI_NEW(r->arena, a.count, out);
  for (size_t k = 0; k < a.count; k++)
    (*out)[k] = a.u.list[k].u.i;
  *count = a.count;
  return FNZ_OK;
}

fnz_status fnzi_results(fnzi_resolving *r, size_t count) {
  FNZI_NEW(r->arena, count, &r->out->items);
  r->out->count = count;
  return FNZ_OK;
}

fnz_status fnzi_add_step(fnzi_resolving *r, size_t k, fnzi_step_op step, const fnz_arg *args,
                         size_t nargs) {
  fnzi_item *item = &r->out->items[k];
  fnz_arg *copy;
  FNZI_NEW(r->arena, nargs, &copy);
  memcpy(copy, args, nargs * sizeof *copy);
  r->used |= 1u << step;
  item->steps[item->nsteps].op = fnzi_op_of_step(step);
  item->steps[item->nsteps].args = copy;
  item->steps[item->nsteps++].nargs = nargs;
  return FNZ_OK;
}

fnz_status fnzi_add_sizes_step(fnzi_resolving *r, size_t k, fnzi_step_op step, const int64_t *sizes,
                               size_t rank) {
  fnz_arg args[2] = {fnzi_arg_default()};
  FNZ_TRY(fnzi_arg_ints(r->arena, sizes, rank, &args[1]));
  return fnzi_add_step(r, k, step, args, 2);
}

fnz_status fnzi_add_int_step(fnzi_resolving *r, size_t k, fnzi_step_op step, int64_t a) {
  const fnz_arg args[] = {fnzi_arg_default(), fnzi_arg_int(a)};
  return fnzi_add_step(r, k, step, args, 2);
}

fnz_status fnzi_add_ints_step(fnzi_resolving *r, size_t k, fnzi_step_op step, int64_t a,
                              int64_t b) {
  const fnz_arg args[] = {fnzi_arg_default(), fnzi_arg_int(a), fnzi_arg_int(b)};
  return fnzi_add_step(r, k, step, args, 3);
}

fnz_status fnzi_is_call(fnzi_resolving *r, fnzi_step_op step, const fnz_arg *args, size_t nargs) {
  FNZ_TRY(fnzi_results(r, 1));
  return fnzi_add_step(r, 0, step, args, nargs);
}

fnz_status fnzi_is_self(fnzi_resolving *r) {
  return fnzi_results(r, 1);
}

static fnz_status keep(fnzi_resolving *r) {
  r->out->keep = true;
  return FNZ_OK;
}

static bool has_sizes(const fnz_geometry *g, const int64_t *sizes, size_t rank) {
  return g->rank == rank && (!rank || !memcmp(g->sizes, sizes, rank * sizeof *sizes));
}

/* --- itself, or a copy ------------------------------------------------------------------------ */
fnz_status fnzi_resolve_itself(fnzi_resolving *r) {
  return fnzi_is_self(r);
}

/* Channels-last: dimension 1 is the finest, then those behind it from the last one on, then 0. */
static bool is_channels_last(const fnz_geometry *g, uint32_t rank) {
  int64_t stride = 1;
  if (g->rank != rank)
    return false;
  for (uint32_t k = 0; k < rank; k++) {
    uint32_t d = k == 0 ? 1 : k == rank - 1 ? 0 : rank - k;
    if (g->sizes[d] != 1 && g->strides[d] != stride)
      return false;
    stride *= g->sizes[d] > 1 ? g->sizes[d] : 1;
  }
  return true;
}

static bool has_format(const fnz_geometry *g, int64_t format) {
  return format == 2   ? is_channels_last(g, 4)
         : format == 3 ? is_channels_last(g, 5)
                       : fnzi_is_contiguous(g);
}

fnz_status fnzi_resolve_contiguous(fnzi_resolving *r) {
  fnz_arg format = fnzi_resolving_arg(r, 1);
  if (has_format(r->self, format.u.i))
    return fnzi_is_self(r);
  const fnz_arg args[] = {fnzi_arg_default(), format};
  return fnzi_is_call(r, FNZI_STEP_CLONE, args, 2);
}

static fnz_status clone_if(fnzi_resolving *r, bool needed) {
  const fnz_arg args[] = {fnzi_arg_default()};
  return needed ? fnzi_is_call(r, FNZI_STEP_CLONE, args, 1) : fnzi_is_self(r);
}

fnz_status fnzi_resolve_resolve_conj(fnzi_resolving *r) {
  return clone_if(r, r->self->is_conj);
}

fnz_status fnzi_resolve_resolve_neg(fnzi_resolving *r) {
  return clone_if(r, r->self->is_neg);
}

fnz_status fnzi_resolve_conj_physical(fnzi_resolving *r) {
  return fnzi_is_complex(r->self->dtype) ? keep(r) : fnzi_is_self(r);
}

/* A file may write the float 0.0 as 0. */
static bool is_zero(fnz_arg number) {
  return (number.tag == FNZ_ARG_FLOAT && number.u.f == 0) ||
         (number.tag == FNZ_ARG_INT && number.u.i == 0);
}

fnz_status fnzi_resolve_dropout(fnzi_resolving *r) {
  fnz_arg p = fnzi_resolving_arg(r, 1), train = fnzi_resolving_arg(r, 2);
  bool nothing = !train.u.i || is_zero(p) || fnz_geometry_numel(r->self) == 0;
  return nothing ? fnzi_is_self(r) : keep(r);
}

/* To no dimensions it is a sum, a new tensor even where there is one element. */
fnz_status fnzi_resolve_sum_to_size(fnzi_resolving *r) {
  int64_t *sizes;
  size_t rank;
  FNZ_TRY(fnzi_resolving_ints(r, 1, &sizes, &rank));
  return rank && has_sizes(r->self, sizes, rank) ? fnzi_is_self(r) : keep(r);
}

/* Of one tensor it is that tensor. */
fnz_status fnzi_resolve_cartesian_prod(fnzi_resolving *r) {
  return r->ntensors == 1 && r->tensors[0]->rank == 1 ? fnzi_is_self(r) : keep(r);
}

/* Not whether it lies so without gaps, as contiguous() asks: rows are what all else suggests. */
static bool suggests(const fnz_geometry *g, int64_t format) {
  bool last = fnzi_suggests_channels_last(g);
  return format == 2 || format == 3 ? last && g->rank == format + 2 : !last;
}

/* `to` in all its forms: _to_copy unless nothing changes and no copy is asked for. */
static fnz_status to_dtype(fnzi_resolving *r, fnz_arg dtype, fnz_arg format, bool copy) {
  bool same_dtype = dtype.tag != FNZ_ARG_DTYPE || dtype.u.i == (int64_t)r->self->dtype;
  bool same_format =
      format.tag != FNZ_ARG_MEMORY_FORMAT || format.u.i == 4 || suggests(r->self, format.u.i);
  if (same_dtype && same_format && !copy)
    return fnzi_is_self(r);
  fnz_arg args[7] = {fnzi_arg_default()};
  const fnz_op *op = fnzi_op_of_step(FNZI_STEP_TO_COPY);
  args[fnzi_op_param(op, "dtype")] =
      dtype.tag == FNZ_ARG_DTYPE ? dtype : fnzi_arg_dtype(r->self->dtype);
  if (format.tag == FNZ_ARG_MEMORY_FORMAT && format.u.i != 4)
    args[fnzi_op_param(op, "memory_format")] = format;
  return fnzi_is_call(r, FNZI_STEP_TO_COPY, args, 7);
}

fnz_status fnzi_resolve_to(fnzi_resolving *r) {
  fnz_arg device = fnzi_resolving_named(r, "device"), copy = fnzi_resolving_named(r, "copy");
  if (device.tag == FNZ_ARG_DEVICE && strncmp(device.u.s, "cpu", 3) != 0)
    return fnzi_fail(r->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "%s: a move to device %s; only cpu is supported", r->op->name, device.u.s);
  return to_dtype(r, fnzi_resolving_named(r, "dtype"), fnzi_resolving_named(r, "memory_format"),
                  copy.u.i != 0);
}

fnz_status fnzi_resolve_to_other(fnzi_resolving *r) {
  fnz_arg dtype = fnzi_arg_dtype(r->tensors[1]->dtype), copy = fnzi_resolving_named(r, "copy");
  return to_dtype(r, dtype, fnzi_resolving_named(r, "memory_format"),
                  copy.tag == FNZ_ARG_BOOL && copy.u.i);
}

/* --- complex numbers -------------------------------------------------------------------------- */
fnz_status fnzi_resolve_conj(fnzi_resolving *r) {
  const fnz_arg args[] = {fnzi_arg_default()};
  return fnzi_is_complex(r->self->dtype) ? fnzi_is_call(r, FNZI_STEP_CONJ, args, 1)
                                         : fnzi_is_self(r);
}

fnz_status fnzi_resolve_real(fnzi_resolving *r) {
  const fnz_arg args[] = {fnzi_arg_default()};
  FNZ_TRY(fnzi_is_self(r));
  if (!fnzi_is_complex(r->self->dtype))
    return FNZ_OK;
  if (r->self->is_conj)
    FNZ_TRY(fnzi_add_step(r, 0, FNZI_STEP_CONJ, args, 1));
  FNZ_TRY(fnzi_add_step(r, 0, FNZI_STEP_VIEW_AS_REAL, args, 1));
  return fnzi_add_ints_step(r, 0, FNZI_STEP_SELECT, -1, 0);
}

/* The imaginary part of a lazy conjugate is the negated one of what lies in memory. */
fnz_status fnzi_resolve_imag(fnzi_resolving *r) {
  const fnz_arg args[] = {fnzi_arg_default()};
  if (!fnzi_is_complex(r->self->dtype))
    return fnzi_fail(r->ctx, FNZ_CLASS_TYPE, NULL, "imag: self is %s; it must be complex",
                     fnzi_dtype(r->self->dtype)->name);
  FNZ_TRY(fnzi_is_self(r));
  if (r->self->is_conj)
    FNZ_TRY(fnzi_add_step(r, 0, FNZI_STEP_CONJ, args, 1));
  FNZ_TRY(fnzi_add_step(r, 0, FNZI_STEP_VIEW_AS_REAL, args, 1));
  FNZ_TRY(fnzi_add_ints_step(r, 0, FNZI_STEP_SELECT, -1, 1));
  return r->self->is_conj ? fnzi_add_step(r, 0, FNZI_STEP_NEG, args, 1) : FNZ_OK;
}
