/* move.c - kernels that only move elements: copies, joining, repeating, padding. They know cells,
 * not numbers. */
#include "kernels/core/convert.h"
#include "kernels/core/float8.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/recording.h"

#include <math.h>

/* clone, contiguous, lift_fresh_copy: the value of argument 0. */
fnz_status fnzi_kernel_identity(fnzi_krn_call *call) {
  return fnzi_krn_result_take(call, 0, fnzi_krn_call_input(call, 0));
}

fnz_status fnzi_kernel_cast(fnzi_krn_call *call) {
  return fnzi_krn_result_take(call, 0, fnzi_krn_call_input(call, 0));
}

fnz_status fnzi_kernel_copy(fnzi_krn_call *call) {
  return fnzi_krn_result_take(call, 0, fnzi_krn_call_input(call, 1));
}

/* The dimension a kernel works along; its shape rule has checked it. */
static uint32_t dim_of(const fnzi_krn_call *call, const char *name, int64_t fallback,
                       uint32_t rank) {
  int64_t dim = fnzi_krn_named_int(call, name, fallback);
  return (uint32_t)(dim < 0 ? dim + rank : dim);
}

/* Before one of them is written. */
static fnz_status check_parts(const fnzi_krn_call *call, const fnz_arg *list) {
  fnz_dtype to = call->outputs[0]->window.dtype;
  for (uint32_t i = 0; i < list->count; i++) {
    fnz_dtype from = fnzi_krn_arg_array(&list->u.list[i])->window.dtype;
    bool promotes = to != from && (fnzi_krn_is_float8(to) || fnzi_krn_is_float8(from));
    if (promotes || !fnzi_krn_can_convert(to, from))
      return fnzi_krn_refuse_conversion(call, to, from);
  }
  return FNZ_OK;
}

fnz_status fnzi_kernel_cat(fnzi_krn_call *call) {
  const fnzi_krn_array *out = call->outputs[0];
  const fnz_arg *list = &call->args[0];
  uint32_t dim = dim_of(call, "dim", 0, out->window.rank);
  int64_t at = 0;
  FNZ_TRY(check_parts(call, list));
  for (uint32_t i = 0; i < list->count; i++) {
    const fnzi_krn_array *a = fnzi_krn_arg_array(&list->u.list[i]);
    fnzi_krn_window to, from;
    if (fnzi_krn_array_numel(a) == 0)
      continue;
    fnzi_krn_window_of(out, &to);
    fnzi_krn_window_of(a, &from);
    fnzi_krn_window_narrow(&to, dim, at, a->window.sizes[dim]);
    at += a->window.sizes[dim];
    FNZ_TRY(fnzi_krn_window_assign(call, &to, &from, false));
  }
  return FNZ_OK;
}

fnz_status fnzi_kernel_stack(fnzi_krn_call *call) {
  const fnzi_krn_array *out = call->outputs[0];
  const fnz_arg *list = &call->args[0];
  uint32_t dim = dim_of(call, "dim", 0, out->window.rank);
  FNZ_TRY(check_parts(call, list));
  for (uint32_t i = 0; i < list->count; i++) {
    fnzi_krn_window to, from;
    fnzi_krn_window_of(out, &to);
    fnzi_krn_window_of(fnzi_krn_arg_array(&list->u.list[i]), &from);
    fnzi_krn_window_select(&to, dim, i);
    FNZ_TRY(fnzi_krn_window_assign(call, &to, &from, false));
  }
  return FNZ_OK;
}

/* --- Complex numbers -------------------------------------------------------------------------- */
#define INTERLEAVE(type)                                                                           \
  for (int64_t i = 0; i < count; i++) {                                                            \
    ((type *)(void *)data[0])[2 * i] = ((const type *)(const void *)data[1])[i];                   \
    ((type *)(void *)data[0])[2 * i + 1] = ((const type *)(const void *)data[2])[i];               \
  }

static void interleave_row(const void *user, char *const *data, const int64_t *strides,
                           int64_t count) {
  const size_t cell = *(const size_t *)user;
  const int64_t step = (int64_t)cell;
  bool is_dense = strides[0] == 2 * step && strides[1] == step && strides[2] == step;
  if (is_dense && cell == sizeof(uint32_t))
    INTERLEAVE(uint32_t)
  else if (is_dense && cell == sizeof(uint64_t))
    INTERLEAVE(uint64_t)
  else
    for (int part = 0; part < 2; part++)
      fnzi_krn_copy_row(data[0] + part * step, strides[0], data[1 + part], strides[1 + part], count,
                        cell);
}

fnz_status fnzi_kernel_complex(fnzi_krn_call *call) {
  const fnzi_krn_array *out = call->outputs[0];
  const size_t cell = out->cell / 2;
  fnzi_krn_loop loop;
  fnzi_krn_loop_start(&loop, out->window.rank, out->window.sizes);
  fnzi_krn_loop_add_array(&loop, out);
  for (int part = 0; part < 2; part++) {
    const fnzi_krn_array *a = fnzi_krn_call_input(call, (size_t)part);
    fnzi_krn_window to, from;
    fnzi_krn_loop_add_array(&loop, a);
    if (!call->record)
      continue;
    fnzi_krn_window_of(a, &from);
    fnzi_krn_window_of(out, &to); /* this part of its elements */
    to.dtype = from.dtype, to.cell = from.cell;
    to.data += (size_t)part * to.cell;
    for (uint32_t i = 0; i < to.rank; i++)
      to.strides[i] *= 2;
    FNZ_TRY(fnzi_krn_window_assign(call, &to, &from, false));
  }
  if (!call->record)
    fnzi_krn_loop_run(&loop, interleave_row, &cell, call->team, false);
  return FNZ_OK;
}

/* Every dimension of the result is (repeat, size); an unrepeated one stays one dimension. The last
 * repeated one is filled from its first block where the result lies row-major on a CPU. */
fnz_status fnzi_kernel_repeat(fnzi_krn_call *call) {
  const fnzi_krn_array *out = call->outputs[0], *self = fnzi_krn_call_input(call, 0);
  uint32_t missing = out->window.rank - self->window.rank;
  fnzi_krn_window to, from;
  if (out->window.rank > FNZ_MAX_RANK / 2)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_LIMIT, "rank %u is above %d", out->window.rank,
                                FNZ_MAX_RANK / 2);
  fnzi_krn_window_of(out, &to);
  fnzi_krn_window_of(self, &from);
  for (uint32_t i = 0; i < missing; i++)
    fnzi_krn_window_insert(&from, 0, 1, 0);
  bool fills = !call->record && fnzi_krn_array_numel(out) && fnzi_is_contiguous(&out->window) &&
               out->window.dtype == from.dtype;
  int64_t last = -1, block = 0, times = 1;
  for (uint32_t i = 0; fills && i < out->window.rank; i++)
    last = out->window.sizes[i] != from.sizes[i] ? (int64_t)i : last;
  for (uint32_t i = out->window.rank; i-- > 0;) {
    int64_t size = from.sizes[i], stride = to.strides[i];
    int64_t repeats = size ? to.sizes[i] / size : 0;
    if (i == last)
      block = stride * size, times = repeats;
    to.sizes[i] = size;
    fnzi_krn_window_insert(&to, i, i == last ? 1 : repeats, stride * size);
    fnzi_krn_window_insert(&from, i, 1, 0);
  }
  FNZ_TRY(fnzi_krn_window_assign(call, &to, &from, false));
  const size_t bytes = (size_t)block * out->cell, all = (size_t)times * bytes;
  const int64_t rows = times > 1 ? fnzi_krn_array_numel(out) / (block * times) : 0;
  unsigned char *row = to.data;
  for (int64_t i = 0; i < rows; i++, row += all)
    for (size_t done = bytes; done < all; done *= 2)
      memcpy(row + done, row, done < all - done ? done : all - done);
  return FNZ_OK;
}

fnz_status fnzi_kernel_flip(fnzi_krn_call *call) {
  const fnzi_krn_array *out = call->outputs[0];
  const int64_t *dims;
  size_t count;
  fnzi_krn_window to, from;
  fnzi_krn_window_of(out, &to);
  fnzi_krn_window_of(fnzi_krn_call_input(call, 0), &from);
  FNZ_TRY(fnzi_krn_named_ints(call, "dims", &dims, &count));
  for (size_t i = 0; i < count; i++) {
    uint32_t dim;
    FNZ_TRY(fnzi_wrap_dim(call->ctx, call->op->name, dims[i], to.rank, &dim));
    if (dim >= to.rank || from.sizes[dim] == 0)
      continue;
    from.data += (from.sizes[dim] - 1) * from.strides[dim] * (int64_t)from.cell;
    from.strides[dim] = -from.strides[dim];
  }
  return fnzi_krn_window_assign(call, &to, &from, false);
}

/* Negative pads cut. */
fnz_status fnzi_kernel_pad(fnzi_krn_call *call) {
  const fnzi_krn_array *out = call->outputs[0];
  const fnz_arg zero = {.tag = FNZ_ARG_INT}, *value = fnzi_krn_named(call, "value");
  const int64_t *pad;
  size_t count;
  fnzi_krn_window to, from;
  FNZ_TRY(fnzi_krn_array_fill(call, out, value->tag == FNZ_ARG_NONE ? &zero : value));
  FNZ_TRY(fnzi_krn_named_ints(call, "pad", &pad, &count));
  fnzi_krn_window_of(out, &to);
  fnzi_krn_window_of(fnzi_krn_call_input(call, 0), &from);
  for (size_t i = 0; i < count / 2; i++) {
    uint32_t dim = to.rank - 1 - (uint32_t)i;
    int64_t before = pad[2 * i], after = pad[2 * i + 1];
    int64_t cut = before < 0 ? -before : 0, kept = from.sizes[dim] - cut + (after < 0 ? after : 0);
    fnzi_krn_window_narrow(&from, dim, cut, kept > 0 ? kept : 0);
    fnzi_krn_window_narrow(&to, dim, before > 0 ? before : 0, kept > 0 ? kept : 0);
  }
  return fnzi_krn_window_assign(call, &to, &from, false);
}

/* The first elements in row-major order stay, the others are zero. */
fnz_status fnzi_kernel_resize(fnzi_krn_call *call) {
  const fnzi_krn_array *self = fnzi_krn_call_input(call, 0), *out = call->outputs[0];
  int64_t have = fnzi_krn_array_numel(self), want = fnzi_krn_array_numel(out);
  int64_t kept = have < want ? have : want;
  const fnz_arg zero = {.tag = FNZ_ARG_INT};
  fnzi_krn_window target, source, rest, nothing;
  unsigned char room[16];
  const void *from;
  void *to;
  FNZ_TRY(fnzi_krn_dense_get(call, self, &from));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, out->window.dtype, &to));
  fnzi_krn_window_dense(&target, out->window.dtype, 1, &want, to);
  fnzi_krn_window_dense(&source, self->window.dtype, 1, &have, from);
  fnzi_krn_window_number(&zero, target.dtype, room, &nothing);
  rest = target;
  fnzi_krn_window_narrow(&target, 0, 0, kept);
  fnzi_krn_window_narrow(&source, 0, 0, kept);
  fnzi_krn_window_narrow(&rest, 0, kept, want - kept);
  FNZ_TRY(fnzi_krn_window_assign(call, &target, &source, false));
  return fnzi_krn_window_assign(call, &rest, &nothing, false);
}

#define VALUE static inline
#include "kernels/cpu/create_values.h"
#undef VALUE

/* The formula of each element, recorded: it is kept, or zero. */
static fnz_status record_triangle(fnzi_krn_call *call, bool lower, int64_t diagonal) {
  const fnz_geometry *g = &call->outputs[0]->window;
  const int64_t count = fnz_geometry_numel(g),
                integers[] = {lower, diagonal, g->sizes[g->rank - 2], g->sizes[g->rank - 1]};
  fnzi_cpu_recording t = {.f = {.nwindows = 0}};
  const void *from;
  void *to;
  FNZ_TRY(fnzi_krn_dense_get(call, call->outputs[0], &from));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, g->dtype, &to));
  fnzi_cpu_record_window(&t, g->dtype, count, from);
  fnzi_cpu_record_window(&t, g->dtype, count, to);
  fnzi_cpu_record_integers(&t, integers, sizeof integers);
  return fnzi_cpu_record(call, &t, "triangle", count);
}

/* tril and triu: elements beyond the diagonal become zero, row by row. */
fnz_status fnzi_kernel_triangle(fnzi_krn_call *call) {
  static const fnz_arg zero = {.tag = FNZ_ARG_INT};
  const fnzi_krn_array *out = call->outputs[0];
  int64_t diagonal = fnzi_krn_named_int(call, "diagonal", 0);
  bool lower = call->row->mode == FNZI_MODE_lower;
  fnzi_krn_window all, value;
  unsigned char room[16];
  if (fnzi_krn_array_numel(out) == 0)
    return FNZ_OK;
  if (call->record)
    return record_triangle(call, lower, diagonal);
  fnzi_krn_window_of(out, &all);
  fnzi_krn_window_number(&zero, all.dtype, room, &value);
  int64_t rows = all.sizes[all.rank - 2], columns = all.sizes[all.rank - 1];
  for (int64_t i = 0; i < rows; i++) {
    int64_t edge = triangle_edge(lower, diagonal, rows, columns, i);
    fnzi_krn_window row = all;
    fnzi_krn_window_narrow(&row, row.rank - 2, i, 1);
    fnzi_krn_window_narrow(&row, row.rank - 1, lower ? edge : 0, lower ? columns - edge : edge);
    FNZ_TRY(fnzi_krn_window_assign(call, &row, &value, false));
  }
  return FNZ_OK;
}
