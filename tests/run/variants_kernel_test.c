/* checks: 9
 * Kernels that a user registers, and the variants that follow from one definition. */
#include "program/program.h"
#include "tests/run/variants.h"

/* --- A structured kernel: a * x + 1, for a whole group ---------------------------------------- */

typedef struct counts {
  int meta, impl;
} counts;

typedef struct block {
  int64_t elements;
} block;

static fnz_status affine_meta(fnz_frame *frame) {
  const fnz_memory self = fnz_frame_tensor(frame, fnz_frame_arg(frame, "self"));
  const fnz_geometry *g = self.geometry;
  ((counts *)fnz_frame_user(frame))->meta++;
  if (g->dtype != FNZ_F32)
    return fnz_frame_fail(frame, FNZ_CLASS_TYPE, "self must be f32");
  block *b = fnz_frame_precomputed(frame, sizeof *b);
  b->elements = fnz_geometry_numel(g);
  return fnz_frame_add_result(frame, FNZ_F32, g->rank, g->sizes, NULL);
}

static fnz_status affine_impl(fnz_frame *frame) {
  const fnz_memory self = fnz_frame_tensor(frame, fnz_frame_arg(frame, "self"));
  const fnz_memory out = fnz_frame_result(frame, 0);
  const block *b = fnz_frame_precomputed(frame, sizeof *b);
  ((counts *)fnz_frame_user(frame))->impl++;
  ck_assert_ptr_null(fnz_frame_arg(frame, "no such argument"));
  for (int64_t i = 0; i < b->elements; i++)
    ((float *)out.data)[i] = 2 * ((const float *)self.data)[i] + 1;
  return FNZ_OK;
}

static void add_affine(const char *op, counts *c) {
  const fnz_kernel kernel = {.op = fnz_op_find(NULL, op),
                             .meta = affine_meta,
                             .impl = affine_impl,
                             .contiguous = true,
                             .user = c};
  OK(eager.ctx, fnz_kernel_register(eager.ctx, eager.backend, &kernel));
}

static void check_group(void) {
  fnz_handle x = counting(SIZES(2, 2)), t = CALL("t", T(x)), out = VECTOR(0);
  ck_assert_str_eq(show(CALL("exponential", T(x))), "3 5 7 9");
  ck_assert_str_eq(show(CALL("exponential", T(t))), "3 7 5 9");
  CALL("exponential.out", T(x), F(1), N, T(out));
  ck_assert_str_ne(eager.warning, "");
  ck_assert_str_eq(show(out), "3 5 7 9");
  ck_assert_uint_eq(CALL("exponential_", T(t)), t);
  ck_assert_str_eq(show(x), "3 5 7 9");
  fnz_handle ints = tensor(FNZ_I64, SIZES(1), (const int64_t[]){1});
  REFUSED("TYPE", "exponential_", T(ints));
  REFUSED("BOUNDS", "as_strided", T(x), L(I(9)), L(I(1)), I(0));
}

START_TEST(structured_serves_the_group) {
  static const char *const registered_for[] = {"exponential", "exponential.out"};
  for (size_t i = 0; i < 2; i++) {
    counts c = {0, 0};
    open_backend(false);
    add_affine(registered_for[i], &c);
    check_group();
    ck_assert_int_eq(c.meta, c.impl + 1); /* the refused one had no impl */
    close_backend();
  }
}
END_TEST

START_TEST(structured_on_meta_runs_meta_alone) {
  counts c = {0, 0};
  open_backend(true);
  add_affine("exponential", &c);
  fnz_handle out = VECTOR(0);
  CALL("exponential.out", T(counting(SIZES(3, 2))), F(1), N, T(out));
  ck_assert_str_eq(shape(out), "f32 [3 2] [2 1] 0");
  ck_assert_int_eq(c.meta, 1);
  ck_assert_int_eq(c.impl, 0);
  close_backend();
}
END_TEST

START_TEST(apply_uses_it_too) {
  counts c = {0, 0};
  open_backend(false);
  add_affine("exponential.out", &c);
  fnz_handle x = VECTOR(1, 2), out;
  size_t count;
  const fnz_arg args[] = {T(x)};
  fnz_request request = {fnz_op_find(NULL, "exponential"), args, 1, NULL, ""};
  OK(eager.ctx, eager.backend->apply(eager.backend->self, eager.ctx, &request, &out, 1, &count));
  own(out);
  ck_assert_str_eq(show(out), "3 5");
  close_backend();
}
END_TEST

START_TEST(one_structured_kernel_for_a_group) {
  counts c = {0, 0};
  open_backend(false);
  add_affine("exponential", &c);
  add_affine("exponential", &c); /* in place of the first */
  const fnz_kernel other = {
      .op = fnz_op_find(NULL, "exponential.out"), .meta = affine_meta, .impl = affine_impl};
  FAILS(eager.ctx, "DUPLICATE", fnz_kernel_register(eager.ctx, eager.backend, &other));
  const fnz_kernel none = {.op = fnz_op_find(NULL, "exponential")};
  FAILS(eager.ctx, "ARGUMENT", fnz_kernel_register(eager.ctx, eager.backend, &none));
  fnz_backend *hashes;
  OK(eager.ctx, fnz_hash_backend_create(eager.ctx, 1, false, &hashes));
  FAILS(eager.ctx, "ARGUMENT", fnz_kernel_register(eager.ctx, hashes, &other));
  fnz_backend_destroy(hashes);
  close_backend();
}
END_TEST

/* --- Plain kernels ---------------------------------------------------------------------------- */

/* Adds 1 to every element. */
static fnz_status increment(fnz_frame *frame) {
  const fnz_memory self = fnz_frame_tensor(frame, fnz_frame_arg(frame, "self"));
  int64_t count = fnz_geometry_numel(self.geometry);
  for (int64_t i = 0; i < count; i++)
    ((float *)self.data)[i] += 1;
  return FNZ_OK;
}

static void add_plain(const char *op, fnz_kernel_fn *impl) {
  const fnz_kernel kernel = {.op = fnz_op_find(NULL, op), .impl = impl, .contiguous = true};
  OK(eager.ctx, fnz_kernel_register(eager.ctx, eager.backend, &kernel));
}

START_TEST(functional_and_out_from_in_place) {
  open_backend(false);
  add_plain("_add_relu_.Scalar", increment);
  fnz_handle x = counting(SIZES(2, 2)), t = CALL("t", T(x)), out = VECTOR(0);
  ck_assert_str_eq(show(CALL("_add_relu.Scalar", T(t), F(1))), "2 4 3 5");
  ck_assert_str_eq(show(x), "1 2 3 4");
  CALL("_add_relu.Scalar_out", T(x), F(1), F(1), T(out));
  ck_assert_str_eq(show(out), "2 3 4 5");
  ck_assert_uint_eq(CALL("_add_relu_.Scalar", T(t), F(1)), t); /* the copy goes back */
  ck_assert_str_eq(show(x), "2 3 4 5");
  close_backend();
}
END_TEST

/* A new vector of one element, the number of elements of self. */
static fnz_status count_elements(fnz_frame *frame) {
  const int64_t one[] = {1};
  const fnz_memory self = fnz_frame_tensor(frame, fnz_frame_arg(frame, "self"));
  fnz_status status = fnz_frame_add_result(frame, FNZ_F32, 1, one, NULL);
  if (status == FNZ_OK)
    *(float *)fnz_frame_result(frame, 0).data = (float)fnz_geometry_numel(self.geometry);
  return status;
}

START_TEST(out_and_in_place_from_functional) {
  open_backend(false);
  add_plain("_add_relu.Scalar", count_elements);
  fnz_handle x = VECTOR(5, 6, 7), single = VECTOR(9), out = VECTOR(0, 0);
  ck_assert_str_eq(show(CALL("_add_relu.Scalar", T(x), F(1))), "3");
  CALL("_add_relu.Scalar_out", T(x), F(1), F(1), T(out));
  ck_assert_str_eq(show(out), "3");
  CALL("_add_relu_.Scalar", T(single), F(1));
  ck_assert_str_eq(show(single), "1");
  REFUSED("BOUNDS", "_add_relu_.Scalar", T(x), F(1));
  ck_assert_str_eq(show(x), "5 6 7");
  close_backend();
}
END_TEST

/* The first two elements of a vector. */
static fnz_status front(fnz_frame *frame) {
  const int64_t two[] = {2};
  const fnz_arg *self = fnz_frame_arg(frame, "self");
  fnz_geometry window = *fnz_frame_tensor(frame, self).geometry;
  window.sizes = two;
  return fnz_frame_add_view(frame, self, &window);
}

START_TEST(the_copy_of_a_view) {
  open_backend(false);
  add_plain("_values", front);
  fnz_handle x = VECTOR(1, 2, 3), view = CALL("_values", T(x));
  fnz_handle copy = CALL("_values_copy", T(x));
  CALL("zero_", T(view));
  ck_assert_str_eq(show(x), "0 0 3");
  ck_assert_str_eq(show(copy), "1 2");
  REFUSED("BOUNDS", "_values", T(VECTOR(1)));
  close_backend();
}
END_TEST

/* --- Custom operators ------------------------------------------------------------------------- */

/* One with the given schema, declared by a program. */
static fnz_program *declare(const char *schema, const fnz_op **out) {
  fnz_program *p;
  OK(eager.ctx, fnzi_program_create(eager.ctx, &p));
  OK(eager.ctx, fnzi_custom_op_add(p, schema, out));
  return p;
}

START_TEST(a_custom_operator) {
  open_backend(false);
  const fnz_op *op;
  fnz_program *p = declare("mine::bump_(Tensor(a!) self) -> Tensor(a!)", &op);
  fnz_handle x = VECTOR(1, 2), out;
  size_t count;
  const fnz_arg args[] = {T(x)};
  fnz_request request = {op, args, 1, NULL, ""};
  FAILS(eager.ctx, "UNSUPPORTED",
        eager.backend->call(eager.backend->self, eager.ctx, &request, &out, 1, &count,
                            eager.warning));
  const fnz_kernel kernel = {.op = op, .impl = increment};
  OK(eager.ctx, fnz_kernel_register(eager.ctx, eager.backend, &kernel));
  OK(eager.ctx,
     eager.backend->call(eager.backend->self, eager.ctx, &request, &out, 1, &count, eager.warning));
  own(out);
  ck_assert_uint_eq(out, x);
  ck_assert_str_eq(show(x), "2 3");
  fnz_program_destroy(p);
  close_backend();
}
END_TEST

/* A kernel that fails leaves nothing behind. */
static fnz_status add_then_fail(fnz_frame *frame) {
  const int64_t one[] = {1};
  fnz_status status = fnz_frame_add_result(frame, FNZ_F32, 1, one, NULL);
  return status == FNZ_OK ? fnz_frame_fail(frame, FNZ_CLASS_BOUNDS, "no") : status;
}

START_TEST(failing_kernels) {
  open_backend(false);
  add_plain("exponential", add_then_fail);
  REFUSED("BOUNDS", "exponential", T(VECTOR(1)));
  ck_assert_str_eq(fnz_last_error(eager.ctx)->message, "exponential: no");
  REFUSED("BOUNDS", "exponential_", T(VECTOR(1)));
  close_backend();
}
END_TEST

RUN_SUITE("variants of registered kernels", structured_serves_the_group,
          structured_on_meta_runs_meta_alone, apply_uses_it_too, one_structured_kernel_for_a_group,
          functional_and_out_from_in_place, out_and_in_place_from_functional, the_copy_of_a_view,
          a_custom_operator, failing_kernels)
