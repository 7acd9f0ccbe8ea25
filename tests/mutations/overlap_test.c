/* checks: 4
 * overlap_test.c - an operand that overlaps the target, and a target that overlaps itself: the
 * decision between reading first, going slice after slice and refusing, against the loop itself.
 * Every element gets a number that depends on its old value and on the value read, so that equal
 * memory means equal reads. */
#include "mutations/mutations.h"
#include "tests/help/test.h"

enum { MEMORY = 40, PAIRS = 60000, ELEMENTS = 64 };

static uint64_t drawn = 1;

static int64_t draw(int64_t below) {
  drawn = drawn * 6364136223846793005u + 1442695040888963407u;
  return (int64_t)((drawn >> 33) % (uint64_t)below);
}

typedef struct window {
  int64_t sizes[2], strides[2];
  fnz_geometry g;
} window;

static void draw_window(window *w, const int64_t *sizes) {
  for (int d = 0; d < 2; d++) {
    w->sizes[d] = sizes ? sizes[d] : 1 + draw(4);
    w->strides[d] = draw(6);
  }
  w->g = (fnz_geometry){
      .dtype = FNZ_I32, .rank = 2, .sizes = w->sizes, .strides = w->strides, .offset = draw(5)};
}

/* The elements of the target in eager's order: the dimension of the larger stride outside. */
typedef struct loop {
  int64_t write[ELEMENTS], read[ELEMENTS], slice[2][ELEMENTS];
  size_t count;
} loop;

static void list_elements(const window *t, const window *o, loop *out) {
  int outer = t->strides[1] > t->strides[0] ||
              (t->strides[1] == t->strides[0] && t->sizes[1] > t->sizes[0]);
  out->count = 0;
  for (int64_t i = 0; i < t->sizes[outer]; i++)
    for (int64_t j = 0; j < t->sizes[1 - outer]; j++) {
      int64_t at[2] = {outer ? j : i, outer ? i : j};
      size_t k = out->count++;
      out->write[k] = t->g.offset + at[0] * t->strides[0] + at[1] * t->strides[1];
      out->read[k] = o->g.offset + at[0] * o->strides[0] + at[1] * o->strides[1];
      out->slice[0][k] = at[0];
      out->slice[1][k] = at[1];
    }
}

static uint64_t mixed(uint64_t old, uint64_t read) {
  uint64_t h = old * 0x9e3779b97f4a7c15u + read;
  return (h ^ h >> 29) * 0xbf58476d1ce4e5b9u;
}

/* All elements whose index along `dim` is `slice` are read before any of them is written; with
 * dim -1 all elements are. */
static void write_slice(const loop *l, int dim, int64_t slice, uint64_t *memory) {
  uint64_t before[MEMORY];
  memcpy(before, memory, sizeof before);
  for (size_t k = 0; k < l->count; k++)
    if (dim < 0 || l->slice[dim][k] == slice)
      memory[l->write[k]] = mixed(before[l->write[k]], before[l->read[k]]);
}

/* Does going slice after slice along `dim`, or reading all first for -1, mean the same as eager's
 * loop? */
static bool means_the_same(const loop *l, const window *t, int dim) {
  uint64_t eager[MEMORY], other[MEMORY];
  for (uint64_t i = 0; i < MEMORY; i++)
    eager[i] = other[i] = mixed(i + 1, 7);
  for (size_t k = 0; k < l->count; k++)
    eager[l->write[k]] = mixed(eager[l->write[k]], eager[l->read[k]]);
  for (int64_t slice = 0; slice < (dim < 0 ? 1 : t->sizes[dim]); slice++)
    write_slice(l, dim, slice, other);
  return memcmp(eager, other, sizeof eager) == 0;
}

static bool writes_twice(const loop *l) {
  for (size_t k = 0; k < l->count; k++)
    for (size_t i = 0; i < k; i++)
      if (l->write[i] == l->write[k])
        return true;
  return false;
}

static fnz_status decide(fnz_context *ctx, const window *t, const window *o, int *slices) {
  fnzi_loop loop = {.slices = *slices};
  static const int64_t whole[] = {1 << 24}, dense[] = {1};
  const fnz_geometry frame = {.dtype = FNZ_I32, .rank = 1, .sizes = whole, .strides = dense};
  const fnzi_operand operand = {NULL, &o->g, &frame, FNZI_READING_IN_STEP};
  fnz_status status =
      fnzi_check_operand(ctx, fnz_op_find(NULL, "add_.Tensor"), &t->g, &operand, &loop);
  *slices = loop.slices;
  return status;
}

/* Another operand goes slice after slice along `dim` already: `o` may only do the same. */
static void check_second(fnz_context *ctx, const window *t, const window *o, int dim) {
  int slices = dim;
  if (decide(ctx, t, o, &slices) == FNZ_OK)
    ck_assert_int_eq(slices, dim);
}

/* The decision on one pair: 0 read first, 1 slice after slice, 2 refused. */
static int check_pair(fnz_context *ctx, const window *t, const window *o, const loop *l) {
  int slices = -1;
  fnz_status status = decide(ctx, t, o, &slices);
  if (status == FNZ_OK)
    ck_assert_msg(means_the_same(l, t, slices),
                  "sizes %lld %lld, strides %lld %lld at %lld, reading %lld %lld at %lld: along %d",
                  (long long)t->sizes[0], (long long)t->sizes[1], (long long)t->strides[0],
                  (long long)t->strides[1], (long long)t->g.offset, (long long)o->strides[0],
                  (long long)o->strides[1], (long long)o->g.offset, slices);
  bool noticed = fnzi_is_dense(&t->g) && fnzi_is_dense(&o->g);
  if (status != FNZ_OK && !noticed)
    for (int dim = -1; dim < 2; dim++)
      ck_assert_msg(!means_the_same(l, t, dim), "refused, but along %d it means the same", dim);
  check_second(ctx, t, o, 0);
  check_second(ctx, t, o, 1);
  return status != FNZ_OK ? 2 : slices >= 0;
}

START_TEST(what_is_let_through_means_what_the_loop_does) {
  fnz_context *ctx;
  size_t decided[3] = {0};
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  for (int n = 0; n < PAIRS; n++) {
    window t, o;
    loop l;
    draw_window(&t, NULL);
    draw_window(&o, t.sizes);
    list_elements(&t, &o, &l);
    if (!writes_twice(&l))
      decided[check_pair(ctx, &t, &o, &l)]++;
  }
  for (int k = 0; k < 3; k++)
    ck_assert_uint_gt(decided[k], 100);
  fnz_context_destroy(ctx);
}
END_TEST

/* Few slices, but too many elements to follow one by one. */
START_TEST(what_is_too_large_to_follow_is_refused) {
  fnz_context *ctx;
  window t = {.sizes = {40, 2000}, .strides = {5000, 2}};
  window o = {.sizes = {40, 2000}, .strides = {5000, 2}};
  int slices = -1;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  t.g = (fnz_geometry){
      .dtype = FNZ_I32, .rank = 2, .sizes = t.sizes, .strides = t.strides, .offset = 5002};
  o.g = (fnz_geometry){.dtype = FNZ_I32, .rank = 2, .sizes = o.sizes, .strides = o.strides};
  FAILS(ctx, "OVERLAP", decide(ctx, &t, &o, &slices));
  ck_assert_int_eq(ctx->reason, FNZI_REASON_NO_ROUTE);
  FAILS(ctx, "BOUNDS", fnzi_fail(ctx, FNZ_CLASS_BOUNDS, NULL, "something else"));
  ck_assert_int_eq(ctx->reason, FNZI_REASON_NONE);
  fnz_context_destroy(ctx);
}
END_TEST

/* A tensor of another dtype shares memory, but its elements are no elements of the target. */
START_TEST(another_dtype_is_not_followed) {
  fnz_context *ctx;
  window t = {.sizes = {2, 3}, .strides = {8, 2}}, o = t;
  int slices = -1;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  t.g = (fnz_geometry){.dtype = FNZ_I32, .rank = 2, .sizes = t.sizes, .strides = t.strides};
  o.g = (fnz_geometry){
      .dtype = FNZ_I32, .rank = 2, .sizes = o.sizes, .strides = o.strides, .offset = 2};
  OK(ctx, decide(ctx, &t, &o, &slices));
  ck_assert_int_eq(slices, -1);
  o.g.dtype = FNZ_F32;
  FAILS(ctx, "OVERLAP", decide(ctx, &t, &o, &slices));
  ck_assert_ptr_nonnull(strstr(fnz_last_error(ctx)->message, "reads memory that it writes:"));
  fnz_context_destroy(ctx);
}
END_TEST

/* --- a target that overlaps itself ------------------------------------------------------------ */
static fnz_status decide_own(fnz_context *ctx, const window *t, int *slices) {
  fnzi_loop loop = {.slices = -1};
  fnz_status status =
      fnzi_check_target(ctx, NULL, fnz_op_find(NULL, "add_.Tensor"), &t->g, FNZI_SPREAD_ANY, &loop);
  *slices = loop.slices;
  return status;
}

/* As means_the_same(), where every element reads a number of its own. */
static bool own_means_the_same(const loop *l, const window *t, int dim) {
  uint64_t eager[MEMORY] = {0}, other[MEMORY] = {0}, before[MEMORY];
  for (size_t k = 0; k < l->count; k++)
    eager[l->write[k]] = mixed(eager[l->write[k]], k);
  for (int64_t slice = 0; slice < t->sizes[dim]; slice++) {
    memcpy(before, other, sizeof before);
    for (size_t k = 0; k < l->count; k++)
      if (l->slice[dim][k] == slice)
        other[l->write[k]] = mixed(before[l->write[k]], k);
  }
  return memcmp(eager, other, sizeof eager) == 0;
}

static bool has_zero_stride(const window *w) {
  return (w->strides[0] == 0 && w->sizes[0] > 1) || (w->strides[1] == 0 && w->sizes[1] > 1);
}

/* 0 does not overlap, 1 slice after slice, 2 refused. */
static int check_own(fnz_context *ctx, const window *t, const loop *l) {
  int slices;
  fnz_status status = decide_own(ctx, t, &slices);
  if (status != FNZ_OK) {
    ck_assert(writes_twice(l));
    for (int dim = 0; dim < 2 && !has_zero_stride(t); dim++)
      ck_assert_msg(!own_means_the_same(l, t, dim), "refused, but along %d it means the same", dim);
    return 2;
  }
  ck_assert(slices >= 0 ? own_means_the_same(l, t, slices) : !writes_twice(l));
  return slices >= 0;
}

START_TEST(a_target_is_written_as_the_loop_does) {
  static const struct {
    int64_t size;
    int slices;
  } bounds[] = {{63, 0}, {64, 0}, {65, -1}};
  fnz_context *ctx;
  size_t decided[3] = {0};
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  for (int n = 0; n < PAIRS; n++) {
    window t;
    loop l;
    draw_window(&t, NULL);
    list_elements(&t, &t, &l);
    decided[check_own(ctx, &t, &l)]++;
  }
  for (int k = 0; k < 3; k++)
    ck_assert_uint_gt(decided[k], 100);
  for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
    const int64_t sizes[] = {bounds[i].size, 2, 1}, strides[] = {1, 1, 0};
    window t = {.g = {.dtype = FNZ_I32, .rank = 3, .sizes = sizes, .strides = strides}};
    int slices;
    ck_assert_int_eq(decide_own(ctx, &t, &slices) == FNZ_OK, bounds[i].slices >= 0);
    ck_assert_int_eq(slices, bounds[i].slices);
  }
  fnz_context_destroy(ctx);
}
END_TEST

RUN_SUITE("overlap", what_is_let_through_means_what_the_loop_does,
          what_is_too_large_to_follow_is_refused, another_dtype_is_not_followed,
          a_target_is_written_as_the_loop_does)
