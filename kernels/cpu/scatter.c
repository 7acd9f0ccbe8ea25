/* scatter.c - gather, scatter, take, put and masked_scatter: one place per element. */
#include "kernels/cpu/point.h"

#include <math.h>

typedef struct elements {
  fnz_dtype dtype, class_dtype;
  size_t cell;
  int64_t stride;        /* of the indexed dimension, bytes */
  const fnzi_point *row; /* how an element joins what is there; NULL replaces it */
} elements;

static void gather_row(const void *user, char *const *data, const int64_t *strides, int64_t count) {
  const elements *e = user;
  for (int64_t i = 0; i < count; i++) {
    int64_t place;
    memcpy(&place, data[1] + i * strides[1], sizeof place);
    memcpy(data[0] + i * strides[0], data[2] + i * strides[2] + place * e->stride, e->cell);
  }
}

static void join_element(const elements *e, char *to, const char *from) {
  double room[2][2];
  const void *in[] = {room[0], room[1]};
  fnzi_convert(e->class_dtype, room[0], 0, e->dtype, to, 0, 1);
  fnzi_convert(e->class_dtype, room[1], 0, e->dtype, from, 0, 1);
  e->row->run(room[0], in, 1);
  fnzi_convert(e->dtype, to, 0, e->class_dtype, room[0], 0, 1);
}

static void scatter_row(const void *user, char *const *data, const int64_t *strides,
                        int64_t count) {
  const elements *e = user;
  for (int64_t i = 0; i < count; i++) {
    int64_t place;
    memcpy(&place, data[1] + i * strides[1], sizeof place);
    char *to = data[0] + i * strides[0] + place * e->stride;
    if (e->row)
      join_element(e, to, data[2] + i * strides[2]);
    else
      memcpy(to, data[2] + i * strides[2], e->cell);
  }
}

/* Checks that the index fits into `w` beside `dim` (UINT32_MAX: in every dimension), and cuts w to
 * its sizes. */
static fnz_status cut_to_index(const fnzi_call *call, const fnzi_window *index, uint32_t dim,
                               const char *what, fnzi_window *w) {
  if (index->rank != w->rank)
    return fnzi_refuse(call, FNZ_CLASS_BOUNDS, "index has rank %u, %s has %u", index->rank, what,
                       w->rank);
  for (uint32_t i = 0; i < w->rank; i++) {
    if (i != dim && index->sizes[i] > w->sizes[i])
      return fnzi_refuse(call, FNZ_CLASS_BOUNDS, "index has size %lld in dimension %u, %s has %lld",
                         (long long)index->sizes[i], i, what, (long long)w->sizes[i]);
    w->sizes[i] = index->sizes[i];
  }
  return FNZ_OK;
}

/* `self` becomes the window whose indexed dimension stands still; `index` its places. */
static fnz_status prepare(fnzi_call *call, fnzi_window *self, fnzi_window *index, elements *e) {
  const fnzi_array *given = fnzi_named_array(call, "index");
  const int64_t *places;
  uint32_t dim;
  fnzi_window_lanes(given, index);
  FNZ_TRY(
      fnzi_wrap_dim(call->ctx, call->op->name, fnzi_named_int(call, "dim", 0), self->rank, &dim));
  FNZ_TRY(fnzi_index_values(call, given, self->sizes[dim], false, &places));
  fnzi_window_dense(index, FNZ_I64, index->rank, index->sizes, places);
  FNZ_TRY(cut_to_index(call, index, dim, "self", self));
  e->dtype = self->dtype;
  e->class_dtype = fnzi_point_class(self->dtype);
  e->cell = self->cell;
  e->stride = fnzi_bytes(self->strides[dim], self->cell);
  self->strides[dim] = 0;
  return FNZ_OK;
}

fnz_status fnzi_kernel_gather(fnzi_call *call) {
  fnzi_window self, index, out;
  elements e = {.row = NULL};
  fnzi_loop loop;
  if (fnzi_array_numel(call->outputs[0]) == 0)
    return FNZ_OK;
  fnzi_window_lanes(fnzi_input(call, 0), &self);
  FNZ_TRY(prepare(call, &self, &index, &e));
  fnzi_window_lanes(call->outputs[0], &out);
  fnzi_loop_start(&loop, out.rank, out.sizes);
  fnzi_loop_add_window(&loop, &out);
  fnzi_loop_add_window(&loop, &index);
  fnzi_loop_add_window(&loop, &self);
  fnzi_loop_run(&loop, gather_row, &e, call->threads, false);
  return FNZ_OK;
}

/* --- Scatter ----------------------------------------------------------------------------- */
/* Columns: name of the reduction, row of point.def, what an untouched place starts from. */
static const struct reduction {
  const char *name, *row;
  double start;
} reductions[] = {{"add", "add", 0},
                  {"sum", "add", 0},
                  {"multiply", "mul", 1},
                  {"prod", "mul", 1},
                  {"amax", "maximum", -INFINITY},
                  {"amin", "minimum", INFINITY}};

static fnz_status find_reduction(const fnzi_call *call, const struct reduction **out) {
  const char *name = fnzi_named_string(call, "reduce");
  if (strcmp(call->op->base, "scatter_add") == 0)
    name = "add";
  *out = NULL;
  if (!*name)
    return FNZ_OK;
  for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
    if (strcmp(reductions[i].name, name) == 0)
      *out = &reductions[i];
  if (!*out)
    return fnzi_refuse(call, FNZ_CLASS_UNSUPPORTED, "reduce %s is not supported", name);
  return FNZ_OK;
}

static void run_scatter(const fnzi_window *to, const fnzi_window *index, const fnzi_window *from,
                        const elements *e) {
  fnzi_loop loop;
  fnzi_loop_start(&loop, index->rank, index->sizes);
  fnzi_loop_add_window(&loop, to);
  fnzi_loop_add_window(&loop, index);
  fnzi_loop_add_window(&loop, from);
  fnzi_loop_run(&loop, scatter_row, e, 1, true);
}

/* The places that are written start from the reduction's neutral value. */
static fnz_status forget_self(const fnzi_call *call, const fnzi_window *to,
                              const fnzi_window *index, const struct reduction *r, elements e) {
  fnz_arg start = {.tag = FNZ_ARG_FLOAT, .u.f = r->start};
  unsigned char room[16];
  fnzi_window from;
  if (isinf(r->start) && !fnzi_is_float(to->dtype))
    return fnzi_refuse(call, FNZ_CLASS_UNSUPPORTED, "reduce %s of integers without self", r->name);
  fnzi_window_number(&start, to->dtype, room, &from);
  e.row = NULL;
  run_scatter(to, index, &from, &e);
  return FNZ_OK;
}

/* src as elements of the type of self, cut to the sizes of the index; or the number `value`. */
static fnz_status find_source(fnzi_call *call, const fnzi_window *index, fnz_dtype dtype,
                              unsigned char *room, fnzi_window *out) {
  const fnzi_array *src = fnzi_named_array(call, "src");
  const void *data;
  if (!src) {
    fnzi_window_number(fnzi_named(call, "value"), dtype, room, out);
    return FNZ_OK;
  }
  fnzi_window_lanes(src, out);
  if (src->place.dtype != dtype) {
    FNZ_TRY(fnzi_dense_as(call, src, dtype, &data));
    fnzi_window_dense(out, dtype, out->rank, out->sizes, data);
  }
  return cut_to_index(call, index, UINT32_MAX, "src", out);
}

fnz_status fnzi_kernel_scatter(fnzi_call *call) {
  const struct reduction *r;
  fnzi_window self, index, from;
  unsigned char room[16];
  elements e = {.row = NULL};
  FNZ_TRY(find_reduction(call, &r));
  if (fnzi_array_numel(fnzi_named_array(call, "index")) == 0)
    return FNZ_OK;
  fnzi_window_lanes(call->outputs[0], &self);
  FNZ_TRY(prepare(call, &self, &index, &e));
  FNZ_TRY(find_source(call, &index, self.dtype, room, &from));
  if (r)
    e.row = fnzi_point_find(e.class_dtype, r->row);
  if (r && !e.row)
    return fnzi_refuse(call, FNZ_CLASS_UNSUPPORTED, "there is no kernel for element type %s",
                       fnzi_dtype(self.dtype)->name);
  if (r && !fnzi_named_bool(call, "include_self", true))
    FNZ_TRY(forget_self(call, &self, &index, r, e));
  run_scatter(&self, &index, &from, &e);
  return FNZ_OK;
}

/* --- put and take: places in the row-major order of all elements ------------------------- */
static fnz_status find_flat(fnzi_call *call, const fnzi_array *self, fnzi_window *out,
                            fnzi_window *index, elements *e) {
  const fnzi_array *given = fnzi_named_array(call, "index");
  int64_t size = fnzi_array_numel(self), count = fnzi_array_numel(given);
  const int64_t *places;
  const void *data;
  if (given->place.dtype != FNZ_I64)
    return fnzi_refuse(call, FNZ_CLASS_TYPE, "index is of type %s, it must be i64",
                       fnzi_dtype(given->place.dtype)->name);
  FNZ_TRY(fnzi_index_values(call, given, size, true, &places));
  FNZ_TRY(fnzi_dense(call, self, &data));
  fnzi_window_dense(index, FNZ_I64, 1, &count, places);
  fnzi_window_dense(out, self->place.dtype, 1, &size, data);
  out->strides[0] = 0;
  e->dtype = self->place.dtype;
  e->class_dtype = fnzi_point_class(e->dtype);
  e->cell = self->cell;
  e->stride = (int64_t)self->cell;
  return FNZ_OK;
}

fnz_status fnzi_kernel_take(fnzi_call *call) {
  fnzi_window self, index, out;
  elements e = {.row = NULL};
  fnzi_loop loop;
  void *data;
  FNZ_TRY(find_flat(call, fnzi_input(call, 0), &self, &index, &e));
  FNZ_TRY(fnzi_result_as(call, 0, e.dtype, &data));
  fnzi_window_dense(&out, e.dtype, 1, index.sizes, data);
  fnzi_loop_start(&loop, 1, index.sizes);
  fnzi_loop_add_window(&loop, &out);
  fnzi_loop_add_window(&loop, &index);
  fnzi_loop_add_window(&loop, &self);
  fnzi_loop_run(&loop, gather_row, &e, call->threads, false);
  return FNZ_OK;
}

static fnz_status check_put(const fnzi_call *call, const fnzi_array *source, const fnzi_array *out,
                            const elements *e) {
  int64_t have = fnzi_array_numel(source), want = fnzi_array_numel(fnzi_named_array(call, "index"));
  if (have != want)
    return fnzi_refuse(call, FNZ_CLASS_BOUNDS, "source has %lld elements, index has %lld",
                       (long long)have, (long long)want);
  if (source->place.dtype != e->dtype)
    return fnzi_refuse(call, FNZ_CLASS_TYPE, "source is %s, self is %s; cast one of them",
                       fnzi_dtype(source->place.dtype)->name, fnzi_dtype(out->place.dtype)->name);
  if (fnzi_named_bool(call, "accumulate", false) && !e->row)
    return fnzi_refuse(call, FNZ_CLASS_UNSUPPORTED, "there is no kernel for element type %s",
                       fnzi_dtype(e->dtype)->name);
  return FNZ_OK;
}

fnz_status fnzi_kernel_put(fnzi_call *call) {
  const fnzi_array *out = call->outputs[0], *source = fnzi_named_array(call, "source");
  fnzi_window self, index, from;
  elements e = {.row = NULL};
  const void *data;
  FNZ_TRY(find_flat(call, out, &self, &index, &e));
  if (fnzi_named_bool(call, "accumulate", false))
    e.row = fnzi_point_find(e.class_dtype, "add");
  FNZ_TRY(check_put(call, source, out, &e));
  FNZ_TRY(fnzi_dense(call, source, &data));
  fnzi_window_dense(&from, e.dtype, 1, index.sizes, data);
  run_scatter(&self, &index, &from, &e);
  if (self.data == fnzi_array_data(out))
    return FNZ_OK;
  fnzi_window to;
  fnzi_window_of(out, &to);
  fnzi_window_dense(&self, e.dtype, to.rank, to.sizes, self.data);
  return fnzi_window_assign(call, &to, &self, false);
}

/* --- Masked scatter ---------------------------------------------------------------------- */
typedef struct cursor {
  const char **next, *end; /* in the elements still to be given out */
  bool *short_of;          /* there were too few */
  size_t cell;
} cursor;

static void masked_row(const void *user, char *const *data, const int64_t *strides, int64_t count) {
  const cursor *c = user;
  for (int64_t i = 0; i < count; i++) {
    if (!data[1][i * strides[1]])
      continue;
    if (*c->next == c->end) {
      *c->short_of = true;
      return;
    }
    memcpy(data[0] + i * strides[0], *c->next, c->cell);
    *c->next += c->cell;
  }
}

/* The true places take the elements of source in row-major order. */
fnz_status fnzi_kernel_masked_scatter(fnzi_call *call) {
  const fnzi_array *out = call->outputs[0], *mask = fnzi_named_array(call, "mask");
  const fnzi_array *source = fnzi_named_array(call, "source");
  const void *data;
  const char *next;
  bool short_of = false;
  fnzi_loop loop;
  FNZ_TRY(fnzi_dense_as(call, source, out->place.dtype, &data));
  next = data;
  cursor c = {&next, next + (size_t)fnzi_array_numel(source) * out->cell, &short_of, out->cell};
  fnzi_loop_start(&loop, out->place.rank, out->place.sizes);
  fnzi_loop_add_array(&loop, out);
  fnzi_loop_add_array(&loop, mask);
  fnzi_loop_run(&loop, masked_row, &c, 1, true);
  if (short_of)
    return fnzi_refuse(call, FNZ_CLASS_BOUNDS, "mask has more true elements than source's %lld",
                       (long long)fnzi_array_numel(source));
  return FNZ_OK;
}
