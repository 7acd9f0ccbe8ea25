/* row_pieces.c - computes few long rows, such as all elements of a tensor, by several kernels. Many
 * blocks reduce pieces of the rows to numbers, and a second kernel joins these to one number per
 * row. If other numbers depend on a row's number, as the sum of exponentials depends on the
 * maximum, both kernels are repeated. A last kernel computes the elements that need these numbers;
 * it works on elements, not rows. The count, length and layout of the rows decide the size of the
 * pieces. Values of rows are passed between the kernels in scratch of the step. */
#include "engine/device/rows.h"

enum { PIECE = 16384, MOST_ROWS = 128 }; /* elements; rows that do not keep a GPU at work */
/* The same for rows whose elements interleave in memory; a block takes 32 such rows. Several
 * kernels in sequence pay off only for MANY elements. */
enum { PIECE_ACROSS = 256, MOST_ACROSS = 8192, MOST_PIECES = 1024, MANY = 1 << 17 };

typedef struct cut {
  fnzi_dev_rows *r;
  fnzi_dev_work *work;
  int64_t rows, length, pieces, piece;
  bool across;                        /* elements of rows interleave in memory */
  uint8_t level[FNZI_DEV_ROWS_SLOTS]; /* per slot: passes over a row before the value is known */
  uint8_t levels;                     /* at most */
  bool later[FNZI_DEV_ROWS_SLOTS]; /* per slot: a value of rows that kernels after its own read */
  int64_t scratch_at[FNZI_DEV_ROWS_SLOTS]; /* per slot: its offset in scratch */
  bool needed[FNZI_DEV_ROWS_SLOTS];        /* by the kernel at hand */
  bool stores_elements;
} cut;

/* --- What is known when ----------------------------------------------------------------------- */
/* Returns whether the slot is a value of rows computed from their reductions. Other kernels read
 * it. */
static bool is_computed(const cut *c, uint32_t slot) {
  return c->r->g.slots[slot].of_rows && c->level[slot] > 0;
}

static void find_levels(cut *c) {
  const fnzi_cuda_group *g = &c->r->g;
  for (uint32_t i = 0; i < g->nins; i++) {
    const fnzi_cuda_ins *ins = &g->ins[i];
    uint8_t level = 0;
    for (uint32_t k = 0; k < ins->arity; k++)
      level = c->level[ins->in[k]] > level ? c->level[ins->in[k]] : level;
    level = (uint8_t)(level + fnzi_cuda_reduces(ins));
    c->level[ins->out] = level;
    if (ins->kind == FNZI_CUDA_PICK)
      c->level[ins->index] = level;
    c->levels = level > c->levels ? level : c->levels;
  }
}

static bool stores_elements(const fnzi_cuda_group *g) {
  bool any = false;
  for (uint32_t k = 0; k < g->nlanes; k++)
    any = any || (g->lanes[k].stores && !g->slots[g->lanes[k].slot].of_rows);
  return any;
}

/* Finds values of rows that other kernels read. The last kernel stores results of rows, because
 * operands in the same memory may be read until then. */
static void find_later(cut *c) {
  const fnzi_cuda_group *g = &c->r->g;
  for (uint32_t i = 0; i < g->nins; i++) {
    const fnzi_cuda_ins *ins = &g->ins[i];
    bool same = g->slots[ins->out].of_rows && !fnzi_cuda_reduces(ins);
    for (uint32_t k = 0; k < ins->arity; k++)
      if (is_computed(c, ins->in[k]) && !(same && c->level[ins->out] == c->level[ins->in[k]]))
        c->later[ins->in[k]] = true;
  }
  for (uint32_t k = 0; k < g->nlanes; k++)
    if (g->lanes[k].stores && is_computed(c, g->lanes[k].slot) &&
        (c->stores_elements || c->level[g->lanes[k].slot] < c->levels))
      c->later[g->lanes[k].slot] = true;
}

static void pieces_measure(cut *c) {
  const fnzi_cuda_group *g = &c->r->g;
  c->stores_elements = stores_elements(g);
  c->rows = c->length = 1;
  for (uint32_t d = 0; d < g->rank; d++)
    if (d < g->outer)
      c->rows = fnzi_krn_stride_bytes(c->rows, (size_t)g->sizes[d]);
    else
      c->length = fnzi_krn_stride_bytes(c->length, (size_t)g->sizes[d]);
  c->across = fnzi_cuda_block_has_rows(g);
  c->piece = c->across ? PIECE_ACROSS : PIECE;
  while (c->across && c->length / c->piece >= MOST_PIECES)
    c->piece *= 2;
  c->pieces = (c->length + c->piece - 1) / c->piece;
}

static bool is_worth_it(const cut *c) {
  if (!c->across)
    return c->pieces > 1 && c->rows <= MOST_ROWS;
  bool at_once = c->levels == 1 && !c->stores_elements;
  return c->length >= 2 * c->piece && c->rows <= MOST_ACROSS &&
         (at_once || c->length >= MANY / c->rows);
}

/* --- Kernels ---------------------------------------------------------------------------------- */
/* A group with the slots of all of it, which keep their places; its rows are `row` elements, or as
 * they were. */
static fnz_status open_kernel(cut *c, int64_t row, fnzi_dev_rows *out) {
  const fnzi_cuda_group *g = &c->r->g;
  FNZ_TRY(fnzi_dev_rows_begin(c->r->m, out));
  int64_t *sizes = (int64_t *)(uintptr_t)out->g.sizes;
  memcpy(sizes, g->sizes, g->rank * sizeof *sizes);
  out->g.rank = row ? g->outer + 1 : g->rank;
  out->g.outer = g->outer;
  if (row)
    sizes[g->outer] = row;
  for (uint32_t k = 0; k < g->nslots; k++) {
    (void)fnzi_dev_rows_value(out, (fnz_dtype)g->slots[k].dtype, g->slots[k].of_rows);
    out->g.slots[k].number = g->slots[k].number;
  }
  memset(c->needed, 0, sizeof c->needed);
  return FNZ_OK;
}

/* Memory of the step with `count` values of a slot for each row. */
static fnz_status reserve(cut *c, uint32_t slot, int64_t count, int64_t *offset) {
  int64_t bytes;
  if (!fnzi_mul_i64(count, (int64_t)fnzi_dtype(fnzi_dev_rows_dtype(c->r, (uint16_t)slot))->bytes,
                    &bytes) ||
      !fnzi_mul_i64(bytes, c->rows, &bytes))
    return fnzi_no_memory(c->r->m->ws->ctx);
  return fnzi_dev_work_scratch(c->r->m, c->work, (size_t)bytes, offset);
}

/* A lane over such memory. */
static fnzi_cuda_lane *pieces_add_scratch(const cut *c, fnzi_dev_rows *k, uint16_t slot,
                                          bool stores, int64_t count, int64_t at) {
  const fnzi_dev_operand operand = {FNZI_DEV_AT_SCRATCH, at};
  fnzi_cuda_lane *lane = fnzi_dev_rows_lane(k, slot, stores, operand);
  int64_t step = fnzi_krn_stride_bytes(count, fnzi_dtype(fnzi_dev_rows_dtype(k, slot))->bytes);
  for (uint32_t d = c->r->g.outer; d-- > 0;) {
    lane->strides[d] = step;
    step = fnzi_krn_stride_bytes(step, (size_t)c->r->g.sizes[d]);
  }
  return lane;
}

/* Adds lane i of the whole group, without a row's dimensions if the kernel has none. */
static void pieces_add_lane(const cut *c, fnzi_dev_rows *k, uint32_t i) {
  const fnzi_cuda_group *g = &c->r->g;
  const fnzi_cuda_lane *lane = &g->lanes[i];
  fnzi_cuda_lane *out = fnzi_dev_rows_lane(k, lane->slot, lane->stores, c->r->operands[i]);
  uint32_t dims = g->slots[lane->slot].of_rows ? g->outer : g->rank;
  memcpy(out->strides, lane->strides, dims * sizeof *out->strides);
}

/* Adds all that computes the needed slots: instructions in order, values of other kernels, lanes.
 * Values of rows with this `level` are computed here; others are loaded. */
static void add_needed(cut *c, fnzi_dev_rows *k, uint8_t level) {
  const fnzi_cuda_group *g = &c->r->g;
  for (uint32_t i = g->nins; i-- > 0;) {
    const fnzi_cuda_ins *ins = &g->ins[i];
    bool here = !fnzi_cuda_reduces(ins) && c->needed[ins->out] &&
                (!is_computed(c, ins->out) || c->level[ins->out] == level);
    for (uint32_t o = 0; o < ins->arity && here; o++)
      c->needed[ins->in[o]] = true;
  }
  for (uint32_t i = 0; i < g->nlanes; i++)
    if (!g->lanes[i].stores && c->needed[g->lanes[i].slot])
      pieces_add_lane(c, k, i);
  for (uint32_t s = 0; s < g->nslots; s++)
    if (c->needed[s] && is_computed(c, s) && c->level[s] != level)
      (void)pieces_add_scratch(c, k, (uint16_t)s, false, 1, c->scratch_at[s]);
  for (uint32_t i = 0; i < g->nins; i++) {
    const fnzi_cuda_ins *ins = &g->ins[i];
    if (!fnzi_cuda_reduces(ins) && c->needed[ins->out] &&
        (!is_computed(c, ins->out) || c->level[ins->out] == level))
      fnzi_dev_rows_add(k, *ins);
  }
}

static bool is_number_of(const cut *c, const fnzi_cuda_ins *ins, uint8_t level) {
  return fnzi_cuda_reduces(ins) && c->level[ins->out] == level;
}

/* Adds a lane for the numbers of the pieces: `pieces` stores them and `rows` loads them. Numbers of
 * one row's pieces are consecutive in scratch. */
static fnz_status add_part(cut *c, uint16_t slot, fnzi_dev_rows *pieces, fnzi_dev_rows *rows,
                           uint16_t *loaded) {
  int64_t at, cell = (int64_t)fnzi_dtype(fnzi_dev_rows_dtype(c->r, slot))->bytes;
  FNZ_TRY(reserve(c, slot, c->pieces, &at));
  pieces_add_scratch(c, pieces, slot, true, c->pieces, at)->piece = cell;
  *loaded = fnzi_dev_rows_value(rows, fnzi_dev_rows_dtype(c->r, slot), false);
  pieces_add_scratch(c, rows, *loaded, false, c->pieces, at)->strides[c->r->g.outer] = cell;
  return FNZ_OK;
}

/* The kernel of the pieces; and the numbers of the kernel that joins them. */
static fnz_status add_pieces(cut *c, uint8_t level, fnzi_dev_rows *rows) {
  const fnzi_cuda_group *g = &c->r->g;
  fnzi_dev_rows pieces;
  FNZ_TRY(open_kernel(c, 0, &pieces));
  pieces.g.pieces = c->pieces;
  pieces.g.piece = c->piece;
  for (uint32_t i = 0; i < g->nins; i++)
    for (uint32_t o = 0; o < g->ins[i].arity && is_number_of(c, &g->ins[i], level); o++)
      c->needed[g->ins[i].in[o]] = true;
  add_needed(c, &pieces, UINT8_MAX);
  for (uint32_t i = 0; i < g->nins; i++) {
    fnzi_cuda_ins again = g->ins[i];
    if (!is_number_of(c, &g->ins[i], level))
      continue;
    fnzi_dev_rows_add(&pieces, g->ins[i]);
    FNZ_TRY(add_part(c, again.out, &pieces, rows, &again.in[0]));
    if (again.kind == FNZI_CUDA_PICK) {
      FNZ_TRY(add_part(c, again.index, &pieces, rows, &again.in[1]));
      again.arity = 2;
    }
    fnzi_dev_rows_add(rows, again);
  }
  return fnzi_dev_rows_launch(&pieces, c->work);
}

/* Adds the kernels of one pass: the values of rows that are known after `level` passes, and after
 * the last pass the results. */
static fnz_status add_level(cut *c, uint8_t level) {
  const fnzi_cuda_group *g = &c->r->g;
  bool ends = level == c->levels && !c->stores_elements;
  fnzi_dev_rows rows;
  FNZ_TRY(open_kernel(c, c->pieces, &rows));
  FNZ_TRY(add_pieces(c, level, &rows));
  memset(c->needed, 0, sizeof c->needed);
  for (uint32_t s = 0; s < g->nslots; s++)
    c->needed[s] = c->later[s] && c->level[s] == level;
  for (uint32_t i = 0; i < g->nlanes && ends; i++)
    c->needed[g->lanes[i].slot] = c->needed[g->lanes[i].slot] || g->lanes[i].stores;
  add_needed(c, &rows, level);
  for (uint32_t s = 0; s < g->nslots; s++) {
    if (!c->later[s] || c->level[s] != level)
      continue;
    FNZ_TRY(reserve(c, s, 1, &c->scratch_at[s]));
    (void)pieces_add_scratch(c, &rows, (uint16_t)s, true, 1, c->scratch_at[s]);
  }
  for (uint32_t i = 0; i < g->nlanes && ends; i++)
    if (g->lanes[i].stores)
      pieces_add_lane(c, &rows, i);
  return fnzi_dev_rows_launch(&rows, c->work);
}

/* Results of elements, or of rows, by a kernel without rows. */
static fnz_status add_results(cut *c, bool of_rows) {
  const fnzi_cuda_group *g = &c->r->g;
  fnzi_dev_rows k;
  bool any = false;
  FNZ_TRY(open_kernel(c, of_rows, &k));
  for (uint32_t i = 0; i < g->nlanes; i++)
    if (g->lanes[i].stores && g->slots[g->lanes[i].slot].of_rows == of_rows)
      any = c->needed[g->lanes[i].slot] = true;
  add_needed(c, &k, UINT8_MAX);
  for (uint32_t i = 0; i < g->nlanes; i++)
    if (g->lanes[i].stores && g->slots[g->lanes[i].slot].of_rows == of_rows)
      pieces_add_lane(c, &k, i);
  return any ? fnzi_dev_rows_launch_flat(&k, c->work) : FNZ_OK;
}

fnz_status fnzi_dev_rows_end(fnzi_dev_rows *r, fnzi_dev_work *work) {
  cut *c;
  FNZI_NEW(&r->m->ws->scratch, 1, &c);
  c->r = r;
  c->work = work;
  fnzi_dev_rows_join(r);
  pieces_measure(c);
  find_levels(c);
  /* Whether the group can be cut into pieces. Each stored value of rows must depend on a
   * reduction. */
  const fnzi_cuda_group *g = &c->r->g;
  bool fits = !c->r->is_full && !c->r->scans && c->levels > 0 && is_worth_it(c);
  for (uint32_t k = 0; k < g->nlanes; k++)
    fits = fits && (!g->lanes[k].stores || !g->slots[g->lanes[k].slot].of_rows ||
                    c->level[g->lanes[k].slot] > 0);
  if (!fits)
    return fnzi_dev_rows_launch(r, work);
  find_later(c);
  for (uint8_t level = 1; level <= c->levels; level++)
    FNZ_TRY(add_level(c, level));
  if (!c->stores_elements)
    return FNZ_OK;
  FNZ_TRY(add_results(c, false));
  return add_results(c, true);
}
