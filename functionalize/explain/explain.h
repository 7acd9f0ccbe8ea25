/* explain.h - why a functional program has its nodes, from the notes that the pass has made.
 *
 *   origins.c      per node of the result: the node of the source that it comes from, and why
 *   counterpart.c  notes about one program as notes about another with the same names
 *   deny.c         refuses a result that has operators which the caller does not want
 *   lint.c         what the pass refuses, and which copies can be avoided */
#ifndef FNZI_EXPLAIN_H
#define FNZI_EXPLAIN_H

#include "program/provenance.h"

#include <fnz/explain.h>
#include <fnz/functionalize.h>

/* Defines KIND_name() and KIND_words() of the public enum KIND, which has these rows. */
#define FNZI_EXPL_ROW(id, name, words) {name, words},
#define FNZI_EXPL_NAMES(kind, ROWS)                                                                \
  static const struct { const char *name, *words; } kind##_rows[] = {ROWS(FNZI_EXPL_ROW)};         \
  const char *kind##_name(kind k) {                                                                \
    return (size_t)k < sizeof kind##_rows / sizeof *kind##_rows ? kind##_rows[k].name : "?";       \
  }                                                                                                \
  const char *kind##_words(kind k) {                                                               \
    return (size_t)k < sizeof kind##_rows / sizeof *kind##_rows ? kind##_rows[k].words : "?";      \
  }

/* --- origins.c -------------------------------------------------------------------------------- */
/* Finds the origin of each node of `to`, which was made from `from`. */
FNZ_MUST_CHECK fnz_status fnzi_expl_origins_make(fnz_context *ctx, const fnz_program *from,
                                                 const fnz_program *to, const fnzi_notes *notes,
                                                 fnz_origins **out);

/* Replaces origins in a program by origins in the program that it was made from:
 * sources[graph][node]. */
void fnzi_expl_origins_lead_on(fnz_origins *origins, const fnzi_source_node *const *sources);

/* For a node that was added at the end of a graph, and is its output number `output`. */
FNZ_MUST_CHECK fnz_status fnzi_expl_origins_add(fnz_origins *origins, size_t graph, size_t output);

/* Marks steps in `to`, made from `from` by decomposing operators: a node is a step if its operator
 * differs from its origin's, or if it is one of several. */
FNZ_MUST_CHECK fnz_status fnzi_expl_steps_mark(fnz_context *ctx, const fnz_program *from,
                                               const fnz_program *to, fnz_origins *origins);

/* --- counterpart.c ---------------------------------------------------------------------------- */
/* The node of `to`, in the graph of the same number, that defines the value with the name of the
 * first result of `node`; false when there is none. */
bool fnzi_expl_counterpart(const fnz_program *from, uint32_t graph, const fnzi_node *node,
                           const fnz_program *to, uint32_t *index);
/* Changes notes about `made`, from `source`, into notes about `to`, from `from`, in place; drops
 * notes of nodes without counterpart. */
FNZ_MUST_CHECK fnz_status fnzi_expl_notes_move(fnz_context *ctx, fnzi_notes *notes,
                                               const fnz_program *source, const fnz_program *made,
                                               const fnz_program *from, const fnz_program *to);

/* --- names.c ---------------------------------------------------------------------------------- */
/* Whether the name means this operator, by the rules of `deny` in <fnz/functionalize.h>. */
bool fnzi_expl_name_matches(const char *name, const char *target);
/* Fails with REF, with `what` in the message, if no operator of the table, the context or the
 * program has the name. */
FNZ_MUST_CHECK fnz_status fnzi_expl_name_check(fnz_context *ctx, const fnz_program *p,
                                               const char *what, const char *name);

/* --- deny.c ----------------------------------------------------------------------------------- */
/* REF when the options deny an operator that does not exist. */
FNZ_MUST_CHECK fnz_status fnzi_expl_deny_check_names(fnz_context *ctx, const fnz_program *p,
                                                     const fnz_functionalize_options *o);
/* Some view operator is denied. */
bool fnzi_expl_deny_has_views(const fnz_functionalize_options *o);
/* UNSUPPORTED when `to`, made from `from`, has an operator that the options deny. */
FNZ_MUST_CHECK fnz_status fnzi_expl_deny_check(fnz_context *ctx, const fnz_program *from,
                                               const fnz_program *to,
                                               const fnz_functionalize_options *options,
                                               const fnzi_notes *notes);

/* --- lint.c ----------------------------------------------------------------------------------- */
/* Findings, with texts of their own. */
struct fnz_findings {
  fnzi_arena arena;
  struct {
    fnz_finding *data;
    size_t count, capacity;
  } all;
  const char *no_run; /* as fnz_findings_no_run() returns it */
};

/* Makes findings from the notes about `to`, which was made from `from` with this status. `to` is
 * NULL if nothing was made; a status that refuses the program is one more finding. */
FNZ_MUST_CHECK fnz_status fnzi_expl_findings(fnz_context *ctx, const fnz_program *from,
                                             const fnz_program *to, fnzi_notes *notes,
                                             fnz_status status, fnz_findings **out);

#endif
