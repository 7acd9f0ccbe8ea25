/* overloads.c - overloads, and operators under other names, that are one call of an operator with a
 * kernel. */
#include "kernels/decomp/decomp.h"
#include "kernels/meta/pool.h"

/* An argument as it is; None where the operator has no such parameter. */
static fnz_arg as_given(const fnzi_dec_steps *s, const char *name) {
  return fnzi_op_param(s->call->op, name) < 0 ? NONE : *fnzi_krn_named(s->call, name);
}

/* --- Variances -------------------------------------------------------------------------------- */
/* Elements less one count, if the variance is that of a sample. */
static fnz_arg correction(const fnzi_dec_steps *s) {
  return I(fnzi_krn_named_bool(s->call, "unbiased", true) ? 1 : 0);
}

DECOMP(var_by_correction) {
  GIVE(STEP(var__correction, V(GIVEN("self")), NONE, correction(s)));
}

DECOMP(std_by_correction) {
  GIVE(STEP(std__correction, V(GIVEN("self")), NONE, correction(s)));
}

static void give_with_mean(fnzi_dec_steps *s, size_t op) {
  fnzi_krn_array *made[2];
  const fnz_arg args[] = {V(GIVEN("self")), as_given(s, "dim"), correction(s),
                          B(GIVEN_BOOL("keepdim"))};
  fnzi_dec_step_into(s, op, args, sizeof args / sizeof *args, made, 2);
  GIVE(made[0]);
  GIVE(made[1]);
}

DECOMP(var_mean_by_correction) {
  give_with_mean(s, FNZI_ATEN_var_mean__correction);
}

DECOMP(std_mean_by_correction) {
  give_with_mean(s, FNZI_ATEN_std_mean__correction);
}

/* --- Norms of vectors, counts ----------------------------------------------------------------- */
DECOMP(norm_of_vector) {
  const fnz_arg p = as_given(s, "p");
  const bool is_given = p.tag != FNZ_ARG_NONE && p.tag != FNZ_ARG_DEFAULT;
  GIVE(STEP(linalg_vector_norm, V(GIVEN("self")), is_given ? p : I(2), as_given(s, "dim"),
            B(GIVEN_BOOL("keepdim")), as_given(s, "dtype")));
}

DECOMP(count_along) {
  const fnz_arg dim = as_given(s, "dim");
  GIVE(STEP(count_nonzero__dim_IntList, V(GIVEN("self")),
            dim.tag == FNZ_ARG_INT ? INTS(dim.u.i) : fnzi_dec_ints(s, NULL, 0)));
}

/* --- Losses of classes ------------------------------------------------------------------------ */
static void overloads_give_loss(fnzi_dec_steps *s, size_t op) {
  fnzi_krn_array *made[2];
  const fnz_arg args[] = {V(GIVEN("self")), V(GIVEN("target")), V(GIVEN("weight")),
                          as_given(s, "reduction"), as_given(s, "ignore_index")};
  fnzi_dec_step_into(s, op, args, sizeof args / sizeof *args, made, 2);
  GIVE(made[0]);
}

DECOMP(nll_loss_alone) {
  overloads_give_loss(s, FNZI_ATEN_nll_loss_forward);
}

DECOMP(nll_loss2d_alone) {
  overloads_give_loss(s, FNZI_ATEN_nll_loss2d_forward);
}

/* --- Places ----------------------------------------------------------------------------------- */
DECOMP(index_unsafe) {
  GIVE(STEP(index__Tensor, V(GIVEN("self")), as_given(s, "indices")));
}

DECOMP(index_put_unsafe) {
  GIVE(STEP(index_put, V(GIVEN("self")), as_given(s, "indices"), V(GIVEN("values")),
            B(GIVEN_BOOL("accumulate"))));
}

/* --- Images ----------------------------------------------------------------------------------- */
/* To the sizes that are given, or that factors make. */
static void resample(fnzi_dec_steps *s, size_t op) {
  double scales[FNZI_POOL_MAX_SPATIAL] = {0};
  fnz_arg args[3 + FNZI_POOL_MAX_SPATIAL];
  size_t n = 0;
  fnzi_meta_pool p;
  if (s->status == FNZ_OK)
    s->status = fnzi_meta_resample_read(s->call, &p, scales);
  if (s->status != FNZ_OK)
    return;
  args[n++] = V(GIVEN("input"));
  args[n++] = fnzi_dec_ints(s, p.out, p.spatial);
  if (fnzi_op_param(s->call->op, "align_corners") >= 0)
    args[n++] = B(GIVEN_BOOL("align_corners"));
  for (uint32_t d = 0; d < p.spatial; d++)
    args[n++] = scales[d] != 0 ? F(scales[d]) : NONE;
  GIVE(fnzi_dec_step(s, op, args, n));
}

DECOMP(nearest1d_by_factors) {
  resample(s, FNZI_ATEN_upsample_nearest1d);
}
DECOMP(nearest2d_by_factors) {
  resample(s, FNZI_ATEN_upsample_nearest2d);
}
DECOMP(nearest3d_by_factors) {
  resample(s, FNZI_ATEN_upsample_nearest3d);
}
DECOMP(nearest_exact1d_by_factors) {
  resample(s, FNZI_ATEN__upsample_nearest_exact1d);
}
DECOMP(nearest_exact2d_by_factors) {
  resample(s, FNZI_ATEN__upsample_nearest_exact2d);
}
DECOMP(nearest_exact3d_by_factors) {
  resample(s, FNZI_ATEN__upsample_nearest_exact3d);
}
DECOMP(linear1d_by_factors) {
  resample(s, FNZI_ATEN_upsample_linear1d);
}
DECOMP(bilinear2d_by_factors) {
  resample(s, FNZI_ATEN_upsample_bilinear2d);
}
DECOMP(trilinear3d_by_factors) {
  resample(s, FNZI_ATEN_upsample_trilinear3d);
}
DECOMP(bicubic2d_by_factors) {
  resample(s, FNZI_ATEN_upsample_bicubic2d);
}
