/* pools.c - pools by the core ones. */
#include "functionalize/decompose/ways.h"

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
