/* checks: 12
 * The aliasing interpreter: the effect of each body on memory is written down beside it as a
 * functional body, and both must agree on every element, for all values. */
#include "tests/help/run_help.h"

static fnz_context *ctx;

static void open_context(void) {
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
}

static void close_context(void) {
  fnz_context_destroy(ctx);
}

typedef struct pair {
  const char *inputs, *original, *functional;
} pair;

static void agree(const pair *pairs, size_t count) {
  open_context();
  for (size_t i = 0; i < count; i++)
    if (compare_bodies(ctx, pairs[i].inputs, pairs[i].original, pairs[i].functional) != FNZ_OK)
      ck_abort_msg("pair %zu: %s: %s", i, fnz_last_error(ctx)->where, fnz_last_error(ctx)->message);
  close_context();
}
#define AGREE(pairs) agree(pairs, sizeof pairs / sizeof *pairs)

/* A body that reads through a view, and the same by its copying twin. */
START_TEST(views_read) {
  static const pair pairs[] = {
      {"%x: f32[2,3]", "%t: f32[3,2] stride(1,3) = t(%x)\n%r: f32[3,2] = relu(%t)\nreturn %r",
       "%t: f32[3,2] = t_copy(%x)\n%r: f32[3,2] = relu(%t)\nreturn %r"},
      {"%x: f32[4,3]", "%s: f32[3] offset(3) = select.int(%x, 0, 1)\nreturn %s",
       "%s: f32[3] = select_copy.int(%x, 0, 1)\nreturn %s"},
      {"%x: f32[7]", "%s: f32[3] stride(2) offset(1) = slice.Tensor(%x, 0, 1, -1, 2)\nreturn %s",
       "%s: f32[3] = slice_copy.Tensor(%x, 0, 1, -1, 2)\nreturn %s"},
      {"%x: f32[2,3]",
       "%t: f32[3,2] stride(1,3) = t(%x)\n%a: f32[3,2] stride(1,3) = to.dtype(%t, f32, "
       "memory_format=contiguous_format)\n%z: f32[3,2] stride(1,3) = zero_(%a)\nreturn",
       "%z: f32[2,3] = full([2, 3], 0.0)\nreturn %z input_mutation \"x\""},
      {"%x: f32[2,3,1,1]",
       "%a: f32[2,3,1,1] stride(3,1,3,3) = to.dtype(%x, f32, memory_format=channels_last)\n"
       "%z: f32[2,3,1,1] stride(3,1,3,3) = zero_(%a)\nreturn %x",
       "return %x"},
      {"%x: f32[3,4]", "%d: f32[3] stride(5) offset(1) = diagonal(%x, 1)\nreturn %d",
       "%d: f32[3] = diagonal_copy(%x, 1)\nreturn %d"},
      {"%x: f32[7]", "%u: f32[3,3] stride(2,1) = unfold(%x, 0, 3, 2)\nreturn %u",
       "%u: f32[3,3] = unfold_copy(%x, 0, 3, 2)\nreturn %u"},
      {"%x: f32[3,1]", "%e: f32[2,3,4] stride(0,1,0) = expand(%x, [2, -1, 4])\nreturn %e",
       "%e: f32[2,3,4] = expand_copy(%x, [2, -1, 4])\nreturn %e"},
      {"%x: f32[2,3,4]", "%p: f32[4,2,3] stride(1,12,4) = permute(%x, [-1, 0, 1])\nreturn %p",
       "%p: f32[4,2,3] = permute_copy(%x, [-1, 0, 1])\nreturn %p"},
      {"%x: f32[8]",
       "%a: f32[2,3] stride(4,1) offset(1) = as_strided(%x, [2, 3], [4, 1], 1)\nreturn %a",
       "%a: f32[2,3] = as_strided_copy(%x, [2, 3], [4, 1], 1)\nreturn %a"},
      {"%x: c64[3]",
       "%c: c64[3] = _conj(%x)\n%i: f32[3] stride(2) offset(1) = imag(%c)\n%r: f32[3] = "
       "relu(%i)\nreturn %r",
       "%v: f32[3,2] = view_as_real_copy(%x)\n%i: f32[3] = select_copy.int(%v, 1, 1)\n"
       "%n: f32[3] = _neg_view_copy(%i)\n%r: f32[3] = relu(%n)\nreturn %r"},
      {"%x: f32[2,4]", "%v: i32[2,4] = view.dtype(%x, i32)\n%r: i32[2,4] = neg(%v)\nreturn %r",
       "%v: i32[2,4] = view_copy.dtype(%x, i32)\n%r: i32[2,4] = neg(%v)\nreturn %r"},
      {"%x: f32[5]",
       "[%a: f32[2], %b: f32[2] offset(2), %c: f32[1] offset(4)] = split.Tensor(%x, 2)\nreturn %c, "
       "%a",
       "[%a: f32[2], %b: f32[2], %c: f32[1]] = split_copy.Tensor(%x, 2)\nreturn %c, %a"},
  };
  AGREE(pairs);
}
END_TEST

START_TEST(writes_reach_the_base) {
  static const pair pairs[] = {
      {"%x: f32[4]", "%a: f32[4] = add_.Tensor(%x, 1)\nreturn %a",
       "%a: f32[4] = add.Tensor(%x, 1)\nreturn %a input_mutation \"x\", %a"},
      {"%x: f32[4,3]",
       "%s: f32[3] offset(3) = select.int(%x, 0, 1)\n%m: f32[3] offset(3) = mul_.Tensor(%s, "
       "2)\nreturn %s",
       "%s: f32[3] = select_copy.int(%x, 0, 1)\n%m: f32[3] = mul.Tensor(%s, 2)\n"
       "%y: f32[4,3] = select_scatter(%x, %m, 0, 1)\nreturn %y input_mutation \"x\", %m"},
      {"%x: f32[2,3]",
       "%t: f32[3,2] stride(1,3) = t(%x)\n%r: f32[3,2] stride(1,3) = relu_(%t)\nreturn",
       "%t: f32[3,2] = t_copy(%x)\n%r: f32[3,2] = relu(%t)\n%y: f32[2,3] = t_copy(%r)\n"
       "return %y input_mutation \"x\""},
      {"%x: f32[3,1]",
       "%e: f32[3,4] stride(1,0) = expand(%x, [3, 4])\n%f: f32[3,4] stride(1,0) = fill_.Scalar(%e, "
       "2)\nreturn",
       "%f: f32[3,1] = fill.Scalar(%x, 2.0)\nreturn %f input_mutation \"x\""},
      {"%x: f32[4]", "%z: f32[4] = zero_(%x)\nreturn %x",
       "%z: f32[4] = full([4], 0.0)\nreturn %z input_mutation \"x\", %z"},
      {"%x: f32[2,3], %y: i64[3]", "%c: f32[2,3] = copy_(%x, %y)\nreturn",
       "%e: i64[2,3] = expand_copy(%y, [2, 3])\n%c: f32[2,3] = _to_copy(%e, dtype=f32)\n"
       "return %c input_mutation \"x\""},
      {"%x: c64[3]", "%c: c64[3] = _conj(%x)\n%m: c64[3] = mul_.Tensor(%c, %c)\nreturn",
       "%c: c64[3] = _conj_copy(%x)\n%m: c64[3] = mul.Tensor(%c, %c)\n%y: c64[3] = _conj_copy(%m)\n"
       "return %y input_mutation \"x\""},
      {"%x: f32[3], %y: f32[3], %o: f32[3]", "%r: f32[3] = add.out(%x, %y, out=%o)\nreturn %r",
       "%r: f32[3] = add.Tensor(%x, %y)\nreturn %r input_mutation \"o\", %r"},
      {"%x: f32[2,3]",
       "%l: f32[2,1] stride(3,1) offset(2) = slice.Tensor(%x, 1, 2)\n%a: f32[2,3] = "
       "add_.Tensor(%x, %l)\nreturn",
       "%l: f32[2,1] = slice_copy.Tensor(%x, 1, 2)\n%a: f32[2,3] = add.Tensor(%x, %l)\nreturn %a "
       "input_mutation \"x\""},
      {"%x: f32[2,3]",
       "%l: f32[2,1] stride(3,1) = slice.Tensor(%x, 1, 0, 1)\n%a: f32[2,3] = add_.Tensor(%x, "
       "%l)\nreturn",
       "%l: f32[2,1] = slice_copy.Tensor(%x, 1, 0, 1)\n%m: f32[2,1] = add.Tensor(%l, %l)\n"
       "%r: f32[2,2] = slice_copy.Tensor(%x, 1, 1, 3)\n%s: f32[2,2] = add.Tensor(%r, %m)\n"
       "%u: f32[2,3] = slice_scatter(%x, %m, 1, 0, 1)\n%y: f32[2,3] = slice_scatter(%u, %s, 1, 1, "
       "3)\n"
       "return %y input_mutation \"x\""},
      {"%x: f32[6]",
       "%t: f32[2,3] = view(%x, [2, 3])\n%u: f32[3,2] stride(1,3) = t_(%t)\n%a: f32[3,2] "
       "stride(1,3) = neg_(%t)\nreturn",
       "%t: f32[2,3] = view_copy(%x, [2, 3])\n%u: f32[3,2] = t_copy(%t)\n%n: f32[3,2] = neg(%u)\n"
       "%v: f32[2,3] = t_copy(%n)\n%y: f32[6] = view_copy(%v, [6])\nreturn %y input_mutation "
       "\"x\""},
  };
  AGREE(pairs);
}
END_TEST

/* Whether it is an alias is decided on eager strides: written through, the base must see it or not.
 */
START_TEST(maybe_views) {
  static const pair pairs[] = {
      {"%x: f32[2,3]", "%r: f32[6] = reshape(%x, [6])\n%n: f32[6] = neg_(%r)\nreturn",
       "%v: f32[6] = view_copy(%x, [6])\n%n: f32[6] = neg(%v)\n%y: f32[2,3] = view_copy(%n, [2, "
       "3])\n"
       "return %y input_mutation \"x\""},
      {"%x: f32[2,3]",
       "%t: f32[3,2] stride(1,3) = t(%x)\n%r: f32[6] = reshape(%t, [6])\n%n: f32[6] = "
       "neg_(%r)\nreturn %n",
       "%t: f32[3,2] = t_copy(%x)\n%v: f32[6] = view_copy(%t, [6])\n%n: f32[6] = neg(%v)\nreturn "
       "%n"},
      {"%x: f32[2,3]",
       "%t: f32[3,2] stride(1,3) = t(%x)\n%c: f32[3,2] = contiguous(%t)\n%n: f32[3,2] = "
       "neg_(%c)\nreturn %n",
       "%t: f32[3,2] = t_copy(%x)\n%n: f32[3,2] = neg(%t)\nreturn %n"},
      {"%x: f32[2,3]", "%c: f32[2,3] = contiguous(%x)\n%n: f32[2,3] = neg_(%c)\nreturn",
       "%n: f32[2,3] = neg(%x)\nreturn %n input_mutation \"x\""},
      {"%x: f32[3]", "%d: f32[3] = dropout(%x, 0.5, False)\n%n: f32[3] = neg_(%d)\nreturn",
       "%n: f32[3] = neg(%x)\nreturn %n input_mutation \"x\""},
      {"%x: f32[3]", "%d: f32[3] = to.dtype(%x, f32)\n%n: f32[3] = neg_(%d)\nreturn",
       "%n: f32[3] = neg(%x)\nreturn %n input_mutation \"x\""},
      {"%x: f32[3]", "%d: f64[3] = to.dtype(%x, f64)\n%n: f64[3] = neg_(%d)\nreturn %n",
       "%d: f64[3] = _to_copy(%x, dtype=f64)\n%n: f64[3] = neg(%d)\nreturn %n"},
      {"%x: f32[7]",
       "[%a: f32[3], %b: f32[3] offset(3), %c: f32[1] offset(6)] = chunk(%x, 3)\n%n: f32[3] "
       "offset(3) = neg_(%b)\nreturn",
       "%b: f32[3] = slice_copy.Tensor(%x, 0, 3, 6)\n%n: f32[3] = neg(%b)\n"
       "%y: f32[7] = slice_scatter(%x, %n, 0, 3, 6)\nreturn %y input_mutation \"x\""},
      {"%x: f32[7]",
       "[%a: f32[3], %b: f32[2] offset(3), %c: f32[2] offset(5)] = tensor_split.sections(%x, "
       "3)\nreturn %c",
       "%c: f32[2] = slice_copy.Tensor(%x, 0, 5)\nreturn %c"},
      {"%x: f32[2,3,4]", "%m: f32[3,4,2] stride(4,1,12) = movedim.int(%x, 0, -1)\nreturn %m",
       "%m: f32[3,4,2] = permute_copy(%x, [1, 2, 0])\nreturn %m"},
  };
  AGREE(pairs);
}
END_TEST

/* Several writes at once, and writes that the schema does not show. */
START_TEST(lists_and_statistics) {
  static const pair pairs[] = {
      {"%x: f32[3], %y: f32[2]", "_foreach_add_.Scalar([%x, %y], 1)\nreturn",
       "[%a: f32[3], %b: f32[2]] = _foreach_add.Scalar([%x, %y], 1)\nreturn %a input_mutation "
       "\"x\", %b input_mutation \"y\""},
      {"%x: f32[2], %y: f32[3,1]",
       "[%a: f32[3,2] stride(0,1), %b: f32[3,2] stride(1,0)] = broadcast_tensors([%x, %y])\n%s: "
       "f32[2] = select.int(%a, 0, 2)\n%n: f32[2] = neg_(%s)\nreturn %b",
       "%n: f32[2] = neg(%x)\n%b: f32[3,2] = expand_copy(%y, [3, 2])\nreturn %n input_mutation "
       "\"x\", %b"},
      {"%x: f32[2], %y: f32[3]",
       "[%a: f32[2,3] stride(1,0), %b: f32[2,3] stride(0,1)] = meshgrid.indexing([%x, %y], "
       "indexing=\"ij\")\nreturn %a, %b",
       "%u: f32[2,1] = view_copy(%x, [2, 1])\n%a: f32[2,3] = expand_copy(%u, [2, 3])\n"
       "%b: f32[2,3] = expand_copy(%y, [2, 3])\nreturn %a, %b"},
      {"%x: f32[3]", "_foreach_mul_.Scalar([%x, %x], 2)\nreturn",
       "%a: f32[3] = mul.Scalar(%x, 2)\n%b: f32[3] = mul.Scalar(%a, 2)\nreturn %b input_mutation "
       "\"x\""},
      {"%x: f32[3], %y: f32[2]",
       "[%a: f32[3], %b: f32[2]] = _foreach_add.Scalar([%x, %y], 1)\nreturn %b, %a",
       "[%a: f32[3], %b: f32[2]] = _foreach_add.Scalar([%x, %y], 1)\nreturn %b, %a"},
      {"%x: f32[2,3], %m: f32[3], %v: f32[3]",
       "%y: f32[2,3] = batch_norm(%x, None, None, %m, %v, True, 0.1, 1e-05, False)\nreturn %y",
       "%y: f32[2,3], %a: f32[3], %b: f32[3], %n: f32[3], %w: f32[3] = "
       "_native_batch_norm_legit_functional(%x, None, None, %m, %v, True, 0.1, 1e-05)\n"
       "return %n input_mutation \"m\", %w input_mutation \"v\", %y"},
  };
  AGREE(pairs);
}
END_TEST

/* An element that is shown twice is computed twice, except if that gives the same. */
START_TEST(own_places) {
  static const pair pairs[] = {
      {"%x: f32[3]",
       "%e: f32[2,3] stride(0,1) = expand(%x, [2, 3])\n_foreach_copy_([%e], [%e])\nreturn",
       "return"},
      {"%x: f32[3]",
       "%u: f32[2,2] stride(1,1) = unfold(%x, 0, 2, 1)\n%r: f32[2,2] stride(1,1) = "
       "relu_(%u)\nreturn",
       "%r: f32[3] = relu(%x)\nreturn %r input_mutation \"x\""},
      {"%x: f32[3]",
       "%u: f32[2,2] stride(1,1) = unfold(%x, 0, 2, 1)\n%r: f32[2,2] stride(1,1) = "
       "clip_(%u, 0, 0.5)\nreturn",
       "%r: f32[3] = clamp(%x, 0, 0.5)\nreturn %r input_mutation \"x\""},
      {"%x: f32[3]",
       "%u: f32[2,2] stride(1,1) = unfold(%x, 0, 2, 1)\n%r: f32[2,2] stride(1,1) = "
       "neg_(%u)\nreturn",
       "%a: f32[3] = neg(%x)\n%m: f32[1] = slice_copy.Tensor(%a, 0, 1, 2)\n"
       "%n: f32[1] = neg(%m)\n%y: f32[3] = slice_scatter(%a, %n, 0, 1, 2)\n"
       "return %y input_mutation \"x\""},
      {"%x: f32[5,2]", "%d: f32[5,2] = fill_diagonal_(%x, 3, True)\nreturn",
       "%f: f32[4] = full([4], 3.0)\n%y: f32[5,2] = as_strided_scatter(%x, %f, [4], [3])\n"
       "return %y input_mutation \"x\""},
      {"%x: f32[5,2]", "%d: f32[5,2] = fill_diagonal_(%x, 3)\nreturn",
       "%f: f32[2] = full([2], 3.0)\n%y: f32[5,2] = diagonal_scatter(%x, %f)\n"
       "return %y input_mutation \"x\""},
      {"%x: f32[3], %m: bool[2], %s: f32[2,2]",
       "%t: f32[2] stride(2) = select.int(%s, 1, 0)\n%h: f32[2] = slice.Tensor(%x, 0, 0, 2)\n"
       "%w: f32[2] = masked_scatter_(%h, %m, %t)\nreturn",
       "%t: f32[2] = select_copy.int(%s, 1, 0)\n%h: f32[2] = slice_copy.Tensor(%x, 0, 0, 2)\n"
       "%w: f32[2] = masked_scatter(%h, %m, %t)\n%y: f32[3] = slice_scatter(%x, %w, 0, 0, 2)\n"
       "return %y input_mutation \"x\""},
  };
  AGREE(pairs);
}
END_TEST

/* The target decides sizes and dtype of out= and in-place operators. */
START_TEST(targets_decide) {
  static const pair pairs[] = {
      {"%x: f32[3]",
       "%o: f64[3] = zeros([3], dtype=f64)\n%c: f64[3] = cumsum.out(%x, 0, out=%o)\nreturn %c",
       "%c: f64[3] = cumsum(%x, 0, dtype=f64)\nreturn %c"},
      {"%x: f32[3]",
       "%o: f64[6] = zeros([6], dtype=f64)\n%c: f64[6] = cat.out([%x, %x], out=%o)\nreturn %c",
       "%c: f32[6] = cat([%x, %x])\n%d: f64[6] = _to_copy(%c, dtype=f64)\nreturn %d"},
      {"%x: f32[3]",
       "%o: f64[] = zeros([], dtype=f64)\n%v: f64[] = var.correction_out(%x, [0], out=%o)\n"
       "return %v",
       "%d: f64[3] = _to_copy(%x, dtype=f64)\n%v: f64[] = var.correction(%d, [0])\nreturn %v"},
      {"%x: i32[2]", "%z: i32[2] = zeros.out([2], out=%x)\nreturn",
       "%z: i32[2] = zeros([2], dtype=i32)\nreturn %z input_mutation \"x\""},
      {"%x: f32[3]", "%c: f32[3] = cumsum.out(%x, 0, out=%x)\nreturn",
       "%c: f32[3] = cumsum(%x, 0)\nreturn %c input_mutation \"x\""},
      {"%x: c64[2,2]",
       "%h: c64[2,2] stride(1,2) = mH(%x)\n%a: c64[2,2] = add_.Tensor(%x, %h)\nreturn",
       "%t: c64[2,2] stride(1,2) = transpose_copy.int(%x, 0, 1)\n"
       "%h: c64[2,2] stride(1,2) = _conj_copy(%t)\n%a: c64[2,2] = add.Tensor(%x, %h)\n"
       "return %a input_mutation \"x\""},
      {"%x: i32[3]", "%c: i32[3] = cumsum_(%x, 0)\nreturn",
       "%c: i32[3] = cumsum(%x, 0, dtype=i32)\nreturn %c input_mutation \"x\""},
      {"%x: i64[3]", "%c: i64[3] = cumsum_(%x, 0)\nreturn",
       "%c: i64[3] = cumsum(%x, 0)\nreturn %c input_mutation \"x\""},
      {"%x: f32[2,3]",
       "%o: f32[4] = full([4], 1.0)\n%v: f32[2,2] = view(%o, [2, 2])\n"
       "%n: f32[3] = sum.IntList_out(%x, [0], out=%o)\nreturn %v",
       "%v: f32[2,2] = full([2, 2], 1.0)\n%n: f32[3] = sum.dim_IntList(%x, [0])\n"
       "%w: f32[4] = view_copy(%v, [4])\n%u: f32[4] = slice_scatter(%w, %n, 0, 0, 3)\n"
       "%y: f32[2,2] = view_copy(%u, [2, 2])\nreturn %y"},
      /* a resized target is laid out like the operands, whatever the trace records */
      {"%x: f32[3,4], %y: f32[3,4]",
       "%o: f32[12] = full([12], 0, dtype=f32)\n%z: f32[0] = slice.Tensor(%o, 0, 0, 0)\n"
       "%t: f32[4,3] stride(1,4) = t(%x)\n%u: f32[4,3] stride(1,4) = t(%y)\n"
       "%r: f32[4,3] = add.out(%t, %u, out=%z)\nreturn %o, %r",
       "%t: f32[4,3] = t_copy(%x)\n%u: f32[4,3] = t_copy(%y)\n%a: f32[4,3] = add.Tensor(%t, %u)\n"
       "%p: f32[3,4] = t_copy(%a)\n%o: f32[12] = view_copy(%p, [12])\nreturn %o, %a"},
      {"%x: f32[3,1], %y: f32[1,4]",
       "%o: f32[12] = full([12], 0, dtype=f32)\n%z: f32[0] = slice.Tensor(%o, 0, 0, 0)\n"
       "%r: f32[3,4] = add.out(%x, %y, out=%z)\nreturn %o, %r",
       "%a: f32[3,4] = add.Tensor(%x, %y)\n%o: f32[12] = view_copy(%a, [12])\nreturn %o, %a"},
  };
  AGREE(pairs);
}
END_TEST

/* The second program may write as well. */
START_TEST(both_may_write) {
  static const pair pairs[] = {
      {"%x: f32[3]", "%a: f32[3] = relu_(%x)\nreturn %a", "%a: f32[3] = relu_(%x)\nreturn %x"},
      {"%x: f32[3]", "%a: f32[3] = relu_(%x)\nreturn %a",
       "%a: f32[3] = relu(%x)\n%b: f32[3] = copy_(%x, %a)\nreturn %x"},
  };
  AGREE(pairs);
}
END_TEST

/* A comparison that cannot fail proves nothing. */
START_TEST(differences_are_seen) {
  static const pair pairs[] = {
      {"%x: f32[4]", "%a: f32[4] = add_.Tensor(%x, 1)\nreturn %a",
       "%a: f32[4] = add.Tensor(%x, 1)\nreturn %a"},
      {"%x: f32[4]", "%a: f32[4] = add_.Tensor(%x, 1)\nreturn %a",
       "%a: f32[4] = add.Tensor(%x, 2)\nreturn %a input_mutation \"x\", %a"},
      {"%x: f32[2,2]", "%t: f32[2,2] stride(1,2) = t(%x)\nreturn %t",
       "%t: f32[2,2] = clone(%x)\nreturn %t"},
      {"%x: f32[4]", "%a: f32[4] = relu(%x)\nreturn %a, %a", "%a: f32[4] = relu(%x)\nreturn %a"},
  };
  open_context();
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    fnz_status status =
        compare_bodies(ctx, pairs[i].inputs, pairs[i].original, pairs[i].functional);
    ck_assert_int_eq(status, FNZ_DIFFERENT);
    ck_assert_str_eq(fnz_class_name(fnz_last_error(ctx)->kind), "DIFFERENT");
  }
  close_context();
}
END_TEST

static void pass_refuses(const char *class_name, const char *inputs, const char *body) {
  fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  fnz_program *p = program_of(ctx, inputs, body), *functional;
  if (fnz_functionalize(ctx, p, &options, &functional) == FNZ_OK)
    ck_abort_msg("the pass accepts %s", body);
  if (strcmp(fnz_class_name(fnz_last_error(ctx)->kind), class_name) != 0)
    ck_abort_msg("the pass says %s of %s", fnz_class_name(fnz_last_error(ctx)->kind), body);
  fnz_program_destroy(p);
}

typedef struct refusal {
  const char *class_name, *inputs, *body;
} refusal;

static void refuse_all(const refusal *rows, size_t count) {
  open_context();
  for (size_t i = 0; i < count; i++) {
    fnz_arrays *out;
    OK(ctx, fnz_arrays_create(ctx, &out));
    ck_assert_int_ne(run_body(ctx, rows[i].inputs, rows[i].body, false, out), FNZ_OK);
    if (strcmp(fnz_class_name(fnz_last_error(ctx)->kind), rows[i].class_name) != 0)
      ck_abort_msg("row %zu: %s: %s", i, fnz_class_name(fnz_last_error(ctx)->kind),
                   fnz_last_error(ctx)->message);
    ck_assert_str_ne(fnz_last_error(ctx)->where, "");
    fnz_arrays_destroy(out);
    if (strcmp(rows[i].class_name, "UNSUPPORTED") != 0) /* by the backend, which hashes elements */
      pass_refuses(rows[i].class_name, rows[i].inputs, rows[i].body);
  }
  close_context();
}

/* Cases that eager refuses, or would decide by the order of its loop: the pass refuses them too. */
START_TEST(refusals) {
  static const refusal rows[] = {
      {"OVERLAP", "%x: f32[2,2]", "%m: f32[2,2] = mm.out(%x, %x, out=%x)\nreturn"},
      {"TYPE", "%x: f32[2]",
       "%z: i32[4] = zeros([4], dtype=i32)\n%c: i32[4] = cat.out([%x, %x], out=%z)\nreturn"},
      {"OVERLAP", "%x: f32[3,1]",
       "%e: f32[3,2] stride(1,0) = expand(%x, [3, 2])\n%a: f32[3,2] stride(1,0) = "
       "neg_(%e)\nreturn"},
      {"OVERLAP", "%x: f32[5]",
       "%a: f32[4] = slice.Tensor(%x, 0, 0, 4)\n%b: f32[4] offset(1) = slice.Tensor(%x, 0, 1)\n"
       "%c: f32[4] offset(1) = add_.Tensor(%b, %a)\nreturn"},
      {"OVERLAP", "%x: f32[5]",
       "%u: f32[4,2] stride(1,1) = unfold(%x, 0, 2, 1)\n%n: f32[4,2] stride(1,1) = "
       "cumsum_(%u, 0)\nreturn"},
      {"OVERLAP", "%x: f32[3,1]",
       "%e: f32[3,2] stride(1,0) = expand(%x, [3, 2])\n%a: f32[3,2] stride(1,0) = "
       "relu_(%e)\nreturn"},
      {"OVERLAP", "%x: f32[3,1], %y: f32[]",
       "%e: f32[3,2] stride(1,0) = expand(%x, [3, 2])\n%a: f32[3,2] stride(1,0) = "
       "fill_.Tensor(%e, %y)\nreturn"},
      {"OVERLAP", "%x: f32[3], %m: bool[3]",
       "%v: f32[3,1] = view(%x, [3, 1])\n%s: f32[3] = masked_scatter_(%x, %m, %v)\nreturn"},
      {"OVERLAP", "%x: f32[4]",
       "%l: f32[2] = slice.Tensor(%x, 0, 0, 2)\n%n: f32[4] = neg.out(%x, out=%l)\nreturn"},
      {"OVERLAP", "%x: f32[2,9]",
       "%l: f32[2,1] stride(9,1) = slice.Tensor(%x, 1, 0, 1)\n%a: f32[2,9] = add_.Tensor(%x, "
       "%l)\nreturn"},
      {"OVERLAP", "%x: f32[2,2]",
       "%l: f32[1,2] offset(2) = slice.Tensor(%x, 0, 1)\n%u: f32[1,1,2] offset(2) = unsqueeze(%l, "
       "0)\n%c: f32[2,2] = copy_(%x, %u)\nreturn"},
      {"OVERLAP", "%x: f32[2,2]",
       "%l: f32[1,2] offset(2) = slice.Tensor(%x, 0, 1)\n%u: f32[1,1,2] offset(2) = unsqueeze(%l, "
       "0)\n%a: f32[2,2] = add_.Tensor(%x, %u)\nreturn"},
      {"OVERLAP", "%x: f32[2]",
       "%l: f32[1] = slice.Tensor(%x, 0, 0, 1)\n%h: f32[1] offset(1) = slice.Tensor(%x, 0, 1)\n"
       "%a: f32[2] = add.out(%h, %x, out=%l)\nreturn"},
      {"TYPE", "%x: i64[3]", "%a: i64[3] = add_.Tensor(%x, 1.5)\nreturn"},
      {"BOUNDS", "%x: f32[3], %y: f32[2,3]", "%a: f32[3] = add_.Tensor(%x, %y)\nreturn"},
      {"OVERLAP", "%x: f32[3,2]",
       "%l: f32[2,2] = slice.Tensor(%x, 0, 0, 2)\n%a: f32[2,2] = add.out(%l, %x, out=%l)\nreturn"},
      {"BOUNDS", "%x: f32[2], %y: f32[7,0], %o: f32[2]",
       "%a: f32[2] = add.out(%x, %y, out=%o)\nreturn"},
      {"BOUNDS", "%x: f32[3], %y: f32[1,3]", "%c: f32[3] = copy_(%x, %y)\nreturn"},
      {"BOUNDS", "%x: f32[2,3]",
       "%t: f32[3,2] stride(1,3) = t(%x)\n%v: f32[6] = view(%t, [6])\nreturn %v"},
      {"BOUNDS", "%x: f32[4]", "%a: f32[3] offset(3) = as_strided(%x, [3], [1], 3)\nreturn %a"},
      {"BOUNDS", "%x: f32[2,2,8]",
       "%s: f32[2,2,2] stride(16,8,1) offset(6) = slice.Tensor(%x, 2, 6, 8)\n"
       "%u: f32[2,8] stride(16,1) = select.int(%x, 1, 0)\n"
       "%v: f32[1,2,8] stride(32,16,1) = unsqueeze(%u, 0)\n"
       "%a: f32[1,2,8] stride(32,16,1) = add.out(%v, %s, out=%v)\nreturn"},
      {"UNSUPPORTED", "%x: f32[4]", "%v: i32[4] = view.dtype(%x, i32)\nreturn %v"},
  };
  refuse_all(rows, sizeof rows / sizeof *rows);
}
END_TEST

/* Eager compares operands with the target before it resizes the target, and reads elements that it
 * has written since. */
START_TEST(resized_over_operands) {
  static const refusal rows[] = {
      {"OVERLAP", "%x: f32[8]",
       "%a: f32[1,3] stride(1,2) offset(2) = as_strided(%x, [1, 3], [1, 2], 2)\n"
       "%o: f32[1] = slice.Tensor(%x, 0, 0, 1)\n%r: f32[1,3] = tril.out(%a, out=%o)\nreturn"},
      {"OVERLAP", "%x: f32[12]",
       "%a: f32[3,3] stride(1,3) offset(2) = as_strided(%x, [3, 3], [1, 3], 2)\n"
       "%o: f32[1] offset(1) = slice.Tensor(%x, 0, 1, 2)\n"
       "%r: f32[3] offset(1) = prod.int_out(%a, 0, out=%o)\nreturn"},
      {"OVERLAP", "%x: f32[8]",
       "%a: f32[3,2] stride(2,1) offset(2) = as_strided(%x, [3, 2], [2, 1], 2)\n"
       "%o: f32[1] = slice.Tensor(%x, 0, 0, 1)\n%r: f32[3,2] = sigmoid.out(%a, out=%o)\nreturn"},
      {"OVERLAP", "%x: f32[7]",
       "%a: f32[3,1] stride(2,1) = as_strided(%x, [3, 1], [2, 1], 0)\n"
       "%b: f32[] offset(1) = select.int(%x, 0, 1)\n%o: f32[] offset(1) = select.int(%x, 0, 1)\n"
       "%r: f32[3,1] offset(1) = add.out(%a, %b, out=%o)\nreturn"},
      {"OVERLAP", "%x: f32[8]",
       "%a: f32[2,2] stride(2,2) offset(1) = as_strided(%x, [2, 2], [2, 2], 1)\n"
       "%o: f32[1] = slice.Tensor(%x, 0, 0, 1)\n%r: f32[2,2] = mm.out(%a, %a, out=%o)\nreturn"},
      {"OVERLAP", "%x: f32[4], %y: f32[1,3]",
       "%o: f32[1,1] = as_strided(%x, [1, 1], [1, 1], 0)\n"
       "%r: f32[1,3] = mm.out(%o, %y, out=%o)\nreturn"},
      {"OVERLAP", "%x: f32[3,2], %o: f32[4]",
       "%b: f32[1] = slice.Tensor(%o, 0, 0, 1)\n%c: f32[1] offset(1) = slice.Tensor(%o, 0, 1, 2)\n"
       "%m: f32[2], %n: f32[2] offset(1) = aminmax.out(%x, dim=0, min=%b, max=%c)\nreturn"},
  };
  refuse_all(rows, sizeof rows / sizeof *rows);
}
END_TEST

/* Operators that PyTorch derives from the functional operator are computed before anything is
 * resized. */
START_TEST(resized_after_reading) {
  static const pair pairs[] = {
      {"%x: f32[4]",
       "%t: f32[3] offset(1) = slice.Tensor(%x, 0, 1)\n%o: f32[1] = slice.Tensor(%x, 0, 0, 1)\n"
       "%f: f32[3] = flip.out(%t, [0], out=%o)\nreturn",
       "%t: f32[3] = slice_copy.Tensor(%x, 0, 1)\n%f: f32[3] = flip(%t, [0])\n"
       "%l: f32[1] = slice_copy.Tensor(%x, 0, 3)\n%c: f32[4] = cat([%f, %l])\n"
       "return %c input_mutation \"x\""},
  };
  AGREE(pairs);
}
END_TEST

/* set_ and resize_ change what a tensor looks at; same size does nothing. */
START_TEST(other_memory) {
  static const pair pairs[] = {
      {"%x: f32[2,3], %y: f32[4]",
       "%s: f32[4] = set_.source_Tensor(%x, %y)\n%n: f32[4] = neg_(%x)\nreturn %x",
       "%n: f32[4] = neg(%y)\nreturn %n input_mutation \"x\", %n input_mutation \"y\", %n"},
      {"%x: f32[2,3]",
       "%c: f32[2,3] = clone(%x)\n%t: f32[3,2] stride(1,3) = t_(%c)\n%r: f32[3,2] stride(1,3) = "
       "resize_(%c, [3, 2])\nreturn %r",
       "%t: f32[3,2] = t_copy(%x)\nreturn %t"},
      {"%x: f32[4]", "%c: f32[4] = clone(%x)\n%r: f32[6] = resize_(%c, [6])\nreturn %r",
       "%r: f32[6] = resize(%x, [6])\nreturn %r"},
  };
  AGREE(pairs);
}
END_TEST

RUN_SUITE("original", views_read, writes_reach_the_base, maybe_views, lists_and_statistics,
          own_places, targets_decide, both_may_write, differences_are_seen, refusals,
          resized_over_operands, resized_after_reading, other_memory)
