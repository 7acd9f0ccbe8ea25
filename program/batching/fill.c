/* fill.c - filling tensors within vmap regions, where the value may be another one for
 * each element of the batch. */
#include "program/batching/rules.h"

static bool writes(const fnzi_batch_node *v) {
  return v->op->kind == FNZI_KIND_INPLACE;
}

/* The value of each element of the batch, as a tensor to copy from. */
static fnz_status align_value(const fnzi_batch_node *v, fnz_arg *value, uint32_t rank) {
  if (fnzi_batch_rank(v, value))
    return fnzi_batch_refuse(v, "fills with a tensor that has dimensions");
  return fnzi_batch_align(v, value, rank);
}

/* fill(self, value) */
fnz_status fnzi_batch_fill(fnzi_batch_node *v) {
  fnz_arg args[] = {v->args[0], v->args[1]};
  uint32_t rank = fnzi_batch_rank(v, &args[0]);
  if (!fnzi_batch_levels(v, &args[1]))
    return fnzi_batch_finish(v, v->op, v->args, v->op->nparams);
  FNZ_TRY(fnzi_batch_spread(v, &args[0], rank));
  FNZ_TRY(align_value(v, &args[1], rank));
  return fnzi_batch_finish_named(v, writes(v) ? "copy_" : "copy", args, 2);
}

/* where(mask, value, self), copied into the tensor where that is written. */
static fnz_status choose(fnzi_batch_node *v, const fnz_arg *where) {
  const fnz_geometry *g = fnzi_batch_geometry_of(v, &v->args[0]);
  fnz_arg args[2] = {v->args[0]};
  if (!writes(v))
    return fnzi_batch_finish_named(v, "where.self", where, 3);
  FNZ_TRY(fnzi_batch_make(v, "where.self", where, 3, g->dtype, g->sizes, g->rank, &args[1]));
  return fnzi_batch_finish_named(v, "copy_", args, 2);
}

/* masked_fill(self, mask, value): the operator itself takes one value for all. */
fnz_status fnzi_batch_masked(fnzi_batch_node *v) {
  fnz_arg where[] = {v->args[1], v->args[2], v->args[0]};
  uint32_t rank = fnzi_batch_rank(v, &where[2]), other = fnzi_batch_rank(v, &where[0]);
  if (!fnzi_batch_levels(v, &v->args[2]))
    return fnzi_batch_pointwise(v);
  if (writes(v) && other > rank)
    return fnzi_batch_refuse(v, "writes a tensor of fewer dimensions than its mask has");
  rank = other > rank ? other : rank;
  FNZ_TRY(fnzi_batch_cast(v, &where[1], fnzi_batch_geometry_of(v, &where[2])->dtype));
  FNZ_TRY(align_value(v, &where[1], rank));
  FNZ_TRY(fnzi_batch_align(v, &where[0], rank));
  FNZ_TRY(fnzi_batch_align(v, &where[2], rank));
  return choose(v, where);
}

/* --- Diagonals -------------------------------------------------------------------------------- */
/* The diagonal of the last two dimensions, as the last one. */
static fnz_status diagonal(const fnzi_batch_node *v, fnz_arg *tensor) {
  int64_t sizes[FNZ_MAX_RANK], strides[FNZ_MAX_RANK];
  const fnz_geometry *old = fnzi_batch_geometry_of(v, tensor);
  fnz_geometry g = *old;
  uint32_t last = old->rank - 2;
  memcpy(sizes, old->sizes, old->rank * sizeof *sizes);
  memcpy(strides, old->strides, old->rank * sizeof *strides);
  sizes[last] = sizes[last + 1] < sizes[last] ? sizes[last + 1] : sizes[last];
  if (!fnzi_add_i64(strides[last], strides[last + 1], &strides[last]))
    return fnzi_batch_refuse(v, "has strides that leave 63 bits");
  g.rank--;
  g.sizes = sizes;
  g.strides = strides;
  const fnz_arg args[] = {*tensor, fnzi_arg_int(0), fnzi_arg_int(-2), fnzi_arg_int(-1)};
  return fnzi_batch_make_as(v, "diagonal", args, 4, &g, tensor);
}

/* A matrix with more rows than that goes on below its diagonal when it wraps. */
static bool goes_on(const fnzi_batch_node *v, const fnz_geometry *g) {
  const fnz_arg *wrap = &v->args[2];
  return wrap->tag == FNZ_ARG_BOOL && wrap->u.i && g->sizes[g->rank - 2] > g->sizes[g->rank - 1];
}

/* fill_diagonal_(self, value, wrap): of more than two dimensions, all of them together. */
fnz_status fnzi_batch_fill_diagonal(fnzi_batch_node *v) {
  uint32_t rank = fnzi_batch_rank(v, &v->args[0]);
  const fnz_geometry *g = fnzi_batch_geometry_of(v, &v->args[0]);
  fnz_arg args[] = {v->args[0], v->args[1]}, filled;
  if (rank < 2 || goes_on(v, g))
    return fnzi_batch_refuse(v, "fills a diagonal that is no view of its tensor");
  for (; rank > 1; rank--)
    FNZ_TRY(diagonal(v, &args[0]));
  FNZ_TRY(
      fnzi_batch_make_as(v, "fill_.Scalar", args, 2, fnzi_batch_geometry_of(v, &args[0]), &filled));
  return fnzi_batch_give(v, v->args[0]);
}
