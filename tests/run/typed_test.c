/* checks: 9
 * The generated functions of <fnz/ops.h>: each way in which a schema's type becomes a C type. */
#include "tests/help/faults.h"

#include <fnz/fnz.h>
#include <fnz/ops.h>

static fnz_context *ctx;
static fnz_backend *cpu;
static fnz_eager x; /* f32[2, 3]: 0 to 5 */

static fnz_eager tensor_of(fnz_dtype dtype, uint32_t rank, const int64_t *sizes,
                           const void *cells) {
  int64_t strides[4] = {1, 1, 1, 1};
  for (uint32_t d = rank; d-- > 1;)
    strides[d - 1] = strides[d] * sizes[d];
  const fnz_geometry g = {.dtype = dtype, .rank = rank, .sizes = sizes, .strides = strides};
  fnz_eager out = {cpu, 0};
  OK(ctx, cpu->upload(cpu->self, ctx, &g, cells, &out.handle));
  return out;
}

static void open_cpu(void) {
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  x = tensor_of(FNZ_F32, 2, (const int64_t[]){2, 3}, (const float[]){0, 1, 2, 3, 4, 5});
}

static void close_cpu(void) {
  fnz_eager_release(x);
  fnz_backend_destroy(cpu);
  fnz_context_destroy(ctx);
}

/* The f32 elements; the tensor ends. */
static void gives(fnz_eager tensor, size_t count, const float *want) {
  float have[16];
  ck_assert_ptr_nonnull(fnz_eager_geometry(tensor));
  ck_assert_int_eq(fnz_eager_geometry(tensor)->dtype, FNZ_F32);
  ck_assert_int_eq(fnz_geometry_numel(fnz_eager_geometry(tensor)), (int64_t)count);
  OK(ctx, cpu->download(cpu->self, ctx, tensor.handle, have));
  for (size_t i = 0; i < count; i++)
    ck_assert_float_eq(have[i], want[i]);
  fnz_eager_release(tensor);
}
#define GIVES(tensor, ...)                                                                         \
  gives(tensor, sizeof((const float[]){__VA_ARGS__}) / sizeof(float), (const float[]){__VA_ARGS__})

START_TEST(scalars) {
  open_cpu();
  fnz_eager y;
  OK(ctx, fnz_aten_add_Tensor(ctx, x, x, fnz_scalar_float(0.5), &y));
  GIVES(y, 0, 1.5f, 3, 4.5f, 6, 7.5f);
  const fnz_arg two = fnz_scalar_int(2), four = fnz_scalar_int(4);
  OK(ctx, fnz_aten_clamp(ctx, x, &two, NULL, &y));
  GIVES(y, 2, 2, 2, 3, 4, 5);
  OK(ctx, fnz_aten_clamp(ctx, x, &two, &four, &y));
  GIVES(y, 2, 2, 2, 3, 4, 4);
  close_cpu();
}
END_TEST

START_TEST(written_arguments) {
  open_cpu();
  fnz_eager out;
  OK(ctx, fnz_aten_add__Scalar(ctx, x, fnz_scalar_int(1), fnz_scalar_int(1)));
  OK(ctx, fnz_aten_empty_memory_format(ctx, cpu, NULL, 0, NULL, NULL, NULL, &out));
  OK(ctx, fnz_aten_neg_out(ctx, x, out)); /* resized: a scalar has one element, so it warns */
  GIVES(out, -1, -2, -3, -4, -5, -6);
  close_cpu();
}
END_TEST

START_TEST(lists_of_numbers) {
  open_cpu();
  fnz_eager y;
  OK(ctx, fnz_aten_sum_dim_IntList(ctx, x, (const int64_t[]){1}, 1, false, NULL, &y));
  GIVES(y, 3, 12);
  OK(ctx, fnz_aten_sum_dim_IntList(ctx, x, NULL, 0, true, NULL, &y)); /* None: all */
  ck_assert_uint_eq(fnz_eager_geometry(y)->rank, 2);
  GIVES(y, 15);
  OK(ctx, fnz_aten_permute(ctx, x, (const int64_t[]){1, 0}, 2, &y));
  GIVES(y, 0, 3, 1, 4, 2, 5);
  close_cpu();
}
END_TEST

START_TEST(lists_of_tensors) {
  open_cpu();
  const fnz_eager pair[] = {x, x};
  fnz_eager y;
  OK(ctx, fnz_aten_cat(ctx, pair, 2, 0, &y));
  GIVES(y, 0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5);
  const int64_t last = 1;
  const fnz_eager index = tensor_of(FNZ_I64, 1, (const int64_t[]){1}, &last);
  const fnz_eager indices[] = {{NULL, 0}, index};
  OK(ctx, fnz_aten_index_Tensor(ctx, x, indices, 2, &y));
  GIVES(y, 1, 4);
  fnz_eager_release(index);
  close_cpu();
}
END_TEST

START_TEST(list_results) {
  open_cpu();
  fnz_eager pieces[3];
  size_t count;
  FAILS(ctx, "ARGUMENT", fnz_aten_split_Tensor(ctx, x, 1, 1, pieces, 2, &count));
  OK(ctx, fnz_aten_split_Tensor(ctx, x, 1, 1, pieces, 3, &count));
  ck_assert_uint_eq(count, 3);
  OK(ctx, fnz_aten_zero_(ctx, pieces[1])); /* a view: x shows it */
  for (size_t i = 0; i < count; i++)
    fnz_eager_release(pieces[i]);
  fnz_eager y;
  OK(ctx, fnz_aten_clone(ctx, x, NULL, &y));
  GIVES(y, 0, 0, 2, 3, 0, 5);
  close_cpu();
}
END_TEST

START_TEST(several_results) {
  open_cpu();
  fnz_eager values, indices;
  OK(ctx, fnz_aten_sort(ctx, x, 1, true, &values, &indices));
  ck_assert_int_eq(fnz_eager_geometry(indices)->dtype, FNZ_I64);
  fnz_eager_release(indices);
  GIVES(values, 2, 1, 0, 5, 4, 3);
  close_cpu();
}
END_TEST

START_TEST(without_tensors) {
  open_cpu();
  const fnz_dtype f32 = FNZ_F32;
  fnz_eager y;
  OK(ctx, fnz_aten_full(ctx, cpu, (const int64_t[]){2}, 1, fnz_scalar_int(7), &f32, "cpu", &y));
  GIVES(y, 7, 7);
  close_cpu();
}
END_TEST

START_TEST(texts_and_formats) {
  open_cpu();
  fnz_eager y;
  OK(ctx, fnz_aten_div_Tensor_mode(ctx, x, x, NULL, &y));
  fnz_eager_release(y);
  const float half = 2;
  const fnz_eager two = tensor_of(FNZ_F32, 0, NULL, &half);
  OK(ctx, fnz_aten_div_Tensor_mode(ctx, x, two, "floor", &y));
  GIVES(y, 0, 0, 1, 1, 2, 2);
  fnz_eager_release(two);
  const fnz_memory_format contiguous = FNZ_CONTIGUOUS_FORMAT;
  fnz_eager t;
  OK(ctx, fnz_aten_t(ctx, x, &t));
  OK(ctx, fnz_aten_clone(ctx, t, &contiguous, &y));
  ck_assert_int_eq(fnz_eager_geometry(y)->strides[0], 2);
  GIVES(y, 0, 3, 1, 4, 2, 5);
  OK(ctx, fnz_aten_clone(ctx, t, NULL, &y));
  ck_assert_int_eq(fnz_eager_geometry(y)->strides[0], 1);
  fnz_eager_release(y);
  fnz_eager_release(t);
  close_cpu();
}
END_TEST

static fnz_status some_calls(fnz_context *faulty, const void *user) {
  (void)user;
  fnz_backend *backend;
  fnz_eager y = {NULL, 0}, z = {NULL, 0};
  FNZ_TRY(fnz_cpu_backend_create(faulty, 1, &backend));
  fnz_status status =
      fnz_aten_full(faulty, backend, (const int64_t[]){2, 2}, 2, fnz_scalar_int(7), NULL, NULL, &y);
  if (status == FNZ_OK)
    status = fnz_aten_add_Tensor(faulty, y, y, fnz_scalar_int(1), &z);
  fnz_eager_release(y);
  fnz_eager_release(z);
  fnz_backend_destroy(backend);
  return status;
}

START_TEST(every_allocation_may_fail) {
  ck_assert_uint_gt(each_fault(some_calls, NULL), 4);
}
END_TEST

RUN_SUITE("typed", scalars, written_arguments, lists_of_numbers, lists_of_tensors, list_results,
          several_results, without_tensors, texts_and_formats, every_allocation_may_fail)
