/* checks: 11
 * Functional runs: inputs are bound by name and size, results are named by the signature, and what
 * cannot be run is refused by name. */
#include "tests/help/run_help.h"

#include "tests/help/faults.h"

static fnz_context *ctx;

static void open_context(void) {
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
}

static const float numbers[6] = {1, 2, 3, 4, 5, 6};

static fnz_arrays *arrays_of(const char *name, fnz_dtype dtype, uint32_t rank,
                             const int64_t *sizes) {
  fnz_arrays *arrays;
  void *data;
  OK(ctx, fnz_arrays_create(ctx, &arrays));
  OK(ctx, fnz_arrays_add(arrays, name, dtype, rank, sizes, &data));
  memcpy(data, numbers, fnz_arrays_at(arrays, 0)->bytes);
  return arrays;
}

/* Runs a body on the CPU backend with the arrays (ended here); the results go to `out`. */
static fnz_status run_numbers(const char *inputs, const char *body, fnz_arrays *given,
                              bool original, fnz_arrays *out) {
  fnz_program *p = program_of(ctx, inputs, body);
  fnz_backend *cpu;
  if (original)
    believe(p);
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  fnz_status status = fnz_run(ctx, p, cpu, given, original ? AS_ORIGINAL : NULL, out);
  fnz_backend_destroy(cpu);
  fnz_program_destroy(p);
  fnz_arrays_destroy(given);
  return status;
}

/* Numbers go through unchanged, also elements of a transposed input, in both interpreters. */
START_TEST(numbers_pass) {
  static const char inputs[] = "%x: f32[2,3] stride(1,2)";
  const int64_t sizes[2] = {2, 3};
  open_context();
  for (int original = 0; original < 2; original++) {
    fnz_arrays *out;
    OK(ctx, fnz_arrays_create(ctx, &out));
    OK(ctx, run_numbers(inputs, "return %x, None, %x", arrays_of("x", FNZ_F32, 2, sizes),
                        original != 0, out));
    ck_assert_uint_eq(fnz_arrays_count(out), 2);
    const fnz_array *last = fnz_arrays_find(out, "output.2");
    ck_assert_ptr_nonnull(last);
    ck_assert_mem_eq(last->data, numbers, sizeof numbers);
    fnz_arrays_destroy(out);
  }
  fnz_context_destroy(ctx);
}
END_TEST

/* torch.export records a tensor for a gradient that output_mask leaves out, and none is there. */
START_TEST(a_result_that_is_not_there) {
  static const char inputs[] = "%x: f32[1,1,6]";
  static const char masked[] =
      "%a: f32[1,1,6], %b: f32[1], %c: f32[1] = native_batch_norm_backward(%x, %x, None, None, "
      "None, %m, %m, True, 0.5, [False, True, True])";
  const int64_t sizes[3] = {1, 1, 6};
  open_context();
  for (int reads = 0; reads < 2; reads++) {
    char body[400];
    fnz_arrays *out;
    snprintf(body, sizeof body, "%%m: f32[1] = ones([1])\n%s\nreturn %s", masked,
             reads ? "%a" : "%c");
    OK(ctx, fnz_arrays_create(ctx, &out));
    fnz_status status = run_numbers(inputs, body, arrays_of("x", FNZ_F32, 3, sizes), false, out);
    ck_assert_int_eq(status, reads ? FNZ_BAD_INPUT : FNZ_OK);
    if (reads)
      ck_assert_ptr_nonnull(strstr(fnz_last_error(ctx)->message, "has no result 0 here"));
    else
      ck_assert_float_eq(*(const float *)fnz_arrays_at(out, 0)->data, 21);
    fnz_arrays_destroy(out);
  }
  fnz_context_destroy(ctx);
}
END_TEST

/* x + x[0].item() for a tensor of one type; the element in the middle of the result. */
static double item_added(const char *dtype, const char *number, const void *cells, bool original) {
  char text[512];
  fnz_program *p;
  fnz_backend *cpu;
  fnz_arrays *given, *out;
  const int64_t sizes[1] = {3};
  void *data;
  int n = snprintf(text, sizeof text,
                   "fnz 1\nsymbol u0\nrange u0 ..\nsymbol z0\nprogram(%%x: %s[3])\n{\n"
                   "%%s: %s[] = select.int(%%x, 0, 0)\n%%n: sym{%s} = item(%%s)\n"
                   "%%y: %s[3] = add.Tensor(%%x, %%n)\n%%z: f64[3] = _to_copy(%%y, dtype=f64)\n"
                   "return %%z\n}\n",
                   dtype, dtype, number, dtype);
  OK(ctx, fnz_program_read(ctx, text, (size_t)n, FNZ_FORMAT_TEXT, &p));
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  OK(ctx, fnz_arrays_create(ctx, &given));
  OK(ctx, fnz_arrays_create(ctx, &out));
  fnz_dtype kind = FNZ_BOOL;
  while (strcmp(fnz_dtype_get_info(kind)->name, dtype) != 0)
    kind++;
  OK(ctx, fnz_arrays_add(given, "x", kind, 1, sizes, &data));
  memcpy(data, cells, fnz_arrays_at(given, 0)->bytes);
  OK(ctx, fnz_run(ctx, p, cpu, given, original ? AS_ORIGINAL : NULL, out));
  double got = ((const double *)fnz_arrays_at(out, 0)->data)[1];
  fnz_arrays_destroy(given);
  fnz_arrays_destroy(out);
  fnz_backend_destroy(cpu);
  fnz_program_destroy(p);
  return got;
}

/* As in PyTorch 2.15, for each type: item() gives a number, which is added to a tensor. */
START_TEST(items_of_every_type) {
  open_context();
  for (int original = 0; original < 2; original++) {
    ck_assert(item_added("i8", "u0", (const int8_t[]){-3, 5, 0}, original != 0) == 2);
    ck_assert(item_added("u8", "u0", (const uint8_t[]){200, 5, 0}, original != 0) == 205);
    ck_assert(item_added("i16", "u0", (const int16_t[]){-300, 5, 0}, original != 0) == -295);
    ck_assert(item_added("i32", "u0", (const int32_t[]){-70000, 5, 0}, original != 0) == -69995);
    ck_assert(item_added("i64", "u0", (const int64_t[]){-3, 5, 0}, original != 0) == 2);
    ck_assert(item_added("f16", "z0", (const uint16_t[]){0x3e00, 0xc000, 0}, original != 0) ==
              -0.5);
    ck_assert(item_added("bf16", "z0", (const uint16_t[]){0x3fc0, 0xc000, 0}, original != 0) ==
              -0.5);
    ck_assert(item_added("f32", "z0", (const float[]){1.5f, -2, 0}, original != 0) == -0.5);
    ck_assert(item_added("f64", "z0", (const double[]){1.5, -2, 0}, original != 0) == -0.5);
  }
  fnz_context_destroy(ctx);
}
END_TEST

static const char numbers_out[] = "fnz 1\nsymbol s0 = 5\nrange s0 2..\nsymbol u0\nrange u0 ..\n"
                                  "symbol z0\nprogram(%x: i64[{s0}])\n{\n"
                                  "%n: sym{s0} = sym_size.int(%x, 0)\n"
                                  "%m: sym{s0 + 1} = _operator.add(%n, 1)\n"
                                  "%s: i64[] = select.int(%x, 0, 0)\n%k: sym{u0} = item(%s)\n"
                                  "%f: f64[] = _to_copy(%s, dtype=f64)\n%z: sym{z0} = item(%f)\n"
                                  "return %m, %k, %z, None, 7, 2.5, True, \"text\", %x\n}\n";

static void check_number(const fnz_arrays *out, const char *name, fnz_dtype dtype,
                         const void *element) {
  const fnz_array *a = fnz_arrays_find(out, name);
  ck_assert_msg(a != NULL, "%s", name);
  ck_assert_int_eq(a->dtype, dtype);
  ck_assert_uint_eq(a->rank, 0);
  ck_assert_uint_eq(a->bytes, fnz_dtype_get_info(dtype)->bytes);
  ck_assert_mem_eq(a->data, element, a->bytes);
}

/* Numbers among the outputs are tensors without dimensions; None and text have no array. */
START_TEST(numbers_come_out) {
  const int64_t sizes[1] = {3}, cells[3] = {-4, 5, 6};
  open_context();
  for (int original = 0; original < 2; original++) {
    fnz_program *p;
    fnz_backend *cpu;
    fnz_arrays *given, *out;
    void *data;
    OK(ctx, fnz_program_read(ctx, numbers_out, strlen(numbers_out), FNZ_FORMAT_TEXT, &p));
    OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
    OK(ctx, fnz_arrays_create(ctx, &given));
    OK(ctx, fnz_arrays_create(ctx, &out));
    OK(ctx, fnz_arrays_add(given, "x", FNZ_I64, 1, sizes, &data));
    memcpy(data, cells, sizeof cells);
    OK(ctx, fnz_run(ctx, p, cpu, given, original ? AS_ORIGINAL : NULL, out));
    ck_assert_uint_eq(fnz_arrays_count(out), 7);
    check_number(out, "output.0", FNZ_I64, (const int64_t[]){4});
    check_number(out, "output.1", FNZ_I64, (const int64_t[]){-4});
    check_number(out, "output.2", FNZ_F64, (const double[]){-4});
    check_number(out, "output.4", FNZ_I64, (const int64_t[]){7});
    check_number(out, "output.5", FNZ_F64, (const double[]){2.5});
    check_number(out, "output.6", FNZ_BOOL, (const bool[]){true});
    ck_assert_ptr_nonnull(fnz_arrays_find(out, "output.8"));
    fnz_arrays_destroy(given);
    fnz_arrays_destroy(out);
    fnz_backend_destroy(cpu);
    fnz_program_destroy(p);
  }
  fnz_context_destroy(ctx);
}
END_TEST

START_TEST(inputs_are_checked) {
  static const struct {
    const char *class_name, *name;
    fnz_dtype dtype;
    uint32_t rank;
    int64_t sizes[2];
  } rows[] = {
      {"REF", "y", FNZ_F32, 2, {2, 3}},
      {"TYPE", "x", FNZ_I32, 2, {2, 3}},
      {"BOUNDS", "x", FNZ_F32, 1, {6, 1}},
      {"BOUNDS", "x", FNZ_F32, 2, {3, 2}},
  };
  open_context();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    fnz_arrays *out;
    OK(ctx, fnz_arrays_create(ctx, &out));
    FAILS(ctx, rows[i].class_name,
          run_numbers("%x: f32[2,3]", "return %x",
                      arrays_of(rows[i].name, rows[i].dtype, rows[i].rank, rows[i].sizes), false,
                      out));
    fnz_arrays_destroy(out);
  }
  fnz_context_destroy(ctx);
}
END_TEST

/* A refusal names both sides of it, and a remedy. */
START_TEST(messages_say_both_sides) {
  static const struct {
    const char *class_name, *says, *body;
    bool original;
  } rows[] = {
      {"TYPE", "result 0 of t is f32[3,2], the program says f32[2,3]; correct its type",
       "%a: f32[2,3] = t(%x)\nreturn %a", true},
      {"TYPE", "result 0 of detach is f32[2,3], the program says i64[2,3]",
       "%a: i64[2,3] = detach(%x)\nreturn %a", true},
      {"BOUNDS", "item reads the number of a tensor of one element, this one has",
       "%i: sym = item(%x)\nreturn %x", true},
      {"BOUNDS", "item reads the number of a tensor of one element, this one has",
       "%i: sym = item(%x)\nreturn %x", false},
      {"UNSUPPORTED", "there is no rule for higher_order.some; export the program without it",
       "%a: f32[2] = higher_order.some(%x)\nreturn %a", false},
      {"UNSUPPORTED", "there is no rule for higher_order.some",
       "%a: f32[2] = higher_order.some(%x)\nreturn %a", true},
  };
  const int64_t sizes[2] = {2, 3};
  open_context();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    fnz_arrays *out;
    OK(ctx, fnz_arrays_create(ctx, &out));
    FAILS(ctx, rows[i].class_name,
          run_numbers("%x: f32[2,3]", rows[i].body, arrays_of("x", FNZ_F32, 2, sizes),
                      rows[i].original, out));
    ck_assert_msg(strstr(fnz_last_error(ctx)->message, rows[i].says) != NULL, "%s",
                  fnz_last_error(ctx)->message);
    fnz_arrays_destroy(out);
  }
  FAILS(ctx, "DIFFERENT",
        compare_bodies(ctx, "%x: f32[2,3]", "%a: f32[2,3] = relu(%x)\nreturn %a",
                       "%a: f32[6] = view_copy(%x, [6])\nreturn %a"));
  ck_assert_ptr_nonnull(
      strstr(fnz_last_error(ctx)->message, "is f32[2,3] in the original and f32[6] here"));
  fnz_context_destroy(ctx);
}
END_TEST

START_TEST(results_are_named) {
  static const char *const names[] = {"output.0",      "output.2",    "output.3",
                                      "buffer.b.mean", "parameter.w", "input.x"};
  static const char text[] = "fnz 1\nweight \"b.mean\": f32[3]\nweight \"w\": f32[3]\n"
                             "program(%m: f32[3] buffer \"b.mean\" persistent, %w: f32[3] "
                             "parameter \"w\", %x: f32[3])\n{\n%a: f32[3] = add.Tensor(%m, %x)\n"
                             "return %a buffer_mutation \"b.mean\", %m parameter_mutation \"w\", "
                             "%w input_mutation \"x\", %a loss, None, "
                             "%x parameter_gradient \"w\", %m input_gradient \"x\"\n}\n";
  fnz_program *p;
  fnz_backend *hash;
  fnz_arrays *out;
  open_context();
  OK(ctx, fnz_program_read(ctx, text, sizeof text - 1, FNZ_FORMAT_TEXT, &p));
  OK(ctx, fnz_hash_backend_create(ctx, 7, false, &hash));
  for (int original = 0; original < 2; original++) {
    OK(ctx, fnz_arrays_create(ctx, &out));
    OK(ctx, fnz_run(ctx, p, hash, NULL, original ? AS_ORIGINAL : NULL, out));
    ck_assert_uint_eq(fnz_arrays_count(out), 6);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
      ck_assert_str_eq(fnz_arrays_at(out, i)->name, names[i]);
    fnz_arrays_destroy(out);
  }
  fnz_backend_destroy(hash);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

START_TEST(what_cannot_be_run) {
  static const struct {
    const char *class_name, *body;
  } rows[] = {
      {"UNSUPPORTED", "%a: f32[2,3] = add_.Tensor(%x, 1)\nreturn %a"},
      {"UNSUPPORTED", "%i: sym = item(%x)\n%s: f32[3] = select.int(%x, 0, %i)\nreturn %s"},
  };
  open_context();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    fnz_program *p = program_of(ctx, i == 0 ? "%x: f32[2,3]" : "%x: f32[1,1]", rows[i].body);
    fnz_backend *hash;
    fnz_arrays *out;
    OK(ctx, fnz_hash_backend_create(ctx, 7, false, &hash));
    OK(ctx, fnz_arrays_create(ctx, &out));
    FAILS(ctx, rows[i].class_name, fnz_run(ctx, p, hash, NULL, NULL, out));
    ck_assert_str_ne(fnz_last_error(ctx)->where, "");
    fnz_arrays_destroy(out);
    fnz_backend_destroy(hash);
    fnz_program_destroy(p);
  }
  fnz_context_destroy(ctx);
}
END_TEST

/* Reads both programs and compares them over hashes. */
/* The same holds if nothing uses the token of an assertion. */
START_TEST(assertions_end_the_run) {
  static const char *const bodies[] = {
      "%c: bool[3] = lt.Scalar(%x, LIMIT) %a: bool[] = all(%c) _assert_async(%a) return %x",
      "%c: bool[3] = lt.Scalar(%x, LIMIT) %a: bool[] = all(%c) _assert_async.msg(%a, \"so\") "
      "return %x",
      "%c: bool[3] = lt.Scalar(%x, LIMIT) %a: bool[] = all(%c) "
      "%t: f32[3] = _functional_assert_async.msg(%a, \"so\", %x) return %x",
  };
  static const char *const words[] = {"nonzero value, but got zero", "fails: so", "fails: so"};
  const int64_t size = 3;
  open_context();
  for (size_t i = 0; i < 6; i++)
    for (int holds = 0; holds < 2; holds++) {
      char body[400];
      const char *limit = strstr(bodies[i / 2], "LIMIT");
      fnz_arrays *out;
      (void)snprintf(body, sizeof body, "%.*s%d%s", (int)(limit - bodies[i / 2]), bodies[i / 2],
                     holds ? 9 : 3, limit + 5);
      OK(ctx, fnz_arrays_create(ctx, &out));
      fnz_status status =
          run_numbers("%x: f32[3]", body, arrays_of("x", FNZ_F32, 1, &size), i % 2 != 0, out);
      ck_assert_int_eq(status == FNZ_OK, holds);
      if (!holds)
        ck_assert_ptr_nonnull(strstr(fnz_last_error(ctx)->message, words[i / 2]));
      fnz_arrays_destroy(out);
    }
  fnz_context_destroy(ctx);
}
END_TEST

static bool is_as(fnz_status status, const char *class_name) {
  const char *have = status == FNZ_OK ? "" : fnz_class_name(fnz_last_error(ctx)->kind);
  return strcmp(have, class_name) == 0;
}

/* Operands that eager does not cast, and operands that would be read after they are written: in the
 * pass as well as on memory. */
START_TEST(unlike_and_entangled_tensors) {
  static const struct {
    const char *body, *class_name; /* "" for what eager accepts */
  } rows[] = {
      {"%y: f32[2] = index_put_(%x, [%i], %d) return %y", "TYPE"},
      {"%y: f32[2] = index_put_(%x, [%i], %d, True) return %y", "TYPE"},
      {"%y: f32[2] = index_put(%x, [%i], %d) return %y", "TYPE"},
      {"%m: bool[2] = gt.Scalar(%x, 1) %s: f64[1] = slice.Tensor(%d, 0, 0, 1) "
       "%y: f32[2] = index_put_(%x, [%m], %s) return %y",
       ""},
      {"%y: f32[2] = index_add_(%x, 0, %i, %d) return %y", "TYPE"},
      {"%y: f32[2] = index_copy_(%x, 0, %i, %d) return %y", "TYPE"},
      {"%y: f32[2] = index_reduce_(%x, 0, %i, %d, \"prod\") return %y", "TYPE"},
      {"%y: f32[2] = put_(%x, %i, %d) return %y", "TYPE"},
      {"%y: f32[2] = scatter_.src(%x, 0, %i, %d) return %y", "TYPE"},
      {"%y: f64[2] = clamp.out(%x, 0, 1, out=%d) return %y", "TYPE"},
      {"%y: f64[2] = clamp_min.out(%x, 0, out=%d) return %y", "TYPE"},
      {"%y: f64[2] = exp.out(%x, out=%d) return %y", ""},
      {"%y: f32[2] = scatter_.src(%x, 0, %i, %x) return %y", "OVERLAP"},
      {"%y: f32[2] = index_put_(%x, [%i], %x) return %y", "OVERLAP"},
      {"%v: f32[2] = view(%x, [2]) %y: f32[2] = index_put_(%x, [%i], %v) return %y", "OVERLAP"},
      {"%y: f32[2] = index_fill_.int_Tensor(%x, 0, %i, %n) return %y", ""},
      {"%w: f32[2,2] = expand_copy(%x, [2, 2]) %y: f32[2,2] = addmm_(%w, %w, %w) return %y",
       "OVERLAP"},
  };
  static const char inputs[] = "%x: f32[2], %i: i64[2], %d: f64[2], %n: f32[]";
  open_context();
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    fnz_program *p = program_of(ctx, inputs, rows[k].body), *functional = NULL;
    fnz_arrays *out;
    OK(ctx, fnz_arrays_create(ctx, &out));
    ck_assert_msg(is_as(fnz_functionalize(ctx, p, NULL, &functional), rows[k].class_name),
                  "row %zu in the pass: %s", k, fnz_last_error(ctx)->message);
    ck_assert_msg(is_as(run_body(ctx, inputs, rows[k].body, false, out), rows[k].class_name),
                  "row %zu on memory: %s", k, fnz_last_error(ctx)->message);
    fnz_arrays_destroy(out);
    fnz_program_destroy(functional);
    fnz_program_destroy(p);
  }
  fnz_context_destroy(ctx);
}
END_TEST

static fnz_status read_and_compare(fnz_context *c, const void *user) {
  const char *const *texts = user;
  fnz_program *programs[2] = {NULL, NULL};
  fnz_status status = FNZ_OK;
  for (int i = 0; i < 2 && status == FNZ_OK; i++)
    status = fnz_program_read(c, texts[i], strlen(texts[i]), FNZ_FORMAT_TEXT, &programs[i]);
  if (status == FNZ_OK)
    status = fnz_verify(c, programs[0], programs[1], NULL, WITH_TRIALS(1), NULL);
  fnz_program_destroy(programs[0]);
  fnz_program_destroy(programs[1]);
  return status;
}

START_TEST(out_of_memory) {
  static const char *const texts[2] = {
      "fnz 1\nprogram(%x: f32[2,2], %y: f32[2])\n{\n%t: f32[2,2] stride(1,2) = t(%x)\n"
      "%s: f32[2] = select.int(%t, 0, 0)\n%a: f32[2] = add_.Tensor(%s, %y)\n"
      "_foreach_neg_([%y, %y])\nreturn %t\n}\n",
      "fnz 1\nguard disjoint \"x\" \"y\"\nprogram(%x: f32[2,2], %y: f32[2])\n{\n"
      "%t: f32[2,2] = t_copy(%x)\n"
      "%s: f32[2] = select_copy.int(%t, 0, 0)\n%a: f32[2] = add.Tensor(%s, %y)\n"
      "%u: f32[2,2] = select_scatter(%t, %a, 0, 0)\n%n: f32[2] = neg(%y)\n%m: f32[2] = neg(%n)\n"
      "%w: f32[2,2] = t_copy(%u)\n"
      "return %w input_mutation \"x\", %m input_mutation \"y\", %u in %x as f32[2,2] stride(1,2) "
      "by "
      "t()\n}\n"};
  ck_assert_uint_gt(each_fault(read_and_compare, texts), 50);
}
END_TEST

RUN_SUITE("run", numbers_pass, a_result_that_is_not_there, items_of_every_type, numbers_come_out,
          inputs_are_checked, messages_say_both_sides, results_are_named, assertions_end_the_run,
          unlike_and_entangled_tensors, what_cannot_be_run, out_of_memory)
