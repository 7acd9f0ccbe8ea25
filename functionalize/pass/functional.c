/* functional.c - whether a program is functional already, in the wanted form. Then a pass would
 * only make the same nodes again, and look for the expressions of symbolic sizes anew.
 *
 * needs   a verified program
 * gives   true when no operator writes or may return memory of an argument (views may stay in the
 *         keep dialect), bodies return memory of their own, and the signature names the memory of
 *         each output that is not new. Nodes at the end that write inputs, or windows of inputs,
 *         are an epilogue, when one is wanted */
#include "functionalize/pass/pass.h"

#include "functionalize/recorder/recorder.h"
#include "program/region_ops.h"
#include "views/composites.h"

typedef struct looking {
  fnz_context *ctx;
  const fnz_program *p;
  fnz_views views;
  uint32_t epilogue; /* its first node */
  fnzi_arena scratch;
} looking;

/* --- Operators -------------------------------------------------------------------------------- */
/* batch_norm and its like write their running statistics in training, undeclared. */
static bool writes_statistics(const fnzi_node *node) {
  enum { MEAN = 3, TRAINING = 5 };
  fnz_arg mean = fnzi_arg_get(node->op, node->args, node->nargs, MEAN),
          training = fnzi_arg_get(node->op, node->args, node->nargs, TRAINING);
  return mean.tag == FNZ_ARG_VALUE && !(training.tag == FNZ_ARG_BOOL && training.u.i == 0);
}

/* Whether self is row-major. An operator that addresses memory is right only for such a value. With
 * symbolic sizes this checks the example; dynamic/tried.c checks a few other sizes. */
static bool lies_in_rows(const fnzi_graph *g, const fnzi_node *node) {
  const fnz_geometry *self =
      node->args[0].tag == FNZ_ARG_VALUE ? g->values.data[node->args[0].u.value].geometry : NULL;
  return self && self->offset == 0 && fnzi_is_contiguous(self);
}

bool fnzi_pass_reads_rows(const fnz_program *program) {
  bool all = true;
  for (uint32_t i = 0; i < program->graphs.count; i++) {
    const fnzi_graph *g = fnzi_graph_at(program, i);
    for (size_t n = 0; n < g->nodes.count && all; n++)
      all = !g->nodes.data[n].op || !fnzi_wrap_is_by_memory(g->nodes.data[n].op) ||
            lies_in_rows(g, &g->nodes.data[n]);
  }
  return all;
}

/* Whether it aliases depends on its arguments; *out: it computes a new value of these. */
static fnz_status is_kept(looking *l, const fnzi_graph *g, const fnzi_node *node,
                          const fnzi_composite_row *row, bool *out) {
  fnzi_resolution r;
  const fnz_geometry **tensors;
  size_t most = 0, count = 0;
  *out = false;
  if (!fnzi_composite_describe(row).kept)
    return FNZ_OK;
  FNZI_EACH_ARG(each, node->args, node->nargs)
    most += each.arg->tag == FNZ_ARG_VALUE;
  FNZI_NEW(&l->scratch, most, &tensors);
  FNZI_EACH_ARG(each, node->args, node->nargs)
    if (each.arg->tag == FNZ_ARG_VALUE)
      tensors[count++] = g->values.data[each.arg->u.value].geometry;
  const fnzi_op_call call = {node->op, node->args, node->nargs};
  FNZ_TRY(
      fnzi_composite_resolve((fnzi_int_space){NULL, &l->scratch}, row, &call, tensors, count, &r));
  *out = r.keep;
  return FNZ_OK;
}

static fnz_status is_pure(looking *l, const fnzi_graph *g, const fnzi_node *node, bool *out) {
  const fnzi_wrap_route route = fnzi_wrap_route_find(node->op);
  switch (route.action) {
  case FNZI_ACTION_FUNCTIONAL:
    *out = !route.by_memory || lies_in_rows(g, node);
    return FNZ_OK;
  case FNZI_ACTION_VIEW:
    *out = l->views == FNZ_VIEWS_KEEP &&
           (!fnzi_view_counts_from_storage(fnzi_view_find(node->op)) || lies_in_rows(g, node));
    return FNZ_OK;
  case FNZI_ACTION_COMPOSITE:
    return is_kept(l, g, node, route.composite, out);
  case FNZI_ACTION_WRITE:
    *out = (route.mutation == FNZI_MUTATION_BATCH_NORM ||
            route.mutation == FNZI_MUTATION_INSTANCE_NORM) &&
           !writes_statistics(node);
    return FNZ_OK;
  default:
    *out = false;
    return FNZ_OK;
  }
}

/* --- Nodes without an operator ---------------------------------------------------------------- */
static fnz_status is_functional_node(looking *l, const fnzi_graph *g, const fnzi_node *node,
                                     bool *out) {
  if (node->op)
    return is_pure(l, g, node, out);
  if (fnzi_is_hop(node)) {
    /* Regions that only say how their nodes are to be run disappear; the others stay. */
    fnzi_hop hop;
    *out = false;
    if (!fnzi_hop_is_known(node))
      return FNZ_OK;
    FNZ_TRY(fnzi_hop_read(l->ctx, l->p, node, &hop));
    *out = hop.kind == FNZI_HOP_EFFECT ? fnzi_hop_is_plain_effect(&hop) : hop.kind != FNZI_HOP_CALL;
    return FNZ_OK;
  }
  bool all = true;
  for (uint32_t i = 0; i < node->noutputs; i++)
    all = all && node->outputs[i].tag == FNZ_ARG_SYMBOL;
  *out = all;
  return FNZ_OK;
}

/* --- Nodes that a pass would leave out -------------------------------------------------------- */
/* Numbers cost nothing. `used`: per value. */
static bool functional_is_needed(const fnzi_node *node, const bool *used) {
  FNZI_EACH_ARG(each, node->outputs, node->noutputs)
    if (fnzi_is_reference(each.arg) && used[each.arg->u.value])
      return true;
  return node->op ? fnzi_rec_is_kept_unused(node->op, node->noutputs) : !fnzi_is_hop(node);
}

/* A copy with the layout of its source that is not memory that the graph returns. */
static bool is_idle(const looking *l, const fnzi_graph *g, const fnzi_node *node,
                    const bool *returned) {
  bool copies = l->views == FNZ_VIEWS_COPY && node->op &&
                (node->op == fnzi_emitted_op(FNZI_EMIT_CLONE) ||
                 node->op == fnzi_emitted_op(FNZI_EMIT_TO_COPY));
  if (!copies || node->args[0].tag != FNZ_ARG_VALUE || node->outputs[0].tag != FNZ_ARG_VALUE)
    return false;
  const fnz_geometry *from = g->values.data[node->args[0].u.value].geometry,
                     *to = g->values.data[node->outputs[0].u.value].geometry;
  return from == to && !returned[node->outputs[0].u.value];
}

/* --- What graphs return ----------------------------------------------------------------------- */
/* Memory of its own, or named; no result of the epilogue, which is an input that it has written, or
 * a window of one. */
static fnz_status are_own(looking *l, uint32_t graph, bool *out) {
  const fnzi_graph *g = fnzi_graph_at(l->p, graph);
  bool *seen;
  FNZI_NEW(&l->scratch, g->values.count, &seen);
  for (uint32_t k = 0; k < g->noutputs && *out; k++) {
    if (g->outputs[k].tag != FNZ_ARG_VALUE)
      continue;
    uint64_t memory = fnzi_value_memory(l->p, graph, g->outputs[k].u.value);
    uint32_t node = g->values.data[g->outputs[k].u.value].node;
    bool is_new = g->values.data[memory].node != FNZI_NO_NODE && !seen[memory];
    /* The signature names the memory of this output. */
    const fnz_output_spec *spec = graph == 0 ? &l->p->outputs[k] : NULL;
    *out = (spec &&
            (!fnzi_output_is_result(spec) || spec->sharing != FNZ_SHARING_NEW || spec->window)) ||
           is_new;
    *out = *out && (graph != 0 || node == FNZI_NO_NODE || node < l->epilogue);
    seen[memory] = true;
  }
  return FNZ_OK;
}

/* Inputs that an epilogue writes share no memory with others that are used: by a guard, or because
 * all of them are declared to lie in one memory. */
static fnz_status is_guarded(looking *l, bool *out) {
  const fnzi_graph *g = fnzi_graph_main(l->p);
  uint32_t memory = UINT32_MAX;
  bool *used, one = true;
  *out = l->epilogue == g->nodes.count;
  for (size_t k = 0; k < l->p->guards.count; k++)
    *out = *out || l->p->guards.data[k].kind == FNZ_GUARD_DISJOINT;
  FNZI_NEW(&l->scratch, g->values.count, &used);
  fnzi_graph_uses(g, used);
  for (uint32_t k = 0; k < g->ninputs; k++) {
    if (g->inputs[k].tag != FNZ_ARG_VALUE || l->p->inputs[k].kind != FNZ_INPUT_USER ||
        !used[g->inputs[k].u.value])
      continue;
    one = one && (memory == UINT32_MAX || memory == fnzi_memory_of(l->p, k));
    memory = fnzi_memory_of(l->p, k);
  }
  *out = *out || one;
  return FNZ_OK;
}

/* --- What the epilogue writes ----------------------------------------------------------------- */
/* No value that it writes or that the graph returns is in an input that was written before: the
 * pass would copy such a value first. */
static fnz_status are_saved(looking *l, bool *out) {
  const fnzi_graph *g = fnzi_graph_main(l->p);
  bool *written;
  FNZI_NEW(&l->scratch, g->values.count, &written);
  for (size_t n = l->epilogue; n < g->nodes.count && *out; n++) {
    const fnzi_node *node = &g->nodes.data[n];
    if (node->op != fnzi_emitted_op(FNZI_EMIT_COPY_INPLACE))
      continue;
    written[fnzi_value_memory(l->p, 0, node->args[0].u.value)] = true;
    if (node->args[1].tag == FNZ_ARG_VALUE)
      *out = !written[fnzi_value_memory(l->p, 0, node->args[1].u.value)];
  }
  for (uint32_t k = 0; k < g->noutputs && *out; k++)
    if (g->outputs[k].tag == FNZ_ARG_VALUE && fnzi_output_is_result(&l->p->outputs[k]))
      *out = !written[fnzi_value_memory(l->p, 0, g->outputs[k].u.value)];
  return FNZ_OK;
}

static fnz_status look(looking *l, bool *out) {
  FNZ_TRY(is_guarded(l, out));
  if (*out)
    FNZ_TRY(are_saved(l, out));
  for (uint32_t i = 0; i < l->p->graphs.count && *out; i++) {
    const fnzi_graph *g = fnzi_graph_at(l->p, i);
    const size_t end = i == 0 ? l->epilogue : g->nodes.count;
    for (size_t n = 0; n < end && *out; n++)
      FNZ_TRY(is_functional_node(l, g, &g->nodes.data[n], out));
    if (!*out)
      return FNZ_OK;
    bool *used, *returned;
    FNZI_NEW(&l->scratch, g->values.count, &used);
    FNZI_NEW(&l->scratch, g->values.count, &returned);
    fnzi_graph_uses(g, used);
    for (uint32_t k = 0; k < g->noutputs; k++)
      if (g->outputs[k].tag == FNZ_ARG_VALUE)
        returned[fnzi_value_memory(l->p, i, g->outputs[k].u.value)] = true;
    for (size_t n = 0; n < end && *out; n++)
      *out = functional_is_needed(&g->nodes.data[n], used) &&
             !is_idle(l, g, &g->nodes.data[n], returned);
    if (*out)
      FNZ_TRY(are_own(l, i, out));
  }
  return FNZ_OK;
}

fnz_status fnzi_pass_is_functional(fnz_context *ctx, const fnz_program *program,
                                   const fnz_functionalize_options *asked, bool *out) {
  looking l = {.ctx = ctx, .p = program, .views = asked->views};
  l.epilogue = asked->state == FNZ_STATE_EPILOGUE ? fnzi_epilogue_start(program)
                                                  : (uint32_t)fnzi_graph_main(program)->nodes.count;
  fnzi_arena_init(&l.scratch, ctx);
  const fnz_status status = look(&l, out);
  fnzi_arena_free(&l.scratch);
  *out = *out && status == FNZ_OK;
  return fnzi_is_final(status) ? status : FNZ_OK;
}
