/* report.c - the figures of a run, and whether some kind of program was left out. */
#include "soak/soak.h"

static unsigned long long number(uint64_t n) {
  return (unsigned long long)n;
}

static double share(uint64_t part, uint64_t whole) {
  return whole ? 100 * (double)part / (double)whole : 0;
}

/* --- Printing ------------------------------------------------------------------------------------
 */

static void print_buckets(FILE *to, const char *what, const uint64_t *counts) {
  fprintf(to, "%s\n", what);
  for (size_t k = 0; k < FNZI_RANDOM_BUCKETS; k++)
    fprintf(to, "%12llu  %s\n", number(counts[k]), fnzi_random_bucket_name(k));
}

static void print_verdicts(FILE *to, const fnzi_soak_report *r) {
  fprintf(to, "%llu programs, %llu steps\n", number(r->drawn.programs), number(r->drawn.steps));
  fprintf(to, "verdicts\n");
  for (int v = 0; v < FNZI_VERDICTS; v++)
    fprintf(to, "%12llu  %s\n", number(r->verdicts[v]), fnzi_verdict_name((fnzi_verdict)v));
  fprintf(to, "checks\n");
  fprintf(to, "%12llu  numbers, hashes, shape, fixed point\n", number(r->drawn.programs));
  fprintf(to, "%12llu  dialect keep\n", number(r->keep));
  fprintf(to, "%12llu  dialect strided\n", number(r->strided));
  fprintf(to, "%12llu  text, memory of outputs, epilogue\n", number(r->thorough));
  fprintf(to, "classes of what is refused\n");
  for (int k = 0; k < FNZ_CLASS_COUNT; k++)
    if (r->refusals[k])
      fprintf(to, "%12llu  %s\n", number(r->refusals[k]), fnz_class_name((fnz_class)k));
}

static void print_tensors(FILE *to, const fnzi_random_counts *n) {
  fprintf(to, "tensors\n%12llu  of them %.1f%% without elements, %.1f%% of no dimension\n",
          number(n->values), share(n->empty, n->values), share(n->zero_dim, n->values));
  fprintf(to, "inputs\n%12llu  of them %.1f%% in the memory of another one\n", number(n->inputs),
          share(n->shared, n->inputs));
  for (int d = 0; d < FNZ_DTYPE_COUNT; d++)
    if (n->dtypes[d])
      fprintf(to, "%12llu  %s\n", number(n->dtypes[d]), fnzi_dtype((fnz_dtype)d)->name);
}

void fnzi_soak_print(FILE *to, const fnzi_soak_report *r) {
  const fnzi_random_counts *n = &r->drawn;
  print_verdicts(to, r);
  print_buckets(to, "nodes of a program", n->lengths);
  print_buckets(to, "its longest chain of views", n->depths);
  print_buckets(to, "the most tensors in one memory of it", n->aliases);
  print_tensors(to, n);
  fprintf(to, "calls       refused  operator\n");
  for (size_t k = 0; fnzi_random_op(k); k++)
    fprintf(to, "%11llu %7llu  %s\n", number(n->used[k]), number(n->refused[k]), fnzi_random_op(k));
}

/* --- Gaps ----------------------------------------------------------------------------------------
 */

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

static const char *gap_in_verdicts(const fnzi_soak_report *r) {
  if (!r->verdicts[FNZI_VERDICT_EQUAL])
    return "programs that are equal";
  if (!r->refusals[FNZ_CLASS_BOUNDS] || !r->refusals[FNZ_CLASS_TYPE] ||
      !r->refusals[FNZ_CLASS_OVERLAP])
    return "programs refused as BOUNDS, TYPE and OVERLAP";
  return r->thorough ? NULL : "programs that are checked thoroughly";
}

const char *fnzi_soak_gap(const fnzi_soak_report *r) {
  const fnzi_random_counts *n = &r->drawn;
  if (n->programs < FNZI_SOAK_ENOUGH)
    return NULL;
  for (size_t k = 0; fnzi_random_op(k); k++)
    if (!n->used[k])
      return fnzi_random_op(k);
  if (!n->empty || !n->zero_dim)
    return "tensors without elements or dimensions";
  if (!n->shared)
    return "inputs that share memory";
  const char *gap = gap_in_buckets(n);
  return gap ? gap : gap_in_verdicts(r);
}
