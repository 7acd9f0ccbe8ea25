/* given.c - finds the input of the program for each array that the caller gives.
 *
 * needs   the inputs of graph 0 with their kinds
 * gives   the name of each input in results, and the array with that name or with its name in the
 *         graph; every array has an input
 *
 * A state array replaces the data of the file, so that the results of one run can be inputs of the
 * next: "output.K" is accepted and ignored. */
#include "base/near.h"
#include "run/numbers.h"
#include "run/run.h"

/* --- names ------------------------------------------------------------------------------------ */
static const char *graph_name(const fnzi_run_state *run, size_t k) {
  return run->graph->values.data[run->graph->inputs[k].u.value].name;
}

static fnz_status name_inputs(fnzi_run_state *run) {
  FNZI_NEW(&run->arena, run->graph->ninputs, &run->bindings);
  for (size_t k = 0; k < run->graph->ninputs; k++) {
    fnzi_run_binding *b = &run->bindings[k];
    const char *target = run->program->inputs[k].target;
    b->kind = run->program->inputs[k].kind;
    if (run->graph->inputs[k].tag != FNZ_ARG_VALUE)
      continue;
    b->target = target == NULL ? graph_name(run, k) : target;
    /* "input.x"; NULL when the signature cannot name it as written. A written constant is state, as
     * a buffer is. */
    const char *prefix = b->kind == FNZ_INPUT_USER        ? "input"
                         : b->kind == FNZ_INPUT_PARAMETER ? "parameter"
                         : b->kind == FNZ_INPUT_BUFFER    ? "buffer"
                         : b->kind == FNZ_INPUT_CONSTANT  ? "buffer"
                                                          : NULL;
    if (prefix != NULL)
      FNZ_TRY(fnzi_arena_dotted(&run->arena, prefix, b->target, &b->name));
  }
  return FNZ_OK;
}

/* A tensor, or a symbolic number, given as an array of one element. The memory of several weights
 * is filled from the weights. */
static bool takes_array(const fnzi_run_state *run, size_t k) {
  const fnzi_run_binding *b = &run->bindings[k];
  bool is_weight = b->kind == FNZ_INPUT_MEMORY && fnzi_weight_find(run->program, b->target);
  return run->graph->inputs[k].tag == FNZ_ARG_SYMBOL ||
         (run->graph->inputs[k].tag == FNZ_ARG_VALUE && !is_weight);
}

/* --- names ----------------------------------------------------------------------------------- */
static bool is_known(const fnzi_run_state *run, const char *name) {
  for (size_t k = 0; k < run->graph->ninputs; k++) {
    const char *full = run->bindings[k].name;
    if (takes_array(run, k) &&
        (strcmp(graph_name(run, k), name) == 0 || (full != NULL && strcmp(full, name) == 0)))
      return true;
  }
  /* "output.K" of this program. */
  static const char prefix[] = "output.";
  const size_t length = sizeof prefix - 1;
  uint64_t number = 0, results = 0;
  for (size_t k = 0; k < run->graph->noutputs; k++)
    results += fnzi_output_is_result(&run->program->outputs[k]);
  if (strncmp(name, prefix, length) != 0 || name[length] == '\0')
    return false;
  for (const char *c = name + length; *c != '\0'; c++) {
    if (*c < '0' || *c > '9' || number > results)
      return false;
    number = 10 * number + (uint64_t)(*c - '0');
  }
  return number < results;
}

/* --- names in messages ------------------------------------------------------------------------ */
/* The name of an input in a message: a state has its full name. */
static const char *said_name(const fnzi_run_state *run, size_t k) {
  const fnzi_run_binding *b = &run->bindings[k];
  return b->name == NULL || b->kind == FNZ_INPUT_USER ? graph_name(run, k) : b->name;
}

/* The name of a weight without its kind counts as near. */
static fnz_status put_near(const fnzi_run_state *run, const char *name, fnz_buffer *out) {
  fnzi_near near = {.count = 0};
  for (size_t k = 0; k < run->graph->ninputs; k++) {
    const fnzi_run_binding *b = &run->bindings[k];
    if (!takes_array(run, k))
      continue;
    const char *said = said_name(run, k);
    bool is_own = b->target != NULL && strcmp(b->target, name) == 0;
    fnzi_near_consider(&near, is_own ? said : name, said, strlen(said));
  }
  if (near.count == 0)
    return FNZ_OK;
  FNZ_TRY(fnzi_put_text(run->ctx, out, "; did you mean "));
  FNZ_TRY(fnzi_near_put(run->ctx, &near, out));
  return fnzi_put_text(run->ctx, out, "?");
}

/* Lists inputs by kind, kinds that callers most often give first, as far as `out` has capacity. */
static fnz_status put_names(const fnzi_run_state *run, fnz_buffer *out) {
  enum { MOST = 360 };
  const char *gap = out->size ? " inputs are " : "; inputs are ";
  for (int kind = 0; kind < FNZ_INPUT_KIND_COUNT; kind++)
    for (size_t i = 0; i < run->graph->ninputs; i++) {
      /* Buffers are given more often than parameters. */
      int wanted = kind == FNZ_INPUT_PARAMETER ? FNZ_INPUT_BUFFER
                   : kind == FNZ_INPUT_BUFFER  ? FNZ_INPUT_PARAMETER
                                               : kind;
      if ((int)run->bindings[i].kind != wanted || !takes_array(run, i))
        continue;
      const fnz_geometry *g = fnzi_input_geometry(run->program, (uint32_t)i);
      const char *name = said_name(run, i);
      char type[FNZI_SHAPE_TEXT] = "";
      if (g)
        fnzi_shape_text(g, type);
      if (out->size + strlen(name) + strlen(type) > MOST)
        return fnzi_put_text(run->ctx, out, ", ...; fnz show prints them");
      FNZ_TRY(fnzi_put_text(run->ctx, out, gap));
      FNZ_TRY(fnzi_put_text(run->ctx, out, name));
      FNZ_TRY(fnzi_put_text(run->ctx, out, g ? ": " : ""));
      FNZ_TRY(fnzi_put_text(run->ctx, out, type));
      gap = ", ";
    }
  return out->size > 0 ? FNZ_OK : fnzi_put_text(run->ctx, out, "; the program has no inputs");
}

fnz_status fnzi_run_find_given(fnzi_run_state *run) {
  const fnz_arrays *inputs = run->options->inputs;
  size_t taken = 0;
  FNZ_TRY(name_inputs(run));
  if (run->hashes || inputs == NULL)
    return FNZ_OK;
  for (size_t k = 0; k < run->graph->ninputs; k++)
    if (takes_array(run, k)) {
      fnzi_run_binding *b = &run->bindings[k];
      const char *name = graph_name(run, k);
      b->given = fnz_arrays_find(inputs, name);
      const fnz_array *again = b->name == NULL ? NULL : fnz_arrays_find(inputs, b->name);
      if (b->given != NULL && again != NULL && again != b->given)
        return fnzi_fail(run->ctx, FNZ_CLASS_DUPLICATE, name,
                         "this input is given twice, as %s and as %s; leave one out", name,
                         b->name);
      b->given = b->given == NULL ? again : b->given;
      taken += b->given != NULL;
    }
  for (size_t i = 0; taken < fnz_arrays_count(inputs) && i < fnz_arrays_count(inputs); i++)
    if (!is_known(run, fnz_arrays_at(inputs, i)->name)) {
      const char *name = fnz_arrays_at(inputs, i)->name;
      fnz_buffer others = {NULL, 0, 0};
      fnz_status status = put_near(run, name, &others);
      if (status == FNZ_OK)
        status = put_names(run, &others);
      if (status == FNZ_OK)
        status = fnzi_fail(run->ctx, FNZ_CLASS_REF, name, "no input has this name%s", others.data);
      fnz_buffer_free(run->ctx, &others);
      return status;
    }
  return FNZ_OK;
}

fnz_status fnzi_run_refuse_missing(const fnzi_run_state *run, const char *name) {
  fnz_buffer others = {NULL, 0, 0};
  fnz_status status = put_names(run, &others);
  if (status == FNZ_OK)
    status =
        fnzi_fail(run->ctx, FNZ_CLASS_REF, name, "no input of this name was given%s", others.data);
  fnz_buffer_free(run->ctx, &others);
  return status;
}

fnz_status fnzi_run_check_array(fnzi_run_state *run, const char *name, const fnz_geometry *g,
                                const fnz_array *array) {
  if (array == NULL)
    return fnzi_run_refuse_missing(run, name);
  if (array->dtype != g->dtype)
    return fnzi_fail(run->ctx, FNZ_CLASS_TYPE, name,
                     "the program takes %s, the array given is %s; cast it before",
                     fnzi_dtype(g->dtype)->name, fnzi_dtype(array->dtype)->name);
  if (array->rank != g->rank)
    return fnzi_fail(run->ctx, FNZ_CLASS_BOUNDS, name,
                     "the program takes %u dimensions, the array given has %u; reshape it before",
                     g->rank, array->rank);
  for (uint32_t d = 0; d < g->rank; d++)
    if (array->sizes[d] != g->sizes[d])
      return fnzi_fail_for(run->ctx, FNZI_REASON_SIZES, FNZ_CLASS_BOUNDS, name,
                           "size %lld of dimension %u was traced, the array given has %lld; give "
                           "that size, or export the program with this dimension dynamic",
                           (long long)g->sizes[d], d, (long long)array->sizes[d]);
  return FNZ_OK;
}

/* A weight counts when it is given, and the file or the program says how large it is. */
static fnz_status check_types(fnzi_run_state *run) {
  for (size_t k = 0; k < run->graph->ninputs; k++) {
    const fnzi_run_binding *b = &run->bindings[k];
    const fnzi_weight *weight = b->target ? fnzi_weight_find(run->program, b->target) : NULL;
    if (run->graph->inputs[k].tag != FNZ_ARG_VALUE ||
        (b->given == NULL && b->kind != FNZ_INPUT_USER))
      continue;
    const fnz_geometry *g =
        weight ? weight->geometry
               : fnzi_run_recorded(run, &run->arena, run->graph->inputs[k].u.value);
    if (g != NULL || b->given == NULL)
      FNZ_TRY(fnzi_run_check_array(run, said_name(run, k), g, b->given));
  }
  return FNZ_OK;
}

fnz_status fnzi_run_check_given(fnz_context *ctx, const fnz_program *program,
                                const fnz_arrays *inputs) {
  const fnzi_run_options options = {.inputs = inputs};
  fnzi_run_state run = {
      .ctx = ctx, .program = program, .graph = fnzi_graph_main(program), .options = &options};
  fnzi_arena_init(&run.arena, ctx);
  fnz_status status = fnzi_run_find_given(&run);
  if (status == FNZ_OK)
    status = fnzi_run_numbers_open(&run);
  if (status == FNZ_OK)
    status = check_types(&run);
  fnzi_run_numbers_close(&run);
  fnzi_arena_free(&run.arena);
  return status;
}
