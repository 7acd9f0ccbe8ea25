/* run.c - runs a program: its functional form, or the program as read. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_STEPS = 1000000000 };

static int save(cli_call *call, const fnz_arrays *arrays, const char *path) {
  cli_phase_begin(call);
  CLI_TRY(cli_check(call, fnz_arrays_save(call->ctx, arrays, path), NULL));
  cli_phase_end(call, CLI_PHASE_WRITE);
  return CLI_DONE;
}

/* --- As the interpreters do it ---------------------------------------------------------------- */
static bool has_state(const cli_call *call) {
  return cli_has(call, CLI_STATE_FILE) || cli_has(call, CLI_SAVE_STATE) || cli_has(call, CLI_STEPS);
}

static int interpret_steps(cli_call *call) {
  bool original = cli_has(call, CLI_ORIGINAL);
  const fnz_program *program = original ? call->program : call->functional;
  const fnz_run_options options = {sizeof options, original, cli_has(call, CLI_CHECK_SCHEMAS)};
  int steps;
  CLI_TRY(cli_number(call, CLI_STEPS, 1, 1, MOST_STEPS, &steps));
  CLI_TRY(cli_held_open(call));
  cli_phase_begin(call);
  for (int i = 0; i < steps; i++) {
    if (i)
      CLI_TRY(cli_pairs_hand_on(call, program));
    CLI_TRY(cli_held_step(call, program, &options));
  }
  cli_phase_end(call, CLI_PHASE_RUN);
  if (cli_has(call, CLI_SAVE_STATE)) {
    CLI_TRY(cli_pairs_add(call, program, call->held));
    CLI_TRY(cli_method_add_passed(call, call->held));
  }
  return cli_has(call, CLI_SAVE_STATE) ? save(call, call->held, call->options[CLI_SAVE_STATE])
                                       : CLI_DONE;
}

/* --- By the engine ---------------------------------------------------------------------------- */
/* Runs `steps` calls; call->outputs has the results of the last call. */
static int run_steps(cli_call *call, int steps) {
  for (int i = 0; i < steps; i++) {
    if (i)
      CLI_TRY(cli_pairs_hand_on(call, call->functional));
    fnz_arrays_destroy(call->outputs);
    call->outputs = NULL;
    fnz_status status = fnz_arrays_create(call->ctx, &call->outputs);
    if (status == FNZ_OK)
      status = fnz_executable_run_arrays(call->ctx, call->executable, call->inputs, call->state,
                                         call->workspace, call->outputs);
    CLI_TRY(cli_check(call, status, call->operands[0]));
  }
  return CLI_DONE;
}

const char *cli_cache_folder(char *room, size_t size) {
  const char *own = getenv("FNZ_CACHE"), *caches = getenv("XDG_CACHE_HOME");
  if (own)
    return *own ? own : NULL;
  if (!caches || !*caches)
    return NULL;
  int used = snprintf(room, size, "%s/fnz", caches);
  return used > 0 && (size_t)used < size ? room : NULL;
}

static int execute(cli_call *call, int threads) {
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  char folder[4096];
  const char *held[CLI_MOST_HELD];
  int steps;
  options.threads = threads;
  options.device = call->options[CLI_DEVICE];
  options.staging = true;
  options.cache = cli_cache_folder(folder, sizeof folder);
  cli_method_hold(call, &options, held);

  CLI_TRY(cli_number(call, CLI_STEPS, 1, 1, MOST_STEPS, &steps));
  cli_phase_begin(call);
  fnz_status status = fnz_compile(call->ctx, call->functional, &options, &call->executable);
  cli_phase_end(call, CLI_PHASE_RUN);
  CLI_TRY(cli_check(call, status, call->operands[0]));
  if (has_state(call))
    CLI_TRY(cli_state_open(call));
  cli_phase_begin(call);
  CLI_TRY(run_steps(call, steps));
  cli_phase_end(call, CLI_PHASE_RUN);
  if (!cli_has(call, CLI_SAVE_STATE))
    return CLI_DONE;
  fnz_arrays_destroy(call->more);
  call->more = NULL;
  CLI_TRY(cli_check(call, fnz_arrays_create(call->ctx, &call->more), NULL));
  CLI_TRY(cli_check(call, fnz_executable_state_write(call->ctx, call->state, call->more), NULL));
  CLI_TRY(cli_pairs_add(call, call->functional, call->more));
  CLI_TRY(cli_method_add_passed(call, call->more));
  return save(call, call->more, call->options[CLI_SAVE_STATE]);
}

static int evaluate(cli_call *call, int threads) {
  bool interprets =
      cli_has(call, CLI_ORIGINAL) || cli_has(call, CLI_CHECK_SCHEMAS) || cli_has(call, CLI_ENGINE);
  if (!cli_has(call, CLI_ORIGINAL))
    CLI_TRY(cli_functionalize(call, call->program, call->operands[0]));
  if (!interprets)
    return execute(call, threads);
  const char *device = call->options[CLI_DEVICE];
  char folder[4096];
  if (!device || strcmp(device, "cpu") == 0)
    CLI_TRY(cli_check(call, fnz_cpu_backend_create(call->ctx, threads, &call->backend), NULL));
  else
    CLI_TRY(
        cli_check(call,
                  fnz_cuda_backend_create(call->ctx, device, threads,
                                          cli_cache_folder(folder, sizeof folder), &call->backend),
                  NULL));
  if (has_state(call))
    return interpret_steps(call);
  bool original = cli_has(call, CLI_ORIGINAL);
  const fnz_program *program = original ? call->program : call->functional;
  const fnz_run_options options = {sizeof options, original, cli_has(call, CLI_CHECK_SCHEMAS)};
  cli_phase_begin(call);
  fnz_status status =
      fnz_run(call->ctx, program, call->backend, call->inputs, &options, call->outputs);
  cli_phase_end(call, CLI_PHASE_RUN);
  return cli_check(call, status, call->operands[0]);
}

int cli_run(cli_call *call) {
  int threads;
  CLI_TRY(cli_number(call, CLI_THREADS, 0, 1, 4096, &threads));
  CLI_TRY(cli_seed(call));
  CLI_TRY(cli_method_open(call));
  CLI_TRY(cli_read_program(call, call->operands[0], &call->program));
  CLI_TRY(cli_read_inputs(call));
  CLI_TRY(cli_check(call, fnz_arrays_create(call->ctx, &call->outputs), NULL));
  CLI_TRY(evaluate(call, threads));
  if (cli_has(call, CLI_OUTPUTS))
    CLI_TRY(save(call, call->outputs, call->options[CLI_OUTPUTS]));
  if (cli_has(call, CLI_JSON)) {
    /* Lists results without their elements, which are in the file of --outputs. */
    fnzi_json_out *w = cli_json_begin(call);
    fnzi_json_out_text(w, "outputs_file", call->options[CLI_OUTPUTS]);
    fnzi_json_out_text(w, "state_file", call->options[CLI_SAVE_STATE]);
    fnzi_json_open_lines(w, "outputs", '[', 4, 2);
    for (size_t i = 0; i < fnz_arrays_count(call->outputs); i++)
      cli_json_array(w, fnz_arrays_at(call->outputs, i));
    fnzi_json_close(w, ']');
    cli_json_times(call);
    return cli_json_end(call);
  }
  if (!cli_has(call, CLI_OUTPUTS)) {
    cli_print_arrays(call->outputs);
    CLI_TRY(cli_flush());
  }
  if (call->talks)
    cli_print_times(call, stderr);
  return CLI_DONE;
}
