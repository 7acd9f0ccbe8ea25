/* interval_index.c - tensors sorted by where they lie in their storages.
 *
 * The windows of a storage are laid out along one axis on which most of them are apart: its bytes,
 * or its bytes modulo a stride. Rows lie apart by their bytes; columns all lie between the first
 * byte and the last, and are apart modulo the bytes of a row.
 *
 * A pass over a program of symbolic sizes writes down each answer, and all passes must ask the same
 * questions: for these all windows of a storage are near each other, in the order of the list. */
#include "functionalize/wrapper/interval_index.h"

#include <stdlib.h>

/* --- axes ------------------------------------------------------------------------------------- */
/* The interval of bytes modulo `period` that holds the window; all of [0, period) where it goes
 * round. */
static void lay(const fnzi_alias *a, int64_t period, int64_t *low, int64_t *high) {
  const fnz_geometry *g = &a->geometry;
  int64_t bytes = (int64_t)fnzi_dtype(g->dtype)->bytes, size = bytes;
  *low = a->low % period;
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

/* How much of the axis the windows fill all together, in periods: little where they are apart. */
static double filling(const fnzi_member *m, size_t count, int64_t period) {
  int64_t low, high;
  double sum = 0;
  for (size_t k = 0; k < count; k++) {
    lay(m[k].tensor->node, period, &low, &high);
    sum += (double)(high - low) / (double)period;
  }
  return sum;
}

/* The members of one storage. */
static void lay_out(fnzi_member *m, size_t count) {
  const fnzi_alias *root = m->tensor->node->storage->root;
  int64_t bytes = (int64_t)fnzi_dtype(root->geometry.dtype)->bytes;
  int64_t period = root->high > 0 ? root->high : 1, step;
  double least = filling(m, count, period);
  for (uint32_t d = 0; d < root->geometry.rank && least > 2; d++) {
    if (!fnzi_mul_i64(root->geometry.strides[d], bytes, &step) || step <= 0)
      continue;
    double next = filling(m, count, step);
    if (next < least) {
      least = next;
      period = step;
    }
  }
  for (size_t k = 0; k < count; k++)
    lay(m[k].tensor->node, period, &m[k].low, &m[k].high);
}

/* --- members ---------------------------------------------------------------------------------- */
static int by_number(uintptr_t a, uintptr_t b) {
  return a < b ? -1 : a > b;
}

static int by_tensor(const void *a, const void *b) {
  const fnzi_member *x = a, *y = b;
  int order = by_number((uintptr_t)x->tensor->node->storage, (uintptr_t)y->tensor->node->storage);
  if (order == 0)
    order = by_number((uintptr_t)x->tensor, (uintptr_t)y->tensor);
  return order ? order : by_number(x->first, y->first);
}

/* Of one storage. */
static int by_place(const void *a, const void *b) {
  const fnzi_member *x = a, *y = b;
  if (x->low != y->low)
    return x->low < y->low ? -1 : 1;
  return by_number(x->first, y->first);
}

static bool same_storage(const fnzi_member *a, const fnzi_member *b) {
  return a->tensor->node->storage == b->tensor->node->storage;
}

/* Neighbours that are the same tensor become the first of them; `member_of` has the first place of
 * each for now. */
static void unite(fnzi_crowd *c) {
  size_t kept = 0;
  for (size_t k = 0; k < c->count; k++) {
    fnzi_member *m = &c->members[k], *last = &c->members[kept ? kept - 1 : 0];
    bool again = kept && last->tensor == m->tensor;
    c->member_of[m->first] = again ? last->first : m->first;
    last->written += again ? m->written : 0;
    last->read += again ? m->read : 0;
    if (!again)
      c->members[kept++] = *m;
  }
  c->count = kept;
}

static void sort_storage(fnzi_member *m, size_t count, bool is_asked) {
  if (count > 1 && !is_asked)
    lay_out(m, count);
  qsort(m, count, sizeof *m, by_place);
  for (size_t k = 0; k < count; k++)
    m[k].reach = k && m[k - 1].reach > m[k].high ? m[k - 1].reach : m[k].high;
}

static fnz_status sort(fnz_world *world, fnzi_crowd *c, size_t named) {
  size_t *at;
  FNZI_NEW(&world->scratch, named, &at);
  qsort(c->members, c->count, sizeof *c->members, by_tensor);
  unite(c);
  for (size_t k = 0, end; k < c->count; k = end) {
    for (end = k + 1; end < c->count && same_storage(&c->members[k], &c->members[end]);)
      end++;
    sort_storage(&c->members[k], end - k, world->decisions != NULL);
  }
  for (size_t k = 0; k < c->count; k++)
    at[c->members[k].first] = k;
  for (size_t i = 0; i < named; i++)
    c->member_of[i] = at[c->member_of[i]];
  return FNZ_OK;
}

static void add(fnzi_crowd *c, fnz_tensor *tensor, size_t at, bool is_written) {
  size_t k = c->is_small ? 0 : c->count;
  while (k < c->count && c->members[k].tensor != tensor)
    k++;
  fnzi_member *m = &c->members[k];
  c->member_of[at] = k;
  if (k == c->count) {
    m->tensor = tensor;
    m->written = m->read = 0;
    m->first = at;
    c->count++;
  }
  m->written += is_written;
  m->read += !is_written;
}

static fnz_status make_room(fnz_world *world, fnzi_crowd *c, size_t named) {
  c->count = 0;
  c->is_small = named <= FNZI_CROWD_FEW;
  c->members = c->few;
  c->member_of = c->few_of;
  if (c->is_small)
    return FNZ_OK;
  FNZI_NEW(&world->scratch, named, &c->members);
  FNZI_NEW(&world->scratch, named, &c->member_of);
  return FNZ_OK;
}

fnz_status fnzi_crowd_of(fnz_world *world, fnz_tensor *const *written, size_t nwritten,
                         fnz_tensor *const *read, size_t nread, fnzi_crowd *out) {
  FNZ_TRY(make_room(world, out, nwritten + nread));
  for (size_t i = 0; i < nwritten; i++)
    add(out, written[i], i, true);
  for (size_t i = 0; i < nread; i++)
    add(out, read[i], nwritten + i, false);
  return out->is_small ? FNZ_OK : sort(world, out, nwritten + nread);
}

void fnzi_crowd_near(const fnzi_crowd *crowd, size_t member, size_t *begin, size_t *end) {
  const fnzi_member *all = crowd->members, *m = &all[member];
  *begin = crowd->is_small ? 0 : member;
  *end = crowd->is_small ? crowd->count : member + 1;
  while (*begin > 0 && same_storage(&all[*begin - 1], m) && all[*begin - 1].reach >= m->low)
    --*begin;
  while (*end < crowd->count && same_storage(&all[*end], m) && all[*end].low <= m->high)
    ++*end;
}
