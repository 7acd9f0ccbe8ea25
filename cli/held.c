/* held.c - the state of a program for the interpreters, which hold none: arrays that each call is
 * given, and that it gives anew.
 *
 * An executable says which arrays these are, their names and their first elements. When an original
 * cannot be functionalized, there is no executable: then the state is made of the arrays of --state
 * and of the buffers and parameters that runs write. */
#include "cli/cli.h"

#include <string.h>

/* --- The state of an executable --------------------------------------------------------------- */

int cli_state_open(cli_call *call) {
  const char *path = call->options[CLI_STATE_FILE];
  if (path)
    CLI_TRY(cli_check(call, fnz_arrays_load(call->ctx, path, &call->more), path));
  CLI_TRY(cli_method_split_state(call));
  if (!call->executable)
    return CLI_DONE;
  /* A state keeps values but no geometry. A geometry that t_() or squeeze_() changes would be reset
   * at each call, so such programs are refused. */
  for (size_t k = 0; k < fnz_executable_count(call->executable, FNZ_SIDE_OUTPUT); k++) {
    fnz_slot slot = fnz_executable_slot(call->executable, FNZ_SIDE_OUTPUT, k);
    if (!slot.in_state &&
        (strncmp(slot.name, "buffer.", 7) == 0 || strncmp(slot.name, "parameter.", 10) == 0))
      return cli_fail(call, FNZ_CLASS_UNSUPPORTED, call->operands[0],
                      "%s gets other sizes or strides, which no state holds; run single calls, "
                      "without --state, --save-state and --steps",
                      slot.name);
  }
  CLI_TRY(cli_check(call, fnz_executable_state_create(call->ctx, call->executable, &call->state),
                    NULL));
  return path ? cli_check(call, fnz_executable_state_read(call->ctx, call->state, call->more), path)
              : CLI_DONE;
}

/* --- Which arrays ----------------------------------------------------------------------------- */
static bool is_in_state(const cli_call *call, const char *name) {
  const fnz_executable *exe = call->executable;
  for (size_t k = 0; exe && k < fnz_executable_count(exe, FNZ_SIDE_STATE); k++)
    if (strcmp(fnz_executable_slot(exe, FNZ_SIDE_STATE, k).name, name) == 0)
      return true;
  return !exe && (strncmp(name, "buffer.", 7) == 0 || strncmp(name, "parameter.", 10) == 0);
}

/* --- Arrays ----------------------------------------------------------------------------------- */
static fnz_status copy(const fnz_array *a, fnz_arrays *to) {
  void *data;
  fnz_status status = fnz_arrays_add(to, a->name, a->dtype, a->rank, a->sizes, &data);
  if (status == FNZ_OK && a->bytes)
    memcpy(data, a->data, a->bytes);
  return status;
}

static fnz_status copy_all(const fnz_arrays *from, fnz_arrays *to) {
  fnz_status status = FNZ_OK;
  for (size_t i = 0; status == FNZ_OK && i < fnz_arrays_count(from); i++)
    status = copy(fnz_arrays_at(from, i), to);
  return status;
}

static int renew(cli_call *call, fnz_arrays **arrays) {
  fnz_arrays_destroy(*arrays);
  *arrays = NULL;
  return cli_check(call, fnz_arrays_create(call->ctx, arrays), NULL);
}

/* --- Before the first call -------------------------------------------------------------------- */

int cli_held_open(cli_call *call) {
  fnz_arrays *all = NULL;
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  const char *held[CLI_MOST_HELD];
  fnz_status compiled = FNZ_OK;
  options.threads = 1;
  options.unplanned = true; /* it never runs */
  cli_method_hold(call, &options, held);
  if (!call->functional)
    compiled = fnz_functionalize(call->ctx, call->program, NULL, &call->functional);
  if (compiled == FNZ_OK)
    compiled = fnz_compile(call->ctx, call->functional, &options, &call->executable);
  CLI_TRY(compiled == FNZ_NO_MEMORY ? cli_check(call, compiled, NULL) : CLI_DONE);
  CLI_TRY(cli_state_open(call));
  CLI_TRY(renew(call, &call->held));
  if (!call->executable)
    return call->more ? cli_check(call, copy_all(call->more, call->held), NULL) : CLI_DONE;
  fnz_status status = fnz_arrays_create(call->ctx, &all);
  if (status == FNZ_OK) {
    status = fnz_executable_state_write(call->ctx, call->state, all);
    for (size_t i = 0; status == FNZ_OK && i < fnz_arrays_count(all); i++) {
      const fnz_array *a = fnz_arrays_at(all, i);
      const char *target = strchr(a->name, '.') + 1;
      /* The file has data for it, or --state. */
      if (fnz_program_weight(call->functional, target).data ||
          (call->more &&
           (fnz_arrays_find(call->more, a->name) || fnz_arrays_find(call->more, target))))
        status = copy(a, call->held);
    }
  }
  fnz_arrays_destroy(all);
  return cli_check(call, status, NULL);
}

/* --- One call --------------------------------------------------------------------------------- */

int cli_held_step(cli_call *call, const fnz_program *program, const fnz_run_options *options) {
  fnz_arrays *given = NULL, *next = NULL;
  /* Inputs and state go into call->more. */
  CLI_TRY(renew(call, &call->more));
  for (size_t i = 0; i < fnz_arrays_count(call->inputs); i++)
    if (is_in_state(call, fnz_arrays_at(call->inputs, i)->name))
      return cli_fail(call, FNZ_CLASS_REF, call->operands[0],
                      "%s: the state has it; an array for it goes into the state",
                      fnz_arrays_at(call->inputs, i)->name);
  CLI_TRY(cli_check(call, copy_all(call->inputs, call->more), NULL));
  CLI_TRY(cli_check(call, copy_all(call->held, call->more), NULL));
  CLI_TRY(renew(call, &call->outputs));
  fnz_status status = fnz_arrays_create(call->ctx, &given);
  if (status == FNZ_OK)
    status = fnz_arrays_create(call->ctx, &next);
  if (status == FNZ_OK)
    status = fnz_run(call->ctx, program, call->backend, call->more, options, given);
  /* The arrays that the call gives are results, or the state from now on. The rest of the state
   * stays as it was, in its place. */
  for (size_t i = 0; status == FNZ_OK && i < fnz_arrays_count(call->held); i++) {
    const fnz_array *old = fnz_arrays_at(call->held, i);
    const fnz_array *new = fnz_arrays_find(given, old->name);
    status = copy(new ? new : old, next);
  }
  for (size_t i = 0; status == FNZ_OK && i < fnz_arrays_count(given); i++) {
    const fnz_array *a = fnz_arrays_at(given, i);
    if (!is_in_state(call, a->name))
      status = copy(a, call->outputs);
    else if (!fnz_arrays_find(next, a->name))
      status = copy(a, next);
  }
  fnz_arrays_destroy(given);
  fnz_arrays_destroy(call->held);
  call->held = next;
  return cli_check(call, status, call->operands[0]);
}
