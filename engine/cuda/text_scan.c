/* text_scan.c - groups with running folds along rows, as text. One thread scans a short row alone.
 * For a long row a block takes several times as many elements at once as it has threads, because
 * each step waits for memory and for all threads. */
#include "engine/cuda/text_parts.h"

#include <stdio.h>

enum { THREADS = 256, SHORT = 64, LONG = 256, MANY_ROWS = 2048, SOME = 4, MOST = 8 };

typedef struct scan {
  fnzi_cuda_writer w;
  fnzi_cuda_text *text;
  const fnzi_cuda_group *g;
  uint32_t index; /* the instruction */
  int64_t rows, length;
  char type[64], fold[128]; /* of the value that elements pass on; how to combine it */
} scan;

/* --- An element ------------------------------------------------------------------------------- */
static fnz_status put_lanes(const scan *s, bool stores) {
  for (uint32_t k = 0; k < s->g->nlanes; k++)
    if (s->g->lanes[k].stores == stores)
      FNZ_TRY(fnzi_cuda_put_lane(&s->w, k));
  return FNZ_OK;
}

static fnz_status put_instructions(const scan *s, uint32_t first, uint32_t end) {
  for (uint32_t i = first; i < end; i++)
    FNZ_TRY(fnzi_cuda_put_ins(&s->w, s->text, &s->g->ins[i]));
  return FNZ_OK;
}

static fnz_status put_indices(const scan *s) {
  PUT(&s->w, "    const index j = (index)c;\n");
  return fnzi_cuda_put_indices(&s->w, s->g->outer, s->g->rank, "j");
}

/* Writes the element's own value to `x`. */
static fnz_status put_before(const scan *s) {
  const fnzi_cuda_ins *ins = &s->g->ins[s->index];
  FNZ_TRY(put_indices(s));
  FNZ_TRY(put_lanes(s, false));
  FNZ_TRY(put_instructions(s, 0, s->index));
  if (ins->kind == FNZI_CUDA_RUNNING)
    PUT(&s->w, "    x.value = s%u;\n    x.at = c;\n", (unsigned)ins->in[0]);
  else
    PUT(&s->w, "    x = s%u;\n", (unsigned)ins->in[0]);
  return FNZ_OK;
}

static fnz_status put_behind(const scan *s) {
  const fnzi_cuda_ins *ins = &s->g->ins[s->index];
  const char *cell = fnzi_cuda_type_name((fnz_dtype)s->g->slots[ins->out].dtype);
  if (ins->kind == FNZI_CUDA_RUNNING)
    PUT(&s->w, "    const cell_%s s%u = x.value;\n    const int64_t s%u = x.at;\n", cell,
        (unsigned)ins->out, (unsigned)ins->index);
  else
    PUT(&s->w, "    const cell_%s s%u = x;\n", cell, (unsigned)ins->out);
  FNZ_TRY(put_instructions(s, s->index + 1, s->g->nins));
  return put_lanes(s, true);
}

/* --- A row ------------------------------------------------------------------------------------ */
/* Returns how many elements a thread takes at a time. */
static int each_of(const scan *s) {
  return s->length <= THREADS ? 1 : s->length <= SOME * THREADS ? SOME : MOST;
}

static fnz_status open_each(const scan *s, const char *value) {
  PUT(&s->w,
      "#pragma unroll\n    for (int u = 0; u < %d; u++) {\n"
      "    const int64_t c = first + u * %d + threadIdx.x;\n    %s x = %s;\n"
      "    if (c < length) {\n",
      each_of(s), (int)THREADS, s->type, value);
  return FNZ_OK;
}

static fnz_status scan_put_body(const scan *s, bool alone) {
  PUT(&s->w, "  typedef %s index;\n", s->w.is_small ? "int32_t" : "int64_t");
  PUT(&s->w,
      alone ? "  for (int64_t at = FIRST; at < %s; at += STEP) {\n"
            : "  for (int64_t at = blockIdx.x; at < %s; at += gridDim.x) {\n",
      WORD(s->text, s->rows));
  PUT(&s->w, "    const index i = (index)at;\n");
  FNZ_TRY(fnzi_cuda_put_indices(&s->w, 0, s->g->outer, "i"));
  if (alone) {
    PUT(&s->w, "    %s sum = {};\n    for (int64_t c = 0; c < %s; c++) {\n    %s x = {};\n",
        s->type, WORD(s->text, s->length), s->type);
    FNZ_TRY(put_before(s));
    PUT(&s->w, "    x = sum = c == 0 ? x : %s::take(sum, x);\n", s->fold);
    FNZ_TRY(put_behind(s));
    PUT(&s->w, "    }\n");
  } else {
    int each = each_of(s);
    PUT(&s->w, "    const int64_t length = %s;\n", WORD(s->text, s->length));
    PUT(&s->w,
        "    %s sum = {};\n    for (int64_t first = 0; first < length; first += %d * %d) {\n"
        "    %s all[%d];\n",
        s->type, each, (int)THREADS, s->type, each);
    FNZ_TRY(open_each(s, "{}"));
    FNZ_TRY(put_before(s));
    PUT(&s->w, "    }\n    all[u] = x;\n    }\n    scan_block<%s>(all, sum, first == 0);\n",
        s->fold);
    FNZ_TRY(open_each(s, "all[u]"));
    FNZ_TRY(put_indices(s));
    FNZ_TRY(put_behind(s));
    PUT(&s->w, "    }\n    }\n    }\n");
  }
  PUT(&s->w, "  }\n");
  return FNZ_OK;
}

static fnz_status scan_add(scan *s, uint32_t *kernel, int64_t *count) {
  s->rows = s->length = 1;
  for (uint32_t d = 0; d < s->g->rank; d++) {
    int64_t *size = d < s->g->outer ? &s->rows : &s->length;
    if (!fnzi_mul_i64(*size, s->g->sizes[d], size))
      return fnzi_no_memory(s->w.ctx);
  }
  while (s->index < s->g->nins && s->g->ins[s->index].kind < FNZI_CUDA_SCAN)
    s->index++;
  if (s->index == s->g->nins)
    return fnzi_fail(s->w.ctx, FNZ_CLASS_INTERNAL, NULL, "a group has no scan");
  bool alone = s->length <= SHORT ||
               (s->rows >= MANY_ROWS && (s->length < LONG || fnzi_cuda_is_interleaved(s->g)));
  const fnzi_cuda_ins *ins = &s->g->ins[s->index];
  const char *cell = fnzi_cuda_type_name((fnz_dtype)s->g->slots[ins->in[0]].dtype);
  bool runs = ins->kind == FNZI_CUDA_RUNNING;
  snprintf(s->type, sizeof s->type, runs ? "picked<cell_%s>" : "cell_%s", cell);
  if (runs)
    snprintf(s->fold, sizeof s->fold, "over<running_%s<cell_%s>, cell_%s>", ins->fold, cell, cell);
  else
    snprintf(s->fold, sizeof s->fold, "fold_%s<cell_%s>", ins->fold, cell);
  FNZ_TRY(scan_put_body(s, alone));
  FNZ_TRY(fnzi_cuda_use_folds(s->w.ctx, s->text));
  const fnzi_cuda_kernel shape = {NULL, s->g->nlanes, THREADS,
                                  alone ? FNZI_CUDA_GRID_FLAT : FNZI_CUDA_GRID_BLOCKS, 0};
  *count = s->rows;
  return fnzi_cuda_text_kernel(s->w.ctx, s->text, s->w.out, &shape, kernel);
}

fnz_status fnzi_cuda_text_scan(fnz_context *ctx, fnzi_cuda_text *text, const fnzi_cuda_group *group,
                               uint32_t *kernel, int64_t *count) {
  fnz_buffer body = {.data = NULL};
  scan s = {
      .w = {.ctx = ctx, .out = &body, .group = group, .text = text}, .text = text, .g = group};
  s.w.is_small = fnzi_cuda_is_small(group);
  fnz_status status = scan_add(&s, kernel, count);
  fnz_buffer_free(ctx, &body);
  return status;
}
