/* custom.c - declared operators that write: the functional form is computed on values, and each
 * written tensor takes its new one, in the order of the arguments.
 *
 * So the operator sees the values that its arguments have before the call. If tensors that it
 * writes share memory, it is computed on that memory instead. A written tensor that overlaps itself
 * is refused. */
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

/* In the order of the functional form: the results of the operator, then the other written
 * arguments. */
static fnz_status find_places(fnzi_eag_op *s, places *out) {
  const fnzi_param *written;
  *out = (places){.count = 0};
  size_t most = 0;
  for (size_t i = 0; i < s->op->nparams; i++)
    most += s->args[i].tag == FNZ_ARG_LIST ? s->args[i].count : 1;
  for (size_t i = 0; i < s->node->noutputs; i++)
    most += s->node->outputs[i].tag == FNZ_ARG_LIST ? s->node->outputs[i].count : 1;
  FNZI_NEW(&s->in->run.scratch, most, &out->data);
  for (size_t i = 0; i < s->op->nreturns; i++) {
    written = fnzi_op_returned(s->op, &s->op->returns[i]);
    if (written)
      FNZ_TRY(add_written(s, written, out));
    else {
      /* The new tensors of result `i` of the node, a list or a single one. */
      const fnz_arg *result = &s->node->outputs[i];
      bool is_list = result->tag == FNZ_ARG_LIST;
      for (size_t k = 0; k < (is_list ? result->count : 1); k++)
        out->data[out->count++] =
            (place){.expected = fnzi_eag_op_recorded(s, is_list ? result->u.list : result, k)};
    }
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

static fnz_status custom_write_all(fnzi_eag_op *s, const places *all, fnz_handle *values) {
  size_t *starts; /* per argument */
  FNZI_NEW(&s->in->run.scratch, s->op->nparams, &starts);
  for (size_t i = all->count; i-- > 0;)
    if (all->data[i].written)
      starts[all->data[i].written - s->op->params] = i;
  for (size_t i = 0; i < s->op->nparams; i++) {
    size_t at = starts[i];
    /* An argument is a tensor, or a list of them in this order. */
    for (; at < all->count && all->data[at].written == &s->op->params[i]; at++) {
      fnz_handle owned = values[at];
      if (!all->data[at].target || !owned)
        continue;
      values[at] = 0;
      FNZ_TRY(fnzi_eag_tensor_write(s->in, all->data[at].target, owned, NULL));
    }
  }
  return FNZ_OK;
}

/* --- Tensors that share memory ---------------------------------------------------------------- */

/* Memories that are written: each as one dimension. */
typedef struct memories {
  fnzi_eag_tensor **data;
  size_t count;
} memories;

static fnz_status add_window(fnzi_eag_op *s, const fnz_arg *item, memories *all, fnz_arg *numbers,
                             uint32_t *count) {
  fnzi_eag_tensor *t;
  size_t at = 0; /* the index of the item's memory */
  if (item->tag != FNZ_ARG_VALUE) {
    numbers[(*count)++] = fnzi_arg_int(-1);
    return FNZ_OK;
  }
  FNZ_TRY(fnzi_eag_op_tensor(s, item, &t));
  while (at < all->count && all->data[at]->memory != t->memory)
    at++;
  if (at == all->count) {
    fnz_backend *b = s->in->run.backend;
    fnzi_eag_window w = {.dtype = t->g->dtype, .rank = 1, .strides = {1}};
    w.sizes[0] = (int64_t)(t->memory->bytes / b->cell_bytes(b->self, w.dtype));
    FNZ_TRY(fnzi_eag_tensor_create(s->in, t->memory, &w, &all->data[all->count++]));
    t->memory->users--;
  }
  numbers[(*count)++] = fnzi_arg_int((int64_t)at);
  numbers[(*count)++] = fnzi_arg_int(t->g->rank);
  numbers[(*count)++] = fnzi_arg_int(t->g->offset);
  for (uint32_t d = 0; d < t->g->rank; d++)
    numbers[(*count)++] = fnzi_arg_int(t->g->sizes[d]);
  for (uint32_t d = 0; d < t->g->rank; d++)
    numbers[(*count)++] = fnzi_arg_int(t->g->strides[d]);
  return FNZ_OK;
}

/* Describes a written argument as windows of memories. */
static fnz_status windows(fnzi_eag_op *s, const fnzi_param *p, const fnz_arg *given, memories *all,
                          fnz_arg *out) {
  bool is_list = given->tag == FNZ_ARG_LIST;
  uint32_t items = is_list ? given->count : !p->is_list, count = 0;
  fnz_arg *numbers;
  FNZI_NEW(&s->in->run.scratch, 1 + items * (3 + 2 * (size_t)FNZ_MAX_RANK), &numbers);
  if (p->is_list)
    numbers[count++] = fnzi_arg_int(is_list ? (int64_t)given->count : -1);
  for (uint32_t i = 0; i < items; i++)
    FNZ_TRY(add_window(s, is_list ? &given->u.list[i] : given, all, numbers, &count));
  *out = (fnz_arg){.tag = FNZ_ARG_LIST, .count = count, .u.list = numbers};
  return FNZ_OK;
}

/* The arguments of the form on bases, which are handles. */
static fnz_status base_args(fnzi_eag_op *s, const fnz_op *form, memories *all, fnz_arg **out) {
  fnz_arg *lowered, *items, *list = NULL;
  fnz_request call = {s->op, s->args, s->op->nparams, NULL, ""};
  FNZ_TRY(fnzi_eag_lower(s->in, &call, &lowered));
  FNZI_NEW(&s->in->run.scratch, form->nparams, out);
  for (size_t i = 0; i < form->nparams; i++) {
    int from = fnzi_op_param(s->op, form->params[i].name);
    if (from < 0)
      list = &(*out)[i];
    else if (s->op->params[from].is_write)
      FNZ_TRY(windows(s, &s->op->params[from], &s->args[from], all, &(*out)[i]));
    else
      (*out)[i] = lowered[from];
  }
  FNZI_NEW(&s->in->run.scratch, all->count, &items);
  for (size_t k = 0; k < all->count; k++) {
    items[k].tag = FNZ_ARG_VALUE;
    FNZ_TRY(fnzi_eag_tensor_value(s->in, all->data[k], &items[k].u.value));
  }
  if (list)
    *list = (fnz_arg){.tag = FNZ_ARG_LIST, .count = (uint32_t)all->count, .u.list = items};
  return FNZ_OK;
}

/* Results that are new, then the bases. */
static fnz_status take_bases(fnzi_eag_op *s, const memories *all, const places *own,
                             fnz_handle *values, size_t count) {
  fnz_backend *backend = s->in->run.backend;
  fnz_handle *bases = values + count - all->count;
  fnz_status status = FNZ_OK;
  size_t next = 0;
  for (size_t k = 0; k < all->count && status == FNZ_OK; k++) {
    fnz_handle owned = bases[k];
    bases[k] = 0;
    status = fnzi_eag_tensor_write(s->in, all->data[k], owned, NULL);
  }
  for (size_t i = 0; i < own->nreturned && status == FNZ_OK; i++)
    status = own->data[i].written
                 ? fnzi_eag_op_push(s, own->data[i].target)
                 : fnzi_eag_op_push_value(s, own->data[i].expected, values[next++]);
  for (size_t i = 0; i < count; i++)
    if (values[i])
      backend->release(backend->self, values[i]);
  return status;
}

/* The operator as a function of the memories and of the windows that it writes. */
static fnz_status write_bases(fnzi_eag_op *s, const places *own) {
  const fnz_op *form = fnzi_op_on_bases(s->op);
  const fnz_geometry **expected;
  fnz_handle *values;
  fnz_arg *args;
  size_t count = 0;
  memories all = {.count = 0};
  if (!form)
    return fnzi_fail(s->ctx, FNZ_CLASS_OVERLAP, "",
                     "%s writes two arguments that share memory, and has no form for that; clone() "
                     "one of them",
                     s->op->name);
  FNZI_NEW(&s->in->run.scratch, own->count, &all.data);
  FNZ_TRY(base_args(s, form, &all, &args));
  FNZI_NEW(&s->in->run.scratch, own->nreturned + all.count, &expected);
  FNZI_NEW(&s->in->run.scratch, own->nreturned + all.count, &values);
  for (size_t i = 0; i < own->nreturned; i++)
    if (!own->data[i].written)
      expected[count++] = own->data[i].expected;
  for (size_t k = 0; k < all.count; k++)
    expected[count++] = all.data[k]->g;
  const fnz_request call = {form, args, form->nparams, expected, ""};
  FNZ_TRY(fnzi_run_apply(&s->in->run, &call, values, count));
  return take_bases(s, &all, own, values, count);
}

fnz_status fnzi_eag_custom(fnzi_eag_op *s) {
  const fnz_op *twin = fnz_op_functional_twin(s->op);
  const fnz_geometry **expected;
  fnz_handle *values;
  fnz_arg *args;
  places all;
  bool shares;
  if (!twin || s->op->is_view)
    return fnzi_fail(s->ctx, FNZ_CLASS_UNSUPPORTED, "",
                     "%s writes an argument and has no functional form", s->op->name);
  FNZ_TRY(find_places(s, &all));
  FNZ_TRY(check_places(s, &all));
  shares = false;
  for (size_t i = 1; i < all.count; i++)
    for (size_t j = 0; j < i && !shares; j++) {
      const fnzi_eag_tensor *a = all.data[i].target, *b = all.data[j].target;
      if (a && b && a->memory == b->memory)
        FNZ_TRY(fnzi_eag_places_meet(s->ctx, a->g, b->g, &shares));
    }
  if (shares)
    return write_bases(s, &all);
  FNZI_NEW(&s->in->run.scratch, twin->nparams, &args);
  for (size_t i = 0; i < twin->nparams; i++)
    args[i] = s->args[fnzi_op_param(s->op, twin->params[i].name)];
  FNZI_NEW(&s->in->run.scratch, all.count, &expected);
  FNZI_NEW(&s->in->run.scratch, all.count, &values);
  for (size_t i = 0; i < all.count; i++)
    expected[i] = all.data[i].expected;
  const fnz_request call = {twin, args, twin->nparams, expected, ""};
  FNZ_TRY(fnzi_eag_apply(s->in, call, values, all.count));
  fnz_backend *backend = s->in->run.backend;
  fnz_status status = custom_write_all(s, &all, values);
  for (size_t i = 0; status == FNZ_OK && i < all.nreturned; i++)
    status = all.data[i].written ? fnzi_eag_op_push(s, all.data[i].target)
                                 : fnzi_eag_op_push_value(s, all.data[i].expected, values[i]);
  for (size_t i = 0; i < all.count; i++)
    if (values[i])
      backend->release(backend->self, values[i]);
  return status;
}
