/* text.c - the steps of a binding as works: groups and moves as kernels of one program, calls by
 * their lowerings; and kernels that copy windows with gaps to the staging area and back. */
#include "engine/device/rows.h"
#include "engine/steps/scalars.h"
#include "engine/tile/tile.h"

_Static_assert((int)FNZI_TILE_LANES < (int)FNZI_DEV_OPERANDS, "operands of a kernel");

/* --- Groups ----------------------------------------------------------------------------------- */
static bool is_computable(const fnzi_tile_program *t, uint16_t slot) {
  return fnzi_cuda_text_converts((fnz_dtype)t->slots[slot].dtype);
}

/* Returns whether a GPU can convert the types of all operands, and of the results of instructions
 * that are no rows of point.def. */
static bool has_text(const fnzi_tile_program *t) {
  bool has = true;
  for (uint32_t k = 0; k < t->nins && has; k++) {
    const fnzi_tile_ins *ins = &t->ins[k];
    has = ins->kind == FNZI_TILE_INS_ROW || is_computable(t, ins->out);
    for (uint32_t i = 0; i < ins->arity && has; i++)
      has = is_computable(t, ins->in[i]);
  }
  return has;
}

static bool is_in_buffers(const fnzi_dev_builder *m, const fnzi_tile_program *t) {
  bool in_buffers = true;
  for (uint32_t k = 0; k < t->nlanes; k++)
    in_buffers = in_buffers && fnzi_dev_memory_of(m->b, t->lanes[k].storage) != FNZI_PLN_NONE;
  return in_buffers;
}

static fnz_status add_tile(fnzi_dev_builder *m, const fnzi_tile_program *t, fnzi_dev_work *out) {
  fnzi_dev_operand *operands;
  fnzi_cuda_group g;
  uint32_t kernel = 0;
  int64_t count = 0;
  if (!has_text(t))
    return fnzi_dev_work_refuse(out, "a row of the group has no text");
  if (t->row)
    return fnzi_dev_work_of_rows(m, t, out);
  if (!is_in_buffers(m, t))
    return fnzi_dev_work_refuse(out, "an operand is in no buffer of the plan");
  FNZI_NEW(&m->ws->scratch, t->nlanes, &operands);
  for (uint32_t k = 0; k < t->nlanes; k++)
    operands[k] =
        (fnzi_dev_operand){fnzi_dev_memory_of(m->b, t->lanes[k].storage), t->lanes[k].offset};
  FNZ_TRY(fnzi_dev_describe_tile(m, t, &g));
  if (t->count)
    FNZ_TRY(fnzi_cuda_text_add(m->ws->ctx, &m->text, &g, &kernel, &count));
  return fnzi_dev_work_launch(m, out, kernel, count, operands, t->nlanes);
}

/* --- Copies ----------------------------------------------------------------------------------- */
/* A copy from one window to another. A cell is all bytes that are contiguous in both. */
typedef struct copy {
  uint32_t rank;
  fnzi_stp_move_dim dims[FNZ_MAX_RANK + 1];
  size_t cell;
  uint32_t from, to; /* buffers, or the staging area */
  int64_t from_offset, to_offset;
} copy;

static fnz_status add_copy(fnzi_dev_builder *m, copy *c, fnzi_dev_work *out) {
  /* The largest size of an element, at most 16, that all is a multiple of. */
  uint64_t bits = (uint64_t)c->cell | (uint64_t)c->from_offset | (uint64_t)c->to_offset | 16;
  for (uint32_t d = 0; d < c->rank; d++)
    bits |= (uint64_t)c->dims[d].from | (uint64_t)c->dims[d].to;
  size_t unit = (size_t)(bits & (~bits + 1));
  int64_t sizes[FNZ_MAX_RANK + 1], from[FNZ_MAX_RANK + 1], to[FNZ_MAX_RANK + 1];
  const fnzi_dev_operand operands[] = {{c->from, c->from_offset}, {c->to, c->to_offset}};
  if (c->cell > unit || c->rank == 0)
    c->dims[c->rank++] =
        (fnzi_stp_move_dim){(int64_t)(c->cell / unit), (int64_t)unit, (int64_t)unit};
  for (uint32_t d = 0; d < c->rank; d++) {
    sizes[d] = c->dims[d].size;
    from[d] = c->dims[d].from;
    to[d] = c->dims[d].to;
  }
  const fnz_dtype dtype = unit == 1   ? FNZ_U8 /* of that size, whatever the elements are */
                          : unit == 2 ? FNZ_U16
                          : unit == 4 ? FNZ_U32
                          : unit == 8 ? FNZ_U64
                                      : FNZ_C128;
  const fnzi_dev_elements all = {dtype, c->rank, sizes, from, to};
  return fnzi_dev_work_copy(m, out, &all, operands);
}

static fnz_status add_move(fnzi_dev_builder *m, const fnzi_stp_move *move, fnzi_dev_work *out) {
  copy c = {.rank = move->rank,
            .cell = move->cell,
            .from_offset = move->from_offset,
            .to_offset = move->to_offset};
  out->on_device = true;
  if (move->bytes == 0)
    return FNZ_OK;
  c.from = fnzi_stp_buffer_of(m->b, move->from);
  c.to = fnzi_stp_buffer_of(m->b, move->to);
  if (c.from == FNZI_PLN_NONE || c.to == FNZI_PLN_NONE)
    return fnzi_dev_work_refuse(out, "an operand is in no buffer of the plan");
  if (move->rank)
    memcpy(c.dims, move->dims, move->rank * sizeof *move->dims);
  return add_copy(m, &c, out);
}

/* --- Transfers -------------------------------------------------------------------------------- */
/* A window and its row-major elements: without dimensions of one element and those along which it
 * shows the same one. */
static fnz_status find_rows(fnzi_dev_builder *m, const fnz_geometry *window, fnz_geometry **map_out,
                            fnz_geometry **rows_out) {
  fnzi_arena *arena = &m->b->arena;
  fnz_geometry *map, *rows;
  int64_t *numbers;
  FNZI_NEW(arena, 1, &map);
  FNZI_NEW(arena, 1, &rows);
  FNZI_NEW(arena, 3 * FNZ_MAX_RANK, &numbers);
  *map = (fnz_geometry){.dtype = window->dtype,
                        .offset = window->offset,
                        .sizes = numbers,
                        .strides = numbers + FNZ_MAX_RANK};
  for (uint32_t d = 0; d < window->rank; d++)
    if (window->sizes[d] != 1 && window->strides[d] != 0) {
      numbers[map->rank] = window->sizes[d];
      numbers[FNZ_MAX_RANK + map->rank++] = window->strides[d];
    }
  *rows = *map;
  rows->offset = 0;
  rows->strides = numbers + 2 * FNZ_MAX_RANK;
  fnzi_contiguous_strides(numbers, map->rank, numbers + 2 * FNZ_MAX_RANK);
  *map_out = map;
  *rows_out = rows;
  return FNZ_OK;
}

static fnz_status pack_window(fnzi_dev_builder *m, fnzi_dev_transfer *t) {
  fnz_geometry *map, *rows;
  int64_t cell = (int64_t)fnzi_dtype(t->map->dtype)->bytes;
  FNZ_TRY(find_rows(m, t->map, &map, &rows));
  copy packing = {.rank = map->rank,
                  .cell = (size_t)cell,
                  .from = t->buffer,
                  .to = FNZI_DEV_AT_STAGING,
                  .from_offset = fnzi_krn_stride_bytes(map->offset, (size_t)cell)};
  copy unpacking = {.rank = map->rank,
                    .cell = (size_t)cell,
                    .from = FNZI_DEV_AT_STAGING,
                    .to = t->buffer,
                    .to_offset = packing.from_offset};
  for (uint32_t d = 0; d < map->rank; d++) {
    int64_t spread = fnzi_krn_stride_bytes(map->strides[d], (size_t)cell),
            packed = fnzi_krn_stride_bytes(rows->strides[d], (size_t)cell);
    packing.dims[d] = (fnzi_stp_move_dim){map->sizes[d], spread, packed};
    unpacking.dims[d] = (fnzi_stp_move_dim){map->sizes[d], packed, spread};
  }
  t->map = map;
  t->rows = rows;
  t->start = 0;
  t->bytes = fnzi_krn_stride_bytes(fnz_geometry_numel(rows), (size_t)cell);
  FNZ_TRY(add_copy(m, &packing, &t->pack));
  return add_copy(m, &unpacking, &t->unpack);
}

static fnz_status make_transfer(fnzi_dev_builder *m, const fnzi_pln_location *location,
                                fnzi_dev_transfer *out) {
  *out = (fnzi_dev_transfer){.buffer = location->buffer, .map = location->map};
  fnzi_dev_window_bytes(location->map, &out->start, &out->bytes, &out->dense);
  if (out->bytes == 0)
    return FNZ_OK;
  m->d->used[location->buffer] = true;
  if (out->dense)
    return FNZ_OK;
  FNZ_TRY(pack_window(m, out));
  if ((size_t)out->bytes > m->d->staging_bytes)
    m->d->staging_bytes = (size_t)out->bytes;
  return FNZ_OK;
}

static fnz_status make_transfers(fnzi_dev_builder *m) {
  const fnzi_dev_schedule *r = &m->d->schedule;
  const fnzi_pln_plan *plan = &m->b->plan;
  FNZI_NEW(&m->b->arena, plan->nvalues, &m->d->transfers);
  FNZI_NEW(&m->b->arena, r->noutputs, &m->d->outputs);
  for (size_t i = 0; i < plan->steps.count; i++)
    for (uint32_t k = 0; k < r->steps[i].before + r->steps[i].after; k++) {
      uint32_t v = r->steps[i].values[k];
      if (m->d->transfers[v])
        continue;
      FNZI_NEW(&m->b->arena, 1, &m->d->transfers[v]);
      FNZ_TRY(make_transfer(m, &plan->locations[v], m->d->transfers[v]));
    }
  for (uint32_t k = 0; k < r->noutputs; k++)
    FNZ_TRY(make_transfer(m, &plan->outputs[r->outputs[k]], &m->d->outputs[k]));
  return FNZ_OK;
}

/* --- The whole -------------------------------------------------------------------------------- */
/* Returns whether all data-dependent scalars of the call will be in memory. */
static bool has_scalars(const fnzi_dev_builder *m, const fnzi_krn_call *call) {
  size_t offset;
  bool has = true;
  for (uint32_t k = 0; k < call->op->nparams; k++)
    if (call->by_data >> k & 1)
      has = has && call->outputs[0] &&
            fnzi_stp_scalar_find(m->b, call, k, call->outputs[0]->window.dtype, &offset);
  return has;
}

static fnz_status make_work(fnzi_dev_builder *m, fnzi_stp_thunk *thunk, fnzi_dev_work *out) {
  switch (thunk->kind) {
  case FNZI_STP_THUNK_TILE:
    return add_tile(m, thunk->u.tile, out);
  case FNZI_STP_THUNK_MOVE:
    return add_move(m, &thunk->u.move, out);
  case FNZI_STP_THUNK_KERNEL:
    return has_scalars(m, &thunk->u.kernel.call)
               ? fnzi_dev_work_lower(m, &thunk->u.kernel.call, out)
               : fnzi_dev_work_refuse(out, "a scalar argument depends on data");
  default:
    return FNZ_OK;
  }
}

static fnz_status make_steps(fnzi_dev_builder *m) {
  FNZI_NEW(&m->b->arena, m->b->thunks.count, &m->d->works);
  FNZI_NEW(&m->b->arena, m->b->plan.buffers.count, &m->d->used);
  for (size_t i = 0, sets; i < m->b->thunks.count; i += sets) {
    sets = m->b->plan.steps.data[i].sets > 1 ? m->b->plan.steps.data[i].sets : 1;
    bool at_once = sets > 1;
    for (size_t k = 0; k < sets && at_once; k++) {
      const fnzi_stp_thunk *thunk = &m->b->thunks.data[i + k];
      at_once = thunk->kind == FNZI_STP_THUNK_TILE && !thunk->u.tile->row &&
                has_text(thunk->u.tile) && is_in_buffers(m, thunk->u.tile);
    }
    if (at_once)
      FNZ_TRY(fnzi_dev_work_sets(m, i, (uint32_t)sets, &m->d->works[i]));
    for (size_t k = 0; k < sets && !at_once; k++)
      FNZ_TRY(make_work(m, &m->b->thunks.data[i + k], &m->d->works[i + k]));
  }
  for (size_t i = 0; i < m->b->thunks.count; i++) {
    const fnzi_dev_work *work = &m->d->works[i];
    m->d->has_device_steps = m->d->has_device_steps || work->on_device;
    if (m->d->scratch_bytes < work->scratch)
      m->d->scratch_bytes = work->scratch;
  }
  return FNZ_OK;
}

/* Final values that end in memory of a state stay there. */
static fnz_status find_schedule(fnzi_dev_builder *m) {
  const fnzi_pln_plan *plan = &m->b->plan;
  fnzi_arena *scratch = &m->ws->scratch;
  bool *device, *stays_on_device;
  FNZI_NEW(scratch, plan->steps.count, &device);
  FNZI_NEW(scratch, plan->noutputs, &stays_on_device);
  for (size_t i = 0; i < plan->steps.count; i++)
    device[i] = m->d->works[i].on_device;
  for (uint32_t k = 0; k < plan->noutputs; k++) {
    uint32_t owner = m->ws->exe->owners[k];
    stays_on_device[k] = m->b->with_state && owner != FNZI_PLN_NONE &&
                         m->ws->exe->inputs[owner].in_state &&
                         plan->outputs[k].buffer != FNZI_PLN_NONE &&
                         plan->buffers.data[plan->outputs[k].buffer].kind == FNZI_PLN_STATE;
  }
  return fnzi_dev_schedule_find(&m->b->arena, plan, device, stays_on_device, &m->d->schedule);
}

static fnz_status open_builder(fnzi_dev_builder *m) {
  FNZI_NEW(&m->b->arena, 1, &m->b->device);
  m->d = m->b->device;
  m->d->device = m->ws->exe->device;
  m->threads = m->b->threads;
  fnzi_cuda_text_begin(&m->ws->scratch, &m->text);
  m->text.is_general = m->ws->exe->is_guest; /* each call is compiled as a program */
  return FNZ_OK;
}

static void close_builder(fnzi_dev_builder *m) {
  fnzi_cuda_text_end(m->ws->ctx, &m->text);
  fnzi_arena_reset(&m->ws->scratch);
}

/* Sizes are numbers of a table where inputs have symbols. */
static fnz_status make_works(fnzi_dev_builder *m) {
  const fnz_executable *exe = m->ws->exe;
  if (!exe->has_symbols || fnzi_stp_inputs_are_fixed(exe->program))
    return make_steps(m);
  m->text.is_general = true;
  FNZ_TRY(fnzi_dev_sizes_open(m->ws, &m->text.tables));
  return make_steps(m);
}

/* Records the tables of a binding that is not on the device. Nothing else of its works is kept. */
static fnz_status compare(fnz_workspace *ws, fnzi_stp_binding *other, fnzi_cuda_tables *tables) {
  fnzi_dev_builder m = {.ws = ws, .b = other};
  FNZ_TRY(open_builder(&m));
  m.text.is_general = m.text.only_compares = true;
  m.text.tables = tables;
  fnz_status status = make_steps(&m);
  close_builder(&m);
  return status;
}

static fnz_status make_all(fnzi_dev_builder *m) {
  FNZ_TRY(make_works(m));
  if (m->text.tables && fnzi_dev_sizes_needed(m->ws, m->b)) {
    /* Plans at other sizes show which numbers are the same at all of them. These become constants
     * of the texts, so the works are made again. */
    fnzi_dev_library_end(m->d);
    close_builder(m);
    m->nanswers = 0;
    FNZ_TRY(fnzi_dev_sizes_compare(m->ws, m->b, compare));
    FNZ_TRY(open_builder(m));
    FNZ_TRY(make_works(m));
  }
  if (m->text.tables)
    fnzi_cuda_tables_fix(m->text.tables);
  m->text.tables = NULL; /* what only copies windows follows */
  if (!m->d->has_device_steps)
    return FNZ_OK;
  FNZ_TRY(fnzi_dev_works_guard(m));
  FNZ_TRY(find_schedule(m));
  fnzi_dev_works_number_draws(m);
  FNZ_TRY(make_transfers(m));
  return fnzi_cuda_program_make(m->ws->ctx, m->ws->exe->device, &m->b->arena, &m->text,
                                &m->d->program);
}

fnz_status fnzi_dev_texts(fnz_workspace *ws, fnzi_stp_binding *b) {
  fnzi_dev_builder m = {.ws = ws, .b = b};
  FNZ_TRY(open_builder(&m));
  fnz_status status = make_all(&m);
  close_builder(&m);
  return status;
}
