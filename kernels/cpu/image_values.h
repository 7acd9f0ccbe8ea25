/* image_values.h - where elements of padded images, and of windows as columns, come from: text for
 * the CPU and for a GPU. The includer defines VALUE. */

/* Integers alone, which a GPU gets one by one. */
typedef struct image_padding {
  int64_t reflects;
  int64_t in[3], out[3], before[3];
} image_padding;

/* The index of the element at a place of the padded dimension. */
VALUE int64_t image_source(const image_padding *p, int axis, int64_t place) {
  int64_t at = place - p->before[axis], last = p->in[axis] - 1;
  if (at < 0)
    return p->reflects ? -at : 0;
  if (at > last)
    return p->reflects ? 2 * last - at : last;
  return at;
}

/* The index of the source of row (i, j) of a padded plane. */
VALUE int64_t image_source_row(const image_padding *p, int64_t plane, int64_t i, int64_t j) {
  return ((plane * p->in[0] + image_source(p, 0, i)) * p->in[1] + image_source(p, 1, j)) * p->in[2];
}

/* The index of the source of element `at` of all padded planes. */
VALUE int64_t image_source_at(const image_padding *p, int64_t at) {
  int64_t k = at % p->out[2], j = at / p->out[2] % p->out[1];
  int64_t rows = at / p->out[2] / p->out[1], i = rows % p->out[0], plane = rows / p->out[0];
  return image_source_row(p, plane, i, j) + image_source(p, 2, k);
}

typedef struct image_columns {
  int64_t rows, volume; /* elements of an image */
  int64_t size[2], kernel[2], dilation[2], padding[2], stride[2], places[2];
} image_columns;

/* The index in its image of element (row, place) of the columns; -1 in the padding. Rows are
 * (channel, row of the window, column of the window). */
VALUE int64_t image_place_of(const image_columns *c, int64_t row, int64_t place) {
  int64_t x = row % c->kernel[1], y = row / c->kernel[1] % c->kernel[0];
  int64_t channel = row / c->kernel[1] / c->kernel[0];
  y = place / c->places[1] * c->stride[0] - c->padding[0] + y * c->dilation[0];
  x = place % c->places[1] * c->stride[1] - c->padding[1] + x * c->dilation[1];
  if (y < 0 || y >= c->size[0] || x < 0 || x >= c->size[1])
    return -1;
  return (channel * c->size[0] + y) * c->size[1] + x;
}

/* The index among all images of element `at` of all columns; -1 in the padding. */
VALUE int64_t image_place_at(const image_columns *c, int64_t at) {
  int64_t places = c->places[0] * c->places[1], image = at / places / c->rows;
  int64_t place = image_place_of(c, at / places % c->rows, at % places);
  return place < 0 ? -1 : image * c->volume + place;
}
