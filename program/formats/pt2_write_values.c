/* pt2_write_values.c - tensors and symbolic numbers: TensorMeta, SymInt, SymFloat, SymBool.
 *
 * A geometry has no device and no gradient; these come from the value of the .pt2 file that a value
 * was made of: the same one in an unchanged program, else the first result of the node that its own
 * node was made of. */
#include "program/formats/pt2_write.h"

#include <stdlib.h>

enum { LAYOUT_STRIDED = 7 };

/* --- symbolic expressions --------------------------------------------------------------------- */
static fnz_status put_expression_text(fnzi_json_out *w, const char *text, const int64_t *hint) {
  FNZ_TRY(fnzi_json_open(w, '{'));
  FNZ_TRY(fnzi_json_open_as(w, "as_expr", '{'));
  FNZ_TRY(fnzi_json_out_text(w, "expr_str", text));
  FNZ_TRY(fnzi_json_key(w, "hint"));
  if (hint) {
    FNZ_TRY(fnzi_json_open(w, '{'));
    FNZ_TRY(fnzi_json_out_number(w, "as_int", *hint));
    FNZ_TRY(fnzi_json_close(w, '}'));
  } else
    FNZ_TRY(fnzi_json_out_null(w));
  FNZ_TRY(fnzi_json_close(w, '}'));
  return fnzi_json_close(w, '}');
}

static fnz_status values_put_expression(fnzi_pt2_out *o, fnzi_json_out *w, uint32_t symbol,
                                        bool with_hint) {
  const fnzi_symbol *s = &o->p->symbols.data[symbol];
  if (!o->expressions[symbol]) {
    /* PyTorch parses another spelling. A text that fnz cannot parse stays as it is. */
    const fnzi_expr *e;
    fnz_status status = fnzi_expr_parse(&o->exprs, s->text, strlen(s->text), &e);
    o->expressions[symbol] = s->text;
    if (status == FNZ_NO_MEMORY)
      FNZ_TRY(status);
    else if (status == FNZ_OK) {
      o->text.size = 0;
      FNZ_TRY(fnzi_expr_put_srepr(o->ctx, e, &o->text));
      FNZ_TRY(fnzi_arena_string(&o->arena, o->text.data, o->text.size, &o->expressions[symbol]));
    }
  }
  return put_expression_text(w, o->expressions[symbol], with_hint && s->has_hint ? &s->hint : NULL);
}

static fnz_status values_put_dim(fnzi_pt2_out *o, fnzi_json_out *w, int64_t number,
                                 uint32_t symbol) {
  if (symbol)
    return values_put_expression(o, w, symbol, true);
  FNZ_TRY(fnzi_json_open(w, '{'));
  FNZ_TRY(fnzi_json_out_number(w, "as_int", number));
  return fnzi_json_close(w, '}');
}

static fnz_status values_put_dims(fnzi_pt2_out *o, fnzi_json_out *w, const char *key,
                                  const int64_t *numbers, const uint32_t *symbols, uint32_t count) {
  FNZ_TRY(fnzi_json_open_as(w, key, '['));
  for (uint32_t i = 0; i < count; i++)
    FNZ_TRY(values_put_dim(o, w, numbers[i], symbols ? symbols[i] : 0));
  return fnzi_json_close(w, ']');
}

/* --- tensors ---------------------------------------------------------------------------------- */

/* Strides that no symbol of the program may be. */
typedef struct stride_exprs {
  const fnzi_expr *of[FNZ_MAX_RANK];
  int64_t hints[FNZ_MAX_RANK];
} stride_exprs;

/* `strides` replace the strides of the geometry unless NULL. */
static fnz_status put_meta(fnzi_pt2_out *o, fnzi_json_out *w, const fnz_geometry *g,
                           const stride_exprs *strides, const char *device, bool requires_grad) {
  const uint32_t *symbols = g->symbols;
  FNZ_TRY(fnzi_json_open(w, '{'));
  FNZ_TRY(fnzi_json_out_number(w, "dtype", fnzi_dtype(g->dtype)->pt2));
  FNZ_TRY(values_put_dims(o, w, "sizes", g->sizes, symbols, g->rank));
  FNZ_TRY(fnzi_json_out_flag(w, "requires_grad", requires_grad));
  FNZ_TRY(fnzi_json_key(w, "device"));
  FNZ_TRY(fnzi_pt2_put_device(w, device));
  if (!strides)
    FNZ_TRY(
        values_put_dims(o, w, "strides", g->strides, symbols ? symbols + g->rank : NULL, g->rank));
  else {
    FNZ_TRY(fnzi_json_open_as(w, "strides", '['));
    for (uint32_t d = 0; d < g->rank; d++) {
      const fnzi_expr *e = strides->of[d];
      o->text.size = 0;
      if (e->kind == FNZI_EXPR_NUMBER)
        FNZ_TRY(values_put_dim(o, w, e->num, 0));
      else {
        FNZ_TRY(fnzi_expr_put_srepr(o->ctx, e, &o->text));
        FNZ_TRY(put_expression_text(w, o->text.data, &strides->hints[d]));
      }
    }
    FNZ_TRY(fnzi_json_close(w, ']'));
  }
  FNZ_TRY(fnzi_json_key(w, "storage_offset"));
  FNZ_TRY(values_put_dim(o, w, g->offset, symbols ? symbols[2 * g->rank] : 0));
  FNZ_TRY(fnzi_json_out_number(w, "layout", LAYOUT_STRIDED));
  return fnzi_json_close(w, '}');
}

fnz_status fnzi_pt2_put_meta(fnzi_pt2_out *o, fnzi_json_out *w, const fnz_geometry *g,
                             const char *device, bool requires_grad) {
  return put_meta(o, w, g, NULL, device, requires_grad);
}

static fnz_status put_tensor(fnzi_pt2_out *o, fnzi_json_out *w, uint32_t graph, uint64_t value,
                             const fnz_geometry *g, const char *name) {
  fnzi_extras_value note = fnzi_extras_note_of(o->p, graph, value);
  bool can_have_grad = fnzi_is_float(g->dtype) || fnzi_is_complex(g->dtype);
  FNZ_TRY(fnzi_json_out_name(w, name, strlen(name)));
  return fnzi_pt2_put_meta(o, w, g, fnzi_extras_device(o->x, note),
                           note.requires_grad && can_have_grad);
}

/* --- clones ----------------------------------------------------------------------------------- */
/* The geometry at the recorded sizes, in the arena; NULL where some are not known. */
static fnz_status recorded_of(fnzi_pt2_out *o, const fnz_geometry *g, const fnz_geometry **out) {
  fnz_geometry *made;
  int64_t *dims;
  FNZI_NEW(&o->arena, 1, &made);
  FNZI_NEW(&o->arena, 2 * (size_t)g->rank, &dims);
  *out = NULL;
  for (uint32_t i = 0; i < 2 * g->rank; i++) {
    const fnzi_symbol *s = g->symbols[i] ? &o->p->symbols.data[g->symbols[i]] : NULL;
    if (s && !s->has_hint)
      return FNZ_OK;
    dims[i] = s ? s->hint : i < g->rank ? g->sizes[i] : g->strides[i - g->rank];
  }
  *made =
      (fnz_geometry){.dtype = g->dtype, .rank = g->rank, .sizes = dims, .strides = dims + g->rank};
  *out = made;
  return FNZ_OK;
}

/* From the dimension of the least stride on, each stride is the product of the sizes before. A
 * dimension of one element has the stride of the one around it. */
static fnz_status close_gaps(fnzi_pt2_out *o, const fnz_geometry *g, const fnz_geometry *recorded,
                             stride_exprs *out) {
  const fnzi_expr *stride, *size;
  bool done[FNZ_MAX_RANK] = {false};
  FNZ_TRY(fnzi_expr_number(&o->exprs, 1, 1, &stride));
  fnzi_iterator_strides(&recorded, 1, g->rank, recorded->sizes, out->hints);
  for (uint32_t k = 0; k < g->rank; k++) {
    uint32_t least = FNZ_MAX_RANK;
    for (uint32_t d = g->rank; d-- > 0;)
      if (!done[d] &&
          (least == FNZ_MAX_RANK || out->hints[d] < out->hints[least] ||
           (out->hints[d] == out->hints[least] && recorded->sizes[d] < recorded->sizes[least])))
        least = d;
    const char *text = g->symbols[least] ? o->p->symbols.data[g->symbols[least]].text : NULL;
    out->of[least] = stride;
    done[least] = true;
    FNZ_TRY(text ? fnzi_expr_parse(&o->exprs, text, strlen(text), &size)
                 : fnzi_expr_number(&o->exprs, g->sizes[least], 1, &size));
    FNZ_TRY(fnzi_expr_mul(&o->exprs, stride, size, &stride));
  }
  return FNZ_OK;
}

/* A clone closes the gaps of a view and has each element once. */
static fnz_status put_value_of_clone(fnzi_pt2_out *o, fnzi_json_out *w, size_t k) {
  const fnz_geometry *g = fnzi_value_at(o->p, 0, o->copied[k])->geometry, *recorded;
  fnz_geometry clone = *g;
  clone.offset = 0;
  if (!g->symbols) {
    int64_t *own;
    FNZI_NEW(&o->arena, g->rank, &own);
    fnzi_iterator_strides(&g, 1, g->rank, g->sizes, own);
    clone.strides = own;
    return put_tensor(o, w, 0, o->copied[k], &clone, o->clones[k]);
  }
  /* Without recorded sizes it is written with the strides of the view. */
  FNZ_TRY(recorded_of(o, g, &recorded));
  if (!recorded || fnzi_is_dense(recorded))
    return put_tensor(o, w, 0, o->copied[k], g, o->clones[k]);
  fnzi_extras_value note = fnzi_extras_note_of(o->p, 0, o->copied[k]);
  bool can_have_grad = fnzi_is_float(g->dtype) || fnzi_is_complex(g->dtype);
  stride_exprs strides;
  uint32_t *symbols;
  FNZ_TRY(close_gaps(o, g, recorded, &strides));
  FNZI_NEW(&o->arena, 2 * (size_t)g->rank + 1, &symbols);
  memcpy(symbols, g->symbols, g->rank * sizeof *symbols);
  clone.symbols = symbols;
  FNZ_TRY(fnzi_json_out_name(w, o->clones[k], strlen(o->clones[k])));
  return put_meta(o, w, &clone, &strides, fnzi_extras_device(o->x, note),
                  note.requires_grad && can_have_grad);
}

/* --- which number a symbolic value is --------------------------------------------------------- */
/* Functions on symbolic numbers whose result is not of the kind of their operands. */
static const struct {
  const char *target;
  fnzi_pt2_number result;
} functions[] = {
    {"_operator.eq", FNZI_SYM_BOOL},     {"_operator.ne", FNZI_SYM_BOOL},
    {"_operator.lt", FNZI_SYM_BOOL},     {"_operator.le", FNZI_SYM_BOOL},
    {"_operator.gt", FNZI_SYM_BOOL},     {"_operator.ge", FNZI_SYM_BOOL},
    {"torch.sym_not", FNZI_SYM_BOOL},    {"_operator.truediv", FNZI_SYM_FLOAT},
    {"torch.sym_float", FNZI_SYM_FLOAT}, {"torch.sym_int", FNZI_SYM_INT},
    {"math.trunc", FNZI_SYM_INT},        {"math.floor", FNZI_SYM_INT},
    {"math.ceil", FNZI_SYM_INT},         {"torch.sym_sqrt", FNZI_SYM_FLOAT},
};

static fnzi_pt2_number of_argument(const fnzi_pt2_out *o, uint32_t graph, const fnz_arg *arg) {
  if (arg->tag == FNZ_ARG_SYMBOL)
    return (fnzi_pt2_number)o->names[graph].numbers[arg->u.value];
  return arg->tag == FNZ_ARG_FLOAT  ? FNZI_SYM_FLOAT
         : arg->tag == FNZ_ARG_BOOL ? FNZI_SYM_BOOL
                                    : FNZI_SYM_INT;
}

static fnzi_pt2_number of_function(const fnzi_pt2_out *o, uint32_t graph, const fnzi_node *n) {
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
    if (strcmp(functions[i].target, fnzi_node_target(n)) == 0)
      return functions[i].result;
  if (strncmp(fnzi_node_target(n), "math.", 5) == 0 ||
      strncmp(fnzi_node_target(n), "torch._sym_", 11) == 0)
    return FNZI_SYM_FLOAT;
  /* sym_ite(condition, a, b) is like a; a float makes floats of all others. */
  fnzi_pt2_number like = n->nargs ? of_argument(o, graph, &n->args[n->nargs - 1]) : FNZI_SYM_INT;
  for (uint32_t i = 0; i < n->nargs; i++)
    if (of_argument(o, graph, &n->args[i]) == FNZI_SYM_FLOAT)
      like = FNZI_SYM_FLOAT;
  return like;
}

static fnzi_pt2_number of_result(const fnzi_pt2_out *o, uint32_t graph, const fnzi_node *n,
                                 uint32_t k) {
  fnzi_type type = n->op && k < n->op->nreturns ? n->op->returns[k].type : FNZI_TYPE_INT;
  if (!n->op)
    return of_function(o, graph, n);
  if (type == FNZI_TYPE_SCALAR) {
    /* A Scalar is what an element of the tensor is. */
    bool is_tensor = n->nargs && n->args[0].tag == FNZ_ARG_VALUE;
    if (!is_tensor)
      return FNZI_SYM_INT;
    fnz_dtype dtype = fnzi_value_at(o->p, graph, n->args[0].u.value)->geometry->dtype;
    return dtype == FNZ_BOOL ? FNZI_SYM_BOOL : fnzi_is_float(dtype) ? FNZI_SYM_FLOAT : FNZI_SYM_INT;
  }
  return type == FNZI_TYPE_FLOAT                                ? FNZI_SYM_FLOAT
         : type == FNZI_TYPE_BOOL || type == FNZI_TYPE_SYM_BOOL ? FNZI_SYM_BOOL
                                                                : FNZI_SYM_INT;
}

fnz_status fnzi_pt2_find_numbers(fnzi_pt2_out *o, uint32_t graph) {
  const fnzi_graph *g = fnzi_graph_at(o->p, graph);
  FNZI_NEW(&o->arena, g->values.count, &o->names[graph].numbers);
  for (size_t i = 0; i < g->nodes.count; i++) {
    const fnzi_node *n = &g->nodes.data[i];
    for (uint32_t k = 0; k < n->noutputs; k++)
      if (n->outputs[k].tag == FNZ_ARG_SYMBOL)
        o->names[graph].numbers[n->outputs[k].u.value] = (uint8_t)of_result(o, graph, n, k);
  }
  return FNZ_OK;
}

/* --- tables ----------------------------------------------------------------------------------- */
/* A symbol that is a plain number after all. */
static bool values_is_number(const char *text, fnzi_pt2_number number) {
  char *end;
  if (number == FNZI_SYM_BOOL)
    return strcmp(text, "true") == 0 || strcmp(text, "false") == 0;
  if (number == FNZI_SYM_INT)
    (void)strtoll(text, &end, 10);
  else
    (void)strtod(text, &end);
  return *text && !*end;
}

static fnz_status values_put_symbols(fnzi_pt2_out *o, fnzi_json_out *w, uint32_t graph,
                                     const char *key, fnzi_pt2_number number) {
  const fnzi_graph *g = fnzi_graph_at(o->p, graph);
  FNZ_TRY(fnzi_json_open_as(w, key, '{'));
  for (size_t i = 0; i < g->values.count; i++) {
    const fnzi_value *v = &g->values.data[i];
    if (v->geometry || !v->symbol || o->names[graph].numbers[i] != number)
      continue;
    const char *name = fnzi_pt2_name(o, graph, i), *text = o->p->symbols.data[v->symbol].text;
    FNZ_TRY(fnzi_json_out_name(w, name, strlen(name)));
    if (values_is_number(text, number)) {
      static const char *const tags[] = {"as_int", "as_float", "as_bool"};
      FNZ_TRY(fnzi_json_open(w, '{'));
      FNZ_TRY(fnzi_json_key(w, tags[number]));
      FNZ_TRY(number == FNZI_SYM_FLOAT ? fnzi_json_out_float(w, strtod(text, NULL))
                                       : fnzi_json_out_raw(w, text, strlen(text)));
      FNZ_TRY(fnzi_json_close(w, '}'));
    } else
      FNZ_TRY(values_put_expression(o, w, v->symbol, number == FNZI_SYM_INT));
  }
  return fnzi_json_close(w, '}');
}

fnz_status fnzi_pt2_put_tables(fnzi_pt2_out *o, fnzi_json_out *w, uint32_t graph) {
  const fnzi_graph *g = fnzi_graph_at(o->p, graph);
  FNZ_TRY(fnzi_json_open_as(w, "tensor_values", '{'));
  for (size_t i = 0; i < g->values.count; i++)
    if (g->values.data[i].geometry && (graph != 0 || !o->left_out[i]))
      FNZ_TRY(put_tensor(o, w, graph, i, fnzi_value_at(o->p, graph, i)->geometry,
                         fnzi_pt2_name(o, graph, i)));
  for (size_t i = 0; graph == 0 && i < o->nclones; i++)
    FNZ_TRY(put_value_of_clone(o, w, i));
  FNZ_TRY(fnzi_json_close(w, '}'));
  FNZ_TRY(values_put_symbols(o, w, graph, "sym_int_values", FNZI_SYM_INT));
  FNZ_TRY(values_put_symbols(o, w, graph, "sym_bool_values", FNZI_SYM_BOOL));
  FNZ_TRY(
      fnzi_json_out_flag(w, "is_single_tensor_return", fnzi_graph_at(o->p, graph)->returns_single));
  if (o->fields & FNZI_SCHEMA_OBJECTS) {
    FNZ_TRY(fnzi_json_open_as(w, "custom_obj_values", '{'));
    for (size_t i = 0; i < g->values.count; i++) {
      const fnzi_value *v = &g->values.data[i];
      if (v->geometry || v->symbol)
        continue;
      FNZ_TRY(fnzi_json_out_name(w, v->name, strlen(v->name)));
      FNZ_TRY(fnzi_pt2_put_object(o, w, v->name));
    }
    FNZ_TRY(fnzi_json_close(w, '}'));
  }
  if (o->fields & FNZI_SCHEMA_SYM_FLOATS)
    FNZ_TRY(values_put_symbols(o, w, graph, "sym_float_values", FNZI_SYM_FLOAT));
  return FNZ_OK;
}
