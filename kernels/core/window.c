/* window.c - parts of an array's memory: cutting them out, and moving elements between them. */
#include "kernels/core/window.h"
#include "kernels/core/convert.h"
#include "kernels/core/float8.h"

void fnzi_krn_window_of(const fnzi_krn_array *array, fnzi_krn_window *out) {
  const fnz_geometry *g = &array->window;
  out->dtype = g->dtype;
  out->rank = g->rank;
  out->cell = array->cell;
  out->data = fnzi_krn_array_data(array);
  for (uint32_t i = 0; i < g->rank; i++) {
    out->sizes[i] = g->sizes[i];
    out->strides[i] = g->strides[i];
  }
}

void fnzi_krn_window_lanes(const fnzi_krn_array *array, fnzi_krn_window *out) {
  fnzi_krn_window_of(array, out);
  if (out->rank == 0)
    fnzi_krn_window_insert(out, 0, 1, 1);
}

void fnzi_krn_loop_add_window(fnzi_krn_loop *loop, const fnzi_krn_window *w) {
  fnzi_krn_loop_add(loop, w->data, w->rank, w->sizes, w->strides, w->cell);
}

static void move_start(fnzi_krn_window *w, uint32_t dim, int64_t index) {
  w->data += index * w->strides[dim] * (int64_t)w->cell;
}

void fnzi_krn_window_narrow(fnzi_krn_window *w, uint32_t dim, int64_t start, int64_t count) {
  if (count > 0)
    move_start(w, dim, start);
  w->sizes[dim] = count;
}

void fnzi_krn_window_select(fnzi_krn_window *w, uint32_t dim, int64_t index) {
  move_start(w, dim, index);
  w->rank--;
  for (uint32_t i = dim; i < w->rank; i++) {
    w->sizes[i] = w->sizes[i + 1];
    w->strides[i] = w->strides[i + 1];
  }
}

void fnzi_krn_window_insert(fnzi_krn_window *w, uint32_t dim, int64_t size, int64_t stride) {
  for (uint32_t i = w->rank++; i > dim; i--) {
    w->sizes[i] = w->sizes[i - 1];
    w->strides[i] = w->strides[i - 1];
  }
  w->sizes[dim] = size;
  w->strides[dim] = stride;
}

void fnzi_krn_window_dense(fnzi_krn_window *out, fnz_dtype dtype, uint32_t rank,
                           const int64_t *sizes, const void *data) {
  out->dtype = dtype;
  out->rank = rank;
  out->cell = fnzi_dtype(dtype)->bytes;
  out->data = (unsigned char *)(uintptr_t)data;
  for (uint32_t i = 0; i < rank; i++)
    out->sizes[i] = sizes[i];
  fnzi_contiguous_strides(sizes, rank, out->strides);
}

static void window_permute(fnzi_krn_window *w, const uint32_t *order) {
  const fnzi_krn_window old = *w;
  for (uint32_t d = 0; d < w->rank; d++) {
    w->sizes[d] = old.sizes[order[d]];
    w->strides[d] = old.strides[order[d]];
  }
}

void fnzi_krn_windows_in_order(const fnz_geometry *target, const fnz_geometry *source,
                               fnzi_krn_window *to, fnzi_krn_window *from) {
  uint32_t order[FNZ_MAX_RANK];
  fnzi_loop_order(target, &source, 1, order);
  window_permute(to, order);
  window_permute(from, order);
}

void fnzi_krn_window_number(const fnz_arg *number, fnz_dtype dtype, unsigned char *room,
                            fnzi_krn_window *out) {
  memset(room, 0, 16);
  /* Zero bytes are the zero of every element type, or what eager makes of it. */
  if (!fnzi_krn_can_convert(dtype, FNZ_C128) &&
      (number->tag == FNZ_ARG_COMPLEX || number->u.i != 0))
    dtype = FNZ_C128;
  fnzi_krn_number_cell(number, dtype, room);
  out->dtype = dtype;
  out->rank = 0;
  out->cell = fnzi_dtype(dtype)->bytes;
  out->data = room;
}

fnz_status fnzi_krn_window_argument(fnzi_krn_call *call, const fnz_arg *number, fnz_dtype dtype,
                                    unsigned char *room, fnzi_krn_window *out) {
  for (uint32_t k = 0; call->record && k < call->op->nparams; k++)
    if (number == &call->args[k] && (call->by_data >> k & 1))
      return call->record->number(call->record->user, k, dtype, out);
  fnzi_krn_window_number(number, dtype, room, out);
  return FNZ_OK;
}

fnz_status fnzi_krn_refuse_conversion(const fnzi_krn_call *call, fnz_dtype to, fnz_dtype from) {
  return fnzi_krn_call_refuse(call, FNZ_CLASS_UNSUPPORTED, "%s cannot be converted to %s here",
                              fnzi_dtype(from)->name, fnzi_dtype(to)->name);
}

fnz_status fnzi_krn_window_item(fnzi_krn_call *call, const fnz_arg *value, fnz_dtype dtype,
                                unsigned char *room, fnzi_krn_window *out) {
  const fnzi_krn_array *a = fnzi_krn_arg_array(value);
  fnz_arg number = {.tag = FNZ_ARG_FLOAT}, parts[2] = {number, number};
  if (!a)
    return fnzi_krn_window_argument(call, value, dtype, room, out);
  fnz_dtype from = a->window.dtype;
  if (!fnzi_krn_can_convert(dtype, from) ||
      (call->record && fnzi_is_complex(from) && !fnzi_is_complex(dtype)))
    return fnzi_krn_refuse_conversion(call, dtype, from);
  if (call->record) {
    fnzi_krn_window_of(a, out);
    return FNZ_OK;
  }
  const void *cell = fnzi_krn_array_data(a);
  if (fnzi_is_complex(from)) {
    double both[2];
    fnzi_krn_convert_one(FNZ_C128, both, from, cell);
    if (both[1] != 0 && !fnzi_is_complex(dtype))
      return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "value has an imaginary part, self is %s",
                                  fnzi_dtype(dtype)->name);
    parts[0].u.f = both[0], parts[1].u.f = both[1];
    number = (fnz_arg){.tag = FNZ_ARG_COMPLEX, .count = 2, .u.list = parts};
  } else if (fnzi_is_float(from) || fnzi_krn_is_float8(from)) {
    fnzi_krn_convert_one(FNZ_F64, &number.u.f, from, cell);
  } else {
    number.tag = FNZ_ARG_INT;
    fnzi_krn_convert_one(FNZ_I64, &number.u.i, from, cell);
  }
  fnzi_krn_window_number(&number, dtype, room, out);
  return FNZ_OK;
}

typedef struct pair {
  fnz_dtype to, from;
} pair;

static void convert_row(const void *user, char *const *data, const int64_t *strides,
                        int64_t count) {
  const pair *p = user;
  fnzi_krn_convert(&(fnzi_krn_conversion){p->to, p->from, strides[0], strides[1]}, data[0], data[1],
                   count);
}

static void cast_row(const void *user, char *const *data, const int64_t *strides, int64_t count) {
  const pair *p = user;
  fnzi_krn_cast(&(fnzi_krn_conversion){p->to, p->from, strides[0], strides[1]}, data[0], data[1],
                count);
}

static fnz_status assign(fnzi_krn_call *call, const fnzi_krn_window *to,
                         const fnzi_krn_window *from, fnzi_row_fn *row, bool ordered) {
  pair p = {to->dtype, from->dtype};
  fnzi_krn_loop loop;
  if (!fnzi_krn_can_convert(p.to, p.from))
    return fnzi_krn_refuse_conversion(call, p.to, p.from);
  if (call->record)
    return call->record->move(call->record->user, to, from, row == cast_row);
  fnzi_krn_loop_start(&loop, to->rank, to->sizes);
  fnzi_krn_loop_add_window(&loop, to);
  fnzi_krn_loop_add_window(&loop, from);
  if (p.to == p.from && !ordered)
    fnzi_krn_loop_copy(&loop, fnzi_dtype(p.to)->bytes, call->team);
  else
    fnzi_krn_loop_run(&loop, row, &p, call->team, ordered);
  return FNZ_OK;
}

fnz_status fnzi_krn_window_assign(fnzi_krn_call *call, const fnzi_krn_window *to,
                                  const fnzi_krn_window *from, bool ordered) {
  return assign(call, to, from, convert_row, ordered);
}

fnz_status fnzi_krn_array_assign(fnzi_krn_call *call, const fnzi_krn_array *to,
                                 const fnzi_krn_array *from) {
  const fnzi_krn_elsewhere *e = to->stock->elsewhere;
  fnzi_krn_window target, source;
  if (e)
    return e->assign(e->self, call->ctx, to, from);
  fnzi_krn_window_of(to, &target);
  fnzi_krn_window_of(from, &source);
  return fnzi_krn_window_assign(call, &target, &source, false);
}

fnz_status fnzi_krn_array_fill(fnzi_krn_call *call, const fnzi_krn_array *to,
                               const fnz_arg *number) {
  fnzi_krn_window target, value;
  unsigned char room[16];
  fnzi_krn_window_of(to, &target);
  FNZ_TRY(fnzi_krn_window_argument(call, number, target.dtype, room, &value));
  return fnzi_krn_window_assign(call, &target, &value, false);
}

fnz_status fnzi_krn_result_take(fnzi_krn_call *call, size_t k, const fnzi_krn_array *from) {
  fnzi_krn_array *out = call->outputs[k];
  if (out->window.dtype == from->window.dtype && fnzi_same_sizes(&out->window, &from->window))
    return fnzi_krn_array_share(call->ctx, out, from->storage, &from->window);
  if (!out->storage)
    FNZ_TRY(fnzi_krn_array_allocate(call->ctx, out, false));
  fnzi_krn_window target, source;
  fnzi_krn_window_of(out, &target);
  fnzi_krn_window_of(from, &source);
  return assign(call, &target, &source, cast_row, false);
}
