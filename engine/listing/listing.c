/* listing.c - prints a plan as text and as JSON: each step with the values that it reads and
 * writes, each copy with the rule and the value that forced it. docs/copies.md explains how to read
 * it. */
#include "engine/listing/listing.h"

#include "base/json.h"
#include "engine/steps/device.h"
#include "engine/steps/steps.h"

static const char *const buffer_kinds[] = {"const", "state", "out", "temp", "late"};

static const char *value_name(const fnzi_pln_plan *plan, uint32_t value) {
  return fnzi_graph_main(plan->program)->values.data[value].name;
}

/* --- Places ------------------------------------------------------------------------------ */
/* `state "kc"`, `output 1`, `temp 3` */
static fnz_status put_buffer(fnz_context *ctx, const fnzi_pln_plan *plan, uint32_t b,
                             fnz_buffer *out) {
  const fnzi_pln_buffer *buffer = &plan->buffers.data[b];
  const fnzi_graph *g = fnzi_graph_main(plan->program);
  if (buffer->kind == FNZI_PLN_OUT)
    return fnzi_printf(ctx, out, "output %u", (unsigned)buffer->output);
  if (buffer->kind == FNZI_PLN_TEMP || buffer->kind == FNZI_PLN_LATE)
    return fnzi_printf(ctx, out, "%s %u", buffer_kinds[buffer->kind], (unsigned)b);
  return fnzi_printf(ctx, out, "%s \"%s\"", buffer_kinds[buffer->kind],
                     value_name(plan, (uint32_t)g->inputs[buffer->input].u.value));
}

/* --- Text -------------------------------------------------------------------------------- */
static fnz_status put_move(fnz_context *ctx, const fnzi_pln_plan *plan, uint32_t at,
                           fnz_buffer *out) {
  const fnzi_pln_step *s = &plan->steps.data[at];
  FNZ_TRY(fnzi_printf(ctx, out, "step %-4u %-7s %%%s: ", at,
                      fnzi_listing_is_copy(s) ? "copy" : "update", value_name(plan, s->value)));
  FNZ_TRY(put_buffer(ctx, plan, s->from.buffer, out));
  FNZ_TRY(fnzi_put_text(ctx, out, " -> "));
  FNZ_TRY(put_buffer(ctx, plan, s->to.buffer, out));
  if (fnzi_listing_is_copy(s)) {
    FNZ_TRY(fnzi_put_text(ctx, out, "; "));
    FNZ_TRY(fnzi_listing_because(ctx, plan, s, out));
    FNZ_TRY(fnzi_printf(ctx, out, " (%s)", fnzi_listing_cause_of(plan, s)->rule));
  }
  return fnzi_printf(ctx, out, "  %s %zu B\n", fnzi_listing_is_copy(s) ? "copies" : "writes",
                     fnzi_pln_map_bytes(s->to.map));
}

/* Prints the results that have locations: ` -> %x in state "kc", %y in temp 3`. */
static fnz_status put_results(fnz_context *ctx, const fnzi_pln_plan *plan, const fnzi_node *node,
                              const char **between, fnz_buffer *out) {
  FNZI_EACH_ARG(each, node->outputs, node->noutputs) {
    uint64_t value = each.arg->u.value;
    if (each.arg->tag != FNZ_ARG_VALUE || plan->locations[value].buffer == FNZI_PLN_NONE)
      continue;
    FNZ_TRY(fnzi_printf(ctx, out, "%s%%%s in ", *between, value_name(plan, (uint32_t)value)));
    FNZ_TRY(put_buffer(ctx, plan, plan->locations[value].buffer, out));
    *between = ", ";
  }
  return FNZ_OK;
}

/* The interpreter evaluates it: data decide sizes or numbers. */
static bool is_applied(const fnzi_graph *g, const fnzi_node *node) {
  return fnzi_pln_waits_for_scalars(g, node) || (!node->op && !fnzi_is_hop(node));
}

static const char *step_word(const fnzi_node *node, const fnzi_pln_step *s) {
  if (s->kind == FNZI_PLN_REGION)
    return fnzi_is_hop(node) ? "region" : "apply";
  return s->in_place ? "update" : "call";
}

/* The operator of the user's program that a node is a part of; NULL: it is the node itself. */
static const char *whole_of(const fnzi_pln_plan *plan, uint32_t node) {
  const char *target = fnzi_node_target(fnzi_node_at(plan->program, 0, node));
  if (!plan->parts)
    return NULL;
  const char *whole =
      fnzi_node_target(fnzi_node_at(plan->whole, plan->graph, fnzi_listing_whole_node(plan, node)));
  return strcmp(target, whole) == 0 ? NULL : whole;
}

/* Whether a group has parts of operators of the user's program. */
static bool has_parts(const fnzi_pln_plan *plan, const fnzi_pln_step *s) {
  bool any = false;
  for (uint32_t n = s->first; n <= s->last; n++)
    any = any || whole_of(plan, n);
  return any;
}

/* The operator of the user's program that a node of such a group is, or is a part of; NULL if it
 * is that of the node before. */
static const char *next_whole(const fnzi_pln_plan *plan, const fnzi_pln_step *s, uint32_t n) {
  const char *whole = whole_of(plan, n);
  if (n > s->first && fnzi_listing_whole_node(plan, n) == fnzi_listing_whole_node(plan, n - 1))
    return NULL;
  return whole ? whole : fnzi_node_target(fnzi_node_at(plan->program, 0, n));
}

/* Bytes of the arguments that a call reads. */
static size_t step_reads(const fnzi_pln_plan *plan, const fnzi_pln_step *s) {
  const fnzi_node *node = fnzi_node_at(plan->program, 0, s->last);
  return fnzi_listing_stored_bytes(plan, node->args + s->in_place, node->nargs - s->in_place);
}

static fnz_status put_call(fnz_context *ctx, const fnzi_pln_plan *plan, uint32_t at,
                           fnz_buffer *out) {
  const fnzi_pln_step *s = &plan->steps.data[at];
  const fnzi_node *node = &fnzi_graph_main(plan->program)->nodes.data[s->last];
  const char *whole = whole_of(plan, s->last), *between = " -> ";
  size_t read = step_reads(plan, s);
  FNZ_TRY(
      fnzi_printf(ctx, out, "step %-4u %-7s %s", at, step_word(node, s), fnzi_node_target(node)));
  if (whole)
    FNZ_TRY(fnzi_printf(ctx, out, " of %s", whole));
  if (is_applied(fnzi_graph_main(plan->program), node))
    FNZ_TRY(fnzi_put_text(ctx, out, " by the interpreter"));
  FNZ_TRY(put_results(ctx, plan, node, &between, out));
  if (s->in_place)
    return fnzi_printf(ctx, out, " in place  reads %zu B\n", read);
  return fnzi_printf(ctx, out, "  reads %zu B  writes %zu B\n", read,
                     (size_t)fnzi_listing_stored_bytes(plan, node->outputs, node->noutputs));
}

/* Prints the operators of a group and its stored results. */
static fnz_status put_group(fnz_context *ctx, const fnzi_pln_plan *plan, uint32_t at,
                            fnz_buffer *out) {
  const fnzi_pln_step *s = &plan->steps.data[at];
  const fnzi_node *nodes = fnzi_graph_main(plan->program)->nodes.data;
  const char *between = " -> ";
  uint64_t reads, writes;
  fnzi_listing_group_bytes(plan, s, &reads, &writes);
  FNZ_TRY(fnzi_printf(ctx, out, "step %-4u group  ", at));
  for (uint32_t n = s->first; n <= s->last; n++)
    FNZ_TRY(fnzi_printf(ctx, out, "%s %s", n > s->first ? "," : "", fnzi_node_target(&nodes[n])));
  bool has = has_parts(plan, s);
  for (uint32_t n = s->first; has && n <= s->last; n++) {
    const char *whole = next_whole(plan, s, n);
    if (whole)
      FNZ_TRY(fnzi_printf(ctx, out, "%s%s", n > s->first ? ", " : " of ", whole));
  }
  for (uint32_t n = s->first; n <= s->last; n++)
    FNZ_TRY(put_results(ctx, plan, &nodes[n], &between, out));
  return fnzi_printf(ctx, out, "  reads %llu B  writes %llu B\n", (unsigned long long)reads,
                     (unsigned long long)writes);
}

static fnz_status put_sums(fnz_context *ctx, const fnzi_pln_plan *plan, fnz_buffer *out) {
  fnzi_listing_figures f;
  size_t temps = 0;
  fnzi_listing_figures_of(plan, &f);
  for (size_t b = 0; b < plan->buffers.count; b++)
    temps +=
        plan->buffers.data[b].kind == FNZI_PLN_TEMP && plan->buffers.data[b].first != FNZI_PLN_NONE;
  FNZ_TRY(fnzi_printf(ctx, out, "arena %zu B in %zu buffers (least possible %zu B); ",
                      plan->arena_bytes, temps, plan->least_bytes));
  FNZ_TRY(fnzi_printf(ctx, out, "%zu steps", f.steps));
  if (f.launches < f.steps)
    FNZ_TRY(fnzi_printf(ctx, out, " (%zu if steps at once count as one)", f.launches));
  FNZ_TRY(fnzi_printf(ctx, out,
                      " for %zu nodes; reads and writes %llu B (%llu B if each value had "
                      "memory of its own)\n",
                      f.nodes, (unsigned long long)(f.read + f.written),
                      (unsigned long long)f.naive));
  return fnzi_printf(ctx, out,
                     "in place: %zu of %zu updates, %zu of them without a step, and %zu of "
                     "%zu final values; copies: %zu, of %llu B in all\n",
                     f.in_place, f.updates, f.idle, f.finals_in_place, f.finals, f.copies,
                     (unsigned long long)f.copied);
}

static fnz_status put_steps(fnz_context *ctx, const fnzi_pln_plan *plan,
                            const fnzi_pln_bodies *bodies, const char *indent, fnz_buffer *out) {
  for (uint32_t s = 0; s < plan->steps.count; s++) {
    /* Why the interpreter evaluates the node of a step with its bodies; NULL: it does not. */
    bool is_region =
        plan->steps.data[s].kind == FNZI_PLN_REGION && plan->steps.data[s].region != FNZI_PLN_NONE;
    const char *why = is_region ? bodies->regions.data[plan->steps.data[s].region].why : NULL;
    uint32_t sets = plan->steps.data[s].sets;
    if (sets > 1)
      FNZ_TRY(fnzi_printf(ctx, out, "%ssteps %u to %u at once: one program over %u operand sets\n",
                          indent, s, s + sets - 1, sets));
    FNZ_TRY(fnzi_put_text(ctx, out, indent));
    FNZ_TRY(plan->steps.data[s].kind == FNZI_PLN_MOVE    ? put_move(ctx, plan, s, out)
            : plan->steps.data[s].kind == FNZI_PLN_GROUP ? put_group(ctx, plan, s, out)
                                                         : put_call(ctx, plan, s, out));
    if (why)
      FNZ_TRY(fnzi_printf(ctx, out, "%s          by the interpreter: %s\n", indent, why));
  }
  return FNZ_OK;
}

/* A body that was planned before something else of its region could not be is not run. */
static bool is_run(const fnzi_pln_bodies *bodies, size_t b) {
  return !bodies->regions.data[bodies->list.data[b].region].why;
}

static fnz_status put_bodies(fnz_context *ctx, const fnzi_pln_bodies *bodies, fnz_buffer *out) {
  for (size_t b = 0; b < bodies->list.count; b++) {
    const fnzi_pln_body *body = &bodies->list.data[b];
    const fnzi_pln_region *r = &bodies->regions.data[body->region];
    if (!is_run(bodies, b))
      continue;
    FNZ_TRY(fnzi_printf(ctx, out, "body %-4zu %s, of step %u", b,
                        fnzi_graph_main(body->plan.program)->name, r->step));
    if (r->owner != FNZI_PLN_NONE)
      FNZ_TRY(fnzi_printf(ctx, out, " of body %u", r->owner));
    FNZ_TRY(fnzi_put_text(ctx, out, "\n"));
    FNZ_TRY(put_steps(ctx, &body->plan, bodies, "  ", out));
  }
  return FNZ_OK;
}

fnz_status fnzi_listing_text(fnz_context *ctx, const fnzi_listing_subject *what, fnz_buffer *out) {
  const fnzi_stp_binding *b = what->on_device;
  if (what->sizes)
    FNZ_TRY(fnzi_printf(ctx, out, "at sizes with %s\n", what->sizes));
  FNZ_TRY(put_steps(ctx, what->plan, what->bodies, "", out));
  if (what->bodies)
    FNZ_TRY(put_bodies(ctx, what->bodies, out));
  FNZ_TRY(put_sums(ctx, what->plan, out));
  return b ? b->gpu->print(ctx, b, out) : FNZ_OK;
}

/* --- JSON -------------------------------------------------------------------------------- */
/* Returns the name of the first result of a node in the given program; NULL if it has none. A
 * node's index would not do, because the plan for symbolic sizes is for a program with other
 * indices. */
static const char *result_name(const fnzi_pln_plan *plan, uint32_t node) {
  const fnzi_node *n = fnzi_node_at(plan->whole, plan->graph, fnzi_listing_whole_node(plan, node));
  const fnz_arg *result = n->noutputs ? n->outputs : NULL;
  if (result && result->tag == FNZ_ARG_LIST)
    result = result->count ? result->u.list : NULL;
  return result && fnzi_is_reference(result)
             ? fnzi_value_at(plan->whole, plan->graph, result->u.value)->name
             : NULL;
}

static void json_move(fnzi_json_out *w, const fnzi_pln_plan *plan, const fnzi_pln_step *s) {
  fnzi_json_open(w, '{');
  fnzi_json_out_text(w, "kind", fnzi_listing_is_copy(s) ? "copy" : "update");
  fnzi_json_out_text(w, "rule", fnzi_listing_cause_of(plan, s)->name);
  fnzi_json_out_text(w, "value", value_name(plan, s->value));
  if (s->because != FNZI_PLN_NONE)
    fnzi_json_out_text(w, "because", value_name(plan, s->because));
  const char *name = s->last == FNZI_PLN_NONE ? NULL : result_name(plan, s->last);
  if (name)
    fnzi_json_out_text(w, "result", name);
  if (fnzi_listing_is_copy(s)) { /* why, in words, and what to do */
    fnz_buffer words = {.data = NULL};
    fnzi_json_key(w, "why");
    if (w->status == FNZ_OK)
      w->status = fnzi_listing_because(w->ctx, plan, s, &words);
    fnzi_json_out_string(w, words.data, words.size);
    fnz_buffer_free(w->ctx, &words);
    fnzi_json_out_text(w, "remedy", fnzi_listing_cause_of(plan, s)->remedy);
  }
  fnzi_json_out_count(w, "from", s->from.buffer);
  fnzi_json_out_count(w, "to", s->to.buffer);
  fnzi_json_out_count(w, "bytes", fnzi_pln_map_bytes(s->to.map));
  fnzi_json_close(w, '}');
}

/* Writes the results of the nodes of a step as `results`, or only the results in memory of the
 * state as `in_state`. */
static void json_results(fnzi_json_out *w, const fnzi_pln_plan *plan, const fnzi_pln_step *s,
                         bool only_state) {
  const fnzi_node *nodes = fnzi_graph_main(plan->program)->nodes.data;
  const char *last = NULL;
  for (uint32_t n = s->first; n <= s->last; n++) {
    const char *name = result_name(plan, n);
    if (!name || name == last)
      continue;
    bool is_listed = !only_state;
    for (uint32_t i = 0; i < nodes[n].noutputs && !is_listed; i++) {
      const fnz_arg *result = &nodes[n].outputs[i];
      uint32_t b =
          result->tag == FNZ_ARG_VALUE ? plan->locations[result->u.value].buffer : FNZI_PLN_NONE;
      is_listed = b != FNZI_PLN_NONE && plan->buffers.data[b].kind == FNZI_PLN_STATE;
    }
    if (!is_listed)
      continue;
    if (!last)
      fnzi_json_open_as(w, only_state ? "in_state" : "results", '[');
    fnzi_json_out_string(w, name, strlen(name));
    last = name;
  }
  if (last)
    fnzi_json_close(w, ']');
}

static fnz_status json_call(fnzi_json_out *w, const fnzi_pln_plan *plan, const fnzi_pln_step *s) {
  const fnzi_node *node = &fnzi_graph_main(plan->program)->nodes.data[s->last];
  fnzi_json_open(w, '{');
  fnzi_json_out_text(w, "kind", step_word(node, s));
  if (s->sets > 1)
    fnzi_json_out_count(w, "sets", s->sets);
  fnzi_json_out_count(w, "node", fnzi_listing_given_node(plan, s->last));
  fnzi_json_out_text(w, "op", fnzi_node_target(node));
  if (is_applied(fnzi_graph_main(plan->program), node))
    fnzi_json_out_flag(w, "interpreted", true);
  if (whole_of(plan, s->last))
    fnzi_json_out_text(w, "of", whole_of(plan, s->last));
  json_results(w, plan, s, false);
  json_results(w, plan, s, true);
  fnzi_json_out_count(w, "reads", step_reads(plan, s));
  if (!s->in_place)
    fnzi_json_out_count(w, "writes",
                        fnzi_listing_stored_bytes(plan, node->outputs, node->noutputs));
  return fnzi_json_close(w, '}');
}

static void json_group(fnzi_json_out *w, const fnzi_pln_plan *plan, const fnzi_pln_step *s) {
  const fnzi_node *nodes = fnzi_graph_main(plan->program)->nodes.data;
  uint64_t reads, writes;
  fnzi_listing_group_bytes(plan, s, &reads, &writes);
  fnzi_json_open(w, '{');
  fnzi_json_out_text(w, "kind", "group");
  if (s->sets > 1)
    fnzi_json_out_count(w, "sets", s->sets);
  fnzi_json_out_count(w, "first", fnzi_listing_given_node(plan, s->first));
  fnzi_json_out_count(w, "node", fnzi_listing_given_node(plan, s->last));
  fnzi_json_open_as(w, "ops", '[');
  for (uint32_t n = s->first; n <= s->last; n++)
    fnzi_json_out_string(w, fnzi_node_target(&nodes[n]), strlen(fnzi_node_target(&nodes[n])));
  fnzi_json_close(w, ']');
  if (has_parts(plan, s)) {
    fnzi_json_open_as(w, "of", '[');
    for (uint32_t n = s->first; n <= s->last; n++) {
      const char *whole = next_whole(plan, s, n);
      if (whole)
        fnzi_json_out_string(w, whole, strlen(whole));
    }
    fnzi_json_close(w, ']');
  }
  json_results(w, plan, s, false);
  json_results(w, plan, s, true);
  fnzi_json_out_count(w, "reads", reads);
  fnzi_json_out_count(w, "writes", writes);
  fnzi_json_close(w, '}');
}

/* Steps and buffers, a line each. */
static fnz_status json_steps(fnzi_json_out *w, const fnzi_pln_plan *plan) {
  fnzi_json_open_lines(w, "steps", '[', 4, FNZI_JSON_AFTER);
  for (uint32_t s = 0; s < plan->steps.count; s++) {
    const fnzi_pln_step *step = &plan->steps.data[s];
    if (step->kind == FNZI_PLN_MOVE)
      json_move(w, plan, step);
    else if (step->kind == FNZI_PLN_GROUP)
      json_group(w, plan, step);
    else
      FNZ_TRY(json_call(w, plan, step));
  }
  fnzi_json_close(w, ']');
  fnzi_json_break(w, 2);
  fnzi_json_open_lines(w, "buffers", '[', 4, FNZI_JSON_AFTER);
  for (size_t b = 0; b < plan->buffers.count; b++) {
    const fnzi_pln_buffer *buffer = &plan->buffers.data[b];
    fnzi_json_open(w, '{');
    fnzi_json_out_text(w, "kind", buffer_kinds[buffer->kind]);
    bool is_input = buffer->kind == FNZI_PLN_CONST || buffer->kind == FNZI_PLN_STATE;
    fnzi_json_out_count(w, "of",
                        is_input                       ? buffer->input
                        : buffer->kind == FNZI_PLN_OUT ? buffer->output
                                                       : buffer->value);
    fnzi_json_out_count(w, "bytes", buffer->bytes);
    if (buffer->kind == FNZI_PLN_TEMP)
      fnzi_json_out_count(w, "offset", buffer->offset);
    fnzi_json_close(w, '}');
  }
  return fnzi_json_close(w, ']');
}

/* `"body": 2, "step": 0`: whose plan the step of the region is of, and which. */
static void json_region(fnzi_json_out *w, const fnzi_pln_region *r) {
  if (r->owner != FNZI_PLN_NONE)
    fnzi_json_out_count(w, "body", r->owner);
  fnzi_json_out_count(w, "step", r->step);
}

static fnz_status json_bodies(fnzi_json_out *w, const fnzi_pln_bodies *bodies) {
  fnzi_json_open_as(w, "left", '[');
  for (size_t i = 0; i < bodies->regions.count; i++) {
    const fnzi_pln_region *r = &bodies->regions.data[i];
    if (!r->why)
      continue;
    fnzi_json_open(w, '{');
    json_region(w, r);
    fnzi_json_out_text(w, "why", r->why);
    fnzi_json_close(w, '}');
  }
  fnzi_json_close(w, ']');
  fnzi_json_open_lines(w, "bodies", '[', 2, FNZI_JSON_AFTER);
  for (size_t b = 0; b < bodies->list.count; b++) {
    const fnzi_pln_body *body = &bodies->list.data[b];
    fnzi_json_open(w, '{');
    fnzi_json_out_text(w, "graph", fnzi_graph_main(body->plan.program)->name);
    fnzi_json_out_flag(w, "run", is_run(bodies, b));
    fnzi_json_open_as(w, "of", '{');
    json_region(w, &bodies->regions.data[body->region]);
    fnzi_json_close(w, '}');
    FNZ_TRY(json_steps(w, &body->plan));
    fnzi_json_break(w, 2);
    fnzi_json_out_count(w, "arena", body->plan.arena_bytes);
    fnzi_json_close(w, '}');
  }
  return fnzi_json_close(w, ']');
}

fnz_status fnzi_listing_json(fnz_context *ctx, const fnzi_listing_subject *what, fnz_buffer *out) {
  const fnzi_stp_binding *b = what->on_device;
  fnzi_json_out writer = {.ctx = ctx, .out = out, .utf8 = true}, *w = &writer;
  fnzi_json_open_lines(w, NULL, '{', 2, 0);
  if (what->sizes)
    fnzi_json_out_text(w, "sizes", what->sizes);
  FNZ_TRY(json_steps(w, what->plan));
  if (what->bodies->regions.count)
    FNZ_TRY(json_bodies(w, what->bodies));
  if (b)
    b->gpu->print_json(w, b);
  fnzi_listing_figures f;
  fnzi_listing_figures_of(what->plan, &f);
  fnzi_json_out_count(w, "arena", what->plan->arena_bytes);
  fnzi_json_out_count(w, "least", what->plan->least_bytes);
  fnzi_json_out_count(w, "nodes", f.nodes);
  fnzi_json_out_count(w, "copies", f.copies);
  fnzi_json_out_count(w, "copied", f.copied);
  fnzi_json_out_count(w, "updates", f.updates);
  fnzi_json_out_count(w, "updates_in_place", f.in_place);
  fnzi_json_out_count(w, "updates_idle", f.idle);
  fnzi_json_out_count(w, "finals", f.finals);
  fnzi_json_out_count(w, "finals_in_place", f.finals_in_place);
  fnzi_json_out_count(w, "moved", f.read + f.written);
  fnzi_json_out_count(w, "moved_without", f.naive);
  FNZ_TRY(fnzi_json_close(w, '}'));
  return fnzi_put_text(ctx, out, "\n");
}
