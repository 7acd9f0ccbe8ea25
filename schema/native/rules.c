/* rules.c - the rules on what an entry says beside its schema.
 *
 * One function per row of rules.def, called rule_<id>. Needs: entries as read. */
#include "schema/native/rules.h"

/* --- Variants, kernels and what else an entry says -------------------------------------------- */

/* Older versions have such operators; versions that declare the tag `out` do not. */
static fnz_status rule_const_ref_out(const fnz_library *library, const fnzi_native *n) {
  if (!library->known[FNZI_KNOWN_OUT] || !(n->op->flags & FNZI_OP_CONST_REF) ||
      !fnzi_native_has_out(n->op))
    return FNZ_OK;
  return BROKEN(const_ref_out, "%s", n->op->name);
}

static fnz_status rule_out_variant(const fnz_library *library, const fnzi_native *n) {
  if (!fnzi_native_has_out(n->op) || !(n->op->flags & (FNZI_OP_METHOD | FNZI_OP_NO_FUNCTION)))
    return FNZ_OK;
  return BROKEN(out_variant, "method of %s", n->op->name);
}

static fnz_status rule_method_self(const fnz_library *library, const fnzi_native *n) {
  if (!(n->op->flags & FNZI_OP_METHOD) || fnzi_native_self_place(n->op) < n->op->nparams)
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

static fnz_status rule_dispatch_needed(const fnz_library *library, const fnzi_native *n) {
  const fnz_op *op = n->op;
  bool has_tensor = false;
  for (size_t i = 0; !has_tensor && i < op->nparams; i++)
    has_tensor = op->params[i].type == FNZI_TYPE_TENSOR && !op->params[i].is_out;
  bool is_factory = fnzi_starts_with(op->base, "new_") || fnzi_ends_with(op->base, "_like") ||
                    (fnzi_native_count_options(op) && !has_tensor);
  if (n->has_dispatch || fnzi_native_is_structured(n) || !is_factory)
    return FNZ_OK;
  return BROKEN(dispatch_needed, "no dispatch for %s", op->name);
}

/* The kernel of an entry whose dispatch is CompositeImplicitAutograd and nothing else. */
static const char *lone_kernel(const fnzi_native *n) {
  return n->ndispatch == 1 && n->dispatch[0].key == FNZI_DISPATCH_CompositeImplicitAutograd
             ? n->dispatch[0].kernel
             : NULL;
}

static fnz_status rule_dispatch_redundant(const fnz_library *library, const fnzi_native *n) {
  const char *kernel = lone_kernel(n);
  const size_t size = strlen(n->op->base);
  /* C++ names have no overloads, and "_out" for out arguments. */
  if (!kernel || strncmp(kernel, n->op->base, size) != 0 ||
      strcmp(kernel + size, fnzi_native_has_out(n->op) ? "_out" : "") != 0)
    return FNZ_OK;
  return BROKEN(dispatch_redundant, "%s for %s", kernel, n->op->name);
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

static bool is_dense(fnzi_native_dispatch_key key) {
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
      return BROKEN(delegate_dispatch, "%s: %s for %s",
                    fnzi_native_dispatch_name(n->dispatch[i].key), n->dispatch[i].kernel,
                    n->op->name);
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
  if (!fnzi_starts_with(n->op->name, "_foreach") || n->op->flags & FNZI_OP_NO_DEVICE_CHECK)
    return FNZ_OK;
  return BROKEN(foreach_check, "%s", n->op->name);
}

static fnz_status rule_random_tag(const fnz_library *library, const fnzi_native *n) {
  if (fnzi_native_has(library, n, FNZI_KNOWN_RANDOM))
    return FNZ_OK;
  /* Parameters are looked at since all operators are tagged as compliant. */
  bool dropout = strstr(n->op->name, "dropout");
  for (size_t i = 0; library->known[FNZI_KNOWN_PT2] && i < n->op->nparams; i++)
    dropout |= strstr(n->op->params[i].name, "dropout") != NULL;
  const bool is_called_random =
      (strstr(n->op->name, "rand") || (dropout && !strstr(n->op->name, "backward"))) &&
      !fnzi_native_rule_exempts(FNZI_RULE_random_tag, n->op);
  bool takes_generator = false;
  for (size_t i = 0; !takes_generator && i < n->op->nparams; i++)
    takes_generator = n->op->params[i].type == FNZI_TYPE_GENERATOR && !n->op->params[i].is_out;
  if (!is_called_random && !takes_generator)
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
      fnzi_native_rule_exempts(FNZI_RULE_inplace_view_name, n->op))
    return FNZ_OK;
  return BROKEN(inplace_view_name, "%s", n->op->name);
}

static fnz_status rule_inplace_view_base(const fnz_library *library, const fnzi_native *n) {
  if (!fnzi_native_has(library, n, FNZI_KNOWN_INPLACE_VIEW) ||
      fnzi_native_rule_exempts(FNZI_RULE_inplace_view_base, n->op))
    return FNZ_OK;
  /* Some entry has the base name without the underscore. */
  const size_t size = strlen(n->op->base) - 1;
  for (size_t i = 0; i < library->nentries; i++) {
    const char *base = library->natives[i].op->base;
    if (strncmp(base, n->op->base, size) == 0 && !base[size])
      return FNZ_OK;
  }
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
#define RULE RULE_FUNCTION
#undef RULE_ENTRY
#define RULE_ENTRY(function) function,
#include "schema/native/rules.def"
  };
  for (size_t i = 0; i < library->nentries; i++) {
    FNZ_TRY(fnzi_native_check_schema(library, &library->natives[i]));
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++)
      FNZ_TRY(functions[k](library, &library->natives[i]));
  }
  return FNZ_OK;
}
