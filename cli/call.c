/* call.c - the life of a call: the phases that are timed, and the end of everything that it owns.
 */
#include "cli/cli.h"

#include <stdlib.h>

void cli_phase_begin(cli_call *call) {
  call->began = cli_now_ms();
}

void cli_phase_end(cli_call *call, cli_phase phase) {
  double spent = cli_now_ms() - call->began;
  cli_progress_clear();
  call->ms[phase] = spent + (call->ms[phase] > 0 ? call->ms[phase] : 0);
}

void cli_call_next(cli_call *call) {
  free(call->unruled);
  call->unruled = NULL;
  call->nunruled = 0;
  fnz_program_destroy(call->functional);
  fnz_program_destroy(call->program);
  call->functional = call->program = NULL;
  fnz_buffer_free(call->ctx, &call->out);
  for (int i = 0; i < CLI_PHASE_COUNT; i++)
    call->ms[i] = -1;
}

void cli_call_end(cli_call *call) {
  free(call->denied.text);
  free(call->apart.text);
  free(call->kept.text);
  free(call->unruled);
  free(call->refusals);
  fnz_generator_destroy(call->generator);
  fnz_workspace_destroy(call->workspace);
  fnz_executable_state_destroy(call->state);
  fnz_executable_destroy(call->executable);
  fnz_backend_destroy(call->backend);
  fnz_library_destroy(call->library);
  fnz_findings_destroy(call->findings);
  fnz_costs_destroy(call->costs);
  fnz_origins_destroy(call->origins);
  fnz_origins_destroy(call->step_origins);
  fnz_arrays_destroy(call->outputs);
  fnz_arrays_destroy(call->inputs);
  fnz_arrays_destroy(call->more);
  fnz_arrays_destroy(call->held);
  fnz_arrays_destroy(call->passed);
  fnz_program_destroy(call->functional);
  fnz_program_destroy(call->made_of);
  fnz_program_destroy(call->other);
  for (int i = 0; i < call->nmethods; i++)
    fnz_program_destroy(call->methods[i]);
  fnz_program_destroy(call->program);
  fnz_methods_destroy(call->set);
  fnz_buffer_free(call->ctx, &call->in);
  fnz_buffer_free(call->ctx, &call->out);
  fnz_buffer_free(call->ctx, &call->json_text);
  fnz_context_destroy(call->ctx);
}
