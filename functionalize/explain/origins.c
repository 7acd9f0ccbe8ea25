/* origins.c - per node of a functional program: the node of the source that it comes from, and why.
 *
 * needs   the notes of the pass: pointers into the source
 * gives   indices and a reason, which need neither program any more */
#include "functionalize/explain/explain.h"

#include "views/steps.h"

#include <fnz/explain.h>

#include <stdlib.h>

FNZI_EXPL_NAMES(fnz_reason, FNZ_REASON_ROWS)

/* --- origins ---------------------------------------------------------------------------------- */
struct fnz_origins {
  fnz_origin **graphs; /* per graph of the result, per node */
  size_t *counts, ngraphs;
  fnz_guard_origin *guards; /* per guard of the result */
  size_t nguards;
  fnzi_arena arena;
};

void fnz_origins_destroy(fnz_origins *origins) {
  if (!origins)
    return;
  fnz_context *ctx = origins->arena.ctx;
  fnzi_arena_free(&origins->arena);
  fnzi_free(ctx, origins, sizeof *origins);
}

const fnz_origin *fnz_origins_at(const fnz_origins *origins, size_t graph, size_t node) {
  bool is_there = graph < origins->ngraphs && node < origins->counts[graph];
  return is_there ? &origins->graphs[graph][node] : NULL;
}

fnz_guard_origin fnz_origins_guard(const fnz_origins *origins, size_t k) {
  return k < origins->nguards ? origins->guards[k] : (fnz_guard_origin){NULL, SIZE_MAX, SIZE_MAX};
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

static const fnz_origin nowhere = {.reason = FNZ_REASON_PART,
                                   .node = SIZE_MAX,
                                   .reader = SIZE_MAX,
                                   .output = SIZE_MAX,
                                   .view = SIZE_MAX};

/* Other nodes without notes compute sizes for the next node, or end the program. */
static void fill_gaps(fnz_origins *o, const fnz_program *from, const fnz_program *to) {
  for (size_t g = 0; g < o->ngraphs; g++) {
    fnz_origin next = nowhere;
    next.output = to->graphs.data[g].noutputs ? to->graphs.data[g].noutputs - 1 : 0;
    for (size_t n = o->counts[g]; n-- > 0;) {
      fnz_origin *at = &o->graphs[g][n];
      /* The pass at fixed sizes has no node that computes sizes. The source has it under the same
       * name. */
      const fnzi_node *node = fnzi_node_at(to, (uint32_t)g, (uint32_t)n);
      uint32_t there;
      const bool is_gap = at->node == SIZE_MAX && at->output == SIZE_MAX;
      if (is_gap && fnzi_expl_counterpart(to, (uint32_t)g, node, from, &there) &&
          strcmp(fnzi_node_target(fnzi_node_at(from, (uint32_t)g, there)),
                 fnzi_node_target(node)) == 0) {
        *at = nowhere;
        at->reason = FNZ_REASON_COMPUTED;
        at->graph = at->reader_graph = g;
        at->node = at->reader = there;
      } else if (is_gap) {
        *at = next;
      }
      next = *at;
      next.reason = FNZ_REASON_PART;
    }
  }
}

/* A condition comes from the source, from a question of the pass, or from sizes that were tried. */
static void find_guard(const fnzi_node_finder *from, const fnz_guard *guard,
                       const fnzi_notes *notes, fnz_guard_origin *out) {
  *out = (fnz_guard_origin){"one of these inputs is written", SIZE_MAX, SIZE_MAX};
  if (!guard->text)
    return;
  bool has_guard = false;
  for (size_t i = 0; !has_guard && i < from->p->guards.count; i++)
    has_guard =
        from->p->guards.data[i].text && strcmp(from->p->guards.data[i].text, guard->text) == 0;
  out->why = has_guard ? "the source has it"
                       : "other sizes were tried, and the program needs other operators there";
  for (size_t i = 0; i < notes->guards.count; i++) {
    const fnzi_guard_note *note = &notes->guards.data[i];
    if (strcmp(note->text, guard->text) != 0)
      continue;
    out->why = note->question;
    fnzi_node_finder_find(from, note->node, &out->graph, &out->node);
  }
}

static fnz_status find_all(fnz_origins *o, const fnz_program *from, const fnz_program *to,
                           const fnzi_notes *notes) {
  fnzi_node_finder finder;
  o->ngraphs = to->graphs.count;
  FNZI_NEW(&o->arena, o->ngraphs, &o->graphs);
  FNZI_NEW(&o->arena, o->ngraphs, &o->counts);
  for (size_t g = 0; g < o->ngraphs; g++) {
    o->counts[g] = to->graphs.data[g].nodes.count;
    FNZI_NEW(&o->arena, o->counts[g], &o->graphs[g]);
  }
  FNZ_TRY(fnzi_node_finder_make(&o->arena, from, &finder));
  for (size_t g = 0; g < o->ngraphs; g++)
    for (size_t n = 0; n < o->counts[g]; n++)
      o->graphs[g][n] = nowhere;
  for (size_t i = 0; i < notes->nodes.count; i++) {
    const fnzi_note *note = &notes->nodes.data[i];
    if (note->graph < o->ngraphs && note->node < o->counts[note->graph]) {
      fnz_origin *out = &o->graphs[note->graph][note->node];
      const fnzi_why *why = &note->why;
      const fnzi_node *node = fnzi_node_at(to, note->graph, note->node);
      *out = (fnz_origin){.reason = reason_of(why, node->op), .output = SIZE_MAX};
      fnzi_node_finder_find(&finder, why->reader, &out->reader_graph, &out->reader);
      fnzi_node_finder_find(&finder, why->view, &out->view_graph, &out->view);
      const fnzi_node *whose = why->node ? why->node : why->view ? why->view : why->reader;
      fnzi_node_finder_find(&finder, whose, &out->graph, &out->node);
      if (!why->reader)
        out->output = why->output;
    }
  }
  fill_gaps(o, from, to);
  o->nguards = to->guards.count;
  FNZI_NEW(&o->arena, o->nguards, &o->guards);
  for (size_t k = 0; k < o->nguards; k++)
    find_guard(&finder, &to->guards.data[k], notes, &o->guards[k]);
  return FNZ_OK;
}

fnz_status fnzi_expl_origins_make(fnz_context *ctx, const fnz_program *from, const fnz_program *to,
                                  const fnzi_notes *notes, fnz_origins **out) {
  fnz_origins *o = fnzi_resize(ctx, NULL, 0, sizeof *o);
  *out = NULL;
  if (!o)
    return fnzi_no_memory(ctx);
  *o = (fnz_origins){.ngraphs = 0};
  fnzi_arena_init(&o->arena, ctx);
  fnz_status status = find_all(o, from, to, notes);
  if (status == FNZ_OK)
    *out = o;
  else
    fnz_origins_destroy(o);
  return status;
}

static void lead_on(size_t *graph, size_t *node, const fnzi_source_node *const *sources) {
  if (*node == SIZE_MAX)
    return;
  const fnzi_source_node at = sources[*graph][*node];
  *graph = at.graph;
  *node = at.node;
}

void fnzi_expl_origins_lead_on(fnz_origins *o, const fnzi_source_node *const *sources) {
  for (size_t g = 0; g < o->ngraphs; g++)
    for (size_t n = 0; n < o->counts[g]; n++) {
      fnz_origin *at = &o->graphs[g][n];
      lead_on(&at->graph, &at->node, sources);
      lead_on(&at->reader_graph, &at->reader, sources);
      lead_on(&at->view_graph, &at->view, sources);
    }
}

fnz_status fnzi_expl_origins_add(fnz_origins *o, size_t graph, size_t output) {
  const size_t had = o->counts[graph];
  fnz_origin *all;
  FNZI_NEW(&o->arena, had + 1, &all);
  for (size_t n = 0; n < had; n++)
    all[n] = o->graphs[graph][n];
  all[had] = nowhere;
  all[had].reason = FNZ_REASON_OWN;
  all[had].output = output;
  o->graphs[graph] = all;
  o->counts[graph] = had + 1;
  return FNZ_OK;
}

/* --- steps ------------------------------------------------------------------------------------ */
/* How many nodes of the result come from each node of the source, graph by graph. */
static fnz_status count_origins(fnzi_arena *arena, const fnz_program *from, const fnz_origins *o,
                                uint32_t ***out) {
  FNZI_NEW(arena, from->graphs.count, out);
  for (size_t g = 0; g < from->graphs.count; g++)
    FNZI_NEW(arena, from->graphs.data[g].nodes.count, &(*out)[g]);
  for (size_t g = 0; g < o->ngraphs; g++)
    for (size_t n = 0; n < o->counts[g]; n++) {
      const fnz_origin *at = &o->graphs[g][n];
      if (at->node != SIZE_MAX)
        (*out)[at->graph][at->node]++;
    }
  return FNZ_OK;
}

fnz_status fnzi_expl_steps_mark(fnz_context *ctx, const fnz_program *from, const fnz_program *to,
                                fnz_origins *origins) {
  fnzi_arena scratch;
  uint32_t **counts;
  fnzi_arena_init(&scratch, ctx);
  fnz_status status = count_origins(&scratch, from, origins, &counts);
  for (size_t g = 0; status == FNZ_OK && g < origins->ngraphs; g++)
    for (size_t n = 0; n < origins->counts[g]; n++) {
      fnz_origin *at = &origins->graphs[g][n];
      const fnzi_node *node = fnzi_node_at(to, (uint32_t)g, (uint32_t)n);
      if (at->node == SIZE_MAX || !node->op || !node->noutputs)
        continue; /* it is about sizes */
      const fnzi_node *whole = fnzi_node_at(from, (uint32_t)at->graph, (uint32_t)at->node);
      bool is_step = whole->op ? whole->op != node->op || counts[at->graph][at->node] > 1
                               : strncmp(fnzi_node_target(whole), "higher_order.", 13) == 0;
      at->reason = is_step ? FNZ_REASON_STEP : FNZ_REASON_COMPUTED;
    }
  fnzi_arena_free(&scratch);
  return status;
}
