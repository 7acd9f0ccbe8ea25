/* words.c - names, types and numbers, as MLIR spells them. */
#include "program/formats/mlir/mlir.h"
#include "schema/facts/mlir.h"

/* --- strings ---------------------------------------------------------------------------------- */
fnz_status fnzi_mlir_put_quoted(fnz_context *ctx, fnz_buffer *out, const char *s, size_t size) {
  size_t plain = 0; /* where the bytes begin that go out as they are */
  FNZ_TRY(fnzi_put(ctx, out, "\"", 1));
  for (size_t i = 0; i < size; i++) {
    unsigned char c = (unsigned char)s[i];
    if (c >= 0x20 && c != 0x7f && c != '"' && c != '\\')
      continue;
    FNZ_TRY(fnzi_put(ctx, out, s + plain, i - plain));
    FNZ_TRY(fnzi_printf(ctx, out, "\\%02X", c));
    plain = i + 1;
  }
  FNZ_TRY(fnzi_put(ctx, out, s + plain, size - plain));
  return fnzi_put(ctx, out, "\"", 1);
}

/* --- element types ---------------------------------------------------------------------------- */
/* Columns: in tensors of the dialect, in builtin ones. */
static const struct {
  const char *element, *builtin;
} elements[FNZ_DTYPE_COUNT] = {
    [FNZ_BOOL] = {"i1", "i1"},
    [FNZ_U8] = {"ui8", "i8"},
    [FNZ_I8] = {"si8", "i8"},
    [FNZ_I16] = {"si16", "i16"},
    [FNZ_I32] = {"si32", "i32"},
    [FNZ_I64] = {"si64", "i64"},
    [FNZ_F16] = {"f16", "f16"},
    [FNZ_BF16] = {"bf16", "bf16"},
    [FNZ_F32] = {"f32", "f32"},
    [FNZ_F64] = {"f64", "f64"},
    [FNZ_U16] = {"ui16", "i16"},
    [FNZ_U32] = {"ui32", "i32"},
    [FNZ_U64] = {"ui64", "i64"},
    [FNZ_F8_E4M3FN] = {"f8E4M3FN", "f8E4M3FN"},
    [FNZ_F8_E5M2] = {"f8E5M2", "f8E5M2"},
    [FNZ_F8_E4M3FNUZ] = {"f8E4M3FNUZ", "f8E4M3FNUZ"},
    [FNZ_F8_E5M2FNUZ] = {"f8E5M2FNUZ", "f8E5M2FNUZ"},
    [FNZ_F8_E8M0FNU] = {"f8E8M0FNU", "f8E8M0FNU"},
};

const char *fnzi_mlir_element(fnz_dtype dtype) {
  return elements[dtype].element;
}

int64_t fnzi_mlir_scalar_type(fnz_dtype dtype) {
  static const int64_t numbers[FNZ_DTYPE_COUNT] = {
#define SCALAR_TYPE(number, dtype) [FNZ_##dtype] = number,
#include "schema/scalar_types.def"
#undef SCALAR_TYPE
  };
  return numbers[dtype];
}

/* --- types ------------------------------------------------------------------------------------ */
static fnz_status words_put_size(fnzi_mlir *w, fnz_buffer *out, const fnz_geometry *g, uint32_t i) {
  if (g->symbols && g->symbols[i])
    return fnzi_put(w->ctx, out, "?", 1);
  return fnzi_put_int(w->ctx, out, g->sizes[i]);
}

const fnz_geometry *fnzi_mlir_as_pairs(const fnz_geometry *g, fnzi_mlir_scratch *scratch) {
  if (!fnzi_is_complex(g->dtype))
    return g;
  fnz_dtype part = g->dtype == FNZ_C128 ? FNZ_F64 : g->dtype == FNZ_C32 ? FNZ_F16 : FNZ_F32;
  scratch->geometry = (fnz_geometry){.dtype = part, .rank = g->rank + 1, .sizes = scratch->sizes};
  for (uint32_t i = 0; i < g->rank; i++) {
    scratch->sizes[i] = g->sizes[i];
    scratch->symbols[i] = g->symbols ? g->symbols[i] : 0;
  }
  scratch->sizes[g->rank] = 2;
  scratch->symbols[g->rank] = 0;
  scratch->geometry.symbols = g->symbols ? scratch->symbols : NULL;
  return &scratch->geometry;
}

fnz_status fnzi_mlir_put_tensor(fnzi_mlir *w, fnz_buffer *out, const fnz_geometry *whole,
                                bool is_mutable) {
  fnzi_mlir_scratch scratch;
  const fnz_geometry *g = fnzi_mlir_as_pairs(whole, &scratch);
  FNZ_TRY(fnzi_put_text(w->ctx, out, is_mutable ? "!torch.tensor<[" : "!torch.vtensor<["));
  for (uint32_t i = 0; i < g->rank; i++) {
    if (i)
      FNZ_TRY(fnzi_put(w->ctx, out, ",", 1));
    FNZ_TRY(words_put_size(w, out, g, i));
  }
  FNZ_TRY(fnzi_put(w->ctx, out, "],", 2));
  FNZ_TRY(fnzi_put_text(w->ctx, out, fnzi_mlir_element(g->dtype)));
  return fnzi_put(w->ctx, out, ">", 1);
}

fnz_status fnzi_mlir_put_builtin(fnzi_mlir *w, fnz_buffer *out, const fnz_geometry *whole) {
  fnzi_mlir_scratch scratch;
  const fnz_geometry *g = fnzi_mlir_as_pairs(whole, &scratch);
  FNZ_TRY(fnzi_put(w->ctx, out, "tensor<", 7));
  for (uint32_t i = 0; i < g->rank; i++) {
    FNZ_TRY(words_put_size(w, out, g, i));
    FNZ_TRY(fnzi_put(w->ctx, out, "x", 1));
  }
  FNZ_TRY(fnzi_put_text(w->ctx, out, elements[g->dtype].builtin));
  return fnzi_put(w->ctx, out, ">", 1);
}

const char *fnzi_mlir_number_type(fnzi_mlir_number number) {
  return number == FNZI_MLIR_FLOAT  ? "!torch.float"
         : number == FNZI_MLIR_BOOL ? "!torch.bool"
                                    : "!torch.int";
}

fnz_status fnzi_mlir_put_type(fnzi_mlir *w, fnz_buffer *out, const fnzi_mlir_frame *frame,
                              const fnz_arg *value) {
  const char *type = NULL;
  if (value->tag == FNZ_ARG_VALUE)
    return fnzi_mlir_put_tensor(w, out, fnzi_value_at(w->p, frame->graph, value->u.value)->geometry,
                                false);
  if (value->tag == FNZ_ARG_SYMBOL)
    type = fnzi_mlir_number_type((fnzi_mlir_number)frame->numbers[value->u.value]);
  if (value->tag == FNZ_ARG_NONE)
    type = "!torch.none";
  if (!type)
    return fnzi_fail(w->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "tokens and objects have no type in the torch dialect");
  return fnzi_put_text(w->ctx, out, type);
}

/* --- numbers ---------------------------------------------------------------------------------- */
fnz_status fnzi_mlir_put_float(fnz_context *ctx, fnz_buffer *out, double value, fnz_dtype dtype) {
  char text[32];
  if (value - value != 0) { /* infinite, or no number */
    /* Bits of infinity and of a quiet NaN; the sign comes first. */
    static const char *const bits[][3] = {
        {"7C00", "FC00", "7E00"},
        {"7F80", "FF80", "7FC0"},
        {"7F800000", "FF800000", "7FC00000"},
        {"7FF0000000000000", "FFF0000000000000", "7FF8000000000000"}};
    int which = value > 0 ? 0 : value < 0 ? 1 : 2;
    int width = dtype == FNZ_F16 ? 0 : dtype == FNZ_BF16 ? 1 : dtype == FNZ_F32 ? 2 : 3;
    return fnzi_printf(ctx, out, "0x%s", bits[width][which]);
  }
  fnzi_double_text(value, text);
  const char *exponent = strchr(text, 'e');
  if (!exponent || strchr(text, '.'))
    return fnzi_put_text(ctx, out, text);
  FNZ_TRY(fnzi_put(ctx, out, text, (size_t)(exponent - text)));
  return fnzi_printf(ctx, out, ".0%s", exponent);
}

/* --- names ------------------------------------------------------------------------------------ */
fnz_status fnzi_mlir_name(fnzi_mlir *w, fnzi_mlir_frame *frame, uint64_t value, const char **out) {
  const char **name = &frame->names[value];
  if (!*name) {
    const char *own = fnzi_value_at(w->p, frame->graph, value)->name;
    const unsigned long long number = (unsigned long long)value;
    bool plain = *own && !(*own >= '0' && *own <= '9');
    for (const char *s = own; *s && plain; s++)
      plain = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') ||
              *s == '_';
    if (!frame->instance)
      FNZ_TRY(plain ? fnzi_arena_format(&w->arena, name, "%%%s", own)
                    : fnzi_arena_format(&w->arena, name, "%%$%llu", number));
    else
      FNZ_TRY(plain ? fnzi_arena_format(&w->arena, name, "%%$%u.%s", frame->instance, own)
                    : fnzi_arena_format(&w->arena, name, "%%$%u.%llu", frame->instance, number));
  }
  *out = *name;
  return FNZ_OK;
}

fnz_status fnzi_mlir_fresh(fnzi_mlir *w, const char **out) {
  return fnzi_arena_format(&w->arena, out, "%%.t%llu", (unsigned long long)w->fresh++);
}

/* --- ends of lines ---------------------------------------------------------------------------- */
fnz_status fnzi_mlir_put_end(fnzi_mlir *w, const fnzi_node *n) {
  const fnz_place place = fnz_source_place(n ? n->source : NULL);
  if (!place.path_size)
    return fnzi_put(w->ctx, &w->body, "\n", 1);
  FNZ_TRY(fnzi_put_text(w->ctx, &w->body, " loc("));
  FNZ_TRY(fnzi_mlir_put_quoted(w->ctx, &w->body, place.path, place.path_size));
  FNZ_TRY(fnzi_put(w->ctx, &w->body, ":", 1));
  FNZ_TRY(fnzi_put_int(w->ctx, &w->body, place.line > 0 ? place.line : 0));
  return fnzi_put(w->ctx, &w->body, ":0)\n", 4);
}
