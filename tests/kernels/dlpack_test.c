/* checks: 5
 * dlpack_test.c - memory to and from other libraries by DLPack: exported tensors have the same
 * places, types and strides as here, imported memory is shared and ended once, and tensors that do
 * not fit are refused by name. */
#include "tests/help/test.h"

#include <fnz/fnz.h>

#include <stddef.h>
#include <string.h>

_Static_assert(offsetof(DLTensor, device) == 8 && offsetof(DLTensor, ndim) == 16 &&
                   offsetof(DLTensor, dtype) == 20 && offsetof(DLTensor, shape) == 24 &&
                   offsetof(DLTensor, strides) == 32 && offsetof(DLTensor, byte_offset) == 40 &&
                   offsetof(DLManagedTensorVersioned, manager_ctx) == 8 &&
                   offsetof(DLManagedTensorVersioned, deleter) == 16 &&
                   offsetof(DLManagedTensorVersioned, flags) == 24 &&
                   offsetof(DLManagedTensorVersioned, dl_tensor) == 32,
               "DLPack's own layout");

static int64_t sizes[] = {2, 3}, strides[] = {1, 2};

static DLManagedTensorVersioned tensor_of(void *data, int code, int bits) {
  return (DLManagedTensorVersioned){.version = {1, 1},
                                    .dl_tensor = {.data = data,
                                                  .device = {kDLCPU, 0},
                                                  .ndim = 2,
                                                  .dtype = {(uint8_t)code, (uint8_t)bits, 1},
                                                  .shape = sizes}};
}

static void says(const fnz_context *ctx, const char *what) {
  const char *said = fnz_last_error(ctx)->message;
  ck_assert_msg(strstr(said, what) != NULL, "\"%s\" is not in: %s", what, said);
}

static void count_end(void *owner) {
  ++*(int *)owner;
}

/* There and back, each type. */
START_TEST(types_go_there_and_back) {
  static double cells[64];
  fnz_context *ctx;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  for (int t = 0; t < FNZ_DTYPE_COUNT; t++) {
    const fnz_geometry g = {.dtype = (fnz_dtype)t, .rank = 2, .sizes = sizes, .strides = strides};
    const fnz_memory memory = {cells, &g};
    int ended = 0;
    const fnz_dlpack_options options = {.size = sizeof options,
                                        .device = {kDLCUDA, 3},
                                        .read_only = t % 2,
                                        .release = count_end,
                                        .owner = &ended};
    DLManagedTensorVersioned *made;
    fnz_dlpack_view view;
    OK(ctx, fnz_dlpack_make(ctx, &memory, &options, &made));
    ck_assert_uint_eq(made->dl_tensor.dtype.bits, 8 * fnz_dtype_get_info((fnz_dtype)t)->bytes);
    OK(ctx, fnz_dlpack_look(ctx, made, &view));
    ck_assert_ptr_eq(view.memory.data, cells);
    ck_assert_int_eq(view.geometry.dtype, t);
    ck_assert_int_eq(view.device.device_id, 3);
    ck_assert(view.read_only == (t % 2 == 1));
    for (int d = 0; d < 2; d++)
      ck_assert(view.sizes[d] == sizes[d] && view.strides[d] == strides[d]);
    ck_assert_int_eq(ended, 0);
    made->deleter(made);
    ck_assert_int_eq(ended, 1);
  }
  fnz_context_destroy(ctx);
}
END_TEST

START_TEST(what_does_not_fit_is_named) {
  static float cells[16];
  int64_t backwards[] = {3, -1}, far[] = {INT64_MAX / 2, 1};
  fnz_context *ctx;
  fnz_dlpack_view view;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  DLManagedTensorVersioned t = tensor_of(cells, kDLFloat, 32);
  t.dl_tensor.byte_offset = 4;
  OK(ctx, fnz_dlpack_look(ctx, &t, &view));
  ck_assert_ptr_eq(view.memory.data, cells + 1);
  ck_assert(view.strides[0] == 3 && view.strides[1] == 1);
  t.dl_tensor.byte_offset = 2;
  FAILS(ctx, "ARGUMENT", fnz_dlpack_look(ctx, &t, &view));
  says(ctx, "multiples of their size");
  t = tensor_of(cells, kDLFloat, 32);
  t.dl_tensor.strides = backwards;
  FAILS(ctx, "BOUNDS", fnz_dlpack_look(ctx, &t, &view));
  says(ctx, "stride -1");
  t.dl_tensor.strides = far;
  FAILS(ctx, "BOUNDS", fnz_dlpack_look(ctx, &t, &view));
  t = tensor_of(cells, kDLInt, 4);
  FAILS(ctx, "UNSUPPORTED", fnz_dlpack_look(ctx, &t, &view));
  says(ctx, "code 0 with 4 bits");
  t = tensor_of(cells, kDLFloat, 32);
  t.dl_tensor.dtype.lanes = 4;
  FAILS(ctx, "UNSUPPORTED", fnz_dlpack_look(ctx, &t, &view));
  t = tensor_of(cells, kDLFloat, 32);
  t.dl_tensor.device.device_type = (DLDeviceType)10;
  FAILS(ctx, "UNSUPPORTED", fnz_dlpack_look(ctx, &t, &view));
  says(ctx, "kind 10");
  t = tensor_of(cells, kDLFloat, 32);
  t.version.major = 2;
  FAILS(ctx, "UNSUPPORTED", fnz_dlpack_look(ctx, &t, &view));
  says(ctx, "DLPack 2.1");
  t = tensor_of(NULL, kDLFloat, 32);
  FAILS(ctx, "ARGUMENT", fnz_dlpack_look(ctx, &t, &view));
  says(ctx, "no memory");
  t = tensor_of(cells, kDLFloat, 32);
  t.dl_tensor.shape = NULL;
  FAILS(ctx, "ARGUMENT", fnz_dlpack_look(ctx, &t, &view));
  says(ctx, "no shape");
  t.dl_tensor.ndim = 0;
  OK(ctx, fnz_dlpack_look(ctx, &t, &view));
  ck_assert_uint_eq(view.geometry.rank, 0);
  t.dl_tensor.ndim = -1;
  FAILS(ctx, "BOUNDS", fnz_dlpack_look(ctx, &t, &view));
  t.dl_tensor.ndim = INT32_MAX;
  FAILS(ctx, "BOUNDS", fnz_dlpack_look(ctx, &t, &view));
  t = tensor_of(cells, kDLFloat, 32);
  t.dl_tensor.byte_offset = UINT64_MAX - 63;
  FAILS(ctx, "BOUNDS", fnz_dlpack_look(ctx, &t, &view));
  says(ctx, "address space");
  t.dl_tensor.byte_offset = -(uint64_t)(uintptr_t)cells - 16;
  FAILS(ctx, "BOUNDS", fnz_dlpack_look(ctx, &t, &view));
  fnz_context_destroy(ctx);
}
END_TEST

/* --- Values ----------------------------------------------------------------------------------- */
typedef struct theirs {
  DLManagedTensorVersioned tensor;
  float cells[6];
  int ended;
} theirs;

static void end_theirs(DLManagedTensorVersioned *self) {
  ((theirs *)self->manager_ctx)->ended++;
}

static void open_theirs(theirs *t) {
  *t = (theirs){.tensor = tensor_of(t->cells, kDLFloat, 32), .cells = {0, 1, 2, 3, 4, 5}};
  t->tensor.manager_ctx = t;
  t->tensor.deleter = end_theirs;
}

static fnz_status call(fnz_context *ctx, fnz_stack *stack, const char *op, fnz_eager tensor) {
  fnz_push_tensor(stack, tensor);
  fnz_push_float(stack, 2);
  fnz_status status = fnz_call(ctx, fnz_op_find(NULL, op), stack);
  fnz_stack_clear(stack);
  return status;
}

/* Writes here are seen there; the memory ends when the last window does. */
START_TEST(a_value_shares_their_memory) {
  fnz_context *ctx;
  fnz_backend *backend;
  fnz_stack *stack;
  fnz_eager value;
  theirs t;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &backend));
  OK(ctx, fnz_stack_create(ctx, backend, &stack));
  open_theirs(&t);
  t.tensor.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  FAILS(ctx, "UNSUPPORTED", fnz_eager_from_dlpack(ctx, backend, &t.tensor, &value));
  says(ctx, "read-only");
  t.tensor.flags = 0;
  t.tensor.dl_tensor.device = (DLDevice){kDLCUDA, 0};
  FAILS(ctx, "ARGUMENT", fnz_eager_from_dlpack(ctx, backend, &t.tensor, &value));
  t.tensor.dl_tensor.device = (DLDevice){kDLCPU, 0};
  ck_assert_int_eq(t.ended, 0);
  OK(ctx, fnz_eager_from_dlpack(ctx, backend, &t.tensor, &value));
  OK(ctx, call(ctx, stack, "mul_.Scalar", value));
  ck_assert_float_eq(t.cells[5], 10);
  fnz_push_tensor(stack, value);
  OK(ctx, fnz_call(ctx, fnz_op_find(NULL, "t"), stack));
  fnz_eager turned = fnz_pop_tensor(stack);
  fnz_eager_release(value);
  ck_assert_int_eq(t.ended, 0);
  fnz_push_tensor(stack, turned);
  fnz_push_ints(stack, (const int64_t[]){100}, 1);
  FAILS(ctx, "UNSUPPORTED", fnz_call(ctx, fnz_op_find(NULL, "resize_"), stack));
  says(ctx, "cannot grow");
  fnz_stack_clear(stack);
  fnz_eager_release(turned);
  ck_assert_int_eq(t.ended, 1);
  fnz_stack_destroy(stack);
  fnz_backend_destroy(backend);
  fnz_context_destroy(ctx);
}
END_TEST

/* For libraries before DLPack 1: the same memory, ended once; not what must not be written. */
START_TEST(older_libraries_get_it) {
  static float cells[6];
  const fnz_geometry g = {.dtype = FNZ_F32, .rank = 2, .sizes = sizes, .strides = strides};
  const fnz_memory memory = {cells, &g};
  fnz_context *ctx;
  DLManagedTensorVersioned *made;
  DLManagedTensor *older;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  for (int read_only = 0; read_only < 2; read_only++) {
    int ended = 0;
    const fnz_dlpack_options options = {.size = sizeof options,
                                        .device = {kDLCPU, 0},
                                        .read_only = read_only,
                                        .release = count_end,
                                        .owner = &ended};
    OK(ctx, fnz_dlpack_make(ctx, &memory, &options, &made));
    if (read_only) {
      FAILS(ctx, "UNSUPPORTED", fnz_dlpack_make_unversioned(ctx, made, &older));
      ck_assert_int_eq(ended, 0);
      made->deleter(made);
    } else {
      OK(ctx, fnz_dlpack_make_unversioned(ctx, made, &older));
      ck_assert_ptr_eq(older->dl_tensor.data, cells);
      ck_assert_int_eq(older->dl_tensor.strides[1], 2);
      ck_assert_int_eq(ended, 0);
      older->deleter(older);
    }
    ck_assert_int_eq(ended, 1);
  }
  fnz_context_destroy(ctx);
}
END_TEST

/* It lasts as long as one of the two, and does not move as long as it is lent. */
START_TEST(a_value_is_lent) {
  static const float cells[] = {0, 1, 2, 3, 4, 5};
  int64_t rows[] = {3, 1};
  const fnz_geometry g = {.dtype = FNZ_F32, .rank = 2, .sizes = sizes, .strides = rows};
  fnz_context *ctx;
  fnz_backend *backend, *meta;
  fnz_stack *stack;
  fnz_eager value;
  DLManagedTensorVersioned *lent, *none;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &backend));
  OK(ctx, fnz_stack_create(ctx, backend, &stack));
  value.backend = backend;
  OK(ctx, backend->upload(backend->self, ctx, &g, cells, &value.handle));
  OK(ctx, fnz_eager_to_dlpack(ctx, value, &lent));
  OK(ctx, call(ctx, stack, "add_.Scalar", value));
  ck_assert_float_eq(((const float *)lent->dl_tensor.data)[5], 7);
  ck_assert_int_eq(lent->dl_tensor.strides[0], 3);
  fnz_push_tensor(stack, value);
  fnz_push_ints(stack, (const int64_t[]){1000}, 1);
  FAILS(ctx, "UNSUPPORTED", fnz_call(ctx, fnz_op_find(NULL, "resize_"), stack));
  fnz_stack_clear(stack);
  fnz_eager_release(value);
  ck_assert_float_eq(((const float *)lent->dl_tensor.data)[0], 2);
  lent->deleter(lent);
  FAILS(ctx, "ARGUMENT", fnz_eager_to_dlpack(ctx, (fnz_eager){backend, 0}, &none));
  OK(ctx, fnz_meta_backend_create(ctx, &meta));
  FAILS(ctx, "ARGUMENT", fnz_eager_to_dlpack(ctx, (fnz_eager){meta, 0}, &none));
  fnz_backend_destroy(meta);
  fnz_stack_destroy(stack);
  fnz_backend_destroy(backend);
  fnz_context_destroy(ctx);
}
END_TEST

RUN_SUITE("dlpack", types_go_there_and_back, what_does_not_fit_is_named,
          a_value_shares_their_memory, older_libraries_get_it, a_value_is_lent)
