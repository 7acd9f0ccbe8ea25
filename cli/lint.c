/* lint.c - lists refusals and copies before anything is converted: for people, as JSON, or as SARIF
 * for editors and code review. */
#include "cli/explain.h"

#include <string.h>

/* The number of findings: of the pass, then of a format. */
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

static const char *class_of(const fnz_finding *f) {
  return f->kind == FNZ_FINDING_REFUSED ? fnz_class_name(f->error) : "";
}

/* --- for people ------------------------------------------------------------------------------- */
enum { INDENT = 2 };

/* Words one after the other, in new lines, `indent` deep, where they reach the end. `at`:
 * characters of this line that are taken. */
static void print_wrapped(const char *text, size_t at, size_t indent) {
  while (*text) {
    size_t length = strcspn(text, " ");
    if (at + 1 + length > CLI_WIDTH) {
      printf("\n%*s", (int)indent, "");
      at = indent;
    } else if (at > indent) {
      putchar(' ');
      at++;
    }
    cli_put_clean(stdout, text, length);
    at += length;
    text += length;
    text += strspn(text, " ");
  }
  putchar('\n');
}

/* "model.py:7: refused, OVERLAP:", or the node where the line is not known. */
static size_t print_head(const cli_call *call, const fnz_finding *f) {
  char head[256];
  const fnz_place place = fnz_source_place(source_of(call, f));
  const char *class = class_of(f);
  if (place.path_size)
    snprintf(head, sizeof head, "%.*s:%ld", (int)(place.path_size < 160 ? place.path_size : 160),
             place.path, place.line);
  else
    snprintf(head, sizeof head, "%.200s", f->where);
  size_t used = strlen(head);
  snprintf(head + used, sizeof head - used, ": %s%s%s:", fnz_finding_kind_name(f->kind),
           *class ? ", " : "", class);
  cli_put_clean(stdout, head, strlen(head));
  return strlen(head);
}

/* Prints the remedy only if the previous finding has not printed the same one. */
static int print_finding(cli_call *call, const fnz_finding *f, const char *said) {
  print_wrapped(f->what, print_head(call, f), INDENT);
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
    print_wrapped(f->remedy, INDENT + CLI_LABEL, INDENT + CLI_LABEL);
  }
  return CLI_DONE;
}

static int print_findings(cli_call *call) {
  size_t count = finding_count(call), refused = 0;
  const char *said = "";
  for (size_t i = 0; i < count; i++) {
    const fnz_finding *f = finding_at(call, i);
    refused += f->kind == FNZ_FINDING_REFUSED;
    CLI_TRY(print_finding(call, f, said));
    said = f->remedy;
    putchar('\n');
  }
  if (!cli_has(call, CLI_QUIET))
    printf(count ? "%zu found, %zu of them refused\n" : "nothing to say\n", count, refused);
  return CLI_DONE;
}

/* --- for programs ----------------------------------------------------------------------------- */
static void json_member(const char *name, const char *value) {
  printf("\"%s\": ", name);
  cli_json_string(stdout, value);
}

static void json_number(const char *name, size_t value) {
  if (value != SIZE_MAX)
    printf(", \"%s\": %zu", name, value);
}

/* A node that may be of another graph than the finding. */
static void json_other(const char *name, const fnz_finding *f, size_t graph, size_t node) {
  json_number(name, node);
  if (node != SIZE_MAX && graph != f->graph)
    printf(", \"%s_graph\": %zu", name, graph);
}

static void json_finding(const cli_call *call, const fnz_finding *f) {
  printf("  {");
  json_member("kind", fnz_finding_kind_name(f->kind));
  printf(", ");
  json_member("class", class_of(f));
  printf(", ");
  json_member("where", f->where);
  printf(",\n   ");
  json_member("what", f->what);
  printf(",\n   ");
  json_member("remedy", f->remedy);
  printf(",\n   \"graph\": %zu", f->graph);
  json_number("node", f->node);
  json_other("view", f, f->view_graph, f->view);
  json_other("reader", f, f->reader_graph, f->reader);
  json_number("output", f->output);
  printf(", ");
  cli_json_place(stdout, source_of(call, f));
  putchar('}');
}

static void json_findings(const cli_call *call) {
  size_t count = finding_count(call);
  printf("[");
  for (size_t i = 0; i < count; i++) {
    printf(i ? ",\n" : "\n");
    json_finding(call, finding_at(call, i));
  }
  printf(count ? "\n]\n" : "]\n");
}

/* --- SARIF 2.1.0 ------------------------------------------------------------------------------ */
/* Prints a path as a URI reference, and escapes characters that it may not contain. */
static void sarif_uri(const char *path, size_t size) {
  static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  putchar('"');
  for (size_t i = 0; i < size; i++)
    if (path[i] && strchr(plain, path[i]))
      putchar(path[i]);
    else
      printf("%%%02X", (unsigned char)path[i]);
  putchar('"');
}

static void sarif_location(const cli_call *call, const fnz_finding *f) {
  const fnz_place place = fnz_source_place(source_of(call, f));
  bool known = place.path_size > 0;
  printf("{\"physicalLocation\": {\"artifactLocation\": {\"uri\": ");
  if (known)
    sarif_uri(place.path, place.path_size);
  else
    sarif_uri(call->operands[0], strlen(call->operands[0]));
  printf("}");
  if (known && place.line > 0)
    printf(", \"region\": {\"startLine\": %ld}", place.line);
  printf("}, \"logicalLocations\": [{");
  json_member("fullyQualifiedName", f->where);
  printf("}]}");
}

static void sarif_result(const cli_call *call, const fnz_finding *f) {
  char text[1024];
  const char *class = class_of(f);
  snprintf(text, sizeof text, "%s%s%s%s%s", class, *class ? ": " : "", f->what,
           *f->remedy ? "; " : "", f->remedy);
  printf("      {");
  json_member("ruleId", fnz_finding_kind_name(f->kind));
  printf(", \"ruleIndex\": %d, ", (int)f->kind);
  json_member("level", f->kind == FNZ_FINDING_REFUSED ? "error" : "note");
  printf(",\n       \"message\": {");
  json_member("text", text);
  printf("},\n       \"locations\": [");
  sarif_location(call, f);
  printf("]}");
}

static void sarif_rules(void) {
  for (int k = 0; k < FNZ_FINDING_KIND_COUNT; k++) {
    printf("%s        {", k ? ",\n" : "");
    json_member("id", fnz_finding_kind_name((fnz_finding_kind)k));
    printf(", \"shortDescription\": {");
    json_member("text", fnz_finding_kind_words((fnz_finding_kind)k));
    printf("}}");
  }
}

static void sarif_findings(const cli_call *call) {
  size_t count = finding_count(call);
  printf("{\n  \"$schema\": \"https://json.schemastore.org/sarif-2.1.0.json\",\n"
         "  \"version\": \"2.1.0\",\n  \"runs\": [{\n"
         "    \"tool\": {\"driver\": {\"name\": \"fnz\", \"version\": \"%s\", \"rules\": [\n",
         fnz_version());
  sarif_rules();
  printf("\n      ]}},\n    \"columnKind\": \"unicodeCodePoints\",\n    \"results\": [");
  for (size_t i = 0; i < count; i++) {
    printf(i ? ",\n" : "\n");
    sarif_result(call, finding_at(call, i));
  }
  printf(count ? "\n    ]\n  }]\n}\n" : "]\n  }]\n}\n");
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
  CLI_TRY(cli_check(call, fnz_lint(call->ctx, call->program, &options, &call->findings),
                    call->operands[0]));
  CLI_TRY(check_target(call));
  if (cli_has(call, CLI_JSON))
    json_findings(call);
  else if (cli_has(call, CLI_SARIF))
    sarif_findings(call);
  else
    CLI_TRY(print_findings(call));
  CLI_TRY(cli_flush());
  return finding_count(call) ? CLI_NEGATIVE : CLI_DONE;
}
