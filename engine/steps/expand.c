/* expand.c - replaces decomposed operators by the operators that compute them, before planning, so
 * that the intermediate values are planned too.
 *
 * needs   a functional program of fixed sizes
 * gives   a program whose operators all have kernels, and for each of its nodes the node that it
 *         comes from; nothing if no operator is decomposed. An operator that cannot be decomposed
 *         here stays, and the interpreter evaluates it
 *
 * Everything that stays is borrowed: nodes, values, arguments. */
#include "engine/steps/expand.h"
#include "kernels/backends.h"
#include "program/region_ops.h"

static bool is_decomposed(const fnz_backend *kernels, const fnzi_node *node) {
  static const fnzi_krn_kernels shapes = {.rows = fnzi_kernel_rows};
  const fnzi_krn_machine *m = kernels ? kernels->self : NULL;
  const fnzi_kernel *row = node->op ? fnzi_kernel_find(&shapes, node->op) : NULL;
  bool is_taken = row && m && m->registered.count && fnzi_krn_registered_for(m, node->op);
  return row && row->run == FNZI_RUN_decomposed && !is_taken;
}

static bool has_recipe(const fnz_backend *kernels, const fnzi_graph *g) {
  for (size_t n = 0; n < g->nodes.count; n++)
    if (is_decomposed(kernels, &g->nodes.data[n]))
      return true;
  return false;
}

/* --- A graph -------------------------------------------------------------------------------------
 */
static fnz_status keep_values(fnzi_stp_expander *e) {
  FNZI_RESERVE(e->ctx, &e->values, e->graph->values.count);
  memcpy(e->values.data, e->graph->values.data, e->graph->values.count * sizeof *e->values.data);
  e->values.count = e->graph->values.count;
  return FNZ_OK;
}

static fnz_status expand_nodes(fnzi_stp_expander *e) {
  FNZ_TRY(keep_values(e));
  for (uint32_t n = 0; n < e->graph->nodes.count; n++) {
    bool done = is_decomposed(e->kernels, &e->graph->nodes.data[n]);
    if (done)
      FNZ_TRY(fnzi_stp_expand_node(e, n, &done));
    fnzi_arena_reset(&e->scratch);
    if (!done)
      FNZ_TRY(fnzi_stp_expander_add(e, e->graph->nodes.data[n], n));
  }
  return FNZ_OK;
}

/* `from` in the arena, with its count. */
#define KEEP(e, from, to)                                                                          \
  do {                                                                                             \
    FNZI_NEW((e)->arena, (from).count, &(to)->data);                                               \
    if ((from).count)                                                                              \
      memcpy((to)->data, (from).data, (from).count * sizeof *(from).data);                         \
    (to)->count = (to)->capacity = (from).count;                                                   \
  } while (0)

static fnz_status keep_graph(fnzi_stp_expander *e, fnzi_graph *to, const uint32_t **parts) {
  uint32_t *kept;
  KEEP(e, e->nodes, &to->nodes);
  KEEP(e, e->values, &to->values);
  FNZI_NEW(e->arena, e->parts.count, &kept);
  if (e->parts.count)
    memcpy(kept, e->parts.data, e->parts.count * sizeof *kept);
  to->source_nodes = NULL;
  *parts = kept;
  return FNZ_OK;
}

static fnz_status expand_graph(fnz_context *ctx, fnzi_arena *arena, const fnz_backend *kernels,
                               fnzi_graph *graph, const uint32_t **parts) {
  const fnz_decompose_options options = FNZ_DECOMPOSE_OPTIONS_INIT;
  fnzi_stp_expander e = {.ctx = ctx, .arena = arena, .kernels = kernels, .graph = graph};
  e.wish = (fnzi_dcm_wish){fnzi_dcm_set_find("runnable"), &options};
  fnzi_arena_init(&e.scratch, ctx);
  fnz_status status = expand_nodes(&e);
  if (status == FNZ_OK)
    status = keep_graph(&e, graph, parts);
  FNZI_VEC_FREE(ctx, &e.nodes);
  FNZI_VEC_FREE(ctx, &e.parts);
  FNZI_VEC_FREE(ctx, &e.values);
  fnzi_arena_free(&e.scratch);
  return status;
}

/* --- The program ---------------------------------------------------------------------------------
 */
/* Returns whether some region is an autocast region. It casts arguments of the operators in its
 * body, and the casts for the steps of a decomposition would differ. */
static bool has_autocast(const fnz_program *p) {
  for (size_t g = 0; g < p->graphs.count; g++)
    for (size_t n = 0; n < p->graphs.data[g].nodes.count; n++) {
      const fnzi_node *node = &p->graphs.data[g].nodes.data[n];
      const uint8_t *roles = node->op ? NULL : fnzi_hop_roles(fnzi_node_target(node));
      if (roles && roles[0] == FNZI_HOP_AUTOCAST_DEVICE)
        return true;
    }
  return false;
}

static fnz_status expand_program(fnz_context *ctx, const fnz_program *p, size_t ngraphs,
                                 const fnz_backend *kernels, fnzi_stp_expansion *out) {
  fnz_program *made;
  fnzi_graph *graphs;
  const uint32_t **parts;
  FNZI_NEW(&out->arena, 1, &made);
  FNZI_NEW(&out->arena, p->graphs.count, &graphs);
  FNZI_NEW(&out->arena, p->graphs.count, &parts);
  memcpy(graphs, p->graphs.data, p->graphs.count * sizeof *graphs);
  for (size_t g = 0; g < ngraphs; g++)
    if (has_recipe(kernels, &graphs[g]))
      FNZ_TRY(expand_graph(ctx, &out->arena, kernels, &graphs[g], &parts[g]));
  *made = *p;
  made->graphs.data = graphs;
  out->program = made;
  out->parts = parts;
  return FNZ_OK;
}

fnz_status fnzi_stp_expand(fnz_context *ctx, const fnz_program *p, const fnz_backend *kernels,
                           fnzi_stp_expansion *out) {
  size_t ngraphs = has_autocast(p) ? 1 : p->graphs.count;
  bool any = false;
  *out = (fnzi_stp_expansion){.program = NULL};
  for (size_t g = 0; g < ngraphs && !any; g++)
    any = has_recipe(kernels, &p->graphs.data[g]);
  if (!any)
    return FNZ_OK;
  fnzi_arena_init(&out->arena, ctx);
  fnz_status status = expand_program(ctx, p, ngraphs, kernels, out);
  if (status != FNZ_OK)
    fnzi_stp_expansion_end(out);
  return status;
}

void fnzi_stp_expansion_end(fnzi_stp_expansion *e) {
  fnzi_arena_free(&e->arena);
  *e = (fnzi_stp_expansion){.program = NULL};
}

uint32_t fnzi_stp_part_of(const uint32_t *const *parts, uint32_t graph, uint32_t node) {
  return parts && parts[graph] ? parts[graph][node] : node;
}

uint32_t fnzi_stp_whole_node(const fnzi_stp_binding *b, uint32_t node) {
  return fnzi_stp_part_of(b->parts, b->graph, b->plan.origins ? b->plan.origins[node] : node);
}

void fnzi_stp_place_of(const fnzi_stp_binding *b, uint32_t node, char out[160]) {
  fnzi_node_place(b->whole, b->graph, fnzi_stp_whole_node(b, node), out);
}
