/* lists.c - operators on lists of tensors that are not one operator on each element: norms, and
 * addcdiv and addcmul by the numbers in a tensor. */
#include "kernels/made/recipe.h"

RECIPE(norms) {
  size_t count = fnzi_given_count(s, "self");
  fnz_arg order = *fnzi_named(s->call, "ord"), dtype = *fnzi_named(s->call, "dtype");
  for (size_t i = 0; i < count; i++) {
    fnzi_array *x = fnzi_given_item(s, "self", i);
    fnzi_give_result(s, STEP(linalg_vector_norm, V(x), order, NONE, B(false), dtype));
  }
}

/* Number i of argument "scalars"; 1 without data. */
static fnz_arg scalar(fnzi_steps *s, size_t i) {
  fnzi_array *all = fnzi_given(s, "scalars");
  bool whole = !fnzi_is_float(fnzi_dtype_of(all));
  const void *data = NULL;
  if (fnzi_rank(all) != 1 || fnzi_numel(all) != (int64_t)fnzi_given_count(s, "self"))
    fnzi_stop(s, FNZ_CLASS_BOUNDS,
              "scalars has %lld elements in %u dimensions for %zu tensors; it needs as many in 1",
              (long long)fnzi_numel(all), fnzi_rank(all), fnzi_given_count(s, "self"));
  if (s->status == FNZ_OK && s->call->has_data)
    s->status = fnzi_dense_as(s->call, all, whole ? FNZ_I64 : FNZ_F64, &data);
  if (!data)
    return I(1);
  return whole ? I(((const int64_t *)data)[i]) : F(((const double *)data)[i]);
}

static void each_with_scalar(fnzi_steps *s, size_t op) {
  size_t count = fnzi_given_count(s, "self");
  if (fnzi_given_count(s, "tensor1") != count || fnzi_given_count(s, "tensor2") != count)
    fnzi_stop(s, FNZ_CLASS_BOUNDS,
              "self, tensor1 and tensor2 have %zu, %zu and %zu tensors; all need as many", count,
              fnzi_given_count(s, "tensor1"), fnzi_given_count(s, "tensor2"));
  for (size_t i = 0; i < count; i++) {
    const fnz_arg args[] = {V(fnzi_given_item(s, "self", i)), V(fnzi_given_item(s, "tensor1", i)),
                            V(fnzi_given_item(s, "tensor2", i)), scalar(s, i)};
    fnzi_give_result(s, fnzi_do(s, op, args, 4));
  }
}

RECIPE(addcdiv_list) {
  each_with_scalar(s, FNZI_ATEN_addcdiv);
}

RECIPE(addcmul_list) {
  each_with_scalar(s, FNZI_ATEN_addcmul);
}
