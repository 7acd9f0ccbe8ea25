/* operands.c - operands and results of pointwise nodes as slots: a slot per value, per value as
 * another type, per number; a lane per value in memory. */
#include "engine/tile/build.h"

#include "engine/plan/planner.h"

typedef fnzi_tile_content content;
typedef fnzi_tile_builder builder;

static size_t cell_of(fnz_dtype dtype) {
  return fnzi_dtype(dtype)->bytes;
}

static bool same_content(const content *a, const content *b) {
  return a->array == b->array && a->dtype == b->dtype && a->through == b->through &&
         a->keeps_nan == b->keeps_nan && a->of_rows == b->of_rows && a->rank == b->rank &&
         (a->array || memcmp(a->scalar, b->scalar, sizeof a->scalar) == 0);
}

bool fnzi_tile_slot_find(const builder *m, const content *h, uint16_t *out) {
  for (uint32_t k = m->tile->nslots; k-- > 0;) /* most read what was made just before */
    if (same_content(&m->contents[k], h)) {
      *out = (uint16_t)k;
      return true;
    }
  return false;
}

fnz_status fnzi_tile_slot_add(builder *m, content h, uint16_t *out) {
  fnzi_tile_program *t = m->tile;
  if (t->nslots == m->slot_capacity)
    return fnzi_fail(m->ws->ctx, FNZ_CLASS_INTERNAL, NULL, "a group has too many values");
  *out = (uint16_t)t->nslots++;
  m->contents[*out] = h;
  t->slots[*out] = (fnzi_tile_slot_info){.cell = (uint32_t)cell_of(h.dtype),
                                         .dtype = (uint8_t)h.dtype,
                                         .first = -1,
                                         .last = -1,
                                         .of_rows = h.of_rows};
  return FNZ_OK;
}

fnz_status fnzi_tile_lane_add(builder *m, const fnzi_krn_array *array, uint16_t slot, bool stores) {
  fnzi_tile_program *t = m->tile;
  if (t->nlanes == m->lane_capacity)
    return fnzi_fail(m->ws->ctx, FNZ_CLASS_INTERNAL, NULL, "a group has too many operands");
  fnzi_tile_lane *lane = &t->lanes[t->nlanes++];
  *lane = (fnzi_tile_lane){.storage = array->storage,
                           .offset = array->window.offset * (int64_t)array->cell,
                           .map = &array->window,
                           .cell = (uint32_t)array->cell,
                           .rank = m->rank,
                           .of_rows = m->contents[slot].of_rows,
                           .slot = slot,
                           .stores = stores};
  return FNZ_OK;
}

/* --- Instructions ----------------------------------------------------------------------------- */
void fnzi_tile_ins_note(fnzi_tile_program *t, uint32_t i) {
  const fnzi_tile_ins *ins = &t->ins[i];
  for (uint32_t k = 0; k < ins->arity; k++)
    t->slots[ins->in[k]].last = (int32_t)i;
  for (uint32_t k = 0; k < (ins->row ? ins->row->results : 1u); k++) {
    fnzi_tile_slot_info *out = &t->slots[ins->row ? ins->row->out[k] : ins->out];
    out->first = (int32_t)i;
    out->last = out->last < out->first ? out->first : out->last;
  }
}

void fnzi_tile_ins_add(builder *m, fnzi_tile_ins ins) {
  fnzi_tile_program *t = m->tile;
  ins.of_rows = !ins.row && t->slots[ins.out].of_rows;
  t->ins[t->nins] = ins;
  fnzi_tile_ins_note(t, t->nins++);
}

fnz_status fnzi_tile_convert_add(builder *m, uint16_t from, fnz_dtype dtype, const content *to,
                                 uint16_t *out) {
  FNZ_TRY(fnzi_tile_slot_add(m, *to, out));
  fnzi_tile_ins_add(
      m, (fnzi_tile_ins){.kind = to->keeps_nan ? FNZI_TILE_INS_KEEP : FNZI_TILE_INS_CONVERT,
                         .to = (uint8_t)to->dtype,
                         .from = (uint8_t)dtype,
                         .arity = 1,
                         .out = *out,
                         .in = {from}});
  return FNZ_OK;
}

/* Describes an operand. Scalars of rows from outside are aligned to the dimensions of the node that
 * reads them, so nodes with other dimensions need another slot. */
content fnzi_tile_content_as(const builder *m, const fnzi_krn_array *array, fnz_dtype dtype,
                             fnz_dtype by, bool of_rows) {
  bool lines_up = of_rows;
  for (uint32_t k = 0; lines_up && k < m->tile->nslots; k++)
    lines_up = m->contents[k].array != array || !m->contents[k].is_result;
  return (content){.array = array,
                   .dtype = dtype,
                   .through = by,
                   .of_rows = of_rows,
                   .rank = lines_up ? m->rank : 0};
}

content fnzi_tile_content_of_result(const builder *m, const fnzi_krn_array *array) {
  fnz_dtype dtype = array->window.dtype;
  return (content){
      .array = array, .dtype = dtype, .through = dtype, .of_rows = m->of_rows, .is_result = true};
}

/* Finds or makes the slot of an array in memory. A row's scalar is repeated for all its
 * elements. */
fnz_status fnzi_tile_array_operand(builder *m, const fnzi_krn_array *array, uint16_t *out) {
  fnz_dtype dtype = array->window.dtype;
  content h = fnzi_tile_content_as(m, array, dtype, dtype, m->of_rows),
          scalars = fnzi_tile_content_as(m, array, dtype, dtype, true);
  uint16_t from = 0;
  if (fnzi_tile_slot_find(m, &h, out))
    return FNZ_OK;
  bool spreads = m->tile->dims && !m->of_rows &&
                 fnzi_pln_cover_of(m->space, m->tile->dims, &array->window) == FNZI_PLN_COVER_ROW;
  if (spreads && !fnzi_tile_slot_find(m, &scalars, &from)) {
    FNZ_TRY(fnzi_tile_slot_add(m, scalars, &from));
    FNZ_TRY(fnzi_tile_lane_add(m, array, from, false));
  }
  FNZ_TRY(fnzi_tile_slot_add(m, h, out));
  if (!spreads)
    return fnzi_tile_lane_add(m, array, *out, false);
  fnzi_tile_ins_add(
      m, (fnzi_tile_ins){.kind = FNZI_TILE_INS_SPREAD, .arity = 1, .out = *out, .in = {from}});
  return FNZ_OK;
}

/* Loops are fastest over whole lines of the cache. */
fnz_status fnzi_tile_allocate(fnzi_arena *arena, size_t bytes, unsigned char **out) {
  FNZI_NEW(arena, bytes + FNZI_PLN_ALIGNMENT, out);
  *out += FNZI_PLN_ALIGNMENT - (uintptr_t)*out % FNZI_PLN_ALIGNMENT;
  return FNZ_OK;
}

/* A number fills as many elements as a tile has. Tiles share it: of the last ones it is found. */
static fnz_status constant_elements(builder *m, const content *h, size_t cell,
                                    unsigned char **out) {
  enum { MOST = 32 }; /* looked at */
  int64_t most = fnzi_tile_most_step((uint32_t)cell), count = m->count < most ? m->count : most;
  const fnzi_stp_constant *n = m->b->constants;
  fnzi_stp_constant *constant;
  for (int i = 0; i < MOST && n; i++, n = n->next)
    if (n->cell == cell && n->count >= count && memcmp(n->bytes, h->scalar, sizeof n->bytes) == 0) {
      *out = n->elements;
      return FNZ_OK;
    }
  FNZI_NEW(&m->b->arena, 1, &constant);
  FNZ_TRY(fnzi_tile_allocate(&m->b->arena, (size_t)count * cell, out));
  fnzi_krn_copy_row((char *)*out, (int64_t)cell, (const char *)h->scalar, 0, count, cell);
  *constant =
      (fnzi_stp_constant){.next = m->b->constants, .cell = cell, .count = count, .elements = *out};
  memcpy(constant->bytes, h->scalar, sizeof constant->bytes);
  m->b->constants = constant;
  return FNZ_OK;
}

fnz_status fnzi_tile_constant_operand(builder *m, const unsigned char *scalar, fnz_dtype dtype,
                                      uint16_t *out) {
  content h = {.dtype = dtype, .through = dtype};
  size_t cell = cell_of(dtype);
  unsigned char *elements;
  memcpy(h.scalar, scalar, cell);
  if (fnzi_tile_slot_find(m, &h, out))
    return FNZ_OK;
  FNZ_TRY(fnzi_tile_slot_add(m, h, out));
  FNZ_TRY(constant_elements(m, &h, cell, &elements));
  m->tile->slots[*out].constants = elements;
  return FNZ_OK;
}

/* Makes the operand of a data-dependent scalar: an element in memory. */
fnz_status fnzi_tile_scalar_operand(builder *m, uint32_t k, fnz_dtype dtype, uint16_t *out) {
  fnzi_krn_array *cell;
  FNZ_TRY(fnzi_stp_scalar_cell(m->ws, m->b, m->scalars, k, dtype, &cell));
  return fnzi_tile_array_operand(m, cell, out);
}

fnz_status fnzi_tile_row_operand(builder *m, const fnzi_krn_call *call,
                                 const fnzi_meta_point_code *code, uint32_t k, uint16_t *out) {
  if (code->in[k].arg < 0 && m->scalars)
    return fnzi_tile_scalar_operand(m, k, code->class_dtype, out);
  if (code->in[k].arg < 0)
    return fnzi_tile_constant_operand(m, code->in[k].number, code->class_dtype, out);
  const fnzi_krn_array *array = fnzi_krn_call_input(call, (size_t)code->in[k].arg);
  const bool rounds = code->in[k].rounds;
  fnz_dtype own = array->window.dtype, wanted = code->class_dtype;
  content h = fnzi_tile_content_as(m, array, wanted, rounds ? code->compute : own, m->of_rows);
  h.keeps_nan = code->keeps && !rounds;
  if (own == wanted && !rounds)
    return fnzi_tile_array_operand(m, array, out);
  if (fnzi_tile_slot_find(m, &h, out))
    return FNZ_OK;
  FNZ_TRY(fnzi_tile_array_operand(m, array, out));
  if (rounds) {
    content narrow = fnzi_tile_content_as(m, array, code->compute, wanted, m->of_rows);
    FNZ_TRY(fnzi_tile_convert_add(m, *out, own, &narrow, out));
    own = code->compute;
  }
  return fnzi_tile_convert_add(m, *out, own, &h, out);
}
