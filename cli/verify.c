/* verify.c - is the functional form, or another program, equal to the original? */
#include "cli/cli.h"

#include <string.h>

/* Chooses the program to compare with the original: none for its own functional form, B, or B
 * without its writes. */
static int choose_other(cli_call *call, const fnz_program **out) {
  if (cli_has(call, CLI_STATE)) {
    /* The functional form with its state as --state says. */
    if (call->other)
      return cli_usage(call, "--state says which functional form of IN is compared; leave out B");
    if (strcmp(call->options[CLI_STATE], "globals") == 0)
      return cli_usage(call, "--state globals is for mlir");
    CLI_TRY(cli_functionalize(call, call->program, call->operands[0]));
    *out = call->functional;
    return CLI_DONE;
  }
  *out = call->other;
  fnz_stats figures = {0};
  if (call->other)
    figures = fnz_program_stats(call->other);
  if (!figures.mutations)
    return CLI_DONE;
  CLI_TRY(cli_functionalize(call, call->other, call->operands[1]));
  *out = call->functional;
  return CLI_DONE;
}

static int verify_report_json(cli_call *call) {
  const fnz_verify_report *seen = &call->seen;
  fnzi_json_out *w = cli_json_begin(call);
  fnzi_json_out_flag(w, "equal", true);
  fnzi_json_out_count(w, "trials", (uint64_t)seen->trials);
  fnzi_json_out_count(w, "sizes", seen->sizes);
  fnzi_json_out_count(w, "bodies", seen->bodies);
  fnzi_json_out_count(w, "bodies_run", seen->bodies_run);
  fnzi_json_out_text(w, "never_run", seen->missed);
  fnzi_json_out_flag(w, "on_inputs", seen->numbers);
  fnzi_json_out_text(w, "not_on_inputs", call->inputs ? seen->no_numbers : "");
  fnzi_json_out_flag(w, "by_engine", cli_has(call, CLI_BY_ENGINE));
  fnzi_json_out_count(w, "predicates", seen->predicates);
  fnzi_json_out_count(w, "predicates_turned", seen->predicates_turned);
  fnzi_json_out_count(w, "weights_without_data", call->other ? seen->weights_without : 0);
  fnzi_json_out_text(w, "not_compared", seen->not_compared);
  fnzi_json_out_text(w, "narrower", seen->narrower);
  cli_json_times(call);
  return cli_json_end(call);
}

/* Reads numbers for the inputs of a run; a program without inputs runs without. */
static int read_numbers(cli_call *call) {
  const fnz_program *program = call->other ? call->other : call->program;
  size_t count;
  (void)fnz_graph_inputs(program, 0, &count);
  if (cli_has(call, CLI_INPUTS))
    return CLI_DONE;
  for (size_t k = 0; k < count; k++)
    if (fnz_program_input(program, k).kind == FNZ_INPUT_USER)
      return cli_usage(call, "--engine runs the program, which takes inputs; give --inputs");
  return cli_read_inputs(call);
}

int cli_verify(cli_call *call) {
  const fnz_program *other = NULL;
  int trials;
  CLI_TRY(cli_number(call, CLI_TRIALS, CLI_DEFAULT_TRIALS, 1, 1000000, &trials));
  CLI_TRY(cli_seed(call));
  CLI_TRY(cli_read_program(call, call->operands[0], &call->program));
  if (call->noperands == 2)
    CLI_TRY(cli_read_program(call, call->operands[1], &call->other));
  if (cli_has(call, CLI_INPUTS))
    CLI_TRY(cli_read_inputs(call));
  if (cli_has(call, CLI_BY_ENGINE))
    CLI_TRY(read_numbers(call));
  CLI_TRY(choose_other(call, &other));
  CLI_TRY(cli_compare(call, other, trials));
  if (cli_has(call, CLI_BY_ENGINE)) {
    /* The engine against the interpreter, bit by bit. */
    const fnz_program *program = call->other ? call->other : call->program;
    fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
    options.check = true;
    if (!call->functional)
      CLI_TRY(cli_functionalize(call, program, call->operands[0]));
    cli_phase_begin(call);
    fnz_status status = fnz_compile(call->ctx, call->functional, &options, &call->executable);
    if (status == FNZ_OK)
      status = fnz_executable_verify(call->ctx, call->executable, call->inputs);
    cli_phase_end(call, CLI_PHASE_VERIFYING);
    CLI_TRY(cli_check(call, status, call->operands[0]));
  }
  if (cli_has(call, CLI_JSON))
    return verify_report_json(call);
  if (!cli_has(call, CLI_QUIET))
    cli_print_equal(call, stdout);
  if (call->talks)
    cli_print_times(call, stderr);
  return cli_flush();
}
