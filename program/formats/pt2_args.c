/* pt2_args.c - the Argument union: one row per tag, with a reader for uses and a reader for
 * definitions.
 *
 * Lists of a tag are read by the reader of its items, so as_int, as_ints and as_int_lists differ by
 * their depth only. */
#include "program/formats/pt2.h"

typedef fnz_status item_reader(fnzi_pt2_scope *s, const fnzi_json *v, fnz_arg *out);

static fnz_status keep_string(fnzi_pt2 *r, fnz_tag tag, const char *text, size_t size,
                              fnz_arg *out) {
  if (size > r->doc.ctx->limits.string)
    return fnzi_fail(r->doc.ctx, FNZ_CLASS_LIMIT, NULL, "a string of %zu bytes; at most %zu", size,
                     r->doc.ctx->limits.string);
  *out = (fnz_arg){.tag = (uint8_t)tag, .count = (uint32_t)size};
  return fnzi_intern(r->p, text, size, &out->u.s);
}

/* --- items that name values ------------------------------------------------------------------- */

/* The operands of higher-order operators may be symbols where the tag says tensors. */
static fnz_status use_name(fnzi_pt2_scope *s, const fnzi_json *at, const char *name, fnz_arg *out) {
  fnz_program *p = s->r->p;
  uint64_t value;
  if (!fnzi_value_find(p, s->graph, name, strlen(name), &value))
    return fnzi_json_fail(&s->r->doc, FNZ_CLASS_REF, at,
                          "value %s is used before anything defines it", name);
  const fnzi_value *v = fnzi_value_at(p, s->graph, value);
  const fnz_tag tag = v->geometry                           ? FNZ_ARG_VALUE
                      : v->symbol                           ? FNZ_ARG_SYMBOL
                      : fnzi_json_find(s->objects, v->name) ? FNZ_ARG_OBJECT
                                                            : FNZ_ARG_TOKEN;
  *out = (fnz_arg){.tag = (uint8_t)tag, .u.value = value};
  return FNZ_OK;
}

static fnz_status use_value(fnzi_pt2_scope *s, const fnzi_json *v, fnz_arg *out) {
  const char *name = "";
  FNZ_TRY(fnzi_json_need_text(&s->r->doc, v, "name", &name));
  return use_name(s, v, name, out);
}

static fnz_status define_tensor(fnzi_pt2_scope *s, const fnzi_json *v, fnz_arg *out) {
  const char *name = "";
  FNZ_TRY(fnzi_json_need_text(&s->r->doc, v, "name", &name));
  return fnzi_pt2_define(s, v, name, FNZ_ARG_VALUE, out);
}

static fnz_status define_object(fnzi_pt2_scope *s, const fnzi_json *v, fnz_arg *out) {
  const char *name = "";
  FNZ_TRY(fnzi_json_need_text(&s->r->doc, v, "name", &name));
  return fnzi_pt2_define(s, v, name, FNZ_ARG_OBJECT, out);
}

/* --- items that are values themselves ---------------------------------------------------- */
static fnz_status read_none(fnzi_pt2_scope *s, const fnzi_json *v, fnz_arg *out) {
  (void)s;
  (void)v;
  *out = (fnz_arg){.tag = FNZ_ARG_NONE};
  return FNZ_OK;
}

static fnz_status read_int_as(fnzi_pt2_scope *s, const fnzi_json *v, fnz_tag tag, fnz_arg *out) {
  *out = (fnz_arg){.tag = (uint8_t)tag};
  return fnzi_json_int(&s->r->doc, v, &out->u.i);
}

static fnz_status read_int(fnzi_pt2_scope *s, const fnzi_json *v, fnz_arg *out) {
  return read_int_as(s, v, FNZ_ARG_INT, out);
}

static fnz_status read_layout(fnzi_pt2_scope *s, const fnzi_json *v, fnz_arg *out) {
  return read_int_as(s, v, FNZ_ARG_LAYOUT, out);
}

static fnz_status read_memory_format(fnzi_pt2_scope *s, const fnzi_json *v, fnz_arg *out) {
  return read_int_as(s, v, FNZ_ARG_MEMORY_FORMAT, out);
}

static fnz_status args_read_dtype(fnzi_pt2_scope *s, const fnzi_json *v, fnz_arg *out) {
  fnz_dtype dtype = 0;
  FNZ_TRY(fnzi_pt2_dtype(&s->r->doc, v, &dtype));
  *out = (fnz_arg){.tag = FNZ_ARG_DTYPE, .u.i = dtype};
  return FNZ_OK;
}

static fnz_status args_read_float(fnzi_pt2_scope *s, const fnzi_json *v, fnz_arg *out) {
  *out = (fnz_arg){.tag = FNZ_ARG_FLOAT};
  return fnzi_json_float(&s->r->doc, v, &out->u.f);
}

static fnz_status read_bool(fnzi_pt2_scope *s, const fnzi_json *v, fnz_arg *out) {
  FNZ_TRY(fnzi_json_expect(&s->r->doc, v, FNZI_JSON_BOOL));
  *out = (fnz_arg){.tag = FNZ_ARG_BOOL, .u.i = v->u.i};
  return FNZ_OK;
}

static fnz_status args_read_string(fnzi_pt2_scope *s, const fnzi_json *v, fnz_arg *out) {
  FNZ_TRY(fnzi_json_expect(&s->r->doc, v, FNZI_JSON_STRING));
  return fnzi_json_at(&s->r->doc, keep_string(s->r, FNZ_ARG_STRING, v->u.s, v->count, out), v);
}

static fnz_status args_read_complex(fnzi_pt2_scope *s, const fnzi_json *v, fnz_arg *out) {
  const fnzi_json *real = fnzi_json_find(v, "real"), *imag = fnzi_json_find(v, "imag");
  fnz_arg *parts;
  if (!real || !imag)
    return fnzi_json_fail(&s->r->doc, FNZ_CLASS_TYPE, v, "a complex number needs real and imag");
  FNZI_NEW(&s->r->p->arena, 2, &parts);
  FNZ_TRY(args_read_float(s, real, &parts[0]));
  FNZ_TRY(args_read_float(s, imag, &parts[1]));
  *out = (fnz_arg){.tag = FNZ_ARG_COMPLEX, .count = 2, .u.list = parts};
  return FNZ_OK;
}

static fnz_status read_device(fnzi_pt2_scope *s, const fnzi_json *v, fnz_arg *out) {
  const fnzi_json *index = fnzi_json_find(v, "index");
  const char *type = "";
  int64_t number = 0;
  FNZ_TRY(fnzi_json_need_text(&s->r->doc, v, "type", &type));
  if (index)
    FNZ_TRY(fnzi_json_int(&s->r->doc, index, &number));
  s->r->text.size = 0;
  FNZ_TRY(fnzi_put_text(s->r->doc.ctx, &s->r->text, type));
  if (index)
    FNZ_TRY(fnzi_printf(s->r->doc.ctx, &s->r->text, ":%lld", (long long)number));
  return fnzi_json_at(&s->r->doc,
                      keep_string(s->r, FNZ_ARG_DEVICE, s->r->text.data, s->r->text.size, out), v);
}

/* SymIntArgument and its kin: the name of a symbolic value, or a plain number. */
static fnz_status symbolic(fnzi_pt2_scope *s, const fnzi_json *v, bool define, fnz_arg *out) {
  const fnzi_json *value;
  const char *name = "";
  FNZ_TRY(fnzi_json_only(&s->r->doc, v, &value));
  if (strcmp(value->key, "as_int") == 0)
    return read_int(s, value, out);
  if (strcmp(value->key, "as_float") == 0)
    return args_read_float(s, value, out);
  if (strcmp(value->key, "as_bool") == 0)
    return read_bool(s, value, out);
  if (strcmp(value->key, "as_name") != 0)
    return fnzi_json_fail(&s->r->doc, FNZ_CLASS_UNSUPPORTED, value,
                          "a symbolic argument of kind %s is not known", value->key);
  FNZ_TRY(fnzi_json_text(&s->r->doc, value, &name));
  return define ? fnzi_pt2_define(s, value, name, FNZ_ARG_SYMBOL, out)
                : use_name(s, value, name, out);
}

static fnz_status use_symbol(fnzi_pt2_scope *s, const fnzi_json *v, fnz_arg *out) {
  return symbolic(s, v, false, out);
}

static fnz_status define_symbol(fnzi_pt2_scope *s, const fnzi_json *v, fnz_arg *out) {
  return symbolic(s, v, true, out);
}

static fnz_status optional(fnzi_pt2_scope *s, const fnzi_json *v, item_reader *present,
                           fnz_arg *out) {
  const fnzi_json *value;
  FNZ_TRY(fnzi_json_only(&s->r->doc, v, &value));
  if (strcmp(value->key, "as_none") == 0)
    return read_none(s, value, out);
  if (strcmp(value->key, "as_tensor") == 0)
    return present(s, value, out);
  return fnzi_json_fail(&s->r->doc, FNZ_CLASS_UNSUPPORTED, value,
                        "an optional tensor of kind %s is not known", value->key);
}

static fnz_status use_optional(fnzi_pt2_scope *s, const fnzi_json *v, fnz_arg *out) {
  return optional(s, v, use_value, out);
}

static fnz_status define_optional(fnzi_pt2_scope *s, const fnzi_json *v, fnz_arg *out) {
  return optional(s, v, define_tensor, out);
}

/* --- operators and graphs ---------------------------------------------------------------- */
fnz_status fnzi_pt2_op_name(fnzi_pt2 *r, const char *target, const char **out) {
  static const char prefix[] = "torch.ops.";
  fnz_context *ctx = r->doc.ctx;
  *out = NULL;
  if (strncmp(target, prefix, strlen(prefix)) != 0)
    return FNZ_OK;
  const char *space = target + strlen(prefix), *dot = strchr(space, '.');
  const char *overload = dot ? strrchr(dot + 1, '.') : NULL;
  if (!overload)
    return FNZ_OK;
  r->text.size = 0;
  if (strncmp(space, "aten.", 5) != 0) {
    FNZ_TRY(fnzi_put(ctx, &r->text, space, (size_t)(dot - space)));
    FNZ_TRY(fnzi_put_text(ctx, &r->text, "::"));
  }
  bool is_default = strcmp(overload, ".default") == 0;
  size_t size = is_default ? (size_t)(overload - dot - 1) : strlen(dot + 1);
  FNZ_TRY(fnzi_put(ctx, &r->text, dot + 1, size));
  return fnzi_intern(r->p, r->text.data, r->text.size, out);
}

static fnz_status args_read_operator(fnzi_pt2_scope *s, const fnzi_json *v, fnz_arg *out) {
  const char *target = "", *name = NULL;
  FNZ_TRY(fnzi_json_text(&s->r->doc, v, &target));
  FNZ_TRY(fnzi_pt2_op_name(s->r, target, &name));
  if (!name)
    return fnzi_json_fail(&s->r->doc, FNZ_CLASS_UNSUPPORTED, v, "%s is not the name of an operator",
                          target);
  return fnzi_json_at(&s->r->doc, keep_string(s->r, FNZ_ARG_OPERATOR, name, strlen(name), out), v);
}

/* Queues the graph to be read later: bodies nest without limit, and this function must not
 * recurse. */
static fnz_status args_read_graph(fnzi_pt2_scope *s, const fnzi_json *v, fnz_arg *out) {
  fnzi_pt2 *r = s->r;
  const fnzi_json *body;
  const char *name = "";
  uint32_t index = 0;
  if (s->op || s->node == FNZI_NO_NODE)
    return fnzi_json_fail(&r->doc, FNZ_CLASS_TYPE, v, "only a higher-order operator takes a graph");
  FNZ_TRY(fnzi_json_need_text(&r->doc, v, "name", &name));
  FNZ_TRY(fnzi_json_need(&r->doc, v, "graph", FNZI_JSON_OBJECT, &body));
  FNZ_TRY(fnzi_graph_add(r->p, name, &index));
  FNZI_PUSH(r->doc.ctx, &r->bodies, body);
  *out = (fnz_arg){.tag = FNZ_ARG_GRAPH, .u.i = index};
  return FNZ_OK;
}

/* --- the union --------------------------------------------------------------------------- */
typedef struct kind {
  const char *tag;
  const char *type; /* in schemas, most often */
  int depth;        /* of lists around the item */
  item_reader *use, *define;
} kind;

static const kind kinds[] = {
    {"as_tensor", "Tensor", 0, use_value, define_tensor},
    {"as_tensors", "Tensor[]", 1, use_value, define_tensor},
    {"as_nested_tensors", "Tensor[][]", 2, use_value, define_tensor},
    {"as_optional_tensor", "Tensor?", 0, use_optional, define_optional},
    {"as_optional_tensors", "Tensor?[]", 1, use_optional, define_optional},
    {"as_none", "Tensor?", 0, read_none, read_none},
    {"as_int", "int", 0, read_int, read_int},
    {"as_ints", "int[]", 1, read_int, NULL},
    {"as_int_lists", "int[][]", 2, read_int, NULL},
    {"as_float", "float", 0, args_read_float, args_read_float},
    {"as_floats", "float[]", 1, args_read_float, NULL},
    {"as_float_lists", "float[][]", 2, args_read_float, NULL},
    {"as_bool", "bool", 0, read_bool, read_bool},
    {"as_bools", "bool[]", 1, read_bool, NULL},
    {"as_string", "str", 0, args_read_string, args_read_string},
    {"as_strings", "str[]", 1, args_read_string, NULL},
    {"as_complex", "Scalar", 0, args_read_complex, args_read_complex},
    {"as_sym_int", "SymInt", 0, use_symbol, define_symbol},
    {"as_sym_ints", "SymInt[]", 1, use_symbol, define_symbol},
    {"as_sym_bool", "SymBool", 0, use_symbol, define_symbol},
    {"as_sym_bools", "SymBool[]", 1, use_symbol, define_symbol},
    {"as_sym_float", "float", 0, use_symbol, define_symbol},
    {"as_sym_floats", "float[]", 1, use_symbol, define_symbol},
    {"as_scalar_type", "ScalarType", 0, args_read_dtype, NULL},
    {"as_layout", "Layout", 0, read_layout, NULL},
    {"as_memory_format", "MemoryFormat", 0, read_memory_format, NULL},
    {"as_device", "Device", 0, read_device, NULL},
    {"as_custom_obj", "__torch__.Class", 0, use_value, define_object},
    {"as_operator", "str", 0, args_read_operator, NULL},
    {"as_graph", "GraphModule", 0, args_read_graph, NULL},
};

static fnz_status open_list(fnzi_pt2_scope *s, const fnzi_json *list, fnz_arg **items,
                            fnz_arg *out) {
  FNZ_TRY(fnzi_json_expect(&s->r->doc, list, FNZI_JSON_ARRAY));
  FNZI_NEW(&s->r->p->arena, list->count, items);
  *out = (fnz_arg){.tag = FNZ_ARG_LIST, .count = list->count, .u.list = *items};
  return FNZ_OK;
}

static fnz_status read_list(fnzi_pt2_scope *s, const fnzi_json *list, item_reader *item,
                            fnz_arg *out) {
  fnz_arg *items;
  FNZ_TRY(open_list(s, list, &items, out));
  for (const fnzi_json *v = list->u.first; v; v = v->next)
    FNZ_TRY(item(s, v, items++));
  return FNZ_OK;
}

static const kind *args_find_kind(const char *tag) {
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strcmp(kinds[i].tag, tag) == 0)
      return &kinds[i];
  return NULL;
}

const char *fnzi_pt2_type_of(const fnzi_json *argument) {
  bool is_union = argument && argument->kind == FNZI_JSON_OBJECT && argument->count == 1;
  const kind *row = is_union ? args_find_kind(argument->u.first->key) : NULL;
  return row ? row->type : "";
}

static fnz_status read_union(fnzi_pt2_scope *s, const fnzi_json *argument, bool define,
                             fnz_arg *out) {
  const fnzi_json *v;
  FNZ_TRY(fnzi_json_only(&s->r->doc, argument, &v));
  const kind *row = args_find_kind(v->key);
  item_reader *item = !row ? NULL : define ? row->define : row->use;
  if (!row)
    return fnzi_json_fail(
        &s->r->doc, FNZ_CLASS_UNSUPPORTED, v,
        "arguments of kind %s are not read; export the program without what takes them", v->key);
  if (!item)
    return fnzi_json_fail(&s->r->doc, FNZ_CLASS_TYPE, v, "%s cannot define a value", v->key);
  if (row->depth < 2)
    return row->depth ? read_list(s, v, item, out) : item(s, v, out);
  fnz_arg *lists;
  FNZ_TRY(open_list(s, v, &lists, out));
  for (const fnzi_json *list = v->u.first; list; list = list->next)
    FNZ_TRY(read_list(s, list, item, lists++));
  return FNZ_OK;
}

fnz_status fnzi_pt2_read_arg(fnzi_pt2_scope *s, const fnzi_json *argument, fnz_arg *out) {
  return read_union(s, argument, false, out);
}

fnz_status fnzi_pt2_define_arg(fnzi_pt2_scope *s, const fnzi_json *argument, fnz_arg *out) {
  return read_union(s, argument, true, out);
}
