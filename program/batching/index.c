/* index.c - indexing by tensors within vmap regions.
 *
 * If the indices have levels, they are broadcast to all levels, and the tensor is indexed along its
 * own levels by 0, 1, 2 ..., so that each batch element finds its own part. The dimensions of
 * adjacent indices replace the dimensions that they index; other indices put theirs first. Levels
 * come before all. */
#include "program/batching/rules.h"

typedef struct indexing {
  fnz_arg list[FNZ_MAX_RANK + FNZI_MOST_LEVELS];
  uint32_t count;  /* of the list */
  uint32_t first;  /* the first index that is given, without levels */
  bool together;   /* those given stand side by side */
  uint32_t rank;   /* of the indices broadcast, without levels */
  uint32_t levels; /* of all indices together */
} indexing;

static fnz_status find_indices(const fnzi_batch_node *v, const fnz_arg *list, indexing *x) {
  uint32_t last = 0;
  *x = (indexing){.together = true, .first = UINT32_MAX};
  if (list->tag != FNZ_ARG_LIST || list->count > FNZ_MAX_RANK)
    return fnzi_batch_refuse(v, "needs a list of indices");
  for (uint32_t i = 0; i < list->count; i++) {
    const fnz_arg *index = &list->u.list[i];
    if (index->tag != FNZ_ARG_VALUE)
      continue;
    fnz_dtype dtype = fnzi_batch_geometry_of(v, index)->dtype;
    if (dtype == FNZ_BOOL || dtype == FNZ_U8)
      return fnzi_batch_refuse(v, "is indexed by a mask, whose number of elements depends on data");
    x->together = x->together && (x->first == UINT32_MAX || last + 1 == i);
    x->first = x->first == UINT32_MAX ? i : x->first;
    last = i;
    x->rank = fnzi_batch_rank(v, index) > x->rank ? fnzi_batch_rank(v, index) : x->rank;
    x->levels |= fnzi_batch_levels(v, index);
  }
  return x->first == UINT32_MAX ? fnzi_batch_refuse(v, "has no index") : FNZ_OK;
}

/* 0, 1 ... size - 1 along the k-th of the dimensions that the indices have with their levels. */
static fnz_status along(const fnzi_batch_node *v, uint32_t k, int64_t size, uint32_t rank,
                        fnz_arg *out) {
  const fnz_arg args[] = {fnzi_arg_int(size)};
  FNZ_TRY(fnzi_batch_make(v, "arange", args, 1,
                          &(fnz_geometry){.dtype = FNZ_I64, .rank = 1, .sizes = &size}, out));
  for (uint32_t i = 0; i < k; i++)
    FNZ_TRY(fnzi_batch_unsqueeze(v, out, 0));
  for (uint32_t i = k + 1; i < v->count + rank; i++)
    FNZ_TRY(fnzi_batch_unsqueeze(v, out, i));
  return FNZ_OK;
}

/* An index for each level that the tensor has. */
static fnz_status index_levels(const fnzi_batch_node *v, uint32_t has, indexing *x) {
  uint32_t k = 0;
  for (uint32_t level = 0; level < v->regions->nlevels; level++) {
    if (has >> level & 1)
      FNZ_TRY(along(v, k, v->regions->levels[level].size, x->rank, &x->list[x->count++]));
    k += v->all >> level & 1;
  }
  return FNZ_OK;
}

/* Moves the dimensions of a result: `levels` is where the levels are, `width` how many dimensions
 * move with them, `to` their new place. */
typedef struct shuffle {
  uint32_t levels, width, to;
} shuffle;

/* Indexing gives the sizes of the source in another order, which a permutation undoes. */
static fnz_status find_shuffle(const fnzi_batch_node *v, uint32_t has, const indexing *x,
                               shuffle *out) {
  uint32_t front = fnzi_batch_count_levels(has);
  *out = (shuffle){0};
  if (!x->levels && x->together)
    return FNZ_OK; /* levels, before, indices, rest */
  if (!x->levels) {
    *out = (shuffle){x->rank, front, 0}; /* indices, levels, rest */
    return FNZ_OK;
  }
  if (!front && x->together) {
    *out = (shuffle){x->first, v->count, 0}; /* before, levels, indices, rest */
    return FNZ_OK;
  }
  if (x->together && x->first)
    *out = (shuffle){v->count, x->rank, v->count + x->first}; /* levels, indices, before, rest */
  return FNZ_OK;
}

static fnz_status file_sizes(const fnzi_batch_node *v, const fnz_arg *self, const fnz_arg *list,
                             const indexing *x, int64_t *sizes, uint32_t *rank) {
  const fnz_geometry *g = fnzi_batch_geometry_of(v, self);
  int64_t of_indices[FNZ_MAX_RANK];
  for (uint32_t d = 0; d < x->rank; d++)
    of_indices[d] = 1;
  for (uint32_t i = 0; i < list->count; i++) {
    const fnz_arg *index = &list->u.list[i];
    uint32_t r = fnzi_batch_rank(v, index);
    for (uint32_t d = 0; d < r; d++) {
      const fnz_geometry *looks = fnzi_batch_geometry_of(v, index);
      int64_t size = looks->sizes[looks->rank - r + d];
      of_indices[x->rank - r + d] = size == 1 ? of_indices[x->rank - r + d] : size;
    }
  }
  fnzi_batch_sizes(v, sizes);
  *rank = v->count;
  uint32_t front = fnzi_batch_count_levels(fnzi_batch_levels(v, self)),
           at = x->together ? x->first : 0;
  for (uint32_t d = 0; d <= g->rank - front; d++) {
    if (d == at)
      for (uint32_t i = 0; i < x->rank; i++)
        sizes[(*rank)++] = of_indices[i];
    bool is_indexed = d < list->count && list->u.list[d].tag == FNZ_ARG_VALUE;
    if (d < g->rank - front && !is_indexed)
      sizes[(*rank)++] = g->sizes[front + d];
  }
  return FNZ_OK;
}

static fnz_status index_by(fnzi_batch_node *v, const fnz_arg *self, const fnz_arg *list) {
  int64_t sizes[2 * FNZ_MAX_RANK + FNZI_MOST_LEVELS], raw[2 * FNZ_MAX_RANK + FNZI_MOST_LEVELS];
  indexing x;
  shuffle s;
  uint32_t rank, has = fnzi_batch_levels(v, self);
  FNZ_TRY(find_indices(v, list, &x));
  if (list->count > fnzi_batch_rank(v, self))
    return fnzi_batch_refuse(v, "has more indices than dimensions");
  FNZ_TRY(file_sizes(v, self, list, &x, sizes, &rank));
  /* The list as the whole tensor takes it: with something for its levels in front. */
  if (x.levels)
    FNZ_TRY(index_levels(v, has, &x));
  for (; !x.levels && x.count < fnzi_batch_count_levels(has); x.count++)
    x.list[x.count] = (fnz_arg){.tag = FNZ_ARG_NONE};
  for (uint32_t i = 0; i < list->count; i++) {
    x.list[x.count] = list->u.list[i];
    if (x.list[x.count].tag == FNZ_ARG_VALUE)
      FNZ_TRY(fnzi_batch_align(v, &x.list[x.count], x.rank));
    x.count++;
  }
  FNZ_TRY(find_shuffle(v, has, &x, &s));
  fnz_arg args[] = {*self, {.tag = FNZ_ARG_LIST, .count = x.count, .u.list = x.list}};
  if (!s.width || s.levels == s.to)
    return fnzi_batch_finish_named(v, "index.Tensor", args, 2);
  /* The sizes in the order in which indexing gives them: `count` dimensions from `from` on lie at
   * `to` afterwards. */
  uint32_t next = 0;
  for (uint32_t d = 0; d < rank; d++) {
    bool moves = d >= s.levels && d < s.levels + s.width;
    next = !moves && next == s.to ? s.to + s.width : next;
    raw[d] = moves ? sizes[s.to + (d - s.levels)] : sizes[next++];
  }
  FNZ_TRY(fnzi_batch_make(
      v, "index.Tensor", args, 2,
      &(fnz_geometry){.dtype = fnzi_batch_geometry_of(v, self)->dtype, .rank = rank, .sizes = raw},
      &args[0]));
  FNZ_TRY(fnzi_batch_order(v, rank, s.levels, s.width, s.to, &args[1]));
  return fnzi_batch_finish_named(v, "permute", args, 2);
}

fnz_status fnzi_batch_index(fnzi_batch_node *v) {
  return index_by(v, &v->args[0], &v->args[1]);
}

/* embedding(weight, indices, ...): one weight for the whole batch takes any indices. */
fnz_status fnzi_batch_look_up(fnzi_batch_node *v) {
  const fnz_arg list = {.tag = FNZ_ARG_LIST, .count = 1, .u.list = &v->args[1]};
  if (!fnzi_batch_levels(v, &v->args[0]))
    return fnzi_batch_finish(v, v->op, v->args, v->op->nparams);
  return index_by(v, &v->args[0], &list);
}

/* index_select(self, dim, index) */
fnz_status fnzi_batch_index_along(fnzi_batch_node *v) {
  fnz_arg items[FNZ_MAX_RANK];
  uint32_t dim, rank = fnzi_batch_rank(v, &v->args[0]);
  if (!fnzi_batch_levels(v, &v->args[2]))
    return fnzi_batch_shift(v);
  if (v->args[1].tag != FNZ_ARG_INT || !rank || fnzi_batch_rank(v, &v->args[2]) != 1)
    return fnzi_batch_refuse(v, "needs a dimension and one row of indices");
  FNZ_TRY(fnzi_wrap_dim(v->regions->p->ctx, v->op->name, v->args[1].u.i, rank, &dim));
  for (uint32_t i = 0; i < dim; i++)
    items[i] = (fnz_arg){.tag = FNZ_ARG_NONE};
  items[dim] = v->args[2];
  const fnz_arg list = {.tag = FNZ_ARG_LIST, .count = dim + 1, .u.list = items};
  return index_by(v, &v->args[0], &list);
}

/* --- Writing at indices ----------------------------------------------------------------------- */
/* self[list] = values, or += */
static fnz_status put(fnzi_batch_node *v, const fnz_arg *list, fnz_arg values, bool adds) {
  indexing x;
  fnz_arg self = v->args[0];
  uint32_t rank = fnzi_batch_rank(v, &self);
  FNZ_TRY(find_indices(v, list, &x));
  if (list->count > rank || values.tag != FNZ_ARG_VALUE)
    return fnzi_batch_refuse(v, "has more indices than dimensions, or no values");
  uint32_t given = 0;
  for (uint32_t i = 0; i < list->count; i++)
    given += list->u.list[i].tag == FNZ_ARG_VALUE;
  uint32_t places = x.rank + rank - given;
  FNZ_TRY(fnzi_batch_spread(v, &self, rank));
  /* The index list for writing. If indices have levels or are not adjacent, the levels come before
   * the dimensions that they index. Do the dimensions before the indices get indices too? Then the
   * places are a tensor of levels, earlier dimensions, indices and the rest, like the values. */
  const fnz_geometry *g = fnzi_batch_geometry_of(v, &self);
  uint32_t before = x.together && x.levels ? x.first : 0;
  x.rank += before;
  if (x.levels || !x.together)
    FNZ_TRY(index_levels(v, v->all, &x));
  for (; x.count < v->count; x.count++)
    x.list[x.count] = (fnz_arg){.tag = FNZ_ARG_NONE};
  for (uint32_t d = 0; d < before; d++)
    FNZ_TRY(along(v, v->count + d, g->sizes[v->count + d], x.rank, &x.list[x.count++]));
  for (uint32_t i = before; i < list->count; i++, x.count++) {
    x.list[x.count] = list->u.list[i];
    if (x.list[x.count].tag == FNZ_ARG_VALUE)
      FNZ_TRY(fnzi_batch_align(v, &x.list[x.count], x.rank));
  }
  FNZ_TRY(fnzi_batch_align(v, &values, places));
  const fnz_arg args[] = {self,
                          {.tag = FNZ_ARG_LIST, .count = x.count, .u.list = x.list},
                          values,
                          {.tag = FNZ_ARG_BOOL, .u.i = adds}};
  bool writes = v->op->kind == FNZI_KIND_INPLACE;
  return fnzi_batch_finish_named(v, writes ? "index_put_" : "index_put", args, 4);
}

/* index_put(self, indices, values, accumulate) */
fnz_status fnzi_batch_index_put(fnzi_batch_node *v) {
  indexing x;
  FNZ_TRY(find_indices(v, &v->args[1], &x));
  /* PyTorch writes values with dimensions to other places than a loop over the batch would in two
   * cases: indices with levels that follow an unindexed dimension, and indices without levels that
   * are not adjacent. */
  bool is_elsewhere = x.levels ? x.together && x.first : !x.together;
  if (is_elsewhere && fnzi_batch_rank(v, &v->args[2]))
    return fnzi_batch_refuse(
        v, "puts values at indices that do not begin with the first dimension, "
           "or are not side by side, where PyTorch does not do as for one element after the other");
  return put(v, &v->args[1], v->args[2], v->args[3].tag == FNZ_ARG_BOOL && v->args[3].u.i);
}

/* put() at the indices args[2] of dimension args[1]; these are a row, or one. */
static fnz_status put_along(fnzi_batch_node *v, fnz_arg values, bool adds) {
  fnz_arg items[FNZ_MAX_RANK], index = v->args[2];
  uint32_t dim, rank = fnzi_batch_rank(v, &v->args[0]), levels = fnzi_batch_levels(v, &index);
  if (v->args[1].tag != FNZ_ARG_INT || !rank || index.tag != FNZ_ARG_VALUE ||
      fnzi_batch_rank(v, &index) > 1)
    return fnzi_batch_refuse(v, "needs a dimension and one row of indices");
  FNZ_TRY(fnzi_wrap_dim(v->regions->p->ctx, v->op->name, v->args[1].u.i, rank, &dim));
  if (!fnzi_batch_rank(v, &index)) {
    FNZ_TRY(fnzi_batch_unsqueeze(v, &index, fnzi_batch_count_levels(levels)));
    FNZ_TRY(fnzi_batch_set_levels(v, &index, levels));
  }
  for (uint32_t i = 0; i < dim; i++)
    items[i] = (fnz_arg){.tag = FNZ_ARG_NONE};
  items[dim] = index;
  const fnz_arg list = {.tag = FNZ_ARG_LIST, .count = dim + 1, .u.list = items};
  return put(v, &list, values, adds);
}

/* index_copy(self, dim, index, source): one index for the whole batch is that of the operator. */
fnz_status fnzi_batch_index_copy(fnzi_batch_node *v) {
  if (!fnzi_batch_levels(v, &v->args[2]))
    return fnzi_batch_join_two(v, 3);
  return put_along(v, v->args[3], false);
}

/* index_add(self, dim, index, source, *, alpha) */
fnz_status fnzi_batch_index_add(fnzi_batch_node *v) {
  fnz_arg values = v->args[3];
  if (!fnzi_batch_levels(v, &v->args[2]))
    return fnzi_batch_join_two(v, 3);
  if (values.tag == FNZ_ARG_VALUE && v->args[4].tag != FNZ_ARG_DEFAULT) {
    const fnz_geometry *g = fnzi_batch_geometry_of(v, &values);
    const fnz_arg args[] = {values, v->args[4]};
    uint32_t levels = fnzi_batch_levels(v, &values);
    FNZ_TRY(fnzi_batch_make(v, "mul.Scalar", args, 2, g, &values));
    FNZ_TRY(fnzi_batch_set_levels(v, &values, levels));
  }
  return put_along(v, values, true);
}

/* index_fill(self, dim, index, value): the value is a number, or a tensor of one. */
fnz_status fnzi_batch_index_fill(fnzi_batch_node *v) {
  fnz_arg values = v->args[3];
  fnz_dtype dtype =
      v->args[0].tag == FNZ_ARG_VALUE ? fnzi_batch_geometry_of(v, &v->args[0])->dtype : 0;
  if (!fnzi_batch_levels(v, &v->args[2]) && !fnzi_batch_levels(v, &values))
    return fnzi_batch_join_two(v, 0);
  if (values.tag == FNZ_ARG_VALUE)
    FNZ_TRY(fnzi_batch_cast(v, &values, dtype));
  else
    FNZ_TRY(fnzi_batch_number(v, dtype, &values));
  return put_along(v, values, false);
}
