/* convert.c - reads a program, functionalizes it, checks it with --verify, and writes it. */
#include "cli/cli.h"

#include <string.h>
#include <unistd.h>

typedef struct format_row {
  const char *extension;
  fnz_format format;
  bool writes;
} format_row;

static const format_row formats[] = {
#define FORMAT_ROW(id, name, extension, reads, writes) {extension, FNZ_FORMAT_##id, writes},
    FNZ_FORMAT_ROWS(FORMAT_ROW)
#undef FORMAT_ROW
};

enum { FORMATS = sizeof formats / sizeof *formats };

static int choose_format(const cli_call *call, const char *path, fnz_format *out) {
  const fnz_target *target = cli_target(call);
  *out = target ? target->format : FNZ_FORMAT_TEXT;
  if (cli_has(call, CLI_TO))
    *out = fnz_format_find(call->options[CLI_TO]);
  else if (strcmp(path, "-") != 0) {
    for (int i = 0; i < FORMATS; i++) {
      if (!cli_ends_with(path, formats[i].extension))
        continue;
      *out = formats[i].format;
      return formats[i].writes ? CLI_DONE
                               : cli_fail(call, FNZ_CLASS_UNSUPPORTED, path,
                                          "%s cannot be written yet; use --to cbor or --to text",
                                          formats[i].extension);
    }
    return cli_usage(
        call, "the extension of %s says no format; add --to pt2, json, cbor, text, dot or mlir",
        path);
  }
  if (strcmp(path, "-") != 0) {
    /* Another extension than the format's own would mislead a reader of the file; one that says
     * nothing does not. */
    for (int i = 0; i < FORMATS; i++)
      if (cli_ends_with(path, formats[i].extension) && formats[i].format != *out)
        return cli_usage(
            call, "--to %s contradicts the extension of %s; leave --to out, or name another file",
            fnz_format_name(*out), path);
    return CLI_DONE;
  }
  if (cli_has(call, CLI_JSON))
    return cli_usage(call, "--json and the program cannot both go to standard output; add -o FILE");
  if ((*out == FNZ_FORMAT_CBOR || *out == FNZ_FORMAT_PT2) && isatty(STDOUT_FILENO))
    return cli_usage(call, "%s is not for a terminal; add -o FILE", fnz_format_name(*out));
  return CLI_DONE;
}

static int check_external(const cli_call *call, const char *path, fnz_format format) {
  if (!cli_has(call, CLI_EXTERNAL_WEIGHTS))
    return CLI_DONE;
  if (format != FNZ_FORMAT_CBOR || !cli_ends_with(path, ".cbor"))
    return cli_usage(call, format == FNZ_FORMAT_MLIR
                               ? "--external-weights is for CBOR; weights of mlir lie beside it "
                                 "already, unless --weights says otherwise"
                               : "--external-weights is for CBOR in a file; add -o FILE.cbor");
  return CLI_DONE;
}

static void convert_report(const cli_call *call, const char *path) {
  const fnz_target *target = cli_target(call);
  cli_print_summary(call, stderr, strcmp(path, "-") == 0 ? "(output)" : path);
  if (target)
    fprintf(stderr, "for %s: %s; operators of %s\n", target->name, target->words,
            fnz_target_read_from(target));
  if (cli_has(call, CLI_VERIFY))
    cli_print_equal(call, stderr);
  cli_print_times(call, stderr);
}

/* Checks options that belong to one format or its reader. */
static int check_kinds(const cli_call *call, fnz_format format) {
  const fnz_target *target = cli_target(call);
  if (target && format != target->format &&
      (format == FNZ_FORMAT_MLIR || target->format == FNZ_FORMAT_MLIR))
    return cli_usage(call, "%s reads %s, not %s", target->name, fnz_format_name(target->format),
                     fnz_format_name(format));
  if (format == FNZ_FORMAT_MLIR)
    return CLI_DONE;
  if (cli_has(call, CLI_WEIGHTS))
    return cli_usage(
        call, "--weights says where weights of mlir are, not of %s%s", fnz_format_name(format),
        format == FNZ_FORMAT_CBOR ? "; --external-weights puts those into a file" : "");
  if (cli_has(call, CLI_STATE) && strcmp(call->options[CLI_STATE], "globals") == 0)
    return cli_usage(call, "--state globals is for mlir, not for %s", fnz_format_name(format));
  return CLI_DONE;
}

int cli_convert(cli_call *call) {
  const char *path = cli_has(call, CLI_OUTPUT) ? call->options[CLI_OUTPUT] : "-";
  fnz_format format;
  fnz_mlir_options mlir;
  CLI_TRY(choose_format(call, path, &format));
  CLI_TRY(check_external(call, path, format));
  CLI_TRY(check_kinds(call, format));
  if (call->noperands > 1)
    return cli_methods_convert(call, format, path);
  if (call->nshares)
    return cli_usage(call, "--share is about several programs");
  CLI_TRY(cli_method_open(call));
  if (cli_method_is_missing(call) && (format == FNZ_FORMAT_CBOR || format == FNZ_FORMAT_MLIR))
    return cli_methods_convert(call, format, path);
  /* Readers of PyTorch's own files know plain views, and few of them know `view_copy`. */
  if (!cli_has(call, CLI_VIEWS) && !cli_target(call) &&
      (format == FNZ_FORMAT_PT2 || format == FNZ_FORMAT_JSON))
    call->options[CLI_VIEWS] = "keep";
  if (format == FNZ_FORMAT_MLIR)
    cli_mlir_take_options(call, &mlir);
  CLI_TRY(cli_read_program(call, call->operands[0], &call->program));
  CLI_TRY(cli_functionalize(call, call->program, call->operands[0]));
  cli_warn_constants(call, call->operands[0]);
  CLI_TRY(cli_pairs_begin(call));
  if (cli_has(call, CLI_VERIFY))
    CLI_TRY(cli_compare(call, call->functional, CLI_DEFAULT_TRIALS));
  CLI_TRY(cli_decompose(call, call->operands[0]));
  if (format == FNZ_FORMAT_MLIR)
    CLI_TRY(cli_mlir_prepare(call, call->operands[0]));
  /* Nothing is written that would be refused when it is read: a source may record for a write what
   * its operator never gives. */
  CLI_TRY(cli_check(call, fnz_program_check_types(call->ctx, call->functional, NULL, NULL),
                    call->operands[0]));
  CLI_TRY(format == FNZ_FORMAT_MLIR ? cli_mlir_save(call, &mlir, path)
                                    : cli_save(call, call->functional, format, path));
  CLI_TRY(cli_pairs_save(call));
  if (call->talks)
    convert_report(call, path);
  return cli_has(call, CLI_JSON) ? cli_print_json(call) : cli_flush();
}
