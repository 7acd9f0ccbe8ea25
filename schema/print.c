/* print.c - an operator's schema back from its parts, in the spacing that PyTorch prints. */
#include "schema/schema.h"

#include <stdio.h>

static fnz_status entry(fnz_context *ctx, const fnzi_param *p, fnz_buffer *out) {
  char size[16] = "";
  if (p->list_size)
    snprintf(size, sizeof size, "%d", p->list_size);
  const char *const texts[] = {
      p->type == FNZI_TYPE_CLASS ? p->class_name : fnzi_type_name(p->type),
      p->alias_text ? "(" : "",
      p->alias_text ? p->alias_text : "",
      p->alias_text ? ")" : "",
      p->item_optional ? "?" : "",
      p->is_list ? "[" : "",
      size,
      p->is_list ? "]" : "",
      p->optional ? "?" : "",
      *p->name ? " " : "",
      p->name,
      p->has_default ? "=" : "",
      p->has_default ? p->default_text : "",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    FNZ_TRY(fnzi_put_text(ctx, out, texts[i]));
  return FNZ_OK;
}

static fnz_status entries(fnz_context *ctx, const fnzi_param *list, size_t count, fnz_buffer *out) {
  bool keyword_only = false;
  FNZ_TRY(fnzi_put_text(ctx, out, "("));
  for (size_t i = 0; i < count; i++) {
    FNZ_TRY(fnzi_put_text(ctx, out, i ? ", " : ""));
    FNZ_TRY(fnzi_put_text(ctx, out, !keyword_only && list[i].keyword_only ? "*, " : ""));
    keyword_only = list[i].keyword_only;
    FNZ_TRY(entry(ctx, &list[i], out));
  }
  return fnzi_put_text(ctx, out, ")");
}

fnz_status fnzi_schema_print(fnz_context *ctx, const fnz_op *op, fnz_buffer *out) {
  FNZ_TRY(fnzi_put_text(ctx, out, op->name));
  FNZ_TRY(entries(ctx, op->params, op->nparams, out));
  FNZ_TRY(fnzi_put_text(ctx, out, " -> "));
  if (op->nreturns == 1)
    return entry(ctx, op->returns, out);
  return entries(ctx, op->returns, op->nreturns, out);
}
