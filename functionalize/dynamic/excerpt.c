/* excerpt.c - a program of the storages that are kept.
 *
 * needs   a verified program with symbols
 * keeps   nodes that view or write a storage that is kept, and its place among inputs and outputs;
 *         inputs that say how large symbols are; symbols, ranges and guards
 * gives   a program in which every other node that takes or gives a tensor of such a storage is
 *         replaced by a call of a stand-in, an operator that computes new tensors; tensors that the
 *         node takes are read at that place */
#include "functionalize/dynamic/excerpt.h"

#include <ctype.h>
#include <stdlib.h>

static const char stand_in[] = "fnz::stand_in(Tensor[] tensors, int place) -> Tensor[]";
enum {
  LEAST_NODES = 48,  /* of a smaller program all of it can be looked at */
  MOST_DIVISOR = 32, /* by more, a quotient is the same at many usual sizes */
  SHARE = 4          /* an excerpt leaves out at least a part of so many of it */
};

typedef struct writer {
  fnzi_storages s;
  const fnzi_reach *reach;
  uint64_t symbols; /* of the excerpt in hand */
  const fnz_program *from;
  const fnzi_graph *graph; /* of `from` */
  fnz_program *to;
  const fnz_op *stand_in;
  const fnz_geometry *scalar; /* of what stand-ins give where nothing else is kept */
  uint32_t *values;           /* per value: 1 + its number in `to`; 0: it has none */
  bool *needed;               /* per value: a number that nodes take */
  struct {
    fnz_arg *data;
    fnz_output_spec *specs;
    size_t count;
  } outputs;
} writer;

/* --- whether ---------------------------------------------------------------------------------- */
/* Sums, products and quotients by small numbers are the same expressions at all sizes. An
 * expression with a breakpoint, such as Min(100, s0), needs sizes on both sides of it. An excerpt
 * would be checked at one side only. */
static bool has_turn(const char *text) {
  for (const char *at = text; *at; at++) {
    bool is_name = at > text && *at == '(' && (isalnum((unsigned char)at[-1]) || at[-1] == '_');
    bool divides = *at == '/' && at[1] == '/';
    if (is_name || strchr("%<>=!?&|", *at) || (*at == '/' && !divides))
      return true;
    at += divides ? 2 + strspn(at + 2, " ") : 0;
    if (divides && (!isdigit((unsigned char)*at) || strtol(at, NULL, 10) > MOST_DIVISOR))
      return true;
  }
  return false;
}

/* Whether an expression itself has a breakpoint; its parts are not looked at. */
static bool turns(const fnzi_expr *e, const uint8_t *settled) {
  bool whole = (e->kind != FNZI_EXPR_NUMBER && e->kind != FNZI_EXPR_SUM) || e->den == 1;
  for (uint32_t i = 0; i < e->count && e->kind == FNZI_EXPR_SUM; i++)
    whole = whole && e->parts[i].den == 1;
  if (e->kind != FNZI_EXPR_CALL)
    return !whole || e->is_real;
  const fnzi_expr *by = e->count == 2 ? e->parts[1].expr : NULL;
  bool divides = e->function == FNZI_FUNCTION_FLOOR_DIV && by && by->kind == FNZI_EXPR_NUMBER &&
                 by->den == 1 && by->num > 0 && by->num <= MOST_DIVISOR;
  return !divides && !settled[e->id];
}

static fnz_status has_turns(const fnzi_sizes *s, fnzi_arena *arena, bool *out) {
  uint8_t *settled, *parts;
  FNZ_TRY(fnzi_sizes_settled(s, arena, &settled));
  FNZI_NEW(arena, s->set.all.count, &parts);
  *out = false;
  for (size_t i = 1; i < s->program->symbols.count; i++) {
    const bool suspect = has_turn(s->program->symbols.data[i].text);
    *out = *out || (suspect && !s->symbols[i]);
    if (suspect && s->symbols[i])
      parts[s->symbols[i]->id] = true;
  }
  fnzi_mark_parts(s, s->set.all.count, parts);
  for (size_t i = 0; i < s->set.all.count && !*out; i++)
    *out = parts[i] && turns(s->set.all.data[i], settled);
  return FNZ_OK;
}

/* --- which ------------------------------------------------------------------------------------ */
/* The node itself is needed. */
static bool is_kept(const writer *w, size_t n) {
  const uint8_t role = w->s.roles[n];
  if (role == FNZI_NODE_ASSERTS)
    return !(fnzi_reach_node(w->reach, &w->graph->nodes.data[n]) & ~w->symbols);
  return (role == FNZI_NODE_VIEWS || role == FNZI_NODE_WRITES) && w->s.node_of[n] != UINT32_MAX &&
         w->s.kept[w->s.node_of[n]];
}

static bool takes_kept(const writer *w, const fnz_arg *args, size_t count) {
  FNZI_EACH_ARG(each, args, count)
    if (each.arg->tag == FNZ_ARG_VALUE && fnzi_storage_is_kept(&w->s, each.arg->u.value))
      return true;
  return false;
}

/* A stand-in takes its place. */
static bool is_met(const writer *w, size_t n) {
  const fnzi_node *node = &w->graph->nodes.data[n];
  return w->s.roles[n] != FNZI_NODE_NUMBERS && !is_kept(w, n) &&
         (takes_kept(w, node->args, node->nargs) || takes_kept(w, node->outputs, node->noutputs));
}

/* *few: the excerpts are small enough to be worth it. */
static void count_kept(const writer *w, bool *few) {
  const size_t nodes = w->graph->nodes.count;
  size_t kept = 0;
  for (size_t n = 0; n < nodes; n++)
    kept += is_kept(w, n) || is_met(w, n);
  *few = kept <= nodes - nodes / SHARE;
}

static fnz_status find_needed(writer *w) {
  FNZI_NEW(w->s.arena, w->graph->values.count, &w->values);
  FNZI_NEW(w->s.arena, w->graph->values.count, &w->needed);
  for (size_t n = 0; n < w->graph->nodes.count; n++) {
    const fnzi_node *node = &w->graph->nodes.data[n];
    FNZI_EACH_ARG(each, node->args, is_kept(w, n) ? node->nargs : 0)
      if (each.arg->tag == FNZ_ARG_SYMBOL)
        w->needed[each.arg->u.value] = true;
  }
  return FNZ_OK;
}

/* --- inputs ----------------------------------------------------------------------------------- */
static fnz_status add_value(writer *w, uint64_t value, uint32_t node) {
  const fnzi_value *v = &w->graph->values.data[value];
  const fnz_geometry *g = v->geometry;
  uint32_t made;
  if (g)
    FNZ_TRY(fnzi_intern_geometry(w->to, g, &g));
  FNZ_TRY(fnzi_value_add(w->to, 0, v->name, g, node, &made));
  fnzi_value_at(w->to, 0, made)->symbol = v->symbol;
  w->values[value] = made + 1;
  return FNZ_OK;
}

static bool is_kept_input(const writer *w, uint32_t k) {
  const fnz_arg *arg = &w->graph->inputs[k];
  return arg->tag == FNZ_ARG_VALUE && fnzi_storage_is_kept(&w->s, arg->u.value);
}

static fnz_status add_weight(writer *w, const char *target) {
  const fnzi_weight *weight = target ? fnzi_weight_find(w->from, target) : NULL;
  if (!weight || fnzi_weight_find(w->to, target))
    return FNZ_OK;
  return fnzi_weight_add(w->to, weight->name, weight->blob, weight->geometry);
}

static fnz_status add_input(writer *w, const fnz_arg *arg, const fnz_input_spec *spec, size_t k) {
  fnz_arg made = *arg;
  if (fnzi_is_reference(arg)) {
    FNZ_TRY(add_value(w, arg->u.value, FNZI_NO_NODE));
    made.u.value = w->values[arg->u.value] - 1;
  }
  fnzi_graph_at(w->to, 0)->inputs[k] = made;
  w->to->inputs[k] = *spec;
  return arg->tag == FNZ_ARG_VALUE ? add_weight(w, spec->target) : FNZ_OK;
}

/* Numbers that nodes take are inputs, however they are computed. */
static fnz_status add_numbers(writer *w, size_t *k) {
  for (uint64_t v = 0; v < w->graph->values.count; v++) {
    const fnz_arg arg = {.tag = FNZ_ARG_SYMBOL, .u.value = v};
    const fnz_input_spec user = {.kind = FNZ_INPUT_USER, .target = w->graph->values.data[v].name};
    if (w->needed[v])
      FNZ_TRY(add_input(w, &arg, &user, (*k)++));
  }
  return FNZ_OK;
}

/* Symbols themselves become such inputs too. */
static fnz_status add_symbols(writer *w, size_t *k) {
  for (size_t i = 0; i < w->reach->sizes->free.count; i++) {
    uint32_t value;
    if (!(w->symbols >> i & 1))
      continue;
    FNZ_TRY(fnzi_value_add_fresh(w->to, 0, "symbol", NULL, FNZI_NO_NODE, &value));
    fnzi_value *v = fnzi_value_at(w->to, 0, value);
    v->symbol = w->reach->names[i];
    fnzi_graph_at(w->to, 0)->inputs[*k] = (fnz_arg){.tag = FNZ_ARG_SYMBOL, .u.value = value};
    w->to->inputs[(*k)++] = (fnz_input_spec){.kind = FNZ_INPUT_USER, .target = v->name};
  }
  return FNZ_OK;
}

static fnz_status add_inputs(writer *w) {
  size_t count = 0, k = 0;
  for (uint32_t i = 0; i < w->graph->ninputs; i++)
    count += is_kept_input(w, i);
  for (size_t v = 0; v < w->graph->values.count; v++)
    count += w->needed[v];
  for (size_t i = 0; i < w->reach->sizes->free.count; i++)
    count += w->symbols >> i & 1;
  FNZ_TRY(fnzi_graph_set_inputs(w->to, 0, count));
  for (uint32_t i = 0; i < w->graph->ninputs; i++)
    if (is_kept_input(w, i))
      FNZ_TRY(add_input(w, &w->graph->inputs[i], &w->from->inputs[i], k++));
  FNZ_TRY(add_numbers(w, &k));
  return add_symbols(w, &k);
}

/* --- stand-ins -------------------------------------------------------------------------------- */
/* Values in hand of a stand-in. */
typedef struct values {
  fnz_arg *data;
  uint32_t count;
} values;

static fnz_status start_values(writer *w, const fnz_arg *args, size_t count, values *out) {
  size_t most = 1;
  FNZI_EACH_ARG(each, args, count)
    most++;
  out->count = 0;
  FNZI_NEW(&w->to->arena, most, &out->data);
  return FNZ_OK;
}

/* Tensors of storages that are kept, among arguments. */
static fnz_status see_taken(writer *w, const fnzi_node *node, values *out) {
  FNZ_TRY(start_values(w, node->args, node->nargs, out));
  FNZI_EACH_ARG(each, node->args, node->nargs)
    if (each.arg->tag == FNZ_ARG_VALUE && fnzi_storage_is_kept(&w->s, each.arg->u.value))
      out->data[out->count++] =
          (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = w->values[each.arg->u.value] - 1};
  return FNZ_OK;
}

static fnz_status append_stand_in(writer *w, const fnzi_node *like, size_t place,
                                  const values *taken, const values *given) {
  uint32_t at;
  fnzi_node node = {
      .op = w->stand_in, .source = like->source, .nargs = w->stand_in->nparams, .noutputs = 1};
  FNZI_NEW(&w->to->arena, node.nargs, &node.args);
  FNZI_NEW(&w->to->arena, 1, &node.outputs);
  node.args[0] = (fnz_arg){.tag = FNZ_ARG_LIST, .count = taken->count, .u.list = taken->data};
  node.args[1] = (fnz_arg){.tag = FNZ_ARG_INT, .u.i = (int64_t)place};
  node.outputs[0] = (fnz_arg){.tag = FNZ_ARG_LIST, .count = given->count, .u.list = given->data};
  return fnzi_node_append(w->to, 0, &node, &at);
}

static uint32_t next_node(const writer *w) {
  return (uint32_t)fnzi_graph_at(w->to, 0)->nodes.count;
}

static fnz_status add_result(writer *w, uint64_t value, values *given) {
  FNZ_TRY(add_value(w, value, next_node(w)));
  given->data[given->count++] = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = w->values[value] - 1};
  return FNZ_OK;
}

/* Reads the tensors that the node takes: the stand-in gets one more result, which the program
 * returns. */
static fnz_status add_read(writer *w, values *given) {
  uint32_t value;
  FNZ_TRY(fnzi_value_add_fresh(w->to, 0, "stand_in", w->scalar, next_node(w), &value));
  const fnz_arg arg = {.tag = FNZ_ARG_VALUE, .u.value = value};
  given->data[given->count++] = arg;
  w->outputs.specs[w->outputs.count] = (fnz_output_spec){.kind = FNZ_OUTPUT_USER};
  w->outputs.data[w->outputs.count++] = arg;
  return FNZ_OK;
}

static fnz_status stand_in_for(writer *w, const fnzi_node *node, size_t n) {
  values taken, given;
  FNZ_TRY(see_taken(w, node, &taken));
  FNZ_TRY(start_values(w, node->outputs, node->noutputs, &given));
  FNZI_EACH_ARG(each, node->outputs, node->noutputs)
    if (each.arg->tag == FNZ_ARG_VALUE && fnzi_storage_is_kept(&w->s, each.arg->u.value))
      FNZ_TRY(add_result(w, each.arg->u.value, &given));
  if (taken.count)
    FNZ_TRY(add_read(w, &given));
  return append_stand_in(w, node, n, &taken, &given);
}

/* Tensors of other storages that a node reads. */
static fnz_status stand_in_before(writer *w, const fnzi_node *node) {
  FNZI_EACH_ARG(each, node->args, node->nargs) {
    const values none = {NULL, 0};
    values given;
    if (each.arg->tag != FNZ_ARG_VALUE || w->values[each.arg->u.value])
      continue;
    FNZ_TRY(start_values(w, each.arg, 1, &given));
    FNZ_TRY(add_result(w, each.arg->u.value, &given));
    FNZ_TRY(append_stand_in(w, node, w->graph->nodes.count + each.arg->u.value, &none, &given));
  }
  return FNZ_OK;
}

/* --- nodes ------------------------------------------------------------------------------------ */
static fnz_status map_args(writer *w, const fnz_arg *args, size_t count, fnz_arg **out) {
  FNZ_TRY(fnzi_args_copy(w->to, args, count, out));
  FNZI_EACH_ARG(each, *out, count) {
    fnz_arg *arg = fnzi_each_own(&each);
    if (fnzi_is_reference(arg))
      arg->u.value = w->values[arg->u.value] - 1;
  }
  return FNZ_OK;
}

static fnz_status add_results(writer *w, const fnzi_node *node) {
  FNZI_EACH_ARG(each, node->outputs, node->noutputs)
    if (fnzi_is_reference(each.arg))
      FNZ_TRY(add_value(w, each.arg->u.value, next_node(w)));
  return FNZ_OK;
}

static fnz_status add_node(writer *w, size_t n) {
  const fnzi_node *node = &w->graph->nodes.data[n];
  fnzi_node made = *node;
  uint32_t at;
  if (is_met(w, n))
    return stand_in_for(w, node, n);
  if (!is_kept(w, n))
    return FNZ_OK;
  FNZ_TRY(stand_in_before(w, node));
  FNZ_TRY(map_args(w, node->args, node->nargs, &made.args));
  FNZ_TRY(add_results(w, node));
  FNZ_TRY(map_args(w, node->outputs, node->noutputs, &made.outputs));
  FNZ_TRY(fnzi_op_adopt(w->to, &made.op));
  return fnzi_node_append(w->to, 0, &made, &at);
}

/* --- outputs ---------------------------------------------------------------------------------- */
static fnz_status add_outputs(writer *w) {
  for (uint32_t k = 0; k < w->graph->noutputs; k++) {
    fnz_arg arg = w->graph->outputs[k];
    if (arg.tag != FNZ_ARG_VALUE || !fnzi_storage_is_kept(&w->s, arg.u.value))
      continue;
    arg.u.value = w->values[arg.u.value] - 1;
    w->outputs.specs[w->outputs.count] = w->from->outputs[k];
    w->outputs.data[w->outputs.count++] = arg;
  }
  FNZ_TRY(fnzi_graph_set_outputs(w->to, 0, w->outputs.count));
  for (size_t k = 0; k < w->outputs.count; k++) {
    fnzi_graph_at(w->to, 0)->outputs[k] = w->outputs.data[k];
    w->to->outputs[k] = w->outputs.specs[k];
  }
  return FNZ_OK;
}

/* --- the program ------------------------------------------------------------------------------ */
static fnz_status fill(writer *w) {
  const int64_t none = 0;
  const fnz_geometry scalar = {.dtype = FNZ_F32, .sizes = &none, .strides = &none};
  FNZ_TRY(fnzi_excerpt_start(w->s.ctx, w->reach, w->symbols, &w->to));
  FNZ_TRY(fnzi_custom_op_add(w->to, stand_in, &w->stand_in));
  FNZ_TRY(fnzi_intern_geometry(w->to, &scalar, &w->scalar));
  FNZI_NEW(w->s.arena, w->graph->nodes.count + w->graph->noutputs, &w->outputs.data);
  FNZI_NEW(w->s.arena, w->graph->nodes.count + w->graph->noutputs, &w->outputs.specs);
  FNZ_TRY(add_inputs(w));
  for (size_t n = 0; n < w->graph->nodes.count; n++)
    FNZ_TRY(add_node(w, n));
  FNZ_TRY(add_outputs(w));
  return fnz_program_verify(w->s.ctx, w->to);
}

/* Final values, and inputs that say that they share memory, refer to other inputs. */
static bool is_plain(const fnz_program *p) {
  for (uint32_t k = 0; k < p->graphs.data[0].noutputs; k++)
    if (!fnzi_output_is_result(&p->outputs[k]))
      return false;
  for (uint32_t k = 0; k < p->graphs.data[0].ninputs; k++)
    if (p->inputs[k].shares)
      return false;
  return p->graphs.data[0].nodes.count >= LEAST_NODES;
}

/* --- one for each choice of symbols ----------------------------------------------------------- */
/* Finds per storage the symbols that its tensors depend on, and the symbols of the nodes that view
 * or write it, with all their arguments. */
static fnz_status find_storage_symbols(const writer *w, uint64_t **out) {
  FNZI_NEW(w->s.arena, w->graph->values.count, out);
  for (uint64_t v = 0; v < w->graph->values.count; v++)
    if (fnzi_storage_is_kept(&w->s, v))
      (*out)[w->s.of[v]] |= fnzi_reach_value(w->reach, v);
  for (size_t n = 0; n < w->graph->nodes.count; n++)
    if (w->s.roles[n] != FNZI_NODE_ASSERTS && is_kept(w, n))
      (*out)[w->s.node_of[n]] |= fnzi_reach_node(w->reach, &w->graph->nodes.data[n]);
  return FNZ_OK;
}

static fnz_status add_symbols_once(fnz_context *ctx, fnzi_excerpts *list, uint64_t symbols) {
  for (size_t i = 0; i < list->count; i++)
    if (list->data[i].symbols == symbols)
      return FNZ_OK;
  if (symbols)
    FNZI_PUSH(ctx, list, (fnzi_excerpt){.symbols = symbols});
  return FNZ_OK;
}

static fnz_status find_excerpts(const writer *w, const uint64_t *symbols, fnzi_excerpts *out) {
  for (uint64_t v = 0; v < w->graph->values.count; v++)
    if (w->s.kept[v])
      FNZ_TRY(add_symbols_once(w->s.ctx, out, symbols[v]));
  for (size_t n = 0; n < w->graph->nodes.count; n++)
    if (w->s.roles[n] != FNZI_NODE_NUMBERS)
      FNZ_TRY(add_symbols_once(w->s.ctx, out, fnzi_reach_node(w->reach, &w->graph->nodes.data[n])));
  return FNZ_OK;
}

/* Keeps the storages that depend on the symbols of the excerpt. */
static fnz_status fill_excerpt(const writer *of, const uint64_t *symbols, fnzi_excerpt *e) {
  writer w = *of;
  w.symbols = e->symbols;
  FNZI_NEW(w.s.arena, w.graph->values.count, &w.s.kept);
  for (uint64_t v = 0; v < w.graph->values.count; v++)
    w.s.kept[v] = of->s.kept[v] && symbols[v] == e->symbols;
  FNZ_TRY(find_needed(&w));
  fnz_status status = fill(&w);
  e->program = w.to;
  FNZ_TRY(status);
  return fnzi_excerpt_kinds(w.s.ctx, w.reach, e->symbols, &e->kinds);
}

static fnz_status make(writer *w, fnzi_excerpts *out) {
  bool done, few, turning;
  uint64_t *symbols;
  FNZ_TRY(has_turns(w->reach->sizes, w->s.arena, &turning));
  if (turning)
    return FNZ_OK;
  FNZ_TRY(fnzi_storages_find(&w->s, w->s.ctx, w->s.arena, w->from, &done));
  if (!done)
    return FNZ_OK;
  w->symbols = UINT64_MAX;
  count_kept(w, &few);
  if (!few)
    return FNZ_OK;
  FNZ_TRY(find_storage_symbols(w, &symbols));
  FNZ_TRY(find_excerpts(w, symbols, out));
  for (size_t i = 0; i < out->count; i++)
    FNZ_TRY(fill_excerpt(w, symbols, &out->data[i]));
  return FNZ_OK;
}

fnz_status fnzi_excerpts_make(fnz_context *ctx, const fnzi_sizes *sizes, fnzi_excerpts *out) {
  fnzi_reach reach;
  writer w = {.from = sizes->program, .graph = fnzi_graph_at(sizes->program, 0), .reach = &reach};
  fnzi_arena arena;
  bool known;
  if (!is_plain(sizes->program))
    return FNZ_OK;
  fnzi_arena_init(&arena, ctx);
  w.s.ctx = ctx;
  w.s.arena = &arena;
  fnz_status status = fnzi_reach_find(&reach, sizes, &arena, &known);
  if (status == FNZ_OK && known)
    status = make(&w, out);
  fnzi_arena_free(&arena);
  return status;
}

void fnzi_excerpts_end(fnz_context *ctx, fnzi_excerpts *excerpts) {
  for (size_t i = 0; i < excerpts->count; i++) {
    fnz_program_destroy(excerpts->data[i].kinds);
    fnz_program_destroy(excerpts->data[i].program);
  }
  FNZI_VEC_FREE(ctx, excerpts);
}
