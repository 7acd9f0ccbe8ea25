/* memories.c - which memory each value of a traced program lies in, and what nodes do to it.
 *
 * needs   a verified program, and the origins of its functional form
 * gives   memories and events, in the order of nodes. Values of a body lie in memories of their
 *         own, because a body may be entered from several places */
#include "mutations/mutations.h"
#include "page/page.h"
#include "run/run.h"
#include "views/composites.h"

/* The effects of an operator, found once for all of its nodes. */
enum {
  IS_VIEW = 1,      /* its result is a window */
  MAY_VIEW = 2,     /* its result is a window, or the argument itself, unless it is computed */
  IS_WRITE = 4,     /* it writes, and the old elements do not count */
  IS_UPDATE = 8,    /* it reads and writes */
  MOVES_TARGET = 16 /* its first argument becomes a name of other memory */
};

typedef struct follower {
  fnz_context *ctx;
  fnzi_arena *arena;
  const fnz_program *p;
  const bool *computed; /* per node: some functional node computes or copies it */
  fnzi_page_memories *out;
  fnzi_map kinds;       /* operator -> its effects */
  uint32_t graph, node; /* the current ones; `node` through all graphs */
  uint32_t *where;      /* per value of the graph: its memory */
} follower;

fnz_status fnzi_page_bases(fnzi_arena *arena, const fnz_program *p, uint32_t **out) {
  uint32_t count = (uint32_t)p->graphs.count;
  FNZI_NEW(arena, count + 1, out);
  for (uint32_t g = 0; g < count; g++)
    (*out)[g + 1] = (*out)[g] + (uint32_t)fnzi_graph_at(p, g)->nodes.count;
  return FNZ_OK;
}

/* --- Effects of operators --------------------------------------------------------------------- */
static uint64_t kind_of(const fnz_op *op) {
  if (!fnz_op_is_mutating(op))
    return fnzi_composite_find(op) ? MAY_VIEW : fnz_op_is_view(op) ? IS_VIEW : 0;
  if (fnzi_view_find(op))
    return IS_VIEW;
  switch (fnzi_mutation_find(op)) {
  case FNZI_MUTATION_COPY:
  case FNZI_MUTATION_FILL:
  case FNZI_MUTATION_ZERO:
    return IS_WRITE;
  case FNZI_MUTATION_SET:
  case FNZI_MUTATION_SET_WINDOW:
  case FNZI_MUTATION_SET_EMPTY:
    return MOVES_TARGET;
  case FNZI_MUTATION_NONE:
  case FNZI_MUTATION_NOTHING:
  case FNZI_MUTATION_WAIT:
    return 0;
  case FNZI_MUTATION_TWIN:
  case FNZI_MUTATION_LIST:
  case FNZI_MUTATION_WINDOWS:
  case FNZI_MUTATION_RESIZE:
  case FNZI_MUTATION_BATCH_NORM:
  case FNZI_MUTATION_INSTANCE_NORM:
  case FNZI_MUTATION_UNDECLARED:
  case FNZI_MUTATION_REFUSED:
    break;
  }
  return IS_UPDATE;
}

/* --- Events ----------------------------------------------------------------------------------- */
static fnz_status add_event(follower *f, uint64_t value, fnzi_page_event_kind kind) {
  const fnzi_page_event e = {f->where[value], f->node, kind,
                             fnzi_value_at(f->p, f->graph, value)->geometry};
  if (e.memory == FNZI_PAGE_NONE)
    return FNZ_OK;
  if (kind != FNZI_PAGE_READ && kind != FNZI_PAGE_OUTPUT)
    f->out->all.data[e.memory].is_shown = true;
  FNZI_PUSH(f->ctx, &f->out->events, e);
  return FNZ_OK;
}

static fnz_status add_events(follower *f, const fnz_arg *args, uint32_t count,
                             fnzi_page_event_kind kind) {
  FNZI_EACH_ARG(each, args, count)
    if (each.arg->tag == FNZ_ARG_VALUE)
      FNZ_TRY(add_event(f, each.arg->u.value, kind));
  return FNZ_OK;
}

static fnz_status new_memory(follower *f, uint64_t value, uint32_t node) {
  const fnzi_page_memory m = {f->graph, (uint32_t)value, node, false};
  if (!fnzi_value_at(f->p, f->graph, value)->geometry)
    return FNZ_OK;
  f->where[value] = (uint32_t)f->out->all.count;
  FNZI_PUSH(f->ctx, &f->out->all, m);
  return FNZ_OK;
}

/* --- Memory of results ------------------------------------------------------------------------ */
/* The first value in an argument, or its item `k` where it is a list that long. */
static const fnz_arg *value_in(const fnz_arg *arg, size_t k) {
  if (arg->tag == FNZ_ARG_LIST)
    arg = arg->count ? &arg->u.list[k < arg->count ? k : 0] : arg;
  return arg->tag == FNZ_ARG_VALUE ? arg : NULL;
}

static fnz_status place_result(follower *f, const fnzi_node *n, uint32_t r, size_t k,
                               const fnz_arg *result, uint64_t kind) {
  if (result->tag != FNZ_ARG_VALUE)
    return FNZ_OK;
  /* The argument in whose memory item `k` of result `r` lies; NULL for memory of its own. */
  const fnz_arg *base = NULL;
  uint32_t sets = kind && r < n->op->nreturns ? n->op->returns[r].alias : 0;
  for (uint32_t i = 0; sets && !base && i < n->nargs && i < n->op->nparams; i++)
    base = n->op->params[i].alias & sets ? value_in(&n->args[i], k) : NULL;
  for (uint32_t i = 0; kind & MAY_VIEW && !base && i < n->nargs; i++)
    base = value_in(&n->args[i], k);
  if (!base || f->where[base->u.value] == FNZI_PAGE_NONE)
    return new_memory(f, result->u.value, f->node);
  f->where[result->u.value] = f->where[base->u.value];
  return kind & (IS_VIEW | MAY_VIEW) ? add_event(f, result->u.value, FNZI_PAGE_VIEW) : FNZ_OK;
}

/* --- Nodes ------------------------------------------------------------------------------------ */
static fnzi_page_event_kind event_of(const fnzi_node *n, uint32_t i, uint64_t kind) {
  /* In training a normalization writes its statistics, which its schema does not mention. */
  if (n->op && (i == FNZI_RUN_NORM_MEAN || i == FNZI_RUN_NORM_VAR) && fnzi_run_is_norm(n->op) &&
      fnzi_run_node_writes(n))
    return FNZI_PAGE_UPDATE;
  if (!n->op || i >= n->op->nparams || !n->op->params[i].is_write ||
      !(kind & (IS_WRITE | IS_UPDATE)))
    return FNZI_PAGE_READ;
  return kind & IS_WRITE || n->op->params[i].is_out ? FNZI_PAGE_WRITE : FNZI_PAGE_UPDATE;
}

static fnz_status follow_node(follower *f, const fnzi_node *n) {
  uint64_t kind = 0;
  if (n->op) {
    const fnz_op *op = n->op;
    if (!fnzi_map_get(&f->kinds, &op, sizeof op, &kind)) {
      kind = kind_of(op);
      const fnz_op **key;
      FNZI_NEW(f->arena, 1, &key);
      *key = op;
      FNZ_TRY(fnzi_map_set(&f->kinds, key, sizeof *key, kind));
    }
  }
  if (kind & MAY_VIEW && f->computed[f->node])
    kind = 0;
  if (kind & MOVES_TARGET) {
    /* set_ */
    if (n->args[0].tag == FNZ_ARG_VALUE) {
      if (n->nargs > 1 && n->args[1].tag == FNZ_ARG_VALUE)
        f->where[n->args[0].u.value] = f->where[n->args[1].u.value];
      else
        FNZ_TRY(new_memory(f, n->args[0].u.value, f->node));
      FNZ_TRY(add_event(f, n->args[0].u.value, FNZI_PAGE_VIEW));
    }
  }
  /* A size or a stride of a tensor is no element of it. */
  bool is_number = n->noutputs > 0 && n->outputs[0].tag == FNZ_ARG_SYMBOL;
  bool reads = (!n->op || !is_number || fnzi_op_is_item(n->op)) &&
               !(kind & (IS_VIEW | MAY_VIEW | MOVES_TARGET));
  for (uint32_t i = 0; i < n->nargs && reads; i++)
    FNZ_TRY(add_events(f, &n->args[i], 1, event_of(n, i, kind)));
  for (uint32_t r = 0; r < n->noutputs; r++) {
    const fnz_arg *result = &n->outputs[r];
    bool is_list = result->tag == FNZ_ARG_LIST;
    for (uint32_t k = 0; k < (is_list ? result->count : 1); k++)
      FNZ_TRY(place_result(f, n, r, k, is_list ? &result->u.list[k] : result, kind));
  }
  return FNZ_OK;
}

/* An input is in the memory of the first input that has it: by the signature, or as a further name
 * of a weight, such as a buffer that the exporter has also lifted as a constant. `blobs`: the first
 * input of each weight's data. */
static fnz_status place_inputs(follower *f, const fnzi_graph *g, fnzi_map *blobs) {
  for (uint32_t k = 0; k < g->ninputs; k++) {
    uint64_t first = k;
    if (g->inputs[k].tag != FNZ_ARG_VALUE)
      continue;
    if (f->graph == 0) {
      const fnz_input_spec *in = &f->p->inputs[k];
      const fnz_geometry *shown = fnzi_value_at(f->p, 0, g->inputs[k].u.value)->geometry;
      const fnzi_weight *w =
          in->kind == FNZ_INPUT_USER || !in->target ? NULL : fnzi_weight_find(f->p, in->target);
      first = fnzi_memory_of(f->p, k);
      if (!in->shares && shown && w && w->blob && fnzi_geometry_equal(w->geometry, shown) &&
          !fnzi_map_get(blobs, &w->blob, sizeof w->blob, &first))
        FNZ_TRY(fnzi_map_set(blobs, &w->blob, sizeof w->blob, k));
    }
    if (first != k)
      f->where[g->inputs[k].u.value] = f->where[g->inputs[first].u.value];
    else
      FNZ_TRY(new_memory(f, g->inputs[k].u.value, FNZI_PAGE_NONE));
  }
  return FNZ_OK;
}

static fnz_status follow_graph(follower *f, uint32_t graph) {
  const fnzi_graph *g = fnzi_graph_at(f->p, graph);
  fnzi_map blobs;
  f->graph = graph;
  FNZI_NEW(f->arena, g->values.count, &f->where);
  for (size_t v = 0; v < g->values.count; v++)
    f->where[v] = FNZI_PAGE_NONE;
  fnzi_map_init(&blobs, f->ctx);
  fnz_status status = place_inputs(f, g, &blobs);
  fnzi_map_free(&blobs);
  FNZ_TRY(status);
  for (size_t n = 0; n < g->nodes.count; n++, f->node++)
    FNZ_TRY(follow_node(f, &g->nodes.data[n]));
  f->node--; /* outputs are of the last node */
  FNZ_TRY(add_events(f, g->outputs, g->noutputs, FNZI_PAGE_OUTPUT));
  f->node++;
  return FNZ_OK;
}

/* Marks the nodes that functional nodes compute or copy. */
static fnz_status find_computed(follower *f, const fnz_program *functional,
                                const fnz_origins *origins) {
  bool *computed;
  uint32_t *bases;
  FNZ_TRY(fnzi_page_bases(f->arena, f->p, &bases));
  FNZI_NEW(f->arena, bases[f->p->graphs.count], &computed);
  for (uint32_t g = 0; g < functional->graphs.count; g++)
    for (size_t n = 0; n < fnzi_graph_at(functional, g)->nodes.count; n++) {
      const fnz_origin *o = fnz_origins_at(origins, g, n);
      const fnzi_node *made = fnzi_node_at(functional, g, (uint32_t)n);
      /* Parts of views that give numbers, such as sizes, compute nothing. */
      bool is_part =
          o->reason == FNZ_REASON_PART && made->noutputs > 0 && value_in(&made->outputs[0], 0);
      bool makes = o->reason == FNZ_REASON_COMPUTED || o->reason == FNZ_REASON_COPY || is_part;
      if (makes && o->node != SIZE_MAX)
        computed[bases[o->graph] + o->node] = true;
    }
  f->computed = computed;
  return FNZ_OK;
}

fnz_status fnzi_page_memories_find(fnz_context *ctx, fnzi_arena *arena, const fnz_program *traced,
                                   const fnz_program *functional, const fnz_origins *origins,
                                   fnzi_page_memories *out) {
  follower f = {.ctx = ctx, .arena = arena, .p = traced, .out = out};
  fnzi_map_init(&f.kinds, ctx);
  fnz_status status = find_computed(&f, functional, origins);
  for (uint32_t g = 0; status == FNZ_OK && g < traced->graphs.count; g++)
    status = follow_graph(&f, g);
  fnzi_map_free(&f.kinds);
  return status;
}

void fnzi_page_memories_free(fnz_context *ctx, fnzi_page_memories *m) {
  FNZI_VEC_FREE(ctx, &m->all);
  FNZI_VEC_FREE(ctx, &m->events);
}
