/* libraries.c - the libraries of a device: each is opened once, by the first one that needs it, and
 * has one handle, which all executables, workspaces and threads share. */
#include "engine/cuda/libraries.h"

struct fnzi_cuda_libraries {
  fnz_context *ctx; /* that of the device */
  fnzi_cuda_shared shared;
  fnzi_cuda_cublas cublas;
  fnzi_cuda_cudnn cudnn;
  bool asked_cublas, asked_cudnn;
  char no_cublas[sizeof(fnz_error)], no_cudnn[sizeof(fnz_error)]; /* why not */
};

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
  const fnz_error *e = &l->shared.ctx->error;
  fnzi_cuda_shared_lock(&l->shared);
  if (!l->asked_cublas) {
    fnz_status status = fnzi_cuda_cublas_open(l->shared.ctx, &l->cublas);
    if (status != FNZ_OK)
      memcpy(l->no_cublas, e->message, sizeof e->message);
    l->asked_cublas = status != FNZ_NO_MEMORY; /* there may be some later */
    l->cublas.shared = &l->shared;
  }
  fnzi_cuda_shared_unlock(&l->shared);
  *why = l->no_cublas;
  return l->cublas.library ? &l->cublas : NULL;
}

const fnzi_cuda_cudnn *fnzi_cuda_libraries_cudnn(fnzi_cuda_libraries *l, const char **why) {
  const fnz_error *e = &l->shared.ctx->error;
  fnzi_cuda_shared_lock(&l->shared);
  if (!l->asked_cudnn) {
    fnz_status status = fnzi_cuda_cudnn_open(l->shared.ctx, &l->cudnn);
    if (status != FNZ_OK)
      memcpy(l->no_cudnn, e->message, sizeof e->message);
    l->asked_cudnn = status != FNZ_NO_MEMORY; /* there may be some later */
    l->cudnn.shared = &l->shared;
  }
  fnzi_cuda_shared_unlock(&l->shared);
  *why = l->no_cudnn;
  return l->cudnn.library ? &l->cudnn : NULL;
}
