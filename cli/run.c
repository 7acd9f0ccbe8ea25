/* run.c - runs a program on the CPU: its functional form, or the program as read. */
#include "cli/cli.h"

static int write_outputs(cli_call *call) {
  CLI_TRY(
      cli_check(call, fnz_arrays_write_safetensors(call->ctx, call->outputs, &call->out), NULL));
  return cli_deliver(call, call->options[CLI_OUTPUTS]);
}

static int list_outputs(const cli_call *call) {
  for (size_t i = 0; i < fnz_arrays_count(call->outputs); i++)
    cli_print_array(fnz_arrays_at(call->outputs, i));
  return cli_flush();
}

static int evaluate(cli_call *call) {
  bool original = cli_has(call, CLI_ORIGINAL);
  if (!original)
    CLI_TRY(cli_functionalize(call, call->program, call->operands[0]));
  cli_phase_begin(call, CLI_PHASE_RUN);
  const fnz_run_options options = {sizeof options, original, cli_has(call, CLI_CHECK_SCHEMAS)};
  fnz_status status = fnz_run_with(call->ctx, original ? call->program : call->functional,
                                   call->backend, call->inputs, &options, call->outputs);
  cli_phase_end(call, CLI_PHASE_RUN);
  return cli_check(call, status, call->operands[0]);
}

int cli_run(cli_call *call) {
  int threads;
  CLI_TRY(cli_number(call, CLI_THREADS, 0, 1, 4096, &threads));
  CLI_TRY(cli_read_program(call, call->operands[0], &call->program));
  CLI_TRY(cli_read_inputs(call));
  CLI_TRY(cli_check(call, fnz_arrays_create(call->ctx, &call->outputs), NULL));
  CLI_TRY(cli_check(call, fnz_cpu_backend_create(call->ctx, threads, &call->backend), NULL));
  CLI_TRY(evaluate(call));
  CLI_TRY(cli_has(call, CLI_OUTPUTS) ? write_outputs(call) : list_outputs(call));
  if (call->talks)
    cli_print_times(call, stderr);
  return CLI_DONE;
}
