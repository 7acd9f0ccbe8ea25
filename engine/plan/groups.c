/* groups.c - finds nodes that form one step.
 *
 * Nodes are visited in program order. Each starts a step or joins one; steps run in the order in
 * which they were started. A step is a group if more nodes may join it.
 *
 * 1. A pointwise node joins the youngest group that computes one of its operands, if the group is
 *    over the same space and no other operand comes from a later step. The node then runs earlier
 *    than in the program. Next, that group is merged into older groups that compute operands of the
 *    node, if everything it reads exists when those run.
 * 2. A node that can join no group starts one.
 * 3. In both cases, older groups that compute operands of the node are merged into its group if no
 *    other step reads their results. They then run later than in the program, so no step in between
 *    may overwrite their operands.
 *
 * Nodes that compute rows of the space join in the same way, as do nodes over scalars of rows or
 * over rows and such scalars. A node may read values of its own group only in the row that it
 * computes. */
#include "engine/plan/alike.h"
#include "engine/plan/planner.h"
#include "kernels/backends.h"
#include "kernels/meta/point.h"

enum { MOST_MEMBERS = FNZI_PLN_GROUP_NODES, MOST_OPERANDS = FNZI_PLN_GROUP_OPERANDS };

typedef struct group {
  uint32_t into;  /* the group that it was merged into; itself if it was not */
  uint32_t after; /* 1 + the latest step that computes an operand; 0 if all are inputs. Too large if
                     that step was merged into an older one since; never too small */
  uint32_t members, operands;
  const fnz_geometry *space; /* NULL: no node may join this step */
  uint32_t dims;             /* count of the last dimensions of the space, which are a row; 0: it
                                has no rows */
  uint32_t reader;           /* the only step that reads its values; NONE. MANY: several did when
                                they were counted, but they may have become one since */
  uint32_t read;             /* its last operand in `reads`; NONE */
} group;

static const uint32_t MANY = FNZI_PLN_NONE - 1;

/* An operand from outside the group, in a list. */
typedef struct read {
  uint32_t value, next;
} read;

typedef struct grouping {
  fnz_context *ctx;
  const fnzi_graph *graph;
  group *steps;
  uint32_t nsteps;
  uint32_t *producer;   /* per value: the step that computes it; NONE for inputs */
  uint32_t *seen;       /* per value: the last group that counted it as an operand */
  uint32_t *root;       /* per value: the value whose memory it may share */
  bool *points;         /* per node: it is pointwise */
  uint32_t *overwriter; /* per root: the last step that may want to overwrite its memory; NONE */
  struct {
    read *data;
    size_t count, capacity;
  } reads;
  fnzi_pln_kinds kinds;
  fnzi_pln_role *roles; /* per kind */
  bool *role_known;     /* per kind: roles[kind] was found, except its space */
  uint8_t *sharings;    /* per operator: 1 + its sharing; 0: it has not been looked up */
} grouping;

/* Returns the group that the step is part of now. */
static uint32_t groups_find(const grouping *g, uint32_t step) {
  while (g->steps[step].into != step)
    step = g->steps[step].into;
  return step;
}

/* --- Joining ---------------------------------------------------------------------------------- */
/* Returns the span of a value in a group. */
static fnzi_pln_cover span_in(const grouping *g, const group *of, uint32_t value) {
  return fnzi_pln_cover_of(of->space, of->dims, g->graph->values.data[value].geometry);
}

/* Returns whether the member computes elements, rows or scalars of rows of the group's space. */
static bool groups_is_within(const group *to, const fnzi_pln_role *m) {
  if (to->space == NULL || m->kind == FNZI_PLN_ROLE_NONE)
    return false;
  if (m->kind == FNZI_PLN_ROLE_ROW)
    return fnzi_same_sizes(to->space, m->space) && (to->dims == 0 || to->dims == m->dims);
  return fnzi_pln_cover_of(to->space, to->dims, m->space) != FNZI_PLN_COVER_OTHER;
}

/* Returns how many operands of a group the argument can become. A data-dependent scalar may bring
 * the call's other scalars along. */
static uint32_t operands_of(const fnz_arg *arg) {
  return arg->tag == FNZ_ARG_SYMBOL ? FNZI_POINT_OPERANDS - 1 : 1;
}

/* Returns whether the node would read values of the group only in the row that it computes. */
static bool reads_rows(const grouping *g, const fnzi_node *node, const fnzi_pln_role *m,
                       uint32_t step) {
  group to = g->steps[step];
  to.dims = to.dims ? to.dims : m->dims;
  if (to.dims == 0)
    return true;
  fnzi_pln_cover own = fnzi_pln_cover_of(to.space, to.dims, m->space);
  for (uint32_t k = 0; k < node->nargs; k++) {
    uint32_t value = fnzi_pln_argument(node, k);
    if (value == FNZI_PLN_NONE || g->producer[value] == FNZI_PLN_NONE ||
        groups_find(g, g->producer[value]) != step)
      continue;
    fnzi_pln_cover span = span_in(g, &to, value);
    bool spreads = own == FNZI_PLN_COVER_ALL && span == FNZI_PLN_COVER_ROW;
    if (m->kind == FNZI_PLN_ROLE_ROW ? k > 0 : span != own && !spreads)
      return false;
  }
  return true;
}

/* Returns the group that the node joins; NONE if it starts a step. */
static uint32_t group_to_join(const grouping *g, const fnzi_node *node,
                              const fnzi_pln_role *member) {
  uint32_t latest = FNZI_PLN_NONE;   /* the latest step that computes an operand */
  uint32_t joinable = FNZI_PLN_NONE; /* the latest group that the node may join */
  uint32_t operands = 0;             /* the most operands that the node adds to a group */
  FNZI_EACH_ARG(each, node->args, node->nargs) {
    if (!fnzi_is_reference(each.arg))
      continue;
    operands += operands_of(each.arg);
    uint32_t step = g->producer[each.arg->u.value];
    if (step == FNZI_PLN_NONE)
      continue;
    step = groups_find(g, step);
    if (latest == FNZI_PLN_NONE || step > latest)
      latest = step;
    if (groups_is_within(&g->steps[step], member) && (joinable == FNZI_PLN_NONE || step > joinable))
      joinable = step;
  }
  if (joinable == FNZI_PLN_NONE || latest != joinable)
    return FNZI_PLN_NONE;
  const group *to = &g->steps[joinable];
  bool fits = to->members + node->noutputs <= MOST_MEMBERS &&
              to->operands + operands <= MOST_OPERANDS && reads_rows(g, node, member, joinable);
  return fits ? joinable : FNZI_PLN_NONE;
}

/* Records that the step reads the operand, and runs after the step that computes it. */
static fnz_status count_operand(grouping *g, uint32_t step, const fnz_arg *arg) {
  group *to = &g->steps[step];
  uint32_t from = g->producer[arg->u.value];
  from = from == FNZI_PLN_NONE ? from : groups_find(g, from);
  to->operands += arg->tag == FNZ_ARG_SYMBOL ? operands_of(arg) : 0;
  if (from == step || g->seen[arg->u.value] == step)
    return FNZ_OK;
  g->seen[arg->u.value] = step;
  to->operands += arg->tag == FNZ_ARG_VALUE;
  if (from != FNZI_PLN_NONE) {
    uint32_t *reader = &g->steps[from].reader;
    *reader = *reader == FNZI_PLN_NONE || *reader == step ? step : MANY;
  }
  FNZI_PUSH(g->ctx, &g->reads, ((read){(uint32_t)arg->u.value, to->read}));
  to->read = (uint32_t)g->reads.count - 1;
  if (from != FNZI_PLN_NONE && from + 1 > to->after)
    to->after = from + 1;
  return FNZ_OK;
}

static void merge(grouping *g, uint32_t step, uint32_t into) {
  group *from = &g->steps[step], *to = &g->steps[into];
  uint32_t *end = &to->read;
  while (*end != FNZI_PLN_NONE)
    end = &g->reads.data[*end].next;
  *end = from->read;
  from->into = into;
  to->members += from->members;
  to->dims = to->dims ? to->dims : from->dims;
  to->operands += from->operands;
  to->after = 0; /* 1 + the latest step that computes an operand; 0 if all are inputs */
  for (uint32_t r = to->read; r != FNZI_PLN_NONE; r = g->reads.data[r].next) {
    uint32_t by = g->producer[g->reads.data[r].value];
    by = by == FNZI_PLN_NONE ? by : groups_find(g, by);
    if (by != FNZI_PLN_NONE && by != into && by + 1 > to->after)
      to->after = by + 1;
  }
}

/* Returns whether two groups may become one: neither may read a value of the other that is outside
 * its own rows. */
static bool are_alike(const grouping *g, uint32_t a, uint32_t b) {
  const group *x = &g->steps[a], *y = &g->steps[b];
  if (x->space == NULL || y->space == NULL || !fnzi_same_sizes(x->space, y->space) ||
      (x->dims && y->dims && x->dims != y->dims))
    return false;
  const group *rows = x->dims ? x : y;
  for (uint32_t r = y->read; r != FNZI_PLN_NONE && rows->dims; r = g->reads.data[r].next) {
    uint32_t value = g->reads.data[r].value, from = g->producer[value];
    if (from != FNZI_PLN_NONE && groups_find(g, from) == a &&
        span_in(g, rows, value) == FNZI_PLN_COVER_DROPPED)
      return false;
  }
  return true;
}

/* Returns the older group that computes the operand and may be merged with `step`; NONE. */
static uint32_t older_of(const grouping *g, const fnz_arg *arg, uint32_t step) {
  uint32_t old = arg->tag == FNZ_ARG_VALUE ? g->producer[arg->u.value] : FNZI_PLN_NONE;
  if (old == FNZI_PLN_NONE)
    return old;
  old = groups_find(g, old);
  const group *a = &g->steps[old], *b = &g->steps[step];
  bool fits = old < step && are_alike(g, old, step) && a->members + b->members <= MOST_MEMBERS &&
              a->operands + b->operands <= MOST_OPERANDS;
  return fits ? old : FNZI_PLN_NONE;
}

/* Merges the node's group into older groups that compute its operands, if everything that it reads
 * exists when those run. Returns the group that it is part of then. */
static uint32_t merge_into_older(grouping *g, const fnzi_node *node, uint32_t step) {
  FNZI_EACH_ARG(each, node->args, node->nargs) {
    uint32_t old = older_of(g, each.arg, step);
    if (old == FNZI_PLN_NONE || g->steps[step].after > old + 1)
      continue;
    group *to = &g->steps[old];
    merge(g, step, old);
    to->reader = to->reader == step ? g->steps[step].reader : MANY;
    step = old;
  }
  return step;
}

/* Returns whether the older step can run later: nothing between the two steps may overwrite its
 * operands. */
static bool may_wait(const grouping *g, uint32_t old, uint32_t step) {
  for (uint32_t r = g->steps[old].read; r != FNZI_PLN_NONE; r = g->reads.data[r].next) {
    uint32_t by = g->overwriter[g->root[g->reads.data[r].value]];
    by = by == FNZI_PLN_NONE ? by : groups_find(g, by);
    if (by != FNZI_PLN_NONE && by > old && by != step)
      return false;
  }
  return true;
}

/* --- Overwritten memory ----------------------------------------------------------------------- */
/* A pointwise result may be the final value of an input of its size. Records that the step may
 * overwrite such inputs. */
static void note_overwrite(grouping *g, const fnzi_node *node, uint32_t step) {
  FNZI_EACH_ARG(each, node->args, node->nargs) {
    if (each.arg->tag != FNZ_ARG_VALUE)
      continue;
    uint32_t root = g->root[each.arg->u.value];
    const fnz_geometry *of = g->graph->values.data[each.arg->u.value].geometry;
    if (g->producer[root] == FNZI_PLN_NONE && of &&
        fnz_geometry_numel(of) == fnz_geometry_numel(g->steps[step].space))
      g->overwriter[root] = step;
  }
}

/* The memory that a result may share with argument 0. */
typedef enum sharing { SHARES_NOTHING, IS_VIEW, IS_UPDATE } sharing;

static sharing sharing_of(const grouping *g, const fnz_op *op) {
  uint16_t op_index = op ? fnzi_op_place(op) : FNZI_NO_OP;
  if (op_index == FNZI_NO_OP)
    return SHARES_NOTHING;
  if (g->sharings[op_index] == 0) {
    const fnzi_kernel *row = fnzi_kernel_row(op);
    bool views = (row && row->memory == FNZI_MEMORY_VIEW) || fnzi_view_find(op);
    sharing how = row && row->memory == FNZI_MEMORY_BASE ? IS_UPDATE
                  : views                                ? IS_VIEW
                                                         : SHARES_NOTHING;
    g->sharings[op_index] = (uint8_t)(1 + how);
  }
  return (sharing)(g->sharings[op_index] - 1);
}

/* Records that the result of a view or update may be in the memory of its base, and that an update
 * may overwrite it. */
static void note_root(grouping *g, const fnzi_node *node, uint32_t step) {
  sharing how = sharing_of(g, node->op);
  uint32_t base = node->nargs ? fnzi_pln_argument(node, 0) : FNZI_PLN_NONE;
  uint32_t result = node->noutputs ? fnzi_pln_result_of(node) : FNZI_PLN_NONE;
  if (base == FNZI_PLN_NONE || result == FNZI_PLN_NONE || how == SHARES_NOTHING)
    return;
  g->root[result] = g->root[base];
  if (how == IS_UPDATE)
    g->overwriter[g->root[base]] = step;
}

static fnz_status groups_find_role(grouping *g, uint32_t n, fnzi_pln_role *out) {
  const fnzi_node *node = &g->graph->nodes.data[n];
  uint32_t kind = g->kinds.by_node[n];
  if (!g->role_known[kind])
    FNZ_TRY(fnzi_pln_role_find(g->ctx, g->graph, node, &g->roles[kind]));
  g->role_known[kind] = true;
  *out = g->roles[kind];
  if (out->kind != FNZI_PLN_ROLE_NONE)
    out->space = fnzi_pln_role_space(g->graph, node, (fnzi_pln_role_kind)out->kind);
  return FNZ_OK;
}

static fnz_status add_node(grouping *g, uint32_t n, uint32_t *steps) {
  const fnzi_node *node = &g->graph->nodes.data[n];
  fnzi_pln_role member;
  FNZ_TRY(groups_find_role(g, n, &member));
  g->points[n] = member.kind == FNZI_PLN_ROLE_POINT;
  uint32_t old = group_to_join(g, node, &member);
  bool joins = old != FNZI_PLN_NONE;
  uint32_t step = joins ? old : g->nsteps++;
  if (!joins)
    g->steps[step] = (group){.into = step,
                             .space = member.space,
                             .dims = member.dims,
                             .reader = FNZI_PLN_NONE,
                             .read = FNZI_PLN_NONE};
  g->steps[step].dims = joins && member.dims ? member.dims : g->steps[step].dims;
  g->steps[step].members += node->noutputs ? node->noutputs : 1;
  FNZI_EACH_ARG(each, node->args, node->nargs)
    if (fnzi_is_reference(each.arg))
      FNZ_TRY(count_operand(g, step, each.arg));
  if (joins)
    step = merge_into_older(g, node, step);
  if (member.space != NULL) {
    /* Groups that compute the node's operands come in if no other step reads their results. */
    FNZI_EACH_ARG(each, node->args, node->nargs) {
      uint32_t older = older_of(g, each.arg, step);
      if (older != FNZI_PLN_NONE && g->steps[older].reader == step && may_wait(g, older, step))
        merge(g, older, step);
    }
    note_overwrite(g, node, step);
  } else {
    note_root(g, node, step);
  }
  steps[n] = step;
  FNZI_EACH_ARG(each, node->outputs, node->noutputs)
    if (fnzi_is_reference(each.arg))
      g->producer[each.arg->u.value] = step;
  return FNZ_OK;
}

static fnz_status find_steps(grouping *g, fnzi_arena *scratch, uint32_t *steps) {
  size_t nodes = g->graph->nodes.count, values = g->graph->values.count;
  FNZ_TRY(fnzi_pln_kinds_find(g->ctx, scratch, g->graph, &g->kinds));
  FNZI_NEW(scratch, g->kinds.count, &g->roles);
  FNZI_NEW(scratch, g->kinds.count, &g->role_known);
  FNZI_NEW(scratch, fnzi_ops_count, &g->sharings);
  FNZI_NEW(scratch, nodes, &g->steps);
  FNZI_NEW(scratch, values, &g->producer);
  FNZI_NEW(scratch, values, &g->seen);
  FNZI_NEW(scratch, values, &g->root);
  FNZI_NEW(scratch, values, &g->overwriter);
  for (uint32_t v = 0; v < values; v++) {
    g->producer[v] = g->seen[v] = g->overwriter[v] = FNZI_PLN_NONE;
    g->root[v] = v;
  }
  for (uint32_t n = 0; n < nodes; n++)
    FNZ_TRY(add_node(g, n, steps));
  for (uint32_t n = 0; n < nodes; n++)
    steps[n] = groups_find(g, steps[n]);
  return FNZ_OK;
}

fnz_status fnzi_pln_groups_find(fnz_context *ctx, fnzi_arena *scratch, const fnzi_graph *graph,
                                fnzi_pln_order *out) {
  grouping g = {.ctx = ctx, .graph = graph};
  uint32_t *steps;
  FNZI_NEW(scratch, graph->nodes.count, &g.points);
  FNZI_NEW(scratch, graph->nodes.count, &steps);
  const fnz_error had = ctx->error; /* a node that tiles cannot compute is no failure */
  fnz_status status = find_steps(&g, scratch, steps);
  if (status == FNZ_OK)
    ctx->error = had;
  FNZI_VEC_FREE(ctx, &g.reads);
  out->steps = steps;
  out->points = g.points;
  out->kinds = g.kinds;
  return status;
}

fnz_status fnzi_pln_groups_set(fnzi_pln_planner *p) {
  fnzi_pln_order order;
  for (uint32_t n = 0; n < p->end; n++)
    p->nodes[n].first = p->nodes[n].last = n;
  if (p->policy->trivial || p->policy->ungrouped)
    return FNZ_OK;
  order = p->policy->order;
  if (!order.steps)
    FNZ_TRY(fnzi_pln_groups_find(p->ctx, &p->scratch, p->graph, &order));
  for (uint32_t n = 0, end; n < p->end; n = end) {
    for (end = n + 1; end < p->end && order.steps[end] == order.steps[n];)
      end++;
    uint32_t rows = FNZI_PLN_NONE; /* the operand of the first node that computes rows */
    for (uint32_t k = n; end > n + 1 && k < end && rows == FNZI_PLN_NONE; k++)
      rows = order.points[k] ? FNZI_PLN_NONE : fnzi_pln_argument(&p->graph->nodes.data[k], 0);
    uint32_t rank = rows == FNZI_PLN_NONE ? 0 : p->graph->values.data[rows].geometry->rank;
    for (uint32_t k = n; k < end; k++) {
      p->nodes[k].is_point = order.points[k];
      p->nodes[k].first = n;
      p->nodes[k].last = end - 1;
      p->nodes[k].rank = rank;
    }
  }
  return FNZ_OK;
}
