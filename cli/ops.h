/* ops.h - what the files of the verb `ops` share: everything that is known of one operator. */
#ifndef FNZ_CLI_OPS_H
#define FNZ_CLI_OPS_H

#include "cli/cli.h"

/* The backends whose kernels are listed. Columns: name, function that makes one. */
#define CLI_BACKEND_ROWS(ROW)                                                                      \
  ROW("cpu", make_cpu)                                                                             \
  ROW("meta", fnz_meta_backend_create)                                                             \
  ROW("cuda", make_cuda)

enum { CLI_BACKENDS = 3 };

typedef struct cli_ops_call {
  cli_call *call;
  const char *names[CLI_BACKENDS];
  fnz_backend *backends[CLI_BACKENDS];
  fnz_buffer example; /* of the operator in hand */
} cli_ops_call;

typedef struct cli_facts {
  const fnz_op *op;
  fnz_rule rule;
  fnz_kernel_facts kernels[CLI_BACKENDS];
  const char *example;
} cli_facts;

/* Does it ask for some operators only? */
bool cli_ops_filtered(const cli_call *call);
/* The name of an operator, NULL for none. */
const char *cli_ops_name(const fnz_op *op);

/* For a person (ops_show.c), and as one JSON object (ops_json.c). */
void cli_ops_show(const cli_ops_call *ops, const cli_facts *facts);
void cli_ops_json(fnzi_json_out *w, const cli_ops_call *ops, const cli_facts *facts);

#endif
