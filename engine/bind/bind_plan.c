/* bind_plan.c - makes the CPU's part of a binding: the program for the sizes of ws->inputs, its
 * plan, a storage per buffer, an array per value, a prebuilt call or move per step of the plan. */
#include "base/random.h"
#include "engine/bind/bind.h"

/* --- The key: inputs that the binding fits ---------------------------------------------------- */
int64_t fnzi_bnd_threads_of(const fnz_workspace *ws) {
  const fnz_generator *g = ws->ctx->generator;
  return g ? g->threads : ws->exe->threads_drawing;
}

static fnz_status keep_key(fnz_workspace *ws, fnzi_stp_binding *b) {
  uint32_t count = ws->exe->ninputs;
  FNZI_NEW(&b->arena, count, &b->layouts);
  FNZI_NEW(&b->arena, count, &b->scalars);
  for (uint32_t k = 0; k < count; k++) {
    const fnz_geometry *from = ws->inputs[k].layout;
    fnz_geometry *to = &b->layouts[k];
    int64_t *numbers;
    b->scalars[k] = ws->inputs[k].scalar;
    if (!from)
      continue;
    FNZI_NEW(&b->arena, 2 * (size_t)from->rank + 1, &numbers); /* + 1: `sizes` is never NULL */
    *to = *from;
    to->symbols = NULL;
    to->sizes = numbers;
    to->strides = numbers + from->rank;
    if (from->rank) { /* memcpy() takes no NULL, which `sizes` of a scalar may be */
      memcpy(numbers, from->sizes, from->rank * sizeof *numbers);
      memcpy(numbers + from->rank, from->strides, from->rank * sizeof *numbers);
    }
  }
  return FNZ_OK;
}

/* --- The plan --------------------------------------------------------------------------------- */
/* Arranges the program in the order in which its steps run. If the check finds that the arranged
 * program computes something else, the program runs in its own order, without groups; with
 * exe->checks (tests, `fnz explain --plan`) that is an error. */
static fnz_status arrange(fnz_workspace *ws, fnzi_stp_binding *b, const fnz_program *source,
                          fnzi_pln_policy *policy) {
  const fnz_error had = ws->ctx->error;
  FNZ_TRY(fnzi_pln_arrange(ws->ctx, &b->arena, source, &b->program, &policy->order));
  fnz_status status = fnzi_pln_arrange_check(ws->ctx, source, b->program, &policy->order);
  if (status != FNZ_INTERNAL || ws->exe->checks)
    return status;
  ws->ctx->error = had;
  b->program = source;
  policy->order = (fnzi_pln_order){.source = NULL};
  policy->ungrouped = true;
  return FNZ_OK;
}

/* Plans a program of fixed sizes. The planner arranges nodes, except for registered kernels, which
 * it does not know. */
static fnz_status plan_fixed(fnz_workspace *ws, fnzi_stp_binding *b, fnzi_pln_policy *policy) {
  bool has_scalars = ws->exe->data_dependent == FNZI_STP_DATA_SCALARS;
  if (!policy->ungrouped && has_scalars) {
    FNZ_TRY(fnzi_pln_scalars_mark(ws->ctx, &b->arena, b->source, &b->source));
    b->program = b->source;
  }
  if (!policy->ungrouped)
    FNZ_TRY(arrange(ws, b, b->source, policy));
  if (has_scalars)
    fnzi_pln_scalars_keep_order(b->source, &b->program, policy);
  if (has_scalars && b->program != b->source)
    FNZ_TRY(fnzi_stp_late_renumber(&b->arena, b->program, &b->program));
  /* Plans the program and its bodies, and proves the plans. A program whose plan is wrong runs
   * stepwise; with exe->checks that is an error. */
  const fnz_error had = ws->ctx->error;
  FNZ_TRY(fnzi_pln_make(ws->ctx, b->program, policy, &b->plan));
  fnz_status status =
      fnzi_pln_bodies_plan(ws->ctx, &b->arena, b->source, policy->ungrouped, &b->plan, &b->bodies);
  if (status != FNZ_INTERNAL || ws->exe->checks)
    return status;
  ws->ctx->error = had;
  fnzi_pln_free(ws->ctx, &b->plan);
  fnzi_pln_bodies_free(ws->ctx, &b->bodies);
  b->program = b->source;
  b->mode = FNZI_STP_STEPWISE;
  return FNZ_OK;
}

/* Plans the nodes without data-dependent sizes. If that fails, the interpreter evaluates every
 * node. */
static fnz_status plan_late(fnz_workspace *ws, fnzi_stp_binding *b, fnzi_pln_policy *policy) {
  const fnz_error had = ws->ctx->error;
  const fnz_program *hidden, *visible;
  bool in_order = false;
  FNZ_TRY(fnzi_pln_scalars_mark(ws->ctx, &b->arena, b->source, &b->source));
  policy->bodies = b->source;
  fnz_status status = fnzi_stp_late_hide(&b->arena, b->source, &hidden);
  if (status == FNZ_OK)
    status = arrange(ws, b, hidden, policy);
  if (status == FNZ_OK)
    status =
        fnzi_stp_late_show(&b->arena, b->source, b->program, &policy->order, &in_order, &visible);
  if (status == FNZ_OK && in_order)
    status = fnzi_pln_make(ws->ctx, b->program, policy, &b->plan);
  if (status == FNZ_OK && in_order)
    status = fnzi_pln_bodies_plan(ws->ctx, &b->arena, b->source, policy->ungrouped, &b->plan,
                                  &b->bodies);
  if (status == FNZ_OK && in_order) {
    b->program = visible;
    return FNZ_OK;
  }
  if (fnzi_is_final(status) || (status == FNZ_INTERNAL && ws->exe->checks))
    return status;
  ws->ctx->error = had;
  fnzi_pln_free(ws->ctx, &b->plan);
  fnzi_pln_bodies_free(ws->ctx, &b->bodies);
  policy->order = (fnzi_pln_order){.source = NULL};
  b->program = b->source;
  b->mode = FNZI_STP_INTERPRETED;
  return FNZ_OK;
}

/* Makes the plan and sets b->mode: planned, stepwise or interpreted. */
static fnz_status make_plan(fnz_workspace *ws, fnzi_stp_binding *b) {
  const fnzi_graph *g = fnzi_graph_main(b->program);
  uint32_t count = g->ninputs;
  b->source = b->program;
  const fnz_geometry **layouts;
  bool *writable;
  FNZI_NEW(&b->arena, count, &layouts);
  FNZI_NEW(&b->arena, count, &writable);
  for (uint32_t k = 0; k < count; k++) {
    const fnzi_stp_input *in = &ws->exe->inputs[k];
    layouts[k] = b->layouts[k].sizes ? &b->layouts[k] : NULL;
    writable[k] =
        in->is_tensor && ((b->with_state && in->in_state && !in->is_read_only) || in->is_donated);
  }
  const bool in_place = ws->exe->in_place && !ws->exe->device;
  fnzi_pln_policy policy = {.writable = writable,
                            .layouts = layouts,
                            .state = b->with_state || in_place,
                            .aliasing = in_place,
                            .strided = !ws->exe->device,
                            .channels_last = !ws->exe->device,
                            .ungrouped = ws->exe->kernels != NULL};
  bool is_late = ws->exe->data_dependent == FNZI_STP_DATA_SIZES;
  for (uint32_t k = 0; is_late && policy.state && k < g->noutputs; k++) {
    /* Whether a final value of data-dependent size fits its state is known in the run only. */
    const fnz_geometry *final = fnzi_pln_tensor(g, &g->outputs[k]);
    if (final && final->symbols && ws->exe->owners[k] != FNZI_PLN_NONE)
      b->mode = FNZI_STP_INTERPRETED;
  }
  if (b->mode == FNZI_STP_PLANNED) /* both may find that there is no plan, and change the mode */
    FNZ_TRY(is_late ? plan_late(ws, b, &policy) : plan_fixed(ws, b, &policy));
  if (b->mode == FNZI_STP_PLANNED)
    return FNZ_OK;
  return fnzi_stp_plan_trivial(ws->ctx, b->program, &policy, b->mode == FNZI_STP_INTERPRETED,
                               &b->plan);
}

/* --- Memory ----------------------------------------------------------------------------------- */

fnz_status fnzi_bnd_plan(fnz_workspace *ws, fnzi_stp_binding *b, bool with_state) {
  fnzi_arena_init(&b->arena, ws->ctx);
  b->is_open = true;
  b->with_state = with_state;
  b->threads = fnzi_bnd_threads_of(ws);
  FNZ_TRY(keep_key(ws, b));
  FNZ_TRY(fnzi_stp_sizes_bind(ws, b));
  b->outermost = b;
  FNZ_TRY(make_plan(ws, b));
  /* Outputs have offsets in the workspace, used if the caller passes no memory. */
  const fnzi_graph *g = fnzi_graph_main(b->program);
  FNZI_NEW(&b->arena, g->noutputs, &b->output_offsets);
  b->outputs_bytes = 0;
  for (size_t i = 0; i < b->plan.buffers.count; i++) {
    const fnzi_pln_buffer *buffer = &b->plan.buffers.data[i];
    if (buffer->kind != FNZI_PLN_OUT)
      continue;
    b->output_offsets[buffer->output] = b->outputs_bytes;
    if (buffer->bytes > SIZE_MAX / 4 ||
        !fnzi_add_size(b->outputs_bytes, fnzi_pln_padded(buffer->bytes), &b->outputs_bytes))
      return fnzi_no_memory(ws->ctx);
  }
  b->arena_bytes = fnzi_pln_padded(b->plan.arena_bytes);
  /* A run fails if an input that nodes, outputs or the state need has no data. */
  bool *used;
  FNZI_NEW(&b->arena, g->values.count, &used);
  fnzi_graph_uses(g, used);
  FNZI_NEW(&b->arena, g->ninputs, &b->read_inputs);
  for (uint32_t k = 0; k < g->ninputs; k++)
    if (g->inputs[k].tag == FNZ_ARG_VALUE &&
        (used[g->inputs[k].u.value] || (b->with_state && ws->exe->inputs[k].in_state)))
      b->read_inputs[b->nread++] = k;
  FNZ_TRY(fnzi_bnd_nested_bind(ws, b));
  FNZ_TRY(fnzi_bnd_fill(ws, b));
  FNZI_NEW(&b->arena, b->depth + 1, &b->frames);
  return fnzi_bnd_undo_plan(ws->ctx, b, ws->ctx->limits.turns);
}

void fnzi_bnd_drop(fnz_workspace *ws, fnzi_stp_binding *b) {
  fnzi_bnd_nested_end(ws, b);
  fnzi_bnd_clear(ws, b);
}
