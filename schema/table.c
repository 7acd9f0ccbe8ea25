/* table.c - reading single columns of the operator table. */
#include "schema/table.h"

#include <stdio.h>

typedef struct bit_row {
  const char *name;
  uint32_t bit;
} bit_row;

/* The bits of all words between commas. */
static uint32_t bits_of(const bit_row *rows, size_t count, const char *words) {
  uint32_t bits = 0;
  for (const char *at = words; *at;) {
    size_t size = strcspn(at, ",");
    for (size_t i = 0; i < count; i++)
      if (strlen(rows[i].name) == size && memcmp(rows[i].name, at, size) == 0)
        bits |= rows[i].bit;
    at += size + (at[size] == ',');
  }
  return bits;
}

uint32_t fnzi_tag_bits(const char *tags) {
  static const bit_row rows[] = {
#define TAG_ROW(id, name) {name, FNZI_TAG_##id},
      FNZI_TAG_ROWS(TAG_ROW)
#undef TAG_ROW
  };
  return bits_of(rows, sizeof rows / sizeof *rows, tags);
}

fnz_status fnzi_model_parse(fnzi_arena *arena, const char *model, fnz_op *op) {
  static const bit_row rows[] = {
#define FLAG_ROW(id, name) {name, FNZI_OP_##id},
      FNZI_FLAG_ROWS(FLAG_ROW)
#undef FLAG_ROW
  };
  static const char delegate[] = "delegate=";
  const char *at = strstr(model, delegate);
  op->model_text = model;
  op->flags = bits_of(rows, sizeof rows / sizeof *rows, model);
  if (!at)
    return FNZ_OK;
  at += sizeof delegate - 1;
  return fnzi_arena_string(arena, at, strcspn(at, ","), &op->delegate);
}

fnzi_composite fnzi_composite_parse(const char *composite, const char *dispatch) {
  if (strcmp(composite, "implicit") == 0)
    return FNZI_COMPOSITE_IMPLICIT;
  if (strcmp(composite, "explicit") != 0)
    return FNZI_COMPOSITE_NONE;
  return strstr(dispatch, "CompositeExplicitAutogradNonFunctional")
             ? FNZI_COMPOSITE_EXPLICIT_NON_FUNCTIONAL
             : FNZI_COMPOSITE_EXPLICIT;
}
