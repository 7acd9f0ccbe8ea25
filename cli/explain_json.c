/* explain_json.c - origins of the nodes of a functional program, as JSON: one object for each node,
 * or for each node related to a given one, and the guards. */
#include "cli/explain.h"

#include <string.h>

/* A node in a line of its own; nothing when there is none. */
static void put_other(fnzi_json_out *w, const char *name, const fnz_program *program, size_t graph,
                      size_t node) {
  if (node == SIZE_MAX)
    return;
  fnzi_json_break(w, 5);
  fnzi_json_open_as(w, name, '{');
  cli_json_node(w, program, graph, node);
  fnzi_json_close(w, '}');
}

/* Writes the origin of a node of the functional form. */
static void put_origin(fnzi_json_out *w, const fnz_program *read, const fnz_origin *o) {
  put_other(w, "from", read, o->graph, o->node);
  put_other(w, "through", read, o->view_graph, o->view);
  put_other(w, "needed_by", read, o->reader_graph, o->reader);
  if (o->output == SIZE_MAX)
    return;
  fnzi_json_break(w, 5);
  fnzi_json_out_count(w, "needed_by_output", o->output);
}

static void put_reason(fnzi_json_out *w, fnz_reason reason) {
  fnzi_json_break(w, 5);
  fnzi_json_out_text(w, "reason", fnz_reason_name(reason));
}

static void put_explained(const cli_call *call, fnzi_json_out *w, size_t graph, size_t node) {
  fnzi_json_open(w, '{');
  cli_json_node(w, call->made_of ? call->made_of : call->functional, graph, node);
  if (call->made_of) {
    /* Writes the whole of a node that may be a step of another node. */
    const fnz_origin *o = fnz_origins_at(call->step_origins, graph, node);
    const fnz_origin *whole =
        o->node == SIZE_MAX ? NULL : fnz_origins_at(call->origins, o->graph, o->node);
    bool is_step = o->reason == FNZ_REASON_STEP;
    put_reason(w, is_step || !whole ? o->reason : whole->reason);
    if (is_step && whole)
      put_other(w, "step_of", call->functional, o->graph, o->node);
    if (whole)
      put_origin(w, call->program, whole);
  } else {
    const fnz_origin *o = fnz_origins_at(call->origins, graph, node);
    put_reason(w, o->reason);
    put_origin(w, call->program, o);
    const fnz_cost *entry;
    uint64_t bytes = call->costs ? fnz_costs_of_node(call->costs, graph, node, &entry) : 0;
    if (bytes) {
      fnzi_json_break(w, 5);
      fnzi_json_out_count(w, "bytes", bytes);
    }
  }
  fnzi_json_close(w, '}');
}

static void put_guard(fnzi_json_out *w, const fnz_guard *guard, fnz_guard_origin of) {
  fnzi_json_open(w, '{');
  if (guard->text) {
    fnzi_json_out_text(w, "condition", guard->text);
  } else {
    fnzi_json_open_as(w, "disjoint", '[');
    for (uint32_t i = 0; i < guard->count; i++)
      fnzi_json_out_string(w, guard->names[i], strlen(guard->names[i]));
    fnzi_json_close(w, ']');
  }
  if (of.why)
    fnzi_json_out_text(w, "why", of.why);
  if (of.node != SIZE_MAX) {
    fnzi_json_out_number(w, "graph", (int64_t)of.graph);
    fnzi_json_out_number(w, "node", (int64_t)of.node);
  }
  fnzi_json_close(w, '}');
}

int cli_explain_json(cli_call *call, cli_explain_filter *wanted, const void *user) {
  const fnz_program *p = call->made_of ? call->made_of : call->functional;
  fnzi_json_out *w = cli_json_begin(call);
  if (!call->made_of && !wanted)
    CLI_TRY(cli_json_costs(call, w));
  fnzi_json_open_lines(w, "nodes", '[', 4, 2);
  for (size_t g = 0; g < fnz_graph_count(p); g++)
    for (size_t n = 0; n < fnz_node_count(p, g); n++) {
      if (wanted && !wanted(call, g, n, user))
        continue;
      put_explained(call, w, g, n);
      cli_json_spill(call);
    }
  fnzi_json_close(w, ']');
  fnzi_json_open_lines(w, "guards", '[', 4, 2);
  for (size_t k = 0; k < fnz_program_guard_count(call->functional); k++) {
    const fnz_guard guard = fnz_program_guard(call->functional, k);
    put_guard(w, &guard, fnz_origins_guard(call->origins, k));
  }
  fnzi_json_close(w, ']');
  return cli_json_end(call);
}
