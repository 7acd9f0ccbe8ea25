/* matmul_bytes.c - products of bytes, summed in 32 bits.
 *
 * By oneDNN, four times as fast as products of f32, on processors that have instructions for them
 * (VNNI of AVX-512). On others it adds pairs in 16 bits, which can saturate. There they are
 * products of f32 that are short enough to be exact. */
#include "kernels/cpu/matmul.h"
#include "kernels/cpu/onednn_guard.h"
#include "kernels/cpu/sizes.h"
#include "kernels/cpu/special_reals.h"

enum { LEAST_PART = 256 }; /* rows or columns of the result: fewer do not fill oneDNN's tiles */

typedef struct bytes_product {
  int64_t m, n, k;
  bool is_signed, is_transposed; /* the first factor's bytes; the second one lies by columns */
  const uint8_t *a;
  const int8_t *b;
  int64_t b_step; /* from row to row of b, or from column to column */
  int32_t *c;
  bool by_rows; /* parts are rows of the result, else columns */
  int *status;  /* of each thread */
} bytes_product;

static bool has_instructions(void) {
  enum { VNNI = 0x40 }; /* what avx512_core_vnni has beside avx512_core */
  return ((unsigned)dnnl_get_effective_cpu_isa() & VNNI) != 0;
}

/* A part of it: c is the first element, rows of it are p->n apart. */
typedef struct bytes_part {
  const bytes_product *p;
  int64_t first, count;
} bytes_part;

static dnnl_status_t multiply(void *user) {
  const bytes_part *part = user;
  const bytes_product *p = part->p;
  const int32_t none = 0;
  int64_t m = p->by_rows ? part->count : p->m, n = p->by_rows ? p->n : part->count;
  const uint8_t *a = p->a + (p->by_rows ? part->first * p->k : 0);
  const int8_t *b = p->b + (p->by_rows ? 0 : part->first * (p->is_transposed ? p->b_step : 1));
  int32_t *c = p->c + part->first * (p->by_rows ? p->n : 1);
  char order = p->is_transposed ? 'T' : 'N';
  if (p->is_signed)
    return dnnl_gemm_s8s8s32('N', order, 'F', m, n, p->k, 1, (const int8_t *)a, p->k, 0, b,
                             p->b_step, 0, 0, c, p->n, &none);
  return dnnl_gemm_u8s8s32('N', order, 'F', m, n, p->k, 1, a, p->k, 0, b, p->b_step, 0, 0, c, p->n,
                           &none);
}

static void run_part(const void *user, int64_t at, int lane) {
  const bytes_product *p = user;
  int64_t first = at * LEAST_PART;
  bytes_part part = {p, first, fnzi_cpu_least((p->by_rows ? p->m : p->n) - first, LEAST_PART)};
  int status = (int)fnzi_cpu_onednn_guard(multiply, &part);
  if (status)
    p->status[lane] = status;
}

/* The second factor as it lies, if oneDNN takes it so, else row-major in scratch memory. */
static fnz_status open_second(fnzi_krn_call *call, const fnzi_krn_array *b, bytes_product *p) {
  const fnz_geometry *g = &b->window;
  const void *data = fnzi_krn_array_data(b);
  int64_t row = g->strides[0], col = g->strides[1];
  bool fits = fnzi_cpu_matrix_fits(p->k, p->n, row, col);
  p->is_transposed = fits && !(col == 1 && row >= p->n);
  p->b_step = !fits ? p->n : p->is_transposed ? col : row;
  if (!fits)
    FNZ_TRY(fnzi_krn_dense_get(call, b, &data));
  p->b = data;
  return FNZ_OK;
}

static fnz_status by_onednn(fnzi_krn_call *call, const fnzi_krn_array *a, bytes_product *p) {
  size_t lanes = (size_t)fnzi_cpu_lanes(call);
  const void *first;
  FNZ_TRY(fnzi_krn_dense_get(call, a, &first));
  FNZI_NEW(&call->scratch, lanes, &p->status);
  p->a = first, p->is_signed = a->window.dtype == FNZ_I8, p->by_rows = p->m > p->n;
  int64_t parts = fnzi_cpu_parts(p->by_rows ? p->m : p->n, LEAST_PART);
  fnzi_cpu_rows_spread(call, parts, p->m * p->n / parts * p->k, run_part, p);
  for (size_t i = 0; i < lanes; i++)
    if (p->status[i])
      return p->status[i] == dnnl_out_of_memory
                 ? fnzi_no_memory(call->ctx)
                 : fnzi_fail(call->ctx, FNZ_CLASS_INTERNAL, NULL,
                             "oneDNN failed with status %d in a product of bytes", p->status[i]);
  return FNZ_OK;
}

/* --- By floats ------------------------------------------------------------------------------- */
enum { EXACT_DEPTH = 512 }; /* sums of so many products of bytes have 24 bits */

/* The second factor as it lies, where a product reads bytes, else as floats. */
static fnz_status open_floats(fnzi_krn_call *call, const fnzi_krn_array *b, const bytes_product *p,
                              fnzi_cpu_product *one) {
  one->b = (fnzi_cpu_matrix){p->b, p->is_transposed ? 1 : p->b_step,
                             p->is_transposed ? p->b_step : 1, FNZI_ROW_I8};
  one->order = fnzi_cpu_product_order(one, &one->a, &one->b);
  if (one->order == FNZI_ORDER_PANELS ||
      (one->order != FNZI_ORDER_LIBRARY && !fnzi_cpu_product_is_transposed(one)))
    return FNZ_OK;
  one->b = (fnzi_cpu_matrix){.row = p->n, .col = 1, .kind = FNZI_ROW_F32};
  one->order = fnzi_cpu_product_order(one, &one->a, &one->b);
  return fnzi_krn_dense_get_as(call, b, FNZ_F32, &one->b.data);
}

static fnz_status by_floats(fnzi_krn_call *call, const fnzi_krn_array *a, const fnzi_krn_array *b,
                            const bytes_product *p) {
  const int64_t count = p->m * p->n, depth = fnzi_cpu_least(p->k, EXACT_DEPTH);
  fnzi_cpu_product one = {
      .dtype = FNZ_F32, .m = p->m, .n = p->n, .k = depth, .c_row = p->n, .alpha = 1};
  void *sums;
  one.a = (fnzi_cpu_matrix){.row = p->k, .col = 1, .kind = FNZI_ROW_F32};
  FNZ_TRY(fnzi_krn_dense_get_as(call, a, FNZ_F32, &one.a.data));
  FNZ_TRY(open_floats(call, b, p, &one));
  FNZ_TRY(fnzi_krn_scratch_take(call, count, sizeof(float), &sums));
  FNZ_TRY(fnzi_cpu_product_scratch(call, &one));
  const float *part = one.c = sums;
  const size_t b_step = (size_t)one.b.row * (one.b.kind == FNZI_ROW_I8 ? 1 : sizeof(float));
  memset(p->c, 0, (size_t)count * sizeof *p->c);
  for (int64_t first = 0; first < p->k; first += depth) {
    one.k = fnzi_cpu_least(p->k - first, depth);
    fnzi_cpu_product_run_tiled(&one, call->team);
    for (int64_t i = 0; i < count; i++)
      p->c[i] = (int32_t)((uint32_t)p->c[i] + (uint32_t)(int32_t)part[i]);
    one.a.data = (const float *)one.a.data + depth;
    one.b.data = (const char *)one.b.data + (size_t)depth * b_step;
  }
  return FNZ_OK;
}

fnz_status fnzi_cpu_matmul_bytes(fnzi_krn_call *call, const fnzi_krn_array *a,
                                 const fnzi_krn_array *b, bool *done) {
  bytes_product p = {.m = a->geometry.sizes[0], .n = b->geometry.sizes[1]};
  void *out;
  p.k = a->geometry.sizes[1];
  *done = p.m && p.n && p.k;
  if (!*done)
    return FNZ_OK;
  FNZ_TRY(open_second(call, b, &p));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, FNZ_I32, &out));
  p.c = out;
  return has_instructions() ? by_onednn(call, a, &p) : by_floats(call, a, b, &p);
}
