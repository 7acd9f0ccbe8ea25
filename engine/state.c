/* state.c - the memory of parameters and buffers that a program changes. */
#include "engine/engine.h"
#include "engine/pool.h"

#include <stdio.h>

static const fnz_geometry *layout_of(const fnz_executable *exe, uint32_t k) {
  const fnzi_stp_input *in = &exe->inputs[k];
  return in->weight ? in->weight->geometry
                    : fnzi_graph_main(exe->program)
                          ->values.data[fnzi_graph_main(exe->program)->inputs[k].u.value]
                          .geometry;
}

/* Copies values of the device to the CPU, if they are newer. */
static fnz_status bring_down(fnz_context *ctx, const fnz_executable_state *s) {
  return s->device ? s->exe->gpu->state_down(ctx, s) : FNZ_OK;
}

/* --- Making and ending ------------------------------------------------------------------------ */
static fnz_status state_open(const fnz_executable *exe, fnz_context *ctx,
                             fnz_executable_state **out) {
  fnz_context *own;
  void *created;
  *out = NULL;
  FNZ_TRY(fnzi_eng_with_context(ctx, &exe->ctx->allocator, sizeof **out, &own, &created));
  *out = created;
  (*out)->exe = exe;
  (*out)->ctx = own;
  fnzi_arena_init(&(*out)->arena, own);
  return FNZ_OK;
}

static fnz_status make_tables(fnz_executable_state *s) {
  uint32_t count = fnzi_graph_main(s->exe->program)->ninputs;
  FNZI_NEW(&s->arena, count, &s->starts);
  FNZI_NEW(&s->arena, count, &s->extents);
  FNZI_NEW(&s->arena, count, &s->bytes);
  FNZI_NEW(&s->arena, count, &s->has_values);
  for (uint32_t k = 0; k < count; k++) {
    size_t bytes, *most = &s->extents[s->exe->inputs[k].memory];
    if (!s->exe->inputs[k].in_state)
      continue;
    FNZ_TRY(fnzi_stp_extent_bytes(s->ctx, layout_of(s->exe, k), &bytes));
    *most = bytes > *most ? bytes : *most;
  }
  return FNZ_OK;
}

static fnz_status own_memory(fnz_executable_state *s, uint32_t memory, unsigned char **out) {
  const size_t bytes = s->extents[memory];
  *out = fnzi_resize(s->ctx, NULL, 0, bytes + FNZI_PLN_ALIGNMENT);
  if (!*out)
    return fnzi_no_memory(s->ctx);
  s->bytes[memory] = bytes + FNZI_PLN_ALIGNMENT;
  memset(*out, 0, bytes + FNZI_PLN_ALIGNMENT);
  /* Initial values of all windows of a memory. */
  for (uint32_t k = memory; k < fnzi_graph_main(s->exe->program)->ninputs; k++) {
    const fnzi_stp_input *in = &s->exe->inputs[k];
    const fnz_geometry *g = layout_of(s->exe, k);
    if (in->memory != memory || !in->in_state || !in->weight)
      continue;
    fnzi_stp_elements_move(g, in->copy ? in->copy : fnzi_blob_data(in->weight->blob), g, *out);
  }
  return FNZ_OK;
}

/* Returns the window of slot i in CPU memory, if it has any. */
static fnz_memory window_of(const fnz_executable_state *s, size_t i) {
  uint32_t k = s->exe->slots[FNZ_SIDE_STATE].data[i].input;
  const fnz_geometry *g = layout_of(s->exe, k);
  int64_t past = fnzi_krn_stride_bytes(g->offset, fnzi_dtype(g->dtype)->bytes);
  return (fnz_memory){s->starts[k] ? s->starts[k] + past : NULL, g};
}

static fnz_status make_own(fnz_executable_state *s) {
  FNZ_TRY(make_tables(s));
  for (uint32_t k = 0; k < fnzi_graph_main(s->exe->program)->ninputs; k++) {
    uint32_t memory = s->exe->inputs[k].memory;
    if (!s->exe->inputs[k].in_state)
      continue;
    if (!s->starts[memory])
      FNZ_TRY(own_memory(s, memory, &s->starts[memory]));
    s->starts[k] = s->starts[memory];
    s->has_values[k] = s->exe->inputs[k].weight != NULL;
  }
  return FNZ_OK;
}

static fnz_status make_over(fnz_executable_state *s, const fnz_memory *memories) {
  FNZ_TRY(make_tables(s));
  for (size_t i = 0; i < s->exe->slots[FNZ_SIDE_STATE].count; i++) {
    uint32_t k = s->exe->slots[FNZ_SIDE_STATE].data[i].input, memory = s->exe->inputs[k].memory;
    const fnz_geometry *g = layout_of(s->exe, k), *has = memories[i].geometry;
    bool fits = memories[i].data && (!has || (has->dtype == g->dtype && fnzi_same_sizes(has, g)));
    for (uint32_t d = 0; fits && has && d < has->rank; d++)
      fits = has->sizes[d] == 1 || has->strides[d] == g->strides[d];
    if (!fits && fnz_geometry_numel(g) != 0)
      return fnzi_fail(s->ctx, FNZ_CLASS_BOUNDS, s->exe->inputs[k].name,
                       "the memory given is not of the recorded type, sizes and strides");
    unsigned char *start = (unsigned char *)memories[i].data -
                           fnzi_krn_stride_bytes(g->offset, fnzi_dtype(g->dtype)->bytes);
    if (s->starts[memory] && s->starts[memory] != start)
      return fnzi_fail(s->ctx, FNZ_CLASS_OVERLAP, s->exe->inputs[k].name,
                       "it shares memory by the signature, but not in what is given");
    s->starts[memory] = s->starts[k] = start;
  }
  for (uint32_t k = 0; k < fnzi_graph_main(s->exe->program)->ninputs; k++)
    if (s->exe->inputs[k].in_state) {
      s->starts[k] = s->starts[s->exe->inputs[k].memory];
      s->has_values[k] = true;
    }
  return FNZ_OK;
}

static fnz_status done(fnz_context *ctx, fnz_executable_state *s, fnz_status status,
                       fnz_executable_state **out) {
  if (status == FNZ_OK) {
    *out = s;
    return FNZ_OK;
  }
  ctx->error = s->ctx->error;
  ctx->reason = s->ctx->reason;
  fnz_executable_state_destroy(s);
  *out = NULL;
  return status;
}

fnz_status fnz_executable_state_create(fnz_context *ctx, const fnz_executable *exe,
                                       fnz_executable_state **out) {
  fnz_executable_state *s;
  FNZ_TRY(fnzi_eng_check_files(exe, ctx));
  FNZ_TRY(state_open(exe, ctx, out));
  s = *out;
  fnz_status status = make_own(s);
  return done(ctx, s, status == FNZ_OK && exe->gpu ? exe->gpu->state_make(s, false) : status, out);
}

/* Starts a state over device memory: with a CPU copy that is updated after each run, or only on the
 * device. */
static fnz_status over_device(fnz_executable_state *s) {
  if (!s->exe->staging)
    return s->exe->gpu->state_make(s, true);
  FNZ_TRY(s->exe->gpu->state_make(s, false));
  s->device->caller_on_host = true;
  return FNZ_OK;
}

fnz_status fnz_executable_state_over(fnz_context *ctx, const fnz_executable *exe,
                                     const fnz_memory *memories, fnz_executable_state **out) {
  fnz_executable_state *s;
  FNZ_TRY(state_open(exe, ctx, out));
  s = *out;
  fnz_status status = make_over(s, memories);
  if (status == FNZ_OK && exe->device)
    status = over_device(s);
  return done(ctx, s, status, out);
}

/* --- In memory of another state --------------------------------------------------------------- */
static fnz_status check_filled(fnz_context *ctx, const fnz_executable_state *s) {
  for (uint32_t k = 0; k < fnzi_graph_main(s->exe->program)->ninputs; k++)
    if (s->exe->inputs[k].in_state && !s->has_values[k])
      return fnzi_fail(ctx, FNZ_CLASS_REF, s->exe->inputs[k].name,
                       "the file has no elements of it; a state has all before it is shared");
  return FNZ_OK;
}

/* Hands the state's memory to its pool, with the names that are not there yet. */
static fnz_status fill_pool(fnz_context *ctx, fnz_executable_state *s) {
  for (uint32_t k = 0; k < fnzi_graph_main(s->exe->program)->ninputs; k++) {
    const fnzi_stp_input *in = &s->exe->inputs[k];
    if (!in->in_state)
      continue;
    if (s->bytes[k]) {
      FNZ_TRY(fnzi_eng_pool_own(ctx, s->pool, s->ctx, s->starts[k], s->bytes[k]));
      s->bytes[k] = 0;
    }
    const fnzi_eng_pooled item = {in->name, *layout_of(s->exe, k), s->starts[k],
                                  s->extents[in->memory]};
    if (in->name && !fnzi_eng_pool_find(s->pool, in->name))
      FNZ_TRY(fnzi_eng_pool_add(ctx, s->pool, &item));
  }
  return FNZ_OK;
}

/* Takes the memory that the pool has for input k. */
static fnz_status find_pooled(fnz_executable_state *s, uint32_t k) {
  const fnzi_stp_input *in = &s->exe->inputs[k];
  const fnzi_eng_pooled *item = in->name ? fnzi_eng_pool_find(s->pool, in->name) : NULL;
  if (!in->in_state || !item)
    return FNZ_OK;
  const fnz_geometry *expected = layout_of(s->exe, k), *has = &item->geometry;
  if (!fnzi_geometry_equal(expected, has) || s->extents[in->memory] > item->extent) {
    char here[FNZI_SHAPE_TEXT], there[FNZI_SHAPE_TEXT];
    fnzi_shape_text(expected, here);
    fnzi_shape_text(has, there);
    return fnzi_fail(s->ctx, expected->dtype == has->dtype ? FNZ_CLASS_BOUNDS : FNZ_CLASS_TYPE,
                     item->name, "it is %s here and %s in the other state, or has other strides",
                     here, there);
  }
  if (s->starts[in->memory] && s->starts[in->memory] != item->start)
    return fnzi_fail(s->ctx, FNZ_CLASS_OVERLAP, in->name,
                     "it shares memory here, but not in the other state");
  s->starts[in->memory] = item->start;
  return FNZ_OK;
}

static fnz_status make_beside(fnz_executable_state *s) {
  const uint32_t count = fnzi_graph_main(s->exe->program)->ninputs;
  FNZ_TRY(make_tables(s));
  for (uint32_t k = 0; k < count; k++)
    FNZ_TRY(find_pooled(s, k));
  for (uint32_t k = 0; k < count; k++) {
    const fnzi_stp_input *in = &s->exe->inputs[k];
    if (!in->in_state)
      continue;
    bool is_there = s->starts[in->memory] && !s->bytes[in->memory];
    if (!s->starts[in->memory])
      FNZ_TRY(own_memory(s, in->memory, &s->starts[in->memory]));
    s->starts[k] = s->starts[in->memory];
    s->has_values[k] = is_there || in->weight;
    for (uint32_t i = 0; i < k; i++)
      if (s->exe->inputs[i].in_state && s->exe->inputs[i].memory != in->memory &&
          s->extents[in->memory] && s->starts[i] == s->starts[k])
        return fnzi_fail(s->ctx, FNZ_CLASS_OVERLAP, in->name,
                         "it shares memory with %s in the other state, but not here",
                         s->exe->inputs[i].name);
  }
  FNZ_TRY(check_filled(s->ctx, s));
  return fill_pool(s->ctx, s);
}

fnz_status fnz_executable_state_beside(fnz_context *ctx, const fnz_executable *exe,
                                       fnz_executable_state *other, fnz_executable_state **out) {
  fnz_executable_state *s;
  *out = NULL;
  if (!exe->device != !other->exe->device)
    return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL,
                     "one of the executables runs on a GPU and the other one does not");
  if (exe->device && !(exe->staging && other->exe->staging))
    return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "states on a GPU share memory of the caller's: fnz_executable_state_over()");
  FNZ_TRY(check_filled(ctx, other));
  if (other->device) {
    /* Its memory is copied to the CPU's after each run, and back before the next. */
    FNZ_TRY(bring_down(ctx, other));
    other->device->caller_on_host = true;
  }
  if (!other->pool) {
    FNZ_TRY(fnzi_eng_pool_create(ctx, other->ctx, &other->pool));
    FNZ_TRY(fill_pool(ctx, other));
  }
  FNZ_TRY(state_open(exe, ctx, &s));
  s->pool = fnzi_eng_pool_retain(other->pool);
  fnz_status status = make_beside(s);
  if (status == FNZ_OK && exe->device)
    status = over_device(s);
  return done(ctx, s, status, out);
}

void fnz_executable_state_destroy(fnz_executable_state *s) {
  if (!s)
    return;
  fnz_context *ctx = s->ctx;
  if (s->device)
    s->exe->gpu->state_end(s);
  fnzi_eng_pool_release(s->pool);
  for (uint32_t k = 0; s->bytes && k < fnzi_graph_main(s->exe->program)->ninputs; k++)
    if (s->bytes[k])
      fnzi_free(ctx, s->starts[k], s->bytes[k]);
  fnzi_arena_free(&s->arena);
  fnzi_free(ctx, s, sizeof *s);
  fnz_context_destroy(ctx);
}

/* --- By name ---------------------------------------------------------------------------------- */
static bool is_called(const fnz_executable_state *s, size_t i, const char *name) {
  const fnzi_stp_slot *slot = &s->exe->slots[FNZ_SIDE_STATE].data[i];
  const char *target = s->exe->program->inputs[slot->input].target;
  return strcmp(slot->info.name, name) == 0 || (target && strcmp(target, name) == 0);
}

/* Finds a slot by name; SIZE_MAX if there is none. */
static size_t state_find(const fnz_executable_state *s, const char *name) {
  for (size_t i = 0; i < s->exe->slots[FNZ_SIDE_STATE].count; i++)
    if (is_called(s, i, name))
      return i;
  return SIZE_MAX;
}

/* Returns the address of a slot's first element on the device. */
static fnz_memory there(const fnz_executable_state *s, size_t i) {
  uint32_t k = s->exe->slots[FNZ_SIDE_STATE].data[i].input;
  const fnz_geometry *g = layout_of(s->exe, k);
  uint64_t at = s->device->addresses[s->exe->inputs[k].memory];
  at += (uint64_t)fnzi_krn_stride_bytes(g->offset, fnzi_dtype(g->dtype)->bytes);
  return (fnz_memory){(void *)(uintptr_t)at, g};
}

/* Finds memory by name. If the state has staging in CPU memory, the device's memory is copied there
 * after each run from now on, because the caller may read the returned memory. */
fnz_memory fnz_executable_state_find(const fnz_executable_state *s, const char *name) {
  const size_t i = state_find(s, name);
  bool is_there = s->device && !s->exe->staging;
  if (i == SIZE_MAX ||
      (is_there ? s->exe->gpu->state_up(s->ctx, s, true) : bring_down(s->ctx, s)) != FNZ_OK)
    return (fnz_memory){NULL, NULL};
  if (is_there)
    return there(s, i);
  if (s->device)
    s->device->caller_on_host = true;
  return window_of(s, i);
}

static fnz_geometry from_first(const fnz_geometry *g) {
  fnz_geometry window = *g;
  window.offset = 0;
  return window;
}

static fnz_status check_array(const fnz_executable_state *s, fnz_context *ctx, const fnz_array *a,
                              fnz_memory *out) {
  const size_t i = state_find(s, a->name);
  if (i == SIZE_MAX) {
    const fnzi_stp_slots *slots = &s->exe->slots[FNZ_SIDE_STATE];
    char names[200] = ""; /* as many as fit a message */
    for (size_t k = 0; k < slots->count; k++) {
      size_t used = strlen(names);
      snprintf(names + used, sizeof names - used, "%s%s", k ? ", " : "", slots->data[k].info.name);
    }
    return fnzi_fail(ctx, FNZ_CLASS_REF, a->name,
                     slots->count
                         ? "the state has nothing of this name; it has %s"
                         : "the program writes no buffer or parameter, so it has no state%s",
                     names);
  }
  *out = window_of(s, i);
  const fnz_geometry *g = out->geometry,
                     given = {.dtype = a->dtype, .rank = a->rank, .sizes = a->sizes};
  char is[FNZI_SHAPE_TEXT], has[FNZI_SHAPE_TEXT];
  if (a->dtype == g->dtype && fnzi_same_sizes(&given, g))
    return FNZ_OK;
  fnzi_shape_text(g, is);
  fnzi_shape_text(&given, has);
  return fnzi_fail(ctx, a->dtype == g->dtype ? FNZ_CLASS_BOUNDS : FNZ_CLASS_TYPE, a->name,
                   "the state has %s, the array given is %s", is, has);
}

static fnz_status state_check_arrays(const fnz_executable_state *s, fnz_context *ctx,
                                     const fnz_arrays *arrays) {
  const size_t bytes = (s->exe->slots[FNZ_SIDE_STATE].count + 1) * sizeof(char *);
  fnz_memory to;
  for (size_t i = 0; i < fnz_arrays_count(arrays); i++)
    FNZ_TRY(check_array(s, ctx, fnz_arrays_at(arrays, i), &to));
  const char **names = fnzi_resize(ctx, NULL, 0, bytes);
  if (!names)
    return fnzi_no_memory(ctx);
  memset(names, 0, bytes);
  fnz_status status = FNZ_OK;
  for (size_t i = 0; status == FNZ_OK && i < fnz_arrays_count(arrays); i++) {
    const char *name = fnz_arrays_at(arrays, i)->name;
    const char **had = &names[state_find(s, name)]; /* "cache" and "buffer.cache" are one */
    if (*had)
      status = fnzi_fail(ctx, FNZ_CLASS_DUPLICATE, name,
                         "this part of the state is given twice, as %s and as %s; leave one out",
                         *had, name);
    *had = name;
  }
  fnzi_free(ctx, names, bytes);
  return status;
}

fnz_status fnz_executable_state_read(fnz_context *ctx, fnz_executable_state *s,
                                     const fnz_arrays *arrays) {
  fnz_memory to;
  int64_t strides[FNZ_MAX_RANK];
  FNZ_TRY(state_check_arrays(s, ctx, arrays));
  FNZ_TRY(bring_down(ctx, s));
  if (s->device)
    s->device->host_newer = true;
  for (size_t i = 0; i < fnz_arrays_count(arrays); i++) {
    const fnz_array *a = fnz_arrays_at(arrays, i);
    FNZ_TRY(check_array(s, ctx, a, &to));
    fnz_geometry rows = *to.geometry, window = from_first(to.geometry);
    rows.strides = strides;
    rows.offset = 0;
    fnzi_contiguous_strides(rows.sizes, rows.rank, strides);
    fnzi_stp_elements_move(&rows, a->data, &window, to.data);
    for (size_t k = 0; k < s->exe->slots[FNZ_SIDE_STATE].count; k++)
      if (is_called(s, k, a->name))
        s->has_values[s->exe->slots[FNZ_SIDE_STATE].data[k].input] = true;
  }
  return s->device ? s->exe->gpu->state_up(ctx, s, false) : FNZ_OK;
}

fnz_status fnz_executable_state_write(fnz_context *ctx, const fnz_executable_state *s,
                                      fnz_arrays *out) {
  FNZ_TRY(bring_down(ctx, s));
  for (size_t i = 0; i < s->exe->slots[FNZ_SIDE_STATE].count; i++) {
    const fnz_memory from = window_of(s, i);
    void *data;
    FNZ_TRY(fnz_arrays_add(out, s->exe->slots[FNZ_SIDE_STATE].data[i].info.name,
                           from.geometry->dtype, from.geometry->rank, from.geometry->sizes, &data));
    const fnz_geometry window = from_first(from.geometry);
    fnzi_stp_elements_pack(&window, from.data, data);
  }
  return FNZ_OK;
}
