/* check_facts.c - the facts of the checker: found by value, and by where they are in memory. */
#include "engine/plan/check.h"

/* A memory has cells of equal size, as many as its bytes fill, and one more for facts that are in
 * many. */
enum { MOST_CELLS = 256, FEW_CELLS = 4, LEAST_CELL = 64 };

typedef struct link {
  fnzi_pln_known *fact;
  struct link *next;
} link;

struct fnzi_pln_memory {
  int64_t cell;   /* bytes of one; 0: nothing is known yet */
  uint32_t count; /* of cells, without the one for the rest */
  link **cells;
};

fnz_status fnzi_pln_check_open(fnzi_pln_checker *c) {
  FNZI_NEW(&c->p.scratch, c->p.graph->values.count, &c->by_value);
  FNZI_NEW(&c->p.scratch, c->p.graph->values.count, &c->producer);
  FNZI_NEW(&c->p.scratch, c->plan->buffers.count + 1, &c->memories);
  FNZI_NEW(&c->p.scratch, c->p.graph->values.count, &c->images);
  FNZI_NEW(&c->p.scratch, c->p.graph->values.count, &c->has_image);
  FNZI_NEW(&c->p.scratch, c->plan->buffers.count + 1, &c->users);
  FNZI_NEW(&c->p.scratch, c->p.graph->values.count, &c->seen);
  FNZI_NEW(&c->p.scratch, c->p.graph->values.count, &c->ordinals);
  for (c->mask = 1; c->mask < c->p.graph->values.count + c->plan->steps.count; c->mask *= 2)
    ;
  FNZI_NEW(&c->p.scratch, c->mask, &c->homes);
  FNZI_NEW(&c->p.scratch, c->mask, &c->facts);
  c->mask--;
  c->arena = (uint32_t)c->plan->buffers.count;
  return FNZ_OK;
}

fnz_status fnzi_pln_check_wrong(const fnzi_pln_checker *c, uint32_t value, const char *what) {
  const char *name = c->p.graph->values.data[value].name;
  return fnzi_fail(c->p.ctx, FNZ_CLASS_INTERNAL, name, "the plan is wrong: step %u, %%%s: %s",
                   c->step, name, what);
}

/* --- Places ------------------------------------------------------------------------------ */
uint32_t fnzi_pln_check_memory(const fnzi_pln_checker *c, uint32_t buffer) {
  return c->plan->buffers.data[buffer].kind == FNZI_PLN_TEMP ? c->arena : buffer;
}

static fnz_status find_image(fnzi_pln_checker *c, uint32_t value, fnzi_pln_location location,
                             fnzi_pln_bytes *out) {
  fnzi_pln_span *spans;
  *out = (fnzi_pln_bytes){0};
  if (location.buffer >= c->plan->buffers.count)
    return fnzi_pln_check_wrong(c, value, "it has no location");
  const fnzi_pln_buffer *b = &c->plan->buffers.data[location.buffer];
  FNZ_TRY(fnzi_pln_bytes_of(&c->p.scratch, location.map, UINT32_MAX, out));
  if (out->count == 0)
    return FNZ_OK;
  if (out->spans[0].low < 0 || (uint64_t)out->spans[out->count - 1].high > b->bytes)
    return fnzi_pln_check_wrong(c, value, "it leaves its buffer");
  if (b->kind != FNZI_PLN_TEMP || b->offset == 0)
    return FNZ_OK;
  FNZI_NEW(&c->p.scratch, out->count, &spans);
  for (uint32_t i = 0; i < out->count; i++)
    spans[i] = (fnzi_pln_span){out->spans[i].low + (int64_t)b->offset,
                               out->spans[i].high + (int64_t)b->offset};
  out->spans = spans;
  return FNZ_OK;
}

fnz_status fnzi_pln_check_image(fnzi_pln_checker *c, uint32_t value, fnzi_pln_location location,
                                fnzi_pln_bytes *out) {
  const fnzi_pln_location *own = &c->plan->locations[value];
  bool is_own = location.buffer == own->buffer && location.map == own->map;
  if (is_own && c->has_image[value]) {
    *out = c->images[value];
    return FNZ_OK;
  }
  FNZ_TRY(find_image(c, value, location, out));
  if (is_own) {
    c->images[value] = *out;
    c->has_image[value] = true;
  }
  return FNZ_OK;
}

/* --- Facts ------------------------------------------------------------------------------- */
static fnz_status forget_list(fnzi_pln_checker *c, link **list, fnzi_pln_bytes written) {
  while (*list != NULL) {
    fnzi_pln_known *f = (*list)->fact;
    if (f->last < c->node || f->bytes.count == 0) {
      *list = (*list)->next;
      continue;
    }
    if (f->bytes.count && written.count &&
        f->bytes.spans[0].low < written.spans[written.count - 1].high &&
        written.spans[0].low < f->bytes.spans[f->bytes.count - 1].high)
      FNZ_TRY(fnzi_pln_bytes_subtract(&c->p.scratch, f->bytes, written, UINT32_MAX, &f->bytes));
    list = &(*list)->next;
  }
  return FNZ_OK;
}

fnz_status fnzi_pln_forget(fnzi_pln_checker *c, uint32_t at, fnzi_pln_bytes written) {
  fnzi_pln_memory *m = &c->memories[at];
  if (m->cell == 0 || written.count == 0)
    return FNZ_OK;
  int64_t first = written.spans[0].low / m->cell;
  int64_t last = (written.spans[written.count - 1].high - 1) / m->cell;
  for (int64_t k = first; k <= last && k < m->count; k++)
    FNZ_TRY(forget_list(c, &m->cells[k], written));
  return forget_list(c, &m->cells[m->count], written);
}

static fnz_status link_fact(fnzi_pln_checker *c, fnzi_pln_memory *m, fnzi_pln_known *f) {
  int64_t first = f->bytes.spans[0].low / m->cell;
  int64_t last = (f->bytes.spans[f->bytes.count - 1].high - 1) / m->cell;
  if (last - first >= FEW_CELLS || last >= m->count)
    first = last = m->count;
  for (int64_t k = first; k <= last; k++) {
    link *new;
    FNZI_NEW(&c->p.scratch, 1, &new);
    *new = (link){f, m->cells[k]};
    m->cells[k] = new;
  }
  return FNZ_OK;
}

/* Returns the index in a table. `first`: the first element of a location; 0 for all of a buffer. */
static size_t check_facts_number_of(const fnzi_pln_checker *c, uint32_t value, uint32_t buffer,
                                    int64_t first) {
  const int64_t key[] = {value, buffer, first};
  return (size_t)fnzi_hash(c->p.ctx, key, sizeof key) & c->mask;
}

fnzi_pln_home *fnzi_pln_check_home(const fnzi_pln_checker *c, uint32_t value, uint32_t buffer) {
  fnzi_pln_home *home = c->homes[check_facts_number_of(c, value, buffer, 0)];
  while (home && (home->value != value || home->buffer != buffer))
    home = home->next_in_bucket;
  return home;
}

fnzi_pln_known *fnzi_pln_check_first(fnzi_pln_known **list) {
  while (*list && (*list)->bytes.count == 0)
    *list = (*list)->next;
  return *list;
}

fnz_status fnzi_pln_learn(fnzi_pln_checker *c, uint32_t value, uint32_t last,
                          fnzi_pln_location location, fnzi_pln_bytes bytes) {
  fnzi_pln_known *f;
  fnzi_pln_home *home = fnzi_pln_check_home(c, value, location.buffer);
  uint32_t at = fnzi_pln_check_memory(c, location.buffer);
  bool is_read_only = c->plan->buffers.data[location.buffer].kind == FNZI_PLN_CONST;
  if (home == NULL) {
    fnzi_pln_home **first = &c->homes[check_facts_number_of(c, value, location.buffer, 0)];
    FNZI_NEW(&c->p.scratch, 1, &home);
    *home = (fnzi_pln_home){value, location.buffer, NULL, c->by_value[value], *first};
    c->by_value[value] = *first = home;
  }
  if (bytes.count == 0)
    return FNZ_OK;
  fnzi_pln_known **bucket =
      &c->facts[check_facts_number_of(c, value, location.buffer, location.map->offset)];
  FNZI_NEW(&c->p.scratch, 1, &f);
  *f = (fnzi_pln_known){value, last, location, bytes, home->facts, *bucket};
  home->facts = *bucket = f;
  if (is_read_only)
    return FNZ_OK;
  fnzi_pln_memory *m = &c->memories[at];
  if (m->cell == 0) {
    size_t size = at == c->arena ? c->plan->arena_bytes : c->plan->buffers.data[at].bytes;
    m->cell = (int64_t)(size / MOST_CELLS + 1);
    if (m->cell < LEAST_CELL)
      m->cell = LEAST_CELL;
    m->count = (uint32_t)(size / (size_t)m->cell + 1);
    FNZI_NEW(&c->p.scratch, (size_t)m->count + 1, &m->cells);
  }
  return link_fact(c, m, f);
}

fnz_status fnzi_pln_known_of(fnzi_pln_checker *c, uint32_t value, fnzi_pln_location location,
                             fnzi_pln_bytes *out) {
  fnzi_pln_known **f =
      &c->facts[check_facts_number_of(c, value, location.buffer, location.map->offset)];
  *out = (fnzi_pln_bytes){0};
  while (*f) {
    if ((*f)->bytes.count == 0) {
      *f = (*f)->next_in_bucket;
      continue;
    }
    if ((*f)->value == value && fnzi_pln_location_equal((*f)->location, location))
      FNZ_TRY(fnzi_pln_bytes_join(&c->p.scratch, *out, (*f)->bytes, UINT32_MAX, out));
    f = &(*f)->next_in_bucket;
  }
  return FNZ_OK;
}

fnz_status fnzi_pln_check_holds(fnzi_pln_checker *c, uint32_t value, fnzi_pln_location location) {
  fnzi_pln_bytes bytes, all;
  FNZ_TRY(fnzi_pln_check_image(c, value, location, &all));
  FNZ_TRY(fnzi_pln_known_of(c, value, location, &bytes));
  return fnzi_pln_bytes_contain(bytes, all)
             ? FNZ_OK
             : fnzi_pln_check_wrong(c, value, "what is read there is something else");
}

fnz_status fnzi_pln_check_writable(fnzi_pln_checker *c, uint32_t value,
                                   fnzi_pln_location location) {
  if (location.buffer >= c->plan->buffers.count)
    return fnzi_pln_check_wrong(c, value, "it has no location");
  return c->plan->buffers.data[location.buffer].kind == FNZI_PLN_CONST
             ? fnzi_pln_check_wrong(c, value, "an input is written that is only read")
             : FNZ_OK;
}
