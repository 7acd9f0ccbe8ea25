/* rules.c - rules for operators on tensors with batch dimensions in front: rules that ignore them,
 * rules that take dimensions or sizes, reductions, and broadcasting. */
#include "program/batching/rules.h"

/* --- Arguments -------------------------------------------------------------------------------- */
static fnz_arg get(const fnzi_batch_node *v, size_t i) {
  return fnzi_arg_get(v->op, v->args, v->op->nparams, i);
}

static fnz_status call(const fnzi_batch_node *v) {
  return fnzi_batch_finish(v, v->op, v->args, v->op->nparams);
}

/* No tensor but the first has levels. */
static fnz_status only_first(const fnzi_batch_node *v) {
  for (size_t i = 1; i < v->op->nparams; i++)
    if (fnzi_batch_levels(v, &v->args[i]))
      return fnzi_batch_refuse(v, "has no rule for a batch of its second tensor");
  return v->args[0].tag == FNZ_ARG_VALUE ? FNZ_OK : fnzi_batch_refuse(v, "needs a tensor first");
}

static bool is_dim(const fnzi_param *p) {
  static const char *const names[] = {"dim",         "dim0",      "dim1",    "dim2",
                                      "dims",        "axis0",     "axis1",   "source",
                                      "destination", "start_dim", "end_dim", "dimension"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (p->type == FNZI_TYPE_INT && strcmp(names[i], p->name) == 0)
      return true;
  return false;
}

/* Position of the parameter that says sizes. */
static int size_param(const fnz_op *op) {
  static const char *const names[] = {"size", "shape", "repeats"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (fnzi_op_param(op, names[i]) >= 0)
      return fnzi_op_param(op, names[i]);
  return -1;
}

/* A dimension that no tensor has stays as it is, for the operator to refuse. */
static fnz_arg later(const fnz_arg *dim, uint32_t by) {
  bool counts_on = dim->u.i >= 0 && dim->u.i <= FNZ_MAX_RANK;
  return fnzi_arg_int(counts_on ? dim->u.i + by : dim->u.i);
}

static fnz_status shift_all(fnzi_batch_node *v, uint32_t rank) {
  for (size_t i = 0; i < v->op->nparams; i++) {
    if (!is_dim(&v->op->params[i]))
      continue;
    if (!rank)
      return fnzi_batch_refuse(v, "gets a tensor without dimensions, and names one");
    v->args[i] = get(v, i);
    /* Dimensions count behind the levels; from the end they count as before. */
    fnz_arg *dims = &v->args[i];
    fnz_arg *items;
    if (dims->tag == FNZ_ARG_INT)
      *dims = later(dims, v->count);
    if (dims->tag == FNZ_ARG_LIST) {
      FNZI_NEW(v->regions->arena, dims->count, &items);
      for (uint32_t k = 0; k < dims->count; k++)
        items[k] = later(&dims->u.list[k], v->count);
      dims->u.list = items;
    }
  }
  return FNZ_OK;
}

/* The list begins with the sizes of the levels, or with as many times 1. */
static fnz_status put_sizes(fnzi_batch_node *v, int at, bool ones) {
  int64_t sizes[FNZI_MOST_LEVELS];
  fnz_arg *items;
  const fnz_arg old = get(v, (size_t)at);
  if (old.tag != FNZ_ARG_LIST)
    return fnzi_batch_refuse(v, "needs a list of sizes");
  fnzi_batch_sizes(v, sizes);
  FNZI_NEW(v->regions->arena, v->count + old.count, &items);
  for (uint32_t k = 0; k < v->count; k++)
    items[k] = fnzi_arg_int(ones ? 1 : sizes[k]);
  if (old.count)
    memcpy(items + v->count, old.u.list, old.count * sizeof *items);
  v->args[at] = (fnz_arg){.tag = FNZ_ARG_LIST, .count = v->count + old.count, .u.list = items};
  return FNZ_OK;
}

static fnz_status not_inplace(const fnzi_batch_node *v) {
  return v->op->kind == FNZI_KIND_INPLACE ? fnzi_batch_refuse(v, "has no rule for a batch")
                                          : FNZ_OK;
}

/* --- One tensor ------------------------------------------------------------------------------- */
fnz_status fnzi_batch_same(fnzi_batch_node *v) {
  FNZ_TRY(only_first(v));
  return call(v);
}

fnz_status fnzi_batch_like(fnzi_batch_node *v) {
  v->all = fnzi_batch_levels(v, &v->args[0]);
  return call(v);
}

fnz_status fnzi_batch_drop(fnzi_batch_node *v) {
  (void)v;
  return FNZ_OK;
}

fnz_status fnzi_batch_shift(fnzi_batch_node *v) {
  FNZ_TRY(only_first(v));
  FNZ_TRY(shift_all(v, fnzi_batch_rank(v, &v->args[0])));
  return call(v);
}

fnz_status fnzi_batch_insert(fnzi_batch_node *v) {
  FNZ_TRY(only_first(v));
  FNZ_TRY(shift_all(v, 1));
  return call(v);
}

fnz_status fnzi_batch_roll(fnzi_batch_node *v) {
  const int64_t last = -1;
  int at = fnzi_op_param(v->op, "dims");
  fnz_arg dims = get(v, (size_t)at);
  if (dims.tag == FNZ_ARG_LIST && dims.count)
    return fnzi_batch_shift(v);
  if (fnzi_batch_rank(v, &v->args[0]) != 1)
    return fnzi_batch_refuse(v, "rolls all dimensions as one");
  FNZ_TRY(fnzi_arg_ints(v->regions->arena, &last, 1, &v->args[at]));
  return call(v);
}

/* pad(self, pad, mode, value): the number of dimensions decides which are repeated or
 * reflected. */
fnz_status fnzi_batch_pad(fnzi_batch_node *v) {
  fnz_arg mode = get(v, 2);
  if (mode.tag != FNZ_ARG_STRING || strcmp(mode.u.s, "constant") != 0)
    return fnzi_batch_refuse(v, "pads with something else than a number");
  return fnzi_batch_same(v);
}

fnz_status fnzi_batch_permute(fnzi_batch_node *v) {
  fnz_arg dims = get(v, 1), *items;
  FNZ_TRY(only_first(v));
  FNZI_NEW(v->regions->arena, v->count + dims.count, &items);
  for (uint32_t k = 0; k < v->count; k++)
    items[k] = fnzi_arg_int(k);
  for (uint32_t i = 0; dims.tag == FNZ_ARG_LIST && i < dims.count; i++)
    items[v->count + i] = later(&dims.u.list[i], v->count);
  v->args[1] = (fnz_arg){.tag = FNZ_ARG_LIST, .count = v->count + dims.count, .u.list = items};
  return call(v);
}

fnz_status fnzi_batch_squeeze(fnzi_batch_node *v) {
  int64_t dims[FNZ_MAX_RANK];
  uint32_t n = 0;
  fnz_arg args[2] = {v->args[0]};
  FNZ_TRY(not_inplace(v));
  const fnz_geometry *g = fnzi_batch_geometry_of(v, &v->args[0]);
  for (uint32_t d = v->count; d < g->rank; d++)
    if (g->sizes[d] == 1)
      dims[n++] = d;
  FNZ_TRY(fnzi_arg_ints(v->regions->arena, dims, n, &args[1]));
  return fnzi_batch_finish_named(v, v->other, args, 2);
}

/* t and numpy_T, which take no dimensions. */
fnz_status fnzi_batch_transpose(fnzi_batch_node *v) {
  uint32_t rank = fnzi_batch_rank(v, &v->args[0]);
  const fnz_arg args[] = {v->args[0], fnzi_arg_int(-2), fnzi_arg_int(-1)};
  FNZ_TRY(not_inplace(v));
  if (rank < 2)
    return fnzi_batch_give(v, v->args[0]);
  return rank > 2 ? fnzi_batch_refuse(v, "gets more than two dimensions")
                  : fnzi_batch_finish_named(v, v->other, args, 3);
}

/* --- Sizes ------------------------------------------------------------------------------------ */
fnz_status fnzi_batch_sized(fnzi_batch_node *v) {
  FNZ_TRY(only_first(v));
  FNZ_TRY(put_sizes(v, size_param(v->op), false));
  return call(v);
}

/* The result has the sizes of args[1] without its levels. */
fnz_status fnzi_batch_sized_like(fnzi_batch_node *v) {
  const fnz_op *op = fnzi_ops_find(v->other);
  fnz_arg args[4] = {v->args[0]}; /* no fewer than op->nparams */
  if (v->args[1].tag != FNZ_ARG_VALUE)
    return fnzi_batch_refuse(v, "needs a second tensor");
  const fnz_geometry *g = fnzi_batch_geometry_of(v, &v->args[1]);
  uint32_t rank = fnzi_batch_rank(v, &v->args[1]);
  FNZ_TRY(fnzi_arg_ints(v->regions->arena, g->sizes + (g->rank - rank), rank, &args[1]));
  v->op = op;
  v->args = args;
  v->all = fnzi_batch_levels(v, &args[0]);
  v->count = fnzi_batch_count_levels(v->all);
  return fnzi_op_param(op, "implicit") >= 0 ? fnzi_batch_expand(v) : fnzi_batch_sized(v);
}

/* tile(self, dims): fewer numbers than dimensions are for the last ones. */
fnz_status fnzi_batch_tile(fnzi_batch_node *v) {
  fnz_arg dims = v->args[1], *items;
  uint32_t rank = fnzi_batch_rank(v, &v->args[0]), n = 0;
  FNZ_TRY(only_first(v));
  if (dims.tag != FNZ_ARG_LIST)
    return fnzi_batch_refuse(v, "needs a list of sizes");
  for (; rank < dims.count; rank++)
    FNZ_TRY(fnzi_batch_unsqueeze(v, &v->args[0], v->count));
  FNZI_NEW(v->regions->arena, v->count + rank, &items);
  while (n < v->count + rank - dims.count)
    items[n++] = fnzi_arg_int(1);
  if (dims.count)
    memcpy(items + n, dims.u.list, dims.count * sizeof *items);
  v->args[1] = (fnz_arg){.tag = FNZ_ARG_LIST, .count = v->count + rank, .u.list = items};
  return call(v);
}

/* There may be more sizes than dimensions; the additional ones come in front of the tensor's own.
 */
fnz_status fnzi_batch_expand(fnzi_batch_node *v) {
  int at = size_param(v->op);
  bool repeats = strcmp(v->op->params[at].name, "repeats") == 0;
  uint32_t rank = fnzi_batch_rank(v, &v->args[0]);
  FNZ_TRY(only_first(v));
  for (; rank < get(v, (size_t)at).count; rank++)
    FNZ_TRY(fnzi_batch_unsqueeze(v, &v->args[0], v->count));
  FNZ_TRY(put_sizes(v, at, repeats));
  return call(v);
}

/* --- Reductions ------------------------------------------------------------------------------- */
fnz_status fnzi_batch_reduce(fnzi_batch_node *v) {
  int64_t all[FNZ_MAX_RANK];
  uint32_t rank = fnzi_batch_rank(v, &v->args[0]);
  int at = fnzi_op_param(v->op, "dim"), keeps = fnzi_op_param(v->op, "keepdim");
  fnz_arg dims = get(v, (size_t)at);
  FNZ_TRY(only_first(v));
  if (!rank) {
    /* Without any dimension of its own, the tensor gets one. */
    const int64_t last = -1;
    FNZ_TRY(fnzi_batch_unsqueeze(v, &v->args[0], v->count));
    FNZ_TRY(fnzi_arg_ints(v->regions->arena, &last, 1, &v->args[at]));
    if (keeps >= 0)
      v->args[keeps] = (fnz_arg){.tag = FNZ_ARG_BOOL, .u.i = 0};
    return call(v);
  }
  if (dims.tag == FNZ_ARG_LIST && dims.count)
    return fnzi_batch_shift(v);
  for (uint32_t d = 0; d < rank; d++)
    all[d] = v->count + d;
  FNZ_TRY(fnzi_arg_ints(v->regions->arena, all, rank, &v->args[at]));
  return call(v);
}

/* The tensor with its own dimensions as one. */
static fnz_status flatten(fnzi_batch_node *v, fnz_arg *tensor) {
  int64_t sizes[FNZI_MOST_LEVELS + 1];
  const fnz_geometry *g = fnzi_batch_geometry_of(v, tensor);
  uint32_t rank = fnzi_batch_rank(v, tensor);
  fnz_arg args[2] = {*tensor};
  if (!rank)
    return fnzi_batch_unsqueeze(v, tensor, v->count);
  if (rank == 1)
    return FNZ_OK;
  fnzi_batch_sizes(v, sizes);
  sizes[v->count] = 1;
  for (uint32_t d = v->count; d < g->rank; d++)
    sizes[v->count] *= g->sizes[d]; /* less than all its elements */
  FNZ_TRY(fnzi_arg_ints(v->regions->arena, sizes, v->count + 1, &args[1]));
  return fnzi_batch_make(v, "reshape", args, 2,
                         &(fnz_geometry){.dtype = g->dtype, .rank = v->count + 1, .sizes = sizes},
                         tensor);
}

fnz_status fnzi_batch_whole(fnzi_batch_node *v) {
  const fnz_op *op = fnzi_ops_find(v->other);
  const int64_t last = -1;
  int keeps = fnzi_op_param(v->op, "keepdim"), named = fnzi_op_param(v->op, "dim");
  int at = fnzi_op_param(op, "dim");
  fnz_arg *args;
  /* The arguments of argmax name the dimension that it reduces, or none for all. */
  if (named >= 0 && get(v, (size_t)named).tag == FNZ_ARG_INT)
    return fnzi_batch_shift(v);
  if (keeps >= 0 && get(v, (size_t)keeps).u.i)
    return fnzi_batch_refuse(v, "keeps dimensions and names none");
  FNZ_TRY(only_first(v));
  FNZI_NEW(v->regions->arena, op->nparams, &args);
  args[0] = v->args[0];
  FNZ_TRY(flatten(v, &args[0]));
  args[at] = fnzi_arg_int(last);
  if (op->params[at].is_list)
    FNZ_TRY(fnzi_arg_ints(v->regions->arena, &last, 1, &args[at]));
  for (size_t i = 1; i < op->nparams; i++) {
    const char *name = op->params[i].name;
    int from = fnzi_op_param(v->op, name);
    if (from >= 0 && strcmp(name, "dim") != 0 && strcmp(name, "keepdim") != 0)
      args[i] = v->args[from];
  }
  return fnzi_batch_finish(v, op, args, op->nparams);
}

/* --- Several tensors -------------------------------------------------------------------------- */
static uint32_t most_dims(const fnzi_batch_node *v) {
  uint32_t most = 0;
  for (size_t i = 0; i < v->op->nparams; i++) {
    uint32_t rank = fnzi_batch_rank(v, &v->args[i]);
    most = rank > most ? rank : most;
  }
  return most;
}

fnz_status fnzi_batch_pointwise(fnzi_batch_node *v) {
  uint32_t most = most_dims(v);
  if (v->op->kind == FNZI_KIND_INPLACE && fnzi_batch_rank(v, &v->args[0]) != most)
    return fnzi_batch_refuse(v, "writes a tensor of fewer dimensions than what it is written with");
  /* The dtype that the operator computes in, as PyTorch finds it: of the tensors without the
   * levels, where one without dimensions has lower priority. */
  fnzi_promotion p = {0};
  for (size_t i = 0; i < v->op->nparams; i++) {
    const fnz_arg *arg = &v->args[i];
    if (arg->tag == FNZ_ARG_VALUE)
      fnzi_promotion_add_tensor(&p, fnzi_batch_geometry_of(v, arg)->dtype, fnzi_batch_rank(v, arg));
    else if (v->op->params[i].type == FNZI_TYPE_SCALAR &&
             (arg->tag == FNZ_ARG_INT || arg->tag == FNZ_ARG_FLOAT || arg->tag == FNZ_ARG_BOOL ||
              arg->tag == FNZ_ARG_COMPLEX))
      fnzi_promotion_add_number(&p, arg);
  }
  /* A batch of numbers has a dimension, which would raise its priority in type promotion. */
  const bool promotes = v->op->promotion != FNZI_PROMOTE_SELF;
  const fnz_dtype dtype = fnzi_promotion_result(&p);
  for (size_t i = v->op->kind == FNZI_KIND_INPLACE; promotes && i < v->op->nparams; i++) {
    fnz_arg *arg = &v->args[i];
    if (!fnzi_batch_levels(v, arg) || fnzi_batch_rank(v, arg))
      continue;
    const fnz_dtype has = fnzi_batch_geometry_of(v, arg)->dtype;
    if (has != dtype && has != FNZ_BOOL)
      FNZ_TRY(fnzi_batch_cast(v, arg, dtype));
  }
  for (size_t i = 0; i < v->op->nparams; i++)
    if (v->args[i].tag == FNZ_ARG_VALUE)
      FNZ_TRY(fnzi_batch_align(v, &v->args[i], most));
  return call(v);
}

static fnz_status spread_arg(const fnzi_batch_node *v, fnz_arg *arg, uint32_t rank) {
  fnz_arg *items;
  if (arg->tag == FNZ_ARG_VALUE)
    return fnzi_batch_spread(v, arg,
                             rank > fnzi_batch_rank(v, arg) ? rank : fnzi_batch_rank(v, arg));
  if (arg->tag != FNZ_ARG_LIST)
    return FNZ_OK;
  FNZI_NEW(v->regions->arena, arg->count, &items);
  for (uint32_t i = 0; i < arg->count; i++) {
    items[i] = arg->u.list[i];
    if (items[i].tag == FNZ_ARG_VALUE)
      FNZ_TRY(fnzi_batch_spread(v, &items[i], fnzi_batch_rank(v, &items[i])));
  }
  arg->u.list = items;
  return FNZ_OK;
}

static fnz_status spread_all(fnzi_batch_node *v, uint32_t rank) {
  for (size_t i = 0; i < v->op->nparams; i++)
    if (v->op->params[i].type == FNZI_TYPE_TENSOR)
      FNZ_TRY(spread_arg(v, &v->args[i], rank));
  return FNZ_OK;
}

static uint32_t first_rank(const fnzi_batch_node *v) {
  const fnz_arg *first = &v->args[0];
  if (first->tag == FNZ_ARG_LIST && first->count)
    first = &first->u.list[0];
  return fnzi_batch_rank(v, first);
}

static fnz_status join(fnzi_batch_node *v, uint32_t rank) {
  FNZ_TRY(shift_all(v, rank));
  FNZ_TRY(spread_all(v, 0));
  return call(v);
}

fnz_status fnzi_batch_join(fnzi_batch_node *v) {
  return join(v, first_rank(v));
}

/* The first tensor and args[other]; the indices between them are the same for the whole batch. */
fnz_status fnzi_batch_join_two(fnzi_batch_node *v, size_t other) {
  FNZ_TRY(shift_all(v, first_rank(v)));
  FNZ_TRY(spread_arg(v, &v->args[0], 0));
  FNZ_TRY(other ? spread_arg(v, &v->args[other], 0) : FNZ_OK);
  return call(v);
}

fnz_status fnzi_batch_stack(fnzi_batch_node *v) {
  return join(v, 1);
}

/* take_along_dim(self, indices, dim) */
fnz_status fnzi_batch_join_along(fnzi_batch_node *v) {
  if (v->args[2].tag != FNZ_ARG_INT)
    return fnzi_batch_refuse(v, "names no dimension");
  return fnzi_batch_join(v);
}

/* searchsorted(sorted_sequence, self, ..., sorter): one row for the whole batch takes any values.
 */
fnz_status fnzi_batch_search(fnzi_batch_node *v) {
  bool is_row = fnzi_batch_rank(v, &v->args[0]) == 1;
  if (is_row && !fnzi_batch_levels(v, &v->args[0]) && !fnzi_batch_levels(v, &v->args[5]))
    return call(v);
  if (fnzi_batch_rank(v, &v->args[0]) != fnzi_batch_rank(v, &v->args[1]))
    return fnzi_batch_refuse(v, "looks for values of other dimensions than the rows have");
  FNZ_TRY(spread_all(v, 0));
  return call(v);
}

/* broadcast_tensors(tensors) */
fnz_status fnzi_batch_broadcast(fnzi_batch_node *v) {
  fnz_arg *items;
  uint32_t most = 0, n = v->args[0].tag == FNZ_ARG_LIST ? v->args[0].count : 0;
  FNZI_NEW(v->regions->arena, n, &items);
  for (uint32_t i = 0; i < n; i++) {
    items[i] = v->args[0].u.list[i];
    uint32_t rank = fnzi_batch_rank(v, &items[i]);
    most = rank > most ? rank : most;
  }
  for (uint32_t i = 0; i < n; i++)
    FNZ_TRY(fnzi_batch_align(v, &items[i], most));
  v->args[0].u.list = items;
  return call(v);
}

fnz_status fnzi_batch_attend(fnzi_batch_node *v) {
  FNZ_TRY(spread_all(v, most_dims(v)));
  return call(v);
}

/* --- Random numbers --------------------------------------------------------------------------- */

/* A tensor gets random numbers for all of its levels, or for none. */
fnz_status fnzi_batch_random(fnzi_batch_node *v) {
  bool has_tensor = v->op->nparams && v->args[0].tag == FNZ_ARG_VALUE;
  const fnzi_batch *b = v->regions;
  uint32_t wanted = 0; /* the levels along which numbers differ */
  for (uint32_t k = 0; k < b->nlevels; k++) {
    if (!b->levels[k].may_draw)
      return fnzi_batch_refuse(v, "draws random numbers, and its randomness is 'error'");
    wanted |= (uint32_t)b->levels[k].is_random << k;
  }
  if (v->all == wanted && (!v->all || has_tensor)) {
    FNZ_TRY(has_tensor ? only_first(v) : FNZ_OK);
    return call(v);
  }
  int at = size_param(v->op);
  if (v->all || has_tensor || at < 0)
    return fnzi_batch_refuse(v, "draws the same numbers for some batch dimensions of its tensor");
  v->all = wanted;
  v->count = fnzi_batch_count_levels(wanted);
  FNZ_TRY(put_sizes(v, at, false));
  return call(v);
}
