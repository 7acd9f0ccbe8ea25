/* record.h - records the steps of a kernel as launches of a work.
 *
 *   record.c           the whole: moves, rows of point.def, formulas, products
 *   record_parts.c     what these share
 *   record_indexing.c  elements that go to places, or come from places, which data say
 *
 * A recording lives as long as the call of one kernel. Its callbacks return UNSUPPORTED after
 * fnzi_dev_record_refuse(); then the CPU computes the step. Other failures are errors. */
#ifndef FNZI_DEV_RECORD_H
#define FNZI_DEV_RECORD_H

#include "engine/device/lowering.h"
#include "kernels/core/window.h"

typedef struct fnzi_dev_recording {
  fnzi_dev_builder *m;
  fnzi_dev_work *out;
  const fnzi_krn_call *call;
  fnzi_krn_call *recorded; /* `call` with the recorder, which kernels may change */
  const char *why;         /* why it cannot be recorded: a static string */
} fnzi_dev_recording;

/* A group over the windows of a loop: operands that have one address, numbers, and instructions. */
typedef struct fnzi_dev_recorded {
  fnzi_krn_loop loop;
  fnzi_cuda_lane lanes[FNZI_LOOP_OPERANDS];
  fnzi_cuda_slot slots[2 * FNZI_LOOP_OPERANDS];
  fnzi_cuda_ins ins[FNZI_LOOP_OPERANDS];
  fnzi_dev_operand operands[FNZI_LOOP_OPERANDS];
  uint32_t windows[FNZI_LOOP_OPERANDS]; /* per lane: operand of the loop */
  uint32_t nlanes, nslots, nins;
} fnzi_dev_recorded;

/* Addresses that a kernel gets, and no memory has: areas of so many bytes for the memory of the
 * step, for numbers that data decide, and for each buffer. */
enum { FNZI_DEV_RECORD_SCRATCH, FNZI_DEV_RECORD_SCALARS, FNZI_DEV_RECORD_BUFFERS };
#define FNZI_DEV_RECORD_AREA ((uint64_t)1 << 40)
unsigned char *fnzi_dev_record_address(uint64_t area);
/* Finds the operand for an address that a kernel got. Returns false if it is host memory. */
bool fnzi_dev_record_locate(const unsigned char *data, fnzi_dev_operand *out);
/* Leaves the call to the CPU. `why` is a static string. */
fnz_status fnzi_dev_record_refuse(fnzi_dev_recording *r, const char *why);
/* Counts elements. Returns false if the count overflows. */
bool fnzi_dev_record_count(uint32_t rank, const int64_t *sizes, int64_t *count);
bool fnzi_dev_record_is_scalar(const fnzi_krn_window *w);
/* Adds an instruction and returns the slot of its value. */
uint16_t fnzi_dev_record_put(fnzi_dev_recorded *g, fnzi_cuda_ins ins, fnz_dtype dtype);
FNZ_MUST_CHECK fnz_status fnzi_dev_record_convert(fnzi_dev_recording *r, fnzi_dev_recorded *g,
                                                  uint8_t kind, fnz_dtype to, uint16_t *slot);

/* The recorder's function for indexing (fnzi_krn_picking in window.h). */
FNZ_MUST_CHECK fnz_status fnzi_dev_record_pick(void *user, const fnzi_krn_picking *picking);

#endif
