/* mutator.c - the entries by which libFuzzer has programs of the format FUZZ_MUTATES changed. */
#include "tests/fuzz/mutate.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *data, size_t size, const uint8_t *second,
                                 size_t second_size, uint8_t *out, size_t most, unsigned seed);

static mutator one = {.change_bytes = LLVMFuzzerMutate};

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  return mutate(&one, FUZZ_MUTATES, data, size, most, seed);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *data, size_t size, const uint8_t *second,
                                 size_t second_size, uint8_t *out, size_t most, unsigned seed) {
  return mutate_cross(&one, FUZZ_MUTATES, data, size, second, second_size, out, most, seed);
}
