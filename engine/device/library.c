/* library.c - products by cuBLASLt and convolutions by cuDNN as launches of a work. */
#include "engine/device/library.h"

typedef struct product_call {
  struct product_call *next;
  const fnzi_cuda_cublas *cublas;
  const char *step;
  fnzi_cuda_product_plan plan;
} product_call;

typedef struct conv_call {
  struct conv_call *next;
  const fnzi_cuda_cudnn *cudnn;
  const char *step;
  fnzi_cuda_conv_plan plan;
} conv_call;

struct fnzi_dev_libraries {
  product_call *products;
  conv_call *convs;
};

static fnz_status libraries_of(fnzi_dev_builder *m, fnzi_dev_libraries **out) {
  if (!m->d->libraries)
    FNZI_NEW(&m->b->arena, 1, &m->d->libraries);
  *out = m->d->libraries;
  return FNZ_OK;
}

/* Turns UNSUPPORTED into OK, restores the error `had`, and copies the message to *why in the
 * binding's arena. A missing library, or one that does not support a call, is no failure. */
static fnz_status forgive(fnzi_dev_builder *m, fnz_status status, const fnz_error *had,
                          const char **why) {
  const char *message = m->ws->ctx->error.message;
  if (status != FNZ_UNSUPPORTED)
    return status;
  FNZ_TRY(fnzi_arena_string(&m->b->arena, message, strlen(message), why));
  m->ws->ctx->error = *had;
  return FNZ_OK;
}

/* --- Asking -------------------------------------------------------------------------------------
 * Only a GPU can show which algorithms a library would use, so plans that are only printed do not
 * query the library. Plans made only to find common constants (other_sizes.c) reuse the answers
 * that the first plan got, query by query. */
static bool is_answered(fnzi_dev_builder *m, const char *would, bool *out, const char **why) {
  *out = false;
  *why = would;
  if (m->ws->exe->is_printed)
    return true;
  if (m->text.only_compares)
    *out = fnzi_dev_answer_next(m);
  return m->text.only_compares;
}

fnz_status fnzi_dev_library_has_cublas(fnzi_dev_builder *m, bool *out) {
  const char *why;
  if (is_answered(m, NULL, out, &why))
    return FNZ_OK;
  *out = fnzi_cuda_libraries_cublas(m->d->device->libraries, &why) != NULL;
  return fnzi_dev_answer_note(m, *out);
}

fnz_status fnzi_dev_library_has_cudnn(fnzi_dev_builder *m, bool *out) {
  const char *why;
  if (is_answered(m, NULL, out, &why))
    return FNZ_OK;
  *out = fnzi_cuda_libraries_cudnn(m->d->device->libraries, &why) != NULL;
  return fnzi_dev_answer_note(m, *out);
}

void fnzi_dev_library_end(fnzi_dev_binding *d) {
  fnzi_dev_libraries *l = d->libraries;
  if (!l)
    return;
  for (product_call *c = l->products; c; c = c->next)
    fnzi_cuda_product_end(c->cublas, &c->plan);
  for (conv_call *c = l->convs; c; c = c->next)
    fnzi_cuda_conv_end(c->cudnn, &c->plan);
  d->libraries = NULL;
}

/* --- Products --------------------------------------------------------------------------------- */
/* Replaces a library's error by the device's, if the device is broken: after such an error
 * libraries only report failures of their own. */
static fnz_status status_of(fnz_context *ctx, const fnzi_cuda_device *device, fnz_status status,
                            void *stream) {
  const fnz_error had = ctx->error;
  if (status != FNZ_INTERNAL)
    return status;
  fnz_status waited = fnzi_cuda_wait(ctx, device, stream);
  if (fnzi_cuda_is_broken(device))
    return waited;
  ctx->error = had;
  return status;
}

static fnz_status run_product(fnz_context *ctx, const fnzi_cuda_device *device, const void *what,
                              const uint64_t *address, void *stream) {
  const product_call *c = what;
  fnzi_cuda_product_addresses addresses = {.a = address[FNZI_PRODUCT_A],
                                           .b = address[FNZI_PRODUCT_B],
                                           .d = address[FNZI_PRODUCT_D],
                                           .scratch = address[FNZI_PRODUCT_SCRATCH]};
  if (c->plan.has_bias)
    addresses.bias = address[FNZI_PRODUCT_C];
  else if (c->plan.beta != 0)
    addresses.c = address[FNZI_PRODUCT_C];
  fnz_status status = fnzi_cuda_product_run(ctx, c->cublas, c->step, &c->plan, &addresses, stream);
  return status_of(ctx, device, status, stream);
}

static fnz_status scratch_of(fnzi_dev_builder *m, size_t bytes, fnzi_dev_work *out,
                             fnzi_dev_operand *operand) {
  operand->buffer = FNZI_DEV_AT_SCRATCH;
  return fnzi_dev_work_scratch(m, out, bytes, &operand->offset);
}

/* Plans a product. *out is NULL if the library is missing or does not support it. */
static fnz_status make_product(fnzi_dev_builder *m, const char *step,
                               const fnzi_cuda_product *product, product_call **out,
                               const char **why) {
  const fnz_error had = m->ws->ctx->error;
  const fnzi_cuda_cublas *cublas = fnzi_cuda_libraries_cublas(m->d->device->libraries, why);
  fnzi_dev_libraries *l;
  product_call *c;
  *out = NULL;
  if (!cublas)
    return FNZ_OK;
  FNZ_TRY(libraries_of(m, &l));
  FNZI_NEW(&m->b->arena, 1, &c);
  fnz_status status = fnzi_cuda_product_make(m->ws->ctx, cublas, step, product, &c->plan);
  if (status != FNZ_OK)
    return forgive(m, status, &had, why);
  c->cublas = cublas;
  c->step = step;
  c->next = l->products;
  *out = l->products = c;
  return FNZ_OK;
}

fnz_status fnzi_dev_library_product(fnzi_dev_builder *m, const char *step,
                                    const fnzi_cuda_product *product, fnzi_dev_operand *operands,
                                    fnzi_dev_work *out, fnzi_dev_answer *answer) {
  product_call *c;
  if (is_answered(m, "cuBLASLt's, where that is found", &answer->is_library, &answer->why))
    return FNZ_OK;
  FNZ_TRY(make_product(m, step, product, &c, &answer->why));
  answer->is_library = c != NULL;
  FNZ_TRY(fnzi_dev_answer_note(m, answer->is_library));
  if (!c)
    return FNZ_OK;
  FNZ_TRY(scratch_of(m, c->plan.choice.scratch, out, &operands[FNZI_PRODUCT_SCRATCH]));
  out->library = "cuBLASLt";
  return fnzi_dev_work_call(m, out, run_product, c, operands,
                            c->plan.has_bias || c->plan.beta != 0 ? FNZI_PRODUCT_C + 1
                                                                  : FNZI_PRODUCT_C);
}

/* --- Convolutions ----------------------------------------------------------------------------- */
static fnz_status run_conv(fnz_context *ctx, const fnzi_cuda_device *device, const void *what,
                           const uint64_t *address, void *stream) {
  const conv_call *c = what;
  const fnzi_cuda_conv_addresses addresses = {address[FNZI_CONV_X], address[FNZI_CONV_WEIGHT],
                                              address[FNZI_CONV_Y], address[FNZI_CONV_SCRATCH]};
  fnz_status status = fnzi_cuda_conv_run(ctx, c->cudnn, c->step, &c->plan, &addresses, stream);
  return status_of(ctx, device, status, stream);
}

static fnz_status make_conv(fnzi_dev_builder *m, const char *step, const fnzi_cuda_conv *conv,
                            conv_call **out, const char **why) {
  const fnz_error had = m->ws->ctx->error;
  const fnzi_cuda_cudnn *cudnn = fnzi_cuda_libraries_cudnn(m->d->device->libraries, why);
  fnzi_dev_libraries *l;
  conv_call *c;
  *out = NULL;
  if (!cudnn)
    return FNZ_OK;
  FNZ_TRY(libraries_of(m, &l));
  FNZI_NEW(&m->b->arena, 1, &c);
  fnz_status status = fnzi_cuda_conv_make(m->ws->ctx, cudnn, step, conv, &c->plan);
  if (status != FNZ_OK)
    return forgive(m, status, &had, why);
  c->cudnn = cudnn;
  c->step = step;
  c->next = l->convs;
  *out = l->convs = c;
  return FNZ_OK;
}

fnz_status fnzi_dev_library_conv(fnzi_dev_builder *m, const char *step, const fnzi_cuda_conv *conv,
                                 fnzi_dev_operand *operands, fnzi_dev_work *out,
                                 fnzi_dev_answer *answer) {
  conv_call *c;
  if (is_answered(m, "cuDNN's, where that is found", &answer->is_library, &answer->why))
    return FNZ_OK;
  FNZ_TRY(make_conv(m, step, conv, &c, &answer->why));
  answer->is_library = c != NULL;
  FNZ_TRY(fnzi_dev_answer_note(m, answer->is_library));
  if (!c)
    return FNZ_OK;
  FNZ_TRY(scratch_of(m, c->plan.choice.scratch, out, &operands[FNZI_CONV_SCRATCH]));
  out->library = "cuDNN";
  return fnzi_dev_work_call(m, out, run_conv, c, operands, FNZI_CONV_OPERANDS);
}
