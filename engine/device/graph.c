/* graph.c - stretches of steps that a GPU computes one after the other, without the CPU: the
 * second run of a stretch captures it, later ones put it on the stream as a whole, with the
 * addresses that changed since, and with where the generator is now. Where too many did, or
 * something cannot be captured, each launch is put there; where too many did twice, for memory
 * moved, the next run captures again. */
#include "engine/device/device.h"

enum { LEAST_LAUNCHES = 2, MOST_CHANGED = 32, MOST_MISSED = 2, MOST_CAPTURES = 4 };
typedef enum stretch_kind { NEW, RAN, CAPTURED, REFUSED } stretch_kind;

/* --- Finding ------------------------------------------------------------------------------------
 */
static uint32_t count_draws(const fnzi_eng_launch *l) {
  uint32_t count = 0;
  for (uint32_t k = 0; k < l->noperands; k++)
    count += l->buffers[k] == FNZI_ENG_AT_SEED || l->buffers[k] == FNZI_ENG_AT_OFFSET;
  return count;
}

static fnz_status open_stretch(fnzi_eng_binding *b, size_t first, size_t end) {
  fnzi_eng_device_binding *d = b->device;
  fnzi_eng_stretch stretch = {.first = first, .end = end, .kind = NEW};
  for (size_t i = first; i < end; i++)
    for (uint32_t k = 0; k < d->works[i].nlaunches; k++, stretch.nlaunches++) {
      stretch.noperands += d->works[i].launches[k].noperands;
      stretch.ndraws += count_draws(&d->works[i].launches[k]);
    }
  if (stretch.nlaunches < LEAST_LAUNCHES)
    return FNZ_OK;
  FNZI_NEW(&b->arena, stretch.noperands, &stretch.addresses);
  FNZI_NEW(&b->arena, stretch.nlaunches, &stretch.nodes);
  FNZI_NEW(&b->arena, 1, &d->stretches[first]);
  *d->stretches[first] = stretch;
  return FNZ_OK;
}

fnz_status fnzi_eng_device_stretches_find(fnzi_eng_binding *b) {
  fnzi_eng_device_binding *d = b->device;
  FNZI_NEW(&b->arena, b->acts.count, &d->stretches);
  for (size_t i = 0, end; i < b->acts.count; i = end) {
    for (end = i; end < b->acts.count && !d->route.steps[end].on_host;)
      end++;
    if (end > i)
      FNZ_TRY(open_stretch(b, i, end));
    else
      end++;
  }
  return FNZ_OK;
}

void fnzi_eng_device_stretches_end(fnzi_eng_binding *b) {
  for (size_t i = 0; b->device->stretches && i < b->acts.count; i++)
    if (b->device->stretches[i])
      fnzi_cuda_graph_end(b->device->device, &b->device->stretches[i]->graph);
}

/* --- Running ------------------------------------------------------------------------------------
 */
static fnz_status run_plain(fnz_workspace *ws, const fnzi_eng_binding *b,
                            const fnzi_eng_stretch *stretch) {
  for (size_t i = stretch->first; i < stretch->end; i++)
    FNZ_TRY(fnzi_eng_device_work_run(ws, b, &b->device->works[i]));
  return FNZ_OK;
}

/* A library puts there what it likes: its node is not known. */
static fnz_status put_captured(fnz_workspace *ws, const fnzi_eng_binding *b,
                               fnzi_eng_stretch *stretch) {
  uint64_t *addresses = stretch->addresses;
  void **node = stretch->nodes;
  for (size_t i = stretch->first; i < stretch->end; i++)
    for (uint32_t k = 0; k < b->device->works[i].nlaunches; k++, node++) {
      const fnzi_eng_launch *l = &b->device->works[i].launches[k];
      fnzi_eng_device_addresses(ws, b, l, addresses);
      FNZ_TRY(fnzi_eng_device_launch(ws, b, l, addresses));
      *node = NULL;
      if (!l->call && l->count)
        FNZ_TRY(fnzi_cuda_capture_node(ws->ctx, b->device->device, ws->stream, node));
      if (!l->call && l->count && !*node)
        return fnzi_fail(ws->ctx, FNZ_CLASS_UNSUPPORTED, NULL, "a kernel is no node of a graph");
      addresses += l->noperands;
    }
  return FNZ_OK;
}

/* What cannot be captured runs without. */
static fnz_status capture(fnz_workspace *ws, const fnzi_eng_binding *b, fnzi_eng_stretch *stretch) {
  const fnzi_cuda_device *device = b->device->device;
  const fnz_error had = ws->ctx->error;
  stretch->kind = REFUSED;
  stretch->missed = 0;
  stretch->captures++;
  fnz_status status = fnzi_cuda_capture_begin(ws->ctx, device, ws->stream);
  if (status == FNZ_OK) {
    status = put_captured(ws, b, stretch);
    fnz_status ended = fnzi_cuda_capture_end(ws->ctx, device, ws->stream, &stretch->graph);
    status = status == FNZ_OK ? ended : status;
  }
  if (status != FNZ_OK && (status == FNZ_NO_MEMORY || fnzi_cuda_is_broken(device)))
    return status;
  stretch->version = b->device->version;
  if (status == FNZ_OK)
    stretch->kind = CAPTURED;
  else
    fnzi_cuda_graph_end(device, &stretch->graph);
  ws->ctx->error = status == FNZ_OK ? ws->ctx->error : had;
  return FNZ_OK;
}

/* How many addresses are not those that the graph has; more than there may be where one is a
 * library's. */
static size_t count_changed(const fnz_workspace *ws, const fnzi_eng_binding *b,
                            const fnzi_eng_stretch *stretch) {
  uint64_t now[FNZI_ENG_DEVICE_OPERANDS];
  const uint64_t *had = stretch->addresses;
  size_t changed = 0;
  for (size_t i = stretch->first; i < stretch->end; i++)
    for (uint32_t k = 0; k < b->device->works[i].nlaunches; k++) {
      const fnzi_eng_launch *l = &b->device->works[i].launches[k];
      fnzi_eng_device_addresses(ws, b, l, now);
      for (uint32_t o = 0; o < l->noperands; o++, had++)
        changed += now[o] == *had ? 0 : l->call ? MOST_CHANGED + (size_t)stretch->ndraws + 1 : 1;
    }
  return changed;
}

static fnz_status update(fnz_workspace *ws, const fnzi_eng_binding *b, fnzi_eng_stretch *stretch) {
  uint64_t now[FNZI_ENG_DEVICE_OPERANDS], *had = stretch->addresses;
  void **node = stretch->nodes;
  for (size_t i = stretch->first; i < stretch->end; i++)
    for (uint32_t k = 0; k < b->device->works[i].nlaunches; k++, node++) {
      const fnzi_eng_launch *l = &b->device->works[i].launches[k];
      size_t bytes = l->noperands * sizeof *now;
      fnzi_eng_device_addresses(ws, b, l, now);
      if (*node && memcmp(now, had, bytes) != 0)
        FNZ_TRY(fnzi_cuda_graph_set(ws->ctx, b->device->device, &stretch->graph, *node,
                                    &b->device->program.kernels[l->kernel], l->count, now,
                                    l->numbers));
      memcpy(had, now, bytes);
      had += l->noperands;
    }
  return FNZ_OK;
}

/* Two states in turn leave the graph to one of them. */
static fnz_status run_missed(fnz_workspace *ws, const fnzi_eng_binding *b,
                             fnzi_eng_stretch *stretch) {
  if (stretch->captures < MOST_CAPTURES && ++stretch->missed == MOST_MISSED) {
    fnzi_cuda_graph_end(b->device->device, &stretch->graph);
    stretch->kind = RAN;
  }
  return run_plain(ws, b, stretch);
}

static fnz_status run_captured(fnz_workspace *ws, const fnzi_eng_binding *b,
                               fnzi_eng_stretch *stretch) {
  bool same = stretch->version == b->device->version && stretch->ndraws == 0;
  size_t changed = same ? 0 : count_changed(ws, b, stretch);
  if (changed > MOST_CHANGED + (size_t)stretch->ndraws)
    return run_missed(ws, b, stretch);
  stretch->missed = 0;
  if (changed)
    FNZ_TRY(update(ws, b, stretch));
  stretch->version = b->device->version;
  return fnzi_cuda_graph_launch(ws->ctx, b->device->device, &stretch->graph, ws->stream);
}

fnz_status fnzi_eng_device_stretch_run(fnz_workspace *ws, const fnzi_eng_binding *b,
                                       fnzi_eng_stretch *stretch) {
  if (stretch->kind == RAN)
    FNZ_TRY(capture(ws, b, stretch));
  if (stretch->kind == CAPTURED)
    return run_captured(ws, b, stretch);
  if (stretch->kind == NEW)
    stretch->kind = RAN;
  return run_plain(ws, b, stretch);
}
