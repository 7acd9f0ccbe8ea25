/* arg_words.c - arguments and the types of parameters in words, for messages. */
#include "program/program.h"

#include <stdio.h>

const char *fnzi_param_words(const fnzi_param *p, char out[64]) {
  char size[16] = "";
  if (p->list_size)
    snprintf(size, sizeof size, "%d", p->list_size);
  const char *name = p->type == FNZI_TYPE_CLASS ? p->class_name : fnzi_type_name(p->type);
  snprintf(out, 64, "%s%s%s%s%s%s", name, p->item_optional ? "?" : "", p->is_list ? "[" : "", size,
           p->is_list ? "]" : "", p->optional ? "?" : "");
  return out;
}

bool fnzi_arg_is_below(const fnz_arg *arg, int64_t count) {
  return arg->u.i >= 0 && arg->u.i < count;
}

static const char *const names[] = {[FNZ_ARG_DEFAULT] = "nothing",
                                    [FNZ_ARG_NONE] = "None",
                                    [FNZ_ARG_VALUE] = "a tensor",
                                    [FNZ_ARG_SYMBOL] = "a symbolic number",
                                    [FNZ_ARG_TOKEN] = "a token",
                                    [FNZ_ARG_OBJECT] = "an object",
                                    [FNZ_ARG_COMPLEX] = "a complex number",
                                    [FNZ_ARG_LAYOUT] = "a layout",
                                    [FNZ_ARG_MEMORY_FORMAT] = "a memory format",
                                    [FNZ_ARG_GRAPH] = "a graph",
                                    [FNZ_ARG_OPERATOR] = "an operator"};

const char *fnzi_arg_words(const fnz_arg *arg, char out[80]) {
  char inner[32];
  switch (arg->tag) {
  case FNZ_ARG_INT:
    snprintf(out, 80, "the int %lld", (long long)arg->u.i);
    break;
  case FNZ_ARG_FLOAT:
    fnzi_double_text(arg->u.f, inner);
    snprintf(out, 80, "the float %s", inner);
    break;
  case FNZ_ARG_BOOL:
    snprintf(out, 80, "the bool %s", arg->u.i ? "True" : "False");
    break;
  case FNZ_ARG_STRING:
  case FNZ_ARG_DEVICE:
    snprintf(out, 80, "the str '%.40s'", arg->u.s);
    break;
  case FNZ_ARG_DTYPE:
    if (fnzi_arg_is_below(arg, FNZ_DTYPE_COUNT))
      snprintf(out, 80, "the ScalarType %s", fnzi_dtype((fnz_dtype)arg->u.i)->torch);
    else
      snprintf(out, 80, "the ScalarType number %lld", (long long)arg->u.i);
    break;
  case FNZ_ARG_LIST:
    snprintf(out, 80, "a list of %u items", arg->count);
    break;
  default:
    return arg->tag < sizeof names / sizeof *names ? names[arg->tag] : "a tag that is none";
  }
  return out;
}
