/* make.c - the calls of pointwise nodes as one program over tiles: a slot per value, per value
 * as another type, per number; a lane per value in memory.
 *
 * Between two nodes a value has the bits that it would have in memory: it is brought to the type of
 * the result, and from there to what the next loop reads. */
#include "engine/tile/tile.h"

#include "engine/plan/planner.h"
#include "engine/taken.h"

/* What a slot holds: an array's elements, in the type of the array or in another one; or a number.
 */
typedef struct held {
  const fnzi_krn_array *array;
  fnz_dtype dtype, by; /* `by`: through this one */
  bool keeps;
  bool of_rows;   /* an element for each row, */
  uint32_t rank;  /* of an operand from outside, as one of so many dimensions */
  bool is_result; /* of a node of the group */
  unsigned char number[16];
} held;

typedef struct making {
  fnz_workspace *ws;
  fnzi_eng_binding *b;
  fnzi_eng_tile *tile;
  const fnz_geometry *space;
  int64_t count;           /* elements of it */
  bool of_rows;            /* the node computes numbers of rows, */
  uint32_t rank;           /* of so many dimensions; else that of the space */
  fnzi_eng_shaped *known;  /* of nodes like the one that is added; NULL */
  uint32_t first, node;    /* of the group, and that one; */
  fnzi_eng_taking *taking; /* NULL: it takes no number that data decide */
  held *held;              /* per slot */
  size_t slots, lanes;     /* there is room for */
} making;

static size_t cell_of(fnz_dtype dtype) {
  return fnzi_dtype(dtype)->bytes;
}

static bool same_held(const held *a, const held *b) {
  return a->array == b->array && a->dtype == b->dtype && a->by == b->by && a->keeps == b->keeps &&
         a->of_rows == b->of_rows && a->rank == b->rank &&
         (a->array || memcmp(a->number, b->number, sizeof a->number) == 0);
}

static bool find_slot(const making *m, const held *h, uint16_t *out) {
  for (uint32_t k = m->tile->nslots; k-- > 0;) /* most read what was made just before */
    if (same_held(&m->held[k], h)) {
      *out = (uint16_t)k;
      return true;
    }
  return false;
}

static fnz_status new_slot(making *m, held h, uint16_t *out) {
  fnzi_eng_tile *t = m->tile;
  if (t->nslots == m->slots)
    return fnzi_fail(m->ws->ctx, FNZ_CLASS_INTERNAL, NULL, "a group has too many values");
  *out = (uint16_t)t->nslots++;
  m->held[*out] = h;
  t->slots[*out] = (fnzi_eng_slot_info){.cell = (uint32_t)cell_of(h.dtype),
                                        .dtype = (uint8_t)h.dtype,
                                        .first = -1,
                                        .last = -1,
                                        .of_rows = h.of_rows};
  return FNZ_OK;
}

static fnz_status new_lane(making *m, const fnzi_krn_array *array, uint16_t slot, bool stores) {
  fnzi_eng_tile *t = m->tile;
  if (t->nlanes == m->lanes)
    return fnzi_fail(m->ws->ctx, FNZ_CLASS_INTERNAL, NULL, "a group has too many operands");
  fnzi_eng_lane *lane = &t->lanes[t->nlanes++];
  *lane = (fnzi_eng_lane){.storage = array->storage,
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
static void add_ins(making *m, fnzi_eng_ins ins) {
  fnzi_eng_tile *t = m->tile;
  int32_t at = (int32_t)t->nins;
  for (uint32_t k = 0; k < ins.arity; k++)
    t->slots[ins.in[k]].last = at;
  for (uint32_t k = 0; k < (ins.row ? ins.row->results : 1u); k++) {
    fnzi_eng_slot_info *out = &t->slots[ins.row ? ins.row->out[k] : ins.out];
    out->first = at;
    out->last = out->last < at ? at : out->last;
  }
  ins.of_rows = !ins.row && t->slots[ins.out].of_rows;
  t->ins[t->nins++] = ins;
}

static fnz_status convert(making *m, uint16_t from, fnz_dtype dtype, const held *to,
                          uint16_t *out) {
  FNZ_TRY(new_slot(m, *to, out));
  add_ins(m, (fnzi_eng_ins){.kind = to->keeps ? FNZI_ENG_INS_KEEP : FNZI_ENG_INS_CONVERT,
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

/* An operand. Numbers of rows from outside lie along those of the node that reads them, so nodes of
 * other dimensions read others. */
static held held_as(const making *m, const fnzi_krn_array *array, fnz_dtype dtype, fnz_dtype by,
                    bool of_rows) {
  bool lines_up = of_rows && !is_made(m, array);
  return (held){
      .array = array, .dtype = dtype, .by = by, .of_rows = of_rows, .rank = lines_up ? m->rank : 0};
}

static held result_of(const making *m, const fnzi_krn_array *array) {
  fnz_dtype dtype = array->place.dtype;
  return (held){
      .array = array, .dtype = dtype, .by = dtype, .of_rows = m->of_rows, .is_result = true};
}

/* The slot of an array as it lies in memory. Numbers of rows go to all elements of these. */
static fnz_status array_slot(making *m, const fnzi_krn_array *array, uint16_t *out) {
  fnz_dtype dtype = array->place.dtype;
  held h = held_as(m, array, dtype, dtype, m->of_rows),
       numbers = held_as(m, array, dtype, dtype, true);
  uint16_t from = 0;
  if (find_slot(m, &h, out))
    return FNZ_OK;
  bool spreads = m->tile->dims && !m->of_rows &&
                 fnzi_eng_cover_of(m->space, m->tile->dims, &array->place) == FNZI_ENG_COVER_ROW;
  if (spreads && !find_slot(m, &numbers, &from)) {
    FNZ_TRY(new_slot(m, numbers, &from));
    FNZ_TRY(new_lane(m, array, from, false));
  }
  FNZ_TRY(new_slot(m, h, out));
  if (!spreads)
    return new_lane(m, array, *out, false);
  add_ins(m, (fnzi_eng_ins){.kind = FNZI_ENG_INS_SPREAD, .arity = 1, .out = *out, .in = {from}});
  return FNZ_OK;
}

static fnz_status array_operand(making *m, const fnzi_krn_array *array,
                                const fnzi_meta_point_code *code, bool rounds, uint16_t *out) {
  fnz_dtype have = array->place.dtype, want = code->class_dtype;
  held h = held_as(m, array, want, rounds ? code->compute : have, m->of_rows);
  h.keeps = code->keeps && !rounds;
  if (have == want && !rounds)
    return array_slot(m, array, out);
  if (find_slot(m, &h, out))
    return FNZ_OK;
  FNZ_TRY(array_slot(m, array, out));
  if (rounds) {
    held narrow = held_as(m, array, code->compute, want, m->of_rows);
    FNZ_TRY(convert(m, *out, have, &narrow, out));
    have = code->compute;
  }
  return convert(m, *out, have, &h, out);
}

/* Loops are fastest over whole lines of the cache. */
static fnz_status aligned(fnzi_arena *arena, size_t bytes, unsigned char **out) {
  FNZI_NEW(arena, bytes + FNZI_ENG_ALIGNMENT, out);
  *out += FNZI_ENG_ALIGNMENT - (uintptr_t)*out % FNZI_ENG_ALIGNMENT;
  return FNZ_OK;
}

/* A number fills as many elements as a tile has. Tiles share it: of the last ones it is found. */
static fnz_status number_room(making *m, const held *h, size_t cell, unsigned char **out) {
  enum { MOST = 32 }; /* looked at */
  int64_t count = m->count < FNZI_POINT_CHUNK ? m->count : FNZI_POINT_CHUNK;
  const fnzi_eng_number *n = m->b->filled;
  fnzi_eng_number *made;
  for (int i = 0; i < MOST && n; i++, n = n->next)
    if (n->cell == cell && n->count >= count && memcmp(n->bits, h->number, sizeof n->bits) == 0) {
      *out = n->room;
      return FNZ_OK;
    }
  FNZI_NEW(&m->b->arena, 1, &made);
  FNZ_TRY(aligned(&m->b->arena, (size_t)count * cell, out));
  fnzi_krn_copy_row((char *)*out, (int64_t)cell, (const char *)h->number, 0, count, cell);
  *made = (fnzi_eng_number){.next = m->b->filled, .cell = cell, .count = count, .room = *out};
  memcpy(made->bits, h->number, sizeof made->bits);
  m->b->filled = made;
  return FNZ_OK;
}

static fnz_status number_operand(making *m, const unsigned char *number, fnz_dtype dtype,
                                 uint16_t *out) {
  held h = {.dtype = dtype, .by = dtype};
  size_t cell = cell_of(dtype);
  unsigned char *room;
  memcpy(h.number, number, cell);
  if (find_slot(m, &h, out))
    return FNZ_OK;
  FNZ_TRY(new_slot(m, h, out));
  FNZ_TRY(number_room(m, &h, cell, &room));
  m->tile->slots[*out].numbers = room;
  return FNZ_OK;
}

/* A number that data decide is an element in memory. */
static fnz_status taken_number(making *m, uint32_t k, fnz_dtype dtype, uint16_t *out) {
  fnzi_krn_array *cell;
  FNZ_TRY(fnzi_eng_taking_cell(m->ws, m->b, m->taking, k, dtype, &cell));
  return array_slot(m, cell, out);
}

static fnz_status add_operand(making *m, const fnzi_krn_call *call,
                              const fnzi_meta_point_code *code, uint32_t k, uint16_t *out) {
  if (code->in[k].arg < 0 && m->taking)
    return taken_number(m, k, code->class_dtype, out);
  if (code->in[k].arg < 0)
    return number_operand(m, code->in[k].number, code->class_dtype, out);
  return array_operand(m, fnzi_krn_call_input(call, (size_t)code->in[k].arg), code,
                       code->in[k].rounds, out);
}

static fnz_status has_none(const making *m, const fnzi_krn_call *call, const char *what) {
  if (m->ws->ctx->error.kind == FNZ_CLASS_NOMEM)
    return FNZ_NO_MEMORY;
  return fnzi_fail(m->ws->ctx, FNZ_CLASS_INTERNAL, "", "%s: a group has no %s for it",
                   call->op->name, what);
}

/* That of nodes which are alike is found once. */
static fnz_status find_code(making *m, const fnzi_krn_call *call, fnzi_meta_point_code *out) {
  fnzi_meta_point_code *kept;
  if (m->known && m->known->code) {
    *out = *m->known->code;
    return FNZ_OK;
  }
  if (!call->kernels->code(call, out))
    return has_none(m, call, "loop");
  if (!m->known)
    return FNZ_OK;
  FNZI_NEW(&m->b->shapes->arena, 1, &kept);
  *kept = *out;
  m->known->code = kept;
  return FNZ_OK;
}

static fnz_status keep_code(making *m, const fnzi_meta_point_code *code) {
  fnzi_meta_point_code *kept;
  FNZI_NEW(&m->b->arena, 1, &kept);
  *kept = *code;
  m->taking->code = kept;
  return FNZ_OK;
}

static fnz_status add_point(making *m, const fnzi_krn_call *call, uint16_t *out) {
  fnzi_meta_point_code code;
  const fnzi_krn_array *result = call->outputs[0];
  held h = result_of(m, result), wide = h;
  FNZ_TRY(find_code(m, call, &code));
  if (m->taking)
    FNZ_TRY(keep_code(m, &code));
  wide.dtype = code.out;
  wide.by = FNZ_DTYPE_COUNT;
  fnzi_eng_ins ins = {.kind = FNZI_ENG_INS_RUN,
                      .run = code.run,
                      .links = code.links,
                      .point = code.row,
                      .from = (uint8_t)code.compute,
                      .arity = (uint8_t)code.arity};
  for (uint32_t k = 0; k < code.arity; k++)
    FNZ_TRY(add_operand(m, call, &code, k, &ins.in[k]));
  bool fits = code.out == h.dtype;
  FNZ_TRY(new_slot(m, fits ? h : wide, &ins.out));
  add_ins(m, ins);
  *out = ins.out;
  if (fits)
    return FNZ_OK;
  FNZ_TRY(convert(m, ins.out, code.out, &h, out));
  if (code.keeps)
    m->tile->ins[m->tile->nins - 1].kind = FNZI_ENG_INS_KEEP;
  return FNZ_OK;
}

/* --- What is no row of point.def ----------------------------------------------------------------
 */
/* Argument `at` as operand k: its elements as `dtype`, or as often the number. */
static fnz_status taken_operand(making *m, const fnzi_krn_call *call, uint8_t at, uint32_t k,
                                fnz_dtype dtype, uint16_t *out) {
  const fnz_arg *arg = &call->args[at];
  const fnzi_krn_array *array = fnzi_krn_arg_array(arg);
  _Alignas(8) unsigned char number[16] = {0};
  if (!array && m->taking) {
    m->taking->cells[k].arg = at;
    return taken_number(m, k, dtype, out);
  }
  if (!array) {
    fnzi_krn_number_cell(arg, dtype, number);
    return number_operand(m, number, dtype, out);
  }
  fnz_dtype have = array->place.dtype;
  held h = held_as(m, array, dtype, have, m->of_rows);
  if (have == dtype)
    return array_slot(m, array, out);
  if (find_slot(m, &h, out))
    return FNZ_OK;
  FNZ_TRY(array_slot(m, array, out));
  return convert(m, *out, have, &h, out);
}

/* Of mask, what is taken where it is true, and where not: the places among the arguments. */
static fnz_status add_choice(making *m, const fnzi_krn_call *call, const uint8_t *places,
                             uint16_t *out) {
  fnz_dtype dtype = call->outputs[0]->place.dtype;
  fnzi_eng_ins ins = {.kind = FNZI_ENG_INS_CHOOSE, .arity = 3};
  for (uint32_t k = 0; k < ins.arity; k++)
    FNZ_TRY(taken_operand(m, call, places[k], k, k ? dtype : FNZ_BOOL, &ins.in[k]));
  FNZ_TRY(new_slot(m, result_of(m, call->outputs[0]), &ins.out));
  add_ins(m, ins);
  *out = ins.out;
  return FNZ_OK;
}

static fnz_status add_cast(making *m, const fnzi_krn_call *call, uint16_t *out) {
  const fnzi_krn_array *from = fnzi_krn_call_input(call, 0);
  const held h = result_of(m, call->outputs[0]);
  uint16_t slot = 0;
  FNZ_TRY(array_slot(m, from, &slot));
  FNZ_TRY(convert(m, slot, from->place.dtype, &h, out));
  m->tile->ins[m->tile->nins - 1].kind = FNZI_ENG_INS_CAST;
  return FNZ_OK;
}

/* --- Rows ---------------------------------------------------------------------------------------
 */
static fnz_status add_row_result(making *m, const fnzi_krn_call *call, uint32_t k, bool whole,
                                 fnzi_eng_row *row) {
  const fnzi_krn_array *result = call->outputs[k];
  m->of_rows = !whole;
  m->rank = result->place.rank;
  row->results = (uint8_t)(k + 1);
  return new_slot(m, result_of(m, result), &row->out[k]);
}

static fnz_status store_row_results(making *m, const fnzi_krn_call *call, const fnzi_eng_row *row) {
  for (uint32_t k = 0; k < row->results; k++) {
    m->rank = call->outputs[k]->place.rank;
    if (call->outputs[k]->storage)
      FNZ_TRY(new_lane(m, call->outputs[k], row->out[k], true));
  }
  return FNZ_OK;
}

static fnz_status add_row(making *m, const fnzi_krn_call *call, const fnzi_meta_row *what) {
  fnzi_eng_ins ins = {.kind = FNZI_ENG_INS_ROW};
  fnzi_krn_call taken = *call;
  fnzi_eng_row *row;
  FNZI_NEW(&m->b->arena, 1, &row);
  fnzi_arena_init(&taken.scratch, m->ws->ctx);
  bool fits = call->kernels->row_code(&taken, &row->code);
  fnzi_arena_free(&taken.scratch);
  if (!fits)
    return has_none(m, call, "function of a row");
  m->of_rows = false;
  m->rank = m->space->rank;
  for (uint8_t k = 0; k < FNZI_ROW_OPERANDS; k++) {
    if (what->args[k] < 0)
      continue;
    row->place[ins.arity] = k;
    FNZ_TRY(array_slot(m, fnzi_krn_call_input(call, (size_t)what->args[k]), &ins.in[ins.arity]));
    m->tile->slots[ins.in[ins.arity++]].is_whole = true;
  }
  for (uint32_t k = 0; k < call->noutputs; k++)
    FNZ_TRY(add_row_result(m, call, k, what->whole && k == 0, row));
  ins.row = row;
  add_ins(m, ins);
  return store_row_results(m, call, row);
}

/* --- Nodes --------------------------------------------------------------------------------------
 */
static fnz_status find_rows(const making *m, const fnzi_krn_call *call, fnzi_meta_row *out,
                            bool *found) {
  fnzi_krn_call asked = *call;
  fnzi_arena_init(&asked.scratch, m->ws->ctx);
  fnz_status status = fnzi_meta_find_rows(&asked, out, found);
  fnzi_arena_free(&asked.scratch);
  return status;
}

static fnz_status add_call(making *m, const fnzi_krn_call *call) {
  static const uint8_t where[] = {0, 1, 2}, masked_fill[] = {1, 2, 0};
  const fnzi_krn_array *result = call->outputs[0];
  fnzi_meta_row row;
  uint16_t out = 0;
  bool rows = false;
  if (m->tile->dims)
    FNZ_TRY(find_rows(m, call, &row, &rows));
  if (rows)
    return add_row(m, call, &row);
  m->of_rows = m->tile->dims && !fnzi_same_sizes(&result->place, m->space);
  m->rank = result->place.rank;
  m->taking = NULL;
  if (call->by_data)
    FNZ_TRY(fnzi_eng_taking_copy(m->ws, m->b, m->node, call, &m->taking));
  if (call->row->run == FNZI_RUN_where)
    FNZ_TRY(add_choice(m, call, where, &out));
  else if (call->row->run == FNZI_RUN_masked_fill)
    FNZ_TRY(add_choice(m, call, masked_fill, &out));
  else if (call->row->run == FNZI_RUN_identity)
    FNZ_TRY(add_cast(m, call, &out));
  else
    FNZ_TRY(add_point(m, call, &out));
  return result->storage ? new_lane(m, result, out, true) : FNZ_OK;
}

/* --- The whole ----------------------------------------------------------------------------------
 */
static size_t least(size_t a, size_t b) {
  return a < b ? a : b;
}

/* `from`, of which there is more room than things, in the arena of the binding. */
#define KEEP(m, from, count)                                                                       \
  do {                                                                                             \
    const void *had_ = (from);                                                                     \
    void *kept_;                                                                                   \
    FNZ_TRY(fnzi_arena_take(&(m)->b->arena, (count), sizeof *(from), &kept_));                     \
    (from) = kept_;                                                                                \
    memcpy((from), had_, (count) * sizeof *(from));                                                \
  } while (0)

static fnz_status make(making *m, const fnzi_krn_call *calls, fnzi_eng_shaped *const *known,
                       uint32_t count) {
  fnzi_eng_tile *t = m->tile;
  fnzi_arena *scratch = &m->ws->scratch;
  void *slots, *holds, *ins, *lanes; /* each of them is filled in as a whole */
  m->slots = least((size_t)count * (FNZI_ENG_NODE_INS + FNZI_POINT_OPERANDS), FNZI_ENG_SLOTS);
  m->lanes = least((size_t)count * (FNZI_POINT_OPERANDS + FNZI_ROW_RESULTS), FNZI_ENG_LANES);
  FNZ_TRY(fnzi_arena_take(scratch, m->slots, sizeof *t->slots, &slots));
  FNZ_TRY(fnzi_arena_take(scratch, m->slots, sizeof *m->held, &holds));
  FNZ_TRY(fnzi_arena_take(scratch, (size_t)count * FNZI_ENG_NODE_INS, sizeof *t->ins, &ins));
  FNZ_TRY(fnzi_arena_take(scratch, m->lanes, sizeof *t->lanes, &lanes));
  t->slots = slots;
  m->held = holds;
  t->ins = ins;
  t->lanes = lanes;
  for (uint32_t i = 0; i < count; i++) {
    m->known = known[i];
    m->node = m->first + i;
    FNZ_TRY(add_call(m, &calls[i]));
  }
  KEEP(m, t->slots, t->nslots);
  KEEP(m, t->ins, t->nins);
  KEEP(m, t->lanes, t->nlanes);
  FNZ_TRY(fnzi_eng_tile_chain(&m->b->arena, t));
  FNZ_TRY(fnzi_eng_tile_settle(m->ws->ctx, t, m->space));
  t->workers = t->count > FNZI_ENG_PIECE && calls[0].threads > 1 ? calls[0].threads : 1;
  return FNZ_OK;
}

/* That of a node that goes by rows, where there is one. */
static fnz_status find_space(making *m, const fnzi_krn_call *calls, uint32_t count) {
  fnzi_meta_row row;
  bool rows = false;
  m->space = &calls[0].outputs[0]->place;
  for (uint32_t i = 0; i < count && !rows; i++) {
    FNZ_TRY(find_rows(m, &calls[i], &row, &rows));
    if (rows) {
      m->tile->dims = row.dims;
      m->space = &fnzi_krn_call_input(&calls[i], 0)->place;
    }
  }
  m->count = fnz_geometry_numel(m->space);
  return FNZ_OK;
}

static fnz_status make_tile(fnz_workspace *ws, fnzi_eng_binding *b, const fnzi_krn_call *calls,
                            fnzi_eng_shaped *const *known, uint32_t first, uint32_t count,
                            fnzi_eng_tile **out) {
  making m = {.ws = ws, .b = b, .first = first};
  FNZI_NEW(&b->arena, 1, &m.tile);
  FNZ_TRY(find_space(&m, calls, count));
  FNZ_TRY(make(&m, calls, known, count));
  size_t bytes = m.tile->room * (size_t)m.tile->workers;
  b->registers_bytes = bytes > b->registers_bytes ? bytes : b->registers_bytes;
  *out = m.tile;
  return FNZ_OK;
}

/* An array without memory for a value that only the group reads. */
static fnz_status give_array(fnz_workspace *ws, fnzi_eng_binding *b, uint64_t value) {
  const fnz_geometry *g = fnzi_value_at(b->program, 0, value)->geometry;
  if (b->values[value])
    return FNZ_OK;
  return fnzi_krn_array_in_arena(&b->arena, &ws->machine->stock, g, fnzi_dtype(g->dtype)->bytes,
                                 &b->values[value]);
}

static fnz_status make_act(fnz_workspace *ws, fnzi_eng_binding *b, const fnzi_eng_step *step) {
  uint32_t first = fnzi_eng_step_begin(step), count = step->node - first + 1;
  fnzi_eng_act act = {.kind = FNZI_ENG_ACT_TILE, .node = step->node};
  fnzi_eng_tile *tile;
  fnzi_eng_shaped **known;
  void *room; /* of calls, each of which is filled in as a whole */
  FNZ_TRY(fnzi_arena_take(&ws->scratch, count, sizeof(fnzi_krn_call), &room));
  FNZI_NEW(&ws->scratch, count, &known);
  fnzi_krn_call *calls = room;
  for (uint32_t i = 0; i < count; i++) {
    const fnzi_node *node = fnzi_node_at(b->program, 0, first + i);
    for (uint32_t k = 0; k < node->noutputs; k++)
      FNZ_TRY(give_array(ws, b, node->outputs[k].u.value));
    FNZ_TRY(fnzi_eng_node_call(ws, b, &ws->scratch, first + i, &calls[i], &known[i]));
  }
  FNZ_TRY(make_tile(ws, b, calls, known, first, count, &tile));
  act.u.tile = tile;
  FNZI_PUSH(ws->ctx, &b->acts, act);
  return FNZ_OK;
}

/* A call of a node that may be in a group is one of a single node. */
fnz_status fnzi_eng_tile_of_group(fnz_workspace *ws, fnzi_eng_binding *b,
                                  const fnzi_eng_step *step) {
  fnz_status status = make_act(ws, b, step);
  fnzi_arena_reset(&ws->scratch);
  return status;
}

/* One for all tiles of a binding, of which one runs at a time. */
fnz_status fnzi_eng_tile_registers(fnzi_eng_binding *b) {
  return b->registers_bytes ? aligned(&b->arena, b->registers_bytes, &b->registers) : FNZ_OK;
}
