/* mutations.c - the table of mutation rules.
 *
 * needs   mutations.def, twins and lists of the operator table
 * gives   the kind of each operator, its twin, and what its rule is called */
#include "mutations/mutations.h"

static const struct {
  const char *op;
  fnzi_mutation_kind kind;
} rows[] = {
#define MUTATION(op, kind) {op, FNZI_MUTATION_##kind},
#define WINDOWS(op, rule)  {op, FNZI_MUTATION_WINDOWS},
#include "mutations/mutations.def"
};

static const struct {
  const char *op, *twin;
} twins[] = {
#define TWIN_OF(op, twin) {op, twin},
#include "mutations/mutations.def"
};

static const char *const idempotent[] = {
#define IDEMPOTENT(op) op,
#include "mutations/mutations.def"
};

/* Every place gets the same value only where all other arguments are numbers. */
bool fnzi_is_idempotent(const fnz_op *functional) {
  const char *name = fnzi_op_canonical(functional)->name;
  for (size_t i = 1; i < functional->nparams; i++)
    if (functional->params[i].type == FNZI_TYPE_TENSOR)
      return false;
  for (size_t i = 0; i < sizeof idempotent / sizeof *idempotent; i++)
    if (!strcmp(idempotent[i], name))
      return true;
  return false;
}

const fnz_op *fnzi_mutation_twin(const fnz_op *op) {
  const fnz_op *twin = fnz_op_functional_twin(op);
  for (size_t i = 0; !twin && i < sizeof twins / sizeof *twins; i++)
    if (!strcmp(twins[i].op, op->name))
      twin = fnzi_ops_find(twins[i].twin);
  return twin;
}

fnzi_mutation_kind fnzi_mutation_find(const fnz_op *op) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].op[0] == op->name[0] && !strcmp(rows[i].op, op->name))
      return rows[i].kind;
  if (!fnz_op_is_mutating(op))
    return FNZI_MUTATION_NONE;
  if (op->kind == FNZI_KIND_INPLACE && fnzi_foreach_element(op))
    return FNZI_MUTATION_LIST;
  return fnzi_mutation_twin(op) ? FNZI_MUTATION_TWIN : FNZI_MUTATION_REFUSED;
}

/* --- What a rule says ------------------------------------------------------------------------- */
typedef struct kind_row {
  const char *name, *words;
  fnzi_emit_op emits;
} kind_row;

static const kind_row kinds[] = {
#define KIND_ROW(id, name, emits, words) {name, words, FNZI_EMIT_##emits},
    FNZI_MUTATION_ROWS(KIND_ROW)
#undef KIND_ROW
};

const char *fnzi_mutation_name(fnzi_mutation_kind kind) {
  return kinds[kind].name;
}

const char *fnzi_mutation_words(fnzi_mutation_kind kind) {
  return kinds[kind].words;
}

const fnz_op *fnzi_mutation_emits(fnzi_mutation_kind kind) {
  return fnzi_emitted_op(kinds[kind].emits);
}
