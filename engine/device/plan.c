/* plan.c - which steps of a plan a GPU computes, and which values are copied for the others.
 *
 * needs   a plan, and for which steps there are kernels
 * gives   per CPU step, the values to copy in before it, because the CPU may not have them yet, and
 *         the values that it writes */
#include "engine/device/device.h"
#include "engine/plan/planner.h"

typedef struct scheduler {
  fnzi_arena *arena;
  bool *host_reads;
  const fnzi_pln_plan *plan;
  const fnzi_graph *graph;
  bool *on_host;    /* per value: the CPU's memory has it */
  uint32_t *values; /* of the step at hand: each is read once at most, and written once */
  uint32_t nvalues;
  uint32_t first, last; /* its nodes */
} scheduler;

/* --- Bytes ------------------------------------------------------------------------------------ */
void fnzi_dev_window_bytes(const fnz_geometry *map, int64_t *start, int64_t *bytes, bool *dense) {
  int64_t low = 0, high = 0, cell = (int64_t)fnzi_dtype(map->dtype)->bytes, count = 1;
  for (uint32_t d = 0; d < map->rank; d++)
    if (map->strides[d] != 0)
      count = fnzi_krn_stride_bytes(count, (size_t)map->sizes[d]);
  bool any = fnz_geometry_numel(map) > 0 && fnzi_extent(map, &low, &high);
  *start = fnzi_krn_stride_bytes(low, (size_t)cell);
  *bytes = any ? fnzi_krn_stride_bytes(high - low, (size_t)cell) : 0;
  *dense = !any || count == high - low;
}

/* Returns whether the locations may have a byte in common. */
static bool have_overlap(const fnzi_pln_location *a, const fnzi_pln_location *b) {
  int64_t x, y, nx, ny;
  bool dense;
  if (a->buffer != b->buffer)
    return false;
  fnzi_dev_window_bytes(a->map, &x, &nx, &dense);
  fnzi_dev_window_bytes(b->map, &y, &ny, &dense);
  return x < y + ny && y < x + nx;
}

static bool is_constant(const fnzi_pln_plan *plan, const fnzi_pln_location *p) {
  return plan->buffers.data[p->buffer].kind == FNZI_PLN_CONST;
}

/* --- What the CPU has ------------------------------------------------------------------------- */
/* Returns whether a node of the current step computes the value. */
static bool is_computed_within(const scheduler *r, uint64_t value) {
  for (uint32_t n = r->first; n < r->last; n++) {
    const fnzi_node *node = &r->graph->nodes.data[n];
    for (uint32_t k = 0; k < node->noutputs; k++)
      if (node->outputs[k].tag == FNZ_ARG_VALUE && node->outputs[k].u.value == value)
        return true;
  }
  return false;
}

/* It goes on having it: while a value is read, the bytes of its location that are still needed are
 * its own (plan.h), in either memory. */
static void see_read(scheduler *r, const fnz_arg *arg) {
  if (arg->tag != FNZ_ARG_VALUE || r->on_host[arg->u.value] || is_computed_within(r, arg->u.value))
    return;
  const fnzi_pln_location *p = &r->plan->locations[arg->u.value];
  if (!fnzi_pln_has_memory(r->plan, *p))
    return;
  if (is_constant(r->plan, p)) {
    r->host_reads[p->buffer] = true;
    return;
  }
  r->on_host[arg->u.value] = true;
  r->values[r->nvalues++] = (uint32_t)arg->u.value;
}

/* --- Steps ------------------------------------------------------------------------------------ */
static fnz_status on_host(scheduler *r, const fnzi_pln_step *step, fnzi_dev_placement *placement) {
  const fnzi_node *node = &r->graph->nodes.data[step->last];
  uint32_t *values;
  r->nvalues = 0;
  for (uint32_t n = r->first; n <= r->last; n++)
    FNZI_EACH_ARG(each, r->graph->nodes.data[n].args, r->graph->nodes.data[n].nargs)
      see_read(r, each.arg);
  if (step->in_place && node->noutputs && node->outputs[0].tag == FNZ_ARG_VALUE)
    see_read(r, &node->outputs[0]);
  placement->before = r->nvalues;
  for (uint32_t n = r->first; n <= r->last; n++)
    FNZI_EACH_ARG(each, r->graph->nodes.data[n].outputs, r->graph->nodes.data[n].noutputs)
      if (each.arg->tag == FNZ_ARG_VALUE &&
          fnzi_pln_has_memory(r->plan, r->plan->locations[each.arg->u.value])) {
        r->on_host[each.arg->u.value] = true;
        r->values[r->nvalues++] = (uint32_t)each.arg->u.value;
      }
  placement->after = r->nvalues - placement->before;
  FNZI_NEW(r->arena, r->nvalues, &values);
  if (r->nvalues)
    memcpy(values, r->values, r->nvalues * sizeof *values);
  placement->values = values;
  return FNZ_OK;
}

/* --- The end ---------------------------------------------------------------------------------- */
static fnz_status find_outputs(scheduler *r, const bool *stays, fnzi_dev_schedule *out) {
  FNZI_NEW(r->arena, r->plan->noutputs, &out->outputs);
  for (uint32_t k = 0; k < r->plan->noutputs; k++) {
    const fnzi_pln_location *location = &r->plan->outputs[k];
    const fnz_arg *arg = &r->graph->outputs[k];
    if (!fnzi_pln_has_memory(r->plan, *location))
      continue;
    bool is_there = is_constant(r->plan, location); /* already in the CPU's memory */
    if (is_there)
      r->host_reads[location->buffer] = true;
    else if (arg->tag == FNZ_ARG_VALUE && r->on_host[arg->u.value])
      is_there = fnzi_pln_location_equal(r->plan->locations[arg->u.value], *location);
    if (!stays[k] && !is_there)
      out->outputs[out->noutputs++] = k;
  }
  return FNZ_OK;
}

/* --- What the device needs -------------------------------------------------------------------- */
/* A later step reads, on the device, the bytes of `location`. */
static bool is_read_by(const fnzi_pln_plan *plan, const fnzi_pln_step *step,
                       const fnzi_dev_placement *placement, const fnzi_pln_location *location) {
  const fnzi_graph *g = fnzi_graph_main(plan->program);
  bool found = false;
  if (placement->on_host) {
    for (uint32_t k = 0; k < placement->before && !found; k++)
      found = have_overlap(&plan->locations[placement->values[k]], location);
    return found;
  }
  if (step->kind == FNZI_PLN_MOVE)
    return have_overlap(&step->from, location);
  for (uint32_t n = step->first; n <= step->last && !found; n++)
    FNZI_EACH_ARG(each, g->nodes.data[n].args, g->nodes.data[n].nargs)
      if (each.arg->tag == FNZ_ARG_VALUE) {
        const fnzi_pln_location *p = &plan->locations[each.arg->u.value];
        found = found || (fnzi_pln_has_memory(plan, *p) && have_overlap(p, location));
      }
  return found;
}

/* State is needed at the end, a temporary no longer than the plan says. */
static bool is_needed(const scheduler *r, const fnzi_dev_schedule *schedule, size_t step,
                      uint32_t value) {
  const fnzi_pln_location *location = &r->plan->locations[value];
  const fnzi_pln_buffer *buffer = &r->plan->buffers.data[location->buffer];
  size_t end = r->plan->steps.count;
  if (buffer->kind == FNZI_PLN_TEMP && buffer->last < end)
    end = buffer->last + 1u;
  bool found = buffer->kind == FNZI_PLN_STATE;
  for (size_t i = step + 1; i < end && !found; i++)
    found = is_read_by(r->plan, &r->plan->steps.data[i], &schedule->steps[i], location);
  for (uint32_t k = 0; k < schedule->noutputs && !found; k++)
    found = have_overlap(&r->plan->outputs[schedule->outputs[k]], location);
  return found;
}

fnz_status fnzi_dev_schedule_find(fnzi_arena *arena, const fnzi_pln_plan *plan, const bool *device,
                                  const bool *stays, fnzi_dev_schedule *out) {
  scheduler r = {.arena = arena, .plan = plan, .graph = fnzi_graph_main(plan->program)};
  *out = (fnzi_dev_schedule){.steps = NULL};
  FNZI_NEW(arena, plan->nvalues, &r.on_host);
  FNZI_NEW(arena, plan->nvalues + plan->nvalues, &r.values);
  FNZI_NEW(arena, plan->steps.count, &out->steps);
  FNZI_NEW(arena, plan->buffers.count, &out->host_reads);
  r.host_reads = out->host_reads;
  for (size_t i = 0; i < plan->steps.count; i++) {
    const fnzi_pln_step *step = &plan->steps.data[i];
    r.first = step->first;
    r.last = step->last;
    out->steps[i].on_host = !device[i];
    if (!device[i])
      FNZ_TRY(on_host(&r, step, &out->steps[i]));
  }
  FNZ_TRY(find_outputs(&r, stays, out));
  for (size_t i = 0; i < plan->steps.count; i++) {
    /* Values that only the CPU reads are not copied to the device. */
    fnzi_dev_placement *w = &out->steps[i];
    uint32_t left = 0;
    for (uint32_t k = 0; k < w->after; k++)
      if (is_needed(&r, out, i, w->values[w->before + k]))
        w->values[w->before + left++] = w->values[w->before + k];
    w->after = left;
  }
  return FNZ_OK;
}
