/* bodies_left.c - finds nodes with bodies that are left to the interpreter, and why. A node is left
 * if an operand or result of it, or of a node in its bodies, is no tensor of fixed sizes. */
#include "engine/plan/bodies.h"
#include "run/autocast.h"

/* Returns the argument as a tensor of fixed sizes; NULL: it is none. */
static const fnz_geometry *fixed_tensor_of(const fnzi_graph *g, const fnz_arg *arg) {
  const fnz_geometry *found = fnzi_pln_tensor(g, arg);
  return found && !found->symbols ? found : NULL;
}

static bool is_placed(const fnzi_pln_plan *plan, const fnz_arg *arg) {
  return fixed_tensor_of(fnzi_graph_main(plan->program), arg) &&
         fnzi_pln_has_memory(plan, plan->locations[arg->u.value]);
}

static bool are_placed(const fnzi_pln_plan *plan, fnzi_operands operands) {
  for (uint32_t i = 0; i < operands.count; i++)
    if (!is_placed(plan, &operands.args[i]))
      return false;
  return true;
}

static const char *body_refuses(const fnzi_graph *g) {
  static const char numbers[] = "its body has numbers that are no constants";
  for (size_t v = 0; v < g->values.count; v++) {
    const fnz_geometry *of = g->values.data[v].geometry;
    if (g->values.data[v].symbol || (of && of->symbols))
      return numbers;
  }
  for (uint32_t k = 0; k < g->ninputs; k++)
    if (!fixed_tensor_of(g, &g->inputs[k]))
      return "its body takes what is no tensor";
  for (uint32_t k = 0; k < g->noutputs; k++)
    if (!fixed_tensor_of(g, &g->outputs[k]))
      return "its body gives what is no tensor";
  for (size_t n = 0; n < g->nodes.count; n++) {
    const fnzi_node *node = &g->nodes.data[n];
    bool has_number = node->op ? fnzi_op_is_item(node->op) : !fnzi_hop_is_known(node);
    FNZI_EACH_ARG(each, node->args, node->nargs)
      has_number = has_number || (fnzi_is_reference(each.arg) && each.arg->tag != FNZ_ARG_VALUE);
    if (has_number)
      return numbers;
    if (node->op && fnz_op_is_mutating(node->op))
      return "its body writes an argument";
  }
  return NULL;
}

/* Returns whether the value can be a truth value. A u64 may exceed int64_t, and the interpreter
 * rejects such values. */
static bool is_truth(const fnz_geometry *g) {
  const unsigned char cells[16] = {0};
  fnz_arg number;
  return g && g->dtype != FNZ_U64 && fnz_geometry_numel(g) == 1 &&
         fnzi_run_decode_number(g->dtype, cells, &number);
}

/* Says that a slice of `of` has the type and sizes of `slice`. */
static bool is_slice(const fnz_geometry *slice, const fnz_geometry *of) {
  bool same = slice->dtype == of->dtype && of->rank == slice->rank + 1;
  for (uint32_t d = 0; same && d < slice->rank; d++)
    same = slice->sizes[d] == of->sizes[d + 1];
  return same;
}

bool fnzi_pln_is_stacked(const fnzi_pln_region *r, uint32_t j) {
  return r->hop.xs.count && j >= r->hop.carried.count;
}

static bool returns_results(const fnzi_pln_plan *plan, const fnzi_pln_region *r,
                            const fnzi_graph *body) {
  bool fits = body->noutputs == r->hop.results.count;
  for (uint32_t j = 0; fits && j < body->noutputs; j++) {
    const fnz_arg *arg = &r->hop.results.args[j];
    const fnz_geometry *from = fixed_tensor_of(body, &body->outputs[j]);
    if (j < r->hop.carried.count)
      fits = fnzi_pln_same_kind(
          from, fixed_tensor_of(fnzi_graph_main(plan->program), &r->hop.carried.args[j]));
    if (r->hop.kind == FNZI_HOP_ASSOCIATIVE_SCAN)
      fits = fits && j < r->hop.xs.count &&
             fnzi_pln_same_kind(from, fixed_tensor_of(body, &body->inputs[j]));
    if (!fits || arg->tag == FNZ_ARG_NONE)
      continue;
    fits = is_placed(plan, arg);
    const fnz_geometry *to = fixed_tensor_of(fnzi_graph_main(plan->program), arg);
    fits = fits && (fnzi_pln_is_stacked(r, j) ? is_slice(from, to) : fnzi_pln_same_kind(from, to));
  }
  return fits;
}

/* Finds the count of iterations from the operands. Returns false if they differ. */
static bool count_iterations(const fnzi_pln_plan *plan, fnzi_pln_region *r) {
  for (uint32_t i = 0; i < r->hop.xs.count; i++) {
    const fnz_geometry *g = fixed_tensor_of(fnzi_graph_main(plan->program), &r->hop.xs.args[i]);
    if (g->rank == 0 || g->sizes[0] == 0 || (i && g->sizes[0] != r->iterations))
      return false;
    r->iterations = g->sizes[0];
  }
  bool goes = r->hop.kind == FNZI_HOP_MAP || r->hop.kind == FNZI_HOP_SCAN ||
              r->hop.kind == FNZI_HOP_ASSOCIATIVE_SCAN;
  return !goes || r->hop.xs.count;
}

const char *fnzi_pln_left_why(const fnz_program *program, const fnzi_pln_plan *plan,
                              fnzi_pln_region *r) {
  const fnzi_hop *hop = &r->hop;
  if (hop->kind == FNZI_HOP_EFFECT)
    return "its operator has effects";
  if (fnzi_run_autocast_dtype(hop, FNZ_DTYPE_COUNT) != FNZ_DTYPE_COUNT)
    return "its body is under autocast";
  if (!are_placed(plan, hop->carried) || !are_placed(plan, hop->xs) ||
      !are_placed(plan, hop->captured))
    return "it is given what is no tensor of fixed sizes";
  if (hop->kind == FNZI_HOP_COND && hop->pred->tag != FNZ_ARG_BOOL &&
      !(is_placed(plan, hop->pred) &&
        is_truth(fixed_tensor_of(fnzi_graph_main(plan->program), hop->pred))))
    return "its predicate is no tensor of one number";
  if (!count_iterations(plan, r))
    return "it goes along nothing";
  for (uint32_t i = 0; i < hop->nbodies; i++) {
    const fnzi_graph *body = fnzi_graph_at(program, hop->bodies[i]);
    const char *why = body_refuses(body);
    bool asks = hop->kind == FNZI_HOP_WHILE_LOOP && i == 0;
    if (why)
      return why;
    bool fits = body->ninputs == fnzi_hop_input_count(hop);
    for (uint32_t k = 0; fits && k < body->ninputs; k++) {
      bool sliced;
      const fnz_geometry *from =
          fixed_tensor_of(fnzi_graph_main(plan->program), fnzi_hop_operand(hop, k, &sliced));
      const fnz_geometry *to = fixed_tensor_of(body, &body->inputs[k]);
      fits = sliced ? is_slice(to, from) : fnzi_pln_same_kind(to, from);
    }
    if (!fits)
      return "its body takes other operands than it is given";
    if (asks && (body->noutputs != 1 || !is_truth(fixed_tensor_of(body, &body->outputs[0]))))
      return "its condition is no tensor of one number";
    if (!asks && !returns_results(plan, r, body))
      return "its body gives other results than it has";
  }
  return NULL;
}
