/* distance.c - distances between points: of two sets, and of all pairs of one. */
#include "kernels/cpu/special_reals.h"
#include "kernels/cpu/recording.h"
#include "kernels/cpu/sizes.h"
#include "kernels/rows/folds.h"

#include <math.h>

#define VALUE static
#include "kernels/cpu/distance_values.h"
#undef VALUE

_Static_assert((int)DISTANCE_DEPTH == (int)FNZI_FOLD_DEPTH, "both add up in one order");

typedef struct points {
  fnzi_cpu_reals a, b;
  int64_t length; /* of a point */
  double order;
} points;

/* The formula of each distance, recorded; the second points may be absent. */
static fnz_status distance_record(fnzi_krn_call *call, const char *name, const points *p,
                                  int64_t counts[2], const fnzi_cpu_reals_out *y,
                                  const int64_t *integers) {
  int64_t count = fnzi_krn_array_numel(call->outputs[0]);
  fnzi_cpu_recording t = {.f = {.numbers = &p->order, .nnumbers = 1}};
  fnzi_cpu_record_reals(&t, &p->a, counts[0] * p->length);
  if (fnzi_cpu_reals_present(&p->b))
    fnzi_cpu_record_reals(&t, &p->b, counts[1] * p->length);
  fnzi_cpu_record_reals_out(&t, y, count);
  fnzi_cpu_record_integers(&t, integers, 3 * sizeof *integers);
  return fnzi_cpu_record(call, &t, name, count);
}

/* A geometry of the batch of the result by what `g` has behind its own. */
static fnz_geometry distance_spread(const fnz_geometry *out, const fnz_geometry *g,
                                    int64_t *sizes) {
  memcpy(sizes, out->sizes, out->rank * sizeof *sizes);
  memcpy(sizes + out->rank - 2, g->sizes + g->rank - 2, 2 * sizeof *sizes);
  return (fnz_geometry){.dtype = g->dtype, .rank = out->rank, .sizes = sizes};
}

/* FNZI_FOLD_BESIDE others in a block, whose end is filled up with zeros: their numbers k are one
 * beside the other. */
typedef struct blocks {
  char *data;
  int64_t length, count;
  size_t cell;
} blocks;

static fnz_status make_blocks(fnzi_krn_call *call, const points *p, int64_t count, blocks *out) {
  void *room;
  int64_t rows = (count + FNZI_FOLD_BESIDE - 1) / FNZI_FOLD_BESIDE * p->length;
  *out = (blocks){NULL, p->length, count, p->a.d ? sizeof *p->a.d : sizeof *p->a.f};
  FNZ_TRY(fnzi_krn_scratch_take(call, rows * FNZI_FOLD_BESIDE, out->cell, &room));
  out->data = room;
  memset(room, 0, (size_t)(rows * FNZI_FOLD_BESIDE) * out->cell);
  return FNZ_OK;
}

static const char *cell_at(const fnzi_cpu_reals *x, int64_t i) {
  return x->d ? (const char *)(x->d + i) : (const char *)(x->f + i);
}

static void fill_blocks(const blocks *b, const fnzi_cpu_reals *x, int64_t first) {
  int64_t strides[] = {FNZI_FOLD_BESIDE, 1}, from_strides[] = {1, b->length};
  for (int64_t j = 0; j < b->count; j += FNZI_FOLD_BESIDE) {
    int64_t sizes[] = {b->length, fnzi_cpu_least(b->count - j, FNZI_FOLD_BESIDE)};
    fnzi_krn_copy_cells(&(fnzi_krn_copy){2, sizes, b->data + (size_t)(j * b->length) * b->cell,
                                         strides, cell_at(x, first + j * b->length), from_strides,
                                         b->cell},
                        NULL);
  }
}

/* Distances of `rows` points from the block of `other`, in the order of distance(). */
static void distance_tile(const points *p, int64_t a, int rows, const blocks *b, int64_t other,
                          void *out) {
  const fnzi_fold_distances d = {.a = cell_at(&p->a, a * p->length),
                                 .b = b->data + (size_t)(other * b->length) * b->cell,
                                 .out = out,
                                 .depth = b->length,
                                 .rows = rows,
                                 .squares = p->order == 2};
  fnzi_folds_best()->distances[p->a.d != NULL](&d);
}

static bool is_quick(const points *p) {
  return p->order == 2 || p->order == 1;
}

static char *result_at(const fnzi_cpu_reals_out *y, int64_t i) {
  return y->d ? (char *)(y->d + i) : (char *)(y->f + i);
}

/* Points and others that they meet: from the first of each to before the last one. */
typedef struct part {
  int64_t first, last, other, last_other;
} part;

/* `rows` points from point i on meet the others of a part. */
static void run_rows(const points *p, const blocks *b, const part *of, int64_t i, char *to) {
  double found[FNZI_FOLD_MOST_ROWS * FNZI_FOLD_BESIDE];
  int rows = (int)fnzi_cpu_least(of->last - i, FNZI_FOLD_MOST_ROWS);
  for (int64_t j = of->other; j < of->last_other; j += FNZI_FOLD_BESIDE) {
    size_t bytes = (size_t)fnzi_cpu_least(of->last_other - j, FNZI_FOLD_BESIDE) * b->cell;
    distance_tile(p, i, rows, b, j, found);
    for (int r = 0; r < rows; r++)
      memcpy(to + (size_t)(r * b->count + j) * b->cell,
             (char *)found + (size_t)(r * FNZI_FOLD_BESIDE) * b->cell, bytes);
  }
}

/* `sets` of `each` by `others`, whose blocks stay in a cache. */
static fnz_status run_sets(fnzi_krn_call *call, const points *p, int64_t sets, int64_t each,
                           int64_t others, const fnzi_cpu_reals_out *y) {
  enum { HELD = 8 * FNZI_FOLD_BESIDE };
  blocks b;
  FNZ_TRY(make_blocks(call, p, others, &b));
  for (int64_t s = 0; s < sets; s++) {
    fill_blocks(&b, &p->b, s * others * p->length);
    for (int64_t j = 0; j < others; j += HELD) {
      const part of = {s * each, (s + 1) * each, j, fnzi_cpu_least(others, j + HELD)};
      for (int64_t i = of.first; i < of.last; i += FNZI_FOLD_MOST_ROWS)
        run_rows(p, &b, &of, i, result_at(y, i * others));
    }
  }
  return FNZ_OK;
}

/* Point k with the later ones from `j` on in one block. The pairs of a point lie together. */
static void put_pairs(const fnzi_cpu_reals_out *y, int64_t count, int64_t k, int64_t j,
                      const char *found) {
  size_t cell = y->d ? sizeof *y->d : sizeof *y->f;
  int64_t first = k + 1 > j ? k + 1 : j, end = fnzi_cpu_least(count, j + FNZI_FOLD_BESIDE);
  int64_t before = k * count - k * (k + 1) / 2 - k - 1;
  if (first < end)
    memcpy(result_at(y, before + first), found + (size_t)(first - j) * cell,
           (size_t)(end - first) * cell);
}

static fnz_status run_pairs(fnzi_krn_call *call, const points *p, int64_t count,
                            const fnzi_cpu_reals_out *y) {
  double found[FNZI_FOLD_MOST_ROWS * FNZI_FOLD_BESIDE];
  blocks b;
  FNZ_TRY(make_blocks(call, p, count, &b));
  fill_blocks(&b, &p->a, 0);
  for (int64_t j = 0; j < count; j += FNZI_FOLD_BESIDE)
    for (int64_t i = 0; i < fnzi_cpu_least(count, j + FNZI_FOLD_BESIDE); i += FNZI_FOLD_MOST_ROWS) {
      int rows = (int)fnzi_cpu_least(count - i, FNZI_FOLD_MOST_ROWS);
      distance_tile(p, i, rows, &b, j, found);
      for (int r = 0; r < rows; r++)
        put_pairs(y, count, i + r, j, (char *)found + (size_t)(r * FNZI_FOLD_BESIDE) * b.cell);
    }
  return FNZ_OK;
}

fnz_status fnzi_kernel_cdist(fnzi_krn_call *call) {
  const fnzi_krn_array *a = fnzi_krn_call_input(call, 0), *b = fnzi_krn_call_input(call, 1);
  const fnz_geometry *out = &call->outputs[0]->geometry;
  fnz_dtype dtype = fnzi_cpu_real_dtype(out->dtype);
  int64_t sizes_a[FNZ_MAX_RANK], sizes_b[FNZ_MAX_RANK], numel = fnz_geometry_numel(out);
  points p = {.length = a->window.sizes[a->window.rank - 1],
              .order = fnzi_krn_named_float(call, "p", 2)};
  fnzi_cpu_reals_out y;
  if (!numel)
    return FNZ_OK;
  fnz_geometry all_a = distance_spread(out, &a->geometry, sizes_a);
  fnz_geometry all_b = distance_spread(out, &b->geometry, sizes_b);
  FNZ_TRY(fnzi_cpu_reals_expand(call, a, dtype, &all_a, &p.a));
  FNZ_TRY(fnzi_cpu_reals_expand(call, b, dtype, &all_b, &p.b));
  FNZ_TRY(fnzi_cpu_reals_result(call, 0, dtype, &y));
  int64_t others = out->sizes[out->rank - 1], each = out->sizes[out->rank - 2] * others;
  if (call->record)
    return distance_record(call, "distance", &p, (int64_t[]){numel / others, numel / each * others},
                           &y, (const int64_t[]){p.length, others, each});
  if (is_quick(&p))
    return run_sets(call, &p, numel / each, each / others, others, &y);
  for (int64_t i = 0; i < numel; i++)
    fnzi_cpu_real_put(&y, i,
                      distance(&p.a, &p.b, i / others * p.length,
                               (i / each * others + i % others) * p.length, p.length, p.order));
  return FNZ_OK;
}

/* Pairs (0, 1), (0, 2) ... (1, 2) ... */
fnz_status fnzi_kernel_pdist(fnzi_krn_call *call) {
  const fnzi_krn_array *self = fnzi_krn_call_input(call, 0);
  fnz_dtype dtype = fnzi_cpu_real_dtype(self->geometry.dtype);
  points p = {.length = self->window.sizes[1], .order = fnzi_krn_named_float(call, "p", 2)};
  fnzi_cpu_reals_out y;
  FNZ_TRY(fnzi_cpu_reals_open(call, self, dtype, &p.a));
  FNZ_TRY(fnzi_cpu_reals_result(call, 0, dtype, &y));
  if (call->record)
    return distance_record(call, "pair_distance", &p, (int64_t[]){self->window.sizes[0], 0}, &y,
                           (const int64_t[]){p.length, self->window.sizes[0], 0});
  if (is_quick(&p))
    return run_pairs(call, &p, self->window.sizes[0], &y);
  int64_t at = 0;
  for (int64_t i = 0; i < self->window.sizes[0]; i++)
    for (int64_t k = i + 1; k < self->window.sizes[0]; k++)
      fnzi_cpu_real_put(&y, at++,
                        distance(&p.a, &p.a, i * p.length, k * p.length, p.length, p.order));
  return FNZ_OK;
}
