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
  /* where(mask, value, self), copied into the tensor where that is written. */
  const fnz_geometry *g = fnzi_batch_geometry_of(v, &v->args[0]);
  fnz_arg args[2] = {v->args[0]};
  if (!writes(v))
    return fnzi_batch_finish_named(v, "where.self", where, 3);
  FNZ_TRY(fnzi_batch_make(v, "where.self", where, 3, g, &args[1]));
  return fnzi_batch_finish_named(v, "copy_", args, 2);
}

/* fill_diagonal_(self, value, wrap): finds the places by running the operator on a mask that has
 * the sizes of one batch element. */
fnz_status fnzi_batch_fill_diagonal(fnzi_batch_node *v) {
  const fnz_geometry *g = fnzi_batch_geometry_of(v, &v->args[0]);
  uint32_t rank = fnzi_batch_rank(v, &v->args[0]);
  const int64_t *sizes = rank ? g->sizes + g->rank - rank : NULL;
  const fnz_arg no = {.tag = FNZ_ARG_BOOL}, yes = {.tag = FNZ_ARG_BOOL, .u.i = 1};
  fnz_arg full[] = {{0}, no, fnzi_arg_dtype(FNZ_BOOL)}, mask[] = {{0}, yes, v->args[2]};
  fnz_arg args[] = {v->args[0], {0}, v->args[1]};
  if (rank < 2)
    return fnzi_batch_refuse(v, "fills the diagonal of a tensor that is no matrix");
  FNZ_TRY(fnzi_arg_ints(v->regions->arena, sizes, rank, &full[0]));
  const fnz_geometry looks = {.dtype = FNZ_BOOL, .rank = rank, .sizes = sizes};
  FNZ_TRY(fnzi_batch_make(v, "full", full, 3, &looks, &mask[0]));
  FNZ_TRY(fnzi_batch_make(v, "fill_diagonal_", mask, 3, &looks, &args[1]));
  return fnzi_batch_finish_named(v, "masked_fill_.Scalar", args, 3);
}
