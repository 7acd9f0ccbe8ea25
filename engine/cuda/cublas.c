/* cublas.c - products of matrices by cuBLASLt.
 *
 * Its matrices are column-major. A row-major matrix is the transpose of a column-major one, so it
 * computes the transposed product: d' = b' a'. */
#include "engine/cuda/libraries.h"

#include <stddef.h>

enum {
#define CUBLAS_NUMBER(name, theirs, value) name = value,
#include "engine/cuda/numbers.def"
#undef CUBLAS_NUMBER
};

static const fnzi_load_symbol symbols[] = {
#define CUBLAS(member, symbol, arguments) {#symbol, offsetof(fnzi_cuda_cublas, member)},
#include "engine/cuda/libraries.def"
#undef CUBLAS
};

/* Converts a status of the library. An invalid value means that this release does not support the
 * call. */
static fnz_status cublas_status_of(fnz_context *ctx, int status, const char *step,
                                   const char *what) {
  static const char *const names[] = {
      [NOT_INITIALIZED] = "not initialized", [ALLOC_FAILED] = "allocation failed",
      [INVALID_VALUE] = "invalid value",     [ARCH_MISMATCH] = "architecture mismatch",
      [MAPPING_ERROR] = "mapping error",     [EXECUTION_FAILED] = "execution failed",
      [INTERNAL_ERROR] = "internal error",   [NOT_SUPPORTED] = "not supported",
      [LICENSE_ERROR] = "license error"};
  bool known = status >= 0 && (size_t)status < sizeof names / sizeof *names && names[status];
  bool lacks = status == NOT_SUPPORTED || status == ARCH_MISMATCH || status == INVALID_VALUE;
  if (status == SUCCESS)
    return FNZ_OK;
  if (status == ALLOC_FAILED)
    return fnzi_no_memory(ctx);
  return fnzi_fail(ctx, lacks ? FNZ_CLASS_UNSUPPORTED : FNZ_CLASS_INTERNAL, step,
                   "cuBLASLt gave error %d (%s) when %s", status,
                   known ? names[status] : "unknown error", what);
}

/* --- The library ------------------------------------------------------------------------------ */
static fnz_status cublas_start(fnz_context *ctx, void *table) {
  fnzi_cuda_cublas *cublas = table;
  return cublas_status_of(ctx, cublas->create(&cublas->handle), NULL, "it was started");
}

fnz_status fnzi_cuda_cublas_open(fnz_context *ctx, fnzi_cuda_cublas *out) {
  static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12", NULL};
  static const fnzi_load_spec spec = {
      names,
      "neither libcublasLt.so.13 nor libcublasLt.so.12 can be used, which come with the packages "
      "libcublas-13-0 (NVIDIA's), libcublaslt12 (Debian's) and nvidia-cublas (Python's); put the "
      "folder of one into LD_LIBRARY_PATH",
      symbols, sizeof symbols / sizeof *symbols, cublas_start};
  *out = (fnzi_cuda_cublas){.library = NULL};
  return fnzi_load_open(ctx, &spec, out, &out->library);
}

void fnzi_cuda_cublas_close(fnzi_cuda_cublas *cublas) {
  if (cublas->handle)
    cublas->destroy(cublas->handle);
  cublas->handle = NULL;
  fnzi_load_close(cublas->library);
  cublas->library = NULL;
}

/* --- Layouts ---------------------------------------------------------------------------------- */
typedef struct builder {
  fnz_context *ctx;
  const fnzi_cuda_cublas *cublas;
  const char *step;
  const fnzi_cuda_product *p;
  fnzi_cuda_product_plan *out;
} builder;

static int cublas_type_of(fnz_dtype dtype) {
  return dtype == FNZ_F32 ? R_32F : dtype == FNZ_F64 ? R_64F : dtype == FNZ_F16 ? R_16F : R_16BF;
}

/* A matrix as a column-major one of lines `lead` apart: its transpose, or itself. */
typedef struct lying {
  bool is_itself;
  int64_t lead;
} lying;

static bool is_dense(int64_t rows, int64_t cols, int64_t row, int64_t col) {
  return (cols == 1 || col == 1) && (rows == 1 || row >= cols);
}

static fnz_status make_layout(const builder *m, const fnzi_cuda_matrix *matrix, int64_t rows,
                              int64_t cols, void **out, bool *is_itself) {
  const fnzi_cuda_product *p = m->p;
  lying l;
  int32_t count = (int32_t)p->count;
  l.is_itself = !is_dense(rows, cols, matrix->row, matrix->col);
  if (l.is_itself && !is_dense(cols, rows, matrix->col, matrix->row))
    return fnzi_fail(m->ctx, FNZ_CLASS_UNSUPPORTED, m->step,
                     "cuBLASLt takes no matrix of %lld by %lld with strides %lld and %lld",
                     (long long)rows, (long long)cols, (long long)matrix->row,
                     (long long)matrix->col);
  const int64_t lines = l.is_itself ? cols : rows, length = l.is_itself ? rows : cols;
  l.lead = lines == 1    ? length /* the stride of one line may be anything */
           : l.is_itself ? matrix->col
                         : matrix->row;
  *is_itself = l.is_itself;
  FNZ_TRY(cublas_status_of(m->ctx,
                           m->cublas->layout_make(out, cublas_type_of(p->dtype), (uint64_t)length,
                                                  (uint64_t)lines, l.lead),
                           m->step, "a layout was made"));
  if (p->count == 1)
    return FNZ_OK;
  FNZ_TRY(cublas_status_of(m->ctx, m->cublas->layout_set(*out, BATCH_COUNT, &count, sizeof count),
                           m->step, "a batch was given"));
  return cublas_status_of(
      m->ctx, m->cublas->layout_set(*out, BATCH_OFFSET, &matrix->batch, sizeof matrix->batch),
      m->step, "a batch was given");
}

/* --- Products --------------------------------------------------------------------------------- */
static fnzi_cuda_matrix transposed(fnzi_cuda_matrix m) {
  return (fnzi_cuda_matrix){m.col, m.row, m.batch, m.align};
}

/* If columns of the result are contiguous, not rows, replaces the product by that of the transposed
 * matrices: d' = b' a'. */
static bool transpose(fnzi_cuda_product *p) {
  if (p->has_bias || is_dense(p->m, p->n, p->d.row, p->d.col))
    return false;
  const fnzi_cuda_product was = *p;
  p->m = was.n, p->n = was.m;
  p->a = transposed(was.b), p->b = transposed(was.a);
  p->c = transposed(was.c), p->d = transposed(was.d);
  return true;
}

static fnz_status set_product(const builder *m, int attribute, int32_t value) {
  return cublas_status_of(m->ctx,
                          m->cublas->product_set(m->out->product, attribute, &value, sizeof value),
                          m->step, "a product was described");
}

/* Sets the address of the bias. This is also done before the library chooses an algorithm, because
 * the address shows the alignment of later addresses. */
static fnz_status give_bias(fnz_context *ctx, const fnzi_cuda_cublas *cublas, const char *step,
                            const fnzi_cuda_product_plan *plan, uint64_t at) {
  return cublas_status_of(ctx, cublas->product_set(plan->product, BIAS_POINTER, &at, sizeof at),
                          step, "a bias was given");
}

static fnz_status cublas_describe(const builder *m) {
  const fnzi_cuda_product *p = m->p;
  fnzi_cuda_product_plan *out = m->out;
  bool is_f64 = p->dtype == FNZ_F64, transposes_a, transposes_b, transposes_c = false, transposes_d;
  int compute = is_f64                ? COMPUTE_64F_PEDANTIC
                : p->dtype == FNZ_F32 ? COMPUTE_32F_PEDANTIC
                                      : COMPUTE_32F;
  FNZ_TRY(cublas_status_of(m->ctx,
                           m->cublas->product_make(&out->product, compute, is_f64 ? R_64F : R_32F),
                           m->step, "a product was described"));
  FNZ_TRY(make_layout(m, &p->b, p->k, p->n, &out->a, &transposes_a));
  FNZ_TRY(make_layout(m, &p->a, p->m, p->k, &out->b, &transposes_b));
  FNZ_TRY(make_layout(m, &p->d, p->m, p->n, &out->d, &transposes_d));
  FNZ_TRY(make_layout(m, p->beta != 0 ? &p->c : &p->d, p->m, p->n, &out->c, &transposes_c));
  if (transposes_c || transposes_d)
    return fnzi_fail(m->ctx, FNZ_CLASS_UNSUPPORTED, m->step,
                     "cuBLASLt takes no result whose columns lie one after the other beside "
                     "something added whose rows do");
  FNZ_TRY(set_product(m, TRANSPOSE_A, transposes_a ? TRANSPOSED : AS_IT_LIES));
  FNZ_TRY(set_product(m, TRANSPOSE_B, transposes_b ? TRANSPOSED : AS_IT_LIES));
  if (!p->has_bias)
    return FNZ_OK;
  FNZ_TRY(set_product(m, EPILOGUE, EPILOGUE_BIAS));
  FNZ_TRY(set_product(m, BIAS_TYPE, cublas_type_of(p->dtype)));
  return give_bias(m->ctx, m->cublas, m->step, out, FNZI_CUDA_BIAS_ALIGN);
}

static fnz_status set_preference(const builder *m, void *preference, int attribute,
                                 uint32_t value) {
  return cublas_status_of(m->ctx,
                          m->cublas->preference_set(preference, attribute, &value, sizeof value),
                          m->step, "an algorithm was described");
}

/* All that the choice of an algorithm depends on, without padding. */
typedef struct question {
  int64_t library, dtype, m, n, k, count, numbers[4][4], beta, bias;
} question;

typedef struct answers {
  fnzi_cuda_product_choice choice;
  int status, count;
} answers;

/* Asks the library for an algorithm, or finds an earlier answer. The caller has the lock. */
static void cublas_query(const builder *m, void *preference, answers *out) {
  const fnzi_cuda_product *p = m->p;
  const fnzi_cuda_matrix *all[] = {&p->a, &p->b, p->beta != 0 ? &p->c : &p->d, &p->d};
  question q = {'L', p->dtype, p->m, p->n, p->k, p->count, {{0}}, p->beta != 0, p->has_bias};
  for (int i = 0; i < 4; i++) {
    q.numbers[i][0] = all[i]->row, q.numbers[i][1] = all[i]->col;
    q.numbers[i][2] = all[i]->batch, q.numbers[i][3] = all[i]->align;
  }
  const fnzi_cuda_cublas *lib = m->cublas;
  fnzi_cuda_product_plan *plan = m->out;
  memset(out, 0, sizeof *out);
  if (fnzi_cuda_shared_knows(lib->shared, &q, sizeof q, out, sizeof *out))
    return;
  out->status = lib->choose(lib->handle, plan->product, plan->a, plan->b, plan->c, plan->d,
                            preference, 1, &out->choice, &out->count);
  if (out->status != ALLOC_FAILED)
    fnzi_cuda_shared_note(lib->shared, &q, sizeof q, out, sizeof *out);
}

static fnz_status cublas_choose(const builder *m, void *preference) {
  const uint64_t most = (uint64_t)32 << 20;
  const fnzi_cuda_product *p = m->p;
  answers s;
  FNZ_TRY(cublas_status_of(m->ctx,
                           m->cublas->preference_set(preference, MOST_SCRATCH, &most, sizeof most),
                           m->step, "an algorithm was described"));
  /* Parts of a sum are joined in the type in which they are computed, in a fixed order. */
  FNZ_TRY(set_preference(m, preference, REDUCTIONS, REDUCES_AS_COMPUTED));
  FNZ_TRY(set_preference(m, preference, ALIGN_A, p->b.align));
  FNZ_TRY(set_preference(m, preference, ALIGN_B, p->a.align));
  FNZ_TRY(set_preference(m, preference, ALIGN_C, p->beta != 0 ? p->c.align : p->d.align));
  FNZ_TRY(set_preference(m, preference, ALIGN_D, p->d.align));
  fnzi_cuda_shared_lock(m->cublas->shared);
  cublas_query(m, preference, &s);
  fnzi_cuda_shared_unlock(m->cublas->shared);
  m->out->choice = s.choice;
  FNZ_TRY(cublas_status_of(m->ctx, s.status, m->step, "it was asked for an algorithm"));
  return cublas_status_of(m->ctx, s.count < 1 ? NOT_SUPPORTED : s.choice.state, m->step,
                          "it was asked for an algorithm");
}

static fnz_status cublas_make(const builder *m) {
  void *preference = NULL;
  FNZ_TRY(cublas_describe(m));
  FNZ_TRY(cublas_status_of(m->ctx, m->cublas->preference_make(&preference), m->step,
                           "an algorithm was described"));
  fnz_status status = cublas_choose(m, preference);
  m->cublas->preference_end(preference);
  return status;
}

fnz_status fnzi_cuda_product_make(fnz_context *ctx, const fnzi_cuda_cublas *cublas,
                                  const char *step, const fnzi_cuda_product *product,
                                  fnzi_cuda_product_plan *out) {
  fnzi_cuda_product p = *product;
  *out = (fnzi_cuda_product_plan){.dtype = p.dtype,
                                  .alpha = p.alpha,
                                  .beta = p.beta,
                                  .has_bias = p.has_bias,
                                  .is_transposed = transpose(&p)};
  const builder m = {ctx, cublas, step, &p, out};
  if (p.count > INT32_MAX)
    return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, step, "cuBLASLt takes no batch of %lld products",
                     (long long)p.count);
  fnz_status status = cublas_make(&m);
  if (status != FNZ_OK)
    fnzi_cuda_product_end(cublas, out);
  return status;
}

void fnzi_cuda_product_end(const fnzi_cuda_cublas *cublas, fnzi_cuda_product_plan *plan) {
  void **const layouts[] = {&plan->a, &plan->b, &plan->c, &plan->d};
  for (int k = 0; k < 4; k++) {
    if (*layouts[k])
      cublas->layout_end(*layouts[k]);
    *layouts[k] = NULL;
  }
  if (plan->product)
    cublas->product_end(plan->product);
  plan->product = NULL;
}

/* Factors have the type in which sums are formed. */
fnz_status fnzi_cuda_product_run(fnz_context *ctx, const fnzi_cuda_cublas *cublas, const char *step,
                                 const fnzi_cuda_product_plan *plan,
                                 const fnzi_cuda_product_addresses *addresses, void *stream) {
  const float floats[] = {(float)plan->alpha, (float)plan->beta};
  const double doubles[] = {plan->alpha, plan->beta};
  bool is_f64 = plan->dtype == FNZ_F64;
  const void *alpha = is_f64 ? (const void *)doubles : floats,
             *beta = is_f64 ? (const void *)(doubles + 1) : floats + 1;
  if (plan->has_bias)
    FNZ_TRY(give_bias(ctx, cublas, step, plan, addresses->bias));
  fnzi_cuda_shared_lock(cublas->shared);
  int status = cublas->run(
      cublas->handle, plan->product, alpha, plan->is_transposed ? addresses->a : addresses->b,
      plan->a, plan->is_transposed ? addresses->b : addresses->a, plan->b, beta,
      plan->beta != 0 ? addresses->c : addresses->d, plan->c, addresses->d, plan->d,
      plan->choice.algorithm, addresses->scratch, plan->choice.scratch, stream);
  fnzi_cuda_shared_unlock(cublas->shared);
  return cublas_status_of(ctx, status, step, "a product was started");
}
