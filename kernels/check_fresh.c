/* check_fresh.c - do recorded strides make the elements of a new tensor share memory? Symbolic
 * numbers are judged at sizes that the program allows.
 *
 * needs   a verified program
 * gives   true only where the elements share memory at such sizes: what no hint, range or number
 *         says stays open */
#include "kernels/check_types.h"

#include <ctype.h>

enum { OPEN = -1 }; /* no size and no stride is negative */

/* A guard may leave no two elements to a size that has no hint. */
static fnz_status choose(const fnz_program *p, fnzi_map *ranges, int64_t *samples) {
  bool any = p->guards.count > 0;
  for (size_t i = 0; i < p->ranges.count; i++)
    FNZ_TRY(fnzi_map_set(ranges, &p->ranges.data[i].symbol, sizeof(const char *), i));
  for (size_t i = 1; i < p->symbols.count; i++) {
    const fnzi_symbol *s = &p->symbols.data[i];
    const char *end = s->text;
    uint64_t k;
    while (isalnum((unsigned char)*end) || *end == '_')
      end++;
    bool is_name = *end == '\0'; /* else others decide its number */
    samples[i] = s->has_hint ? s->hint : OPEN;
    if (s->has_hint || any || !is_name)
      continue;
    samples[i] = 2; /* two elements show as much as many */
    if (!fnzi_map_get(ranges, &s->text, sizeof s->text, &k))
      continue;
    const fnzi_range *r = &p->ranges.data[k];
    samples[i] = r->max < 2 ? OPEN : r->min > 2 ? r->min : 2;
  }
  return FNZ_OK;
}

fnz_status fnzi_krn_samples_choose(fnz_context *ctx, const fnz_program *p, fnzi_arena *arena,
                                   int64_t **out) {
  fnzi_map ranges;
  FNZI_NEW(arena, p->symbols.count, out);
  fnzi_map_init(&ranges, ctx);
  fnz_status status = choose(p, &ranges, *out);
  fnzi_map_free(&ranges);
  return status;
}

/* Number k of the 2 * rank + 1 of a type. */
static int64_t number_at(const int64_t *samples, const fnz_geometry *g, uint32_t k,
                         int64_t recorded) {
  return g->symbols && g->symbols[k] ? samples[g->symbols[k]] : recorded;
}

/* Along a dimension that is open it is judged at one place. */
bool fnzi_krn_overlaps_itself(const int64_t *samples, const fnz_geometry *g) {
  int64_t sizes[FNZ_MAX_RANK], strides[FNZ_MAX_RANK], low, high;
  fnz_geometry window = {.dtype = g->dtype, .sizes = sizes, .strides = strides};
  for (uint32_t d = 0; d < g->rank; d++) {
    int64_t size = number_at(samples, g, d, g->sizes[d]);
    int64_t stride = number_at(samples, g, g->rank + d, g->strides[d]);
    if (size == 0)
      return false;
    if (size < 0 || stride < 0)
      continue;
    sizes[window.rank] = size;
    strides[window.rank++] = stride;
  }
  return fnzi_elements_fit(&window) && fnzi_extent(&window, &low, &high) &&
         fnzi_oracle_relate_self(NULL, &window, FNZI_MUCH_WORK) == FNZI_OVERLAPS;
}
