/* lift.c - the result of a pass over words to a program with symbolic sizes.
 *
 * needs   the result, whose geometries and arguments hold words (program/shapes/int.h)
 * keeps   nodes, their order, names and lines; asserts and nodes that read numbers off tensors with
 *         the symbolic results of the source's nodes
 * gives   one program. Words become expressions, and arguments get nodes that compute them, right
 *         before the node that needs them */
#include "functionalize/dynamic/lift.h"
#include "functionalize/pass/pass.h"

#include "schema/aten_names.h"

static fnzi_graph *graph_of(const fnzi_lifter *l) {
  return fnzi_graph_at(l->result, l->graph);
}

/* --- arguments -------------------------------------------------------------------------------- */
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

/* In place. */
static fnz_status lift_args(fnzi_lifter *l, fnz_arg *args, uint32_t count) {
  FNZI_EACH_ARG(each, args, count) {
    fnz_arg *arg = fnzi_each_own(&each);
    if (fnzi_is_reference(arg))
      arg->u.value = l->values[arg->u.value];
    else if (fnzi_arg_is_expr(arg))
      FNZ_TRY(lift_word(l, arg));
  }
  return FNZ_OK;
}

/* --- values ----------------------------------------------------------------------------------- */

/* The word of one number. */
static fnz_status lift_number(fnzi_lifter *l, int64_t bits, const fnzi_expr **e, int64_t *number,
                              uint32_t *symbol) {
  FNZ_TRY(fnzi_ints_expr(l->ints, (fnzi_int){bits}, e));
  *number = bits;
  if ((*e)->kind == FNZI_EXPR_NUMBER)
    return FNZ_OK;
  /* The example of a number; 0 where there is none. */
  bool known;
  FNZ_TRY(fnzi_symbol_of(&l->computer, *e, symbol));
  FNZ_TRY(fnzi_point_int(l->recorded, *e, &known, number));
  *number = known && *number >= 0 ? *number : 0;
  return FNZ_OK;
}

/* `sizes`: their expressions; *out NULL where `g` is. */
static fnz_status lift_geometry(fnzi_lifter *l, const fnz_geometry *g, const fnzi_expr **sizes,
                                const fnz_geometry **out) {
  int64_t numbers[2 * FNZ_MAX_RANK];
  uint32_t symbols[2 * FNZ_MAX_RANK + 1] = {0};
  const fnzi_expr *e;
  *out = NULL;
  if (!g)
    return FNZ_OK;
  fnz_geometry made = *g;
  made.sizes = numbers;
  made.strides = numbers + g->rank;
  made.symbols = symbols;
  for (uint32_t d = 0; d < g->rank; d++) {
    FNZ_TRY(lift_number(l, g->sizes[d], &sizes[d], &numbers[d], &symbols[d]));
    FNZ_TRY(lift_number(l, g->strides[d], &e, &numbers[g->rank + d], &symbols[g->rank + d]));
  }
  FNZ_TRY(lift_number(l, g->offset, &e, &made.offset, &symbols[2 * g->rank]));
  return fnzi_intern_geometry(l->to, &made, out);
}

static fnz_status lift_value(fnzi_lifter *l, uint64_t value, uint32_t node) {
  const fnzi_value *v = &graph_of(l)->values.data[value];
  fnzi_lifted lifted;
  uint64_t at;
  uint32_t made;
  /* An earlier value may have had the same geometry. */
  if (fnzi_map_get(&l->met, &v->geometry, sizeof v->geometry, &at))
    lifted = l->lifted.data[at];
  else {
    FNZI_NEW(l->arena, FNZ_MAX_RANK, &lifted.sizes);
    FNZ_TRY(lift_geometry(l, v->geometry, lifted.sizes, &lifted.g));
    at = l->lifted.count;
    FNZI_PUSH(l->ctx, &l->lifted, lifted);
    FNZ_TRY(fnzi_map_set(&l->met, &v->geometry, sizeof v->geometry, at));
  }
  FNZ_TRY(fnzi_value_add(l->to, l->graph, v->name, lifted.g, node, &made));
  l->values[value] = made;
  for (uint32_t d = 0; lifted.g && d < lifted.g->rank; d++)
    FNZ_TRY(fnzi_computer_see(&l->computer, made, d, lifted.sizes[d]));
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

/* The texts of `node`, in the program that is made. */
static fnz_status keep_texts(fnzi_lifter *l, const fnzi_node *node, fnzi_node *made) {
  fnzi_node_other other = {0};
  FNZ_TRY(keep_text(l, l->computer.where, &made->source));
  if (node->op)
    return keep_text(l, node->u.metadata, &made->u.metadata);
  FNZ_TRY(keep_text(l, node->u.other->target, &other.target));
  FNZ_TRY(keep_text(l, node->u.other->metadata, &other.metadata));
  const char **names;
  if (node->u.other->arg_names) {
    FNZI_NEW(&l->to->arena, node->nargs, &names);
    for (uint32_t i = 0; i < node->nargs; i++)
      FNZ_TRY(keep_text(l, node->u.other->arg_names[i], &names[i]));
    other.arg_names = names;
  }
  return fnzi_node_keep(l->to, made, &other);
}

static fnz_status lift_node(fnzi_lifter *l, uint32_t n) {
  const fnzi_node *node = &graph_of(l)->nodes.data[n];
  const fnzi_model *model = find_model(l, node);
  fnzi_node made = *node;
  char place[160];
  l->computer.where = node->source ? node->source : "";
  FNZ_TRY(fnzi_args_copy(l->to, node->args, node->nargs, &made.args));
  const fnz_status status = lift_args(l, made.args, node->nargs);
  if (status != FNZ_OK) {
    fnzi_node_place(l->result, l->graph, n, place);
    return fnzi_at(l->ctx, status, "%s", place);
  }
  /* An assertion whose expression is no condition any more, as what asserts that truth is 0 or 1.
   */
  bool always_holds = model && made.op == &fnzi_ops[FNZI_ATEN__assert_scalar] &&
                      model->node->args[0].tag == FNZ_ARG_SYMBOL &&
                      fnzi_arg_is_real(&made.args[0]) && made.args[0].u.i;
  if (always_holds)
    return FNZ_OK;
  uint32_t at = (uint32_t)fnzi_graph_at(l->to, l->graph)->nodes.count;
  FNZ_TRY(fnzi_args_copy(l->to, node->outputs, node->noutputs, &made.outputs));
  FNZI_EACH_ARG(each, made.outputs, node->noutputs) {
    fnz_arg *arg = fnzi_each_own(&each);
    if (!fnzi_is_reference(arg))
      continue;
    FNZ_TRY(lift_value(l, arg->u.value, at));
    arg->u.value = l->values[arg->u.value];
  }
  if (model)
    FNZ_TRY(define_readings(l, model, at, made.outputs));
  if (node->op)
    FNZ_TRY(fnzi_op_adopt(l->to, &made.op));
  FNZ_TRY(keep_texts(l, node, &made));
  return fnzi_node_append(l->to, l->graph, &made, &at);
}

/* Computes the numbers of an epilogue before its first node: it is one piece, and its writes may
 * change sizes that are read. */
static fnz_status compute_ahead(fnzi_lifter *l, uint32_t start) {
  const fnzi_graph *g = graph_of(l);
  for (uint32_t n = start; n < g->nodes.count; n++) {
    const fnzi_node *node = &g->nodes.data[n];
    fnz_arg *unused;
    l->computer.where = node->source ? node->source : "";
    FNZ_TRY(fnzi_args_copy(l->to, node->args + 1, node->nargs - 1, &unused));
    FNZI_EACH_ARG(each, unused, node->nargs - 1)
      if (fnzi_arg_is_expr(each.arg))
        FNZ_TRY(lift_word(l, fnzi_each_own(&each)));
  }
  return FNZ_OK;
}

/* --- signatures ------------------------------------------------------------------------------- */
static fnz_status copy_text(fnzi_lifter *l, const char **text) {
  return *text ? fnzi_intern(l->to, *text, strlen(*text), text) : FNZ_OK;
}

/* The source's input that input k is of, as far as numbers go. The inputs of bodies keep their
 * order; only tensors may be merged or replaced. */
static const fnz_arg *source_input(const fnzi_lifter *l, uint32_t k) {
  const fnzi_graph *g = graph_of(l);
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
  const fnzi_graph *g = graph_of(l);
  FNZ_TRY(fnzi_graph_set_inputs(l->to, l->graph, g->ninputs));
  for (uint32_t k = 0; k < g->ninputs; k++) {
    fnz_arg arg = g->inputs[k];
    const fnz_arg *symbolic = source_input(l, k);
    fnz_input_spec spec = l->graph == 0 ? l->result->inputs[k] : (fnz_input_spec){0};
    if (symbolic && symbolic->tag == FNZ_ARG_SYMBOL) {
      uint32_t value, symbol = l->source->values.data[symbolic->u.value].symbol;
      const fnzi_expr *e = symbol ? l->sizes->symbols[symbol] : NULL;
      if (!e)
        return fnzi_fail(l->ctx, FNZ_CLASS_UNSUPPORTED, NULL, "input %u has no expression", k);
      FNZ_TRY(fnzi_computer_define(&l->computer, e, FNZI_NO_NODE, &value));
      arg = (fnz_arg){.tag = FNZ_ARG_SYMBOL, .u.value = value};
      spec = l->graph == 0 ? l->from->inputs[k] : spec;
    } else if (fnzi_is_reference(&arg)) {
      FNZ_TRY(lift_value(l, arg.u.value, FNZI_NO_NODE));
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

static fnz_status lift_spec(fnzi_lifter *l, uint32_t k) {
  fnz_output_spec spec = l->result->outputs[k];
  const fnzi_expr *sizes[FNZ_MAX_RANK];
  fnz_view_call *views;
  FNZ_TRY(copy_text(l, &spec.target));
  FNZ_TRY(lift_geometry(l, spec.window, sizes, &spec.window));
  /* The calls that an output is a view by stay if they have no symbolic numbers. */
  bool has_words = false;
  for (uint32_t i = 0; i < spec.nviews; i++)
    FNZI_EACH_ARG(each, spec.views[i].args, spec.views[i].nargs)
      has_words = has_words || fnzi_arg_is_expr(each.arg);
  spec.nviews = has_words ? 0 : spec.nviews;
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

/* --- graphs ----------------------------------------------------------------------------------- */

static fnz_status fill_graph(fnzi_lifter *l) {
  const fnzi_graph *g = graph_of(l);
  for (size_t i = 0; i < g->values.count; i++) {
    const char *name = g->values.data[i].name;
    FNZ_TRY(fnzi_map_set(&l->computer.names, name, strlen(name), i));
  }
  FNZ_TRY(lift_inputs(l));
  const uint32_t count = (uint32_t)g->nodes.count,
                 start = l->graph == 0 ? fnzi_epilogue_start(l->result) : count;
  for (uint32_t n = 0; n < count; n++) {
    if (n == start)
      FNZ_TRY(compute_ahead(l, start));
    FNZ_TRY(lift_node(l, n));
  }
  fnz_arg *made;
  FNZ_TRY(fnzi_args_copy(l->to, g->outputs, g->noutputs, &made));
  FNZ_TRY(lift_args(l, made, (uint32_t)g->noutputs));
  FNZ_TRY(fnzi_graph_set_outputs(l->to, l->graph, g->noutputs));
  fnzi_graph *to = fnzi_graph_at(l->to, l->graph);
  if (g->noutputs)
    memcpy(to->outputs, made, g->noutputs * sizeof *made);
  to->returns_single = g->returns_single;
  for (uint32_t k = 0; l->graph == 0 && k < g->noutputs; k++)
    FNZ_TRY(lift_spec(l, k));
  return FNZ_OK;
}

static fnz_status lift_graph(fnzi_lifter *l, uint32_t graph) {
  uint32_t made;
  l->graph = graph;
  l->source = fnzi_graph_at(l->from, graph_of(l)->source);
  FNZ_TRY(fnzi_lift_models(l));
  FNZ_TRY(fnzi_graph_add(l->to, graph_of(l)->name, &made));
  FNZI_NEW(l->arena, graph_of(l)->values.count, &l->values);
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

static fnz_status lift_heading(fnzi_lifter *l) {
  const fnz_program *like = l->result;
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
  /* Conditions on sizes are the source's; what its instances have is of other kinds. */
  for (size_t i = 0; i < l->from->guards.count; i++)
    if (l->from->guards.data[i].kind == FNZ_GUARD_CONDITION)
      FNZ_TRY(fnzi_guard_add(l->to, &l->from->guards.data[i]));
  for (size_t i = 0; i < l->result->guards.count; i++)
    FNZ_TRY(fnzi_guard_add(l->to, &l->result->guards.data[i]));
  return FNZ_OK;
}

fnz_status fnzi_lift_words(const fnzi_ints *ints, fnzi_sizes *sizes, fnzi_point *recorded,
                           const fnz_program *result, fnzi_arena *arena, fnz_program **out) {
  fnzi_lifter l = {.ctx = sizes->set.ctx,
                   .sizes = sizes,
                   .recorded = recorded,
                   .arena = arena,
                   .from = sizes->program,
                   .ints = ints,
                   .result = result};
  *out = NULL;
  FNZI_NEW(arena, result->graphs.count, &l.autocast);
  FNZ_TRY(fnzi_program_create(l.ctx, &l.to));
  fnz_status status = lift_heading(&l);
  for (uint32_t i = 0; i < result->graphs.count && status == FNZ_OK; i++)
    status = lift_graph(&l, i);
  if (status == FNZ_OK)
    status = fnz_program_verify(l.ctx, l.to);
  FNZI_VEC_FREE(l.ctx, &l.models);
  FNZI_VEC_FREE(l.ctx, &l.lifted);
  if (status == FNZ_OK)
    *out = l.to;
  else
    fnz_program_destroy(l.to);
  return status;
}
