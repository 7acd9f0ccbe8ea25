/* origins.c - where each node of a functional program comes from, as its users see it.
 *
 * needs   what the pass noted while it was asked: per node of the result pointers into the source
 * gives   indices and a reason, which need neither program any more */
#include "functionalize/pass/pass.h"

#include "views/steps.h"

#include <fnz/explain.h>

#include <stdlib.h>

static const struct {
  const char *name, *words;
} reasons[] = {
#define ROW(id, name, words) {name, words},
    FNZ_REASON_ROWS(ROW)
#undef ROW
};

const char *fnz_reason_name(fnz_reason reason) {
  return (unsigned)reason < FNZ_REASON_COUNT ? reasons[reason].name : "?";
}

const char *fnz_reason_words(fnz_reason reason) {
  return (unsigned)reason < FNZ_REASON_COUNT ? reasons[reason].words : "?";
}

/* --- what was asked --------------------------------------------------------------------------- */
void fnzi_asked_forget(fnzi_asked *asked) {
  asked->made.count = asked->failures.count = asked->unread.count = asked->first.count = 0;
}

/* Entries from the first one of the graph on move up; what they are the first of moves with them.
 */
static void forget_graph(fnzi_asked *asked, uint32_t graph) {
  size_t kept = asked->first.data[graph];
  for (size_t i = kept; i < asked->made.count; i++) {
    const fnzi_made made = asked->made.data[i];
    if (made.graph == graph)
      continue;
    if (asked->first.data[made.graph] == i)
      asked->first.data[made.graph] = kept;
    asked->made.data[kept++] = made;
  }
  asked->made.count = kept;
}

fnz_status fnzi_asked_restart(fnz_context *ctx, fnzi_asked *asked, uint32_t graph) {
  const size_t none = SIZE_MAX;
  while (asked->first.count <= graph)
    FNZI_PUSH(ctx, &asked->first, none);
  if (asked->first.data[graph] != none)
    forget_graph(asked, graph);
  asked->first.data[graph] = asked->made.count;
  return FNZ_OK;
}

fnz_status fnzi_asked_arrange(fnz_context *ctx, fnzi_asked *asked, const uint32_t *order,
                              uint32_t count) {
  size_t kept = 0, bytes = asked->first.count * sizeof(uint32_t);
  uint32_t *place = fnzi_resize(ctx, NULL, 0, bytes);
  if (!place && bytes)
    return fnzi_no_memory(ctx);
  for (size_t g = 0; g < asked->first.count; g++)
    place[g] = count;
  for (uint32_t k = 0; k < count; k++)
    if (order[k] < asked->first.count)
      place[order[k]] = k;
  for (size_t i = 0; i < asked->made.count; i++) {
    fnzi_made made = asked->made.data[i];
    made.graph = place[made.graph];
    if (made.graph < count)
      asked->made.data[kept++] = made;
  }
  asked->made.count = kept;
  asked->first.count = 0;
  fnzi_free(ctx, place, bytes);
  return FNZ_OK;
}

void fnzi_asked_end(fnz_context *ctx, fnzi_asked *asked) {
  FNZI_VEC_FREE(ctx, &asked->made);
  FNZI_VEC_FREE(ctx, &asked->first);
  FNZI_VEC_FREE(ctx, &asked->failures);
  FNZI_VEC_FREE(ctx, &asked->unread);
}

static fnz_status push_unread(fnz_context *ctx, fnzi_asked *asked, const fnzi_node *write) {
  FNZI_PUSH(ctx, &asked->unread, write);
  return FNZ_OK;
}

void fnzi_asked_unread(fnz_context *ctx, fnzi_asked *asked, const fnzi_node *write) {
  if (write && asked && asked->lints && push_unread(ctx, asked, write) != FNZ_OK)
    asked->lost = true;
}

/* --- nodes by their addresses ----------------------------------------------------------------- */
/* An address, and the graph whose nodes it is the first of. */
typedef struct first_node {
  uintptr_t at;
  uint32_t graph;
} first_node;

static int by_address(const void *a, const void *b) {
  const first_node *x = a, *y = b;
  return x->at < y->at ? -1 : x->at > y->at;
}

fnz_status fnzi_finder_of(fnzi_arena *arena, const fnz_program *p, fnzi_finder *out) {
  first_node *rows;
  *out = (fnzi_finder){.p = p};
  FNZI_NEW(arena, p->graphs.count, &rows);
  FNZI_NEW(arena, p->graphs.count, &out->order);
  for (size_t g = 0; g < p->graphs.count; g++)
    if (p->graphs.data[g].nodes.count)
      rows[out->count++] = (first_node){(uintptr_t)p->graphs.data[g].nodes.data, (uint32_t)g};
  qsort(rows, out->count, sizeof *rows, by_address);
  for (size_t k = 0; k < out->count; k++)
    out->order[k] = rows[k].graph;
  return FNZ_OK;
}

bool fnzi_find_node(const fnzi_finder *finder, const fnzi_node *node, size_t *graph,
                    size_t *index) {
  size_t low = 0, high = finder->count;
  *index = SIZE_MAX;
  while (node && low + 1 < high) {
    size_t middle = low + (high - low) / 2;
    bool is_behind = node >= finder->p->graphs.data[finder->order[middle]].nodes.data;
    *(is_behind ? &low : &high) = middle;
  }
  if (!node || !finder->count)
    return false;
  const fnzi_graph *g = &finder->p->graphs.data[finder->order[low]];
  if (node < g->nodes.data || node >= g->nodes.data + g->nodes.count)
    return false;
  *graph = finder->order[low];
  *index = (size_t)(node - g->nodes.data);
  return true;
}

/* --- the same for another program with the same names -------------------------------------------
 */
/* The first value that a node defines; NULL when it defines none. */
static const fnz_arg *first_result(const fnzi_node *node) {
  for (uint32_t k = 0; k < node->noutputs; k++) {
    const fnz_arg *output = &node->outputs[k];
    for (uint32_t i = 0; output->tag == FNZ_ARG_LIST && i < output->count; i++)
      if (fnzi_is_reference(&output->u.list[i]))
        return &output->u.list[i];
    if (fnzi_is_reference(output))
      return output;
  }
  return NULL;
}

/* The node of `to` that stands for a node of `from`; false when there is none. */
static bool find_twin(const fnz_program *from, uint32_t graph, const fnzi_node *node,
                      const fnz_program *to, uint32_t *index) {
  const fnz_arg *result = first_result(node);
  uint64_t value;
  if (!result || graph >= to->graphs.count)
    return false;
  const char *name = fnzi_value_at(from, graph, result->u.value)->name;
  if (!fnzi_value_find(to, graph, name, strlen(name), &value))
    return false;
  *index = fnzi_value_at(to, graph, value)->node;
  return *index != FNZI_NO_NODE;
}

/* Of one without results, an assertion: as many of its operator behind the last node that has some,
 * or behind the start. */
static bool find_silent_twin(const fnz_program *from, uint32_t graph, size_t at,
                             const fnz_program *to, uint32_t *index) {
  const fnzi_graph *g = fnzi_graph_at(from, graph);
  const fnz_op *op = g->nodes.data[at].op;
  size_t behind = 0;
  bool found = false;
  while (!found && at > 0) {
    behind += g->nodes.data[at].op == op;
    found = find_twin(from, graph, &g->nodes.data[--at], to, index);
  }
  if (!found) {
    *index = UINT32_MAX;
    behind += g->nodes.data[0].op == op;
  }
  for (g = fnzi_graph_at(to, graph); behind > 0 && ++*index < g->nodes.count;)
    behind -= g->nodes.data[*index].op == op;
  return op && behind == 0;
}

static void move_node(const fnzi_finder *finder, const fnz_program *from, const fnzi_node **node) {
  const fnz_program *source = finder->p;
  size_t graph, index;
  uint32_t twin;
  bool found =
      fnzi_find_node(finder, *node, &graph, &index) &&
      (first_result(*node) ? find_twin(source, (uint32_t)graph, *node, from, &twin)
                           : find_silent_twin(source, (uint32_t)graph, index, from, &twin));
  *node = found ? fnzi_node_at(from, (uint32_t)graph, twin) : NULL;
}

static void move(fnzi_asked *asked, const fnzi_finder *finder, const fnz_program *made,
                 const fnz_program *from, const fnz_program *to) {
  size_t kept = 0;
  for (size_t i = 0; i < asked->made.count; i++) {
    fnzi_made m = asked->made.data[i];
    if (!find_twin(made, m.graph, fnzi_node_at(made, m.graph, m.node), to, &m.node))
      continue;
    move_node(finder, from, &m.why.node);
    move_node(finder, from, &m.why.reader);
    move_node(finder, from, &m.why.view);
    asked->made.data[kept++] = m;
  }
  asked->made.count = kept;
  kept = 0;
  for (size_t i = 0; i < asked->unread.count; i++) {
    move_node(finder, from, &asked->unread.data[i]);
    if (asked->unread.data[i])
      asked->unread.data[kept++] = asked->unread.data[i];
  }
  asked->unread.count = kept;
}

/* In place; what has no counterpart goes. */
fnz_status fnzi_asked_move(fnz_context *ctx, fnzi_asked *asked, const fnz_program *source,
                           const fnz_program *made, const fnz_program *from,
                           const fnz_program *to) {
  fnzi_finder finder;
  fnzi_arena arena;
  fnzi_arena_init(&arena, ctx);
  fnz_status status = fnzi_finder_of(&arena, source, &finder);
  if (status == FNZ_OK)
    move(asked, &finder, made, from, to);
  fnzi_arena_free(&arena);
  return status;
}

/* --- origins ---------------------------------------------------------------------------------- */
struct fnz_origins {
  fnz_origin **graphs; /* per graph of the result, per node */
  size_t *counts, ngraphs;
  fnzi_arena arena;
};

void fnz_origins_destroy(fnz_context *ctx, fnz_origins *origins) {
  if (!origins)
    return;
  fnzi_arena_free(&origins->arena);
  fnzi_free(ctx, origins, sizeof *origins);
}

const fnz_origin *fnz_origins_at(const fnz_origins *origins, size_t graph, size_t node) {
  bool is_there = graph < origins->ngraphs && node < origins->counts[graph];
  return is_there ? &origins->graphs[graph][node] : NULL;
}

static fnz_reason reason_of(const fnzi_why *why, const fnz_op *op) {
  static const struct {
    fnzi_emit_op op;
    fnz_reason reason;
  } rows[] = {{FNZI_EMIT_TO_COPY, FNZ_REASON_CAST},
              {FNZI_EMIT_EXPAND_COPY, FNZ_REASON_BROADCAST},
              {FNZI_EMIT_VIEW_COPY, FNZ_REASON_BROADCAST},
              {FNZI_EMIT_FULL, FNZ_REASON_FILL}};
  const fnz_op *from = why->node ? why->node->op : NULL;
  if (why->cause == FNZI_CAUSE_READ)
    return FNZ_REASON_VIEW_READ;
  if (why->cause == FNZI_CAUSE_WRITE)
    return FNZ_REASON_WRITE_BACK;
  if (!from && op == fnzi_emitted_op(FNZI_EMIT_CLONE))
    return FNZ_REASON_OWN;
  if (!from || !op)
    return FNZ_REASON_COMPUTED;
  if (fnz_op_is_view(from) && (from == op || fnzi_op_is_copy(op)))
    return FNZ_REASON_COPY;
  if (from == op || fnz_op_functional_twin(from) == op)
    return FNZ_REASON_COMPUTED;
  for (size_t i = 0; fnz_op_is_mutating(from) && i < sizeof rows / sizeof *rows; i++)
    if (op == fnzi_emitted_op(rows[i].op))
      return rows[i].reason;
  return fnzi_op_is_copy(op) ? FNZ_REASON_COPY : FNZ_REASON_PART;
}

static void fill(const fnzi_finder *from, const fnz_program *to, const fnzi_made *made,
                 fnz_origin *out) {
  const fnzi_why *why = &made->why;
  const fnzi_node *node = fnzi_node_at(to, made->graph, made->node);
  *out = (fnz_origin){.reason = reason_of(why, node->op), .output = SIZE_MAX};
  fnzi_find_node(from, why->reader, &out->reader_graph, &out->reader);
  fnzi_find_node(from, why->view, &out->view_graph, &out->view);
  const fnzi_node *whose = why->node ? why->node : why->view ? why->view : why->reader;
  fnzi_find_node(from, whose, &out->graph, &out->node);
  if (!why->reader)
    out->output = why->output;
}

static fnz_status make_room(fnz_origins *o, const fnz_program *to) {
  o->ngraphs = to->graphs.count;
  FNZI_NEW(&o->arena, o->ngraphs, &o->graphs);
  FNZI_NEW(&o->arena, o->ngraphs, &o->counts);
  for (size_t g = 0; g < o->ngraphs; g++) {
    o->counts[g] = to->graphs.data[g].nodes.count;
    FNZI_NEW(&o->arena, o->counts[g], &o->graphs[g]);
  }
  return FNZ_OK;
}

static const fnz_origin nowhere = {.reason = FNZ_REASON_PART,
                                   .node = SIZE_MAX,
                                   .reader = SIZE_MAX,
                                   .output = SIZE_MAX,
                                   .view = SIZE_MAX};

static bool is_nowhere(const fnz_origin *o) {
  return o->node == SIZE_MAX && o->output == SIZE_MAX;
}

/* A node of sizes, which the pass does not see: the source has it under the same name. */
static void find_by_name(const fnz_program *from, const fnz_program *to, size_t graph, size_t node,
                         fnz_origin *out) {
  const fnzi_node *n = fnzi_node_at(to, (uint32_t)graph, (uint32_t)node);
  uint32_t twin;
  if (!find_twin(to, (uint32_t)graph, n, from, &twin) ||
      strcmp(fnzi_node_target(fnzi_node_at(from, (uint32_t)graph, twin)), fnzi_node_target(n)) != 0)
    return;
  *out = nowhere;
  out->reason = FNZ_REASON_COMPUTED;
  out->graph = out->reader_graph = graph;
  out->node = out->reader = twin;
}

/* Other nodes that nobody noted compute sizes for what follows, or end the program. */
static void fill_gaps(fnz_origins *o, const fnz_program *from, const fnz_program *to) {
  for (size_t g = 0; g < o->ngraphs; g++) {
    fnz_origin next = nowhere;
    next.output = to->graphs.data[g].noutputs ? to->graphs.data[g].noutputs - 1 : 0;
    for (size_t n = o->counts[g]; n-- > 0;) {
      fnz_origin *at = &o->graphs[g][n];
      if (is_nowhere(at))
        find_by_name(from, to, g, n, at);
      if (is_nowhere(at))
        *at = next;
      next = *at;
      next.reason = FNZ_REASON_PART;
    }
  }
}

static fnz_status find_all(fnz_origins *o, const fnz_program *from, const fnz_program *to,
                           const fnzi_asked *asked) {
  fnzi_finder finder;
  FNZ_TRY(make_room(o, to));
  FNZ_TRY(fnzi_finder_of(&o->arena, from, &finder));
  for (size_t g = 0; g < o->ngraphs; g++)
    for (size_t n = 0; n < o->counts[g]; n++)
      o->graphs[g][n] = nowhere;
  for (size_t i = 0; i < asked->made.count; i++) {
    const fnzi_made *made = &asked->made.data[i];
    if (made->graph < o->ngraphs && made->node < o->counts[made->graph])
      fill(&finder, to, made, &o->graphs[made->graph][made->node]);
  }
  fill_gaps(o, from, to);
  return FNZ_OK;
}

fnz_status fnzi_origins_new(fnz_context *ctx, const fnz_program *from, const fnz_program *to,
                            const fnzi_asked *asked, fnz_origins **out) {
  fnz_origins *o = fnzi_resize(ctx, NULL, 0, sizeof *o);
  *out = NULL;
  if (!o)
    return fnzi_no_memory(ctx);
  *o = (fnz_origins){.ngraphs = 0};
  fnzi_arena_init(&o->arena, ctx);
  fnz_status status = find_all(o, from, to, asked);
  if (status == FNZ_OK)
    *out = o;
  else
    fnz_origins_destroy(ctx, o);
  return status;
}

fnz_status fnz_functionalize_explained(fnz_context *ctx, const fnz_program *program,
                                       const fnz_functionalize_options *options, fnz_program **out,
                                       fnz_origins **origins) {
  fnzi_asked asked = {.lints = false};
  *origins = NULL;
  fnz_status status = fnzi_functionalize_asked(ctx, program, options, &asked, out);
  if (status == FNZ_OK)
    status = fnzi_origins_new(ctx, program, *out, &asked, origins);
  fnzi_asked_end(ctx, &asked);
  if (status == FNZ_OK)
    return FNZ_OK;
  fnz_program_destroy(*out);
  *out = NULL;
  return status;
}
