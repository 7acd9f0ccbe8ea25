/* outputs.c - the end of a graph: reads mutated inputs and outputs, and builds the nodes that they
 * need.
 *
 * needs   a replayed graph
 * gives   the final value of every mutated input, in the order of inputs, then the outputs; the
 *         signature names the former. A merged alias set has one final value, that of its base */
#include "functionalize/pass/outputs.h"

/* --- inputs that must be merged in another way ------------------------------------------------ */
static bool is_moved(const fnzi_pass *p, uint32_t k) {
  return p->inputs[k]->alias->storage != p->roots[k]->storage;
}

/* It has other sizes, strides or offset than at first. */
static bool is_reshaped(const fnzi_pass *p, uint32_t k) {
  return !fnzi_geometry_equal(&p->inputs[k]->alias->geometry, &p->roots[k]->geometry);
}

static fnzi_pass_merged *merged_of(const fnzi_pass *p, uint32_t k) {
  fnzi_pass_merged *j =
      p->merged && p->alias_sets->shared ? &p->merged[p->alias_sets->first[k]] : NULL;
  return j && j->root ? j : NULL;
}

/* Elements of the input have changed in the memory that it came with. */
static bool outputs_is_written(const fnzi_pass *p, uint32_t k) {
  return merged_of(p, k) ? p->roots[k]->touched : p->roots[k]->storage->version > 0;
}

/* A write to an input that is not merged overlaps another input, or may do so in a gap; or the
 * input that is the base was reshaped or moved, and may not show all of the memory any more. */
static bool must_merge(const fnzi_pass *p, uint32_t k) {
  const fnzi_pass_merged *j = merged_of(p, k);
  if (!j)
    return outputs_is_written(p, k) &&
           (fnzi_pass_alias_sets_overlap(p->alias_sets, k) || p->roots[k]->storage->in_gaps);
  return !j->name && j->base == k && (is_reshaped(p, k) || is_moved(p, k));
}

/* --- collecting ------------------------------------------------------------------------------- */
static fnz_status outputs_add_value(fnzi_pass *p, fnzi_pass_output_list *out, fnzi_pass_output o,
                                    fnzi_wrap_alias *node) {
  fnzi_value_ref *value;
  p->wrapper->source = "";
  p->wrapper->why = fnzi_why_output(out->count);
  FNZ_TRY(fnzi_wrap_read(node, &value));
  FNZ_TRY(fnzi_output_spec_copy(p->to, &o.spec, &o.spec));
  o.arg = (fnz_arg){.tag = FNZ_ARG_VALUE};
  o.handle = value->handle;
  out->data[out->count++] = o;
  fnzi_wrap_release(p->wrapper);
  return FNZ_OK;
}

/* The input shows all of the memory that it came with, at every size. */
static bool shows_all(const fnzi_pass *p, uint32_t k) {
  const fnzi_wrap_alias *root = p->roots[k], *now = p->inputs[k]->alias;
  fnzi_ints *s = p->wrapper->ints;
  bool inside = fnzi_int_is_at_least(s, root->low, now->low) &&
                fnzi_int_is_at_least(s, now->high, root->high),
       all = inside && now->compact;
  if (inside && !all && (now->repeats || !root->compact)) {
    fnzi_relation r =
        fnzi_oracle_relate(p->wrapper->ints, &now->geometry, &root->geometry, NULL, FNZI_MUCH_WORK);
    all = r == FNZI_EQUAL || r == FNZI_CONTAINS;
  }
  return all;
}

/* The final value of memory that input k is, or that it was moved away from or shows only a part
 * of: the caller may have other tensors of that memory. */
static fnz_status add_memory(fnzi_pass *p, fnzi_pass_output_list *out, uint32_t k,
                             const char *target, fnzi_wrap_alias *root) {
  fnzi_pass_output o = {.input = k, .written = true};
  o.spec.kind = FNZ_OUTPUT_MEMORY_MUTATION;
  o.spec.target = target;
  return outputs_add_value(p, out, o, root);
}

static fnz_status add_mutation(fnzi_pass *p, fnzi_pass_output_list *out, uint32_t k) {
  const fnz_input_spec *from = &p->from->inputs[k];
  fnz_input_spec *to = &p->to->inputs[k];
  const fnzi_pass_merged *merged = merged_of(p, k);
  fnzi_pass_output o = {.tensor = p->inputs[k], .input = k, .written = outputs_is_written(p, k)};
  o.spec.target = from->kind == FNZ_INPUT_USER
                      ? p->graph->values.data[p->graph->inputs[k].u.value].name
                      : from->target;
  o.spec.set = is_moved(p, k);
  o.spec.metadata = is_reshaped(p, k) || o.spec.set;
  if (!o.written && !o.spec.metadata)
    return FNZ_OK;
  if (from->kind == FNZ_INPUT_CONSTANT) /* that is written: state, as a buffer that is not saved */
    to->kind = FNZ_INPUT_BUFFER;
  o.spec.kind = to->kind == FNZ_INPUT_PARAMETER ? FNZ_OUTPUT_PARAMETER_MUTATION
                : to->kind == FNZ_INPUT_BUFFER  ? FNZ_OUTPUT_BUFFER_MUTATION
                : to->kind == FNZ_INPUT_MEMORY  ? FNZ_OUTPUT_MEMORY_MUTATION
                                                : FNZ_OUTPUT_INPUT_MUTATION;
  /* Another input, or one that is added, has the final value of all of the memory. */
  to->written = o.written && merged && (merged->name || merged->base != k);
  bool left = o.written && o.spec.metadata && (o.spec.set || !shows_all(p, k));
  if (left)
    FNZ_TRY(add_memory(p, out, k, o.spec.target, p->roots[k]));
  if (to->written && !o.spec.metadata)
    return FNZ_OK;
  o.written = o.written && !left && !to->written;
  return outputs_add_value(p, out, o, p->inputs[k]->alias);
}

static fnz_status add_outputs(fnzi_pass *p, fnzi_pass_output_list *out) {
  FNZI_NEW(&p->arena, 3 * (size_t)p->graph->ninputs + (size_t)p->graph->noutputs, &out->data);
  out->count = 0;
  for (uint32_t k = 0; k < p->graph->ninputs; k++)
    if (p->inputs[k])
      FNZ_TRY(fnzi_pass_failure_note(p, NULL, add_mutation(p, out, k)));
  /* The final values of synthetic bases. */
  for (uint32_t k = 0; p->alias_sets->shared && k < p->graph->ninputs; k++) {
    const fnzi_pass_merged *j = &p->merged[k];
    if (j->root && j->name && j->root->storage->version > 0)
      FNZ_TRY(add_memory(p, out, j->base, j->name, j->root));
  }
  out->mutations = out->count;
  for (uint32_t k = 0; k < p->graph->noutputs; k++) {
    const fnz_arg *a = &p->graph->outputs[k];
    fnzi_pass_output o = {.spec = p->from->outputs[k], .arg = *a};
    if (a->tag == FNZ_ARG_VALUE) {
      o.tensor = p->tensors[a->u.value];
      FNZ_TRY(outputs_add_value(p, out, o, o.tensor->alias));
      continue;
    }
    if (fnzi_is_reference(a)) {
      FNZ_TRY(fnzi_pass_arg_other(p, &o.arg));
      o.handle = fnzi_is_reference(&o.arg) ? o.arg.u.value : 0;
    }
    out->data[out->count++] = o;
  }
  return fnzi_pass_outputs_alias(p, out);
}

/* --- building --------------------------------------------------------------------------------- */
/* An epilogue needs no value for an input whose sizes change only. */
static bool outputs_is_needed(const fnzi_pass *p, const fnzi_pass_output_list *out, size_t k) {
  return out->data[k].handle && (!p->epilogue || k >= out->mutations || out->data[k].written);
}

/* The values that the graph must have: of a final value the windows that change, if these
 * are known. */
static size_t list_needed(const fnzi_pass *p, const fnzi_pass_output_list *out,
                          fnz_handle *handles) {
  size_t n = 0;
  for (size_t k = 0; k < out->count; k++) {
    const fnzi_pass_output *o = &out->data[k];
    for (size_t i = 0; i < o->writes.count; i++)
      handles[n++] = o->writes.data[i].value;
    if (!o->writes.count && outputs_is_needed(p, out, k))
      handles[n++] = o->handle;
  }
  return n;
}

/* Finds the windows of states that change, where an epilogue writes them. *most: values to list. */
static fnz_status find_windows(fnzi_pass *p, fnzi_pass_output_list *out, size_t *most) {
  fnz_handle *handles;
  size_t n = 0;
  *most = out->count;
  if (!p->epilogue || p->whole || p->all->as_recorded || !out->mutations)
    return FNZ_OK;
  FNZI_NEW(&p->arena, out->count, &handles);
  FNZ_TRY(fnzi_rec_prepare(p->recorder, handles, list_needed(p, out, handles), &p->wrapper->views));
  for (size_t k = 0; k < out->count; k++)
    if (outputs_is_needed(p, out, k))
      out->data[k].handle = handles[n++];
  for (size_t k = 0; k < out->mutations; k++) {
    fnzi_pass_output *o = &out->data[k];
    const fnz_arg *input = &fnzi_graph_at(p->to, p->into)->inputs[o->input];
    if (!outputs_is_needed(p, out, k) || o->spec.metadata)
      continue;
    FNZ_TRY(fnzi_rec_final_find(p->recorder, (uint32_t)input->u.value, o->handle, &p->arena,
                                &o->writes));
    *most += o->writes.count;
  }
  return FNZ_OK;
}

static fnz_status write_outputs(fnzi_pass *p, fnzi_pass_output_list *out) {
  fnz_handle *handles;
  uint32_t *values;
  fnz_arg *args;
  size_t most;
  fnzi_graph *graph = fnzi_graph_at(p->to, p->into);
  p->tensors = NULL;
  fnzi_arena_free(&p->tensor_arena);
  FNZ_TRY(find_windows(p, out, &most));
  FNZI_NEW(&p->arena, most, &handles);
  FNZI_NEW(&p->arena, most, &values);
  FNZI_NEW(&p->arena, out->count, &args);
  FNZI_NEW(&p->to->arena, out->count, &p->to->outputs);
  FNZ_TRY(fnzi_rec_build(p->recorder, handles, list_needed(p, out, handles),
                         p->all->as_recorded ? NULL : &p->wrapper->views, values));
  /* The values of the graph, in the order of list_needed(), become arguments of the end. */
  for (size_t k = 0; k < out->count; k++) {
    fnzi_pass_output *o = &out->data[k];
    args[k] = o->arg;
    for (size_t i = 0; i < o->writes.count; i++)
      o->writes.data[i].made = *values++;
    if (!o->writes.count && outputs_is_needed(p, out, k))
      args[k].u.value = *values++;
    else if (o->handle)
      args[k] = (fnz_arg){.tag = FNZ_ARG_NONE};
  }
  for (size_t k = 0; k < out->count; k++)
    p->to->outputs[k] = out->data[k].spec;
  FNZ_TRY(fnzi_args_copy(p->to, args, out->count, &graph->outputs));
  graph->noutputs = (uint32_t)out->count;
  graph->returns_single = p->graph->returns_single;
  return FNZ_OK;
}

/* Marks outputs that are memory of their own in the original, but whose value is an input or
 * another output, too. */
static fnz_status mark_own(fnzi_pass *p, const fnzi_pass_output_list *out) {
  const fnzi_graph *g = fnzi_graph_at(p->to, p->into);
  bool *seen;
  FNZI_NEW(&p->arena, g->values.count, &seen);
  for (size_t k = out->mutations; k < out->count; k++) {
    fnz_output_spec *spec = &p->to->outputs[k];
    if (!fnzi_output_is_result(spec) || g->outputs[k].tag != FNZ_ARG_VALUE)
      continue;
    uint64_t memory = fnzi_value_memory(p->to, p->into, g->outputs[k].u.value);
    bool is_input = g->values.data[memory].node == FNZI_NO_NODE;
    if (spec->sharing == FNZ_SHARING_NEW && !spec->window && (is_input || seen[memory]))
      spec->sharing = FNZ_SHARING_OWN;
    seen[memory] = true;
  }
  return FNZ_OK;
}

/* An input whose sizes or strides have changed, or an output in dense memory of its own, may have
 * other strides than its value is recorded with: the window says which. */
static fnz_status say_strides(fnzi_pass *p, const fnzi_pass_output_list *out) {
  const fnzi_graph *g = fnzi_graph_at(p->to, p->into);
  for (size_t k = 0; k < out->count; k++) {
    fnz_output_spec *spec = &p->to->outputs[k];
    const fnz_tensor *t = out->data[k].tensor;
    bool is_own = fnzi_output_is_result(spec) &&
                  (spec->sharing == FNZ_SHARING_NEW || spec->sharing == FNZ_SHARING_OWN);
    if (t == NULL || g->outputs[k].tag != FNZ_ARG_VALUE || spec->window ||
        (!is_own && !(fnzi_output_is_mutation(spec) && spec->metadata)))
      continue;
    const fnz_geometry *eager = &t->alias->geometry;
    bool same = (is_own && !fnzi_int_is_dense(p->wrapper->ints, eager)) ||
                (fnzi_same_strides(eager, g->values.data[g->outputs[k].u.value].geometry) &&
                 (is_own || eager->offset == 0));
    if (!same)
      FNZ_TRY(fnzi_intern_geometry(p->to, eager, &spec->window));
  }
  return FNZ_OK;
}

fnz_status fnzi_pass_outputs_make(fnzi_pass *p) {
  fnzi_pass_output_list out;
  for (uint32_t k = 0; p->alias_sets->shared && k < p->graph->ninputs; k++) {
    if (!p->inputs[k] || !must_merge(p, k))
      continue;
    p->alias_sets->merge[p->alias_sets->first[k]] =
        merged_of(p, k) ? FNZI_MERGE_INTO_BASE : FNZI_MERGE_INTO_MEMBER;
    p->must_restart = true;
  }
  if (p->must_restart)
    return FNZ_OK;
  FNZ_TRY(add_outputs(p, &out));
  FNZ_TRY(write_outputs(p, &out));
  FNZ_TRY(mark_own(p, &out));
  FNZ_TRY(say_strides(p, &out));
  FNZ_TRY(fnzi_pass_guards_add(p));
  return p->epilogue ? fnzi_pass_epilogue_add(p, &out) : FNZ_OK;
}
