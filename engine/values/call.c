/* call.c - a call of an operator on values of a GPU, as a program of one node will have it. */
#include "engine/values/values.h"

static uint64_t address_of(const fnzi_krn_array *a) {
  return (uint64_t)(uintptr_t)fnzi_krn_array_data(a);
}

/* --- What is written -------------------------------------------------------------------------- */
/* Returns whether the result can be a plain output: its memory is row-major, aligned and not shared
 * with another operand of the call. */
static bool is_plain(const fnzi_val_call *call, uint32_t k) {
  const fnzi_krn_array *a = call->outputs[k].array;
  FNZI_EACH_ARG(each, call->args, call->op->nparams) {
    const fnzi_krn_array *other = fnzi_krn_arg_array(each.arg);
    if (other && other->storage == a->storage)
      return false;
  }
  for (uint32_t i = 0; i < call->noutputs; i++)
    if (i != k && call->outputs[i].array && call->outputs[i].array->storage == a->storage)
      return false;
  return fnzi_is_contiguous(&a->window) && address_of(a) % FNZI_DEV_ALIGNED == 0;
}

static fnz_status open_target(fnzi_val_call *call, fnzi_val_output *out) {
  int64_t low, high;
  size_t cell = out->array->cell;
  uint64_t at = address_of(out->array), past = at % FNZI_DEV_ALIGNED;
  out->is_target = true;
  out->base = at - past;
  out->window = out->array->window;
  out->window.offset = (int64_t)(past / cell);
  out->window.is_conj = out->window.is_neg = false;
  if (past % cell || !fnzi_extent(&out->window, &low, &high) || low < 0 ||
      !fnzi_mul_size((size_t)high, cell, &out->bytes))
    return fnzi_fail(call->ctx, FNZ_CLASS_INTERNAL, NULL,
                     "%s: a result lies between elements of memory", call->op->name);
  out->value = call->ntargets++;
  return FNZ_OK;
}

bool fnzi_val_targets_overlap(const fnzi_krn_array *a, const fnzi_krn_array *b) {
  const fnzi_krn_array *both[2] = {a, b};
  uint64_t first[2], end[2];
  if (a->storage != b->storage)
    return false;
  for (int i = 0; i < 2; i++) {
    fnz_geometry window = both[i]->window;
    int64_t low, high;
    size_t bytes;
    window.offset = 0;
    if (!fnzi_extent(&window, &low, &high) || !fnzi_mul_size((size_t)high, both[i]->cell, &bytes))
      return true;
    first[i] = address_of(both[i]) / FNZI_DEV_ALIGNED * FNZI_DEV_ALIGNED;
    end[i] = address_of(both[i]) + bytes;
  }
  return first[0] < end[1] && first[1] < end[0];
}

/* --- What is read ----------------------------------------------------------------------------- */
/* The elements of the target, at the same places: eager has checked that others do not meet it. */
static bool is_in(const fnzi_val_output *out, const fnzi_krn_array *a) {
  const fnzi_krn_array *b = out->array;
  return out->is_target && a->storage == b->storage && a->window.dtype == b->window.dtype &&
         address_of(a) == address_of(b) && fnzi_same_sizes(&a->window, &b->window) &&
         fnzi_same_strides(&a->window, &b->window);
}

uint32_t fnzi_val_call_value(const fnzi_val_call *call, const fnzi_krn_array *a) {
  for (uint32_t k = 0; k < call->noutputs; k++)
    if (call->outputs[k].array && is_in(&call->outputs[k], a))
      return call->outputs[k].value;
  for (uint32_t i = 0; i < call->ninputs; i++)
    if (call->inputs[i].array == a)
      return call->inputs[i].value;
  return FNZI_PLN_NONE;
}

fnz_status fnzi_val_call_find(fnzi_val_call *call, fnzi_krn_array *const *outputs,
                              size_t noutputs) {
  uint32_t most = 0;
  FNZI_NEW(call->scratch, noutputs, &call->outputs);
  call->noutputs = (uint32_t)noutputs;
  call->ninputs = call->ntargets = 0;
  for (uint32_t k = 0; k < call->noutputs; k++)
    call->outputs[k].array = outputs[k];
  for (uint32_t k = 0; k < call->noutputs; k++)
    if (call->outputs[k].array && !is_plain(call, k))
      FNZ_TRY(open_target(call, &call->outputs[k]));
  FNZI_EACH_ARG(each, call->args, call->op->nparams)
    most += fnzi_krn_arg_array(each.arg) != NULL;
  FNZI_NEW(call->scratch, most, &call->inputs);
  FNZI_EACH_ARG(each, call->args, call->op->nparams) {
    const fnzi_krn_array *a = fnzi_krn_arg_array(each.arg);
    if (a && fnzi_val_call_value(call, a) == FNZI_PLN_NONE) {
      uint32_t value = call->ntargets + call->ninputs;
      call->inputs[call->ninputs++] = (fnzi_val_input){a, value};
    }
  }
  return FNZ_OK;
}

/* --- The key ---------------------------------------------------------------------------------- */
typedef struct writing {
  const fnzi_val_call *call;
  fnz_buffer *out;
} writing;

static fnz_status put_number(const writing *w, int64_t number) {
  return fnzi_put(w->call->ctx, w->out, &number, sizeof number);
}

static fnz_status put_geometry(const writing *w, const fnz_geometry *g) {
  const int64_t head[] = {g->dtype, g->rank, g->offset};
  FNZ_TRY(fnzi_put(w->call->ctx, w->out, head, sizeof head));
  FNZ_TRY(fnzi_put(w->call->ctx, w->out, g->sizes, g->rank * sizeof *g->sizes));
  return fnzi_put(w->call->ctx, w->out, g->strides, g->rank * sizeof *g->strides);
}

static fnz_status put_text(const writing *w, const char *text) {
  size_t size = text ? strlen(text) : 0;
  FNZ_TRY(put_number(w, (int64_t)size));
  return fnzi_put(w->call->ctx, w->out, text, size);
}

static fnz_status put_arg(const writing *w, const fnz_arg *arg, bool is_listed) {
  bool by_code = w->call->code && !is_listed;
  FNZ_TRY(put_number(w, arg->tag));
  switch ((fnz_tag)arg->tag) {
  case FNZ_ARG_VALUE:
    return put_number(w, fnzi_val_call_value(w->call, fnzi_krn_arg_array(arg)));
  case FNZ_ARG_STRING:
  case FNZ_ARG_DEVICE:
  case FNZ_ARG_OPERATOR:
    return put_text(w, arg->u.s);
  case FNZ_ARG_COMPLEX:
    FNZ_TRY(put_number(w, arg->u.list[0].u.i));
    return put_number(w, arg->u.list[1].u.i);
  case FNZ_ARG_DEFAULT:
  case FNZ_ARG_NONE:
    return FNZ_OK;
  case FNZ_ARG_INT:
  case FNZ_ARG_FLOAT:
  case FNZ_ARG_BOOL:
    return by_code ? FNZ_OK : put_number(w, arg->u.i);
  case FNZ_ARG_SYMBOL:
  case FNZ_ARG_TOKEN:
  case FNZ_ARG_OBJECT:
  case FNZ_ARG_DTYPE:
  case FNZ_ARG_LAYOUT:
  case FNZ_ARG_MEMORY_FORMAT:
  case FNZ_ARG_LIST:
  case FNZ_ARG_GRAPH:
    return put_number(w, arg->u.i);
  }
  return FNZ_INTERNAL;
}

/* Programs know nothing of where in its storage a tensor begins. */
static fnz_status put_layout(const writing *w, const fnzi_krn_array *a) {
  fnz_geometry g = a->geometry;
  g.offset = 0;
  return put_geometry(w, &g);
}

fnz_status fnzi_val_call_key(const fnzi_val_call *call, fnz_buffer *out) {
  const writing w = {call, out};
  FNZ_TRY(put_text(&w, call->op->name));
  fnzi_walk walk; /* lists as they open and close */
  fnzi_walk_start(&walk, call->args, call->op->nparams);
  for (fnzi_step step; (step = fnzi_walk_next(&walk)) != FNZI_STEP_END;) {
    FNZ_TRY(put_number(&w, step));
    if (step == FNZI_STEP_TOO_DEEP)
      return fnzi_fail(call->ctx, FNZ_CLASS_LIMIT, NULL, "%s: lists are nested too deep",
                       call->op->name);
    if (step == FNZI_STEP_ITEM)
      FNZ_TRY(put_arg(&w, walk.arg, walk.depth > 0));
  }
  if (call->code)
    FNZ_TRY(fnzi_val_scalars_put(call, out));
  for (uint32_t i = 0; i < call->ninputs; i++) {
    fnz_geometry window = call->inputs[i].array->window;
    window.offset = 0;
    FNZ_TRY(put_geometry(&w, &window));
    FNZ_TRY(put_layout(&w, call->inputs[i].array));
  }
  for (uint32_t k = 0; k < call->noutputs; k++) {
    const fnzi_val_output *o = &call->outputs[k];
    FNZ_TRY(put_number(&w, !o->array ? 0 : o->is_target ? 2 : 1));
    if (o->array)
      FNZ_TRY(put_layout(&w, o->array));
    if (o->is_target)
      FNZ_TRY(put_geometry(&w, &o->window));
  }
  return FNZ_OK;
}
