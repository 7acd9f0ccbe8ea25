/* judge.c - what one program shows. */
#include "soak/judge.h"

#include "program/state_io.h"
#include "run/verify/verify.h"
#include "soak/refusals.h"
#include "soak/same.h"

#include <stdarg.h>
#include <stdio.h>

typedef fnzi_judge judge;
typedef fnzi_verdict verdict;

const char *fnzi_verdict_name(fnzi_verdict v) {
  static const char *const names[] = {
#define VERDICT_NAME(id, name) name,
      FNZI_VERDICT_ROWS(VERDICT_NAME)
#undef VERDICT_NAME
  };
  return names[v];
}

verdict fnzi_judge_nothing(judge *t) {
  return fnzi_judge_failed(t, "generator");
}

/* --- The same results ------------------------------------------------------------------------- */

static verdict compare_numbers(judge *t, const fnz_program *p) {
  const fnzi_run_options options = {.inputs = t->inputs};
  if (!t->has_numbers || fnzi_ver_results_meet(&t->numbers, p, t->cpu, &options) == FNZ_OK)
    return FNZI_VERDICT_EQUAL;
  return fnzi_judge_failed(t,
                           fnz_last_error(t->ctx)->kind == FNZ_CLASS_DIFFERENT ? "numbers" : "run");
}

/* The engine gives what the interpreter gives. */
static verdict check_engine(judge *t, const fnz_program *p) {
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  fnz_executable *exe;
  options.threads = 1;
  options.check = true;
  if (!t->has_numbers)
    return FNZI_VERDICT_EQUAL;
  if (fnz_compile(t->ctx, p, &options, &exe))
    return fnzi_judge_failed(t, "compile");
  fnz_status status = fnz_executable_verify(t->ctx, exe, t->inputs);
  fnz_executable_destroy(exe);
  return status == FNZ_OK ? FNZI_VERDICT_EQUAL : fnzi_judge_failed(t, "engine");
}

/* Memory that is seen under two dtypes needs hashes per byte. */
static fnz_status keep_hashes(judge *t, const fnz_program *p) {
  bool bytewise;
  FNZ_TRY(fnzi_ver_needs_bytes(t->ctx, t->original, p, &bytewise));
  if (t->hashing == t->hash[bytewise])
    return FNZ_OK;
  t->hashing = t->hash[bytewise];
  fnzi_ver_results_start(&t->hashes, t->original, false);
  return fnzi_ver_results_keep(&t->hashes, t->hashing, &fnzi_judge_unknowns);
}

static verdict compare_hashes(judge *t, const fnz_program *p, const char *kind) {
  if (keep_hashes(t, p) || fnzi_ver_results_meet(&t->hashes, p, t->hashing, &fnzi_judge_unknowns))
    return fnzi_judge_failed(t, kind);
  return FNZI_VERDICT_EQUAL;
}

/* --- The shape of the result ------------------------------------------------------------------ */

static verdict check_sources(judge *t) {
  /* Windows that inputs have by themselves, in memory that they share, belong to no line. */
  for (uint32_t k = 0; k < fnzi_graph_main(t->original)->ninputs; k++)
    if (t->original->inputs[k].shares)
      return FNZI_VERDICT_EQUAL;
  for (size_t n = 0; n < fnz_node_count(t->functional, 0); n++)
    if (!*fnzi_node_at(t->functional, 0, (uint32_t)n)->source)
      return fnzi_judge_wrong(t, "source", "node %zu (%s) has no source", n,
                              fnzi_node_target(fnzi_node_at(t->functional, 0, (uint32_t)n)));
  return FNZI_VERDICT_EQUAL;
}

verdict fnzi_judge_functional(judge *t, const fnz_program *p, bool may_view) {
  fnz_stats stats;
  if (fnz_program_verify(t->ctx, p))
    return fnzi_judge_failed(t, "verify");
  stats = fnz_program_stats(p);
  if (stats.mutations || (!may_view && stats.views))
    return fnzi_judge_wrong(t, "left over", "%zu views, %zu writes left", stats.views,
                            stats.mutations);
  return FNZI_VERDICT_EQUAL;
}

static fnz_status judge_text_of(fnz_context *ctx, const fnz_program *p, fnz_buffer *out) {
  *out = (fnz_buffer){0};
  return fnz_program_write(ctx, p, FNZ_FORMAT_TEXT, out);
}

/* Functionalizing again changes nothing. */
static verdict check_fixed_point(judge *t, const fnz_program *p, fnz_views views) {
  fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  fnz_program *again;
  size_t where;
  options.views = views;
  if (fnz_functionalize(t->ctx, p, &options, &again))
    return fnzi_judge_failed(t, "again");
  verdict v = FNZI_VERDICT_EQUAL;
  if (fnz_node_count(again, 0) != fnz_node_count(p, 0))
    v = fnzi_judge_wrong(t, "fixed point", "%zu nodes, functionalized again %zu",
                         fnz_node_count(p, 0), fnz_node_count(again, 0));
  else if (!fnzi_same_program(p, again, &where))
    v = fnzi_judge_wrong(t, "fixed point", "functionalized again, node %zu is another one", where);
  else if (t->checks & FNZI_CHECK_THOROUGH) {
    fnz_buffer a = {0}, b = {0};
    if (judge_text_of(t->ctx, p, &a) || judge_text_of(t->ctx, again, &b))
      v = fnzi_judge_failed(t, "text");
    else if (strcmp(a.data, b.data) != 0)
      v = fnzi_judge_wrong(t, "fixed point", "functionalized again, it reads\n%.800s", b.data);
    fnz_buffer_free(t->ctx, &a);
    fnz_buffer_free(t->ctx, &b);
  }
  fnz_program_destroy(again);
  return v;
}

/* --- Thorough checks -------------------------------------------------------------------------- */

static verdict check_text(judge *t, const fnz_program *p) {
  fnz_buffer a = {0}, b = {0};
  fnz_program *copy = NULL;
  verdict v = FNZI_VERDICT_EQUAL;
  if (judge_text_of(t->ctx, p, &a) ||
      fnz_program_read(t->ctx, a.data, a.size, FNZ_FORMAT_TEXT, &copy) ||
      judge_text_of(t->ctx, copy, &b))
    v = fnzi_judge_failed(t, "text");
  else if (strcmp(a.data, b.data) != 0)
    v = fnzi_judge_wrong(t, "text", "read and written again, it is another text");
  fnz_program_destroy(copy);
  fnz_buffer_free(t->ctx, &a);
  fnz_buffer_free(t->ctx, &b);
  return v;
}

/* With its state, or its written inputs, held by the caller it means the same. */
static verdict check_held(judge *t, fnz_state state, const char *name) {
  fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  fnz_program *p, *held = NULL;
  options.state = state;
  if (fnz_functionalize(t->ctx, t->original, &options, &p))
    return t->ctx->reason == FNZI_REASON_DIALECT ? FNZI_VERDICT_EQUAL : fnzi_judge_failed(t, name);
  verdict v = check_text(t, p);
  if (v == FNZI_VERDICT_EQUAL && fnzi_io_has_pairs(p) &&
      fnzi_io_undo(t->ctx, p, t->original, &held))
    v = fnzi_judge_failed(t, name);
  if (v == FNZI_VERDICT_EQUAL)
    v = compare_hashes(t, held ? held : p, name);
  fnz_program_destroy(held);
  fnz_program_destroy(p);
  return v;
}

/* With its state written at the end it means the same, too. Functionalized again it may write other
 * windows: two pieces side by side become one. */
static verdict check_epilogue(judge *t, fnz_views views) {
  fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  fnz_program *p;
  options.views = views;
  options.state = FNZ_STATE_EPILOGUE;
  if (fnz_functionalize(t->ctx, t->original, &options, &p))
    return t->ctx->reason == FNZI_REASON_DIALECT ? FNZI_VERDICT_EQUAL
                                                 : fnzi_judge_failed(t, "epilogue");
  verdict v = check_text(t, p);
  if (v == FNZI_VERDICT_EQUAL)
    v = compare_hashes(t, p, "epilogue");
  if (v == FNZI_VERDICT_EQUAL)
    v = compare_numbers(t, p);
  fnz_program_destroy(p);
  return v;
}

static verdict check_thoroughly(judge *t) {
  static const fnz_views views[] = {FNZ_VIEWS_COPY, FNZ_VIEWS_KEEP, FNZ_VIEWS_STRIDED};
  verdict v = check_held(t, FNZ_STATE_IO, "io");
  for (size_t k = 0; k < sizeof views / sizeof *views && v == FNZI_VERDICT_EQUAL; k++)
    v = check_epilogue(t, views[k]);
  if (v == FNZI_VERDICT_EQUAL)
    v = check_held(t, FNZ_STATE_BUFFERS, "buffers");
  if (v == FNZI_VERDICT_EQUAL)
    v = check_text(t, t->original);
  return v == FNZI_VERDICT_EQUAL ? check_text(t, t->functional) : v;
}

/* --- Dialects --------------------------------------------------------------------------------- */

const fnzi_dialect fnzi_dialects[FNZI_DIALECTS] = {
    {FNZI_CHECK_KEEP, "keep", FNZ_VIEWS_KEEP}, {FNZI_CHECK_STRIDED, "strided", FNZ_VIEWS_STRIDED}};

verdict fnzi_judge_in_dialect(judge *t, size_t which) {
  char kind[sizeof t->kind];
  snprintf(kind, sizeof kind, "%s: %.30s", fnzi_dialects[which].name, t->kind);
  memcpy(t->kind, kind, sizeof kind);
  return FNZI_VERDICT_WRONG;
}

static verdict compare_results(judge *t, const fnz_program *p, fnz_views views) {
  verdict v = fnzi_judge_functional(t, p, views == FNZ_VIEWS_KEEP);
  if (v == FNZI_VERDICT_EQUAL)
    v = compare_numbers(t, p);
  return v == FNZI_VERDICT_EQUAL ? compare_hashes(t, p, "hashes") : v;
}

/* For a program that is the copy form again, results and fixed point are known. */
static verdict check_in_dialect(judge *t, const fnz_program *p, fnz_views views) {
  size_t where;
  bool is_known = fnzi_same_program(p, t->functional, &where);
  if (is_known && !(t->checks & FNZI_CHECK_THOROUGH))
    return FNZI_VERDICT_EQUAL;
  verdict v = is_known ? FNZI_VERDICT_EQUAL : compare_results(t, p, views);
  if (v == FNZI_VERDICT_EQUAL && !is_known && (t->checks & FNZI_CHECK_ENGINE))
    v = check_engine(t, p);
  /* A kept view may be reached another way the second time. */
  return v == FNZI_VERDICT_EQUAL && views != FNZ_VIEWS_KEEP ? check_fixed_point(t, p, views) : v;
}

static verdict check_dialect(judge *t, size_t which) {
  fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  fnz_program *p;
  options.views = fnzi_dialects[which].views;
  if (fnz_functionalize(t->ctx, t->original, &options, &p))
    return fnzi_judge_failed(t, fnzi_dialects[which].name);
  verdict v = check_in_dialect(t, p, options.views);
  fnz_program_destroy(p);
  return v == FNZI_VERDICT_WRONG ? fnzi_judge_in_dialect(t, which) : v;
}

static verdict check_equal(judge *t) {
  t->is_large = fnz_node_count(t->functional, 0) > 4 * fnz_node_count(t->original, 0) + 64;
  verdict v = compare_numbers(t, t->functional);
  if (v == FNZI_VERDICT_EQUAL && (t->checks & FNZI_CHECK_ENGINE))
    v = check_engine(t, t->functional);
  if (v == FNZI_VERDICT_EQUAL)
    v = fnzi_judge_functional(t, t->functional, false);
  if (v == FNZI_VERDICT_EQUAL)
    v = check_sources(t);
  if (v == FNZI_VERDICT_EQUAL)
    v = compare_hashes(t, t->functional, "hashes");
  if (v == FNZI_VERDICT_EQUAL)
    v = check_fixed_point(t, t->functional, FNZ_VIEWS_COPY);
  for (size_t k = 0; k < FNZI_DIALECTS && v == FNZI_VERDICT_EQUAL; k++)
    if (t->checks & fnzi_dialects[k].check)
      v = check_dialect(t, k);
  return v == FNZI_VERDICT_EQUAL && (t->checks & FNZI_CHECK_THOROUGH) ? check_thoroughly(t) : v;
}

/* --- One program ------------------------------------------------------------------------------ */

static verdict judge_it(judge *t) {
  const fnzi_run_options options = {.inputs = t->inputs};
  fnzi_refusal refused = {.error.kind = FNZ_CLASS_NONE};
  fnz_status pass = fnz_functionalize(t->ctx, t->original, NULL, &t->functional);
  if (pass)
    refused = (fnzi_refusal){*fnz_last_error(t->ctx), t->ctx->reason};
  fnzi_ver_results_start(&t->numbers, t->original, true);
  fnz_status eager = fnzi_ver_results_keep(&t->numbers, t->cpu, &options);
  t->has_numbers = eager == FNZ_OK;
  if (pass || (eager && eager != FNZ_UNSUPPORTED))
    return fnzi_compare_refusals(t, &refused, eager);
  verdict v = check_equal(t);
  return v != FNZI_VERDICT_EQUAL ? v
         : t->is_large           ? FNZI_VERDICT_LARGE
         : !t->has_numbers       ? FNZI_VERDICT_NO_KERNEL
                                 : FNZI_VERDICT_EQUAL;
}

verdict fnzi_judge_program(judge *t, const fnz_program *p, const fnz_arrays *inputs,
                           unsigned checks) {
  t->original = p;
  t->inputs = inputs;
  t->checks = checks;
  t->refusal = FNZ_CLASS_NONE;
  t->hashing = NULL;
  t->kind[0] = t->reason[0] = 0;
  verdict v = judge_it(t);
  fnz_program_destroy(t->functional);
  t->functional = NULL;
  return v;
}

/* --- The judge -------------------------------------------------------------------------------- */

fnz_status fnzi_judge_create(fnz_context *ctx, judge **out) {
  judge *t = fnzi_resize(ctx, NULL, 0, sizeof *t);
  *out = t;
  if (!t)
    return fnzi_no_memory(ctx);
  memset(t, 0, sizeof *t);
  t->ctx = ctx;
  fnzi_ver_results_init(&t->numbers, ctx);
  fnzi_ver_results_init(&t->hashes, ctx);
  FNZ_TRY(fnz_cpu_backend_create(ctx, 1, &t->cpu));
  FNZ_TRY(fnz_hash_backend_create(ctx, 1, false, &t->hash[0]));
  return fnz_hash_backend_create(ctx, 1, true, &t->hash[1]);
}

void fnzi_judge_destroy(judge *t) {
  if (!t)
    return;
  fnz_backend_destroy(t->cpu);
  fnz_backend_destroy(t->hash[0]);
  fnz_backend_destroy(t->hash[1]);
  fnzi_ver_results_free(&t->numbers);
  fnzi_ver_results_free(&t->hashes);
  fnzi_free(t->ctx, t, sizeof *t);
}
