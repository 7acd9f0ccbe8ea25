/* symbolic_judge.c - judges a program of unknown sizes: at sizes and data that are drawn here, not
 * by the pass, its functional form gives eager's results, or excludes these sizes. It is
 * functional, and accepts the sizes that the exporter saw. */
#include "soak/judge.h"

#include "program/shapes/sizes.h"
#include "soak/choices.h"
#include "soak/refusals.h"
#include "soak/symbolic.h"

typedef fnzi_judge judge;
typedef fnzi_verdict verdict;

enum { DRAWS = 16, SMALLEST = 3, USUAL = 14, LARGE = 120 };

/* --- Inputs ----------------------------------------------------------------------------------- */

/* Mostly a small size, now and then a large one, which one symbol of a program may be: of four
 * large ones there are 200 million elements. */
static int64_t judge_draw_size(uint64_t *seed, bool *has_large) {
  uint64_t random = splitmix64(seed), how = random % 8;
  const bool is_large = how == 7 && !*has_large;
  *has_large = *has_large || is_large;
  return (int64_t)(random >> 8) % (how < 2 ? SMALLEST : is_large ? LARGE : USUAL);
}

/* *recorded: the sizes are all the exporter's, as for the first choice. */
static fnz_status draw_symbols(const fnzi_sizes *sizes, fnzi_point *point, uint64_t seed,
                               bool *recorded) {
  bool has_large = false;
  *recorded = false;
  if (seed == 0)
    return fnzi_sizes_recorded(sizes, point, recorded);
  for (size_t i = 0; i < sizes->free.count; i++)
    FNZ_TRY(fnzi_point_set(point, sizes->free.data[i], judge_draw_size(&seed, &has_large)));
  return FNZ_OK;
}

static fnz_status judge_add_inputs(judge *t, const fnzi_sizes *sizes, fnzi_point *point,
                                   uint64_t seed, fnzi_arena *arena, fnz_arrays *out) {
  const fnzi_graph *graph = fnzi_graph_main(t->original);
  for (uint32_t i = 0; i < graph->ninputs; i++) {
    const fnzi_value *v = &graph->values.data[graph->inputs[i].u.value];
    const fnz_geometry *g;
    void *data;
    FNZ_TRY(fnzi_sizes_geometry(sizes, point, v->geometry, arena, &g));
    FNZ_TRY(fnz_arrays_add(out, v->name, g->dtype, g->rank, g->sizes, &data));
    /* Strided results rely on recorded offsets, and exporters see to it that an index is not
     * negative. */
    const int64_t numel = fnz_geometry_numel(g);
    for (int64_t k = 0; k < numel; k++)
      if (g->dtype == FNZ_I64) {
        /* Within the sizes of tensors or beside them, also before the end. */
        uint64_t random = splitmix64(&seed), how = random % 8;
        int64_t size = (int64_t)(random >> 8 & 0xffffff) % (how < 4 ? 4 : USUAL);
        int64_t n = how == 7 ? -size : size;
        ((int64_t *)data)[k] = n < 0 && t->views == FNZ_VIEWS_STRIDED ? -n : n;
      } else
        ((float *)data)[k] = (float)(splitmix64(&seed) % 64);
  }
  return FNZ_OK;
}

fnz_status fnzi_judge_draw(judge *t, uint64_t seed, fnz_arrays **out, bool *recorded) {
  fnzi_sizes sizes;
  fnzi_point point;
  fnzi_arena arena;
  fnzi_arena_init(&arena, t->ctx);
  fnz_status status = fnzi_sizes_open(&sizes, t->ctx, t->original);
  fnzi_point_init(&point, &sizes.set);
  if (status == FNZ_OK)
    status = draw_symbols(&sizes, &point, seed, recorded);
  if (status == FNZ_OK)
    status = fnz_arrays_create(t->ctx, out);
  if (status == FNZ_OK)
    status = judge_add_inputs(t, &sizes, &point, splitmix64(&seed), &arena, *out);
  fnzi_point_free(&point);
  fnzi_sizes_close(&sizes);
  fnzi_arena_free(&arena);
  return status;
}

/* --- Runs ------------------------------------------------------------------------------------- */

/* At one choice of sizes and data. If eager refuses, nothing is compared. */
static verdict compare(judge *t) {
  const fnzi_run_options options = {.inputs = t->inputs};
  fnzi_ver_results_start(&t->numbers, t->original, true);
  if (fnzi_ver_results_keep(&t->numbers, t->cpu, &options))
    return FNZI_VERDICT_REFUSED;
  if (!t->functional)
    return FNZI_VERDICT_BEYOND;
  if (fnzi_ver_results_meet(&t->numbers, t->functional, t->cpu, &options) == FNZ_OK)
    return FNZI_VERDICT_EQUAL;
  if (t->ctx->reason == FNZI_REASON_SIZES)
    return FNZI_VERDICT_BEYOND;
  return fnzi_judge_failed(t,
                           fnz_last_error(t->ctx)->kind == FNZ_CLASS_DIFFERENT ? "numbers" : "run");
}

/* Some condition is on a number read off data: "u0 >= 0". */
static bool has_guard_of_data(const fnz_program *p) {
  for (size_t i = 0; i < p->guards.count; i++)
    if (p->guards.data[i].kind == FNZ_GUARD_CONDITION &&
        fnzi_symbolic_is_data(p->guards.data[i].text))
      return true;
  return false;
}

/* A functional form is for the sizes that the exporter saw. It saw no data. */
static verdict try_at(judge *t, uint64_t seed) {
  fnz_arrays *inputs = NULL;
  bool recorded = false;
  if (fnzi_judge_draw(t, seed, &inputs, &recorded)) {
    fnz_arrays_destroy(inputs);
    return fnzi_judge_nothing(t);
  }
  t->inputs = inputs;
  verdict v = compare(t);
  if (v == FNZI_VERDICT_BEYOND && recorded && t->functional && !has_guard_of_data(t->functional))
    v = fnzi_judge_failed(t, "recorded");
  t->inputs = NULL;
  fnz_arrays_destroy(inputs);
  return v;
}

/* The pass refuses by name, if it does, and gives a functional program. */
static verdict make_functional(judge *t, fnz_views views) {
  fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  options.views = views;
  if (fnz_functionalize(t->ctx, t->original, &options, &t->functional) == FNZ_OK)
    return fnzi_judge_functional(t, t->functional, views == FNZ_VIEWS_KEEP);
  t->refusal = fnz_last_error(t->ctx)->kind;
  return t->refusal == FNZ_CLASS_INTERNAL ? fnzi_judge_failed(t, "pass") : FNZI_VERDICT_EQUAL;
}

static verdict try_sizes(judge *t, uint64_t draws[FNZI_VERDICTS]) {
  verdict out = FNZI_VERDICT_REFUSED;
  for (uint64_t seed = 0; seed < DRAWS && out != FNZI_VERDICT_WRONG; seed++) {
    verdict v = try_at(t, seed);
    draws[v]++;
    if (v == FNZI_VERDICT_WRONG || v == FNZI_VERDICT_EQUAL || out == FNZI_VERDICT_REFUSED)
      out = v;
  }
  return out;
}

/* EQUAL when it was at some sizes, BEYOND when the pass refuses what eager does at some sizes. */
static verdict try_dialect(judge *t, fnz_views views, uint64_t draws[FNZI_VERDICTS]) {
  t->views = views;
  verdict v = make_functional(t, views);
  if (v == FNZI_VERDICT_EQUAL)
    v = try_sizes(t, draws);
  fnz_program_destroy(t->functional);
  t->functional = NULL;
  return v;
}

verdict fnzi_judge_symbolic(judge *t, const fnz_program *p, unsigned checks,
                            uint64_t draws[FNZI_VERDICTS]) {
  t->original = p;
  t->kind[0] = t->reason[0] = 0;
  t->refusal = FNZ_CLASS_NONE;
  verdict v = try_dialect(t, FNZ_VIEWS_COPY, draws);
  for (size_t k = 0; k < FNZI_DIALECTS && v == FNZI_VERDICT_EQUAL; k++)
    if (checks & fnzi_dialects[k].check &&
        try_dialect(t, fnzi_dialects[k].views, draws) == FNZI_VERDICT_WRONG)
      v = fnzi_judge_in_dialect(t, k);
  return v;
}
