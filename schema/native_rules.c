/* native_rules.c - the rules on single entries, and how a broken rule is reported.
 *
 * One function per row of native_rules.def, called rule_<id>. Needs: entries as read. */
#include "schema/native_rules.h"

#include <stdio.h>

/* --- Reporting -------------------------------------------------------------------------------- */

static const struct {
  const char *id, *text;
  fnz_class kind;
} rules[] = {
#define RULE(stage, id, kind, text) {#id, text, FNZ_CLASS_##kind},
#include "schema/native_rules.def"
#undef RULE
};

fnz_status fnzi_rule_broken(const fnz_library *library, uint32_t line, fnzi_rule rule,
                            const char *have, ...) {
  char where[160], detail[400];
  va_list args;
  va_start(args, have);
  vsnprintf(detail, sizeof detail, have, args);
  va_end(args);
  snprintf(where, sizeof where, "%.128s:%u", library->name, line);
  return fnzi_fail(library->ctx, rules[rule].kind, where, "rule %s: %s; have %s", rules[rule].id,
                   rules[rule].text, detail);
}

static const struct {
  fnzi_rule rule;
  const char *name;
} exempt[] = {
#define EXEMPT(rule, name) {FNZI_RULE_##rule, name},
#include "schema/native_exempt.def"
#undef EXEMPT
};

bool fnzi_rule_exempts(fnzi_rule rule, const fnz_op *op) {
  for (size_t i = 0; i < sizeof exempt / sizeof *exempt; i++)
    if (exempt[i].rule == rule &&
        (strcmp(exempt[i].name, op->name) == 0 || strcmp(exempt[i].name, op->base) == 0))
      return true;
  return false;
}

/* --- Asking ----------------------------------------------------------------------------------- */

static bool starts_with(const char *text, const char *start) {
  return strncmp(text, start, strlen(start)) == 0;
}

static bool ends_with(const char *text, const char *end) {
  size_t size = strlen(text), tail = strlen(end);
  return size >= tail && strcmp(text + size - tail, end) == 0;
}

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

/* The place of a positional self; the number of parameters when there is none. */
static size_t self_of(const fnz_op *op) {
  size_t i = 0;
  while (i < op->nparams && (op->params[i].keyword_only || strcmp(op->params[i].name, "self") != 0))
    i++;
  return i;
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

/* The k-th out argument; NULL beyond the last. */
static const fnzi_param *out_argument(const fnz_op *op, size_t k) {
  for (size_t i = 0; i < op->nparams; i++)
    if (op->params[i].is_out && k-- == 0)
      return &op->params[i];
  return NULL;
}

static bool has_out(const fnz_op *op) {
  return out_argument(op, 0) != NULL;
}

/* --- Names and annotations -------------------------------------------------------------------- */

static fnz_status rule_name_no_out(const fnz_library *library, const fnzi_native *n) {
  if (!ends_with(n->op->base, "_out"))
    return FNZ_OK;
  return BROKEN(name_no_out, "%s", n->op->base);
}

static fnz_status rule_name_dunder(const fnz_library *library, const fnzi_native *n) {
  const char *base = n->op->base;
  if (!starts_with(base, "__i") || !ends_with(base, "__") || strlen(base) < 6 ||
      fnzi_is_inplace_name(base))
    return FNZ_OK;
  return BROKEN(name_dunder, "%s", base);
}

static fnz_status rule_name_functional(const fnz_library *library, const fnzi_native *n) {
  if (!ends_with(n->op->base, "_functional_"))
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

static bool may_alias(const fnzi_param *p) {
  return p->type == FNZI_TYPE_TENSOR && !p->list_size && !p->item_optional &&
         !(p->is_list && p->optional);
}

static fnz_status rule_alias_type(const fnz_library *library, const fnzi_native *n) {
  const fnzi_param *p;
  for (size_t i = 0; (p = part(n->op, i)); i++)
    if (p->alias_text && !may_alias(p))
      return BROKEN(alias_type, "(%s) on another type in %s", p->alias_text, n->op->name);
  return FNZ_OK;
}

static fnz_status rule_class_name(const fnz_library *library, const fnzi_native *n) {
  const fnzi_param *p;
  for (size_t i = 0; (p = part(n->op, i)); i++)
    if (p->type == FNZI_TYPE_CLASS && !starts_with(p->class_name, "__torch__.torch.classes."))
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
    if (strcmp(name, "from") != 0 || !fnzi_rule_exempts(FNZI_RULE_python_keyword, n->op))
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
  size_t self = self_of(n->op);
  for (size_t i = 0; i < self && self < n->op->nparams; i++)
    if (n->op->params[i].is_write)
      return BROKEN(pre_self_read, "%s in %s", n->op->params[i].name, n->op->name);
  return FNZ_OK;
}

static size_t count_options(const fnz_op *op) {
  size_t count = 0;
  for (size_t i = 0; i < op->nparams; i++)
    count += fnzi_are_tensor_options(op, i);
  return count;
}

/* Parameter names differ, so a second pack cannot be parsed; one pack in pieces can. */
static fnz_status rule_tensor_options_once(const fnz_library *library, const fnzi_native *n) {
  static const char *const names[] = {"dtype", "layout", "device", "pin_memory"};
  size_t found = 0;
  for (size_t i = 0; i < n->op->nparams; i++)
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
      found += n->op->params[i].keyword_only && strcmp(n->op->params[i].name, names[k]) == 0;
  if (found < 4 || count_options(n->op) == 1)
    return FNZ_OK;
  return BROKEN(tensor_options_once, "them apart in %s", n->op->name);
}

/* --- What is written and returned ------------------------------------------------------------- */

static fnz_status rule_inplace_or_out(const fnz_library *library, const fnzi_native *n) {
  if (n->kind != FNZI_KIND_INPLACE || !has_out(n->op))
    return FNZ_OK;
  return BROKEN(inplace_or_out, "%s with %s", n->op->name, out_argument(n->op, 0)->name);
}

static fnz_status rule_out_returned(const fnz_library *library, const fnzi_native *n) {
  for (size_t k = 0; k < n->op->nreturns; k++) {
    const fnzi_param *out = out_argument(n->op, k), *result = &n->op->returns[k];
    if (!out)
      break;
    if (!same_alias(out, result))
      return BROKEN(out_returned, "(%s) %s and (%s) as result %zu of %s", out->alias_text,
                    out->name, result->alias_text ? result->alias_text : "", k, n->op->name);
  }
  return FNZ_OK;
}

static bool writes_out_lists(const fnz_op *op) {
  for (size_t k = 0; out_argument(op, k); k++)
    if (!is_plain_tensor(out_argument(op, k)))
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
  for (size_t k = 0; out_argument(n->op, k); k++)
    outs += !starts_with(out_argument(n->op, k)->name, "_scratch_");
  if (!has_out(n->op) || writes_out_lists(n->op) || outs == n->op->nreturns)
    return FNZ_OK;
  return BROKEN(out_count, "%zu out arguments and %u results of %s", outs, n->op->nreturns,
                n->op->name);
}

static fnz_status rule_written_returned(const fnz_library *library, const fnzi_native *n) {
  size_t self = self_of(n->op);
  for (size_t i = self < n->op->nparams ? self + 1 : 0; i < n->op->nparams; i++) {
    const fnzi_param *p = &n->op->params[i];
    for (size_t k = 0; k < n->op->nreturns; k++)
      if (p->is_write && !p->keyword_only && same_alias(p, &n->op->returns[k]))
        return BROKEN(written_returned, "%s of %s", p->name, n->op->name);
  }
  return FNZ_OK;
}

static size_t count_written_results(const fnz_op *op) {
  size_t count = 0;
  for (size_t k = 0; k < op->nreturns; k++)
    count += op->returns[k].is_write;
  return count;
}

static fnz_status rule_returns_mixed(const fnz_library *library, const fnzi_native *n) {
  size_t written = count_written_results(n->op);
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
  size_t self = self_of(n->op);
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
  if (n->kind == FNZI_KIND_FUNCTIONAL || !count_options(n->op))
    return FNZ_OK;
  return BROKEN(tensor_options_kind, "%s of %s", n->op->name, fnz_op_kind(n->op));
}

static fnz_status rule_overload_functional(const fnz_library *library, const fnzi_native *n) {
  if (n->kind == FNZI_KIND_FUNCTIONAL || !strstr(n->op->overload, "functional"))
    return FNZ_OK;
  return BROKEN(overload_functional, "%s, which is %s", n->op->name, fnz_op_kind(n->op));
}

/* --- Variants, kernels and what else an entry says -------------------------------------------- */

/* Older versions have such operators; those that declare the tag `out` do not. */
static fnz_status rule_const_ref_out(const fnz_library *library, const fnzi_native *n) {
  if (!library->known[FNZI_KNOWN_OUT] || !(n->op->flags & FNZI_OP_CONST_REF) || !has_out(n->op))
    return FNZ_OK;
  return BROKEN(const_ref_out, "%s", n->op->name);
}

static fnz_status rule_out_variant(const fnz_library *library, const fnzi_native *n) {
  if (!has_out(n->op) || !(n->op->flags & (FNZI_OP_METHOD | FNZI_OP_NO_FUNCTION)))
    return FNZ_OK;
  return BROKEN(out_variant, "method of %s", n->op->name);
}

static fnz_status rule_method_self(const fnz_library *library, const fnzi_native *n) {
  if (!(n->op->flags & FNZI_OP_METHOD) || self_of(n->op) < n->op->nparams)
    return FNZ_OK;
  return BROKEN(method_self, "%s", n->op->schema);
}

static fnz_status rule_method_module(const fnz_library *library, const fnzi_native *n) {
  if (!(n->op->flags & FNZI_OP_METHOD) || !n->python_module)
    return FNZ_OK;
  return BROKEN(method_module, "%s in %s", n->op->name, n->python_module);
}

static fnz_status rule_manual_dispatch(const fnz_library *library, const fnzi_native *n) {
  if (!(n->op->flags & FNZI_OP_MANUAL_REGISTRATION) || !n->has_dispatch)
    return FNZ_OK;
  return BROKEN(manual_dispatch, "both for %s", n->op->name);
}

static bool has_tensor_parameter(const fnz_op *op) {
  for (size_t i = 0; i < op->nparams; i++)
    if (op->params[i].type == FNZI_TYPE_TENSOR && !op->params[i].is_out)
      return true;
  return false;
}

static bool is_factory(const fnz_op *op) {
  return starts_with(op->base, "new_") || ends_with(op->base, "_like") ||
         (count_options(op) && !has_tensor_parameter(op));
}

static fnz_status rule_dispatch_needed(const fnz_library *library, const fnzi_native *n) {
  if (n->has_dispatch || fnzi_native_is_structured(n) || !is_factory(n->op))
    return FNZ_OK;
  return BROKEN(dispatch_needed, "no dispatch for %s", n->op->name);
}

/* The kernel of an entry whose dispatch is CompositeImplicitAutograd and nothing else. */
static const char *lone_kernel(const fnzi_native *n) {
  return n->ndispatch == 1 && n->dispatch[0].key == FNZI_DISPATCH_CompositeImplicitAutograd
             ? n->dispatch[0].kernel
             : NULL;
}

/* C++ names have no overloads, and "_out" for out arguments. */
static bool is_own_name(const fnz_op *op, const char *kernel) {
  size_t size = strlen(op->base);
  return strncmp(kernel, op->base, size) == 0 &&
         strcmp(kernel + size, has_out(op) ? "_out" : "") == 0;
}

static fnz_status rule_dispatch_redundant(const fnz_library *library, const fnzi_native *n) {
  if (!lone_kernel(n) || !is_own_name(n->op, lone_kernel(n)))
    return FNZ_OK;
  return BROKEN(dispatch_redundant, "%s for %s", lone_kernel(n), n->op->name);
}

static fnz_status rule_dispatch_renamed(const fnz_library *library, const fnzi_native *n) {
  if (!lone_kernel(n) || n->op->delegate || strstr(lone_kernel(n), "_symint"))
    return FNZ_OK;
  return BROKEN(dispatch_renamed, "%s for %s", lone_kernel(n), n->op->name);
}

static fnz_status rule_composite_once(const fnz_library *library, const fnzi_native *n) {
  static const uint32_t rows[] = {FNZI_DISPATCH_BIT(CompositeImplicitAutograd),
                                  FNZI_DISPATCH_BIT(CompositeExplicitAutograd),
                                  FNZI_DISPATCH_BIT(CompositeExplicitAutogradNonFunctional)};
  uint32_t nested = FNZI_DISPATCH_BIT(CompositeImplicitAutogradNestedTensor);
  int plain = 0;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    plain += (n->keys & rows[i]) != 0;
  if (plain <= 1 && !(n->keys & nested && n->keys & rows[2]))
    return FNZ_OK;
  return BROKEN(composite_once, "%s for %s", n->op->dispatch_text, n->op->name);
}

static fnz_status rule_structured_out(const fnz_library *library, const fnzi_native *n) {
  if (!(n->op->flags & FNZI_OP_STRUCTURED) || n->kind == FNZI_KIND_OUT)
    return FNZ_OK;
  return BROKEN(structured_out, "%s, which is %s", n->op->name, fnz_op_kind(n->op));
}

static fnz_status rule_structured_guard(const fnz_library *library, const fnzi_native *n) {
  if (!fnzi_native_is_structured(n) || !(n->op->flags & FNZI_OP_NO_DEVICE_GUARD))
    return FNZ_OK;
  return BROKEN(structured_guard, "device_guard: False for %s", n->op->name);
}

static fnz_status rule_delegate_not_out(const fnz_library *library, const fnzi_native *n) {
  if (!n->op->delegate || n->kind != FNZI_KIND_OUT)
    return FNZ_OK;
  return BROKEN(delegate_not_out, "%s for %s", n->op->delegate, n->op->name);
}

static bool is_dense(fnzi_dispatch_key key) {
  enum { DENSE = true, OTHER = false, COMPOSITE = false };
  static const bool rows[] = {
#define DISPATCH_SORT(name, sort) sort,
      FNZI_DISPATCH_ROWS(DISPATCH_SORT)
#undef DISPATCH_SORT
  };
  return rows[key];
}

static fnz_status rule_delegate_dispatch(const fnz_library *library, const fnzi_native *n) {
  for (size_t i = 0; n->op->delegate && i < n->ndispatch; i++)
    if (is_dense(n->dispatch[i].key))
      return BROKEN(delegate_dispatch, "%s: %s for %s", fnzi_dispatch_name(n->dispatch[i].key),
                    n->dispatch[i].kernel, n->op->name);
  return FNZ_OK;
}

static fnz_status rule_inherits_structured(const fnz_library *library, const fnzi_native *n) {
  if (!n->inherits || n->op->flags & FNZI_OP_STRUCTURED)
    return FNZ_OK;
  return BROKEN(inherits_structured, "%s for %s", n->inherits, n->op->name);
}

static fnz_status rule_precomputed_structured(const fnz_library *library, const fnzi_native *n) {
  if (!n->nprecomputed || n->op->flags & FNZI_OP_STRUCTURED)
    return FNZ_OK;
  return BROKEN(precomputed_structured, "%s", n->op->name);
}

static fnz_status rule_ufunc_structured(const fnz_library *library, const fnzi_native *n) {
  if (!n->nufunc || n->op->flags & FNZI_OP_STRUCTURED)
    return FNZ_OK;
  return BROKEN(ufunc_structured, "%s", n->op->name);
}

static fnz_status rule_ufunc_dispatch(const fnz_library *library, const fnzi_native *n) {
  for (size_t i = 0; n->nufunc && i < n->ndispatch; i++)
    if (n->dispatch[i].key == FNZI_DISPATCH_CPU || n->dispatch[i].key == FNZI_DISPATCH_CUDA)
      return BROKEN(ufunc_dispatch, "%s for %s", n->dispatch[i].kernel, n->op->name);
  return FNZ_OK;
}

static fnz_status rule_no_default_known(const fnz_library *library, const fnzi_native *n) {
  for (size_t i = 0; i < n->no_defaults.count; i++) {
    int place = fnzi_op_param(n->op, n->no_defaults.data[i]);
    if (place < 0 || !n->op->params[place].has_default)
      return BROKEN(no_default_known, "%s for %s", n->no_defaults.data[i], n->op->name);
  }
  return FNZ_OK;
}

static fnz_status rule_foreach_check(const fnz_library *library, const fnzi_native *n) {
  if (!starts_with(n->op->name, "_foreach") || n->op->flags & FNZI_OP_NO_DEVICE_CHECK)
    return FNZ_OK;
  return BROKEN(foreach_check, "%s", n->op->name);
}

static bool takes_generator(const fnz_op *op) {
  for (size_t i = 0; i < op->nparams; i++)
    if (op->params[i].type == FNZI_TYPE_GENERATOR && !op->params[i].is_out)
      return true;
  return false;
}

/* Parameters are looked at since all operators are tagged as compliant. */
static bool is_called_random(const fnz_library *library, const fnz_op *op) {
  bool dropout = strstr(op->name, "dropout");
  for (size_t i = 0; library->known[FNZI_KNOWN_PT2] && i < op->nparams; i++)
    dropout |= strstr(op->params[i].name, "dropout") != NULL;
  return (strstr(op->name, "rand") || (dropout && !strstr(op->name, "backward"))) &&
         !fnzi_rule_exempts(FNZI_RULE_random_tag, op);
}

static fnz_status rule_random_tag(const fnz_library *library, const fnzi_native *n) {
  if (fnzi_native_has(library, n, FNZI_KNOWN_RANDOM))
    return FNZ_OK;
  if (!is_called_random(library, n->op) && !takes_generator(n->op))
    return FNZ_OK;
  return BROKEN(random_tag, "%s without it", n->op->name);
}

/* --- Entries together ------------------------------------------------------------------------- */

static fnz_status rule_inplace_view_tag(const fnz_library *library, const fnzi_native *n) {
  if (n->kind != FNZI_KIND_INPLACE || !n->op->is_view ||
      fnzi_native_has(library, n, FNZI_KNOWN_INPLACE_VIEW))
    return FNZ_OK;
  return BROKEN(inplace_view_tag, "%s without it", n->op->name);
}

static fnz_status rule_inplace_view_name(const fnz_library *library, const fnzi_native *n) {
  if (!fnzi_native_has(library, n, FNZI_KNOWN_INPLACE_VIEW) || n->kind == FNZI_KIND_INPLACE ||
      fnzi_rule_exempts(FNZI_RULE_inplace_view_name, n->op))
    return FNZ_OK;
  return BROKEN(inplace_view_name, "%s", n->op->name);
}

/* Some entry has the base name without the underscore. */
static bool has_base(const fnz_library *library, const fnz_op *inplace) {
  size_t size = strlen(inplace->base) - 1;
  for (size_t i = 0; i < library->nentries; i++) {
    const char *base = library->natives[i].op->base;
    if (strncmp(base, inplace->base, size) == 0 && !base[size])
      return true;
  }
  return false;
}

static fnz_status rule_inplace_view_base(const fnz_library *library, const fnzi_native *n) {
  if (!fnzi_native_has(library, n, FNZI_KNOWN_INPLACE_VIEW) ||
      fnzi_rule_exempts(FNZI_RULE_inplace_view_base, n->op) || has_base(library, n->op))
    return FNZ_OK;
  return BROKEN(inplace_view_base, "%s alone", n->op->name);
}

static fnz_status rule_delegate_known(const fnz_library *library, const fnzi_native *n) {
  if (!n->op->delegate || fnzi_native_delegate(library, n))
    return FNZ_OK;
  return BROKEN(delegate_known, "%s for %s", n->op->delegate, n->op->name);
}

static fnz_status rule_delegate_structured(const fnz_library *library, const fnzi_native *n) {
  const fnzi_native *delegate = fnzi_native_delegate(library, n);
  if (!delegate || delegate->op->flags & FNZI_OP_STRUCTURED)
    return FNZ_OK;
  return BROKEN(delegate_structured, "%s at line %u for %s", n->op->delegate, delegate->line,
                n->op->name);
}

/* --- All -------------------------------------------------------------------------------------- */

fnz_status fnzi_native_check(const fnz_library *library) {
  static fnz_status (*const functions[])(const fnz_library *, const fnzi_native *) = {
#define RULE(stage, id, kind, text) RULE_##stage(rule_##id)
#define RULE_ENTRY(function)        function,
#define RULE_INLINE(function)
#define RULE_GROUP(function)
#define RULE_ALONE(function)
#define RULE_VIEW(function)
#include "schema/native_rules.def"
#undef RULE_VIEW
#undef RULE_ALONE
#undef RULE_GROUP
#undef RULE_INLINE
#undef RULE_ENTRY
#undef RULE
  };
  for (size_t i = 0; i < library->nentries; i++)
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++)
      FNZ_TRY(functions[k](library, &library->natives[i]));
  return FNZ_OK;
}
