/* counterpart.c - the node of one program that corresponds to a node of another, by the names of
 * their results.
 *
 * needs   two programs with the same names, such as one made at fixed sizes and the general one
 * gives   notes about the first as notes about the second */
#include "functionalize/explain/explain.h"

/* The first value that a node defines; NULL when it defines none. */
static const fnz_arg *first_result(const fnzi_node *node) {
  FNZI_EACH_ARG(each, node->outputs, node->noutputs)
    if (fnzi_is_reference(each.arg))
      return each.arg;
  return NULL;
}

bool fnzi_expl_counterpart(const fnz_program *from, uint32_t graph, const fnzi_node *node,
                           const fnz_program *to, uint32_t *index) {
  const fnz_arg *result = first_result(node);
  uint64_t value;
  if (!result || graph >= to->graphs.count)
    return false;
  const char *name = fnzi_value_at(from, graph, result->u.value)->name;
  if (!fnzi_value_find(to, graph, name, strlen(name), &value))
    return false;
  *index = fnzi_value_at(to, graph, value)->node;
  return *index != FNZI_NO_NODE;
}

/* The counterpart of a node without results, an assertion: it is as many nodes of the same operator
 * after the last node with results, or after the start. */
static bool find_silent_counterpart(const fnz_program *from, uint32_t graph, size_t at,
                                    const fnz_program *to, uint32_t *index) {
  const fnzi_graph *g = fnzi_graph_at(from, graph);
  const fnz_op *op = g->nodes.data[at].op;
  size_t after = 0;
  bool found = false;
  while (!found && at > 0) {
    after += g->nodes.data[at].op == op;
    found = fnzi_expl_counterpart(from, graph, &g->nodes.data[--at], to, index);
  }
  if (!found) {
    *index = UINT32_MAX;
    after += g->nodes.data[0].op == op;
  }
  for (g = fnzi_graph_at(to, graph); after > 0 && ++*index < g->nodes.count;)
    after -= g->nodes.data[*index].op == op;
  return op && after == 0;
}

static void move_node(const fnzi_node_finder *finder, const fnz_program *from,
                      const fnzi_node **node) {
  const fnz_program *source = finder->p;
  size_t graph, index;
  uint32_t at;
  bool found =
      fnzi_node_finder_find(finder, *node, &graph, &index) &&
      (first_result(*node) ? fnzi_expl_counterpart(source, (uint32_t)graph, *node, from, &at)
                           : find_silent_counterpart(source, (uint32_t)graph, index, from, &at));
  *node = found ? fnzi_node_at(from, (uint32_t)graph, at) : NULL;
}

static void move(fnzi_notes *notes, const fnzi_node_finder *finder, const fnz_program *made,
                 const fnz_program *from, const fnz_program *to) {
  size_t kept = 0;
  for (size_t i = 0; i < notes->nodes.count; i++) {
    fnzi_note m = notes->nodes.data[i];
    if (!fnzi_expl_counterpart(made, m.graph, fnzi_node_at(made, m.graph, m.node), to, &m.node))
      continue;
    move_node(finder, from, &m.why.node);
    move_node(finder, from, &m.why.reader);
    move_node(finder, from, &m.why.view);
    notes->nodes.data[kept++] = m;
  }
  notes->nodes.count = kept;
  kept = 0;
  for (size_t i = 0; i < notes->unread.count; i++) {
    move_node(finder, from, &notes->unread.data[i]);
    if (notes->unread.data[i])
      notes->unread.data[kept++] = notes->unread.data[i];
  }
  notes->unread.count = kept;
  for (size_t i = 0; i < notes->guards.count; i++)
    move_node(finder, from, &notes->guards.data[i].node);
}

fnz_status fnzi_expl_notes_move(fnz_context *ctx, fnzi_notes *notes, const fnz_program *source,
                                const fnz_program *made, const fnz_program *from,
                                const fnz_program *to) {
  fnzi_node_finder finder;
  fnzi_arena arena;
  fnzi_arena_init(&arena, ctx);
  fnz_status status = fnzi_node_finder_make(&arena, source, &finder);
  if (status == FNZ_OK)
    move(notes, &finder, made, from, to);
  fnzi_arena_free(&arena);
  return status;
}
