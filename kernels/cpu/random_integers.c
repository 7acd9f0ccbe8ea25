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

/* A number, or a tensor that holds one. */
static fnz_status read_end(fnzi_krn_call *call, const char *name, int64_t *out) {
  const fnzi_krn_array *a = fnzi_krn_named_array(call, name);
  const void *cells;
  *out = a ? 0 : fnzi_krn_named_int(call, name, 0);
  if (!a)
    return FNZ_OK;
  if (call->record)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_UNSUPPORTED, "%s is a tensor, which data decide",
                                name);
  FNZ_TRY(fnzi_krn_dense_get_as(call, a, FNZ_I64, &cells));
  memcpy(out, cells, sizeof *out);
  return FNZ_OK;
}

/* randint and randint_like. */
fnz_status fnzi_kernel_randint(fnzi_krn_call *call) {
  fnzi_meta_integers law;
  int64_t high;
  FNZ_TRY(read_end(call, "high", &high));
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
/* Fisher and Yates's way: each place changes with one that is not before it. */
static void draw_permutation(fnz_generator *g, int64_t count, int64_t *to) {
  for (int64_t i = 0; i < count; i++)
    to[i] = i;
  for (int64_t i = 0; i < count - 1; i++) {
    const uint64_t left = (uint64_t)(count - i);
    const bool is_long = (uint64_t)count >= UINT32_MAX / 20;
    const int64_t with =
        i + (int64_t)((is_long ? fnzi_generator_draw_long(g) : fnzi_generator_draw(g)) % left);
    const int64_t had = to[i];
    to[i] = to[with];
    to[with] = had;
  }
}

fnz_status fnzi_kernel_randperm(fnzi_krn_call *call) {
  const int64_t count = fnz_geometry_numel(&call->outputs[0]->geometry);
  int64_t threads;
  void *out;
  FNZ_TRY(fnzi_cpu_threads_drawing(call, &threads));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, FNZ_I64, &out));
  if (threads)
    return fnzi_cpu_permute_philox(call, count, out);
  draw_permutation(call->ctx->generator, count, out);
  return FNZ_OK;
}
