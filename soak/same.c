/* same.c - are two programs the same, node by node and name by name? The answer equals that of a
 * comparison of their texts, without the notes beside nodes and without writing them. */
#include "soak/same.h"

static const fnzi_value *value_of(const fnz_program *p, const fnz_arg *arg) {
  return fnzi_value_at(p, 0, arg->u.value);
}

/* Neither is a list. Values are the same by their names. */
static bool same_item(const fnz_program *a, const fnz_arg *x, const fnz_program *b,
                      const fnz_arg *y) {
  if (x->tag != y->tag)
    return false;
  switch ((fnz_tag)x->tag) {
  case FNZ_ARG_VALUE:
  case FNZ_ARG_SYMBOL:
  case FNZ_ARG_TOKEN:
  case FNZ_ARG_OBJECT:
    return strcmp(value_of(a, x)->name, value_of(b, y)->name) == 0;
  case FNZ_ARG_STRING:
  case FNZ_ARG_DEVICE:
  case FNZ_ARG_OPERATOR:
    return strcmp(x->u.s, y->u.s) == 0;
  case FNZ_ARG_FLOAT:
  case FNZ_ARG_INT:
  case FNZ_ARG_BOOL:
  case FNZ_ARG_DTYPE:
  case FNZ_ARG_LAYOUT:
  case FNZ_ARG_MEMORY_FORMAT:
  case FNZ_ARG_GRAPH:
    return x->u.i == y->u.i; /* of a float its bits */
  case FNZ_ARG_DEFAULT:
  case FNZ_ARG_NONE:
  case FNZ_ARG_COMPLEX:
  case FNZ_ARG_LIST:
    break;
  }
  return x->count == y->count;
}

/* In step, lists opening and closing at the same places. */
static bool same_args(const fnz_program *a, const fnz_arg *x, const fnz_program *b,
                      const fnz_arg *y, size_t count) {
  fnzi_walk in_a, in_b;
  fnzi_walk_start(&in_a, x, count);
  fnzi_walk_start(&in_b, y, count);
  for (;;) {
    fnzi_step step = fnzi_walk_next(&in_a);
    if (step != fnzi_walk_next(&in_b))
      return false;
    if (step == FNZI_STEP_END || step == FNZI_STEP_TOO_DEEP)
      return true;
    if (step == FNZI_STEP_ITEM && !same_item(a, in_a.arg, b, in_b.arg))
      return false;
  }
}

static bool same_geometry(const fnz_geometry *a, const fnz_geometry *b) {
  return a == b || (a && b && fnzi_geometry_equal(a, b));
}

/* The types of a node's results, lists flattened. */
static bool same_results(const fnz_program *a, const fnzi_node *x, const fnz_program *b,
                         const fnzi_node *y) {
  fnzi_walk in_a, in_b;
  fnzi_walk_start(&in_a, x->outputs, x->noutputs);
  fnzi_walk_start(&in_b, y->outputs, y->noutputs);
  for (fnzi_step step; (step = fnzi_walk_next(&in_a)) != FNZI_STEP_END;) {
    if (step != fnzi_walk_next(&in_b))
      return false;
    if (step != FNZI_STEP_ITEM || in_a.arg->tag != FNZ_ARG_VALUE)
      continue;
    if (!same_geometry(value_of(a, in_a.arg)->geometry, value_of(b, in_b.arg)->geometry))
      return false;
  }
  return true;
}

static bool same_node(const fnz_program *a, const fnzi_node *x, const fnz_program *b,
                      const fnzi_node *y) {
  return x->op == y->op && x->nargs == y->nargs && x->noutputs == y->noutputs &&
         strcmp(fnzi_node_target(x), fnzi_node_target(y)) == 0 &&
         same_args(a, x->args, b, y->args, x->nargs) &&
         same_args(a, x->outputs, b, y->outputs, x->noutputs) && same_results(a, x, b, y);
}

static bool same_output(const fnz_output_spec *a, const fnz_output_spec *b) {
  return a->kind == b->kind && fnzi_same_text(a->target, b->target) && a->metadata == b->metadata &&
         a->set == b->set && a->sharing == b->sharing && a->of == b->of;
}

static bool same_signature(const fnz_program *a, const fnz_program *b) {
  const fnzi_graph *x = fnzi_graph_main(a), *y = fnzi_graph_main(b);
  if (x->ninputs != y->ninputs || x->noutputs != y->noutputs ||
      !same_args(a, x->inputs, b, y->inputs, x->ninputs) ||
      !same_args(a, x->outputs, b, y->outputs, x->noutputs))
    return false;
  for (uint32_t k = 0; k < x->ninputs; k++)
    if (a->inputs[k].kind != b->inputs[k].kind || a->inputs[k].shares != b->inputs[k].shares)
      return false;
  for (uint32_t k = 0; k < x->noutputs; k++)
    if (!same_output(&a->outputs[k], &b->outputs[k]))
      return false;
  return true;
}

bool fnzi_same_program(const fnz_program *a, const fnz_program *b, size_t *where) {
  const fnzi_graph *x = fnzi_graph_main(a), *y = fnzi_graph_main(b);
  for (*where = 0; *where < x->nodes.count && *where < y->nodes.count; ++*where)
    if (!same_node(a, &x->nodes.data[*where], b, &y->nodes.data[*where]))
      return false;
  return x->nodes.count == y->nodes.count && same_signature(a, b);
}
