/* method.c - files that have several programs: which of them a verb works on, and the state that
 * they have in common. */
#include "cli/cli.h"

#include <string.h>

/* --- which one -------------------------------------------------------------------------------- */
int cli_method_open(cli_call *call) {
  const char *path = call->operands[0];
  cli_phase_begin(call);
  CLI_TRY(cli_check(call, fnz_methods_load(call->ctx, path, FNZ_FORMAT_AUTO, &call->set), path));
  cli_phase_end(call, CLI_PHASE_READ);
  return CLI_DONE;
}

bool cli_method_is_missing(const cli_call *call) {
  return fnz_methods_count(call->set) > 1 && !cli_has(call, CLI_METHOD);
}

static int refuse_open(const cli_call *call, const fnz_methods *set, const char *path) {
  char names[CLI_LONG];
  size_t used = 0;
  for (size_t k = 0; k < fnz_methods_count(set) && used < sizeof names; k++)
    used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", k ? ", " : "",
                             fnz_methods_at(set, k).name);
  return cli_usage(call, "%s has %zu methods: %s; add --method NAME", path, fnz_methods_count(set),
                   names);
}

static int method_take(cli_call *call, fnz_methods *set, const char *path, fnz_program **out) {
  /* Beside a file of several methods, another one may have the one program that it is compared
   * with. */
  const char *name = call->verb->compares && call->noperands > 1 && fnz_methods_count(set) == 1
                         ? NULL
                         : call->options[CLI_METHOD];
  if (!name && fnz_methods_count(set) > 1)
    return refuse_open(call, set, path);
  return cli_check(call, fnz_methods_take(call->ctx, set, name, out), path);
}

int cli_method_take(cli_call *call, const char *path, fnz_program **out) {
  fnz_methods *set;
  if (call->set && path == call->operands[0])
    return method_take(call, call->set, path, out);
  CLI_TRY(cli_check(call, fnz_methods_load(call->ctx, path, FNZ_FORMAT_AUTO, &set), path));
  int code = method_take(call, set, path, out);
  fnz_methods_destroy(set);
  return code;
}

int cli_method_each(cli_call *call, int (*one)(cli_call *call), int (*each)(cli_call *call)) {
  CLI_TRY(cli_method_open(call));
  if (!cli_method_is_missing(call))
    return one(call);
  if (cli_has(call, CLI_JSON))
    return refuse_open(call, call->set, call->operands[0]);
  for (size_t k = 0; k < fnz_methods_count(call->set); k++) {
    call->options[CLI_METHOD] = fnz_methods_at(call->set, k).name;
    CLI_TRY(each(call));
    cli_call_next(call);
  }
  return CLI_DONE;
}

void cli_method_print(const cli_call *call) {
  cli_put_clean(stdout, call->options[CLI_METHOD], strlen(call->options[CLI_METHOD]));
  putchar('\n');
}

/* --- the state of all ------------------------------------------------------------------------- */
void cli_method_hold(const cli_call *call, fnz_compile_options *options, const char **room) {
  const size_t count = call->set ? fnz_methods_count_weights(call->set) : 0;
  bool is_cpu = !options->device || strcmp(options->device, "cpu") == 0;
  options->held = room;
  for (size_t k = 0; is_cpu && k < count && options->nheld < CLI_MOST_HELD; k++) {
    const fnz_methods_weight w = fnz_methods_weight_at(call->set, k);
    if (w.is_state)
      room[options->nheld++] = w.name;
  }
}

/* "buffer.cache" and "cache" are one. */
static const char *plain(const char *name) {
  return strncmp(name, "buffer.", 7) == 0       ? name + 7
         : strncmp(name, "parameter.", 10) == 0 ? name + 10
                                                : name;
}

static bool is_own(const cli_call *call, const char *name) {
  const fnz_executable *exe = call->executable;
  for (size_t k = 0; exe && k < fnz_executable_count(exe, FNZ_SIDE_STATE); k++) {
    const char *own = fnz_executable_slot(exe, FNZ_SIDE_STATE, k).name;
    if (strcmp(own, name) == 0 || strcmp(plain(own), plain(name)) == 0)
      return true;
  }
  return !exe;
}

int cli_method_split_state(cli_call *call) {
  fnz_arrays *all = call->more;
  if (!call->set || !all)
    return CLI_DONE;
  CLI_TRY(cli_check(call, fnz_arrays_create(call->ctx, &call->passed), NULL));
  fnz_status status = fnz_arrays_create(call->ctx, &call->more);
  for (size_t i = 0; status == FNZ_OK && i < fnz_arrays_count(all); i++) {
    const fnz_array *a = fnz_arrays_at(all, i);
    bool is_common = false;
    for (size_t k = 0; call->set && k < fnz_methods_count_weights(call->set) && !is_common; k++) {
      const fnz_methods_weight w = fnz_methods_weight_at(call->set, k);
      is_common =
          w.is_state && (strcmp(w.name, a->name) == 0 || strcmp(w.name, plain(a->name)) == 0);
    }
    bool passes = is_common && !is_own(call, a->name);
    status = cli_array_copy(a, a->name, passes ? call->passed : call->more);
  }
  fnz_arrays_destroy(all);
  return cli_check(call, status, NULL);
}

int cli_method_add_passed(cli_call *call, fnz_arrays *to) {
  for (size_t i = 0; call->passed && i < fnz_arrays_count(call->passed); i++) {
    const fnz_array *a = fnz_arrays_at(call->passed, i);
    CLI_TRY(cli_check(call, cli_array_copy(a, a->name, to), NULL));
  }
  return CLI_DONE;
}
