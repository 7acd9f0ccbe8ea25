/* checks: 4
 * lend_test.c - weights in memory of the caller: read where they lie, shared, given back once. */
#include "tests/help/context.h"
#include "tests/help/faults.h"

#include <fnz/fnz.h>

#include <stdio.h>

static const char *const text =
    "fnz 1\nweight \"a\": f32[4]\nweight \"b\": f32[2]\nprogram(\n"
    "  %a: f32[4] buffer \"a\" persistent,\n  %b: f32[2] buffer \"b\" persistent)\n{\n"
    "  %s: f32[] = sum(%a)\n  %t: f32[] = sum(%b)\n  return %s, %t\n}\n";

static void count(void *owner) {
  ++*(int *)owner;
}

static float storage[4];
static int ended[2];
static const int64_t sizes[] = {4, 2, 1};
static const fnz_geometry whole = {
    .dtype = FNZ_F32, .rank = 1, .sizes = &sizes[0], .strides = &sizes[2]};
static const fnz_geometry half = {
    .dtype = FNZ_F32, .rank = 1, .offset = 2, .sizes = &sizes[1], .strides = &sizes[2]};

/* Loans of "a" and of its second half, "b". */
static void make_loans(fnz_weight_loan loans[2]) {
  static const char *const names[] = {"a", "b"};
  for (int k = 0; k < 2; k++) {
    ended[k] = 0;
    loans[k] =
        (fnz_weight_loan){names[k], k ? &half : &whole, storage, sizeof storage, count, &ended[k]};
  }
  for (int i = 0; i < 4; i++)
    storage[i] = (float)i;
}

static float result(const fnz_program *p, const char *name) {
  fnz_arrays *out;
  fnz_backend *cpu;
  OK(ctx, fnz_arrays_create(ctx, &out));
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  OK(ctx, fnz_run(ctx, p, cpu, NULL, NULL, out));
  float found = *(const float *)fnz_arrays_find(out, name)->data;
  fnz_backend_destroy(cpu);
  fnz_arrays_destroy(out);
  return found;
}

START_TEST(weights_are_read_where_they_lie) {
  begin();
  fnz_weight_loan loans[2];
  make_loans(loans);
  fnz_program *p = read_text(text), *f;
  OK(ctx, fnz_program_lend_weights(ctx, p, loans, 2));
  ck_assert_ptr_eq(fnz_program_weight(p, "a").data, storage);
  ck_assert_uint_eq(fnz_program_stats(p).no_data, 0);
  ck_assert_int_eq(ended[0] + 10 * ended[1], 10); /* the first loan keeps the storage */
  ck_assert(result(p, "output.0") == 6 && result(p, "output.1") == 5);
  storage[3] = 7;
  OK(ctx, fnz_functionalize(ctx, p, NULL, &f));
  fnz_program_destroy(p);
  ck_assert(result(f, "output.0") == 10 && result(f, "output.1") == 9);
  ck_assert_int_eq(ended[0], 0);
  fnz_program_destroy(f);
  ck_assert_int_eq(ended[0] + 10 * ended[1], 11);
  end();
}
END_TEST

/* The name of a written weight is that of all names of its memory. */
START_TEST(weights_share_memory) {
  begin();
  fnz_weight_loan loans[2];
  make_loans(loans);
  loans[1].geometry = loans[0].geometry;
  fnz_program *p =
      read_text("fnz 1\nweight \"a\": f32[4]\nweight \"b\": f32[4]\nprogram(\n"
                "  %a: f32[4] buffer \"a\" persistent,\n  %b: f32[4] buffer \"b\" persistent)\n{\n"
                "  %c: f32[4] = add.Scalar(%a, 1)\n  return %c buffer_mutation \"a\"\n}\n");
  OK(ctx, fnz_program_lend_weights(ctx, p, loans, 2));
  ck_assert_uint_eq(fnz_program_input(p, 1).shares, 1);
  ck_assert(fnz_program_input(p, 1).written);
  fnz_program_destroy(p);
  end();
}
END_TEST

/* Nothing of a refused call stays, and all loans have ended. */
START_TEST(refused_loans) {
  begin();
  fnz_weight_loan loans[2];
  fnz_program *p = read_text(text);
  static const char *const classes[] = {"REF", "TYPE", "BOUNDS", "BOUNDS", "DUPLICATE"};
  for (int i = 0; i < 5; i++) {
    make_loans(loans);
    fnz_geometry other = half;
    loans[1].geometry = &other;
    if (i == 0)
      loans[1].name = "c";
    else if (i == 1)
      other.dtype = FNZ_I32;
    else if (i == 2)
      other.offset = 3;
    else if (i == 3)
      loans[1].bytes += 4;
    else
      loans[1].name = "a", other = whole;
    FAILS(ctx, classes[i], fnz_program_lend_weights(ctx, p, loans, 2));
    ck_assert_int_eq(ended[0] + 10 * ended[1], 11);
    ck_assert_uint_eq(fnz_program_stats(p).no_data, 2);
  }
  make_loans(loans);
  OK(ctx, fnz_program_lend_weights(ctx, p, loans, 2));
  fnz_weight_loan again = loans[0];
  FAILS(ctx, "DUPLICATE", fnz_program_lend_weights(ctx, p, &again, 1));
  fnz_program_destroy(p);
  end();
}
END_TEST

static fnz_status lend_once(fnz_context *c, const void *user) {
  fnz_weight_loan loans[2];
  fnz_program *p;
  make_loans(loans);
  FNZ_TRY(fnz_program_read(c, user, strlen(user), FNZ_FORMAT_AUTO, &p));
  fnz_status status = fnz_program_lend_weights(c, p, loans, 2);
  fnz_program_destroy(p);
  ck_assert_int_eq(ended[0] + 10 * ended[1], 11);
  return status;
}

START_TEST(memory_runs_out) {
  ck_assert_uint_gt(each_fault(lend_once, text), 10);
}
END_TEST

RUN_SUITE("lend", weights_are_read_where_they_lie, weights_share_memory, refused_loans,
          memory_runs_out)
