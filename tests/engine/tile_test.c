/* checks: 9
 * tile_test.c - groups over spaces of many tiles have the interpreter's bits: operands that
 * broadcast, are turned, have gaps, are of other types; results in the memory of operands; rows and
 * their numbers; threads.
 * FNZ_PROGRAMS says how many, FNZ_FIRST which. */
#include "base/watched.h"
#include "kernels/meta/point.h"
#include "tests/help/run_help.h"
#include "soak/programs.h"

#include <stdio.h>
#include <stdlib.h>

enum { FEW_PROGRAMS = FNZI_WATCHED ? 30 : 300, VALUES = 128, ROOM = 16384 };

/* In order: a sum of two types has the later one. */
static const char *const types[] = {"bool", "i64", "bf16", "f32", "f64"};
enum { BOOL, I64, BF16, F32, F64, TYPES };

/* Rows that are gathered, that are tiles of their own, one row; more than a thread takes. */
static const int spaces[][3] = {{2, 3, 33},   {5, 3, 64},  {9, 2, 200},  {3, 2, 700},  {1, 1, 1030},
                                {40, 33, 1},  {7, 1, 129}, {33, 40, 60}, {3, 40, 300}, {1, 70, 600},
                                {2, 1, 5000}, {90, 30, 5}, {4, 31, 140}, {1, 1, 7}};

typedef struct draft {
  char text[ROOM];
  size_t size;
  int type[VALUES];    /* of %v0 ... */
  bool number[VALUES]; /* it has a number for each row, */
  int dims;            /* which are so many of the last dimensions */
  int count, inputs;
  const int *space;
  uint64_t state;
} draft;

static int draw(draft *d, int below) {
  d->state = d->state * 6364136223846793005u + 1442695040888963407u;
  return (int)((d->state >> 33) % (unsigned)below);
}

static void put(draft *d, const char *format, ...) FNZI_PRINTF(2, 3);
static void put(draft *d, const char *format, ...) {
  va_list args;
  va_start(args, format);
  d->size += (size_t)vsnprintf(d->text + d->size, sizeof d->text - d->size, format, args);
  va_end(args);
  ck_assert(d->size < sizeof d->text);
}

/* --- Inputs: %i0 ..., and values computed from them before the group -------------------------- */
enum { FULL, FULL_TOO, ROW, COLUMN, MATRIX, NUMBER, TURNED, GAPS, OVERLAPS, FORMS };

/* Windows of OVERLAPS: the next row, and the second tile of a long one, begin at the same element.
 */
enum { STEP = 2, NEXT_ROW = STEP * FNZI_POINT_CHUNK };

static bool is_viewed(int form) {
  return form == TURNED || form == GAPS || form == OVERLAPS;
}

static void put_input(draft *d, int k, int form, int type) {
  const int *s = d->space;
  put(d, "%s  %%i%d: %s", k ? ",\n" : "", k, types[type]);
  switch (form) {
  case ROW:
    put(d, "[%d]", s[2]);
    return;
  case COLUMN:
    put(d, "[%d,1]", s[1]);
    return;
  case MATRIX:
    put(d, "[%d,1,%d]", s[0], s[2]);
    return;
  case NUMBER:
    put(d, "[1]");
    return;
  case TURNED:
    put(d, "[%d,%d,%d]", s[2], s[0], s[1]);
    return;
  case GAPS:
    put(d, "[%d,%d,%d]", s[0], s[1], 2 * s[2]);
    return;
  case OVERLAPS:
    put(d, "[%d]", (s[0] + s[1]) * NEXT_ROW + STEP * s[2]);
    return;
  default:
    put(d, "[%d,%d,%d]", s[0], s[1], s[2]);
  }
}

static void put_space(draft *d, int type) {
  put(d, "%s[%d,%d,%d]", types[type], d->space[0], d->space[1], d->space[2]);
}

static void put_numbers(draft *d, int type) {
  put(d, "%s[%d,%d,1]", types[type], d->space[0], d->dims == 1 ? d->space[1] : 1);
}

static void put_view(draft *d, int k, int form, int type) {
  if (!is_viewed(form))
    return;
  put(d, "  %%w%d: ", k);
  put_space(d, type);
  if (form == TURNED)
    put(d, " = permute_copy(%%i%d, [1, 2, 0])\n", k);
  else if (form == OVERLAPS)
    put(d, " = as_strided_copy(%%i%d, [%d, %d, %d], [%d, %d, %d], 0)\n", k, d->space[0],
        d->space[1], d->space[2], NEXT_ROW, NEXT_ROW, STEP);
  else
    put(d, " = slice_copy.Tensor(%%i%d, 2, 0, %d, 2)\n", k, 2 * d->space[2]);
}

/* --- Nodes ------------------------------------------------------------------------------------ */
typedef struct operand {
  char name[16];
  int type;
  bool number, broadcasts; /* for each row; in another way */
} operand;

static operand draw_operand(draft *d, const int *forms) {
  operand o;
  int k = draw(d, d->inputs + 2 * (d->count - d->inputs));
  if (k >= d->inputs) {
    k = d->inputs + (k - d->inputs) / 2;
    snprintf(o.name, sizeof o.name, "%%v%d", k);
  } else {
    snprintf(o.name, sizeof o.name, "%%%c%d", is_viewed(forms[k]) ? 'w' : 'i', k);
  }
  o.type = d->type[k];
  o.number = k >= d->inputs ? d->number[k] : forms[k] == NUMBER;
  o.broadcasts = k < d->inputs && (forms[k] == ROW || forms[k] == COLUMN || forms[k] == MATRIX);
  return o;
}

/* A node that gives truths: one is put where there is none. */
static operand draw_mask(draft *d) {
  operand o = {.type = BOOL};
  int k = d->count - 1;
  while (k > d->inputs && (d->type[k] != BOOL || d->number[k]))
    k--;
  if (k == d->inputs) {
    k = d->count;
    d->type[d->count] = BOOL;
    put(d, "  %%v%d: ", d->count++);
    put_space(d, BOOL);
    put(d, " = gt.Scalar(%%v%d, 0)\n", d->inputs);
  }
  snprintf(o.name, sizeof o.name, "%%v%d", k);
  return o;
}

/* --- Rows ------------------------------------------------------------------------------------- */
static void put_whole(draft *d, int k, int dims) {
  static const char *const softmaxes[] = {"_softmax", "_log_softmax"};
  int norm = draw(d, 2);
  d->type[d->count] = F32;
  put(d, "  %%v%d: ", d->count++);
  put_space(d, F32);
  if (draw(d, 2)) {
    put(d, " = %s(%%v%d, -1, False)\n", softmaxes[norm], k);
    return;
  }
  for (int i = 0; i < 2 - norm; i++) {
    d->type[d->count] = F32;
    d->number[d->count] = true;
    put(d, ", %%v%d: ", d->count++);
    put_numbers(d, F32);
  }
  put(d, " = %s(%%v%d, [", norm ? "_fused_rms_norm" : "native_layer_norm", k);
  if (dims == 2)
    put(d, "%d, ", d->space[1]);
  put(d, norm ? "%d], None, 1e-05)\n" : "%d], None, None, 1e-05)\n", d->space[2]);
}

typedef struct reduction {
  const char *call;
  int from, to; /* types; floats of either kind where it says F32 */
} reduction;

static const reduction reductions[] = {
    {"mean.dim(%%v%d, %s, True)", F32, F32},
    {"sum.dim_IntList(%%v%d, %s, True)", F32, F32},
    {"sum.dim_IntList(%%v%d, %s, True)", I64, I64},
    {"amax(%%v%d, %s, True)", F32, F32},
    {"amin(%%v%d, %s, True)", I64, I64},
    {"any.dims(%%v%d, %s, True)", BOOL, BOOL},
    {"all.dims(%%v%d, %s, True)", BOOL, BOOL},
    {"var.correction(%%v%d, %s, correction=1, keepdim=True)", F32, F32},
    {"std.correction(%%v%d, %s, correction=0, keepdim=True)", F32, F32},
    {"logsumexp(%%v%d, %s, True)", F32, F32},
    {"linalg_vector_norm(%%v%d, 2, %s, True)", F32, F32},
    {"argmax(%%v%d, -1, True)", F32, I64}};
enum { REDUCTIONS = sizeof reductions / sizeof *reductions, OF_ONE_DIM = 1 };

/* The youngest node that gives such elements for all of the space; the first one at worst. */
static int youngest_of(const draft *d, int type) {
  int k = d->count - 1;
  while (k > d->inputs && (d->type[k] != type || d->number[k]))
    k--;
  return k;
}

/* A reduction over the rows, or a node whose result is rows again. */
static void put_row_node(draft *d) {
  int what = draw(d, 2 * REDUCTIONS) - REDUCTIONS / 2;
  bool whole = what < 0 || what >= REDUCTIONS;
  const reduction *r = &reductions[whole ? 0 : what];
  int type = r->from == F32 && !whole && draw(d, 4) == 0 ? F64 : r->from;
  int k = youngest_of(d, type);
  type = d->type[k];
  if (type != r->from && (type != F64 || r->from != F32 || strstr(r->call, "logsumexp")))
    return;
  if (whole && type == F32)
    put_whole(d, k, d->dims);
  if (whole || (d->dims > 1 && what >= REDUCTIONS - OF_ONE_DIM))
    return;
  type = r->to == F32 ? type : r->to;
  d->type[d->count] = type;
  d->number[d->count] = true;
  put(d, "  %%v%d: ", d->count++);
  put_numbers(d, type);
  put(d, " = ");
  put(d, r->call, k, d->dims == 1 ? "[2]" : "[1, 2]");
  put(d, "\n");
}

static void put_node(draft *d, const int *forms) {
  static const char *const twos[] = {"add.Tensor", "mul.Tensor", "maximum"};
  operand a = draw_operand(d, forms), b = draw_operand(d, forms);
  /* A result has all of the space: the first operand comes from a node, or is such an input. */
  snprintf(a.name, sizeof a.name, "%%v%d", d->count - 1 - draw(d, 2) % (d->count - d->inputs));
  a.type = d->type[atoi(a.name + 2)];
  a.number = d->number[atoi(a.name + 2)];
  a.broadcasts = false;
  if (a.number && b.broadcasts)
    b = a;
  int what = draw(d, 9), type = a.type > b.type ? a.type : b.type;
  if (what == 3)
    type = BOOL;
  else if (what == 4)
    type = a.type < BF16 ? F32 : a.type;
  else if (what == 5 || what == 7)
    type = a.type;
  else if (what == 8)
    type = draw(d, TYPES);
  operand mask = what == 6 || what == 7 ? draw_mask(d) : a;
  bool two = what < 4 || what == 6, masked = what == 6 || what == 7;
  d->type[d->count] = type;
  d->number[d->count] = a.number && (!two || b.number) && (!masked || mask.number);
  put(d, "  %%v%d: ", d->count);
  if (d->number[d->count++])
    put_numbers(d, type);
  else
    put_space(d, type);
  if (what < 3)
    put(d, " = %s(%s, %s)\n", twos[what], a.name, b.name);
  else if (what == 3)
    put(d, " = gt.Tensor(%s, %s)\n", a.name, b.name);
  else if (what == 4)
    put(d, " = tanh(%s)\n", a.name);
  else if (what == 6)
    put(d, " = where.self(%s, %s, %s)\n", mask.name, b.name, a.name);
  else if (what == 7)
    put(d, " = masked_fill.Scalar(%s, %s, %d)\n", a.name, mask.name, draw(d, 2));
  else if (what == 8)
    put(d, " = _to_copy(%s, dtype=%s)\n", a.name, types[type]);
  else
    put(d, " = %s(%s)\n", type == BOOL ? "logical_not" : "abs", a.name);
}

/* %i0 is all of the space, and its final value. */
static void draw_program(draft *d, uint64_t index) {
  int forms[8], type;
  memset(d, 0, sizeof *d);
  d->state = index * 2654435761u + 77;
  d->space = spaces[draw(d, sizeof spaces / sizeof *spaces)];
  d->inputs = 2 + draw(d, 5);
  d->dims = 1 + draw(d, 4) / 3;
  put(d, "fnz 1\nprogram(\n");
  for (int k = 0; k < d->inputs; k++) {
    forms[k] = k ? draw(d, FORMS) : FULL;
    d->type[k] = draw(d, 3) ? F32 : draw(d, TYPES);
    put_input(d, k, forms[k], d->type[k]);
  }
  put(d, ")\n{\n");
  for (int k = 0; k < d->inputs; k++)
    put_view(d, k, forms[k], d->type[k]);
  type = d->type[0] < BF16 ? F32 : d->type[0];
  d->count = d->inputs + 1;
  d->type[d->inputs] = type;
  put(d, "  %%v%d: ", d->inputs);
  put_space(d, type);
  put(d, " = exp(%%i0)\n");
  for (int n = 2 + draw(d, 24); n > 0; n--)
    if (index % 2 && draw(d, 4) == 0)
      put_row_node(d);
    else
      put_node(d, forms);
  int last = d->count - 1, state = last;
  while (state > d->inputs && (d->type[state] != d->type[0] || d->number[state]))
    state--;
  put(d, "  return ");
  if (d->type[state] == d->type[0])
    put(d, "%%v%d input_mutation \"i0\", ", state);
  put(d, "%%v%d, %%v%d\n}\n", last, d->inputs + draw(d, d->count - d->inputs));
}

/* --- Checks ----------------------------------------------------------------------------------- */
static uint64_t number_of(const char *name, uint64_t otherwise) {
  const char *text = getenv(name);
  return text ? strtoull(text, NULL, 10) : otherwise;
}

static void verify(fnz_context *ctx, const draft *d, int threads, uint64_t index) {
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  fnz_program *p;
  fnz_executable *exe;
  fnz_arrays *inputs;
  OK(ctx, fnz_program_read(ctx, d->text, d->size, FNZ_FORMAT_TEXT, &p));
  OK(ctx, fnzi_random_inputs(ctx, p, index, &inputs));
  options.threads = threads;
  options.check = true;
  OK(ctx, fnz_compile(ctx, p, &options, &exe));
  fnz_status status = fnz_executable_verify(ctx, exe, inputs);
  if (status != FNZ_OK)
    fprintf(stderr, "%s\n", d->text);
  ck_assert_msg(status == FNZ_OK, "program %llu: %s: %s", (unsigned long long)index,
                fnz_last_error(ctx)->where, fnz_last_error(ctx)->message);
  fnz_executable_destroy(exe);
  fnz_arrays_destroy(inputs);
  fnz_program_destroy(p);
}

static void verify_texts(fnz_context *ctx, const char *const *programs, size_t count, int threads) {
  static draft d;
  for (size_t i = 0; i < count; i++) {
    d.size = 0;
    put(&d, "%s", programs[i]);
    verify(ctx, &d, threads, i);
  }
}

static void verify_all(int threads, uint64_t first) {
  static draft d;
  uint64_t count = number_of("FNZ_PROGRAMS", FEW_PROGRAMS);
  fnz_context *ctx;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  for (uint64_t i = first; i < first + count; i++) {
    draw_program(&d, i);
    verify(ctx, &d, threads, i);
  }
  fnz_context_destroy(ctx);
}

START_TEST(groups_have_the_interpreters_bits) {
  verify_all(1, number_of("FNZ_FIRST", 0));
}
END_TEST

/* Two tiles that follow one another read from the same address, and in between the register that
 * held the first one is written. */
START_TEST(overlapping_windows_are_read_anew) {
  static const char *const programs[] = {
      "fnz 1\nprogram(%x: f32[8192])\n{\n"
      "  %v: f32[4,1024] stride(1024,2) = as_strided(%x, [4,1024], [1024,2], 0)\n"
      "  %e: f32[4,1024] = exp(%v)\n  %o: f32[4,1024] = neg(%e)\n  return %o\n}\n",
      "fnz 1\nprogram(%x: f32[8192])\n{\n"
      "  %v: f32[3,2,256] stride(512,512,2) = as_strided(%x, [3,2,256], [512,512,2], 0)\n"
      "  %e: f32[3,2,256] = exp(%v)\n  %o: f32[3,2,256] = neg(%e)\n  return %o\n}\n"};
  fnz_context *ctx;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  verify_texts(ctx, programs, sizeof programs / sizeof *programs, 1);
  fnz_context_destroy(ctx);
}
END_TEST

/* On one thread and on three. */
static void verify_by_threads(const char *const *programs, size_t count) {
  fnz_context *ctx;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  for (int threads = 1; threads <= 3; threads += 2)
    verify_texts(ctx, programs, count, threads);
  fnz_context_destroy(ctx);
}

/* Such rows are computed where they are, one after the other; pieces of threads begin within a row.
 */
START_TEST(rows_with_gaps_are_read_in_place) {
  static const char *const programs[] = {
      "fnz 1\nprogram(%x: f32[5,9,1003], %y: f32[5,1,1003])\n{\n"
      "  %v: f32[5,9,1000] = slice_copy.Tensor(%x, 2, 1, 1001)\n"
      "  %w: f32[5,1,1000] = slice_copy.Tensor(%y, 2, 2, 1002)\n"
      "  %o: f32[5,9,1000] = mul.Tensor(%v, %w)\n  return %o\n}\n",
      "fnz 1\nprogram(%x: f32[5,9,1003])\n{\n"
      "  %v: f32[5,9,1000] = slice_copy.Tensor(%x, 2, 1, 1001)\n"
      "  %c: f32[5,9,1000] = clamp(%v, -0.5, 0.5)\n"
      "  %s: f32[5,9,1003] = slice_scatter(%x, %c, 2, 1, 1001)\n"
      "  return %s input_mutation \"x\"\n}\n"};
  verify_by_threads(programs, sizeof programs / sizeof *programs);
}
END_TEST

/* One element for each row is read where it is, unless its memory is written, or a kernel needs
 * copies of it. */
START_TEST(elements_of_rows_are_not_copied) {
  static const char *const programs[] = {
      "fnz 1\nprogram(%x: f32[40,1001], %c: f32[40,1])\n{\n"
      "  %o: f32[40,1001] = mul.Tensor(%c, %x)\n  return %o\n}\n",
      "fnz 1\nprogram(%x: f64[40,203], %c: f64[40,1], %k: f64[1])\n{\n"
      "  %m: f64[40,203] = addcmul(%c, %x, %k, value=2)\n"
      "  %o: f64[40,203] = tanh(%m)\n  return %o\n}\n",
      "fnz 1\nprogram(%x: f32[40,1000])\n{\n"
      "  %c: f32[40,1] = slice_copy.Tensor(%x, 1, 0, 1)\n"
      "  %o: f32[40,1000] = mul.Tensor(%x, %c)\n  return %o input_mutation \"x\"\n}\n",
      "fnz 1\nprogram(%x: f32[40,1000], %c: f32[40,1])\n{\n"
      "  %m: f32[40,1000] = mul.Tensor(%x, %c)\n  %g: bool[40,1000] = gt.Tensor(%m, %c)\n"
      "  return %m, %g\n}\n"};
  verify_by_threads(programs, sizeof programs / sizeof *programs);
}
END_TEST

/* A number from outside, as all pieces of a row read it, takes as many elements as these have. */
START_TEST(numbers_fill_short_rows) {
  static const int rows[] = {127, 128, 200, 511, 512, 513};
  static draft d;
  fnz_context *ctx;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  for (uint64_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    int n = rows[i];
    d.size = 0;
    put(&d, "fnz 1\nprogram(%%x: f32[512,%d], %%k: f32[], %%l: f32[])\n{\n", n);
    put(&d, "  %%m: f32[512,%d] = mul.Tensor(%%x, %%k)\n", n);
    put(&d, "  %%a: f32[512,%d] = add.Tensor(%%m, %%l)\n", n);
    put(&d, "  %%y: f32[512,%d] = _softmax(%%a, 1, False)\n  return %%y\n}\n", n);
    verify(ctx, &d, 2, i);
  }
  fnz_context_destroy(ctx);
}
END_TEST

START_TEST(numbers_of_rows_lie_where_their_readers_say) {
  static const char *const programs[] = {
      /* Along another dimension for each of two readers. */
      "fnz 1\nprogram(%x: f32[4,4,8], %a: f32[4,1])\n{\n  %r: f32[4,4,8] = relu(%x)\n"
      "  %s: f32[4,4] = amax(%r, [2], False)\n  %t: f32[4,4,1] = amax(%r, [2], True)\n"
      "  %y: f32[4,4] = add.Tensor(%s, %a)\n  %z: f32[4,4,1] = add.Tensor(%t, %a)\n"
      "  return %y, %z\n}\n",
      /* The number of the only row is stored when the rest of its buffer has been read. */
      "fnz 1\nprogram(%b: f32[8], %k: f32[4])\n{\n"
      "  %x: f32[4] = slice_copy.Tensor(%b, 0, 0, 4)\n  %s: f32[1] = amax(%x, [0], True)\n"
      "  %y: f32[4] = div.Tensor(%x, %s)\n  %z: f32[4] = mul.Tensor(%y, %k)\n"
      "  %c: f32[8] = slice_scatter(%b, %s, 0, 4, 5)\n"
      "  return %c input_mutation \"b\", %z\n}\n"};
  fnz_context *ctx;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  verify_texts(ctx, programs, sizeof programs / sizeof *programs, 1);
  fnz_context_destroy(ctx);
}
END_TEST

START_TEST(threads_change_no_bit) {
  verify_all(3, number_of("FNZ_FIRST", 0) + 100000);
}
END_TEST

/* Steps that run at once, over operand sets of several sizes, some of more than one piece: in place
 * or not, with an operand that is turned, or a row. */
enum { SET_PLAIN, SET_KEPT, SET_TURNED, SET_ROW, SET_KINDS };
typedef struct set {
  const int *sizes;
  int kind;
} set;

static void put_set(draft *d, int k, set s, const char *between) {
  int rows = s.sizes[0], columns = s.sizes[1];
  if (s.kind == SET_TURNED)
    put(d, "  %%h%d: f32[%d,%d] = transpose_copy.int(%%g%d, 0, 1)\n", k, rows, columns, k);
  put(d, "  %%m%d: f32[%d,%d] = mul.Tensor(%%p%d, %%%c%d)\n", k, rows, columns, k,
      s.kind == SET_TURNED ? 'h' : 'g', k);
  put(d, "  %%a%d: f32[%d,%d] = add.Tensor(%%m%d, %%k)\n", k, rows, columns, k);
  put(d, "  %%e%d: f32[%d,%d] = %s(%%a%d)\n", k, rows, columns, between, k);
  put(d, "  %%y%d: f32[%d,%d] = sub.Tensor(%%e%d, %%p%d)\n", k, rows, columns, k, k);
}

static void draw_sets(draft *d, uint64_t i) {
  static const int sizes[][2] = {{3, 5}, {40, 700}, {1, 1}, {64, 64}, {130, 300}, {7, 16}};
  set sets[10];
  int count = 2 + (int)(i % 9);
  d->size = 0;
  d->state = i * 2654435761u + 5;
  put(d, "fnz 1\nprogram(%%k: f32[]");
  for (int k = 0; k < count; k++) {
    set s = sets[k] = (set){sizes[draw(d, 6)], draw(d, SET_KINDS)};
    put(d, ", %%p%d: f32[%d,%d]", k, s.sizes[0], s.sizes[1]);
    put(d, ", %%g%d: f32[%d,%d]", k,
        s.kind == SET_TURNED ? s.sizes[1]
        : s.kind == SET_ROW  ? 1
                             : s.sizes[0],
        s.kind == SET_TURNED ? s.sizes[0] : s.sizes[1]);
  }
  put(d, ")\n{\n");
  for (int k = 0; k < count; k++)
    put_set(d, k, sets[k], i % 2 ? "tanh" : "neg"); /* of a chain, the second */
  put(d, "  return ");
  for (int k = 0; k < count; k++)
    if (sets[k].kind != SET_KEPT)
      put(d, "%%y%d input_mutation \"p%d\", ", k, k);
  for (int k = 0; k < count; k++)
    put(d, "%s%%%c%d", k ? ", " : "", k % 2 ? 'e' : 'y', k);
  put(d, "\n}\n");
}

/* A chain keeps a value in registers that the same chain of another set has to store, with gaps. */
START_TEST(sets_that_store_other_values_differ) {
  static const char *const programs[] = {
      "fnz 1\nprogram(%x: f32[8,16], %y: f32[8,16], %z: f32[8,16])\n{\n"
      "  %a1: f32[8,16] = mul.Tensor(%x, 2.0)\n  %a2: f32[8,16] = add.Tensor(%a1, 1.0)\n"
      "  %a3: f32[8,16] = mul.Tensor(%a2, 3.0)\n  %b1: f32[8,16] = mul.Tensor(%y, 2.0)\n"
      "  %b2: f32[8,16] = add.Tensor(%b1, 1.0)\n  %b3: f32[8,16] = mul.Tensor(%b2, 3.0)\n"
      "  %c: f32[8,32] = cat([%b2, %z], 1)\n  return %a3, %b3, %c\n}\n"};
  fnz_context *ctx;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  verify_texts(ctx, programs, sizeof programs / sizeof *programs, 1);
  fnz_context_destroy(ctx);
}
END_TEST

START_TEST(operand_sets_have_the_interpreters_bits) {
  static draft d;
  fnz_context *ctx;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  for (uint64_t i = 0; i < 60; i++) {
    draw_sets(&d, i);
    verify(ctx, &d, 1 + (int)(i % 3), i);
  }
  fnz_context_destroy(ctx);
}
END_TEST

RUN_SUITE("tile", groups_have_the_interpreters_bits, overlapping_windows_are_read_anew,
          rows_with_gaps_are_read_in_place, elements_of_rows_are_not_copied,
          numbers_fill_short_rows, numbers_of_rows_lie_where_their_readers_say,
          threads_change_no_bit, operand_sets_have_the_interpreters_bits,
          sets_that_store_other_values_differ)
