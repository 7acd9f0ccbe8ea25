/* composites.c - the table of composites: rules, possible results, and resolving.
 *
 * Every rule decides by the eager strides, never by the layout of a functional value. It resolves
 * an operator as PyTorch's own decomposition does. */
#include "views/composite.h"
#include "views/views.h"

/* Possible results of a rule, as bits next to the bits of the steps. */
#define S(id)  (1u << FNZI_STEP_##id)
#define ITSELF (1u << 31)
#define KEPT   (1u << 30)

enum {
#define RULE(rule, steps) RULE_##rule,
#include "views/composites.def"
};

static const struct {
  const char *name;
  fnzi_resolve_fn *resolve;
  uint32_t steps;
} rules[] = {
#define RULE(rule, steps) {#rule, fnzi_resolve_##rule, steps},
#include "views/composites.def"
};

struct fnzi_composite_row {
  const char *op;
  int rule;
};

static const struct fnzi_composite_row rows[] = {
#define COMPOSITE(op, rule) {op, RULE_##rule},
#include "views/composites.def"
};

const fnzi_composite_row *fnzi_composite_find(const fnz_op *op) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].op[0] == op->name[0] && !strcmp(rows[i].op, op->name))
      return &rows[i];
  return NULL;
}

fnzi_composite_facts fnzi_composite_describe(const fnzi_composite_row *row) {
  uint32_t steps = rules[row->rule].steps;
  fnzi_composite_facts f = {
      .rule = rules[row->rule].name, .itself = steps & ITSELF, .kept = steps & KEPT};
  for (int i = 0; i < FNZI_STEP_COUNT && f.count < FNZI_ITEM_STEPS; i++)
    if (steps >> i & 1)
      f.steps[f.count++] = fnzi_op_of_step((fnzi_step_op)i);
  return f;
}

bool fnzi_composite_sees_bytes(const fnzi_composite_row *row) {
  fnzi_composite_facts f = fnzi_composite_describe(row);
  bool sees = false;
  for (size_t i = 0; i < f.count && !sees; i++) {
    const fnzi_view *view = fnzi_view_find(f.steps[i]);
    sees = view && fnzi_view_sees_bytes(view);
  }
  return sees;
}

fnz_status fnzi_composite_resolve(fnzi_int_space in, const fnzi_composite_row *row,
                                  const fnzi_op_call *call, const fnz_geometry *const *tensors,
                                  size_t ntensors, fnzi_resolution *out) {
  const fnz_op *op = call->op;
  *out = (fnzi_resolution){0};
  size_t needed = 0;
  for (size_t i = 0; i < op->nparams; i++)
    needed +=
        op->params[i].type == FNZI_TYPE_TENSOR && !op->params[i].is_list && !op->params[i].optional;
  if (ntensors < (needed ? needed : 1))
    return fnzi_fail(in.arena->ctx, FNZ_CLASS_TYPE, NULL, "%s: a tensor argument is missing: %s",
                     op->name, op->schema);
  fnzi_resolving r = {in.arena->ctx, in.ints,  in.arena,   op,  call->args, call->nargs,
                      tensors,       ntensors, tensors[0], out, 0};
  FNZ_TRY(rules[row->rule].resolve(&r));
  uint32_t used = r.out->keep ? KEPT : r.used;
  for (size_t k = 0; !r.out->keep && k < r.out->count; k++)
    if (!r.out->items[k].nsteps)
      used |= ITSELF;
  uint32_t unknown = used & ~rules[row->rule].steps;
  if (!unknown)
    return FNZ_OK;
  return fnzi_fail(in.arena->ctx, FNZ_CLASS_INTERNAL, NULL,
                   "%s was resolved to what its row does not say (bits %x)", op->name, unknown);
}
