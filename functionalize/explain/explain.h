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

/* --- origins.c -------------------------------------------------------------------------------- */
/* Where each node of `to`, which was made from `from`, comes from. */
FNZ_MUST_CHECK fnz_status fnzi_expl_origins_make(fnz_context *ctx, const fnz_program *from,
                                                 const fnz_program *to, const fnzi_notes *notes,
                                                 fnz_origins **out);

/* Origins in a program become origins in the one that it was made of: places[graph][node]. */
void fnzi_expl_origins_lead_on(fnz_origins *origins, const fnzi_source_node *const *places);

/* In `to`, made of `from` by taking operators apart, a node of another operator than the one that
 * it comes from, or one of several, is a step. */
FNZ_MUST_CHECK fnz_status fnzi_expl_steps_mark(fnz_context *ctx, const fnz_program *from,
                                               const fnz_program *to, fnz_origins *origins);

/* --- counterpart.c ---------------------------------------------------------------------------- */
/* The node of `to`, in the graph of the same number, that defines the value with the name of the
 * first result of `node`; false when there is none. */
bool fnzi_expl_counterpart(const fnz_program *from, uint32_t graph, const fnzi_node *node,
                           const fnz_program *to, uint32_t *index);
/* Notes about `made`, from `source`, become notes about `to`, from `from`, in place; those of nodes
 * without counterpart are dropped. */
FNZ_MUST_CHECK fnz_status fnzi_expl_notes_move(fnz_context *ctx, fnzi_notes *notes,
                                               const fnz_program *source, const fnz_program *made,
                                               const fnz_program *from, const fnz_program *to);

/* --- names.c ---------------------------------------------------------------------------------- */
/* The name, as <fnz/functionalize.h> says it of `deny`, stands for this operator. */
bool fnzi_expl_name_matches(const char *name, const char *target);
/* REF, said of `what`, when no operator of the table, the context or the program has the name. */
FNZ_MUST_CHECK fnz_status fnzi_expl_name_check(fnz_context *ctx, const fnz_program *p,
                                               const char *what, const char *name);

/* --- deny.c ----------------------------------------------------------------------------------- */
/* REF when the options deny an operator that does not exist. */
FNZ_MUST_CHECK fnz_status fnzi_expl_deny_check_names(fnz_context *ctx, const fnz_program *p,
                                                     const fnz_functionalize_options *o);
/* UNSUPPORTED when `to`, made from `from`, has an operator that the options deny. */
FNZ_MUST_CHECK fnz_status fnzi_expl_deny_check(fnz_context *ctx, const fnz_program *from,
                                               const fnz_program *to,
                                               const fnz_functionalize_options *options,
                                               const fnzi_notes *notes);

/* --- lint.c ----------------------------------------------------------------------------------- */
/* What the notes about `to`, which was made from `from` with this status, find. `to` is NULL where
 * nothing was made; a status that refuses the program is one more finding. */
FNZ_MUST_CHECK fnz_status fnzi_expl_findings(fnz_context *ctx, const fnz_program *from,
                                             const fnz_program *to, fnzi_notes *notes,
                                             fnz_status status, fnz_findings **out);

#endif
