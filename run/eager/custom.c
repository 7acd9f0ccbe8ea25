/* custom.c - declared operators that write: the functional form is computed on values, and each
 * written tensor takes its new one, in the order of the arguments.
 *
 * So the operator sees the values that its arguments have before the call, also where they share
 * memory; a written tensor that overlaps itself is refused. */
#include "run/eager/eager.h"
#include "schema/twins.h"

/* A result of the functional form: a new tensor, or the new value of an argument. */
typedef struct place {
  const fnzi_param *written; /* NULL: a new tensor */
  fnzi_eag_tensor *target;   /* NULL: None was given */
  const fnz_geometry *expected;
} place;

typedef struct places {
  place *data;
  size_t count, nreturned;
} places;

/* --- Results ---------------------------------------------------------------------------------- */

static fnz_status add_written(fnzi_eag_op *s, const fnzi_param *p, places *out) {
  const fnz_arg *arg = &s->args[p - s->op->params];
  bool is_list = arg->tag == FNZ_ARG_LIST;
  size_t n = is_list ? arg->count : !p->is_list;
  for (size_t i = 0; i < n; i++) {
    const fnz_arg *item = is_list ? &arg->u.list[i] : arg;
    place *at = &out->data[out->count++];
    *at = (place){.written = p};
    if (item->tag == FNZ_ARG_VALUE)
      FNZ_TRY(fnzi_eag_op_tensor(s, item, &at->target));
    at->expected = at->target ? at->target->g : NULL;
  }
  return FNZ_OK;
}

/* The new tensors of result `i` of the node, a list or a single one. */
static void add_new(fnzi_eag_op *s, size_t i, places *out) {
  const fnz_arg *result = &s->node->outputs[i];
  bool is_list = result->tag == FNZ_ARG_LIST;
  for (size_t k = 0; k < (is_list ? result->count : 1); k++)
    out->data[out->count++] =
        (place){.expected = fnzi_eag_op_recorded(s, is_list ? result->u.list : result, k)};
}

static size_t most_places(const fnzi_eag_op *s) {
  size_t most = 0;
  for (size_t i = 0; i < s->op->nparams; i++)
    most += s->args[i].tag == FNZ_ARG_LIST ? s->args[i].count : 1;
  for (size_t i = 0; i < s->node->noutputs; i++)
    most += s->node->outputs[i].tag == FNZ_ARG_LIST ? s->node->outputs[i].count : 1;
  return most;
}

/* In the order of the functional form: the results of the operator, then the other written
 * arguments. */
static fnz_status find_places(fnzi_eag_op *s, places *out) {
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

static fnz_status check_places(const fnzi_eag_op *s, const places *all) {
  bool meet = false;
  for (size_t i = 0; i < all->count && !meet; i++)
    if (all->data[i].target)
      FNZ_TRY(fnzi_eag_places_overlap(s->ctx, all->data[i].target->g, &meet));
  return meet ? fnzi_fail(s->ctx, FNZ_CLASS_OVERLAP, "",
                          "%s writes a tensor that shares elements with itself, and it is unknown "
                          "which of the values stays; clone it before",
                          s->op->name)
              : FNZ_OK;
}

/* --- Writing ---------------------------------------------------------------------------------- */

/* Writes the new values of one argument: a tensor, or the tensors of a list in their order. */
static fnz_status write_param(fnzi_eag_op *s, const fnzi_param *p, const places *all, size_t at,
                              fnz_handle *values) {
  for (; at < all->count && all->data[at].written == p; at++) {
    fnz_handle owned = values[at];
    if (!all->data[at].target || !owned)
      continue;
    values[at] = 0;
    FNZ_TRY(fnzi_eag_tensor_write(s->in, all->data[at].target, owned, NULL));
  }
  return FNZ_OK;
}

static fnz_status write_all(fnzi_eag_op *s, const places *all, fnz_handle *values) {
  size_t *starts; /* per argument */
  FNZI_NEW(&s->in->run.scratch, s->op->nparams, &starts);
  for (size_t i = all->count; i-- > 0;)
    if (all->data[i].written)
      starts[all->data[i].written - s->op->params] = i;
  for (size_t i = 0; i < s->op->nparams; i++)
    FNZ_TRY(write_param(s, &s->op->params[i], all, starts[i], values));
  return FNZ_OK;
}

static fnz_status take_all(fnzi_eag_op *s, const places *all, fnz_handle *values) {
  fnz_backend *backend = s->in->run.backend;
  fnz_status status = write_all(s, all, values);
  for (size_t i = 0; status == FNZ_OK && i < all->nreturned; i++)
    status = all->data[i].written ? fnzi_eag_op_push(s, all->data[i].target)
                                  : fnzi_eag_op_push_value(s, all->data[i].expected, values[i]);
  for (size_t i = 0; i < all->count; i++)
    if (values[i])
      backend->release(backend->self, values[i]);
  return status;
}

fnz_status fnzi_eag_custom(fnzi_eag_op *s) {
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
  FNZI_NEW(&s->in->run.scratch, twin->nparams, &args);
  for (size_t i = 0; i < twin->nparams; i++)
    args[i] = s->args[fnzi_op_param(s->op, twin->params[i].name)];
  FNZI_NEW(&s->in->run.scratch, all.count, &expected);
  FNZI_NEW(&s->in->run.scratch, all.count, &values);
  for (size_t i = 0; i < all.count; i++)
    expected[i] = all.data[i].expected;
  FNZ_TRY(fnzi_eag_apply(s->in, twin, args, twin->nparams, expected, values, all.count));
  return take_all(s, &all, values);
}
