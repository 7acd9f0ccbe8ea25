/* records.c - are the types right that a file records for its values, at other sizes, too?
 *
 * The pass with words takes recorded sizes for facts. The types are checked at the recorded sizes
 * and at a few others. Runs check the sizes that they meet.
 *
 * needs   a verified program with its sizes
 * gives   an answer from a few sizes */
#include "functionalize/dynamic/dynamic.h"

/* The program runs at FEW other sizes, or the search ends. At one alone, a wrong type may be right
 * by chance. MOST_DRAWS are usual sizes; a program that runs at none of them gets MOST_NEAR special
 * ones, or a guard would keep it to its example. */
enum { FEW = 2, MOST_DRAWS = 12, MOST_NEAR = 48 };

typedef struct answers {
  int passes, works, fails, lies;
} answers;

/* Whether all recorded types are the types that operators produce; else the program fails at these
 * sizes, or its records are false. Data-dependent scalars may have any value, so only a run can
 * check types that depend on them. */
static fnz_status ask_types(const fnzi_dyn *d, const fnz_program *there, answers *a) {
  const fnz_functionalize_options *asked = &d->options->asked;
  const fnz_verify_options once = {
      .size = sizeof once, .trials = 1, .allow_narrower = true, .ignore_memory = true};
  fnz_status status = FNZ_OK;
  if (!fnzi_pass_reads_rows(there)) {
    a->lies++;
    return FNZ_OK;
  }
  if (asked->check_types && !fnzi_sizes_have_data(&d->sizes))
    status = asked->check_types(d->ctx, there, NULL, NULL);
  bool is_right = status == FNZ_OK;
  if (status == FNZ_BAD_INPUT && asked->check)
    status = asked->check(d->ctx, there, there, &once, NULL);
  bool fails = asked->check && status != FNZ_OK;
  a->works += is_right;
  a->fails += !is_right && fails;
  a->lies += !is_right && !fails;
  return fnzi_is_final(status) ? status : FNZ_OK;
}

/* The types that are recorded have been looked at before. One instance of the program moves from
 * sizes to sizes. */
static fnz_status ask(fnzi_dyn *d, fnzi_point *point, bool is_recorded, answers *a) {
  const int works = a->works;
  if (is_recorded && a->passes)
    return FNZ_OK;
  fnz_status status = fnzi_instance_move(&d->moved, &d->sizes, point);
  /* A node gives another number than is recorded. */
  a->fails += status == FNZ_BAD_INPUT && fnz_last_error(d->ctx)->kind == FNZ_CLASS_TYPE;
  const fnz_program *there = d->moved.program;
  if (status == FNZ_OK && !is_recorded)
    status = ask_types(d, there, a);
  if (status == FNZ_OK && !a->passes && (is_recorded || a->works > works)) {
    /* Does the pass refuse nothing there? How many nodes it makes says little: at single sizes a
     * slice may be all of its base. */
    fnz_program *made;
    status = fnzi_pass_program(d->ctx, there, d->options, NULL, &made);
    a->passes += status == FNZ_OK;
    fnz_program_destroy(made);
  }
  return fnzi_is_final(status) ? status : FNZ_OK;
}

/* All numbers are the recorded ones. */
static fnz_status is_recorded(fnzi_dyn *d, fnzi_point *point, bool *out) {
  *out = d->has_recorded;
  for (size_t i = 0; i < d->sizes.free.count && *out; i++) {
    bool known, here;
    int64_t x, y;
    FNZ_TRY(fnzi_point_int(&d->recorded, d->sizes.free.data[i], &known, &x));
    FNZ_TRY(fnzi_point_int(point, d->sizes.free.data[i], &here, &y));
    *out = !known || !here || x == y;
  }
  return FNZ_OK;
}

/* The draw of this number: usual sizes first. */
static fnz_status ask_drawn(fnzi_dyn *d, size_t k, bool *more, answers *a) {
  const bool is_usual = k < MOST_DRAWS;
  fnzi_point point;
  bool found = false;
  fnzi_point_init(&point, &d->sizes.set);
  fnz_status status = is_usual ? fnzi_draw_numbers(&d->draw, &point, &found)
                               : fnzi_sizes_adopt(&d->sizes, &point, &d->sizes, &d->recorded);
  if (status == FNZ_OK && !is_usual) /* the recorded sizes, but special ones in one or two places */
    status = fnzi_draw_special(&d->draw, k - MOST_DRAWS, &point, more, &found);
  bool known = true;
  if (status == FNZ_OK && found)
    status = is_recorded(d, &point, &known);
  if (status == FNZ_OK && !known)
    status = fnzi_sizes_are_bearable(&d->sizes, &point, &found);
  if (status == FNZ_OK && !known && found)
    status = ask(d, &point, false, a);
  fnzi_point_free(&point);
  return status;
}

/* If no sizes but the recorded ones can be found, these are right: a file is read with them. */
fnz_status fnzi_dyn_check_records(fnzi_dyn *d, bool *right, bool *passes) {
  answers a = {.passes = passes == NULL};
  /* Sizes at which the program fails say nothing, but where there are no others: then only the
   * recorded ones are right, and a guard has to keep to them. */
  bool more = true;
  if (d->has_recorded)
    FNZ_TRY(ask(d, &d->recorded, true, &a));
  for (size_t k = 0; (a.works < FEW || !a.passes) && !a.lies && more; k++) {
    if (k == MOST_DRAWS && (a.works || !d->has_recorded))
      break;
    FNZ_TRY(ask_drawn(d, k, &more, &a));
    more = more && k < MOST_DRAWS + MOST_NEAR;
  }
  *right = !a.lies && (a.works || !a.fails);
  if (passes)
    *passes = a.passes;
  return FNZ_OK;
}
