/* results.c - keeps the results of the original, and compares results of other programs with them.
 *
 * Most programs have their results in the same order, so the next one is tried first; all names are
 * searched only when it has another name. */
#include "run/verify/results.h"
#include "run/eager/interp.h"
#include "run/reals.h"

#include <stdio.h>

/* --- Results kept ----------------------------------------------------------------------------- */

static fnz_status keep_one(fnzi_ver_results *r, const char *name, const fnz_geometry *g,
                           fnzi_ver_result kept) {
  int64_t *sizes;
  FNZ_TRY(fnzi_arena_string(&r->arena, name, strlen(name), &kept.name));
  FNZI_NEW(&r->arena, g->rank, &sizes);
  if (g->rank > 0)
    memcpy(sizes, g->sizes, g->rank * sizeof *sizes);
  kept.g = *g;
  kept.g.sizes = sizes;
  kept.g.strides = NULL;
  kept.g.symbols = NULL;
  FNZI_PUSH(r->ctx, &r->list, kept);
  return FNZ_OK;
}

static fnz_status keep(void *user, const char *name, const fnz_geometry *g, const void *cells,
                       size_t bytes) {
  fnzi_ver_results *r = user;
  fnzi_ver_result kept = {.bytes = bytes};
  FNZI_NEW(&r->arena, bytes, &kept.cells);
  if (bytes > 0)
    memcpy(kept.cells, cells, bytes);
  return keep_one(user, name, g, kept);
}

static fnz_status keep_series(void *user, const char *name, const fnz_geometry *g,
                              fnzi_cell start) {
  return keep_one(user, name, g, (fnzi_ver_result){.start = start});
}

/* --- Comparing -------------------------------------------------------------------------------- */

/* The node of an output in the original, " (node ...)"; "" for a result that is no output. */
static void origin(const fnz_program *p, const char *name, char out[192]) {
  const fnzi_graph *g = fnzi_graph_main(p);
  size_t number = 0;
  out[0] = '\0';
  for (size_t k = 0; k < g->noutputs; k++) {
    if (!fnzi_output_is_result(&p->outputs[k]))
      continue;
    char this_name[64], place[160];
    snprintf(this_name, sizeof this_name, "output.%zu", number++);
    if (strcmp(this_name, name) != 0 || g->outputs[k].tag != FNZ_ARG_VALUE)
      continue;
    uint32_t node = g->values.data[g->outputs[k].u.value].node;
    if (node == FNZI_NO_NODE)
      return;
    fnzi_node_place(p, 0, node, place);
    snprintf(out, 192, " (%s)", place);
  }
}

static fnz_status differs_at(fnzi_ver_results *r, const fnzi_ver_result *a, int64_t element) {
  char from[192];
  origin(r->original, a->name, from);
  return fnzi_fail(r->ctx, FNZ_CLASS_DIFFERENT, "", "%s differs at element %lld%s%s", a->name,
                   (long long)element, from, r->numbers ? ", in numbers" : "");
}

static fnz_status compare_cells(fnzi_ver_results *r, const fnzi_ver_result *a,
                                const unsigned char *cells) {
  int64_t numel = fnz_geometry_numel(&a->g);
  size_t cell = numel == 0 ? 0 : a->bytes / (size_t)numel;
  if (a->bytes == 0 || memcmp(a->cells, cells, a->bytes) == 0)
    return FNZ_OK;
  for (int64_t i = 0; i < numel; i++) {
    const unsigned char *one = a->cells + (size_t)i * cell, *other = cells + (size_t)i * cell;
    if (memcmp(one, other, cell) == 0)
      continue;
    if (r->numbers && fnzi_run_same_reals(a->g.dtype, one, other, cell))
      continue;
    return differs_at(r, a, i);
  }
  return FNZ_OK;
}

static fnz_status store_series(fnzi_ver_results *r, fnzi_cell start, size_t bytes,
                               unsigned char **out) {
  fnzi_cell *room;
  FNZI_NEW(&r->arena, bytes / sizeof *room, &room);
  fnzi_series_fill(start, bytes / sizeof *room, room);
  *out = (unsigned char *)room;
  return FNZ_OK;
}

/* NULL when the original has no such result. */
static fnz_status find(fnzi_ver_results *r, const char *name, fnzi_ver_result **out) {
  uint64_t at = r->next;
  bool found = at < r->list.count && strcmp(r->list.data[at].name, name) == 0;
  *out = NULL;
  if (!found) {
    /* The map of names is made when a result is out of order for the first time. */
    if (!r->knows_names) {
      r->knows_names = true;
      for (size_t i = 0; i < r->list.count; i++) {
        const char *known = r->list.data[i].name;
        FNZ_TRY(fnzi_map_set(&r->names, known, strlen(known), i));
      }
    }
    found = fnzi_map_get(&r->names, name, strlen(name), &at);
  }
  if (!found)
    return FNZ_OK;
  r->next = at + 1;
  *out = &r->list.data[at];
  return FNZ_OK;
}

/* A program may have a final value of what another one leaves as it is: a constant that it writes
 * in a branch, or memory that an input was moved away from. */
static const struct {
  const char *state, *left;
} variants[] = {{"buffer", FNZI_RUN_LEFT_CONSTANT}, {"memory", FNZI_RUN_LEFT_MEMORY}};
enum { VARIANTS = sizeof variants / sizeof *variants };

/* The rest of a name after "PREFIX."; NULL for another prefix. */
static const char *after_prefix(const char *name, const char *prefix) {
  size_t size = strlen(prefix);
  return strncmp(name, prefix, size) == 0 && name[size] == '.' ? name + size + 1 : NULL;
}

static bool is_left(const char *name) {
  for (size_t i = 0; i < VARIANTS; i++)
    if (after_prefix(name, variants[i].left) != NULL)
      return true;
  return false;
}

/* The result of the original that is compared with one of this name; NULL for none. */
static fnz_status meet_one(fnzi_ver_results *r, const char *name, const fnz_geometry *g,
                           fnzi_ver_result **out) {
  FNZ_TRY(find(r, name, out));
  for (size_t i = 0; i < VARIANTS && *out == NULL; i++) {
    const char *state = after_prefix(name, variants[i].state);
    const char *left = after_prefix(name, variants[i].left), *other;
    if (state == NULL && left == NULL)
      continue;
    FNZ_TRY(fnzi_arena_dotted(&r->arena, state != NULL ? variants[i].left : variants[i].state,
                              state != NULL ? state : left, &other));
    FNZ_TRY(find(r, other, out));
  }
  if (*out == NULL && is_left(name))
    return FNZ_OK;
  if (*out == NULL)
    return fnzi_fail(r->ctx, FNZ_CLASS_DIFFERENT, "", "the original has no %s", name);
  (*out)->met = true;
  char one[FNZI_SHAPE_TEXT], other[FNZI_SHAPE_TEXT];
  if ((*out)->g.dtype == g->dtype && fnzi_same_sizes(&(*out)->g, g))
    return FNZ_OK;
  fnzi_shape_text(&(*out)->g, one);
  fnzi_shape_text(g, other);
  return fnzi_fail(r->ctx, FNZ_CLASS_DIFFERENT, "", "%s is %s in the original and %s here",
                   (*out)->name, one, other);
}

static fnz_status meet(void *user, const char *name, const fnz_geometry *g, const void *cells,
                       size_t bytes) {
  fnzi_ver_results *r = user;
  fnzi_ver_result *a;
  FNZ_TRY(meet_one(r, name, g, &a));
  if (a == NULL)
    return FNZ_OK;
  if (a->cells == NULL) {
    FNZ_TRY(store_series(r, a->start, bytes, &a->cells));
    a->bytes = bytes;
  }
  return compare_cells(r, a, cells);
}

/* Two series differ in every element, or in none. */
static fnz_status meet_series(void *user, const char *name, const fnz_geometry *g,
                              fnzi_cell start) {
  fnzi_ver_results *r = user;
  fnzi_ver_result *a;
  unsigned char *cells;
  FNZ_TRY(meet_one(r, name, g, &a));
  if (a == NULL ||
      (a->cells == NULL && (fnzi_cell_equal(a->start, start) || fnz_geometry_numel(g) == 0)))
    return FNZ_OK;
  if (a->cells == NULL)
    return differs_at(r, a, 0);
  FNZ_TRY(store_series(r, start, a->bytes, &cells));
  return compare_cells(r, a, cells);
}

static const fnzi_run_series kept_series = {fnzi_hash_series_make, fnzi_hash_series_find,
                                            keep_series};
static const fnzi_run_series met_series = {fnzi_hash_series_make, fnzi_hash_series_find,
                                           meet_series};

static size_t count_tokens(const fnz_program *p) {
  size_t count = 0;
  for (size_t k = 0; k < fnzi_graph_main(p)->noutputs; k++)
    count += p->outputs[k].kind == FNZ_OUTPUT_TOKEN;
  return count;
}

/* The weight whose final value a result is; NULL for others. */
static const fnzi_weight *weight_of(const fnzi_ver_results *r, const char *name) {
  const char *point = strchr(name, '.');
  bool is_state = strncmp(name, "buffer.", 7) == 0 || strncmp(name, "parameter.", 10) == 0;
  return is_state ? fnzi_weight_find(r->original, point + 1) : NULL;
}

/* The other program may leave out a name for memory that it has under another one. */
static bool is_met_elsewhere(const fnzi_ver_results *r, const char *name) {
  const fnzi_weight *w = weight_of(r, name);
  for (size_t i = 0; w && w->blob && i < r->list.count; i++) {
    const fnzi_weight *other = r->list.data[i].met ? weight_of(r, r->list.data[i].name) : NULL;
    if (other && other->blob == w->blob && fnzi_geometry_covers(other->geometry, w->geometry))
      return true;
  }
  return false;
}

/* --- Effects ---------------------------------------------------------------------------------- */

/* "rand_like at model.py:3" */
static void put_effect(const fnzi_hash_effect *e, char out[160]) {
  fnz_place place = fnz_source_place(e->source);
  int at = snprintf(out, 160, "%.60s", e->op->name);
  if (place.path_size > 0)
    snprintf(out + at, 160 - (size_t)at, " at %.*s:%ld",
             (int)(place.path_size < 70 ? place.path_size : 70), place.path, place.line);
}

/* Both programs have a call number k among the calls that have effects, but not the same one. */
static fnz_status other_effect(fnzi_ver_results *r, const fnzi_hash_effect *b, size_t k) {
  const fnzi_hash_effect *a = &r->effects.data[k];
  char first[160], second[160];
  put_effect(a, first);
  put_effect(b, second);
  if (fnzi_op_canonical(a->op) == fnzi_op_canonical(b->op))
    return fnzi_fail(r->ctx, FNZ_CLASS_DIFFERENT, "",
                     "%s takes other values than %s does in the original (calls that draw random "
                     "numbers, assert or have an effect must be the same, in the same order)",
                     second, first);
  return fnzi_fail(r->ctx, FNZ_CLASS_DIFFERENT, "",
                   "%s is called where the original calls %s (calls that draw random numbers, "
                   "assert or have an effect must be the same, in the same order)",
                   second, first);
}

static fnz_status compare_effects(fnzi_ver_results *r, const fnz_backend *backend) {
  size_t count;
  char name[160];
  const fnzi_hash_effect *effects = fnzi_hash_effects(backend, &count);
  for (size_t k = 0; k < count && k < r->effects.count; k++)
    if (effects[k].print != r->effects.data[k].print)
      return other_effect(r, &effects[k], k);
  if (count == r->effects.count)
    return FNZ_OK;
  bool more = count > r->effects.count;
  put_effect(more ? &effects[r->effects.count] : &r->effects.data[count], name);
  return fnzi_fail(r->ctx, FNZ_CLASS_DIFFERENT, "",
                   "%zu calls draw random numbers, assert or have an effect in the original and "
                   "%zu here: %s is called %s",
                   r->effects.count, count, name, more ? "here only" : "in the original only");
}

/* --- Runs ------------------------------------------------------------------------------------- */

void fnzi_ver_results_init(fnzi_ver_results *r, fnz_context *ctx) {
  *r = (fnzi_ver_results){.ctx = ctx};
  fnzi_arena_init(&r->arena, ctx);
  fnzi_map_init(&r->names, ctx);
}

void fnzi_ver_results_start(fnzi_ver_results *r, const fnz_program *original, bool numbers) {
  fnzi_map_free(&r->names);
  fnzi_arena_reset(&r->arena);
  r->list.count = 0;
  r->knows_names = false;
  r->original = original;
  r->numbers = numbers;
}

void fnzi_ver_results_free(fnzi_ver_results *r) {
  FNZI_VEC_FREE(r->ctx, &r->list);
  fnzi_map_free(&r->names);
  fnzi_arena_free(&r->arena);
}

static fnz_status see(void *user, const fnzi_run_shown *shown) {
  fnzi_ver_results *r = user;
  return fnzi_ver_sights_see(&r->arena, r->seen, shown);
}

/* Completes the options of a run, and opens the sights of its program. */
static fnz_status prepare(fnzi_ver_results *r, const fnz_program *p, fnz_backend *backend,
                          bool on_memory, fnzi_run_options *all) {
  all->everything = true;
  all->user = r;
  if (r->numbers)
    return FNZ_OK;
  all->see = see;
  fnzi_hash_effects_restart(backend);
  return fnzi_ver_sights_open(&r->arena, p, on_memory, r->seen);
}

fnz_status fnzi_ver_results_keep(fnzi_ver_results *r, fnz_backend *backend,
                                 const fnzi_run_options *options) {
  fnzi_run_options all = *options;
  all.emit = keep;
  all.series = r->numbers ? NULL : &kept_series;
  r->seen = &r->first;
  FNZ_TRY(prepare(r, r->original, backend, true, &all));
  FNZ_TRY(fnzi_eag_run(r->ctx, r->original, backend, &all));
  if (r->numbers)
    return FNZ_OK;
  const fnzi_hash_effect *effects = fnzi_hash_effects(backend, &r->effects.count);
  FNZI_NEW(&r->arena, r->effects.count, &r->effects.data);
  if (r->effects.count > 0)
    memcpy(r->effects.data, effects, r->effects.count * sizeof *effects);
  return fnzi_ver_sights_finish(&r->arena, r->seen);
}

/* It writes final values back, and nothing else. */
static bool writes_at_end_only(const fnz_program *p) {
  size_t writes = 0;
  for (size_t n = fnzi_epilogue_start(p); n < fnz_node_count(p, 0); n++)
    writes += fnz_op_is_mutating(fnzi_node_at(p, 0, (uint32_t)n)->op);
  return fnz_program_stats(p).mutations == writes;
}

fnz_status fnzi_ver_results_meet(fnzi_ver_results *r, const fnz_program *other,
                                 fnz_backend *backend, const fnzi_run_options *options) {
  fnzi_run_options all = *options;
  /* A program that was never functionalized may return views: only a run on memory shows which. */
  bool on_memory = fnzi_ver_writes(other) ||
                   (!fnzi_ver_sharing_is_said(other) &&
                    (fnzi_eag_needs_memory(other) || fnz_program_stats(other).views > 0));
  all.emit = meet;
  all.series = r->numbers ? NULL : &met_series;
  r->seen = &r->other;
  r->next = 0;
  for (size_t i = 0; i < r->list.count; i++)
    r->list.data[i].met = false;
  FNZ_TRY(prepare(r, other, backend, on_memory, &all));
  FNZ_TRY(on_memory ? fnzi_eag_run(r->ctx, other, backend, &all)
                    : fnzi_run_functional(r->ctx, other, backend, &all));
  for (size_t i = 0; i < r->list.count; i++)
    if (!r->list.data[i].met && !is_left(r->list.data[i].name) &&
        !is_met_elsewhere(r, r->list.data[i].name))
      return fnzi_fail(r->ctx, FNZ_CLASS_DIFFERENT, "", "%s is in the original only",
                       r->list.data[i].name);
  if (r->numbers)
    return FNZ_OK;
  size_t a = count_tokens(r->original), b = count_tokens(other);
  if (a != b)
    return fnzi_fail(r->ctx, FNZ_CLASS_DIFFERENT, "",
                     "%zu tokens are returned in the original and %zu here", a, b);
  FNZ_TRY(compare_effects(r, backend));
  if (r->ignore_memory)
    return FNZ_OK;
  FNZ_TRY(fnzi_ver_sights_finish(&r->arena, r->seen));
  if (on_memory && writes_at_end_only(other)) /* bodies say no more than elsewhere */
    fnzi_ver_sights_doubt(r->seen);
  return fnzi_ver_sights_compare(r->ctx, &r->first, &r->other, r->not_compared);
}
