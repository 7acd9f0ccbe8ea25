/* state.c - what becomes of the program's inputs: arguments, globals, or nothing where no node uses
 * them; and of final values: results, stores, or writes to an argument's memory. */
#include "program/formats/mlir/mlir.h"
#include "program/signature.h"

int64_t fnzi_mlir_final_of(const fnzi_mlir *w, uint32_t output) {
  return w->finals[output];
}

/* Inputs of the same name may have different kinds, so the search continues after the first. */
static int64_t find_final(const fnzi_mlir *w, const fnzi_map *first, const fnz_output_spec *spec) {
  uint64_t from;
  if (!fnzi_output_is_mutation(spec) || !spec->target ||
      !fnzi_map_get(first, spec->target, strlen(spec->target), &from))
    return -1;
  int kind = fnzi_output_kind_of(spec)->of;
  for (uint32_t k = (uint32_t)from; k < w->p->graphs.data[0].ninputs; k++)
    if ((kind == FNZI_NO_INPUT_KIND || w->p->inputs[k].kind == (fnz_input_kind)kind) &&
        strcmp(w->p->inputs[k].target, spec->target) == 0)
      return k;
  return -1;
}

static fnz_status find_finals(fnzi_mlir *w) {
  const fnzi_graph *g = fnzi_graph_main(w->p);
  fnzi_map first;
  FNZI_NEW(&w->arena, g->noutputs, &w->finals);
  fnzi_map_init(&first, w->ctx);
  uint64_t there;
  fnz_status status = FNZ_OK;
  for (uint32_t k = 0; k < w->p->graphs.data[0].ninputs && status == FNZ_OK; k++) {
    const char *name = w->p->inputs[k].target;
    if (name && !fnzi_map_get(&first, name, strlen(name), &there))
      status = fnzi_map_set(&first, name, strlen(name), k);
  }
  for (uint32_t k = 0; k < g->noutputs && status == FNZ_OK; k++)
    w->finals[k] = find_final(w, &first, &w->p->outputs[k]);
  fnzi_map_free(&first);
  return status;
}

/* The final value has other sizes than its memory. */
static bool moves(const fnzi_mlir *w, uint32_t output, uint32_t input) {
  const fnzi_graph *g = fnzi_graph_main(w->p);
  const fnz_arg *from = &g->outputs[output], *to = &g->inputs[input];
  if (from->tag != FNZ_ARG_VALUE || to->tag != FNZ_ARG_VALUE)
    return true;
  const fnz_geometry *a = fnzi_value_at(w->p, 0, from->u.value)->geometry;
  const fnz_geometry *b = fnzi_value_at(w->p, 0, to->u.value)->geometry;
  return a->dtype != b->dtype || !fnzi_same_sizes(a, b);
}

/* An argument stays one though nothing uses it; a weight does not. */
static uint8_t first_role(const fnzi_mlir *w, uint32_t k, bool used) {
  fnz_input_kind kind = w->p->inputs[k].kind;
  if (fnzi_graph_main(w->p)->inputs[k].tag != FNZ_ARG_VALUE &&
      fnzi_graph_main(w->p)->inputs[k].tag != FNZ_ARG_SYMBOL)
    return FNZI_MLIR_UNUSED; /* a number that the program knows */
  if (!fnzi_is_stored(kind))
    return FNZI_MLIR_ARGUMENT;
  if (!used)
    return FNZI_MLIR_UNUSED;
  return w->options.weights == FNZ_MLIR_WEIGHTS_ARGS ? FNZI_MLIR_ARGUMENT : FNZI_MLIR_GLOBAL;
}

fnz_status fnzi_mlir_find_roles(fnzi_mlir *w) {
  const fnzi_graph *g = fnzi_graph_main(w->p);
  bool *used;
  FNZI_NEW(&w->arena, g->values.count, &used);
  FNZI_NEW(&w->arena, g->ninputs, &w->roles);
  fnzi_graph_uses(g, used);
  FNZ_TRY(find_finals(w));
  for (uint32_t k = 0; k < g->ninputs; k++)
    w->roles[k] = first_role(w, k, fnzi_is_reference(&g->inputs[k]) && used[g->inputs[k].u.value]);
  for (uint32_t k = 0; k < g->noutputs; k++) {
    int64_t stored = fnzi_mlir_final_of(w, k);
    if (stored < 0)
      continue;
    uint32_t input = (uint32_t)stored;
    uint8_t role = FNZI_MLIR_ARGUMENT;
    if (w->options.state == FNZ_MLIR_STATE_GLOBALS && fnzi_is_stored(w->p->inputs[input].kind))
      role = FNZI_MLIR_MUTABLE;
    /* IREE cannot overwrite integers (docs/iree/overwrite_integers.mlir): they stay results. */
    const fnz_arg *value = &g->inputs[input];
    if (w->options.state == FNZ_MLIR_STATE_EPILOGUE && value->tag == FNZ_ARG_VALUE &&
        !fnzi_is_integer(fnzi_value_at(w->p, 0, value->u.value)->geometry->dtype))
      role = FNZI_MLIR_OVERWRITTEN;
    if (role != FNZI_MLIR_ARGUMENT && moves(w, k, input))
      return fnzi_fail(w->ctx, FNZ_CLASS_UNSUPPORTED, w->p->outputs[k].target,
                       "its final value has other sizes, so it cannot be stored; write it with "
                       "--state outputs");
    w->roles[input] = role;
  }
  return FNZ_OK;
}

bool fnzi_mlir_is_result(const fnzi_mlir *w, uint32_t output) {
  int64_t k = fnzi_mlir_final_of(w, output);
  const fnz_arg *value = &fnzi_graph_main(w->p)->outputs[output];
  if (value->tag == FNZ_ARG_NONE || value->tag == FNZ_ARG_TOKEN)
    return false;
  return k < 0 || w->roles[k] == FNZI_MLIR_ARGUMENT;
}
