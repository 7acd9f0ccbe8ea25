/* constants.c - constants: each is written once, in front of the function's operations. */
#include "program/formats/mlir/mlir.h"

#include <stdio.h>

/* The text of an operation without its result -> "%.c7" where it was written before; else it is
 * written. The operation is in w->scratch. */
static fnz_status numbered(fnzi_mlir *w, const char **out) {
  uint64_t number;
  const char *key;
  if (!fnzi_map_get(&w->known, w->scratch.data, w->scratch.size, &number)) {
    number = w->fresh++;
    FNZ_TRY(fnzi_arena_string(&w->arena, w->scratch.data, w->scratch.size, &key));
    FNZ_TRY(fnzi_map_set(&w->known, key, w->scratch.size, number));
    FNZ_TRY(fnzi_printf(w->ctx, &w->constants, "    %%.c%llu = ", (unsigned long long)number));
    FNZ_TRY(fnzi_put(w->ctx, &w->constants, w->scratch.data, w->scratch.size));
    FNZ_TRY(fnzi_put(w->ctx, &w->constants, "\n", 1));
  }
  return fnzi_arena_format(&w->arena, out, "%%.c%llu", (unsigned long long)number);
}

/* A constant whose name says what it is, such as "%.none". */
static fnz_status named(fnzi_mlir *w, const char *name, const char *operation, const char **out) {
  uint64_t there;
  *out = name;
  if (fnzi_map_get(&w->known, name, strlen(name), &there))
    return FNZ_OK;
  FNZ_TRY(fnzi_map_set(&w->known, name, strlen(name), 0));
  return fnzi_printf(w->ctx, &w->constants, "    %s = torch.constant.%s\n", name, operation);
}

/* "%.int-1". */
fnz_status fnzi_mlir_int(fnzi_mlir *w, int64_t value, const char **out) {
  uint64_t there;
  w->scratch.size = 0;
  FNZ_TRY(fnzi_put_text(w->ctx, &w->scratch, "%.int"));
  FNZ_TRY(fnzi_put_int(w->ctx, &w->scratch, value));
  FNZ_TRY(fnzi_arena_string(&w->arena, w->scratch.data, w->scratch.size, out));
  if (fnzi_map_get(&w->known, *out, w->scratch.size, &there))
    return FNZ_OK;
  FNZ_TRY(fnzi_map_set(&w->known, *out, w->scratch.size, 0));
  return fnzi_printf(w->ctx, &w->constants, "    %s = torch.constant.int %lld\n", *out,
                     (long long)value);
}

fnz_status fnzi_mlir_bool(fnzi_mlir *w, bool value, const char **out) {
  return value ? named(w, "%.true", "bool true", out) : named(w, "%.false", "bool false", out);
}

fnz_status fnzi_mlir_none(fnzi_mlir *w, const char **out) {
  return named(w, "%.none", "none", out);
}

fnz_status fnzi_mlir_float(fnzi_mlir *w, double value, const char **out) {
  w->scratch.size = 0;
  FNZ_TRY(fnzi_put_text(w->ctx, &w->scratch, "torch.constant.float "));
  FNZ_TRY(fnzi_mlir_put_float(w->ctx, &w->scratch, value, FNZ_F64));
  return numbered(w, out);
}

fnz_status fnzi_mlir_string(fnzi_mlir *w, const char *s, size_t size, const char **out) {
  w->scratch.size = 0;
  FNZ_TRY(fnzi_put_text(w->ctx, &w->scratch, "torch.constant.str "));
  FNZ_TRY(fnzi_mlir_put_quoted(w->ctx, &w->scratch, s, size));
  return numbered(w, out);
}

/* Only its kind: which one of several a program runs on is the caller's affair. */
fnz_status fnzi_mlir_device(fnzi_mlir *w, const char *device, const char **out) {
  w->scratch.size = 0;
  FNZ_TRY(fnzi_put_text(w->ctx, &w->scratch, "torch.constant.device "));
  FNZ_TRY(fnzi_mlir_put_quoted(w->ctx, &w->scratch, device, strcspn(device, ":")));
  return numbered(w, out);
}

fnz_status fnzi_mlir_literal(fnzi_mlir *w, const fnz_arg *number, fnz_dtype dtype,
                             const char **out) {
  const char *element = fnzi_mlir_element(dtype);
  w->scratch.size = 0;
  FNZ_TRY(fnzi_put_text(w->ctx, &w->scratch, "torch.vtensor.literal(dense<"));
  bool is_float = number->tag == FNZ_ARG_FLOAT;
  if (dtype == FNZ_BOOL)
    FNZ_TRY(fnzi_put_text(w->ctx, &w->scratch,
                          (is_float ? number->u.f != 0 : number->u.i != 0) ? "true" : "false"));
  else if (fnzi_is_float(dtype))
    FNZ_TRY(fnzi_mlir_put_float(w->ctx, &w->scratch, is_float ? number->u.f : (double)number->u.i,
                                dtype));
  else
    FNZ_TRY(fnzi_put_int(w->ctx, &w->scratch, is_float ? (int64_t)number->u.f : number->u.i));
  FNZ_TRY(fnzi_printf(w->ctx, &w->scratch, "> : tensor<%s>) : !torch.vtensor<[],%s>", element,
                      element));
  return numbered(w, out);
}
