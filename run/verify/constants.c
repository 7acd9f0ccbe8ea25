/* constants.c - the constants of expressions, next to which conditions begin and cease to hold. */
#include "run/verify/constants.h"

void fnzi_ver_constants_add(fnzi_ver_constants *c, int64_t number) {
  bool is_known = number <= INT64_MIN / 4 || number >= INT64_MAX / 4;
  for (size_t i = 0; i < c->count && !is_known; i++)
    is_known = c->numbers[i] == number;
  if (!is_known && c->count < FNZI_VER_CONSTANTS)
    c->numbers[c->count++] = number;
}

/* Parts of an expression come before it in the set. */
fnz_status fnzi_ver_constants_add_expr(fnzi_ver_constants *c, const fnzi_sizes *s,
                                       const fnzi_expr *e) {
  fnz_context *ctx = s->set.ctx;
  uint8_t *parts = fnzi_resize(ctx, NULL, 0, s->set.all.count);
  if (parts == NULL)
    return fnzi_no_memory(ctx);
  memset(parts, 0, s->set.all.count);
  parts[e->id] = true;
  fnzi_mark_parts(s, (size_t)e->id + 1, parts);
  for (uint32_t i = 0; i <= e->id; i++)
    if (parts[i] && s->set.all.data[i]->den == 1) {
      fnzi_ver_constants_add(c, s->set.all.data[i]->num);
      fnzi_ver_constants_add(c, (int64_t) - (uint64_t)s->set.all.data[i]->num);
    }
  fnzi_free(ctx, parts, s->set.all.count);
  return FNZ_OK;
}

size_t fnzi_ver_constants_list(const fnzi_ver_constants *c, int64_t out[FNZI_VER_CANDIDATES]) {
  size_t count = 0;
  for (int64_t small = 0; small < 5; small++)
    out[count++] = small;
  for (size_t i = 0; i < c->count; i++)
    for (int64_t by = -1; by <= 1; by++)
      out[count++] = c->numbers[i] + by;
  return count;
}
