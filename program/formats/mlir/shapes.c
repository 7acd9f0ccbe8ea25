/* shapes.c - what is known of symbolic sizes, as hints: `torch.symbolic_int` with its bounds, and
 * `torch.bind_symbolic_shape` for each argument whose sizes are sums of multiples of one symbol. */
#include "program/formats/mlir/mlir.h"
#include "program/formats/text.h"
#include "program/shapes/symbolic.h"

typedef struct shaper {
  fnzi_mlir *w;
  fnz_buffer *out, map, symbols;
  fnzi_exprs set;
  fnzi_map seen;  /* symbols that have an operation */
  fnzi_map bound; /* of this tensor: symbol -> place */
  uint64_t nbound;
} shaper;

static fnz_status declare(shaper *s, const char *symbol) {
  uint64_t there;
  fnz_context *ctx = s->w->ctx;
  if (fnzi_map_get(&s->seen, symbol, strlen(symbol), &there))
    return FNZ_OK;
  fnzi_range range = {symbol, INT64_MIN, INT64_MAX};
  for (size_t i = s->w->p->ranges.count; i-- > 0;) /* the first one counts */
    if (strcmp(s->w->p->ranges.data[i].symbol, symbol) == 0)
      range = s->w->p->ranges.data[i];
  FNZ_TRY(fnzi_map_set(&s->seen, symbol, strlen(symbol), 0));
  FNZ_TRY(fnzi_printf(ctx, s->out, "    %%.sym_%s = torch.symbolic_int ", symbol));
  FNZ_TRY(fnzi_mlir_put_quoted(ctx, s->out, symbol, strlen(symbol)));
  return fnzi_printf(ctx, s->out, " {min_val = %lld, max_val = %lld} : !torch.int\n",
                     (long long)(range.min < 0 ? 0 : range.min), (long long)range.max);
}

/* a * symbol + b in whole numbers. */
static bool is_simple(const fnzi_expr *e, const fnzi_expr **symbol) {
  if (e->kind == FNZI_EXPR_SYMBOL) {
    *symbol = e;
    return fnzi_is_identifier(e->atom_text);
  }
  return e->kind == FNZI_EXPR_SUM && e->count == 1 && e->den == 1 && e->parts[0].den == 1 &&
         fnzi_expr_is_linear(e, symbol) && fnzi_is_identifier((*symbol)->atom_text);
}

static fnz_status shapes_put_size(shaper *s, const fnzi_expr *e, const fnzi_expr *symbol) {
  fnz_context *ctx = s->w->ctx;
  /* The symbol as the map of this tensor knows it. */
  uint64_t place;
  if (!fnzi_map_get(&s->bound, symbol->atom_text, strlen(symbol->atom_text), &place)) {
    place = s->nbound++;
    FNZ_TRY(fnzi_map_set(&s->bound, symbol->atom_text, strlen(symbol->atom_text), place));
    FNZ_TRY(fnzi_printf(ctx, &s->symbols, "%s%%.sym_%s", place ? ", " : "", symbol->atom_text));
    FNZ_TRY(declare(s, symbol->atom_text));
  }
  FNZ_TRY(fnzi_printf(ctx, &s->map, "s%llu", (unsigned long long)place));
  if (e->kind == FNZI_EXPR_SYMBOL)
    return FNZ_OK;
  if (e->parts[0].num != 1)
    FNZ_TRY(fnzi_printf(ctx, &s->map, " * %lld", (long long)e->parts[0].num));
  return e->num ? fnzi_printf(ctx, &s->map, " + %lld", (long long)e->num) : FNZ_OK;
}

/* Into s->map; *fits is false where a size is something else. */
static fnz_status put_sizes(shaper *s, const fnz_geometry *whole, bool *fits) {
  fnz_context *ctx = s->w->ctx;
  fnzi_mlir_scratch scratch;
  const fnz_geometry *g = fnzi_mlir_as_pairs(whole, &scratch);
  for (uint32_t i = 0; i < g->rank && *fits; i++) {
    const fnzi_expr *e, *symbol = NULL;
    const char *text = g->symbols[i] ? s->w->p->symbols.data[g->symbols[i]].text : NULL;
    FNZ_TRY(fnzi_put_text(ctx, &s->map, i ? ", " : ""));
    if (!text) {
      FNZ_TRY(fnzi_put_int(ctx, &s->map, g->sizes[i]));
      continue;
    }
    const fnz_status status = fnzi_expr_parse(&s->set, text, strlen(text), &e);
    if (status == FNZ_NO_MEMORY)
      return status;
    *fits = status == FNZ_OK && is_simple(e, &symbol);
    if (*fits)
      FNZ_TRY(shapes_put_size(s, e, symbol));
  }
  return FNZ_OK;
}

static fnz_status shapes_bind(shaper *s, const fnz_arg *input) {
  const fnz_geometry *g = fnzi_value_at(s->w->p, 0, input->u.value)->geometry;
  fnz_context *ctx = s->w->ctx;
  const char *name;
  bool fits = true;
  if (!g->symbols)
    return FNZ_OK;
  s->map.size = s->symbols.size = 0;
  s->nbound = 0;
  fnzi_map_free(&s->bound);
  fnzi_map_init(&s->bound, ctx);
  FNZ_TRY(put_sizes(s, g, &fits));
  if (!fits || !s->nbound)
    return FNZ_OK;
  FNZ_TRY(fnzi_mlir_name(s->w, &s->w->frames[0], input->u.value, &name));
  FNZ_TRY(fnzi_printf(ctx, s->out, "    torch.bind_symbolic_shape %s, [%s], affine_map<()[", name,
                      s->symbols.data));
  for (uint64_t i = 0; i < s->nbound; i++)
    FNZ_TRY(fnzi_printf(ctx, s->out, "%ss%llu", i ? ", " : "", (unsigned long long)i));
  FNZ_TRY(fnzi_printf(ctx, s->out, "] -> (%s)> : ", s->map.data));
  FNZ_TRY(fnzi_mlir_put_tensor(s->w, s->out, g, false));
  return fnzi_put(ctx, s->out, "\n", 1);
}

fnz_status fnzi_mlir_put_shapes(fnzi_mlir *w, fnz_buffer *out) {
  const fnzi_graph *g = fnzi_graph_main(w->p);
  shaper s = {.w = w, .out = out};
  fnz_status status = FNZ_OK;
  fnzi_exprs_init(&s.set, w->ctx);
  fnzi_map_init(&s.seen, w->ctx);
  fnzi_map_init(&s.bound, w->ctx);
  for (uint32_t k = 0; k < g->ninputs && status == FNZ_OK; k++)
    if (fnzi_mlir_is_argument(w->roles[k]) && g->inputs[k].tag == FNZ_ARG_VALUE)
      status = shapes_bind(&s, &g->inputs[k]);
  fnzi_map_free(&s.bound);
  fnzi_map_free(&s.seen);
  fnzi_exprs_free(&s.set);
  fnz_buffer_free(w->ctx, &s.map);
  fnz_buffer_free(w->ctx, &s.symbols);
  return status;
}
