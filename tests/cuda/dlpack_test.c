/* checks: 2
 * dlpack_test.c - memory of a GPU to and from other libraries: values share it, and a run takes it.
 */
#include "tests/cuda/own_device.h"
#include "tests/cuda/values_lines.h"

/* Theirs: 24 numbers on the device, on a stream of their own. */
typedef struct theirs {
  DLManagedTensorVersioned tensor;
  own_device own;
  uint64_t at;
  int64_t sizes[2];
  int ended;
} theirs;

enum { CELLS_OF = 24, BYTES_OF = CELLS_OF * 4 };

static void end_theirs(DLManagedTensorVersioned *self) {
  theirs *t = self->manager_ctx;
  t->ended++;
  fnzi_cuda_free(&t->own.device, t->at);
}

static void open_theirs(fnz_context *ctx, theirs *t) {
  float cells[CELLS_OF];
  *t = (theirs){.sizes = {4, 6}};
  own_device_open(ctx, &t->own);
  t->at = own_device_take(&t->own, BYTES_OF);
  for (int i = 0; i < CELLS_OF; i++)
    cells[i] = (float)i;
  own_device_put(&t->own, t->at, cells, BYTES_OF);
  t->tensor = (DLManagedTensorVersioned){.version = {1, 0},
                                         .manager_ctx = t,
                                         .deleter = end_theirs,
                                         .dl_tensor = {.data = (void *)(uintptr_t)t->at,
                                                       .device = {kDLCUDA, 0},
                                                       .ndim = 2,
                                                       .dtype = {kDLFloat, 32, 1},
                                                       .shape = t->sizes}};
}

/* Their memory is written in place, and is freed when no work uses it; ours is ready when it is
 * lent. */
START_TEST(values_share_memory_there) {
  fnz_context *ctx = open_context();
  float cells[CELLS_OF];
  DLManagedTensorVersioned *lent;
  side gpu;
  theirs t;
  OK(ctx, open_side(&gpu, ctx, true));
  open_theirs(ctx, &t);
  t.tensor.dl_tensor.device.device_id = 1;
  FAILS(ctx, "ARGUMENT",
        fnz_eager_from_dlpack(ctx, gpu.backend, &t.tensor, &gpu.tensors[gpu.count]));
  t.tensor.dl_tensor.device.device_id = 0;
  t.tensor.dl_tensor.byte_offset = 4;
  FAILS(ctx, "UNSUPPORTED",
        fnz_eager_from_dlpack(ctx, gpu.backend, &t.tensor, &gpu.tensors[gpu.count]));
  t.tensor.dl_tensor.byte_offset = 0;
  OK(ctx, fnz_eager_from_dlpack(ctx, gpu.backend, &t.tensor, &gpu.tensors[gpu.count]));
  gpu.count++;
  OK(ctx, step(&gpu, "mul_.Scalar t0 f2"));
  OK(ctx, step(&gpu, "add.Tensor t0 t0"));
  OK(ctx, fnz_eager_to_dlpack(ctx, gpu.tensors[0], &lent));
  own_device_get(&t.own, (uint64_t)(uintptr_t)lent->dl_tensor.data, cells, BYTES_OF);
  ck_assert_float_eq(cells[5], 10);
  ck_assert_int_eq(lent->dl_tensor.device.device_type, kDLCUDA);
  lent->deleter(lent);
  OK(ctx, fnz_eager_to_dlpack(ctx, gpu.tensors[2], &lent));
  own_device_get(&t.own, (uint64_t)(uintptr_t)lent->dl_tensor.data, cells, BYTES_OF);
  ck_assert_float_eq(cells[5], 20);
  OK(ctx, step(&gpu, "mul_.Scalar t0 f2"));
  while (gpu.count)
    fnz_eager_release(gpu.tensors[--gpu.count]);
  ck_assert_int_eq(t.ended, 1);
  lent->deleter(lent);
  close_side(&gpu);
  own_device_close(&t.own);
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

/* Their tensor is an input of a run, its result becomes theirs. */
START_TEST(a_run_takes_and_gives) {
  fnz_context *ctx = open_context();
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  fnz_executable *exe;
  fnz_workspace *ws;
  fnz_dlpack_view view;
  DLManagedTensorVersioned *made;
  float cells[CELLS_OF];
  theirs t;
  open_theirs(ctx, &t);
  fnz_program *p = functional_of(
      ctx, program_of(ctx, "%x: f32[4,6]", "  %y: f32[4,6] = add.Tensor(%x, 1)\n  return %y"));
  options.device = "cuda";
  OK(ctx, fnz_compile(ctx, p, &options, &exe));
  OK(ctx, fnz_workspace_create(ctx, exe, &ws));
  OK(ctx, fnz_dlpack_look(ctx, &t.tensor, &view));
  fnz_memory out = {NULL, NULL};
  const fnz_execution run = {.size = sizeof run,
                             .inputs = &view.memory,
                             .outputs = &out,
                             .workspace = ws,
                             .on_device = true};
  OK(ctx, fnz_executable_run(ctx, exe, &run));
  const fnz_dlpack_options there = {.size = sizeof there, .device = view.device};
  OK(ctx, fnz_dlpack_make(ctx, &out, &there, &made));
  own_device_get(&t.own, (uint64_t)(uintptr_t)made->dl_tensor.data, cells, BYTES_OF);
  ck_assert_float_eq(cells[23], 24);
  made->deleter(made);
  fnz_workspace_destroy(ws);
  fnz_executable_destroy(exe);
  fnz_program_destroy(p);
  t.tensor.deleter(&t.tensor);
  own_device_close(&t.own);
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

int main(void) {
  TCase *c = tcase_create("dlpack");
  tcase_set_timeout(c, 600);
  tcase_add_test(c, values_share_memory_there);
  tcase_add_test(c, a_run_takes_and_gives);
  return run_one_case("dlpack", c);
}
