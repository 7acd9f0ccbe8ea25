/* rules.c - fnz_op_rule(): the rule of an operator, in words. */
#include "functionalize/wrapper/wrapper.h"

#include <fnz/rules.h>

_Static_assert((int)FNZ_RULE_STEPS == (int)FNZI_ITEM_STEPS, "a rule has room for all steps");

static fnz_action action_of(const fnzi_wrap_route *route) {
  switch (route->action) {
  case FNZI_ACTION_VIEW:
    return FNZ_ACTION_VIEW;
  case FNZI_ACTION_COMPOSITE:
    return FNZ_ACTION_COMPOSITE;
  case FNZI_ACTION_INPLACE_VIEW:
    return FNZ_ACTION_INPLACE_VIEW;
  case FNZI_ACTION_WRITE:
    return route->mutation == FNZI_MUTATION_REFUSED ? FNZ_ACTION_REFUSED : FNZ_ACTION_WRITE;
  case FNZI_ACTION_REFUSED:
    return FNZ_ACTION_REFUSED;
  case FNZI_ACTION_UNKNOWN:
  case FNZI_ACTION_FUNCTIONAL:
    break;
  }
  return FNZ_ACTION_FUNCTIONAL;
}

static void say_view(const fnzi_wrap_route *route, fnz_rule *rule) {
  if (route->composite) {
    fnzi_composite_facts facts = fnzi_composite_describe(route->composite);
    rule->view = facts.rule;
    rule->nsteps = facts.count;
    memcpy(rule->steps, facts.steps, sizeof facts.steps);
    rule->may_be_itself = facts.itself;
    rule->may_compute = facts.kept;
    return;
  }
  fnzi_view_facts facts = fnzi_view_describe(route->view);
  rule->view = facts.forward;
  rule->reverse = facts.reverse;
  rule->needs_base = facts.needs_base;
  rule->through = facts.through;
}

/* --- what is refused -------------------------------------------------------------------------- */
enum {
#define CLASS(id, words) REFUSED_##id,
#define REFUSED(op, class, remedy)
#include "schema/facts/refused.def"
#undef CLASS
#undef REFUSED
};

static const char *const classes[] = {
#define CLASS(id, words) words,
#define REFUSED(op, class, remedy)
#include "schema/facts/refused.def"
#undef CLASS
#undef REFUSED
};

static const struct {
  const char *op;
  int class;
  const char *remedy;
} refused[] = {
#define CLASS(id, words)
#define REFUSED(op, class, remedy) {op, REFUSED_##class, remedy},
#include "schema/facts/refused.def"
#undef CLASS
#undef REFUSED
};

static void refused_why(const fnz_op *op, const char **why, const char **remedy) {
  *why = fnz_op_is_mutating(op) ? "it writes an argument and has no functional twin"
                                : "it returns a view for which there is no rule";
  *remedy = "use other operators";
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
    if (strcmp(refused[i].op, op->name) == 0) {
      *why = classes[refused[i].class];
      *remedy = refused[i].remedy;
    }
}

fnz_status fnzi_wrap_refuse_op(const fnz_wrapper *wrapper, const fnz_op *op) {
  const char *why, *remedy;
  refused_why(op, &why, &remedy);
  return fnzi_fail(wrapper->ctx, FNZ_CLASS_UNSUPPORTED, NULL, "%s: %s; %s", op->name, why, remedy);
}

fnz_rule fnz_op_rule(const fnz_op *op) {
  static const struct {
    const char *name, *words;
  } actions[] = {
#define ROW(id, name, words) {name, words},
      FNZ_ACTION_ROWS(ROW)
#undef ROW
  };
  fnzi_wrap_route route = fnzi_wrap_route_find(op);
  const fnzi_prim *prim = fnzi_builtin_prim(op);
  if (prim) /* no program has it once it is read */
    return (fnz_rule){.action = FNZ_ACTION_FUNCTIONAL, .name = "read as", .words = prim->as};
  fnz_rule out = {.action = action_of(&route)};
  out.name = actions[out.action].name;
  out.words = actions[out.action].words;
  if (out.action == FNZ_ACTION_VIEW || out.action == FNZ_ACTION_COMPOSITE ||
      out.action == FNZ_ACTION_INPLACE_VIEW)
    say_view(&route, &out);
  else if (route.mutation != FNZI_MUTATION_NONE) {
    const fnz_op *emits = fnzi_mutation_emits(route.mutation);
    out.write = fnzi_mutation_name(route.mutation);
    out.write_words = fnzi_mutation_words(route.mutation);
    if (out.action == FNZ_ACTION_WRITE)
      out.becomes = emits ? emits : fnzi_mutation_twin(op);
  }
  if (out.reverse)
    out.becomes = fnz_op_member(op, FNZ_MEMBER_VIEW_COPY);
  else if (out.action == FNZ_ACTION_FUNCTIONAL)
    out.becomes = op;
  else if (out.action == FNZ_ACTION_REFUSED)
    refused_why(op, &out.words, &out.remedy);
  return out;
}
