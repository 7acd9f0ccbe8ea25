/* sizing.c - the rows of sizing.def. */
#include "schema/schema.h"

#include <stdlib.h>
#include <string.h>

static const char *const bases[] = {
#define SIZING(base) base,
#include "schema/facts/sizing.def"
#undef SIZING
};

static int by_base(const void *key, const void *row) {
  return strcmp(key, *(const char *const *)row);
}

bool fnzi_op_is_sizing(const fnz_op *op) {
  return !fnzi_op_is_custom(op) &&
         bsearch(op->base, bases, sizeof bases / sizeof *bases, sizeof *bases, by_base);
}
