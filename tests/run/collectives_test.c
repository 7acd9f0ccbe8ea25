/* checks: 10
 * collectives_test.c - programs of several processes, which are threads here: each operator against
 * PyTorch's results over gloo, in the order of the program; groups of one; refusals. */
#include "tests/help/test.h"
#include "tests/run/collectives_ranks.h"

#include <pthread.h>

enum { MOST = 4, MOST_CALLS = 1000 };

/* --- Threads as processes --------------------------------------------------------------------- */
typedef struct meeting {
  pthread_barrier_t barrier;
  int count;
  const void *from[MOST];
  const size_t *sizes[MOST];
  char what[MOST][MOST_CALLS]; /* the calls of each, by a letter */
  size_t ncalls[MOST];
} meeting;

typedef struct member {
  meeting *all;
  int rank;
} member;

/* All are here, and have said where their elements lie. */
static void meet(const member *m, char what, const void *from, const size_t *sizes) {
  meeting *all = m->all;
  all->from[m->rank] = from;
  all->sizes[m->rank] = sizes;
  if (all->ncalls[m->rank] + 1 < MOST_CALLS)
    all->what[m->rank][all->ncalls[m->rank]++] = what;
  pthread_barrier_wait(&all->barrier);
}

/* Memory that the others read may change again. */
static void part(const member *m) {
  pthread_barrier_wait(&m->all->barrier);
}

static fnz_status place(void *self, const fnz_group *group, int64_t *rank, int64_t *count,
                        char *message) {
  const member *m = self;
  *rank = m->rank;
  *count = m->all->count;
  if (!group || group->ranks || strcmp(group->name, "0") == 0)
    return FNZ_OK;
  snprintf(message, FNZ_COLLECTIVES_MESSAGE_BYTES, "nobody knows group %s", group->name);
  return FNZ_BAD_INPUT;
}

#define REDUCE(id, type, wide)                                                                     \
  case FNZ_##id:                                                                                   \
    for (size_t i = 0; i < count; i++)                                                             \
      for (int k = 1; k < m->all->count; k++) {                                                    \
        const wide a = k == 1 ? ((const type *)m->all->from[0])[i] : ((type *)into)[i],            \
                   b = ((const type *)m->all->from[k])[i];                                         \
        ((type *)into)[i] = (type)(how == FNZ_REDUCTION_SUM       ? a + b                          \
                                   : how == FNZ_REDUCTION_PRODUCT ? a * b                          \
                                   : how == FNZ_REDUCTION_MIN     ? (a < b ? a : b)                \
                                   : how == FNZ_REDUCTION_MAX     ? (a > b ? a : b)                \
                                                                  : BITS_##id(a, b));                  \
      }                                                                                            \
    break;
#define BITS(a, b)     (how == FNZ_REDUCTION_BAND ? a & b : how == FNZ_REDUCTION_BOR ? a | b : a ^ b)
#define BITS_U8(a, b)  BITS(a, b)
#define BITS_I8(a, b)  BITS(a, b)
#define BITS_I32(a, b) BITS(a, b)
#define BITS_I64(a, b) BITS(a, b)
#define BITS_F32(a, b) 0
#define BITS_F64(a, b) 0

static fnz_status all_reduce(void *self, const fnz_group *group, fnz_reduction how, fnz_dtype dtype,
                             void *data, size_t count, char *message) {
  const member *m = self;
  void *into = malloc(count * 8 + 1);
  const size_t bytes = count * fnz_dtype_get_info(dtype)->bytes;
  (void)group;
  if (!into)
    return FNZ_NO_MEMORY;
  meet(m, 'r', data, NULL);
  switch (dtype) {
    REDUCE(U8, uint8_t, int64_t)
    REDUCE(I8, int8_t, int64_t)
    REDUCE(I32, int32_t, int64_t)
    REDUCE(I64, int64_t, int64_t)
    REDUCE(F32, float, double)
    REDUCE(F64, double, double)
  default:
    snprintf(message, FNZ_COLLECTIVES_MESSAGE_BYTES, "elements of another type");
  }
  part(m);
  memcpy(data, into, bytes);
  free(into);
  return *message ? FNZ_UNSUPPORTED : FNZ_OK;
}

static fnz_status all_gather(void *self, const fnz_group *group, const void *from, size_t bytes,
                             void *to, char *message) {
  const member *m = self;
  (void)group, (void)message;
  meet(m, 'g', from, NULL);
  for (int k = 0; k < m->all->count; k++)
    memcpy((char *)to + (size_t)k * bytes, m->all->from[k], bytes);
  part(m);
  return FNZ_OK;
}

static fnz_status all_to_all(void *self, const fnz_group *group, const void *from,
                             const size_t *from_bytes, void *to, const size_t *to_bytes,
                             char *message) {
  const member *m = self;
  (void)group, (void)message;
  meet(m, 't', from, from_bytes);
  for (int k = 0; k < m->all->count; k++) {
    size_t at = 0;
    for (int i = 0; i < m->rank; i++)
      at += m->all->sizes[k][i];
    ck_assert_uint_eq(m->all->sizes[k][m->rank], to_bytes[k]);
    memcpy(to, (const char *)m->all->from[k] + at, to_bytes[k]);
    to = (char *)to + to_bytes[k];
  }
  part(m);
  return FNZ_OK;
}

static fnz_status broadcast(void *self, const fnz_group *group, int64_t source, void *data,
                            size_t bytes, char *message) {
  const member *m = self;
  (void)group, (void)message;
  meet(m, 'b', data, NULL);
  if (m->rank != source)
    memcpy(data, m->all->from[source], bytes);
  part(m);
  return FNZ_OK;
}

static fnz_collectives functions_of(member *m) {
  return (fnz_collectives){.size = sizeof(fnz_collectives),
                           .name = "threads",
                           .self = m,
                           .place = place,
                           .all_reduce = all_reduce,
                           .all_gather = all_gather,
                           .all_to_all = all_to_all,
                           .broadcast = broadcast};
}

typedef struct process {
  member self;
  way way;
  rank_run run;
} process;

static void *be_process(void *user) {
  process *p = user;
  const fnz_collectives functions = functions_of(&p->self);
  p->run = (rank_run){.rank = p->self.rank, .count = p->self.all->count, .way = p->way};
  if (fnz_context_create(NULL, &p->run.ctx) != FNZ_OK)
    abort();
  fnz_context_set_collectives(p->run.ctx, &functions);
  run_rank(&p->run);
  if (!*p->run.failure && p->run.compared < 180)
    snprintf(p->run.failure, sizeof p->run.failure, "%zu results compared", p->run.compared);
  fnz_context_destroy(p->run.ctx);
  return NULL;
}

static void run_all(meeting *all, int count, way way, void *(*main)(void *)) {
  static process processes[MOST];
  pthread_t threads[MOST];
  *all = (meeting){.count = count};
  ck_assert_int_eq(pthread_barrier_init(&all->barrier, NULL, (unsigned)count), 0);
  for (int k = 0; k < count; k++) {
    processes[k] = (process){.self = {all, k}, .way = way};
    ck_assert_int_eq(pthread_create(&threads[k], NULL, main, &processes[k]), 0);
  }
  for (int k = 0; k < count; k++)
    pthread_join(threads[k], NULL);
  for (int k = 0; k < count; k++)
    ck_assert_str_eq(processes[k].run.failure, "");
  pthread_barrier_destroy(&all->barrier);
}

/* --- As PyTorch ------------------------------------------------------------------------------- */
static meeting had[WAYS], met;

/* The same calls in the same order in each process, and in each way to run. */
static void compare_calls(int count) {
  for (int w = 0; w < WAYS; w++) {
    run_all(&had[w], count, (way)w, be_process);
    ck_assert_uint_gt(had[w].ncalls[0], 2 * 90);
    for (int k = 0; k < count; k++)
      ck_assert_str_eq(had[w].what[k], had[0].what[0]);
  }
}

START_TEST(two_processes_give_what_gloo_gives) {
  compare_calls(2);
}
END_TEST

START_TEST(four_processes_give_what_gloo_gives) {
  compare_calls(4);
}
END_TEST

/* --- Number and order ------------------------------------------------------------------------- */
/* Groups of pointwise operators move; calls without a use, and one that is like another, stay. */
static const char kept[] =
    "fnz 1\nprogram(%x: f32[4,3])\n{\n"
    "  %s: f32[4,3] = sigmoid(%x)\n"
    "  %a: f32[4,3] = _c10d_functional::all_reduce(%x, \"sum\", \"0\")\n"
    "  %g: f32[8,3] = _c10d_functional::all_gather_into_tensor(%s, 2, \"0\")\n"
    "  %t: f32[4,3] = tanh(%a)\n"
    "  %b: f32[4,3] = _c10d_functional::all_reduce(%x, \"sum\", \"0\")\n"
    "  %r: f32[4,3] = _c10d_functional::broadcast(%t, 1, \"0\")\n"
    "  %u: f32[4,3] = mul.Tensor(%s, %t)\n"
    "  %c: f32[4,3] = _c10d_functional::all_to_all_single(%u, [2, 2], [2, 2], \"0\")\n"
    "  %d: f32[2,3] = _c10d_functional::reduce_scatter_tensor(%x, \"sum\", 2, \"0\")\n"
    "  return %u\n}\n";

static fnz_status run_kept(fnz_context *own, fnz_program **program, fnz_executable **exe) {
  static const float x[12] = {1};
  const int64_t sizes[] = {4, 3}, strides[] = {3, 1};
  const fnz_geometry g = {.dtype = FNZ_F32, .rank = 2, .sizes = sizes, .strides = strides};
  const fnz_memory in = {(void *)(uintptr_t)x, &g};
  fnz_memory out = {NULL, NULL};
  fnz_workspace *workspace;
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  options.threads = 3;
  FNZ_TRY(fnz_program_read(own, kept, strlen(kept), FNZ_FORMAT_TEXT, program));
  FNZ_TRY(fnz_compile(own, *program, &options, exe));
  FNZ_TRY(fnz_workspace_create(own, *exe, &workspace));
  const fnz_execution run = {
      .size = sizeof run, .inputs = &in, .outputs = &out, .workspace = workspace};
  fnz_status status = fnz_executable_run(own, *exe, &run);
  fnz_workspace_destroy(workspace);
  return status;
}

static void *be_kept(void *user) {
  process *p = user;
  const fnz_collectives functions = functions_of(&p->self);
  fnz_context *own;
  fnz_program *program = NULL;
  fnz_executable *exe = NULL;
  if (fnz_context_create(NULL, &own) != FNZ_OK)
    abort();
  fnz_context_set_collectives(own, &functions);
  if (run_kept(own, &program, &exe) != FNZ_OK)
    snprintf(p->run.failure, sizeof p->run.failure, "%.300s", fnz_last_error(own)->message);
  fnz_executable_destroy(exe);
  fnz_program_destroy(program);
  fnz_context_destroy(own);
  return NULL;
}

START_TEST(the_engine_keeps_number_and_order) {
  run_all(&met, 2, WAY_ENGINE, be_kept);
  for (int k = 0; k < 2; k++)
    ck_assert_str_eq(met.what[k], "rgrbtr"); /* reduce_scatter is by all_reduce here */
}
END_TEST

/* --- Single programs -------------------------------------------------------------------------- */
static fnz_context *ctx;

static void begin(void) {
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
}

static void end(void) {
  if (fnz_op_declared_count(ctx) == 0) /* those end with the context */
    ck_assert_uint_eq(ctx->live_bytes, 0);
  fnz_context_destroy(ctx);
}

typedef struct single {
  fnz_program *program;
  fnz_backend *backend;
  fnz_arrays *inputs, *outputs;
} single;

/* %x: f32[4,3] of 0, 1, 2 ... in a program of these lines. */
static single open_single(fnz_context *own, const char *body) {
  static const int64_t sizes[] = {4, 3};
  char text[2000];
  single s;
  void *data;
  snprintf(text, sizeof text, "fnz 1\nprogram(%%x: f32[4,3])\n{\n%s\n}\n", body);
  OK(own, fnz_program_read(own, text, strlen(text), FNZ_FORMAT_TEXT, &s.program));
  OK(own, fnz_cpu_backend_create(own, 1, &s.backend));
  OK(own, fnz_arrays_create(own, &s.inputs));
  OK(own, fnz_arrays_create(own, &s.outputs));
  OK(own, fnz_arrays_add(s.inputs, "x", FNZ_F32, 2, sizes, &data));
  for (int i = 0; i < 12; i++)
    ((float *)data)[i] = (float)i;
  return s;
}

static void close_single(single *s) {
  fnz_arrays_destroy(s->outputs);
  fnz_arrays_destroy(s->inputs);
  fnz_backend_destroy(s->backend);
  fnz_program_destroy(s->program);
}

static void expect_refusal(const char *body, const char *kind, const char *words) {
  single s = open_single(ctx, body);
  FAILS(ctx, kind, fnz_run(ctx, s.program, s.backend, s.inputs, NULL, s.outputs));
  ck_assert_msg(strstr(fnz_last_error(ctx)->message, words) != NULL, "%s",
                fnz_last_error(ctx)->message);
  close_single(&s);
}

static const char alone[] =
    "%r: f32[4,3] = _c10d_functional::all_reduce(%x, \"sum\", \"0\")\n"
    "%a: f32[4,3] = _c10d_functional::wait_tensor(%r)\n"
    "%b: f32[4,3] = _c10d_functional::all_gather_into_tensor(%a, 1, \"tp\")\n"
    "%c: f32[4,3] = _c10d_functional::reduce_scatter_tensor(%b, \"avg\", 1, \"tp\")\n"
    "%d: f32[4,3] = _c10d_functional::broadcast(%c, 0, \"0\")\n"
    "%e: f32[4,3] = _c10d_functional::all_to_all_single(%d, [4], [4], \"0\")\n"
    "%f: f32[4,3] = c10d_functional::all_reduce(%e, \"max\", \"\", [0], 1)\n"
    "return %f\n";

START_TEST(one_process_is_all_of_its_groups) {
  single s = open_single(ctx, alone);
  fnz_context_set_collectives(ctx, fnz_collectives_one());
  fnz_executable *exe;
  OK(ctx, fnz_run(ctx, s.program, s.backend, s.inputs, NULL, s.outputs));
  const fnz_array *got = fnz_arrays_find(s.outputs, "output.0"),
                  *gave = fnz_arrays_find(s.inputs, "x");
  ck_assert_mem_eq(got->data, gave->data, gave->bytes);
  OK(ctx, fnz_compile(ctx, s.program, NULL, &exe));
  OK(ctx, fnz_executable_verify(ctx, exe, s.inputs));
  fnz_executable_destroy(exe);
  close_single(&s);
}
END_TEST

START_TEST(waiting_moves_nothing) {
  single s = open_single(ctx, alone);
  fnz_context_set_collectives(ctx, fnz_collectives_one());
  fnz_executable *exe;
  fnz_needs needs = FNZ_NEEDS_INIT;
  const int64_t sizes[] = {4, 3}, strides[] = {3, 1};
  const fnz_geometry g = {.dtype = FNZ_F32, .rank = 2, .sizes = sizes, .strides = strides};
  float x[12] = {0};
  const fnz_memory in = {x, &g};
  const fnz_execution run = {.size = sizeof run, .inputs = &in};
  OK(ctx, fnz_compile(ctx, s.program, NULL, &exe));
  OK(ctx, fnz_executable_get_needs(ctx, exe, &run, &needs));
  ck_assert_uint_eq(needs.steps, 6); /* the collectives */
  ck_assert_uint_eq(needs.moves, 0);
  fnz_executable_destroy(exe);
  close_single(&s);
}
END_TEST

START_TEST(several_processes_need_functions) {
  expect_refusal("%g: f32[8,3] = _c10d_functional::all_gather_into_tensor(%x, 2, \"0\")\nreturn %g",
                 "UNSUPPORTED", "it is for 2 processes of group \"0\"");
  expect_refusal("%r: f32[4,3] = _c10d_functional::all_reduce(%x, \"sum\", \"0\")\nreturn %r",
                 "UNSUPPORTED", "in a number that it does not say, of group \"0\"");
  expect_refusal("%g: f32[4,3] = _c10d_functional::broadcast(%x, 1, \"0\")\nreturn %g",
                 "UNSUPPORTED", "in a number that it does not say");
  expect_refusal("%g: f32[4,3] = c10d_functional::all_reduce(%x, \"sum\", \"\", [0, 1], 2)\n"
                 "return %g",
                 "UNSUPPORTED", "fnz_context_set_collectives");
}
END_TEST

/* With functions that are one of two, but which nothing calls: the request is wrong. */
START_TEST(what_does_not_fit_is_refused) {
  meeting two = {.count = 2};
  member m = {&two, 0};
  fnz_collectives functions = functions_of(&m);
  fnz_context_set_collectives(ctx, &functions);
  expect_refusal(
      "%g: f32[12,3] = _c10d_functional::all_gather_into_tensor(%x, 3, \"0\")\nreturn %g", "BOUNDS",
      "for 3 processes in group \"0\", which has 2");
  expect_refusal("%g: f32[4,3] = _c10d_functional::all_reduce(%x, \"sum\", \"dp\")\nreturn %g",
                 "REF", "nobody knows group dp");
  expect_refusal("%g: f32[4,3] = _c10d_functional::all_reduce(%x, \"most\", \"0\")\nreturn %g",
                 "UNSUPPORTED", "\"most\" is no reduction");
  expect_refusal("%g: f32[4,3] = _c10d_functional::all_reduce(%x, \"band\", \"0\")\nreturn %g",
                 "TYPE", "f32 is not reduced by \"band\"");
  expect_refusal("%g: f32[4,3] = _c10d_functional::broadcast(%x, 2, \"0\")\nreturn %g", "BOUNDS",
                 "src 2 is no rank");
  expect_refusal("%g: f32[4,3] = _c10d_functional::all_to_all_single(%x, [4], [4], \"0\")\n"
                 "return %g",
                 "BOUNDS", "input_split_sizes has 1 numbers for 2 processes");
  functions.size = offsetof(fnz_collectives, broadcast);
  expect_refusal("%g: f32[4,3] = _c10d_functional::broadcast(%x, 1, \"0\")\nreturn %g",
                 "UNSUPPORTED", "have no broadcast");
}
END_TEST

START_TEST(sizes_that_groups_do_not_divide_are_refused) {
  expect_refusal("%g: f32[1,3] = _c10d_functional::reduce_scatter_tensor(%x, \"sum\", 3, \"0\")\n"
                 "return %g",
                 "BOUNDS", "no multiple of the 3 processes");
  expect_refusal("%g: f32[4,3] = _c10d_functional::all_gather_into_tensor(%x, 0, \"0\")\n"
                 "return %g",
                 "BOUNDS", "group_size 0");
}
END_TEST

/* --- Each process with a program of its own --------------------------------------------------- */
/* Rank r sends r + 1 rows to rank 0, and the rest to rank 1. */
static void *send_unevenly(void *user) {
  process *p = user;
  const fnz_collectives functions = functions_of(&p->self);
  const int r = p->self.rank, got = r == 0 ? 3 : 5;
  char body[300];
  fnz_context *own;
  if (fnz_context_create(NULL, &own) != FNZ_OK)
    abort();
  fnz_context_set_collectives(own, &functions);
  snprintf(body, sizeof body,
           "%%g: f32[%d,3] = _c10d_functional::all_to_all_single(%%x, [%d, %d], [%d, %d], \"0\")\n"
           "return %%g",
           got, r == 0 ? 1 : 3, 2, r + 1, 3 - r);
  single s = open_single(own, body);
  float *x = (float *)(uintptr_t)fnz_arrays_find(s.inputs, "x")->data;
  for (int i = 0; i < 12; i++)
    x[i] += 100 * (float)r;
  OK(own, fnz_run(own, s.program, s.backend, s.inputs, NULL, s.outputs));
  const float *y = fnz_arrays_find(s.outputs, "output.0")->data;
  const int rows[2][5] = {{0, 100, 103}, {3, 6, 9, 106, 109}};
  for (int i = 0; i < got; i++)
    if (y[3 * i] != (float)rows[r][i] || y[3 * i + 2] != (float)(rows[r][i] + 2))
      snprintf(p->run.failure, sizeof p->run.failure, "rank %d, row %d: %g", r, i, y[3 * i]);
  close_single(&s);
  fnz_context_destroy(own);
  return NULL;
}

START_TEST(rows_are_sent_in_uneven_parts) {
  run_all(&met, 2, WAY_INTERPRETER, send_unevenly);
  ck_assert_str_eq(met.what[0], "t");
}
END_TEST

/* --- Single calls ----------------------------------------------------------------------------- */
static fnz_handle call(fnz_backend *backend, const char *name, const fnz_arg *args, size_t nargs) {
  char warning[FNZ_WARNING_BYTES];
  const fnz_op *op;
  fnz_handle out = 0;
  size_t count;
  OK(ctx, fnz_op_declare(ctx, name, &op));
  const fnz_request request = {.op = op, .args = args, .nargs = nargs, .source = ""};
  OK(ctx, backend->call(backend->self, ctx, &request, &out, 1, &count, warning));
  ck_assert_uint_eq(count, 1);
  return out;
}

START_TEST(calls_write_in_place_and_wait_for_the_same) {
  static const int64_t sizes[] = {2}, strides[] = {1};
  const fnz_geometry g = {.dtype = FNZ_F32, .rank = 1, .sizes = sizes, .strides = strides};
  const float x[] = {3, 4};
  float y[2] = {0};
  fnz_backend *backend;
  fnz_handle in;
  fnz_context_set_collectives(ctx, fnz_collectives_one());
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &backend));
  OK(ctx, backend->upload(backend->self, ctx, &g, x, &in));
  const fnz_arg args[] = {{.tag = FNZ_ARG_VALUE, .u.value = in},
                          {.tag = FNZ_ARG_STRING, .u.s = "sum"},
                          {.tag = FNZ_ARG_STRING, .u.s = "0"}};
  fnz_handle out = call(backend, "_c10d_functional::all_reduce_", args, 3);
  ck_assert_uint_eq(out, in);
  ck_assert_uint_eq(call(backend, "_c10d_functional::wait_tensor", args, 1), in);
  OK(ctx, backend->download(backend->self, ctx, out, y));
  ck_assert_mem_eq(y, x, sizeof x);
  for (int i = 0; i < 3; i++)
    backend->release(backend->self, in);
  fnz_backend_destroy(backend);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("collectives");
  TCase *c = tcase_create("collectives");
  tcase_add_checked_fixture(c, begin, end);
  tcase_set_timeout(c, 600);
  tcase_add_test(c, two_processes_give_what_gloo_gives);
  tcase_add_test(c, four_processes_give_what_gloo_gives);
  tcase_add_test(c, the_engine_keeps_number_and_order);
  tcase_add_test(c, one_process_is_all_of_its_groups);
  tcase_add_test(c, waiting_moves_nothing);
  tcase_add_test(c, several_processes_need_functions);
  tcase_add_test(c, what_does_not_fit_is_refused);
  tcase_add_test(c, sizes_that_groups_do_not_divide_are_refused);
  tcase_add_test(c, rows_are_sent_in_uneven_parts);
  tcase_add_test(c, calls_write_in_place_and_wait_for_the_same);
  suite_add_tcase(suite, c);
  return run_all_of(suite);
}
