/* components.c - which values of a graph may share memory, by schema alone.
 *
 * Sharing too much is safe: it only makes more of the order matter. So the result of an operator
 * that may return its argument (reshape, expand_as, dropout) counts as a view of it. */
#include "program/compare/compare.h"
#include "program/signature.h"

/* --- what operators do ------------------------------------------------------------------------ */
bool fnzi_cmp_writes_param(const fnz_op *op, size_t i) {
  if (op->params[i].is_write)
    return true;
  /* Norms update their running statistics, which their schemas do not declare; the forms that
   * return them do not write. */
  if (op->kind != FNZI_KIND_FUNCTIONAL || strncmp(op->params[i].name, "running_", 8) != 0)
    return false;
  for (size_t k = 0; k < op->nreturns; k++)
    if (strncmp(op->returns[k].name, "running_", 8) == 0)
      return false;
  return true;
}

bool fnzi_cmp_op_writes(const fnz_op *op) {
  for (size_t i = 0; i < op->nparams; i++)
    if (fnzi_cmp_writes_param(op, i))
      return true;
  return false;
}

bool fnzi_cmp_has_body(const fnzi_node *node, const bool *which) {
  for (uint32_t k = 0; !node->op && k < node->nargs; k++)
    if (node->args[k].tag == FNZ_ARG_GRAPH && which[node->args[k].u.i])
      return true;
  return false;
}

bool fnzi_cmp_only_views(const fnz_op *op) {
  return op->is_view && op->composite != FNZI_COMPOSITE_IMPLICIT && !fnzi_cmp_op_writes(op);
}

/* --- joining ---------------------------------------------------------------------------------- */
uint32_t fnzi_cmp_component(const fnzi_cmp_memory *m, uint64_t value) {
  uint32_t v = (uint32_t)value;
  while (m->component[v] != v) {
    m->component[v] = m->component[m->component[v]];
    v = m->component[v];
  }
  return v;
}

static void join(fnzi_cmp_memory *m, uint64_t a, uint64_t b) {
  uint32_t x = fnzi_cmp_component(m, a), y = fnzi_cmp_component(m, b);
  m->component[x < y ? y : x] = x < y ? x : y;
}

/* Joins the tensors among the arguments with each other and with *last, which may be NULL. */
static void join_args(fnzi_cmp_memory *m, const fnz_arg *args, uint32_t count,
                      const fnz_arg **last) {
  FNZI_EACH_ARG(each, args, count) {
    if (each.arg->tag != FNZ_ARG_VALUE)
      continue;
    if (*last)
      join(m, (*last)->u.value, each.arg->u.value);
    *last = each.arg;
  }
}

/* Weights that lie in one storage. */
static fnz_status join_weights(fnzi_cmp_numbering *n, const fnz_program *p, fnzi_cmp_memory *m) {
  fnzi_map blobs;
  fnz_status status = FNZ_OK;
  fnzi_map_init(&blobs, n->ctx);
  for (uint32_t k = 0; k < p->graphs.data[0].ninputs && status == FNZ_OK; k++) {
    const fnz_arg *input = &p->graphs.data[0].inputs[k];
    const fnzi_weight *w =
        p->inputs[k].kind != FNZ_INPUT_USER ? fnzi_weight_find(p, p->inputs[k].target) : NULL;
    uint64_t other;
    if (!w || !w->blob || input->tag != FNZ_ARG_VALUE)
      continue;
    if (fnzi_map_get(&blobs, &w->blob, sizeof w->blob, &other))
      join(m, other, input->u.value);
    else
      status = fnzi_map_set(&blobs, &w->blob, sizeof w->blob, input->u.value);
  }
  fnzi_map_free(&blobs);
  return status;
}

/* --- what a component has --------------------------------------------------------------------- */
static void count_roots(fnzi_cmp_memory *m, const fnz_arg *args, uint32_t count) {
  FNZI_EACH_ARG(each, args, count)
    if (each.arg->tag == FNZ_ARG_VALUE)
      m->roots[fnzi_cmp_component(m, each.arg->u.value)]++;
}

static const fnz_geometry *geometry_of(const fnzi_graph *g, const fnz_arg *arg) {
  return arg->tag == FNZ_ARG_VALUE ? g->values.data[arg->u.value].geometry : NULL;
}

/* The result has another geometry than the argument that it is: t_, resize_, out= of other sizes.
 */
static bool changes_geometry(const fnzi_graph *g, const fnzi_node *node) {
  for (uint32_t k = 0; k < node->noutputs; k++) {
    const fnzi_param *p = fnzi_op_returned(node->op, &node->op->returns[k]);
    const fnz_geometry *before = p ? geometry_of(g, &node->args[p - node->op->params]) : NULL;
    const fnz_geometry *after = p ? geometry_of(g, &node->outputs[k]) : NULL;
    if (before && after && !fnzi_geometry_equal(before, after))
      return true;
  }
  return node->op->tags & FNZI_TAG_INPLACE_VIEW;
}

static fnz_status join_all(fnzi_cmp_numbering *n, const fnz_program *p, uint32_t graph,
                           fnzi_cmp_memory *m) {
  const fnzi_graph *g = fnzi_graph_at(p, graph);
  for (size_t i = 0; i < g->nodes.count; i++) {
    const fnzi_node *node = &g->nodes.data[i];
    const fnz_op *op = node->op;
    if (op && !op->is_view && op->composite != FNZI_COMPOSITE_IMPLICIT &&
        !(op->tags & (FNZI_TAG_MAYBE_ALIASING | FNZI_TAG_INPLACE_VIEW))) {
      /* A written argument that is also a result is one tensor. */
      for (uint32_t k = 0; k < node->noutputs; k++) {
        const fnzi_param *param = fnzi_op_returned(op, &op->returns[k]);
        const fnz_arg *first = NULL;
        if (!param)
          continue;
        join_args(m, &node->outputs[k], 1, &first);
        join_args(m, &node->args[param - op->params], 1, &first);
      }
    } else { /* results may lie in the memory of any argument */
      const fnz_arg *last = NULL;
      join_args(m, node->args, node->nargs, &last);
      join_args(m, node->outputs, node->noutputs, &last);
    }
  }
  if (graph)
    return FNZ_OK;
  for (uint32_t k = 0; k < g->ninputs; k++)
    if (p->inputs[k].shares) /* both are tensors */
      join(m, g->inputs[k].u.value, g->inputs[p->inputs[k].shares - 1].u.value);
  return join_weights(n, p, m);
}

fnz_status fnzi_cmp_memory_find(fnzi_cmp_numbering *n, const fnzi_cmp_side *s, uint32_t graph,
                                fnzi_cmp_memory *out) {
  const fnzi_graph *g = fnzi_graph_at(s->p, graph);
  size_t count = g->values.count;
  *out = (fnzi_cmp_memory){.is_tracked = false};
  for (size_t i = 0; i < g->nodes.count && !out->is_tracked; i++) {
    const fnzi_node *node = &g->nodes.data[i];
    bool is_tracked = node->op && (node->op->is_view || fnzi_cmp_op_writes(node->op));
    out->is_tracked = is_tracked || fnzi_cmp_has_body(node, s->writes);
  }
  if (!out->is_tracked)
    return FNZ_OK;
  FNZI_NEW(&n->arena, count, &out->component);
  FNZI_NEW(&n->arena, count, &out->state);
  FNZI_NEW(&n->arena, count, &out->roots);
  FNZI_NEW(&n->arena, count, &out->made);
  FNZI_NEW(&n->arena, count, &out->moves);
  for (size_t v = 0; v < count; v++)
    out->component[v] = (uint32_t)v;
  FNZ_TRY(join_all(n, s->p, graph, out));
  count_roots(out, g->inputs, g->ninputs);
  for (size_t i = 0; i < g->nodes.count; i++) {
    const fnzi_node *node = &g->nodes.data[i];
    for (uint32_t k = 0; k < node->noutputs; k++) {
      bool is_own = !node->op || (!fnzi_cmp_only_views(node->op) &&
                                  !fnzi_op_returned(node->op, &node->op->returns[k]));
      if (is_own)
        count_roots(out, &node->outputs[k], 1);
    }
    if (node->op && fnz_op_is_mutating(node->op) && changes_geometry(g, node))
      FNZI_EACH_ARG(each, node->args, node->nargs)
        if (each.arg->tag == FNZ_ARG_VALUE)
          out->moves[fnzi_cmp_component(out, each.arg->u.value)] = true;
  }
  return FNZ_OK;
}

/* --- what a program leaves behind ------------------------------------------------------------- */
uint32_t fnzi_cmp_state_of(const fnzi_cmp_side *s, uint32_t input) {
  const fnz_arg *arg = &s->p->graphs.data[0].inputs[input];
  if (!s->memory.is_tracked || arg->tag != FNZ_ARG_VALUE)
    return 0;
  return s->memory.state[fnzi_cmp_component(&s->memory, arg->u.value)];
}

fnz_status fnzi_cmp_sharing(fnzi_arena *arena, const fnzi_cmp_side *s, uint32_t **out) {
  /* By component of memory: the first output in it, or the first user input, counted after all
   * outputs; UINT32_MAX for none. */
  uint32_t *outputs, *inputs;
  const fnzi_graph *g = fnzi_graph_main(s->p);
  FNZI_NEW(arena, g->values.count, &outputs);
  FNZI_NEW(arena, g->values.count, &inputs);
  for (size_t i = 0; i < g->values.count; i++)
    outputs[i] = inputs[i] = UINT32_MAX;
  for (uint32_t i = g->noutputs; i-- > 0;)
    if (g->outputs[i].tag == FNZ_ARG_VALUE)
      outputs[fnzi_cmp_component(&s->memory, g->outputs[i].u.value)] = i;
  for (uint32_t i = fnzi_next_user(s->p, 0), place = 0; i < g->ninputs;
       i = fnzi_next_user(s->p, i + 1), place++) {
    uint32_t *first = g->inputs[i].tag == FNZ_ARG_VALUE
                          ? &inputs[fnzi_cmp_component(&s->memory, g->inputs[i].u.value)]
                          : NULL;
    if (first && *first == UINT32_MAX)
      *first = g->noutputs + place;
  }
  /* The first output whose memory output k may share, or an input behind all outputs; k if none. */
  FNZI_NEW(arena, g->noutputs, out);
  for (uint32_t k = 0; k < g->noutputs; k++) {
    (*out)[k] = k;
    if (g->outputs[k].tag != FNZ_ARG_VALUE)
      continue;
    uint32_t own = fnzi_cmp_component(&s->memory, g->outputs[k].u.value);
    if (outputs[own] < k)
      (*out)[k] = outputs[own];
    else if (inputs[own] != UINT32_MAX)
      (*out)[k] = inputs[own];
  }
  return FNZ_OK;
}
