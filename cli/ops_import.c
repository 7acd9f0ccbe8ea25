/* ops_import.c - `fnz ops --import`: reads PyTorch's native_functions.yaml, says what was found in
 * it, or writes the operator table that fnz is built from. */
#include "cli/ops.h"

#include <string.h>

typedef struct count_row {
  const char *key, *text;
} count_row;

static const count_row rows[] = {
#define COUNT_ROW(id, key, text) {key, text},
    FNZ_LIBRARY_COUNT_ROWS(COUNT_ROW)
#undef COUNT_ROW
};

static int import_print_counts(cli_call *call, FILE *to) {
  size_t counts[FNZ_LIBRARY_COUNTS];
  bool json = cli_has(call, CLI_JSON);
  fnzi_json_out *w = json ? cli_json_begin(call) : NULL;
  fnz_library_count_all(call->library, counts);
  for (size_t i = 0; i < FNZ_LIBRARY_COUNTS; i++)
    if (json)
      fnzi_json_out_count(w, rows[i].key, counts[i]);
    else
      fprintf(to, "%-46s %6zu\n", rows[i].text, counts[i]);
  return json ? cli_json_end(call) : CLI_DONE;
}

bool cli_wants_import(const cli_call *call) {
  return cli_has(call, CLI_IMPORT) || cli_has(call, CLI_TAGS) || cli_has(call, CLI_TABLE) ||
         cli_has(call, CLI_OUTPUT);
}

int cli_ops_import(cli_call *call) {
  bool table = cli_has(call, CLI_TABLE) || cli_has(call, CLI_OUTPUT);
  const char *path = cli_has(call, CLI_OUTPUT) ? call->options[CLI_OUTPUT] : "-";
  if (!cli_has(call, CLI_IMPORT))
    return cli_usage(call, "--tags, --to and -o go with --import FILE");
  if (!cli_has(call, CLI_TAGS))
    return cli_usage(call,
                     "--import needs --tags FILE, the tags.yaml beside native_functions.yaml");
  if (call->noperands)
    return cli_usage(call, "--import takes no operator names");
  if (cli_ops_filtered(call) || cli_has(call, CLI_OPS))
    return cli_usage(call, "--import takes all that is in FILE; leave out filters and --ops");
  if (table && cli_has(call, CLI_JSON) && strcmp(path, "-") == 0)
    return cli_usage(call, "--json and the table cannot both go to standard output; add -o FILE");
  fnz_library_source source = {.functions_name = call->options[CLI_IMPORT],
                               .tags_name = call->options[CLI_TAGS]};
  CLI_TRY(cli_check(call, fnz_file_read(call->ctx, source.functions_name, &call->in),
                    source.functions_name));
  CLI_TRY(
      cli_check(call, fnz_file_read(call->ctx, source.tags_name, &call->out), source.tags_name));
  source.functions = call->in.data;
  source.functions_size = call->in.size;
  source.tags = call->out.data;
  source.tags_size = call->out.size;
  CLI_TRY(cli_check(call, fnz_library_read(call->ctx, &source, &call->library), NULL));
  fnz_buffer_free(call->ctx, &call->in);
  fnz_buffer_free(call->ctx, &call->out);
  if (table) {
    CLI_TRY(cli_check(call, fnz_library_write_table(call->ctx, call->library, &call->out), NULL));
    CLI_TRY(cli_check(call, fnz_file_write(call->ctx, path, call->out.data, call->out.size), NULL));
  }
  if (!table || cli_has(call, CLI_JSON))
    CLI_TRY(import_print_counts(call, stdout));
  else if (call->talks)
    CLI_TRY(import_print_counts(call, stderr));
  return cli_flush();
}
