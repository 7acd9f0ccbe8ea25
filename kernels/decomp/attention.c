/* attention.c - the backward of attention as eager has it on a CPU: with the logarithms of sums
 * that the way there has kept. */
#include "kernels/decomp/decomp.h"

#include <math.h>

static fnzi_krn_array *turned(fnzi_dec_steps *s, fnzi_krn_array *a) {
  return STEP(transpose__int, V(a), I(-2), I(-1));
}

static fnzi_krn_array *product(fnzi_dec_steps *s, fnzi_krn_array *a, fnzi_krn_array *b) {
  return STEP(matmul, V(a), V(b));
}

/* Gradients lie with the heads of a place side by side. */
static void give_gradient(fnzi_dec_steps *s, fnzi_krn_array *a, fnz_dtype dtype) {
  fnzi_krn_array *by_place = STEP(transpose__int, V(fnzi_dec_cast(s, a, dtype)), I(1), I(2));
  by_place = STEP(clone, V(by_place), (fnz_arg){.tag = FNZ_ARG_MEMORY_FORMAT, .u.i = 1});
  fnzi_dec_result_give(s, STEP(transpose__int, V(by_place), I(1), I(2)));
}

/* Weights, which softmax has given: of a causal one those of later places are 0. */
static fnzi_krn_array *weights_of(fnzi_dec_steps *s, fnzi_krn_array *scores,
                                  fnzi_krn_array *logarithms) {
  fnzi_krn_array *mask = fnzi_dec_given_array(s, "attn_mask");
  if (mask && fnzi_dec_array_dtype(mask) == FNZ_BOOL)
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "attn_mask is bool; eager has made numbers of it");
  if (mask)
    scores = ADD(scores, mask);
  fnzi_krn_array *weights = STEP(exp, V(SUB(scores, STEP(unsqueeze, V(logarithms), I(-1)))));
  return fnzi_krn_named_bool(s->call, "is_causal", false) ? STEP(tril, V(weights)) : weights;
}

DECOMP(flash_attention_backward) {
  fnzi_krn_array *query = fnzi_dec_given_array(s, "query"), *out = fnzi_dec_given_array(s, "out");
  fnz_dtype dtype = fnzi_dec_array_dtype(query), in = dtype == FNZ_F64 ? FNZ_F64 : FNZ_F32;
  int64_t width = fnzi_dec_array_size(query, -1);
  double scale = fnzi_krn_named_float(s->call, "scale", 1 / sqrt((double)(width ? width : 1)));
  if (fnzi_krn_named_float(s->call, "dropout_p", 0) != 0)
    fnzi_dec_refuse(s, FNZ_CLASS_ARGUMENT, "dropout_p is not 0; on a CPU it must be");
  if (fnzi_dec_array_rank(query) != 4)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "query has %u dimensions; it needs 4",
                    fnzi_dec_array_rank(query));
  if (s->status != FNZ_OK)
    return;
  fnzi_krn_array *grad = fnzi_dec_cast(s, fnzi_dec_given_array(s, "grad_out"), in);
  fnzi_krn_array *q = fnzi_dec_cast(s, query, in);
  fnzi_krn_array *k = fnzi_dec_cast(s, fnzi_dec_given_array(s, "key"), in);
  fnzi_krn_array *v = fnzi_dec_cast(s, fnzi_dec_given_array(s, "value"), in);
  fnzi_krn_array *scores = STEP(mul__Scalar, V(product(s, q, turned(s, k))), F(scale));
  fnzi_krn_array *weights = weights_of(s, scores, fnzi_dec_given_array(s, "logsumexp"));
  fnzi_krn_array *share =
      STEP(sum__dim_IntList, V(MUL(grad, fnzi_dec_cast(s, out, in))), INTS(-1), B(true));
  fnzi_krn_array *errors = MUL(weights, SUB(product(s, grad, turned(s, v)), share));
  errors = STEP(mul__Scalar, V(errors), F(scale));
  give_gradient(s, product(s, errors, k), dtype);
  give_gradient(s, product(s, turned(s, errors), q), dtype);
  give_gradient(s, product(s, turned(s, weights), grad), dtype);
}
