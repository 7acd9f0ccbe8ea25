/* program.c - a call as a functional program of one node: tensors that are read are its inputs,
 * memory that is written is a buffer with a final value. */
#include "engine/values/values.h"

#include <stdio.h>

typedef struct builder {
  const fnzi_val_call *call;
  fnz_program *p;
  fnz_arg *results; /* per result: a value, or undefined */
} builder;

bool fnzi_val_is_node(const fnz_op *op, size_t noutputs) {
  size_t lists = 0;
  for (size_t i = 0; i < op->nreturns; i++) {
    if (op->returns[i].type != FNZI_TYPE_TENSOR)
      return false;
    lists += op->returns[i].is_list;
  }
  return noutputs > 0 && (lists == 1 ? noutputs + 1 >= op->nreturns : noutputs == op->nreturns);
}

static fnz_status add_value(builder *m, const char *stem, uint32_t number, const fnz_geometry *like,
                            uint32_t node, uint32_t *out) {
  char name[24];
  const fnz_geometry *kept;
  fnz_geometry g = *like;
  g.is_conj = g.is_neg = false;
  snprintf(name, sizeof name, "%s%u", stem, number);
  FNZ_TRY(fnzi_intern_geometry(m->p, &g, &kept));
  return fnzi_value_add(m->p, 0, name, kept, node, out);
}

/* --- Inputs: the memory of targets, then what is read ----------------------------------------- */
/* Adds the inputs with their strides, but no offset: a run passes the address of the first
 * element. */
static fnz_status add_inputs(builder *m) {
  const fnzi_val_call *call = m->call;
  uint32_t value;
  for (uint32_t k = 0; k < call->noutputs; k++)
    if (call->outputs[k].is_target)
      FNZ_TRY(add_value(m, "memory", k, &call->outputs[k].window, FNZI_NO_NODE, &value));
  for (uint32_t i = 0; i < call->ninputs; i++) {
    fnz_geometry g = call->inputs[i].array->geometry;
    g.offset = 0;
    FNZ_TRY(add_value(m, "x", i, &g, FNZI_NO_NODE, &value));
  }
  FNZ_TRY(fnzi_graph_set_inputs(m->p, 0, call->ntargets + call->ninputs));
  fnzi_graph *graph = fnzi_graph_main(m->p);
  for (uint32_t k = 0; k < call->ntargets + call->ninputs; k++) {
    bool is_target = k < call->ntargets;
    graph->inputs[k] = fnzi_arg_value(k);
    m->p->inputs[k].kind = is_target ? FNZ_INPUT_BUFFER : FNZ_INPUT_USER;
    m->p->inputs[k].target = graph->values.data[k].name;
    m->p->inputs[k].persistent = is_target;
  }
  return FNZ_OK;
}

/* --- The node --------------------------------------------------------------------------------- */
static void lower(const builder *m, fnz_arg *arg) {
  if (arg->tag == FNZ_ARG_VALUE)
    arg->u.value = fnzi_val_call_value(m->call, fnzi_krn_arg_array(arg));
  arg->flags = 0;
}

/* Adds the node. A returned list has all results that the other returns do not have. */
static fnz_status add_node(builder *m) {
  const fnz_op *op = m->call->op;
  fnzi_node node = {.op = op, .nargs = op->nparams, .source = ""};
  uint32_t at = 0, index, rest = m->call->noutputs + 1 - op->nreturns;
  /* Copies are the program's own, and no list of tensors is nested. */
  FNZ_TRY(fnzi_args_copy(m->p, m->call->args, m->call->op->nparams, &node.args));
  for (size_t i = 0; i < m->call->op->nparams; i++) {
    fnz_arg *arg = &node.args[i];
    for (uint32_t k = 0; arg->tag == FNZ_ARG_LIST && k < arg->count; k++)
      lower(m, (fnz_arg *)(uintptr_t)&arg->u.list[k]);
    lower(m, arg);
  }
  FNZI_NEW(&m->p->arena, m->call->noutputs, &m->results);
  for (uint32_t k = 0; k < m->call->noutputs; k++) {
    uint32_t value;
    m->results[k].tag = FNZ_ARG_NONE;
    if (!m->call->outputs[k].array)
      continue;
    fnz_geometry g = m->call->outputs[k].array->geometry;
    g.offset = 0;
    FNZ_TRY(add_value(m, "y", k, &g, 0, &value));
    m->results[k] = fnzi_arg_value(value);
  }
  FNZI_NEW(&m->p->arena, op->nreturns, &node.outputs);
  node.noutputs = op->nreturns;
  for (size_t i = 0; i < op->nreturns; i++) {
    bool is_list = op->returns[i].is_list;
    node.outputs[i] = is_list
                          ? (fnz_arg){.tag = FNZ_ARG_LIST, .count = rest, .u.list = m->results + at}
                          : m->results[at];
    at += is_list ? rest : 1;
  }
  return fnzi_node_append(m->p, 0, &node, &index);
}

/* --- Outputs: final values, then results ------------------------------------------------------ */
static fnz_status add_outputs(builder *m) {
  const fnzi_val_call *call = m->call;
  uint32_t count = 0, at = 0;
  for (uint32_t k = 0; k < call->noutputs; k++)
    count += call->outputs[k].array != NULL;
  FNZ_TRY(fnzi_graph_set_outputs(m->p, 0, count));
  for (int targets = 1; targets >= 0; targets--)
    for (uint32_t k = 0; k < call->noutputs; k++) {
      const fnzi_val_output *o = &call->outputs[k];
      if (!o->array || o->is_target != (targets == 1))
        continue;
      fnzi_graph_main(m->p)->outputs[at] = m->results[k];
      m->p->outputs[at].kind = o->is_target ? FNZ_OUTPUT_BUFFER_MUTATION : FNZ_OUTPUT_USER;
      if (o->is_target)
        m->p->outputs[at].target = m->p->inputs[o->value].target;
      at++;
    }
  return FNZ_OK;
}

static fnz_status make(builder *m) {
  uint32_t graph;
  FNZ_TRY(fnzi_graph_add(m->p, "", &graph));
  FNZ_TRY(add_inputs(m));
  FNZ_TRY(add_node(m));
  FNZ_TRY(add_outputs(m));
  return fnz_program_verify(m->call->ctx, m->p);
}

fnz_status fnzi_val_program_make(const fnzi_val_call *call, fnz_program **out) {
  builder m = {.call = call};
  *out = NULL;
  FNZ_TRY(fnzi_program_create(call->v->ctx, &m.p));
  fnz_status status = make(&m);
  if (status == FNZ_OK)
    *out = m.p;
  else
    fnz_program_destroy(m.p);
  return status;
}
