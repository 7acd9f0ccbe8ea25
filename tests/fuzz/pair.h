/* pair.h - a program and its weights in one input of a fuzzer: four bytes, little-endian, that say
 * how many of the rest are CBOR; the others are the safetensors file. */
#ifndef FNZ_TESTS_FUZZ_PAIR_H
#define FNZ_TESTS_FUZZ_PAIR_H

#include <stddef.h>
#include <stdint.h>

typedef struct pair {
  const uint8_t *program, *weights;
  size_t program_size, weights_size;
} pair;

enum { PAIR_HEAD = 4 };

static inline pair pair_of(const uint8_t *data, size_t size) {
  uint32_t said = 0;
  if (size < PAIR_HEAD)
    return (pair){data, data, 0, 0};
  for (int i = 0; i < PAIR_HEAD; i++)
    said |= (uint32_t)data[i] << 8 * i;
  const size_t rest = size - PAIR_HEAD, program = said < rest ? said : rest;
  return (pair){data + PAIR_HEAD, data + PAIR_HEAD + program, program, rest - program};
}

static inline void pair_put_head(uint8_t *data, size_t program_size) {
  for (int i = 0; i < PAIR_HEAD; i++)
    data[i] = (uint8_t)(program_size >> 8 * i);
}

#endif
