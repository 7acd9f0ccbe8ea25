/* reflect.c - QR by Householder's reflections, of LAPACK (of OpenBLAS). Each matrix of a batch by
 * itself, on one thread. */
#include "kernels/cpu/matmul.h"

#include <cblas.h>
#include <f77blas.h>

/* LAPACK's, which the header of OpenBLAS leaves out. */
#define REFLECTIONS(factor, make)                                                                  \
  extern void factor(const blasint *m, const blasint *n, void *a, const blasint *lda, void *tau,   \
                     void *work, const blasint *lwork, blasint *info);                             \
  extern void make(const blasint *m, const blasint *n, const blasint *k, void *a,                  \
                   const blasint *lda, const void *tau, void *work, const blasint *lwork,          \
                   blasint *info);
REFLECTIONS(sgeqrf_, sorgqr_)
REFLECTIONS(dgeqrf_, dorgqr_)
REFLECTIONS(cgeqrf_, cungqr_)
REFLECTIONS(zgeqrf_, zungqr_)
#undef REFLECTIONS

/* Room for one matrix, by columns, and for LAPACK. */
typedef struct reflections {
  fnz_dtype dtype;
  size_t cell;
  blasint m, n, least, wide; /* wide: columns of Q, 0 where it is not wanted */
  blasint nwork;
  char *a, *tau, *work;
} reflections;

/* LAPACK works on at most so many columns at once. */
enum { COLUMNS = 66 };

static int64_t reflect_size_at(const fnzi_krn_array *a, uint32_t from_end) {
  return a->geometry.rank >= from_end ? a->geometry.sizes[a->geometry.rank - from_end] : 0;
}

static fnz_status open_reflections(fnzi_krn_call *call, reflections *p) {
  const fnzi_krn_array *x = fnzi_krn_call_input(call, 0);
  int64_t m = reflect_size_at(x, 2), n = reflect_size_at(x, 1),
          q = reflect_size_at(call->outputs[0], 1);
  int64_t wide = call->outputs[0]->geometry.rank > 1 ? q : 0, most = n > wide ? n : wide;
  if (m > INT32_MAX || most > INT32_MAX / COLUMNS - 1)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_LIMIT, "%s has more than %d rows and columns",
                                call->op->params[0].name, INT32_MAX / COLUMNS - 1);
  *p = (reflections){.dtype = x->geometry.dtype,
                     .cell = fnzi_dtype(x->geometry.dtype)->bytes,
                     .m = (blasint)m,
                     .n = (blasint)n,
                     .least = (blasint)(m < n ? m : n),
                     .wide = (blasint)wide,
                     .nwork = (blasint)(COLUMNS * most + 1)};
  void *rooms[3];
  const size_t counts[] = {(size_t)(m * most), (size_t)p->least, (size_t)p->nwork};
  for (size_t i = 0; i < 3; i++)
    FNZ_TRY(fnzi_arena_take(&call->scratch, counts[i], p->cell, &rooms[i]));
  p->a = rooms[0], p->tau = rooms[1], p->work = rooms[2];
  fnzi_cpu_blas_hold();
  return FNZ_OK;
}

/* R is above the diagonal, and below it the reflections are. */
static void factor(const reflections *p) {
  blasint info;
  if (p->dtype == FNZ_F32)
    sgeqrf_(&p->m, &p->n, p->a, &p->m, p->tau, p->work, &p->nwork, &info);
  else if (p->dtype == FNZ_F64)
    dgeqrf_(&p->m, &p->n, p->a, &p->m, p->tau, p->work, &p->nwork, &info);
  else if (p->dtype == FNZ_C64)
    cgeqrf_(&p->m, &p->n, p->a, &p->m, p->tau, p->work, &p->nwork, &info);
  else
    zgeqrf_(&p->m, &p->n, p->a, &p->m, p->tau, p->work, &p->nwork, &info);
}

/* Q takes the place of the reflections. */
static void make_q(const reflections *p) {
  blasint info;
  if (p->dtype == FNZ_F32)
    sorgqr_(&p->m, &p->wide, &p->least, p->a, &p->m, p->tau, p->work, &p->nwork, &info);
  else if (p->dtype == FNZ_F64)
    dorgqr_(&p->m, &p->wide, &p->least, p->a, &p->m, p->tau, p->work, &p->nwork, &info);
  else if (p->dtype == FNZ_C64)
    cungqr_(&p->m, &p->wide, &p->least, p->a, &p->m, p->tau, p->work, &p->nwork, &info);
  else
    zungqr_(&p->m, &p->wide, &p->least, p->a, &p->m, p->tau, p->work, &p->nwork, &info);
}

fnz_status fnzi_kernel_qr(fnzi_krn_call *call) {
  const fnzi_krn_array *x = fnzi_krn_call_input(call, 0);
  int64_t rows = reflect_size_at(call->outputs[1], 2), batches = 1;
  reflections p;
  const void *from;
  void *q, *r;
  FNZ_TRY(open_reflections(call, &p));
  FNZ_TRY(fnzi_krn_dense_get(call, x, &from));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, p.dtype, &q));
  FNZ_TRY(fnzi_krn_result_get_as(call, 1, p.dtype, &r));
  for (uint32_t d = 0; d + 2 < x->geometry.rank; d++)
    batches *= x->geometry.sizes[d];
  const int64_t sizes[] = {rows, p.n}, by_rows[] = {p.n, 1}, by_columns[] = {1, p.m};
  for (int64_t i = 0; p.m && i < batches; i++) {
    fnzi_cpu_transpose(p.cell, p.m, p.n, (const char *)from + (size_t)(i * p.m * p.n) * p.cell,
                       p.a);
    if (p.least)
      factor(&p);
    char *to = (char *)r + (size_t)(i * rows * p.n) * p.cell;
    fnzi_krn_copy_cells(&(fnzi_krn_copy){2, sizes, to, by_rows, p.a, by_columns, p.cell}, NULL);
    for (int64_t k = 0; k < rows; k++)
      memset(to + (size_t)(k * p.n) * p.cell, 0, (size_t)(k < p.n ? k : p.n) * p.cell);
    if (p.wide)
      make_q(&p);
    fnzi_cpu_transpose(p.cell, p.wide, p.m, p.a, (char *)q + (size_t)(i * p.m * p.wide) * p.cell);
  }
  return FNZ_OK;
}
