/* image.c - shapes of operators that pad, cut up, shuffle, turn and sample images, and of distances
 * between points. */
#include "kernels/meta/image.h"
#include "kernels/meta/nn_image.h"

/* --- Padding ----------------------------------------------------------------------------- */
fnz_status fnzi_meta_padding_read(fnzi_krn_call *call, fnzi_meta_padding *out) {
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  const char *name = fnz_op_name(call->op);
  int64_t sizes[FNZ_MAX_RANK + 1];
  const int64_t *pads;
  size_t count;
  bool batched;
  fnzi_meta_padding p = {.spatial = (uint32_t)(*strpbrk(name, "123") - '0'),
                         .reflects = call->row->mode == FNZI_MODE_reflection,
                         .in = {1, 1, 1},
                         .out = {1, 1, 1}};
  FNZ_TRY(fnzi_krn_named_ints(call, "padding", &pads, &count));
  if (count != 2 * (size_t)p.spatial)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "%zu numbers of padding, %u are needed",
                                count, 2 * p.spatial);
  FNZ_TRY(fnzi_meta_image_open(call, g, p.spatial, sizes, &batched));
  p.planes = sizes[0] * sizes[1];
  for (uint32_t i = 0; i < p.spatial; i++) {
    uint32_t at = FNZI_IMAGE_SPATIAL - 1 - i;
    int64_t in = sizes[p.spatial + 1 - i], before = pads[2 * i], behind = pads[2 * i + 1];
    p.in[at] = in;
    p.before[at] = before;
    if (p.reflects && (before >= in || behind >= in))
      return fnzi_krn_call_refuse(
          call, FNZ_CLASS_BOUNDS,
          "padding (%lld, %lld) must be less than the size %lld that it reflects",
          (long long)before, (long long)behind, (long long)in);
    if (!fnzi_add_i64(in, before, &p.out[at]) || !fnzi_add_i64(p.out[at], behind, &p.out[at]))
      return fnzi_krn_call_refuse(call, FNZ_CLASS_OVERFLOW, "a padded size leaves 64 bits");
    if (p.out[at] < 1 || in < 1)
      return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                  "a size of %lld padded by (%lld, %lld) is empty", (long long)in,
                                  (long long)before, (long long)behind);
  }
  *out = p;
  return FNZ_OK;
}

fnz_status fnzi_shape_pad_image(fnzi_krn_call *call) {
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  int64_t sizes[FNZ_MAX_RANK];
  fnzi_meta_padding p;
  if (g->dtype == FNZ_BOOL)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "not for bool; cast self to an integer");
  FNZ_TRY(fnzi_meta_padding_read(call, &p));
  for (uint32_t i = 0; i < g->rank; i++)
    sizes[i] = i + p.spatial < g->rank ? g->sizes[i] : p.out[FNZI_IMAGE_SPATIAL + i - g->rank];
  return fnzi_shape_add_image(call, g->dtype, g->rank, sizes, g);
}

/* --- Columns of windows ------------------------------------------------------------------ */
static fnz_status image_count_places(fnzi_krn_call *call, fnzi_meta_columns *c) {
  for (int i = 0; i < 2; i++) {
    if (c->kernel[i] < 1 || c->dilation[i] < 1 || c->stride[i] < 1 || c->padding[i] < 0)
      return fnzi_krn_call_refuse(
          call, FNZ_CLASS_BOUNDS,
          "kernel_size %lld, dilation %lld and stride %lld must be positive, padding "
          "%lld not negative",
          (long long)c->kernel[i], (long long)c->dilation[i], (long long)c->stride[i],
          (long long)c->padding[i]);
    fnzi_meta_slide w = {c->size[i],    c->kernel[i],   c->stride[i],
                         c->padding[i], c->dilation[i], false};
    c->places[i] = fnzi_meta_slide_places(&w);
    if (c->places[i] < 1)
      return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                  "a window of %lld does not fit a size of %lld",
                                  (long long)c->kernel[i], (long long)c->size[i]);
  }
  return FNZ_OK;
}

/* im2col takes the image's sizes from its argument, col2im from arguments of its own. */
fnz_status fnzi_meta_columns_read(fnzi_krn_call *call, fnzi_meta_columns *out) {
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  bool has_image = fnzi_op_param(call->op, "output_size") < 0;
  int64_t sizes[FNZ_MAX_RANK + 1], window;
  fnzi_meta_columns c = {.batched = false};
  FNZ_TRY(fnzi_meta_image_open(call, g, has_image ? 2 : 1, sizes, &c.batched));
  FNZ_TRY(fnzi_krn_named_ints_of(call, "kernel_size", 2, 1, c.kernel));
  FNZ_TRY(fnzi_krn_named_ints_of(call, "dilation", 2, 1, c.dilation));
  FNZ_TRY(fnzi_krn_named_ints_of(call, "padding", 2, 0, c.padding));
  FNZ_TRY(fnzi_krn_named_ints_of(call, "stride", 2, 1, c.stride));
  if (has_image)
    memcpy(c.size, sizes + 2, sizeof c.size);
  else
    FNZ_TRY(fnzi_krn_named_ints_of(call, "output_size", 2, 1, c.size));
  FNZ_TRY(image_count_places(call, &c));
  c.batch = sizes[0];
  if (!fnzi_mul_i64(c.kernel[0], c.kernel[1], &window) ||
      (has_image && !fnzi_mul_i64(sizes[1], window, &c.rows)))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_OVERFLOW, "the elements of a window leave 64 bits");
  if (!has_image)
    c.rows = sizes[1];
  c.channels = c.rows / window;
  *out = c;
  return FNZ_OK;
}

static fnz_status check_columns_dtype(const fnzi_krn_call *call) {
  fnz_dtype dtype = fnzi_krn_call_geometry(call, 0)->dtype;
  if (fnzi_is_integer(dtype))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE,
                                "not for %s; cast self to a floating-point type",
                                fnzi_dtype(dtype)->name);
  return FNZ_OK;
}

fnz_status fnzi_shape_im2col(fnzi_krn_call *call) {
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  fnzi_meta_columns c;
  FNZ_TRY(check_columns_dtype(call));
  FNZ_TRY(fnzi_meta_columns_read(call, &c));
  const int64_t sizes[] = {c.batch, c.rows, c.places[0] * c.places[1]};
  return fnzi_shape_add(call, g->dtype, c.batched ? 3 : 2, sizes + (c.batched ? 0 : 1), NULL);
}

fnz_status fnzi_shape_col2im(fnzi_krn_call *call) {
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  fnzi_meta_columns c;
  FNZ_TRY(check_columns_dtype(call));
  FNZ_TRY(fnzi_meta_columns_read(call, &c));
  int64_t places = c.places[0] * c.places[1];
  if (c.rows != c.channels * c.kernel[0] * c.kernel[1] || g->sizes[g->rank - 1] != places)
    return fnzi_krn_call_refuse(
        call, FNZ_CLASS_BOUNDS,
        "%lld rows of %lld do not fit windows of %lld by %lld at %lld places", (long long)c.rows,
        (long long)g->sizes[g->rank - 1], (long long)c.kernel[0], (long long)c.kernel[1],
        (long long)places);
  const int64_t sizes[] = {c.batch, c.channels, c.size[0], c.size[1]};
  return fnzi_shape_add(call, g->dtype, c.batched ? 4 : 3, sizes + (c.batched ? 0 : 1), NULL);
}

/* --- Shuffling and turning --------------------------------------------------------------- */
fnz_status fnzi_shape_channel_shuffle(fnzi_krn_call *call) {
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  int64_t groups = fnzi_krn_named_int(call, "groups", 1);
  if (g->rank < 3 || g->rank == FNZ_MAX_RANK)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "self has rank %u, it needs 3 to %d",
                                g->rank, FNZ_MAX_RANK - 1);
  if (groups < 1 || g->sizes[1] % groups)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "%lld groups do not divide %lld channels",
                                (long long)groups, (long long)g->sizes[1]);
  return fnzi_shape_add_image(call, g->dtype, g->rank, g->sizes, g);
}

/* A quarter turn is a flip seen with two dimensions exchanged. */
fnz_status fnzi_shape_rot90(fnzi_krn_call *call) {
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  int64_t sizes[FNZ_MAX_RANK], strides[FNZ_MAX_RANK];
  const int64_t *dims;
  size_t count;
  uint32_t a, b;
  FNZ_TRY(fnzi_krn_named_ints(call, "dims", &dims, &count));
  if (count != 2 || g->rank < 2)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "%zu dims of a tensor of rank %u, 2 are needed", count, g->rank);
  FNZ_TRY(fnzi_wrap_dim(call->ctx, call->op->name, dims[0], g->rank, &a));
  FNZ_TRY(fnzi_wrap_dim(call->ctx, call->op->name, dims[1], g->rank, &b));
  if (a == b)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "dimension %u appears twice", a);
  int64_t quarters = fnzi_krn_named_int(call, "k", 1) & 3;
  if (quarters == 0)
    return fnzi_shape_add(call, g->dtype, g->rank, g->sizes, NULL);
  memcpy(sizes, g->sizes, g->rank * sizeof *sizes);
  memcpy(strides, g->strides, g->rank * sizeof *strides);
  if (quarters != 2) {
    sizes[a] = g->sizes[b], sizes[b] = g->sizes[a];
    strides[a] = g->strides[b], strides[b] = g->strides[a];
  }
  const fnz_geometry rotated = {
      .dtype = g->dtype, .rank = g->rank, .sizes = sizes, .strides = strides};
  return fnzi_shape_add_like(call, g->dtype, &rotated);
}

/* --- Sampling ---------------------------------------------------------------------------- */
enum { IMAGES = 4, VOLUMES = 5 }; /* by their rank */

static bool grid_fits(const fnz_geometry *x, const fnz_geometry *grid) {
  uint32_t rank = x->rank;
  bool fits = grid->rank == rank && x->sizes[0] == grid->sizes[0] &&
              grid->sizes[rank - 1] == (int64_t)rank - 2;
  for (uint32_t d = 2; fits && d < rank; d++)
    fits = x->sizes[d] > 0;
  return fits;
}

static fnz_status check_sample(const fnzi_krn_call *call, const fnz_geometry *x,
                               const fnz_geometry *grid, uint32_t least_rank, uint32_t most_rank) {
  int64_t mode = fnzi_krn_named_int(call, "interpolation_mode", 0);
  int64_t padding = fnzi_krn_named_int(call, "padding_mode", 0);
  if (x->dtype != grid->dtype)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "input is %s, grid is %s; cast one of them",
                                fnzi_dtype(x->dtype)->name, fnzi_dtype(grid->dtype)->name);
  if (x->rank < least_rank || x->rank > most_rank || !grid_fits(x, grid))
    return fnzi_krn_call_refuse(
        call, FNZ_CLASS_BOUNDS,
        "input must be (batch, channels, rows, columns), not empty, and grid (the "
        "same batch, rows, columns, 2), or both with a depth before the rows and 3 "
        "numbers; they have ranks %u and %u",
        x->rank, grid->rank);
  if (mode < 0 || mode > 2 || padding < 0 || padding > 2)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "interpolation_mode %lld and padding_mode %lld must be 0, 1 or 2",
                                (long long)mode, (long long)padding);
  if (mode == 2 && x->rank == VOLUMES)
    return fnzi_krn_call_refuse(
        call, FNZ_CLASS_UNSUPPORTED,
        "interpolation_mode 2 is for images; give 0 or 1 for what has a depth");
  return FNZ_OK;
}

static fnz_status sample(fnzi_krn_call *call, uint32_t least_rank, uint32_t most_rank) {
  const fnz_geometry *x = fnzi_krn_call_geometry(call, 0), *grid = fnzi_krn_call_geometry(call, 1);
  FNZ_TRY(check_sample(call, x, grid, least_rank, most_rank));
  int64_t sizes[] = {x->sizes[0], x->sizes[1], grid->sizes[1], grid->sizes[2], grid->sizes[3]};
  return fnzi_shape_add(call, x->dtype, x->rank, sizes, NULL);
}

fnz_status fnzi_shape_grid_sampler(fnzi_krn_call *call) {
  return sample(call, IMAGES, VOLUMES);
}

fnz_status fnzi_shape_grid_sampler_2d(fnzi_krn_call *call) {
  return sample(call, IMAGES, IMAGES);
}

fnz_status fnzi_shape_grid_sampler_3d(fnzi_krn_call *call) {
  return sample(call, VOLUMES, VOLUMES);
}

/* The gradient of the input, if output_mask has it, and of the grid, always. */
static fnz_status sample_backward(fnzi_krn_call *call, uint32_t rank) {
  const fnz_geometry *grad = fnzi_krn_call_geometry(call, 0), *x = fnzi_krn_call_geometry(call, 1),
                     *grid = fnzi_krn_call_geometry(call, 2);
  const fnz_arg *mask = fnzi_krn_named(call, "output_mask");
  FNZ_TRY(check_sample(call, x, grid, rank, rank));
  bool fits = grad->dtype == x->dtype && grad->rank == rank && grad->sizes[0] == x->sizes[0] &&
              grad->sizes[1] == x->sizes[1];
  for (uint32_t d = 2; fits && d < rank; d++)
    fits = grad->sizes[d] == grid->sizes[d - 1];
  if (!fits)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "grad_output must be of input's type, with its batch and channels, "
                                "and have the sizes of grid behind them");
  if (mask->count != 2)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "output_mask has %u items; it needs 2",
                                mask->count);
  if (mask->u.list[0].u.i)
    FNZ_TRY(fnzi_shape_add(call, x->dtype, rank, x->sizes, NULL));
  else
    call->outputs[call->noutputs++] = NULL;
  return fnzi_shape_add(call, x->dtype, rank, grid->sizes, NULL);
}

fnz_status fnzi_shape_grid_sampler_2d_backward(fnzi_krn_call *call) {
  return sample_backward(call, IMAGES);
}

fnz_status fnzi_shape_grid_sampler_3d_backward(fnzi_krn_call *call) {
  return sample_backward(call, VOLUMES);
}

/* --- Distances --------------------------------------------------------------------------- */
static fnz_status check_order(fnzi_krn_call *call) {
  double order = fnzi_krn_named_float(call, "p", 2);
  if (!(order >= 0))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "p is %g, it must not be negative", order);
  if (fnzi_krn_call_geometry(call, 0)->dtype < FNZ_F32)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "not for %s; cast to f32 or f64",
                                fnzi_dtype(fnzi_krn_call_geometry(call, 0)->dtype)->name);
  return FNZ_OK;
}

fnz_status fnzi_shape_cdist(fnzi_krn_call *call) {
  const fnz_geometry *a = fnzi_krn_call_geometry(call, 0), *b = fnzi_krn_call_geometry(call, 1);
  int64_t sizes[FNZ_MAX_RANK];
  uint32_t rank;
  FNZ_TRY(check_order(call));
  if (a->dtype != b->dtype)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "x1 is %s, x2 is %s; cast one of them",
                                fnzi_dtype(a->dtype)->name, fnzi_dtype(b->dtype)->name);
  if (a->rank < 2 || b->rank < 2 || a->sizes[a->rank - 1] != b->sizes[b->rank - 1])
    return fnzi_krn_call_refuse(
        call, FNZ_CLASS_BOUNDS,
        "ranks %u and %u: both must be 2 or more, with points of the same length", a->rank,
        b->rank);
  fnz_geometry batch_a = *a, batch_b = *b;
  batch_a.rank -= 2, batch_b.rank -= 2;
  FNZ_TRY(fnzi_meta_broadcast(call, (const fnz_geometry *const[]){&batch_a, &batch_b}, 2, &rank,
                              sizes));
  sizes[rank++] = a->sizes[a->rank - 2];
  sizes[rank++] = b->sizes[b->rank - 2];
  return fnzi_shape_add(call, a->dtype, rank, sizes, NULL);
}

fnz_status fnzi_shape_pdist(fnzi_krn_call *call) {
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  int64_t pairs;
  FNZ_TRY(check_order(call));
  if (g->rank != 2)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "self has rank %u, it must be a matrix",
                                g->rank);
  if (!fnzi_mul_i64(g->sizes[0], g->sizes[0] > 0 ? g->sizes[0] - 1 : 0, &pairs))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_OVERFLOW, "the pairs of %lld points leave 64 bits",
                                (long long)g->sizes[0]);
  pairs /= 2;
  return fnzi_shape_add(call, g->dtype, 1, &pairs, NULL);
}

fnz_status fnzi_shape_pdist_contiguous(fnzi_krn_call *call) {
  if (!fnzi_is_contiguous(fnzi_krn_call_geometry(call, 0)))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "self is not contiguous; make it so");
  return fnzi_shape_pdist(call);
}
