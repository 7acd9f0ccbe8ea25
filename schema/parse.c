/* parse.c - FunctionSchema text to an operator.
 *
 *   schema  := [ns "::"] name ["." overload] "(" params ")" "->" returns
 *   params  := param {"," param}, where a lone "*" makes the rest keyword-only
 *   param   := type name ["=" default]
 *   type    := base ["(" alias ")"] ["?"] ["[" [size] "]"] ["?"]
 *   alias   := set ["!"] ["->" set];  set := "*" | name {"|" name}
 *   returns := "(" [type [name] {"," type [name]}] ")" | type [name]
 *
 * One pass from left to right, no recursion. Spaces may stand between any two tokens. */
#include "schema/parse.h"

#include <stdio.h>

enum { MOST_TEXT = 1 << 16, MOST_PARAMS = 1 << 12 };

/* --- Tokens ----------------------------------------------------------------------------------- */

static fnzi_word spaced_word(fnzi_scan *s) {
  fnzi_scan_accept(s, "");
  return fnzi_scan_word(s, false);
}

static fnz_status keep(const fnzi_scan *s, fnzi_word word, const char **out) {
  return fnzi_arena_string(s->arena, word.start, word.size, out);
}

/* --- Types ------------------------------------------------------------------------------------ */

static const char *const type_names[FNZI_TYPE_COUNT] = {
#define TYPE_NAME(id, name) [FNZI_TYPE_##id] = name,
    FNZI_TYPE_ROWS(TYPE_NAME)
#undef TYPE_NAME
};

const char *fnzi_type_name(fnzi_type type) {
  return type_names[type];
}

static fnz_status base_type(fnzi_scan *s, fnzi_param *p) {
  fnzi_scan_accept(s, "");
  const char *start = s->at;
  fnzi_word word = fnzi_scan_word(s, true);
  if (memchr(word.start, '.', word.size)) {
    p->type = FNZI_TYPE_CLASS;
    return keep(s, word, &p->class_name);
  }
  for (int t = 0; t < FNZI_TYPE_CLASS; t++)
    if (fnzi_word_is(word, type_names[t]))
      return p->type = (fnzi_type)t, FNZ_OK;
  s->at = start;
  return fnzi_scan_fail(s, "a type");
}

/* The bit of an alias name, which is handed out when the name is new. */
static fnz_status alias_bit(fnzi_scan *s, fnzi_word word, uint32_t *out) {
  int own = word.size == 1 && *word.start >= 'a' && *word.start <= 'z' ? *word.start - 'a' : -1;
  int bit = own >= 0 ? own : FNZI_ALIAS_BITS - 1;
  for (; bit >= 0; bit--) {
    fnzi_word *known = &s->aliases[bit];
    if (!known->size)
      *known = word;
    if (known->size == word.size && memcmp(known->start, word.start, word.size) == 0)
      return *out = 1u << bit, FNZ_OK;
    if (own >= 0)
      break;
  }
  return fnzi_fail(s->arena->ctx, FNZ_CLASS_LIMIT, "", "more than %d alias names in '%.200s'",
                   FNZI_ALIAS_BITS, s->text);
}

static fnz_status alias_set(fnzi_scan *s, fnzi_param *p, uint32_t *set) {
  if (fnzi_scan_accept(s, "*"))
    return p->is_wildcard = true, FNZ_OK;
  do {
    fnzi_word word = spaced_word(s);
    uint32_t bit = 0;
    if (!word.size)
      return fnzi_scan_fail(s, "an alias name");
    FNZ_TRY(alias_bit(s, word, &bit));
    *set |= bit;
  } while (fnzi_scan_accept(s, "|"));
  return FNZ_OK;
}

static fnz_status alias(fnzi_scan *s, fnzi_param *p) {
  if (!fnzi_scan_accept(s, "("))
    return FNZ_OK;
  const char *start = s->at;
  FNZ_TRY(alias_set(s, p, &p->alias));
  p->is_write = fnzi_scan_accept(s, "!");
  if (p->is_write && (p->alias & (p->alias - 1)))
    return fnzi_scan_fail(s, "one name in a written alias set");
  if (fnzi_scan_accept(s, "->"))
    FNZ_TRY(alias_set(s, p, &p->alias_after));
  FNZ_TRY(fnzi_arena_string(s->arena, start, (size_t)(s->at - start), &p->alias_text));
  return fnzi_scan_expect(s, ")");
}

static fnz_status parse_type(fnzi_scan *s, fnzi_param *p) {
  FNZ_TRY(base_type(s, p));
  FNZ_TRY(alias(s, p));
  p->optional = fnzi_scan_accept(s, "?");
  if (p->optional && !p->alias_text) /* as PyTorch prints Tensor(a!)?[] */
    FNZ_TRY(alias(s, p));
  if (!fnzi_scan_accept(s, "["))
    return FNZ_OK;
  p->is_list = true;
  p->item_optional = p->optional;
  const char *start = s->at;
  for (p->list_size = 0; *s->at >= '0' && *s->at <= '9' && p->list_size < MOST_PARAMS; s->at++)
    p->list_size = p->list_size * 10 + (*s->at - '0');
  if (*s->at != ']' || *start == '0' || p->list_size >= MOST_PARAMS) {
    s->at = start;
    return fnzi_scan_fail(s, "a list size and ']'");
  }
  s->at++;
  p->optional = fnzi_scan_accept(s, "?");
  return FNZ_OK;
}

/* --- Parameters and returns ------------------------------------------------------------------- */

/* A list for as many entries as there can be: one more than there are commas. */
static fnz_status new_params(fnzi_scan *s, fnzi_param **out) {
  size_t most = 1;
  for (const char *c = s->at; *c; c++)
    most += *c == ',';
  if (most > MOST_PARAMS)
    return fnzi_fail(s->arena->ctx, FNZ_CLASS_LIMIT, "", "schema '%.100s' has over %d parameters",
                     s->text, MOST_PARAMS);
  FNZI_NEW(s->arena, most, out);
  return FNZ_OK;
}

/* The tensor or number of this parameter is promoted with the others. */
static bool param_promotes(const fnzi_param *p) {
  static const struct {
    const char *name;
    fnzi_type type;
  } others[] = {{"alpha", FNZI_TYPE_SCALAR},     {"value", FNZI_TYPE_SCALAR},
                {"weight", FNZI_TYPE_SCALAR},    {"threshold", FNZI_TYPE_SCALAR},
                {"min_val", FNZI_TYPE_SCALAR},   {"max_val", FNZI_TYPE_SCALAR},
                {"condition", FNZI_TYPE_TENSOR}, {"mask", FNZI_TYPE_TENSOR}};
  if (p->keyword_only || (p->type != FNZI_TYPE_TENSOR && p->type != FNZI_TYPE_SCALAR))
    return false;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (p->type == others[i].type && strcmp(p->name, others[i].name) == 0)
      return false;
  return true;
}

static fnz_status params(fnzi_scan *s, fnz_op *op) {
  fnzi_param *list = NULL;
  bool keyword_only = false;
  FNZ_TRY(new_params(s, &list));
  op->params = list;
  FNZ_TRY(fnzi_scan_expect(s, "("));
  if (fnzi_scan_accept(s, ")"))
    return FNZ_OK;
  do {
    if (!keyword_only && fnzi_scan_accept(s, "*")) {
      keyword_only = true;
      FNZ_TRY(fnzi_scan_expect(s, ","));
    }
    fnzi_param *p = &list[op->nparams];
    p->keyword_only = keyword_only;
    FNZ_TRY(parse_type(s, p));
    fnzi_word name = spaced_word(s);
    if (!name.size)
      return fnzi_scan_fail(s, "the name of a parameter");
    FNZ_TRY(keep(s, name, &p->name));
    p->is_out = p->keyword_only && p->is_write;
    FNZ_TRY(fnzi_scan_accept(s, "=") ? fnzi_scan_default(s, p) : FNZ_OK);
    p->promotes = param_promotes(p);
    for (size_t i = 0; i < op->nparams; i++)
      if (*p->name && strcmp(list[i].name, p->name) == 0)
        return fnzi_scan_fail(s, "a name that is not taken");
    op->nparams++;
  } while (fnzi_scan_accept(s, ","));
  return fnzi_scan_expect(s, ")");
}

static fnz_status returns(fnzi_scan *s, fnz_op *op) {
  fnzi_param *list = NULL;
  FNZ_TRY(new_params(s, &list));
  op->returns = list;
  FNZ_TRY(fnzi_scan_expect(s, "->"));
  /* PyTorch prints an operator that returns None in Python as "-> NoneType". */
  const char *start = s->at;
  fnzi_word word = spaced_word(s);
  if (fnzi_word_is(word, "NoneType") || fnzi_word_is(word, "None"))
    return FNZ_OK;
  s->at = start;
  bool many = fnzi_scan_accept(s, "(");
  if (many && fnzi_scan_accept(s, ")"))
    return FNZ_OK;
  do {
    FNZ_TRY(parse_type(s, &list[op->nreturns]));
    FNZ_TRY(keep(s, spaced_word(s), &list[op->nreturns].name));
    op->nreturns++;
  } while (many && fnzi_scan_accept(s, ","));
  return many ? fnzi_scan_expect(s, ")") : FNZ_OK;
}

/* --- The whole -------------------------------------------------------------------------------- */

/* "aten::" is dropped; another namespace stays in the name, but not in the base. */
static fnz_status names(fnzi_scan *s, fnz_op *op) {
  fnzi_word first = fnzi_scan_word(s, true), base = first;
  const char *start = first.start;
  if (first.size && strncmp(s->at, "::", 2) == 0) {
    s->at += 2;
    base = fnzi_scan_word(s, false);
    if (fnzi_word_is(first, "aten"))
      start = base.start;
  } else {
    s->at = start;
    base = fnzi_scan_word(s, false);
  }
  if (!base.size)
    return fnzi_scan_fail(s, "the name of an operator");
  bool has_overload = *s->at == '.';
  s->at += has_overload;
  fnzi_word overload = fnzi_scan_word(s, false);
  if (has_overload && !overload.size)
    return fnzi_scan_fail(s, "the name of an overload");
  FNZ_TRY(keep(s, base, &op->base));
  FNZ_TRY(keep(s, overload, &op->overload));
  FNZ_TRY(keep(s, (fnzi_word){start, (size_t)(s->at - start)}, &op->name));
  return fnzi_arena_string(s->arena, start, strlen(start), &op->schema);
}

bool fnzi_is_inplace_name(const char *base) {
  static const char *const dunders[] = {"add", "sub",    "mul",    "div", "mod", "pow",
                                        "and", "lshift", "rshift", "xor", "or"};
  size_t size = strlen(base);
  if (size < 2 || base[size - 1] != '_')
    return false;
  if (strncmp(base, "__i", 3) != 0 || size < 6 || base[size - 2] != '_')
    return base[size - 2] != '_';
  for (size_t i = 0; i < sizeof dunders / sizeof *dunders; i++)
    if (strlen(dunders[i]) == size - 5 && memcmp(base + 3, dunders[i], size - 5) == 0)
      return true;
  return false;
}

fnzi_kind fnzi_kind_by_writes(const fnz_op *op) {
  bool scratch = false, out = false, written = false;
  for (size_t i = 0; i < op->nparams; i++) {
    const fnzi_param *p = &op->params[i];
    scratch |= p->is_out && strncmp(p->name, "_scratch_", 9) == 0;
    out |= p->is_out;
    written |= p->is_write;
  }
  if (scratch)
    return FNZI_KIND_SCRATCH;
  return out ? FNZI_KIND_OUT : written ? FNZI_KIND_MUTABLE : FNZI_KIND_FUNCTIONAL;
}

bool fnzi_schema_is_view(const fnz_op *op) {
  for (size_t i = 0; i < op->nreturns; i++)
    if (op->returns[i].alias_text && !op->returns[i].is_write)
      return true;
  for (size_t i = 0; i < op->nparams; i++)
    if (op->params[i].is_wildcard)
      return true;
  return op->tags & FNZI_TAG_INPLACE_VIEW && strcmp(op->name, "resize_") != 0 &&
         strcmp(op->name, "resize_as_") != 0;
}

fnz_status fnzi_schema_parse(fnzi_arena *arena, const char *text, fnz_op **out) {
  fnzi_scan s = {.arena = arena, .text = text, .at = text};
  fnz_op *op;
  if (strlen(text) > MOST_TEXT)
    return fnzi_fail(arena->ctx, FNZ_CLASS_LIMIT, "", "a schema of %zu bytes, but %d is the limit",
                     strlen(text), MOST_TEXT);
  if (!fnzi_is_utf8(text, strlen(text)))
    return fnzi_fail(arena->ctx, FNZ_CLASS_ENCODING, "",
                     "a schema holds bytes that are not UTF-8; write it in UTF-8");
  FNZI_NEW(arena, 1, &op);
  FNZ_TRY(names(&s, op));
  FNZ_TRY(params(&s, op));
  FNZ_TRY(returns(&s, op));
  if (*s.at)
    return fnzi_scan_fail(&s, "the end of the schema");
  /* A result may share memory with parameters only. */
  uint32_t known = 0;
  for (size_t i = 0; i < op->nparams; i++)
    known |= op->params[i].alias | op->params[i].alias_after;
  for (size_t i = 0; i < op->nreturns; i++)
    if (op->returns[i].alias & ~known)
      return fnzi_scan_fail(&s, "results that alias parameters only");
  op->tags_text = op->model_text = op->dispatch_text = "-";
  op->kind = fnzi_is_inplace_name(op->base) ? FNZI_KIND_INPLACE : fnzi_kind_by_writes(op);
  op->is_view = fnzi_schema_is_view(op);
  op->promotion = fnzi_promotion_by_tags(op);
  op->functional = op->view_copy = op->view_of = op->inplace = op->alias_of = FNZI_NO_OP;
  *out = op;
  return FNZ_OK;
}
