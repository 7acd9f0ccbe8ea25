/* sizes.c - compares two programs with symbolic sizes at the recorded sizes and at others.
 *
 * needs   two programs whose symbols have the same names, or can be solved from their inputs
 * gives   equal at all chosen sizes: usual ones, special ones, those at which an expression that
 * had only one number so far has another, and those next to constants of expressions that only one
 * of the two has. Sizes at which the original itself fails do not count. Numbers that a program
 * reads from tensors are drawn, and these tensors are compared */
#include "run/verify/constants.h"
#include "run/verify/verify.h"

#include <stdio.h>

enum { USUAL = 3, SPECIAL = 12, DRAWS = 400, UNSHARED = 32 /* a symbol */ };

/* Value of an expression of the original at the sizes tried so far. */
typedef struct constant {
  int64_t number;
  bool seen, varies;
} constant;

typedef struct checking {
  fnz_context *ctx;
  fnzi_sizes first, second; /* of the original, of the other */
  fnzi_draw draw;
  fnzi_point point;
  constant *constants; /* per symbol of the original */
  const fnz_verify_options *options;
  int trials;
  fnzi_ver_check_types *check_types;
  fnz_verify_report *report;
} checking;

/* The message of the last failure, with the sizes. */
static fnz_status fails_here(checking *c, fnz_class kind) {
  fnz_buffer text = {NULL, 0, 0};
  char message[sizeof(fnz_error)];
  const fnz_error *e = fnz_last_error(c->ctx);
  snprintf(message, sizeof message, "%s%s%s", e->where, *e->where ? ": " : "", e->message);
  fnz_status status = fnzi_sizes_text(&c->first, &c->point, &text);
  if (status == FNZ_OK)
    status =
        fnzi_fail(c->ctx, kind, NULL, "at the sizes %s: %s", text.data ? text.data : "", message);
  fnz_buffer_free(c->ctx, &text);
  return status;
}

/* Only a lack of memory and mistakes of the library are failures here. */
static fnz_status works_alone(checking *c, const fnz_program *original, bool *works) {
  fnz_status status = fnzi_ver_runs(c->ctx, original);
  *works = status == FNZ_OK;
  return fnzi_ver_is_limit(status) ? status : FNZ_OK;
}

/* A failure that the original has by itself is no difference. */
static fnz_status sizes_compare(checking *c, const fnz_program *original,
                                const fnz_program *other) {
  fnz_verify_report one = {.trials = 0};
  fnz_status status = fnzi_ver_fixed(c->ctx, original, other, c->options, &one);
  if (status == FNZ_DIFFERENT)
    return fails_here(c, FNZ_CLASS_DIFFERENT);
  if (status == FNZ_OK) {
    c->report->trials += one.trials;
    c->report->bodies = one.bodies;
    c->report->bodies_run =
        one.bodies_run > c->report->bodies_run ? one.bodies_run : c->report->bodies_run;
    memcpy(c->report->missed, one.missed, sizeof c->report->missed);
    c->report->predicates += one.predicates;
    c->report->predicates_turned += one.predicates_turned;
    if (c->report->not_compared[0] == '\0')
      memcpy(c->report->not_compared, one.not_compared, sizeof c->report->not_compared);
    c->report->sizes++;
  }
  if (status == FNZ_OK || fnzi_ver_is_limit(status))
    return status;
  bool works;
  FNZ_TRY(works_alone(c, original, &works));
  if (!works)
    return FNZ_OK;
  return fnzi_ver_fixed(c->ctx, original, other, c->options, &one); /* says why again */
}

/* The other program may be for fewer sizes. *out NULL then. */
static fnz_status instantiate_other(checking *c, const fnz_program *original, fnz_program **out) {
  fnzi_point there;
  const fnzi_condition *broken;
  fnzi_point_init(&there, &c->second.set);
  fnz_status status = fnzi_sizes_adopt(&c->second, &there, &c->first, &c->point);
  if (status == FNZ_OK)
    status = fnzi_sizes_match(&c->second, &there, original);
  if (status == FNZ_OK)
    status = fnzi_sizes_admit(&c->second, &there, &broken);
  if (status == FNZ_OK && !broken)
    status = fnzi_instantiate(&c->second, &there, FNZI_READINGS_WATCHED, out);
  fnzi_point_free(&there);
  return status;
}

/* Notes the numbers of expressions of the original where it works. */
static fnz_status note_numbers(checking *c) {
  for (size_t i = 1; i < c->first.program->symbols.count; i++) {
    const fnzi_expr *e = c->first.symbols[i];
    constant *seen = &c->constants[i];
    bool known = false;
    int64_t number;
    if (e && e->kind != FNZI_EXPR_SYMBOL)
      FNZ_TRY(fnzi_point_int(&c->point, e, &known, &number));
    if (known)
      *seen = (constant){number, true, seen->varies || (seen->seen && seen->number != number)};
  }
  return FNZ_OK;
}

/* The types that `p` records at these sizes must be the types that its operators compute, if the
 * original works there; *possible false if it does not. Sizes that depend on data were drawn: with
 * impossible ones no run works. */
static fnz_status check_types_of(checking *c, const fnz_program *original, const fnz_program *p,
                                 bool *possible) {
  fnz_status status = c->check_types(c->ctx, p, NULL, NULL);
  *possible = status == FNZ_OK;
  if (status != FNZ_BAD_INPUT)
    return status;
  bool works = fnzi_sizes_have_data(&c->first);
  if (!works)
    FNZ_TRY(works_alone(c, original, &works));
  if (!works)
    return FNZ_OK;
  status = c->check_types(c->ctx, p, NULL, NULL); /* says why again */
  return status == FNZ_BAD_INPUT ? fails_here(c, FNZ_CLASS_TYPE) : status;
}

/* The same of the original. With data it is not compared where its types are wrong. */
static fnz_status check_recorded(checking *c, const fnz_program *original, bool *possible) {
  bool below = false;
  /* Sizes of 0 and 1 are tried where the range begins at 2, and the exporter promised nothing
   * there. */
  for (size_t i = 0; i < c->first.program->ranges.count && !below; i++) {
    const fnzi_range *r = &c->first.program->ranges.data[i];
    const fnzi_expr *e = fnzi_expr_find(&c->first.set, r->symbol);
    bool known = false;
    int64_t number;
    if (e)
      FNZ_TRY(fnzi_point_int(&c->point, e, &known, &number));
    below = known && number < r->min;
  }
  if (!below && !fnzi_sizes_have_data(&c->first))
    return check_types_of(c, original, original, possible);
  const fnz_status status = c->check_types(c->ctx, original, NULL, NULL);
  *possible = status == FNZ_OK;
  return status == FNZ_BAD_INPUT ? FNZ_OK : status;
}

static fnz_status check_here(checking *c) {
  fnz_program *original = NULL, *other = NULL;
  size_t before = c->report->sizes;
  bool possible = false;
  FNZ_TRY(fnzi_task_at(c->ctx, before));
  fnz_status status = fnzi_instantiate(&c->first, &c->point, FNZI_READINGS_WATCHED, &original);
  if (status != FNZ_OK)
    return fnzi_ver_is_limit(status) ? status : FNZ_OK;
  status = instantiate_other(c, original, &other);
  if (status != FNZ_OK && !fnzi_ver_is_limit(status)) {
    /* If neither works, as at negative sizes, there is nothing to compare. */
    bool works;
    status = works_alone(c, original, &works);
    if (status == FNZ_OK && works)
      status = instantiate_other(c, original, &other); /* says why again */
  }
  if (status == FNZ_OK && other)
    status = check_recorded(c, original, &possible);
  if (status == FNZ_OK && possible)
    status = check_types_of(c, original, other, &possible);
  if (status == FNZ_OK && possible)
    status = sizes_compare(c, original, other);
  if (status == FNZ_OK && c->report->sizes > before)
    status = note_numbers(c);
  fnz_program_destroy(original);
  fnz_program_destroy(other);
  return status;
}

/* --- constant expressions
 * ------------------------------------------------------------------------ */
static fnz_status check_breakpoints_of(checking *c, const fnzi_expr *e, int64_t number) {
  const fnzi_constant tried = {e, number};
  bool more = true, found, small;
  for (size_t k = 0; more; k++) {
    FNZ_TRY(fnzi_draw_numbers(&c->draw, &c->point, &found));
    FNZ_TRY(fnzi_draw_breakpoint(&c->first, &tried, k, &c->point, &more, &found));
    FNZ_TRY(fnzi_sizes_are_small(&c->first, &c->point, &small));
    if (found && small)
      FNZ_TRY(check_here(c));
  }
  return FNZ_OK;
}

/* --- expressions that only one program has ---------------------------------------------------- */

static fnz_status add_others(const fnzi_sizes *a, const fnzi_map *known, fnzi_ver_constants *to) {
  const char *text;
  uint64_t at;
  for (size_t i = 1; i < a->program->symbols.count; i++) {
    const fnzi_expr *e = a->symbols[i];
    if (!e || e->kind == FNZI_EXPR_SYMBOL)
      continue;
    FNZ_TRY(fnzi_expr_text(&a->set, e, &text));
    if (!fnzi_map_get(known, text, strlen(text), &at))
      FNZ_TRY(fnzi_ver_constants_add_expr(to, a, e));
  }
  return FNZ_OK;
}

static fnz_status add_unshared(const fnzi_sizes *a, const fnzi_sizes *b, fnzi_ver_constants *to) {
  fnzi_map known;
  fnzi_map_init(&known, b->set.ctx);
  fnz_status status = FNZ_OK;
  for (size_t i = 0; i < b->set.all.count && status == FNZ_OK; i++) {
    const char *text;
    status = fnzi_expr_text(&b->set, b->set.all.data[i], &text);
    if (status == FNZ_OK)
      status = fnzi_map_set(&known, text, strlen(text), i);
  }
  if (status == FNZ_OK)
    status = add_others(a, &known, to);
  fnzi_map_free(&known);
  return status;
}

/* Sizes next to the constants of such expressions: s0 > 4 and s0 > 5 are one at all others. */
static fnz_status check_unshared(checking *c) {
  fnzi_ver_constants constants = {.count = 0};
  int64_t candidates[FNZI_VER_CANDIDATES], old = 0;
  const fnzi_condition *broken;
  bool found, known;
  FNZ_TRY(add_unshared(&c->first, &c->second, &constants));
  FNZ_TRY(add_unshared(&c->second, &c->first, &constants));
  size_t count = fnzi_ver_constants_list(&constants, candidates);
  FNZ_TRY(fnzi_draw_recorded(&c->draw, &c->point, &found)); /* near others nothing may work */
  for (size_t i = 0; found && constants.count && i < c->first.free.count; i++) {
    const fnzi_expr *symbol = c->first.free.data[i];
    FNZ_TRY(fnzi_point_int(&c->point, symbol, &known, &old));
    for (size_t k = 0, tries = 0; known && k < count && tries < UNSHARED; k++) {
      FNZ_TRY(fnzi_point_set(&c->point, symbol, candidates[k]));
      FNZ_TRY(fnzi_sizes_admit(&c->first, &c->point, &broken));
      if (!broken)
        FNZ_TRY(fnzi_sizes_are_small(&c->first, &c->point, &found));
      if (!broken && found && ++tries)
        FNZ_TRY(check_here(c));
      found = true;
    }
    if (known)
      FNZ_TRY(fnzi_point_set(&c->point, symbol, old));
  }
  return FNZ_OK;
}

static fnz_status check_all(checking *c) {
  const fnzi_condition *broken;
  bool recorded, found, more = true;
  FNZI_NEW(&c->first.set.arena, c->first.program->symbols.count, &c->constants);
  FNZ_TRY(fnzi_sizes_recorded(&c->first, &c->point, &recorded));
  FNZ_TRY(fnzi_sizes_admit(&c->first, &c->point, &broken));
  recorded = recorded && !broken;
  if (recorded)
    FNZ_TRY(check_here(c));
  const size_t usual = USUAL * (size_t)c->trials + recorded,
               special = (USUAL + SPECIAL) * (size_t)c->trials;
  for (size_t i = 0; i < DRAWS && c->report->sizes < usual; i++) {
    FNZ_TRY(fnzi_draw_numbers(&c->draw, &c->point, &found));
    if (found)
      FNZ_TRY(check_here(c));
    if (i % 4 == 3 && c->report->sizes == 0 && c->draw.span > 1)
      c->draw.span = c->draw.span * 2 / 3;
  }
  for (size_t k = 0; more && c->report->sizes < special; k++) {
    FNZ_TRY(fnzi_draw_numbers(&c->draw, &c->point, &found));
    FNZ_TRY(fnzi_draw_special(&c->draw, k, &c->point, &more, &found));
    if (found)
      FNZ_TRY(check_here(c));
  }
  /* Expressions that had one number so far, at sizes where they have another. */
  for (size_t i = 1; i < c->first.program->symbols.count; i++)
    if (c->constants[i].seen && !c->constants[i].varies)
      FNZ_TRY(check_breakpoints_of(c, c->first.symbols[i], c->constants[i].number));
  FNZ_TRY(check_unshared(c));
  if (c->report->sizes)
    return FNZ_OK;
  return fnzi_fail(c->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                   "no sizes were found at which the original works");
}

fnz_status fnzi_ver_sizes(fnz_context *ctx, const fnz_program *original,
                          const fnz_program *functional, const fnz_verify_options *options,
                          fnzi_ver_check_types *check_types, fnz_verify_report *report) {
  checking c = {.ctx = ctx,
                .options = options,
                .trials = options->trials > 0 ? options->trials : 1,
                .check_types = check_types,
                .report = report};
  fnz_status status = fnzi_sizes_open(&c.first, ctx, original);
  fnzi_point_init(&c.point, &c.first.set);
  if (status == FNZ_OK)
    status = fnzi_sizes_open(&c.second, ctx, functional);
  else
    fnzi_exprs_init(&c.second.set, ctx);
  if (status == FNZ_OK) {
    fnzi_draw_start(&c.draw, &c.first, 77);
    fnzi_task_begin(ctx, "verify", "choices of sizes", (USUAL + SPECIAL) * (uint64_t)c.trials);
    status = fnzi_task_end(ctx, check_all(&c));
  }
  fnzi_point_free(&c.point);
  fnzi_sizes_close(&c.first);
  fnzi_sizes_close(&c.second);
  return status;
}
