/* by_way.c - which way makes the launches of a call: that of its kernel. */
#include "engine/device/way.h"

/* Kernels of row_ops.def: by the dimensions of a row. */
static fnz_status way_rows(fnzi_dev_maker *m, fnzi_krn_call *call, fnzi_dev_work *out) {
  switch (call->row->run) {
#define EACH(run, over, ...)                                                                       \
  case FNZI_RUN_##run:                                                                             \
    return fnzi_dev_way_##over(m, call, out);
#include "kernels/row_ops.def"
  default:
    return FNZ_OK;
  }
}

static fnzi_dev_way *const ways[FNZI_GPUS] = {
    [FNZI_GPU_rows] = way_rows,
    [FNZI_GPU_recorded] = fnzi_dev_way_recorded,
    [FNZI_GPU_drawn] = fnzi_dev_way_drawn,
    [FNZI_GPU_addbmm] = fnzi_dev_way_addbmm,
    [FNZI_GPU_addmm] = fnzi_dev_way_addmm,
    [FNZI_GPU_attention] = fnzi_dev_way_attention,
    [FNZI_GPU_batch_norm] = fnzi_dev_way_batch_norm,
    [FNZI_GPU_conv] = fnzi_dev_way_conv,
    [FNZI_GPU_group_norm] = fnzi_dev_way_group_norm,
    [FNZI_GPU_linear] = fnzi_dev_way_linear,
    [FNZI_GPU_matmul] = fnzi_dev_way_matmul,
    [FNZI_GPU_vdot] = fnzi_dev_way_vdot,
};

/* Runs the way of a call. Reading the arguments may allocate from call->scratch. */
fnz_status fnzi_dev_work_by_way(fnzi_dev_maker *m, fnzi_krn_call *call, fnzi_dev_work *out) {
  fnzi_dev_way *way = ways[fnzi_kernel_facts(call->row)->gpu];
  if (!way)
    return FNZ_OK;
  fnzi_arena_init(&call->scratch, m->ws->ctx);
  fnz_status status = way(m, call, out);
  fnzi_arena_free(&call->scratch);
  return status;
}
