/* instantiate.c - a symbolic program with numbers in place of its symbols.
 *
 * needs   a number for every symbol of a size or an argument
 * keeps   the order of nodes, names, sources, weights, signature; it borrows what it can
 * gives   a program without symbols; nodes that computed them are gone, and numbers that are read
 *         off tensors have no result, or are watched: in bodies that the pass inlines too, whose
 *         regions get further results for that */
#include "program/region_ops.h"
#include "program/shapes/computer.h"
#include "program/shapes/instantiate.h"
#include "program/shapes/ints.h"

#include "schema/aten_names.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Whether the nodes of a graph are in the program itself once the pass has inlined bodies, so that
 * the tensors that they read scalars from are watched. */
enum { HIDDEN, SHOWN, NEVER };

/* --- numbers ---------------------------------------------------------------------------------- */

static fnz_status no_number(fnzi_maker *m, const fnzi_value *v) {
  const char *text = v->symbol ? m->from->symbols.data[v->symbol].text : "";
  if (v->symbol && !m->sizes->symbols[v->symbol]) {
    /* The failure says why the text is no expression. A set of its own keeps partial expressions
     * out of the shared one. */
    const fnzi_expr *e;
    fnzi_exprs set;
    fnzi_exprs_init(&set, m->ctx);
    fnz_status status = fnzi_expr_parse(&set, text, strlen(text), &e);
    fnzi_exprs_free(&set);
    FNZ_TRY(fnzi_at(m->ctx, status, "%s", v->name));
  }
  return fnzi_fail(m->ctx, FNZ_CLASS_UNSUPPORTED, v->name,
                   "the number %s (%s) is not known from the sizes of inputs", v->name, text);
}

/* Texts of floating point constants, which are no expressions. */
static bool constant(const char *text, fnz_arg *out) {
  char *rest;
  double number = strtod(text, &rest);
  if (*rest || rest == text || !strpbrk(text, ".ein"))
    return false;
  *out = (fnz_arg){.tag = FNZ_ARG_FLOAT, .u.f = number};
  return true;
}

/* NONE when it is not known. */
static fnz_status find_number(void *user, uint64_t value, fnz_arg *out) {
  fnzi_maker *m = user;
  const fnzi_value *v = &m->graph->values.data[value];
  const fnzi_expr *e = v->symbol ? m->sizes->symbols[v->symbol] : NULL;
  fnzi_number n;
  bool known;
  double real;
  *out = (fnz_arg){.tag = FNZ_ARG_NONE};
  if (!e && v->symbol)
    constant(m->from->symbols.data[v->symbol].text, out);
  if (!e)
    return FNZ_OK;
  FNZ_TRY(fnzi_point_get(m->point, e, &n));
  FNZ_TRY(fnzi_point_real(m->point, e, &known, &real));
  if (!known)
    return FNZ_OK;
  *out = (fnz_arg){.tag = FNZ_ARG_INT, .u.i = n.num};
  if (e->is_real || n.den != 1 || m->reals[value])
    *out = (fnz_arg){.tag = FNZ_ARG_FLOAT, .u.f = real};
  else if (fnzi_expr_is_condition(e))
    out->tag = FNZ_ARG_BOOL;
  return FNZ_OK;
}

static fnz_status instantiate_number_of(fnzi_maker *m, uint64_t value, fnz_arg *out) {
  const fnzi_value *v = &m->graph->values.data[value];
  if (!m->ints) {
    FNZ_TRY(find_number(m, value, out));
    return out->tag == FNZ_ARG_NONE ? no_number(m, v) : FNZ_OK;
  }
  /* The expression of a value as an argument: a literal where it is a number. */
  const fnzi_expr *e = v->symbol ? m->sizes->symbols[v->symbol] : NULL;
  *out = (fnz_arg){.tag = FNZ_ARG_NONE};
  if (!e && v->symbol)
    constant(m->from->symbols.data[v->symbol].text, out);
  if (!e)
    return out->tag == FNZ_ARG_NONE ? no_number(m, v) : FNZ_OK;
  const bool is_truth = fnzi_expr_is_condition(e);
  FNZ_TRY(fnzi_ints_plain(m->ints, e, &e));
  if (is_truth && e->kind == FNZI_EXPR_NUMBER)
    *out = (fnz_arg){.tag = FNZ_ARG_BOOL, .u.i = e->num};
  else if (e->kind == FNZI_EXPR_REAL)
    *out = (fnz_arg){.tag = FNZ_ARG_FLOAT, .u.f = e->real};
  else if (e->kind == FNZI_EXPR_NUMBER && (m->reals[value] || e->den != 1))
    *out = (fnz_arg){.tag = FNZ_ARG_FLOAT, .u.f = (double)e->num / (double)e->den};
  else if (e->kind == FNZI_EXPR_NUMBER)
    *out = fnzi_arg_int(e->num);
  else if (e->is_real || m->reals[value])
    *out = (fnz_arg){.tag = FNZI_ARG_REAL, .u.i = e->id};
  else if (is_truth)
    *out = (fnz_arg){.tag = FNZI_ARG_TRUTH, .u.i = e->id};
  else {
    fnzi_int word;
    FNZ_TRY(fnzi_ints_settled(m->ints, e, &word));
    *out = fnzi_arg_of_int(word);
  }
  return FNZ_OK;
}

/* --- arguments -------------------------------------------------------------------------------- */
bool fnzi_is_unlabelled(const fnz_op *op) {
  return !op || fnzi_op_is_sizing(op);
}

fnz_status fnzi_maker_number(fnzi_maker *m, uint64_t value, bool labels, fnz_arg *out) {
  FNZ_TRY(instantiate_number_of(m, value, out));
  if (labels && !m->ints) {
    /* A comparison over hashes has to see which expression a float is, not its value. */
    uint32_t symbol = m->graph->values.data[value].symbol;
    const fnzi_expr *e = symbol ? m->sizes->symbols[symbol] : NULL;
    bool literal = e && (e->kind == FNZI_EXPR_NUMBER || e->kind == FNZI_EXPR_REAL);
    if (out->tag == FNZ_ARG_FLOAT && e && !literal)
      FNZ_TRY(fnzi_point_label(m->point, e, out->u.f, &out->u.f));
  }
  return FNZ_OK;
}

/* Lists in lists by fnzi_args_copy(), whose copies are ours to change. */
static fnz_status map_args(fnzi_maker *m, const fnz_arg *args, size_t count, fnz_arg **out) {
  FNZ_TRY(fnzi_args_copy(m->to, args, count, out));
  FNZI_EACH_ARG(each, *out, count) {
    fnz_arg *arg = (fnz_arg *)(uintptr_t)each.arg;
    if (arg->tag == FNZ_ARG_SYMBOL) {
      const fnzi_moving moving = {
          .kind = FNZI_MOVING_ARG, .labels = m->labels, .value = arg->u.value, .arg = arg};
      FNZ_TRY(fnzi_instance_note(m, moving, NULL));
      FNZ_TRY(fnzi_maker_number(m, moving.value, m->labels, arg));
    } else if (fnzi_is_reference(arg))
      arg->u.value = m->values[arg->u.value];
  }
  return FNZ_OK;
}

/* --- values ----------------------------------------------------------------------------------- */
/* The geometry with numbers, or words, in place of symbols; NULL where one is not known. */
static fnz_status place(fnzi_maker *m, const fnz_geometry *g, const fnz_geometry **out) {
  return m->ints ? fnzi_ints_geometry(m->ints, g, &m->to->arena, out)
                 : fnzi_sizes_geometry(m->sizes, m->point, g, &m->to->arena, out);
}

static fnz_status add_value(fnzi_maker *m, uint64_t value, uint32_t node) {
  const fnzi_value *v = &m->graph->values.data[value];
  const fnz_geometry *g;
  uint32_t made;
  FNZ_TRY(place(m, v->geometry, &g));
  if (v->geometry && !g)
    return fnzi_fail(m->ctx, FNZ_CLASS_UNSUPPORTED, v->name,
                     "the sizes of %s are not known from those of the inputs", v->name);
  if (v->geometry && v->geometry->symbols)
    FNZ_TRY(fnzi_intern_geometry(m->to, g, &g));
  FNZ_TRY(fnzi_value_add(m->to, m->into, v->name, g, node, &made));
  m->values[value] = made;
  return fnzi_instance_note(m, (fnzi_moving){.kind = FNZI_MOVING_VALUE, .at = made}, v->geometry);
}

/* Results of a node: symbols are nothing any more. */
static fnz_status instantiate_define(fnzi_maker *m, const fnz_arg *outputs, uint32_t count,
                                     uint32_t node, fnz_arg **out) {
  FNZ_TRY(fnzi_args_copy(m->to, outputs, count, out));
  FNZI_EACH_ARG(each, *out, count) {
    fnz_arg *arg = (fnz_arg *)(uintptr_t)each.arg;
    if (!fnzi_is_reference(arg))
      continue;
    if (arg->tag == FNZ_ARG_SYMBOL) {
      *arg = (fnz_arg){.tag = FNZ_ARG_NONE};
      continue;
    }
    FNZ_TRY(add_value(m, arg->u.value, node));
    arg->u.value = m->values[arg->u.value];
  }
  return FNZ_OK;
}

/* --- nodes ------------------------------------------------------------------------------------ */
bool fnzi_determines_used(const fnzi_sizes *s, const fnzi_graph *g, const fnzi_node *node) {
  if (node->op != &fnzi_ops[FNZI_ATEN_sym_size__int] || node->noutputs != 1 ||
      node->args[0].tag != FNZ_ARG_VALUE || node->outputs[0].tag != FNZ_ARG_SYMBOL)
    return false;
  uint32_t symbol = g->values.data[node->outputs[0].u.value].symbol;
  const fnzi_expr *e = symbol ? s->symbols[symbol] : NULL;
  return e && fnzi_is_data_symbol(e) && s->asked[e->id];
}

static bool takes_real(const fnzi_maker *m, const fnzi_node *node) {
  for (uint32_t i = 0; i < node->nargs; i++) {
    const fnz_arg *arg = &node->args[i];
    if (arg->tag == FNZ_ARG_FLOAT || (arg->tag == FNZ_ARG_SYMBOL && m->reals[arg->u.value]))
      return true;
  }
  return false;
}

/* A number that is recorded otherwise than its operator gives it: the file contradicts itself.
 * Expressions are exact, so what is computed in floating point numbers may differ a little. */
fnz_status fnzi_maker_check_number(fnzi_maker *m, const fnzi_node *node) {
  fnz_arg made, recorded;
  uint64_t value = node->outputs[0].u.value;
  const fnzi_value *v = &m->graph->values.data[value];
  /* A size of a tensor, or how many elements it has. */
  bool done = fnzi_asks_size(node->op) && node->args[0].tag == FNZ_ARG_VALUE;
  if (done) {
    uint64_t tensor = m->values[node->args[0].u.value];
    const fnz_geometry *g = fnzi_graph_at(m->to, m->into)->values.data[tensor].geometry;
    made = (fnz_arg){.tag = FNZ_ARG_INT};
    FNZ_TRY(fnzi_at(m->ctx, fnzi_size_asked(m->ctx, node, g, find_number, m, &made.u.i), "%s",
                    v->name));
  } else
    FNZ_TRY(fnzi_arithmetic(m->ctx, node, find_number, m, &made, &done));
  if (!done)
    return FNZ_OK;
  m->reals[value] = made.tag == FNZ_ARG_FLOAT;
  FNZ_TRY(find_number(m, value, &recorded));
  bool whole = made.tag != FNZ_ARG_FLOAT && recorded.tag != FNZ_ARG_FLOAT && !takes_real(m, node);
  if (!whole || recorded.tag == FNZ_ARG_NONE || made.tag == FNZ_ARG_NONE ||
      made.u.i == recorded.u.i)
    return FNZ_OK;
  return fnzi_fail(m->ctx, FNZ_CLASS_TYPE, v->name,
                   "%s gives %lld, but its recorded value %s is %lld there; export the program "
                   "again",
                   fnzi_node_target(node), (long long)made.u.i,
                   m->from->symbols.data[v->symbol].text, (long long)recorded.u.i);
}

/* The tensor that a number is read off, as an output of its own. */
static fnz_status watch(fnzi_maker *m, const fnzi_node *node) {
  const fnz_op *clone = fnzi_ops_find("clone");
  const fnzi_value *read = &m->graph->values.data[node->args[0].u.value];
  const char *name;
  uint32_t value, at;
  const fnz_geometry *g;
  fnz_arg *args, *results;
  FNZ_TRY(fnzi_sizes_geometry(m->sizes, m->point, read->geometry, &m->to->arena, &g));
  FNZ_TRY(fnzi_arena_format(&m->to->arena, &name, "read_%s",
                            m->graph->values.data[node->outputs[0].u.value].name));
  FNZI_NEW(&m->to->arena, clone->nparams, &args);
  FNZI_NEW(&m->to->arena, 1, &results);
  args[0] = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = m->values[node->args[0].u.value]};
  at = (uint32_t)fnzi_graph_at(m->to, m->into)->nodes.count;
  FNZ_TRY(fnzi_intern_geometry(m->to, g, &g));
  FNZ_TRY(fnzi_value_add_fresh(m->to, m->into, name, g, at, &value));
  results[0] = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = value};
  FNZI_PUSH(m->ctx, &m->watched, results[0]);
  fnzi_node made = {.op = clone,
                    .args = args,
                    .outputs = results,
                    .source = node->source,
                    .nargs = (uint32_t)clone->nparams,
                    .noutputs = 1};
  return fnzi_node_append(m->to, m->into, &made, &at);
}

/* Watched values of the body of `node` become further results of the region `made`. */
static fnz_status add_results(fnzi_maker *m, const fnzi_node *node, uint32_t at, fnzi_node *made) {
  fnzi_hop hop;
  if (m->readings != FNZI_READINGS_WATCHED || !fnzi_is_hop(node) || !fnzi_hop_is_known(node))
    return FNZ_OK;
  FNZ_TRY(fnzi_hop_read(m->ctx, m->from, node, &hop));
  if (hop.nbodies == 0 || m->shows[hop.bodies[0]] != SHOWN)
    return FNZ_OK;
  const fnzi_graph *body = fnzi_graph_at(m->to, hop.bodies[0]);
  bool listed = hop.results.args != node->outputs;
  fnz_arg *list, *results = made->outputs;
  uint32_t own = hop.results.count;
  FNZI_NEW(&m->to->arena, body->noutputs, &list);
  for (uint32_t i = 0; i < own; i++)
    list[i] = listed ? results[0].u.list[i] : results[i];
  for (uint32_t i = own; i < body->noutputs; i++) {
    /* One more result of a region, for one more output of its body. */
    const fnzi_value *of = &body->values.data[body->outputs[i].u.value];
    uint32_t value;
    FNZ_TRY(fnzi_value_add_fresh(m->to, m->into, of->name, of->geometry, at, &value));
    list[i] = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = value};
    if (m->shows[m->into] == SHOWN)
      FNZI_PUSH(m->ctx, &m->watched, list[i]);
  }
  if (listed) {
    results[0].u.list = list;
    results[0].count = body->noutputs;
    return FNZ_OK;
  }
  made->outputs = list;
  made->noutputs = body->noutputs;
  return FNZ_OK;
}

static fnz_status add_node(fnzi_maker *m, const fnzi_node *node) {
  fnzi_node made = *node;
  uint32_t at = (uint32_t)fnzi_graph_at(m->to, m->into)->nodes.count;
  bool kept =
      m->readings != FNZI_READINGS_WATCHED && fnzi_determines_used(m->sizes, m->graph, node);
  if (fnzi_is_size_node(node) && !kept) {
    FNZ_TRY(fnzi_instance_note(m, (fnzi_moving){.kind = FNZI_MOVING_NODE, .node = node}, NULL));
    if (!m->ints)
      return fnzi_maker_check_number(m, node);
    if (node->noutputs == 1 && node->outputs[0].tag == FNZ_ARG_SYMBOL) {
      /* Is it a floating point number? */
      const char *target = fnzi_node_target(node);
      const bool rounds = strncmp(target, "math.", 5) == 0 || strcmp(target, "torch.sym_int") == 0;
      const uint64_t value = node->outputs[0].u.value;
      const uint32_t symbol = m->graph->values.data[value].symbol;
      const fnzi_expr *e = symbol ? m->sizes->symbols[symbol] : NULL;
      m->reals[value] = fnzi_makes_double(target) ||
                        (!rounds && takes_real(m, node) && !(e && fnzi_expr_is_condition(e)));
    }
    return FNZ_OK;
  }
  /* The node gives numbers and does nothing else. */
  bool only_reads = fnzi_shapes_gives_numbers(node) && node->op &&
                    node->op->kind == FNZI_KIND_FUNCTIONAL && node->nargs &&
                    node->args[0].tag == FNZ_ARG_VALUE;
  if (only_reads && m->readings == FNZI_READINGS_WATCHED && m->shows[m->into] == SHOWN)
    return watch(m, node);
  m->labels = m->readings != FNZI_READINGS_RUN && !fnzi_is_unlabelled(node->op);
  fnz_status status = map_args(m, node->args, node->nargs, &made.args);
  m->labels = false;
  FNZ_TRY(status);
  bool is_held_assertion = node->op == &fnzi_ops[FNZI_ATEN__assert_scalar] && node->nargs &&
                           node->args[0].tag == FNZ_ARG_SYMBOL && fnzi_arg_is_real(&made.args[0]) &&
                           made.args[0].u.i;
  if (m->readings == FNZI_READINGS_RUN && is_held_assertion)
    return FNZ_OK;
  FNZ_TRY(instantiate_define(m, node->outputs, node->noutputs, at, &made.outputs));
  FNZ_TRY(add_results(m, node, at, &made));
  return fnzi_node_append(m->to, m->into, &made, &at);
}

/* --- graphs ----------------------------------------------------------------------------------- */
static fnz_status add_inputs(fnzi_maker *m) {
  fnzi_graph *g;
  FNZ_TRY(fnzi_graph_set_inputs(m->to, m->into, m->graph->ninputs));
  for (uint32_t k = 0; k < m->graph->ninputs; k++) {
    fnz_arg arg = m->graph->inputs[k];
    fnz_input_spec spec = m->into == 0 ? m->from->inputs[k] : (fnz_input_spec){0};
    if (arg.tag == FNZ_ARG_SYMBOL) {
      const fnzi_moving moving = {.kind = FNZI_MOVING_ARG,
                                  .value = arg.u.value,
                                  .arg = &fnzi_graph_at(m->to, m->into)->inputs[k]};
      FNZ_TRY(fnzi_instance_note(m, moving, NULL));
      FNZ_TRY(instantiate_number_of(m, arg.u.value, &arg));
      spec.kind = FNZ_INPUT_LITERAL;
    } else if (fnzi_is_reference(&arg)) {
      FNZ_TRY(add_value(m, arg.u.value, FNZI_NO_NODE));
      arg.u.value = m->values[arg.u.value];
    }
    g = fnzi_graph_at(m->to, m->into);
    g->inputs[k] = arg;
    if (m->into == 0)
      m->to->inputs[k] = spec;
  }
  return FNZ_OK;
}

static fnz_status add_outputs(fnzi_maker *m) {
  size_t own = m->graph->noutputs, count = own + m->watched.count;
  fnz_arg *mapped;
  FNZ_TRY(fnzi_graph_set_outputs(m->to, m->into, count));
  FNZ_TRY(map_args(m, m->graph->outputs, own, &mapped));
  fnzi_graph *g = fnzi_graph_at(m->to, m->into);
  fnzi_instance_moved_args(m, mapped, own, g->outputs);
  for (size_t k = 0; k < count; k++) {
    g->outputs[k] = k < own ? mapped[k] : m->watched.data[k - own];
    if (m->into == 0 && k < own) {
      /* The window of an output gets its numbers. */
      fnz_output_spec spec = m->from->outputs[k];
      if (spec.window && spec.window->symbols) {
        const fnz_geometry *placed;
        FNZ_TRY(place(m, spec.window, &placed));
        if (!placed)
          return fnzi_fail(m->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                           "the sizes of output %zu are not known", k);
        FNZ_TRY(fnzi_intern_geometry(m->to, placed, &spec.window));
      }
      m->to->outputs[k] = spec;
      FNZ_TRY(fnzi_instance_note(m, (fnzi_moving){.kind = FNZI_MOVING_WINDOW, .at = k},
                                 m->from->outputs[k].window));
    } else if (m->into == 0)
      m->to->outputs[k] = (fnz_output_spec){.kind = FNZ_OUTPUT_USER};
  }
  m->watched.count = 0;
  return FNZ_OK;
}

/* Marks the bodies that a node of graph `g` calls. */
static fnz_status see_call(fnzi_maker *m, uint32_t g, const fnzi_node *node) {
  fnzi_hop hop;
  if (!fnzi_is_hop(node) || !fnzi_hop_is_known(node))
    return FNZ_OK;
  FNZ_TRY(fnzi_hop_read(m->ctx, m->from, node, &hop));
  bool is_call = hop.kind == FNZI_HOP_CALL;
  bool shows = m->shows[g] == SHOWN && fnzi_hop_is_inlined(&hop, false);
  for (uint32_t i = 0; i < hop.nbodies; i++) {
    uint8_t *body = &m->shows[hop.bodies[i]];
    if (!is_call)
      *body = NEVER;
    else if (shows && *body == HIDDEN)
      *body = SHOWN;
  }
  return FNZ_OK;
}

static fnz_status add_heading(fnzi_maker *m) {
  m->to->torch_version = m->from->torch_version;
  m->to->schema_major = m->from->schema_major;
  m->to->schema_minor = m->from->schema_minor;
  for (size_t i = 0; i < m->from->weights.count; i++) {
    const fnzi_weight *w = &m->from->weights.data[i];
    FNZ_TRY(fnzi_weight_add(m->to, w->name, w->blob, w->geometry));
  }
  for (size_t i = 0; i < m->from->custom_ops.count; i++) {
    const fnz_op *op = m->from->custom_ops.data[i];
    FNZ_TRY(fnzi_op_adopt(m->to, &op));
  }
  for (size_t i = 0; i < m->from->guards.count; i++)
    if (m->from->guards.data[i].kind != FNZ_GUARD_CONDITION)
      FNZ_TRY(fnzi_guard_add(m->to, &m->from->guards.data[i]));
  return FNZ_OK;
}

static fnz_status make(fnzi_maker *m) {
  FNZ_TRY(add_heading(m));
  /* Graphs come before the bodies that they call. A body that is called otherwise too takes no
   * further outputs. */
  FNZI_NEW(&m->to->arena, m->from->graphs.count, &m->shows);
  m->shows[0] = SHOWN;
  for (uint32_t g = 0; g < m->from->graphs.count; g++) {
    const fnzi_graph *graph = &m->from->graphs.data[g];
    for (size_t n = 0; n < graph->nodes.count; n++)
      FNZ_TRY(see_call(m, g, &graph->nodes.data[n]));
  }
  for (uint32_t i = 0; i < m->from->graphs.count; i++)
    FNZ_TRY(fnzi_graph_add(m->to, m->from->graphs.data[i].name, &m->into));
  for (uint32_t i = (uint32_t)m->from->graphs.count; i-- > 0;) { /* bodies before their callers */
    m->graph = fnzi_graph_at(m->from, i);
    m->into = i;
    FNZI_NEW(&m->to->arena, m->graph->values.count, &m->values);
    FNZI_NEW(&m->to->arena, m->graph->values.count, &m->reals);
    FNZ_TRY(fnzi_instance_note_graph(m));
    FNZ_TRY(add_inputs(m));
    for (size_t n = 0; n < m->graph->nodes.count; n++)
      FNZ_TRY(add_node(m, &m->graph->nodes.data[n]));
    fnzi_graph_at(m->to, i)->returns_single = m->graph->returns_single && !m->watched.count;
    FNZ_TRY(add_outputs(m));
  }
  return m->ints ? FNZ_OK : fnz_program_verify(m->ctx, m->to);
}

fnz_status fnzi_maker_run(fnzi_maker *m) {
  FNZ_TRY(fnzi_program_create(m->ctx, &m->to));
  m->to->instantiated = true;
  m->to->ints = m->ints;
  m->to->says_no_sharing = m->from->says_no_sharing;
  fnz_status status = make(m);
  FNZI_VEC_FREE(m->ctx, &m->watched);
  return status;
}

fnz_status fnzi_instantiate_words(fnzi_ints *ints, fnz_program **out) {
  fnzi_maker m = {.ctx = ints->set->ctx,
                  .sizes = ints->sizes,
                  .readings = FNZI_READINGS_KEPT,
                  .from = ints->sizes->program,
                  .ints = ints};
  fnz_status status = fnzi_maker_run(&m);
  *out = status == FNZ_OK ? m.to : NULL;
  if (status != FNZ_OK)
    fnz_program_destroy(m.to);
  return status;
}

fnz_status fnzi_instantiate(const fnzi_sizes *sizes, fnzi_point *point, fnzi_readings readings,
                            fnz_program **out) {
  fnzi_maker m = {.ctx = sizes->set.ctx,
                  .sizes = sizes,
                  .point = point,
                  .readings = readings,
                  .from = sizes->program};
  fnz_status status = fnzi_maker_run(&m);
  *out = status == FNZ_OK ? m.to : NULL;
  if (status != FNZ_OK)
    fnz_program_destroy(m.to);
  return status;
}
