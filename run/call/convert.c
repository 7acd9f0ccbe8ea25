/* convert.c - arguments as a schema takes them: in their places, with defaults, converted as
 * PyTorch's argument parser does. */
#include "program/program.h"
#include "run/call/stack.h"

#include <stdio.h>

/* --- Saying what is wrong --------------------------------------------------------------------- */

static fnz_status refuse(fnz_context *ctx, const fnz_op *op, const fnzi_param *p,
                         const fnz_arg *arg) {
  char want[64], have[80];
  return fnzi_fail(ctx, FNZ_CLASS_TYPE, "", "%s: argument %s wants %s, but %s was given; it is %s",
                   op->name, p->name, fnzi_param_words(p, want), fnzi_arg_words(arg, have),
                   op->schema);
}

/* --- Single arguments ------------------------------------------------------------------------- */

static bool retag(fnz_arg *arg, fnz_tag from, fnz_tag to) {
  if (arg->tag != from)
    return false;
  arg->tag = (uint8_t)to;
  return true;
}

static bool to_float(fnz_arg *arg) {
  if (arg->tag == FNZ_ARG_INT || arg->tag == FNZ_ARG_BOOL)
    *arg = (fnz_arg){.tag = FNZ_ARG_FLOAT, .u.f = (double)arg->u.i};
  return arg->tag == FNZ_ARG_FLOAT;
}

/* Does it fit a single argument of the type, converted in place where that is due? A number for a
 * tensor is left to the backend, which takes it where eager does. */
static bool fits(fnzi_type type, fnz_arg *arg) {
  switch (type) {
  case FNZI_TYPE_TENSOR:
    return arg->tag == FNZ_ARG_VALUE || fnzi_arg_is_number(arg);
  case FNZI_TYPE_INT:
  case FNZI_TYPE_SYM_INT:
  case FNZI_TYPE_DEVICE_INDEX:
  case FNZI_TYPE_DIM_VECTOR:
    return arg->tag == FNZ_ARG_INT || retag(arg, FNZ_ARG_BOOL, FNZ_ARG_INT);
  case FNZI_TYPE_FLOAT:
    return to_float(arg);
  case FNZI_TYPE_BOOL:
  case FNZI_TYPE_SYM_BOOL:
    return arg->tag == FNZ_ARG_BOOL;
  case FNZI_TYPE_SCALAR:
    return fnzi_arg_is_number(arg);
  case FNZI_TYPE_STRING:
    return arg->tag == FNZ_ARG_STRING;
  case FNZI_TYPE_DTYPE:
    return arg->tag == FNZ_ARG_DTYPE && fnzi_arg_is_below(arg, FNZ_DTYPE_COUNT);
  case FNZI_TYPE_LAYOUT:
    return arg->tag == FNZ_ARG_LAYOUT;
  case FNZI_TYPE_DEVICE:
    return arg->tag == FNZ_ARG_DEVICE || retag(arg, FNZ_ARG_STRING, FNZ_ARG_DEVICE);
  case FNZI_TYPE_MEMORY_FORMAT:
    return arg->tag == FNZ_ARG_MEMORY_FORMAT;
  case FNZI_TYPE_GRAPH_MODULE:
    return arg->tag == FNZ_ARG_GRAPH;
  case FNZI_TYPE_GENERATOR:
  case FNZI_TYPE_STORAGE:
  case FNZI_TYPE_STREAM:
  case FNZI_TYPE_QSCHEME:
  case FNZI_TYPE_DIMNAME:
  case FNZI_TYPE_CLASS:
  case FNZI_TYPE_COUNT:
    break;
  }
  return arg->tag == FNZ_ARG_OBJECT;
}

/* --- Lists ------------------------------------------------------------------------------------ */

static fnz_status convert_list(fnz_stack *stack, const fnz_op *op, const fnzi_param *p,
                               fnz_arg *arg) {
  if (arg->tag == FNZ_ARG_LIST) {
    fnz_arg *items = NULL;
    for (uint32_t i = 0; i < arg->count; i++) {
      fnz_arg item = arg->u.list[i];
      bool is_none = p->item_optional && item.tag == FNZ_ARG_NONE;
      if (!is_none &&
          (p->type == FNZI_TYPE_TENSOR ? item.tag != FNZ_ARG_VALUE : !fits(p->type, &item)))
        return refuse(stack->ctx, op, p, &item);
      if (item.tag == arg->u.list[i].tag)
        continue;
      if (!items) {
        FNZI_NEW(&stack->arena, arg->count, &items);
        memcpy(items, arg->u.list, arg->count * sizeof *items);
        arg->u.list = items;
      }
      items[i] = item;
    }
    return FNZ_OK;
  }
  if (!p->list_size || p->type == FNZI_TYPE_TENSOR || !fits(p->type, arg))
    return refuse(stack->ctx, op, p, arg);
  /* int[2] takes one int, which counts for each place. */
  fnz_arg *items;
  FNZI_NEW(&stack->arena, p->list_size, &items);
  for (int i = 0; i < p->list_size; i++)
    items[i] = *arg;
  *arg = (fnz_arg){.tag = FNZ_ARG_LIST, .count = (uint32_t)p->list_size, .u.list = items};
  return FNZ_OK;
}

/* --- Places ----------------------------------------------------------------------------------- */

/* Puts named arguments into their places; missing ones are DEFAULT. */
static fnz_status order(fnz_stack *stack, const fnz_op *op, size_t positional) {
  size_t count = stack->count, place;
  fnz_arg *args;
  fnzi_call_entry *entries;
  FNZI_NEW(&stack->arena, op->nparams, &args);
  FNZI_NEW(&stack->arena, op->nparams, &entries);
  for (size_t i = 0; i < count; i++) {
    /* An entry without a name has the place at which it was pushed. */
    const char *name = stack->entries[i].name;
    int found = name ? fnzi_op_param(op, name) : (int)i;
    place = (size_t)found;
    if (name && found < 0)
      return fnzi_fail(stack->ctx, FNZ_CLASS_TYPE, "", "%s has no argument %s; it is %s", op->name,
                       name, op->schema);
    if (!name && i >= positional)
      return fnzi_fail(stack->ctx, FNZ_CLASS_TYPE, "",
                       "%s: argument %zu has no name, but stands behind one that has", op->name, i);
    if (args[place].tag != FNZ_ARG_DEFAULT)
      return fnzi_fail(stack->ctx, FNZ_CLASS_TYPE, "", "%s: argument %s is given twice", op->name,
                       op->params[place].name);
    args[place] = stack->args[i];
    entries[place] = stack->entries[i];
  }
  memcpy(stack->args, args, op->nparams * sizeof *args);
  memcpy(stack->entries, entries, op->nparams * sizeof *entries);
  stack->count = op->nparams;
  return FNZ_OK;
}

fnz_status fnzi_call_stack_arrange(fnz_stack *stack, const fnz_op *op) {
  size_t positional = 0;
  if (stack->count > op->nparams)
    return fnzi_fail(stack->ctx, FNZ_CLASS_TYPE, "", "%s takes %u arguments, but %zu were given",
                     op->name, (unsigned)op->nparams, stack->count);
  if (op->nparams > stack->capacity)
    FNZ_TRY(fnzi_call_stack_reserve(stack, op->nparams));
  while (positional < stack->count && !stack->entries[positional].name)
    positional++;
  if (positional < stack->count)
    FNZ_TRY(order(stack, op, positional));
  for (size_t i = 0; i < op->nparams; i++) {
    const fnzi_param *p = &op->params[i];
    fnz_arg *arg = &stack->args[i];
    if (i >= stack->count || arg->tag == FNZ_ARG_DEFAULT) {
      stack->entries[i] = (fnzi_call_entry){NULL, NULL, NULL, false};
      if (!p->has_default)
        return fnzi_fail(stack->ctx, FNZ_CLASS_TYPE, "", "%s: argument %s is missing; it is %s",
                         op->name, p->name, op->schema);
      *arg = p->default_value;
    } else if (arg->tag != FNZ_ARG_NONE || !p->optional) {
      if (p->is_list || p->type == FNZI_TYPE_DIM_VECTOR)
        FNZ_TRY(convert_list(stack, op, p, arg));
      else if (!fits(p->type, arg))
        return refuse(stack->ctx, op, p, arg);
    }
  }
  stack->count = op->nparams;
  return FNZ_OK;
}
