/* outputs.c - how a graph ends: mutated inputs and outputs are read, and what they need is built.
 *
 * needs   a replayed graph
 * gives   the final value of every mutated input, in the order of inputs, then the outputs; the
 *         signature names the former */
#include "functionalize/pass.h"

typedef struct output {
  fnz_output_spec spec;
  fnz_arg arg;
  fnz_handle handle; /* of a tensor */
} output;

typedef struct outputs {
  output *data;
  size_t count;
} outputs;

static fnz_status refuse_input(const fnzi_pass *p, uint32_t k, const char *what) {
  const char *name = p->graph->values.data[p->graph->inputs[k].u.value].name;
  return fnzi_fail(p->ctx, FNZ_CLASS_UNSUPPORTED, name, "input %s %s", name, what);
}

/* Another weight over the same bytes would have to change as well. */
static bool shares_weight(const fnzi_pass *p, const char *name) {
  const fnzi_weight *w = name ? fnzi_weight_find(p->from, name) : NULL;
  for (size_t i = 0; w && w->blob && i < p->from->weights.count; i++) {
    const fnzi_weight *other = &p->from->weights.data[i];
    if (other != w && other->blob == w->blob &&
        fnzi_relate(w->geometry, other->geometry, NULL, FNZI_MUCH_WORK) != FNZI_DISJOINT)
      return true;
  }
  return false;
}

static fnz_output_kind mutation_kind(fnz_input_kind kind) {
  return kind == FNZ_INPUT_PARAMETER ? FNZ_OUTPUT_PARAMETER_MUTATION
         : kind == FNZ_INPUT_BUFFER  ? FNZ_OUTPUT_BUFFER_MUTATION
                                     : FNZ_OUTPUT_INPUT_MUTATION;
}

static fnz_status add_tensor_output(fnzi_pass *p, outputs *out, fnz_output_spec spec,
                                    fnz_tensor *t) {
  fnzi_held *value;
  output *o = &out->data[out->count++];
  p->world->source = "";
  FNZ_TRY(fnzi_read_tensor(t, &value));
  *o = (output){spec, {.tag = FNZ_ARG_VALUE}, value->handle};
  if (spec.target)
    FNZ_TRY(fnzi_intern(p->to, spec.target, strlen(spec.target), &o->spec.target));
  fnzi_settle(p->world);
  return FNZ_OK;
}

static fnz_status add_mutation(fnzi_pass *p, outputs *out, uint32_t k) {
  const fnz_input_spec *in = &p->from->inputs[k];
  const fnzi_value *v = &p->graph->values.data[p->graph->inputs[k].u.value];
  fnz_output_spec spec = {mutation_kind(in->kind), NULL, false};
  fnz_tensor *t = p->inputs[k];
  if (t->node->storage != p->roots[k]->storage)
    return refuse_input(p, k,
                        "gets other memory by set_ or resize_; return the new tensor instead");
  spec.metadata = !fnzi_geometry_equal(&t->node->geometry, v->geometry);
  if (!spec.metadata && t->node->storage->version == 0)
    return FNZ_OK;
  if (in->kind == FNZ_INPUT_CONSTANT)
    return refuse_input(p, k, "is a constant of the program, yet it is written; make it a buffer");
  if (shares_weight(p, in->target))
    return refuse_input(p, k, "is written and shares its memory with another weight; untie them");
  spec.target = in->kind == FNZ_INPUT_USER ? v->name : in->target;
  return add_tensor_output(p, out, spec, t);
}

static fnz_status add_outputs(fnzi_pass *p, outputs *out) {
  FNZI_NEW(&p->arena, p->graph->ninputs + (size_t)p->graph->noutputs, &out->data);
  out->count = 0;
  for (uint32_t k = 0; k < p->graph->ninputs; k++)
    if (p->inputs[k])
      FNZ_TRY(add_mutation(p, out, k));
  for (uint32_t k = 0; k < p->graph->noutputs; k++) {
    const fnz_arg *a = &p->graph->outputs[k];
    if (a->tag == FNZ_ARG_VALUE) {
      FNZ_TRY(add_tensor_output(p, out, p->from->outputs[k], p->tensors[a->u.value]));
      continue;
    }
    if (a->tag >= FNZ_ARG_SYMBOL && a->tag <= FNZ_ARG_OBJECT)
      return fnzi_fail(p->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                       "output %u is a symbolic number, a token or an object", k);
    out->data[out->count++] = (output){p->from->outputs[k], *a, 0};
  }
  return FNZ_OK;
}

static fnz_status write_outputs(fnzi_pass *p, const outputs *out) {
  fnz_handle *handles;
  uint32_t *values;
  fnz_arg *args;
  size_t n = 0;
  fnzi_graph *graph = fnzi_graph_at(p->to, p->into);
  FNZI_NEW(&p->arena, out->count, &handles);
  FNZI_NEW(&p->arena, out->count, &values);
  FNZI_NEW(&p->arena, out->count, &args);
  FNZI_NEW(&p->to->arena, out->count, &p->to->outputs);
  for (size_t k = 0; k < out->count; k++)
    if (out->data[k].handle)
      handles[n++] = out->data[k].handle;
  FNZ_TRY(fnzi_recorder_build(p->recorder, handles, n, p->world->views == FNZ_VIEWS_COPY, values));
  n = 0;
  for (size_t k = 0; k < out->count; k++) {
    args[k] = out->data[k].arg;
    if (out->data[k].handle)
      args[k].u.value = values[n++];
    p->to->outputs[k] = out->data[k].spec;
  }
  FNZ_TRY(fnzi_args_copy(p->to, args, out->count, &graph->outputs));
  graph->noutputs = (uint32_t)out->count;
  graph->returns_single = p->graph->returns_single;
  return FNZ_OK;
}

fnz_status fnzi_pass_outputs(fnzi_pass *p) {
  outputs out;
  FNZ_TRY(add_outputs(p, &out));
  return write_outputs(p, &out);
}
