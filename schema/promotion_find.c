/* promotion_find.c - what is known of an operator's promotion from its name, tags and parameters;
 * found once, when the operator is read or the table is made. */
#include "schema/schema.h"

#include <stdlib.h>

typedef struct kind_row {
  const char *name;
  fnzi_promotion_kind kind;
} kind_row;

static const kind_row kind_rows[] = {
#define ROW(name, kind) {name, FNZI_PROMOTE_##kind},
#include "schema/promotion.def"
#undef ROW
};

static int promotion_find_by_name(const void *key, const void *row) {
  return strcmp(key, ((const kind_row *)row)->name);
}

static const kind_row *find_row(const char *name) {
  return bsearch(name, kind_rows, sizeof kind_rows / sizeof *kind_rows, sizeof *kind_rows,
                 promotion_find_by_name);
}

fnzi_promotion_kind fnzi_promotion_find(const fnz_op *op) {
  const kind_row *row = find_row(op->name);
  if (!row)
    row = find_row(op->base);
  if (row)
    return row->kind;
  return op->tags & FNZI_TAG_POINTWISE ? FNZI_PROMOTE_DEFAULT : FNZI_PROMOTE_SELF;
}

bool fnzi_promotion_takes(const fnzi_param *p) {
  static const struct {
    const char *name;
    fnzi_type type;
  } others[] = {{"alpha", FNZI_TYPE_SCALAR},     {"value", FNZI_TYPE_SCALAR},
                {"weight", FNZI_TYPE_SCALAR},    {"threshold", FNZI_TYPE_SCALAR},
                {"min_val", FNZI_TYPE_SCALAR},   {"max_val", FNZI_TYPE_SCALAR},
                {"condition", FNZI_TYPE_TENSOR}, {"mask", FNZI_TYPE_TENSOR}};
  if (p->keyword_only || (p->type != FNZI_TYPE_TENSOR && p->type != FNZI_TYPE_SCALAR))
    return false;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (p->type == others[i].type && strcmp(p->name, others[i].name) == 0)
      return false;
  return true;
}
