/* foreach.c - which operator a `_foreach_` operator applies to each element of its lists.
 *
 * Overloads are named differently there, so the element's overload is found by its types: every
 * parameter of the list operator must fit the parameter at the same place, and further parameters
 * must have a default. */
#include "schema/schema.h"

/* Element operators with another name, if their types fit. */
static const struct {
  const char *foreach, *element;
} other_names[] = {
    {"maximum", "clamp_min"},
    {"minimum", "clamp_max"},
    {"maximum_", "clamp_min_"},
    {"minimum_", "clamp_max_"},
};

static bool applies(const fnz_op *op, const fnz_op *element) {
  if (element->nparams < op->nparams || element->kind != op->kind)
    return false;
  for (size_t i = 0; i < op->nparams; i++)
    if (op->params[i].type != element->params[i].type || element->params[i].is_list ||
        element->params[i].optional < op->params[i].optional)
      return false;
  for (size_t i = op->nparams; i < element->nparams; i++)
    if (!element->params[i].has_default)
      return false;
  return true;
}

static const fnz_op *element_named(const fnz_op *op, const char *base) {
  size_t size = strlen(base);
  for (size_t i = fnzi_op_lower_bound(base, size); i < fnz_op_count(); i++) {
    const fnz_op *element = fnz_op_at(i);
    if (strncmp(element->name, base, size) != 0)
      break;
    if (strcmp(element->base, base) == 0 && applies(op, element))
      return element;
  }
  return NULL;
}

const fnz_op *fnzi_foreach_element(const fnz_op *op) {
  static const char prefix[] = "_foreach_";
  if (strncmp(op->name, prefix, sizeof prefix - 1) != 0)
    return NULL;
  const char *base = op->base + sizeof prefix - 1;
  const fnz_op *element = element_named(op, base);
  for (size_t i = 0; !element && i < sizeof other_names / sizeof *other_names; i++)
    if (strcmp(base, other_names[i].foreach) == 0)
      element = element_named(op, other_names[i].element);
  return element;
}
