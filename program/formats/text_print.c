/* text_print.c - writes the pieces of a statement of the text form: names, types, arguments. */
#include "program/formats/text_print.h"
#include "program/shapes/symbolic.h"

enum { WRAP_BYTES = 1000 };

fnz_status fnzi_print(fnzi_printer *w, const char *text) {
  return fnzi_put_text(w->ctx, w->out, text);
}

/* --- names and strings ----------------------------------------------------------------------- */
/* Single quotes where they save escapes, as in JSON text. */
static fnz_status put_string(fnzi_printer *w, const char *s, size_t size) {
  static const char letters[] = "\"\"\\\\\nn\tt\rr"; /* a byte, and the letter for it */
  size_t from = 0;
  char quote = size && memchr(s, '"', size) && !memchr(s, '\'', size) ? '\'' : '"';
  FNZ_TRY(fnzi_put(w->ctx, w->out, &quote, 1));
  for (size_t i = 0; i < size; i++) {
    unsigned char c = (unsigned char)s[i];
    if (c >= 0x20 && c != 0x7f && c != '\\' && (c != '"' || quote != '"'))
      continue;
    FNZ_TRY(fnzi_put(w->ctx, w->out, s + from, i - from));
    const char *l = letters;
    while (*l && (unsigned char)*l != c)
      l += 2;
    FNZ_TRY(*l ? fnzi_printf(w->ctx, w->out, "\\%c", l[1])
               : fnzi_printf(w->ctx, w->out, "\\x%02x", c));
    from = i + 1;
  }
  FNZ_TRY(fnzi_put(w->ctx, w->out, s + from, size - from));
  return fnzi_put(w->ctx, w->out, &quote, 1);
}

fnz_status fnzi_print_quoted(fnzi_printer *w, const char *s) {
  return put_string(w, s, strlen(s));
}

/* Bare when it is made of the letters that every name of that sort may have. */
fnz_status fnzi_print_name(fnzi_printer *w, const char *name, const char *extra) {
  for (const char *s = name; *s; s++)
    if (!((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') ||
          *s == '_' || strchr(extra, *s)))
      return fnzi_print_quoted(w, name);
  return *name ? fnzi_print(w, name) : fnzi_print_quoted(w, name);
}

fnz_status fnzi_print_identifier(fnzi_printer *w, const char *name) {
  return fnzi_is_identifier(name) ? fnzi_print(w, name) : fnzi_print_quoted(w, name);
}

static fnz_status text_put_value(fnzi_printer *w, uint64_t value) {
  FNZ_TRY(fnzi_print(w, "%"));
  return fnzi_print_name(w, fnzi_value_at(w->p, w->graph, value)->name, ".");
}

/* Arguments continue on the next line if the current line is long. */
fnz_status fnzi_print_comma(fnzi_printer *w) {
  if (w->out->size - w->line < WRAP_BYTES)
    return fnzi_print(w, ", ");
  FNZ_TRY(fnzi_print(w, ",\n"));
  w->line = w->out->size;
  return fnzi_print(w, "      ");
}

fnz_status fnzi_print_line_end(fnzi_printer *w) {
  FNZ_TRY(fnzi_print(w, "\n"));
  w->line = w->out->size;
  return FNZ_OK;
}

/* --- types ----------------------------------------------------------------------------------- */
/* An expression in its shortest form needs no quotes. */
static fnz_status text_put_expression(fnzi_printer *w, const char *text) {
  fnzi_exprs set;
  const char *tidy;
  /* Words that an expression reads as 1 and 0. */
  static const char *const words[] = {"true", "false", "True", "False"};
  bool is_truth = false;
  for (size_t i = 0; !is_truth && i < sizeof words / sizeof *words; i++)
    is_truth = strcmp(text, words[i]) == 0;
  if (fnzi_is_identifier(text) && !is_truth)
    return fnzi_print(w, text);
  fnzi_exprs_init(&set, w->ctx);
  fnz_status status = fnzi_expr_tidy(&set, text, &tidy);
  bool bare = status == FNZ_OK && tidy != text && strcmp(tidy, text) == 0;
  fnzi_exprs_free(&set);
  FNZ_TRY(status);
  return bare ? fnzi_print(w, text) : fnzi_print_quoted(w, text);
}

static fnz_status text_put_dim(fnzi_printer *w, const fnz_geometry *g, uint32_t k, int64_t number) {
  uint32_t symbol = g->symbols ? g->symbols[k] : 0;
  if (!symbol)
    return fnzi_put_int(w->ctx, w->out, number);
  const fnzi_symbol *s = &w->p->symbols.data[symbol];
  FNZ_TRY(fnzi_print(w, "{"));
  FNZ_TRY(text_put_expression(w, s->text));
  if (s->has_hint ? s->hint != number : number != 0) {
    FNZ_TRY(fnzi_print(w, ": "));
    FNZ_TRY(fnzi_put_int(w->ctx, w->out, number));
  }
  return fnzi_print(w, "}");
}

static fnz_status text_put_dims(fnzi_printer *w, const fnz_geometry *g, const int64_t *numbers,
                                uint32_t first_symbol) {
  for (uint32_t i = 0; i < g->rank; i++) {
    if (i)
      FNZ_TRY(fnzi_print(w, ","));
    FNZ_TRY(text_put_dim(w, g, first_symbol + i, numbers[i]));
  }
  return FNZ_OK;
}

fnz_status fnzi_print_tensor_type(fnzi_printer *w, const fnz_geometry *g) {
  FNZ_TRY(fnzi_print(w, fnz_dtype_get_info(g->dtype)->name));
  FNZ_TRY(fnzi_print(w, "["));
  FNZ_TRY(text_put_dims(w, g, g->sizes, 0));
  FNZ_TRY(fnzi_print(w, "]"));
  /* A reader that finds none uses row-major ones: numbers, unless a size after the first is
   * symbolic. */
  int64_t strides[FNZ_MAX_RANK];
  fnzi_contiguous_strides(g->sizes, g->rank, strides);
  bool usual_strides = true;
  for (uint32_t i = 0; usual_strides && i < g->rank; i++)
    usual_strides = strides[i] == g->strides[i] &&
                    (!g->symbols || (!g->symbols[g->rank + i] && (!i || !g->symbols[i])));
  if (!usual_strides) {
    FNZ_TRY(fnzi_print(w, " stride("));
    FNZ_TRY(text_put_dims(w, g, g->strides, g->rank));
    FNZ_TRY(fnzi_print(w, ")"));
  }
  if (g->offset || (g->symbols && g->symbols[2 * g->rank])) {
    FNZ_TRY(fnzi_print(w, " offset("));
    FNZ_TRY(text_put_dim(w, g, 2 * g->rank, g->offset));
    FNZ_TRY(fnzi_print(w, ")"));
  }
  if (g->is_conj)
    FNZ_TRY(fnzi_print(w, " conj"));
  return g->is_neg ? fnzi_print(w, " neg") : FNZ_OK;
}

/* --- arguments ------------------------------------------------------------------------------- */
static const char *bare_word(const fnz_arg *arg) {
  bool has_number = arg->tag != FNZ_ARG_DEFAULT && arg->tag != FNZ_ARG_NONE;
  for (const fnzi_text_word *row = fnzi_text_words; row->word; row++)
    if (row->tag == arg->tag && (!has_number || row->number == arg->u.i))
      return row->word;
  return NULL;
}

static fnz_status put_float(fnzi_printer *w, double f) {
  char text[32];
  fnzi_double_text(f, text);
  return fnzi_print(w, text);
}

static fnz_status text_put_region(fnzi_printer *w, int64_t graph) {
  uint64_t count = 0;
  const char *name = fnzi_graph_at(w->p, (uint32_t)graph)->name;
  fnzi_map_get(&w->regions, name, strlen(name), &count);
  if (count == 1 && fnzi_is_identifier(name))
    return fnzi_printf(w->ctx, w->out, "@%s", name);
  return fnzi_printf(w->ctx, w->out, "@%lld", (long long)graph);
}

static fnz_status text_put_call(fnzi_printer *w, const fnz_arg *arg) {
  FNZ_TRY(fnzi_print(w, fnzi_text_word_of(fnzi_text_calls, arg->tag)));
  FNZ_TRY(fnzi_print(w, "("));
  if (arg->tag == FNZ_ARG_DEVICE || arg->tag == FNZ_ARG_OPERATOR)
    FNZ_TRY(fnzi_print_quoted(w, arg->u.s));
  else
    FNZ_TRY(fnzi_put_int(w->ctx, w->out, arg->u.i));
  return fnzi_print(w, ")");
}

fnz_status fnzi_print_use(fnzi_printer *w, const fnz_arg *arg) {
  const char *word = bare_word(arg);
  if (word)
    return fnzi_print(w, word);
  switch ((fnz_tag)arg->tag) {
  case FNZ_ARG_VALUE:
  case FNZ_ARG_SYMBOL:
  case FNZ_ARG_TOKEN:
  case FNZ_ARG_OBJECT:
    return text_put_value(w, arg->u.value);
  case FNZ_ARG_INT:
    return fnzi_put_int(w->ctx, w->out, arg->u.i);
  case FNZ_ARG_FLOAT:
    return put_float(w, arg->u.f);
  case FNZ_ARG_COMPLEX: {
    FNZ_TRY(fnzi_print(w, "complex("));
    FNZ_TRY(put_float(w, arg->count == 2 ? arg->u.list[0].u.f : 0));
    FNZ_TRY(fnzi_print(w, ", "));
    FNZ_TRY(put_float(w, arg->count == 2 ? arg->u.list[1].u.f : 0));
    return fnzi_print(w, ")");
  }
  case FNZ_ARG_STRING:
    return put_string(w, arg->u.s, arg->count);
  case FNZ_ARG_DTYPE:
    return fnzi_print(w, fnz_dtype_get_info((fnz_dtype)arg->u.i)->name);
  case FNZ_ARG_GRAPH:
    return text_put_region(w, arg->u.i);
  case FNZ_ARG_DEVICE:
  case FNZ_ARG_OPERATOR:
  case FNZ_ARG_LAYOUT:
  case FNZ_ARG_MEMORY_FORMAT:
    return text_put_call(w, arg);
  case FNZ_ARG_DEFAULT:
  case FNZ_ARG_NONE:
  case FNZ_ARG_BOOL:
  case FNZ_ARG_LIST:
    break;
  }
  return fnzi_fail(w->ctx, FNZ_CLASS_INTERNAL, NULL, "an argument with tag %d", arg->tag);
}

/* An argument with everything in it; `item` writes what is no list. */
fnz_status fnzi_print_tree(fnzi_printer *w, const fnz_arg *arg, fnzi_item_printer *item) {
  fnzi_walk walk;
  fnzi_step step, last = FNZI_STEP_OPEN;
  fnzi_walk_start(&walk, arg, 1);
  for (; (step = fnzi_walk_next(&walk)) != FNZI_STEP_END; last = step) {
    if (step == FNZI_STEP_TOO_DEEP)
      return fnzi_fail(w->ctx, FNZ_CLASS_LIMIT, NULL, "lists are nested more than %d deep",
                       FNZI_MAX_NESTING);
    if (last != FNZI_STEP_OPEN && step != FNZI_STEP_CLOSE)
      FNZ_TRY(fnzi_print_comma(w));
    if (step == FNZI_STEP_ITEM)
      FNZ_TRY(item(w, walk.arg));
    else
      FNZ_TRY(fnzi_print(w, step == FNZI_STEP_OPEN ? "[" : "]"));
  }
  return FNZ_OK;
}

fnz_status fnzi_print_definition(fnzi_printer *w, const fnz_arg *arg) {
  if (!fnzi_is_reference(arg))
    return fnzi_print_use(w, arg);
  FNZ_TRY(text_put_value(w, arg->u.value));
  FNZ_TRY(fnzi_print(w, ": "));
  const fnzi_value *v = fnzi_value_at(w->p, w->graph, arg->u.value);
  if (v->geometry)
    return fnzi_print_tensor_type(w, v->geometry);
  FNZ_TRY(fnzi_print(w, fnzi_text_word_of(fnzi_text_types, arg->tag)));
  if (!v->symbol)
    return FNZ_OK;
  FNZ_TRY(fnzi_print(w, "{"));
  FNZ_TRY(text_put_expression(w, w->p->symbols.data[v->symbol].text));
  return fnzi_print(w, "}");
}

fnz_status fnzi_print_op_args(fnzi_printer *w, const fnz_op *op, const fnz_arg *args,
                              uint32_t nargs) {
  bool by_name = false, first = true;
  for (uint32_t i = 0; i < nargs; i++) {
    by_name = by_name || args[i].tag == FNZ_ARG_DEFAULT || op->params[i].keyword_only;
    if (args[i].tag == FNZ_ARG_DEFAULT)
      continue;
    if (!first)
      FNZ_TRY(fnzi_print_comma(w));
    first = false;
    if (by_name)
      FNZ_TRY(fnzi_printf(w->ctx, w->out, "%s=", op->params[i].name));
    FNZ_TRY(fnzi_print_tree(w, &args[i], fnzi_print_use));
  }
  return FNZ_OK;
}
