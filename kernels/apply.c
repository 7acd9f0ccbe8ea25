/* apply.c - functional operators on values that never change. */
#include "kernels/backends.h"
#include "schema/custom.h"

/* The results of a call: an array of the caller, its capacity, and how many there are. */
typedef struct results {
  fnz_handle *handles;
  size_t capacity, count;
} results;

/* --- One call ---------------------------------------------------------------------------- */
static fnz_status call_kernel(fnzi_krn_machine *m, fnz_context *ctx, const fnzi_kernel *row,
                              const fnz_request *from, results *out) {
  fnzi_krn_call call = {.ctx = ctx, .stock = &m->stock, .op = from->op, .expected = from->expected};
  fnz_status status = FNZ_OK;
  call.kernels = m->kernels;
  call.nexpected = from->expected ? out->capacity : 0;
  call.capacity = out->capacity;
  call.target = FNZ_DTYPE_COUNT;
  call.team = m->team;
  call.has_data = m->has_data;
  fnzi_arena_init(&call.scratch, ctx);
  void *room = NULL;
  status = fnzi_arena_alloc(&call.scratch, out->capacity, sizeof *call.outputs, &room);
  call.outputs = room;
  if (status == FNZ_OK)
    status = fnzi_meta_evaluate_request(&call, row, from);
  if (status != FNZ_OK)
    fnzi_meta_outputs_release(&call);
  for (size_t k = 0; status == FNZ_OK && k < call.noutputs; k++)
    out->handles[k] = fnzi_krn_array_handle(call.outputs[k]);
  out->count = status == FNZ_OK ? call.noutputs : 0;
  fnzi_arena_free(&call.scratch);
  return status;
}

/* --- Foreach: the operator of the elements, one element after the other ------------------ */
/* Makes the arguments of element i: items of lists, other arguments as they are. */
static fnz_status element_args(fnz_context *ctx, const fnz_request *from, const fnz_op *element,
                               uint32_t i, fnz_arg *args) {
  for (size_t k = 0; k < from->nargs && k < element->nparams; k++) {
    args[k] = from->args[k];
    if (args[k].tag == FNZ_ARG_LIST && !element->params[k].is_list) {
      if (i >= args[k].count)
        return fnzi_mem_lists_refuse(ctx, from->op);
      args[k] = from->args[k].u.list[i];
      fnz_arg *arg = &args[k];
      /* A kernel may reuse memory at the last use; another element may read this value, too. */
      if (arg->tag == FNZ_ARG_VALUE && (arg->flags & FNZ_ARG_LAST_USE) &&
          fnzi_meta_args_count(from->args, from->nargs, arg->u.value) != 1)
        arg->flags = 0;
    } else if (args[k].tag == FNZ_ARG_VALUE) {
      args[k].flags = 0;
      if (element->params[k].type != FNZI_TYPE_TENSOR)
        FNZ_TRY(fnzi_mem_list_number(ctx, from->op, fnzi_krn_arg_array(&args[k]), i, &args[k]));
    }
  }
  return FNZ_OK;
}

static fnz_status apply_element(fnzi_krn_machine *m, fnz_context *ctx, const fnz_request *from,
                                const fnz_op *element, uint32_t i, fnz_handle *output) {
  fnz_arg args[16];
  results one_result = {output, 1, 0};
  size_t nargs = from->nargs < element->nparams ? from->nargs : element->nparams;
  if (nargs > sizeof args / sizeof *args)
    return fnzi_mem_lists_refuse(ctx, from->op);
  FNZ_TRY(element_args(ctx, from, element, i, args));
  fnz_request one = {element, args, nargs, from->expected ? from->expected + i : NULL,
                     from->source};
  return call_kernel(m, ctx, fnzi_meta_row_find(m, element), &one, &one_result);
}

static fnz_status apply_list(fnzi_krn_machine *m, fnz_context *ctx, const fnz_request *from,
                             const fnz_op *element, results *out) {
  uint32_t length = 0;
  for (size_t k = 0; k < from->nargs; k++)
    if (from->args[k].tag == FNZ_ARG_LIST && from->args[k].count > length)
      length = from->args[k].count;
  if (length > out->capacity)
    return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL, "%s: %u results, but room for %zu",
                     from->op->name, length, out->capacity);
  for (out->count = 0; out->count < length; out->count++) {
    fnz_status status =
        apply_element(m, ctx, from, element, (uint32_t)out->count, &out->handles[out->count]);
    if (status == FNZ_OK)
      continue;
    while (out->count > 0)
      fnzi_krn_array_release(m->ctx, fnzi_krn_array_of(out->handles[--out->count]));
    return status;
  }
  return FNZ_OK;
}

const fnz_op *fnzi_machine_stand_in(const fnzi_krn_machine *m, const fnz_op *op) {
  bool open = fnzi_op_is_custom(op) && !fnzi_krn_registered_for(m, op);
  return open ? fnzi_builtin_like(op) : NULL;
}

static fnz_status apply(fnzi_krn_machine *m, fnz_context *ctx, const fnz_request *call,
                        results *out) {
  const fnzi_kernel *row = fnzi_meta_row_find(m, call->op);
  if (row && call->op->kind == FNZI_KIND_FUNCTIONAL)
    return call_kernel(m, ctx, row, call, out);
  const fnz_op *like = fnzi_machine_stand_in(m, call->op),
               *element = fnzi_foreach_element(call->op);
  if (like) {
    fnz_request same = *call;
    same.op = like;
    return call_kernel(m, ctx, fnzi_meta_row_find(m, like), &same, out);
  }
  if (element && fnzi_meta_row_find(m, element))
    return apply_list(m, ctx, call, element, out);
  char warning[FNZ_WARNING_BYTES];
  if (call->op->kind == FNZI_KIND_FUNCTIONAL && fnzi_op_is_custom(call->op) && m->has_data)
    return fnzi_mem_dispatch(m, ctx, call, out->handles, out->capacity, &out->count, warning);
  return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, NULL, "%s: there is no CPU kernel for this operator",
                   call->op->name);
}

fnz_status fnzi_machine_apply(void *self, fnz_context *ctx, const fnz_request *call,
                              fnz_handle *outputs, size_t capacity, size_t *count) {
  results out = {outputs, capacity, 0};
  *count = 0;
  if (!call->op)
    return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL, "a call needs an operator");
  fnz_status status = apply(self, ctx, call, &out);
  *count = out.count;
  return status;
}
