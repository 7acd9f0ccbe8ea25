/* walk.c - what a back end reads of a program: a .pt2 file is functionalized and taken apart to
 * core operators; then inputs, outputs, and nodes with their arguments are printed.
 *
 *   cc walk.c -o walk $(pkg-config --cflags --libs fnz_core)
 *   ./walk model.pt2 */
#include "example.h"

#include <inttypes.h>

static void print_value(const fnz_program *p, size_t graph, uint64_t value, bool type) {
  const fnz_geometry *g = fnz_value_geometry(p, graph, value);
  printf(" %%%s", fnz_value_name(p, graph, value));
  if (!g || !type) /* a number has no geometry */
    return;
  printf(": %s", fnz_dtype_get_info(g->dtype)->name);
  for (uint32_t d = 0; d < g->rank; d++) {
    const fnz_symbol s = fnz_program_symbol(p, g->symbols ? g->symbols[d] : 0);
    s.text ? printf(" %s", s.text) : printf(" %" PRId64, g->sizes[d]);
  }
}

static void print_arg(const fnz_program *p, size_t graph, const fnz_arg *a, bool type) {
  for (uint32_t k = 0; a->tag == FNZ_ARG_LIST && k < a->count; k++)
    print_arg(p, graph, &a->u.list[k], type); /* which is no list again */
  if (a->tag == FNZ_ARG_VALUE || a->tag == FNZ_ARG_SYMBOL)
    print_value(p, graph, a->u.value, type);
  else if (a->tag == FNZ_ARG_DEFAULT || a->tag == FNZ_ARG_NONE)
    printf(a->tag == FNZ_ARG_NONE ? " None" : " default");
  else if (a->tag == FNZ_ARG_FLOAT)
    printf(" %g", a->u.f);
  else if (a->tag == FNZ_ARG_STRING || a->tag == FNZ_ARG_DEVICE)
    printf(" \"%s\"", a->u.s);
  else if (a->tag != FNZ_ARG_LIST)
    printf(" %" PRId64, a->u.i); /* int, bool, dtype, memory format, graph */
}

static void print_node(const fnz_program *p, size_t graph, size_t number) {
  const fnz_node_info node = fnz_program_node(p, graph, number);
  printf("%s\n", node.target);
  for (size_t i = 0; i < node.nargs; i++) {
    printf("  %s =", node.op ? fnz_op_param(node.op, i).name : "operand");
    print_arg(p, graph, &node.args[i], false);
    putchar('\n');
  }
  for (size_t i = 0; i < node.noutputs; i++) {
    printf("  gives");
    print_arg(p, graph, &node.outputs[i], true);
    putchar('\n');
  }
}

static void print_signature(const fnz_program *p) {
  size_t inputs, outputs;
  const fnz_arg *input = fnz_graph_inputs(p, 0, &inputs);
  const fnz_arg *output = fnz_graph_outputs(p, 0, &outputs);
  for (size_t k = 0; k < inputs; k++) {
    const fnz_input_spec spec = fnz_program_input(p, k);
    printf("input, %s %s:", fnz_input_kind_name(spec.kind), spec.target);
    print_arg(p, 0, &input[k], true);
    const fnz_weight weight = fnz_program_weight(p, spec.target); /* none of a user input */
    weight.name ? printf(", %zu bytes\n", weight.bytes) : putchar('\n');
  }
  for (size_t k = 0; k < outputs; k++) {
    const fnz_output_spec spec = fnz_program_output(p, k);
    printf("output, %s %s:", fnz_output_kind_name(spec.kind), spec.target ? spec.target : "value");
    print_arg(p, 0, &output[k], false);
    spec.sharing == FNZ_SHARING_INPUT_VIEW ? printf(", a view of input %u\n", spec.of)
                                           : putchar('\n');
  }
}

int main(int argc, char **argv) {
  fnz_context *ctx;
  fnz_program *traced, *functional, *core;
  const char *path = named_program(argc, argv);
  if (fnz_context_create(NULL, &ctx) != FNZ_OK)
    return 1;
  check(ctx, fnz_program_load(ctx, path, FNZ_FORMAT_AUTO, &traced));
  check(ctx, fnz_functionalize(ctx, traced, NULL, &functional));
  check(ctx, fnz_decompose(ctx, functional, NULL, &core));
  print_signature(core);
  for (size_t graph = 0; graph < fnz_graph_count(core); graph++)
    for (size_t node = 0; node < fnz_node_count(core, graph); node++)
      print_node(core, graph, node);
  fnz_program_destroy(core);
  fnz_program_destroy(functional);
  fnz_program_destroy(traced);
  fnz_context_destroy(ctx);
  return 0;
}
