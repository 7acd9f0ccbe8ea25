/* steps.c - the steps of verbs: read, functionalize, compare, write. Each is timed, and stores its
 * result in the call, which destroys it at the end. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

int cli_declare_ops(cli_call *call) {
  const char *path = call->options[CLI_OPS];
  if (!path)
    return CLI_DONE;
  CLI_TRY(cli_check(call, fnz_file_read(call->ctx, path, &call->in), path));
  CLI_TRY(cli_check(call, fnz_ops_declare(call->ctx, path, call->in.data, call->in.size), NULL));
  fnz_buffer_free(call->ctx, &call->in);
  return CLI_DONE;
}

int cli_read_program(cli_call *call, const char *path, fnz_program **out) {
  cli_phase_begin(call);
  CLI_TRY(cli_method_take(call, path, out));
  CLI_TRY(cli_check(call, fnz_program_place_views(call->ctx, *out), path));
  CLI_TRY(cli_check(call, fnz_program_check_types(call->ctx, *out, NULL, NULL), path));
  /* A second program that says itself what aliases is the result of an earlier conversion. */
  bool says = false;
  size_t count;
  fnz_graph_inputs(*out, 0, &count);
  for (size_t k = 0; *out != call->program && k < count; k++)
    says = says || fnz_program_input(*out, k).shares;
  for (int i = 0; i < call->naliases && !says; i++)
    CLI_TRY(cli_check(call, fnz_program_alias(call->ctx, *out, call->aliases[i]), path));
  cli_phase_end(call, CLI_PHASE_READ);
  return CLI_DONE;
}

const fnz_target *cli_target(const cli_call *call) {
  return fnz_target_find(call->options[CLI_FOR]);
}

int cli_functionalize_options(const cli_call *call, fnz_functionalize_options *out) {
  static const char *const states[] = {[FNZ_STATE_OUTPUTS] = "outputs",
                                       [FNZ_STATE_EPILOGUE] = "epilogue",
                                       [FNZ_STATE_IO] = "io",
                                       [FNZ_STATE_BUFFERS] = "buffers"};
  const fnz_target *target = cli_target(call);
  if (target) {
    out->views = target->views;
    out->state = target->state;
  }
  if (cli_has(call, CLI_VIEWS) && strcmp(call->options[CLI_VIEWS], "copy") == 0)
    out->views = FNZ_VIEWS_COPY;
  if (cli_has(call, CLI_VIEWS) && strcmp(call->options[CLI_VIEWS], "keep") == 0)
    out->views = FNZ_VIEWS_KEEP;
  if (cli_has(call, CLI_VIEWS) && strcmp(call->options[CLI_VIEWS], "strided") == 0)
    out->views = FNZ_VIEWS_STRIDED;
  for (size_t i = 0; i < sizeof states / sizeof *states; i++)
    if (cli_has(call, CLI_STATE) && strcmp(call->options[CLI_STATE], states[i]) == 0)
      out->state = (fnz_state)i;
  out->deny = call->denied.data;
  out->ndeny = (size_t)call->denied.count;
  return CLI_DONE;
}

int cli_functionalize(cli_call *call, const fnz_program *program, const char *path) {
  fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  CLI_TRY(cli_functionalize_options(call, &options));
  options.origins = call->keeps_origins ? &call->origins : NULL;
  cli_phase_begin(call);
  CLI_TRY(
      cli_check(call, fnz_functionalize(call->ctx, program, &options, &call->functional), path));
  cli_phase_end(call, CLI_PHASE_FUNCTIONALIZE);
  return CLI_DONE;
}

int cli_read_inputs(cli_call *call) {
  if (!call->ninput_files)
    return cli_check(call, fnz_arrays_create(call->ctx, &call->inputs), NULL);
  const char *first = call->input_files[0];
  CLI_TRY(cli_check(call, fnz_arrays_load(call->ctx, first, &call->inputs), first));
  for (int i = 1; i < call->ninput_files; i++) {
    /* Arrays of further files join the arrays of the first. */
    const char *path = call->input_files[i];
    fnz_status status = FNZ_OK;
    CLI_TRY(cli_check(call, fnz_arrays_load(call->ctx, path, &call->more), path));
    for (size_t k = 0; status == FNZ_OK && k < fnz_arrays_count(call->more); k++) {
      const fnz_array *a = fnz_arrays_at(call->more, k);
      status = cli_array_copy(a, a->name, call->inputs);
    }
    fnz_arrays_destroy(call->more);
    call->more = NULL;
    CLI_TRY(cli_check(call, status, path));
  }
  return CLI_DONE;
}

int cli_compare(cli_call *call, const fnz_program *functional, int trials) {
  cli_phase_begin(call);
  const fnz_verify_options options = {sizeof options, trials, cli_has(call, CLI_IGNORE_WEIGHTS),
                                      !call->other || cli_has(call, CLI_ALLOW_NARROWER),
                                      cli_has(call, CLI_IGNORE_MEMORY)};
  call->seen = (fnz_verify_report)FNZ_VERIFY_REPORT_INIT;
  fnz_status status =
      fnz_verify(call->ctx, call->program, functional, call->inputs, &options, &call->seen);
  cli_phase_end(call, CLI_PHASE_VERIFYING);
  return cli_check(call, status,
                   call->operands[call->nmethods < call->noperands ? call->nmethods : 0]);
}

int cli_serialize(cli_call *call, const fnz_program *program, fnz_format format) {
  cli_phase_begin(call);
  CLI_TRY(cli_check(call, fnz_program_write(call->ctx, program, format, &call->out), NULL));
  cli_phase_end(call, CLI_PHASE_WRITE);
  return CLI_DONE;
}

int cli_save(cli_call *call, const fnz_program *program, fnz_format format, const char *path) {
  cli_phase_begin(call);
  fnz_status status = cli_has(call, CLI_EXTERNAL_WEIGHTS)
                          ? fnz_program_save_external(call->ctx, program, path)
                          : fnz_program_save(call->ctx, program, format, path);
  CLI_TRY(cli_check(call, status, NULL));
  cli_phase_end(call, CLI_PHASE_WRITE);
  return CLI_DONE;
}

int cli_deliver(cli_call *call, const char *path) {
  cli_phase_begin(call);
  CLI_TRY(cli_check(call, fnz_file_write(call->ctx, path, call->out.data, call->out.size), NULL));
  cli_phase_end(call, CLI_PHASE_WRITE);
  return CLI_DONE;
}

int cli_chosen(cli_call *call, const fnz_program **out) {
  CLI_TRY(cli_read_program(call, call->operands[0], &call->program));
  *out = call->program;
  if (!cli_has(call, CLI_FUNCTIONAL))
    return CLI_DONE;
  CLI_TRY(cli_functionalize(call, call->program, call->operands[0]));
  *out = call->functional;
  return CLI_DONE;
}
