/* dispatch.c - an operator call on tensors, sent to the rule for views, composites or writes, or to
 * the backend.
 *
 * needs   request->args complete, one per parameter, tensors as fnz_tensor pointers
 * keeps   the order in which the backend is called
 * gives   request->out: every tensor result, lists flattened */
#include "functionalize/wrapper/write_rules.h"
#include "schema/aten_names.h"

/* --- views ------------------------------------------------------------------------------------ */
/* The windows of a view call on a tensor, as results. */
static fnz_status give_windows(fnzi_wrap_request *r, fnzi_wrap_alias *base, const fnzi_view *row,
                               const fnzi_op_call *call) {
  fnzi_wrap_alias **opened;
  size_t count;
  fnz_status status = FNZ_OK;
  FNZ_TRY(fnzi_wrap_alias_open(base, row, call, &opened, &count));
  for (size_t k = 0; k < count; k++) {
    if (status == FNZ_OK)
      status = fnzi_wrap_give_alias(base->storage->wrapper, r, opened[k]);
    fnzi_wrap_alias_release(opened[k]);
  }
  return status;
}

static fnz_tensor *self_of(const fnzi_wrap_request *r) {
  return fnzi_wrap_tensor_arg(r, 0);
}

/* --- composites ------------------------------------------------------------------------------- */
/* A copying step ends an item; its result is a fresh tensor of the request. */
static fnz_status copy_step(fnz_wrapper *wrapper, fnzi_wrap_request *r, const fnzi_op_call *step,
                            fnz_tensor *self) {
  fnz_arg *all;
  FNZI_NEW(&wrapper->scratch, step->op->nparams, &all);
  memcpy(all, step->args, step->nargs * sizeof *all);
  all[0] = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.tensor = self};
  size_t k = r->out.count, known = r->expected && k < r->nexpected ? 1 : 0;
  fnzi_wrap_request one = {
      .op = step->op, .args = all, .expected = known ? r->expected + k : NULL, .nexpected = known};
  fnz_status status = fnzi_wrap_apply_functional(wrapper, &one);
  if (status == FNZ_OK)
    status = fnzi_wrap_give(wrapper, r, one.out.count ? one.out.data[0] : NULL);
  fnzi_wrap_request_end(&one);
  return status;
}

/* If a size is an expression, whether a view would do may depend on it: a copy is right at all
 * sizes as long as neither memory is written. The results from the `first` on are copies of `of`.
 */
static fnz_status tie_copies(fnz_wrapper *wrapper, const fnzi_wrap_request *r, size_t first,
                             const fnz_tensor *of) {
  const fnz_geometry *g = fnzi_wrap_geometry(of);
  const bool is_open = wrapper->ints && !fnzi_ints_is_decided(wrapper->ints);
  for (size_t k = first; is_open && k < r->out.count; k++) {
    const fnz_geometry *copy = fnzi_wrap_geometry(r->out.data[k]);
    if (copy->dtype != g->dtype || (!fnzi_int_is_symbolic(g) && !fnzi_int_is_symbolic(copy)))
      continue;
    FNZ_TRY(fnzi_wrap_tie_tensors(wrapper, r->out.data[k], of));
    if (r->op != &fnzi_ops[FNZI_ATEN_contiguous]) /* it returns rows, copied or not */
      fnzi_wrap_loosen(r->out.data[k], fnzi_ints_asks_about(wrapper->ints));
  }
  return FNZ_OK;
}

/* All views but the last one have one window, which takes the place of *at. */
static fnz_status item_steps(fnz_wrapper *wrapper, fnzi_wrap_request *r,
                             const fnzi_composite_item *item, fnz_tensor **at) {
  fnzi_wrap_alias **opened;
  fnz_tensor *next;
  size_t count;
  for (size_t i = 0; i < item->nsteps; i++) {
    const fnzi_view *row = fnzi_wrap_route_of(wrapper, item->steps[i].op).view;
    bool is_last = i + 1 == item->nsteps;
    if (!row) {
      const size_t first = r->out.count;
      FNZ_TRY(copy_step(wrapper, r, &item->steps[i], *at));
      return tie_copies(wrapper, r, first, *at);
    }
    if (is_last)
      return give_windows(r, (*at)->alias, row, &item->steps[i]);
    FNZ_TRY(fnzi_wrap_alias_open((*at)->alias, row, &item->steps[i], &opened, &count));
    fnz_status status = fnzi_wrap_tensor_on(wrapper, opened[0], &next);
    fnzi_wrap_alias_release(opened[0]);
    FNZ_TRY(status);
    fnz_tensor_release(*at);
    *at = next;
  }
  return fnzi_wrap_give(wrapper, r, *at);
}

static fnz_status resolve(fnz_wrapper *wrapper, const fnzi_wrap_request *r, const fnz_op *op,
                          const fnzi_composite_row *row, fnz_tensor ***tensors,
                          fnzi_resolution *out) {
  const fnz_geometry **geometries;
  size_t count;
  FNZ_TRY(fnzi_wrap_tensor_args(wrapper, r->args, r->op->nparams, tensors, &count));
  FNZI_NEW(&wrapper->scratch, count, &geometries);
  for (size_t i = 0; i < count; i++)
    geometries[i] = &(*tensors)[i]->alias->geometry;
  const fnzi_op_call call = {op, r->args, r->op->nparams};
  return fnzi_composite_resolve((fnzi_int_space){wrapper->ints, &wrapper->scratch}, row, &call,
                                geometries, count, out);
}

static fnz_status composite_request(fnz_wrapper *wrapper, fnzi_wrap_request *r,
                                    const fnzi_composite_row *row) {
  fnz_tensor **tensors;
  fnzi_resolution resolution;
  FNZ_TRY(resolve(wrapper, r, r->op, row, &tensors, &resolution));
  if (resolution.keep) {
    FNZ_TRY(fnzi_wrap_apply_functional(wrapper, r));
    return resolution.may_be_self ? tie_copies(wrapper, r, 0, tensors[0]) : FNZ_OK;
  }
  for (size_t i = 0; i < resolution.count; i++) {
    fnz_tensor *at = tensors[resolution.items[i].tensor];
    at->alias->storage->regrouped = true;
    at->refs++;
    fnz_status status = item_steps(wrapper, r, &resolution.items[i], &at);
    fnz_tensor_release(at);
    FNZ_TRY(status);
  }
  return FNZ_OK;
}

static fnz_status write_request(fnz_wrapper *wrapper, fnzi_wrap_request *r,
                                const fnzi_wrap_route *route) {
  /* An in-place operator whose twin returns its argument (dropout_ without training) writes
   * nothing. */
  const fnz_op *twin = route->composite ? fnz_op_functional_twin(r->op) : NULL;
  fnz_tensor **tensors;
  fnzi_resolution resolution;
  bool idle = false;
  if (twin && twin->nparams == r->op->nparams && self_of(r)) {
    FNZ_TRY(resolve(wrapper, r, twin, route->composite, &tensors, &resolution));
    idle = !resolution.keep && resolution.count == 1 && resolution.items[0].nsteps == 0 &&
           tensors[resolution.items[0].tensor] == self_of(r);
  }
  if (idle)
    return fnzi_wrap_give(wrapper, r, self_of(r));
  FNZ_TRY(fnzi_wrap_write_request(wrapper, r, route));
  /* The calls that a rule has left. This ends because parts are smaller or are not split again in
   * the same way (tests/gates/circles.txt). */
  fnz_status status = FNZ_OK;
  for (size_t k = 0; k < r->parts.count && status == FNZ_OK; k++) {
    fnzi_wrap_request part = {.op = r->parts.op};
    status = r->parts.make(wrapper, r, k, &part);
    if (status == FNZ_OK)
      status = fnzi_wrap_dispatch(wrapper, &part);
    fnzi_wrap_request_end(&part);
  }
  return status;
}

/* --- in-place views --------------------------------------------------------------------------- */
static fnz_status inplace_view_request(fnz_wrapper *wrapper, fnzi_wrap_request *r,
                                       fnzi_wrap_route route) {
  fnzi_op_call call = {fnzi_op_by_index(r->op->view_of), r->args, r->op->nparams};
  fnzi_wrap_alias **opened;
  size_t count;
  FNZ_TRY(fnzi_wrap_need_tensor(wrapper, r, 0));
  fnz_tensor *self = self_of(r);
  FNZ_TRY(fnzi_wrap_refuse_tied(self->alias));
  if (!route.view) { /* swapaxes_: a composite of one view step */
    fnz_tensor **tensors;
    fnzi_resolution resolution;
    FNZ_TRY(resolve(wrapper, r, call.op, route.composite, &tensors, &resolution));
    call = resolution.items[0].steps[0];
    route = fnzi_wrap_route_of(wrapper, call.op);
  }
  FNZ_TRY(fnzi_wrap_alias_open(self->alias, route.view, &call, &opened, &count));
  fnzi_wrap_tensor_move(self, opened[0]);
  fnzi_wrap_alias_release(opened[0]);
  return fnzi_wrap_give(wrapper, r, self);
}

/* --- the table of contents -------------------------------------------------------------------- */
/* Words for arguments in messages, by tag. */
static const char *const tag_words[] = {
    [FNZ_ARG_DEFAULT] = "nothing", [FNZ_ARG_NONE] = "None",
    [FNZ_ARG_VALUE] = "a tensor",  [FNZ_ARG_SYMBOL] = "a symbolic number",
    [FNZ_ARG_TOKEN] = "a token",   [FNZ_ARG_OBJECT] = "an object",
    [FNZ_ARG_INT] = "an integer",  [FNZ_ARG_FLOAT] = "a float",
    [FNZ_ARG_BOOL] = "a bool",     [FNZ_ARG_COMPLEX] = "a complex number",
    [FNZ_ARG_STRING] = "a string", [FNZ_ARG_DTYPE] = "a dtype",
    [FNZ_ARG_LAYOUT] = "a layout", [FNZ_ARG_MEMORY_FORMAT] = "a memory format",
    [FNZ_ARG_DEVICE] = "a device", [FNZ_ARG_LIST] = "a list",
    [FNZ_ARG_GRAPH] = "a graph",   [FNZ_ARG_OPERATOR] = "an operator",
};

/* The argument, or the item of a list, that is no tensor where the schema has one, or the reverse;
 * NULL for none. A number may be there for a single tensor: exporters write that. */
static const fnz_arg *find_misfit(const fnzi_param *p, const fnz_arg *a) {
  bool is_list = a->tag == FNZ_ARG_LIST;
  if (p->type != FNZI_TYPE_TENSOR)
    return a->tag == FNZ_ARG_VALUE ? a : NULL;
  if (!p->is_list)
    return is_list ? a : NULL;
  for (uint32_t k = 0; is_list && k < a->count; k++)
    if (a->u.list[k].tag != FNZ_ARG_VALUE &&
        !(p->item_optional && a->u.list[k].tag == FNZ_ARG_NONE))
      return &a->u.list[k];
  return is_list || a->tag == FNZ_ARG_NONE || a->tag == FNZ_ARG_DEFAULT ? NULL : a;
}

static fnz_status check_args(fnz_wrapper *wrapper, const fnzi_wrap_request *r) {
  for (size_t i = 0; i < r->op->nparams; i++) {
    const fnzi_param *p = &r->op->params[i];
    const fnz_arg *misfit = find_misfit(p, &r->args[i]);
    /* the caller may have set a tag that does not exist */
    const bool is_known = misfit && misfit->tag < sizeof tag_words / sizeof *tag_words;
    if (misfit)
      return fnzi_fail(wrapper->ctx, FNZ_CLASS_TYPE, NULL,
                       "%s: argument `%s` takes %s%s and got %s%s; the schema is %s", r->op->name,
                       p->name, fnzi_type_name(p->type), p->is_list ? "[]" : "",
                       misfit == &r->args[i] ? "" : "a list with ",
                       is_known ? tag_words[misfit->tag] : "no argument", r->op->schema);
  }
  return FNZ_OK;
}

/* --- operators that go by places in memory ---------------------------------------------------- */
/* At all sizes, self covers all memory contiguously, so that indices into its value are indices
 * into memory. */
static bool lies_in_rows(const fnz_wrapper *wrapper, const fnz_tensor *self) {
  const fnz_geometry *g = fnzi_wrap_geometry(self), *root = fnzi_wrap_root_geometry(self);
  fnzi_ints *s = wrapper->ints;
  const bool shows_all =
      g == root || (g->dtype == root->dtype && fnzi_int_is_dense(s, root) &&
                    fnzi_int_same(fnzi_int_numel(s, g), fnzi_int_numel(s, root)));
  return shows_all && fnzi_int_lies_in_rows(s, g);
}

/* A copy of all memory of self, which *out shows as self does. If self shows elements several
 * times, eager copies its elements alone. */
static fnz_status copy_memory(fnz_wrapper *wrapper, fnzi_wrap_request *r, fnz_tensor **out) {
  const fnz_arg self = {.tag = FNZ_ARG_VALUE, .u.tensor = self_of(r)}, args[] = {self, {0}};
  fnzi_wrap_alias *root = self_of(r)->alias->storage->root, *shown;
  fnzi_wrap_request clone = {.op = fnzi_emitted_op(FNZI_EMIT_CLONE), .args = args};
  fnzi_value_ref *value;
  fnz_tensor *memory;
  if (fnzi_has_zero_stride(fnzi_wrap_geometry(self_of(r)))) {
    fnz_status status = fnzi_wrap_apply_functional(wrapper, &clone);
    *out = status == FNZ_OK ? clone.out.data[0] : NULL;
    if (status == FNZ_OK)
      (*out)->refs++;
    fnzi_wrap_request_end(&clone);
    return status == FNZ_OK ? fnzi_wrap_hold_tensor(wrapper, r, *out) : status;
  }
  FNZ_TRY(fnzi_wrap_read(root, &value));
  FNZ_TRY(fnzi_wrap_tensor_new(wrapper, &root->geometry, value, &memory));
  FNZ_TRY(fnzi_wrap_hold_tensor(wrapper, r, memory));
  FNZ_TRY(fnzi_wrap_alias_window(wrapper, memory->alias, fnzi_wrap_geometry(self_of(r)), &shown));
  fnz_status status = fnzi_wrap_tensor_on(wrapper, shown, out);
  fnzi_wrap_alias_release(shown);
  return status == FNZ_OK ? fnzi_wrap_hold_tensor(wrapper, r, *out) : status;
}

/* as_strided_scatter(self, src, ...) is a copy of self's memory with src copied to a window. */
static fnz_status strided_scatter(fnz_wrapper *wrapper, fnzi_wrap_request *r) {
  const fnz_arg window_args[] = {r->args[0], r->args[2], r->args[3], r->args[4]};
  const fnz_geometry *g = fnzi_wrap_geometry(self_of(r));
  fnz_tensor *src = r->args[1].tag == FNZ_ARG_VALUE ? r->args[1].u.tensor : NULL, *out, *window;
  if (!src || g->is_conj || g->is_neg)
    return fnzi_fail(wrapper->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "%s takes tensors without lazy bits; call resolve_conj() or resolve_neg() "
                     "before",
                     r->op->name);
  FNZ_TRY(copy_memory(wrapper, r, &out));
  FNZ_TRY(fnzi_wrap_open_window(out, FNZI_STEP_AS_STRIDED, window_args, 4, r, &window));
  if (!fnzi_same_sizes(fnzi_wrap_geometry(window), fnzi_wrap_geometry(src)))
    return fnzi_fail(wrapper->ctx, FNZ_CLASS_BOUNDS, NULL,
                     "%s: src has other sizes than the window; give it those sizes", r->op->name);
  const fnz_arg copied[] = {{.tag = FNZ_ARG_VALUE, .u.tensor = window}, r->args[1], {0}};
  fnzi_wrap_request copy = {.op = &fnzi_ops[FNZI_ATEN_copy_], .args = copied};
  fnz_status status = fnzi_wrap_dispatch(wrapper, &copy);
  fnzi_wrap_request_end(&copy);
  return status == FNZ_OK ? fnzi_wrap_give(wrapper, r, out) : status;
}

static fnz_status memory_request(fnz_wrapper *wrapper, fnzi_wrap_request *r) {
  FNZ_TRY(fnzi_wrap_need_tensor(wrapper, r, 0));
  if (self_of(r)->alias->storage->is_slice)
    return fnzi_fail(wrapper->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "%s counts places in memory, where self lies in another place in each "
                     "iteration; clone() self first",
                     r->op->name);
  if (lies_in_rows(wrapper, self_of(r)))
    return fnzi_wrap_apply_functional(wrapper, r);
  if (r->op != &fnzi_ops[FNZI_ATEN_as_strided_copy])
    return strided_scatter(wrapper, r);
  /* as_strided_copy(self, size, stride, offset) is clone(as_strided(self, size, stride, offset)).
   */
  const fnz_arg to_rows[] = {{0}, {.tag = FNZ_ARG_MEMORY_FORMAT, .u.i = 1}};
  const fnzi_op_call clone = {fnzi_emitted_op(FNZI_EMIT_CLONE), to_rows, 2};
  fnz_tensor *window;
  FNZ_TRY(fnzi_wrap_open_window(self_of(r), FNZI_STEP_AS_STRIDED, r->args, 4, r, &window));
  return copy_step(wrapper, r, &clone, window);
}

static fnz_status functional_request(fnz_wrapper *wrapper, fnzi_wrap_request *r,
                                     const fnzi_wrap_route *route) {
  if (route->one_number) {
    /* Sampled sizes are not refused: the program itself may fail there, and comparing the samples
     * shows that. */
    const fnz_tensor *self = self_of(r);
    if (self) {
      const fnzi_int count = fnzi_int_numel(wrapper->ints, &self->alias->geometry);
      if (!fnzi_int_is(count, 1) && fnzi_int_is_number(count))
        return fnzi_fail(wrapper->ctx, FNZ_CLASS_BOUNDS, NULL,
                         "%s takes a tensor of one element, `%s` has %s; reduce it by all() or "
                         "any() before, or select one",
                         r->op->name, r->op->params[0].name, FNZI_PUT(wrapper->ints, count));
    }
  }
  if (route->uncast && !wrapper->autocast)
    FNZ_TRY(fnzi_wrap_check_tensors_alike(wrapper, r->op, r->args));
  return route->by_memory ? memory_request(wrapper, r) : fnzi_wrap_apply_functional(wrapper, r);
}

fnz_status fnzi_wrap_dispatch(fnz_wrapper *wrapper, fnzi_wrap_request *request) {
  fnzi_wrap_route route = fnzi_wrap_route_of(wrapper, request->op);
  FNZ_TRY(check_args(wrapper, request));
  switch (route.action) {
  case FNZI_ACTION_VIEW: {
    FNZ_TRY(fnzi_wrap_need_tensor(wrapper, request, 0));
    const fnzi_op_call call = {request->op, request->args, request->op->nparams};
    return give_windows(request, self_of(request)->alias, route.view, &call);
  }
  case FNZI_ACTION_COMPOSITE:
    return composite_request(wrapper, request, route.composite);
  case FNZI_ACTION_INPLACE_VIEW:
    return inplace_view_request(wrapper, request, route);
  case FNZI_ACTION_WRITE:
    if (route.by_memory) {
      /* The twin of an out= variant takes the value of self. */
      FNZ_TRY(fnzi_wrap_need_tensor(wrapper, request, 0));
      if (!lies_in_rows(wrapper, self_of(request)))
        return fnzi_fail(
            wrapper->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
            "%s counts places in memory, where self does not lie in rows from place 0 on; "
            "call it without out= and copy_() the result",
            request->op->name);
    }
    return write_request(wrapper, request, &route);
  case FNZI_ACTION_FUNCTIONAL:
    return functional_request(wrapper, request, &route);
  case FNZI_ACTION_REFUSED:
  case FNZI_ACTION_UNKNOWN:
    break;
  }
  if (fnzi_op_is_custom(request->op))
    return fnzi_fail(wrapper->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "%s returns a view of an argument, and a schema does not say of which "
                     "elements; return a copy, declared without (a), or use ATen's views; the "
                     "schema is %s",
                     request->op->name, request->op->schema);
  return fnzi_wrap_refuse_op(wrapper, request->op);
}
