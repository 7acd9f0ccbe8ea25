/* operands.c - operands and results of pointwise nodes as slots: a slot per value, per value as
 * another type, per number; a lane per value in memory. */
#include "engine/tile/make.h"

#include "engine/plan/planner.h"

typedef fnzi_tile_held held;
typedef fnzi_tile_making making;

static size_t cell_of(fnz_dtype dtype) {
  return fnzi_dtype(dtype)->bytes;
}

static bool same_held(const held *a, const held *b) {
  return a->array == b->array && a->dtype == b->dtype && a->by == b->by && a->keeps == b->keeps &&
         a->of_rows == b->of_rows && a->rank == b->rank &&
         (a->array || memcmp(a->number, b->number, sizeof a->number) == 0);
}

bool fnzi_tile_make_find_slot(const making *m, const held *h, uint16_t *out) {
  for (uint32_t k = m->tile->nslots; k-- > 0;) /* most read what was made just before */
    if (same_held(&m->held[k], h)) {
      *out = (uint16_t)k;
      return true;
    }
  return false;
}

fnz_status fnzi_tile_make_new_slot(making *m, held h, uint16_t *out) {
  fnzi_tile_program *t = m->tile;
  if (t->nslots == m->slots)
    return fnzi_fail(m->ws->ctx, FNZ_CLASS_INTERNAL, NULL, "a group has too many values");
  *out = (uint16_t)t->nslots++;
  m->held[*out] = h;
  t->slots[*out] = (fnzi_tile_slot_info){.cell = (uint32_t)cell_of(h.dtype),
                                         .dtype = (uint8_t)h.dtype,
                                         .first = -1,
                                         .last = -1,
                                         .of_rows = h.of_rows};
  return FNZ_OK;
}

fnz_status fnzi_tile_make_new_lane(making *m, const fnzi_krn_array *array, uint16_t slot,
                                   bool stores) {
  fnzi_tile_program *t = m->tile;
  if (t->nlanes == m->lanes)
    return fnzi_fail(m->ws->ctx, FNZ_CLASS_INTERNAL, NULL, "a group has too many operands");
  fnzi_tile_lane *lane = &t->lanes[t->nlanes++];
  *lane = (fnzi_tile_lane){.storage = array->storage,
                           .at = array->place.offset * (int64_t)array->cell,
                           .map = &array->place,
                           .cell = (uint32_t)array->cell,
                           .aligned = m->rank,
                           .of_rows = m->held[slot].of_rows,
                           .slot = slot,
                           .stores = stores};
  return FNZ_OK;
}

/* --- Instructions -------------------------------------------------------------------------------
 */
void fnzi_tile_make_add_ins(making *m, fnzi_tile_ins ins) {
  fnzi_tile_program *t = m->tile;
  int32_t at = (int32_t)t->nins;
  for (uint32_t k = 0; k < ins.arity; k++)
    t->slots[ins.in[k]].last = at;
  for (uint32_t k = 0; k < (ins.row ? ins.row->results : 1u); k++) {
    fnzi_tile_slot_info *out = &t->slots[ins.row ? ins.row->out[k] : ins.out];
    out->first = at;
    out->last = out->last < at ? at : out->last;
  }
  ins.of_rows = !ins.row && t->slots[ins.out].of_rows;
  t->ins[t->nins++] = ins;
}

fnz_status fnzi_tile_make_convert(making *m, uint16_t from, fnz_dtype dtype, const held *to,
                                  uint16_t *out) {
  FNZ_TRY(fnzi_tile_make_new_slot(m, *to, out));
  fnzi_tile_make_add_ins(
      m, (fnzi_tile_ins){.kind = to->keeps ? FNZI_TILE_INS_KEEP : FNZI_TILE_INS_CONVERT,
                         .to = (uint8_t)to->dtype,
                         .from = (uint8_t)dtype,
                         .arity = 1,
                         .out = *out,
                         .in = {from}});
  return FNZ_OK;
}

/* A node of the group gives it. */
static bool is_made(const making *m, const fnzi_krn_array *array) {
  for (uint32_t k = 0; k < m->tile->nslots; k++)
    if (m->held[k].array == array && m->held[k].is_result)
      return true;
  return false;
}

/* Describes an operand. Scalars of rows from outside are aligned to the dimensions of the node that
 * reads them, so nodes with other dimensions need another slot. */
held fnzi_tile_make_held_as(const making *m, const fnzi_krn_array *array, fnz_dtype dtype,
                            fnz_dtype by, bool of_rows) {
  bool lines_up = of_rows && !is_made(m, array);
  return (held){
      .array = array, .dtype = dtype, .by = by, .of_rows = of_rows, .rank = lines_up ? m->rank : 0};
}

held fnzi_tile_make_result_of(const making *m, const fnzi_krn_array *array) {
  fnz_dtype dtype = array->place.dtype;
  return (held){
      .array = array, .dtype = dtype, .by = dtype, .of_rows = m->of_rows, .is_result = true};
}

/* Finds or makes the slot of an array in memory. A row's scalar is repeated for all its
 * elements. */
fnz_status fnzi_tile_make_array_slot(making *m, const fnzi_krn_array *array, uint16_t *out) {
  fnz_dtype dtype = array->place.dtype;
  held h = fnzi_tile_make_held_as(m, array, dtype, dtype, m->of_rows),
       numbers = fnzi_tile_make_held_as(m, array, dtype, dtype, true);
  uint16_t from = 0;
  if (fnzi_tile_make_find_slot(m, &h, out))
    return FNZ_OK;
  bool spreads = m->tile->dims && !m->of_rows &&
                 fnzi_pln_cover_of(m->space, m->tile->dims, &array->place) == FNZI_PLN_COVER_ROW;
  if (spreads && !fnzi_tile_make_find_slot(m, &numbers, &from)) {
    FNZ_TRY(fnzi_tile_make_new_slot(m, numbers, &from));
    FNZ_TRY(fnzi_tile_make_new_lane(m, array, from, false));
  }
  FNZ_TRY(fnzi_tile_make_new_slot(m, h, out));
  if (!spreads)
    return fnzi_tile_make_new_lane(m, array, *out, false);
  fnzi_tile_make_add_ins(
      m, (fnzi_tile_ins){.kind = FNZI_TILE_INS_SPREAD, .arity = 1, .out = *out, .in = {from}});
  return FNZ_OK;
}

static fnz_status array_operand(making *m, const fnzi_krn_array *array,
                                const fnzi_meta_point_code *code, bool rounds, uint16_t *out) {
  fnz_dtype have = array->place.dtype, want = code->class_dtype;
  held h = fnzi_tile_make_held_as(m, array, want, rounds ? code->compute : have, m->of_rows);
  h.keeps = code->keeps && !rounds;
  if (have == want && !rounds)
    return fnzi_tile_make_array_slot(m, array, out);
  if (fnzi_tile_make_find_slot(m, &h, out))
    return FNZ_OK;
  FNZ_TRY(fnzi_tile_make_array_slot(m, array, out));
  if (rounds) {
    held narrow = fnzi_tile_make_held_as(m, array, code->compute, want, m->of_rows);
    FNZ_TRY(fnzi_tile_make_convert(m, *out, have, &narrow, out));
    have = code->compute;
  }
  return fnzi_tile_make_convert(m, *out, have, &h, out);
}

/* Loops are fastest over whole lines of the cache. */
fnz_status fnzi_tile_make_aligned(fnzi_arena *arena, size_t bytes, unsigned char **out) {
  FNZI_NEW(arena, bytes + FNZI_PLN_ALIGNMENT, out);
  *out += FNZI_PLN_ALIGNMENT - (uintptr_t)*out % FNZI_PLN_ALIGNMENT;
  return FNZ_OK;
}

/* A number fills as many elements as a tile has. Tiles share it: of the last ones it is found. */
static fnz_status number_elements(making *m, const held *h, size_t cell, unsigned char **out) {
  enum { MOST = 32 }; /* looked at */
  int64_t most = fnzi_tile_most_step((uint32_t)cell), count = m->count < most ? m->count : most;
  const fnzi_stp_number *n = m->b->filled;
  fnzi_stp_number *made;
  for (int i = 0; i < MOST && n; i++, n = n->next)
    if (n->cell == cell && n->count >= count && memcmp(n->bits, h->number, sizeof n->bits) == 0) {
      *out = n->elements;
      return FNZ_OK;
    }
  FNZI_NEW(&m->b->arena, 1, &made);
  FNZ_TRY(fnzi_tile_make_aligned(&m->b->arena, (size_t)count * cell, out));
  fnzi_krn_copy_row((char *)*out, (int64_t)cell, (const char *)h->number, 0, count, cell);
  *made = (fnzi_stp_number){.next = m->b->filled, .cell = cell, .count = count, .elements = *out};
  memcpy(made->bits, h->number, sizeof made->bits);
  m->b->filled = made;
  return FNZ_OK;
}

fnz_status fnzi_tile_make_number_operand(making *m, const unsigned char *number, fnz_dtype dtype,
                                         uint16_t *out) {
  held h = {.dtype = dtype, .by = dtype};
  size_t cell = cell_of(dtype);
  unsigned char *elements;
  memcpy(h.number, number, cell);
  if (fnzi_tile_make_find_slot(m, &h, out))
    return FNZ_OK;
  FNZ_TRY(fnzi_tile_make_new_slot(m, h, out));
  FNZ_TRY(number_elements(m, &h, cell, &elements));
  m->tile->slots[*out].numbers = elements;
  return FNZ_OK;
}

/* Makes the operand of a data-dependent scalar: an element in memory. */
fnz_status fnzi_tile_make_taken_number(making *m, uint32_t k, fnz_dtype dtype, uint16_t *out) {
  fnzi_krn_array *cell;
  FNZ_TRY(fnzi_stp_taking_cell(m->ws, m->b, m->taking, k, dtype, &cell));
  return fnzi_tile_make_array_slot(m, cell, out);
}

fnz_status fnzi_tile_make_add_operand(making *m, const fnzi_krn_call *call,
                                      const fnzi_meta_point_code *code, uint32_t k, uint16_t *out) {
  if (code->in[k].arg < 0 && m->taking)
    return fnzi_tile_make_taken_number(m, k, code->class_dtype, out);
  if (code->in[k].arg < 0)
    return fnzi_tile_make_number_operand(m, code->in[k].number, code->class_dtype, out);
  return array_operand(m, fnzi_krn_call_input(call, (size_t)code->in[k].arg), code,
                       code->in[k].rounds, out);
}
