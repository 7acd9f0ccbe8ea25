/* write.c - operators that write: in place, out= and mutable ones.
 *
 * The functional twin is computed on dense values and its results are put into memory, element by
 * element in row-major order. */
#include "run/eager/eager.h"
#include "schema/twins.h"

#include <stdio.h>

/* --- Writing ---------------------------------------------------------------------------------- */

/* An out= tensor of other sizes is resized, as by resize_. */
static fnz_status resize(fnzi_eag_op *s, fnzi_eag_tensor *target, const fnz_geometry *g,
                         const fnz_geometry *recorded) {
  fnzi_eag_window w;
  fnzi_eag_window_of(target->g, &w);
  w.rank = g->rank;
  memcpy(w.sizes, g->sizes, g->rank * sizeof *w.sizes);
  FNZ_TRY(fnzi_eag_resize_to(s, target, &w));
  /* Eager's iterator chooses the strides of a resized target; operators that PyTorch generates from
   * the functional one copy a row-major result. */
  if (fnz_op_has_tag(s->op, "generated"))
    return FNZ_OK;
  if (s->twin != NULL && fnzi_op_is_elementwise(s->twin))
    fnzi_eag_resized_strides(s, s->twin, s->twin_args, w.rank, w.sizes, w.strides);
  else if (recorded != NULL && fnzi_same_sizes(recorded, g))
    memcpy(w.strides, recorded->strides, g->rank * sizeof *w.strides);
  else
    return FNZ_OK;
  return fnzi_eag_tensor_reshape(s->in, target, &w);
}

static fnz_status fit(fnzi_eag_op *s, fnzi_eag_tensor *target, const fnz_geometry *g,
                      const fnz_geometry *recorded) {
  if (fnzi_same_sizes(target->g, g))
    return FNZ_OK;
  if (s->op->kind != FNZI_KIND_OUT) {
    char into[FNZI_SHAPE_TEXT], from[FNZI_SHAPE_TEXT];
    fnzi_shape_text(target->g, into);
    fnzi_shape_text(g, from);
    return fnzi_fail(
        s->ctx, FNZ_CLASS_BOUNDS, "",
        "the result of %s is %s and does not fit the tensor that it is written to, %s; "
        "an operand must not be larger than that",
        s->op->name, from, into);
  }
  FNZ_TRY(resize(s, target, g, recorded));
  return fnzi_eag_check_resized(s, target);
}

/* Stores a result (owned) in the target, in the target's dtype. */
static fnz_status store(fnzi_eag_op *s, fnzi_eag_tensor *target, const fnz_geometry *recorded,
                        fnz_handle owned) {
  fnz_geometry g = *fnzi_run_geometry_of(&s->in->run, owned);
  fnz_handle value = owned;
  fnz_status status = fit(s, target, &g, recorded);
  if (status == FNZ_OK && g.dtype != target->g->dtype) {
    bool casts =
        fnzi_can_cast(g.dtype, target->g->dtype) && !(s->twin != NULL && fnzi_op_is_exact(s->twin));
    status = casts ? fnzi_eag_unary(s->in, "_to_copy", owned, target->g->dtype, &value)
                   : fnzi_fail(s->ctx, FNZ_CLASS_TYPE, "",
                               "the result of %s is %s and cannot be stored in a tensor of %s",
                               s->op->name, fnzi_dtype(g.dtype)->name,
                               fnzi_dtype(target->g->dtype)->name);
    fnzi_run_release(&s->in->run, owned);
    FNZ_TRY(status);
  }
  if (status == FNZ_OK)
    return fnzi_eag_tensor_write(s->in, target, value, s->in_loop ? NULL : s->order);
  fnzi_run_release(&s->in->run, value);
  return status;
}

/* Random numbers are drawn in the order of the strides that are written by; for an out= variant
 * that PyTorch generated they are drawn as the functional operator draws them, and copied. */
static bool draws_in_place(const fnzi_eag_op *s, const fnz_op *twin) {
  return (twin->tags & FNZI_TAG_RANDOM) && !(s->op->tags & FNZI_TAG_GENERATED);
}

/* A write by the twin's results. */
typedef struct writing {
  fnzi_eag_op *s;
  const fnz_op *twin;
  const fnz_arg *args;           /* of the twin */
  size_t nplain;                 /* results that are no arguments: in ATen they come first */
  fnzi_eag_tensor **targets;     /* of the results after these */
  size_t count;                  /* of all results */
  const fnz_geometry **recorded; /* per result; NULL where the program has none */
} writing;

/* The geometry of result k, for a backend that cannot infer it. Operands promote to the dtype of
 * the first one; the exponents of frexp have the dtype of their target. */
static fnz_status guess(const writing *w, size_t k, const fnz_geometry **out) {
  fnzi_eag_op *s = w->s;
  const fnz_op *twin = w->twin;
  const fnzi_eag_tensor *target = w->targets[k - w->nplain];
  const fnz_geometry *recorded = w->recorded[k];
  fnz_geometry *g;
  FNZI_NEW(&s->in->run.scratch, 1, &g);
  *g = s->op->kind == FNZI_KIND_OUT && recorded != NULL ? *recorded : *target->g;
  g->dtype = target->g->dtype;
  g->is_conj = g->is_neg = false;
  g->symbols = NULL;
  if (fnzi_op_is_elementwise(twin) && k == 0)
    g->dtype = fnzi_op_result_dtype(twin, w->args, twin->nparams, fnzi_eag_op_geometry, s);
  else if (s->knows_own)
    g->dtype = s->own;
  *out = g;
  if ((twin->tags & FNZI_TAG_RANDOM) && !draws_in_place(s, twin)) {
    /* The strides of a copy of the first operand, if that has the sizes of the result; else of
     * rows. */
    const fnz_geometry *operand = twin->nparams > 0 && w->args[0].tag == FNZ_ARG_VALUE
                                      ? fnzi_eag_op_geometry(s, &w->args[0])
                                      : NULL;
    int64_t *strides;
    FNZI_NEW(&s->in->run.scratch, g->rank, &strides);
    fnzi_iterator_strides(&operand, operand && fnzi_same_sizes(operand, g), g->rank, g->sizes,
                          strides);
    g->strides = strides;
    return FNZ_OK;
  }
  return FNZ_OK;
}

static fnz_status write_twin(const writing *w) {
  fnzi_eag_op *s = w->s;
  fnzi_run_state *run = &s->in->run;
  const fnz_geometry **expected;
  fnz_handle *handles;
  FNZI_NEW(&run->scratch, w->count, &expected);
  FNZI_NEW(&run->scratch, w->count, &handles);
  s->twin = w->twin;
  s->twin_args = w->args;
  for (size_t i = 0; i < w->nplain; i++)
    expected[i] = w->recorded[i];
  for (size_t i = w->nplain; (run->hashes || draws_in_place(s, w->twin)) && i < w->count; i++)
    FNZ_TRY(guess(w, i, &expected[i]));
  FNZ_TRY(fnzi_eag_apply_twin(s, w->twin, w->args, expected, handles, w->count));
  fnz_backend *backend = w->s->in->run.backend;
  fnz_status status = FNZ_OK;
  for (size_t i = 0; i < w->count; i++) {
    fnz_handle value = handles[i];
    if (status == FNZ_OK && i >= w->nplain && value != 0) {
      handles[i] = 0;
      status = store(w->s, w->targets[i - w->nplain], w->recorded[i], value);
    } else if (status == FNZ_OK && i < w->nplain) {
      status = fnzi_eag_op_push_value(w->s, w->recorded[i], value);
    }
    if (handles[i] != 0)
      backend->release(backend->self, handles[i]);
  }
  return status;
}

/* --- Element after element -------------------------------------------------------------------- */

typedef struct looping {
  fnzi_eag_op *s;
  const fnz_op *twin;
  const fnz_arg *args;
  fnzi_eag_tensor *target;
  fnzi_eag_tensor **copies; /* per argument: a copy where eager reads all of it first, or NULL */
  const int64_t *index;     /* of the current element, in the target */
  struct {
    fnz_handle *data;
    size_t count, capacity;
  } inputs;
} looping;

/* The current element of a tensor that is broadcast to the target: all sizes are 1. */
static fnz_status write_element_of(looping *l, const fnzi_eag_tensor *t, fnzi_eag_tensor **out) {
  fnzi_eag_window w;
  fnzi_eag_window_of(t->g, &w);
  for (uint32_t d = 0; d < w.rank; d++) {
    int64_t at = l->index[l->target->g->rank - w.rank + d];
    w.offset += w.sizes[d] == 1 ? 0 : at * w.strides[d];
    w.sizes[d] = 1;
  }
  return fnzi_eag_tensor_create(l->s->in, t->memory, &w, out);
}

static fnz_status hold(looping *l, fnz_handle value) {
  FNZI_PUSH(l->s->ctx, &l->inputs, value);
  return FNZ_OK;
}

static fnz_status element_value(void *user, fnz_arg *arg) {
  looping *l = user;
  fnzi_eag_tensor *element, *operand;
  FNZ_TRY(fnzi_eag_op_tensor(l->s, arg, &operand));
  const fnzi_eag_tensor *from = operand; /* or its copy */
  for (size_t i = 0; i < l->twin->nparams && from == operand; i++)
    if (l->copies[i] && fnzi_eag_tensor_of(l->s->in, l->args[i].u.value) == operand)
      from = l->copies[i];
  FNZ_TRY(write_element_of(l, from, &element));
  FNZ_TRY(fnzi_eag_tensor_value(l->s->in, element, &arg->u.value));
  element->memory->users--;
  element->cached = 0;
  fnz_status status = hold(l, arg->u.value);
  if (status != FNZ_OK)
    fnzi_run_release(&l->s->in->run, arg->u.value);
  return status;
}

static fnz_status write_element(void *user, const int64_t *index) {
  looping *l = user;
  fnzi_eag_tensor *element;
  fnz_handle value;
  l->index = index;
  FNZ_TRY(write_element_of(l, l->target, &element));
  fnzi_run_state *run = &l->s->in->run;
  const fnz_geometry *expected[1] = {NULL}, *recorded[1] = {NULL};
  fnz_request call = {l->twin, l->args, l->twin->nparams, expected, ""};
  fnz_status status = fnzi_run_lower(run, element_value, l, &call, NULL);
  const writing w = {l->s, l->twin, l->args, 0, &element, 1, recorded};
  if (status == FNZ_OK && run->hashes)
    status = guess(&w, 0, &expected[0]);
  if (status == FNZ_OK)
    status = fnzi_run_apply(run, &call, &value, 1);
  for (size_t i = 0; i < l->inputs.count; i++)
    fnzi_run_release(&l->s->in->run, l->inputs.data[i]);
  l->inputs.count = 0;
  FNZ_TRY(status);
  element->memory->users--;
  return store(l->s, element, NULL, value);
}

static fnz_status copy_first(looping *l) {
  fnzi_eag_interp *in = l->s->in;
  for (size_t i = 0; i < l->twin->nparams; i++) {
    fnzi_eag_tensor *t = fnzi_eag_arg_tensor(in, &l->args[i]);
    if (t != NULL && t != l->target && t->memory == l->target->memory &&
        fnzi_eag_reads_first(l->s, l->twin, l->args, l->target, t)) {
      fnz_handle value;
      fnzi_eag_window w;
      FNZ_TRY(fnzi_eag_tensor_value(in, t, &value));
      fnzi_eag_window_of(t->g, &w);
      fnzi_eag_window_dense(&w);
      w.is_conj = w.is_neg = false;
      FNZ_TRY(fnzi_eag_tensor_store(in, &w, value, &l->copies[i]));
    }
  }
  return FNZ_OK;
}

static fnz_status write_in_loop(fnzi_eag_op *s, const fnz_op *twin, const fnz_arg *args,
                                fnzi_eag_tensor **targets, size_t count) {
  looping l = {.s = s, .twin = twin, .args = args, .target = targets[0]};
  if (count != 1)
    return fnzi_fail(s->ctx, FNZ_CLASS_OVERLAP, "",
                     "%s writes several tensors and an operand overlaps one of them; clone it "
                     "before",
                     s->op->name);
  FNZI_EACH_ARG(each, args, twin->nparams) {
    /* Every operand broadcasts to the target: out= operators get here with any sizes. */
    const fnzi_eag_tensor *t = fnzi_eag_arg_tensor(l.s->in, each.arg);
    const fnz_geometry *to = l.target->g, *g = t == NULL ? to : t->g;
    for (uint32_t d = 0; d < g->rank; d++) {
      int64_t size = g->sizes[g->rank - 1 - d],
              room = d < to->rank ? to->sizes[to->rank - 1 - d] : -1;
      if (room < 0 || (size != 1 && size != room))
        return fnzi_fail(l.s->ctx, FNZ_CLASS_BOUNDS, "",
                         "%s: an operand has size %lld where the tensor that is written has %lld",
                         l.s->op->name, (long long)size, (long long)(room < 0 ? 1 : room));
    }
  }
  FNZI_NEW(&s->in->run.scratch, twin->nparams, &l.copies);
  fnz_status status = copy_first(&l);
  if (status == FNZ_OK)
    status = fnzi_eag_loop(targets[0]->g, s->order, write_element, &l);
  for (size_t i = 0; i < twin->nparams; i++)
    if (l.copies[i] != NULL)
      fnzi_eag_tensor_end(s->in, l.copies[i]);
  FNZI_VEC_FREE(s->ctx, &l.inputs);
  return status;
}

/* --- Operators by their schema ---------------------------------------------------------------- */

/* Operators whose twin has another name. */
static const struct {
  const char *op, *twin;
} other_twins[] = {
    {"_cummax_helper", "cummax"},
    {"_cummin_helper", "cummin"},
    {"adaptive_avg_pool3d_backward.grad_input", "_adaptive_avg_pool3d_backward"},
};

/* In-place operators without a twin by the rule of the table: the one without the underscore. */
static const fnz_op *twin_of(const fnz_op *op) {
  const fnz_op *twin = fnz_op_functional_twin(op);
  for (size_t i = 0; twin == NULL && i < sizeof other_twins / sizeof *other_twins; i++)
    if (strcmp(other_twins[i].op, op->name) == 0)
      twin = fnzi_ops_find(other_twins[i].twin);
  if (twin != NULL || op->kind != FNZI_KIND_INPLACE)
    return twin;
  twin = fnzi_op_find_stem(op, strlen(op->base) - 1);
  return twin != NULL && twin->kind == FNZI_KIND_FUNCTIONAL ? twin : NULL;
}

static fnz_status add_target(fnzi_eag_op *s, const fnz_arg *arg, fnzi_eag_tensor **targets,
                             size_t *count) {
  const fnz_arg *items = arg->tag == FNZ_ARG_LIST ? arg->u.list : arg;
  size_t n = arg->tag == FNZ_ARG_LIST ? arg->count : 1;
  for (size_t i = 0; i < n; i++) {
    if (items[i].tag == FNZ_ARG_NONE)
      continue;
    FNZ_TRY(fnzi_eag_op_tensor(s, &items[i], &targets[(*count)++]));
  }
  return FNZ_OK;
}

/* In the order of the twin's results: the results of the operator, then its other written
 * arguments. */
static fnz_status find_targets(fnzi_eag_op *s, fnzi_eag_tensor ***out, size_t *count) {
  const fnzi_param *written;
  size_t most = 0;
  for (size_t i = 0; i < s->op->nparams; i++)
    most += s->args[i].tag == FNZ_ARG_LIST ? s->args[i].count : 1;
  FNZI_NEW(&s->in->run.scratch, most, out);
  *count = 0;
  for (size_t i = 0; i < s->op->nreturns; i++) {
    written = fnzi_op_returned(s->op, &s->op->returns[i]);
    if (written != NULL)
      FNZ_TRY(add_target(s, &s->args[written - s->op->params], *out, count));
  }
  for (fnzi_written_walk walk = {0}; fnzi_written_next(s->op, &walk, &written);)
    FNZ_TRY(add_target(s, &s->args[written - s->op->params], *out, count));
  return FNZ_OK;
}

static fnz_status push_aliased(fnzi_eag_op *s, uint32_t alias) {
  for (size_t i = 0; i < s->op->nparams; i++) {
    if (s->op->params[i].alias != alias || !s->op->params[i].is_write)
      continue;
    const fnz_arg *arg = &s->args[i];
    const fnz_arg *items = arg->tag == FNZ_ARG_LIST ? arg->u.list : arg;
    for (size_t k = 0; k < (arg->tag == FNZ_ARG_LIST ? arg->count : 1); k++) {
      fnzi_eag_tensor *t;
      FNZ_TRY(fnzi_eag_op_tensor(s, &items[k], &t));
      FNZ_TRY(fnzi_eag_op_push(s, t));
    }
    return FNZ_OK;
  }
  return FNZ_OK;
}

static fnz_status write_targets(fnzi_eag_op *s, const fnz_op *twin, const fnz_arg *args,
                                fnzi_eag_tensor **targets, size_t count) {
  writing w = {.s = s, .twin = twin, .args = args, .targets = targets};
  int64_t sizes[FNZ_MAX_RANK];
  bool alike = false;
  /* A copy of the tensor itself does nothing. */
  if (count == 1 && strcmp(twin->name, "copy") == 0 && args[1].tag == FNZ_ARG_VALUE &&
      fnzi_eag_tensor_of(s->in, args[1].u.value) == targets[0])
    return FNZ_OK;
  for (size_t i = 0; i < s->op->nreturns; i++)
    w.nplain += s->op->returns[i].alias == 0;
  w.count = w.nplain + count;
  /* The recorded geometry of each result; NULL where the program has none. */
  fnz_arg *results;
  size_t named;
  FNZ_TRY(fnzi_run_node_results(&s->in->run, s->node, &results, &named));
  FNZI_NEW(&s->in->run.scratch, w.count, &w.recorded);
  for (size_t i = 0; i < w.count && i < named; i++)
    w.recorded[i] = fnzi_eag_op_recorded(s, results, i);
  for (size_t i = 0; i < count; i++)
    FNZ_TRY(fnzi_eag_check_write(s, twin, args, targets[i], w.recorded[w.nplain + i]));
  if (s->in_loop)
    return write_in_loop(s, twin, args, targets, count);
  if (count == 1 && !fnzi_op_is_elementwise(twin))
    FNZ_TRY(fnzi_eag_chosen_alike(s, targets[0]->g, sizes, &alike));
  if (alike) {
    /* Elements in one place are written once: `sizes` has one for all of them. */
    fnzi_eag_tensor *target = w.targets[0];
    fnzi_eag_window whole, first;
    const writing only = {w.s, w.twin, w.args, 0, w.targets, 1, w.recorded};
    fnzi_eag_window_of(target->g, &whole);
    first = whole;
    memcpy(first.sizes, sizes, whole.rank * sizeof *sizes);
    FNZ_TRY(fnzi_eag_tensor_reshape(w.s->in, target, &first));
    FNZ_TRY(write_twin(&only));
    return fnzi_eag_tensor_reshape(w.s->in, target, &whole);
  }
  return write_twin(&w);
}

fnz_status fnzi_eag_write(fnzi_eag_op *s) {
  const fnz_op *twin = twin_of(s->op);
  fnz_arg *args;
  fnzi_eag_tensor **targets;
  size_t count;
  bool done = false;
  if (twin == NULL)
    return fnzi_fail(s->ctx, FNZ_CLASS_UNSUPPORTED, "",
                     "%s writes an argument and has no functional twin", s->op->name);
  /* out= arguments have no place in the twin, and some twins have another order. */
  FNZI_NEW(&s->in->run.scratch, twin->nparams, &args);
  for (size_t i = 0; i < twin->nparams; i++) {
    int from = fnzi_op_param_like(s->op, twin, i);
    args[i] = from >= 0 ? s->args[from] : fnzi_arg_get(twin, NULL, 0, i);
  }
  FNZ_TRY(find_targets(s, &targets, &count));
  if (count == 1)
    FNZ_TRY(fnzi_eag_find_dtype(s, twin, targets[0], args));
  if (count == 1)
    FNZ_TRY(fnzi_eag_write_chosen(s, targets[0], &done));
  if (!done)
    FNZ_TRY(write_targets(s, twin, args, targets, count));
  for (size_t i = 0; i < s->op->nreturns; i++)
    if (s->op->returns[i].alias != 0)
      FNZ_TRY(push_aliased(s, s->op->returns[i].alias));
  return FNZ_OK;
}
