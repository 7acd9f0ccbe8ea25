/* targets.c - consumers of exported programs: the form that each wants, and the operators that it
 * takes, which are sets. */
#include "functionalize/decompose/decompose.h"
#include "schema/facts/mlir.h"

#include <fnz/targets.h>

/* --- lists ------------------------------------------------------------------------------------ */
#define BEGIN(set) static const uint16_t has_##set[] = {
#define HAS(op)    FNZI_ATEN_##op,
#define END(set)                                                                                   \
  }                                                                                                \
  ;
#include "functionalize/decompose/targets/lists.def"

#define BEGIN(set)  static const char read_##set[] =
#define READ(words) words
#define END(set)    ;
#include "functionalize/decompose/targets/lists.def"

typedef struct list {
  const char *set;
  const uint16_t *has;
  size_t count;
  const char *read;
} list;

static const list lists[] = {
#define BEGIN(set) {#set, has_##set, sizeof has_##set / sizeof *has_##set, read_##set},
#include "functionalize/decompose/targets/lists.def"
};

static const list *targets_find(const char *set) {
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    if (strcmp(lists[i].set, set) == 0)
      return &lists[i];
  return NULL;
}

/* --- what the lists do not say ---------------------------------------------------------------- */
static const struct {
  const char *set;
  uint16_t op;
  bool stays;
} mends[] = {
#define WHOLE(set, op) {#set, FNZI_ATEN_##op, true},
#define APART(set, op) {#set, FNZI_ATEN_##op, false},
#include "functionalize/decompose/targets/mends.def"
};

static const struct {
  const char *set, *region;
} lacks[] = {
#define LACKS(set, region) {#set, "higher_order." #region},
#include "functionalize/decompose/targets/mends.def"
};

static const char *const wants_rows[] = {
#define ROWS(set) #set,
#include "functionalize/decompose/targets/mends.def"
};

static bool is_mended(const char *set, const fnz_op *op, bool stays) {
  uint16_t place = fnzi_op_place(op);
  for (size_t i = 0; i < sizeof mends / sizeof *mends; i++)
    if (mends[i].op == place && mends[i].stays == stays && strcmp(mends[i].set, set) == 0)
      return true;
  return false;
}

bool fnzi_dcm_target_spoils(const char *set, const fnz_op *op) {
  return is_mended(set, op, false);
}

bool fnzi_dcm_target_has(const char *set, const fnz_op *op) {
  const list *l = targets_find(set);
  if (!l || is_mended(set, op, false))
    return false;
  /* Checks and operators that give numbers are in no list: every consumer has or drops the ones,
   * and computes the others itself. */
  return fnzi_op_is_custom(op) || fnzi_mlir_is_check(op) ||
         (op->nreturns && op->returns[0].type != FNZI_TYPE_TENSOR) ||
         fnzi_op_is_among(op, l->has, l->count) || is_mended(set, op, true);
}

/* --- targets ---------------------------------------------------------------------------------- */
static const fnz_target targets[] = {
#define TARGET_ROW(id, name, set, format, views, state, words)                                     \
  {name, words, #set, FNZ_FORMAT_##format, FNZ_VIEWS_##views, FNZ_STATE_##state},
    FNZ_TARGET_ROWS(TARGET_ROW)
#undef TARGET_ROW
};

const fnz_target *fnz_target_at(size_t i) {
  return i < sizeof targets / sizeof *targets ? &targets[i] : NULL;
}

const fnz_target *fnz_target_find(const char *name) {
  for (size_t i = 0; name && i < sizeof targets / sizeof *targets; i++)
    if (strcmp(targets[i].name, name) == 0)
      return &targets[i];
  return NULL;
}

const char *fnz_target_read_from(const fnz_target *target) {
  const list *l = targets_find(target->set);
  return l ? l->read : fnzi_mlir_version();
}

bool fnz_target_lacks(const fnz_target *target, const char *region) {
  for (size_t i = 0; i < sizeof lacks / sizeof *lacks; i++)
    if (strcmp(lacks[i].set, target->set) == 0 && strcmp(lacks[i].region, region) == 0)
      return true;
  return false;
}

bool fnz_target_wants_rows(const fnz_target *target) {
  for (size_t i = 0; i < sizeof wants_rows / sizeof *wants_rows; i++)
    if (strcmp(wants_rows[i], target->set) == 0)
      return true;
  return false;
}
