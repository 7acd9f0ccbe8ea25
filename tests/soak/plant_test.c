/* checks: 8
 * plant_test.c - mistakes in functional forms: every kind has places, verification finds all of
 * them, and what excuses one that it does not find says the truth. */
#include "soak/plant.h"
#include "soak/plant_edit.h"
#include "soak/plant_runs.h"
#include "soak/soak.h"
#include "tests/help/test.h"

#include <glob.h>

/* Verification does not see all mistakes of these kinds. */
static const fnzi_plant_kind unseen[] = {
    FNZI_PLANT_ASSERT_OPERATOR,             /* sizes that data tell are taken as recorded, */
    FNZI_PLANT_ASSERT_CONSTANT,             /* whatever tensor they are counted from */
    FNZI_PLANT_OPERATOR, FNZI_PLANT_DEVICE, /* of a tensor that is only written to */
};

static bool is_unseen(size_t kind) {
  for (size_t i = 0; i < sizeof unseen / sizeof *unseen; i++)
    if ((size_t)unseen[i] == kind)
      return true;
  return false;
}

static char wrong[8000];

static void keep_wrong(void *user, const fnzi_finding *finding) {
  (void)user;
  for (size_t kind = 0; kind < FNZI_PLANTS; kind++)
    if (strcmp(fnzi_plant_name(kind), finding->kind) == 0 && is_unseen(kind))
      return;
  snprintf(wrong, sizeof wrong, "%s: %s\n%s\n%s", finding->kind, finding->reason, finding->text,
           finding->mistake);
}

/* --- programs --------------------------------------------------------------------------------- */
static fnz_program *read_text(fnz_context *ctx, const char *text) {
  fnz_program *p;
  OK(ctx, fnz_program_read(ctx, text, strlen(text), FNZ_FORMAT_TEXT, &p));
  return p;
}

enum { MOST_FILES = 64 };

/* The programs of a folder that can be read; the caller ends them. */
static size_t load(fnz_context *ctx, const char *pattern, fnz_program **out) {
  char path[512];
  glob_t found;
  size_t count = 0;
  snprintf(path, sizeof path, "%s/fixtures/%s", FNZ_SOURCE_DIR, pattern);
  ck_assert_int_eq(glob(path, 0, NULL, &found), 0);
  for (size_t i = 0; i < found.gl_pathc && count < MOST_FILES; i++)
    if (fnz_program_load(ctx, found.gl_pathv[i], FNZ_FORMAT_AUTO, &out[count]) == FNZ_OK)
      count++;
  globfree(&found);
  return count;
}

/* --- many of them ----------------------------------------------------------------------------- */
/* One run of each kind of programs, and files that have places which are rare elsewhere. */
static void plant_all(fnzi_plant_counts *all) {
  static const char *const patterns[] = {"random/*.pt2",       "pt2/*.pt2",
                                         "symbolic/a*.fnz",    "regions/c*.fnz",
                                         "regions/[ens]*.fnz", "collectives/*.fnz"};
  static const char *const texts[] = {
      "fnz 1 program(%x: f32[2,3,4,5]) { %y: f32[2,3,4,5] stride(60,1,15,3) = "
      "clone(%x, memory_format=channels_last) return %y }",
      "fnz 1 program(%x: f32[4]) { %a: bool[] = any(%x) _assert_async(%a) %y: f32[4] = neg(%x) "
      "return %y }"};
  static fnzi_soak_report r;
  fnz_program *files[MOST_FILES];
  fnz_context *ctx;
  fnzi_soak_options options = {.seed = 3, .count = 250, .plants = true, .keep_size = true};
  options.found = keep_wrong;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  const struct {
    fnzi_soak_kind kind;
    uint64_t count;
  } runs[] = {{FNZI_SOAK_PLAIN, 250}, {FNZI_SOAK_REGIONS, 25}, {FNZI_SOAK_SYMBOLIC, 6}};
  for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
    options.kind = runs[i].kind;
    options.count = runs[i].count;
    ck_assert_int_eq(fnzi_soak_run(&options, &r), FNZ_OK);
    fnzi_plant_counts_add(all, &r.plants);
  }
  options.kind = FNZI_SOAK_GIVEN;
  for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
    options.count = options.ngiven = load(ctx, patterns[i], files);
    options.given = (const fnz_program *const *)files;
    ck_assert_int_eq(fnzi_soak_run(&options, &r), FNZ_OK);
    fnzi_plant_counts_add(all, &r.plants);
    for (size_t k = 0; k < options.ngiven; k++)
      fnz_program_destroy(files[k]);
  }
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    files[i] = read_text(ctx, texts[i]);
  options.count = options.ngiven = sizeof texts / sizeof *texts;
  ck_assert_int_eq(fnzi_soak_run(&options, &r), FNZ_OK);
  fnzi_plant_counts_add(all, &r.plants);
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    fnz_program_destroy(files[i]);
  fnz_context_destroy(ctx);
}

START_TEST(mistakes_are_found) {
  static fnzi_plant_counts all;
  char lost[2000] = "";
  plant_all(&all);
  for (size_t kind = 0; kind < FNZI_PLANTS; kind++) {
    uint64_t planted = 0;
    for (size_t fate = 0; fate < FNZI_FATES; fate++)
      planted += all.fates[kind][fate];
    ck_assert_msg(planted > 0, "%s: there is no place for it any more", fnzi_plant_name(kind));
    if (!is_unseen(kind) && all.fates[kind][FNZI_FATE_MISSED])
      snprintf(lost + strlen(lost), sizeof lost - strlen(lost), "%s; ", fnzi_plant_name(kind));
  }
  ck_assert_msg(!lost[0], "missed: %s\n%s", lost, wrong);
}
END_TEST

START_TEST(figures_do_not_depend_on_jobs) {
  static fnzi_soak_report one, three;
  fnzi_soak_options options = {.seed = 4, .count = 60, .plants = true, .keep_size = true};
  ck_assert_int_eq(fnzi_soak_run(&options, &one), FNZ_OK);
  options.jobs = 3;
  ck_assert_int_eq(fnzi_soak_run(&options, &three), FNZ_OK);
  ck_assert_mem_eq(&one.plants, &three.plants, sizeof one.plants);
  ck_assert_uint_eq(one.plants.programs, 60);
}
END_TEST

/* --- one kind --------------------------------------------------------------------------------- */
/* The fate of mistakes of this kind: the last one's, or MISSED. */
static fnzi_fate fate_of(const char *text, fnzi_plant_kind kind) {
  fnz_context *ctx;
  fnzi_planter *planter;
  fnzi_fate fate = FNZI_FATES;
  bool missed;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  OK(ctx, fnzi_planter_create(ctx, &planter));
  fnz_program *p = read_text(ctx, text);
  planter->only = (int)kind;
  OK(ctx, fnzi_planter_try(planter, p, 1, &missed));
  for (size_t k = 0; k < FNZI_FATES; k++)
    if (planter->counts.fates[kind][k])
      fate = (fnzi_fate)k;
  ck_assert_int_eq(missed, fate == FNZI_FATE_MISSED);
  fnz_program_destroy(p);
  fnzi_planter_destroy(planter);
  fnz_context_destroy(ctx);
  return fate;
}

#define SIZED_BY(symbol, input, number, size)                                                      \
  "fnz 1 " symbol "program(" input ") { " number " %a: f32[{" size                                 \
  "}] = arange(%n, dtype=f32) return %a }"

START_TEST(mistakes_meet_their_fate) {
  static const struct {
    const char *text;
    fnzi_plant_kind kind;
    fnzi_fate fate;
  } rows[] = {
      {"fnz 1 program(%x: f32[4]) { %y: f32[4] = add.Scalar(%x, 2) return %y }",
       FNZI_PLANT_CONSTANT_ONE, FNZI_FATE_DIFFERENT},
      /* a result of the branches that nothing needs */
      {"fnz 1 program(%x: f32[2]) { %s: f32[] = sum(%x) %g: bool[] = gt.Scalar(%s, 0) "
       "%a: f32[2], %b: f32[2] = higher_order.cond(%g, @t, @f, [%x]) return %a } "
       "\ngraph t(%x: f32[2]) { %a: f32[2] = neg(%x) %b: f32[2] = mul.Scalar(%x, 2.5) return %a, "
       "%b "
       "} "
       "\ngraph f(%x: f32[2]) { %a: f32[2] = abs(%x) %b: f32[2] = neg(%x) return %a, %b }",
       FNZI_PLANT_CONSTANT_NEXT, FNZI_FATE_ALIKE},
      /* nothing to swap */
      {"fnz 1 program(%x: f32[2,2]) { %y: f32[2,2] = sub.Tensor(%x, %x) return %y }",
       FNZI_PLANT_OPERANDS_SWAPPED, FNZI_FATES},
      {SIZED_BY("symbol s0 = 4 ", "%x: f32[{s0}]", "%n: sym{s0} = sym_size.int(%x, 0)", "s0"),
       FNZI_PLANT_SIZE_BOUNDED, FNZI_FATE_REFUSED},
      /* data tell the size */
      {SIZED_BY("symbol u0 ", "%x: i64[]", "%n: sym{u0} = item(%x)", "u0"), FNZI_PLANT_SIZE_BOUNDED,
       FNZI_FATES},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    ck_assert_int_eq(fate_of(rows[i].text, rows[i].kind), rows[i].fate);
}
END_TEST

/* --- runs ------------------------------------------------------------------------------------- */
/* Whether runs tell the functional forms of two texts apart. */
static fnzi_plant_verdict told(const char *first, const char *second, bool by_failures) {
  fnz_context *ctx;
  fnzi_plant_verdict out;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  fnzi_plant_pair pair = {.ctx = ctx, .by_failures = by_failures};
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &pair.cpu));
  OK(ctx, fnz_generator_create(ctx, 1, &pair.draws));
  fnz_program *a = read_text(ctx, first), *b = read_text(ctx, second);
  pair.first = a;
  pair.second = b;
  OK(ctx, fnzi_plant_judge(&pair, FNZI_PLANT_RUNS, &out));
  fnz_program_destroy(b);
  fnz_program_destroy(a);
  fnz_generator_destroy(pair.draws);
  fnz_backend_destroy(pair.cpu);
  fnz_context_destroy(ctx);
  return out;
}

#define PROGRAM(nodes, returned) "fnz 1 program(%x: f32[2,2]) { " nodes " return " returned " }"
#define DRAW(name)               "%" name ": f32[2,2] = rand_like(%x) "

START_TEST(runs_tell_programs_apart) {
  static const char drawn[] = PROGRAM(DRAW("a"), "%a"),
                    drawn_twice[] = PROGRAM(DRAW("a") DRAW("b"), "%a"),
                    copied[] = PROGRAM("%a: f32[2,2] = clone(%x)", "%a"),
                    added[] = PROGRAM("%a: f32[2,2] = add.Scalar(%x, 0)", "%a"),
                    doubled[] = PROGRAM("%a: f32[2,2] = mul.Scalar(%x, 2)", "%a"),
                    written[] = PROGRAM("%a: f32[2,2] = clone(%x)", "%a input_mutation \"x\", %a"),
                    zeroed[] =
                        PROGRAM("%a: f32[2,2] = mul.Scalar(%x, 0)", "%a input_mutation \"x\", %x");
  ck_assert_int_eq(told(copied, added, false), FNZI_PLANT_ALIKE);
  ck_assert_int_eq(told(copied, doubled, false), FNZI_PLANT_APART);
  ck_assert_int_eq(told(drawn, drawn, false), FNZI_PLANT_ALIKE);
  ck_assert_int_eq(told(drawn, drawn_twice, false),
                   FNZI_PLANT_APART); /* by the generator's state */
  ck_assert_int_eq(told(copied, written, false), FNZI_PLANT_ALIKE);
  ck_assert_int_eq(told(copied, zeroed, false), FNZI_PLANT_APART);
}
END_TEST

/* An assertion that never holds: then nothing is known, unless the other one must fail too. */
START_TEST(failing_runs_tell_nothing) {
  static const char fails[] = PROGRAM("%n: bool[] = any(%x) %m: bool[] = full([], 0, dtype=bool) "
                                      "_assert_async(%m) %a: f32[2,2] = clone(%x)",
                                      "%a"),
                    works[] = PROGRAM("%a: f32[2,2] = clone(%x)", "%a");
  ck_assert_int_eq(told(fails, works, false), FNZI_PLANT_NOTHING);
  ck_assert_int_eq(told(fails, works, true), FNZI_PLANT_APART);
  ck_assert_int_eq(told(works, fails, false), FNZI_PLANT_BROKEN);
  ck_assert_int_eq(told(works, fails, true), FNZI_PLANT_APART);
}
END_TEST

START_TEST(endless_loops_are_no_runs) {
  static const char loop[] =
      "fnz 1 program(%x: f32[2]) { %y: f32[2] = higher_order.while_loop(@t, @b, [%x], []) "
      "return %y } \ngraph t(%x: f32[2]) { %t: bool[] = full([], 1, dtype=bool) return single %t } "
      "\ngraph b(%x: f32[2]) { %y: f32[2] = neg(%x) return %y }";
  ck_assert_int_eq(told(loop, loop, false), FNZI_PLANT_NOTHING);
}
END_TEST

/* One program refuses some sizes. */
START_TEST(sizes_are_told_apart) {
#define SIZED(range)                                                                               \
  "fnz 1 symbol s0 = 4 range s0 " range " program(%x: f32[{s0}]) { %a: f32[{s0}] = neg(%x) "       \
  "return %a }"
  fnz_context *ctx;
  fnzi_plant_verdict out;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  fnzi_plant_pair pair = {.ctx = ctx, .by_sizes = true};
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &pair.cpu));
  OK(ctx, fnz_generator_create(ctx, 1, &pair.draws));
  fnz_program *a = read_text(ctx, SIZED("2..9")), *b = read_text(ctx, SIZED("2..8"));
  pair.first = pair.second = a;
  OK(ctx, fnzi_plant_judge(&pair, 12 * FNZI_PLANT_RUNS, &out));
  ck_assert_int_eq(out, FNZI_PLANT_ALIKE);
  pair.second = b;
  OK(ctx, fnzi_plant_judge(&pair, 12 * FNZI_PLANT_RUNS, &out));
  ck_assert_int_eq(out, FNZI_PLANT_APART);
  fnz_program_destroy(b);
  fnz_program_destroy(a);
  fnz_generator_destroy(pair.draws);
  fnz_backend_destroy(pair.cpu);
  fnz_context_destroy(ctx);
}
END_TEST

/* A view at one row, and a copy at more. */
static const char source[] = "fnz 1\nsymbol s0 = 4\nrange s0 0..\nprogram(%x: f32[{s0},3]) {\n"
                             "  %t: f32[3,{s0}] stride(1,3) = transpose.int(%x, 0, 1)\n"
                             "  %r: f32[{3*s0}] = reshape(%t, [-1])\n"
                             "  %w: f32[{3*s0}] = add_.Scalar(%r, 1)\n  return %r, %x\n}\n";

/* The source has no condition; the form has one, or both have it. */
START_TEST(guards_of_the_source_stay) {
  fnz_context *ctx;
  fnz_program *form;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  fnz_program *p = read_text(ctx, source);
  OK(ctx, fnz_functionalize(ctx, p, NULL, &form));
  const fnz_program *const sources[] = {NULL, p, form};
  for (size_t k = 0; k < 3; k++) {
    fnzi_planting dropped = {.p = form, .wanted = UINT64_MAX, .source = sources[k]},
                  bound = dropped;
    OK(ctx, fnzi_plant_guard_dropped(&dropped));
    OK(ctx, fnzi_plant_guard_bound(&bound));
    ck_assert_uint_eq(dropped.places, sources[k] != form);
    ck_assert_uint_eq(bound.places, sources[k] != form);
  }
  fnz_program_destroy(form);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

RUN_SUITE("plant", mistakes_are_found, figures_do_not_depend_on_jobs, mistakes_meet_their_fate,
          runs_tell_programs_apart, failing_runs_tell_nothing, endless_loops_are_no_runs,
          sizes_are_told_apart, guards_of_the_source_stay)
