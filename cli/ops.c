/* ops.c - operators of the table and of --ops: all that pass the filters, or one with all facts
 * about it. */
#include "cli/ops.h"

#include <fnmatch.h>
#include <string.h>

/* --- What is known ---------------------------------------------------------------------------- */
static fnz_status make_cpu(fnz_context *ctx, fnz_backend **out) {
  return fnz_cpu_backend_create(ctx, 1, out);
}

/* Facts about kernels for a GPU need no GPU. */
static fnz_status make_cuda(fnz_context *ctx, fnz_backend **out) {
  return fnz_cuda_backend_create(ctx, "sm_90", 1, NULL, out);
}

static int start(cli_ops_call *ops) {
  static const struct {
    const char *name;
    fnz_status (*make)(fnz_context *ctx, fnz_backend **out);
  } rows[CLI_BACKENDS] = {
#define BACKEND_ROW(name, make) {name, make},
      CLI_BACKEND_ROWS(BACKEND_ROW)
#undef BACKEND_ROW
  };
  for (int i = 0; i < CLI_BACKENDS; i++) {
    ops->names[i] = rows[i].name;
    fnz_status status = rows[i].make(ops->call->ctx, &ops->backends[i]);
    if (status != FNZ_UNSUPPORTED) /* a backend that is not built serves nothing */
      CLI_TRY(cli_check(ops->call, status, NULL));
  }
  return CLI_DONE;
}

/* The operators of the call: the table, then the operators of --ops and their derived functional
 * forms. */
static size_t count_ops(const cli_call *call) {
  return fnz_op_count() + fnz_op_declared_count(call->ctx);
}

static const fnz_op *op_at(const cli_call *call, size_t index) {
  size_t table = fnz_op_count();
  return index < table ? fnz_op_at(index) : fnz_op_declared_at(call->ctx, index - table);
}

static int ask_kernel(const cli_ops_call *ops, int backend, const fnz_op *op,
                      fnz_kernel_facts *out) {
  fnz_context *ctx = ops->call->ctx;
  return cli_check(ops->call, fnz_backend_get_kernel(ctx, ops->backends[backend], op, out), NULL);
}

static int know(cli_ops_call *ops, const fnz_op *op, cli_facts *out) {
  *out = (cli_facts){.op = op};
  out->rule = fnz_op_rule(op);
  for (int i = 0; i < CLI_BACKENDS; i++)
    if (ops->backends[i])
      CLI_TRY(ask_kernel(ops, i, op, &out->kernels[i]));
  fnz_buffer_free(ops->call->ctx, &ops->example);
  CLI_TRY(cli_check(ops->call, fnz_op_write_example(ops->call->ctx, op, &ops->example), NULL));
  out->example = ops->example.data;
  return CLI_DONE;
}

/* --- Filters ---------------------------------------------------------------------------------- */
static bool is_pattern(const char *operand) {
  return strpbrk(operand, "*?[") != NULL;
}

/* The name may be a pattern, or leave out the overload. */
static bool has_name(const fnz_op *op, const char *operand) {
  const char *name = fnz_op_name(op);
  if (is_pattern(operand))
    return fnmatch(operand, name, 0) == 0;
  const char *colons = strstr(name, "::"), *base = colons ? colons + 2 : name;
  size_t length = strlen(operand);
  return strncmp(name, operand, length) == 0 &&
         (!name[length] || name + length == base + strcspn(base, "."));
}

/* Filters that nothing can pass are mistakes. */
static int check_filters(const cli_call *call) {
  const char *tag = call->options[CLI_TAG];
  if (cli_has(call, CLI_VIEW) && cli_has(call, CLI_NO_VIEW))
    return cli_usage(call, "--view and --no-view leave none; take one of them");
  for (size_t i = 0; tag && i < count_ops(call); i++)
    if (fnz_op_has_tag(op_at(call, i), tag))
      return CLI_DONE;
  return tag ? cli_usage(call,
                         "no operator has the tag %s; there are core, pointwise and those "
                         "that fnz ops NAME shows",
                         tag)
             : CLI_DONE;
}

/* Does the backend that the option names serve the operator as the option wants it? */
static int check_kernel(const cli_ops_call *ops, cli_option option, const fnz_op *op,
                        bool *wanted) {
  const char *name = ops->call->options[option];
  fnz_kernel_facts facts;
  for (int i = 0; name && *wanted && i < CLI_BACKENDS; i++) {
    if (strcmp(name, ops->names[i]) != 0)
      continue;
    CLI_TRY(ask_kernel(ops, i, op, &facts));
    *wanted = (facts.way != NULL) == (option == CLI_KERNEL);
  }
  return CLI_DONE;
}

/* --- The list --------------------------------------------------------------------------------- */
typedef struct tally {
  size_t all, functional, views, writes;
} tally;

static fnzi_json_out *open_list(cli_call *call) {
  fnzi_json_out *w = cli_json_begin(call);
  fnzi_json_open_lines(w, "operators", '[', 4, 2);
  return w;
}

static int ops_print_entry(cli_ops_call *ops, const fnz_op *op) {
  cli_facts facts;
  if (!cli_has(ops->call, CLI_JSON)) {
    printf("%-10s %s", fnz_op_kind(op), fnz_op_name(op));
    if (cli_has(ops->call, CLI_NO_RULE))
      printf(": %s; %s", fnz_op_rule(op).words, fnz_op_rule(op).remedy);
    putchar('\n');
    return CLI_DONE;
  }
  CLI_TRY(know(ops, op, &facts));
  cli_ops_json(&ops->call->json, ops, &facts);
  cli_json_spill(ops->call);
  return CLI_DONE;
}

static int print_list(cli_ops_call *ops) {
  tally t = {0};
  bool json = cli_has(ops->call, CLI_JSON);
  if (json)
    open_list(ops->call);
  for (size_t i = 0; i < count_ops(ops->call); i++) {
    const fnz_op *op = op_at(ops->call, i);
    const char *kind = ops->call->options[CLI_KIND], *tag = ops->call->options[CLI_TAG];
    const char *composite = ops->call->options[CLI_COMPOSITE];
    bool wanted =
        (!ops->call->noperands || has_name(op, ops->call->operands[0])) &&
        (!kind || strcmp(kind, fnz_op_kind(op)) == 0) && (!tag || fnz_op_has_tag(op, tag)) &&
        (!composite || strcmp(composite, fnz_op_composite(op)) == 0) &&
        !(cli_has(ops->call, CLI_VIEW) && !fnz_op_is_view(op)) &&
        !(cli_has(ops->call, CLI_NO_VIEW) && fnz_op_is_view(op)) &&
        !(cli_has(ops->call, CLI_NO_RULE) && fnz_op_rule(op).action != FNZ_ACTION_REFUSED);
    CLI_TRY(check_kernel(ops, CLI_KERNEL, op, &wanted));
    CLI_TRY(check_kernel(ops, CLI_NO_KERNEL, op, &wanted));
    if (!wanted)
      continue;
    CLI_TRY(ops_print_entry(ops, op));
    t.all++;
    t.functional += strcmp(fnz_op_kind(op), "functional") == 0;
    t.views += fnz_op_is_view(op);
    t.writes += fnz_op_is_mutating(op);
  }
  if (json)
    fnzi_json_close(&ops->call->json, ']');
  if (ops->call->talks)
    fprintf(stderr, "%zu operators: %zu functional, %zu views, %zu that write\n", t.all,
            t.functional, t.views, t.writes);
  CLI_TRY(json ? cli_json_end(ops->call) : cli_flush());
  if (t.all || !ops->call->noperands || cli_ops_filtered(ops->call))
    return CLI_DONE;
  cli_fail(ops->call, FNZ_CLASS_REF, ops->call->operands[0],
           "no operator matches; fnz ops lists all of the table");
  return CLI_NEGATIVE;
}

/* --- One -------------------------------------------------------------------------------------- */
/* A name with its overload is one operator, unless filters ask for a list; a pattern or a name that
 * goes with several overloads is a list. */
static int ops_answer(cli_ops_call *ops) {
  cli_call *call = ops->call;
  const char *operand = call->noperands ? call->operands[0] : "*";
  bool is_list = is_pattern(operand) || cli_ops_filtered(call);
  const fnz_op *op = is_list ? NULL : fnz_op_find(call->ctx, operand);
  /* Programs have some operators without a declaration, which no list has. */
  if (!op && !is_list && strstr(operand, "::") && !strchr(operand, '(') &&
      fnz_op_declare(call->ctx, operand, &op) != FNZ_OK)
    op = NULL;
  if (op) {
    cli_facts facts;
    CLI_TRY(know(ops, op, &facts));
    if (cli_has(ops->call, CLI_JSON)) {
      cli_ops_json(open_list(ops->call), ops, &facts);
      fnzi_json_close(&ops->call->json, ']');
      return cli_json_end(ops->call);
    }
    cli_ops_show(ops, &facts);
    return cli_flush();
  }
  bool is_known = is_pattern(operand);
  for (size_t i = 0; !is_known && i < count_ops(call); i++)
    is_known = has_name(op_at(call, i), operand);
  if (is_known)
    return print_list(ops);
  CLI_TRY(cli_check(call, fnz_op_suggest(call->ctx, operand, &call->out), NULL));
  return call->out.size
             ? cli_fail(call, FNZ_CLASS_REF, operand,
                        "there is no operator of that name; did you mean %s?", call->out.data)
             : cli_fail(call, FNZ_CLASS_REF, operand,
                        "there is no operator of that name; fnz ops lists all of the table");
}

int cli_ops(cli_call *call) {
  cli_ops_call ops = {.call = call};
  if (cli_wants_import(call))
    return cli_ops_import(call);
  CLI_TRY(check_filters(call));
  if (call->noperands && strncmp(call->operands[0], "aten::", strlen("aten::")) == 0)
    call->operands[0] += strlen("aten::");
  int result = start(&ops);
  if (result == CLI_DONE)
    result = ops_answer(&ops);
  for (int i = 0; i < CLI_BACKENDS; i++)
    fnz_backend_destroy(ops.backends[i]);
  fnz_buffer_free(ops.call->ctx, &ops.example);
  return result;
}
