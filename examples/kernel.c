/* kernel.c - an operator of one's own: its schemas, one kernel, and the variants that follow from
 * it. The kernel is two functions: one computes the type of the result, one fills it. They
 * serve the functional operator, and the in-place one on a window into another tensor. */
#include "example.h"

#include <fnz/ops.h>

static const char schemas[] =
    "mine::shifted(Tensor self, Tensor other, *, float by=1.0) -> Tensor\n"
    "mine::shifted_(Tensor(a!) self, Tensor other, *, float by=1.0) -> Tensor(a!)\n";

/* --- The kernel ------------------------------------------------------------------------------- */

static fnz_memory memory_of(const fnz_frame *frame, const char *name) {
  return fnz_frame_tensor(frame, fnz_frame_arg(frame, name));
}

static fnz_status meta(fnz_frame *frame) {
  const fnz_geometry *self = memory_of(frame, "self").geometry;
  const fnz_geometry *other = memory_of(frame, "other").geometry;
  if (self->dtype != FNZ_F32 || other->dtype != FNZ_F32)
    return fnz_frame_fail(frame, FNZ_CLASS_TYPE, "both tensors must be f32");
  if (fnz_geometry_numel(self) != fnz_geometry_numel(other))
    return fnz_frame_fail(frame, FNZ_CLASS_BOUNDS, "the tensors have different sizes");
  return fnz_frame_add_result(frame, FNZ_F32, self->rank, self->sizes, NULL);
}

/* Memory is row-major, as the registration below asks for. */
static fnz_status impl(fnz_frame *frame) {
  fnz_memory out = fnz_frame_result(frame, 0);
  const float *self = memory_of(frame, "self").data, *other = memory_of(frame, "other").data;
  float by = (float)fnz_frame_arg(frame, "by")->u.f, *to = out.data;
  for (int64_t i = 0; i < fnz_geometry_numel(out.geometry); i++)
    to[i] = self[i] + other[i] + by;
  return FNZ_OK;
}

/* --- Using it --------------------------------------------------------------------------------- */

static fnz_eager ramp(fnz_context *ctx, fnz_backend *cpu, int64_t rows, int64_t columns) {
  const fnz_dtype f32 = FNZ_F32;
  const int64_t sizes[] = {rows, columns};
  fnz_eager flat, out;
  check(ctx, fnz_aten_arange(ctx, cpu, fnz_scalar_int(rows * columns), &f32, NULL, &flat));
  check(ctx, fnz_aten_view(ctx, flat, sizes, 2, &out));
  fnz_eager_release(flat);
  return out;
}

static void print(fnz_context *ctx, const char *name, fnz_eager x) {
  float cells[16];
  check(ctx, x.backend->download(x.backend->self, ctx, x.handle, cells));
  printf("%s:", name);
  for (int64_t i = 0; i < fnz_geometry_numel(fnz_eager_geometry(x)); i++)
    printf(" %g", (double)cells[i]);
  puts("");
}

/* Calls an operator of two tensors and a number by name, and takes its result. */
static fnz_eager call_by_stack(fnz_context *ctx, fnz_stack *stack, const char *name, fnz_eager a,
                               fnz_eager b, double by) {
  fnz_push_tensor(stack, a);
  fnz_push_tensor(stack, b);
  fnz_push_float(stack, by);
  fnz_push_name(stack, "by");
  check(ctx, fnz_call_name(ctx, name, stack));
  return fnz_pop_tensor(stack);
}

int main(void) {
  fnz_context *ctx;
  fnz_backend *cpu;
  fnz_stack *stack;
  if (fnz_context_create(NULL, &ctx) != FNZ_OK)
    return 1;
  check(ctx, fnz_ops_declare(ctx, "kernel.c", schemas, sizeof schemas - 1));
  check(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  check(ctx, fnz_stack_create(ctx, cpu, &stack));
  const fnz_kernel kernel = {
      .op = fnz_op_find(ctx, "mine::shifted"), .meta = meta, .impl = impl, .contiguous = true};
  check(ctx, fnz_kernel_register(ctx, cpu, &kernel));

  fnz_eager x = ramp(ctx, cpu, 3, 4), y = ramp(ctx, cpu, 3, 2), column;
  fnz_eager sum = call_by_stack(ctx, stack, "mine::shifted", y, y, 0.5);
  print(ctx, "mine::shifted(y, y)", sum);
  check(ctx, fnz_aten_slice_Tensor(ctx, x, 1, NULL, NULL, 2, &column));
  fnz_eager same = call_by_stack(ctx, stack, "mine::shifted_", column, y, 100);
  print(ctx, "x after mine::shifted_(x[:, ::2], y)", x);

  const fnz_eager all[] = {x, y, sum, column, same};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    fnz_eager_release(all[i]);
  fnz_stack_destroy(stack);
  fnz_backend_destroy(cpu);
  fnz_context_destroy(ctx);
  return 0;
}
