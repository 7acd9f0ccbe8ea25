/* bind_bodies.c - bodies as bindings within a binding, the innermost filled first.
 *
 * needs   the plans of bodies (bodies.h)
 * gives   a binding per body. If the interpreter evaluates something in a region, it evaluates the
 *         whole region */
#include "engine/bind/bind.h"

/* Finds the inputs of a body that are weights of the executable, unchanged. */
static fnz_status find_weights(fnzi_stp_binding *b, const fnzi_stp_binding *owner,
                               const fnzi_pln_region *r) {
  uint32_t count = fnzi_graph_main(b->program)->ninputs, *weights;
  FNZI_NEW(&b->arena, count, &weights);
  b->weights = weights;
  for (uint32_t k = 0; k < count; k++) {
    bool sliced;
    const fnz_arg *operand = fnzi_hop_operand(&r->hop, k, &sliced);
    const fnzi_pln_buffer *from =
        &owner->plan.buffers.data[owner->plan.locations[operand->u.value].buffer];
    weights[k] = FNZI_PLN_NONE;
    if (from->kind == FNZI_PLN_CONST && !sliced && k >= r->hop.carried.count)
      weights[k] = owner->is_body ? owner->weights[from->input] : from->input;
  }
  return FNZ_OK;
}

/* Fills in the binding of a body. If its kernels refuse it, the interpreter fails when the body
 * runs, which it may never do. */
static fnz_status bodies_fill(fnz_workspace *ws, fnzi_stp_binding *outermost, uint32_t index) {
  const fnz_error had = ws->ctx->error;
  fnzi_pln_region *r = &outermost->bodies.regions.data[outermost->bodies.list.data[index].region];
  if (r->why)
    return FNZ_OK;
  fnz_status status = fnzi_bnd_fill(ws, &outermost->nested[index]);
  if (fnzi_is_final(status) || status == FNZ_INTERNAL)
    return status;
  if (status != FNZ_OK)
    r->why = "a kernel of its body refuses its arguments";
  else if (outermost->nested[index].has_interpreted)
    r->why = "something in its body is the interpreter's";
  ws->ctx->error = had;
  return FNZ_OK;
}

fnz_status fnzi_bnd_nested_bind(fnz_workspace *ws, fnzi_stp_binding *b) {
  size_t count = b->bodies.list.count;
  FNZI_NEW(&b->arena, count, &b->nested);
  for (uint32_t i = 0; i < count; i++) {
    fnzi_pln_body *body = &b->bodies.list.data[i];
    const fnzi_pln_region *r = &b->bodies.regions.data[body->region];
    fnzi_stp_binding *inner = &b->nested[i];
    *inner = (fnzi_stp_binding){.is_open = true,
                                .is_body = true,
                                .outermost = b,
                                .graph = body->graph,
                                .whole = b->whole,
                                .source = body->source,
                                .parts = b->parts,
                                .program = body->program,
                                .plan = body->plan};
    body->plan = (fnzi_pln_plan){0};
    fnzi_arena_init(&inner->arena, ws->ctx);
    if (!r->why)
      FNZ_TRY(find_weights(inner, r->owner == FNZI_PLN_NONE ? b : &b->nested[r->owner], r));
  }
  for (size_t i = count; i-- > 0;)
    FNZ_TRY(bodies_fill(ws, b, (uint32_t)i));
  return FNZ_OK;
}

void fnzi_bnd_nested_end(fnz_workspace *ws, fnzi_stp_binding *b) {
  for (size_t i = 0; b->nested && i < b->bodies.list.count; i++)
    fnzi_bnd_clear(ws, &b->nested[i]);
  fnzi_pln_bodies_free(ws->ctx, &b->bodies);
}
