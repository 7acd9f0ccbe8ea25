/* libraries.c - the libraries of a device: each is opened when it is first needed, and has one
 * handle that all executables, workspaces and threads share. */
#include "engine/cuda/libraries.h"

/* The result of opening a library. */
typedef struct answer {
  bool is_known;
  char why[sizeof(fnz_error)]; /* it cannot be used */
} answer;

struct fnzi_cuda_libraries {
  fnz_context *ctx; /* the device's context */
  fnzi_cuda_shared shared;
  fnzi_cuda_cublas cublas;
  fnzi_cuda_cudnn cudnn;
  answer of_cublas, of_cudnn;
};

/* Keeps the result, except if memory was short: opening may succeed later. */
static void keep_answer(answer *a, const fnz_context *ctx, fnz_status status) {
  if (status != FNZ_OK)
    memcpy(a->why, ctx->error.message, sizeof ctx->error.message);
  a->is_known = status != FNZ_NO_MEMORY;
}

fnz_status fnzi_cuda_libraries_create(fnz_context *ctx, fnzi_cuda_libraries **out) {
  fnzi_cuda_libraries *l = fnzi_resize(ctx, NULL, 0, sizeof *l);
  *out = NULL;
  if (!l)
    return fnzi_no_memory(ctx);
  memset(l, 0, sizeof *l);
  l->ctx = ctx;
  fnz_status status = fnzi_cuda_shared_open(ctx, &l->shared);
  if (status == FNZ_OK)
    *out = l;
  else
    fnzi_free(ctx, l, sizeof *l);
  return status;
}

void fnzi_cuda_libraries_destroy(fnzi_cuda_libraries *l) {
  fnzi_cuda_cublas_close(&l->cublas);
  fnzi_cuda_cudnn_close(&l->cudnn);
  fnzi_cuda_shared_close(&l->shared);
  fnzi_free(l->ctx, l, sizeof *l);
}

const fnzi_cuda_cublas *fnzi_cuda_libraries_cublas(fnzi_cuda_libraries *l, const char **why) {
  fnzi_cuda_shared_lock(&l->shared);
  if (!l->of_cublas.is_known) {
    keep_answer(&l->of_cublas, l->shared.ctx, fnzi_cuda_cublas_open(l->shared.ctx, &l->cublas));
    l->cublas.shared = &l->shared;
  }
  fnzi_cuda_shared_unlock(&l->shared);
  *why = l->of_cublas.why;
  return l->cublas.library ? &l->cublas : NULL;
}

const fnzi_cuda_cudnn *fnzi_cuda_libraries_cudnn(fnzi_cuda_libraries *l, const char **why) {
  fnzi_cuda_shared_lock(&l->shared);
  if (!l->of_cudnn.is_known) {
    keep_answer(&l->of_cudnn, l->shared.ctx, fnzi_cuda_cudnn_open(l->shared.ctx, &l->cudnn));
    l->cudnn.shared = &l->shared;
  }
  fnzi_cuda_shared_unlock(&l->shared);
  *why = l->of_cudnn.why;
  return l->cudnn.library ? &l->cudnn : NULL;
}
