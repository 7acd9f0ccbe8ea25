/* checks: 5
 * random_test.c - random programs on a GPU, by the stand-in for its driver, against the
 * interpreter: bit by bit, except for programs with an operator whose result depends on the order
 * of a sum, or on a function of the C library. Kernels of many programs are built at once
 * (standin_batch.h).
 *
 * Some are compiled for a device that is open, so that sizes are numbers of their kernels' tables,
 * and some have symbols.
 *
 * In the environment: FNZ_PROGRAMS, the count (of each kind), FNZ_BODIES, the count with bodies,
 * FNZ_NUMBERS, the count with numbers of data; FNZ_FIRST, the first one's number; FNZ_SEED;
 * FNZ_BATCH, the count at once. */
#include "engine/engine.h"
#include "soak/numbers.h"
#include "soak/programs.h"
#include "soak/regions.h"
#include "soak/symbolic.h"
#include "tests/cuda/help.h"
#include "tests/cuda/near.h"
#include "tests/cuda/own_device.h"
#include "tests/cuda/standin_batch.h"

typedef fnz_status draw_fn(fnz_context *ctx, choices *c, fnzi_random_counts *counts,
                           fnz_program **out);

static fnz_status draw_plain(fnz_context *ctx, choices *c, fnzi_random_counts *counts,
                             fnz_program **out) {
  return fnzi_random_program(ctx, NULL, c, counts, out);
}

static fnz_status draw_symbolic(fnz_context *ctx, choices *c, fnzi_random_counts *counts,
                                fnz_program **out) {
  return fnzi_symbolic_program(ctx, c, counts, out);
}

static fnz_status draw_numbers(fnz_context *ctx, choices *c, fnzi_random_counts *counts,
                               fnz_program **out) {
  fnz_buffer text = {0};
  (void)counts;
  fnz_status status = fnzi_numbers_text(ctx, c, true, &text);
  if (status == FNZ_OK)
    status = fnz_program_read(ctx, text.data, text.size, FNZ_FORMAT_TEXT, out);
  fnz_buffer_free(ctx, &text);
  return status;
}

static uint64_t number_of(const char *name, uint64_t otherwise) {
  const char *text = getenv(name);
  return text ? strtoull(text, NULL, 10) : otherwise;
}

/* --- Libraries of many texts ------------------------------------------------------------------ */
static void (*function_of(const char *name))(void) {
  static void *library; /* stays loaded */
  void (*function)(void);
  if (!library)
    library = dlopen("libnvrtc.so.13", RTLD_NOW | RTLD_LOCAL);
  void *found = library ? dlsym(library, name) : NULL;
  ck_assert_msg(found != NULL, "libnvrtc.so.13 is not the stand-in: look at LD_LIBRARY_PATH");
  memcpy(&function, &found, sizeof function);
  return function;
}

/* Another compiler than the stand-in builds each text when it is there. */
static size_t texts_refused(void) {
  return is_standin() ? ((standin_batch_count_fn *)function_of("standin_batch_count"))() : 0;
}

static void begin_batch(void) {
  if (is_standin())
    function_of("standin_batch_begin")();
}

static bool build_batch(void) {
  return !is_standin() || ((standin_batch_build_fn *)function_of("standin_batch_build"))();
}

static void end_batch(void) {
  if (is_standin())
    function_of("standin_batch_end")();
}

/* --- Within bounds ---------------------------------------------------------------------------- */
/* Names of functional operators, up to their dots. */
static bool is_bounded(const char *op) {
  static const char *const names[] = {"sum", "mean", "cumsum", "softmax", "_softmax", "pow"};
  size_t length = strcspn(op, ".");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strlen(names[i]) == length && strncmp(names[i], op, length) == 0)
      return true;
  return false;
}

static bool may_differ(const fnz_program *p) {
  for (uint32_t g = 0; g < fnz_graph_count(p); g++)
    for (uint32_t n = 0; n < fnz_node_count(p, g); n++)
      if (is_bounded(fnzi_node_target(fnzi_node_at(p, g, n))))
        return true;
  return false;
}

/* --- One program ------------------------------------------------------------------------------ */
typedef enum outcome { EQUAL, CLOSE, OTHER, WRONG } outcome; /* OTHER: there is nothing to run */

typedef struct trial {
  fnz_context *ctx;
  const fnz_program *p;
  fnz_executable *exe;
  const fnz_arrays *inputs;
  bool is_guest; /* on a device that is open */
  char why[1000];
} trial;

static outcome failed(trial *t) {
  const fnz_error *e = fnz_last_error(t->ctx);
  snprintf(t->why, sizeof t->why, "%s: %s: %s", fnz_class_name(e->kind), e->where, e->message);
  return WRONG;
}

/* The CPU's engine gives the interpreter's bits. Results of the GPU are the same in each run. */
static outcome compare_close(trial *t) {
  fnz_arrays *got[2], *want;
  fnz_executable *cpu;
  OK(t->ctx, fnz_arrays_create(t->ctx, &want));
  OK(t->ctx, compile(t->ctx, t->p, "cpu", &cpu));
  OK(t->ctx, run_anew(cpu, t->ctx, t->inputs, want));
  outcome o = CLOSE;
  for (int k = 0; k < 2; k++) {
    OK(t->ctx, fnz_arrays_create(t->ctx, &got[k]));
    if (o == CLOSE && run_anew(t->exe, t->ctx, t->inputs, got[k]) != FNZ_OK)
      o = failed(t);
  }
  if (o == CLOSE && !are_close(got[0], want, t->why, sizeof t->why))
    o = WRONG;
  if (o == CLOSE && !are_equal(got[0], got[1])) {
    snprintf(t->why, sizeof t->why, "another result in another run");
    o = WRONG;
  }
  fnz_executable_destroy(cpu);
  fnz_arrays_destroy(got[0]);
  fnz_arrays_destroy(got[1]);
  fnz_arrays_destroy(want);
  return o;
}

/* --- Two states ------------------------------------------------------------------------------- */
/* Splits the inputs into the state's, by their names in the state, and the others. */
static void part_inputs(const trial *t, fnz_arrays *begin, fnz_arrays *rest) {
  for (uint32_t k = 0; k < fnz_arrays_count(t->inputs); k++) {
    const fnz_array *a = fnz_arrays_at(t->inputs, k);
    bool is_states = t->exe->inputs[k].in_state;
    void *data;
    OK(t->ctx,
       fnz_arrays_add(is_states ? begin : rest, is_states ? t->exe->inputs[k].name : a->name,
                      a->dtype, a->rank, a->sizes, &data));
    if (a->bytes)
      memcpy(data, a->data, a->bytes);
  }
}

/* A run with a state, and the state after it. */
static fnz_status run_with(const trial *t, const fnz_arrays *rest, fnz_workspace *ws,
                           fnz_executable_state *state, fnz_arrays **out) {
  OK(t->ctx, fnz_arrays_create(t->ctx, out));
  fnz_status status = fnz_executable_run_arrays(t->ctx, t->exe, rest, state, ws, *out);
  return status == FNZ_OK ? fnz_executable_state_write(t->ctx, state, *out) : status;
}

/* The first run of the second state, which comes when steps are a graph with the addresses of the
 * first one, gives what the first one's first run gave. */
static outcome compare_states(trial *t) {
  fnz_executable_state *states[2] = {NULL};
  fnz_arrays *begin, *rest, *got[3] = {NULL};
  fnz_workspace *ws;
  outcome o = EQUAL;
  OK(t->ctx, fnz_arrays_create(t->ctx, &begin));
  OK(t->ctx, fnz_arrays_create(t->ctx, &rest));
  OK(t->ctx, fnz_workspace_create(t->ctx, t->exe, &ws));
  part_inputs(t, begin, rest);
  for (int s = 0; s < 2; s++) {
    OK(t->ctx, fnz_executable_state_create(t->ctx, t->exe, &states[s]));
    OK(t->ctx, fnz_executable_state_read(t->ctx, states[s], begin));
  }
  for (int k = 0; k < 3 && o == EQUAL; k++)
    if (run_with(t, rest, ws, states[k / 2], &got[k]) != FNZ_OK)
      o = k == 0 ? OTHER : failed(t); /* eager refuses it, too */
  if (o == EQUAL && !are_equal(got[0], got[2])) {
    snprintf(t->why, sizeof t->why, "another result with another state");
    o = WRONG;
  }
  for (int k = 0; k < 3; k++)
    fnz_arrays_destroy(got[k]);
  for (int s = 0; s < 2; s++)
    fnz_executable_state_destroy(states[s]);
  fnz_workspace_destroy(ws);
  fnz_arrays_destroy(begin);
  fnz_arrays_destroy(rest);
  return o;
}

/* --- Memory of the device --------------------------------------------------------------------- */
enum { EACH = 1 << 16, MOST_SLOTS = 40 };

/* Operand k: at a multiple of 256 bytes, of 16, or of an element only. */
static uint64_t place(uint64_t base, size_t k, fnz_dtype dtype) {
  const uint64_t cell = fnz_dtype_get_info(dtype)->bytes, shifts[] = {0, 16, cell};
  return base + k * EACH + shifts[k % 3];
}

static bool is_there(own_device *d, uint64_t at, const fnz_array *want) {
  static unsigned char got[EACH];
  own_device_get(d, at, got, want->bytes);
  return memcmp(got, want->data, want->bytes) == 0;
}

static outcome run_there(trial *t, own_device *d, uint64_t base, const fnz_arrays *want,
                         fnz_workspace *ws) {
  fnz_memory in[MOST_SLOTS], out[MOST_SLOTS];
  static own_array rooms[MOST_SLOTS];
  size_t nin = fnz_executable_count(t->exe, FNZ_SIDE_INPUT),
         nout = fnz_executable_count(t->exe, FNZ_SIDE_OUTPUT);
  for (size_t k = 0; k < nin; k++) {
    const fnz_array *a = fnz_arrays_at(t->inputs, t->exe->slots[FNZ_SIDE_INPUT].data[k].input);
    in[k] = own_device_lay(d, place(base, k, a->dtype), a, &rooms[k]);
  }
  for (size_t k = 0; k < nout; k++) {
    uint64_t at = place(base, nin + k, fnz_arrays_at(want, k)->dtype);
    out[k] = (fnz_memory){k % 4 == 3 ? NULL : (void *)(uintptr_t)at, NULL};
  }
  const fnz_execution run = {
      .size = sizeof run, .inputs = in, .outputs = out, .workspace = ws, .on_device = true};
  if (fnz_executable_run(t->ctx, t->exe, &run) != FNZ_OK)
    return fnz_last_error(t->ctx)->kind == FNZ_CLASS_UNSUPPORTED ? OTHER : failed(t);
  for (size_t k = 0; k < nout; k++)
    if (k % 4 != 3 &&
        !is_there(d, place(base, nin + k, fnz_arrays_at(want, k)->dtype), fnz_arrays_at(want, k))) {
      snprintf(t->why, sizeof t->why, "another output %zu on memory of the device", k);
      return WRONG;
    }
  return EQUAL;
}

/* All inputs are given, and each has memory of its own. */
static bool may_lie_there(const trial *t) {
  size_t nin = fnz_executable_count(t->exe, FNZ_SIDE_INPUT),
         nout = fnz_executable_count(t->exe, FNZ_SIDE_OUTPUT);
  bool may = nin + nout <= MOST_SLOTS && nin == fnz_arrays_count(t->inputs);
  for (size_t k = 0; k < fnz_arrays_count(t->inputs); k++)
    may = may && !t->exe->inputs[k].is_shared && t->exe->inputs[k].memory == k;
  return may;
}

/* Three runs on it give the bits of one on the CPU's memory. */
static outcome compare_given(trial *t) {
  static own_device d;
  fnz_arrays *want;
  fnz_workspace *ws;
  outcome o = EQUAL;
  if (!may_lie_there(t))
    return OTHER;
  OK(t->ctx, fnz_arrays_create(t->ctx, &want));
  if (fnz_executable_run_arrays(t->ctx, t->exe, t->inputs, NULL, NULL, want) != FNZ_OK) {
    fnz_arrays_destroy(want);
    return OTHER; /* eager refuses it, too */
  }
  own_device_open(t->ctx, &d);
  uint64_t base = own_device_take(&d, (size_t)MOST_SLOTS * EACH);
  OK(t->ctx, fnz_workspace_create(t->ctx, t->exe, &ws));
  for (int k = 0; k < 3 && o == EQUAL; k++)
    o = run_there(t, &d, base, want, ws);
  fnz_workspace_destroy(ws);
  fnzi_cuda_free(&d.device, base);
  own_device_close(&d);
  fnz_arrays_destroy(want);
  return o;
}

static outcome run_once(trial *t) {
  if (fnz_executable_verify(t->ctx, t->exe, t->inputs) == FNZ_OK)
    return EQUAL;
  bool differs = fnz_last_error(t->ctx)->kind == FNZ_CLASS_DIFFERENT &&
                 !strstr(fnz_last_error(t->ctx)->message, "only the engine") &&
                 !strstr(fnz_last_error(t->ctx)->message, "the engine says");
  return differs && may_differ(t->p) ? compare_close(t) : failed(t);
}

static outcome run(trial *t) {
  outcome o = run_once(t);
  if (o > CLOSE)
    return o;
  outcome more =
      fnz_executable_count(t->exe, FNZ_SIDE_STATE) == 0 ? compare_given(t) : compare_states(t);
  return more == WRONG ? WRONG : o;
}

static outcome run_as_guest(trial *t) {
  fnzi_cuda_device device;
  OK(t->ctx, fnzi_cuda_device_open(t->ctx, NULL, "cuda", NULL, &device));
  fnzi_eng_lent_device host = {.device = &device, .threads_drawing = device.threads};
  outcome o = WRONG;
  OK(t->ctx, fnzi_eng_device_find(t->ctx, "cuda", &host.gpu));
  if (fnzi_eng_compile_on(t->ctx, t->p, 1, &host, &t->exe) == FNZ_OK) {
    t->exe->staging = true;
    o = run(t);
  } else {
    o = failed(t);
  }
  fnz_executable_destroy(t->exe);
  fnzi_cuda_device_close(&device);
  return o;
}

/* With `check` each step is waited for, without it steps become graphs. */
static outcome compile_and_run(trial *t, bool check) {
  if (t->is_guest)
    return run_as_guest(t);
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  options.threads = 1;
  options.check = check;
  options.staging = true;
  options.device = "cuda";
  if (fnz_compile(t->ctx, t->p, &options, &t->exe) != FNZ_OK)
    return fnz_last_error(t->ctx)->kind == FNZ_CLASS_INTERNAL ? failed(t) : OTHER;
  outcome o = run(t);
  fnz_executable_destroy(t->exe);
  return o;
}

static outcome try_program(trial *t, const fnz_program *traced, bool check) {
  fnz_program *p = NULL;
  fnz_arrays *inputs = NULL;
  outcome o = OTHER;
  if (fnz_functionalize(t->ctx, traced, NULL, &p) == FNZ_OK &&
      fnzi_random_inputs(t->ctx, traced, 5, &inputs) == FNZ_OK) {
    t->p = p;
    t->inputs = inputs;
    o = compile_and_run(t, check);
  }
  fnz_arrays_destroy(inputs);
  fnz_program_destroy(p);
  return o;
}

/* --- Many ------------------------------------------------------------------------------------- */
typedef struct series {
  fnz_context *ctx;
  draw_fn *draw;
  bool is_guest;
  uint64_t seed, tally[WRONG + 1];
} series;

static void tell(series *s, const fnz_program *traced, uint64_t index, const char *why) {
  fnz_buffer text = {0};
  fprintf(stderr, "seed %llu, program %llu: %s\n", (unsigned long long)s->seed,
          (unsigned long long)index, why);
  if (fnz_program_write(s->ctx, traced, FNZ_FORMAT_TEXT, &text) == FNZ_OK)
    fprintf(stderr, "%s\n", (const char *)text.data);
  fnz_buffer_free(s->ctx, &text);
}

/* False: one of its texts is in no library yet. */
static bool try_index(series *s, uint64_t index) {
  static choices c;
  static fnzi_random_counts counts;
  fnz_program *traced;
  trial t = {.ctx = s->ctx, .is_guest = s->is_guest};
  size_t refused = texts_refused();
  choices_start(&c, s->seed, index);
  OK(s->ctx, s->draw(s->ctx, &c, &counts, &traced));
  outcome o = try_program(&t, traced, index % 2 != 0);
  bool is_done = texts_refused() == refused;
  if (is_done && o == WRONG)
    tell(s, traced, index, t.why);
  s->tally[o] += is_done;
  fnz_program_destroy(traced);
  return is_done;
}

/* Programs that a round leaves out are tried in the next round, with the kernels that were
 * built. */
static void try_batch(series *s, uint64_t first, size_t count) {
  enum { MOST = 4096 };
  static bool done[MOST];
  memset(done, 0, sizeof done);
  begin_batch();
  for (size_t left = count; left > 0;) {
    left = 0;
    for (size_t i = 0; i < count && i < MOST; i++) {
      done[i] = done[i] || try_index(s, first + i);
      left += !done[i];
    }
    ck_assert(build_batch());
  }
  end_batch();
}

static void try_series(draw_fn *draw, const char *name, bool is_guest, uint64_t count) {
  series s = {
      .ctx = open_context(), .draw = draw, .is_guest = is_guest, .seed = number_of("FNZ_SEED", 17)};
  uint64_t first = number_of("FNZ_FIRST", 0), step = number_of("FNZ_BATCH", 64);
  for (uint64_t i = 0; i < count && s.tally[WRONG] == 0; i += step)
    try_batch(&s, first + i, (size_t)(count - i < step ? count - i : step));
  printf(
      "%llu %s programs from %llu on: %llu equal, %llu within bounds, %llu not run, %llu wrong\n",
      (unsigned long long)count, name, (unsigned long long)first,
      (unsigned long long)s.tally[EQUAL], (unsigned long long)s.tally[CLOSE],
      (unsigned long long)s.tally[OTHER], (unsigned long long)s.tally[WRONG]);
  ck_assert_uint_eq(s.tally[WRONG], 0);
  ck_assert_uint_ge(s.tally[EQUAL] * 10, count * 7);
  fnz_context_destroy(s.ctx);
  nothing_is_left();
}

START_TEST(random_programs_have_the_interpreters_results) {
  try_series(draw_plain, "random", false, number_of("FNZ_PROGRAMS", 96));
}
END_TEST

START_TEST(with_numbers_in_tables_too) {
  try_series(draw_plain, "random (tables)", true, number_of("FNZ_PROGRAMS", 96));
}
END_TEST

START_TEST(programs_with_symbols_have_the_interpreters_results) {
  try_series(draw_symbolic, "random (symbols)", false, number_of("FNZ_PROGRAMS", 48));
}
END_TEST

START_TEST(programs_with_bodies_have_the_interpreters_results) {
  try_series(fnzi_regions_program, "random (bodies)", false,
             number_of("FNZ_BODIES", number_of("FNZ_PROGRAMS", 24)));
}
END_TEST

START_TEST(programs_with_numbers_have_the_interpreters_results) {
  try_series(draw_numbers, "random (numbers)", false,
             number_of("FNZ_NUMBERS", number_of("FNZ_PROGRAMS", 24)));
}
END_TEST

int main(void) {
  Suite *suite = suite_create("random");
  TCase *c = tcase_create("random"), *numbers = tcase_create("numbers");
  const char *kind = getenv("FNZ_KIND");
  tcase_set_timeout(c, 0);
  tcase_set_timeout(numbers, 0);
  if (!kind || strcmp(kind, "plain") == 0)
    tcase_add_test(c, random_programs_have_the_interpreters_results);
  if (!kind || strcmp(kind, "tables") == 0)
    tcase_add_test(c, with_numbers_in_tables_too);
  if (!kind || strcmp(kind, "symbols") == 0)
    tcase_add_test(c, programs_with_symbols_have_the_interpreters_results);
  if (!kind || strcmp(kind, "bodies") == 0)
    tcase_add_test(c, programs_with_bodies_have_the_interpreters_results);
  if (!kind || strcmp(kind, "numbers") == 0)
    tcase_add_test(numbers, programs_with_numbers_have_the_interpreters_results);
  suite_add_tcase(suite, c);
  suite_add_tcase(suite, numbers);
  return run_all_of(suite);
}
