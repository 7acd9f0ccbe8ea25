/* nn_special.c - shapes of embedding, one_hot and losses of classes. */
#include "kernels/core/core.h"

static fnz_status need_indices(fnzi_krn_call *call, const fnz_geometry *g) {
  if (g->dtype != FNZ_I64 && g->dtype != FNZ_I32)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "indices are %s; they must be i64 or i32",
                                fnzi_dtype(g->dtype)->name);
  return FNZ_OK;
}

/* `g`'s sizes and one more behind. */
static fnz_status append(fnzi_krn_call *call, fnz_dtype dtype, const fnz_geometry *g,
                         int64_t last) {
  int64_t sizes[FNZ_MAX_RANK + 1];
  for (uint32_t i = 0; i < g->rank; i++)
    sizes[i] = g->sizes[i];
  sizes[g->rank] = last;
  return fnzi_shape_add(call, dtype, g->rank + 1, sizes, NULL);
}

fnz_status fnzi_shape_embedding(fnzi_krn_call *call) {
  const fnz_geometry *weight = fnzi_krn_call_geometry(call, 0),
                     *at = fnzi_krn_call_geometry(call, 1);
  if (weight->rank != 2)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "weight has %u dimensions; it needs 2",
                                weight->rank);
  FNZ_TRY(need_indices(call, at));
  return append(call, weight->dtype, at, weight->sizes[1]);
}

fnz_status fnzi_shape_one_hot(fnzi_krn_call *call) {
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  int64_t classes = fnzi_krn_named_int(call, "num_classes", -1);
  if (g->dtype != FNZ_I64)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "self is %s; it must be i64",
                                fnzi_dtype(g->dtype)->name);
  if (classes < 1) { /* one more than the largest index */
    const fnzi_krn_array *indices = fnzi_krn_call_input(call, 0);
    int64_t count = fnzi_krn_array_numel(indices);
    const void *data;
    if (!call->has_data || count == 0)
      return fnzi_krn_call_refuse(
          call, FNZ_CLASS_UNSUPPORTED,
          "without num_classes the result's size depends on data; give num_classes");
    FNZ_TRY(fnzi_krn_dense_get_as(call, indices, FNZ_I64, &data));
    classes = 1;
    for (int64_t i = 0; i < count; i++) {
      int64_t index = ((const int64_t *)data)[i];
      if (index >= classes && !fnzi_add_i64(index, 1, &classes))
        return fnzi_krn_call_refuse(call, FNZ_CLASS_OVERFLOW, "index %lld is too large",
                                    (long long)index);
    }
  }
  return append(call, FNZ_I64, g, classes);
}

/* --- Losses ------------------------------------------------------------------------------ */
enum { REDUCE_NONE, REDUCE_MEAN, REDUCE_SUM };

/* Scores (classes), (batch, classes) or (batch, classes, places...). Targets are the same without
 * the classes, or, of a floating-point type, probabilities of the same sizes. */
static fnz_status class_loss(fnzi_krn_call *call) {
  const fnz_geometry *x = fnzi_krn_call_geometry(call, 0), *t = fnzi_krn_call_geometry(call, 1);
  uint32_t at = x->rank == 1 ? 0 : 1, rank = 0;
  int64_t sizes[FNZ_MAX_RANK];
  if (x->rank < 1)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "input has %u dimensions; it needs 1 or more", x->rank);
  if (!fnzi_is_float(x->dtype))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE,
                                "the scores are of type %s; cast them to a floating-point type",
                                fnzi_dtype(x->dtype)->name);
  for (uint32_t i = 0; i < x->rank; i++)
    if (i != at)
      sizes[rank++] = x->sizes[i];
  const fnz_geometry want = {.rank = rank, .sizes = sizes};
  if (!fnzi_same_sizes(t, fnzi_is_float(t->dtype) ? x : &want))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "the target's sizes do not fit the scores'");
  const fnzi_krn_array *weight = fnzi_krn_named_array(call, "weight");
  if (weight && fnzi_krn_array_numel(weight) != x->sizes[at])
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "weight has %lld elements for %lld classes",
                                (long long)fnzi_krn_array_numel(weight), (long long)x->sizes[at]);
  bool reduced = fnzi_krn_named_int(call, "reduction", REDUCE_MEAN) != REDUCE_NONE;
  return fnzi_shape_add(call, x->dtype, reduced ? 0 : rank, sizes, NULL);
}

fnz_status fnzi_shape_cross_entropy(fnzi_krn_call *call) {
  double smoothing = fnzi_krn_named_float(call, "label_smoothing", 0);
  if (!(smoothing >= 0 && smoothing <= 1))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "label_smoothing is %g; it must lie from 0 to 1", smoothing);
  return class_loss(call);
}

fnz_status fnzi_shape_nll_loss(fnzi_krn_call *call) {
  FNZ_TRY(need_indices(call, fnzi_krn_call_geometry(call, 1)));
  return class_loss(call);
}

/* The second result is the total weight. */
fnz_status fnzi_shape_nll_loss_forward(fnzi_krn_call *call) {
  FNZ_TRY(fnzi_shape_nll_loss(call));
  return fnzi_shape_add(call, fnzi_krn_call_geometry(call, 0)->dtype, 0, NULL, NULL);
}

/* --- Functions of one or two numbers ---------------------------------------------------------- */
static bool is_of_two(const fnz_op *op) {
  static const char *const names[] = {
#define OF_ONE(op, function)
#define OF_TWO(op, function) #op,
#include "kernels/special_functions.def"
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(names[i], fnzi_op_canonical(op)->base) == 0)
      return true;
  return false;
}

/* With one number f32, f64 and, as f32, integers; with two numbers any of the floating-point
 * types. */
fnz_status fnzi_shape_special_function(fnzi_krn_call *call) {
  const fnz_geometry *x = fnzi_krn_call_geometry(call, 0);
  bool half = x->dtype == FNZ_F16 || x->dtype == FNZ_BF16;
  bool of_two = is_of_two(call->op);
  bool fits = of_two ? fnzi_is_float(fnzi_promote(x->dtype, fnzi_krn_call_geometry(call, 1)->dtype))
                     : !half;
  if (!fits || fnzi_is_complex(x->dtype))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "not for %s; cast to f32 or f64",
                                fnzi_dtype(x->dtype)->name);
  return fnzi_shape_point(call);
}
