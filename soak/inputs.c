/* inputs.c - numbers for the inputs of a random program. */
#include "soak/programs.h"

#include "run/run.h"

/* The upper half of a float, and IEEE's half of one that it can hold. */
static uint16_t half_of(fnz_dtype dtype, float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  if (dtype == FNZ_BF16)
    return (uint16_t)(bits >> 16);
  uint32_t sign = bits >> 31, exponent = bits >> 23 & 255, mantissa = bits >> 13 & 1023;
  return (uint16_t)(sign << 15 | (exponent ? (exponent - 112) << 10 | mantissa : 0));
}

enum { MOST_BYTES = 1 << 16 };

/* Bytes of the memory that the window needs, 0 when these are too many. */
static size_t bytes_of(const fnz_geometry *g) {
  int64_t low, high, numel = fnz_geometry_numel(g);
  size_t item = fnzi_dtype(g->dtype)->bytes;
  if (!fnzi_extent(g, &low, &high) || high > MOST_BYTES / 16 || numel > MOST_BYTES / 16)
    return 0;
  return item * (size_t)(high > numel ? high : numel);
}

static const fnzi_value *inputs_input_of(const fnz_program *p, uint32_t k) {
  return fnzi_value_at(p, 0, fnzi_graph_main(p)->inputs[k].u.value);
}

/* If inputs of one memory overlap they have the same bytes: the first input's. */
static fnz_status agree(fnz_context *ctx, const fnz_program *p, uint32_t k,
                        const fnz_arrays *arrays, unsigned char *data) {
  const fnz_geometry *own = inputs_input_of(p, k)->geometry;
  size_t item = fnzi_dtype(own->dtype)->bytes, room = bytes_of(own);
  if (fnzi_memory_of(p, k) == k || !room)
    return FNZ_OK;
  for (uint32_t i = 0; i < k; i++)
    if (fnzi_memory_of(p, i) == fnzi_memory_of(p, k) &&
        bytes_of(inputs_input_of(p, i)->geometry) > room)
      room = bytes_of(inputs_input_of(p, i)->geometry);
  unsigned char *memory = fnzi_resize(ctx, NULL, 0, 4 * room);
  if (!memory)
    return fnzi_no_memory(ctx);
  unsigned char *known = memory + room, *seen = known + room, *is_seen = seen + room;
  memset(memory, 0, 2 * room);
  memset(seen, 1, room);
  /* The inputs before the k-th have put bytes into the memory that they share with it; `known`
   * marks their places. */
  for (uint32_t i = 0; i < k; i++) {
    if (fnzi_memory_of(p, i) != fnzi_memory_of(p, k))
      continue;
    const fnzi_value *v = inputs_input_of(p, i);
    size_t width = fnzi_dtype(v->geometry->dtype)->bytes;
    if (!bytes_of(v->geometry))
      continue;
    fnzi_run_scatter(v->geometry, fnz_arrays_find(arrays, v->name)->data, width, memory);
    fnzi_run_scatter(v->geometry, seen, width, known);
  }
  fnzi_run_gather(own, memory, item, seen);
  fnzi_run_gather(own, known, item, is_seen);
  for (size_t b = 0, n = (size_t)fnz_geometry_numel(own) * item; b < n; b++)
    data[b] = is_seen[b] ? seen[b] : data[b];
  fnzi_free(ctx, memory, 4 * room);
  return FNZ_OK;
}

fnz_status fnzi_random_agree(fnz_context *ctx, const fnz_geometry *g, void *data) {
  const size_t item = fnzi_dtype(g->dtype)->bytes, room = bytes_of(g);
  if (!room)
    return FNZ_OK;
  unsigned char *memory = fnzi_resize(ctx, NULL, 0, room);
  if (!memory)
    return fnzi_no_memory(ctx);
  fnzi_run_scatter(g, data, item, memory);
  fnzi_run_gather(g, memory, item, data);
  fnzi_free(ctx, memory, room);
  return FNZ_OK;
}

void fnzi_random_fill(const fnz_geometry *g, void *data, uint64_t *seed) {
  size_t bytes = fnzi_dtype(g->dtype)->bytes;
  for (size_t k = 0, n = (size_t)fnz_geometry_numel(g); k < n; k++) {
    /* Small ones, so that nothing saturates; zeros and equal ones among them. */
    unsigned char *at = (unsigned char *)data + k * bytes;
    const uint64_t random = splitmix64(seed);
    int64_t i = (int64_t)(random % 9) - 4;
    double d = random >> 32 & 1 ? (double)i * 0.5 : (double)i;
    const double c[2] = {d, (double)(random >> 40 & 3)};
    const float f[2] = {(float)c[0], (float)c[1]};
    const uint16_t half = half_of(g->dtype, f[0]);
    if (g->dtype == FNZ_BOOL)
      *at = random & 1;
    else if (g->dtype == FNZ_F16 || g->dtype == FNZ_BF16)
      memcpy(at, &half, sizeof half);
    else if (g->dtype == FNZ_F32 || g->dtype == FNZ_C64)
      memcpy(at, f, fnzi_dtype(g->dtype)->bytes);
    else if (g->dtype == FNZ_F64 || g->dtype == FNZ_C128)
      memcpy(at, c, fnzi_dtype(g->dtype)->bytes);
    else
      memcpy(at, &i, fnzi_dtype(g->dtype)->bytes); /* the low bytes */
  }
}

fnz_status fnzi_random_inputs(fnz_context *ctx, const fnz_program *p, uint64_t seed,
                              fnz_arrays **out) {
  const fnzi_graph *graph = fnzi_graph_main(p);
  FNZ_TRY(fnz_arrays_create(ctx, out));
  for (uint32_t i = 0; i < graph->ninputs; i++) {
    const fnz_arg *arg = &graph->inputs[i];
    const fnzi_value *v = fnzi_is_reference(arg) ? &graph->values.data[arg->u.value] : NULL;
    const fnz_geometry *g = v ? v->geometry : NULL;
    void *data;
    if (!g && !v)
      continue; /* the program says what it is */
    if (!g)
      return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, v->name,
                       "no numbers are drawn for what is no tensor");
    FNZ_TRY(fnz_arrays_add(*out, v->name, g->dtype, g->rank, g->sizes, &data));
    fnzi_random_fill(g, data, &seed);
    FNZ_TRY(fnzi_random_agree(ctx, g, data));
    FNZ_TRY(agree(ctx, p, i, *out, data));
  }
  return FNZ_OK;
}
