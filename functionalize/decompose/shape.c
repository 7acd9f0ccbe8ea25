/* shape.c - views that are no core operators, by others that are: t, transpose. */
#include "functionalize/decompose/ways.h"
#include "views/composites.h"

/* --- For other ways --------------------------------------------------------------------------- */
static bool has_sizes(const fnzi_krn_array *a, const int64_t *sizes, size_t rank) {
  return fnzi_dec_array_rank(a) == rank &&
         (!rank || memcmp(a->geometry.sizes, sizes, rank * sizeof *sizes) == 0);
}

fnzi_krn_array *fnzi_dcm_reshaped(fnzi_dec_steps *s, fnzi_krn_array *a, const int64_t *sizes,
                                  size_t rank) {
  int64_t strides[FNZ_MAX_RANK];
  if (!a || has_sizes(a, sizes, rank))
    return a;
  if (rank <= FNZ_MAX_RANK && !fnzi_view_strides(&a->geometry, sizes, (uint32_t)rank, strides))
    a = STEP(clone, V(a), (fnz_arg){.tag = FNZ_ARG_MEMORY_FORMAT, .u.i = 1});
  return STEP(view, V(a), fnzi_dec_ints(s, sizes, rank));
}

fnzi_krn_array *fnzi_dcm_swapped(fnzi_dec_steps *s, fnzi_krn_array *a, int64_t first,
                                 int64_t second) {
  int64_t dims[FNZ_MAX_RANK] = {0}, rank = RANK(a);
  for (int64_t d = 0; d < rank; d++)
    dims[d] = d == first ? second : d == second ? first : d;
  return first == second ? a : STEP(permute, V(a), fnzi_dec_ints(s, dims, (size_t)rank));
}

fnzi_krn_array *fnzi_dcm_expanded(fnzi_dec_steps *s, fnzi_krn_array *a, const int64_t *sizes,
                                  size_t rank) {
  return !a || has_sizes(a, sizes, rank) ? a : STEP(expand, V(a), fnzi_dec_ints(s, sizes, rank));
}

/* --- Ways ------------------------------------------------------------------------------------- */
/* A view of the argument, or a copy, as the operator itself is. */
static void give_permuted(fnzi_dec_steps *s, fnzi_krn_array *a, int64_t first, int64_t second) {
  int64_t dims[FNZ_MAX_RANK] = {0}, rank = RANK(a);
  for (int64_t d = 0; d < rank; d++)
    dims[d] = d == first ? second : d == second ? first : d;
  fnz_arg order = fnzi_dec_ints(s, dims, (size_t)rank);
  GIVE(s->call->op->is_view ? STEP(permute, V(a), order) : STEP(permute_copy, V(a), order));
}

TAKE_APART(t) {
  fnzi_krn_array *a = GIVEN("self");
  give_permuted(s, a, 0, RANK(a) > 1 ? 1 : 0);
}

TAKE_APART(transpose) {
  fnzi_krn_array *a = GIVEN("self");
  give_permuted(s, a, fnzi_dec_given_dim(s, "dim0", a), fnzi_dec_given_dim(s, "dim1", a));
}
