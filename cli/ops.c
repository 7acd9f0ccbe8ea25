/* ops.c - the operator table: all names, or one operator with what follows from its schema. */
#include "cli/cli.h"

#include <string.h>

static const char *twin_name(const fnz_op *op) {
  const fnz_op *twin = fnz_op_functional_twin(op);
  return twin ? fnz_op_name(twin) : NULL;
}

/* What runs is the functional twin. */
static bool has_kernel(const fnz_op *op) {
  const fnz_op *twin = fnz_op_functional_twin(op);
  return fnz_cpu_has_kernel(twin ? twin : op);
}

static const char *yes(bool b) {
  return b ? "yes" : "no";
}

static void print_person(const fnz_op *op) {
  const char *twin = twin_name(op);
  printf("%s\n  schema      %s\n  kind        %s\n  functional  %s\n  view        %s\n"
         "  writes      %s\n  cpu kernel  %s\n",
         fnz_op_name(op), fnz_op_schema(op), fnz_op_kind(op), twin ? twin : "none",
         yes(fnz_op_is_view(op)), yes(fnz_op_is_mutating(op)), yes(has_kernel(op)));
}

static void print_member(const char *name, const char *text) {
  printf(", \"%s\": ", name);
  if (text)
    cli_json_string(stdout, text);
  else
    fputs("null", stdout);
}

static const char *json_bool(bool b) {
  return b ? "true" : "false";
}

static void print_json(const fnz_op *op) {
  fputs("{\"name\": ", stdout);
  cli_json_string(stdout, fnz_op_name(op));
  print_member("schema", fnz_op_schema(op));
  print_member("kind", fnz_op_kind(op));
  print_member("functional", twin_name(op));
  printf(", \"view\": %s, \"writes\": %s, \"cpu_kernel\": %s}", json_bool(fnz_op_is_view(op)),
         json_bool(fnz_op_is_mutating(op)), json_bool(has_kernel(op)));
}

static bool wanted(const cli_call *call, const fnz_op *op) {
  const char *kind = call->options[CLI_KIND];
  return !kind || strcmp(kind, fnz_op_kind(op)) == 0;
}

static void print_list(const cli_call *call) {
  bool json = cli_has(call, CLI_JSON);
  const char *gap = "[\n";
  for (size_t i = 0; i < fnz_op_count(); i++) {
    const fnz_op *op = fnz_op_at(i);
    if (!wanted(call, op))
      continue;
    if (!json) {
      printf("%-10s %s\n", fnz_op_kind(op), fnz_op_name(op));
      continue;
    }
    fputs(gap, stdout);
    print_json(op);
    gap = ",\n";
  }
  if (json)
    puts(*gap == '[' ? "[]" : "\n]");
}

static int print_one(const cli_call *call) {
  const fnz_op *op = fnz_op_find(call->operands[0]);
  if (!op)
    return cli_fail(FNZ_CLASS_REF, call->operands[0],
                    "there is no operator of that name; fnz ops lists all");
  if (cli_has(call, CLI_JSON)) {
    print_json(op);
    puts("");
  } else {
    print_person(op);
  }
  return cli_flush();
}

int cli_ops(cli_call *call) {
  if (call->noperands)
    return print_one(call);
  print_list(call);
  return cli_flush();
}
