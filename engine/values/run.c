/* run.c - runs a call on values of a GPU by its program. Tensors are read, and results written, in
 * place. */
#include "engine/values/values.h"
#include "schema/aten_names.h"
#include "views/views.h"

typedef struct running {
  const fnzi_val_call *call;
  fnzi_val_compiled *compiled;
  fnz_executable_state *state; /* of targets; NULL: there is none */
} running;

/* --- Memory that is written ------------------------------------------------------------------- */
static fnz_status open_state(running *r) {
  const fnzi_stp_slots *slots = &r->compiled->exe->slots[FNZ_SIDE_STATE];
  const fnzi_val_call *call = r->call;
  fnz_memory *memories;
  FNZI_NEW(call->scratch, slots->count, &memories);
  for (size_t i = 0; i < slots->count; i++) {
    const fnzi_val_output *o = call->outputs;
    while (!o->is_target || o->value != slots->data[i].input)
      o++;
    memories[i].data = fnzi_krn_array_data(o->array);
  }
  return fnz_executable_state_over(call->ctx, r->compiled->exe, memories, &r->state);
}

/* Returns whether the run needs the old bytes of a target: the node reads them, or the memory has
 * other elements in between. */
static bool is_needed(const fnzi_val_call *call, const fnzi_val_output *o) {
  for (size_t i = 0; i < call->op->nparams; i++) {
    const fnz_arg *arg = &call->args[i];
    for (uint32_t k = 0; k < (arg->tag == FNZ_ARG_LIST ? arg->count : 1); k++) {
      const fnzi_krn_array *a =
          fnzi_krn_arg_array(arg->tag == FNZ_ARG_LIST ? &arg->u.list[k] : arg);
      if (a && fnzi_val_call_value(call, a) == o->value)
        return true;
    }
  }
  return !fnzi_is_dense(&o->window) || o->window.offset != 0;
}

/* --- One run ---------------------------------------------------------------------------------- */
/* Results that are no targets, in order (program.c). */
static void find_outputs(const running *r, fnz_memory *outputs) {
  const fnzi_stp_slots *slots = &r->compiled->exe->slots[FNZ_SIDE_OUTPUT];
  uint32_t at = r->call->ntargets;
  for (uint32_t k = 0; k < r->call->noutputs; k++) {
    const fnzi_val_output *o = &r->call->outputs[k];
    if (!o->array || o->is_target)
      continue;
    for (size_t i = 0; i < slots->count; i++)
      if (slots->data[i].output == at)
        outputs[i].data = fnzi_krn_array_data(o->array);
    at++;
  }
}

/* Runs a program. All programs of the backend use one block of device memory, one after the
 * other. */
static fnz_status run_in_block(const running *r, const fnz_execution *run) {
  fnzi_val *v = r->call->v;
  fnz_workspace *ws = r->compiled->ws;
  ws->device_block = v->block;
  ws->device_bytes = v->block_bytes;
  ws->small_owner = NULL; /* another one has worked there */
  ws->stream = v->stream;
  ws->is_async = v->is_behind = true;
  fnz_status status = fnz_executable_run(r->call->ctx, r->compiled->exe, run);
  if (status != FNZ_OK)
    fnzi_val_synchronize(v);
  v->block = ws->device_block;
  v->block_bytes = ws->device_bytes;
  ws->device_block = ws->device_bytes = 0;
  ws->stream = NULL;
  return status;
}

static fnz_status run(running *r) {
  const fnz_executable *exe = r->compiled->exe;
  fnz_memory *inputs, *outputs;
  FNZI_NEW(r->call->scratch, exe->slots[FNZ_SIDE_INPUT].count, &inputs);
  FNZI_NEW(r->call->scratch, exe->slots[FNZ_SIDE_OUTPUT].count, &outputs);
  const fnzi_stp_slots *slots = &r->compiled->exe->slots[FNZ_SIDE_INPUT];
  for (size_t i = 0; i < slots->count; i++) {
    const fnzi_krn_array *a = r->call->inputs[slots->data[i].input - r->call->ntargets].array;
    inputs[i] = (fnz_memory){fnzi_krn_array_data(a), &a->window};
  }
  find_outputs(r, outputs);
  if (r->call->ntargets)
    FNZ_TRY(open_state(r));
  if (r->state) {
    /* The device's copy is newer only for a call that needs the old bytes of a target. For others
     * nothing is copied to the CPU, even if the CPU computes. */
    bool is_any = false;
    for (uint32_t k = 0; k < r->call->noutputs; k++) {
      const fnzi_val_output *o = &r->call->outputs[k];
      is_any = is_any || (o->is_target && o->bytes && is_needed(r->call, o));
    }
    r->state->device->device_newer = is_any;
    r->state->device->stream = r->call->v->stream;
  }
  const fnz_execution run = {.size = sizeof run,
                             .inputs = inputs,
                             .outputs = outputs,
                             .state = r->state,
                             .workspace = r->compiled->ws,
                             .on_device = true};
  return run_in_block(r, &run);
}

static fnz_status run_call(fnzi_val_call *call, fnzi_krn_array *const *outputs, size_t noutputs) {
  running r = {.call = call};
  FNZ_TRY(fnzi_val_call_find(call, outputs, noutputs));
  FNZ_TRY(fnzi_val_call_code(call));
  FNZ_TRY(fnzi_val_compiled_find(call, &r.compiled));
  fnz_status status = run(&r);
  /* Whether the call may run again: it lacked memory before it wrote anything, and memory of
   * dead values has now been released. */
  fnzi_krn_machine *m = r.call->v->base->self;
  bool is_lost = r.state && r.state->device->is_lost;
  bool again = status == FNZ_NO_MEMORY && !is_lost && fnzi_krn_stock_trim(r.call->ctx, &m->stock);
  fnz_executable_state_destroy(r.state);
  if (!again)
    return status;
  r.state = NULL;
  status = run(&r);
  fnz_executable_state_destroy(r.state);
  return status;
}

/* --- Elements that lie in one place ----------------------------------------------------------- */
/* An array over the same memory, with room for other sizes. */
typedef struct narrowed {
  fnzi_krn_array array;
  int64_t sizes[FNZ_MAX_RANK];
} narrowed;

static void narrow(const fnzi_krn_array *from, narrowed *out) {
  out->array = *from;
  memcpy(out->sizes, from->window.sizes, from->window.rank * sizeof *out->sizes);
  out->array.window.sizes = out->array.geometry.sizes = out->sizes;
}

static fnz_status assign(fnzi_val_call *call, const fnzi_krn_array *to,
                         const fnzi_krn_array *from) {
  narrowed target, source;
  fnz_arg args[3] = {{.tag = FNZ_ARG_VALUE}, {.tag = FNZ_ARG_VALUE}, {.tag = FNZ_ARG_BOOL}};
  fnzi_krn_array *out = &target.array;
  narrow(to, &target);
  narrow(from, &source);
  /* In dimensions in which the target repeats one element, both have their first index only. */
  uint32_t rank = target.array.window.rank, from_rank = source.array.window.rank;
  for (uint32_t d = 0; d < rank; d++) {
    if (target.array.window.sizes[d] <= 1 || target.array.window.strides[d] != 0)
      continue;
    target.sizes[d] = 1;
    if (rank - d <= from_rank)
      source.sizes[from_rank - (rank - d)] = 1;
  }
  if (fnz_geometry_numel(&target.array.window) == 0)
    return FNZ_OK;
  if (!fnzi_is_dense(&target.array.window) &&
      fnzi_oracle_relate_self(NULL, &target.array.window, FNZI_MUCH_WORK) != FNZI_DISJOINT)
    return fnzi_fail(call->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "elements of the tensor that is written lie in one place, which only the CPU "
                     "writes; move it there");
  args[0].u.value = fnzi_krn_array_handle(&target.array);
  args[1].u.value = fnzi_krn_array_handle(&source.array);
  call->args = args;
  return run_call(call, &out, 1);
}

fnz_status fnzi_val_assign(void *self, fnz_context *ctx, const fnzi_krn_array *to,
                           const fnzi_krn_array *from) {
  fnzi_arena scratch;
  fnzi_arena_init(&scratch, ctx);
  fnzi_val_call call = {self, ctx, &scratch, .op = &fnzi_ops[FNZI_ATEN_copy]};
  fnz_status status = assign(&call, to, from);
  fnzi_arena_free(&scratch);
  return status;
}

/* --- A call of the machine -------------------------------------------------------------------- */
/* Returns whether result k cannot be a target of the program: some of its elements share a
 * location; its bytes are interleaved with another result's; or its memory is new and not
 * row-major, so that as a target it would be saved in case the call fails. */
static bool is_apart(const fnzi_krn_call *call, size_t k) {
  const fnzi_krn_array *a = call->outputs[k];
  for (size_t i = 0; a && i < call->noutputs; i++)
    if (i != k && call->outputs[i] && fnzi_val_targets_overlap(a, call->outputs[i]))
      return true;
  if (!a || fnzi_is_contiguous(&a->window))
    return false;
  return a->storage->refs == 1 ||
         fnzi_oracle_relate_self(NULL, &a->window, FNZI_MUCH_WORK) != FNZI_DISJOINT;
}

/* Passes the target's type as the argument `dtype` if the operator has one. Without it the program
 * would compute in another type. */
static fnz_status say_dtype(fnzi_krn_call *call) {
  int at = fnzi_op_param(call->op, "dtype");
  fnz_arg *args;
  if (call->target == FNZ_DTYPE_COUNT || at < 0 || call->args[at].tag != FNZ_ARG_NONE ||
      !call->outputs[0])
    return FNZ_OK;
  FNZI_NEW(&call->scratch, call->op->nparams, &args);
  memcpy(args, call->args, call->op->nparams * sizeof *args);
  args[at] = fnzi_arg_dtype(call->outputs[0]->geometry.dtype);
  call->args = args;
  return FNZ_OK;
}

/* Computes a call on the CPU if its results cannot be results of a node: scalars, or nothing at
 * all. */
static fnz_status fill_by_cpu(fnzi_val *v, fnzi_krn_call *call) {
  fnzi_krn_array **results;
  fnz_status status = FNZ_OK;
  size_t count;
  FNZI_NEW(&call->scratch, call->capacity, &results);
  FNZ_TRY(fnzi_val_results_by_cpu(v, call, results, &count));
  for (size_t k = 0; k < count; k++) {
    if (status == FNZ_OK && results[k] && k < call->noutputs && call->outputs[k])
      status = fnzi_val_assign(v, call->ctx, call->outputs[k], results[k]);
    fnzi_krn_array_release(call->ctx, results[k]);
  }
  return status;
}

/* Computes results that cannot be targets into new row-major memory first. */
static fnz_status run_apart(fnzi_val *v, fnzi_krn_call *call, fnzi_krn_array **apart) {
  fnzi_krn_array **outputs;
  FNZI_NEW(&call->scratch, call->noutputs, &outputs);
  for (size_t k = 0; k < call->noutputs; k++) {
    outputs[k] = call->outputs[k];
    if (!is_apart(call, k))
      continue;
    int64_t strides[FNZ_MAX_RANK];
    fnz_geometry g = outputs[k]->geometry;
    g.offset = 0;
    g.strides = strides;
    fnzi_contiguous_strides(g.sizes, g.rank, strides);
    FNZ_TRY(fnzi_krn_array_create(call->ctx, call->stock, &g, outputs[k]->cell, &apart[k]));
    FNZ_TRY(fnzi_krn_array_allocate(call->ctx, apart[k], false));
    outputs[k] = apart[k];
  }
  if (!fnzi_val_is_node(call->op, call->noutputs)) {
    FNZ_TRY(fill_by_cpu(v, call));
  } else {
    FNZ_TRY(say_dtype(call));
    fnzi_val_call own = {v, call->ctx, &call->scratch, .op = call->op, .args = call->args};
    FNZ_TRY(run_call(&own, outputs, call->noutputs));
  }
  for (size_t k = 0; k < call->noutputs; k++)
    if (apart[k])
      FNZ_TRY(fnzi_val_assign(v, call->ctx, call->outputs[k], apart[k]));
  return FNZ_OK;
}

fnz_status fnzi_val_run(void *self, fnzi_krn_call *call) {
  fnzi_krn_array **apart;
  FNZI_NEW(&call->scratch, call->noutputs, &apart);
  fnz_status status = run_apart(self, call, apart);
  for (size_t k = 0; k < call->noutputs; k++)
    fnzi_krn_array_release(call->ctx, apart[k]);
  return status;
}
