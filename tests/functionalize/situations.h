/* situations.h - small programs that functionalization gets wrong elsewhere, with what eager
 * PyTorch gives, worked out by hand. Inputs hold 1, 2, 3 ... in row-major order; bool inputs start
 * with True and alternate; complex ones hold 1+2i, 2+3i ...
 *
 * `wants` names results, "x" for the final value of input x, "0" for output 0, and their numbers;
 * a complex number counts as two. */
#ifndef FNZ_TESTS_FUNCTIONALIZE_SITUATIONS_H
#define FNZ_TESTS_FUNCTIONALIZE_SITUATIONS_H

typedef struct situation {
  const char *name, *inputs, *body, *wants;
} situation;

static const situation situations[] = {
    /* --- plain writes --- */
    {"add", "%x: f32[4]", "%a: f32[4] = add_.Tensor(%x, 1)\nreturn %x", "x 2 3 4 5; 0 2 3 4 5"},
    {"a temporary is no input", "%x: f32[4]",
     "%y: f32[4] = add.Tensor(%x, 0)\n%a: f32[4] = add_.Tensor(%y, 1)\nreturn %x", "0 1 2 3 4"},
    {"self as operand", "%x: f32[4]", "%a: f32[4] = add_.Tensor(%x, %x)\nreturn %x",
     "x 2 4 6 8; 0 2 4 6 8"},
    {"a comparison keeps the type", "%x: f32[4]", "%a: f32[4] = ge_.Scalar(%x, 2)\nreturn %x",
     "x 0 1 1 1; 0 0 1 1 1"},
    {"a mask", "%x: f32[4]",
     "%m: bool[4] = gt.Scalar(%x, 2)\n%z: f32[] = full([], 0, dtype=f32)\n%i: f32[4] = "
     "index_put_(%x, [%m], %z)\nreturn %x",
     "x 1 2 0 0; 0 1 2 0 0"},
    {"None among the indices", "%x: f32[2,3]",
     "%u: f32[2,1,3] stride(3,3,1) = unsqueeze(%x, 1)\n%s: f32[2,1] stride(3,3) offset(1) = "
     "select.int(%u, 2, 1)\n%f: f32[2,1] stride(3,3) offset(1) = fill_.Scalar(%s, 9.0)\nreturn %x",
     "x 1 9 3 4 9 6; 0 1 9 3 4 9 6"},
    {"tril, cumsum, clamp", "%x: f32[3,3]",
     "%a: f32[3,3] = tril_(%x)\n%b: f32[3,3] = cumsum_(%x, 0)\n%c: f32[3,3] = clamp_(%x, None, "
     "8)\nreturn %x",
     "x 1 0 0 5 5 0 8 8 8; 0 1 0 0 5 5 0 8 8 8"},
    {"a casting copy", "%x: f32[2], %y: i64[2]", "%c: f32[2] = copy_(%x, %y)\nreturn %x",
     "x 1 2; 0 1 2"},
    {"an empty tensor", "%x: f32[0,3]",
     "%a: f32[0,3] = add_.Tensor(%x, 1)\n%s: f32[0,2] stride(3,1) offset(1) = slice.Tensor(%x, 1, "
     "1)\n%z: f32[0,2] stride(3,1) offset(1) = zero_(%s)\nreturn %x",
     "0"},

    /* --- one view, written through, base and view read --- */
    {"view -1", "%x: f32[2,3]",
     "%v: f32[6] = view(%x, [-1])\n%a: f32[6] = add_.Tensor(%v, 1)\nreturn %x, %v",
     "0 2 3 4 5 6 7; 1 2 3 4 5 6 7"},
    {"t", "%x: f32[2,3]",
     "%v: f32[3,2] stride(1,3) = t(%x)\n%a: f32[3,2] stride(1,3) = add_.Tensor(%v, 1)\nreturn %x, "
     "%v",
     "0 2 3 4 5 6 7; 1 2 5 3 6 4 7"},
    {"permute", "%x: f32[2,1,3]",
     "%v: f32[3,2,1] stride(1,3,3) = permute(%x, [2, 0, 1])\n%a: f32[3,2,1] stride(1,3,3) = "
     "add_.Tensor(%v, 1)\nreturn %x, %v",
     "0 2 3 4 5 6 7; 1 2 5 3 6 4 7"},
    {"swapaxes", "%x: f32[2,3]",
     "%v: f32[3,2] stride(1,3) = swapaxes(%x, 0, 1)\n%a: f32[3,2] stride(1,3) = add_.Tensor(%v, "
     "1)\nreturn %x",
     "0 2 3 4 5 6 7"},
    {"select from the end", "%x: f32[2,3]",
     "%v: f32[2] stride(3) offset(1) = select.int(%x, -1, -2)\n%a: f32[2] stride(3) offset(1) = "
     "add_.Tensor(%v, 1)\nreturn %x, %v",
     "0 1 3 3 4 6 6; 1 3 6"},
    {"narrow", "%x: f32[5]",
     "%v: f32[3] offset(1) = narrow(%x, 0, 1, 3)\n%a: f32[3] offset(1) = add_.Tensor(%v, "
     "1)\nreturn %x",
     "0 1 3 4 5 5"},
    {"a slice over the end", "%x: f32[6]",
     "%v: f32[3] offset(3) = slice.Tensor(%x, 0, -3, 100)\n%a: f32[3] offset(3) = add_.Tensor(%v, "
     "1)\nreturn %x",
     "0 1 2 3 5 6 7"},
    {"diagonal", "%x: f32[3,3]",
     "%v: f32[3] stride(4) = diagonal(%x)\n%a: f32[3] stride(4) = add_.Tensor(%v, 1)\nreturn %x",
     "0 2 2 3 4 6 6 7 8 10"},
    {"a lower diagonal", "%x: f32[3,4]",
     "%v: f32[2] stride(5) offset(4) = diagonal(%x, -1)\n%a: f32[2] stride(5) offset(4) = "
     "add_.Tensor(%v, 1)\nreturn %x",
     "0 1 2 3 4 6 6 7 8 9 11 11 12"},
    {"squeeze", "%x: f32[1,3,1]",
     "%v: f32[3] = squeeze(%x)\n%a: f32[3] = add_.Tensor(%v, 1)\nreturn %x", "0 2 3 4"},
    {"squeeze of a dimension that stays", "%x: f32[2,3]",
     "%v: f32[2,3] = squeeze.dim(%x, 0)\n%a: f32[2,3] = add_.Tensor(%v, 1)\nreturn %x",
     "0 2 3 4 5 6 7"},
    {"squeeze of a number", "%x: f32[]",
     "%v: f32[] = squeeze.dim(%x, 0)\n%a: f32[] = add_.Tensor(%v, 1)\nreturn %x", "0 2"},
    {"unsqueeze from the end", "%x: f32[2,3]",
     "%v: f32[2,3,1] = unsqueeze(%x, -1)\n%a: f32[2,3,1] = add_.Tensor(%v, 1)\nreturn %x",
     "0 2 3 4 5 6 7"},
    {"unflatten", "%x: f32[2,3]",
     "%v: f32[2,3,1] = unflatten.int(%x, 1, [3, 1])\n%a: f32[2,3,1] = add_.Tensor(%v, 1)\nreturn "
     "%x",
     "0 2 3 4 5 6 7"},
    {"imag", "%x: c64[2]",
     "%v: f32[2] stride(2) offset(1) = imag(%x)\n%a: f32[2] stride(2) offset(1) = add_.Tensor(%v, "
     "1)\nreturn %x, %v",
     "0 1 3 2 4; 1 3 4"},
    {"imag of a conjugate", "%x: c64[2]",
     "%c: c64[2] conj = conj(%x)\n%v: f32[2] stride(2) offset(1) neg = imag(%c)\n%a: f32[2] "
     "stride(2) offset(1) neg = add_.Tensor(%v, 1)\nreturn %x, %v",
     "0 1 1 2 2; 1 -1 -2"},
    {"real and complex views", "%x: c64[2]",
     "%r: f32[2,2] = view_as_real(%x)\n%v: f32[2] stride(2) = select.int(%r, 1, 0)\n%a: f32[2] "
     "stride(2) = add_.Tensor(%v, 1)\n%q: f32[2,2] = view_as_real(%x)\n%w: c64[2] = "
     "view_as_complex(%q)\n%m: c64[2] = mul_.Tensor(%w, 2)\nreturn %x",
     "0 4 4 6 6"},
    {"detach shares memory", "%x: f32[4]",
     "%v: f32[4] = detach(%x)\n%a: f32[4] = add_.Tensor(%v, 1)\nreturn %x, %v",
     "0 2 3 4 5; 1 2 3 4 5"},
    {"unfold that covers", "%x: f32[6]",
     "%v: f32[3,2] stride(2,1) = unfold(%x, 0, 2, 2)\n%a: f32[3,2] stride(2,1) = add_.Tensor(%v, "
     "1)\nreturn %x",
     "0 2 3 4 5 6 7"},
    {"unfold with a gap", "%x: f32[6]",
     "%v: f32[2,2] stride(3,1) = unfold(%x, 0, 2, 3)\n%a: f32[2,2] stride(3,1) = add_.Tensor(%v, "
     "1)\nreturn %x",
     "0 2 3 3 5 6 6"},
    {"unfold with a rest", "%x: f32[5]",
     "%v: f32[2,2] stride(2,1) = unfold(%x, 0, 2, 2)\n%a: f32[2,2] stride(2,1) = add_.Tensor(%v, "
     "1)\nreturn %x",
     "0 2 3 4 5 5"},
    {"as_strided", "%x: f32[6]",
     "%v: f32[2] stride(2) offset(1) = as_strided(%x, [2], [2], 1)\n%a: f32[2] stride(2) offset(1) "
     "= add_.Tensor(%v, 1)\nreturn %x",
     "0 1 3 3 5 5 6"},
    {"one row of an expand", "%x: f32[2]",
     "%e: f32[3,2] stride(0,1) = expand(%x, [3, 2])\n%v: f32[2] = select.int(%e, 0, 1)\n%a: f32[2] "
     "= add_.Tensor(%v, 1)\nreturn %x, %e",
     "0 2 3; 1 2 3 2 3 2 3"},
    {"one row of an expand, truth values", "%x: bool[2]",
     "%e: bool[3,2] stride(0,1) = expand(%x, [3, 2])\n%v: bool[2] = select.int(%e, 0, 1)\n%a: "
     "bool[2] = logical_not_(%v)\nreturn %x",
     "0 0 1"},

    /* --- chains, stale views, several aliases --- */
    {"three aliases", "%x: f32[4,2]",
     "%y: f32[8] = view(%x, [8])\n%z: f32[3,2] offset(2) = slice.Tensor(%x, 0, 1)\n%a: f32[8] = "
     "add_.Tensor(%y, 1)\n%m: f32[3,2] offset(2) = mul_.Tensor(%z, 2)\n%s: f32[2] = select.int(%x, "
     "0, 0)\n%b: f32[2] = sub_.Tensor(%s, 3)\nreturn %x, %y, %z",
     "0 -1 0 8 10 12 14 16 18; 1 -1 0 8 10 12 14 16 18; 2 8 10 12 14 16 18"},
    {"a view of a stale view", "%x: f32[4]",
     "%y: f32[3] offset(1) = slice.Tensor(%x, 0, 1)\n%a: f32[4] = add_.Tensor(%x, 1)\n%z: f32[2] "
     "offset(2) = slice.Tensor(%y, 0, 1)\n%m: f32[2] offset(2) = mul_.Tensor(%z, 3)\nreturn %x, "
     "%y, %z",
     "0 2 3 12 15; 1 3 12 15; 2 12 15"},
    {"a stale view goes out", "%x: f32[4]",
     "%y: f32[3] offset(1) = slice.Tensor(%x, 0, 1)\n%a: f32[4] = add_.Tensor(%x, 1)\nreturn %y",
     "0 3 4 5"},
    {"a long chain", "%x: f32[4,4]",
     "%d: f32[4] stride(5) = diagonal(%x)\n%s: f32[3] stride(5) offset(5) = slice.Tensor(%d, 0, "
     "1)\n%v: f32[3,1] stride(5,5) offset(5) = view(%s, [3, 1])\n%e: f32[3,1] stride(5,5) "
     "offset(5) = expand(%v, [3, 1])\n%q: f32[3] stride(5) offset(5) = squeeze.dim(%e, 1)\n%w: "
     "f32[2] stride(10) offset(5) = slice.Tensor(%q, 0, 0, 3, 2)\n%m: f32[2] stride(10) offset(5) "
     "= mul_.Tensor(%w, 5)\nreturn %x",
     "0 1 2 3 4 5 30 7 8 9 10 11 12 13 14 15 80"},
    {"reshape that copies", "%x: f32[4]",
     "%y: f32[2,2] = view(%x, [2, 2])\n%z: f32[2,2] stride(1,2) = t(%y)\n%w: f32[4] = reshape(%z, "
     "[4])\n%a: f32[4] = add_.Tensor(%w, 1)\n%m: f32[2,2] stride(1,2) = mul_.Tensor(%z, 2)\nreturn "
     "%x, %y, %z, %w",
     "0 2 4 6 8; 1 2 4 6 8; 2 2 6 4 8; 3 2 4 3 5"},
    {"views of a temporary", "%x: f32[3]",
     "%y: f32[3] = clone(%x)\n%a: f32[] = select.int(%y, 0, 0)\n%f: f32[] = fill_.Scalar(%a, "
     "9)\n%z: f32[2] offset(1) = slice.Tensor(%y, 0, 1)\n%b: f32[] offset(1) = select.int(%z, 0, "
     "0)\n%g: f32[] offset(1) = fill_.Scalar(%b, 8)\nreturn %x, %y",
     "0 1 2 3; 1 9 8 3"},
    {"a number at the end of a chain", "%x: f32[4]",
     "%a: f32[2,2] = view(%x, [2, 2])\n%b: f32[2] = select.int(%a, 0, 0)\n%c: f32[] offset(1) = "
     "select.int(%b, 0, 1)\n%f: f32[] offset(1) = fill_.Scalar(%c, 9.0)\n%d: f32[2] stride(2) "
     "offset(1) = select.int(%a, 1, 1)\n%m: f32[2] stride(2) offset(1) = mul_.Tensor(%d, "
     "2)\nreturn %x, %a, %b, %c, %d",
     "0 1 18 3 8; 1 1 18 3 8; 2 1 18; 3 18; 4 18 8"},

    /* --- several windows at once --- */
    {"a short last piece", "%x: f32[5]",
     "[%a: f32[2], %b: f32[2] offset(2), %c: f32[1] offset(4)] = split.Tensor(%x, 2)\n%m: f32[1] "
     "offset(4) = mul_.Tensor(%c, 3)\nreturn %x",
     "0 1 2 3 4 15"},
    {"pieces that read each other", "%x: f32[6]",
     "[%a: f32[2], %b: f32[2] offset(2), %c: f32[2] offset(4)] = chunk(%x, 3)\n%m: f32[2] = "
     "add_.Tensor(%a, %b)\n%n: f32[2] offset(4) = add_.Tensor(%c, %a)\nreturn %x",
     "0 4 6 3 4 9 12"},
    {"tensor_split", "%x: f32[7]",
     "[%a: f32[3], %b: f32[2] offset(3), %c: f32[2] offset(5)] = tensor_split.sections(%x, 3)\n%m: "
     "f32[3] = add_.Tensor(%a, 1)\n%n: f32[2] offset(5) = zero_(%c)\nreturn %x",
     "0 2 3 4 4 5 0 0"},
    {"unbind", "%x: f32[3]",
     "[%a: f32[], %b: f32[] offset(1), %c: f32[] offset(2)] = unbind.int(%x)\n%d: f32[] = "
     "add_.Tensor(%a, 1)\n%e: f32[] offset(1) = add_.Tensor(%b, 1)\n%f: f32[] offset(2) = "
     "add_.Tensor(%c, 1)\nreturn %x",
     "0 2 3 4"},

    /* --- in-place views --- */
    {"t_ of an input, then a write", "%x: f32[2,3]",
     "%t: f32[3,2] stride(1,3) = t_(%x)\n%a: f32[3,2] stride(1,3) = add_.Tensor(%x, 1)\nreturn %x",
     "x 2 5 3 6 4 7; 0 2 5 3 6 4 7"},
    {"t_ undone", "%x: f32[2,3]",
     "%t: f32[3,2] stride(1,3) = t_(%x)\n%u: f32[2,3] = t_(%x)\nreturn %x", "0 1 2 3 4 5 6"},
    {"an alias from before t_", "%x: f32[2,3]",
     "%y: f32[6] = view(%x, [6])\n%t: f32[3,2] stride(1,3) = t_(%x)\n%a: f32[6] = add_.Tensor(%y, "
     "1)\n%m: f32[3,2] stride(1,3) = mul_.Tensor(%x, 2)\nreturn %x, %y",
     "0 4 10 6 12 8 14; 1 4 6 8 10 12 14"},
    {"t and t_", "%x: f32[2,3]",
     "%y: f32[3,2] stride(1,3) = t(%x)\n%t: f32[3,2] stride(1,3) = t_(%x)\n%a: f32[3,2] "
     "stride(1,3) = add_.Tensor(%x, 1)\nreturn %y, %x",
     "0 2 5 3 6 4 7; 1 2 5 3 6 4 7"},
    {"as_strided_ after a slice", "%x: f32[6]",
     "%y: f32[6] = add.Tensor(%x, 0)\n%v: f32[5] offset(1) = slice.Tensor(%y, 0, 1)\n%s: f32[2] "
     "stride(2) = as_strided_(%v, [2], [2], 0)\n%m: f32[2] stride(2) = mul_.Tensor(%v, 10)\nreturn "
     "%y, %v",
     "0 10 2 30 4 5 6; 1 10 30"},
    {"an in-place view gives back its argument", "%x: f32[2,3]",
     "%y: f32[3,2] stride(1,3) = t_(%x)\n%a: f32[3,2] stride(1,3) = add_.Tensor(%y, 1)\nreturn %x",
     "0 2 5 3 6 4 7"},
    {"squeeze_ of an input", "%x: f32[1,2]",
     "%y: f32[2] = squeeze_.dim(%x, 0)\n%a: f32[2] = add_.Tensor(%y, 1)\nreturn %x",
     "x 2 3; 0 2 3"},

    /* --- resize_, set_ --- */
    {"resize_ to fewer", "%x: f32[4]",
     "%y: f32[4] = add.Tensor(%x, 0)\n%r: f32[2] = resize_(%y, [2])\n%a: f32[2] = add_.Tensor(%y, "
     "1)\nreturn %y",
     "0 2 3"},
    {"resize_ to other dimensions", "%x: f32[4]",
     "%y: f32[4] = add.Tensor(%x, 0)\n%r: f32[2,2] = resize_(%y, [2, 2])\n%a: f32[2,2] = "
     "add_.Tensor(%y, 1)\nreturn %y",
     "0 2 3 4 5"},
    {"set_", "%x: f32[4], %y: f32[2]",
     "%z: f32[4] = add.Tensor(%x, 0)\n%w: f32[2] = add.Tensor(%y, 0)\n%s: f32[2] = "
     "set_.source_Tensor(%z, %w)\n%a: f32[2] = add_.Tensor(%z, 1)\nreturn %z, %w",
     "0 2 3; 1 2 3"},
    {"written, set_, written", "%x: f32[4], %y: f32[4]",
     "%z: f32[4] = add.Tensor(%x, 0)\n%a: f32[4] = add_.Tensor(%z, 1)\n%w: f32[4] = add.Tensor(%y, "
     "0)\n%s: f32[4] = set_.source_Tensor(%z, %w)\n%m: f32[4] = mul_.Tensor(%z, 2)\nreturn %z",
     "0 2 4 6 8"},

    /* --- out=, lists --- */
    {"out", "%x: f32[4]",
     "%z: f32[4] = full([4], 0, dtype=f32)\n%r: f32[4] = add.out(%x, %x, out=%z)\nreturn %z, %r",
     "0 2 4 6 8; 1 2 4 6 8"},
    {"out is a strided view", "%x: f32[4]",
     "%z: f32[8] = full([8], 0, dtype=f32)\n%v: f32[4] stride(2) = slice.Tensor(%z, 0, 0, 8, "
     "2)\n%r: f32[4] stride(2) = add.out(%x, %x, out=%v)\nreturn %z",
     "0 2 0 4 0 6 0 8 0"},
    {"two outs", "%x: f32[4]",
     "%a: f32[] = full([], 0, dtype=f32)\n%b: f32[] = full([], 0, dtype=f32)\n%p: f32[], %q: f32[] "
     "= aminmax.out(%x, min=%a, max=%b)\nreturn %a, %b",
     "0 1; 1 4"},
    {"a list", "%x: f32[2], %y: f32[2]", "_foreach_add_.Scalar([%x, %y], 1.0)\nreturn %x, %y",
     "x 2 3; y 2 3"},
    {"a list with one tensor twice", "%x: f32[2]", "_foreach_mul_.Scalar([%x, %x], 2.0)\nreturn %x",
     "x 4 8; 0 4 8"},
    {"a list of views that overlap", "%x: f32[3]",
     "%a: f32[2] = slice.Tensor(%x, 0, 0, 2)\n%b: f32[2] offset(1) = slice.Tensor(%x, 0, "
     "1)\n_foreach_mul_.Scalar([%a, %b], 2.0)\nreturn %x",
     "x 2 8 6"},
    {"a list of copies", "%x: f32[2], %y: f32[2]",
     "%z: f32[2] = neg(%y)\n_foreach_copy_([%x], [%z])\nreturn %x", "x -1 -2"},

    /* --- an alias or a copy? --- */
    {"t().contiguous() copies", "%x: f32[2,2]",
     "%t: f32[2,2] stride(1,2) = t(%x)\n%c: f32[2,2] = contiguous(%t)\n%a: f32[2,2] = "
     "add_.Tensor(%c, 1)\nreturn %x",
     "0 1 2 3 4"},
    {"view().reshape() aliases", "%x: f32[2,2]",
     "%v: f32[4] = view(%x, [4])\n%r: f32[2,2] = reshape(%v, [2, 2])\n%a: f32[2,2] = "
     "add_.Tensor(%r, 1)\nreturn %x",
     "0 2 3 4 5"},
    {"ravel copies and aliases", "%x: f32[2,2]",
     "%t: f32[2,2] stride(1,2) = t(%x)\n%r: f32[4] = ravel(%t)\n%a: f32[4] = add_.Tensor(%r, "
     "1)\n%s: f32[4] = ravel(%x)\n%m: f32[4] = mul_.Tensor(%s, 2)\nreturn %x",
     "0 2 4 6 8"},
    {"ravel of a tensor with gaps copies", "%x: f32[2,2]",
     "%s: f32[2] stride(2) = select.int(%x, 1, 0)\n%r: f32[2] = ravel(%s)\n%a: f32[2] = "
     "add_.Tensor(%r, 1)\nreturn %x, %r",
     "0 1 2 3 4; 1 2 4"},
    {"expand_as of the same size aliases", "%x: f32[2]",
     "%e: f32[2] = expand_as(%x, %x)\n%a: f32[2] = add_.Tensor(%e, 1)\nreturn %x", "0 2 3"},
    {"atleast", "%x: f32[4]",
     "%y: f32[1,4] = atleast_2d(%x)\n%a: f32[1,4] = add_.Tensor(%y, 1)\n%z: f32[4] = "
     "atleast_1d(%x)\n%m: f32[4] = mul_.Tensor(%z, 2)\nreturn %x",
     "0 4 6 8 10"},
    {"type_as of the same type aliases", "%x: f32[4]",
     "%y: f32[4] = type_as(%x, %x)\n%a: f32[4] = add_.Tensor(%y, 1)\nreturn %x", "0 2 3 4 5"},
    {"broadcast_tensors", "%x: f32[2], %o: f32[2,2]",
     "[%a: f32[2,2] stride(0,1), %b: f32[2,2]] = broadcast_tensors([%x, %o])\n%r: f32[2] = "
     "select.int(%a, 0, 0)\n%w: f32[2] = add_.Tensor(%r, 1)\nreturn %x",
     "0 2 3"},
    {"mT of a number is the number", "%x: f32[]",
     "%m: f32[] = mT(%x)\n%a: f32[] = add_.Tensor(%m, 1)\nreturn %x", "0 2"},

    /* --- outputs --- */
    {"three names of a written input", "%x: f32[4]",
     "%a: f32[4] = add_.Tensor(%x, 1)\n%s: f32[3] offset(1) = slice.Tensor(%x, 0, 1)\n%v: f32[2,2] "
     "= view(%x, [2, 2])\nreturn %s, %v, %x",
     "0 3 4 5; 1 2 3 4 5; 2 2 3 4 5"},
    {"pieces go out", "%x: f32[4]",
     "%y: f32[4] = add.Tensor(%x, 1)\n[%a: f32[2], %b: f32[2] offset(2)] = split.Tensor(%y, "
     "2)\n%c: f32[2] = add_.Tensor(%a, 1)\nreturn %a, %b",
     "0 3 4; 1 4 5"},
    {"the same output twice", "%x: f32[2]", "return %x, %x", "0 1 2; 1 1 2"},
    {"a write that nobody reads", "%x: f32[4]",
     "%v: f32[2,2] = view(%x, [2, 2])\n%a: f32[2,2] = add_.Tensor(%v, 1)\nreturn", "x 2 3 4 5"},

    /* --- overlap --- */
    {"zero_ of an expand", "%x: f32[2]",
     "%e: f32[3,2] stride(0,1) = expand(%x, [3, 2])\n%z: f32[3,2] stride(0,1) = zero_(%e)\nreturn "
     "%x",
     "0 0 0"},
    {"zero_ of overlapping rows", "%x: f32[4]",
     "%s: f32[2,2] stride(1,1) = as_strided(%x, [2, 2], [1, 1])\n%z: f32[2,2] stride(1,1) = "
     "zero_(%s)\nreturn %x",
     "0 0 0 0 4"},
    {"fill_ of overlapping windows", "%x: f32[4]",
     "%u: f32[3,2] stride(1,1) = unfold(%x, 0, 2, 1)\n%f: f32[3,2] stride(1,1) = fill_.Scalar(%u, "
     "9)\nreturn %x",
     "0 9 9 9 9"},
    {"a number is no rounding", "%x: f32[1]",
     "%b: f32[1] = mul_.Tensor(%x, 1e8)\n%e: f32[3,1] stride(0,1) = expand(%x, [3, 1])\n%v: f32[1] "
     "= select.int(%e, 0, 0)\n%f: f32[1] = fill_.Scalar(%v, 0.5)\nreturn %x",
     "0 0.5"},
    {"a view and as_strided from it", "%x: f32[4]",
     "%v: f32[2,2] = view(%x, [2, 2])\n%s: f32[1,2] offset(2) = slice.Tensor(%v, 0, 1)\n%a: f32[2] "
     "stride(2) = as_strided(%s, [2], [2], 0)\n%m: f32[2] stride(2) = add_.Tensor(%a, 10)\nreturn "
     "%x",
     "0 11 2 13 4"},
    {"a diagonal of overlapping windows", "%x: f32[3,2]",
     "%u: f32[2,2,2] stride(2,1,2) = unfold(%x, 0, 2, 1)\n%d: f32[2,2] stride(2,3) = diagonal(%u, "
     "0, 0, 1)\n%a: f32[2,2] stride(2,3) = add_.Tensor(%d, 1)\nreturn %x",
     "0 2 2 4 5 5 7"},
    {"pieces of an expand", "%x: f32[2]",
     "%e: f32[2,2] stride(0,1) = expand(%x, [2, 2])\n[%p: f32[1,2] stride(0,1), %q: f32[1,2] "
     "stride(0,1)] = split.Tensor(%e, 1)\n%a: f32[1,2] stride(0,1) = add_.Tensor(%q, 1)\n%b: "
     "f32[1,2] stride(0,1) = add_.Tensor(%p, %a)\nreturn %x",
     "0 4 6"},
    {"windows that unbind opens on one place", "%x: f32[]",
     "%e: f32[3] stride(0) = expand(%x, [3])\n[%a: f32[], %b: f32[], %c: f32[]] = "
     "unbind.int(%e)\n%p: f32[] = add_.Tensor(%b, %c)\n%q: f32[] = add_.Tensor(%b, 2)\n%r: f32[] "
     "= add_.Tensor(%c, %q)\nreturn %x, %a",
     "0 8; 1 8"},
    {"a row of overlapping windows, negated", "%x: f32[3]",
     "%u: f32[2,2] stride(1,1) = unfold(%x, 0, 2, 1)\n%r: f32[2] = select.int(%u, 0, 0)\n%n: "
     "f32[2] neg = _neg_view(%r)\n%a: f32[2] neg = add_.Tensor(%n, 1)\nreturn %x",
     "0 0 1 3"},
    {"doubles, seen from the side", "%x: f32[2,2]",
     "%v: f64[2,1] = view.dtype(%x, f64)\n%t: f64[1,2] stride(1,1) = transpose.int(%v, 0, 1)\n%z: "
     "f64[1,2] stride(1,1) = zero_(%t)\nreturn %x",
     "0 0 0 0 0"},
    {"an empty window of an empty tensor", "%x: f32[0]",
     "%v: f32[0,1] = as_strided(%x, [0, 1], [1, 1], 0)\nreturn %v", "0"},
    {"whole doubles in an odd number of floats", "%x: f32[5]",
     "%s: f32[4] = slice.Tensor(%x, 0, 0, 4)\n%v: f64[2] = view.dtype(%s, f64)\n%w: f64[1] "
     "offset(1) = as_strided(%v, [1], [1], 1)\n%z: f64[1] offset(1) = zero_(%w)\nreturn %x",
     "0 1 2 0 0 5"},
};

/* Programs that must be refused, and the class; the message must hold `says`. */
static const struct refusal {
  const char *class_name, *inputs, *body, *says;
} refusals[] = {
    {"BOUNDS", "%x: f32[4], %y: f32[1,4]", "%a: f32[4] = copy_(%x, %y)\nreturn %x",
     "an operand of 2 dimensions"},
    {"BOUNDS", "%x: f32[4], %y: f32[1,4]", "%a: f32[4] = add_.Tensor(%x, %y)\nreturn %x",
     "an operand of 2 dimensions"},
    {"BOUNDS", "%x: f32[4], %y: f32[2,4]", "%a: f32[4] = add_.Tensor(%x, %y)\nreturn %x",
     "add_.Tensor"},
    {"OVERLAP", "%x: f32[4]",
     "%b: f32[3] offset(1) = slice.Tensor(%x, 0, 1)\n%a: f32[3] = slice.Tensor(%x, 0, 0, -1)\n%r: "
     "f32[3] offset(1) = add_.Tensor(%b, %a)\nreturn %x",
     "clone()"},
    {"OVERLAP", "%x: f32[4]",
     "%b: f32[3] offset(1) = slice.Tensor(%x, 0, 1)\n%a: f32[3] = slice.Tensor(%x, 0, 0, -1)\n%r: "
     "f32[3] offset(1) = copy_(%b, %a)\nreturn %x",
     "clone()"},
    {"OVERLAP", "%x: f32[3,1]",
     "%e: f32[3,2] stride(1,0) = expand(%x, [3, 2])\n%m: f32[3,2] stride(1,0) = mul_.Tensor(%e, "
     "2)\nreturn %x",
     "clone()"},
    {"OVERLAP", "%x: f32[2], %y: f32[3,2]",
     "%e: f32[3,2] stride(0,1) = expand(%x, [3, 2])\n%c: f32[3,2] stride(0,1) = copy_(%e, "
     "%y)\nreturn %x",
     "clone()"},
    {"TYPE", "%x: f32[4], %z: i64[4]", "%r: i64[4] = add.out(%x, %x, out=%z)\nreturn %z", "i64"},
    {"TYPE", "%x: i64[3]", "%a: i64[3] = add_.Tensor(%x, 1.5)\nreturn %x", "i64"},
    {"BOUNDS", "%x: f32[2,3]",
     "%t: f32[3,2] stride(1,3) = t(%x)\n%v: f32[6] = view(%t, [6])\nreturn %v", "view"},
    {"BOUNDS", "%x: f32[4]", "%a: f32[3] offset(3) = as_strided(%x, [3], [1], 3)\nreturn %a",
     "as_strided"},
    {"BOUNDS", "%x: f32[4]", "%a: f32[] = select.int(%x, 0, 4)\nreturn %a", "select.int"},
    {"UNSUPPORTED", "%x: f32[4]",
     "%v: f32[4] = _values(%x)\n%a: f32[4] = add_.Tensor(%v, 1)\nreturn %x",
     "_values: it is about sparse tensors"},
    {"UNSUPPORTED", "%x: f32[4], %i: i64[]", "%v: f32[2] = narrow.Tensor(%x, 0, %i, 2)\nreturn %v",
     "narrow.Tensor: which elements it shows depends on data; pass the start as a number"},
    {"UNSUPPORTED", "%x: f32[4], %y: f32[4]",
     "%p: f32[4], %t: f32[4] = _unpack_dual(%x, 0)\nreturn %p",
     "_unpack_dual: it belongs to forward-mode AD"},
    {"UNSUPPORTED", "%x: f32[2,3], %w: f32[3], %m: f32[3], %v: f32[3]",
     "%y: f32[2,3], %a: f32[3], %b: f32[3] = miopen_batch_norm(%x, %w, None, %m, %v, True, 0.1, "
     "1e-5)\nreturn %y",
     "miopen_batch_norm in training writes its running statistics"},
    {"UNSUPPORTED", "%x: f32[2,3], %m: f32[3], %v: f32[3], %o: f32[2,3], %p: f32[3], %q: f32[3]",
     "%y: f32[2,3], %a: f32[3], %b: f32[3] = native_batch_norm.out(%x, None, None, %m, %v, True, "
     "0.1, 1e-5, out=%o, save_mean=%p, save_invstd=%q)\nreturn %y",
     "native_batch_norm.out in training writes its running statistics"},
};

#endif
