/* elements_memory.c - whose memory results lie in: views, bases that are written again, lists, and
 * what runs out. */
#include "tests/kernels/elements.h"

/* Only signs change: 0x7fa1 is no number in half types, and keeps its payload. */
START_TEST(lazy_signs) {
  desk d = open_desk();
  fnz_handle bits = MAKE(I16, SIZES(3), NUMBERS(0x7fa1, 1, -0x8000));
  const fnz_dtype halves[] = {FNZ_F16, FNZ_BF16};
  for (int k = 0; k < 2; k++) {
    fnz_handle half = call(&d, "view_copy.dtype", ARGS(T(bits), D(halves[k])));
    fnz_handle turned = call(&d, "_neg_view_copy", ARGS(T(half)));
    IS("view_copy.dtype", ARGS(T(turned), D(FNZ_I16)), I16, SIZES(3), NUMBERS(-0x5f, -0x7fff, 0));
    REFUSED(&d, "TYPE", "_conj_copy", ARGS(T(half)));
  }
  fnz_handle parts = MAKE(I16, SIZES(1, 2), NUMBERS(0x3c00, 0x7fa1));
  fnz_handle real = call(&d, "view_copy.dtype", ARGS(T(parts), D(FNZ_F16)));
  fnz_handle c = call(&d, "view_as_complex_copy", ARGS(T(real)));
  fnz_handle conj = call(&d, "view_as_real_copy", ARGS(T(call(&d, "_conj_copy", ARGS(T(c))))));
  IS("view_copy.dtype", ARGS(T(conj), D(FNZ_I16)), I16, SIZES(1, 2), NUMBERS(0x3c00, -0x5f));
  fnz_handle neg = call(&d, "view_as_real_copy", ARGS(T(call(&d, "_neg_view_copy", ARGS(T(c))))));
  IS("view_copy.dtype", ARGS(T(neg), D(FNZ_I16)), I16, SIZES(1, 2), NUMBERS(-0x4400, -0x5f));
  fnz_handle wide = MAKE(F64, SIZES(2), NUMBERS(0, -1.5)),
             whole = MAKE(I32, SIZES(2), NUMBERS(5, -7));
  IS("_neg_view_copy", ARGS(T(wide)), F64, SIZES(2), NUMBERS(-0.0, 1.5));
  IS("_neg_view_copy", ARGS(T(whole)), I32, SIZES(2), NUMBERS(-5, 7));
  REFUSED(&d, "UNSUPPORTED", "_neg_view_copy",
          ARGS(T(call(&d, "view_copy.dtype", ARGS(T(bits), D(FNZ_F8_E5M2))))));
  close_desk(&d);
}
END_TEST

START_TEST(views_share_but_never_change) {
  desk d = open_desk();
  fnz_handle x = MAKE(F32, SIZES(2, 3), NUMBERS(1, 2, 3, 4, 5, 6));
  fnz_handle row = call(&d, "select_copy.int", ARGS(T(x), I(0), I(1)));
  fnz_handle z = MAKE(F32, SIZES(3), NUMBERS(0, 0, 0));
  ck_assert_ptr_eq(fnzi_krn_array_of(row)->storage, fnzi_krn_array_of(x)->storage);
  fnz_handle y = call(&d, "select_scatter", ARGS(LAST(x), T(z), I(0), I(1)));
  expect(&d, y, FNZ_F32, SIZES(2, 3), NUMBERS(1, 2, 3, 0, 0, 0));
  expect(&d, row, FNZ_F32, SIZES(3), NUMBERS(4, 5, 6));
  IS("add.Tensor", ARGS(LAST(row), T(row)), F32, SIZES(3), NUMBERS(8, 10, 12));
  expect(&d, x, FNZ_F32, SIZES(2, 3), NUMBERS(1, 2, 3, 4, 5, 6));
  close_desk(&d);
}
END_TEST

START_TEST(view_copies) {
  desk d = open_desk();
  fnz_handle x = MAKE(F32, SIZES(2, 3), NUMBERS(1, 2, 3, 4, 5, 6));
  fnz_handle turned = call(&d, "permute_copy", ARGS(T(x), LIST(I(1), I(0))));
  expect(&d, turned, FNZ_F32, SIZES(3, 2), NUMBERS(1, 4, 2, 5, 3, 6));
  IS("slice_copy.Tensor", ARGS(T(x), I(1), I(3)), F32, SIZES(2, 0), NOTHING);
  REFUSED(&d, "BOUNDS", "as_strided_copy", ARGS(T(x), LIST(I(2)), LIST(I(6)), I(1)));
  REFUSED(&d, "BOUNDS", "select_copy.int", ARGS(T(x), I(0), I(2)));
  close_desk(&d);
}
END_TEST

START_TEST(splits_give_several) {
  desk d = open_desk();
  fnz_handle x = MAKE(F32, SIZES(5), NUMBERS(1, 2, 3, 4, 5)), outputs[16];
  size_t count;
  OK(d.ctx, try_call(&d, "split_copy.Tensor", ARGS(T(x), I(2)), outputs, &count));
  ck_assert_uint_eq(count, 3);
  expect(&d, keep(&d, outputs[0]), FNZ_F32, SIZES(2), NUMBERS(1, 2));
  expect(&d, keep(&d, outputs[1]), FNZ_F32, SIZES(2), NUMBERS(3, 4));
  expect(&d, keep(&d, outputs[2]), FNZ_F32, SIZES(1), NUMBERS(5));
  close_desk(&d);
}
END_TEST

START_TEST(scatter_reuses_a_dying_base) {
  desk d = open_desk();
  fnz_handle x = MAKE(F32, SIZES(4), NUMBERS(1, 2, 3, 4)), v = MAKE(F32, SIZES(2), NUMBERS(8, 9));
  fnzi_krn_storage *storage = fnzi_krn_array_of(x)->storage;
  IS("slice_scatter", ARGS(T(x), T(v), I(0), I(1), I(3)), F32, SIZES(4), NUMBERS(1, 8, 9, 4));
  expect(&d, x, FNZ_F32, SIZES(4), NUMBERS(1, 2, 3, 4));
  fnz_handle y = call(&d, "slice_scatter", ARGS(LAST(x), T(v), I(0), I(1), I(3)));
  ck_assert_ptr_eq(fnzi_krn_array_of(y)->storage, storage);
  drop(&d, x);
  expect(&d, y, FNZ_F32, SIZES(4), NUMBERS(1, 8, 9, 4));
  close_desk(&d);
}
END_TEST

START_TEST(scatters_through_views) {
  desk d = open_desk();
  fnz_handle x = MAKE(F32, SIZES(3, 3), NUMBERS(0, 0, 0, 0, 0, 0, 0, 0, 0));
  fnz_handle v = MAKE(F32, SIZES(2), NUMBERS(8, 9));
  REFUSED(&d, "BOUNDS", "select_scatter", ARGS(T(x), T(v), I(0), I(0)));
  REFUSED(&d, "BOUNDS", "as_strided_scatter", ARGS(T(x), T(v), LIST(I(2)), LIST(I(9)), I(0)));
  close_desk(&d);
}
END_TEST

START_TEST(dying_operands_are_reused) {
  desk d = open_desk();
  fnz_handle x = MAKE(F32, SIZES(4), NUMBERS(1, 2, 3, 4)), one = MAKE(F32, SIZES(1), NUMBERS(1));
  fnzi_krn_storage *storage = fnzi_krn_array_of(x)->storage;
  fnz_handle y = call(&d, "add.Tensor", ARGS(LAST(x), LAST(one)));
  ck_assert_ptr_eq(fnzi_krn_array_of(y)->storage, storage);
  expect(&d, y, FNZ_F32, SIZES(4), NUMBERS(2, 3, 4, 5));
  drop(&d, x);
  fnz_handle z = call(&d, "gt.Scalar", ARGS(LAST(y), I(3)));
  expect(&d, z, FNZ_BOOL, SIZES(4), NUMBERS(0, 0, 1, 1));
  expect(&d, y, FNZ_F32, SIZES(4), NUMBERS(2, 3, 4, 5));
  close_desk(&d);
}
END_TEST

/* A base that is also what is written must not be written in place. */
START_TEST(a_source_is_no_dying_base) {
  desk d = open_desk();
  fnz_handle x = MAKE(F32, SIZES(3), NUMBERS(1, 2, 3)), k = MAKE(I64, SIZES(3), NUMBERS(2, 1, 0));
  IS("index_copy", ARGS(LAST(x), I(0), T(k), T(x)), F32, SIZES(3), NUMBERS(3, 2, 1));
  expect(&d, x, FNZ_F32, SIZES(3), NUMBERS(1, 2, 3));
  close_desk(&d);
}
END_TEST

START_TEST(copies) {
  desk d = open_desk();
  fnz_handle x = MAKE(F32, SIZES(2, 2), NUMBERS(1.5, 2.5, 3.5, 4.5)),
             row = MAKE(I64, SIZES(2), NUMBERS(7, 8));
  IS("copy", ARGS(T(row), T(call(&d, "select_copy.int", ARGS(T(x), I(0), I(0))))), I64, SIZES(2),
     NUMBERS(1, 2));
  IS("fill.Scalar", ARGS(T(row), F(2.7)), I64, SIZES(2), NUMBERS(2, 2));
  IS("fill.Tensor", ARGS(T(x), T(call(&d, "sum", ARGS(T(row))))), F32, SIZES(2, 2),
     NUMBERS(15, 15, 15, 15));
  REFUSED(&d, "ARGUMENT", "dropout", ARGS(T(x), F(0.5), B(true)));
  REFUSED(&d, "BOUNDS", "fill.Tensor", ARGS(T(x), T(row)));
  close_desk(&d);
}
END_TEST

START_TEST(lists_go_element_by_element) {
  desk d = open_desk();
  fnz_handle x = MAKE(F32, SIZES(2), NUMBERS(1, 2)), y = MAKE(F32, SIZES(1), NUMBERS(5)),
             outputs[16];
  size_t count;
  OK(d.ctx, try_call(&d, "_foreach_add.List", ARGS(LIST(T(x), T(y)), LIST(T(x), T(y)), I(2)),
                     outputs, &count));
  ck_assert_uint_eq(count, 2);
  expect(&d, keep(&d, outputs[0]), FNZ_F32, SIZES(2), NUMBERS(3, 6));
  expect(&d, keep(&d, outputs[1]), FNZ_F32, SIZES(1), NUMBERS(15));
  OK(d.ctx, try_call(&d, "_foreach_mul.ScalarList", ARGS(LIST(T(x), T(y)), LIST(F(2), F(3))),
                     outputs, &count));
  expect(&d, keep(&d, outputs[0]), FNZ_F32, SIZES(2), NUMBERS(2, 4));
  expect(&d, keep(&d, outputs[1]), FNZ_F32, SIZES(1), NUMBERS(15));
  OK(d.ctx,
     try_call(&d, "_foreach_add.Scalar", ARGS(LIST(LAST(x), LAST(x)), I(1)), outputs, &count));
  expect(&d, keep(&d, outputs[0]), FNZ_F32, SIZES(2), NUMBERS(2, 3));
  expect(&d, keep(&d, outputs[1]), FNZ_F32, SIZES(2), NUMBERS(2, 3));
  REFUSED(&d, "TYPE", "_foreach_add.List", ARGS(LIST(T(x), T(y)), LIST(T(x))));
  close_desk(&d);
}
END_TEST

START_TEST(what_is_recorded_must_hold) {
  desk d = open_desk();
  fnz_handle x = MAKE(F32, SIZES(2, 2), NUMBERS(1, 2, 3, 4)), out;
  size_t count;
  fnz_arg args[] = {T(x)};
  fnz_geometry turned = {.dtype = FNZ_F32, .rank = 2, .sizes = SIZES(2, 2), .strides = SIZES(1, 2)};
  fnz_geometry other = {.dtype = FNZ_F64, .rank = 2, .sizes = SIZES(2, 2), .strides = SIZES(2, 1)};
  const fnz_geometry *expected[] = {&turned};
  fnz_request c = {fnz_op_find(NULL, "neg"), args, 1, expected, ""};
  OK(d.ctx, d.cpu->apply(d.cpu->self, d.ctx, &c, &out, 1, &count));
  expect(&d, keep(&d, out), FNZ_F32, SIZES(2, 2), NUMBERS(-1, -2, -3, -4));
  ck_assert_int_eq(d.cpu->geometry(d.cpu->self, out)->strides[0], 1);
  expected[0] = &other;
  FAILS(d.ctx, "TYPE", d.cpu->apply(d.cpu->self, d.ctx, &c, &out, 1, &count));
  other.dtype = FNZ_F32;
  other.sizes = SIZES(2, 3);
  FAILS(d.ctx, "TYPE", d.cpu->apply(d.cpu->self, d.ctx, &c, &out, 1, &count));
  close_desk(&d);
}
END_TEST

/* Same results for any number of threads, bit for bit. */
START_TEST(threads_do_not_matter) {
  double cells[2] = {0};
  for (int threads = 1; threads <= 2; threads++) {
    desk d = open_desk();
    fnz_backend_destroy(d.cpu);
    OK(d.ctx, fnz_cpu_backend_create(d.ctx, threads, &d.cpu));
    fnz_handle x = call(&d, "linspace", ARGS(F(-3), F(3), I(100000)));
    fnz_handle y = call(&d, "tanh", ARGS(T(call(&d, "mul.Tensor", ARGS(T(x), T(x))))));
    fnz_handle sum = call(&d, "sum", ARGS(T(y), D(FNZ_F64)));
    OK(d.ctx, d.cpu->download(d.cpu->self, d.ctx, sum, &cells[threads - 1]));
    close_desk(&d);
  }
  ck_assert_mem_eq(&cells[0], &cells[1], sizeof cells[0]);
}
END_TEST

START_TEST(meta_knows_shapes) {
  desk d = open_desk();
  fnz_backend_destroy(d.cpu);
  OK(d.ctx, fnz_meta_backend_create(d.ctx, &d.cpu));
  fnz_handle x = MAKE(F32, SIZES(2, 3), NUMBERS(1, 2, 3, 4, 5, 6));
  fnz_handle y = call(&d, "sum.dim_IntList", ARGS(T(call(&d, "t_copy", ARGS(T(x)))), LIST(I(1))));
  const fnz_geometry *g = d.cpu->geometry(d.cpu->self, y);
  float cells[3];
  ck_assert_int_eq(g->rank, 1);
  ck_assert_int_eq(g->sizes[0], 3);
  FAILS(d.ctx, "UNSUPPORTED", d.cpu->download(d.cpu->self, d.ctx, y, cells));
  REFUSED(&d, "UNSUPPORTED", "index.Tensor",
          ARGS(T(x), LIST(T(MAKE(BOOL, SIZES(2), NUMBERS(1, 0))))));
  close_desk(&d);
}
END_TEST

/* --- Out of memory, at each allocation in turn ------------------------------------------- */
typedef struct meter {
  size_t left, live;
} meter;

static void *metered(void *user, void *p, size_t old_bytes, size_t new_bytes) {
  meter *m = user;
  if (new_bytes && m->left == 0)
    return NULL;
  if (new_bytes)
    m->left--;
  m->live += new_bytes - old_bytes;
  if (new_bytes)
    return realloc(p, new_bytes);
  free(p);
  return NULL;
}

static fnz_status one_of_each(fnz_context *ctx, fnz_backend *cpu) {
  static const float values[] = {1, 2, 3, 4, 5, 6};
  static const int64_t sizes[] = {2, 3}, strides[] = {1, 2};
  fnz_geometry g = {.dtype = FNZ_F32, .rank = 2, .sizes = sizes, .strides = strides};
  fnz_handle x = 0, out[16];
  size_t count = 0;
  FNZ_TRY(cpu->upload(cpu->self, ctx, &g, values, &x));
  const struct {
    const char *op;
    fnz_arg args[4];
    size_t nargs;
  } calls[] = {{"add.Tensor", {T(x), T(x)}, 2},
               {"sum.dim_IntList", {T(x), LIST(I(0))}, 2},
               {"view_copy", {T(x), LIST(I(6))}, 2},
               {"unbind_copy.int", {T(x)}, 1},
               {"cat", {LIST(T(x), T(x))}, 1},
               {"cumsum", {T(x), I(0)}, 2},
               {"as_strided_scatter", {T(x), T(x), LIST(I(2), I(3)), LIST(I(3), I(1))}, 4},
               {"_foreach_neg", {LIST(T(x), T(x))}, 1},
               {"roll", {T(x), LIST(I(1))}, 2}};
  fnz_status status = FNZ_OK;
  for (size_t i = 0; i < sizeof calls / sizeof *calls && status == FNZ_OK; i++) {
    fnz_request c = {fnz_op_find(NULL, calls[i].op), calls[i].args, calls[i].nargs, NULL, ""};
    status = cpu->apply(cpu->self, ctx, &c, out, 16, &count);
    for (size_t k = 0; k < count; k++)
      cpu->release(cpu->self, out[k]);
  }
  cpu->release(cpu->self, x);
  return status;
}

START_TEST(out_of_memory_leaks_nothing) {
  size_t failures = 0;
  for (size_t allowed = 0;; allowed++) {
    meter m = {allowed, 0};
    fnz_allocator allocator = {metered, &m};
    fnz_context *ctx = NULL;
    fnz_backend *cpu = NULL;
    fnz_status status = fnz_context_create(&allocator, &ctx);
    if (status == FNZ_OK)
      status = fnz_cpu_backend_create(ctx, 1, &cpu);
    if (status == FNZ_OK)
      status = one_of_each(ctx, cpu);
    fnz_backend_destroy(cpu);
    fnz_context_destroy(ctx);
    ck_assert_uint_eq(m.live, 0);
    if (status == FNZ_OK)
      break;
    ck_assert_int_eq(status, FNZ_NO_MEMORY);
    failures++;
  }
  ck_assert_uint_gt(failures, 15);
}
END_TEST

SUITE_PART(kernels_memory, lazy_signs, views_share_but_never_change, view_copies,
           splits_give_several, scatter_reuses_a_dying_base, scatters_through_views,
           a_source_is_no_dying_base, dying_operands_are_reused, copies,
           lists_go_element_by_element, what_is_recorded_must_hold, threads_do_not_matter,
           meta_knows_shapes, out_of_memory_leaks_nothing)
