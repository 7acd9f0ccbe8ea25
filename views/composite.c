/* composite.c - what the rules of composites share: reading arguments, and adding steps to results.
 */
#include "views/composite.h"

/* --- arguments and results -------------------------------------------------------------------- */
fnz_arg fnzi_composite_arg_named(const fnzi_resolving *r, const char *name) {
  int i = fnzi_op_param(r->op, name);
  return i < 0 ? fnzi_arg_default() : fnzi_composite_arg(r, (size_t)i);
}

fnz_status fnzi_composite_arg_dim(const fnzi_resolving *r, size_t i, uint32_t *out) {
  fnz_arg a = fnzi_composite_arg(r, i);
  if (a.tag != FNZ_ARG_INT)
    return fnzi_fail(r->ctx, FNZ_CLASS_TYPE, NULL,
                     "%s: argument `%s` must be an integer that is "
                     "known",
                     r->op->name, r->op->params[i].name);
  return fnzi_wrap_dim(r->ctx, r->op->name, a.u.i, r->self->rank, out);
}

fnz_status fnzi_composite_arg_ints(const fnzi_resolving *r, size_t i, fnzi_int **out,
                                   size_t *count) {
  fnz_arg a = fnzi_composite_arg(r, i), one[] = {a};
  if (fnzi_arg_is_int(&a))
    a = (fnz_arg){.tag = FNZ_ARG_LIST, .count = 1, .u.list = one};
  bool known = a.tag == FNZ_ARG_LIST;
  for (size_t k = 0; known && k < a.count; k++)
    known = fnzi_arg_is_int(&a.u.list[k]);
  if (!known)
    return fnzi_fail(r->ctx, FNZ_CLASS_TYPE, NULL,
                     "%s: argument `%s` must be a list of integers "
                     "that are known",
                     r->op->name, r->op->params[i].name);
  FNZI_NEW(r->arena, a.count, out);
  for (size_t k = 0; k < a.count; k++)
    (*out)[k] = fnzi_arg_word(&a.u.list[k]);
  *count = a.count;
  return FNZ_OK;
}

fnz_status fnzi_composite_results(fnzi_resolving *r, size_t count) {
  FNZ_TRY(fnzi_view_results_check(r->ctx, r->op, count));
  FNZI_NEW(r->arena, count, &r->out->items);
  r->out->count = count;
  return FNZ_OK;
}

fnz_status fnzi_composite_add_step(fnzi_resolving *r, size_t k, fnzi_step_op step,
                                   const fnz_arg *args, size_t nargs) {
  fnzi_composite_item *item = &r->out->items[k];
  fnz_arg *copy;
  FNZI_NEW(r->arena, nargs, &copy);
  memcpy(copy, args, nargs * sizeof *copy);
  r->used |= 1u << step;
  item->steps[item->nsteps++] = (fnzi_op_call){fnzi_op_of_step(step), copy, nargs};
  return FNZ_OK;
}

fnz_status fnzi_composite_add_sizes_step(fnzi_resolving *r, size_t k, fnzi_step_op step,
                                         const fnzi_int *sizes, size_t rank) {
  fnz_arg args[2] = {fnzi_arg_default()};
  FNZ_TRY(fnzi_arg_of_ints(r->arena, sizes, rank, &args[1]));
  return fnzi_composite_add_step(r, k, step, args, 2);
}

fnz_status fnzi_composite_add_like_step(fnzi_resolving *r, size_t k, fnzi_step_op step,
                                        const fnz_geometry *like) {
  fnz_arg args[2] = {fnzi_arg_default()};
  FNZ_TRY(fnzi_arg_of_sizes(r->arena, like, &args[1]));
  return fnzi_composite_add_step(r, k, step, args, 2);
}

fnz_status fnzi_composite_add_int_step(fnzi_resolving *r, size_t k, fnzi_step_op step, int64_t a) {
  const fnz_arg args[] = {fnzi_arg_default(), fnzi_arg_int(a)};
  return fnzi_composite_add_step(r, k, step, args, 2);
}

fnz_status fnzi_composite_add_ints_step(fnzi_resolving *r, size_t k, fnzi_step_op step, int64_t a,
                                        int64_t b) {
  const fnz_arg args[] = {fnzi_arg_default(), fnzi_arg_int(a), fnzi_arg_int(b)};
  return fnzi_composite_add_step(r, k, step, args, 3);
}

fnz_status fnzi_composite_is_call(fnzi_resolving *r, fnzi_step_op step, const fnz_arg *args,
                                  size_t nargs) {
  FNZ_TRY(fnzi_composite_results(r, 1));
  return fnzi_composite_add_step(r, 0, step, args, nargs);
}

fnz_status fnzi_composite_is_self(fnzi_resolving *r) {
  return fnzi_composite_results(r, 1);
}
