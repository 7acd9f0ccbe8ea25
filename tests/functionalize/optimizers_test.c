/* checks: 6
 * optimizers_test.c - fused steps of optimizers in place, with small numbers by hand, and their
 * refusals. fixtures/made has their functional forms as PyTorch computes them. */
#include "tests/help/faults.h"
#include "tests/run/variants.h"

/* lr, beta1, beta2, weight_decay, eps, amsgrad, maximize */
#define ADAM(amsgrad) F(0.5), F(0.5), F(0.75), F(0), F(0), B(amsgrad), B(false)
/* weight_decay, momentum, lr, dampening, nesterov, maximize, is_first_step */
#define SGD(momentum) F(0), F(momentum), F(0.5), F(0), B(false), B(false), B(false)

static fnz_handle one(float value) {
  return tensor(FNZ_F32, 0, NULL, &value);
}

START_TEST(lists_are_written) {
  open_backend(false);
  fnz_handle p = VECTOR(1, 2, 3), q = VECTOR(8), m = VECTOR(2, 4, 6), n = VECTOR(0);
  fnz_handle g = VECTOR(4, 4, 4, 2), halves[2];
  size_t count;
  MANY("split_with_sizes", halves, 2, &count, T(g), L(I(3), I(1)));
  CALL("_fused_sgd_", L(T(p), T(q)), L(T(halves[0]), T(halves[1])), L(T(m), T(n)), SGD(0.5),
       T(one(2)));
  ck_assert_str_eq(show(p), "-0.5 0 0.5");
  ck_assert_str_eq(show(q), "7.5");
  ck_assert_str_eq(show(g), "2 2 2 1");
  ck_assert_str_eq(show(m), "3 4 5");
  ck_assert_str_eq(show(n), "1");
  CALL("_fused_sgd_", L(T(p)), L(T(halves[0])), L(T(m)), SGD(0.5), N, T(one(1)));
  ck_assert_str_eq(show(p), "-0.5 0 0.5");
  close_backend();
}
END_TEST

START_TEST(steps_are_read_and_stay) {
  open_backend(false);
  fnz_handle p = VECTOR(1, 1), g = VECTOR(2, -2), m = VECTOR(0, 0), v = VECTOR(0, 0);
  fnz_handle most = VECTOR(4, 4), t = one(1);
  CALL("_fused_adam_", L(T(p)), L(T(g)), L(T(m)), L(T(v)), EMPTY_LIST, L(T(t)), ADAM(false));
  ck_assert_str_eq(show(p), "0.5 1.5");
  ck_assert_str_eq(show(m), "1 -1");
  ck_assert_str_eq(show(v), "1 1");
  ck_assert_str_eq(show(t), "1");
  CALL("zero_", T(m));
  CALL("zero_", T(v));
  CALL("_fused_adam_", L(T(p)), L(T(g)), L(T(m)), L(T(v)), L(T(most)), L(T(t)), ADAM(true));
  ck_assert_str_eq(show(p), "0.25 1.75");
  ck_assert_str_eq(show(most), "4 4");
  close_backend();
}
END_TEST

/* Transposed alike is alike; a parameter of 16 bits is rounded once. */
START_TEST(what_lies_alike_goes_together) {
  open_backend(false);
  fnz_handle wide = counting(SIZES(2, 2)), p = CALL("t", T(wide));
  fnz_handle grads = counting(SIZES(2, 2)), g = CALL("t", T(grads));
  CALL("_fused_sgd_", L(T(p)), L(T(g)), EMPTY_LIST, SGD(0));
  ck_assert_str_eq(show(wide), "0.5 1 1.5 2");
  ck_assert_str_eq(show(grads), "1 2 3 4");
  REFUSED("UNSUPPORTED", "_fused_sgd_", L(T(p)), L(T(grads)), EMPTY_LIST, SGD(0));
  REFUSED("UNSUPPORTED", "_fused_sgd", L(T(p)), L(T(grads)), EMPTY_LIST, SGD(0));
  fnz_handle row = CALL("select.int", T(wide), I(0), I(0)), step = VECTOR(1, 1);
  REFUSED("UNSUPPORTED", "_fused_sgd_", L(T(CALL("select.int", T(p), I(0), I(0)))), L(T(step)),
          EMPTY_LIST, SGD(0));
  CALL("_fused_sgd_", L(T(row)), L(T(step)), EMPTY_LIST, SGD(0));
  ck_assert_str_eq(show(wide), "0 0.5 1.5 2");
  close_backend();
}
END_TEST

START_TEST(nothing_is_written_twice) {
  open_backend(false);
  fnz_handle p = VECTOR(1, 2), g = VECTOR(1, 1), h = VECTOR(1, 1), found = one(0);
  REFUSED("OVERLAP", "_fused_sgd_", L(T(p), T(p)), L(T(g), T(h)), EMPTY_LIST, SGD(0));
  REFUSED("OVERLAP", "_fused_sgd_", L(T(p)), L(T(p)), EMPTY_LIST, SGD(0));
  REFUSED("OVERLAP", "_amp_foreach_non_finite_check_and_unscale_", L(T(g), T(g)), T(found),
          T(one(2)));
  ck_assert_str_eq(show(p), "1 2");
  ck_assert_str_eq(show(g), "1 1");
  CALL("_amp_foreach_non_finite_check_and_unscale_", L(T(g), T(h)), T(found), T(one(2)));
  ck_assert_str_eq(show(g), "2 2");
  ck_assert_str_eq(show(h), "2 2");
  close_backend();
}
END_TEST

START_TEST(refusals_name_the_list) {
  open_backend(false);
  fnz_handle p = VECTOR(1, 2), g = VECTOR(1, 1), t = one(1);
  REFUSED("BOUNDS", "_fused_sgd", L(T(p)), EMPTY_LIST, EMPTY_LIST, SGD(0));
  ck_assert_str_eq(fnz_last_error(eager.ctx)->message,
                   "_fused_sgd: grads has 0 tensors, self has 1; grads needs 1 here");
  REFUSED("BOUNDS", "_fused_sgd", L(T(p)), L(T(g)), L(T(g)), SGD(0));
  ck_assert_str_eq(
      fnz_last_error(eager.ctx)->message,
      "_fused_sgd: momentum_buffer_list has 1 tensors, self has 1; momentum_buffer_list needs 0 "
      "here");
  REFUSED("BOUNDS", "_fused_sgd", L(T(p)), L(T(t)), EMPTY_LIST, SGD(0));
  REFUSED("BOUNDS", "_fused_sgd", EMPTY_LIST, EMPTY_LIST, EMPTY_LIST, SGD(0));
  REFUSED("TYPE", "_fused_sgd", L(T(p)), L(T(CALL("_to_copy", T(g), D(FNZ_F64)))), EMPTY_LIST,
          SGD(0));
  REFUSED("BOUNDS", "_fused_adam", L(T(p)), L(T(g)), L(T(p)), L(T(p)), EMPTY_LIST, L(T(g)),
          ADAM(false));
  close_backend();
}
END_TEST

/* --- Without memory ----------------------------------------------------------------------- */
static fnz_status step(fnz_context *ctx, fnz_backend *cpu, const fnz_arg *t) {
  const fnz_arg args[] = {L(t[0]), L(t[1]), L(t[2]), L(t[3]), EMPTY_LIST, L(t[4]), ADAM(false)};
  const fnz_request request = {fnz_op_find(NULL, "_fused_adam"), args, 13, NULL, ""};
  fnz_handle out[8];
  size_t count = 0;
  fnz_status status = cpu->apply(cpu->self, ctx, &request, out, 8, &count);
  for (size_t i = 0; i < count; i++)
    cpu->release(cpu->self, out[i]);
  const fnz_request written = {fnz_op_find(NULL, "_fused_adam_"), args, 13, NULL, ""};
  char warning[FNZ_WARNING_BYTES];
  if (status == FNZ_OK)
    status = cpu->call(cpu->self, ctx, &written, out, 8, &count, warning);
  return status;
}

static fnz_status without_memory(fnz_context *ctx, const void *user) {
  static const float values[] = {1, 2, 3};
  static const int64_t size = 3, stride = 1;
  fnz_arg t[5] = {{.tag = FNZ_ARG_NONE}};
  fnz_backend *cpu = NULL;
  (void)user;
  fnz_status status = fnz_cpu_backend_create(ctx, 1, &cpu);
  for (uint32_t i = 0; status == FNZ_OK && i < 5; i++) {
    fnz_geometry g = {.dtype = FNZ_F32, .rank = i < 4, .sizes = &size, .strides = &stride};
    t[i].tag = FNZ_ARG_VALUE;
    status = cpu->upload(cpu->self, ctx, &g, values, &t[i].u.value);
  }
  if (status == FNZ_OK)
    status = step(ctx, cpu, t);
  for (int i = 0; i < 5; i++)
    if (t[i].tag == FNZ_ARG_VALUE && t[i].u.value)
      cpu->release(cpu->self, t[i].u.value);
  fnz_backend_destroy(cpu);
  return status;
}

START_TEST(every_step_may_lack_memory) {
  ck_assert_uint_gt(each_fault(without_memory, NULL), 40);
}
END_TEST

RUN_SUITE("optimizers", lists_are_written, steps_are_read_and_stay, what_lies_alike_goes_together,
          nothing_is_written_twice, refusals_name_the_list, every_step_may_lack_memory)
