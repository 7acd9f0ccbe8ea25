/* checks: 6
 * engine_methods_test.c - executables over one state: a prefill, the calls of decode behind it and
 * a program that only looks, as eager PyTorch computes them. */
#include "program/program.h"
#include "tests/engine/engine_help.h"
#include "tests/help/context.h"
#include "tests/help/faults.h"

#include <math.h>
#include <stdio.h>

#define FOLDER FNZ_SOURCE_DIR "/fixtures/methods/"
enum { METHODS = 3, STEPS = 5 };

static const char *const names[METHODS] = {"prefill", "decode", "look"};
static const char *const held[] = {"keys", "position", "none"};

/* The fixture's programs as one set, functional. */
static fnz_methods *load(void) {
  fnz_program *programs[METHODS];
  fnz_method methods[METHODS];
  fnz_methods *set;
  for (size_t k = 0; k < METHODS; k++) {
    char path[512];
    fnz_program *traced;
    snprintf(path, sizeof path, FOLDER "%s.pt2", names[k]);
    OK(ctx, fnz_program_load(ctx, path, FNZ_FORMAT_AUTO, &traced));
    programs[k] = functional_of(ctx, traced);
    methods[k] = (fnz_method){names[k], programs[k]};
  }
  OK(ctx, fnz_program_rename_weight(ctx, programs[1], "words", "embedding"));
  OK(ctx, fnz_methods_create(ctx, methods, METHODS, &set));
  for (size_t k = 0; k < METHODS; k++)
    fnz_program_destroy(programs[k]);
  return set;
}

/* With all of the set's state that the program reads in its own state. */
static fnz_executable *compile_held(const fnz_program *p) {
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  fnz_executable *exe;
  options.threads = 1;
  options.check = true;
  options.held = held;
  options.nheld = sizeof held / sizeof *held;
  OK(ctx, fnz_compile(ctx, p, &options, &exe));
  return exe;
}

typedef struct model {
  fnz_methods *set;
  fnz_executable *exe[METHODS];
  fnz_executable_state *states[METHODS];
  fnz_arrays *steps;
} model;

static model open_model(void) {
  model m = {.set = load()};
  for (size_t k = 0; k < METHODS; k++)
    m.exe[k] = compile_held(fnz_methods_at(m.set, k).program);
  OK(ctx, fnz_executable_state_create(ctx, m.exe[0], &m.states[0]));
  OK(ctx, fnz_executable_state_beside(ctx, m.exe[2], m.states[0], &m.states[2]));
  OK(ctx, fnz_executable_state_beside(ctx, m.exe[1], m.states[2], &m.states[1]));
  OK(ctx, fnz_arrays_load(ctx, FOLDER "steps.safetensors", &m.steps));
  return m;
}

static void close_model(model *m) {
  for (size_t k = 0; k < METHODS; k++) {
    fnz_executable_state_destroy(m->states[k]);
    fnz_executable_destroy(m->exe[k]);
  }
  fnz_methods_destroy(m->set);
  fnz_arrays_destroy(m->steps);
}

static void near(const fnz_array *got, const fnz_array *want) {
  ck_assert_msg(got && got->dtype == want->dtype && got->bytes == want->bytes, "%s", want->name);
  if (want->dtype != FNZ_F32)
    ck_assert_mem_eq(got->data, want->data, want->bytes);
  for (size_t i = 0; want->dtype == FNZ_F32 && i < want->bytes / 4; i++)
    ck_assert_msg(fabsf(((const float *)got->data)[i] - ((const float *)want->data)[i]) < 1e-5F,
                  "%s[%zu]", want->name, i);
}

/* One call of method `k`, whose result must be that of the recorded call `step`. */
static void call(const model *m, size_t k, const char *step, const char *input) {
  char name[64];
  fnz_arrays *in, *out;
  void *to;
  snprintf(name, sizeof name, "%s.input.%s", step, input);
  const fnz_array *a = fnz_arrays_find(m->steps, name);
  OK(ctx, fnz_arrays_create(ctx, &in));
  OK(ctx, fnz_arrays_create(ctx, &out));
  OK(ctx, fnz_arrays_add(in, input, a->dtype, a->rank, a->sizes, &to));
  memcpy(to, a->data, a->bytes);
  OK(ctx, fnz_executable_run_arrays(ctx, m->exe[k], in, m->states[k], NULL, out));
  snprintf(name, sizeof name, "%s.output.0", step);
  near(fnz_arrays_find(out, "output.0"), fnz_arrays_find(m->steps, name));
  fnz_arrays_destroy(in);
  fnz_arrays_destroy(out);
}

static void decode_all(const model *m) {
  call(m, 0, "0", "tokens");
  for (int k = 1; k < STEPS; k++) {
    char step[16];
    snprintf(step, sizeof step, "%d", k);
    call(m, 1, step, "tokens");
  }
}

START_TEST(calls_go_on_with_one_cache) {
  begin();
  model m = open_model();
  fnz_arrays *final;
  decode_all(&m);
  call(&m, 2, "look", "scale");
  OK(ctx, fnz_arrays_create(ctx, &final));
  OK(ctx, fnz_executable_state_write(ctx, m.states[1], final));
  for (size_t i = 0; i < fnz_arrays_count(final); i++)
    near(fnz_arrays_at(final, i), fnz_arrays_find(m.steps, fnz_arrays_at(final, i)->name));
  ck_assert_uint_eq(fnz_arrays_count(final), 3);
  fnz_arrays_destroy(final);
  close_model(&m);
  end();
}
END_TEST

START_TEST(what_is_only_read_is_the_states) {
  begin();
  model m = open_model();
  ck_assert_uint_eq(fnz_executable_count(m.exe[2], FNZ_SIDE_STATE), 2);
  ck_assert_str_eq(fnz_executable_slot(m.exe[2], FNZ_SIDE_STATE, 0).name, "buffer.keys");
  ck_assert_ptr_eq(fnz_executable_state_find(m.states[2], "keys").data,
                   fnz_executable_state_find(m.states[1], "keys").data);
  ck_assert_ptr_ne(fnz_executable_state_find(m.states[0], "values").data, NULL);
  ck_assert_ptr_eq(fnz_executable_state_find(m.states[0], "values").data,
                   fnz_executable_state_find(m.states[1], "values").data);
  ck_assert_ptr_null(fnz_executable_state_find(m.states[2], "values").data);
  fnz_compile_options gpu = FNZ_COMPILE_OPTIONS_INIT;
  fnz_executable *none;
  gpu.device = "cuda";
  gpu.held = held;
  gpu.nheld = 1;
  FAILS(ctx, "UNSUPPORTED", fnz_compile(ctx, fnz_methods_at(m.set, 2).program, &gpu, &none));
  close_model(&m);
  end();
}
END_TEST

START_TEST(states_end_in_any_order) {
  begin();
  model m = open_model();
  decode_all(&m);
  fnz_executable_state_destroy(m.states[0]);
  fnz_executable_state_destroy(m.states[1]);
  m.states[0] = m.states[1] = NULL;
  call(&m, 2, "look", "scale");
  OK(ctx, fnz_executable_state_beside(ctx, m.exe[1], m.states[2], &m.states[1]));
  near(&(fnz_array){.name = "keys",
                    .dtype = FNZ_F32,
                    .bytes = 320,
                    .data = fnz_executable_state_find(m.states[1], "keys").data},
       fnz_arrays_find(m.steps, "buffer.keys"));
  close_model(&m);
  end();
}
END_TEST

START_TEST(memory_of_the_caller_is_shared) {
  begin();
  model m = open_model();
  static float keys[80], values[80];
  int64_t position = 0;
  fnz_memory memories[] = {{keys, NULL}, {values, NULL}, {&position, NULL}};
  for (size_t k = 0; k < METHODS; k++)
    fnz_executable_state_destroy(m.states[k]);
  OK(ctx, fnz_executable_state_over(ctx, m.exe[0], memories, &m.states[0]));
  OK(ctx, fnz_executable_state_beside(ctx, m.exe[1], m.states[0], &m.states[1]));
  OK(ctx, fnz_executable_state_beside(ctx, m.exe[2], m.states[1], &m.states[2]));
  decode_all(&m);
  ck_assert_int_eq(position, 8);
  call(&m, 2, "look", "scale");
  close_model(&m);
  end();
}
END_TEST

/* --- what is refused -------------------------------------------------------------------------- */
#define CACHE(type, shape)                                                                         \
  "fnz 1\nweight \"kc\": " type shape "\nprogram(%kc: " type shape                                 \
  " buffer \"kc\" persistent) {\n  %k: " type shape                                                \
  " = add.Tensor(%kc, %kc)\n  return %k buffer_mutation \"kc\", %k\n}\n"

static void fill(fnz_program *p) {
  fnzi_weight *w = (fnzi_weight *)(uintptr_t)fnzi_weight_find(p, "kc");
  OK(ctx, fnzi_blob_create(ctx, 64, &w->blob));
  memset(fnzi_blob_data(w->blob), 0, 64);
}

static void refuse_beside(const char *class, const char *a, const char *b, bool is_filled) {
  fnz_program *p = read_functional(ctx, a), *q = read_functional(ctx, b);
  if (is_filled)
    fill(p);
  fill(q);
  fnz_executable *one = compile(ctx, p), *other = compile(ctx, q);
  fnz_executable_state *s, *t, *none;
  OK(ctx, fnz_executable_state_create(ctx, one, &s));
  OK(ctx, fnz_executable_state_create(ctx, other, &t));
  FAILS(ctx, class, fnz_executable_state_beside(ctx, other, s, &none));
  ck_assert_ptr_null(none);
  if (!is_filled)
    OK(ctx, fnz_executable_state_beside(ctx, one, t, &none));
  fnz_executable_state_destroy(none);
  fnz_executable_state_destroy(s);
  fnz_executable_state_destroy(t);
  fnz_executable_destroy(one);
  fnz_executable_destroy(other);
  fnz_program_destroy(p);
  fnz_program_destroy(q);
}

START_TEST(states_that_do_not_fit_are_refused) {
  begin();
  refuse_beside("BOUNDS", CACHE("f32", "[4,2]"), CACHE("f32", "[2,4]"), true);
  refuse_beside("TYPE", CACHE("f32", "[4,2]"), CACHE("i64", "[4,2]"), true);
  refuse_beside("REF", CACHE("f32", "[4,2]"), CACHE("f32", "[4,2]"), false);
  end();
}
END_TEST

static fnz_status make_beside(fnz_context *c, const void *user) {
  fnz_executable *one = NULL, *other = NULL;
  fnz_executable_state *s = NULL, *t = NULL;
  fnz_status status = fnz_compile(c, user, NULL, &one);
  if (status == FNZ_OK)
    status = fnz_compile(c, user, NULL, &other);
  if (status == FNZ_OK)
    status = fnz_executable_state_create(c, one, &s);
  if (status == FNZ_OK)
    status = fnz_executable_state_beside(c, other, s, &t);
  fnz_executable_state_destroy(s);
  fnz_executable_state_destroy(t);
  fnz_executable_destroy(one);
  fnz_executable_destroy(other);
  return status;
}

START_TEST(nothing_is_lost_without_memory) {
  begin();
  fnz_program *p = read_functional(ctx, CACHE("f32", "[4,2]"));
  fill(p);
  ck_assert_uint_gt(each_fault(make_beside, p), 20);
  fnz_program_destroy(p);
  end();
}
END_TEST

RUN_SUITE("engine_methods", calls_go_on_with_one_cache, what_is_only_read_is_the_states,
          states_end_in_any_order, memory_of_the_caller_is_shared,
          states_that_do_not_fit_are_refused, nothing_is_lost_without_memory)
