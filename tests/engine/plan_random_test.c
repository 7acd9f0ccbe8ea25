/* checks: 2
 * plan_random_test.c - plans of random programs compute, step by step, the values of the programs:
 * run on bytes, also in two memories as on a device, and proved by the checker. FNZ_PROGRAMS is the
 * count, FNZ_SEED and FNZ_FIRST choose them. */
#include "base/watched.h"
#include "engine/listing/listing.h"
#include "soak/programs.h"
#include "tests/engine/plan_exec.h"
#include "tests/help/test.h"

enum { FEW_PROGRAMS = FNZI_WATCHED ? 500 : 2000 };

static uint64_t number_of(const char *name, uint64_t otherwise) {
  const char *text = getenv(name);
  return text ? strtoull(text, NULL, 10) : otherwise;
}

static void complain(fnz_context *ctx, const fnz_program *p, uint64_t index,
                     const fnzi_pln_plan *plan, const char *what) {
  fnz_buffer text = {0}, steps = {0};
  char said[EXEC_MESSAGE];
  snprintf(said, sizeof said, "%s", what);
  if (plan->steps.count > 0)
    OK(ctx, fnzi_listing_text(ctx, &(fnzi_listing_subject){.plan = plan}, &steps));
  OK(ctx, fnz_program_write(ctx, p, FNZ_FORMAT_TEXT, &text));
  fprintf(stderr, "%.*s\n%.*s\n", (int)text.size, text.data, (int)steps.size,
          steps.data ? (const char *)steps.data : "");
  fprintf(stderr, "program %llu: %s\n", (unsigned long long)index, said);
  ck_abort_msg("program %llu: %.200s", (unsigned long long)index, said);
}

/* Steps of the device are drawn: moves, and any others. */
static void try_device(fnz_context *ctx, fnz_backend *cpu, const fnz_program *p, uint64_t index,
                       const fnzi_pln_plan *plan) {
  enum { MOST = 4096 };
  static exec e;
  static bool device[MOST], stays[MOST];
  fnzi_dev_schedule route;
  fnzi_arena arena;
  uint64_t state = index * 2654435761u + 7;
  ck_assert_uint_le(plan->steps.count, MOST);
  for (size_t i = 0; i < plan->steps.count; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    device[i] = plan->steps.data[i].kind == FNZI_PLN_MOVE || state >> 62 != 0;
  }
  for (size_t k = 0; k < plan->noutputs; k++)
    stays[k] = plan->outputs[k].buffer != FNZI_PLN_NONE &&
               plan->buffers.data[plan->outputs[k].buffer].kind == FNZI_PLN_STATE;
  fnzi_arena_init(&arena, ctx);
  OK(ctx, fnzi_dev_schedule_find(&arena, plan, device, stays, &route));
  OK(ctx, exec_plan_on(ctx, cpu, plan, &route, stays, &e));
  if (e.message[0])
    complain(ctx, p, index, plan, e.message);
  fnzi_arena_free(&arena);
}

/* Every other program in the order in which it would run. */
static void try_policy(fnz_context *ctx, fnz_backend *cpu, const fnz_program *p, uint64_t index,
                       const fnzi_pln_policy *policy) {
  static exec e;
  fnzi_pln_plan plan = {0};
  fnzi_arena arena;
  const fnz_program *source = p;
  fnzi_pln_policy arranged = *policy;
  fnzi_arena_init(&arena, ctx);
  if (index % 2) {
    OK(ctx, fnzi_pln_arrange(ctx, &arena, source, &p, &arranged.order));
    if (!getenv("FNZ_UNCHECKED") &&
        fnzi_pln_arrange_check(ctx, source, p, &arranged.order) != FNZ_OK)
      complain(ctx, source, index, &plan, fnz_last_error(ctx)->message);
  }
  if (fnzi_pln_make(ctx, p, &arranged, &plan) != FNZ_OK)
    complain(ctx, p, index, &plan, fnz_last_error(ctx)->message);
  if (!getenv("FNZ_UNCHECKED") && fnzi_pln_check(ctx, &plan) != FNZ_OK)
    complain(ctx, p, index, &plan, fnz_last_error(ctx)->message);
  OK(ctx, exec_plan(ctx, cpu, &plan, &e));
  if (e.message[0])
    complain(ctx, p, index, &plan, e.message);
  if (!policy->trivial)
    try_device(ctx, cpu, p, index, &plan);
  fnzi_pln_free(ctx, &plan);
  fnzi_arena_free(&arena);
}

/* --- Functional programs ------------------------------------------------------------------ */
/* Programs that functionalizing seldom makes: sources that are shifted or transposed windows of
 * their base, x + x.t(), joins of windows; numbers of rows that go back to the rows, or across
 * them. Values are squares (4 by 4), halves (2 by 4), columns (4 by 1) and lines (4). */
typedef struct draft {
  char text[8192];
  size_t size;
  unsigned squares, halves, columns, lines; /* %s0 ..., %h0 ..., %c0 ..., %l0 ... */
  bool points; /* most nodes are pointwise, so that groups take groups in */
  bool rows;   /* most nodes go by rows, or compute with results of rows */
  uint64_t state;
} draft;

static unsigned draw(draft *d, unsigned below) {
  d->state = d->state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(d->state >> 33) % below;
}

static void put(draft *d, const char *format, unsigned a, unsigned b, unsigned c, unsigned e) {
  d->size += (size_t)snprintf(d->text + d->size, sizeof d->text - d->size, format, a, b, c, e);
}

static void draw_row_node(draft *d) {
  unsigned s = d->squares - 1 - draw(d, d->squares > 2 ? 3 : 2), c = draw(d, d->columns);
  unsigned l = d->lines - 1 - draw(d, d->lines > 1 ? 2 : 1);
  switch (draw(d, 11)) {
  case 0:
    put(d, "  %%c%u: f32[4,1] = mean.dim(%%s%u, [1], True)\n", d->columns++, s, 0, 0);
    break;
  case 1:
    put(d, "  %%l%u: f32[4] = sum.dim_IntList(%%s%u, [1])\n", d->lines++, s, 0, 0);
    break;
  case 2:
    put(d, "  %%c%u: f32[4,1] = add.Tensor(%%c%u, %%c%u)\n", d->columns, c, d->columns - 1, 0);
    d->columns++;
    break;
  case 3:
    put(d, "  %%l%u: f32[4] = add.Tensor(%%l%u, %%l%u)\n", d->lines, l, draw(d, d->lines), 0);
    d->lines++;
    break;
  case 4: /* across the rows */
    put(d, "  %%s%u: f32[4,4] = add.Tensor(%%s%u, %%l%u)\n", d->squares++, s, l, 0);
    break;
  case 5:
    put(d, "  %%s%u: f32[4,4] = _softmax(%%s%u, -1, False)\n", d->squares++, s, 0, 0);
    break;
  case 6:
    put(d, "  %%s%u: f32[4,4], %%c%u: f32[4,1], %%c%u: f32[4,1] = ", d->squares, d->columns,
        d->columns + 1, 0);
    put(d, "native_layer_norm(%%s%u, [4], %%l%u, None, 1e-05)\n", s, l, 0, 0);
    d->squares++;
    d->columns += 2;
    break;
  case 7:
    put(d, "  %%c%u: f32[4,1] = amax(%%s%u, [1], True)\n", d->columns++, s, 0, 0);
    break;
  case 8: /* all of it is one row */
    put(d, "  %%n%u: f32[1,1] = mean.dim(%%s%u, [0, 1], True)\n", d->squares, s, 0, 0);
    put(d, "  %%s%u: f32[4,4] = add.Tensor(%%s%u, %%n%u)\n", d->squares, s, d->squares, 0);
    d->squares++;
    break;
  default:
    put(d, "  %%s%u: f32[4,4] = add.Tensor(%%s%u, %%c%u)\n", d->squares++, s, c, 0);
  }
}

static void draw_node(draft *d) {
  unsigned s = draw(d, d->squares), t = draw(d, d->squares), h = draw(d, d->halves);
  unsigned row = draw(d, 3), kind = draw(d, d->points ? 24 : 8);
  switch (kind < 8 ? kind : 1 + kind % 2) {
  case 0:
    put(d, "  %%s%u: f32[4,4] = transpose_copy.int(%%s%u, 0, 1)\n", d->squares++, s, 0, 0);
    break;
  case 1:
    put(d, "  %%s%u: f32[4,4] = add.Tensor(%%s%u, %%s%u)\n", d->squares++, s, t, 0);
    break;
  case 2:
    put(d, "  %%s%u: f32[4,4] = exp(%%s%u)\n", d->squares++, s, 0, 0);
    break;
  case 3:
    put(d, "  %%s%u: f32[4,4] = cat([%%h%u, %%h%u])\n", d->squares++, h, draw(d, d->halves), 0);
    break;
  case 4:
    put(d, "  %%h%u: f32[2,4] = exp(%%h%u)\n", d->halves++, h, 0, 0);
    break;
  case 5:
  case 6: /* of the youngest values, so that chains are long */
    put(d, "  %%s%u: f32[4,4] = slice_scatter(%%s%u, %%h%u, 0, %u, ", d->squares,
        d->squares - 1 - draw(d, d->squares > 2 ? 2 : 1), d->halves - 1, row);
    put(d, "%u)\n", row + 2, 0, 0, 0);
    d->squares++;
    break;
  default:
    put(d, "  %%h%u: f32[2,4] = slice_copy.Tensor(%%s%u, 0, %u, %u)\n", d->halves++,
        d->squares - 1 - draw(d, d->squares > 2 ? 2 : 1), row, row + 2);
  }
}

static void draw_program(draft *d, uint64_t index) {
  *d = (draft){
      .squares = 2, .halves = 1, .columns = 1, .lines = 1, .state = index * 2654435761u + 99};
  d->points = index % 4 == 0;
  d->rows = index % 4 == 2;
  put(d, "fnz 1\nprogram(\n  %%s0: f32[4,4],\n  %%s1: f32[4,4],\n  %%h0: f32[2,4],\n", 0, 0, 0, 0);
  put(d, "  %%c0: f32[4,1],\n  %%l0: f32[4])\n{\n", 0, 0, 0, 0);
  for (unsigned n = 2 + draw(d, d->points || d->rows ? 18 : 9); n > 0; n--)
    if (d->rows && draw(d, 8))
      draw_row_node(d);
    else
      draw_node(d);
  put(d, "  return %%s%u input_mutation \"s0\", %%s%u input_mutation \"s1\", ", d->squares - 1,
      draw(d, d->squares), 0, 0);
  put(d, "%%c%u input_mutation \"c0\", %%l%u input_mutation \"l0\", ", d->columns - 1, d->lines - 1,
      0, 0);
  put(d, "%%h%u, %%s%u\n}\n", draw(d, d->halves), draw(d, d->squares), 0, 0);
}

START_TEST(plans_of_functional_programs_mean_the_same) {
  static draft d;
  uint64_t first = number_of("FNZ_FIRST", 0), count = number_of("FNZ_PROGRAMS", FEW_PROGRAMS);
  fnz_context *ctx;
  fnz_backend *cpu;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  for (uint64_t i = first; i < first + count; i++) {
    fnz_program *p;
    draw_program(&d, i + number_of("FNZ_SEED", 1) * 1000003);
    OK(ctx, fnz_program_read(ctx, d.text, d.size, FNZ_FORMAT_TEXT, &p));
    try_policy(ctx, cpu, p, i, &(fnzi_pln_policy){0});
    try_policy(ctx, cpu, p, i, &(fnzi_pln_policy){.state = true});
    fnz_program_destroy(p);
  }
  fnz_backend_destroy(cpu);
  fnz_context_destroy(ctx);
}
END_TEST

START_TEST(plans_mean_what_programs_do) {
  static fnzi_random_counts counts;
  static choices c;
  static bool all[4096];
  uint64_t first = number_of("FNZ_FIRST", 0), count = number_of("FNZ_PROGRAMS", FEW_PROGRAMS);
  fnz_context *ctx;
  fnz_backend *cpu, *meta;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  OK(ctx, fnz_meta_backend_create(ctx, &meta));
  memset(all, 1, sizeof all);
  for (uint64_t i = first; i < first + count; i++) {
    if (getenv("FNZ_VERBOSE"))
      fprintf(stderr, "%llu\n", (unsigned long long)i);
    fnz_program *p, *f;
    choices_start(&c, number_of("FNZ_SEED", 1), i);
    OK(ctx, fnzi_random_program(ctx, meta, &c, &counts, &p));
    if (fnz_functionalize(ctx, p, NULL, &f) == FNZ_OK) {
      try_policy(ctx, cpu, f, i, &(fnzi_pln_policy){0});
      try_policy(ctx, cpu, f, i, &(fnzi_pln_policy){.state = true});
      try_policy(ctx, cpu, f, i,
                 &(fnzi_pln_policy){.state = true, .aliasing = true, .writable = all});
      if (i % 8 == 0)
        try_policy(ctx, cpu, f, i, &(fnzi_pln_policy){.state = true, .trivial = true});
    }
    fnz_program_destroy(f);
    fnz_program_destroy(p);
  }
  fnz_backend_destroy(meta);
  fnz_backend_destroy(cpu);
  fnz_context_destroy(ctx);
}
END_TEST

RUN_SUITE("plan_random", plans_mean_what_programs_do, plans_of_functional_programs_mean_the_same)
