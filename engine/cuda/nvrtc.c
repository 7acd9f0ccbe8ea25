/* nvrtc.c - text to code, by CUDA's compiler at run time. */
#include "engine/cuda/driver.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum {
#define NVRTC_NUMBER(name, theirs, value) name = value,
#include "engine/cuda/numbers.def"
#undef NVRTC_NUMBER
};

static const fnzi_load_symbol symbols[] = {
#define NVRTC(member, symbol, arguments) {#symbol, offsetof(fnzi_cuda_nvrtc, member)},
#include "engine/cuda/driver.def"
#undef NVRTC
};

static fnz_status failed(fnz_context *ctx, int result, const char *what) {
  return result == 0 ? FNZ_OK
                     : fnzi_fail(ctx, FNZ_CLASS_INTERNAL, NULL, "NVRTC gave error %d when %s",
                                 result, what);
}

/* --- The library ------------------------------------------------------------------------------ */
static fnz_status nvrtc_start(fnz_context *ctx, void *table) {
  fnzi_cuda_nvrtc *n = table;
  return failed(ctx, n->version_get(&n->version[0], &n->version[1]), "its version was asked for");
}

static fnz_status open_one_of(fnz_context *ctx, const char *const *names, fnzi_cuda_nvrtc *out) {
  const fnzi_load_spec spec = {
      names,
      "CUDA cannot be used: neither libnvrtc.so.13 nor libnvrtc.so.12 can be opened, which come "
      "with the CUDA toolkit and the Python package nvidia-cuda-nvrtc; put the folder of one into "
      "LD_LIBRARY_PATH",
      symbols, sizeof symbols / sizeof *symbols, nvrtc_start};
  *out = (fnzi_cuda_nvrtc){.library = NULL};
  FNZ_TRY(fnzi_load_open(ctx, &spec, out, &out->library));
  out->bytes = fnzi_load_bytes(out->library);
  return FNZ_OK;
}

static const char *const newest_first[] = {"libnvrtc.so.13", "libnvrtc.so.12", NULL};
static const char *const oldest_first[] = {"libnvrtc.so.12", "libnvrtc.so.13", NULL};

fnz_status fnzi_cuda_nvrtc_open(fnz_context *ctx, fnzi_cuda_nvrtc *out) {
  return open_one_of(ctx, newest_first, out);
}

void fnzi_cuda_nvrtc_close(fnzi_cuda_nvrtc *nvrtc) {
  fnzi_load_close(nvrtc->library);
  nvrtc->library = NULL;
}

/* --- Kinds of GPUs ---------------------------------------------------------------------------- */
/* Finds the greatest kind that the compiler supports and whose code runs on GPUs of kind `wanted`;
 * 0 if there is none. */
static fnz_status find_kind(fnz_context *ctx, fnzi_cuda_nvrtc *nvrtc, int kind) {
  enum { MOST = 256 };
  int kinds[MOST], count = 0;
  nvrtc->kind = 0;
  FNZ_TRY(failed(ctx, nvrtc->count_kinds(&count), "kinds of GPUs were counted"));
  if (count < 0 || count > MOST)
    return fnzi_fail(ctx, FNZ_CLASS_INTERNAL, NULL, "NVRTC makes code for %d kinds of GPUs", count);
  FNZ_TRY(failed(ctx, nvrtc->list_kinds(kinds), "kinds of GPUs were asked for"));
  for (int k = 0; k < count; k++)
    if (kinds[k] == kind ||
        (kinds[k] / 10 == kind / 10 && kinds[k] < kind && kinds[k] > nvrtc->kind &&
         kinds[k] != 53 && kinds[k] != 62 && kinds[k] != 72 && kinds[k] != 87 && kinds[k] != 101))
      nvrtc->kind = kinds[k];
  return FNZ_OK;
}

/* Replaces `out` by the compiler `name` if that supports a kind nearer to the wanted one. A
 * compiler that cannot be opened is ignored. */
static fnz_status try_other(fnz_context *ctx, const char *name, int kind, fnzi_cuda_nvrtc *out) {
  const char *const names[] = {name, NULL};
  const fnz_error had = ctx->error;
  fnzi_cuda_nvrtc other;
  if (open_one_of(ctx, names, &other) != FNZ_OK) {
    ctx->error = had;
    return FNZ_OK;
  }
  fnz_status status = find_kind(ctx, &other, kind);
  if (status == FNZ_OK && other.kind > out->kind) {
    const fnzi_cuda_nvrtc was = *out;
    *out = other;
    other = was;
  }
  fnzi_cuda_nvrtc_close(&other);
  return status;
}

static fnz_status unknown_gpu(fnz_context *ctx, const fnzi_cuda_nvrtc *nvrtc, int kind) {
  return fnzi_fail(
      ctx, FNZ_CLASS_UNSUPPORTED, NULL,
      "NVRTC %d.%d makes no code for GPUs of compute capability %d.%d; another version "
      "of it is needed",
      nvrtc->version[0], nvrtc->version[1], kind / 10, kind % 10);
}

/* Chooses among the compilers. Code of a compiler newer than the driver does not load, so such a
 * compiler is used only if no other supports the kind. */
static fnz_status nvrtc_choose(fnz_context *ctx, const char *const *names, int driver, int kind,
                               fnzi_cuda_nvrtc *out) {
  FNZ_TRY(find_kind(ctx, out, kind));
  const int first = out->version[0];
  for (; *names && out->kind != kind; names++) {
    const long version = strtol(strrchr(*names, '.') + 1, NULL, 10);
    bool loads = driver == 0 || version <= driver / 1000;
    if (version != first && (loads || out->kind == 0))
      FNZ_TRY(try_other(ctx, *names, kind, out));
  }
  return out->kind ? FNZ_OK : unknown_gpu(ctx, out, kind);
}

/* Prefers the driver's version: a driver loads code of its own major version and older ones. */
fnz_status fnzi_cuda_nvrtc_open_for(fnz_context *ctx, int driver, int kind, fnzi_cuda_nvrtc *out) {
  const char *const *names = driver && driver < 13000 ? oldest_first : newest_first;
  FNZ_TRY(open_one_of(ctx, names, out));
  fnz_status status = nvrtc_choose(ctx, names, driver, kind, out);
  if (status != FNZ_OK)
    fnzi_cuda_nvrtc_close(out);
  return status;
}

/* --- Text ------------------------------------------------------------------------------------- */
/* Fails with the compiler's log, truncated to fit a message. */
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

/* Not contracted; divisions and square roots are IEEE's, and small numbers stay. `-w` turns off
 * warnings, such as about unused declarations, so that the log has space for errors. */
#define FIXED_OPTIONS                                                                              \
  "--std=c++17", "-fmad=false", "-prec-div=true", "-prec-sqrt=true", "-ftz=false", "-w"

fnz_status fnzi_cuda_nvrtc_compile(fnz_context *ctx, const fnzi_cuda_nvrtc *nvrtc, const char *text,
                                   int major, int minor, fnz_buffer *code) {
  char architecture[64];
  const char *const options[] = {architecture, FIXED_OPTIONS};
  void *program = NULL;
  FNZ_TRY(failed(ctx, nvrtc->create(&program, text, "plan.cu", 0, NULL, NULL),
                 "the text of a plan was given"));
  fnz_status status;
  snprintf(architecture, sizeof architecture, "--gpu-architecture=sm_%d%d", major, minor);
  int result = nvrtc->compile(program, sizeof options / sizeof *options, options);
  if (result == INVALID_OPTION) /* the first one: the others are known to all versions */
    status = unknown_gpu(ctx, nvrtc, 10 * major + minor);
  else
    status = result == 0 ? take_code(ctx, nvrtc, program, code) : refused(ctx, nvrtc, program);
  nvrtc->destroy(&program);
  return status;
}

void fnzi_cuda_nvrtc_key(const fnzi_cuda_nvrtc *nvrtc, const char *text, int major, int minor,
                         unsigned char out[FNZI_DIGEST_BYTES]) {
  static const char *const fixed[] = {FIXED_OPTIONS};
  const int64_t numbers[] = {major, minor, nvrtc->version[0], nvrtc->version[1],
                             (int64_t)nvrtc->bytes};
  fnzi_digest d;
  fnzi_digest_start(&d);
  fnzi_digest_add(&d, numbers, sizeof numbers);
  for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
    fnzi_digest_add(&d, fixed[i], strlen(fixed[i]) + 1);
  fnzi_digest_add(&d, text, strlen(text));
  fnzi_digest_end(&d, out);
}
