/* values.c - the values of a graph and the index of their names.
 *
 * A program may have millions of values, so the index is a table of 8-byte slots with open
 * addressing: 32 bits of the name's hash and one more than the value's number, 0 for an empty slot.
 * The names themselves are in the arena.
 *
 * Fresh names are counted, so they differ from each other without being looked up; they stay out of
 * the index until a name is given that could be one of them. */
#include "program/state_io.h"

/* --- names ----------------------------------------------------------------------------------- */
static size_t first_slot(const fnzi_names *names, uint32_t h) {
  return (h ^ h >> 15) & (names->capacity - 1);
}

static bool has_name(const fnzi_graph *g, uint64_t slot, uint32_t h, const char *name,
                     size_t size) {
  if (slot >> 32 != h)
    return false;
  const char *other = g->values.data[(slot & UINT32_MAX) - 1].name;
  return strncmp(other, name, size) == 0 && other[size] == 0;
}

/* The slot of the name, or the empty slot for it. */
static uint64_t *find_slot(const fnzi_graph *g, const char *name, size_t size, uint32_t h) {
  size_t at = first_slot(&g->names, h);
  while (g->names.slots[at] && !has_name(g, g->names.slots[at], h, name, size))
    at = (at + 1) & (g->names.capacity - 1);
  return &g->names.slots[at];
}

static fnz_status grow(fnz_context *ctx, fnzi_names *names, size_t count) {
  fnzi_names wider = *names;
  wider.capacity = names->capacity ? names->capacity * 2 : 16;
  if (count < names->capacity - names->capacity / 4 && names->capacity)
    return FNZ_OK;
  size_t bytes = wider.capacity * sizeof *wider.slots;
  wider.slots = fnzi_resize(ctx, NULL, 0, bytes);
  if (!wider.slots)
    return fnzi_no_memory(ctx);
  memset(wider.slots, 0, bytes);
  for (size_t i = 0; i < names->capacity; i++) {
    if (!names->slots[i])
      continue;
    size_t at = first_slot(&wider, (uint32_t)(names->slots[i] >> 32));
    while (wider.slots[at])
      at = (at + 1) & (wider.capacity - 1);
    wider.slots[at] = names->slots[i];
  }
  fnzi_names_free(ctx, names);
  *names = wider;
  return FNZ_OK;
}

void fnzi_names_free(fnz_context *ctx, fnzi_names *names) {
  fnzi_free(ctx, names->slots, names->capacity * sizeof *names->slots);
  *names = (fnzi_names){0};
}

/* One more than the value's number, 0 when the name is not in the index. */
static uint64_t indexed(const fnz_context *ctx, const fnzi_graph *g, const char *name,
                        size_t size) {
  return g->names.capacity
             ? *find_slot(g, name, size, (uint32_t)fnzi_hash(ctx, name, size)) & UINT32_MAX
             : 0;
}

bool fnzi_value_find(const fnz_program *p, uint32_t graph, const char *name, size_t size,
                     uint64_t *out) {
  const fnzi_graph *g = fnzi_graph_at(p, graph);
  uint64_t found = indexed(p->ctx, g, name, size);
  for (size_t i = g->names.count; !found && i < g->values.count; i++)
    if (strncmp(g->values.data[i].name, name, size) == 0 && !g->values.data[i].name[size])
      found = i + 1;
  if (found)
    *out = found - 1;
  return found != 0;
}

/* "add_1" may be the stem of a name, or a name of the stem "add". */
static bool ends_in_number(const char *stem, size_t size) {
  size_t digits = 0;
  while (digits < size && stem[size - digits - 1] >= '0' && stem[size - digits - 1] <= '9')
    digits++;
  return digits && digits < size && stem[size - digits - 1] == '_';
}

/* Puts the names that are not there yet into the index, with room for one more. */
static fnz_status index_all(fnz_context *ctx, fnzi_graph *g) {
  for (; g->names.count < g->values.count; g->names.count++) {
    const char *name = g->values.data[g->names.count].name;
    size_t size = strlen(name);
    uint32_t h = (uint32_t)fnzi_hash(ctx, name, size);
    FNZ_TRY(grow(ctx, &g->names, g->names.count));
    g->names.numbered = g->names.numbered || ends_in_number(name, size);
    *find_slot(g, name, size, h) = (uint64_t)h << 32 | (g->names.count + 1);
  }
  return grow(ctx, &g->names, g->names.count);
}

/* --- adding ---------------------------------------------------------------------------------- */
/* The name is copied. */
static fnz_status push_value(fnz_program *p, fnzi_graph *g, const char *name, size_t size,
                             fnzi_value *value, uint32_t *out) {
  if (g->values.count >= INT32_MAX)
    return fnzi_fail(p->ctx, FNZ_CLASS_LIMIT, NULL, "a graph of more than 2^31 - 1 values");
  FNZ_TRY(fnzi_arena_string(&p->arena, name, size, &value->name));
  *out = (uint32_t)g->values.count;
  FNZI_PUSH(p->ctx, &g->values, *value);
  return FNZ_OK;
}

fnz_status fnzi_value_add(fnz_program *p, uint32_t graph, const char *name,
                          const fnz_geometry *geometry, uint32_t node, uint32_t *out) {
  fnzi_graph *g = fnzi_graph_at(p, graph);
  fnzi_value value = {.geometry = geometry, .node = node};
  size_t size = strlen(name);
  FNZ_TRY(index_all(p->ctx, g));
  if (size > p->ctx->limits.string)
    return fnzi_fail(p->ctx, FNZ_CLASS_LIMIT, NULL, "a name of %zu bytes; at most %zu are allowed",
                     size, p->ctx->limits.string);
  if (indexed(p->ctx, g, name, size))
    return fnzi_fail(p->ctx, FNZ_CLASS_DUPLICATE, NULL, "value %%%s is defined twice", name);
  FNZ_TRY(push_value(p, g, name, size, &value, out));
  return index_all(p->ctx, g);
}

/* --- fresh names ----------------------------------------------------------------------------- */
/* "stem_number", without a number for 0. */
static size_t append_number(char *text, size_t stem_size, uint64_t number) {
  char digits[24];
  size_t count = 0, size = stem_size;
  for (uint64_t rest = number; rest; rest /= 10)
    digits[count++] = (char)('0' + rest % 10);
  if (number)
    text[size++] = '_';
  while (count)
    text[size++] = digits[--count];
  text[size] = 0;
  return size;
}

static fnz_status find_counter(fnz_program *p, fnzi_graph *g, const char *stem, size_t size,
                               fnzi_counter **out) {
  const unsigned sum = size ? (unsigned char)stem[0] + (unsigned char)stem[size / 2] : 0;
  uint32_t *recent = &g->recent_stems[(size + sum) % FNZI_RECENT];
  uint64_t found;
  *out = *recent ? &g->counters.data[*recent - 1] : NULL;
  if (*out && (*out)->size == size && memcmp((*out)->stem, stem, size) == 0)
    return FNZ_OK;
  fnzi_counter counter = {NULL, size, 0};
  if (!fnzi_map_get(&g->stems, stem, size, &found)) {
    FNZ_TRY(fnzi_arena_string(&p->arena, stem, size, &counter.stem));
    found = g->counters.count;
    FNZI_PUSH(p->ctx, &g->counters, counter);
    FNZ_TRY(fnzi_map_set(&g->stems, counter.stem, size, found));
  }
  *recent = (uint32_t)found + 1;
  *out = &g->counters.data[found];
  return FNZ_OK;
}

enum { FRESH_BYTES = 256, NUMBER_BYTES = 24 };

fnz_status fnzi_value_add_fresh(fnz_program *p, uint32_t graph, const char *stem,
                                const fnz_geometry *geometry, uint32_t node, uint32_t *out) {
  fnzi_graph *g = fnzi_graph_at(p, graph);
  fnzi_value value = {.geometry = geometry, .node = node};
  char text[FRESH_BYTES];
  size_t stem_size = strlen(stem), size;
  /* Long stems are cut, but not inside a character. */
  if (stem_size > FRESH_BYTES - NUMBER_BYTES)
    for (stem_size = FRESH_BYTES - NUMBER_BYTES;
         stem_size && ((unsigned char)stem[stem_size] & 0xc0) == 0x80;)
      stem_size--;
  memcpy(text, stem, stem_size);
  fnzi_counter *counter;
  bool ambiguous = ends_in_number(text, stem_size);
  if (ambiguous)
    FNZ_TRY(index_all(p->ctx, g));
  FNZ_TRY(find_counter(p, g, text, stem_size, &counter));
  do
    size = append_number(text, stem_size, counter->next++);
  while ((size == stem_size || g->names.numbered) && indexed(p->ctx, g, text, size));
  FNZ_TRY(push_value(p, g, text, size, &value, out));
  return ambiguous ? index_all(p->ctx, g) : FNZ_OK;
}

fnz_status fnzi_values_index(fnz_program *p, uint32_t graph) {
  fnzi_graph *g = fnzi_graph_at(p, graph);
  fnzi_names_free(p->ctx, &g->names);
  return index_all(p->ctx, g);
}

/* --- dropping --------------------------------------------------------------------------------- */
static void move_references(const fnz_arg *args, uint32_t count, const uint32_t *indices) {
  FNZI_EACH_ARG(each, args, count)
    if (fnzi_is_reference(each.arg))
      ((fnz_arg *)(uintptr_t)each.arg)->u.value = indices[each.arg->u.value];
}

static fnz_status drop(fnz_program *p, fnzi_graph *g, fnzi_arena *scratch, const bool *gone) {
  uint32_t *indices;
  bool *unsaid;
  size_t kept = 0;
  FNZI_NEW(scratch, g->values.count, &indices);
  FNZI_NEW(scratch, g->values.count, &unsaid);
  for (size_t v = 0; v < g->values.count; v++)
    kept += !gone[v];
  /* The last values move to the indices of dropped values, so that most values keep their index. */
  size_t free = 0;
  for (size_t v = 0; v < g->values.count; v++) {
    indices[v] = (uint32_t)v;
    if (v < kept || gone[v])
      continue;
    while (!gone[free])
      free++;
    indices[v] = (uint32_t)free++;
  }
  for (size_t i = 0; i < g->unsaid.count; i++)
    unsaid[indices[g->unsaid.data[i]]] |= !gone[g->unsaid.data[i]];
  for (size_t v = 0; v < g->values.count; v++)
    if (!gone[v])
      g->values.data[indices[v]] = g->values.data[v];
  for (size_t n = 0; n < g->nodes.count; n++) {
    const fnzi_node *node = &g->nodes.data[n];
    move_references(node->args, node->nargs, indices);
    move_references(node->outputs, node->noutputs, indices);
  }
  move_references(g->inputs, g->ninputs, indices);
  move_references(g->outputs, g->noutputs, indices);
  g->values.count = kept;
  g->unsaid.count = 0;
  for (size_t v = 0; v < kept; v++)
    if (unsaid[v])
      FNZI_PUSH(p->ctx, &g->unsaid, (uint32_t)v);
  return FNZ_OK;
}

fnz_status fnzi_values_drop(fnz_program *p, uint32_t graph, const bool *gone) {
  fnzi_arena scratch;
  fnzi_arena_init(&scratch, p->ctx);
  fnz_status status = drop(p, fnzi_graph_at(p, graph), &scratch, gone);
  fnzi_arena_free(&scratch);
  return status == FNZ_OK ? fnzi_values_index(p, graph) : status;
}

/* --- where values lie ------------------------------------------------------------------------- */
fnz_status fnzi_value_unsaid(fnz_program *p, uint32_t graph, uint32_t value) {
  FNZI_PUSH(p->ctx, &fnzi_graph_at(p, graph)->unsaid, value);
  return FNZ_OK;
}

bool fnzi_value_is_unsaid(const fnzi_graph *graph, uint32_t value) {
  size_t low = 0, high = graph->unsaid.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (graph->unsaid.data[middle] < value)
      low = middle + 1;
    else
      high = middle;
  }
  return low < graph->unsaid.count && graph->unsaid.data[low] == value;
}
