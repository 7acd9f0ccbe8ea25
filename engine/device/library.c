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

struct fnzi_eng_device_libraries {
  bool asked_cublas, asked_cudnn;
  const char *no_cublas, *no_cudnn; /* why not */
  fnzi_cuda_cublas cublas;          /* without a library: it is not there */
  fnzi_cuda_cudnn cudnn;
  product_call *products;
  conv_call *convs;
};

static fnz_status libraries_of(fnzi_eng_maker *m, fnzi_eng_device_libraries **out) {
  if (!m->d->libraries)
    FNZI_NEW(&m->b->arena, 1, &m->d->libraries);
  *out = m->d->libraries;
  return FNZ_OK;
}

/* Which of its algorithms one would take only a GPU says, so where a plan is told it is not asked.
 */
static bool is_asked(const fnzi_eng_maker *m, fnzi_eng_device_libraries *l) {
  if (!m->ws->exe->is_told)
    return true;
  l->no_cublas = "cuBLASLt's, where that is found";
  l->no_cudnn = "cuDNN's, where that is found";
  return false;
}

/* That one is not there, or does not take something, is no failure: *why has what it says. `had`:
 * the error before. */
static fnz_status forgive(fnzi_eng_maker *m, fnz_status status, const fnz_error *had,
                          const char **why) {
  const char *said = m->ws->ctx->error.message;
  if (status != FNZ_UNSUPPORTED)
    return status;
  FNZ_TRY(fnzi_arena_string(&m->b->arena, said, strlen(said), why));
  m->ws->ctx->error = *had;
  return FNZ_OK;
}

fnz_status fnzi_eng_library_has(fnzi_eng_maker *m, bool cudnn, bool *out) {
  const fnz_error had = m->ws->ctx->error;
  fnzi_eng_device_libraries *l;
  fnz_status status = FNZ_OK;
  FNZ_TRY(libraries_of(m, &l));
  *out = false;
  if (!is_asked(m, l))
    return FNZ_OK;
  if (cudnn && !l->asked_cudnn)
    status = fnzi_cuda_cudnn_open(m->ws->ctx, &l->cudnn);
  else if (!cudnn && !l->asked_cublas)
    status = fnzi_cuda_cublas_open(m->ws->ctx, &l->cublas);
  *(cudnn ? &l->asked_cudnn : &l->asked_cublas) = true;
  *out = (cudnn ? l->cudnn.library : l->cublas.library) != NULL;
  return forgive(m, status, &had, cudnn ? &l->no_cudnn : &l->no_cublas);
}

void fnzi_eng_library_end(fnzi_eng_device_binding *d) {
  fnzi_eng_device_libraries *l = d->libraries;
  if (!l)
    return;
  for (product_call *c = l->products; c; c = c->next)
    fnzi_cuda_product_end(&l->cublas, &c->plan);
  for (conv_call *c = l->convs; c; c = c->next)
    fnzi_cuda_conv_end(&l->cudnn, &c->plan);
  fnzi_cuda_cublas_close(&l->cublas);
  fnzi_cuda_cudnn_close(&l->cudnn);
  d->libraries = NULL;
}

/* --- Products -----------------------------------------------------------------------------------
 */
static fnz_status run_product(fnz_context *ctx, const fnzi_cuda_device *device, const void *what,
                              const uint64_t *at, void *stream) {
  const product_call *c = what;
  fnzi_cuda_product_places places = {.a = at[FNZI_PRODUCT_A],
                                     .b = at[FNZI_PRODUCT_B],
                                     .d = at[FNZI_PRODUCT_D],
                                     .scratch = at[FNZI_PRODUCT_SCRATCH]};
  (void)device;
  if (c->plan.has_bias)
    places.bias = at[FNZI_PRODUCT_C];
  else if (c->plan.beta != 0)
    places.c = at[FNZI_PRODUCT_C];
  return fnzi_cuda_product_run(ctx, c->cublas, c->step, &c->plan, &places, stream);
}

static fnz_status scratch_of(fnzi_eng_maker *m, size_t bytes, fnzi_eng_work *out,
                             fnzi_eng_operand *operand) {
  operand->buffer = FNZI_ENG_AT_SCRATCH;
  return fnzi_eng_work_scratch(m, out, bytes, &operand->at);
}

fnz_status fnzi_eng_library_product(fnzi_eng_maker *m, const char *step,
                                    const fnzi_cuda_product *product, fnzi_eng_operand *operands,
                                    fnzi_eng_work *out, bool *made, const char **why) {
  fnzi_eng_device_libraries *l;
  product_call *c;
  FNZ_TRY(fnzi_eng_library_has(m, false, made));
  FNZ_TRY(libraries_of(m, &l));
  *why = l->no_cublas;
  if (!*made)
    return FNZ_OK;
  FNZI_NEW(&m->b->arena, 1, &c);
  const fnz_error had = m->ws->ctx->error;
  fnz_status status = fnzi_cuda_product_make(m->ws->ctx, &l->cublas, step, product, &c->plan);
  *made = status == FNZ_OK;
  if (!*made)
    return forgive(m, status, &had, why);
  c->cublas = &l->cublas;
  c->step = step;
  c->next = l->products;
  l->products = c;
  FNZ_TRY(scratch_of(m, c->plan.choice.scratch, out, &operands[FNZI_PRODUCT_SCRATCH]));
  out->by = "cuBLASLt";
  return fnzi_eng_work_call(m, out, run_product, c, operands,
                            c->plan.has_bias || c->plan.beta != 0 ? FNZI_PRODUCT_C + 1
                                                                  : FNZI_PRODUCT_C);
}

/* --- Convolutions -------------------------------------------------------------------------------
 */
static fnz_status run_conv(fnz_context *ctx, const fnzi_cuda_device *device, const void *what,
                           const uint64_t *at, void *stream) {
  const conv_call *c = what;
  const fnzi_cuda_conv_places places = {at[FNZI_CONV_X], at[FNZI_CONV_WEIGHT], at[FNZI_CONV_Y],
                                        at[FNZI_CONV_SCRATCH]};
  (void)device;
  return fnzi_cuda_conv_run(ctx, c->cudnn, c->step, &c->plan, &places, stream);
}

fnz_status fnzi_eng_library_conv(fnzi_eng_maker *m, const char *step, const fnzi_cuda_conv *conv,
                                 fnzi_eng_operand *operands, fnzi_eng_work *out, bool *made,
                                 const char **why) {
  fnzi_eng_device_libraries *l;
  conv_call *c;
  FNZ_TRY(fnzi_eng_library_has(m, true, made));
  FNZ_TRY(libraries_of(m, &l));
  *why = l->no_cudnn;
  if (!*made)
    return FNZ_OK;
  FNZI_NEW(&m->b->arena, 1, &c);
  const fnz_error had = m->ws->ctx->error;
  fnz_status status = fnzi_cuda_conv_make(m->ws->ctx, &l->cudnn, step, conv, &c->plan);
  *made = status == FNZ_OK;
  if (!*made)
    return forgive(m, status, &had, why);
  c->cudnn = &l->cudnn;
  c->step = step;
  c->next = l->convs;
  l->convs = c;
  FNZ_TRY(scratch_of(m, c->plan.choice.scratch, out, &operands[FNZI_CONV_SCRATCH]));
  out->by = "cuDNN";
  return fnzi_eng_work_call(m, out, run_conv, c, operands, FNZI_CONV_OPERANDS);
}
