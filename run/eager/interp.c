/* interp.c - runs any program on aliasing memory: the reference for the meaning of programs.
 *
 * A tensor is a window (dtype, sizes, strides, offset) into memory. Views make another window,
 * writes put elements into memory, and everything else is computed by the backend on dense values
 * that are gathered before and scattered afterwards. Slow and plain on purpose. */
#include "run/eager/interp.h"
#include "base/random.h"
#include "run/eager/eager.h"
#include "run/numbers.h"

/* --- Nodes ------------------------------------------------------------------------------------ */

static fnz_status perform(fnzi_eag_op *s) {
  bool done = false;
  FNZ_TRY(fnzi_eag_special(s, &done));
  if (done)
    return FNZ_OK;
  FNZ_TRY(fnzi_eag_view(s, &done));
  if (done)
    return FNZ_OK;
  if (fnz_op_is_mutating(s->op))
    return fnzi_op_is_custom(s->op) ? fnzi_eag_custom(s) : fnzi_eag_write(s);
  bool norm = strcmp(s->op->name, "batch_norm") == 0; /* a new tensor whenever it gets here */
  bool ruled = norm || s->outcome == FNZI_EAG_COMPUTE;
  if (s->op->is_view || (!ruled && (s->op->tags & FNZI_TAG_MAYBE_ALIASING) != 0))
    return fnzi_fail(s->ctx, FNZ_CLASS_UNSUPPORTED, "",
                     "the result of %s may share memory, and there is no rule for it", s->op->name);
  if (fnzi_op_is_item(s->op)) {
    fnzi_eag_tensor *t;
    fnz_handle value;
    FNZ_TRY(fnzi_eag_op_tensor(s, &s->args[0], &t));
    FNZ_TRY(fnzi_eag_tensor_value(s->in, t, &value));
    return fnzi_run_read_number(&s->in->run, s->node, value);
  }
  fnz_arg *results;
  const fnz_geometry **expected;
  size_t count;
  FNZ_TRY(fnzi_run_node_results(&s->in->run, s->node, &results, &count));
  FNZI_NEW(&s->in->run.scratch, count, &expected);
  for (size_t i = 0; i < count; i++)
    expected[i] = fnzi_eag_op_recorded(s, results, i);
  return fnzi_eag_op_compute(s, results, expected, count);
}

/* Binds the results to the values of the node. */
static fnz_status bind_results(fnzi_eag_op *s) {
  fnz_arg *results;
  size_t count;
  FNZ_TRY(fnzi_run_node_results(&s->in->run, s->node, &results, &count));
  while (count > s->results.count && results[count - 1].tag == FNZ_ARG_NONE)
    count--; /* an unused number is no result here */
  if (count > s->results.count)
    return fnzi_fail(s->ctx, FNZ_CLASS_BOUNDS, "",
                     "%s has %zu results, the program names %zu; export it again", s->op->name,
                     s->results.count, count);
  for (size_t i = 0; i < count; i++) {
    fnzi_eag_tensor *t = s->results.data[i];
    if (results[i].tag != FNZ_ARG_VALUE || t == NULL)
      continue;
    const fnz_geometry *recorded = fnzi_eag_op_recorded(s, results, i);
    FNZ_TRY(fnzi_run_learn_sizes(&s->in->run, results[i].u.value, t->g));
    if (recorded != NULL && recorded->symbols == NULL &&
        (recorded->dtype != t->g->dtype || !fnzi_same_sizes(recorded, t->g))) {
      char has[FNZI_SHAPE_TEXT], says[FNZI_SHAPE_TEXT];
      fnzi_shape_text(t->g, has);
      fnzi_shape_text(recorded, says);
      return fnzi_fail(
          s->ctx, FNZ_CLASS_TYPE, "",
          "result %zu of %s is %s, the program says %s; correct its type, or export the "
          "program again",
          i, s->op->name, has, says);
    }
    fnzi_run_item_bind(&s->in->run, results[i].u.value, &t->item);
  }
  return FNZ_OK;
}

static const fnz_geometry *geometry_of(void *user, uint64_t v) {
  fnzi_eag_interp *in = user;
  return fnzi_eag_tensor_of(in, v) == NULL ? NULL : fnzi_eag_tensor_of(in, v)->g;
}

static fnz_status run_node(void *self, const fnzi_node *node) {
  fnzi_eag_interp *in = self;
  bool done;
  FNZ_TRY(fnzi_run_number_node(&in->run, node, geometry_of, in, &done));
  if (done)
    return FNZ_OK;
  if (node->op == NULL)
    return fnzi_fail(in->run.ctx, FNZ_CLASS_UNSUPPORTED, "",
                     "there is no rule for %s; export the program without it",
                     fnzi_node_target(node));
  fnzi_eag_op s = {.in = in, .ctx = in->run.ctx, .node = node, .op = node->op};
  fnz_request call = {node->op, node->args, node->nargs, NULL, ""};
  FNZ_TRY(fnzi_run_lower(&in->run, NULL, NULL, &call, NULL));
  s.args = call.args;
  fnz_status status = perform(&s);
  if (status == FNZ_OK)
    status = bind_results(&s);
  FNZI_VEC_FREE(in->run.ctx, &s.results);
  return status;
}

/* --- Inputs and results ----------------------------------------------------------------------- */

static fnz_status make_inputs(fnzi_eag_interp *in) {
  const fnzi_graph *g = in->run.graph;
  FNZI_NEW(&in->run.arena, g->ninputs, &in->initial);
  FNZI_NEW(&in->run.arena, g->ninputs, &in->initial_memory);
  for (size_t k = 0; k < g->ninputs; k++) {
    const fnzi_run_binding *b = &in->run.bindings[k];
    if (b->memory == NULL)
      continue;
    fnzi_eag_window w;
    fnzi_eag_tensor *t;
    fnzi_eag_window_of(b->geometry, &w);
    FNZ_TRY(fnzi_eag_tensor_create(in, b->memory, &w, &t));
    fnzi_run_item_bind(&in->run, g->inputs[k].u.value, &t->item);
    in->initial[k] = t->g;
    in->initial_memory[k] = t->memory;
    t->memory->users++; /* `initial_memory` uses it */
    t->memory->users++; /* so does its final value, wherever the input is then */
  }
  return FNZ_OK;
}

static fnz_status emit_tensor(void *user, const char *name, uint64_t v) {
  fnzi_eag_interp *in = user;
  fnzi_eag_tensor *t = fnzi_eag_tensor_of(in, v);
  fnz_handle value;
  if (t == NULL)
    return fnzi_fail(in->run.ctx, FNZ_CLASS_REF, name, "this output is undefined");
  FNZ_TRY(fnzi_at(in->run.ctx, fnzi_eag_tensor_value(in, t, &value), "%s", name));
  return fnzi_run_emit(&in->run, name, t->g, value);
}

/* Some write has met the initial elements of the input. */
static bool is_written(const fnzi_eag_interp *in, size_t k) {
  const fnzi_run_memory *memory = in->initial_memory[k];
  return memory->shared ? in->run.bindings[k].written : memory->version > 0;
}

/* An input was moved to other memory, or shows only a part of its initial memory, which was
 * written: other aliases still show that. A functional program has that final value also if it
 * cannot tell whether the memory was written, or all of it is shown. */
static fnz_status emit_left(fnzi_eag_interp *in, size_t k, const fnzi_eag_tensor *t) {
  const char *name;
  bool shown = t->memory == in->initial_memory[k], is_state = is_written(in, k);
  if (shown && t->g == in->initial[k])
    return FNZ_OK;
  if (is_state && shown)
    FNZ_TRY(fnzi_eag_places_cover(in->run.ctx, t->g, in->initial[k], &shown));
  is_state = is_state && !shown;
  if (!is_state &&
      (!in->run.options->everything || !fnzi_run_memory_has_data(in->initial_memory[k])))
    return FNZ_OK;
  FNZ_TRY(fnzi_arena_dotted(&in->run.arena, is_state ? "memory" : FNZI_RUN_LEFT_MEMORY,
                            in->run.bindings[k].target, &name));
  return fnzi_run_emit_memory(&in->run, name, in->initial[k], in->initial_memory[k]);
}

static fnz_status final_handle(void *user, uint64_t v, fnz_handle *out) {
  fnzi_eag_tensor *t = fnzi_eag_tensor_of(user, v);
  *out = 0;
  return t == NULL ? FNZ_OK : fnzi_eag_tensor_value(user, t, out);
}

/* Mutations without an output in the signature are found by changed memory, or are mutations
 * through another input of the same memory. */
static fnz_status emit_input(void *user, size_t k) {
  fnzi_eag_interp *in = user;
  const fnzi_run_binding *b = &in->run.bindings[k];
  uint64_t v = in->run.graph->inputs[k].u.value;
  bool wanted = fnzi_run_shows_unwritten(&in->run, b);
  const fnzi_eag_tensor *t = fnzi_eag_tensor_of(in, v);

  bool changed = is_written(in, k) || t->memory != in->initial_memory[k] || t->g != in->initial[k];
  FNZ_TRY(emit_left(in, k, fnzi_eag_tensor_of(in, v)));
  if (!changed && in->run.program->inputs[k].written && fnzi_run_memory_has_data(b->memory))
    return fnzi_run_emit_member(&in->run, (uint32_t)k, final_handle, in);
  if (wanted || changed)
    return emit_tensor(in, b->name, v);
  /* An unwritten constant is no state. It is emitted under a name of its own: a program that writes
   * it only in a branch that is not taken here has a final value of it. */
  const char *name;
  FNZ_TRY(fnzi_run_left_constant(&in->run, b, &name));
  return name == NULL ? FNZ_OK : emit_tensor(in, name, v);
}

static fnz_status show(fnzi_eag_interp *in, bool is_input, size_t k, const fnz_arg *arg) {
  const fnzi_eag_tensor *t = fnzi_eag_arg_tensor(in, arg);
  if (t == NULL)
    return FNZ_OK;
  const fnzi_run_shown shown = {is_input, k, t, t->memory, t->g};
  return in->run.options->see(in->run.options->user, &shown);
}

static fnz_status run_all(fnzi_eag_interp *in) {
  const fnzi_run_interpreter by = fnzi_eag_interpreter(in, run_node);
  FNZ_TRY(make_inputs(in));
  FNZ_TRY(fnzi_run_frames_run(&in->run, &by));
  if (in->run.options->see) {
    const fnzi_graph *g = in->run.graph;
    for (size_t k = 0; k < g->ninputs; k++)
      FNZ_TRY(show(in, true, k, &g->inputs[k]));
    for (size_t k = 0; k < g->noutputs; k++)
      FNZ_TRY(show(in, false, k, &g->outputs[k]));
  }
  return fnzi_run_outputs(&in->run, emit_tensor, emit_input, in);
}

fnz_status fnzi_eag_run(fnz_context *ctx, const fnz_program *program, fnz_backend *backend,
                        const fnzi_run_options *options) {
  fnz_generator *had = ctx->generator, own;
  fnzi_eag_interp in = {.initial = NULL};
  fnzi_generator_lend(ctx, had, &own, 0);
  fnz_status status = fnzi_run_open(&in.run, ctx, program, backend, options);
  if (status == FNZ_OK)
    status = run_all(&in);
  for (size_t i = 0; i < in.all.count; i++)
    fnzi_eag_tensor_forget(&in, in.all.data[i]);
  FNZI_VEC_FREE(ctx, &in.all);
  fnzi_run_close(&in.run);
  ctx->generator = had;
  return status;
}

bool fnzi_eag_needs_memory(const fnz_program *program) {
  for (uint32_t k = 0; k < program->graphs.count; k++) {
    const fnzi_graph *g = fnzi_graph_at(program, k);
    for (size_t i = 0; i < g->nodes.count; i++)
      if (fnzi_run_node_writes(&g->nodes.data[i]) || fnzi_eag_hides_window(&g->nodes.data[i]) ||
          fnzi_run_node_reads_memory(g, &g->nodes.data[i]))
        return true;
  }
  return false;
}
