/* outputs.c - the results of a run by their names, and the final values of written inputs. */
#include "program/formats/formats.h"
#include "run/run.h"

/* A hash for each byte of a number. */
enum { MOST_CELL = sizeof(int64_t) * sizeof(fnzi_cell) };

fnz_dtype fnzi_run_number_element(const fnz_arg *number, void *out) {
  const bool truth = number->u.i != 0;
  if (number->tag == FNZ_ARG_BOOL)
    memcpy(out, &truth, sizeof truth);
  else
    memcpy(out, &number->u, sizeof number->u.i);
  return number->tag == FNZ_ARG_BOOL ? FNZ_BOOL : number->tag == FNZ_ARG_FLOAT ? FNZ_F64 : FNZ_I64;
}

/* A number as a tensor without dimensions. Over hashes its cell begins with the number, and one
 * that nothing says is left out. */
static fnz_status emit_number(fnzi_run_state *run, const char *name, const fnz_arg *arg) {
  unsigned char cell[MOST_CELL] = {0};
  fnz_arg number = *arg;
  bool found = true;
  if (arg->tag == FNZ_ARG_SYMBOL && run->hashes)
    FNZ_TRY(fnzi_run_number_find(run, arg->u.value, &found, &number));
  else if (arg->tag == FNZ_ARG_SYMBOL)
    FNZ_TRY(fnzi_at(run->ctx, fnzi_run_number_of(run, arg->u.value, &number), "%s", name));
  if (!found)
    return FNZ_OK;
  const fnz_geometry g = {.dtype = fnzi_run_number_element(&number, cell)};
  return run->options->emit(run->options->user, name, &g, cell,
                            run->backend->cell_bytes(run->backend->self, g.dtype));
}

bool fnzi_run_is_number(const fnz_arg *arg) {
  return arg->tag == FNZ_ARG_SYMBOL || arg->tag == FNZ_ARG_INT || arg->tag == FNZ_ARG_FLOAT ||
         arg->tag == FNZ_ARG_BOOL;
}

/* finals: the name of an input -> the value that the signature names as its final one. */
static fnz_status find_finals(fnzi_run_state *run, fnzi_map *finals) {
  for (size_t k = 0; k < run->graph->noutputs; k++) {
    const fnz_output_spec *spec = &run->program->outputs[k];
    const fnz_arg *arg = &run->graph->outputs[k];
    const char *prefix = fnzi_output_kind_of(spec)->prefix, *name;
    if (prefix == NULL || arg->tag != FNZ_ARG_VALUE || spec->target == NULL)
      continue;
    FNZ_TRY(fnzi_arena_dotted(&run->arena, prefix, spec->target, &name));
    FNZ_TRY(fnzi_map_set(finals, name, strlen(name), arg->u.value));
  }
  return FNZ_OK;
}

static fnz_status visit_inputs(fnzi_run_state *run, const fnzi_map *finals,
                               fnzi_run_output_fn *visit, fnzi_run_input_fn *rest, void *user) {
  for (size_t k = 0; k < run->graph->ninputs; k++) {
    const fnzi_run_binding *b = &run->bindings[k];
    uint64_t value;
    if (b->name == NULL)
      continue;
    if (fnzi_map_get(finals, b->name, strlen(b->name), &value))
      FNZ_TRY(visit(user, b->name, value));
    else if (b->memory != NULL)
      FNZ_TRY(rest(user, k));
  }
  return FNZ_OK;
}

fnz_status fnzi_run_outputs(fnzi_run_state *run, fnzi_run_output_fn *visit, fnzi_run_input_fn *rest,
                            void *user) {
  fnzi_map finals;
  /* "output.K", of tensors and of numbers. */
  size_t number = 0;
  for (size_t k = 0; k < run->graph->noutputs; k++) {
    const fnz_arg *arg = &run->graph->outputs[k];
    char name[32] = "output.";
    if (!fnzi_output_is_result(&run->program->outputs[k]))
      continue;
    fnzi_int_text((int64_t)number++, name + strlen(name));
    if (arg->tag == FNZ_ARG_VALUE)
      FNZ_TRY(visit(user, name, arg->u.value));
    else if (fnzi_run_is_number(arg))
      FNZ_TRY(emit_number(run, name, arg));
  }
  /* Final values of memory that inputs were moved away from. */
  const fnzi_graph *g = run->graph;
  for (size_t k = 0; k < g->noutputs; k++) {
    const fnz_output_spec *spec = &run->program->outputs[k];
    const char *name;
    if (spec->kind != FNZ_OUTPUT_MEMORY_MUTATION || g->outputs[k].tag != FNZ_ARG_VALUE ||
        fnzi_run_is_whole_memory(run->program, spec->target))
      continue;
    FNZ_TRY(fnzi_arena_dotted(&run->arena, "memory", spec->target, &name));
    FNZ_TRY(visit(user, name, g->outputs[k].u.value));
  }
  fnzi_map_init(&finals, run->ctx);
  fnz_status status = find_finals(run, &finals);
  if (status == FNZ_OK)
    status = visit_inputs(run, &finals, visit, rest, user);
  fnzi_map_free(&finals);
  return status;
}

bool fnzi_run_shows_unwritten(const fnzi_run_state *run, const fnzi_run_binding *b) {
  return run->options->everything && b->kind != FNZ_INPUT_CONSTANT &&
         fnzi_run_memory_has_data(b->memory);
}

fnz_status fnzi_run_left_constant(fnzi_run_state *run, const fnzi_run_binding *b,
                                  const char **out) {
  *out = NULL;
  if (!run->options->everything || b->kind != FNZ_INPUT_CONSTANT ||
      !fnzi_run_memory_has_data(b->memory))
    return FNZ_OK;
  return fnzi_arena_dotted(&run->arena, FNZI_RUN_LEFT_CONSTANT, b->target, out);
}

fnz_status fnzi_run_emit(fnzi_run_state *run, const char *name, const fnz_geometry *g,
                         fnz_handle value) {
  const fnzi_run_series *series = run->options->series;
  fnzi_cell start;
  size_t bytes;
  if (series && series->find(value, &start))
    return series->emit(run->options->user, name, g, start);
  FNZ_TRY(fnzi_run_dense_bytes(run, g, &bytes));
  void *cells = fnzi_resize(run->ctx, NULL, 0, bytes + 1);
  if (cells == NULL)
    return fnzi_no_memory(run->ctx);
  fnz_status status = run->backend->download(run->backend->self, run->ctx, value, cells);
  if (status == FNZ_OK)
    status = run->options->emit(run->options->user, name, g, cells, bytes);
  fnzi_free(run->ctx, cells, bytes + 1);
  return status;
}

fnz_status fnzi_run_emit_nothing(void *user, const char *name, const fnz_geometry *g,
                                 const void *cells, size_t bytes) {
  (void)user, (void)name, (void)g, (void)cells, (void)bytes;
  return FNZ_OK;
}

fnz_status fnzi_run_emit_array(void *user, const char *name, const fnz_geometry *g,
                               const void *cells, size_t bytes) {
  fnz_dtype dtype = g->dtype;
  int64_t sizes[FNZ_MAX_RANK + 1];
  uint32_t rank = g->rank;
  for (uint32_t d = 0; d < rank; d++)
    sizes[d] = g->sizes[d];
  size_t wanted = (size_t)fnz_geometry_numel(g) * fnzi_dtype(dtype)->bytes;
  /* Hashes: as u64 with one more dimension, the cells of an element. */
  if (bytes != wanted && fnz_geometry_numel(g) > 0) {
    dtype = FNZ_U64;
    sizes[rank++] = (int64_t)(bytes / 8) / fnz_geometry_numel(g);
  }
  void *data;
  FNZ_TRY(fnzi_arrays_add_unfilled(user, name, dtype, rank, sizes, &data));
  if (bytes > 0)
    memcpy(data, cells, bytes);
  return FNZ_OK;
}
