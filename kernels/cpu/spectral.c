/* spectral.c - eigenvalues of symmetric and Hermitian matrices, and singular values, with their
 * vectors, by LAPACK (of OpenBLAS). Each matrix of a batch by itself, on one thread. */
#include "kernels/cpu/matmul.h"

#include <cblas.h>
#include <f77blas.h>
#include <math.h>

/* LAPACK's, which the header of OpenBLAS leaves out. Drivers that divide and conquer need the
 * runtime of Fortran; their steps do not. */
#define REAL_EIGEN(name)                                                                           \
  extern void name(const char *job, const char *part, const blasint *n, void *a,                   \
                   const blasint *lda, void *w, void *work, const blasint *lwork, blasint *info);
#define COMPLEX_EIGEN(name)                                                                        \
  extern void name(const char *job, const char *part, const blasint *n, void *a,                   \
                   const blasint *lda, void *w, void *work, const blasint *lwork, void *rwork,     \
                   blasint *info);
/* A = Q T Q^H with T of three diagonals, d and twice e; then Q. */
#define TRIDIAGONAL(reduce, make)                                                                  \
  extern void reduce(const char *part, const blasint *n, void *a, const blasint *lda, void *d,     \
                     void *e, void *tau, void *work, const blasint *lwork, blasint *info);         \
  extern void make(const char *part, const blasint *n, void *a, const blasint *lda,                \
                   const void *tau, void *work, const blasint *lwork, blasint *info);
/* A = Q B P^H with B of two diagonals, d and e; then Q or P^H. */
#define BIDIAGONAL(reduce, make)                                                                   \
  extern void reduce(const blasint *m, const blasint *n, void *a, const blasint *lda, void *d,     \
                     void *e, void *tauq, void *taup, void *work, const blasint *lwork,            \
                     blasint *info);                                                               \
  extern void make(const char *which, const blasint *m, const blasint *n, const blasint *k,        \
                   void *a, const blasint *lda, const void *tau, void *work, const blasint *lwork, \
                   blasint *info);
/* The eigenvalues of T and the singular values of B, with their vectors. */
#define DIVIDED(eigen, singular)                                                                   \
  extern void eigen(const char *job, const blasint *n, void *d, void *e, void *z,                  \
                    const blasint *ldz, void *work, const blasint *lwork, blasint *iwork,          \
                    const blasint *liwork, blasint *info);                                         \
  extern void singular(const char *part, const char *job, const blasint *n, void *d, void *e,      \
                       void *u, const blasint *ldu, void *vt, const blasint *ldvt, void *q,        \
                       blasint *iq, void *work, blasint *iwork, blasint *info);
REAL_EIGEN(ssyev_)
REAL_EIGEN(dsyev_)
COMPLEX_EIGEN(cheev_)
COMPLEX_EIGEN(zheev_)
TRIDIAGONAL(ssytrd_, sorgtr_)
TRIDIAGONAL(dsytrd_, dorgtr_)
TRIDIAGONAL(chetrd_, cungtr_)
TRIDIAGONAL(zhetrd_, zungtr_)
BIDIAGONAL(sgebrd_, sorgbr_)
BIDIAGONAL(dgebrd_, dorgbr_)
BIDIAGONAL(cgebrd_, cungbr_)
BIDIAGONAL(zgebrd_, zungbr_)
DIVIDED(sstedc_, sbdsdc_)
DIVIDED(dstedc_, dbdsdc_)
#undef REAL_EIGEN
#undef COMPLEX_EIGEN
#undef TRIDIAGONAL
#undef BIDIAGONAL
#undef DIVIDED

/* --- Pieces ------------------------------------------------------------------------------ */
/* Room for one matrix, by columns, and for LAPACK. */
typedef struct spectrum {
  fnz_dtype dtype;
  size_t cell, real; /* bytes of an element, and of its magnitude */
  blasint m, n, nwork;
  char *a, *work, *rwork;
} spectrum;

static int64_t spectral_size_at(const fnzi_krn_array *a, uint32_t from_end) {
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

/* Room for the real vectors of matrices that have two or three diagonals, n of them. */
typedef struct divided {
  blasint n, nwork, niwork;
  char *vectors[2], *wide; /* wide: for complex numbers */
  char *work;
  blasint *iwork;
} divided;

static fnz_status open_spectrum(fnzi_krn_call *call, spectrum *p) {
  const fnzi_krn_array *a = fnzi_krn_call_input(call, 0);
  *p = (spectrum){.dtype = a->geometry.dtype,
                  .cell = fnzi_dtype(a->geometry.dtype)->bytes,
                  .m = (blasint)spectral_size_at(a, 2),
                  .n = (blasint)spectral_size_at(a, 1)};
  size_t both = (size_t)p->m + (size_t)p->n;
  p->real = fnzi_is_complex(p->dtype) ? p->cell / 2 : p->cell;
  if (both > INT32_MAX / COLUMNS - 1)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_LIMIT, "%s has more than %d rows and columns",
                                call->op->params[0].name, INT32_MAX / COLUMNS - 1);
  p->nwork = (blasint)(COLUMNS * both + 1);
  fnzi_cpu_blas_hold();
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

static fnz_status spectral_check_info(const fnzi_krn_call *call, int64_t i, blasint info) {
  if (info == 0)
    return FNZ_OK;
  return fnzi_krn_call_refuse(call, FNZ_CLASS_ARGUMENT,
                              "matrix %lld: LAPACK does not converge (%d), as for what is badly "
                              "scaled",
                              (long long)i, (int)info);
}

/* Divide-and-conquer needs 3 n n + 4 n + 1 numbers and 8 n integers. */
static fnz_status open_divided(fnzi_krn_call *call, const spectrum *p, size_t n, size_t sets,
                               divided *v) {
  size_t nwork = 3 * n * n + 4 * n + 1;
  void *room;
  if (nwork > INT32_MAX)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_LIMIT, "%s is %zu wide, too much for LAPACK",
                                call->op->params[0].name, n);
  *v = (divided){.n = (blasint)n, .nwork = (blasint)nwork, .niwork = (blasint)(8 * n + 3)};
  for (size_t i = 0; i < sets; i++) {
    FNZ_TRY(fnzi_arena_take(&call->scratch, n * n + 1, p->real, &room));
    v->vectors[i] = room;
  }
  FNZ_TRY(fnzi_arena_take(&call->scratch, fnzi_is_complex(p->dtype) ? n * n : 1, p->cell, &room));
  v->wide = room;
  FNZ_TRY(fnzi_arena_take(&call->scratch, nwork, p->real, &room));
  v->work = room;
  FNZI_NEW(&call->scratch, (size_t)v->niwork, &v->iwork);
  return FNZ_OK;
}

/* Real vectors as elements of the matrix, which are complex or not. */
static const void *widened(const spectrum *p, const divided *v, const char *vectors) {
  if (!fnzi_is_complex(p->dtype))
    return vectors;
  memset(v->wide, 0, (size_t)v->n * (size_t)v->n * p->cell);
  for (size_t i = 0; i < (size_t)v->n * (size_t)v->n; i++)
    memcpy(v->wide + i * p->cell, vectors + i * p->real, p->real);
  return v->wide;
}

/* A matrix by columns, and how many elements lie between two of them. */
typedef struct factor {
  const void *data;
  blasint step;
} factor;

/* The `rows` by `columns` of A B, by rows: both lie by columns, and share `inner`. */
static void spectral_multiply(const spectrum *p, const blasint sizes[3], factor a, factor b,
                              void *to, blasint step) {
  static const float one_c64[] = {1, 0}, none_c64[] = {0, 0};
  static const double one_c128[] = {1, 0}, none_c128[] = {0, 0};
  const enum CBLAS_ORDER rows = CblasRowMajor;
  const enum CBLAS_TRANSPOSE trans = CblasTrans;
  blasint m = sizes[0], n = sizes[1], k = sizes[2];
  if (p->dtype == FNZ_F32)
    cblas_sgemm(rows, trans, trans, m, n, k, 1, a.data, a.step, b.data, b.step, 0, to, step);
  else if (p->dtype == FNZ_F64)
    cblas_dgemm(rows, trans, trans, m, n, k, 1, a.data, a.step, b.data, b.step, 0, to, step);
  else if (p->dtype == FNZ_C64)
    cblas_cgemm(rows, trans, trans, m, n, k, one_c64, a.data, a.step, b.data, b.step, none_c64, to,
                step);
  else
    cblas_zgemm(rows, trans, trans, m, n, k, one_c128, a.data, a.step, b.data, b.step, none_c128,
                to, step);
}

/* --- Of symmetric matrices --------------------------------------------------------------- */
static blasint find_values(const spectrum *p, char part, void *values) {
  blasint info = 0;
  if (p->dtype == FNZ_F32)
    ssyev_("N", &part, &p->n, p->a, &p->n, values, p->work, &p->nwork, &info);
  else if (p->dtype == FNZ_F64)
    dsyev_("N", &part, &p->n, p->a, &p->n, values, p->work, &p->nwork, &info);
  else if (p->dtype == FNZ_C64)
    cheev_("N", &part, &p->n, p->a, &p->n, values, p->work, &p->nwork, p->rwork, &info);
  else
    zheev_("N", &part, &p->n, p->a, &p->n, values, p->work, &p->nwork, p->rwork, &info);
  return info;
}

/* Leaves Q where the matrix was. */
static void reduce_symmetric(const spectrum *p, char part, void *d, void *e, void *tau) {
  const blasint *n = &p->n, *nwork = &p->nwork;
  blasint info;
  if (p->dtype == FNZ_F32) {
    ssytrd_(&part, n, p->a, n, d, e, tau, p->work, nwork, &info);
    sorgtr_(&part, n, p->a, n, tau, p->work, nwork, &info);
  } else if (p->dtype == FNZ_F64) {
    dsytrd_(&part, n, p->a, n, d, e, tau, p->work, nwork, &info);
    dorgtr_(&part, n, p->a, n, tau, p->work, nwork, &info);
  } else if (p->dtype == FNZ_C64) {
    chetrd_(&part, n, p->a, n, d, e, tau, p->work, nwork, &info);
    cungtr_(&part, n, p->a, n, tau, p->work, nwork, &info);
  } else {
    zhetrd_(&part, n, p->a, n, d, e, tau, p->work, nwork, &info);
    zungtr_(&part, n, p->a, n, tau, p->work, nwork, &info);
  }
}

/* The vectors of the three diagonals, by divide and conquer, multiplied by Q. */
static blasint find_vectors(const spectrum *p, char part, const divided *v, void *values,
                            void *out) {
  char *e = p->rwork, *tau = v->work; /* which is used after it */
  blasint info = 0, n = p->n;
  reduce_symmetric(p, part, values, e, tau);
  if (p->real == sizeof(float))
    sstedc_("I", &n, values, e, v->vectors[0], &n, v->work, &v->nwork, v->iwork, &v->niwork, &info);
  else
    dstedc_("I", &n, values, e, v->vectors[0], &n, v->work, &v->nwork, v->iwork, &v->niwork, &info);
  spectral_multiply(p, (blasint[]){n, n, n}, (factor){p->a, n},
                    (factor){widened(p, v, v->vectors[0]), n}, out, n);
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
  divided v = {0};
  FNZ_TRY(open_spectrum(call, &p));
  if (vectors)
    FNZ_TRY(open_divided(call, &p, (size_t)p.n, 1, &v));
  FNZ_TRY(fnzi_krn_dense_get(call, a, &from));
  FNZ_TRY(check_finite(call, &p, from, fnzi_krn_array_numel(a)));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, call->outputs[0]->geometry.dtype, &values));
  FNZ_TRY(fnzi_krn_result_get_as(call, 1, p.dtype, &out));
  size_t each = (size_t)p.n * (size_t)p.n * p.cell;
  for (int64_t i = 0; p.n && i < batches_of(a); i++) {
    char *to = (char *)values + (size_t)i * (size_t)p.n * p.real;
    fnzi_cpu_transpose(p.cell, p.n, p.n, (const char *)from + (size_t)i * each, p.a);
    blasint info = vectors ? find_vectors(&p, part, &v, to, (char *)out + (size_t)i * each)
                           : find_values(&p, part, to);
    FNZ_TRY(spectral_check_info(call, i, info));
  }
  return FNZ_OK;
}

/* --- Singular values --------------------------------------------------------------------- */
/* Vectors of one matrix by columns, and what leads to them. */
typedef struct vectors {
  char *u, *vt, *e, *tauq, *taup;
  blasint of_u, of_vt; /* columns and rows; 0: not needed */
  divided divided;
} vectors;

static void spectral_reduce(const spectrum *p, const vectors *v, void *d) {
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
  const divided *b = &v->divided;
  blasint info = 0;
  const char *part = p->m < p->n ? "L" : "U", *job = v->of_u ? "I" : "N";
  if (p->real == sizeof(float))
    sbdsdc_(part, job, &b->n, d, v->e, b->vectors[0], &b->n, b->vectors[1], &b->n, NULL, NULL,
            b->work, b->iwork, &info);
  else
    dbdsdc_(part, job, &b->n, d, v->e, b->vectors[0], &b->n, b->vectors[1], &b->n, NULL, NULL,
            b->work, b->iwork, &info);
  return info;
}

/* Q and P^H are computed from the parts below and above the diagonals, and turn the vectors of the
 * two diagonals. A full matrix has more columns or rows, which stay as they are. */
static void put_vectors(const spectrum *p, const vectors *v, void *u, void *vt) {
  const divided *b = &v->divided;
  size_t m = (size_t)p->m, n = (size_t)p->n, least = (size_t)b->n;
  memcpy(v->u, p->a, m * least * p->cell);
  make(p, 'Q', p->m, v->of_u, v->u, v->tauq);
  for (size_t c = 0; c < n; c++)
    memcpy(v->vt + c * (size_t)v->of_vt * p->cell, p->a + c * m * p->cell, least * p->cell);
  make(p, 'P', v->of_vt, p->n, v->vt, v->taup);
  if (v->of_u > b->n)
    fnzi_cpu_transpose(p->cell, v->of_u, p->m, v->u, u);
  if (v->of_vt > b->n)
    fnzi_cpu_transpose(p->cell, p->n, v->of_vt, v->vt, vt);
  spectral_multiply(p, (blasint[]){p->m, b->n, b->n}, (factor){v->u, p->m},
                    (factor){widened(p, b, b->vectors[0]), b->n}, u, v->of_u);
  spectral_multiply(p, (blasint[]){b->n, p->n, b->n}, (factor){widened(p, b, b->vectors[1]), b->n},
                    (factor){v->vt, v->of_vt}, vt, p->n);
}

static fnz_status open_vectors(fnzi_krn_call *call, const spectrum *p, vectors *v) {
  size_t least = (size_t)(p->m < p->n ? p->m : p->n);
  FNZ_TRY(open_divided(call, p, least, v->of_u ? 2 : 0, &v->divided));
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
  int64_t n = spectral_size_at(like, 1), rows = spectral_size_at(like, 2);
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
  vectors v = {.of_u = wanted ? (blasint)spectral_size_at(call->outputs[0], 1) : 0,
               .of_vt = wanted ? (blasint)spectral_size_at(call->outputs[2], 2) : 0};
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
    spectral_reduce(&p, &v, d);
    FNZ_TRY(spectral_check_info(call, i, solve(&p, &v, d)));
    if (wanted)
      put_vectors(&p, &v, (char *)u + (size_t)(i * m * v.of_u) * p.cell,
                  (char *)vt + (size_t)(i * v.of_vt * n) * p.cell);
  }
  return FNZ_OK;
}
