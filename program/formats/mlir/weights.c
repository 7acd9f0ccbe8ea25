/* weights.c - parameters, buffers and constants: globals of the module, and the safetensors file
 * that has their values. */
#include "program/formats/external.h"
#include "program/formats/mlir/mlir.h"
#include "program/formats/safetensors.h"

enum { ALIGN = 64 }; /* of the data behind the file's header, and of resources */

/* --- data ------------------------------------------------------------------------------------- */
/* The weight as a compact array: its own memory where that is one already. */
fnz_status fnzi_mlir_compact(fnzi_mlir *w, const fnzi_weight *weight, fnz_array *out) {
  const fnz_geometry *g = weight->geometry;
  size_t width = fnzi_dtype(g->dtype)->bytes, bytes;
  unsigned char *copy;
  if (!fnzi_mul_size((size_t)fnz_geometry_numel(g), width, &bytes))
    return fnzi_no_memory(w->ctx);
  *out = (fnz_array){weight->name, g->dtype, g->rank, g->sizes, NULL, bytes};
  /* Complex numbers and pairs of real numbers have the same bytes. */
  if (fnzi_is_complex(g->dtype)) {
    fnzi_mlir_scratch *scratch;
    FNZI_NEW(&w->arena, 1, &scratch);
    const fnz_geometry *pairs = fnzi_mlir_as_pairs(g, scratch);
    out->dtype = pairs->dtype;
    out->rank = pairs->rank;
    out->sizes = pairs->sizes;
  }
  if (!bytes)
    return FNZ_OK;
  if (!weight->blob)
    return fnzi_fail(w->ctx, FNZ_CLASS_UNSUPPORTED, weight->name,
                     "the tensor has no data; read the program from a .pt2 file of torch 2.9 or "
                     "later, whose weights are plain bytes");
  FNZ_TRY(fnzi_blob_check(w->ctx, weight->blob));
  const unsigned char *data = fnzi_blob_data(weight->blob);
  if (fnzi_is_contiguous(g)) {
    out->data = data + (size_t)g->offset * width;
    return FNZ_OK;
  }
  FNZI_NEW(&w->arena, bytes, &copy);
  fnzi_geometry_gather(g, data, copy);
  out->data = copy;
  return FNZ_OK;
}

static const fnzi_weight *weight_of(const fnzi_mlir *w, uint32_t input) {
  return fnzi_weight_find(w->p, w->p->inputs[input].target);
}

/* Nothing is read for a tensor without elements. */
static bool is_global(uint8_t role) {
  return role == FNZI_MLIR_GLOBAL || role == FNZI_MLIR_MUTABLE;
}

/* --- globals ---------------------------------------------------------------------------------- */
static const char *key_of(const fnzi_mlir *w, uint32_t input) {
  return w->module->weights.data[w->weights[input]].key;
}

/* Functions have names of the same kind. */
fnz_status fnzi_mlir_put_symbol(fnzi_mlir *w, fnz_buffer *out, uint32_t input) {
  const char *key = key_of(w, input);
  bool is_taken = false;
  for (size_t m = 0; m < w->module->count; m++)
    is_taken = is_taken || strcmp(w->module->methods[m].name, key) == 0;
  if (is_taken)
    FNZ_TRY(fnzi_arena_format(&w->arena, &key, "%s (weight)", key));
  FNZ_TRY(fnzi_put(w->ctx, out, "@", 1));
  return fnzi_mlir_put_quoted(w->ctx, out, key, strlen(key));
}

static fnz_status put_hex(fnzi_mlir *w, fnz_buffer *out, const unsigned char *data, size_t size) {
  static const char digits[] = "0123456789ABCDEF";
  size_t capacity;
  if (!fnzi_mul_size(size, 2, &capacity) || !fnzi_add_size(capacity, out->size + 1, &capacity))
    return fnzi_no_memory(w->ctx);
  FNZI_RESERVE(w->ctx, out, capacity);
  for (size_t i = 0; i < size; i++) {
    out->data[out->size++] = digits[data[i] >> 4];
    out->data[out->size++] = digits[data[i] & 15];
  }
  out->data[out->size] = 0;
  return FNZ_OK;
}

/* Truth values are spelled out: resources of them would be bits. */
static fnz_status put_truths(fnzi_mlir *w, fnz_buffer *out, const fnz_array *a) {
  const unsigned char *data = a->data;
  if (!a->rank)
    return fnzi_put_text(w->ctx, out, data[0] ? "dense<true>" : "dense<false>");
  FNZ_TRY(fnzi_put_text(w->ctx, out, "dense<"));
  for (uint32_t d = 0; d < a->rank; d++)
    FNZ_TRY(fnzi_put(w->ctx, out, "[", 1));
  for (size_t i = 0; i < a->bytes; i++) {
    size_t run = 1;
    uint32_t closed = 0;
    for (uint32_t d = a->rank; i && d-- > 0; closed++)
      if (i % (run *= (size_t)a->sizes[d]) != 0)
        break;
    for (uint32_t k = 0; k < closed; k++)
      FNZ_TRY(fnzi_put(w->ctx, out, "]", 1));
    FNZ_TRY(fnzi_put_text(w->ctx, out, i ? ", " : ""));
    for (uint32_t k = 0; k < closed; k++)
      FNZ_TRY(fnzi_put(w->ctx, out, "[", 1));
    FNZ_TRY(fnzi_put_text(w->ctx, out, data[i] ? "true" : "false"));
  }
  for (uint32_t d = 0; d < a->rank; d++)
    FNZ_TRY(fnzi_put(w->ctx, out, "]", 1));
  return fnzi_put(w->ctx, out, ">", 1);
}

static fnz_status put_value(fnzi_mlir *w, fnz_buffer *out, const fnzi_weight *weight,
                            uint32_t input) {
  static const unsigned char align[4] = {ALIGN, 0, 0, 0};
  const char *key = key_of(w, input), *name;
  fnz_array a;
  if (fnz_geometry_numel(weight->geometry) == 0)
    return fnzi_put_text(w->ctx, out, "dense<>");
  if (w->options.weights != FNZ_MLIR_WEIGHTS_INLINE) {
    FNZ_TRY(fnzi_put_text(w->ctx, out, "#flow.parameter.named<\"model\"::"));
    FNZ_TRY(fnzi_mlir_put_quoted(w->ctx, out, key, strlen(key)));
    return fnzi_put(w->ctx, out, ">", 1);
  }
  FNZ_TRY(fnzi_mlir_compact(w, weight, &a));
  if (a.dtype == FNZ_BOOL)
    return put_truths(w, out, &a);
  FNZ_TRY(w->method ? fnzi_arena_format(&w->arena, &name, "w%u_%u", w->method, input)
                    : fnzi_arena_format(&w->arena, &name, "w%u", input));
  FNZ_TRY(
      fnzi_printf(w->ctx, &w->resources, "%s      %s: \"0x", w->resources.size ? ",\n" : "", name));
  FNZ_TRY(put_hex(w, &w->resources, align, sizeof align));
  FNZ_TRY(put_hex(w, &w->resources, a.data, a.bytes));
  FNZ_TRY(fnzi_put(w->ctx, &w->resources, "\"", 1));
  return fnzi_printf(w->ctx, out, "dense_resource<%s>", name);
}

fnz_status fnzi_mlir_put_globals(fnzi_mlir *w, fnz_buffer *out) {
  for (uint32_t k = 0; k < fnzi_graph_main(w->p)->ninputs; k++) {
    if (is_global(w->roles[k]) && !weight_of(w, k))
      return fnzi_fail(w->ctx, FNZ_CLASS_REF, w->p->inputs[k].target, "there is no such weight");
    if (is_global(w->roles[k]) && fnzi_mlir_is_first(w, k)) {
      const fnzi_weight *weight = weight_of(w, k);
      bool is_mutable = w->module->weights.data[w->weights[k]].is_stored;
      FNZ_TRY(fnzi_put_text(
          w->ctx, out, is_mutable ? "  util.global private mutable " : "  util.global private "));
      FNZ_TRY(fnzi_mlir_put_symbol(w, out, k));
      FNZ_TRY(fnzi_put(w->ctx, out, " = ", 3));
      FNZ_TRY(put_value(w, out, weight, k));
      FNZ_TRY(fnzi_put(w->ctx, out, " : ", 3));
      FNZ_TRY(fnzi_mlir_put_builtin(w, out, weight->geometry));
      FNZ_TRY(fnzi_put(w->ctx, out, "\n", 1));
    }
  }
  return FNZ_OK;
}

/* --- the file --------------------------------------------------------------------------------- */
fnz_status fnzi_mlir_put_weights(fnzi_mlir *all, size_t count, fnz_buffer *out,
                                 fnzi_out_pieces *pieces) {
  const fnzi_safetensors_header header = {ALIGN, FNZI_EXTERNAL_MARK(FNZI_MLIR_KIND)};
  fnzi_arena *arena = &all[0].arena;
  const size_t most = all[0].module->weights.count;
  const fnz_array **list;
  fnz_array *arrays;
  size_t found = 0;
  FNZI_NEW(arena, most, &list);
  FNZI_NEW(arena, most, &arrays);
  for (size_t m = 0; m < count; m++) {
    fnzi_mlir *w = &all[m];
    for (uint32_t k = 0; k < fnzi_graph_main(w->p)->ninputs; k++) {
      bool is_inline = is_global(w->roles[k]) && w->options.weights == FNZ_MLIR_WEIGHTS_INLINE;
      if (!fnzi_mlir_is_first(w, k) || is_inline)
        continue;
      FNZ_TRY(fnzi_mlir_compact(w, weight_of(w, k), &arrays[found]));
      arrays[found].name = key_of(w, k);
      list[found] = &arrays[found];
      ++found;
    }
  }
  return found ? fnzi_safetensors_put_all(arena, list, found, header, out, pieces) : FNZ_OK;
}
