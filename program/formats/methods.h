/* methods.h - a set of programs (include/fnz/methods.h), and which of their weights are one. */
#ifndef FNZI_METHODS_H
#define FNZI_METHODS_H

#include "program/program.h"

#include <fnz/methods.h>

/* A weight of the set, as its first method has it. */
typedef struct fnzi_methods_entry {
  fnz_methods_weight shown;
  const fnzi_weight *weight; /* only while methods are joined */
  uint32_t method;
  bool is_constant;
} fnzi_methods_entry;

struct fnz_methods {
  fnz_context *ctx;
  fnzi_arena arena; /* names */
  const char **names;
  fnz_program **programs; /* NULL: taken */
  size_t count;
  struct {
    fnzi_methods_entry *data;
    size_t count, capacity;
  } weights;
  fnzi_map index; /* name -> weight */
};

/* methods_join.c: lists the weights, and makes weights of one name one blob. Fails with DIFFERENT
 * where they are not the same. `is_read`: a file must have one blob for them already. */
FNZ_MUST_CHECK fnz_status fnzi_methods_join(fnz_context *ctx, fnz_methods *set, bool is_read);

#endif
