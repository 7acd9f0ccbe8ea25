/* lift.c - the results of several trials to one program with symbolic sizes.
 *
 * needs   results that are alike
 * keeps   the nodes of the first result, their order, names and lines; asserts and nodes that read
 *         numbers off tensors with the symbolic arguments and results of the source's nodes
 * gives   one program. A number that differs between trials gets an expression, and arguments get
 *         nodes that compute it, right before the node that needs it */
#include "functionalize/dynamic/lift.h"
#include "functionalize/pass/pass.h"

#include "schema/aten_names.h"

static fnzi_graph *graph_of(const fnzi_lifter *l, size_t trial) {
  return fnzi_graph_at(l->results[trial], l->graph);
}

/* --- numbers ---------------------------------------------------------------------------------- */
static bool as_integer(const fnz_arg *arg, int64_t *out) {
  *out = arg->u.i;
  if (arg->tag != FNZ_ARG_FLOAT)
    return true;
  bool fits = arg->u.f > -1e15 && arg->u.f < 1e15;
  *out = fits ? (int64_t)arg->u.f : 0;
  return fits && (double)*out == arg->u.f;
}

/* All trials have the very same number there. */
static bool is_same(const fnzi_lifter *l) {
  for (size_t k = 1; k < l->count; k++) {
    const fnz_arg *a = l->walks[0].arg, *b = l->walks[k].arg;
    if (a->tag != b->tag || memcmp(&a->u.i, &b->u.i, sizeof a->u.i) != 0)
      return false;
  }
  return true;
}

static bool all_are(const fnzi_lifter *l, fnz_tag tag) {
  for (size_t k = 0; k < l->count; k++)
    if (l->walks[k].arg->tag != tag)
      return false;
  return true;
}

/* Which branch to take, for one. */
static fnz_status lift_truth(fnzi_lifter *l, fnz_arg *arg, bool *found) {
  const fnzi_expr *e;
  for (size_t k = 0; k < l->count; k++)
    l->numbers[k] = l->walks[k].arg->u.i;
  FNZ_TRY(fnzi_fit_truths(&l->fit, l->numbers, &e));
  *found = e != NULL;
  return e ? fnzi_compute(&l->computer, e, arg) : FNZ_OK;
}

/* Lifts the number that all walks are at. */
static fnz_status lift_number(fnzi_lifter *l, const char *place, fnz_arg *arg) {
  const fnzi_expr *e;
  bool found = false, same = is_same(l);
  if (all_are(l, FNZ_ARG_FLOAT))
    FNZ_TRY(fnzi_lift_real(l, place, same, arg, &found));
  if (same)
    return FNZ_OK;
  if (all_are(l, FNZ_ARG_BOOL))
    FNZ_TRY(lift_truth(l, arg, &found));
  if (found)
    return FNZ_OK;
  for (size_t k = 0; k < l->count; k++)
    if (!as_integer(l->walks[k].arg, &l->numbers[k]))
      return fnzi_arena_format(l->arena, l->what, "%s is %g at some size",
                               fnzi_lift_place(l, place), l->walks[k].arg->u.f);
  FNZ_TRY(fnzi_lift_fit(l, place, &e));
  return e ? fnzi_compute(&l->computer, e, arg) : FNZ_OK;
}

/* --- arguments -------------------------------------------------------------------------------- */
static fnz_status symbolic_arg(fnzi_lifter *l, const fnzi_graph *graph, const fnz_arg *model,
                               fnz_arg *arg) {
  const fnzi_value *v = &graph->values.data[model->u.value];
  const fnzi_expr *e = v->symbol ? l->sizes->symbols[v->symbol] : NULL;
  if (e && arg->tag == FNZ_ARG_FLOAT)
    return fnzi_compute_real(&l->computer, e, arg);
  return e ? fnzi_compute(&l->computer, e, arg) : FNZ_OK;
}

/* An expression that the pass has carried or computed. */
static fnz_status lift_word(fnzi_lifter *l, fnz_arg *arg) {
  const fnzi_expr *e;
  if (arg->tag == FNZI_ARG_SIZE)
    FNZ_TRY(fnzi_ints_expr(l->ints, (fnzi_int){arg->u.i}, &e));
  else
    e = l->ints->set->all.data[arg->u.i];
  return arg->tag == FNZI_ARG_REAL ? fnzi_compute_real(&l->computer, e, arg)
                                   : fnzi_compute(&l->computer, e, arg);
}

/* Argument i of the lists, in place in `out`. `model`: an argument of a node of `graph` that says
 * what it was in the source, for an assert, a reading or an output; else NULL. */
static fnz_status lift_arg(fnzi_lifter *l, size_t i, const char *place, const fnzi_graph *graph,
                           const fnz_arg *model, fnz_arg *out) {
  fnzi_walk mine, theirs;
  fnzi_step step;
  fnzi_walk_start(&mine, &out[i], 1);
  fnzi_walk_start(&theirs, model, model ? 1 : 0);
  for (size_t k = 0; k < l->count; k++)
    fnzi_walk_start(&l->walks[k], &l->lists[k][i], 1);
  while ((step = fnzi_walk_next(&mine)) != FNZI_STEP_END) {
    fnz_arg *arg = (fnz_arg *)(uintptr_t)mine.arg;
    for (size_t k = 0; k < l->count; k++)
      fnzi_walk_next(&l->walks[k]);
    fnzi_step other = model ? fnzi_walk_next(&theirs) : FNZI_STEP_END;
    if (step != FNZI_STEP_ITEM)
      continue;
    if (fnzi_is_reference(arg))
      arg->u.value = l->values[arg->u.value];
    else if (fnzi_arg_is_expr(arg))
      FNZ_TRY(lift_word(l, arg));
    else if (l->ints)
      continue;
    else if (other == FNZI_STEP_ITEM && theirs.arg->tag == FNZ_ARG_SYMBOL && fnzi_arg_is_real(arg))
      FNZ_TRY(symbolic_arg(l, graph, theirs.arg, arg));
    else if (fnzi_arg_is_real(arg))
      FNZ_TRY(lift_number(l, place, arg));
  }
  return FNZ_OK;
}

/* --- values ----------------------------------------------------------------------------------- */
/* Lifts the geometries of a value. If an earlier value had the same ones in all trials, reuses its
 * lifted geometry. */
static fnz_status lift_met(fnzi_lifter *l, const fnz_geometry *const *each, fnzi_lifted *out) {
  const size_t bytes = l->count * sizeof *each;
  const bool is_own = l->given || l->by_data;
  uint64_t at;
  if (!is_own && fnzi_map_get(&l->met, each, bytes, &at)) {
    *out = l->lifted.data[at];
    return FNZ_OK;
  }
  FNZI_NEW(l->arena, FNZ_MAX_RANK, &out->exprs);
  l->unnamed = false;
  FNZ_TRY(fnzi_lift_geometry(l, each, out->exprs, &out->g));
  if (*l->what || is_own || l->unnamed)
    return FNZ_OK;
  at = l->lifted.count;
  FNZI_PUSH(l->ctx, &l->lifted, *out);
  return fnzi_map_set(&l->met, each, bytes, at);
}

static fnz_status lift_value(fnzi_lifter *l, uint64_t value, uint32_t node) {
  const fnz_geometry **each;
  fnzi_lifted lifted;
  const fnzi_value *v = &graph_of(l, 0)->values.data[value];
  uint32_t made;
  FNZI_NEW(l->arena, l->count, &each);
  for (size_t k = 0; k < l->count; k++)
    each[k] = graph_of(l, k)->values.data[value].geometry;
  l->by_data = node != FNZI_NO_NODE && fnzi_node_determines(&graph_of(l, 0)->nodes.data[v->node]);
  fnz_status status = lift_met(l, each, &lifted);
  l->by_data = false;
  FNZ_TRY(status);
  if (*l->what)
    return FNZ_OK;
  FNZ_TRY(fnzi_value_add(l->to, l->graph, v->name, lifted.g, node, &made));
  l->values[value] = made;
  for (uint32_t d = 0; lifted.g && d < lifted.g->rank; d++)
    FNZ_TRY(fnzi_computer_see(&l->computer, made, d, lifted.exprs[d]));
  return FNZ_OK;
}

static fnz_status lift_results(fnzi_lifter *l, const fnz_arg *outputs, uint32_t count,
                               uint32_t node, fnz_arg **out) {
  FNZ_TRY(fnzi_args_copy(l->to, outputs, count, out));
  FNZI_EACH_ARG(each, *out, count) {
    fnz_arg *arg = fnzi_each_own(&each);
    if (!fnzi_is_reference(arg))
      continue;
    FNZ_TRY(lift_value(l, arg->u.value, node));
    arg->u.value = l->values[arg->u.value];
  }
  return FNZ_OK;
}

/* --- asserts and readings --------------------------------------------------------------------- */
/* The source's node for a node without tensors among its results: the next one of that kind. */
static const fnzi_model *find_model(fnzi_lifter *l, const fnzi_node *node) {
  while (fnzi_is_reading(node) && l->reading < l->models.count) {
    const fnzi_model *model = &l->models.data[l->reading++];
    if (model->node->op == node->op)
      return model;
  }
  return NULL;
}

/* A number that is read off a tensor. */
static fnz_status define_readings(fnzi_lifter *l, const fnzi_model *model, uint32_t node,
                                  fnz_arg *outputs) {
  l->computer.source = model->graph; /* for their names */
  for (uint32_t i = 0; i < model->node->noutputs; i++) {
    if (model->node->outputs[i].tag != FNZ_ARG_SYMBOL)
      continue;
    const fnzi_value *v = &model->graph->values.data[model->node->outputs[i].u.value];
    const fnzi_expr *e = v->symbol ? l->sizes->symbols[v->symbol] : NULL;
    uint32_t value;
    if (!e)
      return fnzi_fail(l->ctx, FNZ_CLASS_UNSUPPORTED, v->name, "%s has no expression", v->name);
    FNZ_TRY(fnzi_computer_define(&l->computer, e, node, &value));
    outputs[i] = (fnz_arg){.tag = FNZ_ARG_SYMBOL, .u.value = value};
  }
  l->computer.source = l->source;
  return FNZ_OK;
}

/* --- nodes ------------------------------------------------------------------------------------ */
static fnz_status keep_text(fnzi_lifter *l, const char *text, const char **out) {
  *out = NULL;
  return text ? fnzi_intern(l->to, text, strlen(text), out) : FNZ_OK;
}

static fnz_status keep_arg_names(fnzi_lifter *l, const fnzi_node *node, const char *const **out) {
  const char **names;
  if (!node->u.other->arg_names)
    return FNZ_OK;
  FNZI_NEW(&l->to->arena, node->nargs, &names);
  for (uint32_t i = 0; i < node->nargs; i++)
    FNZ_TRY(keep_text(l, node->u.other->arg_names[i], &names[i]));
  *out = names;
  return FNZ_OK;
}

/* The texts of `node`, in the program that is made. */
static fnz_status keep_texts(fnzi_lifter *l, const fnzi_node *node, fnzi_node *made) {
  fnzi_node_other other = {0};
  FNZ_TRY(keep_text(l, l->computer.where, &made->source));
  if (node->op)
    return keep_text(l, node->u.metadata, &made->u.metadata);
  FNZ_TRY(keep_text(l, node->u.other->target, &other.target));
  FNZ_TRY(keep_text(l, node->u.other->metadata, &other.metadata));
  FNZ_TRY(keep_arg_names(l, node, &other.arg_names));
  return fnzi_node_keep(l->to, made, &other);
}

/* An assertion whose expression is no condition any more, as what asserts that truth is 0 or 1. */
static bool always_holds(const fnzi_node *node, const fnzi_model *model) {
  return model && node->op == &fnzi_ops[FNZI_ATEN__assert_scalar] &&
         model->node->args[0].tag == FNZ_ARG_SYMBOL && fnzi_arg_is_real(&node->args[0]) &&
         node->args[0].u.i;
}

/* The arguments of node n from the `first` on; the others stay as in the first trial. */
static fnz_status lift_args(fnzi_lifter *l, uint32_t n, uint32_t first, const fnzi_model *model,
                            fnz_arg **args) {
  const fnzi_node *node = &graph_of(l, 0)->nodes.data[n];
  fnz_status status = FNZ_OK;
  l->node = n;
  l->computer.where = node->source ? node->source : "";
  for (size_t k = 0; k < l->count; k++)
    l->lists[k] = graph_of(l, k)->nodes.data[n].args;
  l->unlabelled = fnzi_is_unlabelled(node->op);
  FNZ_TRY(fnzi_args_copy(l->to, node->args, node->nargs, args));
  for (uint32_t i = first; i < node->nargs && !*l->what && status == FNZ_OK; i++)
    status = lift_arg(l, i, NULL, model ? model->graph : NULL,
                      model && i < model->node->nargs ? &model->node->args[i] : NULL, *args);
  l->unlabelled = false;
  return status == FNZ_OK ? FNZ_OK : fnzi_at(l->ctx, status, "%s", fnzi_lift_place(l, NULL));
}

static fnz_status lift_node(fnzi_lifter *l, uint32_t n) {
  const fnzi_node *node = &graph_of(l, 0)->nodes.data[n];
  const fnzi_model *model;
  fnzi_node made = *node;
  model = find_model(l, node);
  FNZ_TRY(lift_args(l, n, 0, model, &made.args));
  if (*l->what || always_holds(&made, model))
    return FNZ_OK;
  uint32_t at = (uint32_t)fnzi_graph_at(l->to, l->graph)->nodes.count;
  FNZ_TRY(lift_results(l, node->outputs, node->noutputs, at, &made.outputs));
  if (model && !*l->what)
    FNZ_TRY(define_readings(l, model, at, made.outputs));
  if (node->op)
    FNZ_TRY(fnzi_op_adopt(l->to, &made.op));
  FNZ_TRY(keep_texts(l, node, &made));
  return fnzi_node_append(l->to, l->graph, &made, &at);
}

/* Computes the numbers of an epilogue before its first node: it is one piece, and its writes may
 * change sizes that are read. */
static fnz_status compute_ahead(fnzi_lifter *l, uint32_t start) {
  fnz_arg *unused;
  for (uint32_t n = start; n < graph_of(l, 0)->nodes.count && !*l->what; n++)
    FNZ_TRY(lift_args(l, n, 1, NULL, &unused));
  return FNZ_OK;
}

/* --- signatures ------------------------------------------------------------------------------- */
static fnz_status copy_text(fnzi_lifter *l, const char **text) {
  return *text ? fnzi_intern(l->to, *text, strlen(*text), text) : FNZ_OK;
}

/* Inputs keep their sizes: of symbols that are always equal each must be the size of one. */
static const fnz_geometry *given_input(const fnzi_lifter *l, uint32_t k) {
  const fnz_arg *arg = k < l->source->ninputs ? &l->source->inputs[k] : NULL;
  const fnz_arg *own = &graph_of(l, 0)->inputs[k];
  if (l->graph != 0 || !arg || arg->tag != FNZ_ARG_VALUE || own->tag != FNZ_ARG_VALUE)
    return NULL;
  const fnz_geometry *g = l->source->values.data[arg->u.value].geometry;
  const fnz_geometry *to = graph_of(l, 0)->values.data[own->u.value].geometry;
  return g && to && g->rank == to->rank ? g : NULL;
}

/* The source's input that input k is of, as far as numbers go. The inputs of bodies keep their
 * order; only tensors may be merged or replaced. */
static const fnz_arg *source_input(const fnzi_lifter *l, uint32_t k) {
  const fnzi_graph *g = graph_of(l, 0);
  uint32_t left = 0, i = k;
  if (l->graph != 0) {
    for (uint32_t n = 0; n < k; n++)
      left += g->inputs[n].tag != FNZ_ARG_VALUE;
    for (i = 0; i < l->source->ninputs; i++)
      if (l->source->inputs[i].tag != FNZ_ARG_VALUE && left-- == 0)
        break;
  }
  bool there = i < l->source->ninputs && (l->graph == 0 || fnzi_arg_is_real(&g->inputs[k]) ||
                                          fnzi_arg_is_expr(&g->inputs[k]));
  return there ? &l->source->inputs[i] : NULL;
}

static fnz_status lift_inputs(fnzi_lifter *l) {
  const fnzi_graph *g = graph_of(l, 0);
  FNZ_TRY(fnzi_graph_set_inputs(l->to, l->graph, g->ninputs));
  for (uint32_t k = 0; k < g->ninputs && !*l->what; k++) {
    fnz_arg arg = g->inputs[k];
    const fnz_arg *symbolic = source_input(l, k);
    fnz_input_spec spec = l->graph == 0 ? l->results[0]->inputs[k] : (fnz_input_spec){0};
    if (symbolic && symbolic->tag == FNZ_ARG_SYMBOL) {
      uint32_t value, symbol = l->source->values.data[symbolic->u.value].symbol;
      const fnzi_expr *e = symbol ? l->sizes->symbols[symbol] : NULL;
      if (!e)
        return fnzi_fail(l->ctx, FNZ_CLASS_UNSUPPORTED, NULL, "input %u has no expression", k);
      FNZ_TRY(fnzi_computer_define(&l->computer, e, FNZI_NO_NODE, &value));
      arg = (fnz_arg){.tag = FNZ_ARG_SYMBOL, .u.value = value};
      spec = l->graph == 0 ? l->from->inputs[k] : spec;
    } else if (fnzi_is_reference(&arg)) {
      l->given = given_input(l, k);
      FNZ_TRY(lift_value(l, arg.u.value, FNZI_NO_NODE));
      l->given = NULL;
      arg.u.value = l->values[arg.u.value];
    }
    fnzi_graph_at(l->to, l->graph)->inputs[k] = arg;
    if (l->graph != 0)
      continue;
    FNZ_TRY(copy_text(l, &spec.target));
    l->to->inputs[k] = spec;
  }
  return FNZ_OK;
}

static bool is_same_call(const fnz_view_call *a, const fnz_view_call *b) {
  fnzi_walk x, y;
  fnzi_step step;
  if (a->op != b->op || a->nargs != b->nargs || a->index != b->index)
    return false;
  fnzi_walk_start(&x, a->args, a->nargs);
  fnzi_walk_start(&y, b->args, b->nargs);
  while ((step = fnzi_walk_next(&x)) != FNZI_STEP_END)
    if (step != fnzi_walk_next(&y) || x.arg->tag != y.arg->tag ||
        (fnzi_arg_is_real(x.arg) && x.arg->u.i != y.arg->u.i))
      return false;
  return true;
}

static bool has_words(const fnz_view_call *call) {
  FNZI_EACH_ARG(each, call->args, call->nargs)
    if (fnzi_arg_is_expr(each.arg))
      return true;
  return false;
}

/* The calls that an output is a view by stay where they have no symbolic numbers. */
static bool has_same_views(const fnzi_lifter *l, uint32_t output) {
  const fnz_output_spec *first = &l->results[0]->outputs[output];
  for (uint32_t i = 0; i < first->nviews; i++)
    if (has_words(&first->views[i]))
      return false;
  for (size_t t = 1; t < l->count; t++) {
    const fnz_output_spec *other = &l->results[t]->outputs[output];
    if (first->nviews != other->nviews)
      return false;
    for (uint32_t i = 0; i < first->nviews; i++)
      if (!is_same_call(&first->views[i], &other->views[i]))
        return false;
  }
  return true;
}

static fnz_status lift_spec(fnzi_lifter *l, uint32_t k) {
  fnz_output_spec spec = l->results[0]->outputs[k];
  const fnz_geometry **each;
  fnz_view_call *views;
  FNZ_TRY(copy_text(l, &spec.target));
  FNZI_NEW(l->arena, l->count, &each);
  for (size_t t = 0; t < l->count; t++)
    each[t] = l->results[t]->outputs[k].window;
  FNZ_TRY(fnzi_lift_geometry(l, each, NULL, &spec.window));
  spec.nviews = has_same_views(l, k) ? spec.nviews : 0;
  FNZI_NEW(&l->to->arena, spec.nviews, &views);
  for (uint32_t i = 0; i < spec.nviews; i++) {
    fnz_arg *args;
    views[i] = spec.views[i];
    FNZ_TRY(fnzi_args_copy(l->to, views[i].args, views[i].nargs, &args));
    FNZ_TRY(fnzi_op_adopt(l->to, &views[i].op));
    views[i].args = args;
  }
  spec.views = spec.nviews ? views : NULL;
  l->to->outputs[k] = spec;
  return FNZ_OK;
}

static fnz_status lift_outputs(fnzi_lifter *l) {
  const fnzi_graph *g = graph_of(l, 0);
  fnz_arg *made;
  FNZ_TRY(fnzi_args_copy(l->to, g->outputs, g->noutputs, &made));
  for (size_t k = 0; k < l->count; k++)
    l->lists[k] = graph_of(l, k)->outputs;
  size_t own = l->source->noutputs <= g->noutputs ? l->source->noutputs : 0;
  size_t first = l->graph == 0 ? g->noutputs - own : 0; /* a body's own numbers come first */
  for (uint32_t i = 0; i < g->noutputs && !*l->what; i++) {
    const fnz_arg *model = i >= first && i < first + own ? &l->source->outputs[i - first] : NULL;
    FNZ_TRY(lift_arg(l, i, "an output", l->source, model, made));
  }
  FNZ_TRY(fnzi_graph_set_outputs(l->to, l->graph, g->noutputs));
  fnzi_graph *to = fnzi_graph_at(l->to, l->graph);
  if (g->noutputs)
    memcpy(to->outputs, made, g->noutputs * sizeof *made);
  to->returns_single = g->returns_single;
  for (uint32_t k = 0; l->graph == 0 && k < g->noutputs && !*l->what; k++)
    FNZ_TRY(lift_spec(l, k));
  return FNZ_OK;
}

/* --- graphs ----------------------------------------------------------------------------------- */
static fnz_status reserve_names(fnzi_lifter *l) {
  const fnzi_graph *g = graph_of(l, 0);
  for (size_t i = 0; i < g->values.count; i++) {
    const char *name = g->values.data[i].name;
    FNZ_TRY(fnzi_map_set(&l->computer.names, name, strlen(name), i));
  }
  return FNZ_OK;
}

static fnz_status fill_graph(fnzi_lifter *l) {
  FNZ_TRY(reserve_names(l));
  FNZ_TRY(lift_inputs(l));
  const uint32_t count = (uint32_t)graph_of(l, 0)->nodes.count,
                 start = l->graph == 0 ? fnzi_epilogue_start(l->results[0]) : count;
  for (uint32_t n = 0; n < count && !*l->what; n++) {
    if (n == start)
      FNZ_TRY(compute_ahead(l, start));
    if (!*l->what)
      FNZ_TRY(lift_node(l, n));
  }
  return *l->what ? FNZ_OK : lift_outputs(l);
}

static fnz_status lift_graph(fnzi_lifter *l, uint32_t graph) {
  uint32_t made;
  l->graph = graph;
  l->source = fnzi_graph_at(l->from, graph_of(l, 0)->source);
  FNZ_TRY(fnzi_lift_models(l));
  FNZ_TRY(fnzi_graph_add(l->to, graph_of(l, 0)->name, &made));
  FNZI_NEW(l->arena, graph_of(l, 0)->values.count, &l->values);
  fnzi_computer_start(&l->computer, l->ctx);
  l->computer.sizes = l->sizes;
  l->computer.recorded = l->recorded;
  l->computer.from = l->from;
  l->computer.to = l->to;
  l->computer.source = l->source;
  l->computer.into = graph;
  l->lifted.count = 0;
  fnzi_map_init(&l->met, l->ctx);
  fnz_status status = fill_graph(l);
  fnzi_map_free(&l->met);
  fnzi_computer_end(&l->computer);
  return status;
}

/* Conditions on sizes are the source's; what its instances have is of other kinds. */
static fnz_status lift_guards(fnzi_lifter *l) {
  for (size_t i = 0; i < l->from->guards.count; i++)
    if (l->from->guards.data[i].kind == FNZ_GUARD_CONDITION)
      FNZ_TRY(fnzi_guard_add(l->to, &l->from->guards.data[i]));
  for (size_t i = 0; i < l->results[0]->guards.count; i++)
    FNZ_TRY(fnzi_guard_add(l->to, &l->results[0]->guards.data[i]));
  return FNZ_OK;
}

static fnz_status lift_heading(fnzi_lifter *l) {
  const fnz_program *like = l->results[0];
  l->to->schema_major = l->from->schema_major;
  l->to->schema_minor = l->from->schema_minor;
  l->to->torch_version = l->from->torch_version;
  FNZ_TRY(copy_text(l, &l->to->torch_version));
  for (size_t i = 0; i < l->from->ranges.count; i++) {
    const fnzi_range *r = &l->from->ranges.data[i];
    FNZ_TRY(fnzi_range_add(l->to, r->symbol, r->min, r->max));
  }
  for (size_t i = 0; i < like->weights.count; i++) {
    const fnz_geometry *g;
    FNZ_TRY(fnzi_intern_geometry(l->to, like->weights.data[i].geometry, &g));
    FNZ_TRY(fnzi_weight_add(l->to, like->weights.data[i].name, like->weights.data[i].blob, g));
  }
  return lift_guards(l);
}

static fnz_status lift(fnzi_lifter *l) {
  FNZ_TRY(lift_heading(l));
  for (uint32_t i = 0; i < l->results[0]->graphs.count && !*l->what; i++)
    FNZ_TRY(lift_graph(l, i));
  return *l->what ? FNZ_OK : fnz_program_verify(l->ctx, l->to);
}

static fnz_status start(fnzi_lifter *l, const fnzi_trials *trials) {
  fnzi_trial **fitting;
  FNZI_NEW(l->arena, trials->count, &fitting);
  FNZI_NEW(l->arena, trials->count, &l->results);
  for (size_t i = 0; i < trials->count; i++)
    if (trials->data[i]->fits) {
      fitting[l->count] = trials->data[i];
      l->results[l->count++] = trials->data[i]->result;
    }
  FNZI_NEW(l->arena, l->results[0]->graphs.count, &l->autocast);
  FNZI_NEW(l->arena, l->count, &l->numbers);
  FNZI_NEW(l->arena, l->count, &l->lists);
  FNZI_NEW(l->arena, l->count, &l->walks);
  return fnzi_fit_start(&l->fit, l->sizes, l->arena, fitting, l->count);
}

fnz_status fnzi_lift_words(const fnzi_ints *ints, fnzi_sizes *sizes, fnzi_point *recorded,
                           const fnz_program *result, fnzi_arena *arena, fnz_program **out) {
  const char *what = NULL;
  fnzi_lifter l = {.ctx = sizes->set.ctx,
                   .sizes = sizes,
                   .recorded = recorded,
                   .arena = arena,
                   .from = sizes->program,
                   .ints = ints,
                   .results = &result,
                   .count = 1,
                   .what = &what};
  *out = NULL;
  FNZI_NEW(arena, result->graphs.count, &l.autocast);
  FNZI_NEW(arena, 1, &l.lists);
  FNZI_NEW(arena, 1, &l.walks);
  FNZ_TRY(fnzi_program_create(l.ctx, &l.to));
  fnz_status status = lift(&l);
  FNZI_VEC_FREE(l.ctx, &l.models);
  FNZI_VEC_FREE(l.ctx, &l.floats);
  FNZI_VEC_FREE(l.ctx, &l.lifted);
  if (status == FNZ_OK)
    *out = l.to;
  else
    fnz_program_destroy(l.to);
  return status;
}

fnz_status fnzi_lift(fnz_context *ctx, fnzi_sizes *sizes, fnzi_point *recorded,
                     const fnzi_trials *trials, const char **what, fnzi_arena *arena,
                     fnz_program **out) {
  fnzi_lifter l = {.ctx = ctx,
                   .sizes = sizes,
                   .recorded = recorded,
                   .arena = arena,
                   .from = sizes->program,
                   .what = what};
  *out = NULL;
  *what = NULL;
  FNZ_TRY(fnzi_program_create(ctx, &l.to));
  fnz_status status = start(&l, trials);
  if (status == FNZ_OK)
    status = lift(&l);
  fnzi_fit_end(&l.fit);
  FNZI_VEC_FREE(ctx, &l.models);
  FNZI_VEC_FREE(ctx, &l.floats);
  FNZI_VEC_FREE(ctx, &l.lifted);
  if (status == FNZ_OK && !*what)
    *out = l.to;
  else
    fnz_program_destroy(l.to);
  return status;
}
