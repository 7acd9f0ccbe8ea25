/* convolutions.c - convolutions of one, two and three dimensions by the general one, and pools. */
#include "functionalize/decompose/ways.h"

enum { MOST = 3 };

/* Padding by a word: "valid" is none; "same" keeps the sizes, more behind than in front. */
static fnz_arg padding_of(fnzi_dec_steps *s, size_t spatial, fnzi_krn_array **x) {
  const fnz_arg *given = fnzi_krn_named(s->call, "padding");
  int64_t dilation[MOST], both[MOST], behind[2 * FNZ_MAX_RANK] = {0};
  bool is_uneven = false;
  if (given->tag != FNZ_ARG_STRING)
    return *given;
  bool is_same = strcmp(given->u.s, "same") == 0;
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

static void convolve(fnzi_dec_steps *s, size_t spatial, bool is_transposed) {
  fnzi_krn_array *x = GIVEN("input"), *weight = GIVEN("weight"), *bias = GIVEN("bias");
  const int64_t none[MOST] = {0};
  bool is_single = RANK(x) == (int64_t)spatial + 1; /* without a batch */
  if (is_single)
    x = STEP(unsqueeze, V(x), I(0));
  fnz_arg padding = padding_of(s, spatial, &x);
  fnz_arg more = is_transposed ? AS_GIVEN("output_padding") : fnzi_dec_ints(s, none, spatial);
  fnzi_krn_array *y = STEP(convolution, V(x), V(weight), V(bias), AS_GIVEN("stride"), padding,
                           AS_GIVEN("dilation"), B(is_transposed), more, I(GIVEN_INT("groups")));
  GIVE(is_single ? STEP(squeeze__dim, V(y), I(0)) : y);
}

TAKE_APART(conv1d) {
  convolve(s, 1, false);
}
TAKE_APART(conv2d) {
  convolve(s, 2, false);
}
TAKE_APART(conv3d) {
  convolve(s, 3, false);
}
TAKE_APART(conv_transpose1d) {
  convolve(s, 1, true);
}
TAKE_APART(conv_transpose2d) {
  convolve(s, 2, true);
}
TAKE_APART(conv_transpose3d) {
  convolve(s, 3, true);
}

/* Drops the arguments that only some libraries use. */
TAKE_APART(convolution) {
  GIVE(STEP(convolution, V(GIVEN("input")), V(GIVEN("weight")), V(GIVEN("bias")),
            AS_GIVEN("stride"), AS_GIVEN("padding"), AS_GIVEN("dilation"),
            B(GIVEN_BOOL("transposed")), AS_GIVEN("output_padding"), I(GIVEN_INT("groups"))));
}

/* --- Pools ------------------------------------------------------------------------------------ */
/* Repeats the integers of a 1-d pool, so that the 2-d operator takes them. */
static fnz_arg doubled(fnzi_dec_steps *s, const char *name, int64_t fallback) {
  const int64_t *given = NULL;
  size_t count = 0;
  fnzi_dec_status_note(s, fnzi_krn_named_ints(s->call, name, &given, &count));
  return s->status == FNZ_OK && count ? INTS(fallback, given[0]) : fnzi_dec_ints(s, NULL, 0);
}

TAKE_APART(max_pool1d) {
  fnzi_krn_array *made[2], *x = STEP(unsqueeze, V(GIVEN("self")), I(-2));
  STEPS_INTO(made, 2, max_pool2d_with_indices, V(x), doubled(s, "kernel_size", 1),
             doubled(s, "stride", 1), doubled(s, "padding", 0), doubled(s, "dilation", 1),
             B(GIVEN_BOOL("ceil_mode")));
  GIVE(STEP(squeeze__dim, V(made[0]), I(-2)));
}

TAKE_APART(max_pool2d) {
  fnzi_krn_array *made[2];
  fnzi_dec_step_into(s, FNZI_ATEN_max_pool2d_with_indices, s->call->args, s->call->op->nparams,
                     made, 2);
  GIVE(made[0]);
}

TAKE_APART(max_pool3d) {
  fnzi_krn_array *made[2];
  fnzi_dec_step_into(s, FNZI_ATEN_max_pool3d_with_indices, s->call->args, s->call->op->nparams,
                     made, 2);
  GIVE(made[0]);
}

/* One element for all is their mean. */
static bool is_mean(fnzi_dec_steps *s) {
  const int64_t *sizes = NULL;
  size_t count = 0;
  bool all = true;
  fnzi_dec_status_note(s, fnzi_krn_named_ints(s->call, "output_size", &sizes, &count));
  for (size_t d = 0; s->status == FNZ_OK && d < count; d++)
    all = all && sizes[d] == 1;
  return all;
}

TAKE_APART(adaptive_pool_2d) {
  fnzi_krn_array *x = GIVEN("self");
  GIVE(is_mean(s) ? STEP(mean__dim, V(x), INTS(-1, -2), B(true))
                  : STEP(_adaptive_avg_pool2d, V(x), AS_GIVEN("output_size")));
}

TAKE_APART(adaptive_pool_3d) {
  fnzi_krn_array *x = GIVEN("self");
  GIVE(is_mean(s) ? STEP(mean__dim, V(x), INTS(-1, -2, -3), B(true))
                  : STEP(_adaptive_avg_pool3d, V(x), AS_GIVEN("output_size")));
}
