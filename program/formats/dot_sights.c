/* dot_sights.c - who sees a write: later nodes that read bytes of it through another window of the
 * same memory.
 *
 * The memory of a value follows from the schemas, its window from the recorded geometry. A window
 * is its range of elements here, so that two combs over one range meet. */
#include "program/formats/dot.h"

#include <string.h>

/* One use of a memory, in the order of nodes. */
typedef struct use {
  uint32_t node;         /* FNZI_NO_NODE: an output */
  uint32_t output, next; /* next: 1 + the index of the next use of the memory; 0: none */
  uint64_t value;
  bool writes, reads;
} use;

typedef struct finder {
  fnz_context *ctx;
  const fnz_program *p;
  uint32_t graph;
  uint64_t *memory; /* per value: the value that the memory was made for */
  uint32_t *last;   /* per value: 1 + the last use of that memory */
  struct {
    use *data;
    size_t count, capacity;
  } uses;
} finder;

static const fnz_geometry *sights_geometry_of(const finder *f, uint64_t value) {
  return fnzi_value_at(f->p, f->graph, value)->geometry;
}

/* --- Windows ---------------------------------------------------------------------------------- */
typedef struct range {
  int64_t low, high; /* elements, behind the last one */
  bool is_dense;     /* no element between is missing */
} range;

static range range_of(const fnz_geometry *g) {
  range r = {0, INT64_MAX, false};
  if (!g->symbols && fnzi_extent(g, &r.low, &r.high))
    r.is_dense = fnzi_is_dense(g);
  return r;
}

/* Some operators may copy, although their schemas have a view. A copy is in rows, and its argument
 * is not, or has another dtype. */
static bool is_copied(const fnz_op *op, const fnz_geometry *from, const fnz_geometry *to) {
  static const char *const names[] = {"reshape", "to", "contiguous", "flatten"};
  bool may_copy = false;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    may_copy = may_copy || strcmp(op->base, names[i]) == 0;
  if (!may_copy || !from || !to)
    return false;
  return from->dtype != to->dtype || (fnzi_is_contiguous(to) && !fnzi_is_contiguous(from));
}

/* --- Memories --------------------------------------------------------------------------------- */
/* Sets the memory of a result: that of an argument if the schema has them alias. */
static void place_result(finder *f, const fnzi_node *n, uint32_t r, uint64_t result) {
  uint32_t sets = n->op && r < n->op->nreturns ? n->op->returns[r].alias : 0;
  f->memory[result] = result;
  for (uint32_t i = 0; sets && i < n->nargs && i < n->op->nparams; i++) {
    const fnz_arg *base = &n->args[i];
    if (base->tag == FNZ_ARG_LIST && base->count)
      base = base->u.list; /* the first one */
    if (!(n->op->params[i].alias & sets) || base->tag != FNZ_ARG_VALUE)
      continue;
    if (!is_copied(n->op, sights_geometry_of(f, base->u.value), sights_geometry_of(f, result)))
      f->memory[result] = f->memory[base->u.value];
    return;
  }
}

static fnz_status add_use(finder *f, use one) {
  uint64_t memory = f->memory[one.value];
  FNZI_PUSH(f->ctx, &f->uses, one);
  if (f->last[memory])
    f->uses.data[f->last[memory] - 1].next = (uint32_t)f->uses.count;
  f->last[memory] = (uint32_t)f->uses.count;
  return FNZ_OK;
}

static fnz_status follow_node(finder *f, uint32_t index) {
  const fnzi_node *n = fnzi_node_at(f->p, f->graph, index);
  bool is_view = n->op && fnz_op_is_view(n->op) && !fnz_op_is_mutating(n->op);
  for (uint32_t i = 0; i < n->nargs && !is_view; i++) {
    bool writes = n->op && i < n->op->nparams && n->op->params[i].is_write;
    FNZI_EACH_ARG(each, &n->args[i], 1)
      if (each.arg->tag == FNZ_ARG_VALUE && sights_geometry_of(f, each.arg->u.value))
        FNZ_TRY(add_use(f, (use){.node = index,
                                 .value = each.arg->u.value,
                                 .writes = writes,
                                 .reads = !writes || (strcmp(n->op->base, "copy_") != 0 &&
                                                      strcmp(n->op->base, "fill_") != 0 &&
                                                      strcmp(n->op->base, "zero_") != 0)}));
  }
  for (uint32_t r = 0; r < n->noutputs; r++)
    FNZI_EACH_ARG(each, &n->outputs[r], 1)
      if (fnzi_is_reference(each.arg))
        place_result(f, n, r, each.arg->u.value);
  return FNZ_OK;
}

static fnz_status follow_graph(finder *f, const fnzi_graph *g) {
  for (size_t v = 0; v < g->values.count; v++)
    f->memory[v] = v;
  for (uint32_t k = 0; f->graph == 0 && k < g->ninputs; k++) {
    uint32_t shares = f->p->inputs[k].shares;
    if (shares && g->inputs[k].tag == FNZ_ARG_VALUE)
      f->memory[g->inputs[k].u.value] = g->inputs[shares - 1].u.value;
  }
  for (uint32_t n = 0; n < g->nodes.count; n++)
    FNZ_TRY(follow_node(f, n));
  for (uint32_t k = 0; k < g->noutputs; k++)
    FNZI_EACH_ARG(each, &g->outputs[k], 1)
      if (each.arg->tag == FNZ_ARG_VALUE)
        FNZ_TRY(add_use(
            f,
            (use){.node = FNZI_NO_NODE, .output = k, .value = each.arg->u.value, .reads = true}));
  return FNZ_OK;
}

/* --- Sights ----------------------------------------------------------------------------------- */
/* Finds who sees the write, until another one replaces all of it. */
static fnz_status find_readers(finder *f, const use *write, fnzi_dot_sights *out) {
  const range written = range_of(sights_geometry_of(f, write->value));
  size_t looked = 0, found = 0;
  uint32_t before = write->node;
  for (uint32_t at = write->next; at && looked < FNZI_DOT_USES && found < FNZI_DOT_SIGHTS;
       at = f->uses.data[at - 1].next, looked++) {
    const use *one = &f->uses.data[at - 1];
    const fnz_geometry *g = sights_geometry_of(f, one->value);
    const range window = g ? range_of(g) : written;
    bool meets = window.low < written.high && written.low < window.high;
    bool is_new = one->node == FNZI_NO_NODE || one->node != before;
    /* There are arrows anyway, from the result of the writer and over views of it. */
    uint64_t memory = fnzi_value_memory(f->p, f->graph, one->value);
    bool is_result = fnzi_value_at(f->p, f->graph, memory)->node == write->node;
    if (meets && one->reads && is_new && !is_result) {
      const fnzi_dot_sight sight = {write->node, one->node, one->output};
      FNZI_PUSH(f->ctx, out, sight);
      found++;
      before = one->node;
    }
    if (one->writes && !one->reads && window.is_dense && window.low <= written.low &&
        window.high >= written.high)
      break;
  }
  return FNZ_OK;
}

fnz_status fnzi_dot_sights_find(fnz_context *ctx, const fnz_program *p, uint32_t graph,
                                fnzi_dot_sights *out) {
  finder f = {.ctx = ctx, .p = p, .graph = graph};
  const fnzi_graph *g = fnzi_graph_at(p, graph);
  fnzi_arena arena;
  fnzi_arena_init(&arena, ctx);
  fnz_status status =
      fnzi_arena_take(&arena, g->values.count, sizeof *f.memory, (void **)&f.memory);
  if (status == FNZ_OK)
    status = fnzi_arena_take(&arena, g->values.count, sizeof *f.last, (void **)&f.last);
  if (status == FNZ_OK) {
    memset(f.last, 0, g->values.count * sizeof *f.last);
    status = follow_graph(&f, g);
  }
  for (size_t i = 0; status == FNZ_OK && i < f.uses.count; i++)
    if (f.uses.data[i].writes)
      status = find_readers(&f, &f.uses.data[i], out);
  FNZI_VEC_FREE(ctx, &f.uses);
  fnzi_arena_free(&arena);
  return status;
}
