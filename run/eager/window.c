/* window.c - windows and how views change them: the parts of all rules of views. */
#include "run/eager/eager.h"

void fnzi_eag_window_of(const fnz_geometry *g, fnzi_eag_window *out) {
  out->dtype = g->dtype;
  out->rank = g->rank;
  out->is_conj = g->is_conj;
  out->is_neg = g->is_neg;
  out->offset = g->offset;
  for (uint32_t d = 0; d < g->rank; d++) {
    out->sizes[d] = g->sizes[d];
    out->strides[d] = g->strides[d];
  }
}

fnz_geometry fnzi_eag_window_geometry(const fnzi_eag_window *w) {
  return (fnz_geometry){.dtype = w->dtype,
                        .rank = w->rank,
                        .is_conj = w->is_conj,
                        .is_neg = w->is_neg,
                        .offset = w->offset,
                        .sizes = w->sizes,
                        .strides = w->strides};
}

void fnzi_eag_window_dense(fnzi_eag_window *w) {
  w->offset = 0;
  fnzi_contiguous_strides(w->sizes, w->rank, w->strides);
}

/* --- Arguments -------------------------------------------------------------------------------- */

int64_t fnzi_eag_op_int(const fnzi_eag_op *s, size_t i, int64_t fallback) {
  const fnz_arg *arg = &s->args[i];
  bool number = arg->tag == FNZ_ARG_INT || arg->tag == FNZ_ARG_BOOL || arg->tag == FNZ_ARG_DTYPE ||
                arg->tag == FNZ_ARG_MEMORY_FORMAT;
  return number ? arg->u.i : fallback;
}

fnz_status fnzi_eag_op_dim(fnzi_eag_op *s, size_t i, uint32_t rank, uint32_t *out) {
  return fnzi_wrap_dim(s->ctx, s->op->params[i].name, fnzi_eag_op_int(s, i, 0), rank, out);
}

fnz_status fnzi_eag_op_ints(fnzi_eag_op *s, size_t i, int64_t out[FNZ_MAX_RANK], uint32_t *count) {
  const fnz_arg *arg = &s->args[i];
  const fnz_arg *items = arg->tag == FNZ_ARG_LIST ? arg->u.list : arg;
  uint32_t n = arg->tag == FNZ_ARG_LIST ? arg->count : 1;
  if (n > FNZ_MAX_RANK)
    return fnzi_fail(s->ctx, FNZ_CLASS_LIMIT, "", "%s of %s has %u items, at most %d are possible",
                     s->op->params[i].name, s->op->name, n, FNZ_MAX_RANK);
  for (uint32_t k = 0; k < n; k++) {
    if (items[k].tag != FNZ_ARG_INT)
      return fnzi_fail(s->ctx, FNZ_CLASS_TYPE, "", "%s of %s is no list of integers",
                       s->op->params[i].name, s->op->name);
    out[k] = items[k].u.i;
  }
  *count = n;
  return FNZ_OK;
}

fnz_status fnzi_eag_op_refuse(fnzi_eag_op *s, const char *why, int64_t a, int64_t b) {
  return fnzi_fail(s->ctx, FNZ_CLASS_BOUNDS, "", "%s: %s (%lld, %lld)", s->op->name, why,
                   (long long)a, (long long)b);
}

int64_t fnzi_eag_window_elements(const fnzi_eag_window *w) {
  fnz_geometry g = fnzi_eag_window_geometry(w);
  return fnz_geometry_numel(&g);
}

/* --- Building blocks -------------------------------------------------------------------------- */

void fnzi_eag_window_move(fnzi_eag_window *w, uint32_t dim, int64_t index) {
  w->offset = fnzi_run_wrap_add(w->offset, fnzi_run_wrap_mul(index, w->strides[dim]));
}

void fnzi_eag_window_drop(fnzi_eag_window *w, uint32_t dim) {
  w->rank--;
  for (uint32_t d = dim; d < w->rank; d++) {
    w->sizes[d] = w->sizes[d + 1];
    w->strides[d] = w->strides[d + 1];
  }
}

fnz_status fnzi_eag_window_insert(fnzi_eag_op *s, fnzi_eag_window *w, uint32_t dim, int64_t size,
                                  int64_t stride) {
  if (w->rank == FNZ_MAX_RANK)
    return fnzi_fail(s->ctx, FNZ_CLASS_LIMIT, "", "%s needs more than %d dimensions", s->op->name,
                     FNZ_MAX_RANK);
  for (uint32_t d = w->rank; d > dim; d--) {
    w->sizes[d] = w->sizes[d - 1];
    w->strides[d] = w->strides[d - 1];
  }
  w->sizes[dim] = size;
  w->strides[dim] = stride;
  w->rank++;
  return FNZ_OK;
}

void fnzi_eag_window_swap(fnzi_eag_window *w, uint32_t a, uint32_t b) {
  if (a == b)
    return;
  int64_t size = w->sizes[a], stride = w->strides[a];
  w->sizes[a] = w->sizes[b];
  w->strides[a] = w->strides[b];
  w->sizes[b] = size;
  w->strides[b] = stride;
}

static int64_t clamp(int64_t x, int64_t size) {
  if (x < 0)
    x += size;
  return x < 0 ? 0 : x > size ? size : x;
}

/* As in Python: negative bounds count from the end, bounds outside are clamped. */
void fnzi_eag_window_slice(fnzi_eag_window *w, uint32_t dim, int64_t start, int64_t end,
                           int64_t step) {
  int64_t size = w->sizes[dim], first = clamp(start, size), last = clamp(end, size);
  if (last < first)
    last = first;
  fnzi_eag_window_move(w, dim, first);
  w->sizes[dim] = last == first ? 0 : (last - first - 1) / step + 1;
  /* A step that leaves 64 bits reaches the first element only. */
  if (!fnzi_mul_i64(w->strides[dim], step, &w->strides[dim]))
    w->strides[dim] = 1;
}

fnz_status fnzi_eag_op_infer_sizes(fnzi_eag_op *s, int64_t *sizes, uint32_t rank, int64_t numel) {
  int64_t known = 1;
  uint32_t open = rank;
  for (uint32_t d = 0; d < rank; d++) {
    if (sizes[d] == -1 && open == rank)
      open = d;
    else if (sizes[d] < 0 || !fnzi_mul_i64(known, sizes[d], &known))
      return fnzi_eag_op_refuse(s, "a size is not possible", sizes[d], d);
  }
  if (open < rank && known != 0 && numel % known == 0) {
    sizes[open] = numel / known;
    known = numel;
  }
  if (known == numel && (open == rank || sizes[open] >= 0))
    return FNZ_OK;
  return fnzi_eag_op_refuse(s, "the sizes do not hold the elements", known, numel);
}

/* PyTorch's rule: the old dimensions, from the last, form runs that are contiguous among
 * themselves; new dimensions must divide each run. */
bool fnzi_eag_window_strides(const fnzi_eag_window *w, const int64_t *sizes, uint32_t rank,
                             int64_t *out) {
  int64_t numel = fnzi_eag_window_elements(w);
  if (numel == 0) {
    bool same = w->rank == rank && memcmp(sizes, w->sizes, rank * sizeof *sizes) == 0;
    for (uint32_t d = rank; d-- > 0;)
      out[d] = same            ? w->strides[d]
               : d + 1 == rank ? 1
                               : fnzi_run_wrap_mul(out[d + 1], sizes[d + 1] > 1 ? sizes[d + 1] : 1);
    return true;
  }
  uint32_t to = rank;
  int64_t run = 1, covered = 1, unit = w->rank == 0 ? 1 : w->strides[w->rank - 1];
  for (uint32_t from = w->rank; from-- > 0;) {
    run *= w->sizes[from];
    bool joined = from > 0 &&
                  (w->sizes[from - 1] == 1 || w->strides[from - 1] == fnzi_run_wrap_mul(run, unit));
    if (joined)
      continue;
    while (to > 0 && (covered < run || sizes[to - 1] == 1)) {
      out[--to] = fnzi_run_wrap_mul(covered, unit);
      covered *= sizes[to];
    }
    if (covered != run)
      return false;
    if (from > 0)
      unit = w->strides[from - 1];
    run = covered = 1;
  }
  while (to > 0 && sizes[to - 1] == 1)
    out[--to] = 1;
  return to == 0;
}

fnz_status fnzi_eag_op_broadcast_sizes(fnzi_eag_op *s, const fnz_geometry *g, int64_t *sizes,
                                       uint32_t *rank) {
  for (; *rank < g->rank; (*rank)++) {
    memmove(sizes + 1, sizes, *rank * sizeof *sizes);
    sizes[0] = 1;
  }
  for (uint32_t d = 0; d < g->rank; d++) {
    int64_t *joined = &sizes[*rank - g->rank + d];
    if (*joined == 1)
      *joined = g->sizes[d];
    else if (g->sizes[d] != 1 && g->sizes[d] != *joined)
      return fnzi_eag_op_refuse(s, "sizes do not broadcast", *joined, g->sizes[d]);
  }
  return FNZ_OK;
}

fnz_status fnzi_eag_window_expand(fnzi_eag_op *s, fnzi_eag_window *w, const int64_t *sizes,
                                  uint32_t rank) {
  fnzi_eag_window old = *w;
  if (rank < old.rank)
    return fnzi_eag_op_refuse(s, "there are fewer sizes than dimensions", rank, old.rank);
  w->rank = rank;
  for (uint32_t d = rank; d-- > 0;) {
    bool fresh = d < rank - old.rank;
    int64_t beyond = d + 1 < rank ? fnzi_run_wrap_mul(w->sizes[d + 1], w->strides[d + 1]) : 1;
    int64_t had = fresh ? 1 : old.sizes[d - (rank - old.rank)];
    int64_t stride = fresh ? beyond : old.strides[d - (rank - old.rank)];
    int64_t size = sizes[d] == -1 && !fresh ? had : sizes[d];
    if (size < 0 || (had != size && had != 1))
      return fnzi_eag_op_refuse(s, "cannot expand a dimension of this size to that", had, size);
    w->sizes[d] = size;
    w->strides[d] = had == size ? stride : 0;
  }
  return FNZ_OK;
}

/* Memory can be viewed as another dtype only when cells are bytes. */
fnz_status fnzi_eag_op_need_bytes(fnzi_eag_op *s) {
  fnz_backend *b = s->in->run.backend;
  if (b->cell_bytes(b->self, FNZ_U8) * 8 == b->cell_bytes(b->self, FNZ_F64))
    return FNZ_OK;
  return fnzi_fail(s->ctx, FNZ_CLASS_UNSUPPORTED, "",
                   "%s sees memory under another dtype, which needs hashes per byte", s->op->name);
}

/* Adds dimensions up to `rank`: in front at ranks 0 and 1, behind at rank 2. */
fnz_status fnzi_eag_window_grow(fnzi_eag_op *s, fnzi_eag_window *w, uint32_t rank) {
  while (w->rank < rank) {
    uint32_t at = w->rank == 2 ? 2 : 0;
    int64_t stride = at == w->rank ? 1 : fnzi_run_wrap_mul(w->sizes[at], w->strides[at]);
    FNZ_TRY(fnzi_eag_window_insert(s, w, at, 1, stride));
  }
  return FNZ_OK;
}

fnz_status fnzi_eag_window_real(fnzi_eag_op *s, fnzi_eag_window *w) {
  FNZ_TRY(fnzi_eag_op_need_bytes(s));
  if (!fnzi_is_complex(w->dtype) || w->is_conj)
    return fnzi_fail(s->ctx, FNZ_CLASS_TYPE, "", "%s needs a complex tensor without conjugate bit",
                     s->op->name);
  w->dtype = w->dtype == FNZ_C128 ? FNZ_F64 : w->dtype == FNZ_C64 ? FNZ_F32 : FNZ_F16;
  w->offset = fnzi_run_wrap_mul(w->offset, 2);
  for (uint32_t d = 0; d < w->rank; d++)
    w->strides[d] = fnzi_run_wrap_mul(w->strides[d], 2);
  return fnzi_eag_window_insert(s, w, w->rank, 2, 1);
}
