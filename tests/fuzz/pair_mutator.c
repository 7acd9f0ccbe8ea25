/* pair_mutator.c - the entry by which libFuzzer has a pair changed (pair.h): by turns an item of
 * the program, an item of the weights' header, whose length is made right, and bytes. */
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/pair.h"

#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

enum { HEADER = 8, ROOM = MUTATE_LONGEST };

static mutator one = {.change_bytes = LLVMFuzzerMutate};
static uint8_t room[ROOM];

/* The program, at the beginning of the room, becomes another one of at most so many bytes. */
static size_t change_program(const pair *p, uint8_t *data, size_t most, unsigned seed) {
  if (p->program_size + p->weights_size > ROOM || PAIR_HEAD + p->weights_size >= most)
    return 0;
  memcpy(room, p->program, p->program_size);
  const size_t size =
      mutate(&one, MUTATE_CBOR, room, p->program_size, most - PAIR_HEAD - p->weights_size, seed);
  memmove(data + PAIR_HEAD + size, p->weights, p->weights_size);
  memcpy(data + PAIR_HEAD, room, size);
  pair_put_head(data, size);
  return PAIR_HEAD + size + p->weights_size;
}

static size_t header_size(const pair *p) {
  uint64_t said = 0;
  for (int i = 0; p->weights_size >= HEADER && i < HEADER; i++)
    said |= (uint64_t)p->weights[i] << 8 * i;
  return said <= p->weights_size - HEADER ? (size_t)said : 0;
}

static size_t change_header(const pair *p, uint8_t *data, size_t most, unsigned seed) {
  const size_t before = p->weights_size < HEADER ? 0 : header_size(p);
  if (!before || before > ROOM || PAIR_HEAD + p->program_size + p->weights_size > most)
    return 0;
  const size_t behind = p->weights_size - HEADER - before;
  const size_t place = PAIR_HEAD + p->program_size + HEADER;
  memcpy(room, data + place, before);
  const size_t size = mutate(&one, MUTATE_JSON, room, before, most - place - behind, seed);
  memmove(data + place + size, data + place + before, behind);
  memcpy(data + place, room, size);
  for (int i = 0; i < HEADER; i++)
    data[place - HEADER + (size_t)i] = (uint8_t)((uint64_t)size >> 8 * i);
  return place + size + behind;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  const pair p = pair_of(data, size);
  size_t changed = 0;
  if (most > ROOM)
    most = ROOM;
  if (size >= PAIR_HEAD && seed % 8 < 4)
    changed = change_program(&p, data, most, seed / 8);
  else if (size >= PAIR_HEAD && seed % 8 < 7)
    changed = change_header(&p, data, most, seed / 8);
  return changed ? changed : LLVMFuzzerMutate(data, size, most);
}
