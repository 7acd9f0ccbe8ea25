/* checks: 19
 * rows_test.c - operators that make numbers of rows on a GPU, by the stand-in for one: each over
 * random shapes, dimensions, types and layouts, against the CPU; within the bounds that
 * docs/engine.md states. */
#include "engine/cuda/run.h"
#include "kernels/core/convert.h"
#include "program/program.h"
#include "soak/programs.h"
#include "tests/cuda/standin.h"
#include "tests/run_help.h"

#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROOM = 4096, PLANTS = 15 };

typedef enum form {
  NUMBERS, /* dims and keepdim; a number for each row */
  ONE_DIM, /* dim and keepdim; the same, of a single one */
  PAIR,    /* values and places */
  BOTH,    /* dim; values and places of the sizes of x */
  WHOLE,   /* dim; of the sizes of x */
  LAST     /* a norm over the last dimensions */
} form;

/* What errors are measured by: the sum of all that is added up, 1 or the greatest element, nothing.
 */
typedef enum scale { OF_SUM, OF_ONE, OF_ITSELF, EXACT } scale;

/* In the call, $ stands for the dimensions, & for keepdim. */
static const struct {
  const char *call;
  form form;
  scale scale;
  const char *types, *out; /* out: NULL for that of x */
} cases[] = {
    {"sum.dim_IntList(%x, $, &)", NUMBERS, OF_SUM, "f32 f64 bf16 f16 i64", NULL},
    {"sum.dim_IntList(%x, $, &)", NUMBERS, OF_SUM, "i32 bool u8", "i64"},
    {"mean.dim(%x, $, &)", NUMBERS, OF_ONE, "f32 f64 bf16 f16", NULL},
    {"amax(%x, $, &)", NUMBERS, EXACT, "f32 f64 bf16 f16 i64 i32 u8 bool", NULL},
    {"amin(%x, $, &)", NUMBERS, EXACT, "f32 f64 bf16 f16 i64 i8", NULL},
    {"any.dims(%x, $, &)", NUMBERS, EXACT, "bool f32 i64", "bool"},
    {"all.dims(%x, $, &)", NUMBERS, EXACT, "bool bf16 i32", "bool"},
    {"logsumexp(%x, $, &)", NUMBERS, OF_ONE, "f32 f64 bf16", NULL},
    {"var.correction(%x, $, correction = 1, keepdim = &)", NUMBERS, OF_ITSELF, "f32 f64 bf16 f16",
     NULL},
    {"std.correction(%x, $, correction = 0, keepdim = &)", NUMBERS, OF_ITSELF, "f32 f64", NULL},
    {"linalg_vector_norm(%x, 2, $, &)", NUMBERS, OF_ITSELF, "f32 f64 bf16", NULL},
    {"linalg_vector_norm(%x, 1, $, &)", NUMBERS, OF_ITSELF, "f32 f64", NULL},
    {"linalg_vector_norm(%x, 3, $, &)", NUMBERS, OF_ITSELF, "f32 f64", NULL},
    {"linalg_vector_norm(%x, 0, $, &)", NUMBERS, OF_ITSELF, "f32 f64", NULL},
    {"count_nonzero.dim_IntList(%x, $)", NUMBERS, EXACT, "f32 i64 bool f16", "i64"},
    {"prod.dim_int(%x, $, &)", ONE_DIM, OF_ITSELF, "f32 f64 i64 bf16", NULL},
    {"argmax(%x, $, &)", ONE_DIM, EXACT, "f32 f64 i64 bf16 u8", "i64"},
    {"argmin(%x, $, &)", ONE_DIM, EXACT, "f32 f64 i32 f16", "i64"},
    {"max.dim(%x, $, &)", PAIR, EXACT, "f32 f64 i64 bf16 bool", NULL},
    {"min.dim(%x, $, &)", PAIR, EXACT, "f32 f64 i8 f16", NULL},
    {"softmax.int(%x, $)", WHOLE, OF_ITSELF, "f32 f64 bf16 f16", NULL},
    {"log_softmax.int(%x, $)", WHOLE, OF_ONE, "f32 f64 bf16", NULL},
    {"_safe_softmax(%x, $)", WHOLE, OF_ITSELF, "f32 f64", NULL},
    {"cumsum(%x, $)", WHOLE, OF_SUM, "f32 f64 bf16 f16 i64", NULL},
    {"cumsum(%x, $)", WHOLE, OF_SUM, "i32 bool", "i64"},
    {"cumprod(%x, $)", WHOLE, OF_ONE, "f32 f64 i64", NULL},
    {"cummax(%x, $)", BOTH, EXACT, "f32 f64 i64 bf16", NULL},
    {"cummin(%x, $)", BOTH, EXACT, "f32 i32", NULL},
    {"logcumsumexp(%x, $)", WHOLE, OF_ONE, "f32 f64 bf16", NULL},
    {"layer_norm(%x, $, %w, %b, 1e-05)", LAST, OF_ONE, "f32 f64 bf16 f16", NULL},
    {"rms_norm(%x, $, %w, 1e-05)", LAST, OF_ONE, "f32 f64 bf16", NULL}};
enum { CASES = sizeof cases / sizeof *cases };

static uint64_t state = 5;

static int draw(int below) {
  return (int)(splitmix64(&state) % (unsigned)below);
}

/* --- A program ----------------------------------------------------------------------------------
 */
typedef struct draft {
  char text[ROOM];
  size_t size;
  int rank, sizes[4], order[4]; /* `order`: of dimensions in memory */
  bool reduced[4], keeps;
  int first; /* LAST: of a row */
  scale scale;
} draft;

static void put(draft *d, const char *format, ...) FNZ_PRINTF(2, 3);
static void put(draft *d, const char *format, ...) {
  va_list args;
  va_start(args, format);
  d->size += (size_t)vsnprintf(d->text + d->size, sizeof d->text - d->size, format, args);
  va_end(args);
  ck_assert(d->size < sizeof d->text);
}

/* Short rows, rows of a warp and of a block, around the sizes at which teams change. */
static void draw_shape(draft *d, form f) {
  static const int sizes[] = {1, 2, 3, 4, 5, 31, 32, 33, 100, 257, 1023, 1024, 1025, 2500};
  int room = 12000;
  d->rank = 1 + draw(4);
  for (int k = 0; k < d->rank; k++) {
    do
      d->sizes[k] = sizes[draw(sizeof sizes / sizeof *sizes)];
    while (d->sizes[k] > room);
    room /= d->sizes[k];
    d->order[k] = k;
  }
  for (int k = d->rank - 1; k > 0 && draw(2); k--) {
    int j = draw(k + 1), had = d->order[k];
    d->order[k] = d->order[j];
    d->order[j] = had;
  }
  memset(d->reduced, 0, sizeof d->reduced);
  d->keeps = draw(2);
  d->first = draw(d->rank);
  for (int k = 0; k < d->rank; k++)
    d->reduced[k] = f == LAST ? k >= d->first : f == NUMBERS && draw(2);
  if (f != LAST)
    d->reduced[draw(d->rank)] = true;
}

static void put_shape(draft *d, const char *type, bool whole) {
  const char *between = "";
  put(d, "%s[", type);
  for (int k = 0; k < d->rank; k++) {
    if (!whole && d->reduced[k] && !d->keeps)
      continue;
    put(d, "%s%d", between, !whole && d->reduced[k] ? 1 : d->sizes[k]);
    between = ", ";
  }
  put(d, "]");
}

static void put_row(draft *d, const char *type) {
  put(d, "%s[", type);
  for (int k = d->first; k < d->rank; k++)
    put(d, "%s%d", k > d->first ? ", " : "", d->sizes[k]);
  put(d, "]");
}

static void put_dims(draft *d, form f) {
  const char *between = "";
  bool lists = f == NUMBERS || f == LAST;
  put(d, "%s", lists ? "[" : "");
  for (int k = 0; k < d->rank; k++)
    if (d->reduced[k]) {
      put(d, "%s%d", between, f == LAST ? d->sizes[k] : k);
      between = ", ";
    }
  put(d, "%s", lists ? "]" : "");
}

/* x as it lies, in the order of memory, and turned. */
static void put_inputs(draft *d, const char *type, form f) {
  d->size = 0;
  put(d, "fnz 1\nprogram(%%t: %s[", type);
  for (int k = 0; k < d->rank; k++)
    put(d, "%s%d", k ? ", " : "", d->sizes[d->order[k]]);
  put(d, "]");
  if (f == LAST) {
    put(d, ", %%w: "), put_row(d, type);
    put(d, ", %%b: "), put_row(d, type);
  }
  put(d, ")\n{\n  %%x: ");
  put_shape(d, type, true);
  put(d, " = permute_copy(%%t, [");
  for (int k = 0; k < d->rank; k++)
    for (int j = 0; j < d->rank; j++)
      if (d->order[j] == k)
        put(d, "%s%d", k ? ", " : "", j);
  put(d, "])\n");
}

static void put_program(draft *d, int c, const char *type) {
  const char *out = cases[c].out ? cases[c].out : type;
  form f = cases[c].form;
  bool whole = f == WHOLE || f == LAST || f == BOTH, pair = f == PAIR || f == BOTH;
  d->scale = cases[c].scale;
  draw_shape(d, f);
  if (strncmp(cases[c].call, "count", 5) == 0)
    d->keeps = false;
  if (f != NUMBERS && f != LAST) {
    int only = draw(d->rank);
    for (int k = 0; k < d->rank; k++)
      d->reduced[k] = k == only;
  }
  put_inputs(d, type, f);
  put(d, "  %%y: ");
  put_shape(d, out, whole);
  if (pair)
    put(d, ", %%z: "), put_shape(d, "i64", whole);
  put(d, " = ");
  for (const char *at = cases[c].call; *at; at++)
    if (*at == '$')
      put_dims(d, f);
    else if (*at == '&')
      put(d, "%s", d->keeps ? "True" : "False");
    else
      put(d, "%c", *at);
  put(d, "\n  return %%y%s\n}\n", pair ? ", %z" : "");
}

/* --- Bounds -------------------------------------------------------------------------------------
 */
static double value_at(const fnz_array *a, size_t i) {
  double v;
  size_t cell = fnz_dtype_get_info(a->dtype)->bytes;
  fnzi_krn_convert(FNZ_F64, &v, 0, a->dtype, (const char *)a->data + i * cell, 0, 1);
  return v;
}

/* What a last place is to 1. */
static double unit_of(fnz_dtype dtype) {
  return dtype == FNZ_F64   ? 0x1p-52
         : dtype == FNZ_F32 ? 0x1p-23
         : dtype == FNZ_F16 ? 0x1p-10
                            : 0x1p-7;
}

/* *at: the first element that is too far off. */
static bool is_close(const draft *d, const fnz_array *got, const fnz_array *want, double greatest,
                     size_t *at) {
  double length = 1, narrow = unit_of(got->dtype);
  double sums = narrow < 0x1p-23 ? narrow : 0x1p-23; /* sums of 16-bit floats are f32's */
  for (int k = 0; k < d->rank; k++)
    length *= d->reduced[k] ? d->sizes[k] : 1;
  double by = d->scale == OF_SUM      ? length * greatest
              : d->scale == OF_ITSELF ? 0
              : greatest > 1          ? greatest
                                      : 1;
  if (!fnzi_is_float(got->dtype))
    return memcmp(got->data, want->data, got->bytes) == 0;
  for (size_t i = 0; i < got->bytes / fnz_dtype_get_info(got->dtype)->bytes; i++) {
    double x = value_at(got, i), y = value_at(want, i);
    double most = 8 * narrow * fabs(y) + sums * (8 + length / 16) * (by + fabs(y));
    if (at)
      *at = i;
    if (x != y && !(d->scale != EXACT && fabs(x - y) <= most) && !(isnan(x) && isnan(y)))
      return false;
  }
  return true;
}

static void compare(const draft *d, const fnz_array *got, const fnz_array *want, double greatest) {
  size_t i = 0;
  ck_assert_uint_eq(got->bytes, want->bytes);
  ck_assert_msg(is_close(d, got, want, greatest, &i), "element %zu is %.9g, not %.9g\n%s", i,
                value_at(got, i), value_at(want, i), d->text);
}

static double greatest_of(const fnz_array *a) {
  double most = 0;
  for (size_t i = 0; i < a->bytes / fnz_dtype_get_info(a->dtype)->bytes; i++)
    if (fabs(value_at(a, i)) > most)
      most = fabs(value_at(a, i));
  return most;
}

/* --- Runs ---------------------------------------------------------------------------------------
 */
static standin_counts counts_now(void) {
  standin_counts counts;
  standin_counts_fn *get;
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  void *found = library ? dlsym(library, "standin_counts_get") : NULL;
  ck_assert_msg(found != NULL, "libcuda.so.1 is not the stand-in: look at LD_LIBRARY_PATH");
  memcpy(&get, &found, sizeof get);
  get(&counts);
  return counts;
}

static fnz_arrays *run_on(fnz_context *ctx, const fnz_program *p, const char *device,
                          const fnz_arrays *inputs) {
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  fnz_executable *exe;
  fnz_arrays *out;
  options.threads = 1;
  options.device = device;
  OK(ctx, fnz_compile(ctx, p, &options, &exe));
  OK(ctx, fnz_arrays_create(ctx, &out));
  OK(ctx, fnz_executable_run_arrays(exe, ctx, inputs, NULL, NULL, out));
  fnz_executable_destroy(exe);
  return out;
}

/* On the device as a whole: nothing but inputs and outputs is copied. */
static void try_draft(fnz_context *ctx, const draft *d) {
  fnz_program *p;
  fnz_arrays *inputs, *got, *want;
  fnz_status status = fnz_program_read(ctx, d->text, d->size, FNZ_FORMAT_TEXT, &p);
  ck_assert_msg(status == FNZ_OK, "%s\n%s", fnz_last_error(ctx)->message, d->text);
  OK(ctx, fnzi_random_inputs(ctx, p, splitmix64(&state), &inputs));
  want = run_on(ctx, p, "cpu", inputs);
  standin_counts before = counts_now();
  got = run_on(ctx, p, "cuda", inputs);
  standin_counts after = counts_now();
  uint64_t in = 0, out = 0;
  for (size_t k = 0; k < fnz_arrays_count(inputs); k++)
    in += fnz_arrays_at(inputs, k)->bytes;
  for (size_t k = 0; k < fnz_arrays_count(got); k++)
    out += fnz_arrays_at(got, k)->bytes;
  ck_assert_msg(after.launches > before.launches, "not on the device\n%s", d->text);
  ck_assert_msg(after.bytes_in - before.bytes_in <= in + 16, "%s", d->text);
  ck_assert_msg(after.bytes_out - before.bytes_out <= out + 16, "%s", d->text);
  for (size_t k = 0; k < fnz_arrays_count(got); k++)
    compare(d, fnz_arrays_at(got, k), fnz_arrays_at(want, k),
            greatest_of(fnz_arrays_at(inputs, 0)));
  fnz_arrays_destroy(inputs);
  fnz_arrays_destroy(got);
  fnz_arrays_destroy(want);
  fnz_program_destroy(p);
}

/* All elements, or long rows, come in pieces; the last one has fewer elements. */
static const char *const long_sums[] = {
    "%x: @[40001])\n{\n  %y: @[] = sum(%x)\n  return %y\n}\n",
    "%x: @[2, 17000, 3])\n{\n  %y: @[3] = sum.dim_IntList(%x, [0, 1])\n  return %y\n}\n"};
static const char *const long_means[] = {
    "%x: @[200, 201])\n{\n  %y: @[] = mean(%x)\n  return %y\n}\n",
    "%x: @[2, 17000, 3])\n{\n  %y: @[] = linalg_vector_norm(%x)\n  return %y\n}\n",
    "%x: @[40, 1000])\n{\n  %y: @[] = std.correction(%x, None)\n  return %y\n}\n"};
static const char *const long_extremes[] = {
    "%x: @[40, 1000])\n{\n  %y: i64[] = count_nonzero(%x)\n  %z: @[] = max(%x)\n  return %y, "
    "%z\n}\n",
    "%x: @[3, 20000])\n{\n  %y: i64[3] = argmax(%x, 1)\n  return %y\n}\n",
    "%x: @[17000, 3])\n{\n  %y: @[3], %z: i64[3] = min.dim(%x, 0)\n  return %y, %z\n}\n"};

/* Norms over channels, with @ for the type. */
static const char *const norms[] = {
    "%x: @[4, 6, 5, 7], %w: @[6], %b: @[6])\n{\n"
    "  %y: @[4, 6, 5, 7] = group_norm(%x, 3, %w, %b, 1e-05)\n  return %y\n}\n",
    "%x: @[4, 6, 50], %w: @[6])\n{\n"
    "  %y: @[4, 6, 50] = group_norm(%x, 2, %w, None, 1e-05)\n  return %y\n}\n",
    "%x: @[4, 6, 5, 70], %w: @[6], %b: @[6], %m: @[6], %u: @[6])\n{\n"
    "  %v: @[6] = abs(%u)\n  %y: @[4, 6, 5, 70] = batch_norm(%x, %w, %b, %m, %v, False, 0.1, "
    "1e-05, False)\n"
    "  return %y\n}\n",
    "%x: @[40, 6, 33], %w: @[6], %b: @[6], %m: @[6], %v: @[6])\n{\n"
    "  %y: @[40, 6, 33], %s: @[6], %r: @[6], %n: @[6], %u: @[6] = "
    "_native_batch_norm_legit_functional(%x, %w, %b, %m, %v, True, 0.1, 1e-05)\n"
    "  return %y, %s, %r, %n, %u\n}\n",
    "%x: @[40, 6])\n{\n"
    "  %y: @[40, 6], %s: @[6], %r: @[6] = _native_batch_norm_legit.no_stats(%x, None, None, True, "
    "0.1, 1e-05)\n"
    "  return %y, %s, %r\n}\n",
    "%x: @[4, 6, 300], %w: @[6], %b: @[6])\n{\n"
    "  %y: @[4, 6, 300] = instance_norm(%x, %w, %b, None, None, True, 0.1, 1e-05, False)\n  return "
    "%y\n}\n",
    "%x: @[5, 40, 30], %w: @[30], %b: @[30])\n{\n"
    "  %y: @[5, 40, 30], %m: @[5, 40, 1], %r: @[5, 40, 1] = native_layer_norm(%x, [30], %w, %b, "
    "1e-05)\n"
    "  %z: @[5, 40, 30], %s: @[5, 40, 1] = _fused_rms_norm(%y, [30], %w, 1e-05)\n"
    "  %q: @[5, 40, 30] = mul.Tensor(%z, %r)\n  return %q, %m, %s\n}\n"};

/* `length`: of rows. */
static void try_each(const char *const *texts, size_t count, scale scale, int length) {
  static draft d;
  fnz_context *ctx;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  for (size_t k = 0; k < count; k++)
    for (int type = 0; type < 2; type++) {
      d = (draft){.rank = 1, .sizes = {length}, .reduced = {true}, .scale = scale};
      put(&d, "fnz 1\nprogram(");
      for (const char *at = texts[k]; *at; at++)
        if (*at == '@')
          put(&d, "%s", type ? "f64" : "f32");
        else
          put(&d, "%c", *at);
      try_draft(ctx, &d);
    }
  fnz_context_destroy(ctx);
}

#define EACH(texts) texts, sizeof texts / sizeof *texts
START_TEST(norms_have_the_cpus_results) {
  try_each(EACH(norms), OF_ONE, 1000);
}
END_TEST

START_TEST(long_rows_have_the_cpus_results) {
  try_each(EACH(long_sums), OF_SUM, 40000);
  try_each(EACH(long_means), OF_ONE, 40000);
  try_each(EACH(long_extremes), EXACT, 40000);
}
END_TEST

/* --- Groups -------------------------------------------------------------------------------------
 */
/* $ is one value, & another. */
static void put_call(draft *d, const char *call, int a, int b) {
  for (; *call; call++)
    if (*call == '$' || *call == '&')
      put(d, "%%v%d", *call == '$' ? a : b);
    else
      put(d, "%c", *call);
}

/* Pointwise nodes before, between and behind those of rows; values stay between -3 and 3. */
static void put_group(draft *d) {
  static const char *const whole[] = {"tanh($)", "sigmoid($)", "softmax.int($, -1)",
                                      "mul.Tensor($, 0.5)", "neg($)"};
  static const char *const numbers[] = {"mean.dim($, [-1], True)", "amax($, [-1], True)",
                                        "amin($, [-1], True)",
                                        "linalg_vector_norm($, inf, [-1], True)"};
  static const char *const pairs[] = {"maximum($, &)", "minimum($, &)", "where.self(%mask, $, &)"};
  static const int lengths[] = {2, 7, 33, 130, 1024, 1025, 2500};
  int rows = 1 + draw(5), length = lengths[draw(7)], count = 1, all[32] = {1};
  *d = (draft){.rank = 1, .sizes = {length}, .reduced = {true}, .scale = OF_ONE};
  put(d,
      "fnz 1\nprogram(%%x: f32[%d, %d], %%mask: bool[%d, %d])\n{\n  %%v0: f32[%d, %d] = sin(%%x)\n",
      rows, length, rows, length, rows, length);
  for (int n = 4 + draw(12); count < n; count++) {
    int a = draw(count), b = draw(count), kind = draw(3);
    if (kind == 2)
      all[count] = 1;
    else
      all[count] = kind == 0 || !all[a] ? all[a] : 0;
    put(d, "  %%v%d: f32[%d, %d] = ", count, rows, all[count] ? length : 1);
    if (kind == 2)
      put_call(d, pairs[all[a] || all[b] ? draw(3) : 2], a, b);
    else
      put_call(d, all[a] && !all[count] ? numbers[draw(4)] : whole[draw(5)], a, a);
    put(d, "\n");
  }
  put(d, "  return ");
  for (int k = 0; k < count; k++)
    if (k + 1 == count || draw(2))
      put(d, "%%v%d%s", k, k + 1 < count ? ", " : "");
  put(d, "\n}\n");
}

START_TEST(groups_have_the_cpus_results) {
  static draft d;
  fnz_context *ctx;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  for (int i = 0; i < 25; i++) {
    put_group(&d);
    try_draft(ctx, &d);
  }
  fnz_context_destroy(ctx);
}
END_TEST

/* ROWS_PROGRAMS in the environment: of each type of each case, how many. */
START_TEST(operators_have_the_cpus_results) {
  static draft d;
  const char *text = getenv("ROWS_PROGRAMS");
  int count = text ? atoi(text) : 1, programs = 0;
  fnz_context *ctx;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  for (int c = 0; c < CASES; c++)
    for (const char *type = cases[c].types; *type;) {
      char name[8] = {0};
      size_t n = strcspn(type, " ");
      memcpy(name, type, n);
      type += n + (type[n] == ' ');
      for (int i = 0; i < count; i++, programs++) {
        put_program(&d, c, name);
        try_draft(ctx, &d);
      }
    }
  printf("%d programs\n", programs);
  fnz_context_destroy(ctx);
  ck_assert_msg(!counts_now().wrong, "%s", counts_now().wrong);
}
END_TEST

/* Each error that is planted in the text is found, by the stand-in or by the numbers. In a process
 * of its own: what is wrong stays wrong. */
START_TEST(planted_errors_are_found) {
  static const struct {
    const char *program, *plant;
  } plants[] = {{"softmax.int(%x, -1)", "1;__syncthreads();;"},    /* no barrier in join_block() */
                {"layer_norm(%x, [2500])", "2;__syncthreads();;"}, /* no second one */
                {"softmax.int(%x, -1)", "1;__syncthreads();if (threadIdx.x < 128) __syncthreads()"},
                {"softmax.int(%x, -1)", "1;c < 2500;c < 2501"},
                {"softmax.int(%x, -1)", "2;c < 2500;c < 2499"},
                {"softmax.int(%x, -1)", "3;c < 2500;c < 2501"},
                {"softmax.int(%x, -1)", "1;at < 3;at < 4"},
                {"softmax.int(%x, -1)", "1;at < 3;at < 2"},
                {"softmax.int(%x, -1)", "1;by = 16;by = 8"},
                {"softmax.int(%x, -1)", "1;k < 8;k < 7"},
                {"cumsum(%x, -1)", "5;__syncthreads();;"}, /* no barrier in scan_block() */
                {"cumsum(%x, -1)", "6;__syncthreads();;"},
                {"cumsum(%x, -1)", "1;c < 2500;c < 2501"},
                {"cumsum(%x, -1)", "1;lane >= by;lane > by"},
                {"cumsum(%x, -1)", "1;first == 0;first >= 0"}};
  static draft d = {.rank = 2, .sizes = {3, 2500}, .reduced = {false, true}, .scale = OF_ITSELF};
  fnz_context *ctx;
  fnz_program *p;
  fnz_arrays *inputs, *want, *got;
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  fnz_executable *exe;
  ck_assert_int_eq((int)(sizeof plants / sizeof *plants), PLANTS);
  put(&d, "fnz 1\nprogram(%%x: f32[3, 2500])\n{\n  %%y: f32[3, 2500] = %s\n  return %%y\n}\n",
      plants[_i].program);
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  OK(ctx, fnz_program_read(ctx, d.text, d.size, FNZ_FORMAT_TEXT, &p));
  OK(ctx, fnzi_random_inputs(ctx, p, 3, &inputs));
  want = run_on(ctx, p, "cpu", inputs);
  setenv("STANDIN_PLANT", plants[_i].plant, 1);
  options.device = "cuda";
  OK(ctx, fnz_compile(ctx, p, &options, &exe));
  OK(ctx, fnz_arrays_create(ctx, &got));
  fnz_status status = fnz_executable_run_arrays(exe, ctx, inputs, NULL, NULL, got);
  if (status == FNZ_OK)
    ck_assert_msg(!is_close(&d, fnz_arrays_at(got, 0), fnz_arrays_at(want, 0), 0, NULL), "%s",
                  plants[_i].plant);
  else
    ck_assert_msg(counts_now().wrong != NULL, "%s: %s", plants[_i].plant,
                  fnz_last_error(ctx)->message);
  fnz_arrays_destroy(inputs);
  fnz_arrays_destroy(got);
  fnz_arrays_destroy(want);
  fnz_executable_destroy(exe);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("rows");
  TCase *c = tcase_create("rows");
  tcase_set_timeout(c, 1200);
  tcase_add_test(c, operators_have_the_cpus_results);
  tcase_add_test(c, norms_have_the_cpus_results);
  tcase_add_test(c, long_rows_have_the_cpus_results);
  tcase_add_test(c, groups_have_the_cpus_results);
  tcase_add_loop_test(c, planted_errors_are_found, 0, PLANTS);
  suite_add_tcase(suite, c);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
