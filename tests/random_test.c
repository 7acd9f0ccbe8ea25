/* checks: 3
 * random_test.c - random programs mean the same before and after the pass: number by number, and
 * for all numbers over hashes. FNZ_PROGRAMS says how many (CK_TIMEOUT_MULTIPLIER gives them time),
 * FNZ_SEED and FNZ_FIRST which, FNZ_VERBOSE prints what was drawn. A program that fails is made
 * smaller (unless FNZ_SHRINK=0) and printed, as many of them as FNZ_WRONG says. */
#include "tests/random_programs.h"
#include "tests/sharing.h"
#include "tests/test.h"

#include <stdarg.h>
#include <stdio.h>

enum { FEW_PROGRAMS = 3000, MOST_REASON = 900 };

/* What came out of one program. */
typedef enum verdict {
  EQUAL,
  REFUSED,
  BEYOND, /* eager does it, but the pass has no way to say it, and says so */
  NO_KERNEL,
  LARGE, /* right, but more than four nodes for one: written slice after slice */
  WRONG,
  VERDICTS
} verdict;

typedef struct trial {
  fnz_context *ctx;
  const fnz_program *original;
  fnz_program *functional;
  fnz_arrays *inputs;
  char reason[MOST_REASON]; /* of WRONG */
  bool is_large;
  char kind[48]; /* which check failed; shrinking keeps it */
} trial;

static verdict wrong(trial *t, const char *kind, const char *format, ...) FNZ_PRINTF(3, 4);
static verdict wrong(trial *t, const char *kind, const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  vsnprintf(t->reason, sizeof t->reason, format, ap);
  va_end(ap);
  snprintf(t->kind, sizeof t->kind, "%s", kind);
  return WRONG;
}

static verdict failed(trial *t, const char *kind) {
  const fnz_error *e = fnz_last_error(t->ctx);
  return wrong(t, kind, "%s: %s: %s", fnz_class_name(e->kind), e->where, e->message);
}

/* --- comparing runs -------------------------------------------------------------------------- */
static bool same_array(const fnz_array *x, const fnz_array *y) {
  if (x->dtype != y->dtype || x->rank != y->rank || x->bytes != y->bytes)
    return false;
  for (uint32_t d = 0; d < x->rank; d++)
    if (x->sizes[d] != y->sizes[d])
      return false;
  return x->bytes == 0 || memcmp(x->data, y->data, x->bytes) == 0;
}

/* A result that only one of the two names is an input whose writing changed nothing. */
static bool is_unchanged(const trial *t, const fnz_array *result) {
  static const char prefix[] = "input.";
  const fnz_array *given = strncmp(result->name, prefix, sizeof prefix - 1)
                               ? NULL
                               : fnz_arrays_find(t->inputs, result->name + sizeof prefix - 1);
  return given && same_array(given, result);
}

/* The name of the first result of `a` that is another one in `b`; NULL when there is none. */
static const char *difference(const trial *t, const fnz_arrays *a, const fnz_arrays *b) {
  for (size_t i = 0; i < fnz_arrays_count(a); i++) {
    const fnz_array *x = fnz_arrays_at(a, i), *y = fnz_arrays_find(b, x->name);
    if (y ? !same_array(x, y) : !is_unchanged(t, x))
      return x->name;
  }
  return NULL;
}

typedef fnz_status run_fn(fnz_context *, const fnz_program *, fnz_backend *, const fnz_arrays *,
                          fnz_arrays *);

static fnz_status run(trial *t, run_fn *how, const fnz_program *p, fnz_arrays **out) {
  fnz_backend *cpu;
  FNZ_TRY(fnz_arrays_create(t->ctx, out));
  FNZ_TRY(fnz_cpu_backend_create(t->ctx, 1, &cpu));
  fnz_status status = how(t->ctx, p, cpu, t->inputs, *out);
  fnz_backend_destroy(cpu);
  return status;
}

static verdict compare_run(trial *t, const fnz_program *p, const fnz_arrays *wanted) {
  fnz_arrays *got = NULL;
  fnz_status status = run(t, fnz_run, p, &got);
  const char *where = status == FNZ_OK ? difference(t, wanted, got) : NULL;
  if (status == FNZ_OK && !where)
    where = difference(t, got, wanted);
  verdict v = status == FNZ_OK ? EQUAL : failed(t, "run");
  if (where)
    v = wrong(t, "numbers", "%s differs", where);
  fnz_arrays_destroy(got);
  return v;
}

/* --- the shape of the result ----------------------------------------------------------------- */
/* Windows that inputs have by themselves, in memory that they share, belong to no line. */
static bool has_shared_inputs(const trial *t) {
  for (uint32_t k = 0; k < fnzi_graph_at(t->original, 0)->ninputs; k++)
    if (t->original->inputs[k].shares)
      return true;
  return false;
}

static verdict check_sources(trial *t) {
  if (has_shared_inputs(t))
    return EQUAL;
  for (size_t n = 0; n < fnz_node_count(t->functional, 0); n++)
    if (!*fnzi_node_at(t->functional, 0, (uint32_t)n)->source)
      return wrong(t, "source", "node %zu (%s) has no source", n,
                   fnzi_node_at(t->functional, 0, (uint32_t)n)->target);
  return EQUAL;
}

static verdict check_shape(trial *t) {
  fnz_stats before, after;
  fnz_program_get_stats(t->original, &before);
  fnz_program_get_stats(t->functional, &after);
  if (fnz_program_verify(t->ctx, t->functional))
    return failed(t, "verify");
  if (after.views || after.mutations)
    return wrong(t, "left over", "%zu views, %zu writes left", after.views, after.mutations);
  t->is_large = after.nodes > 4 * before.nodes + 64;
  return check_sources(t);
}

static fnz_status text_of(fnz_context *ctx, const fnz_program *p, fnz_buffer *out) {
  *out = (fnz_buffer){0};
  return fnz_program_write(ctx, p, FNZ_FORMAT_TEXT, out);
}

/* Functionalizing again changes nothing. */
static verdict check_fixed_point(trial *t, const fnz_program *p, fnz_views views) {
  fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  fnz_program *again;
  fnz_buffer a, b;
  options.views = views;
  if (fnz_functionalize(t->ctx, p, &options, &again))
    return failed(t, "again");
  verdict v = EQUAL;
  if (fnz_node_count(again, 0) != fnz_node_count(p, 0))
    v = wrong(t, "fixed point", "%zu nodes, functionalized again %zu", fnz_node_count(p, 0),
              fnz_node_count(again, 0));
  if (text_of(t->ctx, p, &a) || text_of(t->ctx, again, &b))
    v = failed(t, "text");
  else if (v == EQUAL && strcmp(a.data, b.data) != 0)
    v = wrong(t, "fixed point", "functionalized again, it reads\n%.800s", b.data);
  fnz_buffer_free(t->ctx, &a);
  fnz_buffer_free(t->ctx, &b);
  fnz_program_destroy(again);
  return v;
}

static verdict check_text(trial *t, const fnz_program *p) {
  fnz_buffer a = {0}, b = {0};
  fnz_program *copy = NULL;
  verdict v = EQUAL;
  if (text_of(t->ctx, p, &a) || fnz_program_read(t->ctx, a.data, a.size, FNZ_FORMAT_TEXT, &copy) ||
      text_of(t->ctx, copy, &b))
    v = failed(t, "text");
  else if (strcmp(a.data, b.data) != 0)
    v = wrong(t, "text", "read and written again, it is another text");
  fnz_program_destroy(copy);
  fnz_buffer_free(t->ctx, &a);
  fnz_buffer_free(t->ctx, &b);
  return v;
}

/* The other dialects mean the same. */
static const struct {
  const char *name;
  fnz_views views;
} dialects[] = {{"keep", FNZ_VIEWS_KEEP}, {"strided", FNZ_VIEWS_STRIDED}};

static verdict check_in_dialect(trial *t, const fnz_program *p, fnz_views views,
                                const fnz_arrays *wanted) {
  fnz_stats stats;
  fnz_program_get_stats(p, &stats);
  if (stats.mutations || (views != FNZ_VIEWS_KEEP && stats.views))
    return wrong(t, "left over", "%zu views, %zu writes left", stats.views, stats.mutations);
  verdict v = wanted ? compare_run(t, p, wanted) : EQUAL;
  if (v == EQUAL && fnz_verify(t->ctx, t->original, p, NULL, 1))
    v = failed(t, "hashes");
  /* A kept view may be reached another way the second time. */
  return v == EQUAL && views != FNZ_VIEWS_KEEP ? check_fixed_point(t, p, views) : v;
}

static verdict check_dialect(trial *t, size_t which, const fnz_arrays *wanted) {
  fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  char kind[sizeof t->kind];
  fnz_program *p;
  options.views = dialects[which].views;
  if (fnz_functionalize(t->ctx, t->original, &options, &p))
    return failed(t, dialects[which].name);
  verdict v = check_in_dialect(t, p, options.views, wanted);
  snprintf(kind, sizeof kind, "%s: %.30s", dialects[which].name, t->kind);
  if (v == WRONG)
    memcpy(t->kind, kind, sizeof kind);
  fnz_program_destroy(p);
  return v;
}

/* --- one program ----------------------------------------------------------------------------- */
/* Why the aliasing run refuses; over hashes where the CPU has no kernel for what comes before. */
static fnz_error eager_refusal(trial *t, fnz_status eager) {
  fnz_error none = {.kind = FNZ_CLASS_NONE};
  fnz_backend *hash;
  fnz_arrays *got;
  if (eager != FNZ_UNSUPPORTED)
    return eager ? *fnz_last_error(t->ctx) : none;
  OK(t->ctx, fnz_hash_backend_create(t->ctx, 1, true, &hash));
  OK(t->ctx, fnz_arrays_create(t->ctx, &got));
  eager = fnz_run_original(t->ctx, t->original, hash, NULL, got);
  none = eager ? *fnz_last_error(t->ctx) : none;
  fnz_arrays_destroy(got);
  fnz_backend_destroy(hash);
  return none;
}

/* as_strided in a tensor with gaps, and results that depend on the order of eager's loop. */
static bool is_beyond(const char *pass_says) {
  return strstr(pass_says, "does not fill its memory") ||
         strstr(pass_says, "reads memory that it writes") ||
         strstr(pass_says, "as another argument as well") ||
         strstr(pass_says, "of a storage that has") || /* before what inputs of a memory show */
         strstr(pass_says, "elements share memory with each other");
}

/* Refused by both, and as the same class: by the pass, or by a kernel. */
static verdict compare_refusals(trial *t, fnz_class pass, const char *pass_says, fnz_status eager) {
  fnz_error e = eager_refusal(t, eager);
  if (pass == e.kind)
    return REFUSED;
  fnz_arrays *got = NULL;
  fnz_status status = pass ? FNZ_OK : run(t, fnz_run, t->functional, &got);
  fnz_arrays_destroy(got);
  if (status != FNZ_OK && fnz_last_error(t->ctx)->kind == e.kind)
    return REFUSED;
  if (is_beyond(pass_says))
    return e.kind == FNZ_CLASS_NONE ? BEYOND : REFUSED; /* eager goes on, to something else */
  char kind[48];
  snprintf(kind, sizeof kind, "refusal %s %s", fnz_class_name(pass), fnz_class_name(e.kind));
  return wrong(t, kind, "the pass says %s (%s), the aliasing run says %s (%s)",
               fnz_class_name(pass), pass_says, fnz_class_name(e.kind), e.message);
}

/* What the result says of memory is true, and with its state written at the end it means the same.
 */
static verdict check_boundary(trial *t) {
  static sharing s;
  fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  fnz_backend *hash;
  fnz_program *p;
  OK(t->ctx, fnz_hash_backend_create(t->ctx, 1, true, &hash));
  memset(&s, 0, sizeof s);
  s.ctx = t->ctx;
  s.original = t->original;
  s.functional = t->functional;
  bool is_true = sharing_is_true(&s, hash);
  fnz_backend_destroy(hash);
  if (!is_true)
    return wrong(t, "sharing", "%s", s.reason);
  options.state = FNZ_STATE_EPILOGUE;
  if (fnz_functionalize(t->ctx, t->original, &options, &p))
    return strstr(fnz_last_error(t->ctx)->message, "--state outputs") ? EQUAL
                                                                      : failed(t, "epilogue");
  verdict v = fnz_verify(t->ctx, t->original, p, NULL, 1) ? failed(t, "epilogue") : EQUAL;
  fnz_program_destroy(p);
  return v;
}

static verdict check_equal(trial *t, const fnz_arrays *wanted) {
  verdict v = wanted ? compare_run(t, t->functional, wanted) : EQUAL;
  if (v == EQUAL)
    v = check_shape(t);
  if (v == EQUAL && fnz_verify(t->ctx, t->original, t->functional, NULL, 1))
    v = failed(t, "hashes");
  if (v == EQUAL)
    v = check_fixed_point(t, t->functional, FNZ_VIEWS_COPY);
  if (v == EQUAL)
    v = check_boundary(t);
  for (size_t k = 0; k < sizeof dialects / sizeof *dialects && v == EQUAL; k++)
    v = check_dialect(t, k, wanted);
  if (v == EQUAL)
    v = check_text(t, t->original);
  if (v == EQUAL)
    v = check_text(t, t->functional);
  return v;
}

static verdict judge(trial *t) {
  fnz_arrays *wanted = NULL;
  char says[512];
  fnz_status pass = fnz_functionalize(t->ctx, t->original, NULL, &t->functional);
  fnz_class pass_class = pass ? fnz_last_error(t->ctx)->kind : FNZ_CLASS_NONE;
  snprintf(says, sizeof says, "%s", pass ? fnz_last_error(t->ctx)->message : "");
  fnz_status eager = run(t, fnz_run_original, t->original, &wanted);
  bool no_kernel = pass == FNZ_OK && eager == FNZ_UNSUPPORTED;
  verdict v = no_kernel       ? check_equal(t, NULL)
              : pass || eager ? compare_refusals(t, pass_class, says, eager)
                              : check_equal(t, wanted);
  fnz_arrays_destroy(wanted);
  fnz_program_destroy(t->functional);
  t->functional = NULL;
  return v != EQUAL ? v : t->is_large ? LARGE : no_kernel ? NO_KERNEL : EQUAL;
}

/* Draws a program from the choices and judges it; its text goes to `text` when that is not NULL. */
static verdict try_choices(fnz_context *ctx, choices *c, random_counts *counts, char *kind,
                           char *reason, fnz_buffer *text) {
  trial t = {.ctx = ctx};
  fnz_program *p = NULL;
  verdict v = EQUAL;
  if (random_program(ctx, c, counts, &p) || random_inputs(ctx, p, 5, &t.inputs)) {
    v = failed(&t, "generator");
  } else {
    t.original = p;
    v = judge(&t);
  }
  if (text && p)
    OK(ctx, text_of(ctx, p, text));
  snprintf(kind, sizeof t.kind, "%s", t.kind);
  snprintf(reason, sizeof t.reason, "%s", t.reason);
  fnz_arrays_destroy(t.inputs);
  fnz_program_destroy(p);
  return v;
}

static uint64_t number_of(const char *name, uint64_t otherwise) {
  const char *text = getenv(name);
  return text ? strtoull(text, NULL, 10) : otherwise;
}

/* --- making a failing program smaller -------------------------------------------------------- */
static bool still_fails(fnz_context *ctx, choices *c, const char *kind) {
  random_counts ignored = {0};
  char other[48], reason[MOST_REASON];
  choices_replay(c);
  return try_choices(ctx, c, &ignored, other, reason, NULL) == WRONG && !strcmp(kind, other);
}

static bool without(const choices *c, size_t at, size_t count, choices *out) {
  if (at + count > c->count)
    return false;
  *out = *c;
  memmove(&out->bytes[at], &out->bytes[at + count], c->count - at - count);
  out->count -= count;
  return true;
}

static bool drop_chunks(fnz_context *ctx, choices *c, const char *kind, size_t chunk) {
  static choices smaller;
  bool any = false;
  for (size_t at = 0; at + chunk <= c->count;)
    if (without(c, at, chunk, &smaller) && still_fails(ctx, &smaller, kind)) {
      *c = smaller;
      any = true;
    } else {
      at++;
    }
  return any;
}

static bool lower_bytes(fnz_context *ctx, choices *c, const char *kind) {
  static choices lower;
  bool any = false;
  for (size_t at = 0; at < c->count; at++) {
    const uint8_t was = c->bytes[at], tries[] = {0, was / 2, (uint8_t)(was - 1)};
    for (size_t k = 0; was > 0 && k < sizeof tries && c->bytes[at] == was; k++) {
      lower = *c;
      lower.bytes[at] = tries[k];
      if (tries[k] < was && still_fails(ctx, &lower, kind)) {
        *c = lower;
        any = true;
      }
    }
  }
  return any;
}

static void shrink(fnz_context *ctx, choices *c, const char *kind) {
  c->count = c->at;
  for (bool any = true; any;) {
    any = false;
    for (size_t chunk = 32; chunk > 0; chunk /= 2)
      any = drop_chunks(ctx, c, kind, chunk) || any;
    any = lower_bytes(ctx, c, kind) || any;
  }
}

static void report(fnz_context *ctx, choices *c, uint64_t index, const char *kind) {
  random_counts ignored = {0};
  fnz_buffer text = {0};
  char other[48], reason[MOST_REASON];
  if (number_of("FNZ_SHRINK", 1))
    shrink(ctx, c, kind);
  choices_replay(c);
  try_choices(ctx, c, &ignored, other, reason, &text);
  fprintf(stderr, "program %llu: %s: %s\n%s\n", (unsigned long long)index, other, reason,
          text.data ? text.data : "");
  fnz_buffer_free(ctx, &text);
}

/* --- many of them ---------------------------------------------------------------------------- */
static void print_counts(const random_counts *n, const size_t verdicts[VERDICTS]) {
  fprintf(stderr,
          "%zu programs, %zu steps; %zu equal, %zu refused, %zu beyond, %zu without kernel, "
          "%zu large, %zu wrong\n",
          n->programs, n->steps, verdicts[EQUAL], verdicts[REFUSED], verdicts[BEYOND],
          verdicts[NO_KERNEL], verdicts[LARGE], verdicts[WRONG]);
  for (size_t k = 0; random_op(k); k++)
    fprintf(stderr, "%10zu %10zu refused  %s\n", n->used[k], n->refused[k], random_op(k));
}

START_TEST(random_programs_mean_the_same) {
  static random_counts counts;
  static choices c;
  size_t verdicts[VERDICTS] = {0}, most = number_of("FNZ_WRONG", 1);
  uint64_t seed = number_of("FNZ_SEED", 1), count = number_of("FNZ_PROGRAMS", FEW_PROGRAMS);
  fnz_context *ctx;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  for (uint64_t i = number_of("FNZ_FIRST", 0); i < count && verdicts[WRONG] < most; i++) {
    char kind[48], reason[MOST_REASON];
    choices_start(&c, seed, i);
    verdict v = try_choices(ctx, &c, &counts, kind, reason, NULL);
    verdicts[v]++;
    if (v == WRONG)
      report(ctx, &c, i, kind);
  }
  if (getenv("FNZ_VERBOSE"))
    print_counts(&counts, verdicts);
  ck_assert_uint_eq(verdicts[WRONG], 0);
  ck_assert_uint_le(verdicts[BEYOND], count / 200 + 1);
  ck_assert_uint_le(verdicts[LARGE], count / 1000 + 1);
  for (size_t k = 0; random_op(k) && count >= FEW_PROGRAMS; k++)
    ck_assert_msg(counts.used[k] > 0, "%s was never drawn", random_op(k));
  fnz_context_destroy(ctx);
}
END_TEST

/* The same choices give the same program; none at all give the simplest. */
START_TEST(choices_name_a_program) {
  static random_counts counts;
  static choices c;
  fnz_context *ctx;
  fnz_program *p;
  fnz_buffer a, b;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  choices_start(&c, 3, 4);
  OK(ctx, random_program(ctx, &c, &counts, &p));
  OK(ctx, text_of(ctx, p, &a));
  fnz_program_destroy(p);
  choices_replay(&c);
  OK(ctx, random_program(ctx, &c, &counts, &p));
  OK(ctx, text_of(ctx, p, &b));
  fnz_program_destroy(p);
  ck_assert_str_eq(a.data, b.data);
  fnz_buffer_free(ctx, &a);
  fnz_buffer_free(ctx, &b);
  c.count = 0;
  choices_replay(&c);
  OK(ctx, random_program(ctx, &c, &counts, &p));
  ck_assert_uint_le(fnz_node_count(p, 0), 1);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

/* What is compared can differ: another program in place of the functionalized one is found out. */
START_TEST(mismatches_are_found) {
  static random_counts counts;
  static choices c;
  size_t found = 0;
  fnz_context *ctx;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  for (uint64_t i = 0; i < 40; i++) {
    fnz_program *p, *f;
    choices_start(&c, 9, i);
    OK(ctx, random_program(ctx, &c, &counts, &p));
    if (fnz_functionalize(ctx, p, NULL, &f) == FNZ_OK && fnz_node_count(f, 0) > 0) {
      fnzi_graph *g = fnzi_graph_at(f, 0);
      for (uint32_t k = 0; k < g->noutputs; k++)
        for (uint32_t n = 0; n < g->ninputs; n++)
          if (g->outputs[k].tag == FNZ_ARG_VALUE &&
              fnzi_value_at(f, 0, g->outputs[k].u.value)->geometry ==
                  fnzi_value_at(f, 0, g->inputs[n].u.value)->geometry)
            g->outputs[k] = g->inputs[n];
      found += fnz_verify(ctx, p, f, NULL, 1) == FNZ_DIFFERENT;
    }
    fnz_program_destroy(f);
    fnz_program_destroy(p);
  }
  ck_assert_uint_gt(found, 5);
  fnz_context_destroy(ctx);
}
END_TEST

RUN_SUITE("random", random_programs_mean_the_same, choices_name_a_program, mismatches_are_found)
