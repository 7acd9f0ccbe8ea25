/* scatter.c - gather, scatter, take, put and masked_scatter: one place per element. */
#include "kernels/cpu/masked_values.h"
#include "kernels/cpu/pick.h"

#include <math.h>

typedef struct elements {
  fnz_dtype dtype, class_dtype;
  size_t cell;
  uint32_t dim;              /* the indexed dimension, */
  int64_t size, stride;      /* its size and its stride in bytes */
  const fnzi_cpu_point *row; /* how an element joins what is there; NULL replaces it */
  bool late;                 /* places are checked by the loop, and a write may end halfway */
} elements;

static void cut_to_index(const fnzi_krn_window *index, fnzi_krn_window *w) {
  memcpy(w->sizes, index->sizes, w->rank * sizeof *w->sizes);
}

/* `self` becomes the window whose indexed dimension stands still; `index` its places. */
static fnz_status prepare(fnzi_krn_call *call, fnzi_krn_window *self, fnzi_krn_window *index,
                          elements *e) {
  const fnzi_krn_array *given = fnzi_krn_named_array(call, "index");
  const int64_t *places;
  uint32_t dim;
  fnzi_krn_window_lanes(given, index);
  FNZ_TRY(fnzi_wrap_dim(call->ctx, call->op->name, fnzi_krn_named_int(call, "dim", 0), self->rank,
                        &dim));
  e->dim = dim;
  e->size = self->sizes[dim];
  FNZ_TRY(fnzi_meta_index_check(call, given));
  const fnzi_krn_storage *out = call->outputs[0]->storage;
  bool lies = index->dtype == FNZ_I64 && given->storage != out;
  e->late = lies && e->size && fnzi_krn_call_input(call, 0)->storage != out;
  if (!call->record && lies && !e->late)
    lies = e->size && fnzi_cpu_places_inside(call, index, e->size);
  if (!call->record && !lies) {
    FNZ_TRY(fnzi_meta_index_values(call, given, e->size, false, &places));
    fnzi_krn_window_dense(index, FNZ_I64, index->rank, index->sizes, places);
  }
  cut_to_index(index, self);
  e->dtype = self->dtype;
  e->class_dtype = fnzi_meta_point_class(self->dtype);
  e->cell = self->cell;
  e->stride = fnzi_krn_stride_bytes(self->strides[dim], self->cell);
  self->strides[dim] = 0;
  return FNZ_OK;
}

/* --- Told (window.h) --------------------------------------------------------------------- */
static void pick_by(fnzi_krn_picking *p, const fnzi_krn_window *index, const elements *e,
                    bool wraps) {
  p->picks[p->npicks++] = (fnzi_krn_pick){*index, e->size, e->stride / (int64_t)e->cell, wraps};
  p->first = e->dim;
  p->rank = 1;
}

static fnz_status record_gather(fnzi_krn_call *call, const fnzi_krn_window *out,
                                const fnzi_krn_window *index, const fnzi_krn_window *self,
                                const elements *e) {
  fnzi_krn_picking p = {.to = *out, .from = *self};
  pick_by(&p, index, e, call->row->run == FNZI_RUN_take);
  return call->record->pick(call->record->user, &p);
}

/* Names the place. */
static fnz_status refuse_outside(fnzi_krn_call *call, const elements *e) {
  const int64_t *places;
  return fnzi_meta_index_values(call, fnzi_krn_named_array(call, "index"), e->size, false, &places);
}

/* Whether an index names one place of dimension 0 for each row of `self`, as graph networks expand
 * it, and rows are dense. Places are not checked yet. */
static bool names_rows(const fnzi_krn_call *call, const fnzi_krn_window *self,
                       const fnzi_krn_window *index, const elements *e, fnzi_cpu_picked *out) {
  int64_t row = 1;
  if (!e->late || e->dim != 0 || index->rank < 2 || index->strides[0] != 1 ||
      !fnzi_is_contiguous(&call->outputs[0]->window))
    return false;
  for (uint32_t d = index->rank; d-- > 1; row *= self->sizes[d])
    if (self->sizes[d] != 1 && (index->strides[d] != 0 || self->strides[d] != row))
      return false;
  *out = (fnzi_cpu_picked){.to = (char *)fnzi_krn_array_data(call->outputs[0]),
                           .from = (const char *)self->data,
                           .index = (const int64_t *)(const void *)index->data,
                           .count = index->sizes[0],
                           .bytes = row * (int64_t)e->cell,
                           .from_row = e->stride};
  return true;
}

fnz_status fnzi_kernel_gather(fnzi_krn_call *call) {
  fnzi_krn_window self, index, out;
  elements e = {.row = NULL};
  if (fnzi_krn_array_numel(call->outputs[0]) == 0)
    return FNZ_OK;
  fnzi_krn_window_lanes(fnzi_krn_call_input(call, 0), &self);
  FNZ_TRY(prepare(call, &self, &index, &e));
  fnzi_krn_window_lanes(call->outputs[0], &out);
  if (call->record)
    return record_gather(call, &out, &index, &self, &e);
  fnzi_cpu_picked rows;
  if (names_rows(call, &self, &index, &e, &rows)) {
    if (!fnzi_cpu_places_inside(call, &index, e.size))
      return refuse_outside(call, &e);
    fnzi_cpu_rows_gather(call, &rows);
    return FNZ_OK;
  }
  const fnzi_cpu_placed p = {self, index, out, e.stride, e.late ? e.size : 0, NULL};
  return fnzi_cpu_placed_read(call, &p) ? FNZ_OK : refuse_outside(call, &e);
}

/* --- Scatter ----------------------------------------------------------------------------- */
static const struct reduction {
  const char *name, *row;
  double start;
  bool by_reduce, averages;
} reductions[] = {
#define REDUCTION(name, row, start, by_reduce, averages) {name, row, start, by_reduce, averages},
#include "kernels/reductions.def"
#undef REDUCTION
};

static bool run_scatter(const fnzi_krn_window *to, const fnzi_krn_window *index,
                        const fnzi_krn_window *from, const elements *e) {
  return fnzi_cpu_placed_write(
      &(fnzi_cpu_placed){*to, *index, *from, e->stride, e->late ? e->size : 0, e->row});
}

/* The largest or the lowest one of a type. */
static int64_t last_integer(fnz_dtype dtype, bool largest) {
  size_t bits = 8 * fnzi_dtype(dtype)->bytes;
  if (dtype == FNZ_BOOL)
    return largest;
  if (dtype == FNZ_U8)
    return largest ? UINT8_MAX : 0;
  int64_t most = INT64_MAX >> (64 - bits);
  return largest ? most : -most - 1;
}

/* The reduction's neutral value. */
static void neutral(const struct reduction *r, fnz_dtype dtype, unsigned char *room,
                    fnzi_krn_window *out) {
  fnz_arg start = {.tag = FNZ_ARG_FLOAT, .u.f = r->start};
  if (isinf(r->start) && !fnzi_is_float(dtype))
    start = (fnz_arg){.tag = FNZ_ARG_INT, .u.i = last_integer(dtype, r->start > 0)};
  fnzi_krn_window_number(&start, dtype, room, out);
}

/* r NULL: nothing is reduced. */
static fnz_status record_scatter(fnzi_krn_call *call, const fnzi_krn_window *self,
                                 const fnzi_krn_window *index, const fnzi_krn_window *from,
                                 const elements *e, const struct reduction *r) {
  bool is_half = self->dtype == FNZ_F16 || self->dtype == FNZ_BF16;
  fnzi_krn_picking p = {.to = *self, .from = *from, .into = true, .wide = self->dtype};
  unsigned char room[16];
  fnzi_krn_window start;
  pick_by(&p, index, e, call->row->run == FNZI_RUN_put);
  if (r) {
    p.row = r->row;
    p.wide = is_half && call->row->run != FNZI_RUN_put ? FNZ_F32 : self->dtype;
    p.converts_first = true;
    p.averages = r->averages;
    p.counts_self = fnzi_krn_named_bool(call, "include_self", true);
    neutral(r, p.wide, room, &start);
    p.start = p.counts_self ? NULL : &start;
  }
  return call->record->pick(call->record->user, &p);
}

/* The number `value` as `dtype`, which it is no more exact in than in the type of the result. */
static fnz_status number_of(fnzi_krn_call *call, fnz_dtype dtype, unsigned char *room,
                            fnzi_krn_window *out) {
  fnz_dtype result = call->outputs[0]->window.dtype;
  _Alignas(8) unsigned char narrow[16];
  FNZ_TRY(fnzi_krn_window_argument(call, fnzi_krn_named(call, "value"), result, narrow, out));
  if (out->data != narrow) /* data decide it */
    return dtype == result ? FNZ_OK : fnzi_krn_refuse_conversion(call, dtype, result);
  memcpy(room, narrow, sizeof narrow);
  out->data = room;
  if (dtype == result)
    return FNZ_OK;
  fnzi_krn_convert_one(dtype, room, out->dtype, narrow);
  out->dtype = dtype;
  out->cell = fnzi_dtype(dtype)->bytes;
  return FNZ_OK;
}

/* src as elements of the type of self, cut to the sizes of the index; or the number `value`. */
static fnz_status find_source(fnzi_krn_call *call, const fnzi_krn_window *index, fnz_dtype dtype,
                              unsigned char *room, fnzi_krn_window *out) {
  const fnzi_krn_array *src = fnzi_krn_named_array(call, "src");
  const void *data;
  if (!src)
    return number_of(call, dtype, room, out);
  fnzi_krn_window_lanes(src, out);
  if (src->window.dtype != dtype && !call->record) {
    FNZ_TRY(fnzi_krn_dense_get_as(call, src, dtype, &data));
    fnzi_krn_window_dense(out, dtype, out->rank, out->sizes, data);
  }
  cut_to_index(index, out);
  return FNZ_OK;
}

static fnz_status scatter_into(fnzi_krn_call *call, fnzi_krn_window self,
                               const struct reduction *r) {
  fnzi_krn_window index, from, none;
  unsigned char room[16], start[16];
  elements e = {.row = NULL};
  FNZ_TRY(prepare(call, &self, &index, &e));
  FNZ_TRY(find_source(call, &index, self.dtype, room, &from));
  if (r)
    e.row = fnzi_cpu_point_find(e.class_dtype, r->row);
  if (r && !e.row)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_UNSUPPORTED,
                                "there is no kernel for element type %s",
                                fnzi_dtype(self.dtype)->name);
  if (call->record)
    return record_scatter(call, &self, &index, &from, &e, r);
  bool inside = true;
  if (r && !fnzi_krn_named_bool(call, "include_self", true)) {
    elements forgetting = e; /* the places that are written start from the neutral value */
    forgetting.row = NULL;
    neutral(r, self.dtype, start, &none);
    inside = run_scatter(&self, &index, &none, &forgetting);
  }
  inside = inside && run_scatter(&self, &index, &from, &e);
  return inside ? FNZ_OK : refuse_outside(call, &e);
}

/* The sizes of the counts. Along dimensions in which an index is expanded over all of self, places
 * are counted once. */
static void find_counts(const fnzi_krn_call *call, const fnzi_krn_window *self, uint32_t dim,
                        int64_t *sizes) {
  fnzi_krn_window index;
  fnzi_krn_window_lanes(fnzi_krn_named_array(call, "index"), &index);
  for (uint32_t d = 0; d < self->rank; d++) {
    bool is_once = d != dim && index.strides[d] == 0 && index.sizes[d] == self->sizes[d];
    sizes[d] = is_once ? 1 : self->sizes[d];
  }
}

/* self = self / counts, which are in the memory of `by`: converted once, not for each element. */
static fnz_status divide_by(fnzi_krn_call *call, const fnzi_krn_window *self, fnzi_krn_window *by,
                            const int64_t *counts, int64_t numel) {
  const bool is_real = fnzi_is_float(self->dtype) || fnzi_is_complex(self->dtype);
  const fnz_dtype wide = fnzi_meta_point_class(self->dtype);
  if (wide == FNZ_F32 || wide == FNZ_F64) {
    const fnzi_krn_conversion c = {wide, FNZ_I64, fnzi_dtype(wide)->bytes, sizeof *counts};
    void *data;
    FNZ_TRY(fnzi_krn_scratch_take(call, numel, fnzi_dtype(wide)->bytes, &data));
    fnzi_krn_convert(&c, data, counts, numel);
    by->dtype = wide, by->cell = fnzi_dtype(wide)->bytes, by->data = data;
  }
  return fnzi_cpu_window_combine(call, is_real ? "div" : "div_floor", self, by, NULL);
}

/* How many elements came to each place, self's counted where they take part. */
static fnz_status divide_by_counts(fnzi_krn_call *call, const fnzi_krn_window *self) {
  bool included = fnzi_krn_named_bool(call, "include_self", true);
  int64_t *counts, sizes[FNZ_MAX_RANK], numel = 1, one = 1;
  fnzi_krn_window index, to = *self, moved, from;
  elements e = {.row = NULL};
  FNZ_TRY(prepare(call, &to, &index, &e));
  find_counts(call, self, e.dim, sizes);
  for (uint32_t d = 0; d < self->rank; d++)
    numel *= sizes[d];
  FNZI_NEW(&call->scratch, (size_t)numel, &counts);
  for (int64_t i = 0; i < numel; i++)
    counts[i] = included;
  fnzi_krn_window_dense(&to, FNZ_I64, self->rank, sizes, counts);
  moved = to;
  FNZ_TRY(prepare(call, &moved, &index, &e));
  for (uint32_t d = 0; d < self->rank; d++)
    if (sizes[d] != self->sizes[d])
      moved.sizes[d] = index.sizes[d] = 1, to.sizes[d] = self->sizes[d], to.strides[d] = 0;
  e.row = fnzi_cpu_point_find(FNZ_I64, "add");
  fnzi_krn_window_dense(&from, FNZ_I64, index.rank, index.sizes, &one);
  memset(from.strides, 0, sizeof from.strides);
  (void)run_scatter(&moved, &index, &from, &e);
  for (int64_t i = 0; i < numel; i++)
    counts[i] += counts[i] == 0;
  return divide_by(call, self, &to, counts, numel);
}

fnz_status fnzi_kernel_scatter(fnzi_krn_call *call) {
  bool adds = call->row->mode == FNZI_MODE_add;
  const char *name = adds ? "add" : fnzi_krn_named_string(call, "reduce");
  const struct reduction *r = NULL; /* nothing is reduced */
  fnzi_krn_window self, wide;
  if (fnzi_krn_array_numel(fnzi_krn_named_array(call, "index")) == 0)
    return FNZ_OK;
  for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
    if (strcmp(reductions[i].name, name) == 0)
      r = &reductions[i];
  fnzi_krn_window_lanes(call->outputs[0], &self);
  if (call->record)
    return scatter_into(call, self, r);
  if (r && (self.dtype == FNZ_F16 || self.dtype == FNZ_BF16)) {
    /* 16-bit floats are joined in f32 and rounded once. */
    FNZ_TRY(fnzi_krn_window_widen(call, &self, &wide));
    FNZ_TRY(scatter_into(call, wide, r));
    FNZ_TRY(fnzi_krn_window_assign(call, &self, &wide, false));
  } else {
    FNZ_TRY(scatter_into(call, self, r));
  }
  return r && r->averages ? divide_by_counts(call, &self) : FNZ_OK;
}

/* --- put and take: places in the row-major order of all elements ------------------------- */
static fnz_status find_flat(fnzi_krn_call *call, const fnzi_krn_array *self, fnzi_krn_window *out,
                            fnzi_krn_window *index, elements *e) {
  const fnzi_krn_array *given = fnzi_krn_named_array(call, "index");
  int64_t size = fnzi_krn_array_numel(self), count = fnzi_krn_array_numel(given);
  const int64_t *places;
  const void *data;
  FNZ_TRY(fnzi_meta_index_check(call, given));
  if (call->record) {
    FNZ_TRY(fnzi_krn_dense_get(call, given, &data));
    fnzi_krn_window_dense(index, given->window.dtype, 1, &count, data);
  } else {
    FNZ_TRY(fnzi_meta_index_values(call, given, size, true, &places));
    fnzi_krn_window_dense(index, FNZ_I64, 1, &count, places);
  }
  FNZ_TRY(fnzi_krn_dense_get(call, self, &data));
  fnzi_krn_window_dense(out, self->window.dtype, 1, &size, data);
  out->strides[0] = 0;
  e->dtype = self->window.dtype;
  e->class_dtype = fnzi_meta_point_class(e->dtype);
  e->cell = self->cell;
  e->dim = 0;
  e->size = size;
  e->stride = (int64_t)self->cell;
  return FNZ_OK;
}

fnz_status fnzi_kernel_take(fnzi_krn_call *call) {
  fnzi_krn_window self, index, out;
  elements e = {.row = NULL};
  void *data;
  FNZ_TRY(find_flat(call, fnzi_krn_call_input(call, 0), &self, &index, &e));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, e.dtype, &data));
  fnzi_krn_window_dense(&out, e.dtype, 1, index.sizes, data);
  if (call->record) {
    self.sizes[0] = index.sizes[0];
    return record_gather(call, &out, &index, &self, &e);
  }
  (void)fnzi_cpu_placed_read(call, &(fnzi_cpu_placed){self, index, out, e.stride, 0, NULL});
  return FNZ_OK;
}

fnz_status fnzi_kernel_put(fnzi_krn_call *call) {
  const fnzi_krn_array *out = call->outputs[0], *source = fnzi_krn_named_array(call, "source");
  fnzi_krn_window self, index, from;
  elements e = {.row = NULL};
  const void *data;
  FNZ_TRY(find_flat(call, out, &self, &index, &e));
  if (fnzi_krn_named_bool(call, "accumulate", false))
    e.row = fnzi_cpu_point_find(e.class_dtype, "add");
  if (fnzi_krn_named_bool(call, "accumulate", false) && !e.row)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_UNSUPPORTED,
                                "there is no kernel for element type %s",
                                fnzi_dtype(e.dtype)->name);
  FNZ_TRY(fnzi_krn_dense_get(call, source, &data));
  fnzi_krn_window_dense(&from, e.dtype, 1, index.sizes, data);
  if (call->record) {
    fnzi_krn_window place = self;
    place.sizes[0] = index.sizes[0];
    FNZ_TRY(record_scatter(call, &place, &index, &from, &e, e.row ? &reductions[0] : NULL));
  } else {
    (void)run_scatter(&self, &index, &from, &e);
  }
  if (self.data == fnzi_krn_array_data(out))
    return FNZ_OK;
  fnzi_krn_window to;
  fnzi_krn_window_of(out, &to);
  fnzi_krn_window_dense(&self, e.dtype, to.rank, to.sizes, self.data);
  return fnzi_krn_window_assign(call, &to, &self, false);
}

/* --- Masked scatter ---------------------------------------------------------------------- */
typedef struct cursor {
  const char **next, *end; /* in the elements still to be given out */
  size_t cell;
} cursor;

/* Without a branch, as masks are hard to foresee, as long as there is an element to read. */
#define MASKED_CELLS(type)                                                                         \
  for (; i < count && next < c->end; i++) {                                                        \
    type taken, was;                                                                               \
    bool is_taken = data[1][i * strides[1]] != 0;                                                  \
    memcpy(&taken, next, sizeof taken), memcpy(&was, data[0] + i * strides[0], sizeof was);        \
    was = is_taken ? taken : was;                                                                  \
    memcpy(data[0] + i * strides[0], &was, sizeof was);                                            \
    next += is_taken ? sizeof taken : 0;                                                           \
  }

static void masked_row(const void *user, char *const *data, const int64_t *strides, int64_t count) {
  const cursor *c = user;
  const char *next = *c->next;
  int64_t i = 0;
  if (c->cell == 1)
    MASKED_CELLS(uint8_t)
  else if (c->cell == 2)
    MASKED_CELLS(uint16_t)
  else if (c->cell == 4)
    MASKED_CELLS(uint32_t)
  else if (c->cell == 8)
    MASKED_CELLS(uint64_t)
  for (; i < count && next < c->end; i++)
    if (data[1][i * strides[1]]) {
      memcpy(data[0] + i * strides[0], next, c->cell);
      next += c->cell;
    }
  *c->next = next;
}

/* The mask as it is broadcast, how many are true in each tile of it, and the elements. */
static fnz_status record_masked(fnzi_krn_call *call, const fnzi_krn_array *mask,
                                const fnzi_krn_array *source) {
  const fnzi_krn_array *out = call->outputs[0];
  fnz_dtype dtype = out->window.dtype;
  int64_t count = fnzi_krn_array_numel(out), tiles = (count + MASKED_TILE - 1) / MASKED_TILE,
          taken = fnzi_krn_array_numel(source);
  const int64_t integers[] = {count, taken};
  fnzi_krn_window windows[5], from, bits;
  const void *taken_ones, *was;
  void *room, *counts, *to;
  FNZ_TRY(fnzi_krn_scratch_take(call, count, 1, &room));
  FNZ_TRY(fnzi_krn_scratch_take(call, tiles, sizeof(int64_t), &counts));
  FNZ_TRY(fnzi_krn_dense_get_as(call, source, dtype, &taken_ones));
  FNZ_TRY(fnzi_krn_dense_get(call, out, &was));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, dtype, &to));
  fnzi_krn_window_of(mask, &from);
  fnzi_krn_window_dense(&bits, FNZ_BOOL, out->window.rank, out->window.sizes, room);
  FNZ_TRY(fnzi_krn_window_assign(call, &bits, &from, false));
  fnzi_krn_window_dense(&windows[0], FNZ_BOOL, 1, &count, room);
  fnzi_krn_window_dense(&windows[1], FNZ_I64, 1, &tiles, counts);
  fnzi_krn_window_dense(&windows[2], dtype, 1, &taken, taken_ones);
  fnzi_krn_window_dense(&windows[3], dtype, 1, &count, was);
  fnzi_krn_window_dense(&windows[4], dtype, 1, &count, to);
  fnzi_krn_formula f = {.name = "masked_count",
                        .count = tiles,
                        .windows = windows,
                        .nwindows = 2,
                        .nresults = 1,
                        .integers = integers,
                        .nintegers = 2};
  FNZ_TRY(call->record->formula(call->record->user, &f));
  f.name = "masked_taken", f.nwindows = 5, f.checks = true;
  return call->record->formula(call->record->user, &f);
}

/* The true places take the elements of source in row-major order. */
fnz_status fnzi_kernel_masked_scatter(fnzi_krn_call *call) {
  const fnzi_krn_array *out = call->outputs[0], *mask = fnzi_krn_named_array(call, "mask");
  const fnzi_krn_array *source = fnzi_krn_named_array(call, "source");
  const void *data, *bits;
  const char *next;
  int64_t count = fnzi_krn_array_numel(mask), wanted = 0;
  fnzi_krn_loop loop;
  if (call->record)
    return record_masked(call, mask, source);
  FNZ_TRY(fnzi_krn_dense_get(call, mask, &bits));
  for (int64_t i = 0; i < count; i++)
    wanted += ((const uint8_t *)bits)[i] != 0;
  if (count) /* each element of the mask counts for as many as it is broadcast to */
    wanted *= fnzi_krn_array_numel(out) / count;
  if (wanted > fnzi_krn_array_numel(source))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "mask has more true elements than source's %lld",
                                (long long)fnzi_krn_array_numel(source));
  FNZ_TRY(fnzi_krn_dense_get_as(call, source, out->window.dtype, &data));
  next = data;
  cursor c = {&next, next + (size_t)fnzi_krn_array_numel(source) * out->cell, out->cell};
  fnzi_krn_loop_start(&loop, out->window.rank, out->window.sizes);
  fnzi_krn_loop_add_array(&loop, out);
  fnzi_krn_loop_add_array(&loop, mask);
  fnzi_krn_loop_run(&loop, masked_row, &c, NULL, true);
  return FNZ_OK;
}
