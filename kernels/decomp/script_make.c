/* script_make.c - runs a decomposition over arrays without memory, to write it down. */
#include "kernels/decomp/decomp.h"
#include "kernels/meta/evaluate.h"

/* State of a decomposition that runs over geometries. */
typedef struct stage {
  fnzi_krn_stock stock;
  fnzi_krn_call call;
  const fnz_geometry *const *geometries;
  fnzi_dec_script script;
  struct {
    fnzi_krn_array **data;
    size_t count, capacity;
  } inputs;
} stage;

static fnz_status keep_input(stage *st, fnzi_krn_array *a) {
  FNZI_PUSH(st->call.ctx, &st->inputs, a);
  return FNZ_OK;
}

static fnz_status add_input(stage *st, fnz_arg *arg) {
  fnzi_krn_array *a;
  if (arg->tag != FNZ_ARG_VALUE)
    return FNZ_OK;
  const fnz_geometry *g = st->geometries[arg->u.value];
  FNZ_TRY(fnzi_krn_array_create(st->call.ctx, &st->stock, g, fnzi_dtype(g->dtype)->bytes, &a));
  fnz_status status = keep_input(st, a);
  if (status != FNZ_OK) {
    fnzi_krn_array_release(st->call.ctx, a);
    return status;
  }
  *arg = V(a);
  return fnzi_dec_script_array(&st->script, a);
}

/* Tensors become arrays, defaults are filled in. */
static fnz_status fill_args(stage *st, const fnz_arg *args) {
  const fnz_op *op = st->call.op;
  const fnz_request from = {op, args, op->nparams, NULL, ""};
  fnz_arg *all;
  FNZI_NEW(&st->call.scratch, op->nparams, &all);
  FNZ_TRY(fnzi_meta_args_fill(&st->call, &from, all));
  FNZ_TRY(fnzi_args_clone(&st->call.scratch, all, op->nparams, op->nparams, &all));
  FNZI_EACH_ARG(each, all, op->nparams)
    FNZ_TRY(add_input(st, fnzi_each_own(&each)));
  st->call.args = all;
  st->script.to->ninputs = st->script.to->values.count;
  return FNZ_OK;
}

static fnz_status make_results(stage *st) {
  enum { ROOM = 64 };
  st->call.capacity = st->script.to->ninputs + ROOM;
  FNZI_NEW(&st->call.scratch, st->call.capacity, &st->call.outputs);
  return FNZ_OK;
}

static fnz_status run(stage *st, const fnz_arg *args, fnzi_dec_fn *decompose) {
  fnzi_krn_call *call = &st->call;
  const fnzi_kernel *row = fnzi_kernel_find(call->kernels, call->op);
  bool is_row = !decompose && row && row->run == FNZI_RUN_decomposed;
  FNZ_TRY(fill_args(st, args));
  FNZ_TRY(make_results(st));
  if (decompose)
    FNZ_TRY(fnzi_dec_run(call, decompose));
  else if (is_row)
    FNZ_TRY(row->shape(call));
  /* A row may be of no decomposition, or of one that is a shape rule of its own. An operator
   * without results may be made of nothing. */
  bool gives = call->noutputs || call->op->nreturns == 0;
  if ((decompose || is_row) && gives && st->script.to->results.count == call->noutputs)
    return FNZ_OK;
  return fnzi_krn_call_refuse(call, FNZ_CLASS_UNSUPPORTED, "there are no steps that it is made of");
}

static void open_stage(stage *st, fnzi_script *script, fnzi_krn_kernels *shapes) {
  fnz_context *ctx = script->arena->ctx;
  st->script.to = script;
  st->call.ctx = ctx;
  st->call.kernels = shapes;
  st->call.target = FNZ_DTYPE_COUNT;
  st->call.team = NULL;
  st->call.stock = &st->stock;
  fnzi_map_init(&st->script.numbers, ctx);
  fnzi_arena_init(&st->call.scratch, ctx);
}

static void close_stage(stage *st) {
  fnz_context *ctx = st->call.ctx;
  for (size_t k = 0; k < st->call.noutputs; k++)
    fnzi_krn_array_release(ctx, st->call.outputs[k]);
  for (size_t k = 0; k < st->inputs.count; k++)
    fnzi_krn_array_release(ctx, st->inputs.data[k]);
  FNZI_VEC_FREE(ctx, &st->inputs);
  fnzi_arena_free(&st->call.scratch);
  fnzi_map_free(&st->script.numbers);
  fnzi_krn_stock_free(ctx, &st->stock);
}

fnz_status fnzi_dec_script_make(fnzi_arena *arena, const fnzi_kernel *rows,
                                const fnzi_script_whole *whole, fnzi_dec_fn *decompose,
                                fnzi_script *out) {
  fnzi_krn_kernels shapes = {.rows = rows};
  stage st = {.geometries = whole->geometries, .call = {.op = whole->op}};
  *out = (fnzi_script){.arena = arena};
  open_stage(&st, out, &shapes);
  st.call.script = &st.script;
  st.script.expected = whole->expected;
  st.script.nexpected = whole->nexpected;
  st.script.unread = whole->unread;
  st.script.open = whole->open;
  st.script.open_dims = whole->open_dims;
  fnz_status status = run(&st, whole->args, decompose);
  close_stage(&st);
  if (status != FNZ_OK)
    fnzi_script_free(out);
  return status;
}

/* --- Without steps ---------------------------------------------------------------------------- */
static fnz_status try_shape(stage *st, const fnz_arg *args) {
  fnzi_krn_call *call = &st->call;
  const fnzi_kernel *row = fnzi_kernel_find(call->kernels, call->op);
  FNZ_TRY(fill_args(st, args));
  FNZ_TRY(make_results(st));
  return row ? fnzi_meta_evaluate_shape(call, row) : FNZ_OK;
}

fnz_status fnzi_dec_call_check(fnz_context *ctx, const fnzi_kernel *rows,
                               const fnzi_script_whole *whole) {
  fnzi_krn_kernels shapes = {.rows = rows};
  stage st = {.geometries = whole->geometries, .call = {.op = whole->op}};
  fnzi_arena arena;
  fnzi_script script = {.arena = &arena};
  fnzi_arena_init(&arena, ctx);
  open_stage(&st, &script, &shapes);
  fnz_status status = try_shape(&st, whole->args);
  close_stage(&st);
  fnzi_script_free(&script);
  fnzi_arena_free(&arena);
  return status;
}
