/* shape.c - tensors with the dimensions of vmap regions: their geometry, how
 * several of them get the same levels, and the nodes that do it. */
#include "program/batching/rules.h"

fnz_status fnzi_batch_refuse(const fnzi_batch_node *v, const char *why) {
  return fnzi_fail(v->regions->p->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                   "%s within torch.vmap %s; write the batch dimension out, or export the "
                   "function that is mapped without vmap",
                   v->op ? v->op->name : v->target, why);
}

/* --- Levels ----------------------------------------------------------------------------------- */
uint32_t fnzi_batch_count_levels(uint32_t levels) {
  return (uint32_t)__builtin_popcount(levels);
}

static uint32_t of_value(const fnzi_batch *b, const fnz_arg *arg) {
  bool has = arg->tag == FNZ_ARG_VALUE && arg->u.value < b->batched.count;
  return has ? b->batched.data[arg->u.value] : 0;
}

uint32_t fnzi_batch_levels(const fnzi_batch_node *v, const fnz_arg *arg) {
  uint32_t levels = of_value(v->regions, arg);
  for (uint32_t i = 0; arg->tag == FNZ_ARG_LIST && i < arg->count; i++)
    levels |= of_value(v->regions, &arg->u.list[i]);
  return levels;
}

fnz_status fnzi_batch_defined(fnzi_batch *b, uint32_t value) {
  while (b->batched.count <= value)
    FNZI_PUSH(b->p->ctx, &b->batched, 0);
  b->batched.data[value] = b->defining;
  return FNZ_OK;
}

/* Types of arguments are checked when the node is added. */
const fnz_geometry *fnzi_batch_geometry_of(const fnzi_batch_node *v, const fnz_arg *tensor) {
  static const fnz_geometry none = {.rank = 0};
  if (tensor->tag != FNZ_ARG_VALUE)
    return &none;
  return fnzi_value_at(v->regions->p, v->regions->graph, tensor->u.value)->geometry;
}

uint32_t fnzi_batch_rank(const fnzi_batch_node *v, const fnz_arg *arg) {
  if (arg->tag != FNZ_ARG_VALUE)
    return 0;
  return fnzi_batch_geometry_of(v, arg)->rank - fnzi_batch_count_levels(of_value(v->regions, arg));
}

static uint32_t level_sizes(const fnzi_batch *b, uint32_t levels, int64_t out[FNZI_MOST_LEVELS]) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < b->nlevels; k++)
    if (levels >> k & 1)
      out[n++] = b->levels[k].size;
  return n;
}

void fnzi_batch_sizes(const fnzi_batch_node *v, int64_t out[FNZI_MOST_LEVELS]) {
  level_sizes(v->regions, v->all, out);
}

/* --- Looks ------------------------------------------------------------------------------------ */
/* The levels that have no place yet, the innermost first, and the number of elements that the
 * placed dimensions fill without gaps. */
typedef struct filling {
  const int64_t *sizes; /* of the levels */
  int64_t *strides;     /* to be found */
  uint32_t left;
  int64_t filled;
} filling;

/* Places levels after the filled elements, until these reach `stride` or all levels have a place.
 * False where 64 bits are exceeded. */
static bool shape_put_levels(filling *f, int64_t stride) {
  while (f->left > 0 && f->filled != stride) {
    f->strides[--f->left] = f->filled;
    if (!fnzi_mul_i64(f->filled, f->sizes[f->left], &f->filled))
      return false;
  }
  return true;
}

/* Finds strides for the `n` levels such that they and the tensor fill memory without gaps. The
 * innermost level takes the first gap in the strides of the tensor's own dimensions. False when
 * there is no such place. */
static bool fill_gaps(const fnz_geometry *g, const int64_t *sizes, uint32_t n, int64_t *strides) {
  bool done[FNZ_MAX_RANK] = {false};
  filling f = {sizes, strides, n, 1};
  for (uint32_t left = 0; left < g->rank; left++) {
    /* The smallest stride of a dimension of more than one element that is not below what is
     * filled. */
    int d = -1;
    for (uint32_t i = 0; i < g->rank; i++)
      if (!done[i] && g->sizes[i] != 1 && g->strides[i] >= f.filled &&
          (d < 0 || g->strides[i] < g->strides[d]))
        d = (int)i;
    if (d < 0)
      break;
    if (!shape_put_levels(&f, g->strides[d]) || g->strides[d] != f.filled ||
        !fnzi_mul_i64(f.filled, g->sizes[d], &f.filled))
      return false;
    done[d] = true;
  }
  for (uint32_t d = 0; d < g->rank; d++)
    if (!done[d] && g->sizes[d] != 1)
      return false;
  return shape_put_levels(&f, -1);
}

/* The recorded strides are those within one element of the batch. If the tensor and the levels fill
 * memory without gaps, the strides with the batch dimensions are the same as in eager. */
fnz_status fnzi_batch_geometry(fnzi_batch *b, const fnz_geometry **geometry) {
  const fnz_geometry *g = *geometry;
  int64_t sizes[FNZ_MAX_RANK + FNZI_MOST_LEVELS], strides[FNZ_MAX_RANK + FNZI_MOST_LEVELS];
  fnz_geometry whole = *g;
  uint32_t n = level_sizes(b, b->defining, sizes);
  if (g->symbols)
    return fnzi_fail(b->p->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "a tensor within torch.vmap has symbolic sizes; export with fixed ones");
  if (n + g->rank > FNZ_MAX_RANK)
    return fnzi_fail(b->p->ctx, FNZ_CLASS_LIMIT, NULL, "%u dimensions; at most %d are allowed",
                     n + g->rank, FNZ_MAX_RANK);
  whole.rank = n + g->rank;
  whole.sizes = sizes;
  whole.strides = strides;
  if (g->rank) {
    memcpy(sizes + n, g->sizes, g->rank * sizeof *sizes);
    memcpy(strides + n, g->strides, g->rank * sizeof *strides);
  }
  if (!fill_gaps(g, sizes, n, strides)) {
    whole.offset = 0;
    fnzi_contiguous_strides(sizes, whole.rank, strides);
  }
  return fnzi_intern_geometry(b->p, &whole, geometry);
}

/* --- Nodes ------------------------------------------------------------------------------------ */
/* The strides of its base may be others than those known here, so the strides of the result follow
 * from the operator. */
static fnz_status make_open(const fnzi_batch_node *v, const char *op, const fnz_arg *args,
                            size_t nargs, const fnz_geometry *g, fnz_arg *out) {
  FNZ_TRY(v->maker->make(v->maker->user, op, args, nargs, g, out));
  return fnzi_value_unsaid(v->regions->p, v->regions->graph, (uint32_t)out->u.value);
}

fnz_status fnzi_batch_make(const fnzi_batch_node *v, const char *op, const fnz_arg *args,
                           size_t nargs, const fnz_geometry *looks, fnz_arg *out) {
  int64_t strides[FNZ_MAX_RANK];
  fnz_geometry g = {
      .dtype = looks->dtype, .rank = looks->rank, .sizes = looks->sizes, .strides = strides};
  if (g.rank > FNZ_MAX_RANK)
    return fnzi_batch_refuse(v, "has too many dimensions");
  fnzi_contiguous_strides(g.sizes, g.rank, strides);
  return make_open(v, op, args, nargs, &g, out);
}

/* Leaves strides open, because the source has strides of one element of the batch only. */
fnz_status fnzi_batch_finish(const fnzi_batch_node *v, const fnz_op *op, const fnz_arg *args,
                             size_t nargs) {
  const fnzi_batch_maker *m = v->maker;
  fnz_arg *results;
  size_t n = 0;
  v->regions->defining = v->all;
  fnz_status status = m->define(m->user, &results, &n);
  v->regions->defining = 0;
  FNZ_TRY(status);
  FNZI_EACH_ARG(each, results, n)
    if (each.arg->tag == FNZ_ARG_VALUE)
      FNZ_TRY(fnzi_value_unsaid(v->regions->p, v->regions->graph, (uint32_t)each.arg->u.value));
  return m->add(m->user, op, args, nargs, results, n);
}

fnz_status fnzi_batch_finish_named(const fnzi_batch_node *v, const char *op, const fnz_arg *args,
                                   size_t nargs) {
  return fnzi_batch_finish(v, fnzi_ops_find(op), args, nargs);
}

fnz_status fnzi_batch_give(const fnzi_batch_node *v, fnz_arg tensor) {
  return fnzi_batch_finish_named(v, "alias", &tensor, 1);
}

fnz_status fnzi_batch_set_levels(const fnzi_batch_node *v, const fnz_arg *tensor, uint32_t levels) {
  v->regions->defining = levels;
  fnz_status status = fnzi_batch_defined(v->regions, (uint32_t)tensor->u.value);
  v->regions->defining = 0;
  return status;
}

fnz_status fnzi_batch_cast(const fnzi_batch_node *v, fnz_arg *tensor, fnz_dtype dtype) {
  const fnz_geometry *g = fnzi_batch_geometry_of(v, tensor);
  const fnz_arg args[] = {*tensor, {.tag = FNZ_ARG_DTYPE, .u.i = dtype}};
  uint32_t levels = fnzi_batch_levels(v, tensor);
  if (g->dtype == dtype)
    return FNZ_OK;
  FNZ_TRY(fnzi_batch_make(v, "to.dtype", args, 2,
                          &(fnz_geometry){.dtype = dtype, .rank = g->rank, .sizes = g->sizes},
                          tensor));
  return fnzi_batch_set_levels(v, tensor, levels);
}

fnz_status fnzi_batch_number(const fnzi_batch_node *v, fnz_dtype dtype, fnz_arg *number) {
  const fnz_arg args[] = {{.tag = FNZ_ARG_LIST}, *number, {.tag = FNZ_ARG_DTYPE, .u.i = dtype}};
  return fnzi_batch_make(v, "full", args, 3, &(fnz_geometry){.dtype = dtype}, number);
}

/* --- The same levels -------------------------------------------------------------------------- */
fnz_status fnzi_batch_unsqueeze(const fnzi_batch_node *v, fnz_arg *tensor, uint32_t at) {
  int64_t sizes[FNZ_MAX_RANK], strides[FNZ_MAX_RANK];
  const fnz_geometry *old = fnzi_batch_geometry_of(v, tensor);
  fnz_geometry g = *old;
  if (old->rank == FNZ_MAX_RANK)
    return fnzi_batch_refuse(v, "has too many dimensions");
  for (uint32_t d = 0; d < old->rank; d++) {
    sizes[d + (d >= at)] = old->sizes[d];
    strides[d + (d >= at)] = old->strides[d];
  }
  sizes[at] = 1;
  strides[at] = 1;
  if (at < old->rank && !fnzi_mul_i64(old->sizes[at], old->strides[at], &strides[at]))
    return fnzi_batch_refuse(v, "has sizes that leave 63 bits");
  g.rank++;
  g.sizes = sizes;
  g.strides = strides;
  g.symbols = NULL;
  const fnz_arg args[] = {*tensor, fnzi_arg_int(at)};
  return make_open(v, "unsqueeze", args, 2, &g, tensor);
}

/* Dimensions of size 1 for the levels of v->all that are not in `levels`, and up to the rank. */
static fnz_status fill_up(const fnzi_batch_node *v, fnz_arg *tensor, uint32_t levels,
                          uint32_t rank) {
  uint32_t has = fnzi_batch_geometry_of(v, tensor)->rank - fnzi_batch_count_levels(levels), at = 0;
  for (uint32_t k = 0; k < v->regions->nlevels; k++) {
    if (!(v->all >> k & 1))
      continue;
    if (!(levels >> k & 1))
      FNZ_TRY(fnzi_batch_unsqueeze(v, tensor, at));
    at++;
  }
  for (; has < rank; has++)
    FNZ_TRY(fnzi_batch_unsqueeze(v, tensor, v->count));
  return FNZ_OK;
}

fnz_status fnzi_batch_align(const fnzi_batch_node *v, fnz_arg *tensor, uint32_t rank) {
  uint32_t levels = of_value(v->regions, tensor);
  return levels ? fill_up(v, tensor, levels, rank) : FNZ_OK;
}

fnz_status fnzi_batch_spread(const fnzi_batch_node *v, fnz_arg *tensor, uint32_t rank) {
  int64_t sizes[FNZ_MAX_RANK], strides[FNZ_MAX_RANK];
  uint32_t levels = of_value(v->regions, tensor);
  FNZ_TRY(fill_up(v, tensor, levels, rank));
  if (levels == v->all)
    return FNZ_OK;
  fnz_geometry g = *fnzi_batch_geometry_of(v, tensor);
  memcpy(sizes, g.sizes, g.rank * sizeof *sizes);
  memcpy(strides, g.strides, g.rank * sizeof *strides);
  fnzi_batch_sizes(v, sizes);
  for (uint32_t d = 0; d < v->count; d++)
    strides[d] = sizes[d] == g.sizes[d] ? strides[d] : 0;
  g.sizes = sizes;
  g.strides = strides;
  g.symbols = NULL;
  fnz_arg args[2] = {*tensor};
  FNZ_TRY(fnzi_arg_ints(v->regions->arena, sizes, g.rank, &args[1]));
  return make_open(v, "expand", args, 2, &g, tensor);
}

fnz_status fnzi_batch_order(const fnzi_batch_node *v, uint32_t rank, uint32_t from, uint32_t count,
                            uint32_t to, fnz_arg *dims) {
  int64_t order[FNZ_MAX_RANK];
  uint32_t next = 0;
  for (uint32_t d = 0; d < rank; d++) {
    if (d >= to && d < to + count) {
      order[d] = from + (d - to);
      continue;
    }
    next = next == from ? from + count : next;
    order[d] = next++;
  }
  return fnzi_arg_ints(v->regions->arena, order, rank, dims);
}
