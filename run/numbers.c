/* numbers.c - symbolic sizes in a run: the numbers of the symbols of the program. */
#include "run/numbers.h"

/* --- conditions ------------------------------------------------------------------------------- */

static fnz_status check_conditions(fnzi_run_state *run) {
  const fnzi_condition *broken;
  FNZ_TRY(fnzi_sizes_admit(&run->symbolic->sizes, &run->symbolic->point, &broken));
  if (!broken)
    return FNZ_OK;
  fnzi_run_numbers *n = run->symbolic;
  fnz_buffer asks = {NULL, 0, 0}, text = {NULL, 0, 0};
  fnz_status status = fnzi_sizes_put_condition(&n->sizes, broken, &asks);
  if (status == FNZ_OK)
    status = fnzi_sizes_text(&n->sizes, &n->point, &text);
  if (status == FNZ_OK)
    status = fnzi_fail_for(run->ctx, FNZI_REASON_SIZES, FNZ_CLASS_BOUNDS, NULL,
                           "the program is for sizes with %s; they are %s; give other inputs, or "
                           "export the program for these",
                           asks.data, text.data ? text.data : "");
  fnz_buffer_free(run->ctx, &asks);
  fnz_buffer_free(run->ctx, &text);
  return status;
}

/* --- from inputs ------------------------------------------------------------------------------ */
static fnz_status wrong_size(fnzi_run_state *run, const char *name, const fnzi_expr *e,
                             uint32_t dim, int64_t given) {
  fnzi_number n;
  const char *text;
  FNZ_TRY(fnzi_expr_text(&run->symbolic->sizes.set, e, &text));
  FNZ_TRY(fnzi_point_get(&run->symbolic->point, e, &n));
  if (n.known == FNZI_NUMBER_KNOWN && n.den == 1)
    return fnzi_fail(run->ctx, FNZ_CLASS_BOUNDS, name,
                     "dimension %u is %s, which is %lld by what was seen before, the array has "
                     "%lld",
                     dim, text, (long long)n.num, (long long)given);
  return fnzi_fail(run->ctx, FNZ_CLASS_BOUNDS, name,
                   "dimension %u is %s, and no sizes make that %lld", dim, text, (long long)given);
}

/* Solves all dimensions of one value; *left counts dimensions that have unknown symbols. */
static fnz_status solve_sizes(fnzi_run_state *run, const fnzi_value *v, const int64_t *sizes,
                              size_t *left) {
  fnzi_run_numbers *n = run->symbolic;
  for (uint32_t d = 0; d < v->geometry->rank; d++) {
    const fnzi_expr *e = n->sizes.symbols[v->geometry->symbols[d]];
    bool solved, wrong;
    if (!v->geometry->symbols[d] || !e)
      continue;
    FNZ_TRY(fnzi_point_solve(&n->point, e, sizes[d], &solved, &wrong));
    if (wrong)
      return wrong_size(run, v->name, e, d, sizes[d]);
    *left += !solved;
  }
  return FNZ_OK;
}

/* Symbolic numbers that are inputs themselves: an array of one integer, else the example. */
static fnz_status solve_number_inputs(fnzi_run_state *run) {
  const fnzi_graph *g = fnzi_graph_main(run->program);
  for (uint32_t k = 0; k < g->ninputs; k++) {
    const fnzi_value *v = &g->values.data[g->inputs[k].u.value];
    if (g->inputs[k].tag != FNZ_ARG_SYMBOL || !v->symbol ||
        !run->symbolic->sizes.symbols[v->symbol])
      continue;
    const fnz_array *array = run->bindings[k].given;
    const fnzi_symbol *symbol = &run->program->symbols.data[v->symbol];
    fnz_arg number = {.tag = FNZ_ARG_INT, .u.i = symbol->hint};
    bool solved, wrong, one = array != NULL;
    for (uint32_t d = 0; one && d < array->rank; d++)
      one = array->sizes[d] == 1;
    if (one &&
        (!fnzi_run_decode_number(array->dtype, array->data, &number) || number.tag != FNZ_ARG_INT))
      return fnzi_fail(run->ctx, FNZ_CLASS_TYPE, v->name,
                       "the program takes one integer, the array given is %s",
                       fnzi_dtype(array->dtype)->name);
    if (!one && !symbol->has_hint)
      continue;
    FNZ_TRY(fnzi_point_solve(&run->symbolic->point, run->symbolic->sizes.symbols[v->symbol],
                             number.u.i, &solved, &wrong));
    if (wrong)
      return fnzi_fail(run->ctx, FNZ_CLASS_BOUNDS, v->name, "%s cannot be %lld", symbol->text,
                       (long long)number.u.i);
  }
  return FNZ_OK;
}

fnz_status fnzi_run_numbers_open(fnzi_run_state *run) {
  run->symbolic = NULL;
  if (!fnzi_program_has_symbols(run->program))
    return FNZ_OK;
  FNZI_NEW(&run->arena, 1, &run->symbolic);
  fnz_status status = fnzi_sizes_open(&run->symbolic->sizes, run->ctx, run->program);
  fnzi_point_init(&run->symbolic->point, &run->symbolic->sizes.set);
  if (status != FNZ_OK)
    return status;
  /* A symbol solved from one input may help with the next. */
  size_t left = SIZE_MAX;
  bool complete;
  if (run->hashes || !run->options->inputs)
    return fnzi_sizes_recorded(&run->symbolic->sizes, &run->symbolic->point, &complete);
  for (size_t before = 0; left && left != before;) {
    before = left;
    const fnzi_graph *g = fnzi_graph_main(run->program);
    left = 0;
    for (uint32_t k = 0; k < g->ninputs; k++) {
      const fnzi_value *v = &g->values.data[g->inputs[k].u.value];
      if (g->inputs[k].tag != FNZ_ARG_VALUE || !v->geometry || !v->geometry->symbols)
        continue;
      const fnz_array *array = run->bindings[k].given;
      if (array && array->rank == v->geometry->rank)
        FNZ_TRY(solve_sizes(run, v, array->sizes, &left));
    }
  }
  FNZ_TRY(solve_number_inputs(run));
  return check_conditions(run);
}

void fnzi_run_numbers_close(fnzi_run_state *run) {
  if (!run->symbolic)
    return;
  fnzi_point_free(&run->symbolic->point);
  fnzi_sizes_close(&run->symbolic->sizes);
}

/* --- while it runs ---------------------------------------------------------------------------- */
const fnz_geometry *fnzi_run_recorded(fnzi_run_state *run, fnzi_arena *arena, uint64_t value) {
  const fnz_geometry *g = run->graph->values.data[value].geometry, *made = NULL;
  fnzi_run_numbers *n = run->symbolic;
  if (!g || !g->symbols || !n)
    return g;
  fnz_status status = fnzi_sizes_geometry(&n->sizes, &n->point, g, arena, &made);
  if (status != FNZ_OK)
    n->failure = status;
  return made;
}

fnz_status fnzi_run_learn_sizes(fnzi_run_state *run, uint64_t value, const fnz_geometry *g) {
  const fnzi_value *v = &run->graph->values.data[value];
  fnzi_run_numbers *n = run->symbolic;
  size_t left = 0;
  if (!n || !v->geometry || !v->geometry->symbols)
    return FNZ_OK;
  FNZ_TRY(n->failure);
  if (v->geometry->rank != g->rank)
    return fnzi_fail(run->ctx, FNZ_CLASS_BOUNDS, NULL, "%s has %u dimensions, the program says %u",
                     v->name, g->rank, v->geometry->rank);
  for (uint32_t d = 0; d < g->rank; d++)
    if (!v->geometry->symbols[d] && g->sizes[d] != v->geometry->sizes[d])
      return fnzi_fail(run->ctx, FNZ_CLASS_BOUNDS, NULL,
                       "dimension %u of %s is %lld, the program says %lld", d, v->name,
                       (long long)g->sizes[d], (long long)v->geometry->sizes[d]);
  /* A body may run again: there, numbers that depend on data are forgotten first. */
  const fnzi_expr *symbol;
  for (uint32_t d = 0; run->graph != fnzi_graph_main(run->program) && d < v->geometry->rank; d++) {
    const fnzi_expr *e = n->sizes.symbols[v->geometry->symbols[d]];
    if (v->geometry->symbols[d] && e && fnzi_expr_is_linear(e, &symbol) &&
        symbol->atom_text[0] == 'u')
      FNZ_TRY(fnzi_point_unset(&n->point, symbol));
  }
  size_t known = n->point.done;
  FNZ_TRY(solve_sizes(run, v, g->sizes, &left));
  return n->point.done < known ? check_conditions(run) : FNZ_OK;
}

fnz_status fnzi_run_learn_number(fnzi_run_state *run, uint64_t value, int64_t number) {
  fnzi_run_numbers *n = run->symbolic;
  uint32_t symbol = run->graph->values.data[value].symbol;
  const fnzi_expr *e = n && symbol ? n->sizes.symbols[symbol] : NULL;
  if (!e || (e->kind != FNZI_EXPR_SYMBOL && !fnzi_is_read_truth(&n->sizes, e, &e)))
    return FNZ_OK;
  FNZ_TRY(fnzi_point_set(&n->point, e, number));
  return check_conditions(run);
}

fnz_status fnzi_run_symbol_number(fnzi_run_state *run, uint64_t value, bool *known, fnz_arg *out) {
  fnzi_run_numbers *n = run->symbolic;
  uint32_t symbol = run->graph->values.data[value].symbol;
  const fnzi_expr *e = n && symbol ? n->sizes.symbols[symbol] : NULL;
  *known = false;
  *out = (fnz_arg){.tag = FNZ_ARG_INT};
  return e ? fnzi_point_int(&n->point, e, known, &out->u.i) : FNZ_OK;
}
