/* device_tell.c - which steps of a plan the CPU computes for a GPU, and what is copied for them. */
#include "engine/device_tell.h"

static uint64_t bytes_of(const fnz_geometry *map) {
  return (uint64_t)fnzi_krn_stride_bytes(fnz_geometry_numel(map), fnzi_dtype(map->dtype)->bytes);
}

static fnz_status put_values(fnz_context *ctx, const fnzi_eng_plan *plan, const uint32_t *values,
                             uint32_t count, fnz_buffer *out, uint64_t *bytes) {
  const fnzi_graph *g = fnzi_graph_at(plan->program, 0);
  uint64_t sum = 0;
  for (uint32_t k = 0; k < count; k++) {
    FNZ_TRY(fnzi_printf(ctx, out, "%s %%%s", k ? "," : "", g->values.data[values[k]].name));
    sum += bytes_of(plan->places[values[k]].map);
  }
  *bytes += sum;
  return count ? fnzi_printf(ctx, out, " (%llu B)", (unsigned long long)sum)
               : fnzi_put_text(ctx, out, " nothing");
}

static fnz_status put_target(fnz_context *ctx, const fnzi_eng_plan *plan, size_t step,
                             fnz_buffer *out) {
  const fnzi_graph *g = fnzi_graph_at(plan->program, 0);
  uint32_t node = plan->steps.data[step].node;
  return fnzi_printf(ctx, out, "step %-4zu %s on the CPU:", step,
                     fnzi_node_target(&g->nodes.data[node]));
}

fnz_status fnzi_eng_device_tell(fnz_context *ctx, const fnzi_eng_plan *plan,
                                const fnzi_eng_route *route, fnz_buffer *out) {
  uint64_t there = 0, back = 0, end = 0;
  size_t steps = 0;
  for (size_t i = 0; i < plan->steps.count; i++) {
    const fnzi_eng_where *w = &route->steps[i];
    steps += !w->on_host;
    if (!w->on_host)
      continue;
    FNZ_TRY(put_target(ctx, plan, i, out));
    FNZ_TRY(put_values(ctx, plan, w->values, w->before, out, &there));
    FNZ_TRY(fnzi_put_text(ctx, out, " there,"));
    FNZ_TRY(put_values(ctx, plan, w->values + w->before, w->after, out, &back));
    FNZ_TRY(fnzi_put_text(ctx, out, " back\n"));
  }
  for (uint32_t k = 0; k < route->noutputs; k++)
    end += bytes_of(plan->outputs[route->outputs[k]].map);
  return fnzi_printf(ctx, out,
                     "on the device %zu of %zu steps; copied to the CPU %llu B, back %llu B, at "
                     "the end %llu B\n",
                     steps, plan->steps.count, (unsigned long long)there, (unsigned long long)back,
                     (unsigned long long)end);
}

/* --- JSON ---------------------------------------------------------------------------------------
 */
static uint64_t sum_of(const fnzi_eng_plan *plan, const uint32_t *values, uint32_t count) {
  uint64_t sum = 0;
  for (uint32_t k = 0; k < count; k++)
    sum += bytes_of(plan->places[values[k]].map);
  return sum;
}

fnz_status fnzi_eng_device_tell_json(fnz_context *ctx, const fnzi_eng_plan *plan,
                                     const fnzi_eng_route *route, fnz_buffer *out) {
  bool any = false;
  FNZ_TRY(fnzi_put_text(ctx, out, "  \"on_cpu\": ["));
  for (size_t i = 0; i < plan->steps.count; i++) {
    const fnzi_eng_where *w = &route->steps[i];
    if (!w->on_host)
      continue;
    FNZ_TRY(fnzi_printf(ctx, out, "%s\n    {\"step\": %zu, \"to_cpu\": %llu, \"to_device\": %llu}",
                        any ? "," : "", i, (unsigned long long)sum_of(plan, w->values, w->before),
                        (unsigned long long)sum_of(plan, w->values + w->before, w->after)));
    any = true;
  }
  return fnzi_put_text(ctx, out, "],\n");
}

/* As the engine decides it when it compiles the program. */
fnz_status fnzi_eng_device_route(fnzi_arena *arena, const fnzi_eng_plan *plan,
                                 fnzi_eng_route *out) {
  bool *device, *stays;
  FNZI_NEW(arena, plan->steps.count, &device);
  FNZI_NEW(arena, plan->noutputs, &stays);
  for (size_t i = 0; i < plan->steps.count; i++)
    device[i] = fnzi_eng_step_has_text(plan, &plan->steps.data[i]);
  for (uint32_t k = 0; k < plan->noutputs; k++)
    stays[k] = plan->outputs[k].buffer != FNZI_ENG_NONE &&
               plan->buffers.data[plan->outputs[k].buffer].kind == FNZI_ENG_STATE &&
               fnzi_output_is_mutation(&plan->program->outputs[k]);
  return fnzi_eng_route_find(arena, plan, device, stays, out);
}
