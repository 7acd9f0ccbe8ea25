/* onednn.c - oneDNN, opened when a convolution, a large product or one of bytes first calls it.
 * Loading it, with OpenCL's loader and others, would take a quarter of the start-up time, and few
 * calls compute any of these.
 *
 * The library's calls end here and go on to the functions of the same names there; a call of a
 * function that has no row is not linked. A build with FNZ_LATE_ONEDNN=OFF is linked with oneDNN
 * instead and has no use for this file. */
#include <dlfcn.h>
#include <dnnl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TEXT(number)     NAME_WITH(number)
#define NAME_WITH(major) "libdnnl.so." #major
#define ONEDNN           TEXT(DNNL_VERSION_MAJOR)

#define LAYER_PARAMETERS(description)                                                              \
  (description * a, dnnl_prop_kind_t b, dnnl_alg_kind_t c, const dnnl_memory_desc_t *d,            \
   const dnnl_memory_desc_t *e, const dnnl_memory_desc_t *f, const dnnl_memory_desc_t *g,          \
   const dnnl_dims_t h, const dnnl_dims_t i, const dnnl_dims_t j, const dnnl_dims_t k)

#define PRODUCT_PARAMETERS(type)                                                                   \
  (char a, char b, char c, dnnl_dim_t d, dnnl_dim_t e, dnnl_dim_t f, float g, const type *h,       \
   dnnl_dim_t i, type j, const int8_t *k, dnnl_dim_t l, int8_t m, float n, int32_t *o,             \
   dnnl_dim_t p, const int32_t *q)

#define FUNCTION_ROWS(ROW)                                                                         \
  ROW(dnnl_status_t, dnnl_engine_create, (dnnl_engine_t * a, dnnl_engine_kind_t b, size_t c),      \
      (a, b, c))                                                                                   \
  ROW(dnnl_status_t, dnnl_engine_destroy, (dnnl_engine_t a), (a))                                  \
  ROW(dnnl_status_t, dnnl_stream_create, (dnnl_stream_t * a, dnnl_engine_t b, unsigned c),         \
      (a, b, c))                                                                                   \
  ROW(dnnl_status_t, dnnl_stream_destroy, (dnnl_stream_t a), (a))                                  \
  ROW(dnnl_status_t, dnnl_memory_create,                                                           \
      (dnnl_memory_t * a, const dnnl_memory_desc_t *b, dnnl_engine_t c, void *d), (a, b, c, d))    \
  ROW(dnnl_status_t, dnnl_memory_destroy, (dnnl_memory_t a), (a))                                  \
  ROW(dnnl_status_t, dnnl_memory_set_data_handle, (dnnl_memory_t a, void *b), (a, b))              \
  ROW(dnnl_status_t, dnnl_memory_desc_init_by_strides,                                             \
      (dnnl_memory_desc_t * a, int b, const dnnl_dims_t c, dnnl_data_type_t d,                     \
       const dnnl_dims_t e),                                                                       \
      (a, b, c, d, e))                                                                             \
  ROW(dnnl_status_t, dnnl_memory_desc_init_by_tag,                                                 \
      (dnnl_memory_desc_t * a, int b, const dnnl_dims_t c, dnnl_data_type_t d,                     \
       dnnl_format_tag_t e),                                                                       \
      (a, b, c, d, e))                                                                             \
  ROW(int, dnnl_memory_desc_equal, (const dnnl_memory_desc_t *a, const dnnl_memory_desc_t *b),     \
      (a, b))                                                                                      \
  ROW(size_t, dnnl_memory_desc_get_size, (const dnnl_memory_desc_t *a), (a))                       \
  ROW(dnnl_status_t, dnnl_primitive_attr_create, (dnnl_primitive_attr_t * a), (a))                 \
  ROW(dnnl_status_t, dnnl_primitive_attr_destroy, (dnnl_primitive_attr_t a), (a))                  \
  ROW(dnnl_status_t, dnnl_primitive_attr_set_scratchpad_mode,                                      \
      (dnnl_primitive_attr_t a, dnnl_scratchpad_mode_t b), (a, b))                                 \
  ROW(dnnl_status_t, dnnl_dilated_convolution_forward_desc_init,                                   \
      LAYER_PARAMETERS(dnnl_convolution_desc_t), (a, b, c, d, e, f, g, h, i, j, k))                \
  ROW(dnnl_status_t, dnnl_dilated_deconvolution_forward_desc_init,                                 \
      LAYER_PARAMETERS(dnnl_deconvolution_desc_t), (a, b, c, d, e, f, g, h, i, j, k))              \
  ROW(dnnl_status_t, dnnl_dilated_convolution_backward_weights_desc_init,                          \
      (dnnl_convolution_desc_t * a, dnnl_alg_kind_t b, const dnnl_memory_desc_t *c,                \
       const dnnl_memory_desc_t *d, const dnnl_memory_desc_t *e, const dnnl_memory_desc_t *f,      \
       const dnnl_dims_t g, const dnnl_dims_t h, const dnnl_dims_t i, const dnnl_dims_t j),        \
      (a, b, c, d, e, f, g, h, i, j))                                                              \
  ROW(dnnl_status_t, dnnl_primitive_desc_query,                                                    \
      (const_dnnl_primitive_desc_t a, dnnl_query_t b, int c, void *d), (a, b, c, d))               \
  ROW(dnnl_status_t, dnnl_reorder_primitive_desc_create,                                           \
      (dnnl_primitive_desc_t * a, const dnnl_memory_desc_t *b, dnnl_engine_t c,                    \
       const dnnl_memory_desc_t *d, dnnl_engine_t e, const_dnnl_primitive_attr_t f),               \
      (a, b, c, d, e, f))                                                                          \
  ROW(dnnl_status_t, dnnl_primitive_desc_create,                                                   \
      (dnnl_primitive_desc_t * a, const_dnnl_op_desc_t b, const_dnnl_primitive_attr_t c,           \
       dnnl_engine_t d, const_dnnl_primitive_desc_t e),                                            \
      (a, b, c, d, e))                                                                             \
  ROW(dnnl_status_t, dnnl_primitive_desc_destroy, (dnnl_primitive_desc_t a), (a))                  \
  ROW(const dnnl_memory_desc_t *, dnnl_primitive_desc_query_md,                                    \
      (const_dnnl_primitive_desc_t a, dnnl_query_t b, int c), (a, b, c))                           \
  ROW(dnnl_status_t, dnnl_primitive_create, (dnnl_primitive_t * a, const_dnnl_primitive_desc_t b), \
      (a, b))                                                                                      \
  ROW(dnnl_status_t, dnnl_primitive_execute,                                                       \
      (const_dnnl_primitive_t a, dnnl_stream_t b, int c, const dnnl_exec_arg_t *d), (a, b, c, d))  \
  ROW(dnnl_status_t, dnnl_primitive_destroy, (dnnl_primitive_t a), (a))                            \
  ROW(dnnl_cpu_isa_t, dnnl_get_effective_cpu_isa, (void), ())                                      \
  ROW(dnnl_status_t, dnnl_sgemm,                                                                   \
      (char a, char b, dnnl_dim_t c, dnnl_dim_t d, dnnl_dim_t e, float f, const float *g,          \
       dnnl_dim_t h, const float *i, dnnl_dim_t j, float k, float *l, dnnl_dim_t m),               \
      (a, b, c, d, e, f, g, h, i, j, k, l, m))                                                     \
  ROW(dnnl_status_t, dnnl_gemm_u8s8s32, PRODUCT_PARAMETERS(uint8_t),                               \
      (a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q))                                         \
  ROW(dnnl_status_t, dnnl_gemm_s8s8s32, PRODUCT_PARAMETERS(int8_t),                                \
      (a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q))

typedef struct functions {
#define MEMBER(result, name, parameters, arguments) result(*name) parameters;
  FUNCTION_ROWS(MEMBER)
#undef MEMBER
} functions;

static functions opened;

/* Ends the process, as the loader would have done when it started. cli/report.c prints the same for
 * a failure of class IO. On a terminal a line about a long step is erased first. */
static void give_up(void) {
  enum { EXIT_IO = 3 };
  const char *said = dlerror();
  fprintf(
      stderr,
      "%sfnz: IO: oneDNN, which computes convolutions and matrix products, cannot be opened: %s\n",
      isatty(STDERR_FILENO) ? "\r\033[K" : "", said ? said : "no reason is known");
  _exit(EXIT_IO);
}

static void onednn_take(void *library, const char *name, void *out) {
  void *found = dlsym(library, name);
  if (!found)
    give_up();
  memcpy(out, &found, sizeof found);
}

/* It is never closed: nothing that it started could go on. */
static void open_library(void) {
  void *library = dlopen(ONEDNN, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library)
    give_up();
#define TAKE(result, name, parameters, arguments) onednn_take(library, #name, &opened.name);
  FUNCTION_ROWS(TAKE)
#undef TAKE
}

static const functions *there(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, open_library);
  return &opened;
}

#define GO_ON(result, name, parameters, arguments)                                                 \
  result name parameters {                                                                         \
    return there()->name arguments;                                                                \
  }
FUNCTION_ROWS(GO_ON)
#undef GO_ON
