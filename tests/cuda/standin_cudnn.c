/* standin_cudnn.c - a libcudnn.so.9 that computes on the host. Descriptors are looked at against
 * each other and against the memory of the stand-in for the driver.
 *
 * STANDIN_CUDNN in the environment makes it fail: "create", "memory", "choose" (not supported),
 * "none" (no algorithm that gives the same in each run), "run". */
#include "kernels/core/half.h"
#include "kernels/meta/conv_source.h"
#include "tests/cuda/standin_library.h"

#include <stdlib.h>
#include <string.h>

enum {
  SUCCESS,
  NOT_INITIALIZED = 1001,
  BAD_PARAM = 2000,
  NOT_SUPPORTED = 3000,
  NO_MEMORY = 4003,
  EXECUTION_FAILED = 5000
};
enum { FLOAT = 0, DOUBLE = 1, HALF = 2, BFLOAT16 = 9 };
enum { MOST = 5, ALGORITHM = 1, TRANSFORMS = 6, SCRATCH = 1024 };

typedef struct tensor {
  int type, rank, sizes[MOST], strides[MOST];
  bool is_weight;
} tensor;

typedef struct conv {
  int rank, padding[3], stride[3], dilation[3], compute, groups, math;
} conv;

typedef struct choice {
  int algorithm, status;
  float time;
  size_t memory;
  int determinism, math, reserved[3];
} choice;

typedef struct call {
  tensor x, weight, y;
  conv conv;
  bool back;
  double beta;
  uint64_t at_x, at_weight, at_y, scratch;
  bool of_weight;
} call;

static standin_library_counts counts;
static void *stream;

void standin_cudnn_counts(standin_library_counts *out);
void standin_cudnn_counts(standin_library_counts *out) {
  *out = counts;
}

static bool fails(const char *how) {
  const char *text = getenv("STANDIN_CUDNN");
  return text && strcmp(text, how) == 0;
}

static int make(void **out, size_t bytes) {
  *out = calloc(1, bytes);
  if (!*out)
    return NO_MEMORY;
  counts.held++;
  return SUCCESS;
}

static int end(void *what) {
  free(what);
  counts.held--;
  return what ? SUCCESS : BAD_PARAM;
}

static int refuse(void) {
  counts.refused++;
  return BAD_PARAM;
}

int cudnnCreate(void **out);
int cudnnCreate(void **out) {
  if (fails("create") || fails("memory"))
    return fails("create") ? NOT_INITIALIZED : NO_MEMORY;
  counts.opened++;
  return make(out, 1);
}

int cudnnDestroy(void *handle);
int cudnnDestroy(void *handle) {
  return end(handle);
}

int cudnnSetStream(void *handle, void *to);
int cudnnSetStream(void *handle, void *to) {
  stream = to;
  return handle ? SUCCESS : BAD_PARAM;
}

/* --- Descriptors ------------------------------------------------------------------------------ */
int cudnnCreateTensorDescriptor(void **out);
int cudnnCreateTensorDescriptor(void **out) {
  return make(out, sizeof(tensor));
}

int cudnnDestroyTensorDescriptor(void *t);
int cudnnDestroyTensorDescriptor(void *t) {
  return end(t);
}

int cudnnSetTensorNdDescriptor(void *of, int type, int rank, const int *sizes, const int *strides);
int cudnnSetTensorNdDescriptor(void *of, int type, int rank, const int *sizes, const int *strides) {
  tensor *t = of;
  if (rank < 4 || rank > MOST)
    return refuse();
  *t = (tensor){.type = type, .rank = rank};
  for (int d = 0; d < rank; d++) {
    if (sizes[d] < 1 || strides[d] < 1)
      return refuse();
    t->sizes[d] = sizes[d];
    t->strides[d] = strides[d];
  }
  return SUCCESS;
}

int cudnnCreateFilterDescriptor(void **out);
int cudnnCreateFilterDescriptor(void **out) {
  return make(out, sizeof(tensor));
}

int cudnnDestroyFilterDescriptor(void *t);
int cudnnDestroyFilterDescriptor(void *t) {
  return end(t);
}

int cudnnSetFilterNdDescriptor(void *of, int type, int format, int rank, const int *sizes);
int cudnnSetFilterNdDescriptor(void *of, int type, int format, int rank, const int *sizes) {
  tensor *t = of;
  int step = 1;
  if (rank < 4 || rank > MOST || (format != 0 && format != 1))
    return refuse();
  *t = (tensor){.type = type, .rank = rank, .is_weight = true};
  for (int k = rank; k-- > 0;) {
    int d = format == 0 || k == 0 ? k : k + 1 == rank ? 1 : k + 1;
    t->sizes[d] = sizes[d];
    t->strides[d] = step;
    step *= sizes[d];
  }
  return SUCCESS;
}

int cudnnCreateConvolutionDescriptor(void **out);
int cudnnCreateConvolutionDescriptor(void **out) {
  return make(out, sizeof(conv));
}

int cudnnDestroyConvolutionDescriptor(void *c);
int cudnnDestroyConvolutionDescriptor(void *c) {
  return end(c);
}

int cudnnSetConvolutionNdDescriptor(void *of, int spatial, const int *padding, const int *stride,
                                    const int *dilation, int mode, int compute);
int cudnnSetConvolutionNdDescriptor(void *of, int spatial, const int *padding, const int *steps,
                                    const int *dilation, int mode, int compute) {
  conv *c = of;
  if (spatial < 2 || spatial > 3 || mode != 1)
    return refuse();
  *c = (conv){.rank = spatial, .compute = compute, .groups = 1};
  for (int d = 0; d < spatial; d++) {
    if (padding[d] < 0 || steps[d] < 1 || dilation[d] < 1)
      return refuse();
    c->padding[d] = padding[d];
    c->stride[d] = steps[d];
    c->dilation[d] = dilation[d];
  }
  return SUCCESS;
}

int cudnnSetConvolutionGroupCount(void *of, int groups);
int cudnnSetConvolutionGroupCount(void *of, int groups) {
  ((conv *)of)->groups = groups;
  return groups > 0 ? SUCCESS : BAD_PARAM;
}

int cudnnSetConvolutionMathType(void *of, int math);
int cudnnSetConvolutionMathType(void *of, int math) {
  ((conv *)of)->math = math;
  return math >= 0 && math <= 3 ? SUCCESS : BAD_PARAM;
}

/* --- Requests --------------------------------------------------------------------------------- */
/* `wide` is the tensor that the kernel moves over, `narrow` the result. */
static bool fits(const tensor *wide, const tensor *weight, const tensor *narrow, const conv *c) {
  bool is = weight->is_weight && !wide->is_weight && !narrow->is_weight &&
            wide->type == weight->type && wide->type == narrow->type && wide->rank == c->rank + 2 &&
            narrow->rank == wide->rank && weight->rank == wide->rank;
  is = is && wide->sizes[0] == narrow->sizes[0] && wide->sizes[1] == weight->sizes[1] * c->groups &&
       narrow->sizes[1] == weight->sizes[0] && weight->sizes[0] % c->groups == 0;
  for (int d = 0; is && d < c->rank; d++) {
    int room =
        wide->sizes[2 + d] + 2 * c->padding[d] - (c->dilation[d] * (weight->sizes[2 + d] - 1) + 1);
    is = room >= 0 && room / c->stride[d] + 1 == narrow->sizes[2 + d];
  }
  return is && c->compute == (wide->type == DOUBLE ? DOUBLE : FLOAT);
}

/* The first ones are none to take: not the same in each run, in other numbers, not there, no
 * products as such. */
static int choose(const tensor *wide, const tensor *weight, const tensor *narrow, const conv *c,
                  int wanted, int *count, choice *out) {
  bool is_half = wide->type == HALF || wide->type == BFLOAT16;
  const choice all[] = {{.determinism = 0, .math = c->math},
                        {.determinism = 1, .math = is_half ? 2 : 1},
                        {.determinism = 1, .math = c->math, .status = NOT_SUPPORTED},
                        {.algorithm = TRANSFORMS, .determinism = 1, .math = c->math},
                        {.algorithm = ALGORITHM,
                         .determinism = 1,
                         .math = c->math,
                         .memory = c->groups == 1 ? SCRATCH : 0}};
  if (fails("choose"))
    return NOT_SUPPORTED;
  if (wanted < 5 || !fits(wide, weight, narrow, c) || c->math != (is_half ? 1 : 3))
    return refuse();
  *count = fails("none") ? 4 : 5;
  memcpy(out, all, (size_t)*count * sizeof *all);
  return SUCCESS;
}

int cudnnGetConvolutionForwardAlgorithm_v7(void *handle, void *x, void *weight, void *c, void *y,
                                           int wanted, int *count, void *out);
int cudnnGetConvolutionForwardAlgorithm_v7(void *handle, void *x, void *weight, void *c, void *y,
                                           int wanted, int *count, void *out) {
  return handle ? choose(x, weight, y, c, wanted, count, out) : BAD_PARAM;
}

int cudnnGetConvolutionBackwardDataAlgorithm_v7(void *handle, void *weight, void *y, void *c,
                                                void *x, int wanted, int *count, void *out);
int cudnnGetConvolutionBackwardDataAlgorithm_v7(void *handle, void *weight, void *y, void *c,
                                                void *x, int wanted, int *count, void *out) {
  return handle ? choose(x, weight, y, c, wanted, count, out) : BAD_PARAM;
}

int cudnnGetConvolutionBackwardFilterAlgorithm_v7(void *handle, void *x, void *y, void *c,
                                                  void *weight, int wanted, int *count, void *out);
int cudnnGetConvolutionBackwardFilterAlgorithm_v7(void *handle, void *x, void *y, void *c,
                                                  void *weight, int wanted, int *count, void *out) {
  return handle ? choose(x, weight, y, c, wanted, count, out) : BAD_PARAM;
}

/* --- Computing -------------------------------------------------------------------------------- */
static size_t cell_of(int type) {
  return type == DOUBLE ? 8 : type == FLOAT ? 4 : 2;
}

static uint64_t place(const tensor *t, uint64_t at, const int64_t *index) {
  int64_t offset = 0;
  for (int d = 0; d < t->rank; d++)
    offset += index[d] * t->strides[d];
  return at + (uint64_t)offset * cell_of(t->type);
}

static double read_at(const tensor *t, uint64_t at, const int64_t *index) {
  const void *p = standin_bytes(place(t, at, index), cell_of(t->type), false, "a convolution");
  if (!p)
    return 0;
  return t->type == DOUBLE  ? *(const double *)p
         : t->type == FLOAT ? (double)*(const float *)p
         : t->type == HALF  ? (double)fnzi_krn_from_f16(*(const uint16_t *)p)
                            : (double)fnzi_krn_from_bf16(*(const uint16_t *)p);
}

static void write_at(const tensor *t, uint64_t at, const int64_t *index, double v) {
  void *p = standin_bytes(place(t, at, index), cell_of(t->type), true, "a convolution");
  if (!p)
    return;
  if (t->type == DOUBLE)
    *(double *)p = v;
  else if (t->type == FLOAT)
    *(float *)p = (float)v;
  else
    *(uint16_t *)p = t->type == HALF ? fnzi_krn_to_f16((float)v) : fnzi_krn_to_bf16((float)v);
}

/* The product of one element of the kernel, channel by channel of the group. */
static double look(const call *c, const int64_t *out, const int64_t *kernel) {
  int64_t in[MOST] = {out[0]}, w[MOST];
  int64_t outs = c->y.sizes[1] / c->conv.groups, ins = c->x.sizes[1] / c->conv.groups;
  int64_t group = out[1] / outs;
  double sum = 0;
  for (int d = 0; d < c->conv.rank; d++) {
    in[2 + d] = (c->back ? fnzi_meta_conv_source_back : fnzi_meta_conv_source)(
        out[2 + d], kernel[d], c->conv.stride[d], c->conv.dilation[d], c->conv.padding[d],
        c->x.sizes[2 + d]);
    w[2 + d] = kernel[d];
    if (in[2 + d] < 0)
      return 0;
  }
  for (int64_t i = 0; i < ins; i++) {
    in[1] = group * ins + i;
    w[0] = c->back ? in[1] : out[1];
    w[1] = c->back ? out[1] % outs : i;
    sum += read_at(&c->x, c->at_x, in) * read_at(&c->weight, c->at_weight, w);
  }
  return sum;
}

/* Row-major; false at the end. */
static bool next(int rank, const int *sizes, int64_t *index) {
  for (int d = rank; d-- > 0; index[d] = 0)
    if (++index[d] < sizes[d])
      return true;
  return false;
}

static void run(const void *what) {
  const call *c = what;
  int64_t out[MOST] = {0};
  if (c->scratch)
    standin_bytes(c->scratch, SCRATCH, true, "a convolution's scratch");
  do {
    int64_t kernel[3] = {0};
    double sum = c->beta != 0 ? read_at(&c->y, c->at_y, out) : 0;
    do
      sum += look(c, out, kernel);
    while (next(c->conv.rank, c->weight.sizes + 2, kernel));
    write_at(&c->y, c->at_y, out, sum);
  } while (next(c->y.rank, c->y.sizes, out));
  counts.runs++;
  counts.backward += c->back;
}

/* The gradient of an element of the weight: a sum over all places at which it is multiplied. */
static double gather_weight(const call *c, const int64_t *w) {
  int64_t out[MOST] = {0}, in[MOST];
  const int64_t outs = c->y.sizes[1] / c->conv.groups, ins = c->weight.sizes[1];
  double sum = 0;
  do {
    if (out[1] != w[0])
      continue;
    bool is_in = true;
    in[0] = out[0];
    in[1] = w[0] / outs * ins + w[1];
    for (int d = 0; d < c->conv.rank; d++) {
      in[2 + d] = fnzi_meta_conv_source(out[2 + d], w[2 + d], c->conv.stride[d],
                                        c->conv.dilation[d], c->conv.padding[d], c->x.sizes[2 + d]);
      is_in = is_in && in[2 + d] >= 0;
    }
    if (is_in)
      sum += read_at(&c->x, c->at_x, in) * read_at(&c->y, c->at_y, out);
  } while (next(c->y.rank, c->y.sizes, out));
  return sum;
}

static void run_weight(const void *what) {
  const call *c = what;
  int64_t w[MOST] = {0};
  if (c->scratch)
    standin_bytes(c->scratch, SCRATCH, true, "a convolution's scratch");
  do
    write_at(&c->weight, c->at_weight, w, gather_weight(c, w));
  while (next(c->weight.rank, c->weight.sizes, w));
  counts.runs++;
  counts.by_weight++;
}

static int start(call *c, void *handle, const void *alpha, const void *beta, int algorithm,
                 size_t scratch) {
  bool is_f64 = c->x.type == DOUBLE;
  double one = is_f64 ? *(const double *)alpha : (double)*(const float *)alpha;
  c->beta = is_f64 ? *(const double *)beta : (double)*(const float *)beta;
  if (!handle || !stream || algorithm != ALGORITHM || one != 1 ||
      (c->beta != 0 && (c->beta != 1 || c->of_weight)) ||
      scratch != (c->conv.groups == 1 ? SCRATCH : 0) || (scratch && c->scratch % 256 != 0) ||
      c->at_x % 16 != 0 || c->at_weight % 16 != 0 || c->at_y % 16 != 0 ||
      !fits(c->back ? &c->y : &c->x, &c->weight, c->back ? &c->x : &c->y, &c->conv))
    return refuse();
  if (fails("run"))
    return EXECUTION_FAILED;
  if (!scratch)
    c->scratch = 0;
  return standin_work(stream, c->of_weight ? run_weight : run, c, sizeof *c) ? EXECUTION_FAILED
                                                                             : SUCCESS;
}

int cudnnConvolutionForward(void *handle, const void *alpha, void *x_layout, uint64_t x,
                            void *weight_layout, uint64_t weight, void *c, int algorithm,
                            uint64_t scratch, size_t scratch_bytes, const void *beta,
                            void *y_layout, uint64_t y);
int cudnnConvolutionForward(void *handle, const void *alpha, void *x_layout, uint64_t x,
                            void *weight_layout, uint64_t weight, void *c, int algorithm,
                            uint64_t scratch, size_t scratch_bytes, const void *beta,
                            void *y_layout, uint64_t y) {
  call made = {*(tensor *)x_layout,
               *(tensor *)weight_layout,
               *(tensor *)y_layout,
               *(conv *)c,
               false,
               0,
               x,
               weight,
               y,
               scratch};
  return start(&made, handle, alpha, beta, algorithm, scratch_bytes);
}

int cudnnConvolutionBackwardData(void *handle, const void *alpha, void *weight_layout,
                                 uint64_t weight, void *x_layout, uint64_t x, void *c,
                                 int algorithm, uint64_t scratch, size_t scratch_bytes,
                                 const void *beta, void *y_layout, uint64_t y);
int cudnnConvolutionBackwardData(void *handle, const void *alpha, void *weight_layout,
                                 uint64_t weight, void *x_layout, uint64_t x, void *c,
                                 int algorithm, uint64_t scratch, size_t scratch_bytes,
                                 const void *beta, void *y_layout, uint64_t y) {
  call made = {*(tensor *)x_layout,
               *(tensor *)weight_layout,
               *(tensor *)y_layout,
               *(conv *)c,
               true,
               0,
               x,
               weight,
               y,
               scratch};
  return start(&made, handle, alpha, beta, algorithm, scratch_bytes);
}

int cudnnConvolutionBackwardFilter(void *handle, const void *alpha, void *x_layout, uint64_t x,
                                   void *y_layout, uint64_t y, void *c, int algorithm,
                                   uint64_t scratch, size_t scratch_bytes, const void *beta,
                                   void *weight_layout, uint64_t weight);
int cudnnConvolutionBackwardFilter(void *handle, const void *alpha, void *x_layout, uint64_t x,
                                   void *y_layout, uint64_t y, void *c, int algorithm,
                                   uint64_t scratch, size_t scratch_bytes, const void *beta,
                                   void *weight_layout, uint64_t weight) {
  call made = {.x = *(tensor *)x_layout,
               .weight = *(tensor *)weight_layout,
               .y = *(tensor *)y_layout,
               .conv = *(conv *)c,
               .at_x = x,
               .at_weight = weight,
               .at_y = y,
               .scratch = scratch,
               .of_weight = true};
  return start(&made, handle, alpha, beta, algorithm, scratch_bytes);
}
