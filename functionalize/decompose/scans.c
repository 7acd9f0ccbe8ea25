/* scans.c - scan, map and associative_scan as loops, for sets that have while_loop alone; branches
 * as choices, for sets that have no regions.
 *
 *   %a, %y = scan(@f, [%c], [%x], [%w])  becomes
 *   %i, %a, %y = while_loop(@f_more, @f_turn, [0, %c, zeros], [%x, %w])
 *
 * @f_more says whether i is less than the size of %x. @f_turn takes slice i of %x, runs @f, and
 * writes what is to be stacked into row i of %y. An associative scan carries what it stacks: it
 * begins in iteration 1 with slice 0, and combines from the left.
 *
 *   %y = cond(%p, @f, @g, [%x])  becomes  %y = where.self(%p, @f(%x), @g(%x))
 *
 * unless a branch refuses, draws or counts something, or reads at places: both of them run.
 *
 * needs   a functional program, which the pass replays afterwards: that puts the nodes of @f in
 *         place of the call
 * keeps   the values of each graph, and their numbers
 * gives   a copy without such nodes, except nodes whose operands are no tensors or whose sizes no
 *         operand has */
#include "functionalize/decompose/decompose.h"
#include "program/region_ops.h"

#include <stdio.h>

typedef struct looper {
  fnz_context *ctx;
  fnz_program *p;
  fnzi_arena scratch;  /* of the node in hand */
  uint32_t graph;      /* that gets nodes */
  const char *source;  /* of the node in hand */
  fnzi_dcm_loops what; /* that is rewritten */
  fnzi_hop hop;
  uint32_t ncarried, nstacks;
  bool combines; /* it is an associative scan */
  struct {
    uint32_t *data;
    size_t count, capacity;
  } owners; /* per new graph: the body that it is for, before which it must stand */
  struct {
    fnzi_source_node *data;
    size_t count, capacity;
  } sources; /* per node of a graph of the source that was rewritten: where it comes from */
} looper;

/* --- geometries ------------------------------------------------------------------------------- */
static const fnz_geometry *geometry_at(const looper *l, uint32_t graph, const fnz_arg *arg) {
  return fnzi_value_at(l->p, graph, arg->u.value)->geometry;
}

/* One slice of a tensor along its first dimension, which stays with a size of 1 for `as_row`. */
static fnz_status slice_geometry(looper *l, const fnz_geometry *whole, bool as_row,
                                 const fnz_geometry **out) {
  int64_t sizes[FNZ_MAX_RANK] = {1}, strides[FNZ_MAX_RANK];
  uint32_t symbols[2 * FNZ_MAX_RANK + 1] = {0};
  fnz_geometry g = {.dtype = whole->dtype, .rank = whole->rank - !as_row, .sizes = sizes};
  for (uint32_t d = 1; d < whole->rank; d++) {
    sizes[d - !as_row] = whole->sizes[d];
    symbols[d - !as_row] = whole->symbols ? whole->symbols[d] : 0;
    g.symbols = symbols[d - !as_row] ? symbols : g.symbols;
  }
  fnzi_contiguous_strides(sizes, g.rank, strides);
  g.strides = strides;
  return fnzi_intern_geometry(l->p, &g, out);
}

static fnz_status number_geometry(looper *l, fnz_dtype dtype, uint32_t rank,
                                  const fnz_geometry **out) {
  static const int64_t one = 1;
  const fnz_geometry g = {.dtype = dtype, .rank = rank, .sizes = &one, .strides = &one};
  return fnzi_intern_geometry(l->p, &g, out);
}

/* --- nodes ------------------------------------------------------------------------------------ */
static fnz_arg list_of(const fnz_arg *items, size_t count) {
  return (fnz_arg){.tag = FNZ_ARG_LIST, .count = (uint32_t)count, .u.list = items};
}

static fnz_arg graph_arg(uint32_t graph) {
  return (fnz_arg){.tag = FNZ_ARG_GRAPH, .u.i = graph};
}

/* A result of the node that comes next. */
static fnz_status add_result(looper *l, const char *stem, const fnz_geometry *g, fnz_arg *out) {
  uint32_t value, node = (uint32_t)fnzi_graph_at(l->p, l->graph)->nodes.count;
  FNZ_TRY(fnzi_value_add_fresh(l->p, l->graph, stem, g, node, &value));
  *out = fnzi_arg_value(value);
  return FNZ_OK;
}

/* A call of an operator that gives one tensor, with the first of its arguments. */
static fnz_status add_call(looper *l, size_t op, const fnz_arg *args, size_t nargs,
                           const fnz_geometry *g, fnz_arg *out) {
  fnzi_node node = {.op = &fnzi_ops[op], .outputs = out, .noutputs = 1, .source = l->source};
  uint32_t index;
  node.nargs = (uint32_t)node.op->nparams;
  FNZI_NEW(&l->scratch, node.nargs, &node.args);
  memcpy(node.args, args, nargs * sizeof *args);
  FNZ_TRY(add_result(l, node.op->base, g, out));
  return fnzi_node_add(l->p, l->graph, &node, &index);
}
#define ADD_CALL(out, geometry, op, ...)                                                           \
  FNZ_TRY(add_call(l, FNZI_ATEN_##op, (const fnz_arg[]){__VA_ARGS__},                              \
                   sizeof((const fnz_arg[]){__VA_ARGS__}) / sizeof(fnz_arg), geometry, out))

static fnz_status add_region(looper *l, const char *target, fnz_arg *args, size_t nargs,
                             fnz_arg *outputs, size_t noutputs) {
  const fnzi_node_other other = {.target = target};
  fnzi_node node = {.args = args, .outputs = outputs, .source = l->source, .u.other = &other};
  uint32_t index;
  node.nargs = (uint32_t)nargs;
  node.noutputs = (uint32_t)noutputs;
  return fnzi_node_add(l->p, l->graph, &node, &index);
}

/* A size as an argument: a number, or what sym_size gives. */
static fnz_status add_size(looper *l, const fnz_arg *tensor, uint32_t dim, fnz_arg *out) {
  const fnz_geometry *g = geometry_at(l, l->graph, tensor);
  fnz_arg args[] = {*tensor, fnzi_arg_int(dim)};
  fnzi_node node = {.args = args, .outputs = out, .nargs = 2, .noutputs = 1, .source = l->source};
  uint32_t index;
  *out = fnzi_arg_int(g->sizes[dim]);
  if (!g->symbols || !g->symbols[dim])
    return FNZ_OK;
  node.op = &fnzi_ops[FNZI_ATEN_sym_size__int];
  FNZ_TRY(add_result(l, "sym_size", NULL, out));
  out->tag = FNZ_ARG_SYMBOL;
  fnzi_value_at(l->p, l->graph, out->u.value)->symbol = g->symbols[dim];
  fnzi_value_at(l->p, l->graph, out->u.value)->number = FNZ_ARG_INT;
  return fnzi_node_add(l->p, l->graph, &node, &index);
}

/* --- may it become a loop --------------------------------------------------------------------- */
static bool are_tensors(const fnz_arg *args, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (args[i].tag != FNZ_ARG_VALUE)
      return false;
  return true;
}

static bool are_plain(const fnz_arg *args, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (args[i].tag == FNZ_ARG_TOKEN || args[i].tag == FNZ_ARG_OBJECT ||
        args[i].tag == FNZ_ARG_NONE)
      return false;
  return true;
}

/* The operand that has a dimension of this symbolic size. */
static bool find_size(const looper *l, uint32_t graph, uint32_t symbol, fnz_arg *tensor,
                      uint32_t *dim) {
  bool sliced;
  for (uint32_t k = 0; k < fnzi_hop_input_count(&l->hop); k++) {
    const fnz_arg *operand = fnzi_hop_operand(&l->hop, k, &sliced);
    const fnz_geometry *g = operand->tag == FNZ_ARG_VALUE ? geometry_at(l, graph, operand) : NULL;
    for (uint32_t d = 0; g && g->symbols && d < g->rank; d++)
      if (g->symbols[d] == symbol) {
        *tensor = *operand;
        *dim = d;
        return true;
      }
  }
  return false;
}

static bool has_sizes(const looper *l, uint32_t graph) {
  fnz_arg tensor;
  uint32_t dim;
  for (uint32_t k = l->ncarried; !l->combines && k < l->hop.results.count; k++) {
    const fnz_geometry *g = geometry_at(l, graph, &l->hop.results.args[k]);
    for (uint32_t d = 1; g->symbols && d < g->rank; d++)
      if (g->symbols[d] && !find_size(l, graph, g->symbols[d], &tensor, &dim))
        return false;
  }
  return true;
}

static fnz_status read_node(looper *l, const fnzi_node *node, uint32_t graph, bool *fits) {
  *fits = false;
  if (!fnzi_hop_is_known(node))
    return FNZ_OK;
  FNZ_TRY(fnzi_hop_read(l->ctx, l->p, node, &l->hop));
  const fnzi_hop *hop = &l->hop;
  l->combines = hop->kind == FNZI_HOP_ASSOCIATIVE_SCAN;
  if (!l->combines && hop->kind != FNZI_HOP_MAP && hop->kind != FNZI_HOP_SCAN)
    return FNZ_OK;
  const fnzi_graph *body = fnzi_graph_at(l->p, hop->bodies[0]);
  l->ncarried = l->combines ? hop->xs.count : hop->carried.count;
  l->nstacks = l->combines ? hop->xs.count : hop->results.count - hop->carried.count;
  *fits = hop->xs.count && are_tensors(hop->carried.args, hop->carried.count) &&
          are_tensors(hop->results.args, hop->results.count) &&
          are_tensors(body->outputs, body->noutputs) &&
          are_plain(hop->captured.args, hop->captured.count) && has_sizes(l, graph) &&
          /* Without a slice an associative scan is no loop: its iteration 0 is not run. */
          (!l->combines || geometry_at(l, graph, &hop->xs.args[0])->sizes[0] > 0);
  return FNZ_OK;
}

/* --- graphs of the loop ----------------------------------------------------------------------- */
/* Their inputs: the number of the iteration, carried values, stacks, xs, captured values. */
typedef struct inputs {
  fnz_arg *all, *carried, *stacks, *xs, *captured;
  size_t count;
} inputs;

static fnz_status add_input(looper *l, const char *stem, const fnz_geometry *g, fnz_arg *out) {
  uint32_t value;
  FNZ_TRY(fnzi_value_add_fresh(l->p, l->graph, stem, g, FNZI_NO_NODE, &value));
  *out = fnzi_arg_value(value);
  return FNZ_OK;
}

static fnz_status add_inputs(looper *l, uint32_t outer, inputs *in) {
  const fnzi_hop *hop = &l->hop;
  const fnz_geometry *g;
  in->count = 1 + l->ncarried + l->nstacks + l->hop.xs.count + l->hop.captured.count;
  FNZI_NEW(&l->scratch, in->count, &in->all);
  in->carried = in->all + 1;
  in->stacks = in->carried + l->ncarried;
  in->xs = in->stacks + l->nstacks;
  in->captured = in->xs + l->hop.xs.count;
  FNZ_TRY(number_geometry(l, FNZ_I64, 0, &g));
  FNZ_TRY(add_input(l, "turn", g, &in->all[0]));
  for (uint32_t k = 0; k < l->ncarried; k++) {
    const fnzi_graph *body = fnzi_graph_at(l->p, hop->bodies[0]);
    g = body->values.data[body->inputs[k].u.value].geometry;
    FNZ_TRY(add_input(l, "carried", g, &in->carried[k]));
  }
  for (uint32_t k = 0; k < l->nstacks; k++) {
    g = geometry_at(l, outer, &hop->results.args[hop->results.count - l->nstacks + k]);
    FNZ_TRY(add_input(l, "stack", g, &in->stacks[k]));
  }
  for (uint32_t k = 0; k < hop->xs.count; k++)
    FNZ_TRY(add_input(l, "xs", geometry_at(l, outer, &hop->xs.args[k]), &in->xs[k]));
  for (uint32_t k = 0; k < hop->captured.count; k++) {
    /* As the body has it: a number may be a symbol, or written into the body. */
    const fnzi_graph *body = fnzi_graph_at(l->p, hop->bodies[0]);
    const fnz_arg like = body->inputs[body->ninputs - hop->captured.count + k];
    fnz_arg *out = &in->captured[k];
    *out = like;
    if (!fnzi_is_reference(&like))
      continue;
    const fnzi_value value = body->values.data[like.u.value];
    FNZ_TRY(add_input(l, "captured", value.geometry, out));
    out->tag = like.tag;
    fnzi_value_at(l->p, l->graph, out->u.value)->symbol = value.symbol;
    fnzi_value_at(l->p, l->graph, out->u.value)->number = value.number;
  }
  FNZ_TRY(fnzi_graph_set_inputs(l->p, l->graph, in->count));
  return fnzi_args_copy(l->p, in->all, in->count, &fnzi_graph_at(l->p, l->graph)->inputs);
}

/* "f_turn", "f_turn_1" ...: a new graph, which is in hand from now on. */
static fnz_status add_graph(looper *l, const char *what) {
  char name[96];
  const char *body = fnzi_graph_at(l->p, l->hop.bodies[0])->name;
  for (uint32_t k = 0, again = 1; again; k++) {
    snprintf(name, sizeof name, k ? "%.60s_%s_%u" : "%.60s_%s", body, what, (unsigned)k);
    again = 0;
    for (size_t g = 1; g < l->p->graphs.count; g++)
      again |= strcmp(l->p->graphs.data[g].name, name) == 0;
  }
  FNZ_TRY(fnzi_graph_add(l->p, name, &l->graph));
  FNZI_PUSH(l->ctx, &l->owners, l->hop.bodies[0]);
  return FNZ_OK;
}

static fnz_status give_outputs(looper *l, const fnz_arg *outputs, size_t count) {
  FNZ_TRY(fnzi_graph_set_outputs(l->p, l->graph, count));
  return fnzi_args_copy(l->p, outputs, count, &fnzi_graph_at(l->p, l->graph)->outputs);
}

/* Is there another iteration? */
static fnz_status make_more(looper *l, uint32_t outer, uint32_t *out) {
  inputs in;
  fnz_arg size, is_less;
  const fnz_geometry *g;
  FNZ_TRY(add_graph(l, "more"));
  *out = l->graph;
  FNZ_TRY(add_inputs(l, outer, &in));
  FNZ_TRY(add_size(l, &in.xs[0], 0, &size));
  FNZ_TRY(number_geometry(l, FNZ_BOOL, 0, &g));
  ADD_CALL(&is_less, g, lt__Scalar, in.all[0], size);
  fnzi_graph_at(l->p, l->graph)->returns_single = true;
  return give_outputs(l, &is_less, 1);
}

/* --- an iteration ----------------------------------------------------------------------------- */
/* The nodes of a body, as a call that says nothing about gradients that matters. `args` has room
 * for two more in front. */
static fnz_status call_body(looper *l, uint32_t body, fnz_arg *args, fnz_arg *results) {
  const uint32_t nresults = fnzi_graph_at(l->p, body)->noutputs;
  args[0] = (fnz_arg){.tag = FNZ_ARG_BOOL};
  args[1] = graph_arg(body);
  for (uint32_t k = 0; k < nresults; k++) {
    const fnz_arg *output = &fnzi_graph_at(l->p, body)->outputs[k];
    FNZ_TRY(add_result(l, "result", geometry_at(l, body, output), &results[k]));
  }
  return add_region(l, "higher_order.wrap_with_set_grad_enabled", args,
                    2 + fnzi_graph_at(l->p, body)->ninputs, results, nresults);
}

static fnz_status call_body_of_iteration(looper *l, const inputs *in, const fnz_arg *at,
                                         fnz_arg *results) {
  const fnzi_hop *hop = &l->hop;
  fnz_arg *args, *next;
  FNZI_NEW(&l->scratch, 2 + fnzi_graph_at(l->p, hop->bodies[0])->ninputs, &args);
  next = args + 2;
  for (uint32_t k = 0; k < l->ncarried; k++)
    *next++ = in->carried[k];
  for (uint32_t k = 0; k < hop->xs.count; k++) {
    fnz_arg *out = next++;
    /* `at`: the number of the iteration as a tensor of one index. */
    const fnz_geometry *whole = geometry_at(l, l->graph, &in->xs[k]), *g;
    fnz_arg row;
    FNZ_TRY(slice_geometry(l, whole, true, &g));
    ADD_CALL(&row, g, index_select, in->xs[k], fnzi_arg_int(0), *at);
    FNZ_TRY(slice_geometry(l, whole, false, &g));
    ADD_CALL(out, g, squeeze__dim, row, fnzi_arg_int(0));
  }
  for (uint32_t k = 0; k < hop->captured.count; k++)
    *next++ = in->captured[k];
  return call_body(l, hop->bodies[0], args, results);
}

static fnz_status make_iteration(looper *l, uint32_t outer, uint32_t *out) {
  inputs in;
  const fnz_geometry *g;
  fnz_arg *results, *outputs, at, one = fnzi_arg_int(1);
  FNZ_TRY(add_graph(l, "turn"));
  *out = l->graph;
  FNZ_TRY(add_inputs(l, outer, &in));
  FNZI_NEW(&l->scratch, fnzi_graph_at(l->p, l->hop.bodies[0])->noutputs, &results);
  FNZI_NEW(&l->scratch, in.count, &outputs);
  FNZ_TRY(number_geometry(l, FNZ_I64, 1, &g));
  ADD_CALL(&at, g, view, in.all[0], list_of(&one, 1));
  FNZ_TRY(call_body_of_iteration(l, &in, &at, results));
  FNZ_TRY(number_geometry(l, FNZ_I64, 0, &g));
  ADD_CALL(&outputs[0], g, add__Scalar, in.all[0], one);
  for (uint32_t k = 0; k < l->ncarried; k++)
    outputs[1 + k] = results[k];
  for (uint32_t k = 0; k < l->nstacks; k++) {
    const fnz_geometry *whole = geometry_at(l, l->graph, &in.stacks[k]), *of_row;
    fnz_arg row;
    FNZ_TRY(slice_geometry(l, whole, true, &of_row));
    ADD_CALL(&row, of_row, unsqueeze, results[l->combines ? k : l->ncarried + k], fnzi_arg_int(0));
    ADD_CALL(&outputs[1 + l->ncarried + k], whole, _unsafe_index_put, in.stacks[k], list_of(&at, 1),
             row, (fnz_arg){.tag = FNZ_ARG_BOOL});
  }
  return give_outputs(l, outputs, 1 + l->ncarried + l->nstacks);
}

/* --- in front of the loop --------------------------------------------------------------------- */
/* Zeros of the sizes of a stacked result. */
static fnz_status add_stack(looper *l, const fnz_arg *result, fnz_arg *out) {
  const fnz_geometry *g = geometry_at(l, l->graph, result);
  fnz_arg sizes[FNZ_MAX_RANK], tensor;
  uint32_t dim;
  FNZ_TRY(add_size(l, &l->hop.xs.args[0], 0, &sizes[0]));
  for (uint32_t d = 1; d < g->rank; d++) {
    sizes[d] = fnzi_arg_int(g->sizes[d]);
    if (g->symbols && g->symbols[d] && find_size(l, l->graph, g->symbols[d], &tensor, &dim))
      FNZ_TRY(add_size(l, &tensor, dim, &sizes[d]));
  }
  ADD_CALL(out, g, new_zeros, l->hop.xs.args[0], list_of(sizes, g->rank), fnzi_arg_dtype(g->dtype));
  return FNZ_OK;
}

/* The values that the first iteration begins with. */
static fnz_status add_start(looper *l, fnz_arg *start) {
  const fnz_arg shape = list_of(NULL, 0), dtype = fnzi_arg_dtype(FNZ_I64);
  const fnz_geometry *g;
  FNZ_TRY(number_geometry(l, FNZ_I64, 0, &g));
  FNZ_TRY(add_call(l, l->combines ? FNZI_ATEN_new_ones : FNZI_ATEN_new_zeros,
                   (const fnz_arg[]){l->hop.xs.args[0], shape, dtype}, 3, g, start));
  for (uint32_t k = 0; k < l->ncarried; k++) {
    fnz_arg *to = &start[1 + k];
    if (!l->combines) {
      *to = l->hop.carried.args[k];
      continue;
    }
    FNZ_TRY(slice_geometry(l, geometry_at(l, l->graph, &l->hop.xs.args[k]), false, &g));
    ADD_CALL(to, g, select__int, l->hop.xs.args[k], fnzi_arg_int(0), fnzi_arg_int(0));
  }
  for (uint32_t k = 0; k < l->nstacks; k++) {
    fnz_arg *to = &start[1 + l->ncarried + k];
    if (l->combines)
      *to = l->hop.xs.args[k];
    else
      FNZ_TRY(add_stack(l, &l->hop.results.args[l->ncarried + k], to));
  }
  return FNZ_OK;
}

static fnz_status add_loop(looper *l, uint32_t outer) {
  const fnzi_hop *hop = &l->hop;
  size_t ncarried = 1 + l->ncarried + l->nstacks, ncaptured = hop->xs.count + hop->captured.count;
  fnz_arg *carried, *captured, *results;
  uint32_t more, body;
  FNZI_NEW(&l->scratch, ncarried, &carried);
  FNZI_NEW(&l->scratch, ncarried, &results);
  FNZI_NEW(&l->scratch, ncaptured, &captured);
  FNZ_TRY(make_more(l, outer, &more));
  FNZ_TRY(make_iteration(l, outer, &body));
  l->graph = outer;
  FNZ_TRY(add_start(l, carried));
  memcpy(captured, hop->xs.args, hop->xs.count * sizeof *captured);
  if (hop->captured.count)
    memcpy(captured + hop->xs.count, hop->captured.args, hop->captured.count * sizeof *captured);
  size_t own = l->hop.results.count;
  const fnz_geometry *g;
  FNZ_TRY(number_geometry(l, FNZ_I64, 0, &g));
  FNZ_TRY(add_result(l, "turns", g, &results[0]));
  for (size_t k = 1; k < ncarried - own; k++) {
    const fnz_arg *output = &fnzi_graph_at(l->p, l->hop.bodies[0])->outputs[k - 1];
    FNZ_TRY(add_result(l, "carried", geometry_at(l, l->hop.bodies[0], output), &results[k]));
  }
  memcpy(results + ncarried - own, l->hop.results.args, own * sizeof *results);
  fnz_arg args[] = {graph_arg(more), graph_arg(body), list_of(carried, ncarried),
                    list_of(captured, ncaptured)};
  return add_region(l, fnzi_hop_target(FNZI_HOP_WHILE_LOOP), args, 4, results, ncarried);
}

/* --- branches --------------------------------------------------------------------------------- */
/* The branch may run though it is not chosen. */
static bool is_harmless(const looper *l, uint32_t graph) {
  const fnzi_graph *body = fnzi_graph_at(l->p, graph);
  for (size_t n = 0; n < body->nodes.count; n++) {
    const fnzi_node *node = &body->nodes.data[n];
    if (!node->op || (node->op->tags & FNZI_TAG_RANDOM) ||
        fnzi_rec_is_kept_unused(node->op, node->noutputs))
      return false;
    /* It may fail at places that a tensor names: the condition may be what keeps them inside. */
    FNZI_EACH_ARG(each, node->args, node->op->tags & FNZI_TAG_POINTWISE ? 0 : node->nargs)
      if (each.arg->tag == FNZ_ARG_VALUE && fnzi_is_integer(geometry_at(l, graph, each.arg)->dtype))
        return false;
    for (uint32_t k = 0; k < node->noutputs; k++)
      if (node->outputs[k].tag == FNZ_ARG_SYMBOL)
        return false;
  }
  return are_tensors(body->outputs, body->noutputs);
}

/* Both branches give tensors of the sizes of the results. */
static bool has_choices(const looper *l, uint32_t graph) {
  for (uint32_t k = 0; k < l->hop.results.count; k++) {
    const fnz_geometry *g = geometry_at(l, graph, &l->hop.results.args[k]);
    for (size_t b = 0; b < 2; b++) {
      const fnzi_graph *body = fnzi_graph_at(l->p, l->hop.bodies[b]);
      const fnz_geometry *own = geometry_at(l, l->hop.bodies[b], &body->outputs[k]);
      if (own->dtype != g->dtype || own->rank != g->rank ||
          (g->rank && memcmp(own->sizes, g->sizes, g->rank * sizeof *g->sizes) != 0))
        return false;
    }
    if (g->symbols)
      return false;
  }
  return geometry_at(l, graph, l->hop.pred)->dtype == FNZ_BOOL;
}

static fnz_status read_branches(looper *l, const fnzi_node *node, uint32_t graph, bool *fits) {
  *fits = false;
  if (!fnzi_hop_is_known(node))
    return FNZ_OK;
  FNZ_TRY(fnzi_hop_read(l->ctx, l->p, node, &l->hop));
  const fnzi_hop *hop = &l->hop;
  *fits = hop->kind == FNZI_HOP_COND && hop->pred->tag == FNZ_ARG_VALUE && hop->results.count &&
          are_tensors(hop->results.args, hop->results.count) &&
          are_plain(hop->captured.args, hop->captured.count) && is_harmless(l, hop->bodies[0]) &&
          is_harmless(l, hop->bodies[1]) && has_choices(l, graph);
  return FNZ_OK;
}

static fnz_status add_choices(looper *l) {
  const fnzi_hop *hop = &l->hop;
  const fnz_geometry *g;
  fnz_arg *args, *results[2], is_first = *hop->pred;
  for (size_t b = 0; b < 2; b++) {
    FNZI_NEW(&l->scratch, 2 + (size_t)hop->captured.count, &args);
    FNZI_NEW(&l->scratch, hop->results.count, &results[b]);
    if (hop->captured.count)
      memcpy(args + 2, hop->captured.args, hop->captured.count * sizeof *args);
    FNZ_TRY(call_body(l, hop->bodies[b], args, results[b]));
  }
  if (geometry_at(l, l->graph, hop->pred)->rank) { /* a dimension would be one of the results */
    FNZ_TRY(number_geometry(l, FNZ_BOOL, 0, &g));
    ADD_CALL(&is_first, g, view, *hop->pred, list_of(NULL, 0));
  }
  for (uint32_t k = 0; k < hop->results.count; k++) {
    fnz_arg all[] = {is_first, results[0][k], results[1][k]}, result = hop->results.args[k];
    const fnzi_node node = {.op = &fnzi_ops[FNZI_ATEN_where__self],
                            .args = all,
                            .outputs = &result,
                            .nargs = 3,
                            .noutputs = 1,
                            .source = l->source};
    FNZ_TRY(
        fnzi_node_add(l->p, l->graph, &node, &fnzi_value_at(l->p, l->graph, result.u.value)->node));
  }
  return FNZ_OK;
}

/* --- the program ------------------------------------------------------------------------------ */
static bool is_cond(const fnzi_node *node) {
  return !node->op && strcmp(fnzi_node_target(node), fnzi_hop_target(FNZI_HOP_COND)) == 0;
}

/* A region that a set with the regions `what` does not have. */
static bool is_due(const fnzi_node *node, fnzi_dcm_loops what) {
  static const fnzi_hop_kind kinds[] = {FNZI_HOP_MAP, FNZI_HOP_SCAN, FNZI_HOP_ASSOCIATIVE_SCAN};
  if (is_cond(node))
    return what == FNZI_DCM_LOOPS_where || what == FNZI_DCM_LOOPS_while_where;
  if (node->op || what == FNZI_DCM_LOOPS_where)
    return false;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strcmp(fnzi_node_target(node), fnzi_hop_target(kinds[i])) == 0)
      return true;
  return false;
}

/* Appends a node of the source to the graph. */
static fnz_status rewrite_node(looper *l, uint32_t graph, const fnzi_node *node, uint32_t index) {
  bool fits;
  uint32_t at;
  l->source = node->source;
  const bool branches = is_cond(node);
  FNZ_TRY((branches ? read_branches : read_node)(l, node, graph, &fits));
  if (fits && is_due(node, l->what))
    FNZ_TRY(branches ? add_choices(l) : add_loop(l, graph));
  else
    FNZ_TRY(fnzi_node_append(l->p, graph, node, &at));
  fnzi_graph *g = fnzi_graph_at(l->p, graph);
  at = (uint32_t)g->nodes.count - 1;
  while (l->sources.count < g->nodes.count)
    FNZI_PUSH(l->ctx, &l->sources, ((fnzi_source_node){graph, index}));
  FNZI_EACH_ARG(each, g->nodes.data[at].outputs, g->nodes.data[at].noutputs)
    if (fnzi_is_reference(each.arg))
      g->values.data[each.arg->u.value].node = at;
  return FNZ_OK;
}

/* All nodes of a graph come from nodes of the source; `sources` NULL: from the same one. */
static fnz_status note_sources(looper *l, uint32_t graph, const fnzi_source_node *sources,
                               fnzi_source_node same) {
  size_t count = fnzi_graph_at(l->p, graph)->nodes.count;
  fnzi_source_node *kept;
  FNZI_NEW(&l->p->arena, count, &kept);
  for (size_t n = 0; n < count; n++)
    kept[n] = sources ? sources[n] : same;
  fnzi_graph_at(l->p, graph)->source_nodes = kept;
  return FNZ_OK;
}

static fnz_status rewrite_nodes(looper *l, uint32_t graph, const fnzi_node *nodes, size_t count) {
  l->sources.count = 0;
  for (uint32_t n = 0; n < count; n++) {
    uint32_t first = (uint32_t)l->p->graphs.count;
    l->graph = graph;
    FNZ_TRY(rewrite_node(l, graph, &nodes[n], n));
    for (uint32_t made = first; made < l->p->graphs.count; made++)
      FNZ_TRY(note_sources(l, made, NULL, (fnzi_source_node){graph, n}));
    fnzi_arena_reset(&l->scratch);
  }
  return note_sources(l, graph, l->sources.data, (fnzi_source_node){0});
}

static fnz_status rewrite_graph(looper *l, uint32_t graph) {
  fnzi_graph *g = fnzi_graph_at(l->p, graph);
  fnzi_node *nodes = g->nodes.data;
  size_t count = g->nodes.count, capacity = g->nodes.capacity;
  g->nodes.data = NULL;
  g->nodes.count = g->nodes.capacity = 0;
  fnz_status status = rewrite_nodes(l, graph, nodes, count);
  fnzi_free(l->ctx, nodes, capacity * sizeof *nodes);
  return status;
}

/* The graphs of a loop come right before its body, which they call. */
static fnz_status arrange(looper *l, size_t ngraphs) {
  uint32_t *order;
  size_t count = 0;
  FNZI_NEW(&l->scratch, l->p->graphs.count, &order);
  for (uint32_t g = 0; g < ngraphs; g++) {
    for (size_t k = 0; k < l->owners.count; k++)
      if (l->owners.data[k] == g)
        order[count++] = (uint32_t)(ngraphs + k);
    order[count++] = g;
  }
  return fnzi_graphs_arrange(l->p, order, count);
}

/* The source may be a rewritten program itself: then its nodes map to nodes of an earlier program.
 */
static fnz_status keep_sources(looper *l, const fnz_program *from, fnzi_dcm_looped *out) {
  FNZI_NEW(&l->p->arena, l->p->graphs.count, &out->sources);
  for (uint32_t g = 0; g < l->p->graphs.count; g++) {
    fnzi_graph *made = fnzi_graph_at(l->p, g);
    fnzi_source_node *sources;
    out->sources[g] = made->source_nodes;
    FNZI_NEW(&l->p->arena, made->nodes.count, &sources);
    for (size_t n = 0; n < made->nodes.count; n++) {
      fnzi_source_node at = made->source_nodes[n];
      const fnzi_source_node *earlier = fnzi_graph_at(from, at.graph)->source_nodes;
      fnzi_source_node unknown = {0, FNZI_NO_NODE};
      sources[n] = !from->is_rewritten ? at : earlier ? earlier[at.node] : unknown;
    }
    made->source_nodes = sources;
  }
  l->p->is_rewritten = true;
  return FNZ_OK;
}

static bool has_any(const fnz_program *p, fnzi_dcm_loops what) {
  for (size_t g = 0; g < p->graphs.count; g++)
    for (size_t n = 0; n < p->graphs.data[g].nodes.count; n++)
      if (is_due(&p->graphs.data[g].nodes.data[n], what))
        return true;
  return false;
}

fnz_status fnzi_dcm_loop(fnz_context *ctx, const fnz_program *from, fnzi_dcm_loops what,
                         fnzi_dcm_looped *out) {
  looper l = {.ctx = ctx, .what = what};
  *out = (fnzi_dcm_looped){NULL, NULL};
  if (!has_any(from, what))
    return FNZ_OK;
  FNZ_TRY(fnzi_program_copy(ctx, from, &l.p));
  fnzi_arena_init(&l.scratch, ctx);
  fnz_status status = FNZ_OK;
  for (uint32_t g = 0; g < from->graphs.count && status == FNZ_OK; g++)
    status = rewrite_graph(&l, g);
  if (status == FNZ_OK)
    status = arrange(&l, from->graphs.count);
  if (status == FNZ_OK)
    status = keep_sources(&l, from, out);
  if (status == FNZ_OK)
    status = fnz_program_verify(l.ctx, l.p);
  fnzi_arena_free(&l.scratch);
  FNZI_VEC_FREE(ctx, &l.owners);
  FNZI_VEC_FREE(ctx, &l.sources);
  if (status == FNZ_OK)
    out->program = l.p;
  else
    fnz_program_destroy(l.p);
  return status;
}
