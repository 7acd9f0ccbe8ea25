/* passes.c - one pass on top of another: a node with bodies waits while these are made.
 *
 * needs   graph 0 with its inputs
 * keeps   at most FNZI_MAX_NESTING passes at once; no recursion
 * gives   the target program, its graphs in the order of the source's */
#include "functionalize/pass/regions/regions.h"

fnz_status fnzi_pass_push(fnzi_passes *all, uint32_t graph, fnzi_pass **out) {
  *out = NULL;
  if (all->depth == FNZI_MAX_NESTING)
    return fnzi_fail(all->ctx, FNZ_CLASS_LIMIT, NULL, "graphs are nested more than %d deep",
                     FNZI_MAX_NESTING);
  fnzi_pass *p = fnzi_resize(all->ctx, NULL, 0, sizeof *p);
  if (!p)
    return fnzi_no_memory(all->ctx);
  *p = (fnzi_pass){.ctx = all->ctx,
                   .from = all->from,
                   .graph = fnzi_graph_at(all->from, graph),
                   .index = graph,
                   .recorder = all->top->recorder,
                   .world = all->top->world,
                   .to = all->to,
                   .into = all->top->into,
                   .all = all,
                   .below = all->top};
  fnzi_arena_init(&p->arena, all->ctx);
  fnzi_arena_init(&p->lives, all->ctx);
  all->top = p;
  all->depth++;
  *out = p;
  return fnzi_pass_prepare(p);
}

void fnzi_pass_pop(fnzi_passes *all) {
  fnzi_pass *p = all->top;
  for (size_t i = 0; p->inlined && p->tensors && i < p->graph->values.count; i++)
    fnz_tensor_release(p->tensors[i]);
  fnzi_pass_replayed(p);
  fnzi_pass_inputs_end(p);
  if (p->owns_world) {
    fnz_world_destroy(p->world);
    if (p->recorder)
      fnz_backend_destroy(p->recorder);
  }
  fnzi_arena_free(&p->lives);
  fnzi_arena_free(&p->arena);
  all->top = p->below;
  all->depth--;
  fnzi_free(all->ctx, p, sizeof *p);
}

static fnz_status finish(fnzi_passes *all) {
  fnzi_pass *p = all->top;
  fnz_status status = p->inlined ? fnzi_region_inlined(p) : fnzi_body_finish(p);
  if (status != FNZ_OK)
    status = fnzi_at(all->ctx, status, "results of graph %s", p->graph->name);
  fnzi_pass_pop(all);
  return status;
}

/* Until all nodes of the lowest pass are replayed. */
static fnz_status replay(fnzi_passes *all) {
  fnz_status status = FNZ_OK;
  while (status == FNZ_OK) {
    fnzi_pass *p = all->top;
    if (p->at < p->graph->nodes.count)
      status = fnzi_pass_step(p);
    else if (p->below)
      status = finish(all);
    else
      break;
  }
  while (all->top->below)
    fnzi_pass_pop(all);
  return status;
}

/* Some view of the node counts from the storage, or one in its bodies. */
static bool counts(const fnzi_passes *all, const fnzi_node *node) {
  const fnzi_view *view = node->op ? fnzi_route_find(node->op).view : NULL;
  for (uint32_t i = 0; !node->op && i < node->nargs; i++)
    if (node->args[i].tag == FNZ_ARG_GRAPH && all->counts_from_storage[node->args[i].u.i])
      return true;
  return view && fnzi_view_counts_from_storage(view);
}

/* References go to later graphs. */
static fnz_status find_counting(fnzi_passes *all) {
  const fnz_program *from = all->from;
  FNZI_NEW(&all->arena, from->graphs.count, &all->bodies);
  FNZI_NEW(&all->arena, from->graphs.count, &all->counts_from_storage);
  for (size_t g = from->graphs.count; g-- > 0 && from->graphs.count > 1;)
    for (size_t n = 0; n < from->graphs.data[g].nodes.count; n++) {
      const fnzi_node *node = &from->graphs.data[g].nodes.data[n];
      all->counts_from_storage[g] |= counts(all, node);
      all->writes |= node->op && fnz_op_is_mutating(node->op);
    }
  return FNZ_OK;
}

static fnz_status run(fnzi_passes *all, fnzi_pass *p) {
  FNZ_TRY(find_counting(all));
  FNZ_TRY(replay(all));
  fnzi_pass_replayed(p);
  FNZ_TRY(fnzi_pass_outputs(p));
  return p->again ? FNZ_OK : fnzi_bodies_arrange(all);
}

fnz_status fnzi_passes_run(fnzi_pass *p) {
  fnzi_passes all = {
      .ctx = p->ctx, .from = p->from, .to = p->to, .views = p->world->views, .top = p};
  fnzi_arena_init(&all.arena, p->ctx);
  p->all = &all;
  fnz_status status = run(&all, p);
  p->all = NULL;
  fnzi_arena_free(&all.arena);
  return status;
}
