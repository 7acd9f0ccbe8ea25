/* lint.c - lists refusals and copies before anything is converted: for people, as JSON, or as SARIF
 * for editors and code review. */
#include "cli/explain.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

/* The number of findings: of a run or the pass, then of a format. */
static size_t finding_count(const cli_call *call) {
  return fnz_findings_count(call->findings) + call->nrefusals;
}

static const fnz_finding *finding_at(const cli_call *call, size_t i) {
  size_t count = fnz_findings_count(call->findings);
  return i < count ? fnz_findings_at(call->findings, i) : &call->refusals[i - count].finding;
}

/* The program whose node it is about. */
static const fnz_program *program_of(const cli_call *call, const fnz_finding *f) {
  const cli_refusal *r = call->refusals;
  for (size_t i = 0; i < call->nrefusals; i++)
    if (f == &r[i].finding)
      return call->functional;
  return call->program;
}

static const char *source_of(const cli_call *call, const fnz_finding *f) {
  const fnz_node_info info = fnz_program_node(program_of(call, f), f->graph, f->node);
  return info.source;
}

/* Copies of fewer bytes than --min-bytes are left out. */
static bool is_shown(const cli_call *call, const fnz_finding *f) {
  return !f->cost || cli_cost_is_shown(call, f->cost);
}

static const char *class_of(const fnz_finding *f) {
  return f->kind == FNZ_FINDING_REFUSED ? fnz_class_name(f->error) : "";
}

/* --- for people ------------------------------------------------------------------------------- */
/* "model.py:7: refused, OVERLAP:", or the node where the line is not known. */
static size_t print_head(const cli_call *call, const fnz_finding *f) {
  char head[256];
  const fnz_place place = fnz_source_place(source_of(call, f));
  const char *class = class_of(f), *kind = fnz_finding_kind_name(f->kind);
  const cli_hue hue = f->kind == FNZ_FINDING_REFUSED ? CLI_HUE_BAD : CLI_HUE_WARNING;
  if (place.path_size)
    snprintf(head, sizeof head, "%.*s:%ld", (int)(place.path_size < 160 ? place.path_size : 160),
             place.path, place.line);
  else
    snprintf(head, sizeof head, "%.200s", f->where);
  fputs(cli_color(stdout, CLI_HUE_BOLD), stdout);
  cli_put_clean(stdout, head, strlen(head));
  printf("%s: %s%s%s", cli_color(stdout, CLI_HUE_NONE), cli_color(stdout, hue), kind,
         cli_color(stdout, CLI_HUE_NONE));
  printf("%s%s:", *class ? ", " : "", class);
  return strlen(head) + 2 + strlen(kind) + (*class ? 2 + strlen(class) : 0) + 1;
}

/* Writes the bytes of a copy, then the reason. */
static void put_cost(const fnz_cost *c, char *out, size_t size) {
  char bytes[CLI_BYTES], times[CLI_TIMES];
  cli_bytes_text(c->bytes, bytes);
  cli_cost_times(c, times);
  if (c->times > 1)
    snprintf(out, size, "a run copies %s (%s): %s", bytes, times, c->why);
  else
    snprintf(out, size, "a run copies %s: %s", bytes, c->why);
}

/* Prints the remedy only if the previous finding has not printed the same one. */
static int lint_print_finding(cli_call *call, const fnz_finding *f, const char *said) {
  char cost[512];
  if (f->cost)
    put_cost(f->cost, cost, sizeof cost);
  cli_print_wrapped(f->cost ? cost : f->what, print_head(call, f), CLI_INDENT);
  if (f->cost)
    cli_print_cost_place(f->cost);
  if (f->node != SIZE_MAX)
    CLI_TRY(cli_print_node(call, "the node", program_of(call, f), f->graph, f->node));
  if (f->view != SIZE_MAX)
    CLI_TRY(cli_print_node(call, "through", call->program, f->view_graph, f->view));
  if (f->reader != SIZE_MAX)
    CLI_TRY(cli_print_node(call, "needed by", call->program, f->reader_graph, f->reader));
  if (f->output != SIZE_MAX)
    printf("  %-*soutput %zu\n", CLI_LABEL, "needed by", f->output);
  if (*f->remedy && strcmp(f->remedy, said) != 0) {
    printf("  %-*s", CLI_LABEL, "to do");
    cli_print_wrapped(f->remedy, CLI_INDENT + CLI_LABEL, CLI_INDENT + CLI_LABEL);
  }
  return CLI_DONE;
}

static int print_findings(cli_call *call) {
  size_t count = 0, refused = 0;
  const char *said = "";
  /* Copies may not be of a run; refusals explain that, else it is said why. */
  bool has_costs = false, is_refused = false;
  const char *why = fnz_findings_no_run(call->findings);
  for (size_t i = 0; i < fnz_findings_count(call->findings); i++) {
    const fnz_finding_kind kind = fnz_findings_at(call->findings, i)->kind;
    has_costs = has_costs || kind == FNZ_FINDING_COPY || kind == FNZ_FINDING_SCATTER;
    is_refused = is_refused || kind == FNZ_FINDING_REFUSED;
  }
  if (why && !cli_has(call, CLI_TEXT) && (!is_refused || has_costs)) {
    size_t used = (size_t)printf("no plan of a run:");
    cli_print_wrapped(why, used, CLI_INDENT);
    printf("findings of scatter and copy are about the text of the functional form\n\n");
  }
  for (size_t i = 0; i < finding_count(call); i++) {
    const fnz_finding *f = finding_at(call, i);
    if (!is_shown(call, f))
      continue;
    count++;
    refused += f->kind == FNZ_FINDING_REFUSED;
    CLI_TRY(lint_print_finding(call, f, said));
    said = f->remedy;
    putchar('\n');
  }
  if (!cli_has(call, CLI_QUIET))
    printf(count ? "%zu found, %zu of them refused\n" : "nothing found\n", count, refused);
  return cli_flush();
}

/* --- for programs ----------------------------------------------------------------------------- */
/* A number that there may be, SIZE_MAX for none. */
static void json_number(fnzi_json_out *w, const char *name, size_t value) {
  if (value != SIZE_MAX)
    fnzi_json_out_count(w, name, value);
}

static void json_finding(const cli_call *call, fnzi_json_out *w, const fnz_finding *f) {
  fnzi_json_open(w, '{');
  fnzi_json_out_text(w, "kind", fnz_finding_kind_name(f->kind));
  fnzi_json_out_text(w, "class", class_of(f));
  fnzi_json_out_text(w, "where", f->where);
  fnzi_json_break(w, 5);
  fnzi_json_out_text(w, "what", f->what);
  fnzi_json_break(w, 5);
  fnzi_json_out_text(w, "remedy", f->remedy);
  fnzi_json_break(w, 5);
  fnzi_json_out_count(w, "graph", f->graph);
  json_number(w, "node", f->node);
  json_number(w, "view", f->view);
  if (f->view != SIZE_MAX && f->view_graph != f->graph)
    fnzi_json_out_count(w, "view_graph", f->view_graph);
  json_number(w, "reader", f->reader);
  if (f->reader != SIZE_MAX && f->reader_graph != f->graph)
    fnzi_json_out_count(w, "reader_graph", f->reader_graph);
  json_number(w, "output", f->output);
  if (f->cost) {
    fnzi_json_break(w, 5);
    cli_json_cost(w, f->cost);
    fnzi_json_break(w, 5);
  }
  cli_json_place(w, source_of(call, f));
  fnzi_json_close(w, '}');
}

static int json_findings(cli_call *call) {
  size_t count = finding_count(call);
  const char *no_run = fnz_findings_no_run(call->findings);
  fnzi_json_out *w = cli_json_begin(call);
  if (no_run)
    fnzi_json_out_text(w, "no_run", no_run);
  fnzi_json_open_lines(w, "findings", '[', 4, 2);
  for (size_t i = 0; i < count; i++)
    if (is_shown(call, finding_at(call, i)))
      json_finding(call, w, finding_at(call, i));
  fnzi_json_close(w, ']');
  return cli_json_end(call);
}

/* --- SARIF 2.1.0 ------------------------------------------------------------------------------ */
static void sarif_place(const cli_call *call, fnzi_json_out *w, const char *source) {
  fnz_place place = fnz_source_place(source);
  bool known = place.path_size > 0;
  if (!known)
    place = (fnz_place){.path = call->operands[0], .path_size = strlen(call->operands[0])};
  /* The length of the current folder at the beginning of a path, or 0. A reader of SARIF looks for
   * relative paths in the checkout that it shows. */
  char folder[4096];
  const size_t length = getcwd(folder, sizeof folder) ? strlen(folder) : 0;
  bool is_below =
      length > 1 && place.path_size > length + 1 && memcmp(place.path, folder, length) == 0;
  const size_t skipped = is_below && place.path[length] == '/' ? length + 1 : 0;
  fnzi_json_open_as(w, "physicalLocation", '{');
  fnzi_json_open_as(w, "artifactLocation", '{');
  const char *path = place.path + skipped;
  /* A path as a URI reference, with characters escaped that it may not contain. */
  static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  fnz_buffer uri = {0};
  for (size_t i = 0; i < place.path_size - skipped && w->status == FNZ_OK; i++)
    w->status = path[i] && strchr(plain, path[i])
                    ? fnzi_put(w->ctx, &uri, &path[i], 1)
                    : fnzi_printf(w->ctx, &uri, "%%%02X", (unsigned char)path[i]);
  fnzi_json_key(w, "uri");
  fnzi_json_out_string(w, uri.data, uri.size);
  fnz_buffer_free(w->ctx, &uri);
  fnzi_json_close(w, '}');
  if (known && place.line > 0) {
    fnzi_json_open_as(w, "region", '{');
    fnzi_json_out_count(w, "startLine", (uint64_t)place.line);
    fnzi_json_close(w, '}');
  }
  fnzi_json_close(w, '}');
}

/* An object that has a text alone. */
static void sarif_text(fnzi_json_out *w, const char *key, const char *text) {
  fnzi_json_open_as(w, key, '{');
  fnzi_json_out_text(w, "text", text);
  fnzi_json_close(w, '}');
}

/* Another node that the finding is about. */
static void sarif_related(const cli_call *call, fnzi_json_out *w, const char *how, size_t graph,
                          size_t node) {
  if (node == SIZE_MAX)
    return;
  fnzi_json_open(w, '{');
  sarif_place(call, w, fnz_program_node(call->program, graph, node).source);
  sarif_text(w, "message", how);
  fnzi_json_close(w, '}');
}

static void sarif_result(const cli_call *call, fnzi_json_out *w, const fnz_finding *f) {
  char text[1024], cost[512];
  const char *class = class_of(f);
  if (f->cost)
    put_cost(f->cost, cost, sizeof cost);
  snprintf(text, sizeof text, "%s%s%s%s%s", class, *class ? ": " : "", f->cost ? cost : f->what,
           *f->remedy ? "; " : "", f->remedy);
  fnzi_json_open(w, '{');
  fnzi_json_out_text(w, "ruleId", fnz_finding_kind_name(f->kind));
  fnzi_json_out_count(w, "ruleIndex", (uint64_t)f->kind);
  fnzi_json_out_text(w, "level", f->kind == FNZ_FINDING_REFUSED ? "error" : "note");
  fnzi_json_break(w, 7);
  sarif_text(w, "message", text);
  fnzi_json_break(w, 7);
  fnzi_json_open_as(w, "locations", '[');
  fnzi_json_open(w, '{');
  sarif_place(call, w, source_of(call, f));
  fnzi_json_open_as(w, "logicalLocations", '[');
  fnzi_json_open(w, '{');
  fnzi_json_out_text(w, "fullyQualifiedName", f->where);
  fnzi_json_close(w, '}');
  fnzi_json_close(w, ']');
  fnzi_json_close(w, '}');
  fnzi_json_close(w, ']');
  fnzi_json_break(w, 7);
  fnzi_json_open_as(w, "relatedLocations", '[');
  sarif_related(call, w, "the view that it is written through", f->view_graph, f->view);
  sarif_related(call, w, "needed here", f->reader_graph, f->reader);
  fnzi_json_close(w, ']');
  if (f->cost) {
    fnzi_json_break(w, 7);
    fnzi_json_open_as(w, "properties", '{');
    cli_json_cost(w, f->cost);
    fnzi_json_close(w, '}');
  }
  fnzi_json_close(w, '}');
}

/* Says that the tool ran, and why it looked at the text alone, if it did. */
static void sarif_invocation(const cli_call *call, fnzi_json_out *w) {
  const char *no_run = fnz_findings_no_run(call->findings);
  fnzi_json_open_as(w, "invocations", '[');
  fnzi_json_open(w, '{');
  fnzi_json_out_flag(w, "executionSuccessful", true);
  if (no_run) {
    fnzi_json_open_as(w, "toolExecutionNotifications", '[');
    fnzi_json_open(w, '{');
    fnzi_json_out_text(w, "level", "note");
    sarif_text(w, "message", no_run);
    fnzi_json_close(w, '}');
    fnzi_json_close(w, ']');
  }
  fnzi_json_close(w, '}');
  fnzi_json_close(w, ']');
}

static void sarif_tool(fnzi_json_out *w) {
  fnzi_json_open_as(w, "tool", '{');
  fnzi_json_open_as(w, "driver", '{');
  fnzi_json_out_text(w, "name", "fnz");
  fnzi_json_out_text(w, "version", fnz_version());
  fnzi_json_open_lines(w, "rules", '[', 8, 6);
  for (int k = 0; k < FNZ_FINDING_KIND_COUNT; k++) {
    fnzi_json_open(w, '{');
    fnzi_json_out_text(w, "id", fnz_finding_kind_name((fnz_finding_kind)k));
    sarif_text(w, "shortDescription", fnz_finding_kind_words((fnz_finding_kind)k));
    fnzi_json_close(w, '}');
  }
  fnzi_json_close(w, ']');
  fnzi_json_close(w, '}');
  fnzi_json_close(w, '}');
}

static int sarif_findings(cli_call *call) {
  size_t count = finding_count(call);
  fnzi_json_out *w = cli_json(call);
  fnzi_json_open_lines(w, NULL, '{', 2, 0);
  fnzi_json_out_text(w, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
  fnzi_json_out_text(w, "version", "2.1.0");
  fnzi_json_open_as(w, "runs", '[');
  fnzi_json_open_lines(w, NULL, '{', 4, 2);
  sarif_tool(w);
  sarif_invocation(call, w);
  fnzi_json_out_text(w, "columnKind", "unicodeCodePoints");
  fnzi_json_open_lines(w, "results", '[', 6, 4);
  for (size_t i = 0; i < count; i++)
    if (is_shown(call, finding_at(call, i)))
      sarif_result(call, w, finding_at(call, i));
  fnzi_json_close(w, ']');
  fnzi_json_close(w, '}');
  fnzi_json_close(w, ']');
  return cli_json_end(call);
}

/* --- targets ---------------------------------------------------------------------------------- */
static int check_target(cli_call *call) {
  static const struct {
    const char *name;
    int (*check)(cli_call *call, const char *set, const char *path);
    const char *set;
  } targets[] = {
#define TARGET_ROW(name, check, set) {name, check, set},
      CLI_TARGET_ROWS(TARGET_ROW)
#undef TARGET_ROW
  };
  const fnz_target *target = cli_target(call);
  if (target)
    return cli_target_check(call, target, call->operands[0]);
  for (size_t i = 0; cli_has(call, CLI_FOR) && i < sizeof targets / sizeof *targets; i++)
    if (strcmp(call->options[CLI_FOR], targets[i].name) == 0)
      return targets[i].check(call, targets[i].set, call->operands[0]);
  return CLI_DONE;
}

int cli_lint(cli_call *call) {
  fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  if (cli_has(call, CLI_JSON) && cli_has(call, CLI_SARIF))
    return cli_usage(call, "--json and --sarif are two forms of the same; give one");
  CLI_TRY(cli_functionalize_options(call, &options));
  CLI_TRY(cli_read_program(call, call->operands[0], &call->program));
  CLI_TRY(cli_number(call, CLI_MIN_BYTES, 0, 0, INT_MAX, &call->min_bytes));
  fnz_plan_options plan;
  CLI_TRY(cli_plan_options(call, &plan));
  fnz_status status =
      cli_has(call, CLI_TEXT)
          ? fnz_lint(call->ctx, call->program, &options, &call->findings)
          : fnz_lint_run(call->ctx, call->program, &options, &plan, &call->findings);
  CLI_TRY(cli_check(call, status, call->operands[0]));
  CLI_TRY(check_target(call));
  CLI_TRY(cli_has(call, CLI_JSON)    ? json_findings(call)
          : cli_has(call, CLI_SARIF) ? sarif_findings(call)
                                     : print_findings(call));
  /* --fail-on: refused, copy (also what a run copies, or the text if there is no plan), never;
   * without it any finding. */
  const char *on = call->options[CLI_FAIL_ON];
  bool any = false;
  for (size_t i = 0; i < finding_count(call); i++) {
    const fnz_finding_kind kind = finding_at(call, i)->kind;
    if (!is_shown(call, finding_at(call, i)))
      continue;
    bool refused = kind == FNZ_FINDING_REFUSED;
    bool copies = kind == FNZ_FINDING_COPY || kind == FNZ_FINDING_SCATTER;
    any = any || !on ||
          (strcmp(on, "never") != 0 && (refused || (copies && strcmp(on, "copy") == 0)));
  }
  return any ? CLI_NEGATIVE : CLI_DONE;
}
