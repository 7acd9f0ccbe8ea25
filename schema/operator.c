/* operator.c - the public questions about an operator: its parameters, its group, its facts from
 * PyTorch. Searches go through the whole table; they are for people, not for programs. */
#include "schema/schema.h"

/* --- Parameters ------------------------------------------------------------------------------- */
static fnz_param describe(const fnzi_param *p) {
  return (fnz_param){.name = p->name,
                     .type = p->type == FNZI_TYPE_CLASS ? p->class_name : fnzi_type_name(p->type),
                     .alias = p->alias_text,
                     .default_text = p->default_text,
                     .is_list = p->is_list,
                     .item_optional = p->item_optional,
                     .optional = p->optional,
                     .list_size = p->list_size,
                     .is_write = p->is_write,
                     .keyword_only = p->keyword_only,
                     .alias_set = p->alias};
}

size_t fnz_op_param_count(const fnz_op *op) {
  return op->nparams;
}

fnz_param fnz_op_param(const fnz_op *op, size_t i) {
  return describe(&op->params[i]);
}

size_t fnz_op_return_count(const fnz_op *op) {
  return op->nreturns;
}

fnz_param fnz_op_return(const fnz_op *op, size_t i) {
  return describe(&op->returns[i]);
}

/* --- The group -------------------------------------------------------------------------------- */
const char *fnz_member_name(fnz_member member) {
  static const char *const names[] = {
#define NAME(id, name) name,
      FNZ_MEMBER_ROWS(NAME)
#undef NAME
  };
  return names[member];
}

/* The operator of the name without "_copy", as that of a view is but for a few. */
static const fnz_op *without_copy(const fnz_op *copy) {
  static const char end[] = "_copy";
  char name[128];
  size_t size = strlen(copy->base), tail = sizeof end - 1, all = strlen(copy->name);
  if (size <= tail || strcmp(copy->base + size - tail, end) != 0 || all >= sizeof name)
    return NULL;
  memcpy(name, copy->name, size - tail);
  memcpy(name + size - tail, copy->name + size, all - size + 1);
  return fnzi_ops_find(name);
}

static const fnz_op *view_member(const fnz_op *op) {
  if (op->view_of != FNZI_NO_OP)
    return fnzi_op_by_index(op->view_of);
  if (op->kind == FNZI_KIND_FUNCTIONAL && op->is_view)
    return op;
  const fnz_op *functional = fnz_op_functional_twin(op);
  if (!functional || !(functional->tags & FNZI_TAG_VIEW_COPY))
    return NULL;
  /* The view that `functional` copies. */
  uint16_t index = fnzi_op_place(functional);
  const fnz_op *likely = index == FNZI_NO_OP ? NULL : without_copy(functional);
  if (likely && likely->view_copy == index)
    return likely;
  for (size_t i = 0; index != FNZI_NO_OP && i < fnzi_ops_count; i++)
    if (fnzi_ops[i].view_copy == index)
      return &fnzi_ops[i];
  return NULL;
}

/* The variant of kind `kind` whose functional variant is `functional`; `op` itself if it has that
 * kind. */
static const fnz_op *writing_member(const fnz_op *op, const fnz_op *functional, fnzi_kind kind) {
  if (op->kind == kind)
    return op;
  if (functional && functional->functional == FNZI_DECLARED_OP)
    return fnzi_declared_member(op, functional, kind);
  uint16_t index = functional ? fnzi_op_place(functional) : FNZI_NO_OP;
  for (size_t i = 0; index != FNZI_NO_OP && i < fnzi_ops_count; i++)
    if (fnzi_ops[i].functional == index && fnzi_ops[i].kind == kind)
      return &fnzi_ops[i];
  return NULL;
}

const fnz_op *fnz_op_member(const fnz_op *op, fnz_member member) {
  const fnz_op *view = view_member(op);
  const fnz_op *functional = view ? fnzi_op_by_index(view->view_copy) : fnz_op_functional_twin(op);
  switch (member) {
  case FNZ_MEMBER_FUNCTIONAL:
    return functional;
  case FNZ_MEMBER_INPLACE:
    return op->view_of == FNZI_NO_OP ? writing_member(op, functional, FNZI_KIND_INPLACE) : NULL;
  case FNZ_MEMBER_MUTABLE:
    return writing_member(op, functional, FNZI_KIND_MUTABLE);
  case FNZ_MEMBER_OUT:
    return writing_member(op, functional, FNZI_KIND_OUT);
  case FNZ_MEMBER_VIEW:
    return view;
  case FNZ_MEMBER_VIEW_COPY:
    return view ? functional : NULL;
  case FNZ_MEMBER_INPLACE_VIEW: {
    uint16_t index = view ? fnzi_op_place(view) : FNZI_NO_OP;
    for (size_t i = 0; index != FNZI_NO_OP && i < fnzi_ops_count; i++)
      if (fnzi_ops[i].view_of == index)
        return &fnzi_ops[i];
    return NULL;
  }
  case FNZ_MEMBER_COUNT:
    break;
  }
  return NULL;
}

const fnz_op *fnz_op_canonical(const fnz_op *op) {
  return fnzi_op_canonical(op);
}

const fnz_op *fnz_op_element(const fnz_op *op) {
  return fnzi_foreach_element(op);
}

/* --- What PyTorch says ------------------------------------------------------------------------ */
/* The table writes "-" for nothing. */
static const char *text_or_nothing(const char *text) {
  return text && strcmp(text, "-") != 0 ? text : "";
}

const char *fnz_op_tags(const fnz_op *op) {
  return text_or_nothing(op->tags_text);
}

bool fnz_op_has_tag(const fnz_op *op, const char *tag) {
  size_t length = strlen(tag);
  for (const char *at = fnz_op_tags(op); *at;) {
    size_t size = strcspn(at, ",");
    if (size == length && memcmp(at, tag, size) == 0)
      return true;
    at += size + (at[size] == ',');
  }
  return false;
}

const char *fnz_op_composite(const fnz_op *op) {
  switch (op->composite) {
  case FNZI_COMPOSITE_IMPLICIT:
    return "implicit";
  case FNZI_COMPOSITE_EXPLICIT:
    return "explicit";
  case FNZI_COMPOSITE_EXPLICIT_NON_FUNCTIONAL:
    return "explicit_non_functional";
  case FNZI_COMPOSITE_NONE:
    break;
  }
  return "kernel";
}

const char *fnz_op_model(const fnz_op *op) {
  return text_or_nothing(op->model_text);
}

const char *fnz_op_dispatch(const fnz_op *op) {
  return text_or_nothing(op->dispatch_text);
}

const char *fnz_op_promotion(const fnz_op *op) {
  static const char *const names[] = {
      [FNZI_PROMOTE_DEFAULT] = "default",
      [FNZI_PROMOTE_NO_OPMATH] = "no_opmath",
      [FNZI_PROMOTE_INT_TO_FLOAT] = "int_to_float",
      [FNZI_PROMOTE_ALWAYS_BOOL] = "always_bool",
      [FNZI_PROMOTE_COMPLEX_TO_FLOAT] = "complex_to_float",
      [FNZI_PROMOTE_BOOL_TO_LONG] = "bool_to_long",
      [FNZI_PROMOTE_INT_AND_COMPLEX_TO_FLOAT] = "int_and_complex_to_float",
      [FNZI_PROMOTE_SELF] = "self",
      [FNZI_PROMOTE_DOUBLE] = "double",
  };
  const fnz_op *functional = fnz_op_functional_twin(op);
  if (!functional || !fnzi_op_is_elementwise(functional))
    return NULL;
  return names[functional->promotion];
}

/* --- An example ------------------------------------------------------------------------------- */
/* An example of a required argument of each type; NULL: a value of the graph. */
static const char *const examples[FNZI_TYPE_COUNT] = {
    [FNZI_TYPE_INT] = "0",          [FNZI_TYPE_SYM_INT] = "1",
    [FNZI_TYPE_FLOAT] = "0.5",      [FNZI_TYPE_BOOL] = "True",
    [FNZI_TYPE_SYM_BOOL] = "True",  [FNZI_TYPE_SCALAR] = "2",
    [FNZI_TYPE_STRING] = "\"...\"", [FNZI_TYPE_DTYPE] = "f32",
    [FNZI_TYPE_LAYOUT] = "strided", [FNZI_TYPE_DEVICE] = "device(\"cpu\")",
    [FNZI_TYPE_DEVICE_INDEX] = "0", [FNZI_TYPE_MEMORY_FORMAT] = "contiguous_format",
    [FNZI_TYPE_QSCHEME] = "0",      [FNZI_TYPE_DIM_VECTOR] = "[0]",
};

enum { ITEMS = 2 };

fnz_status fnz_op_write_example(fnz_context *ctx, const fnz_op *op, fnz_buffer *out) {
  const char *gap = "";
  FNZ_TRY(fnzi_printf(ctx, out, "%s(", op->name));
  for (size_t i = 0; i < op->nparams; i++) {
    if (op->params[i].has_default)
      continue;
    FNZ_TRY(fnzi_put_text(ctx, out, gap));
    const fnzi_param *p = &op->params[i];
    if (p->keyword_only)
      FNZ_TRY(fnzi_printf(ctx, out, "%s=", p->name));
    if (p->optional)
      FNZ_TRY(fnzi_put_text(ctx, out, "None"));
    else if (p->is_list) {
      int count = p->list_size ? p->list_size : ITEMS;
      FNZ_TRY(fnzi_put_text(ctx, out, "["));
      for (int k = 0; k < count; k++) {
        FNZ_TRY(fnzi_put_text(ctx, out, k ? ", " : ""));
        if (examples[p->type])
          FNZ_TRY(fnzi_put_text(ctx, out, examples[p->type]));
        else
          FNZ_TRY(fnzi_printf(ctx, out, "%%%s_%d", p->name, k));
      }
      FNZ_TRY(fnzi_put_text(ctx, out, "]"));
    } else
      FNZ_TRY(examples[p->type] ? fnzi_put_text(ctx, out, examples[p->type])
                                : fnzi_printf(ctx, out, "%%%s", p->name));
    gap = ", ";
  }
  return fnzi_put_text(ctx, out, ")");
}
