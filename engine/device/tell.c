/* tell.c - prints a plan for a GPU: the launches of its steps, the steps that the CPU computes,
 * why, and the copies for them. It prints a binding that could run, so nothing is decided here. */
#include "engine/device/tell.h"

static uint64_t sum_of(const fnzi_pln_plan *plan, const uint32_t *values, uint32_t count) {
  uint64_t sum = 0;
  for (uint32_t k = 0; k < count; k++)
    sum += fnzi_pln_map_bytes(plan->places[values[k]].map);
  return sum;
}

static const char *target_of(const fnzi_stp_binding *b, size_t step) {
  uint32_t node = b->acts.data[step].node;
  return node == FNZI_PLN_NONE ? "copy" : fnzi_node_target(fnzi_node_at(b->program, 0, node));
}

static const char *why_of(const fnzi_stp_binding *b, size_t step) {
  const char *why = b->device->works[step].why;
  return why ? why : "nothing of a GPU computes it";
}

/* Sums over the steps: bytes, launches. */
typedef struct sums {
  uint64_t there, back, end;
  size_t on_device, launches;
} sums;

static sums sums_of(const fnzi_stp_binding *b) {
  const fnzi_dev_binding *d = b->device;
  sums s = {0};
  for (size_t i = 0; i < b->acts.count; i++) {
    s.on_device += d->works[i].on_device;
    s.launches += d->works[i].nlaunches;
    if (!d->runs || !d->route.steps[i].on_host)
      continue;
    const fnzi_dev_where *w = &d->route.steps[i];
    s.there += sum_of(&b->plan, w->values, w->before);
    s.back += sum_of(&b->plan, w->values + w->before, w->after);
  }
  for (uint32_t k = 0; d->runs && k < d->route.noutputs; k++)
    s.end += fnzi_pln_map_bytes(b->plan.outputs[d->route.outputs[k]].map);
  return s;
}

/* --- Text ---------------------------------------------------------------------------------------
 */
static fnz_status put_values(fnz_context *ctx, const fnzi_pln_plan *plan, const uint32_t *values,
                             uint32_t count, fnz_buffer *out) {
  const fnzi_graph *g = fnzi_graph_at(plan->program, 0);
  for (uint32_t k = 0; k < count; k++)
    FNZ_TRY(fnzi_printf(ctx, out, "%s %%%s", k ? "," : "", g->values.data[values[k]].name));
  return count ? fnzi_printf(ctx, out, " (%llu B)", (unsigned long long)sum_of(plan, values, count))
               : fnzi_put_text(ctx, out, " nothing");
}

static fnz_status put_figures(fnz_context *ctx, const fnzi_cuda_figures *f, fnz_buffer *out) {
  if (!f->known)
    return FNZ_OK;
  FNZ_TRY(fnzi_printf(ctx, out, ", %u registers", (unsigned)f->registers));
  if (f->shared)
    FNZ_TRY(fnzi_printf(ctx, out, ", %llu B shared", (unsigned long long)f->shared));
  return f->stack ? fnzi_printf(ctx, out, ", %u B of stack", (unsigned)f->stack) : FNZ_OK;
}

static fnz_status tell_launches(fnz_context *ctx, const fnzi_stp_binding *b, size_t step,
                                fnz_buffer *out) {
  const fnzi_dev_work *work = &b->device->works[step];
  for (uint32_t k = 0; k < work->nlaunches; k++) {
    const fnzi_dev_launch *l = &work->launches[k];
    if (l->count == 0)
      continue;
    FNZ_TRY(fnzi_printf(ctx, out, "step %-4zu %s on the GPU: ", step, target_of(b, step)));
    if (l->call) {
      FNZ_TRY(fnzi_printf(ctx, out, "%s\n", work->by));
      continue;
    }
    const fnzi_cuda_function *f = &b->device->program.kernels[l->kernel];
    FNZ_TRY(fnzi_printf(ctx, out, "k%u, %lld x %u threads", (unsigned)l->kernel,
                        (long long)fnzi_cuda_blocks(b->device->device, f, l->count),
                        (unsigned)f->threads));
    FNZ_TRY(put_figures(ctx, &f->figures, out));
    FNZ_TRY(work->by ? fnzi_printf(ctx, out, " (%s)\n", work->by) : fnzi_put_text(ctx, out, "\n"));
  }
  return FNZ_OK;
}

static fnz_status tell_host(fnz_context *ctx, const fnzi_stp_binding *b, size_t step,
                            fnz_buffer *out) {
  FNZ_TRY(fnzi_printf(ctx, out, "step %-4zu %s on the CPU (%s)", step, target_of(b, step),
                      why_of(b, step)));
  if (b->device->runs) {
    const fnzi_dev_where *w = &b->device->route.steps[step];
    FNZ_TRY(fnzi_put_text(ctx, out, ":"));
    FNZ_TRY(put_values(ctx, &b->plan, w->values, w->before, out));
    FNZ_TRY(fnzi_put_text(ctx, out, " there,"));
    FNZ_TRY(put_values(ctx, &b->plan, w->values + w->before, w->after, out));
    FNZ_TRY(fnzi_put_text(ctx, out, " back"));
  }
  return fnzi_put_text(ctx, out, "\n");
}

static fnz_status tell_sums(fnz_context *ctx, const fnzi_stp_binding *b, fnz_buffer *out) {
  const fnzi_dev_binding *d = b->device;
  const sums s = sums_of(b);
  FNZ_TRY(fnzi_printf(ctx, out, "for sm_%d%d: ", d->device->major, d->device->minor));
  if (!d->runs)
    return fnzi_put_text(ctx, out, "no step runs on the device; nothing is copied\n");
  FNZ_TRY(fnzi_printf(ctx, out,
                      "%zu of %zu steps on the device, by %zu launches of %zu kernels; copied to "
                      "the CPU %llu B, back %llu B, at the end %llu B\n",
                      s.on_device, b->acts.count, s.launches, d->program.count,
                      (unsigned long long)s.there, (unsigned long long)s.back,
                      (unsigned long long)s.end));
  if (d->device->nvrtc.library)
    return FNZ_OK;
  return fnzi_put_text(ctx, out,
                       "registers are not known, for no NVRTC was found that makes code for it\n");
}

fnz_status fnzi_dev_tell(fnz_context *ctx, const fnzi_stp_binding *b, fnz_buffer *out) {
  for (size_t i = 0; i < b->acts.count; i++)
    FNZ_TRY(b->device->works[i].on_device ? tell_launches(ctx, b, i, out)
                                          : tell_host(ctx, b, i, out));
  return tell_sums(ctx, b, out);
}

/* --- JSON ---------------------------------------------------------------------------------------
 */
static fnz_status json_launch(fnz_context *ctx, const fnzi_stp_binding *b, size_t step,
                              const fnzi_dev_launch *l, fnz_buffer *out) {
  FNZ_TRY(fnzi_printf(ctx, out, "\n    {\"step\": %zu, ", step));
  if (l->call)
    return fnzi_printf(ctx, out, "\"library\": \"%s\"}", b->device->works[step].by);
  const fnzi_cuda_function *f = &b->device->program.kernels[l->kernel];
  FNZ_TRY(fnzi_printf(
      ctx, out, "\"kernel\": \"k%u\", \"blocks\": %lld, \"threads\": %u", (unsigned)l->kernel,
      (long long)fnzi_cuda_blocks(b->device->device, f, l->count), (unsigned)f->threads));
  if (f->figures.known)
    FNZ_TRY(fnzi_printf(ctx, out, ", \"registers\": %u, \"shared\": %llu, \"stack\": %u",
                        (unsigned)f->figures.registers, (unsigned long long)f->figures.shared,
                        (unsigned)f->figures.stack));
  if (b->device->works[step].by)
    FNZ_TRY(fnzi_printf(ctx, out, ", \"by\": \"%s\"", b->device->works[step].by));
  return fnzi_put_text(ctx, out, "}");
}

static fnz_status json_host(fnz_context *ctx, const fnzi_stp_binding *b, size_t step,
                            fnz_buffer *out) {
  const fnzi_dev_binding *d = b->device;
  const fnzi_dev_where none = {0}, *w = d->runs ? &d->route.steps[step] : &none;
  return fnzi_printf(
      ctx, out, "\n    {\"step\": %zu, \"why\": \"%s\", \"to_cpu\": %llu, \"to_device\": %llu}",
      step, why_of(b, step), (unsigned long long)sum_of(&b->plan, w->values, w->before),
      (unsigned long long)sum_of(&b->plan, w->values + w->before, w->after));
}

static fnz_status json_launches(fnz_context *ctx, const fnzi_stp_binding *b, fnz_buffer *out) {
  const char *between = "";
  for (size_t i = 0; i < b->acts.count; i++)
    for (uint32_t k = 0; k < b->device->works[i].nlaunches; k++) {
      if (b->device->works[i].launches[k].count == 0)
        continue;
      FNZ_TRY(fnzi_put_text(ctx, out, between));
      FNZ_TRY(json_launch(ctx, b, i, &b->device->works[i].launches[k], out));
      between = ",";
    }
  return FNZ_OK;
}

fnz_status fnzi_dev_tell_json(fnz_context *ctx, const fnzi_stp_binding *b, fnz_buffer *out) {
  const fnzi_dev_binding *d = b->device;
  const char *between = "";
  FNZ_TRY(fnzi_printf(ctx, out, "  \"gpu\": \"sm_%d%d\",\n  \"launches\": [", d->device->major,
                      d->device->minor));
  FNZ_TRY(json_launches(ctx, b, out));
  FNZ_TRY(fnzi_put_text(ctx, out, "],\n  \"on_cpu\": ["));
  for (size_t i = 0; i < b->acts.count; i++) {
    if (d->works[i].on_device)
      continue;
    FNZ_TRY(fnzi_put_text(ctx, out, between));
    FNZ_TRY(json_host(ctx, b, i, out));
    between = ",";
  }
  return fnzi_printf(ctx, out, "],\n  \"to_cpu_at_end\": %llu,\n",
                     (unsigned long long)sums_of(b).end);
}
