/* library_help.c - random programs of products, convolutions and attention on both devices. */
#include "tests/cuda/library_help.h"

#include "kernels/core/half.h"

#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>

static void *symbol_of(const char *library, const char *symbol) {
  void *opened = dlopen(library, RTLD_NOW | RTLD_LOCAL),
       *found = opened ? dlsym(opened, symbol) : NULL;
  ck_assert_msg(found != NULL, "%s is not the stand-in: look at LD_LIBRARY_PATH", library);
  return found;
}

bool is_without(void) {
  return getenv("STANDIN_WITHOUT") != NULL;
}

standin_library_counts library_now(bool cudnn) {
  standin_library_counts counts = {0};
  standin_library_counts_fn *get;
  if (is_without() || !is_standin())
    return counts;
  void *found = symbol_of(cudnn ? "libcudnn.so.9" : "libcublasLt.so.13",
                          cudnn ? "standin_cudnn_counts" : "standin_cublas_counts");
  memcpy(&get, &found, sizeof get);
  get(&counts);
  return counts;
}

void nothing_is_left(void) {
  standin_counts c = counts_now();
  ck_assert_msg(!c.wrong, "%s", c.wrong);
  ck_assert_uint_eq(c.blocks_held, 0);
  ck_assert_uint_eq(c.modules_held, 0);
  ck_assert_uint_eq(c.streams_held, 0);
  for (int cudnn = 0; cudnn < 2; cudnn++) {
    ck_assert_uint_eq(library_now(cudnn).held, 0);
    ck_assert_uint_eq(library_now(cudnn).refused, 0);
  }
}

fnz_context *open_context(void) {
  fnz_context *ctx;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  return ctx;
}

fnz_status compile(fnz_context *ctx, const fnz_program *p, const char *device,
                   fnz_executable **out) {
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  options.threads = 1;
  options.check = true;
  options.staging = true;
  options.device = device;
  return fnz_compile(ctx, p, &options, out);
}

/* --- Numbers ---------------------------------------------------------------------------------- */
static double element(const fnz_array *a, size_t i) {
  switch (a->dtype) {
  case FNZ_F64:
  case FNZ_C128:
    return ((const double *)a->data)[i];
  case FNZ_F32:
  case FNZ_C64:
    return (double)((const float *)a->data)[i];
  case FNZ_F16:
    return (double)fnzi_krn_from_f16(((const uint16_t *)a->data)[i]);
  case FNZ_BF16:
    return (double)fnzi_krn_from_bf16(((const uint16_t *)a->data)[i]);
  case FNZ_I64:
    return (double)((const int64_t *)a->data)[i];
  case FNZ_I32:
    return (double)((const int32_t *)a->data)[i];
  default:
    return (double)((const int8_t *)a->data)[i];
  }
}

static void put_element(const fnz_array *a, size_t i, uint64_t random) {
  double d = (double)(int64_t)random * 0x1p-63;
  int64_t whole = (int64_t)(random % 19) - 9;
  uint16_t half = a->dtype == FNZ_F16 ? fnzi_krn_to_f16((float)d) : fnzi_krn_to_bf16((float)d);
  float f = (float)d;
  size_t bytes = fnz_dtype_get_info(a->dtype)->bytes;
  unsigned char *at = (unsigned char *)a->data + i * bytes;
  if (a->dtype == FNZ_F64)
    memcpy(at, &d, bytes);
  else if (a->dtype == FNZ_F32)
    memcpy(at, &f, bytes);
  else if (a->dtype == FNZ_C64)
    for (int part = 0; part < 2; part++, f = -f / 2)
      memcpy(at + 4 * part, &f, 4);
  else if (a->dtype == FNZ_F16 || a->dtype == FNZ_BF16)
    memcpy(at, &half, bytes);
  else if (a->dtype == FNZ_BOOL)
    *at = random % 4 != 0;
  else
    memcpy(at, &whole, bytes);
}

fnz_arrays *inputs_of(fnz_context *ctx, const fnz_program *p, uint64_t seed) {
  const fnzi_graph *graph = fnzi_graph_main(p);
  fnz_arrays *out;
  OK(ctx, fnz_arrays_create(ctx, &out));
  for (uint32_t i = 0; i < graph->ninputs; i++) {
    const fnzi_value *v = &graph->values.data[graph->inputs[i].u.value];
    void *data;
    OK(ctx, fnz_arrays_add(out, v->name, v->geometry->dtype, v->geometry->rank, v->geometry->sizes,
                           &data));
    const fnz_array *a = fnz_arrays_at(out, fnz_arrays_count(out) - 1);
    for (size_t k = 0; k < (size_t)fnz_geometry_numel(v->geometry); k++)
      put_element(a, k, splitmix64(&seed));
  }
  return out;
}

/* docs/gpu-values.md: how far sums in another order may be from the CPU's. */
static double bound_of(fnz_dtype dtype) {
  return dtype == FNZ_F64                       ? 1e-13
         : dtype == FNZ_F32 || dtype == FNZ_C64 ? 1e-5
         : dtype == FNZ_F16                     ? 0x1p-10
         : dtype == FNZ_BF16                    ? 0x1p-7
                                                : 0;
}

static void compare(const fnz_arrays *got, const fnz_arrays *want, const char *text) {
  ck_assert_uint_eq(fnz_arrays_count(got), fnz_arrays_count(want));
  for (size_t k = 0; k < fnz_arrays_count(got); k++) {
    const fnz_array *a = fnz_arrays_at(got, k), *b = fnz_arrays_at(want, k);
    size_t cell = fnz_dtype_get_info(a->dtype)->bytes / (a->dtype == FNZ_C64 ? 2 : 1);
    ck_assert_uint_eq(a->bytes, b->bytes);
    for (size_t i = 0; i < a->bytes / cell; i++) {
      double x = element(a, i), y = element(b, i), most = bound_of(a->dtype) * (1 + fabs(y));
      ck_assert_msg(x == y || fabs(x - y) <= most || (isnan(x) && isnan(y)),
                    "%s: element %zu of %s is %g, not %g", text, i, a->name, x, y);
    }
  }
}

/* --- Programs --------------------------------------------------------------------------------- */
int64_t draw(text *t, int64_t low, int64_t high) {
  return low + (int64_t)(splitmix64(&t->seed) % (uint64_t)(high - low + 1));
}

const char *draw_type(text *t, int64_t low, int64_t high) {
  static const char *const types[] = {"f32", "f32", "f64", "f16", "bf16", "i64", "i32", "c64"};
  return types[draw(t, low, high)];
}

static void say(char *to, size_t capacity, const char *format, va_list words) {
  size_t used = strlen(to);
  int n = vsnprintf(to + used, capacity - used, format, words);
  ck_assert_int_lt(n, (int)(capacity - used));
}

void put_input(text *t, const char *format, ...) {
  va_list words;
  if (t->inputs[0])
    strcat(t->inputs, ", ");
  va_start(words, format);
  say(t->inputs, sizeof t->inputs, format, words);
  va_end(words);
}

void put_line(text *t, const char *format, ...) {
  va_list words;
  va_start(words, format);
  say(t->body, sizeof t->body, format, words);
  va_end(words);
}

/* Runs it on both devices; only the results are copied back, in one piece of memory: all of it runs
 * on the GPU. */
void run_text(fnz_context *ctx, text *t) {
  enum { APART = 16 };
  char whole[3200];
  fnz_arrays *got, *want, *inputs;
  fnz_executable *gpu, *cpu;
  fnz_program *p, *traced;
  size_t bytes = 0;
  snprintf(whole, sizeof whole, "program(%s)\n{\n%s\n}", t->inputs, t->body);
  traced = program_of(ctx, t->inputs, t->body);
  OK(ctx, fnz_functionalize(ctx, traced, NULL, &p));
  inputs = inputs_of(ctx, p, t->seed);
  OK(ctx, fnz_arrays_create(ctx, &got));
  OK(ctx, fnz_arrays_create(ctx, &want));
  OK(ctx, compile(ctx, p, "cuda", &gpu));
  OK(ctx, compile(ctx, p, "cpu", &cpu));
  standin_counts before = counts_now();
  fnz_status status = fnz_executable_run_arrays(ctx, gpu, inputs, NULL, NULL, got);
  ck_assert_msg(status == FNZ_OK, "%s: %s: %s", whole, fnz_last_error(ctx)->where,
                fnz_last_error(ctx)->message);
  standin_counts after = counts_now();
  OK(ctx, fnz_executable_run_arrays(ctx, cpu, inputs, NULL, NULL, want));
  compare(got, want, whole);
  for (size_t k = 0; k < fnz_arrays_count(want); k++)
    bytes += (fnz_arrays_at(want, k)->bytes + APART - 1) / APART * APART;
  ck_assert_msg(bytes - (after.bytes_out - before.bytes_out) < APART,
                "%s: %zu bytes are copied back", whole,
                (size_t)(after.bytes_out - before.bytes_out));
  fnz_arrays_destroy(got);
  fnz_arrays_destroy(want);
  fnz_arrays_destroy(inputs);
  fnz_executable_destroy(gpu);
  fnz_executable_destroy(cpu);
  fnz_program_destroy(p);
  fnz_program_destroy(traced);
}

uint64_t count_of(uint64_t some) {
  const char *words = getenv("LIBRARY_PROGRAMS");
  return words ? strtoull(words, NULL, 10) : some;
}
