/* text_flat.c - groups without rows, as text: each thread takes some elements at a time.
 *
 * A thread takes a vector of elements at a time (text_wide.c). In large groups it takes several
 * vectors *ahead*: their loads come before the first computation, so that enough bytes are in
 * flight. The computation of one element is a function in the kernel, which vectors and single
 * elements share. */
#include "engine/cuda/text_parts.h"

#include <stdio.h>

enum {
  THREADS = FNZI_CUDA_SET_THREADS,
  IN_FLIGHT = 64,         /* bytes that a thread loads before it computes */
  MOST_AHEAD = 4,         /* vectors */
  MANY_BUNCHES = 1 << 18, /* fewer keep a GPU at work one at a time */
  LAST = FNZI_CUDA_SET_WORDS
};

typedef struct flat {
  fnzi_cuda_writer w; /* its group: an element of that is a vector of g */
  fnzi_cuda_text *text;
  const fnzi_cuda_group *g;
  fnzi_cuda_group wide;
  int64_t count, vectors;
  int width, ahead;
} flat;

/* --- An element ------------------------------------------------------------------------------- */
/* Returns a writer for single elements, not vectors. */
static fnzi_cuda_writer single(const flat *f) {
  fnzi_cuda_writer w = f->w;
  w.group = f->g;
  w.width = 1;
  return w;
}

static fnz_status put_opening(const flat *f) {
  const fnzi_cuda_writer w = single(f);
  PUT(&w, "  typedef %s index;\n", w.is_small ? "int32_t" : "int64_t");
  FNZ_TRY(fnzi_cuda_put_element(&w, f->text));
  for (uint32_t k = 0; k < f->g->nlanes; k++)
    PUT(&w, "  typedef several<cell_%s, %d> lane%u;\n", fnzi_cuda_lane_type(f->g, k),
        fnzi_cuda_vector_elements(f->g, k, f->width), (unsigned)k);
  return FNZ_OK;
}

/* --- Vectors of a loop ------------------------------------------------------------------------ */
static fnz_status flat_put_loads(const flat *f) {
  for (uint32_t k = 0; k < f->g->nlanes; k++) {
    if (f->g->lanes[k].stores)
      continue;
    PUT(&f->w, "      v%u[u] = LOAD(lane%u, ", (unsigned)k, (unsigned)k);
    FNZ_TRY(fnzi_cuda_put_address(&f->w, k));
    PUT(&f->w, ");\n");
  }
  return FNZ_OK;
}

static fnz_status flat_put_stores(const flat *f) {
  for (uint32_t k = 0; k < f->g->nlanes; k++)
    if (f->g->lanes[k].stores)
      PUT(&f->w, "      lane%u r%u;\n", (unsigned)k, (unsigned)k);
  PUT(&f->w, "#pragma unroll\n      for (int e = 0; e < %d; e++)\n        element(", f->width);
  for (uint32_t k = 0; k < f->g->nlanes; k++) {
    bool stores = f->g->lanes[k].stores;
    PUT(&f->w, "%s%s%u%s.of[%s]", k ? ", " : "", stores ? "r" : "v", (unsigned)k,
        stores ? "" : "[u]", fnzi_cuda_vector_elements(f->g, k, f->width) > 1 ? "e" : "0");
  }
  PUT(&f->w, ");\n");
  return fnzi_cuda_put_vectors(&f->w);
}

/* Twice: all loads, then the rest, by the same indices. */
static fnz_status put_loops(const flat *f, const char *first, const char *end, const char *step,
                            const fnz_buffer *indices) {
  PUT(&f->w, "#pragma unroll 1\n  for (int64_t at = %s; at < %s; at += %s * %d) {\n", first, end,
      step, f->ahead);
  for (uint32_t k = 0; k < f->g->nlanes; k++)
    if (!f->g->lanes[k].stores)
      PUT(&f->w, "    lane%u v%u[%d];\n", (unsigned)k, (unsigned)k, f->ahead);
  for (int stores = 0; stores < 2; stores++) {
    PUT(&f->w, "#pragma unroll\n    for (int u = 0; u < %d; u++) {\n", f->ahead);
    if (f->ahead > 1)
      PUT(&f->w, "      if (at + u * %s >= %s)\n        break;\n", step, end);
    PUT(&f->w, "      const index i = (index)(at + u * %s);\n", step);
    FNZ_TRY(fnzi_put(f->w.ctx, f->w.out, indices->data, indices->size));
    FNZ_TRY(stores ? flat_put_stores(f) : flat_put_loads(f));
    PUT(&f->w, "    }\n");
  }
  PUT(&f->w, "  }\n");
  return FNZ_OK;
}

static fnz_status put_loop(const flat *f, const char *first, const char *end, const char *step) {
  fnz_buffer indices = {.data = NULL};
  fnzi_cuda_writer w = f->w;
  w.out = &indices;
  fnz_status status = fnzi_cuda_put_indices(&w, 0, f->g->rank, "i");
  if (status == FNZ_OK)
    status = put_loops(f, first, end, step, &indices);
  fnz_buffer_free(w.ctx, &indices);
  return status;
}

/* Writes the loop over single elements after the last whole vector, in groups of one dimension. */
static fnz_status flat_put_rest(const flat *f, const char *first, const char *count,
                                const char *step) {
  const fnzi_cuda_writer w = single(f);
  PUT(&w,
      "#pragma unroll 1\n  for (int64_t at = %s; at < %s; at += %s) {\n    const index i0 = "
      "(index)at;\n",
      first, count, step);
  for (uint32_t k = 0; k < f->g->nlanes; k++)
    if (f->g->lanes[k].stores)
      PUT(&w, "    cell_%s r%u;\n", fnzi_cuda_lane_type(f->g, k), (unsigned)k);
    else
      FNZ_TRY(fnzi_cuda_put_lane(&w, k));
  FNZ_TRY(fnzi_cuda_put_use(&w));
  PUT(&w, "  }\n");
  return FNZ_OK;
}

/* --- Kernels ---------------------------------------------------------------------------------- */
static fnz_status put_flat(const flat *f) {
  char rest[128];
  bool any =
      f->text->is_general ? f->width > 1 && f->g->rank == 1 : f->vectors * f->width < f->count;
  FNZ_TRY(put_opening(f));
  FNZ_TRY(put_loop(f, "FIRST", WORD(f->text, f->vectors), "STEP"));
  if (!any)
    return FNZ_OK;
  snprintf(rest, sizeof rest, "%s + FIRST", WORD(f->text, f->vectors * f->width));
  return flat_put_rest(f, rest, WORD(f->text, f->count), "STEP");
}

static fnz_status open_flat(fnz_context *ctx, fnzi_cuda_text *text, const fnzi_cuda_group *group,
                            fnz_buffer *body, flat *f) {
  *f = (flat){.w = {.ctx = ctx, .out = body, .text = text}, .text = text, .g = group, .count = 1};
  for (uint32_t d = 0; d < group->rank; d++)
    if (!fnzi_mul_i64(f->count, group->sizes[d], &f->count))
      return fnzi_fail(ctx, FNZ_CLASS_INTERNAL, NULL, "a group has too many elements");
  f->width = fnzi_cuda_width(group, false, text->is_general);
  f->vectors = f->count / f->width;
  FNZ_TRY(fnzi_cuda_widen(text->arena, group, f->width, &f->wide));
  f->w.group = &f->wide; /* its lanes have the strides of vectors */
  f->w.width = f->width;
  f->w.is_small = fnzi_cuda_is_small(group);
  int64_t bytes = 0;
  for (uint32_t k = 0; k < group->nlanes; k++)
    if (!group->lanes[k].stores)
      bytes += fnzi_cuda_lane_cell(f->g, k) * f->width;
  int ahead = bytes ? (int)(IN_FLIGHT / bytes) : 1;
  f->ahead = f->vectors < MANY_BUNCHES || ahead < 1 ? 1 : ahead > MOST_AHEAD ? MOST_AHEAD : ahead;
  return FNZ_OK;
}

fnz_status fnzi_cuda_text_add(fnz_context *ctx, fnzi_cuda_text *text, const fnzi_cuda_group *group,
                              uint32_t *kernel, int64_t *count) {
  fnz_buffer body = {.data = NULL};
  flat f;
  uint32_t across;
  if (fnzi_cuda_is_transposed(group, &across))
    return fnzi_cuda_text_transposed(ctx, text, group, across, kernel, count);
  fnz_status status = open_flat(ctx, text, group, &body, &f);
  if (status == FNZ_OK)
    status = put_flat(&f);
  if (status == FNZ_OK) {
    const fnzi_cuda_kernel shape = {NULL, group->nlanes, THREADS, FNZI_CUDA_GRID_FLAT, 0};
    *count = f.vectors ? f.vectors : f.count ? 1 : 0;
    status = fnzi_cuda_text_kernel(ctx, text, &body, &shape, kernel);
  }
  fnz_buffer_free(ctx, &body);
  return status;
}

/* --- Sets ---------------------------------------------------------------------------------------
 * A block takes THREADS vectors of a set at a time, and looks the set up in the table. The text
 * does not have the size of the first dimension, because sets with one text differ in it. Sets of
 * one launch agree in everything else, including the numbers of their tables. */
static fnz_status put_set(const flat *f) {
  PUT(&f->w,
      "  const char *const table = p.at[0];\n  const int64_t sets = LOAD(int64_t, table);\n"
      "  for (int64_t block = blockIdx.x; block < LOAD(int64_t, table + 8); block += gridDim.x) {\n"
      "    int64_t low = 0, high = sets;\n    while (high - low > 1) {\n"
      "      const int64_t middle = low + (high - low) / 2;\n"
      "      if (LOAD(int64_t, table + 16 + middle * %u) <= block)\n        low = middle;\n"
      "      else\n        high = middle;\n    }\n"
      "    const char *const set = table + 16 + low * %u;\n    places<%u> p;\n",
      8 * (LAST + f->g->nlanes), 8 * (LAST + f->g->nlanes), (unsigned)f->g->nlanes);
  for (uint32_t k = 0; k < f->g->nlanes; k++)
    PUT(&f->w, "    p.at[%u] = (char *)LOAD(uint64_t, set + %u);\n", (unsigned)k, 8 * (LAST + k));
  PUT(&f->w,
      "    const int64_t first = (block - LOAD(int64_t, set)) * %d, count = LOAD(int64_t, set + 8),"
      " bunches = count / %d,\n"
      "        end = first + %d < bunches ? first + %d : bunches;\n",
      (int)THREADS, f->width, (int)THREADS, (int)THREADS);
  return FNZ_OK;
}

static fnz_status put_sets(const flat *f) {
  char rest[48], step[16];
  snprintf(step, sizeof step, "%d", (int)THREADS);
  FNZ_TRY(put_opening(f));
  FNZ_TRY(put_set(f));
  FNZ_TRY(put_loop(f, "first + threadIdx.x", "end", step));
  if (f->width > 1 && f->g->rank == 1) {
    snprintf(rest, sizeof rest, "end * %d + threadIdx.x", f->width);
    PUT(&f->w, "  if (end == bunches) {\n");
    FNZ_TRY(flat_put_rest(f, rest, "count", step));
    PUT(&f->w, "  }\n");
  }
  PUT(&f->w, "  }\n");
  return FNZ_OK;
}

fnz_status fnzi_cuda_text_sets(fnz_context *ctx, fnzi_cuda_text *text, const fnzi_cuda_group *group,
                               uint32_t *kernel, int64_t *count, int64_t *blocks) {
  const fnzi_cuda_kernel shape = {NULL, 1, THREADS, FNZI_CUDA_GRID_BLOCKS, 0};
  fnz_buffer body = {.data = NULL};
  flat f;
  fnz_status status = open_flat(ctx, text, group, &body, &f);
  f.ahead = 1;
  if (status == FNZ_OK)
    status = put_sets(&f);
  if (status == FNZ_OK)
    status = fnzi_cuda_text_kernel(ctx, text, &body, &shape, kernel);
  *count = f.count;
  *blocks = f.vectors / THREADS + (f.vectors % THREADS != 0 || f.vectors == 0);
  fnz_buffer_free(ctx, &body);
  return status;
}
