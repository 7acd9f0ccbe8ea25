/* group_rules.c - the rules on groups, on views with their copies, and on functions in no
 * group.
 *
 * One function per row of rules.def, called rule_<id>. Needs: a completed library. */
#include "schema/native/rules.h"

#include <stdio.h>

enum { MEMBERS = 4 };

static void members_of(const fnz_library *library, const fnzi_native_group *g,
                       const fnzi_native *out[MEMBERS]) {
  const fnzi_native_member places[] = {g->functional, g->out, g->inplace, g->mutable};
  for (size_t i = 0; i < MEMBERS; i++)
    out[i] = fnzi_native_at(library, places[i]);
}

/* --- Groups ----------------------------------------------------------------------------------- */

static fnz_status rule_group_structured(const fnz_library *library, const fnzi_native_group *g) {
  const fnzi_native *members[MEMBERS], *out = fnzi_native_at(library, g->out);
  bool structured = out->op->flags & FNZI_OP_STRUCTURED;
  members_of(library, g, members);
  for (size_t i = 0; i < MEMBERS; i++) {
    const fnzi_native *n = members[i];
    if (n && fnzi_native_is_structured(n) != structured)
      return BROKEN(group_structured, "%s%s and %s%s", structured ? "structured " : "",
                    out->op->name, structured ? "" : "structured ", n->op->name);
  }
  return FNZ_OK;
}

static fnz_status rule_group_delegate(const fnz_library *library, const fnzi_native_group *g) {
  const fnzi_native *members[MEMBERS], *out = fnzi_native_at(library, g->out);
  if (!(out->op->flags & FNZI_OP_STRUCTURED))
    return FNZ_OK;
  members_of(library, g, members);
  for (size_t i = 0; i < MEMBERS; i++) {
    const fnzi_native *n = members[i];
    if (n && n != out && fnzi_native_delegate(library, n) != out)
      return BROKEN(group_delegate, "%s for %s instead of %s", n->op->delegate, n->op->name,
                    out->op->name);
  }
  return FNZ_OK;
}

static fnz_status rule_group_composite(const fnz_library *library, const fnzi_native_group *g) {
  const fnzi_native *n = fnzi_native_at(library, g->out);
  uint32_t implicit = FNZI_DISPATCH_BIT(CompositeImplicitAutograd) |
                      FNZI_DISPATCH_BIT(CompositeImplicitAutogradNestedTensor);
  if (!(n->op->flags & FNZI_OP_STRUCTURED) || !(n->keys & implicit))
    return FNZ_OK;
  return BROKEN(group_composite, "%s for %s", n->op->dispatch_text, n->op->name);
}

static fnz_status rule_group_mutable(const fnz_library *library, const fnzi_native_group *g) {
  static const char ending[] = "_functional";
  const fnzi_native *n = fnzi_native_at(library, g->functional);
  size_t size = strlen(n->op->base), tail = sizeof ending - 1;
  if (g->mutable == FNZI_NO_GROUP ||
      (size > tail && strcmp(n->op->base + size - tail, ending) == 0))
    return FNZ_OK;
  return BROKEN(group_mutable, "%s for %s", n->op->name,
                fnzi_native_at(library, g->mutable)->op->name);
}

static bool is_generated(const fnz_library *library, const fnzi_native *n) {
  return (size_t)(n - library->natives) >= library->nentries;
}

/* A member that is generated and of that name. */
static bool makes(const fnz_library *library, const fnzi_native *const *members, const char *name) {
  for (size_t i = 0; i < MEMBERS; i++)
    if (members[i] && is_generated(library, members[i]) && strcmp(members[i]->op->name, name) == 0)
      return true;
  return false;
}

static bool lists(const fnzi_native *const *members, const char *name) {
  for (size_t i = 0; i < MEMBERS; i++)
    for (size_t k = 0; members[i] && k < members[i]->autogen.count; k++)
      if (strcmp(members[i]->autogen.data[k], name) == 0)
        return true;
  return false;
}

static fnz_status rule_group_autogen(const fnz_library *library, const fnzi_native_group *g) {
  const fnzi_native *members[MEMBERS];
  members_of(library, g, members);
  for (size_t i = 0; i < MEMBERS; i++) {
    const fnzi_native *n = members[i];
    if (n && is_generated(library, n) && !lists(members, n->op->name))
      return BROKEN(group_autogen, "%s, which is generated and not listed", n->op->name);
    for (size_t k = 0; n && !is_generated(library, n) && k < n->autogen.count; k++)
      if (!makes(library, members, n->autogen.data[k]))
        return BROKEN(group_autogen, "%s, which is listed and not generated", n->autogen.data[k]);
  }
  return FNZ_OK;
}

/* --- Functions in no group -------------------------------------------------------------------- */

/* PyTorch lists prelu.out, which it never makes because prelu decomposes. */
static fnz_status rule_alone_autogen(const fnz_library *library, const fnzi_native *n) {
  if (!n->autogen.count || fnzi_native_is_implicit(n))
    return FNZ_OK;
  return BROKEN(alone_autogen, "%s for %s", n->autogen.data[0], n->op->name);
}

static fnz_status rule_alone_structured(const fnz_library *library, const fnzi_native *n) {
  if (!fnzi_native_is_structured(n))
    return FNZ_OK;
  return BROKEN(alone_structured, "%s alone", n->op->name);
}

static fnz_status rule_alone_writes(const fnz_library *library, const fnzi_native *n) {
  if (n->kind == FNZI_KIND_FUNCTIONAL || n->kind == FNZI_KIND_SCRATCH ||
      fnzi_native_is_implicit(n) || n->view_group != FNZI_NO_GROUP ||
      fnzi_native_rule_exempts(FNZI_RULE_alone_writes, n->op))
    return FNZ_OK;
  return BROKEN(alone_writes, "%s alone", n->op->schema);
}

/* --- Views ------------------------------------------------------------------------------------ */

static fnz_status rule_view_copy_exists(const fnz_library *library,
                                        const fnzi_native_view_group *v) {
  const fnzi_native *n = fnzi_native_at(library, v->view);
  if (fnzi_native_is_implicit(n) || v->copy != FNZI_NO_GROUP)
    return FNZ_OK;
  return BROKEN(view_copy_exists, "no %s_copy", n->op->base);
}

static fnz_status rule_view_copy_name(const fnz_library *library, const fnzi_native_view_group *v) {
  const fnzi_native *n = fnzi_native_at(library, v->copy);
  if (!n || fnzi_ends_with(n->op->base, "_copy") || fnzi_ends_with(n->op->base, "_scatter"))
    return FNZ_OK;
  return BROKEN(view_copy_name, "%s for %s", n->op->name,
                fnzi_native_at(library, v->view)->op->name);
}

static fnz_status rule_view_copy_tag(const fnz_library *library, const fnzi_native_view_group *v) {
  const fnzi_native *n = fnzi_native_at(library, v->copy);
  if (!n || fnzi_native_has(library, n, FNZI_KNOWN_VIEW_COPY))
    return FNZ_OK;
  return BROKEN(view_copy_tag, "%s without it", n->op->name);
}

static fnz_status rule_view_composite(const fnz_library *library, const fnzi_native_view_group *v) {
  const fnzi_native *view = fnzi_native_at(library, v->view);
  const fnzi_native *n = fnzi_native_at(library, v->inplace);
  uint32_t implicit = FNZI_DISPATCH_BIT(CompositeImplicitAutograd) |
                      FNZI_DISPATCH_BIT(CompositeImplicitAutogradNestedTensor);
  if (!n || !(view->keys & implicit & ~n->keys))
    return FNZ_OK;
  return BROKEN(view_composite, "%s implicit and %s not", view->op->name, n->op->name);
}

static fnz_status check_first(const fnz_library *library, const fnzi_native *n) {
  if (!n || fnzi_native_is_implicit(n))
    return FNZ_OK;
  for (size_t i = 0; i < n->op->nparams; i++) {
    const fnzi_param *p = &n->op->params[i];
    bool tensor = p->type == FNZI_TYPE_TENSOR && !p->is_list && !p->optional;
    if (i ? p->alias_text != NULL : !p->alias_text || !tensor)
      return BROKEN(view_first, "%s of %s", p->name, n->op->schema);
  }
  return n->op->nparams ? FNZ_OK : BROKEN(view_first, "%s", n->op->schema);
}

static fnz_status rule_view_first(const fnz_library *library, const fnzi_native_view_group *v) {
  FNZ_TRY(check_first(library, fnzi_native_at(library, v->view)));
  return check_first(library, fnzi_native_at(library, v->inplace));
}

static fnz_status rule_view_result(const fnz_library *library, const fnzi_native_view_group *v) {
  const fnzi_native *n = fnzi_native_at(library, v->view);
  const fnzi_param *r = n->op->returns;
  if (v->copy == FNZI_NO_GROUP || fnzi_ends_with(n->op->base, "_inverse"))
    return FNZ_OK;
  if (n->op->nreturns == 1 && r->type == FNZI_TYPE_TENSOR && !r->optional && !r->list_size)
    return FNZ_OK;
  return BROKEN(view_result, "%s", n->op->schema);
}

/* --- All -------------------------------------------------------------------------------------- */

#define RULE RULE_FUNCTION

static fnz_status check_groups(const fnz_library *library) {
  static fnz_status (*const functions[])(const fnz_library *, const fnzi_native_group *) = {
#undef RULE_GROUP
#define RULE_GROUP(function) function,
#include "schema/native/rules.def"
#undef RULE_GROUP
#define RULE_GROUP(function)
  };
  for (size_t i = 0; i < library->ngroups; i++)
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++)
      FNZ_TRY(functions[k](library, &library->groups[i]));
  return FNZ_OK;
}

static fnz_status check_alone(const fnz_library *library) {
  static fnz_status (*const functions[])(const fnz_library *, const fnzi_native *) = {
#undef RULE_ALONE
#define RULE_ALONE(function) function,
#include "schema/native/rules.def"
#undef RULE_ALONE
#define RULE_ALONE(function)
  };
  for (size_t i = 0; i < library->count; i++)
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++)
      if (library->natives[i].group == FNZI_NO_GROUP)
        FNZ_TRY(functions[k](library, &library->natives[i]));
  return FNZ_OK;
}

static fnz_status check_views(const fnz_library *library) {
  static fnz_status (*const functions[])(const fnz_library *, const fnzi_native_view_group *) = {
#undef RULE_VIEW
#define RULE_VIEW(function) function,
#include "schema/native/rules.def"
#undef RULE_VIEW
#define RULE_VIEW(function)
  };
  for (size_t i = 0; i < library->nviews; i++)
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++)
      FNZ_TRY(functions[k](library, &library->views[i]));
  return FNZ_OK;
}

fnz_status fnzi_native_check_groups(const fnz_library *library) {
  FNZ_TRY(check_groups(library));
  FNZ_TRY(check_views(library));
  return check_alone(library);
}
