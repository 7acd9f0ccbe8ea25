/* registers.c - how a group walks over its elements, and which registers its slots have. */
#include "engine/tile/tile.h"
#include <stdlib.h>

/* --- The walk --------------------------------------------------------------------------------- */
static void swap_dims(fnzi_tile_program *t, uint32_t a, uint32_t b) {
  int64_t size = t->sizes[a];
  t->sizes[a] = t->sizes[b];
  t->sizes[b] = size;
  for (uint32_t k = 0; k < t->nlanes; k++) {
    int64_t stride = t->lanes[k].strides[a];
    t->lanes[k].strides[a] = t->lanes[k].strides[b];
    t->lanes[k].strides[b] = stride;
  }
}

static void move_dim(fnzi_tile_program *t, uint32_t to, uint32_t from) {
  t->sizes[to] = t->sizes[from];
  for (uint32_t k = 0; k < t->nlanes; k++)
    t->lanes[k].strides[to] = t->lanes[k].strides[from];
}

/* Compares strides of stores, then of loads: the shortest are innermost. */
static bool runs_inside(const fnzi_tile_program *t, uint32_t a, uint32_t b) {
  for (int stores = 1; stores >= 0; stores--)
    for (uint32_t k = 0; k < t->nlanes; k++) {
      int64_t x = llabs(t->lanes[k].strides[a]), y = llabs(t->lanes[k].strides[b]);
      if (t->lanes[k].stores == stores && x != y)
        return x < y;
    }
  return false;
}

/* Merges dimensions from `from` to `end` that are contiguous to each other in every lane, and moves
 * them to `to`. Returns the end of the moved dimensions. */
static uint32_t join_dims(fnzi_tile_program *t, uint32_t to, uint32_t from, uint32_t end) {
  uint32_t last = to;
  if (from == end)
    return to;
  move_dim(t, to, from);
  for (uint32_t d = from + 1; d < end; d++) {
    bool joins = true;
    for (uint32_t k = 0; joins && k < t->nlanes; k++)
      joins = t->lanes[k].strides[last] ==
              fnzi_krn_stride_bytes(t->lanes[k].strides[d], (size_t)t->sizes[d]);
    if (joins) {
      int64_t size = t->sizes[last] * t->sizes[d];
      move_dim(t, last, d);
      t->sizes[last] = size;
    } else {
      move_dim(t, ++last, d);
    }
  }
  return last + 1;
}

/* Rows stay as they are: their elements are the last dimensions. */
static void registers_find_rows(fnzi_tile_program *t, const fnz_geometry *space) {
  uint32_t begin = space->rank - t->dims, outer = 0;
  t->row = 1;
  for (uint32_t d = 0; d < space->rank; d++) {
    t->row *= d < begin ? 1 : space->sizes[d];
    outer += d < begin && space->sizes[d] != 1;
  }
  t->outer = join_dims(t, 0, 0, outer);
  t->rank = join_dims(t, t->outer, outer, t->rank);
  t->by_rows = t->row >= FNZI_TILE_LEAST_ROW;
  t->chunk = (t->by_rows ? FNZI_TILE_ROWS : FNZI_POINT_CHUNK) / t->row * t->row;
  t->chunk = t->chunk ? t->chunk : t->row;
  t->piece = t->chunk < FNZI_TILE_PIECE ? FNZI_TILE_PIECE / t->chunk * t->chunk : t->chunk;
}

/* Returns whether several rows fit into a tile, and each lane is contiguous or the same for all
 * rows. */
static bool repeat_rows(const fnzi_tile_program *t) {
  int64_t row = t->sizes[t->rank - 1];
  bool fits = row <= FNZI_POINT_CHUNK / 2;
  for (uint32_t k = 0; k < t->nlanes && fits; k++) {
    const fnzi_tile_lane *lane = &t->lanes[k];
    int64_t step = lane->strides[t->rank - 1];
    fits = step == lane->cell || step == 0;
    for (uint32_t d = t->rank - 1; d-- > 0 && fits;)
      fits =
          lane->strides[d] == 0 ||
          lane->strides[d] == fnzi_krn_stride_bytes(lane->strides[d + 1], (size_t)t->sizes[d + 1]);
  }
  return fits;
}

static void find_order(fnzi_tile_program *t, const fnz_geometry *space) {
  for (uint32_t k = 0; k < t->nlanes; k++) {
    fnzi_tile_lane *lane = &t->lanes[k];
    /* Strides of a lane that broadcasts to the space, or to its first dimensions. */
    uint32_t missing = lane->rank - lane->map->rank;
    for (uint32_t d = 0; d < space->rank; d++)
      lane->strides[d] = d >= lane->rank || d < missing || lane->map->sizes[d - missing] == 1
                             ? 0
                             : fnzi_krn_stride_bytes(lane->map->strides[d - missing], lane->cell);
  }
  t->rank = 0;
  for (uint32_t d = 0; d < space->rank; d++) { /* without dimensions of one element */
    t->sizes[d] = space->sizes[d];
    if (t->sizes[d] != 1)
      move_dim(t, t->rank++, d);
  }
  if (t->dims) {
    registers_find_rows(t, space);
    return;
  }
  for (uint32_t i = 1; i < t->rank; i++)
    for (uint32_t j = i; j > 0 && runs_inside(t, j - 1, j); j--)
      swap_dims(t, j - 1, j);
  t->rank = join_dims(t, 0, 0, t->rank);
  if (t->rank == 0) {
    t->rank = 1;
    t->sizes[0] = 1;
    for (uint32_t k = 0; k < t->nlanes; k++)
      t->lanes[k].strides[0] = t->lanes[k].cell;
  }
  const int64_t row = t->sizes[t->rank - 1];
  t->by_rows = t->rank == 1 || (row >= FNZI_TILE_LEAST_ROW && !repeat_rows(t));
  t->outer = t->rank - 1;
  /* Whole rows, so that all steps read the same elements of a row that repeats. */
  t->chunk = t->step = t->by_rows ? FNZI_POINT_CHUNK : FNZI_POINT_CHUNK / row * row;
  t->piece = FNZI_TILE_PIECE / t->chunk * t->chunk;
}

/* --- Lanes ------------------------------------------------------------------------------------ */
/* Dense along dimension d, and of no use along rows. */
static bool is_transposed(const fnzi_tile_program *t, const fnzi_tile_lane *lane, uint32_t d) {
  enum { LEAST = 8 }; /* rows that are worth a panel */
  int64_t step = lane->strides[t->rank - 1];
  return !lane->stores && step != 0 && step != lane->cell && lane->strides[d] == lane->cell &&
         t->sizes[d] >= LEAST;
}

/* Moves the dimension along which operands are contiguous to just before the rows. Tiles of rows
 * are enlarged so that cache lines are read whole, as far as the second-level cache holds them. */
static void transpose(fnzi_tile_program *t) {
  uint32_t end = t->row ? t->outer : t->rank - 1;
  bool found = false;
  for (uint32_t k = 0; k < t->nlanes && t->by_rows && !found; k++)
    for (uint32_t d = 0; d < end && !found; d++) {
      found = is_transposed(t, &t->lanes[k], d);
      if (found)
        swap_dims(t, d, end - 1);
    }
  t->by_panels = found && !t->row;
  if (!found || !t->row)
    return;
  int64_t rows = FNZI_TILE_TRANSPOSED / t->row;
  rows = rows < FNZI_TILE_TRANSPOSED_ROWS ? rows : FNZI_TILE_TRANSPOSED_ROWS;
  if (rows * t->row <= t->chunk)
    return;
  t->chunk = rows * t->row;
  t->piece = t->chunk < FNZI_TILE_PIECE ? FNZI_TILE_PIECE / t->chunk * t->chunk : t->chunk;
}

/* Returns whether a tile's elements, or its rows' scalars, are contiguous in iteration order. */
static bool is_dense(const fnzi_tile_program *t, const fnzi_tile_lane *lane) {
  uint32_t end = lane->of_rows ? t->outer : t->rank, first = t->by_rows ? t->outer : 0;
  if (end == 0) /* one number */
    return true;
  first = first < end ? first : end - 1;
  if (lane->strides[end - 1] != lane->cell)
    return false;
  for (uint32_t d = first + 1; d < end; d++)
    if (lane->strides[d - 1] != fnzi_krn_stride_bytes(lane->strides[d], (size_t)t->sizes[d]))
      return false;
  return true;
}

/* Says that a lane of the same buffer is read in place after the value is computed. They may share
 * bytes, so the value is stored when the tile is done. */
static bool is_read_on(const fnzi_tile_program *t, const fnzi_tile_lane *store) {
  const fnzi_tile_slot_info *written = &t->slots[store->slot];
  for (uint32_t k = 0; k < t->nlanes; k++) {
    const fnzi_tile_lane *lane = &t->lanes[k];
    if (!lane->stores && lane->storage == store->storage && is_dense(t, lane) &&
        t->slots[lane->slot].last > written->first)
      return true;
  }
  return false;
}

/* Chooses how a lane is loaded or stored. Also finds whether its slot is memory itself, and until
 * when it needs its register. */
static void choose_kind(fnzi_tile_program *t, uint32_t k) {
  fnzi_tile_lane *lane = &t->lanes[k];
  fnzi_tile_slot_info *slot = &t->slots[lane->slot];
  uint32_t outermost = 0;
  int64_t period = 1;
  while (outermost < t->rank && lane->strides[outermost] == 0)
    outermost++;
  for (uint32_t d = outermost; d < t->rank; d++)
    period *= t->sizes[d];
  lane->period = period;
  slot->is_memory = is_dense(t, lane) && !(lane->stores && is_read_on(t, lane));
  if (t->by_panels && is_transposed(t, lane, t->rank - 2)) {
    lane->kind = FNZI_TILE_LANE_TRANSPOSED;
    slot->is_memory = true;
    return;
  }
  lane->kind = slot->is_memory ? FNZI_TILE_LANE_DIRECT
               : lane->stores  ? FNZI_TILE_LANE_STORES
                               : FNZI_TILE_LANE_LOADS;
  bool loads = lane->kind == FNZI_TILE_LANE_LOADS && !lane->of_rows;
  lane->transposed =
      loads && t->row && t->by_rows && t->outer && is_transposed(t, lane, t->outer - 1);
  lane->fills = loads && t->by_rows; /* if all elements of a tile are the same one in memory */
  for (uint32_t d = t->row ? 0 : t->outer; d < t->rank; d++)
    lane->fills = lane->fills && lane->strides[d] == 0;
  slot->is_shared = t->row && lane->fills && !slot->is_whole;
  for (uint32_t d = 0; d < t->rank; d++)
    lane->repeats = lane->repeats || (loads && lane->strides[d] == 0);
  if (lane->kind == FNZI_TILE_LANE_STORES || lane->repeats)
    slot->last = FNZI_TILE_ALWAYS;
}

/* --- Operands that are one element ------------------------------------------------------------ */

/* Whether no instruction needs copies of the element. Results are not in its memory, which the
 * proof of the plan says: they would be read through another map. */
static bool is_read_as_one(const fnzi_tile_program *t, const fnzi_tile_lane *lane) {
  for (uint32_t i = 0, end = 0; i < t->nins; i++) {
    const fnzi_tile_ins *ins = &t->ins[i];
    end = ins->chain ? i + ins->chain->count : end;
    for (uint32_t k = 0; k < ins->arity; k++)
      if (ins->in[k] == lane->slot && (!ins->run_same || i < end))
        return false;
  }
  return true;
}

/* Numbers, and operands that are the same along each row. Copies of them would be written for each
 * row, and read by each vector. */
static void find_same(fnzi_tile_program *t) {
  for (uint32_t k = 0; k < t->nlanes && !t->row && !t->by_panels; k++) {
    fnzi_tile_lane *lane = &t->lanes[k];
    if (!lane->fills || !is_read_as_one(t, lane))
      continue;
    lane->kind = FNZI_TILE_LANE_DIRECT;
    lane->same = t->slots[lane->slot].is_memory = true;
  }
  for (uint32_t i = 0, end = 0; i < t->nins; i++) {
    fnzi_tile_ins *ins = &t->ins[i];
    end = ins->chain ? i + ins->chain->count : end;
    for (uint32_t k = 0; k < ins->arity && i >= end && ins->run_same; k++) {
      bool is_one = t->slots[ins->in[k]].constants != NULL;
      for (uint32_t l = 0; l < t->nlanes; l++)
        is_one = is_one || (t->lanes[l].same && t->lanes[l].slot == ins->in[k]);
      ins->same |= (uint8_t)(is_one << k);
    }
  }
}

/* --- Registers -------------------------------------------------------------------------------- */
typedef struct file {
  struct {
    size_t offset, bytes;
    uint32_t cell;
    int32_t last; /* instruction that uses it last */
  } all[FNZI_TILE_SLOTS];
  uint32_t count;
} file;

/* A line more than its elements, so that registers do not all fall on the same places of the cache.
 */
static size_t register_bytes(uint32_t cell, int64_t count) {
  size_t bytes = (size_t)cell * (size_t)count + FNZI_PLN_ALIGNMENT - 1;
  return bytes / FNZI_PLN_ALIGNMENT * FNZI_PLN_ALIGNMENT + FNZI_PLN_ALIGNMENT;
}

/* A result needs the memory of one row only, if no other row is computed before its last reader. A
 * result that all chunks of a row read stays until all rows are computed. */
static void find_step(fnzi_tile_program *t, const fnzi_tile_ins *ins, fnzi_tile_slot_info *s) {
  int32_t i = s->first;
  /* The last of the instructions that are computed row by row together with instruction i. */
  while (i < (int32_t)t->nins && !t->ins[i].of_rows)
    i++;
  int32_t end = i - 1;
  if (s->of_rows || s->is_memory)
    return;
  s->row_step = t->by_rows && s->last <= end ? 0 : t->row * s->cell;
  s->is_shared = ins->kind == FNZI_TILE_INS_SPREAD && t->by_rows && s->row_step == 0;
  s->last = s->is_shared ? end : s->last;
}

/* Finds the distances between rows of a tile. */
static void find_steps(fnzi_tile_program *t) {
  for (uint32_t k = 0; k < t->nlanes; k++) {
    fnzi_tile_slot_info *s = &t->slots[t->lanes[k].slot];
    bool follows = t->by_rows && s->is_memory && t->outer;
    if (!s->of_rows && !s->is_shared)
      s->row_step = follows ? t->lanes[k].strides[t->outer - 1] : t->row * s->cell;
  }
  for (uint32_t i = 0; i < t->nins; i++) {
    const fnzi_tile_row *row = t->ins[i].row;
    for (uint32_t k = 0; k < (row ? row->results : 1u); k++)
      find_step(t, &t->ins[i], &t->slots[row ? row->out[k] : t->ins[i].out]);
  }
  for (uint32_t k = 0; k < t->nslots; k++)
    t->slots[k].step = t->slots[k].is_shared || t->slots[k].constants ? 0 : t->slots[k].cell;
}

/* A register that is free when instruction `s->first` writes; one that this instruction reads for
 * the last time is, where its loop may write over an operand. */
static void allocate_register(fnzi_tile_program *t, file *f, fnzi_tile_slot_info *s) {
  bool reads_on = s->first >= 0 && t->ins[s->first].kind == FNZI_TILE_INS_RUN;
  int64_t count = t->step;
  if (t->row)
    count = s->of_rows                       ? t->chunk / t->row
            : s->is_shared                   ? fnzi_tile_shared(t)
            : t->by_rows && s->row_step == 0 ? t->row
                                             : t->chunk;
  size_t bytes = register_bytes(s->cell, count);
  for (uint32_t r = 0; r < f->count; r++) {
    bool over = f->all[r].last < s->first || (reads_on && f->all[r].last == s->first);
    if (f->all[r].cell == s->cell && f->all[r].bytes == bytes && over) {
      f->all[r].last = s->last;
      s->offset = f->all[r].offset;
      return;
    }
  }
  s->offset = t->thread_bytes;
  f->all[f->count].offset = t->thread_bytes;
  f->all[f->count].bytes = bytes;
  f->all[f->count].cell = s->cell;
  f->all[f->count++].last = s->last;
  t->thread_bytes += bytes;
}

/* Allocates registers in the order in which slots are written: loads, then instructions. */
static fnz_status allocate_registers(fnz_context *ctx, fnzi_tile_program *t) {
  file *f = fnzi_resize(ctx, NULL, 0, sizeof *f);
  if (!f)
    return fnzi_no_memory(ctx);
  f->count = 0;
  t->thread_bytes = 0;
  for (uint32_t k = 0; k < t->nslots; k++)
    if (t->slots[k].first < 0 && !t->slots[k].is_memory && !t->slots[k].constants)
      allocate_register(t, f, &t->slots[k]);
  for (uint32_t i = 0; i < t->nins; i++) {
    const fnzi_tile_row *row = t->ins[i].row;
    for (uint32_t k = 0; k < (row ? row->results : 1u); k++) {
      fnzi_tile_slot_info *result = &t->slots[row ? row->out[k] : t->ins[i].out];
      if (!result->is_memory)
        allocate_register(t, f, result);
    }
  }
  fnzi_free(ctx, f, sizeof *f);
  return FNZ_OK;
}

/* Each start of a loop costs as much as some dozens of elements. So tiles are large where only
 * addresses change within them, and steps are as long as registers fit in the cache. A single
 * instruction that reads and writes memory keeps no data for another one: its step is the tile. */
static void lengthen(fnzi_tile_program *t) {
  int64_t each = (int64_t)t->thread_bytes / t->step, most = t->piece;
  bool keeps = t->nins != 1 || t->thread_bytes;
  for (uint32_t k = 0; k < t->nslots; k++) {
    const fnzi_tile_slot_info *s = &t->slots[k];
    int64_t step = fnzi_tile_most_step(s->cell);
    keeps = keeps || s->constants;
    most = (!s->is_memory || s->constants) && step < most ? step : most;
  }
  t->chunk = t->piece;
  while (2 * t->step <= most && (!keeps || 2 * t->step * each <= FNZI_TILE_REGISTERS))
    t->step *= 2;
}

fnz_status fnzi_tile_arrange(fnz_context *ctx, fnzi_tile_program *t, const fnz_geometry *space) {
  t->count = fnz_geometry_numel(space);
  find_order(t, space);
  transpose(t);
  for (uint32_t k = 0; k < t->nlanes; k++)
    choose_kind(t, k);
  find_same(t);
  if (t->row)
    find_steps(t);
  FNZ_TRY(allocate_registers(ctx, t));
  /* Whether no lane is copied for each step: it is in memory, or all steps find the same elements
   * in its register. */
  bool direct = !t->row && !t->by_panels;
  for (uint32_t k = 0; direct && k < t->nlanes; k++) {
    const fnzi_tile_lane *lane = &t->lanes[k];
    direct = lane->kind == FNZI_TILE_LANE_DIRECT || lane->fills ||
             (lane->repeats && !t->by_rows && t->sizes[t->rank - 1] % lane->period == 0);
  }
  if (direct) {
    lengthen(t);
    FNZ_TRY(allocate_registers(ctx, t));
  }
  t->direct_rows = direct && t->by_rows && t->rank > 1 && t->sizes[t->rank - 1] <= t->step;
  for (uint32_t k = 0; k < t->nlanes; k++)
    t->direct_rows = t->direct_rows && t->lanes[k].kind == FNZI_TILE_LANE_DIRECT;
  for (uint32_t k = 0; k < t->nlanes; k++)
    if (t->lanes[k].kind == FNZI_TILE_LANE_TRANSPOSED) {
      t->lanes[k].panel = t->thread_bytes;
      t->thread_bytes += register_bytes(t->lanes[k].cell, FNZI_POINT_CHUNK) * FNZI_TILE_PANEL_ROWS;
    }
  return FNZ_OK;
}
