/* autocast.c - what autocast on the CPU casts the arguments of an operator to. */
#include "schema/schema.h"

#include <string.h>

enum {
  PLAIN = FNZI_AUTOCAST_PLAIN,
  LOWER = FNZI_AUTOCAST_LOWER,
  SINGLE = FNZI_AUTOCAST_SINGLE,
  WIDEST = FNZI_AUTOCAST_WIDEST
};

static const struct {
  const char *name;
  fnzi_autocast what;
} rows[] = {
#define AUTOCAST_CPU(cast, name) {name, (fnzi_autocast)cast},
#define AUTOCAST_OTHER(base)
#include "schema/facts/autocast.def"
#undef AUTOCAST_OTHER
#undef AUTOCAST_CPU
};

fnzi_autocast fnzi_autocast_of(const fnz_op *whole) {
  const fnz_op *op = fnzi_op_canonical(whole);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (strcmp(rows[i].name, op->name) == 0)
      return rows[i].what;
  return op->composite == FNZI_COMPOSITE_IMPLICIT && !op->is_view &&
                 (op->tags & (FNZI_TAG_MAYBE_ALIASING | FNZI_TAG_POINTWISE)) == 0
             ? FNZI_AUTOCAST_UNKNOWN
             : FNZI_AUTOCAST_PLAIN;
}

bool fnzi_autocast_casts(fnz_dtype dtype) {
  return dtype == FNZ_F32 || dtype == FNZ_F16 || dtype == FNZ_BF16;
}
