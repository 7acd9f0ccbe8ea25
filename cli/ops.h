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

int cli_ops_know(cli_ops_call *ops, const fnz_op *op, cli_facts *out);
/* The operators of the call: the table, then the operators of --ops and their derived functional
 * forms. */
size_t cli_ops_count(const cli_call *call);
const fnz_op *cli_ops_at(const cli_call *call, size_t index);
/* Does it ask for some operators only? */
bool cli_ops_filtered(const cli_call *call);
/* The length of "ns::add" in "ns::add.Tensor". */
size_t cli_ops_base_length(const char *name);
/* The name of an operator, NULL for none. */
const char *cli_ops_name(const fnz_op *op);

/* For a person (ops_show.c), and as one JSON object (ops_json.c). */
void cli_ops_show(const cli_ops_call *ops, const cli_facts *facts);
void cli_ops_json(fnzi_json_out *w, const cli_ops_call *ops, const cli_facts *facts);

#endif
