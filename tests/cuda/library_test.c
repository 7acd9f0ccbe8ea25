/* checks: 16
 * library_test.c - products, convolutions and attention on a GPU, by the stand-ins for its driver,
 * for cuBLASLt and for cuDNN: random sizes and strides have the CPU engine's results within the
 * bounds that docs/engine.md states; a library that fails is told with the step; where one is not
 * there (STANDIN_WITHOUT in the environment, by who starts this) kernels of the text compute.
 *
 * LIBRARY_PROGRAMS in the environment: how many random programs of each kind. */
#include "engine/cuda/libraries.h"
#include "kernels/core/half.h"
#include "program/program.h"
#include "soak/choices.h"
#include "tests/cuda/counted.h"
#include "tests/cuda/standin_library.h"
#include "tests/run_help.h"

#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>

static void *symbol_of(const char *library, const char *symbol) {
  void *opened = dlopen(library, RTLD_NOW | RTLD_LOCAL),
       *found = opened ? dlsym(opened, symbol) : NULL;
  ck_assert_msg(found != NULL, "%s is not the stand-in: look at LD_LIBRARY_PATH", library);
  return found;
}

static bool is_without(void) {
  return getenv("STANDIN_WITHOUT") != NULL;
}

static standin_library_counts library_now(bool cudnn) {
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

static void nothing_is_left(void) {
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

static fnz_context *open_context(void) {
  fnz_context *ctx;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  return ctx;
}

static fnz_status compile(fnz_context *ctx, const fnz_program *p, const char *device,
                          fnz_executable **out) {
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  options.threads = 1;
  options.check = true;
  options.staging = true;
  options.device = device;
  return fnz_compile(ctx, p, &options, out);
}

/* --- Numbers ------------------------------------------------------------------------------------
 */
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

static fnz_arrays *inputs_of(fnz_context *ctx, const fnz_program *p, uint64_t seed) {
  const fnzi_graph *graph = fnzi_graph_at(p, 0);
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

/* docs/engine.md: how far sums in another order may be from the CPU's. */
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

/* --- Programs -----------------------------------------------------------------------------------
 */
typedef struct text {
  char inputs[1024], body[2048];
  uint64_t seed;
} text;

static int64_t draw(text *t, int64_t low, int64_t high) {
  return low + (int64_t)(splitmix64(&t->seed) % (uint64_t)(high - low + 1));
}

static void say(char *to, size_t room, const char *format, va_list words) {
  size_t used = strlen(to);
  int n = vsnprintf(to + used, room - used, format, words);
  ck_assert_int_lt(n, (int)(room - used));
}

static void put_input(text *t, const char *format, ...) {
  va_list words;
  if (t->inputs[0])
    strcat(t->inputs, ", ");
  va_start(words, format);
  say(t->inputs, sizeof t->inputs, format, words);
  va_end(words);
}

static void put_line(text *t, const char *format, ...) {
  va_list words;
  va_start(words, format);
  say(t->body, sizeof t->body, format, words);
  va_end(words);
}

/* On both devices; with nothing but the results copied back, in one piece of memory: all of it runs
 * on the GPU. */
static void run_text(fnz_context *ctx, text *t) {
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
  fnz_status status = fnz_executable_run_arrays(gpu, ctx, inputs, NULL, NULL, got);
  ck_assert_msg(status == FNZ_OK, "%s: %s: %s", whole, fnz_last_error(ctx)->where,
                fnz_last_error(ctx)->message);
  standin_counts after = counts_now();
  OK(ctx, fnz_executable_run_arrays(cpu, ctx, inputs, NULL, NULL, want));
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

static uint64_t count_of(uint64_t some) {
  const char *words = getenv("LIBRARY_PROGRAMS");
  return words ? strtoull(words, NULL, 10) : some;
}

/* --- Products -----------------------------------------------------------------------------------
 */
static const char *const types[] = {"f32", "f32", "f64", "f16", "bf16", "i64", "i32", "c64"};

/* A factor of rows by cols behind a batch ("" or "3,"), as an input that it is a view of. */
static void put_factor(text *t, const char *name, const char *type, const char *batch, int64_t rows,
                       int64_t cols) {
  int lead = (int)(batch[0] != 0) + (strchr(batch, ',') != strrchr(batch, ','));
  long long r = rows, c = cols;
  switch (draw(t, 0, 4)) {
  case 0:
    put_input(t, "%%%s_: %s[%s%lld,%lld]", name, type, batch, c, r);
    put_line(t, "  %%%s: %s[%s%lld,%lld] = transpose.int(%%%s_, %d, %d)\n", name, type, batch, r, c,
             name, lead, lead + 1);
    return;
  case 1:
    put_input(t, "%%%s_: %s[%s%lld,%lld]", name, type, batch, r, c + 3);
    put_line(t, "  %%%s: %s[%s%lld,%lld] = slice.Tensor(%%%s_, %d, 1, %lld, 1)\n", name, type,
             batch, r, c, name, lead + 1, c + 1);
    return;
  case 2:
    put_input(t, "%%%s_: %s[%s%lld,%lld]", name, type, batch, r, 2 * c);
    put_line(t, "  %%%s: %s[%s%lld,%lld] = slice.Tensor(%%%s_, %d, 0, %lld, 2)\n", name, type,
             batch, r, c, name, lead + 1, 2 * c);
    return;
  default:
    put_input(t, "%%%s: %s[%s%lld,%lld]", name, type, batch, r, c);
  }
}

static void put_added(text *t, const char *type, const char *batch, int64_t m, int64_t n) {
  long long rows = draw(t, 0, 2) ? m : 1, cols = draw(t, 0, 3) ? n : 1;
  switch (draw(t, 0, 2)) {
  case 0:
    put_input(t, "%%c: %s[%lld]", type, (long long)n);
    return;
  case 1:
    put_input(t, "%%c: %s[%s%lld,%lld]", type, batch, (long long)m, (long long)n);
    return;
  default:
    put_input(t, "%%c: %s[%lld,%lld]", type, rows, cols);
  }
}

static int64_t draw_size(text *t) {
  static const int64_t odd[] = {0, 1, 1, 64, 65, 70, 130};
  return draw(t, 0, 3) ? draw(t, 1, 20) : odd[draw(t, 0, 6)];
}

static void put_product(text *t) {
  static const char *const numbers[] = {"", ", beta=1, alpha=2", ", beta=0", ", beta=-2",
                                        ", alpha=0"};
  const char *type = types[draw(t, 0, 7)], *numbered = numbers[draw(t, 0, 4)];
  long long m = draw_size(t), n = draw_size(t), k = draw_size(t);
  if (draw(t, 0, 9) == 0)
    m = draw(t, 1, 2), k = draw(t, 128, 400);
  int kind = (int)draw(t, 0, 9);
  switch (kind) {
  case 0:
  case 1:
    put_factor(t, "a", type, "", m, k);
    put_factor(t, "b", type, "", k, n);
    if (kind == 1)
      put_added(t, type, "", m, n);
    put_line(t,
             kind ? "  %%y: %s[%lld,%lld] = addmm(%%c, %%a, %%b%s)"
                  : "  %%y: %s[%lld,%lld] = mm(%%a, %%b)",
             type, m, n, numbered);
    break;
  case 2:
  case 3:
    put_factor(t, "a", type, "3,", m, k);
    put_factor(t, "b", type, "3,", k, n);
    if (kind == 3)
      put_added(t, type, "3,", m, n);
    put_line(t,
             kind == 3 ? "  %%y: %s[3,%lld,%lld] = baddbmm(%%c, %%a, %%b%s)"
                       : "  %%y: %s[3,%lld,%lld] = bmm(%%a, %%b)",
             type, m, n, numbered);
    break;
  case 4:
    put_factor(t, "a", type, "2,3,", m, k);
    put_factor(t, "b", type, draw(t, 0, 1) ? "3," : "2,1,", k, n);
    put_line(t, "  %%y: %s[2,3,%lld,%lld] = matmul(%%a, %%b)", type, m, n);
    break;
  case 5:
    put_factor(t, "a", type, "2,", m, k);
    put_factor(t, "b", type, "", n, k);
    put_input(t, "%%c: %s[%lld]", type, n);
    put_line(t,
             draw(t, 0, 2) ? "  %%y: %s[2,%lld,%lld] = linear(%%a, %%b, %%c)"
                           : "  %%y: %s[2,%lld,%lld] = linear(%%a, %%b)",
             type, m, n);
    break;
  case 6:
    put_factor(t, "a", type, "", m, k);
    put_input(t, "%%b: %s[%lld]", type, k);
    put_line(t, "  %%y: %s[%lld] = mv(%%a, %%b)", type, m);
    break;
  case 7:
    put_input(t, "%%a: %s[%lld], %%b: %s[%lld]", type, k, type, k);
    put_line(t, "  %%y: %s[] = dot(%%a, %%b)", type);
    break;
  case 8:
    put_factor(t, "a", type, "3,", m, k);
    put_factor(t, "b", type, "3,", k, n);
    put_input(t, "%%c: %s[%lld,%lld]", type, m, n);
    put_line(t, "  %%y: %s[%lld,%lld] = addbmm(%%c, %%a, %%b%s)", type, m, n, numbered);
    break;
  default:
    put_factor(t, "a", type, "", m, k);
    put_input(t, "%%b: %s[%lld], %%c: %s[%lld]", type, k, type, m);
    put_line(t, "  %%y: %s[%lld] = addmv(%%c, %%a, %%b%s)", type, m, numbered);
  }
  put_line(t, "\n  return %%y");
}

START_TEST(products_have_the_cpus_results) {
  fnz_context *ctx = open_context();
  uint64_t count = count_of(40);
  for (uint64_t i = 0; i < count; i++) {
    text t = {.seed = 1000 + i};
    put_product(&t);
    run_text(ctx, &t);
  }
  standin_library_counts c = library_now(false);
  if (is_without())
    ck_assert_uint_eq(c.opened, 0);
  else if (is_standin())
    ck_assert_uint_ge(c.runs * 3, count);
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

/* --- Convolutions -------------------------------------------------------------------------------
 */
static void put_image(text *t, const char *name, const char *type, const int64_t *sizes, int rank) {
  static const char *const orders[] = {"", "", "", "[0, 2, 1]", "[0, 3, 1, 2]", "[0, 4, 1, 2, 3]"};
  char first[128] = "", last[128] = "";
  for (int d = 0; d < rank; d++) {
    int from = d == 0 ? 0 : d + 1 == rank ? 1 : d + 1; /* channels last */
    snprintf(first + strlen(first), 24, "%s%lld", d ? "," : "", (long long)sizes[d]);
    snprintf(last + strlen(last), 24, "%s%lld", d ? "," : "", (long long)sizes[from]);
  }
  if (draw(t, 0, 2)) {
    put_input(t, "%%%s: %s[%s]", name, type, first);
    return;
  }
  put_input(t, "%%%s_: %s[%s]", name, type, last);
  put_line(t, "  %%%s: %s[%s] = permute(%%%s_, %s)\n", name, type, first, name, orders[rank]);
}

static void put_list(text *t, const int64_t *list, int count) {
  for (int d = 0; d < count; d++)
    put_line(t, "%s%lld", d ? ", " : "[", (long long)list[d]);
  put_line(t, "], ");
}

static void put_result(text *t, const char *name, const char *type, const int64_t *sizes,
                       int rank) {
  put_line(t, "  %%%s: %s[", name, type);
  for (int d = 0; d < rank; d++)
    put_line(t, "%s%lld", d ? "," : "", (long long)sizes[d]);
  put_line(t, "]");
}

static void put_conv(text *t) {
  const char *type = types[draw(t, 1, 4)];
  int spatial = (int)draw(t, 1, 3);
  bool transposed = draw(t, 0, 2) == 0, has_bias = draw(t, 0, 1);
  int64_t groups = draw(t, 1, 3), ins = groups * draw(t, 1, 3), outs = groups * draw(t, 1, 3);
  int64_t x[5] = {draw(t, 1, 2), ins}, y[5] = {x[0], outs}, w[5];
  int64_t stride[3], padding[3], dilation[3], extra[3];
  w[0] = transposed ? ins : outs, w[1] = (transposed ? outs : ins) / groups;
  for (int d = 0; d < spatial; d++) {
    w[2 + d] = draw(t, 1, 3), stride[d] = draw(t, 1, 3), dilation[d] = draw(t, 1, 2);
    padding[d] = draw(t, 0, 1), extra[d] = transposed ? draw(t, 0, stride[d] - 1) : 0;
    x[2 + d] = draw(t, 6, 8);
    int64_t reach = dilation[d] * (w[2 + d] - 1) + 1;
    y[2 + d] = transposed ? (x[2 + d] - 1) * stride[d] - 2 * padding[d] + reach + extra[d]
                          : (x[2 + d] + 2 * padding[d] - reach) / stride[d] + 1;
  }
  put_image(t, "x", type, x, spatial + 2);
  put_image(t, "w", type, w, spatial + 2);
  if (has_bias)
    put_input(t, "%%b: %s[%lld]", type, (long long)outs);
  put_result(t, "y", type, y, spatial + 2);
  put_line(t, " = convolution(%%x, %%w, %s, ", has_bias ? "%b" : "None");
  put_list(t, stride, spatial);
  put_list(t, padding, spatial);
  put_list(t, dilation, spatial);
  put_line(t, "%s, ", transposed ? "True" : "False");
  put_list(t, extra, spatial);
  put_line(t, "%lld)\n  return %%y", (long long)groups);
}

START_TEST(convolutions_have_the_cpus_results) {
  fnz_context *ctx = open_context();
  uint64_t count = count_of(40);
  for (uint64_t i = 0; i < count; i++) {
    text t = {.seed = 2000 + i};
    put_conv(&t);
    run_text(ctx, &t);
  }
  standin_library_counts c = library_now(true);
  if (is_without())
    ck_assert_uint_eq(c.opened, 0);
  else if (is_standin())
    ck_assert(c.runs * 2 >= count && c.backward * 6 >= count);
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

/* All three gradients, of which that by the weight is a convolution for each group. */
static void put_gradient(text *t) {
  const char *type = types[draw(t, 1, 4)];
  int spatial = (int)draw(t, 1, 2);
  bool transposed = draw(t, 0, 2) == 0;
  int64_t groups = draw(t, 1, 2), ins = groups * draw(t, 1, 3), outs = groups * draw(t, 1, 3);
  int64_t x[5] = {draw(t, 1, 3), ins}, y[5] = {x[0], outs}, w[5];
  int64_t stride[3], padding[3], dilation[3], none[3] = {0};
  w[0] = transposed ? ins : outs, w[1] = (transposed ? outs : ins) / groups;
  for (int d = 0; d < spatial; d++) {
    w[2 + d] = draw(t, 1, 3), stride[d] = draw(t, 1, 2), dilation[d] = draw(t, 1, 2);
    padding[d] = draw(t, 0, 1);
    x[2 + d] = draw(t, 6, 8);
    int64_t reach = dilation[d] * (w[2 + d] - 1) + 1;
    y[2 + d] = transposed ? (x[2 + d] - 1) * stride[d] - 2 * padding[d] + reach
                          : (x[2 + d] + 2 * padding[d] - reach) / stride[d] + 1;
  }
  put_image(t, "g", type, y, spatial + 2);
  put_image(t, "x", type, x, spatial + 2);
  put_image(t, "w", type, w, spatial + 2);
  put_result(t, "dx", type, x, spatial + 2);
  put_line(t, ", ");
  put_result(t, "dw", type, w, spatial + 2);
  put_line(t, ", %%db: %s[%lld] = convolution_backward(%%g, %%x, %%w, [%lld], ", type,
           (long long)outs, (long long)outs);
  put_list(t, stride, spatial);
  put_list(t, padding, spatial);
  put_list(t, dilation, spatial);
  put_line(t, "%s, ", transposed ? "True" : "False");
  put_list(t, none, spatial);
  put_line(t, "%lld, [True, True, True])\n  return %%dx, %%dw, %%db", (long long)groups);
}

START_TEST(gradients_have_the_cpus_results) {
  fnz_context *ctx = open_context();
  uint64_t count = count_of(24);
  for (uint64_t i = 0; i < count; i++) {
    text t = {.seed = 7000 + i};
    put_gradient(&t);
    run_text(ctx, &t);
  }
  standin_library_counts c = library_now(true);
  if (!is_without())
    ck_assert_uint_ge(c.by_weight * 2, count);
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

/* What cuDNN has not: more zeros on one side than on the other. No batch. */
START_TEST(odd_convolutions_have_the_cpus_results) {
  static const char *const inputs = "%x: f32[3,7,8], %w: f32[4,3,2,4], %b: f32[4]";
  fnz_context *ctx = open_context();
  text t = {.seed = 5};
  strcpy(t.inputs, inputs);
  put_line(&t, "  %%y: f32[4,7,8] = conv2d.padding(%%x, %%w, %%b, [1, 1], \"same\")\n  return %%y");
  run_text(ctx, &t);
  ck_assert_uint_eq(library_now(true).runs, 0);
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

/* --- Attention ----------------------------------------------------------------------------------
 */
static void put_attention(text *t) {
  static const char *const masks[] = {"None", "None", "%mask", "%mask"};
  const char *type = types[draw(t, 1, 4)];
  long long queries = draw(t, 0, 3) ? draw(t, 1, 9) : draw(t, 63, 70),
            keys = draw(t, 0, 3) ? draw(t, 1, 9) : draw(t, 63, 140);
  long long width = draw(t, 1, 40), wide = draw(t, 0, 4) ? draw(t, 1, 20) : draw(t, 60, 140);
  const char *mask = masks[draw(t, 0, 3)];
  bool causal = mask[0] == 'N' && draw(t, 0, 1), grouped = draw(t, 0, 2) == 0;
  int heads = grouped ? 2 : 4;
  put_input(t, "%%q: %s[2,4,%lld,%lld]", type, queries, width);
  if (draw(t, 0, 1)) {
    put_input(t, "%%k_: %s[2,%lld,%d,%lld]", type, keys, heads, width);
    put_line(t, "  %%k: %s[2,%d,%lld,%lld] = transpose.int(%%k_, 1, 2)\n", type, heads, keys,
             width);
  } else {
    put_input(t, "%%k: %s[2,%d,%lld,%lld]", type, heads, keys, width);
  }
  put_input(t, "%%v: %s[2,%d,%lld,%lld]", type, heads, keys, wide);
  if (mask[0] == '%')
    put_input(t, "%%mask: %s[%s%lld,%lld]", draw(t, 0, 1) ? "bool" : type,
              draw(t, 0, 1) ? "2,1," : "", draw(t, 0, 2) ? queries : 1ll, keys);
  put_line(t,
           "  %%y: %s[2,4,%lld,%lld] = scaled_dot_product_attention(%%q, %%k, %%v, %s, 0.0, "
           "%s%s%s)\n  return %%y",
           type, queries, wide, mask, causal ? "True" : "False", draw(t, 0, 1) ? ", scale=0.5" : "",
           grouped ? ", enable_gqa=True" : "");
}

START_TEST(attention_has_the_cpus_results) {
  fnz_context *ctx = open_context();
  uint64_t count = count_of(24);
  for (uint64_t i = 0; i < count; i++) {
    text t = {.seed = 3000 + i};
    put_attention(&t);
    run_text(ctx, &t);
  }
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

/* Rows without a key to see are zeros; what a key hides does not count; logarithms of the sums. */
START_TEST(attention_keeps_its_edges) {
  fnz_context *ctx = open_context();
  for (uint64_t i = 0; i < 6; i++) {
    text t = {.seed = i};
    long long queries = i % 2 ? 3 : 66, keys = i % 3 ? 5 : 70;
    put_input(&t,
              "%%q: f32[2,2,%lld,8], %%k: f32[2,2,%lld,8], %%v: f32[2,2,%lld,300], %%m: f32[%lld]",
              queries, keys, keys, keys);
    put_line(&t,
             "  %%h: f32[%lld] = mul.Scalar(%%m, %s)\n"
             "  %%y: f32[2,2,%lld,300], %%l: f32[2,2,%lld] = "
             "_scaled_dot_product_flash_attention_for_cpu(%%q, %%k, %%v, 0.0, %s, attn_mask=%s)\n"
             "  return %%y, %%l",
             keys, i % 2 ? "-inf" : "100", queries, queries, i < 3 ? "True" : "False",
             i < 3 ? "None" : "%h");
    run_text(ctx, &t);
  }
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

/* --- Failures -----------------------------------------------------------------------------------
 */
typedef struct failing {
  const char *variable, *how, *says; /* NULL: a kernel computes it */
} failing;

static const failing failings[] = {
    {"STANDIN_CUBLAS", "create", "cuBLASLt gave error 1 (not initialized) when it was started"},
    {"STANDIN_CUBLAS", "choose", NULL},
    {"STANDIN_CUBLAS", "none", NULL},
    {"STANDIN_CUBLAS", "run",
     "cuBLASLt gave error 13 (execution failed) when a product was started"},
    {"STANDIN_CUDNN", "create", "cuDNN gave error 1001 (cuDNN cannot be used) when it was started"},
    {"STANDIN_CUDNN", "choose", NULL},
    {"STANDIN_CUDNN", "none", NULL},
    {"STANDIN_CUDNN", "run",
     "cuDNN gave error 5000 (execution failed) when a convolution was started"},
};

static text failing_text(bool cudnn) {
  text t = {.seed = 7};
  if (cudnn) {
    put_input(&t, "%%a: f32[2,3,5], %%b: f32[4,3,2], %%c: f32[4]");
    put_line(&t, "  %%y: f32[2,4,4] = conv1d(%%a, %%b, %%c)\n  return %%y");
  } else {
    put_input(&t, "%%a: f32[4,20], %%b: f32[20,3], %%c: f32[3]");
    put_line(&t, "  %%y: f32[4,3] = addmm(%%c, %%a, %%b)\n  return %%y");
  }
  return t;
}

/* Whether a program runs, and what is told when it does not. */
static void run_failing(fnz_context *ctx, const failing *f, bool cudnn) {
  text t = failing_text(cudnn);
  fnz_program *p = program_of(ctx, t.inputs, t.body);
  fnz_arrays *inputs = inputs_of(ctx, p, 3), *got;
  fnz_executable *exe;
  const fnz_error *e = fnz_last_error(ctx);
  OK(ctx, fnz_arrays_create(ctx, &got));
  fnz_status status = compile(ctx, p, "cuda", &exe);
  if (status == FNZ_OK) {
    status = fnz_executable_run_arrays(exe, ctx, inputs, NULL, NULL, got);
    ck_assert_int_eq(status, FNZ_INTERNAL);
    ck_assert_msg(strstr(e->message, f->says) != NULL, "%s", e->message);
    ck_assert_msg(strstr(f->how, "run") == NULL ||
                      strstr(e->where, cudnn ? "conv1d" : "addmm") != NULL,
                  "%s", e->where);
    fnz_executable_destroy(exe);
  }
  fnz_arrays_destroy(got);
  fnz_arrays_destroy(inputs);
  fnz_program_destroy(p);
}

START_TEST(what_fails_is_told) {
  const failing *f = &failings[_i];
  bool cudnn = strcmp(f->variable, "STANDIN_CUDNN") == 0;
  fnz_context *ctx = open_context();
  if (!is_without()) {
    setenv(f->variable, f->how, 1);
    if (f->says) {
      run_failing(ctx, f, cudnn);
    } else {
      text t = failing_text(cudnn);
      run_text(ctx, &t);
    }
    ck_assert_uint_eq(library_now(cudnn).runs, 0);
    unsetenv(f->variable);
  }
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

/* What is not there is named, with where it is from and the loader's own reason. */
START_TEST(what_is_missing_is_named) {
  fnz_context *ctx = open_context();
  const fnz_error *e = fnz_last_error(ctx);
  fnzi_cuda_cublas cublas;
  fnzi_cuda_cudnn cudnn;
  if (is_without()) {
    FAILS(ctx, "UNSUPPORTED", fnzi_cuda_cublas_open(ctx, &cublas));
    ck_assert_ptr_nonnull(strstr(e->message, "neither libcublasLt.so.13 nor libcublasLt.so.12"));
    ck_assert_ptr_nonnull(strstr(e->message, "nvidia-cublas"));
    ck_assert_msg(strstr(e->message, "libcublasLt.so.12: file too short") != NULL, "%s",
                  e->message);
    FAILS(ctx, "UNSUPPORTED", fnzi_cuda_cudnn_open(ctx, &cudnn));
    ck_assert_ptr_nonnull(strstr(e->message, "libcudnn.so.9 cannot be opened"));
    ck_assert_ptr_nonnull(strstr(e->message, "LD_LIBRARY_PATH"));
    ck_assert_ptr_nonnull(strstr(e->message, "libcudnn.so.9: file too short"));
  }
  fnz_context_destroy(ctx);
}
END_TEST

/* Nothing is opened for a program that needs none. */
START_TEST(libraries_are_opened_when_they_are_needed) {
  fnz_context *ctx = open_context();
  text t = {.seed = 1};
  put_input(&t, "%%a: f32[4]");
  put_line(&t, "  %%y: f32[4] = add.Tensor(%%a, 1)\n  return %%y");
  run_text(ctx, &t);
  ck_assert_uint_eq(library_now(false).opened, 0);
  ck_assert_uint_eq(library_now(true).opened, 0);
  text again = failing_text(false);
  run_text(ctx, &again);
  ck_assert_uint_eq(library_now(false).opened, !is_without() && is_standin());
  ck_assert_uint_eq(library_now(true).opened, 0);
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

int main(void) {
  TCase *c = tcase_create("library");
  tcase_set_timeout(c, 1200);
  tcase_add_test(c, products_have_the_cpus_results);
  tcase_add_test(c, convolutions_have_the_cpus_results);
  tcase_add_test(c, gradients_have_the_cpus_results);
  tcase_add_test(c, odd_convolutions_have_the_cpus_results);
  tcase_add_test(c, attention_has_the_cpus_results);
  tcase_add_test(c, attention_keeps_its_edges);
  ADD_OF_STANDIN(c, what_fails_is_told, sizeof failings / sizeof *failings);
  tcase_add_test(c, what_is_missing_is_named);
  tcase_add_test(c, libraries_are_opened_when_they_are_needed);
  return run_one_case("library", c);
}
