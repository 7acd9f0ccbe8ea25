/* foreach.c - operators on lists of tensors that are not one operator on each element: norms, and
 * addcdiv and addcmul by the numbers in a tensor. */
#include "kernels/decomp/decomp.h"

DECOMP(norms) {
  size_t count = fnzi_dec_given_count(s, "self");
  fnz_arg order = *fnzi_krn_named(s->call, "ord"), dtype = *fnzi_krn_named(s->call, "dtype");
  for (size_t i = 0; i < count; i++) {
    fnzi_krn_array *x = fnzi_dec_given_item(s, "self", i);
    fnzi_dec_result_give(s, STEP(linalg_vector_norm, V(x), order, NONE, B(false), dtype));
  }
}

static void each_with_scalar(fnzi_dec_steps *s, size_t op) {
  size_t count = fnzi_dec_given_count(s, "self");
  if (fnzi_dec_given_count(s, "tensor1") != count || fnzi_dec_given_count(s, "tensor2") != count)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                    "self, tensor1 and tensor2 have %zu, %zu and %zu tensors; all need as many",
                    count, fnzi_dec_given_count(s, "tensor1"), fnzi_dec_given_count(s, "tensor2"));
  /* Argument "scalars" has a number for each tensor. */
  fnzi_krn_array *scalars = fnzi_dec_given_array(s, "scalars");
  if (fnzi_dec_array_rank(scalars) != 1 || fnzi_dec_array_numel(scalars) != (int64_t)count)
    fnzi_dec_refuse(
        s, FNZ_CLASS_BOUNDS,
        "scalars has %lld elements in %u dimensions for %zu tensors; it needs as many in 1",
        (long long)fnzi_dec_array_numel(scalars), fnzi_dec_array_rank(scalars), count);
  for (size_t i = 0; i < count; i++) {
    const fnz_arg args[] = {
        V(fnzi_dec_given_item(s, "self", i)), V(fnzi_dec_given_item(s, "tensor1", i)),
        V(fnzi_dec_given_item(s, "tensor2", i)), fnzi_dec_number_at(s, scalars, (int64_t)i)};
    fnzi_dec_result_give(s, fnzi_dec_step(s, op, args, 4));
  }
}

DECOMP(addcdiv_list) {
  each_with_scalar(s, FNZI_ATEN_addcdiv);
}

DECOMP(addcmul_list) {
  each_with_scalar(s, FNZI_ATEN_addcmul);
}
