/* shared.c - the lock of a shared library handle, and a cache of the library's answers, so that
 * each query is made once. */
#include "engine/cuda/libraries.h"

enum { MOST_ANSWERS = 4096 };

struct fnzi_cuda_answer {
  fnzi_cuda_answer *next;
  size_t bytes, size;    /* of the query, and of the answer */
  unsigned char data[1]; /* the query, then the answer */
};

fnz_status fnzi_cuda_shared_open(fnz_context *ctx, fnzi_cuda_shared *out) {
  fnz_status status = fnz_context_create(&ctx->allocator, &out->ctx);
  if (status == FNZ_OK && pthread_mutex_init(&out->lock, NULL) == 0)
    return FNZ_OK;
  if (status == FNZ_OK)
    fnz_context_destroy(out->ctx);
  out->ctx = NULL;
  return fnzi_no_memory(ctx);
}

static void forget(fnzi_cuda_shared *s) {
  for (size_t i = 0; i < FNZI_CUDA_ANSWERS; i++)
    for (fnzi_cuda_answer *a; (a = s->answers[i]) != NULL;) {
      s->answers[i] = a->next;
      fnzi_free(s->ctx, a, sizeof *a + a->bytes + a->size);
    }
  s->count = 0;
}

void fnzi_cuda_shared_close(fnzi_cuda_shared *s) {
  forget(s);
  pthread_mutex_destroy(&s->lock);
  fnz_context_destroy(s->ctx);
}

void fnzi_cuda_shared_lock(fnzi_cuda_shared *s) {
  if (s)
    pthread_mutex_lock(&s->lock);
}

void fnzi_cuda_shared_unlock(fnzi_cuda_shared *s) {
  if (s)
    pthread_mutex_unlock(&s->lock);
}

/* --- Answers ---------------------------------------------------------------------------------- */
static fnzi_cuda_answer **bucket_of(fnzi_cuda_shared *s, const void *question, size_t bytes) {
  return &s->answers[fnzi_hash(s->ctx, question, bytes) % FNZI_CUDA_ANSWERS];
}

bool fnzi_cuda_shared_knows(fnzi_cuda_shared *s, const void *question, size_t bytes, void *out,
                            size_t size) {
  const fnzi_cuda_answer *a = s ? *bucket_of(s, question, bytes) : NULL;
  while (a && (a->bytes != bytes || a->size != size || memcmp(a->data, question, bytes) != 0))
    a = a->next;
  if (a)
    memcpy(out, a->data + bytes, size);
  return a != NULL;
}

void fnzi_cuda_shared_note(fnzi_cuda_shared *s, const void *question, size_t bytes,
                           const void *answer, size_t size) {
  if (!s)
    return;
  if (s->count == MOST_ANSWERS)
    forget(s);
  fnzi_cuda_answer *a = fnzi_resize(s->ctx, NULL, 0, sizeof *a + bytes + size);
  if (!a)
    return;
  fnzi_cuda_answer **bucket = bucket_of(s, question, bytes);
  *a = (fnzi_cuda_answer){.next = *bucket, .bytes = bytes, .size = size};
  memcpy(a->data, question, bytes);
  memcpy(a->data + bytes, answer, size);
  *bucket = a;
  s->count++;
}
