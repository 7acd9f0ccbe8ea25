/* tile.c - runs a group: tile after tile, each instruction over the whole tile.
 *
 * Everything is found out before; a run computes addresses and calls loops. */
#include "engine/tile.h"

typedef struct walk {
  const fnzi_eng_tile *tile;
  int64_t index[FNZ_MAX_RANK];
  unsigned char *slots[FNZI_ENG_SLOTS];
  struct {
    const void *from;
    int64_t phase, count;
  } loaded[FNZI_ENG_LANES]; /* what a register holds */
} walk;

static unsigned char *address(const walk *w, const fnzi_eng_lane *lane) {
  unsigned char *at = lane->storage->data + lane->at;
  for (uint32_t d = 0; d < w->tile->rank; d++)
    at += w->index[d] * lane->strides[d];
  return at;
}

/* --- Lanes that do not lie dense ----------------------------------------------------------------
 */
/* Row by row, between memory and the register. */
static void copy_lane(const walk *w, const fnzi_eng_lane *lane, int64_t count) {
  const fnzi_eng_tile *t = w->tile;
  uint32_t last = t->rank - 1;
  char *tile = (char *)w->slots[lane->slot];
  int64_t cell = lane->cell, step = lane->strides[last];
  walk at = {.tile = t};
  memcpy(at.index, w->index, sizeof at.index);
  while (count > 0) {
    int64_t n = t->sizes[last] - at.index[last];
    char *memory = (char *)address(&at, lane);
    n = n < count ? n : count;
    if (lane->way == FNZI_ENG_LANE_LOADS)
      fnzi_krn_copy_row(tile, cell, memory, step, n, lane->cell);
    else
      fnzi_krn_copy_row(memory, step, tile, cell, n, lane->cell);
    tile += n * cell;
    count -= n;
    at.index[last] = 0;
    for (uint32_t i = last; i-- > 0 && ++at.index[i] == t->sizes[i];)
      at.index[i] = 0;
  }
}

/* What is there from an earlier tile stays: a row that is the same for all, or the same number. */
static void load_lane(walk *w, uint32_t k, int64_t start, int64_t count) {
  const fnzi_eng_lane *lane = &w->tile->lanes[k];
  const void *from = w->tile->by_rows ? address(w, lane) : lane->storage->data;
  int64_t phase = w->tile->by_rows ? 0 : start % lane->period;
  if (w->loaded[k].from == from && w->loaded[k].phase == phase && w->loaded[k].count >= count)
    return;
  copy_lane(w, lane, count);
  w->loaded[k].from = from;
  w->loaded[k].phase = phase;
  w->loaded[k].count = count;
}

/* --- A tile -------------------------------------------------------------------------------------
 */
static void run_ins(const walk *w, const fnzi_eng_ins *ins, int64_t count) {
  const fnzi_eng_tile *t = w->tile;
  unsigned char *out = w->slots[ins->out];
  const void *in[FNZI_POINT_OPERANDS];
  if (ins->kind == FNZI_ENG_INS_RUN) {
    for (uint32_t k = 0; k < ins->arity; k++)
      in[k] = w->slots[ins->in[k]];
    ins->run(out, in, count);
    return;
  }
  int64_t to = t->slots[ins->out].cell, from = t->slots[ins->in[0]].cell;
  if (ins->kind == FNZI_ENG_INS_KEEP)
    fnzi_krn_convert_kept(ins->to, out, to, ins->from, w->slots[ins->in[0]], from, count);
  else
    fnzi_krn_convert(ins->to, out, to, ins->from, w->slots[ins->in[0]], from, count);
}

static void run_tile(walk *w, int64_t start, int64_t count) {
  const fnzi_eng_tile *t = w->tile;
  for (uint32_t k = 0; k < t->nlanes; k++) {
    const fnzi_eng_lane *lane = &t->lanes[k];
    if (lane->way == FNZI_ENG_LANE_LIES)
      w->slots[lane->slot] = address(w, lane);
    else if (lane->way == FNZI_ENG_LANE_LOADS)
      load_lane(w, k, start, count);
  }
  for (uint32_t i = 0; i < t->nins; i++)
    run_ins(w, &t->ins[i], count);
  for (uint32_t k = 0; k < t->nlanes; k++)
    if (t->lanes[k].way == FNZI_ENG_LANE_STORES)
      copy_lane(w, &t->lanes[k], count);
}

static void advance(walk *w, int64_t count) {
  const fnzi_eng_tile *t = w->tile;
  for (uint32_t d = t->rank; d-- > 0 && count > 0;) {
    int64_t at = w->index[d] + count;
    count = at < t->sizes[d] ? 0 : at / t->sizes[d];
    w->index[d] = at - count * t->sizes[d];
  }
}

static void run_piece(const fnzi_eng_tile *t, unsigned char *room, int64_t start, int64_t end) {
  uint32_t last = t->rank - 1;
  walk w;
  w.tile = t;
  memset(w.index, 0, sizeof w.index);
  for (uint32_t k = 0; k < t->nslots; k++)
    w.slots[k] = t->slots[k].numbers ? t->slots[k].numbers : room + t->slots[k].offset;
  for (uint32_t k = 0; k < t->nlanes; k++)
    w.loaded[k].from = NULL;
  advance(&w, start);
  while (start < end) {
    int64_t n = end - start < FNZI_POINT_CHUNK ? end - start : FNZI_POINT_CHUNK;
    if (t->by_rows && n > t->sizes[last] - w.index[last])
      n = t->sizes[last] - w.index[last];
    run_tile(&w, start, n);
    advance(&w, n);
    start += n;
  }
}

/* Elements do not depend on each other, so neither do results on the number of threads. */
void fnzi_eng_tile_run(const fnzi_eng_tile *t, unsigned char *room) {
  int64_t pieces = (t->count + FNZI_ENG_PIECE - 1) / FNZI_ENG_PIECE;
  if (t->workers == 1) {
    run_piece(t, room, 0, t->count);
    return;
  }
#pragma omp parallel for num_threads(t->workers) schedule(static)
  for (int w = 0; w < t->workers; w++) {
    int64_t start = pieces * w / t->workers * FNZI_ENG_PIECE;
    int64_t end = pieces * (w + 1) / t->workers * FNZI_ENG_PIECE;
    run_piece(t, room + (size_t)w * t->room, start, end < t->count ? end : t->count);
  }
}
