/* product.c - lowerings of matrix products, mm to linear: cuBLASLt if it supports them, else an own
 * kernel.
 *
 * All are reduced to one form, a batch of (m, k) by (k, n) products, as by the CPU's kernels
 * (kernels/cpu/matmul.c). Transposed, expanded and sliced factors are used without a copy. */
#include "engine/cuda/text_product.h"
#include "engine/device/library.h"
#include "kernels/core/window.h"

#include <math.h>

typedef enum role { LEFT, RIGHT, TRANSPOSED } role; /* as in kernels/cpu/matmul.c */

typedef struct product {
  fnzi_cuda_products p;
  const char *step;
  const char *why;             /* no library computes it */
  fnzi_dev_operand a, b, c, d; /* operands */
  bool has_c, adds_apart;      /* no epilogue can add c */
} product;

/* --- Reading ---------------------------------------------------------------------------------- */
static bool product_sum_of(fnz_dtype dtype, fnz_dtype *out) {
  bool known = dtype == FNZ_C64 || dtype == FNZ_C128 ||
               (fnzi_cuda_text_converts(dtype) && !fnzi_is_complex(dtype) && dtype != FNZ_BOOL);
  *out = dtype == FNZ_F64 || fnzi_is_complex(dtype) ? dtype
         : fnzi_is_float(dtype)                     ? FNZ_F32
                                                    : FNZ_I64;
  return known;
}

/* Returns whether x can be a factor: complex products have only complex factors. */
static bool agrees(const product *p, const fnzi_krn_array *x) {
  fnz_dtype sum;
  return product_sum_of(x->window.dtype, &sum) &&
         (sum == p->p.sum || (fnzi_is_complex(sum) == fnzi_is_complex(p->p.sum) &&
                              !fnzi_is_complex(sum) && sum != FNZ_F64));
}

static int64_t stride_of(const fnz_geometry *g, uint32_t d) {
  return g->sizes[d] == 1 ? 0 : g->strides[d];
}

/* The matrix part of a factor, and its batch dimensions, which broadcast. */
static void read_factor(const fnzi_cuda_products *p, const fnzi_krn_array *x, role r, int64_t *rows,
                        int64_t *cols, fnzi_cuda_factor *out) {
  const fnz_geometry *g = &x->window;
  uint32_t lead = g->rank > 2 ? g->rank - 2 : 0;
  *out = (fnzi_cuda_factor){.dtype = g->dtype, .col = stride_of(g, g->rank - 1)};
  *cols = g->sizes[g->rank - 1];
  *rows = g->rank > 1 ? g->sizes[g->rank - 2] : 1;
  if (g->rank > 1)
    out->row = stride_of(g, g->rank - 2);
  if (r == TRANSPOSED || (r == RIGHT && g->rank == 1)) {
    int64_t size = *rows, stride = out->row;
    *rows = *cols, *cols = size;
    out->row = out->col, out->col = stride;
  }
  for (uint32_t i = 0; i < p->rank; i++)
    if (i + lead >= p->rank)
      out->batch[i] = stride_of(g, i + lead - p->rank);
}

/* Reads the strides of x, which broadcasts to the result, or is the result. Its last dimensions are
 * (m, n), without m or n if a factor is a vector. */
static void read_spread(const product *p, const fnzi_krn_array *x, const fnz_geometry *out,
                        bool has_m, fnzi_cuda_factor *to) {
  const fnz_geometry *g = &x->window;
  uint32_t lacks = out->rank - g->rank, rank = p->p.rank;
  *to = (fnzi_cuda_factor){.dtype = g->dtype};
  for (uint32_t d = lacks; d < out->rank; d++) {
    int64_t stride = stride_of(g, d - lacks);
    if (d < rank)
      to->batch[d] = stride;
    else if (d == rank && has_m)
      to->row = stride;
    else
      to->col = stride;
  }
}

static bool number_of(const fnzi_krn_call *call, const char *name, bool is_integer, double *out) {
  const fnz_arg *number = fnzi_krn_named(call, name);
  if (number && number->tag == FNZ_ARG_COMPLEX && number->u.list[1].u.f != 0)
    return false;
  *out = fnzi_krn_named_float(call, name, 1);
  if (number && number->tag == FNZ_ARG_COMPLEX)
    *out = fnzi_krn_number_float(number);
  return isfinite(*out) && (!is_integer || (*out == floor(*out) && fabs(*out) < 0x1p53));
}

/* Reads scalars, types and operands. Returns the reason if a GPU cannot compute the product, else
 * NULL. */
static const char *product_open(const fnzi_dev_builder *m, const fnzi_krn_call *call,
                                const fnzi_krn_array *a, const fnzi_krn_array *b,
                                const fnzi_krn_array *c, product *p) {
  const fnzi_krn_array *out = call->outputs[0];
  if (!product_sum_of(out->window.dtype, &p->p.sum) || !agrees(p, a) || !agrees(p, b) ||
      (c && !agrees(p, c)))
    return "products of these types are the CPU's";
  if (!number_of(call, "alpha", p->p.sum == FNZ_I64, &p->p.alpha) ||
      !number_of(call, "beta", p->p.sum == FNZ_I64, &p->p.beta))
    return "a factor is no number that a kernel can have";
  p->has_c = c && p->p.beta != 0;
  if (!p->has_c)
    p->p.beta = 0;
  if (!fnzi_dev_operand_of(m, a, &p->a) || !fnzi_dev_operand_of(m, b, &p->b) ||
      !fnzi_dev_operand_of(m, out, &p->d) || (p->has_c && !fnzi_dev_operand_of(m, c, &p->c)))
    return "an operand has no place in a buffer";
  return NULL;
}

/* --- Folding ---------------------------------------------------------------------------------- */
enum { FACTORS = 4 };

static void factors_of(fnzi_cuda_products *p, fnzi_cuda_factor *out[FACTORS]) {
  out[0] = &p->a, out[1] = &p->b, out[2] = &p->c, out[3] = &p->d;
}

static void drop_dim(fnzi_cuda_products *p, uint32_t d) {
  fnzi_cuda_factor *f[FACTORS];
  factors_of(p, f);
  p->rank--;
  for (; d < p->rank; d++) {
    p->sizes[d] = p->sizes[d + 1];
    for (int k = 0; k < FACTORS; k++)
      f[k]->batch[d] = f[k]->batch[d + 1];
  }
}

/* Dimension d goes on where d + 1 ends, in all factors. */
static bool product_joins(const fnzi_cuda_products *p, uint32_t d) {
  const fnzi_cuda_factor *f[] = {&p->a, &p->b, &p->c, &p->d};
  int64_t step;
  for (int k = 0; k < FACTORS; k++)
    if (!fnzi_mul_i64(f[k]->batch[d + 1], p->sizes[d + 1], &step) || f[k]->batch[d] != step)
      return false;
  return true;
}

static void join_batch(fnzi_cuda_products *p) {
  fnzi_cuda_factor *f[FACTORS];
  factors_of(p, f);
  for (uint32_t d = p->rank; d-- > 0;) {
    int64_t size;
    if (p->sizes[d] == 1) {
      drop_dim(p, d);
    } else if (d + 1 < p->rank && product_joins(p, d) &&
               fnzi_mul_i64(p->sizes[d], p->sizes[d + 1], &size)) {
      p->sizes[d + 1] = size;
      drop_dim(p, d);
    }
  }
}

/* Merges the last batch dimension into the rows, if the second factor does not depend on it. */
static bool fold_rows(fnzi_cuda_products *p) {
  fnzi_cuda_factor *f[] = {&p->a, &p->c, &p->d};
  uint32_t last = p->rank - 1;
  int64_t rows, step;
  if (p->rank == 0 || p->b.batch[last] != 0 || !fnzi_mul_i64(p->m, p->sizes[last], &rows))
    return false;
  for (int k = 0; k < 3 && p->m > 1; k++)
    if (!fnzi_mul_i64(p->m, f[k]->row, &step) || f[k]->batch[last] != step)
      return false;
  for (int k = 0; k < 3 && p->m == 1; k++)
    f[k]->row = f[k]->batch[last];
  p->m = rows;
  p->rank = last;
  return true;
}

/* --- By the library --------------------------------------------------------------------------- */
enum { MOST_CALLS = 32 };

static fnzi_cuda_matrix matrix_of(const product *p, const fnzi_cuda_factor *f,
                                  const fnzi_dev_operand *at) {
  fnzi_cuda_matrix out = {f->row, f->col, 0, 0};
  size_t cell = fnzi_dtype(f->dtype)->bytes;
  int64_t steps = 0;
  for (uint32_t d = 0; d < p->p.rank; d++)
    steps |= fnzi_krn_stride_bytes(f->batch[d], cell);
  if (p->p.rank)
    out.batch = f->batch[p->p.rank - 1];
  /* The largest power of two (FNZI_DEV_ALIGNED at most) that divides an address and a
   * step. */
  uint64_t all = (uint64_t)at->offset | (uint64_t)steps | FNZI_DEV_ALIGNED;
  out.align = (uint32_t)(all & (~all + 1));
  return out;
}

/* Returns whether an epilogue can add c as a bias: one vector for all rows, at a multiple of
 * FNZI_CUDA_BIAS_ALIGN bytes. */
static bool is_bias(const product *p) {
  const fnzi_cuda_products *q = &p->p;
  bool is = p->has_c && !p->adds_apart && q->beta == 1 && q->c.row == 0 &&
            (q->c.col == 1 || q->n == 1) && q->d.dtype != FNZ_F64 && q->m > 1 &&
            p->c.offset % FNZI_CUDA_BIAS_ALIGN == 0;
  for (uint32_t d = 0; d < q->rank; d++)
    is = is && q->c.batch[d] == 0;
  return is;
}

/* Copies c to the result, to which the library then adds the product. */
static fnz_status copy_c(fnzi_dev_builder *m, const product *p, fnzi_dev_work *out) {
  const fnzi_cuda_products *q = &p->p;
  const fnzi_cuda_factor *f[] = {&q->c, &q->d};
  const fnzi_dev_operand operands[] = {p->c, p->d};
  int64_t sizes[FNZ_MAX_RANK + 2], strides[2][FNZ_MAX_RANK + 2];
  uint32_t row = q->rank, col = row + 1;
  size_t cell = fnzi_dtype(q->d.dtype)->bytes;
  for (uint32_t d = 0; d <= col; d++) {
    sizes[d] = d < row ? q->sizes[d] : d == row ? q->m : q->n;
    for (int k = 0; k < 2; k++)
      strides[k][d] = fnzi_krn_stride_bytes(d < row    ? f[k]->batch[d]
                                            : d == row ? f[k]->row
                                                       : f[k]->col,
                                            cell);
  }
  const fnzi_dev_elements all = {q->d.dtype, col + 1, sizes, strides[0], strides[1]};
  return fnzi_dev_work_copy(m, out, &all, operands);
}

/* Returns the number of library calls. One call covers the last batch dimension; each index of the
 * dimensions before it needs its own. */
static int64_t calls_of(const fnzi_cuda_products *q) {
  int64_t calls = 1;
  for (uint32_t d = 0; d + 1 < q->rank; d++)
    if (!fnzi_mul_i64(calls, q->sizes[d], &calls))
      return MOST_CALLS + 1;
  return calls;
}

static fnzi_dev_operand moved(const fnzi_cuda_products *q, const fnzi_cuda_factor *f,
                              fnzi_dev_operand at, int64_t call) {
  for (uint32_t d = q->rank > 0 ? q->rank - 1 : 0; d-- > 0; call /= q->sizes[d])
    at.offset +=
        fnzi_krn_stride_bytes(fnzi_krn_stride_bytes(f->batch[d], fnzi_dtype(f->dtype)->bytes),
                              (size_t)(call % q->sizes[d]));
  return at;
}

static fnz_status product_call_library(fnzi_dev_builder *m, product *p, fnzi_dev_work *out,
                                       bool *is_library) {
  const fnzi_cuda_products *q = &p->p;
  bool bias = is_bias(p);
  bool in_place = (q->n == 1 || q->c.col == 1) && (q->m == 1 || q->c.row >= q->n);
  bool copies = p->has_c && !bias && !in_place;
  const fnzi_cuda_factor *c = copies ? &q->d : &q->c;
  const fnzi_dev_operand c_at = copies ? p->d : p->c;
  const fnzi_cuda_product spec = {.dtype = q->d.dtype,
                                  .m = q->m,
                                  .n = q->n,
                                  .k = q->k,
                                  .count = q->rank ? q->sizes[q->rank - 1] : 1,
                                  .a = matrix_of(p, &q->a, &p->a),
                                  .b = matrix_of(p, &q->b, &p->b),
                                  .c = matrix_of(p, c, &c_at),
                                  .d = matrix_of(p, &q->d, &p->d),
                                  .alpha = q->alpha,
                                  .beta = bias ? 0 : q->beta,
                                  .has_bias = bias};
  *is_library = true;
  for (int64_t i = 0; i < calls_of(q) && *is_library; i++) {
    fnzi_dev_operand operands[] = {[FNZI_PRODUCT_A] = moved(q, &q->a, p->a, i),
                                   [FNZI_PRODUCT_B] = moved(q, &q->b, p->b, i),
                                   [FNZI_PRODUCT_D] = moved(q, &q->d, p->d, i),
                                   [FNZI_PRODUCT_C] = moved(q, c, c_at, i)};
    fnzi_dev_work trial = *out;
    fnzi_dev_answer answer = {.why = p->why};
    if (copies && i == 0)
      FNZ_TRY(copy_c(m, p, &trial));
    FNZ_TRY(fnzi_dev_library_product(m, p->step, &spec, operands, &trial, &answer));
    *is_library = answer.is_library;
    p->why = answer.why;
    if (*is_library)
      *out = trial;
  }
  return FNZ_OK;
}

/* --- By a kernel ------------------------------------------------------------------------------ */
static fnz_status make_some(fnzi_dev_builder *m, product *p, fnzi_dev_work *out) {
  bool is_library = false;
  /* Drops products that add nothing. A factor of 0 gives 0 even if a product is NaN, and with k = 0
   * there are no products. */
  if (p->p.alpha == 0 || p->p.k == 0)
    p->p.k = 0, p->p.alpha = 1, p->p.added = 1;
  join_batch(&p->p);
  while (fold_rows(&p->p)) {
  }
  p->why = "cuBLASLt has no products of these types";
  const fnzi_cuda_products *q = &p->p;
  fnz_dtype d = q->d.dtype;
  bool same = q->a.dtype == d && q->b.dtype == d && (!p->has_c || q->c.dtype == d);
  bool asks = same && q->k > 0 && q->added == 1 &&
              (d == FNZ_F32 || d == FNZ_F64 || d == FNZ_F16 || d == FNZ_BF16) &&
              calls_of(&p->p) <= MOST_CALLS;
  if (asks)
    FNZ_TRY(product_call_library(m, p, out, &is_library));
  if (asks && !is_library && is_bias(p)) {
    /* No algorithm has the epilogue. The library's product and one more pass that adds c take less
     * time than a kernel of our own. */
    bool has;
    FNZ_TRY(fnzi_dev_library_has_cublas(m, &has));
    p->adds_apart = true;
    if (has)
      FNZ_TRY(product_call_library(m, p, out, &is_library));
  }
  if (is_library)
    return FNZ_OK;
  const fnzi_dev_operand operands[] = {p->a, p->b, p->d, p->c};
  uint32_t kernel;
  int64_t blocks;
  FNZ_TRY(fnzi_cuda_text_products(m->ws->ctx, &m->text, &p->p, &kernel, &blocks));
  out->library = p->why;
  return fnzi_dev_work_launch(m, out, kernel, blocks, operands, p->has_c ? 4 : 3);
}

static fnz_status product_make(fnzi_dev_builder *m, const fnzi_krn_call *call, product *p,
                               fnzi_dev_work *out) {
  out->on_device = true;
  return fnzi_krn_array_numel(call->outputs[0]) ? make_some(m, p, out) : FNZ_OK;
}

static fnz_status lower_product(fnzi_dev_builder *m, fnzi_krn_call *call, size_t first,
                                size_t added, role role_b, fnzi_dev_work *out) {
  const fnzi_krn_array *a = fnzi_krn_call_input(call, first),
                       *b = fnzi_krn_call_input(call, first + 1),
                       *c = added < call->op->nparams ? fnzi_krn_call_input(call, added) : NULL;
  product p = {.step = fnz_op_name(call->op)};
  const char *why = product_open(m, call, a, b, c, &p);
  if (why)
    return fnzi_dev_work_refuse(out, why);
  const fnz_geometry *result = &call->outputs[0]->window;
  bool has_m = a->window.rank > 1, has_n = b->window.rank > 1;
  int64_t rows;
  p.p.added = 1;
  p.p.rank = result->rank - (uint32_t)has_m - (uint32_t)has_n;
  for (uint32_t d = 0; d < p.p.rank; d++)
    p.p.sizes[d] = result->sizes[d];
  read_factor(&p.p, a, LEFT, &p.p.m, &p.p.k, &p.p.a);
  read_factor(&p.p, b, role_b, &rows, &p.p.n, &p.p.b);
  read_spread(&p, call->outputs[0], result, has_m, &p.p.d);
  if (p.has_c)
    read_spread(&p, c, result, has_m, &p.p.c);
  return product_make(m, call, &p, out);
}

fnz_status fnzi_dev_lower_matmul(fnzi_dev_builder *m, fnzi_krn_call *call, fnzi_dev_work *out) {
  return lower_product(m, call, 0, SIZE_MAX, RIGHT, out);
}

/* vdot conjugates its first vector if it is complex, so only real vectors are products. */
fnz_status fnzi_dev_lower_vdot(fnzi_dev_builder *m, fnzi_krn_call *call, fnzi_dev_work *out) {
  if (fnzi_is_complex(fnzi_krn_call_input(call, 0)->window.dtype))
    return fnzi_dev_work_refuse(out, "vdot of complex vectors has no kernel for a GPU");
  return fnzi_dev_lower_matmul(m, call, out);
}

fnz_status fnzi_dev_lower_addmm(fnzi_dev_builder *m, fnzi_krn_call *call, fnzi_dev_work *out) {
  return lower_product(m, call, 1, 0, RIGHT, out);
}

fnz_status fnzi_dev_lower_linear(fnzi_dev_builder *m, fnzi_krn_call *call, fnzi_dev_work *out) {
  return lower_product(m, call, 0, 2, TRANSPOSED, out);
}

/* The products of the batch are added: k goes over all of them. */
fnz_status fnzi_dev_lower_addbmm(fnzi_dev_builder *m, fnzi_krn_call *call, fnzi_dev_work *out) {
  const fnzi_krn_array *self = fnzi_krn_call_input(call, 0), *a = fnzi_krn_call_input(call, 1),
                       *b = fnzi_krn_call_input(call, 2);
  const fnz_geometry *result = &call->outputs[0]->window;
  product p = {.step = fnz_op_name(call->op)};
  int64_t rows;
  const char *why = product_open(m, call, a, b, self, &p);
  if (why)
    return fnzi_dev_work_refuse(out, why);
  read_factor(&p.p, a, LEFT, &p.p.m, &p.p.k, &p.p.a);
  read_factor(&p.p, b, RIGHT, &rows, &p.p.n, &p.p.b);
  p.p.added = a->window.sizes[0];
  p.p.a.added = stride_of(&a->window, 0), p.p.b.added = stride_of(&b->window, 0);
  if (p.p.added == 0)
    p.p.k = 0;
  read_spread(&p, call->outputs[0], result, true, &p.p.d);
  if (p.has_c)
    read_spread(&p, self, result, true, &p.p.c);
  return product_make(m, call, &p, out);
}

/* A batch of one dimension. */
fnz_status fnzi_dev_work_products(fnzi_dev_builder *m, fnzi_dev_work *work,
                                  const fnzi_krn_products *products,
                                  const fnzi_dev_operand operands[3], const char **why) {
  const fnzi_krn_products *of = products;
  product p = {.step = "products", .a = operands[0], .b = operands[1], .d = operands[2]};
  fnzi_cuda_products *q = &p.p;
  *why = product_sum_of(of->dtype, &q->sum) ? NULL : "products of these types are the CPU's";
  if (*why || of->count == 0 || of->m == 0 || of->n == 0)
    return FNZ_OK;
  fnzi_cuda_factor *const factors[] = {&q->a, &q->b, &q->d};
  const int64_t sizes[][2] = {{of->m, of->k}, {of->k, of->n}, {of->m, of->n}};
  for (int k = 0; k < 3; k++) {
    *factors[k] = (fnzi_cuda_factor){.dtype = of->dtype, .row = sizes[k][1], .col = 1};
    if (!fnzi_mul_i64(sizes[k][0], sizes[k][1], &factors[k]->batch[0]))
      *why = "it has too many elements";
  }
  if (*why)
    return FNZ_OK;
  q->rank = 1;
  q->sizes[0] = of->count;
  q->m = of->m, q->n = of->n, q->k = of->k;
  q->added = 1, q->alpha = 1;
  return make_some(m, &p, work);
}
