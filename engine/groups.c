/* groups.c - which nodes form one step.
 *
 * In the order of the program a pointwise node joins the youngest group among those that make its
 * operands, when that is over the same space and no other operand comes from a later step. So it
 * runs earlier than it stands, which no operand notices. Then other groups that make its operands
 * take that group in, when they are old enough.
 *
 * Else it opens a group, which takes in those that make its operands and that nothing else reads.
 * They run later than they stand, so nothing in between may want to overwrite what they read.
 */
#include "engine/planner.h"
#include "kernels/backends.h"
#include "kernels/core/float8.h"
#include "kernels/meta/point.h"

enum {
  MOST_MEMBERS = FNZI_ENG_GROUP_NODES,
  MOST_OPERANDS = FNZI_ENG_GROUP_OPERANDS,
  MOST_PARAMETERS = 16 /* of an operator that may be in a group */
};

typedef struct group {
  uint32_t into;  /* the group that took it in; itself */
  uint32_t after; /* 1 + the latest step that an operand comes from; 0 for inputs. It may be too
                     large, where that step joined an older one, never too small */
  uint32_t members, operands;
  const fnz_geometry *space; /* NULL: no group */
  uint32_t reader;           /* the only step that reads its values; NONE, or MANY: then there may
                                be one all the same, of steps that became one */
  uint32_t read;             /* the last one of its operands in `reads`; NONE */
} group;

static const uint32_t MANY = FNZI_ENG_NONE - 1;

/* An operand from outside. */
typedef struct read {
  uint32_t value, next;
} read;

typedef struct grouping {
  fnz_context *ctx;
  const fnzi_graph *graph;
  group *steps;
  uint32_t nsteps;
  uint32_t *of;    /* per value: the step that makes it; NONE for inputs */
  uint32_t *seen;  /* per value: the last group that counted it as an operand */
  uint32_t *root;  /* per value: whose memory it may lie in */
  bool *points;    /* per node: it may be in a group */
  uint32_t *taken; /* per root: the last step that may want to overwrite its memory; NONE */
  struct {
    read *data;
    size_t count, capacity;
  } reads;
} grouping;

static uint32_t find(const grouping *g, uint32_t step) {
  while (g->steps[step].into != step)
    step = g->steps[step].into;
  return step;
}

/* --- Members ------------------------------------------------------------------------------------
 */
static void stand_in(const fnz_geometry *g, fnzi_krn_array *out, fnz_arg *arg) {
  out->geometry = out->place = *g;
  arg->u.value = fnzi_krn_array_handle(out);
}

/* Tensors as arrays without memory; false when something is neither tensor nor plain. */
static bool lower(const grouping *g, const fnzi_node *node, fnzi_krn_array *arrays, fnz_arg *args) {
  for (uint32_t k = 0; k < node->op->nparams; k++) {
    args[k] = fnzi_arg_get(node->op, node->args, node->nargs, k);
    uint8_t tag = args[k].tag;
    if (tag == FNZ_ARG_SYMBOL || tag == FNZ_ARG_TOKEN || tag == FNZ_ARG_OBJECT ||
        tag == FNZ_ARG_GRAPH || tag == FNZ_ARG_LIST)
      return false;
    if (tag != FNZ_ARG_VALUE)
      continue;
    const fnz_geometry *of = g->graph->values.data[args[k].u.value].geometry;
    if (of == NULL || of->is_conj || of->is_neg || of->rank > FNZ_MAX_RANK)
      return false;
    stand_in(of, &arrays[k], &args[k]);
  }
  return true;
}

static const fnz_geometry *result_of(const grouping *g, const fnzi_node *node) {
  bool one = node->noutputs == 1 && node->outputs[0].tag == FNZ_ARG_VALUE;
  return one ? g->graph->values.data[node->outputs[0].u.value].geometry : NULL;
}

/* --- What is no row of point.def ------------------------------------------------------------ */
static bool converts(fnz_dtype to, fnz_dtype from) {
  return fnzi_krn_can_convert(to, from) && !fnzi_krn_is_float8(to) && !fnzi_krn_is_float8(from);
}

/* An operand of which elements are taken as they are, or a number. */
static bool is_taken(const fnz_arg *arg, fnz_dtype dtype) {
  const fnzi_krn_array *a = fnzi_krn_arg_array(arg);
  if (a)
    return converts(dtype, a->place.dtype);
  return (arg->tag == FNZ_ARG_INT || arg->tag == FNZ_ARG_FLOAT || arg->tag == FNZ_ARG_BOOL) &&
         fnzi_meta_point_class(dtype) != FNZ_DTYPE_COUNT;
}

static bool is_mask(const fnz_arg *arg) {
  const fnzi_krn_array *a = fnzi_krn_arg_array(arg);
  return a && a->place.dtype == FNZ_BOOL;
}

/* What the kernel of the row computes, tiles compute as well (tile_make.c), and nothing in it
 * depends on what elements are. */
static bool computes(const fnzi_krn_call *call) {
  fnz_dtype dtype = call->outputs[0]->place.dtype;
  const fnz_arg *args = call->args;
  const fnzi_krn_array *first = fnzi_krn_arg_array(&args[0]);
  switch (call->row->run) {
  case FNZI_RUN_point:
    return fnzi_meta_point_is_plain(call);
  case FNZI_RUN_where:
    return is_mask(&args[0]) && is_taken(&args[1], dtype) && is_taken(&args[2], dtype);
  case FNZI_RUN_masked_fill:
    return is_taken(&args[0], dtype) && is_mask(&args[1]) && is_taken(&args[2], dtype) &&
           !fnzi_krn_arg_array(&args[2]);
  case FNZI_RUN_identity:
    return first && first->place.dtype != dtype && converts(dtype, first->place.dtype) &&
           fnzi_same_sizes(&first->place, &call->outputs[0]->place) &&
           strcmp(call->op->base, "_to_copy") == 0;
  default:
    return false;
  }
}

/* The space of a node that may be in a group; NULL. */
static const fnz_geometry *space_of(const grouping *g, const fnzi_node *node) {
  fnzi_krn_array arrays[MOST_PARAMETERS], result, *outputs[1] = {&result};
  fnz_arg args[MOST_PARAMETERS], none;
  const fnz_geometry *space = result_of(g, node);
  uint16_t place = node->op ? fnzi_op_place(node->op) : FNZI_NO_OP;
  if (place == FNZI_NO_OP || space == NULL || fnz_geometry_numel(space) == 0)
    return NULL;
  const fnzi_kernel *row = &fnzi_kernel_rows[place];
  if (row->shape == NULL || node->op->nparams > MOST_PARAMETERS ||
      (row->memory != FNZI_MEMORY_POINT && row->run != FNZI_RUN_identity) ||
      !lower(g, node, arrays, args))
    return NULL;
  stand_in(space, &result, &none);
  const fnzi_krn_call call = {.ctx = g->ctx,
                              .op = node->op,
                              .args = args,
                              .outputs = outputs,
                              .noutputs = 1,
                              .capacity = 1,
                              .target = FNZ_DTYPE_COUNT,
                              .row = row};
  return computes(&call) ? space : NULL;
}

/* --- Joining ------------------------------------------------------------------------------------
 */
typedef struct look {
  grouping *g;
  const fnz_geometry *space;
  uint32_t latest, youngest; /* steps that operands come from; groups of the space among them */
  uint32_t others;           /* tensors among operands */
} look;

static fnz_status see_operand(void *user, const fnz_arg *arg) {
  look *l = user;
  if (arg->tag != FNZ_ARG_VALUE)
    return FNZ_OK;
  l->others++;
  uint32_t step = l->g->of[arg->u.value];
  if (step == FNZI_ENG_NONE)
    return FNZ_OK;
  step = find(l->g, step);
  if (l->latest == FNZI_ENG_NONE || step > l->latest)
    l->latest = step;
  const fnz_geometry *space = l->g->steps[step].space;
  if (l->space && space && fnzi_same_sizes(space, l->space) &&
      (l->youngest == FNZI_ENG_NONE || step > l->youngest))
    l->youngest = step;
  return FNZ_OK;
}

typedef struct entry {
  grouping *g;
  uint32_t step;
} entry;

static fnz_status count_operand(void *user, const fnz_arg *arg) {
  entry *e = user;
  group *to = &e->g->steps[e->step];
  if (arg->tag != FNZ_ARG_VALUE)
    return FNZ_OK;
  uint32_t from = e->g->of[arg->u.value];
  from = from == FNZI_ENG_NONE ? from : find(e->g, from);
  if (from == e->step || e->g->seen[arg->u.value] == e->step)
    return FNZ_OK;
  e->g->seen[arg->u.value] = e->step;
  to->operands++;
  if (from != FNZI_ENG_NONE) {
    uint32_t *reader = &e->g->steps[from].reader;
    *reader = *reader == FNZI_ENG_NONE || *reader == e->step ? e->step : MANY;
  }
  FNZI_PUSH(e->g->ctx, &e->g->reads, ((read){(uint32_t)arg->u.value, to->read}));
  to->read = (uint32_t)e->g->reads.count - 1;
  if (from != FNZI_ENG_NONE && from + 1 > to->after)
    to->after = from + 1;
  return FNZ_OK;
}

static fnz_status enter(grouping *g, const fnzi_node *node, uint32_t step) {
  entry e = {g, step};
  g->steps[step].members++;
  return fnzi_args_visit(node->args, node->nargs, count_operand, &e);
}

/* 1 + the latest step that an operand comes from. Groups read few values. */
static uint32_t after_reads(const grouping *g, uint32_t step) {
  uint32_t after = 0;
  for (uint32_t r = g->steps[step].read; r != FNZI_ENG_NONE; r = g->reads.data[r].next) {
    uint32_t from = g->of[g->reads.data[r].value];
    from = from == FNZI_ENG_NONE ? from : find(g, from);
    if (from != FNZI_ENG_NONE && from != step && from + 1 > after)
      after = from + 1;
  }
  return after;
}

static void merge(grouping *g, uint32_t step, uint32_t into) {
  group *from = &g->steps[step], *to = &g->steps[into];
  uint32_t *end = &to->read;
  while (*end != FNZI_ENG_NONE)
    end = &g->reads.data[*end].next;
  *end = from->read;
  from->into = into;
  to->members += from->members;
  to->operands += from->operands;
  to->after = after_reads(g, into);
}

/* An older group takes in the step of the node: all that the step reads is there when it runs. */
static fnz_status take_in(void *user, const fnz_arg *arg) {
  entry *e = user;
  uint32_t old = arg->tag == FNZ_ARG_VALUE ? e->g->of[arg->u.value] : FNZI_ENG_NONE;
  if (old == FNZI_ENG_NONE)
    return FNZ_OK;
  old = find(e->g, old);
  group *to = &e->g->steps[old], *from = &e->g->steps[e->step];
  if (old >= e->step || to->space == NULL || !fnzi_same_sizes(to->space, from->space) ||
      from->after > old + 1 || to->members + from->members > MOST_MEMBERS ||
      to->operands + from->operands > MOST_OPERANDS)
    return FNZ_OK;
  merge(e->g, e->step, old);
  to->reader = to->reader == e->step ? from->reader : MANY;
  e->step = old;
  return FNZ_OK;
}

static uint32_t new_step(grouping *g, const fnz_geometry *space) {
  g->steps[g->nsteps] =
      (group){.into = g->nsteps, .space = space, .reader = FNZI_ENG_NONE, .read = FNZI_ENG_NONE};
  return g->nsteps++;
}

/* Between the two steps nothing may overwrite what the older one reads. */
static bool may_wait(const grouping *g, uint32_t old, uint32_t step) {
  for (uint32_t r = g->steps[old].read; r != FNZI_ENG_NONE; r = g->reads.data[r].next) {
    uint32_t taken = g->taken[g->root[g->reads.data[r].value]];
    taken = taken == FNZI_ENG_NONE ? taken : find(g, taken);
    if (taken != FNZI_ENG_NONE && taken > old && taken != step)
      return false;
  }
  return true;
}

/* A new group takes in the older one that makes an operand. */
static fnz_status wait_for(void *user, const fnz_arg *arg) {
  entry *e = user;
  uint32_t old = arg->tag == FNZ_ARG_VALUE ? e->g->of[arg->u.value] : FNZI_ENG_NONE;
  if (old == FNZI_ENG_NONE)
    return FNZ_OK;
  old = find(e->g, old);
  group *from = &e->g->steps[old], *to = &e->g->steps[e->step];
  if (old >= e->step || from->space == NULL || from->reader != e->step ||
      !fnzi_same_sizes(to->space, from->space) || to->members + from->members > MOST_MEMBERS ||
      to->operands + from->operands > MOST_OPERANDS || !may_wait(e->g, old, e->step))
    return FNZ_OK;
  merge(e->g, old, e->step);
  return FNZ_OK;
}

/* --- Who overwrites what ------------------------------------------------------------------------
 */
/* A pointwise result may be the final value of an input of its size. What is temporary it need not
 * overwrite. */
static fnz_status note_take(void *user, const fnz_arg *arg) {
  const entry *e = user;
  const grouping *g = e->g;
  if (arg->tag != FNZ_ARG_VALUE)
    return FNZ_OK;
  uint32_t root = g->root[arg->u.value];
  const fnz_geometry *of = g->graph->values.data[arg->u.value].geometry;
  if (g->of[root] == FNZI_ENG_NONE && of &&
      fnz_geometry_numel(of) == fnz_geometry_numel(g->steps[e->step].space))
    g->taken[root] = e->step;
  return FNZ_OK;
}

/* Results of views and updates may lie in the memory of their base. */
static void note_root(grouping *g, const fnzi_node *node, uint32_t step) {
  uint16_t place = node->op ? fnzi_op_place(node->op) : FNZI_NO_OP;
  const fnzi_kernel *row = place == FNZI_NO_OP ? NULL : &fnzi_kernel_rows[place];
  uint32_t base = node->nargs ? fnzi_eng_argument(node, 0) : FNZI_ENG_NONE;
  uint32_t result = node->noutputs ? fnzi_eng_result_of(node) : FNZI_ENG_NONE;
  bool updates = row && row->shape && row->memory == FNZI_MEMORY_BASE;
  bool views = row && ((row->shape && row->memory == FNZI_MEMORY_VIEW) || fnzi_view_find(node->op));
  if (base == FNZI_ENG_NONE || result == FNZI_ENG_NONE || !(views || updates))
    return;
  g->root[result] = g->root[base];
  if (updates)
    g->taken[g->root[base]] = step;
}

static fnz_status note_result(void *user, const fnz_arg *arg) {
  entry *e = user;
  if (arg->tag == FNZ_ARG_VALUE)
    e->g->of[arg->u.value] = e->step;
  return FNZ_OK;
}

static fnz_status add_node(grouping *g, uint32_t n, uint32_t *steps) {
  const fnzi_node *node = &g->graph->nodes.data[n];
  look l = {g, space_of(g, node), FNZI_ENG_NONE, FNZI_ENG_NONE, 0};
  FNZ_TRY(fnzi_args_visit(node->args, node->nargs, see_operand, &l));
  g->points[n] = l.space != NULL;
  bool joins = l.youngest != FNZI_ENG_NONE && l.latest == l.youngest &&
               g->steps[l.youngest].members < MOST_MEMBERS &&
               g->steps[l.youngest].operands + l.others <= MOST_OPERANDS;
  entry e = {g, joins ? l.youngest : new_step(g, l.space)};
  FNZ_TRY(enter(g, node, e.step));
  if (joins)
    FNZ_TRY(fnzi_args_visit(node->args, node->nargs, take_in, &e));
  if (l.space != NULL) {
    FNZ_TRY(fnzi_args_visit(node->args, node->nargs, wait_for, &e));
    FNZ_TRY(fnzi_args_visit(node->args, node->nargs, note_take, &e));
  } else {
    note_root(g, node, e.step);
  }
  steps[n] = e.step;
  return fnzi_args_visit(node->outputs, node->noutputs, note_result, &e);
}

static fnz_status find_steps(grouping *g, fnzi_arena *scratch, uint32_t *steps) {
  size_t nodes = g->graph->nodes.count, values = g->graph->values.count;
  FNZI_NEW(scratch, nodes, &g->steps);
  FNZI_NEW(scratch, values, &g->of);
  FNZI_NEW(scratch, values, &g->seen);
  FNZI_NEW(scratch, values, &g->root);
  FNZI_NEW(scratch, values, &g->taken);
  for (uint32_t v = 0; v < values; v++) {
    g->of[v] = g->seen[v] = g->taken[v] = FNZI_ENG_NONE;
    g->root[v] = v;
  }
  for (uint32_t n = 0; n < nodes; n++)
    FNZ_TRY(add_node(g, n, steps));
  for (uint32_t n = 0; n < nodes; n++)
    steps[n] = find(g, steps[n]);
  return FNZ_OK;
}

fnz_status fnzi_eng_groups_find(fnz_context *ctx, fnzi_arena *scratch, const fnzi_graph *graph,
                                uint32_t **steps, bool **points) {
  grouping g = {.ctx = ctx, .graph = graph};
  FNZI_NEW(scratch, graph->nodes.count, points);
  g.points = *points;
  FNZI_NEW(scratch, graph->nodes.count, steps);
  const fnz_error had = ctx->error; /* what tiles do not compute is no failure */
  fnz_status status = find_steps(&g, scratch, *steps);
  if (status == FNZ_OK)
    ctx->error = had;
  FNZI_VEC_FREE(ctx, &g.reads);
  return status;
}

static fnz_status find_order(fnzi_eng_planner *p, fnzi_eng_order *out) {
  uint32_t *steps;
  bool *points;
  *out = p->policy->order;
  if (out->steps != NULL)
    return FNZ_OK;
  FNZ_TRY(fnzi_eng_groups_find(p->ctx, &p->scratch, p->graph, &steps, &points));
  out->steps = steps;
  out->points = points;
  return FNZ_OK;
}

fnz_status fnzi_eng_groups_take(fnzi_eng_planner *p) {
  fnzi_eng_order order;
  for (uint32_t n = 0; n < p->end; n++)
    p->nodes[n].first = p->nodes[n].last = n;
  if (p->policy->trivial || p->policy->ungrouped)
    return FNZ_OK;
  FNZ_TRY(find_order(p, &order));
  for (uint32_t n = 0, end; n < p->end; n = end) {
    for (end = n + 1; end < p->end && order.steps[end] == order.steps[n];)
      end++;
    for (uint32_t k = n; k < end; k++) {
      p->nodes[k].is_point = order.points[k];
      p->nodes[k].first = n;
      p->nodes[k].last = end - 1;
    }
  }
  return FNZ_OK;
}
