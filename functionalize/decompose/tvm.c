/* tvm.c - calls that TVM's importer lacks or takes wrongly, by calls that it takes rightly
 * (targets/calls_tvm.def).
 *
 * needs   the geometries of the arguments
 * gives   the same elements; a way that has nothing to mend refuses */
#include "functionalize/decompose/ways.h"

/* --- extremes --------------------------------------------------------------------------------- */
/* The largest: of everything at once, or along one dimension after the other. The last dimension is
 * first: a dimension that is dropped moves all behind it. */
static fnzi_krn_array *largest(fnzi_dec_steps *s, fnzi_krn_array *a) {
  bool named[FNZ_MAX_RANK], keeps = GIVEN_BOOL("keepdim");
  /* Which dimensions are named, all where none are; and how many. */
  const int64_t *dims = NULL;
  size_t given = 0, count = 0;
  int64_t whole = RANK(GIVEN("self"));
  fnzi_dec_status_note(s, fnzi_krn_named_ints(s->call, "dim", &dims, &given));
  for (int64_t d = 0; s->status == FNZ_OK && d < whole; d++) {
    named[d] = !given;
    for (size_t i = 0; i < given; i++)
      named[d] |= dims[i] == d || dims[i] + whole == d;
    count += named[d];
  }
  int64_t rank = RANK(a);
  if (count == (size_t)rank && !keeps)
    return STEP(max, V(a));
  for (int64_t d = rank; d-- > 0;) {
    fnzi_krn_array *made[2] = {NULL, NULL};
    if (!named[d])
      continue;
    STEPS_INTO(made, 2, max__dim, V(a), I(d), B(keeps));
    a = made[0];
  }
  return a;
}

/* Reverses the order of elements. Integers use the complement, because the smallest one has no
 * negative. */
static fnzi_krn_array *reversed(fnzi_dec_steps *s, fnzi_krn_array *a) {
  return fnzi_is_float(DTYPE_OF(a)) ? STEP(neg, V(a)) : STEP(bitwise_not, V(a));
}

/* Its maximum is of numbers alone. */
static fnzi_krn_array *tvm_counted(fnzi_dec_steps *s, fnzi_krn_array *a) {
  return DTYPE_OF(a) == FNZ_BOOL ? fnzi_dec_cast(s, a, FNZ_I32) : a;
}

TAKE_APART(amax_by_max) {
  fnzi_krn_array *a = GIVEN("self");
  GIVE(fnzi_dec_cast(s, largest(s, tvm_counted(s, a)), DTYPE_OF(a)));
}

TAKE_APART(amin_by_max) {
  fnzi_krn_array *a = GIVEN("self"), *most = largest(s, reversed(s, tvm_counted(s, a)));
  GIVE(fnzi_dec_cast(s, reversed(s, most), DTYPE_OF(a)));
}

/* --- indices ---------------------------------------------------------------------------------- */
/* The indices of index and index_put: a tensor for each dimension, or none. */
typedef struct picks {
  fnzi_krn_array *at[FNZ_MAX_RANK];
  size_t rank, count, first;   /* of self; of tensors; the dimension of the first */
  bool apart;                  /* there is a dimension without one between them */
  int64_t sizes[FNZ_MAX_RANK]; /* that they have in common */
  uint32_t depth;
} picks;

/* false: there is a mask, or no tensor. */
static bool read_picks(fnzi_dec_steps *s, const fnzi_krn_array *self, picks *p) {
  const fnz_geometry *geometries[FNZ_MAX_RANK];
  size_t count = fnzi_dec_given_count(s, "indices"), last = 0;
  *p = (picks){.rank = (size_t)RANK(self)};
  for (size_t d = 0; d < count && d < p->rank; d++) {
    fnzi_krn_array *at = fnzi_dec_given_item(s, "indices", d);
    fnz_dtype dtype = DTYPE_OF(at);
    if (at && (!fnzi_is_integer(dtype) || dtype == FNZ_U8))
      return false;
    if (!at)
      continue;
    p->first = p->count ? p->first : d;
    p->apart |= p->count && d > last + 1;
    last = d;
    p->at[d] = at;
    geometries[p->count++] = &at->geometry;
  }
  if (s->status == FNZ_OK && p->count)
    s->status = fnzi_meta_broadcast(s->call, geometries, p->count, &p->depth, p->sizes);
  return s->status == FNZ_OK && p->count;
}

/* The place of the common dimensions of the tensors in the result. */
static size_t tvm_place_of(const picks *p) {
  return p->apart ? 0 : p->first;
}

/* A mask over the first dimensions that have an index, and values that do not tell its places
 * apart: written by where. */
static void give_masked(fnzi_dec_steps *s, fnzi_krn_array *self, fnzi_krn_array *values) {
  size_t count = fnzi_dec_given_count(s, "indices"), front = count ? count - 1 : 0;
  fnzi_krn_array *mask = count ? fnzi_dec_given_item(s, "indices", front) : NULL;
  int64_t sizes[FNZ_MAX_RANK], rank = RANK(self), depth = RANK(mask), rest = rank - depth;
  bool fits = mask && DTYPE_OF(mask) == FNZ_BOOL && (int64_t)front <= rest;
  for (size_t i = 0; i < front; i++)
    fits &= !fnzi_dec_given_item(s, "indices", i);
  rest -= (int64_t)front;
  if (fits && RANK(values) == rest + 1 && SIZE(values, 0) == 1)
    values = STEP(squeeze__dim, V(values), I(0));
  if (!fits || RANK(values) > rest) {
    fnzi_dcm_nothing_to_mend(s);
    return;
  }
  for (int64_t d = 0; d < rank; d++)
    sizes[d] =
        d >= (int64_t)front && d < (int64_t)front + depth ? SIZE(mask, d - (int64_t)front) : 1;
  mask = fnzi_dec_reshaped(s, mask, sizes, (size_t)rank);
  values = fnzi_dec_cast(s, GIVEN_BOOL("accumulate") ? ADD(self, values) : values, DTYPE_OF(self));
  GIVE(CHOSEN(mask, values, self));
}

/* --- sums at places --------------------------------------------------------------------------- */
/* Its index_put adds from several threads at once, and loses numbers that have one place. So each
 * place is the sum of the numbers that are for it: `here` says which, along dimension `dim`. */
static fnzi_krn_array *sums(fnzi_dec_steps *s, fnzi_krn_array *here, fnzi_krn_array *numbers,
                            int64_t dim) {
  fnzi_krn_array *none = NUMBER(I(0), DTYPE_OF(numbers));
  fnzi_krn_array *each = CHOSEN(here, numbers, none);
  return STEP(sum__dim_IntList, V(each), INTS(dim), B(false), DTYPE(DTYPE_OF(numbers)));
}

/* A negative index, from the front. */
static fnzi_krn_array *from_front(fnzi_dec_steps *s, fnzi_krn_array *at, int64_t size) {
  return STEP(remainder__Scalar, V(at), I(size ? size : 1));
}

/* The places of the indexed dimensions, counted in rows of them, in one dimension. */
static fnzi_krn_array *tvm_rows_of(fnzi_dec_steps *s, const picks *p, const fnzi_krn_array *self,
                                   int64_t *count) {
  fnzi_krn_array *all = NULL;
  *count = 1;
  for (size_t d = p->rank; d-- > 0;) {
    int64_t size = SIZE(self, (int64_t)d);
    if (!p->at[d])
      continue;
    fnzi_krn_array *at = from_front(s, fnzi_dec_cast(s, p->at[d], FNZ_I64), size);
    at = *count == 1 ? at : STEP(mul__Scalar, V(at), I(*count));
    all = all ? ADD(all, at) : at;
    *count = SIZE_TIMES(*count, size);
  }
  return fnzi_dcm_flat(s, fnzi_dcm_expanded(s, all, p->sizes, p->depth));
}

/* `first` dimensions that `is_first` names, then the others; and the way back. */
static fnzi_krn_array *tvm_moved(fnzi_dec_steps *s, fnzi_krn_array *a, const bool *is_first,
                                 bool is_back) {
  int64_t order[FNZ_MAX_RANK], back[FNZ_MAX_RANK] = {0};
  size_t n = 0, rank = (size_t)RANK(a);
  for (int pass = 0; pass < 2; pass++)
    for (size_t d = 0; d < rank; d++)
      if (is_first[d] != (pass == 1))
        order[n++] = (int64_t)d;
  for (size_t d = 0; d < rank; d++)
    back[order[d]] = (int64_t)d;
  return STEP(permute, V(a), fnzi_dec_ints(s, is_back ? back : order, rank));
}

/* `values` has the sizes of the result of index. */
static void give_added(fnzi_dec_steps *s, fnzi_krn_array *self, const picks *p,
                       fnzi_krn_array *values) {
  enum { MOST = 1 << 26 };
  bool indexed[FNZ_MAX_RANK], common[FNZ_MAX_RANK];
  int64_t places;
  for (size_t d = 0; d < FNZ_MAX_RANK; d++) {
    indexed[d] = d < p->rank && p->at[d];
    common[d] = d >= tvm_place_of(p) && d < tvm_place_of(p) + p->depth;
  }
  fnzi_krn_array *at = tvm_rows_of(s, p, self, &places), *line = tvm_moved(s, self, indexed, false);
  int64_t count = fnzi_dec_array_numel(at), rest = fnzi_dec_array_numel(self);
  rest = places ? rest / places : 0;
  if (!rest || !count || SIZE_TIMES(SIZE_TIMES(places, count), rest) > MOST) {
    fnzi_dcm_nothing_to_mend(s);
    return;
  }
  fnzi_krn_array *every = RESHAPED(STEP(arange, I(places), DTYPE(FNZ_I64)), places, 1, 1);
  fnzi_krn_array *here = STEP(eq__Tensor, V(every), V(RESHAPED(at, 1, count, 1)));
  values =
      fnzi_dec_reshaped(s, tvm_moved(s, values, common, false), (const int64_t[]){count, rest}, 2);
  fnzi_krn_array *sum =
      ADD(fnzi_dec_reshaped(s, line, (const int64_t[]){places, rest}, 2), sums(s, here, values, 1));
  if (s->status == FNZ_OK)
    sum = fnzi_dec_reshaped(s, sum, line->geometry.sizes, p->rank);
  GIVE(tvm_moved(s, sum, indexed, true));
}

TAKE_APART(scatter_add_by_sums) {
  fnzi_krn_array *self = GIVEN("self"), *at = GIVEN("index"), *src = GIVEN("src");
  int64_t dim = fnzi_dec_given_dim(s, "dim", self), rank = RANK(self);
  if (!rank || RANK(at) != rank || RANK(src) != rank)
    fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED, "it has no dimensions");
  for (int64_t d = 0; s->status == FNZ_OK && d < rank; d++) {
    if (d != dim && SIZE(at, d) != SIZE(self, d))
      fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED, "its index is smaller than self");
    if (SIZE(src, d) != SIZE(at, d))
      src = fnzi_part(s, src, d, 0, SIZE(at, d));
  }
  fnzi_krn_array *every = STEP(arange, I(SIZE(self, dim)), DTYPE(FNZ_I64));
  every = fnzi_dec_along(s, every, dim, (size_t)rank + 1);
  fnzi_krn_array *here = STEP(eq__Tensor, V(every), V(STEP(unsqueeze, V(at), I(dim))));
  GIVE(ADD(self, sums(s, here, STEP(unsqueeze, V(src), I(dim)), dim + 1)));
}

/* Its index_put wants an index for every dimension, and as many values as there are places. */
TAKE_APART(index_put_everywhere) {
  fnzi_krn_array *self = GIVEN("self"), *values = GIVEN("values"), *all[FNZ_MAX_RANK];
  int64_t sizes[FNZ_MAX_RANK] = {0};
  picks p;
  if (!read_picks(s, self, &p)) {
    give_masked(s, self, values);
    return;
  }
  size_t place = tvm_place_of(&p), end = place + p.depth, rank = p.rank - p.count + p.depth,
         next = 0;
  for (size_t d = 0; d < p.depth; d++)
    sizes[place + d] = p.sizes[d];
  for (size_t d = 0; d < p.rank; d++) {
    if (p.at[d]) {
      /* The index of a dimension under `rank` dimensions: others have size 1, so it broadcasts. */
      int64_t under[FNZ_MAX_RANK];
      size_t depth = (size_t)RANK(p.at[d]);
      for (size_t k = 0; k < rank; k++)
        under[k] = k < end && k + depth >= end ? SIZE(p.at[d], (int64_t)(k + depth - end)) : 1;
      all[d] = fnzi_dec_reshaped(s, fnzi_dec_cast(s, p.at[d], FNZ_I64), under, rank);
      continue;
    }
    next = next == place ? end : next;
    sizes[next] = SIZE(self, (int64_t)d);
    all[d] = STEP(arange, I(sizes[next]), DTYPE(FNZ_I64));
    all[d] = fnzi_dec_along(s, all[d], (int64_t)next++, rank);
  }
  values = fnzi_dcm_expanded(s, values, sizes, rank);
  if (GIVEN_BOOL("accumulate"))
    give_added(s, self, &p, values);
  else
    GIVE(STEP(index_put, V(self), fnzi_dec_values(s, all, p.rank), V(values), B(false)));
}

/* It takes several indices beside dimensions without one for independent of each other. So the
 * dimensions with an index come first. A negative index reads outside of the tensor. */
TAKE_APART(index_in_front) {
  fnzi_krn_array *self = GIVEN("self"), *all[FNZ_MAX_RANK];
  int64_t order[FNZ_MAX_RANK], back[FNZ_MAX_RANK];
  picks p;
  size_t n = 0, place, rest = 0;
  if (!read_picks(s, self, &p)) {
    fnzi_dcm_nothing_to_mend(s);
    return;
  }
  for (size_t d = 0; d < p.rank; d++)
    if (p.at[d]) {
      order[n] = (int64_t)d;
      all[n++] = from_front(s, p.at[d], SIZE(self, (int64_t)d));
    }
  for (size_t d = 0; d < p.rank; d++)
    if (!p.at[d])
      order[n++] = (int64_t)d;
  self = STEP(permute, V(self), fnzi_dec_ints(s, order, p.rank));
  self = STEP(index__Tensor, V(self), fnzi_dec_values(s, all, p.count));
  place = tvm_place_of(&p);
  for (size_t d = 0; d < p.rank - p.count + p.depth; d++)
    back[d] =
        d >= place && d < place + p.depth ? (int64_t)(d - place) : (int64_t)(p.depth + rest++);
  GIVE(STEP(permute, V(self), fnzi_dec_ints(s, back, p.rank - p.count + p.depth)));
}

/* It reads outside of the tensor where an index counts from the end. */
TAKE_APART(select_from_front) {
  fnzi_krn_array *self = GIVEN("self");
  uint32_t dim = fnzi_dec_given_dim(s, "dim", self);
  int64_t at = GIVEN_INT("index");
  if (at >= 0)
    fnzi_dcm_nothing_to_mend(s);
  GIVE(STEP(select__int, V(self), I(dim), I(at + SIZE(self, dim))));
}

/* --- arithmetic ------------------------------------------------------------------------------- */
/* The dtype that the operands have in common. */
static fnz_dtype joint_dtype(fnzi_dec_steps *s) {
  static const char *const names[] = {"self", "other"};
  fnzi_promotion p = {.has_number = false};
  for (size_t i = 0; i < 2; i++) {
    const fnzi_krn_array *a = GIVEN(names[i]);
    fnz_arg number = AS_GIVEN(names[i]);
    if (a)
      fnzi_promotion_add_tensor(&p, a->geometry.dtype, a->geometry.rank);
    else
      fnzi_promotion_add_number(&p, &number);
  }
  return fnzi_promotion_result(&p);
}

/* An operand in that dtype: a number stays one, unless it must be a tensor. */
static fnz_arg operand(fnzi_dec_steps *s, const char *name, fnz_dtype dtype, bool is_tensor) {
  fnzi_krn_array *a = GIVEN(name);
  if (a || is_tensor)
    return V(a ? fnzi_dec_cast(s, a, dtype) : NUMBER(AS_GIVEN(name), dtype));
  return AS_GIVEN(name);
}

static bool is_in(fnzi_dec_steps *s, const char *name, fnz_dtype dtype) {
  const fnzi_krn_array *a = GIVEN(name);
  return !a || DTYPE_OF(a) == dtype;
}

static void give_binary(fnzi_dec_steps *s, fnz_dtype dtype) {
  fnz_arg alpha = AS_GIVEN("alpha");
  bool is_scaled = fnzi_dcm_is_given(&alpha) && fnzi_krn_number_float(&alpha) != 1;
  if (!is_scaled && is_in(s, "self", dtype) && is_in(s, "other", dtype))
    fnzi_dcm_nothing_to_mend(s);
  fnz_arg args[] = {operand(s, "self", dtype, is_scaled), operand(s, "other", dtype, is_scaled)};
  if (is_scaled)
    args[1] = V(STEP(mul__Scalar, args[1], alpha));
  GIVE(fnzi_dec_step(s, fnzi_op_place(s->call->op), args, 2));
}

/* It takes a number in the dtype of the tensor, and has no alpha. */
TAKE_APART(binary_in_one_dtype) {
  give_binary(s, joint_dtype(s));
}

/* It divides integers as C does. */
TAKE_APART(quotient_of_floats) {
  fnz_dtype dtype = joint_dtype(s);
  give_binary(s, dtype == FNZ_BOOL || fnzi_is_integer(dtype) ? FNZ_F32 : dtype);
}

TAKE_APART(where_in_one_dtype) {
  fnzi_krn_array *a = GIVEN("self"), *b = GIVEN("other");
  fnz_dtype dtype = joint_dtype(s);
  if (DTYPE_OF(a) == dtype && DTYPE_OF(b) == dtype)
    fnzi_dcm_nothing_to_mend(s);
  GIVE(CHOSEN(GIVEN("condition"), fnzi_dec_cast(s, a, dtype), fnzi_dec_cast(s, b, dtype)));
}

/* It reads its bounds where they are named, and exporters give them by place. */
TAKE_APART(hardtanh_by_clamp) {
  GIVE(STEP(clamp, V(GIVEN("self")), AS_GIVEN("min_val"), AS_GIVEN("max_val")));
}

/* TVM's importer returns the largest element of numbers, so they are compared with 0 first. */
TAKE_APART(any_of_truths) {
  fnzi_krn_array *a = GIVEN("self");
  bool keeps = fnzi_krn_named_bool(s->call, "keepdim", false);
  fnz_arg dim = AS_GIVEN("dim");
  if (DTYPE_OF(a) == FNZ_BOOL || DTYPE_OF(a) == FNZ_U8)
    fnzi_dcm_nothing_to_mend(s);
  a = STEP(ne__Scalar, V(a), I(0));
  GIVE(dim.tag == FNZ_ARG_LIST ? STEP(any__dims, V(a), dim, B(keeps))
                               : STEP(any__dim, V(a), dim, B(keeps)));
}

TAKE_APART(running_in_i64) {
  fnzi_krn_array *a = GIVEN("self");
  fnz_arg dtype = AS_GIVEN("dtype");
  bool is_small =
      DTYPE_OF(a) == FNZ_BOOL || (fnzi_is_integer(DTYPE_OF(a)) && DTYPE_OF(a) != FNZ_I64);
  if (fnzi_dcm_is_given(&dtype) || !is_small)
    fnzi_dcm_nothing_to_mend(s);
  /* It counts in the dtype of the tensor. */
  const fnz_arg args[] = {V(fnzi_dec_cast(s, a, FNZ_I64)), AS_GIVEN("dim"), NONE};
  GIVE(fnzi_dec_step(s, fnzi_op_place(s->call->op), args, 3));
}
