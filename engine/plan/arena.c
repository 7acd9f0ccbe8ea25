/* arena.c - offsets of temporary buffers: the largest first, each at the lowest offset that no
 * buffer alive at the same time has. */
#include "engine/plan/planner.h"

#include <stdlib.h>

/* If there are more buffers, the smaller ones are put into the memory that is free while they are
 * live, because comparing all pairs would take too long. */
enum { COMPARED = 512 };

typedef struct item {
  uint32_t buffer, first, last;
  size_t bytes, offset;
} item;

static int compare_size(const void *a, const void *b) {
  const item *x = a, *y = b;
  if (x->bytes != y->bytes)
    return x->bytes < y->bytes ? 1 : -1;
  return x->buffer < y->buffer ? -1 : x->buffer > y->buffer;
}

static int compare_first(const void *a, const void *b) {
  const item *x = a, *y = b;
  if (x->first != y->first)
    return x->first < y->first ? -1 : 1;
  return x->buffer < y->buffer ? -1 : x->buffer > y->buffer;
}

/* Puts an item at the lowest free offset. `placed` is sorted by offset, and has the item itself as
 * its next one. */
static void put_lowest(item *placed, uint32_t count) {
  item new = placed[count];
  size_t end = 0;
  uint32_t index = count;
  for (uint32_t i = 0; i < count; i++) {
    if (placed[i].last < new.first || new.last < placed[i].first)
      continue;
    if (placed[i].offset >= end && placed[i].offset - end >= new.bytes)
      break;
    if (placed[i].offset + placed[i].bytes > end)
      end = placed[i].offset + placed[i].bytes;
  }
  new.offset = end;
  for (; index > 0 && placed[index - 1].offset > end; index--)
    placed[index] = placed[index - 1];
  placed[index] = new;
}

/* --- Many buffers: one after the other in time, into blocks that are free --------------------- */
typedef struct block {
  size_t offset, bytes;
} block;
typedef struct line {
  fnzi_arena *arena;
  block *free; /* sorted by offset */
  uint32_t nfree;
  item *alive; /* a heap by `last` */
  uint32_t nalive;
  size_t top; /* everything above is free */
} line;

static void heap_down(item *heap, uint32_t count, uint32_t index) {
  item moved = heap[index];
  for (uint32_t child; (child = 2 * index + 1) < count; index = child) {
    if (child + 1 < count && heap[child + 1].last < heap[child].last)
      child++;
    if (heap[child].last >= moved.last)
      break;
    heap[index] = heap[child];
  }
  heap[index] = moved;
}

static void heap_up(item *heap, uint32_t index, item added) {
  for (; index > 0 && heap[(index - 1) / 2].last > added.last; index = (index - 1) / 2)
    heap[index] = heap[(index - 1) / 2];
  heap[index] = added;
}

static void give_back(line *l, size_t offset, size_t bytes) {
  uint32_t index = l->nfree;
  if (bytes == 0)
    return;
  while (index > 0 && l->free[index - 1].offset > offset)
    index--;
  bool below = index > 0 && l->free[index - 1].offset + l->free[index - 1].bytes == offset;
  bool above = index < l->nfree && offset + bytes == l->free[index].offset;
  if (below && above) {
    l->free[index - 1].bytes += bytes + l->free[index].bytes;
    memmove(&l->free[index], &l->free[index + 1], (--l->nfree - index) * sizeof *l->free);
  } else if (below) {
    l->free[index - 1].bytes += bytes;
  } else if (above) {
    l->free[index] = (block){offset, bytes + l->free[index].bytes};
  } else {
    memmove(&l->free[index + 1], &l->free[index], (l->nfree++ - index) * sizeof *l->free);
    l->free[index] = (block){offset, bytes};
  }
}

/* Takes the smallest free block that is large enough; if there is none, memory after all others. */
static size_t take_best(line *l, size_t bytes) {
  uint32_t best = l->nfree;
  for (uint32_t i = 0; i < l->nfree; i++)
    if (l->free[i].bytes >= bytes && (best == l->nfree || l->free[i].bytes < l->free[best].bytes))
      best = i;
  if (best < l->nfree) {
    size_t offset = l->free[best].offset;
    l->free[best].offset += bytes;
    l->free[best].bytes -= bytes;
    if (l->free[best].bytes == 0)
      memmove(&l->free[best], &l->free[best + 1], (--l->nfree - best) * sizeof *l->free);
    return offset;
  }
  bool last = l->nfree > 0 && l->free[l->nfree - 1].offset + l->free[l->nfree - 1].bytes == l->top;
  size_t offset = last ? l->free[--l->nfree].offset : l->top;
  l->top = offset + bytes;
  return offset;
}

static fnz_status put_in_line(fnzi_arena *arena, item *items, uint32_t count) {
  line l = {.arena = arena};
  FNZI_NEW(arena, (size_t)count + 1, &l.free);
  FNZI_NEW(arena, (size_t)count + 1, &l.alive);
  qsort(items, count, sizeof *items, compare_first);
  for (uint32_t i = 0; i < count; i++) {
    while (l.nalive > 0 && l.alive[0].last < items[i].first) {
      item done = l.alive[0];
      l.alive[0] = l.alive[--l.nalive];
      if (l.nalive > 0)
        heap_down(l.alive, l.nalive, 0);
      give_back(&l, done.offset, done.bytes);
    }
    items[i].offset = take_best(&l, items[i].bytes);
    heap_up(l.alive, l.nalive++, items[i]);
  }
  return FNZ_OK;
}

/* --- The whole --------------------------------------------------------------------------- */
static fnz_status find_least(fnzi_arena *arena, const fnzi_pln_plan *plan, const item *items,
                             uint32_t count, size_t *out) {
  size_t *begins, *ends, alive = 0;
  FNZI_NEW(arena, plan->steps.count + 2, &begins);
  FNZI_NEW(arena, plan->steps.count + 2, &ends);
  for (uint32_t i = 0; i < count; i++) {
    begins[items[i].first] += items[i].bytes;
    ends[items[i].last + 1] += items[i].bytes;
  }
  *out = 0;
  for (size_t s = 0; s < plan->steps.count + 2; s++) {
    alive += begins[s] - ends[s];
    if (alive > *out)
      *out = alive;
  }
  return FNZ_OK;
}

static fnz_status layout(fnzi_arena *arena, fnzi_pln_plan *plan) {
  item *items;
  uint32_t count = 0;
  size_t sum = 0;
  FNZI_NEW(arena, plan->buffers.count, &items);
  for (uint32_t b = 0; b < plan->buffers.count; b++) {
    const fnzi_pln_buffer *buffer = &plan->buffers.data[b];
    if (buffer->kind != FNZI_PLN_TEMP || buffer->first == FNZI_PLN_NONE)
      continue;
    if (buffer->bytes > SIZE_MAX / 2 || !fnzi_add_size(sum, fnzi_pln_padded(buffer->bytes), &sum) ||
        sum > INT64_MAX)
      return fnzi_fail(arena->ctx, FNZ_CLASS_OVERFLOW, NULL, "temporary memory leaves 63 bits");
    items[count++] = (item){b, buffer->first, buffer->last, fnzi_pln_padded(buffer->bytes), 0};
  }
  FNZ_TRY(find_least(arena, plan, items, count, &plan->least_bytes));
  if (count > COMPARED) {
    FNZ_TRY(put_in_line(arena, items, count));
  } else {
    qsort(items, count, sizeof *items, compare_size);
    for (uint32_t i = 0; i < count; i++)
      put_lowest(items, i);
  }
  plan->arena_bytes = 0;
  for (uint32_t i = 0; i < count; i++) {
    plan->buffers.data[items[i].buffer].offset = items[i].offset;
    if (items[i].offset + items[i].bytes > plan->arena_bytes)
      plan->arena_bytes = items[i].offset + items[i].bytes;
  }
  return FNZ_OK;
}

fnz_status fnzi_pln_arena_layout(fnz_context *ctx, fnzi_pln_plan *plan) {
  fnzi_arena scratch;
  fnzi_arena_init(&scratch, ctx);
  fnz_status status = layout(&scratch, plan);
  fnzi_arena_free(&scratch);
  return status;
}
