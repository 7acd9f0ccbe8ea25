/* cudnn.c - convolutions and their gradients by cuDNN. */
#include "engine/cuda/libraries.h"

#include <stddef.h>

enum {
#define CUDNN_NUMBER(name, theirs, value) name = value,
#include "engine/cuda/numbers.def"
#undef CUDNN_NUMBER
  CHOICES = 8
};

static const fnzi_load_symbol symbols[] = {
#define CUDNN(member, symbol, arguments) {#symbol, offsetof(fnzi_cuda_cudnn, member)},
#include "engine/cuda/libraries.def"
#undef CUDNN
};

static bool is_for_memory(int status) {
  return status == NO_MEMORY || status == NO_DEVICE_MEMORY;
}

/* Thousands are classes of errors. A bad parameter is what this release does not take. */
static fnz_status cudnn_status_of(fnz_context *ctx, int status, const char *step,
                                  const char *what) {
  static const char *const names[] = {"",
                                      "cuDNN cannot be used",
                                      "bad parameter",
                                      "not supported",
                                      "internal error",
                                      "execution failed"};
  int kind = status / 1000;
  if (status == 0)
    return FNZ_OK;
  if (is_for_memory(status))
    return fnzi_no_memory(ctx);
  bool lacks = kind == BAD_PARAMETER / 1000 || kind == NOT_SUPPORTED / 1000 || status == NO_PART ||
               status == NO_PART_LOADED;
  return fnzi_fail(ctx, lacks ? FNZ_CLASS_UNSUPPORTED : FNZ_CLASS_INTERNAL, step,
                   "cuDNN gave error %d (%s) when %s", status,
                   kind >= 1 && kind <= 5 ? names[kind] : "unknown error", what);
}

/* --- The library ------------------------------------------------------------------------------ */
static fnz_status begin(fnz_context *ctx, void *table) {
  fnzi_cuda_cudnn *cudnn = table;
  return cudnn_status_of(ctx, cudnn->create(&cudnn->handle), NULL, "it was started");
}

fnz_status fnzi_cuda_cudnn_open(fnz_context *ctx, fnzi_cuda_cudnn *out) {
  static const char *const names[] = {"libcudnn.so.9", NULL};
  static const fnzi_load_spec spec = {
      names,
      "libcudnn.so.9 cannot be used, which comes with the packages libcudnn9-cuda-13 (NVIDIA's), "
      "nvidia-cudnn (Debian's) and nvidia-cudnn-cu13 (Python's); put its folder into "
      "LD_LIBRARY_PATH",
      symbols, sizeof symbols / sizeof *symbols, begin};
  *out = (fnzi_cuda_cudnn){.library = NULL};
  return fnzi_load_open(ctx, &spec, out, &out->library);
}

void fnzi_cuda_cudnn_close(fnzi_cuda_cudnn *cudnn) {
  if (cudnn->handle)
    cudnn->destroy(cudnn->handle);
  cudnn->handle = NULL;
  fnzi_load_close(cudnn->library);
  cudnn->library = NULL;
}

/* --- Descriptors ------------------------------------------------------------------------------ */
typedef struct builder {
  fnz_context *ctx;
  const fnzi_cuda_cudnn *cudnn;
  const char *step;
  const fnzi_cuda_conv *c;
  fnzi_cuda_conv_plan *out;
} builder;

static int cudnn_type_of(fnz_dtype dtype) {
  return dtype == FNZ_F32   ? DATA_FLOAT
         : dtype == FNZ_F64 ? DATA_DOUBLE
         : dtype == FNZ_F16 ? DATA_HALF
                            : DATA_BFLOAT16;
}

static fnz_status refuse(const builder *m, const char *what, int64_t number) {
  return fnzi_fail(m->ctx, FNZ_CLASS_UNSUPPORTED, m->step, "cuDNN takes no %s of %lld", what,
                   (long long)number);
}

/* Converts sizes or strides to cuDNN's int. cuDNN has no convolutions over one dimension, so these
 * get a dimension `alone` after the leading ones. */
static fnz_status narrow(const builder *m, const char *what, const int64_t *from, uint32_t lead,
                         int alone, int *to) {
  uint32_t count = lead + m->c->spatial, at = 0;
  for (uint32_t k = 0; k < count; k++) {
    if (k == lead && m->c->spatial == 1)
      to[at++] = alone;
    if (from[k] < 0 || from[k] > INT32_MAX)
      return refuse(m, what, from[k]);
    to[at++] = (int)from[k];
  }
  return FNZ_OK;
}

static int rank_of(const fnzi_cuda_conv *c) {
  return c->spatial == 1 ? 4 : (int)c->spatial + 2;
}

/* Dimension k from the last one, of channels last or of channels first. */
static uint32_t dim_of(uint32_t rank, uint32_t k, bool channels_last) {
  if (!channels_last || k + 1 == rank)
    return rank - 1 - k;
  return k == 0 ? 1 : rank - k;
}

static fnz_status set_tensor(const builder *m, void *tensor, const int64_t *sizes,
                             const int64_t *strides) {
  int size[FNZI_CUDA_CONV_DIMS], stride[FNZI_CUDA_CONV_DIMS];
  int64_t effective[FNZI_CUDA_CONV_DIMS], next = 1;
  /* Dimensions of size one get a contiguous tensor's strides, because theirs may be anything. */
  for (uint32_t k = 0; k < m->c->spatial + 2; k++) {
    uint32_t d = dim_of(m->c->spatial + 2, k, sizes[1] > 1 && strides[1] == 1);
    effective[d] = sizes[d] == 1 ? next : strides[d];
    if (!fnzi_mul_i64(effective[d], sizes[d], &next))
      next = INT64_MAX;
  }
  for (uint32_t k = 0; k < m->c->spatial + 2; k++)
    if (effective[k] < 1)
      return refuse(m, "stride", effective[k]);
  FNZ_TRY(narrow(m, "size", sizes, 2, 1, size));
  FNZ_TRY(narrow(m, "stride", effective, 2, 1, stride));
  if (m->c->spatial == 1) {
    int64_t step;
    if (!fnzi_mul_i64(size[3], stride[3], &step) || step > INT32_MAX)
      return refuse(m, "size", size[3]);
    stride[2] = (int)step;
  }
  return cudnn_status_of(
      m->ctx, m->cudnn->tensor_set(tensor, cudnn_type_of(m->c->dtype), rank_of(m->c), size, stride),
      m->step, "a tensor was described");
}

/* Returns whether the weight is contiguous in this order. */
static bool is_layout(const fnzi_cuda_conv *c, bool channels_last) {
  int64_t size = 1;
  uint32_t rank = c->spatial + 2;
  for (uint32_t k = 0; k < rank; k++) {
    uint32_t d = dim_of(rank, k, channels_last);
    if (c->weight[d] != 1 && c->weight_strides[d] != size)
      return false;
    if (!fnzi_mul_i64(size, c->weight[d], &size))
      return false;
  }
  return true;
}

/* Returns whether this padding on both sides gives the result's size. */
static bool is_even(const fnzi_cuda_conv *c, uint32_t k) {
  int64_t in = c->transposed ? c->y[2 + k] : c->x[2 + k],
          out = c->transposed ? c->x[2 + k] : c->y[2 + k];
  int64_t reach, padded, capacity;
  return fnzi_mul_i64(c->weight[2 + k] - 1, c->dilation[k], &reach) &&
         fnzi_mul_i64(c->padding[k], 2, &padded) && fnzi_add_i64(in, padded, &capacity) &&
         fnzi_add_i64(capacity, -reach - 1, &capacity) && capacity >= 0 &&
         capacity / c->stride[k] + 1 == out;
}

static fnz_status set_conv(const builder *m) {
  const fnzi_cuda_conv *c = m->c;
  int padding[3], stride[3], dilation[3];
  int compute = c->dtype == FNZ_F64 ? DATA_DOUBLE : DATA_FLOAT;
  for (uint32_t k = 0; k < c->spatial; k++)
    if (!is_even(c, k))
      return refuse(m, "padding that is not the same on both sides: one", c->padding[k]);
  FNZ_TRY(narrow(m, "padding", c->padding, 0, 0, padding));
  FNZ_TRY(narrow(m, "stride", c->stride, 0, 1, stride));
  FNZ_TRY(narrow(m, "dilation", c->dilation, 0, 1, dilation));
  if (c->groups > INT32_MAX)
    return refuse(m, "number of groups", c->groups);
  FNZ_TRY(cudnn_status_of(m->ctx,
                          m->cudnn->conv_set(m->out->conv, rank_of(c) - 2, padding, stride,
                                             dilation, CROSS_CORRELATION, compute),
                          m->step, "a convolution was described"));
  return cudnn_status_of(m->ctx, m->cudnn->conv_groups(m->out->conv, (int)c->groups), m->step,
                         "groups were given");
}

static fnz_status cudnn_describe(const builder *m) {
  fnzi_cuda_conv_plan *out = m->out;
  const char *what = "a descriptor was made";
  FNZ_TRY(cudnn_status_of(m->ctx, m->cudnn->tensor_make(&out->x), m->step, what));
  FNZ_TRY(cudnn_status_of(m->ctx, m->cudnn->tensor_make(&out->y), m->step, what));
  FNZ_TRY(cudnn_status_of(m->ctx, m->cudnn->weight_make(&out->weight), m->step, what));
  FNZ_TRY(cudnn_status_of(m->ctx, m->cudnn->conv_make(&out->conv), m->step, what));
  FNZ_TRY(set_conv(m));
  FNZ_TRY(set_tensor(m, out->x, m->c->x, m->c->x_strides));
  FNZ_TRY(set_tensor(m, out->y, m->c->y, m->c->y_strides));
  int size[FNZI_CUDA_CONV_DIMS];
  bool first = is_layout(m->c, false);
  if (!first && !is_layout(m->c, true))
    return fnzi_fail(m->ctx, FNZ_CLASS_UNSUPPORTED, m->step,
                     "cuDNN takes no weight that has gaps or is transposed");
  FNZ_TRY(narrow(m, "size", m->c->weight, 2, 1, size));
  return cudnn_status_of(m->ctx,
                         m->cudnn->weight_set(out->weight, cudnn_type_of(m->c->dtype),
                                              first ? CHANNELS_FIRST : CHANNELS_LAST, rank_of(m->c),
                                              size),
                         m->step, "a weight was described");
}

/* --- Algorithms ------------------------------------------------------------------------------- */
static bool is_half(const fnzi_cuda_conv *c) {
  return c->dtype == FNZ_F16 || c->dtype == FNZ_BF16;
}

/* The same result in each run, elements as they are, room that there is. Products as such:
 * transforms (FFT, Winograd) would spread a NaN, and err by more. */
static bool serves(const builder *m, const fnzi_cuda_conv_choice *choice) {
  const size_t most = (size_t)256 << 20;
  bool exact = choice->math == MATH_DEFAULT || choice->math == MATH_FMA ||
               (choice->math == MATH_TENSOR && is_half(m->c));
  bool direct = m->c->of_weight    ? choice->algorithm == BACK_TO_WEIGHT
                : m->c->transposed ? choice->algorithm == BACK_TO_DATA
                                   : choice->algorithm <= LAST_FORWARD;
  return choice->status == 0 && choice->determinism == DETERMINISTIC && exact && direct &&
         choice->scratch <= most;
}

static fnz_status set_math(const builder *m, int math) {
  return cudnn_status_of(m->ctx, m->cudnn->conv_math(m->out->conv, math), m->step,
                         "the kind of numbers was given");
}

/* All that the choice of an algorithm depends on, without padding. */
typedef struct question {
  int64_t library, dtype, spatial, transposed, adds, of_weight, groups;
  int64_t lists[6][FNZI_CUDA_CONV_DIMS], steps[3][3];
} question;

static question cudnn_question_of(const fnzi_cuda_conv *c) {
  const int64_t *const lists[] = {c->x,         c->x_strides, c->y,
                                  c->y_strides, c->weight,    c->weight_strides},
                       *const steps[] = {c->padding, c->stride, c->dilation};
  question q = {.library = 'N',
                .dtype = c->dtype,
                .spatial = c->spatial,
                .transposed = c->transposed,
                .adds = c->adds,
                .of_weight = c->of_weight,
                .groups = c->groups};
  for (int i = 0; i < 6; i++)
    memcpy(q.lists[i], lists[i], (c->spatial + 2) * sizeof **lists);
  for (int i = 0; i < 3; i++)
    memcpy(q.steps[i], steps[i], c->spatial * sizeof **steps);
  return q;
}

typedef struct answers {
  fnzi_cuda_conv_choice choices[CHOICES];
  int status, count;
} answers;

/* Asks the library for algorithms, or finds an earlier answer. The caller has the lock. */
static void query_once(const builder *m, answers *out) {
  const question q = cudnn_question_of(m->c);
  const fnzi_cuda_conv_plan *p = m->out;
  const fnzi_cuda_cudnn *lib = m->cudnn;
  memset(out, 0, sizeof *out);
  if (fnzi_cuda_shared_knows(lib->shared, &q, sizeof q, out, sizeof *out))
    return;
  if (m->c->of_weight)
    out->status = lib->choose_weight(lib->handle, p->x, p->y, p->conv, p->weight, CHOICES,
                                     &out->count, out->choices);
  else if (m->c->transposed)
    out->status = lib->choose_back(lib->handle, p->weight, p->x, p->conv, p->y, CHOICES,
                                   &out->count, out->choices);
  else
    out->status = lib->choose(lib->handle, p->x, p->weight, p->conv, p->y, CHOICES, &out->count,
                              out->choices);
  if (!is_for_memory(out->status))
    fnzi_cuda_shared_note(lib->shared, &q, sizeof q, out, sizeof *out);
}

static fnz_status cudnn_choose(const builder *m) {
  fnzi_cuda_conv_plan *out = m->out;
  answers s;
  FNZ_TRY(set_math(m, is_half(m->c) ? MATH_TENSOR : MATH_FMA));
  fnzi_cuda_shared_lock(m->cudnn->shared);
  query_once(m, &s);
  fnzi_cuda_shared_unlock(m->cudnn->shared);
  FNZ_TRY(cudnn_status_of(m->ctx, s.status, m->step, "it was asked for an algorithm"));
  for (int k = 0; k < s.count && k < CHOICES; k++)
    if (serves(m, &s.choices[k])) {
      out->choice = s.choices[k];
      return is_half(m->c) ? set_math(m, s.choices[k].math) : FNZ_OK;
    }
  return fnzi_fail(m->ctx, FNZ_CLASS_UNSUPPORTED, m->step,
                   "cuDNN has no algorithm for it that gives the same result in each run");
}

fnz_status fnzi_cuda_conv_make(fnz_context *ctx, const fnzi_cuda_cudnn *cudnn, const char *step,
                               const fnzi_cuda_conv *conv, fnzi_cuda_conv_plan *out) {
  const builder m = {ctx, cudnn, step, conv, out};
  *out = (fnzi_cuda_conv_plan){.dtype = conv->dtype,
                               .transposed = conv->transposed,
                               .adds = conv->adds,
                               .of_weight = conv->of_weight};
  fnz_status status = cudnn_describe(&m);
  if (status == FNZ_OK)
    status = cudnn_choose(&m);
  if (status != FNZ_OK)
    fnzi_cuda_conv_end(cudnn, out);
  return status;
}

void fnzi_cuda_conv_end(const fnzi_cuda_cudnn *cudnn, fnzi_cuda_conv_plan *plan) {
  if (plan->x)
    cudnn->tensor_end(plan->x);
  if (plan->y)
    cudnn->tensor_end(plan->y);
  if (plan->weight)
    cudnn->weight_end(plan->weight);
  if (plan->conv)
    cudnn->conv_end(plan->conv);
  plan->x = plan->y = plan->weight = plan->conv = NULL;
}

static int cudnn_start(const fnzi_cuda_cudnn *cudnn, const fnzi_cuda_conv_plan *p,
                       const fnzi_cuda_conv_addresses *addresses, const void *one,
                       const void *beta) {
  if (p->of_weight)
    return cudnn->run_weight(cudnn->handle, one, p->x, addresses->x, p->y, addresses->y, p->conv,
                             p->choice.algorithm, addresses->scratch, p->choice.scratch, beta,
                             p->weight, addresses->weight);
  if (p->transposed)
    return cudnn->run_back(cudnn->handle, one, p->weight, addresses->weight, p->x, addresses->x,
                           p->conv, p->choice.algorithm, addresses->scratch, p->choice.scratch,
                           beta, p->y, addresses->y);
  return cudnn->run(cudnn->handle, one, p->x, addresses->x, p->weight, addresses->weight, p->conv,
                    p->choice.algorithm, addresses->scratch, p->choice.scratch, beta, p->y,
                    addresses->y);
}

fnz_status fnzi_cuda_conv_run(fnz_context *ctx, const fnzi_cuda_cudnn *cudnn, const char *step,
                              const fnzi_cuda_conv_plan *p,
                              const fnzi_cuda_conv_addresses *addresses, void *stream) {
  static const float floats[] = {0, 1};
  static const double doubles[] = {0, 1};
  bool is_f64 = p->dtype == FNZ_F64;
  const void *one = is_f64 ? (const void *)(doubles + 1) : floats + 1,
             *beta = is_f64 ? (const void *)(doubles + p->adds) : floats + p->adds;
  fnzi_cuda_shared_lock(cudnn->shared);
  fnz_status status =
      cudnn_status_of(ctx, cudnn->stream_set(cudnn->handle, stream), step, "a stream was given");
  if (status == FNZ_OK)
    status = cudnn_status_of(ctx, cudnn_start(cudnn, p, addresses, one, beta), step,
                             "a convolution was started");
  fnzi_cuda_shared_unlock(cudnn->shared);
  return status;
}
