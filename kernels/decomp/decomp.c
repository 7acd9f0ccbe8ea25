/* decomp.c - see decomp.h. */
#include "kernels/decomp/decomp.h"
#include "kernels/meta/evaluate.h"
#include "views/composites.h"

#include <stdio.h>

/* --- The decomposition
 * ------------------------------------------------------------------------------- */
fnz_status fnzi_dec_run(fnzi_krn_call *call, fnzi_dec_fn *decompose) {
  fnzi_dec_steps s = {.call = call, .script = call->script};
  fnzi_arena_init(&s.scratch, call->ctx);
  decompose(&s);
  for (size_t i = 0; i < s.made.count; i++)
    fnzi_krn_array_release(call->ctx, s.made.data[i]);
  FNZI_VEC_FREE(call->ctx, &s.made);
  fnzi_arena_free(&s.scratch);
  return s.status;
}

bool fnzi_dec_is_open(const fnzi_dec_steps *s, const char *name) {
  const int param = s->script ? fnzi_op_param(s->call->op, name) : -1;
  return param >= 0 && param < 64 && s->script->open >> param & 1;
}

bool fnzi_dec_can_look(fnzi_dec_steps *s) {
  if (s->script)
    fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED,
                    "it looks at elements, so it cannot be written down as steps");
  return s->status == FNZ_OK && s->call->has_data;
}

void fnzi_dec_refuse(fnzi_dec_steps *s, fnz_class kind, const char *format, ...) {
  char text[sizeof s->call->ctx->error.message];
  va_list list;
  if (s->status != FNZ_OK)
    return;
  va_start(list, format);
  (void)vsnprintf(text, sizeof text, format, list);
  va_end(list);
  s->status = fnzi_krn_call_refuse(s->call, kind, "%s", text);
}

void fnzi_dec_need_floats(fnzi_dec_steps *s, const char *name, fnz_dtype dtype) {
  if (!fnzi_is_float(dtype))
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "%s is %s; it must be of floats", name,
                    fnzi_dtype(dtype)->name);
}

static fnz_status keep(fnzi_dec_steps *s, fnzi_krn_array *a) {
  FNZI_PUSH(s->call->ctx, &s->made, a);
  return FNZ_OK;
}

void fnzi_dec_arrays_release(fnzi_dec_steps *s, size_t mark, fnzi_krn_array *const *kept,
                             size_t count) {
  size_t to = mark;
  if (s->script) /* which knows arrays by their addresses */
    return;
  for (size_t i = mark; i < s->made.count; i++) {
    bool stays = false;
    for (size_t k = 0; k < count; k++)
      stays = stays || kept[k] == s->made.data[i];
    if (stays)
      s->made.data[to++] = s->made.data[i];
    else
      fnzi_krn_array_release(s->call->ctx, s->made.data[i]);
  }
  s->made.count = to;
}

/* --- Arguments -------------------------------------------------------------------------------- */
static void *room_of(fnzi_dec_steps *s, size_t count, size_t size) {
  void *room = NULL;
  if (s->status == FNZ_OK)
    s->status = fnzi_arena_alloc(&s->call->scratch, count, size, &room);
  return s->status == FNZ_OK ? room : NULL;
}

fnz_arg *fnzi_dec_args_room(fnzi_dec_steps *s, size_t count) {
  return room_of(s, count, sizeof(fnz_arg));
}

fnzi_krn_array **fnzi_dec_arrays_room(fnzi_dec_steps *s, size_t count) {
  return room_of(s, count, sizeof(fnzi_krn_array *));
}

static fnz_arg decomp_list_of(const fnz_arg *at, size_t count) {
  return (fnz_arg){.tag = at ? FNZ_ARG_LIST : FNZ_ARG_NONE, .count = (uint32_t)count, .u.list = at};
}

fnz_arg fnzi_dec_ints(fnzi_dec_steps *s, const int64_t *ints, size_t count) {
  fnz_arg *at = room_of(s, count, sizeof *at);
  for (size_t i = 0; at && i < count; i++)
    at[i] = I(ints[i]);
  return decomp_list_of(at, count);
}

fnz_arg fnzi_dec_values(fnzi_dec_steps *s, fnzi_krn_array *const *arrays, size_t count) {
  fnz_arg *at = room_of(s, count, sizeof *at);
  for (size_t i = 0; at && i < count; i++)
    at[i] = V(arrays[i]);
  return decomp_list_of(at, count);
}

/* --- Steps ------------------------------------------------------------------------------------ */
static fnz_status do_step(fnzi_dec_steps *s, const fnz_request *from, fnzi_krn_array **out,
                          size_t capacity, size_t *count) {
  const fnz_op *op = from->op;
  const fnzi_kernel *row = fnzi_kernel_find(s->call->kernels, op);
  fnzi_krn_call call = {.ctx = s->call->ctx,
                        .stock = s->call->stock,
                        .scratch = s->scratch,
                        .op = op,
                        .asked = s->call->asked ? s->call->asked : s->call->op,
                        .kernels = s->call->kernels,
                        .outputs = out,
                        .capacity = capacity,
                        .expected = from->expected,
                        .nexpected = from->expected ? 1 : 0,
                        .target = FNZ_DTYPE_COUNT,
                        .warning = s->call->warning,
                        .team = s->call->team,
                        .has_data = s->call->has_data};
  *count = 0;
  if (!row || (row->run == FNZI_RUN_decomposed && !s->script)) /* none is run as part of another */
    return fnzi_krn_call_refuse(s->call, FNZ_CLASS_INTERNAL, "its part %s has no kernel of its own",
                                op->name);
  fnz_status status = fnzi_meta_evaluate_request(&call, row, from);
  if (status == FNZ_OK && s->script)
    status = fnzi_dec_script_step(s->script, s->call, from, &call);
  if (status != FNZ_OK)
    fnzi_meta_outputs_release(&call);
  *count = call.noutputs;
  fnzi_arena_reset(&call.scratch);
  s->scratch = call.scratch;
  return status;
}

static void step_into(fnzi_dec_steps *s, const fnz_request *from, fnzi_krn_array **out,
                      size_t count) {
  enum { MOST = 64 };
  fnzi_krn_array *few[MOST], **made = few;
  size_t n, capacity = count > MOST ? count : MOST;
  memset(out, 0, count * sizeof *out);
  if (count > MOST)
    made = fnzi_dec_arrays_room(s, count);
  if (s->status != FNZ_OK)
    return;
  s->status = do_step(s, from, made, capacity, &n);
  const size_t owned = s->status == FNZ_OK ? n : 0;
  for (size_t i = 0; i < owned; i++) {
    if (s->status == FNZ_OK && made[i])
      s->status = keep(s, made[i]);
    if (s->status != FNZ_OK)
      fnzi_krn_array_release(s->call->ctx, made[i]);
  }
  if (s->status == FNZ_OK && n < count)
    fnzi_dec_refuse(s, FNZ_CLASS_INTERNAL, "%s has %zu results, %zu are needed", from->op->name, n,
                    count);
  for (size_t i = 0; s->status == FNZ_OK && i < count; i++)
    out[i] = made[i];
}

void fnzi_dec_step_into(fnzi_dec_steps *s, size_t op, const fnz_arg *args, size_t nargs,
                        fnzi_krn_array **out, size_t count) {
  const fnz_request from = {&fnzi_ops[op], args, nargs, NULL, ""};
  step_into(s, &from, out, count);
}

fnzi_krn_array *fnzi_dec_step_as_given(fnzi_dec_steps *s, size_t op, const fnz_arg *args,
                                       size_t nargs) {
  const fnz_request from = {.op = &fnzi_ops[op],
                            .args = args,
                            .nargs = nargs,
                            .source = "",
                            .expected =
                                s->script && s->script->nexpected ? s->script->expected : NULL};
  fnzi_krn_array *made;
  step_into(s, &from, &made, 1);
  return made;
}

fnzi_krn_array *fnzi_dec_step(fnzi_dec_steps *s, size_t op, const fnz_arg *args, size_t nargs) {
  fnzi_krn_array *made;
  fnzi_dec_step_into(s, op, args, nargs, &made, 1);
  return made;
}

fnzi_krn_array *fnzi_dec_reshaped(fnzi_dec_steps *s, fnzi_krn_array *a, const int64_t *sizes,
                                  size_t rank) {
  if (a && !fnzi_is_contiguous(&a->geometry))
    a = STEP(clone, V(a), (fnz_arg){.tag = FNZ_ARG_MEMORY_FORMAT, .u.i = 1});
  return STEP(view, V(a), fnzi_dec_ints(s, sizes, rank));
}

bool fnzi_dec_has_sizes(const fnzi_krn_array *a, const int64_t *sizes, size_t rank) {
  return fnzi_dec_array_rank(a) == rank &&
         (!rank || memcmp(a->geometry.sizes, sizes, rank * sizeof *sizes) == 0);
}

fnzi_krn_array *fnzi_dec_viewed(fnzi_dec_steps *s, fnzi_krn_array *a, const int64_t *sizes,
                                size_t rank) {
  fnzi_int wanted[FNZ_MAX_RANK], strides[FNZ_MAX_RANK];
  if (!a || fnzi_dec_has_sizes(a, sizes, rank))
    return a;
  for (size_t d = 0; d < rank && d < FNZ_MAX_RANK; d++)
    wanted[d] = fnzi_int_of(sizes[d]);
  if (rank <= FNZ_MAX_RANK &&
      !fnzi_view_strides(NULL, &a->geometry, wanted, (uint32_t)rank, strides))
    a = STEP(clone, V(a), CONTIGUOUS_FORMAT);
  return STEP(view, V(a), fnzi_dec_ints(s, sizes, rank));
}

fnzi_krn_array *fnzi_dec_zeros_of(fnzi_dec_steps *s, const char *sizes) {
  return STEP(zeros, *fnzi_krn_named(s->call, sizes),
              DTYPE(fnzi_dec_array_dtype(fnzi_krn_call_input(s->call, 0))));
}

fnzi_krn_array *fnzi_dec_along(fnzi_dec_steps *s, fnzi_krn_array *a, int64_t dim, size_t rank) {
  int64_t sizes[FNZ_MAX_RANK];
  for (size_t d = 0; d < rank; d++)
    sizes[d] = (int64_t)d == dim ? fnzi_dec_array_numel(a) : 1;
  return fnzi_dec_reshaped(s, a, sizes, rank);
}

void fnzi_dec_broadcast_both(fnzi_dec_steps *s, fnzi_krn_array **a, fnzi_krn_array **b) {
  int64_t sizes[FNZ_MAX_RANK];
  uint32_t rank = 0;
  if (s->status == FNZ_OK)
    s->status = fnzi_meta_broadcast(
        s->call, (const fnz_geometry *const[]){&(*a)->geometry, &(*b)->geometry}, 2, &rank, sizes);
  *a = STEP(expand, V(*a), fnzi_dec_ints(s, sizes, rank));
  *b = STEP(expand, V(*b), fnzi_dec_ints(s, sizes, rank));
}

fnzi_krn_array *fnzi_part(fnzi_dec_steps *s, fnzi_krn_array *a, int64_t dim, int64_t start,
                          int64_t count) {
  return STEP(slice__Tensor, V(a), I(dim), I(start), I(start + count));
}

fnzi_krn_array *fnzi_dec_cat(fnzi_dec_steps *s, fnzi_krn_array *const *arrays, size_t count,
                             int64_t dim) {
  return STEP(cat, fnzi_dec_values(s, arrays, count), I(dim));
}

fnzi_krn_array *fnzi_dec_cast(fnzi_dec_steps *s, fnzi_krn_array *a, fnz_dtype dtype) {
  return !a || a->geometry.dtype == dtype ? a : STEP(_to_copy, V(a), DTYPE(dtype));
}

fnzi_krn_array *fnzi_dec_written_over(fnzi_dec_steps *s, const fnzi_krn_array *a,
                                      fnzi_krn_array *result) {
  fnz_dtype from = fnzi_dec_array_dtype(result), to = fnzi_dec_array_dtype(a);
  if (!fnzi_can_cast(from, to))
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE,
                    "it computes in place, and %s is not written into %s; cast to %s",
                    fnzi_dtype(from)->name, fnzi_dtype(to)->name, fnzi_dtype(from)->name);
  return fnzi_dec_cast(s, result, to);
}

fnzi_krn_array *fnzi_dec_by_reduction(fnzi_dec_steps *s, fnzi_krn_array *a) {
  enum { KEPT, MEAN };
  int64_t reduction = fnzi_krn_named_int(s->call, "reduction", MEAN);
  return reduction == KEPT ? a : reduction == MEAN ? STEP(mean, V(a)) : STEP(sum, V(a));
}

/* --- Asking ----------------------------------------------------------------------------------- */
size_t fnzi_dec_given_count(const fnzi_dec_steps *s, const char *name) {
  const fnz_arg *arg = fnzi_krn_named(s->call, name);
  return arg && arg->tag == FNZ_ARG_LIST ? arg->count : 0;
}

fnzi_krn_array *fnzi_dec_given_item(const fnzi_dec_steps *s, const char *name, size_t i) {
  return i < fnzi_dec_given_count(s, name)
             ? fnzi_krn_arg_array(&fnzi_krn_named(s->call, name)->u.list[i])
             : NULL;
}

fnz_arg fnzi_dec_number_at(fnzi_dec_steps *s, const fnzi_krn_array *a, int64_t i) {
  const double one[] = {1, 0};
  bool is_complex = fnzi_is_complex(fnzi_dec_array_dtype(a)),
       is_float = fnzi_is_float(fnzi_dec_array_dtype(a));
  fnz_dtype as = is_complex ? FNZ_C128 : is_float ? FNZ_F64 : FNZ_I64;
  const void *data = NULL;
  if (fnzi_dec_can_look(s))
    s->status = fnzi_krn_dense_get_as(s->call, a, as, &data);
  if (as == FNZ_I64)
    return I(data ? ((const int64_t *)data)[i] : 1);
  const double *at = data ? (const double *)data + (is_complex ? 2 * i : i) : one;
  if (!is_complex)
    return F(at[0]);
  fnz_arg *parts = room_of(s, 2, sizeof *parts);
  if (!parts)
    return NONE;
  parts[0] = F(at[0]);
  parts[1] = F(at[1]);
  return (fnz_arg){.tag = FNZ_ARG_COMPLEX, .count = 2, .u.list = parts};
}

int64_t fnzi_dec_array_size(const fnzi_krn_array *a, int64_t dim) {
  int64_t rank = fnzi_dec_array_rank(a), at = dim < 0 ? dim + rank : dim;
  return at >= 0 && at < rank ? a->geometry.sizes[at] : 0;
}

uint32_t fnzi_dec_given_dim(fnzi_dec_steps *s, const char *name, const fnzi_krn_array *a) {
  uint32_t rank = fnzi_dec_array_rank(a), dim = 0;
  int64_t given = fnzi_krn_named_int(s->call, name, 0);
  if (s->status == FNZ_OK && a)
    s->status = fnzi_wrap_dim(s->call->ctx, s->call->op->name, given, rank ? rank : 1, &dim);
  return s->status == FNZ_OK ? dim : 0;
}

/* --- Results ---------------------------------------------------------------------------------- */
void fnzi_dec_result_give(fnzi_dec_steps *s, fnzi_krn_array *a) {
  fnzi_krn_call *call = s->call;
  if (s->status != FNZ_OK)
    return;
  if (!a) {
    fnzi_dec_refuse(s, FNZ_CLASS_INTERNAL, "a result is missing");
    return;
  }
  const fnz_geometry *g = &a->geometry;
  if (s->script)
    s->status = fnzi_dec_script_result(s->script, call, a);
  if (s->status == FNZ_OK)
    s->status = fnzi_shape_add(call, g->dtype, g->rank, g->sizes, g->strides);
  if (s->status == FNZ_OK && call->has_data)
    s->status = fnzi_krn_result_take(call, call->noutputs - 1, a);
}

void fnzi_dec_result_none(fnzi_dec_steps *s) {
  fnzi_krn_call *call = s->call;
  if (call->noutputs == call->capacity)
    fnzi_dec_refuse(s, FNZ_CLASS_ARGUMENT, "there is room for %zu results only", call->capacity);
  if (s->status == FNZ_OK && s->script)
    s->status = fnzi_dec_script_result(s->script, call, NULL);
  if (s->status == FNZ_OK)
    call->outputs[call->noutputs++] = NULL;
}
