/* report.c - the figures of a run, and whether some kind of program was left out. */
#include "soak/programs.h"
#include "soak/regions.h"
#include "soak/soak.h"
#include "soak/symbolic.h"

static unsigned long long number(uint64_t n) {
  return (unsigned long long)n;
}

/* --- Printing --------------------------------------------------------------------------------- */

typedef struct sheet {
  FILE *to;
  const char *prefix;
} sheet;

static void heading(const sheet *s, const char *text) {
  fprintf(s->to, "%s%s\n", s->prefix, text);
}

static void line(const sheet *s, uint64_t n, const char *what) {
  fprintf(s->to, "%s%12llu  %s\n", s->prefix, number(n), what);
}

static void print_buckets(const sheet *s, const char *what, const uint64_t *counts) {
  heading(s, what);
  for (size_t k = 0; k < FNZI_RANDOM_BUCKETS; k++)
    line(s, counts[k], fnzi_random_bucket_name(k));
}

/* `always`: what all of them are checked for. */
static void print_checks(const sheet *s, const fnzi_soak_report *r, const char *always) {
  heading(s, "programs that got a check");
  line(s, r->drawn.programs, always);
  line(s, r->keep, "the same in dialect keep");
  line(s, r->strided, "the same in dialect strided");
}

static void print_verdicts(const sheet *s, const fnzi_soak_report *r) {
  heading(s, "verdicts");
  for (int v = 0; v < FNZI_VERDICTS; v++)
    line(s, r->verdicts[v], fnzi_verdict_name((fnzi_verdict)v));
  heading(s, "classes of what is refused");
  for (int k = 0; k < FNZ_CLASS_COUNT; k++)
    if (r->refusals[k])
      line(s, r->refusals[k], fnz_class_name((fnz_class)k));
  print_checks(s, r, "numbers, hashes, shape of the result, fixed point");
  line(s, r->engine, "the engine's bits");
  line(s, r->thorough, "text, memory of outputs, epilogue");
}

static void print_steps(const sheet *s, const fnzi_random_counts *n, const char *(*name)(size_t)) {
  heading(s, "steps, and steps that did not fit");
  for (size_t k = 0; name(k); k++)
    fprintf(s->to, "%s%12llu %8llu  %s\n", s->prefix, number(n->used[k]), number(n->refused[k]),
            name(k));
}

static void print_symbolic(const sheet *s, const fnzi_soak_report *r) {
  const fnzi_random_counts *n = &r->drawn;
  heading(s, "drawn");
  line(s, n->programs, "programs of unknown sizes");
  line(s, n->steps, "steps");
  heading(s, "verdicts");
  line(s, r->verdicts[FNZI_VERDICT_EQUAL], "equal wherever both run");
  line(s, r->verdicts[FNZI_VERDICT_REFUSED], "refused by eager at all sizes tried");
  line(s, r->verdicts[FNZI_VERDICT_BEYOND], "refused, although eager does it");
  line(s, r->verdicts[FNZI_VERDICT_WRONG], "wrong");
  print_checks(s, r, "numbers, shape of the result");
  heading(s, "choices of sizes and data");
  line(s, r->draws[FNZI_VERDICT_EQUAL], "equal");
  line(s, r->draws[FNZI_VERDICT_REFUSED], "refused by eager");
  line(s, r->draws[FNZI_VERDICT_BEYOND], "not what the functional form is for");
  print_buckets(s, "programs by their values", n->lengths);
  print_steps(s, n, fnzi_symbolic_step);
}

void fnzi_soak_summary(FILE *to, const char *prefix, const fnzi_soak_report *r) {
  const sheet s = {to, prefix};
  fprintf(to, "%s%llu programs of %llu steps\n", prefix, number(r->drawn.programs),
          number(r->drawn.steps));
  for (int v = 0; v < FNZI_VERDICTS; v++)
    if (r->verdicts[v] || v == FNZI_VERDICT_WRONG)
      line(&s, r->verdicts[v], fnzi_verdict_name((fnzi_verdict)v));
}

void fnzi_soak_print(FILE *to, const char *prefix, const fnzi_soak_report *r) {
  const fnzi_random_counts *n = &r->drawn;
  const sheet s = {to, prefix};
  if (r->kind == FNZI_SOAK_SYMBOLIC) {
    print_symbolic(&s, r);
    return;
  }
  heading(&s, "drawn");
  line(&s, n->programs, r->kind == FNZI_SOAK_REGIONS ? "programs with bodies" : "programs");
  line(&s, n->steps, "steps");
  if (r->kind == FNZI_SOAK_REGIONS) {
    print_verdicts(&s, r);
    print_buckets(&s, "programs by their nodes, those of bodies too", r->drawn.lengths);
    print_steps(&s, &r->drawn, fnzi_regions_step);
    return;
  }
  print_verdicts(&s, r);
  print_buckets(&s, "programs by their nodes", n->lengths);
  print_buckets(&s, "by their longest chain of views", n->depths);
  print_buckets(&s, "by the most tensors in one memory", n->aliases);
  heading(&s, "tensors");
  line(&s, n->values, "in all");
  line(&s, n->empty, "without elements");
  line(&s, n->zero_dim, "without dimensions");
  heading(&s, "inputs");
  line(&s, n->shared, "in the memory of another one");
  line(&s, n->repeating, "that show elements several times");
  line(&s, n->constants, "constants of the program");
  for (int d = 0; d < FNZ_DTYPE_COUNT; d++)
    if (n->dtypes[d])
      line(&s, n->dtypes[d], fnzi_dtype((fnz_dtype)d)->name);
  heading(&s, "calls, and calls that were refused");
  for (size_t k = 0; fnzi_random_op(k); k++)
    fprintf(to, "%s%12llu %8llu  %s\n", prefix, number(n->used[k]), number(n->refused[k]),
            fnzi_random_op(k));
}

/* --- Gaps ------------------------------------------------------------------------------------- */

static const char *gap_in_buckets(const fnzi_random_counts *n) {
  for (size_t k = 0; k < FNZI_RANDOM_BUCKETS; k++) {
    if (n->lengths[k] == 0)
      return "programs of some length";
    if (n->depths[k] == 0 && k <= 5)
      return "chains of views of some depth";
    if (n->aliases[k] == 0 && k > 0)
      return "some number of tensors in one memory";
  }
  return NULL;
}

static const char *gap_in_steps(const fnzi_random_counts *n, const char *(*name)(size_t)) {
  for (size_t k = 0; name(k); k++)
    if (!n->used[k])
      return name(k);
  return NULL;
}

const char *fnzi_soak_gap(const fnzi_soak_report *r, unsigned checks) {
  const fnzi_random_counts *n = &r->drawn;
  if (n->programs < FNZI_SOAK_ENOUGH)
    return NULL;
  if (r->kind == FNZI_SOAK_SYMBOLIC) {
    const char *gap = gap_in_steps(&r->drawn, fnzi_symbolic_step);
    if (gap)
      return gap;
    return r->draws[FNZI_VERDICT_EQUAL] ? NULL : "sizes at which programs are equal";
  }
  if (r->kind == FNZI_SOAK_REGIONS) {
    const char *gap = gap_in_steps(&r->drawn, fnzi_regions_step);
    if (gap)
      return gap;
    if (!r->verdicts[FNZI_VERDICT_EQUAL])
      return "programs that are equal";
    bool is_thorough = r->thorough || !(checks & FNZI_CHECK_THOROUGH);
    return is_thorough ? NULL : "programs that are checked thoroughly";
  }
  const char *gap = gap_in_steps(n, fnzi_random_op);
  if (gap)
    return gap;
  if (!n->empty || !n->zero_dim)
    return "tensors without elements or dimensions";
  if (!n->shared || !n->repeating || !n->constants)
    return "inputs that share memory, repeat elements or are constants";
  gap = gap_in_buckets(n);
  if (gap)
    return gap;
  if (!r->verdicts[FNZI_VERDICT_EQUAL])
    return "programs that are equal";
  if (!r->refusals[FNZ_CLASS_BOUNDS] || !r->refusals[FNZ_CLASS_TYPE] ||
      !r->refusals[FNZ_CLASS_OVERLAP])
    return "programs refused as BOUNDS, TYPE and OVERLAP";
  bool is_thorough = r->thorough || !(checks & FNZI_CHECK_THOROUGH);
  return is_thorough ? NULL : "programs that are checked thoroughly";
}
