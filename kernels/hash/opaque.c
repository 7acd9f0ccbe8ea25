/* opaque.c - any operator as an unknown function: element i of result k is a hash of the operator's
 * name, its attributes, the fingerprints of its tensors, k and i. List operators are the element's
 * operator on each item, so that writing a list at once or item after item is the same. */
#include "kernels/hash/hash.h"

static uint64_t attribute(uint64_t h, const fnz_arg *arg) {
  h = fnzi_combine(h, arg->tag);
  switch ((fnz_tag)arg->tag) {
  case FNZ_ARG_VALUE:
    return fnzi_combine(h, fnzi_hashed_print(fnzi_hashed_of(arg->u.value)));
  case FNZ_ARG_STRING:
  case FNZ_ARG_DEVICE:
  case FNZ_ARG_OPERATOR:
    return fnzi_combine_text(h, arg->u.s == NULL ? "" : arg->u.s);
  case FNZ_ARG_FLOAT: {
    uint64_t bits;
    memcpy(&bits, &arg->u.f, sizeof bits);
    return fnzi_combine(h, bits);
  }
  case FNZ_ARG_INT:
  case FNZ_ARG_BOOL:
  case FNZ_ARG_DTYPE:
  case FNZ_ARG_LAYOUT:
  case FNZ_ARG_MEMORY_FORMAT:
  case FNZ_ARG_GRAPH:
    return fnzi_combine(h, (uint64_t)arg->u.i);
  case FNZ_ARG_DEFAULT:
  case FNZ_ARG_NONE:
  case FNZ_ARG_SYMBOL:
  case FNZ_ARG_TOKEN:
  case FNZ_ARG_OBJECT:
  case FNZ_ARG_COMPLEX:
  case FNZ_ARG_LIST:
    break;
  }
  return h;
}

typedef struct hashing {
  uint64_t h;
} hashing;

static fnz_status visit(void *user, const fnz_arg *arg) {
  hashing *state = user;
  state->h = attribute(state->h, arg);
  return FNZ_OK;
}

static fnz_status call_print(fnzi_hashing *h, const fnz_op *op, const fnz_arg *args,
                             uint64_t *out) {
  hashing state = {fnzi_combine_text(h->hasher->seed, op->name)};
  for (size_t i = 0; i < op->nparams; i++) {
    state.h = fnzi_combine(state.h, args[i].tag);
    if (args[i].tag == FNZ_ARG_LIST || args[i].tag == FNZ_ARG_COMPLEX)
      state.h = fnzi_combine(state.h, args[i].count);
    FNZ_TRY(fnzi_args_visit(&args[i], 1, visit, &state));
  }
  *out = state.h;
  return FNZ_OK;
}

static fnz_status fill(fnzi_hashing *h, uint64_t print, uint64_t number) {
  fnzi_hashed *out;
  uint64_t seed = fnzi_combine(print, number);
  FNZ_TRY(fnzi_hash_result(h, NULL, &out));
  for (size_t i = 0; i < out->ncells; i++)
    out->cells[i] = fnzi_combine(seed, i);
  return FNZ_OK;
}

static fnz_status element(fnzi_hashing *h, const fnz_op *op, uint32_t k) {
  fnz_arg *args;
  uint64_t print;
  FNZI_NEW(&h->arena, op->nparams, &args);
  for (size_t i = 0; i < op->nparams; i++) {
    args[i] = i < h->op->nparams ? h->args[i] : fnzi_arg_get(op, NULL, 0, i);
    bool listed = i < h->op->nparams && h->op->params[i].is_list && args[i].tag == FNZ_ARG_LIST;
    if (listed && k < args[i].count)
      args[i] = args[i].u.list[k];
  }
  FNZ_TRY(call_print(h, op, args, &print));
  return fill(h, print, 0);
}

/* An undefined result has no expected geometry. */
static bool is_undefined(const fnzi_hashing *h) {
  return h->call->expected != NULL && h->call->expected[h->count] == NULL;
}

fnz_status fnzi_hash_opaque(fnzi_hashing *h) {
  const fnz_op *each = fnzi_foreach_element(h->op);
  uint64_t print;
  if (fnz_op_is_mutating(h->op))
    return fnzi_fail(h->ctx, FNZ_CLASS_UNSUPPORTED, "", "%s is not functional", h->op->name);
  FNZ_TRY(call_print(h, h->op, h->args, &print));
  while (h->count < h->capacity) {
    if (is_undefined(h))
      h->outputs[h->count++] = 0;
    else if (each != NULL)
      FNZ_TRY(element(h, each, (uint32_t)h->count));
    else
      FNZ_TRY(fill(h, print, h->count));
  }
  return FNZ_OK;
}
