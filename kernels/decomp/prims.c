/* prims.c - operators of PyTorch's namespace prims that are several steps, as its definitions have
 * them; the others become calls of ATen operators when a program is read (schema/prims.def). */
#include "kernels/decomp/decomp.h"

typedef fnzi_krn_array array;

enum { MOST_POOLED = 3, BYTE_BITS = 0xff, MANTISSA_BITS = 23, LARGEST_E8M0 = 254 };

/* New memory, row by row. */
static void give_rows(fnzi_dec_steps *s, array *a) {
  fnzi_dec_result_give(s, STEP(clone, V(a), (fnz_arg){.tag = FNZ_ARG_MEMORY_FORMAT, .u.i = 1}));
}

static size_t given_ints(fnzi_dec_steps *s, const char *name, const int64_t **out) {
  size_t count = 0;
  *out = NULL;
  fnzi_dec_status_note(s, fnzi_krn_named_ints(s->call, name, out, &count));
  return count;
}

/* --- Elements --------------------------------------------------------------------------------- */
/* PyTorch's definition rounds after the multiplication, and so does this. */
DECOMP(prims_fma) {
  array *a = fnzi_dec_given_array(s, "a");
  /* A factor may be a number. */
  array *b = fnzi_dec_given_array(s, "b");
  array *product = b ? MUL(a, b) : STEP(mul__Scalar, V(a), *fnzi_krn_named(s->call, "b"));
  fnzi_dec_result_give(s, ADD(product, fnzi_dec_given_array(s, "c")));
}

DECOMP(prims_cbrt) {
  array *x = fnzi_dec_given_array(s, "self");
  array *root = STEP(pow__Tensor_Scalar, V(STEP(abs, V(x))), F(1.0 / 3.0));
  fnzi_dec_result_give(s, STEP(copysign__Tensor, V(root), V(x)));
}

/* The exponent of a float, one more where its mantissa is not 0. */
DECOMP(prims_e8m0) {
  array *x = fnzi_dec_given_array(s, "input");
  if (fnzi_dec_wide(fnzi_dec_array_dtype(x)) != FNZ_F32)
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "input is %s; it must be f32, f16 or bf16",
                    fnzi_dtype(fnzi_dec_array_dtype(x))->name);
  array *bits = STEP(view__dtype, V(fnzi_dec_cast(s, x, FNZ_F32)), DTYPE(FNZ_I32));
  array *exponent = STEP(bitwise_right_shift__Tensor_Scalar, V(bits), I(MANTISSA_BITS));
  exponent = STEP(bitwise_and__Scalar, V(exponent), I(BYTE_BITS));
  array *mantissa = STEP(bitwise_and__Scalar, V(bits), I((1 << MANTISSA_BITS) - 1));
  array *up = fnzi_dec_cast(s, STEP(ne__Scalar, V(mantissa), I(0)), FNZ_I32);
  array *sum = STEP(clamp, V(ADD(exponent, up)), I(0), I(LARGEST_E8M0));
  fnzi_dec_result_give(s, fnzi_dec_cast(s, sum, FNZ_U8));
}

/* --- Reductions ------------------------------------------------------------------------------- */
/* Dimension after dimension, the last one first, so that the others keep their numbers. */
DECOMP(prims_prod) {
  const int64_t *dims;
  array *x = fnzi_dec_given_array(s, "inp");
  size_t count = given_ints(s, "dims", &dims);
  if (fnzi_krn_named(s->call, "output_dtype")->tag == FNZ_ARG_DTYPE)
    fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED,
                    "output_dtype is given, which no definition takes; convert the argument first");
  for (int64_t d = (int64_t)fnzi_dec_array_rank(x) - 1; d >= 0; d--)
    for (size_t k = 0; k < count; k++)
      if (dims[k] == d)
        x = STEP(prod__dim_int, V(x), I(d));
  fnzi_dec_result_give(s, STEP(clone, V(x)));
}

DECOMP(prims_softmax) {
  array *x = fnzi_dec_given_array(s, "a");
  int64_t dim = fnzi_dec_given_dim(s, "dim", x);
  array *most = STEP(amax, V(x), INTS(dim), B(true));
  array *sum = STEP(sum__dim_IntList, V(STEP(exp, V(SUB(x, most)))), INTS(dim), B(true));
  fnzi_dec_result_give(s, most);
  fnzi_dec_result_give(s, sum);
}

/* --- Sizes and strides ------------------------------------------------------------------------ */
DECOMP(prims_reshape) {
  const int64_t *sizes;
  size_t rank = given_ints(s, "shape", &sizes);
  give_rows(s, fnzi_dec_reshaped(s, fnzi_dec_given_array(s, "a"), sizes, rank));
}

/* Dimensions `start` to `end`, both included, become one. */
DECOMP(prims_collapse) {
  int64_t sizes[FNZ_MAX_RANK] = {1};
  array *a = fnzi_dec_given_array(s, "a");
  uint32_t rank = fnzi_dec_array_rank(a), start = fnzi_dec_given_dim(s, "start", a);
  uint32_t end = fnzi_dec_given_dim(s, "end", a), n = 0;
  if (end < start)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "end %u is before start %u", end, start);
  for (uint32_t d = 0; s->status == FNZ_OK && d < rank; d++) {
    bool joins = d > start && d <= end;
    int64_t size = fnzi_dec_array_size(a, d);
    n += !joins;
    sizes[n - 1] = joins ? sizes[n - 1] * size : size;
  }
  give_rows(s, fnzi_dec_reshaped(s, a, sizes, rank ? n : 1));
}

static void give_strided(fnzi_dec_steps *s, array *a) {
  int64_t sizes[FNZ_MAX_RANK];
  const int64_t *strides;
  uint32_t rank = fnzi_dec_array_rank(a);
  size_t count = given_ints(s, "stride", &strides);
  for (uint32_t d = 0; d < rank; d++)
    sizes[d] = fnzi_dec_array_size(a, d);
  array *room = STEP(new_empty_strided, V(a), fnzi_dec_ints(s, sizes, rank),
                     fnzi_dec_ints(s, strides, count));
  fnzi_dec_result_give(s, STEP(copy, V(room), V(a)));
}

DECOMP(prims_copy_strided) {
  give_strided(s, fnzi_dec_given_array(s, "a"));
}

/* PyTorch copies too where the strides are these: it compares a tuple with a list. */
DECOMP(prims_force_strides) {
  give_strided(s, fnzi_dec_given_array(s, "input"));
}

/* --- Random numbers --------------------------------------------------------------------------- */
/* Seeds and places in the generator's sequence, which only that of CUDA has. */
DECOMP(prims_offsets) {
  const int64_t *offsets;
  const fnz_arg *device = fnzi_krn_named(s->call, "device");
  size_t count = given_ints(s, "offsets", &offsets);
  if (device->tag == FNZ_ARG_DEVICE && strncmp(device->u.s, "cuda", 4) == 0)
    fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED,
                    "it reserves numbers of PyTorch's generator on %s, which this run has not; "
                    "export without Inductor's random numbers",
                    device->u.s);
  fnzi_dec_result_give(s, STEP(zeros, INTS((int64_t)count, 2), DTYPE(FNZ_I64)));
}

/* --- Pooling ---------------------------------------------------------------------------------- */
/* The windows of a pooling over the last `n` dimensions. */
typedef struct pool {
  size_t n;
  const int64_t *kernel, *stride, *padding, *dilation;
} pool;

static void read_pool(fnzi_dec_steps *s, pool *p) {
  p->n = given_ints(s, "kernel_size", &p->kernel);
  bool fits = p->n > 1 && p->n <= MOST_POOLED;
  fits = given_ints(s, "stride", &p->stride) == p->n && fits;
  fits = given_ints(s, "padding", &p->padding) == p->n && fits;
  fits = given_ints(s, "dilation", &p->dilation) == p->n && fits;
  if (!fits)
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE,
                    "kernel_size, stride, padding and dilation need 2 or 3 numbers each");
}

/* `places` counts the elements of a box of these sizes row by row: their coordinates. */
static void take_apart(fnzi_dec_steps *s, array *places, const int64_t *sizes, size_t n,
                       array *out[MOST_POOLED]) {
  for (size_t d = 0; d + 1 < n; d++) {
    int64_t below = 1;
    for (size_t k = d + 1; k < n; k++)
      below *= sizes[k];
    const fnz_arg floor = {.tag = FNZ_ARG_STRING, .count = 5, .u.s = "floor"};
    out[d] = STEP(div__Scalar_mode, V(places), I(below), floor);
    places = SUB(places, STEP(mul__Scalar, V(out[d]), I(below)));
  }
  out[n - 1] = places;
}

static array *put_together(fnzi_dec_steps *s, array *const *coordinates, const int64_t *sizes,
                           size_t n) {
  array *places = coordinates[0];
  for (size_t d = 1; d < n; d++)
    places = ADD(STEP(mul__Scalar, V(places), I(sizes[d])), coordinates[d]);
  return places;
}

/* The start of the window of each result along dimension d of the pooled ones. */
static array *starts(fnzi_dec_steps *s, const pool *p, size_t d, const array *results) {
  uint32_t rank = fnzi_dec_array_rank(results), dim = rank - (uint32_t)p->n + (uint32_t)d;
  array *counted = STEP(arange, I(fnzi_dec_array_size(results, dim)), DTYPE(FNZ_I64));
  counted = STEP(mul__Scalar, V(counted), I(p->stride[d]));
  return fnzi_dec_along(s, STEP(sub__Scalar, V(counted), I(p->padding[d])), dim, rank);
}

/* Places of maxima within their windows, in a byte. */
DECOMP(prims_pool_offsets) {
  pool p = {0};
  int64_t sizes[MOST_POOLED];
  array *x = fnzi_dec_given_array(s, "self"), *found[2] = {NULL}, *at[MOST_POOLED] = {NULL};
  read_pool(s, &p);
  if (s->status != FNZ_OK)
    return;
  const fnz_arg args[] = {V(x),
                          fnzi_dec_ints(s, p.kernel, p.n),
                          fnzi_dec_ints(s, p.stride, p.n),
                          fnzi_dec_ints(s, p.padding, p.n),
                          fnzi_dec_ints(s, p.dilation, p.n),
                          *fnzi_krn_named(s->call, "ceil_mode")};
  size_t op = p.n == 2 ? FNZI_ATEN_max_pool2d_with_indices : FNZI_ATEN_max_pool3d_with_indices;
  fnzi_dec_step_into(s, op, args, sizeof args / sizeof *args, found, 2);
  for (size_t d = 0; d < p.n; d++)
    sizes[d] = fnzi_dec_array_size(x, (int64_t)d - (int64_t)p.n);
  take_apart(s, found[1], sizes, p.n, at);
  for (size_t d = 0; d < p.n && s->status == FNZ_OK; d++) {
    const fnz_arg floor = {.tag = FNZ_ARG_STRING, .count = 5, .u.s = "floor"};
    at[d] = SUB(at[d], starts(s, &p, d, found[1]));
    at[d] = STEP(div__Scalar_mode, V(at[d]), I(p.dilation[d]), floor);
  }
  fnzi_dec_result_give(s, found[0]);
  fnzi_dec_result_give(s, fnzi_dec_cast(s, put_together(s, at, p.kernel, p.n), FNZ_I8));
}

/* The reverse: places within the whole input. */
DECOMP(prims_pool_indices) {
  pool p = {0};
  const int64_t *sizes;
  array *offsets = fnzi_dec_given_array(s, "self"), *at[MOST_POOLED] = {NULL};
  read_pool(s, &p);
  if (given_ints(s, "input_size", &sizes) != p.n)
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "input_size needs as many numbers as kernel_size");
  if (s->status != FNZ_OK)
    return;
  take_apart(s, fnzi_dec_cast(s, offsets, FNZ_I64), p.kernel, p.n, at);
  for (size_t d = 0; d < p.n && s->status == FNZ_OK; d++)
    at[d] = ADD(STEP(mul__Scalar, V(at[d]), I(p.dilation[d])), starts(s, &p, d, offsets));
  fnzi_dec_result_give(s, put_together(s, at, sizes, p.n));
}
