/* tried.c - whether the pass would reproduce a program that is functional already. The pass is run
 * at the recorded sizes, and the recorded types are checked at a few others. If they are wrong
 * there, the pass over the whole program finds a guard, or refuses it.
 *
 * needs   a verified program that is functional by its operators (pass/functional.c)
 * gives   an answer from a few sizes; runs check the sizes that they meet. For computed.c, which
 *         takes recorded sizes as facts, also whether they are right, of any program */
#include "functionalize/dynamic/dynamic.h"
#include "functionalize/dynamic/sample.h"

enum { FEW = 2, MOST_DRAWS = 12, MOST_NEAR = 48 };

typedef struct answers {
  int passes, works, fails, lies;
} answers;

/* The pass refuses nothing there. How many nodes it makes says little: at single sizes a slice may
 * be all of its base. */
static fnz_status ask_pass(const fnzi_general *g, const fnz_program *there, answers *a) {
  fnz_program *made;
  fnz_status status = fnzi_pass_program(g->ctx, there, g->options, NULL, NULL, &made);
  a->passes += status == FNZ_OK;
  fnz_program_destroy(made);
  return fnzi_is_final(status) ? status : FNZ_OK;
}

/* Whether all recorded types are the types that operators produce; else the program fails at these
 * sizes, or its records are false. Data-dependent scalars may have any value, so only a run can
 * check types that depend on them. */
static fnz_status ask_types(const fnzi_general *g, const fnz_program *there, answers *a) {
  const fnz_functionalize_options *asked = &g->options->asked;
  fnz_status status = FNZ_OK;
  if (!fnzi_pass_reads_rows(there)) {
    a->lies++;
    return FNZ_OK;
  }
  if (asked->check_types && !fnzi_sizes_have_data(&g->sizes))
    status = asked->check_types(g->ctx, there, NULL, NULL);
  bool is_right = status == FNZ_OK;
  if (status == FNZ_BAD_INPUT && asked->check)
    status = fnzi_general_compare(g, there, there);
  bool fails = asked->check && status != FNZ_OK;
  a->works += is_right;
  a->fails += !is_right && fails;
  a->lies += !is_right && !fails;
  return fnzi_is_final(status) ? status : FNZ_OK;
}

/* The types that are recorded have been looked at before. One instance of the program moves from
 * sizes to sizes. */
static fnz_status ask(fnzi_general *g, fnzi_point *point, bool is_recorded, answers *a) {
  const int works = a->works;
  if (is_recorded && a->passes)
    return FNZ_OK;
  fnz_status status = fnzi_instance_move(&g->moved.source, &g->sizes, point);
  /* A node gives another number than is recorded. */
  a->fails += status == FNZ_BAD_INPUT && fnz_last_error(g->ctx)->kind == FNZ_CLASS_TYPE;
  const fnz_program *there = g->moved.source.program;
  if (status == FNZ_OK && !is_recorded)
    status = ask_types(g, there, a);
  if (status == FNZ_OK && !a->passes && (is_recorded || a->works > works))
    status = ask_pass(g, there, a);
  return fnzi_is_final(status) ? status : FNZ_OK;
}

/* All numbers are the recorded ones. */
static fnz_status is_recorded(fnzi_general *g, fnzi_point *point, bool *out) {
  *out = g->has_recorded;
  for (size_t i = 0; i < g->sizes.free.count && *out; i++) {
    bool known, here;
    int64_t x, y;
    FNZ_TRY(fnzi_point_int(&g->recorded, g->sizes.free.data[i], &known, &x));
    FNZ_TRY(fnzi_point_int(point, g->sizes.free.data[i], &here, &y));
    *out = !known || !here || x == y;
  }
  return FNZ_OK;
}

/* The recorded sizes, but special ones in one or two places. */
static fnz_status draw_near(fnzi_general *g, size_t k, fnzi_point *point, bool *more, bool *found) {
  FNZ_TRY(fnzi_trial_numbers(g, &g->recorded, point));
  return fnzi_draw_special(&g->draw, k, point, more, found);
}

static fnz_status ask_elsewhere(fnzi_general *g, fnzi_point *point, bool found, answers *a) {
  bool known = true;
  if (found)
    FNZ_TRY(is_recorded(g, point, &known));
  if (!known)
    FNZ_TRY(fnzi_sizes_are_bearable(&g->sizes, point, &found));
  return known || !found ? FNZ_OK : ask(g, point, false, a);
}

/* The draw of this number: usual sizes first. */
static fnz_status ask_drawn(fnzi_general *g, size_t draw, bool *more, answers *a) {
  const bool is_usual = draw < MOST_DRAWS;
  fnzi_point point;
  bool found = false;
  fnzi_point_init(&point, &g->sizes.set);
  fnz_status status = is_usual ? fnzi_draw_numbers(&g->draw, &point, &found)
                               : draw_near(g, draw - MOST_DRAWS, &point, more, &found);
  if (status == FNZ_OK)
    status = ask_elsewhere(g, &point, found, a);
  fnzi_point_free(&point);
  return status;
}

/* Sizes at which the program fails say nothing, but where there are no others: then only the
 * recorded ones are right, and a guard has to keep to them. */
static fnz_status ask_all(fnzi_general *g, answers *a) {
  bool more = true;
  if (g->has_recorded)
    FNZ_TRY(ask(g, &g->recorded, true, a));
  for (size_t draw = 0; (a->works < FEW || !a->passes) && !a->lies && more; draw++) {
    if (draw == MOST_DRAWS && (a->works || !g->has_recorded))
      break;
    FNZ_TRY(ask_drawn(g, draw, &more, a));
    more = more && draw < MOST_DRAWS + MOST_NEAR;
  }
  return FNZ_OK;
}

static fnz_status ask_around(fnzi_general *g, bool *out) {
  answers a = {0, 0, 0, 0};
  FNZ_TRY(ask_all(g, &a));
  *out = a.passes && !a.lies && (a.works || !a.fails);
  return FNZ_OK;
}

fnz_status fnzi_general_is_honest(fnzi_general *g, bool *out) {
  answers a = {1, 0, 0, 0}; /* no pass */
  FNZ_TRY(ask_all(g, &a));
  *out = a.works && !a.lies && !a.fails;
  return FNZ_OK;
}

fnz_status fnzi_dyn_is_final(fnz_context *ctx, const fnz_program *program,
                             const fnzi_pass_options *options, bool *out) {
  fnzi_general g = {.ctx = ctx, .program = program, .options = options};
  fnz_status status = fnzi_general_start(&g);
  *out = false;
  if (status == FNZ_OK)
    status = ask_around(&g, out);
  fnzi_general_end(&g);
  *out = *out && status == FNZ_OK;
  return fnzi_is_final(status) ? status : FNZ_OK;
}
