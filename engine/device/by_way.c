/* by_way.c - which way makes the launches of a call: that of its kernel. */
#include "engine/device/way.h"

static fnz_status by_way(fnzi_dev_maker *m, fnzi_krn_call *call, fnzi_dev_work *out) {
  switch (call->row->run) {
#define WAY(run, way)                                                                              \
  case FNZI_RUN_##run:                                                                             \
    return fnzi_dev_way_##way(m, call, out);
#include "engine/device/ways.def"
#undef WAY
  default:
    return FNZ_OK;
  }
}

/* Runs the way of a call. Reading the arguments may allocate from call->scratch. */
fnz_status fnzi_dev_work_by_way(fnzi_dev_maker *m, fnzi_krn_call *call, fnzi_dev_work *out) {
  fnzi_arena_init(&call->scratch, m->ws->ctx);
  fnz_status status = by_way(m, call, out);
  fnzi_arena_free(&call->scratch);
  return status;
}
