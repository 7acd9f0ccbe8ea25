/* memory.h - the simplest possible storage, for tests: bytes, and windows gathered from them and
 * scattered into them element after element. Shares no code with the library. */
#ifndef FNZ_TESTS_HELP_MEMORY_H
#define FNZ_TESTS_HELP_MEMORY_H

#include <fnz/types.h>
#include <stdio.h>
#include <string.h>

static inline size_t element_bytes(const fnz_geometry *g) {
  return fnz_dtype_get_info(g->dtype)->bytes;
}

static inline int64_t count_elements(const fnz_geometry *g) {
  int64_t n = 1;
  for (uint32_t d = 0; d < g->rank; d++)
    n *= g->sizes[d];
  return n;
}

/* The offset of element i, in row-major order: in elements from the start of the storage. */
static inline int64_t place_of(const fnz_geometry *g, int64_t i) {
  int64_t place = g->offset;
  for (uint32_t d = g->rank; d-- > 0;) {
    place += i % g->sizes[d] * g->strides[d];
    i /= g->sizes[d];
  }
  return place;
}

/* One past the last byte that the window shows. */
static inline size_t bytes_needed(const fnz_geometry *g) {
  int64_t most = 0;
  for (int64_t i = 0, n = count_elements(g); i < n; i++)
    if (place_of(g, i) + 1 > most)
      most = place_of(g, i) + 1;
  return (size_t)most * element_bytes(g);
}

/* Flips the sign bits that the lazy conjugate and negative bits ask for. */
static inline void flip_signs(const fnz_geometry *g, unsigned char *element) {
  bool is_complex = fnz_dtype_get_info(g->dtype)->category == 'c';
  size_t bytes = element_bytes(g), half = is_complex ? bytes / 2 : bytes;
  if (g->is_neg)
    element[half - 1] ^= 0x80;
  if (is_complex && g->is_neg != g->is_conj)
    element[bytes - 1] ^= 0x80;
}

static inline void gather_window(const fnz_geometry *g, const unsigned char *storage,
                                 unsigned char *dense) {
  size_t bytes = element_bytes(g);
  for (int64_t i = 0, n = count_elements(g); i < n; i++) {
    memcpy(dense + (size_t)i * bytes, storage + (size_t)place_of(g, i) * bytes, bytes);
    flip_signs(g, dense + (size_t)i * bytes);
  }
}

static inline void scatter_window(const fnz_geometry *g, const unsigned char *dense,
                                  unsigned char *storage) {
  size_t bytes = element_bytes(g);
  for (int64_t i = 0, n = count_elements(g); i < n; i++) {
    memcpy(storage + (size_t)place_of(g, i) * bytes, dense + (size_t)i * bytes, bytes);
    flip_signs(g, storage + (size_t)place_of(g, i) * bytes);
  }
}

static inline void print_window(const char *name, const fnz_geometry *g) {
  fprintf(stderr, "%s: %s offset %lld", name, fnz_dtype_get_info(g->dtype)->name,
          (long long)g->offset);
  for (uint32_t d = 0; d < g->rank; d++)
    fprintf(stderr, " %lld:%lld", (long long)g->sizes[d], (long long)g->strides[d]);
  fprintf(stderr, "\n");
}

#endif
