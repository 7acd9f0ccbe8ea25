/* layers.c - layers of networks that are a few steps: weight norm, embeddings held to a norm,
 * prelu, bilinear, grids, attention step by step. */
#include "kernels/decomp/decomp.h"

/* --- Weight norm ------------------------------------------------------------------------- */
/* The norm of every slice along `dim`, with all other dimensions of size 1. */
static fnzi_array *norm_except(fnzi_steps *s, fnzi_array *v, fnz_arg power, int64_t dim) {
  int64_t rank = fnzi_rank(v), dims[FNZ_MAX_RANK];
  size_t others = 0;
  if (dim == -1)
    return STEP(norm__Scalar, V(v), power);
  if (dim < 0 || dim >= rank)
    fnzi_stop(s, FNZ_CLASS_BOUNDS, "dim is %lld; v has %lld dimensions", (long long)dim,
              (long long)rank);
  for (int64_t d = 0; d < rank; d++)
    if (d != dim)
      dims[others++] = d;
  fnzi_array *norm = v;
  if (others)
    norm = STEP(norm__ScalarOpt_dim, V(v), power, fnzi_ints(s, dims, others), B(false));
  else
    norm = STEP(abs, V(v));
  return fnzi_along(s, norm, dim, (size_t)rank);
}

DECOMP(norm_except_dim) {
  fnz_arg power = *fnzi_named(s->call, "pow");
  fnzi_give_result(s, norm_except(s, fnzi_given(s, "v"), power, fnzi_named_int(s->call, "dim", 0)));
}

DECOMP(weight_norm) {
  fnzi_array *v = fnzi_given(s, "v"), *g = fnzi_given(s, "g");
  fnzi_array *norm = norm_except(s, v, I(2), fnzi_named_int(s->call, "dim", 0));
  fnzi_give_result(s, MUL(v, DIV(g, norm)));
}

/* The norms of bf16 are kept as f32. */
DECOMP(weight_norm_interface) {
  fnzi_array *v = fnzi_given(s, "v"), *g = fnzi_given(s, "g");
  int64_t dim = fnzi_named_int(s->call, "dim", 0);
  if (dim != 0 && dim != (int64_t)fnzi_rank(v) - 1)
    fnzi_stop(s, FNZ_CLASS_BOUNDS, "dim is %lld; it must be the first or the last of %u",
              (long long)dim, fnzi_rank(v));
  fnz_dtype kept = fnzi_dtype_of(g) == FNZ_F64 ? FNZ_F64 : FNZ_F32;
  fnzi_array *norm = norm_except(s, fnzi_as(s, v, kept), I(2), dim);
  fnzi_array *w = MUL(fnzi_as(s, v, kept), DIV(fnzi_as(s, g, kept), norm));
  fnzi_give_result(s, fnzi_as(s, w, fnzi_dtype_of(v)));
  fnzi_give_result(s, norm);
}

/* --- Embeddings -------------------------------------------------------------------------- */
/* Rows that indices name and whose norm is above the most that is allowed get about that norm. The
 * norm counts in the rows' own precision, the factor in 64 bits until it meets a row. */
DECOMP(embedding_renorm) {
  fnzi_array *a = fnzi_given(s, "self"), *indices = fnzi_given(s, "indices");
  double most = fnzi_named_float(s->call, "max_norm", 0);
  double power = fnzi_named_float(s->call, "norm_type", 2);
  fnz_dtype dtype = fnzi_dtype_of(a), wide = dtype == FNZ_F64 ? FNZ_F64 : FNZ_F32;
  if (fnzi_rank(a) != 2)
    fnzi_stop(s, FNZ_CLASS_BOUNDS, "self has %u dimensions; it needs 2", fnzi_rank(a));
  indices = RESHAPED(indices, fnzi_numel(indices));
  fnzi_array *rows = STEP(index_select, V(a), I(0), V(indices));
  fnzi_array *norm = STEP(norm__ScalarOpt_dim, V(rows), F(power), INTS(1), B(true));
  norm = fnzi_as(s, norm, FNZ_F64);
  fnzi_array *factor = DIV(STEP(full_like, V(norm), F(most)), STEP(add__Scalar, V(norm), F(1e-7)));
  fnzi_array *above = STEP(gt__Scalar, V(norm), F(most));
  factor = STEP(where__self, V(above), V(factor), V(STEP(ones_like, V(norm))));
  rows = MUL(fnzi_as(s, rows, wide), fnzi_as(s, factor, wide));
  fnzi_give_result(s, STEP(index_copy, V(a), I(0), V(indices), V(fnzi_as(s, rows, dtype))));
}

/* --- Activations ------------------------------------------------------------------------- */
static void give_prelu(fnzi_steps *s, fnzi_array *x, fnzi_array *weight) {
  if (fnzi_dtype_of(x) != fnzi_dtype_of(weight))
    fnzi_stop(s, FNZ_CLASS_TYPE, "self is %s, weight %s; both must be the same",
              fnzi_dtype(fnzi_dtype_of(x))->name, fnzi_dtype(fnzi_dtype_of(weight))->name);
  fnzi_array *positive = STEP(gt__Scalar, V(x), I(0));
  fnzi_give_result(s, STEP(where__self, V(positive), V(x), V(MUL(weight, x))));
}

DECOMP(prelu_kernel) {
  give_prelu(s, fnzi_given(s, "self"), fnzi_given(s, "weight"));
}

/* A weight for each channel, or one for all. */
DECOMP(prelu) {
  fnzi_array *x = fnzi_given(s, "self"), *weight = fnzi_given(s, "weight");
  int64_t count = fnzi_numel(weight), rank = fnzi_rank(x);
  int64_t channels = rank > 1 ? fnzi_size(x, 1) : 1;
  if (fnzi_rank(weight) > 1 || (count != 1 && (rank == 0 || count != channels)))
    fnzi_stop(s, FNZ_CLASS_BOUNDS,
              "weight has %lld elements in %u dimensions, self %lld channels; it "
              "needs as many, or one, in at most 1",
              (long long)count, fnzi_rank(weight), (long long)channels);
  if (rank != fnzi_rank(weight))
    weight = fnzi_along(s, weight, 1, (size_t)rank);
  give_prelu(s, x, weight);
}

DECOMP(rrelu) {
  double low = fnzi_named_float(s->call, "lower", 0.125);
  double high = fnzi_named_float(s->call, "upper", 1.0 / 3);
  if (fnzi_named_bool(s->call, "training", false))
    fnzi_stop(s, FNZ_CLASS_UNSUPPORTED,
              "slopes are random in training; export the model in evaluation");
  fnzi_give_result(s, STEP(leaky_relu, V(fnzi_given(s, "self")), F((low + high) / 2)));
}

/* --- Bilinear ---------------------------------------------------------------------------- */
/* y[o] = sum over i, j of x1[i] weight[o, i, j] x2[j] */
DECOMP(bilinear) {
  fnzi_array *a = fnzi_given(s, "input1"), *b = fnzi_given(s, "input2");
  fnzi_array *weight = fnzi_given(s, "weight"), *bias = fnzi_given(s, "bias");
  int64_t sizes[FNZ_MAX_RANK], rank = fnzi_rank(a), rows = 1;
  int64_t out = fnzi_size(weight, 0), in_a = fnzi_size(weight, 1), in_b = fnzi_size(weight, 2);
  bool fits = rank > 0 && rank == fnzi_rank(b) && fnzi_rank(weight) == 3 &&
              fnzi_size(a, -1) == in_a && fnzi_size(b, -1) == in_b;
  for (int64_t d = 0; d + 1 < rank; d++) {
    fits = fits && fnzi_size(a, d) == fnzi_size(b, d);
    sizes[d] = fnzi_size(a, d);
    rows *= sizes[d];
  }
  if (!fits)
    fnzi_stop(s, FNZ_CLASS_BOUNDS, "the inputs do not fit each other and weight [%lld, %lld, %lld]",
              (long long)out, (long long)in_a, (long long)in_b);
  if (s->status != FNZ_OK)
    return;
  sizes[rank - 1] = out;
  fnzi_array *by_a = STEP(permute, V(weight), INTS(1, 0, 2));
  fnzi_array *part = STEP(mm, V(RESHAPED(a, rows, in_a)), V(RESHAPED(by_a, in_a, out * in_b)));
  fnzi_array *product =
      STEP(bmm, V(RESHAPED(part, rows, out, in_b)), V(RESHAPED(b, rows, in_b, 1)));
  fnzi_array *y = fnzi_reshaped(s, product, sizes, (size_t)rank);
  fnzi_give_result(s, bias ? ADD(y, bias) : y);
}

/* --- Grids ------------------------------------------------------------------------------- */
/* From -1 to 1: the outermost elements' middles, or their edges. */
static fnzi_array *line(fnzi_steps *s, fnzi_array *like, int64_t count, bool aligned) {
  fnz_arg dtype = DTYPE(fnzi_dtype_of(like));
  if (count < 2)
    return STEP(zeros, INTS(count), dtype);
  fnzi_array *line = STEP(linspace, F(-1), F(1), I(count), dtype);
  if (aligned)
    return line;
  line = STEP(div__Scalar, V(STEP(mul__Scalar, V(line), I(count - 1))), I(count));
  return fnzi_as(s, line, fnzi_dtype_of(like));
}

DECOMP(affine_grid) {
  fnzi_array *theta = fnzi_given(s, "theta");
  const int64_t *size = NULL;
  size_t rank = 0;
  fnzi_note(s, fnzi_named_ints(s->call, "size", &size, &rank));
  if (rank != 4 && rank != 5)
    fnzi_stop(s, FNZ_CLASS_BOUNDS, "size has %zu numbers; it needs 4 or 5", rank);
  if (s->status != FNZ_OK)
    return;
  bool aligned = fnzi_named_bool(s->call, "align_corners", false);
  int64_t spatial = (int64_t)rank - 2, places = 1;
  int64_t sizes[] = {size[0], size[2], size[3], rank == 5 ? size[4] : spatial, spatial};
  fnzi_array *parts[4];
  for (int64_t d = 0; d < spatial; d++) { /* x is the last dimension */
    int64_t along[] = {1, 1, 1}, axis = spatial - 1 - d;
    along[axis] = size[2 + axis];
    fnzi_array *x = line(s, theta, size[2 + axis], aligned);
    x = fnzi_reshaped(s, x, along, (size_t)spatial);
    x = STEP(expand, V(x), fnzi_ints(s, size + 2, (size_t)spatial));
    places *= size[2 + axis];
    parts[d] = x;
  }
  parts[spatial] = STEP(ones_like, V(parts[0]));
  fnzi_array *base = STEP(stack, fnzi_values(s, parts, (size_t)spatial + 1), I(-1));
  base = RESHAPED(base, 1, places, spatial + 1);
  base = STEP(expand, V(base), INTS(size[0], places, spatial + 1));
  fnzi_array *grid = STEP(bmm, V(base), V(STEP(transpose__int, V(theta), I(1), I(2))));
  fnzi_give_result(s, fnzi_reshaped(s, grid, sizes, rank));
}
