/* checks: 13
 * engine_memory_test.c - executables: memory that a run is given and may not use as it lies:
 * outputs over other memory, or with several elements in one place; and programs that mean memory,
 * which an executable has none of. */
#include "tests/engine/engine_help.h"

#include <stdio.h>

static const int64_t four[] = {4}, steps[] = {1}, wide[] = {2}, none[] = {0}, back[] = {-1},
                     far[] = {INT64_MAX / 4};
static fnz_geometry line(const int64_t *stride) {
  return (fnz_geometry){.dtype = FNZ_F32, .rank = 1, .sizes = four, .strides = stride};
}

/* Two inputs, two outputs, and a buffer that is state. */
typedef struct open {
  fnz_context *ctx;
  fnz_program *p;
  fnz_executable *exe;
  fnz_workspace *ws;
  fnz_executable_state *state;
  fnz_geometry row;
  float m[64], cache[4];
  fnz_memory in[2], out[3];
  fnz_execution run;
} open;

static open *open_with(const char *text, const char *donated, bool in_place) {
  open *o = calloc(1, sizeof *o);
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  ck_assert_int_eq(fnz_context_create(NULL, &o->ctx), FNZ_OK);
  o->p = read_functional(o->ctx, text);
  options.threads = 1;
  options.donated = &donated;
  options.ndonated = donated != NULL;
  options.in_place = in_place;
  OK(o->ctx, fnz_compile(o->ctx, o->p, &options, &o->exe));
  OK(o->ctx, fnz_workspace_create(o->ctx, o->exe, &o->ws));
  o->row = line(steps);
  OK(o->ctx,
     fnz_executable_state_over(o->ctx, o->exe, &(fnz_memory){o->cache, &o->row}, &o->state));
  for (int i = 0; i < 64; i++)
    o->m[i] = (float)i;
  o->in[0] = (fnz_memory){o->m, &o->row};
  o->in[1] = (fnz_memory){o->m + 4, &o->row};
  o->run = (fnz_execution){.size = sizeof o->run,
                           .inputs = o->in,
                           .outputs = o->out,
                           .state = o->state,
                           .workspace = o->ws};
  return o;
}

static open *open_text(const char *text, const char *donated) {
  return open_with(text, donated, false);
}

static void close_all(open *o) {
  fnz_executable_state_destroy(o->state);
  fnz_workspace_destroy(o->ws);
  fnz_executable_destroy(o->exe);
  fnz_program_destroy(o->p);
  fnz_context_destroy(o->ctx);
  free(o);
}

static fnz_status run_into(open *o, fnz_memory first, fnz_memory second) {
  o->out[0] = first;
  o->out[1] = second;
  o->out[2] = (fnz_memory){NULL, NULL};
  return fnz_executable_run(o->ctx, o->exe, &o->run);
}

static const char two_results[] =
    "fnz 1\nweight \"k\": f32[4]\n"
    "program(%k: f32[4] buffer \"k\" persistent, %x: f32[4], %y: f32[4])\n{\n"
    "  %n: f32[4] = add_.Tensor(%k, %x)\n"
    "  %a: f32[4] = add.Tensor(%x, %y)\n  %b: f32[4] = mul.Tensor(%x, %y)\n  return %a, %b\n}\n";

static void is_overlap_of(const open *o, const char *at, const char *with) {
  ck_assert_str_eq(fnz_last_error(o->ctx)->where, at);
  ck_assert_ptr_nonnull(strstr(fnz_last_error(o->ctx)->message, with));
}

START_TEST(outputs_lie_apart_from_all) {
  open *o = open_text(two_results, NULL);
  const fnz_memory away = {o->m + 16, NULL}, beyond = {o->m + 20, NULL};
  OK(o->ctx, run_into(o, away, beyond));
  ck_assert_float_eq(o->m[16 + 1], 1 + 5);
  ck_assert_float_eq(o->m[20 + 1], 1 * 5);
  FAILS(o->ctx, "OVERLAP", run_into(o, (fnz_memory){o->m, NULL}, beyond));
  is_overlap_of(o, "output.0", "overlaps that of x");
  FAILS(o->ctx, "OVERLAP", run_into(o, beyond, (fnz_memory){o->m + 7, &o->row}));
  is_overlap_of(o, "output.1", "overlaps that of y");
  FAILS(o->ctx, "OVERLAP", run_into(o, away, (fnz_memory){o->m + 19, NULL}));
  is_overlap_of(o, "output.1", "overlaps that of output.0");
  FAILS(o->ctx, "OVERLAP", run_into(o, (fnz_memory){o->cache + 2, NULL}, beyond));
  is_overlap_of(o, "output.0", "overlaps that of k");
  ck_assert_float_eq(o->cache[1], 1); /* of the first run alone */
  close_all(o);
}
END_TEST

/* However many there are, and in whatever order they lie. */
START_TEST(many_outputs_are_looked_at) {
  enum { MANY = 500, EACH = 4 };
  static char text[MANY * 80];
  static float m[MANY * EACH];
  static fnz_memory out[MANY];
  size_t at = (size_t)snprintf(text, sizeof text, "fnz 1\nprogram(%%x: f32[4], %%y: f32[4])\n{\n");
  for (int i = 0; i < MANY; i++)
    at += (size_t)snprintf(text + at, sizeof text - at, "  %%r%d: f32[4] = mul.Scalar(%%x, %d)\n",
                           i, i);
  at += (size_t)snprintf(text + at, sizeof text - at, "  return %%r0");
  for (int i = 1; i < MANY; i++)
    at += (size_t)snprintf(text + at, sizeof text - at, ", %%r%d", i);
  snprintf(text + at, sizeof text - at, "\n}\n");
  open *o = open_text(text, NULL);
  o->run.outputs = out;
  o->run.state = NULL;
  for (int turn = 0; turn < 3; turn++) {
    for (int i = 0; i < MANY; i++)
      out[i] = (fnz_memory){m + EACH * (turn % 2 ? i : (i * 7 + 3 * turn) % MANY), NULL};
    OK(o->ctx, fnz_executable_run(o->ctx, o->exe, &o->run));
    for (int i = 0; i < MANY; i++)
      ck_assert_float_eq(((const float *)out[i].data)[1], (float)i);
    out[MANY - 1].data = (float *)out[MANY / 2].data + 1;
    FAILS(o->ctx, "OVERLAP", fnz_executable_run(o->ctx, o->exe, &o->run));
  }
  close_all(o);
}
END_TEST

/* Two columns of one matrix have no element in common. */
START_TEST(outputs_between_each_other_are_apart) {
  open *o = open_text(two_results, NULL);
  const fnz_geometry column = line(wide);
  OK(o->ctx, run_into(o, (fnz_memory){o->m + 16, &column}, (fnz_memory){o->m + 17, &column}));
  ck_assert_float_eq(o->m[16 + 2], 1 + 5);
  ck_assert_float_eq(o->m[17 + 2], 1 * 5);
  FAILS(o->ctx, "OVERLAP",
        run_into(o, (fnz_memory){o->m + 16, &column}, (fnz_memory){o->m + 18, &column}));
  close_all(o);
}
END_TEST

START_TEST(outputs_have_a_place_for_each_element) {
  open *o = open_text(two_results, NULL);
  const fnz_geometry same = line(none), turned = line(back), huge = line(far);
  const fnz_geometry unsaid = {.dtype = FNZ_F32, .rank = 1, .sizes = four};
  const fnz_memory beyond = {o->m + 20, NULL};
  FAILS(o->ctx, "OVERLAP", run_into(o, (fnz_memory){o->m + 40, &same}, beyond));
  FAILS(o->ctx, "BOUNDS", run_into(o, (fnz_memory){o->m + 40, &turned}, beyond));
  FAILS(o->ctx, "BOUNDS", run_into(o, (fnz_memory){o->m + 40, &huge}, beyond));
  FAILS(o->ctx, "ARGUMENT", run_into(o, (fnz_memory){o->m + 40, &unsaid}, beyond));
  FAILS(o->ctx, "ARGUMENT", run_into(o, (fnz_memory){(char *)(o->m + 40) + 1, NULL}, beyond));
  ck_assert_float_eq(o->m[40], 40);
  close_all(o);
}
END_TEST

START_TEST(tables_and_arenas_are_looked_at) {
  open *o = open_text(two_results, NULL);
  unsigned char arena[4096 + 64], *at = arena + (64 - (uintptr_t)arena % 64) % 64;
  const fnz_memory away = {o->m + 16, NULL}, beyond = {o->m + 20, NULL};
  const fnz_geometry unsaid = {.dtype = FNZ_F32, .rank = 1, .sizes = four};
  o->run.arena_bytes = 4096;
  o->run.arena = at;
  OK(o->ctx, run_into(o, away, beyond));
  o->run.arena = at + 4;
  FAILS(o->ctx, "ARGUMENT", run_into(o, away, beyond));
  o->run.arena = NULL;
  o->in[0].geometry = &unsaid;
  FAILS(o->ctx, "ARGUMENT", run_into(o, away, beyond));
  o->run.inputs = NULL;
  FAILS(o->ctx, "ARGUMENT", run_into(o, away, beyond));
  o->run.inputs = o->in;
  o->run.outputs = NULL;
  FAILS(o->ctx, "ARGUMENT", fnz_executable_run(o->ctx, o->exe, &o->run));
  close_all(o);
}
END_TEST

/* Values between inputs and outputs lie in the arena. */
START_TEST(arenas_lie_apart) {
  open *o = open_text("fnz 1\nprogram(%x: f32[4], %y: f32[4])\n{\n"
                      "  %s: f32[4] = cumsum(%x, 0)\n  %t: f32[4] = cumsum(%s, 0)\n"
                      "  %u: f32[4] = cumprod(%t, 0)\n  return %u\n}\n",
                      NULL);
  static _Alignas(64) unsigned char room[4096];
  fnz_needs needs = FNZ_NEEDS_INIT;
  o->run.state = NULL;
  OK(o->ctx, fnz_executable_get_needs(o->ctx, o->exe, &o->run, &needs));
  ck_assert_uint_gt(needs.arena_bytes, 0);
  o->run.arena = room;
  o->run.arena_bytes = sizeof room;
  OK(o->ctx, run_into(o, (fnz_memory){o->m + 16, NULL}, (fnz_memory){NULL, NULL}));
  FAILS(o->ctx, "OVERLAP", run_into(o, (fnz_memory){room, NULL}, (fnz_memory){NULL, NULL}));
  is_overlap_of(o, "the arena", "overlaps that of output.0");
  o->in[0].data = room + 8;
  FAILS(o->ctx, "OVERLAP", run_into(o, (fnz_memory){o->m + 16, NULL}, (fnz_memory){NULL, NULL}));
  close_all(o);
}
END_TEST

/* The final value of a donated input may lie in the memory of that input. */
START_TEST(donated_inputs_take_their_final_value) {
  static const char text[] = "fnz 1\nprogram(%x: f32[4], %y: f32[4])\n{\n"
                             "  %z: f32[4] = add_.Tensor(%x, %y)\n"
                             "  %w: f32[4] = mul.Tensor(%x, %y)\n  return %w\n}\n";
  open *o = open_text(text, "x");
  const fnz_memory beyond = {o->m + 20, NULL};
  ck_assert_str_eq(fnz_executable_slot(o->exe, FNZ_SIDE_OUTPUT, 1).name, "input.x");
  OK(o->ctx, run_into(o, beyond, (fnz_memory){o->m, NULL}));
  ck_assert_float_eq(o->m[1], 1 + 5);
  ck_assert_float_eq(o->m[20 + 1], 6 * 5);
  FAILS(o->ctx, "OVERLAP", run_into(o, (fnz_memory){o->m, NULL}, beyond));
  FAILS(o->ctx, "OVERLAP", run_into(o, beyond, (fnz_memory){o->m + 1, NULL}));
  close_all(o);
  o = open_text(text, NULL);
  FAILS(o->ctx, "OVERLAP", run_into(o, beyond, (fnz_memory){o->m, NULL}));
  close_all(o);
}
END_TEST

/* Elements are read before others are written in their place. */
START_TEST(final_values_in_place_are_right) {
  static const char *const bodies[] = {
      "%z: f32[4] = flip(%x, [0])\n  %w: f32[4] = copy_(%x, %z)\n  return %y",
      "%o: f32[4] = clone(%x)\n  %z: f32[4] = flip(%x, [0])\n  %w: f32[4] = copy_(%x, %z)\n"
      "  return %o",
      "%z: f32[4] = cumsum(%x, 0)\n  %f: f32[4] = flip(%x, [0])\n  %w: f32[4] = copy_(%x, %f)\n"
      "  return %z"};
  static const float wanted[][4] = {{4, 5, 6, 7}, {0, 1, 2, 3}, {0, 1, 3, 6}};
  for (int run = 0; run < 12; run++) {
    char text[400];
    snprintf(text, sizeof text, "fnz 1\nprogram(%%x: f32[4], %%y: f32[4])\n{\n  %s\n}\n",
             bodies[run / 4]);
    open *o = open_with(text, "x", run % 2);
    o->run.state = run % 4 / 2 ? o->state : NULL;
    OK(o->ctx, run_into(o, (fnz_memory){o->m + 20, NULL}, (fnz_memory){o->m, NULL}));
    for (int i = 0; i < 4; i++) {
      ck_assert_float_eq(o->m[i], (float)(3 - i));
      ck_assert_float_eq(o->m[20 + i], wanted[run / 4][i]);
    }
    close_all(o);
  }
}
END_TEST

/* Two inputs get each other's values, which the interpreter leaves where they are. */
START_TEST(final_values_in_place_are_exchanged) {
  static const char text[] = "fnz 1\nsymbol s0 = 4\nrange s0 2..\n"
                             "program(%x: f32[{s0}], %y: f32[{s0}])\n{\n"
                             "  %o: f32[{s0}] = clone(%x)\n  %a: f32[{s0}] = copy_(%x, %y)\n"
                             "  %b: f32[{s0}] = copy_(%y, %o)\n  return %o\n}\n";
  for (int run = 0; run < 2; run++) {
    open *o = open_with(text, "x", run);
    o->run.state = NULL;
    OK(o->ctx, run_into(o, (fnz_memory){NULL, NULL}, (fnz_memory){o->m, NULL}));
    for (int i = 0; i < 4; i++) {
      ck_assert_float_eq(o->m[i], (float)(4 + i));
      ck_assert_float_eq(((const float *)o->out[0].data)[i], (float)i);
      ck_assert_float_eq(((const float *)o->out[2].data)[i], (float)i);
    }
    close_all(o);
  }
}
END_TEST

/* A result that is an input stays there if in_place was asked for, and is copied to memory that a
 * run gives. */
START_TEST(results_that_are_inputs_may_stay) {
  static const char text[] = "fnz 1\nprogram(%x: f32[4], %y: f32[4])\n{\n"
                             "  %z: f32[4] = add_.Tensor(%x, %y)\n  return %x\n}\n";
  for (int stays = 0; stays < 2; stays++) {
    open *o = open_with(text, "x", stays);
    o->run.state = NULL;
    OK(o->ctx, run_into(o, (fnz_memory){NULL, NULL}, (fnz_memory){o->m, NULL}));
    ck_assert_int_eq(o->out[0].data == o->m, stays);
    ck_assert_float_eq(((const float *)o->out[0].data)[1], 1 + 5);
    OK(o->ctx, run_into(o, (fnz_memory){o->m + 20, NULL}, (fnz_memory){o->m, NULL}));
    ck_assert_float_eq(o->m[20 + 1], 6 + 5);
    ck_assert_float_eq(o->m[1], 6 + 5);
    close_all(o);
  }
}
END_TEST

/* Its place is known when its sizes are. */
START_TEST(outputs_whose_sizes_data_decide_lie_apart) {
  open *o = open_text("fnz 1\nsymbol u0 = 4\nrange u0 0..4\nprogram(%x: f32[4], %y: f32[4])\n{\n"
                      "  %m: bool[4] = gt.Tensor(%x, %y)\n"
                      "  %w: f32[{u0}] = masked_select(%x, %m)\n  return %w\n}\n",
                      NULL);
  o->in[0].data = o->m + 4;
  o->in[1].data = o->m;
  o->run.state = NULL;
  OK(o->ctx, run_into(o, (fnz_memory){o->m + 16, NULL}, (fnz_memory){NULL, NULL}));
  ck_assert_float_eq(o->m[16 + 3], 7);
  FAILS(o->ctx, "OVERLAP", run_into(o, (fnz_memory){o->m + 2, NULL}, (fnz_memory){NULL, NULL}));
  ck_assert_float_eq(o->m[2], 2);
  close_all(o);
}
END_TEST

/* A view is a copy when nothing is written, unless it goes by strides. */
START_TEST(programs_that_mean_memory_are_refused) {
  static const char *const refused[] = {
      "%t: f32[3,2] stride(1,3) = t(%x)\n  %r: f32[3] = as_strided(%t, [3], [1], 0)\n  return %r",
      "%t: f32[3,2] stride(1,3) = t(%x)\n  %e: f32[3,2] stride(1,3) = exp(%t)\n"
      "  %r: f32[3] = as_strided_copy(%e, [3], [1], 0)\n  return %r",
      "%t: f32[2] stride(3) = select.int(%x, 1, 0)\n"
      "  %r: f32[2] = as_strided_copy(%t, [2], [1], 0)\n  return %r",
      "%t: f32[3] offset(3) = select.int(%x, 0, 1)\n  %r: f32[3] = as_strided(%t, [3], [1], 0)\n"
      "  return %r",
  };
  static const int64_t sizes[] = {2, 3};
  fnz_context *ctx;
  fnz_backend *cpu;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    char text[400];
    fnz_program *p;
    fnz_executable *exe;
    fnz_arrays *in, *out;
    void *data;
    snprintf(text, sizeof text, "fnz 1\nprogram(%%x: f32[2,3])\n{\n  %s\n}\n", refused[i]);
    OK(ctx, fnz_program_read(ctx, text, strlen(text), FNZ_FORMAT_TEXT, &p));
    OK(ctx, fnz_arrays_create(ctx, &in));
    OK(ctx, fnz_arrays_create(ctx, &out));
    OK(ctx, fnz_arrays_add(in, "x", FNZ_F32, 2, sizes, &data));
    for (int k = 0; k < 6; k++)
      ((float *)data)[k] = (float)k;
    FAILS(ctx, "UNSUPPORTED", fnz_compile(ctx, p, NULL, &exe));
    ck_assert_ptr_nonnull(strstr(fnz_last_error(ctx)->where, "(as_strided"));
    FAILS(ctx, "UNSUPPORTED", fnz_run(ctx, p, cpu, in, NULL, out));
    OK(ctx, fnz_run(ctx, p, cpu, in, AS_ORIGINAL, out));
    fnz_arrays_destroy(in);
    fnz_arrays_destroy(out);
    fnz_program_destroy(p);
  }
  fnz_backend_destroy(cpu);
  fnz_context_destroy(ctx);
}
END_TEST

static const char turned_result[] = "fnz 1\nprogram(%x: f32[2,3] stride(1,2))\n{\n"
                                    "  %y: f32[2,3] stride(1,2) = add.Tensor(%x, %x)\n"
                                    "  return %y\n}\n";

static void is_doubled(const fnz_memory *out, const int64_t *strides) {
  for (int64_t i = 0; i < 2; i++)
    for (int64_t j = 0; j < 3; j++)
      ck_assert(((const float *)out->data)[i * strides[0] + j * strides[1]] ==
                (float)(2 * (i + 2 * j)));
}

/* A result whose strides in eager are not row-major: in memory like that, in row-major memory, with
 * gaps, and in the workspace. */
START_TEST(outputs_lie_in_any_order) {
  static const int64_t sizes[] = {2, 3}, turned[] = {1, 2}, rows[] = {3, 1}, apart[] = {2, 4};
  const float x[] = {0, 1, 2, 3, 4, 5};
  const fnz_geometry in = {.dtype = FNZ_F32, .rank = 2, .sizes = sizes, .strides = turned};
  const fnz_memory given = {(void *)(uintptr_t)x, &in};
  fnz_context *ctx;
  fnz_executable *exe;
  fnz_workspace *ws;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  fnz_program *p = read_functional(ctx, turned_result);
  OK(ctx, fnz_compile(ctx, p, NULL, &exe));
  OK(ctx, fnz_workspace_create(ctx, exe, &ws));
  const int64_t *const ways[] = {turned, rows, apart, NULL};
  for (int k = 0; k < 4; k++) {
    float y[12] = {0};
    fnz_geometry to = {.dtype = FNZ_F32, .rank = 2, .sizes = sizes, .strides = ways[k]};
    fnz_memory out = {ways[k] ? y : NULL, ways[k] && ways[k] != rows ? &to : NULL};
    OK(ctx, fnz_executable_run(ctx, exe,
                               &(fnz_execution){.size = sizeof(fnz_execution),
                                                .inputs = &given,
                                                .outputs = &out,
                                                .workspace = ws}));
    is_doubled(&out, ways[k] ? ways[k] : out.geometry->strides);
  }
  fnz_workspace_destroy(ws);
  fnz_executable_destroy(exe);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

RUN_SUITE("engine, memory", outputs_lie_apart_from_all, many_outputs_are_looked_at,
          outputs_between_each_other_are_apart, outputs_have_a_place_for_each_element,
          tables_and_arenas_are_looked_at, arenas_lie_apart, donated_inputs_take_their_final_value,
          final_values_in_place_are_right, final_values_in_place_are_exchanged,
          results_that_are_inputs_may_stay, outputs_whose_sizes_data_decide_lie_apart,
          programs_that_mean_memory_are_refused, outputs_lie_in_any_order)
