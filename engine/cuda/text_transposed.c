/* text_transposed.c - groups with an operand that is contiguous along another dimension than the
 * results, as text. A block copies a tile of 32 by 32 elements of it to shared memory along its own
 * dimension, and computes along the other. For 16-bit elements a tile has 64 by 64, and threads
 * take two adjacent elements, so that a warp moves 128 bytes as well. Rows of the tile are padded
 * by one element, so that threads that read a column use different banks. */
#include "engine/cuda/text_parts.h"

enum { THREADS = 256, WARP = 32, BESIDE = THREADS / WARP, MOST_SHARED = 48 << 10 };

typedef struct transposing {
  fnzi_cuda_writer w;
  const fnzi_cuda_group *g;
  uint32_t across;       /* loads go along this dimension, results along the last */
  int width;             /* adjacent elements of a thread */
  int side, apart;       /* elements along a tile, and from row to row of it in shared memory */
  int64_t tiles[2], all; /* tiles along both dimensions; all tiles */
} transposing;

/* Returns whether the lane is loaded by tiles. */
static bool is_along_across(const fnzi_cuda_group *g, uint32_t lane, uint32_t across) {
  const fnzi_cuda_lane *l = &g->lanes[lane];
  int64_t cell = fnzi_cuda_lane_cell(g, lane), last = l->strides[g->rank - 1];
  return !l->stores && last != 0 && last != cell && l->strides[across] == cell;
}

/* Returns the bytes of shared memory of a block; 0 if no operand is transposed, or a result is not
 * contiguous along the last dimension. */
static int64_t shared_by(const fnzi_cuda_group *g, uint32_t across, int side) {
  int64_t bytes = 0;
  for (uint32_t k = 0; k < g->nlanes; k++) {
    if (g->lanes[k].stores && g->lanes[k].strides[g->rank - 1] != fnzi_cuda_lane_cell(g, k))
      return 0;
    bytes +=
        is_along_across(g, k, across) ? (int64_t)side * (side + 1) * fnzi_cuda_lane_cell(g, k) : 0;
  }
  return bytes;
}

bool fnzi_cuda_is_transposed(const fnzi_cuda_group *g, uint32_t *across) {
  uint32_t last = g->rank - 1;
  for (*across = 0; g->rank > 1 && *across < last; ++*across) {
    int64_t bytes = shared_by(g, *across, WARP);
    if (bytes > 0 && bytes <= MOST_SHARED && g->sizes[*across] >= WARP / 2 &&
        g->sizes[last] >= WARP / 2)
      return true;
  }
  return false;
}

/* --- Text ------------------------------------------------------------------------------------- */
static bool is_beside(const transposing *t, uint32_t d) {
  return d != t->across && d + 1 != t->g->rank;
}

/* Returns a digit of the tile's index. */
static fnzi_cuda_word digit(const transposing *t, int64_t inner, int64_t size) {
  return fnzi_cuda_word_digit(t->w.text, "i", inner, size, t->w.is_small);
}

/* Writes the first indices of a tile, and the indices that are the same in all of it. */
static fnz_status put_tile(const transposing *t) {
  int64_t inner = t->tiles[0] * t->tiles[1];
  PUT(&t->w, "    const index i = (index)tile, first%u = %s * %d", (unsigned)t->across,
      digit(t, 1, t->tiles[0]).text, t->side);
  PUT(&t->w, ", first%u = %s * %d;\n", (unsigned)t->g->rank - 1,
      digit(t, t->tiles[0], t->tiles[1]).text, t->side);
  for (uint32_t d = t->g->rank; d-- > 0;) {
    if (!is_beside(t, d))
      continue;
    PUT(&t->w, "    const index i%u = %s;\n", (unsigned)d, digit(t, inner, t->g->sizes[d]).text);
    inner *= t->g->sizes[d];
  }
  PUT(&t->w, "    const index end%u = %s", (unsigned)t->across,
      INDEX(t->w.text, t->g->sizes[t->across]));
  PUT(&t->w, ", end%u = %s;\n", (unsigned)t->g->rank - 1,
      INDEX(t->w.text, t->g->sizes[t->g->rank - 1]));
  return FNZ_OK;
}

/* Opens the loop over a thread's rows of a tile. Adjacent threads take adjacent elements along
 * dimension `along`. */
static fnz_status transposed_open_rows(const transposing *t, uint32_t along, uint32_t other) {
  PUT(&t->w,
      "#pragma unroll\n    for (int u = 0; u < %d; u++) {\n"
      "      const int row = threadIdx.x / %d + u * %d;\n"
      "      const index i%u = first%u + column, i%u = first%u + row;\n"
      "      if (i%u < end%u && i%u < end%u) {\n",
      t->side / BESIDE, (int)WARP, (int)BESIDE, (unsigned)along, (unsigned)along, (unsigned)other,
      (unsigned)other, (unsigned)along, (unsigned)along, (unsigned)other, (unsigned)other);
  return FNZ_OK;
}

static fnz_status transposed_put_brought(const transposing *t) {
  FNZ_TRY(transposed_open_rows(t, t->across, t->g->rank - 1));
  for (uint32_t k = 0; k < t->g->nlanes; k++) {
    if (!is_along_across(t->g, k, t->across))
      continue;
    PUT(&t->w, "        const lane%u b%u = LOAD(lane%u, ", (unsigned)k, (unsigned)k, (unsigned)k);
    FNZ_TRY(fnzi_cuda_put_address(&t->w, k));
    PUT(&t->w,
        ");\n#pragma unroll\n        for (int e = 0; e < %d; e++)\n"
        "          tile%u[row * %d + column + e] = b%u.of[e];\n",
        t->width, (unsigned)k, t->apart, (unsigned)k);
  }
  PUT(&t->w, "      }\n    }\n");
  return FNZ_OK;
}

static bool waits(const transposing *t, uint32_t lane) {
  return t->g->lanes[lane].stores || is_along_across(t->g, lane, t->across);
}

/* Writes the loads of other operands. They come before the barrier, so that they are in flight
 * together with the loads of the tile. */
static fnz_status transposed_put_loads(const transposing *t) {
  bool any = false;
  for (uint32_t k = 0; k < t->g->nlanes; k++) {
    if (waits(t, k))
      continue;
    if (!any)
      FNZ_TRY(transposed_open_rows(t, t->g->rank - 1, t->across));
    any = true;
    PUT(&t->w, "        v%u[u] = LOAD(lane%u, ", (unsigned)k, (unsigned)k);
    FNZ_TRY(fnzi_cuda_put_address(&t->w, k));
    PUT(&t->w, ");\n");
  }
  if (any)
    PUT(&t->w, "      }\n    }\n");
  return FNZ_OK;
}

/* Returns how many adjacent elements of a lane a thread has. */
static int elements(const transposing *t, uint32_t lane) {
  return is_along_across(t->g, lane, t->across) ? t->width
                                                : fnzi_cuda_vector_elements(t->g, lane, t->width);
}

static fnz_status put_elements(const transposing *t) {
  PUT(&t->w, "#pragma unroll\n        for (int e = 0; e < %d; e++)\n          element(", t->width);
  for (uint32_t k = 0; k < t->g->nlanes; k++) {
    const char *e = elements(t, k) > 1 ? "e" : "0";
    PUT(&t->w, "%s", k ? ", " : "");
    if (t->g->lanes[k].stores)
      PUT(&t->w, "r%u.of[%s]", (unsigned)k, e);
    else if (is_along_across(t->g, k, t->across))
      PUT(&t->w, "tile%u[(column + e) * %d + row]", (unsigned)k, t->apart);
    else
      PUT(&t->w, "v%u[u].of[%s]", (unsigned)k, e);
  }
  PUT(&t->w, ");\n");
  return FNZ_OK;
}

static fnz_status transposed_put_body(const transposing *t, fnzi_cuda_text *text) {
  PUT(&t->w, "  typedef %s index;\n", t->w.is_small ? "int32_t" : "int64_t");
  for (uint32_t k = 0; k < t->g->nlanes; k++) {
    const char *type = fnzi_cuda_lane_type(t->g, k);
    PUT(&t->w, "  typedef several<cell_%s, %d> lane%u;\n", type, elements(t, k), (unsigned)k);
    if (is_along_across(t->g, k, t->across))
      PUT(&t->w, "  SHARED(cell_%s, tile%u, %d);\n", type, (unsigned)k, t->side * t->apart);
  }
  FNZ_TRY(fnzi_cuda_put_element(&t->w, text));
  PUT(&t->w,
      "  const int column = threadIdx.x %% %d * %d;\n"
      "  for (int64_t tile = blockIdx.x; tile < %s; tile += gridDim.x) {\n",
      (int)WARP, t->width, WORD(t->w.text, t->all));
  FNZ_TRY(put_tile(t));
  for (uint32_t k = 0; k < t->g->nlanes; k++)
    if (!waits(t, k))
      PUT(&t->w, "    lane%u v%u[%d];\n", (unsigned)k, (unsigned)k, t->side / BESIDE);
  FNZ_TRY(transposed_put_brought(t));
  FNZ_TRY(transposed_put_loads(t));
  PUT(&t->w, "    __syncthreads();\n");
  FNZ_TRY(transposed_open_rows(t, t->g->rank - 1, t->across));
  for (uint32_t k = 0; k < t->g->nlanes; k++)
    if (t->g->lanes[k].stores)
      PUT(&t->w, "        lane%u r%u;\n", (unsigned)k, (unsigned)k);
  FNZ_TRY(put_elements(t));
  FNZ_TRY(fnzi_cuda_put_vectors(&t->w));
  PUT(&t->w, "      }\n    }\n    __syncthreads();\n");
  PUT(&t->w, "  }\n");
  return FNZ_OK;
}

static fnz_status transposed_measure(transposing *t) {
  const fnzi_cuda_group *g = t->g;
  const uint32_t last = g->rank - 1, dims[] = {t->across, last};
  const int64_t down = g->sizes[t->across], along = g->sizes[last];
  t->all = 1;
  bool pairs = down % 2 == 0 && along % 2 == 0 && down >= WARP && along >= WARP &&
               shared_by(g, t->across, 2 * WARP) <= MOST_SHARED;
  for (uint32_t k = 0; k < g->nlanes && pairs; k++) {
    bool brought = is_along_across(g, k, t->across);
    pairs = fnzi_cuda_loads_vectors(g, k, brought ? t->across : last, 2) &&
            (!brought || fnzi_cuda_lane_cell(g, k) <= 2);
  }
  t->width = pairs ? 2 : 1;
  t->side = WARP * t->width;
  t->apart = t->side + 1;
  for (int k = 0; k < 2; k++)
    t->tiles[k] = g->sizes[dims[k]] / t->side + (g->sizes[dims[k]] % t->side != 0);
  for (uint32_t d = 0; d < g->rank; d++)
    if (!fnzi_mul_i64(t->all, is_beside(t, d) ? g->sizes[d] : t->tiles[d == dims[1]], &t->all))
      return fnzi_fail(t->w.ctx, FNZ_CLASS_INTERNAL, NULL, "a group has too many elements");
  return FNZ_OK;
}

fnz_status fnzi_cuda_text_transposed(fnz_context *ctx, fnzi_cuda_text *text,
                                     const fnzi_cuda_group *group, uint32_t across,
                                     uint32_t *kernel, int64_t *count) {
  fnz_buffer body = {.data = NULL};
  transposing t = {
      .w = {.ctx = ctx, .out = &body, .group = group, .text = text}, .g = group, .across = across};
  t.w.is_small = fnzi_cuda_is_small(group);
  const fnzi_cuda_kernel shape = {NULL, group->nlanes, THREADS, FNZI_CUDA_GRID_BLOCKS, 0};
  fnz_status status = transposed_measure(&t);
  *count = t.all;
  if (status == FNZ_OK)
    status = transposed_put_body(&t, text);
  if (status == FNZ_OK)
    status = fnzi_cuda_text_kernel(ctx, text, &body, &shape, kernel);
  fnz_buffer_free(ctx, &body);
  return status;
}
