/* composites_cut.c - chunk, narrow, tensor_split and friends: pieces of a tensor; expand_as,
 * broadcast_to and broadcast_tensors: one tensor in the sizes of others. */
#include "views/composite.h"

static fnz_status need_dims(const fnzi_resolving *r, uint32_t least) {
  if (r->self->rank >= least)
    return FNZ_OK;
  return fnzi_fail(r->ctx, FNZ_CLASS_BOUNDS, NULL, "%s: self has %u dimensions; at least %u",
                   r->op->name, r->self->rank, least);
}

static fnz_status add_slice(fnzi_resolving *r, size_t k, int64_t dim, int64_t start, int64_t end) {
  const fnz_arg args[] = {fnzi_arg_default(), fnzi_arg_int(dim), fnzi_arg_int(start),
                          fnzi_arg_int(end)};
  return fnzi_composite_add_step(r, k, FNZI_STEP_SLICE, args, 4);
}

fnz_status fnzi_resolve_narrow(fnzi_resolving *r) {
  uint32_t dim;
  FNZ_TRY(need_dims(r, 1));
  FNZ_TRY(fnzi_composite_arg_dim(r, 1, &dim));
  int64_t start = fnzi_composite_arg(r, 2).u.i, length = fnzi_composite_arg(r, 3).u.i;
  int64_t n = r->self->sizes[dim], first = start < 0 ? start + n : start;
  if (first < 0 || first > n || length < 0 || length > n - first)
    return fnzi_fail(r->ctx, FNZ_CLASS_BOUNDS, NULL,
                     "narrow: start %lld, length %lld of dimension %u of size %lld",
                     (long long)start, (long long)length, dim, (long long)n);
  FNZ_TRY(fnzi_composite_results(r, 1));
  return add_slice(r, 0, dim, first, first + length);
}

/* As many pieces of equal length as fit; the last one may be shorter. */
fnz_status fnzi_resolve_chunk(fnzi_resolving *r) {
  uint32_t dim;
  int64_t chunks = fnzi_composite_arg(r, 1).u.i;
  FNZ_TRY(need_dims(r, 1));
  FNZ_TRY(fnzi_composite_arg_dim(r, 2, &dim));
  if (chunks < 1)
    return fnzi_fail(r->ctx, FNZ_CLASS_BOUNDS, NULL, "%s: chunks is %lld; at least 1", r->op->name,
                     (long long)chunks);
  FNZ_TRY(fnzi_composite_results(r, 1));
  int64_t n = r->self->sizes[dim], length = n / chunks + (n % chunks != 0);
  if (n)
    return fnzi_composite_add_ints_step(r, 0, FNZI_STEP_SPLIT, length, dim);
  fnz_arg args[3] = {fnzi_arg_default(), fnzi_arg_default(), fnzi_arg_int(dim)};
  int64_t *zeros;
  FNZ_TRY(fnzi_view_results_check(r->ctx, r->op, (size_t)chunks));
  FNZI_NEW(r->arena, chunks, &zeros);
  FNZ_TRY(fnzi_arg_ints(r->arena, zeros, (size_t)chunks, &args[1]));
  return fnzi_composite_add_step(r, 0, FNZI_STEP_SPLIT_SIZES, args, 3);
}

fnz_status fnzi_resolve_split_sizes(fnzi_resolving *r) {
  const fnz_arg args[] = {fnzi_arg_default(), fnzi_composite_arg(r, 1), fnzi_composite_arg(r, 2)};
  return fnzi_composite_is_call(r, FNZI_STEP_SPLIT_SIZES, args, 3);
}

/* Its schema declares no alias, yet eager's result is one; see docs/semantics.md. */
fnz_status fnzi_resolve_unsafe_split(fnzi_resolving *r) {
  const fnz_arg args[] = {fnzi_arg_default(), fnzi_composite_arg(r, 1), fnzi_composite_arg(r, 2)};
  return fnzi_composite_is_call(r, FNZI_STEP_SPLIT, args, 3);
}

/* Pieces between the given indices, clamped as slices are. */
static fnz_status cut_at(fnzi_resolving *r, uint32_t dim, const int64_t *ends, size_t count) {
  int64_t n = r->self->sizes[dim], start = 0;
  FNZ_TRY(fnzi_composite_results(r, count + 1));
  for (size_t k = 0; k <= count; k++) {
    int64_t end = k < count ? ends[k] : n;
    FNZ_TRY(add_slice(r, k, dim, start, end));
    start = end;
  }
  return FNZ_OK;
}

/* `sections` pieces; where these do not divide the size, the first ones are longer by one. */
static fnz_status cut_evenly(fnzi_resolving *r, uint32_t dim, int64_t sections) {
  int64_t n = r->self->sizes[dim], start = 0;
  if (sections < 1)
    return fnzi_fail(r->ctx, FNZ_CLASS_BOUNDS, NULL, "%s: %lld sections; at least 1", r->op->name,
                     (long long)sections);
  FNZ_TRY(fnzi_composite_results(r, (size_t)sections));
  for (int64_t k = 0; k < sections; k++) {
    int64_t end = start + n / sections + (k < n % sections);
    FNZ_TRY(add_slice(r, (size_t)k, dim, start, end));
    start = end;
  }
  return FNZ_OK;
}

static fnz_status cut(fnzi_resolving *r, uint32_t dim) {
  fnz_arg how = fnzi_composite_arg(r, 1);
  int64_t *ends;
  size_t count;
  if (how.tag == FNZ_ARG_INT)
    return cut_evenly(r, dim, how.u.i);
  FNZ_TRY(fnzi_composite_arg_ints(r, 1, &ends, &count));
  return cut_at(r, dim, ends, count);
}

fnz_status fnzi_resolve_tensor_split(fnzi_resolving *r) {
  uint32_t dim;
  FNZ_TRY(need_dims(r, 1));
  FNZ_TRY(fnzi_composite_arg_dim(r, 2, &dim));
  return cut(r, dim);
}

/* hsplit, vsplit, dsplit: the number of sections must divide the size. */
static fnz_status cut_dim(fnzi_resolving *r, uint32_t least, uint32_t dim) {
  FNZ_TRY(need_dims(r, least));
  fnz_arg how = fnzi_composite_arg(r, 1);
  if (how.tag == FNZ_ARG_INT && (how.u.i < 1 || r->self->sizes[dim] % how.u.i))
    return fnzi_fail(r->ctx, FNZ_CLASS_BOUNDS, NULL,
                     "%s: dimension %u of size %lld does not come out even in %lld sections",
                     r->op->name, dim, (long long)r->self->sizes[dim], (long long)how.u.i);
  return cut(r, dim);
}

fnz_status fnzi_resolve_hsplit(fnzi_resolving *r) {
  return cut_dim(r, 1, r->self->rank == 1 ? 0 : 1);
}

fnz_status fnzi_resolve_vsplit(fnzi_resolving *r) {
  return cut_dim(r, 2, 0);
}

fnz_status fnzi_resolve_dsplit(fnzi_resolving *r) {
  return cut_dim(r, 3, 2);
}

/* --- in the sizes of others ------------------------------------------------------------------- */
fnz_status fnzi_resolve_expand_as(fnzi_resolving *r) {
  FNZ_TRY(fnzi_composite_results(r, 1));
  return fnzi_composite_add_sizes_step(r, 0, FNZI_STEP_EXPAND, r->tensors[1]->sizes,
                                       r->tensors[1]->rank);
}

fnz_status fnzi_resolve_broadcast_to(fnzi_resolving *r) {
  const fnz_arg args[] = {fnzi_arg_default(), fnzi_composite_arg(r, 1)};
  return fnzi_composite_is_call(r, FNZI_STEP_EXPAND, args, 2);
}

fnz_status fnzi_resolve_broadcast_tensors(fnzi_resolving *r) {
  int64_t sizes[FNZ_MAX_RANK];
  uint32_t rank = 0;
  for (size_t k = 0; k < r->ntensors; k++)
    rank = r->tensors[k]->rank > rank ? r->tensors[k]->rank : rank;
  for (uint32_t d = 0; d < rank; d++)
    sizes[d] = 1;
  FNZ_TRY(fnzi_composite_results(r, r->ntensors));
  for (size_t k = 0; k < r->ntensors; k++)
    for (uint32_t d = 0; d < r->tensors[k]->rank; d++)
      if (r->tensors[k]->sizes[d] != 1)
        sizes[d + rank - r->tensors[k]->rank] = r->tensors[k]->sizes[d];
  for (size_t k = 0; k < r->ntensors; k++) {
    const fnz_geometry *g = r->tensors[k];
    bool fits = g->rank == rank && (!rank || !memcmp(g->sizes, sizes, rank * sizeof *sizes));
    r->out->items[k].tensor = k;
    if (!fits)
      FNZ_TRY(fnzi_composite_add_sizes_step(r, k, FNZI_STEP_EXPAND, sizes, rank));
  }
  return FNZ_OK;
}
