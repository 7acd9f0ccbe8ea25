/* checks: 10
 * tensor_test.c - the wrapper by itself: tensors over the CPU backend, called operator by operator.
 * Facts that a program cannot show are tested here: versions, shared storages, moved tensors, and
 * that a view that nothing reads is never computed. */
#include "tests/help/test.h"

#include <fnz/fnz.h>

typedef struct stage {
  fnz_context *ctx;
  fnz_backend *cpu;
  fnz_wrapper *wrapper;
} stage;

static void begin(stage *s) {
  ck_assert_int_eq(fnz_context_create(NULL, &s->ctx), FNZ_OK);
  OK(s->ctx, fnz_cpu_backend_create(s->ctx, 1, &s->cpu));
  OK(s->ctx, fnz_wrapper_create(s->ctx, s->cpu, &s->wrapper));
}

static void end(stage *s) {
  fnz_wrapper_destroy(s->wrapper);
  fnz_backend_destroy(s->cpu);
  fnz_context_destroy(s->ctx);
}

/* 1, 2, 3 ... as a vector of f32. */
static fnz_tensor *counting(stage *s, int64_t n) {
  const int64_t one = 1;
  const fnz_geometry g = {.dtype = FNZ_F32, .rank = 1, .sizes = &n, .strides = &one};
  float numbers[16];
  fnz_handle value;
  fnz_tensor *t;
  ck_assert_int_le(n, 16);
  for (int64_t i = 0; i < n; i++)
    numbers[i] = (float)(i + 1);
  OK(s->ctx, s->cpu->upload(s->cpu->self, s->ctx, &g, numbers, &value));
  OK(s->ctx, fnz_tensor_wrap(s->wrapper, NULL, value, &t));
  return t;
}

static fnz_arg tensor(fnz_tensor *t) {
  return (fnz_arg){.tag = FNZ_ARG_VALUE, .u.tensor = t};
}

static fnz_arg number(int64_t i) {
  return (fnz_arg){.tag = FNZ_ARG_INT, .u.i = i};
}

static fnz_arg list(const fnz_arg *items, uint32_t count) {
  return (fnz_arg){.tag = FNZ_ARG_LIST, .count = count, .u.list = items};
}

#define ARGS(...)                                                                                  \
  (const fnz_arg[]){__VA_ARGS__}, sizeof((const fnz_arg[]){__VA_ARGS__}) / sizeof(fnz_arg)

static fnz_status try_call(stage *s, const char *op, const fnz_arg *args, size_t nargs,
                           fnz_tensor **out) {
  size_t count;
  return fnz_tensor_call(s->wrapper, op, args, nargs, out, 1, &count);
}

static fnz_tensor *call(stage *s, const char *op, const fnz_arg *args, size_t nargs) {
  fnz_tensor *out = NULL;
  OK(s->ctx, try_call(s, op, args, nargs, &out));
  return out;
}

static void check(stage *s, fnz_tensor *t, size_t count, const float *wanted) {
  float numbers[16];
  fnz_handle value;
  OK(s->ctx, fnz_tensor_read(t, &value));
  ck_assert_int_eq(fnz_geometry_numel(s->cpu->geometry(s->cpu->self, value)), (int64_t)count);
  OK(s->ctx, s->cpu->download(s->cpu->self, s->ctx, value, numbers));
  for (size_t i = 0; i < count; i++)
    ck_assert_msg(numbers[i] == wanted[i], "element %zu is %g, not %g", i, (double)numbers[i],
                  (double)wanted[i]);
}

#define HOLDS(t, ...)                                                                              \
  check(&s, t, sizeof((const float[]){__VA_ARGS__}) / sizeof(float), (const float[]){__VA_ARGS__})

/* A write through a view counts for its storage and all views of it. */
START_TEST(writes_are_counted) {
  stage s;
  begin(&s);
  fnz_tensor *x = counting(&s, 4), *y = counting(&s, 4);
  fnz_tensor *v = call(&s, "slice.Tensor", ARGS(tensor(x), number(0), number(1)));
  ck_assert_uint_eq(fnz_tensor_version(x), 0);
  call(&s, "add_.Tensor", ARGS(tensor(v), number(1)));
  ck_assert_uint_eq(fnz_tensor_version(x), 1);
  ck_assert_uint_eq(fnz_tensor_version(v), 1);
  ck_assert_uint_eq(fnz_tensor_version(y), 0);
  ck_assert(fnz_tensor_shares(x, v) && !fnz_tensor_shares(x, y));
  HOLDS(x, 1, 3, 4, 5);
  end(&s);
}
END_TEST

/* set_ moves one tensor; aliases of the memory it had keep that, and may still write it. */
START_TEST(set_moves_one_tensor) {
  stage s;
  begin(&s);
  fnz_tensor *x = counting(&s, 4), *w = counting(&s, 2);
  fnz_tensor *old = call(&s, "alias", ARGS(tensor(x)));
  call(&s, "add_.Tensor", ARGS(tensor(x), number(10)));
  call(&s, "set_.source_Tensor", ARGS(tensor(x), tensor(w)));
  ck_assert(fnz_tensor_shares(x, w) && !fnz_tensor_shares(x, old));
  call(&s, "mul_.Tensor", ARGS(tensor(x), number(3)));
  call(&s, "add_.Tensor", ARGS(tensor(old), number(100)));
  HOLDS(w, 3, 6);
  HOLDS(old, 111, 112, 113, 114);
  end(&s);
}
END_TEST

/* An in-place operator returns the very tensor it wrote. */
START_TEST(in_place_returns_its_argument) {
  stage s;
  begin(&s);
  fnz_tensor *x = counting(&s, 2);
  ck_assert_ptr_eq(call(&s, "add_.Tensor", ARGS(tensor(x), number(1))), x);
  fnz_tensor *t = call(&s, "unsqueeze_", ARGS(tensor(x), number(0)));
  ck_assert_ptr_eq(t, x);
  ck_assert_uint_eq(fnz_tensor_geometry(x)->rank, 2);
  end(&s);
}
END_TEST

START_TEST(tensors_of_two_wrappers_do_not_mix) {
  stage s;
  fnz_wrapper *other;
  fnz_tensor *out = NULL;
  begin(&s);
  fnz_tensor *x = counting(&s, 2);
  OK(s.ctx, fnz_wrapper_create(s.ctx, s.cpu, &other));
  stage there = {s.ctx, s.cpu, other};
  fnz_tensor *y = counting(&there, 2);
  const fnz_arg both[] = {tensor(x), tensor(y)};
  FAILS(s.ctx, "ARGUMENT", try_call(&s, "add_.Tensor", ARGS(tensor(x), tensor(y)), &out));
  ck_assert_str_eq(fnz_last_error(s.ctx)->where, "add_.Tensor: argument `other`");
  FAILS(s.ctx, "ARGUMENT", try_call(&s, "cat", ARGS(list(both, 2)), &out));
  FAILS(s.ctx, "ARGUMENT", try_call(&s, "relu", ARGS(tensor(NULL)), &out));
  ck_assert_ptr_null(out);
  HOLDS(x, 1, 2);
  fnz_wrapper_destroy(other);
  end(&s);
}
END_TEST

/* A view of a storage that was written reads what it holds now. */
START_TEST(new_views_are_current) {
  stage s;
  begin(&s);
  fnz_tensor *x = counting(&s, 3);
  for (int i = 0; i < 3; i++)
    call(&s, "add_.Tensor", ARGS(tensor(x), number(1)));
  fnz_tensor *v = call(&s, "slice.Tensor", ARGS(tensor(x), number(0), number(2)));
  ck_assert_uint_eq(fnz_tensor_version(v), 3);
  HOLDS(v, 6);
  end(&s);
}
END_TEST

/* Two views made before either write: the later write wins where they overlap. */
START_TEST(pending_writes_keep_their_order) {
  stage s;
  begin(&s);
  fnz_tensor *x = counting(&s, 4);
  fnz_tensor *a = call(&s, "slice.Tensor", ARGS(tensor(x), number(0), number(0), number(3)));
  fnz_tensor *b = call(&s, "slice.Tensor", ARGS(tensor(x), number(0), number(2), number(4)));
  call(&s, "fill_.Scalar", ARGS(tensor(a), number(7)));
  call(&s, "mul_.Tensor", ARGS(tensor(b), number(2)));
  HOLDS(x, 7, 7, 14, 8);
  HOLDS(a, 7, 7, 14);
  end(&s);
}
END_TEST

/* The element type of the target stays; its size does too, or the write is refused. */
START_TEST(targets_stay_as_they_are) {
  stage s;
  fnz_tensor *out = NULL;
  begin(&s);
  fnz_tensor *x = counting(&s, 4), *y = counting(&s, 3);
  call(&s, "ge_.Scalar", ARGS(tensor(x), number(2)));
  ck_assert_int_eq(fnz_tensor_geometry(x)->dtype, FNZ_F32);
  HOLDS(x, 0, 1, 1, 1);
  FAILS(s.ctx, "BOUNDS", try_call(&s, "add_.Tensor", ARGS(tensor(x), tensor(y)), &out));
  fnz_tensor *wide = call(&s, "unsqueeze", ARGS(tensor(x), number(1)));
  FAILS(s.ctx, "OVERLAP", try_call(&s, "add_.Tensor", ARGS(tensor(x), tensor(wide)), &out));
  HOLDS(x, 0, 1, 1, 1);
  ck_assert_uint_eq(fnz_tensor_version(x), 1);
  end(&s);
}
END_TEST

/* An out= argument of other sizes over its operand is refused as it is; it is not known what sizes
 * the result has. */
START_TEST(targets_are_not_resized_over_operands) {
  stage s;
  fnz_tensor *out = NULL;
  begin(&s);
  fnz_tensor *x = counting(&s, 8);
  fnz_tensor *o =
      call(&s, "slice.Tensor", ARGS(tensor(x), number(0), number(0), number(8), number(4)));
  fnz_tensor *first = call(&s, "slice.Tensor", ARGS(tensor(x), number(0), number(0), number(1)));
  fnz_arg three = number(3);
  fnz_tensor *wide = call(&s, "expand", ARGS(tensor(first), list(&three, 1)));
  FAILS(s.ctx, "OVERLAP", try_call(&s, "neg.out", ARGS(tensor(wide), tensor(o)), &out));
  fnz_tensor *even =
      call(&s, "slice.Tensor", ARGS(tensor(x), number(0), number(0), number(8), number(2)));
  FAILS(s.ctx, "OVERLAP", try_call(&s, "neg.out", ARGS(tensor(even), tensor(first)), &out));
  HOLDS(x, 1, 2, 3, 4, 5, 6, 7, 8);
  ck_assert_uint_eq(fnz_tensor_geometry(first)->sizes[0], 1);
  end(&s);
}
END_TEST

/* Numbers, None and lists go through as they are; operators without a rule are refused by name. */
START_TEST(other_arguments) {
  stage s;
  fnz_tensor *out = NULL;
  begin(&s);
  fnz_tensor *x = counting(&s, 4);
  const fnz_arg none = {.tag = FNZ_ARG_NONE}, two[] = {tensor(x), tensor(x)};
  call(&s, "clamp_", ARGS(tensor(x), none, number(3)));
  HOLDS(x, 1, 2, 3, 3);
  HOLDS(call(&s, "cat", ARGS(list(two, 2))), 1, 2, 3, 3, 1, 2, 3, 3);
  FAILS(s.ctx, "UNSUPPORTED", try_call(&s, "_values", ARGS(tensor(x)), &out));
  ck_assert_ptr_nonnull(strstr(fnz_last_error(s.ctx)->message, "_values"));
  FAILS(s.ctx, "UNSUPPORTED", try_call(&s, "no_such_operator", ARGS(tensor(x)), &out));
  FAILS(s.ctx, "TYPE", try_call(&s, "add_.Tensor", ARGS(tensor(x)), &out));
  static const char *const says[] = {"`size` takes SymInt[] and got a tensor; the schema is view(",
                                     "`tensors` takes Tensor[] and got a list with an integer; ",
                                     "`tensors` takes Tensor[] and got a tensor; the schema is ",
                                     "`other` takes Tensor and got a list; the schema is add_."};
  const fnz_arg mixed[] = {tensor(x), number(1)};
  FAILS(s.ctx, "TYPE", try_call(&s, "view", ARGS(tensor(x), tensor(x)), &out));
  ck_assert_ptr_nonnull(strstr(fnz_last_error(s.ctx)->message, says[0]));
  FAILS(s.ctx, "TYPE", try_call(&s, "cat", ARGS(list(mixed, 2)), &out));
  ck_assert_ptr_nonnull(strstr(fnz_last_error(s.ctx)->message, says[1]));
  FAILS(s.ctx, "TYPE", try_call(&s, "cat", ARGS(tensor(x)), &out));
  ck_assert_ptr_nonnull(strstr(fnz_last_error(s.ctx)->message, says[2]));
  FAILS(s.ctx, "TYPE", try_call(&s, "add_.Tensor", ARGS(tensor(x), list(two, 2)), &out));
  ck_assert_ptr_nonnull(strstr(fnz_last_error(s.ctx)->message, says[3]));
  end(&s);
}
END_TEST

/* Over a recorder: unread values leave no node, and as_strided after a slice is not lost. */
START_TEST(only_what_is_read_is_asked_for) {
  fnz_context *ctx;
  fnz_backend *meta, *recorder;
  fnz_program *p;
  fnz_handle value;
  const int64_t four = 4, one = 1;
  const fnz_geometry g = {.dtype = FNZ_F32, .rank = 1, .sizes = &four, .strides = &one};
  const fnz_arg size = number(2), stride = number(1);
  fnz_tensor *x;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  OK(ctx, fnz_meta_backend_create(ctx, &meta));
  OK(ctx, fnz_recorder_create(ctx, meta, &recorder));
  OK(ctx, fnz_recorder_input(recorder, "x", &g, &value));
  stage s = {ctx, recorder, NULL};
  OK(ctx, fnz_wrapper_create(ctx, recorder, &s.wrapper));
  OK(ctx, fnz_tensor_wrap(s.wrapper, &g, value, &x));
  fnz_tensor *v = call(&s, "slice.Tensor", ARGS(tensor(x), number(0), number(1)));
  call(&s, "slice.Tensor", ARGS(tensor(v), number(0), number(1)));
  fnz_tensor *w =
      call(&s, "as_strided", ARGS(tensor(v), list(&size, 1), list(&stride, 1), number(0)));
  call(&s, "add_.Tensor", ARGS(tensor(w), number(1)));
  call(&s, "mul_.Tensor", ARGS(tensor(v), number(2)));
  fnz_handle output;
  OK(ctx, fnz_tensor_read(w, &output));
  OK(ctx, fnz_tensor_read(x, &value));
  ck_assert_int_eq(fnz_recorder_final(recorder, "y", value), FNZ_BAD_INPUT);
  OK(ctx, fnz_recorder_final(recorder, "x", value));
  ck_assert_int_eq(fnz_recorder_final(recorder, "x", value), FNZ_BAD_INPUT);
  OK(ctx, fnz_recorder_finish(recorder, &output, 1, &p));
  ck_assert_int_eq(fnz_program_output(p, 0).kind, FNZ_OUTPUT_INPUT_MUTATION);
  ck_assert_str_eq(fnz_program_output(p, 0).target, "x");
  ck_assert_int_eq(fnz_program_output(p, 1).kind, FNZ_OUTPUT_USER);
  ck_assert_int_eq(fnz_recorder_final(recorder, "x", value), FNZ_BAD_ARGUMENT);
  fnz_program *again;
  ck_assert_int_eq(fnz_recorder_finish(recorder, &value, 1, &again), FNZ_BAD_ARGUMENT);
  ck_assert_int_eq(fnz_recorder_input(recorder, "y", &g, &value), FNZ_BAD_ARGUMENT);
  fnz_arg argument = {.tag = FNZ_ARG_VALUE, .u.value = 1};
  size_t count;
  const fnz_request request = {fnz_op_find(NULL, "abs"), &argument, 1, NULL, ""};
  ck_assert_int_eq(recorder->apply(recorder->self, ctx, &request, &value, 1, &count),
                   FNZ_BAD_ARGUMENT);
  const fnz_stats stats = fnz_program_stats(p);
  ck_assert_uint_eq(stats.views, 0);
  ck_assert_uint_eq(stats.mutations, 0);
  ck_assert_uint_eq(stats.mutated, 1);
  ck_assert_uint_le(stats.nodes, 8); /* each: a copy, a computation, a scatter; two to read w */
  fnz_wrapper_destroy(s.wrapper);
  fnz_program_destroy(p);
  fnz_backend_destroy(recorder);
  fnz_backend_destroy(meta);
  fnz_context_destroy(ctx);
}
END_TEST

RUN_SUITE("tensor", writes_are_counted, set_moves_one_tensor, in_place_returns_its_argument,
          tensors_of_two_wrappers_do_not_mix, new_views_are_current,
          pending_writes_keep_their_order, targets_stay_as_they_are,
          targets_are_not_resized_over_operands, other_arguments, only_what_is_read_is_asked_for)
