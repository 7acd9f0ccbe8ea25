/* domain.c - compares the sizes that two programs take, and their handling of inputs that share
 * memory.
 *
 * needs   two programs that are equal where both were run
 * gives   equal if both take the same sizes; the sizes that the second one refuses and the first
 *         one takes go into the report. Only conditions that the two do not have in common can tell
 * them apart: numbers are tried at which these begin and cease to hold
 *
 * A functional program is wrong if inputs share memory that it has a final value of: it must have a
 * guard against that, unless it comes from a .pt2 file, which has no room for one. */
#include "program/shapes/equations.h"
#include "run/run.h"
#include "run/verify/constants.h"
#include "run/verify/sharing.h"
#include "run/verify/verify.h"
#include "views/views.h"

#include <stdio.h>

enum {
  MOST_POINTS = 600, /* choices of numbers for all symbols */
  DRAWN = 6          /* choices from which one symbol after the other is moved */
};

/* --- Inputs that share memory ----------------------------------------------------------------- */

/* The value is the input itself, seen through views: nothing was written. */
static bool is_view_of_input(const fnz_program *p, uint64_t value) {
  const fnzi_graph *g = fnzi_graph_main(p);
  uint32_t node;
  while ((node = g->values.data[value].node) != FNZI_NO_NODE) {
    const fnzi_node *n = &g->nodes.data[node];
    if (n->op == NULL || !(fnz_op_is_view(n->op) || fnzi_op_is_copy(n->op)) || n->nargs == 0 ||
        n->args[0].tag != FNZ_ARG_VALUE || fnzi_view_scattered(n->op) != NULL)
      return false;
    value = n->args[0].u.value;
  }
  return true;
}

/* The names of written inputs, and of inputs that must share no memory, as keys: a program may have
 * as many of either as it has inputs. */
static fnz_status name_inputs(const fnz_program *p, fnzi_map *written, fnzi_map *guarded) {
  for (size_t k = 0; k < fnzi_graph_main(p)->noutputs; k++) {
    const fnz_arg *value = &fnzi_graph_main(p)->outputs[k];
    const fnz_output_spec *spec = &p->outputs[k];
    bool is_final = spec->kind == FNZ_OUTPUT_MEMORY_MUTATION ||
                    (spec->kind == FNZ_OUTPUT_INPUT_MUTATION && !spec->set);
    /* An input that is only moved, or gets other sizes, is not written. */
    if (is_final && value->tag == FNZ_ARG_VALUE &&
        !(spec->metadata && is_view_of_input(p, value->u.value)))
      FNZ_TRY(fnzi_map_set(written, spec->target, strlen(spec->target), 1));
  }
  for (size_t k = 0; k < p->guards.count; k++)
    for (uint32_t i = 0;
         p->guards.data[k].kind == FNZ_GUARD_DISJOINT && i < p->guards.data[k].count; i++) {
      const char *name = p->guards.data[k].names[i];
      FNZ_TRY(fnzi_map_set(guarded, name, strlen(name), 1));
    }
  return FNZ_OK;
}

static bool has_name(const fnzi_map *names, const char *name) {
  uint64_t one;
  return fnzi_map_get(names, name, strlen(name), &one);
}

/* An input that the program takes in the memory of another one, although one of the two is written,
 * or NULL. Inputs that are declared to share memory may do so. Only tensors of the caller that the
 * program reads or writes count. */
static const char *unguarded(const fnz_program *p, const bool *read, const fnzi_map *written,
                             const fnzi_map *guarded) {
  const fnzi_graph *g = fnzi_graph_main(p);
  uint32_t first = UINT32_MAX;
  bool any_written = false, apart = false;
  const char *found = NULL;
  for (uint32_t k = 0; k < g->ninputs; k++) {
    const fnz_arg *arg = &g->inputs[k];
    const fnzi_value *v = arg->tag == FNZ_ARG_VALUE ? fnzi_value_at(p, 0, arg->u.value) : NULL;
    if (v == NULL || p->inputs[k].kind != FNZ_INPUT_USER || fnz_geometry_numel(v->geometry) <= 0)
      continue;
    bool writes = has_name(written, v->name);
    if (!read[arg->u.value] && !writes)
      continue;
    any_written = any_written || writes;
    apart = apart || (first != UINT32_MAX && fnzi_memory_of(p, k) != first);
    first = first == UINT32_MAX ? fnzi_memory_of(p, k) : first;
    found = found == NULL && !has_name(guarded, v->name) ? v->name : found;
  }
  return any_written && apart ? found : NULL;
}

static fnz_status find_unguarded(fnz_context *ctx, const fnz_program *p, fnzi_arena *arena,
                                 const char **out) {
  const fnzi_graph *g = fnzi_graph_main(p);
  fnzi_map written, guarded;
  bool *read;
  *out = NULL;
  if (p->instantiated || p->says_no_sharing || fnzi_ver_writes(p))
    return FNZ_OK;
  FNZI_NEW(arena, g->values.count, &read);
  /* Marks values whose elements some node reads, or that are outputs. */
  fnzi_walk walk;
  for (size_t n = 0; n <= g->nodes.count; n++) {
    const fnzi_node *node = n < g->nodes.count ? &g->nodes.data[n] : NULL;
    if (node != NULL && fnzi_is_size_node(node))
      continue;
    fnzi_walk_start(&walk, node ? node->args : g->outputs, node ? node->nargs : g->noutputs);
    for (fnzi_step step; (step = fnzi_walk_next(&walk)) != FNZI_STEP_END;)
      if (step == FNZI_STEP_ITEM && fnzi_is_reference(walk.arg))
        read[walk.arg->u.value] = true;
  }
  fnzi_map_init(&written, ctx);
  fnzi_map_init(&guarded, ctx);
  fnz_status status = name_inputs(p, &written, &guarded);
  if (status == FNZ_OK)
    *out = unguarded(p, read, &written, &guarded);
  fnzi_map_free(&guarded);
  fnzi_map_free(&written);
  return status;
}

fnz_status fnzi_ver_guards(fnz_context *ctx, const fnz_program *a, const fnz_program *b) {
  const char *first = NULL, *second = NULL;
  fnzi_arena arena;
  fnzi_arena_init(&arena, ctx);
  fnz_status status = find_unguarded(ctx, a, &arena, &first);
  if (status == FNZ_OK)
    status = find_unguarded(ctx, b, &arena, &second);
  if (status == FNZ_OK && (first == NULL) != (second == NULL))
    status = fnzi_fail(
        ctx, FNZ_CLASS_DIFFERENT, "",
        "equal where inputs share no memory; %s has final values of inputs and takes "
        "%%%s in the memory of another input, where they are wrong; a guard disjoint "
        "with \"%s\" refuses that",
        first ? "the original" : "this program", first ? first : second, first ? first : second);
  fnzi_arena_free(&arena);
  return status;
}

/* --- Conditions that only one program has ----------------------------------------------------- */

typedef struct domain {
  fnz_context *ctx;
  fnzi_sizes sizes[2];
  fnzi_point points[2];
  fnzi_ver_constants constants;
  size_t npoints;
  bool differ; /* some condition is of one program alone */
  fnzi_ver_check_types *check_types;
  fnz_verify_report *report;
} domain;

static fnz_status find_differences(domain *d) {
  for (int side = 0; side < 2; side++)
    for (size_t i = 0; i < d->sizes[side].conditions.count; i++) {
      const fnzi_condition *c = &d->sizes[side].conditions.data[i];
      const fnzi_sizes *other = &d->sizes[1 - side];
      const char *text, *there;
      bool shared = false;
      FNZ_TRY(fnzi_expr_text(&d->sizes[side].set, c->expr, &text));
      for (size_t k = 0; k < other->conditions.count && !shared; k++) {
        const fnzi_condition *one = &other->conditions.data[k];
        if (one->min != c->min || one->max != c->max)
          continue;
        FNZ_TRY(fnzi_expr_text(&other->set, one->expr, &there));
        shared = strcmp(there, text) == 0;
      }
      if (shared)
        continue;
      d->differ = true;
      fnzi_ver_constants_add(&d->constants, c->min);
      fnzi_ver_constants_add(&d->constants, c->max);
      FNZ_TRY(fnzi_ver_constants_add_expr(&d->constants, &d->sizes[side], c->expr));
    }
  return FNZ_OK;
}

/* --- Numbers at which only one program takes its sizes ---------------------------------------- */

/* Whether the program really runs there: it may fail at sizes that its conditions do not name. */
static fnz_status runs_at(domain *d, int side, bool *out) {
  fnz_program *instance = NULL;
  bool small;
  FNZ_TRY(fnzi_sizes_are_small(&d->sizes[side], &d->points[side], &small));
  *out = !small;
  if (!small)
    return FNZ_OK;
  fnz_status status =
      fnzi_instantiate(&d->sizes[side], &d->points[side], FNZI_READINGS_WATCHED, &instance);
  if (status == FNZ_OK)
    status = d->check_types(d->ctx, instance, NULL, NULL);
  if (status == FNZ_OK)
    status = fnzi_ver_runs(d->ctx, instance);
  fnz_program_destroy(instance);
  *out = status == FNZ_OK;
  return fnzi_ver_is_limit(status) ? status : FNZ_OK;
}

/* Both programs at the numbers of the first one's point. */
static fnz_status try_point(domain *d) {
  const fnzi_condition *broken[2];
  bool taken;
  d->npoints++;
  FNZ_TRY(fnzi_sizes_adopt(&d->sizes[1], &d->points[1], &d->sizes[0], &d->points[0]));
  for (int side = 0; side < 2; side++)
    FNZ_TRY(fnzi_sizes_admit(&d->sizes[side], &d->points[side], &broken[side]));
  if ((broken[0] == NULL) == (broken[1] == NULL))
    return FNZ_OK;
  int refusing = broken[1] != NULL;
  if (refusing == 1 && d->report->narrower[0] != '\0')
    return FNZ_OK;
  FNZ_TRY(runs_at(d, 1 - refusing, &taken));
  if (!taken)
    return FNZ_OK;
  fnz_buffer text = {NULL, 0, 0};
  /* "s0 = 7: it is for s0 <= 6 (its guard)" */
  fnz_status status = fnzi_sizes_text(&d->sizes[0], &d->points[0], &text);
  if (status == FNZ_OK)
    status = fnzi_put_text(d->ctx, &text, ": it is for ");
  if (status == FNZ_OK)
    status = fnzi_sizes_put_condition(&d->sizes[refusing], broken[refusing], &text);
  if (status == FNZ_OK && refusing == 1)
    snprintf(d->report->narrower, sizeof d->report->narrower, "%s", text.data);
  else if (status == FNZ_OK)
    status = fnzi_fail(d->ctx, FNZ_CLASS_DIFFERENT, "",
                       "equal where both run; the original refuses sizes that this program takes, "
                       "%s",
                       text.data);
  fnz_buffer_free(d->ctx, &text);
  return status;
}

/* From the numbers of the point, each symbol moves to each candidate; then all move at once. */
static fnz_status try_around(domain *d, fnzi_draw *draw) {
  int64_t candidates[FNZI_VER_CANDIDATES], old = 0;
  size_t count = fnzi_ver_constants_list(&d->constants, candidates);
  const fnzi_sizes *s = &d->sizes[0];
  bool known;
  FNZ_TRY(try_point(d));
  for (size_t i = 0; i < s->free.count; i++) {
    FNZ_TRY(fnzi_point_int(&d->points[0], s->free.data[i], &known, &old));
    for (size_t k = 0; known && k < count && d->npoints < MOST_POINTS; k++) {
      FNZ_TRY(fnzi_point_set(&d->points[0], s->free.data[i], candidates[k]));
      FNZ_TRY(try_point(d));
    }
    if (known)
      FNZ_TRY(fnzi_point_set(&d->points[0], s->free.data[i], old));
  }
  for (size_t tries = 0; tries < MOST_POINTS / DRAWN / 2; tries++) {
    for (size_t i = 0; i < s->free.count; i++)
      FNZ_TRY(
          fnzi_point_set(&d->points[0], s->free.data[i], candidates[fnzi_draw_next(draw) % count]));
    FNZ_TRY(try_point(d));
  }
  return FNZ_OK;
}

static fnz_status try_all(domain *d) {
  fnzi_draw draw;
  bool found;
  FNZ_TRY(find_differences(d));
  if (!d->differ)
    return FNZ_OK;
  fnzi_draw_start(&draw, &d->sizes[0], 99);
  FNZ_TRY(fnzi_sizes_recorded(&d->sizes[0], &d->points[0], &found));
  for (size_t i = 0; i < DRAWN; i++) {
    if (found)
      FNZ_TRY(try_around(d, &draw));
    FNZ_TRY(fnzi_draw_numbers(&draw, &d->points[0], &found));
  }
  return FNZ_OK;
}

static fnz_status compare_sizes(domain *d, const fnz_program *a, const fnz_program *b) {
  fnz_status status = fnzi_sizes_open(&d->sizes[0], d->ctx, a);
  fnzi_point_init(&d->points[0], &d->sizes[0].set);
  if (status == FNZ_OK)
    status = fnzi_sizes_open(&d->sizes[1], d->ctx, b);
  else
    fnzi_exprs_init(&d->sizes[1].set, d->ctx);
  fnzi_point_init(&d->points[1], &d->sizes[1].set);
  if (status == FNZ_OK)
    status = try_all(d);
  for (int side = 0; side < 2; side++) {
    fnzi_point_free(&d->points[side]);
    fnzi_sizes_close(&d->sizes[side]);
  }
  return status;
}

fnz_status fnzi_ver_domain(fnz_context *ctx, const fnz_program *a, const fnz_program *b,
                           fnzi_ver_check_types *check_types, fnz_verify_report *report) {
  domain d = {.ctx = ctx, .check_types = check_types, .report = report};
  bool open[2] = {fnzi_program_has_symbols(a), fnzi_program_has_symbols(b)};
  if (open[0] && open[1])
    return compare_sizes(&d, a, b);
  if (open[0] != open[1] && report->not_compared[0] == '\0')
    snprintf(report->not_compared, sizeof report->not_compared,
             "which sizes the programs take, as %s is for fixed ones",
             open[0] ? "this one" : "the original");
  return FNZ_OK;
}
