/* checks: 8
 * state_io_test.c - programs whose state the caller holds: four calls in a row equal eager
 * PyTorch's, in place too; the form survives every format and being functionalized again; programs
 * without such a form are refused. */
#include "program/state_io.h"
#include "tests/help/context.h"
#include "tests/help/faults.h"

#include <fnz/fnz.h>
#include <math.h>
#include <stdio.h>

static const char *const names[] = {"static_cache", "optimizer_step", "adam_step", "windows"};
enum { NAMES = sizeof names / sizeof *names, STEPS = 4, MOST = 64 };

static fnz_buffer read_file(const char *name, const char *ending) {
  char path[512];
  fnz_buffer file;
  snprintf(path, sizeof path, "%s/fixtures/state/%s%s", FNZ_SOURCE_DIR, name, ending);
  OK(ctx, fnz_file_read(ctx, path, &file));
  return file;
}

static fnz_program *read_source(const char *name) {
  fnz_buffer file = read_file(name, ".pt2");
  fnz_program *p;
  OK(ctx, fnz_program_read(ctx, file.data, file.size, FNZ_FORMAT_AUTO, &p));
  fnz_buffer_free(ctx, &file);
  return p;
}

static fnz_status make(fnz_context *own, const fnz_program *p, fnz_state state, fnz_program **out) {
  fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  options.state = state;
  return fnz_functionalize(own, p, &options, out);
}

static fnz_status make_io(fnz_context *own, const fnz_program *p, fnz_program **out) {
  return make(own, p, FNZ_STATE_IO, out);
}

static fnz_program *made_io(const fnz_program *p) {
  fnz_program *f;
  OK(ctx, make_io(ctx, p, &f));
  return f;
}

static void must_be_text(const fnz_program *p, const fnz_program *q) {
  fnz_buffer a = {0}, b = {0};
  OK(ctx, fnz_program_write(ctx, p, FNZ_FORMAT_TEXT, &a));
  OK(ctx, fnz_program_write(ctx, q, FNZ_FORMAT_TEXT, &b));
  ck_assert_str_eq(a.data, b.data);
  fnz_buffer_free(ctx, &a);
  fnz_buffer_free(ctx, &b);
}

/* --- calls in a row --------------------------------------------------------------------------- */
/* State that the caller holds: an input, and the memory that it is in. */
typedef struct held {
  const char *name, *final; /* "b_cache", "buffer.cache" */
  float *data;
  size_t bytes;
} held;

static void put(fnz_arrays *to, const char *name, const fnz_array *a, const void *data) {
  void *room;
  OK(ctx, fnz_arrays_add(to, name, a->dtype, a->rank, a->sizes, &room));
  memcpy(room, data, a->bytes);
}

static void must_be_near(const char *name, const fnz_array *want, const void *data, size_t bytes) {
  const float *a = data, *b = want->data;
  ck_assert_uint_eq(bytes, want->bytes);
  if (want->dtype != FNZ_F32)
    ck_assert_mem_eq(data, want->data, bytes);
  for (size_t i = 0; want->dtype == FNZ_F32 && i < bytes / sizeof *a; i++)
    ck_assert_msg(fabsf(a[i] - b[i]) < 1e-5F, "%s: %s[%zu] is %g, not %g", name, want->name, i,
                  (double)a[i], (double)b[i]);
}

/* The states of a program, which begin as the weights of its source, whole and in rows there. */
static size_t open_states(const fnz_program *source, const fnz_program *io, held *out) {
  static char finals[MOST][80];
  size_t count = 0;
  for (uint32_t k = 0; k < fnzi_graph_main(source)->ninputs; k++) {
    const fnz_input_spec spec = source->inputs[k];
    const char *name = fnzi_value_at(source, 0, fnzi_graph_main(source)->inputs[k].u.value)->name;
    bool is_held = false;
    for (uint32_t i = 0; i < fnzi_graph_main(io)->noutputs; i++)
      is_held = is_held || (io->outputs[i].target && strcmp(io->outputs[i].target, name) == 0);
    if (!is_held || spec.kind == FNZ_INPUT_USER)
      continue;
    const fnz_weight w = fnz_program_weight(source, spec.target);
    size_t bytes = (size_t)fnz_geometry_numel(w.geometry) * fnzi_dtype(w.geometry->dtype)->bytes;
    snprintf(finals[count], sizeof finals[count], "%s.%s",
             spec.kind == FNZ_INPUT_PARAMETER ? "parameter" : "buffer", spec.target);
    out[count] = (held){name, finals[count], malloc(bytes), bytes};
    memcpy(out[count++].data,
           (const char *)w.data + (size_t)w.geometry->offset * fnzi_dtype(w.geometry->dtype)->bytes,
           bytes);
  }
  return count;
}

/* Inputs of the step, and the states. */
static fnz_arrays *inputs_of(const fnz_arrays *steps, int step, const fnz_program *io,
                             const held *states, size_t count) {
  fnz_arrays *in;
  char prefix[32];
  int size = snprintf(prefix, sizeof prefix, "%d.input.", step);
  OK(ctx, fnz_arrays_create(ctx, &in));
  for (size_t i = 0; i < fnz_arrays_count(steps); i++) {
    const fnz_array *a = fnz_arrays_at(steps, i);
    if (strncmp(a->name, prefix, (size_t)size) == 0)
      put(in, a->name + size, a, a->data);
  }
  for (size_t i = 0; i < count; i++) {
    uint64_t value;
    ck_assert(fnzi_value_find(io, 0, states[i].name, strlen(states[i].name), &value));
    const fnz_geometry *g = fnzi_value_at(io, 0, value)->geometry;
    const fnz_array like = {
        .dtype = g->dtype, .rank = g->rank, .sizes = g->sizes, .bytes = states[i].bytes};
    put(in, states[i].name, &like, states[i].data);
  }
  return in;
}

/* New values are results; they become what the caller holds. */
static void take(const fnz_program *io, const fnz_arrays *got, held *states, size_t count) {
  for (uint32_t k = 0; k < fnzi_graph_main(io)->noutputs; k++) {
    char name[32];
    snprintf(name, sizeof name, "output.%u", k);
    for (size_t i = 0; i < count && io->outputs[k].target; i++)
      if (strcmp(states[i].name, io->outputs[k].target) == 0)
        memcpy(states[i].data, fnz_arrays_find(got, name)->data, states[i].bytes);
  }
}

static void must_step(const char *name, const fnz_program *io, const fnz_arrays *steps, int step,
                      held *states, size_t count) {
  fnz_arrays *in = inputs_of(steps, step, io, states, count), *got;
  fnz_backend *cpu;
  char final[96];
  OK(ctx, fnz_arrays_create(ctx, &got));
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  OK(ctx, fnz_run(ctx, io, cpu, in, NULL, got));
  take(io, got, states, count);
  for (size_t i = 0; i < count; i++) {
    snprintf(final, sizeof final, "%d.%s", step, states[i].final);
    const fnz_array *want = fnz_arrays_find(steps, final);
    ck_assert_msg(want != NULL, "%s: there is no %s", name, final);
    must_be_near(name, want, states[i].data, states[i].bytes);
  }
  snprintf(final, sizeof final, "%d.output.0", step);
  const fnz_array *want = fnz_arrays_find(steps, final), *have = fnz_arrays_find(got, "output.0");
  if (want)
    must_be_near(name, want, have->data, have->bytes);
  fnz_backend_destroy(cpu);
  fnz_arrays_destroy(got);
  fnz_arrays_destroy(in);
}

START_TEST(four_calls_are_those_of_eager) {
  begin();
  for (int i = 0; i < NAMES; i++) {
    fnz_program *source = read_source(names[i]), *io = made_io(source);
    fnz_buffer file = read_file(names[i], ".steps.safetensors");
    fnz_arrays *steps;
    held states[MOST];
    size_t count = open_states(source, io, states);
    ck_assert_uint_gt(count, 0);
    OK(ctx, fnz_arrays_read_safetensors(ctx, file.data, file.size, &steps));
    for (int k = 0; k < STEPS; k++)
      must_step(names[i], io, steps, k, states, count);
    for (size_t k = 0; k < count; k++)
      free(states[k].data);
    fnz_arrays_destroy(steps);
    fnz_buffer_free(ctx, &file);
    fnz_program_destroy(io);
    fnz_program_destroy(source);
  }
  end();
}
END_TEST

/* --- in place --------------------------------------------------------------------------------- */
#define CACHE                                                                                      \
  "fnz 1\nweight \"cache\": f32[64,4]\nprogram(\n  %b_cache: f32[64,4] buffer \"cache\",\n"        \
  "  %x: f32[1,4],\n  %at: i64[1])\n{\n"                                                           \
  "  %w: f32[64,4] = index_copy_(%b_cache, 0, %at, %x)\n  %y: f32[4] = sum.dim_IntList(%w, [0])\n" \
  "  return %y\n}\n"

/* The caller gives the memory of a donated state as that of its new value: a row is written, and
 * nothing is moved. */
START_TEST(a_state_is_written_in_place) {
  begin();
  fnz_program *source = read_text(CACHE), *io = made_io(source);
  const char *const donated[] = {"b_cache"};
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  fnz_executable *exe;
  fnz_workspace *room;
  fnz_executable_state *none;
  float cache[64 * 4] = {0}, x[4] = {1, 2, 3, 4}, y[4];
  int64_t at = 3;
  const fnzi_graph *g = fnzi_graph_main(io);
  options.donated = donated;
  options.ndonated = 1;
  options.threads = 1;
  options.check = true;
  OK(ctx, fnz_compile(ctx, io, &options, &exe));
  OK(ctx, fnz_workspace_create(ctx, exe, &room));
  OK(ctx, fnz_executable_state_create(ctx, exe, &none));
  ck_assert_str_eq(fnz_executable_slot(exe, FNZ_SIDE_INPUT, 2).name, "b_cache");
  const fnz_memory in[3] = {{x, fnzi_value_at(io, 0, g->inputs[0].u.value)->geometry},
                            {&at, fnzi_value_at(io, 0, g->inputs[1].u.value)->geometry},
                            {cache, fnzi_value_at(io, 0, g->inputs[2].u.value)->geometry}};
  fnz_memory out[2] = {{y, NULL}, {cache, NULL}};
  fnz_execution run = FNZ_EXECUTION_INIT;
  fnz_needs needs = FNZ_NEEDS_INIT;
  run.inputs = in;
  run.outputs = out;
  run.workspace = room;
  run.state = none;
  for (at = 3; at < 6; at++)
    OK(ctx, fnz_executable_run(ctx, exe, &run));
  ck_assert_float_eq(cache[2 * 4], 0);
  ck_assert_float_eq(cache[5 * 4 + 3], 4);
  ck_assert_float_eq(y[1], 6);
  OK(ctx, fnz_executable_get_needs(ctx, exe, &run, &needs));
  ck_assert_uint_lt(needs.bytes_moved, sizeof cache);
  fnz_executable_state_destroy(none);
  fnz_workspace_destroy(room);
  fnz_executable_destroy(exe);
  fnz_program_destroy(io);
  fnz_program_destroy(source);
  end();
}
END_TEST

/* --- one form --------------------------------------------------------------------------------- */
START_TEST(equal_for_all_values_in_every_format) {
  static const fnz_format formats[] = {FNZ_FORMAT_CBOR, FNZ_FORMAT_TEXT, FNZ_FORMAT_PT2};
  begin();
  for (int i = 0; i < NAMES; i++) {
    fnz_program *p = read_source(names[i]), *f = made_io(p), *g = made_io(f);
    OK(ctx, fnz_verify(ctx, p, f, NULL, NULL, NULL));
    must_be_text(f, g);
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++) {
      fnz_program *q = read_again(f, formats[k]);
      ck_assert(fnzi_io_has_pairs(q));
      OK(ctx, fnz_verify(ctx, p, q, NULL, NULL, NULL));
      fnz_program_destroy(q);
    }
    fnz_program_destroy(g);
    fnz_program_destroy(f);
    fnz_program_destroy(p);
  }
  end();
}
END_TEST

START_TEST(outputs_in_the_memory_of_a_state) {
  begin();
  fnz_program *p = read_text("fnz 1\nweight \"a\": f32[4,2]\nprogram(\n  %b_a: f32[4,2] buffer "
                             "\"a\",\n  %x: f32[4,2])\n{\n  %b: f32[4,2] = add_.Tensor(%b_a, %x)\n"
                             "  %c: f32[2] = select.int(%b, 0, 1)\n  return %c, %b, %b\n}\n");
  fnz_program *f = made_io(p), *wrong;
  fnz_buffer text = {0};
  OK(ctx, fnz_verify(ctx, p, f, NULL, NULL, NULL));
  OK(ctx, fnz_program_write(ctx, f, FNZ_FORMAT_TEXT, &text));
  char *is = strstr(text.data, "\"b_a\" is 1");
  ck_assert_ptr_nonnull(is);
  memcpy(is, "\"b_a\"     ", 10); /* memory of its own */
  wrong = read_text(text.data);
  FAILS(ctx, "DIFFERENT", fnz_verify(ctx, p, wrong, NULL, NULL, NULL));
  fnz_buffer_free(ctx, &text);
  fnz_program_destroy(wrong);
  fnz_program_destroy(f);
  fnz_program_destroy(p);
  end();
}
END_TEST

/* --- inputs alone ----------------------------------------------------------------------------- */
#define BOTH                                                                                       \
  "fnz 1\nweight \"a\": f32[2]\nprogram(\n  %x: f32[2],\n  %b_a: f32[2] buffer \"a\",\n"           \
  "  %y: f32[2])\n{\n  %c: f32[2] = add_.Tensor(%x, %b_a)\n"                                       \
  "  %d: f32[2] = mul_.Tensor(%b_a, %x)\n  return %x, %d, %y\n}\n"

#define LEARNS                                                                                     \
  "fnz 1\nweight \"w\": f32[2]\nweight \"a\": f32[2]\nprogram(\n  %p_w: f32[2] parameter \"w\",\n" \
  "  %b_a: f32[2] buffer \"a\",\n  %x: f32[2])\n{\n  %c: f32[2] = sub_.Tensor(%p_w, %x)\n"         \
  "  %d: f32[2] = mul_.Tensor(%b_a, %x)\n  return %x\n}\n"

static void must_return(const fnz_program *p, const char *line) {
  fnz_buffer text = {0};
  OK(ctx, fnz_program_write(ctx, p, FNZ_FORMAT_TEXT, &text));
  ck_assert_msg(strstr(text.data, line) != NULL, "%s", text.data);
  fnz_buffer_free(ctx, &text);
}

/* The buffer, with its data, stays the program's, and a parameter does not. A program whose caller
 * holds nothing is as it is with all final values as outputs. */
START_TEST(inputs_are_held_and_buffers_stay) {
  static const fnz_format formats[] = {FNZ_FORMAT_CBOR, FNZ_FORMAT_TEXT};
  static const char line[] = "  return %mul buffer_mutation \"a\", %x_out as f32[2], %mul is %b_a, "
                             "%y is %y, %x_out \"x\" is 1\n";
  begin();
  fnz_program *p = read_text(BOTH), *f, *q;
  OK(ctx, make(ctx, p, FNZ_STATE_BUFFERS, &f));
  must_return(f, line);
  must_return(f, "  %b_a: f32[2] buffer \"a\",");
  OK(ctx, fnz_verify(ctx, p, f, NULL, NULL, NULL));
  for (size_t k = 0; k < sizeof formats / sizeof *formats; k++) {
    q = read_again(f, formats[k]);
    must_be_text(f, q);
    fnz_program_destroy(q);
  }
  OK(ctx, make(ctx, f, FNZ_STATE_BUFFERS, &q));
  must_be_text(f, q);
  fnz_program_destroy(q);
  fnz_program_destroy(f);
  fnz_program_destroy(p);
  p = read_text(LEARNS);
  OK(ctx, make(ctx, p, FNZ_STATE_BUFFERS, &f));
  must_return(f, "  return %mul buffer_mutation \"a\", %x is %x, %p_w_out \"p_w\"\n");
  OK(ctx, fnz_verify(ctx, p, f, NULL, NULL, NULL));
  fnz_program_destroy(f);
  fnz_program_destroy(p);
  p = read_source("static_cache");
  OK(ctx, make(ctx, p, FNZ_STATE_BUFFERS, &f));
  OK(ctx, make(ctx, p, FNZ_STATE_OUTPUTS, &q));
  must_be_text(f, q);
  fnz_program_destroy(q);
  fnz_program_destroy(f);
  fnz_program_destroy(p);
  end();
}
END_TEST

/* --- what is wrong ---------------------------------------------------------------------------- */
#define SWAPPED(first, second)                                                                     \
  "fnz 1\nprogram(\n  %x: f32[2],\n  %b_a: f32[2],\n  %b_b: f32[2])\n{\n"                          \
  "  %c: f32[2] = add.Tensor(%b_a, %x)\n  %d: f32[2] = mul.Tensor(%b_b, %x)\n"                     \
  "  return %x, %c \"" first "\", %d \"" second "\"\n}\n"

START_TEST(wrong_pairs_are_found) {
  begin();
  fnz_program *p = read_text("fnz 1\nweight \"a\": f32[2]\nweight \"b\": f32[2]\nprogram(\n"
                             "  %b_a: f32[2] buffer \"a\",\n  %b_b: f32[2] buffer \"b\",\n"
                             "  %x: f32[2])\n{\n  %c: f32[2] = add_.Tensor(%b_a, %x)\n"
                             "  %d: f32[2] = mul_.Tensor(%b_b, %x)\n  return %x\n}\n");
  fnz_program *right = read_text(SWAPPED("b_a", "b_b")), *wrong = read_text(SWAPPED("b_b", "b_a"));
  fnz_program *none;
  OK(ctx, fnz_verify(ctx, p, right, NULL, NULL, NULL));
  FAILS(ctx, "DIFFERENT", fnz_verify(ctx, p, wrong, NULL, NULL, NULL));
  FAILS(ctx, "REF",
        fnz_program_read(ctx, SWAPPED("b_a", "b_c"), sizeof SWAPPED("b_a", "b_c") - 1,
                         FNZ_FORMAT_TEXT, &none));
  FAILS(ctx, "DUPLICATE",
        fnz_program_read(ctx, SWAPPED("b_a", "b_a"), sizeof SWAPPED("b_a", "b_a") - 1,
                         FNZ_FORMAT_TEXT, &none));
  fnz_program_destroy(wrong);
  fnz_program_destroy(right);
  fnz_program_destroy(p);
  end();
}
END_TEST

static void must_refuse(const char *body, const char *alias, const char *says) {
  char text[512];
  fnz_program *f;
  snprintf(text, sizeof text, "fnz 1\nprogram(\n  %%x: f32[2,3],\n  %%y: f32[2,3])\n{\n%s}\n",
           body);
  fnz_program *p = read_text(text);
  if (alias)
    OK(ctx, fnz_program_alias(ctx, p, alias));
  for (int k = 0; k < 2; k++) {
    FAILS(ctx, "UNSUPPORTED", make(ctx, p, k ? FNZ_STATE_BUFFERS : FNZ_STATE_IO, &f));
    ck_assert_msg(strstr(fnz_last_error(ctx)->message, says) != NULL, "%s",
                  fnz_last_error(ctx)->message);
  }
  fnz_program_destroy(p);
}

/* A buffer that gets other memory is no input: it can stay. */
static void must_keep(const char *text) {
  fnz_program *p = read_text(text), *f, *q;
  FAILS(ctx, "UNSUPPORTED", make_io(ctx, p, &f));
  OK(ctx, make(ctx, p, FNZ_STATE_BUFFERS, &f));
  OK(ctx, make(ctx, p, FNZ_STATE_OUTPUTS, &q));
  must_be_text(f, q);
  fnz_program_destroy(q);
  fnz_program_destroy(f);
  fnz_program_destroy(p);
}

START_TEST(what_no_result_can_say) {
  begin();
  must_refuse("  %a: f32[3,2] stride(1,3) = t_(%x)\n  return %y\n", NULL,
              "gets other sizes, strides or memory");
  must_refuse("  %a: f32[2,3] = set_.source_Tensor(%x, %y)\n  return %y\n", NULL,
              "gets other sizes, strides or memory");
  must_refuse("  %a: f32[2,3] = add_.Scalar(%x, 1)\n  return %y\n", "x=y",
              "lies in the memory of a state");
  must_refuse("  %a: f32[2,3] = add_.Scalar(%x, 1)\n  %b: f32[2,3] = add_.Scalar(%y, 1)\n"
              "  return %a\n",
              "y=x.as_strided((2, 3), (3, 1), 6)", "lies in the memory of a state");
  must_refuse("  %v: f32[3] = select.int(%x, 0, 0)\n  %a: f32[2,3] = set_.source_Tensor(%x, %y)\n"
              "  %b: f32[3] = add_.Scalar(%v, 1)\n  return %y\n",
              NULL, "is memory that several inputs look at, or one was moved from");
  must_keep("fnz 1\nweight \"a\": f32[2,3]\nprogram(\n  %b_a: f32[2,3] buffer \"a\",\n"
            "  %y: f32[2,3])\n{\n  %v: f32[3] = select.int(%b_a, 0, 0)\n"
            "  %a: f32[2,3] = set_.source_Tensor(%b_a, %y)\n"
            "  %b: f32[3] = add_.Scalar(%v, 1)\n  return %y\n}\n");
  end();
}
END_TEST

static fnz_status there_and_back(fnz_context *own, const void *user) {
  const fnz_buffer *file = user;
  fnz_program *p = NULL, *f = NULL, *q = NULL;
  fnz_buffer out = {0};
  fnz_status status = fnz_program_read(own, file->data, file->size, FNZ_FORMAT_PT2, &p);
  if (status == FNZ_OK)
    status = make_io(own, p, &f);
  if (status == FNZ_OK)
    status = fnz_program_write(own, f, FNZ_FORMAT_PT2, &out);
  if (status == FNZ_OK)
    status = fnz_program_read(own, out.data, out.size, FNZ_FORMAT_PT2, &q);
  fnz_program_destroy(q);
  q = NULL;
  if (status == FNZ_OK)
    status = fnzi_io_undo(own, f, p, &q);
  fnz_buffer_free(own, &out);
  fnz_program_destroy(p);
  fnz_program_destroy(f);
  fnz_program_destroy(q);
  return status;
}

START_TEST(no_memory_anywhere) {
  begin();
  fnz_buffer file = read_file("static_cache", ".pt2");
  ck_assert_uint_gt(each_fault(there_and_back, &file), 100);
  fnz_buffer_free(ctx, &file);
  end();
}
END_TEST

RUN_SUITE("state_io", four_calls_are_those_of_eager, a_state_is_written_in_place,
          equal_for_all_values_in_every_format, outputs_in_the_memory_of_a_state,
          inputs_are_held_and_buffers_stay, wrong_pairs_are_found, what_no_result_can_say,
          no_memory_anywhere)
