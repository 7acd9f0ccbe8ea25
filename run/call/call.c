/* call.c - fnz_call(): finds the backend, calls it, and puts the results on the stack. */
#include "run/call/stack.h"

#include "run/run.h"

/* --- Devices ---------------------------------------------------------------------------------- */

/* A CPU tensor of one element without dimensions may be mixed with tensors of any device. */
static bool is_cpu_scalar(fnz_eager tensor) {
  return strcmp(tensor.backend->name, "cpu") == 0 && fnz_eager_geometry(tensor)->rank == 0;
}

/* The backend of the tensor that is written, else of the first that decides; of any tensor when all
 * are CPU scalars. */
static fnz_backend *find_backend(const fnz_stack *stack, const fnz_op *op) {
  fnz_backend *scalar = NULL, *first = NULL;
  for (size_t i = 0; i < stack->count; i++) {
    size_t tensors = fnz_stack_tensors(stack, i);
    for (size_t k = 0; k < tensors; k++) {
      fnz_eager t = fnz_stack_tensor(stack, i, k);
      if (t.handle && op->params[i].is_write)
        return t.backend;
      if (t.handle && !is_cpu_scalar(t))
        first = first ? first : t.backend;
      else if (t.handle)
        scalar = t.backend;
    }
  }
  return first ? first : scalar ? scalar : stack->backend;
}

/* Moves single tensors; a mixed list is refused. */
static fnz_status align(fnz_stack *stack, const fnz_op *op, size_t i, fnz_backend *backend) {
  size_t tensors = fnz_stack_tensors(stack, i);
  for (size_t k = 0; k < tensors; k++) {
    fnz_eager t = fnz_stack_tensor(stack, i, k);
    fnz_handle moved;
    if (!t.handle || t.backend == backend)
      continue;
    /* May a tensor that is elsewhere be read? A CPU scalar, and any tensor where the operator's row
     * in the table switches the check off. Pointwise rows do that as well, but what they call
     * checks. */
    bool unchecked = (op->flags & FNZI_OP_NO_DEVICE_CHECK) && !(op->tags & FNZI_TAG_POINTWISE);
    if (op->params[i].is_write || op->params[i].is_list || (!unchecked && !is_cpu_scalar(t)))
      return fnzi_fail(stack->ctx, FNZ_CLASS_TYPE, "",
                       "%s: argument %s is on %s, but other tensors are on %s; all must be on one "
                       "device",
                       op->name, op->params[i].name, t.backend->name, backend->name);
    /* The tensor's elements go to the other backend. */
    const fnz_geometry *g = fnz_eager_geometry(t);
    unsigned char *cells;
    size_t bytes;
    if (!fnzi_mul_size((size_t)fnz_geometry_numel(g),
                       t.backend->cell_bytes(t.backend->self, g->dtype), &bytes))
      return fnzi_no_memory(stack->ctx);
    FNZI_NEW(&stack->arena, bytes, &cells);
    FNZ_TRY(t.backend->download(t.backend->self, stack->ctx, t.handle, cells));
    FNZ_TRY(backend->upload(backend->self, stack->ctx, g, cells, &moved));
    if (stack->entries[i].owned)
      fnz_eager_release(t);
    stack->args[i].u.value = moved;
    stack->entries[i] = (fnzi_call_entry){backend, NULL, NULL, true};
  }
  return FNZ_OK;
}

/* The usual case, found without the geometry of tensors: single ones, all of one backend. */
static bool have_one_backend(const fnz_stack *stack, fnz_backend **out) {
  fnz_backend *found = NULL;
  for (size_t i = 0; i < stack->count; i++) {
    fnz_backend *backend = stack->entries[i].backend;
    if (stack->entries[i].items || (backend && found && backend != found))
      return false;
    found = backend ? backend : found;
  }
  *out = found ? found : stack->backend;
  return true;
}

static fnz_status choose_backend(fnz_stack *stack, const fnz_op *op, fnz_backend **out) {
  if (!have_one_backend(stack, out)) {
    *out = find_backend(stack, op);
    for (size_t i = 0; i < stack->count; i++)
      FNZ_TRY(align(stack, op, i, *out));
  }
  if (!*out || !FNZI_BACKEND_HAS(*out, call))
    return fnzi_fail(stack->ctx, FNZ_CLASS_UNSUPPORTED, "",
                     "%s: backend %s has values, but no memory to call operators on; wrap it with "
                     "fnz_wrapper_create()",
                     op->name, *out ? (*out)->name : "none");
  return FNZ_OK;
}

/* --- Results ---------------------------------------------------------------------------------- */

/* A number is returned as a tensor of one element. */
static fnz_status put_number(fnz_stack *stack, size_t place, fnz_eager tensor) {
  const fnz_geometry *g = fnz_eager_geometry(tensor);
  unsigned char cell[16];
  fnz_status status = FNZ_OK;
  if (!g || fnz_geometry_numel(g) != 1)
    status = fnzi_fail(stack->ctx, FNZ_CLASS_BOUNDS, "", "result %zu is no single number", place);
  if (status == FNZ_OK)
    status = tensor.backend->download(tensor.backend->self, stack->ctx, tensor.handle, cell);
  if (status == FNZ_OK && !fnzi_run_decode_number(g->dtype, cell, &stack->args[place]))
    status = fnzi_fail(stack->ctx, FNZ_CLASS_UNSUPPORTED, "", "result %zu is a number of type %s",
                       place, fnzi_dtype(g->dtype)->name);
  stack->entries[place] = (fnzi_call_entry){NULL, NULL, NULL, false};
  fnz_eager_release(tensor);
  return status;
}

/* A list of results named as one of the arguments and _out, as functional twins name written lists,
 * has the length of that argument. */
static size_t length_of(const fnz_stack *stack, const fnz_op *op, size_t k) {
  const char *name = op->returns[k].name;
  size_t length = strlen(name);
  for (size_t i = 0; length > 4 && i < stack->count; i++) {
    const char *given = op->params[i].name;
    if (op->params[i].is_list && strlen(given) == length - 4 &&
        strncmp(given, name, length - 4) == 0 && strcmp(name + length - 4, "_out") == 0)
      return stack->args[i].tag == FNZ_ARG_LIST ? stack->args[i].count : 0;
  }
  return 0;
}

/* The handles of all results; the first `at` are placed. */
typedef struct arrived {
  fnz_backend *backend;
  const fnz_handle *handles;
  size_t count, at;
  const size_t *lengths;
} arrived;

/* Result k of the schema. */
static fnz_status call_put_result(fnz_stack *stack, const fnz_op *op, size_t k, arrived *a) {
  const fnzi_param *p = &op->returns[k];
  size_t rest = op->nreturns - 1 - k, left = a->count - a->at;
  size_t needed = a->lengths ? a->lengths[k] : rest + !p->is_list;
  fnz_status status = FNZ_OK;
  if (left < needed)
    return fnzi_fail(stack->ctx, FNZ_CLASS_BOUNDS, "", "%s: %zu results came, %u are declared",
                     op->name, a->count, (unsigned)op->nreturns);
  size_t taken = !p->is_list ? 1 : a->lengths ? a->lengths[k] : left - rest;
  if (p->is_list && p->type == FNZI_TYPE_TENSOR) {
    fnz_arg *items;
    fnz_backend **backends;
    FNZI_NEW(&stack->arena, taken, &items);
    FNZI_NEW(&stack->arena, taken, &backends);
    for (size_t i = 0; i < taken; i++) {
      fnz_handle handle = a->handles[a->at + i];
      items[i].tag = handle ? FNZ_ARG_VALUE : FNZ_ARG_NONE;
      items[i].u.value = handle;
      backends[i] = a->backend;
    }
    stack->args[k] = (fnz_arg){.tag = FNZ_ARG_LIST, .count = (uint32_t)taken, .u.list = items};
    stack->entries[k] = (fnzi_call_entry){NULL, backends, NULL, true};
  } else if (p->type == FNZI_TYPE_TENSOR) {
    stack->args[k] = (fnz_arg){.tag = a->handles[a->at] ? FNZ_ARG_VALUE : FNZ_ARG_NONE,
                               .u.value = a->handles[a->at]};
    stack->entries[k] = (fnzi_call_entry){a->backend, NULL, NULL, true};
  } else
    status = put_number(stack, k, (fnz_eager){a->backend, a->handles[a->at]});
  if (status == FNZ_OK)
    stack->count = k + 1;
  a->at += status == FNZ_OK || p->type != FNZI_TYPE_TENSOR ? taken : 0;
  return status;
}

/* --- The call --------------------------------------------------------------------------------- */

enum { FEW_RESULTS = 8 };

static fnz_status call_backend(fnz_stack *stack, const fnz_op *op, fnz_backend *backend,
                               fnz_handle *handles, size_t capacity, size_t *count) {
  const fnz_request request = {op, stack->args, stack->count, NULL, ""};
  bool guarded = FNZI_BACKEND_HAS(backend, guard) && !(op->flags & FNZI_OP_NO_DEVICE_GUARD);
  if (guarded)
    backend->guard(backend->self, true);
  fnz_status status =
      backend->call(backend->self, stack->ctx, &request, handles, capacity, count, stack->warning);
  if (guarded)
    backend->guard(backend->self, false);
  return status;
}

static fnz_status call(fnz_stack *stack, const fnz_op *op) {
  fnz_backend *backend;
  fnz_handle few[FEW_RESULTS], *handles = few;
  size_t capacity = op->nreturns, lists = fnzi_op_lists(op), count, *lengths;
  if (stack->out_of_memory)
    return fnzi_no_memory(stack->ctx);
  FNZ_TRY(fnzi_call_stack_arrange(stack, op));
  FNZ_TRY(choose_backend(stack, op, &backend));
  if (lists) {
    const fnz_request request = {op, stack->args, stack->count, NULL, ""};
    capacity = fnzi_request_capacity(backend, &request);
  }
  if (capacity > FEW_RESULTS)
    FNZI_NEW(&stack->arena, capacity, &handles);
  /* The lengths of several lists; NULL for one list, which takes what the other results leave. */
  lengths = NULL;
  if (lists >= 2) {
    FNZI_NEW(&stack->arena, op->nreturns, &lengths);
    for (size_t k = 0; k < op->nreturns; k++)
      lengths[k] = op->returns[k].is_list ? length_of(stack, op, k) : 1;
  }
  FNZ_TRY(fnzi_call_stack_reserve(stack, op->nreturns));
  FNZ_TRY(call_backend(stack, op, backend, handles, capacity, &count));
  fnzi_call_stack_release(stack, 0);
  stack->count = 0;
  arrived *a = &(arrived){backend, handles, count, 0, lengths};
  fnz_status status = FNZ_OK;
  for (size_t k = 0; status == FNZ_OK && k < op->nreturns; k++)
    status = call_put_result(stack, op, k, a);
  for (; a->at < a->count; a->at++) /* no result of the schema took these */
    fnz_eager_release((fnz_eager){a->backend, a->handles[a->at]});
  return status;
}

fnz_status fnz_call(fnz_context *ctx, const fnz_op *op, fnz_stack *stack) {
  stack->ctx = ctx;
  stack->warning[0] = 0;
  fnz_status status = op ? call(stack, op)
                         : fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL,
                                     "a call without an operator; fnz_call_name() takes its name, "
                                     "and says which names are near");
  if (status != FNZ_OK)
    fnz_stack_clear(stack);
  return status;
}

fnz_status fnz_call_name(fnz_context *ctx, const char *name, fnz_stack *stack) {
  const fnz_op *op = fnz_op_find(ctx, name);
  if (op)
    return fnz_call(ctx, op, stack);
  fnz_stack_clear(stack);
  fnz_buffer near = {NULL, 0, 0};
  fnz_status status = fnzi_put_near_op(ctx, NULL, 0, name, &near);
  if (status == FNZ_OK)
    status = fnzi_fail(ctx, FNZ_CLASS_REF, name,
                       "there is no operator of that name%s; `fnz ops` lists all", near.data);
  fnz_buffer_free(ctx, &near);
  return status;
}
