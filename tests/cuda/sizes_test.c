/* checks: 18
 * sizes_test.c - programs that meet many sizes on a GPU, by the stand-in for one: kernels are
 * compiled a few times for all of them, and results equal the CPU's at each size; a launch that
 * gets another plan's numbers is found. */
#include "engine/device/device.h"
#include "soak/choices.h"
#include "tests/cuda/values_help.h"

#include <math.h>

enum { MOST_INPUTS = 4, MOST_RANK = 4, EXAMPLES = 8 };

/* Sizes of inputs: 0 is that of the run. For i64 all elements are below 4. */
typedef struct input {
  const char *name;
  fnz_dtype dtype;
  uint32_t rank;
  int64_t sizes[MOST_RANK];
} input;

static const struct example {
  const char *name, *text;
  size_t compiles; /* at most, for all sizes */
  bool exact;      /* the bits of the CPU */
  input inputs[MOST_INPUTS];
} examples[EXAMPLES] = {
    {"elements",
     "program(%x: f32[{s0},5], %y: f32[5,{s0}], %s: f32[{s0}])\n"
     "{\n"
     "  %t: f32[{s0},5] stride(1,{s0}) = t(%y)\n"
     "  %a: f32[{s0},5] = add.Tensor(%x, %t)\n"
     "  %b: f32[{s0},5] = mul.Tensor(%a, 0.3)\n"
     "  %c: f32[{s0},1] stride(5,1) offset(1) = slice.Tensor(%b, 1, 1, 2)\n"
     "  %d: f32[{s0},{s0}] = sub.Tensor(%c, %s)\n"
     "  return %b, %d\n"
     "}\n",
     3,
     true,
     {{"x", FNZ_F32, 2, {0, 5}}, {"y", FNZ_F32, 2, {5, 0}}, {"s", FNZ_F32, 1, {0}}}},
    {"numbers",
     "program(%x: f32[{s0},6])\n"
     "{\n"
     "  %n: sym{s0} = sym_size.int(%x, 0)\n"
     "  %a: f32[{s0},6] = add.Tensor(%x, %n)\n"
     "  %r: i64[{s0}] = arange(%n)\n"
     "  %c: f32[{s0}] = _to_copy(%r, dtype=f32)\n"
     "  %u: f32[{s0},1] = unsqueeze(%c, 1)\n"
     "  %b: f32[{s0},6] = mul.Tensor(%a, %u)\n"
     "  return %b\n"
     "}\n",
     3,
     true,
     {{"x", FNZ_F32, 2, {0, 6}}}},
    {"rows",
     "program(%x: f32[2,{s0},24], %w: f32[24])\n"
     "{\n"
     "  %q: f32[2,{s0},24] = mul.Tensor(%x, %x)\n"
     "  %m: f32[2,{s0},1] = mean.dim(%q, [-1], True)\n"
     "  %e: f32[2,{s0},1] = add.Tensor(%m, 0.001)\n"
     "  %r: f32[2,{s0},1] = rsqrt(%e)\n"
     "  %n: f32[2,{s0},24] = mul.Tensor(%x, %r)\n"
     "  %v: f32[2,{s0},24] = mul.Tensor(%n, %w)\n"
     "  %k: f32[2,24] = mean.dim(%v, [1])\n"
     "  %c: f32[2,{s0},24] = cumsum(%v, 1)\n"
     "  return %v, %k, %c\n"
     "}\n",
     8,
     false,
     {{"x", FNZ_F32, 3, {2, 0, 24}}, {"w", FNZ_F32, 1, {24}}}},
    {"attention",
     "program(%q: f32[2,{s0},8], %k: f32[2,{s0},8], %v: f32[2,{s0},8], %m: f32[{s0},{s0}])\n"
     "{\n"
     "  %t: f32[2,8,{s0}] stride({8*s0},1,8) = transpose.int(%k, 1, 2)\n"
     "  %s: f32[2,{s0},{s0}] = bmm(%q, %t)\n"
     "  %a: f32[2,{s0},{s0}] = mul.Tensor(%s, 0.3535)\n"
     "  %b: f32[2,{s0},{s0}] = add.Tensor(%a, %m)\n"
     "  %p: f32[2,{s0},{s0}] = _softmax(%b, -1, False)\n"
     "  %o: f32[2,{s0},8] = bmm(%p, %v)\n"
     "  return %o\n"
     "}\n",
     10,
     false,
     {{"q", FNZ_F32, 3, {2, 0, 8}},
      {"k", FNZ_F32, 3, {2, 0, 8}},
      {"v", FNZ_F32, 3, {2, 0, 8}},
      {"m", FNZ_F32, 2, {0, 0}}}},
    {"sdpa",
     "program(%q: f32[2,3,{s0},8], %k: f32[2,3,{s0},8], %v: f32[2,3,{s0},8])\n"
     "{\n"
     "  %o: f32[2,3,{s0},8] = scaled_dot_product_attention(%q, %k, %v, None, 0.0, True)\n"
     "  return %o\n"
     "}\n",
     3, /* few queries go otherwise */
     false,
     {{"q", FNZ_F32, 4, {2, 3, 0, 8}},
      {"k", FNZ_F32, 4, {2, 3, 0, 8}},
      {"v", FNZ_F32, 4, {2, 3, 0, 8}}}},
    {"places",
     "program(%x: f32[4,6], %i: i64[{s0}], %y: f32[{s0},6])\n"
     "{\n"
     "  %e: f32[{s0},6] = embedding(%x, %i)\n"
     "  %a: f32[{s0},6] = add.Tensor(%e, %y)\n"
     "  %p: f32[4,6] = index_put(%x, [%i], %a, True)\n"
     "  %c: f32[{s0 + s0},6] = cat([%a, %y])\n"
     "  return %p, %c\n"
     "}\n",
     4, /* one, few, many, and more than a tile has go otherwise */
     true,
     {{"x", FNZ_F32, 2, {4, 6}}, {"i", FNZ_I64, 1, {0}}, {"y", FNZ_F32, 2, {0, 6}}}},
    {"conv",
     "program(%x: f32[1,3,{s0}], %w: f32[4,3,3], %b: f32[4])\n"
     "{\n"
     "  %y: f32[1,4,{s0}] = convolution(%x, %w, %b, [1], [1], [1], False, [0], 1)\n"
     "  %z: f32[1,4,{s0}] = relu(%y)\n"
     "  return %z\n"
     "}\n",
     3,
     false,
     {{"x", FNZ_F32, 3, {1, 3, 0}}, {"w", FNZ_F32, 3, {4, 3, 3}}, {"b", FNZ_F32, 1, {4}}}},
    {"image",
     "program(%x: f32[1,2,{s0},6])\n"
     "{\n"
     "  %y: f32[1,2,{s0},6] = avg_pool2d(%x, [3, 3], [1, 1], [1, 1])\n"
     "  return %y\n"
     "}\n",
     1,
     false,
     {{"x", FNZ_F32, 4, {1, 2, 0, 6}}}},
};

/* --- Runs ------------------------------------------------------------------------------------- */
static fnz_program *read_example(fnz_context *ctx, const struct example *e) {
  fnz_buffer text = {.data = NULL};
  fnz_program *p;
  OK(ctx, fnzi_printf(ctx, &text, "fnz 1\nsymbol s0 = 4\nrange s0 1..100000\n%s", e->text));
  OK(ctx, fnz_program_read(ctx, (const char *)text.data, text.size, FNZ_FORMAT_TEXT, &p));
  fnz_buffer_free(ctx, &text);
  return functional_of(ctx, p);
}

static void fill(fnz_array *a, void *data, uint64_t *seed) {
  for (size_t i = 0; i < a->bytes / 4 && a->dtype == FNZ_F32; i++)
    ((float *)data)[i] = (float)(splitmix64(seed) % 2000) / 1000 - 1;
  for (size_t i = 0; i < a->bytes / 8 && a->dtype == FNZ_I64; i++)
    ((int64_t *)data)[i] = (int64_t)(splitmix64(seed) % 4);
}

static fnz_arrays *inputs_of(fnz_context *ctx, const struct example *e, int64_t size) {
  uint64_t seed = (uint64_t)size;
  fnz_arrays *arrays;
  OK(ctx, fnz_arrays_create(ctx, &arrays));
  for (uint32_t k = 0; k < MOST_INPUTS && e->inputs[k].name; k++) {
    const input *in = &e->inputs[k];
    int64_t sizes[MOST_RANK];
    void *data;
    for (uint32_t d = 0; d < in->rank; d++)
      sizes[d] = in->sizes[d] ? in->sizes[d] : size;
    OK(ctx, fnz_arrays_add(arrays, in->name, in->dtype, in->rank, sizes, &data));
    fill((fnz_array *)(uintptr_t)fnz_arrays_at(arrays, k), data, &seed);
  }
  return arrays;
}

static bool is_close(const fnz_array *a, const fnz_array *b, bool exact) {
  if (a->bytes != b->bytes)
    return false;
  if (exact || b->dtype != FNZ_F32)
    return memcmp(a->data, b->data, b->bytes) == 0;
  for (size_t i = 0; i < b->bytes / 4; i++) {
    double x = (double)((const float *)a->data)[i], y = (double)((const float *)b->data)[i];
    if (!(fabs(x - y) <= 1e-5 * (1 + fabs(y))))
      return false;
  }
  return true;
}

typedef struct pair {
  fnz_context *ctx;
  const struct example *e;
  fnz_program *p;
  fnz_executable *exe, *cpu;
  fnz_workspace *ws, *cpu_ws;
} pair;

static void open_pair(const struct example *e, pair *out) {
  *out = (pair){.ctx = open_context(), .e = e};
  out->p = read_example(out->ctx, e);
  OK(out->ctx, compile(out->ctx, out->p, "cuda", &out->exe));
  OK(out->ctx, compile(out->ctx, out->p, "cpu", &out->cpu));
  OK(out->ctx, fnz_workspace_create(out->ctx, out->exe, &out->ws));
  OK(out->ctx, fnz_workspace_create(out->ctx, out->cpu, &out->cpu_ws));
}

static void close_pair(pair *p) {
  fnz_workspace_destroy(p->ws);
  fnz_workspace_destroy(p->cpu_ws);
  fnz_executable_destroy(p->exe);
  fnz_executable_destroy(p->cpu);
  fnz_program_destroy(p->p);
  fnz_context_destroy(p->ctx);
}

/* *equal: both have the same results. */
static fnz_status run_both(const pair *p, int64_t size, bool *equal) {
  fnz_arrays *inputs = inputs_of(p->ctx, p->e, size), *want, *got;
  OK(p->ctx, fnz_arrays_create(p->ctx, &want));
  OK(p->ctx, fnz_arrays_create(p->ctx, &got));
  OK(p->ctx, fnz_executable_run_arrays(p->ctx, p->cpu, inputs, NULL, p->cpu_ws, want));
  fnz_status status = fnz_executable_run_arrays(p->ctx, p->exe, inputs, NULL, p->ws, got);
  *equal = status == FNZ_OK;
  for (size_t k = 0; *equal && k < fnz_arrays_count(want); k++)
    *equal = is_close(fnz_arrays_at(got, k), fnz_arrays_at(want, k), p->e->exact);
  fnz_arrays_destroy(inputs);
  fnz_arrays_destroy(want);
  fnz_arrays_destroy(got);
  return status;
}

static void runs_there(const pair *p, int64_t size) {
  const fnzi_stp_binding *b = p->ws->last;
  for (size_t i = 0; i < b->thunks.count; i++)
    ck_assert_msg(b->device->works[i].on_device, "%s: step %zu at %lld: %s", p->e->name, i,
                  (long long)size, b->device->works[i].why);
}

static void try_size(const pair *p, int64_t size) {
  bool equal;
  fnz_status status = run_both(p, size, &equal);
  ck_assert_msg(status == FNZ_OK, "%s at %lld: %s", p->e->name, (long long)size,
                fnz_last_error(p->ctx)->message);
  ck_assert_msg(equal, "%s at %lld: another result", p->e->name, (long long)size);
  runs_there(p, size);
}

/* Sizes come again when their plans are gone. */
START_TEST(sizes_share_kernels) {
  static const int64_t more[] = {63, 64, 65, 100, 128, 200, 300, 511, 7, 8, 9, 2};
  pair p;
  open_pair(&examples[_i], &p);
  size_t before = compiles();
  for (int64_t size = 1; size <= 50; size++)
    try_size(&p, size);
  for (size_t k = 0; k < sizeof more / sizeof *more; k++)
    try_size(&p, more[k]);
  printf("%s: %zu compilations\n", p.e->name, compiles() - before);
  ck_assert_uint_le(compiles() - before, p.e->compiles);
  close_pair(&p);
  nothing_is_left();
}
END_TEST

/* Launches of a plan with the numbers of another plan: the results show it, or the stand-in sees
 * the wrong accesses. */
START_TEST(numbers_of_another_plan_are_found) {
  static const int64_t sizes[] = {24, 9};
  fnzi_stp_binding *plans[2];
  size_t changed = 0;
  bool equal;
  pair p;
  open_pair(&examples[_i], &p);
  for (int k = 0; k < 2; k++) {
    try_size(&p, sizes[k]);
    plans[k] = (fnzi_stp_binding *)(uintptr_t)p.ws->last;
  }
  for (size_t i = 0; i < plans[1]->thunks.count; i++) {
    const fnzi_dev_work *from = &plans[0]->device->works[i], *to = &plans[1]->device->works[i];
    for (uint32_t k = 0; k < to->nlaunches && k < from->nlaunches; k++)
      if (to->launches[k].sizes && from->launches[k].sizes) {
        to->launches[k].sizes = from->launches[k].sizes;
        changed++;
      }
  }
  ck_assert_uint_gt(changed, 0);
  (void)run_both(&p, sizes[1], &equal);
  ck_assert_msg(!equal, "%s", p.e->name);
  close_pair(&p);
}
END_TEST

/* The text for rows of 24 elements of size rows has the word; else the stand-in compiles nothing.
 */
static bool text_has(const char *word, int64_t size) {
  char plant[96];
  bool equal;
  pair p;
  snprintf(plant, sizeof plant, "1;%s;%s", word, word);
  ck_assert_int_eq(setenv("STANDIN_PLANT", plant, 1), 0);
  open_pair(&examples[2], &p);
  fnz_status status = run_both(&p, size, &equal);
  ck_assert_int_eq(unsetenv("STANDIN_PLANT"), 0);
  ck_assert_msg(status == FNZ_OK ? equal : status == FNZ_INTERNAL, "%s", word);
  close_pair(&p);
  return status == FNZ_OK;
}

/* The start of a row, and its elements, which no size changes. Rows are counted by the table. */
START_TEST(sizes_without_symbols_are_constants) {
  ck_assert(text_has("(int64_t)96ll", 37));
  ck_assert(text_has("(int64_t)24ll", 37));
  ck_assert(text_has("n.at[", 37));
  ck_assert(!text_has("(int64_t)37ll", 37));
  ck_assert(!text_has("(int64_t)74ll", 37));
  ck_assert(!text_has("(int64_t)148ll", 37));
}
END_TEST

/* --- Values ----------------------------------------------------------------------------------- */
/* The sum of two tensors of size rows; more calls come than there are programs kept. */
static void add_rows(side *s, int64_t size) {
  static float cells[400 * 5];
  unsigned char got[sizeof cells];
  const int64_t sizes[] = {size, 5}, strides[] = {5, 1};
  const fnz_geometry g = {.dtype = FNZ_F32, .rank = 2, .sizes = sizes, .strides = strides};
  for (int64_t i = 0; i < 5 * size; i++)
    cells[i] = (float)(i + size);
  for (int k = 0; k < 2; k++) {
    s->tensors[k].backend = s->backend;
    OK(s->ctx, s->backend->upload(s->backend->self, s->ctx, &g, cells, &s->tensors[k].handle));
    fnz_push_tensor(s->stack, s->tensors[k]);
  }
  fnz_push_int(s->stack, 3);
  OK(s->ctx, fnz_call(s->ctx, fnz_op_find(NULL, "add.Tensor"), s->stack));
  s->count = 2;
  keep_results(s);
  fnz_stack_clear(s->stack);
  OK(s->ctx, s->backend->download(s->backend->self, s->ctx, s->tensors[2].handle, got));
  for (int64_t i = 0; i < 5 * size; i++) {
    float sum;
    memcpy(&sum, got + (size_t)i * sizeof sum, sizeof sum);
    ck_assert(sum == cells[i] + 3 * cells[i]);
  }
  while (s->count)
    fnz_eager_release(s->tensors[--s->count]);
}

START_TEST(calls_share_kernels) {
  fnz_context *ctx = open_context();
  side gpu;
  OK(ctx, open_side(&gpu, ctx, true));
  size_t before = compiles();
  for (int64_t size = 1; size <= 300; size++)
    add_rows(&gpu, size);
  add_rows(&gpu, 1);
  ck_assert_uint_eq(compiles(), before + 1);
  close_side(&gpu);
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

int main(void) {
  TCase *c = tcase_create("sizes");
  tcase_set_timeout(c, 0);
  tcase_add_loop_test(c, sizes_share_kernels, 0, EXAMPLES);
  tcase_add_loop_test(c, numbers_of_another_plan_are_found, 0, EXAMPLES);
  ADD_OF_STANDIN(c, sizes_without_symbols_are_constants, 1); /* by its plants */
  tcase_add_test(c, calls_share_kernels);
  return run_one_case("sizes", c);
}
