/* layers.c - layers of networks that are a few steps: glu, weight norm, embeddings held to a norm,
 * prelu, bilinear, grids, attention step by step. */
#include "kernels/decomp/decomp.h"

/* One half of a dimension, as much as the other one says. */
DECOMP(glu) {
  fnzi_krn_array *self = GIVEN("self");
  fnz_dtype dtype = DTYPE_OF(self), wide = fnzi_dec_wide(dtype);
  int64_t dim = fnzi_dec_given_dim(s, "dim", self), half = SIZE(self, dim) / 2;
  if (RANK(self) == 0 || SIZE(self, dim) % 2)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "dimension %lld has %lld elements; it must be even",
                    (long long)dim, (long long)SIZE(self, dim));
  if (!fnzi_is_float(dtype))
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "not for %s; cast to f32 or f64", fnzi_dtype(dtype)->name);
  fnzi_krn_array *gates = fnzi_dec_cast(s, fnzi_part(s, self, dim, half, half), wide);
  fnzi_krn_array *values = fnzi_dec_cast(s, fnzi_part(s, self, dim, 0, half), wide);
  GIVE(fnzi_dec_cast(s, MUL(values, STEP(sigmoid, V(gates))), dtype));
}

/* --- Weight norm ------------------------------------------------------------------------- */
/* The norm of every slice along `dim`, with all other dimensions of size 1. */
static fnzi_krn_array *norm_except(fnzi_dec_steps *s, fnzi_krn_array *v, fnz_arg power,
                                   int64_t dim) {
  int64_t rank = fnzi_dec_array_rank(v), dims[FNZ_MAX_RANK];
  size_t others = 0;
  if (dim == -1)
    return STEP(linalg_vector_norm, V(v), power);
  if (dim < 0 || dim >= rank)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "dim is %lld; v has %lld dimensions", (long long)dim,
                    (long long)rank);
  for (int64_t d = 0; d < rank; d++)
    if (d != dim)
      dims[others++] = d;
  fnzi_krn_array *norm = v;
  if (others)
    norm = STEP(linalg_vector_norm, V(v), power, fnzi_dec_ints(s, dims, others), B(false));
  else
    norm = STEP(abs, V(v));
  return fnzi_dec_along(s, norm, dim, (size_t)rank);
}

DECOMP(norm_except_dim) {
  fnz_arg power = *fnzi_krn_named(s->call, "pow");
  fnzi_dec_result_give(s, norm_except(s, fnzi_dec_given_array(s, "v"), power,
                                      fnzi_krn_named_int(s->call, "dim", 0)));
}

DECOMP(weight_norm) {
  fnzi_krn_array *v = fnzi_dec_given_array(s, "v"), *g = fnzi_dec_given_array(s, "g");
  fnzi_krn_array *norm = norm_except(s, v, I(2), fnzi_krn_named_int(s->call, "dim", 0));
  fnzi_dec_result_give(s, MUL(v, DIV(g, norm)));
}

/* "dim", the first or the last one of v. */
static int64_t outer_dim(fnzi_dec_steps *s, const fnzi_krn_array *v) {
  int64_t dim = fnzi_krn_named_int(s->call, "dim", 0);
  if (dim != 0 && dim != (int64_t)fnzi_dec_array_rank(v) - 1)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "dim is %lld; it must be the first or the last of %u",
                    (long long)dim, fnzi_dec_array_rank(v));
  return dim;
}

/* The norms of bf16 are kept as f32. */
DECOMP(weight_norm_interface) {
  fnzi_krn_array *v = fnzi_dec_given_array(s, "v"), *g = fnzi_dec_given_array(s, "g");
  int64_t dim = outer_dim(s, v);
  fnz_dtype kept = fnzi_dec_array_dtype(g) == FNZ_F64 ? FNZ_F64 : FNZ_F32;
  fnzi_krn_array *norm = norm_except(s, fnzi_dec_cast(s, v, kept), I(2), dim);
  fnzi_krn_array *w = MUL(fnzi_dec_cast(s, v, kept), DIV(fnzi_dec_cast(s, g, kept), norm));
  fnzi_dec_result_give(s, fnzi_dec_cast(s, w, fnzi_dec_array_dtype(v)));
  fnzi_dec_result_give(s, norm);
}

/* w = g v / n: of g it is (dw . v) / n, and of v it is s dw - v s (dw . v) / n^2 with s = g / n. */
DECOMP(weight_norm_backward) {
  fnzi_krn_array *v = fnzi_dec_given_array(s, "saved_v"), *g = fnzi_dec_given_array(s, "saved_g");
  int64_t dim = outer_dim(s, v);
  fnz_dtype dtype = fnzi_dec_array_dtype(v), kept = dtype == FNZ_F64 ? FNZ_F64 : FNZ_F32;
  fnzi_krn_array *grad = fnzi_dec_cast(s, fnzi_dec_given_array(s, "grad_w"), kept);
  fnzi_krn_array *norms = fnzi_dec_cast(s, fnzi_dec_given_array(s, "saved_norms"), kept);
  fnzi_krn_array *scale = DIV(fnzi_dec_cast(s, g, kept), norms);
  v = fnzi_dec_cast(s, v, kept);
  /* All dimensions but `dim` are summed. */
  fnzi_krn_array *products = MUL(grad, v);
  int64_t dims[FNZ_MAX_RANK];
  size_t others = 0;
  for (int64_t d = 0; d < fnzi_dec_array_rank(products); d++)
    if (d != dim)
      dims[others++] = d;
  fnzi_krn_array *sums =
      others ? STEP(sum__dim_IntList, V(products), fnzi_dec_ints(s, dims, others), B(true))
             : products;
  /* All numbers of rows first, so that the elements are computed at one go. */
  fnzi_krn_array *along = DIV(sums, norms), *bend = DIV(MUL(scale, along), norms);
  fnzi_krn_array *of_v = SUB(MUL(scale, grad), MUL(bend, v));
  fnzi_dec_result_give(s, fnzi_dec_cast(s, of_v, dtype));
  fnzi_dec_result_give(s, fnzi_dec_cast(s, along, fnzi_dec_array_dtype(g)));
}

/* --- Embeddings -------------------------------------------------------------------------- */
/* Rows that indices name and whose norm is above the most that is allowed get about that norm. The
 * norm counts in the rows' own precision, the factor in 64 bits until it meets a row. */
DECOMP(embedding_renorm) {
  fnzi_krn_array *a = fnzi_dec_given_array(s, "self"),
                 *indices = fnzi_dec_given_array(s, "indices");
  double most = fnzi_krn_named_float(s->call, "max_norm", 0);
  double power = fnzi_krn_named_float(s->call, "norm_type", 2);
  fnz_dtype dtype = fnzi_dec_array_dtype(a), wide = dtype == FNZ_F64 ? FNZ_F64 : FNZ_F32;
  if (fnzi_dec_array_rank(a) != 2)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "self has %u dimensions; it needs 2",
                    fnzi_dec_array_rank(a));
  indices = RESHAPED(indices, fnzi_dec_array_numel(indices));
  fnzi_krn_array *rows = STEP(index_select, V(a), I(0), V(indices));
  fnzi_krn_array *norm = STEP(linalg_vector_norm, V(rows), F(power), INTS(1), B(true));
  norm = fnzi_dec_cast(s, norm, FNZ_F64);
  fnzi_krn_array *factor =
      DIV(STEP(full_like, V(norm), F(most)), STEP(add__Scalar, V(norm), F(1e-7)));
  fnzi_krn_array *above = STEP(gt__Scalar, V(norm), F(most));
  factor = CHOSEN(above, factor, STEP(ones_like, V(norm)));
  rows = MUL(fnzi_dec_cast(s, rows, wide), fnzi_dec_cast(s, factor, wide));
  fnzi_dec_result_give(s,
                       STEP(index_copy, V(a), I(0), V(indices), V(fnzi_dec_cast(s, rows, dtype))));
}

/* --- Activations ------------------------------------------------------------------------- */
/* A weight for each channel, or one for all. */
DECOMP(prelu) {
  fnzi_krn_array *x = fnzi_dec_given_array(s, "self"), *weight = fnzi_dec_given_array(s, "weight");
  int64_t count = fnzi_dec_array_numel(weight), rank = fnzi_dec_array_rank(x);
  int64_t channels = rank > 1 ? fnzi_dec_array_size(x, 1) : 1;
  if (fnzi_dec_array_rank(weight) > 1 || (count != 1 && (rank == 0 || count != channels)))
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                    "weight has %lld elements in %u dimensions, self %lld channels; it "
                    "needs as many, or one, in at most 1",
                    (long long)count, fnzi_dec_array_rank(weight), (long long)channels);
  if (rank != fnzi_dec_array_rank(weight))
    weight = fnzi_dec_along(s, weight, 1, (size_t)rank);
  fnzi_dec_result_give(s, STEP(_prelu_kernel, V(x), V(weight)));
}

static void give_rrelu(fnzi_dec_steps *s) {
  double low = fnzi_krn_named_float(s->call, "lower", 0.125);
  double high = fnzi_krn_named_float(s->call, "upper", 1.0 / 3);
  if (fnzi_krn_named_bool(s->call, "training", false))
    fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED,
                    "slopes are random in training; export the model in evaluation");
  fnzi_dec_result_give(s,
                       STEP(leaky_relu, V(fnzi_dec_given_array(s, "self")), F((low + high) / 2)));
}

DECOMP(rrelu) {
  give_rrelu(s);
}

/* In evaluation the noise stays as it was. */
DECOMP(rrelu_with_noise) {
  fnzi_krn_array *self = fnzi_dec_given_array(s, "self"), *noise = fnzi_dec_given_array(s, "noise");
  if (self && noise && !fnzi_same_sizes(&self->geometry, &noise->geometry))
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "noise has other sizes than self; give it those");
  give_rrelu(s);
  fnzi_dec_result_give(s, STEP(clone, V(noise)));
}

/* --- Bilinear ---------------------------------------------------------------------------- */
/* y[o] = sum over i, j of x1[i] weight[o, i, j] x2[j] */
DECOMP(bilinear) {
  fnzi_krn_array *a = fnzi_dec_given_array(s, "input1"), *b = fnzi_dec_given_array(s, "input2");
  fnzi_krn_array *weight = fnzi_dec_given_array(s, "weight"),
                 *bias = fnzi_dec_given_array(s, "bias");
  int64_t sizes[FNZ_MAX_RANK], rank = fnzi_dec_array_rank(a), rows = 1;
  int64_t out = fnzi_dec_array_size(weight, 0), in_a = fnzi_dec_array_size(weight, 1),
          in_b = fnzi_dec_array_size(weight, 2);
  bool fits = rank > 0 && rank == fnzi_dec_array_rank(b) && fnzi_dec_array_rank(weight) == 3 &&
              fnzi_dec_array_size(a, -1) == in_a && fnzi_dec_array_size(b, -1) == in_b;
  for (int64_t d = 0; d + 1 < rank; d++) {
    fits = fits && fnzi_dec_array_size(a, d) == fnzi_dec_array_size(b, d);
    sizes[d] = fnzi_dec_array_size(a, d);
    rows *= sizes[d];
  }
  if (!fits)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                    "the inputs do not fit each other and weight [%lld, %lld, %lld]",
                    (long long)out, (long long)in_a, (long long)in_b);
  if (s->status != FNZ_OK)
    return;
  sizes[rank - 1] = out;
  fnzi_krn_array *by_a = STEP(permute, V(weight), INTS(1, 0, 2));
  fnzi_krn_array *part = STEP(mm, V(RESHAPED(a, rows, in_a)), V(RESHAPED(by_a, in_a, out * in_b)));
  fnzi_krn_array *product =
      STEP(bmm, V(RESHAPED(part, rows, out, in_b)), V(RESHAPED(b, rows, in_b, 1)));
  fnzi_krn_array *y = fnzi_dec_reshaped(s, product, sizes, (size_t)rank);
  fnzi_dec_result_give(s, bias ? ADD(y, bias) : y);
}

/* --- Grids ------------------------------------------------------------------------------- */
/* From -1 to 1: the outermost elements' middles, or their edges. */
static fnzi_krn_array *line(fnzi_dec_steps *s, fnzi_krn_array *like, int64_t count, bool aligned) {
  fnz_arg dtype = DTYPE(fnzi_dec_array_dtype(like));
  if (count < 2)
    return STEP(zeros, INTS(count), dtype);
  fnzi_krn_array *line = STEP(linspace, F(-1), F(1), I(count), dtype);
  if (aligned)
    return line;
  line = STEP(div__Scalar, V(STEP(mul__Scalar, V(line), I(count - 1))), I(count));
  return fnzi_dec_cast(s, line, fnzi_dec_array_dtype(like));
}

/* The argument "size", a batch of images or volumes. */
typedef struct grid {
  const int64_t *size;
  int64_t spatial, places;
  fnzi_krn_array *base; /* the coordinates of each place, and 1, for all of the batch */
} grid;

static grid open_grid(fnzi_dec_steps *s, fnzi_krn_array *like) {
  grid g = {.places = 1};
  size_t rank = 0;
  fnzi_krn_array *parts[4];
  bool aligned = fnzi_krn_named_bool(s->call, "align_corners", false);
  fnzi_dec_status_note(s, fnzi_krn_named_ints(s->call, "size", &g.size, &rank));
  if (rank != 4 && rank != 5)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "size has %zu numbers; it needs 4 or 5", rank);
  if (s->status != FNZ_OK)
    return g;
  g.spatial = (int64_t)rank - 2;
  for (int64_t d = 0; d < g.spatial; d++) { /* x is the last dimension */
    int64_t along[] = {1, 1, 1}, axis = g.spatial - 1 - d;
    along[axis] = g.size[2 + axis];
    fnzi_krn_array *x = line(s, like, g.size[2 + axis], aligned);
    x = fnzi_dec_reshaped(s, x, along, (size_t)g.spatial);
    parts[d] = STEP(expand, V(x), fnzi_dec_ints(s, g.size + 2, (size_t)g.spatial));
    if (!fnzi_mul_i64(g.places, g.size[2 + axis], &g.places))
      fnzi_dec_refuse(s, FNZ_CLASS_OVERFLOW, "size has more places than 64 bits count");
  }
  if (s->status != FNZ_OK)
    return g;
  parts[g.spatial] = STEP(ones_like, V(parts[0]));
  g.base = STEP(stack, fnzi_dec_values(s, parts, (size_t)g.spatial + 1), I(-1));
  g.base = RESHAPED(g.base, 1, g.places, g.spatial + 1);
  g.base = STEP(expand, V(g.base), INTS(g.size[0], g.places, g.spatial + 1));
  return g;
}

DECOMP(affine_grid) {
  fnzi_krn_array *theta = fnzi_dec_given_array(s, "theta");
  grid g = open_grid(s, theta);
  if (s->status != FNZ_OK)
    return;
  int64_t last = g.spatial == 3 ? g.size[4] : g.spatial;
  int64_t sizes[] = {g.size[0], g.size[2], g.size[3], last, g.spatial};
  fnzi_krn_array *y = STEP(bmm, V(g.base), V(STEP(transpose__int, V(theta), I(1), I(2))));
  fnzi_dec_result_give(s, fnzi_dec_reshaped(s, y, sizes, (size_t)g.spatial + 2));
}

DECOMP(affine_grid_backward) {
  fnzi_krn_array *grad = fnzi_dec_given_array(s, "grad");
  grid g = open_grid(s, grad);
  if (s->status != FNZ_OK)
    return;
  grad = RESHAPED(grad, g.size[0], g.places, g.spatial);
  fnzi_krn_array *theta = STEP(bmm, V(STEP(transpose__int, V(g.base), I(1), I(2))), V(grad));
  fnzi_dec_result_give(s, STEP(transpose__int, V(theta), I(1), I(2)));
}
