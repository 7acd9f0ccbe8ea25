/* native_rules.h - what the two files of rules share. */
#ifndef FNZI_SCHEMA_NATIVE_RULES_H
#define FNZI_SCHEMA_NATIVE_RULES_H

#include "schema/native.h"
#include "schema/twins.h"

/* In a rule on a function `n` of `library`. */
#define BROKEN(id, ...) fnzi_rule_broken(library, n->line, FNZI_RULE_##id, __VA_ARGS__)

#endif
