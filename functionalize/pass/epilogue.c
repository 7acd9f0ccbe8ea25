/* epilogue.c - writes final values to inputs, at the end of a graph that is built.
 *
 * needs   a graph whose leading outputs are the final values of inputs, or the windows that change
 * keeps   every other output, and its value
 * gives   no such outputs; per input, in their order, `as_strided_` where its sizes or strides
 *         change and `copy_` where its elements do: into the input, or into views of it that lead
 *         to the windows that change. Inputs and views of inputs that are written elsewhere or
 *         returned are cloned before the first write that would change them */
#include "functionalize/pass/outputs.h"

/* A value that the end of the graph uses. */
typedef struct use {
  fnz_arg value; /* cloned where necessary */
  size_t output;
  const fnzi_rec_write *write; /* into a window; NULL for others */
} use;

typedef struct epilogue {
  fnzi_pass *p;
  const fnzi_pass_output_list *out;
  size_t *writers; /* per value of the graph: 1 + the first use that is written into this input */
  size_t *movers;  /* the same for one that gives the input other sizes or strides */
  use *uses;       /* in the order of outputs; of an output with windows there are several */
  size_t count;
  const char *source;  /* of the nodes that are added */
  const fnzi_why *why; /* NULL: not known */
} epilogue;

static fnzi_graph *graph_of(const epilogue *e) {
  return fnzi_graph_at(e->p->to, e->p->into);
}

/* --- nodes ------------------------------------------------------------------------------------ */
/* `args`: the first of all; the others are left to their defaults. */
static fnz_status add_node(epilogue *e, const fnz_op *op, const fnz_arg *args, size_t nargs,
                           const fnz_geometry *g, uint32_t *value) {
  fnz_program *to = e->p->to;
  uint32_t node = (uint32_t)graph_of(e)->nodes.count;
  fnz_arg *all;
  FNZI_NEW(&e->p->arena, op->nparams, &all);
  memcpy(all, args, nargs * sizeof *args);
  fnzi_notes *notes = e->p->to->notes;
  if (notes && e->why) {
    if (node == 0)
      FNZ_TRY(fnzi_notes_restart(e->p->ctx, notes, e->p->into));
    const fnzi_note note = {e->p->into, node, *e->why};
    FNZI_PUSH(e->p->ctx, &notes->nodes, note);
  }
  FNZ_TRY(fnzi_value_add_fresh(to, e->p->into, op->base, g, node, value));
  fnz_arg result = fnzi_arg_value(*value);
  const fnzi_node n = {.op = op,
                       .args = all,
                       .nargs = op->nparams,
                       .outputs = &result,
                       .noutputs = 1,
                       .source = e->source};
  return fnzi_node_add(to, e->p->into, &n, &node);
}

static uint64_t input_of(const epilogue *e, size_t k) {
  return graph_of(e)->inputs[e->out->data[k].input].u.value;
}

/* The final value is written to the input, unless the two are the same value, as without elements.
 */
static bool epilogue_is_written(const epilogue *e, size_t k) {
  const fnz_arg *value = &graph_of(e)->outputs[k];
  return e->out->data[k].written &&
         (value->tag != FNZ_ARG_VALUE || value->u.value != input_of(e, k));
}

/* --- uses ------------------------------------------------------------------------------------- */

static fnz_status list_uses(epilogue *e) {
  const fnzi_graph *g = graph_of(e);
  size_t most = e->out->count;
  for (size_t k = 0; k < e->out->mutations; k++)
    most += e->out->data[k].writes.count;
  FNZI_NEW(&e->p->arena, g->values.count, &e->writers);
  FNZI_NEW(&e->p->arena, g->values.count, &e->movers);
  FNZI_NEW(&e->p->arena, most, &e->uses);
  for (size_t k = 0; k < e->out->count; k++) {
    const fnzi_pass_output *o = &e->out->data[k];
    const bool ends = k < e->out->mutations;
    if (ends && epilogue_is_written(e, k) && !e->writers[input_of(e, k)])
      e->writers[input_of(e, k)] = e->count + 1;
    if (ends && o->spec.metadata)
      e->movers[input_of(e, k)] = e->count + 1;
    for (size_t i = 0; i < o->writes.count; i++)
      e->uses[e->count++] = (use){fnzi_arg_value(o->writes.data[i].made), k, &o->writes.data[i]};
    if (!o->writes.count)
      e->uses[e->count++] = (use){graph_of(e)->outputs[k], k, NULL};
  }
  return FNZ_OK;
}

/* A write reaches the memory that an input came with: neither other memory nor more of it. No copy_
 * can write elements that a stride of 0 shows in several places. */
static fnz_status check(const epilogue *e, size_t k) {
  const fnzi_pass_output *o = &e->out->data[k];
  const char *name = o->spec.target;
  if (epilogue_is_written(e, k) &&
      fnzi_has_zero_stride(fnzi_value_at(e->p->to, e->p->into, input_of(e, k))->geometry))
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
  fnzi_ints *s = e->p->wrapper->ints;
  if (fnzi_int_is_at_least(s, now->low, root->low) &&
      fnzi_int_is_at_least(s, root->high, now->high))
    return FNZ_OK;
  return fnzi_fail_for(
      e->p->ctx, FNZI_REASON_DIALECT, FNZ_CLASS_UNSUPPORTED, name,
      "input %s grows beyond the memory that it came with, which no write at the end "
      "can do; take final values as outputs (--state outputs)",
      name);
}

/* --- writing ---------------------------------------------------------------------------------- */
static fnz_status copy_into(epilogue *e, uint64_t target, const fnz_geometry *g,
                            const fnz_arg *from) {
  const fnz_arg args[2] = {fnzi_arg_value(target), *from};
  uint32_t value;
  return add_node(e, fnzi_emitted_op(FNZI_EMIT_COPY_INPLACE), args, 2, g, &value);
}

/* The views that lead to the window, right before the write. */
static fnz_status write_window(epilogue *e, const use *u) {
  const fnzi_rec_path *last = u->write->path, **views, *w = last;
  const fnz_geometry *g = NULL;
  uint64_t target = input_of(e, u->output);
  FNZI_NEW(&e->p->arena, last->length, &views);
  for (uint32_t n = last->length; n-- > 0; w = w->above)
    views[n] = w;
  e->source = u->write->source;
  e->why = u->write->why;
  for (uint32_t n = 0; n < last->length; n++) {
    uint32_t view;
    views[n]->args[0] = fnzi_arg_value(target);
    FNZ_TRY(fnzi_intern_geometry(e->p->to, views[n]->window, &g));
    FNZ_TRY(add_node(e, views[n]->op, views[n]->args, views[n]->op->nparams, g, &view));
    target = view;
  }
  FNZ_TRY(copy_into(e, target, g, &u->value));
  e->source = "";
  e->why = NULL;
  return FNZ_OK;
}

static fnz_status write_back(epilogue *e, const use *u) {
  const fnzi_pass_output *o = &e->out->data[u->output];
  uint64_t input = input_of(e, u->output);
  const fnz_geometry *g = fnzi_value_at(e->p->to, e->p->into, input)->geometry;
  if (u->write)
    return write_window(e, u);
  if (o->spec.metadata) {
    FNZ_TRY(fnzi_intern_geometry(e->p->to, &o->tensor->alias->geometry, &g));
    fnz_arg args[4] = {fnzi_arg_value(input)};
    uint32_t value;
    FNZ_TRY(fnzi_arg_of_sizes(&e->p->arena, g, &args[1]));
    FNZ_TRY(fnzi_arg_of_strides(&e->p->arena, g, &args[2]));
    args[3] = fnzi_arg_of_int(fnzi_int_offset(g));
    FNZ_TRY(add_node(e, fnzi_emitted_op(FNZI_EMIT_AS_STRIDED_INPLACE), args, 4, g, &value));
  }
  return epilogue_is_written(e, u->output) ? copy_into(e, input, g, &u->value) : FNZ_OK;
}

/* --- the whole -------------------------------------------------------------------------------- */

fnz_status fnzi_pass_epilogue_add(fnzi_pass *p, const fnzi_pass_output_list *out) {
  epilogue e = {.p = p, .out = out, .source = ""};
  if (!out->mutations)
    return FNZ_OK;
  for (size_t k = 0; k < out->mutations; k++)
    FNZ_TRY(check(&e, k));
  FNZ_TRY(list_uses(&e));
  for (size_t i = 0; i < e.count; i++)
    if (e.uses[i].value.tag == FNZ_ARG_VALUE) {
      /* A value that a write would change before it is used is cloned; a final value is used by its
       * own write. */
      fnz_arg *arg = &e.uses[i].value;
      const fnz_geometry *g = fnzi_value_at(e.p->to, e.p->into, arg->u.value)->geometry;
      uint32_t value;
      size_t writer = e.writers[fnzi_value_memory(e.p->to, e.p->into, arg->u.value)];
      size_t mover = e.movers[arg->u.value],
             last = e.uses[i].output < e.out->mutations ? i + 1 : SIZE_MAX;
      bool changes = (writer && writer <= last) || (mover && mover <= last);
      if (changes) {
        FNZ_TRY(add_node(&e, fnzi_emitted_op(FNZI_EMIT_CLONE), arg, 1, g, &value));
        arg->u.value = value;
      }
    }
  for (size_t i = 0; i < e.count && e.uses[i].output < out->mutations; i++)
    FNZ_TRY(write_back(&e, &e.uses[i]));
  size_t gone = e.out->mutations, count = e.out->count - gone;
  fnz_output_spec *specs = e.p->to->outputs + gone;
  fnz_arg *outputs;
  FNZI_NEW(&e.p->to->arena, count, &outputs);
  for (size_t k = 0; k < count; k++) {
    outputs[k] = e.uses[e.count - count + k].value;
    if (specs[k].sharing == FNZ_SHARING_OUTPUT || specs[k].sharing == FNZ_SHARING_OUTPUT_VIEW)
      specs[k].of -= (uint32_t)gone;
  }
  e.p->to->outputs = specs;
  graph_of(&e)->outputs = outputs;
  graph_of(&e)->noutputs = (uint32_t)count;
  return FNZ_OK;
}
