/* creation.c - tensors made of numbers: full, arange, triangles. */
#include "functionalize/decompose/ways.h"

fnzi_krn_array *fnzi_dcm_number(fnzi_dec_steps *s, fnz_arg value, fnz_dtype dtype) {
  return STEP(full, fnzi_dec_ints(s, NULL, 0), value, DTYPE(dtype));
}

/* --- All the same ----------------------------------------------------------------------------- */
/* What new_zeros(self, size) and zeros(size) say of the dtype. */
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

/* Elements of any values. */
TAKE_APART(empty) {
  fnz_arg size = AS_GIVEN("size");
  GIVE(STEP(empty__memory_format, size.tag == FNZ_ARG_LIST ? size : SIZES(GIVEN("self")),
            dtype_of(s), AS_GIVEN("layout"), AS_GIVEN("device"), AS_GIVEN("pin_memory")));
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

static fnzi_krn_array *counted(fnzi_dec_steps *s, int64_t from, int64_t count) {
  return STEP(arange__start_step, I(from), I(from + count), I(1), DTYPE(FNZ_I64));
}

/* Column minus row, compared: `from` counts rows from the diagonal on. */
static fnzi_krn_array *rows_of(fnzi_dec_steps *s, int64_t from, int64_t count) {
  return STEP(unsqueeze, V(counted(s, from, count)), I(1));
}

TAKE_APART(eye) {
  int64_t n = GIVEN_INT("n"), m = fnzi_op_param(s->call->op, "m") < 0 ? n : GIVEN_INT("m");
  fnzi_krn_array *is_on = STEP(eq__Tensor, V(counted(s, 0, m)), V(rows_of(s, 0, n)));
  GIVE(fnzi_dec_cast(s, is_on, fnzi_krn_named_dtype(s->call, "dtype", FNZ_F32)));
}

static void give_triangle(fnzi_dec_steps *s, bool is_lower) {
  fnzi_krn_array *a = GIVEN("self"), *rows, *columns;
  rows = rows_of(s, GIVEN_INT("diagonal"), SIZE(a, -2));
  columns = counted(s, 0, SIZE(a, -1));
  fnzi_krn_array *stays =
      is_lower ? STEP(le__Tensor, V(columns), V(rows)) : STEP(ge__Tensor, V(columns), V(rows));
  GIVE(STEP(where__self, V(stays), V(a), V(NUMBER(I(0), DTYPE_OF(a)))));
}

TAKE_APART(tril) {
  give_triangle(s, true);
}
TAKE_APART(triu) {
  give_triangle(s, false);
}
