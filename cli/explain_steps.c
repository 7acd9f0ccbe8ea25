/* explain_steps.c - which node of the program as read a node of the functional form comes from, and
 * which operators of that form were taken apart, each with its steps. */
#include "cli/explain.h"

#include <stdlib.h>

/* --- the origin of a node --------------------------------------------------------------------- */
int cli_print_source(cli_call *call, const char *label, size_t graph, size_t node) {
  if (node == SIZE_MAX)
    return CLI_DONE;
  return cli_print_node(call, label, call->program, graph, node);
}

void cli_print_output(const cli_call *call, const char *label, size_t output) {
  const fnz_output_spec spec = fnz_program_output(call->functional, output);
  printf("  %-*soutput %zu", CLI_LABEL, label, output);
  if (spec.target)
    printf(", %s of %s", fnz_output_kind_name(spec.kind), spec.target);
}

int cli_explain_origin(cli_call *call, size_t graph, size_t node) {
  const fnz_origin *o = fnz_origins_at(call->origins, graph, node);
  switch (o->reason) {
  case FNZ_REASON_WRITE_BACK:
    CLI_TRY(cli_print_source(call, "the write", o->graph, o->node));
    CLI_TRY(cli_print_source(call, "through", o->view_graph, o->view));
    break;
  case FNZ_REASON_VIEW_READ:
    CLI_TRY(cli_print_source(call, "the view", o->view_graph, o->view));
    if (o->node != o->view || o->graph != o->view_graph)
      CLI_TRY(cli_print_source(call, "again after", o->graph, o->node));
    break;
  case FNZ_REASON_COMPUTED:
  case FNZ_REASON_CAST:
  case FNZ_REASON_BROADCAST:
  case FNZ_REASON_FILL:
  case FNZ_REASON_COPY:
  case FNZ_REASON_PART:
  case FNZ_REASON_OWN:
  case FNZ_REASON_STEP:
  case FNZ_REASON_COUNT:
    CLI_TRY(cli_print_source(call, "part of", o->graph, o->node));
    break;
  }
  if (o->reader == SIZE_MAX && o->output != SIZE_MAX && graph)
    printf("  %-*sresult %zu of graph %zu\n", CLI_LABEL, "needed by", o->output, graph);
  else if (o->reader == SIZE_MAX && o->output != SIZE_MAX) {
    cli_print_output(call, "needed by", o->output);
    putchar('\n');
  }
  bool is_itself = o->reader == o->node && o->reader_graph == o->graph;
  return is_itself ? CLI_DONE : cli_print_source(call, "needed by", o->reader_graph, o->reader);
}

/* --- steps ------------------------------------------------------------------------------------ */
/* A node of the decomposed program, and the node of the functional form that it is a step of. */
typedef struct step {
  size_t whole_graph, whole, graph, node;
} step;

static int by_whole(const void *a, const void *b) {
  const step *x = a, *y = b;
  const size_t keys[][2] = {{x->whole_graph, y->whole_graph},
                            {x->whole, y->whole},
                            {x->graph, y->graph},
                            {x->node, y->node}};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (keys[i][0] != keys[i][1])
      return keys[i][0] < keys[i][1] ? -1 : 1;
  return 0;
}

static size_t count_nodes(const fnz_program *p) {
  size_t count = 0;
  for (size_t g = 0; g < fnz_graph_count(p); g++)
    count += fnz_node_count(p, g);
  return count;
}

static int explain_print_steps(cli_call *call, const step *steps, size_t count) {
  size_t wholes = count > 0;
  for (size_t i = 1; i < count; i++)
    wholes +=
        steps[i].whole_graph != steps[i - 1].whole_graph || steps[i].whole != steps[i - 1].whole;
  size_t all = count_nodes(call->made_of);
  printf("%zu nodes: %zu are steps of %zu operators that were taken apart\n", all, count, wholes);
  for (size_t i = 0; i < count; i++) {
    const step *s = &steps[i];
    if (i == 0 || s->whole_graph != s[-1].whole_graph || s->whole != s[-1].whole) {
      putchar('\n');
      CLI_TRY(cli_print_statement(call, call->functional, s->whole_graph, s->whole));
      CLI_TRY(cli_explain_origin(call, s->whole_graph, s->whole));
    }
    CLI_TRY(cli_print_node(call, "step", call->made_of, s->graph, s->node));
  }
  return CLI_DONE;
}

int cli_explain_steps(cli_call *call) {
  /* Steps are ordered by the nodes that they are steps of. */
  const fnz_program *p = call->made_of;
  step *steps = malloc((count_nodes(p) + 1) * sizeof *steps);
  size_t count = 0;
  for (size_t g = 0; steps && g < fnz_graph_count(p); g++)
    for (size_t n = 0; n < fnz_node_count(p, g); n++) {
      const fnz_origin *o = fnz_origins_at(call->step_origins, g, n);
      if (o->reason == FNZ_REASON_STEP)
        steps[count++] = (step){o->graph, o->node, g, n};
    }
  if (steps)
    qsort(steps, count, sizeof *steps, by_whole);
  if (!steps)
    return cli_fail(call, FNZ_CLASS_NOMEM, "", "out of memory");
  int result = explain_print_steps(call, steps, count);
  free(steps);
  return result;
}

int cli_explain_step(cli_call *call, size_t graph, size_t node) {
  const fnz_origin *o = fnz_origins_at(call->step_origins, graph, node);
  printf("taken apart:\n");
  CLI_TRY(cli_print_statement(call, call->made_of, graph, node));
  if (o->node == SIZE_MAX)
    return CLI_DONE;
  if (o->reason == FNZ_REASON_STEP) {
    printf("  %s\n", fnz_reason_words(o->reason));
    CLI_TRY(cli_print_node(call, "step of", call->functional, o->graph, o->node));
  }
  return cli_explain_origin(call, o->graph, o->node);
}

int cli_explain_steps_of(cli_call *call, size_t graph, size_t node) {
  const fnz_program *p = call->made_of;
  for (size_t g = 0; g < fnz_graph_count(p); g++)
    for (size_t n = 0; n < fnz_node_count(p, g); n++) {
      const fnz_origin *o = fnz_origins_at(call->step_origins, g, n);
      if (o->reason == FNZ_REASON_STEP && o->graph == graph && o->node == node)
        CLI_TRY(cli_print_node(call, "step", p, g, n));
    }
  return CLI_DONE;
}
