/* near.c - which of some names may have been meant by a word that is none of them. */
#include "base/near.h"

enum { LONGEST = 96 };

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

/* One letter at least stays. */
void fnzi_near_consider(fnzi_near *near, const char *word, const char *name, size_t length) {
  size_t wanted = strlen(word), d = distance(word, wanted, name, length);
  if (d > wanted / 4 + 1 || (d && d >= wanted))
    return;
  for (size_t i = 0; i < near->count; i++)
    if (near->items[i].length == length && memcmp(near->items[i].name, name, length) == 0)
      return;
  size_t at = near->count < FNZI_NEAR_SHOWN ? near->count++ : FNZI_NEAR_SHOWN;
  while (at > 0 && near->items[at - 1].distance > d) {
    if (at < FNZI_NEAR_SHOWN)
      near->items[at] = near->items[at - 1];
    at--;
  }
  if (at == FNZI_NEAR_SHOWN)
    return;
  near->items[at].name = name;
  near->items[at].length = length;
  near->items[at].distance = d;
}

fnz_status fnzi_near_put(fnz_context *ctx, const fnzi_near *near, fnz_buffer *out) {
  for (size_t i = 0; i < near->count; i++) {
    const char *gap = !i ? "" : i + 1 < near->count ? ", " : " or ";
    FNZ_TRY(fnzi_put_text(ctx, out, gap));
    FNZ_TRY(fnzi_put(ctx, out, near->items[i].name, near->items[i].length));
  }
  return FNZ_OK;
}

fnz_status fnz_suggest(fnz_context *ctx, const char *word, const char *const *names, size_t count,
                       fnz_buffer *out) {
  fnzi_near near = {.count = 0};
  for (size_t i = 0; i < count; i++)
    fnzi_near_consider(&near, word, names[i], strlen(names[i]));
  return fnzi_near_put(ctx, &near, out);
}
