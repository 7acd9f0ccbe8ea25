/* compute.c - eager PyTorch's aliasing over a backend that can neither view nor write: a row of x
 * is written in place, and x shows it. */
#include "example.h"

static fnz_tensor *make_x(fnz_context *ctx, fnz_wrapper *wrapper, fnz_backend *cpu) {
  const int64_t sizes[] = {2, 3}, strides[] = {3, 1};
  const float data[] = {0, 1, 2, 3, 4, 5};
  fnz_geometry geometry = {.dtype = FNZ_F32, .rank = 2, .sizes = sizes, .strides = strides};
  fnz_handle value;
  fnz_tensor *x;
  check(ctx, cpu->upload(cpu->self, ctx, &geometry, data, &value));
  check(ctx, fnz_tensor_wrap(wrapper, NULL, value, &x));
  return x;
}

static void print(fnz_context *ctx, fnz_backend *cpu, fnz_tensor *x) {
  fnz_handle value;
  float data[6];
  check(ctx, fnz_tensor_read(x, &value));
  check(ctx, cpu->download(cpu->self, ctx, value, data));
  for (int i = 0; i < 6; i++)
    printf("%g%c", (double)data[i], i == 5 ? '\n' : ' ');
}

int main(void) {
  fnz_context *ctx;
  fnz_backend *cpu;
  fnz_wrapper *wrapper;
  if (fnz_context_create(NULL, &ctx) != FNZ_OK)
    return 1;
  check(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  check(ctx, fnz_wrapper_create(ctx, cpu, &wrapper));

  fnz_tensor *x = make_x(ctx, wrapper, cpu);
  fnz_tensor *y = call(ctx, wrapper, "select.int", (fnz_arg[]){tensor(x), number(0), number(1)}, 3);
  fnz_tensor *z = call(ctx, wrapper, "add_.Scalar", (fnz_arg[]){tensor(y), number(1)}, 2);
  print(ctx, cpu, x);
  printf("x and y share memory: %s\n", fnz_tensor_shares(x, y) ? "yes" : "no");
  printf("it was written %llu time\n", (unsigned long long)fnz_tensor_version(x));

  fnz_tensor_release(z);
  fnz_tensor_release(y);
  fnz_tensor_release(x);
  fnz_wrapper_destroy(wrapper);
  fnz_backend_destroy(cpu);
  fnz_context_destroy(ctx);
  return 0;
}
