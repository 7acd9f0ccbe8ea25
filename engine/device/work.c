/* work.c - shared by the lowerings: adds launches and operands to a step's work. */
#include "engine/device/lowering.h"

fnz_status fnzi_dev_work_refuse(fnzi_dev_work *work, const char *why) {
  *work = (fnzi_dev_work){.why = why};
  return FNZ_OK;
}

bool fnzi_dev_operand_of(const fnzi_dev_builder *m, const fnzi_krn_array *array,
                         fnzi_dev_operand *out) {
  *out = (fnzi_dev_operand){fnzi_stp_buffer_of(m->b, array->storage),
                            fnzi_krn_stride_bytes(array->window.offset, array->cell)};
  return out->buffer != FNZI_PLN_NONE;
}

/* Launches of a work are few: its room is 1, 3, 7 ... */
static fnz_status work_add(fnzi_dev_builder *m, fnzi_dev_work *work,
                           const fnzi_dev_operand *operands, const fnzi_dev_launch *launch) {
  fnzi_arena *arena = &m->b->arena;
  uint32_t *buffers, noperands = launch->noperands;
  int64_t *offsets;
  if (noperands > FNZI_DEV_OPERANDS)
    return fnzi_fail(m->ws->ctx, FNZ_CLASS_INTERNAL, NULL, "a kernel has %u operands, more than %d",
                     (unsigned)noperands, (int)FNZI_DEV_OPERANDS);
  if ((work->nlaunches & (work->nlaunches + 1)) == 0) {
    fnzi_dev_launch *grown;
    FNZI_NEW(arena, work->nlaunches + work->nlaunches + 1, &grown);
    if (work->nlaunches)
      memcpy(grown, work->launches, work->nlaunches * sizeof *grown);
    work->launches = grown;
  }
  FNZI_NEW(arena, noperands, &buffers);
  FNZI_NEW(arena, noperands, &offsets);
  for (uint32_t k = 0; k < noperands; k++) {
    buffers[k] = operands[k].buffer;
    offsets[k] = operands[k].offset;
    if (buffers[k] < m->b->plan.buffers.count)
      m->d->used[buffers[k]] = true;
  }
  work->launches[work->nlaunches] = *launch;
  work->launches[work->nlaunches].buffers = buffers;
  work->launches[work->nlaunches++].offsets = offsets;
  work->on_device = true;
  return FNZ_OK;
}

fnz_status fnzi_dev_work_launch(fnzi_dev_builder *m, fnzi_dev_work *work, uint32_t kernel,
                                int64_t count, const fnzi_dev_operand *operands,
                                uint32_t noperands) {
  fnzi_dev_launch l = {.kernel = kernel, .count = count, .noperands = noperands};
  int64_t *numbers;
  if (work->why) /* a kernel before it could not be made */
    return FNZ_OK;
  if (count && m->text.nnumbers) {
    FNZI_NEW(&m->b->arena, m->text.nnumbers, &numbers);
    memcpy(numbers, m->text.numbers, m->text.nnumbers * sizeof *numbers);
    l.sizes = numbers;
    if (m->ws->exe->is_guest) {
      uint16_t *slots;
      FNZI_NEW(&m->b->arena, m->text.nnumbers, &slots);
      for (uint32_t k = 0; k < m->text.nnumbers; k++)
        if (m->text.of_slots[k])
          slots[l.nslots++] = (uint16_t)k;
      l.slots = slots;
    }
  }
  return work_add(m, work, operands, &l);
}

uint8_t fnzi_dev_aligned(int64_t offset) {
  uint64_t all = (uint64_t)offset | 16;
  return (uint8_t)(all & (~all + 1));
}

fnz_status fnzi_dev_work_copy(fnzi_dev_builder *m, fnzi_dev_work *work,
                              const fnzi_dev_elements *what, const fnzi_dev_operand operands[2]) {
  fnzi_cuda_lane lanes[2] = {{.stores = false}, {.stores = true}};
  fnzi_cuda_slot slot = {.dtype = (uint8_t)what->dtype};
  int64_t count;
  uint32_t kernel;
  if (what->rank > FNZ_MAX_RANK)
    return fnzi_fail(m->ws->ctx, FNZ_CLASS_INTERNAL, NULL, "a copy has %u dimensions, more than %d",
                     (unsigned)what->rank, (int)FNZ_MAX_RANK);
  for (uint32_t d = 0; d < what->rank; d++) {
    lanes[0].strides[d] = what->from[d];
    lanes[1].strides[d] = what->to[d];
  }
  for (int k = 0; k < 2; k++)
    lanes[k].aligned = fnzi_dev_aligned(operands[k].offset);
  const fnzi_cuda_group g = {.rank = what->rank,
                             .sizes = what->sizes,
                             .lanes = lanes,
                             .slots = &slot,
                             .nlanes = 2,
                             .nslots = 1};
  FNZ_TRY(fnzi_cuda_text_add(m->ws->ctx, &m->text, &g, &kernel, &count));
  return fnzi_dev_work_launch(m, work, kernel, count, operands, 2);
}

fnz_status fnzi_dev_work_call(fnzi_dev_builder *m, fnzi_dev_work *work, fnzi_dev_library_call *call,
                              const void *what, const fnzi_dev_operand *operands,
                              uint32_t noperands) {
  const fnzi_dev_launch l = {.call = call, .descriptors = what, .count = 1, .noperands = noperands};
  return work_add(m, work, operands, &l);
}

void fnzi_dev_works_number_draws(fnzi_dev_builder *m) {
  uint64_t drawn = 0;
  for (size_t i = 0; i < m->b->thunks.count; i++) {
    fnzi_dev_work *work = &m->d->works[i];
    for (uint32_t k = 0; k < work->nlaunches; k++)
      for (uint32_t o = 0; o < work->launches[k].noperands; o++)
        if (work->launches[k].buffers[o] == FNZI_DEV_AT_OFFSET)
          work->launches[k].offsets[o] += (int64_t)drawn;
    drawn = m->d->schedule.steps[i].on_host ? 0 : drawn + work->draws;
    work->drawn = drawn;
  }
}

fnz_status fnzi_dev_work_guard(fnzi_dev_builder *m, fnzi_dev_work *work) {
  for (uint32_t k = 0; k < work->nlaunches; k++) {
    fnzi_dev_launch *l = &work->launches[k];
    uint32_t *buffers, count = l->noperands;
    int64_t *offsets;
    if (l->count == 0)
      continue;
    if (count == FNZI_DEV_OPERANDS)
      return fnzi_fail(m->ws->ctx, FNZ_CLASS_INTERNAL, NULL, "a kernel has no operand to spare");
    FNZ_TRY(fnzi_cuda_text_guard(m->ws->ctx, &m->text, l->kernel, &l->kernel));
    FNZI_NEW(&m->b->arena, count + 1, &buffers);
    FNZI_NEW(&m->b->arena, count + 1, &offsets);
    memcpy(buffers, l->buffers, count * sizeof *buffers);
    memcpy(offsets, l->offsets, count * sizeof *offsets);
    buffers[count] = FNZI_DEV_AT_FLAG;
    l->buffers = buffers;
    l->offsets = offsets;
    l->noperands++;
  }
  return FNZ_OK;
}

fnz_status fnzi_dev_work_scratch(fnzi_dev_builder *m, fnzi_dev_work *work, size_t bytes,
                                 int64_t *offset) {
  size_t start;
  if (!fnzi_dev_reserve(FNZI_DEV_APART, bytes, &start, &work->scratch))
    return fnzi_no_memory(m->ws->ctx);
  *offset = (int64_t)start;
  return FNZ_OK;
}
