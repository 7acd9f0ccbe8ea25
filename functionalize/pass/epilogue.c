/* epilogue.c - writes final values to inputs, at the end of a graph that is built.
 *
 * needs   a graph whose leading outputs are the final values of inputs
 * keeps   every other output, and its value
 * gives   no such outputs; per input, in their order, `as_strided_` where its sizes or strides
 * change and `copy_` where its elements do. Inputs and views of inputs that are written elsewhere
 *         or returned are cloned before the first write that would change them */
#include "functionalize/pass/outputs.h"

typedef struct epilogue {
  fnzi_pass *p;
  const fnzi_pass_output_list *out;
  size_t *writers; /* per value of the graph: 1 + the output that is written into this input */
  size_t *movers;  /* the same for one that gives the input other sizes or strides */
  fnz_arg *values; /* per output: its value, cloned where necessary */
} epilogue;

static fnzi_graph *graph_of(const epilogue *e) {
  return fnzi_graph_at(e->p->to, e->p->into);
}

/* --- nodes ------------------------------------------------------------------------------------ */
static fnz_status add_node(epilogue *e, fnzi_emit_op which, const fnz_arg *args, size_t nargs,
                           const fnz_geometry *g, uint32_t *value) {
  fnz_program *to = e->p->to;
  const fnz_op *op = fnzi_emitted_op(which);
  uint32_t node = (uint32_t)graph_of(e)->nodes.count;
  fnz_arg *all;
  FNZI_NEW(&e->p->arena, op->nparams, &all);
  memcpy(all, args, nargs * sizeof *args);
  FNZ_TRY(fnzi_value_add_fresh(to, e->p->into, op->base, g, node, value));
  fnz_arg result = fnzi_arg_value(*value);
  const fnzi_node n = {
      .op = op, .args = all, .nargs = op->nparams, .outputs = &result, .noutputs = 1, .source = ""};
  return fnzi_node_add(to, e->p->into, &n, &node);
}

static uint64_t input_of(const epilogue *e, size_t k) {
  return graph_of(e)->inputs[e->out->data[k].input].u.value;
}

/* The final value is written to the input, unless the two are the same value, as without elements.
 */
static bool is_written(const epilogue *e, size_t k) {
  const fnz_arg *value = &graph_of(e)->outputs[k];
  return e->out->data[k].written &&
         (value->tag != FNZ_ARG_VALUE || value->u.value != input_of(e, k));
}

/* Clones an output that a write would change before it is used; a final value is used by its own
 * write. */
static fnz_status save(epilogue *e, size_t k) {
  fnz_arg *arg = &e->values[k];
  const fnz_geometry *g = fnzi_value_at(e->p->to, e->p->into, arg->u.value)->geometry;
  uint32_t value;
  size_t writer = e->writers[fnzi_value_memory(e->p->to, e->p->into, arg->u.value)];
  size_t mover = e->movers[arg->u.value], last = k < e->out->mutations ? k + 1 : SIZE_MAX;
  bool changes = (writer && writer <= last) || (mover && mover <= last);
  if (!changes)
    return FNZ_OK;
  FNZ_TRY(add_node(e, FNZI_EMIT_CLONE, arg, 1, g, &value));
  arg->u.value = value;
  return FNZ_OK;
}

static bool repeats(const fnz_geometry *g) {
  for (uint32_t d = 0; d < g->rank && g->strides; d++)
    if (g->strides[d] == 0 && g->sizes[d] > 1)
      return true;
  return false;
}

/* A write reaches the memory that an input came with: neither other memory nor more of it. No copy_
 * can write elements that a stride of 0 shows in several places. */
static fnz_status check(const epilogue *e, size_t k) {
  const fnzi_pass_output *o = &e->out->data[k];
  const char *name = o->spec.target;
  if (is_written(e, k) && repeats(fnzi_value_at(e->p->to, e->p->into, input_of(e, k))->geometry))
    return fnzi_fail_for(
        e->p->ctx, FNZI_REASON_DIALECT, FNZ_CLASS_UNSUPPORTED, name,
        "input %s shows elements in several places, to which no copy at the end can write; take "
        "final values as outputs (--state outputs)",
        name);
  if (o->spec.set)
    return fnzi_fail_for(
        e->p->ctx, FNZI_REASON_DIALECT, FNZ_CLASS_UNSUPPORTED, name,
        "input %s gets other memory, which no write at the end gives it; take final "
        "values as outputs (--state outputs)",
        name);
  if (!o->spec.metadata)
    return FNZ_OK;
  const fnzi_wrap_alias *root = e->p->roots[o->input], *now = o->tensor->alias;
  if (now->low >= root->low && now->high <= root->high)
    return FNZ_OK;
  return fnzi_fail_for(
      e->p->ctx, FNZI_REASON_DIALECT, FNZ_CLASS_UNSUPPORTED, name,
      "input %s grows beyond the memory that it came with, which no write at the end "
      "can do; take final values as outputs (--state outputs)",
      name);
}

static fnz_status reshape(epilogue *e, uint64_t input, const fnz_geometry *to) {
  fnz_arg args[4] = {fnzi_arg_value(input)};
  uint32_t value;
  FNZ_TRY(fnzi_arg_ints(&e->p->arena, to->sizes, to->rank, &args[1]));
  FNZ_TRY(fnzi_arg_ints(&e->p->arena, to->strides, to->rank, &args[2]));
  args[3] = fnzi_arg_int(to->offset);
  FNZ_TRY(fnzi_intern_geometry(e->p->to, to, &to));
  return add_node(e, FNZI_EMIT_AS_STRIDED_INPLACE, args, 4, to, &value);
}

static fnz_status write_back(epilogue *e, size_t k) {
  const fnzi_pass_output *o = &e->out->data[k];
  uint64_t input = input_of(e, k);
  const fnz_geometry *g = fnzi_value_at(e->p->to, e->p->into, input)->geometry;
  uint32_t value;
  if (o->spec.metadata) {
    FNZ_TRY(reshape(e, input, &o->tensor->alias->geometry));
    g = &o->tensor->alias->geometry;
    FNZ_TRY(fnzi_intern_geometry(e->p->to, g, &g));
  }
  if (!is_written(e, k))
    return FNZ_OK;
  const fnz_arg args[2] = {fnzi_arg_value(input), e->values[k]};
  return add_node(e, FNZI_EMIT_COPY_INPLACE, args, 2, g, &value);
}

/* --- the whole -------------------------------------------------------------------------------- */
static void drop_outputs(epilogue *e) {
  size_t gone = e->out->mutations, count = e->out->count - gone;
  fnz_output_spec *specs = e->p->to->outputs + gone;
  for (size_t k = 0; k < count; k++)
    if (specs[k].sharing == FNZ_SHARING_OUTPUT || specs[k].sharing == FNZ_SHARING_OUTPUT_VIEW)
      specs[k].of -= (uint32_t)gone;
  e->p->to->outputs = specs;
  graph_of(e)->outputs = e->values + gone;
  graph_of(e)->noutputs = (uint32_t)count;
}

fnz_status fnzi_pass_epilogue_add(fnzi_pass *p, const fnzi_pass_output_list *out) {
  epilogue e = {.p = p, .out = out};
  fnzi_graph *g = fnzi_graph_at(p->to, p->into);
  if (!out->mutations)
    return FNZ_OK;
  FNZI_NEW(&p->arena, g->values.count, &e.writers);
  FNZI_NEW(&p->arena, g->values.count, &e.movers);
  FNZ_TRY(fnzi_args_copy(p->to, g->outputs, g->noutputs, &e.values));
  for (size_t k = 0; k < out->mutations; k++) {
    FNZ_TRY(check(&e, k));
    if (is_written(&e, k))
      e.writers[input_of(&e, k)] = k + 1;
    if (out->data[k].spec.metadata)
      e.movers[input_of(&e, k)] = k + 1;
  }
  for (size_t k = 0; k < out->count; k++)
    if (e.values[k].tag == FNZ_ARG_VALUE)
      FNZ_TRY(save(&e, k));
  for (size_t k = 0; k < out->mutations; k++)
    FNZ_TRY(write_back(&e, k));
  drop_outputs(&e);
  return FNZ_OK;
}
