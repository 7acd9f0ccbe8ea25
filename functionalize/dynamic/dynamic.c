/* dynamic.c - the pass for programs with symbolic sizes: lifts all trials to one program, and
 * handles sizes at which it is wrong.
 *
 * needs   a verified program with symbols
 * keeps   everything that a pass at fixed sizes keeps
 * gives   one program that is right at every size that was tried. If it would be wrong at some
 *         sizes, a guard excludes them; if no guard does, the program is refused. Never a guess */
#include "functionalize/pass/pass.h"
#include "functionalize/dynamic/sample.h"
#include "program/region_ops.h"

#include <fnz/rules.h>

#include <stdio.h>

enum {
  ROUNDS = 48, /* rounds of results; each round relies on fewer answers */
  MOST_ADOPTED = 8,
  MOST_OF_FEW = 32 /* where few sizes work, there were few to begin with */
};

/* --- one program ------------------------------------------------------------------------------ */
static size_t count_alike(const fnzi_general *g, size_t leader) {
  size_t n = 0;
  for (size_t i = 0; i < g->usual; i++)
    n += fnzi_alike(g->trials.data[leader]->result, g->trials.data[i]->result);
  return n;
}

static size_t most_alike(const fnzi_general *g) {
  size_t best = 0, most = count_alike(g, 0);
  for (size_t i = 1; i < g->usual && most * 2 < g->usual + 1; i++) {
    size_t n = count_alike(g, i);
    if (n > most) {
      best = i;
      most = n;
    }
  }
  return best;
}

static size_t count_nodes(const fnz_program *p) {
  size_t n = 0;
  for (size_t i = 0; i < p->graphs.count; i++)
    n += p->graphs.data[i].nodes.count;
  return n;
}

/* Slices whose bounds depend on data are often of nothing or of all, and then leave no node. The
 * program that has them all is right there as well, but too few trials make no expressions. */
static size_t most_nodes(const fnzi_general *g) {
  enum { FEW = 3 };
  size_t best = most_alike(g), most = count_nodes(g->trials.data[best]->result);
  for (size_t i = 0; i < g->usual; i++) {
    size_t n = count_nodes(g->trials.data[i]->result);
    if (n > most && count_alike(g, i) >= FEW) {
      best = i;
      most = n;
    }
  }
  return best;
}

/* The trial with most others like it becomes the first. */
static void choose_leader(fnzi_general *g) {
  size_t best = g->sizes.bounds.count ? most_nodes(g) : most_alike(g);
  fnzi_trial *leader = g->trials.data[best];
  g->trials.data[best] = g->trials.data[0];
  g->trials.data[0] = leader;
  for (size_t i = 0; i < g->trials.count; i++)
    g->trials.data[i]->fits = i < g->usual && fnzi_alike(leader->result, g->trials.data[i]->result);
}

static fnz_status lift(fnzi_general *g) {
  const char *what;
  fnzi_general_forget_made(g);
  choose_leader(g);
  FNZ_TRY(fnzi_lift(g->ctx, &g->sizes, &g->recorded, &g->trials, &what, &g->arena, &g->made));
  if (g->made)
    return FNZ_OK;
  return fnzi_fail(g->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                   "%s, for which no expression was found; export the program with fixed sizes",
                   what);
}

/* --- what to do where it is wrong ------------------------------------------------------------- */
static fnzi_trial *first_wrong(const fnzi_general *g) {
  for (size_t i = 0; i < g->trials.count; i++)
    if (g->trials.data[i]->valid && !g->trials.data[i]->right)
      return g->trials.data[i];
  return NULL;
}

/* Compares the answers of the pass at sizes where the result is wrong with its answers in trial 0.
 * Starts at trial *next and stops at the first one that changes something: that trial is run again
 * first, because most others would give the same answers. */
static fnz_status compare_wrong(fnzi_general *g, size_t *next, bool *changed) {
  for (size_t n = 0; n < g->trials.count && !*changed; n++) {
    fnzi_trial *t = g->trials.data[*next];
    if (!t->right && t->valid) {
      fnz_status status = fnzi_trial_run(g, t);
      if (fnzi_is_final(status))
        return status;
      FNZ_TRY(fnzi_trials_compare(g, &g->trials.data[0]->decisions, &t->decisions, changed));
    }
    *next = *changed ? *next : (*next + 1) % g->trials.count;
  }
  return FNZ_OK;
}

/* Answers that the pass would give differently at those sizes must not be relied on. */
static fnz_status ask_less(fnzi_general *g, bool *changed) {
  size_t next = 0;
  bool again = false;
  FNZ_TRY(compare_wrong(g, &next, &again));
  while (again) {
    *changed = true;
    FNZ_TRY(fnzi_trials_ask_few(g));
    again = false;
    FNZ_TRY(compare_wrong(g, &next, &again));
    if (again)
      continue;
    bool others;
    FNZ_TRY(fnzi_trials_ask_rest(g, &others));
    if (others)
      FNZ_TRY(compare_wrong(g, &next, &again));
  }
  return FNZ_OK;
}

static void forget_trial(fnzi_general *g, size_t i) {
  for (size_t k = 0; k < g->trials.count; k++)
    if (g->trials.data[k]->like == g->trials.data[i])
      g->trials.data[k]->like = NULL;
  fnzi_trial_end(g, g->trials.data[i]);
  memmove(&g->trials.data[i], &g->trials.data[i + 1],
          (--g->trials.count - i) * sizeof *g->trials.data);
  g->usual -= i < g->usual;
}

/* Bounds of slices are within their dimensions. */
static fnz_status is_within(fnzi_general *g, fnzi_trial *t, bool *out) {
  *out = true;
  for (size_t i = 0; i < g->sizes.bounds.count && *out; i++) {
    const fnzi_slice_bound *b = &g->sizes.bounds.data[i];
    int64_t number;
    FNZ_TRY(fnzi_point_int(&t->point, b->symbol, out, &number));
    *out = *out && number >= 0 && number <= b->most;
  }
  return FNZ_OK;
}

/* *out: no symbol is negative at these sizes. A data-dependent index may be, and then counts from
 * the end. */
static fnz_status is_plain(fnzi_general *g, fnzi_trial *t, bool *out) {
  *out = true;
  for (size_t i = 0; i < g->sizes.free.count && *out; i++) {
    bool known;
    int64_t number;
    FNZ_TRY(fnzi_point_int(&t->point, g->sizes.free.data[i], &known, &number));
    *out = !known || number >= 0;
  }
  return FNZ_OK;
}

/* May the next result be made from this trial as well? */
static fnz_status is_adoptable(fnzi_general *g, fnzi_trial *t, bool plain, bool *out) {
  *out = !t->right && t->valid && !t->lie && t->result &&
         fnzi_alike(g->trials.data[0]->result, t->result);
  if (*out)
    FNZ_TRY(is_within(g, t, out));
  if (*out && plain)
    FNZ_TRY(is_plain(g, t, out));
  return FNZ_OK;
}

static fnz_status adopt(fnzi_general *g, bool plain, bool *changed) {
  const size_t most = g->rare ? MOST_OF_FEW : MOST_ADOPTED;
  for (size_t i = g->usual; i < g->trials.count && g->adopted < most; i++) {
    fnzi_trial *t = g->trials.data[i];
    bool yes;
    FNZ_TRY(is_adoptable(g, t, plain, &yes));
    if (!yes)
      continue;
    g->trials.data[i] = g->trials.data[g->usual];
    g->trials.data[g->usual++] = t;
    g->adopted++;
    *changed = t->adopted = true;
  }
  return FNZ_OK;
}

/* If the pass makes the same nodes, only numbers are wrong: a number that was constant at all usual
 * sizes may vary here. The next result has these to be right at, too. But a guard that keeps to
 * usual bounds of slices is better than the nodes that unusual ones need. */
static fnz_status adopt_wrong(fnzi_general *g, bool *changed) {
  FNZ_TRY(adopt(g, true, changed));
  return *changed ? FNZ_OK : adopt(g, false, changed);
}

/* Drops the adopted trials, all of them or only if they are not plain. */
static fnz_status forget_adopted(fnzi_general *g, bool all) {
  for (size_t i = g->usual; i-- > 0;) {
    bool plain;
    FNZ_TRY(is_plain(g, g->trials.data[i], &plain));
    if (g->trials.data[i]->adopted && (all || !plain))
      forget_trial(g, i);
  }
  return FNZ_OK;
}

/* A result that is right at the adopted sizes, too; where no expression gives all their numbers,
 * guards must keep them out. */
static fnz_status lift_all(fnzi_general *g) {
  fnz_status status = lift(g);
  for (size_t k = 0; k < 2 && status == FNZ_UNSUPPORTED; k++) {
    size_t usual = g->usual;
    FNZ_TRY(forget_adopted(g, k == 1));
    g->adopted = MOST_OF_FEW;
    status = g->usual < usual ? lift(g) : status;
  }
  return status;
}

/* Removes earlier bounds of the same symbol: the new bound is stricter, because the program was
 * still wrong within the old one. */
static void forget_weaker(fnzi_general *g, const fnzi_expr *e) {
  for (size_t i = g->guards.count; i-- > 0 && fnzi_is_bound(e);) {
    const fnzi_expr *old = g->guards.data[i];
    if (fnzi_is_bound(old) && old->function == e->function &&
        old->parts[0].expr == e->parts[0].expr)
      memmove(&g->guards.data[i], &g->guards.data[i + 1],
              (--g->guards.count - i) * sizeof *g->guards.data);
  }
}

static fnz_status add_guard(fnzi_general *g, const fnzi_expr *e) {
  fnzi_condition c = {e, 1, 1, FNZI_CONDITION_GUARD};
  forget_weaker(g, e);
  FNZI_PUSH(g->ctx, &g->guards, e);
  FNZI_PUSH(g->ctx, &g->sizes.conditions, c);
  for (size_t i = g->trials.count; i-- > 0;) {
    const fnzi_condition *broken;
    FNZ_TRY(fnzi_sizes_admit(&g->sizes, &g->trials.data[i]->point, &broken));
    if (broken)
      forget_trial(g, i);
  }
  return FNZ_OK;
}

static fnz_status refuse(fnzi_general *g, fnzi_trial *t) {
  fnz_buffer text = {NULL, 0, 0};
  fnz_status status = fnzi_sizes_text(&g->sizes, &t->point, &text);
  if (status == FNZ_OK && t->lie)
    status = fnzi_fail(g->ctx, FNZ_CLASS_TYPE, NULL, "at the sizes %s, %s",
                       text.data ? text.data : "(none)", t->lie);
  else if (status == FNZ_OK)
    status = fnzi_fail(g->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                       "at the sizes %s the program needs other operators than at most sizes, and "
                       "no condition separates such sizes; export it with fixed sizes",
                       text.data ? text.data : "(none)");
  fnz_buffer_free(g->ctx, &text);
  return status;
}

/* Some value has no elements, and has some in the program as it was recorded. */
static bool is_empty(const fnzi_general *g, const fnzi_trial *t) {
  if (!t->source)
    return false;
  const fnzi_graph *recorded = fnzi_graph_at(g->program, 0), *here = fnzi_graph_at(t->source, 0);
  for (size_t i = 0; i < here->values.count && i < recorded->values.count; i++) {
    const fnz_geometry *a = here->values.data[i].geometry, *b = recorded->values.data[i].geometry;
    if (a && b && fnz_geometry_numel(a) == 0 && (b->symbols || fnz_geometry_numel(b) != 0))
      return true;
  }
  return false;
}

/* A result made from empty tensors that is wrong for other sizes is discarded: any difference
 * between the two would serve as a guard, for no reason. Recorded sizes may be empty, though, if no
 * size depends on data. Slices whose bounds depend on data are often empty, and guards describe
 * these bounds. */
static bool is_of_nothing(const fnzi_general *g, const fnzi_trial *wrong) {
  return fnzi_sizes_have_data(&g->sizes) && !g->sizes.bounds.count &&
         is_empty(g, g->trials.data[0]) && wrong->source && !is_empty(g, wrong);
}

static fnz_status guard_all(fnzi_general *g) {
  const size_t most = g->sizes.conditions.count + ROUNDS;
  for (fnzi_trial *t; (t = first_wrong(g));) {
    const fnzi_expr *e = NULL;
    if (g->sizes.conditions.count < most && !is_of_nothing(g, t))
      FNZ_TRY(fnzi_find_guard(g, t, &e));
    if (!e)
      return refuse(g, t);
    FNZ_TRY(add_guard(g, e));
    FNZ_TRY(fnzi_trials_check_edge(g, e));
  }
  return FNZ_OK;
}

/* Adds the guard a == b if both were equal in all trials, since nothing is known about other
 * sizes. */
static fnz_status keep_equal(fnzi_general *g, const fnzi_expr *a, const fnzi_expr *b) {
  const fnzi_expr *pair[2] = {a, b}, *same;
  bool equal;
  FNZ_TRY(fnzi_trials_equal(g, a, b, false, &equal));
  if (!equal)
    return FNZ_OK;
  FNZ_TRY(fnzi_expr_call(&g->sizes.set, FNZI_FUNCTION_EQ, pair, 2, &same));
  return add_guard(g, same);
}

/* Guards symbols that had only one value, as in programs whose conditions contradict each other at
 * most sizes. Also guards expressions that had one value, or equalled another expression, at all
 * sizes that can be tried: n // 1000000, Min(n, 1000000). */
static fnz_status keep_numbers(fnzi_general *g) {
  const fnzi_expr *number;
  for (size_t i = 0; i < g->sizes.free.count; i++) {
    FNZ_TRY(fnzi_trials_number(g, g->sizes.free.data[i], &number));
    if (number)
      FNZ_TRY(keep_equal(g, g->sizes.free.data[i], number));
  }
  for (size_t i = 0; i < g->unsure.count; i++)
    FNZ_TRY(keep_equal(g, g->unsure.data[i].expr, g->unsure.data[i].like));
  return FNZ_OK;
}

/* Also guards symbols that were made equal because no other sizes worked. */
static fnz_status keep_to_seen(fnzi_general *g) {
  FNZ_TRY(keep_numbers(g));
  for (size_t i = 0; g->alike && i < g->sizes.free.count; i++)
    for (size_t k = i + 1; k < g->sizes.free.count; k++)
      FNZ_TRY(keep_equal(g, g->sizes.free.data[i], g->sizes.free.data[k]));
  return FNZ_OK;
}

/* --- the driver ------------------------------------------------------------------------------- */
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

/* If an unsupported operator produces views whose sizes depend on data, no node determines these
 * sizes. The error then names that operator, since the program has to do without it. */
static fnz_status open_sizes(fnzi_general *g) {
  char place[160];
  fnz_rule rule;
  fnz_status status = fnzi_sizes_open(&g->sizes, g->ctx, g->program);
  if (status != FNZ_BAD_INPUT)
    return status;
  const fnzi_node *node = find_refused(g->program, place, &rule);
  return node ? fnzi_fail(g->ctx, FNZ_CLASS_UNSUPPORTED, place, "%s: %s; %s",
                          fnzi_node_target(node), rule.words, rule.remedy)
              : status;
}

fnz_status fnzi_general_start(fnzi_general *g) {
  g->asks_until = SIZE_MAX;
  fnzi_arena_init(&g->arena, g->ctx);
  fnzi_map_init(&g->useless, g->ctx);
  fnzi_point_init(&g->recorded, &g->sizes.set);
  FNZ_TRY(open_sizes(g));
  fnzi_draw_start(&g->draw, &g->sizes, 1);
  return fnzi_sizes_recorded(&g->sizes, &g->recorded, &g->has_recorded);
}

static fnz_status converge(fnzi_general *g) {
  for (size_t rounds = 0; rounds < ROUNDS; rounds++) {
    bool changed = false;
    FNZ_TRY(fnzi_trials_agree(g));
    FNZ_TRY(lift_all(g));
    FNZ_TRY(fnzi_trials_check(g));
    if (!first_wrong(g))
      return FNZ_OK;
    FNZ_TRY(ask_less(g, &changed));
    if (!changed)
      FNZ_TRY(adopt_wrong(g, &changed));
    if (!changed)
      return guard_all(g);
    FNZ_TRY(fnzi_trials_run(g));
  }
  return refuse(g, g->trials.data[0]);
}

void fnzi_general_end(fnzi_general *g) {
  for (size_t i = 0; i < g->trials.count; i++)
    fnzi_trial_end(g, g->trials.data[i]);
  fnzi_map_free(&g->useless);
  FNZI_VEC_FREE(g->ctx, &g->trials);
  FNZI_VEC_FREE(g->ctx, &g->unknown);
  FNZI_VEC_FREE(g->ctx, &g->guards);
  FNZI_VEC_FREE(g->ctx, &g->turning);
  FNZI_VEC_FREE(g->ctx, &g->unsure);
  fnzi_general_end_check(g);
  fnzi_point_free(&g->recorded);
  fnzi_sizes_close(&g->sizes);
  fnzi_arena_free(&g->arena);
}

fnz_status fnzi_general_make(fnzi_general *g) {
  FNZ_TRY(fnzi_trials_find(g));
  FNZ_TRY(converge(g));
  return keep_to_seen(g);
}
