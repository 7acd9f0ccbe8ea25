/* composites_shape.c - composites that show the elements of one tensor in other sizes or another
 * order: reshape, flatten, swapaxes and the like. */
#include "views/composite.h"

/* --- the same elements in other sizes --------------------------------------------------------- */
/* A view where strides allow, else a copy in row-major order. */
static fnz_status to_sizes(fnzi_resolving *r, fnzi_int *sizes, size_t rank) {
  fnzi_int strides[FNZ_MAX_RANK];
  if (rank > FNZ_MAX_RANK)
    return fnzi_fail(r->ctx, FNZ_CLASS_LIMIT, NULL, "%s: %zu dimensions; at most %d", r->op->name,
                     rank, FNZ_MAX_RANK);
  const fnzi_sized to = {r->ctx, r->ints, r->op->name, sizes, (uint32_t)rank};
  FNZ_TRY(fnzi_infer_sizes(&to, fnzi_int_numel(r->ints, r->self)));
  bool aliases = fnzi_view_strides(r->ints, r->self, sizes, (uint32_t)rank, strides);
  FNZ_TRY(fnzi_composite_results(r, 1));
  return fnzi_composite_add_sizes_step(r, 0, aliases ? FNZI_STEP_VIEW : FNZI_STEP_VIEW_COPY, sizes,
                                       rank);
}

fnz_status fnzi_resolve_reshape(fnzi_resolving *r) {
  fnzi_int *sizes;
  size_t rank;
  FNZ_TRY(fnzi_composite_arg_ints(r, 1, &sizes, &rank));
  return to_sizes(r, sizes, rank);
}

fnz_status fnzi_resolve_reshape_as(fnzi_resolving *r) {
  fnzi_int sizes[FNZ_MAX_RANK];
  const fnz_geometry *other = r->tensors[1];
  for (uint32_t d = 0; d < other->rank; d++)
    sizes[d] = fnzi_int_size(other, d);
  return to_sizes(r, sizes, other->rank);
}

fnz_status fnzi_resolve_view_as(fnzi_resolving *r) {
  FNZ_TRY(fnzi_composite_results(r, 1));
  return fnzi_composite_add_like_step(r, 0, FNZI_STEP_VIEW, r->tensors[1]);
}

fnz_status fnzi_resolve_flat_view(fnzi_resolving *r) {
  const fnzi_int numel = fnzi_int_numel(r->ints, r->self);
  FNZ_TRY(fnzi_composite_results(r, 1));
  return fnzi_composite_add_sizes_step(r, 0, FNZI_STEP_VIEW, &numel, 1);
}

/* The window of self's memory that has the geometry of the second tensor. */
fnz_status fnzi_resolve_window_of_other(fnzi_resolving *r) {
  const fnz_geometry *other = r->tensors[1];
  fnz_arg args[4] = {{0}};
  FNZ_TRY(fnzi_arg_of_sizes(r->arena, other, &args[1]));
  FNZ_TRY(fnzi_arg_of_strides(r->arena, other, &args[2]));
  args[3] = fnzi_arg_of_int(fnzi_int_offset(other));
  return fnzi_composite_is_call(r, FNZI_STEP_AS_STRIDED, args, 4);
}

fnz_status fnzi_resolve_flatten(fnzi_resolving *r) {
  uint32_t first, last, rank = 0;
  fnzi_int sizes[FNZ_MAX_RANK] = {{1}};
  FNZ_TRY(fnzi_composite_arg_dim(r, 1, &first));
  FNZ_TRY(fnzi_composite_arg_dim(r, 2, &last));
  if (r->self->rank == 0)
    return to_sizes(r, sizes, 1);
  if (first > last)
    return fnzi_fail(r->ctx, FNZ_CLASS_BOUNDS, NULL, "flatten: start_dim %u is behind end_dim %u",
                     first, last);
  if (first == last)
    return fnzi_composite_is_self(r);
  for (uint32_t d = 0; d < r->self->rank; d++) {
    if (d > first && d <= last)
      sizes[rank - 1] = fnzi_int_mul(r->ints, sizes[rank - 1], fnzi_int_size(r->self, d));
    else
      sizes[rank++] = fnzi_int_size(r->self, d);
  }
  return to_sizes(r, sizes, rank);
}

fnz_status fnzi_resolve_unflatten(fnzi_resolving *r) {
  uint32_t dim;
  fnzi_int *inner, sizes[FNZ_MAX_RANK];
  size_t n, rank = 0;
  FNZ_TRY(fnzi_composite_arg_dim(r, 1, &dim));
  FNZ_TRY(fnzi_composite_arg_ints(r, 2, &inner, &n));
  if (!r->self->rank || !n || n + r->self->rank - 1 > FNZ_MAX_RANK)
    return fnzi_fail(r->ctx, FNZ_CLASS_BOUNDS, NULL,
                     "unflatten.int: %zu sizes for one of %u "
                     "dimensions",
                     n, r->self->rank);
  const fnzi_sized to = {r->ctx, r->ints, r->op->name, inner, (uint32_t)n};
  FNZ_TRY(fnzi_infer_sizes(&to, fnzi_int_size(r->self, dim)));
  for (uint32_t d = 0; d < r->self->rank; d++)
    if (d != dim)
      sizes[rank++] = fnzi_int_size(r->self, d);
    else
      for (size_t k = 0; k < n; k++)
        sizes[rank++] = inner[k];
  FNZ_TRY(fnzi_composite_results(r, 1));
  return fnzi_composite_add_sizes_step(r, 0, FNZI_STEP_VIEW, sizes, rank);
}

/* contiguous().view(-1): a tensor with gaps is copied even where a view would do. */
fnz_status fnzi_resolve_ravel(fnzi_resolving *r) {
  const fnzi_int numel = fnzi_int_numel(r->ints, r->self);
  FNZ_TRY(fnzi_composite_results(r, 1));
  return fnzi_composite_add_sizes_step(
      r, 0, fnzi_int_is_contiguous(r->ints, r->self) ? FNZI_STEP_VIEW : FNZI_STEP_VIEW_COPY, &numel,
      1);
}

static fnz_status unsqueeze_to(fnzi_resolving *r, uint32_t rank) {
  FNZ_TRY(fnzi_composite_results(r, r->ntensors));
  for (size_t k = 0; k < r->ntensors; k++) {
    uint32_t have = r->tensors[k]->rank;
    r->out->items[k].tensor = k;
    if (have == 0 && rank > 0)
      FNZ_TRY(fnzi_composite_add_int_step(r, k, FNZI_STEP_UNSQUEEZE, 0));
    if (have <= 1 && rank > 1)
      FNZ_TRY(fnzi_composite_add_int_step(r, k, FNZI_STEP_UNSQUEEZE, 0));
    if (have <= 2 && rank > 2)
      FNZ_TRY(fnzi_composite_add_int_step(r, k, FNZI_STEP_UNSQUEEZE, -1));
  }
  return FNZ_OK;
}

fnz_status fnzi_resolve_atleast_1d(fnzi_resolving *r) {
  return unsqueeze_to(r, 1);
}

fnz_status fnzi_resolve_atleast_2d(fnzi_resolving *r) {
  return unsqueeze_to(r, 2);
}

fnz_status fnzi_resolve_atleast_3d(fnzi_resolving *r) {
  return unsqueeze_to(r, 3);
}

/* --- reordering ------------------------------------------------------------------------------- */
fnz_status fnzi_resolve_swapaxes(fnzi_resolving *r) {
  uint32_t a, b;
  FNZ_TRY(fnzi_composite_arg_dim(r, 1, &a));
  FNZ_TRY(fnzi_composite_arg_dim(r, 2, &b));
  FNZ_TRY(fnzi_composite_results(r, 1));
  return fnzi_composite_add_ints_step(r, 0, FNZI_STEP_TRANSPOSE, a, b);
}

static fnz_status swap_last(fnzi_resolving *r) {
  if (r->self->rank < 2)
    return fnzi_fail(r->ctx, FNZ_CLASS_BOUNDS, NULL, "%s: self has %u dimensions; at least 2",
                     r->op->name, r->self->rank);
  FNZ_TRY(fnzi_composite_results(r, 1));
  return fnzi_composite_add_ints_step(r, 0, FNZI_STEP_TRANSPOSE, -2, -1);
}

/* A tensor without dimensions is returned as it is. */
fnz_status fnzi_resolve_matrix_transpose(fnzi_resolving *r) {
  return r->self->rank ? swap_last(r) : fnzi_composite_is_self(r);
}

fnz_status fnzi_resolve_adjoint(fnzi_resolving *r) {
  const fnz_arg args[] = {fnzi_arg_default()};
  if (r->self->rank == 0)
    return fnzi_resolve_conj(r);
  FNZ_TRY(swap_last(r));
  return fnzi_is_complex(r->self->dtype) ? fnzi_composite_add_step(r, 0, FNZI_STEP_CONJ, args, 1)
                                         : FNZ_OK;
}

fnz_status fnzi_resolve_numpy_t(fnzi_resolving *r) {
  fnzi_int dims[FNZ_MAX_RANK];
  for (uint32_t d = 0; d < r->self->rank; d++)
    dims[d] = fnzi_int_of(r->self->rank - 1 - d);
  FNZ_TRY(fnzi_composite_results(r, 1));
  return fnzi_composite_add_sizes_step(r, 0, FNZI_STEP_PERMUTE, dims, r->self->rank);
}

/* The named dimensions go to their places, the others fill up in order. */
fnz_status fnzi_resolve_movedim(fnzi_resolving *r) {
  fnzi_int *from, *to, dims[FNZ_MAX_RANK];
  bool moved[FNZ_MAX_RANK] = {false};
  size_t nfrom, nto;
  uint32_t rank = r->self->rank, d = 0;
  FNZ_TRY(fnzi_composite_arg_ints(r, 1, &from, &nfrom));
  FNZ_TRY(fnzi_composite_arg_ints(r, 2, &to, &nto));
  for (uint32_t k = 0; k < rank; k++)
    dims[k] = fnzi_int_of(-1);
  for (size_t k = 0; k < nfrom && k < nto; k++) {
    uint32_t a, b;
    FNZ_TRY(fnzi_wrap_dim(r->ctx, r->op->name, from[k].bits, rank, &a));
    FNZ_TRY(fnzi_wrap_dim(r->ctx, r->op->name, to[k].bits, rank, &b));
    if (nfrom != nto || (rank && (moved[a] || !fnzi_int_is(dims[b], -1))))
      return fnzi_fail(r->ctx, FNZ_CLASS_BOUNDS, NULL,
                       "%s: source and destination must name the "
                       "same number of different dimensions",
                       r->op->name);
    moved[a] = true;
    dims[b] = fnzi_int_of(a);
  }
  for (uint32_t k = 0; k < rank; k++) {
    while (d < rank && moved[d])
      d++;
    if (fnzi_int_is(dims[k], -1))
      dims[k] = fnzi_int_of(d++);
  }
  FNZ_TRY(fnzi_composite_results(r, 1));
  return fnzi_composite_add_sizes_step(r, 0, FNZI_STEP_PERMUTE, dims, rank);
}

fnz_status fnzi_resolve_linalg_diagonal(fnzi_resolving *r) {
  const fnz_arg args[] = {fnzi_arg_default(), fnzi_composite_arg_named(r, "offset"),
                          fnzi_composite_arg_named(r, "dim1"), fnzi_composite_arg_named(r, "dim2")};
  return fnzi_composite_is_call(r, FNZI_STEP_DIAGONAL, args, 4);
}
