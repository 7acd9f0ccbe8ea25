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

/* A script that is being walked: one way of a call. */
typedef struct level {
  fnzi_script_whole whole; /* the call */
  size_t nth;              /* which of its ways this is */
  fnzi_dec_fn *way;
  fnzi_script script;
  size_t at;
  fnz_arg *numbers; /* per value: its number in the result; none for one that is not there */
  bool *is_read;    /* per value, and per call: the results need it */
  bool *is_needed;
  size_t values, calls; /* that the result had before */
} level;

typedef struct expansion {
  fnz_context *ctx;
  fnzi_arena *arena;
  const fnzi_dcm_options *options;
  fnzi_script *to;
  bool is_strict; /* a way holds if all that it leads to stays in the set */
  level levels[DEEPEST];
  size_t depth;
} expansion;

/* --- opening ---------------------------------------------------------------------------------- */
/* An operator that cannot be decomposed stays, and the error is dropped. Two errors are kept: of an
 * operator that the caller named, and of an operator that fails itself. In the second case the
 * program is wrong, perhaps only at some of the sizes that are tried. */
static fnz_status excuse(const expansion *e, fnz_status status, const fnzi_dcm_way *way,
                         const fnzi_script_whole *whole) {
  if (fnzi_is_final(status) || status == FNZ_INTERNAL || way->is_named)
    return status;
  if (status != FNZ_BAD_INPUT)
    return FNZ_OK;
  status = fnzi_dec_call_check(e->ctx, fnzi_kernel_rows, whole);
  return status == FNZ_UNSUPPORTED ? FNZ_OK : status;
}

/* Finds the values and calls that the read results depend on. A way may compute results that no
 * node reads. */
static fnz_status find_needs(expansion *e, level *l) {
  const fnzi_script *script = &l->script;
  FNZI_NEW(e->arena, script->values.count, &l->is_read);
  FNZI_NEW(e->arena, script->calls.count, &l->is_needed);
  for (size_t k = 0; k < script->results.count; k++) {
    uint32_t value = script->results.data[k];
    if (value != FNZI_SCRIPT_UNDEFINED && (k >= 64 || !(l->whole.unread >> k & 1)))
      l->is_read[value] = true;
  }
  for (size_t i = script->calls.count; i-- > 0;) {
    const fnzi_script_call *call = &script->calls.data[i];
    l->is_needed[i] = fnzi_rec_is_kept_unused(call->op, call->count);
    for (uint32_t k = 0; k < call->count; k++)
      l->is_needed[i] = l->is_needed[i] || l->is_read[call->first + k];
    if (!l->is_needed[i])
      continue;
    FNZI_EACH_ARG(each, call->args, call->op->nparams)
      if (each.arg->tag == FNZ_ARG_VALUE)
        l->is_read[each.arg->u.value] = true;
  }
  return FNZ_OK;
}

/* The level on top, whose script is made, starts. */
static fnz_status start(expansion *e) {
  level *l = &e->levels[e->depth++];
  l->at = 0;
  l->values = e->to->values.count;
  l->calls = e->to->calls.count;
  FNZ_TRY(find_needs(e, l));
  FNZI_NEW(e->arena, l->script.values.count, &l->numbers);
  /* The inputs of a script are the tensors that its call takes. The first script and the result
   * have the same inputs. */
  size_t next = 0;
  if (e->depth > 1) {
    FNZI_EACH_ARG(each, l->whole.args, l->whole.op->nparams)
      if (each.arg->tag == FNZ_ARG_VALUE)
        l->numbers[next++] = *each.arg;
    return FNZ_OK;
  }
  e->to->ninputs = l->script.ninputs;
  for (; next < l->script.ninputs; next++) {
    l->numbers[next] = fnzi_arg_value(next);
    FNZI_PUSH(e->ctx, &e->to->values, l->script.values.data[next]);
  }
  return FNZ_OK;
}

/* Opens the script of a call as a new level, by way `nth` or, in a strict set, by the first later
 * way that works. *opened false: there is none. */
static fnz_status open(expansion *e, const fnzi_script_whole *whole, size_t nth, bool *opened) {
  *opened = false;
  for (;; nth++) {
    const fnzi_dcm_way way = fnzi_dcm_way_of_call(e->options, whole, nth);
    if (!way.expands || (nth && !e->is_strict))
      return FNZ_OK;
    /* The same way of the same operator is being walked: it would not end. */
    bool is_circle = false;
    for (size_t i = 0; !is_circle && i < e->depth; i++)
      is_circle = e->levels[i].whole.op == whole->op && e->levels[i].way == way.decompose;
    if (e->is_strict && (e->depth == DEEPEST || is_circle))
      continue;
    if (e->depth == DEEPEST)
      return fnzi_fail(e->ctx, FNZ_CLASS_INTERNAL, NULL, "%s is taken apart in a circle",
                       whole->op->name);
    level *l = &e->levels[e->depth];
    *l = (level){.whole = *whole, .nth = nth, .way = way.decompose};
    fnz_status status =
        fnzi_dec_script_make(e->arena, fnzi_kernel_rows, whole, way.decompose, &l->script);
    *opened = status == FNZ_OK;
    if (*opened)
      return start(e);
    FNZ_TRY(excuse(e, status, &way, whole));
  }
}

/* --- walking ---------------------------------------------------------------------------------- */

/* *fits false: the call stays, and the set does not have it. */
static fnz_status walk_call(expansion *e, bool *fits) {
  level *l = &e->levels[e->depth - 1];
  const fnzi_script_call *call = &l->script.calls.data[l->at++];
  fnz_arg *args;
  bool opened;
  if (!l->is_needed[l->at - 1])
    return FNZ_OK;
  FNZ_TRY(fnzi_script_args(e->arena, call, l->numbers, &args));
  /* Bits of results that nothing in the script reads. */
  uint64_t unread = 0;
  for (uint32_t k = 0; k < call->count && k < 64; k++)
    unread |= (uint64_t)!l->is_read[call->first + k] << k;
  const fnzi_script_whole whole = {
      .op = call->op,
      .args = args,
      .geometries = e->to->values.data,
      .expected = l->script.values.data + call->first,
      .nexpected = call->count,
      .unread = unread,
  };
  FNZ_TRY(open(e, &whole, 0, &opened));
  *fits = opened || !e->is_strict || fnzi_dcm_stays(e->options, call->op);
  if (opened || !*fits)
    return FNZ_OK;
  /* A call that stays becomes one of the result. */
  const fnzi_script_call made = {call->op, args, (uint32_t)e->to->values.count, call->count};
  for (uint32_t k = 0; k < call->count; k++) {
    l->numbers[call->first + k] = fnzi_arg_value(made.first + k);
    FNZI_PUSH(e->ctx, &e->to->values, l->script.values.data[call->first + k]);
  }
  FNZI_PUSH(e->ctx, &e->to->calls, made);
  return FNZ_OK;
}

/* The results of the script become the results of the call that it was opened for. */
static fnz_status close_level(expansion *e) {
  level *l = &e->levels[--e->depth];
  fnz_status status = FNZ_OK;
  const level *below = e->depth ? l - 1 : NULL;
  const fnzi_script_call *call = below ? &below->script.calls.data[below->at - 1] : NULL;
  for (size_t k = 0; status == FNZ_OK && k < l->script.results.count; k++) {
    uint32_t value = l->script.results.data[k];
    const fnz_arg none = {.tag = FNZ_ARG_NONE},
                  number = value == FNZI_SCRIPT_UNDEFINED ? none : l->numbers[value];
    if (call && k < call->count)
      below->numbers[call->first + k] = number;
    else if (!call)
      status = fnzi_script_result_add(e->to, number.tag == FNZ_ARG_VALUE ? (uint32_t)number.u.value
                                                                         : FNZI_SCRIPT_UNDEFINED);
  }
  fnzi_script_free(&l->script);
  return status;
}

static fnz_status try_ways(expansion *e, const fnzi_script_whole *whole, bool *done) {
  FNZ_TRY(open(e, whole, 0, done));
  /* *done is false where no way leads to the set. */
  while (*done && e->depth) {
    const level *l = &e->levels[e->depth - 1];
    bool fits = true;
    FNZ_TRY(l->at < l->script.calls.count ? walk_call(e, &fits) : close_level(e));
    if (!fits) {
      /* The steps that the topmost call was decomposed to are dropped for its next way. If it has
       * none, the call that it is a step of is next. */
      bool opened = false;
      while (e->depth && !opened) {
        level *top = &e->levels[--e->depth];
        fnzi_script_free(&top->script);
        e->to->values.count = top->values;
        e->to->calls.count = top->calls;
        fnzi_script_whole next = top->whole;
        if (e->depth)
          next.geometries = e->to->values.data; /* which has moved as it grew */
        FNZ_TRY(open(e, &next, top->nth + 1, &opened));
      }
    }
    *done = fits || e->depth;
  }
  return FNZ_OK;
}

/* An operator is decomposed even if a target gets a part of it wrong. The remaining operators are
 * no worse than the whole one, and messages can name them. */
fnz_status fnzi_dcm_expand(fnzi_arena *arena, const fnzi_dcm_options *options,
                           const fnzi_script_whole *whole, fnzi_script *out, bool *done) {
  expansion e = {.ctx = arena->ctx, .arena = arena, .options = options, .to = out};
  *out = (fnzi_script){.arena = arena};
  e.is_strict = fnzi_dcm_is_strict(options, whole->op);
  fnz_status status = try_ways(&e, whole, done);
  if (status == FNZ_OK && !*done && e.is_strict && fnzi_dcm_set_spoils(options->set, whole->op)) {
    e.is_strict = false;
    status = try_ways(&e, whole, done);
  }
  while (e.depth)
    fnzi_script_free(&e.levels[--e.depth].script);
  if (status != FNZ_OK || !*done)
    fnzi_script_free(out);
  *done = *done && status == FNZ_OK;
  return status;
}
