/* listing.h - prints a plan as text and as JSON; counts its steps, bytes and copies.
 *
 * Functions append to `out`, which the caller frees, also after a failure; they fail only for lack
 * of memory. They read a binding that the caller keeps, and change nothing. */
#ifndef FNZI_LISTING_H
#define FNZI_LISTING_H

#include "engine/plan/bodies.h"
#include "engine/steps/binding.h"

typedef struct fnzi_listing_figures {
  size_t nodes, steps, calls, groups, copies; /* copies: moves that a rule forced */
  size_t launches;                            /* steps; steps that run at once count as one */
  size_t updates, in_place,
      idle; /* region updates; without a copy of the base; with nothing to do */
  size_t finals, finals_in_place; /* final values that end in their state; without a move */
  uint64_t read, written, copied; /* bytes that steps read and write; of copies written */
  uint64_t naive; /* bytes moved if each value had its own memory and each view were a copy */
} fnzi_listing_figures;

/* A move that a rule forced; no part of an update or of a join. */
static inline bool fnzi_listing_is_copy(const fnzi_pln_step *s) {
  return s->kind == FNZI_PLN_MOVE && s->rule != FNZI_PLN_UPDATE && s->rule != FNZI_PLN_JOIN;
}
/* --- causes.c */
/* Why elements are moved. */
typedef struct fnzi_listing_cause {
  const char *name;   /* in JSON */
  const char *rule;   /* of docs/engine.md */
  const char *text;   /* as a person reads it, with %s for the value that is in the way */
  const char *remedy; /* what to do about a copy */
} fnzi_listing_cause;
const fnzi_listing_cause *fnzi_listing_cause_of(const fnzi_pln_plan *plan,
                                                const fnzi_pln_step *move);
/* Appends the text with the name of that value. */
FNZ_MUST_CHECK fnz_status fnzi_listing_because(fnz_context *ctx, const fnzi_pln_plan *plan,
                                               const fnzi_pln_step *move, fnz_buffer *out);
/* The node of the program before it was arranged that a node is, or is an item of. */
uint32_t fnzi_listing_given_node(const fnzi_pln_plan *plan, uint32_t node);
/* The node of the user's program that a node is, or is a part of. */
uint32_t fnzi_listing_whole_node(const fnzi_pln_plan *plan, uint32_t node);

/* --- figures.c */
/* Sums the bytes of values among the arguments that have locations. */
uint64_t fnzi_listing_stored_bytes(const fnzi_pln_plan *plan, const fnz_arg *args, size_t count);
/* Bytes of the operands that a group takes from outside, each once, and of the results that it
 * stores. */
void fnzi_listing_group_bytes(const fnzi_pln_plan *plan, const fnzi_pln_step *s, uint64_t *read,
                              uint64_t *written);
void fnzi_listing_figures_of(const fnzi_pln_plan *plan, fnzi_listing_figures *out);

/* --- listing.c */
/* The things to print. */
typedef struct fnzi_listing_subject {
  const fnzi_pln_plan *plan;
  const fnzi_pln_bodies *bodies;     /* NULL: they are not printed */
  const fnzi_stp_binding *on_device; /* of the plan; NULL: all is the CPU's */
  const char *sizes; /* "s0 = 3, s1 = 5", the values of symbols; NULL: there are none */
} fnzi_listing_subject;

/* Print one line per step, one per copy with the rule and the value that forced it, the steps of
 * bodies, and the arena. */
FNZ_MUST_CHECK fnz_status fnzi_listing_text(fnz_context *ctx, const fnzi_listing_subject *what,
                                            fnz_buffer *out);
FNZ_MUST_CHECK fnz_status fnzi_listing_json(fnz_context *ctx, const fnzi_listing_subject *what,
                                            fnz_buffer *out);

/* --- plan_write.c */
/* Records in the plans of a binding and of its bodies which nodes of the user's program their nodes
 * are parts of. */
void fnzi_listing_name_origins(fnzi_stp_binding *b);
/* Appends the plan of a binding, at the sizes `sizes`. */
FNZ_MUST_CHECK fnz_status fnzi_listing_binding(fnz_context *ctx, fnzi_stp_binding *b,
                                               const char *sizes, bool json, fnz_buffer *out);
/* Prints a binding at the sizes `sizes`, or reads it for another purpose. */
typedef fnz_status fnzi_listing_printer(fnz_context *ctx, fnzi_stp_binding *b, const char *sizes,
                                        const void *user, fnz_buffer *out);
/* Makes a binding for the sizes of options->inputs, or for the recorded ones, and calls `print`. */
FNZ_MUST_CHECK fnz_status fnzi_listing_new_binding(fnz_context *ctx, const fnz_program *program,
                                                   const fnz_plan_options *options,
                                                   fnzi_listing_printer *print, const void *user,
                                                   fnz_buffer *out);

#endif
