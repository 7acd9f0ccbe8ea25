/* lower.c - which lowering makes the launches of a call: that of its kernel. */
#include "engine/device/lowering.h"

/* Kernels of row_ops.def: by the dimensions of a row. */
static fnz_status lower_rows(fnzi_dev_builder *m, fnzi_krn_call *call, fnzi_dev_work *out) {
  switch (call->row->run) {
#define EACH(run, over, ...)                                                                       \
  case FNZI_RUN_##run:                                                                             \
    return fnzi_dev_lower_##over(m, call, out);
#include "kernels/row_ops.def"
  default:
    return FNZ_OK;
  }
}

static fnzi_dev_lowering *const lowerings[FNZI_GPUS] = {
    [FNZI_GPU_rows] = lower_rows,
    [FNZI_GPU_recorded] = fnzi_dev_lower_recorded,
    [FNZI_GPU_drawn] = fnzi_dev_lower_drawn,
    [FNZI_GPU_addbmm] = fnzi_dev_lower_addbmm,
    [FNZI_GPU_addmm] = fnzi_dev_lower_addmm,
    [FNZI_GPU_attention] = fnzi_dev_lower_attention,
    [FNZI_GPU_batch_norm] = fnzi_dev_lower_batch_norm,
    [FNZI_GPU_conv] = fnzi_dev_lower_conv,
    [FNZI_GPU_group_norm] = fnzi_dev_lower_group_norm,
    [FNZI_GPU_linear] = fnzi_dev_lower_linear,
    [FNZI_GPU_matmul] = fnzi_dev_lower_matmul,
    [FNZI_GPU_vdot] = fnzi_dev_lower_vdot,
};

/* Runs the lowering of a call. Reading the arguments may allocate from call->scratch. */
fnz_status fnzi_dev_work_lower(fnzi_dev_builder *m, fnzi_krn_call *call, fnzi_dev_work *out) {
  fnzi_dev_lowering *lowering = lowerings[fnzi_kernel_facts(call->row)->gpu];
  if (!lowering)
    return FNZ_OK;
  fnzi_arena_init(&call->scratch, m->ws->ctx);
  fnz_status status = lowering(m, call, out);
  fnzi_arena_free(&call->scratch);
  return status;
}
