/* broken.c - how a broken rule is reported, and which operators PyTorch lets off a rule. */
#include "schema/native/native.h"

#include <stdio.h>

static const struct {
  const char *id, *text;
  fnz_class kind;
} rules[] = {
#define RULE(stage, id, kind, text) {#id, text, FNZ_CLASS_##kind},
#include "schema/native/rules.def"
#undef RULE
};

fnz_status fnzi_native_rule_broken(const fnz_library *library, uint32_t line, fnzi_native_rule rule,
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
  fnzi_native_rule rule;
  const char *name;
} exempt[] = {
#define EXEMPT(rule, name) {FNZI_RULE_##rule, name},
#include "schema/native/exempt.def"
#undef EXEMPT
};

bool fnzi_native_rule_exempts(fnzi_native_rule rule, const fnz_op *op) {
  for (size_t i = 0; i < sizeof exempt / sizeof *exempt; i++)
    if (exempt[i].rule == rule &&
        (strcmp(exempt[i].name, op->name) == 0 || strcmp(exempt[i].name, op->base) == 0))
      return true;
  return false;
}
