/* point_digest.c - prints a line for each row of point.def: class, name, and a hash of its results
 * on elements from a seed. Two processors whose lines are alike compute the same bits; NaN is NaN.
 * No test of its own: scripts/aarch64.sh holds two against each other. */
#include "tests/kernels/point_draws.h"

#include <inttypes.h>
#include <stdio.h>

enum { CHUNKS = 24 };

static void mix(uint64_t *hash, const unsigned char *bytes, size_t count) {
  for (size_t i = 0; i < count; i++)
    *hash = (*hash ^ bytes[i]) * 0x100000001b3u;
}

static uint64_t digest(fnz_dtype class_dtype, const fnzi_cpu_point *row) {
  static cells in[FNZI_POINT_OPERANDS], out;
  static const unsigned char nan[WIDEST] = "no num";
  size_t cell = fnzi_dtype(class_dtype)->bytes, made = fnzi_dtype(row->out)->bytes;
  uint64_t hash = 0xcbf29ce484222325u;
  state = 3;
  for (int chunk = 0; chunk < CHUNKS; chunk++) {
    draw_operands(class_dtype, row, in);
    run(row, in, 0, FNZI_POINT_CHUNK, cell, &out);
    for (int64_t i = 0; i < FNZI_POINT_CHUNK; i++)
      mix(&hash, is_nan(row->out, &out, i) ? nan : out.bytes + (size_t)i * made, made);
  }
  return hash;
}

int main(void) {
  for (size_t c = 0; c < sizeof classes / sizeof *classes; c++)
    for (const fnzi_cpu_point *row = fnzi_cpu_point_rows(fnzi_krn_isa_best(), classes[c]);
         row->name; row++)
      printf("%s %s %016" PRIx64 "\n", fnzi_dtype(classes[c])->name, row->name,
             digest(classes[c], row));
  return 0;
}
