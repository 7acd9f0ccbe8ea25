/* original_custom.c - declared operators that write: the functional form is computed on values, and
 * each written tensor takes its new one.
 *
 * Nobody knows in which order such an operator reads and writes, so a written tensor that shares an
 * element with another argument, or with itself, is refused. */
#include "run/original.h"
#include "schema/twins.h"

/* A result of the functional form: a new tensor, or the new value of an argument. */
typedef struct place {
  bool is_written;
  fnzi_eager *target; /* NULL: None was given */
  const fnz_geometry *expected;
} place;

typedef struct places {
  place *data;
  size_t count, nreturned;
} places;

/* --- What it gets -------------------------------------------------------------------------------
 */

typedef struct tensors {
  fnzi_act *s;
  fnzi_eager **data;
  size_t count;
} tensors;

static fnz_status count_tensor(void *user, const fnz_arg *arg) {
  ((tensors *)user)->count += arg->tag == FNZ_ARG_VALUE;
  return FNZ_OK;
}

static fnz_status add_tensor(void *user, const fnz_arg *arg) {
  tensors *all = user;
  if (arg->tag != FNZ_ARG_VALUE)
    return FNZ_OK;
  return fnzi_act_tensor(all->s, arg, &all->data[all->count++]);
}

static fnz_status find_tensors(fnzi_act *s, tensors *out) {
  *out = (tensors){.s = s};
  FNZ_TRY(fnzi_args_visit(s->args, s->op->nparams, count_tensor, out));
  FNZI_NEW(&s->in->run.scratch, out->count, &out->data);
  out->count = 0;
  return fnzi_args_visit(s->args, s->op->nparams, add_tensor, out);
}

static fnz_status overlap(const fnzi_act *s, const char *with) {
  return fnzi_fail(s->ctx, FNZ_CLASS_OVERLAP, "",
                   "%s writes a tensor that shares elements with %s, and nobody knows the order in "
                   "which it reads and writes; clone it before",
                   s->op->name, with);
}

static fnz_status check_target(fnzi_act *s, const tensors *all, const fnzi_eager *target) {
  bool meet;
  size_t times = 0; /* that the operator gets any of the elements */
  FNZ_TRY(fnzi_cells_overlap(s->ctx, target->g, &meet));
  if (meet)
    return overlap(s, "itself");
  for (size_t i = 0; i < all->count; i++) {
    if (all->data[i]->memory != target->memory)
      continue;
    FNZ_TRY(fnzi_act_meet(s, target->g, all->data[i]->g, &meet));
    times += meet;
  }
  return times > 1 ? overlap(s, "another argument") : FNZ_OK;
}

/* --- What it gives ------------------------------------------------------------------------------
 */

static fnz_status add_written(fnzi_act *s, const fnzi_param *p, places *out) {
  const fnz_arg *arg = &s->args[p - s->op->params];
  bool is_list = arg->tag == FNZ_ARG_LIST;
  size_t n = is_list ? arg->count : !p->is_list;
  for (size_t i = 0; i < n; i++) {
    const fnz_arg *item = is_list ? &arg->u.list[i] : arg;
    place *at = &out->data[out->count++];
    *at = (place){.is_written = true};
    if (item->tag == FNZ_ARG_VALUE)
      FNZ_TRY(fnzi_act_tensor(s, item, &at->target));
    at->expected = at->target ? at->target->g : NULL;
  }
  return FNZ_OK;
}

/* The new tensors of result `i` of the node, a list or a single one. */
static void add_new(fnzi_act *s, size_t i, places *out) {
  const fnz_arg *result = &s->node->outputs[i];
  bool is_list = result->tag == FNZ_ARG_LIST;
  for (size_t k = 0; k < (is_list ? result->count : 1); k++)
    out->data[out->count++] =
        (place){.expected = fnzi_act_recorded(s, is_list ? result->u.list : result, k)};
}

static size_t most_places(const fnzi_act *s) {
  size_t most = 0;
  for (size_t i = 0; i < s->op->nparams; i++)
    most += s->args[i].tag == FNZ_ARG_LIST ? s->args[i].count : 1;
  for (size_t i = 0; i < s->node->noutputs; i++)
    most += s->node->outputs[i].tag == FNZ_ARG_LIST ? s->node->outputs[i].count : 1;
  return most;
}

/* In the order of the functional form: the operator's results, then what it writes besides. */
static fnz_status find_places(fnzi_act *s, places *out) {
  const fnzi_param *written;
  *out = (places){.count = 0};
  FNZI_NEW(&s->in->run.scratch, most_places(s), &out->data);
  for (size_t i = 0; i < s->op->nreturns; i++) {
    written = fnzi_op_returned(s->op, &s->op->returns[i]);
    if (written)
      FNZ_TRY(add_written(s, written, out));
    else
      add_new(s, i, out);
  }
  out->nreturned = out->count;
  for (fnzi_written_walk walk = {0}; fnzi_written_next(s->op, &walk, &written);)
    FNZ_TRY(add_written(s, written, out));
  return FNZ_OK;
}

static fnz_status check_places(fnzi_act *s, const places *all) {
  tensors got;
  FNZ_TRY(find_tensors(s, &got));
  for (size_t i = 0; i < all->count; i++)
    if (all->data[i].target)
      FNZ_TRY(check_target(s, &got, all->data[i].target));
  return FNZ_OK;
}

/* --- Doing it -----------------------------------------------------------------------------------
 */

static fnz_status twin_args(fnzi_act *s, const fnz_op *twin, fnz_arg **out) {
  FNZI_NEW(&s->in->run.scratch, twin->nparams, out);
  for (size_t i = 0; i < twin->nparams; i++)
    (*out)[i] = s->args[fnzi_op_param(s->op, twin->params[i].name)];
  return FNZ_OK;
}

/* Takes one value, which the caller owns. */
static fnz_status take(fnzi_act *s, const place *at, bool is_returned, fnz_handle *value) {
  fnz_handle owned = *value;
  if (!at->is_written)
    return fnzi_act_keep(s, at->expected, owned);
  if (at->target && owned) {
    *value = 0;
    FNZ_TRY(fnzi_eager_write(s->in, at->target, owned, NULL));
  }
  return is_returned ? fnzi_act_push(s, at->target) : FNZ_OK;
}

static fnz_status take_all(fnzi_act *s, const places *all, fnz_handle *values) {
  fnz_backend *backend = s->in->run.backend;
  fnz_status status = FNZ_OK;
  for (size_t i = 0; i < all->count; i++) {
    if (status == FNZ_OK)
      status = take(s, &all->data[i], i < all->nreturned, &values[i]);
    if (values[i])
      backend->release(backend->self, values[i]);
  }
  return status;
}

fnz_status fnzi_act_custom(fnzi_act *s) {
  const fnz_op *twin = fnz_op_functional_twin(s->op);
  const fnz_geometry **expected;
  fnz_handle *values;
  fnz_arg *args;
  places all;
  if (!twin || s->op->is_view)
    return fnzi_fail(s->ctx, FNZ_CLASS_UNSUPPORTED, "",
                     "%s writes an argument and has no functional form", s->op->name);
  FNZ_TRY(find_places(s, &all));
  FNZ_TRY(check_places(s, &all));
  FNZ_TRY(twin_args(s, twin, &args));
  FNZI_NEW(&s->in->run.scratch, all.count, &expected);
  FNZI_NEW(&s->in->run.scratch, all.count, &values);
  for (size_t i = 0; i < all.count; i++)
    expected[i] = all.data[i].expected;
  FNZ_TRY(fnzi_eager_apply(s->in, twin, args, twin->nparams, expected, values, all.count));
  return take_all(s, &all, values);
}
