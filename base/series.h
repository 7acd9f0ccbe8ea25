/* series.h - hashes that need not be stored.
 *
 * A *cell* says which unknown tensor it is of, as a hash, and at which place in it. Cells of one
 * tensor at places that follow each other are a *series*: the first one says all of them. */
#ifndef FNZI_SERIES_H
#define FNZI_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fnzi_cell {
  uint64_t of, at;
} fnzi_cell;

static inline uint64_t fnzi_mix(uint64_t x) {
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
  return x ^ (x >> 32);
}

/* The cell so many places behind one. */
static inline fnzi_cell fnzi_cell_behind(fnzi_cell start, uint64_t places) {
  return (fnzi_cell){start.of, start.at + places};
}

static inline bool fnzi_cell_equal(fnzi_cell a, fnzi_cell b) {
  return a.of == b.of && a.at == b.at;
}

static inline void fnzi_series_fill(fnzi_cell start, size_t count, fnzi_cell *out) {
  for (size_t i = 0; i < count; i++)
    out[i] = fnzi_cell_behind(start, i);
}

static inline bool fnzi_is_series(const fnzi_cell *cells, size_t count) {
  for (size_t i = 1; i < count; i++)
    if (!fnzi_cell_equal(cells[i], fnzi_cell_behind(cells[0], i)))
      return false;
  return true;
}

#endif
