/* interval_index.c - tensors sorted by their place in their storages.
 *
 * The windows of a storage become intervals of an axis on which most of them are apart: its bytes,
 * or its bytes modulo a stride. Rows are apart by their bytes; columns all lie between the first
 * byte and the last, but are apart modulo the bytes of a row.
 *
 * With symbolic sizes each answer is logged, and passes at different sizes must ask the same
 * questions. There all windows of a storage count as near, in the order of the list. */
#include "functionalize/wrapper/interval_index.h"

#include <stdlib.h>

/* --- axes ------------------------------------------------------------------------------------- */
/* The interval of bytes modulo `period` that holds the window; all of [0, period) where it wraps
 * around. */
static void lay(const fnzi_wrap_alias *a, int64_t period, int64_t *low, int64_t *high) {
  const fnz_geometry *g = &a->geometry;
  int64_t bytes = (int64_t)fnzi_dtype(g->dtype)->bytes, size = bytes;
  *low = a->low.bits % period;
  for (uint32_t d = 0; d < g->rank; d++) {
    int64_t step, reach;
    if (g->sizes[d] < 2)
      continue;
    bool fits = fnzi_mul_i64(g->strides[d], bytes, &step) && step >= 0 &&
                (step % period == 0 ||
                 (fnzi_mul_i64(g->sizes[d] - 1, step, &reach) && fnzi_add_i64(size, reach, &size)));
    if (!fits)
      size = period;
  }
  *high = *low + size;
  if (*high > period) {
    *low = 0;
    *high = period;
  }
}

/* The sum of the lengths of all windows on the axis, in periods: small where they are apart. */
static double filled(const fnzi_wrap_interval *m, size_t count, int64_t period) {
  int64_t low, high;
  double sum = 0;
  for (size_t k = 0; k < count; k++) {
    lay(m[k].tensor->alias, period, &low, &high);
    sum += (double)(high - low) / (double)period;
  }
  return sum;
}

/* Chooses the axis for one storage: that on which its windows fill least. */
static void intervals_lay_out(fnzi_wrap_interval *m, size_t count) {
  const fnzi_wrap_alias *root = m->tensor->alias->storage->root;
  int64_t bytes = (int64_t)fnzi_dtype(root->geometry.dtype)->bytes;
  int64_t period = root->high.bits > 0 ? root->high.bits : 1, step;
  double least = filled(m, count, period);
  for (uint32_t d = 0; d < root->geometry.rank && least > 2; d++) {
    if (!fnzi_mul_i64(root->geometry.strides[d], bytes, &step) || step <= 0)
      continue;
    double next = filled(m, count, step);
    if (next < least) {
      least = next;
      period = step;
    }
  }
  for (size_t k = 0; k < count; k++)
    lay(m[k].tensor->alias, period, &m[k].low, &m[k].high);
}

/* One tensor, also under two names, as after detach(). With lazy bits eager copies the other one.
 */
static bool is_same(const fnz_tensor *a, const fnz_tensor *b) {
  const fnz_geometry *g = &a->alias->geometry;
  return a == b || (a->alias == b->alias && !g->is_conj && !g->is_neg);
}

/* --- intervals -------------------------------------------------------------------------------- */
static int by_number(uintptr_t a, uintptr_t b) {
  return a < b ? -1 : a > b;
}

static int by_tensor(const void *a, const void *b) {
  const fnzi_wrap_interval *x = a, *y = b;
  int order = by_number((uintptr_t)x->tensor->alias->storage, (uintptr_t)y->tensor->alias->storage);
  if (order == 0)
    order = by_number((uintptr_t)x->tensor->alias, (uintptr_t)y->tensor->alias);
  if (order == 0)
    order = by_number((uintptr_t)x->tensor, (uintptr_t)y->tensor);
  return order ? order : by_number(x->first, y->first);
}

/* Orders intervals of one storage. */
static int by_low(const void *a, const void *b) {
  const fnzi_wrap_interval *x = a, *y = b;
  if (x->low != y->low)
    return x->low < y->low ? -1 : 1;
  return by_number(x->first, y->first);
}

static bool same_storage(const fnzi_wrap_interval *a, const fnzi_wrap_interval *b) {
  return a->tensor->alias->storage == b->tensor->alias->storage;
}

static fnz_status sort(fnz_wrapper *wrapper, fnzi_wrap_interval_index *index, size_t named) {
  size_t *at;
  FNZI_NEW(&wrapper->scratch, named, &at);
  qsort(index->intervals, index->count, sizeof *index->intervals, by_tensor);
  /* Neighbours that are the same tensor, under one name or several, become the first of them;
   * `interval_of` has the first place of each for now. */
  size_t kept = 0;
  for (size_t k = 0; k < index->count; k++) {
    fnzi_wrap_interval *m = &index->intervals[k], *last = &index->intervals[kept ? kept - 1 : 0];
    bool again = kept && is_same(last->tensor, m->tensor);
    index->interval_of[m->first] = again ? last->first : m->first;
    last->written += again ? m->written : 0;
    last->read += again ? m->read : 0;
    if (!again)
      index->intervals[kept++] = *m;
  }
  index->count = kept;
  for (size_t k = 0, end; k < index->count; k = end) {
    for (end = k + 1;
         end < index->count && same_storage(&index->intervals[k], &index->intervals[end]);)
      end++;
    fnzi_wrap_interval *m = &index->intervals[k];
    const size_t count = end - k;
    if (count > 1 && !wrapper->ints)
      intervals_lay_out(m, count);
    qsort(m, count, sizeof *m, by_low);
    for (size_t j = 0; j < count; j++)
      m[j].reach = j && m[j - 1].reach > m[j].high ? m[j - 1].reach : m[j].high;
  }
  for (size_t k = 0; k < index->count; k++)
    at[index->intervals[k].first] = k;
  for (size_t i = 0; i < named; i++)
    index->interval_of[i] = at[index->interval_of[i]];
  return FNZ_OK;
}

static void intervals_add(fnzi_wrap_interval_index *index, fnz_tensor *tensor, size_t at,
                          bool is_written) {
  size_t k = index->is_small ? 0 : index->count;
  while (k < index->count && !is_same(index->intervals[k].tensor, tensor))
    k++;
  fnzi_wrap_interval *m = &index->intervals[k];
  index->interval_of[at] = k;
  if (k == index->count) {
    m->tensor = tensor;
    m->written = m->read = 0;
    m->first = at;
    index->count++;
  }
  m->written += is_written;
  m->read += !is_written;
}

fnz_status fnzi_wrap_interval_index_build(fnz_wrapper *wrapper, fnz_tensor *const *written,
                                          size_t nwritten, fnz_tensor *const *read, size_t nread,
                                          fnzi_wrap_interval_index *out) {
  const size_t named = nwritten + nread;
  out->count = 0;
  out->is_small = named <= FNZI_FEW_INTERVALS;
  out->intervals = out->few;
  out->interval_of = out->few_of;
  if (!out->is_small) {
    FNZI_NEW(&wrapper->scratch, named, &out->intervals);
    FNZI_NEW(&wrapper->scratch, named, &out->interval_of);
  }
  for (size_t i = 0; i < nwritten; i++)
    intervals_add(out, written[i], i, true);
  for (size_t i = 0; i < nread; i++)
    intervals_add(out, read[i], nwritten + i, false);
  return out->is_small ? FNZ_OK : sort(wrapper, out, nwritten + nread);
}

void fnzi_wrap_interval_index_near(const fnzi_wrap_interval_index *index, size_t own, size_t *begin,
                                   size_t *end) {
  const fnzi_wrap_interval *all = index->intervals, *m = &all[own];
  *begin = index->is_small ? 0 : own;
  *end = index->is_small ? index->count : own + 1;
  while (*begin > 0 && same_storage(&all[*begin - 1], m) && all[*begin - 1].reach >= m->low)
    --*begin;
  while (*end < index->count && same_storage(&all[*end], m) && all[*end].low <= m->high)
    ++*end;
}
