/* mutations.c - the table of mutation rules. */
#include "mutations/mutations.h"

static const struct {
  const char *op;
  fnzi_mutation_kind kind;
} rows[] = {
#define MUTATION(op, kind) {op, FNZI_MUTATION_##kind},
#include "mutations/mutations.def"
#undef MUTATION
};

fnzi_mutation_kind fnzi_mutation_find(const fnz_op *op) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (!strcmp(rows[i].op, op->name))
      return rows[i].kind;
  if (!fnz_op_is_mutating(op))
    return FNZI_MUTATION_NONE;
  if (op->kind == FNZI_KIND_INPLACE && fnzi_foreach_element(op))
    return FNZI_MUTATION_LIST;
  return op->functional == FNZI_NO_OP ? FNZI_MUTATION_REFUSED : FNZI_MUTATION_TWIN;
}
