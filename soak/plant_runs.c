/* plant_runs.c - can runs over numbers tell two programs apart? Nothing of verification is used
 * here: programs are run by the CPU's kernels, on numbers and sizes of this file's own, and their
 * results are compared here, with the state in which they leave the generator. */
#include "soak/plant_runs.h"

#include "program/shapes/sizes.h"
#include "run/reals.h"
#include "soak/choices.h"
#include "soak/programs.h"

/* --- inputs ---------------------------------------------------------------------------------- */
/* A symbolic number is given as an array of one element. */
static fnz_status add_number(const fnz_program *p, const fnzi_value *v, const fnzi_sizes *sizes,
                             fnzi_point *point, fnz_arrays *out) {
  int64_t number = 1;
  bool known = false;
  void *data;
  const fnzi_expr *e = v->symbol ? sizes->symbols[v->symbol] : NULL;
  (void)p;
  if (e)
    FNZ_TRY(fnzi_point_int(point, e, &known, &number));
  FNZ_TRY(fnz_arrays_add(out, v->name, FNZ_I64, 0, NULL, &data));
  memcpy(data, &number, sizeof number);
  return FNZ_OK;
}

static fnz_status runs_add_inputs(const fnz_program *p, const fnzi_sizes *sizes, fnzi_point *point,
                                  uint64_t seed, fnz_arrays *out) {
  const fnzi_graph *graph = fnzi_graph_main(p);
  static const uint64_t most[] = {0, 3, 8, 2, 24};
  const uint64_t below = most[seed % (sizeof most / sizeof *most)];
  fnzi_arena arena;
  fnz_status status = FNZ_OK;
  fnzi_arena_init(&arena, point->set->arena.ctx);
  for (uint32_t i = 0; status == FNZ_OK && i < graph->ninputs; i++) {
    const fnz_arg *arg = &graph->inputs[i];
    const fnzi_value *v = fnzi_is_reference(arg) ? &graph->values.data[arg->u.value] : NULL;
    const fnz_geometry *g = NULL;
    void *data;
    if (arg->tag == FNZ_ARG_SYMBOL)
      status = add_number(p, v, sizes, point, out);
    if (arg->tag != FNZ_ARG_VALUE || fnzi_weight_find(p, p->inputs[i].target))
      continue;
    status = fnzi_sizes_geometry(sizes, point, v->geometry, &arena, &g);
    if (status == FNZ_OK && g)
      status = fnz_arrays_add(out, v->name, g->dtype, g->rank, g->sizes, &data);
    if (status == FNZ_OK && g) {
      /* Integers are often indices or sizes, so in most of the runs they are small and not
       * negative. */
      size_t bytes = fnzi_dtype(g->dtype)->bytes;
      fnzi_random_fill(g, data, &seed);
      for (int64_t k = 0, n = fnz_geometry_numel(g); below && fnzi_is_integer(g->dtype) && k < n;
           k++) {
        memset((unsigned char *)data + (size_t)k * bytes, 0, bytes);
        ((unsigned char *)data)[(size_t)k * bytes] = (unsigned char)(splitmix64(&seed) % below);
      }
      status = fnzi_random_agree(arena.ctx, g, data);
    }
  }
  fnzi_arena_free(&arena);
  return status;
}

/* Most sizes keep to the conditions of the program; every fourth choice is any small ones, and
 * every eighth has one that is large. */
static fnz_status runs_draw_sizes(fnzi_sizes *sizes, fnzi_point *point, uint64_t seed) {
  fnzi_draw draw;
  bool found;
  if (seed % 4 != 3) {
    fnzi_draw_start(&draw, sizes, splitmix64(&seed));
    return fnzi_draw_numbers(&draw, point, &found);
  }
  const size_t large = seed % 8 == 7 ? seed / 8 % (sizes->free.count + 1) : SIZE_MAX;
  for (size_t i = 0; i < sizes->free.count; i++)
    FNZ_TRY(fnzi_point_set(point, sizes->free.data[i],
                           (int64_t)(splitmix64(&seed) % (i == large ? 120 : 17))));
  return FNZ_OK;
}

/* NULL where the program takes what has no numbers. */
static fnz_status make_inputs(fnz_context *ctx, const fnz_program *p, uint64_t seed,
                              fnz_arrays **out) {
  fnz_status status;
  *out = NULL;
  if (!fnzi_program_has_symbols(p) && seed % 2)
    return fnzi_random_inputs(ctx, p, seed, out);
  FNZ_TRY(fnz_arrays_create(ctx, out));
  fnzi_sizes sizes;
  fnzi_point point;
  status = fnzi_sizes_open(&sizes, ctx, p);
  fnzi_point_init(&point, &sizes.set);
  if (status == FNZ_OK)
    status = runs_draw_sizes(&sizes, &point, seed);
  if (status == FNZ_OK)
    status = runs_add_inputs(p, &sizes, &point, seed, *out);
  fnzi_point_free(&point);
  fnzi_sizes_close(&sizes);
  return status;
}

/* --- comparing ------------------------------------------------------------------------------- */
static bool same_array(const fnz_array *a, const fnz_array *b) {
  size_t item = fnzi_dtype(a->dtype)->bytes;
  if (a->dtype != b->dtype || a->rank != b->rank || a->bytes != b->bytes)
    return false;
  for (uint32_t d = 0; d < a->rank; d++)
    if (a->sizes[d] != b->sizes[d])
      return false;
  for (size_t i = 0; i < a->bytes; i += item) {
    const unsigned char *x = (const unsigned char *)a->data + i,
                        *y = (const unsigned char *)b->data + i;
    if (memcmp(x, y, item) != 0 && !fnzi_run_same_reals(a->dtype, x, y, item))
      return false;
  }
  return true;
}

/* The input, parameter or buffer with this final value begins with the same numbers: given ones, or
 * the file's, which lie in rows. */
static bool is_left(const fnz_program *p, const fnz_arrays *inputs, const fnz_array *final) {
  const char *target = strchr(final->name, '.') + 1;
  const fnzi_weight *w = fnzi_weight_find(p, target);
  const fnzi_graph *g = fnzi_graph_main(p);
  const fnz_array *given = fnz_arrays_find(inputs, target);
  for (uint32_t k = 0; !given && k < g->ninputs; k++)
    if (g->inputs[k].tag == FNZ_ARG_VALUE && fnzi_same_text(p->inputs[k].target, target))
      given = fnz_arrays_find(inputs, g->values.data[g->inputs[k].u.value].name);
  if (given || !w || !w->blob || !fnzi_is_contiguous(w->geometry))
    return given && same_array(final, given);
  const size_t at = (size_t)w->geometry->offset * fnzi_dtype(w->geometry->dtype)->bytes;
  return memcmp((const char *)fnzi_blob_data(w->blob) + at, final->data, final->bytes) == 0;
}

/* All of `a` is in `b`; who does not name the final value of an input has left it as it was. */
static bool has_arrays(const fnz_program *p, const fnz_arrays *a, const fnz_arrays *b,
                       const fnz_arrays *inputs) {
  for (size_t i = 0; i < fnz_arrays_count(a); i++) {
    const fnz_array *one = fnz_arrays_at(a, i), *other = fnz_arrays_find(b, one->name);
    bool is_final = !fnzi_starts_with(one->name, "output.");
    bool same = other ? same_array(one, other) : is_final && is_left(p, inputs, one);
    if (one->bytes > 0 && !same)
      return false;
  }
  return true;
}

/* --- runs ------------------------------------------------------------------------------------ */
enum { TURNS = 1000 };

typedef struct outcome {
  fnz_status status;
  fnz_arrays *arrays;
  bool of_sizes; /* refused for its sizes */
  unsigned char state[FNZ_GENERATOR_STATE_BYTES];
} outcome;

/* Data may begin the count of a loop far below its end: then the usual turns take minutes. */
static fnz_status run(const fnzi_plant_pair *pair, const fnz_program *p, bool original,
                      const fnz_arrays *inputs, outcome *out) {
  fnz_run_options options = FNZ_RUN_OPTIONS_INIT;
  options.original = original;
  FNZ_TRY(fnz_arrays_create(pair->ctx, &out->arrays));
  const size_t turns = pair->ctx->limits.turns;
  pair->ctx->limits.turns = TURNS;
  fnz_generator_set_seed(pair->draws, 1);
  fnz_context_set_generator(pair->ctx, pair->draws);
  out->status = fnz_run(pair->ctx, p, pair->cpu, inputs, &options, out->arrays);
  fnz_context_set_generator(pair->ctx, NULL);
  pair->ctx->limits.turns = turns;
  out->of_sizes = out->status != FNZ_OK && pair->ctx->reason == FNZI_REASON_SIZES;
  fnz_generator_save_state(pair->draws, out->state);
  return out->status == FNZ_NO_MEMORY ? out->status : FNZ_OK;
}

static fnzi_plant_verdict runs_judge(const fnzi_plant_pair *pair, const fnz_arrays *inputs,
                                     const outcome *a, const outcome *b) {
  if (pair->by_sizes && a->status != FNZ_OK)
    return a->of_sizes && b->status == FNZ_OK ? FNZI_PLANT_APART : FNZI_PLANT_NOTHING;
  if (pair->by_sizes && b->status != FNZ_OK)
    return FNZI_PLANT_APART;
  if (a->status == FNZ_OK && b->status == FNZ_OK) {
    bool same = has_arrays(pair->first, a->arrays, b->arrays, inputs) &&
                has_arrays(pair->first, b->arrays, a->arrays, inputs) &&
                memcmp(a->state, b->state, sizeof a->state) == 0;
    return same ? FNZI_PLANT_ALIKE : FNZI_PLANT_APART;
  }
  if (a->status == FNZ_OK && b->status != FNZ_OK && !pair->by_failures)
    return FNZI_PLANT_BROKEN;
  if (a->status == FNZ_OK || (pair->by_failures && b->status == FNZ_OK))
    return FNZI_PLANT_APART;
  return FNZI_PLANT_NOTHING;
}

static fnz_status run_both(const fnzi_plant_pair *pair, uint64_t seed, fnzi_plant_verdict *out) {
  outcome *a = fnzi_resize(pair->ctx, NULL, 0, 2 * sizeof *a), *b = a ? a + 1 : NULL;
  fnz_arrays *inputs = NULL;
  *out = FNZI_PLANT_NOTHING;
  if (!a)
    return fnzi_no_memory(pair->ctx);
  memset(a, 0, 2 * sizeof *a);
  fnz_status status = make_inputs(pair->ctx, pair->first, seed, &inputs);
  if (status == FNZ_OK) {
    status = run(pair, pair->first, pair->is_original, inputs, a);
    if (status == FNZ_OK)
      status = run(pair, pair->second, false, inputs, b);
    if (status == FNZ_OK)
      *out = runs_judge(pair, inputs, a, b);
  }
  fnz_arrays_destroy(inputs);
  fnz_arrays_destroy(a->arrays);
  fnz_arrays_destroy(b->arrays);
  fnzi_free(pair->ctx, a, 2 * sizeof *a);
  return status == FNZ_NO_MEMORY ? status : FNZ_OK;
}

fnz_status fnzi_plant_judge(const fnzi_plant_pair *pair, size_t runs, fnzi_plant_verdict *out) {
  fnzi_plant_verdict verdict = FNZI_PLANT_NOTHING;
  *out = FNZI_PLANT_NOTHING;
  for (size_t seed = 0; seed < runs && *out != FNZI_PLANT_APART; seed++) {
    FNZ_TRY(run_both(pair, seed, &verdict));
    *out = verdict > *out ? verdict : *out;
  }
  return FNZ_OK;
}
