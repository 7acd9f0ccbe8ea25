/* buffers.c - buffers, the values stored in them, and the bytes that a step may overwrite (R2b): no
 * value in the buffer may need them after the step. */
#include "engine/plan/planner.h"

/* Most later uses of a value that are examined one by one. With more uses all of the value counts
 * as needed. */
enum { LATER_USES = 32 };
/* Values in one list of a buffer. */
enum { MOST_TENANTS = 64 };

/* --- Buffers ----------------------------------------------------------------------------- */
fnz_status fnzi_pln_buffer_add(fnzi_pln_planner *p, fnzi_pln_buffer buffer, uint32_t *out) {
  *out = (uint32_t)p->plan->buffers.count;
  buffer.first = FNZI_PLN_NONE;
  buffer.last = 0;
  FNZI_PUSH(p->ctx, &p->plan->buffers, buffer);
  FNZI_PUSH(p->ctx, &p->tenants, ((fnzi_pln_tenants){.head = FNZI_PLN_NONE}));
  return FNZ_OK;
}

fnz_status fnzi_pln_extent_bytes(fnzi_pln_planner *p, uint32_t value, const fnz_geometry *map,
                                 size_t *out) {
  const char *name = p->graph->values.data[value].name;
  int64_t low, high;
  if (fnzi_extent(map, &low, &high) &&
      fnzi_mul_size((size_t)high, fnzi_dtype(map->dtype)->bytes, out))
    return FNZ_OK;
  return fnzi_fail(p->ctx, FNZ_CLASS_OVERFLOW, name, "the memory of %s leaves 63 bits", name);
}

fnz_status fnzi_pln_buffer_for(fnzi_pln_planner *p, uint32_t value, const fnz_geometry *map,
                               uint32_t *out) {
  fnzi_pln_buffer buffer = {.kind = FNZI_PLN_TEMP, .value = value};
  FNZ_TRY(fnzi_pln_extent_bytes(p, value, map, &buffer.bytes));
  return fnzi_pln_buffer_add(p, buffer, out);
}

bool fnzi_pln_buffer_writable(const fnzi_pln_planner *p, uint32_t buffer) {
  return p->plan->buffers.data[buffer].kind != FNZI_PLN_CONST;
}

void fnzi_pln_touch(fnzi_pln_planner *p, uint32_t buffer, uint32_t step) {
  fnzi_pln_buffer *b = &p->plan->buffers.data[buffer];
  if (b->first == FNZI_PLN_NONE)
    b->first = step;
  b->last = step;
}

/* --- Who lies where ---------------------------------------------------------------------- */
/* Finds the cells that a window meets; false: it has no bytes. */
static bool find_cells(const fnzi_pln_tenants *t, const fnz_geometry *map, int64_t *first,
                       int64_t *last) {
  int64_t low, high, bytes = (int64_t)fnzi_dtype(map->dtype)->bytes;
  if (!fnzi_extent(map, &low, &high) || low == high)
    return false;
  *first = low * bytes / t->cell;
  *last = (high * bytes - 1) / t->cell;
  return true;
}

static void link_value(fnzi_pln_planner *p, fnzi_pln_tenants *t, uint32_t value) {
  uint32_t *head = &t->head;
  int64_t first, last;
  if (t->cells != NULL && find_cells(t, p->plan->locations[value].map, &first, &last) &&
      first == last && last < FNZI_PLN_CELLS)
    head = &t->cells[first];
  p->values[value].next = *head;
  *head = value;
  t->count++;
}

void fnzi_pln_locate(fnzi_pln_planner *p, uint32_t value, fnzi_pln_location location,
                     uint32_t like) {
  fnzi_pln_value *v = &p->values[value];
  const fnz_geometry *map = location.map;
  fnz_geometry moved = *map; /* as it would be in the value's frame */
  moved.offset = v->window->offset;
  p->plan->locations[value] = location;
  v->shift = (map->offset - v->window->offset) * (int64_t)fnzi_dtype(map->dtype)->bytes;
  v->shifted = fnzi_pln_map_equal(&moved, v->window);
  if (like != FNZI_PLN_NONE && (!p->values[like].shifted || p->values[like].shift != v->shift))
    v->shifted = false;
  link_value(p, &p->tenants.data[location.buffer], value);
}

fnz_status fnzi_pln_maps_overlap(fnzi_pln_planner *p, const fnz_geometry *a, const fnz_geometry *b,
                                 bool *overlap) {
  int64_t cell_a = (int64_t)fnzi_dtype(a->dtype)->bytes, low_a, high_a, low_b, high_b;
  int64_t cell_b = (int64_t)fnzi_dtype(b->dtype)->bytes;
  fnzi_pln_bytes x, y;
  *overlap = false;
  if (!fnzi_extent(a, &low_a, &high_a) || !fnzi_extent(b, &low_b, &high_b) || low_a == high_a ||
      low_b == high_b || high_a * cell_a <= low_b * cell_b || high_b * cell_b <= low_a * cell_a)
    return FNZ_OK;
  *overlap = true;
  if (fnzi_is_dense(a) && fnzi_is_dense(b))
    return FNZ_OK;
  FNZ_TRY(fnzi_pln_bytes_of(&p->scratch, a, p->most, &x));
  FNZ_TRY(fnzi_pln_bytes_of(&p->scratch, b, p->most, &y));
  p->spans += x.count + y.count;
  *overlap = x.inexact || y.inexact
                 ? fnzi_oracle_relate(NULL, a, b, NULL, FNZI_LITTLE_WORK) != FNZI_DISJOINT
                 : fnzi_pln_bytes_overlap(x, 0, y);
  return FNZ_OK;
}

/* --- What is still needed ---------------------------------------------------------------- */
/* Says that some tensor among the arguments, except argument `except`, is the value. */
static bool is_argument_beside(const fnzi_pln_planner *p, const fnzi_node *node, uint32_t value,
                               uint32_t except) {
  FNZI_PLN_EACH_OPERAND(each, p, node)
    if (each.value == value && each.k != except)
      return true;
  return false;
}

/* Says that a later node needs some of the bytes. `shift`: from the buffer to the value's frame. */
static fnz_status ask_use(fnzi_pln_planner *p, uint32_t value, uint32_t n, fnzi_pln_bytes bytes,
                          int64_t shift, bool *needed) {
  const fnzi_node *node = &p->graph->nodes.data[n];
  const fnzi_pln_node *info = &p->nodes[n];
  bool viewed = info->access == FNZI_PLN_ACCESS_VIEW || info->access == FNZI_PLN_ACCESS_SAME;
  bool updated = info->access == FNZI_PLN_ACCESS_SCATTER || info->access == FNZI_PLN_ACCESS_BASE;
  uint32_t base = info->access == FNZI_PLN_ACCESS_SAME ? info->fact->argument : 0;
  fnzi_pln_bytes need, written = updated ? info->region : (fnzi_pln_bytes){0};
  if ((!viewed && !updated) || fnzi_pln_argument(node, base) != value ||
      is_argument_beside(p, node, value, base)) {
    FNZ_TRY(fnzi_pln_image(p, value, &need));
    *needed = fnzi_pln_bytes_overlap(bytes, shift, need);
    return FNZ_OK;
  }
  *needed = false;
  FNZI_PLN_EACH_TENSOR(each, p, node->outputs, node->noutputs) {
    const fnzi_pln_value *result = &p->values[each.arg->u.value];
    need = result->need;
    if (result->follows && result->needs_all)
      FNZ_TRY(fnzi_pln_image(p, (uint32_t)each.arg->u.value, &need));
    *needed = !result->follows || fnzi_pln_bytes_overlap_outside(bytes, shift, need, written);
    if (*needed)
      return FNZ_OK;
  }
  return FNZ_OK;
}

/* Examines the last uses first. */
static fnz_status is_needed(fnzi_pln_planner *p, uint32_t value, uint32_t node,
                            fnzi_pln_bytes bytes, bool *out) {
  const fnzi_pln_value *v = &p->values[value];
  *out = !v->shifted || v->is_result;
  for (uint32_t at = v->uses; at > 0 && p->uses[v->use + at - 1] > node && !*out; at--) {
    if (v->uses - at == LATER_USES)
      *out = true;
    else
      FNZ_TRY(ask_use(p, value, p->uses[v->use + at - 1], bytes, -v->shift, out));
  }
  return FNZ_OK;
}

/* Takes values out of the list that no node from `node` on reads. */
static uint32_t next_alive(fnzi_pln_planner *p, uint32_t *link, uint32_t node) {
  while (*link != FNZI_PLN_NONE) {
    const fnzi_pln_value *v = &p->values[*link];
    bool over = v->born != node && (v->last == FNZI_PLN_NONE || v->last < node);
    if (!over)
      return *link;
    *link = v->next;
  }
  return FNZI_PLN_NONE;
}

/* Indexes the live values of a buffer by location, once they are many. */
static fnz_status open_cells(fnzi_pln_planner *p, uint32_t node, uint32_t buffer) {
  fnzi_pln_tenants *t = &p->tenants.data[buffer];
  uint32_t *link = &t->head, all = 0;
  for (uint32_t x; (x = next_alive(p, link, node)) != FNZI_PLN_NONE; link = &p->values[x].next)
    all++;
  t->count = all;
  if (all <= MOST_TENANTS)
    return FNZ_OK;
  FNZI_NEW(&p->scratch, FNZI_PLN_CELLS, &t->cells);
  for (uint32_t k = 0; k < FNZI_PLN_CELLS; k++)
    t->cells[k] = FNZI_PLN_NONE;
  t->cell = (int64_t)(p->plan->buffers.data[buffer].bytes / FNZI_PLN_CELLS + 1);
  uint32_t value = t->head;
  t->head = FNZI_PLN_NONE;
  while (value != FNZI_PLN_NONE) {
    uint32_t next = p->values[value].next;
    link_value(p, t, value);
    value = next;
  }
  return FNZ_OK;
}

typedef struct search {
  uint32_t node, by;
  fnzi_pln_location location;
  fnzi_pln_bytes bytes;
  bool has_bytes;
} search;

static fnz_status search_list(fnzi_pln_planner *p, uint32_t *link, search *s) {
  bool overlap;
  for (uint32_t x; (x = next_alive(p, link, s->node)) != FNZI_PLN_NONE; link = &p->values[x].next) {
    const fnzi_pln_value *v = &p->values[x];
    /* A result of the node itself is there as long as it runs. */
    bool is_own = v->born == s->node && v->last == FNZI_PLN_NONE;
    if (!is_own && (v->last == FNZI_PLN_NONE || v->last <= s->node))
      continue;
    FNZ_TRY(fnzi_pln_maps_overlap(p, p->plan->locations[x].map, s->location.map, &overlap));
    if (!overlap)
      continue;
    if (!s->has_bytes)
      FNZ_TRY(fnzi_pln_bytes_of(&p->scratch, s->location.map, p->most, &s->bytes));
    s->has_bytes = true;
    FNZ_TRY(is_needed(p, x, s->node, s->bytes, &overlap));
    if (overlap) {
      s->by = x;
      return FNZ_OK;
    }
  }
  return FNZ_OK;
}

fnz_status fnzi_pln_find_blocker(fnzi_pln_planner *p, uint32_t node, fnzi_pln_location location,
                                 uint32_t *by) {
  fnzi_pln_tenants *t = &p->tenants.data[location.buffer];
  search s = {.node = node, .by = FNZI_PLN_NONE, .location = location};
  int64_t first, last;
  if (t->cells == NULL && t->count > MOST_TENANTS)
    FNZ_TRY(open_cells(p, node, location.buffer));
  FNZ_TRY(search_list(p, &t->head, &s));
  if (t->cells != NULL && find_cells(t, location.map, &first, &last))
    for (int64_t k = first; k <= last && k < FNZI_PLN_CELLS && s.by == FNZI_PLN_NONE; k++)
      FNZ_TRY(search_list(p, &t->cells[k], &s));
  *by = s.by;
  return FNZ_OK;
}
