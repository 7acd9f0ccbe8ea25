/* difference.c - finds the smallest part in which two classes differ, and describes it. */
#include "program/compare/compare.h"
#include "program/formats/formats.h"

#include <stdio.h>

/* The result for the caller; its texts are in the arena. */
typedef struct holder {
  fnz_difference public;
  fnzi_arena arena;
} holder;

static fnz_status holder_new(fnz_context *ctx, holder **out) {
  holder *h = *out = fnzi_resize(ctx, NULL, 0, sizeof *h);
  if (!h)
    return fnzi_no_memory(ctx);
  *h = (holder){{"", "", {"", "", 0, SIZE_MAX}, {"", "", 0, SIZE_MAX}}, {0}};
  fnzi_arena_init(&h->arena, ctx);
  return FNZ_OK;
}

void fnz_difference_destroy(fnz_difference *difference) {
  holder *h = (holder *)difference; /* it is the first member */
  if (!h)
    return;
  fnz_context *ctx = h->arena.ctx;
  fnzi_arena_free(&h->arena);
  fnzi_free(ctx, h, sizeof *h);
}

/* --- where they part -------------------------------------------------------------------------- */
/* Follows the first operands that differ; operands are older than their users. */
static void part(const fnzi_cmp_numbering *n, uint32_t *a, uint32_t *b) {
  for (;;) {
    const fnzi_cmp_class *x = &n->classes.data[*a], *y = &n->classes.data[*b];
    uint32_t k = 0;
    if (!*a || !*b || x->kind != y->kind || x->noperands != y->noperands ||
        x->header_bytes != y->header_bytes ||
        (x->header_bytes && memcmp(x->header, y->header, x->header_bytes) != 0))
      return;
    while (k < x->noperands && fnzi_cmp_operand(x, k) == fnzi_cmp_operand(y, k))
      k++;
    if (k == x->noperands)
      return;
    *a = fnzi_cmp_operand(x, k);
    *b = fnzi_cmp_operand(y, k);
  }
}

/* --- one side --------------------------------------------------------------------------------- */
/* A value that was read is best shown by the node that wrote it. */
static fnzi_cmp_place spot_of(const fnzi_cmp_numbering *n, uint32_t class, uint32_t which) {
  const fnzi_cmp_class *e = &n->classes.data[class];
  if (class && e->kind == FNZI_CLASS_READ)
    e = &n->classes.data[fnzi_cmp_operand(e, 1)];
  return e->spots[which];
}

static fnz_status show_side(fnz_context *ctx, holder *h, const fnz_program *p, fnzi_cmp_place spot,
                            fnz_difference_side *out) {
  fnz_buffer text = {0};
  if (!spot.is_there)
    return FNZ_OK;
  const fnzi_graph *g = fnzi_graph_at(p, spot.graph);
  fnz_status status =
      spot.is_input ? fnzi_write_definition(ctx, p, spot.graph, &g->inputs[spot.index], &text)
      : spot.index == FNZI_NO_NODE ? fnzi_printf(ctx, &text, "graph %s", g->name)
                                   : fnzi_write_node(ctx, p, spot.graph, spot.index, &text);
  if (status == FNZ_OK)
    status = fnzi_arena_string(&h->arena, text.data, text.size, &out->text);
  fnz_buffer_free(ctx, &text);
  FNZ_TRY(status);
  out->graph = spot.graph;
  if (spot.is_input || spot.index == FNZI_NO_NODE)
    return FNZ_OK;
  const char *source = fnzi_node_at(p, spot.graph, spot.index)->source;
  out->node = spot.index;
  return fnzi_arena_string(&h->arena, source, strlen(source), &out->source);
}

/* --- in words --------------------------------------------------------------------------------- */
fnz_status fnzi_cmp_args_differ(fnzi_cmp_numbering *n, const fnz_arg *a, const fnz_arg *b,
                                bool *out) {
  FNZ_TRY(fnzi_cmp_key_start(n, FNZI_CLASS_NODE));
  size_t start = n->header.size;
  FNZ_TRY(fnzi_cmp_key_tree(n, a));
  size_t middle = n->header.size;
  FNZ_TRY(fnzi_cmp_key_tree(n, b));
  *out = n->header.size - middle != middle - start ||
         memcmp(n->header.data + start, n->header.data + middle, middle - start) != 0;
  return FNZ_OK;
}

static fnz_arg arg_of(const fnzi_node *node, uint32_t i) {
  if (i >= node->nargs)
    return (fnz_arg){.tag = FNZ_ARG_DEFAULT};
  return node->op ? fnzi_arg_get(node->op, node->args, node->nargs, i) : node->args[i];
}

static const char *name_of(const fnzi_node *node, uint32_t i) {
  if (node->op)
    return node->op->params[i].name;
  return i < node->nargs ? fnzi_node_arg_name(node, i) : "";
}

/* The first argument that differs; writes nothing when there is none. */
static fnz_status say_args(fnzi_cmp_numbering *n, const fnzi_cmp_side *sides,
                           const fnzi_cmp_place *spots, const fnzi_node *const *nodes,
                           fnz_buffer *out) {
  uint32_t most = nodes[0]->nargs > nodes[1]->nargs ? nodes[0]->nargs : nodes[1]->nargs;
  for (uint32_t i = 0; i < most; i++) {
    fnz_arg a = arg_of(nodes[0], i), b = arg_of(nodes[1], i);
    bool found;
    const char *name = name_of(nodes[0], i), *other = name_of(nodes[1], i);
    if (strcmp(name, other) != 0)
      return fnzi_printf(n->ctx, out, "the name of argument %u: `%s` and `%s`", i, name, other);
    FNZ_TRY(fnzi_cmp_args_differ(n, &a, &b, &found));
    if (!found)
      continue;
    FNZ_TRY(*name ? fnzi_printf(n->ctx, out, "argument `%s`: ", name)
                  : fnzi_printf(n->ctx, out, "argument %u: ", i));
    FNZ_TRY(fnzi_write_use(n->ctx, sides[0].p, spots[0].graph, &a, out));
    FNZ_TRY(fnzi_put_text(n->ctx, out, " and "));
    return fnzi_write_use(n->ctx, sides[1].p, spots[1].graph, &b, out);
  }
  return FNZ_OK;
}

static fnz_status say_nodes(fnzi_cmp_numbering *n, const fnzi_cmp_side *sides,
                            const fnzi_cmp_place *spots, fnz_buffer *out) {
  const fnzi_node *nodes[2];
  for (int k = 0; k < 2; k++)
    nodes[k] = fnzi_node_at(sides[k].p, spots[k].graph, spots[k].index);
  if (strcmp(fnzi_node_target(nodes[0]), fnzi_node_target(nodes[1])) != 0)
    return fnzi_printf(n->ctx, out, "operators: %s and %s", fnzi_node_target(nodes[0]),
                       fnzi_node_target(nodes[1]));
  FNZ_TRY(say_args(n, sides, spots, nodes, out));
  if (out->size)
    return FNZ_OK;
  FNZ_TRY(fnzi_put_text(n->ctx, out, "results: "));
  for (int k = 0; k < 2; k++) {
    if (k)
      FNZ_TRY(fnzi_put_text(n->ctx, out, " and "));
    const char *before = "";
    FNZI_EACH_ARG(each, nodes[k]->outputs, nodes[k]->noutputs) {
      const fnz_geometry *g =
          each.arg->tag == FNZ_ARG_VALUE
              ? fnzi_value_at(sides[k].p, spots[k].graph, each.arg->u.value)->geometry
              : NULL;
      FNZ_TRY(fnzi_put_text(n->ctx, out, before));
      FNZ_TRY(g ? fnzi_write_type(n->ctx, sides[k].p, g, out)
                : fnzi_put_text(n->ctx, out, "no tensor"));
      before = ", ";
    }
    if (!*before)
      FNZ_TRY(fnzi_put_text(n->ctx, out, "nothing"));
  }
  return FNZ_OK;
}

static bool is_node(fnzi_cmp_place spot) {
  return spot.is_there && !spot.is_input && spot.index != FNZI_NO_NODE;
}

static fnz_status say_what(fnzi_cmp_numbering *n, const fnzi_cmp_side *sides, uint32_t a,
                           uint32_t b, const fnzi_cmp_place *spots, fnz_buffer *out) {
  const fnzi_cmp_class_kind x = n->classes.data[a].kind, y = n->classes.data[b].kind;
  if (!a || !b)
    return fnzi_printf(n->ctx, out, "only the %s program has it", a ? "first" : "second");
  if ((x == FNZI_CLASS_READ) != (y == FNZI_CLASS_READ))
    return fnzi_printf(n->ctx, out, "the %s program has written there before, the other has not",
                       x == FNZI_CLASS_READ ? "first" : "second");
  if (x == FNZI_CLASS_RESULT && y == x)
    return fnzi_put_text(n->ctx, out, "another result of the operator");
  if (x == FNZI_CLASS_ROOT && y == x)
    return fnzi_put_text(n->ctx, out, "another one of the tensors that are made alike");
  if (is_node(spots[0]) && is_node(spots[1]))
    return say_nodes(n, sides, spots, out);
  if (x == FNZI_CLASS_GRAPH && y == x)
    return fnzi_put_text(n->ctx, out, "regions with other inputs or outputs");
  if (spots[0].is_input && spots[1].is_input)
    return fnzi_put_text(n->ctx, out, "another input");
  return fnzi_put_text(n->ctx, out, "an input, and what a node computes");
}

static fnz_status fill(fnzi_cmp_numbering *n, const fnzi_cmp_side *sides, holder *h,
                       const char *where, uint32_t a, uint32_t b) {
  fnz_buffer what = {0};
  const fnzi_cmp_place spots[] = {spot_of(n, a, 0), spot_of(n, b, 1)};
  FNZ_TRY(fnzi_arena_string(&h->arena, where, strlen(where), &h->public.where));
  fnz_status status = say_what(n, sides, a, b, spots, &what);
  if (status == FNZ_OK)
    status = fnzi_arena_string(&h->arena, what.data, what.size, &h->public.what);
  fnz_buffer_free(n->ctx, &what);
  FNZ_TRY(status);
  FNZ_TRY(show_side(n->ctx, h, sides[0].p, spots[0], &h->public.a));
  return show_side(n->ctx, h, sides[1].p, spots[1], &h->public.b);
}

/* Hands the difference out, or ends it. */
static fnz_status finish(fnz_context *ctx, holder *h, fnz_status status, fnz_difference **out) {
  if (status == FNZ_OK)
    status = fnzi_fail(ctx, FNZ_CLASS_DIFFERENT, h->public.where, "the programs differ: %s",
                       h->public.what);
  if (status == FNZ_DIFFERENT && out)
    *out = &h->public;
  else
    fnz_difference_destroy(&h->public);
  return status;
}

fnz_status fnzi_cmp_report_classes(fnzi_cmp_numbering *n, const fnzi_cmp_side *sides,
                                   const char *where, uint32_t a, uint32_t b,
                                   fnz_difference **out) {
  holder *h;
  part(n, &a, &b);
  FNZ_TRY(holder_new(n->ctx, &h));
  return finish(n->ctx, h, fill(n, sides, h, where, a, b), out);
}

fnz_status fnzi_cmp_report_plain(fnz_context *ctx, fnz_difference **out, const char *where,
                                 const char *format, ...) {
  char what[512];
  holder *h;
  va_list args;
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  FNZ_TRY(holder_new(ctx, &h));
  fnz_status status = fnzi_arena_string(&h->arena, where, strlen(where), &h->public.where);
  if (status == FNZ_OK)
    status = fnzi_arena_string(&h->arena, what, strlen(what), &h->public.what);
  return finish(ctx, h, status, out);
}
