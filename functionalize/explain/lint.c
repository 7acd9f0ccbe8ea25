/* lint.c - why a program is refused, and which copies in it can be avoided.
 *
 * The pass itself finds all of this: it goes on after failures (pass/recover.c) and notes why each
 * node is there.
 *
 * needs   the notes of the pass
 * gives   findings with texts of their own, which need no program any more */
#include "functionalize/explain/explain.h"
#include "schema/aten_names.h"

#include <stdio.h>
#include <stdlib.h>

FNZI_EXPL_NAMES(fnz_finding_kind, FNZ_FINDING_ROWS)
FNZI_EXPL_NAMES(fnz_cost_kind, FNZ_COST_ROWS)

void fnz_findings_destroy(fnz_findings *findings) {
  if (!findings)
    return;
  fnz_context *ctx = findings->arena.ctx;
  FNZI_VEC_FREE(ctx, &findings->all);
  fnzi_arena_free(&findings->arena);
  fnzi_free(ctx, findings, sizeof *findings);
}

size_t fnz_findings_count(const fnz_findings *findings) {
  return findings->all.count;
}

const fnz_finding *fnz_findings_at(const fnz_findings *findings, size_t index) {
  return index < findings->all.count ? &findings->all.data[index] : NULL;
}

const char *fnz_findings_no_run(const fnz_findings *findings) {
  return findings->no_run;
}

/* --- findings --------------------------------------------------------------------------------- */
typedef struct linting {
  fnz_context *ctx;
  const fnz_program *from, *to;
  fnzi_node_finder finder; /* of `from` */
  const fnzi_notes *notes;
  fnz_findings *out;
  fnzi_map seen; /* nodes of the source that have a finding already */
} linting;

static fnz_status keep(linting *l, const char *text, const char **out) {
  return fnzi_arena_string(&l->out->arena, text, strlen(text), out);
}

/* Adds a finding. Its place is the node's, unless `where` has one. */
static fnz_status add(linting *l, fnz_finding f, const fnzi_node *node, const char *where,
                      const char *what, const char *remedy) {
  char own[192] = "";
  f.graph = 0;
  if (fnzi_node_finder_find(&l->finder, node, &f.graph, &f.node))
    fnzi_node_place(l->from, (uint32_t)f.graph, (uint32_t)f.node, own);
  FNZ_TRY(keep(l, *where ? where : own, &f.where));
  FNZ_TRY(keep(l, what, &f.what));
  FNZ_TRY(keep(l, remedy, &f.remedy));
  FNZI_PUSH(l->ctx, &l->out->all, f);
  return FNZ_OK;
}

static fnz_finding finding(fnz_finding_kind kind) {
  return (fnz_finding){
      .kind = kind, .view = SIZE_MAX, .reader = SIZE_MAX, .node = SIZE_MAX, .output = SIZE_MAX};
}

/* Once for each node. The map borrows the key from the notes. */
static fnz_status is_new(linting *l, const fnzi_node *const *node, bool *out) {
  uint64_t before;
  *out = !fnzi_map_get(&l->seen, node, sizeof *node, &before);
  return *out ? fnzi_map_set(&l->seen, node, sizeof *node, 1) : FNZ_OK;
}

static fnz_status add_scatter(linting *l, const fnzi_note *note) {
  const fnzi_why *why = &note->why;
  fnz_finding f = finding(FNZ_FINDING_SCATTER);
  const char *what;
  const fnz_geometry *g = NULL;
  const fnzi_node *node = fnzi_node_at(l->to, note->graph, note->node);
  if (node->outputs[0].tag == FNZ_ARG_VALUE)
    g = fnzi_value_at(l->to, note->graph, node->outputs[0].u.value)->geometry;
  fnzi_node_finder_find(&l->finder, why->view, &f.view_graph, &f.view);
  fnzi_node_finder_find(&l->finder, why->reader, &f.reader_graph, &f.reader);
  if (!why->reader)
    f.output = why->output;
  FNZ_TRY(fnzi_arena_format(
      &l->out->arena, &what, "it writes through a view whose base, %lld elements, is needed %s",
      g ? (long long)fnz_geometry_numel(g) : 0LL, why->reader ? "afterwards" : "at the end"));
  return add(
      l, f, why->node, "", what,
      why->reader
          ? "read before the write, or read the window that was written, or build the tensor "
            "in one piece (cat, stack, where)"
          : "return the written part instead of all of it, if that is what callers need");
}

/* A view operator of the source that became a copy of the same dtype. */
static bool copies_as_is(const linting *l, const fnzi_note *note) {
  const fnzi_node *from = note->why.node, *to = fnzi_node_at(l->to, note->graph, note->node);
  bool is_own = note->why.cause == FNZI_CAUSE_NODE && from && from->op && to->op;
  size_t graph, index;
  if (!is_own || !fnz_op_is_view(from->op) || to->noutputs != 1 ||
      to->outputs[0].tag != FNZ_ARG_VALUE || !from->nargs || from->args[0].tag != FNZ_ARG_VALUE ||
      !fnzi_node_finder_find(&l->finder, from, &graph, &index))
    return false;
  const fnz_geometry *a = fnzi_value_at(l->from, (uint32_t)graph, from->args[0].u.value)->geometry;
  const fnz_geometry *b = fnzi_value_at(l->to, note->graph, to->outputs[0].u.value)->geometry;
  return a && b && a->dtype == b->dtype;
}

static fnz_status add_copies(linting *l) {
  bool new;
  for (size_t i = 0; i < l->notes->nodes.count; i++) {
    const fnzi_note *note = &l->notes->nodes.data[i];
    if (note->node >= fnz_node_count(l->to, note->graph))
      continue; /* of a body that was dropped */
    /* A scatter, which copies the rest of the base, and a change of the program could avoid the
     * read of the base. The final value of an input is needed in any case. */
    const fnzi_why *why = &note->why;
    const fnz_op *op = fnzi_node_at(l->to, note->graph, note->node)->op;
    bool is_scatter = why->cause == FNZI_CAUSE_WRITE && op && fnzi_op_is_copy(op) &&
                      op->nparams > 1 && op->params[1].type == FNZI_TYPE_TENSOR;
    bool scatters = is_scatter &&
                    (why->reader || note->graph || why->output >= l->to->graphs.data[0].noutputs ||
                     fnzi_output_is_result(&l->to->outputs[why->output]));
    if (!note->why.node || (!scatters && !copies_as_is(l, note)))
      continue;
    FNZ_TRY(is_new(l, &note->why.node, &new));
    if (!new)
      continue;
    FNZ_TRY(scatters ? add_scatter(l, note)
                     : add(l, finding(FNZ_FINDING_COPY), note->why.node, "",
                           "it copies, because its argument's strides allow no view",
                           "bring the dimensions into this order where the tensor is made"));
  }
  return FNZ_OK;
}

/* A write that has left nodes in the result is needed, though its value seemed unread: for other
 * results, for a final value that is read only at the end, or for its effect. */
static fnz_status add_unread(linting *l) {
  bool new;
  for (size_t i = 0; i < l->notes->nodes.count; i++) {
    const fnzi_why *why = &l->notes->nodes.data[i].why;
    if (why->node && why->cause != FNZI_CAUSE_READ)
      FNZ_TRY(fnzi_map_set(&l->seen, &why->node, sizeof why->node, 1));
  }
  for (size_t i = 0; i < l->notes->unread.count; i++) {
    FNZ_TRY(is_new(l, &l->notes->unread.data[i], &new));
    if (new)
      FNZ_TRY(add(l, finding(FNZ_FINDING_DEAD_WRITE), l->notes->unread.data[i], "",
                  "nothing reads what it writes", "leave it out"));
  }
  return FNZ_OK;
}

/* --- what the exporter did -------------------------------------------------------------------- */
/* For `y.data = z`, torch.export writes only the test whether the assignment is allowed. */
static fnz_status add_lost(linting *l) {
  static const uint16_t asks[] = {FNZI_ATEN__has_compatible_shallow_copy_type};
  for (uint32_t g = 0; g < fnz_graph_count(l->from); g++)
    for (size_t i = 0; i < fnz_node_count(l->from, g); i++) {
      const fnzi_node *n = fnzi_node_at(l->from, g, (uint32_t)i);
      if (fnzi_op_is_among(n->op, asks, 1))
        FNZ_TRY(add(l, finding(FNZ_FINDING_LOST), n, "",
                    "the assignment to .data that was here is not in the program, which goes on "
                    "with the old memory",
                    "copy_() into the tensor, or set_() it"));
    }
  return FNZ_OK;
}

/* --- constants -------------------------------------------------------------------------------- */
/* The first node that writes an argument in the memory of input k; NULL: a body writes it. */
static const fnzi_node *find_writer(const linting *l, uint32_t k) {
  const fnzi_graph *g = fnzi_graph_main(l->from);
  for (size_t n = 0; n < g->nodes.count; n++) {
    const fnzi_node *node = &g->nodes.data[n];
    for (uint32_t i = 0; node->op && i < node->nargs && i < node->op->nparams; i++)
      FNZI_EACH_ARG(each, &node->args[i], node->op->params[i].is_write)
        if (each.arg->tag == FNZ_ARG_VALUE &&
            fnzi_value_memory(l->from, 0, each.arg->u.value) == g->inputs[k].u.value)
          return node;
  }
  return NULL;
}

static fnz_status add_constants(linting *l) {
  const fnzi_graph *g = fnzi_graph_main(l->from);
  for (uint32_t k = 0; k < g->ninputs; k++) {
    char what[FNZI_CONSTANT_WORDS], remedy[FNZI_CONSTANT_WORDS], where[32];
    if (!fnzi_is_written_constant(l->from, l->to, k))
      continue;
    const fnzi_node *node = find_writer(l, k);
    snprintf(where, sizeof where, "input %u", k);
    fnzi_written_constant_say(l->from, k, what, remedy);
    FNZ_TRY(add(l, finding(FNZ_FINDING_CONSTANT), node, node ? "" : where, what, remedy));
  }
  return FNZ_OK;
}

/* --- shared memory ---------------------------------------------------------------------------- */
static fnz_status add_sharing(linting *l) {
  for (uint32_t k = 0; k < l->to->graphs.data[0].noutputs; k++) {
    const fnz_output_spec *spec = &l->to->outputs[k];
    char where[32], what[128];
    bool is_own = spec->sharing == FNZ_SHARING_NEW || spec->sharing == FNZ_SHARING_OWN;
    if (!fnzi_output_is_result(spec) || is_own)
      continue;
    snprintf(where, sizeof where, "output %u", k);
    bool is_input = spec->sharing == FNZ_SHARING_INPUT || spec->sharing == FNZ_SHARING_INPUT_VIEW;
    snprintf(what, sizeof what, "it shares memory with %s %u", is_input ? "input" : "output",
             spec->of);
    FNZ_TRY(add(l, finding(FNZ_FINDING_ALIAS), NULL, where, what,
                "return a clone() if callers write to it"));
  }
  return FNZ_OK;
}

static fnz_status add_guards(linting *l) {
  for (size_t k = 0; k < fnz_program_guard_count(l->to); k++) {
    fnz_guard guard = fnz_program_guard(l->to, k);
    char what[256] = "the result is right as long as these inputs share no memory:";
    if (guard.kind != FNZ_GUARD_DISJOINT)
      continue;
    for (uint32_t i = 0; i < guard.count; i++) {
      size_t used = strlen(what);
      snprintf(what + used, sizeof what - used, " %s", guard.names[i]);
    }
    FNZ_TRY(add(l, finding(FNZ_FINDING_ALIAS), NULL, "inputs", what, ""));
  }
  return FNZ_OK;
}

/* Conditions on sizes that the source does not have. */
static fnz_status add_sizes(linting *l) {
  for (size_t k = 0; k < l->notes->guards.count; k++) {
    const fnzi_guard_note *note = &l->notes->guards.data[k];
    const char *what;
    FNZ_TRY(fnzi_arena_format(&l->out->arena, &what, "the result is for sizes with %s: %s",
                              note->text, note->question));
    FNZ_TRY(add(l, finding(FNZ_FINDING_SIZES), note->node, note->node ? "" : "sizes", what,
                "assert the condition, or clone() what is written; or fix the sizes"));
  }
  return FNZ_OK;
}

/* --- in order --------------------------------------------------------------------------------- */
static int by_node(const void *a, const void *b) {
  const fnz_finding *x = a, *y = b;
  if (x->graph != y->graph)
    return x->graph < y->graph ? -1 : 1;
  if (x->node != y->node)
    return x->node < y->node ? -1 : 1;
  if (x->kind != y->kind)
    return x->kind < y->kind ? -1 : 1;
  return strcmp(x->where, y->where);
}

static fnz_status collect(linting *l) {
  for (size_t i = 0; i < l->notes->failures.count; i++) {
    const fnzi_failure *failure = &l->notes->failures.data[i];
    fnz_finding f = finding(FNZ_FINDING_REFUSED);
    f.error = failure->error.kind;
    FNZ_TRY(add(l, f, failure->node, failure->error.where, failure->error.message, ""));
  }
  size_t first = l->out->all.count;
  FNZ_TRY(add_lost(l));
  if (!l->to)
    return FNZ_OK;
  FNZ_TRY(add_copies(l));
  if (!first) { /* a failed node reads nothing, so that writes seem unread */
    FNZ_TRY(add_unread(l));
    FNZ_TRY(add_constants(l));
    FNZ_TRY(add_sharing(l));
    FNZ_TRY(add_guards(l));
    FNZ_TRY(add_sizes(l));
  }
  if (l->out->all.count > first)
    qsort(l->out->all.data + first, l->out->all.count - first, sizeof *l->out->all.data, by_node);
  return FNZ_OK;
}

static fnz_status collect_new(linting *l, fnz_findings **out) {
  fnz_findings *f = fnzi_resize(l->ctx, NULL, 0, sizeof *f);
  if (!f)
    return fnzi_no_memory(l->ctx);
  *f = (fnz_findings){.no_run = "only the text was looked at"};
  fnzi_arena_init(&f->arena, l->ctx);
  fnzi_map_init(&l->seen, l->ctx);
  l->out = f;
  fnz_status status = fnzi_node_finder_make(&f->arena, l->from, &l->finder);
  if (status == FNZ_OK)
    status = collect(l);
  fnzi_map_free(&l->seen);
  if (status == FNZ_OK)
    *out = f;
  else
    fnz_findings_destroy(f);
  return status;
}

fnz_status fnzi_expl_findings(fnz_context *ctx, const fnz_program *from, const fnz_program *to,
                              fnzi_notes *notes, fnz_status status, fnz_findings **out) {
  *out = NULL;
  if (status == FNZ_UNSUPPORTED || status == FNZ_BAD_INPUT) {
    const fnzi_failure failure = {NULL, *fnz_last_error(ctx)};
    FNZI_PUSH(ctx, &notes->failures, failure);
  } else if (status != FNZ_OK)
    return status;
  if (notes->lost)
    return fnzi_no_memory(ctx);
  linting l = {.ctx = ctx, .from = from, .to = to, .notes = notes};
  return collect_new(&l, out);
}
