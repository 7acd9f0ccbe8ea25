/* api.c - runs a program: on aliasing memory where something is written, else without. */
#include "run/eager/interp.h"

#include <fnz/functionalize.h>

/* A program that is functional but for the writes at its end needs memory to write to. */
static fnz_status run_either(fnz_context *ctx, const fnz_program *program, fnz_backend *backend,
                             const fnzi_run_options *options, bool original) {
  FNZ_TRY(fnzi_run_types(ctx, program));
  bool ends_in_writes = fnzi_epilogue_start(program) < fnzi_graph_at(program, 0)->nodes.count;
  return original || ends_in_writes ? fnzi_eag_run(ctx, program, backend, options)
                                    : fnzi_run_functional(ctx, program, backend, options);
}

fnz_status fnz_run(fnz_context *ctx, const fnz_program *program, fnz_backend *backend,
                   const fnz_arrays *inputs, fnz_arrays *outputs) {
  fnzi_run_options options = {.inputs = inputs, .emit = fnzi_run_emit_array, .user = outputs};
  return run_either(ctx, program, backend, &options, false);
}

fnz_status fnz_run_with(fnz_context *ctx, const fnz_program *program, fnz_backend *backend,
                        const fnz_arrays *inputs, const fnz_run_options *options,
                        fnz_arrays *outputs) {
  fnzi_run_options all = {.inputs = inputs, .emit = fnzi_run_emit_array, .user = outputs};
  bool original = options && options->original;
  all.check_schemas = options && options->check_schemas;
  return run_either(ctx, program, backend, &all, original);
}

fnz_status fnz_run_original(fnz_context *ctx, const fnz_program *program, fnz_backend *backend,
                            const fnz_arrays *inputs, fnz_arrays *outputs) {
  fnzi_run_options options = {.inputs = inputs, .emit = fnzi_run_emit_array, .user = outputs};
  return fnzi_eag_run(ctx, program, backend, &options);
}
