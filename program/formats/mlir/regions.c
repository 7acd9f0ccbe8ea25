/* regions.c - all nodes of a program, with each body at its node. A branch becomes torch.prim.If, a
 * loop torch.prim.Loop, and a call its body's nodes.
 *
 * A body has its own frame, on a stack: its inputs are names of the frame below. A loop's condition
 * is written twice: before the loop, and at the end of each iteration. */
#include "program/formats/mlir/mlir.h"
#include "program/region_ops.h"

/* Which body comes next, by kind. */
enum { IF_TRUE, IF_FALSE, IF_END };
enum { LOOP_FIRST, LOOP_BODY, LOOP_AGAIN, LOOP_END };
enum { CALL_BODY, CALL_END };

fnz_status fnzi_mlir_enter(fnzi_mlir *w, uint32_t graph) {
  size_t count = fnzi_graph_at(w->p, graph)->values.count;
  if (w->depth == FNZI_MLIR_DEPTH)
    return fnzi_fail(w->ctx, FNZ_CLASS_LIMIT, NULL, "bodies are nested more than %d deep",
                     FNZI_MLIR_DEPTH);
  fnzi_mlir_frame *frame = &w->frames[w->depth];
  *frame = (fnzi_mlir_frame){.graph = graph, .instance = w->instances++};
  FNZI_NEW(&w->arena, count, &frame->names);
  FNZI_NEW(&w->arena, count, &frame->numbers);
  w->depth++;
  return FNZ_OK;
}

static fnz_status regions_put(fnzi_mlir *w, const char *text) {
  return fnzi_put_text(w->ctx, &w->body, text);
}

static fnz_status put_list(fnzi_mlir *w, const fnz_buffer *list) {
  return list->size ? fnzi_put(w->ctx, &w->body, list->data, list->size) : FNZ_OK;
}

/* --- frames ----------------------------------------------------------------------------------- */
/* An input of the body on top is what the operand is called in the frame below. */
static fnz_status regions_bind(fnzi_mlir *w, fnzi_mlir_frame *from, const fnz_arg *input,
                               const fnz_arg *operand) {
  fnzi_mlir_list one = {{0}, {0}};
  fnzi_mlir_frame *to = fnzi_mlir_top(w);
  if (!fnzi_is_reference(input))
    return FNZ_OK;
  fnz_status status = fnzi_mlir_add_plain(w, &one, from, operand);
  if (status == FNZ_OK)
    status =
        fnzi_arena_string(&w->arena, one.names.data, one.names.size, &to->names[input->u.value]);
  if (status == FNZ_OK && operand->tag == FNZ_ARG_SYMBOL)
    to->numbers[input->u.value] = from->numbers[operand->u.value];
  fnz_buffer_free(w->ctx, &one.names);
  fnz_buffer_free(w->ctx, &one.types);
  return status;
}

static fnz_status enter_body(fnzi_mlir *w, const fnzi_hop *hop, uint32_t body) {
  bool sliced;
  FNZ_TRY(fnzi_mlir_enter(w, hop->bodies[body]));
  const fnzi_graph *g = fnzi_graph_at(w->p, hop->bodies[body]);
  for (uint32_t k = 0; k < g->ninputs; k++)
    FNZ_TRY(regions_bind(w, &w->frames[w->depth - 2], &g->inputs[k],
                         fnzi_hop_operand(hop, k, &sliced)));
  return FNZ_OK;
}

static const fnzi_graph *top_graph(fnzi_mlir *w) {
  return fnzi_graph_at(w->p, fnzi_mlir_top(w)->graph);
}

/* Adds the outputs of the topmost body to w->args. */
static fnz_status add_outputs(fnzi_mlir *w) {
  const fnzi_graph *g = top_graph(w);
  fnzi_mlir_list_clear(&w->args);
  for (uint32_t k = 0; k < g->noutputs; k++)
    FNZ_TRY(fnzi_mlir_add_plain(w, &w->args, fnzi_mlir_top(w), &g->outputs[k]));
  return FNZ_OK;
}

/* Adds the results of the node to w->items. */
static fnz_status regions_add_results(fnzi_mlir *w, fnzi_mlir_frame *frame, const fnzi_hop *hop) {
  fnzi_mlir_list_clear(&w->items);
  for (uint32_t k = 0; k < hop->results.count; k++)
    FNZ_TRY(fnzi_mlir_add_plain(w, &w->items, frame, &hop->results.args[k]));
  return FNZ_OK;
}

/* A condition as !torch.bool. */
static fnz_status find_truth(fnzi_mlir *w, fnzi_mlir_frame *frame, const fnz_arg *pred,
                             const char **out) {
  const char *name;
  if (pred->tag == FNZ_ARG_BOOL)
    return fnzi_mlir_bool(w, pred->u.i != 0, out);
  FNZ_TRY(fnzi_mlir_name(w, frame, pred->u.value, out));
  if (pred->tag == FNZ_ARG_SYMBOL)
    return FNZ_OK;
  name = *out;
  FNZ_TRY(fnzi_mlir_fresh(w, out));
  FNZ_TRY(fnzi_printf(w->ctx, &w->body, "    %s = torch.aten.Bool.Tensor %s : ", *out, name));
  FNZ_TRY(fnzi_mlir_put_type(w, &w->body, frame, pred));
  return regions_put(w, " -> !torch.bool\n");
}

/* --- branches --------------------------------------------------------------------------------- */
static fnz_status close_branch(fnzi_mlir *w, const fnzi_hop *hop) {
  int phase = fnzi_mlir_top(w)->phase;
  FNZ_TRY(add_outputs(w));
  FNZ_TRY(regions_put(w, "    torch.prim.If.yield "));
  FNZ_TRY(put_list(w, &w->args.names));
  FNZ_TRY(regions_put(w, w->args.types.size ? " : " : ""));
  FNZ_TRY(put_list(w, &w->args.types));
  FNZ_TRY(regions_put(w, "\n"));
  w->depth--;
  if (phase == IF_FALSE) {
    FNZ_TRY(regions_put(w, "    }"));
    return fnzi_mlir_put_end(w, hop->node);
  }
  FNZ_TRY(regions_put(w, "    } else {\n"));
  FNZ_TRY(enter_body(w, hop, IF_FALSE));
  fnzi_mlir_top(w)->phase = IF_FALSE;
  return FNZ_OK;
}

/* --- loops ------------------------------------------------------------------------------------ */
/* The carried operands, as the frame below the loop has them, into w->args. */
static fnz_status add_carried(fnzi_mlir *w, fnzi_mlir_frame *frame, const fnzi_hop *hop) {
  fnzi_mlir_list_clear(&w->args);
  for (uint32_t k = 0; k < hop->carried.count; k++)
    FNZ_TRY(fnzi_mlir_add_plain(w, &w->args, frame, &hop->carried.args[k]));
  return FNZ_OK;
}

/* Behind the first condition: the head of the loop; then its body, whose carried inputs are
 * arguments of the block. */
static fnz_status open_loop(fnzi_mlir *w, const fnzi_hop *hop) {
  const char *truth, *most, *count;
  FNZ_TRY(find_truth(w, fnzi_mlir_top(w), &top_graph(w)->outputs[0], &truth));
  FNZ_TRY(fnzi_mlir_int(w, INT64_MAX, &most));
  FNZ_TRY(fnzi_mlir_fresh(w, &count));
  w->depth--;
  FNZ_TRY(add_carried(w, fnzi_mlir_top(w), hop));
  FNZ_TRY(regions_add_results(w, fnzi_mlir_top(w), hop));
  FNZ_TRY(regions_put(w, "    "));
  FNZ_TRY(put_list(w, &w->items.names));
  FNZ_TRY(fnzi_printf(w->ctx, &w->body, " = torch.prim.Loop %s, %s, init(", most, truth));
  FNZ_TRY(put_list(w, &w->args.names));
  FNZ_TRY(fnzi_printf(w->ctx, &w->body, ") {\n    ^bb0(%s: !torch.int", count));
  FNZ_TRY(enter_body(w, hop, 1));
  fnzi_mlir_top(w)->phase = LOOP_BODY;
  for (uint32_t k = 0; k < hop->carried.count; k++) {
    const fnz_arg *input = &top_graph(w)->inputs[k];
    const char **name = &fnzi_mlir_top(w)->names[input->u.value];
    *name = NULL;
    FNZ_TRY(fnzi_mlir_name(w, fnzi_mlir_top(w), input->u.value, name));
    FNZ_TRY(fnzi_printf(w->ctx, &w->body, ", %s: ", *name));
    FNZ_TRY(fnzi_mlir_put_type(w, &w->body, fnzi_mlir_top(w), input));
  }
  return regions_put(w, "):\n");
}

static fnz_status close_loop(fnzi_mlir *w, const fnzi_hop *hop) {
  const char *truth;
  FNZ_TRY(find_truth(w, fnzi_mlir_top(w), &top_graph(w)->outputs[0], &truth));
  w->depth--;
  FNZ_TRY(add_outputs(w));
  w->depth--;
  FNZ_TRY(fnzi_printf(w->ctx, &w->body, "    torch.prim.Loop.condition %s, iter(", truth));
  FNZ_TRY(put_list(w, &w->args.names));
  FNZ_TRY(regions_put(w, " : "));
  FNZ_TRY(put_list(w, &w->args.types));
  FNZ_TRY(regions_put(w, ")\n    } : (!torch.int, !torch.bool, "));
  FNZ_TRY(add_carried(w, fnzi_mlir_top(w), hop));
  FNZ_TRY(put_list(w, &w->args.types));
  FNZ_TRY(regions_add_results(w, fnzi_mlir_top(w), hop));
  FNZ_TRY(regions_put(w, ") -> ("));
  FNZ_TRY(put_list(w, &w->items.types));
  FNZ_TRY(regions_put(w, ")"));
  return fnzi_mlir_put_end(w, hop->node);
}

/* --- all of them ------------------------------------------------------------------------------ */
static fnz_status open_region(fnzi_mlir *w, const fnzi_node *n) {
  fnzi_hop hop;
  FNZ_TRY(fnzi_hop_read(w->ctx, w->p, n, &hop));
  switch (hop.kind) {
  case FNZI_HOP_COND: {
    const char *truth;
    FNZ_TRY(find_truth(w, fnzi_mlir_top(w), hop.pred, &truth));
    FNZ_TRY(regions_add_results(w, fnzi_mlir_top(w), &hop));
    FNZ_TRY(regions_put(w, "    "));
    FNZ_TRY(put_list(w, &w->items.names));
    FNZ_TRY(regions_put(w, w->items.names.size ? " = torch.prim.If " : "torch.prim.If "));
    FNZ_TRY(regions_put(w, truth));
    FNZ_TRY(regions_put(w, " -> ("));
    FNZ_TRY(put_list(w, &w->items.types));
    FNZ_TRY(regions_put(w, ") {\n"));
    return enter_body(w, &hop, IF_TRUE);
  }
  case FNZI_HOP_WHILE_LOOP:
    return enter_body(w, &hop, LOOP_FIRST);
  case FNZI_HOP_CALL:
    if (!hop.autocast.device || !hop.autocast.enabled)
      return enter_body(w, &hop, CALL_BODY);
    break;
  default:
    break;
  }
  return fnzi_fail(w->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                   "%s has no form in the torch dialect; cond and while_loop have, and scan and "
                   "map become loops where --decompose mlir can tell the sizes of what they give",
                   fnzi_node_target(n));
}

static fnz_status close_region(fnzi_mlir *w) {
  fnzi_hop hop;
  /* The node whose body is on top. That of the condition behind a loop's body is one frame further
   * down. */
  uint32_t down = fnzi_mlir_top(w)->phase == LOOP_AGAIN ? 3 : 2;
  const fnzi_mlir_frame *frame = &w->frames[w->depth - down];
  FNZ_TRY(fnzi_hop_read(w->ctx, w->p, fnzi_node_at(w->p, frame->graph, frame->node - 1), &hop));
  if (hop.kind == FNZI_HOP_COND)
    return close_branch(w, &hop);
  if (hop.kind == FNZI_HOP_CALL) {
    /* The node's results take the names of the body's outputs. */
    const fnzi_graph *g = top_graph(w);
    fnzi_mlir_frame *body = fnzi_mlir_top(w);
    w->depth--;
    for (uint32_t k = 0; k < hop.results.count; k++)
      FNZ_TRY(regions_bind(w, body, &hop.results.args[k], &g->outputs[k]));
    return FNZ_OK;
  }
  switch (fnzi_mlir_top(w)->phase) {
  case LOOP_FIRST:
    return open_loop(w, &hop);
  case LOOP_BODY: {
    /* After the body: repeats the condition on the body's results. Its frame is above the frame of
     * the body, whose names are still needed. */
    bool sliced;
    fnzi_mlir_frame *body = fnzi_mlir_top(w);
    const fnzi_graph *g = top_graph(w), *condition = fnzi_graph_at(w->p, hop.bodies[0]);
    FNZ_TRY(fnzi_mlir_enter(w, hop.bodies[0]));
    fnzi_mlir_top(w)->phase = LOOP_AGAIN;
    for (uint32_t k = 0; k < condition->ninputs; k++)
      FNZ_TRY(k < hop.carried.count ? regions_bind(w, body, &condition->inputs[k], &g->outputs[k])
                                    : regions_bind(w, body - 1, &condition->inputs[k],
                                                   fnzi_hop_operand(&hop, k, &sliced)));
    return FNZ_OK;
  }
  default:
    return close_loop(w, &hop);
  }
}

/* If all failures are to be reported, the frames that a failed node has left on the stack are
 * removed. */
static fnz_status put_next(fnzi_mlir *w) {
  fnzi_mlir_frame *frame = fnzi_mlir_top(w);
  uint32_t graph = frame->graph, node = frame->node++, depth = w->depth;
  char place[160];
  const fnzi_node *n = fnzi_node_at(w->p, graph, node);
  fnzi_mlir_note_numbers(w, n);
  fnz_status status = n->op            ? fnzi_mlir_put_call(w, n)
                      : fnzi_is_hop(n) ? open_region(w, n)
                                       : fnzi_mlir_put_number(w, n);
  if (status == FNZ_OK)
    return FNZ_OK;
  fnzi_node_place(w->p, graph, node, place);
  status = fnzi_at(w->ctx, status, "%s", place);
  bool is_its_own = status == FNZ_UNSUPPORTED || status == FNZ_BAD_INPUT;
  if (!is_its_own || !w->refused)
    return status;
  w->depth = depth;
  w->refused(w->user, graph, node, fnz_last_error(w->ctx));
  return FNZ_OK;
}

fnz_status fnzi_mlir_put_graphs(fnzi_mlir *w) {
  while (w->depth > 1 || w->frames[0].node < fnzi_graph_main(w->p)->nodes.count)
    FNZ_TRY(fnzi_mlir_top(w)->node < top_graph(w)->nodes.count ? put_next(w) : close_region(w));
  return FNZ_OK;
}
