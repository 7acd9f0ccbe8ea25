/* results.c - keeps the results of the original, and compares those of other programs with them.
 *
 * Most programs have their results in the same order, so the next one is tried first; all names are
 * searched only when it has another name. */
#include "run/verify/results.h"
#include "run/eager/interp.h"
#include "run/reals.h"

#include <stdio.h>

/* --- Results kept ----------------------------------------------------------------------------- */

static fnz_status keep(void *user, const char *name, const fnz_geometry *g, const void *cells,
                       size_t bytes) {
  fnzi_ver_results *r = user;
  fnzi_ver_result kept = {.g = *g, .bytes = bytes};
  int64_t *sizes;
  FNZ_TRY(fnzi_arena_string(&r->arena, name, strlen(name), &kept.name));
  FNZI_NEW(&r->arena, g->rank, &sizes);
  if (g->rank > 0)
    memcpy(sizes, g->sizes, g->rank * sizeof *sizes);
  kept.g.sizes = sizes;
  kept.g.strides = NULL;
  kept.g.symbols = NULL;
  FNZI_NEW(&r->arena, bytes, &kept.cells);
  if (bytes > 0)
    memcpy(kept.cells, cells, bytes);
  FNZI_PUSH(r->ctx, &r->list, kept);
  return FNZ_OK;
}

/* --- Comparing -------------------------------------------------------------------------------- */

/* The node of an output in the original, " (node ...)"; "" for a result that is no output. */
static void origin(const fnz_program *p, const char *name, char out[192]) {
  const fnzi_graph *g = fnzi_graph_at(p, 0);
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

static fnz_status compare_shape(fnzi_ver_results *r, const fnzi_ver_result *a,
                                const fnz_geometry *g) {
  char one[FNZI_SHAPE_TEXT], other[FNZI_SHAPE_TEXT];
  if (a->g.dtype == g->dtype && fnzi_same_sizes(&a->g, g))
    return FNZ_OK;
  fnzi_shape_text(&a->g, one);
  fnzi_shape_text(g, other);
  return fnzi_fail(r->ctx, FNZ_CLASS_DIFFERENT, "", "%s is %s in the original and %s here", a->name,
                   one, other);
}

static fnz_status compare_cells(fnzi_ver_results *r, const fnzi_ver_result *a,
                                const unsigned char *cells) {
  char from[192];
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
    origin(r->original, a->name, from);
    return fnzi_fail(r->ctx, FNZ_CLASS_DIFFERENT, "", "%s differs at element %lld%s%s", a->name,
                     (long long)i, from, r->numbers ? ", in numbers" : "");
  }
  return FNZ_OK;
}

/* The map of names is made when a result is out of order for the first time. */
static fnz_status learn_names(fnzi_ver_results *r) {
  if (r->knows_names)
    return FNZ_OK;
  r->knows_names = true;
  for (size_t i = 0; i < r->list.count; i++) {
    const char *name = r->list.data[i].name;
    FNZ_TRY(fnzi_map_set(&r->names, name, strlen(name), i));
  }
  return FNZ_OK;
}

/* NULL when the original has no such result. */
static fnz_status find(fnzi_ver_results *r, const char *name, fnzi_ver_result **out) {
  uint64_t at = r->next;
  bool found = at < r->list.count && strcmp(r->list.data[at].name, name) == 0;
  *out = NULL;
  if (!found) {
    FNZ_TRY(learn_names(r));
    found = fnzi_map_get(&r->names, name, strlen(name), &at);
  }
  if (!found)
    return FNZ_OK;
  r->next = at + 1;
  *out = &r->list.data[at];
  return FNZ_OK;
}

/* This program may write a constant that the original leaves unchanged. */
static fnz_status find_final(fnzi_ver_results *r, const char *name, fnzi_ver_result **out) {
  static const char buffer[] = "buffer.";
  const char *left;
  FNZ_TRY(find(r, name, out));
  if (*out || strncmp(name, buffer, sizeof buffer - 1) != 0)
    return FNZ_OK;
  FNZ_TRY(fnzi_arena_dotted(&r->arena, FNZI_RUN_LEFT_CONSTANT, name + sizeof buffer - 1, &left));
  return find(r, left, out);
}

static bool is_left_constant(const char *name) {
  return strncmp(name, FNZI_RUN_LEFT_CONSTANT ".", sizeof FNZI_RUN_LEFT_CONSTANT) == 0;
}

static fnz_status meet(void *user, const char *name, const fnz_geometry *g, const void *cells,
                       size_t bytes) {
  fnzi_ver_results *r = user;
  fnzi_ver_result *a;
  (void)bytes;
  FNZ_TRY(find_final(r, name, &a));
  if (a == NULL && is_left_constant(name))
    return FNZ_OK;
  if (a == NULL)
    return fnzi_fail(r->ctx, FNZ_CLASS_DIFFERENT, "", "the original has no %s", name);
  a->met = true;
  FNZ_TRY(compare_shape(r, a, g));
  return compare_cells(r, a, cells);
}

static fnz_status all_met(fnzi_ver_results *r) {
  for (size_t i = 0; i < r->list.count; i++)
    if (!r->list.data[i].met && !is_left_constant(r->list.data[i].name))
      return fnzi_fail(r->ctx, FNZ_CLASS_DIFFERENT, "", "%s is in the original only",
                       r->list.data[i].name);
  return FNZ_OK;
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

fnz_status fnzi_ver_results_keep(fnzi_ver_results *r, fnz_backend *backend,
                                 const fnzi_run_options *options) {
  fnzi_run_options all = *options;
  all.everything = true;
  all.emit = keep;
  all.user = r;
  return fnzi_eag_run(r->ctx, r->original, backend, &all);
}

fnz_status fnzi_ver_results_meet(fnzi_ver_results *r, const fnz_program *other,
                                 fnz_backend *backend, const fnzi_run_options *options) {
  fnzi_run_options all = *options;
  all.everything = true;
  all.emit = meet;
  all.user = r;
  r->next = 0;
  for (size_t i = 0; i < r->list.count; i++)
    r->list.data[i].met = false;
  FNZ_TRY(fnzi_eag_needs_memory(other) ? fnzi_eag_run(r->ctx, other, backend, &all)
                                       : fnzi_run_functional(r->ctx, other, backend, &all));
  return all_met(r);
}
