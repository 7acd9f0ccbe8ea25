/* tile.c - runs a group: tile after tile, each instruction over the whole tile.
 *
 * Everything is found out before; a run computes addresses and calls loops. */
#include "engine/tile.h"

typedef struct walk {
  const fnzi_eng_tile *tile;
  unsigned char *room;
  int64_t index[FNZ_MAX_RANK];
  int64_t row; /* of the panels */
  unsigned char *slots[FNZI_ENG_SLOTS];
  struct {
    const void *from;
    int64_t phase, count;
  } loaded[FNZI_ENG_LANES]; /* what a register holds */
} walk;

static unsigned char *address_at(const fnzi_eng_tile *t, const fnzi_eng_lane *lane,
                                 const int64_t *index) {
  unsigned char *at = lane->storage->data + lane->at;
  for (uint32_t d = 0; d < t->rank; d++)
    at += index[d] * lane->strides[d];
  return at;
}

static unsigned char *address(const walk *w, const fnzi_eng_lane *lane) {
  return address_at(w->tile, lane, w->index);
}

/* --- Lanes that do not lie dense ----------------------------------------------------------------
 */
enum { FILLED = 32 }; /* bytes of a vector */
typedef uint32_t numbers4 __attribute__((vector_size(FILLED)));

/* The same element, as often as a register has room for it in whole vectors. */
static void fill(unsigned char *tile, const unsigned char *from, uint32_t cell, int64_t count) {
  _Alignas(FILLED) unsigned char one[FILLED];
  numbers4 all;
  for (uint32_t i = 0; i < FILLED; i += cell)
    memcpy(one + i, from, cell);
  memcpy(&all, one, sizeof all);
  for (int64_t i = 0; i < count * cell; i += FILLED)
    memcpy(tile + i, &all, sizeof all);
}

/* Row by row, between memory and the register. */
static void copy_lane(const walk *w, const fnzi_eng_lane *lane, int64_t count) {
  const fnzi_eng_tile *t = w->tile;
  uint32_t last = t->rank - 1;
  char *tile = (char *)w->slots[lane->slot];
  int64_t cell = lane->cell, step = lane->strides[last];
  int64_t index[FNZ_MAX_RANK];
  for (uint32_t d = 0; d < t->rank; d++)
    index[d] = w->index[d];
  while (count > 0) {
    int64_t n = t->sizes[last] - index[last];
    char *memory = (char *)address_at(t, lane, index);
    n = n < count ? n : count;
    if (lane->way == FNZI_ENG_LANE_LOADS)
      fnzi_krn_copy_row(tile, cell, memory, step, n, lane->cell);
    else
      fnzi_krn_copy_row(memory, step, tile, cell, n, lane->cell);
    tile += n * cell;
    count -= n;
    index[last] = 0;
    for (uint32_t i = last; i-- > 0 && ++index[i] == t->sizes[i];)
      index[i] = 0;
  }
}

/* What is there from an earlier tile stays: a row that is the same for all, or the same number.
 * Tiles of overlapping windows may begin at one address, too, but their registers do not stay. */
static void load_lane(walk *w, uint32_t k, int64_t start, int64_t count) {
  const fnzi_eng_lane *lane = &w->tile->lanes[k];
  const void *from = w->tile->by_rows ? address(w, lane) : lane->storage->data;
  int64_t phase = w->tile->by_rows ? 0 : start % lane->period;
  if (lane->repeats && w->loaded[k].from == from && w->loaded[k].phase == phase &&
      w->loaded[k].count >= count)
    return;
  if (w->tile->by_rows && lane->strides[w->tile->rank - 1] == 0)
    fill(w->slots[lane->slot], from, lane->cell, count);
  else
    copy_lane(w, lane, count);
  w->loaded[k].from = from;
  w->loaded[k].phase = phase;
  w->loaded[k].count = count;
}

/* --- Instructions that are no rows --------------------------------------------------------------
 */
#define CHOOSE(type)                                                                               \
  for (int64_t i = 0; i < count; i++)                                                              \
    ((type *)out)[i] = mask[i] ? ((const type *)in[1])[i] : ((const type *)in[2])[i];              \
  return;

typedef struct wide {
  uint64_t half[2];
} wide;

static void choose(void *out, const void *const *in, uint32_t cell, int64_t count) {
  const uint8_t *mask = in[0];
  switch (cell) {
  case 1:
    CHOOSE(uint8_t)
  case 2:
    CHOOSE(uint16_t)
  case 4:
    CHOOSE(uint32_t)
  case 8:
    CHOOSE(uint64_t)
  default:
    CHOOSE(wide)
  }
}

static void convert(const fnzi_eng_tile *t, const fnzi_eng_ins *ins, void *out, const void *in,
                    int64_t count) {
  int64_t to = t->slots[ins->out].cell, from = t->slots[ins->in[0]].cell;
  if (ins->kind == FNZI_ENG_INS_KEEP)
    fnzi_krn_convert_kept(ins->to, out, to, ins->from, in, from, count);
  else if (ins->kind == FNZI_ENG_INS_CAST)
    fnzi_krn_cast(ins->to, out, to, ins->from, in, from, count);
  else
    fnzi_krn_convert(ins->to, out, to, ins->from, in, from, count);
}

/* --- A tile -------------------------------------------------------------------------------------
 */
/* Over elements from `at` on. */
static void run_ins(const walk *w, const fnzi_eng_ins *ins, int64_t at, int64_t count) {
  const fnzi_eng_tile *t = w->tile;
  unsigned char *out = w->slots[ins->out] + at * t->slots[ins->out].cell;
  const void *in[FNZI_POINT_OPERANDS];
  for (uint32_t k = 0; k < ins->arity; k++)
    in[k] = w->slots[ins->in[k]] + at * t->slots[ins->in[k]].cell;
  if (ins->kind == FNZI_ENG_INS_RUN)
    ins->run(out, in, count);
  else if (ins->kind == FNZI_ENG_INS_CHOOSE)
    choose(out, in, t->slots[ins->out].cell, count);
  else
    convert(t, ins, out, in[0], count);
}

/* What is left behind whole blocks goes row by row. */
static void run_chain(const walk *w, const fnzi_eng_ins *first, int64_t count) {
  const fnzi_eng_chain *c = first->chain;
  int64_t whole = count - count % c->of->elements;
  unsigned char *slots[FNZI_ENG_CHAIN_SLOTS];
  for (uint32_t k = 0; k < c->nslots; k++)
    slots[k] = w->slots[c->slots[k]];
  c->of->run(c->links, slots, whole);
  for (uint32_t k = 0; k < c->count && whole < count; k++)
    run_ins(w, &first[k], whole, count - whole);
}

static void run_tile(walk *w, int64_t start, int64_t count) {
  const fnzi_eng_tile *t = w->tile;
  for (uint32_t k = 0; k < t->nlanes; k++) {
    const fnzi_eng_lane *lane = &t->lanes[k];
    if (lane->way == FNZI_ENG_LANE_LIES)
      w->slots[lane->slot] = address(w, lane);
    else if (lane->way == FNZI_ENG_LANE_LOADS)
      load_lane(w, k, start, count);
    else if (lane->way == FNZI_ENG_LANE_TURNED)
      w->slots[lane->slot] = w->room + lane->panel + w->row * count * lane->cell;
  }
  for (uint32_t i = 0, n; i < t->nins; i += n) {
    const fnzi_eng_ins *ins = &t->ins[i];
    n = ins->chain ? ins->chain->count : 1;
    if (ins->chain)
      run_chain(w, ins, count);
    else
      run_ins(w, ins, 0, count);
  }
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

static void open_walk(walk *w, const fnzi_eng_tile *t, unsigned char *room) {
  w->tile = t;
  w->room = room;
  w->row = 0;
  memset(w->index, 0, sizeof w->index);
  for (uint32_t k = 0; k < t->nslots; k++)
    w->slots[k] = t->slots[k].numbers ? t->slots[k].numbers
                  : t->room           ? room + t->slots[k].offset
                                      : NULL; /* all lie in memory */
  for (uint32_t k = 0; k < t->nlanes; k++)
    w->loaded[k].from = NULL;
}

static void run_piece(const fnzi_eng_tile *t, unsigned char *room, int64_t start, int64_t end) {
  uint32_t last = t->rank - 1;
  walk w;
  open_walk(&w, t, room);
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

/* --- Panels -------------------------------------------------------------------------------------
 */
static int64_t parts(int64_t size, int64_t of) {
  return (size + of - 1) / of;
}

static int64_t panels_of(const fnzi_eng_tile *t) {
  uint32_t last = t->rank - 1;
  int64_t count =
      parts(t->sizes[last], FNZI_POINT_CHUNK) * parts(t->sizes[last - 1], FNZI_ENG_PANEL_ROWS);
  for (uint32_t d = 0; d + 1 < last; d++)
    count *= t->sizes[d];
  return count;
}

static int64_t take_part(walk *w, uint32_t d, int64_t of, int64_t *panel) {
  int64_t count = parts(w->tile->sizes[d], of), left;
  w->index[d] = *panel % count * of;
  *panel /= count;
  left = w->tile->sizes[d] - w->index[d];
  return left < of ? left : of;
}

static void run_panel(walk *w, int64_t panel) {
  const fnzi_eng_tile *t = w->tile;
  uint32_t last = t->rank - 1;
  int64_t count = take_part(w, last, FNZI_POINT_CHUNK, &panel);
  int64_t rows = take_part(w, last - 1, FNZI_ENG_PANEL_ROWS, &panel);
  const int64_t sizes[] = {rows, count}, dense[] = {count, 1};
  for (uint32_t d = last - 1; d-- > 0;)
    (void)take_part(w, d, 1, &panel);
  for (uint32_t k = 0; k < t->nlanes; k++) {
    const fnzi_eng_lane *lane = &t->lanes[k];
    const int64_t strides[] = {1, lane->strides[last] / (int64_t)lane->cell};
    if (lane->way == FNZI_ENG_LANE_TURNED)
      fnzi_krn_copy_cells(2, sizes, w->room + lane->panel, dense, address(w, lane), strides,
                          lane->cell, 1);
  }
  for (w->row = 0; w->row < rows; w->row++, w->index[last - 1]++)
    run_tile(w, 0, count);
}

static void run_panels(const fnzi_eng_tile *t, unsigned char *room, int64_t start, int64_t end) {
  walk w;
  open_walk(&w, t, room);
  for (int64_t k = start; k < end; k++)
    run_panel(&w, k);
}

/* Elements do not depend on each other, so neither do results on the number of threads. */
void fnzi_eng_tile_run(const fnzi_eng_tile *t, unsigned char *room) {
  int64_t pieces = t->turns ? panels_of(t) : parts(t->count, FNZI_ENG_PIECE);
  if (t->workers == 1 && !t->turns) {
    run_piece(t, room, 0, t->count);
    return;
  }
#pragma omp parallel for num_threads(t->workers) schedule(static) if (t->workers > 1)
  for (int w = 0; w < t->workers; w++) {
    int64_t start = pieces * w / t->workers, end = pieces * (w + 1) / t->workers;
    unsigned char *own = t->room ? room + (size_t)w * t->room : NULL;
    if (t->turns)
      run_panels(t, own, start, end);
    else
      run_piece(t, own, start * FNZI_ENG_PIECE, end < pieces ? end * FNZI_ENG_PIECE : t->count);
  }
}
