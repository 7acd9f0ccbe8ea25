/* checks: 4
 * left_test.c - memory that inputs leave behind or show a part of only: the caller may have other
 * names of it, so that its final value is known. The numbers are PyTorch 2.15's. */
#include "tests/help/context.h"
#include "tests/help/run_help.h"

#define INPUTS "\n  %a: f32[2,3],\n  %b: f32[4]"

/* a is 1 to 6, b is 20 to 50; NULL: unchanged. */
typedef struct left {
  const char *body, *a, *b, *memory_a, *memory_b;
} left;

#define VIEW  "  %v: f32[6] = view(%a, [6])\n"
#define TWICE "  %w: f32[6] = mul_.Scalar(%v, 2)\n"

/* The input gets other memory. */
static const left moved[] = {
    {VIEW "  %o: f32[3,3] = ones([3, 3])\n  %s: f32[3,3] = set_.source_Tensor(%a, %o)\n" TWICE
          "  return %a",
     "1 1 1 1 1 1 1 1 1", NULL, "2 4 6 8 10 12", NULL},
    {VIEW "  %p: f32[2,3] = add_.Scalar(%a, 1)\n  %o: f32[2] = ones([2])\n"
          "  %s: f32[2] = set_.source_Tensor(%a, %o)\n" TWICE
          "  %q: f32[2] = add_.Scalar(%a, 1)\n  return %b",
     "2 2", NULL, "4 6 8 10 12 14", NULL},
    {"  %o: f32[2] = ones([2])\n  %s: f32[2] = set_.source_Tensor(%a, %o)\n"
     "  %u: f32[2] = view(%a, [2])\n  %z: f32[3] = zeros([3])\n"
     "  %t: f32[3] = set_.source_Tensor(%a, %z)\n  %w: f32[2] = mul_.Scalar(%u, 2)\n  return %b",
     "0 0 0", NULL, NULL, NULL},
    {VIEW "  %c: f32[3] offset(1) = slice.Tensor(%b, 0, 1)\n"
          "  %s: f32[3] offset(1) = set_.source_Tensor(%a, %c)\n"
          "  %w: f32[3] offset(1) = mul_.Scalar(%a, 2)\n  %p: f32[6] = add_.Scalar(%v, 1)\n"
          "  return %a",
     "60 80 100", "20 60 80 100", "2 3 4 5 6 7", NULL},
    {"  %t: f32[2,3] = detach(%a)\n  set_data(%a, %b)\n  set_data(%b, %t)\n"
     "  %w: f32[2,3] = mul_.Scalar(%t, 2)\n  return %a",
     "20 30 40 50", "2 4 6 8 10 12", "2 4 6 8 10 12", NULL},
    {VIEW "  %s: f32[0] = set_(%a)\n" TWICE "  return %b", "", NULL, "2 4 6 8 10 12", NULL},
    {"  %c: f32[3] offset(1) = slice.Tensor(%b, 0, 1)\n"
     "  %s: f32[2] offset(2) = set_.source_Tensor_storage_offset(%a, %c, 1, [2], [1])\n"
     "  %w: f32[2] offset(2) = mul_.Scalar(%a, 2)\n  return %a",
     "80 100", "20 30 80 100", NULL, NULL},
    {"  %s: f32[8] = resize_(%a, [8])\n  %t: f32[4] = set_.source_Tensor(%a, %b)\n  return %a",
     "20 30 40 50", NULL, NULL, NULL}};

/* The input stays where it is, and shows a part of that only, or all of it in another way. */
static const left shrunk[] = {
    {VIEW "  %s: f32[2] = resize_(%a, [2])\n" TWICE "  return %b", "2 4", NULL, "2 4 6 8 10 12",
     NULL},
    {VIEW "  %s: f32[3] offset(2) = as_strided_(%a, [3], [1], 2)\n" TWICE
          "  %p: f32[3] offset(2) = add_.Scalar(%a, 1)\n  return %v",
     "7 9 11", NULL, "2 4 7 9 11 12", NULL},
    {VIEW "  %s: f32[3,2] stride(1,3) = t_(%a)\n"
          "  %u: f32[1,3,2] stride(3,1,3) = unsqueeze_(%a, 0)\n" TWICE "  return %b",
     "2 8 4 10 6 12", NULL, NULL, NULL},
    {"  %s: f32[2] = resize_(%a, [2])\n  return %b", "1 2", NULL, NULL, NULL}};

static fnz_arrays *make_inputs(void) {
  static const int64_t sizes_a[] = {2, 3}, sizes_b[] = {4};
  fnz_arrays *in;
  void *data;
  OK(ctx, fnz_arrays_create(ctx, &in));
  OK(ctx, fnz_arrays_add(in, "a", FNZ_F32, 2, sizes_a, &data));
  for (int i = 0; i < 6; i++)
    ((float *)data)[i] = (float)(i + 1);
  OK(ctx, fnz_arrays_add(in, "b", FNZ_F32, 1, sizes_b, &data));
  for (int i = 0; i < 4; i++)
    ((float *)data)[i] = (float)(20 + 10 * i);
  return in;
}

static void must_be(const left *row, const fnz_arrays *got, const char *name, const char *want) {
  const fnz_array *a = fnz_arrays_find(got, name);
  char text[128] = "";
  ck_assert_msg(!a == !want, "%s is%s told of\n%s", name, a ? "" : " not", row->body);
  for (size_t i = 0; a && i < a->bytes / sizeof(float); i++)
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s%g", i ? " " : "",
             (double)((const float *)a->data)[i]);
  ck_assert_msg(!want || strcmp(text, want) == 0, "%s is %s, not %s, of\n%s", name, text, want,
                row->body);
}

static void must_leave(const left *row, const fnz_run_options *how, const fnz_program *p) {
  fnz_arrays *in = make_inputs(), *got;
  fnz_backend *cpu;
  OK(ctx, fnz_arrays_create(ctx, &got));
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  OK(ctx, fnz_run(ctx, p, cpu, in, how, got));
  must_be(row, got, "input.a", row->a);
  must_be(row, got, "input.b", row->b);
  must_be(row, got, "memory.a", row->memory_a);
  must_be(row, got, "memory.b", row->memory_b);
  fnz_backend_destroy(cpu);
  fnz_arrays_destroy(got);
  fnz_arrays_destroy(in);
}

/* As it is, made functional, and made functional with its writes at the end. */
static void check_row(const left *row, bool has_epilogue) {
  fnz_functionalize_options at_end = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  fnz_program *p = program_of(ctx, INPUTS, row->body), *f = NULL;
  at_end.state = FNZ_STATE_EPILOGUE;
  must_leave(row, AS_ORIGINAL, p);
  OK(ctx, fnz_functionalize(ctx, p, NULL, &f));
  must_leave(row, NULL, f);
  OK(ctx, fnz_verify(ctx, p, f, NULL, NULL, NULL));
  fnz_program_destroy(f);
  if (has_epilogue) {
    OK(ctx, fnz_functionalize(ctx, p, &at_end, &f));
    must_leave(row, AS_ORIGINAL, f);
    OK(ctx, fnz_verify(ctx, p, f, NULL, NULL, NULL));
    fnz_program_destroy(f);
  } else
    FAILS(ctx, "UNSUPPORTED", fnz_functionalize(ctx, p, &at_end, &f));
  fnz_program_destroy(p);
}

START_TEST(memory_that_inputs_left) {
  begin();
  for (size_t i = 0; i < sizeof moved / sizeof *moved; i++)
    check_row(&moved[i], false);
  end();
}
END_TEST

START_TEST(memory_that_inputs_show_in_part) {
  begin();
  for (size_t i = 0; i < sizeof shrunk / sizeof *shrunk; i++)
    check_row(&shrunk[i], true);
  end();
}
END_TEST

/* Eager takes the source of a window for memory, and refuses one with gaps. */
START_TEST(a_source_of_a_window_has_no_gaps) {
  begin();
  fnz_program *f, *p = program_of(ctx, INPUTS,
                                  "  %t: f32[3,2] stride(1,3) = t(%a)\n"
                                  "  %s: f32[2] = set_.source_Tensor_storage_offset(%b, %t, 0, "
                                  "[2], [1])\n  return %b");
  FAILS(ctx, "TYPE", fnz_functionalize(ctx, p, NULL, &f));
  ck_assert_ptr_nonnull(strstr(fnz_last_error(ctx)->message, "must be contiguous"));
  fnz_arrays *in = make_inputs(), *got;
  fnz_backend *cpu;
  OK(ctx, fnz_arrays_create(ctx, &got));
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  FAILS(ctx, "TYPE", fnz_run(ctx, p, cpu, in, AS_ORIGINAL, got));
  fnz_backend_destroy(cpu);
  fnz_arrays_destroy(got);
  fnz_arrays_destroy(in);
  fnz_program_destroy(p);
  end();
}
END_TEST

/* It is written and read as the rest of a signature is. */
START_TEST(it_is_kept_in_every_format) {
  static const fnz_format formats[] = {FNZ_FORMAT_TEXT, FNZ_FORMAT_CBOR};
  begin();
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    fnz_program *p = program_of(ctx, INPUTS, shrunk[1].body), *f, *q;
    fnz_buffer out = {0};
    OK(ctx, fnz_functionalize(ctx, p, NULL, &f));
    OK(ctx, fnz_program_write(ctx, f, formats[i], &out));
    OK(ctx, fnz_program_read(ctx, out.data, out.size, FNZ_FORMAT_AUTO, &q));
    must_leave(&shrunk[1], NULL, q);
    OK(ctx, fnz_verify(ctx, p, q, NULL, NULL, NULL));
    fnz_buffer_free(ctx, &out);
    fnz_program_destroy(q);
    fnz_program_destroy(f);
    fnz_program_destroy(p);
  }
  end();
}
END_TEST

RUN_SUITE("left", memory_that_inputs_left, memory_that_inputs_show_in_part,
          a_source_of_a_window_has_no_gaps, it_is_kept_in_every_format)
