/* record_parts.c - parts of recorded groups: fake addresses and instructions. */
#include "engine/device/record.h"

#define AT   ((uint64_t)1 << 62)
#define ROOM FNZI_DEV_RECORD_AREA

unsigned char *fnzi_dev_record_address(uint64_t area) {
  return (unsigned char *)(uintptr_t)(AT + area * ROOM);
}

bool fnzi_dev_record_locate(const unsigned char *data, fnzi_dev_operand *out) {
  uint64_t address = (uint64_t)(uintptr_t)data - AT;
  if ((uint64_t)(uintptr_t)data < AT || address >= AT)
    return false;
  *out = (fnzi_dev_operand){(uint32_t)(address / ROOM) - FNZI_DEV_RECORD_BUFFERS,
                            (int64_t)(address % ROOM)};
  if (address < FNZI_DEV_RECORD_BUFFERS * ROOM)
    out->buffer = address < ROOM ? FNZI_DEV_AT_SCRATCH : FNZI_DEV_AT_SCALARS;
  return true;
}

fnz_status fnzi_dev_record_refuse(fnzi_dev_recording *r, const char *why) {
  r->why = why;
  return FNZ_UNSUPPORTED;
}

bool fnzi_dev_record_count(uint32_t rank, const int64_t *sizes, int64_t *count) {
  bool fits = true;
  *count = 1;
  for (uint32_t d = 0; d < rank; d++)
    fits = fits && fnzi_mul_i64(*count, sizes[d], count);
  return fits;
}

bool fnzi_dev_record_is_scalar(const fnzi_krn_window *w) {
  bool one = true;
  for (uint32_t d = 0; d < w->rank; d++)
    one = one && w->sizes[d] == 1;
  return one;
}

uint16_t fnzi_dev_record_put(fnzi_dev_recorded *g, fnzi_cuda_ins ins, fnz_dtype dtype) {
  ins.out = (uint16_t)g->nslots++;
  g->slots[ins.out] = (fnzi_cuda_slot){.dtype = (uint8_t)dtype};
  g->ins[g->nins++] = ins;
  return ins.out;
}

fnz_status fnzi_dev_record_convert(fnzi_dev_recording *r, fnzi_dev_recorded *g, uint8_t kind,
                                   fnz_dtype to, uint16_t *slot) {
  fnz_dtype from = (fnz_dtype)g->slots[*slot].dtype;
  if (to == from)
    return FNZ_OK;
  if (!fnzi_cuda_text_converts(to) || !fnzi_cuda_text_converts(from))
    return fnzi_dev_record_refuse(r, "no text converts between the types");
  *slot = fnzi_dev_record_put(g, (fnzi_cuda_ins){.kind = kind, .arity = 1, .in = {*slot}}, to);
  return FNZ_OK;
}
