/* build.c - compiles the calls of a group to a tile program.
 *
 * Between two nodes a value has the bits that it would have in memory: it is converted to the dtype
 * of the result, and from there to the dtype that the next loop reads. */
#include "engine/tile/build.h"

#include "engine/plan/planner.h"

typedef fnzi_tile_content content;
typedef fnzi_tile_builder builder;

static fnz_status has_none(const builder *m, const fnzi_krn_call *call, const char *what) {
  if (m->ws->ctx->error.kind == FNZ_CLASS_NOMEM)
    return FNZ_NO_MEMORY;
  return fnzi_fail(m->ws->ctx, FNZ_CLASS_INTERNAL, "", "%s: a group has no %s for it",
                   call->op->name, what);
}

/* Finds the code of a call. Nodes of the same kind share it. */
static fnz_status find_code(builder *m, const fnzi_krn_call *call, fnzi_meta_point_code *out) {
  fnzi_stp_kind_facts *facts = m->facts[m->node - m->first];
  fnzi_meta_point_code *copy;
  if (facts && facts->code) {
    *out = *facts->code;
    return FNZ_OK;
  }
  if (!call->kernels->code(call, out))
    return has_none(m, call, "loop");
  if (!facts)
    return FNZ_OK;
  FNZI_NEW(&m->b->kinds->arena, 1, &copy);
  *copy = *out;
  facts->code = copy;
  return FNZ_OK;
}

static fnz_status add_point(builder *m, const fnzi_krn_call *call, uint16_t *out) {
  fnzi_meta_point_code code;
  const fnzi_krn_array *result = call->outputs[0];
  content h = fnzi_tile_content_of_result(m, result), wide = h;
  FNZ_TRY(find_code(m, call, &code));
  if (m->scalars) {
    fnzi_meta_point_code *copy;
    FNZI_NEW(&m->b->arena, 1, &copy);
    *copy = code;
    m->scalars->code = copy;
  }
  wide.dtype = code.out;
  wide.through = FNZ_DTYPE_COUNT;
  fnzi_tile_ins ins = {.kind = FNZI_TILE_INS_RUN,
                       .run = code.run,
                       .run_same = code.run_same,
                       .links = code.links,
                       .point = code.row,
                       .compute = (uint8_t)code.compute,
                       .arity = (uint8_t)code.arity};
  for (uint32_t k = 0; k < code.arity; k++)
    FNZ_TRY(fnzi_tile_row_operand(m, call, &code, k, &ins.in[k]));
  bool fits = code.out == h.dtype;
  FNZ_TRY(fnzi_tile_slot_add(m, fits ? h : wide, &ins.out));
  fnzi_tile_ins_add(m, ins);
  *out = ins.out;
  if (fits)
    return FNZ_OK;
  FNZ_TRY(fnzi_tile_convert_add(m, ins.out, code.out, &h, out));
  if (code.keeps)
    m->tile->ins[m->tile->nins - 1].kind = FNZI_TILE_INS_KEEP;
  return FNZ_OK;
}

/* --- What is no row of point.def -------------------------------------------------------------- */
/* Argument `index` as operand k: its elements as `dtype`, or as often the number. */
static fnz_status choice_operand(builder *m, const fnzi_krn_call *call, uint8_t index, uint32_t k,
                                 fnz_dtype dtype, uint16_t *out) {
  const fnz_arg *arg = &call->args[index];
  const fnzi_krn_array *array = fnzi_krn_arg_array(arg);
  _Alignas(8) unsigned char scalar[16] = {0};
  if (!array && m->scalars) {
    m->scalars->cells[k].arg = index;
    return fnzi_tile_scalar_operand(m, k, dtype, out);
  }
  if (!array) {
    fnzi_krn_number_cell(arg, dtype, scalar);
    return fnzi_tile_constant_operand(m, scalar, dtype, out);
  }
  fnz_dtype own = array->window.dtype;
  content h = fnzi_tile_content_as(m, array, dtype, own, m->of_rows);
  if (own == dtype)
    return fnzi_tile_array_operand(m, array, out);
  if (fnzi_tile_slot_find(m, &h, out))
    return FNZ_OK;
  FNZ_TRY(fnzi_tile_array_operand(m, array, out));
  return fnzi_tile_convert_add(m, *out, own, &h, out);
}

/* `indices`: indices of three arguments: the mask, the value if it is true, the value if not. */
static fnz_status add_choice(builder *m, const fnzi_krn_call *call, const uint8_t *indices,
                             uint16_t *out) {
  fnz_dtype dtype = call->outputs[0]->window.dtype;
  fnzi_tile_ins ins = {.kind = FNZI_TILE_INS_CHOOSE, .arity = 3};
  for (uint32_t k = 0; k < ins.arity; k++)
    FNZ_TRY(choice_operand(m, call, indices[k], k, k ? dtype : FNZ_BOOL, &ins.in[k]));
  FNZ_TRY(fnzi_tile_slot_add(m, fnzi_tile_content_of_result(m, call->outputs[0]), &ins.out));
  fnzi_tile_ins_add(m, ins);
  *out = ins.out;
  return FNZ_OK;
}

/* --- Rows ------------------------------------------------------------------------------------- */
static fnz_status add_row(builder *m, const fnzi_krn_call *call, const fnzi_meta_row *row_facts) {
  fnzi_tile_ins ins = {.kind = FNZI_TILE_INS_ROW};
  fnzi_krn_call shaped = *call;
  fnzi_tile_row *row;
  FNZI_NEW(&m->b->arena, 1, &row);
  fnzi_arena_init(&shaped.scratch, m->ws->ctx);
  bool fits = call->kernels->row_code(&shaped, &row->code);
  fnzi_arena_free(&shaped.scratch);
  if (!fits)
    return has_none(m, call, "function of a row");
  m->of_rows = false;
  m->rank = m->space->rank;
  for (uint8_t k = 0; k < FNZI_ROW_OPERANDS; k++) {
    if (row_facts->args[k] < 0)
      continue;
    row->code_operand[ins.arity] = k;
    FNZ_TRY(fnzi_tile_array_operand(m, fnzi_krn_call_input(call, (size_t)row_facts->args[k]),
                                    &ins.in[ins.arity]));
    m->tile->slots[ins.in[ins.arity++]].is_whole = true;
  }
  row->results = (uint8_t)call->noutputs;
  for (uint32_t k = 0; k < call->noutputs; k++) {
    m->of_rows = k > 0 || !row_facts->whole;
    m->rank = call->outputs[k]->window.rank;
    FNZ_TRY(fnzi_tile_slot_add(m, fnzi_tile_content_of_result(m, call->outputs[k]), &row->out[k]));
  }
  ins.row = row;
  fnzi_tile_ins_add(m, ins);
  for (uint32_t k = 0; k < call->noutputs; k++) {
    m->rank = call->outputs[k]->window.rank;
    if (call->outputs[k]->storage)
      FNZ_TRY(fnzi_tile_lane_add(m, call->outputs[k], row->out[k], true));
  }
  return FNZ_OK;
}

/* --- Nodes ------------------------------------------------------------------------------------ */
static fnz_status build_find_rows(const builder *m, const fnzi_krn_call *call, fnzi_meta_row *out,
                                  bool *found) {
  fnzi_krn_call probe = *call;
  fnzi_arena_init(&probe.scratch, m->ws->ctx);
  fnz_status status = fnzi_meta_find_rows(&probe, out, found);
  fnzi_arena_free(&probe.scratch);
  return status;
}

static fnz_status add_call(builder *m, const fnzi_krn_call *call) {
  static const uint8_t where[] = {0, 1, 2}, masked_fill[] = {1, 2, 0};
  const fnzi_krn_array *result = call->outputs[0];
  fnzi_meta_row row;
  uint16_t out = 0;
  bool rows = false;
  if (m->tile->dims)
    FNZ_TRY(build_find_rows(m, call, &row, &rows));
  if (rows)
    return add_row(m, call, &row);
  m->of_rows = m->tile->dims && !fnzi_same_sizes(&result->window, m->space);
  m->rank = result->window.rank;
  m->scalars = NULL;
  if (call->by_data)
    FNZ_TRY(fnzi_stp_scalar_call_copy(m->ws, m->b, m->node, call, &m->scalars));
  switch ((fnzi_krn_tile)fnzi_kernel_facts(call->row)->tile) {
  case FNZI_TILE_WHERE:
    FNZ_TRY(add_choice(m, call, where, &out));
    break;
  case FNZI_TILE_MASKED_FILL:
    FNZ_TRY(add_choice(m, call, masked_fill, &out));
    break;
  case FNZI_TILE_CAST: {
    const fnzi_krn_array *from = fnzi_krn_call_input(call, 0);
    const content h = fnzi_tile_content_of_result(m, call->outputs[0]);
    uint16_t slot = 0;
    FNZ_TRY(fnzi_tile_array_operand(m, from, &slot));
    FNZ_TRY(fnzi_tile_convert_add(m, slot, from->window.dtype, &h, &out));
    m->tile->ins[m->tile->nins - 1].kind = FNZI_TILE_INS_CAST;
  } break;
  case FNZI_TILE_POINT:
  case FNZI_TILE_NONE:
    FNZ_TRY(add_point(m, call, &out));
    break;
  }
  return result->storage ? fnzi_tile_lane_add(m, result, out, true) : FNZ_OK;
}

/* --- The whole -------------------------------------------------------------------------------- */
/* Copies `from`, whose capacity is larger than `count`, to the arena of the binding. */
#define KEEP(m, from, count)                                                                       \
  do {                                                                                             \
    const void *had_ = (from);                                                                     \
    void *kept_;                                                                                   \
    FNZ_TRY(fnzi_arena_take(&(m)->b->arena, (count), sizeof *(from), &kept_));                     \
    (from) = kept_;                                                                                \
    memcpy((from), had_, (count) * sizeof *(from));                                                \
  } while (0)

static fnz_status make(builder *m) {
  fnzi_tile_program *t = m->tile;
  const size_t count = m->ncalls;
  fnzi_arena *scratch = &m->ws->scratch;
  void *slots, *holds, *ins, *lanes; /* all of each is overwritten */
  m->slot_capacity = count * (FNZI_TILE_NODE_INS + FNZI_POINT_OPERANDS);
  m->slot_capacity = m->slot_capacity < FNZI_TILE_SLOTS ? m->slot_capacity : FNZI_TILE_SLOTS;
  m->lane_capacity = count * (FNZI_POINT_OPERANDS + FNZI_ROW_RESULTS);
  m->lane_capacity = m->lane_capacity < FNZI_TILE_LANES ? m->lane_capacity : FNZI_TILE_LANES;
  FNZ_TRY(fnzi_arena_take(scratch, m->slot_capacity, sizeof *t->slots, &slots));
  FNZ_TRY(fnzi_arena_take(scratch, m->slot_capacity, sizeof *m->contents, &holds));
  FNZ_TRY(fnzi_arena_take(scratch, count * FNZI_TILE_NODE_INS, sizeof *t->ins, &ins));
  FNZ_TRY(fnzi_arena_take(scratch, m->lane_capacity, sizeof *t->lanes, &lanes));
  t->slots = slots;
  m->contents = holds;
  t->ins = ins;
  t->lanes = lanes;
  for (uint32_t i = 0; i < count; i++) {
    m->node = m->first + i;
    FNZ_TRY(add_call(m, &m->calls[i]));
  }
  KEEP(m, t->slots, t->nslots);
  KEEP(m, t->ins, t->nins);
  KEEP(m, t->lanes, t->nlanes);
  FNZ_TRY(fnzi_tile_order(scratch, t));
  FNZ_TRY(fnzi_tile_chains_make(&m->b->arena, t));
  FNZ_TRY(fnzi_tile_arrange(m->ws->ctx, t, m->space));
  t->team = t->count > FNZI_TILE_PIECE ? m->calls[0].team : NULL;
  return FNZ_OK;
}

/* Makes the calls of the nodes. A value that only the group reads gets an array without memory. */
static fnz_status open_calls(builder *m) {
  fnz_workspace *ws = m->ws;
  fnzi_stp_binding *b = m->b;
  void *calls; /* each is filled in as a whole */
  FNZ_TRY(fnzi_arena_take(&ws->scratch, m->ncalls, sizeof(fnzi_krn_call), &calls));
  FNZI_NEW(&ws->scratch, m->ncalls, &m->facts);
  m->calls = calls;
  for (uint32_t i = 0; i < m->ncalls; i++) {
    const fnzi_node *node = fnzi_node_at(b->program, 0, m->first + i);
    for (uint32_t k = 0; k < node->noutputs; k++) {
      uint64_t value = node->outputs[k].u.value;
      const fnz_geometry *g = fnzi_value_at(b->program, 0, value)->geometry;
      if (!b->values[value])
        FNZ_TRY(fnzi_krn_array_in_arena(&b->arena, &ws->machine->stock, g,
                                        fnzi_dtype(g->dtype)->bytes, &b->values[value]));
    }
    FNZ_TRY(fnzi_stp_node_call(ws, b, &ws->scratch, m->first + i, &m->calls[i], &m->facts[i]));
  }
  return FNZ_OK;
}

static fnz_status make_act(fnz_workspace *ws, fnzi_stp_binding *b, const fnzi_pln_step *step) {
  builder m = {.ws = ws, .b = b, .first = step->first};
  fnzi_stp_thunk thunk = {.kind = FNZI_STP_THUNK_TILE, .node = step->last};
  fnzi_meta_row row;
  bool rows = false;
  m.ncalls = step->last - m.first + 1;
  FNZ_TRY(open_calls(&m));
  FNZI_NEW(&b->arena, 1, &m.tile);
  /* The space of the group is that of a node with rows, if there is one. */
  m.space = &m.calls[0].outputs[0]->window;
  for (uint32_t i = 0; i < m.ncalls && !rows; i++) {
    FNZ_TRY(build_find_rows(&m, &m.calls[i], &row, &rows));
    if (rows) {
      m.tile->dims = row.dims;
      m.space = &fnzi_krn_call_input(&m.calls[i], 0)->window;
    }
  }
  m.count = fnz_geometry_numel(m.space);
  FNZ_TRY(make(&m));
  size_t bytes = m.tile->thread_bytes * (size_t)fnzi_krn_team_lanes(m.tile->team);
  b->registers_bytes = bytes > b->registers_bytes ? bytes : b->registers_bytes;
  thunk.u.tile = m.tile;
  FNZI_PUSH(ws->ctx, &b->thunks, thunk);
  return FNZ_OK;
}

/* A call of a node that may be in a group runs as a group of one node. */
fnz_status fnzi_tile_of_group(fnz_workspace *ws, fnzi_stp_binding *b, const fnzi_pln_step *step) {
  fnz_status status = make_act(ws, b, step);
  fnzi_arena_reset(&ws->scratch);
  return status;
}

/* All tile programs of a binding share these registers, because only one runs at a time. */
fnz_status fnzi_tile_registers(fnzi_stp_binding *b) {
  return b->registers_bytes ? fnzi_tile_allocate(&b->arena, b->registers_bytes, &b->registers)
                            : FNZ_OK;
}
