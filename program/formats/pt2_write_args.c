/* pt2_write_args.c - arguments as the Argument union has them.
 *
 * A list is tagged by the kind of its items; only an empty list needs the schema. */
#include "program/formats/pt2_write.h"

#include <stdlib.h>

/* --- things with names ------------------------------------------------------------------------ */
fnz_status fnzi_pt2_put_tensor(fnzi_json_out *w, const char *name) {
  FNZ_TRY(fnzi_json_open(w, '{'));
  FNZ_TRY(fnzi_json_out_text(w, "name", name));
  return fnzi_json_close(w, '}');
}

fnz_status fnzi_pt2_put_device(fnzi_json_out *w, const char *device) {
  const char *colon = strchr(device, ':');
  FNZ_TRY(fnzi_json_open(w, '{'));
  FNZ_TRY(fnzi_json_key(w, "type"));
  FNZ_TRY(fnzi_json_out_string(w, device, colon ? (size_t)(colon - device) : strlen(device)));
  FNZ_TRY(fnzi_json_key(w, "index"));
  FNZ_TRY(colon ? fnzi_json_out_int(w, strtoll(colon + 1, NULL, 10)) : fnzi_json_out_null(w));
  return fnzi_json_close(w, '}');
}

fnz_status fnzi_pt2_put_object(fnzi_pt2_out *o, fnzi_json_out *w, const char *name) {
  const char *class_name = fnzi_extras_text_of(o->x, FNZI_EXTRA_OBJECT, name, strlen(name));
  if (!class_name)
    return fnzi_fail(o->ctx, FNZ_CLASS_UNSUPPORTED, name,
                     "%s is a script object or a token, and no .pt2 file says of which class",
                     name);
  FNZ_TRY(fnzi_json_open(w, '{'));
  FNZ_TRY(fnzi_json_out_text(w, "name", name));
  FNZ_TRY(fnzi_json_out_text(w, "class_fqn", class_name));
  return fnzi_json_close(w, '}');
}

fnz_status fnzi_pt2_put_operator(fnzi_pt2_out *o, fnzi_json_out *w, const char *name) {
  const char *colons = strstr(name, "::"), *base = colons ? colons + 2 : name;
  int space = colons ? (int)(colons - name) : 4;
  o->text.size = 0;
  FNZ_TRY(fnzi_printf(o->ctx, &o->text, "torch.ops.%.*s.%s%s", space, colons ? name : "aten", base,
                      strchr(base, '.') ? "" : ".default"));
  return fnzi_json_out_string(w, o->text.data, o->text.size);
}

/* {"as_name": name} or {"as_int": 3}, an item of as_sym_ints and its kin. */
static fnz_status args_put_symbol(const fnzi_pt2_out *o, fnzi_json_out *w, uint32_t graph,
                                  const fnz_arg *arg) {
  FNZ_TRY(fnzi_json_open(w, '{'));
  if (arg->tag == FNZ_ARG_SYMBOL)
    FNZ_TRY(fnzi_json_out_text(w, "as_name", fnzi_pt2_name(o, graph, arg->u.value)));
  else if (arg->tag == FNZ_ARG_FLOAT) {
    FNZ_TRY(fnzi_json_key(w, "as_float"));
    FNZ_TRY(fnzi_json_out_float(w, arg->u.f));
  } else if (arg->tag == FNZ_ARG_BOOL) {
    FNZ_TRY(fnzi_json_out_flag(w, "as_bool", arg->u.i != 0));
  } else {
    FNZ_TRY(fnzi_json_out_number(w, "as_int", arg->u.i));
  }
  return fnzi_json_close(w, '}');
}

/* --- items ------------------------------------------------------------------------------------ */
static fnz_status put_complex(fnzi_json_out *w, const fnz_arg *arg) {
  FNZ_TRY(fnzi_json_open(w, '{'));
  FNZ_TRY(fnzi_json_key(w, "real"));
  FNZ_TRY(fnzi_json_out_float(w, arg->count == 2 ? arg->u.list[0].u.f : 0));
  FNZ_TRY(fnzi_json_key(w, "imag"));
  FNZ_TRY(fnzi_json_out_float(w, arg->count == 2 ? arg->u.list[1].u.f : 0));
  return fnzi_json_close(w, '}');
}

static fnz_status args_put_region(fnzi_pt2_out *o, fnzi_json_out *w, const fnz_arg *arg) {
  const fnz_buffer *body = &o->bodies[arg->u.i];
  FNZ_TRY(fnzi_json_open(w, '{'));
  FNZ_TRY(fnzi_json_out_text(w, "name", fnzi_graph_at(o->p, (uint32_t)arg->u.i)->name));
  FNZ_TRY(fnzi_json_key(w, "graph"));
  FNZ_TRY(fnzi_json_out_raw(w, body->data, body->size));
  return fnzi_json_close(w, '}');
}

static const char *const symbol_tags[] = {"as_sym_int", "as_sym_float", "as_sym_bool"};
static const char *const symbol_list_tags[] = {"as_sym_ints", "as_sym_floats", "as_sym_bools"};

static fnzi_pt2_number number_of(const fnzi_pt2_out *o, uint32_t graph, const fnz_arg *arg) {
  return (fnzi_pt2_number)o->names[graph].numbers[arg->u.value];
}

/* Writes the value after the tag. */
static fnz_status put_bare(fnzi_pt2_out *o, fnzi_json_out *w, uint32_t graph, const fnz_arg *arg) {
  switch ((fnz_tag)arg->tag) {
  case FNZ_ARG_VALUE:
    return fnzi_pt2_put_tensor(w, fnzi_pt2_name(o, graph, arg->u.value));
  case FNZ_ARG_SYMBOL:
    return args_put_symbol(o, w, graph, arg);
  case FNZ_ARG_OBJECT:
  case FNZ_ARG_TOKEN:
    return fnzi_pt2_put_object(o, w, fnzi_value_at(o->p, graph, arg->u.value)->name);
  case FNZ_ARG_FLOAT:
    return fnzi_json_out_float(w, arg->u.f);
  case FNZ_ARG_BOOL:
    return fnzi_json_out_bool(w, arg->u.i != 0);
  case FNZ_ARG_COMPLEX:
    return put_complex(w, arg);
  case FNZ_ARG_STRING:
    return fnzi_json_out_string(w, arg->u.s, arg->count);
  case FNZ_ARG_DTYPE:
    return fnzi_json_out_int(w, fnzi_dtype((fnz_dtype)arg->u.i)->pt2);
  case FNZ_ARG_DEVICE:
    return fnzi_pt2_put_device(w, arg->u.s);
  case FNZ_ARG_GRAPH:
    return args_put_region(o, w, arg);
  case FNZ_ARG_OPERATOR:
    return fnzi_pt2_put_operator(o, w, arg->u.s);
  case FNZ_ARG_INT:
  case FNZ_ARG_LAYOUT:
  case FNZ_ARG_MEMORY_FORMAT:
    return fnzi_json_out_int(w, arg->u.i);
  case FNZ_ARG_DEFAULT:
  case FNZ_ARG_NONE:
  case FNZ_ARG_LIST:
    break;
  }
  return fnzi_json_out_bool(w, true);
}

/* {"as_tensor": {"name": name}} */
static fnz_status args_put_tagged(fnzi_pt2_out *o, fnzi_json_out *w, uint32_t graph,
                                  const fnz_arg *arg) {
  static const char *const tags[] = {[FNZ_ARG_DEFAULT] = "as_none",
                                     [FNZ_ARG_NONE] = "as_none",
                                     [FNZ_ARG_VALUE] = "as_tensor",
                                     [FNZ_ARG_TOKEN] = "as_custom_obj",
                                     [FNZ_ARG_OBJECT] = "as_custom_obj",
                                     [FNZ_ARG_INT] = "as_int",
                                     [FNZ_ARG_FLOAT] = "as_float",
                                     [FNZ_ARG_BOOL] = "as_bool",
                                     [FNZ_ARG_COMPLEX] = "as_complex",
                                     [FNZ_ARG_STRING] = "as_string",
                                     [FNZ_ARG_DTYPE] = "as_scalar_type",
                                     [FNZ_ARG_LAYOUT] = "as_layout",
                                     [FNZ_ARG_MEMORY_FORMAT] = "as_memory_format",
                                     [FNZ_ARG_DEVICE] = "as_device",
                                     [FNZ_ARG_LIST] = NULL,
                                     [FNZ_ARG_GRAPH] = "as_graph",
                                     [FNZ_ARG_OPERATOR] = "as_operator"};
  FNZ_TRY(fnzi_pt2_check_arg(o, graph, arg));
  FNZ_TRY(fnzi_json_open(w, '{'));
  FNZ_TRY(fnzi_json_key(w, arg->tag == FNZ_ARG_SYMBOL ? symbol_tags[number_of(o, graph, arg)]
                                                      : tags[arg->tag]));
  FNZ_TRY(put_bare(o, w, graph, arg));
  return fnzi_json_close(w, '}');
}

/* --- lists ------------------------------------------------------------------------------------ */
/* How many items of a list have that tag. */
static uint32_t count_tag(const fnz_arg *list, fnz_tag tag) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < list->count; i++)
    count += list->u.list[i].tag == tag;
  return count;
}

/* Lists of one kind of item. */
static const char *uniform_tag(const fnz_arg *list) {
  static const struct {
    fnz_tag tag;
    const char *name;
  } tags[] = {{FNZ_ARG_INT, "as_ints"},
              {FNZ_ARG_FLOAT, "as_floats"},
              {FNZ_ARG_BOOL, "as_bools"},
              {FNZ_ARG_STRING, "as_strings"},
              {FNZ_ARG_VALUE, "as_tensors"}};
  for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
    if (count_tag(list, tags[i].tag) == list->count)
      return tags[i].name;
  return NULL;
}

static const char *empty_tag(const fnzi_param *param) {
  switch (param ? param->type : FNZI_TYPE_TENSOR) {
  case FNZI_TYPE_INT:
  case FNZI_TYPE_SYM_INT:
  case FNZI_TYPE_DIM_VECTOR:
    return "as_ints";
  case FNZI_TYPE_FLOAT:
  case FNZI_TYPE_SCALAR:
    return "as_floats";
  case FNZI_TYPE_BOOL:
  case FNZI_TYPE_SYM_BOOL:
    return "as_bools";
  case FNZI_TYPE_STRING:
    return "as_strings";
  default:
    return "as_tensors";
  }
}

/* The tag of a list that mixes symbolic and plain numbers. A list of tensors with symbols, as
 * regions have, gets the tag of tensors. NULL for any other list. */
static const char *symbolic_tag(const fnzi_pt2_out *o, uint32_t graph, const fnz_arg *list) {
  fnzi_pt2_number number = FNZI_SYM_INT;
  uint32_t symbols = count_tag(list, FNZ_ARG_SYMBOL);
  if (symbols && symbols + count_tag(list, FNZ_ARG_VALUE) == list->count && symbols < list->count)
    return "as_tensors";
  for (uint32_t i = 0; i < list->count; i++)
    if (list->u.list[i].tag == FNZ_ARG_SYMBOL)
      number = number_of(o, graph, &list->u.list[i]);
  static const fnz_tag plain[] = {FNZ_ARG_INT, FNZ_ARG_FLOAT, FNZ_ARG_BOOL};
  bool fits = symbols && symbols + count_tag(list, plain[number]) == list->count;
  for (uint32_t i = 0; i < list->count && fits; i++)
    fits = list->u.list[i].tag != FNZ_ARG_SYMBOL || number_of(o, graph, &list->u.list[i]) == number;
  return fits ? symbol_list_tags[number] : NULL;
}

/* The tag of a list of lists; NULL when there is none. */
static const char *nested_tag(const fnz_arg *list) {
  const char *tag = NULL;
  if (count_tag(list, FNZ_ARG_LIST) != list->count)
    return NULL;
  for (uint32_t i = 0; i < list->count; i++) {
    const char *own = uniform_tag(&list->u.list[i]);
    if (list->u.list[i].count && (!own || (tag && strcmp(own, tag) != 0)))
      return NULL;
    tag = list->u.list[i].count ? own : tag;
  }
  if (!tag || strcmp(tag, "as_tensors") == 0)
    return "as_nested_tensors";
  return strcmp(tag, "as_ints") == 0     ? "as_int_lists"
         : strcmp(tag, "as_floats") == 0 ? "as_float_lists"
                                         : NULL;
}

/* Writes items without tags, except in lists of tensors that may be None. */
static fnz_status put_items(fnzi_pt2_out *o, fnzi_json_out *w, uint32_t graph, const fnz_arg *list,
                            bool tagged) {
  FNZ_TRY(fnzi_json_open(w, '['));
  for (uint32_t i = 0; i < list->count; i++) {
    const fnz_arg *item = &list->u.list[i];
    FNZ_TRY(tagged ? args_put_tagged(o, w, graph, item) : put_bare(o, w, graph, item));
  }
  return fnzi_json_close(w, ']');
}

/* The list with a tag for its kind; *done false if no tag fits its items. */
static fnz_status try_list(fnzi_pt2_out *o, fnzi_json_out *w, uint32_t graph, const fnz_arg *list,
                           const fnzi_param *param, bool *done) {
  const char *tag = list->count ? uniform_tag(list) : empty_tag(param);
  const char *symbolic = tag ? NULL : symbolic_tag(o, graph, list);
  const char *nested = tag || symbolic ? NULL : nested_tag(list);
  bool optional = !tag && !symbolic && !nested &&
                  count_tag(list, FNZ_ARG_VALUE) + count_tag(list, FNZ_ARG_NONE) == list->count;
  *done = tag || symbolic || nested || optional;
  if (!*done)
    return FNZ_OK;
  FNZ_TRY(fnzi_json_key(w, tag        ? tag
                           : symbolic ? symbolic
                           : nested   ? nested
                                      : "as_optional_tensors"));
  if (symbolic) {
    if (strcmp(symbolic, "as_tensors") == 0) {
      /* Tensors and symbols alike, by their names. */
      FNZ_TRY(fnzi_json_open(w, '['));
      for (uint32_t i = 0; i < list->count; i++)
        FNZ_TRY(fnzi_pt2_put_tensor(w, fnzi_pt2_name(o, graph, list->u.list[i].u.value)));
      return fnzi_json_close(w, ']');
    }
    FNZ_TRY(fnzi_json_open(w, '['));
    for (uint32_t i = 0; i < list->count; i++)
      FNZ_TRY(args_put_symbol(o, w, graph, &list->u.list[i]));
    return fnzi_json_close(w, ']');
  }
  if (!nested)
    return put_items(o, w, graph, list, optional);
  FNZ_TRY(fnzi_json_open(w, '['));
  for (uint32_t i = 0; i < list->count; i++)
    FNZ_TRY(put_items(o, w, graph, &list->u.list[i], false));
  return fnzi_json_close(w, ']');
}

fnz_status fnzi_pt2_put_arg(fnzi_pt2_out *o, fnzi_json_out *w, uint32_t graph, const fnz_arg *arg,
                            const fnzi_param *param) {
  bool done;
  if (arg->tag != FNZ_ARG_LIST)
    return args_put_tagged(o, w, graph, arg);
  FNZ_TRY(fnzi_json_open(w, '{'));
  FNZ_TRY(try_list(o, w, graph, arg, param, &done));
  if (!done)
    return fnzi_pt2_refuse_arg(o, graph, arg, "it has no list of such items");
  return fnzi_json_close(w, '}');
}

/* --- of a node -------------------------------------------------------------------------------- */
fnz_status fnzi_pt2_put_input(fnzi_pt2_out *o, fnzi_json_out *w, uint32_t graph,
                              const fnzi_pt2_input *in) {
  FNZ_TRY(fnzi_json_open(w, '{'));
  FNZ_TRY(fnzi_json_out_text(w, "name", in->name));
  FNZ_TRY(fnzi_json_key(w, "arg"));
  o->argument = in->name;
  FNZ_TRY(fnzi_pt2_put_arg(o, w, graph, &in->arg, in->param));
  o->argument = NULL;
  if (o->fields & FNZI_SCHEMA_ARG_KIND) {
    FNZ_TRY(fnzi_json_out_number(w, "kind", in->kind));
  }
  return fnzi_json_close(w, '}');
}

fnz_status fnzi_pt2_put_result(fnzi_pt2_out *o, fnzi_json_out *w, uint32_t graph,
                               const fnz_arg *result) {
  for (uint32_t i = 0; result->tag == FNZ_ARG_LIST && i < result->count; i++)
    if (result->u.list[i].tag != FNZ_ARG_VALUE)
      return fnzi_pt2_cannot(o, NULL, "a list of results of which some are undefined");
  return fnzi_pt2_put_arg(o, w, graph, result, NULL);
}
