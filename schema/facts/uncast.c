/* uncast.c - element types that eager does not cast: of operands that must be alike, and of written
 * tensors that must be what is computed. */
#include "schema/facts/facts.h"

uint32_t fnzi_fact_bits(const fnz_op *op, const char *const params[FNZI_FACT_PARAMS]) {
  uint32_t bits = 0;
  for (size_t i = 0; i < FNZI_FACT_PARAMS && params[i]; i++)
    bits |= 1u << fnzi_op_param(op, params[i]);
  return bits;
}

uint32_t fnzi_op_uncast(const fnz_op *op) {
  const fnz_op *canonical = fnzi_op_canonical(op);
  return fnzi_fact_bits(canonical, fnzi_fact_of(op, 0)->uncast) |
         fnzi_fact_bits(canonical, fnzi_fact_of(op, 1)->uncast);
}

bool fnzi_op_is_exact(const fnz_op *op) {
  return FNZI_FACT_HOLDS(op, exact);
}

/* index_put with one value at the places of one mask: eager fills them, whatever type it has. */
static bool fills_mask(const fnz_op *op, const fnz_arg *args, fnzi_geometry_reader *geometry_of,
                       void *user) {
  int accumulate = fnzi_op_param(op, "accumulate"), values = fnzi_op_param(op, "values");
  size_t given = 0, masks = 0;
  if (accumulate < 0 || values < 0 || args[1].tag != FNZ_ARG_LIST ||
      (args[accumulate].tag == FNZ_ARG_BOOL && args[accumulate].u.i) ||
      fnz_geometry_numel(geometry_of(user, &args[values])) != 1)
    return false;
  for (uint32_t i = 0; i < args[1].count; i++) {
    const fnz_arg *index = &args[1].u.list[i];
    const fnz_geometry *g = index->tag == FNZ_ARG_VALUE ? geometry_of(user, index) : NULL;
    given += g != NULL;
    masks += g != NULL && (g->dtype == FNZ_BOOL || g->dtype == FNZ_U8);
  }
  return given == 1 && masks == 1;
}

static fnz_status check_one(fnz_context *ctx, const fnz_op *op, const fnz_arg *args,
                            fnzi_geometry_reader *geometry_of, void *user) {
  uint32_t asked = fnzi_op_uncast(op);
  const fnz_geometry *first =
      asked && args[0].tag == FNZ_ARG_VALUE ? geometry_of(user, &args[0]) : NULL;
  for (size_t i = 1; first && i < op->nparams; i++) {
    const fnz_geometry *g =
        (asked >> i & 1) && args[i].tag == FNZ_ARG_VALUE ? geometry_of(user, &args[i]) : NULL;
    if (g && g->dtype != first->dtype && !fills_mask(op, args, geometry_of, user))
      return fnzi_fail(ctx, FNZ_CLASS_TYPE, NULL,
                       "%s: %s is %s, but %s is %s; both must be the same: cast %s with to()",
                       op->name, op->params[i].name, fnzi_dtype(g->dtype)->name, op->params[0].name,
                       fnzi_dtype(first->dtype)->name, op->params[i].name);
  }
  return FNZ_OK;
}

fnz_status fnzi_check_uncast(fnz_context *ctx, const fnz_op *op, const fnz_arg *args,
                             fnzi_geometry_reader *geometry_of, void *user) {
  const fnz_op *element = fnzi_foreach_element(op);
  if (element && fnzi_op_uncast(element) && args[0].tag == FNZ_ARG_LIST) {
    /* Eager computes an operator on lists item by item. */
    enum { MOST = 16 }; /* parameters of operators with such tensors */
    fnz_arg own[MOST];
    for (uint32_t i = 0; element->nparams <= MOST && i < args[0].count; i++) {
      for (uint32_t k = 0; k < element->nparams; k++) {
        own[k] = k < op->nparams ? args[k] : (fnz_arg){.tag = FNZ_ARG_DEFAULT};
        if (own[k].tag == FNZ_ARG_LIST && !element->params[k].is_list && i < own[k].count)
          own[k] = own[k].u.list[i];
      }
      FNZ_TRY(check_one(ctx, element, own, geometry_of, user));
    }
    return FNZ_OK;
  }
  return check_one(ctx, op, args, geometry_of, user);
}
