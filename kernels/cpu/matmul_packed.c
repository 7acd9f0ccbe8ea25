/* matmul_packed.c - second factors as panels, kept by the backend: weights of a program that runs
 * again are packed once, for all sizes of the other factor. Without memory for it a weight is
 * packed panel by panel in each run, as weights are that are too large. */
#include "kernels/cpu/matmul.h"
#include "kernels/cpu/special_reals.h"

enum { MOST_PACKED = 1 << 22 /* elements of a packed weight */ };

typedef struct packed {
  struct packed *next;
  const void *data;
  int64_t rows, columns, row, column; /* of the factor, and its strides */
  size_t bytes;                       /* of this and of the panels behind it */
} packed;

static void packed_end(fnz_context *ctx, void *data) {
  for (packed *p = data, *next; p; p = next) {
    next = p->next;
    fnzi_free(ctx, p, p->bytes);
  }
}

/* A call keeps panels that the backend owns. */
static void forget(fnz_context *ctx, void *data) {
  (void)ctx, (void)data;
}

/* Finds the panels of the second factor, or makes them; NULL: there is no memory. */
static float *find_panels(const fnzi_krn_call *call, const fnzi_cpu_product *p) {
  fnzi_krn_stock *stock = call->stock;
  for (packed *k = stock->packed.data; k; k = k->next)
    if (k->data == p->b.data && k->rows == p->k && k->columns == p->n && k->row == p->b.row &&
        k->column == p->b.col)
      return (float *)(void *)fnzi_krn_aligned(k + 1);
  const size_t cells = (size_t)fnzi_row_panels_packed(p->k, p->n);
  const size_t bytes = cells * sizeof(float) + sizeof(packed) + FNZI_KRN_ALIGNMENT;
  packed *made = fnzi_resize(call->ctx, NULL, 0, bytes);
  if (!made)
    return NULL;
  *made = (packed){stock->packed.data, p->b.data, p->k, p->n, p->b.row, p->b.col, bytes};
  float *panels = (float *)(void *)fnzi_krn_aligned(made + 1);
  fnzi_cpu_product_pack(p, panels);
  stock->packed = (fnzi_krn_kept){made, packed_end};
  stock->packed_bytes += bytes;
  return panels;
}

/* Few columns would be many more, because panels are filled up. */
static bool is_worth(const fnzi_cpu_product *p) {
  if (p->n == 0 || p->k == 0 || p->k > MOST_PACKED / p->n)
    return false;
  const int64_t cells = fnzi_row_panels_packed(p->k, p->n);
  return cells <= MOST_PACKED && cells <= 2 * p->k * p->n;
}

void fnzi_cpu_product_use_packed(const fnzi_krn_call *call, const fnzi_krn_array *weight,
                                 fnzi_cpu_product *p) {
  bool lasts = false;
  for (uint32_t i = 0; call->own && i < call->op->nparams && i < 32; i++)
    lasts = lasts || (fnzi_krn_call_input(call, i) == weight && call->lasting >> i & 1);
  if (!lasts || p->b.data != fnzi_krn_array_data(weight) || !is_worth(p) ||
      !fnzi_cpu_product_packs(p))
    return;
  if (!call->own->data)
    *call->own = (fnzi_krn_kept){find_panels(call, p), forget};
  p->packed = call->own->data, p->packed_k = p->k;
}
