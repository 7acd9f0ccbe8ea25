/* gpu.h - a GPU of CUDA as the engine sees it. */
#ifndef FNZI_VAL_GPU_H
#define FNZI_VAL_GPU_H

#include "engine/steps/device.h"

extern const fnzi_stp_device fnzi_val_gpu;

#endif
