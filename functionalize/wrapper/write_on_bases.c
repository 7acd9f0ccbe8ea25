/* write_on_bases.c - a custom operator that writes several tensors which share memory.
 *
 * Its functional form on values would write to one of them what the other one does not see. So the
 * call becomes one of the form on bases (fnzi_derive_on_bases()): a function of all elements of
 * each memory, and of the windows of it that are written. PyTorch has auto_functionalized_v2 for
 * that.
 *
 * needs   a declared operator; memory that its root fills
 * gives   one call of the form on bases, and its results as the values of the memories */
#include "functionalize/wrapper/write_twin.h"

typedef struct bases {
  const fnzi_wrap_twin_call *c;
  fnz_wrapper *wrapper;
  const fnz_op *form;
  fnzi_wrap_alias **roots, **flats; /* of each memory, and that as one dimension */
  size_t count;
} bases;

static fnz_status on_bases_refuse(const bases *b, const char *why) {
  return fnzi_fail_for(b->wrapper->ctx, FNZI_REASON_NO_ROUTE, FNZ_CLASS_OVERLAP, NULL,
                       "%s writes two arguments that share memory, and %s; clone() one of them",
                       b->c->call.op->name, why);
}

/* --- memories --------------------------------------------------------------------------------- */
static fnz_status base_of(bases *b, const fnz_tensor *t, size_t *out) {
  fnzi_wrap_alias *root = t->alias->storage->root;
  for (*out = 0; *out < b->count; ++*out)
    if (b->roots[*out] == root)
      return FNZ_OK;
  if (fnzi_wrap_geometry(t)->dtype != root->geometry.dtype)
    return on_bases_refuse(b, "one of them shows it as another element type");
  /* All elements of the memory of `root`, in their order. */
  const fnz_geometry *g = &root->geometry;
  const int64_t numel = fnz_geometry_numel(g), one = 1;
  const fnz_geometry flat = {.dtype = g->dtype, .rank = 1, .sizes = &numel, .strides = &one};
  if (!fnzi_is_dense(g) || g->offset != 0 || g->is_conj || g->is_neg)
    return on_bases_refuse(b, "its tensors do not fill that memory");
  FNZ_TRY(fnzi_wrap_alias_window(b->wrapper, root, &flat, &b->flats[b->count]));
  b->roots[b->count++] = root;
  return FNZ_OK;
}

/* --- arguments -------------------------------------------------------------------------------- */
typedef struct numbers {
  fnz_arg *data;
  uint32_t count;
} numbers;

static void on_bases_add(numbers *n, const int64_t *values, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    n->data[n->count++] = fnzi_arg_int(values[i]);
}

static fnz_status add_window(bases *b, const fnz_arg *written, numbers *n) {
  const int64_t none = -1;
  size_t base;
  if (written->tag != FNZ_ARG_VALUE) {
    on_bases_add(n, &none, 1);
    return FNZ_OK;
  }
  const fnz_geometry *g = fnzi_wrap_geometry(written->u.tensor);
  if (g->is_conj || g->is_neg)
    return on_bases_refuse(b, "one of them has a conjugate or negative bit");
  FNZ_TRY(base_of(b, written->u.tensor, &base));
  const int64_t head[] = {(int64_t)base, g->rank, g->offset};
  on_bases_add(n, head, 3);
  on_bases_add(n, g->sizes, g->rank);
  on_bases_add(n, g->strides, g->rank);
  return FNZ_OK;
}

static fnz_status windows(bases *b, const fnzi_param *p, const fnz_arg *written, fnz_arg *out) {
  const bool is_list = written->tag == FNZ_ARG_LIST;
  const uint32_t items = is_list ? written->count : 1;
  const int64_t length = is_list ? (int64_t)written->count : -1;
  numbers n = {.count = 0};
  FNZI_NEW(&b->wrapper->scratch, 1 + items * (3 + 2 * (size_t)FNZ_MAX_RANK), &n.data);
  if (p->is_list)
    on_bases_add(&n, &length, 1);
  for (uint32_t i = 0; i < items && (is_list || !p->is_list); i++)
    FNZ_TRY(add_window(b, is_list ? &written->u.list[i] : written, &n));
  *out = (fnz_arg){.tag = FNZ_ARG_LIST, .count = n.count, .u.list = n.data};
  return FNZ_OK;
}

static fnz_status make_args(bases *b, fnz_arg **out) {
  const fnz_op *op = b->c->call.op;
  fnz_arg *read;
  FNZI_NEW(&b->wrapper->scratch, b->form->nparams, out);
  FNZ_TRY(fnzi_wrap_read_args(b->wrapper, b->c->request->args, op->nparams, &read));
  for (size_t i = 0; i < b->form->nparams; i++) {
    int from = fnzi_op_param(op, b->form->params[i].name);
    if (from < 0) {
      fnz_arg *items;
      fnzi_value_ref *value;
      FNZI_NEW(&b->wrapper->scratch, b->count, &items);
      for (size_t k = 0; k < b->count; k++) {
        FNZ_TRY(fnzi_wrap_read(b->flats[k], &value));
        items[k] = fnzi_arg_value(value->handle);
      }
      (*out)[i] = (fnz_arg){.tag = FNZ_ARG_LIST, .count = (uint32_t)b->count, .u.list = items};
    } else if (op->params[from].is_write)
      FNZ_TRY(windows(b, &op->params[from], &b->c->request->args[from], &(*out)[i]));
    else
      (*out)[i] = read[from];
  }
  return FNZ_OK;
}

/* --- the call --------------------------------------------------------------------------------- */
static fnz_status call(bases *b) {
  const fnz_geometry **expected = NULL;
  fnz_arg *args;
  size_t first, count, own = 0;
  size_t unused;
  FNZI_NEW(&b->wrapper->scratch, b->c->count, &b->roots);
  FNZI_NEW(&b->wrapper->scratch, b->c->count, &b->flats);
  for (size_t k = 0; k < b->c->count; k++)
    if (b->c->slots[k].target)
      FNZ_TRY(base_of(b, b->c->slots[k].target, &unused));
  /* Results that are new, as the trace records them, then the bases. `own` counts the new ones. */
  FNZI_NEW(&b->wrapper->scratch, b->c->nreturned + b->count, &expected);
  for (size_t i = 0; i < b->c->nreturned; i++) {
    if (b->c->slots[i].param)
      continue;
    if (!b->c->slots[i].recorded)
      return on_bases_refuse(b, "the program does not say what it returns");
    expected[own++] = b->c->slots[i].recorded;
  }
  for (size_t k = 0; k < b->count; k++)
    expected[own + k] = &b->flats[k]->geometry;
  FNZ_TRY(make_args(b, &args));
  FNZ_TRY(fnzi_wrap_apply_values(b->wrapper, (fnzi_op_call){b->form, args, b->form->nparams},
                                 expected, own + b->count, &first, &count));
  if (count != own + b->count)
    return fnzi_fail(b->wrapper->ctx, FNZ_CLASS_INTERNAL, NULL, "%s gave %zu results, wanted %zu",
                     b->form->name, count, own + b->count);
  for (size_t k = 0; k < b->count; k++)
    FNZ_TRY(fnzi_wrap_write(b->flats[k], b->wrapper->fresh.data[first + own + k]));
  for (size_t i = 0; i < b->c->nreturned; i++)
    FNZ_TRY(b->c->slots[i].param
                ? fnzi_wrap_give(b->wrapper, b->c->request, b->c->slots[i].target)
                : fnzi_wrap_give_fresh(b->wrapper, b->c->request, b->wrapper->fresh.data[first++]));
  return FNZ_OK;
}

fnz_status fnzi_wrap_write_on_bases(const fnzi_wrap_twin_call *c) {
  bases b = {.c = c, .wrapper = c->wrapper, .form = fnzi_op_on_bases(c->call.op)};
  if (!b.form || fnzi_wrap_has_words(c->request->args, c->call.op->nparams))
    return on_bases_refuse(&b, b.form ? "sizes are not fixed" : "it has no form for that");
  fnz_status status = call(&b);
  for (size_t k = 0; k < b.count; k++)
    fnzi_wrap_alias_release(b.flats[k]);
  return status;
}
