/* random_integers.c - random integers and permutations, in any type that holds them. */
#include "kernels/cpu/random.h"
#include "kernels/meta/random.h"

static void draw_integers(const void *law, fnz_generator *g, int64_t count, void *out) {
  const fnzi_meta_integers *n = law;
  int64_t *to = out;
  for (int64_t i = 0; i < count; i++) {
    uint64_t v = n->is_long ? fnzi_generator_draw_long(g) : fnzi_generator_draw(g);
    to[i] = (int64_t)((n->range ? v % n->range : v) + (uint64_t)n->base);
  }
}

static fnz_status draw_result(fnzi_krn_call *call, const fnzi_meta_integers *n) {
  const fnzi_cpu_law law = {.fill = draw_integers,
                            .user = n,
                            .name = "integers",
                            .range = (int64_t)n->range,
                            .base = n->base,
                            .is_wide = n->is_long};
  return fnzi_cpu_draw_result(call, 0, FNZ_I64, &law);
}

/* randint and randint_like; the end is a number, or a tensor that holds one. */
fnz_status fnzi_kernel_randint(fnzi_krn_call *call) {
  const fnzi_krn_array *end = fnzi_krn_named_array(call, "high");
  int64_t high = end ? 0 : fnzi_krn_named_int(call, "high", 0);
  fnzi_meta_integers law;
  const void *cells;
  if (end && call->record)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_UNSUPPORTED, "high is a tensor, which data decide");
  if (end) {
    FNZ_TRY(fnzi_krn_dense_get_as(call, end, FNZ_I64, &cells));
    memcpy(&high, cells, sizeof high);
  }
  FNZ_TRY(fnzi_meta_randint(call, high, &law));
  return draw_result(call, &law);
}

/* random, random.from, random.to. */
fnz_status fnzi_kernel_random(fnzi_krn_call *call) {
  fnzi_meta_integers law;
  FNZ_TRY(fnzi_meta_random(call, &law));
  return draw_result(call, &law);
}

/* --- Permutations ----------------------------------------------------------------------------- */
fnz_status fnzi_kernel_randperm(fnzi_krn_call *call) {
  const int64_t count = fnz_geometry_numel(&call->outputs[0]->geometry);
  const bool is_long = (uint64_t)count >= UINT32_MAX / 20;
  fnz_generator *g = call->ctx->generator;
  int64_t threads, *to;
  void *out;
  FNZ_TRY(fnzi_cpu_threads_drawing(call, &threads));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, FNZ_I64, &out));
  if (threads)
    return fnzi_cpu_permute_philox(call, count, out);
  to = out;
  for (int64_t i = 0; i < count; i++)
    to[i] = i;
  /* Fisher and Yates's way: each place changes with one that is not before it. */
  for (int64_t i = 0; i < count - 1; i++) {
    const uint64_t word = is_long ? fnzi_generator_draw_long(g) : fnzi_generator_draw(g);
    const int64_t with = i + (int64_t)(word % (uint64_t)(count - i)), had = to[i];
    to[i] = to[with];
    to[with] = had;
  }
  return FNZ_OK;
}
