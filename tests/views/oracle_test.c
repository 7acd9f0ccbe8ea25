/* checks: 5
 * oracle_test.c - which windows share memory, and which sizes a window can be viewed with, against
 * brute force over bytes. */
#include "views/views.h"

#include "tests/help/memory.h"
#include "soak/calls.h"
#include "tests/help/test.h"
#include "views/composites.h"

/* --- the oracle ------------------------------------------------------------------------------ */
enum { STORAGE = 1 << 20 };
static unsigned char seen[STORAGE];

/* Marks the bytes of a window; true when one element is shown twice. */
static bool mark(const fnz_geometry *g, unsigned char bit) {
  size_t bytes = element_bytes(g);
  bool twice = false;
  for (int64_t i = 0, n = count_elements(g); i < n; i++)
    for (size_t b = 0; b < bytes; b++) {
      unsigned char *at = &seen[(size_t)place_of(g, i) * bytes + b];
      twice = twice || (*at & bit);
      *at |= bit;
    }
  return twice;
}

static fnzi_relation true_relation(const fnz_geometry *a, const fnz_geometry *b) {
  size_t size = bytes_needed(a) > bytes_needed(b) ? bytes_needed(a) : bytes_needed(b);
  bool has[4] = {false};
  ck_assert_uint_le(size, STORAGE);
  memset(seen, 0, size);
  mark(a, 1);
  mark(b, 2);
  for (size_t i = 0; i < size; i++)
    has[seen[i]] = true;
  return !has[3]            ? FNZI_DISJOINT
         : has[1] && has[2] ? FNZI_OVERLAPS
         : has[1]           ? FNZI_CONTAINS
         : has[2]           ? FNZI_INSIDE
                            : FNZI_EQUAL;
}

typedef struct window {
  fnz_geometry g;
  int64_t sizes[4], strides[4];
} window;

/* Any window: also overlapping, empty and scalar ones. */
static void draw_window(choices *c, window *w) {
  static const fnz_dtype dtypes[] = {FNZ_F32, FNZ_U8, FNZ_I16, FNZ_F64};
  w->g = (fnz_geometry){.dtype = dtypes[choose(c, 4)], .rank = choose(c, 4)};
  w->g.offset = choose(c, 12);
  w->g.sizes = w->sizes;
  w->g.strides = w->strides;
  for (uint32_t d = 0; d < w->g.rank; d++) {
    w->sizes[d] = perhaps(c, 4) ? 0 : choose_in(c, 1, 5);
    w->strides[d] = choose(c, 10);
  }
}

/* A range of each dimension of the frame, in another order. */
static void draw_box(choices *c, const fnz_geometry *frame, window *w) {
  w->g = (fnz_geometry){.dtype = frame->dtype, .rank = frame->rank, .offset = frame->offset};
  w->g.sizes = w->sizes;
  w->g.strides = w->strides;
  uint32_t turn = choose(c, frame->rank);
  for (uint32_t d = 0; d < frame->rank; d++) {
    uint32_t k = (d + turn) % frame->rank;
    int64_t start = choose_in(c, 0, frame->sizes[d] - 1), step = choose_in(c, 1, 4);
    w->g.offset += start * frame->strides[d];
    w->sizes[k] = choose_in(c, 1, (frame->sizes[d] - 1 - start) / step + 1);
    w->strides[k] = step * frame->strides[d];
  }
}

static void check_relation(const fnz_geometry *a, const fnz_geometry *b, const fnz_geometry *frame,
                           int64_t work, bool must_know) {
  fnzi_relation told = fnzi_oracle_relate(NULL, a, b, frame, work), is = true_relation(a, b);
  if (told == is || (told == FNZI_UNKNOWN && !must_know))
    return;
  print_window("a", a);
  print_window("b", b);
  if (frame)
    print_window("frame", frame);
  ck_abort_msg("told %d, is %d", told, is);
}

START_TEST(relations_are_right) {
  choices c;
  for (uint64_t i = 0; i < 60000; i++) {
    window a, b, f;
    choices_start(&c, 1, i);
    draw_window(&c, &a);
    draw_window(&c, &b);
    draw_window(&c, &f);
    check_relation(&a.g, &b.g, NULL, FNZI_LITTLE_WORK, true);
    check_relation(&a.g, &b.g, &f.g, FNZI_LITTLE_WORK, true);
    check_relation(&a.g, &b.g, &f.g, 16, false);
  }
}
END_TEST

/* Boxes of a frame are never undecided, however little work is allowed. */
START_TEST(boxes_are_decided) {
  static const int64_t sizes[3] = {12, 10, 14};
  static const int64_t orders[3][3] = {{140, 14, 1}, {1, 12, 120}, {200, 17, 1}};
  choices c;
  for (uint64_t i = 0; i < 6000; i++) {
    window a, b;
    const fnz_geometry frame = {.dtype = i % 2 ? FNZ_F32 : FNZ_I16,
                                .rank = 3,
                                .offset = 3,
                                .sizes = sizes,
                                .strides = orders[i % 3]};
    choices_start(&c, 2, i);
    draw_box(&c, &frame, &a);
    draw_box(&c, &frame, &b);
    check_relation(&a.g, &b.g, &frame, 0, true);
  }
}
END_TEST

START_TEST(self_relations_are_right) {
  choices c;
  for (uint64_t i = 0; i < 60000; i++) {
    window w;
    choices_start(&c, 3, i);
    draw_window(&c, &w);
    memset(seen, 0, bytes_needed(&w.g));
    fnzi_relation is = mark(&w.g, 1) ? FNZI_OVERLAPS : FNZI_DISJOINT;
    ck_assert_int_eq(fnzi_oracle_relate_self(NULL, &w.g, FNZI_LITTLE_WORK), is);
    fnzi_relation little = fnzi_oracle_relate_self(NULL, &w.g, 4);
    ck_assert(little == is || little == FNZI_UNKNOWN);
  }
}
END_TEST

/* --- reshaping ------------------------------------------------------------------------------- */
/* The stride of a dimension is forced by its second element; all others must follow. */
static bool can_view(const fnz_geometry *base, const int64_t *sizes, uint32_t rank) {
  window w = {.g = {.dtype = base->dtype, .rank = rank, .offset = base->offset}};
  w.g.sizes = sizes;
  w.g.strides = w.strides;
  int64_t numel = count_elements(base), below = 1;
  for (uint32_t d = rank; d-- > 0; below *= sizes[d])
    w.strides[d] = sizes[d] > 1 ? place_of(base, below) - base->offset : 1;
  for (int64_t i = 0; i < numel; i++)
    if (place_of(base, i) != place_of(&w.g, i))
      return false;
  return true;
}

/* Sizes of four dimensions with the elements of the base. */
static void draw_new_sizes(choices *c, int64_t numel, int64_t sizes[4]) {
  for (int d = 0; d < 3; d++) {
    sizes[d] = choose_in(c, 1, 6);
    while (numel % sizes[d])
      sizes[d]--;
    numel /= sizes[d];
  }
  sizes[3] = numel;
}

START_TEST(view_strides_are_right) {
  size_t yes = 0, no = 0;
  choices c;
  for (uint64_t i = 0; i < 60000; i++) {
    window base;
    int64_t sizes[4], strides[4];
    choices_start(&c, 6, i);
    draw_window(&c, &base);
    int64_t numel = count_elements(&base.g);
    if (perhaps(&c, 50) && base.g.rank > 1)
      base.strides[0] = base.sizes[1] * base.strides[1];
    if (numel == 0)
      continue;
    draw_new_sizes(&c, numel, sizes);
    fnzi_int wanted[4], made[4];
    for (int d = 0; d < 4; d++)
      wanted[d] = fnzi_int_of(sizes[d]);
    bool told = fnzi_view_strides(NULL, &base.g, wanted, 4, made);
    for (int d = 0; d < 4; d++)
      strides[d] = made[d].bits;
    if (told != can_view(&base.g, sizes, 4)) {
      print_window("base", &base.g);
      ck_abort_msg("told %d for %lld %lld %lld %lld", told, (long long)sizes[0],
                   (long long)sizes[1], (long long)sizes[2], (long long)sizes[3]);
    }
    fnz_geometry w = {.dtype = base.g.dtype, .rank = 4, .offset = base.g.offset};
    w.sizes = sizes;
    w.strides = strides;
    for (int64_t k = 0; told && k < numel; k++)
      ck_assert_int_eq(place_of(&w, k), place_of(&base.g, k));
    ++*(told ? &yes : &no);
  }
  ck_assert_uint_gt(yes, 1000);
  ck_assert_uint_gt(no, 1000);
}
END_TEST

/* Windows that would need more work than is allowed, and windows that are decided without any. */
START_TEST(big_windows_are_told_or_unknown) {
  static const struct {
    int64_t sizes[2], strides[2], offset, work;
    fnzi_relation self;
  } rows[] = {
      {{1000, 1000}, {1, 2}, 0, 16, FNZI_OVERLAPS}, /* more elements than places */
      {{2, 2}, {3, 2}, 0, FNZI_LITTLE_WORK, FNZI_DISJOINT},
      {{2, 2}, {3, 2}, 100000, FNZI_LITTLE_WORK, FNZI_DISJOINT},
      {{3, 2}, {2, 4}, 100000, FNZI_LITTLE_WORK, FNZI_OVERLAPS},
      {{3, 2}, {200000, 300000}, 0, FNZI_MUCH_WORK, FNZI_UNKNOWN},
      {{2, 300}, {1, 2}, 0, 16, FNZI_DISJOINT}, /* nested */
      {{3, 3}, {2, 3}, 0, 4, FNZI_UNKNOWN},
      {{1, 1}, {0, 0}, 0, 0, FNZI_DISJOINT},
      {{2, 1}, {0, 1}, 0, 0, FNZI_OVERLAPS},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const fnz_geometry g = {.dtype = FNZ_F32,
                            .rank = 2,
                            .sizes = rows[i].sizes,
                            .strides = rows[i].strides,
                            .offset = rows[i].offset};
    fnzi_relation told = fnzi_oracle_relate_self(NULL, &g, rows[i].work);
    ck_assert_msg(told == rows[i].self, "row %zu: told %d", i, told);
  }
}
END_TEST

RUN_SUITE("oracle", relations_are_right, boxes_are_decided, self_relations_are_right,
          view_strides_are_right, big_windows_are_told_or_unknown)
