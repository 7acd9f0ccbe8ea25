/* runs.c - the table of runs.def. */
#include "kernels/core/core.h"

const fnzi_krn_facts fnzi_krn_runs[FNZI_RUNS] = {
#define RUN(name, access, fails, tile, takes, gpu)                                                 \
  [FNZI_RUN_##name] = {FNZI_ACCESS_##access, FNZI_FAILS_##fails, FNZI_TILE_##tile,                 \
                       FNZI_TAKES_##takes, FNZI_GPU_##gpu},
#include "kernels/runs.def"
#undef RUN
};
