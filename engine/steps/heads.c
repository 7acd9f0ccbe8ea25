/* heads.c - attention with fewer heads of keys and values than of queries. Models repeat the heads
 * by expand and reshape, a copy of the whole cache in each step of a decoder;
 * scaled_dot_product_attention also takes them as they are, by enable_gqa, with the same bits.
 *
 * needs   a functional graph of fixed sizes
 * gives   the heads that an attention repeats, and the copies that nothing else reads */
#include "engine/steps/steps.h"
#include "schema/aten_names.h"

enum { KEY = 1, VALUE = 2, ENABLE_GQA = 7, ARGUMENTS };

static const fnz_geometry *heads_geometry_of(const fnzi_graph *g, uint64_t value) {
  return g->values.data[value].geometry;
}

/* View operators, and their copies in functional programs. */
static const uint16_t flattening[] = {FNZI_ATEN_view_copy, FNZI_ATEN_view, FNZI_ATEN_reshape},
                      cloning[] = {FNZI_ATEN_clone},
                      expanding[] = {FNZI_ATEN_expand_copy, FNZI_ATEN_expand},
                      opening[] = {FNZI_ATEN_unsqueeze_copy, FNZI_ATEN_unsqueeze,
                                   FNZI_ATEN_view_copy, FNZI_ATEN_view};

/* The node that computes a value, if it is a call of one of the operators; else NULL. */
static const fnzi_node *producer_of(const fnzi_graph *g, uint64_t value, const uint16_t *ops,
                                    size_t count) {
  const uint32_t node = g->values.data[value].node;
  const fnzi_node *n = node < g->nodes.count ? &g->nodes.data[node] : NULL; /* else an input */
  bool is_it = n && n->op && n->nargs && fnzi_op_is_among(n->op, ops, count);
  return is_it && n->args[0].tag == FNZ_ARG_VALUE ? n : NULL;
}
#define PRODUCER(g, value, ops) producer_of(g, value, ops, sizeof(ops) / sizeof *(ops))

/* Sizes that differ by one more dimension in `longer`, of `size` elements, at dimension 2. */
static bool is_between(const fnz_geometry *shorter, const fnz_geometry *longer, int64_t size) {
  return shorter && longer && shorter->rank == 4 && longer->rank == 5 && longer->sizes[2] == size &&
         memcmp(shorter->sizes, longer->sizes, 2 * sizeof *shorter->sizes) == 0 &&
         memcmp(shorter->sizes + 2, longer->sizes + 3, 2 * sizeof *shorter->sizes) == 0;
}

/* The heads [B,G,S,D] that a value [B,G*r,S,D] repeats r times each, one after the other: their
 * view [B,G,1,S,D], expanded to [B,G,r,S,D], is reshaped. r is 0 for another value. */
static int64_t find_heads(const fnzi_graph *g, uint64_t value, uint64_t *heads) {
  const fnzi_node *flat = PRODUCER(g, value, flattening),
                  *clone = flat ? PRODUCER(g, flat->args[0].u.value, cloning) : NULL,
                  *last = clone ? clone : flat,
                  *expanding_node = last ? PRODUCER(g, last->args[0].u.value, expanding) : NULL,
                  *opening_node =
                      expanding_node ? PRODUCER(g, expanding_node->args[0].u.value, opening) : NULL;
  if (!opening_node)
    return 0;
  const fnz_geometry *all = heads_geometry_of(g, value),
                     *few = heads_geometry_of(g, opening_node->args[0].u.value),
                     *expanded = heads_geometry_of(g, last->args[0].u.value);
  const int64_t repeats = expanded && expanded->rank == 5 ? expanded->sizes[2] : 0;
  bool fits = repeats > 1 &&
              is_between(few, heads_geometry_of(g, expanding_node->args[0].u.value), 1) &&
              is_between(few, expanded, repeats) && all && all->rank == 4 && few->sizes[1] > 0 &&
              all->sizes[0] == few->sizes[0] && all->sizes[1] % few->sizes[1] == 0 &&
              all->sizes[1] / few->sizes[1] == repeats && all->sizes[2] == few->sizes[2] &&
              all->sizes[3] == few->sizes[3];
  *heads = opening_node->args[0].u.value;
  return fits ? repeats : 0;
}

bool fnzi_stp_heads_find(const fnzi_graph *g, const fnzi_node *n, uint64_t heads[2]) {
  if (n->op != &fnzi_ops[FNZI_ATEN_scaled_dot_product_attention] || n->nargs <= VALUE ||
      n->args[KEY].tag != FNZ_ARG_VALUE || n->args[VALUE].tag != FNZ_ARG_VALUE ||
      (n->nargs > ENABLE_GQA && n->args[ENABLE_GQA].tag != FNZ_ARG_DEFAULT))
    return false;
  const fnz_geometry *q =
      n->args[0].tag == FNZ_ARG_VALUE ? heads_geometry_of(g, n->args[0].u.value) : NULL;
  const int64_t repeats = find_heads(g, n->args[KEY].u.value, &heads[0]);
  return repeats && q && q->rank == 4 &&
         q->sizes[1] == heads_geometry_of(g, n->args[KEY].u.value)->sizes[1] &&
         find_heads(g, n->args[VALUE].u.value, &heads[1]) == repeats;
}

fnz_status fnzi_stp_heads_join(fnzi_arena *arena, const fnzi_node *n, const uint64_t heads[2],
                               fnzi_node *out) {
  fnz_arg *args;
  FNZ_TRY(fnzi_args_clone(arena, n->args, n->nargs, ARGUMENTS, &args));
  for (uint32_t k = n->nargs; k < ARGUMENTS; k++)
    args[k] = (fnz_arg){.tag = FNZ_ARG_DEFAULT};
  args[KEY] = fnzi_arg_value(heads[0]);
  args[VALUE] = fnzi_arg_value(heads[1]);
  args[ENABLE_GQA] = (fnz_arg){.tag = FNZ_ARG_BOOL, .u.i = 1};
  *out = *n;
  out->args = args;
  out->nargs = ARGUMENTS;
  return FNZ_OK;
}

static void count_uses(const fnz_arg *args, uint32_t count, uint32_t *uses) {
  FNZI_EACH_ARG(each, args, count)
    if (each.arg->tag == FNZ_ARG_VALUE)
      uses[each.arg->u.value]++;
}

/* Marks the node of a value that has one use less, and what only it reads, up to the heads. */
static void mark(const fnzi_graph *g, uint64_t value, uint64_t heads, uint32_t *uses,
                 bool *unread) {
  while (--uses[value] == 0 && value != heads) {
    const uint32_t node = g->values.data[value].node;
    unread[node] = true;
    value = g->nodes.data[node].args[0].u.value;
  }
}

fnz_status fnzi_stp_heads_mark(fnzi_arena *arena, const fnzi_graph *g, bool **unread) {
  uint32_t *uses;
  uint64_t heads[2];
  FNZI_NEW(arena, g->nodes.count, unread);
  FNZI_NEW(arena, g->values.count, &uses);
  for (size_t n = 0; n < g->nodes.count; n++)
    count_uses(g->nodes.data[n].args, g->nodes.data[n].nargs, uses);
  count_uses(g->outputs, g->noutputs, uses);
  for (size_t n = 0; n < g->nodes.count; n++) {
    const fnzi_node *node = &g->nodes.data[n];
    if (!fnzi_stp_heads_find(g, node, heads))
      continue;
    mark(g, node->args[KEY].u.value, heads[0], uses, *unread);
    mark(g, node->args[VALUE].u.value, heads[1], uses, *unread);
  }
  return FNZ_OK;
}
