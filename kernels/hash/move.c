/* move.c - operators that move elements and compute nothing: views, scatters, clones and casts. */
#include "kernels/hash/hash.h"
#include "schema/aten_names.h"
#include "views/views.h"

/* --- Windows into dense values ---------------------------------------------------------------- */

/* Its elements are in one row with the elements of the dimension before it. Strides of empty
 * tensors may be any. */
static bool goes_on(const fnz_geometry *g, uint32_t d) {
  int64_t span;
  return fnzi_mul_i64(g->sizes[d], g->strides[d], &span) && g->strides[d - 1] == span;
}

/* How many dimensions are not in a row of both. */
static uint32_t outer_dims(const fnz_geometry *a, const fnz_geometry *b) {
  uint32_t d = a->rank ? a->rank - 1 : 0;
  while (d > 0 && goes_on(a, d) && goes_on(b, d))
    d--;
  return d;
}

static void start_rows(fnzi_hash_walk *w, const fnz_geometry *g, uint32_t outer) {
  memset(w->index, 0, g->rank * sizeof *w->index);
  w->g = g;
  w->outer = outer;
  w->place = g->offset;
  w->length = w->left = 1;
  w->step = g->rank ? g->strides[g->rank - 1] : 1;
  for (uint32_t d = 0; d < g->rank; d++)
    *(d < outer ? &w->left : &w->length) *= g->sizes[d];
  if (w->length == 0)
    w->left = 0;
}

/* Over two of the same sizes, which have the same rows. */
static void walk_both(fnzi_hash_walk *w, const fnz_geometry *g, fnzi_hash_walk *other,
                      const fnz_geometry *like) {
  const uint32_t outer = outer_dims(g, like);
  start_rows(w, g, outer);
  start_rows(other, like, outer);
}

void fnzi_hash_walk_start(fnzi_hash_walk *w, const fnz_geometry *g) {
  start_rows(w, g, outer_dims(g, g));
}

void fnzi_hash_walk_next(fnzi_hash_walk *w) {
  uint32_t d = w->outer;
  for (w->left--; d-- > 0;) {
    if (++w->index[d] < w->g->sizes[d]) {
      w->place += w->g->strides[d];
      return;
    }
    w->place -= (w->g->sizes[d] - 1) * w->g->strides[d]; /* no further than the last element */
    w->index[d] = 0;
  }
}

/* The window lies in `ncells` cells of `unit` each. */
static fnz_status check(fnzi_hash_call *h, const fnz_geometry *window,
                        const fnzi_hash_value *base) {
  int64_t low, high;
  size_t unit = fnzi_hash_unit(h->hasher, window->dtype);
  if (!h->hasher->bytewise && window->dtype != base->g.dtype)
    return fnzi_fail(h->ctx, FNZ_CLASS_UNSUPPORTED, "",
                     "%s sees elements under another dtype, which needs hashes per byte",
                     h->op->name);
  if (fnzi_extent(window, &low, &high) && low >= 0 && (size_t)high <= base->ncells / unit)
    return FNZ_OK;
  return fnzi_fail(h->ctx, FNZ_CLASS_BOUNDS, "", "%s leaves the tensor it looks at", h->op->name);
}

fnz_status fnzi_hash_dense(fnzi_hash_call *h, const fnzi_hash_value *v, fnz_geometry *out) {
  int64_t *strides;
  FNZI_NEW(&h->arena, v->g.rank, &strides);
  fnzi_contiguous_strides(v->g.sizes, v->g.rank, strides);
  *out = v->g;
  out->strides = strides;
  return FNZ_OK;
}

/* --- Lazy bits -------------------------------------------------------------------------------- */

/* Negation is a fixed involution per byte of a real number; of a complex one, on both parts.
 * Conjugation is that on the second part. So the imaginary part of a conjugate is the negative one.
 */
static void flip(const fnzi_hash_backend *hasher, const fnz_geometry *g, bool conj, bool neg,
                 fnzi_cell *cells) {
  size_t bytes = fnz_dtype_get_info(g->dtype)->bytes;
  bool complex = fnzi_is_complex(g->dtype);
  size_t part = complex ? bytes / 2 : bytes;
  for (size_t j = 0; j < (hasher->bytewise ? bytes : 1); j++) {
    bool second = complex && j >= part;
    if (neg)
      cells[j].of ^= fnzi_hash_combine(hasher->seed ^ 0x6e6567, j % part);
    if (conj && (second || !hasher->bytewise))
      cells[j].of ^=
          fnzi_hash_combine(hasher->seed ^ (hasher->bytewise ? 0x6e6567 : 0x636f6e6a), j % part);
  }
}

/* --- Views ------------------------------------------------------------------------------------ */

static fnz_status pull_cells(fnzi_hash_call *h, fnzi_hash_value *base, const fnz_geometry *window) {
  fnzi_hash_value *out;
  fnzi_hash_walk w;
  FNZ_TRY(fnzi_hash_look(h, base));
  FNZ_TRY(fnzi_hash_result_like(h, window, &out));
  fnzi_cell *to = out->cells;
  for (fnzi_hash_walk_start(&w, window); w.left > 0; fnzi_hash_walk_next(&w)) {
    /* The cells of a row, one after the other. */
    fnzi_cell *next = to;
    const fnzi_cell *from = base->cells + (size_t)w.place * out->unit;
    if (w.step == 1)
      memcpy(next, from, (size_t)w.length * out->unit * sizeof *next);
    else
      for (int64_t k = 0; k < w.length; k++, next += out->unit)
        memcpy(next, from + k * w.step * (int64_t)out->unit, out->unit * sizeof *next);
    to += (size_t)w.length * out->unit;
  }
  for (size_t i = 0; (window->is_conj || window->is_neg) && i < out->ncells; i += out->unit)
    flip(h->hasher, window, window->is_conj, window->is_neg, out->cells + i);
  return FNZ_OK;
}

fnz_status fnzi_hash_pull(fnzi_hash_call *h, fnzi_hash_value *base, const fnz_geometry *window) {
  FNZ_TRY(check(h, window, base));
  if (!base->is_series || window->is_conj || window->is_neg || !fnzi_is_contiguous(window))
    return pull_cells(h, base, window);
  uint64_t skipped = (uint64_t)window->offset * fnzi_hash_unit(h->hasher, window->dtype);
  return fnzi_hash_result_series_like(h, window, fnzi_cell_behind(base->start, skipped));
}

static fnz_status view(fnzi_hash_call *h, const fnzi_view *row) {
  fnzi_hash_value *base;
  fnz_geometry g, *windows;
  size_t count;
  const fnzi_op_call call = {h->op, h->args, h->op->nparams};
  FNZ_TRY(fnzi_hash_input(h, 0, &base));
  FNZ_TRY(fnzi_hash_dense(h, base, &g));
  FNZ_TRY(fnzi_view_forward((fnzi_int_space){NULL, &h->arena}, row, &call, &g, &windows, &count));
  for (size_t i = 0; i < count; i++)
    FNZ_TRY(fnzi_hash_pull(h, base, &windows[i]));
  return FNZ_OK;
}

/* --- Scatters --------------------------------------------------------------------------------- */

/* Dimensions of both in the order in which eager's loop writes the window. */
typedef struct ordered {
  fnz_geometry window, source;
  int64_t sizes[FNZ_MAX_RANK], to[FNZ_MAX_RANK], from[FNZ_MAX_RANK];
} ordered;

static void put_in_order(const fnz_geometry *window, const fnz_geometry *source,
                         const int64_t *rows, ordered *out) {
  uint32_t order[FNZ_MAX_RANK];
  out->window = out->source = *window;
  fnzi_loop_order(window, &source, source->strides ? 1 : 0, order);
  for (uint32_t d = 0; d < window->rank; d++) {
    out->sizes[d] = window->sizes[order[d]];
    out->to[d] = window->strides[order[d]];
    out->from[d] = rows[order[d]];
  }
  out->window.sizes = out->source.sizes = out->sizes;
  out->window.strides = out->to;
  out->source.strides = out->from;
  out->source.offset = 0;
}

static uint64_t cast_print(const fnzi_hash_backend *hasher, fnz_dtype from, fnz_dtype to) {
  return fnzi_hash_combine(hasher->seed ^ 0x63617374, (uint64_t)from * FNZ_DTYPE_COUNT + to);
}

/* An element of one cell keeps its place when it becomes one of another dtype. */
static fnzi_cell cast_cell(const fnzi_hash_backend *hasher, fnz_dtype from, fnzi_cell in,
                           fnz_dtype to) {
  return (fnzi_cell){fnzi_hash_combine(cast_print(hasher, from, to), in.of), in.at};
}

/* Cells of one element in another dtype. */
static void cast(const fnzi_hash_backend *hasher, fnz_dtype from, const fnzi_cell *in, fnz_dtype to,
                 fnzi_cell *out) {
  size_t units = fnzi_hash_unit(hasher, from), count = fnzi_hash_unit(hasher, to);
  if (from == to) {
    memcpy(out, in, count * sizeof *out);
    return;
  }
  if (units == 1 && count == 1) {
    *out = cast_cell(hasher, from, *in, to);
    return;
  }
  uint64_t h = cast_print(hasher, from, to);
  for (size_t j = 0; j < units; j++)
    h = fnzi_hash_cell(h, in[j]);
  for (size_t j = 0; j < count; j++)
    out[j] = (fnzi_cell){h, j};
}

/* The elements of one row to the places of another. Elements that are not stored go to adjacent
 * places. */
static void cast_row(const fnzi_hash_backend *hasher, const fnzi_hash_value *from,
                     const fnzi_hash_walk *r, fnzi_hash_value *to, const fnzi_hash_walk *w) {
  fnzi_cell *out = to->cells + (size_t)w->place * to->unit;
  const size_t first = (size_t)r->place * from->unit, count = (size_t)w->length * to->unit;
  if (from->cells == NULL) {
    fnzi_series_fill(fnzi_cell_behind(from->start, first), count, out);
    return;
  }
  const fnzi_cell *in = from->cells + first;
  if (from->g.dtype == to->g.dtype && r->step == 1 && w->step == 1) {
    memcpy(out, in, count * sizeof *out);
    return;
  }
  for (int64_t k = 0; k < w->length; k++)
    cast(hasher, from->g.dtype, in + k * r->step * (int64_t)from->unit, to->g.dtype,
         out + k * w->step * (int64_t)to->unit);
}

static fnz_status scatter(fnzi_hash_call *h, const fnz_op *view) {
  fnzi_hash_value *base, *source, *out;
  fnz_geometry g, rows, *window;
  fnzi_hash_walk w, r;
  ordered t;
  FNZ_TRY(fnzi_hash_input(h, 0, &base));
  FNZ_TRY(fnzi_hash_input(h, 1, &source));
  FNZ_TRY(fnzi_hash_dense(h, base, &g));
  /* Arguments: base, source, then the arguments of the view through which it writes. */
  fnz_arg *args;
  size_t count;
  FNZI_NEW(&h->arena, view->nparams, &args);
  args[0] = h->args[0];
  for (size_t i = 1; i < view->nparams; i++)
    args[i] = h->args[i + 1];
  const fnzi_op_call call = {view, args, view->nparams};
  FNZ_TRY(fnzi_view_forward((fnzi_int_space){NULL, &h->arena}, fnzi_view_find(view), &call, &g,
                            &window, &count));
  FNZ_TRY(check(h, window, base));
  if (!fnzi_same_sizes(window, &source->g))
    return fnzi_fail(h->ctx, FNZ_CLASS_BOUNDS, "",
                     "%s: the source has other sizes than the place it goes to", h->op->name);
  FNZ_TRY(fnzi_hash_look(h, base));
  FNZ_TRY(fnzi_hash_look(h, source));
  FNZ_TRY(fnzi_hash_result_like(h, &base->g, &out));
  memcpy(out->cells, base->cells, base->ncells * sizeof *base->cells);
  FNZ_TRY(fnzi_hash_dense(h, source, &rows));
  put_in_order(window, &source->g, rows.strides, &t);
  for (walk_both(&w, &t.window, &r, &t.source); w.left > 0;
       fnzi_hash_walk_next(&w), fnzi_hash_walk_next(&r))
    cast_row(h->hasher, source, &r, out, &w);
  return FNZ_OK;
}

/* --- Copies and casts ------------------------------------------------------------------------- */

fnz_status fnzi_hash_broadcast(fnzi_hash_call *h, const fnzi_hash_value *from,
                               const fnz_geometry *to, fnz_geometry *out, bool *fits) {
  int64_t *strides;
  fnz_geometry dense;
  *fits = from->g.rank <= to->rank;
  FNZI_NEW(&h->arena, to->rank, &strides);
  FNZ_TRY(fnzi_hash_dense(h, from, &dense));
  for (uint32_t d = 0; *fits && d < dense.rank; d++) {
    uint32_t at = to->rank - dense.rank + d;
    *fits = dense.sizes[d] == 1 || dense.sizes[d] == to->sizes[at];
    strides[at] = dense.sizes[d] == 1 ? 0 : dense.strides[d];
  }
  *out = *to;
  out->offset = 0;
  out->strides = strides;
  return FNZ_OK;
}

/* The next result: sizes and dtype of `like`, elements of `from`, broadcast and cast. */
static fnz_status spread(fnzi_hash_call *h, fnzi_hash_value *from, const fnz_geometry *like) {
  fnz_geometry window, rows;
  fnzi_hash_value *to;
  fnzi_hash_walk r, w;
  bool fits;
  if (from->is_series && fnzi_same_sizes(&from->g, like)) {
    if (from->g.dtype == like->dtype)
      return fnzi_hash_result_series_like(h, like, from->start);
    if (from->unit == 1 && fnzi_hash_unit(h->hasher, like->dtype) == 1)
      return fnzi_hash_result_series_like(
          h, like, cast_cell(h->hasher, from->g.dtype, from->start, like->dtype));
  }
  FNZ_TRY(fnzi_hash_look(h, from));
  FNZ_TRY(fnzi_hash_result_like(h, like, &to));
  FNZ_TRY(fnzi_hash_broadcast(h, from, &to->g, &window, &fits));
  if (!fits)
    return fnzi_fail(h->ctx, FNZ_CLASS_BOUNDS, "", "%s: the source does not broadcast",
                     h->op->name);
  FNZ_TRY(fnzi_hash_dense(h, to, &rows));
  for (walk_both(&r, &window, &w, &rows); r.left > 0;
       fnzi_hash_walk_next(&r), fnzi_hash_walk_next(&w))
    cast_row(h->hasher, from, &r, to, &w);
  return FNZ_OK;
}

/* The first argument as it is. */
static fnz_status clone(fnzi_hash_call *h) {
  fnzi_hash_value *from, *to;
  FNZ_TRY(fnzi_hash_input(h, 0, &from));
  if (from->is_series)
    return fnzi_hash_result_series_like(h, &from->g, from->start);
  FNZ_TRY(fnzi_hash_result_like(h, &from->g, &to));
  memcpy(to->cells, from->cells, from->ncells * sizeof *from->cells);
  return FNZ_OK;
}

/* copy(self, src) and fill.Tensor(self, value): the second with sizes and dtype of the first. */
static fnz_status copy(fnzi_hash_call *h) {
  fnzi_hash_value *self, *source;
  FNZ_TRY(fnzi_hash_input(h, 0, &self));
  FNZ_TRY(fnzi_hash_input(h, 1, &source));
  return spread(h, source, &self->g);
}

/* The same if its dtype is the requested one, if any. */
static fnz_status to_copy(fnzi_hash_call *h) {
  fnzi_hash_value *from;
  int at = fnzi_op_param(h->op, "dtype");
  if (at < 0)
    return clone(h);
  FNZ_TRY(fnzi_hash_input(h, 0, &from));
  fnz_geometry g = from->g;
  if (at >= 0 && h->args[at].tag == FNZ_ARG_DTYPE)
    g.dtype = (fnz_dtype)h->args[at].u.i;
  return spread(h, from, &g);
}

/* Other sizes for the same elements; all of them must stay. */
static fnz_status reshape(fnzi_hash_call *h) {
  fnzi_hash_value *from, *to;
  FNZ_TRY(fnzi_hash_input(h, 0, &from));
  if (from->is_series)
    FNZ_TRY(fnzi_hash_result_series(h, NULL, from->start));
  else
    FNZ_TRY(fnzi_hash_result(h, NULL, &to));
  to = fnzi_hash_value_of(h->outputs[h->count - 1]);
  if (from->ncells != to->ncells || from->g.dtype != to->g.dtype)
    return fnzi_fail(h->ctx, FNZ_CLASS_BOUNDS, "", "%s: the sizes do not hold the elements",
                     h->op->name);
  if (!from->is_series)
    memcpy(to->cells, from->cells, from->ncells * sizeof *from->cells);
  return FNZ_OK;
}

/* The elements in order as far as there are any, then zeros. */
static fnz_status resize(fnzi_hash_call *h) {
  fnzi_hash_value *from, *to;
  FNZ_TRY(fnzi_hash_input(h, 0, &from));
  FNZ_TRY(fnzi_hash_result(h, NULL, &to));
  if (from->g.dtype != to->g.dtype)
    return fnzi_fail(h->ctx, FNZ_CLASS_TYPE, "", "%s of %s cannot give %s", h->op->name,
                     fnzi_dtype(from->g.dtype)->name, fnzi_dtype(to->g.dtype)->name);
  FNZ_TRY(fnzi_hash_look(h, from));
  size_t kept = from->ncells < to->ncells ? from->ncells : to->ncells;
  const fnz_arg zero = {.tag = FNZ_ARG_INT};
  memcpy(to->cells, from->cells, kept * sizeof *to->cells);
  for (size_t i = kept; i < to->ncells; i += to->unit)
    fnzi_hash_number(h->hasher, &zero, to->g.dtype, to->cells + i);
  return FNZ_OK;
}

/* One part of a cat or stack: its elements go to `at` and the `length` of them behind it along
 * dimension `dim` of the result. */
static fnz_status put_part(fnzi_hash_call *h, fnzi_hash_value *part, int64_t *at, int64_t length,
                           uint32_t dim, fnzi_hash_value *to) {
  fnz_geometry window, source;
  int64_t *sizes, *strides;
  fnzi_hash_walk r, w;
  if (part->g.dtype != to->g.dtype)
    FNZ_TRY(fnzi_hash_look(h, part));
  FNZ_TRY(fnzi_hash_dense(h, to, &window));
  FNZI_NEW(&h->arena, to->g.rank, &sizes);
  memcpy(sizes, window.sizes, to->g.rank * sizeof *sizes);
  window.sizes = sizes;
  sizes[dim] = length;
  window.offset = *at * window.strides[dim];
  *at += length;
  if (*at > to->g.sizes[dim] || part->ncells != (size_t)fnz_geometry_numel(&window) * part->unit)
    return fnzi_fail(h->ctx, FNZ_CLASS_BOUNDS, "", "%s: the parts do not have the result's sizes",
                     h->op->name);
  FNZI_NEW(&h->arena, window.rank, &strides);
  fnzi_contiguous_strides(sizes, window.rank, strides);
  source = (fnz_geometry){.rank = window.rank, .sizes = sizes, .strides = strides};
  for (walk_both(&w, &window, &r, &source); w.left > 0;
       fnzi_hash_walk_next(&w), fnzi_hash_walk_next(&r))
    cast_row(h->hasher, part, &r, to, &w);
  return FNZ_OK;
}

/* cat(tensors, dim) and stack(tensors, dim): side by side along a dimension. */
static fnz_status join(fnzi_hash_call *h, bool stacks) {
  const fnz_arg *list = &h->args[0];
  fnzi_hash_value *to;
  uint32_t dim;
  int64_t at = 0;
  FNZ_TRY(fnzi_hash_result(h, NULL, &to));
  if (list->tag != FNZ_ARG_LIST || h->args[1].tag != FNZ_ARG_INT || to->g.rank == 0)
    return fnzi_fail(h->ctx, FNZ_CLASS_TYPE, "", "%s needs a list and a dimension", h->op->name);
  FNZ_TRY(fnzi_wrap_dim(h->ctx, h->op->name, h->args[1].u.i, to->g.rank, &dim));
  for (uint32_t k = 0; k < list->count; k++) {
    if (list->u.list[k].tag != FNZ_ARG_VALUE)
      return fnzi_fail(h->ctx, FNZ_CLASS_TYPE, "", "item %u of %s is no tensor", k, h->op->name);
    fnzi_hash_value *part = fnzi_hash_value_of(list->u.list[k].u.value);
    if (stacks || part->g.rank == to->g.rank)
      FNZ_TRY(put_part(h, part, &at, stacks ? 1 : part->g.sizes[dim], dim, to));
  }
  if (at == to->g.sizes[dim])
    return FNZ_OK;
  return fnzi_fail(h->ctx, FNZ_CLASS_BOUNDS, "", "%s: the parts do not fill the result",
                   h->op->name);
}

/* --- Which operators move --------------------------------------------------------------------- */

/* The access in runs.def of the kernel that kernels.def names, by operator. */
enum { CALL, VIEW, SAME, COPY, DROPOUT, SCATTER, CAT, STACK };
enum {
#define RUN(name, access, ...) ACCESS_OF_##name = access,
#include "kernels/runs.def"
#undef RUN
};
static const uint8_t accesses[FNZI_ATEN_COUNT] = {
#define KERNEL(op, accepts, memory, shape, run) [FNZI_ATEN_##op] = ACCESS_OF_##run,
#include "kernels/kernels.def"
#undef KERNEL
};

/* Operators without a kernel, or with one that does more than to move. */
static const struct {
  uint16_t op;
  fnz_status (*move)(fnzi_hash_call *h);
} movers[] = {
    {FNZI_ATEN_lift, clone},
    {FNZI_ATEN_resolve_conj, clone},
    {FNZI_ATEN_resolve_neg, clone},
    {FNZI_ATEN_positive, clone},
    {FNZI_ATEN_fill__Tensor, copy},
    {FNZI_ATEN_to__dtype, to_copy},
    {FNZI_ATEN_to__dtype_layout, to_copy},
    {FNZI_ATEN_to__device, to_copy},
    {FNZI_ATEN_reshape, reshape},
    {FNZI_ATEN__unsafe_view, reshape},
    {FNZI_ATEN__reshape_alias_copy, reshape},
    {FNZI_ATEN_flatten__using_ints, reshape},
    {FNZI_ATEN_resize, resize},
};

static fnz_status move_listed(fnzi_hash_call *h, uint16_t place, bool *done) {
  for (size_t i = 0; i < sizeof movers / sizeof *movers; i++)
    if (movers[i].op == place)
      return movers[i].move(h);
  /* The conjugate of real numbers. */
  if (h->op == &fnzi_ops[FNZI_ATEN_conj_physical] && h->args[0].tag == FNZ_ARG_VALUE &&
      !fnzi_is_complex(fnzi_hash_value_of(h->args[0].u.value)->g.dtype))
    return clone(h);
  const fnzi_view *row = fnzi_view_find(h->op);
  if (row != NULL)
    return view(h, row);
  *done = false;
  return FNZ_OK;
}

fnz_status fnzi_hash_move(fnzi_hash_call *h, bool *done) {
  const uint16_t place = fnzi_op_place(fnzi_op_canonical(h->op));
  const fnz_op *through;
  *done = true;
  switch (place == FNZI_NO_OP ? CALL : accesses[place]) {
  case SAME:
    return to_copy(h);
  case COPY:
    return copy(h);
  case CAT:
    return join(h, false);
  case STACK:
    return join(h, true);
  case DROPOUT:
    *done = h->op->nreturns == 1 &&
            (h->args[2].u.i == 0 || (h->args[1].tag == FNZ_ARG_FLOAT && h->args[1].u.f == 0));
    return *done ? clone(h) : FNZ_OK;
  case SCATTER:
    through = fnzi_view_scattered(h->op);
    *done = through != NULL;
    return through ? scatter(h, through) : FNZ_OK;
  default:
    return move_listed(h, place, done);
  }
}
