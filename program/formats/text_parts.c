/* text_parts.c - reads the pieces of a statement of the text form: names, types, arguments. */
#include "base/near.h"
#include "program/formats/text_read.h"
#include "program/shapes/symbolic.h"

#include <math.h>

/* --- tokens ---------------------------------------------------------------------------------- */
static fnz_status unexpected(fnzi_parser *r, const char *wanted) {
  if (r->x.kind == FNZI_TOKEN_END)
    return fnzi_lexer_fail(&r->x, FNZ_CLASS_TRUNCATED, "the text ends where %s should be", wanted);
  return fnzi_lexer_fail(&r->x, FNZ_CLASS_SYNTAX, "expected %s, found \"%.*s\"", wanted,
                         (int)(r->x.size < 40 ? r->x.size : 40), r->x.text);
}

fnz_status fnzi_expect(fnzi_parser *r, fnzi_token kind, const char *text) {
  if (!fnzi_lexer_is(&r->x, kind, text))
    return unexpected(r, text);
  return fnzi_lexer_next(&r->x);
}

fnz_status fnzi_accept(fnzi_parser *r, fnzi_token kind, const char *text, bool *found) {
  *found = fnzi_lexer_is(&r->x, kind, text);
  return *found ? fnzi_lexer_next(&r->x) : FNZ_OK;
}

fnz_status fnzi_token_text(fnzi_parser *r, const char **out) {
  if (memchr(r->x.text, 0, r->x.size))
    return fnzi_lexer_fail(&r->x, FNZ_CLASS_ENCODING, "a zero byte in a name");
  return fnzi_lexer_at(&r->x, fnzi_intern(r->p, r->x.text, r->x.size, out));
}

fnz_status fnzi_parse_int(fnzi_parser *r, int64_t *out) {
  if (r->x.kind != FNZI_TOKEN_INT)
    return unexpected(r, "an integer");
  *out = r->x.i;
  return fnzi_lexer_next(&r->x);
}

fnz_status fnzi_parse_string(fnzi_parser *r, const char **out) {
  if (r->x.kind != FNZI_TOKEN_STRING)
    return unexpected(r, "a string");
  FNZ_TRY(fnzi_token_text(r, out));
  return fnzi_lexer_next(&r->x);
}

fnz_status fnzi_parse_name(fnzi_parser *r, const char **out) {
  if (r->x.kind != FNZI_TOKEN_WORD && r->x.kind != FNZI_TOKEN_STRING)
    return unexpected(r, "a name");
  FNZ_TRY(fnzi_token_text(r, out));
  return fnzi_lexer_next(&r->x);
}

/* --- types ----------------------------------------------------------------------------------- */
static int find_dtype(const fnzi_lexer *x) {
  for (int d = 0; d < FNZ_DTYPE_COUNT; d++)
    if (fnzi_lexer_is(x, FNZI_TOKEN_WORD, fnz_dtype_get_info((fnz_dtype)d)->name))
      return d;
  return -1;
}

/* The example value of an expression, from the examples of symbols that the text has declared. */
static fnz_status example_of(fnzi_parser *r, fnzi_exprs *set, const fnzi_expr *e, bool *known,
                             int64_t *number) {
  fnzi_point point;
  fnz_status status = FNZ_OK;
  fnzi_point_init(&point, set);
  for (size_t i = 0; i < set->all.count && status == FNZ_OK; i++) {
    const fnzi_expr *symbol = set->all.data[i];
    uint64_t at;
    if (symbol->kind == FNZI_EXPR_SYMBOL &&
        fnzi_map_get(&r->p->symbol_index, symbol->atom_text, symbol->text_size, &at) &&
        r->p->symbols.data[at].has_hint)
      status = fnzi_point_set(&point, symbol, r->p->symbols.data[at].hint);
  }
  if (status == FNZ_OK)
    status = fnzi_point_int(&point, e, known, number);
  fnzi_point_free(&point);
  return status;
}

/* Parses the text after an opening brace: a quoted text as it is, else an expression, in its
 * shortest form. */
static fnz_status parse_expression(fnzi_parser *r, const char **text, bool *known,
                                   int64_t *number) {
  fnzi_exprs set;
  const fnzi_expr *e;
  const char *tidy;
  *known = false;
  FNZ_TRY(fnzi_lexer_expression(&r->x));
  if (r->x.kind != FNZI_TOKEN_WORD)
    return fnzi_parse_name(r, text);
  if (memchr(r->x.text, 0, r->x.size))
    return fnzi_lexer_fail(&r->x, FNZ_CLASS_ENCODING, "a zero byte in a name");
  fnzi_exprs_init(&set, r->ctx);
  fnz_status status = fnzi_expr_parse(&set, r->x.text, r->x.size, &e);
  if (status == FNZ_OK)
    status = fnzi_expr_text(&set, e, &tidy);
  if (status == FNZ_OK)
    status = fnzi_intern(r->p, tidy, strlen(tidy), text);
  if (status == FNZ_OK)
    status = example_of(r, &set, e, known, number);
  fnzi_exprs_free(&set);
  FNZ_TRY(fnzi_lexer_at(&r->x, status));
  return fnzi_lexer_next(&r->x);
}

/* `: 4` after a symbol that the text has not declared, or that has another value here. */
static fnz_status parse_hint(fnzi_parser *r, const char *text, bool is_known, uint32_t symbol,
                             int64_t *number, uint32_t *out) {
  bool has_number;
  FNZ_TRY(fnzi_accept(r, FNZI_TOKEN_PUNCT, ":", &has_number));
  *out = symbol;
  if (!has_number && !is_known)
    return fnzi_lexer_fail(&r->x, FNZ_CLASS_REF, "the size of %s is not known; write {%s: 4}", text,
                           text);
  if (!has_number) {
    *number = r->p->symbols.data[symbol].hint;
    return FNZ_OK;
  }
  FNZ_TRY(fnzi_parse_int(r, number));
  return is_known ? FNZ_OK : fnzi_symbol_add(r->p, text, true, *number, out);
}

static fnz_status parse_dim(fnzi_parser *r, int64_t *number, uint32_t *symbol) {
  const char *text;
  uint64_t there = 0;
  uint32_t made;
  bool follows;
  *symbol = 0;
  if (!fnzi_lexer_is(&r->x, FNZI_TOKEN_PUNCT, "{"))
    return fnzi_parse_int(r, number);
  FNZ_TRY(parse_expression(r, &text, &follows, number));
  bool is_known = fnzi_map_get(&r->p->symbol_index, text, strlen(text), &there);
  if (follows && !is_known && fnzi_lexer_is(&r->x, FNZI_TOKEN_PUNCT, "}")) {
    FNZ_TRY(fnzi_symbol_add(r->p, text, true, *number, &made));
    is_known = true;
    there = made;
  }
  FNZ_TRY(parse_hint(r, text, is_known, (uint32_t)there, number, symbol));
  return fnzi_expect(r, FNZI_TOKEN_PUNCT, "}");
}

static fnz_status parse_dims(fnzi_parser *r, const char *close, int64_t *numbers, uint32_t *symbols,
                             uint32_t *count) {
  bool more = !fnzi_lexer_is(&r->x, FNZI_TOKEN_PUNCT, close);
  for (*count = 0; more; ++*count) {
    if (*count == FNZ_MAX_RANK)
      return fnzi_lexer_fail(&r->x, FNZ_CLASS_LIMIT, "more than %d dimensions", FNZ_MAX_RANK);
    FNZ_TRY(parse_dim(r, &numbers[*count], &symbols[*count]));
    FNZ_TRY(fnzi_accept(r, FNZI_TOKEN_PUNCT, ",", &more));
  }
  return fnzi_expect(r, FNZI_TOKEN_PUNCT, close);
}

fnz_status fnzi_parse_tensor_type(fnzi_parser *r, const fnz_geometry **out) {
  int64_t sizes[FNZ_MAX_RANK], strides[FNZ_MAX_RANK];
  uint32_t symbols[3 * FNZ_MAX_RANK + 1] = {0}; /* strides may be as many as sizes, wrongly */
  fnzi_lexer start = r->x; /* for the place of what only the whole type shows to be wrong */
  int dtype = find_dtype(&r->x);
  if (dtype < 0)
    return unexpected(r, "a type such as f32[4,3]");
  fnz_geometry g = {
      .dtype = (fnz_dtype)dtype, .sizes = sizes, .strides = strides, .symbols = symbols};
  FNZ_TRY(fnzi_lexer_next(&r->x));
  FNZ_TRY(fnzi_expect(r, FNZI_TOKEN_PUNCT, "["));
  FNZ_TRY(parse_dims(r, "]", sizes, symbols, &g.rank));
  bool found;
  FNZ_TRY(fnzi_accept(r, FNZI_TOKEN_WORD, "stride", &found));
  r->said = found;
  if (found) {
    uint32_t count;
    FNZ_TRY(fnzi_expect(r, FNZI_TOKEN_PUNCT, "("));
    FNZ_TRY(parse_dims(r, ")", strides, symbols + g.rank, &count));
    if (count != g.rank)
      return fnzi_lexer_fail(&r->x, FNZ_CLASS_TYPE, "%u strides for %u dimensions", count, g.rank);
  } else
    FNZ_TRY(fnzi_lexer_at(&r->x, fnzi_usual_strides(r, &g, strides, symbols + g.rank)));
  FNZ_TRY(fnzi_accept(r, FNZI_TOKEN_WORD, "offset", &found));
  r->said = r->said || found;
  if (found) {
    FNZ_TRY(fnzi_expect(r, FNZI_TOKEN_PUNCT, "("));
    FNZ_TRY(parse_dim(r, &g.offset, symbols + 2 * g.rank));
    FNZ_TRY(fnzi_expect(r, FNZI_TOKEN_PUNCT, ")"));
  }
  FNZ_TRY(fnzi_accept(r, FNZI_TOKEN_WORD, "conj", &g.is_conj));
  FNZ_TRY(fnzi_accept(r, FNZI_TOKEN_WORD, "neg", &g.is_neg));
  return fnzi_lexer_at(&start, fnzi_intern_geometry(r->p, &g, out));
}

static fnz_status parse_type(fnzi_parser *r, fnzi_value *value, uint8_t *tag) {
  for (const fnzi_text_word *row = fnzi_text_types; row->word; row++) {
    if (!fnzi_lexer_is(&r->x, FNZI_TOKEN_WORD, row->word))
      continue;
    *tag = row->tag;
    FNZ_TRY(fnzi_lexer_next(&r->x));
    const char *text;
    int64_t number = 0;
    bool follows;
    if (!fnzi_lexer_is(&r->x, FNZI_TOKEN_PUNCT, "{"))
      return FNZ_OK;
    FNZ_TRY(parse_expression(r, &text, &follows, &number));
    uint64_t there;
    bool is_known = fnzi_map_get(&r->p->symbol_index, text, strlen(text), &there);
    FNZ_TRY(fnzi_symbol_add(r->p, text, follows && !is_known, number, &value->symbol));
    return fnzi_expect(r, FNZI_TOKEN_PUNCT, "}");
  }
  *tag = FNZ_ARG_VALUE;
  return fnzi_parse_tensor_type(r, &value->geometry);
}

/* --- definitions ----------------------------------------------------------------------------- */
static fnz_status parse_definition(fnzi_parser *r, uint32_t node, fnz_arg *out) {
  fnzi_value value = {.node = node};
  uint64_t there;
  uint8_t tag;
  if (r->x.kind != FNZI_TOKEN_VALUE)
    return fnzi_parse_use(r, out);
  if (memchr(r->x.text, 0, r->x.size))
    return fnzi_lexer_fail(&r->x, FNZ_CLASS_ENCODING, "a zero byte in a name");
  if (r->x.size > r->ctx->limits.string)
    return fnzi_lexer_fail(&r->x, FNZ_CLASS_LIMIT, "a name of more than %zu bytes",
                           r->ctx->limits.string);
  r->name.size = 0;
  FNZ_TRY(fnzi_put(r->ctx, &r->name, r->x.text, r->x.size));
  if (fnzi_value_find(r->p, r->graph, r->x.text, r->x.size, &there))
    return fnzi_lexer_fail(&r->x, FNZ_CLASS_DUPLICATE,
                           "value %%%s is defined twice; give it another name here", r->name.data);
  FNZ_TRY(fnzi_lexer_next(&r->x));
  if (!fnzi_lexer_is(&r->x, FNZI_TOKEN_PUNCT, ":"))
    return unexpected(r, "the type of the new value, such as \": f32[4,3]\"");
  FNZ_TRY(fnzi_lexer_next(&r->x));
  FNZ_TRY(parse_type(r, &value, &tag));
  uint32_t index;
  FNZ_TRY(fnzi_lexer_at(
      &r->x, fnzi_value_add(r->p, r->graph, r->name.data, value.geometry, value.node, &index)));
  fnzi_value_at(r->p, r->graph, index)->symbol = value.symbol;
  FNZI_PUSH(r->ctx, &r->tags, tag);
  if (tag == FNZ_ARG_VALUE && !r->said && value.node != FNZI_NO_NODE)
    FNZ_TRY(fnzi_value_unsaid(r->p, r->graph, index));
  *out = (fnz_arg){.tag = tag, .u.value = index};
  return FNZ_OK;
}

fnz_status fnzi_parse_input(fnzi_parser *r, fnz_arg *out) {
  return parse_definition(r, FNZI_NO_NODE, out);
}

fnz_status fnzi_parse_result(fnzi_parser *r, fnz_arg *out) {
  return parse_definition(r, (uint32_t)fnzi_graph_at(r->p, r->graph)->nodes.count, out);
}

/* --- arguments ------------------------------------------------------------------------------- */
static fnz_status refuse_value(fnzi_parser *r) {
  const fnzi_graph *g = fnzi_graph_at(r->p, r->graph);
  fnzi_near near = {.count = 0};
  fnz_buffer names = {NULL, 0, 0};
  const int size = (int)(r->x.size < 200 ? r->x.size : 200);
  FNZ_TRY(fnzi_printf(r->ctx, &names, "%.*s", size, r->x.text));
  for (size_t k = 0; k < g->values.count; k++) {
    const char *name = fnzi_value_at(r->p, r->graph, k)->name;
    fnzi_near_consider(&near, names.data, name, strlen(name));
  }
  names.size = 0;
  fnz_status status = near.count ? fnzi_put_text(r->ctx, &names, "; did you mean ") : FNZ_OK;
  if (status == FNZ_OK && near.count)
    status = fnzi_near_put(r->ctx, &near, &names);
  if (status == FNZ_OK)
    status = fnzi_lexer_fail(&r->x, FNZ_CLASS_REF,
                             "value %%%.*s is not defined before this line%s%s", size, r->x.text,
                             near.count ? names.data : "", near.count ? "?" : "; define it first");
  fnz_buffer_free(r->ctx, &names);
  return status;
}

/* @name, or @number counted from 1. */
static fnz_status parse_region(fnzi_parser *r, fnz_arg *out) {
  uint64_t index = 0;
  bool is_number = r->x.size > 0 && r->x.text[0] >= '0' && r->x.text[0] <= '9';
  for (size_t i = 0; is_number && i < r->x.size && index <= r->nregions; i++)
    index = index * 10 + (uint64_t)(r->x.text[i] - '0');
  if (!is_number)
    fnzi_map_get(&r->regions, r->x.text, r->x.size, &index);
  if (index < 1 || index > r->nregions)
    return fnzi_lexer_fail(&r->x, FNZ_CLASS_REF, "there is not exactly one graph @%.*s",
                           (int)(r->x.size < 200 ? r->x.size : 200), r->x.text);
  *out = (fnz_arg){.tag = FNZ_ARG_GRAPH, .u.i = (int64_t)index};
  return fnzi_lexer_next(&r->x);
}

static fnz_status parse_float(fnzi_parser *r, fnz_arg *out) {
  *out = (fnz_arg){.tag = FNZ_ARG_FLOAT, .u.f = r->x.f};
  if (fnzi_lexer_is(&r->x, FNZI_TOKEN_WORD, "inf"))
    out->u.f = INFINITY;
  else if (fnzi_lexer_is(&r->x, FNZI_TOKEN_WORD, "nan"))
    out->u.f = NAN;
  else if (r->x.kind != FNZI_TOKEN_FLOAT)
    return unexpected(r, "a number with a point, such as 1.0");
  return fnzi_lexer_next(&r->x);
}

static fnz_status parse_word(fnzi_parser *r, fnz_arg *out) {
  for (const fnzi_text_word *row = fnzi_text_words; row->word; row++)
    if (fnzi_lexer_is(&r->x, FNZI_TOKEN_WORD, row->word)) {
      *out = (fnz_arg){.tag = row->tag, .u.i = row->number};
      return fnzi_lexer_next(&r->x);
    }
  const int dtype = find_dtype(&r->x);
  if (dtype >= 0) {
    *out = (fnz_arg){.tag = FNZ_ARG_DTYPE, .u.i = dtype};
    return fnzi_lexer_next(&r->x);
  }
  for (const fnzi_text_word *row = fnzi_text_calls; row->word; row++)
    if (fnzi_lexer_is(&r->x, FNZI_TOKEN_WORD, row->word)) {
      *out = (fnz_arg){.tag = row->tag};
      FNZ_TRY(fnzi_lexer_next(&r->x));
      FNZ_TRY(fnzi_expect(r, FNZI_TOKEN_PUNCT, "("));
      if (row->tag == FNZ_ARG_DEVICE || row->tag == FNZ_ARG_OPERATOR)
        FNZ_TRY(fnzi_parse_string(r, &out->u.s));
      else
        FNZ_TRY(fnzi_parse_int(r, &out->u.i));
      return fnzi_expect(r, FNZI_TOKEN_PUNCT, ")");
    }
  if (fnzi_lexer_is(&r->x, FNZI_TOKEN_WORD, "complex")) {
    fnz_arg *parts;
    FNZI_NEW(&r->p->arena, 2, &parts);
    *out = (fnz_arg){.tag = FNZ_ARG_COMPLEX, .count = 2, .u.list = parts};
    FNZ_TRY(fnzi_lexer_next(&r->x));
    FNZ_TRY(fnzi_expect(r, FNZI_TOKEN_PUNCT, "("));
    FNZ_TRY(parse_float(r, &parts[0]));
    FNZ_TRY(fnzi_expect(r, FNZI_TOKEN_PUNCT, ","));
    FNZ_TRY(parse_float(r, &parts[1]));
    return fnzi_expect(r, FNZI_TOKEN_PUNCT, ")");
  }
  if (fnzi_lexer_is(&r->x, FNZI_TOKEN_WORD, "inf") || fnzi_lexer_is(&r->x, FNZI_TOKEN_WORD, "nan"))
    return parse_float(r, out);
  return unexpected(r, "an argument");
}

fnz_status fnzi_parse_use(fnzi_parser *r, fnz_arg *out) {
  switch (r->x.kind) {
  case FNZI_TOKEN_VALUE: {
    uint64_t index;
    if (!fnzi_value_find(r->p, r->graph, r->x.text, r->x.size, &index))
      return refuse_value(r);
    *out = (fnz_arg){.tag = r->tags.data[index], .u.value = index};
    return fnzi_lexer_next(&r->x);
  }
  case FNZI_TOKEN_GRAPH:
    return parse_region(r, out);
  case FNZI_TOKEN_INT:
    *out = (fnz_arg){.tag = FNZ_ARG_INT, .u.i = r->x.i};
    return fnzi_lexer_next(&r->x);
  case FNZI_TOKEN_FLOAT:
    return parse_float(r, out);
  case FNZI_TOKEN_STRING: {
    *out = (fnz_arg){.tag = FNZ_ARG_STRING, .count = (uint32_t)r->x.size};
    FNZ_TRY(fnzi_lexer_at(&r->x, fnzi_intern(r->p, r->x.text, r->x.size, &out->u.s)));
    return fnzi_lexer_next(&r->x);
  }
  case FNZI_TOKEN_WORD:
    return parse_word(r, out);
  case FNZI_TOKEN_END:
  case FNZI_TOKEN_PUNCT:
    break;
  }
  return unexpected(r, "an argument");
}

/* --- lists ----------------------------------------------------------------------------------- */
static bool at_close(const fnzi_parser *r) {
  return fnzi_lexer_is(&r->x, FNZI_TOKEN_PUNCT, "]");
}

fnz_status fnzi_parse_tree(fnzi_parser *r, fnzi_item_parser *item, fnz_arg *out) {
  size_t from[FNZI_MAX_NESTING], depth = 0, base = r->items.count;
  do {
    while (fnzi_lexer_is(&r->x, FNZI_TOKEN_PUNCT, "[")) {
      if (depth == FNZI_MAX_NESTING)
        return fnzi_lexer_fail(&r->x, FNZ_CLASS_LIMIT, "lists are nested more than %d deep",
                               FNZI_MAX_NESTING);
      from[depth++] = r->items.count;
      FNZ_TRY(fnzi_lexer_next(&r->x));
    }
    if (!at_close(r) || depth == 0) {
      fnz_arg arg;
      FNZ_TRY(item(r, &arg));
      FNZI_PUSH(r->ctx, &r->items, arg);
    }
    while (depth && at_close(r)) { /* the items of the list become one */
      fnz_arg *items;
      const size_t first = from[--depth], count = r->items.count - first;
      FNZI_NEW(&r->p->arena, count, &items);
      if (count)
        memcpy(items, r->items.data + first, count * sizeof *items);
      r->items.count = first;
      FNZI_PUSH(r->ctx, &r->items,
                ((fnz_arg){.tag = FNZ_ARG_LIST, .count = (uint32_t)count, .u.list = items}));
      FNZ_TRY(fnzi_expect(r, FNZI_TOKEN_PUNCT, "]"));
    }
    if (depth)
      FNZ_TRY(fnzi_expect(r, FNZI_TOKEN_PUNCT, ","));
  } while (depth);
  *out = r->items.data[base];
  r->items.count = base;
  return FNZ_OK;
}
