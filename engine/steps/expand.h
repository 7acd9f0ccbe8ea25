/* expand.h - a graph whose operators are being taken apart: expand.c has the program, expand_node.c
 * the steps of one node. */
#ifndef FNZI_STP_EXPAND_H
#define FNZI_STP_EXPAND_H

#include "engine/steps/steps.h"
#include "functionalize/decompose/decompose.h"

typedef struct fnzi_stp_expander {
  fnz_context *ctx;
  fnzi_arena *arena, scratch;
  const fnz_backend *kernels;
  fnzi_dcm_wish wish;
  const fnzi_graph *graph;
  struct {
    fnzi_node *data;
    size_t count, capacity;
  } nodes;
  struct {
    uint32_t *data;
    size_t count, capacity;
  } parts;
  struct {
    fnzi_value *data;
    size_t count, capacity;
  } values;
} fnzi_stp_expander;

/* One more node, which is a part of node `part`. */
FNZ_MUST_CHECK static inline fnz_status fnzi_stp_expander_add(fnzi_stp_expander *e, fnzi_node node,
                                                              uint32_t part) {
  FNZI_PUSH(e->ctx, &e->parts, part);
  FNZI_PUSH(e->ctx, &e->nodes, node);
  return FNZ_OK;
}

/* Adds the steps of node n; *done false: it cannot be taken apart. */
FNZ_MUST_CHECK fnz_status fnzi_stp_expand_node(fnzi_stp_expander *e, uint32_t n, bool *done);

#endif
