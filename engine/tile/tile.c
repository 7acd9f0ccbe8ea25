/* tile.c - runs a group: tile after tile, each instruction over the whole tile.
 *
 * Everything is found out before; a run computes addresses and calls loops. */
#include "engine/tile/tile.h"

typedef struct walk {
  const fnzi_tile_program *tile;
  unsigned char *registers;
  int64_t index[FNZ_MAX_RANK];
  int64_t row; /* of the panels */
  unsigned char *slots[FNZI_TILE_SLOTS];
  struct {
    const void *from;
    int64_t phase, count;
  } loaded[FNZI_TILE_LANES]; /* the elements in a register */
} walk;

static unsigned char *address_at(const fnzi_tile_program *t, const fnzi_tile_lane *lane,
                                 const int64_t *index) {
  unsigned char *at = lane->storage->data + lane->offset;
  for (uint32_t d = 0; d < t->rank; d++)
    at += index[d] * lane->strides[d];
  return at;
}

static unsigned char *address(const walk *w, const fnzi_tile_lane *lane) {
  return address_at(w->tile, lane, w->index);
}

/* --- Lanes that do not lie dense -------------------------------------------------------------- */
/* Fills a tile with one element. Nothing after the last one is written, because the next row may be
 * there. */
static void fill(unsigned char *tile, const unsigned char *from, uint32_t cell, int64_t count) {
  fnzi_krn_copy_row((char *)tile, cell, (const char *)from, 0, count, cell);
}

/* Loads whole rows along dimension d that are all the same, or each one element, by fewer calls
 * than one for each. Returns how many elements, 0 if rows are not so, and leaves `index` at the
 * last row. */
static int64_t load_rows(const fnzi_tile_program *t, const fnzi_tile_lane *lane, uint32_t d,
                         int64_t *index, char *tile, int64_t room) {
  int64_t n = t->sizes[d], count = room / n, left = t->sizes[d - 1] - index[d - 1];
  const int64_t cell = lane->cell, step = lane->strides[d], outer = lane->strides[d - 1];
  const char *from = (const char *)address_at(t, lane, index);
  count = count < left ? count : left;
  if (count < 2 || (step != 0 && outer != 0))
    return 0;
  if (step == 0 &&
      fnzi_krn_spread_rows(&(fnzi_krn_spreading){tile, from, outer, count, n, lane->cell})) {
    index[d - 1] += count - 1;
    return count * t->sizes[d];
  }
  if (outer != 0)
    return 0;
  index[d - 1] += count - 1;
  fnzi_krn_copy_row(tile, cell, from, step, n, lane->cell);
  int64_t done = n * cell;
  n = count * t->sizes[d];
  for (int64_t bytes = n * cell, more; done < bytes; done += more) {
    more = bytes - done < done ? bytes - done : done;
    memcpy(tile + done, tile, (size_t)more);
  }
  return n;
}

/* Copies whole rows along dimension d, whose elements follow one another, by fewer calls than one
 * for each. Returns how many elements, 0 if rows are not so, and leaves `index` at the last row. */
static int64_t copy_rows(const fnzi_tile_program *t, const fnzi_tile_lane *lane, uint32_t d,
                         int64_t *index, char *tile, int64_t room) {
  const int64_t n = t->sizes[d], left = t->sizes[d - 1] - index[d - 1];
  const int64_t count = room / n < left ? room / n : left, outer = lane->strides[d - 1];
  const int64_t cell = lane->cell, bytes = n * cell;
  char *memory = (char *)address_at(t, lane, index);
  if (count < 2 || lane->strides[d] != cell)
    return 0;
  for (int64_t r = 0; r < count; r++, memory += outer, tile += bytes)
    if (lane->kind == FNZI_TILE_LANE_LOADS)
      memcpy(tile, memory, (size_t)bytes);
    else
      memcpy(memory, tile, (size_t)bytes);
  index[d - 1] += count - 1;
  return count * t->sizes[d];
}

/* Copies row by row between memory and the register. Scalars of rows are copied along the
 * dimensions before a row's own. */
static void copy_lane(const walk *w, const fnzi_tile_lane *lane, int64_t count) {
  const fnzi_tile_program *t = w->tile;
  uint32_t dims = lane->of_rows ? t->outer : t->rank, last = dims ? dims - 1 : 0;
  char *tile = (char *)w->slots[lane->slot];
  int64_t cell = lane->cell, step = lane->strides[last];
  int64_t index[FNZ_MAX_RANK];
  for (uint32_t d = 0; d < t->rank; d++)
    index[d] = w->index[d];
  if (dims == 0) { /* the number of the only row */
    char *memory = (char *)address(w, lane);
    bool loads = lane->kind == FNZI_TILE_LANE_LOADS;
    memcpy(loads ? tile : memory, loads ? memory : tile, lane->cell);
    return;
  }
  for (int64_t n; count > 0; tile += n * cell, count -= n) {
    char *memory = (char *)address_at(t, lane, index);
    bool loads = lane->kind == FNZI_TILE_LANE_LOADS;
    int64_t left = t->sizes[last] - index[last];
    bool begins = last && index[last] == 0;
    n = begins && loads ? load_rows(t, lane, last, index, tile, count) : 0;
    n = begins && n == 0 ? copy_rows(t, lane, last, index, tile, count) : n;
    bool copies = n == 0;
    if (copies)
      n = left < count ? left : count;
    if (copies && loads)
      fnzi_krn_copy_row(tile, cell, memory, step, n, lane->cell);
    else if (copies)
      fnzi_krn_copy_row(memory, step, tile, cell, n, lane->cell);
    index[last] = 0;
    for (uint32_t i = last; i-- > 0 && ++index[i] == t->sizes[i];)
      index[i] = 0;
  }
}

/* Copies a transposed operand of a tile so that each cache line is read once. */
static void transpose_lane(const walk *w, const fnzi_tile_lane *lane, int64_t count) {
  const fnzi_tile_program *t = w->tile;
  int64_t sizes[FNZ_MAX_RANK], dense[FNZ_MAX_RANK], strides[FNZ_MAX_RANK], step = 1;
  uint32_t first = t->outer - 1, rank = t->rank - first;
  for (uint32_t d = rank; d-- > 0; step *= sizes[d]) {
    sizes[d] = d ? t->sizes[first + d] : count / t->row;
    strides[d] = lane->strides[first + d] / (int64_t)lane->cell;
    dense[d] = step;
  }
  fnzi_krn_copy_cells(&(fnzi_krn_copy){rank, sizes, w->slots[lane->slot], dense, address(w, lane),
                                       strides, lane->cell},
                      NULL);
}

/* Elements of an earlier tile stay in the register if all tiles read them: the same row, or the
 * same scalar. Tiles of overlapping windows may start at one address, too, but are loaded again. */
static void load_lane(walk *w, uint32_t k, int64_t start, int64_t count) {
  const fnzi_tile_lane *lane = &w->tile->lanes[k];
  const void *from = w->tile->by_rows ? address(w, lane) : lane->storage->data;
  int64_t phase = w->tile->by_rows ? 0 : start % lane->period;
  if (lane->repeats && !w->tile->row && count > w->tile->step)
    count = w->tile->step;
  if (lane->repeats && w->loaded[k].from == from && w->loaded[k].phase == phase &&
      w->loaded[k].count >= count)
    return;
  if (lane->fills)
    fill(w->slots[lane->slot], from, lane->cell,
         w->tile->slots[lane->slot].is_shared ? fnzi_tile_shared(w->tile) : count);
  else if (lane->transposed)
    transpose_lane(w, lane, count);
  else
    copy_lane(w, lane, count);
  w->loaded[k].from = from;
  w->loaded[k].phase = phase;
  w->loaded[k].count = count;
}

/* --- A tile ----------------------------------------------------------------------------------- */
/* Returns the address of element `first` of a row. */
static unsigned char *piece_of(const walk *w, uint16_t slot, int64_t row, int64_t first) {
  const fnzi_tile_slot_info *s = &w->tile->slots[slot];
  return w->slots[slot] + row * s->row_step + first * s->step;
}

/* Consecutive elements of each slot: a whole tile, or a piece of a row that starts at element
 * `first`. */
typedef struct piece {
  int64_t row, first, count;
} piece;

/* Returns the address of element `from` of the piece. */
static inline unsigned char *element_of(const walk *w, uint16_t slot, const piece *p,
                                        int64_t from) {
  unsigned char *first =
      p->row == 0 && p->first == 0 ? w->slots[slot] : piece_of(w, slot, p->row, p->first);
  return from ? first + from * w->tile->slots[slot].cell : first;
}

/* Runs an instruction from element `from` of the piece on. */
static void run_ins(const walk *w, const fnzi_tile_ins *ins, const piece *p, int64_t from) {
  const fnzi_tile_program *t = w->tile;
  unsigned char *out = element_of(w, ins->out, p, from);
  int64_t count = p->count - from;
  const void *in[FNZI_POINT_OPERANDS];
  for (uint32_t k = 0; k < ins->arity; k++)
    in[k] = element_of(w, ins->in[k], p, from);
  if (ins->same) {
    ins->run_same(out, in, ins->same, count);
    return;
  }
  if (ins->kind == FNZI_TILE_INS_RUN) {
    ins->run(out, in, count);
    return;
  }
  const uint32_t cell = t->slots[ins->out].cell;
  if (ins->kind == FNZI_TILE_INS_CHOOSE) {
    const fnzi_krn_choice c = {(char *)out, in[0], in[1], in[2], {cell, 1, cell, cell}};
    fnzi_krn_choose_row(&c, cell, count);
    return;
  }
  const fnzi_krn_conversion c = {ins->to, ins->from, cell, t->slots[ins->in[0]].cell};
  if (ins->kind == FNZI_TILE_INS_KEEP)
    fnzi_krn_convert_kept(&c, out, in[0], count);
  else if (ins->kind == FNZI_TILE_INS_CAST)
    fnzi_krn_cast(&c, out, in[0], count);
  else
    fnzi_krn_convert(&c, out, in[0], count);
}

/* Instructions `i` to before `end`. */
static void run_instructions(const walk *w, uint32_t i, uint32_t end, const piece *p) {
  while (i < end) {
    const fnzi_tile_ins *ins = &w->tile->ins[i];
    if (ins->chain) {
      /* Elements after the last whole block run one table row at a time. */
      const fnzi_tile_chain *c = ins->chain;
      int64_t whole = p->count - p->count % c->chains->elements;
      unsigned char *slots[FNZI_TILE_CHAIN_SLOTS];
      for (uint32_t k = 0; k < c->nslots; k++)
        slots[k] = element_of(w, c->slots[k], p, 0);
      c->chains->run(c->links, slots, whole);
      for (uint32_t k = 0; k < c->count && whole < p->count; k++)
        run_ins(w, &ins[k], p, whole);
    } else
      run_ins(w, ins, p, 0);
    i += ins->chain ? ins->chain->count : 1;
  }
}

/* --- Rows ------------------------------------------------------------------------------------- */
static void run_row(const walk *w, const fnzi_tile_ins *ins, int64_t r) {
  const fnzi_tile_program *t = w->tile;
  const void *in[FNZI_ROW_OPERANDS] = {NULL};
  void *out[FNZI_ROW_RESULTS] = {NULL};
  for (uint32_t k = 0; k < ins->arity; k++)
    in[ins->row->code_operand[k]] = piece_of(w, ins->in[k], r, 0);
  for (uint32_t k = 0; k < ins->row->results; k++) {
    uint16_t slot = ins->row->out[k];
    out[k] =
        t->slots[slot].of_rows ? w->slots[slot] + r * t->slots[slot].cell : piece_of(w, slot, r, 0);
  }
  ins->row->code.run(&ins->row->code, in, out, t->row);
}

/* Repeats a row's scalar. All chunks of a row may read the same copies. */
static void spread(const walk *w, const fnzi_tile_ins *ins, int64_t r) {
  const fnzi_tile_program *t = w->tile;
  uint32_t cell = t->slots[ins->out].cell;
  int64_t count =
      t->slots[ins->out].is_shared && t->row > FNZI_POINT_CHUNK ? FNZI_POINT_CHUNK : t->row;
  fill(piece_of(w, ins->out, r, 0), w->slots[ins->in[0]] + r * cell, cell, count);
}

static bool is_piecewise(const fnzi_tile_ins *ins) {
  return ins->kind != FNZI_TILE_INS_ROW && ins->kind != FNZI_TILE_INS_SPREAD && !ins->of_rows;
}

/* Runs instructions from `i` on that need no whole row, over `count` elements. Returns the index
 * after the last. */
static uint32_t run_pieces(const walk *w, uint32_t i, uint32_t end, int64_t row, int64_t count) {
  const fnzi_tile_program *t = w->tile;
  uint32_t behind = i + 1;
  while (behind < end && is_piecewise(&t->ins[behind]))
    behind++;
  for (int64_t first = 0; first < count; first += FNZI_POINT_CHUNK)
    run_instructions(
        w, i, behind,
        &(piece){row, first, count - first < FNZI_POINT_CHUNK ? count - first : FNZI_POINT_CHUNK});
  return behind;
}

/* Runs the instructions for rows `row` to `last`, as one piece if possible. */
static void run_rows(const walk *w, uint32_t i, uint32_t end, int64_t row, int64_t last) {
  const fnzi_tile_program *t = w->tile;
  while (i < end) {
    const fnzi_tile_ins *ins = &t->ins[i];
    if (is_piecewise(ins)) {
      i = run_pieces(w, i, end, row, (last - row + 1) * t->row);
      continue;
    }
    for (int64_t r = row; r <= last; r++)
      if (ins->kind == FNZI_TILE_INS_ROW)
        run_row(w, ins, r);
      else
        spread(w, ins, r);
    i++;
  }
}

static void run_tile_of_rows(const walk *w, int64_t rows) {
  const fnzi_tile_program *t = w->tile;
  for (uint32_t i = 0, end; i < t->nins; i = end) {
    for (end = i; end < t->nins && !t->ins[end].of_rows;)
      end++;
    for (int64_t r = 0; r < rows && t->by_rows; r++)
      run_rows(w, i, end, r, r);
    if (!t->by_rows)
      run_rows(w, i, end, 0, rows - 1);
    for (i = end; end < t->nins && t->ins[end].of_rows;)
      end++;
    run_instructions(w, i, end, &(piece){0, 0, rows});
  }
}

static int64_t elements_of(const fnzi_tile_program *t, const fnzi_tile_lane *lane, int64_t count) {
  return lane->of_rows ? count / t->row : count;
}

/* --- The walk --------------------------------------------------------------------------------- */
/* Runs a tile without rows: between steps only addresses of memory change. */
static void run_steps(walk *w, int64_t count) {
  const fnzi_tile_program *t = w->tile;
  for (int64_t element = 0; element < count; element += t->step) {
    for (uint32_t k = 0; k < t->nlanes && element; k++)
      if (t->lanes[k].kind == FNZI_TILE_LANE_DIRECT)
        w->slots[t->lanes[k].slot] =
            address(w, &t->lanes[k]) + (t->lanes[k].same ? 0 : element * t->lanes[k].cell);
    run_instructions(w, 0, t->nins,
                     &(piece){0, 0, count - element < t->step ? count - element : t->step});
  }
}

static void run_tile(walk *w, int64_t start, int64_t count) {
  const fnzi_tile_program *t = w->tile;
  for (uint32_t k = 0; k < t->nlanes; k++) {
    const fnzi_tile_lane *lane = &t->lanes[k];
    if (lane->kind == FNZI_TILE_LANE_DIRECT)
      w->slots[lane->slot] = address(w, lane);
    else if (lane->kind == FNZI_TILE_LANE_LOADS)
      load_lane(w, k, start, elements_of(t, lane, count));
    else if (lane->kind == FNZI_TILE_LANE_TRANSPOSED)
      w->slots[lane->slot] = w->registers + lane->panel + w->row * count * lane->cell;
  }
  if (t->row)
    run_tile_of_rows(w, count / t->row);
  else
    run_steps(w, count);
  for (uint32_t k = 0; k < t->nlanes; k++)
    if (t->lanes[k].kind == FNZI_TILE_LANE_STORES)
      copy_lane(w, &t->lanes[k], elements_of(t, &t->lanes[k], count));
}

/* Runs rows that follow along the dimension before theirs and are in memory: only addresses change.
 * Returns how many elements these are of `count`. */
static int64_t run_direct_rows(walk *w, int64_t count) {
  const fnzi_tile_program *t = w->tile;
  const uint32_t last = t->rank - 1;
  const int64_t row = t->sizes[last], left = t->sizes[last - 1] - w->index[last - 1];
  const int64_t rows = w->index[last] != 0 ? 0 : count / row < left ? count / row : left;
  unsigned char *at[FNZI_TILE_LANES];
  for (uint32_t k = 0; k < t->nlanes; k++)
    at[k] = address(w, &t->lanes[k]);
  for (int64_t r = 0; r < rows; r++) {
    for (uint32_t k = 0; k < t->nlanes; k++) {
      w->slots[t->lanes[k].slot] = at[k];
      at[k] += t->lanes[k].strides[last - 1];
    }
    run_instructions(w, 0, t->nins, &(piece){0, 0, row});
  }
  return rows * row;
}

static void advance(walk *w, int64_t count) {
  const fnzi_tile_program *t = w->tile;
  for (uint32_t d = t->rank; d-- > 0 && count > 0;) {
    int64_t sum = w->index[d] + count;
    count = sum < t->sizes[d] ? 0 : sum / t->sizes[d];
    w->index[d] = sum - count * t->sizes[d];
  }
}

/* Returns the elements left in the dimension along which tiles are cut. */
static int64_t left_of(const walk *w) {
  const fnzi_tile_program *t = w->tile;
  uint32_t along = t->row && t->outer ? t->outer - 1 : t->rank - 1;
  int64_t left = t->sizes[along] - w->index[along];
  return t->row ? (t->outer ? left * t->row : t->row) : left;
}

/* --- Panels ----------------------------------------------------------------------------------- */
static int64_t parts(int64_t size, int64_t part) {
  return (size + part - 1) / part;
}

static int64_t next_part(walk *w, uint32_t d, int64_t part, int64_t *panel) {
  int64_t count = parts(w->tile->sizes[d], part), left;
  w->index[d] = *panel % count * part;
  *panel /= count;
  left = w->tile->sizes[d] - w->index[d];
  return left < part ? left : part;
}

static void run_panel(walk *w, int64_t panel) {
  const fnzi_tile_program *t = w->tile;
  uint32_t last = t->rank - 1;
  int64_t count = next_part(w, last, FNZI_POINT_CHUNK, &panel);
  int64_t rows = next_part(w, last - 1, FNZI_TILE_PANEL_ROWS, &panel);
  const int64_t sizes[] = {rows, count}, dense[] = {count, 1};
  for (uint32_t d = last - 1; d-- > 0;)
    (void)next_part(w, d, 1, &panel);
  for (uint32_t k = 0; k < t->nlanes; k++) {
    const fnzi_tile_lane *lane = &t->lanes[k];
    const int64_t strides[] = {1, lane->strides[last] / (int64_t)lane->cell};
    if (lane->kind == FNZI_TILE_LANE_TRANSPOSED)
      fnzi_krn_copy_cells(&(fnzi_krn_copy){2, sizes, w->registers + lane->panel, dense,
                                           address(w, lane), strides, lane->cell},
                          NULL);
  }
  for (w->row = 0; w->row < rows; w->row++, w->index[last - 1]++)
    run_tile(w, 0, count);
}

int64_t fnzi_tile_pieces(const fnzi_tile_program *t) {
  uint32_t last = t->rank - 1;
  if (!t->by_panels)
    return parts(t->count, t->piece);
  int64_t count =
      parts(t->sizes[last], FNZI_POINT_CHUNK) * parts(t->sizes[last - 1], FNZI_TILE_PANEL_ROWS);
  for (uint32_t d = 0; d + 1 < last; d++)
    count *= t->sizes[d];
  return count;
}

/* Pieces `start` to before `end`, with the registers of one thread. */
void fnzi_tile_run_pieces(const fnzi_tile_program *t, unsigned char *registers, int64_t start,
                          int64_t end) {
  walk w; /* not cleared: it is large */
  w.tile = t;
  w.registers = registers;
  w.row = 0;
  memset(w.index, 0, sizeof w.index);
  for (uint32_t k = 0; k < t->nslots; k++)
    w.slots[k] = t->slots[k].constants ? t->slots[k].constants
                 : t->thread_bytes     ? registers + t->slots[k].offset
                                       : NULL; /* all slots are memory */
  for (uint32_t k = 0; k < t->nlanes; k++)
    w.loaded[k].from = NULL;
  if (t->by_panels) {
    for (int64_t k = start; k < end; k++)
      run_panel(&w, k);
    return;
  }
  int64_t element = start * t->piece, last = end * t->piece < t->count ? end * t->piece : t->count;
  advance(&w, element);
  while (element < last) {
    int64_t n = t->direct_rows ? run_direct_rows(&w, last - element) : 0;
    if (n == 0) {
      n = last - element < t->chunk ? last - element : t->chunk;
      if (t->by_rows && n > left_of(&w))
        n = left_of(&w);
      run_tile(&w, element, n);
    }
    advance(&w, n);
    element += n;
  }
}

typedef struct shared {
  const fnzi_tile_program *tile;
  unsigned char *registers;
} shared;

static void tile_run_range(const void *user, int64_t start, int64_t end, int lane) {
  const shared *s = user;
  size_t own = (size_t)lane * s->tile->thread_bytes;
  fnzi_tile_run_pieces(s->tile, own ? s->registers + own : s->registers, start, end);
}

/* Elements do not depend on each other, so neither do results on the number of threads. */
void fnzi_tile_run(const fnzi_tile_program *t, unsigned char *registers) {
  fnzi_krn_share_ranges(t->team, fnzi_tile_pieces(t), tile_run_range, &(shared){t, registers});
}
