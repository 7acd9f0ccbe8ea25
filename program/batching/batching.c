/* batching.c - regions of torch.vmap: where they begin and end, and which rule rewrites each
 * operator in them.
 *
 * Needs: that a graph is read from its first node to its last.
 * Keeps: order; operators none of whose tensors has a batch dimension stay as they are.
 * Gives: operators on tensors with all their dimensions, and no trace of the regions.
 *
 * The dimensions of a level are always known: all levels come first. So two tensors with the same
 * levels need only the operator's own rule (batching.def). */
#include "program/batching/rules.h"

static const char module[] = "torch._functorch.predispatch.";

/* A flag in the mark of a value: the value's region has ended. */
#define ESCAPED (1u << 31)

bool fnzi_batch_is_mark(const char *target) {
  return strncmp(target, module, sizeof module - 1) == 0;
}

static fnz_status fail(const fnzi_batch *b, fnz_class kind, const char *target, const char *what) {
  return fnzi_fail(b->p->ctx, kind, NULL, "%s: %s", target, what);
}

/* --- Marks ------------------------------------------------------------------------------------ */

static fnz_status begin(fnzi_batch_node *v) {
  fnzi_batch *b = v->regions;
  const fnz_arg *size = &v->args[0], *random = &v->args[1];
  if (size->tag != FNZ_ARG_INT || size->u.i < 0)
    return fail(v->regions, FNZ_CLASS_UNSUPPORTED, v->target,
                "the batch size is not fixed; export with fixed sizes, or write the batch "
                "dimension out");
  if (b->nlevels == FNZI_MOST_LEVELS)
    return fail(v->regions, FNZ_CLASS_LIMIT, v->target, "too many regions are nested");
  bool has_word = random->tag == FNZ_ARG_STRING;
  b->levels[b->nlevels++] =
      (fnzi_batch_level){.size = size->u.i,
                         .is_random = has_word && strcmp(random->u.s, "different") == 0,
                         .may_draw = has_word && strcmp(random->u.s, "error") != 0,
                         .first = fnzi_graph_at(b->p, b->graph)->values.count};
  return FNZ_OK;
}

static fnz_status end(fnzi_batch_node *v) {
  fnzi_batch *b = v->regions;
  if (!b->nlevels)
    return fail(v->regions, FNZ_CLASS_REF, v->target, "no region is open");
  uint32_t k = --b->nlevels;
  for (size_t i = b->levels[k].first; i < b->batched.count; i++)
    if (b->batched.data[i] >> k & 1)
      b->batched.data[i] |= ESCAPED;
  return FNZ_OK;
}

/* The level that args[at] names, counted from 1, must be the innermost. */
static fnz_status read_level(const fnzi_batch_node *v, size_t at, uint32_t *out) {
  uint32_t depth = v->regions->nlevels;
  const fnz_arg *level = &v->args[at];
  if (!depth || level->tag != FNZ_ARG_INT || level->u.i != (int64_t)depth)
    return fail(v->regions, FNZ_CLASS_REF, v->target,
                "its level is not that of the innermost region");
  *out = depth - 1;
  return FNZ_OK;
}

static fnz_status read_tensor(const fnzi_batch_node *v) {
  if (v->args[0].tag != FNZ_ARG_VALUE)
    return fail(v->regions, FNZ_CLASS_TYPE, v->target, "its first argument must be a tensor");
  if (fnzi_batch_geometry_of(v, &v->args[0])->symbols)
    return fail(v->regions, FNZ_CLASS_UNSUPPORTED, v->target,
                "the tensor has symbolic sizes; export with fixed ones");
  return FNZ_OK;
}

static fnz_status read_dim(const fnzi_batch_node *v, size_t at, uint32_t rank, uint32_t *out) {
  if (v->args[at].tag != FNZ_ARG_INT)
    return fail(v->regions, FNZ_CLASS_TYPE, v->target, "a dimension must be an integer");
  return fnzi_wrap_dim(v->regions->p->ctx, v->target, v->args[at].u.i, rank, out);
}

/* Moves one dimension of the tensor; the result is that of the source's node. */
static fnz_status move(fnzi_batch_node *v, uint32_t levels, uint32_t from, uint32_t to) {
  fnz_arg args[2] = {v->args[0]};
  v->all = levels;
  if (from == to)
    return fnzi_batch_give(v, v->args[0]);
  FNZ_TRY(fnzi_batch_order(v, fnzi_batch_geometry_of(v, &v->args[0])->rank, from, 1, to, &args[1]));
  return fnzi_batch_finish_named(v, "permute", args, 2);
}

/* _add_batch_dim(tensor, dim, level) */
static fnz_status add_dim(fnzi_batch_node *v) {
  uint32_t level = 0, dim = 0;
  FNZ_TRY(read_tensor(v));
  FNZ_TRY(read_level(v, 2, &level));
  uint32_t has = fnzi_batch_levels(v, &v->args[0]), front = fnzi_batch_count_levels(has);
  uint32_t rank = fnzi_batch_rank(v, &v->args[0]);
  FNZ_TRY(read_dim(v, 1, rank, &dim));
  bool fits =
      rank && !(has >> level & 1) &&
      fnzi_batch_geometry_of(v, &v->args[0])->sizes[front + dim] == v->regions->levels[level].size;
  if (!fits)
    return fail(v->regions, FNZ_CLASS_BOUNDS, v->target,
                "the dimension is not as long as the region's batch");
  return move(v, has | 1u << level, front + dim, front);
}

/* _remove_batch_dim(tensor, level, size, dim) */
static fnz_status remove_dim(fnzi_batch_node *v) {
  uint32_t level = 0, dim = 0;
  FNZ_TRY(read_tensor(v));
  FNZ_TRY(read_level(v, 1, &level));
  uint32_t has = fnzi_batch_levels(v, &v->args[0]), left = has & ~(1u << level);
  FNZ_TRY(read_dim(v, 3, fnzi_batch_rank(v, &v->args[0]) + 1, &dim));
  uint32_t front = fnzi_batch_count_levels(left);
  if (left == has) {
    /* The tensor does not depend on the level: all elements of the batch are the same. */
    int64_t sizes[FNZ_MAX_RANK];
    fnz_arg args[2] = {v->args[0]};
    v->all = left;
    FNZ_TRY(fnzi_batch_unsqueeze(v, &args[0], front + dim));
    const fnz_geometry *g = fnzi_batch_geometry_of(v, &args[0]);
    memcpy(sizes, g->sizes, g->rank * sizeof *sizes);
    sizes[front + dim] = v->regions->levels[level].size;
    FNZ_TRY(fnzi_arg_ints(v->regions->arena, sizes, g->rank, &args[1]));
    return fnzi_batch_finish_named(v, "expand", args, 2);
  }
  return move(v, left, front, front + dim);
}

static fnz_status nothing(fnzi_batch_node *v) {
  (void)v;
  return FNZ_OK;
}

typedef struct mark {
  const char *name;
  uint32_t nargs;
  fnzi_batch_rule *rule;
} mark;

static const mark marks[] = {
    {"_add_batch_dim", 3, add_dim},           {"_remove_batch_dim", 4, remove_dim},
    {"_vmap_decrement_nesting", 0, end},      {"_vmap_increment_nesting", 2, begin},
    {"lazy_load_decompositions", 0, nothing},
};

static const mark *find_mark(const char *target) {
  for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
    if (strcmp(marks[i].name, target + sizeof module - 1) == 0)
      return &marks[i];
  return NULL;
}

fnz_status fnzi_batch_check_mark(const fnzi_batch *b, const char *target, size_t nargs) {
  const mark *row = find_mark(target);
  if (!row)
    return fail(b, FNZ_CLASS_UNSUPPORTED, target,
                "of torch.func only vmap is read; export the program without forward-mode AD");
  if (nargs != row->nargs)
    return fail(b, FNZ_CLASS_TYPE, target, "it has another number of arguments");
  return FNZ_OK;
}

static bool has_ended(const fnzi_batch_node *v) {
  return v->all & ESCAPED;
}

fnz_status fnzi_batch_mark(fnzi_batch *b, const fnzi_batch_maker *maker, const char *target,
                           fnz_arg *args, size_t nargs) {
  fnzi_batch_node v = {.regions = b, .maker = maker, .target = target, .args = args};
  FNZ_TRY(fnzi_batch_check_mark(b, target, nargs));
  for (size_t i = 0; i < nargs; i++)
    v.all |= fnzi_batch_levels(&v, &args[i]);
  if (has_ended(&v))
    return fail(b, FNZ_CLASS_REF, target, "a tensor is used after its region");
  return find_mark(target)->rule(&v);
}

/* --- Operators -------------------------------------------------------------------------------- */

static const struct {
  const char *op;
  fnzi_batch_rule *rule;
  const char *other;
} rows[] = {
#define VMAP(op, rule, other) {op, fnzi_batch_##rule, other},
#define RULE(rule)
#include "program/batching/batching.def"
#undef VMAP
#undef RULE
};

static fnzi_batch_rule *find_row(fnzi_batch_node *v, const char *name) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (strcmp(rows[i].op, name) == 0) {
      v->other = rows[i].other;
      return rows[i].rule;
    }
  return NULL;
}

/* The operator draws random numbers. Dropout that keeps everything does not. */
static bool draws(const fnzi_batch_node *v) {
  int train = fnzi_op_param(v->op, "train"), share = fnzi_op_param(v->op, "dropout_p");
  fnz_arg never = {.tag = FNZ_ARG_BOOL};
  if (train >= 0)
    never = fnzi_arg_get(v->op, v->args, v->op->nparams, (size_t)train);
  else if (share >= 0)
    never = fnzi_arg_get(v->op, v->args, v->op->nparams, (size_t)share);
  else
    return true;
  return never.tag == FNZ_ARG_FLOAT ? never.u.f != 0 : never.u.i != 0;
}

/* An in-place operator has the rule of its functional twin, an in-place view that of its view. */
static fnzi_batch_rule *find_rule(fnzi_batch_node *v) {
  const fnz_op *op = v->op;
  if (op->kind == FNZI_KIND_INPLACE)
    op = op->view_of != FNZI_NO_OP ? fnzi_op_by_index(op->view_of) : fnz_op_functional_twin(op);
  if (!op)
    return find_row(v, v->op->name);
  if (op->kind != FNZI_KIND_FUNCTIONAL)
    return NULL;
  if (op->tags & FNZI_TAG_RANDOM && draws(v))
    return fnzi_batch_random;
  fnzi_batch_rule *rule = find_row(v, fnzi_op_canonical(op)->name);
  return rule || !fnzi_op_is_elementwise(op) ? rule : fnzi_batch_pointwise;
}

static fnz_status find_levels(fnzi_batch_node *v, const fnz_arg *args, size_t nargs) {
  for (size_t i = 0; i < nargs; i++)
    v->all |= fnzi_batch_levels(v, &args[i]);
  v->count = fnzi_batch_count_levels(v->all);
  return has_ended(v) ? fnzi_batch_refuse(v, "uses a tensor after its region") : FNZ_OK;
}

fnz_status fnzi_batch_check_none(fnzi_batch *b, const char *target, const fnz_arg *args,
                                 size_t nargs) {
  fnzi_batch_node v = {.regions = b, .target = target};
  FNZ_TRY(find_levels(&v, args, nargs));
  return v.all ? fnzi_batch_refuse(&v, "has no rule for a batch") : FNZ_OK;
}

fnz_status fnzi_batch_call(fnzi_batch *b, const fnzi_batch_maker *maker, const fnz_op *op,
                           fnz_arg *args) {
  fnzi_batch_node v = {.regions = b, .maker = maker, .target = op->name, .op = op, .args = args};
  FNZ_TRY(find_levels(&v, args, op->nparams));
  fnzi_batch_rule *rule = find_rule(&v);
  if (!v.all && rule != fnzi_batch_random)
    return fnzi_batch_finish(&v, op, args, op->nparams);
  /* Rules compute with sizes, so none may be symbolic. */
  FNZI_EACH_ARG(each, args, op->nparams)
    if (each.arg->tag == FNZ_ARG_SYMBOL ||
        (each.arg->tag == FNZ_ARG_VALUE && fnzi_batch_geometry_of(&v, each.arg)->symbols))
      return fnzi_batch_refuse(&v, "has symbolic sizes");
  if (v.op->kind == FNZI_KIND_INPLACE && fnzi_batch_levels(&v, &v.args[0]) != v.all)
    return fnzi_batch_refuse(&v, "writes a tensor that is the same for the whole batch with values "
                                 "that are not, as PyTorch refuses it");
  return rule ? rule(&v) : fnzi_batch_refuse(&v, "has no rule for a batch");
}

void fnzi_batch_end(fnzi_batch *b) {
  FNZI_VEC_FREE(b->p->ctx, &b->batched);
}
