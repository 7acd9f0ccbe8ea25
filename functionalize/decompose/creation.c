/* creation.c - tensors made of numbers: full, arange, triangles. */
#include "functionalize/decompose/ways.h"

fnzi_krn_array *fnzi_dcm_number(fnzi_dec_steps *s, fnz_arg value, fnz_dtype dtype) {
  return STEP(full, fnzi_dec_ints(s, NULL, 0), value, DTYPE(dtype));
}

/* --- All the same ----------------------------------------------------------------------------- */
/* The dtype of new_zeros(self, size) and zeros(size): the argument's, else that of `self`. */
static fnz_arg dtype_of(fnzi_dec_steps *s) {
  fnzi_krn_array *like = fnzi_op_param(s->call->op, "self") < 0 ? NULL : GIVEN("self");
  return DTYPE(fnzi_krn_named_dtype(s->call, "dtype", DTYPE_OF(like)));
}

static void give_full(fnzi_dec_steps *s, fnz_arg value) {
  GIVE(STEP(full, AS_GIVEN("size"), value, dtype_of(s), AS_GIVEN("layout"), AS_GIVEN("device"),
            AS_GIVEN("pin_memory")));
}

TAKE_APART(zeros) {
  give_full(s, I(0));
}
TAKE_APART(ones) {
  give_full(s, I(1));
}
TAKE_APART(new_full) {
  give_full(s, AS_GIVEN("fill_value"));
}

static void give_full_like(fnzi_dec_steps *s, fnz_arg value) {
  GIVE(STEP(full_like, V(GIVEN("self")), value, AS_GIVEN("dtype"), AS_GIVEN("layout"),
            AS_GIVEN("device"), AS_GIVEN("pin_memory"), AS_GIVEN("memory_format")));
}

TAKE_APART(zeros_like) {
  give_full_like(s, I(0));
}
TAKE_APART(ones_like) {
  give_full_like(s, I(1));
}

/* The value, or elements of any values for NONE, with the strides of `like` where it has no gaps:
 * made in the order of memory, then permuted. */
static void give_laid_like(fnzi_dec_steps *s, const fnzi_krn_array *like, fnz_arg value) {
  int64_t order[FNZ_MAX_RANK] = {0}, sizes[FNZ_MAX_RANK] = {0}, back[FNZ_MAX_RANK] = {0};
  if (s->status != FNZ_OK)
    return;
  const size_t rank = like->geometry.rank;
  const bool is_permuted = fnzi_is_dense(&like->geometry) && !fnzi_is_contiguous(&like->geometry);
  /* Dimensions in the order in which their elements lie in memory, if there are no gaps. */
  const fnz_geometry *g = &like->geometry;
  for (uint32_t d = 0; d < g->rank; d++) {
    uint32_t at = d;
    for (; at && g->strides[order[at - 1]] < g->strides[d]; at--)
      order[at] = order[at - 1];
    order[at] = d;
  }
  for (size_t d = 0; d < rank; d++) {
    sizes[d] = SIZE(like, is_permuted ? order[d] : (int64_t)d);
    back[order[d]] = (int64_t)d;
  }
  const fnz_arg of = dtype_of(s), layout = AS_GIVEN("layout"), device = AS_GIVEN("device");
  const fnz_arg pinned = AS_GIVEN("pin_memory"), all = fnzi_dec_ints(s, sizes, rank);
  fnzi_krn_array *a = value.tag == FNZ_ARG_NONE
                          ? STEP(empty__memory_format, all, of, layout, device, pinned)
                          : STEP(full, all, value, of, layout, device, pinned);
  GIVE(is_permuted ? STEP(permute, V(a), fnzi_dec_ints(s, back, rank)) : a);
}

/* Whether a tensor like another keeps the order in which its elements lie. */
static bool keeps_order(const fnzi_dec_steps *s) {
  const fnz_arg format = AS_GIVEN("memory_format");
  return !fnzi_dcm_is_given(&format) || format.u.i == FNZ_PRESERVE_FORMAT;
}

TAKE_APART(empty) {
  const fnz_arg size = AS_GIVEN("size");
  const bool is_like = size.tag != FNZ_ARG_LIST;
  if (is_like && keeps_order(s))
    give_laid_like(s, GIVEN("self"), NONE);
  else
    GIVE(STEP(empty__memory_format, is_like ? SIZES(GIVEN("self")) : size, dtype_of(s),
              AS_GIVEN("layout"), AS_GIVEN("device"), AS_GIVEN("pin_memory"),
              AS_GIVEN("memory_format")));
}

/* full_like as full, for consumers that lack full_like: targets/. */
TAKE_APART(full_by_sizes) {
  if (!keeps_order(s))
    fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED, "it asks for an order of elements in memory");
  give_laid_like(s, GIVEN("self"), AS_GIVEN("fill_value"));
}

/* Names the dtype of full, for consumers that make floats of any number. */
TAKE_APART(full_with_dtype) {
  const fnz_arg dtype = AS_GIVEN("dtype"), value = AS_GIVEN("fill_value");
  const bool is_bool = value.tag == FNZ_ARG_BOOL;
  if (fnzi_dcm_is_given(&dtype) || (!is_bool && value.tag != FNZ_ARG_INT))
    fnzi_dcm_nothing_to_mend(s);
  GIVE(STEP(full, AS_GIVEN("size"), value, DTYPE(is_bool ? FNZ_BOOL : FNZ_I64), AS_GIVEN("layout"),
            AS_GIVEN("device"), AS_GIVEN("pin_memory")));
}

/* Elements of any values may be zeros. */
TAKE_APART(zeros_for_any) {
  if (!keeps_order(s))
    fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED, "it asks for an order of elements in memory");
  give_full(s, I(0));
}

TAKE_APART(fill_tensor) {
  fnzi_krn_array *self = GIVEN("self"), *value = fnzi_dec_cast(s, GIVEN("value"), DTYPE_OF(self));
  GIVE(STEP(clone, V(STEP(expand, V(value), SIZES(self))), CONTIGUOUS_FORMAT));
}

/* --- One after the other ---------------------------------------------------------------------- */
TAKE_APART(arange) {
  fnz_arg start = AS_GIVEN("start");
  GIVE(STEP(arange__start_step, fnzi_dcm_is_given(&start) ? start : I(0), AS_GIVEN("end"), I(1),
            AS_GIVEN("dtype"), AS_GIVEN("layout"), AS_GIVEN("device"), AS_GIVEN("pin_memory")));
}

/* Counts in integers and casts, for consumers that count in the dtype of the bounds. */
TAKE_APART(arange_as_cast) {
  const fnz_arg start = AS_GIVEN("start"), end = AS_GIVEN("end"), step = AS_GIVEN("step");
  const bool has_start = fnzi_dcm_is_given(&start), has_step = fnzi_dcm_is_given(&step);
  const fnz_dtype dtype = fnzi_krn_named_dtype(s->call, "dtype", FNZ_I64);
  if (!fnzi_is_float(dtype) || end.tag != FNZ_ARG_INT || (has_start && start.tag != FNZ_ARG_INT) ||
      (has_step && step.tag != FNZ_ARG_INT))
    fnzi_dcm_nothing_to_mend(s);
  GIVE(fnzi_dec_cast(s,
                     STEP(arange__start_step, has_start ? start : I(0), end, has_step ? step : I(1),
                          DTYPE(FNZ_I64)),
                     dtype));
}

static fnzi_krn_array *creation_counted(fnzi_dec_steps *s, int64_t from, int64_t count) {
  return STEP(arange__start_step, I(from), I(from + count), I(1), DTYPE(FNZ_I64));
}

/* Column minus row, compared: `from` counts rows from the diagonal on. */
static fnzi_krn_array *creation_rows_of(fnzi_dec_steps *s, int64_t from, int64_t count) {
  return STEP(unsqueeze, V(creation_counted(s, from, count)), I(1));
}

TAKE_APART(eye) {
  int64_t n = GIVEN_INT("n"), m = fnzi_op_param(s->call->op, "m") < 0 ? n : GIVEN_INT("m");
  fnzi_krn_array *is_on =
      STEP(eq__Tensor, V(creation_counted(s, 0, m)), V(creation_rows_of(s, 0, n)));
  GIVE(fnzi_dec_cast(s, is_on, fnzi_krn_named_dtype(s->call, "dtype", FNZ_F32)));
}

static void give_triangle(fnzi_dec_steps *s, bool is_lower) {
  fnzi_krn_array *a = GIVEN("self"), *rows, *columns;
  rows = creation_rows_of(s, GIVEN_INT("diagonal"), SIZE(a, -2));
  columns = creation_counted(s, 0, SIZE(a, -1));
  fnzi_krn_array *stays =
      is_lower ? STEP(le__Tensor, V(columns), V(rows)) : STEP(ge__Tensor, V(columns), V(rows));
  GIVE(CHOSEN(stays, a, NUMBER(I(0), DTYPE_OF(a))));
}

TAKE_APART(tril) {
  give_triangle(s, true);
}
TAKE_APART(triu) {
  give_triangle(s, false);
}
