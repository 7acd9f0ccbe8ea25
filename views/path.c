/* path.c - the shortest path from one window of a storage to a smaller one.
 *
 * Only geometry counts, not how long the chain of views to the window was. When the
 * window is made of whole ranges of the outer window's dimensions, a select, slice, permute,
 * unsqueeze and expand each (where needed) lead there: a *box*. Everything else is picked out of
 * the flat memory by one as_strided. So a replayed chain has a bounded length, and no recursion.
 *
 * needs   two windows of one storage, the second inside the first, or inside the storage
 * keeps   sizes, strides and elements of the second, whatever views led there
 * gives   steps of view operators in the arena, FNZI_MAX_STEPS at most, or that there are none; and
 *         the reverse of each step */
#include "views/box.h"
#include "views/rule.h"

/* A path that is being built, and where it has led so far. */
typedef struct walk {
  fnzi_ints *ints;
  fnzi_arena *arena;
  fnzi_path *path;
  const fnz_geometry *at;
} walk;

/* Appends a step; `window` NULL takes what the operator's forward gives. */
static fnz_status go(walk *w, fnzi_step_op which, const fnz_arg *args, size_t nargs,
                     const fnz_geometry *window) {
  fnzi_op_call call = {.op = fnzi_op_of_step(which), .nargs = nargs};
  const fnzi_view *view = fnzi_view_find(call.op);
  fnz_arg *copy;
  if (w->path->count == FNZI_MAX_STEPS)
    return fnzi_fail(w->arena->ctx, FNZ_CLASS_INTERNAL, NULL, "a path of views has too many steps");
  FNZI_NEW(w->arena, nargs, &copy);
  memcpy(copy, args, nargs * sizeof *copy);
  call.args = copy;
  if (!window) {
    fnz_geometry *opened;
    size_t count;
    FNZ_TRY(fnzi_view_forward((fnzi_int_space){w->ints, w->arena}, view, &call, w->at, &opened,
                              &count));
    window = opened;
  }
  if (w->path->count == w->path->capacity) {
    fnzi_path *p = w->path;
    fnzi_view_step *more;
    p->capacity += p->capacity + 4; /* most paths have one step or two */
    FNZI_NEW(w->arena, p->capacity, &more);
    if (p->count)
      memcpy(more, p->steps, p->count * sizeof *more);
    p->steps = more;
  }
  w->path->steps[w->path->count++] = (fnzi_view_step){view, call, 0, w->at, window};
  w->at = window;
  return FNZ_OK;
}

/* --- box -------------------------------------------------------------------------------------- */
enum { NEW_DIM = FNZI_BOX_NEW };
typedef fnzi_box box;

/* Outer dimensions of size above 1, largest stride first. Each must step over all finer ones. */
static bool nested_order(const fnz_geometry *g, uint32_t *order, uint32_t *count) {
  *count = 0;
  for (uint32_t d = 0; d < g->rank; d++) {
    if (g->sizes[d] == 1)
      continue;
    uint32_t k = (*count)++;
    for (; k > 0 && g->strides[order[k - 1]] < g->strides[d]; k--)
      order[k] = order[k - 1];
    order[k] = d;
  }
  int64_t reach = 1;
  for (uint32_t k = *count; k-- > 0;) {
    if (g->strides[order[k]] < reach)
      return false;
    reach = (g->sizes[order[k]] - 1) * g->strides[order[k]] + reach;
  }
  return true;
}

static bool locate_start(const fnz_geometry *from, const fnz_geometry *to, const uint32_t *order,
                         uint32_t count, box *b) {
  int64_t rest = to->offset - from->offset;
  if (rest < 0)
    return false;
  for (uint32_t d = 0; d < from->rank; d++) {
    b->start[d] = fnzi_int_of(0);
    b->step[d] = b->count[d] = fnzi_int_of(1);
    b->used[d] = false;
  }
  for (uint32_t k = 0; k < count; k++) {
    uint32_t d = order[k];
    b->start[d] = (fnzi_int){rest / from->strides[d]};
    rest %= from->strides[d];
    if (b->start[d].bits >= from->sizes[d])
      return false;
  }
  return rest == 0;
}

static bool locate_dims(const fnz_geometry *from, const fnz_geometry *to, const uint32_t *order,
                        uint32_t count, box *b) {
  for (uint32_t j = 0; j < to->rank; j++) {
    b->source[j] = NEW_DIM;
    if (to->sizes[j] == 1 || to->strides[j] == 0)
      continue;
    uint32_t k = 0; /* the outer dimension along which the stride of the inner window goes */
    while (k < count && from->strides[order[k]] > to->strides[j])
      k++;
    if (k == count || to->strides[j] % from->strides[order[k]] || b->used[order[k]])
      return false;
    const uint32_t d = order[k];
    const int64_t step = to->strides[j] / from->strides[d];
    if (step > from->sizes[d] || b->start[d].bits + (to->sizes[j] - 1) * step >= from->sizes[d])
      return false;
    b->step[d] = (fnzi_int){step};
    b->count[d] = fnzi_int_size(to, j);
    b->used[d] = true;
    b->source[j] = (int)d;
  }
  return true;
}

/* A dimension of size 1 comes from an unused outer one at the right place, so that it is one slice
 * instead of a select and an unsqueeze. */
static void locate_ones(const fnz_geometry *from, const fnz_geometry *to, box *b) {
  int before = -1;
  for (uint32_t j = 0; j < to->rank; j++) {
    int after = (int)from->rank;
    for (uint32_t k = j + 1; k < to->rank && after == (int)from->rank; k++)
      if (b->source[k] != NEW_DIM)
        after = b->source[k];
    for (int d = before + 1; b->source[j] == NEW_DIM && to->sizes[j] == 1 && d < after; d++)
      if (!b->used[d]) {
        b->source[j] = d;
        b->used[d] = true;
      }
    if (b->source[j] != NEW_DIM)
      before = b->source[j];
  }
}

/* The box says how many elements a slice has. A slice would compute the same number from its
 * bounds, but not always the same expression. */
static fnz_status make_slice(const walk *w, uint32_t d, const box *b, const fnz_geometry **out) {
  const fnz_geometry *at = w->at;
  const fnzi_int stride = fnzi_int_stride(at, d);
  fnz_geometry *made;
  int64_t *sizes, *strides;
  *out = NULL;
  if (!w->ints)
    return FNZ_OK;
  FNZI_NEW(w->arena, 1, &made);
  FNZI_NEW(w->arena, 2 * (size_t)at->rank, &sizes);
  strides = sizes + at->rank;
  memcpy(sizes, at->sizes, at->rank * sizeof *sizes);
  memcpy(strides, at->strides, at->rank * sizeof *strides);
  sizes[d] = b->count[d].bits;
  strides[d] = fnzi_int_mul(w->ints, stride, b->step[d]).bits;
  *made = *at;
  made->sizes = sizes;
  made->strides = strides;
  fnzi_view_move_on(w->ints, made, b->start[d], stride);
  *out = made;
  return FNZ_OK;
}

/* The end of a slice of n elements is start + n * step, which may exceed the dimension but is the
 * simplest expression where n and step are symbols. */
static fnz_status cut_dims(walk *w, const fnz_geometry *from, const box *b) {
  for (uint32_t d = from->rank; d-- > 0;) {
    const fnzi_int start = b->start[d], step = b->step[d];
    const bool whole = fnzi_int_is(start, 0) && fnzi_int_is(step, 1) &&
                       fnzi_int_same(b->count[d], fnzi_int_size(from, d));
    fnzi_int end = fnzi_int_add(w->ints, start, fnzi_int_mul(w->ints, b->count[d], step));
    end = fnzi_int_is_none(end) ? fnzi_int_of(INT64_MAX) : end;
    const fnz_arg args[] = {fnzi_arg_default(), fnzi_arg_int(d), fnzi_arg_of_int(start),
                            fnzi_arg_of_int(end), fnzi_arg_of_int(step)};
    const fnz_geometry *window;
    if (!b->used[d])
      FNZ_TRY(go(w, FNZI_STEP_SELECT, args, 3, NULL));
    else if (!whole) {
      FNZ_TRY(make_slice(w, d, b, &window));
      FNZ_TRY(go(w, FNZI_STEP_SLICE, args, fnzi_int_is(step, 1) ? 4 : 5, window));
    }
  }
  return FNZ_OK;
}

static fnz_status order_dims(walk *w, const fnz_geometry *to, const box *b) {
  int64_t dims[FNZ_MAX_RANK];
  size_t count = 0;
  bool sorted = true;
  for (uint32_t j = 0; j < to->rank; j++) {
    if (b->source[j] == NEW_DIM)
      continue;
    int64_t index = 0;
    for (int d = 0; d < b->source[j]; d++)
      index += b->used[d];
    sorted = sorted && index == (int64_t)count;
    dims[count++] = index;
  }
  if (sorted)
    return FNZ_OK;
  fnz_arg args[2] = {fnzi_arg_default()};
  FNZ_TRY(fnzi_arg_ints(w->arena, dims, count, &args[1]));
  return go(w, FNZI_STEP_PERMUTE, args, 2, NULL);
}

static bool locate(fnzi_ints *s, const fnz_geometry *from, const fnz_geometry *to, box *b) {
  uint32_t order[FNZ_MAX_RANK], count;
  if (s && (fnzi_int_is_symbolic(from) || fnzi_int_is_symbolic(to))) {
    if (fnzi_int_is_empty(from) || fnzi_int_is_empty(to) ||
        !fnzi_int_nested(s, from, order, &count) || !fnzi_box_find(s, from, to, order, count, b))
      return false;
    /* There is nothing to select in a dimension that may have no elements. */
    bool can = true;
    for (uint32_t d = 0; d < from->rank; d++)
      can = can && (b->used[d] || fnzi_int_is_less(s, b->start[d], fnzi_int_size(from, d)));
    return can;
  }
  return fnz_geometry_numel(to) > 0 && nested_order(from, order, &count) &&
         locate_start(from, to, order, count, b) && locate_dims(from, to, order, count, b);
}

fnz_status fnzi_path_box(fnzi_int_space in, const fnz_geometry *from, const fnz_geometry *to,
                         fnzi_path *path, bool *found) {
  walk w = {in.ints, in.arena, path, from};
  box b;
  *path = (fnzi_path){NULL, 0, 0};
  *found = from->dtype == to->dtype && from->is_conj == to->is_conj && from->is_neg == to->is_neg &&
           locate(in.ints, from, to, &b);
  if (!*found)
    return FNZ_OK;
  locate_ones(from, to, &b);
  FNZ_TRY(cut_dims(&w, from, &b));
  FNZ_TRY(order_dims(&w, to, &b));
  bool grows = false;
  for (uint32_t j = 0; j < to->rank; j++) {
    if (b.source[j] != NEW_DIM)
      continue;
    const fnz_arg args[] = {fnzi_arg_default(), fnzi_arg_int(j)};
    FNZ_TRY(go(&w, FNZI_STEP_UNSQUEEZE, args, 2, NULL));
    grows = grows || to->sizes[j] != 1;
  }
  if (!grows)
    return FNZ_OK;
  fnz_arg args[2] = {fnzi_arg_default()};
  FNZ_TRY(fnzi_arg_of_sizes(w.arena, to, &args[1]));
  return go(&w, FNZI_STEP_EXPAND, args, 2, NULL);
}

/* --- flat ------------------------------------------------------------------------------------- */
/* The root's dimensions in memory order. */
static fnz_status to_memory_order(walk *w) {
  int64_t dims[FNZ_MAX_RANK];
  for (uint32_t d = 0; d < w->at->rank; d++) {
    uint32_t k = d;
    for (; k > 0 && w->at->strides[dims[k - 1]] < w->at->strides[d]; k--)
      dims[k] = dims[k - 1];
    dims[k] = d;
  }
  fnz_arg args[2] = {fnzi_arg_default()};
  FNZ_TRY(fnzi_arg_ints(w->arena, dims, w->at->rank, &args[1]));
  return go(w, FNZI_STEP_PERMUTE, args, 2, NULL);
}

/* Strides and offset of an as_strided count from the first element of the value it reads. */
static fnz_status pick(walk *w, const fnz_geometry *to) {
  fnz_geometry plain = *to;
  plain.is_conj = plain.is_neg = false;
  if (fnzi_geometry_equal(&plain, w->at))
    return FNZ_OK;
  fnz_arg args[4] = {fnzi_arg_default()};
  FNZ_TRY(fnzi_arg_of_sizes(w->arena, to, &args[1]));
  FNZ_TRY(fnzi_arg_of_strides(w->arena, to, &args[2]));
  args[3] = fnzi_arg_of_int(fnzi_int_sub(w->ints, fnzi_int_offset(to), fnzi_int_offset(w->at)));
  fnz_geometry *window;
  FNZI_NEW(w->arena, 1, &window);
  *window = *to;
  window->is_conj = window->is_neg = false;
  return go(w, FNZI_STEP_AS_STRIDED, args, 4, window);
}

static fnz_status add_bits(walk *w, const fnz_geometry *to) {
  const fnz_arg none[] = {fnzi_arg_default()};
  if (to->is_conj)
    FNZ_TRY(go(w, FNZI_STEP_CONJ, none, 1, NULL));
  if (to->is_neg)
    FNZ_TRY(go(w, FNZI_STEP_NEG, none, 1, NULL));
  return FNZ_OK;
}

fnz_status fnzi_path_flat(fnzi_int_space in, const fnz_geometry *root, const fnz_geometry *to,
                          fnzi_path *path, bool *found) {
  walk w = {in.ints, in.arena, path, root};
  *path = (fnzi_path){NULL, 0, 0};
  const bool contiguous = fnzi_int_is_contiguous(in.ints, root);
  *found = !root->is_conj && !root->is_neg && !fnzi_int_is_empty(root) &&
           (contiguous || (!fnzi_int_is_symbolic(root) && fnzi_is_dense(root)));
  if (*found && w.at->dtype != to->dtype)
    *found = !fnzi_int_is_symbolic(root) && !fnzi_int_is_symbolic(to);
  if (!*found)
    return FNZ_OK;
  if (!contiguous)
    FNZ_TRY(to_memory_order(&w));
  if (w.at->dtype != to->dtype) {
    if (w.at->rank != 1) {
      const fnzi_int numel = fnzi_int_numel(w.ints, w.at);
      fnz_arg args[2] = {fnzi_arg_default()};
      FNZ_TRY(fnzi_arg_of_ints(w.arena, &numel, 1, &args[1]));
      FNZ_TRY(go(&w, FNZI_STEP_VIEW, args, 2, NULL));
    }
    const int64_t size = (int64_t)fnzi_dtype(to->dtype)->bytes,
                  bytes = (int64_t)fnzi_dtype(w.at->dtype)->bytes,
                  ratio = size > bytes ? size / bytes : 1;
    *found = w.at->strides[0] == 1 && /* a single element may have another stride */
             w.at->offset % ratio == 0;
    if (!*found)
      return FNZ_OK;
    /* Elements at the end that do not fill one of the new type are left out. */
    const int64_t whole = w.at->sizes[0] / ratio * ratio;
    const fnz_arg cut[] = {fnzi_arg_default(), fnzi_arg_int(0), fnzi_arg_int(0),
                           fnzi_arg_int(whole)};
    if (whole != w.at->sizes[0])
      FNZ_TRY(go(&w, FNZI_STEP_SLICE, cut, 4, NULL));
    const fnz_arg args[] = {fnzi_arg_default(), fnzi_arg_dtype(to->dtype)};
    FNZ_TRY(go(&w, FNZI_STEP_VIEW_DTYPE, args, 2, NULL));
  }
  FNZ_TRY(pick(&w, to));
  return add_bits(&w, to);
}

/* --- strided ---------------------------------------------------------------------------------- */
/* The stride of dimension j; where that has one element only, the stride that more would have. */
static fnzi_int new_stride(const fnz_geometry *root, const fnzi_int *row, const fnz_geometry *to,
                           uint32_t j) {
  for (uint32_t d = 0; to->sizes[j] == 1 && d < root->rank; d++)
    if (root->strides[d] == to->strides[j])
      return row[d];
  return fnzi_int_of(0);
}

/* Computes the location of the window in the row-major value of a root with gaps. */
static fnz_status locate_in_value(walk *w, const fnz_geometry *root, const fnz_geometry *to,
                                  const box *b) {
  fnzi_int row[FNZ_MAX_RANK];
  int64_t *strides;
  fnz_geometry *window;
  fnzi_int_row_strides(w->ints, root, row);
  FNZI_NEW(w->arena, 1, &window);
  FNZI_NEW(w->arena, to->rank, &strides);
  *window = *to;
  window->strides = strides;
  window->offset = w->at->offset;
  for (uint32_t d = 0; d < root->rank; d++)
    fnzi_view_move_on(w->ints, window, b->start[d], row[d]);
  for (uint32_t j = 0; j < to->rank; j++) {
    const int d = b->source[j];
    const fnzi_int stride =
        d == NEW_DIM ? new_stride(root, row, to, j) : fnzi_int_mul(w->ints, b->step[d], row[d]);
    strides[j] = stride.bits;
  }
  return pick(w, window);
}

fnz_status fnzi_path_strided(fnzi_int_space in, const fnz_geometry *root, const fnz_geometry *to,
                             fnzi_path *path, bool *found) {
  walk w = {in.ints, in.arena, path, root};
  int64_t sizes[FNZ_MAX_RANK], strides[FNZ_MAX_RANK];
  fnz_geometry joined;
  box b;
  if (fnzi_int_is_dense(in.ints, root))
    return fnzi_path_flat(in, root, to, path, found);
  *path = (fnzi_path){NULL, 0, 0};
  joined = *root;
  if (!fnzi_int_is_symbolic(root)) {
    /* Neighbouring dimensions whose elements follow each other in memory are one. */
    uint32_t rank = 0;
    for (uint32_t d = 0; d < root->rank; d++) {
      if (root->sizes[d] == 1)
        continue;
      bool follows =
          rank > 0 && fnzi_int_is_product(NULL, (fnzi_int){strides[rank - 1]},
                                          fnzi_int_size(root, d), fnzi_int_stride(root, d));
      rank += !follows;
      sizes[rank - 1] = follows ? sizes[rank - 1] * root->sizes[d] : root->sizes[d];
      strides[rank - 1] = root->strides[d];
    }
    joined.rank = rank;
    joined.sizes = sizes;
    joined.strides = strides;
  }
  *found = root->dtype == to->dtype && !root->is_conj && !root->is_neg &&
           locate(in.ints, &joined, to, &b);
  if (!*found)
    return FNZ_OK;
  FNZ_TRY(locate_in_value(&w, &joined, to, &b));
  return add_bits(&w, to);
}

/* --- one step --------------------------------------------------------------------------------- */
bool fnzi_view_step_needs_base(const fnzi_view_step *step) {
  return step->view->base != FNZI_BASE_NEW;
}

fnz_status fnzi_view_step_reverse(const fnzi_emitter *emit, const fnzi_view_step *step,
                                  fnzi_emitted base, fnzi_emitted window, fnzi_emitted *out) {
  const fnzi_reverse r = {emit,       step->call.op, step->call.args, step->call.nargs, step->index,
                          step->base, base,          window};
  return step->view->reverse(&r, out);
}
