/* explain_json.c - origins of the nodes of a functional program, as JSON: one object for each node,
 * or for each node related to a given one, and the guards. */
#include "cli/explain.h"

#include <string.h>

static const char *first_result(const fnz_program *program, size_t graph, const fnz_node_info *n) {
  const fnz_arg *output = n->outputs;
  if (!n->noutputs || (output->tag == FNZ_ARG_LIST && !output->count))
    return "";
  if (output->tag == FNZ_ARG_LIST)
    output = output->u.list;
  bool is_value = output->tag >= FNZ_ARG_VALUE && output->tag <= FNZ_ARG_OBJECT;
  return is_value ? fnz_value_name(program, graph, output->u.value) : "";
}

/* The members that say which node it is, without the braces. */
static void print_node(const fnz_program *program, size_t graph, size_t node) {
  const fnz_node_info info = fnz_program_node(program, graph, node);
  printf("\"graph\": %zu, \"node\": %zu, \"result\": ", graph, node);
  cli_json_string(stdout, first_result(program, graph, &info));
  printf(", \"operator\": ");
  cli_json_string(stdout, info.target);
  printf(", ");
  cli_json_place(stdout, info.source);
}

/* A node of the program as read; nothing when there is none. */
static void print_source(const cli_call *call, const char *name, size_t graph, size_t node) {
  if (node == SIZE_MAX)
    return;
  printf(",\n   \"%s\": {", name);
  print_node(call->program, graph, node);
  printf("}");
}

/* Prints the origin of a node of the functional form. */
static void print_origin(const cli_call *call, const fnz_origin *o) {
  print_source(call, "from", o->graph, o->node);
  print_source(call, "through", o->view_graph, o->view);
  print_source(call, "needed_by", o->reader_graph, o->reader);
  if (o->output != SIZE_MAX)
    printf(",\n   \"needed_by_output\": %zu", o->output);
}

static void print_reason(fnz_reason reason) {
  printf(",\n   \"reason\": ");
  cli_json_string(stdout, fnz_reason_name(reason));
}

/* Prints the whole of a node that may be a step of another node. */
static void print_step(const cli_call *call, size_t graph, size_t node) {
  const fnz_origin *o = fnz_origins_at(call->step_origins, graph, node);
  const fnz_origin *whole =
      o->node == SIZE_MAX ? NULL : fnz_origins_at(call->origins, o->graph, o->node);
  bool is_step = o->reason == FNZ_REASON_STEP;
  print_reason(is_step || !whole ? o->reason : whole->reason);
  if (is_step && whole) {
    printf(",\n   \"step_of\": {");
    print_node(call->functional, o->graph, o->node);
    printf("}");
  }
  if (whole)
    print_origin(call, whole);
}

static void print_explained(const cli_call *call, size_t graph, size_t node) {
  printf("  {");
  print_node(call->made_of ? call->made_of : call->functional, graph, node);
  if (call->made_of) {
    print_step(call, graph, node);
  } else {
    const fnz_origin *o = fnz_origins_at(call->origins, graph, node);
    print_reason(o->reason);
    print_origin(call, o);
  }
  printf("}");
}

static void print_guards(const cli_call *call) {
  for (size_t k = 0; k < fnz_program_guard_count(call->functional); k++) {
    fnz_guard guard = fnz_program_guard(call->functional, k);
    printf(k ? ",\n  {" : "\n  {");
    if (guard.text) {
      printf("\"condition\": ");
      cli_json_string(stdout, guard.text);
    } else {
      printf("\"disjoint\": [");
      for (uint32_t i = 0; i < guard.count; i++) {
        printf(i ? ", " : "");
        cli_json_string(stdout, guard.names[i]);
      }
      printf("]");
    }
    printf("}");
  }
}

void cli_explain_json(const cli_call *call, cli_explain_filter *wanted, const void *user) {
  const char *between = "\n";
  printf("{\"nodes\": [");
  const fnz_program *p = call->made_of ? call->made_of : call->functional;
  for (size_t g = 0; g < fnz_graph_count(p); g++)
    for (size_t n = 0; n < fnz_node_count(p, g); n++) {
      if (wanted && !wanted(call, g, n, user))
        continue;
      printf("%s", between);
      print_explained(call, g, n);
      between = ",\n";
    }
  printf("%s],\n \"guards\": [", *between == ',' ? "\n " : "");
  print_guards(call);
  printf("%s]}\n", fnz_program_guard_count(call->functional) ? "\n " : "");
}
