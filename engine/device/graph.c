/* graph.c - runs consecutive steps of a GPU, without the CPU, as graphs. The second run of such a
 * stretch captures it. Later runs launch the graph, after they update the addresses that changed
 * and the generator's offset. If too many addresses changed, or something cannot be captured, each
 * kernel is launched by itself. If that happens twice because memory moved, the next run captures
 * again. The addresses in a library call cannot be updated: once one changes, its call is launched
 * apart, and the launches between such calls become graphs of their own. */
#include "engine/device/device.h"

enum { LEAST_LAUNCHES = 2, MOST_CHANGED = 32, MOST_MISSED = 2, MOST_RECAPTURES = 3 };
typedef enum stretch_kind { NEW, RAN, CAPTURED, REFUSED } stretch_kind;

/* --- Finding ---------------------------------------------------------------------------------- */

static fnz_status open_stretch(fnzi_stp_binding *b, size_t first, size_t end) {
  fnzi_dev_binding *d = b->device;
  fnzi_dev_stretch stretch = {.first = first, .end = end, .kind = NEW};
  for (size_t i = first; i < end; i++)
    stretch.nlaunches += d->works[i].nlaunches;
  if (stretch.nlaunches < LEAST_LAUNCHES)
    return FNZ_OK;
  FNZI_NEW(&b->arena, stretch.nlaunches, &stretch.launches);
  fnzi_dev_captured *c = stretch.launches;
  for (size_t i = first; i < end; i++)
    for (uint32_t k = 0; k < d->works[i].nlaunches; k++, c++) {
      c->launch = &d->works[i].launches[k];
      FNZI_NEW(&b->arena, c->launch->noperands, &c->addresses);
      for (uint32_t o = 0; o < c->launch->noperands; o++)
        stretch.ndraws += c->launch->buffers[o] == FNZI_DEV_AT_SEED ||
                          c->launch->buffers[o] == FNZI_DEV_AT_OFFSET;
    }
  FNZI_NEW(&b->arena, 1, &d->stretches[first]);
  *d->stretches[first] = stretch;
  return FNZ_OK;
}

fnz_status fnzi_dev_stretches_find(fnzi_stp_binding *b) {
  fnzi_dev_binding *d = b->device;
  FNZI_NEW(&b->arena, b->thunks.count, &d->stretches);
  for (size_t i = 0, end; i < b->thunks.count; i = end) {
    for (end = i; end < b->thunks.count && !d->schedule.steps[end].on_host;)
      end++;
    if (end > i)
      FNZ_TRY(open_stretch(b, i, end));
    else
      end++;
  }
  return FNZ_OK;
}

static void end_graphs(const fnzi_stp_binding *b, fnzi_dev_stretch *stretch) {
  for (uint32_t k = 0; k < stretch->nlaunches; k++)
    fnzi_cuda_graph_end(b->device->device, &stretch->launches[k].graph);
}

void fnzi_dev_stretches_end(fnzi_stp_binding *b) {
  for (size_t i = 0; b->device->stretches && i < b->thunks.count; i++)
    if (b->device->stretches[i])
      end_graphs(b, b->device->stretches[i]);
}

/* --- Capturing -------------------------------------------------------------------------------- */
/* Queues a launch during capture. The node of a library call is unknown, because a library may
 * queue any number of kernels. */
static fnz_status put_captured(fnz_workspace *ws, const fnzi_stp_binding *b, fnzi_dev_captured *c) {
  const fnzi_dev_launch *l = c->launch;
  fnzi_dev_addresses(ws, b, l, c->addresses);
  FNZ_TRY(fnzi_dev_launch_run(ws, b, l, c->addresses));
  c->node = NULL;
  if (l->call || l->count == 0)
    return FNZ_OK;
  FNZ_TRY(fnzi_cuda_capture_node(ws->ctx, b->device->device, ws->stream, &c->node));
  return c->node
             ? FNZ_OK
             : fnzi_fail(ws->ctx, FNZ_CLASS_UNSUPPORTED, NULL, "a kernel is no node of a graph");
}

static fnz_status capture_part(fnz_workspace *ws, const fnzi_stp_binding *b,
                               fnzi_dev_captured *part) {
  const fnzi_cuda_device *device = b->device->device;
  if (part->count < LEAST_LAUNCHES)
    return FNZ_OK;
  FNZ_TRY(fnzi_cuda_capture_begin(ws->ctx, device, ws->stream));
  fnz_status status = FNZ_OK;
  for (size_t k = 0; status == FNZ_OK && k < part->count; k++)
    status = put_captured(ws, b, &part[k]);
  fnz_status ended = fnzi_cuda_capture_end(ws->ctx, device, ws->stream, &part->graph);
  return status == FNZ_OK ? ended : status;
}

/* Captures the parts. If that fails, even for lack of memory, the stretch runs without graphs: a
 * run that failed here would lose its state. */
static fnz_status capture(fnz_workspace *ws, const fnzi_stp_binding *b, fnzi_dev_stretch *stretch) {
  const fnz_error had = ws->ctx->error;
  fnz_status status = FNZ_OK;
  stretch->kind = REFUSED;
  stretch->missed = 0;
  /* A launch that is apart is a part by itself. */
  fnzi_dev_captured *part = NULL;
  for (uint32_t k = 0; k < stretch->nlaunches; k++) {
    fnzi_dev_captured *c = &stretch->launches[k];
    c->count = 0;
    if (!part || part->is_outside || c->is_outside)
      part = c;
    part->count++;
  }
  for (size_t k = 0; k < stretch->nlaunches && status == FNZ_OK; k += stretch->launches[k].count)
    status = capture_part(ws, b, &stretch->launches[k]);
  stretch->version = b->device->version;
  if (status == FNZ_OK) {
    stretch->kind = CAPTURED;
    return FNZ_OK;
  }
  end_graphs(b, stretch);
  if (fnzi_cuda_is_broken(b->device->device))
    return status;
  ws->ctx->error = had;
  return FNZ_OK;
}

/* --- Running ---------------------------------------------------------------------------------- */
static fnz_status run_plain(fnz_workspace *ws, const fnzi_stp_binding *b,
                            const fnzi_dev_stretch *stretch) {
  for (size_t i = stretch->first; i < stretch->end; i++)
    FNZ_TRY(fnzi_dev_work_run(ws, b, &b->device->works[i]));
  return FNZ_OK;
}

/* Returns how many kernel addresses differ from those in the graph. Sets *moved if an address of a
 * library call differs; that call is apart from then on. */
static size_t count_changed(const fnz_workspace *ws, const fnzi_stp_binding *b,
                            fnzi_dev_captured *part, bool *moved) {
  uint64_t now[FNZI_DEV_OPERANDS];
  size_t changed = 0;
  for (fnzi_dev_captured *c = part; part->graph.executable && c < part + part->count; c++) {
    const fnzi_dev_launch *l = c->launch;
    size_t differ = 0;
    fnzi_dev_addresses(ws, b, l, now);
    for (uint32_t o = 0; o < l->noperands; o++)
      differ += now[o] != c->addresses[o];
    c->is_outside = c->is_outside || (l->call && differ);
    *moved = *moved || c->is_outside;
    changed += differ;
  }
  return changed;
}

static fnz_status update(fnz_workspace *ws, const fnzi_stp_binding *b,
                         const fnzi_dev_captured *part) {
  uint64_t now[FNZI_DEV_OPERANDS];
  for (const fnzi_dev_captured *c = part; part->graph.executable && c < part + part->count; c++) {
    const fnzi_dev_launch *l = c->launch;
    size_t bytes = l->noperands * sizeof *now;
    fnzi_dev_addresses(ws, b, l, now);
    if (c->node && memcmp(now, c->addresses, bytes) != 0) {
      const fnzi_cuda_start start = fnzi_dev_start_of(b, l, now);
      FNZ_TRY(fnzi_cuda_graph_set(ws->ctx, b->device->device, &part->graph, c->node, &start));
    }
    memcpy(c->addresses, now, bytes);
  }
  return FNZ_OK;
}

static fnz_status capture_anew(fnz_workspace *ws, const fnzi_stp_binding *b,
                               fnzi_dev_stretch *stretch) {
  end_graphs(b, stretch);
  stretch->kind = RAN;
  return run_plain(ws, b, stretch);
}

static fnz_status run_captured(fnz_workspace *ws, const fnzi_stp_binding *b,
                               fnzi_dev_stretch *stretch) {
  bool same = stretch->version == b->device->version && stretch->ndraws == 0, moved = false;
  fnzi_dev_captured *all = stretch->launches;
  size_t changed = 0;
  for (size_t k = 0; !same && k < stretch->nlaunches; k += all[k].count)
    changed += count_changed(ws, b, &all[k], &moved);
  if (moved)
    return capture_anew(ws, b, stretch);
  if (changed > MOST_CHANGED + (size_t)stretch->ndraws) {
    /* If runs alternate between two states, the graph serves one of them. */
    if (stretch->recaptures == MOST_RECAPTURES || ++stretch->missed < MOST_MISSED)
      return run_plain(ws, b, stretch);
    stretch->recaptures++;
    return capture_anew(ws, b, stretch);
  }
  stretch->missed = 0;
  for (size_t k = 0; changed && k < stretch->nlaunches; k += all[k].count)
    FNZ_TRY(update(ws, b, &all[k]));
  stretch->version = b->device->version;
  for (size_t k = 0; k < stretch->nlaunches; k += all[k].count) {
    if (all[k].graph.executable)
      FNZ_TRY(fnzi_cuda_graph_launch(ws->ctx, b->device->device, &all[k].graph, ws->stream));
    for (size_t i = k; i < k + all[k].count && !all[k].graph.executable; i++) {
      uint64_t addresses[FNZI_DEV_OPERANDS];
      fnzi_dev_addresses(ws, b, all[i].launch, addresses);
      FNZ_TRY(fnzi_dev_launch_run(ws, b, all[i].launch, addresses));
    }
  }
  return FNZ_OK;
}

fnz_status fnzi_dev_stretch_run(fnz_workspace *ws, const fnzi_stp_binding *b,
                                fnzi_dev_stretch *stretch) {
  if (stretch->kind == RAN)
    FNZ_TRY(capture(ws, b, stretch));
  if (stretch->kind == CAPTURED)
    return run_captured(ws, b, stretch);
  if (stretch->kind == NEW)
    stretch->kind = RAN;
  return run_plain(ws, b, stretch);
}
