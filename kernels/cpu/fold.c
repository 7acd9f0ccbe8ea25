/* fold.c - dimensions of a tensor folded away: each element is read once, where it lies. Rows of
 * neighbours go through lanes; where another dimension has the neighbours, they join numbers of
 * their own side by side. */
#include "kernels/cpu/fold.h"

#include "kernels/cpu/special_reals.h"

enum { BESIDE = 8, LONG_RUN = 64, BLOCK_BYTES = 1 << 17 };

/* --- Rows ------------------------------------------------------------------------------------ */
/* Puts reduced dimensions behind the others; returns how many others there are. */
static uint32_t rows_behind(fnzi_krn_window *w, const bool *reduced, fnzi_cpu_rows *out) {
  uint32_t order[FNZ_MAX_RANK], n = 0, kept;
  fnzi_krn_window old = *w;
  out->count = out->length = 1;
  for (uint32_t i = 0; i < old.rank; i++)
    if (!reduced[i]) {
      order[n++] = i;
      out->count *= old.sizes[i];
    }
  kept = n;
  for (uint32_t i = 0; i < old.rank; i++)
    if (reduced[i]) {
      order[n++] = i;
      out->length *= old.sizes[i];
    }
  for (uint32_t i = 0; i < n; i++) {
    w->sizes[i] = old.sizes[order[i]];
    w->strides[i] = old.strides[order[i]];
  }
  return kept;
}

uint32_t fnzi_cpu_rows_split(const fnzi_krn_call *call, const bool *reduced, fnzi_krn_window *w,
                             fnzi_cpu_rows *out) {
  fnzi_krn_window_of(fnzi_krn_call_input(call, 0), w);
  return rows_behind(w, reduced, out);
}

/* Dimensions from `first` on are one of neighbours. */
static bool lies_dense(const fnzi_krn_window *w, uint32_t first) {
  int64_t stride = 1;
  for (uint32_t d = w->rank; d-- > first; stride *= w->sizes[d])
    if (w->sizes[d] != 1 && w->strides[d] != stride)
      return false;
  return true;
}

fnz_status fnzi_cpu_rows_make(fnzi_krn_call *call, const bool *reduced, fnz_dtype dtype,
                              fnzi_cpu_rows *out) {
  fnzi_krn_window from, to;
  void *data;
  fnzi_cpu_rows_split(call, reduced, &from, out);
  *out = (fnzi_cpu_rows){dtype, from.data, out->count, out->length};
  if (from.dtype == dtype && lies_dense(&from, 0))
    return FNZ_OK;
  FNZ_TRY(fnzi_krn_scratch_take(call, out->count * out->length, fnzi_dtype(dtype)->bytes, &data));
  out->data = data;
  fnzi_krn_window_dense(&to, dtype, from.rank, from.sizes, data);
  return fnzi_krn_window_assign(call, &to, &from, false);
}

/* --- Dimensions of a fold --------------------------------------------------------------------- */
typedef struct axis {
  int64_t size, in, out; /* strides in bytes */
} axis;

typedef struct walk {
  const char *from;
  char *to;
  fnz_dtype dtype, stored; /* of numbers, of elements */
  int64_t cell, stored_cell;
  const fnzi_fold *fold;
  axis kept[FNZ_MAX_RANK], reduced[FNZ_MAX_RANK];
  uint32_t nkept, nreduced;
  int64_t beside; /* elements of the last kept dimension that are taken at once; 0: none */
} walk;

bool fnzi_cpu_fold_type(fnz_dtype dtype, fnzi_fold_type *out) {
  switch (dtype) {
  case FNZ_BOOL:
    *out = FNZI_FOLD_U8;
    return true;
#define TYPE(name, ...)                                                                            \
  case FNZ_##name:                                                                                 \
    *out = FNZI_FOLD_##name;                                                                       \
    return true;
    FNZI_FOLD_TYPE_ROWS(TYPE)
#undef TYPE
  default:
    return false;
  }
}

const fnzi_fold *fnzi_cpu_fold_find(fnzi_fold_kind kind, fnz_dtype dtype) {
  fnzi_fold_type type;
  if (!fnzi_cpu_fold_type(dtype, &type))
    return NULL;
  const fnzi_fold *fold = &fnzi_folds_best()->of[type][kind];
  return fold->row ? fold : NULL;
}

/* Dimensions that follow one another in memory are one. Reduced ones stay in order, as the first of
 * equal elements counts. */
static void find_axes(walk *w, const fnzi_krn_window *from, const bool *reduced) {
  int64_t out[FNZ_MAX_RANK], stride = w->cell;
  for (uint32_t d = from->rank; d-- > 0;) {
    out[d] = reduced[d] ? 0 : stride;
    stride *= reduced[d] ? 1 : from->sizes[d];
  }
  for (uint32_t d = 0; d < from->rank; d++) {
    axis a = {from->sizes[d], fnzi_krn_stride_bytes(from->strides[d], from->cell), out[d]};
    axis *axes = reduced[d] ? w->reduced : w->kept;
    uint32_t *count = reduced[d] ? &w->nreduced : &w->nkept;
    axis *last = *count ? &axes[*count - 1] : NULL;
    if (a.size == 1)
      continue;
    if (last && last->in == a.in * a.size && last->out == a.out * a.size)
      *last = (axis){last->size * a.size, a.in, a.out};
    else
      axes[(*count)++] = a;
  }
}

/* A kept dimension of neighbours comes last, if the reduced ones have none. */
static void find_beside(walk *w) {
  if (w->nreduced && w->reduced[w->nreduced - 1].in == w->stored_cell)
    return;
  for (uint32_t i = w->nkept; i-- > 0;) {
    axis a = w->kept[i];
    if (a.in != w->stored_cell || a.out != w->cell || a.size < BESIDE)
      continue;
    memmove(&w->kept[i], &w->kept[i + 1], (w->nkept - i - 1) * sizeof a);
    w->kept[w->nkept - 1] = a;
    w->beside = a.size;
    return;
  }
}

static int64_t fold_count_of(const axis *axes, uint32_t naxes) {
  int64_t count = 1;
  for (uint32_t i = 0; i < naxes; i++)
    count *= axes[i].size;
  return count;
}

static int64_t in_of(const axis *axes, uint32_t naxes, int64_t index) {
  int64_t at = 0;
  for (uint32_t i = naxes; i-- > 0; index /= axes[i].size)
    at += index % axes[i].size * axes[i].in;
  return at;
}

/* --- Joining ---------------------------------------------------------------------------------- */
typedef struct piece {
  _Alignas(64) char cells[FNZI_PIECE * sizeof(double)];
  int64_t count;
} piece;

static void fold_convert(const walk *w, char *to, const char *from, int64_t stride, int64_t count) {
  fnzi_krn_convert(&(fnzi_krn_conversion){w->dtype, w->stored, w->cell, stride}, to, from, count);
}

static void join_piece(const walk *w, char *to, piece *p) {
  w->fold->row(to, p->cells, p->count);
  p->count = 0;
}

/* Short runs wait until the piece is full. */
static void join_run(const walk *w, char *to, const char *from, const axis *run, piece *p) {
  bool lies_so = run->in == w->cell && w->stored == w->dtype;
  if (lies_so && run->size >= LONG_RUN) {
    join_piece(w, to, p);
    w->fold->row(to, from, run->size);
    return;
  }
  for (int64_t i = 0; i < run->size;) {
    int64_t room = FNZI_PIECE - p->count, count = run->size - i < room ? run->size - i : room;
    fold_convert(w, p->cells + p->count * w->cell, from + i * run->in, run->in, count);
    p->count += count;
    i += count;
    if (p->count == FNZI_PIECE)
      join_piece(w, to, p);
  }
}

static void join_row(const walk *w, char *to, const char *from) {
  static const axis one = {1, 0, 0};
  uint32_t outer = w->nreduced ? w->nreduced - 1 : 0;
  const axis *run = w->nreduced ? &w->reduced[outer] : &one;
  int64_t runs = fold_count_of(w->reduced, outer);
  piece p;
  p.count = 0;
  for (int64_t r = 0; r < runs; r++)
    join_run(w, to, from + in_of(w->reduced, outer, r), run, &p);
  join_piece(w, to, &p);
}

static void join_columns(const walk *w, char *to, const char *from) {
  _Alignas(64) char cells[FNZI_PIECE * sizeof(double)];
  if (w->stored == w->dtype) {
    w->fold->columns(to, from, w->beside);
    return;
  }
  for (int64_t i = 0; i < w->beside; i += FNZI_PIECE) {
    int64_t count = w->beside - i < FNZI_PIECE ? w->beside - i : FNZI_PIECE;
    fold_convert(w, cells, from + i * w->stored_cell, w->stored_cell, count);
    w->fold->columns(to + i * w->cell, cells, count);
  }
}

static void fold_numbers(const void *user, int64_t i, int lane) {
  const walk *w = user;
  uint32_t outer = w->nkept - (w->beside > 0);
  const char *from = w->from + in_of(w->kept, outer, i);
  char *to = w->to;
  for (uint32_t k = outer; k-- > 0; i /= w->kept[k].size)
    to += i % w->kept[k].size * w->kept[k].out;
  (void)lane;
  w->fold->start(to, w->beside ? w->beside : 1);
  if (!w->beside) {
    join_row(w, to, from);
    return;
  }
  int64_t length = fold_count_of(w->reduced, w->nreduced);
  for (int64_t r = 0; r < length; r++)
    join_columns(w, to, from + in_of(w->reduced, w->nreduced, r));
}

static walk make_walk(const fnzi_krn_call *call, const bool *reduced, const fnzi_fold *fold,
                      fnz_dtype dtype, void *out) {
  fnzi_krn_window from;
  fnzi_krn_window_of(fnzi_krn_call_input(call, 0), &from);
  walk w = {.from = (const char *)from.data,
            .to = out,
            .dtype = dtype,
            .stored = from.dtype,
            .cell = (int64_t)fnzi_dtype(dtype)->bytes,
            .stored_cell = (int64_t)from.cell,
            .fold = fold};
  find_axes(&w, &from, reduced);
  find_beside(&w);
  return w;
}

static void run_walk(const fnzi_krn_call *call, const walk *w) {
  int64_t numbers = fold_count_of(w->kept, w->nkept - (w->beside > 0));
  int64_t length = fold_count_of(w->reduced, w->nreduced) * (w->beside ? w->beside : 1);
  fnzi_cpu_rows_spread(call, numbers, length, fold_numbers, w);
}

void fnzi_cpu_fold(const fnzi_krn_call *call, const bool *reduced, const fnzi_fold *fold,
                   fnz_dtype dtype, void *out) {
  const walk w = make_walk(call, reduced, fold, dtype, out);
  run_walk(call, &w);
}

bool fnzi_cpu_fold_columns(const fnzi_krn_call *call, const bool *reduced, const fnzi_fold *fold,
                           fnz_dtype dtype, void *out) {
  const walk w = make_walk(call, reduced, fold, dtype, out);
  if (!w.beside)
    return false;
  run_walk(call, &w);
  return true;
}

/* --- Dense rows ------------------------------------------------------------------------------- */
typedef struct visit {
  fnzi_krn_window from; /* kept dimensions, then reduced ones */
  uint32_t nkept;
  fnzi_cpu_rows rows;
  size_t cell;
  fnzi_cpu_row_fn *body;
  fnzi_cpu_change_fn *change; /* instead of body: then */
  fnzi_krn_window to;         /* gets the rows, of the same sizes as `from` */
  const void *user;
} visit;

/* Rows of the last kept dimension; their numbers go from `first` on. */
static fnz_status visit_copies(fnzi_krn_call *call, const visit *v, fnzi_krn_window part,
                               fnzi_krn_window back, int64_t first, void *room) {
  int64_t length = v->rows.length * (int64_t)v->cell, many = part.sizes[0];
  int64_t few = BLOCK_BYTES / length < 1 ? 1 : BLOCK_BYTES / length;
  for (int64_t at = 0; at < many; at += few) {
    fnzi_krn_window to, from = part;
    fnzi_krn_window_narrow(&from, 0, at, many - at < few ? many - at : few);
    fnzi_krn_window_dense(&to, v->rows.dtype, from.rank, from.sizes, room);
    FNZ_TRY(fnzi_krn_window_assign(call, &to, &from, false));
    for (int64_t i = 0; !v->change && i < from.sizes[0]; i++)
      v->body(v->user, first + at + i, (const char *)room + i * length);
    for (int64_t i = 0; v->change && i < from.sizes[0]; i++)
      v->change(v->user, (char *)room + i * length);
    from = back;
    if (!v->change)
      continue;
    fnzi_krn_window_narrow(&from, 0, at, to.sizes[0]);
    FNZ_TRY(fnzi_krn_window_assign(call, &from, &to, false));
  }
  return FNZ_OK;
}

static fnz_status visit_blocks(fnzi_krn_call *call, visit *v) {
  void *room;
  if (v->nkept == 0) {
    fnzi_krn_window_insert(&v->from, 0, 1, 0);
    fnzi_krn_window_insert(&v->to, 0, 1, 0);
    v->nkept = 1;
  }
  uint32_t last = v->nkept - 1;
  int64_t many = v->from.sizes[last], length = v->rows.length * (int64_t)v->cell;
  int64_t most = length > BLOCK_BYTES ? length : BLOCK_BYTES;
  FNZ_TRY(fnzi_krn_scratch_take(call, most < many * length ? most : many * length, 1, &room));
  for (int64_t first = 0; first < v->rows.count; first += many) {
    fnzi_krn_window part = v->from, back = v->to;
    int64_t rest = first / many;
    for (uint32_t d = last; d-- > 0; rest /= v->from.sizes[d]) {
      fnzi_krn_window_select(&part, d, rest % v->from.sizes[d]);
      fnzi_krn_window_select(&back, d, rest % v->from.sizes[d]);
    }
    FNZ_TRY(visit_copies(call, v, part, back, first, room));
  }
  return FNZ_OK;
}

fnz_status fnzi_cpu_rows_visit(fnzi_krn_call *call, const bool *reduced, fnz_dtype dtype,
                               fnzi_cpu_row_fn *body, const void *user) {
  visit v = {.cell = fnzi_dtype(dtype)->bytes, .body = body, .user = user};
  v.nkept = fnzi_cpu_rows_split(call, reduced, &v.from, &v.rows);
  v.to = v.from;
  v.rows.dtype = dtype;
  if (v.rows.count * v.rows.length == 0)
    return FNZ_OK;
  if (v.from.dtype != dtype || !lies_dense(&v.from, v.nkept))
    return visit_blocks(call, &v);
  for (int64_t row = 0; row < v.rows.count; row++) {
    int64_t at = 0, rest = row;
    for (uint32_t d = v.nkept; d-- > 0; rest /= v.from.sizes[d])
      at += rest % v.from.sizes[d] * v.from.strides[d];
    body(user, row, v.from.data + at * (int64_t)v.cell);
  }
  return FNZ_OK;
}

fnz_status fnzi_cpu_rows_change(fnzi_krn_call *call, const bool *reduced, fnz_dtype dtype,
                                fnzi_cpu_change_fn *change, const void *user) {
  visit v = {.cell = fnzi_dtype(dtype)->bytes, .change = change, .user = user};
  fnzi_cpu_rows same;
  v.nkept = fnzi_cpu_rows_split(call, reduced, &v.from, &v.rows);
  v.rows.dtype = dtype;
  fnzi_krn_window_of(call->outputs[0], &v.to);
  rows_behind(&v.to, reduced, &same);
  return v.rows.count && v.rows.length ? visit_blocks(call, &v) : FNZ_OK;
}
