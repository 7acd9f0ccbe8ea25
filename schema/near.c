/* near.c - which operators somebody may have meant who misspelt one. */
#include "schema/schema.h"

#include <fnz/operator.h>

enum { LONGEST = 96, SHOWN = 3 };

static size_t least(size_t a, size_t b) {
  return a < b ? a : b;
}

/* How many letters must be put in, left out, changed or exchanged with their neighbour to get from
 * one word to the other. */
static size_t distance(const char *a, size_t na, const char *b, size_t nb) {
  size_t rows[3][LONGEST + 1];
  if (na > LONGEST || nb > LONGEST)
    return LONGEST;
  for (size_t j = 0; j <= nb; j++)
    rows[0][j] = j;
  for (size_t i = 1; i <= na; i++) {
    size_t *row = rows[i % 3], *above = rows[(i - 1) % 3], *before = rows[(i + 1) % 3];
    row[0] = i;
    for (size_t j = 1; j <= nb; j++) {
      row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = least(row[j], before[j - 2] + 1);
    }
  }
  return rows[na % 3][nb];
}

/* The nearest so far, nearest first. */
typedef struct near_list {
  struct {
    const char *name;
    size_t length, distance;
  } items[SHOWN];
  size_t count;
} near_list;

static bool is_listed(const near_list *list, const char *name, size_t length) {
  for (size_t i = 0; i < list->count; i++)
    if (list->items[i].length == length && memcmp(list->items[i].name, name, length) == 0)
      return true;
  return false;
}

static void consider(near_list *list, const char *word, const char *name, size_t length) {
  size_t wanted = strlen(word), d = distance(word, wanted, name, length);
  if (d > wanted / 4 + 1 || is_listed(list, name, length))
    return;
  size_t at = list->count < SHOWN ? list->count++ : SHOWN;
  while (at > 0 && list->items[at - 1].distance > d) {
    if (at < SHOWN)
      list->items[at] = list->items[at - 1];
    at--;
  }
  if (at == SHOWN)
    return;
  list->items[at].name = name;
  list->items[at].length = length;
  list->items[at].distance = d;
}

static size_t base_length(const char *name) {
  const char *colons = strstr(name, "::"), *base = colons ? colons + 2 : name;
  return (size_t)(base - name) + strcspn(base, ".");
}

static const fnz_op *operator_at(const fnz_context *ctx, size_t index) {
  size_t table = fnz_op_count();
  return index < table ? fnz_op_at(index) : fnz_op_declared_at(ctx, index - table);
}

/* A word without a dot is compared with names that have no overload, as people say them. */
fnz_status fnz_op_suggest(fnz_context *ctx, const char *name, fnz_buffer *out) {
  near_list list = {.count = 0};
  bool has_overload = name[base_length(name)] != 0;
  size_t operators = fnz_op_count() + fnz_op_declared_count(ctx);
  for (size_t i = 0; i < operators; i++) {
    const char *other = fnz_op_name(operator_at(ctx, i));
    consider(&list, name, other, has_overload ? strlen(other) : base_length(other));
  }
  for (size_t i = 0; i < list.count; i++) {
    const char *gap = !i ? "" : i + 1 < list.count ? ", " : " or ";
    FNZ_TRY(fnzi_put_text(ctx, out, gap));
    FNZ_TRY(fnzi_put(ctx, out, list.items[i].name, list.items[i].length));
  }
  return FNZ_OK;
}
