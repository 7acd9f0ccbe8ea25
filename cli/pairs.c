/* pairs.c - state that the caller holds (--state io): its first values, which the program has no
 * longer, go into a file, and each call's new values are inputs of the next one. */
#include "cli/cli.h"
#include "program/state_io.h"

#include <string.h>

/* --- which inputs ----------------------------------------------------------------------------- */
/* The weight of the program as read that is the user input `name` of its functional form. */
static bool find_weight(const cli_call *call, const char *name, fnz_input_spec *out) {
  size_t count;
  const fnz_arg *inputs = fnz_graph_inputs(call->program, 0, &count);
  for (size_t k = 0; k < count; k++) {
    *out = fnz_program_input(call->program, k);
    if (inputs[k].tag == FNZ_ARG_VALUE && out->kind != FNZ_INPUT_USER &&
        strcmp(fnz_value_name(call->program, 0, inputs[k].u.value), name) == 0)
      return true;
  }
  return false;
}

/* --- elements --------------------------------------------------------------------------------- */
static fnz_status pairs_add(cli_call *call, const char *input, const char *name) {
  const fnz_weight w = fnz_program_weight(call->program, name);
  void *data;
  if (!w.data)
    return FNZ_OK;
  fnz_status status = fnz_arrays_add(call->more, input, w.geometry->dtype, w.geometry->rank,
                                     w.geometry->sizes, &data);
  if (status == FNZ_OK)
    fnzi_geometry_gather(w.geometry, w.data, data);
  return status;
}

/* --- reporting -------------------------------------------------------------------------------- */
int cli_pairs_begin(cli_call *call) {
  size_t count, found = 0;
  const char *first = NULL;
  fnz_input_spec first_spec = {0}, spec;
  const fnz_arg *inputs = fnz_graph_inputs(call->functional, 0, &count);
  if (!fnzi_io_has_pairs(call->functional))
    return cli_has(call, CLI_SAVE_STATE)
               ? cli_usage(call,
                           "--save-state writes initial values of state that the caller holds; "
                           "add --state io")
               : CLI_DONE;
  CLI_TRY(cli_check(call, fnz_arrays_create(call->ctx, &call->more), NULL));
  for (size_t k = 0; k < count; k++) {
    const fnz_input_spec in = fnz_program_input(call->functional, k);
    if (in.kind != FNZ_INPUT_USER || inputs[k].tag != FNZ_ARG_VALUE ||
        !find_weight(call, in.target, &spec))
      continue;
    first_spec = found ? first_spec : spec;
    first = found++ ? first : in.target;
    CLI_TRY(cli_check(call, pairs_add(call, in.target, spec.target), call->operands[0]));
  }
  if (found && !cli_has(call, CLI_SAVE_STATE) && !cli_has(call, CLI_QUIET)) {
    fprintf(stderr, "fnz: NOTE: ");
    cli_put_clean(stderr, call->operands[0], strlen(call->operands[0]));
    fprintf(stderr, ": the caller gives the state now, %zu input%s: ", found, found > 1 ? "s" : "");
    cli_put_clean(stderr, first, strlen(first));
    fprintf(stderr, " begins as the %s \"", fnz_input_kind_name(first_spec.kind));
    cli_put_clean(stderr, first_spec.target, strlen(first_spec.target));
    fprintf(stderr, "\"%s; --save-state FILE writes what they begin as\n",
            found > 1 ? " and so on" : "");
  }
  return CLI_DONE;
}

int cli_pairs_save(cli_call *call) {
  if (!cli_has(call, CLI_SAVE_STATE))
    return CLI_DONE;
  return cli_check(call, fnz_arrays_save(call->ctx, call->more, call->options[CLI_SAVE_STATE]),
                   NULL);
}

/* --- from call to call ------------------------------------------------------------------------ */
/* Result number k of the program, among the arrays of the last call. */
static const fnz_array *find_result(const cli_call *call, const fnz_program *program, size_t k) {
  size_t number = 0;
  char name[32];
  for (size_t i = 0; i < k; i++) {
    const fnz_output_spec spec = fnz_program_output(program, i);
    number += fnzi_output_is_result(&spec);
  }
  snprintf(name, sizeof name, "output.%zu", number);
  return fnz_arrays_find(call->outputs, name);
}

int cli_pairs_add(cli_call *call, const fnz_program *program, fnz_arrays *to) {
  size_t count;
  (void)fnz_graph_outputs(program, 0, &count);
  for (size_t k = 0; k < count; k++) {
    const fnz_output_spec spec = fnz_program_output(program, k);
    const fnz_array *a = fnzi_io_is_new_value(&spec) ? find_result(call, program, k) : NULL;
    if (a)
      CLI_TRY(cli_check(call, cli_array_copy(a, spec.target, to), NULL));
  }
  return CLI_DONE;
}

int cli_pairs_hand_on(cli_call *call, const fnz_program *program) {
  fnz_arrays *next;
  if (!fnzi_io_has_pairs(program))
    return CLI_DONE;
  CLI_TRY(cli_check(call, fnz_arrays_create(call->ctx, &next), NULL));
  int code = cli_pairs_add(call, program, next);
  for (size_t i = 0; code == CLI_DONE && i < fnz_arrays_count(call->inputs); i++) {
    const fnz_array *a = fnz_arrays_at(call->inputs, i);
    /* "x" and "input.x" are one input. */
    if (!fnz_arrays_find(next, strncmp(a->name, "input.", 6) == 0 ? a->name + 6 : a->name))
      code = cli_check(call, cli_array_copy(a, a->name, next), NULL);
  }
  if (code != CLI_DONE) {
    fnz_arrays_destroy(next);
    return code;
  }
  fnz_arrays_destroy(call->inputs);
  call->inputs = next;
  return CLI_DONE;
}
