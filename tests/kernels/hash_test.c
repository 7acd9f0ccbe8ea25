/* checks: 9
 * The backend of hashes: values whose hashes must be equal, and values whose hashes must differ. */
#include "tests/help/run_help.h"

static fnz_context *ctx;
static fnz_backend *hash;

static void open_hash(bool bytewise) {
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  OK(ctx, fnz_hash_backend_create(ctx, 3, bytewise, &hash));
}

static void close_hash(void) {
  fnz_backend_destroy(hash);
  fnz_context_destroy(ctx);
}

/* Cells of the output of a body, at most 256 words; returns how many bytes there were. */
static size_t output_cells(const char *inputs, const char *body, uint64_t cells[256]) {
  fnz_program *p = program_of(ctx, inputs, body);
  fnz_arrays *out;
  OK(ctx, fnz_arrays_create(ctx, &out));
  OK(ctx, fnz_run(ctx, p, hash, NULL, NULL, out));
  const fnz_array *array = fnz_arrays_find(out, "output.0");
  ck_assert_ptr_nonnull(array);
  ck_assert_uint_le(array->bytes, 256 * sizeof *cells);
  memcpy(cells, array->data, array->bytes);
  size_t bytes = array->bytes;
  fnz_arrays_destroy(out);
  fnz_program_destroy(p);
  return bytes;
}

static bool same(const char *inputs, const char *a, const char *b) {
  uint64_t cells[2][256];
  size_t bytes = output_cells(inputs, a, cells[0]);
  ck_assert_uint_gt(bytes, 0);
  ck_assert_uint_eq(output_cells(inputs, b, cells[1]), bytes);
  return memcmp(cells[0], cells[1], bytes) == 0;
}

START_TEST(constants) {
  open_hash(false);
  ck_assert(same("%x: f32[3]", "%a: f32[3] = zero(%x)\nreturn %a",
                 "%a: f32[3] = full([3], 0, dtype=f32)\nreturn %a"));
  ck_assert(same("%x: f32[3]", "%a: f32[3] = fill.Scalar(%x, 1)\nreturn %a",
                 "%a: f32[3] = ones([3])\nreturn %a"));
  ck_assert(
      !same("%x: f32[3]", "%a: f32[3] = zero(%x)\nreturn %a", "%a: f32[3] = ones([3])\nreturn %a"));
  ck_assert(!same("%x: f32[3]", "%a: f32[3] = zeros([3])\nreturn %a",
                  "%a: i32[3] = zeros([3], dtype=i32)\nreturn %a"));
  close_hash();
}
END_TEST

START_TEST(involutions) {
  for (int bytewise = 0; bytewise < 2; bytewise++) {
    open_hash(bytewise != 0);
    ck_assert(same("%x: c64[3]",
                   "%a: c64[3] = _conj_copy(%x)\n%b: c64[3] = _conj_copy(%a)\nreturn %b",
                   "return %x"));
    ck_assert(!same("%x: c64[3]", "%a: c64[3] = _conj_copy(%x)\nreturn %a", "return %x"));
    ck_assert(same("%x: f32[3]",
                   "%a: f32[3] = _neg_view_copy(%x)\n%b: f32[3] = _neg_view_copy(%a)\nreturn %b",
                   "return %x"));
    ck_assert(!same("%x: f32[3]", "%a: f32[3] = _neg_view_copy(%x)\nreturn %a", "return %x"));
    close_hash();
  }
}
END_TEST

/* The real part of a conjugate is that of the number, the imaginary part its negative. */
START_TEST(parts_of_a_conjugate) {
#define PART(input, k)                                                                             \
  "%v: f32[3,2] = view_as_real_copy(" input ")\n%p: f32[3] = select_copy.int(%v, 1, " k ")\n"
#define CONJ "%c: c64[3] = _conj_copy(%x)\n"
  open_hash(true);
  ck_assert(same("%x: c64[3]", CONJ PART("%c", "0") "return %p", PART("%x", "0") "return %p"));
  ck_assert(same("%x: c64[3]", CONJ PART("%c", "1") "return %p",
                 PART("%x", "1") "%n: f32[3] = _neg_view_copy(%p)\nreturn %n"));
  close_hash();
#undef CONJ
#undef PART
}
END_TEST

START_TEST(scatters) {
  open_hash(false);
  ck_assert(same("%x: f32[2,3], %y: f32[3]",
                 "%a: f32[2,3] = select_scatter(%x, %y, 0, 1)\n"
                 "%b: f32[3] = select_copy.int(%a, 0, 1)\nreturn %b",
                 "return %y"));
  ck_assert(same("%x: f32[2,3], %y: f32[2,1]",
                 "%a: f32[2,3] = slice_scatter(%x, %y, 1, 2)\n"
                 "%b: f32[2,2] = slice_copy.Tensor(%a, 1, 0, 2)\nreturn %b",
                 "%b: f32[2,2] = slice_copy.Tensor(%x, 1, 0, 2)\nreturn %b"));
  ck_assert(
      same("%x: f32[3,3], %y: f32[3]",
           "%a: f32[3,3] = diagonal_scatter(%x, %y)\n%b: f32[3] = diagonal_copy(%a)\nreturn %b",
           "return %y"));
  ck_assert(same("%x: f32[8], %y: f32[2,2]",
                 "%a: f32[8] = as_strided_scatter(%x, %y, [2, 2], [3, 1], 2)\n"
                 "%b: f32[2,2] = as_strided_copy(%a, [2, 2], [3, 1], 2)\nreturn %b",
                 "return %y"));
  close_hash();
}
END_TEST

/* Operators that stand for views move what these move. */
START_TEST(composites) {
  static const struct {
    const char *composite, *view;
  } rows[] = {
      {"%a: f32[2,4] = narrow(%x, 0, 1, 2)\nreturn %a",
       "%a: f32[2,4] = slice_copy.Tensor(%x, 0, 1, 3)\nreturn %a"},
      {"%a: f32[3,2,2] = unflatten.int(%x, 1, [2, 2])\nreturn %a",
       "%a: f32[3,2,2] = view_copy(%x, [3, 2, 2])\nreturn %a"},
      {"%a: f32[4,3] = swapaxes(%x, 0, 1)\nreturn %a",
       "%a: f32[4,3] = transpose_copy.int(%x, 0, 1)\nreturn %a"},
      {"[%b: f32[2,4], %a: f32[1,4] offset(8)] = chunk(%x, 2)\nreturn %a",
       "%a: f32[1,4] = slice_copy.Tensor(%x, 0, 2, 3)\nreturn %a"},
      {"%y: f32[2,3,4] = full([2, 3, 4], 0, dtype=f32)\n"
       "%a: f32[2,3,4] stride(0,4,1) = expand_as(%x, %y)\nreturn %a",
       "%a: f32[2,3,4] = expand_copy(%x, [2, 3, 4])\nreturn %a"},
      {"%a: f32[4,3] = movedim.int(%x, 0, 1)\nreturn %a",
       "%a: f32[4,3] = permute_copy(%x, [1, 0])\nreturn %a"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    open_hash(i % 2 != 0);
    ck_assert_msg(same("%x: f32[3,4]", rows[i].composite, rows[i].view), "%s", rows[i].composite);
    close_hash();
  }
}
END_TEST

START_TEST(casts) {
  open_hash(false);
  ck_assert(same("%x: f32[3], %y: f32[2,3]", "%a: f32[2,3] = copy(%y, %x)\nreturn %a",
                 "%a: f32[2,3] = expand_copy(%x, [2, 3])\nreturn %a"));
  ck_assert(same("%x: i64[3], %y: f32[3]", "%a: f32[3] = copy(%y, %x)\nreturn %a",
                 "%a: f32[3] = _to_copy(%x, dtype=f32)\nreturn %a"));
  ck_assert(!same("%x: i64[3]", "%a: f32[3] = _to_copy(%x, dtype=f32)\nreturn %a", "return %x"));
  close_hash();
}
END_TEST

/* Same operator, attributes and arguments: the same; anything else: not. */
START_TEST(opaque_operators) {
  static const char inputs[] = "%x: f32[2,2], %y: f32[2,2]";
  static const char base[] = "%a: f32[2,2] = add.Tensor(%x, %y)\nreturn %a";
  static const char *const others[] = {
      "%a: f32[2,2] = add.Tensor(%y, %x)\nreturn %a",
      "%a: f32[2,2] = add.Tensor(%x, %y, alpha=2)\nreturn %a",
      "%a: f32[2,2] = sub.Tensor(%x, %y)\nreturn %a",
      "%t: f32[2,2] = t_copy(%x)\n%a: f32[2,2] = add.Tensor(%t, %y)\nreturn %a",
  };
  open_hash(false);
  ck_assert(same(inputs, base, "%a: f32[2,2] = add.Tensor(%x, %y, alpha=1)\nreturn %a"));
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    ck_assert_msg(!same(inputs, base, others[i]), "body %zu", i);
  close_hash();
}
END_TEST

/* The result of an unknown function need not be stored; its parts, put together again, are. */
START_TEST(stored_or_not) {
  static const char inputs[] = "%x: f32[4]";
  static const char base[] = "%s: f32[4] = cumsum(%x, 0)\n%a: f32[4] = cumsum(%s, 0)\nreturn %a";
  static const struct {
    const char *whole;
    bool same;
  } rows[] = {
      {"[%l: f32[2], %r: f32[2]] = split_copy.Tensor(%s, 2)\n%w: f32[4] = cat([%l, %r])", true},
      {"[%l: f32[2], %r: f32[2]] = split_copy.Tensor(%s, 2)\n%w: f32[4] = cat([%r, %l])", false},
      {"%l: f32[2] = slice_copy.Tensor(%s, 0, 0, 2)\n"
       "%w: f32[4] = slice_scatter(%s, %l, 0, 0, 2)",
       true},
      {"%l: f32[2] = slice_copy.Tensor(%s, 0, 2, 4)\n"
       "%w: f32[4] = slice_scatter(%s, %l, 0, 0, 2)",
       false},
      {"%f: f32[4] = flip(%s, [0])\n%w: f32[4] = flip(%f, [0])", false},
  };
  for (size_t i = 0; i < 2 * (sizeof rows / sizeof *rows); i++) {
    char body[512];
    snprintf(body, sizeof body,
             "%%s: f32[4] = cumsum(%%x, 0)\n%s\n%%a: f32[4] = cumsum(%%w, 0)\nreturn %%a",
             rows[i / 2].whole);
    open_hash(i % 2 != 0);
    ck_assert_msg(same(inputs, base, body) == rows[i / 2].same, "%s", body);
    close_hash();
  }
}
END_TEST

START_TEST(sizes_must_be_known) {
  open_hash(false);
  const fnz_op *relu = fnz_op_find(NULL, "relu");
  int64_t size = 3, stride = 1;
  fnz_geometry g = {.dtype = FNZ_F32, .rank = 1, .sizes = &size, .strides = &stride};
  uint64_t cells[6] = {1, 2, 3, 4, 5, 6}, back[6];
  fnz_arg arg = {.tag = FNZ_ARG_VALUE};
  fnz_handle out;
  size_t count;
  OK(ctx, hash->upload(hash->self, ctx, &g, cells, &arg.u.value));
  OK(ctx, hash->download(hash->self, ctx, arg.u.value, back));
  ck_assert_mem_eq(cells, back, sizeof cells);
  fnz_request call = {relu, &arg, 1, NULL, ""};
  FAILS(ctx, "UNSUPPORTED", hash->apply(hash->self, ctx, &call, &out, 1, &count));
  hash->release(hash->self, arg.u.value);
  close_hash();
}
END_TEST

RUN_SUITE("hash", constants, involutions, parts_of_a_conjugate, scatters, composites, casts,
          opaque_operators, stored_or_not, sizes_must_be_known)
