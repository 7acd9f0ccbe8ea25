/* output_aliases.c - which inputs and outputs an output shares memory with, and which inputs must
 * not share memory.
 *
 * needs   the outputs of a graph with the tensors of the source program that they are
 * gives   in the signature: which outputs are inputs, views of inputs, or share memory; a guard for
 *         inputs that are written */
#include "functionalize/pass/outputs.h"

/* --- views of inputs -------------------------------------------------------------------------- */
enum { MOST_VIEWS = 64 };

/* The view operator of a view call; for an in-place one, its other form. NULL when there is none.
 */
static const fnz_op *view_of(const fnzi_wrap_view_call *o) {
  const fnz_op *called = o->call.op;
  const fnz_op *op = fnz_op_is_mutating(called) ? fnz_op_functional_twin(called) : called;
  return op && fnz_op_is_view(op) && op->nparams >= o->call.nargs ? op : NULL;
}

/* The nearest alias above that an input is; NULL when an alias in between comes from no operator.
 * `count` views lead from there. */
static const fnzi_wrap_alias *input_above(const fnzi_wrap_alias *a, size_t *count) {
  for (*count = 0; a && *count <= MOST_VIEWS; a = a->parent, (*count)++) {
    if (a->input)
      return a;
    if (!a->view_call || !view_of(a->view_call) ||
        fnzi_view_counts_from_storage(a->view_call->view))
      return NULL;
  }
  return NULL;
}

static fnz_status share_with_input(fnzi_pass *p, const fnz_tensor *t, fnz_output_spec *spec) {
  size_t count;
  const fnzi_wrap_alias *above = input_above(t->alias, &count), *a = t->alias;
  fnz_view_call *views;
  spec->sharing = FNZ_SHARING_INPUT_VIEW;
  spec->of = (above ? above->input : t->alias->storage->input) - 1;
  FNZ_TRY(fnzi_intern_geometry(p->to, &a->geometry, &spec->window));
  if (!above || !count)
    return FNZ_OK;
  FNZI_NEW(&p->arena, count, &views);
  for (size_t i = count; i-- > 0; a = a->parent) {
    const fnz_op *op = view_of(a->view_call);
    fnz_arg *args;
    FNZI_NEW(&p->arena, op->nparams, &args);
    memcpy(args, a->view_call->call.args, a->view_call->call.nargs * sizeof *args);
    args[0] = (fnz_arg){.tag = FNZ_ARG_DEFAULT};
    views[i] = (fnz_view_call){op, args, op->nparams, a->index};
  }
  spec->views = views;
  spec->nviews = (uint32_t)count;
  return fnzi_output_spec_copy(p->to, spec, spec);
}

/* --- outputs of one memory -------------------------------------------------------------------- */
static const fnzi_wrap_alias *node_of(const fnzi_pass_output_list *out, uint32_t k) {
  return out->data[k].tensor->alias;
}

/* Makes the other outputs refer to output k, which shows more of the memory. */
static fnz_status lead(fnzi_pass *p, fnzi_pass_output_list *out, uint32_t k, uint32_t before) {
  for (size_t i = out->mutations; i < k; i++) {
    fnz_output_spec *s = &out->data[i].spec;
    if (s->sharing == FNZ_SHARING_OUTPUT_VIEW && s->of == before)
      s->of = k;
  }
  fnz_output_spec *old = &out->data[before].spec, *new = &out->data[k].spec;
  old->sharing = FNZ_SHARING_OUTPUT_VIEW;
  old->of = k;
  new->sharing = FNZ_SHARING_NEW;
  new->of = 0;
  out->data[k].tensor->alias->storage->output = k + 1;
  return fnzi_intern_geometry(p->to, &node_of(out, k)->geometry, &new->window);
}

static fnz_status share_with_output(fnzi_pass *p, fnzi_pass_output_list *out, uint32_t k) {
  fnz_tensor *t = out->data[k].tensor;
  fnz_output_spec *spec = &out->data[k].spec;
  uint32_t first = t->alias->storage->output;
  if (!first) {
    t->alias->storage->output = t->output = k + 1;
    return FNZ_OK;
  }
  const fnzi_wrap_alias *a = t->alias, *b = node_of(out, first - 1);
  t->output = k + 1;
  FNZ_TRY(fnzi_intern_geometry(p->to, &b->geometry, &out->data[first - 1].spec.window));
  FNZ_TRY(fnzi_intern_geometry(p->to, &a->geometry, &spec->window));
  fnzi_ints *s = p->wrapper->ints;
  bool more = fnzi_int_is_at_least(s, b->low, a->low) &&
              fnzi_int_is_at_least(s, a->high, b->high) &&
              !(fnzi_int_same(a->low, b->low) && fnzi_int_same(a->high, b->high));
  if (more)
    return lead(p, out, k, first - 1);
  spec->sharing = FNZ_SHARING_OUTPUT_VIEW;
  spec->of = first - 1;
  return FNZ_OK;
}

/* --- every output ----------------------------------------------------------------------------- */
/* Marks the aliases at which inputs end: those still in the memory that they came with, or the
 * others. */
static void mark_inputs(fnzi_pass *p, bool moved) {
  for (uint32_t k = 0; k < p->graph->ninputs; k++) {
    fnz_tensor *t = p->inputs[k];
    if (!t || moved != (t->alias->storage != p->roots[k]->storage))
      continue;
    t->input = k + 1;
    t->alias->input = t->alias->input ? t->alias->input : k + 1;
    t->alias->storage->input = t->alias->storage->input ? t->alias->storage->input : k + 1;
  }
}

/* If the source is functional already, its signature is right and has more detail than the nodes
 * show. */
static fnz_status share(fnzi_pass *p, fnzi_pass_output_list *out, uint32_t k) {
  fnzi_pass_output *o = &out->data[k];
  const fnz_tensor *t = o->tensor;
  if (o->spec.sharing != FNZ_SHARING_NEW || o->spec.window || !fnzi_output_is_result(&o->spec)) {
    if (o->spec.sharing == FNZ_SHARING_OUTPUT || o->spec.sharing == FNZ_SHARING_OUTPUT_VIEW)
      o->spec.of += (uint32_t)out->mutations;
    return FNZ_OK;
  }
  if (t->input || t->output) {
    o->spec.sharing = t->input ? FNZ_SHARING_INPUT : FNZ_SHARING_OUTPUT;
    o->spec.of = (t->input ? t->input : t->output) - 1;
    return FNZ_OK;
  }
  if (!t->alias->storage->input)
    return share_with_output(p, out, k);
  o->tensor->output = k + 1;
  return share_with_input(p, t, &o->spec);
}

fnz_status fnzi_pass_outputs_alias(fnzi_pass *p, fnzi_pass_output_list *out) {
  const fnzi_wrap_tie *tied;
  char place[160];
  mark_inputs(p, false);
  for (uint32_t k = 0; k < out->mutations; k++)
    if (out->data[k].spec.set && out->data[k].tensor->alias->storage->input)
      FNZ_TRY(share_with_input(p, out->data[k].tensor, &out->data[k].spec));
  mark_inputs(p, true);
  for (size_t k = out->mutations; k < out->count; k++)
    if (out->data[k].tensor)
      FNZ_TRY(share(p, out, (uint32_t)k));
  FNZ_TRY(fnzi_wrap_ties_leave(p->wrapper, &tied));
  if (!tied)
    return FNZ_OK;
  fnzi_node_place(p->from, tied->node.graph, tied->node.node, place);
  return fnzi_fail_for(p->ctx, FNZI_REASON_NO_ROUTE, FNZ_CLASS_UNSUPPORTED, place,
                       "its result is memory of another tensor of the caller at some sizes and a "
                       "copy at others, and the program returns it; clone() it");
}

/* --- guards ----------------------------------------------------------------------------------- */
static bool aliases_is_written(const fnzi_pass *p, uint32_t k) {
  return p->roots[k]->touched || (!p->roots[k]->storage->nwatched && p->roots[k]->storage->version);
}

static bool is_alone(const fnzi_pass *p, const char *const *names, uint32_t count) {
  uint32_t first = UINT32_MAX;
  for (uint32_t k = 0, n = 0; k < p->graph->ninputs && n < count; k++) {
    if (!p->inputs[k] ||
        strcmp(p->graph->values.data[p->graph->inputs[k].u.value].name, names[n]) != 0)
      continue;
    if (n++ > 0 && fnzi_memory_of(p->from, k) != first)
      return false;
    first = fnzi_memory_of(p->from, k);
  }
  return true;
}

/* Inputs that are written and inputs that are read must not share memory, unless they are declared
 * to. */
static fnz_status add_disjoint(fnzi_pass *p) {
  fnz_guard guard = {.kind = FNZ_GUARD_DISJOINT};
  const char **names;
  bool *used, any = false;
  for (uint32_t k = 0; k < p->graph->ninputs; k++)
    any = any ||
          (p->inputs[k] && p->from->inputs[k].kind == FNZ_INPUT_USER && aliases_is_written(p, k));
  if (!any)
    return FNZ_OK;
  FNZI_NEW(&p->arena, p->graph->values.count, &used);
  fnzi_graph_uses(p->graph, used); /* inputs that are read at all */
  /* A write to one input of a merged set gives the final value of its base, of all elements: the
   * base is then read, even where the program itself does not look at it. */
  for (uint32_t k = 0; p->merged && p->alias_sets->shared && k < p->graph->ninputs; k++) {
    const fnzi_pass_merged *merged = &p->merged[p->alias_sets->first[k]];
    if (p->inputs[k] && merged->root && !merged->name && aliases_is_written(p, k))
      used[p->graph->inputs[merged->base].u.value] = true;
  }
  FNZI_NEW(&p->arena, p->graph->ninputs, &names);
  for (uint32_t k = 0; k < p->graph->ninputs; k++)
    /* A result that is made for other sizes, too, may have elements there. */
    if (p->inputs[k] && p->from->inputs[k].kind == FNZ_INPUT_USER &&
        !fnzi_int_is_empty(&p->roots[k]->geometry) && used[p->graph->inputs[k].u.value])
      names[guard.count++] = p->graph->values.data[p->graph->inputs[k].u.value].name;
  guard.names = names;
  return is_alone(p, names, guard.count) ? FNZ_OK : fnzi_guard_add(p->to, &guard);
}

fnz_status fnzi_pass_guards_add(fnzi_pass *p) {
  bool has_disjoint = false;
  for (size_t k = 0; k < p->from->guards.count; k++) {
    has_disjoint = has_disjoint || p->from->guards.data[k].kind == FNZ_GUARD_DISJOINT;
    FNZ_TRY(fnzi_guard_add(p->to, &p->from->guards.data[k]));
  }
  return has_disjoint ? FNZ_OK : add_disjoint(p);
}
