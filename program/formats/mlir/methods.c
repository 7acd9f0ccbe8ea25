/* methods.c - several programs in one module: which of their weights are one.
 *
 * needs   the roles of their inputs
 * gives   a name in the module for each weight that is used, and the first program that has it; a
 *         refusal where two of one name are not the same */
#include "program/formats/mlir/mlir.h"

static const fnzi_weight *methods_weight_of(const fnzi_mlir *w, uint32_t input) {
  return w->p->inputs[input].kind == FNZ_INPUT_USER
             ? NULL
             : fnzi_weight_find(w->p, w->p->inputs[input].target);
}

static bool is_written(const fnzi_mlir *w, uint32_t input) {
  for (uint32_t k = 0; k < fnzi_graph_main(w->p)->noutputs; k++)
    if (w->finals[k] == (int64_t)input)
      return true;
  return false;
}

/* --- the same or not -------------------------------------------------------------------------- */
static bool same_type(const fnzi_weight *a, const fnzi_weight *b) {
  return a->geometry->dtype == b->geometry->dtype && fnzi_same_sizes(a->geometry, b->geometry);
}

static fnz_status differ(const fnzi_mlir *w, const fnzi_mlir *before, const fnzi_weight *a,
                         const fnzi_weight *b) {
  const char *name = w->module->methods[w->method].name,
             *first = w->module->methods[before->method].name;
  char here[FNZI_SHAPE_TEXT], there[FNZI_SHAPE_TEXT];
  fnzi_shape_text(a->geometry, there);
  fnzi_shape_text(b->geometry, here);
  if (!same_type(a, b))
    return fnzi_fail(w->ctx, FNZ_CLASS_DIFFERENT, b->name,
                     "it is %s in %s and %s in %s; methods of one module have one weight of a name",
                     here, name, there, first);
  return fnzi_fail(w->ctx, FNZ_CLASS_DIFFERENT, b->name,
                   "it has other elements in %s than in %s; methods of one module have one weight "
                   "of a name: export both from the same module",
                   name, first);
}

/* --- names ------------------------------------------------------------------------------------ */
static fnz_status add(fnzi_mlir *w, uint32_t input, const char *key) {
  fnzi_mlir_module *m = w->module;
  w->weights[input] = (uint32_t)m->weights.count;
  FNZ_TRY(fnzi_map_set(&m->keys, key, strlen(key), m->weights.count));
  FNZI_PUSH(w->ctx, &m->weights, ((fnzi_mlir_weight){key, w->method, input, false}));
  return FNZ_OK;
}

static fnz_status join_weight(fnzi_mlir *all, fnzi_mlir *w, uint32_t input, uint64_t found) {
  const fnzi_mlir_weight *was = &w->module->weights.data[found];
  fnzi_mlir *before = &all[was->method];
  const fnzi_weight *a = methods_weight_of(before, was->input), *b = methods_weight_of(w, input);
  bool same = true;
  w->weights[input] = (uint32_t)found;
  if (before == w)
    return FNZ_OK;
  if (is_written(before, was->input) || is_written(w, input))
    return same_type(a, b) ? FNZ_OK : differ(w, before, a, b);
  fnz_array x, y;
  same = same_type(a, b);
  if (same && (a->blob != b->blob || a->geometry != b->geometry)) {
    FNZ_TRY(fnzi_mlir_compact(w, a, &x));
    FNZ_TRY(fnzi_mlir_compact(w, b, &y));
    same = !x.bytes || memcmp(x.data, y.data, x.bytes) == 0;
  }
  if (same)
    return FNZ_OK;
  bool is_constant = w->p->inputs[input].kind == FNZ_INPUT_CONSTANT &&
                     before->p->inputs[was->input].kind == FNZ_INPUT_CONSTANT;
  if (!is_constant)
    return differ(w, before, a, b);
  /* A constant has no name of its own in a module: "lifted_tensor_0 (decode)". */
  const char *key;
  uint64_t there;
  FNZ_TRY(fnzi_arena_format(&w->arena, &key, "%s (%s)", w->p->inputs[input].target,
                            w->module->methods[w->method].name));
  while (fnzi_map_get(&w->module->keys, key, strlen(key), &there))
    FNZ_TRY(fnzi_arena_format(&w->arena, &key, "%s'", key));
  return add(w, input, key);
}

fnz_status fnzi_mlir_join(fnzi_mlir *all, size_t count) {
  for (size_t m = 0; m < count; m++) {
    fnzi_mlir *w = &all[m];
    const uint32_t ninputs = fnzi_graph_main(w->p)->ninputs;
    FNZI_NEW(&w->arena, ninputs, &w->weights);
    for (uint32_t k = 0; k < ninputs; k++) {
      const fnzi_weight *weight = methods_weight_of(w, k);
      uint64_t found;
      w->weights[k] = UINT32_MAX;
      if (!weight || w->roles[k] == FNZI_MLIR_UNUSED)
        continue;
      if (fnzi_map_get(&w->module->keys, weight->name, strlen(weight->name), &found))
        FNZ_TRY(join_weight(all, w, k, found));
      else
        FNZ_TRY(add(w, k, weight->name));
      if (w->roles[k] == FNZI_MLIR_MUTABLE)
        w->module->weights.data[w->weights[k]].is_stored = true;
    }
  }
  for (size_t m = 0; m < count; m++) {
    fnzi_mlir *w = &all[m];
    /* A weight that any function stores is a global in all functions that read it. */
    for (uint32_t k = 0; k < fnzi_graph_main(w->p)->ninputs; k++)
      if (w->weights[k] != UINT32_MAX && w->module->weights.data[w->weights[k]].is_stored &&
          w->roles[k] == FNZI_MLIR_ARGUMENT)
        w->roles[k] = FNZI_MLIR_GLOBAL;
  }
  return FNZ_OK;
}
