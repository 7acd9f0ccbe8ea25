/* driver.c - functionalizes a program of fixed sizes: replays it through the wrapper over a
 * recorder.
 *
 * needs   a verified program without symbolic sizes
 * keeps   names of inputs, their order, the order of user outputs, source lines
 * gives   a program without writes (and without views in the copy dialect); the final value of
 * every mutated input, parameter and buffer is a leading output that the signature names */
#include "functionalize/pass/regions/regions.h"

/* --- before the first node -------------------------------------------------------------------- */
/* The node is a view that counts from the storage, or has a body with one. */
static bool counts(const bool *counting, const fnzi_node *node) {
  const fnzi_view *view = node->op ? fnzi_wrap_route_find(node->op).view : NULL;
  for (uint32_t i = 0; !node->op && i < node->nargs; i++)
    if (node->args[i].tag == FNZ_ARG_GRAPH && counting[node->args[i].u.i])
      return true;
  return view && fnzi_view_counts_from_storage(view);
}

/* A node's bodies are later graphs. */
static fnz_status find_counting(fnzi_pass_stack *all) {
  const fnz_program *from = all->from;
  FNZI_NEW(&all->arena, from->graphs.count, &all->bodies);
  FNZI_NEW(&all->arena, from->graphs.count, &all->counts_from_storage);
  FNZI_NEW(&all->arena, from->graphs.count, &all->sees_storage);
  for (size_t g = from->graphs.count; g-- > 0 && from->graphs.count > 1;)
    for (size_t n = 0; n < from->graphs.data[g].nodes.count; n++) {
      const fnzi_node *node = &from->graphs.data[g].nodes.data[n];
      all->counts_from_storage[g] |= counts(all->counts_from_storage, node);
      all->sees_storage[g] |= all->counts_from_storage[g] || counts(all->sees_storage, node) ||
                              (node->op && fnzi_wrap_is_by_memory(node->op));
      all->writes |= node->op && fnz_op_is_mutating(node->op);
    }
  return FNZ_OK;
}

/* --- all nodes -------------------------------------------------------------------------------- */

/* The node at p->at: it is done, or waits for a pass that it has put on top. */
static fnz_status replay_next(fnzi_pass *p) {
  const fnzi_node *node = &p->graph->nodes.data[p->at];
  char where[160];
  bool waits = false;
  const bool is_region = !node->op && fnzi_hop_is_known(node);
  if (is_region)
    p->wrapper->why = fnzi_why_node(node);
  fnz_status status =
      is_region ? fnzi_region_replay(p, node, &waits) : fnzi_pass_node_replay(p, node);
  if (status == FNZ_OK && waits)
    return FNZ_OK;
  while (status != FNZ_OK && p->all->top != p) /* a pass over a body failed before its first node */
    fnzi_pass_stack_pop(p->all);
  if (status != FNZ_OK) {
    if (p->wrapper->ints)
      fnzi_ints_stop_at(p->wrapper->ints, (fnzi_ints_node){p->index, p->at});
    fnzi_node_place(p->from, p->index, p->at, where);
    FNZ_TRY(fnzi_pass_failure_recover(p, node, fnzi_at(p->ctx, status, "%s", where)));
  }
  fnzi_pass_node_end(p);
  return FNZ_OK;
}

/* Replays the nodes of the pass on top. One that has bodies puts a pass over a body on top, and
 * waits until that is finished. */
static fnz_status replay_all(fnzi_pass_stack *all) {
  fnz_status status = FNZ_OK;
  while (status == FNZ_OK) {
    fnzi_pass *p = all->top;
    if (p->at < p->graph->nodes.count) {
      status = p->below ? fnzi_task_look(all->ctx) : fnzi_task_at(all->ctx, p->at);
      if (status == FNZ_OK)
        status = replay_next(p);
      continue;
    }
    if (!p->below)
      break;
    status = p->inlined ? fnzi_region_inlined_finish(p) : fnzi_region_body_finish(p);
    if (status != FNZ_OK)
      status = fnzi_at(all->ctx, status, "results of graph %s", p->graph->name);
    fnzi_pass_stack_pop(all);
  }
  while (all->top->below)
    fnzi_pass_stack_pop(all);
  return status;
}

/* --- the driver ------------------------------------------------------------------------------- */
/* Data shared by all attempts at a program. */
typedef struct job {
  fnz_context *ctx;
  const fnz_program *program;
  const fnzi_pass_options *options;
  fnzi_notes *notes; /* NULL for none */
  fnzi_pass_alias_sets alias_sets;
} job;

static fnz_status run(const job *j, fnzi_pass_stack *all, fnzi_pass *p) {
  FNZ_TRY(fnz_recorder_create(j->ctx, NULL, &p->recorder));
  p->to = all->to = fnzi_rec_program(p->recorder);
  p->to->notes = j->notes;
  p->to->ints = j->program->ints;
  p->to->slack = (int64_t)j->ctx->limits.slice_nodes;
  FNZ_TRY(fnzi_pass_wrapper_make(p));
  FNZ_TRY(fnzi_pass_tables_make(p));
  FNZ_TRY(fnzi_pass_header_copy(p));
  FNZ_TRY(fnzi_pass_inputs_make(p));
  FNZ_TRY(find_counting(all));
  FNZ_TRY(replay_all(all));
  fnzi_pass_tables_free(p);
  FNZ_TRY(fnzi_pass_outputs_make(p));
  if (p->must_restart)
    return FNZ_OK;
  FNZ_TRY(fnzi_region_bodies_arrange(all));
  bool failed = p->to->notes && p->to->notes->failures.count;
  if (failed)
    return FNZ_OK;
  for (uint32_t g = 0; g < p->to->graphs.count; g++) {
    const fnzi_graph *graph = fnzi_graph_at(p->to, g);
    bool ends_in_writes = g == 0 && p->epilogue;
    size_t count = ends_in_writes ? fnzi_epilogue_start(p->to) : graph->nodes.count;
    for (size_t n = 0; n < count; n++) {
      const fnz_op *op = graph->nodes.data[n].op;
      if (!op)
        continue;
      if (fnz_op_is_mutating(op) || (p->wrapper->views != FNZ_VIEWS_KEEP && fnz_op_is_view(op)))
        return fnzi_fail(p->ctx, FNZ_CLASS_INTERNAL, NULL, "%s is left in the functional program",
                         op->name);
    }
  }
  return p->to->ints ? FNZ_OK : fnz_program_verify(p->ctx, p->to);
}

/* One pass over the program. *restart: inputs that share memory must be merged first. */
static fnz_status attempt(job *j, bool *restart, fnz_program **out) {
  fnz_context *ctx = j->ctx;
  fnzi_pass p = {.ctx = ctx,
                 .from = j->program,
                 .graph = fnzi_graph_main(j->program),
                 .alias_sets = &j->alias_sets,
                 .epilogue = j->options->asked.state == FNZ_STATE_EPILOGUE,
                 .whole = j->options->whole};
  fnzi_pass_stack all = {.ctx = ctx,
                         .from = j->program,
                         .views = j->options->asked.views,
                         .expander = j->options->expander,
                         .as_recorded = j->options->as_recorded,
                         .top = &p};
  fnzi_arena_init(&p.arena, ctx);
  fnzi_arena_init(&p.tensor_arena, ctx);
  fnzi_arena_init(&all.arena, ctx);
  p.all = &all;
  const fnz_status status = run(j, &all, &p);
  *restart = p.must_restart;
  if (status == FNZ_OK && !p.must_restart)
    *out = fnzi_rec_take(p.recorder);
  if (*out)
    (*out)->notes = NULL;
  fnzi_pass_tables_free(&p);
  fnzi_pass_inputs_free(&p);
  fnz_wrapper_destroy(p.wrapper);
  fnzi_rec_destroy(p.recorder);
  fnzi_arena_free(&all.arena);
  fnzi_arena_free(&p.tensor_arena);
  fnzi_arena_free(&p.arena);
  return status;
}

fnz_status fnzi_pass_program(fnz_context *ctx, const fnz_program *program,
                             const fnzi_pass_options *options, fnzi_notes *notes,
                             fnz_program **out) {
  job j = {.ctx = ctx, .program = program, .options = options, .notes = notes};
  fnzi_arena arena;
  bool restart = true;
  *out = NULL;
  fnzi_task_begin(ctx, "functionalize", "nodes", fnzi_graph_main(program)->nodes.count);
  fnzi_arena_init(&arena, ctx);
  fnz_status status = fnzi_pass_alias_sets_find(&arena, program, &j.alias_sets);
  while (restart && status == FNZ_OK) {
    if (notes)
      fnzi_notes_clear(notes);
    status = attempt(&j, &restart, out);
    /* Tries again with merged inputs: a program may fail while aliased inputs are separate, because
     * an as_strided may reach from one input to another. */
    fnz_status failure = notes && notes->failures.count ? FNZ_UNSUPPORTED : status;
    if (failure != FNZ_OK && !fnzi_is_final(failure) && j.alias_sets.shared &&
        fnzi_pass_alias_sets_merge(&j.alias_sets)) {
      fnz_program_destroy(*out);
      *out = NULL;
      status = FNZ_OK;
      restart = true;
    }
  }
  fnzi_arena_free(&arena);
  return fnzi_task_end(ctx, status);
}
