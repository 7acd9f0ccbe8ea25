/* gpu.c - a GPU of CUDA as the engine sees it: the one symbol that libfnz_cuda exports. */
#include "engine/device_abi.h"
#include "engine/values/values.h"

/* engine/device.c finds it by this name. */
extern FNZI_SHARED const fnzi_stp_device fnzi_val_gpu;

const fnzi_stp_device fnzi_val_gpu = {
    .abi = FNZI_STP_DEVICE_ABI,
    .ops = fnzi_ops,
    .open = fnzi_dev_open,
    .end = fnzi_dev_end,
    .bind = fnzi_dev_bind,
    .unbind = fnzi_dev_unbind,
    .print = fnzi_dev_print,
    .print_json = fnzi_dev_print_json,
    .check = fnzi_dev_check,
    .find_memory = fnzi_dev_memory_find,
    .ready = fnzi_dev_ready,
    .run = fnzi_dev_run,
    .is_direct = fnzi_dev_is_direct,
    .put = fnzi_dev_put,
    .workspace_end = fnzi_dev_workspace_end,
    .state_make = fnzi_dev_state_make,
    .state_end = fnzi_dev_state_end,
    .state_down = fnzi_dev_state_down,
    .state_up = fnzi_dev_state_up,
    .backend_create = fnzi_val_create,
    .threads_drawing = fnzi_cuda_threads_drawing,
};
