/* rules.h - the rule of functionalizing for each operator, as data. */
#ifndef FNZ_RULES_H
#define FNZ_RULES_H

#include <fnz/operator.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The actions of functionalizing on an operator. Columns: name, in words. Order is ABI. */
#define FNZ_ACTION_ROWS(ROW)                                                                       \
  ROW(FUNCTIONAL, "functional", "evaluated as it is")                                              \
  ROW(VIEW, "view", "a window into its argument's memory")                                         \
  ROW(COMPOSITE, "composite", "a view, its argument or a copy: eager geometry decides")            \
  ROW(INPLACE_VIEW, "inplace_view", "its argument becomes another window")                         \
  ROW(WRITE, "write", "its argument gets a new value")                                             \
  ROW(REFUSED, "refused", "there is no rule for it")

typedef enum fnz_action {
#define FNZ_ACTION_ENUM(id, name, words) FNZ_ACTION_##id,
  FNZ_ACTION_ROWS(FNZ_ACTION_ENUM)
#undef FNZ_ACTION_ENUM
      FNZ_ACTION_COUNT
} fnz_action;

#define FNZ_RULE_STEPS 4

/** Texts are static, NULL where they do not apply. */
typedef struct fnz_rule {
  fnz_action action;
  const char *name, *words;        /* of the action */
  const char *write, *write_words; /* its effect on its target: a kind of mutations.def */
  const char *view;                /* the rule that says which window it is */
  const char *reverse;             /* the rule that puts a changed window into its base */
  bool needs_base;                 /* `reverse` needs the old base */
  const fnz_op *becomes;           /* in the functional program; NULL: depends on the call */
  const fnz_op *through;           /* the operator that `reverse` calls; NULL: none */
  /* For a composite: the operators that it may become, besides its argument, or the operator
   * itself, which then computes a new value. */
  const fnz_op *steps[FNZ_RULE_STEPS];
  size_t nsteps;
  bool may_be_itself, may_compute;
  const char *remedy; /* of a refused operator: what to do instead */
} fnz_rule;

/** The rule for any operator, declared ones included. */
FNZ_API fnz_rule fnz_op_rule(const fnz_op *op);

#ifdef __cplusplus
}
#endif
#endif
