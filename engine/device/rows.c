/* rows.c - builds groups with rows: values, instructions and lanes. */
#include "engine/device/rows.h"

#include "kernels/core/convert.h"

fnz_status fnzi_dev_rows_begin(fnzi_dev_builder *m, fnzi_dev_rows *out) {
  fnzi_arena *scratch = &m->ws->scratch;
  int64_t *sizes;
  *out = (fnzi_dev_rows){.m = m};
  FNZI_NEW(scratch, FNZ_MAX_RANK, &sizes);
  FNZI_NEW(scratch, FNZI_DEV_OPERANDS, &out->g.lanes);
  FNZI_NEW(scratch, FNZI_DEV_OPERANDS, &out->operands);
  FNZI_NEW(scratch, FNZI_DEV_ROWS_SLOTS, &out->g.ins);
  FNZI_NEW(scratch, FNZI_DEV_ROWS_SLOTS, &out->g.slots);
  FNZI_NEW(scratch, FNZI_DEV_ROWS_SLOTS, &out->constants);
  out->g.sizes = sizes;
  return FNZ_OK;
}

/* --- Dimensions ------------------------------------------------------------------------------- */

/* Copies dimensions `first` to `end` to `to`, without dimensions of size 1, and merges dimensions
 * that are contiguous in every lane. Returns the end of the copied dimensions. */
static uint32_t join_dims(fnzi_cuda_group *g, int64_t *sizes, uint32_t to, uint32_t first,
                          uint32_t end) {
  uint32_t next = to;
  for (uint32_t d = first; d < end; d++) {
    int64_t size = sizes[d];
    if (size == 1)
      continue;
    bool joins = next > to;
    for (uint32_t k = 0; k < g->nlanes && joins; k++)
      joins = g->lanes[k].strides[next - 1] ==
              fnzi_krn_stride_bytes(g->lanes[k].strides[d], (size_t)size);
    next += !joins;
    sizes[next - 1] = joins ? fnzi_krn_stride_bytes(sizes[next - 1], (size_t)size) : size;
    for (uint32_t k = 0; k < g->nlanes; k++)
      g->lanes[k].strides[next - 1] = g->lanes[k].strides[d];
  }
  return next;
}

/* Merges the dimensions of the group. A row keeps at least one dimension. */
void fnzi_dev_rows_join(fnzi_dev_rows *r) {
  fnzi_cuda_group *g = &r->g;
  int64_t *sizes = (int64_t *)(uintptr_t)g->sizes;
  uint32_t outer = join_dims(g, sizes, 0, 0, g->outer), end = g->rank;
  g->rank = join_dims(g, sizes, outer, g->outer, end);
  if (g->rank == outer) {
    sizes[g->rank] = 1;
    for (uint32_t k = 0; k < g->nlanes; k++)
      g->lanes[k].strides[g->rank] = 0;
    g->rank++;
  }
  g->outer = outer;
}

/* --- The whole -------------------------------------------------------------------------------- */
fnz_status fnzi_dev_rows_launch(fnzi_dev_rows *r, fnzi_dev_work *work) {
  uint32_t kernel;
  int64_t count;
  if (r->is_full)
    return fnzi_dev_work_refuse(work, "too many values for one kernel");
  fnz_context *ctx = r->m->ws->ctx;
  FNZ_TRY(r->scans ? fnzi_cuda_text_scan(ctx, &r->m->text, &r->g, &kernel, &count)
                   : fnzi_cuda_text_team(ctx, &r->m->text, &r->g, &kernel, &count));
  return fnzi_dev_work_launch(r->m, work, kernel, count, r->operands, r->g.nlanes);
}

/* Like fnzi_dev_rows_launch() for a group without rows: all its values are of elements. */
fnz_status fnzi_dev_rows_launch_flat(fnzi_dev_rows *r, fnzi_dev_work *work) {
  uint32_t kernel;
  int64_t count;
  if (r->is_full)
    return fnzi_dev_work_refuse(work, "too many values for one kernel");
  FNZ_TRY(fnzi_cuda_text_add(r->m->ws->ctx, &r->m->text, &r->g, &kernel, &count));
  return fnzi_dev_work_launch(r->m, work, kernel, count, r->operands, r->g.nlanes);
}

/* --- Values ----------------------------------------------------------------------------------- */
uint16_t fnzi_dev_rows_value(fnzi_dev_rows *r, fnz_dtype dtype, bool of_rows) {
  r->is_full = r->is_full || r->g.nslots == FNZI_DEV_ROWS_SLOTS;
  if (r->is_full)
    return FNZI_DEV_ROWS_SLOTS - 1;
  r->g.slots[r->g.nslots] = (fnzi_cuda_slot){.dtype = (uint8_t)dtype, .of_rows = of_rows};
  return (uint16_t)r->g.nslots++;
}

uint16_t fnzi_dev_rows_bits(fnzi_dev_rows *r, fnz_dtype dtype, const void *cell) {
  uint16_t slot = fnzi_dev_rows_value(r, dtype, true);
  if (r->is_full || r->nconstants == FNZI_DEV_ROWS_SLOTS)
    return slot;
  unsigned char *bits = r->constants[r->nconstants++];
  memcpy(bits, cell, fnzi_dtype(dtype)->bytes);
  r->g.slots[slot].number = bits;
  return slot;
}

uint16_t fnzi_dev_rows_constant(fnzi_dev_rows *r, fnz_dtype dtype, double number) {
  _Alignas(16) unsigned char cell[16] = {0};
  fnzi_krn_convert_one(dtype, cell, FNZ_F64, &number);
  return fnzi_dev_rows_bits(r, dtype, cell);
}

fnzi_cuda_lane *fnzi_dev_rows_lane(fnzi_dev_rows *r, uint16_t slot, bool stores,
                                   fnzi_dev_operand operand) {
  uint32_t k = r->g.nlanes;
  r->is_full = r->is_full || k + 1 == FNZI_DEV_OPERANDS; /* one operand is left for the flag */
  if (r->is_full)
    k--;
  r->operands[k] = operand;
  r->g.lanes[k] =
      (fnzi_cuda_lane){.slot = slot, .stores = stores, .aligned = fnzi_dev_aligned(operand.offset)};
  r->g.nlanes = k + 1;
  return &r->g.lanes[k];
}

fnz_dtype fnzi_dev_rows_dtype(const fnzi_dev_rows *r, uint16_t a) {
  return (fnz_dtype)r->g.slots[a].dtype;
}

/* --- Instructions ----------------------------------------------------------------------------- */
void fnzi_dev_rows_add(fnzi_dev_rows *r, fnzi_cuda_ins ins) {
  r->is_full = r->is_full || r->g.nins == FNZI_DEV_ROWS_SLOTS;
  if (!r->is_full)
    r->g.ins[r->g.nins++] = ins;
}

/* Adds an instruction. Its result is of rows if all its operands are. */
static uint16_t rows_add(fnzi_dev_rows *r, fnzi_cuda_ins ins, fnz_dtype dtype) {
  bool of_rows = true;
  for (uint32_t k = 0; k < ins.arity; k++)
    of_rows = of_rows && r->g.slots[ins.in[k]].of_rows;
  ins.out = fnzi_dev_rows_value(r, dtype, of_rows);
  fnzi_dev_rows_add(r, ins);
  return ins.out;
}

uint16_t fnzi_dev_rows_apply(fnzi_dev_rows *r, const char *row, uint16_t a, uint16_t b,
                             uint16_t c) {
  fnz_dtype dtype = fnzi_dev_rows_dtype(r, a);
  uint8_t section;
  const fnzi_cuda_row *found = fnzi_cuda_row_find(dtype, row, &section);
  bool asks = found && found->out == FNZI_CUDA_OUT_BOOL;
  uint8_t arity = (uint8_t)(1 + (b != FNZI_DEV_ROWS_NONE) + (c != FNZI_DEV_ROWS_NONE));
  return rows_add(r,
                  (fnzi_cuda_ins){.kind = FNZI_CUDA_ROW,
                                  .arity = arity,
                                  .compute = (uint8_t)dtype,
                                  .row = row,
                                  .in = {a, b, c}},
                  asks ? FNZ_BOOL : dtype);
}

uint16_t fnzi_dev_rows_convert(fnzi_dev_rows *r, fnz_dtype dtype, uint16_t a) {
  if (fnzi_dev_rows_dtype(r, a) == dtype)
    return a;
  return rows_add(r, (fnzi_cuda_ins){.kind = FNZI_CUDA_CONVERT, .arity = 1, .in = {a}}, dtype);
}

uint16_t fnzi_dev_rows_choose(fnzi_dev_rows *r, uint16_t mask, uint16_t a, uint16_t b) {
  return rows_add(r, (fnzi_cuda_ins){.kind = FNZI_CUDA_CHOOSE, .arity = 3, .in = {mask, a, b}},
                  fnzi_dev_rows_dtype(r, a));
}

uint16_t fnzi_dev_rows_fold(fnzi_dev_rows *r, const char *fold, uint16_t a) {
  uint16_t out = fnzi_dev_rows_value(r, fnzi_dev_rows_dtype(r, a), true);
  fnzi_dev_rows_add(
      r, (fnzi_cuda_ins){.kind = FNZI_CUDA_FOLD, .arity = 1, .fold = fold, .out = out, .in = {a}});
  return out;
}

uint16_t fnzi_dev_rows_pick(fnzi_dev_rows *r, const char *pick, uint16_t a, uint16_t indices,
                            uint16_t *index) {
  uint16_t out = fnzi_dev_rows_value(r, fnzi_dev_rows_dtype(r, a), true);
  *index = fnzi_dev_rows_value(r, FNZ_I64, true);
  fnzi_dev_rows_add(r, (fnzi_cuda_ins){.kind = FNZI_CUDA_PICK,
                                       .arity = indices == FNZI_DEV_ROWS_NONE ? 1 : 2,
                                       .fold = pick,
                                       .index = *index,
                                       .out = out,
                                       .in = {a, indices}});
  return out;
}

uint16_t fnzi_dev_rows_less_mean(fnzi_dev_rows *r, uint16_t elements, uint16_t mean) {
  fnz_dtype class = fnzi_dev_rows_dtype(r, elements);
  if (class == FNZ_F64)
    return fnzi_dev_rows_apply(r, "sub", elements, mean, FNZI_DEV_ROWS_NONE);
  uint16_t high = fnzi_dev_rows_convert(r, class, mean),
           seen = fnzi_dev_rows_convert(r, FNZ_F64, high);
  uint16_t low = fnzi_dev_rows_convert(
      r, class, fnzi_dev_rows_apply(r, "sub", mean, seen, FNZI_DEV_ROWS_NONE));
  elements = fnzi_dev_rows_apply(r, "sub", elements, high, FNZI_DEV_ROWS_NONE);
  return fnzi_dev_rows_apply(r, "sub", elements, low, FNZI_DEV_ROWS_NONE);
}

uint16_t fnzi_dev_rows_scan(fnzi_dev_rows *r, const char *fold, uint16_t a) {
  uint16_t out = fnzi_dev_rows_value(r, fnzi_dev_rows_dtype(r, a), false);
  r->scans = true;
  fnzi_dev_rows_add(
      r, (fnzi_cuda_ins){.kind = FNZI_CUDA_SCAN, .arity = 1, .fold = fold, .out = out, .in = {a}});
  return out;
}

uint16_t fnzi_dev_rows_running(fnzi_dev_rows *r, const char *best, uint16_t a, uint16_t *index) {
  uint16_t out = fnzi_dev_rows_value(r, fnzi_dev_rows_dtype(r, a), false);
  *index = fnzi_dev_rows_value(r, FNZ_I64, false);
  r->scans = true;
  fnzi_dev_rows_add(r, (fnzi_cuda_ins){.kind = FNZI_CUDA_RUNNING,
                                       .arity = 1,
                                       .fold = best,
                                       .index = *index,
                                       .out = out,
                                       .in = {a}});
  return out;
}

/* --- Tiles ------------------------------------------------------------------------------------ */
void fnzi_dev_describe_lane(const fnzi_tile_program *t, const fnzi_tile_lane *lane,
                            fnzi_cuda_lane *out) {
  *out = (fnzi_cuda_lane){
      .slot = lane->slot, .stores = lane->stores, .aligned = fnzi_dev_aligned(lane->offset)};
  memcpy(out->strides, lane->strides, t->rank * sizeof *out->strides);
}

void fnzi_dev_describe_ins(const fnzi_tile_ins *ins, fnzi_cuda_ins *out) {
  static const uint8_t kinds[] = {
      [FNZI_TILE_INS_RUN] = FNZI_CUDA_ROW,       [FNZI_TILE_INS_CONVERT] = FNZI_CUDA_CONVERT,
      [FNZI_TILE_INS_KEEP] = FNZI_CUDA_KEEP,     [FNZI_TILE_INS_CAST] = FNZI_CUDA_CAST,
      [FNZI_TILE_INS_CHOOSE] = FNZI_CUDA_CHOOSE, [FNZI_TILE_INS_SPREAD] = FNZI_CUDA_CONVERT};
  *out = (fnzi_cuda_ins){.kind = kinds[ins->kind],
                         .arity = ins->arity,
                         .compute = ins->compute,
                         .row = ins->point,
                         .out = ins->out};
  for (uint32_t k = 0; k < ins->arity; k++)
    out->in[k] = ins->in[k];
}

/* Describes a tile program without rows for the text of its kernel. */
fnz_status fnzi_dev_describe_tile(fnzi_dev_builder *m, const fnzi_tile_program *t,
                                  fnzi_cuda_group *out) {
  fnzi_arena *scratch = &m->ws->scratch;
  *out = (fnzi_cuda_group){.rank = t->rank,
                           .sizes = t->sizes,
                           .nlanes = t->nlanes,
                           .nins = t->nins,
                           .nslots = t->nslots};
  FNZI_NEW(scratch, t->nlanes, &out->lanes);
  FNZI_NEW(scratch, t->nins, &out->ins);
  FNZI_NEW(scratch, t->nslots, &out->slots);
  for (uint32_t k = 0; k < t->nlanes; k++)
    fnzi_dev_describe_lane(t, &t->lanes[k], &out->lanes[k]);
  for (uint32_t k = 0; k < t->nins; k++)
    fnzi_dev_describe_ins(&t->ins[k], &out->ins[k]);
  for (uint32_t k = 0; k < t->nslots; k++)
    out->slots[k] = (fnzi_cuda_slot){t->slots[k].dtype, t->slots[k].constants, false};
  return FNZ_OK;
}
