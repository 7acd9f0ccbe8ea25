/* stack.c - pushing arguments and taking results. */
#include "run/call/stack.h"

/* --- Making and ending ------------------------------------------------------------------------ */

void fnzi_call_stack_init(fnz_stack *stack, fnz_context *ctx, fnz_backend *backend) {
  stack->ctx = ctx;
  stack->backend = backend;
  fnzi_arena_init(&stack->arena, ctx);
  stack->args = stack->inline_args;
  stack->entries = stack->inline_entries;
  stack->count = 0;
  stack->capacity = FNZI_CALL_STACK_INLINE;
  stack->out_of_memory = false;
  stack->warning[0] = 0;
}

static void free_entries(fnz_stack *stack) {
  if (stack->args == stack->inline_args)
    return;
  fnzi_free(stack->ctx, stack->args, stack->capacity * sizeof *stack->args);
  fnzi_free(stack->ctx, stack->entries, stack->capacity * sizeof *stack->entries);
}

void fnzi_call_stack_end(fnz_stack *stack) {
  fnzi_call_stack_release(stack, 0);
  free_entries(stack);
  fnzi_arena_free(&stack->arena);
}

fnz_status fnz_stack_create(fnz_context *ctx, fnz_backend *backend, fnz_stack **out) {
  *out = NULL;
  FNZ_TRY(fnzi_backend_check(ctx, backend));
  *out = fnzi_resize(ctx, NULL, 0, sizeof **out);
  if (!*out)
    return fnzi_no_memory(ctx);
  fnzi_call_stack_init(*out, ctx, backend);
  return FNZ_OK;
}

void fnz_stack_destroy(fnz_stack *stack) {
  if (!stack)
    return;
  fnzi_call_stack_end(stack);
  fnzi_free(stack->ctx, stack, sizeof *stack);
}

fnz_status fnzi_call_stack_reserve(fnz_stack *stack, size_t want) {
  size_t wider = stack->capacity * 2 > want ? stack->capacity * 2 : want;
  if (want <= stack->capacity)
    return FNZ_OK;
  fnz_arg *args = fnzi_resize(stack->ctx, NULL, 0, wider * sizeof *args);
  fnzi_call_entry *entries = fnzi_resize(stack->ctx, NULL, 0, wider * sizeof *entries);
  if (!args || !entries) {
    fnzi_free(stack->ctx, args, wider * sizeof *args);
    fnzi_free(stack->ctx, entries, wider * sizeof *entries);
    return fnzi_no_memory(stack->ctx);
  }
  memcpy(args, stack->args, stack->count * sizeof *args);
  memcpy(entries, stack->entries, stack->count * sizeof *entries);
  free_entries(stack);
  stack->args = args;
  stack->entries = entries;
  stack->capacity = wider;
  return FNZ_OK;
}

/* --- Releasing -------------------------------------------------------------------------------- */

void fnz_eager_release(fnz_eager tensor) {
  if (tensor.handle)
    tensor.backend->release(tensor.backend->self, tensor.handle);
}

const fnz_geometry *fnz_eager_geometry(fnz_eager tensor) {
  return tensor.handle ? tensor.backend->geometry(tensor.backend->self, tensor.handle) : NULL;
}

static void release_entry(fnz_stack *stack, size_t place) {
  size_t tensors = fnz_stack_tensors(stack, place);
  for (size_t k = 0; k < tensors; k++)
    fnz_eager_release(fnz_stack_tensor(stack, place, k));
}

void fnzi_call_stack_release(fnz_stack *stack, size_t first) {
  for (size_t i = first; i < stack->count; i++)
    if (stack->entries[i].owned)
      release_entry(stack, i);
}

void fnz_stack_clear(fnz_stack *stack) {
  fnzi_call_stack_release(stack, 0);
  stack->count = 0;
  stack->out_of_memory = false;
  if (stack->arena.chunks)
    fnzi_arena_reset(&stack->arena);
}

/* --- Scalars ---------------------------------------------------------------------------------- */

fnz_arg fnz_scalar_int(int64_t value) {
  return (fnz_arg){.tag = FNZ_ARG_INT, .u.i = value};
}

fnz_arg fnz_scalar_float(double value) {
  return (fnz_arg){.tag = FNZ_ARG_FLOAT, .u.f = value};
}

/* --- Pushing ---------------------------------------------------------------------------------- */

static void push(fnz_stack *stack, fnz_arg arg, fnzi_call_entry entry) {
  if (stack->count == stack->capacity &&
      fnzi_call_stack_reserve(stack, stack->count + 1) != FNZ_OK) {
    stack->out_of_memory = true;
    return;
  }
  stack->args[stack->count] = arg;
  stack->entries[stack->count++] = entry;
}

/* Allocates from the arena; NULL if memory runs out, which fnz_call() reports. */
static void *allocate(fnz_stack *stack, size_t count, size_t size) {
  void *p = NULL;
  if (fnzi_arena_alloc(&stack->arena, count, size, &p) == FNZ_OK)
    return p;
  stack->out_of_memory = true;
  return NULL;
}

static void push_number(fnz_stack *stack, fnz_tag tag, int64_t value) {
  push(stack, (fnz_arg){.tag = (uint8_t)tag, .u.i = value},
       (fnzi_call_entry){NULL, NULL, NULL, false});
}

void fnz_push_none(fnz_stack *stack) {
  push_number(stack, FNZ_ARG_NONE, 0);
}

void fnz_push_default(fnz_stack *stack) {
  push_number(stack, FNZ_ARG_DEFAULT, 0);
}

void fnz_push_int(fnz_stack *stack, int64_t value) {
  push_number(stack, FNZ_ARG_INT, value);
}

void fnz_push_bool(fnz_stack *stack, bool value) {
  push_number(stack, FNZ_ARG_BOOL, value);
}

void fnz_push_dtype(fnz_stack *stack, fnz_dtype value) {
  push_number(stack, FNZ_ARG_DTYPE, value);
}

void fnz_push_float(fnz_stack *stack, double value) {
  push(stack, fnz_scalar_float(value), (fnzi_call_entry){NULL, NULL, NULL, false});
}

void fnz_push_tensor(fnz_stack *stack, fnz_eager tensor) {
  fnz_arg arg = {.tag = tensor.handle ? FNZ_ARG_VALUE : FNZ_ARG_NONE, .u.value = tensor.handle};
  push(stack, arg, (fnzi_call_entry){tensor.handle ? tensor.backend : NULL, NULL, NULL, false});
}

static void push_list(fnz_stack *stack, fnz_tag tag, const fnz_arg *items, size_t count,
                      fnz_backend **backends) {
  fnz_arg arg = {.tag = (uint8_t)tag, .count = (uint32_t)count, .u.list = items};
  push(stack, arg, (fnzi_call_entry){NULL, backends, NULL, false});
}

void fnz_push_complex(fnz_stack *stack, double real, double imag) {
  fnz_arg *parts = allocate(stack, 2, sizeof *parts);
  if (!parts)
    return;
  parts[0] = fnz_scalar_float(real);
  parts[1] = fnz_scalar_float(imag);
  push_list(stack, FNZ_ARG_COMPLEX, parts, 2, NULL);
}

void fnz_push_ints(fnz_stack *stack, const int64_t *values, size_t count) {
  fnz_arg *items = allocate(stack, count, sizeof *items);
  for (size_t i = 0; items && i < count; i++)
    items[i] = fnz_scalar_int(values[i]);
  if (items)
    push_list(stack, FNZ_ARG_LIST, items, count, NULL);
}

void fnz_push_floats(fnz_stack *stack, const double *values, size_t count) {
  fnz_arg *items = allocate(stack, count, sizeof *items);
  for (size_t i = 0; items && i < count; i++)
    items[i] = fnz_scalar_float(values[i]);
  if (items)
    push_list(stack, FNZ_ARG_LIST, items, count, NULL);
}

void fnz_push_tensors(fnz_stack *stack, const fnz_eager *tensors, size_t count) {
  fnz_arg *items = allocate(stack, count, sizeof *items);
  fnz_backend **backends = allocate(stack, count, sizeof *backends);
  if (!items || !backends)
    return;
  for (size_t i = 0; i < count; i++) {
    items[i].tag = tensors[i].handle ? FNZ_ARG_VALUE : FNZ_ARG_NONE;
    items[i].u.value = tensors[i].handle;
    backends[i] = tensors[i].backend;
  }
  push_list(stack, FNZ_ARG_LIST, items, count, backends);
}

static const char *keep_text(fnz_stack *stack, const char *text, size_t size) {
  const char *copy = NULL;
  if (fnzi_arena_string(&stack->arena, text, size, &copy) != FNZ_OK)
    stack->out_of_memory = true;
  return copy;
}

static void push_text(fnz_stack *stack, fnz_tag tag, const char *text, size_t size) {
  fnz_arg arg = {.tag = (uint8_t)tag, .count = (uint32_t)size, .u.s = keep_text(stack, text, size)};
  if (arg.u.s)
    push(stack, arg, (fnzi_call_entry){NULL, NULL, NULL, false});
}

void fnz_push_string(fnz_stack *stack, const char *value) {
  push_text(stack, FNZ_ARG_STRING, value, strlen(value));
}

static bool is_text(const fnz_arg *arg) {
  return arg->tag == FNZ_ARG_STRING || arg->tag == FNZ_ARG_DEVICE || arg->tag == FNZ_ARG_OPERATOR;
}

/* Copies items of a list, with their texts and the two parts of complex numbers. Lists are not
 * nested. */
static bool keep_items(fnz_stack *stack, const fnz_arg *from, fnz_arg *items) {
  for (uint32_t i = 0; i < from->count; i++) {
    items[i] = from->u.list[i];
    if (is_text(&items[i])) {
      items[i].u.s = keep_text(stack, items[i].u.s, strlen(items[i].u.s));
    } else if (items[i].tag == FNZ_ARG_COMPLEX) {
      fnz_arg *parts = allocate(stack, 2, sizeof *parts);
      if (parts)
        memcpy(parts, items[i].u.list, 2 * sizeof *parts);
      items[i].u.list = parts;
    }
  }
  return !stack->out_of_memory;
}

void fnz_push_arg(fnz_stack *stack, const fnz_arg *arg) {
  if (is_text(arg)) {
    push_text(stack, arg->tag, arg->u.s, strlen(arg->u.s));
    return;
  }
  if (arg->tag != FNZ_ARG_LIST && arg->tag != FNZ_ARG_COMPLEX) {
    push(stack, *arg, (fnzi_call_entry){NULL, NULL, NULL, false});
    return;
  }
  fnz_arg *items = allocate(stack, arg->count, sizeof *items);
  if (items && keep_items(stack, arg, items))
    push_list(stack, arg->tag, items, arg->count, NULL);
}

void fnz_push_name(fnz_stack *stack, const char *name) {
  if (stack->count)
    stack->entries[stack->count - 1].name = keep_text(stack, name, strlen(name));
}

/* --- Taking ----------------------------------------------------------------------------------- */

const char *fnz_stack_warning(const fnz_stack *stack) {
  return stack->warning;
}

size_t fnz_stack_count(const fnz_stack *stack) {
  return stack->count;
}

size_t fnz_stack_tensors(const fnz_stack *stack, size_t place) {
  if (place >= stack->count)
    return 0;
  const fnz_arg *arg = &stack->args[place];
  return arg->tag == FNZ_ARG_VALUE ? 1 : stack->entries[place].items ? arg->count : 0;
}

fnz_eager fnz_stack_tensor(const fnz_stack *stack, size_t place, size_t item) {
  if (item >= fnz_stack_tensors(stack, place))
    return (fnz_eager){NULL, 0};
  const fnz_arg *arg = &stack->args[place];
  const fnzi_call_entry *entry = &stack->entries[place];
  if (arg->tag == FNZ_ARG_VALUE)
    return (fnz_eager){entry->backend, arg->u.value};
  const fnz_arg *one = &arg->u.list[item];
  return (fnz_eager){entry->items[item], one->tag == FNZ_ARG_VALUE ? one->u.value : 0};
}

const fnz_arg *fnz_stack_arg(const fnz_stack *stack, size_t place) {
  bool is_data = place < stack->count && !fnz_stack_tensors(stack, place);
  return is_data ? &stack->args[place] : NULL;
}

fnz_eager fnz_take_item(fnz_stack *stack, size_t place, size_t item) {
  fnz_eager tensor = fnz_stack_tensor(stack, place, item);
  if (!tensor.handle || !stack->entries[place].owned)
    return (fnz_eager){NULL, 0};
  if (stack->args[place].tag == FNZ_ARG_VALUE)
    stack->args[place] = (fnz_arg){.tag = FNZ_ARG_NONE};
  else /* results are in the arena, so they may be changed although the list is const */
    *(fnz_arg *)(uintptr_t)&stack->args[place].u.list[item] = (fnz_arg){.tag = FNZ_ARG_NONE};
  return tensor;
}

fnz_eager fnz_take_tensor(fnz_stack *stack, size_t place) {
  return fnz_take_item(stack, place, 0);
}

fnz_eager fnz_pop_tensor(fnz_stack *stack) {
  fnz_eager tensor = {NULL, 0};
  if (!stack->count)
    return tensor;
  size_t last = --stack->count;
  const fnzi_call_entry *entry = &stack->entries[last];
  if (stack->args[last].tag == FNZ_ARG_VALUE && entry->owned)
    tensor = (fnz_eager){entry->backend, stack->args[last].u.value};
  else if (entry->owned)
    release_entry(stack, last);
  if (!last && stack->arena.chunks)
    fnzi_arena_reset(&stack->arena);
  return tensor;
}
