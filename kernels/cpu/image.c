/* image.c - operators that move the elements of images: padding by what is there already, windows
 * as columns and back, shuffled channels, quarter turns. */
#include "kernels/meta/image.h"
#include "kernels/cpu/cpu.h"

/* --- Padding ----------------------------------------------------------------------------- */
/* Which element stands at a place of the padded dimension. */
static int64_t source(const fnzi_meta_padding *p, int axis, int64_t place) {
  int64_t at = place - p->before[axis], last = p->in[axis] - 1;
  if (at < 0)
    return p->reflects ? -at : 0;
  if (at > last)
    return p->reflects ? 2 * last - at : last;
  return at;
}

static void pad_plane(const fnzi_meta_padding *p, const char *from, char *to, size_t cell) {
  for (int64_t i = 0; i < p->out[0]; i++)
    for (int64_t j = 0; j < p->out[1]; j++) {
      const char *row =
          from + (size_t)((source(p, 0, i) * p->in[1] + source(p, 1, j)) * p->in[2]) * cell;
      for (int64_t k = 0; k < p->out[2]; k++, to += cell)
        memcpy(to, row + (size_t)source(p, 2, k) * cell, cell);
    }
}

fnz_status fnzi_kernel_pad_image(fnzi_krn_call *call) {
  const fnzi_krn_array *self = fnzi_krn_call_input(call, 0);
  const void *from;
  void *to;
  fnzi_meta_padding p;
  FNZ_TRY(fnzi_meta_padding_read(call, &p));
  FNZ_TRY(fnzi_krn_dense_get(call, self, &from));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, self->place.dtype, &to));
  size_t in = (size_t)(p.in[0] * p.in[1] * p.in[2]) * self->cell;
  size_t out = (size_t)(p.out[0] * p.out[1] * p.out[2]) * self->cell;
  for (int64_t i = 0; i < p.planes; i++)
    pad_plane(&p, (const char *)from + (size_t)i * in, (char *)to + (size_t)i * out, self->cell);
  return FNZ_OK;
}

/* --- Columns of windows ------------------------------------------------------------------ */
/* Where element (row, place) of the columns stands in its image; -1 in the padding. Rows are
 * (channel, row of the window, column of the window). */
static int64_t place_of(const fnzi_meta_columns *c, int64_t row, int64_t place) {
  int64_t x = row % c->kernel[1], y = row / c->kernel[1] % c->kernel[0];
  int64_t channel = row / c->kernel[1] / c->kernel[0];
  y = place / c->places[1] * c->stride[0] - c->padding[0] + y * c->dilation[0];
  x = place % c->places[1] * c->stride[1] - c->padding[1] + x * c->dilation[1];
  if (y < 0 || y >= c->size[0] || x < 0 || x >= c->size[1])
    return -1;
  return (channel * c->size[0] + y) * c->size[1] + x;
}

fnz_status fnzi_kernel_im2col(fnzi_krn_call *call) {
  const fnzi_krn_array *self = fnzi_krn_call_input(call, 0);
  const void *data;
  void *out;
  fnzi_meta_columns c;
  FNZ_TRY(fnzi_meta_columns_read(call, &c));
  FNZ_TRY(fnzi_krn_dense_get(call, self, &data));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, self->place.dtype, &out));
  size_t image_bytes = (size_t)(c.channels * c.size[0] * c.size[1]) * self->cell;
  const char *image = data;
  char *to = out;
  for (int64_t n = 0; n < c.batch; n++, image += image_bytes)
    for (int64_t row = 0; row < c.rows; row++)
      for (int64_t i = 0; i < c.places[0] * c.places[1]; i++, to += self->cell) {
        int64_t at = place_of(&c, row, i);
        if (at < 0)
          memset(to, 0, self->cell);
        else
          memcpy(to, image + (size_t)at * self->cell, self->cell);
      }
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

/* What windows share is added up, in the order of the rows. */
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
  fnzi_krn_window_dense(&columns, self->place.dtype, 6, sizes, data);
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

static void exchange(fnzi_krn_window *w, uint32_t a, uint32_t b) {
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
  exchange(&to, 1, 2);
  return fnzi_krn_window_assign(call, &to, &from, false);
}

static void flip(fnzi_krn_window *w, uint32_t dim) {
  w->data += (w->sizes[dim] - 1) * w->strides[dim] * (int64_t)w->cell;
  w->strides[dim] = -w->strides[dim];
}

fnz_status fnzi_kernel_rot90(fnzi_krn_call *call) {
  int64_t turns = fnzi_krn_named_int(call, "k", 1) & 3;
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
  if (turns == 2 || turns == 3)
    flip(&from, a);
  if (turns == 1 || turns == 2)
    flip(&from, b);
  if (turns % 2)
    exchange(&from, a, b);
  return fnzi_krn_window_assign(call, &to, &from, false);
}
