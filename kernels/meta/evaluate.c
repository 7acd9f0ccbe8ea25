/* evaluate.c - from a functional operator and its arguments to results, step by step: the table of
 * kernels.def, or a registered kernel, is the only thing that knows operators. */
#include "kernels/meta/evaluate.h"
#include "schema/aten_names.h"
#include "schema/custom.h"
#include "views/views.h"

/* Custom operators are not in the table. */
bool fnzi_meta_op_index(const fnz_op *op, size_t *out) {
  uintptr_t at = (uintptr_t)op, first = (uintptr_t)fnzi_ops;
  bool found = at >= first && at < first + fnz_op_count() * sizeof *fnzi_ops;
  *out = found ? (at - first) / sizeof *fnzi_ops : 0;
  return found;
}

/* NULL when it has no row, or another schema than the library's. */
static const fnzi_kernel *find_of_library(const fnzi_krn_kernels *kernels, const fnz_op *op) {
  static const char *const names[] = {
#define LIBRARY_KERNEL(name, accepts, memory, shape, run) name,
#include "kernels/library.def"
#undef LIBRARY_KERNEL
  };
  for (size_t i = 0; i < FNZI_LIBRARY_KERNELS; i++)
    if (strcmp(names[i], op->name) == 0)
      return strcmp(fnzi_builtin_schema(names[i]), op->schema) == 0
                 ? &kernels->rows[FNZI_ATEN_COUNT + i]
                 : NULL;
  return NULL;
}

/* The operators of views.def and their copying twins have one row together. */
const fnzi_kernel *fnzi_kernel_find(const fnzi_krn_kernels *kernels, const fnz_op *op) {
  static const fnzi_kernel view = {.shape = fnzi_shape_view,
                                   .accepts = FNZI_ACCEPTS_ANY,
                                   .memory = FNZI_MEMORY_VIEW,
                                   .run = FNZI_RUN_view};
  size_t i;
  if (!fnzi_meta_op_index(fnzi_op_canonical(op), &i))
    return find_of_library(kernels, op);
  if (kernels->rows[i].shape)
    return &kernels->rows[i];
  return op->view_of == FNZI_NO_OP && fnzi_view_find(op) ? &view : NULL;
}

const fnzi_kernel *fnzi_meta_row_find(const fnzi_krn_machine *m, const fnz_op *op) {
  const fnzi_krn_registered *r = m->registered.count ? fnzi_krn_registered_for(m, op) : NULL;
  return r ? &r->row : fnzi_kernel_find(m->kernels, op);
}

/* --- Arguments --------------------------------------------------------------------------- */
/* The result's type follows from that of all operands, numbers among them. */
static bool promotes(const fnzi_kernel *row) {
  return row->shape == fnzi_shape_point || row->shape == fnzi_shape_where;
}

static fnz_status check_tensor(const fnzi_krn_call *call, const fnzi_kernel *row,
                               const fnzi_param *param, const fnz_arg *arg, bool optional) {
  if (arg->tag == FNZ_ARG_VALUE && arg->u.value)
    return FNZ_OK;
  if (arg->tag == FNZ_ARG_NONE && optional)
    return FNZ_OK;
  /* Pointwise operators take a number for a tensor, as exported programs give it. */
  if (fnzi_arg_is_number(arg) &&
      (promotes(row) || row->shape == fnzi_shape_point_swapped ||
       (row->memory == FNZI_MEMORY_POINT && strcmp(param->name, "value") == 0)))
    return FNZ_OK;
  char given[80];
  return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "argument %s must be a tensor; %s was given",
                              param->name, fnzi_arg_words(arg, given));
}

static fnz_status check_arg(const fnzi_krn_call *call, const fnzi_kernel *row,
                            const fnzi_param *param, const fnz_arg *arg) {
  if (param->type == FNZI_TYPE_TENSOR) {
    if (!param->is_list)
      return check_tensor(call, row, param, arg, param->optional || param->item_optional);
    if (arg->tag == FNZ_ARG_NONE && param->optional)
      return FNZ_OK;
    if (arg->tag != FNZ_ARG_LIST)
      return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "argument %s must be a list of tensors",
                                  param->name);
    for (uint32_t i = 0; i < arg->count; i++)
      FNZ_TRY(check_tensor(call, row, param, &arg->u.list[i], param->item_optional));
    return FNZ_OK;
  }
  if (arg->tag == FNZ_ARG_SYMBOL)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_UNSUPPORTED,
                                "argument %s is a symbolic number; give it a value", param->name);
  if (arg->tag == FNZ_ARG_VALUE)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "argument %s must not be a tensor",
                                param->name);
  if (arg->tag == FNZ_ARG_DEFAULT && !param->optional)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "argument %s is missing", param->name);
  if (param->type == FNZI_TYPE_SCALAR && !param->is_list && !fnzi_arg_is_number(arg) &&
      !(param->optional && (arg->tag == FNZ_ARG_NONE || arg->tag == FNZ_ARG_DEFAULT)))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "argument %s must be a number", param->name);
  return FNZ_OK;
}

fnz_status fnzi_meta_args_fill(const fnzi_krn_call *call, const fnz_request *from, fnz_arg *out) {
  const fnz_op *op = from->op;
  if (from->nargs > op->nparams)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "%zu arguments given, at most %u taken",
                                from->nargs, (unsigned)op->nparams);
  for (size_t i = 0; i < op->nparams; i++) {
    out[i] = i < from->nargs && from->args[i].tag != FNZ_ARG_DEFAULT
                 ? from->args[i]
                 : fnzi_arg_get(op, from->args, from->nargs, i);
    if (out[i].tag == FNZ_ARG_DEFAULT && op->params[i].optional)
      out[i].tag = FNZ_ARG_NONE;
  }
  return FNZ_OK;
}

/* --- Element types ----------------------------------------------------------------------- */
static bool accepted(fnzi_krn_accepts accepts, fnz_dtype d) {
  char category = fnzi_dtype(d)->category;
  bool standard = d <= FNZ_F64 || d == FNZ_C64;
  switch (accepts) {
  case FNZI_ACCEPTS_ANY:
    return true;
  case FNZI_ACCEPTS_STANDARD:
    return standard;
  case FNZI_ACCEPTS_NUMBERS:
    return standard || d == FNZ_C128;
  case FNZI_ACCEPTS_REAL:
    return standard && category != 'c';
  case FNZI_ACCEPTS_INTEGRAL:
    return standard && category != 'c' && category != 'f';
  case FNZI_ACCEPTS_FLOAT:
    return standard && category == 'f';
  }
  return false;
}

static fnz_status check_dtype(const fnzi_krn_call *call, const fnzi_kernel *row, fnz_dtype d,
                              const char *what) {
  if (accepted((fnzi_krn_accepts)row->accepts, d))
    return FNZ_OK;
  return fnzi_krn_call_refuse(call, FNZ_CLASS_UNSUPPORTED, "there is no kernel for %s of type %s",
                              what, fnzi_dtype(d)->name);
}

fnz_status fnzi_meta_outputs_check(const fnzi_krn_call *call, const fnzi_kernel *row) {
  for (size_t k = 0; k < call->noutputs; k++)
    if (call->outputs[k])
      FNZ_TRY(check_dtype(call, row, call->outputs[k]->geometry.dtype, "a result"));
  return FNZ_OK;
}

/* --- Memory of results ------------------------------------------------------------------- */
/* The array's memory has no other user, nor is it another library's, and its elements lie there
 * without gaps. */
static bool may_reuse(const fnz_arg *arg, const fnzi_krn_array *out) {
  fnzi_krn_array *a = fnzi_krn_arg_array(arg);
  return a && (arg->flags & FNZ_ARG_LAST_USE) && a->storage->refs == 1 && !a->storage->end &&
         a->window.dtype == out->window.dtype && fnzi_same_sizes(&a->window, &out->window) &&
         fnzi_is_dense(&a->window);
}

static fnz_status reuse_any(fnzi_krn_call *call, fnzi_krn_array *out) {
  for (size_t i = 0; i < call->op->nparams; i++)
    if (may_reuse(&call->args[i], out)) {
      fnzi_krn_array *a = fnzi_krn_arg_array(&call->args[i]);
      return fnzi_krn_array_share(call->ctx, out, a->storage, &a->window);
    }
  return fnzi_krn_array_allocate(call->ctx, out, false);
}

size_t fnzi_meta_args_count(const fnz_arg *args, size_t nargs, uint64_t value) {
  size_t seen = 0;
  FNZI_EACH_ARG(each, args, nargs)
    seen += each.arg->tag == FNZ_ARG_VALUE && each.arg->u.value == value;
  return seen;
}

static fnz_status start_from_base(fnzi_krn_call *call, fnzi_krn_array *out) {
  const fnz_arg *arg = &call->args[0];
  fnzi_krn_array *base = fnzi_krn_arg_array(arg);
  if (!base)
    return fnzi_krn_array_allocate(call->ctx, out, true);
  if (may_reuse(arg, out) && fnzi_meta_args_count(call->args, call->op->nparams, arg->u.value) == 1)
    return fnzi_krn_array_share(call->ctx, out, base->storage, &base->window);
  FNZ_TRY(fnzi_krn_array_allocate(call->ctx, out, false));
  return fnzi_krn_array_assign(call, out, base);
}

/* Kernels that give the results their arguments' memory, and look at no element. */
static bool is_window(const fnzi_krn_call *call, const fnzi_kernel *row) {
  const fnzi_krn_array *from = call->op->nparams ? fnzi_krn_call_input(call, 0) : NULL;
  bool same = from && call->noutputs == 1 && call->outputs[0] &&
              call->outputs[0]->window.dtype == from->window.dtype &&
              fnzi_same_sizes(&call->outputs[0]->window, &from->window);
  uint8_t access = fnzi_kernel_facts(row)->access;
  return access == FNZI_ACCESS_VIEW || (access == FNZI_ACCESS_SAME && same);
}

fnz_status fnzi_meta_evaluate_memory(fnzi_krn_call *call, const fnzi_kernel *row) {
  if (call->stock->elsewhere) {
    /* A device fills all of the results, whatever they begin as. */
    for (size_t k = 0; k < call->noutputs && !is_window(call, row); k++) {
      fnzi_krn_array *out = call->outputs[k];
      if (!out || out->storage)
        continue;
      if (!call->asked) {
        /* Values lie row by row, whatever eager's strides are; tensors lie at these. */
        fnzi_contiguous_strides(out->window.sizes, out->window.rank,
                                out->dims + 2 * (size_t)out->window.rank);
      }
      FNZ_TRY(fnzi_krn_array_allocate(call->ctx, out, false));
    }
    return FNZ_OK;
  }
  for (size_t k = 0; k < call->noutputs; k++) {
    fnzi_krn_array *out = call->outputs[k];
    if (!out || out->storage || row->memory == FNZI_MEMORY_VIEW)
      continue;
    if (row->memory == FNZI_MEMORY_POINT)
      FNZ_TRY(reuse_any(call, out));
    else if (row->memory == FNZI_MEMORY_BASE && k == 0)
      FNZ_TRY(start_from_base(call, out));
    else
      FNZ_TRY(fnzi_krn_array_allocate(call->ctx, out, false));
  }
  return FNZ_OK;
}

/* --- The steps --------------------------------------------------------------------------- */
static fnz_status find_shape(fnzi_krn_call *call, const fnzi_kernel *row) {
  FNZ_TRY(row->shape(call));
  /* Pointwise rows promote by their numbers; elsewhere a complex one has no place in real results.
   */
  bool has_complex = false;
  for (size_t k = 0; !has_complex && k < call->noutputs; k++)
    has_complex = call->outputs[k] && fnzi_is_complex(call->outputs[k]->geometry.dtype);
  if (!promotes(row) && !has_complex)
    for (size_t i = 0; i < call->op->nparams; i++)
      if (call->args[i].tag == FNZ_ARG_COMPLEX && call->args[i].u.list[1].u.f != 0)
        return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE,
                                    "argument %s is complex, but the result is real",
                                    call->op->params[i].name);
  return fnzi_meta_numbers_check(call);
}

/* Places may be a mask, whose truths are counted then. */
static bool data_decide(const fnzi_krn_call *call) {
  int indices = fnzi_op_param(call->op, "indices");
  if (!(call->op->tags & FNZI_TAG_DYNAMIC_SHAPE))
    return false;
  if (indices < 0 || !call->op->params[indices].is_list)
    return true;
  FNZI_EACH_ARG(each, &call->args[indices], 1) {
    const fnzi_krn_array *a = fnzi_krn_arg_array(each.arg);
    if (a && (a->geometry.dtype == FNZ_BOOL || a->geometry.dtype == FNZ_U8))
      return true;
  }
  return false;
}

/* Rules see no data there. If data decide sizes the CPU computes all of it, and reports the
 * refusals of a rule. */
static fnz_status find_shape_elsewhere(fnzi_krn_call *call, const fnzi_kernel *row) {
  const fnz_error had = call->ctx->error;
  fnz_status status = FNZ_UNSUPPORTED;
  if (!data_decide(call)) {
    call->has_data = false;
    status = find_shape(call, row);
    call->has_data = true;
  }
  if (status == FNZ_OK || status == FNZ_NO_MEMORY)
    return status;
  fnzi_meta_outputs_release(call);
  call->ctx->error = had;
  call->is_done = true;
  return call->stock->elsewhere->by_cpu(call->stock->elsewhere->self, call);
}

fnz_status fnzi_meta_evaluate_shape(fnzi_krn_call *call, const fnzi_kernel *row) {
  bool elsewhere = call->has_data && call->stock->elsewhere;
  call->row = row;
  for (size_t i = 0; i < call->op->nparams; i++)
    FNZ_TRY(check_arg(call, row, &call->op->params[i], &call->args[i]));
  const fnz_arg *first = call->op->nparams ? &call->args[0] : NULL;
  if (first && first->tag == FNZ_ARG_LIST && first->count)
    first = &first->u.list[0];
  fnzi_krn_array *array = fnzi_krn_arg_array(first);
  if (array)
    FNZ_TRY(check_dtype(call, row, array->geometry.dtype, "an argument"));
  FNZ_TRY(elsewhere ? find_shape_elsewhere(call, row) : find_shape(call, row));
  return call->has_data ? fnzi_meta_outputs_check(call, row) : FNZ_OK;
}

fnz_status fnzi_meta_evaluate_run(fnzi_krn_call *call, const fnzi_kernel *row) {
  const fnzi_krn_elsewhere *e = call->stock->elsewhere;
  if (call->is_done)
    return FNZ_OK;
  if (e && !is_window(call, row))
    return e->run(e->self, call);
  bool registered = row->run == FNZI_RUN_registered;
  FNZ_TRY(registered ? fnzi_kernel_registered(call) : call->kernels->runs[row->run](call));
  return fnzi_krn_results_finish(call);
}

void fnzi_meta_outputs_release(fnzi_krn_call *call) {
  for (size_t k = 0; k < call->noutputs; k++)
    fnzi_krn_array_release(call->ctx, call->outputs[k]);
  call->noutputs = 0;
}

/* --- The whole ---------------------------------------------------------------------------- */
fnz_status fnzi_meta_evaluate_request(fnzi_krn_call *call, const fnzi_kernel *row,
                                      const fnz_request *from) {
  fnz_arg *args;
  FNZI_NEW(&call->scratch, call->op->nparams, &args);
  FNZ_TRY(fnzi_meta_args_fill(call, from, args));
  call->args = args;
  /* A tensor of call() may have lazy bits; values have none. */
  FNZI_EACH_ARG(each, call->args, call->op->nparams) {
    const fnzi_krn_array *a = fnzi_krn_arg_array(each.arg);
    if (a && a->eager && (a->geometry.is_conj || a->geometry.is_neg))
      return fnzi_krn_call_refuse(call, FNZ_CLASS_UNSUPPORTED,
                                  "an argument is a lazy conjugate or negative; resolve it before");
  }
  FNZ_TRY(fnzi_meta_evaluate_shape(call, row));
  if (!call->has_data)
    return FNZ_OK;
  FNZ_TRY(fnzi_meta_evaluate_memory(call, row));
  return fnzi_meta_evaluate_run(call, row);
}
