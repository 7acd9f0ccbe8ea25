/* sum.c - sums and means of floats with eager's bits: the dimensions in the order its iterator
 * walks them, and cascades of partial sums as its loops form them on eight lanes of f32. A slice
 * has the bits of eager's sum of a dense copy: eager itself sums some slices in another order. */
#include "kernels/core/half.h"
#include "kernels/cpu/fold.h"
#include "kernels/cpu/row_code.h"
#include "kernels/cpu/sizes.h"
#include "kernels/cpu/special_reals.h"
#include "kernels/rows/folds.h"
#include "kernels/rows/rows.h"

enum { LEVELS = 4, INTERLEAVE = 4, MAX_LANES = 32, WIDTH_F32 = 8 };
enum { LONG_ROW = 1 << 18 }; /* elements that are worth all threads */

static int64_t block_power(int64_t count) {
  int64_t log = 0;
  while (((int64_t)1 << log) < count && log < 62)
    log++;
  int64_t power = log / LEVELS;
  return power < 4 ? 4 : power;
}

static void levels_join(const fnzi_row_cascade *c, float *out) {
  for (int k = 0; k < FNZI_ROW_COLUMNS; k++) {
    out[k] = c->levels[0][k];
    for (int level = 1; level < LEVELS; level++)
      out[k] += c->levels[level][k];
  }
}

/* Adjacent f32 columns are summed by row functions, in the same order; if the result is false, the
 * loops below do it. */
static bool float_columns(const float *x, int64_t row_stride, int64_t count, int lanes,
                          float *out) {
  fnzi_row_cascade c = {{{0}}};
  if (lanes != FNZI_ROW_COLUMNS)
    return false;
  fnzi_rows_best()->cascade(&c, (int)block_power(count), x, row_stride, 0, count);
  levels_join(&c, out);
  return true;
}

static bool float_whole(const float *x, int64_t count, int width, float *out) {
  if (width != WIDTH_F32)
    return false;
  int64_t rows = count / FNZI_ROW_COLUMNS;
  *out = fnzi_rows_best()->total(x, count, (int)block_power(rows));
  return true;
}

static bool double_whole(const double *x, int64_t count, int width, double *out) {
  (void)x, (void)count, (void)width, (void)out;
  return false;
}

static bool double_columns(const double *x, int64_t row_stride, int64_t count, int lanes,
                           double *out) {
  if (lanes != FNZI_FOLD_WIDE)
    return false;
  fnzi_folds_best()->cascade(out, x, row_stride, count, (int)block_power(count));
  return true;
}

/* --- Cascades ---------------------------------------------------------------------------- */
/* Sums `count` rows of `lanes` columns; partial sums move up a level when a block of rows is full.
 * `fold`, when not 0, is the distance of a second element that is added on loading. */
#define CASCADE(T)                                                                                 \
  static void T##_flush(T acc[LEVELS][MAX_LANES], int lanes, int64_t row, int64_t power) {         \
    int64_t mask = ((int64_t)1 << power) - 1;                                                      \
    for (int level = 1; level < LEVELS; level++) {                                                 \
      for (int k = 0; k < lanes; k++) {                                                            \
        acc[level][k] += acc[level - 1][k];                                                        \
        acc[level - 1][k] = 0;                                                                     \
      }                                                                                            \
      if (row & (mask << (level * power)))                                                         \
        return;                                                                                    \
    }                                                                                              \
  }                                                                                                \
  static void T##_cascade(const T *x, int64_t row_stride, int64_t stride, int64_t fold,            \
                          int64_t count, int lanes, T *out) {                                      \
    if (stride == 1 && !fold && T##_columns(x, row_stride, count, lanes, out))                     \
      return;                                                                                      \
    T acc[LEVELS][MAX_LANES] = {{0}};                                                              \
    int64_t power = block_power(count), step = (int64_t)1 << power;                                \
    for (int64_t i = 0; i < count;) {                                                              \
      int64_t end = i + step <= count ? i + step : count;                                          \
      bool full = end - i == step;                                                                 \
      for (; i < end; i++)                                                                         \
        for (int k = 0; k < lanes; k++) {                                                          \
          const T *at = x + i * row_stride + k * stride;                                           \
          acc[0][k] += fold ? at[0] + at[fold] : at[0];                                            \
        }                                                                                          \
      if (full)                                                                                    \
        T##_flush(acc, lanes, i, power);                                                           \
    }                                                                                              \
    for (int k = 0; k < lanes; k++) {                                                              \
      out[k] = acc[0][k];                                                                          \
      for (int level = 1; level < LEVELS; level++)                                                 \
        out[k] += acc[level][k];                                                                   \
    }                                                                                              \
  }                                                                                                \
  /* Sums four interleaved cascades of `width` lanes: the rest is added to the first. */           \
  static void T##_join(const T *x, int64_t row_stride, int64_t stride, int64_t fold,               \
                       int64_t count, int width, T *sums) {                                        \
    for (int64_t i = count - count % INTERLEAVE; i < count; i++)                                   \
      for (int l = 0; l < width; l++) {                                                            \
        const T *at = x + i * row_stride + l * stride;                                             \
        sums[l] += fold ? at[0] + at[fold] : at[0];                                                \
      }                                                                                            \
    for (int k = 1; k < INTERLEAVE; k++)                                                           \
      for (int l = 0; l < width; l++)                                                              \
        sums[l] += sums[k * width + l];                                                            \
  }                                                                                                \
  /* If their rows are neighbours they are one cascade, four times as wide. */                     \
  static void T##_interleaved(const T *x, int64_t row_stride, int64_t stride, int64_t fold,        \
                              int64_t count, int width, T *out) {                                  \
    T sums[MAX_LANES], part[MAX_LANES];                                                            \
    int64_t rows = count / INTERLEAVE;                                                             \
    bool is_one = stride == 1 && row_stride == width && !fold;                                     \
    if (is_one)                                                                                    \
      T##_cascade(x, INTERLEAVE *row_stride, 1, 0, rows, INTERLEAVE *width, sums);                 \
    for (int k = 0; !is_one && k < INTERLEAVE; k++) {                                              \
      T##_cascade(x + k * row_stride, INTERLEAVE * row_stride, stride, fold, rows, width, part);   \
      memcpy(sums + k * width, part, (size_t)width * sizeof *part);                                \
    }                                                                                              \
    T##_join(x, row_stride, stride, fold, count, width, sums);                                     \
    memcpy(out, sums, (size_t)width * sizeof *out);                                                \
  }                                                                                                \
  static T T##_row_end(const T *x, int64_t stride, int64_t first, int64_t count, int width,        \
                       const T *lanes) {                                                           \
    T sum = 0;                                                                                     \
    for (int64_t i = first; i < count; i++)                                                        \
      sum += x[i * stride];                                                                        \
    for (int l = 0; l < width; l++)                                                                \
      sum += lanes[l];                                                                             \
    return sum;                                                                                    \
  }                                                                                                \
  /* One row of neighbours: the scalar rest first, then the lanes in order. */                     \
  static T T##_row(const T *x, int64_t stride, int64_t count, int width, bool folds) {             \
    T lanes[MAX_LANES], sum;                                                                       \
    if (stride == 1 && !folds && T##_whole(x, count, width, &sum))                                 \
      return sum;                                                                                  \
    int64_t chunk = folds ? 2 * width : width, chunks = count / chunk;                             \
    T##_interleaved(x, chunk *stride, stride, folds ? width *stride : 0, chunks, width, lanes);    \
    return T##_row_end(x, stride, chunks * chunk, count, width, lanes);                            \
  }

CASCADE(float)
CASCADE(double)

/* --- Halves -------------------------------------------------------------------------------- */
/* A row of neighbours, each vector of 16 folded into one of 8 floats: what float_row() gives of the
 * row in floats. */
static float half_row(fnz_dtype dtype, const uint16_t *x, int64_t count) {
  int64_t chunks = count / (2 * WIDTH_F32), rows = chunks / INTERLEAVE;
  int64_t done = rows * INTERLEAVE, rest = chunks - done;
  const fnzi_fold_half half = dtype == FNZ_F16 ? FNZI_FOLD_F16 : FNZI_FOLD_BF16;
  const fnzi_folds *folds = fnzi_folds_best();
  float folded[FNZI_FOLD_FLOATS], sums[FNZI_FOLD_FLOATS], sum = 0;
  folds->fold_cascade[half](sums, x, rows, (int)block_power(rows));
  folds->fold[half](folded, x + done * 2 * WIDTH_F32, rest);
  float_join(folded, WIDTH_F32, 1, 0, rest, WIDTH_F32, sums);
  for (int64_t i = chunks * 2 * WIDTH_F32; i < count; i++)
    sum += dtype == FNZ_F16 ? fnzi_krn_from_f16(x[i]) : fnzi_krn_from_bf16(x[i]);
  for (int l = 0; l < WIDTH_F32; l++)
    sum += sums[l];
  return sum;
}

/* Neighbours alone, or an innermost dimension of them. */
#define SUM(T)                                                                                     \
  static T T##_sum(const T *x, int64_t count, int width) {                                         \
    T sum;                                                                                         \
    if (count >= width)                                                                            \
      return T##_row(x, 1, count, width, false);                                                   \
    T##_interleaved(x, 1, 0, 0, count, 1, &sum);                                                   \
    return sum;                                                                                    \
  }
SUM(float)
SUM(double)

double fnzi_cpu_reals_mean(const fnzi_cpu_reals *x, int64_t count) {
  if (x->d)
    return double_sum(x->d, count, 4) / (double)count;
  return (double)(float_sum(x->f, count, WIDTH_F32) / (float)count);
}

/* --- One long row on all threads ---------------------------------------------------------- */
/* Blocks of the third level start from nothing, so they can be added up one beside the other; that
 * they are is not seen in the result. */
typedef struct long_row {
  const float *x;
  int64_t block; /* rows of FNZI_ROW_COLUMNS */
  int power;
  fnzi_row_cascade *blocks;
} long_row;

static void add_block(const void *user, int64_t i, int lane) {
  const long_row *r = user;
  (void)lane;
  fnzi_rows_best()->cascade(&r->blocks[i], r->power, r->x + i * r->block * FNZI_ROW_COLUMNS,
                            FNZI_ROW_COLUMNS, 0, r->block);
}

static fnz_status sum_long(fnzi_krn_call *call, const float *x, int64_t count, float *out) {
  int64_t chunks = count / WIDTH_F32, rows = chunks / INTERLEAVE;
  long_row r = {.x = x, .power = (int)block_power(rows)};
  fnzi_row_cascade all = {{{0}}};
  float sums[MAX_LANES];
  r.block = (int64_t)1 << ((LEVELS - 1) * r.power);
  int64_t blocks = rows / r.block, done = blocks * r.block;
  FNZI_NEW(&call->scratch, blocks, &r.blocks);
  fnzi_cpu_rows_each(call, blocks, add_block, &r);
  for (int64_t i = 0; i < blocks; i++)
    for (int k = 0; k < FNZI_ROW_COLUMNS; k++)
      all.levels[LEVELS - 1][k] += r.blocks[i].levels[LEVELS - 1][k];
  fnzi_rows_best()->cascade(&all, r.power, x + done * FNZI_ROW_COLUMNS, FNZI_ROW_COLUMNS, done,
                            rows - done);
  levels_join(&all, sums);
  float_join(x, WIDTH_F32, 1, 0, chunks, WIDTH_F32, sums);
  *out = float_row_end(x, 1, chunks * WIDTH_F32, count, WIDTH_F32, sums);
  return FNZ_OK;
}

/* --- The walk ---------------------------------------------------------------------------- */
typedef struct dim {
  int64_t size, eager, in, out; /* strides: in order, in memory, of the result (0: summed up) */
} dim;

typedef struct plan {
  dim dims[FNZ_MAX_RANK + 1];
  uint32_t rank;
  int width;        /* lanes of a vector */
  bool folds;       /* two 16-bit vectors are added into one on loading */
  fnz_dtype rounds; /* the type in which a partial result is stored */
  bool eager;       /* of an eager array: the order is that of its memory */
  bool has_gaps;    /* dimensions that are one in order are not in memory */
} plan;

/* Summed dimensions run innermost, then by strides. */
static bool runs_outside(const dim *a, const dim *b) {
  if ((a->out == 0) != (b->out == 0))
    return b->out == 0;
  if (a->out && a->out != b->out)
    return a->out > b->out;
  if (a->eager == 0 || b->eager == 0)
    return false;
  return a->eager != b->eager ? a->eager > b->eager : a->size > b->size;
}

/* The decision which dimensions count as one fixes the order of adding up, so it depends on the
 * eager order only. */
static void join_dims(plan *p) {
  uint32_t kept = 0;
  for (uint32_t i = 1; i < p->rank; i++) {
    dim *inner = &p->dims[kept], *outer = &p->dims[i];
    bool apart = outer->in != inner->in * inner->size;
    bool joins = outer->eager == inner->eager * inner->size &&
                 outer->out == inner->out * inner->size && (outer->out == 0) == (inner->out == 0);
    if (!joins || (p->eager && apart)) {
      p->dims[++kept] = *outer;
      continue;
    }
    p->has_gaps = p->has_gaps || apart;
    inner->size *= outer->size;
  }
  p->rank = p->rank ? kept + 1 : 0;
}

/* Innermost dimension first, and that is one that is summed, of one element if need be. */
static void plan_dims(plan *p, const fnz_geometry *eager, const int64_t *in, const bool *reduced) {
  int64_t stride = 1, out[FNZ_MAX_RANK];
  for (uint32_t i = eager->rank; i-- > 0;) {
    out[i] = reduced[i] ? 0 : stride;
    stride *= reduced[i] ? 1 : eager->sizes[i];
  }
  for (uint32_t i = eager->rank; i-- > 0;)
    if (eager->sizes[i] != 1)
      p->dims[p->rank++] = (dim){eager->sizes[i], eager->strides[i], in[i], out[i]};
  for (uint32_t i = 1; i < p->rank; i++)
    for (uint32_t j = i; j > 0 && runs_outside(&p->dims[j - 1], &p->dims[j]); j--) {
      dim t = p->dims[j];
      p->dims[j] = p->dims[j - 1];
      p->dims[j - 1] = t;
    }
  if (p->rank && p->dims[0].out != 0) {
    memmove(&p->dims[1], &p->dims[0], p->rank++ * sizeof *p->dims);
    p->dims[0] = (dim){1, 0, 0, 0};
  }
  join_dims(p);
}

/* How the two innermost dimensions are summed: as eager chooses among its loops. */
typedef enum shape { ROWS, LANES_OF_COLUMNS, SCALAR_ROWS, SCALAR_COLUMNS } shape;

static shape sum_choose(const plan *p, const dim *a, const dim *b) {
  int64_t least = p->folds ? 2 * p->width : p->width;
  if (a->eager == 1 && a->size >= least)
    return ROWS;
  if (b->eager == 1 && b->size >= least)
    return LANES_OF_COLUMNS;
  return a->eager < b->eager ? SCALAR_ROWS : SCALAR_COLUMNS;
}

static float round_to(fnz_dtype half, float v) {
  return half == FNZ_F16 ? fnzi_krn_from_f16(fnzi_krn_to_f16(v))
                         : fnzi_krn_from_bf16(fnzi_krn_to_bf16(v));
}

#define PLANE(T)                                                                                   \
  static void T##_store(const plan *p, T *out, T sum) {                                            \
    *out += sum;                                                                                   \
    if (p->folds)                                                                                  \
      *out = (T)round_to(p->rounds, (float)*out);                                                  \
  }                                                                                                \
  static void T##_plane(const plan *p, const dim *a, const dim *b, const T *x, T *out) {           \
    shape s = sum_choose(p, a, b);                                                                 \
    int64_t group = s == LANES_OF_COLUMNS ? 4 * p->width : s == SCALAR_COLUMNS ? 4 : 0, j = 0;     \
    T sums[MAX_LANES];                                                                             \
    for (; group && j + group <= b->size; j += group) {                                            \
      T##_cascade(x + j * b->in, a->in, b->in, 0, a->size, (int)group, sums);                      \
      for (int64_t k = 0; k < group; k++)                                                          \
        T##_store(p, out + (j + k) * b->out, sums[k]);                                             \
    }                                                                                              \
    for (; j < b->size; j++) {                                                                     \
      if (s == ROWS)                                                                               \
        sums[0] = T##_row(x + j * b->in, a->in, a->size, p->width, p->folds);                      \
      else                                                                                         \
        T##_interleaved(x + j * b->in, a->in, 0, 0, a->size, 1, sums);                             \
      T##_store(p, out + j * b->out, sums[0]);                                                     \
    }                                                                                              \
  }                                                                                                \
  static void T##_walk(const plan *p, const T *x, T *out) {                                        \
    static const dim one = {1, 0, 0, 0};                                                           \
    const dim *a = p->rank > 0 ? &p->dims[0] : &one, *b = p->rank > 1 ? &p->dims[1] : &one;        \
    int64_t planes = 1;                                                                            \
    for (uint32_t i = 0; i < p->rank; i++)                                                         \
      planes *= i > 1 || p->dims[i].size == 0 ? p->dims[i].size : 1;                               \
    for (int64_t k = 0; k < planes; k++) {                                                         \
      const T *from = x;                                                                           \
      T *to = out;                                                                                 \
      int64_t rest = k;                                                                            \
      for (uint32_t i = 2; i < p->rank; rest /= p->dims[i++].size) {                               \
        from += rest % p->dims[i].size * p->dims[i].in;                                            \
        to += rest % p->dims[i].size * p->dims[i].out;                                             \
      }                                                                                            \
      T##_plane(p, a, b, from, to);                                                                \
    }                                                                                              \
  }

PLANE(float)
PLANE(double)

static void divide(fnz_dtype dtype, void *data, int64_t count, int64_t by) {
  for (int64_t i = 0; i < count; i++)
    if (dtype == FNZ_F64)
      ((double *)data)[i] /= (double)by;
    else
      ((float *)data)[i] /= (float)by;
}

void fnzi_cpu_sum_row(fnz_dtype dtype, bool is_mean, const void *x, int64_t length, void *out) {
  /* The sum of a plane begins with 0. */
  if (dtype == FNZ_F64)
    *(double *)out = 0 + double_sum(x, length, 4);
  else
    *(float *)out = 0 + float_sum(x, length, WIDTH_F32);
  if (is_mean)
    divide(dtype, out, 1, length);
}

/* --- Kernel ------------------------------------------------------------------------------ */
/* The elements that are summed, in the type that sums them: in place when they have it already and
 * lie there as they are summed. */
typedef struct addends {
  fnz_dtype dtype; /* FNZ_F32 or FNZ_F64 */
  const void *data;
  int64_t strides[FNZ_MAX_RANK];
} addends;

/* One plane of rows that lie side by side, as channels do that are last. */
static bool is_beside(const plan *p) {
  const dim *a = &p->dims[0], *b = &p->dims[1];
  return p->rank == 2 && p->width == WIDTH_F32 && !p->folds && a->in != 1 && b->in == 1 &&
         b->out != 0 && b->size >= FNZI_ROW_BESIDE && sum_choose(p, a, b) == ROWS;
}

/* A vector has neighbours in order. If they are apart, it takes a fifth of the time to bring them
 * together first. */
static bool lies_apart(const fnzi_krn_array *self, const fnz_geometry *order, const bool *reduced) {
  static const dim one = {1, 0, 0, 0};
  plan p = {.eager = self->eager, .width = self->window.dtype == FNZ_F64 ? 4 : WIDTH_F32};
  plan_dims(&p, order, self->window.strides, reduced);
  if (p.has_gaps || !p.rank)
    return p.has_gaps;
  return p.dims[0].in != 1 && !is_beside(&p) &&
         sum_choose(&p, &p.dims[0], p.rank > 1 ? &p.dims[1] : &one) == ROWS;
}

static fnz_status find_addends(fnzi_krn_call *call, const fnzi_krn_array *self,
                               const fnz_geometry *order, const bool *reduced, fnz_dtype out,
                               addends *x) {
  const fnz_geometry *g = &self->window;
  x->dtype = out == FNZ_F64 ? FNZ_F64 : FNZ_F32;
  if (g->dtype == x->dtype && !lies_apart(self, order, reduced)) {
    x->data = fnzi_krn_array_data(self);
    memcpy(x->strides, g->strides, g->rank * sizeof *x->strides);
    return FNZ_OK;
  }
  FNZ_TRY(fnzi_krn_dense_in_order(call, self, out, &x->data, x->strides));
  if (out == x->dtype)
    return FNZ_OK;
  int64_t count = fnzi_krn_array_numel(self);
  float *wide;
  FNZI_NEW(&call->scratch, count, &wide);
  fnzi_krn_convert(&(fnzi_krn_conversion){FNZ_F32, out, 4, (int64_t)fnzi_dtype(out)->bytes}, wide,
                   x->data, count);
  x->data = wide;
  return FNZ_OK;
}

static int64_t reduced_count(const fnzi_krn_array *self, const bool *reduced) {
  int64_t n = 1;
  for (uint32_t i = 0; i < self->window.rank; i++)
    n *= reduced[i] ? self->window.sizes[i] : 1;
  return n;
}

/* Real and imaginary parts, each by itself: a vector of reals holds half as many complex numbers. A
 * complex quotient by a real number is a product with its reciprocal. */
#define COMPLEX(T, lanes)                                                                          \
  static fnz_status T##_sum_complex(fnzi_krn_call *call, const bool *reduced, bool is_mean) {      \
    const fnzi_krn_array *self = fnzi_krn_call_input(call, 0);                                     \
    fnz_dtype dtype = call->outputs[0]->window.dtype;                                              \
    int64_t count = fnzi_krn_array_numel(call->outputs[0]), strides[FNZ_MAX_RANK];                 \
    int64_t ordered[FNZ_MAX_RANK];                                                                 \
    const fnz_geometry order = fnzi_krn_array_ordered(self, ordered);                              \
    const void *data;                                                                              \
    void *out;                                                                                     \
    T *sums;                                                                                       \
    plan p = {.width = lanes, .eager = self->eager};                                               \
    FNZ_TRY(fnzi_krn_dense_in_order(call, self, dtype, &data, strides));                           \
    FNZ_TRY(fnzi_krn_result_get_as(call, 0, dtype, &out));                                         \
    FNZI_NEW(&call->scratch, 2 * count, &sums);                                                    \
    for (uint32_t i = 0; i < self->window.rank; i++)                                               \
      strides[i] = fnzi_krn_stride_bytes(strides[i], 2);                                           \
    plan_dims(&p, &order, strides, reduced);                                                       \
    T##_walk(&p, data, sums);                                                                      \
    T##_walk(&p, (const T *)data + 1, sums + count);                                               \
    T factor = is_mean ? 1 / (T)reduced_count(self, reduced) : 1;                                  \
    for (int64_t i = 0; i < count; i++) {                                                          \
      ((T *)out)[2 * i] = sums[i] * factor;                                                        \
      ((T *)out)[2 * i + 1] = sums[count + i] * factor;                                            \
    }                                                                                              \
    return FNZ_OK;                                                                                 \
  }
COMPLEX(float, 4)
COMPLEX(double, 2)

/* --- Rows on all threads ----------------------------------------------------------------- */
typedef struct long_plane {
  const plan *p;
  const float *x;
  float *out;
} long_plane;

static void add_row(const void *user, int64_t j, int lane) {
  const long_plane *l = user;
  const dim *a = &l->p->dims[0], *b = &l->p->dims[1];
  (void)lane;
  float_store(l->p, l->out + j * b->out,
              float_row(l->x + j * b->in, a->in, a->size, l->p->width, l->p->folds));
}

/* The last rows are as many as the others, so some may have their sums already. */
static void sum_add_beside(const void *user, int64_t j, int lane) {
  const long_plane *l = user;
  const dim *a = &l->p->dims[0], *b = &l->p->dims[1];
  int64_t first = j * FNZI_ROW_BESIDE, at = fnzi_cpu_least(first, b->size - FNZI_ROW_BESIDE);
  float sums[FNZI_ROW_BESIDE];
  (void)lane;
  int power = (int)block_power(a->size / FNZI_ROW_COLUMNS);
  fnzi_rows_best()->totals(l->x + at, a->in, a->size, power, sums);
  for (int64_t k = first; k < at + FNZI_ROW_BESIDE; k++)
    float_store(l->p, l->out + k * b->out, sums[k - at]);
}

/* One plane of rows, each with a sum of its own. */
static bool is_of_rows(const plan *p) {
  return p->rank == 2 && p->dims[1].out != 0 && sum_choose(p, &p->dims[0], &p->dims[1]) == ROWS;
}

/* As float_walk() and float_plane(). */
static void half_walk(const plan *p, const uint16_t *x, float *out) {
  int64_t rows = 1;
  for (uint32_t i = 1; i < p->rank; i++)
    rows *= p->dims[i].size;
  for (int64_t row = 0; row < rows; row++) {
    const uint16_t *from = x;
    float *to = out;
    int64_t rest = row;
    for (uint32_t i = 1; i < p->rank; rest /= p->dims[i++].size) {
      from += rest % p->dims[i].size * p->dims[i].in;
      to += rest % p->dims[i].size * p->dims[i].out;
    }
    float_store(p, to, half_row(p->rounds, from, p->dims[0].size));
  }
}

/* Halves that lie in rows as they are summed; *done is false if they do not. */
static fnz_status sum_halves(fnzi_krn_call *call, const bool *reduced, bool *done) {
  static const dim one = {1, 0, 0, 0};
  const fnzi_krn_array *self = fnzi_krn_call_input(call, 0);
  int64_t ordered[FNZ_MAX_RANK];
  const fnz_geometry order = fnzi_krn_array_ordered(self, ordered);
  plan p = {.width = WIDTH_F32,
            .folds = true,
            .rounds = call->outputs[0]->window.dtype,
            .eager = self->eager};
  void *out;
  plan_dims(&p, &order, self->window.strides, reduced);
  *done = self->window.dtype == p.rounds && p.rank && !p.has_gaps && p.dims[0].in == 1 &&
          sum_choose(&p, &p.dims[0], p.rank > 1 ? &p.dims[1] : &one) == ROWS;
  if (!*done)
    return FNZ_OK;
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, FNZ_F32, &out));
  memset(out, 0, (size_t)fnzi_krn_array_numel(call->outputs[0]) * sizeof(float));
  half_walk(&p, (const void *)fnzi_krn_array_data(self), out);
  return FNZ_OK;
}

/* Rows in order that are not so in memory: on one thread each is summed while it is in the caches,
 * where it was brought. */
typedef struct brought_rows {
  fnz_dtype dtype;
  bool is_mean;
  int64_t length;
  char *out;
} brought_rows;

static void sum_brought(const void *user, int64_t row, const void *data) {
  const brought_rows *r = user;
  fnzi_cpu_sum_row(r->dtype, r->is_mean, data, r->length,
                   r->out + row * (int64_t)fnzi_dtype(r->dtype)->bytes);
}

static bool are_brought(const fnzi_krn_call *call, const bool *reduced) {
  const fnzi_krn_array *self = fnzi_krn_call_input(call, 0);
  int64_t ordered[FNZ_MAX_RANK];
  const fnz_geometry order = fnzi_krn_array_ordered(self, ordered);
  bool is_last = true;
  for (uint32_t i = 1; i < order.rank; i++)
    is_last = is_last && reduced[i - 1] <= reduced[i];
  fnz_dtype dtype = fnzi_cpu_real_dtype(call->outputs[0]->window.dtype);
  return is_last && fnzi_krn_array_numel(self) > 0 && self->window.dtype == dtype &&
         call->outputs[0]->window.dtype == dtype && !self->eager && fnzi_cpu_lanes(call) == 1 &&
         fnzi_is_contiguous(&order) && lies_apart(self, &order, reduced);
}

static fnz_status sum_brought_rows(fnzi_krn_call *call, const bool *reduced, bool is_mean) {
  const fnzi_krn_array *self = fnzi_krn_call_input(call, 0);
  brought_rows r = {self->window.dtype, is_mean, reduced_count(self, reduced), NULL};
  void *out;
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, r.dtype, &out));
  r.out = out;
  return fnzi_cpu_rows_visit(call, reduced, r.dtype, sum_brought, &r);
}

static fnz_status sum_floats(fnzi_krn_call *call, const bool *reduced, bool is_mean) {
  const fnzi_krn_array *self = fnzi_krn_call_input(call, 0);
  fnz_dtype out_dtype = call->outputs[0]->window.dtype;
  bool is_half = out_dtype == FNZ_F16 || out_dtype == FNZ_BF16;
  int64_t count = fnzi_krn_array_numel(call->outputs[0]), ordered[FNZ_MAX_RANK];
  const fnz_geometry order = fnzi_krn_array_ordered(self, ordered);
  fnz_dtype summed = is_half && is_mean ? FNZ_F32 : out_dtype;
  addends x;
  void *out;
  FNZ_TRY(find_addends(call, self, &order, reduced, summed, &x));
  plan p = {.width = x.dtype == FNZ_F64 ? 4 : 8,
            .folds = is_half && !is_mean,
            .rounds = out_dtype,
            .eager = self->eager};
  plan_dims(&p, &order, x.strides, reduced);
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, x.dtype, &out));
  memset(out, 0, (size_t)count * fnzi_dtype(x.dtype)->bytes);
  bool is_one = p.rank == 1 && p.dims[0].in == 1 && p.dims[0].eager == 1 && !p.folds;
  if (x.dtype == FNZ_F64)
    double_walk(&p, x.data, out);
  else if (is_one && p.dims[0].size >= LONG_ROW)
    FNZ_TRY(sum_long(call, x.data, p.dims[0].size, out));
  else if (is_beside(&p))
    fnzi_cpu_rows_spread(call, fnzi_cpu_parts(p.dims[1].size, FNZI_ROW_BESIDE),
                         FNZI_ROW_BESIDE * p.dims[0].size, sum_add_beside,
                         &(long_plane){&p, x.data, out});
  else if (is_of_rows(&p))
    fnzi_cpu_rows_spread(call, p.dims[1].size, p.dims[0].size, add_row,
                         &(long_plane){&p, x.data, out});
  else
    float_walk(&p, x.data, out);
  if (is_mean)
    divide(x.dtype, out, count, reduced_count(self, reduced));
  return FNZ_OK;
}

static fnz_status sum_as_they_lie(fnzi_krn_call *call, const bool *reduced, bool is_mean) {
  fnz_dtype dtype = call->outputs[0]->window.dtype;
  bool done = false;
  if (are_brought(call, reduced))
    return sum_brought_rows(call, reduced, is_mean);
  if ((dtype == FNZ_F16 || dtype == FNZ_BF16) && !is_mean)
    FNZ_TRY(sum_halves(call, reduced, &done));
  return done ? FNZ_OK : sum_floats(call, reduced, is_mean);
}

fnz_status fnzi_kernel_sum(fnzi_krn_call *call) {
  fnz_dtype dtype = call->outputs[0]->window.dtype;
  bool reduced[FNZ_MAX_RANK], is_mean = call->row->mode == FNZI_MODE_mean;
  if (!is_mean)
    FNZ_TRY(fnzi_krn_round_input(call));
  FNZ_TRY(fnzi_meta_reduced_dims(call, reduced));
  if (fnzi_krn_array_numel(call->outputs[0]) == 0)
    return FNZ_OK;
  if (fnzi_is_complex(dtype))
    return (dtype == FNZ_C64 ? float_sum_complex : double_sum_complex)(call, reduced, is_mean);
  if (fnzi_is_float(dtype))
    return sum_as_they_lie(call, reduced, is_mean);
  return fnzi_cpu_reduce_by(call, dtype == FNZ_BOOL ? FNZI_MODE_any : FNZI_MODE_sum);
}

fnz_status fnzi_cpu_mean(fnzi_krn_call *call, const bool *reduced) {
  return sum_as_they_lie(call, reduced, true);
}
