/* methods.c - two methods of functionalization on one program of unknown sizes (soak/methods.h). */
#include "soak/methods.h"

#include "functionalize/api.h"
#include "soak/choices.h"
#include "soak/counts.h"
#include "soak/plant_edit.h"
#include "soak/refusals.h"

typedef fnzi_judge judge;
typedef fnzi_verdict verdict;
typedef fnzi_method_counts counts;

static const struct {
  const char *name;
  fnzi_pass_method method;
} methods[FNZI_METHODS] = {{"tried", FNZI_PASS_TRIED}, {"computed", FNZI_PASS_COMPUTED}};

static const struct {
  const char *name;
  fnzi_plant_fn *plant;
} plants[FNZI_METHOD_PLANTS] = {
#define METHOD_PLANT_ROW(id, name, plant) {name, plant},
    FNZI_METHOD_PLANT_ROWS(METHOD_PLANT_ROW)
#undef METHOD_PLANT_ROW
};

/* --- forms at sizes -------------------------------------------------------------------------- */
enum { INSIDE = 10, LEAST_DRAWS = 24, MOST_DRAWS = 48 };

/* Runs the forms where eager runs. `takes`: of each, if it takes these sizes. */
static verdict meet(judge *t, const fnz_program *const forms[FNZI_METHODS],
                    bool takes[FNZI_METHODS]) {
  const fnzi_run_options options = {.inputs = t->inputs};
  fnzi_ver_results_start(&t->numbers, t->original, true);
  if (fnzi_ver_results_keep(&t->numbers, t->cpu, &options))
    return FNZI_VERDICT_REFUSED;
  for (size_t k = 0; k < FNZI_METHODS; k++) {
    takes[k] = forms[k] && fnzi_ver_results_meet(&t->numbers, forms[k], t->cpu, &options) == FNZ_OK;
    if (forms[k] && !takes[k] && t->ctx->reason != FNZI_REASON_SIZES)
      return fnzi_judge_failed(t, methods[k].name);
  }
  return FNZI_VERDICT_EQUAL;
}

static verdict meet_at(judge *t, const fnz_program *const forms[FNZI_METHODS], uint64_t seed,
                       bool takes[FNZI_METHODS]) {
  bool recorded;
  fnz_arrays *inputs = NULL;
  if (fnzi_judge_draw(t, seed, &inputs, &recorded)) {
    fnz_arrays_destroy(inputs);
    return fnzi_judge_nothing(t);
  }
  t->inputs = inputs;
  const verdict v = meet(t, forms, takes);
  t->inputs = NULL;
  fnz_arrays_destroy(inputs);
  return v;
}

verdict fnzi_judge_forms(judge *t, const fnz_program *p,
                         const fnz_program *const forms[FNZI_METHODS], uint64_t turn, counts *n) {
  size_t inside[FNZI_METHODS];
  for (size_t k = 0; k < FNZI_METHODS; k++)
    inside[k] = forms[k] ? 0 : INSIDE;
  t->original = p;
  t->views = FNZ_VIEWS_COPY;
  t->kind[0] = t->reason[0] = 0;
  for (uint64_t i = 0; i < MOST_DRAWS; i++) {
    if (i >= LEAST_DRAWS && inside[0] >= INSIDE && inside[1] >= INSIDE)
      break;
    bool takes[FNZI_METHODS] = {false};
    const verdict v = meet_at(t, forms, i ? splitmix64(&turn) | 1 : 0, takes);
    if (v == FNZI_VERDICT_WRONG)
      return v;
    if (v == FNZI_VERDICT_REFUSED)
      continue;
    n->sizes++;
    for (size_t k = 0; k < FNZI_METHODS; k++) {
      const size_t other = FNZI_METHODS - 1 - k;
      n->of[k].taken += takes[k];
      n->of[k].alone += takes[k] && forms[other] && !takes[other];
    }
    for (size_t k = 0; k < FNZI_METHODS; k++)
      inside[k] += takes[k];
  }
  return FNZI_VERDICT_EQUAL;
}

/* --- mistakes -------------------------------------------------------------------------------- */
/* A copy of the form that has gone through text, with the mistake in some place of it; NULL if it
 * has no such place, or if a reader or the check of types refuses it. */
static fnz_status plant(judge *t, const fnz_program *form, size_t kind, uint64_t turn,
                        fnz_program **out) {
  fnz_buffer text = {0}, wrong = {0};
  fnzi_planting places = {.wanted = UINT64_MAX, .source = t->original};
  *out = NULL;
  fnz_status status = fnz_program_write(t->ctx, form, FNZ_FORMAT_TEXT, &text);
  if (status == FNZ_OK)
    status = fnz_program_read(t->ctx, text.data, text.size, FNZ_FORMAT_TEXT, &places.p);
  if (status == FNZ_OK)
    status = plants[kind].plant(&places);
  fnzi_planting made = {.p = places.p, .state = turn, .source = t->original};
  made.wanted = places.places ? splitmix64(&turn) % places.places : UINT64_MAX;
  if (status == FNZ_OK)
    status = plants[kind].plant(&made);
  if (status == FNZ_OK && made.what[0])
    status = fnz_program_write(t->ctx, made.p, FNZ_FORMAT_TEXT, &wrong);
  if (status == FNZ_OK && made.what[0] &&
      (fnz_program_read(t->ctx, wrong.data, wrong.size, FNZ_FORMAT_TEXT, out) != FNZ_OK ||
       fnz_program_check_types(t->ctx, *out, NULL, NULL) != FNZ_OK)) {
    fnz_program_destroy(*out);
    *out = NULL;
  }
  fnz_program_destroy(places.p);
  fnz_buffer_free(t->ctx, &text);
  fnz_buffer_free(t->ctx, &wrong);
  return status;
}

static verdict try_plants(judge *t, const fnz_program *p, fnz_program *const forms[FNZI_METHODS],
                          uint64_t turn, counts *n) {
  counts ignored = {.programs = 0};
  for (size_t kind = 0; forms[1] && kind < FNZI_METHOD_PLANTS; kind++) {
    fnz_program *wrong;
    if (plant(t, forms[1], kind, turn, &wrong) != FNZ_OK)
      return fnzi_judge_nothing(t);
    const fnz_program *const both[] = {forms[0], wrong};
    const bool is_found =
        wrong && fnzi_judge_forms(t, p, both, turn, &ignored) == FNZI_VERDICT_WRONG;
    n->made[kind] += wrong != NULL;
    n->found[kind] += is_found;
    fnz_program_destroy(wrong);
  }
  return FNZI_VERDICT_EQUAL;
}

/* --- both methods ---------------------------------------------------------------------------- */
static void count_forms(const fnz_program *p, fnz_program *const forms[FNZI_METHODS], counts *n) {
  const bool both = forms[0] && forms[1];
  n->programs++;
  n->both += both;
  for (size_t k = 0; k < FNZI_METHODS; k++) {
    n->of[k].refused += !forms[k];
    if (!both)
      continue;
    n->of[k].nodes += fnz_program_stats(forms[k]).nodes;
    n->of[k].guards += forms[k]->guards.count - p->guards.count;
  }
}

/* The functional form of a method. Every second program is decomposed, too. */
static fnz_status make_form(fnz_context *ctx, const fnz_program *p, fnzi_pass_method method,
                            uint64_t how, fnz_program **out) {
  static const char *const sets[] = {"core", "prims"};
  fnz_decompose_options options = FNZ_DECOMPOSE_OPTIONS_INIT;
  fnz_program *form;
  FNZ_TRY(fnzi_functionalize_by(ctx, p, method, &form));
  *out = form;
  if (how % 4 >= 2)
    return FNZ_OK;
  options.set = sets[how % 4];
  const fnz_status status = fnzi_decompose_by(ctx, form, &options, method, out);
  fnz_program_destroy(form);
  return status;
}

verdict fnzi_judge_methods(judge *t, const fnz_program *p, uint64_t turn, bool plants_mistakes,
                           counts *n) {
  fnz_program *forms[FNZI_METHODS] = {NULL};
  verdict v = FNZI_VERDICT_EQUAL;
  const uint64_t how = plants_mistakes ? UINT64_MAX : splitmix64(&turn);
  t->original = p;
  for (size_t k = 0; k < FNZI_METHODS && v == FNZI_VERDICT_EQUAL; k++)
    if (make_form(t->ctx, p, methods[k].method, how, &forms[k]) != FNZ_OK &&
        fnz_last_error(t->ctx)->kind == FNZ_CLASS_INTERNAL)
      v = fnzi_judge_failed(t, methods[k].name);
  if (v == FNZI_VERDICT_EQUAL)
    count_forms(p, forms, n);
  const fnz_program *const both[] = {forms[0], forms[1]};
  if (v == FNZI_VERDICT_EQUAL)
    v = plants_mistakes ? try_plants(t, p, forms, turn, n) : fnzi_judge_forms(t, p, both, turn, n);
  for (size_t k = 0; k < FNZI_METHODS; k++)
    fnz_program_destroy(forms[k]);
  return v;
}

/* --- figures --------------------------------------------------------------------------------- */
void fnzi_method_counts_add(counts *to, const counts *from) {
  to->programs += from->programs;
  to->both += from->both;
  to->sizes += from->sizes;
  for (size_t k = 0; k < FNZI_METHODS; k++) {
    to->of[k].refused += from->of[k].refused;
    to->of[k].nodes += from->of[k].nodes;
    to->of[k].guards += from->of[k].guards;
    to->of[k].taken += from->of[k].taken;
    to->of[k].alone += from->of[k].alone;
  }
  fnzi_counts_add(to->made, from->made, FNZI_METHOD_PLANTS);
  fnzi_counts_add(to->found, from->found, FNZI_METHOD_PLANTS);
}

static void line(FILE *to, const char *prefix, uint64_t first, uint64_t second, const char *what) {
  fprintf(to, "%s%12llu %12llu  %s\n", prefix, (unsigned long long)first,
          (unsigned long long)second, what);
}

void fnzi_method_print(FILE *to, const char *prefix, const counts *n) {
  fprintf(to, "%s%12llu  programs, %llu of which neither method refuses\n", prefix,
          (unsigned long long)n->programs, (unsigned long long)n->both);
  fprintf(to, "%s%12llu  choices of sizes and data that eager takes\n", prefix,
          (unsigned long long)n->sizes);
  fprintf(to, "%smethods: %s; %s\n", prefix, methods[0].name, methods[1].name);
  line(to, prefix, n->of[0].refused, n->of[1].refused, "programs refused");
  line(to, prefix, n->of[0].nodes, n->of[1].nodes, "nodes, where neither refuses");
  line(to, prefix, n->of[0].guards, n->of[1].guards, "guards beside the source's, the same");
  line(to, prefix, n->of[0].taken, n->of[1].taken, "sizes taken");
  line(to, prefix, n->of[0].alone, n->of[1].alone, "sizes that the other one keeps out");
  for (size_t k = 0; k < FNZI_METHOD_PLANTS; k++)
    if (n->made[k])
      line(to, prefix, n->made[k], n->found[k], plants[k].name);
}
