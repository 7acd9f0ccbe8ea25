/* for_groups.c - operators that a plan computes faster by steps that join groups than by their
 * kernels. The steps give the bits of the kernel. */
#include "functionalize/decompose/decompose.h"
#include "functionalize/decompose/ways.h"
#include "kernels/backends.h"

static bool is_f32(const fnzi_krn_array *a) {
  return !a || DTYPE_OF(a) == FNZ_F32;
}

/* x * scale + shift in one fused step, which is addcmul's. Statistics that such a norm does not
 * compute have no elements. */
static void batch_norm(fnzi_dec_steps *s) {
  fnzi_krn_array *x = GIVEN("input");
  /* A batch norm by given statistics. */
  bool trains = fnzi_op_param(s->call->op, "training") >= 0 && GIVEN_BOOL("training");
  bool is_taken = !trains && RANK(x) > 1 && GIVEN("running_mean") && GIVEN("running_var") &&
                  is_f32(GIVEN("input")) && is_f32(GIVEN("weight")) && is_f32(GIVEN("bias")) &&
                  is_f32(GIVEN("running_mean")) && is_f32(GIVEN("running_var"));
  if (!is_taken) {
    fnzi_dcm_nothing_to_mend(s);
    return;
  }
  /* weight / sqrt(var + eps), each step rounded. */
  fnzi_krn_array *weight = GIVEN("weight");
  fnzi_krn_array *wide = STEP(add__Scalar, V(GIVEN("running_var")), F(GIVEN_FLOAT("eps")));
  fnzi_krn_array *rstd = STEP(reciprocal, V(STEP(sqrt, V(wide))));
  fnzi_krn_array *scale = weight ? MUL(rstd, weight) : rstd;
  /* bias - mean * scale, rounded once to double and once to f32. */
  fnzi_krn_array *bias = GIVEN("bias"), *mean = fnzi_dec_cast(s, GIVEN("running_mean"), FNZ_F64);
  fnzi_krn_array *part = MUL(mean, fnzi_dec_cast(s, scale, FNZ_F64));
  fnzi_krn_array *shift =
      bias ? SUB(fnzi_dec_cast(s, bias, FNZ_F64), part) : STEP(rsub__Scalar, V(part), I(0));
  shift = fnzi_dec_cast(s, shift, FNZ_F32);
  GIVE(STEP(addcmul, V(fnzi_dcm_per_channel(s, shift, x)), V(x),
            V(fnzi_dcm_per_channel(s, scale, x))));
  for (size_t k = 1; k < s->call->op->nreturns; k++)
    GIVE(STEP(new_empty, V(x), INTS(0)));
}

/* --- Which operators -------------------------------------------------------------------------- */
static const struct {
  uint16_t op;
  fnzi_dec_fn *decompose;
} rows[] = {{FNZI_ATEN_batch_norm, batch_norm},
            {FNZI_ATEN_native_batch_norm, batch_norm},
            {FNZI_ATEN__native_batch_norm_legit_no_training, batch_norm}};

static fnzi_dec_fn *for_groups_find(const fnz_op *op) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (op == &fnzi_ops[rows[i].op])
      return rows[i].decompose;
  return NULL;
}

bool fnzi_dcm_is_for_groups(const fnz_op *op) {
  return for_groups_find(op) != NULL;
}

fnz_status fnzi_dcm_expand_for_groups(fnzi_arena *arena, const fnzi_script_whole *whole,
                                      fnzi_script *out, bool *done) {
  fnz_status status =
      fnzi_dec_script_make(arena, fnzi_kernel_rows, whole, for_groups_find(whole->op), out);
  *done = status == FNZ_OK;
  return status;
}
