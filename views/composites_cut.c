/* composites_cut.c - chunk, narrow, tensor_split and friends: pieces of a tensor; expand_as,
 * broadcast_to and broadcast_tensors: one tensor in the sizes of others. */
#include "views/composite.h"

static fnz_status need_dims(const fnzi_resolving *r, uint32_t least) {
  if (r->self->rank >= least)
    return FNZ_OK;
  return fnzi_fail(r->ctx, FNZ_CLASS_BOUNDS, NULL, "%s: self has %u dimensions; at least %u",
                   r->op->name, r->self->rank, least);
}

static fnz_status add_slice(fnzi_resolving *r, size_t k, int64_t dim, fnzi_int start,
                            fnzi_int end) {
  const fnz_arg args[] = {fnzi_arg_default(), fnzi_arg_int(dim), fnzi_arg_of_int(start),
                          fnzi_arg_of_int(end)};
  return fnzi_composite_add_step(r, k, FNZI_STEP_SLICE, args, 4);
}

fnz_status fnzi_resolve_narrow(fnzi_resolving *r) {
  uint32_t dim;
  FNZ_TRY(need_dims(r, 1));
  FNZ_TRY(fnzi_composite_arg_dim(r, 1, &dim));
  const fnz_arg from = fnzi_composite_arg(r, 2), count = fnzi_composite_arg(r, 3);
  const fnzi_int start = fnzi_arg_word(&from), length = fnzi_arg_word(&count), zero = {0};
  const fnzi_int n = fnzi_int_size(r->self, dim), first = fnzi_int_from_end(r->ints, start, n);
  const fnzi_int end = fnzi_int_add(r->ints, first, length);
  if (fnzi_int_is_less(r->ints, first, zero) || fnzi_int_is_less(r->ints, length, zero) ||
      fnzi_int_is_less(r->ints, n, end))
    return fnzi_fail(
        r->ctx, FNZ_CLASS_BOUNDS, NULL, "narrow: start %s, length %s of dimension %u of size %s",
        FNZI_PUT(r->ints, start), FNZI_PUT(r->ints, length), dim, FNZI_PUT(r->ints, n));
  FNZ_TRY(fnzi_composite_results(r, 1));
  return add_slice(r, 0, dim, first, end);
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
  const fnzi_int n = fnzi_int_size(r->self, dim),
                 length = fnzi_int_div_up(r->ints, n, fnzi_int_of(chunks));
  /* A split of nothing is one piece, a chunk of nothing several. So if the size may be 0, the
   * pieces that the example has are slices. */
  int64_t count;
  if (!fnzi_int_is_number(n) && !fnzi_int_is_at_least(r->ints, n, fnzi_int_of(1)) &&
      fnzi_ints_recorded(r->ints, fnzi_int_div_up(r->ints, n, length), &count)) {
    fnzi_int start = {0};
    FNZ_TRY(fnzi_composite_results(r, (size_t)count));
    for (int64_t k = 0; k < count; k++) {
      const fnzi_int end = fnzi_int_add(r->ints, start, length);
      FNZ_TRY(add_slice(r, (size_t)k, dim, start, end));
      start = end;
    }
    return FNZ_OK;
  }
  FNZ_TRY(fnzi_composite_results(r, 1));
  fnz_arg args[3] = {fnzi_arg_default(), fnzi_arg_of_int(length), fnzi_arg_int(dim)};
  if (!fnzi_int_is(n, 0))
    return fnzi_composite_add_step(r, 0, FNZI_STEP_SPLIT, args, 3);
  fnzi_int *zeros;
  FNZ_TRY(fnzi_view_results_check(r->ctx, r->op, (size_t)chunks));
  FNZI_NEW(r->arena, chunks, &zeros);
  FNZ_TRY(fnzi_arg_of_ints(r->arena, zeros, (size_t)chunks, &args[1]));
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

/* `sections` pieces; where these do not divide the size, the first ones are longer by one. */
static fnz_status cut_evenly(fnzi_resolving *r, uint32_t dim, int64_t sections) {
  const fnzi_int n = fnzi_int_size(r->self, dim);
  fnzi_int start = {0};
  if (sections < 1)
    return fnzi_fail(r->ctx, FNZ_CLASS_BOUNDS, NULL, "%s: %lld sections; at least 1", r->op->name,
                     (long long)sections);
  FNZ_TRY(fnzi_composite_results(r, (size_t)sections));
  for (int64_t k = 0; k < sections; k++) {
    const fnzi_int rest = fnzi_int_sub(r->ints, n, start);
    const fnzi_int length = fnzi_int_div_up(r->ints, rest, fnzi_int_of(sections - k));
    const fnzi_int end = fnzi_int_add(r->ints, start, length);
    FNZ_TRY(add_slice(r, (size_t)k, dim, start, end));
    start = end;
  }
  return FNZ_OK;
}

static fnz_status cut(fnzi_resolving *r, uint32_t dim) {
  fnz_arg how = fnzi_composite_arg(r, 1);
  fnzi_int *ends;
  size_t count;
  if (how.tag == FNZ_ARG_INT)
    return cut_evenly(r, dim, how.u.i);
  FNZ_TRY(fnzi_composite_arg_ints(r, 1, &ends, &count));
  /* Pieces between the given indices, clamped as slices are. */
  const fnzi_int n = fnzi_int_size(r->self, dim);
  fnzi_int start = {0};
  FNZ_TRY(fnzi_composite_results(r, count + 1));
  for (size_t k = 0; k <= count; k++) {
    const fnzi_int end = k < count ? ends[k] : n;
    FNZ_TRY(add_slice(r, k, dim, start, end));
    start = end;
  }
  return FNZ_OK;
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
  const fnzi_int n = fnzi_int_size(r->self, dim);
  fnz_arg how = fnzi_composite_arg(r, 1);
  if (how.tag == FNZ_ARG_INT &&
      (how.u.i < 1 || !fnzi_int_is_multiple(r->ints, n, fnzi_int_of(how.u.i))))
    return fnzi_fail(r->ctx, FNZ_CLASS_BOUNDS, NULL,
                     "%s: dimension %u of size %s does not come out even in %lld sections",
                     r->op->name, dim, FNZI_PUT(r->ints, n), (long long)how.u.i);
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
  return fnzi_composite_add_like_step(r, 0, FNZI_STEP_EXPAND, r->tensors[1]);
}

fnz_status fnzi_resolve_broadcast_to(fnzi_resolving *r) {
  const fnz_arg args[] = {fnzi_arg_default(), fnzi_composite_arg(r, 1)};
  return fnzi_composite_is_call(r, FNZI_STEP_EXPAND, args, 2);
}

fnz_status fnzi_resolve_broadcast_tensors(fnzi_resolving *r) {
  fnzi_int sizes[FNZ_MAX_RANK];
  uint32_t rank = 0;
  for (size_t k = 0; k < r->ntensors; k++)
    rank = r->tensors[k]->rank > rank ? r->tensors[k]->rank : rank;
  for (uint32_t d = 0; d < rank; d++)
    sizes[d] = fnzi_int_of(1);
  FNZ_TRY(fnzi_composite_results(r, r->ntensors));
  for (size_t k = 0; k < r->ntensors; k++)
    for (uint32_t d = 0; d < r->tensors[k]->rank; d++)
      if (!fnzi_int_is(fnzi_int_size(r->tensors[k], d), 1))
        sizes[d + rank - r->tensors[k]->rank] = fnzi_int_size(r->tensors[k], d);
  for (size_t k = 0; k < r->ntensors; k++) {
    const fnz_geometry *g = r->tensors[k];
    bool fits = fnzi_int_has_sizes(g, sizes, rank);
    r->out->items[k].tensor = k;
    if (!fits)
      FNZ_TRY(fnzi_composite_add_sizes_step(r, k, FNZI_STEP_EXPAND, sizes, rank));
  }
  return FNZ_OK;
}
