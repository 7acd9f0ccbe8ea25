/* plant_nodes.c - mistakes in operands and arguments of nodes. */
#include "soak/plant_edit.h"

#include <stdio.h>

/* --- operands -------------------------------------------------------------------------------- */
fnz_status fnzi_plant_operand(fnzi_planting *t) {
  uint64_t other;
  for (fnzi_plant_at at = {0}; fnzi_plant_next_item(t, &at);)
    if (at.arg->tag == FNZ_ARG_VALUE &&
        fnzi_plant_other(t, at.g, at.arg->u.value, at.node, &other) && fnzi_plant_here(t))
      return fnzi_plant_change_value(t, &at, other);
  return FNZ_OK;
}

/* One of several readers sees the value before what may be a write. */
fnz_status fnzi_plant_stale(fnzi_planting *t) {
  uint64_t before;
  for (fnzi_plant_at at = {0}; fnzi_plant_next_item(t, &at);)
    if (at.arg->tag == FNZ_ARG_VALUE && fnzi_plant_before(at.g, at.arg->u.value, &before) &&
        fnzi_plant_here(t))
      return fnzi_plant_change_value(t, &at, before);
  return FNZ_OK;
}

/* All readers see the base. */
fnz_status fnzi_plant_scatter_dropped(fnzi_planting *t) {
  for (fnzi_plant_at at = {0}; fnzi_plant_next_node(t, &at);) {
    uint64_t base, value = at.n->noutputs ? at.n->outputs[0].u.value : 0;
    if (!fnzi_plant_is_scatter(at.n) || at.n->noutputs != 1 ||
        at.n->outputs[0].tag != FNZ_ARG_VALUE || !fnzi_plant_before(at.g, value, &base) ||
        !fnzi_plant_here(t))
      continue;
    fnzi_plant_replace(at.g, value, base);
    return fnzi_plant_note_node(t, at.graph, at.node, "what takes %%%s takes %%%s",
                                fnzi_plant_value_name(at.g, value),
                                fnzi_plant_value_name(at.g, base));
  }
  return FNZ_OK;
}

static bool is_commutative(const fnz_op *op) {
  static const char *const names[] = {"add",         "mul",         "maximum",     "minimum",
                                      "eq",          "ne",          "fmax",        "fmin",
                                      "logical_or",  "logical_and", "logical_xor", "bitwise_or",
                                      "bitwise_and", "bitwise_xor", "logaddexp",   "logaddexp2",
                                      "hypot",       "gcd",         "lcm"};
  size_t length = strcspn(op->name, ".");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strlen(names[i]) == length && strncmp(op->name, names[i], length) == 0)
      return true;
  return false;
}

fnz_status fnzi_plant_operands_swapped(fnzi_planting *t) {
  for (fnzi_plant_at at = {0}; fnzi_plant_next_node(t, &at);) {
    fnz_arg *a = at.n->args, *b = at.n->nargs > 1 ? &at.n->args[1] : NULL;
    if (!at.n->op || !b || a->tag != FNZ_ARG_VALUE || b->tag != FNZ_ARG_VALUE ||
        a->u.value == b->u.value || is_commutative(at.n->op) ||
        at.g->values.data[a->u.value].geometry != at.g->values.data[b->u.value].geometry ||
        !fnzi_plant_here(t))
      continue;
    const fnz_arg first = *a;
    *a = *b;
    *b = first;
    return fnzi_plant_note_node(t, at.graph, at.node, "%%%s and %%%s swapped",
                                fnzi_plant_value_name(at.g, b->u.value),
                                fnzi_plant_value_name(at.g, a->u.value));
  }
  return FNZ_OK;
}

/* --- operators ------------------------------------------------------------------------------- */
/* Operators of the same parameters: each becomes another one of its group. */
static const char *const alike[][8] = {
    {"add.Tensor", "sub.Tensor"},
    {"add.Scalar", "sub.Scalar"},
    {"mul.Tensor", "div.Tensor"},
    {"mul.Scalar", "div.Scalar"},
    {"maximum", "minimum", "fmax", "fmin"},
    {"relu", "neg", "abs", "sigmoid", "tanh", "sin", "exp"},
    {"cos", "sqrt", "rsqrt", "reciprocal", "log", "floor", "ceil", "erf"},
    {"gt.Tensor", "ge.Tensor", "lt.Tensor", "le.Tensor", "eq.Tensor", "ne.Tensor"},
    {"gt.Scalar", "ge.Scalar", "lt.Scalar", "le.Scalar", "eq.Scalar", "ne.Scalar"},
    {"bitwise_and.Tensor", "bitwise_or.Tensor", "bitwise_xor.Tensor"},
    {"logical_and", "logical_or", "logical_xor"},
    {"amax", "amin"},
    {"argmax", "argmin"},
    {"any", "all"},
    {"cummax", "cummin"},
    {"floor_divide", "remainder.Tensor"},
    {"_operator.add", "_operator.sub", "_operator.mul"},
    {"_operator.gt", "_operator.ge", "_operator.lt", "_operator.le", "_operator.eq",
     "_operator.ne"},
    {"_operator.floordiv", "_operator.mod"},
};

/* The next one in the group, NULL where there is none. */
static const char *next_alike(fnzi_planting *t, const char *name) {
  for (size_t i = 0; i < sizeof alike / sizeof *alike; i++) {
    size_t count = 0, own = SIZE_MAX;
    for (; count < 8 && alike[i][count]; count++)
      if (strcmp(alike[i][count], name) == 0)
        own = count;
    if (own != SIZE_MAX && count > 1)
      return alike[i][(own + 1 + fnzi_plant_choose(t, count - 1)) % count];
  }
  return NULL;
}

const char *fnzi_plant_other_comparison(fnzi_planting *t, const fnzi_node *n) {
  static const char *const starts[] = {"gt", "ge", "lt", "le", "eq", "ne"};
  const char *name = fnzi_node_target(n);
  const char *base = fnzi_starts_with(name, "_operator.") ? strchr(name, '.') + 1 : name;
  for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
    if (strncmp(base, starts[i], 2) == 0 && (base[2] == '.' || base[2] == '\0'))
      return next_alike(t, name);
  return NULL;
}

fnz_status fnzi_plant_operator(fnzi_planting *t) {
  for (fnzi_plant_at at = {0}; fnzi_plant_next_node(t, &at);) {
    char was[64];
    const char *name = at.n->op ? next_alike(t, at.n->op->name) : NULL;
    bool done;
    if (!name || strcmp(name, at.n->op->name) == 0 || !fnzi_plant_here(t))
      continue;
    snprintf(was, sizeof was, "%s", at.n->op->name);
    FNZ_TRY(fnzi_plant_set_operator(t, at.n, name, &done));
    return done ? fnzi_plant_note_node(t, at.graph, at.node, "it was %s", was) : FNZ_OK;
  }
  return FNZ_OK;
}

/* --- numbers --------------------------------------------------------------------------------- */
static fnz_status change_numbers(fnzi_planting *t, fnz_tag tag) {
  for (fnzi_plant_at at = {0}; fnzi_plant_next_item(t, &at);)
    if (at.arg->tag == tag && fnzi_plant_is_operand_number(&at) && fnzi_plant_here(t))
      return fnzi_plant_change_number(t, &at);
  return FNZ_OK;
}

fnz_status fnzi_plant_constant_next(fnzi_planting *t) {
  return change_numbers(t, FNZ_ARG_FLOAT);
}

fnz_status fnzi_plant_constant_one(fnzi_planting *t) {
  return change_numbers(t, FNZ_ARG_INT);
}

typedef enum int_use { INT_OF_VIEW, INT_OF_SCATTER, INT_OF_OTHERS } int_use;

static int_use use_of(const fnzi_node *n) {
  if (fnzi_plant_is_scatter(n))
    return INT_OF_SCATTER;
  return fnzi_op_is_copy(n->op) ? INT_OF_VIEW : INT_OF_OTHERS;
}

/* Dimensions, bounds, sizes and counts. */
static fnz_status change_ints(fnzi_planting *t, int_use use) {
  for (fnzi_plant_at at = {0}; fnzi_plant_next_item(t, &at);) {
    if (!at.n->op || at.arg->tag != FNZ_ARG_INT || fnzi_plant_is_operand_number(&at) ||
        use_of(at.n) != use || !fnzi_plant_here(t))
      continue;
    const int64_t was = at.arg->u.i;
    FNZ_TRY(fnzi_plant_change_number(t, &at));
    /* The end of a slice moves with its begin, so that as many elements are seen. */
    const int begin = fnzi_op_param(at.n->op, "start"), end = fnzi_op_param(at.n->op, "end");
    if ((int)at.top == begin && end >= 0 && (uint32_t)end < at.n->nargs) {
      fnz_arg *arg = &at.n->args[end];
      if (arg->tag == FNZ_ARG_INT && arg->u.i < INT64_MAX)
        arg->u.i += at.arg->u.i - was;
    }
  }
  return FNZ_OK;
}

fnz_status fnzi_plant_index(fnzi_planting *t) {
  return change_ints(t, INT_OF_VIEW);
}

fnz_status fnzi_plant_scatter_place(fnzi_planting *t) {
  return change_ints(t, INT_OF_SCATTER);
}

fnz_status fnzi_plant_attribute(fnzi_planting *t) {
  return change_ints(t, INT_OF_OTHERS);
}

fnz_status fnzi_plant_flag(fnzi_planting *t) {
  for (fnzi_plant_at at = {0}; fnzi_plant_next_item(t, &at);)
    if (at.n->op && at.arg->tag == FNZ_ARG_BOOL && fnzi_plant_here(t))
      return fnzi_plant_change_number(t, &at);
  return FNZ_OK;
}

/* --- modes ----------------------------------------------------------------------------------- */
static const char *other_mode(const char *mode) {
  static const char *const pairs[][2] = {
      {"floor", "trunc"}, {"none", "tanh"},    {"sum", "prod"},         {"mean", "sum"},
      {"amax", "amin"},   {"linear", "lower"}, {"forward", "backward"}, {"reflect", "symmetric"}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
    for (size_t k = 0; k < 2; k++)
      if (strcmp(pairs[i][k], mode) == 0)
        return pairs[i][1 - k];
  return NULL;
}

fnz_status fnzi_plant_mode(fnzi_planting *t) {
  for (fnzi_plant_at at = {0}; fnzi_plant_next_item(t, &at);) {
    const char *other = at.arg->tag == FNZ_ARG_STRING ? other_mode(at.arg->u.s) : NULL;
    if (!other || !fnzi_plant_here(t))
      continue;
    const char *was = at.arg->u.s;
    FNZ_TRY(fnzi_intern(t->p, other, strlen(other), &at.arg->u.s));
    at.arg->count = (uint32_t)strlen(other);
    return fnzi_plant_note_node(t, at.graph, at.node, "\"%s\" becomes \"%s\"", was, other);
  }
  return FNZ_OK;
}

/* --- element types --------------------------------------------------------------------------- */
static fnz_status set_dtype(fnzi_planting *t, fnzi_value *v, fnz_dtype dtype) {
  fnz_geometry other = *v->geometry;
  other.dtype = dtype;
  return fnzi_intern_geometry(t->p, &other, &v->geometry);
}

/* Casts, and other operators that take the element type of their result. */
fnz_status fnzi_plant_cast(fnzi_planting *t) {
  for (fnzi_plant_at at = {0}; fnzi_plant_next_item(t, &at);) {
    fnz_dtype was, to;
    if (at.arg->tag != FNZ_ARG_DTYPE || at.n->noutputs != 1 ||
        at.n->outputs[0].tag != FNZ_ARG_VALUE)
      continue;
    was = (fnz_dtype)at.arg->u.i;
    static const uint8_t others[FNZ_DTYPE_COUNT] = {
        [FNZ_U8] = FNZ_I8,   [FNZ_I8] = FNZ_U8,    [FNZ_I16] = FNZ_I32,  [FNZ_I32] = FNZ_I16,
        [FNZ_I64] = FNZ_I32, [FNZ_F16] = FNZ_BF16, [FNZ_BF16] = FNZ_F16, [FNZ_F32] = FNZ_F16,
        [FNZ_F64] = FNZ_F32, [FNZ_C64] = FNZ_C128, [FNZ_C128] = FNZ_C64};
    to = (fnz_dtype)others[was];
    fnzi_value *v = &at.g->values.data[at.n->outputs[0].u.value];
    if (to == FNZ_BOOL || v->geometry->dtype != was || !fnzi_plant_here(t))
      continue;
    at.arg->u.i = to;
    FNZ_TRY(set_dtype(t, v, to));
    return fnzi_plant_note_node(t, at.graph, at.node, "%s becomes %s", fnzi_dtype(was)->name,
                                fnzi_dtype(to)->name);
  }
  return FNZ_OK;
}

/* A node in front of `at`'s that casts `from`. */
static fnz_status insert_cast(fnzi_planting *t, const fnzi_plant_at *at, uint64_t from,
                              fnz_dtype dtype, uint64_t *out) {
  const fnz_op *op = fnzi_ops_find("_to_copy");
  fnzi_value seen = at->g->values.data[from];
  fnzi_node *n;
  uint32_t value;
  FNZ_TRY(set_dtype(t, &seen, dtype));
  FNZ_TRY(fnzi_plant_insert(t, at->graph, at->node, &n));
  FNZ_TRY(fnzi_value_add_fresh(t->p, at->graph, "rounded", seen.geometry, at->node, &value));
  n->op = op;
  n->nargs = op->nparams;
  n->noutputs = 1;
  FNZI_NEW(&t->p->arena, n->nargs, &n->args);
  FNZI_NEW(&t->p->arena, 1, &n->outputs);
  n->args[0] = fnzi_arg_value(from);
  n->args[1] = fnzi_arg_dtype(dtype);
  n->outputs[0] = fnzi_arg_value(value);
  *out = value;
  return FNZ_OK;
}

/* One reader gets the value as it comes back from a narrower type. */
fnz_status fnzi_plant_rounded(fnzi_planting *t) {
  for (fnzi_plant_at at = {0}; fnzi_plant_next_item(t, &at);) {
    uint64_t narrow, back;
    if (at.arg->tag != FNZ_ARG_VALUE)
      continue;
    const fnz_geometry *g = at.g->values.data[at.arg->u.value].geometry;
    if ((g->dtype != FNZ_F32 && g->dtype != FNZ_F64) || !fnzi_plant_here(t))
      continue;
    fnz_arg *arg = at.arg;
    uint64_t was = arg->u.value;
    FNZ_TRY(insert_cast(t, &at, was, FNZ_BF16, &narrow));
    at.node++;
    FNZ_TRY(insert_cast(t, &at, narrow, g->dtype, &back));
    arg->u.value = back;
    return fnzi_plant_note_node(t, at.graph, at.node + 1, "%%%s is rounded to bf16",
                                fnzi_plant_value_name(at.g, was));
  }
  return FNZ_OK;
}
