/* int_geometry.c - geometries whose words may be expressions: how many elements, in which order.
 *
 * keeps   the answers of program/geometry.c where all words are numbers
 * gives   "yes" only where it holds at all sizes */
#include "program/shapes/ints.h"

fnzi_int fnzi_int_numel(fnzi_ints *s, const fnz_geometry *g) {
  fnzi_int n = {1};
  for (uint32_t d = 0; d < g->rank; d++)
    n = fnzi_int_mul(s, n, fnzi_int_size(g, d));
  return n;
}

void fnzi_int_row_strides(fnzi_ints *s, const fnz_geometry *g, fnzi_int *out) {
  fnzi_int stride = {1};
  for (uint32_t d = g->rank; d-- > 0;) {
    out[d] = stride;
    if (d && g->sizes[d])
      stride = fnzi_int_mul(s, stride, fnzi_int_size(g, d));
  }
}

static const char in_rows[] = "it decides whether elements follow each other in memory";

/* The stride of a dimension that steps over the finer ones. PyTorch counts a size that may be 0 as
 * Max(1, size). Both are right, because a tensor without elements has no steps. */
typedef struct reach {
  fnzi_int by_size, by_most;
} reach;

static bool is_reach(const reach *r, fnzi_int stride) {
  return fnzi_int_same(stride, r->by_size) || fnzi_int_same(stride, r->by_most);
}

/* The program may write Max(1, size) although that size is known to be above 0. */
static bool proves_reach(fnzi_ints *s, const reach *r, fnzi_int stride) {
  const fnzi_expr *e;
  if (is_reach(r, stride))
    return true;
  return !fnzi_int_is_number(stride) && !fnzi_int_is_none(stride) &&
         !fnzi_int_is_none(r->by_size) && fnzi_ints_worked(s, fnzi_ints_expr(s, stride, &e)) &&
         e->kind == FNZI_EXPR_CALL && e->function == FNZI_FUNCTION_MAX &&
         fnzi_int_is_at_least(s, stride, r->by_size) && fnzi_int_is_at_least(s, r->by_size, stride);
}

static reach reach_over(fnzi_ints *s, const reach *r, fnzi_int size) {
  const fnzi_int most = fnzi_int_is_number(size) ? size : fnzi_int_max(s, size, fnzi_int_of(1));
  return (reach){fnzi_int_mul(s, r->by_size, size), fnzi_int_mul(s, r->by_most, most)};
}

bool fnzi_int_is_contiguous(fnzi_ints *s, const fnz_geometry *g) {
  reach expected = {{1}, {1}};
  if (!s)
    return fnzi_is_contiguous(g);
  if (fnzi_int_is_empty(g))
    return true;
  /* The dimensions follow each other from the innermost. Dimensions of one element are skipped. */
  for (uint32_t d = g->rank; d-- > 0;) {
    const fnzi_int size = fnzi_int_size(g, d), stride = fnzi_int_stride(g, d);
    if (fnzi_int_is(size, 1))
      continue;
    if (!is_reach(&expected, stride)) {
      if (fnzi_int_decide_same(s, size, fnzi_int_of(1), in_rows))
        continue;
      if (fnzi_int_is(stride, 0) || /* only a tensor without elements expects this */
          !fnzi_int_decide_same(s, stride, expected.by_size, in_rows))
        return false;
    }
    expected = reach_over(s, &expected, size);
  }
  return true;
}

/* Dimensions follow each other in one order only: next is the one whose stride is what all before
 * it reach. */
bool fnzi_int_is_dense(fnzi_ints *s, const fnz_geometry *g) {
  reach expected = {{1}, {1}};
  uint64_t left = 0;
  if (!s)
    return fnzi_is_dense(g);
  if (fnzi_int_is_contiguous(s, g))
    return true;
  for (uint32_t d = 0; d < g->rank; d++)
    left |= (uint64_t)!fnzi_int_is(fnzi_int_size(g, d), 1) << d;
  while (left) {
    uint32_t d = 0;
    while (d < g->rank && !(left >> d & 1 && proves_reach(s, &expected, fnzi_int_stride(g, d))))
      d++;
    if (d == g->rank)
      return false;
    left &= ~((uint64_t)1 << d);
    expected = reach_over(s, &expected, fnzi_int_size(g, d));
  }
  return true;
}

bool fnzi_int_is_symbolic(const fnz_geometry *g) {
  bool symbolic = !fnzi_int_is_number(fnzi_int_offset(g));
  for (uint32_t d = 0; d < g->rank && !symbolic; d++)
    symbolic = !fnzi_int_is_number(fnzi_int_size(g, d)) ||
               (g->strides && !fnzi_int_is_number(fnzi_int_stride(g, d)));
  return symbolic;
}

bool fnzi_int_extent(fnzi_ints *s, const fnz_geometry *g, fnzi_int *low, fnzi_int *high) {
  const fnzi_int one = {1};
  if (!s || !fnzi_int_is_symbolic(g))
    return fnzi_extent(g, &low->bits, &high->bits) && fnzi_int_is_number(*high);
  *low = fnzi_int_offset(g);
  *high = fnzi_int_add(s, *low, one);
  for (uint32_t d = 0; d < g->rank; d++) {
    const fnzi_int last = fnzi_int_sub(s, fnzi_int_size(g, d), one);
    *high = fnzi_int_add(s, *high, fnzi_int_mul(s, last, fnzi_int_stride(g, d)));
  }
  return !fnzi_int_is_none(*high);
}

static const char nested[] = "it decides whether elements of a tensor share memory";

/* Largest stride first. False where that is not known. */
static bool geometry_sort(fnzi_ints *s, const fnz_geometry *g, uint32_t *order, uint32_t *count) {
  *count = 0;
  for (uint32_t d = 0; d < g->rank; d++) {
    const fnzi_int stride = fnzi_int_stride(g, d);
    if (fnzi_int_is(fnzi_int_size(g, d), 1))
      continue;
    uint32_t k = (*count)++;
    for (; k > 0 && !fnzi_int_is_at_least(s, fnzi_int_stride(g, order[k - 1]), stride); k--) {
      if (!fnzi_int_decide_at_least(s, stride, fnzi_int_stride(g, order[k - 1]), nested))
        return false;
      order[k] = order[k - 1];
    }
    order[k] = d;
  }
  return true;
}

bool fnzi_int_nested(fnzi_ints *s, const fnz_geometry *g, uint32_t order[FNZ_MAX_RANK],
                     uint32_t *count) {
  fnzi_int below = {1};
  *count = 0;
  for (uint32_t d = 0; d < g->rank; d++)
    if (g->strides[d] == 0 && g->sizes[d] != 1) /* nothing is divided by this */
      return false;
  if (fnzi_int_is_contiguous(s, g)) { /* in this order, where it has elements */
    for (uint32_t d = 0; d < g->rank; d++)
      if (!fnzi_int_is(fnzi_int_size(g, d), 1))
        order[(*count)++] = d;
    return true;
  }
  if (!geometry_sort(s, g, order, count))
    return false;
  for (uint32_t k = *count; k-- > 0;) {
    const fnzi_int stride = fnzi_int_stride(g, order[k]),
                   last = fnzi_int_sub(s, fnzi_int_size(g, order[k]), fnzi_int_of(1));
    if (!fnzi_int_decide_at_least(s, stride, below, nested))
      return false;
    below = fnzi_int_add(s, below, fnzi_int_mul(s, last, stride));
  }
  return true;
}

bool fnzi_int_has_sizes(const fnz_geometry *g, const fnzi_int *sizes, uint32_t rank) {
  return fnzi_has_sizes(g, rank ? &sizes->bits : NULL, rank);
}

/* --- Of the program --------------------------------------------------------------------------- */
/* A number that a file may have where no element uses it has no word, and becomes 0. */
static fnz_status word_of(fnzi_ints *s, const fnz_geometry *g, uint32_t k, int64_t *number) {
  const fnzi_expr *e = g->symbols[k] ? s->sizes->symbols[g->symbols[k]] : NULL;
  fnzi_int word = {*number};
  if (e)
    FNZ_TRY(fnzi_ints_settled(s, e, &word));
  const bool has_word = e ? !fnzi_int_is_none(word) : fnzi_int_is_number(word);
  *number = has_word ? word.bits : 0;
  return FNZ_OK;
}

fnz_status fnzi_ints_geometry(fnzi_ints *s, const fnz_geometry *g, fnzi_arena *arena,
                              const fnz_geometry **out) {
  *out = g;
  if (!g || !g->symbols)
    return FNZ_OK;
  fnz_geometry *made;
  int64_t *words;
  FNZI_NEW(arena, 1, &made);
  FNZI_NEW(arena, 2 * (size_t)g->rank, &words);
  *made = *g;
  made->symbols = NULL;
  made->sizes = words;
  made->strides = words + g->rank;
  for (uint32_t d = 0; d < g->rank; d++) {
    words[d] = g->sizes[d];
    words[g->rank + d] = g->strides[d];
    FNZ_TRY(word_of(s, g, d, &words[d]));
    FNZ_TRY(word_of(s, g, g->rank + d, &words[g->rank + d]));
  }
  bool strange = false;
  for (uint32_t d = 0; s->is_strange && d < g->rank; d++) {
    const uint32_t symbol = g->symbols[g->rank + d];
    const fnzi_expr *e = symbol ? s->sizes->symbols[symbol] : NULL;
    strange = strange || (e && s->is_strange[e->id]);
  }
  if (strange)
    fnzi_int_row_strides(s, made, (fnzi_int *)words + g->rank);
  *out = made;
  return word_of(s, g, 2 * g->rank, &made->offset);
}

/* --- Arguments -------------------------------------------------------------------------------- */
fnz_status fnzi_arg_of_ints(fnzi_arena *arena, const fnzi_int *items, size_t count, fnz_arg *out) {
  fnz_arg *list;
  FNZI_NEW(arena, count, &list);
  for (size_t i = 0; i < count; i++)
    list[i] = fnzi_arg_of_int(items[i]);
  *out = (fnz_arg){.tag = FNZ_ARG_LIST, .count = (uint32_t)count, .u.list = list};
  return FNZ_OK;
}

static fnz_status list_words(fnzi_arena *arena, const int64_t *words, uint32_t rank, fnz_arg *out) {
  fnz_arg *list;
  FNZI_NEW(arena, rank, &list);
  for (uint32_t d = 0; d < rank; d++)
    list[d] = fnzi_arg_of_int((fnzi_int){words[d]});
  *out = (fnz_arg){.tag = FNZ_ARG_LIST, .count = rank, .u.list = list};
  return FNZ_OK;
}

fnz_status fnzi_arg_of_sizes(fnzi_arena *arena, const fnz_geometry *g, fnz_arg *out) {
  return list_words(arena, g->sizes, g->rank, out);
}

fnz_status fnzi_arg_of_strides(fnzi_arena *arena, const fnz_geometry *g, fnz_arg *out) {
  return list_words(arena, g->strides, g->rank, out);
}
