/* region.c - pairs of results and operands of nodes with bodies: a result may have exactly the
 * location of its operand.
 *
 * The body has its own plan, in which such an operand is state and the result its final value.
 * Rules R2 to R4 then write it in place or move it there at the end. So any pair is correct; pairs
 * that save a copy are chosen. */
#include "engine/plan/planner.h"
#include "program/region_ops.h"

typedef struct pairing {
  fnzi_pln_planner *p;
  const fnz_program *bodies;
  const fnzi_hop *hop;
  const fnz_arg **pairs; /* per result */
} pairing;

/* --- What an output of a body is made of ------------------------------------------------------ */
/* Finds the argument whose memory the result would get; NONE if there is none. */
static fnz_status step_back(fnzi_pln_planner *p, const fnzi_node *node, uint32_t *out) {
  const fnzi_pln_fact *fact;
  *out = FNZI_PLN_NONE;
  FNZ_TRY(fnzi_pln_fact_find(p, node->op, &fact));
  switch (fnzi_pln_node_access(p, node, fact)) {
  case FNZI_PLN_ACCESS_SCATTER:
  case FNZI_PLN_ACCESS_BASE:
    *out = fnzi_pln_argument(node, 0);
    return FNZ_OK;
  case FNZI_PLN_ACCESS_POINT:
    *out = fact->elements ? FNZI_PLN_NONE : fnzi_pln_argument(node, 0);
    return FNZ_OK;
  case FNZI_PLN_ACCESS_SAME:
    *out = fnzi_pln_argument(node, fact->argument);
    return FNZ_OK;
  default:
    return FNZ_OK;
  }
}

/* Finds the input of the body from which output j comes; NONE if there is none. */
static fnz_status trace(fnzi_pln_planner *p, const fnzi_graph *body, uint32_t j, uint32_t *out) {
  const fnzi_graph *had = p->graph;
  const fnz_geometry *g = fnzi_pln_tensor(body, &body->outputs[j]);
  uint32_t value = g ? (uint32_t)body->outputs[j].u.value : FNZI_PLN_NONE, node;
  fnz_status status = FNZ_OK;
  p->graph = body;
  while (status == FNZ_OK && value != FNZI_PLN_NONE &&
         fnzi_pln_same_kind(g, body->values.data[value].geometry)) {
    node = body->values.data[value].node;
    if (node == FNZI_NO_NODE)
      break;
    status = step_back(p, &body->nodes.data[node], &value);
  }
  p->graph = had;
  bool came = status == FNZ_OK && value != FNZI_PLN_NONE &&
              fnzi_pln_same_kind(g, body->values.data[value].geometry);
  *out = FNZI_PLN_NONE;
  for (uint32_t k = 0; came && *out == FNZI_PLN_NONE && k < body->ninputs; k++)
    if (body->inputs[k].tag == FNZ_ARG_VALUE && body->inputs[k].u.value == value)
      *out = k;
  return status;
}

/* --- Pairs ------------------------------------------------------------------------------------ */
static void pair(pairing *of, uint32_t j, const fnz_arg *operand) {
  const fnzi_graph *g = of->p->graph;
  if (!fnzi_pln_same_kind(fnzi_pln_tensor(g, operand),
                          fnzi_pln_tensor(g, &of->hop->results.args[j])))
    return;
  for (uint32_t i = 0; i < of->hop->results.count; i++)
    if (of->pairs[i] == operand)
      return;
  of->pairs[j] = operand;
}

static fnz_status pair_node(fnzi_pln_planner *p, uint32_t n) {
  const fnz_error had = p->ctx->error;
  fnzi_hop hop;
  pairing of = {p, p->policy->bodies ? p->policy->bodies : p->program, &hop, NULL};
  if (fnzi_hop_read(p->ctx, of.bodies, &p->graph->nodes.data[n], &hop) != FNZ_OK) {
    p->ctx->error = had; /* the interpreter refuses it */
    return FNZ_OK;
  }
  FNZI_NEW(&p->scratch, hop.results.count, &of.pairs);
  p->pairs[n] = of.pairs;
  switch (hop.kind) {
  case FNZI_HOP_WHILE_LOOP:
  case FNZI_HOP_SCAN:
    for (uint32_t j = 0; j < hop.carried.count && j < hop.results.count; j++)
      pair(&of, j, &hop.carried.args[j]);
    return FNZ_OK;
  case FNZI_HOP_COND:
  case FNZI_HOP_CALL:
    for (uint32_t j = 0; j < hop.results.count; j++)
      for (uint32_t i = 0; i < hop.nbodies && !of.pairs[j]; i++) {
        const fnzi_graph *body = fnzi_graph_at(of.bodies, hop.bodies[i]);
        uint32_t input = FNZI_PLN_NONE;
        if (j < body->noutputs)
          FNZ_TRY(trace(p, body, j, &input));
        if (input < hop.captured.count)
          pair(&of, j, &hop.captured.args[input]);
      }
    return FNZ_OK;
  default:
    return FNZ_OK;
  }
}

fnz_status fnzi_pln_pairs_find(fnzi_pln_planner *p) {
  for (uint32_t n = 0; n < p->graph->nodes.count; n++) {
    if (!fnzi_is_hop(&p->graph->nodes.data[n]))
      continue;
    if (!p->pairs)
      FNZI_NEW(&p->scratch, p->graph->nodes.count, &p->pairs);
    FNZ_TRY(pair_node(p, n));
  }
  return FNZ_OK;
}
