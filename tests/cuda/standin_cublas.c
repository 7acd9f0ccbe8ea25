/* standin_cublas.c - a libcublasLt.so.13 that computes on the host. It is stricter than the real
 * one: descriptors are looked at against each other and against the memory of the stand-in for the
 * driver (types, sizes, leading dimensions, batches, alignment, scratch memory).
 *
 * STANDIN_CUBLAS in the environment makes it fail: "create", "first" (the first time alone that it
 * is created), "memory", "choose" (not supported), "bias" (not with an epilogue), "none" (no
 * algorithm), "run". */
#include "kernels/core/half.h"
#include "tests/cuda/standin_library.h"

#include <stdlib.h>
#include <string.h>

enum {
  SUCCESS,
  NOT_INITIALIZED,
  ALLOC_FAILED = 3,
  INVALID_VALUE = 7,
  EXECUTION_FAILED = 13,
  NOT_SUPPORTED = 15
};
enum { R_32F = 0, R_64F = 1, R_16F = 2, R_16BF = 14 };
enum { MAGIC = 0x5eed, SCRATCH = 512 };

typedef struct layout {
  int type;
  uint64_t rows, cols;
  int64_t lead, offset;
  int32_t count;
} layout;

typedef struct product {
  int compute, scale;
  int32_t turns_a, turns_b, epilogue, bias_type;
  uint64_t bias;
} product;

typedef struct preference {
  uint64_t scratch;
  uint32_t reductions, align[4];
} preference;

typedef struct choice {
  uint64_t algorithm[8];
  size_t scratch;
  int state;
  float waves;
  int reserved[4];
} choice;

typedef struct call {
  product product;
  layout a, b, c, d;
  double alpha, beta;
  uint64_t at_a, at_b, at_c, at_d, scratch;
} call;

static standin_library_counts counts;

void standin_cublas_counts(standin_library_counts *out);
void standin_cublas_counts(standin_library_counts *out) {
  *out = counts;
}

static bool fails(const char *how) {
  const char *text = getenv("STANDIN_CUBLAS");
  return text && strcmp(text, how) == 0;
}

static int make(void **out, const void *what, size_t bytes) {
  *out = malloc(bytes);
  if (!*out)
    return ALLOC_FAILED;
  memcpy(*out, what, bytes);
  counts.held++;
  return SUCCESS;
}

static int end(void *what) {
  free(what);
  counts.held--;
  return what ? SUCCESS : INVALID_VALUE;
}

static int refuse(void) {
  counts.refused++;
  return INVALID_VALUE;
}

int cublasLtCreate(void **out);
int cublasLtCreate(void **out) {
  static bool was_first;
  if (fails("create") || fails("memory") || (fails("first") && !was_first)) {
    was_first = fails("first");
    return fails("memory") ? ALLOC_FAILED : NOT_INITIALIZED;
  }
  counts.opened++;
  return make(out, "handle", 7);
}

int cublasLtDestroy(void *handle);
int cublasLtDestroy(void *handle) {
  return end(handle);
}

/* --- Descriptors ------------------------------------------------------------------------------ */
static int set(void *field, size_t size, const void *value, size_t bytes) {
  if (size != bytes)
    return refuse();
  memcpy(field, value, bytes);
  return SUCCESS;
}

int cublasLtMatmulDescCreate(void **out, int compute, int scale);
int cublasLtMatmulDescCreate(void **out, int compute, int scale) {
  const product p = {.compute = compute, .scale = scale, .epilogue = 1, .bias_type = -1};
  return make(out, &p, sizeof p);
}

int cublasLtMatmulDescDestroy(void *p);
int cublasLtMatmulDescDestroy(void *p) {
  return end(p);
}

int cublasLtMatmulDescSetAttribute(void *of, int attribute, const void *value, size_t bytes);
int cublasLtMatmulDescSetAttribute(void *of, int attribute, const void *value, size_t bytes) {
  product *p = of;
  switch (attribute) {
  case 3:
    return set(&p->turns_a, sizeof p->turns_a, value, bytes);
  case 4:
    return set(&p->turns_b, sizeof p->turns_b, value, bytes);
  case 7:
    return set(&p->epilogue, sizeof p->epilogue, value, bytes);
  case 8:
    return set(&p->bias, sizeof p->bias, value, bytes);
  case 26:
    return set(&p->bias_type, sizeof p->bias_type, value, bytes);
  default:
    return refuse();
  }
}

int cublasLtMatrixLayoutCreate(void **out, int type, uint64_t rows, uint64_t cols, int64_t lead);
int cublasLtMatrixLayoutCreate(void **out, int type, uint64_t rows, uint64_t cols, int64_t lead) {
  const layout l = {.type = type, .rows = rows, .cols = cols, .lead = lead, .count = 1};
  if (rows == 0 || cols == 0 || lead < (int64_t)rows)
    return refuse();
  return make(out, &l, sizeof l);
}

int cublasLtMatrixLayoutDestroy(void *l);
int cublasLtMatrixLayoutDestroy(void *l) {
  return end(l);
}

int cublasLtMatrixLayoutSetAttribute(void *of, int attribute, const void *value, size_t bytes);
int cublasLtMatrixLayoutSetAttribute(void *of, int attribute, const void *value, size_t bytes) {
  layout *l = of;
  return attribute == 5   ? set(&l->count, sizeof l->count, value, bytes)
         : attribute == 6 ? set(&l->offset, sizeof l->offset, value, bytes)
                          : INVALID_VALUE;
}

int cublasLtMatmulPreferenceCreate(void **out);
int cublasLtMatmulPreferenceCreate(void **out) {
  const preference w = {.reductions = 7, .align = {256, 256, 256, 256}};
  return make(out, &w, sizeof w);
}

int cublasLtMatmulPreferenceDestroy(void *w);
int cublasLtMatmulPreferenceDestroy(void *w) {
  return end(w);
}

int cublasLtMatmulPreferenceSetAttribute(void *of, int attribute, const void *value, size_t bytes);
int cublasLtMatmulPreferenceSetAttribute(void *of, int attribute, const void *value, size_t bytes) {
  preference *w = of;
  if (attribute == 1)
    return set(&w->scratch, sizeof w->scratch, value, bytes);
  if (attribute == 3)
    return set(&w->reductions, sizeof w->reductions, value, bytes);
  return attribute >= 5 && attribute <= 8
             ? set(&w->align[attribute - 5], sizeof *w->align, value, bytes)
             : INVALID_VALUE;
}

/* --- Requests --------------------------------------------------------------------------------- */
static size_t cell_of(int type) {
  return type == R_64F ? 8 : type == R_32F ? 4 : 2;
}

/* Sums of IEEE operations: pedantic for f32 and f64. */
static bool computes_right(const product *p, int type) {
  return type == R_64F ? p->compute == 71 && p->scale == R_64F
                       : p->compute == (type == R_32F ? 69 : 68) && p->scale == R_32F;
}

static bool fits(const product *p, const layout *a, const layout *b, const layout *c,
                 const layout *d) {
  uint64_t m = p->turns_a ? a->cols : a->rows, k = p->turns_a ? a->rows : a->cols;
  uint64_t n = p->turns_b ? b->rows : b->cols, depth = p->turns_b ? b->cols : b->rows;
  bool types = a->type == b->type && a->type == c->type && a->type == d->type;
  bool sizes = k == depth && d->rows == m && d->cols == n && c->rows == m && c->cols == n;
  bool batches = a->count == b->count && a->count == c->count && a->count == d->count &&
                 (d->count == 1 || d->offset != 0);
  bool bias = p->epilogue == 1 || (p->epilogue == 4 && p->bias_type == d->type &&
                                   d->type != R_64F && p->bias && p->bias % 16 == 0);
  return types && sizes && batches && bias && computes_right(p, d->type);
}

int cublasLtMatmulAlgoGetHeuristic(void *handle, void *p, void *a, void *b, void *c, void *d,
                                   void *preferred, int wanted, void *out, int *count);
int cublasLtMatmulAlgoGetHeuristic(void *handle, void *p, void *a, void *b, void *c, void *d,
                                   void *preferred, int wanted, void *out, int *count) {
  const preference *w = preferred;
  const layout *left = a;
  *count = 0;
  counts.asked++;
  if (fails("choose") || (fails("bias") && ((const product *)p)->epilogue != 1))
    return NOT_SUPPORTED;
  if (!handle || wanted < 1 || !fits(p, a, b, c, d) || w->reductions != 2)
    return refuse();
  if (fails("none"))
    return SUCCESS;
  choice found = {.algorithm = {MAGIC}, .scratch = left->cols > 8 ? SCRATCH : 0};
  if (found.scratch > w->scratch)
    found.scratch = 0;
  for (int i = 0; i < 4; i++)
    found.algorithm[1 + i] = w->align[i];
  memcpy(out, &found, sizeof found);
  *count = 1;
  return SUCCESS;
}

/* --- Computing -------------------------------------------------------------------------------- */
static double value(int type, const void *at, uint64_t i) {
  return type == R_64F   ? ((const double *)at)[i]
         : type == R_32F ? (double)((const float *)at)[i]
         : type == R_16F ? (double)fnzi_krn_from_f16(((const uint16_t *)at)[i])
                         : (double)fnzi_krn_from_bf16(((const uint16_t *)at)[i]);
}

static void put(int type, void *at, uint64_t i, double v) {
  if (type == R_64F)
    ((double *)at)[i] = v;
  else if (type == R_32F)
    ((float *)at)[i] = (float)v;
  else
    ((uint16_t *)at)[i] = type == R_16F ? fnzi_krn_to_f16((float)v) : fnzi_krn_to_bf16((float)v);
}

/* All of a matrix as doubles, line by line: gaps between lines are not read. NULL: wrong. */
static double *read_matrix(const layout *l, uint64_t at, int index) {
  size_t cell = cell_of(l->type);
  double *out = malloc(l->rows * l->cols * sizeof *out);
  for (uint64_t j = 0; out && j < l->cols; j++) {
    uint64_t line = (uint64_t)(index * l->offset) + j * (uint64_t)l->lead;
    const void *data = standin_bytes(at + line * cell, l->rows * cell, false, "a product");
    for (uint64_t i = 0; data && i < l->rows; i++)
      out[j * l->rows + i] = value(l->type, data, i);
    if (!data) {
      free(out);
      return NULL;
    }
  }
  return out;
}

static void write_matrix(const call *c, int index, const double *sums, const double *added,
                         const void *bias) {
  const layout *d = &c->d;
  size_t cell = cell_of(d->type);
  for (uint64_t j = 0; j < d->cols; j++) {
    uint64_t line = (uint64_t)(index * d->offset) + j * (uint64_t)d->lead;
    void *to = standin_bytes(c->at_d + line * cell, d->rows * cell, true, "a product");
    for (uint64_t i = 0; to && i < d->rows; i++) {
      double v = c->alpha * sums[j * d->rows + i];
      if (c->beta != 0)
        v += c->beta * added[j * d->rows + i];
      if (bias)
        v += value(d->type, bias, i);
      put(d->type, to, i, v);
    }
  }
}

static void multiply(const call *c, const double *a, const double *b, double *sums) {
  uint64_t m = c->d.rows, n = c->d.cols;
  uint64_t k = c->product.turns_a ? c->a.rows : c->a.cols;
  uint64_t row = c->product.turns_a ? c->a.rows : 1, deep_a = c->product.turns_a ? 1 : c->a.rows;
  uint64_t col = c->product.turns_b ? 1 : c->b.rows, deep_b = c->product.turns_b ? c->b.rows : 1;
  for (uint64_t j = 0; j < n; j++)
    for (uint64_t i = 0; i < m; i++) {
      double sum = 0;
      for (uint64_t x = 0; x < k; x++)
        sum += a[i * row + x * deep_a] * b[j * col + x * deep_b];
      sums[j * m + i] = sum;
    }
}

static void run_one(const call *c, int index) {
  double *a = read_matrix(&c->a, c->at_a, index), *b = read_matrix(&c->b, c->at_b, index),
         *added = c->beta != 0 ? read_matrix(&c->c, c->at_c, index) : NULL,
         *sums = malloc(c->d.rows * c->d.cols * sizeof *sums);
  const void *bias = NULL;
  if (c->product.epilogue == 4)
    bias = standin_bytes(c->product.bias, c->d.rows * cell_of(c->d.type), false, "a bias");
  if (a && b && sums && (added || c->beta == 0) && (bias || c->product.epilogue == 1)) {
    multiply(c, a, b, sums);
    write_matrix(c, index, sums, added, bias);
  }
  free(a);
  free(b);
  free(added);
  free(sums);
}

static void run(const void *what) {
  const call *c = what;
  if (c->scratch)
    memset(standin_bytes(c->scratch, SCRATCH, true, "a product's scratch"), 0xee, SCRATCH);
  for (int index = 0; index < c->d.count; index++)
    run_one(c, index);
  counts.runs++;
}

static double scalar(int type, const void *at) {
  return type == R_64F ? *(const double *)at : (double)*(const float *)at;
}

int cublasLtMatmul(void *handle, void *p, const void *alpha, uint64_t a, void *a_layout, uint64_t b,
                   void *b_layout, const void *beta, uint64_t c, void *c_layout, uint64_t d,
                   void *d_layout, const uint64_t *algorithm, uint64_t scratch,
                   size_t scratch_bytes, void *stream);
int cublasLtMatmul(void *handle, void *p, const void *alpha, uint64_t a, void *a_layout, uint64_t b,
                   void *b_layout, const void *beta, uint64_t c, void *c_layout, uint64_t d,
                   void *d_layout, const uint64_t *algorithm, uint64_t scratch,
                   size_t scratch_bytes, void *stream) {
  call made;
  memset(&made, 0, sizeof made);
  memcpy(&made.product, p, sizeof made.product);
  memcpy(&made.a, a_layout, sizeof made.a);
  memcpy(&made.b, b_layout, sizeof made.b);
  memcpy(&made.c, c_layout, sizeof made.c);
  memcpy(&made.d, d_layout, sizeof made.d);
  made.alpha = scalar(made.product.scale, alpha);
  made.beta = scalar(made.product.scale, beta);
  made.at_a = a, made.at_b = b, made.at_c = c, made.at_d = d;
  made.scratch = scratch_bytes ? scratch : 0;
  const uint64_t at[] = {a, b, c, d};
  if (!handle || algorithm[0] != MAGIC || !fits(&made.product, &made.a, &made.b, &made.c, &made.d))
    return refuse();
  for (int i = 0; i < 4; i++)
    if (algorithm[1 + i] == 0 || at[i] % algorithm[1 + i] != 0) {
      standin_refuse("a product", "has a matrix that is not aligned as was said");
      return INVALID_VALUE;
    }
  if (fails("run"))
    return EXECUTION_FAILED;
  if (scratch_bytes != (made.a.cols > 8 ? SCRATCH : 0) || (scratch_bytes && scratch % 256 != 0))
    return refuse();
  return standin_work(stream, run, &made, sizeof made) ? EXECUTION_FAILED : SUCCESS;
}
