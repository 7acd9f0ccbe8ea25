/* api.c - runs a program: on aliasing memory where something is written, else without. */
#include "run/eager/interp.h"

#include <fnz/run.h>

fnz_status fnz_run(fnz_context *ctx, const fnz_program *program, fnz_backend *backend,
                   const fnz_arrays *inputs, const fnz_run_options *options, fnz_arrays *outputs) {
  fnz_run_options o = FNZ_RUN_OPTIONS_INIT;
  FNZ_TRY(fnzi_options_take(ctx, options, sizeof o, &o));
  FNZ_TRY(fnzi_backend_check(ctx, backend));
  FNZ_TRY(fnzi_run_types(ctx, program));
  const fnzi_run_options all = {.inputs = inputs,
                                .check_schemas = o.check_schemas,
                                .emit = fnzi_run_emit_array,
                                .user = outputs};
  /* A program that is functional except for the writes at its end needs memory to write to. */
  bool ends_in_writes = fnzi_epilogue_start(program) < fnzi_graph_main(program)->nodes.count;
  const bool is_eager = o.original || ends_in_writes;
  if (!is_eager)
    FNZ_TRY(fnzi_run_values_check(ctx, program));
  FNZ_TRY(fnzi_program_check_files(ctx, program));
  fnzi_task_begin(ctx, "run", NULL, 0);
  fnz_status status = is_eager ? fnzi_eag_run(ctx, program, backend, &all)
                               : fnzi_run_functional(ctx, program, backend, &all);
  return fnzi_task_end(ctx, status);
}
