/* matmul_packed.c - second factors as panels, kept by the backend: weights of a program that runs
 * again are packed once, for all sizes of the other factor. */
#include "kernels/cpu/matmul.h"
#include "kernels/cpu/special_reals.h"

/* Elements of a weight that are worth as much memory again; and rows beside which packing is much.
 */
enum { MOST_PACKED = 1 << 22, MOST_ROWS = 512 };

typedef struct packed {
  const void *data;
  int64_t rows, columns, row, column; /* of the factor, and its strides */
  float *panels;
} packed;

typedef struct table {
  fnz_context *ctx;
  struct {
    packed *data;
    size_t count, capacity;
  } all;
} table;

static size_t bytes_of(const packed *p) {
  return (size_t)fnzi_row_panels_packed(p->rows, p->columns) * sizeof *p->panels;
}

static void packed_end(fnz_context *ctx, void *data) {
  table *t = data;
  for (size_t i = 0; i < t->all.count; i++)
    fnzi_free(ctx, t->all.data[i].panels, bytes_of(&t->all.data[i]));
  FNZI_VEC_FREE(ctx, &t->all);
  fnzi_free(ctx, t, sizeof *t);
}

/* Ends what a call has kept: the table owns it. */
static void forget(fnz_context *ctx, void *data) {
  (void)ctx, (void)data;
}

static fnz_status find_table(fnzi_krn_call *call, table **out) {
  fnzi_krn_kept *slot = &call->stock->packed;
  *out = slot->data;
  if (*out)
    return FNZ_OK;
  *out = fnzi_resize(call->ctx, NULL, 0, sizeof **out);
  if (!*out)
    return fnzi_no_memory(call->ctx);
  **out = (table){.ctx = call->ctx};
  *slot = (fnzi_krn_kept){*out, packed_end};
  return FNZ_OK;
}

static bool is_same(const packed *a, const packed *b) {
  return a->data == b->data && a->rows == b->rows && a->columns == b->columns && a->row == b->row &&
         a->column == b->column;
}

static fnz_status pack(fnzi_krn_call *call, const fnzi_cpu_product *p, packed *wanted) {
  table *t;
  FNZ_TRY(find_table(call, &t));
  for (size_t i = 0; i < t->all.count; i++)
    if (is_same(&t->all.data[i], wanted)) {
      wanted->panels = t->all.data[i].panels;
      return FNZ_OK;
    }
  FNZI_RESERVE(call->ctx, &t->all, t->all.count + 1);
  wanted->panels = fnzi_resize(call->ctx, NULL, 0, bytes_of(wanted));
  if (!wanted->panels) /* it is packed panel by panel, as without memory for it */
    return FNZ_OK;
  fnzi_cpu_product_pack(p, wanted->panels);
  t->all.data[t->all.count++] = *wanted;
  return FNZ_OK;
}

fnz_status fnzi_cpu_product_packed(fnzi_krn_call *call, const fnzi_krn_array *weight,
                                   fnzi_cpu_product *p) {
  packed wanted = {p->b.data, p->k, p->n, p->b.row, p->b.col, NULL};
  bool lasts = false;
  for (uint32_t i = 0; call->own && i < call->op->nparams && i < 32; i++)
    lasts = lasts || (fnzi_krn_call_input(call, i) == weight && call->lasting >> i & 1);
  if (!lasts || p->b.data != fnzi_krn_array_data(weight) || p->m > MOST_ROWS || p->n == 0 ||
      p->k == 0 || p->k > MOST_PACKED / p->n || !fnzi_cpu_product_packs(p))
    return FNZ_OK;
  if (!call->own->data) {
    FNZ_TRY(pack(call, p, &wanted));
    *call->own = (fnzi_krn_kept){wanted.panels, forget};
  }
  p->packed = call->own->data;
  return FNZ_OK;
}
