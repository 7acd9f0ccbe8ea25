/* provenance.c - which node of the source each node of the result comes from, while it is made.
 *
 * needs   the pass's notes, whose nodes are addresses in the source
 * gives   indices of these nodes; the .pt2 data of the source, kept for the result */
#include "program/provenance.h"
#include "program/pt2_metadata.h"

#include <stdlib.h>

/* --- notes ------------------------------------------------------------------------------------ */
void fnzi_notes_clear(fnzi_notes *notes) {
  notes->nodes.count = notes->failures.count = notes->unread.count = notes->first.count = 0;
  notes->guards.count = 0;
}

fnz_status fnzi_notes_restart(fnz_context *ctx, fnzi_notes *notes, uint32_t graph) {
  const size_t none = SIZE_MAX;
  while (notes->first.count <= graph)
    FNZI_PUSH(ctx, &notes->first, none);
  if (notes->first.data[graph] != none) {
    size_t kept = notes->first.data[graph];
    for (size_t i = kept; i < notes->nodes.count; i++) {
      const fnzi_note note = notes->nodes.data[i];
      if (note.graph == graph)
        continue;
      if (notes->first.data[note.graph] == i)
        notes->first.data[note.graph] = kept;
      notes->nodes.data[kept++] = note;
    }
    notes->nodes.count = kept;
  }
  notes->first.data[graph] = notes->nodes.count;
  return FNZ_OK;
}

fnz_status fnzi_notes_arrange(fnz_context *ctx, fnzi_notes *notes, const uint32_t *order,
                              uint32_t count) {
  size_t kept = 0, bytes = notes->first.count * sizeof(uint32_t);
  uint32_t *place = fnzi_resize(ctx, NULL, 0, bytes);
  if (!place && bytes)
    return fnzi_no_memory(ctx);
  for (size_t g = 0; g < notes->first.count; g++)
    place[g] = count;
  for (uint32_t k = 0; k < count; k++)
    if (order[k] < notes->first.count)
      place[order[k]] = k;
  for (size_t i = 0; i < notes->nodes.count; i++) {
    fnzi_note note = notes->nodes.data[i];
    note.graph = place[note.graph];
    if (note.graph < count)
      notes->nodes.data[kept++] = note;
  }
  notes->nodes.count = kept;
  notes->first.count = 0;
  fnzi_free(ctx, place, bytes);
  return FNZ_OK;
}

void fnzi_notes_free(fnz_context *ctx, fnzi_notes *notes) {
  FNZI_VEC_FREE(ctx, &notes->nodes);
  FNZI_VEC_FREE(ctx, &notes->first);
  FNZI_VEC_FREE(ctx, &notes->failures);
  FNZI_VEC_FREE(ctx, &notes->unread);
  FNZI_VEC_FREE(ctx, &notes->guards);
}

static fnz_status push_unread(fnz_context *ctx, fnzi_notes *notes, const fnzi_node *write) {
  FNZI_PUSH(ctx, &notes->unread, write);
  return FNZ_OK;
}

void fnzi_notes_unread(fnz_context *ctx, fnzi_notes *notes, const fnzi_node *write) {
  if (write && notes && notes->lints && push_unread(ctx, notes, write) != FNZ_OK)
    notes->lost = true;
}

/* --- nodes by their addresses ----------------------------------------------------------------- */
/* The address of the first node of a graph. */
typedef struct first_node {
  uintptr_t at;
  uint32_t graph;
} first_node;

static int by_address(const void *a, const void *b) {
  const first_node *x = a, *y = b;
  return x->at < y->at ? -1 : x->at > y->at;
}

fnz_status fnzi_node_finder_make(fnzi_arena *arena, const fnz_program *p, fnzi_node_finder *out) {
  first_node *rows;
  *out = (fnzi_node_finder){.p = p};
  FNZI_NEW(arena, p->graphs.count, &rows);
  FNZI_NEW(arena, p->graphs.count, &out->order);
  for (size_t g = 0; g < p->graphs.count; g++)
    if (p->graphs.data[g].nodes.count)
      rows[out->count++] = (first_node){(uintptr_t)p->graphs.data[g].nodes.data, (uint32_t)g};
  qsort(rows, out->count, sizeof *rows, by_address);
  for (size_t k = 0; k < out->count; k++)
    out->order[k] = rows[k].graph;
  return FNZ_OK;
}

bool fnzi_node_finder_find(const fnzi_node_finder *finder, const fnzi_node *node, size_t *graph,
                           size_t *index) {
  size_t low = 0, high = finder->count;
  *index = SIZE_MAX;
  while (node && low + 1 < high) {
    size_t middle = low + (high - low) / 2;
    bool is_behind = node >= finder->p->graphs.data[finder->order[middle]].nodes.data;
    *(is_behind ? &low : &high) = middle;
  }
  if (!node || !finder->count)
    return false;
  const fnzi_graph *g = &finder->p->graphs.data[finder->order[low]];
  if (node < g->nodes.data || node >= g->nodes.data + g->nodes.count)
    return false;
  *graph = finder->order[low];
  *index = (size_t)(node - g->nodes.data);
  return true;
}

/* --- metadata --------------------------------------------------------------------------------- */
fnz_status fnzi_metadata_keep(const fnz_program *from, const fnzi_notes *notes, fnz_program *to) {
  if (!to || !from->extras || to->extras)
    return FNZ_OK;
  to->extras = fnzi_extras_retain(from->extras);
  to->is_rewritten = true;
  if (!notes)
    return FNZ_OK;
  fnzi_node_finder finder;
  for (size_t i = 0; i < to->graphs.count; i++) {
    fnzi_graph *g = &to->graphs.data[i];
    fnzi_source_node *made;
    FNZI_NEW(&to->arena, g->nodes.count, &made);
    for (size_t n = 0; n < g->nodes.count; n++)
      made[n] = (fnzi_source_node){0, FNZI_NO_NODE};
    g->source_nodes = made;
  }
  FNZ_TRY(fnzi_node_finder_make(&to->arena, from, &finder));
  for (size_t i = 0; i < notes->nodes.count; i++) {
    const fnzi_note *note = &notes->nodes.data[i];
    const fnzi_graph *g = fnzi_graph_at(to, note->graph);
    const fnzi_node *why = note->why.node ? note->why.node : note->why.reader;
    if (note->node >= g->nodes.count)
      continue;
    fnzi_source_node of = {0, FNZI_NO_NODE};
    size_t graph, index;
    if (fnzi_node_finder_find(&finder, why, &graph, &index)) {
      /* If the source is a rewritten program, its nodes map to nodes of an earlier program. */
      const fnzi_source_node *earlier = fnzi_graph_at(from, (uint32_t)graph)->source_nodes;
      if (!from->is_rewritten)
        of = (fnzi_source_node){(uint32_t)graph, (uint32_t)index};
      else if (earlier)
        of = earlier[index];
    }
    ((fnzi_source_node *)(uintptr_t)g->source_nodes)[note->node] = of;
  }
  return FNZ_OK;
}
