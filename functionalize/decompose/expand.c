/* expand.c - one call, taken apart until nothing is left to be: steps that are to be taken apart
 * themselves are opened on a stack, and everything that stays becomes one list of calls.
 *
 * needs   arguments as numbers into geometries
 * keeps   the order of steps
 * gives   a script of operators that stay */
#include "functionalize/decompose/decompose.h"
#include "kernels/backends.h"

/* Steps of steps of steps: ways lead to operators of other kinds, so few follow each other. */
enum { DEEPEST = 16 };

/* A script that is being walked. */
typedef struct level {
  fnzi_script script;
  size_t at;
  uint32_t *numbers; /* per value: its number in the result */
} level;

typedef struct expansion {
  fnz_context *ctx;
  fnzi_arena *arena;
  const fnzi_dcm_wish *wish;
  fnzi_script *to;
  bool may_stay, lacks; /* the whole; there is a step that the set does not have */
  level levels[DEEPEST];
  size_t depth;
} expansion;

/* --- opening ---------------------------------------------------------------------------------- */
typedef struct collecting {
  uint32_t *numbers;
  size_t count;
} collecting;

static fnz_status collect(void *user, const fnz_arg *arg) {
  collecting *c = user;
  if (arg->tag == FNZ_ARG_VALUE)
    c->numbers[c->count++] = (uint32_t)arg->u.value;
  return FNZ_OK;
}

/* An operator that cannot be taken apart stays, but for one that the caller named, and for one that
 * fails itself: there the program is wrong, as it may be at some of the sizes that are tried. */
static fnz_status excuse(const expansion *e, fnz_status status, const fnzi_dcm_way *way,
                         const fnzi_script_whole *whole) {
  if (status == FNZ_NO_MEMORY || status == FNZ_INTERNAL || way->is_named)
    return status;
  if (status != FNZ_BAD_INPUT)
    return FNZ_OK;
  status = fnzi_dec_call_check(e->ctx, fnzi_kernel_rows, whole);
  return status == FNZ_UNSUPPORTED ? FNZ_OK : status;
}

/* The script of a call as a new level. *opened false: the call stays. */
static fnz_status open(expansion *e, const fnzi_script_whole *whole, bool *opened) {
  const fnz_op *op = whole->op;
  const fnzi_dcm_way way = fnzi_dcm_way_of(e->wish, op);
  *opened = false;
  if (!way.expands)
    return FNZ_OK;
  e->may_stay = e->depth ? e->may_stay : way.may_stay;
  if (e->depth == DEEPEST && e->may_stay)
    return FNZ_OK;
  if (e->depth == DEEPEST)
    return fnzi_fail(e->ctx, FNZ_CLASS_INTERNAL, NULL, "%s is taken apart in a circle", op->name);
  level *l = &e->levels[e->depth];
  fnz_status status =
      fnzi_dec_script_make(e->arena, fnzi_kernel_rows, whole, way.decompose, &l->script);
  if (status != FNZ_OK)
    return excuse(e, status, &way, whole);
  l->at = 0;
  e->depth++;
  FNZI_NEW(e->arena, l->script.values.count, &l->numbers);
  collecting c = {l->numbers, 0};
  *opened = true;
  return fnzi_args_visit(whole->args, op->nparams, collect, &c);
}

/* --- walking ---------------------------------------------------------------------------------- */
static void renumber(const level *l, fnz_arg *arg) {
  if (arg->tag == FNZ_ARG_VALUE)
    arg->u.value = l->numbers[arg->u.value];
}

static fnz_status renumber_args(expansion *e, const level *l, const fnzi_script_call *call,
                                fnz_arg **out) {
  FNZI_NEW(e->arena, call->op->nparams, out);
  for (size_t i = 0; i < call->op->nparams; i++) {
    fnz_arg *arg = &(*out)[i], *items;
    *arg = call->args[i];
    renumber(l, arg);
    if (arg->tag != FNZ_ARG_LIST || !arg->count)
      continue;
    FNZI_NEW(e->arena, arg->count, &items);
    memcpy(items, arg->u.list, arg->count * sizeof *items);
    for (uint32_t k = 0; k < arg->count; k++)
      renumber(l, &items[k]);
    arg->u.list = items;
  }
  return FNZ_OK;
}

/* A call that stays becomes one of the result. */
static fnz_status emit(expansion *e, const level *l, const fnzi_script_call *call,
                       const fnz_arg *args) {
  const fnzi_script_call made = {call->op, args, (uint32_t)e->to->values.count, call->count};
  for (uint32_t k = 0; k < call->count; k++) {
    l->numbers[call->first + k] = made.first + k;
    FNZI_PUSH(e->ctx, &e->to->values, l->script.values.data[call->first + k]);
  }
  FNZI_PUSH(e->ctx, &e->to->calls, made);
  return FNZ_OK;
}

static fnz_status walk_call(expansion *e) {
  level *l = &e->levels[e->depth - 1];
  const fnzi_script_call *call = &l->script.calls.data[l->at++];
  fnz_arg *args;
  bool opened;
  FNZ_TRY(renumber_args(e, l, call, &args));
  const fnzi_script_whole whole = {call->op, args, e->to->values.data,
                                   l->script.values.data + call->first, call->count};
  FNZ_TRY(open(e, &whole, &opened));
  if (opened)
    return FNZ_OK;
  e->lacks = e->lacks || fnzi_dcm_why_left(e->wish, call->op);
  return emit(e, l, call, args);
}

/* What the script gave are results of the call that it was opened for. */
static fnz_status close_level(expansion *e) {
  level *l = &e->levels[--e->depth];
  fnz_status status = FNZ_OK;
  const level *below = e->depth ? l - 1 : NULL;
  const fnzi_script_call *call = below ? &below->script.calls.data[below->at - 1] : NULL;
  for (size_t k = 0; status == FNZ_OK && k < l->script.results.count; k++) {
    uint32_t value = l->script.results.data[k];
    uint32_t number = value == FNZI_SCRIPT_UNDEFINED ? value : l->numbers[value];
    if (call && k < call->count)
      below->numbers[call->first + k] = number;
    else if (!call)
      status = fnzi_script_result_add(e->to, number);
  }
  fnzi_script_free(&l->script);
  return status;
}

static fnz_status walk(expansion *e) {
  while (e->depth) {
    const level *l = &e->levels[e->depth - 1];
    FNZ_TRY(l->at < l->script.calls.count ? walk_call(e) : close_level(e));
  }
  return FNZ_OK;
}

/* The inputs of the first script are those of the result. */
static fnz_status start(expansion *e) {
  level *l = &e->levels[0];
  e->to->ninputs = l->script.ninputs;
  for (size_t i = 0; i < l->script.ninputs; i++) {
    l->numbers[i] = (uint32_t)i;
    FNZI_PUSH(e->ctx, &e->to->values, l->script.values.data[i]);
  }
  return FNZ_OK;
}

fnz_status fnzi_dcm_expand(fnzi_arena *arena, const fnzi_dcm_wish *wish,
                           const fnzi_script_whole *whole, fnzi_script *out, bool *done) {
  expansion e = {.ctx = arena->ctx, .arena = arena, .wish = wish, .to = out};
  *out = (fnzi_script){.arena = arena};
  fnz_status status = open(&e, whole, done);
  if (status == FNZ_OK && *done)
    status = start(&e);
  if (status == FNZ_OK && *done)
    status = walk(&e);
  while (e.depth)
    fnzi_script_free(&e.levels[--e.depth].script);
  *done = *done && !(e.may_stay && e.lacks);
  if (status != FNZ_OK || !*done)
    fnzi_script_free(out);
  *done = *done && status == FNZ_OK;
  return status;
}
