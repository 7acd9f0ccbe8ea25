/* places.c - elements chosen by masks and indices, and writes through views of memory. */
#include "functionalize/decompose/ways.h"
#include "views/views.h"

/* --- Masks ------------------------------------------------------------------------------------ */
TAKE_APART(masked_fill) {
  fnzi_krn_array *self = GIVEN("self"), *value = GIVEN("value");
  fnz_dtype dtype = DTYPE_OF(self);
  value = value ? fnzi_dec_cast(s, value, dtype) : NUMBER(AS_GIVEN("value"), dtype);
  GIVE(CHOSEN(GIVEN("mask"), value, self));
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
  GIVE(CHOSEN(GIVEN("condition"), a, b));
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

/* --- Indices as Core ML takes them ------------------------------------------------------------ */
typedef struct indices {
  fnzi_krn_array *all[FNZ_MAX_RANK];
  size_t count, given, first;  /* in the list, tensors, the first of them */
  bool are_numbers, are_whole; /* all tensors have no dimensions; are integers */
} indices;

static indices read_indices(fnzi_dec_steps *s) {
  indices in = {
      .count = fnzi_dec_given_count(s, "indices"), .are_numbers = true, .are_whole = true};
  in.count = in.count < FNZ_MAX_RANK ? in.count : FNZ_MAX_RANK;
  for (size_t d = in.count; d-- > 0;) {
    in.all[d] = fnzi_dec_given_item(s, "indices", d);
    if (!in.all[d])
      continue;
    in.given++;
    in.first = d;
    in.are_numbers = in.are_numbers && !RANK(in.all[d]);
    in.are_whole = in.are_whole && fnzi_is_integer(DTYPE_OF(in.all[d]));
  }
  return in;
}

static void unsqueeze_all(fnzi_dec_steps *s, indices *in) {
  for (size_t d = 0; d < in->count; d++)
    in->all[d] = in->all[d] ? STEP(unsqueeze, V(in->all[d]), I(0)) : NULL;
}

/* Several numbers become lists of one place each. */
TAKE_APART(index_by_lists) {
  indices in = read_indices(s);
  if (in.given < 2 || !in.are_numbers || !in.are_whole) {
    fnzi_dcm_nothing_to_mend(s);
    return;
  }
  bool is_apart = false, ended = false;
  for (size_t d = in.first; d < in.count; d++) {
    is_apart = is_apart || (ended && in.all[d]);
    ended = ended || !in.all[d];
  }
  unsqueeze_all(s, &in);
  fnzi_krn_array *a = STEP(index__Tensor, V(GIVEN("self")), fnzi_dec_values(s, in.all, in.count));
  GIVE(STEP(squeeze__dim, V(a), I(is_apart ? 0 : (int64_t)in.first)));
}

/* Moves dimension `at` to the front or, with is_back, the first dimension back to `at`. */
static fnzi_krn_array *with_dim_moved(fnzi_dec_steps *s, fnzi_krn_array *a, int64_t at,
                                      bool is_back) {
  int64_t dims[FNZ_MAX_RANK] = {0};
  for (int64_t d = 0; d < RANK(a); d++)
    if (is_back)
      dims[d] = d == at ? 0 : d < at ? d + 1 : d;
    else
      dims[d] = d == 0 ? at : d <= at ? d - 1 : d;
  return STEP(permute, V(a), fnzi_dec_ints(s, dims, (size_t)RANK(a)));
}

/* Places of one dimension behind others: it is put in front, and the values with it. */
static fnzi_krn_array *put_in_front(fnzi_dec_steps *s, indices *in, fnzi_krn_array *self,
                                    fnzi_krn_array *values, bool adds) {
  const int64_t at = (int64_t)in->first;
  int64_t sizes[FNZ_MAX_RANK];
  for (int64_t d = 0; d < RANK(self); d++)
    sizes[d] = d == at ? SIZE(in->all[at], 0) : SIZE(self, d);
  values = with_dim_moved(s, fnzi_dcm_expanded(s, values, sizes, (size_t)RANK(self)), at, false);
  self = with_dim_moved(s, self, at, false);
  self = STEP(index_put, V(self), fnzi_dec_values(s, &in->all[at], 1), V(values), B(adds));
  return with_dim_moved(s, self, at, true);
}

/* It writes one place alone behind a dimension that has no index, takes no numbers as places, and
 * gives truth as integers. */
TAKE_APART(index_put_of_lists) {
  fnzi_krn_array *self = GIVEN("self"), *values = GIVEN("values");
  indices in = read_indices(s);
  const bool is_bool = DTYPE_OF(self) == FNZ_BOOL, adds = GIVEN_BOOL("accumulate");
  const bool is_behind = in.given == 1 && in.first && in.are_whole && RANK(in.all[in.first]) == 1 &&
                         SIZE(in.all[in.first], 0) != 1;
  const bool are_numbers = in.given && in.given == in.count && in.are_numbers && in.are_whole;
  if (s->status != FNZ_OK || (!is_bool && !is_behind && !are_numbers)) {
    fnzi_dcm_nothing_to_mend(s);
    return;
  }
  if (is_bool) {
    self = fnzi_dec_cast(s, self, FNZ_I64);
    values = fnzi_dec_cast(s, values, FNZ_I64);
  }
  if (are_numbers)
    unsqueeze_all(s, &in);
  self = is_behind
             ? put_in_front(s, &in, self, values, adds)
             : STEP(index_put, V(self), fnzi_dec_values(s, in.all, in.count), V(values), B(adds));
  GIVE(fnzi_dec_cast(s, self, DTYPE_OF(GIVEN("self"))));
}

static void give_put(fnzi_dec_steps *s, fnzi_krn_array *values, bool adds) {
  fnzi_krn_array *self = GIVEN("self"), *index = with_a_dimension(s, GIVEN("index"));
  int64_t dim = fnzi_dec_given_dim(s, "dim", self);
  fnzi_krn_array *a = with_a_dimension(s, self);
  a = STEP(index_put, V(a), places_along(s, dim, index), V(values), B(adds));
  GIVE(RANK(self) ? a : STEP(squeeze__dim, V(a), I(0)));
}

/* A place of a dimension as slices have it, counted from the front. */
static int64_t place_of(fnzi_dec_steps *s, const char *name, int64_t none, int64_t size) {
  const fnz_arg given = AS_GIVEN(name);
  int64_t at = fnzi_dcm_is_given(&given) ? GIVEN_INT(name) : none;
  at = at < 0 ? at + size : at;
  return at < 0 ? 0 : at > size ? size : at;
}

/* Slices before and behind the part that is written, with it between. */
TAKE_APART(slice_scatter_by_cat) {
  fnzi_krn_array *self = GIVEN("self"), *parts[3];
  const int64_t dim = fnzi_dec_given_dim(s, "dim", self), size = SIZE(self, dim);
  const int64_t from = place_of(s, "start", 0, size), to = place_of(s, "end", size, size);
  size_t count = 0;
  if (fnzi_krn_named_int(s->call, "step", 1) != 1 || from >= to)
    fnzi_dcm_nothing_to_mend(s);
  if (from > 0)
    parts[count++] = fnzi_part(s, self, dim, 0, from);
  parts[count++] = fnzi_dec_cast(s, GIVEN("src"), DTYPE_OF(self));
  if (to < size)
    parts[count++] = fnzi_part(s, self, dim, to, size - to);
  if (s->status == FNZ_OK)
    GIVE(fnzi_dec_cat(s, parts, count, dim));
}

/* A run with gaps, by an index of its places. */
TAKE_APART(slice_scatter_by_put) {
  fnzi_krn_array *self = GIVEN("self");
  const int64_t dim = fnzi_dec_given_dim(s, "dim", self), size = SIZE(self, dim);
  const int64_t from = place_of(s, "start", 0, size), to = place_of(s, "end", size, size);
  const int64_t step = fnzi_krn_named_int(s->call, "step", 1);
  if (step < 1 || from >= to)
    fnzi_dcm_nothing_to_mend(s);
  if (s->status != FNZ_OK)
    return;
  fnzi_krn_array *places = STEP(arange__start_step, I(from), I(to), I(step), DTYPE(FNZ_I64));
  GIVE(STEP(index_put, V(self), places_along(s, dim, places),
            V(fnzi_dec_cast(s, GIVEN("src"), DTYPE_OF(self))), B(false)));
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

/* The program records the number of elements. */
TAKE_APART(masked_select) {
  fnzi_krn_array *self = GIVEN("self"), *mask = GIVEN("mask");
  fnzi_dec_broadcast_both(s, &self, &mask);
  self = with_a_dimension(s, self);
  mask = with_a_dimension(s, mask);
  const fnz_arg args[] = {V(self), fnzi_dec_values(s, &mask, 1)};
  GIVE(fnzi_dec_step_as_given(s, FNZI_ATEN_index__Tensor, args, 2));
}

TAKE_APART(argwhere) {
  const fnz_arg args[] = {V(GIVEN("self"))};
  GIVE(fnzi_dec_step_as_given(s, FNZI_ATEN_nonzero, args, 1));
}

/* --- Memory ----------------------------------------------------------------------------------- */
/* A line of elements with `part` in a window of it that has no place twice. */
static fnzi_krn_array *written(fnzi_dec_steps *s, fnzi_krn_array *line, fnzi_krn_array *part,
                               const fnz_geometry *window) {
  if (window->rank == 0)
    return STEP(select_scatter, V(line), V(part), I(0), I(window->offset));
  if (window->rank == 1 && window->strides[0] > 0 && window->sizes[0] > 0) {
    int64_t end = SIZE_TIMES(window->sizes[0] - 1, window->strides[0]) + window->offset + 1;
    return STEP(slice_scatter, V(line), V(part), I(0), I(window->offset), I(end),
                I(window->strides[0]));
  }
  /* The places of the window, in rows, as a view of all places of the memory. */
  fnzi_krn_array *places =
      STEP(arange__start_step, I(0), I(fnzi_dec_array_numel(line)), I(1), DTYPE(FNZ_I64));
  places = STEP(as_strided, V(places), fnzi_dec_ints(s, window->sizes, window->rank),
                fnzi_dec_ints(s, window->strides, window->rank), I(window->offset));
  places = fnzi_dcm_flat(s, places);
  return STEP(scatter__src, V(line), I(0), V(places), V(fnzi_dcm_flat(s, part)));
}

/* The dimensions of a window after the first `depth` ones. */
static fnz_geometry behind(const fnz_geometry *window, uint32_t depth) {
  return (fnz_geometry){.dtype = window->dtype,
                        .rank = window->rank - depth,
                        .sizes = window->sizes + depth,
                        .strides = window->strides + depth,
                        .offset = window->offset};
}

/* Returns how many leading dimensions must be written one index after the other, so that the rest
 * of the window has no element twice. *writes is the number of these. */
static uint32_t dims_in_order(const fnz_geometry *window, int64_t *writes) {
  *writes = 1;
  for (uint32_t depth = 0; depth < window->rank; depth++) {
    const fnz_geometry part = behind(window, depth);
    if (fnzi_oracle_relate_self(NULL, &part, 1 << 16) == FNZI_DISJOINT)
      return depth;
    if (!fnzi_mul_i64(*writes, window->sizes[depth], writes))
      *writes = INT64_MAX;
  }
  return window->rank;
}

/* One part after the other, the first `depth` dimensions in rows. */
static fnzi_krn_array *written_in_order(fnzi_dec_steps *s, fnzi_krn_array *line,
                                        fnzi_krn_array *src, const fnz_geometry *window,
                                        uint32_t depth, int64_t writes) {
  for (int64_t t = 0; s->status == FNZ_OK && t < writes; t++) {
    fnz_geometry place = behind(window, depth);
    fnzi_krn_array *part = src;
    int64_t count = writes;
    for (uint32_t d = 0; d < depth; d++) {
      count /= window->sizes[d];
      int64_t at = t / count % window->sizes[d];
      part = STEP(select__int, V(part), I(0), I(at));
      place.offset += SIZE_TIMES(at, window->strides[d]);
    }
    line = written(s, line, part, &place);
  }
  return line;
}

/* `self`, counted in rows, with `src` in a window: of the elements that have one place the last
 * stays that eager's loop writes. */
static fnzi_krn_array *with_window(fnzi_dec_steps *s, fnzi_krn_array *self, fnzi_krn_array *src,
                                   const fnz_geometry *window) {
  enum { MOST_WRITES = 256 };
  int64_t writes, sizes[FNZ_MAX_RANK], strides[FNZ_MAX_RANK], dims[FNZ_MAX_RANK];
  uint32_t order[FNZ_MAX_RANK];
  fnz_geometry in_order = *window;
  if (s->status != FNZ_OK || !src || !self)
    return NULL;
  fnzi_loop_order(window, &(const fnz_geometry *){&src->geometry}, 1, order);
  for (uint32_t d = 0; d < window->rank; d++) {
    dims[d] = order[d];
    sizes[d] = window->sizes[order[d]];
    strides[d] = window->strides[order[d]];
  }
  in_order.sizes = sizes;
  in_order.strides = strides;
  fnzi_krn_array *line = fnzi_dcm_flat(s, self);
  if (dims_in_order(window, &writes) == 0)
    line = written(s, line, src, window);
  else {
    uint32_t depth = dims_in_order(&in_order, &writes);
    if (writes > MOST_WRITES)
      fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED,
                      "it writes one place more often than %d times in order", (int)MOST_WRITES);
    src = STEP(permute, V(src), fnzi_dec_ints(s, dims, window->rank));
    line = written_in_order(s, line, src, &in_order, depth, writes);
  }
  return fnzi_dec_viewed(s, line, self->geometry.sizes, self->geometry.rank);
}

TAKE_APART(as_strided_scatter) {
  fnzi_krn_array *self = GIVEN("self");
  const int64_t *sizes = NULL, *strides = NULL;
  size_t rank = 0, count = 0;
  fnzi_dec_status_note(s, fnzi_krn_named_ints(s->call, "size", &sizes, &rank));
  fnzi_dec_status_note(s, fnzi_krn_named_ints(s->call, "stride", &strides, &count));
  if (s->status == FNZ_OK && !fnzi_dcm_lies_in_rows(self))
    fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED,
                    "it counts places in memory, where self does not lie in rows; functionalize "
                    "the program first");
  if (s->status != FNZ_OK || rank != count)
    return;
  const fnz_geometry window = {.dtype = DTYPE_OF(self),
                               .rank = (uint32_t)rank,
                               .sizes = sizes,
                               .strides = strides,
                               .offset = GIVEN_INT("storage_offset")};
  GIVE(with_window(s, self, GIVEN("src"), &window));
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
  GIVE(with_window(s, self, GIVEN("src"), &window));
}

/* The elements in rows; those beyond them may be any. */
TAKE_APART(resize) {
  fnzi_krn_array *self = GIVEN("self"), *line = fnzi_dcm_flat(s, self);
  const int64_t *sizes = NULL;
  int64_t have = fnzi_dec_array_numel(self), want = 1;
  size_t rank = 0;
  fnzi_dec_status_note(s, fnzi_krn_named_ints(s->call, "size", &sizes, &rank));
  for (size_t d = 0; s->status == FNZ_OK && d < rank; d++)
    want = SIZE_TIMES(want, sizes[d]);
  if (s->status != FNZ_OK)
    return;
  fnzi_krn_array *more =
      want > have ? STEP(full, INTS(want - have), I(0), DTYPE(DTYPE_OF(self))) : NULL;
  if (want < have)
    line = STEP(slice__Tensor, V(line), I(0), I(0), I(want), I(1));
  else if (more)
    line = have ? fnzi_dec_cat(s, (fnzi_krn_array *[]){line, more}, 2, 0) : more;
  GIVE(fnzi_dec_viewed(s, line, sizes, rank));
}
