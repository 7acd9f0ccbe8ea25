/* methods.c - converts several programs to one file: methods in CBOR, or functions of an MLIR
 * module. Their names are the names of their files, or those in a file that has all of them. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- names ------------------------------------------------------------------------------------ */
/* Returns "decode" for "models/decode.pt2"; the caller frees it. NULL: out of memory. */
static char *name_of(const char *path) {
  const char *slash = strrchr(path, '/'), *from = slash ? slash + 1 : path;
  const char *dot = strrchr(from, '.');
  return strndup(from, dot && dot != from ? (size_t)(dot - from) : strlen(from));
}

/* --- weights of other names ------------------------------------------------------------------- */
/* Applies "A=B": renames weight B of a later program to A, its name in the first program. */
static int share(cli_call *call, const char *pair, bool *found, int k) {
  const char *equals = strchr(pair, '=');
  char name[CLI_LONG];
  if (!equals || equals == pair || !equals[1] || (size_t)(equals - pair) >= sizeof name)
    return cli_usage(
        call, "--share %s: expected A=B, weight A of the first program and B of another", pair);
  snprintf(name, sizeof name, "%.*s", (int)(equals - pair), pair);
  if (!fnz_program_weight(call->methods[0], name).name)
    return cli_fail(call, FNZ_CLASS_REF, call->operands[0], "--share %s: there is no weight %s",
                    pair, name);
  if (!fnz_program_weight(call->methods[k], equals + 1).name)
    return CLI_DONE;
  *found = true;
  return cli_check(call, fnz_program_rename_weight(call->ctx, call->methods[k], equals + 1, name),
                   call->operands[k]);
}

/* --- the programs ----------------------------------------------------------------------------- */
/* Functionalizes a program into call->methods. */
static int methods_prepare(cli_call *call, const char *path, fnz_format format) {
  CLI_TRY(cli_read_program(call, path, &call->program));
  CLI_TRY(cli_functionalize(call, call->program, path));
  cli_warn_constants(call, path);
  if (cli_has(call, CLI_VERIFY))
    CLI_TRY(cli_compare(call, call->functional, CLI_DEFAULT_TRIALS));
  CLI_TRY(cli_decompose(call, path));
  if (format == FNZ_FORMAT_MLIR)
    CLI_TRY(cli_mlir_prepare(call, path));
  CLI_TRY(cli_check(call, fnz_program_check_types(call->ctx, call->functional, NULL, NULL), path));
  call->methods[call->nmethods++] = call->functional;
  call->functional = NULL;
  fnz_program_destroy(call->program);
  call->program = NULL;
  return CLI_DONE;
}

/* --- the file --------------------------------------------------------------------------------- */
static int name_all(const cli_call *call, char **names, fnz_method *methods) {
  for (int k = 0; k < call->nmethods; k++) {
    names[k] =
        call->set ? strdup(fnz_methods_at(call->set, (size_t)k).name) : name_of(call->operands[k]);
    if (!names[k])
      return cli_fail(call, FNZ_CLASS_NOMEM, "", "out of memory");
    methods[k] = (fnz_method){names[k], call->methods[k]};
  }
  return CLI_DONE;
}

/* Prints "FILE  2 methods: prefill, decode; 7 weights, 5 of more than one method, 2 of these
 * state". */
static void print_summary(const fnz_methods *set, const char *path) {
  size_t count = fnz_methods_count_weights(set), common = 0, states = 0;
  for (size_t k = 0; k < count; k++) {
    const fnz_methods_weight w = fnz_methods_weight_at(set, k);
    common += w.users > 1;
    states += w.users > 1 && w.is_state;
  }
  cli_put_clean(stderr, path, strlen(path));
  fprintf(stderr, "  %zu methods:", fnz_methods_count(set));
  for (size_t k = 0; k < fnz_methods_count(set); k++) {
    fputs(k ? ", " : " ", stderr);
    cli_put_clean(stderr, fnz_methods_at(set, k).name, strlen(fnz_methods_at(set, k).name));
  }
  fprintf(stderr, "; %zu weights, %zu of more than one method, %zu of these state\n", count, common,
          states);
}

static int save_cbor(cli_call *call, const fnz_method *methods, const char *path) {
  fnz_methods *set;
  fnz_status status = fnz_methods_create(call->ctx, methods, (size_t)call->nmethods, &set);
  if (status == FNZ_BAD_ARGUMENT)
    return cli_usage(call, "%s", fnz_last_error(call->ctx)->message);
  CLI_TRY(cli_check(call, status, NULL));
  status = fnz_methods_save(call->ctx, set, path);
  if (status == FNZ_OK && call->talks)
    print_summary(set, strcmp(path, "-") == 0 ? "(output)" : path);
  fnz_methods_destroy(set);
  return cli_check(call, status, NULL);
}

static int save_mlir(cli_call *call, const fnz_method *methods, const fnz_mlir_options *options,
                     const char *path) {
  fnz_status status =
      fnz_mlir_save_methods(call->ctx, methods, (size_t)call->nmethods, options, path);
  if (status == FNZ_BAD_ARGUMENT)
    return cli_usage(call, "%s", fnz_last_error(call->ctx)->message);
  return cli_check(call, status, NULL);
}

static int methods_check_options(const cli_call *call, fnz_format format) {
  const char *last = call->operands[call->noperands - 1];
  if (strchr(last, '.') && access(last, F_OK) != 0)
    return cli_usage(call, "%s is no file to read; an output is named by -o %s", last, last);
  if (format != FNZ_FORMAT_MLIR && format != FNZ_FORMAT_CBOR)
    return cli_usage(call,
                     "several programs become methods of one CBOR file, or functions of one MLIR "
                     "module; name FILE.cbor or FILE.mlir");
  if (cli_has(call, CLI_EXTERNAL_WEIGHTS))
    return cli_usage(call, "--external-weights is for one program; a file of methods contains its "
                           "weights");
  if (cli_has(call, CLI_JSON) || cli_has(call, CLI_SAVE_STATE))
    return cli_usage(call, "%s is for one program",
                     cli_has(call, CLI_JSON) ? "--json" : "--save-state");
  return CLI_DONE;
}

int cli_methods_convert(cli_call *call, fnz_format format, const char *path) {
  fnz_mlir_options options;
  fnz_method methods[CLI_MOST_METHODS];
  char *names[CLI_MOST_METHODS] = {NULL};
  bool is_given = cli_has(call, CLI_STATE);
  CLI_TRY(methods_check_options(call, format));
  if (format == FNZ_FORMAT_MLIR)
    cli_mlir_take_options(call, &options);
  if (!is_given)
    options.state = FNZ_MLIR_STATE_GLOBALS;
  const char *given = call->options[CLI_METHOD];
  for (int k = 0; !call->set && k < call->noperands; k++)
    CLI_TRY(methods_prepare(call, call->operands[k], format));
  for (size_t k = 0; call->set && k < fnz_methods_count(call->set); k++) {
    call->options[CLI_METHOD] = fnz_methods_at(call->set, k).name;
    CLI_TRY(methods_prepare(call, call->operands[0], format));
  }
  call->options[CLI_METHOD] = given;
  for (int i = 0; i < call->nshares; i++) {
    bool found = false;
    for (int k = 1; k < call->nmethods; k++)
      CLI_TRY(share(call, call->shares[i], &found, k));
    if (!found)
      return cli_fail(call, FNZ_CLASS_REF, call->operands[1],
                      "--share %s: no program after the first has that second weight",
                      call->shares[i]);
  }
  int code = name_all(call, names, methods);
  cli_phase_begin(call);
  if (code == CLI_DONE)
    code = format == FNZ_FORMAT_MLIR ? save_mlir(call, methods, &options, path)
                                     : save_cbor(call, methods, path);
  cli_phase_end(call, CLI_PHASE_WRITE);
  for (int k = 0; k < call->nmethods; k++)
    free(names[k]);
  CLI_TRY(code);
  if (call->talks)
    cli_print_times(call, stderr);
  return cli_flush();
}
