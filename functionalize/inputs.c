/* inputs.c - what a program and its graphs begin with: weights and versions, inputs as tensors.
 *
 * needs   the source graph; an empty target graph
 * keeps   names, order and kinds of inputs
 * gives   a tensor per tensor input, with memory of its own that is held to the end of the pass */
#include "functionalize/pass.h"

static fnz_status copy_weights(fnzi_pass *p) {
  for (size_t i = 0; i < p->from->weights.count; i++) {
    const fnzi_weight *w = &p->from->weights.data[i];
    const fnz_geometry *g;
    FNZ_TRY(fnzi_intern_geometry(p->to, w->geometry, &g));
    FNZ_TRY(fnzi_weight_add(p->to, w->name, w->blob, g));
  }
  return FNZ_OK;
}

fnz_status fnzi_pass_heading(fnzi_pass *p) {
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
  return copy_weights(p);
}

static fnz_status wrap_input(fnzi_pass *p, uint32_t k, fnz_arg *input) {
  const fnzi_value *v = &p->graph->values.data[input->u.value];
  const fnz_geometry *g = NULL;
  fnz_handle handle;
  uint32_t value;
  if (v->geometry)
    FNZ_TRY(fnzi_intern_geometry(p->to, v->geometry, &g));
  FNZ_TRY(fnzi_value_add(p->to, p->into, v->name, g, FNZI_NO_NODE, &value));
  if (input->tag != FNZ_ARG_VALUE) {
    input->u.value = value;
    return FNZ_OK;
  }
  FNZ_TRY(fnzi_recorder_value(p->recorder, value, &handle));
  FNZ_TRY(fnz_tensor_wrap(p->world, g, handle, &p->inputs[k]));
  p->inputs[k]->refs++;
  p->roots[k] = fnzi_alias_retain(p->inputs[k]->node);
  p->tensors[input->u.value] = p->inputs[k];
  input->u.value = value;
  return FNZ_OK;
}

fnz_status fnzi_pass_inputs(fnzi_pass *p) {
  fnzi_graph *to = fnzi_graph_at(p->to, p->into);
  FNZI_NEW(&p->arena, p->graph->values.count, &p->tensors);
  FNZI_NEW(&p->arena, p->graph->ninputs, &p->inputs);
  FNZI_NEW(&p->arena, p->graph->ninputs, &p->roots);
  FNZI_NEW(&p->to->arena, p->graph->ninputs, &p->to->inputs);
  FNZ_TRY(fnzi_args_copy(p->to, p->graph->inputs, p->graph->ninputs, &to->inputs));
  to->ninputs = p->graph->ninputs;
  for (uint32_t k = 0; k < p->graph->ninputs; k++) {
    uint8_t tag = to->inputs[k].tag;
    fnz_input_spec spec = p->from->inputs[k];
    if (tag == FNZ_ARG_VALUE || tag == FNZ_ARG_OBJECT || tag == FNZ_ARG_TOKEN)
      FNZ_TRY(wrap_input(p, k, &to->inputs[k]));
    if (spec.target)
      FNZ_TRY(fnzi_intern(p->to, spec.target, strlen(spec.target), &spec.target));
    p->to->inputs[k] = spec;
  }
  return FNZ_OK;
}
