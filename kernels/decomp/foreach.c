/* foreach.c - operators on lists of tensors that are not one operator on each element: norms, and
 * addcdiv and addcmul by the numbers in a tensor. */
#include "kernels/decomp/decomp.h"

DECOMP(norms) {
  size_t count = fnzi_given_count(s, "self");
  fnz_arg order = *fnzi_named(s->call, "ord"), dtype = *fnzi_named(s->call, "dtype");
  for (size_t i = 0; i < count; i++) {
    fnzi_array *x = fnzi_given_item(s, "self", i);
    fnzi_give_result(s, STEP(linalg_vector_norm, V(x), order, NONE, B(false), dtype));
  }
}

/* Argument "scalars" has a number for each tensor. */
static fnzi_array *given_scalars(fnzi_steps *s, size_t count) {
  fnzi_array *all = fnzi_given(s, "scalars");
  if (fnzi_rank(all) != 1 || fnzi_numel(all) != (int64_t)count)
    fnzi_stop(s, FNZ_CLASS_BOUNDS,
              "scalars has %lld elements in %u dimensions for %zu tensors; it needs as many in 1",
              (long long)fnzi_numel(all), fnzi_rank(all), count);
  return all;
}

static void each_with_scalar(fnzi_steps *s, size_t op) {
  size_t count = fnzi_given_count(s, "self");
  if (fnzi_given_count(s, "tensor1") != count || fnzi_given_count(s, "tensor2") != count)
    fnzi_stop(s, FNZ_CLASS_BOUNDS,
              "self, tensor1 and tensor2 have %zu, %zu and %zu tensors; all need as many", count,
              fnzi_given_count(s, "tensor1"), fnzi_given_count(s, "tensor2"));
  fnzi_array *scalars = given_scalars(s, count);
  for (size_t i = 0; i < count; i++) {
    const fnz_arg args[] = {V(fnzi_given_item(s, "self", i)), V(fnzi_given_item(s, "tensor1", i)),
                            V(fnzi_given_item(s, "tensor2", i)),
                            fnzi_number_at(s, scalars, (int64_t)i)};
    fnzi_give_result(s, fnzi_do(s, op, args, 4));
  }
}

DECOMP(addcdiv_list) {
  each_with_scalar(s, FNZI_ATEN_addcdiv);
}

DECOMP(addcmul_list) {
  each_with_scalar(s, FNZI_ATEN_addcmul);
}
