/* args.c - arguments that are no tensors, as nodes of the target take them. */
#include "functionalize/pass/pass.h"

fnz_status fnzi_pass_arg_other(const fnzi_pass *p, fnz_arg *arg) {
  if (!fnzi_is_reference(arg))
    return FNZ_OK;
  const char *name = p->graph->values.data[arg->u.value].name;
  if (arg->tag == FNZ_ARG_VALUE || !p->others[arg->u.value].tag)
    return fnzi_fail(p->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "argument %s is %s, which nothing is done with here", name,
                     arg->tag == FNZ_ARG_VALUE ? "a tensor" : "no tensor");
  *arg = p->others[arg->u.value];
  return FNZ_OK;
}

fnz_status fnzi_pass_arg_symbol(const fnzi_pass *p, uint32_t symbol, uint32_t *out) {
  *out = 0;
  if (!symbol)
    return FNZ_OK;
  const fnzi_symbol *s = &p->from->symbols.data[symbol];
  return fnzi_symbol_add(p->to, s->text, s->has_hint, s->hint, out);
}
