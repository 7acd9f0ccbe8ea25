/* image.cu - an element of what kernels/cpu/image.c moves. Integers are an image_padding, or an
 * image_columns. */
VALUE void formula_padded(int64_t at, const cells *w, const int64_t *n, const double *d) {
  (void)d;
  move_cell_or(&w[1], at, &w[0], image_source_at((const image_padding *)n, at), 0);
}
VALUE void formula_columns(int64_t at, const cells *w, const int64_t *n, const double *d) {
  (void)d;
  move_cell_or(&w[1], at, &w[0], image_place_at((const image_columns *)n, at), 0);
}
