/* canonical.c - walks over a program once and gives every value the class of its expression.
 *
 * needs   a verified program: definitions before uses, graphs refer only to later ones
 * gives   classes of the values of the program itself, of every region as a whole, and the state
 *         that its memory, its random numbers and its effects end in */
#include "program/compare/compare.h"
#include "program/signature.h"

fnz_status fnzi_cmp_numbering_init(fnz_context *ctx, fnzi_cmp_numbering *n) {
  fnzi_cmp_class nothing = {0};
  *n = (fnzi_cmp_numbering){.ctx = ctx};
  fnzi_arena_init(&n->arena, ctx);
  fnzi_map_init(&n->known, ctx);
  FNZI_PUSH(ctx, &n->classes, nothing);
  return FNZ_OK;
}

void fnzi_cmp_numbering_free(fnzi_cmp_numbering *n) {
  FNZI_VEC_FREE(n->ctx, &n->classes);
  FNZI_VEC_FREE(n->ctx, &n->operands);
  fnz_buffer_free(n->ctx, &n->header);
  fnzi_map_free(&n->known);
  fnzi_arena_free(&n->arena);
}

/* --- inputs ----------------------------------------------------------------------------------- */
/* An input of the program itself: user inputs are identified by their position among user inputs,
 * parameters and buffers by name, constants by their elements if these are known. */
static fnz_status key_outer_input(fnzi_cmp_numbering *n, const fnzi_cmp_side *s, uint32_t k,
                                  uint32_t *nuser) {
  const fnz_input_spec *spec = &s->p->inputs[k];
  const fnzi_weight *w = fnzi_weight_find(s->p, spec->target);
  char digest[FNZI_DIGEST_BYTES];
  FNZ_TRY(fnzi_cmp_key_number(n, spec->kind));
  /* Both programs have the constant's bytes; a text has none. */
  bool has_numbers = spec->kind == FNZ_INPUT_CONSTANT && w && !n->by_name;
  for (int i = 0; has_numbers && i < 2; i++) {
    const fnzi_weight *of = fnzi_weight_find(n->programs[i], spec->target);
    has_numbers = !of || of->blob;
  }
  if (has_numbers) {
    FNZ_TRY(fnzi_cmp_digest_weight(n->ctx, w, (unsigned char *)digest));
    return fnzi_cmp_key_text(n, digest, sizeof digest);
  }
  if (fnzi_is_stored(spec->kind))
    return fnzi_cmp_key_text(n, spec->target, strlen(spec->target));
  return fnzi_cmp_key_number(n, (*nuser)++);
}

fnz_status fnzi_cmp_number_input(fnzi_cmp_numbering *n, const fnzi_cmp_side *s, uint32_t k,
                                 uint32_t *out) {
  const fnz_program *p = s->p;
  const fnz_arg *input = &p->graphs.data[0].inputs[k];
  FNZ_TRY(fnzi_cmp_key_start(n, FNZI_CLASS_INPUT));
  FNZ_TRY(fnzi_cmp_key_number(n, p->inputs[k].kind));
  FNZ_TRY(fnzi_cmp_key_number(n, p->inputs[k].shares));
  FNZ_TRY(fnzi_cmp_key_tree(n, input));
  if (fnzi_is_reference(input))
    FNZ_TRY(fnzi_cmp_key_geometry(n, p, p->graphs.data[0].values.data[input->u.value].geometry));
  return fnzi_cmp_key_end(n, FNZI_CLASS_INPUT, s->which, (fnzi_cmp_place){0, k, true, true}, out);
}

static fnz_status number_inputs(fnzi_cmp_numbering *n, fnzi_cmp_side *s, uint32_t graph) {
  const fnzi_graph *g = fnzi_graph_at(s->p, graph);
  uint32_t nuser = 0;
  for (uint32_t k = 0; k < g->ninputs; k++) {
    const fnz_arg *input = &g->inputs[k];
    bool is_value = fnzi_is_reference(input);
    FNZ_TRY(fnzi_cmp_key_start(n, FNZI_CLASS_INPUT));
    FNZ_TRY(fnzi_cmp_key_number(n, graph ? 1 : 0));
    FNZ_TRY(graph ? fnzi_cmp_key_number(n, k) : key_outer_input(n, s, k, &nuser));
    FNZ_TRY(fnzi_cmp_key_literal(n, input));
    if (!is_value)
      continue;
    FNZ_TRY(fnzi_cmp_key_geometry(n, s->p, g->values.data[input->u.value].geometry));
    FNZ_TRY(fnzi_cmp_key_end(n, FNZI_CLASS_INPUT, s->which, (fnzi_cmp_place){graph, k, true, true},
                             &s->values[input->u.value]));
  }
  return FNZ_OK;
}

/* --- reading ---------------------------------------------------------------------------------- */
fnz_status fnzi_cmp_number_read(fnzi_cmp_numbering *n, fnzi_cmp_side *s, uint64_t value,
                                fnzi_cmp_place spot, uint32_t *out) {
  const fnzi_cmp_memory *m = &s->memory;
  uint32_t state = m->is_tracked ? m->state[fnzi_cmp_component(m, value)] : 0;
  *out = s->values[value];
  if (!state)
    return FNZ_OK;
  FNZ_TRY(fnzi_cmp_key_start(n, FNZI_CLASS_READ));
  FNZ_TRY(fnzi_cmp_key_operand(n, *out));
  FNZ_TRY(fnzi_cmp_key_operand(n, state));
  return fnzi_cmp_key_end(n, FNZI_CLASS_READ, s->which, spot, out);
}

/* --- nodes ------------------------------------------------------------------------------------ */
/* A node whose class is being made: the classes of its references are found first, because finding
 * them makes other classes. */
typedef struct call {
  fnzi_cmp_numbering *n;
  fnzi_cmp_side *s;
  const fnzi_graph *g;
  const fnzi_node *node;
  fnzi_cmp_place spot;
  bool opens; /* a view: later writes do not count */
  struct {
    uint32_t *data;
    size_t count, capacity;
  } operands;
  uint32_t class, results;
} call;

static fnz_status find_operand(call *c, const fnz_arg *arg) {
  const fnzi_cmp_memory *m = &c->s->memory;
  uint32_t operand;
  if (arg->tag == FNZ_ARG_GRAPH)
    operand = c->s->graphs[arg->u.i];
  else if (!fnzi_is_reference(arg))
    return FNZ_OK;
  else if (c->opens && m->is_tracked && !m->moves[fnzi_cmp_component(m, arg->u.value)])
    operand = c->s->values[arg->u.value];
  else
    FNZ_TRY(fnzi_cmp_number_read(c->n, c->s, arg->u.value, c->spot, &operand));
  FNZI_PUSH(c->n->ctx, &c->operands, operand);
  return FNZ_OK;
}

static fnz_status key_results(call *c, const fnz_arg *args, uint32_t count) {
  FNZI_EACH_ARG(each, args, count) {
    FNZ_TRY(fnzi_cmp_key_literal(c->n, each.arg));
    if (!fnzi_is_reference(each.arg))
      continue;
    c->results++;
    FNZ_TRY(fnzi_cmp_key_geometry(c->n, c->s->p, c->g->values.data[each.arg->u.value].geometry));
  }
  return FNZ_OK;
}

/* A node that must be neither dropped nor reordered takes the last node of its kind as an operand.
 */
static bool is_random(const fnzi_cmp_side *s, const fnzi_node *node) {
  return node->op ? (node->op->tags & FNZI_TAGS_KEPT) != 0 : fnzi_cmp_has_body(node, s->random);
}

static bool is_effect(const fnzi_cmp_side *s, const fnzi_node *node) {
  return node->noutputs == 0 || fnzi_cmp_has_body(node, s->effects);
}

static fnz_status key_node(call *c) {
  const fnzi_node *node = c->node;
  bool random = is_random(c->s, node);
  bool effect = is_effect(c->s, node) && !(node->op && fnzi_cmp_op_writes(node->op));
  FNZI_EACH_ARG(each, node->args, node->nargs)
    FNZ_TRY(find_operand(c, each.arg));
  FNZ_TRY(fnzi_cmp_key_start(c->n, FNZI_CLASS_NODE));
  FNZ_TRY(fnzi_cmp_key_text(c->n, fnzi_node_target(node), strlen(fnzi_node_target(node))));
  for (uint32_t i = 0; node->op && i < node->nargs; i++)
    FNZ_TRY(fnzi_cmp_key_given(c->n, node->op, i, &node->args[i]));
  for (uint32_t i = 0; !node->op && i < node->nargs; i++) {
    const char *name = fnzi_node_arg_name(node, i);
    FNZ_TRY(fnzi_cmp_key_text(c->n, name, strlen(name)));
    FNZ_TRY(fnzi_cmp_key_tree(c->n, &node->args[i]));
  }
  FNZ_TRY(fnzi_cmp_key_number(c->n, -1));
  FNZ_TRY(fnzi_cmp_key_number(c->n, node->noutputs));
  FNZ_TRY(key_results(c, node->outputs, node->noutputs));
  for (size_t i = 0; i < c->operands.count; i++)
    FNZ_TRY(fnzi_cmp_key_operand(c->n, c->operands.data[i]));
  if (random)
    FNZ_TRY(fnzi_cmp_key_operand(c->n, c->s->random_now));
  if (effect)
    FNZ_TRY(fnzi_cmp_key_operand(c->n, c->s->effects_now));
  FNZ_TRY(fnzi_cmp_key_end(c->n, FNZI_CLASS_NODE, c->s->which, c->spot, &c->class));
  if (random)
    c->s->random_now = c->class;
  if (effect)
    c->s->effects_now = c->class;
  return FNZ_OK;
}

/* --- results ---------------------------------------------------------------------------------- */
static fnz_status one_class(call *c, fnzi_cmp_class_kind kind, uint32_t number, uint32_t of,
                            uint32_t *out) {
  FNZ_TRY(fnzi_cmp_key_start(c->n, kind));
  FNZ_TRY(fnzi_cmp_key_number(c->n, number));
  FNZ_TRY(fnzi_cmp_key_operand(c->n, of));
  return fnzi_cmp_key_end(c->n, kind, c->s->which, c->spot, out);
}

/* A result that is a written argument is that argument's window. */
static bool is_its_argument(const call *c, uint32_t k, uint64_t *of) {
  const fnz_op *op = c->node->op;
  if (!op || c->node->outputs[k].tag != FNZ_ARG_VALUE)
    return false;
  const fnzi_param *p = fnzi_op_returned(op, &op->returns[k]);
  const fnz_arg *arg = p ? &c->node->args[p - op->params] : NULL;
  if (!arg || arg->tag != FNZ_ARG_VALUE ||
      c->s->memory.moves[fnzi_cmp_component(&c->s->memory, arg->u.value)])
    return false;
  *of = arg->u.value;
  return true;
}

static fnz_status number_results(call *c) {
  uint32_t seen = 0;
  for (uint32_t k = 0; k < c->node->noutputs; k++) {
    uint64_t of;
    if (is_its_argument(c, k, &of)) {
      c->s->values[c->node->outputs[k].u.value] = c->s->values[of];
      continue;
    }
    FNZI_EACH_ARG(each, &c->node->outputs[k], 1) {
      uint32_t class = c->class;
      if (!fnzi_is_reference(each.arg))
        continue;
      if (c->results > 1)
        FNZ_TRY(one_class(c, FNZI_CLASS_RESULT, seen, c->class, &class));
      seen++;
      /* Tensors that equal nodes make in one component are distinguished by their order: a write to
       * one is none to the other. */
      fnzi_cmp_memory *m = &c->s->memory;
      bool is_own = m->is_tracked && !c->opens && c->g->values.data[each.arg->u.value].geometry;
      uint32_t component = is_own ? fnzi_cmp_component(m, each.arg->u.value) : 0;
      if (is_own && m->roots[component] > 1)
        FNZ_TRY(one_class(c, FNZI_CLASS_ROOT, m->made[component]++, class, &class));
      c->s->values[each.arg->u.value] = class;
    }
  }
  return FNZ_OK;
}

static void set_states(call *c, const fnz_arg *args, uint32_t count) {
  FNZI_EACH_ARG(each, args, count)
    if (each.arg->tag == FNZ_ARG_VALUE)
      c->s->memory.state[fnzi_cmp_component(&c->s->memory, each.arg->u.value)] = c->class;
}

static fnz_status number_node(call *c, uint32_t graph, uint32_t i) {
  c->node = &c->g->nodes.data[i];
  c->spot = (fnzi_cmp_place){graph, i, false, true};
  c->opens = c->node->op && fnzi_cmp_only_views(c->node->op);
  c->results = 0;
  c->operands.count = 0;
  FNZ_TRY(key_node(c));
  FNZ_TRY(number_results(c));
  const fnzi_node *node = c->node;
  if (c->s->memory.is_tracked) {
    if (fnzi_cmp_has_body(node, c->s->writes))
      set_states(c, node->args, node->nargs);
    for (uint32_t k = 0; node->op && k < node->nargs; k++)
      if (fnzi_cmp_writes_param(node->op, k))
        set_states(c, &node->args[k], 1);
  }
  return FNZ_OK;
}

/* --- graphs ----------------------------------------------------------------------------------- */

/* A region is its outputs and the final state of its memory. */
static fnz_status key_region(call *c, uint32_t *class) {
  fnzi_cmp_numbering *n = c->n;
  const fnzi_graph *g = c->g;
  /* The operands of a region: its outputs and, if memory is tracked, its inputs too, because they
   * may be written. */
  FNZI_EACH_ARG(each, g->outputs, g->noutputs)
    FNZ_TRY(find_operand(c, each.arg));
  for (uint32_t k = 0; c->s->memory.is_tracked && k < g->ninputs; k++)
    if (g->inputs[k].tag == FNZ_ARG_VALUE)
      FNZ_TRY(find_operand(c, &g->inputs[k]));
  FNZ_TRY(fnzi_cmp_key_start(n, FNZI_CLASS_GRAPH));
  FNZ_TRY(fnzi_cmp_key_number(n, g->ninputs * 2 + g->returns_single));
  FNZ_TRY(key_results(c, g->inputs, g->ninputs));
  for (uint32_t k = 0; k < g->noutputs; k++)
    FNZ_TRY(fnzi_cmp_key_tree(n, &g->outputs[k]));
  for (size_t i = 0; i < c->operands.count; i++)
    FNZ_TRY(fnzi_cmp_key_operand(n, c->operands.data[i]));
  FNZ_TRY(fnzi_cmp_key_operand(n, c->s->random_now));
  FNZ_TRY(fnzi_cmp_key_operand(n, c->s->effects_now));
  return fnzi_cmp_key_end(n, FNZI_CLASS_GRAPH, c->s->which, c->spot, class);
}

fnz_status fnzi_cmp_number_program(fnzi_cmp_numbering *n, fnzi_cmp_side *s) {
  size_t count = s->p->graphs.count;
  FNZI_NEW(&n->arena, count, &s->graphs);
  FNZI_NEW(&n->arena, count, &s->writes);
  FNZI_NEW(&n->arena, count, &s->random);
  FNZI_NEW(&n->arena, count, &s->effects);
  for (uint32_t graph = (uint32_t)count; graph-- > 0;) {
    const fnzi_graph *g = fnzi_graph_at(s->p, graph);
    for (size_t i = 0; i < g->nodes.count; i++) {
      const fnzi_node *node = &g->nodes.data[i];
      s->writes[graph] |=
          node->op ? fnzi_cmp_op_writes(node->op) : fnzi_cmp_has_body(node, s->writes);
      s->random[graph] |= is_random(s, node);
      s->effects[graph] |= is_effect(s, node);
    }
    s->random_now = s->effects_now = 0;
    FNZI_NEW(&n->arena, g->values.count, &s->values);
    FNZ_TRY(fnzi_cmp_memory_find(n, s, graph, &s->memory));
    FNZ_TRY(number_inputs(n, s, graph));
    call c = {.n = n, .s = s, .g = g};
    fnz_status status = FNZ_OK;
    for (uint32_t i = 0; i < g->nodes.count && status == FNZ_OK; i++)
      status = number_node(&c, graph, i);
    if (graph && status == FNZ_OK) {
      c.spot = (fnzi_cmp_place){graph, FNZI_NO_NODE, false, true};
      c.opens = false;
      c.operands.count = 0;
      status = key_region(&c, &s->graphs[graph]);
    }
    FNZI_VEC_FREE(n->ctx, &c.operands);
    FNZ_TRY(status);
  }
  return FNZ_OK;
}
