/* distance.c - distances between points: of two sets, and of all pairs of one. */
#include "kernels/cpu/special_reals.h"
#include "kernels/cpu/recording.h"
#include "kernels/rows/folds.h"

#include <math.h>

#define VALUE static
#include "kernels/cpu/distance_values.h"
#undef VALUE

typedef struct points {
  fnzi_cpu_reals a, b;
  int64_t length; /* of a point */
  double order;
} points;

/* The formula of each distance, recorded; the second points may be absent. */
static fnz_status record(fnzi_krn_call *call, const char *name, const points *p, int64_t counts[2],
                         const fnzi_cpu_reals_out *y, const int64_t *integers) {
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
static fnz_geometry spread(const fnz_geometry *out, const fnz_geometry *g, int64_t *sizes) {
  memcpy(sizes, out->sizes, out->rank * sizeof *sizes);
  memcpy(sizes + out->rank - 2, g->sizes + g->rank - 2, 2 * sizeof *sizes);
  return (fnz_geometry){.dtype = g->dtype, .rank = out->rank, .sizes = sizes};
}

/* Points whose numbers of one dimension lie side by side. */
typedef struct turned {
  const float *f;
  const double *d; /* one of them is NULL */
  int64_t length, count;
} turned;

static fnz_status turn(fnzi_krn_call *call, const fnzi_cpu_reals *x, int64_t first, turned *out) {
  void *room;
  size_t cell = x->d ? sizeof *x->d : sizeof *x->f;
  FNZ_TRY(fnzi_krn_room_take(call, out->length * out->count, cell, &room));
  const char *from = x->d ? (const char *)(x->d + first) : (const char *)(x->f + first);
  fnzi_cpu_transpose(cell, out->count, out->length, from, room);
  out->d = x->d ? room : NULL;
  out->f = x->d ? NULL : room;
  return FNZ_OK;
}

/* Distances of order 2 from the point at `a` to the others from `first` on, in the order of
 * distance(). */
static void from_point(const fnzi_cpu_reals *x, int64_t a, const turned *t, int64_t first,
                       const fnzi_cpu_reals_out *y, int64_t to) {
  double sums[FNZI_PIECE];
  for (int64_t at = first; at < t->count; at += FNZI_PIECE) {
    int64_t count = t->count - at < FNZI_PIECE ? t->count - at : FNZI_PIECE;
    memset(sums, 0, sizeof sums);
    for (int64_t i = 0; i < t->length; i++)
      if (t->d)
        fnzi_folds_best()->add_wide_squares(sums, x->d[a + i], t->d + i * t->count + at, count);
      else
        fnzi_folds_best()->add_squares(sums, x->f[a + i], t->f + i * t->count + at, count);
    for (int64_t k = 0; k < count; k++)
      fnzi_cpu_real_put(y, to++, sqrt(sums[k]));
  }
}

static bool is_quick(const points *p) {
  return p->order == 2 && (p->a.f || p->a.d);
}

/* Distances of order 2: `sets` of `each` by `others`. */
static fnz_status run_squares(fnzi_krn_call *call, const points *p, int64_t sets, int64_t each,
                              int64_t others, const fnzi_cpu_reals_out *y) {
  turned t = {.length = p->length, .count = others};
  for (int64_t s = 0; s < sets; s++) {
    FNZ_TRY(turn(call, &p->b, s * others * p->length, &t));
    for (int64_t i = s * each; i < (s + 1) * each; i++)
      from_point(&p->a, i * p->length, &t, 0, y, i * others);
  }
  return FNZ_OK;
}

static fnz_status run_pairs(fnzi_krn_call *call, const points *p, int64_t count,
                            const fnzi_cpu_reals_out *y) {
  turned t = {.length = p->length, .count = count};
  FNZ_TRY(turn(call, &p->a, 0, &t));
  for (int64_t i = 0, at = 0; i < count; at += count - ++i)
    from_point(&p->a, i * p->length, &t, i + 1, y, at);
  return FNZ_OK;
}

fnz_status fnzi_kernel_cdist(fnzi_krn_call *call) {
  const fnzi_krn_array *a = fnzi_krn_call_input(call, 0), *b = fnzi_krn_call_input(call, 1);
  const fnz_geometry *out = &call->outputs[0]->geometry;
  fnz_dtype dtype = fnzi_cpu_real_dtype(out->dtype);
  int64_t sizes_a[FNZ_MAX_RANK], sizes_b[FNZ_MAX_RANK], numel = fnz_geometry_numel(out);
  points p = {.length = a->place.sizes[a->place.rank - 1],
              .order = fnzi_krn_named_float(call, "p", 2)};
  fnzi_cpu_reals_out y;
  if (!numel)
    return FNZ_OK;
  fnz_geometry all_a = spread(out, &a->geometry, sizes_a);
  fnz_geometry all_b = spread(out, &b->geometry, sizes_b);
  FNZ_TRY(fnzi_cpu_reals_expand(call, a, dtype, &all_a, &p.a));
  FNZ_TRY(fnzi_cpu_reals_expand(call, b, dtype, &all_b, &p.b));
  FNZ_TRY(fnzi_cpu_reals_result(call, 0, dtype, &y));
  int64_t others = out->sizes[out->rank - 1], each = out->sizes[out->rank - 2] * others;
  if (call->record)
    return record(call, "distance", &p, (int64_t[]){numel / others, numel / each * others}, &y,
                  (const int64_t[]){p.length, others, each});
  if (is_quick(&p))
    return run_squares(call, &p, numel / each, each / others, others, &y);
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
  points p = {.length = self->place.sizes[1], .order = fnzi_krn_named_float(call, "p", 2)};
  fnzi_cpu_reals_out y;
  FNZ_TRY(fnzi_cpu_reals_open(call, self, dtype, &p.a));
  FNZ_TRY(fnzi_cpu_reals_result(call, 0, dtype, &y));
  if (call->record)
    return record(call, "pair_distance", &p, (int64_t[]){self->place.sizes[0], 0}, &y,
                  (const int64_t[]){p.length, self->place.sizes[0], 0});
  if (is_quick(&p))
    return run_pairs(call, &p, self->place.sizes[0], &y);
  int64_t at = 0;
  for (int64_t i = 0; i < self->place.sizes[0]; i++)
    for (int64_t k = i + 1; k < self->place.sizes[0]; k++)
      fnzi_cpu_real_put(&y, at++,
                        distance(&p.a, &p.a, i * p.length, k * p.length, p.length, p.order));
  return FNZ_OK;
}
