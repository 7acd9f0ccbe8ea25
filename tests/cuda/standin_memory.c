/* standin_memory.c - device memory: the host's, at addresses that the host cannot use, with a map
 * of its bytes. No address is given twice before all others were, so who uses memory that was given
 * back is found. */
#define _GNU_SOURCE
#include "tests/cuda/standin_parts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* With AddressSanitizer, unallocated bytes near allocated ones are poisoned. */
#ifdef STANDIN_IS_WATCHED
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, bytes)   ((void)(at), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(at, bytes) ((void)(at), (void)(bytes))
#endif

#define FAR  ((uint64_t)1 << 60) /* from a host's address to the device's */
#define SIZE ((uint64_t)1 << 34) /* of all addresses; untouched pages cost nothing */

enum { APART = 256, PAGE = 4096, REMEMBERED = 256 };

typedef struct block {
  struct block *next; /* in order of `start` */
  uint64_t start, bytes;
} block;

standin_room standin_memory;
static block *blocks;
static uint64_t cursor;
static struct {
  uint64_t start, bytes;
} gone[REMEMBERED]; /* of the last ones that were given back */
static size_t gones;

static bool open_room(void) {
  standin_room *m = &standin_memory;
  if (m->data)
    return true;
  void *data =
      mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  void *map =
      mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED || map == MAP_FAILED)
    return false;
  *m = (standin_room){(uint64_t)(uintptr_t)data + FAR, SIZE, data, map};
  return true;
}

/* The first gap from `from` on that has room for the bytes, with some around them. */
static block **find_gap(uint64_t from, size_t bytes, uint64_t *start) {
  uint64_t at = from;
  for (block **b = &blocks;; b = &(*b)->next) {
    if (*b && (*b)->start + (*b)->bytes + APART <= at)
      continue;
    uint64_t end = *b ? (*b)->start : SIZE;
    if (at + bytes + APART <= end) {
      *start = at;
      return b;
    }
    if (!*b)
      return NULL;
    at = ((*b)->start + (*b)->bytes + 2 * APART - 1) / APART * APART;
  }
}

bool standin_memory_take(size_t bytes, uint64_t *out) {
  uint64_t start;
  if (!open_room() || bytes > SIZE / 2)
    return false;
  block **at = find_gap(cursor ? cursor : APART, bytes, &start);
  if (!at)
    at = find_gap(APART, bytes, &start);
  block *b = at ? calloc(1, sizeof *b) : NULL;
  if (!b)
    return false;
  *b = (block){*at, start, bytes};
  *at = b;
  cursor = (start + bytes + 2 * APART - 1) / APART * APART;
  ASAN_UNPOISON_MEMORY_REGION(standin_memory.data + start, bytes);
  ASAN_POISON_MEMORY_REGION(standin_memory.data + start + bytes, APART);
  memset(standin_memory.data + start, 0xa5, bytes);
  memset(standin_memory.map + start, STANDIN_ALLOCATED, bytes);
  *out = standin_memory.low + start;
  return true;
}

/* Whole pages go back to the system. */
static void forget(unsigned char *from, size_t bytes) {
  unsigned char *first = from + (PAGE - (uintptr_t)from % PAGE) % PAGE;
  size_t lost = (size_t)(first - from), pages = bytes > lost ? (bytes - lost) / PAGE * PAGE : 0;
  if (!pages) {
    memset(from, 0, bytes);
    return;
  }
  memset(from, 0, lost);
  madvise(first, pages, MADV_DONTNEED);
  memset(first + pages, 0, bytes - lost - pages);
}

size_t standin_memory_give(uint64_t at) {
  for (block **b = &blocks; *b; b = &(*b)->next)
    if (standin_memory.low + (*b)->start == at) {
      block *had = *b;
      size_t bytes = had->bytes;
      *b = had->next;
      forget(standin_memory.data + had->start, bytes);
      forget(standin_memory.map + had->start, bytes);
      ASAN_POISON_MEMORY_REGION(standin_memory.data + had->start, bytes);
      gone[gones % REMEMBERED].start = had->start;
      gone[gones++ % REMEMBERED].bytes = bytes;
      free(had);
      return bytes;
    }
  return 0;
}

bool standin_memory_has(uint64_t at) {
  const standin_room *m = &standin_memory;
  uint64_t start = at - m->low;
  return m->data && start < m->size && (m->map[start] & STANDIN_ALLOCATED);
}

static bool was_given_back(uint64_t start) {
  for (size_t i = 0; i < gones && i < REMEMBERED; i++)
    if (start >= gone[i].start && start - gone[i].start < gone[i].bytes)
      return true;
  return false;
}

/* All bytes of the map from there on have these bits. */
static bool all_are(uint64_t start, size_t bytes, unsigned char bits) {
  for (size_t i = 0; i < bytes; i++)
    if ((standin_memory.map[start + i] & bits) != bits)
      return false;
  return true;
}

void *standin_memory_at(uint64_t at, size_t bytes, bool writes, const char *who) {
  const standin_room *m = &standin_memory;
  uint64_t start = at - m->low;
  const char *does = writes ? "writes" : "reads";
  if (start >= m->size || bytes > m->size - start || !all_are(start, bytes, STANDIN_ALLOCATED)) {
    if (start < m->size && was_given_back(start))
      standin_fail("%s %s device memory that was given back", who, does);
    else
      standin_fail("%s %s %zu bytes outside of device memory", who, does, bytes);
    return NULL;
  }
  if (writes)
    memset(m->map + start, STANDIN_WRITTEN, bytes);
  else if (!all_are(start, bytes, STANDIN_WRITTEN)) {
    standin_fail("%s reads device memory that nothing has written", who);
    return NULL;
  }
  return m->data + start;
}

void *standin_kernel_access(const void *at, size_t bytes, int writes) {
  if ((uintptr_t)at % (bytes < 16 ? bytes : 16) != 0) {
    standin_fail("a kernel's access is not aligned");
    return NULL;
  }
  return standin_memory_at((uint64_t)(uintptr_t)at, bytes, writes, "a kernel");
}
