/* device_by_way.c - which way makes the launches of a call: that of its kernel. */
#include "engine/device_way.h"

fnz_status fnzi_eng_work_by_way(fnzi_eng_maker *m, fnzi_krn_call *call, fnzi_eng_work *out) {
  switch (call->row->run) {
#define WAY(run, way)                                                                              \
  case FNZI_RUN_##run:                                                                             \
    return fnzi_eng_way_##way(m, call, out);
#include "engine/device_ways.def"
#undef WAY
  default:
    return FNZ_OK;
  }
}
