/* pick.c - dense rows picked by number, as embedding, index_select and index do, and elements at
 * places, as gather and scatter do. */
#include "kernels/cpu/pick.h"

#include "kernels/cpu/special_reals.h"

#include <stdatomic.h>

enum { BLOCK = 64, AHEAD = 2, LINE = 64, MOST_AHEAD = 1024 }; /* rows; bytes */

/* The processor does not know where the next row is before it is read. */
static void read_ahead(const fnzi_cpu_picked *p, int64_t i) {
  const char *row = p->from + p->index[i] * p->from_row;
  int64_t bytes = p->bytes < MOST_AHEAD ? p->bytes : MOST_AHEAD;
  for (int64_t at = 0; at < bytes; at += LINE)
    __builtin_prefetch(row + at);
}

static void pick_block(const void *user, int64_t block, int lane) {
  const fnzi_cpu_picked *p = user;
  int64_t end = p->count - block * BLOCK < BLOCK ? p->count : (block + 1) * BLOCK;
  (void)lane;
  for (int64_t i = block * BLOCK; i < end; i++) {
    if (i + AHEAD < end)
      read_ahead(p, i + AHEAD);
    memcpy(p->to + i * p->bytes, p->from + p->index[i] * p->from_row, (size_t)p->bytes);
  }
}

void fnzi_cpu_rows_gather(const fnzi_krn_call *call, const fnzi_cpu_picked *rows) {
  if (rows->bytes)
    fnzi_cpu_rows_spread(call, (rows->count + BLOCK - 1) / BLOCK, BLOCK * rows->bytes, pick_block,
                         rows);
}

/* --- Elements -------------------------------------------------------------------------------- */
static int64_t place_at(const char *index, int64_t i, int64_t stride) {
  int64_t place;
  memcpy(&place, index + i * stride, sizeof place);
  return place;
}

typedef struct cell_16 {
  uint64_t halves[2];
} cell_16;

/* Bytes from element to element, and from place to place; the last place there is. */
typedef struct steps {
  int64_t other, index, self, place;
  uint64_t last;
} steps;

typedef bool cells_fn(char *const *data, const steps *s, int64_t count);

static bool are_dense(const steps *s, size_t cell) {
  return s->other == (int64_t)cell && s->index == (int64_t)sizeof(int64_t) && s->self == 0 &&
         s->place == (int64_t)cell;
}

/* The bodies move an element between `to`, its place, and `met`; row_body, where a row is one
 * place. A branch for each place that is always taken costs less than to read all places before.
 * Dense elements have a loop whose strides the compiler knows. Operands are variables of their own,
 * because a cell that is written could be a part of `data`. An index that is expanded along the row
 * has one place for all of it. */
#define PLACED(name, T, body, row_body)                                                            \
  static inline __attribute__((always_inline)) bool name##_each(char *const *data, const steps s,  \
                                                                int64_t count) {                   \
    char *other = data[0], *self = data[2];                                                        \
    const char *index = data[1];                                                                   \
    for (int64_t i = 0; i < count; i++) {                                                          \
      int64_t place = place_at(index, i, s.index);                                                 \
      if ((uint64_t)place > s.last)                                                                \
        return false;                                                                              \
      char *to = self + i * s.self + place * s.place, *met = other + i * s.other;                  \
      body                                                                                         \
    }                                                                                              \
    return true;                                                                                   \
  }                                                                                                \
  static inline __attribute__((always_inline)) bool name##_along(char *const *data, const steps s, \
                                                                 int64_t count) {                  \
    int64_t place = place_at(data[1], 0, 0);                                                       \
    if ((uint64_t)place > s.last)                                                                  \
      return false;                                                                                \
    char *other = data[0], *self = data[2] + place * s.place;                                      \
    for (int64_t i = 0; i < count; i++) {                                                          \
      char *to = self + i * s.self, *met = other + i * s.other;                                    \
      row_body                                                                                     \
    }                                                                                              \
    return true;                                                                                   \
  }                                                                                                \
  static bool name(char *const *data, const steps *s, int64_t count) {                             \
    const steps dense = {sizeof(T), sizeof(int64_t), 0, sizeof(T), s->last};                       \
    const steps row = {sizeof(T), 0, sizeof(T), s->place, s->last};                                \
    const steps one = {0, 0, sizeof(T), s->place, s->last};                                        \
    if (s->index != 0)                                                                             \
      return are_dense(s, sizeof(T)) ? name##_each(data, dense, count)                             \
                                     : name##_each(data, *s, count);                               \
    if (s->self == row.self && s->other == row.other)                                              \
      return name##_along(data, row, count);                                                       \
    return s->self == one.self && s->other == one.other ? name##_along(data, one, count)           \
                                                        : name##_along(data, *s, count);           \
  }
#define COPIED(name, T, body) PLACED(name, T, body, body)
#define CELLS(id, T)                                                                               \
  COPIED(read_##id, T, memcpy(met, to, sizeof(T));)                                                \
  COPIED(write_##id, T, memcpy(to, met, sizeof(T));)
CELLS(1, uint8_t)
CELLS(2, uint16_t)
CELLS(4, uint32_t)
CELLS(8, uint64_t)
CELLS(16, cell_16)

static cells_fn *for_size(size_t cell, bool writes) {
  static cells_fn *const all[2][5] = {{read_1, read_2, read_4, read_8, read_16},
                                      {write_1, write_2, write_4, write_8, write_16}};
  int k = 0;
  while ((size_t)1 << k < cell)
    k++;
  return all[writes][k];
}

void fnzi_cpu_cells_pick(size_t cell, void *to, const void *from, const int64_t *index,
                         int64_t count) {
  char *const data[] = {to, (char *)(uintptr_t)index, (char *)(uintptr_t)from};
  const steps s = {(int64_t)cell, sizeof *index, 0, (int64_t)cell, UINT64_MAX};
  (void)for_size(cell, false)(data, &s, count);
}

/* --- Joins ----------------------------------------------------------------------------------- */
/* As rows of point.def do of the type, element by element. */
#define JOINED(T, join)                                                                            \
  T a, b;                                                                                          \
  memcpy(&a, to, sizeof a), memcpy(&b, met, sizeof b);                                             \
  join;                                                                                            \
  memcpy(to, &a, sizeof a);
#define JOIN_BY(name, id, T, join, row_join)                                                       \
  PLACED(name##_##id, T, JOINED(T, join), JOINED(T, row_join))
#define JOIN(name, id, T, value) JOIN_BY(name, id, T, a = (T)(value), a = (T)(value))
#define INTEGERS(id, T)                                                                            \
  JOIN(add, id, T, (uint64_t)a + (uint64_t)b)                                                      \
  JOIN(mul, id, T, (uint64_t)a *(uint64_t)b)                                                       \
  JOIN(maximum, id, T, a < b ? b : a) JOIN(minimum, id, T, b < a ? b : a)
/* If both are NaN, the bits of the one at the place stay. A sum of one element has them by the
 * order of its operands. Along a row compilers choose another order, so they are chosen there. */
#define FLOAT_JOIN(name, id, T, value)                                                             \
  JOIN_BY(name, id, T, a = value, a = first_nan_##id(a, b, value))
#define FLOATS(id, T, BITS)                                                                        \
  static inline T first_nan_##id(T a, T b, T value) {                                              \
    T own = a + (T)0, met = b + (T)0;                                                              \
    BITS x, y, z, takes_x = (BITS)0 - (BITS)(a != a), takes_y = (BITS)0 - (BITS)(b != b);          \
    memcpy(&x, &own, sizeof x), memcpy(&y, &met, sizeof y), memcpy(&z, &value, sizeof z);          \
    z = (x & takes_x) | (~takes_x & ((y & takes_y) | (z & ~takes_y)));                             \
    memcpy(&value, &z, sizeof z);                                                                  \
    return value;                                                                                  \
  }                                                                                                \
  FLOAT_JOIN(add, id, T, a + b)                                                                    \
  FLOAT_JOIN(mul, id, T, a *b)                                                                     \
  JOIN(maximum, id, T, a != a ? a : b != b ? b : a < b ? b : a)                                    \
  JOIN(minimum, id, T, a != a ? a : b != b ? b : b < a ? b : a)
JOIN(add, BOOL, uint8_t, (a | b) != 0)
JOIN(mul, BOOL, uint8_t, (a != 0) & (b != 0))
JOIN(maximum, BOOL, uint8_t, (a | b) != 0)
JOIN(minimum, BOOL, uint8_t, (a != 0) & (b != 0))
INTEGERS(U8, uint8_t)
INTEGERS(I8, int8_t)
INTEGERS(I16, int16_t)
INTEGERS(I32, int32_t)
INTEGERS(I64, int64_t)
FLOATS(F32, float, uint32_t)
FLOATS(F64, double, uint64_t)

/* NULL: the row itself does it, with conversions. */
static cells_fn *find_join(fnz_dtype dtype, const char *row) {
#define OF(id)                                                                                     \
  {FNZ_##id, "add", add_##id}, {FNZ_##id, "mul", mul_##id}, {FNZ_##id, "maximum", maximum_##id}, { \
    FNZ_##id, "minimum", minimum_##id                                                              \
  }
  static const struct {
    fnz_dtype dtype;
    const char *row;
    cells_fn *run;
  } all[] = {OF(BOOL), OF(U8), OF(I8), OF(I16), OF(I32), OF(I64), OF(F32), OF(F64)};
#undef OF
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i].dtype == dtype && strcmp(all[i].row, row) == 0)
      return all[i].run;
  return NULL;
}

typedef struct placing {
  const fnzi_cpu_placed *p;
  cells_fn *run;
  atomic_bool *outside; /* set where a place is */
} placing;

static bool pick_joined_row(const fnzi_cpu_placed *p, char *const *data, const steps *s,
                            int64_t count) {
  fnz_dtype dtype = p->self.dtype, class_dtype = fnzi_meta_point_class(dtype);
  double room[2][2];
  const void *in[] = {room[0], room[1]};
  for (int64_t i = 0; i < count; i++) {
    int64_t place = place_at(data[1], i, s->index);
    if ((uint64_t)place > s->last)
      return false;
    char *to = data[2] + i * s->self + place * s->place;
    fnzi_krn_convert_one(class_dtype, room[0], dtype, to);
    fnzi_krn_convert_one(class_dtype, room[1], dtype, data[0] + i * s->other);
    p->row->run(room[0], in, 1);
    fnzi_krn_convert_one(dtype, to, class_dtype, room[0]);
  }
  return true;
}

static void placed_row(const void *user, char *const *data, const int64_t *strides, int64_t count) {
  const placing *of = user;
  const steps s = {strides[0], strides[1], strides[2], of->p->step, (uint64_t)of->p->size - 1};
  if (!(of->run ? of->run(data, &s, count) : pick_joined_row(of->p, data, &s, count)))
    atomic_store_explicit(of->outside, true, memory_order_relaxed);
}

static void inside_row(const void *user, char *const *data, const int64_t *strides, int64_t count) {
  const placing *of = user;
  const char *index = data[0];
  const uint64_t last = (uint64_t)of->p->size - 1;
  uint64_t signs = 0; /* of each place, and of its distance from the last one */
  if (strides[0] == (int64_t)sizeof(int64_t))
    for (int64_t i = 0; i < count; i++) {
      uint64_t place = (uint64_t)place_at(index, i, sizeof(int64_t));
      signs |= place | (last - place);
    }
  else
    for (int64_t i = 0; i < count; i++) {
      uint64_t place = (uint64_t)place_at(index, i, strides[0]);
      signs |= place | (last - place);
    }
  if (signs >> 63)
    atomic_store_explicit(of->outside, true, memory_order_relaxed);
}

bool fnzi_cpu_places_inside(const fnzi_krn_call *call, const fnzi_krn_window *index, int64_t size) {
  atomic_bool outside = false;
  const fnzi_cpu_placed p = {.size = size};
  const placing of = {&p, NULL, &outside};
  int64_t sizes[FNZ_MAX_RANK];
  fnzi_krn_loop loop;
  for (uint32_t i = 0; i < index->rank; i++) /* an expanded index is read once */
    sizes[i] = index->strides[i] || !index->sizes[i] ? index->sizes[i] : 1;
  fnzi_krn_loop_start(&loop, index->rank, sizes);
  fnzi_krn_loop_add_window(&loop, index);
  fnzi_krn_loop_run(&loop, inside_row, &of, call->team, false);
  return !outside;
}

/* False: a place is outside. */
static bool run_placed(const fnzi_cpu_placed *p, cells_fn *run, fnzi_krn_team *team, bool ordered) {
  atomic_bool outside = false;
  const placing of = {p, run, &outside};
  fnzi_krn_loop loop;
  fnzi_krn_loop_start(&loop, p->index.rank, p->index.sizes);
  fnzi_krn_loop_add_window(&loop, &p->other);
  fnzi_krn_loop_add_window(&loop, &p->index);
  fnzi_krn_loop_add_window(&loop, &p->self);
  fnzi_krn_loop_run(&loop, placed_row, &of, team, ordered);
  return !outside;
}

bool fnzi_cpu_placed_read(const fnzi_krn_call *call, const fnzi_cpu_placed *p) {
  return run_placed(p, for_size(p->self.cell, false), call->team, false);
}

bool fnzi_cpu_placed_write(const fnzi_cpu_placed *p) {
  cells_fn *run = p->row ? find_join(p->self.dtype, p->row->name) : for_size(p->self.cell, true);
  return run_placed(p, run, NULL, true);
}
