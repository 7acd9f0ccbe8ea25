/* text_sharing.c - memory in the text form: inputs that share it, outputs that are in it, guards
 * (docs/text-format.md). Writer and reader side by side. */
#include "program/formats/text_print.h"
#include "program/formats/text_read.h"

/* --- writing ---------------------------------------------------------------------------------- */
static fnz_status put_input_name(fnzi_printer *w, uint32_t k) {
  return fnzi_print_use(w, &w->p->graphs.data[0].inputs[k]);
}

fnz_status fnzi_print_input_sharing(fnzi_printer *w, const fnz_input_spec *in) {
  if (in->shares) {
    FNZ_TRY(fnzi_print(w, " shares "));
    FNZ_TRY(put_input_name(w, in->shares - 1));
  }
  return in->written ? fnzi_print(w, " written") : FNZ_OK;
}

fnz_status fnzi_print_output_sharing(fnzi_printer *w, const fnz_output_spec *out) {
  bool itself = out->sharing == FNZ_SHARING_INPUT || out->sharing == FNZ_SHARING_OUTPUT;
  bool by_input = out->sharing == FNZ_SHARING_INPUT || out->sharing == FNZ_SHARING_INPUT_VIEW;
  if (out->sharing == FNZ_SHARING_OWN)
    FNZ_TRY(fnzi_print(w, " new"));
  else if (out->sharing != FNZ_SHARING_NEW) {
    FNZ_TRY(fnzi_print(w, itself ? " is " : " in "));
    FNZ_TRY(by_input ? put_input_name(w, out->of) : fnzi_printf(w->ctx, w->out, "%u", out->of));
  }
  if (out->window) {
    FNZ_TRY(fnzi_print(w, " as "));
    FNZ_TRY(fnzi_print_tensor_type(w, out->window));
  }
  if (out->nviews)
    FNZ_TRY(fnzi_print(w, " by"));
  for (uint32_t i = 0; i < out->nviews; i++) {
    const fnz_view_call *v = &out->views[i];
    FNZ_TRY(fnzi_print(w, " "));
    FNZ_TRY(fnzi_print_name(w, fnz_op_name(v->op), ".:"));
    FNZ_TRY(fnzi_print(w, "("));
    FNZ_TRY(fnzi_print_op_args(w, v->op, v->args, v->nargs));
    FNZ_TRY(fnzi_print(w, ")"));
    if (v->index)
      FNZ_TRY(fnzi_printf(w->ctx, w->out, "[%u]", v->index));
  }
  return FNZ_OK;
}

fnz_status fnzi_print_guards(fnzi_printer *w) {
  for (size_t k = 0; k < w->p->guards.count; k++) {
    const fnz_guard *g = &w->p->guards.data[k];
    FNZ_TRY(fnzi_print(w, g->kind == FNZ_GUARD_DISJOINT ? "guard disjoint" : "guard "));
    if (g->text)
      FNZ_TRY(fnzi_print_quoted(w, g->text));
    for (uint32_t i = 0; i < g->count; i++) {
      FNZ_TRY(fnzi_print(w, " "));
      FNZ_TRY(fnzi_print_quoted(w, g->names[i]));
    }
    FNZ_TRY(fnzi_print_line_end(w));
  }
  return FNZ_OK;
}

/* --- reading ---------------------------------------------------------------------------------- */
/* `%x`: the input whose value that is. */
static fnz_status parse_input_name(fnzi_parser *r, const fnz_arg *inputs, size_t ninputs,
                                   uint32_t *out) {
  fnz_arg arg;
  if (r->x.kind != FNZI_TOKEN_VALUE)
    return fnzi_lexer_fail(&r->x, FNZ_CLASS_SYNTAX, "expected an input such as %%x");
  FNZ_TRY(fnzi_parse_use(r, &arg));
  for (*out = 0; *out < ninputs; (*out)++)
    if (fnzi_is_reference(&inputs[*out]) && inputs[*out].u.value == arg.u.value)
      return FNZ_OK;
  return fnzi_lexer_fail(&r->x, FNZ_CLASS_REF, "the value before this is no input of the program");
}

fnz_status fnzi_parse_input_sharing(fnzi_parser *r, fnz_input_spec *spec) {
  bool found;
  uint32_t of = 0;
  FNZ_TRY(fnzi_accept(r, FNZI_TOKEN_WORD, "shares", &found));
  if (found) {
    FNZ_TRY(parse_input_name(r, r->args.data, r->args.count, &of));
    spec->shares = of + 1;
  }
  return fnzi_accept(r, FNZI_TOKEN_WORD, "written", &spec->written);
}

/* `is` and `in` take an input, or an output by its number. */
static fnz_status sharing_parse_source(fnzi_parser *r, bool itself, fnz_output_spec *spec) {
  const fnzi_graph *g = fnzi_graph_main(r->p);
  int64_t number;
  if (r->x.kind == FNZI_TOKEN_VALUE) {
    spec->sharing = itself ? FNZ_SHARING_INPUT : FNZ_SHARING_INPUT_VIEW;
    return parse_input_name(r, g->inputs, g->ninputs, &spec->of);
  }
  spec->sharing = itself ? FNZ_SHARING_OUTPUT : FNZ_SHARING_OUTPUT_VIEW;
  if (r->x.kind == FNZI_TOKEN_INT && (r->x.i < 0 || (uint64_t)r->x.i > r->ctx->limits.nodes))
    return fnzi_lexer_fail(&r->x, FNZ_CLASS_REF, "there is no output %lld", (long long)r->x.i);
  FNZ_TRY(fnzi_parse_int(r, &number));
  spec->of = (uint32_t)number;
  return FNZ_OK;
}

/* The outputs that were read so far wait in r->args, which reading a call uses too. */
static fnz_status parse_view(fnzi_parser *r, fnz_view_call *out) {
  fnz_arg *data = r->args.data;
  size_t count = r->args.count, capacity = r->args.capacity;
  r->args.data = NULL;
  r->args.count = r->args.capacity = 0;
  fnz_status status = fnzi_parse_call(r, &out->op, &out->args, &out->nargs);
  FNZI_VEC_FREE(r->ctx, &r->args);
  r->args.data = data;
  r->args.count = count;
  r->args.capacity = capacity;
  FNZ_TRY(status);
  bool found;
  int64_t index;
  FNZ_TRY(fnzi_accept(r, FNZI_TOKEN_PUNCT, "[", &found));
  if (!found)
    return FNZ_OK;
  if (r->x.kind == FNZI_TOKEN_INT && (r->x.i < 1 || r->x.i > UINT32_MAX))
    return fnzi_lexer_fail(&r->x, FNZ_CLASS_BOUNDS, "result %lld; the first, 0, is left out",
                           (long long)r->x.i);
  FNZ_TRY(fnzi_parse_int(r, &index));
  out->index = (uint32_t)index;
  return fnzi_expect(r, FNZI_TOKEN_PUNCT, "]");
}

enum { MOST_VIEWS = 64 };

fnz_status fnzi_parse_output_sharing(fnzi_parser *r, fnz_output_spec *spec) {
  bool new, is, in, found;
  FNZ_TRY(fnzi_accept(r, FNZI_TOKEN_WORD, "new", &new));
  if (new)
    spec->sharing = FNZ_SHARING_OWN;
  FNZ_TRY(fnzi_accept(r, FNZI_TOKEN_WORD, "is", &is));
  FNZ_TRY(fnzi_accept(r, FNZI_TOKEN_WORD, "in", &in));
  if (is || in)
    FNZ_TRY(sharing_parse_source(r, is, spec));
  FNZ_TRY(fnzi_accept(r, FNZI_TOKEN_WORD, "as", &found));
  if (found)
    FNZ_TRY(fnzi_parse_tensor_type(r, &spec->window));
  FNZ_TRY(fnzi_accept(r, FNZI_TOKEN_WORD, "by", &found));
  if (!found)
    return FNZ_OK;
  fnz_view_call views[MOST_VIEWS] = {{0}}, *own;
  while (r->x.kind == FNZI_TOKEN_WORD) {
    if (spec->nviews == MOST_VIEWS)
      return fnzi_lexer_fail(&r->x, FNZ_CLASS_LIMIT, "more than %d views", MOST_VIEWS);
    FNZ_TRY(parse_view(r, &views[spec->nviews++]));
  }
  FNZI_NEW(&r->p->arena, spec->nviews, &own);
  memcpy(own, views, spec->nviews * sizeof *own);
  spec->views = own;
  return FNZ_OK;
}

fnz_status fnzi_parse_guard(fnzi_parser *r) {
  fnz_guard guard = {.kind = FNZ_GUARD_CONDITION};
  bool is_disjoint;
  FNZ_TRY(fnzi_accept(r, FNZI_TOKEN_WORD, "disjoint", &is_disjoint));
  if (!is_disjoint) {
    FNZ_TRY(fnzi_parse_string(r, &guard.text));
    return fnzi_guard_add(r->p, &guard);
  }
  r->names.count = 0;
  while (r->x.kind == FNZI_TOKEN_STRING) {
    const char *name;
    FNZ_TRY(fnzi_parse_string(r, &name));
    FNZI_PUSH(r->ctx, &r->names, name);
  }
  guard.kind = FNZ_GUARD_DISJOINT;
  guard.names = r->names.data;
  guard.count = (uint32_t)r->names.count;
  return fnzi_guard_add(r->p, &guard);
}
