/* random_masks.c - bernoulli, and dropout in its forms: the kept elements are drawn as a mask. */
#include "kernels/cpu/random.h"

#include <math.h>

/* --- bernoulli -------------------------------------------------------------------------------- */
static void draw_mask(const void *law, fnz_generator *g, int64_t count, void *out) {
  const double p = *(const double *)law;
  unsigned char *to = out;
  for (int64_t i = 0; i < count; i++)
    to[i] = fnzi_generator_double(g) < p;
}

/* 1 with the probability p, for elements of the dtype. */
static fnzi_cpu_law chance_law(fnz_dtype dtype, const double *p) {
  return (fnzi_cpu_law){
      .fill = draw_mask, .user = p, .name = "chance", .numbers = {*p}, .is_wide = dtype == FNZ_F64};
}

/* A row-major mask in scratch memory: 1 with the probability p, for a tensor of the dtype. */
static fnz_status take_mask(fnzi_krn_call *call, const fnz_geometry *order, fnz_dtype dtype,
                            double p, const unsigned char **out) {
  const fnzi_cpu_law law = chance_law(dtype, &p);
  void *room;
  FNZ_TRY(fnzi_krn_scratch_take(call, fnz_geometry_numel(order), 1, &room));
  *out = room;
  return fnzi_cpu_draw(call, order, FNZ_BOOL, room, &law);
}

/* A tensor of probabilities, broadcast to the sizes of the result: row-major cells, and the strides
 * that eager's loop knows them by. */
static fnz_status spread_chances(fnzi_krn_call *call, const fnzi_krn_array *a, fnz_dtype dtype,
                                 fnzi_krn_window *out, int64_t *strides) {
  const fnz_geometry *result = &call->outputs[0]->geometry, *g = &a->geometry;
  fnzi_krn_window from;
  const void *p;
  void *room;
  FNZ_TRY(fnzi_krn_dense_get_as(call, a, dtype, &p));
  FNZ_TRY(fnzi_krn_scratch_take(call, fnz_geometry_numel(result), fnzi_dtype(dtype)->bytes, &room));
  fnzi_krn_window_dense(&from, dtype, g->rank, g->sizes, p);
  fnzi_krn_window_dense(out, dtype, result->rank, result->sizes, room);
  for (uint32_t i = 0; i < result->rank; i++)
    strides[i] = 0;
  for (uint32_t i = 0; i < g->rank; i++)
    if (g->sizes[i] != 1)
      strides[i + result->rank - g->rank] = g->strides[i];
  return fnzi_krn_window_assign(call, out, &from, false);
}

/* As PyTorch's kernel for CUDA that has two tensors: dimensions change places where one of the two
 * has shorter strides in front, and the other none that are longer. */
static void order_pair(int64_t *one, int64_t *other, fnzi_krn_window *to, fnzi_krn_window *from) {
  for (uint32_t i = 0; i + 1 < to->rank; i++)
    for (uint32_t j = i + 1; j < to->rank && to->sizes[i] != 1; j++) {
      const bool rises =
          one[i] < one[j] || other[i]<other[j], falls = one[i]> one[j] || other[i] > other[j];
      if (to->sizes[j] == 1 || !rises || falls)
        continue;
      int64_t *const all[] = {one, other, to->sizes, to->strides, from->sizes, from->strides};
      for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        const int64_t had = all[k][i];
        all[k][i] = all[k][j];
        all[k][j] = had;
      }
    }
}

/* Probabilities and masks in the order in which these are drawn. */
static fnz_status draw_chances(fnzi_krn_call *call, fnz_dtype of, fnz_dtype dtype, const void *p,
                               unsigned char *out) {
  const int64_t count = fnz_geometry_numel(&call->outputs[0]->geometry);
  int64_t threads;
  FNZ_TRY(fnzi_cpu_threads_drawing(call, &threads));
  if (threads) {
    const fnzi_cpu_reals reals =
        dtype == FNZ_F64 ? (fnzi_cpu_reals){.d = p} : (fnzi_cpu_reals){.f = p};
    return fnzi_cpu_draw_own(call, count, &reals, out);
  }
  const double *chances = p;
  fnz_generator *g = call->ctx->generator;
  for (int64_t i = 0; i < count; i++)
    FNZ_TRY(fnzi_cpu_probability(call, "a probability", chances[i]));
  for (int64_t i = 0; i < count; i++) /* words of 32 bits are compared as f32 */
    out[i] = of == FNZ_F64 ? fnzi_generator_double(g) < chances[i]
                           : fnzi_generator_single(g) < (float)chances[i];
  return FNZ_OK;
}

/* mt19937 compares with doubles. */
static fnz_status chances_dtype(const fnzi_krn_call *call, fnz_dtype *out, bool *by_philox) {
  int64_t threads;
  FNZ_TRY(fnzi_cpu_threads_drawing(call, &threads));
  *by_philox = threads != 0;
  *out = threads && call->outputs[0]->geometry.dtype != FNZ_F64 ? FNZ_F32 : FNZ_F64;
  return FNZ_OK;
}

static fnz_status bernoulli_in_order(fnzi_krn_call *call, const fnzi_krn_array *a) {
  const fnz_geometry *result = &call->outputs[0]->geometry;
  const int64_t count = fnz_geometry_numel(result);
  fnzi_krn_window to, from, row;
  int64_t strides[FNZ_MAX_RANK], own[FNZ_MAX_RANK];
  fnz_geometry read = *result;
  bool by_philox;
  fnz_dtype dtype;
  void *p, *drawn;
  FNZ_TRY(chances_dtype(call, &dtype, &by_philox));
  FNZ_TRY(spread_chances(call, a, dtype, &from, strides));
  fnzi_krn_window_of(call->outputs[0], &to);
  read.strides = strides;
  for (uint32_t i = 0; i < result->rank; i++)
    own[i] = result->strides[i];
  if (by_philox)
    order_pair(own, strides, &to, &from);
  else
    fnzi_krn_windows_in_order(result, &read, &to, &from);
  FNZ_TRY(fnzi_krn_scratch_take(call, count, fnzi_dtype(dtype)->bytes, &p));
  FNZ_TRY(fnzi_krn_scratch_take(call, count, 1, &drawn));
  fnzi_krn_window_dense(&row, dtype, to.rank, to.sizes, p);
  FNZ_TRY(fnzi_krn_window_assign(call, &row, &from, false));
  FNZ_TRY(draw_chances(call, a->geometry.dtype, dtype, p, drawn));
  fnzi_krn_window_dense(&row, FNZ_BOOL, to.rank, to.sizes, drawn);
  return fnzi_krn_window_assign(call, &to, &row, false);
}

static fnz_status bernoulli_of(fnzi_krn_call *call, const fnzi_krn_array *a) {
  const fnz_geometry *result = &call->outputs[0]->geometry;
  bool by_philox;
  fnz_dtype dtype;
  const void *p;
  void *out;
  if (!fnzi_is_contiguous(result) || !fnzi_is_contiguous(&a->geometry) ||
      !fnzi_same_sizes(result, &a->geometry))
    return bernoulli_in_order(call, a);
  FNZ_TRY(chances_dtype(call, &dtype, &by_philox));
  FNZ_TRY(fnzi_krn_dense_get_as(call, a, dtype, &p));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, FNZ_BOOL, &out));
  return draw_chances(call, a->geometry.dtype, dtype, p, out);
}

/* By a number, by a tensor, or by self. For a number Philox draws floats as what the result is
 * of. */
fnz_status fnzi_kernel_bernoulli(fnzi_krn_call *call) {
  const fnz_arg *p = fnzi_krn_named(call, "p");
  const fnzi_krn_array *a = fnzi_krn_arg_array(p ? p : &call->args[0]);
  const fnz_dtype of = call->outputs[0]->geometry.dtype;
  if (a)
    return bernoulli_of(call, a);
  const double chance = fnzi_krn_number_float(p);
  const fnzi_cpu_law law = chance_law(of, &chance);
  int64_t threads;
  FNZ_TRY(fnzi_cpu_threads_drawing(call, &threads));
  const bool as_it_is = threads && (of == FNZ_F32 || of == FNZ_F64);
  return fnzi_cpu_draw_result(call, 0, as_it_is ? of : FNZ_BOOL, &law);
}

/* --- Dropout ---------------------------------------------------------------------------------- */
static fnz_status allocate_results(fnzi_krn_call *call) {
  for (size_t k = 0; k < call->noutputs; k++) /* an out= target has memory */
    if (!call->outputs[k]->storage)
      FNZ_TRY(fnzi_krn_array_allocate(call->ctx, call->outputs[k], false));
  return FNZ_OK;
}

static fnz_status open_reals(fnzi_krn_call *call, fnzi_cpu_masking *out) {
  const fnzi_krn_array *input = fnzi_krn_call_input(call, 0);
  const fnz_dtype held = input->geometry.dtype, dtype = fnzi_cpu_real_dtype(held);
  if (held != FNZ_F16 && held != FNZ_BF16 && held != FNZ_F32 && held != FNZ_F64)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_UNSUPPORTED,
                                "input is %s; cast it to a floating-point type",
                                fnzi_dtype(held)->name);
  FNZ_TRY(allocate_results(call));
  *out = (fnzi_cpu_masking){.count = fnzi_krn_array_numel(input), .held = held};
  FNZ_TRY(fnzi_cpu_reals_open(call, input, dtype, &out->from));
  return fnzi_cpu_reals_result(call, 0, dtype, &out->to);
}

/* As a factor, or an operand of a step: halves compute in f32. */
static double factor_of(const fnzi_cpu_masking *m, double v) {
  return m->held == FNZ_F64 ? v : (double)(float)v;
}

/* As an element of the tensors. */
static double masks_held(const fnzi_cpu_masking *m, double v) {
  unsigned char cell[16];
  if (m->held == FNZ_F64)
    return v;
  float f = (float)v;
  if (m->held == FNZ_F32)
    return f;
  fnzi_krn_convert_one(m->held, cell, FNZ_F32, &f);
  fnzi_krn_convert_one(FNZ_F32, &f, m->held, cell);
  return f;
}

/* Draws the mask of a fused dropout for elements of the dtype: with Philox unlike any other
 * mask. */
fnz_status fnzi_cpu_draw_kept(fnzi_krn_call *call, const fnz_geometry *order, fnz_dtype dtype,
                              double p, unsigned char *out) {
  /* How many elements a thread of PyTorch's kernel for CUDA has side by side: 16 bytes of them at
   * most, in the order of memory, if all threads have as many; else one, in the order of rows. */
  int64_t side = fnzi_is_dense(order) ? 16 / (int64_t)fnzi_dtype(dtype)->bytes : 1;
  int64_t strides[FNZ_MAX_RANK], threads;
  fnzi_cpu_law law = chance_law(dtype, &p);
  fnz_geometry rows = *order;
  FNZ_TRY(fnzi_cpu_threads_drawing(call, &threads));
  if (!threads)
    return fnzi_cpu_draw(call, order, FNZ_BOOL, out, &law);
  while (side > 1 && fnz_geometry_numel(order) % side)
    side /= 2;
  rows.strides = strides;
  fnzi_contiguous_strides(order->sizes, order->rank, strides);
  law.name = "kept";
  law.numbers[0] = dtype == FNZ_F64 ? p : (double)(float)p;
  law.is_wide = false;
  law.side = side;
  return fnzi_cpu_draw(call, side > 1 ? order : &rows, FNZ_BOOL, out, &law);
}

/* The value of the input, or a copy where the result has memory already. */
static fnz_status give_input(fnzi_krn_call *call) {
  const fnzi_krn_array *input = fnzi_krn_call_input(call, 0);
  if (call->outputs[0]->storage)
    return fnzi_krn_array_assign(call, call->outputs[0], input);
  return fnzi_krn_result_take(call, 0, input);
}

/* Training is what it does when it is not recorded. Eager multiplies by the mask, then by the
 * scale: a dropped element keeps its sign and its NaN. */
fnz_status fnzi_kernel_native_dropout(fnzi_krn_call *call) {
  const fnz_arg zero = {.tag = FNZ_ARG_INT}, one = {.tag = FNZ_ARG_INT, .u.i = 1};
  const double p = fnzi_krn_named_float(call, "p", 0), kept = 1 - p;
  fnzi_cpu_masking m;
  int64_t threads;
  void *mask;
  if (!fnzi_krn_named_bool(call, "train", true) ||
      fnzi_krn_array_numel(fnzi_krn_call_input(call, 0)) == 0) {
    FNZ_TRY(give_input(call));
    if (!call->outputs[1]->storage) /* the target of native_dropout.out has memory */
      FNZ_TRY(fnzi_krn_array_allocate(call->ctx, call->outputs[1], false));
    return fnzi_krn_array_fill(call, call->outputs[1], &one);
  }
  FNZ_TRY(fnzi_cpu_threads_drawing(call, &threads));
  if (threads && p == 1) { /* without a number drawn: zeros, also for NaN */
    FNZ_TRY(allocate_results(call));
    FNZ_TRY(fnzi_krn_array_fill(call, call->outputs[0], &zero));
    return fnzi_krn_array_fill(call, call->outputs[1], &zero);
  }
  FNZ_TRY(open_reals(call, &m));
  FNZ_TRY(fnzi_krn_result_get_as(call, 1, FNZ_BOOL, &mask));
  FNZ_TRY(fnzi_cpu_draw_kept(call, &call->outputs[1]->geometry, m.held, kept, mask));
  m.mask = mask;
  m.numbers[0] = p == 1 ? 0 : threads ? 1 / factor_of(&m, kept) : 1 / kept;
  return fnzi_cpu_mask_reals(call, &m);
}

/* One number for each feature, or for each element: broadcast over all of them. */
static fnz_status feature_mask(fnzi_krn_call *call, fnz_dtype dtype, double p,
                               const unsigned char **out) {
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  int64_t sizes[FNZ_MAX_RANK], strides[FNZ_MAX_RANK];
  fnz_geometry features = {.dtype = FNZ_BOOL, .rank = g->rank, .sizes = sizes, .strides = strides};
  fnzi_krn_window to, from;
  const unsigned char *mask;
  void *room;
  for (uint32_t i = 0; i < g->rank; i++)
    sizes[i] = i < 2 ? g->sizes[i] : 1;
  fnzi_contiguous_strides(sizes, g->rank, strides);
  FNZ_TRY(take_mask(call, &features, dtype, p, &mask));
  FNZ_TRY(fnzi_krn_scratch_take(call, fnz_geometry_numel(g), 1, &room));
  fnzi_krn_window_dense(&to, FNZ_BOOL, g->rank, g->sizes, room);
  fnzi_krn_window_dense(&from, FNZ_BOOL, g->rank, sizes, mask);
  *out = room;
  return fnzi_krn_window_assign(call, &to, &from, false);
}

/* A dropped element becomes the least activation of SELU, and all are shifted so that mean and
 * variance stay: x * noise + b, rounded step by step. */
static void masks_shift(fnzi_cpu_masking *m, double p) {
  const double alpha = 1.7580993408473766, a = 1 / sqrt((alpha * alpha * p + 1) * (1 - p));
  const double least = masks_held(m, -factor_of(m, alpha * a)), more = factor_of(m, alpha * a * p);
  m->shifts = true;
  m->numbers[0] = masks_held(m, factor_of(m, a));
  m->numbers[2] = masks_held(m, least + more);
  m->numbers[3] = masks_held(m, more);
}

/* dropout, feature_dropout, alpha_dropout, feature_alpha_dropout. */
fnz_status fnzi_kernel_dropout(fnzi_krn_call *call) {
  const double p = fnzi_krn_named_float(call, "p", 0);
  const uint8_t mode = call->row->mode;
  const bool by_feature = mode == FNZI_MODE_feature || mode == FNZI_MODE_feature_alpha,
             is_alpha = mode == FNZI_MODE_alpha || mode == FNZI_MODE_feature_alpha;
  const fnz_geometry *order = &call->outputs[0]->geometry;
  fnzi_cpu_masking m;
  int64_t threads;
  void *room;
  if (!fnzi_krn_named_bool(call, "train", false) || p == 0 ||
      fnzi_krn_array_numel(fnzi_krn_call_input(call, 0)) == 0)
    return give_input(call);
  FNZ_TRY(fnzi_cpu_threads_drawing(call, &threads));
  FNZ_TRY(open_reals(call, &m));
  if (p == 1)
    return fnzi_cpu_mask_reals(call, &m);
  if (by_feature) {
    FNZ_TRY(feature_mask(call, m.held, 1 - p, &m.mask));
  } else if (is_alpha) {
    FNZ_TRY(take_mask(call, order, m.held, 1 - p, &m.mask));
  } else { /* PyTorch's fused one, on CUDA */
    FNZ_TRY(fnzi_krn_scratch_take(call, m.count, 1, &room));
    m.mask = room;
    FNZ_TRY(fnzi_cpu_draw_kept(call, order, m.held, 1 - p, room));
  }
  if (is_alpha)
    masks_shift(&m, p);
  else if (threads && !by_feature)
    m.numbers[0] = 1 / factor_of(&m, 1 - p);
  else
    m.numbers[0] = masks_held(&m, 1 / factor_of(&m, 1 - p));
  return fnzi_cpu_mask_reals(call, &m);
}
