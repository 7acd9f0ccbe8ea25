/* schema_rules.c - the rules on the schema of one entry: its names, annotations, written arguments
 * and results.
 *
 * One function per row of rules.def, called rule_<id>. Needs: an entry as read. */
#include "schema/native/rules.h"

/* --- Asking ----------------------------------------------------------------------------------- */

static bool is_plain_tensor(const fnzi_param *p) {
  return p->type == FNZI_TYPE_TENSOR && !p->is_list && !p->optional;
}

/* Parameters, then results; NULL beyond the last. */
static const fnzi_param *part(const fnz_op *op, size_t i) {
  if (i < op->nparams)
    return &op->params[i];
  i -= op->nparams;
  return i < op->nreturns ? &op->returns[i] : NULL;
}

static bool same_alias(const fnzi_param *a, const fnzi_param *b) {
  return a->alias_text && b->alias_text && strcmp(a->alias_text, b->alias_text) == 0;
}

/* The first parameter of the same annotation as a result; NULL when there is none. */
static const fnzi_param *aliased(const fnz_op *op, const fnzi_param *result, size_t from) {
  for (size_t i = from; i < op->nparams; i++)
    if (same_alias(&op->params[i], result))
      return &op->params[i];
  return NULL;
}

/* --- Names and annotations -------------------------------------------------------------------- */

static fnz_status rule_name_no_out(const fnz_library *library, const fnzi_native *n) {
  if (!fnzi_ends_with(n->op->base, "_out"))
    return FNZ_OK;
  return BROKEN(name_no_out, "%s", n->op->base);
}

static fnz_status rule_name_dunder(const fnz_library *library, const fnzi_native *n) {
  const char *base = n->op->base;
  if (!fnzi_starts_with(base, "__i") || !fnzi_ends_with(base, "__") || strlen(base) < 6 ||
      fnzi_is_inplace_name(base))
    return FNZ_OK;
  return BROKEN(name_dunder, "%s", base);
}

static fnz_status rule_name_functional(const fnz_library *library, const fnzi_native *n) {
  if (!fnzi_ends_with(n->op->base, "_functional_"))
    return FNZ_OK;
  return BROKEN(name_functional, "%s", n->op->base);
}

/* "a", "a!", "a|b", "a -> *", "a! -> a|b"; the parser has seen to the rest of the form. */
static bool are_letters(const char *set) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
  const char *arrow = strstr(set, " -> ");
  size_t before = arrow ? (size_t)(arrow - set) : strlen(set);
  if (strspn(set, "abcdefghijklmnopqrstuvwxyz|!*-> ") != strlen(set) || !strchr(letters, *set))
    return false;
  for (const char *at = set; at[0] && at[1]; at++)
    if (strchr(letters, at[0]) && strchr(letters, at[1]))
      return false;
  return !arrow || !memchr(set, '|', before) || !strchr(arrow, '|');
}

static fnz_status rule_alias_letters(const fnz_library *library, const fnzi_native *n) {
  const fnzi_param *p;
  for (size_t i = 0; (p = part(n->op, i)); i++)
    if (p->alias_text && !are_letters(p->alias_text))
      return BROKEN(alias_letters, "(%s) in %s", p->alias_text, n->op->name);
  return FNZ_OK;
}

static fnz_status rule_alias_type(const fnz_library *library, const fnzi_native *n) {
  const fnzi_param *p;
  for (size_t i = 0; (p = part(n->op, i)); i++)
    if (p->alias_text && (p->type != FNZI_TYPE_TENSOR || p->list_size || p->item_optional ||
                          (p->is_list && p->optional)))
      return BROKEN(alias_type, "(%s) on another type in %s", p->alias_text, n->op->name);
  return FNZ_OK;
}

static fnz_status rule_class_name(const fnz_library *library, const fnzi_native *n) {
  const fnzi_param *p;
  for (size_t i = 0; (p = part(n->op, i)); i++)
    if (p->type == FNZI_TYPE_CLASS && !fnzi_starts_with(p->class_name, "__torch__.torch.classes."))
      return BROKEN(class_name, "%s", p->class_name);
  return FNZ_OK;
}

static bool is_keyword(const char *name) {
  static const char *const words[] = {
      "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
      "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
      "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
      "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(name, words[i]) == 0)
      return true;
  return false;
}

static fnz_status rule_python_keyword(const fnz_library *library, const fnzi_native *n) {
  for (size_t i = 0; i < n->op->nparams; i++) {
    const char *name = n->op->params[i].name;
    if (!is_keyword(name))
      continue;
    if (strcmp(name, "from") != 0 || !fnzi_native_rule_exempts(FNZI_RULE_python_keyword, n->op))
      return BROKEN(python_keyword, "%s in %s", name, n->op->name);
  }
  return FNZ_OK;
}

static fnz_status rule_out_last(const fnz_library *library, const fnzi_native *n) {
  const char *out = NULL;
  for (size_t i = 0; i < n->op->nparams; i++) {
    const fnzi_param *p = &n->op->params[i];
    if (out && !p->is_out)
      return BROKEN(out_last, "%s behind %s in %s", p->name, out, n->op->name);
    if (p->is_out)
      out = p->name;
  }
  return FNZ_OK;
}

static fnz_status rule_pre_self_read(const fnz_library *library, const fnzi_native *n) {
  size_t self = fnzi_native_self_place(n->op);
  for (size_t i = 0; i < self && self < n->op->nparams; i++)
    if (n->op->params[i].is_write)
      return BROKEN(pre_self_read, "%s in %s", n->op->params[i].name, n->op->name);
  return FNZ_OK;
}

/* Parameter names differ, so a second pack cannot be parsed; one pack in pieces can. */
static fnz_status rule_tensor_options_once(const fnz_library *library, const fnzi_native *n) {
  static const char *const names[] = {"dtype", "layout", "device", "pin_memory"};
  size_t found = 0;
  for (size_t i = 0; i < n->op->nparams; i++)
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
      found += n->op->params[i].keyword_only && strcmp(n->op->params[i].name, names[k]) == 0;
  if (found < 4 || fnzi_native_count_options(n->op) == 1)
    return FNZ_OK;
  return BROKEN(tensor_options_once, "them apart in %s", n->op->name);
}

/* --- What is written and returned ------------------------------------------------------------- */

static fnz_status rule_inplace_or_out(const fnz_library *library, const fnzi_native *n) {
  if (n->kind != FNZI_KIND_INPLACE || !fnzi_native_has_out(n->op))
    return FNZ_OK;
  return BROKEN(inplace_or_out, "%s with %s", n->op->name,
                fnzi_native_out_argument(n->op, 0)->name);
}

static fnz_status rule_out_returned(const fnz_library *library, const fnzi_native *n) {
  for (size_t k = 0; k < n->op->nreturns; k++) {
    const fnzi_param *out = fnzi_native_out_argument(n->op, k), *result = &n->op->returns[k];
    if (!out)
      break;
    if (!same_alias(out, result))
      return BROKEN(out_returned, "(%s) %s and (%s) as result %zu of %s", out->alias_text,
                    out->name, result->alias_text ? result->alias_text : "", k, n->op->name);
  }
  return FNZ_OK;
}

static bool writes_out_lists(const fnz_op *op) {
  for (size_t k = 0; fnzi_native_out_argument(op, k); k++)
    if (!is_plain_tensor(fnzi_native_out_argument(op, k)))
      return true;
  return false;
}

static fnz_status rule_out_list_returns(const fnz_library *library, const fnzi_native *n) {
  if (!writes_out_lists(n->op) || !n->op->nreturns)
    return FNZ_OK;
  return BROKEN(out_list_returns, "%u results of %s", n->op->nreturns, n->op->name);
}

static fnz_status rule_out_count(const fnz_library *library, const fnzi_native *n) {
  size_t outs = 0;
  for (size_t k = 0; fnzi_native_out_argument(n->op, k); k++)
    outs += !fnzi_starts_with(fnzi_native_out_argument(n->op, k)->name, "_scratch_");
  if (!fnzi_native_has_out(n->op) || writes_out_lists(n->op) || outs == n->op->nreturns)
    return FNZ_OK;
  return BROKEN(out_count, "%zu out arguments and %u results of %s", outs, n->op->nreturns,
                n->op->name);
}

static fnz_status rule_written_returned(const fnz_library *library, const fnzi_native *n) {
  size_t self = fnzi_native_self_place(n->op);
  for (size_t i = self < n->op->nparams ? self + 1 : 0; i < n->op->nparams; i++) {
    const fnzi_param *p = &n->op->params[i];
    for (size_t k = 0; k < n->op->nreturns; k++)
      if (p->is_write && !p->keyword_only && same_alias(p, &n->op->returns[k]))
        return BROKEN(written_returned, "%s of %s", p->name, n->op->name);
  }
  return FNZ_OK;
}

static fnz_status rule_returns_mixed(const fnz_library *library, const fnzi_native *n) {
  size_t written = 0;
  for (size_t k = 0; k < n->op->nreturns; k++)
    written += n->op->returns[k].is_write;
  if (!written || written == n->op->nreturns)
    return FNZ_OK;
  return BROKEN(returns_mixed, "%zu of %u results of %s", written, n->op->nreturns, n->op->name);
}

static fnz_status rule_return_written(const fnz_library *library, const fnzi_native *n) {
  for (size_t k = 0; k < n->op->nreturns; k++) {
    const fnzi_param *result = &n->op->returns[k], *p = aliased(n->op, result, 0);
    bool fits = p && (p->is_out || strcmp(p->name, "self") == 0);
    if (result->is_write && !fits)
      return BROKEN(return_written, "(%s), which is %s of %s", result->alias_text,
                    p ? p->name : "no parameter", n->op->name);
  }
  return FNZ_OK;
}

static fnz_status rule_return_once(const fnz_library *library, const fnzi_native *n) {
  for (size_t k = 0; k < n->op->nreturns; k++) {
    const fnzi_param *p = aliased(n->op, &n->op->returns[k], 0);
    const fnzi_param *other =
        p ? aliased(n->op, &n->op->returns[k], (size_t)(p - n->op->params) + 1) : NULL;
    if (other)
      return BROKEN(return_once, "(%s) on %s and on %s of %s", p->alias_text, p->name, other->name,
                    n->op->name);
  }
  return FNZ_OK;
}

static const fnzi_param *inplace_self(const fnzi_native *n) {
  size_t self = fnzi_native_self_place(n->op);
  return n->kind == FNZI_KIND_INPLACE && self < n->op->nparams ? &n->op->params[self] : NULL;
}

static fnz_status rule_inplace_self(const fnz_library *library, const fnzi_native *n) {
  const fnzi_param *self = inplace_self(n);
  if (n->kind != FNZI_KIND_INPLACE || (self && self->is_write))
    return FNZ_OK;
  return BROKEN(inplace_self, "%s", n->op->schema);
}

static fnz_status rule_inplace_returns_self(const fnz_library *library, const fnzi_native *n) {
  const fnzi_param *self = inplace_self(n);
  if (!self || !is_plain_tensor(self))
    return FNZ_OK;
  if (n->op->nreturns == 1 && same_alias(self, n->op->returns))
    return FNZ_OK;
  return BROKEN(inplace_returns_self, "%s", n->op->schema);
}

static fnz_status rule_inplace_list_returns(const fnz_library *library, const fnzi_native *n) {
  const fnzi_param *self = inplace_self(n);
  if (!self || is_plain_tensor(self) || !n->op->nreturns)
    return FNZ_OK;
  return BROKEN(inplace_list_returns, "%u results of %s", n->op->nreturns, n->op->name);
}

static fnz_status rule_tensor_options_kind(const fnz_library *library, const fnzi_native *n) {
  if (n->kind == FNZI_KIND_FUNCTIONAL || !fnzi_native_count_options(n->op))
    return FNZ_OK;
  return BROKEN(tensor_options_kind, "%s of %s", n->op->name, fnz_op_kind(n->op));
}

static fnz_status rule_overload_functional(const fnz_library *library, const fnzi_native *n) {
  if (n->kind == FNZI_KIND_FUNCTIONAL || !strstr(n->op->overload, "functional"))
    return FNZ_OK;
  return BROKEN(overload_functional, "%s, which is %s", n->op->name, fnz_op_kind(n->op));
}

/* --- All -------------------------------------------------------------------------------------- */

fnz_status fnzi_native_check_schema(const fnz_library *library, const fnzi_native *n) {
  static fnz_status (*const functions[])(const fnz_library *, const fnzi_native *) = {
#define RULE RULE_FUNCTION
#undef RULE_SCHEMA
#define RULE_SCHEMA(function) function,
#include "schema/native/rules.def"
  };
  for (size_t k = 0; k < sizeof functions / sizeof *functions; k++)
    FNZ_TRY(functions[k](library, n));
  return FNZ_OK;
}
