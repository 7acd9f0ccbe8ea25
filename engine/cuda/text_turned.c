/* text_turned.c - groups of which an operand lies dense along another dimension than the results
 * do, as text: a block brings a tile of 32 by 32 elements of it to shared memory along the one, and
 * computes along the other. Rows of the tile are 33 elements apart there, so that threads that read
 * a column of it do not wait for each other. */
#include "engine/cuda/text_parts.h"

enum { THREADS = 256, SIDE = 32, APART = 33, BESIDE = THREADS / SIDE, MOST_SHARED = 48 << 10 };

typedef struct turned {
  fnzi_cuda_writer w;
  const fnzi_cuda_group *g;
  uint32_t across; /* the dimension along which operands are brought; results are made along the
                      last one */
  int64_t tiles[2], all; /* along both; of all */
} turned;

/* It is brought by tiles. */
static bool is_turned(const fnzi_cuda_group *g, uint32_t lane, uint32_t across) {
  const fnzi_cuda_lane *l = &g->lanes[lane];
  int64_t cell = fnzi_cuda_lane_cell(g, lane), last = l->strides[g->rank - 1];
  return !l->stores && last != 0 && last != cell && l->strides[across] == cell;
}

/* How many bytes a block shares; 0: no operand is turned so, and others have no use of it. */
static int64_t shared_by(const fnzi_cuda_group *g, uint32_t across) {
  int64_t bytes = 0;
  for (uint32_t k = 0; k < g->nlanes; k++) {
    if (g->lanes[k].stores && g->lanes[k].strides[g->rank - 1] != fnzi_cuda_lane_cell(g, k))
      return 0;
    bytes += is_turned(g, k, across) ? (int64_t)SIDE * APART * fnzi_cuda_lane_cell(g, k) : 0;
  }
  return bytes;
}

bool fnzi_cuda_is_turned(const fnzi_cuda_group *g, uint32_t *across) {
  uint32_t last = g->rank - 1;
  for (*across = 0; g->rank > 1 && *across < last; ++*across) {
    int64_t bytes = shared_by(g, *across);
    if (bytes > 0 && bytes <= MOST_SHARED && g->sizes[*across] >= SIDE / 2 &&
        g->sizes[last] >= SIDE / 2)
      return true;
  }
  return false;
}

/* --- Text ---------------------------------------------------------------------------------------
 */
static bool is_beside(const turned *t, uint32_t d) {
  return d != t->across && d + 1 != t->g->rank;
}

/* Where a tile begins, and the indices that all of it has. */
static fnz_status put_tile(const turned *t) {
  int64_t inner = t->tiles[0] * t->tiles[1];
  PUT(&t->w,
      "    const index i = (index)tile, first%u = i %% %lld * %d, first%u = i / %lld %% %lld * "
      "%d;\n",
      (unsigned)t->across, (long long)t->tiles[0], (int)SIDE, (unsigned)t->g->rank - 1,
      (long long)t->tiles[0], (long long)t->tiles[1], (int)SIDE);
  for (uint32_t d = t->g->rank; d-- > 0;) {
    if (!is_beside(t, d))
      continue;
    PUT(&t->w, "    const index i%u = i / %lld %% %lld;\n", (unsigned)d, (long long)inner,
        (long long)t->g->sizes[d]);
    inner *= t->g->sizes[d];
  }
  return FNZ_OK;
}

/* Threads side by side are elements along dimension `along`; a thread takes some rows. */
static fnz_status open_rows(const turned *t, uint32_t along, uint32_t other) {
  PUT(&t->w,
      "#pragma unroll\n    for (int u = 0; u < %d; u++) {\n"
      "      const int row = threadIdx.x / %d + u * %d;\n"
      "      const index i%u = first%u + column, i%u = first%u + row;\n"
      "      if (i%u < %lld && i%u < %lld) {\n",
      (int)SIDE / BESIDE, (int)SIDE, (int)BESIDE, (unsigned)along, (unsigned)along, (unsigned)other,
      (unsigned)other, (unsigned)along, (long long)t->g->sizes[along], (unsigned)other,
      (long long)t->g->sizes[other]);
  return FNZ_OK;
}

static fnz_status put_brought(const turned *t) {
  FNZ_TRY(open_rows(t, t->across, t->g->rank - 1));
  for (uint32_t k = 0; k < t->g->nlanes; k++) {
    if (!is_turned(t->g, k, t->across))
      continue;
    PUT(&t->w, "        tile%u[row * %d + column] = LOAD(cell_%s, ", (unsigned)k, (int)APART,
        fnzi_cuda_lane_type(t->g, k));
    FNZ_TRY(fnzi_cuda_put_address(&t->w, k));
    PUT(&t->w, ");\n");
  }
  PUT(&t->w, "      }\n    }\n");
  return FNZ_OK;
}

static bool waits(const turned *t, uint32_t lane) {
  return t->g->lanes[lane].stores || is_turned(t->g, lane, t->across);
}

/* What else there is, before anybody waits, so that it is under way with what is brought. */
static fnz_status put_loads(const turned *t) {
  bool any = false;
  for (uint32_t k = 0; k < t->g->nlanes; k++) {
    if (waits(t, k))
      continue;
    if (!any)
      FNZ_TRY(open_rows(t, t->g->rank - 1, t->across));
    any = true;
    PUT(&t->w, "        v%u[u] = LOAD(cell_%s, ", (unsigned)k, fnzi_cuda_lane_type(t->g, k));
    FNZ_TRY(fnzi_cuda_put_address(&t->w, k));
    PUT(&t->w, ");\n");
  }
  if (any)
    PUT(&t->w, "      }\n    }\n");
  return FNZ_OK;
}

static fnz_status put_computed(const turned *t) {
  FNZ_TRY(open_rows(t, t->g->rank - 1, t->across));
  for (uint32_t k = 0; k < t->g->nlanes; k++) {
    const fnzi_cuda_lane *l = &t->g->lanes[k];
    const char *type = fnzi_cuda_lane_type(t->g, k);
    if (l->stores)
      PUT(&t->w, "        cell_%s r%u;\n", type, (unsigned)k);
    else if (is_turned(t->g, k, t->across))
      PUT(&t->w, "        const cell_%s s%u = tile%u[column * %d + row];\n", type,
          (unsigned)l->slot, (unsigned)k, (int)APART);
    else
      PUT(&t->w, "        const cell_%s s%u = v%u[u];\n", type, (unsigned)l->slot, (unsigned)k);
  }
  FNZ_TRY(fnzi_cuda_put_use(&t->w));
  PUT(&t->w, "      }\n    }\n    __syncthreads();\n");
  return FNZ_OK;
}

static fnz_status put_body(const turned *t, fnzi_cuda_text *text) {
  PUT(&t->w, "  typedef %s index;\n", fnzi_cuda_is_small(t->g) ? "int32_t" : "int64_t");
  for (uint32_t k = 0; k < t->g->nlanes; k++)
    if (is_turned(t->g, k, t->across))
      PUT(&t->w, "  SHARED(cell_%s, tile%u, %d);\n", fnzi_cuda_lane_type(t->g, k), (unsigned)k,
          (int)SIDE * APART);
  FNZ_TRY(fnzi_cuda_put_element(&t->w, text));
  PUT(&t->w,
      "  const int column = threadIdx.x %% %d;\n"
      "  for (int64_t tile = blockIdx.x; tile < %lld; tile += gridDim.x) {\n",
      (int)SIDE, (long long)t->all);
  FNZ_TRY(put_tile(t));
  for (uint32_t k = 0; k < t->g->nlanes; k++)
    if (!waits(t, k))
      PUT(&t->w, "    cell_%s v%u[%d];\n", fnzi_cuda_lane_type(t->g, k), (unsigned)k,
          (int)SIDE / BESIDE);
  FNZ_TRY(put_brought(t));
  FNZ_TRY(put_loads(t));
  PUT(&t->w, "    __syncthreads();\n");
  FNZ_TRY(put_computed(t));
  PUT(&t->w, "  }\n");
  return FNZ_OK;
}

static fnz_status measure(turned *t) {
  const uint32_t dims[] = {t->across, t->g->rank - 1};
  t->all = 1;
  for (int k = 0; k < 2; k++)
    t->tiles[k] = t->g->sizes[dims[k]] / SIDE + (t->g->sizes[dims[k]] % SIDE != 0);
  for (uint32_t d = 0; d < t->g->rank; d++)
    if (!fnzi_mul_i64(t->all, is_beside(t, d) ? t->g->sizes[d] : t->tiles[d == dims[1]], &t->all))
      return fnzi_fail(t->w.ctx, FNZ_CLASS_INTERNAL, NULL, "a group has too many elements");
  return FNZ_OK;
}

static fnz_status add(turned *t, fnzi_cuda_text *text, uint32_t *kernel, int64_t *count) {
  const fnzi_cuda_kernel shape = {NULL, t->g->nlanes, THREADS, FNZI_CUDA_GRID_BLOCKS};
  FNZ_TRY(measure(t));
  *count = t->all;
  FNZ_TRY(put_body(t, text));
  return fnzi_cuda_text_kernel(t->w.ctx, text, t->w.out, &shape, kernel);
}

fnz_status fnzi_cuda_text_turned(fnz_context *ctx, fnzi_cuda_text *text,
                                 const fnzi_cuda_group *group, uint32_t across, uint32_t *kernel,
                                 int64_t *count) {
  fnz_buffer body = {.data = NULL};
  turned t = {.w = {ctx, &body, group}, .g = group, .across = across};
  fnz_status status = add(&t, text, kernel, count);
  fnz_buffer_free(ctx, &body);
  return status;
}
