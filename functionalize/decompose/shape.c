/* shape.c - views that are no core operators, by others that are. A result is a view of the
 * argument, or a copy, as that of the operator itself is. */
#include "functionalize/decompose/ways.h"
#include "views/composites.h"

/* --- For other ways --------------------------------------------------------------------------- */
fnz_arg fnzi_dcm_sizes(fnzi_dec_steps *s, const fnzi_krn_array *a) {
  return a ? fnzi_dec_ints(s, a->geometry.sizes, a->geometry.rank) : NONE;
}

fnz_arg fnzi_dcm_dims(fnzi_dec_steps *s) {
  fnz_arg dim = AS_GIVEN("dim");
  return dim.tag == FNZ_ARG_INT    ? INTS(dim.u.i)
         : dim.tag == FNZ_ARG_LIST ? dim
                                   : fnzi_dec_ints(s, NULL, 0);
}

fnz_arg fnzi_dcm_all_dims(fnzi_dec_steps *s, const fnzi_krn_array *a, int64_t but) {
  int64_t dims[FNZ_MAX_RANK] = {0};
  size_t count = 0;
  for (int64_t d = 0; d < RANK(a); d++)
    if (d != but)
      dims[count++] = d;
  return fnzi_dec_ints(s, dims, count);
}

fnzi_krn_array *fnzi_dcm_again(fnzi_dec_steps *s, fnzi_krn_array *first) {
  const fnz_op *op = s->call->op;
  fnz_arg args[FNZI_DCM_MOST_ARGS];
  for (size_t i = 0; i < op->nparams && i < FNZI_DCM_MOST_ARGS; i++)
    args[i] = s->call->args[i];
  args[0] = V(first);
  return fnzi_dec_step(s, fnzi_op_place(op), args, op->nparams);
}

fnzi_krn_array *fnzi_dcm_flat(fnzi_dec_steps *s, fnzi_krn_array *a) {
  const int64_t count = fnzi_dec_array_numel(a);
  return fnzi_dec_viewed(s, a, &count, 1);
}

fnzi_krn_array *fnzi_dcm_in_rows(fnzi_dec_steps *s, fnzi_krn_array *a) {
  return !a || fnzi_is_contiguous(&a->geometry) ? a : STEP(clone, V(a), CONTIGUOUS_FORMAT);
}

static fnz_arg swapped(fnzi_dec_steps *s, const fnzi_krn_array *a, int64_t first, int64_t second) {
  int64_t dims[FNZ_MAX_RANK] = {0}, rank = RANK(a);
  for (int64_t d = 0; d < rank; d++)
    dims[d] = d == first ? second : d == second ? first : d;
  return fnzi_dec_ints(s, dims, (size_t)rank);
}

fnzi_krn_array *fnzi_dcm_swapped(fnzi_dec_steps *s, fnzi_krn_array *a, int64_t first,
                                 int64_t second) {
  return first == second ? a : STEP(permute, V(a), swapped(s, a, first, second));
}

fnzi_krn_array *fnzi_dcm_expanded(fnzi_dec_steps *s, fnzi_krn_array *a, const int64_t *sizes,
                                  size_t rank) {
  return !a || fnzi_dec_has_sizes(a, sizes, rank)
             ? a
             : STEP(expand, V(a), fnzi_dec_ints(s, sizes, rank));
}

/* --- Ways ------------------------------------------------------------------------------------- */
#define IS_VIEW (s->call->op->is_view)
/* A view where the operator is one, else its copy. */
#define VIEW_OR_COPY(op, overload, ...)                                                            \
  (IS_VIEW ? STEP(op##overload, __VA_ARGS__) : STEP(op##_copy##overload, __VA_ARGS__))

static void give_swapped(fnzi_dec_steps *s, fnzi_krn_array *a, int64_t first, int64_t second) {
  GIVE(VIEW_OR_COPY(permute, , V(a), swapped(s, a, first, second)));
}

TAKE_APART(t) {
  fnzi_krn_array *a = GIVEN("self");
  give_swapped(s, a, 0, RANK(a) > 1 ? 1 : 0);
}

TAKE_APART(transpose) {
  fnzi_krn_array *a = GIVEN("self");
  give_swapped(s, a, fnzi_dec_given_dim(s, "dim0", a), fnzi_dec_given_dim(s, "dim1", a));
}

/* All dimensions of size 1. */
TAKE_APART(squeeze) {
  fnzi_krn_array *a = GIVEN("self");
  int64_t dims[FNZ_MAX_RANK] = {0};
  size_t count = 0;
  for (int64_t d = 0; d < RANK(a); d++)
    if (SIZE(a, d) == 1)
      dims[count++] = d;
  GIVE(VIEW_OR_COPY(squeeze, __dims, V(a), fnzi_dec_ints(s, dims, count)));
}

TAKE_APART(unsafe_view) {
  fnzi_krn_array *a = GIVEN("self");
  GIVE(STEP(view_copy, V(fnzi_dcm_in_rows(s, a)), AS_GIVEN("size")));
}

/* Windows of memory by as_strided: no other view has overlapping windows. */
TAKE_APART(unfold) {
  fnzi_krn_array *a = GIVEN("self");
  int64_t sizes[FNZ_MAX_RANK + 1] = {0}, strides[FNZ_MAX_RANK + 1] = {0}, rank = RANK(a);
  int64_t dim = fnzi_dec_given_dim(s, "dimension", a), size = GIVEN_INT("size");
  int64_t step = GIVEN_INT("step");
  if (!IS_VIEW && a && (!fnzi_is_contiguous(&a->geometry) || a->geometry.offset))
    a = STEP(clone, V(a), CONTIGUOUS_FORMAT); /* as_strided_copy counts places in memory */
  if (rank == 0 || step <= 0)
    fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED, "such windows are no core operator");
  if (size > SIZE(a, dim))
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "its windows are longer than the dimension");
  if (s->status != FNZ_OK)
    return;
  for (int64_t d = 0; d < rank; d++) {
    sizes[d] = d == dim ? (SIZE(a, d) - size) / step + 1 : SIZE(a, d);
    strides[d] = d == dim ? SIZE_TIMES(a->geometry.strides[d], step) : a->geometry.strides[d];
  }
  sizes[rank] = size;
  strides[rank] = a->geometry.strides[dim];
  fnz_arg all = fnzi_dec_ints(s, sizes, (size_t)rank + 1);
  fnz_arg steps = fnzi_dec_ints(s, strides, (size_t)rank + 1);
  GIVE(IS_VIEW ? STEP(as_strided, V(a), all, steps, I(a->geometry.offset))
               : STEP(as_strided_copy, V(a), all, steps, I(0)));
}

/* A copying form as the view and a copy of it, for who has views alone. */
TAKE_APART(copied) {
  const fnz_op *view = fnz_op_member(s->call->op, FNZ_MEMBER_VIEW);
  if (view)
    GIVE(STEP(clone, V(fnzi_dec_step(s, fnzi_op_place(view), s->call->args, view->nparams)),
              CONTIGUOUS_FORMAT));
}

/* --- Into pieces ------------------------------------------------------------------------------ */
TAKE_APART(split) {
  fnzi_krn_array *a = GIVEN("self");
  int64_t dim = fnzi_dec_given_dim(s, "dim", a), all = SIZE(a, dim), size = GIVEN_INT("split_size");
  size_t count = size > 0 && all > 0 ? (size_t)((all + size - 1) / size) : 1;
  fnzi_krn_array **pieces = fnzi_dec_arrays_room(s, count);
  fnz_arg *sizes = fnzi_dec_args_room(s, count);
  for (size_t i = 0; sizes && i < count; i++)
    sizes[i] = I((int64_t)i + 1 < (int64_t)count ? size : all - SIZE_TIMES(size, (int64_t)i));
  if (s->status != FNZ_OK)
    return;
  fnz_arg list = {.tag = FNZ_ARG_LIST, .count = (uint32_t)count, .u.list = sizes};
  if (IS_VIEW)
    STEPS_INTO(pieces, count, split_with_sizes, V(a), list, I(dim));
  else
    STEPS_INTO(pieces, count, split_with_sizes_copy, V(a), list, I(dim));
  for (size_t i = 0; i < count; i++)
    GIVE(pieces[i]);
}

TAKE_APART(unbind) {
  fnzi_krn_array *a = GIVEN("self");
  int64_t dim = fnzi_dec_given_dim(s, "dim", a), count = SIZE(a, dim);
  for (int64_t i = 0; i < count; i++)
    GIVE(VIEW_OR_COPY(select, __int, V(a), I(dim), I(i)));
}
