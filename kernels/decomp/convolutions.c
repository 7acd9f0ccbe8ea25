/* convolutions.c - convolutions of one, two and three dimensions by the general one. */
#include "kernels/decomp/decomp.h"

enum { MOST = 3 };

/* Padding by a word: "valid" is none; "same" keeps the sizes, more behind than in front. */
static fnz_arg padding_of(fnzi_dec_steps *s, size_t spatial, fnzi_krn_array **x) {
  const fnz_arg *given = fnzi_krn_named(s->call, "padding");
  int64_t dilation[MOST], both[MOST], behind[2 * FNZ_MAX_RANK] = {0};
  bool is_uneven = false;
  if (given->tag != FNZ_ARG_STRING)
    return *given;
  bool is_same = strcmp(given->u.s, "same") == 0;
  if (!is_same && strcmp(given->u.s, "valid") != 0)
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "padding must be \"same\", \"valid\" or integers");
  fnzi_dec_status_note(s, fnzi_krn_named_ints_of(s->call, "dilation", spatial, 1, dilation));
  for (size_t d = 0; s->status == FNZ_OK && d < spatial; d++) {
    int64_t all = is_same ? SIZE_TIMES(dilation[d], SIZE(GIVEN("weight"), (int64_t)d + 2) - 1) : 0;
    both[d] = all / 2;
    behind[2 * (spatial - 1 - d) + 1] = all % 2;
    is_uneven = is_uneven || all % 2;
  }
  if (is_uneven)
    *x = STEP(constant_pad_nd, V(*x), fnzi_dec_ints(s, behind, 2 * spatial), I(0));
  return s->status == FNZ_OK ? fnzi_dec_ints(s, both, spatial) : NONE;
}

static void convolutions_convolve(fnzi_dec_steps *s, size_t spatial, bool is_transposed) {
  fnzi_krn_array *x = GIVEN("input"), *weight = GIVEN("weight"), *bias = GIVEN("bias");
  const int64_t none[MOST] = {0};
  if (RANK(weight) != (int64_t)spatial + 2)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "weight has %lld dimensions; it needs %zu",
                    (long long)RANK(weight), spatial + 2);
  bool is_single = RANK(x) == (int64_t)spatial + 1; /* without a batch */
  if (is_single)
    x = STEP(unsqueeze, V(x), I(0));
  fnz_arg padding = padding_of(s, spatial, &x);
  fnz_arg more =
      is_transposed ? *fnzi_krn_named(s->call, "output_padding") : fnzi_dec_ints(s, none, spatial);
  fnzi_krn_array *y =
      STEP(convolution, V(x), V(weight), V(bias), *fnzi_krn_named(s->call, "stride"), padding,
           *fnzi_krn_named(s->call, "dilation"), B(is_transposed), more, I(GIVEN_INT("groups")));
  GIVE(is_single ? STEP(squeeze__dim, V(y), I(0)) : y);
}

DECOMP(conv1d) {
  convolutions_convolve(s, 1, false);
}
DECOMP(conv2d) {
  convolutions_convolve(s, 2, false);
}
DECOMP(conv3d) {
  convolutions_convolve(s, 3, false);
}
DECOMP(conv_transpose1d) {
  convolutions_convolve(s, 1, true);
}
DECOMP(conv_transpose2d) {
  convolutions_convolve(s, 2, true);
}
DECOMP(conv_transpose3d) {
  convolutions_convolve(s, 3, true);
}

DECOMP(conv_by_mode) {
  int64_t rank = RANK(GIVEN("weight"));
  if (rank < 3 || rank > 5)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "weight has %lld dimensions; it needs 3, 4 or 5",
                    (long long)rank);
  else
    convolutions_convolve(s, (size_t)rank - 2, false);
}

/* Drops the arguments that only some libraries use. */
DECOMP(conv_for_libraries) {
  GIVE(STEP(convolution, V(GIVEN("input")), V(GIVEN("weight")), V(GIVEN("bias")),
            *fnzi_krn_named(s->call, "stride"), *fnzi_krn_named(s->call, "padding"),
            *fnzi_krn_named(s->call, "dilation"), B(GIVEN_BOOL("transposed")),
            *fnzi_krn_named(s->call, "output_padding"), I(GIVEN_INT("groups"))));
}
