/* same_weights.c - weights that are one tensor although the file has two: a module may hold a
 * buffer as a plain attribute, too, which the exporter writes as a constant of its own.
 *
 * needs   graph 0 with its inputs
 * gives   the input of a name; two weights in one memory; the constants that a pass has found to be
 *         written, and which weight each of them may be */
#include "program/no_weight.h"
#include "program/signature.h"

#include <stdio.h>

static const fnzi_value *weights_value_of(const fnz_program *p, uint32_t k) {
  return fnzi_value_at(p, 0, fnzi_graph_main(p)->inputs[k].u.value);
}

static const fnzi_weight *weight_of(const fnz_program *p, uint32_t k) {
  return fnzi_is_stored(p->inputs[k].kind) ? fnzi_weight_find(p, p->inputs[k].target) : NULL;
}

/* --- names ------------------------------------------------------------------------------------ */
/* The text begins with the name, after a prefix that it may have. */
static size_t begins(const char *text, const char *prefix, const char *name) {
  const size_t before = strlen(prefix), size = strlen(name);
  if (!size || strncmp(text, prefix, before) != 0 || strncmp(text + before, name, size) != 0)
    return 0;
  const char next = text[before + size];
  const bool goes_on = fnzi_is_letter(next) || fnzi_is_digit(next) || next == '_';
  return goes_on ? 0 : before + size;
}

size_t fnzi_input_at(const fnz_program *p, const char *text, uint32_t *out) {
  const fnzi_graph *g = fnzi_graph_main(p);
  size_t most = 0;
  for (uint32_t k = 0; k < g->ninputs; k++) {
    const fnz_input_spec *spec = &p->inputs[k];
    if (g->inputs[k].tag != FNZ_ARG_VALUE)
      continue;
    const char *prefix = spec->kind == FNZ_INPUT_USER        ? "input."
                         : spec->kind == FNZ_INPUT_PARAMETER ? "parameter."
                                                             : "buffer.";
    const char *target = fnzi_is_stored(spec->kind) ? spec->target : weights_value_of(p, k)->name;
    const size_t sizes[3] = {begins(text, "", weights_value_of(p, k)->name),
                             begins(text, "", target), begins(text, prefix, target)};
    for (size_t i = 0; i < 3; i++)
      if (sizes[i] > most) {
        most = sizes[i];
        *out = k;
      }
  }
  return most;
}

const fnz_geometry *fnzi_input_geometry(const fnz_program *p, uint32_t k) {
  const fnzi_weight *w = weight_of(p, k);
  return w && w->blob ? w->geometry : weights_value_of(p, k)->geometry;
}

/* --- one memory ------------------------------------------------------------------------------- */
int64_t fnzi_weight_difference(const fnzi_weight *a, const fnz_geometry *window,
                               const fnzi_blob *base) {
  const size_t cell = fnzi_dtype(window->dtype)->bytes;
  const char *x = fnzi_blob_data(a->blob), *y = fnzi_blob_data(base);
  int64_t count = fnz_geometry_numel(window);
  for (int64_t i = 0; i < count; i++) {
    int64_t rest = i, one = a->geometry->offset, other = window->offset;
    for (uint32_t d = window->rank; d-- > 0; rest /= window->sizes[d]) {
      one += rest % window->sizes[d] * a->geometry->strides[d];
      other += rest % window->sizes[d] * window->strides[d];
    }
    if (memcmp(x + (size_t)one * cell, y + (size_t)other * cell, cell) != 0)
      return i;
  }
  return -1;
}

fnz_status fnzi_weights_join(fnz_context *ctx, fnz_program *p, uint32_t a, uint32_t b,
                             const fnz_geometry *window) {
  fnzi_weight *one = (fnzi_weight *)(uintptr_t)weight_of(p, a);
  const fnzi_weight *other = weight_of(p, b);
  const fnz_geometry *own;
  FNZ_TRY(fnzi_intern_geometry(p, window, &own));
  if (!one || !other || (!one->blob && !other->blob)) {
    if (one)
      one->geometry = own;
    return FNZ_OK;
  }
  int64_t low, high;
  if (!one->blob || !other->blob)
    return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, one->name,
                     "the program has data for only one of %s and %s; take the archive that has "
                     "both",
                     one->name, other->name);
  if (!fnzi_extent(window, &low, &high) || low < 0 ||
      (size_t)high * fnzi_dtype(window->dtype)->bytes > fnzi_blob_bytes(other->blob))
    return fnzi_fail(ctx, FNZ_CLASS_BOUNDS, one->name, "the alias reaches beyond the memory of %s",
                     other->name);
  FNZ_TRY(fnzi_blob_check(ctx, one->blob));
  FNZ_TRY(fnzi_blob_check(ctx, other->blob));
  int64_t at = fnzi_weight_difference(one, window, other->blob);
  if (at >= 0)
    return fnzi_fail(ctx, FNZ_CLASS_OVERLAP, one->name,
                     "it is no view of %s: they differ at element %lld; name the weight that it "
                     "was when the program was exported",
                     other->name, (long long)at);
  fnzi_blob *had = one->blob;
  one->blob = fnzi_blob_retain(other->blob);
  one->geometry = own;
  fnzi_blob_release(had);
  return FNZ_OK;
}

/* --- constants that are written --------------------------------------------------------------- */
bool fnzi_is_written_constant(const fnz_program *from, const fnz_program *to, uint32_t k) {
  if (from->inputs[k].kind != FNZ_INPUT_CONSTANT || k >= fnzi_graph_main(to)->ninputs ||
      to->inputs[k].kind != FNZ_INPUT_BUFFER ||
      strcmp(from->inputs[k].target, to->inputs[k].target) != 0)
    return false;
  for (uint32_t i = 0; i < fnzi_graph_main(to)->ninputs; i++)
    if (i != k && fnzi_memory_of(to, i) == fnzi_memory_of(to, k))
      return false;
  return true;
}

void fnzi_written_constant_say(const fnz_program *p, uint32_t k, char what[FNZI_CONSTANT_WORDS],
                               char remedy[FNZI_CONSTANT_WORDS]) {
  /* A buffer or parameter with the same elements. */
  const char *name = p->inputs[k].target, *alike = NULL;
  const fnzi_weight *a = weight_of(p, k);
  for (uint32_t i = 0; a && a->blob && !alike && i < fnzi_graph_main(p)->ninputs; i++) {
    const fnzi_weight *b = i == k ? NULL : weight_of(p, i);
    if (b && b->blob && b->geometry == a->geometry && p->inputs[i].kind != FNZ_INPUT_CONSTANT &&
        fnzi_blob_bytes(a->blob) == fnzi_blob_bytes(b->blob) &&
        fnzi_weight_difference(a, b->geometry, b->blob) < 0)
      alike = b->name;
  }
  if (alike)
    snprintf(
        what, FNZI_CONSTANT_WORDS,
        "the constant \"%.120s\" is written, and \"%.120s\", which has the same elements, does "
        "not change with it, although a module may have one tensor under both names",
        name, alike);
  else
    snprintf(
        what, FNZI_CONSTANT_WORDS,
        "the constant \"%.120s\" is written: a tensor that the module has not registered; where "
        "it is a buffer under another name, that does not change with it",
        name);
  snprintf(remedy, FNZI_CONSTANT_WORDS,
           "register it as a buffer, or declare that the two are one: --alias '%.120s=%.120s'",
           name, alike ? alike : "NAME");
}

/* --- another name ----------------------------------------------------------------------------- */
fnz_status fnz_program_rename_weight(fnz_context *ctx, fnz_program *p, const char *name,
                                     const char *to) {
  uint64_t at;
  const char *own;
  if (!fnzi_map_get(&p->weight_index, name, strlen(name), &at))
    return fnzi_no_weight(ctx, p, name);
  if (fnzi_weight_find(p, to))
    return fnzi_fail(ctx, FNZ_CLASS_DUPLICATE, name, "the program has a weight \"%s\" already", to);
  FNZ_TRY(fnzi_intern(p, to, strlen(to), &own));
  for (uint32_t k = 0; k < fnzi_graph_main(p)->ninputs; k++)
    if (weight_of(p, k) && strcmp(p->inputs[k].target, name) == 0)
      p->inputs[k].target = own;
  for (uint32_t k = 0; k < fnzi_graph_main(p)->noutputs; k++) {
    fnz_output_spec *out = &p->outputs[k];
    int of = fnzi_output_kind_of(out)->of;
    if ((of == FNZ_INPUT_PARAMETER || of == FNZ_INPUT_BUFFER) && strcmp(out->target, name) == 0)
      out->target = own;
  }
  p->weights.data[at].name = own;
  fnzi_map_free(&p->weight_index);
  fnzi_map_init(&p->weight_index, p->ctx);
  for (size_t i = 0; i < p->weights.count; i++)
    FNZ_TRY(fnzi_map_set(&p->weight_index, p->weights.data[i].name, strlen(p->weights.data[i].name),
                         i));
  return FNZ_OK;
}
