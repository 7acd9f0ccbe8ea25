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
#define STAYS(op)
#define AS_REAL(op)
fnzi_dec_fn fnzi_dcm_same, fnzi_dcm_each, fnzi_dcm_copied;
#include "functionalize/decompose/core.def"
#include "functionalize/decompose/mlir.def"
#include "functionalize/decompose/mlir_complex.def"
#include "functionalize/decompose/others.def"
#include "functionalize/decompose/prims.def"
#include "functionalize/decompose/targets/calls_executorch.def"
#include "functionalize/decompose/targets/calls_coreml.def"
#include "functionalize/decompose/targets/calls_openvino.def"
#include "functionalize/decompose/targets/calls_tvm.def"
#undef WAY
#undef SAME
#undef OWN
#undef STAYS
#undef AS_REAL

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
/* Calls that targets take wrongly. */
static const way_row ways_calls[] = {
#include "functionalize/decompose/targets/calls.def"
    {FNZI_NO_OP, NULL}};
static const way_row ways_calls_executorch[] = {
#include "functionalize/decompose/targets/calls_executorch.def"
    {FNZI_NO_OP, NULL}};
static const way_row ways_calls_coreml[] = {
#include "functionalize/decompose/targets/calls_coreml.def"
    {FNZI_NO_OP, NULL}};
static const way_row ways_calls_openvino[] = {
#include "functionalize/decompose/targets/calls_openvino.def"
    {FNZI_NO_OP, NULL}};
static const way_row ways_calls_tvm[] = {
#include "functionalize/decompose/targets/calls_tvm.def"
    {FNZI_NO_OP, NULL}};
/* Ways of targets: up to composites or aside first, and only then down to prims. */
static const way_row ways_others[] = {
#include "functionalize/decompose/others.def"
#include "functionalize/decompose/prims.def"
    {FNZI_NO_OP, NULL}};
#undef WAY
#undef SAME
#undef OWN

/* Calls on complex numbers. */
typedef struct complex_row {
  uint16_t op;
  bool is_as_real;        /* by the way that holds for real numbers */
  fnzi_dec_fn *decompose; /* else NULL: it stays */
} complex_row;

#define STAYS(op)         {FNZI_ATEN_##op, false, NULL},
#define WAY(op, function) {FNZI_ATEN_##op, false, fnzi_dcm_##function},
#define AS_REAL(op)       {FNZI_ATEN_##op, true, NULL},
static const complex_row ways_complex[] = {
#include "functionalize/decompose/mlir_complex.def"
};
#undef STAYS
#undef WAY
#undef AS_REAL

static const way_row *sets_find(const way_row *rows, const fnz_op *op) {
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

/* Operators of prims that the reader leaves are steps (schema/prims.def), and no other system has
 * them. */
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

/* An operator without a kernel row stays, because nothing is known about it. */
static bool fnzi_dcm_keeps_kernels(const char *set, const fnz_op *op) {
  (void)set;
  static const fnzi_krn_kernels shapes = {.rows = fnzi_kernel_rows};
  const fnzi_kernel *row = fnzi_kernel_find(&shapes, op);
  return !row || row->run != FNZI_RUN_decomposed;
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
  fnzi_dcm_loops loops;
  bool pairs, owns; /* complex numbers become pairs; a value is a result once */
};

enum { COMPLEX_any, COMPLEX_pairs, RESULTS_any = 0, RESULTS_once };

static const fnzi_dcm_set sets[] = {
#define SET(name, keeps, first, then, last, loops, complex, results)                               \
  {#name,       fnzi_dcm_keeps_##keeps, ways_##first,      ways_##then,                            \
   ways_##last, FNZI_DCM_LOOPS_##loops, COMPLEX_##complex, RESULTS_##results},
#include "functionalize/decompose/sets.def"
#undef SET
};

const fnzi_dcm_set *fnzi_dcm_set_find(const char *name) {
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
    if (strcmp(sets[i].name, name) == 0)
      return &sets[i];
  return NULL;
}

static bool is_target(const fnzi_dcm_set *set) {
  return set->keeps == fnzi_dcm_keeps_target;
}

/* A row of `first` for a target mends some calls of an operator that it has. */
bool fnzi_dcm_set_keeps(const fnzi_dcm_set *set, const fnz_op *op) {
  return (is_target(set) || !sets_find(set->first, op)) && set->keeps(set->name, op);
}

bool fnzi_dcm_set_spoils(const fnzi_dcm_set *set, const fnz_op *op) {
  return is_target(set) && fnzi_dcm_target_spoils(set->name, op);
}

bool fnzi_dcm_set_casts(const fnzi_dcm_set *set) {
  return set->keeps != fnzi_dcm_keeps_all;
}

/* A copy of one view. Consumers have the view itself. */
static bool is_copied(const fnzi_dcm_set *set, const fnz_op *op) {
  return is_target(set) && (op->tags & FNZI_TAG_VIEW_COPY) && !fnzi_op_lists(op) &&
         fnz_op_member(op, FNZ_MEMBER_VIEW);
}

static bool has_steps(const fnz_op *op) {
  return !fnzi_dcm_keeps_kernels(NULL, op);
}

fnzi_dcm_loops fnzi_dcm_set_loops(const fnzi_dcm_set *set) {
  return set->loops;
}

bool fnzi_dcm_set_owns(const fnzi_dcm_set *set) {
  return set->owns;
}

bool fnzi_dcm_set_has_pairs(const fnzi_dcm_set *set) {
  return set->pairs;
}

/* --- options ---------------------------------------------------------------------------------- */
static bool is_among(const fnz_op *op, const char *const *names, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (fnzi_expl_name_matches(names[i], fnz_op_name(op)))
      return true;
  return false;
}

bool fnzi_dcm_is_strict(const fnzi_dcm_options *options, const fnz_op *op) {
  return is_target(options->set) &&
         !is_among(op, options->asked->decompose, options->asked->ndecompose);
}

bool fnzi_dcm_stays(const fnzi_dcm_options *options, const fnz_op *op) {
  return fnzi_dcm_set_keeps(options->set, op) ||
         is_among(op, options->asked->keep, options->asked->nkeep);
}

/* Row number `nth` of the operator. If the operator has fewer rows, *nth is reduced by their
 * count. */
static bool find_nth(const way_row *rows, const fnz_op *op, size_t *nth, fnzi_dec_fn **out) {
  uint16_t place = fnzi_op_place(op);
  for (; place != FNZI_NO_OP && rows->op != FNZI_NO_OP; rows++) {
    if (rows->op != place)
      continue;
    *out = rows->decompose;
    if ((*nth)-- == 0)
      return true;
  }
  return false;
}

/* Ways that need no row: the view and a copy, another name, each element, its own steps. */
static bool find_own(const fnzi_dcm_set *set, const fnz_op *op, size_t *nth, fnzi_dec_fn **out) {
  *out = is_copied(set, op)            ? fnzi_dcm_copied
         : fnzi_op_canonical(op) != op ? fnzi_dcm_same
         : fnzi_foreach_element(op)    ? fnzi_dcm_each
                                       : NULL;
  return (*out || has_steps(op)) && (*nth)-- == 0;
}

fnzi_dcm_way fnzi_dcm_way_of(const fnzi_dcm_options *options, const fnz_op *op, size_t nth) {
  const fnz_decompose_options *o = options->asked;
  const fnzi_dcm_set *set = options->set;
  const size_t which = nth;
  fnzi_dcm_way way = {.is_named = is_among(op, o->decompose, o->ndecompose)};
  const bool has = set->keeps(set->name, op);
  if (is_among(op, o->keep, o->nkeep) || (!way.is_named && has && !sets_find(set->first, op)))
    return way;
  way.expands = find_nth(set->first, op, &nth, &way.decompose);
  if (!way.expands && (way.is_named || !is_target(set) || !has))
    way.expands = (is_copied(set, op) && find_own(set, op, &nth, &way.decompose)) ||
                  find_nth(set->then, op, &nth, &way.decompose) ||
                  (!is_copied(set, op) && find_own(set, op, &nth, &way.decompose)) ||
                  find_nth(set->last, op, &nth, &way.decompose) ||
                  (way.is_named && (find_nth(ways_core, op, &nth, &way.decompose) ||
                                    find_nth(ways_prims, op, &nth, &way.decompose)));
  if (!way.expands && !which) /* it says itself that it has no steps */
    way = (fnzi_dcm_way){.is_named = way.is_named, .expands = true};
  return way;
}

/* --- complex numbers -------------------------------------------------------------------------- */
static bool sets_is_complex(const fnz_geometry *g) {
  return g && fnzi_is_complex(g->dtype);
}

static bool has_complex(const fnzi_script_whole *whole) {
  for (size_t k = 0; k < whole->nexpected; k++)
    if (sets_is_complex(whole->expected[k]))
      return true;
  FNZI_EACH_ARG(each, whole->args, whole->op->nparams)
    if (each.arg->tag == FNZ_ARG_COMPLEX ||
        (each.arg->tag == FNZ_ARG_DTYPE && fnzi_is_complex((fnz_dtype)each.arg->u.i)) ||
        (each.arg->tag == FNZ_ARG_VALUE && sets_is_complex(whole->geometries[each.arg->u.value])))
      return true;
  return false;
}

fnzi_dcm_way fnzi_dcm_way_of_call(const fnzi_dcm_options *options, const fnzi_script_whole *whole,
                                  size_t nth) {
  const fnz_op *op = whole->op;
  fnzi_dcm_way way = {.is_named = false};
  if (!fnzi_dcm_set_has_pairs(options->set) || !has_complex(whole))
    return fnzi_dcm_way_of(options, op, nth);
  const complex_row *row = NULL;
  for (size_t i = 0; i < sizeof ways_complex / sizeof *ways_complex && !row; i++)
    if (ways_complex[i].op == fnzi_op_place(op))
      row = &ways_complex[i];
  bool is_other_name = !row && fnzi_op_canonical(op) != op;
  if (nth || is_among(op, options->asked->keep, options->asked->nkeep))
    return way;
  if (is_other_name || fnzi_foreach_element(op) || (row && row->is_as_real)) {
    way.expands = true;
    if (!find_nth(options->set->then, op, &nth, &way.decompose))
      (void)find_own(options->set, op, &nth, &way.decompose);
  } else if (row && row->decompose)
    way = (fnzi_dcm_way){.expands = true, .decompose = row->decompose};
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

const char *fnzi_dcm_why_left(const fnzi_dcm_options *options, const fnz_op *whole) {
  const fnz_op *op = fnzi_op_canonical(whole);
  uint16_t place = fnzi_op_place(op);
  if (fnzi_dcm_stays(options, whole))
    return NULL;
  bool has_way = is_copied(options->set, op) || sets_find(options->set->then, op) ||
                 sets_find(options->set->last, op) || has_steps(op);
  if (is_target(options->set) && has_way)
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
