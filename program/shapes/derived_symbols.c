/* derived_symbols.c - numbers that slices and regions give: where a bound of a slice depends on
 * data, exporters make up a symbol for the size of the slice and one for its offset, which then
 * seem to be free. They follow from the bounds. Likewise sizes of a region's results that depend on
 * data: they are what the bodies return.
 *
 * needs   a verified program, none of its expressions read
 * gives   such symbols stand for the expressions that they are; up to where bounds usually lie */
#include "program/region_ops.h"
#include "program/shapes/sizes.h"

#include "schema/aten_names.h"

typedef struct definer {
  fnzi_sizes *s;
  const fnzi_graph *graph;
  uint32_t *born; /* per symbol: 1 + the first node whose result has it; 0 for an input */
} definer;

enum { INPUT, DIM, START, END, STEP };

/* --- where symbols come from ------------------------------------------------------------------ */
static void note(definer *d, uint32_t symbol, uint32_t node) {
  uint32_t at = node == FNZI_NO_NODE ? 0 : node + 1;
  if (symbol && at < d->born[symbol])
    d->born[symbol] = at;
}

/* It is first named by a result of this node, and depends on data. */
static bool is_made_up_by(const fnzi_sizes *s, uint32_t symbol, size_t node, const uint32_t *born) {
  const char *text = symbol ? s->program->symbols.data[symbol].text : "";
  size_t digits = text[0] == 'u' ? strspn(text + 1, "0123456789") : 0;
  return digits > 0 && text[1 + digits] == 0 && born[symbol] == node + 1;
}

static bool is_made_up(const definer *d, uint32_t symbol, size_t node) {
  return is_made_up_by(d->s, symbol, node, d->born);
}

/* --- expressions ------------------------------------------------------------------------------ */
/* The expression of a symbol, or of the number where `symbol` is 0; *out NULL for a text that is
 * none. */
static fnz_status derived_read_symbol(fnzi_sizes *s, uint32_t symbol, int64_t number,
                                      const fnzi_expr **out) {
  fnzi_exprs *set = &s->set;
  if (!symbol)
    return fnzi_expr_number(set, number, 1, out);
  const char *text = s->program->symbols.data[symbol].text;
  *out = NULL;
  bool full = fnzi_expr_parse(set, text, strlen(text), out) == FNZ_NO_MEMORY;
  return full ? fnzi_no_memory(set->ctx) : FNZ_OK;
}

static fnz_status derived_number_of(definer *d, uint32_t symbol, int64_t number,
                                    const fnzi_expr **out) {
  return derived_read_symbol(d->s, symbol, number, out);
}

static fnz_status derived_call(definer *d, fnzi_function f, const fnzi_expr *a, const fnzi_expr *b,
                               const fnzi_expr **out) {
  const fnzi_expr *args[] = {a, b};
  return fnzi_expr_call(&d->s->set, f, args, 2, out);
}

/* A bound of a slice, `open` when it is left out. Symbols lie within the dimension usually. */
static fnz_status bound(definer *d, const fnz_arg *arg, const fnzi_expr *open,
                        const fnzi_expr *size, const fnzi_expr **out) {
  bool symbolic = arg->tag == FNZ_ARG_SYMBOL;
  *out = open;
  if ((!symbolic && arg->tag != FNZ_ARG_INT) || (!symbolic && arg->u.i == INT64_MAX))
    return FNZ_OK;
  uint32_t symbol = symbolic ? d->graph->values.data[arg->u.value].symbol : 0;
  if (symbolic && !symbol) {
    *out = NULL;
    return FNZ_OK;
  }
  FNZ_TRY(derived_number_of(d, symbol, arg->u.i, out));
  fnzi_exprs *set = &d->s->set;
  const fnzi_expr *of, *zero, *one, *less;
  int64_t most = size->kind == FNZI_EXPR_NUMBER ? size->num : INT64_MAX;
  if (*out && fnzi_expr_is_linear(*out, &of) && fnzi_is_data_symbol(of))
    FNZI_PUSH(set->ctx, &d->s->bounds, ((fnzi_slice_bound){of, most}));
  if (!*out)
    return FNZ_OK;
  /* A bound that may be negative, counted from the end then: v + size * Min(1, Max(0, -v)). */
  const fnzi_expr *v = *out;
  FNZ_TRY(fnzi_expr_number(set, 0, 1, &zero));
  FNZ_TRY(fnzi_expr_number(set, 1, 1, &one));
  FNZ_TRY(fnzi_expr_scale(set, v, -1, 1, &less));
  FNZ_TRY(derived_call(d, FNZI_FUNCTION_MAX, zero, less, &less));
  FNZ_TRY(derived_call(d, FNZI_FUNCTION_MIN, one, less, &less));
  FNZ_TRY(fnzi_expr_mul(set, size, less, &less));
  FNZ_TRY(fnzi_expr_add(set, v, less, &v));
  /* A bound clipped to its dimension: Max(0, Min(size, v)). */
  FNZ_TRY(derived_call(d, FNZI_FUNCTION_MIN, size, v, &v));
  return derived_call(d, FNZI_FUNCTION_MAX, zero, v, out);
}

/* --- slices ----------------------------------------------------------------------------------- */
static fnz_status derived_define(definer *d, uint32_t symbol, size_t node,
                                 const fnzi_expr *meaning) {
  const char *text = d->s->program->symbols.data[symbol].text;
  if (!is_made_up(d, symbol, node))
    return FNZ_OK;
  FNZI_PUSH(d->s->set.ctx, &d->s->meanings, meaning);
  return fnzi_expr_name(&d->s->set, text, meaning);
}

/* How many elements there are from `start` to `end`. */
static fnz_status length(definer *d, const fnzi_expr *start, const fnzi_expr *end, int64_t step,
                         const fnzi_expr **out) {
  fnzi_exprs *set = &d->s->set;
  const fnzi_expr *zero, *more;
  FNZ_TRY(fnzi_expr_number(set, 0, 1, &zero));
  FNZ_TRY(fnzi_expr_scale(set, start, -1, 1, &start));
  FNZ_TRY(fnzi_expr_add(set, end, start, out));
  FNZ_TRY(derived_call(d, FNZI_FUNCTION_MAX, zero, *out, out));
  if (step == 1)
    return FNZ_OK;
  FNZ_TRY(fnzi_expr_number(set, step - 1, 1, &more));
  FNZ_TRY(fnzi_expr_add(set, *out, more, out));
  FNZ_TRY(fnzi_expr_number(set, step, 1, &more));
  return derived_call(d, FNZI_FUNCTION_FLOOR_DIV, *out, more, out);
}

static fnz_status define_slice(definer *d, size_t n, const fnz_geometry *from,
                               const fnz_geometry *to, uint32_t dim, int64_t step) {
  const fnz_arg *args = d->graph->nodes.data[n].args;
  const uint32_t *symbols = from->symbols;
  uint32_t rank = from->rank;
  fnzi_exprs *set = &d->s->set;
  const fnzi_expr *size, *stride, *offset, *zero, *start, *end;
  FNZ_TRY(derived_number_of(d, symbols ? symbols[dim] : 0, from->sizes[dim], &size));
  FNZ_TRY(derived_number_of(d, symbols ? symbols[rank + dim] : 0, from->strides[dim], &stride));
  FNZ_TRY(derived_number_of(d, symbols ? symbols[2 * rank] : 0, from->offset, &offset));
  FNZ_TRY(fnzi_expr_number(set, 0, 1, &zero));
  if (!size)
    return FNZ_OK;
  FNZ_TRY(bound(d, &args[START], zero, size, &start));
  FNZ_TRY(bound(d, &args[END], size, size, &end));
  if (start && end) {
    FNZ_TRY(length(d, start, end, step, &end));
    FNZ_TRY(derived_define(d, to->symbols[dim], n, end));
  }
  if (!start || !stride || !offset)
    return FNZ_OK;
  FNZ_TRY(fnzi_expr_mul(set, start, stride, &start));
  FNZ_TRY(fnzi_expr_add(set, offset, start, &offset));
  return derived_define(d, to->symbols[2 * rank], n, offset);
}

static fnz_status see_node(definer *d, size_t n) {
  const fnzi_node *node = &d->graph->nodes.data[n];
  bool slices = node->op == &fnzi_ops[FNZI_ATEN_slice__Tensor] ||
                node->op == &fnzi_ops[FNZI_ATEN_slice_copy__Tensor];
  if (!slices || node->args[INPUT].tag != FNZ_ARG_VALUE || node->outputs[0].tag != FNZ_ARG_VALUE)
    return FNZ_OK;
  const fnz_geometry *from = d->graph->values.data[node->args[INPUT].u.value].geometry;
  const fnz_geometry *to = d->graph->values.data[node->outputs[0].u.value].geometry;
  fnz_arg dim = node->args[DIM], step = node->args[STEP];
  int64_t at = dim.tag == FNZ_ARG_INT ? dim.u.i : 0, by = step.tag == FNZ_ARG_INT ? step.u.i : 1;
  if (!from || !to || !to->symbols || from->rank != to->rank || by < 1)
    return FNZ_OK;
  at += at < 0 ? from->rank : 0;
  bool known = dim.tag != FNZ_ARG_SYMBOL && step.tag != FNZ_ARG_SYMBOL && at >= 0;
  if (!known || at >= from->rank)
    return FNZ_OK;
  bool made_up = is_made_up(d, to->symbols[at], n) || is_made_up(d, to->symbols[2 * to->rank], n);
  return made_up ? define_slice(d, n, from, to, (uint32_t)at, by) : FNZ_OK;
}

/* --- results of regions ----------------------------------------------------------------------- */
/* Symbols of a result are replaced by the expression that all bodies return there. If bodies return
 * different expressions, or the region is a loop, they stay symbols. */

/* One number of a result: its place in a geometry, or the number that the result is. */
typedef struct place {
  const fnzi_hop *hop;
  uint32_t result, at;
} place;

/* The value that a body returns there; *out NULL if it has no expression. */
static fnz_status returned(fnzi_sizes *s, const place *p, uint32_t body, const fnzi_expr **out) {
  const fnzi_graph *g = fnzi_graph_at(s->program, p->hop->bodies[body]);
  const fnz_arg *arg = &g->outputs[p->result];
  *out = NULL;
  if (arg->tag == FNZ_ARG_INT)
    return fnzi_expr_number(&s->set, arg->u.i, 1, out);
  if (arg->tag == FNZ_ARG_SYMBOL) {
    uint32_t symbol = g->values.data[arg->u.value].symbol;
    return symbol ? derived_read_symbol(s, symbol, 0, out) : FNZ_OK;
  }
  const fnz_geometry *shape =
      arg->tag == FNZ_ARG_VALUE ? g->values.data[arg->u.value].geometry : NULL;
  if (!shape || p->at > 2 * shape->rank)
    return FNZ_OK;
  int64_t number = p->at < shape->rank       ? shape->sizes[p->at]
                   : p->at < 2 * shape->rank ? shape->strides[p->at - shape->rank]
                                             : shape->offset;
  return derived_read_symbol(s, shape->symbols ? shape->symbols[p->at] : 0, number, out);
}

static fnz_status define_number(fnzi_sizes *s, const place *p, uint32_t symbol) {
  const char *text = s->program->symbols.data[symbol].text;
  const fnzi_expr *meaning = NULL, *other;
  for (uint32_t i = 0; i < p->hop->nbodies; i++) {
    FNZ_TRY(returned(s, p, i, &other));
    if (!other || (meaning && other != meaning))
      return FNZ_OK;
    meaning = other;
  }
  return fnzi_expr_find(&s->set, text) ? FNZ_OK : fnzi_expr_name(&s->set, text, meaning);
}

static fnz_status define_results(fnzi_sizes *s, const fnzi_graph *graph, uint32_t node,
                                 const uint32_t *born) {
  fnzi_hop hop;
  if (!fnzi_hop_is_known(&graph->nodes.data[node]))
    return FNZ_OK;
  FNZ_TRY(fnzi_hop_read(s->set.ctx, s->program, &graph->nodes.data[node], &hop));
  if (hop.kind != FNZI_HOP_COND && hop.kind != FNZI_HOP_CALL)
    return FNZ_OK;
  for (uint32_t j = 0; j < hop.results.count; j++) {
    if (hop.results.args[j].tag != FNZ_ARG_VALUE && hop.results.args[j].tag != FNZ_ARG_SYMBOL)
      continue;
    const fnzi_value *v = &graph->values.data[hop.results.args[j].u.value];
    const uint32_t *symbols = v->geometry ? v->geometry->symbols : &v->symbol;
    uint32_t count = v->geometry ? 2 * v->geometry->rank + 1 : 1;
    for (uint32_t i = 0; symbols && i < count; i++)
      if (is_made_up_by(s, symbols[i], node, born))
        FNZ_TRY(define_number(s, &(place){&hop, j, i}, symbols[i]));
  }
  return FNZ_OK;
}

/* --- the whole -------------------------------------------------------------------------------- */
fnz_status fnzi_sizes_define(fnzi_sizes *s) {
  for (size_t i = 0; i < s->program->graphs.count; i++) {
    definer d = {.s = s, .graph = fnzi_graph_at(s->program, (uint32_t)i)};
    size_t count = s->program->symbols.count;
    /* The node that gives each symbol first. */
    FNZI_NEW(&s->set.arena, count + 1, &d.born);
    memset(d.born, 0xff, count * sizeof *d.born);
    for (size_t v = 0; v < d.graph->values.count; v++) {
      const fnzi_value *value = &d.graph->values.data[v];
      const fnz_geometry *g = value->geometry;
      note(&d, value->symbol, value->node);
      for (uint32_t k = 0; g && g->symbols && k < 2 * g->rank + 1; k++)
        note(&d, g->symbols[k], value->node);
    }
    /* In bodies, slices are left out. */
    for (size_t n = 0; n < d.graph->nodes.count; n++)
      if (fnzi_is_hop(&d.graph->nodes.data[n]))
        FNZ_TRY(define_results(s, d.graph, (uint32_t)n, d.born));
      else if (i == 0)
        FNZ_TRY(see_node(&d, n));
  }
  return FNZ_OK;
}
