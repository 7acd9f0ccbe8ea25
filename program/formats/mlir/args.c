/* args.c - arguments of operators: every parameter of the schema is an operand, in order, defaults
 * as well. A scalar has the type that the parameter requires, because the dialect converts nothing
 * by itself. */
#include "program/formats/mlir/mlir.h"

#include <stdio.h>

/* --- lists of operands ------------------------------------------------------------------------ */
void fnzi_mlir_list_clear(fnzi_mlir_list *list) {
  list->names.size = list->types.size = 0;
}

static fnz_status add_name(fnzi_mlir *w, fnzi_mlir_list *list, const char *name) {
  if (list->names.size)
    FNZ_TRY(fnzi_put(w->ctx, &list->names, ", ", 2));
  return fnzi_put_text(w->ctx, &list->names, name);
}

fnz_status fnzi_mlir_add(fnzi_mlir *w, fnzi_mlir_list *list, const char *name, const char *type) {
  FNZ_TRY(add_name(w, list, name));
  if (list->types.size)
    FNZ_TRY(fnzi_put(w->ctx, &list->types, ", ", 2));
  return fnzi_put_text(w->ctx, &list->types, type);
}

static fnz_status add_value(fnzi_mlir *w, fnzi_mlir_list *list, fnzi_mlir_frame *frame,
                            const fnz_arg *arg) {
  const char *name;
  FNZ_TRY(fnzi_mlir_name(w, frame, arg->u.value, &name));
  FNZ_TRY(add_name(w, list, name));
  if (list->types.size)
    FNZ_TRY(fnzi_put(w->ctx, &list->types, ", ", 2));
  return fnzi_mlir_put_type(w, &list->types, frame, arg);
}

static fnz_status add_int(fnzi_mlir *w, fnzi_mlir_list *list, int64_t value) {
  const char *name;
  FNZ_TRY(fnzi_mlir_int(w, value, &name));
  return fnzi_mlir_add(w, list, name, "!torch.int");
}

static fnz_status add_float(fnzi_mlir *w, fnzi_mlir_list *list, double value) {
  const char *name;
  FNZ_TRY(fnzi_mlir_float(w, value, &name));
  return fnzi_mlir_add(w, list, name, "!torch.float");
}

static fnz_status add_bool(fnzi_mlir *w, fnzi_mlir_list *list, bool value) {
  const char *name;
  FNZ_TRY(fnzi_mlir_bool(w, value, &name));
  return fnzi_mlir_add(w, list, name, "!torch.bool");
}

/* --- what an argument is by itself ------------------------------------------------------------ */
/* .pt2's numbers of memory formats and c10's. */
static int64_t memory_format(int64_t number) {
  static const int64_t numbers[] = {[FNZ_CONTIGUOUS_FORMAT] = 0,
                                    [FNZ_CHANNELS_LAST] = 2,
                                    [FNZ_CHANNELS_LAST_3D] = 3,
                                    [FNZ_PRESERVE_FORMAT] = 1};
  return number >= FNZ_CONTIGUOUS_FORMAT && number <= FNZ_PRESERVE_FORMAT ? numbers[number] : 0;
}

static fnz_status add_layout(fnzi_mlir *w, fnzi_mlir_list *list, int64_t number) {
  enum { STRIDED = 7 }; /* in .pt2 files; 0 in c10 */
  if (number == STRIDED)
    return add_int(w, list, 0);
  return fnzi_fail(w->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                   "a layout that is not strided; IREE has dense tensors only");
}

static fnz_status add_word(fnzi_mlir *w, fnzi_mlir_list *list, const fnz_arg *arg) {
  const char *name;
  if (arg->tag == FNZ_ARG_DEVICE) {
    FNZ_TRY(fnzi_mlir_device(w, arg->u.s, &name));
    return fnzi_mlir_add(w, list, name, "!torch.Device");
  }
  FNZ_TRY(fnzi_mlir_string(w, arg->u.s, arg->count, &name));
  return fnzi_mlir_add(w, list, name, "!torch.str");
}

fnz_status fnzi_mlir_add_plain(fnzi_mlir *w, fnzi_mlir_list *list, fnzi_mlir_frame *frame,
                               const fnz_arg *arg) {
  const char *none;
  switch ((fnz_tag)arg->tag) {
  case FNZ_ARG_VALUE:
  case FNZ_ARG_SYMBOL:
    return add_value(w, list, frame, arg);
  case FNZ_ARG_DEFAULT:
  case FNZ_ARG_NONE:
    FNZ_TRY(fnzi_mlir_none(w, &none));
    return fnzi_mlir_add(w, list, none, "!torch.none");
  case FNZ_ARG_INT:
    return add_int(w, list, arg->u.i);
  case FNZ_ARG_FLOAT:
    return add_float(w, list, arg->u.f);
  case FNZ_ARG_BOOL:
    return add_bool(w, list, arg->u.i != 0);
  case FNZ_ARG_STRING:
  case FNZ_ARG_DEVICE:
    return add_word(w, list, arg);
  case FNZ_ARG_DTYPE:
    return add_int(w, list, fnzi_mlir_scalar_type((fnz_dtype)arg->u.i));
  case FNZ_ARG_LAYOUT:
    return add_layout(w, list, arg->u.i);
  case FNZ_ARG_MEMORY_FORMAT:
    return add_int(w, list, memory_format(arg->u.i));
  case FNZ_ARG_COMPLEX:
  case FNZ_ARG_LIST:
  case FNZ_ARG_TOKEN:
  case FNZ_ARG_OBJECT:
  case FNZ_ARG_GRAPH:
  case FNZ_ARG_OPERATOR:
    break;
  }
  return fnzi_fail(w->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                   "an argument that the torch dialect has no operand for: %s",
                   arg->tag == FNZ_ARG_COMPLEX ? "a complex number"
                                               : "a token, object or operator");
}

/* --- numbers ---------------------------------------------------------------------------------- */
fnzi_mlir_number fnzi_mlir_number_of(fnzi_mlir *w, const fnz_arg *arg) {
  if (arg->tag == FNZ_ARG_SYMBOL)
    return (fnzi_mlir_number)fnzi_mlir_top(w)->numbers[arg->u.value];
  return arg->tag == FNZ_ARG_FLOAT  ? FNZI_MLIR_FLOAT
         : arg->tag == FNZ_ARG_BOOL ? FNZI_MLIR_BOOL
                                    : FNZI_MLIR_INT;
}

/* Columns: the kind of the scalar. Rows: the kind that is required. */
static const char *const conversions[3][3] = {
    {NULL, "aten.Int.float", "aten.Int.bool"},
    {"aten.Float.Scalar", NULL, "aten.Float.Scalar"},
    {"aten.Bool.int", "aten.Bool.float", NULL},
};

fnz_status fnzi_mlir_convert(fnzi_mlir *w, const fnz_arg *arg, fnzi_mlir_number to,
                             const char **out) {
  const char *name;
  fnzi_mlir_number from = fnzi_mlir_number_of(w, arg);
  if (arg->tag != FNZ_ARG_SYMBOL) {
    double number = arg->tag == FNZ_ARG_FLOAT ? arg->u.f : (double)arg->u.i;
    if (to == FNZI_MLIR_FLOAT)
      return fnzi_mlir_float(w, number, out);
    if (to == FNZI_MLIR_BOOL)
      return fnzi_mlir_bool(w, number != 0, out);
    return fnzi_mlir_int(w, arg->tag == FNZ_ARG_FLOAT ? (int64_t)number : arg->u.i, out);
  }
  FNZ_TRY(fnzi_mlir_name(w, fnzi_mlir_top(w), arg->u.value, &name));
  *out = name;
  if (from == to)
    return FNZ_OK;
  FNZ_TRY(fnzi_mlir_fresh(w, out));
  return fnzi_printf(w->ctx, &w->body, "    %s = torch.%s %s : %s -> %s\n", *out,
                     conversions[to][from], name, fnzi_mlir_number_type(from),
                     fnzi_mlir_number_type(to));
}

static fnz_status add_number(fnzi_mlir *w, fnzi_mlir_list *list, const fnz_arg *arg,
                             fnzi_mlir_number to) {
  const char *name;
  FNZ_TRY(fnzi_mlir_convert(w, arg, to, &name));
  return fnzi_mlir_add(w, list, name, fnzi_mlir_number_type(to));
}

/* --- numbers where the schema has a tensor ---------------------------------------------------- */
static const fnz_geometry *first_tensor(const fnzi_mlir *w, const fnzi_node *n) {
  const fnzi_mlir_frame *frame = &w->frames[w->depth - 1];
  for (uint32_t i = 0; i < n->nargs; i++)
    if (n->args[i].tag == FNZ_ARG_VALUE)
      return fnzi_value_at(w->p, frame->graph, n->args[i].u.value)->geometry;
  return NULL;
}

static fnz_status add_as_tensor(fnzi_mlir *w, fnzi_mlir_list *list, const fnzi_node *n,
                                const fnz_arg *arg) {
  const char *name;
  char type[48];
  if (arg->tag != FNZ_ARG_SYMBOL) {
    /* The element type of a tensor without dimensions that promotes as the number does: the other
     * operand's if it is of the number's category or above, else the default of the number. */
    const fnz_geometry *g = first_tensor(w, n);
    bool is_float = arg->tag == FNZ_ARG_FLOAT;
    bool is_others = g && (fnzi_is_float(g->dtype) || (fnzi_is_integer(g->dtype) && !is_float));
    fnz_dtype dtype = is_others                  ? g->dtype
                      : is_float                 ? FNZ_F32
                      : arg->tag == FNZ_ARG_BOOL ? FNZ_BOOL
                                                 : FNZ_I64;
    FNZ_TRY(fnzi_mlir_literal(w, arg, dtype, &name));
    snprintf(type, sizeof type, "!torch.vtensor<[],%s>", fnzi_mlir_element(dtype));
    return fnzi_mlir_add(w, list, name, type);
  }
  fnzi_mlir_number kind = fnzi_mlir_number_of(w, arg);
  const char *element = kind == FNZI_MLIR_INT ? "si64" : kind == FNZI_MLIR_FLOAT ? "f64" : "i1";
  const char *number;
  FNZ_TRY(fnzi_mlir_name(w, fnzi_mlir_top(w), arg->u.value, &number));
  FNZ_TRY(fnzi_mlir_fresh(w, &name));
  snprintf(type, sizeof type, "!torch.vtensor<[],%s>", element);
  FNZ_TRY(fnzi_printf(w->ctx, &w->body, "    %s = torch.prim.NumToTensor.Scalar %s : %s -> %s\n",
                      name, number, fnzi_mlir_number_type(kind), type));
  return fnzi_mlir_add(w, list, name, type);
}

/* --- one argument ----------------------------------------------------------------------------- */
static fnz_status add_one(fnzi_mlir *w, fnzi_mlir_list *list, const fnzi_node *n,
                          const fnzi_param *param, const fnz_arg *arg) {
  fnzi_mlir_number kind = fnzi_mlir_number_of(w, arg);
  if (arg->tag != FNZ_ARG_INT && arg->tag != FNZ_ARG_FLOAT && arg->tag != FNZ_ARG_BOOL &&
      arg->tag != FNZ_ARG_SYMBOL)
    return fnzi_mlir_add_plain(w, list, fnzi_mlir_top(w), arg);
  switch (param->type) {
  case FNZI_TYPE_TENSOR:
    return add_as_tensor(w, list, n, arg);
  case FNZI_TYPE_FLOAT:
    return add_number(w, list, arg, FNZI_MLIR_FLOAT);
  case FNZI_TYPE_BOOL:
  case FNZI_TYPE_SYM_BOOL:
    return add_number(w, list, arg, FNZI_MLIR_BOOL);
  case FNZI_TYPE_SCALAR: { /* a bool is none */
    /* IREE folds a comparison of a constant of floats with an integer as if the floats' bits were
     * integers (docs/iree/splat_comparison.mlir), so what such a tensor is combined with is a
     * float. */
    const fnz_geometry *g = first_tensor(w, n);
    bool meets_floats = strcmp(param->name, "other") == 0 && g && fnzi_is_float(g->dtype);
    bool as_float = kind == FNZI_MLIR_FLOAT || meets_floats;
    return add_number(w, list, arg, as_float ? FNZI_MLIR_FLOAT : FNZI_MLIR_INT);
  }
  default:
    return add_number(w, list, arg, FNZI_MLIR_INT);
  }
}

/* --- lists ------------------------------------------------------------------------------------ */
static const char *list_type(const fnzi_param *param) {
  switch (param->type) {
  case FNZI_TYPE_TENSOR:
    return param->item_optional ? "!torch.list<optional<vtensor>>" : "!torch.list<vtensor>";
  case FNZI_TYPE_FLOAT:
    return "!torch.list<float>";
  case FNZI_TYPE_BOOL:
    return "!torch.list<bool>";
  case FNZI_TYPE_SCALAR:
    return "!torch.list<number>";
  case FNZI_TYPE_STRING:
    return "!torch.list<str>";
  default:
    return "!torch.list<int>";
  }
}

fnz_status fnzi_mlir_add_args(fnzi_mlir *w, const fnzi_node *n, const fnz_op *op) {
  fnzi_mlir_list_clear(&w->args);
  for (uint32_t i = 0; i < op->nparams; i++) {
    const fnzi_param *param = &op->params[i];
    fnz_arg arg = fnzi_arg_get(n->op, n->args, n->nargs, i);
    if (!param->is_list || arg.tag == FNZ_ARG_NONE || arg.tag == FNZ_ARG_DEFAULT) {
      FNZ_TRY(add_one(w, &w->args, n, param, &arg));
      continue;
    }
    const char *name;
    bool is_list = arg.tag == FNZ_ARG_LIST;
    const fnz_arg *items = is_list ? arg.u.list : &arg;
    uint32_t count = is_list ? arg.count : 1, wanted = (uint32_t)param->list_size;
    /* A list of a fixed size that was given as one number has it at each place. */
    uint32_t total = count == 1 && wanted > 1 ? wanted : count;
    fnzi_mlir_list_clear(&w->items);
    for (uint32_t k = 0; k < total; k++)
      FNZ_TRY(add_one(w, &w->items, n, param, &items[k < count ? k : 0]));
    FNZ_TRY(fnzi_mlir_fresh(w, &name));
    FNZ_TRY(fnzi_printf(w->ctx, &w->body, "    %s = torch.prim.ListConstruct %.*s : (%.*s) -> %s\n",
                        name, (int)w->items.names.size,
                        w->items.names.data ? w->items.names.data : "", (int)w->items.types.size,
                        w->items.types.data ? w->items.types.data : "", list_type(param)));
    FNZ_TRY(fnzi_mlir_add(w, &w->args, name, list_type(param)));
  }
  return FNZ_OK;
}
