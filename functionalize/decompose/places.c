/* places.c - elements chosen by masks and indices, and writes through views of memory. */
#include "functionalize/decompose/ways.h"
#include "views/views.h"

/* --- Masks ------------------------------------------------------------------------------------ */
TAKE_APART(masked_fill) {
  fnzi_krn_array *self = GIVEN("self"), *value = GIVEN("value");
  fnz_dtype dtype = DTYPE_OF(self);
  value = value ? fnzi_dec_cast(s, value, dtype) : NUMBER(AS_GIVEN("value"), dtype);
  GIVE(STEP(where__self, V(GIVEN("mask")), V(value), V(self)));
}

/* The dtype of a number beside a tensor: the tensor's, unless the number is of a higher kind. */
static fnz_dtype beside(const fnz_arg *number, const fnzi_krn_array *a) {
  fnzi_promotion p = {.has_number = false};
  fnzi_promotion_add_number(&p, number);
  if (a)
    fnzi_promotion_add_tensor(&p, a->geometry.dtype, a->geometry.rank ? a->geometry.rank : 1);
  return fnzi_promotion_result(&p);
}

TAKE_APART(where) {
  fnzi_krn_array *a = GIVEN("self"), *b = GIVEN("other");
  fnz_arg x = AS_GIVEN("self"), y = AS_GIVEN("other");
  fnz_dtype dtype = a ? beside(&y, a) : b ? beside(&x, b) : FNZ_F32;
  if (!a && !b) {
    fnzi_promotion p = {.has_number = false};
    fnzi_promotion_add_number(&p, &x);
    fnzi_promotion_add_number(&p, &y);
    dtype = fnzi_promotion_result(&p);
  }
  a = a ? a : NUMBER(x, dtype);
  b = b ? b : NUMBER(y, dtype);
  GIVE(STEP(where__self, V(GIVEN("condition")), V(a), V(b)));
}

/* --- Indices ---------------------------------------------------------------------------------- */
/* The places that an index along one dimension names, as index_put takes them. */
static fnz_arg places_along(fnzi_dec_steps *s, int64_t dim, fnzi_krn_array *index) {
  fnzi_krn_array *all[FNZ_MAX_RANK] = {NULL};
  all[dim] = index;
  return fnzi_dec_values(s, all, (size_t)dim + 1);
}

/* A tensor without dimensions has one here. */
static fnzi_krn_array *with_a_dimension(fnzi_dec_steps *s, fnzi_krn_array *a) {
  return a && !RANK(a) ? STEP(unsqueeze, V(a), I(0)) : a;
}

static void give_put(fnzi_dec_steps *s, fnzi_krn_array *values, bool adds) {
  fnzi_krn_array *self = GIVEN("self"), *index = with_a_dimension(s, GIVEN("index"));
  int64_t dim = fnzi_dec_given_dim(s, "dim", self);
  fnzi_krn_array *a = with_a_dimension(s, self);
  a = STEP(index_put, V(a), places_along(s, dim, index), V(values), B(adds));
  GIVE(RANK(self) ? a : STEP(squeeze__dim, V(a), I(0)));
}

TAKE_APART(index_fill) {
  fnzi_krn_array *value = GIVEN("value");
  fnz_dtype dtype = DTYPE_OF(GIVEN("self"));
  give_put(s, value ? fnzi_dec_cast(s, value, dtype) : NUMBER(AS_GIVEN("value"), dtype), false);
}

TAKE_APART(index_copy) {
  give_put(s, GIVEN("source"), false);
}

TAKE_APART(index_add) {
  fnz_arg alpha = AS_GIVEN("alpha");
  fnzi_krn_array *source = GIVEN("source");
  if (fnzi_krn_number_float(&alpha) != 1)
    source = STEP(mul__Scalar, V(source), alpha);
  give_put(s, fnzi_dec_cast(s, source, DTYPE_OF(GIVEN("self"))), true);
}

TAKE_APART(one_hot) {
  fnzi_krn_array *a = GIVEN("self");
  int64_t classes = GIVEN_INT("num_classes");
  if (classes < 0)
    fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED, "the number of classes depends on elements");
  fnzi_krn_array *all = STEP(arange__start_step, I(0), I(classes), I(1), DTYPE(FNZ_I64));
  fnzi_krn_array *is = STEP(eq__Tensor, V(STEP(unsqueeze, V(a), I(-1))), V(all));
  GIVE(fnzi_dec_cast(s, is, FNZ_I64));
}

/* --- Memory ----------------------------------------------------------------------------------- */
/* Every place of a window, in rows: a run where they are evenly spaced, else a view of all places
 * of the memory. */
static fnzi_krn_array *places_of(fnzi_dec_steps *s, const fnz_geometry *window, int64_t count) {
  if (window->rank == 1 && window->strides[0] > 0 && window->sizes[0] > 0)
    return STEP(arange__start_step, I(window->offset),
                I(window->offset + SIZE_TIMES(window->sizes[0] - 1, window->strides[0]) + 1),
                I(window->strides[0]), DTYPE(FNZ_I64));
  fnzi_krn_array *all = STEP(arange__start_step, I(0), I(count), I(1), DTYPE(FNZ_I64));
  all = STEP(as_strided, V(all), fnzi_dec_ints(s, window->sizes, window->rank),
             fnzi_dec_ints(s, window->strides, window->rank), I(window->offset));
  return fnzi_dcm_flat(s, all);
}

/* `self`, whose elements lie in rows, with `src` in a window of its memory. */
static void give_written(fnzi_dec_steps *s, fnzi_krn_array *self, fnzi_krn_array *src,
                         const fnz_geometry *window) {
  if (fnzi_oracle_relate_self(window, 1 << 16) != FNZI_DISJOINT)
    fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED,
                    "it writes one place several times, which no core operator does in order");
  if (s->status != FNZ_OK)
    return;
  fnzi_krn_array *places = places_of(s, window, fnzi_dec_array_numel(self));
  fnzi_krn_array *flat =
      STEP(scatter__src, V(fnzi_dcm_flat(s, self)), I(0), V(places), V(fnzi_dcm_flat(s, src)));
  GIVE(fnzi_dcm_reshaped(s, flat, self->geometry.sizes, self->geometry.rank));
}

TAKE_APART(as_strided_scatter) {
  fnzi_krn_array *self = GIVEN("self");
  const int64_t *sizes = NULL, *strides = NULL;
  size_t rank = 0, count = 0;
  fnzi_dec_status_note(s, fnzi_krn_named_ints(s->call, "size", &sizes, &rank));
  fnzi_dec_status_note(s, fnzi_krn_named_ints(s->call, "stride", &strides, &count));
  if (s->status == FNZ_OK && (rank != count || !fnzi_is_contiguous(&self->geometry)))
    fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED, "the memory of self is not in rows");
  if (s->status != FNZ_OK)
    return;
  const fnz_geometry window = {.dtype = DTYPE_OF(self),
                               .rank = (uint32_t)rank,
                               .sizes = sizes,
                               .strides = strides,
                               .offset = GIVEN_INT("storage_offset")};
  give_written(s, self, GIVEN("src"), &window);
}

TAKE_APART(diagonal_scatter) {
  fnzi_krn_array *self = fnzi_dcm_in_rows(s, GIVEN("self"));
  const fnz_arg args[] = {V(self), I(GIVEN_INT("offset")), I(GIVEN_INT("dim1")),
                          I(fnzi_krn_named_int(s->call, "dim2", 1))};
  fnzi_krn_array *shown = fnzi_dec_step(s, FNZI_ATEN_diagonal, args, 4);
  if (s->status != FNZ_OK)
    return;
  fnz_geometry window = shown->geometry; /* counted from the first element of self */
  window.offset -= self->geometry.offset;
  give_written(s, self, GIVEN("src"), &window);
}
