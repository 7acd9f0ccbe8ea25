/* launch.c - the launches of a work, with the addresses that their operands have in a run.
 */
#include "engine/device/device.h"
#include "base/random.h"
#include "engine/tile/tile.h"

/* Returns the device address at which `buffer` starts. Marks (FNZI_DEV_AT_...) give the address of
 * their memory, or the number itself. */
static uint64_t start_of(const fnz_workspace *ws, const fnzi_dev_binding *d, uint32_t buffer) {
  switch (buffer) {
  case FNZI_DEV_AT_STAGING:
    return ws->device_block + d->staging;
  case FNZI_DEV_AT_SCRATCH:
    return ws->device_block + d->scratch;
  case FNZI_DEV_AT_FLAG:
    return ws->device_block + d->flag;
  case FNZI_DEV_AT_TABLES:
    return d->tables.address;
  case FNZI_DEV_AT_SCALARS:
    return ws->device_block + d->scalars;
  case FNZI_DEV_AT_NOTHING:
    return 0;
  case FNZI_DEV_AT_SEED:
    return ws->ctx->generator->seed;
  case FNZI_DEV_AT_OFFSET:
    return d->drawn_from;
  default:
    return d->addresses[buffer];
  }
}

uint64_t fnzi_dev_address(const fnz_workspace *ws, const fnzi_stp_binding *b, uint32_t buffer,
                          int64_t offset) {
  return start_of(ws, b->device, buffer) + (uint64_t)offset;
}

void fnzi_dev_addresses(const fnz_workspace *ws, const fnzi_stp_binding *b,
                        const fnzi_dev_launch *l, uint64_t *out) {
  for (uint32_t k = 0; k < l->noperands; k++)
    out[k] = fnzi_dev_address(ws, b, l->buffers[k], l->offsets[k]);
}

fnzi_cuda_start fnzi_dev_start_of(const fnzi_stp_binding *b, const fnzi_dev_launch *l,
                                  uint64_t *addresses) {
  return (fnzi_cuda_start){.kernel = &b->device->program.kernels[l->kernel],
                           .count = l->count,
                           .addresses = addresses,
                           .numbers = l->sizes};
}

fnz_status fnzi_dev_launch_run(fnz_workspace *ws, const fnzi_stp_binding *b,
                               const fnzi_dev_launch *l, uint64_t *addresses) {
  const fnzi_cuda_device *device = b->device->device;
  if (l->call)
    return l->call(ws->ctx, device, l->descriptors, addresses, ws->stream);
  const fnzi_cuda_start start = fnzi_dev_start_of(b, l, addresses);
  return fnzi_cuda_launch(ws->ctx, device, &start, ws->stream);
}

fnz_status fnzi_dev_work_run(fnz_workspace *ws, const fnzi_stp_binding *b,
                             const fnzi_dev_work *work) {
  uint64_t addresses[FNZI_DEV_OPERANDS];
  for (uint32_t k = 0; k < work->nlaunches; k++) {
    fnzi_dev_addresses(ws, b, &work->launches[k], addresses);
    FNZ_TRY(fnzi_dev_launch_run(ws, b, &work->launches[k], addresses));
  }
  return FNZ_OK;
}

/* --- One row ---------------------------------------------------------------------------------- */
const fnzi_stp_binding *fnzi_dev_point_binding(const fnz_workspace *ws, const char *row) {
  const fnzi_stp_binding *b = ws->bindings.count == 1 ? ws->bindings.data[0] : NULL;
  uint32_t rows = 0, others = 0;
  const fnzi_dev_binding *d = b ? b->device : NULL;
  /* The whole run must be a single launch: the CPU computes no step, and never repeats a run. */
  if (!d || !d->has_device_steps || d->has_host_steps || d->has_flag || b->has_interpreted ||
      b->thunks.count != 1 || b->thunks.data[0].kind != FNZI_STP_THUNK_TILE ||
      d->works[0].nlaunches != 1 || fnzi_graph_main(b->program)->nodes.count != 1)
    return NULL;
  const fnzi_tile_program *t = b->thunks.data[0].u.tile;
  for (uint32_t k = 0; k < t->nins; k++) {
    bool runs = t->ins[k].kind == FNZI_TILE_INS_RUN, is = runs && strcmp(t->ins[k].point, row) == 0;
    rows += is;
    others += runs && !is;
  }
  return rows == 1 && others == 0 ? b : NULL;
}
