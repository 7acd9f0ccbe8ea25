/* fixed.c - compares two programs of fixed sizes: the original on aliasing memory, the functional
 * one, both over hashes, and over numbers where there are some.
 *
 * All outputs and the final values of all inputs, parameters and buffers are compared, also of
 * inputs that neither program writes. */
#include "run/verify/verify.h"
#include "run/verify/results.h"
#include "run/verify/branches.h"
#include "base/random.h"
#include "views/composites.h"
#include "views/views.h"

#include <stdio.h>

/* --- Running both ----------------------------------------------------------------------------- */

/* Which bodies of a program have been run. */
typedef struct coverage {
  const fnz_program *program;
  unsigned char *entered; /* per graph */
} coverage;

typedef struct comparison {
  const fnz_program *original, *functional; /* the same one: it is only run */
  coverage first, second;
  bool bytewise, ignore_memory;
  fnz_verify_report *report;
} comparison;

/* Runs both once. If a predicate is flipped, a failure of the original is no difference. */
static fnz_status compare_once(const comparison *c, fnzi_ver_results *r, fnz_backend *backend,
                               const fnzi_run_options *options, fnzi_generator_repeat *draws) {
  fnzi_run_options first = *options, second = *options;
  const fnzi_ver_branches *branches = options->decider;
  first.entered = c->first.entered;
  second.entered = c->second.entered;
  fnzi_ver_results_start(r, c->original, options->inputs != NULL);
  r->ignore_memory = c->ignore_memory;
  fnzi_generator_repeat_begin(draws);
  fnz_status status = fnzi_ver_results_keep(r, backend, &first);
  if (status != FNZ_OK)
    return branches && branches->current != 0 && !fnzi_ver_is_limit(status) ? FNZ_OK : status;
  if (c->functional == c->original)
    return FNZ_OK;
  fnzi_generator_repeat_begin(draws);
  status = fnzi_ver_results_meet(r, c->functional, backend, &second);
  if (status != FNZ_DIFFERENT || !branches)
    return status;
  /* Adds to the message of a difference which predicate was flipped. */
  char message[sizeof(fnz_error)], flipped[240];
  fnzi_ver_branches_text(branches, flipped);
  snprintf(message, sizeof message, "%s", fnz_last_error(r->ctx)->message);
  return *flipped ? fnzi_fail(r->ctx, FNZ_CLASS_DIFFERENT, "", "%s%s", message, flipped)
                  : FNZ_DIFFERENT;
}

/* Ends the backend. With the first seed each predicate is flipped once. */
static fnz_status compare_over(fnz_context *ctx, const comparison *c, fnz_backend *owned,
                               fnzi_run_options options) {
  fnzi_ver_results r;
  fnzi_ver_branches branches;
  fnzi_generator_repeat draws;
  fnzi_ver_results_init(&r, ctx);
  fnzi_generator_repeat_open(&draws, ctx, 0);
  fnzi_task_begin(ctx, "verify", "runs", 0);
  fnz_status status = fnzi_ver_branches_open(&branches, ctx);
  if (options.inputs == NULL && options.seed == 1) {
    options.decide = fnzi_ver_branches_decide;
    options.decider = &branches;
  }
  do
    if (status == FNZ_OK)
      status = compare_once(c, &r, owned, &options, &draws);
  while (status == FNZ_OK && fnzi_ver_branches_next(&branches));
  if (c->report != NULL) {
    if (c->report->not_compared[0] == '\0')
      memcpy(c->report->not_compared, r.not_compared, sizeof r.not_compared);
    c->report->predicates += branches.met;
    c->report->predicates_turned += branches.list.count - (branches.list.count > 0);
  }
  fnzi_ver_branches_close(&branches);
  fnzi_generator_repeat_close(&draws);
  fnzi_ver_results_free(&r);
  fnz_backend_destroy(owned);
  return fnzi_task_end(ctx, status);
}

/* --- What kind of hashes, and whether numbers are possible ------------------------------------ */

/* Operators that view memory as another dtype, or parts of elements. */
static bool is_byte_op(const fnz_op *op) {
  const fnzi_view *view = op ? fnzi_view_find(op) : NULL;
  const fnzi_composite_row *composite = op && !view ? fnzi_composite_find(op) : NULL;
  return view ? fnzi_view_sees_bytes(view) : composite && fnzi_composite_sees_bytes(composite);
}

/* The first node, in bodies too, for whose operator `is` holds. The operator is NULL where it is
 * not known. */
static const fnzi_node *find_op(const fnz_program *p, bool (*is)(const fnz_op *op)) {
  for (uint32_t k = 0; k < p->graphs.count; k++) {
    const fnzi_graph *g = fnzi_graph_at(p, k);
    for (size_t i = 0; i < g->nodes.count; i++)
      if (is(g->nodes.data[i].op))
        return &g->nodes.data[i];
  }
  return NULL;
}

/* Some blob has weights of several dtypes. */
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

/* Some input shares memory with one of another dtype. */
static bool has_mixed_inputs(const fnz_program *p) {
  const fnzi_graph *g = fnzi_graph_main(p);
  for (uint32_t k = 0; k < g->ninputs; k++) {
    uint32_t first = fnzi_memory_of(p, k);
    if (first != k && fnzi_value_at(p, 0, g->inputs[k].u.value)->geometry->dtype !=
                          fnzi_value_at(p, 0, g->inputs[first].u.value)->geometry->dtype)
      return true;
  }
  return false;
}

fnz_status fnzi_ver_needs_bytes(fnz_context *ctx, const fnz_program *a, const fnz_program *b,
                                bool *out) {
  *out = find_op(a, is_byte_op) || find_op(b, is_byte_op) || has_mixed_inputs(a) ||
         has_mixed_inputs(b);
  FNZ_TRY(has_mixed_blobs(ctx, a, out));
  return has_mixed_blobs(ctx, b, out);
}

static bool lacks_kernel(const fnz_op *op) {
  return op != NULL && !fnzi_run_is_number_op(op) && !fnzi_op_is_item(op) &&
         !fnz_cpu_has_kernel(op);
}

/* --- Bodies of higher-order operators --------------------------------------------------------- */

static fnz_status open_coverage(fnz_context *ctx, const fnz_program *p, coverage *out) {
  *out = (coverage){p, fnzi_resize(ctx, NULL, 0, p->graphs.count)};
  if (out->entered == NULL)
    return fnzi_no_memory(ctx);
  memset(out->entered, 0, p->graphs.count);
  return FNZ_OK;
}

static void count_bodies(const coverage *c, fnz_verify_report *report) {
  for (uint32_t k = 1; k < c->program->graphs.count; k++) {
    report->bodies++;
    report->bodies_run += c->entered[k];
    if (!c->entered[k] && report->missed[0] == '\0')
      snprintf(report->missed, sizeof report->missed, "%s", fnzi_graph_at(c->program, k)->name);
  }
}

enum { MORE_TRIALS = 62 }; /* to reach branches that were not taken yet */

/* All wanted trials, and more until every body has been run. */
static fnz_status run_trials(fnz_context *ctx, comparison *c, int trials) {
  fnz_verify_report *report = c->report;
  FNZ_TRY(open_coverage(ctx, c->original, &c->first));
  if (c->functional != c->original)
    FNZ_TRY(open_coverage(ctx, c->functional, &c->second));
  report->predicates = report->predicates_turned = 0;
  for (report->trials = 0; report->trials < trials + MORE_TRIALS;) {
    FNZ_TRY(fnzi_task_at(ctx, (uint64_t)report->trials));
    uint64_t seed = (uint64_t)++report->trials;
    fnz_backend *backend;
    const fnzi_run_options options = {.seed = seed};
    FNZ_TRY(fnz_hash_backend_create(ctx, seed, c->bytewise, &backend));
    FNZ_TRY(compare_over(ctx, c, backend, options));
    if (report->trials < trials)
      continue;
    report->bodies = report->bodies_run = 0;
    report->missed[0] = '\0';
    count_bodies(&c->first, report);
    count_bodies(c->functional != c->original ? &c->second : &c->first, report);
    if (report->bodies == report->bodies_run)
      break;
  }
  return FNZ_OK;
}

fnz_status fnzi_ver_numbers(fnz_context *ctx, const fnz_program *original,
                            const fnz_program *functional, const fnz_arrays *inputs,
                            fnzi_ver_create_numbers *create, fnz_verify_report *report) {
  fnz_backend *backend;
  if (inputs == NULL)
    return FNZ_OK;
  FNZ_TRY(fnzi_run_check_given(ctx, original, inputs));
  const fnzi_node *lacking = find_op(functional, lacks_kernel);
  if (lacking) {
    snprintf(report->no_numbers, sizeof report->no_numbers, "no CPU kernel for %s",
             fnzi_node_target(lacking));
    return FNZ_OK;
  }
  FNZ_TRY(create(ctx, 0, &backend));
  const comparison c = {.original = original, .functional = functional};
  const fnzi_run_options options = {.inputs = inputs};
  fnz_status status = compare_over(ctx, &c, backend, options);
  report->numbers = status == FNZ_OK;
  /* The original may need a kernel that the functional program does without. */
  if (status != FNZ_UNSUPPORTED)
    return status;
  snprintf(report->no_numbers, sizeof report->no_numbers, "%.*s",
           (int)sizeof report->no_numbers - 1, fnz_last_error(ctx)->message);
  return FNZ_OK;
}

fnz_status fnzi_ver_fixed(fnz_context *ctx, const fnz_program *original,
                          const fnz_program *functional, const fnz_verify_options *options,
                          fnz_verify_report *report) {
  comparison c = {.original = original,
                  .functional = functional,
                  .ignore_memory = options->ignore_memory,
                  .report = report};
  FNZ_TRY(fnzi_ver_needs_bytes(ctx, original, functional, &c.bytewise));
  const int trials = options->trials > 0 ? options->trials : 1;
  fnzi_task_begin(ctx, "verify", "seeds", (uint64_t)trials);
  fnz_status status = fnzi_task_end(ctx, run_trials(ctx, &c, trials));
  const coverage *both[] = {&c.first, &c.second};
  for (int k = 0; k < 2; k++)
    if (both[k]->entered != NULL)
      fnzi_free(ctx, both[k]->entered, both[k]->program->graphs.count);
  return status;
}

fnz_status fnzi_ver_runs(fnz_context *ctx, const fnz_program *program) {
  fnz_backend *backend;
  bool bytewise;
  FNZ_TRY(fnzi_ver_needs_bytes(ctx, program, program, &bytewise));
  FNZ_TRY(fnz_hash_backend_create(ctx, 1, bytewise, &backend));
  /* One run on memory alone. */
  const fnzi_run_options options = {.seed = 1};
  fnzi_ver_results r;
  fnzi_ver_results_init(&r, ctx);
  fnzi_ver_results_start(&r, program, false);
  fnz_status status = fnzi_ver_results_keep(&r, backend, &options);
  fnzi_ver_results_free(&r);
  fnz_backend_destroy(backend);
  return status;
}
