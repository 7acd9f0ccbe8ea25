/* special_reals.c - see special_reals.h. */
#include "kernels/cpu/special_reals.h"

#include "kernels/core/convert.h"
#include "kernels/cpu/cpu.h"

#include <math.h>

enum { SUM_LANES = 8, WORTH_THREADS = 16384 };

fnz_status fnzi_cpu_reals_open(fnzi_krn_call *call, const fnzi_krn_array *array, fnz_dtype dtype,
                               fnzi_cpu_reals *out) {
  const void *data;
  *out = (fnzi_cpu_reals){NULL, NULL};
  if (!array)
    return FNZ_OK;
  FNZ_TRY(fnzi_krn_dense_get_as(call, array, dtype, &data));
  if (dtype == FNZ_F64)
    out->d = data;
  else
    out->f = data;
  return FNZ_OK;
}

static void point(fnz_dtype dtype, void *data, fnzi_cpu_reals_out *out) {
  *out = dtype == FNZ_F64 ? (fnzi_cpu_reals_out){NULL, data} : (fnzi_cpu_reals_out){data, NULL};
}

fnz_status fnzi_cpu_reals_result(fnzi_krn_call *call, size_t k, fnz_dtype dtype,
                                 fnzi_cpu_reals_out *out) {
  void *data;
  FNZ_TRY(fnzi_krn_result_get_as(call, k, dtype, &data));
  point(dtype, data, out);
  return FNZ_OK;
}

void fnzi_cpu_reals_window(const fnzi_cpu_reals *x, int64_t count, fnzi_krn_window *out) {
  fnz_dtype dtype = x->d ? FNZ_F64 : FNZ_F32;
  fnzi_krn_window_dense(out, dtype, 1, &count, x->d ? (const void *)x->d : (const void *)x->f);
}

fnz_status fnzi_cpu_reals_scratch(fnzi_krn_call *call, fnz_dtype dtype, int64_t count,
                                  fnzi_cpu_reals_out *out) {
  void *data;
  FNZ_TRY(fnzi_arena_alloc(&call->scratch, (size_t)count, fnzi_dtype(dtype)->bytes, &data));
  point(dtype, data, out);
  return FNZ_OK;
}

static void reals_copy_row(const void *user, char *const *data, const int64_t *strides,
                           int64_t count) {
  fnzi_krn_copy_row(data[0], strides[0], data[1], strides[1], count, *(const size_t *)user);
}

void fnzi_cpu_expand_cells(const fnzi_krn_call *call, const fnz_geometry *from, const void *data,
                           const fnz_geometry *to, void *out, size_t cell) {
  int64_t strides[FNZ_MAX_RANK], from_strides[FNZ_MAX_RANK];
  fnzi_krn_loop loop;
  fnzi_contiguous_strides(to->sizes, to->rank, strides);
  fnzi_contiguous_strides(from->sizes, from->rank, from_strides);
  fnzi_krn_loop_start(&loop, to->rank, to->sizes);
  fnzi_krn_loop_add(&loop, out, to->rank, to->sizes, strides, cell);
  fnzi_krn_loop_add(&loop, data, from->rank, from->sizes, from_strides, cell);
  fnzi_krn_loop_run(&loop, reals_copy_row, &cell, call->team, false);
}

fnz_status fnzi_cpu_reals_expand(fnzi_krn_call *call, const fnzi_krn_array *array, fnz_dtype dtype,
                                 const fnz_geometry *to, fnzi_cpu_reals *out) {
  fnzi_krn_window from, wide;
  fnzi_cpu_reals_out made;
  void *room;
  FNZ_TRY(fnzi_cpu_reals_open(call, array, dtype, out));
  if (!array || fnzi_same_sizes(&array->geometry, to))
    return FNZ_OK;
  FNZ_TRY(fnzi_krn_scratch_take(call, fnz_geometry_numel(to), fnzi_dtype(dtype)->bytes, &room));
  fnzi_krn_window_dense(&from, dtype, array->geometry.rank, array->geometry.sizes,
                        out->d ? (const void *)out->d : (const void *)out->f);
  fnzi_krn_window_dense(&wide, dtype, to->rank, to->sizes, room);
  point(dtype, room, &made);
  *out = fnzi_cpu_reals_read(&made);
  return fnzi_krn_window_assign(call, &wide, &from, false);
}

void fnzi_cpu_reals_load(const fnzi_cpu_reals *x, int64_t at, int64_t step, int64_t count,
                         double *out) {
  if (x->d && step == 1)
    memcpy(out, x->d + at, (size_t)count * sizeof *out);
  else if (x->d)
    for (int64_t i = 0; i < count; i++)
      out[i] = x->d[at + i * step];
  else
    for (int64_t i = 0; i < count; i++)
      out[i] = (double)x->f[at + i * step];
}

void fnzi_cpu_reals_store(const fnzi_cpu_reals_out *x, int64_t at, int64_t step, int64_t count,
                          const double *in) {
  if (x->d && step == 1)
    memcpy(x->d + at, in, (size_t)count * sizeof *in);
  else if (x->d)
    for (int64_t i = 0; i < count; i++)
      x->d[at + i * step] = in[i];
  else
    for (int64_t i = 0; i < count; i++)
      x->f[at + i * step] = (float)in[i];
}

/* Eight sums side by side keep the adder busy; they are joined in a fixed order. */
static double join(const double *lanes) {
  double sum = 0;
  for (int i = 0; i < SUM_LANES; i++)
    sum += lanes[i];
  return sum;
}

double fnzi_cpu_sum(const double *x, int64_t count) {
  double lanes[SUM_LANES] = {0};
  int64_t i = 0;
  for (; i + SUM_LANES <= count; i += SUM_LANES)
    for (int k = 0; k < SUM_LANES; k++)
      lanes[k] += x[i + k];
  for (; i < count; i++)
    lanes[0] += x[i];
  return join(lanes);
}

double fnzi_cpu_sum_squares(const double *x, int64_t count, double center) {
  double lanes[SUM_LANES] = {0};
  int64_t i = 0;
  for (; i + SUM_LANES <= count; i += SUM_LANES)
    for (int k = 0; k < SUM_LANES; k++)
      lanes[k] += (x[i + k] - center) * (x[i + k] - center);
  for (; i < count; i++)
    lanes[0] += (x[i] - center) * (x[i] - center);
  return join(lanes);
}

void fnzi_cpu_rows_each(const fnzi_krn_call *call, int64_t count, fnzi_share_fn *body,
                        const void *user) {
  fnzi_krn_share(call->team, count, body, user);
}

void fnzi_cpu_rows_spread(const fnzi_krn_call *call, int64_t count, int64_t cells,
                          fnzi_share_fn *body, const void *user) {
  bool is_worth = count > 0 && cells >= WORTH_THREADS / count;
  fnzi_krn_share(is_worth ? call->team : NULL, count, body, user);
}

/* Row-major `out->reals` in the order of the rows: kept dimensions, then reduced ones. */
static fnz_status arrange(fnzi_krn_call *call, const fnz_geometry *g, fnzi_cpu_reduced *out) {
  bool reduced[FNZ_MAX_RANK] = {false};
  int64_t sizes[FNZ_MAX_RANK], strides[FNZ_MAX_RANK], plain[FNZ_MAX_RANK];
  uint32_t rank = 0;
  fnzi_cpu_reals_out moved;
  FNZ_TRY(fnzi_meta_reduced_dims(call, reduced));
  fnzi_contiguous_strides(g->sizes, g->rank, plain);
  out->rows = out->length = 1;
  for (int pass = 0; pass < 2; pass++)
    for (uint32_t i = 0; i < g->rank; i++) {
      if (reduced[i] != (pass == 1))
        continue;
      *(pass ? &out->length : &out->rows) *= g->sizes[i];
      sizes[rank] = g->sizes[i];
      strides[rank++] = plain[i];
    }
  fnzi_contiguous_strides(sizes, rank, plain);
  if (rank == 0 || memcmp(plain, strides, rank * sizeof *plain) == 0)
    return FNZ_OK;
  FNZ_TRY(fnzi_cpu_reals_scratch(call, out->dtype, fnz_geometry_numel(g), &moved));
  if (moved.d)
    fnzi_krn_copy_cells(
        &(fnzi_krn_copy){rank, sizes, moved.d, plain, out->reals.d, strides, sizeof *moved.d},
        call->team);
  else
    fnzi_krn_copy_cells(
        &(fnzi_krn_copy){rank, sizes, moved.f, plain, out->reals.f, strides, sizeof *moved.f},
        call->team);
  out->reals = fnzi_cpu_reals_read(&moved);
  return FNZ_OK;
}

fnz_status fnzi_cpu_reduced_open(fnzi_krn_call *call, fnzi_cpu_reduced *out) {
  const fnzi_krn_array *x = fnzi_krn_call_input(call, 0);
  out->dtype = fnzi_cpu_real_dtype(call->outputs[0]->geometry.dtype);
  FNZ_TRY(fnzi_cpu_reals_open(call, x, out->dtype, &out->reals));
  return arrange(call, &x->geometry, out);
}

fnz_status fnzi_cpu_reduced_open_part(fnzi_krn_call *call, fnzi_cpu_part part,
                                      fnzi_cpu_reduced *out) {
  const fnzi_krn_array *x = fnzi_krn_call_input(call, 0);
  int64_t count = fnzi_krn_array_numel(x);
  fnzi_cpu_reals_out parts;
  const void *data;
  out->dtype = FNZ_F32;
  FNZ_TRY(fnzi_krn_dense_get_as(call, x, FNZ_C64, &data));
  FNZ_TRY(fnzi_cpu_reals_scratch(call, FNZ_F32, count, &parts));
  for (int64_t i = 0; i < count; i++) {
    const float *z = (const float *)data + 2 * i;
    parts.f[i] = part == FNZI_PART_REAL        ? z[0]
                 : part == FNZI_PART_IMAGINARY ? z[1]
                                               : hypotf(z[0], z[1]);
  }
  out->reals = fnzi_cpu_reals_read(&parts);
  return arrange(call, &x->geometry, out);
}
