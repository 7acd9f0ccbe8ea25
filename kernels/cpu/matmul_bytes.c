/* matmul_bytes.c - products of bytes, summed in 32 bits, by oneDNN: four times as fast as products
 * of f32. They are oneDNN's only on processors that have instructions for them (VNNI). On others it
 * adds pairs in 16 bits, which can saturate. */
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
  const fnz_geometry *g = &b->place;
  const void *data = fnzi_krn_array_data(b);
  int64_t row = g->strides[0], col = g->strides[1];
  bool fits = fnzi_cpu_matrix_fits(p->k, p->n, row, col);
  p->is_transposed = fits && col != 1;
  p->b_step = !fits ? p->n : p->is_transposed ? col : row;
  if (!fits)
    FNZ_TRY(fnzi_krn_dense_get(call, b, &data));
  p->b = data;
  return FNZ_OK;
}

fnz_status fnzi_cpu_matmul_bytes(fnzi_krn_call *call, const fnzi_krn_array *a,
                                 const fnzi_krn_array *b, bool *done) {
  bytes_product p = {.m = a->geometry.sizes[0], .n = b->geometry.sizes[1]};
  const void *first;
  void *out;
  size_t lanes = (size_t)fnzi_cpu_lanes(call);
  p.k = a->geometry.sizes[1];
  *done = p.m && p.n && p.k && has_instructions();
  if (!*done)
    return FNZ_OK;
  p.is_signed = a->place.dtype == FNZ_I8;
  p.by_rows = p.m > p.n;
  FNZ_TRY(fnzi_krn_dense_get(call, a, &first));
  FNZ_TRY(open_second(call, b, &p));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, FNZ_I32, &out));
  FNZI_NEW(&call->scratch, lanes, &p.status);
  p.a = first, p.c = out;
  int64_t parts = fnzi_cpu_parts(p.by_rows ? p.m : p.n, LEAST_PART);
  fnzi_cpu_rows_spread(call, parts, p.m * p.n / parts * p.k, run_part, &p);
  for (size_t i = 0; i < lanes; i++)
    if (p.status[i])
      return p.status[i] == dnnl_out_of_memory
                 ? fnzi_no_memory(call->ctx)
                 : fnzi_fail(call->ctx, FNZ_CLASS_INTERNAL, NULL,
                             "oneDNN failed with status %d in a product of bytes", p.status[i]);
  return FNZ_OK;
}
