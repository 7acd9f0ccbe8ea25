/* explain.c - explains the copies of a run, or one node of the program as read or of its functional
 * form. */
#include "cli/explain.h"
#include "program/program.h"

#include <stdlib.h>
#include <string.h>

/* --- one node of the result ------------------------------------------------------------------- */
/* Prints the bytes that a run copies for the node; if there are none, prints that if `nothing`. */
static void print_bytes(const cli_call *call, size_t graph, size_t node, bool nothing) {
  const fnz_cost *entry;
  char bytes[CLI_BYTES], words[512];
  uint64_t moved = call->costs ? fnz_costs_of_node(call->costs, graph, node, &entry) : 0;
  cli_bytes_text(moved, bytes);
  if (moved) {
    snprintf(words, sizeof words, "%s %s: %s", entry->kind == FNZ_COST_JOIN ? "joins" : "copies",
             bytes, entry->why);
    cli_print_labelled("a run", words);
    cli_print_labelled("to do", entry->remedy);
  } else if (call->costs && nothing) {
    cli_print_labelled("a run", "copies nothing");
  }
}

static int explain_node(cli_call *call, size_t graph, size_t node) {
  const fnz_origin *o = fnz_origins_at(call->origins, graph, node);
  CLI_TRY(cli_print_statement(call, call->functional, graph, node));
  printf("  %s\n", fnz_reason_words(o->reason));
  CLI_TRY(cli_explain_origin(call, graph, node));
  print_bytes(call, graph, node, cli_only_moves(o->reason));
  return call->made_of ? cli_explain_steps_of(call, graph, node) : CLI_DONE;
}

/* --- the text of the functional form ---------------------------------------------------------- */
static void count(const cli_call *call, size_t counts[FNZ_REASON_COUNT]) {
  for (size_t g = 0; g < fnz_graph_count(call->functional); g++)
    for (size_t n = 0; n < fnz_node_count(call->functional, g); n++)
      counts[fnz_origins_at(call->origins, g, n)->reason]++;
}

static void explain_print_counts(const cli_call *call) {
  static const struct {
    fnz_reason reason;
    const char *words;
  } rows[] = {{FNZ_REASON_WRITE_BACK, "put writes back"},
              {FNZ_REASON_VIEW_READ, "read views"},
              {FNZ_REASON_COPY, "copy as eager does"},
              {FNZ_REASON_OWN, "give results memory of their own"},
              {FNZ_REASON_CAST, "cast what is written"},
              {FNZ_REASON_BROADCAST, "expand what is written"}};
  size_t counts[FNZ_REASON_COUNT] = {0}, all = 0;
  fnz_stats stats;
  count(call, counts);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    all += counts[rows[i].reason];
  stats = fnz_program_stats(call->functional);
  printf("%zu of %zu operators only move elements%s\n", all, stats.nodes, all ? ":" : "");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (counts[rows[i].reason])
      printf("  %6zu %s\n", counts[rows[i].reason], rows[i].words);
}

/* --- guards ----------------------------------------------------------------------------------- */
/* An output that is a value, and the node that computes it; SIZE_MAX for none. */
typedef struct made_output {
  uint64_t value;
  size_t output, node;
} made_output;

static int by_value(const void *a, const void *b) {
  const made_output *x = a, *y = b;
  if (x->value != y->value)
    return x->value < y->value ? -1 : 1;
  return x->output < y->output ? -1 : 1;
}

static int by_output(const void *a, const void *b) {
  const made_output *x = a, *y = b;
  return x->output < y->output ? -1 : 1;
}

/* Sets the node of all outputs that are this result. `rows` are sorted by value. */
static void note_result(made_output *rows, size_t count, const fnz_arg *result, size_t node) {
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    *(rows[middle].value < result->u.value ? &low : &high) =
        rows[middle].value < result->u.value ? middle + 1 : middle;
  }
  for (; low < count && rows[low].value == result->u.value; low++)
    rows[low].node = node;
}

/* Lists the outputs that are values, in order, each with its node. */
static size_t find_makers(const fnz_program *p, const fnz_arg *outputs, size_t noutputs,
                          made_output *rows) {
  size_t count = 0;
  for (size_t k = 0; k < noutputs; k++)
    if (outputs[k].tag == FNZ_ARG_VALUE)
      rows[count++] = (made_output){outputs[k].u.value, k, SIZE_MAX};
  qsort(rows, count, sizeof *rows, by_value);
  for (size_t n = 0; n < fnz_node_count(p, 0); n++) {
    const fnz_node_info info = fnz_program_node(p, 0, n);
    for (size_t i = 0; i < info.noutputs; i++) { /* values, or lists of values */
      const fnz_arg *output = &info.outputs[i];
      bool is_list = output->tag == FNZ_ARG_LIST;
      for (size_t k = 0; k < (is_list ? output->count : 1); k++) {
        const fnz_arg *result = is_list ? &output->u.list[k] : output;
        if (result->tag == FNZ_ARG_VALUE)
          note_result(rows, count, result, n);
      }
    }
  }
  qsort(rows, count, sizeof *rows, by_output);
  return count;
}

static int by_name(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Prints the nodes that a guard on inputs is for: an input must share no memory with others if the
 * program writes it, so these are the nodes that compute final values. `names` are the guard's,
 * sorted. */
static int print_makers(cli_call *call, const char *const *names, size_t count,
                        const made_output *rows, size_t nrows) {
  const fnz_origin *said = NULL; /* an operator on lists makes many of them */
  for (size_t k = 0; k < nrows; k++) {
    const char *target = fnz_program_output(call->functional, rows[k].output).target;
    if (rows[k].node == SIZE_MAX || !target ||
        !bsearch(&target, names, count, sizeof *names, by_name))
      continue;
    const fnz_origin *o = fnz_origins_at(call->origins, 0, rows[k].node);
    if (!said || said->graph != o->graph || said->node != o->node)
      CLI_TRY(cli_print_source(call, "because of", o->graph, o->node));
    said = o;
  }
  return CLI_DONE;
}

static int print_writers(cli_call *call, const fnz_guard *guard) {
  size_t noutputs;
  const fnz_arg *outputs = fnz_graph_outputs(call->functional, 0, &noutputs);
  if (!guard->count || !noutputs)
    return CLI_DONE;
  const char **names = malloc(guard->count * sizeof *names);
  made_output *rows = malloc(noutputs * sizeof *rows);
  int result = CLI_DONE;
  if (names && rows) {
    memcpy(names, guard->names, guard->count * sizeof *names);
    qsort(names, guard->count, sizeof *names, by_name);
    size_t count = find_makers(call->functional, outputs, noutputs, rows);
    result = print_makers(call, names, guard->count, rows, count);
  } else {
    result = cli_fail(call, FNZ_CLASS_NOMEM, "", "out of memory");
  }
  free(names);
  free(rows);
  return result;
}

static int explain_guards(cli_call *call) {
  for (size_t k = 0; k < fnz_program_guard_count(call->functional); k++) {
    fnz_guard guard = fnz_program_guard(call->functional, k);
    const char *text = guard.text ? guard.text : "these inputs share no memory:";
    size_t used = strlen("guard: ") + strlen(text);
    printf("\nguard: %s", text);
    for (uint32_t i = 0; i < guard.count; i++) {
      size_t length = strlen(guard.names[i]) + 1;
      bool fits = used + length <= CLI_WIDTH;
      printf("%s%s", fits ? " " : "\n  ", guard.names[i]);
      used = fits ? used + length : length + 1;
    }
    putchar('\n');
    const fnz_guard_origin of = fnz_origins_guard(call->origins, k);
    if (of.why && guard.text) {
      printf("  %-*s%s\n", CLI_LABEL, "why", of.why);
      CLI_TRY(cli_print_source(call, "asked by", of.graph, of.node));
    }
    CLI_TRY(print_writers(call, &guard));
  }
  return CLI_DONE;
}

static int explain_text(cli_call *call) {
  if (!cli_has(call, CLI_TEXT))
    printf(
        "the engine has no plan of a run, so these are the costs of the functional form's text:\n"
        "%s\n\n",
        call->no_run);
  explain_print_counts(call);
  for (size_t g = 0; g < fnz_graph_count(call->functional); g++)
    for (size_t n = 0; n < fnz_node_count(call->functional, g); n++) {
      if (!cli_only_moves(fnz_origins_at(call->origins, g, n)->reason))
        continue;
      putchar('\n');
      CLI_TRY(explain_node(call, g, n));
    }
  return CLI_DONE;
}

/* --- one node --------------------------------------------------------------------------------- */
/* Returns the relation of a node of the source to a node of the result with this origin; NULL for
 * none. */
static const char *part_in(const fnz_origin *o, size_t graph, size_t node) {
  if (o->node == node && o->graph == graph)
    return fnz_reason_name(o->reason);
  if (o->view == node && o->view_graph == graph)
    return o->reason == FNZ_REASON_WRITE_BACK ? "through it" : "shows it";
  return o->reader == node && o->reader_graph == graph ? "needed here" : NULL;
}

static int explain_source(cli_call *call, size_t graph, size_t node) {
  const fnz_node_info info = fnz_program_node(call->program, graph, node);
  fnz_rule rule = {.words = "a higher-order or scalar operator"};
  size_t found = 0;
  if (info.op)
    rule = fnz_op_rule(info.op);
  printf("in the program as read:\n");
  CLI_TRY(cli_print_statement(call, call->program, graph, node));
  printf("  %s\n", rule.words);
  const fnz_module module = fnz_node_module(call->program, graph, node, 0);
  if (module.path_size) { /* the whole model has no path */
    printf("  in module   ");
    cli_put_clean(stdout, module.path, module.path_size);
    printf(", ");
    cli_put_clean(stdout, module.type, module.type_size);
    putchar('\n');
  }
  /* The nodes of the result that come from it, each with its relation. */
  for (size_t g = 0; g < fnz_graph_count(call->functional); g++)
    for (size_t n = 0; n < fnz_node_count(call->functional, g); n++) {
      const fnz_origin *o = fnz_origins_at(call->origins, g, n);
      const char *label = part_in(o, graph, node);
      if (!label)
        continue;
      found++;
      CLI_TRY(cli_print_node(call, label, call->functional, g, n));
      print_bytes(call, g, n, false);
      if (call->made_of && o->node == node && o->graph == graph)
        CLI_TRY(cli_explain_steps_of(call, g, n));
    }
  if (found)
    return CLI_DONE;
  printf("  nothing is left of it: %s\n",
         info.op && fnz_op_is_mutating(info.op) ? "the value that it stores is there already, or "
                                                  "nothing reads what it writes"
         : info.op && fnz_op_is_view(info.op)
             ? "nothing reads it, or what it shows is there already"
             : "nothing needs its results");
  return CLI_DONE;
}

/* Places of a name: in the program as read, in its functional form, and in the decomposed form, if
 * it is another node. */
typedef struct named {
  bool in_source, in_result, in_steps, is_input;
  size_t source_graph, source, result_graph, result, step_graph, step, input;
} named;

static int find_named(cli_call *call, const char *name, named *out) {
  out->in_source = cli_find_result(call->program, name, &out->source_graph, &out->source);
  out->in_result = cli_find_result(call->functional, name, &out->result_graph, &out->result);
  out->in_steps =
      call->made_of && cli_find_result(call->made_of, name, &out->step_graph, &out->step);
  if (out->in_steps && out->in_result) { /* a node that stays is no step */
    const fnz_origin *o = fnz_origins_at(call->step_origins, out->step_graph, out->step);
    out->in_steps =
        o->reason == FNZ_REASON_STEP || o->graph != out->result_graph || o->node != out->result;
  }
  if (out->in_source || out->in_result || out->in_steps)
    return CLI_DONE;
  out->is_input = cli_find_input(call->program, name, &out->input);
  if (out->is_input && cli_has(call, CLI_JSON))
    return cli_usage(call, "%s is an input, and --json explains nodes; leave --json out", name);
  if (out->is_input)
    return CLI_DONE;
  char near[CLI_NEAR];
  /* The functional form also has the names of inputs. */
  const fnzi_graph *g = fnzi_graph_main(call->functional);
  const char **names = malloc((g->values.count + 1) * sizeof *names);
  if (!names)
    return cli_fail(call, FNZ_CLASS_NOMEM, "", "out of memory");
  for (size_t i = 0; i < g->values.count; i++)
    names[i] = g->values.data[i].name;
  cli_near(name, names, g->values.count, near);
  free(names);
  return cli_usage(call,
                   "no input and no result is called %s, neither in %s nor in its functional form, "
                   "as fnz show prints them%s",
                   name, call->operands[0], near);
}

static int explain_one(cli_call *call, const named *it) {
  if (it->is_input)
    return cli_explain_input(call, it->input);
  if (it->in_source)
    CLI_TRY(explain_source(call, it->source_graph, it->source));
  if (it->in_source && it->in_result)
    putchar('\n');
  if (it->in_result) {
    printf("in the functional form:\n");
    CLI_TRY(explain_node(call, it->result_graph, it->result));
  }
  if ((it->in_source || it->in_result) && it->in_steps)
    putchar('\n');
  return it->in_steps ? cli_explain_step(call, it->step_graph, it->step) : CLI_DONE;
}

static bool concerns(const cli_call *call, size_t graph, size_t node, const void *user) {
  const named *it = user;
  const fnz_origin *step = call->made_of ? fnz_origins_at(call->step_origins, graph, node) : NULL;
  if (it->in_steps && it->step_graph == graph && it->step == node)
    return true;
  if (step && step->node == SIZE_MAX)
    return false;
  graph = step ? step->graph : graph;
  node = step ? step->node : node;
  if (it->in_result && it->result_graph == graph && it->result == node)
    return true;
  const fnz_origin *o = fnz_origins_at(call->origins, graph, node);
  return it->in_source && part_in(o, it->source_graph, it->source);
}

static int explain_plan(cli_call *call) {
  const fnz_program *p = call->made_of ? call->made_of : call->functional;
  fnz_plan_options options;
  fnz_buffer text = {0};
  CLI_TRY(cli_plan_options(call, &options));
  options.json = cli_has(call, CLI_JSON);
  /* A plan needs only the kind of the GPU, not the GPU. */
  options.device = cli_has(call, CLI_ARCH) ? call->options[CLI_ARCH] : call->options[CLI_DEVICE];
  int result = cli_check(call, fnz_plan_write(call->ctx, p, &options, &text), call->operands[0]);
  if (result == CLI_DONE && options.json) {
    fnzi_json_key(cli_json_begin(call), "plan");
    fnzi_json_out_raw(&call->json, text.data, text.size - 1); /* its line ends with the object's */
  } else if (result == CLI_DONE) {
    fwrite(text.data, 1, text.size, stdout);
  }
  fnz_buffer_free(call->ctx, &text);
  CLI_TRY(result);
  return options.json ? cli_json_end(call) : cli_flush();
}

static int check_arch(cli_call *call) {
  const char *arch = call->options[CLI_ARCH];
  if (!arch)
    return CLI_DONE;
  if (!cli_has(call, CLI_PLAN) || !cli_has(call, CLI_DEVICE) ||
      strcmp(call->options[CLI_DEVICE], "cpu") == 0)
    return cli_usage(call, "--arch is for plans on a GPU: add --plan --device cuda");
  if (strncmp(arch, "sm_", 3) != 0)
    return cli_usage(
        call, "--arch %s is no kind of GPU: they are sm_80, sm_90, sm_100 and the like", arch);
  return CLI_DONE;
}

static int explain_stage(cli_call *call) {
  fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  fnz_buffer text = {0};
  static const cli_option others[] = {CLI_PLAN, CLI_DECOMPOSE, CLI_JSON};
  const char *stage = call->options[CLI_STAGE], *name;
  char names[CLI_NEAR] = "";
  bool is_known = false;
  for (size_t k = 0; !is_known && (name = fnz_stage_name(k)) != NULL; k++) {
    size_t used = strlen(names);
    is_known = strcmp(name, stage) == 0;
    snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", name);
  }
  if (!is_known)
    return cli_usage(call, "--stage takes one of %s, not %s", names, stage);
  if (call->noperands == 2)
    return cli_usage(call, "--stage is about the whole program; leave %s out", call->operands[1]);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (cli_has(call, others[i]))
      return cli_usage(call, "--stage prints one program; leave %s out",
                       cli_option_name(others[i]));
  CLI_TRY(cli_functionalize_options(call, &options));
  CLI_TRY(cli_read_program(call, call->operands[0], &call->program));
  int result = cli_check(call, fnz_stage_write(call->ctx, call->program, &options, stage, &text),
                         call->operands[0]);
  if (result == CLI_DONE)
    fwrite(text.data, 1, text.size, stdout);
  fnz_buffer_free(call->ctx, &text);
  CLI_TRY(result);
  return cli_flush();
}

/* Refuses options about copies in forms of the command that list none. */
static int check_copies(const cli_call *call) {
  static const cli_option forms[] = {CLI_PLAN, CLI_STAGE, CLI_DECOMPOSE};
  static const cli_option options[] = {CLI_MIN_BYTES, CLI_TEXT, CLI_SIZES, CLI_INPUTS};
  for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
      bool is_of_plan = options[i] == CLI_SIZES || options[i] == CLI_INPUTS;
      if (cli_has(call, forms[f]) && cli_has(call, options[i]) &&
          !(is_of_plan && cli_has(call, CLI_PLAN)))
        return cli_usage(call, "%s lists no copies of a run; leave %s out",
                         cli_option_name(forms[f]), cli_option_name(options[i]));
    }
  return CLI_DONE;
}

int cli_explain(cli_call *call) {
  bool is_one = call->noperands == 2;
  named it = {0};
  if (is_one && cli_has(call, CLI_PLAN))
    return cli_usage(call, "--plan is about the whole program; leave %s out", call->operands[1]);
  CLI_TRY(check_arch(call));
  CLI_TRY(check_copies(call));
  if (cli_has(call, CLI_STAGE))
    return explain_stage(call);
  call->keeps_origins = true;
  CLI_TRY(cli_read_program(call, call->operands[0], &call->program));
  CLI_TRY(cli_functionalize(call, call->program, call->operands[0]));
  CLI_TRY(cli_decompose_explained(call, call->operands[0]));
  if (cli_has(call, CLI_PLAN))
    return explain_plan(call);
  if (is_one)
    CLI_TRY(find_named(call, call->operands[1], &it));
  if (!call->made_of)
    CLI_TRY(cli_costs_find(call));
  if (cli_has(call, CLI_JSON))
    return cli_explain_json(call, is_one ? concerns : NULL, &it);
  if (is_one)
    CLI_TRY(explain_one(call, &it));
  else if (call->made_of)
    CLI_TRY(cli_explain_steps(call));
  else {
    CLI_TRY(call->costs ? cli_print_costs(call) : explain_text(call));
    CLI_TRY(explain_guards(call));
  }
  return cli_flush();
}
