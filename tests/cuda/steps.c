/* steps.c - which steps of a program a GPU computes, on the stand-in for its driver:
 *
 *     steps PROGRAM INPUTS.safetensors
 *
 * A line for each step: "device" or "cpu", the operator ("move", "group"), and why it is the CPU's.
 * scripts/device_steps.sh counts them for many programs. */
#include "engine/device/device.h"

#include <fnz/fnz.h>

#include <stdio.h>
#include <stdlib.h>

static const char *why_of(const fnzi_stp_thunk *thunk, const fnzi_dev_work *work) {
  if (work->why)
    return work->why;
  return thunk->kind == FNZI_STP_THUNK_KERNEL   ? "its kernel has no way"
         : thunk->kind == FNZI_STP_THUNK_TILE   ? "a group with rows"
         : thunk->kind == FNZI_STP_THUNK_REGION ? "it has bodies"
         : thunk->kind == FNZI_STP_THUNK_APPLY
             ? "it is applied: its results have no memory before it"
             : "the interpreter evaluates it";
}

static void print_steps(const fnzi_stp_binding *b) {
  for (size_t i = 0; b->is_open && i < b->thunks.count; i++) {
    const fnzi_stp_thunk *thunk = &b->thunks.data[i];
    const fnzi_dev_work *work = b->device->has_device_steps ? &b->device->works[i] : NULL;
    const char *name = thunk->kind == FNZI_STP_THUNK_MOVE ? "move"
                       : thunk->kind == FNZI_STP_THUNK_TILE
                           ? "group"
                           : fnzi_node_target(fnzi_node_at(b->program, 0, thunk->node));
    if (work && work->on_device)
      printf("device\t%s\t\n", name);
    else
      printf("cpu\t%s\t%s\n", name, work ? why_of(thunk, work) : "no step runs there");
  }
}

static fnz_status run(fnz_context *ctx, const char *program, const fnz_arrays *inputs,
                      fnz_arrays *outputs) {
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  fnz_program *traced, *functional;
  fnz_executable *exe;
  options.threads = 1;
  options.staging = true;
  options.device = "cuda";
  FNZ_TRY(fnz_program_load(ctx, program, FNZ_FORMAT_AUTO, &traced));
  FNZ_TRY(fnz_functionalize(ctx, traced, NULL, &functional));
  FNZ_TRY(fnz_compile(ctx, functional, &options, &exe));
  fnz_status status = fnz_executable_run_arrays(ctx, exe, inputs, NULL, NULL, outputs);
  for (size_t k = 0; status == FNZ_OK && k < FNZI_STP_IDLE; k++) {
    const fnz_workspace *ws = atomic_load(&exe->idle[k]);
    for (size_t i = 0; ws && i < ws->bindings.count; i++)
      print_steps(ws->bindings.data[i]);
  }
  fnz_executable_destroy(exe);
  fnz_program_destroy(functional);
  fnz_program_destroy(traced);
  return status;
}

int main(int argc, char **argv) {
  fnz_context *ctx;
  fnz_arrays *inputs = NULL, *outputs = NULL;
  fnz_buffer bytes = {.data = NULL};
  if (argc != 3 || fnz_context_create(NULL, &ctx) != FNZ_OK)
    return EXIT_FAILURE;
  fnz_status status = fnz_file_read(ctx, argv[2], &bytes);
  if (status == FNZ_OK)
    status = fnz_arrays_read_safetensors(ctx, bytes.data, bytes.size, &inputs);
  if (status == FNZ_OK)
    status = fnz_arrays_create(ctx, &outputs);
  if (status == FNZ_OK)
    status = run(ctx, argv[1], inputs, outputs);
  if (status != FNZ_OK)
    fprintf(stderr, "steps: %s: %s: %s\n", argv[1], fnz_last_error(ctx)->where,
            fnz_last_error(ctx)->message);
  fnz_buffer_free(ctx, &bytes);
  fnz_arrays_destroy(inputs);
  fnz_arrays_destroy(outputs);
  fnz_context_destroy(ctx);
  return status == FNZ_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
