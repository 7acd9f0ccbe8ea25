/* tell.c - what a tensor looks like, for messages. */
#include "run/run.h"

void fnzi_shape_text(const fnz_geometry *g, char out[FNZI_SHAPE_TEXT]) {
  char number[FNZI_INT_TEXT];
  size_t used = strlen(fnzi_dtype(g->dtype)->name);
  memcpy(out, fnzi_dtype(g->dtype)->name, used);
  out[used++] = '[';
  for (uint32_t d = 0; d < g->rank; d++) {
    size_t size = fnzi_int_text(g->sizes[d], number);
    if (used + size + sizeof "...,]" > FNZI_SHAPE_TEXT) {
      memcpy(out + used, "...", 3);
      used += 3;
      break;
    }
    memcpy(out + used, number, size);
    used += size;
    if (d + 1 < g->rank)
      out[used++] = ',';
  }
  out[used++] = ']';
  out[used] = 0;
}
