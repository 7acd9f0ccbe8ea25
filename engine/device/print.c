/* print.c - prints a plan for a GPU: the launches of its steps, the steps that the CPU computes,
 * why, and the copies for them. It prints a binding that could run, so nothing is decided here. */
#include "engine/device/device.h"

#include <stdio.h>

static uint64_t print_sum_of(const fnzi_pln_plan *plan, const uint32_t *values, uint32_t count) {
  uint64_t sum = 0;
  for (uint32_t k = 0; k < count; k++)
    sum += fnzi_pln_map_bytes(plan->locations[values[k]].map);
  return sum;
}

static const char *target_of(const fnzi_stp_binding *b, size_t step) {
  uint32_t node = b->thunks.data[step].node;
  return node == FNZI_PLN_NONE ? "copy" : fnzi_node_target(fnzi_node_at(b->program, 0, node));
}

static const char *why_of(const fnzi_stp_binding *b, size_t step) {
  const char *why = b->device->works[step].why;
  return why ? why : "nothing of a GPU computes it";
}

/* Sums over the steps: bytes, launches. */
typedef struct sums {
  uint64_t to_host, to_device, at_end;
  size_t on_device, launches;
} sums;

static sums sums_of(const fnzi_stp_binding *b) {
  const fnzi_dev_binding *d = b->device;
  sums s = {0};
  for (size_t i = 0; i < b->thunks.count; i++) {
    s.on_device += d->works[i].on_device;
    s.launches += d->works[i].nlaunches;
    if (!d->has_device_steps || !d->schedule.steps[i].on_host)
      continue;
    const fnzi_dev_placement *w = &d->schedule.steps[i];
    s.to_host += print_sum_of(&b->plan, w->values, w->before);
    s.to_device += print_sum_of(&b->plan, w->values + w->before, w->after);
  }
  for (uint32_t k = 0; d->has_device_steps && k < d->schedule.noutputs; k++)
    s.at_end += fnzi_pln_map_bytes(b->plan.outputs[d->schedule.outputs[k]].map);
  return s;
}

/* --- Text ------------------------------------------------------------------------------------- */
static fnz_status put_values(fnz_context *ctx, const fnzi_pln_plan *plan, const uint32_t *values,
                             uint32_t count, fnz_buffer *out) {
  const fnzi_graph *g = fnzi_graph_main(plan->program);
  for (uint32_t k = 0; k < count; k++)
    FNZ_TRY(fnzi_printf(ctx, out, "%s %%%s", k ? "," : "", g->values.data[values[k]].name));
  return count ? fnzi_printf(ctx, out, " (%llu B)",
                             (unsigned long long)print_sum_of(plan, values, count))
               : fnzi_put_text(ctx, out, " nothing");
}

static fnz_status print_launches(fnz_context *ctx, const fnzi_stp_binding *b, size_t step,
                                 fnz_buffer *out) {
  const fnzi_dev_work *work = &b->device->works[step];
  for (uint32_t k = 0; k < work->nlaunches; k++) {
    const fnzi_dev_launch *l = &work->launches[k];
    if (l->count == 0)
      continue;
    FNZ_TRY(fnzi_printf(ctx, out, "step %-4zu %s on the GPU: ", step, target_of(b, step)));
    if (l->call) {
      FNZ_TRY(fnzi_printf(ctx, out, "%s\n", work->library));
      continue;
    }
    const fnzi_cuda_function *f = &b->device->program.kernels[l->kernel];
    FNZ_TRY(fnzi_printf(ctx, out, "k%u, %lld x %u threads", (unsigned)l->kernel,
                        (long long)fnzi_cuda_blocks(b->device->device, f, l->count),
                        (unsigned)f->threads));
    if (f->figures.known) {
      FNZ_TRY(fnzi_printf(ctx, out, ", %u registers", (unsigned)f->figures.registers));
      if (f->figures.shared)
        FNZ_TRY(fnzi_printf(ctx, out, ", %llu B shared", (unsigned long long)f->figures.shared));
      if (f->figures.stack)
        FNZ_TRY(fnzi_printf(ctx, out, ", %u B of stack", (unsigned)f->figures.stack));
    }
    FNZ_TRY(work->library ? fnzi_printf(ctx, out, " (%s)\n", work->library)
                          : fnzi_put_text(ctx, out, "\n"));
  }
  return FNZ_OK;
}

static fnz_status print_host(fnz_context *ctx, const fnzi_stp_binding *b, size_t step,
                             fnz_buffer *out) {
  FNZ_TRY(fnzi_printf(ctx, out, "step %-4zu %s on the CPU (%s)", step, target_of(b, step),
                      why_of(b, step)));
  if (b->device->has_device_steps) {
    const fnzi_dev_placement *w = &b->device->schedule.steps[step];
    FNZ_TRY(fnzi_put_text(ctx, out, ":"));
    FNZ_TRY(put_values(ctx, &b->plan, w->values, w->before, out));
    FNZ_TRY(fnzi_put_text(ctx, out, " there,"));
    FNZ_TRY(put_values(ctx, &b->plan, w->values + w->before, w->after, out));
    FNZ_TRY(fnzi_put_text(ctx, out, " back"));
  }
  return fnzi_put_text(ctx, out, "\n");
}

fnz_status fnzi_dev_print(fnz_context *ctx, const fnzi_stp_binding *b, fnz_buffer *out) {
  for (size_t i = 0; i < b->thunks.count; i++)
    FNZ_TRY(b->device->works[i].on_device ? print_launches(ctx, b, i, out)
                                          : print_host(ctx, b, i, out));
  const fnzi_dev_binding *d = b->device;
  const sums s = sums_of(b);
  FNZ_TRY(fnzi_printf(ctx, out, "for sm_%d%d: ", d->device->major, d->device->minor));
  if (!d->has_device_steps)
    return fnzi_put_text(ctx, out, "no step runs on the device; nothing is copied\n");
  FNZ_TRY(fnzi_printf(ctx, out,
                      "%zu of %zu steps on the device, by %zu launches of %zu kernels; copied to "
                      "the CPU %llu B, back %llu B, at the end %llu B\n",
                      s.on_device, b->thunks.count, s.launches, d->program.count,
                      (unsigned long long)s.to_host, (unsigned long long)s.to_device,
                      (unsigned long long)s.at_end));
  if (d->device->nvrtc.library)
    return FNZ_OK;
  return fnzi_put_text(ctx, out,
                       "registers are not known, for no NVRTC was found that makes code for it\n");
}

/* --- JSON ------------------------------------------------------------------------------------- */
static void json_launch(fnzi_json_out *w, const fnzi_stp_binding *b, size_t step,
                        const fnzi_dev_launch *l) {
  const char *by = b->device->works[step].library;
  char name[16];
  fnzi_json_open(w, '{');
  fnzi_json_out_count(w, "step", step);
  if (l->call) {
    fnzi_json_out_text(w, "library", by);
    fnzi_json_close(w, '}');
    return;
  }
  const fnzi_cuda_function *f = &b->device->program.kernels[l->kernel];
  snprintf(name, sizeof name, "k%u", (unsigned)l->kernel);
  fnzi_json_out_text(w, "kernel", name);
  fnzi_json_out_number(w, "blocks", fnzi_cuda_blocks(b->device->device, f, l->count));
  fnzi_json_out_count(w, "threads", f->threads);
  if (f->figures.known) {
    fnzi_json_out_count(w, "registers", f->figures.registers);
    fnzi_json_out_count(w, "shared", f->figures.shared);
    fnzi_json_out_count(w, "stack", f->figures.stack);
  }
  if (by)
    fnzi_json_out_text(w, "by", by);
  fnzi_json_close(w, '}');
}

void fnzi_dev_print_json(fnzi_json_out *w, const fnzi_stp_binding *b) {
  const fnzi_dev_binding *d = b->device;
  char kind[32];
  snprintf(kind, sizeof kind, "sm_%d%d", d->device->major, d->device->minor);
  fnzi_json_out_text(w, "gpu", kind);
  fnzi_json_open_lines(w, "launches", '[', 4, FNZI_JSON_AFTER);
  for (size_t i = 0; i < b->thunks.count; i++)
    for (uint32_t k = 0; k < d->works[i].nlaunches; k++)
      if (d->works[i].launches[k].count)
        json_launch(w, b, i, &d->works[i].launches[k]);
  fnzi_json_close(w, ']');
  fnzi_json_open_lines(w, "on_cpu", '[', 4, FNZI_JSON_AFTER);
  for (size_t i = 0; i < b->thunks.count; i++) {
    const fnzi_dev_placement none = {0},
                             *there = d->has_device_steps ? &d->schedule.steps[i] : &none;
    if (d->works[i].on_device)
      continue;
    fnzi_json_open(w, '{');
    fnzi_json_out_count(w, "step", i);
    fnzi_json_out_text(w, "why", why_of(b, i));
    fnzi_json_out_count(w, "to_cpu", print_sum_of(&b->plan, there->values, there->before));
    fnzi_json_out_count(w, "to_device",
                        print_sum_of(&b->plan, there->values + there->before, there->after));
    fnzi_json_close(w, '}');
  }
  fnzi_json_close(w, ']');
  fnzi_json_out_count(w, "to_cpu_at_end", sums_of(b).at_end);
}
