/* checks: 5
 * rows_test.c - operators that make numbers of rows on a GPU, by the stand-in for one: each over
 * random shapes, dimensions, types and layouts, against the CPU; within the bounds that
 * docs/gpu-values.md states. */
#include "tests/cuda/rows_help.h"

typedef enum form {
  NUMBERS, /* dims and keepdim; a number for each row */
  ONE_DIM, /* dim and keepdim; the same, of a single one */
  PAIR,    /* values and places */
  ENDS,    /* the least and the greatest; dim and keepdim by name */
  BOTH,    /* dim; values and places of the sizes of x */
  WHOLE,   /* dim; of the sizes of x */
  LAST     /* a norm over the last dimensions */
} form;

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
    {"nansum(%x, $, &)", NUMBERS, OF_SUM, "f32 f64 i64 bf16", NULL},
    {"aminmax(%x, dim = $, keepdim = &)", ENDS, EXACT, "f32 f64 i64 bf16", NULL},
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

/* --- A program -------------------------------------------------------------------------------- */
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
  bool whole = f == WHOLE || f == LAST || f == BOTH, pair = f == PAIR || f == BOTH || f == ENDS;
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
    put(d, ", %%z: "), put_shape(d, f == ENDS ? out : "i64", whole);
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

/* The computation of each element needs numbers of the whole row. */
static const char *const long_elements[] = {
    "%x: @[2, 40001])\n{\n  %y: @[2, 40001] = softmax.int(%x, 1)\n  return %y\n}\n",
    "%x: @[3, 17000, 2])\n{\n  %y: @[3, 17000, 2] = log_softmax.int(%x, 1)\n  return %y\n}\n",
    "%x: @[3, 20000], %w: @[20000], %b: @[20000])\n{\n"
    "  %y: @[3, 20000], %m: @[3, 1], %r: @[3, 1] = native_layer_norm(%x, [20000], %w, %b, 1e-05)\n"
    "  %z: @[3, 20000] = mul.Tensor(%y, %r)\n  return %z, %m, %r\n}\n",
    "%x: @[2, 17000], %w: @[17000])\n{\n"
    "  %y: @[2, 17000], %r: @[2, 1] = _fused_rms_norm(%x, [17000], %w, 1e-05)\n  return %y, "
    "%r\n}\n",
    "%x: @[2, 17000], %w: @[2, 1])\n{\n  %a: @[2, 17000] = mul.Tensor(%x, %w)\n"
    "  %m: @[2, 1] = amax(%a, [-1], True)\n  %d: @[2, 17000] = sub.Tensor(%a, %m)\n"
    "  %e: @[2, 17000] = tanh(%d)\n  %s: @[2, 1] = mean.dim(%e, [-1], True)\n"
    "  %t: @[2, 1] = mul.Tensor(%s, %m)\n  return %t, %s\n}\n",
    "%x: @[4, 6, 9000], %w: @[6], %b: @[6], %m: @[6], %v: @[6])\n{\n"
    "  %y: @[4, 6, 9000], %s: @[6], %r: @[6], %n: @[6], %u: @[6] = "
    "_native_batch_norm_legit_functional(%x, %w, %b, %m, %v, True, 0.1, 1e-05)\n"
    "  return %y, %s, %r, %n, %u\n}\n",
    "%x: @[2, 6, 9000], %w: @[6], %b: @[6])\n{\n"
    "  %y: @[2, 6, 9000] = group_norm(%x, 2, %w, %b, 1e-05)\n  return %y\n}\n"};

/* Rows that are read again and again, too long for registers, some with a rest; and whole ones that
 * fill registers. */
static const char *const large_softmaxes[] = {
    "%x: @[2, 10000])\n{\n  %y: @[2, 10000] = softmax.int(%x, 1)\n  return %y\n}\n",
    "%x: @[10003])\n{\n  %y: @[10003] = softmax.int(%x, 0)\n  return %y\n}\n",
    "%x: @[4096], %w: @[4096])\n{\n  %a: @[4096] = mul.Tensor(%x, %w)\n"
    "  %y: @[4096] = softmax.int(%a, 0)\n  return %y\n}\n"};
static const char *const large_norms[] = {
    "%x: @[5, 2, 4100])\n{\n  %y: @[5, 2, 4100] = log_softmax.int(%x, 2)\n  return %y\n}\n",
    "%x: @[2, 9, 1000], %w: @[9, 1000], %b: @[9, 1000])\n{\n"
    "  %y: @[2, 9, 1000] = layer_norm(%x, [9, 1000], %w, %b, 1e-05)\n  return %y\n}\n",
    "%x: @[3, 8192], %w: @[8192])\n{\n"
    "  %y: @[3, 8192] = rms_norm(%x, [8192], %w, 1e-05)\n  return %y\n}\n"};

/* Rows beside each other, the last ones do not fill a block: whole, and in pieces; one by one. */
static const char *const wide_softmaxes[] = {
    "%x: @[3, 70, 700])\n{\n  %y: @[3, 70, 700] = softmax.int(%x, 1)\n  return %y\n}\n",
    "%x: @[2100, 63])\n{\n  %y: @[63] = var.correction(%x, [0], correction = 1)\n"
    "  return %y\n}\n"};
static const char *const wide_extremes[] = {
    "%x: @[3, 4600])\n{\n  %y: @[3, 4600], %i: i64[3, 4600] = cummax(%x, 1)\n"
    "  return %y, %i\n}\n",
    "%x: @[3, 70, 700])\n{\n  %y: @[3, 700], %i: i64[3, 700] = max.dim(%x, 1)\n"
    "  return %y, %i\n}\n",
    "%x: @[700, 43])\n{\n  %i: i64[43] = argmin(%x, 0)\n  return %i\n}\n"};
static const char *const wide_sums[] = {
    "%x: @[1100, 40])\n{\n  %y: @[40] = sum.dim_IntList(%x, [0])\n  return %y\n}\n",
    "%x: @[2100, 300])\n{\n  %y: @[2100, 300] = cumsum(%x, 1)\n  return %y\n}\n",
    "%x: @[3, 4600])\n{\n  %y: @[3, 4600] = cumsum(%x, 1)\n  return %y\n}\n",
    "%x: @[70, 2051])\n{\n  %y: @[70, 2051] = cumsum(%x, 0)\n  return %y\n}\n"};

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

START_TEST(large_rows_have_the_cpus_results) {
  try_each(EACH(large_softmaxes), OF_ITSELF, 10000);
  try_each(EACH(large_norms), OF_ONE, 10000);
}
END_TEST

START_TEST(long_rows_have_the_cpus_results) {
  try_each(EACH(long_sums), OF_SUM, 40000);
  try_each(EACH(long_means), OF_ONE, 40000);
  try_each(EACH(long_extremes), EXACT, 40000);
  try_each(EACH(long_elements), OF_ONE, 40000);
}
END_TEST

START_TEST(wide_rows_have_the_cpus_results) {
  try_each(EACH(wide_softmaxes), OF_ITSELF, 130);
  try_each(EACH(wide_extremes), EXACT, 70);
  try_each(EACH(wide_sums), OF_SUM, 300);
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
        if ((size_t)programs % every() == 0)
          try_draft(ctx, &d);
      }
    }
  printf("%d programs\n", programs);
  fnz_context_destroy(ctx);
  ck_assert_msg(!counts_now().wrong, "%s", counts_now().wrong);
}
END_TEST

int main(void) {
  TCase *c = tcase_create("rows");
  tcase_set_timeout(c, 1200);
  tcase_add_test(c, operators_have_the_cpus_results);
  tcase_add_test(c, norms_have_the_cpus_results);
  tcase_add_test(c, large_rows_have_the_cpus_results);
  tcase_add_test(c, wide_rows_have_the_cpus_results);
  tcase_add_test(c, long_rows_have_the_cpus_results);
  return run_one_case("rows", c);
}
