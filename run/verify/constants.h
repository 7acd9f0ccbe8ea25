/* constants.h - the constants of expressions, next to which conditions begin and cease to hold. */
#ifndef FNZI_VER_CONSTANTS_H
#define FNZI_VER_CONSTANTS_H

#include "program/shapes/sizes.h"

enum {
  FNZI_VER_CONSTANTS = 24,                         /* the most that are kept */
  FNZI_VER_CANDIDATES = 5 + 3 * FNZI_VER_CONSTANTS /* the most numbers to try */
};

typedef struct fnzi_ver_constants {
  int64_t numbers[FNZI_VER_CONSTANTS];
  size_t count;
} fnzi_ver_constants;

/* INT64_MIN, INT64_MAX and numbers like these bound nothing and are left out. */
void fnzi_ver_constants_add(fnzi_ver_constants *constants, int64_t number);
/* All constants in the expression, and their negatives. */
FNZ_MUST_CHECK fnz_status fnzi_ver_constants_add_expr(fnzi_ver_constants *constants,
                                                      const fnzi_sizes *sizes,
                                                      const fnzi_expr *expr);
/* 0 to 4, each constant and the numbers next to it; how many. */
size_t fnzi_ver_constants_list(const fnzi_ver_constants *constants,
                               int64_t out[FNZI_VER_CANDIDATES]);

#endif
