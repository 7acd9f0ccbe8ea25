/* variants.h - operators called on memory, for the tests of the backends' call. */
#ifndef FNZ_TESTS_RUN_VARIANTS_H
#define FNZ_TESTS_RUN_VARIANTS_H

#include "tests/help/test.h"

#include <fnz/fnz.h>
#include <fnz/kernel.h>

#include <stdio.h>

/* One backend at a time; every value made by it is released by close_backend(). */
typedef struct eager_backend {
  fnz_context *ctx;
  fnz_backend *backend;
  fnz_handle owned[4096];
  size_t nowned;
  char warning[FNZ_WARNING_BYTES];
} eager_backend;

static eager_backend eager;

static inline void open_backend(bool meta) {
  eager.nowned = 0;
  eager.warning[0] = 0;
  ck_assert_int_eq(fnz_context_create(NULL, &eager.ctx), FNZ_OK);
  if (meta)
    OK(eager.ctx, fnz_meta_backend_create(eager.ctx, &eager.backend));
  else
    OK(eager.ctx, fnz_cpu_backend_create(eager.ctx, 1, &eager.backend));
}

/* Nothing may be left when all values are released. */
static inline void close_backend(void) {
  for (size_t i = 0; i < eager.nowned; i++)
    eager.backend->release(eager.backend->self, eager.owned[i]);
  fnz_backend_destroy(eager.backend);
  ck_assert_uint_eq(eager.ctx->live_bytes, 0);
  fnz_context_destroy(eager.ctx);
}

static inline fnz_handle own(fnz_handle value) {
  ck_assert_uint_lt(eager.nowned, sizeof eager.owned / sizeof *eager.owned);
  if (value)
    eager.owned[eager.nowned++] = value;
  return value;
}

static inline const fnz_geometry *look(fnz_handle value) {
  return eager.backend->geometry(eager.backend->self, value);
}

/* --- Arguments -------------------------------------------------------------------------------- */
static inline fnz_arg T(fnz_handle value) {
  return (fnz_arg){.tag = value ? FNZ_ARG_VALUE : FNZ_ARG_NONE, .u.value = value};
}
static inline fnz_arg I(int64_t value) {
  return (fnz_arg){.tag = FNZ_ARG_INT, .u.i = value};
}
static inline fnz_arg B(bool value) {
  return (fnz_arg){.tag = FNZ_ARG_BOOL, .u.i = value};
}
static inline fnz_arg F(double value) {
  return (fnz_arg){.tag = FNZ_ARG_FLOAT, .u.f = value};
}
static inline fnz_arg D(fnz_dtype value) {
  return (fnz_arg){.tag = FNZ_ARG_DTYPE, .u.i = value};
}
#define N ((fnz_arg){.tag = FNZ_ARG_NONE})
#define L(...)                                                                                     \
  ((fnz_arg){.tag = FNZ_ARG_LIST,                                                                  \
             .count = sizeof((fnz_arg[]){__VA_ARGS__}) / sizeof(fnz_arg),                          \
             .u.list = (fnz_arg[]){__VA_ARGS__}})
#define EMPTY_LIST ((fnz_arg){.tag = FNZ_ARG_LIST})

/* --- Calls ------------------------------------------------------------------------------------ */
static inline fnz_status try_call(const char *name, const fnz_arg *args, size_t nargs,
                                  fnz_handle *out, size_t capacity, size_t *count) {
  const fnz_op *op = fnz_op_find(NULL, name);
  if (!op)
    ck_abort_msg("there is no operator %s", name);
  fnz_request request = {op, args, nargs, NULL, ""};
  fnz_status status = eager.backend->call(eager.backend->self, eager.ctx, &request, out, capacity,
                                          count, eager.warning);
  for (size_t i = 0; status == FNZ_OK && i < *count; i++)
    own(out[i]);
  return status;
}

static inline fnz_handle call_one(const char *name, const fnz_arg *args, size_t nargs) {
  fnz_handle out[8] = {0};
  size_t count;
  OK(eager.ctx, try_call(name, args, nargs, out, 8, &count));
  return out[0];
}

static inline fnz_status call_status(const char *name, const fnz_arg *args, size_t nargs) {
  fnz_handle out[64];
  size_t count;
  return try_call(name, args, nargs, out, 64, &count);
}

#define ARGS(...)     (fnz_arg[]){__VA_ARGS__}, sizeof((fnz_arg[]){__VA_ARGS__}) / sizeof(fnz_arg)
#define CALL(op, ...) call_one(op, ARGS(__VA_ARGS__))
#define MANY(op, out, capacity, count, ...)                                                        \
  OK(eager.ctx, try_call(op, ARGS(__VA_ARGS__), out, capacity, count))
#define REFUSED(class_name, op, ...)                                                               \
  FAILS(eager.ctx, class_name, call_status(op, ARGS(__VA_ARGS__)))

/* --- Values in and out ------------------------------------------------------------------------ */
static inline fnz_handle tensor(fnz_dtype dtype, uint32_t rank, const int64_t *sizes,
                                const void *cells) {
  int64_t strides[8], stride = 1;
  fnz_handle out;
  for (uint32_t d = rank; d-- > 0; stride *= sizes[d] ? sizes[d] : 1)
    strides[d] = stride;
  fnz_geometry g = {.dtype = dtype, .rank = rank, .sizes = sizes, .strides = strides};
  OK(eager.ctx, eager.backend->upload(eager.backend->self, eager.ctx, &g, cells, &out));
  return own(out);
}

#define SIZES(...)                                                                                 \
  sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]) {                                \
    __VA_ARGS__                                                                                    \
  }

/* 1, 2, 3 ... */
static inline fnz_handle counting(uint32_t rank, const int64_t *sizes) {
  float values[512];
  for (int i = 0; i < 512; i++)
    values[i] = (float)(i + 1);
  return tensor(FNZ_F32, rank, sizes, values);
}

static inline fnz_handle floats(size_t count, const float *values) {
  return tensor(FNZ_F32, 1, (int64_t[]){(int64_t)count}, values);
}
#define VECTOR(...) floats(sizeof((float[]){__VA_ARGS__}) / sizeof(float), (float[]){__VA_ARGS__})

/* Elements in row-major order as numbers: "1 2 2.5". */
static inline const char *show(fnz_handle value) {
  static char text[8][512];
  static int turn;
  char *out = text[turn = (turn + 1) % 8];
  fnz_handle wide;
  double values[256];
  int64_t count = fnz_geometry_numel(look(value));
  size_t at = 0;
  ck_assert_int_le(count, 256);
  wide = CALL("_to_copy", T(value), D(FNZ_F64));
  OK(eager.ctx, eager.backend->download(eager.backend->self, eager.ctx, wide, values));
  out[0] = 0;
  for (int64_t i = 0; i < count; i++)
    at += (size_t)snprintf(out + at, sizeof *text - at, "%s%g", i ? " " : "", values[i]);
  return out;
}

/* "f32 [2, 3] strides [3, 1] offset 0" */
static inline const char *shape(fnz_handle value) {
  static char text[8][160];
  static int turn;
  char *out = text[turn = (turn + 1) % 8];
  const fnz_geometry *g = look(value);
  size_t at = (size_t)snprintf(out, sizeof *text, "%s [", fnz_dtype_get_info(g->dtype)->name);
  for (uint32_t d = 0; d < g->rank; d++)
    at += (size_t)snprintf(out + at, sizeof *text - at, "%s%lld", d ? " " : "",
                           (long long)g->sizes[d]);
  at += (size_t)snprintf(out + at, sizeof *text - at, "] [");
  for (uint32_t d = 0; d < g->rank; d++)
    at += (size_t)snprintf(out + at, sizeof *text - at, "%s%lld", d ? " " : "",
                           (long long)g->strides[d]);
  snprintf(out + at, sizeof *text - at, "] %lld", (long long)g->offset);
  return out;
}

#endif
