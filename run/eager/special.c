/* special.c - the table of operators that do not do what their schema says, and rules of some.
 *
 * List operators work element by element, so that a tensor that is twice in the list is written
 * twice. */
#include "run/eager/eager.h"
#include "schema/aten_names.h"

/* --- Lists ------------------------------------------------------------------------------------ */

/* How many elements the lists have; the first list decides. */
static fnz_status list_length(const fnzi_eag_op *s, uint32_t *out) {
  *out = UINT32_MAX;
  for (size_t i = 0; i < s->op->nparams; i++) {
    const fnzi_param *param = &s->op->params[i];
    if (param->is_list && param->type == FNZI_TYPE_TENSOR && s->args[i].tag != FNZ_ARG_LIST)
      return fnzi_fail(s->ctx, FNZ_CLASS_TYPE, "", "%s: %s is no list of tensors", s->op->name,
                       param->name);
    if (!param->is_list || s->args[i].tag != FNZ_ARG_LIST)
      continue;
    if (*out != UINT32_MAX && s->args[i].count != *out)
      return fnzi_fail(s->ctx, FNZ_CLASS_BOUNDS, "", "%s: %s has %u items, the list before has %u",
                       s->op->name, param->name, s->args[i].count, *out);
    *out = s->args[i].count;
  }
  if (*out == UINT32_MAX)
    *out = 0;
  return FNZ_OK;
}

/* `named`: the result of the node; NULL when the program does not name it. */
static fnz_status element_result(fnzi_eag_op *s, fnzi_eag_op *one, const fnz_arg *named) {
  const fnz_geometry *expected[1] = {NULL};
  if (fnz_op_is_mutating(one->op))
    return fnzi_eag_write(one);
  if (named)
    expected[0] = fnzi_eag_op_recorded(s, named, 0);
  FNZ_TRY(fnzi_eag_op_compute(one, named, expected, 1));
  return fnzi_eag_op_push(s, one->results.data[0]);
}

static fnz_status write_each(fnzi_eag_op *s, const fnz_op *element) {
  uint32_t count;
  fnz_arg *results;
  size_t named;
  FNZ_TRY(list_length(s, &count));
  FNZ_TRY(fnzi_run_node_results(&s->in->run, s->node, &results, &named));
  for (uint32_t k = 0; k < count; k++) {
    fnzi_eag_op one;
    /* The element operator on the k-th item of every list. */
    fnz_arg *args;
    FNZI_NEW(&s->in->run.scratch, element->nparams, &args);
    for (size_t i = 0; i < element->nparams; i++) {
      args[i] = i < s->op->nparams ? s->args[i] : fnzi_arg_get(element, NULL, 0, i);
      if (i < s->op->nparams && s->op->params[i].is_list && args[i].tag == FNZ_ARG_LIST)
        args[i] = args[i].u.list[k];
    }
    one = (fnzi_eag_op){.in = s->in, .ctx = s->ctx, .node = s->node, .op = element, .args = args};
    fnz_status status = element_result(s, &one, k < named ? &results[k] : NULL);
    FNZI_VEC_FREE(s->ctx, &one.results);
    FNZ_TRY(status);
  }
  return FNZ_OK;
}

/* --- The diagonal ----------------------------------------------------------------------------- */

/* Sets every element of the window to the number in args[1]. */
static fnz_status fill_window(fnzi_eag_op *s, fnzi_eag_tensor *self, const fnzi_eag_window *w) {
  const fnz_op *op = fnzi_ops_find("fill.Scalar");
  fnzi_eag_tensor *window;
  fnz_handle value;
  fnz_arg args[2] = {{.tag = FNZ_ARG_VALUE}, s->args[1]};
  if (op == NULL)
    return fnzi_fail(s->ctx, FNZ_CLASS_INTERNAL, "", "there is no operator fill.Scalar");
  FNZ_TRY(fnzi_eag_tensor_create(s->in, self->memory, w, &window));
  window->memory->users--;
  FNZ_TRY(fnzi_eag_tensor_value(s->in, window, &args[0].u.value));
  const fnz_geometry *expected[1] = {window->g};
  fnz_request call = {op, args, 2, expected, ""};
  FNZ_TRY(fnzi_run_apply(&s->in->run, &call, &value, 1));
  return fnzi_eag_tensor_write(s->in, window, value, NULL);
}

static fnz_status fill_diagonal(fnzi_eag_op *s) {
  fnzi_eag_tensor *self;
  FNZ_TRY(fnzi_eag_op_tensor(s, &s->args[0], &self));
  if (s->args[1].tag == FNZ_ARG_VALUE)
    return fnzi_fail(s->ctx, FNZ_CLASS_TYPE, "", "%s takes a number, not a tensor", s->op->name);
  const fnz_geometry *g = self->g;
  fnzi_eag_window w = {.dtype = g->dtype, .rank = 1, .is_conj = g->is_conj, .is_neg = g->is_neg};
  if (g->rank < 2)
    return fnzi_eag_op_refuse(s, "at least two dimensions are needed", g->rank, 2);
  w.offset = g->offset;
  w.sizes[0] = g->sizes[0] < g->sizes[1] ? g->sizes[0] : g->sizes[1];
  for (uint32_t d = 0; d < g->rank; d++) {
    if (g->rank > 2 && g->sizes[d] != g->sizes[0])
      return fnzi_eag_op_refuse(s, "the sizes must be equal", g->sizes[0], g->sizes[d]);
    w.strides[0] = fnzi_run_wrap_add(w.strides[0], g->strides[d]);
  }
  FNZ_TRY(fill_window(s, self, &w));
  /* With wrap, the diagonal of a tall matrix begins again below, after one row without. */
  int64_t step = g->sizes[1] + 1;
  if (fnzi_eag_op_int(s, 2, 0) != 0 && g->rank == 2 && g->sizes[0] > step) {
    w.sizes[0] = (fnz_geometry_numel(g) + step - 1) / step - w.sizes[0];
    w.offset = fnzi_run_wrap_add(g->offset, fnzi_run_wrap_mul(g->strides[0], step));
    FNZ_TRY(fill_window(s, self, &w));
  }
  return fnzi_eag_op_push(s, self);
}

/* A copy onto itself writes nothing; one through another tensor is checked as all writes. */
static fnz_status copy(fnzi_eag_op *s) {
  fnzi_eag_tensor *self, *source;
  bool overlaps = false;
  FNZ_TRY(fnzi_eag_op_tensor(s, &s->args[0], &self));
  if (s->args[1].tag != FNZ_ARG_VALUE) {
    fnzi_eag_window w;
    fnzi_eag_window_of(self->g, &w);
    FNZ_TRY(fill_window(s, self, &w));
    return fnzi_eag_op_push(s, self);
  }
  FNZ_TRY(fnzi_eag_op_tensor(s, &s->args[1], &source));
  bool same = self->memory == source->memory && fnzi_geometry_equal(self->g, source->g);
  if (same && self != source)
    FNZ_TRY(fnzi_eag_places_overlap(s->ctx, self->g, &overlaps));
  return same && !overlaps ? fnzi_eag_op_push(s, self) : fnzi_eag_write(s);
}

/* --- Places in memory ------------------------------------------------------------------------- */

/* The tensor whose memory the scatter copies: self, or a clone where a stride is 0. */
static fnz_status scattered_into(fnzi_eag_op *s, fnzi_eag_tensor **out) {
  fnzi_eag_window w;
  fnz_handle value;
  FNZ_TRY(fnzi_eag_op_tensor(s, &s->args[0], out));
  bool found = false;
  for (uint32_t d = 0; d < (*out)->g->rank && !found; d++)
    found = (*out)->g->strides[d] == 0 && (*out)->g->sizes[d] > 1;
  if (!found || fnz_geometry_numel((*out)->g) <= 0)
    return FNZ_OK;
  fnzi_eag_window_of((*out)->g, &w);
  fnzi_eag_window_preserve(&w);
  FNZ_TRY(fnzi_eag_tensor_value(s->in, *out, &value));
  return fnzi_eag_tensor_store(s->in, &w, value, out);
}

/* as_strided_scatter: a copy of all memory of self, with src at a window of it. */
static fnz_status strided_scatter(fnzi_eag_op *s) {
  fnzi_eag_tensor *self, *src, *all, *memory, *result;
  fnzi_eag_window w;
  fnz_handle values[2], scattered;
  FNZ_TRY(scattered_into(s, &self));
  FNZ_TRY(fnzi_eag_op_tensor(s, &s->args[1], &src));
  if (self->g->is_conj || self->g->is_neg)
    return fnzi_fail(s->ctx, FNZ_CLASS_UNSUPPORTED, "",
                     "%s takes tensors without lazy bits; call resolve_conj() or resolve_neg() "
                     "before",
                     s->op->name);
  /* All of a memory as one dimension. */
  fnz_backend *b = s->in->run.backend;
  w = (fnzi_eag_window){.dtype = self->g->dtype, .rank = 1, .strides = {1}};
  w.sizes[0] = (int64_t)(self->memory->bytes / b->cell_bytes(b->self, w.dtype));
  FNZ_TRY(fnzi_eag_tensor_create(s->in, self->memory, &w, &all));
  self->memory->users--;
  FNZ_TRY(fnzi_eag_tensor_value(s->in, all, &values[0]));
  FNZ_TRY(fnzi_eag_tensor_value(s->in, src, &values[1]));
  const fnz_arg args[] = {{.tag = FNZ_ARG_VALUE, .u.value = values[0]},
                          {.tag = FNZ_ARG_VALUE, .u.value = values[1]},
                          s->args[2],
                          s->args[3],
                          fnzi_arg_int(fnzi_eag_op_int(s, 4, self->g->offset))};
  const fnz_geometry *expected[1] = {all->g};
  const fnz_request call = {s->op, args, 5, expected, ""};
  FNZ_TRY(fnzi_run_apply(&s->in->run, &call, &scattered, 1));
  fnz_status status = fnzi_eag_tensor_store(s->in, &w, scattered, &memory);
  fnzi_run_release(&s->in->run, scattered);
  FNZ_TRY(status);
  fnzi_eag_window_of(self->g, &w);
  FNZ_TRY(fnzi_eag_tensor_create(s->in, memory->memory, &w, &result));
  fnzi_eag_tensor_end(s->in, memory);
  return fnzi_eag_op_push(s, result);
}

/* The twin that the schema of an out= variant leads to counts elements of the row-major tensor. */
static fnz_status strided_out(fnzi_eag_op *s) {
  fnzi_eag_tensor *self;
  FNZ_TRY(fnzi_eag_op_tensor(s, &s->args[0], &self));
  if (fnzi_is_contiguous(self->g) && self->g->offset == 0)
    return fnzi_eag_write(s);
  return fnzi_fail(s->ctx, FNZ_CLASS_UNSUPPORTED, "",
                   "%s counts places in memory, where self does not lie in rows from place 0 on; "
                   "call it without out= and copy_() the result",
                   s->op->name);
}

/* --- The table -------------------------------------------------------------------------------- */

static const struct {
  uint16_t op;
  fnz_status (*perform)(fnzi_eag_op *s);
} rows[] = {
    {FNZI_ATEN_set___source_Tensor, fnzi_eag_set_tensor},
    {FNZI_ATEN_set_data, fnzi_eag_set_tensor},
    {FNZI_ATEN_set___source_Tensor_storage_offset, fnzi_eag_set_window},
    {FNZI_ATEN_set_, fnzi_eag_set_empty},
    {FNZI_ATEN_record_stream, fnzi_eag_nothing},
    {FNZI_ATEN_requires_grad_, fnzi_eag_nothing},
    {FNZI_ATEN_retain_grad, fnzi_eag_nothing},
    {FNZI_ATEN_copy_, copy},
    {FNZI_ATEN_resize_, fnzi_eag_resize},
    {FNZI_ATEN_resize_as_, fnzi_eag_resize_as},
    {FNZI_ATEN_fill_diagonal_, fill_diagonal},
    {FNZI_ATEN_as_strided_scatter, strided_scatter},
    {FNZI_ATEN_as_strided_copy__out, strided_out},
    {FNZI_ATEN_as_strided_scatter__out, strided_out},
    {FNZI_ATEN_broadcast_tensors, fnzi_eag_broadcast_tensors},
    {FNZI_ATEN_meshgrid, fnzi_eag_meshgrid},
    {FNZI_ATEN_meshgrid__indexing, fnzi_eag_meshgrid},
    {FNZI_ATEN_atleast_1d__Sequence, fnzi_eag_at_least},
    {FNZI_ATEN_atleast_2d__Sequence, fnzi_eag_at_least},
    {FNZI_ATEN_atleast_3d__Sequence, fnzi_eag_at_least},
};

fnz_status fnzi_eag_special(fnzi_eag_op *s, bool *done) {
  const fnz_op *element = fnzi_foreach_element(s->op);
  *done = true;
  if (element != NULL)
    return write_each(s, element);
  FNZ_TRY(fnzi_eag_norm(s, done));
  if (!*done)
    FNZ_TRY(fnzi_eag_einsum(s, done));
  if (!*done)
    FNZ_TRY(fnzi_eag_cartesian_prod(s, done));
  if (*done)
    return FNZ_OK;
  *done = true;
  const uint16_t place = fnzi_op_place(s->op);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].op == place)
      return rows[i].perform(s);
  /* Collectives are not in the operator table. */
  static const char *const waits[] = {"_c10d_functional::wait_tensor",
                                      "_c10d_functional::wait_tensors",
                                      "c10d_functional::wait_tensor"};
  for (size_t i = 0; place == FNZI_NO_OP && i < sizeof waits / sizeof *waits; i++)
    if (strcmp(waits[i], s->op->name) == 0)
      return fnzi_eag_wait(s);
  *done = false;
  return FNZ_OK;
}
