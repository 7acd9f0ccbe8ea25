/* verify.c - do two programs mean the same? The original on aliasing memory against the functional
 * one, both over hashes, and over numbers where there are some.
 *
 * Every user output and the final value of every input, parameter and buffer is compared, also of
 * those that neither program says it has written. */
#include "run/verify.h"
#include "run/run.h"
#include "schema/aten_names.h"

#include <stdio.h>

/* --- Results kept --------------------------------------------------------------------------------
 */

typedef struct result {
  const char *name;
  fnz_geometry g;
  unsigned char *cells;
  size_t bytes;
  bool met; /* the other program has it too */
} result;

typedef struct results {
  fnz_context *ctx;
  fnzi_arena arena;
  fnzi_map names;
  struct {
    result *data;
    size_t count, capacity;
  } list;
  const fnz_program *original;
  bool numbers; /* NaN equals NaN */
} results;

static fnz_status keep(void *user, const char *name, const fnz_geometry *g, const void *cells,
                       size_t bytes) {
  results *r = user;
  result kept = {.g = *g, .bytes = bytes};
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
  FNZ_TRY(fnzi_map_set(&r->names, kept.name, strlen(kept.name), r->list.count));
  FNZI_PUSH(r->ctx, &r->list, kept);
  return FNZ_OK;
}

/* --- Comparing -----------------------------------------------------------------------------------
 */

/* Columns: dtype, bytes of a real number, bits of its mantissa. */
static const struct {
  fnz_dtype dtype;
  size_t bytes;
  int mantissa;
} floats[] = {
    {FNZ_F16, 2, 10}, {FNZ_BF16, 2, 7}, {FNZ_F32, 4, 23},  {FNZ_F64, 8, 52},
    {FNZ_C32, 2, 10}, {FNZ_C64, 4, 23}, {FNZ_C128, 8, 52},
};

static bool is_nan(const unsigned char *bytes, size_t size, int mantissa) {
  uint64_t bits = 0;
  memcpy(&bits, bytes, size);
  uint64_t sign = (uint64_t)1 << (8 * size - 1);
  uint64_t infinity = sign - ((uint64_t)1 << mantissa);
  return (bits & ~sign) > infinity;
}

/* Real number by real number: the same bits, or both NaN. */
static bool same_numbers(fnz_dtype dtype, const unsigned char *a, const unsigned char *b,
                         size_t bytes) {
  for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) {
    size_t size = floats[i].bytes;
    if (floats[i].dtype != dtype)
      continue;
    for (size_t at = 0; at + size <= bytes; at += size) {
      bool nan =
          is_nan(a + at, size, floats[i].mantissa) && is_nan(b + at, size, floats[i].mantissa);
      if (!nan && memcmp(a + at, b + at, size) != 0)
        return false;
    }
    return true;
  }
  return false;
}

/* Where the output comes from in the original, " (node ...)"; "" for what is no output. */
static void origin(const fnz_program *p, const char *name, char out[192]) {
  const fnzi_graph *g = fnzi_graph_at(p, 0);
  size_t number = 0;
  out[0] = '\0';
  for (size_t k = 0; k < g->noutputs; k++) {
    fnz_output_kind kind = p->outputs[k].kind;
    if (kind != FNZ_OUTPUT_USER && kind != FNZ_OUTPUT_LOSS)
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

static fnz_status compare_shape(results *r, const result *a, const fnz_geometry *g) {
  if (a->g.dtype != g->dtype)
    return fnzi_fail(r->ctx, FNZ_CLASS_DIFFERENT, "", "%s is %s in the original and %s here",
                     a->name, fnzi_dtype(a->g.dtype)->name, fnzi_dtype(g->dtype)->name);
  if (!fnzi_same_sizes(&a->g, g))
    return fnzi_fail(r->ctx, FNZ_CLASS_DIFFERENT, "", "%s has other sizes than in the original",
                     a->name);
  return FNZ_OK;
}

static fnz_status compare_cells(results *r, const result *a, const unsigned char *cells) {
  char from[192];
  int64_t numel = fnz_geometry_numel(&a->g);
  size_t cell = numel == 0 ? 0 : a->bytes / (size_t)numel;
  if (a->bytes == 0 || memcmp(a->cells, cells, a->bytes) == 0)
    return FNZ_OK;
  for (int64_t i = 0; i < numel; i++) {
    const unsigned char *one = a->cells + (size_t)i * cell, *other = cells + (size_t)i * cell;
    if (memcmp(one, other, cell) == 0)
      continue;
    if (r->numbers && same_numbers(a->g.dtype, one, other, cell))
      continue;
    origin(r->original, a->name, from);
    return fnzi_fail(r->ctx, FNZ_CLASS_DIFFERENT, "", "%s differs at element %lld%s%s", a->name,
                     (long long)i, from, r->numbers ? ", in numbers" : "");
  }
  return FNZ_OK;
}

static fnz_status meet(void *user, const char *name, const fnz_geometry *g, const void *cells,
                       size_t bytes) {
  results *r = user;
  uint64_t at;
  (void)bytes;
  if (!fnzi_map_get(&r->names, name, strlen(name), &at))
    return fnzi_fail(r->ctx, FNZ_CLASS_DIFFERENT, "", "the original has no %s", name);
  result *a = &r->list.data[at];
  a->met = true;
  FNZ_TRY(compare_shape(r, a, g));
  return compare_cells(r, a, cells);
}

static fnz_status all_met(results *r) {
  for (size_t i = 0; i < r->list.count; i++)
    if (!r->list.data[i].met)
      return fnzi_fail(r->ctx, FNZ_CLASS_DIFFERENT, "", "%s is in the original only",
                       r->list.data[i].name);
  return FNZ_OK;
}

/* --- Running both --------------------------------------------------------------------------------
 */

/* `entered`: of the functional program; that of the original is in the options. */
static fnz_status run_both(results *r, const fnz_program *functional, fnz_backend *backend,
                           fnzi_run_options *options, unsigned char *entered) {
  options->everything = true;
  options->user = r;
  options->emit = keep;
  FNZ_TRY(fnzi_run_aliasing(r->ctx, r->original, backend, options));
  options->emit = meet;
  options->entered = entered;
  fnz_status (*run)(fnz_context *, const fnz_program *, fnz_backend *, const fnzi_run_options *) =
      fnzi_run_needs_memory(functional) ? fnzi_run_aliasing : fnzi_run_functional;
  FNZ_TRY(run(r->ctx, functional, backend, options));
  return all_met(r);
}

/* Ends the backend. */
static fnz_status compare_over(fnz_context *ctx, const fnz_program *original,
                               const fnz_program *functional, fnz_backend *owned,
                               fnzi_run_options options, unsigned char *entered) {
  results r = {.ctx = ctx, .original = original, .numbers = options.inputs != NULL};
  fnzi_arena_init(&r.arena, ctx);
  fnzi_map_init(&r.names, ctx);
  fnz_status status = run_both(&r, functional, owned, &options, entered);
  FNZI_VEC_FREE(ctx, &r.list);
  fnzi_map_free(&r.names);
  fnzi_arena_free(&r.arena);
  fnz_backend_destroy(owned);
  return status;
}

/* --- What kind of hashes, and whether numbers are possible ---------------------------------------
 */

/* Operators after which memory is seen under another dtype, or in parts of an element. */
static bool is_byte_op(const fnz_op *op) {
  static const uint16_t byte_ops[] = {FNZI_ATEN_view__dtype,
                                      FNZI_ATEN_view_copy__dtype,
                                      FNZI_ATEN_view_as_real,
                                      FNZI_ATEN_view_as_complex,
                                      FNZI_ATEN_view_as_real_copy,
                                      FNZI_ATEN_view_as_complex_copy,
                                      FNZI_ATEN_real,
                                      FNZI_ATEN_imag,
                                      FNZI_ATEN__conj,
                                      FNZI_ATEN_conj,
                                      FNZI_ATEN__neg_view,
                                      FNZI_ATEN_mH,
                                      FNZI_ATEN_adjoint,
                                      FNZI_ATEN_matrix_H,
                                      FNZI_ATEN__conj_copy,
                                      FNZI_ATEN__neg_view_copy};
  return fnzi_op_is_among(op, byte_ops, sizeof byte_ops / sizeof *byte_ops);
}

/* Some node, of the bodies too, has an operator for which `is` holds. NULL: none, or not known. */
static bool any_op(const fnz_program *p, bool (*is)(const fnz_op *op)) {
  for (uint32_t k = 0; k < p->graphs.count; k++) {
    const fnzi_graph *g = fnzi_graph_at(p, k);
    for (size_t i = 0; i < g->nodes.count; i++)
      if (is(g->nodes.data[i].op))
        return true;
  }
  return false;
}

/* Some blob is a weight of one dtype and another weight of another. */
static fnz_status has_mixed_blobs(fnz_context *ctx, const fnz_program *p, bool *out) {
  fnzi_map dtypes;
  fnz_status status = FNZ_OK;
  fnzi_map_init(&dtypes, ctx);
  for (size_t i = 0; status == FNZ_OK && i < p->weights.count; i++) {
    const fnzi_weight *w = &p->weights.data[i];
    uint64_t dtype;
    if (w->blob == NULL)
      continue;
    if (!fnzi_map_get(&dtypes, &w->blob, sizeof w->blob, &dtype))
      status = fnzi_map_set(&dtypes, &w->blob, sizeof w->blob, w->geometry->dtype);
    else if (dtype != (uint64_t)w->geometry->dtype)
      *out = true;
  }
  fnzi_map_free(&dtypes);
  return status;
}

/* Some input of the caller lies in the memory of one of another dtype. */
static bool has_mixed_inputs(const fnz_program *p) {
  const fnzi_graph *g = fnzi_graph_at(p, 0);
  for (uint32_t k = 0; k < g->ninputs; k++) {
    uint32_t first = fnzi_memory_of(p, k);
    if (first != k && fnzi_value_at(p, 0, g->inputs[k].u.value)->geometry->dtype !=
                          fnzi_value_at(p, 0, g->inputs[first].u.value)->geometry->dtype)
      return true;
  }
  return false;
}

static fnz_status needs_bytes(fnz_context *ctx, const fnz_program *a, const fnz_program *b,
                              bool *out) {
  *out =
      any_op(a, is_byte_op) || any_op(b, is_byte_op) || has_mixed_inputs(a) || has_mixed_inputs(b);
  FNZ_TRY(has_mixed_blobs(ctx, a, out));
  return has_mixed_blobs(ctx, b, out);
}

static bool lacks_kernel(const fnz_op *op) {
  return op != NULL && !fnz_cpu_has_kernel(op);
}

/* --- Bodies of higher-order operators ------------------------------------------------------------
 */

/* Which bodies of a program have been run. */
typedef struct coverage {
  const fnz_program *program;
  unsigned char *entered; /* per graph */
} coverage;

static fnz_status open_coverage(fnz_context *ctx, const fnz_program *p, coverage *out) {
  *out = (coverage){p, fnzi_resize(ctx, NULL, 0, p->graphs.count)};
  if (out->entered == NULL)
    return fnzi_no_memory(ctx);
  memset(out->entered, 0, p->graphs.count);
  return FNZ_OK;
}

static void close_coverage(fnz_context *ctx, coverage *c) {
  if (c->entered != NULL)
    fnzi_free(ctx, c->entered, c->program->graphs.count);
}

static void count_bodies(const coverage *c, fnz_verify_report *report) {
  for (uint32_t k = 1; k < c->program->graphs.count; k++) {
    report->bodies++;
    report->bodies_run += c->entered[k];
    if (!c->entered[k] && report->missed[0] == '\0')
      snprintf(report->missed, sizeof report->missed, "%s", fnzi_graph_at(c->program, k)->name);
  }
}

enum { MORE_TRIALS = 62 }; /* to come to branches that were not taken yet */

typedef struct comparison {
  const fnz_program *original, *functional;
  coverage first, second;
  bool bytewise;
} comparison;

static fnz_status compare_hashes(fnz_context *ctx, comparison *c, uint64_t seed) {
  fnz_backend *backend;
  fnzi_run_options options = {.seed = seed, .entered = c->first.entered};
  FNZ_TRY(fnz_hash_backend_create(ctx, options.seed, c->bytewise, &backend));
  return compare_over(ctx, c->original, c->functional, backend, options, c->second.entered);
}

/* As many trials as asked for, and then some until every body has been run. */
static fnz_status run_trials(fnz_context *ctx, comparison *c, int trials,
                             fnz_verify_report *report) {
  FNZ_TRY(open_coverage(ctx, c->original, &c->first));
  FNZ_TRY(open_coverage(ctx, c->functional, &c->second));
  for (report->trials = 0; report->trials < trials + MORE_TRIALS;) {
    FNZ_TRY(compare_hashes(ctx, c, (uint64_t)++report->trials));
    if (report->trials < trials)
      continue;
    report->bodies = report->bodies_run = 0;
    report->missed[0] = '\0';
    count_bodies(&c->first, report);
    count_bodies(&c->second, report);
    if (report->bodies == report->bodies_run)
      break;
  }
  return FNZ_OK;
}

fnz_status fnzi_compare_numbers(fnz_context *ctx, const fnz_program *original,
                                const fnz_program *functional, const fnz_arrays *inputs,
                                fnz_verify_report *report) {
  fnz_backend *backend;
  if (inputs == NULL || any_op(functional, lacks_kernel))
    return FNZ_OK;
  FNZ_TRY(fnz_cpu_backend_create(ctx, 0, &backend));
  fnzi_run_options options = {.inputs = inputs};
  fnz_status status = compare_over(ctx, original, functional, backend, options, NULL);
  report->numbers = status == FNZ_OK;
  /* The original may need a kernel that the functional program does without. */
  return status == FNZ_UNSUPPORTED ? FNZ_OK : status;
}

fnz_status fnzi_verify_fixed(fnz_context *ctx, const fnz_program *original,
                             const fnz_program *functional, const fnz_arrays *inputs, int trials,
                             fnz_verify_report *report) {
  comparison c = {.original = original, .functional = functional};
  FNZ_TRY(needs_bytes(ctx, original, functional, &c.bytewise));
  fnz_status status = run_trials(ctx, &c, trials > 0 ? trials : 1, report);
  close_coverage(ctx, &c.first);
  close_coverage(ctx, &c.second);
  FNZ_TRY(status);
  return fnzi_compare_numbers(ctx, original, functional, inputs, report);
}

fnz_status fnz_verify_with(fnz_context *ctx, const fnz_program *original,
                           const fnz_program *functional, const fnz_arrays *inputs, int trials,
                           fnz_verify_report *out) {
  fnz_program *made = NULL;
  *out = (fnz_verify_report){.trials = 0};
  if (functional == NULL) {
    FNZ_TRY(fnz_functionalize(ctx, original, NULL, &made));
    functional = made;
  }
  bool symbolic = fnzi_is_symbolic(original);
  fnz_status status = symbolic ? fnzi_verify_sizes(ctx, original, functional, trials, out)
                               : fnzi_verify_fixed(ctx, original, functional, inputs, trials, out);
  if (status == FNZ_OK && symbolic)
    status = fnzi_compare_numbers(ctx, original, functional, inputs, out);
  fnz_program_destroy(made);
  return status;
}

fnz_status fnz_verify(fnz_context *ctx, const fnz_program *original, const fnz_program *functional,
                      const fnz_arrays *inputs, int trials) {
  fnz_verify_report report;
  return fnz_verify_with(ctx, original, functional, inputs, trials, &report);
}
