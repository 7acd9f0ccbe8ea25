/* backend.c - the CPU backend and the meta backend: one walk from a call to its results, with the
 * table of kernels.def as the only thing that knows operators. */
#include "kernels/cpu/cpu.h"

#include <unistd.h>

static const fnzi_kernel kernels[] = {
#define KERNEL(op, accepts, memory, shape, run)                                                    \
  {op, FNZI_ACCEPTS_##accepts, FNZI_MEMORY_##memory, fnzi_shape_##shape, fnzi_kernel_##run},
#include "kernels/kernels.def"
#undef KERNEL
};
enum { KERNEL_COUNT = sizeof kernels / sizeof *kernels, NO_ROW = UINT16_MAX };

const fnzi_kernel *fnzi_kernel_find(const fnz_op *op) {
  for (size_t i = 0; i < KERNEL_COUNT; i++)
    if (strcmp(kernels[i].op, op->name) == 0)
      return &kernels[i];
  return NULL;
}

bool fnz_cpu_has_kernel(const fnz_op *op) {
  const fnz_op *element = op ? fnzi_foreach_element(op) : NULL;
  return op && (fnzi_kernel_find(op) || (element && fnzi_kernel_find(element)));
}

typedef struct machine {
  fnz_backend base;
  fnz_context *ctx;
  int threads;
  bool has_data;
  uint16_t *rows; /* by index of the operator: its row, or NO_ROW */
} machine;

/* Custom operators are not in the table and have no row. */
static const fnzi_kernel *row_of(const machine *m, const fnz_op *op) {
  uintptr_t at = (uintptr_t)op, first = (uintptr_t)fnzi_ops;
  if (at < first || at >= first + fnz_op_count() * sizeof *fnzi_ops)
    return NULL;
  uint16_t row = m->rows[op - fnzi_ops];
  return row == NO_ROW ? NULL : &kernels[row];
}

/* --- Arguments --------------------------------------------------------------------------- */
static bool is_number(const fnz_arg *arg) {
  return arg->tag == FNZ_ARG_INT || arg->tag == FNZ_ARG_FLOAT || arg->tag == FNZ_ARG_BOOL ||
         arg->tag == FNZ_ARG_COMPLEX;
}

/* Pointwise operators take a number for a tensor, as exported programs give it. */
static bool takes_number(const fnzi_kernel *row, const fnzi_param *param) {
  return row->shape == fnzi_shape_point ||
         (row->memory == FNZI_MEMORY_POINT && strcmp(param->name, "value") == 0);
}

static fnz_status check_tensor(const fnzi_call *call, const fnzi_kernel *row,
                               const fnzi_param *param, const fnz_arg *arg, bool optional) {
  if (arg->tag == FNZ_ARG_VALUE && arg->u.value)
    return FNZ_OK;
  if (arg->tag == FNZ_ARG_NONE && optional)
    return FNZ_OK;
  if (is_number(arg) && takes_number(row, param))
    return FNZ_OK;
  return fnzi_refuse(call, FNZ_CLASS_TYPE, "argument %s must be a tensor", param->name);
}

static fnz_status check_tensors(const fnzi_call *call, const fnzi_kernel *row,
                                const fnzi_param *param, const fnz_arg *arg) {
  if (!param->is_list)
    return check_tensor(call, row, param, arg, param->optional || param->item_optional);
  if (arg->tag == FNZ_ARG_NONE && param->optional)
    return FNZ_OK;
  if (arg->tag != FNZ_ARG_LIST)
    return fnzi_refuse(call, FNZ_CLASS_TYPE, "argument %s must be a list of tensors", param->name);
  for (uint32_t i = 0; i < arg->count; i++)
    FNZ_TRY(check_tensor(call, row, param, &arg->u.list[i], param->item_optional));
  return FNZ_OK;
}

static fnz_status check_arg(const fnzi_call *call, const fnzi_kernel *row, const fnzi_param *param,
                            const fnz_arg *arg) {
  if (param->type == FNZI_TYPE_TENSOR)
    return check_tensors(call, row, param, arg);
  if (arg->tag == FNZ_ARG_SYMBOL)
    return fnzi_refuse(call, FNZ_CLASS_UNSUPPORTED,
                       "argument %s is a symbolic number; give it a value", param->name);
  if (arg->tag == FNZ_ARG_VALUE)
    return fnzi_refuse(call, FNZ_CLASS_TYPE, "argument %s must not be a tensor", param->name);
  if (arg->tag == FNZ_ARG_DEFAULT && !param->optional)
    return fnzi_refuse(call, FNZ_CLASS_TYPE, "argument %s is missing", param->name);
  if (param->type == FNZI_TYPE_SCALAR && !param->is_list && !is_number(arg) &&
      !(param->optional && (arg->tag == FNZ_ARG_NONE || arg->tag == FNZ_ARG_DEFAULT)))
    return fnzi_refuse(call, FNZ_CLASS_TYPE, "argument %s must be a number", param->name);
  return FNZ_OK;
}

static fnz_status take_args(fnzi_call *call, const fnzi_kernel *row, const fnz_request *from) {
  const fnz_op *op = call->op;
  fnz_arg *args;
  if (from->nargs > op->nparams)
    return fnzi_refuse(call, FNZ_CLASS_TYPE, "%zu arguments given, at most %u taken", from->nargs,
                       (unsigned)op->nparams);
  FNZI_NEW(&call->scratch, op->nparams, &args);
  for (size_t i = 0; i < op->nparams; i++) {
    args[i] = fnzi_arg_get(op, from->args, from->nargs, i);
    if (args[i].tag == FNZ_ARG_DEFAULT && op->params[i].optional)
      args[i].tag = FNZ_ARG_NONE;
    FNZ_TRY(check_arg(call, row, &op->params[i], &args[i]));
  }
  call->args = args;
  return FNZ_OK;
}

/* --- Element types ----------------------------------------------------------------------- */
static bool accepted(fnzi_accepts accepts, fnz_dtype d) {
  char category = fnzi_dtype(d)->category;
  bool standard = d <= FNZ_F64 || d == FNZ_C64;
  switch (accepts) {
  case FNZI_ACCEPTS_ANY:
    return true;
  case FNZI_ACCEPTS_STANDARD:
    return standard;
  case FNZI_ACCEPTS_REAL:
    return standard && category != 'c';
  case FNZI_ACCEPTS_INTEGRAL:
    return standard && category != 'c' && category != 'f';
  case FNZI_ACCEPTS_FLOAT:
    return standard && category == 'f';
  }
  return false;
}

static fnz_status check_dtype(const fnzi_call *call, const fnzi_kernel *row, fnz_dtype d,
                              const char *what) {
  if (accepted(row->accepts, d))
    return FNZ_OK;
  return fnzi_refuse(call, FNZ_CLASS_UNSUPPORTED, "there is no kernel for %s of type %s", what,
                     fnzi_dtype(d)->name);
}

static fnz_status check_inputs(const fnzi_call *call, const fnzi_kernel *row) {
  const fnz_arg *first = call->op->nparams ? &call->args[0] : NULL;
  if (first && first->tag == FNZ_ARG_LIST && first->count)
    first = &first->u.list[0];
  fnzi_array *array = fnzi_arg_array(first);
  return array ? check_dtype(call, row, array->geometry.dtype, "an argument") : FNZ_OK;
}

static fnz_status check_outputs(const fnzi_call *call, const fnzi_kernel *row) {
  for (size_t k = 0; k < call->noutputs; k++)
    if (call->outputs[k])
      FNZ_TRY(check_dtype(call, row, call->outputs[k]->geometry.dtype, "a result"));
  return FNZ_OK;
}

/* --- Memory of results ------------------------------------------------------------------- */
/* Nobody else sees the array's memory, and its elements lie there without gaps. */
static bool may_reuse(const fnz_arg *arg, const fnzi_array *out) {
  fnzi_array *a = fnzi_arg_array(arg);
  return a && (arg->flags & FNZ_ARG_LAST_USE) && a->storage->refs == 1 &&
         a->place.dtype == out->place.dtype && fnzi_same_sizes(&a->place, &out->place) &&
         fnzi_is_dense(&a->place);
}

static fnz_status reuse_any(fnzi_call *call, fnzi_array *out) {
  for (size_t i = 0; i < call->op->nparams; i++)
    if (may_reuse(&call->args[i], out)) {
      fnzi_array *a = fnzi_arg_array(&call->args[i]);
      return fnzi_array_share(call->ctx, out, a->storage, &a->place);
    }
  return fnzi_array_allocate(call->ctx, out, false);
}

typedef struct seeker {
  uint64_t value;
  size_t seen;
} seeker;

static fnz_status count_value(void *user, const fnz_arg *arg) {
  seeker *s = user;
  s->seen += arg->tag == FNZ_ARG_VALUE && arg->u.value == s->value;
  return FNZ_OK;
}

/* The argument is the only one of the call with this value. */
static bool appears_once(const fnzi_call *call, const fnz_arg *arg) {
  seeker s = {arg->u.value, 0};
  return fnzi_args_visit(call->args, call->op->nparams, count_value, &s) == FNZ_OK && s.seen == 1;
}

static fnz_status start_from_base(fnzi_call *call, fnzi_array *out) {
  const fnz_arg *arg = &call->args[0];
  fnzi_array *base = fnzi_arg_array(arg);
  if (!base)
    return fnzi_array_allocate(call->ctx, out, true);
  if (may_reuse(arg, out) && appears_once(call, arg))
    return fnzi_array_share(call->ctx, out, base->storage, &base->place);
  FNZ_TRY(fnzi_array_allocate(call->ctx, out, false));
  return fnzi_assign(call, out, base);
}

static fnz_status take_memory(fnzi_call *call, const fnzi_kernel *row) {
  for (size_t k = 0; k < call->noutputs; k++) {
    fnzi_array *out = call->outputs[k];
    if (!out || row->memory == FNZI_MEMORY_VIEW)
      continue;
    if (row->memory == FNZI_MEMORY_POINT)
      FNZ_TRY(reuse_any(call, out));
    else if (row->memory == FNZI_MEMORY_BASE && k == 0)
      FNZ_TRY(start_from_base(call, out));
    else
      FNZ_TRY(fnzi_array_allocate(call->ctx, out, false));
  }
  return FNZ_OK;
}

/* --- One call ---------------------------------------------------------------------------- */
static fnz_status run_kernel(fnzi_call *call, const fnzi_kernel *row, const fnz_request *from) {
  FNZ_TRY(take_args(call, row, from));
  FNZ_TRY(check_inputs(call, row));
  FNZ_TRY(row->shape(call));
  if (!call->has_data)
    return FNZ_OK;
  FNZ_TRY(check_outputs(call, row));
  FNZ_TRY(take_memory(call, row));
  FNZ_TRY(row->run(call));
  return fnzi_results_finish(call);
}

static void release_outputs(fnzi_call *call) {
  for (size_t k = 0; k < call->noutputs; k++)
    fnzi_array_release(call->ctx, call->outputs[k]);
}

static fnz_status call_kernel(machine *m, fnz_context *ctx, const fnzi_kernel *row,
                              const fnz_request *from, fnz_handle *outputs, size_t capacity,
                              size_t *count) {
  fnzi_call call = {.ctx = ctx, .op = from->op, .expected = from->expected};
  fnz_status status = FNZ_OK;
  call.nexpected = from->expected ? capacity : 0;
  call.capacity = capacity;
  call.threads = m->threads;
  call.has_data = m->has_data;
  fnzi_arena_init(&call.scratch, ctx);
  void *room = NULL;
  status = fnzi_arena_alloc(&call.scratch, capacity, sizeof *call.outputs, &room);
  call.outputs = room;
  if (status == FNZ_OK)
    status = run_kernel(&call, row, from);
  if (status != FNZ_OK)
    release_outputs(&call);
  for (size_t k = 0; status == FNZ_OK && k < call.noutputs; k++)
    outputs[k] = fnzi_array_handle(call.outputs[k]);
  *count = status == FNZ_OK ? call.noutputs : 0;
  fnzi_arena_free(&call.scratch);
  return status;
}

/* --- Lists: the operator of the elements, one element after the other -------------------- */
static fnz_status refuse_lists(fnz_context *ctx, const fnz_op *op) {
  return fnzi_fail(ctx, FNZ_CLASS_TYPE, NULL, "%s: the lists have different lengths", op->name);
}

/* A tensor that holds one number per element, where the element's operator takes a number. */
static fnz_status number_of(fnz_context *ctx, const fnz_op *op, const fnzi_array *a, uint32_t i,
                            fnz_arg *out) {
  double value = 0;
  if (!a || !a->storage || a->place.rank != 1 || (int64_t)i >= a->place.sizes[0] ||
      !fnzi_can_convert(FNZ_F64, a->place.dtype))
    return refuse_lists(ctx, op);
  fnzi_convert(FNZ_F64, &value, 0, a->place.dtype,
               fnzi_array_data(a) + i * a->place.strides[0] * (int64_t)a->cell, 0, 1);
  *out = (fnz_arg){.tag = FNZ_ARG_FLOAT, .u.f = value};
  return FNZ_OK;
}

/* The memory of a value that another element reads as well must stay. */
static void keep_shared(const fnz_request *from, fnz_arg *arg) {
  seeker s = {arg->u.value, 0};
  if (arg->tag == FNZ_ARG_VALUE && (arg->flags & FNZ_ARG_LAST_USE) &&
      (fnzi_args_visit(from->args, from->nargs, count_value, &s) != FNZ_OK || s.seen != 1))
    arg->flags = 0;
}

static fnz_status element_args(fnz_context *ctx, const fnz_request *from, const fnz_op *element,
                               uint32_t i, fnz_arg *args) {
  for (size_t k = 0; k < from->nargs && k < element->nparams; k++) {
    args[k] = from->args[k];
    if (args[k].tag == FNZ_ARG_LIST && !element->params[k].is_list) {
      if (i >= args[k].count)
        return refuse_lists(ctx, from->op);
      args[k] = from->args[k].u.list[i];
      keep_shared(from, &args[k]);
    } else if (args[k].tag == FNZ_ARG_VALUE) {
      args[k].flags = 0;
      if (element->params[k].type != FNZI_TYPE_TENSOR)
        FNZ_TRY(number_of(ctx, from->op, fnzi_arg_array(&args[k]), i, &args[k]));
    }
  }
  return FNZ_OK;
}

static fnz_status apply_element(machine *m, fnz_context *ctx, const fnz_request *from,
                                const fnz_op *element, uint32_t i, fnz_handle *output) {
  fnz_arg args[16];
  size_t count, nargs = from->nargs < element->nparams ? from->nargs : element->nparams;
  if (nargs > sizeof args / sizeof *args)
    return refuse_lists(ctx, from->op);
  FNZ_TRY(element_args(ctx, from, element, i, args));
  fnz_request one = {element, args, nargs, from->expected ? from->expected + i : NULL,
                     from->source};
  return call_kernel(m, ctx, row_of(m, element), &one, output, 1, &count);
}

static void release_value(void *self, fnz_handle value) {
  machine *m = self;
  fnzi_array_release(m->ctx, fnzi_array_of(value));
}

static fnz_status apply_list(machine *m, fnz_context *ctx, const fnz_request *from,
                             const fnz_op *element, fnz_handle *outputs, size_t capacity,
                             size_t *count) {
  uint32_t length = 0;
  for (size_t k = 0; k < from->nargs; k++)
    if (from->args[k].tag == FNZ_ARG_LIST && from->args[k].count > length)
      length = from->args[k].count;
  if (length > capacity)
    return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL, "%s: %u results, but room for %zu",
                     from->op->name, length, capacity);
  for (*count = 0; *count < length; ++*count) {
    fnz_status status = apply_element(m, ctx, from, element, (uint32_t)*count, &outputs[*count]);
    if (status == FNZ_OK)
      continue;
    while (*count > 0)
      release_value(m, outputs[--*count]);
    return status;
  }
  return FNZ_OK;
}

static fnz_status apply(void *self, fnz_context *ctx, const fnz_request *call, fnz_handle *outputs,
                        size_t capacity, size_t *count) {
  machine *m = self;
  *count = 0;
  if (!call->op)
    return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL, "a call needs an operator");
  const fnzi_kernel *row = row_of(m, call->op);
  if (row)
    return call_kernel(m, ctx, row, call, outputs, capacity, count);
  const fnz_op *element = fnzi_foreach_element(call->op);
  if (element && row_of(m, element))
    return apply_list(m, ctx, call, element, outputs, capacity, count);
  return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, NULL, "%s: there is no CPU kernel for this operator",
                   call->op->name);
}

/* --- Values in and out ------------------------------------------------------------------- */
static const fnz_geometry *geometry(void *self, fnz_handle value) {
  (void)self;
  return &fnzi_array_of(value)->geometry;
}

static size_t cell_bytes(void *self, fnz_dtype dtype) {
  (void)self;
  return fnzi_dtype(dtype)->bytes;
}

static fnz_status fill_in(fnz_context *ctx, fnzi_array *a, const void *cells, int threads) {
  int64_t strides[FNZ_MAX_RANK];
  const fnz_geometry *g = &a->place;
  FNZ_TRY(fnzi_array_allocate(ctx, a, false));
  fnzi_contiguous_strides(g->sizes, g->rank, strides);
  fnzi_copy_cells(g->rank, g->sizes, fnzi_array_data(a), g->strides, cells, strides, a->cell,
                  threads);
  return FNZ_OK;
}

static fnz_status upload(void *self, fnz_context *ctx, const fnz_geometry *g, const void *cells,
                         fnz_handle *out) {
  machine *m = self;
  fnzi_array *a;
  *out = 0;
  FNZ_TRY(fnzi_array_create(ctx, g, fnzi_dtype(g->dtype)->bytes, &a));
  fnz_status status = m->has_data ? fill_in(ctx, a, cells, m->threads) : FNZ_OK;
  if (status != FNZ_OK) {
    fnzi_array_release(ctx, a);
    return status;
  }
  *out = fnzi_array_handle(a);
  return FNZ_OK;
}

static fnz_status download(void *self, fnz_context *ctx, fnz_handle value, void *cells) {
  machine *m = self;
  const fnzi_array *a = fnzi_array_of(value);
  const fnz_geometry *g = &a->place;
  int64_t strides[FNZ_MAX_RANK];
  if (!m->has_data)
    return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "values of the meta backend have no elements to download");
  fnzi_contiguous_strides(g->sizes, g->rank, strides);
  fnzi_copy_cells(g->rank, g->sizes, cells, strides, fnzi_array_data(a), g->strides, a->cell,
                  m->threads);
  return FNZ_OK;
}

/* --- Making and ending ------------------------------------------------------------------- */
static void destroy(void *self) {
  machine *m = self;
  fnz_context *ctx = m->ctx;
  fnzi_free(ctx, m->rows, fnz_op_count() * sizeof *m->rows);
  fnzi_free(ctx, m, sizeof *m);
}

static void index_rows(uint16_t *rows) {
  for (size_t i = 0; i < fnz_op_count(); i++)
    rows[i] = NO_ROW;
  for (size_t i = 0; i < KERNEL_COUNT; i++) {
    const fnz_op *op = fnz_op_find(kernels[i].op);
    if (op)
      rows[op - fnzi_ops] = (uint16_t)i;
  }
}

static fnz_status create(fnz_context *ctx, const char *name, int threads, bool has_data,
                         fnz_backend **out) {
  *out = NULL;
  machine *m = fnzi_resize(ctx, NULL, 0, sizeof *m);
  if (!m)
    return fnzi_no_memory(ctx);
  uint16_t *rows = fnzi_resize(ctx, NULL, 0, fnz_op_count() * sizeof *rows);
  if (!rows) {
    fnzi_free(ctx, m, sizeof *m);
    return fnzi_no_memory(ctx);
  }
  index_rows(rows);
  *m = (machine){.ctx = ctx, .threads = threads, .has_data = has_data, .rows = rows};
  m->base = (fnz_backend){.size = sizeof m->base,
                          .name = name,
                          .self = m,
                          .apply = apply,
                          .release = release_value,
                          .geometry = geometry,
                          .upload = upload,
                          .download = download,
                          .cell_bytes = cell_bytes,
                          .destroy = destroy};
  *out = &m->base;
  return FNZ_OK;
}

fnz_status fnz_cpu_backend_create(fnz_context *ctx, int threads, fnz_backend **out) {
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  int all = cores > 0 && cores < 1024 ? (int)cores : 1;
  return create(ctx, "cpu", threads > 0 ? threads : all, true, out);
}

fnz_status fnz_meta_backend_create(fnz_context *ctx, fnz_backend **out) {
  return create(ctx, "meta", 1, false, out);
}

void fnz_backend_destroy(fnz_backend *backend) {
  if (backend)
    backend->destroy(backend->self);
}
