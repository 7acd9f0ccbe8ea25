/* inputs.c - starts a program: copies versions and weights, makes tensors of inputs.
 *
 * needs   the source graph; an empty target graph
 * keeps   names, order and kinds of inputs
 * gives   a tensor per tensor input, with memory of its own that is held to the end of the pass */
#include "functionalize/pass/pass.h"

fnz_status fnzi_pass_header_copy(fnzi_pass *p) {
  p->to->schema_major = p->from->schema_major;
  p->to->schema_minor = p->from->schema_minor;
  if (p->from->torch_version)
    FNZ_TRY(fnzi_intern(p->to, p->from->torch_version, strlen(p->from->torch_version),
                        &p->to->torch_version));
  for (size_t i = 0; i < p->from->ranges.count; i++) {
    fnzi_range range = p->from->ranges.data[i];
    FNZ_TRY(fnzi_intern(p->to, range.symbol, strlen(range.symbol), &range.symbol));
    FNZI_PUSH(p->ctx, &p->to->ranges, range);
  }
  for (size_t i = 0; i < p->from->weights.count; i++) {
    const fnzi_weight *w = &p->from->weights.data[i];
    const fnz_geometry *g;
    FNZ_TRY(fnzi_intern_geometry(p->to, w->geometry, &g));
    FNZ_TRY(fnzi_weight_add(p->to, w->name, w->blob, g));
  }
  return FNZ_OK;
}

/* --- values ----------------------------------------------------------------------------------- */
static bool is_merged(const fnzi_pass *p, uint32_t k) {
  return p->alias_sets && p->alias_sets->shared &&
         p->alias_sets->merge[p->alias_sets->first[k]] != FNZI_MERGE_NONE;
}

static bool is_reference(const fnz_arg *a) {
  return a->tag == FNZ_ARG_VALUE || a->tag == FNZ_ARG_OBJECT || a->tag == FNZ_ARG_TOKEN;
}

static fnz_status add_inputs(fnzi_pass *p, size_t more) {
  fnzi_graph *to = fnzi_graph_at(p->to, p->into);
  size_t count = p->graph->ninputs;
  fnz_arg *inputs;
  FNZI_NEW(&p->to->arena, count + more, &p->to->inputs);
  FNZI_NEW(&p->to->arena, count + more, &inputs);
  FNZ_TRY(fnzi_args_copy(p->to, p->graph->inputs, count, &to->inputs));
  if (count)
    memcpy(inputs, to->inputs, count * sizeof *inputs);
  to->inputs = inputs;
  to->ninputs = (uint32_t)count;
  for (uint32_t k = 0; k < count; k++) {
    fnz_input_spec spec = p->from->inputs[k];
    if (is_reference(&inputs[k])) {
      /* A merged input has its window of the shared memory as geometry, the others have the traced
       * one. */
      const fnzi_value *v = &p->graph->values.data[inputs[k].u.value];
      const fnz_geometry *g = v->geometry;
      uint32_t value;
      if (g && is_merged(p, k))
        g = p->alias_sets->windows[k];
      if (g)
        FNZ_TRY(fnzi_intern_geometry(p->to, g, &g));
      FNZ_TRY(fnzi_value_add(p->to, p->into, v->name, g, FNZI_NO_NODE, &value));
      inputs[k].u.value = value;
    }
    if (spec.target)
      FNZ_TRY(fnzi_intern(p->to, spec.target, strlen(spec.target), &spec.target));
    if (is_merged(p, k) && p->alias_sets->first[k] != k)
      spec.shares = p->alias_sets->first[k] + 1;
    p->to->inputs[k] = spec;
  }
  return FNZ_OK;
}

/* --- tensors ---------------------------------------------------------------------------------- */
fnz_status fnzi_pass_tensor_window(fnzi_pass *p, fnzi_wrap_alias *root, const fnz_geometry *window,
                                   fnz_tensor **out) {
  fnzi_wrap_alias *node;
  *out = NULL;
  FNZ_TRY(fnzi_wrap_alias_window(p->wrapper, root, window, &node));
  fnz_status status = fnzi_wrap_tensor_on(p->wrapper, node, out);
  fnzi_wrap_alias_release(node);
  return status;
}

static fnz_status wrap_value(fnzi_pass *p, uint32_t value, fnz_tensor **out) {
  fnz_handle handle;
  FNZ_TRY(fnzi_rec_value(p->recorder, value, &handle));
  return fnz_tensor_wrap(p->wrapper, fnzi_value_at(p->to, p->into, value)->geometry, handle, out);
}

/* The caller still has the memory of an input after the program has moved the input to other memory
 * (set_). So a second tensor stands for the caller's until the wrapper is destroyed: otherwise
 * writes to that memory would count as unused. */
static fnz_status wrap_input(fnzi_pass *p, uint32_t k) {
  fnz_tensor *callers;
  const fnz_arg *from = &p->graph->inputs[k];
  uint32_t value = (uint32_t)fnzi_graph_at(p->to, p->into)->inputs[k].u.value;
  if (!is_reference(from))
    return FNZ_OK;
  if (from->tag != FNZ_ARG_VALUE) {
    p->others[from->u.value].tag = from->tag;
    return fnzi_rec_value(p->recorder, value, &p->others[from->u.value].u.value);
  }
  if (is_merged(p, k))
    FNZ_TRY(fnzi_pass_tensor_window(p, p->merged[p->alias_sets->first[k]].root,
                                    p->alias_sets->windows[k], &p->inputs[k]));
  else
    FNZ_TRY(wrap_value(p, value, &p->inputs[k]));
  p->inputs[k]->refs++;
  p->roots[k] = fnzi_wrap_alias_retain(p->inputs[k]->alias);
  FNZ_TRY(fnzi_wrap_tensor_on(p->wrapper, p->roots[k], &callers));
  p->tensors[from->u.value] = p->inputs[k];
  return FNZ_OK;
}

/* --- merged inputs ---------------------------------------------------------------------------- */

/* Adds a synthetic base: one more input, for the blob of weights or the memory of the caller. */
static fnz_status add_base_input(fnzi_pass *p, uint32_t first, fnzi_pass_merged *j) {
  fnzi_graph *to = fnzi_graph_at(p->to, p->into);
  const fnz_input_spec *in = &p->from->inputs[first];
  const fnzi_weight *w = fnzi_weight_find(p->from, in->target);
  const fnz_geometry *own;
  fnz_geometry g;
  int64_t size;
  fnzi_pass_alias_sets_memory(p->alias_sets, first, &size, &g);
  FNZ_TRY(fnzi_intern_geometry(p->to, &g, &own));
  FNZ_TRY(fnzi_value_add_fresh(p->to, p->into, "memory", own, FNZI_NO_NODE, &j->value));
  j->name = fnzi_value_at(p->to, p->into, j->value)->name;
  if (in->kind != FNZ_INPUT_USER && w) {
    /* A name such as "memory:bn.mean" is in no model. */
    FNZ_TRY(fnzi_arena_format(&p->to->arena, &j->name, "memory:%s", w->name));
    while (fnzi_weight_find(p->to, j->name))
      FNZ_TRY(fnzi_arena_format(&p->to->arena, &j->name, "memory:%s", j->name));
    FNZ_TRY(fnzi_weight_add(p->to, j->name, w->blob, own));
  }
  j->base = to->ninputs++;
  to->inputs[j->base] = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = j->value};
  p->to->inputs[j->base] =
      (fnz_input_spec){.kind = FNZ_INPUT_MEMORY, .target = j->name, .shares = first + 1};
  return FNZ_OK;
}

/* Finds an input that shows all of the memory, if possible one that may be written. */
static bool find_base(const fnzi_pass *p, uint32_t first, uint32_t *out) {
  bool found = false;
  for (uint32_t k = first; k < p->alias_sets->count; k++) {
    bool fits = p->alias_sets->first[k] == first && p->alias_sets->windows[k] &&
                fnzi_pass_alias_sets_cover(p->alias_sets, k);
    bool better = !found || (p->from->inputs[*out].kind == FNZ_INPUT_CONSTANT &&
                             p->from->inputs[k].kind != FNZ_INPUT_CONSTANT);
    if (fits && better)
      *out = k;
    found = found || fits;
  }
  return found;
}

static fnz_status merge_sets(fnzi_pass *p) {
  for (uint32_t k = 0; k < p->alias_sets->count; k++) {
    fnzi_pass_merged *j = &p->merged[k];
    if (p->alias_sets->first[k] != k || p->alias_sets->merge[k] == FNZI_MERGE_NONE)
      continue;
    if (p->alias_sets->merge[k] == FNZI_MERGE_INTO_MEMBER && find_base(p, k, &j->base))
      j->value = (uint32_t)fnzi_graph_at(p->to, p->into)->inputs[j->base].u.value;
    else
      FNZ_TRY(add_base_input(p, k, j));
    fnz_tensor *all; /* only its alias is kept, the root of the merged set */
    FNZ_TRY(wrap_value(p, j->value, &all));
    j->root = fnzi_wrap_alias_retain(all->alias);
    fnz_tensor_release(all);
  }
  return FNZ_OK;
}

fnz_status fnzi_pass_inputs_make(fnzi_pass *p) {
  bool shared = p->alias_sets && p->alias_sets->shared;
  FNZI_NEW(&p->tensor_arena, p->graph->values.count, &p->tensors);
  FNZI_NEW(&p->arena, p->graph->ninputs, &p->inputs);
  FNZI_NEW(&p->arena, p->graph->ninputs, &p->roots);
  FNZI_NEW(&p->arena, shared ? p->graph->ninputs : 0, &p->merged);
  FNZ_TRY(add_inputs(p, shared ? p->graph->ninputs : 0));
  if (shared)
    FNZ_TRY(merge_sets(p));
  for (uint32_t k = 0; k < p->graph->ninputs; k++)
    FNZ_TRY(wrap_input(p, k));
  for (uint32_t first = 0; shared && first < p->alias_sets->count; first++) {
    fnzi_wrap_alias **watched; /* windows of a merged set: writes that overlap them set `touched` */
    size_t count = 0;
    if (!p->merged[first].root)
      continue;
    FNZI_NEW(&p->arena, p->graph->ninputs, &watched);
    for (uint32_t k = first; k < p->graph->ninputs; k++)
      if (p->alias_sets->first[k] == first && p->roots[k])
        watched[count++] = p->roots[k];
    p->merged[first].root->storage->watched = watched;
    p->merged[first].root->storage->nwatched = count;
  }
  return FNZ_OK;
}

void fnzi_pass_inputs_free(fnzi_pass *p) {
  for (size_t k = 0; p->roots && k < p->graph->ninputs; k++)
    fnzi_wrap_alias_release(p->roots[k]);
  for (size_t k = 0; p->merged && p->alias_sets->shared && k < p->alias_sets->count; k++)
    fnzi_wrap_alias_release(p->merged[k].root);
}
