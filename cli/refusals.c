/* refusals.c - nodes that a format, or a set of operators, does not take: findings of lint. */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cli_refuse_node(cli_call *call, size_t graph, size_t node, fnz_class kind, const char *where,
                     const char *what) {
  cli_refusal *grown = realloc(call->refusals, (call->nrefusals + 1) * sizeof *grown);
  call->lost = call->lost || !grown;
  if (!grown)
    return;
  call->refusals = grown;
  cli_refusal *r = &grown[call->nrefusals++];
  *r = (cli_refusal){.finding = {.kind = FNZ_FINDING_REFUSED,
                                 .error = kind,
                                 .graph = graph,
                                 .node = node,
                                 .view = SIZE_MAX,
                                 .reader = SIZE_MAX,
                                 .output = SIZE_MAX,
                                 .remedy = ""}};
  snprintf(r->where, sizeof r->where, "%s", where);
  snprintf(r->what, sizeof r->what, "%s", what);
  r->remedy[0] = 0;
}

int cli_refusals_finish(cli_call *call, const char *path) {
  if (call->lost)
    return cli_fail(call, FNZ_CLASS_NOMEM, path, "out of memory");
  for (size_t i = 0; i < call->nrefusals; i++) { /* behind the last move */
    call->refusals[i].finding.where = call->refusals[i].where;
    call->refusals[i].finding.what = call->refusals[i].what;
    call->refusals[i].finding.remedy = call->refusals[i].remedy;
  }
  return CLI_DONE;
}

/* --- .pt2 files ------------------------------------------------------------------------------- */
/* The remedy follows the last semicolon of a message, if it has one. */
static void refusals_note(void *user, size_t graph, size_t node, const fnz_error *error) {
  cli_call *call = user;
  size_t had = call->nrefusals;
  cli_refuse_node(call, graph, node, error->kind, error->where, error->message);
  if (call->nrefusals == had)
    return;
  cli_refusal *r = &call->refusals[had];
  char *last = NULL;
  for (char *at = r->what; (at = strstr(at, "; ")) != NULL; at += 2)
    last = at;
  snprintf(r->remedy, sizeof r->remedy, "%s",
           last ? last + 2 : "write it with --to cbor, which holds all that fnz does");
  if (last)
    *last = 0;
}

int cli_pt2_check_made(cli_call *call, const char *path) {
  /* The command holds what it has made against the operators, too, before it writes. */
  fnz_status status = fnz_program_check_types(call->ctx, call->functional, NULL, NULL);
  if (status != FNZ_BAD_INPUT && status != FNZ_UNSUPPORTED)
    CLI_TRY(cli_check(call, status, path));
  else
    refusals_note(call, 0, SIZE_MAX, fnz_last_error(call->ctx));
  return cli_check(
      call,
      fnz_program_check_format(call->ctx, call->functional, FNZ_FORMAT_PT2, refusals_note, call),
      path);
}

/* As convert makes them. */
int cli_pt2_check(cli_call *call, const char *set, const char *path) {
  fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  (void)set;
  options.views = FNZ_VIEWS_KEEP;
  CLI_TRY(cli_functionalize_options(call, &options));
  if (fnz_functionalize(call->ctx, call->program, &options, &call->functional) != FNZ_OK)
    return CLI_DONE;
  CLI_TRY(cli_pt2_check_made(call, path));
  return cli_refusals_finish(call, path);
}
