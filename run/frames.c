/* frames.c - frames: the program and the bodies that run inside it.
 *
 * A node of a higher-order operator opens a frame for a body, whose results go back to the node
 * (loops.c decides what follows). The stack of frames is not that of C, so that neither deep
 * nesting nor long loops exhaust it; the values of a frame end with it.
 *
 * needs   a verified program, the items of graph 0's inputs
 * gives   the items of graph 0's outputs */
#include "run/numbers.h"
#include "run/autocast.h"

typedef struct fnzi_run_frame {
  uint32_t graph, node;
  fnz_dtype autocast; /* the dtype that autocast casts to; FNZ_DTYPE_COUNT for none */
  fnzi_arena arena;
  fnzi_run_item **items;
  fnz_arg *numbers;
  fnzi_run_frame_op *region;
} fnzi_run_frame;
typedef struct fnzi_run_frame frame;

static frame *top(const fnzi_run_state *run) {
  return &run->frames.data[run->frames.count - 1];
}

/* Makes the top frame the current one. */
static void work_in_top(fnzi_run_state *run) {
  const frame *f = top(run);
  run->graph = fnzi_graph_at(run->program, f->graph);
  run->node = f->node;
  run->items = f->items;
  run->numbers = f->numbers;
  run->last = run->lasts[f->graph];
}

/* --- Last uses -------------------------------------------------------------------------------- */

#define UNUSED (FNZI_NO_NODE - 1) /* comes after all nodes */

/* An unused value ends where it is defined; inputs and results of the program stay. An input of a
 * body ends with its last use, or with the body when it has none. */
static fnz_status last_uses(fnzi_run_state *run, const fnzi_graph *g, uint32_t **out) {
  bool is_body = g != fnzi_graph_main(run->program);
  uint32_t *last;
  FNZI_NEW(&run->arena, g->values.count, &last);
  for (size_t v = 0; v < g->values.count; v++)
    last[v] = g->values.data[v].node;
  for (uint32_t k = 0; is_body && k < g->ninputs; k++)
    if (fnzi_is_reference(&g->inputs[k]))
      last[g->inputs[k].u.value] = UNUSED;
  FNZI_EACH_ARG(each, g->outputs, g->noutputs)
    if (each.arg->tag == FNZ_ARG_VALUE)
      last[each.arg->u.value] = FNZI_NO_NODE;
  for (uint32_t n = 0; n < g->nodes.count; n++)
    FNZI_EACH_ARG(each, g->nodes.data[n].args, g->nodes.data[n].nargs)
      if (each.arg->tag == FNZ_ARG_VALUE && last[each.arg->u.value] != FNZI_NO_NODE)
        last[each.arg->u.value] = n;
  *out = last;
  return FNZ_OK;
}

/* --- Frames ----------------------------------------------------------------------------------- */

static fnz_status open_frame(fnzi_run_state *run, uint32_t graph) {
  const fnzi_graph *g = fnzi_graph_at(run->program, graph);
  frame f = {.graph = graph, .autocast = FNZ_DTYPE_COUNT};
  if (run->lasts[graph] == NULL)
    FNZ_TRY(last_uses(run, g, &run->lasts[graph]));
  if (run->options->entered != NULL)
    run->options->entered[graph] = 1;
  fnzi_arena_init(&f.arena, run->ctx);
  FNZI_PUSH(run->ctx, &run->frames, f);
  frame *opened = top(run);
  FNZI_NEW(&opened->arena, g->values.count, &opened->items);
  FNZI_NEW(&opened->arena, g->values.count, &opened->numbers);
  work_in_top(run);
  return FNZ_OK;
}

static void close_frame(fnzi_run_state *run) {
  fnzi_arena_free(&top(run)->arena);
  run->frames.count--;
}

fnz_status fnzi_run_frames_open(fnzi_run_state *run) {
  FNZI_NEW(&run->arena, run->program->graphs.count, &run->lasts);
  return open_frame(run, 0);
}

void fnzi_run_frames_close(fnzi_run_state *run) {
  while (run->frames.count > 0)
    close_frame(run);
  FNZI_VEC_FREE(run->ctx, &run->frames);
}

/* --- Ends of values --------------------------------------------------------------------------- */

static void let_go(fnzi_run_state *run, const fnzi_run_interpreter *by, uint64_t value) {
  fnzi_run_item *item = run->items[value];
  run->items[value] = NULL;
  if (item != NULL && --item->users == 0)
    by->end(by->self, item);
}

/* Ends each operand or result of the current node that the node is the last to use. */
static void end_uses(fnzi_run_state *run, const fnzi_run_interpreter *by, const fnz_arg *args,
                     size_t count) {
  FNZI_EACH_ARG(each, args, count)
    if (each.arg->tag == FNZ_ARG_VALUE && run->last[each.arg->u.value] == run->node)
      let_go(run, by, each.arg->u.value);
}

/* Ends the current node. */
static void end_node(fnzi_run_state *run, const fnzi_run_interpreter *by) {
  const fnzi_node *node = &run->graph->nodes.data[run->node];
  fnzi_arena_reset(&run->scratch);
  end_uses(run, by, node->args, node->nargs);
  end_uses(run, by, node->outputs, node->noutputs);
  run->node = ++top(run)->node;
}

/* --- Higher-order nodes ----------------------------------------------------------------------- */

static fnz_status frames_check_result(fnzi_run_state *run, const fnzi_run_interpreter *by,
                                      const fnz_arg *result, const fnzi_run_frame_arg *passed,
                                      uint32_t k) {
  const fnzi_node *node = &run->graph->nodes.data[run->node];
  const fnz_geometry *recorded = run->graph->values.data[result->u.value].geometry;
  if (passed->item == NULL)
    return fnzi_fail(run->ctx, FNZ_CLASS_REF, "", "result %u of %s is undefined", k,
                     fnzi_node_target(node));
  const fnz_geometry *g = by->geometry(by->self, passed->item);
  char has[FNZI_SHAPE_TEXT], says[FNZI_SHAPE_TEXT];
  if (recorded->dtype == g->dtype)
    FNZ_TRY(fnzi_run_learn_sizes(run, result->u.value, g));
  if (recorded->dtype == g->dtype && (recorded->symbols || fnzi_same_sizes(recorded, g)))
    return FNZ_OK;
  fnzi_shape_text(g, has);
  fnzi_shape_text(recorded, says);
  return fnzi_fail(run->ctx, FNZ_CLASS_TYPE, "",
                   "result %u of %s is %s, the program says %s; its body must return that", k,
                   fnzi_node_target(node), has, says);
}

static void put(fnzi_run_state *run, const fnz_arg *where, const fnzi_run_frame_arg *passed) {
  if (where->tag == FNZ_ARG_VALUE && passed->item != NULL)
    fnzi_run_item_bind(run, where->u.value, passed->item);
  else if (where->tag == FNZ_ARG_SYMBOL)
    run->numbers[where->u.value] = passed->arg;
}

static fnz_status finish_region(fnzi_run_state *run, const fnzi_run_interpreter *by,
                                const fnzi_run_next *next) {
  fnzi_run_frame_op *r = top(run)->region;
  fnzi_operands results = r->hop.results;
  for (uint32_t k = 0; k < results.count && k < next->count; k++) {
    if (results.args[k].tag == FNZ_ARG_VALUE)
      FNZ_TRY(frames_check_result(run, by, &results.args[k], &next->args[k], k));
    put(run, &results.args[k], &next->args[k]);
  }
  for (uint32_t k = 0; k < next->count; k++)
    fnzi_run_frame_arg_drop(by, &next->args[k]);
  fnzi_run_frame_op_end(by, r);
  end_node(run, by);
  return FNZ_OK;
}

/* Opens a frame for a body, with the arguments as its inputs. */
static fnz_status enter(fnzi_run_state *run, const fnzi_run_interpreter *by,
                        const fnzi_run_next *next) {
  const fnzi_graph *g = fnzi_graph_at(run->program, next->body);
  if (++run->bodies > run->ctx->limits.turns)
    return fnzi_fail(run->ctx, FNZ_CLASS_LIMIT, "",
                     "bodies of higher-order operators have been run %zu times, which is the most "
                     "that one run may do",
                     run->ctx->limits.turns);
  if (g->ninputs != next->count)
    return fnzi_fail(run->ctx, FNZ_CLASS_INTERNAL, "", "a body is given %u values for %u inputs",
                     next->count, g->ninputs);
  if (next->is_last)
    end_uses(run, by, run->graph->nodes.data[run->node].args,
             run->graph->nodes.data[run->node].nargs);
  fnz_dtype dtype = fnzi_run_autocast_dtype(&top(run)->region->hop, top(run)->autocast);
  FNZ_TRY(open_frame(run, next->body));
  top(run)->autocast = dtype;
  for (uint32_t k = 0; k < next->count; k++)
    put(run, &g->inputs[k], &next->args[k]);
  for (uint32_t k = 0; k < next->moved; k++)
    fnzi_run_frame_arg_drop(by, &next->args[k]);
  return FNZ_OK;
}

static fnz_status go_on(fnzi_run_state *run, const fnzi_run_interpreter *by,
                        const fnzi_run_next *next) {
  return next->done ? finish_region(run, by, next) : enter(run, by, next);
}

static fnz_status start_region(fnzi_run_state *run, const fnzi_run_interpreter *by,
                               const fnzi_node *node, bool *entered) {
  fnzi_hop hop;
  fnzi_run_next next = {.done = false};
  *entered = false;
  FNZ_TRY(fnzi_hop_read(run->ctx, run->program, node, &hop));
  if (hop.kind == FNZI_HOP_EFFECT) {
    /* The operator whose effect a token orders. There is one thread, so the order of nodes is
     * enough. */
    fnzi_node call = *hop.node;
    FNZI_NEW(&run->scratch, hop.op->nparams, &call.args);
    for (uint32_t k = 0; k < hop.op->nparams; k++)
      call.args[k] = fnzi_hop_call_arg(&hop, k);
    call.op = hop.op;
    call.nargs = hop.op->nparams;
    call.outputs++;
    call.noutputs--;
    call.u.metadata = NULL;
    return by->node(by->self, &call);
  }
  frame *f = top(run);
  FNZI_NEW(&f->arena, 1, &f->region);
  *entered = true;
  FNZ_TRY(fnzi_run_frame_op_start(run, by, &hop, &f->arena, f->region, &next));
  return go_on(run, by, &next);
}

/* Ends the body on top: its results go to the node that runs it. */
static fnz_status leave(fnzi_run_state *run, const fnzi_run_interpreter *by) {
  const fnzi_graph *g = run->graph;
  fnzi_run_frame_arg *given;
  fnzi_run_next next = {.done = false};
  FNZI_NEW(&run->scratch, g->noutputs, &given);
  for (uint32_t k = 0; k < g->noutputs; k++) {
    FNZ_TRY(fnzi_run_frame_arg_of(run, &g->outputs[k], &given[k]));
    fnzi_run_frame_arg_hold(&given[k]);
  }
  for (size_t v = 0; v < g->values.count; v++)
    let_go(run, by, v);
  close_frame(run);
  work_in_top(run);
  FNZ_TRY(fnzi_run_frame_op_step(run, by, top(run)->region, given, g->noutputs, &next));
  FNZ_TRY(go_on(run, by, &next));
  fnzi_arena_reset(&run->scratch);
  return FNZ_OK;
}

/* --- Nodes ------------------------------------------------------------------------------------ */

static fnz_status frames_run_node(fnzi_run_state *run, const fnzi_run_interpreter *by) {
  const fnzi_node *node = &run->graph->nodes.data[run->node];
  bool entered = false;
  if (fnzi_is_hop(node))
    FNZ_TRY(start_region(run, by, node, &entered));
  else if (top(run)->autocast == FNZ_DTYPE_COUNT)
    FNZ_TRY(by->node(by->self, node));
  else
    FNZ_TRY(fnzi_run_autocast_node(run, by, node, top(run)->autocast));
  if (!entered)
    end_node(run, by);
  return FNZ_OK;
}

/* A node, or the end of a body. */
static fnz_status step(fnzi_run_state *run, const fnzi_run_interpreter *by) {
  fnz_status status =
      run->node < run->graph->nodes.count ? frames_run_node(run, by) : leave(run, by);
  if (status == FNZ_OK)
    return FNZ_OK;
  const frame *f = top(run);
  char place[160] = "";
  if (f->node < fnzi_graph_at(run->program, f->graph)->nodes.count)
    fnzi_node_place(run->program, f->graph, f->node, place);
  return fnzi_at(run->ctx, status, "%s", place);
}

fnz_status fnzi_run_frames_run(fnzi_run_state *run, const fnzi_run_interpreter *by) {
  fnz_status status = FNZ_OK;
  fnzi_task_begin(run->ctx, "run", "nodes", run->graph->nodes.count);
  while (status == FNZ_OK && (run->frames.count > 1 || run->node < run->graph->nodes.count)) {
    status = fnzi_task_at(run->ctx, run->frames.data[0].node);
    if (status == FNZ_OK)
      status = step(run, by);
  }
  return fnzi_task_end(run->ctx, status);
}

fnz_status fnzi_run_frames_node(fnzi_run_state *run, const fnzi_run_interpreter *by,
                                uint32_t node) {
  run->node = top(run)->node = node;
  do
    FNZ_TRY(step(run, by));
  while (run->frames.count > 1);
  return FNZ_OK;
}
