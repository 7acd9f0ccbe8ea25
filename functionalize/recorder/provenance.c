/* provenance.c - what the result keeps of a .pt2 file, so that it can be written as one again.
 *
 * needs   the answers where each node comes from (provenance.h)
 * gives   the extras of the source, and per node the one whose metadata and device it has */
#include "functionalize/pass/pass.h"
#include "program/pt2_metadata.h"

static fnz_status make_room(fnz_program *to) {
  for (size_t i = 0; i < to->graphs.count; i++) {
    fnzi_graph *g = &to->graphs.data[i];
    fnzi_made_of *made;
    FNZI_NEW(&to->arena, g->nodes.count, &made);
    for (size_t n = 0; n < g->nodes.count; n++)
      made[n] = (fnzi_made_of){0, FNZI_NO_NODE};
    g->made_of = made;
  }
  return FNZ_OK;
}

/* The source may have been made of another program itself. */
static fnzi_made_of source_of(const fnzi_finder *finder, const fnzi_node *node) {
  static const fnzi_made_of unknown = {0, FNZI_NO_NODE};
  const fnz_program *from = finder->p;
  size_t graph, index;
  if (!fnzi_find_node(finder, node, &graph, &index))
    return unknown;
  const fnzi_made_of *earlier = fnzi_graph_at(from, (uint32_t)graph)->made_of;
  if (!from->is_rewritten)
    return (fnzi_made_of){(uint32_t)graph, (uint32_t)index};
  return earlier ? earlier[index] : unknown;
}

fnz_status fnzi_keep_extras(const fnz_program *from, const fnzi_asked *asked, fnz_program *to) {
  if (!to || !from->extras || to->extras)
    return FNZ_OK;
  to->extras = fnzi_extras_retain(from->extras);
  to->is_rewritten = true;
  if (!asked)
    return FNZ_OK;
  fnzi_finder finder;
  FNZ_TRY(make_room(to));
  FNZ_TRY(fnzi_finder_of(&to->arena, from, &finder));
  for (size_t i = 0; i < asked->made.count; i++) {
    const fnzi_made *made = &asked->made.data[i];
    const fnzi_graph *g = fnzi_graph_at(to, made->graph);
    const fnzi_node *why = made->why.node ? made->why.node : made->why.reader;
    if (made->node < g->nodes.count)
      ((fnzi_made_of *)(uintptr_t)g->made_of)[made->node] = source_of(&finder, why);
  }
  return FNZ_OK;
}
