/* padding_backward.c - what flows back where elements were only moved: padding that reflects or
 * repeats, and images made larger by their nearest elements. The operator itself, on the places
 * instead of the elements, says where each came from; there all that it became adds up. */
#include "kernels/decomp/decomp.h"

/* The last `count` sizes of `sizes` (rank of them) are of an image. */
typedef struct image {
  uint32_t rank, count;
  const int64_t *sizes;
} image;

static int64_t elements(const image *m) {
  int64_t product = 1;
  for (uint32_t d = m->rank - m->count; d < m->rank; d++)
    product *= m->sizes[d];
  return product;
}

/* Numbered places as an image of one channel in a batch of one. */
static fnzi_krn_array *numbered(fnzi_dec_steps *s, const image *m, fnz_dtype dtype) {
  int64_t sizes[FNZ_MAX_RANK] = {1, 1};
  for (uint32_t d = 0; d < m->count; d++)
    sizes[d + 2] = m->sizes[m->rank - m->count + d];
  return fnzi_dec_reshaped(s, STEP(arange, I(elements(m)), DTYPE(dtype)), sizes, m->count + 2);
}

static void give_back(fnzi_dec_steps *s, const image *m, fnzi_krn_array *places) {
  fnzi_krn_array *grad = fnzi_dec_given_array(s, "grad_output");
  fnz_dtype dtype = fnzi_dec_array_dtype(grad);
  int64_t many = fnzi_dec_array_numel(places), planes = 1;
  for (uint32_t d = 0; d + m->count < m->rank; d++)
    planes *= m->sizes[d];
  if (s->status == FNZ_OK &&
      (fnzi_dec_array_rank(grad) != m->rank || fnzi_dec_array_numel(grad) != planes * many))
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                    "grad_output has %lld elements in %u dimensions; it needs %lld "
                    "for each of %lld planes",
                    (long long)fnzi_dec_array_numel(grad), fnzi_dec_array_rank(grad),
                    (long long)many, (long long)planes);
  if (s->status != FNZ_OK)
    return;
  fnz_dtype wide = fnzi_dec_wide(dtype);
  fnzi_krn_array *zeros = STEP(zeros, INTS(planes, elements(m)), DTYPE(wide));
  places = fnzi_dec_cast(s, RESHAPED(places, many), FNZ_I64);
  grad = RESHAPED(fnzi_dec_cast(s, grad, wide), planes, many);
  fnzi_krn_array *sum = STEP(index_add, V(zeros), I(1), V(places), V(grad));
  fnzi_dec_result_give(s, fnzi_dec_reshaped(s, fnzi_dec_cast(s, sum, dtype), m->sizes, m->rank));
}

/* --- Padding ---------------------------------------------------------------------------------- */
static void give_unpadded(fnzi_dec_steps *s, size_t op, uint32_t dims) {
  fnzi_krn_array *self = fnzi_dec_given_array(s, "self");
  if (fnzi_dec_array_rank(self) != dims + 1 && fnzi_dec_array_rank(self) != dims + 2)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "self has %u dimensions; it needs %u or %u",
                    fnzi_dec_array_rank(self), dims + 1, dims + 2);
  if (s->status != FNZ_OK)
    return;
  const image m = {fnzi_dec_array_rank(self), dims, self->geometry.sizes};
  const fnz_arg args[] = {V(numbered(s, &m, FNZ_I64)), *fnzi_krn_named(s->call, "padding")};
  give_back(s, &m, fnzi_dec_step(s, op, args, 2));
}

#define UNPADDED(kind, dims)                                                                       \
  DECOMP(kind##_##dims##d_backward) {                                                              \
    give_unpadded(s, FNZI_ATEN_##kind##_pad##dims##d, dims);                                       \
  }
UNPADDED(reflection, 1)
UNPADDED(reflection, 2)
UNPADDED(reflection, 3)
UNPADDED(replication, 1)
UNPADDED(replication, 2)
UNPADDED(replication, 3)

/* --- Nearest elements ------------------------------------------------------------------------- */
static void give_shrunk(fnzi_dec_steps *s, size_t op, uint32_t dims) {
  int64_t sizes[FNZ_MAX_RANK];
  fnz_arg args[5];
  if (s->status == FNZ_OK)
    s->status = fnzi_krn_named_ints_of(s->call, "input_size", dims + 2, 0, sizes);
  if (s->status == FNZ_OK)
    s->status = fnzi_krn_sizes_check(s->call->ctx, dims + 2, sizes, sizeof(double));
  if (s->status != FNZ_OK)
    return;
  const image m = {dims + 2, dims, sizes};
  args[0] = V(numbered(s, &m, FNZ_F64));
  args[1] = *fnzi_krn_named(s->call, "output_size");
  for (uint32_t d = 0; d < dims; d++)
    args[2 + d] = s->call->args[3 + d];
  give_back(s, &m, fnzi_dec_step(s, op, args, 2 + dims));
}

#define SHRUNK(kind, op, dims)                                                                     \
  DECOMP(kind##_##dims##d_backward) {                                                              \
    give_shrunk(s, FNZI_ATEN_##op##dims##d, dims);                                                 \
  }
SHRUNK(nearest, upsample_nearest, 1)
SHRUNK(nearest, upsample_nearest, 2)
SHRUNK(nearest, upsample_nearest, 3)
SHRUNK(nearest_exact, _upsample_nearest_exact, 1)
SHRUNK(nearest_exact, _upsample_nearest_exact, 2)
SHRUNK(nearest_exact, _upsample_nearest_exact, 3)
