/* refusals.c - nodes that a format, or a set of operators, does not take: findings of lint. */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>

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
}

int cli_refusals_settle(cli_call *call, const char *path) {
  if (call->lost)
    return cli_fail(FNZ_CLASS_NOMEM, path, "out of memory");
  for (size_t i = 0; i < call->nrefusals; i++) { /* behind the last move */
    call->refusals[i].finding.where = call->refusals[i].where;
    call->refusals[i].finding.what = call->refusals[i].what;
  }
  return CLI_DONE;
}
