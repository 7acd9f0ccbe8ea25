/* nvrtc.c - text to code, by CUDA's compiler at run time. */
#include "engine/cuda/driver.h"

#include <stddef.h>
#include <stdio.h>

static const fnzi_cuda_symbol symbols[] = {
#define NVRTC(member, symbol, arguments) {symbol, offsetof(fnzi_cuda_nvrtc, member)},
#include "engine/cuda/driver.def"
#undef NVRTC
};

fnz_status fnzi_cuda_nvrtc_open(fnz_context *ctx, fnzi_cuda_nvrtc *out) {
  static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", NULL};
  return fnzi_cuda_library_open(
      ctx, names,
      "CUDA cannot be used: neither libnvrtc.so.13 nor libnvrtc.so.12 can be opened, which come "
      "with the CUDA toolkit and the Python package nvidia-cuda-nvrtc; put the folder of one into "
      "LD_LIBRARY_PATH",
      symbols, sizeof symbols / sizeof *symbols, out, &out->library);
}

void fnzi_cuda_nvrtc_close(fnzi_cuda_nvrtc *nvrtc) {
  fnzi_cuda_library_close(nvrtc->library);
  nvrtc->library = NULL;
}

static fnz_status failed(fnz_context *ctx, int result, const char *what) {
  return result == 0 ? FNZ_OK
                     : fnzi_fail(ctx, FNZ_CLASS_INTERNAL, NULL, "NVRTC gave error %d when %s",
                                 result, what);
}

/* What the compiler says of the text, as far as a message has room. */
static fnz_status refused(fnz_context *ctx, const fnzi_cuda_nvrtc *nvrtc, void *program) {
  size_t bytes = 0;
  FNZ_TRY(failed(ctx, nvrtc->log_size(program, &bytes), "its log was asked for"));
  char *log = fnzi_resize(ctx, NULL, 0, bytes + 1);
  if (!log)
    return fnzi_no_memory(ctx);
  log[0] = log[bytes] = 0;
  if (nvrtc->log_text(program, log) != 0)
    log[0] = 0;
  fnz_status status = fnzi_fail(ctx, FNZ_CLASS_INTERNAL, NULL,
                                "NVRTC does not compile the text of a plan: %s", log);
  fnzi_free(ctx, log, bytes + 1);
  return status;
}

static fnz_status take_code(fnz_context *ctx, const fnzi_cuda_nvrtc *nvrtc, void *program,
                            fnz_buffer *code) {
  size_t bytes = 0;
  FNZ_TRY(failed(ctx, nvrtc->code_size(program, &bytes), "the size of code was asked for"));
  char *data = fnzi_resize(ctx, NULL, 0, bytes);
  if (!data)
    return fnzi_no_memory(ctx);
  fnz_status status = failed(ctx, nvrtc->code(program, data), "code was asked for");
  if (status == FNZ_OK)
    status = fnzi_put(ctx, code, data, bytes);
  fnzi_free(ctx, data, bytes);
  return status;
}

/* Not contracted; divisions and square roots are IEEE's, and small numbers stay. Of what is
 * declared for all kernels and not used in one nothing is said, so that the log has room for
 * errors. */
#define FIXED_OPTIONS                                                                              \
  "--std=c++17", "-fmad=false", "-prec-div=true", "-prec-sqrt=true", "-ftz=false", "-w"

static fnz_status unknown_gpu(fnz_context *ctx, const fnzi_cuda_nvrtc *nvrtc, int major,
                              int minor) {
  int of[2] = {0, 0};
  FNZ_TRY(failed(ctx, nvrtc->version(&of[0], &of[1]), "its version was asked for"));
  return fnzi_fail(
      ctx, FNZ_CLASS_UNSUPPORTED, NULL,
      "NVRTC %d.%d makes no code for GPUs of compute capability %d.%d; another version "
      "of it is needed",
      of[0], of[1], major, minor);
}

static fnz_status compile(fnz_context *ctx, const fnzi_cuda_nvrtc *nvrtc, void *program, int major,
                          int minor, fnz_buffer *code) {
  char architecture[64];
  snprintf(architecture, sizeof architecture, "--gpu-architecture=sm_%d%d", major, minor);
  const char *const options[] = {architecture, FIXED_OPTIONS};
  enum { INVALID_OPTION = 5 }; /* the first one: the others are known to all versions */
  int result = nvrtc->compile(program, sizeof options / sizeof *options, options);
  if (result == INVALID_OPTION)
    return unknown_gpu(ctx, nvrtc, major, minor);
  return result == 0 ? take_code(ctx, nvrtc, program, code) : refused(ctx, nvrtc, program);
}

fnz_status fnzi_cuda_nvrtc_compile(fnz_context *ctx, const fnzi_cuda_nvrtc *nvrtc, const char *text,
                                   int major, int minor, fnz_buffer *code) {
  void *program = NULL;
  FNZ_TRY(failed(ctx, nvrtc->create(&program, text, "plan.cu", 0, NULL, NULL),
                 "the text of a plan was given"));
  fnz_status status = compile(ctx, nvrtc, program, major, minor, code);
  nvrtc->destroy(&program);
  return status;
}

fnz_status fnzi_cuda_nvrtc_key(fnz_context *ctx, const fnzi_cuda_nvrtc *nvrtc, const char *text,
                               int major, int minor, unsigned char out[FNZI_DIGEST_BYTES]) {
  static const char *const fixed[] = {FIXED_OPTIONS};
  int32_t numbers[4] = {major, minor, 0, 0};
  fnzi_digest d;
  FNZ_TRY(failed(ctx, nvrtc->version(&numbers[2], &numbers[3]), "its version was asked for"));
  fnzi_digest_start(&d);
  fnzi_digest_add(&d, numbers, sizeof numbers);
  for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
    fnzi_digest_add(&d, fixed[i], strlen(fixed[i]) + 1);
  fnzi_digest_add(&d, text, strlen(text));
  fnzi_digest_end(&d, out);
  return FNZ_OK;
}
