/* scalars.c - numbers of a call as operands of its program: a row of point.def reads them from the
 * table of its launch, so calls that differ in nothing else are one program. */
#include "engine/values/values.h"

/* --- Of a call -------------------------------------------------------------------------------- */
static bool is_number(const fnz_arg *arg) {
  return arg->tag == FNZ_ARG_INT || arg->tag == FNZ_ARG_FLOAT || arg->tag == FNZ_ARG_BOOL;
}

fnz_status fnzi_val_call_code(fnzi_val_call *call) {
  const fnzi_krn_machine *cpu = call->v->cpu->self;
  const fnzi_kernel *row = fnzi_kernel_find(cpu->kernels, call->op);
  fnzi_krn_array *result = call->noutputs == 1 ? call->outputs[0].array : NULL;
  bool any = false;
  for (uint32_t k = 0; k < call->op->nparams; k++)
    any = any || is_number(&call->args[k]);
  if (!any || !result || !row || row->memory != FNZI_MEMORY_POINT || row->run == FNZI_RUN_where ||
      row->run == FNZI_RUN_masked_fill || row->run == FNZI_RUN_identity)
    return FNZ_OK;
  fnzi_krn_call asked = {.ctx = call->ctx,
                         .op = call->op,
                         .args = call->args,
                         .outputs = &result,
                         .noutputs = 1,
                         .capacity = 1,
                         .target = FNZ_DTYPE_COUNT,
                         .kernels = cpu->kernels,
                         .row = row};
  const fnz_error had = call->ctx->error;
  fnzi_meta_point_code *code;
  FNZI_NEW(call->scratch, 1, &code);
  if (cpu->kernels->code(&asked, code) && fnzi_is_float(code->class_dtype))
    call->code = code; /* of integers eager refuses some numbers */
  call->ctx->error = had;
  return FNZ_OK;
}

/* --- The key ---------------------------------------------------------------------------------- */
static bool is_same(const fnzi_meta_point_code *a, uint32_t i, const fnzi_meta_point_code *b,
                    uint32_t k) {
  return memcmp(a->in[i].number, b->in[k].number, fnzi_dtype(a->class_dtype)->bytes) == 0;
}

fnz_status fnzi_val_scalars_put(const fnzi_val_call *call, fnz_buffer *out) {
  const fnzi_meta_point_code *c = call->code;
  const int64_t head[] = {c->compute, c->class_dtype, c->out,
                          c->keeps,   c->arity,       (int64_t)(uintptr_t)c->run};
  FNZ_TRY(fnzi_put(call->ctx, out, c->row, strlen(c->row) + 1));
  FNZ_TRY(fnzi_put(call->ctx, out, head, sizeof head));
  for (uint32_t k = 0; k < c->arity; k++) {
    /* A scalar is the index of the first operand with the same scalar, so that calls with other
     * scalars share a program. Usual scalars are constants in texts, so the key has their values.
     */
    int64_t said[] = {c->in[k].arg, c->in[k].rounds, -1, 0};
    if (c->in[k].arg < 0) {
      uint32_t first = 0;
      while (c->in[first].arg >= 0 || !is_same(c, first, c, k))
        first++;
      said[2] = first;
    }
    if (c->in[k].arg < 0 && fnzi_cuda_is_usual(c->class_dtype, c->in[k].number)) {
      said[2] = -2;
      memcpy(&said[3], c->in[k].number, fnzi_dtype(c->class_dtype)->bytes);
    }
    FNZ_TRY(fnzi_put(call->ctx, out, said, sizeof said));
  }
  return FNZ_OK;
}

/* --- Of a program that is kept ---------------------------------------------------------------- */
static int64_t bits_of(const fnzi_meta_point_code *code, uint32_t k) {
  int64_t bits = 0;
  memcpy(&bits, code->in[k].number, fnzi_dtype(code->class_dtype)->bytes);
  return bits;
}

/* Finds the operand whose scalar had these bits when the program was compiled or last run; returns
 * `arity` if there is none. */
static uint32_t operand_of(const fnzi_meta_point_code *code, int64_t bits) {
  uint32_t k = 0;
  while (k < code->arity && (code->in[k].arg >= 0 || bits_of(code, k) != bits))
    k++;
  return k;
}

/* Returns whether the launch can take the call's scalars: each scalar that changes is in the table,
 * and the table has no other numbers. */
static bool can_take(const fnzi_val_call *call, const fnzi_val_compiled *compiled,
                     const fnzi_dev_launch *l) {
  bool has[FNZI_POINT_OPERANDS] = {false}, can = l->slots != NULL;
  for (uint32_t i = 0; i < l->nslots && can; i++) {
    uint32_t k = operand_of(&compiled->code, l->sizes[l->slots[i]]);
    can = k < compiled->code.arity;
    if (can)
      has[k] = true;
  }
  for (uint32_t k = 0; k < compiled->code.arity && can; k++)
    if (compiled->code.in[k].arg < 0 && !is_same(&compiled->code, k, call->code, k))
      can = has[operand_of(&compiled->code, bits_of(&compiled->code, k))];
  return can;
}

static void take_args(const fnzi_val_call *call, const fnz_program *p) {
  fnz_arg *args = (fnz_arg *)(uintptr_t)fnzi_graph_main(p)->nodes.data[0].args;
  for (uint32_t k = 0; k < call->op->nparams; k++)
    if (is_number(&call->args[k]))
      args[k].u = call->args[k].u;
}

bool fnzi_val_scalars_set(const fnzi_val_call *call, fnzi_val_compiled *compiled) {
  bool is_set = true; /* the program has the call's numbers already */
  for (uint32_t k = 0; call->code && is_set && k < call->op->nparams; k++) {
    const fnz_arg *had = &fnzi_graph_main(compiled->program)->nodes.data[0].args[k];
    is_set = !is_number(&call->args[k]) || had->u.i == call->args[k].u.i;
  }
  if (is_set)
    return true;
  const fnzi_stp_binding *b = fnzi_dev_point_binding(compiled->ws, compiled->code.row);
  const fnzi_dev_launch *l = b ? b->device->works[0].launches : NULL;
  if (!b || !can_take(call, compiled, l))
    return false;
  int64_t *numbers = (int64_t *)(uintptr_t)l->sizes;
  for (uint32_t i = 0; i < l->nslots; i++)
    numbers[l->slots[i]] = bits_of(call->code, operand_of(&compiled->code, numbers[l->slots[i]]));
  compiled->code = *call->code;
  take_args(call, compiled->program);
  take_args(call, b->program);
  return true;
}
