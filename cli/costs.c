/* costs.c - what a run copies, for people and as JSON: an entry for each line of the model, the
 * most bytes first. */
#include "cli/explain.h"

#include <limits.h>
#include <string.h>

int cli_plan_options(cli_call *call, fnz_plan_options *out) {
  *out = (fnz_plan_options)FNZ_PLAN_OPTIONS_INIT;
  if (cli_has(call, CLI_INPUTS) && cli_has(call, CLI_SIZES))
    return cli_usage(call, "--inputs have sizes already; leave --sizes out");
  if (cli_has(call, CLI_INPUTS))
    CLI_TRY(cli_read_inputs(call));
  out->inputs = call->inputs;
  out->sizes = call->options[CLI_SIZES];
  return CLI_DONE;
}

int cli_costs_find(cli_call *call) {
  fnz_costs_options options = FNZ_COSTS_OPTIONS_INIT;
  CLI_TRY(cli_number(call, CLI_MIN_BYTES, 0, 0, INT_MAX, &call->min_bytes));
  if (cli_has(call, CLI_TEXT)) {
    snprintf(call->no_run, sizeof call->no_run, "only the text was looked at");
    return CLI_DONE;
  }
  fnz_plan_options plan;
  CLI_TRY(cli_plan_options(call, &plan));
  options.original = call->program;
  options.origins = call->origins;
  options.plan = &plan;
  fnz_status status = fnz_costs_find(call->ctx, call->functional, &options, &call->costs);
  bool is_given = plan.inputs || plan.sizes; /* then they are wrong */
  if (status != FNZ_UNSUPPORTED && (status != FNZ_BAD_INPUT || is_given))
    return cli_check(call, status, call->operands[0]);
  const fnz_error *error = fnz_last_error(call->ctx);
  snprintf(call->no_run, sizeof call->no_run, "%s%s%s", error->where, *error->where ? ": " : "",
           error->message);
  return CLI_DONE;
}

bool cli_cost_is_shown(const cli_call *call, const fnz_cost *cost) {
  return cost->bytes >= (uint64_t)call->min_bytes;
}

/* --- words ------------------------------------------------------------------------------------ */
void cli_bytes_text(uint64_t bytes, char out[CLI_BYTES]) {
  static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
  double n = (double)bytes;
  size_t k = 0;
  for (; n >= 1000 && k < sizeof units / sizeof *units - 1; k++)
    n /= 1000;
  snprintf(out, CLI_BYTES, "%.*f %s", k && n < 10 ? 1 : 0, n, units[k]);
}

void cli_cost_times(const fnz_cost *c, char out[CLI_TIMES]) {
  const bool is_join = c->kind == FNZ_COST_JOIN;
  char each[CLI_BYTES];
  cli_bytes_text(c->largest, each);
  const char *up_to = c->largest * c->times == c->bytes ? "" : "up to ";
  if (c->times == 1)
    snprintf(out, CLI_TIMES, "one %s", is_join ? "joined piece" : "copy");
  else
    snprintf(out, CLI_TIMES, "%zu %s of %s%s", c->times, is_join ? "joined pieces" : "copies",
             up_to, each);
}

/* --- for people ------------------------------------------------------------------------------- */
void cli_print_cost_place(const fnz_cost *c) {
  /* The statement of the model, if the program has its text. */
  const fnz_place place = fnz_source_place(c->source);
  size_t size = place.code_size, most = CLI_WIDTH - CLI_LABEL - 2;
  if (place.code && size) {
    printf("  %-*s", CLI_LABEL, "code");
    cli_put_clean(stdout, place.code, size > most ? most - 3 : size);
    puts(size > most ? "..." : "");
  }
  char words[512];
  if (c->modules > 1)
    snprintf(words, sizeof words, "%zu modules, %.200s%s%.200s", c->modules, c->module,
             c->modules > 2 ? " to " : " and ", c->last_module);
  else
    snprintf(words, sizeof words, "%.400s", c->module);
  cli_print_labelled("in", words);
  if (c->graph)
    printf("  %-*seach time that its body runs\n", CLI_LABEL, "when");
}

/* ", transformers/models/llama/modeling_llama.py:215": without the folder of all packages. */
static void print_place(const char *source) {
  fnz_place place = fnz_source_place(source);
  static const char packages[] = "-packages/";
  for (size_t i = 0; i + sizeof packages <= place.path_size; i++)
    if (memcmp(place.path + i, packages, sizeof packages - 1) == 0) {
      place.path_size -= i + sizeof packages - 1;
      place.path += i + sizeof packages - 1;
      break;
    }
  if (!place.path_size)
    return;
  fputs(", ", stdout);
  cli_put_clean(stdout, place.path, place.path_size);
  if (place.line)
    printf(":%ld", place.line);
}

/* Prints the remedy only if the previous entry has not printed the same one. */
static int costs_print_entry(cli_call *call, const fnz_cost *c, const char *said) {
  char bytes[CLI_BYTES], times[CLI_TIMES];
  cli_bytes_text(c->bytes, bytes);
  cli_cost_times(c, times);
  printf("\n%s: %s", bytes, times);
  print_place(c->source);
  putchar('\n');
  /* The node of the program as read, and what became of it if that is another operator. */
  if (c->node != SIZE_MAX) {
    const fnz_origin *o = fnz_origins_at(call->origins, c->graph, c->node);
    const fnz_node_info made = fnz_program_node(call->functional, c->graph, c->node);
    bool is_known = o->node != SIZE_MAX;
    if (is_known)
      CLI_TRY(cli_print_node_here(call, "node", call->program, o->graph, o->node));
    if (!is_known ||
        strcmp(fnz_program_node(call->program, o->graph, o->node).target, made.target) != 0)
      CLI_TRY(cli_print_node_here(call, is_known ? "becomes" : "node", call->functional, c->graph,
                                  c->node));
  }
  if (c->output != SIZE_MAX) {
    if (c->graph)
      printf("  %-*sresult %zu of graph %zu", CLI_LABEL, "made for", c->output, c->graph);
    else
      cli_print_output(call, "made for", c->output);
    puts(c->times > 1 ? ", and others" : "");
  }
  cli_print_cost_place(c);
  cli_print_labelled("why", c->why);
  cli_print_labelled("to do", strcmp(c->remedy, said) == 0 ? "" : c->remedy);
  return CLI_DONE;
}

bool cli_only_moves(fnz_reason reason) {
  return reason == FNZ_REASON_WRITE_BACK || reason == FNZ_REASON_VIEW_READ ||
         reason == FNZ_REASON_CAST || reason == FNZ_REASON_BROADCAST || reason == FNZ_REASON_COPY ||
         reason == FNZ_REASON_OWN;
}

/* How many operators of the functional form only move elements, and for how many of them a run
 * moves something. */
static void print_nodes(const cli_call *call) {
  size_t moving = 0, costly = 0;
  const fnz_stats stats = fnz_program_stats(call->functional);
  const fnz_cost *entry;
  for (size_t g = 0; g < fnz_graph_count(call->functional); g++)
    for (size_t n = 0; n < fnz_node_count(call->functional, g); n++) {
      bool moves = cli_only_moves(fnz_origins_at(call->origins, g, n)->reason);
      moving += moves;
      costly += moves && fnz_costs_of_node(call->costs, g, n, &entry);
    }
  if (moving)
    printf(costly ? "%zu of %zu operators of the functional form only move elements; a run copies "
                    "for %zu of them\n"
                  : "%zu of %zu operators of the functional form only move elements; a run copies "
                    "nothing for them\n",
           moving, stats.nodes, costly);
}

static int print_sums(cli_call *call) {
  char copied[CLI_BYTES], joined[CLI_BYTES], moved[CLI_BYTES];
  fnz_cost_sums s = FNZ_COST_SUMS_INIT;
  CLI_TRY(cli_check(call, fnz_costs_get_sums(call->ctx, call->costs, &s), NULL));
  cli_bytes_text(s.copied, copied);
  cli_bytes_text(s.joined, joined);
  cli_bytes_text(s.moved, moved);
  printf("a run copies %s", s.copied ? copied : "nothing");
  if (s.copied)
    printf(" in %zu %s", s.copies, s.copies == 1 ? "copy" : "copies");
  if (s.joined)
    printf(", and moves %s into joined tensors", joined);
  printf("; it reads and writes %s in all\n", moved);
  if (*fnz_costs_sizes(call->costs))
    printf("at sizes with %s\n", fnz_costs_sizes(call->costs));
  print_nodes(call);
  if (s.interpreted)
    printf("the interpreter evaluates %zu steps, whose copies are not counted: see --plan\n",
           s.interpreted);
  return CLI_DONE;
}

int cli_print_costs(cli_call *call) {
  const char *said = "";
  uint64_t hidden = 0;
  size_t count = 0;
  CLI_TRY(print_sums(call));
  for (size_t i = 0; i < fnz_costs_count(call->costs); i++) {
    const fnz_cost *c = fnz_costs_at(call->costs, i);
    if (cli_cost_is_shown(call, c)) {
      CLI_TRY(costs_print_entry(call, c, said));
      said = c->remedy;
      continue;
    }
    hidden += c->bytes;
    count += c->times;
  }
  char bytes[CLI_BYTES];
  cli_bytes_text(hidden, bytes);
  if (count)
    printf("\nand %zu more, %s in all, below --min-bytes\n", count, bytes);
  return CLI_DONE;
}

/* --- for programs ----------------------------------------------------------------------------- */
void cli_json_cost(fnzi_json_out *w, const fnz_cost *c) {
  fnzi_json_out_count(w, "bytes", c->bytes);
  fnzi_json_out_count(w, "largest", c->largest);
  fnzi_json_out_count(w, "times", c->times);
  fnzi_json_out_text(w, "module", c->module);
  fnzi_json_out_text(w, "last_module", c->last_module);
  fnzi_json_out_count(w, "modules", c->modules);
  fnzi_json_out_text(w, "rule", c->rule);
}

int cli_json_costs(cli_call *call, fnzi_json_out *w) {
  if (!call->costs) {
    fnzi_json_out_text(w, "no_run", call->no_run);
    return CLI_DONE;
  }
  fnz_cost_sums s = FNZ_COST_SUMS_INIT;
  CLI_TRY(cli_check(call, fnz_costs_get_sums(call->ctx, call->costs, &s), NULL));
  fnzi_json_open_as(w, "run", '{');
  fnzi_json_out_count(w, "copied", s.copied);
  fnzi_json_out_count(w, "copies", s.copies);
  fnzi_json_out_count(w, "joined", s.joined);
  fnzi_json_out_count(w, "moved", s.moved);
  fnzi_json_out_count(w, "interpreted", s.interpreted);
  fnzi_json_out_text(w, "sizes", fnz_costs_sizes(call->costs));
  fnzi_json_close(w, '}');
  fnzi_json_open_lines(w, "costs", '[', 4, 2);
  for (size_t i = 0; i < fnz_costs_count(call->costs); i++) {
    const fnz_cost *c = fnz_costs_at(call->costs, i);
    if (!cli_cost_is_shown(call, c))
      continue;
    fnzi_json_open(w, '{');
    fnzi_json_out_text(w, "kind", fnz_cost_kind_name(c->kind));
    cli_json_cost(w, c);
    fnzi_json_break(w, 5);
    if (c->node != SIZE_MAX)
      cli_json_node(w, call->functional, c->graph, c->node);
    else
      fnzi_json_out_count(w, "graph", c->graph);
    if (c->output != SIZE_MAX)
      fnzi_json_out_count(w, "output", c->output);
    fnzi_json_break(w, 5);
    fnzi_json_out_text(w, "why", c->why);
    fnzi_json_out_text(w, "remedy", c->remedy);
    fnzi_json_close(w, '}');
  }
  fnzi_json_close(w, ']');
  return CLI_DONE;
}
