/* explain_input.c - prints the nodes that take an input or a weight, and its final value. */
#include "cli/explain.h"

#include "program/program.h"

#include <string.h>

bool cli_find_input(const fnz_program *p, const char *name, size_t *out) {
  size_t count;
  const fnz_arg *inputs = fnz_graph_inputs(p, 0, &count);
  name += *name == '%';
  for (*out = 0; *out < count; ++*out) {
    const fnz_arg *arg = &inputs[*out];
    const char *target = fnz_program_input(p, *out).target;
    if ((target && strcmp(target, name) == 0) ||
        (fnzi_is_reference(arg) && strcmp(fnz_value_name(p, 0, arg->u.value), name) == 0))
      return true;
  }
  return false;
}

/* Nodes that take the value, of the main graph: bodies get it by an argument of their node. */
static int print_takers(cli_call *call, const fnz_program *p, uint64_t value) {
  size_t found = 0;
  for (size_t n = 0; n < fnz_node_count(p, 0); n++) {
    const fnz_node_info info = fnz_program_node(p, 0, n);
    bool takes = false;
    FNZI_EACH_ARG(each, info.args, info.nargs)
      takes = takes || (fnzi_is_reference(each.arg) && each.arg->u.value == value);
    if (!takes)
      continue;
    const char *label = !info.op                      ? "body"
                        : fnz_op_is_mutating(info.op) ? "written by"
                        : fnz_op_is_view(info.op)     ? "shown by"
                                                      : "read by";
    CLI_TRY(cli_print_node(call, label, p, 0, n));
    found++;
  }
  if (!found)
    printf("  no node takes it\n");
  return CLI_DONE;
}

/* The node of the functional form that gives the final value. */
static int print_final(cli_call *call, const char *target, const char *name) {
  const fnz_program *p = call->functional;
  size_t count, graph, node;
  const fnz_arg *outputs = fnz_graph_outputs(p, 0, &count);
  for (size_t k = 0; k < count; k++) {
    const fnz_output_spec spec = fnz_program_output(p, k);
    const char *of = spec.target ? spec.target : "";
    bool is_it =
        fnzi_output_is_mutation(&spec) && (strcmp(of, target) == 0 || strcmp(of, name) == 0);
    if (!is_it || !fnzi_is_reference(&outputs[k]))
      continue;
    printf("in the functional form its final value is output %zu:\n", k);
    const char *value = fnz_value_name(p, 0, outputs[k].u.value);
    if (cli_find_result(p, value, &graph, &node))
      return cli_print_node(call, "made by", p, graph, node);
    printf("  the input %%%s\n", value);
    return CLI_DONE;
  }
  printf("it keeps its value: the functional form has no output for it\n");
  return CLI_DONE;
}

int cli_explain_input(cli_call *call, size_t k) {
  const fnz_program *p = call->program;
  const fnz_input_spec spec = fnz_program_input(p, k);
  size_t count;
  const fnz_arg *arg = &fnz_graph_inputs(p, 0, &count)[k];
  bool is_value = fnzi_is_reference(arg);
  const char *name = is_value ? fnz_value_name(p, 0, arg->u.value) : "";
  const fnz_geometry *g = is_value ? fnz_value_geometry(p, 0, arg->u.value) : NULL;
  char type[FNZI_SHAPE_TEXT] = "no tensor";
  if (g)
    fnzi_shape_text(g, type);
  printf("input %zu of the program as read: %s", k, fnz_input_kind_name(spec.kind));
  if (spec.target && strcmp(spec.target, name) != 0)
    printf(" %s, called", spec.target);
  printf(" %%%s, %s\n", name, type);
  if (is_value)
    CLI_TRY(print_takers(call, p, arg->u.value));
  return print_final(call, spec.target ? spec.target : name, name);
}
