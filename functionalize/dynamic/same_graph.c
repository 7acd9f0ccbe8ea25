/* same_graph.c - are two programs the same, perhaps except for numbers: sizes, strides, integer
 * arguments?
 *
 * needs   verified programs whose values are numbered in the order of definition
 * gives   yes or no; names and source lines do not count */
#include "functionalize/dynamic/dynamic.h"

/* Whether numbers count. */
typedef enum likeness { ALIKE, SAME } likeness;

static bool alike_geometry(const fnz_geometry *a, const fnz_geometry *b, likeness how) {
  if (!a || !b)
    return a == b;
  if (how == SAME)
    return fnzi_geometry_equal(a, b);
  return a->dtype == b->dtype && a->rank == b->rank && a->is_conj == b->is_conj &&
         a->is_neg == b->is_neg;
}

static bool is_number(uint8_t tag) {
  return tag == FNZ_ARG_INT || tag == FNZ_ARG_FLOAT || tag == FNZ_ARG_BOOL;
}

/* Floating point numbers are compared by their bits. */
static bool alike_number(const fnz_arg *a, const fnz_arg *b, likeness how) {
  if (how == SAME)
    return a->tag == b->tag && a->u.i == b->u.i;
  if (a->tag == FNZ_ARG_INT && b->tag == FNZ_ARG_INT &&
      (a->u.i == INT64_MAX) != (b->u.i == INT64_MAX))
    return false; /* it says "to the end", which no expression gives */
  return true;
}

static bool alike_item(const fnz_arg *a, const fnz_arg *b, likeness how) {
  if (is_number(a->tag) && is_number(b->tag))
    return alike_number(a, b, how);
  if (a->tag != b->tag)
    return false;
  if (fnzi_is_reference(a))
    return a->u.value == b->u.value;
  if (a->tag == FNZ_ARG_STRING || a->tag == FNZ_ARG_DEVICE || a->tag == FNZ_ARG_OPERATOR)
    return a->count == b->count && fnzi_same_text(a->u.s, b->u.s);
  if (a->tag == FNZ_ARG_DTYPE || a->tag == FNZ_ARG_LAYOUT || a->tag == FNZ_ARG_MEMORY_FORMAT ||
      a->tag == FNZ_ARG_GRAPH)
    return a->u.i == b->u.i;
  if (a->tag == FNZ_ARG_COMPLEX)
    return a->u.list[0].u.f == b->u.list[0].u.f && a->u.list[1].u.f == b->u.list[1].u.f;
  return true;
}

static bool alike_args(const fnz_arg *a, size_t na, const fnz_arg *b, size_t nb, likeness how) {
  fnzi_walk x, y;
  if (na != nb)
    return false;
  fnzi_walk_start(&x, a, na);
  fnzi_walk_start(&y, b, nb);
  for (;;) {
    fnzi_step s = fnzi_walk_next(&x), t = fnzi_walk_next(&y);
    if (s != t || (s == FNZI_STEP_ITEM && !alike_item(x.arg, y.arg, how)))
      return false;
    if (s == FNZI_STEP_END)
      return true;
    if (s == FNZI_STEP_OPEN && x.arg->count != y.arg->count)
      return false;
  }
}

/* Each program has its own copies of operators that it declares; their targets are compared too. */
static bool same_op(const fnz_op *a, const fnz_op *b) {
  return a == b || (a && b && fnzi_op_is_custom(a) && fnzi_op_is_custom(b));
}

static bool alike_node(const fnzi_node *a, const fnzi_node *b, likeness how) {
  return same_op(a->op, b->op) && fnzi_same_text(fnzi_node_target(a), fnzi_node_target(b)) &&
         alike_args(a->args, a->nargs, b->args, b->nargs, how) &&
         alike_args(a->outputs, a->noutputs, b->outputs, b->noutputs, how);
}

static bool alike_graph(const fnzi_graph *a, const fnzi_graph *b, likeness how) {
  if (a->values.count != b->values.count || a->nodes.count != b->nodes.count ||
      !alike_args(a->inputs, a->ninputs, b->inputs, b->ninputs, how) ||
      !alike_args(a->outputs, a->noutputs, b->outputs, b->noutputs, how))
    return false;
  for (size_t i = 0; i < a->values.count; i++)
    if (!alike_geometry(a->values.data[i].geometry, b->values.data[i].geometry, how))
      return false;
  for (size_t i = 0; i < a->nodes.count; i++)
    if (!alike_node(&a->nodes.data[i], &b->nodes.data[i], how))
      return false;
  return true;
}

static bool alike_signature(const fnz_program *a, const fnz_program *b, likeness how) {
  for (uint32_t k = 0; k < a->graphs.data[0].ninputs; k++)
    if (a->inputs[k].kind != b->inputs[k].kind || a->inputs[k].written != b->inputs[k].written ||
        a->inputs[k].shares != b->inputs[k].shares ||
        !fnzi_same_text(a->inputs[k].target, b->inputs[k].target))
      return false;
  for (uint32_t k = 0; k < a->graphs.data[0].noutputs; k++) {
    const fnz_output_spec *x = &a->outputs[k], *y = &b->outputs[k];
    if (x->kind != y->kind || x->metadata != y->metadata || x->set != y->set ||
        x->sharing != y->sharing || x->of != y->of || !fnzi_same_text(x->target, y->target) ||
        !alike_geometry(x->window, y->window, how))
      return false;
  }
  return a->guards.count == b->guards.count;
}

static bool compare(const fnz_program *a, const fnz_program *b, likeness how) {
  if (a->graphs.count != b->graphs.count)
    return false;
  for (size_t i = 0; i < a->graphs.count; i++)
    if (!alike_graph(&a->graphs.data[i], &b->graphs.data[i], how))
      return false;
  return alike_signature(a, b, how);
}

bool fnzi_alike(const fnz_program *a, const fnz_program *b) {
  return compare(a, b, ALIKE);
}

bool fnzi_same(const fnz_program *a, const fnz_program *b) {
  return compare(a, b, SAME);
}
