/* pt2_values.c - tensors and symbolic numbers of a graph: TensorMeta, SymInt, SymBool, SymFloat.
 *
 * A graph names its values in tables beside the nodes. Entries that no node uses are never read. */
#include "program/formats/pt2.h"
#include "program/formats/text.h"
#include "program/shapes/symbolic.h"

#include <stdio.h>

enum { LAYOUT_STRIDED = 7 };

fnz_status fnzi_pt2_dtype(const fnzi_json_doc *in, const fnzi_json *node, fnz_dtype *out) {
  int64_t number = 0;
  FNZ_TRY(fnzi_json_int(in, node, &number));
  for (*out = 0; *out < FNZ_DTYPE_COUNT; (*out)++)
    if (fnz_dtype_get_info(*out)->pt2 == number)
      return FNZ_OK;
  return fnzi_json_fail(in, FNZ_CLASS_UNSUPPORTED, node, "there is no element type of number %lld",
                        (long long)number);
}

/* --- symbolic numbers ------------------------------------------------------------------------- */
/* A SymExprHint. A float cannot be an example of a size; it is dropped. */
static fnz_status read_hint(const fnzi_json_doc *in, const fnzi_json *expr, bool *has_hint,
                            int64_t *out) {
  const fnzi_json *hint = fnzi_json_find(expr, "hint"), *value;
  *has_hint = false;
  if (!hint)
    return FNZ_OK;
  FNZ_TRY(fnzi_json_only(in, hint, &value));
  if (strcmp(value->key, "as_float") == 0)
    return FNZ_OK;
  bool is_bool = strcmp(value->key, "as_bool") == 0;
  if (!is_bool && strcmp(value->key, "as_int") != 0)
    return fnzi_json_fail(in, FNZ_CLASS_UNSUPPORTED, value, "a hint of kind %s is not known",
                          value->key);
  FNZ_TRY(fnzi_json_expect(in, value, is_bool ? FNZI_JSON_BOOL : FNZI_JSON_INT));
  *has_hint = true;
  *out = value->u.i;
  return FNZ_OK;
}

static fnz_status read_expr(fnz_program *p, const fnzi_json_doc *in, const fnzi_json *expr,
                            uint32_t *symbol) {
  const char *text = "";
  bool has_hint = false;
  int64_t hint = 0;
  FNZ_TRY(fnzi_json_need_text(in, expr, "expr_str", &text));
  if (!*text)
    return fnzi_json_fail(in, FNZ_CLASS_UNSUPPORTED, expr,
                          "a symbolic expression without text (expr_ast); export it again");
  FNZ_TRY(read_hint(in, expr, &has_hint, &hint));
  /* "Symbol('s77', positive=True, integer=True)" is s77, the name that the ranges use, and other
   * expressions are as short (program/shapes/symbolic.h). A text that fnz cannot parse stays as it
   * is. */
  fnzi_exprs set;
  fnzi_exprs_init(&set, p->ctx);
  fnz_status status = fnzi_expr_tidy(&set, text, &text);
  if (status == FNZ_OK)
    status = fnzi_intern(p, text, strlen(text), &text);
  fnzi_exprs_free(&set);
  FNZ_TRY(fnzi_json_at(in, status, expr));
  return fnzi_symbol_add(p, text, has_hint, hint, symbol);
}

/* A value of a sym_*_values table: an expression, or a number that became a symbol of its own. */
static fnz_status values_read_symbol(fnzi_pt2 *r, const fnzi_json *union_, uint32_t *symbol) {
  const fnzi_json *value;
  char text[32];
  FNZ_TRY(fnzi_json_only(&r->doc, union_, &value));
  if (strcmp(value->key, "as_expr") == 0)
    return read_expr(r->p, &r->doc, value, symbol);
  if (value->kind == FNZI_JSON_FLOAT || value->kind == FNZI_JSON_STRING) {
    double number = 0;
    FNZ_TRY(fnzi_json_float(&r->doc, value, &number));
    fnzi_double_text(number, text);
    return fnzi_symbol_add(r->p, text, false, 0, symbol);
  }
  if (value->kind == FNZI_JSON_BOOL)
    return fnzi_symbol_add(r->p, value->u.i ? "true" : "false", true, value->u.i, symbol);
  FNZ_TRY(fnzi_json_expect(&r->doc, value, FNZI_JSON_INT));
  snprintf(text, sizeof text, "%lld", (long long)value->u.i);
  return fnzi_symbol_add(r->p, text, true, value->u.i, symbol);
}

/* --- tensors ----------------------------------------------------------------------------- */
/* A SymInt of a geometry; its number is 0 when it depends on data. */
static fnz_status values_read_dim(fnz_program *p, const fnzi_json_doc *in, const fnzi_json *dim,
                                  int64_t *number, uint32_t *symbol) {
  const fnzi_json *value;
  FNZ_TRY(fnzi_json_only(in, dim, &value));
  if (strcmp(value->key, "as_int") == 0)
    return fnzi_json_int(in, value, number);
  if (strcmp(value->key, "as_expr") != 0)
    return fnzi_json_fail(in, FNZ_CLASS_UNSUPPORTED, value, "a size of kind %s is not known",
                          value->key);
  FNZ_TRY(read_expr(p, in, value, symbol));
  *number = p->symbols.data[*symbol].hint;
  return FNZ_OK;
}

typedef struct dims {
  int64_t sizes[FNZ_MAX_RANK], strides[FNZ_MAX_RANK];
  uint32_t symbols[2 * FNZ_MAX_RANK + 1];
} dims;

static fnz_status values_read_dims(fnz_program *p, const fnzi_json_doc *in, const fnzi_json *list,
                                   int64_t *numbers, uint32_t *symbols) {
  for (const fnzi_json *dim = list->u.first; dim; dim = dim->next)
    FNZ_TRY(values_read_dim(p, in, dim, numbers++, symbols++));
  return FNZ_OK;
}

fnz_status fnzi_pt2_geometry(fnz_program *p, const fnzi_json_doc *in, const fnzi_json *meta,
                             const fnz_geometry **out) {
  dims d = {0};
  fnz_geometry g = {.sizes = d.sizes, .strides = d.strides, .symbols = d.symbols};
  const fnzi_json *dtype;
  *out = NULL;
  FNZ_TRY(fnzi_json_need(in, meta, "dtype", FNZI_JSON_INT, &dtype));
  FNZ_TRY(fnzi_pt2_dtype(in, dtype, &g.dtype));
  const fnzi_json *layout;
  FNZ_TRY(fnzi_json_need(in, meta, "layout", FNZI_JSON_INT, &layout));
  if (layout->u.i != LAYOUT_STRIDED) {
    const char *name = "unknown";
    for (const fnzi_text_word *row = fnzi_text_words; row->word; row++)
      if (row->tag == FNZ_ARG_LAYOUT && row->number == layout->u.i)
        name = row->word;
    return fnzi_json_fail(in, FNZ_CLASS_UNSUPPORTED, layout,
                          "a tensor of layout %s (%lld); only strided ones are read, make it dense "
                          "before it is exported (to_dense)",
                          name, (long long)layout->u.i);
  }
  const fnzi_json *sizes, *strides, *offset;
  FNZ_TRY(fnzi_json_need(in, meta, "sizes", FNZI_JSON_ARRAY, &sizes));
  FNZ_TRY(fnzi_json_need(in, meta, "strides", FNZI_JSON_ARRAY, &strides));
  FNZ_TRY(fnzi_json_need(in, meta, "storage_offset", FNZI_JSON_OBJECT, &offset));
  if (sizes->count != strides->count)
    return fnzi_json_fail(in, FNZ_CLASS_TYPE, meta, "%u sizes, but %u strides", sizes->count,
                          strides->count);
  if (sizes->count > FNZ_MAX_RANK)
    return fnzi_json_fail(in, FNZ_CLASS_LIMIT, sizes, "%u dimensions; at most %d are allowed",
                          sizes->count, FNZ_MAX_RANK);
  g.rank = sizes->count;
  FNZ_TRY(values_read_dims(p, in, sizes, d.sizes, d.symbols));
  FNZ_TRY(values_read_dims(p, in, strides, d.strides, d.symbols + g.rank));
  FNZ_TRY(values_read_dim(p, in, offset, &g.offset, &d.symbols[2 * g.rank]));
  return fnzi_json_at(in, fnzi_intern_geometry(p, &g, out), meta);
}

/* --- tables ------------------------------------------------------------------------------ */
static fnz_status add_table(fnzi_pt2_scope *s, fnzi_map *map, const fnzi_json *graph,
                            const char *key) {
  const fnzi_json *table = fnzi_json_find(graph, key);
  if (!table)
    return FNZ_OK;
  FNZ_TRY(fnzi_json_expect(&s->r->doc, table, FNZI_JSON_OBJECT));
  for (const fnzi_json *m = table->u.first; m; m = m->next)
    FNZ_TRY(fnzi_map_set(map, m->key, m->key_size, (uint64_t)(uintptr_t)m));
  return FNZ_OK;
}

fnz_status fnzi_pt2_tables(fnzi_pt2_scope *s, const fnzi_json *graph) {
  const fnzi_json *tensors;
  FNZ_TRY(fnzi_json_need(&s->r->doc, graph, "tensor_values", FNZI_JSON_OBJECT, &tensors));
  FNZ_TRY(add_table(s, &s->tensors, graph, "tensor_values"));
  FNZ_TRY(add_table(s, &s->symbols, graph, "sym_int_values"));
  FNZ_TRY(add_table(s, &s->symbols, graph, "sym_bool_values"));
  FNZ_TRY(add_table(s, &s->symbols, graph, "sym_float_values"));
  s->objects = fnzi_json_find(graph, "custom_obj_values");
  return fnzi_pt2_keep_objects(s);
}

fnz_status fnzi_pt2_define(fnzi_pt2_scope *s, const fnzi_json *at, const char *name, fnz_tag tag,
                           fnz_arg *out) {
  fnzi_pt2 *r = s->r;
  const fnz_geometry *geometry = NULL;
  uint32_t symbol = 0, value = 0;
  bool is_tensor = tag == FNZ_ARG_VALUE;
  uint64_t place = 0;
  bool is_there = fnzi_map_get(is_tensor ? &s->tensors : &s->symbols, name, strlen(name), &place);
  const fnzi_json *meta = is_there ? (const fnzi_json *)(uintptr_t)place : NULL;
  if (!*name)
    return fnzi_json_fail(&r->doc, FNZ_CLASS_TYPE, at, "a value needs a name");
  if (!meta && (is_tensor || tag == FNZ_ARG_SYMBOL))
    return fnzi_json_fail(&r->doc, FNZ_CLASS_REF, at, "value %s is not in %s", name,
                          is_tensor ? "tensor_values" : "sym_int_values, bool or float");
  fnz_status status = is_tensor ? fnzi_pt2_geometry(r->p, &r->doc, meta, &geometry) : FNZ_OK;
  if (status == FNZ_UNSUPPORTED) {
    /* A tensor of a kind that is not supported is named in terms of the exporter: the place in the
     * table does not say which input it is, or which node's result. */
    const fnz_error failure = r->doc.ctx->error;
    char where[160];
    snprintf(where, sizeof where, "input %.100s", name);
    if (s->reading)
      fnzi_node_describe(r->p, s->graph, s->node, s->reading, where);
    return fnzi_fail(r->doc.ctx, failure.kind, failure.where, "%s: %s", where, failure.message);
  }
  FNZ_TRY(status);
  if (tag == FNZ_ARG_SYMBOL)
    FNZ_TRY(values_read_symbol(r, meta, &symbol));
  if (is_tensor && s->batch.defining)
    FNZ_TRY(fnzi_json_at(&r->doc, fnzi_batch_geometry(&s->batch, &geometry), at));
  status = fnzi_value_add(r->p, s->graph, name, geometry, s->node, &value);
  FNZ_TRY(fnzi_json_at(&r->doc, status, at));
  if (is_tensor && !s->batch.defining) /* else the file shows a part of it */
    FNZ_TRY(fnzi_pt2_keep_value(s, value, meta));
  if (is_tensor && s->batch.defining)
    FNZ_TRY(fnzi_batch_defined(&s->batch, value));
  fnzi_value_at(r->p, s->graph, value)->symbol = symbol;
  *out = (fnz_arg){.tag = (uint8_t)tag, .u.value = value};
  return FNZ_OK;
}
