/* variant_program.c - a recorded call as a program of one node: row-major elements are its inputs,
 * with the recorded strides in their types. */
#include "tests/help/variant_program.h"

#include "run/call/stack.h"

#include <stdio.h>

/* The row-major elements go into an array, the strides into the program. */
static fnz_status add_input(variant_program *t, fnz_handle handle, uint64_t *value) {
  fnz_context *ctx = t->s->v->ctx;
  fnz_backend *by = t->s->backend;
  fnz_geometry g = *by->geometry(by->self, handle);
  char name[16];
  const fnz_geometry *kept;
  uint32_t made;
  void *data;
  snprintf(name, sizeof name, "x%zu", t->nhandles);
  FNZ_TRY(fnzi_intern_geometry(t->p, &g, &kept));
  FNZ_TRY(fnzi_value_add(t->p, 0, name, kept, FNZI_NO_NODE, &made));
  FNZ_TRY(fnz_arrays_add(t->inputs, name, g.dtype, g.rank, g.sizes, &data));
  FNZ_TRY(by->download(by->self, ctx, handle, data));
  t->handles[t->nhandles++] = handle;
  *value = made;
  return FNZ_OK;
}

static fnz_status lower(variant_program *t, fnz_arg *arg) {
  if (arg->tag != FNZ_ARG_VALUE)
    return FNZ_OK;
  for (size_t k = 0; k < t->nhandles; k++)
    if (t->handles[k] == arg->u.value) {
      arg->u.value = k;
      return FNZ_OK;
    }
  ck_assert_uint_lt(t->nhandles, MOST_TENSORS);
  return add_input(t, arg->u.value, &arg->u.value);
}

static fnz_status lower_all(variant_program *t, const fnz_op *op, fnz_arg **out) {
  FNZ_TRY(fnzi_args_copy(t->p, t->s->stack->args, op->nparams, out));
  for (size_t i = 0; i < op->nparams; i++) {
    fnz_arg *arg = &(*out)[i];
    for (uint32_t k = 0; arg->tag == FNZ_ARG_LIST && k < arg->count; k++)
      FNZ_TRY(lower(t, (fnz_arg *)(uintptr_t)&arg->u.list[k]));
    FNZ_TRY(lower(t, arg));
  }
  return FNZ_OK;
}

/* Result k of the call, a list as one. */
static fnz_status add_result(variant_program *t, const fnz_geometry *result, size_t number,
                             fnz_arg *out) {
  char name[16];
  const fnz_geometry *kept;
  uint32_t made;
  *out = (fnz_arg){.tag = FNZ_ARG_NONE};
  if (!result)
    return FNZ_OK;
  fnz_geometry g = *result;
  g.is_conj = g.is_neg = false;
  snprintf(name, sizeof name, "y%zu", number);
  FNZ_TRY(fnzi_intern_geometry(t->p, &g, &kept));
  FNZ_TRY(fnzi_value_add(t->p, 0, name, kept, 0, &made));
  *out = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = made};
  return FNZ_OK;
}

static const fnz_geometry *result_at(const variant_program *t, size_t place, size_t item) {
  fnz_eager tensor = fnz_stack_tensor(t->s->stack, place, item);
  return tensor.handle ? fnz_eager_geometry(tensor) : NULL;
}

/* `all` gets the results one after the other, `outputs` one per return. */
static fnz_status add_results(variant_program *t, fnz_arg *all, size_t *count, fnz_arg *outputs) {
  *count = 0;
  for (size_t place = 0; place < fnz_stack_count(t->s->stack); place++) {
    const fnz_arg *top = &t->s->stack->args[place];
    if (top->tag != FNZ_ARG_LIST) {
      FNZ_TRY(add_result(t, result_at(t, place, 0), *count, &all[*count]));
      outputs[place] = all[(*count)++];
      continue;
    }
    outputs[place] = (fnz_arg){.tag = FNZ_ARG_LIST, .count = top->count, .u.list = all + *count};
    for (size_t item = 0; item < top->count; item++, ++*count)
      FNZ_TRY(add_result(t, result_at(t, place, item), *count, &all[*count]));
  }
  return FNZ_OK;
}

static fnz_status finish(variant_program *t, const fnz_arg *all, size_t count) {
  size_t tensors = 0, at = 0;
  FNZ_TRY(fnzi_graph_set_inputs(t->p, 0, t->nhandles));
  for (size_t k = 0; k < t->nhandles; k++) {
    t->p->graphs.data[0].inputs[k] = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = k};
    t->p->inputs[k].target = t->p->graphs.data[0].values.data[k].name;
  }
  for (size_t k = 0; k < count; k++)
    tensors += all[k].tag == FNZ_ARG_VALUE;
  FNZ_TRY(fnzi_graph_set_outputs(t->p, 0, tensors));
  for (size_t k = 0; k < count; k++)
    if (all[k].tag == FNZ_ARG_VALUE)
      t->p->graphs.data[0].outputs[at++] = all[k];
  return FNZ_OK;
}

static fnz_status begin_program(variant_program *t, const fnz_op *op, fnz_arg **args) {
  uint32_t at;
  t->nhandles = 0;
  FNZ_TRY(fnzi_program_create(t->s->v->ctx, &t->p));
  FNZ_TRY(fnzi_graph_add(t->p, "", &at));
  FNZ_TRY(fnz_arrays_create(t->s->v->ctx, &t->inputs));
  return lower_all(t, op, args);
}

static fnz_status end_program(variant_program *t, const fnz_op *op, fnz_arg *args) {
  fnz_arg all[MOST_RESULTS], outputs[MOST_RESULTS];
  fnzi_node node = {.op = op, .args = args, .outputs = outputs, .source = "t.py:1"};
  size_t count;
  uint32_t at;
  node.nargs = op->nparams;
  node.noutputs = (uint32_t)fnz_stack_count(t->s->stack);
  FNZ_TRY(add_results(t, all, &count, outputs));
  FNZ_TRY(fnzi_node_add(t->p, 0, &node, &at));
  FNZ_TRY(finish(t, all, count));
  return fnz_program_verify(t->s->v->ctx, t->p);
}

/* Tensors with lazy bits are no inputs of programs. */
static fnz_status check_bits(const variant_program *t, const fnz_op *op) {
  const fnz_backend *backend = t->s->backend;
  FNZI_EACH_ARG(each, t->s->stack->args, op->nparams) {
    const fnz_geometry *g =
        each.arg->tag == FNZ_ARG_VALUE ? backend->geometry(backend->self, each.arg->u.value) : NULL;
    if (g && (g->is_conj || g->is_neg))
      return FNZ_UNSUPPORTED;
  }
  return FNZ_OK;
}

/* With the arguments as they were before they were arranged. */
static fnz_status call_anew(variant_program *t, const fnz_op *op, const fnzi_json *call) {
  scene_close(t->s);
  scene_open(t->s, t->s->v->inputs.at[call->u.first->u.i]);
  return fnz_call(t->s->v->ctx, op, t->s->stack);
}

fnz_status variant_program_open(variant_program *t, scene *s, const fnz_op *op,
                                const fnzi_json *call) {
  fnz_arg *args;
  *t = (variant_program){.s = s};
  scene_open(s, s->v->inputs.at[call->u.first->u.i]);
  FNZ_TRY(fnzi_call_stack_arrange(s->stack, op));
  FNZ_TRY(check_bits(t, op));
  FNZ_TRY(begin_program(t, op, &args));
  FNZ_TRY(call_anew(t, op, call));
  return end_program(t, op, args);
}

void variant_program_close(variant_program *t) {
  fnz_arrays_destroy(t->inputs);
  fnz_program_destroy(t->p);
  scene_close(t->s);
}
