/* passes.c - the pass for programs with symbolic sizes, from the program to the result.
 *
 * The program gets words in place of its symbols, and the pass computes with them. Questions about
 * sizes are answered by proof, for all sizes at once. If the pass stops, it is made again: it takes
 * the answer of the recorded sizes, and a guard keeps it. If nothing is left to decide, the program
 * is refused.
 *
 * needs   a verified program with symbols
 * keeps   everything that a pass at fixed sizes keeps
 * gives   a program that is right at all sizes at which the source works and its guards hold, and
 *         the source node of each of its nodes */
#include "functionalize/dynamic/dynamic.h"
#include "functionalize/explain/explain.h"
#include "program/region_ops.h"

#include <fnz/rules.h>

/* --- sizes of the program --------------------------------------------------------------------- */
/* It is refused whatever it is applied to. */
static bool is_refused(const fnzi_node *node, fnz_rule *rule) {
  *rule = (fnz_rule){.words = "there is no rule for it", .remedy = "export the program without it"};
  if (!node->op)
    return fnzi_is_hop(node) && !fnzi_hop_is_known(node);
  if (fnzi_op_is_custom(node->op))
    return false;
  *rule = fnz_op_rule(node->op);
  return rule->action == FNZ_ACTION_REFUSED;
}

/* Of all nodes the first one that is; NULL: there is none. */
static const fnzi_node *find_refused(const fnz_program *p, char place[160], fnz_rule *rule) {
  for (uint32_t i = 0; i < p->graphs.count; i++) {
    const fnzi_graph *g = &p->graphs.data[i];
    for (uint32_t n = 0; n < g->nodes.count; n++) {
      if (!is_refused(&g->nodes.data[n], rule))
        continue;
      fnzi_node_place(p, i, n, place);
      return &g->nodes.data[n];
    }
  }
  return NULL;
}

/* dyn_end() must follow, also after a failure. */
static fnz_status dyn_start(fnzi_dyn *d) {
  fnzi_arena_init(&d->arena, d->ctx);
  fnzi_point_init(&d->recorded, &d->sizes.set);
  fnzi_point_init(&d->usual, &d->sizes.set);
  /* If an unsupported operator produces views whose sizes depend on data, no node determines these
   * sizes. The error then names that operator, since the program has to do without it. */
  char place[160];
  fnz_rule rule;
  fnz_status status = fnzi_sizes_open(&d->sizes, d->ctx, d->program);
  if (status != FNZ_BAD_INPUT)
    FNZ_TRY(status);
  else {
    const fnzi_node *node = find_refused(d->program, place, &rule);
    FNZ_TRY(node ? fnzi_fail(d->ctx, FNZ_CLASS_UNSUPPORTED, place, "%s: %s; %s",
                             fnzi_node_target(node), rule.words, rule.remedy)
                 : status);
  }
  fnzi_draw_start(&d->draw, &d->sizes, 1);
  d->example = &d->recorded;
  return fnzi_sizes_recorded(&d->sizes, &d->recorded, &d->has_recorded);
}

static void dyn_end(fnzi_dyn *d) {
  fnzi_instance_free(&d->moved);
  fnzi_point_free(&d->recorded);
  fnzi_point_free(&d->usual);
  fnzi_sizes_close(&d->sizes);
  fnzi_arena_free(&d->arena);
}

/* No sizes were found that keep to all conditions: names the condition that the numbers of the
 * point break. */
static fnz_status breaks(fnzi_dyn *d, fnzi_point *point, const fnzi_condition *c,
                         const char *whose) {
  fnz_buffer asks = {NULL, 0, 0}, text = {NULL, 0, 0};
  fnz_status status = fnzi_sizes_put_condition(&d->sizes, c, &asks);
  if (status == FNZ_OK)
    status = fnzi_sizes_text(&d->sizes, point, &text);
  if (status == FNZ_OK)
    status =
        fnzi_fail(d->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                  "no sizes were found that keep to the program's ranges and guards: it is for "
                  "sizes with %s, %s are %s; correct these conditions, or record sizes that "
                  "keep to them",
                  asks.data, whose, text.data ? text.data : "(none)");
  fnz_buffer_free(d->ctx, &asks);
  fnz_buffer_free(d->ctx, &text);
  return status;
}

/* Recorded sizes that break a condition say nothing about the program, as an example's may do by
 * mistake. Then there have to be others. */
static fnz_status check_conditions(fnzi_dyn *d) {
  const fnzi_condition *broken, *broken_there;
  fnzi_point point;
  bool found = false;
  FNZ_TRY(fnzi_sizes_admit(&d->sizes, &d->recorded, &broken));
  if (d->has_recorded && !broken)
    return FNZ_OK;
  d->example = broken ? NULL : d->example;
  d->has_recorded = d->has_recorded && !broken;
  fnzi_point_init(&point, &d->sizes.set);
  fnz_status status = fnzi_draw_numbers(&d->draw, &point, &found);
  if (status == FNZ_OK && !found && broken)
    status = breaks(d, &d->recorded, broken, "the recorded ones");
  else if (status == FNZ_OK && !found) {
    status = fnzi_sizes_admit(&d->sizes, &point, &broken_there);
    if (status == FNZ_OK && broken_there)
      status = breaks(d, &point, broken_there, "the last ones tried");
  }
  fnzi_point_free(&point);
  return status;
}

/* --- records ---------------------------------------------------------------------------------- */

/* The pass takes recorded types for facts. If they are wrong at other sizes, the result is for the
 * recorded sizes alone, at which they have been checked before. */
static fnz_status trust_records(fnzi_dyn *d, fnzi_ints *ints) {
  bool right = d->has_recorded;
  if (d->has_recorded)
    FNZ_TRY(fnzi_instance_move(&d->moved, &d->sizes, &d->recorded));
  /* Records are right where the program is for no other sizes. */
  for (size_t i = 0; i < d->sizes.free.count && right; i++) {
    fnzi_int word;
    FNZ_TRY(fnzi_ints_settled(ints, d->sizes.free.data[i], &word));
    right = fnzi_int_is_number(word);
  }
  if (!right)
    FNZ_TRY(fnzi_dyn_check_records(d, &right, NULL));
  if (right)
    return FNZ_OK;
  if (!d->has_recorded)
    return fnzi_fail(d->ctx, FNZ_CLASS_TYPE, NULL,
                     "the file records types that its operators do not give, and no sizes of an "
                     "example, at which they may be right; export it again");
  return fnzi_ints_keep_recorded(ints, "the file records wrong types at other sizes");
}

/* --- passes ----------------------------------------------------------------------------------- */
/* The conditions that the pass asked for become guards, each with its question. */
static fnz_status add_guards(const fnzi_ints *ints, const fnz_program *words, fnzi_notes *notes,
                             fnz_program *to) {
  for (size_t i = 0; i < ints->guards.count; i++) {
    const fnzi_ints_guard *g = &ints->guards.data[i];
    fnz_guard guard = {.kind = FNZ_GUARD_CONDITION};
    FNZ_TRY(fnzi_expr_text(ints->set, g->condition, &guard.text));
    FNZ_TRY(fnzi_guard_add(to, &guard));
    const char *kept = to->guards.data[to->guards.count - 1].text;
    const fnzi_node *about =
        g->about.node == FNZI_NO_NODE ? NULL : fnzi_node_at(words, g->about.graph, g->about.node);
    if (notes)
      FNZI_PUSH(ints->set->ctx, &notes->guards, ((fnzi_guard_note){kept, g->question, about}));
  }
  return FNZ_OK;
}

/* One pass over the program with words; its result has symbols. */
static fnz_status make_pass(fnzi_dyn *d, fnzi_ints *ints, const fnz_program *words,
                            fnzi_notes *notes, fnz_program **out) {
  fnz_program *made = NULL;
  fnz_status status = fnzi_pass_program(d->ctx, words, d->options, notes, &made);
  if (status == FNZ_OK)
    status = fnzi_lift_words(ints, &d->sizes, &d->recorded, made, &d->arena, out);
  if (status == FNZ_OK)
    status = fnzi_ints_prune_guards(ints);
  if (status == FNZ_OK)
    status = add_guards(ints, words, notes, *out);
  /* No answer, for want of memory, has been read as "no", and may have led to another message. */
  if (ints->status != FNZ_OK)
    status = ints->status == FNZ_NO_MEMORY ? fnzi_no_memory(d->ctx) : ints->status;
  if (status == FNZ_OK && notes)
    status = fnzi_expl_notes_move(d->ctx, notes, words, made, d->program, *out);
  fnz_program_destroy(made);
  return status;
}

/* Passes, until one does not stop or there is nothing more to decide. */
static fnz_status make_passes(fnzi_dyn *d, fnzi_ints *ints, fnzi_notes *notes, fnz_program **out) {
  fnz_program *words = NULL;
  fnz_status status = FNZ_UNSUPPORTED;
  bool again = true;
  while (again) {
    fnz_program_destroy(words);
    words = NULL;
    if (notes)
      fnzi_notes_clear(notes);
    status = fnzi_instantiate_words(ints, &words);
    if (status == FNZ_OK)
      status = make_pass(d, ints, words, notes, out);
    const bool stopped = status != FNZ_OK || (notes && notes->failures.count);
    if (!stopped || fnzi_is_final(status))
      break;
    const fnz_status decided = fnzi_ints_decide_more(ints, words, &again);
    status = decided == FNZ_OK ? status : decided;
    if (again || status != FNZ_OK) {
      fnz_program_destroy(*out);
      *out = NULL;
    }
  }
  fnz_program_destroy(words);
  return status;
}

static fnz_status compute(fnzi_dyn *d, fnzi_notes *notes, fnz_program **out) {
  fnzi_ints ints;
  bool found = false;
  FNZ_TRY(check_conditions(d));
  fnz_status status = fnzi_ints_open(&ints, &d->sizes, d->example);
  if (status == FNZ_OK)
    status = trust_records(d, &ints);
  if (status == FNZ_OK)
    status = fnzi_draw_recorded(&d->draw, &d->usual, &found);
  ints.usual = found ? &d->usual : NULL;
  if (status == FNZ_OK && d->options->expander)
    status = fnzi_ints_points_draw(&ints, &d->draw);
  if (status == FNZ_OK)
    status = make_passes(d, &ints, notes, out);
  fnzi_ints_close(&ints);
  return status;
}

fnz_status fnzi_dyn_program(fnz_context *ctx, const fnz_program *program,
                            const fnzi_pass_options *options, fnzi_notes *notes,
                            fnz_program **out) {
  fnzi_dyn d = {.ctx = ctx, .program = program, .options = options};
  *out = NULL;
  fnz_status status = dyn_start(&d);
  if (status == FNZ_OK)
    status = compute(&d, notes, out);
  dyn_end(&d);
  return status;
}

fnz_status fnzi_dyn_is_final(fnz_context *ctx, const fnz_program *program,
                             const fnzi_pass_options *options, bool *out) {
  fnzi_dyn d = {.ctx = ctx, .program = program, .options = options};
  bool right = false, passes = false;
  fnz_status status = dyn_start(&d);
  if (status == FNZ_OK)
    status = fnzi_dyn_check_records(&d, &right, &passes);
  dyn_end(&d);
  *out = status == FNZ_OK && right && passes;
  return fnzi_is_final(status) ? status : FNZ_OK;
}
