/* spectral.c - eigenvalues of symmetric and Hermitian matrices, and singular values, with their
 * vectors, by LAPACK (of OpenBLAS). Each matrix of a batch by itself, on one thread. */
#include "kernels/cpu/cpu.h"

#include <cblas.h>
#include <f77blas.h>
#include <math.h>

/* LAPACK's, which the header of OpenBLAS leaves out. Drivers of singular values need the runtime of
 * Fortran, as do divide-and-conquer drivers; their steps do not. */
#define REAL_EIGEN(name)                                                                           \
  extern void name(const char *job, const char *part, const blasint *n, void *a,                   \
                   const blasint *lda, void *w, void *work, const blasint *lwork, blasint *info);
#define COMPLEX_EIGEN(name)                                                                        \
  extern void name(const char *job, const char *part, const blasint *n, void *a,                   \
                   const blasint *lda, void *w, void *work, const blasint *lwork, void *rwork,     \
                   blasint *info);
/* A = Q B P^H with B of two diagonals, d and e; then Q or P^H; then the singular values of B. */
#define BIDIAGONAL(reduce, make, solve)                                                            \
  extern void reduce(const blasint *m, const blasint *n, void *a, const blasint *lda, void *d,     \
                     void *e, void *tauq, void *taup, void *work, const blasint *lwork,            \
                     blasint *info);                                                               \
  extern void make(const char *which, const blasint *m, const blasint *n, const blasint *k,        \
                   void *a, const blasint *lda, const void *tau, void *work, const blasint *lwork, \
                   blasint *info);                                                                 \
  extern void solve(const char *part, const blasint *n, const blasint *ncvt, const blasint *nru,   \
                    const blasint *ncc, void *d, void *e, void *vt, const blasint *ldvt, void *u,  \
                    const blasint *ldu, void *c, const blasint *ldc, void *work, blasint *info);
REAL_EIGEN(ssyev_)
REAL_EIGEN(dsyev_)
COMPLEX_EIGEN(cheev_)
COMPLEX_EIGEN(zheev_)
BIDIAGONAL(sgebrd_, sorgbr_, sbdsqr_)
BIDIAGONAL(dgebrd_, dorgbr_, dbdsqr_)
BIDIAGONAL(cgebrd_, cungbr_, cbdsqr_)
BIDIAGONAL(zgebrd_, zungbr_, zbdsqr_)
#undef REAL_EIGEN
#undef COMPLEX_EIGEN
#undef BIDIAGONAL

/* --- Pieces ------------------------------------------------------------------------------ */
/* Room for one matrix, by columns, and for LAPACK. */
typedef struct spectrum {
  fnz_dtype dtype;
  size_t cell, real; /* bytes of an element, and of its magnitude */
  blasint m, n, nwork;
  char *a, *work, *rwork;
} spectrum;

static int64_t size_at(const fnzi_krn_array *a, uint32_t from_end) {
  return a->geometry.rank >= from_end ? a->geometry.sizes[a->geometry.rank - from_end] : 0;
}

static int64_t batches_of(const fnzi_krn_array *a) {
  int64_t count = 1;
  for (uint32_t d = 0; d + 2 < a->geometry.rank; d++)
    count *= a->geometry.sizes[d];
  return count;
}

/* LAPACK works on at most so many columns at once. */
enum { COLUMNS = 66 };

static fnz_status open_spectrum(fnzi_krn_call *call, spectrum *p) {
  const fnzi_krn_array *a = fnzi_krn_call_input(call, 0);
  *p = (spectrum){.dtype = a->geometry.dtype,
                  .cell = fnzi_dtype(a->geometry.dtype)->bytes,
                  .m = (blasint)size_at(a, 2),
                  .n = (blasint)size_at(a, 1)};
  size_t both = (size_t)p->m + (size_t)p->n;
  p->real = fnzi_is_complex(p->dtype) ? p->cell / 2 : p->cell;
  if (both > INT32_MAX / COLUMNS - 1)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_LIMIT, "%s has more than %d rows and columns",
                                call->op->params[0].name, INT32_MAX / COLUMNS - 1);
  p->nwork = (blasint)(COLUMNS * both + 1);
  if (openblas_get_num_threads() != 1)
    openblas_set_num_threads(1);
  FNZI_NEW(&call->scratch, (size_t)p->m * (size_t)p->n * p->cell, &p->a);
  FNZI_NEW(&call->scratch, (size_t)p->nwork * p->cell, &p->work);
  FNZI_NEW(&call->scratch, (4 * both + 1) * p->real, &p->rwork);
  return FNZ_OK;
}

/* Refuses, before anything is written, elements for which LAPACK does not converge. */
static fnz_status check_finite(const fnzi_krn_call *call, const spectrum *p, const void *a,
                               int64_t count) {
  int64_t numbers = count * (int64_t)(p->cell / p->real);
  for (int64_t k = 0; k < numbers; k++)
    if (!isfinite(p->real == sizeof(float) ? (double)((const float *)a)[k]
                                           : ((const double *)a)[k]))
      return fnzi_krn_call_refuse(call, FNZ_CLASS_ARGUMENT,
                                  "%s has an element that is infinite or NaN; LAPACK does not "
                                  "converge for such",
                                  call->op->params[0].name);
  return FNZ_OK;
}

static fnz_status check_info(const fnzi_krn_call *call, int64_t i, blasint info) {
  if (info == 0)
    return FNZ_OK;
  return fnzi_krn_call_refuse(call, FNZ_CLASS_ARGUMENT,
                              "matrix %lld: LAPACK does not converge (%d), as for what is badly "
                              "scaled",
                              (long long)i, (int)info);
}

/* --- Of symmetric matrices --------------------------------------------------------------- */
static blasint decompose_symmetric(const spectrum *p, char job, char part, void *values) {
  blasint info = 0;
  if (p->dtype == FNZ_F32)
    ssyev_(&job, &part, &p->n, p->a, &p->n, values, p->work, &p->nwork, &info);
  else if (p->dtype == FNZ_F64)
    dsyev_(&job, &part, &p->n, p->a, &p->n, values, p->work, &p->nwork, &info);
  else if (p->dtype == FNZ_C64)
    cheev_(&job, &part, &p->n, p->a, &p->n, values, p->work, &p->nwork, p->rwork, &info);
  else
    zheev_(&job, &part, &p->n, p->a, &p->n, values, p->work, &p->nwork, p->rwork, &info);
  return info;
}

fnz_status fnzi_kernel_eigh(fnzi_krn_call *call) {
  const fnzi_krn_array *a = fnzi_krn_call_input(call, 0);
  bool vectors = fnzi_krn_named_bool(call, "compute_v", true);
  const char *given = fnzi_krn_named_string(call, "UPLO");
  char part = given[0] == 'U' || given[0] == 'u' ? 'U' : 'L';
  const void *from;
  void *values, *out;
  spectrum p;
  FNZ_TRY(open_spectrum(call, &p));
  FNZ_TRY(fnzi_krn_dense_get(call, a, &from));
  FNZ_TRY(check_finite(call, &p, from, fnzi_krn_array_numel(a)));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, call->outputs[0]->geometry.dtype, &values));
  FNZ_TRY(fnzi_krn_result_get_as(call, 1, p.dtype, &out));
  size_t each = (size_t)p.n * (size_t)p.n * p.cell;
  for (int64_t i = 0; p.n && i < batches_of(a); i++) {
    char *to = (char *)values + (size_t)i * (size_t)p.n * p.real;
    fnzi_cpu_transpose(p.cell, p.n, p.n, (const char *)from + (size_t)i * each, p.a);
    blasint info = decompose_symmetric(&p, vectors ? 'V' : 'N', part, to);
    FNZ_TRY(check_info(call, i, info));
    if (vectors)
      fnzi_cpu_transpose(p.cell, p.n, p.n, p.a, (char *)out + (size_t)i * each);
  }
  return FNZ_OK;
}

/* --- Singular values --------------------------------------------------------------------- */
/* Vectors of one matrix by columns, and what leads to them. */
typedef struct vectors {
  char *u, *vt, *e, *tauq, *taup;
  blasint of_u, of_vt; /* columns and rows; 0: not needed */
} vectors;

static void reduce(const spectrum *p, const vectors *v, void *d) {
  blasint info;
  if (p->dtype == FNZ_F32)
    sgebrd_(&p->m, &p->n, p->a, &p->m, d, v->e, v->tauq, v->taup, p->work, &p->nwork, &info);
  else if (p->dtype == FNZ_F64)
    dgebrd_(&p->m, &p->n, p->a, &p->m, d, v->e, v->tauq, v->taup, p->work, &p->nwork, &info);
  else if (p->dtype == FNZ_C64)
    cgebrd_(&p->m, &p->n, p->a, &p->m, d, v->e, v->tauq, v->taup, p->work, &p->nwork, &info);
  else
    zgebrd_(&p->m, &p->n, p->a, &p->m, d, v->e, v->tauq, v->taup, p->work, &p->nwork, &info);
}

/* The `rows` by `columns` of Q or P^H, from reflections of the other side's length. */
static void make(const spectrum *p, char which, blasint rows, blasint columns, void *a,
                 const void *tau) {
  blasint info, k = which == 'Q' ? p->n : p->m;
  if (p->dtype == FNZ_F32)
    sorgbr_(&which, &rows, &columns, &k, a, &rows, tau, p->work, &p->nwork, &info);
  else if (p->dtype == FNZ_F64)
    dorgbr_(&which, &rows, &columns, &k, a, &rows, tau, p->work, &p->nwork, &info);
  else if (p->dtype == FNZ_C64)
    cungbr_(&which, &rows, &columns, &k, a, &rows, tau, p->work, &p->nwork, &info);
  else
    zungbr_(&which, &rows, &columns, &k, a, &rows, tau, p->work, &p->nwork, &info);
}

static blasint solve(const spectrum *p, const vectors *v, void *d) {
  blasint info = 0, none = 0, one = 1, least = p->m < p->n ? p->m : p->n;
  blasint ncvt = v->of_vt ? p->n : 0, nru = v->of_u ? p->m : 0;
  blasint ldvt = v->of_vt ? v->of_vt : 1;
  char part = p->m < p->n ? 'L' : 'U', unused[16];
  if (p->dtype == FNZ_F32)
    sbdsqr_(&part, &least, &ncvt, &nru, &none, d, v->e, v->vt, &ldvt, v->u, &p->m, unused, &one,
            p->rwork, &info);
  else if (p->dtype == FNZ_F64)
    dbdsqr_(&part, &least, &ncvt, &nru, &none, d, v->e, v->vt, &ldvt, v->u, &p->m, unused, &one,
            p->rwork, &info);
  else if (p->dtype == FNZ_C64)
    cbdsqr_(&part, &least, &ncvt, &nru, &none, d, v->e, v->vt, &ldvt, v->u, &p->m, unused, &one,
            p->rwork, &info);
  else
    zbdsqr_(&part, &least, &ncvt, &nru, &none, d, v->e, v->vt, &ldvt, v->u, &p->m, unused, &one,
            p->rwork, &info);
  return info;
}

/* Q is computed from the part below the diagonals, P^H from the part above. */
static blasint decompose(const spectrum *p, const vectors *v, void *d) {
  size_t m = (size_t)p->m, n = (size_t)p->n, least = m < n ? m : n;
  reduce(p, v, d);
  if (v->of_u) {
    memcpy(v->u, p->a, m * least * p->cell);
    make(p, 'Q', p->m, v->of_u, v->u, v->tauq);
  }
  for (size_t c = 0; v->of_vt && c < n; c++)
    memcpy(v->vt + c * (size_t)v->of_vt * p->cell, p->a + c * m * p->cell, least * p->cell);
  if (v->of_vt)
    make(p, 'P', v->of_vt, p->n, v->vt, v->taup);
  return solve(p, v, d);
}

static fnz_status open_vectors(fnzi_krn_call *call, const spectrum *p, vectors *v) {
  size_t least = (size_t)(p->m < p->n ? p->m : p->n);
  FNZI_NEW(&call->scratch, ((size_t)p->m * (size_t)v->of_u + 1) * p->cell, &v->u);
  FNZI_NEW(&call->scratch, ((size_t)v->of_vt * (size_t)p->n + 1) * p->cell, &v->vt);
  FNZI_NEW(&call->scratch, (least + 1) * p->real, &v->e);
  FNZI_NEW(&call->scratch, (least + 1) * p->cell, &v->tauq);
  FNZI_NEW(&call->scratch, (least + 1) * p->cell, &v->taup);
  return FNZ_OK;
}

/* Without elements the result is the identity. */
static void put_units(const spectrum *p, const fnzi_krn_array *like, char *out) {
  const fnz_arg one = {.tag = FNZ_ARG_INT, .u.i = 1};
  int64_t n = size_at(like, 1), rows = size_at(like, 2);
  if (like->geometry.rank < 2)
    return;
  memset(out, 0, (size_t)fnzi_krn_array_numel(like) * p->cell);
  for (int64_t i = 0; i < batches_of(like); i++)
    for (int64_t k = 0; k < n && k < rows; k++)
      fnzi_krn_number_cell(&one, p->dtype, out + (size_t)((i * rows + k) * n + k) * p->cell);
}

fnz_status fnzi_kernel_svd(fnzi_krn_call *call) {
  const fnzi_krn_array *a = fnzi_krn_call_input(call, 0);
  bool wanted = fnzi_krn_named_bool(call, "compute_uv", true);
  const void *from;
  void *u, *values, *vt;
  spectrum p;
  FNZ_TRY(open_spectrum(call, &p));
  vectors v = {.of_u = wanted ? (blasint)size_at(call->outputs[0], 1) : 0,
               .of_vt = wanted ? (blasint)size_at(call->outputs[2], 2) : 0};
  int64_t m = p.m, n = p.n, least = m < n ? m : n;
  FNZ_TRY(fnzi_krn_dense_get(call, a, &from));
  FNZ_TRY(check_finite(call, &p, from, fnzi_krn_array_numel(a)));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, p.dtype, &u));
  FNZ_TRY(fnzi_krn_result_get_as(call, 1, call->outputs[1]->geometry.dtype, &values));
  FNZ_TRY(fnzi_krn_result_get_as(call, 2, p.dtype, &vt));
  if (least == 0) {
    put_units(&p, call->outputs[0], u);
    put_units(&p, call->outputs[2], vt);
    return FNZ_OK;
  }
  FNZ_TRY(open_vectors(call, &p, &v));
  for (int64_t i = 0; i < batches_of(a); i++) {
    char *d = (char *)values + (size_t)(i * least) * p.real;
    fnzi_cpu_transpose(p.cell, m, n, (const char *)from + (size_t)(i * m * n) * p.cell, p.a);
    blasint info = decompose(&p, &v, d);
    FNZ_TRY(check_info(call, i, info));
    fnzi_cpu_transpose(p.cell, v.of_u, m, v.u, (char *)u + (size_t)(i * m * v.of_u) * p.cell);
    fnzi_cpu_transpose(p.cell, n, v.of_vt, v.vt, (char *)vt + (size_t)(i * v.of_vt * n) * p.cell);
  }
  return FNZ_OK;
}
