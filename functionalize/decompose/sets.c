/* sets.c - the tables: which operators a set takes apart, and by which way. */
#include "functionalize/decompose/decompose.h"
#include "functionalize/explain/explain.h"
#include "kernels/backends.h"
#include "schema/facts/mlir.h"

#include <fnz/mlir.h>

/* --- ways ------------------------------------------------------------------------------------- */
typedef struct way_row {
  uint16_t op;            /* its place in the table; 0, which has no way, ends a list */
  fnzi_dec_fn *decompose; /* NULL: the function of its own row of decomp.def */
} way_row;

#define WAY(op, function) fnzi_dec_fn fnzi_dcm_##function;
#define SAME(op, other)
#define OWN(op)
fnzi_dec_fn fnzi_dcm_same, fnzi_dcm_each, fnzi_dcm_copied;
#include "functionalize/decompose/core.def"
#include "functionalize/decompose/mlir.def"
#include "functionalize/decompose/prims.def"
#undef WAY
#undef SAME
#undef OWN

#define OWN(op)           {FNZI_ATEN_##op, NULL},
#define WAY(op, function) {FNZI_ATEN_##op, fnzi_dcm_##function},
#define SAME(op, other)   WAY(op, same)
static const way_row ways_none[] = {{FNZI_NO_OP, NULL}};
static const way_row ways_core[] = {
#include "functionalize/decompose/core.def"
    {FNZI_NO_OP, NULL}};
static const way_row ways_mlir[] = {
#include "functionalize/decompose/mlir.def"
    {FNZI_NO_OP, NULL}};
static const way_row ways_prims[] = {
#include "functionalize/decompose/prims.def"
    {FNZI_NO_OP, NULL}};
#undef WAY
#undef SAME
#undef OWN

static const way_row *find(const way_row *rows, const fnz_op *op) {
  uint16_t place = fnzi_op_place(op);
  if (place == FNZI_NO_OP)
    return NULL;
  for (; rows->op != FNZI_NO_OP; rows++)
    if (rows->op == place)
      return rows;
  return NULL;
}

/* --- what stays ------------------------------------------------------------------------------- */
static bool fnzi_dcm_keeps_all(const char *set, const fnz_op *op) {
  (void)set, (void)op;
  return true;
}

/* The ones of prims that reading leaves are steps (schema/prims.def), and no other system has them.
 */
static bool is_prim(const fnz_op *op) {
  static const char space[] = "prims::";
  return fnzi_op_is_custom(op) && strncmp(op->name, space, sizeof space - 1) == 0;
}

static bool fnzi_dcm_keeps_core(const char *set, const fnz_op *op) {
  (void)set;
  if (fnzi_op_is_custom(op) || (op->tags & FNZI_TAG_CORE))
    return !is_prim(op);
  const fnz_op *view = op->tags & FNZI_TAG_VIEW_COPY ? fnz_op_member(op, FNZ_MEMBER_VIEW) : NULL;
  return view && (view->tags & FNZI_TAG_CORE);
}

/* Where there is no row nothing is known, and it stays. */
static bool fnzi_dcm_keeps_kernels(const char *set, const fnz_op *op) {
  (void)set;
  static const fnzi_krn_kernels shapes = {.rows = fnzi_kernel_rows};
  const fnzi_kernel *row = fnzi_kernel_find(&shapes, op);
  return !row || row->run != FNZI_RUN_made;
}

/* Custom operators are refused when it comes to writing. */
static bool fnzi_dcm_keeps_mlir(const char *set, const fnz_op *op) {
  (void)set;
  return (fnzi_op_is_custom(op) && !is_prim(op)) || fnz_mlir_op_name(op) || fnzi_mlir_is_check(op);
}

static bool fnzi_dcm_keeps_target(const char *set, const fnz_op *op) {
  return fnzi_dcm_target_has(set, op);
}

/* --- sets ------------------------------------------------------------------------------------- */
struct fnzi_dcm_set {
  const char *name;
  bool (*keeps)(const char *set, const fnz_op *op);
  const way_row *first, *then, *last;
};

static const fnzi_dcm_set sets[] = {
#define SET(name, keeps, first, then, last)                                                        \
  {#name, fnzi_dcm_keeps_##keeps, ways_##first, ways_##then, ways_##last},
#include "functionalize/decompose/sets.def"
#undef SET
};

const fnzi_dcm_set *fnzi_dcm_set_find(const char *name) {
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
    if (strcmp(sets[i].name, name) == 0)
      return &sets[i];
  return NULL;
}

bool fnzi_dcm_set_keeps(const fnzi_dcm_set *set, const fnz_op *op) {
  return !find(set->first, op) && set->keeps(set->name, op);
}

bool fnzi_dcm_set_casts(const fnzi_dcm_set *set) {
  return set->keeps != fnzi_dcm_keeps_all;
}

static bool is_target(const fnzi_dcm_set *set) {
  return set->keeps == fnzi_dcm_keeps_target;
}

/* A copy of one view, of which consumers have the view. */
static bool is_copied(const fnzi_dcm_set *set, const fnz_op *op) {
  return is_target(set) && (op->tags & FNZI_TAG_VIEW_COPY) && !fnzi_op_lists(op) &&
         fnz_op_member(op, FNZ_MEMBER_VIEW);
}

static bool has_steps(const fnz_op *op) {
  return !fnzi_dcm_keeps_kernels(NULL, op);
}

/* --- wishes ----------------------------------------------------------------------------------- */
static bool is_among(const fnz_op *op, const char *const *names, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (fnzi_expl_name_matches(names[i], fnz_op_name(op)))
      return true;
  return false;
}

fnzi_dcm_way fnzi_dcm_way_of(const fnzi_dcm_wish *wish, const fnz_op *op) {
  const fnz_decompose_options *o = wish->options;
  const fnzi_dcm_set *set = wish->set;
  fnzi_dcm_way way = {.is_named = is_among(op, o->decompose, o->ndecompose)};
  if (is_among(op, o->keep, o->nkeep) || (!way.is_named && fnzi_dcm_set_keeps(set, op)))
    return way;
  const way_row *row = find(set->first, op);
  row = row ? row : find(set->then, op);
  row = row || has_steps(op) ? row : find(set->last, op);
  row = row || !way.is_named ? row : find(ways_core, op);
  row = row || !way.is_named ? row : find(ways_prims, op);
  way.expands = true;
  way.may_stay = is_target(set) && !way.is_named && !fnzi_dcm_target_spoils(set->name, op);
  way.decompose = is_copied(set, op)            ? fnzi_dcm_copied
                  : row                         ? row->decompose
                  : fnzi_op_canonical(op) != op ? fnzi_dcm_same
                  : fnzi_foreach_element(op)    ? fnzi_dcm_each
                                                : NULL;
  return way;
}

/* --- what is left ----------------------------------------------------------------------------- */
static const struct {
  uint16_t op;
  const char *why;
} left[] = {
#define LEFT(op, why) {FNZI_ATEN_##op, why},
#include "functionalize/decompose/left.def"
#undef LEFT
};

const char *fnzi_dcm_why_left(const fnzi_dcm_wish *wish, const fnz_op *whole) {
  const fnz_op *op = fnzi_op_canonical(whole);
  const fnz_decompose_options *o = wish->options;
  uint16_t place = fnzi_op_place(op);
  if (fnzi_dcm_set_keeps(wish->set, whole) || is_among(whole, o->keep, o->nkeep))
    return NULL;
  bool has_way = is_copied(wish->set, op) || find(wish->set->then, op) ||
                 find(wish->set->last, op) || has_steps(op);
  if (is_target(wish->set) && has_way)
    return "its steps would need others that are not in the list either, or depend on elements or "
           "on arguments that none are known for";
  for (size_t i = 0; i < sizeof left / sizeof *left; i++)
    if (left[i].op == place)
      return left[i].why;
  if (op->tags & FNZI_TAG_RANDOM)
    return "it draws random numbers; other operators would draw others";
  return has_way
             ? "its steps would depend on elements, on arguments that none are known for, or on "
               "what autocast casts inside of it"
             : "no steps are known that it is made of";
}
