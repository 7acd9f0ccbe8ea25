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

/* A loop for each size, and one whose strides the compiler knows. Operands: other, index, self.
 * They are variables of their own, because a cell that is written could be a part of `data`. */
#define READ_CELLS(name, type)                                                                     \
  static void read_##name(char *const *data, const int64_t *s, int64_t count, int64_t step) {      \
    const int64_t cell = sizeof(type), other = s[0], at = s[1], along = s[2];                      \
    char *to = data[0];                                                                            \
    const char *index = data[1], *self = data[2];                                                  \
    bool is_dense = other == cell && at == (int64_t)sizeof(int64_t);                               \
    for (int64_t i = 0; is_dense && i < count; i++)                                                \
      memcpy(to + i * cell, self + i * along + place_at(index, i, sizeof(int64_t)) * step,         \
             sizeof(type));                                                                        \
    for (int64_t i = 0; !is_dense && i < count; i++)                                               \
      memcpy(to + i * other, self + i * along + place_at(index, i, at) * step, sizeof(type));      \
  }                                                                                                \
  static void write_##name(char *const *data, const int64_t *s, int64_t count, int64_t step) {     \
    const int64_t cell = sizeof(type), other = s[0], at = s[1], along = s[2];                      \
    const char *from = data[0], *index = data[1];                                                  \
    char *self = data[2];                                                                          \
    bool is_dense = other == cell && at == (int64_t)sizeof(int64_t);                               \
    for (int64_t i = 0; is_dense && i < count; i++)                                                \
      memcpy(self + i * along + place_at(index, i, sizeof(int64_t)) * step, from + i * cell,       \
             sizeof(type));                                                                        \
    for (int64_t i = 0; !is_dense && i < count; i++)                                               \
      memcpy(self + i * along + place_at(index, i, at) * step, from + i * other, sizeof(type));    \
  }
READ_CELLS(1, uint8_t)
READ_CELLS(2, uint16_t)
READ_CELLS(4, uint32_t)
READ_CELLS(8, uint64_t)
READ_CELLS(16, cell_16)

typedef void cells_fn(char *const *data, const int64_t *strides, int64_t count, int64_t step);

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
  const int64_t strides[] = {(int64_t)cell, sizeof *index, 0};
  for_size(cell, false)(data, strides, count, (int64_t)cell);
}

/* --- Joins ----------------------------------------------------------------------------------- */
/* As rows of point.def do of the type, element by element. */
#define JOIN(name, id, T, value)                                                                   \
  static inline __attribute__((always_inline)) void name##_each_##id(                              \
      char *const *data, int64_t other, int64_t index, int64_t self, int64_t count,                \
      int64_t step) {                                                                              \
    const char *from = data[0], *places = data[1];                                                 \
    char *joined = data[2];                                                                        \
    for (int64_t i = 0; i < count; i++) {                                                          \
      char *to = joined + i * self + place_at(places, i, index) * step;                            \
      T a, b;                                                                                      \
      memcpy(&a, to, sizeof a), memcpy(&b, from + i * other, sizeof b);                            \
      a = (T)(value);                                                                              \
      memcpy(to, &a, sizeof a);                                                                    \
    }                                                                                              \
  }                                                                                                \
  static void name##_##id(char *const *data, const int64_t *s, int64_t count, int64_t step) {      \
    if (s[0] == sizeof(T) && s[1] == sizeof(int64_t) && s[2] == 0)                                 \
      name##_each_##id(data, sizeof(T), sizeof(int64_t), 0, count, step);                          \
    else                                                                                           \
      name##_each_##id(data, s[0], s[1], s[2], count, step);                                       \
  }
#define INTEGERS(id, T)                                                                            \
  JOIN(add, id, T, (uint64_t)a + (uint64_t)b)                                                      \
  JOIN(mul, id, T, (uint64_t)a *(uint64_t)b)                                                       \
  JOIN(maximum, id, T, a < b ? b : a) JOIN(minimum, id, T, b < a ? b : a)
#define FLOATS(id, T)                                                                              \
  JOIN(add, id, T, a + b)                                                                          \
  JOIN(mul, id, T, a *b)                                                                           \
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
FLOATS(F32, float)
FLOATS(F64, double)

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

static bool are_inside(const char *index, int64_t stride, int64_t count, int64_t size) {
  uint64_t signs = 0; /* of each place, and of its distance from the last one */
  if (stride == (int64_t)sizeof(int64_t))
    for (int64_t i = 0; i < count; i++) {
      uint64_t place = (uint64_t)place_at(index, i, sizeof(int64_t));
      signs |= place | ((uint64_t)size - 1 - place);
    }
  else
    for (int64_t i = 0; i < count; i++) {
      uint64_t place = (uint64_t)place_at(index, i, stride);
      signs |= place | ((uint64_t)size - 1 - place);
    }
  return !(signs >> 63);
}

/* Places are checked so many at a time, which are then still in a cache. */
static void checked_row(const placing *of, char *const *data, const int64_t *s, int64_t count) {
  enum { CHECKED = 512 };
  for (int64_t i = 0, n; i < count; i += n) {
    char *const at[] = {data[0] + i * s[0], data[1] + i * s[1], data[2] + i * s[2]};
    n = count - i < CHECKED ? count - i : CHECKED;
    if (!are_inside(at[1], s[1], n, of->p->size)) {
      atomic_store_explicit(of->outside, true, memory_order_relaxed);
      return;
    }
    of->run(at, s, n, of->p->step);
  }
}

static void join_element(const fnzi_cpu_placed *p, char *to, const char *from) {
  fnz_dtype dtype = p->self.dtype, class_dtype = fnzi_meta_point_class(dtype);
  double room[2][2];
  const void *in[] = {room[0], room[1]};
  fnzi_krn_convert_one(class_dtype, room[0], dtype, to);
  fnzi_krn_convert_one(class_dtype, room[1], dtype, from);
  p->row->run(room[0], in, 1);
  fnzi_krn_convert_one(dtype, to, class_dtype, room[0]);
}

static void placed_row(const void *user, char *const *data, const int64_t *strides, int64_t count) {
  const placing *of = user;
  if (of->p->size) {
    checked_row(of, data, strides, count);
    return;
  }
  if (of->run) {
    of->run(data, strides, count, of->p->step);
    return;
  }
  for (int64_t i = 0; i < count; i++)
    join_element(of->p, data[2] + i * strides[2] + place_at(data[1], i, strides[1]) * of->p->step,
                 data[0] + i * strides[0]);
}

static void inside_row(const void *user, char *const *data, const int64_t *strides, int64_t count) {
  const placing *of = user;
  if (!are_inside(data[0], strides[0], count, of->p->size))
    atomic_store_explicit(of->outside, true, memory_order_relaxed);
}

bool fnzi_cpu_places_inside(const fnzi_krn_call *call, const fnzi_krn_window *index, int64_t size) {
  atomic_bool outside = false;
  const fnzi_cpu_placed p = {.size = size};
  const placing of = {&p, NULL, &outside};
  fnzi_krn_loop loop;
  fnzi_krn_loop_start(&loop, index->rank, index->sizes);
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

void fnzi_cpu_placed_write(const fnzi_cpu_placed *p) {
  cells_fn *run = p->row ? find_join(p->self.dtype, p->row->name) : for_size(p->self.cell, true);
  (void)run_placed(p, run, NULL, true);
}
