/* expand.c - replaces decomposed operators by the operators that compute them, before planning, so
 * that the intermediate values are planned too.
 *
 * needs   a functional program of fixed sizes
 * gives   a program whose operators all have kernels, and for each of its nodes the node that it
 *         comes from; nothing if no operator is decomposed. An operator that cannot be decomposed
 *         here stays, and the interpreter evaluates it
 *
 * Everything that stays is borrowed: nodes, values, arguments. */
#include "engine/steps/steps.h"
#include "functionalize/decompose/decompose.h"
#include "kernels/backends.h"
#include "program/region_ops.h"
#include "schema/aten_names.h"

#include <stdio.h>

typedef struct expander {
  fnz_context *ctx;
  fnzi_arena *arena, scratch; /* scratch: for the current node */
  const fnz_backend *kernels;
  bool for_groups; /* some kernels give way to steps that join groups */
  fnzi_dcm_options options;
  const fnzi_graph *graph;
  fnzi_graph out; /* its nodes and values */
  struct {
    uint32_t *data;
    size_t count, capacity;
  } parts;       /* per node of it: the node of `graph` */
  uint32_t node; /* the current node */
  fnzi_script script;
  fnzi_script_given given;
  fnz_arg *results; /* one by one, and how many */
  size_t nresults;
  const char *name; /* of the first result that is a tensor */
  size_t named;     /* values with that name and a number */
} expander;

/* The engine computes the operator by others. */
static bool is_decomposed(const expander *e, const fnzi_node *node) {
  const fnzi_krn_machine *m = e->kernels ? e->kernels->self : NULL;
  bool decomposed = node->op && (!fnzi_dcm_set_keeps(e->options.set, node->op) ||
                                 (e->for_groups && fnzi_dcm_is_for_groups(node->op)));
  return decomposed && !(m && m->registered.count && fnzi_krn_registered_for(m, node->op));
}

static bool has_recipe(const expander *e, const fnzi_graph *g) {
  uint64_t heads[2];
  for (size_t n = 0; n < g->nodes.count; n++)
    if (is_decomposed(e, &g->nodes.data[n]) ||
        (e->for_groups && fnzi_stp_heads_find(g, &g->nodes.data[n], heads)))
      return true;
  return false;
}

/* --- The steps of a node ---------------------------------------------------------------------- */
static fnz_status add_node(expander *e, fnzi_node node) {
  FNZI_PUSH(e->ctx, &e->parts, e->node);
  FNZI_PUSH(e->ctx, &e->out.nodes, node);
  return FNZ_OK;
}

/* Views become their copies, as everywhere in a functional program; a plan makes views of them
 * again. */
static const fnz_op *functional_of(const fnz_op *op) {
  return fnz_op_is_view(op) ? fnzi_op_by_index(op->view_copy) : op;
}

static bool returns_list(const fnz_op *op) {
  return op->nreturns == 1 && op->returns[0].is_list;
}

/* A call becomes a node. */
static fnz_status expand_add_step(void *self, const fnzi_script_call *call, fnz_arg *args,
                                  fnz_arg *results) {
  expander *e = self;
  fnzi_node node = {.op = functional_of(call->op),
                    .args = args,
                    .outputs = results,
                    .source = e->graph->nodes.data[e->node].source,
                    .nargs = (uint32_t)call->op->nparams,
                    .noutputs = call->count};
  for (uint32_t k = 0; k < call->count; k++) {
    const fnz_geometry *g = e->script.values.data[call->first + k];
    if (!g)
      results[k].tag = FNZ_ARG_NONE;
    else if (results[k].tag != FNZ_ARG_VALUE) {
      /* A value of a step has the name of a result and a number. */
      char digits[16];
      fnzi_value v = {.geometry = g, .node = e->node};
      snprintf(digits, sizeof digits, "%zu", e->named++);
      FNZ_TRY(fnzi_arena_dotted(e->arena, e->name, digits, &v.name));
      results[k] = fnzi_arg_value(e->out.values.count);
      FNZI_PUSH(e->ctx, &e->out.values, v);
    }
  }
  if (returns_list(node.op)) {
    FNZI_NEW(e->arena, 1, &node.outputs);
    *node.outputs = (fnz_arg){.tag = FNZ_ARG_LIST, .count = call->count, .u.list = results};
    node.noutputs = 1;
  }
  return add_node(e, node);
}

/* Lets calls compute the node's results directly, if strides are as recorded. A result that is an
 * argument or another result, or has other strides, is copied. *fits false: a type or size differs
 * from the recorded one. */
static fnz_status assign_results(expander *e, const fnz_geometry *const *expected, fnz_arg *values,
                                 bool *fits) {
  fnzi_script *s = &e->script;
  *fits = s->results.count == e->nresults;
  for (size_t k = 0; k < e->nresults && *fits; k++) {
    uint32_t v = s->results.data[k];
    const fnz_geometry *want = expected[k],
                       *have = v == FNZI_SCRIPT_UNDEFINED ? NULL : s->values.data[v];
    if (!want)
      continue;
    *fits = have && have->dtype == want->dtype && fnzi_same_sizes(have, want);
    if (*fits && (values[v].tag == FNZ_ARG_VALUE || !fnzi_same_strides(have, want))) {
      /* One more call; it costs nothing if nothing is written. */
      fnzi_script_call call = {&fnzi_ops[FNZI_ATEN_clone], NULL, (uint32_t)s->values.count, 1};
      const fnz_arg from = fnzi_arg_value(v);
      fnz_arg *args;
      FNZ_TRY(fnzi_args_clone(e->arena, &from, 1, call.op->nparams, &args));
      call.args = args;
      s->results.data[k] = call.first;
      FNZI_PUSH(e->ctx, &s->values, want);
      FNZI_PUSH(e->ctx, &s->calls, call);
    }
    if (*fits)
      values[s->results.data[k]] = e->results[k];
  }
  return FNZ_OK;
}

/* Adds the calls of the script. *done false: the node stays. */
static fnz_status add_steps(expander *e, const fnz_geometry *const *expected, bool *done) {
  fnz_arg *values;
  FNZI_NEW(e->arena, e->script.values.count + e->nresults, &values);
  if (e->given.count)
    memcpy(values, e->given.tensors, e->given.count * sizeof *values);
  FNZ_TRY(assign_results(e, expected, values, done));
  /* Calls can be nodes if they are of functional operators whose results are tensors, or one list
   * of them. */
  for (size_t i = 0; i < e->script.calls.count && *done; i++) {
    const fnzi_script_call *call = &e->script.calls.data[i];
    const fnz_op *op = functional_of(call->op);
    *done = op && op->kind == FNZI_KIND_FUNCTIONAL && op->nparams == call->op->nparams &&
            (returns_list(op) || op->nreturns == call->count);
  }
  return *done ? fnzi_script_play(e->arena, &e->script, values, expand_add_step, e) : FNZ_OK;
}

/* --- A node ----------------------------------------------------------------------------------- */
/* Numbers that the operator refuses, steps may take: then the node stays, and refuses them. */
static fnz_status check_numbers(const expander *e, const fnzi_script_whole *whole, bool *fits) {
  if (!whole->expected[0])
    return FNZ_OK;
  fnzi_krn_array result = {.geometry = *whole->expected[0]}, *outputs[] = {&result};
  const fnzi_krn_call call = {
      .ctx = e->ctx, .op = whole->op, .args = whole->args, .outputs = outputs, .noutputs = 1};
  const fnz_error had = e->ctx->error;
  fnz_status status = fnzi_meta_numbers_check(&call);
  *fits = status == FNZ_OK;
  e->ctx->error = had;
  return fnzi_is_final(status) ? status : FNZ_OK;
}

/* The node's arguments. *fits false: one is neither a tensor nor plain. */
static fnz_status read_args(expander *e, const fnzi_node *node, bool *fits) {
  fnzi_script_given *given = &e->given;
  FNZ_TRY(fnzi_script_given_make(&e->scratch, node->op, node->args, node->nargs, given));
  for (size_t i = 0; i < node->op->nparams; i++)
    given->args[i] = fnzi_arg_get(node->op, given->args, node->op->nparams, i);
  for (size_t i = 0; i < given->count; i++) {
    given->geometries[i] = e->graph->values.data[given->tensors[i].u.value].geometry;
    *fits = *fits && given->geometries[i];
  }
  FNZI_EACH_ARG(each, given->args, node->op->nparams) {
    uint8_t tag = each.arg->tag;
    *fits = *fits && (tag == FNZ_ARG_VALUE || !fnzi_is_reference(each.arg)) && tag != FNZ_ARG_GRAPH;
  }
  return FNZ_OK;
}

/* The node's results. *fits false: there is none. */
static fnz_status read_results(expander *e, const fnzi_node *node, fnzi_script_whole *whole,
                               bool *fits) {
  const fnz_geometry **expected;
  size_t count = 0;
  FNZI_EACH_ARG(each, node->outputs, node->noutputs)
    count++;
  FNZI_NEW(&e->scratch, count, &e->results);
  FNZI_NEW(&e->scratch, count, &expected);
  e->nresults = e->named = 0;
  e->name = NULL;
  FNZI_EACH_ARG(each, node->outputs, node->noutputs) {
    size_t k = e->nresults++;
    e->results[k] = *each.arg;
    if (each.arg->tag == FNZ_ARG_VALUE) {
      const fnzi_value *value = &e->graph->values.data[each.arg->u.value];
      e->name = e->name ? e->name : value->name;
      expected[k] = value->geometry;
    } else if (k < 64)
      whole->unread |= (uint64_t)1 << k;
  }
  whole->expected = expected;
  whole->nexpected = count;
  *fits = *fits && e->name;
  return FNZ_OK;
}

static fnz_status expand_node(expander *e, bool *done) {
  const fnzi_node *node = &e->graph->nodes.data[e->node];
  fnzi_script_whole whole = {.op = node->op};
  FNZ_TRY(read_args(e, node, done));
  FNZ_TRY(read_results(e, node, &whole, done));
  whole.args = e->given.args;
  whole.geometries = e->given.geometries;
  if (*done)
    FNZ_TRY(check_numbers(e, &whole, done));
  if (!*done)
    return FNZ_OK;
  const fnz_error had = e->ctx->error; /* what cannot be taken apart is no failure */
  fnz_status status = fnzi_dcm_is_for_groups(node->op)
                          ? fnzi_dcm_expand_for_groups(e->arena, &whole, &e->script, done)
                          : fnzi_dcm_expand(e->arena, &e->options, &whole, &e->script, done);
  if (fnzi_is_final(status))
    return status;
  e->ctx->error = had;
  if (!*done)
    return FNZ_OK;
  status = add_steps(e, whole.expected, done);
  fnzi_script_free(&e->script);
  return status;
}

/* --- A graph ---------------------------------------------------------------------------------- */
static fnz_status expand_nodes(expander *e) {
  FNZI_RESERVE(e->ctx, &e->out.values, e->graph->values.count);
  memcpy(e->out.values.data, e->graph->values.data,
         e->graph->values.count * sizeof *e->out.values.data);
  e->out.values.count = e->graph->values.count;
  bool *unread = NULL;
  if (e->for_groups)
    FNZ_TRY(fnzi_stp_heads_mark(e->arena, e->graph, &unread));
  for (e->node = 0; e->node < e->graph->nodes.count; e->node++) {
    bool done = is_decomposed(e, &e->graph->nodes.data[e->node]) || (unread && unread[e->node]);
    if (done && !(unread && unread[e->node]))
      FNZ_TRY(expand_node(e, &done));
    fnzi_arena_reset(&e->scratch);
    if (!done) {
      /* The node stays, except that an attention reads heads where they lie. */
      const fnzi_node *old = &e->graph->nodes.data[e->node];
      fnzi_node node = *old;
      uint64_t heads[2];
      if (e->for_groups && fnzi_stp_heads_find(e->graph, &node, heads))
        FNZ_TRY(fnzi_stp_heads_join(e->arena, old, heads, &node));
      FNZ_TRY(add_node(e, node));
    }
  }
  return FNZ_OK;
}

/* `from` in the arena, with its count. */
#define KEEP(e, from, to)                                                                          \
  do {                                                                                             \
    FNZI_NEW((e)->arena, (from).count, &(to)->data);                                               \
    if ((from).count)                                                                              \
      memcpy((to)->data, (from).data, (from).count * sizeof *(from).data);                         \
    (to)->count = (to)->capacity = (from).count;                                                   \
  } while (0)

static fnz_status expand_graph(expander *e, fnzi_graph *graph, const uint32_t **parts) {
  struct {
    uint32_t *data;
    size_t count, capacity;
  } kept;
  e->graph = graph;
  e->out.nodes.count = e->parts.count = e->out.values.count = 0;
  FNZ_TRY(expand_nodes(e));
  KEEP(e, e->out.nodes, &graph->nodes);
  KEEP(e, e->out.values, &graph->values);
  KEEP(e, e->parts, &kept);
  graph->source_nodes = NULL;
  *parts = kept.data;
  return FNZ_OK;
}

/* --- The program ------------------------------------------------------------------------------ */
static fnz_status expand_program(expander *e, const fnz_program *p, size_t ngraphs,
                                 fnzi_stp_expansion *out) {
  fnz_program *result;
  fnzi_graph *graphs;
  const uint32_t **parts;
  FNZI_NEW(e->arena, 1, &result);
  FNZI_NEW(e->arena, p->graphs.count, &graphs);
  FNZI_NEW(e->arena, p->graphs.count, &parts);
  memcpy(graphs, p->graphs.data, p->graphs.count * sizeof *graphs);
  for (size_t g = 0; g < ngraphs; g++)
    if (has_recipe(e, &graphs[g]))
      FNZ_TRY(expand_graph(e, &graphs[g], &parts[g]));
  *result = *p;
  result->graphs.data = graphs;
  out->program = result;
  out->parts = parts;
  return FNZ_OK;
}

fnz_status fnzi_stp_expand(fnz_context *ctx, const fnz_program *p, const fnz_backend *kernels,
                           bool on_cpu, fnzi_stp_expansion *out) {
  const fnz_decompose_options options = FNZ_DECOMPOSE_OPTIONS_INIT;
  expander e = {.ctx = ctx, .arena = &out->arena, .kernels = kernels};
  e.for_groups = on_cpu && !kernels;
  /* Whether some region is an autocast region. It casts arguments of the operators in its
   * body, and the casts for the steps of a decomposition would differ. */
  bool has_autocast = false;
  for (size_t g = 0; g < p->graphs.count && !has_autocast; g++)
    for (size_t n = 0; n < p->graphs.data[g].nodes.count && !has_autocast; n++) {
      const fnzi_node *node = &p->graphs.data[g].nodes.data[n];
      const uint8_t *roles = node->op ? NULL : fnzi_hop_roles(fnzi_node_target(node));
      has_autocast = roles && roles[0] == FNZI_HOP_AUTOCAST_DEVICE;
    }
  size_t ngraphs = has_autocast ? 1 : p->graphs.count;
  bool any = false;
  *out = (fnzi_stp_expansion){.program = NULL};
  e.options = (fnzi_dcm_options){fnzi_dcm_set_find("runnable"), &options};
  for (size_t g = 0; g < ngraphs && !any; g++)
    any = has_recipe(&e, &p->graphs.data[g]);
  if (!any)
    return FNZ_OK;
  fnzi_arena_init(&out->arena, ctx);
  fnzi_arena_init(&e.scratch, ctx);
  fnz_status status = expand_program(&e, p, ngraphs, out);
  FNZI_VEC_FREE(ctx, &e.out.nodes);
  FNZI_VEC_FREE(ctx, &e.parts);
  FNZI_VEC_FREE(ctx, &e.out.values);
  fnzi_arena_free(&e.scratch);
  if (status != FNZ_OK)
    fnzi_stp_expansion_end(out);
  return status;
}

void fnzi_stp_expansion_end(fnzi_stp_expansion *e) {
  fnzi_arena_free(&e->arena);
  *e = (fnzi_stp_expansion){.program = NULL};
}

uint32_t fnzi_stp_part_of(const uint32_t *const *parts, uint32_t graph, uint32_t node) {
  return parts && parts[graph] ? parts[graph][node] : node;
}

uint32_t fnzi_stp_whole_node(const fnzi_stp_binding *b, uint32_t node) {
  return fnzi_stp_part_of(b->parts, b->graph, b->plan.origins ? b->plan.origins[node] : node);
}

void fnzi_stp_node_text(const fnzi_stp_binding *b, uint32_t node, char out[160]) {
  fnzi_node_place(b->whole, b->graph, fnzi_stp_whole_node(b, node), out);
}
