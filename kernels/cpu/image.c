/* image.c - operators that move the elements of images: padding by the image's own elements,
 * windows as columns and back, shuffled channels, quarter turns. */
#include "kernels/core/convert.h"
#include "kernels/meta/image.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/recording.h"

#define VALUE static inline
#include "kernels/cpu/image_values.h"
#undef VALUE

/* --- Elements that come from elsewhere --------------------------------------------------- */
/* Row-major: each one of `to` is one of `from`, or zero. */
typedef struct cells {
  const char *from;
  char *to;
  size_t cell;
  int64_t have, count;
} cells;

static fnz_status open_cells(fnzi_krn_call *call, cells *out) {
  const fnzi_krn_array *self = fnzi_krn_call_input(call, 0);
  const void *from;
  void *to;
  FNZ_TRY(fnzi_krn_dense_get(call, self, &from));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, self->window.dtype, &to));
  *out = (cells){from, to, self->cell, fnzi_krn_array_numel(self),
                 fnzi_krn_array_numel(call->outputs[0])};
  return FNZ_OK;
}

/* The formula of each element, recorded. */
static fnz_status image_record(fnzi_krn_call *call, const cells *c, const char *name,
                               const int64_t *integers, size_t bytes) {
  fnz_dtype dtype = call->outputs[0]->window.dtype;
  fnzi_cpu_recording t = {.f = {.nwindows = 0}};
  fnzi_cpu_record_window(&t, dtype, c->have, c->from);
  fnzi_cpu_record_window(&t, dtype, c->count, c->to);
  fnzi_cpu_record_integers(&t, integers, bytes);
  return fnzi_cpu_record(call, &t, name, c->count);
}

/* Sizes that the compiler knows need no call. */
static inline void image_put(char *to, const char *from, size_t cell) {
  if (cell == sizeof(uint32_t))
    memcpy(to, from, sizeof(uint32_t));
  else if (cell == sizeof(uint16_t))
    memcpy(to, from, sizeof(uint16_t));
  else if (cell == sizeof(uint64_t))
    memcpy(to, from, sizeof(uint64_t));
  else if (cell == 1)
    *to = *from;
  else
    memcpy(to, from, cell);
}

static void image_move_cell(const cells *c, int64_t to, int64_t from) {
  static const char zeros[16];
  image_put(c->to + (size_t)to * c->cell, from < 0 ? zeros : c->from + (size_t)from * c->cell,
            c->cell);
}

/* `count` cells from element `from` on, `step` apart. */
static void move_cells(const cells *c, int64_t to, int64_t from, int64_t step, int64_t count) {
  int64_t cell = (int64_t)c->cell;
  if (count > 0)
    fnzi_krn_copy_row(c->to + to * cell, cell, c->from + from * cell, step * cell, count, c->cell);
}

/* --- Padding ----------------------------------------------------------------------------- */
/* Elements of the row itself lie together, those at its ends come one by one. */
static void pad_row(const cells *c, const image_padding *p, int64_t to, int64_t row) {
  int64_t before = p->before[2], out = p->out[2], end = before + p->in[2];
  int64_t first = before < 0 ? 0 : before < out ? before : out;
  int64_t last = end < first ? first : end < out ? end : out;
  for (int64_t k = 0; k < first; k++)
    image_move_cell(c, to + k, row + image_source(p, 2, k));
  move_cells(c, to + first, row + first - before, 1, last - first);
  for (int64_t k = last; k < out; k++)
    image_move_cell(c, to + k, row + image_source(p, 2, k));
}

fnz_status fnzi_kernel_pad_image(fnzi_krn_call *call) {
  fnzi_meta_padding read;
  cells c;
  FNZ_TRY(fnzi_meta_padding_read(call, &read));
  FNZ_TRY(open_cells(call, &c));
  image_padding p = {.reflects = read.reflects};
  memcpy(p.in, read.in, sizeof p.in), memcpy(p.out, read.out, sizeof p.out);
  memcpy(p.before, read.before, sizeof p.before);
  if (call->record)
    return image_record(call, &c, "padded", &p.reflects, sizeof p);
  int64_t planes = c.count ? read.planes : 0, to = 0;
  for (int64_t plane = 0; plane < planes; plane++)
    for (int64_t i = 0; i < p.out[0]; i++)
      for (int64_t j = 0; j < p.out[1]; j++) {
        pad_row(&c, &p, to, image_source_row(&p, plane, i, j));
        to += p.out[2];
      }
  return FNZ_OK;
}

/* --- Columns of windows ------------------------------------------------------------------ */
static void clear_cells(const cells *c, int64_t to, int64_t count) {
  memset(c->to + (size_t)to * c->cell, 0, (size_t)count * c->cell);
}

/* One row of places: those inside of the image are a step apart in a row of it. */
static void fill_places(const cells *c, const image_columns *p, int64_t image, int64_t row,
                        int64_t y, int64_t to) {
  int64_t places = p->places[1], step = p->stride[1], size = p->size[1];
  int64_t shift = row % p->kernel[1] * p->dilation[1] - p->padding[1];
  int64_t first = shift < 0 ? (-shift - 1) / step + 1 : 0;
  int64_t last = shift < size ? (size - 1 - shift) / step + 1 : 0;
  first = first < places ? first : places;
  last = last < first ? first : last < places ? last : places;
  int64_t from = first < last ? image_place_of(p, row, y * places + first) : -1;
  if (from < 0) {
    clear_cells(c, to, places);
    return;
  }
  clear_cells(c, to, first);
  move_cells(c, to + first, image * p->volume + from, step, last - first);
  clear_cells(c, to + last, places - last);
}

fnz_status fnzi_kernel_im2col(fnzi_krn_call *call) {
  fnzi_meta_columns read;
  cells c;
  FNZ_TRY(fnzi_meta_columns_read(call, &read));
  FNZ_TRY(open_cells(call, &c));
  image_columns p = {.rows = read.rows, .volume = read.channels * read.size[0] * read.size[1]};
  memcpy(p.size, read.size, sizeof p.size), memcpy(p.kernel, read.kernel, sizeof p.kernel);
  memcpy(p.dilation, read.dilation, sizeof p.dilation);
  memcpy(p.padding, read.padding, sizeof p.padding);
  memcpy(p.stride, read.stride, sizeof p.stride), memcpy(p.places, read.places, sizeof p.places);
  if (call->record)
    return image_record(call, &c, "columns", &p.rows, sizeof p);
  int64_t to = 0;
  for (int64_t image = 0; image < read.batch; image++)
    for (int64_t row = 0; row < p.rows; row++)
      for (int64_t y = 0; y < p.places[0]; y++, to += p.places[1])
        fill_places(&c, &p, image, row, y, to);
  return FNZ_OK;
}

/* Leaves the places whose element at `at` of the window is inside the image, and these elements. */
static void meet(const fnzi_meta_columns *c, int axis, int64_t at, fnzi_krn_window *image,
                 fnzi_krn_window *columns, uint32_t dim) {
  int64_t shift = at * c->dilation[axis] - c->padding[axis], step = c->stride[axis], first = 0;
  if (shift < 0)
    first = (-shift - 1) / step + 1;
  int64_t end = shift < c->size[axis] ? (c->size[axis] - 1 - shift) / step + 1 : 0;
  end = end < c->places[axis] ? end : c->places[axis];
  int64_t count = end > first ? end - first : 0;
  fnzi_krn_window_narrow(columns, dim, first, count);
  fnzi_krn_window_narrow(image, dim, count ? shift + first * step : 0, count);
  image->strides[dim] *= step;
}

/* Elements that windows share are added up, in the order of the rows. */
fnz_status fnzi_kernel_col2im(fnzi_krn_call *call) {
  const fnz_arg zero = {.tag = FNZ_ARG_INT};
  const fnzi_krn_array *self = fnzi_krn_call_input(call, 0), *out = call->outputs[0];
  fnzi_meta_columns c;
  fnzi_krn_window image, columns;
  const void *data;
  FNZ_TRY(fnzi_meta_columns_read(call, &c));
  FNZ_TRY(fnzi_krn_dense_get(call, self, &data));
  FNZ_TRY(fnzi_krn_array_fill(call, out, &zero));
  const int64_t sizes[] = {c.batch, c.channels, c.kernel[0], c.kernel[1], c.places[0], c.places[1]};
  fnzi_krn_window_dense(&columns, self->window.dtype, 6, sizes, data);
  fnzi_krn_window_of(out, &image);
  if (!c.batched)
    fnzi_krn_window_insert(&image, 0, 1, 0);
  for (int64_t i = 0; i < c.kernel[0] * c.kernel[1]; i++) {
    int64_t y = i / c.kernel[1], x = i % c.kernel[1];
    fnzi_krn_window to = image, from = columns;
    fnzi_krn_window_select(&from, 3, x);
    fnzi_krn_window_select(&from, 2, y);
    meet(&c, 0, y, &to, &from, 2);
    meet(&c, 1, x, &to, &from, 3);
    FNZ_TRY(fnzi_cpu_window_combine(call, "add", &to, &from, NULL));
  }
  return FNZ_OK;
}

/* --- Shuffling and turning --------------------------------------------------------------- */
/* Dimension 1 becomes `outer` by the rest. */
static void cut_channels(fnzi_krn_window *w, int64_t outer) {
  int64_t inner = w->sizes[1] / outer;
  fnzi_krn_window_insert(w, 1, outer, w->strides[1] * inner);
  w->sizes[2] = inner;
}

static void image_exchange(fnzi_krn_window *w, uint32_t a, uint32_t b) {
  int64_t size = w->sizes[a], stride = w->strides[a];
  w->sizes[a] = w->sizes[b], w->strides[a] = w->strides[b];
  w->sizes[b] = size, w->strides[b] = stride;
}

/* Channels (groups, rest) become (rest, groups). */
fnz_status fnzi_kernel_channel_shuffle(fnzi_krn_call *call) {
  int64_t groups = fnzi_krn_named_int(call, "groups", 1);
  fnzi_krn_window from, to;
  if (!fnzi_krn_array_numel(call->outputs[0]))
    return FNZ_OK;
  fnzi_krn_window_of(fnzi_krn_call_input(call, 0), &from);
  fnzi_krn_window_of(call->outputs[0], &to);
  cut_channels(&from, groups);
  cut_channels(&to, to.sizes[1] / groups);
  image_exchange(&to, 1, 2);
  return fnzi_krn_window_assign(call, &to, &from, false);
}

static void flip(fnzi_krn_window *w, uint32_t dim) {
  w->data += (w->sizes[dim] - 1) * w->strides[dim] * (int64_t)w->cell;
  w->strides[dim] = -w->strides[dim];
}

fnz_status fnzi_kernel_rot90(fnzi_krn_call *call) {
  int64_t quarters = fnzi_krn_named_int(call, "k", 1) & 3;
  fnzi_krn_window from, to;
  const int64_t *dims;
  size_t count;
  uint32_t a, b;
  if (!fnzi_krn_array_numel(call->outputs[0]))
    return FNZ_OK;
  fnzi_krn_window_of(fnzi_krn_call_input(call, 0), &from);
  fnzi_krn_window_of(call->outputs[0], &to);
  FNZ_TRY(fnzi_krn_named_ints(call, "dims", &dims, &count));
  FNZ_TRY(fnzi_wrap_dim(call->ctx, call->op->name, dims[0], from.rank, &a));
  FNZ_TRY(fnzi_wrap_dim(call->ctx, call->op->name, dims[1], from.rank, &b));
  if (quarters == 2 || quarters == 3)
    flip(&from, a);
  if (quarters == 1 || quarters == 2)
    flip(&from, b);
  if (quarters % 2)
    image_exchange(&from, a, b);
  return fnzi_krn_window_assign(call, &to, &from, false);
}
