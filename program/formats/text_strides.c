/* text_strides.c - the strides of a type that has none in the text: row-major, and symbolic if its
 * sizes are, so that they hold at all sizes, not only at the example's. */
#include "program/formats/text_read.h"
#include "program/shapes/symbolic.h"

/* How many elements the dimensions behind one have. */
typedef struct extent {
  const fnzi_expr *expr;
  int64_t number; /* from the sizes of the type; used only if one of them is symbolic */
  int64_t hint;   /* by the examples of its symbols, where has_hint */
  bool has_hint, is_symbolic;
} extent;

static fnz_status size_of(fnzi_parser *r, fnzi_exprs *set, int64_t number, uint32_t symbol,
                          extent *out) {
  if (!symbol) {
    *out = (extent){.number = number ? number : 1, .has_hint = true};
    out->hint = out->number;
    return fnzi_expr_number(set, out->number, 1, &out->expr);
  }
  const fnzi_symbol *s = &r->p->symbols.data[symbol];
  *out = (extent){NULL, number, s->hint, s->has_hint, true};
  fnz_status status = fnzi_expr_parse(set, s->text, strlen(s->text), &out->expr);
  return status == FNZ_OK || status == FNZ_NO_MEMORY
             ? status
             : fnzi_fail(
                   r->ctx, FNZ_CLASS_SYNTAX, "",
                   "the size \"%.80s\" is no expression from which strides follow; write them, "
                   "stride(...)",
                   s->text);
}

static fnz_status row_major(fnzi_parser *r, fnzi_exprs *set, const fnz_geometry *g,
                            int64_t *strides, uint32_t *symbols) {
  extent size, all = {.number = 1, .hint = 1, .has_hint = true};
  const char *text;
  FNZ_TRY(fnzi_expr_number(set, 1, 1, &all.expr));
  for (uint32_t d = g->rank; d-- > 0;) {
    if (all.is_symbolic) {
      strides[d] = all.number;
      FNZ_TRY(fnzi_expr_text(set, all.expr, &text));
      FNZ_TRY(fnzi_symbol_add(r->p, text, all.has_hint, all.hint, &symbols[d]));
    }
    if (!d)
      break;
    FNZ_TRY(size_of(r, set, g->sizes[d], g->symbols[d], &size));
    FNZ_TRY(fnzi_expr_mul(set, all.expr, size.expr, &all.expr));
    all.is_symbolic = all.is_symbolic || size.is_symbolic;
    all.has_hint = all.has_hint && size.has_hint;
    if (!fnzi_mul_i64(all.number, size.number, &all.number) ||
        (all.has_hint && !fnzi_mul_i64(all.hint, size.hint, &all.hint)))
      return fnzi_fail(r->ctx, FNZ_CLASS_OVERFLOW, "", "the row-major strides leave 63 bits");
  }
  return FNZ_OK;
}

fnz_status fnzi_usual_strides(fnzi_parser *r, const fnz_geometry *g, int64_t *strides,
                              uint32_t *symbols) {
  fnzi_exprs set;
  bool is_symbolic = false;
  fnzi_contiguous_strides(g->sizes, g->rank, strides);
  for (uint32_t d = 1; d < g->rank; d++)
    is_symbolic = is_symbolic || g->symbols[d];
  if (!is_symbolic)
    return FNZ_OK;
  fnzi_exprs_init(&set, r->ctx);
  fnz_status status = row_major(r, &set, g, strides, symbols);
  fnzi_exprs_free(&set);
  return status;
}
