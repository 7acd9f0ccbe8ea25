/* checks: 4
 * kept_test.c - what is kept for later is limited by bytes, not by its number alone: modules that
 * no program has, and memory of values that waits to go back. The key of kept code: a compiler is
 * chosen by driver and GPU. */
#include "engine/cuda/modules.h"
#include "engine/values/values.h"
#include "tests/cuda/values_help.h"

enum { MB = 1 << 20 };

/* One whose code has so many bytes, of a kernel that no other one has. */
static fnzi_cuda_module *add_module(fnz_context *ctx, fnzi_cuda_modules *modules, uint32_t lanes,
                                    size_t bytes) {
  fnzi_cuda_text text;
  const fnzi_cuda_kernel kernel = {.body = "", .lanes = lanes, .threads = 1};
  fnzi_cuda_module *module;
  fnzi_cuda_text_begin(NULL, &text);
  text.kernels.data = (fnzi_cuda_kernel *)(uintptr_t)&kernel;
  text.kernels.count = 1;
  OK(ctx, fnzi_cuda_modules_open(ctx, modules, &text, &module));
  module->bytes += bytes;
  fnzi_cuda_modules_add(modules, module);
  return module;
}

/* How many modules end when one is given back. */
static size_t give_back(fnzi_cuda_modules *modules, fnzi_cuda_module *module) {
  fnzi_cuda_module *ends, *next;
  size_t count = 0;
  fnzi_cuda_modules_release(modules, module, &ends);
  for (; ends; ends = next, count++) {
    next = ends->next;
    fnzi_cuda_modules_drop(modules, ends);
  }
  return count;
}

static bool is_there(fnzi_cuda_modules *modules, uint32_t lanes) {
  const fnzi_cuda_kernel kernel = {.body = "", .lanes = lanes, .threads = 1};
  fnzi_cuda_function function;
  fnzi_cuda_module *found = fnzi_cuda_modules_find(modules, &kernel, NULL, 0, &function);
  ck_assert_uint_eq(found ? give_back(modules, found) : 0, 0);
  return found != NULL;
}

START_TEST(spare_modules_have_few_bytes) {
  fnz_context *ctx = open_context();
  fnzi_cuda_modules *modules;
  fnzi_cuda_module *m[5];
  OK(ctx, fnzi_cuda_modules_create(ctx, &modules));
  for (uint32_t k = 0; k < 5; k++)
    m[k] = add_module(ctx, modules, k, (k == 4 ? 65 : 30) * (size_t)MB);
  ck_assert_uint_eq(give_back(modules, m[0]), 0);
  ck_assert_uint_eq(give_back(modules, m[1]), 0);
  ck_assert(is_there(modules, 0)); /* and was used last */
  ck_assert_uint_eq(give_back(modules, m[2]), 1);
  ck_assert(!is_there(modules, 1));
  ck_assert(is_there(modules, 0) && is_there(modules, 2));
  ck_assert_uint_eq(give_back(modules, m[4]), 3); /* which is too large by itself */
  ck_assert(!is_there(modules, 0) && !is_there(modules, 2) && !is_there(modules, 4));
  ck_assert_uint_eq(give_back(modules, m[3]), 0);
  fnzi_cuda_modules_drop(modules, fnzi_cuda_modules_remove(modules));
  ck_assert_ptr_null(fnzi_cuda_modules_remove(modules));
  fnzi_cuda_modules_destroy(modules);
  fnz_context_destroy(ctx);
}
END_TEST

/* The size that the block claims counts. */
static void use_and_give(fnz_context *ctx, fnzi_val *v, size_t bytes) {
  unsigned char *at;
  OK(ctx, fnzi_val_allocate(v, ctx, 16, &at));
  OK(ctx, fnzi_val_clear(v, ctx, at, 16));
  fnzi_val_free(v, at, bytes);
}

START_TEST(memory_that_waits_has_few_bytes) {
  fnz_context *ctx = open_context();
  side gpu;
  OK(ctx, open_side(&gpu, ctx, true));
  fnzi_val *v = ((fnzi_krn_machine *)gpu.backend->self)->stock.elsewhere->self;
  uint64_t waits = counts_now().waits;
  use_and_give(ctx, v, 200 * (size_t)MB);
  use_and_give(ctx, v, 56 * (size_t)MB);
  ck_assert_uint_eq(counts_now().waits, waits);
  ck_assert_uint_eq(v->freed.count, 2);
  use_and_give(ctx, v, 1);
  ck_assert_uint_eq(counts_now().waits, waits + 1);
  ck_assert_uint_eq(v->freed.count, 0);
  use_and_give(ctx, v, 200 * (size_t)MB); /* and counts from the beginning */
  ck_assert_uint_eq(counts_now().waits, waits + 1);
  close_side(&gpu);
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

/* --- Compilers -------------------------------------------------------------------------------- */
/* Which compiler is taken, and for which kind of GPU it makes code. */
START_TEST(a_compiler_is_chosen_by_driver_and_gpu) {
  static const struct {
    int driver, gpu, version, kind;
  } cases[] = {{13000, 90, 13, 90}, {12080, 90, 12, 90},   {12080, 100, 13, 100},
               {13000, 92, 12, 92}, {13000, 103, 13, 100}, {13020, 94, 12, 92}};
  fnz_context *ctx = open_context();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    fnzi_cuda_nvrtc n, other;
    unsigned char key[FNZI_DIGEST_BYTES], own[FNZI_DIGEST_BYTES];
    OK(ctx, fnzi_cuda_nvrtc_open_for(ctx, cases[i].driver, cases[i].gpu, &n));
    ck_assert_int_eq(n.version[0], cases[i].version);
    ck_assert_int_eq(n.kind, cases[i].kind);
    ck_assert_uint_gt(n.bytes, 0);
    other = n;
    other.bytes++; /* another build of the same version */
    fnzi_cuda_nvrtc_key(&n, "text", 9, 0, own);
    fnzi_cuda_nvrtc_key(&other, "text", 9, 0, key);
    ck_assert_mem_ne(own, key, sizeof key);
    fnzi_cuda_nvrtc_close(&n);
  }
  fnz_context_destroy(ctx);
}
END_TEST

/* Code of NVRTC 13, for the kind of GPU that NVRTC 12 does not know, under a driver of CUDA 12. */
START_TEST(code_that_is_newer_than_the_driver_is_named) {
  fnz_context *ctx = open_context();
  fnz_program *p = small_program(ctx);
  fnz_executable *exe;
  setenv("STANDIN_SM", "100", 1);
  setenv("STANDIN_DRIVER", "12080", 1);
  setenv("STANDIN_FAIL", "cuModuleLoadData:1:200", 1);
  FAILS(ctx, "UNSUPPORTED", compile(ctx, p, "cuda", &exe));
  ck_assert_ptr_nonnull(
      strstr(fnz_last_error(ctx)->message, "NVRTC is 13.0, the driver is for CUDA 12.8"));
  unsetenv("STANDIN_FAIL");
  unsetenv("STANDIN_DRIVER");
  unsetenv("STANDIN_SM");
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

RUN_SUITE("kept", spare_modules_have_few_bytes, memory_that_waits_has_few_bytes,
          a_compiler_is_chosen_by_driver_and_gpu, code_that_is_newer_than_the_driver_is_named)
