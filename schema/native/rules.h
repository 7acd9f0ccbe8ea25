/* rules.h - what the three files of rules share. */
#ifndef FNZI_RULES_H
#define FNZI_RULES_H

#include "schema/native/native.h"
#include "schema/twins.h"

/* In a rule on a function `n` of `library`. */
#define BROKEN(id, ...) fnzi_native_rule_broken(library, n->line, FNZI_RULE_##id, __VA_ARGS__)

/* The rules on the schema of one entry (schema_rules.c). */
FNZ_MUST_CHECK fnz_status fnzi_native_check_schema(const fnz_library *library,
                                                   const fnzi_native *n);

/* The rows of rules.def as the functions of one stage, whose macro a file defines to give its
 * argument and a comma; the macros of other stages are empty. */
#define RULE_FUNCTION(stage, id, kind, text) RULE_##stage(rule_##id)
#define RULE_INLINE(function)
#define RULE_SCHEMA(function)
#define RULE_ENTRY(function)
#define RULE_GROUP(function)
#define RULE_VIEW(function)
#define RULE_ALONE(function)

/* --- What rules need of names and schemas ----------------------------------------------------- */

/* The place of a positional self; the number of parameters when there is none. */
static inline size_t fnzi_native_self_place(const fnz_op *op) {
  size_t i = 0;
  while (i < op->nparams && (op->params[i].keyword_only || strcmp(op->params[i].name, "self") != 0))
    i++;
  return i;
}

/* The k-th out argument; NULL beyond the last. */
static inline const fnzi_param *fnzi_native_out_argument(const fnz_op *op, size_t k) {
  for (size_t i = 0; i < op->nparams; i++)
    if (op->params[i].is_out && k-- == 0)
      return &op->params[i];
  return NULL;
}

static inline bool fnzi_native_has_out(const fnz_op *op) {
  return fnzi_native_out_argument(op, 0) != NULL;
}

static inline size_t fnzi_native_count_options(const fnz_op *op) {
  size_t count = 0;
  for (size_t i = 0; i < op->nparams; i++)
    count += fnzi_are_tensor_options(op, i);
  return count;
}

#endif
