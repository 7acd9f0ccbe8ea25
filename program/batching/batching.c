/* batching.c - regions of torch.vmap: where they begin and end, and who rewrites what lies between.
 *
 * Needs: that a graph is read from its first node to its last.
 * Keeps: order; operators none of whose tensors has a batch dimension stay as they are.
 * Gives: operators on tensors with all their dimensions, and no trace of the regions.
 *
 * Which dimension a level has is always known: those of all levels stand in front, so that two
 * tensors of the same levels need nothing but the operator's own rule (batching.def). */
#include "program/batching/batching.h"

static const char module[] = "torch._functorch.predispatch.";

/* In the mark of a value: its region has ended. */
#define ESCAPED (1u << 31)

bool fnzi_pt2_is_vmap(const char *target) {
  return strncmp(target, module, sizeof module - 1) == 0;
}

static fnz_status fail(const fnzi_vmap *v, fnz_class kind, const char *what) {
  return fnzi_json_fail(&v->make.s->r->doc, kind, v->make.json, "%s: %s",
                        fnzi_node_target(v->make.like), what);
}

/* --- Marks ------------------------------------------------------------------------------------ */

static fnz_status begin(fnzi_vmap *v) {
  fnzi_pt2_scope *s = v->make.s;
  const fnz_arg *size = &v->args[0], *random = &v->args[1];
  if (size->tag != FNZ_ARG_INT || size->u.i < 0)
    return fail(v, FNZ_CLASS_UNSUPPORTED,
                "the batch size is not fixed; export with fixed sizes, or write the batch "
                "dimension out");
  if (s->nlevels == FNZI_MOST_LEVELS)
    return fail(v, FNZ_CLASS_LIMIT, "too many regions are nested");
  bool has_word = random->tag == FNZ_ARG_STRING;
  s->levels[s->nlevels++] =
      (fnzi_pt2_level){.size = size->u.i,
                       .is_random = has_word && strcmp(random->u.s, "different") == 0,
                       .may_draw = has_word && strcmp(random->u.s, "error") != 0,
                       .first = fnzi_graph_at(s->r->p, s->graph)->values.count};
  return FNZ_OK;
}

static fnz_status end(fnzi_vmap *v) {
  fnzi_pt2_scope *s = v->make.s;
  if (!s->nlevels)
    return fail(v, FNZ_CLASS_REF, "no region is open");
  uint32_t k = --s->nlevels;
  for (size_t i = s->levels[k].first; i < s->batched.count; i++)
    if (s->batched.data[i] >> k & 1)
      s->batched.data[i] |= ESCAPED;
  return FNZ_OK;
}

/* The level that args[at] names, counted from 1, must be the innermost. */
static fnz_status read_level(const fnzi_vmap *v, size_t at, uint32_t *out) {
  uint32_t depth = v->make.s->nlevels;
  const fnz_arg *level = &v->args[at];
  if (!depth || level->tag != FNZ_ARG_INT || level->u.i != (int64_t)depth)
    return fail(v, FNZ_CLASS_REF, "its level is not that of the innermost region");
  *out = depth - 1;
  return FNZ_OK;
}

static fnz_status read_tensor(const fnzi_vmap *v) {
  if (v->args[0].tag != FNZ_ARG_VALUE)
    return fail(v, FNZ_CLASS_TYPE, "its first argument must be a tensor");
  if (fnzi_vmap_looks(v, &v->args[0])->symbols)
    return fail(v, FNZ_CLASS_UNSUPPORTED, "the tensor has symbolic sizes; export with fixed ones");
  return FNZ_OK;
}

static fnz_status read_dim(const fnzi_vmap *v, size_t at, uint32_t rank, uint32_t *out) {
  if (v->args[at].tag != FNZ_ARG_INT)
    return fail(v, FNZ_CLASS_TYPE, "a dimension must be an integer");
  return fnzi_json_at(&v->make.s->r->doc,
                      fnzi_wrap_dim(v->make.s->r->doc.ctx, fnzi_node_target(v->make.like),
                                    v->args[at].u.i, rank, out),
                      v->make.json);
}

/* One dimension of the tensor goes elsewhere; the result is the file's. */
static fnz_status move(fnzi_vmap *v, uint32_t levels, uint32_t from, uint32_t to) {
  fnz_arg args[2] = {v->args[0]};
  v->all = levels;
  if (from == to)
    return fnzi_vmap_give(v, v->args[0]);
  FNZ_TRY(fnzi_vmap_order(v, fnzi_vmap_looks(v, &v->args[0])->rank, from, 1, to, &args[1]));
  return fnzi_vmap_call_named(v, "permute", args, 2);
}

/* _add_batch_dim(tensor, dim, level) */
static fnz_status add_dim(fnzi_vmap *v) {
  uint32_t level = 0, dim = 0;
  FNZ_TRY(read_tensor(v));
  FNZ_TRY(read_level(v, 2, &level));
  uint32_t has = fnzi_vmap_levels(v, &v->args[0]), front = fnzi_vmap_bits(has);
  uint32_t rank = fnzi_vmap_rank(v, &v->args[0]);
  FNZ_TRY(read_dim(v, 1, rank, &dim));
  bool fits = rank && !(has >> level & 1) &&
              fnzi_vmap_looks(v, &v->args[0])->sizes[front + dim] == v->make.s->levels[level].size;
  if (!fits)
    return fail(v, FNZ_CLASS_BOUNDS, "the dimension is not as long as the region's batch");
  return move(v, has | 1u << level, front + dim, front);
}

/* The tensor does not depend on the level: all elements of the batch are the same. */
static fnz_status repeat(fnzi_vmap *v, uint32_t levels, uint32_t at, int64_t size) {
  int64_t sizes[FNZ_MAX_RANK];
  fnz_arg args[2] = {v->args[0]};
  v->all = levels;
  FNZ_TRY(fnzi_vmap_unsqueeze(v, &args[0], at));
  const fnz_geometry *g = fnzi_vmap_looks(v, &args[0]);
  memcpy(sizes, g->sizes, g->rank * sizeof *sizes);
  sizes[at] = size;
  FNZ_TRY(fnzi_pt2_int_list(v->make.s->r, sizes, g->rank, &args[1]));
  return fnzi_vmap_call_named(v, "expand", args, 2);
}

/* _remove_batch_dim(tensor, level, size, dim) */
static fnz_status remove_dim(fnzi_vmap *v) {
  uint32_t level = 0, dim = 0;
  FNZ_TRY(read_tensor(v));
  FNZ_TRY(read_level(v, 1, &level));
  uint32_t has = fnzi_vmap_levels(v, &v->args[0]), left = has & ~(1u << level);
  FNZ_TRY(read_dim(v, 3, fnzi_vmap_rank(v, &v->args[0]) + 1, &dim));
  uint32_t front = fnzi_vmap_bits(left);
  if (left == has)
    return repeat(v, left, front + dim, v->make.s->levels[level].size);
  return move(v, left, front, front + dim);
}

static fnz_status nothing(fnzi_vmap *v) {
  (void)v;
  return FNZ_OK;
}

static const struct {
  const char *name;
  uint32_t nargs;
  fnzi_vmap_rule *rule;
} marks[] = {
    {"_add_batch_dim", 3, add_dim},           {"_remove_batch_dim", 4, remove_dim},
    {"_vmap_decrement_nesting", 0, end},      {"_vmap_increment_nesting", 2, begin},
    {"lazy_load_decompositions", 0, nothing},
};

static bool has_ended(const fnzi_vmap *v) {
  return v->all & ESCAPED;
}

static fnz_status read_mark_args(fnzi_vmap *v, const fnzi_json *inputs) {
  fnzi_pt2_scope *s = v->make.s;
  fnz_arg *next;
  FNZI_NEW(s->r->arena, inputs->count, &v->args);
  next = v->args;
  s->op = NULL;
  for (const fnzi_json *input = inputs->u.first; input; input = input->next, next++) {
    const fnzi_json *arg;
    FNZ_TRY(fnzi_json_need(&s->r->doc, input, "arg", FNZI_JSON_OBJECT, &arg));
    FNZ_TRY(fnzi_pt2_read_arg(s, arg, next));
    v->all |= fnzi_vmap_levels(v, next);
  }
  return has_ended(v) ? fail(v, FNZ_CLASS_REF, "a tensor is used after its region") : FNZ_OK;
}

fnz_status fnzi_pt2_vmap_mark(fnzi_pt2_scope *s, const fnzi_json *json, const fnzi_json *inputs,
                              const fnzi_json *outputs, const fnzi_node *node) {
  fnzi_vmap v = {.make = {.s = s, .json = json, .like = node, .stem = "vmap"}, .outputs = outputs};
  const char *name = fnzi_node_target(node) + sizeof module - 1;
  for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
    if (strcmp(marks[i].name, name) != 0)
      continue;
    if (inputs->count != marks[i].nargs)
      return fail(&v, FNZ_CLASS_TYPE, "it has another number of arguments");
    FNZ_TRY(read_mark_args(&v, inputs));
    return marks[i].rule(&v);
  }
  return fail(&v, FNZ_CLASS_UNSUPPORTED,
              "of torch.func only vmap is read; export the program without forward-mode AD");
}

/* --- Operators -------------------------------------------------------------------------------- */

static const struct {
  const char *op;
  fnzi_vmap_rule *rule;
  const char *other;
} rows[] = {
#define VMAP(op, rule, other) {op, fnzi_vmap_##rule, other},
#define RULE(rule)
#include "program/batching/batching.def"
#undef VMAP
#undef RULE
};

static fnzi_vmap_rule *find_row(fnzi_vmap *v, const char *name) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (strcmp(rows[i].op, name) == 0) {
      v->other = rows[i].other;
      return rows[i].rule;
    }
  return NULL;
}

/* Dropout does not while it keeps everything. */
static bool draws(const fnzi_vmap *v) {
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

/* An in-place operator goes by its functional twin where it has one, an in-place view by its view.
 */
static fnzi_vmap_rule *find_rule(fnzi_vmap *v) {
  const fnz_op *op = v->op;
  if (op->kind == FNZI_KIND_INPLACE)
    op = op->view_of != FNZI_NO_OP ? fnzi_op_by_index(op->view_of) : fnz_op_functional_twin(op);
  if (!op)
    return find_row(v, v->op->name);
  if (op->kind != FNZI_KIND_FUNCTIONAL)
    return NULL;
  if (op->tags & FNZI_TAG_RANDOM && draws(v))
    return fnzi_vmap_random;
  fnzi_vmap_rule *rule = find_row(v, op->name);
  return rule || !fnzi_op_is_elementwise(op) ? rule : fnzi_vmap_pointwise;
}

static fnz_status check_written(const fnzi_vmap *v) {
  if (v->op->kind == FNZI_KIND_INPLACE && fnzi_vmap_levels(v, &v->args[0]) != v->all)
    return fnzi_vmap_refuse(v, "writes a tensor that is the same for the whole batch with values "
                               "that are not, as PyTorch refuses it");
  return FNZ_OK;
}

/* Sizes that nobody knows are not moved about. */
static fnz_status check_sizes(const fnzi_vmap *v, const fnz_arg *args, size_t nargs) {
  fnzi_walk walk;
  fnzi_walk_start(&walk, args, nargs);
  for (fnzi_step step; (step = fnzi_walk_next(&walk)) != FNZI_STEP_END;)
    if (step == FNZI_STEP_TOO_DEEP ||
        (step == FNZI_STEP_ITEM && walk.arg->tag == FNZ_ARG_VALUE &&
         fnzi_vmap_looks(v, walk.arg)->symbols) ||
        (step == FNZI_STEP_ITEM && walk.arg->tag == FNZ_ARG_SYMBOL))
      return fnzi_vmap_refuse(v, "has symbolic sizes");
  return FNZ_OK;
}

static fnz_status find_levels(fnzi_vmap *v, const fnz_arg *args, size_t nargs) {
  for (size_t i = 0; i < nargs; i++)
    v->all |= fnzi_vmap_levels(v, &args[i]);
  v->count = fnzi_vmap_bits(v->all);
  return has_ended(v) ? fnzi_vmap_refuse(v, "uses a tensor after its region") : FNZ_OK;
}

fnz_status fnzi_pt2_vmap_none(fnzi_pt2_scope *s, const fnzi_json *json, const fnzi_node *node,
                              const fnz_arg *args, size_t nargs) {
  fnzi_vmap v = {.make = {.s = s, .json = json, .like = node}};
  FNZ_TRY(find_levels(&v, args, nargs));
  return v.all ? fnzi_vmap_refuse(&v, "has no rule for a batch") : FNZ_OK;
}

fnz_status fnzi_pt2_vmap_node(fnzi_pt2_scope *s, const fnzi_json *json, const fnzi_json *outputs,
                              const fnzi_node *node, fnz_arg *args) {
  fnzi_vmap v = {.make = {.s = s, .json = json, .like = node, .stem = node->op->base},
                 .op = node->op,
                 .args = args,
                 .outputs = outputs};
  FNZ_TRY(find_levels(&v, args, v.op->nparams));
  fnzi_vmap_rule *rule = find_rule(&v);
  if (!v.all && rule != fnzi_vmap_random)
    return fnzi_vmap_call(&v, v.op, args, v.op->nparams);
  FNZ_TRY(check_sizes(&v, args, v.op->nparams));
  FNZ_TRY(check_written(&v));
  return rule ? rule(&v) : fnzi_vmap_refuse(&v, "has no rule for a batch");
}
