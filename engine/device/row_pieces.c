/* row_pieces.c - few long rows, such as all elements of a tensor, by two kernels: pieces of
 * the rows become numbers, by as many blocks, and then these numbers become one for each row. How a
 * row is cut depends on its length alone. */
#include "engine/device/rows.h"

enum { MOST_ROWS = 128 }; /* that do not keep a GPU at work */

typedef struct cut {
  fnzi_eng_rows *r;
  fnzi_eng_work *work;
  int64_t rows, length, pieces;
} cut;

/* What elements are computed of, and what is computed of the numbers of a row, are apart: rows are
 * gone through once, and nothing of the elements is stored. */
static bool is_simple(const fnzi_cuda_group *g) {
  bool made[FNZI_ENG_ROWS_SLOTS] = {false}; /* of the numbers of a row */
  for (uint32_t k = 0; k < g->nlanes; k++)
    if (g->lanes[k].stores != g->slots[g->lanes[k].slot].of_rows)
      return false;
  for (uint32_t i = 0; i < g->nins; i++) {
    const fnzi_cuda_ins *ins = &g->ins[i];
    bool from_made = false;
    for (uint32_t k = 0; k < ins->arity; k++)
      from_made = from_made || made[ins->in[k]];
    if (from_made && (fnzi_cuda_gives_number(ins) || !g->slots[ins->out].of_rows))
      return false;
    made[ins->out] = from_made || fnzi_cuda_gives_number(ins);
    if (ins->kind == FNZI_CUDA_PICK)
      made[ins->place] = true;
  }
  return true;
}

static void measure(cut *c) {
  const fnzi_cuda_group *g = &c->r->g;
  c->rows = c->length = 1;
  for (uint32_t d = 0; d < g->rank; d++)
    if (d < g->outer)
      c->rows = fnzi_krn_stride_bytes(c->rows, (size_t)g->sizes[d]);
    else
      c->length = fnzi_krn_stride_bytes(c->length, (size_t)g->sizes[d]);
  c->pieces = (c->length + FNZI_CUDA_PIECE - 1) / FNZI_CUDA_PIECE;
}

static bool comes_in_pieces(const cut *c) {
  return !c->r->is_full && !c->r->scans && c->pieces > 1 && c->rows <= MOST_ROWS &&
         is_simple(&c->r->g);
}

/* Numbers of pieces, side by side: each row's follow one another. */
static fnz_status add_numbers(cut *c, uint16_t slot, fnzi_eng_rows *first, fnzi_eng_rows *second,
                              uint16_t *loaded) {
  fnz_dtype dtype = fnzi_eng_rows_dtype(c->r, slot);
  int64_t cell = (int64_t)fnzi_dtype(dtype)->bytes, at, step, bytes;
  if (!fnzi_mul_i64(c->pieces, cell, &step) || !fnzi_mul_i64(c->rows, step, &bytes))
    return fnzi_no_memory(c->r->m->ws->ctx);
  FNZ_TRY(fnzi_eng_work_scratch(c->r->m, c->work, (size_t)bytes, &at));
  const fnzi_eng_operand operand = {FNZI_ENG_AT_SCRATCH, at};
  fnzi_cuda_lane *stores = fnzi_eng_rows_lane(first, slot, true, operand);
  *loaded = fnzi_eng_rows_value(second, dtype, false);
  fnzi_cuda_lane *loads = fnzi_eng_rows_lane(second, *loaded, false, operand);
  stores->piece = cell;
  loads->strides[second->g.rank - 1] = cell;
  for (uint32_t d = c->r->g.outer; d-- > 0;) {
    stores->strides[d] = loads->strides[d] = step;
    step = fnzi_krn_stride_bytes(step, (size_t)c->r->g.sizes[d]);
  }
  return FNZ_OK;
}

/* The second kernel's rows are numbers of the first one's. */
static fnz_status join_numbers(cut *c, const fnzi_cuda_ins *ins, fnzi_eng_rows *first,
                               fnzi_eng_rows *second) {
  fnzi_cuda_ins again = *ins;
  FNZ_TRY(add_numbers(c, ins->out, first, second, &again.in[0]));
  if (ins->kind == FNZI_CUDA_PICK) {
    FNZ_TRY(add_numbers(c, ins->place, first, second, &again.in[1]));
    again.arity = 2;
  }
  fnzi_eng_rows_add(second, again);
  return FNZ_OK;
}

static fnz_status divide(cut *c, fnzi_eng_rows *first, fnzi_eng_rows *second) {
  const fnzi_cuda_group *g = &c->r->g;
  bool made[FNZI_ENG_ROWS_SLOTS] = {false};
  for (uint32_t k = 0; k < g->nslots; k++) { /* numbers keep their places */
    (void)fnzi_eng_rows_value(first, (fnz_dtype)g->slots[k].dtype, g->slots[k].of_rows);
    (void)fnzi_eng_rows_value(second, (fnz_dtype)g->slots[k].dtype, g->slots[k].of_rows);
    first->g.slots[k].number = second->g.slots[k].number = g->slots[k].number;
  }
  for (uint32_t k = 0; k < g->nlanes; k++) {
    const fnzi_cuda_lane *lane = &g->lanes[k];
    fnzi_eng_rows *of = lane->stores ? second : first;
    fnzi_cuda_lane *out = fnzi_eng_rows_lane(of, lane->slot, lane->stores, c->r->operands[k]);
    memcpy(out->strides, lane->strides, (lane->stores ? g->outer : g->rank) * sizeof *out->strides);
  }
  for (uint32_t i = 0; i < g->nins; i++) {
    const fnzi_cuda_ins *ins = &g->ins[i];
    bool from_made = false;
    for (uint32_t k = 0; k < ins->arity; k++)
      from_made = from_made || made[ins->in[k]];
    made[ins->out] = from_made || fnzi_cuda_gives_number(ins);
    if (ins->kind == FNZI_CUDA_PICK)
      made[ins->place] = true;
    fnzi_eng_rows_add(from_made ? second : first, *ins);
    if (fnzi_cuda_gives_number(ins))
      FNZ_TRY(join_numbers(c, ins, first, second));
  }
  return FNZ_OK;
}

static fnz_status end_in_pieces(cut *c) {
  const fnzi_eng_rows *r = c->r;
  fnzi_eng_rows first, second;
  FNZ_TRY(fnzi_eng_rows_begin(r->m, &first));
  FNZ_TRY(fnzi_eng_rows_begin(r->m, &second));
  first.g.rank = r->g.rank;
  second.g.rank = r->g.outer + 1;
  first.g.outer = second.g.outer = r->g.outer;
  first.g.pieces = c->pieces;
  memcpy((int64_t *)(uintptr_t)first.g.sizes, r->g.sizes, r->g.rank * sizeof *r->g.sizes);
  memcpy((int64_t *)(uintptr_t)second.g.sizes, r->g.sizes, r->g.outer * sizeof *r->g.sizes);
  ((int64_t *)(uintptr_t)second.g.sizes)[r->g.outer] = c->pieces;
  FNZ_TRY(divide(c, &first, &second));
  FNZ_TRY(fnzi_eng_rows_launch(&first, c->work));
  return fnzi_eng_rows_launch(&second, c->work);
}

fnz_status fnzi_eng_rows_end(fnzi_eng_rows *r, fnzi_eng_work *work) {
  cut c = {.r = r, .work = work};
  fnzi_eng_rows_join(r);
  measure(&c);
  return comes_in_pieces(&c) ? end_in_pieces(&c) : fnzi_eng_rows_launch(r, work);
}
