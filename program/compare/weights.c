/* weights.c - comparing parameters, buffers and constants by their bytes. */
#include "program/compare/compare.h"

enum { CHUNK = 4096 };

/* The next elements of a weight in row-major order, as bytes; 0 at the end. */
typedef struct reader {
  const fnzi_weight *w;
  int64_t place[FNZ_MAX_RANK];
  int64_t left; /* elements */
} reader;

static reader read_from(const fnzi_weight *w) {
  return (reader){.w = w, .left = fnz_geometry_numel(w->geometry)};
}

static size_t read_some(reader *r, unsigned char out[CHUNK]) {
  const fnz_geometry *g = r->w->geometry;
  const unsigned char *data = fnzi_blob_data(r->w->blob);
  size_t bytes = fnzi_dtype(g->dtype)->bytes, used = 0;
  for (; r->left && used + bytes <= CHUNK; r->left--, used += bytes) {
    int64_t at = g->offset;
    for (uint32_t d = 0; d < g->rank; d++)
      at += r->place[d] * g->strides[d];
    memcpy(out + used, data + (size_t)at * bytes, bytes);
    for (uint32_t d = g->rank; d-- > 0;) { /* to the next place */
      if (++r->place[d] < g->sizes[d])
        break;
      r->place[d] = 0;
    }
  }
  return used;
}

static bool is_one_run(const fnzi_weight *w) {
  return fnzi_is_contiguous(w->geometry);
}

static size_t run_bytes(const fnzi_weight *w) {
  return (size_t)fnz_geometry_numel(w->geometry) * fnzi_dtype(w->geometry->dtype)->bytes;
}

static const unsigned char *run_of(const fnzi_weight *w) {
  const unsigned char *data = fnzi_blob_data(w->blob);
  return data + (size_t)w->geometry->offset * fnzi_dtype(w->geometry->dtype)->bytes;
}

bool fnzi_cmp_weights_equal(const fnzi_weight *a, const fnzi_weight *b) {
  if (!fnzi_geometry_equal(a->geometry, b->geometry) || !a->blob != !b->blob)
    return false;
  if (a->blob == b->blob)
    return true;
  unsigned char x[CHUNK], y[CHUNK];
  reader from_a = read_from(a), from_b = read_from(b);
  if (is_one_run(a) && is_one_run(b))
    return run_bytes(a) == 0 || memcmp(run_of(a), run_of(b), run_bytes(a)) == 0;
  for (size_t size; (size = read_some(&from_a, x)) != 0;)
    if (read_some(&from_b, y) != size || memcmp(x, y, size) != 0)
      return false;
  return true;
}

fnz_status fnzi_cmp_digest_weight(fnz_context *ctx, const fnzi_weight *w,
                                  unsigned char out[FNZI_DIGEST_BYTES]) {
  unsigned char chunk[CHUNK];
  fnzi_digest d;
  reader r = read_from(w);
  fnzi_digest_start(&d);
  if (is_one_run(w) && run_bytes(w))
    FNZ_TRY(fnzi_digest_add_all(ctx, &d, run_of(w), run_bytes(w)));
  else if (!is_one_run(w))
    for (size_t size; (size = read_some(&r, chunk)) != 0;)
      FNZ_TRY(fnzi_digest_add_all(ctx, &d, chunk, size));
  fnzi_digest_end(&d, out);
  return FNZ_OK;
}
