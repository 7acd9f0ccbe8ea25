/* view_or_copy.c - operators that are a view, the argument itself or a copy.
 *
 * Which one it is depends on eager sizes, strides, dtype and bits, and is decided here as eager
 * decides it. The rules work like the rules of views.c. */
#include "run/eager/eager.h"
#include "schema/aten_names.h"

static fnz_status other_sizes(fnzi_eag_op *s, const fnz_geometry **out) {
  fnzi_eag_tensor *other;
  FNZ_TRY(fnzi_eag_op_tensor(s, &s->args[1], &other));
  *out = other->g;
  return FNZ_OK;
}

fnz_status fnzi_eag_view_itself(fnzi_eag_op *s, fnzi_eag_window *w) {
  (void)w;
  s->outcome = FNZI_EAG_SELF;
  return FNZ_OK;
}

/* --- Other sizes ------------------------------------------------------------------------------ */

/* A view where strides allow it; else a copy, row-major, where `copies`, else an error. */
static fnz_status resize_window(fnzi_eag_op *s, fnzi_eag_window *w, int64_t *sizes, uint32_t rank,
                                bool copies) {
  int64_t strides[FNZ_MAX_RANK];
  FNZ_TRY(fnzi_eag_op_infer_sizes(s, sizes, rank, fnzi_eag_window_elements(w)));
  bool fits = fnzi_eag_window_strides(w, sizes, rank, strides);
  if (!fits && !copies)
    return fnzi_eag_op_refuse(s, "the strides do not allow this view", w->rank, rank);
  w->rank = rank;
  memcpy(w->sizes, sizes, rank * sizeof *sizes);
  if (fits) {
    memcpy(w->strides, strides, rank * sizeof *strides);
    return FNZ_OK;
  }
  fnzi_eag_window_dense(w);
  w->is_conj = w->is_neg = false;
  s->outcome = FNZI_EAG_COPY;
  return FNZ_OK;
}

static fnz_status reshape(fnzi_eag_op *s, fnzi_eag_window *w) {
  int64_t sizes[FNZ_MAX_RANK];
  uint32_t rank;
  FNZ_TRY(fnzi_eag_op_ints(s, 1, sizes, &rank));
  return resize_window(s, w, sizes, rank, true);
}

static fnz_status as_other(fnzi_eag_op *s, fnzi_eag_window *w, bool copies) {
  int64_t sizes[FNZ_MAX_RANK];
  const fnz_geometry *other;
  FNZ_TRY(other_sizes(s, &other));
  memcpy(sizes, other->sizes, other->rank * sizeof *sizes);
  return resize_window(s, w, sizes, other->rank, copies);
}

static fnz_status reshape_as(fnzi_eag_op *s, fnzi_eag_window *w) {
  return as_other(s, w, true);
}

static fnz_status view_as(fnzi_eag_op *s, fnzi_eag_window *w) {
  return as_other(s, w, false);
}

static fnz_status flatten(fnzi_eag_op *s, fnzi_eag_window *w) {
  uint32_t start, end, rank = 0;
  int64_t sizes[FNZ_MAX_RANK], joined = 1;
  FNZ_TRY(fnzi_eag_op_dim(s, 1, w->rank, &start));
  FNZ_TRY(fnzi_eag_op_dim(s, 2, w->rank, &end));
  if (start > end)
    return fnzi_eag_op_refuse(s, "the first dimension lies behind the last", start, end);
  if (w->rank > 0 && start == end)
    return fnzi_eag_view_itself(s, w);
  for (uint32_t d = 0; d < w->rank; d++) {
    joined = d > start && d <= end ? fnzi_run_wrap_mul(joined, w->sizes[d]) : w->sizes[d];
    rank += d <= start || d > end;
    sizes[rank - 1] = joined;
  }
  if (w->rank == 0)
    sizes[rank++] = 1;
  return resize_window(s, w, sizes, rank, true);
}

static fnz_status ravel(fnzi_eag_op *s, fnzi_eag_window *w) {
  fnz_geometry g = fnzi_eag_window_geometry(w);
  if (!fnzi_is_contiguous(&g)) {
    w->is_conj = w->is_neg = false;
    s->outcome = FNZI_EAG_COPY;
  }
  int64_t numel = fnzi_eag_window_elements(w), stride = 1;
  if (s->outcome == FNZI_EAG_COPY)
    w->offset = 0;
  else if (!fnzi_eag_window_strides(w, &numel, 1, &stride))
    return fnzi_eag_op_refuse(s, "the elements are not contiguous", numel, w->rank);
  w->rank = 1;
  w->sizes[0] = numel;
  w->strides[0] = stride;
  return FNZ_OK;
}

static fnz_status unflatten(fnzi_eag_op *s, fnzi_eag_window *w) {
  uint32_t dim, count;
  int64_t parts[FNZ_MAX_RANK], sizes[FNZ_MAX_RANK];
  if (w->rank == 0)
    return fnzi_eag_op_refuse(s, "there is no dimension to unflatten", 0, 0);
  FNZ_TRY(fnzi_eag_op_dim(s, 1, w->rank, &dim));
  FNZ_TRY(fnzi_eag_op_ints(s, 2, parts, &count));
  FNZ_TRY(fnzi_eag_op_infer_sizes(s, parts, count, w->sizes[dim]));
  uint32_t rank = w->rank - 1 + count;
  if (rank > FNZ_MAX_RANK)
    return fnzi_eag_op_refuse(s, "too many dimensions", rank, FNZ_MAX_RANK);
  for (uint32_t d = 0; d < rank; d++)
    sizes[d] = d < dim ? w->sizes[d] : d < dim + count ? parts[d - dim] : w->sizes[d - count + 1];
  return resize_window(s, w, sizes, rank, false);
}

static fnz_status expand_as(fnzi_eag_op *s, fnzi_eag_window *w) {
  const fnz_geometry *other;
  FNZ_TRY(other_sizes(s, &other));
  return fnzi_eag_window_expand(s, w, other->sizes, other->rank);
}

static fnz_status at_least(fnzi_eag_op *s, fnzi_eag_window *w, uint32_t rank) {
  return w->rank >= rank ? fnzi_eag_view_itself(s, w) : fnzi_eag_window_grow(s, w, rank);
}

static fnz_status atleast_1d(fnzi_eag_op *s, fnzi_eag_window *w) {
  return at_least(s, w, 1);
}

static fnz_status atleast_2d(fnzi_eag_op *s, fnzi_eag_window *w) {
  return at_least(s, w, 2);
}

static fnz_status atleast_3d(fnzi_eag_op *s, fnzi_eag_window *w) {
  return at_least(s, w, 3);
}

/* --- Other order ------------------------------------------------------------------------------ */

static fnz_status movedim(fnzi_eag_op *s, fnzi_eag_window *w) {
  fnzi_eag_window old = *w;
  int64_t source[FNZ_MAX_RANK], target[FNZ_MAX_RANK];
  uint32_t count, targets, from[FNZ_MAX_RANK];
  bool moved[FNZ_MAX_RANK] = {false}, taken[FNZ_MAX_RANK] = {false};
  FNZ_TRY(fnzi_eag_op_ints(s, 1, source, &count));
  FNZ_TRY(fnzi_eag_op_ints(s, 2, target, &targets));
  if (count != targets)
    return fnzi_eag_op_refuse(s, "source and destination differ in length", count, targets);
  if (w->rank == 0)
    return FNZ_OK; /* an alias, not the tensor itself */
  for (uint32_t i = 0; i < count; i++) {
    uint32_t a, b;
    FNZ_TRY(fnzi_wrap_dim(s->ctx, "source", source[i], w->rank, &a));
    FNZ_TRY(fnzi_wrap_dim(s->ctx, "destination", target[i], w->rank, &b));
    if (moved[a] || taken[b])
      return fnzi_eag_op_refuse(s, "a dimension is named twice", a, b);
    moved[a] = taken[b] = true;
    from[b] = a;
  }
  for (uint32_t d = 0, next = 0; d < w->rank; d++) {
    if (!taken[d]) {
      while (moved[next])
        next++;
      from[d] = next++;
    }
    w->sizes[d] = old.sizes[from[d]];
    w->strides[d] = old.strides[from[d]];
  }
  return FNZ_OK;
}

static fnz_status reverse_dims(fnzi_eag_op *s, fnzi_eag_window *w) {
  (void)s;
  for (uint32_t d = 0; d < w->rank / 2; d++)
    fnzi_eag_window_swap(w, d, w->rank - 1 - d);
  return FNZ_OK;
}

static fnz_status matrix_t(fnzi_eag_op *s, fnzi_eag_window *w) {
  if (w->rank == 0)
    return fnzi_eag_view_itself(s, w);
  if (w->rank == 1)
    return fnzi_eag_op_refuse(s, "a matrix is needed", w->rank, 2);
  fnzi_eag_window_swap(w, w->rank - 1, w->rank - 2);
  return FNZ_OK;
}

static fnz_status matrix_h(fnzi_eag_op *s, fnzi_eag_window *w) {
  FNZ_TRY(matrix_t(s, w));
  if (!fnzi_is_complex(w->dtype))
    return FNZ_OK;
  w->is_conj = !w->is_conj;
  s->outcome = FNZI_EAG_VIEW;
  return FNZ_OK;
}

/* --- Complex numbers -------------------------------------------------------------------------- */

static fnz_status part(fnzi_eag_op *s, fnzi_eag_window *w, int64_t index) {
  bool negate = w->is_conj && index == 1;
  w->is_conj = false;
  FNZ_TRY(fnzi_eag_window_real(s, w));
  w->offset = fnzi_run_wrap_add(w->offset, index);
  fnzi_eag_window_drop(w, w->rank - 1);
  if (negate)
    w->is_neg = !w->is_neg;
  return FNZ_OK;
}

static fnz_status real(fnzi_eag_op *s, fnzi_eag_window *w) {
  return fnzi_is_complex(w->dtype) ? part(s, w, 0) : fnzi_eag_view_itself(s, w);
}

static fnz_status imag(fnzi_eag_op *s, fnzi_eag_window *w) {
  return part(s, w, 1);
}

static fnz_status conjugate(fnzi_eag_op *s, fnzi_eag_window *w) {
  if (!fnzi_is_complex(w->dtype))
    return fnzi_eag_view_itself(s, w);
  w->is_conj = !w->is_conj;
  return FNZ_OK;
}

static fnz_status conj_physical(fnzi_eag_op *s, fnzi_eag_window *w) {
  if (!fnzi_is_complex(w->dtype))
    return fnzi_eag_view_itself(s, w);
  s->outcome = FNZI_EAG_COMPUTE;
  return FNZ_OK;
}

static fnz_status resolve(fnzi_eag_op *s, fnzi_eag_window *w, bool bit) {
  if (!bit)
    return fnzi_eag_view_itself(s, w);
  w->is_conj = w->is_neg = false;
  fnzi_eag_window_preserve(w);
  s->outcome = FNZI_EAG_COPY;
  return FNZ_OK;
}

static fnz_status resolve_conj(fnzi_eag_op *s, fnzi_eag_window *w) {
  return resolve(s, w, w->is_conj);
}

static fnz_status resolve_neg(fnzi_eag_op *s, fnzi_eag_window *w) {
  return resolve(s, w, w->is_neg);
}

/* --- Conversions ------------------------------------------------------------------------------ */

enum { FORMAT_CONTIGUOUS = 1, FORMAT_LAST = 2, FORMAT_LAST_3D = 3, FORMAT_PRESERVE = 4 };

/* Strides of a memory format, as .pt2 files number them. */
static fnz_status format_strides(fnzi_eag_op *s, const fnzi_eag_window *w, int64_t format,
                                 int64_t *out) {
  if (format != FORMAT_LAST && format != FORMAT_LAST_3D) {
    fnzi_contiguous_strides(w->sizes, w->rank, out);
    return FNZ_OK;
  }
  if (w->rank != (format == FORMAT_LAST ? 4u : 5u))
    return fnzi_eag_op_refuse(s, "the memory format is for another number of dimensions", w->rank,
                              format);
  int64_t stride = 1;
  out[1] = stride;
  stride *= w->sizes[1] > 1 ? w->sizes[1] : 1;
  for (uint32_t d = w->rank; d-- > 2;) {
    out[d] = stride;
    stride *= w->sizes[d] > 1 ? w->sizes[d] : 1;
  }
  out[0] = stride;
  return FNZ_OK;
}

static fnz_status contiguous(fnzi_eag_op *s, fnzi_eag_window *w) {
  int64_t strides[FNZ_MAX_RANK];
  FNZ_TRY(format_strides(s, w, fnzi_eag_op_int(s, 1, FORMAT_CONTIGUOUS), strides));
  bool same = true;
  for (uint32_t d = 0; d < w->rank; d++)
    same = same && (w->sizes[d] == 1 || w->strides[d] == strides[d]);
  if (same || fnzi_eag_window_elements(w) == 0)
    return fnzi_eag_view_itself(s, w);
  memcpy(w->strides, strides, w->rank * sizeof *strides);
  w->offset = 0;
  w->is_conj = w->is_neg = false;
  s->outcome = FNZI_EAG_COPY;
  return FNZ_OK;
}

/* The format that eager suggests for a tensor: channels-last when each stride, from the channels
 * over the last dimension to the first, covers the dimensions before. */
static int64_t suggested_format(const fnzi_eag_window *w) {
  int64_t reach = 0;
  if ((w->rank != 4 && w->rank != 5) || w->strides[1] == 0 || fnzi_eag_window_elements(w) == 0)
    return FORMAT_CONTIGUOUS;
  for (uint32_t k = 0; k < w->rank; k++) {
    uint32_t d = k == 0 ? 1 : k < w->rank - 1 ? w->rank - k : 0;
    bool rows_too = k == w->rank - 1 && reach == w->strides[1];
    if (w->strides[d] < reach || rows_too)
      return FORMAT_CONTIGUOUS;
    reach = fnzi_run_wrap_mul(w->strides[d], w->sizes[d]);
  }
  return w->rank == 4 ? FORMAT_LAST : FORMAT_LAST_3D;
}

/* `to`: self when neither dtype nor format change, unless copy=True. */
static fnz_status convert(fnzi_eag_op *s, fnzi_eag_window *w, fnz_dtype dtype) {
  int at = fnzi_op_param(s->op, "memory_format"), copy = fnzi_op_param(s->op, "copy");
  bool copies = copy >= 0 && fnzi_eag_op_int(s, (size_t)copy, 0) != 0;
  int64_t strides[FNZ_MAX_RANK];
  int64_t format = at < 0 ? FORMAT_PRESERVE : fnzi_eag_op_int(s, (size_t)at, FORMAT_PRESERVE);
  if (format != FORMAT_PRESERVE)
    FNZ_TRY(format_strides(s, w, format, strides));
  bool stays = format == FORMAT_PRESERVE || format == suggested_format(w);
  if (dtype == w->dtype && stays && !copies)
    return fnzi_eag_view_itself(s, w);
  s->outcome = dtype == w->dtype ? FNZI_EAG_COPY : FNZI_EAG_CAST;
  w->is_conj = w->is_neg = false;
  w->dtype = dtype;
  fnzi_eag_window_preserve(w);
  if (format != FORMAT_PRESERVE)
    memcpy(w->strides, strides, w->rank * sizeof *strides);
  return FNZ_OK;
}

static fnz_status to(fnzi_eag_op *s, fnzi_eag_window *w) {
  int i = fnzi_op_param(s->op, "dtype");
  return convert(s, w, i < 0 ? w->dtype : (fnz_dtype)fnzi_eag_op_int(s, (size_t)i, w->dtype));
}

static fnz_status to_other(fnzi_eag_op *s, fnzi_eag_window *w) {
  const fnz_geometry *other;
  FNZ_TRY(other_sizes(s, &other));
  return convert(s, w, other->dtype);
}

/* dropout(input, p, train) returns its argument when it is off. */
static fnz_status dropout(fnzi_eag_op *s, fnzi_eag_window *w) {
  const fnz_arg *p = &s->args[1];
  bool nothing = p->tag == FNZ_ARG_FLOAT ? p->u.f == 0 : p->tag == FNZ_ARG_INT && p->u.i == 0;
  if (nothing || fnzi_eag_op_int(s, 2, 0) == 0 || fnzi_eag_window_elements(w) == 0)
    return fnzi_eag_view_itself(s, w);
  s->outcome = FNZI_EAG_COMPUTE;
  return FNZ_OK;
}

/* sum_to_size returns self when it has the sizes. A tensor without dimensions is summed
 * nevertheless, into new memory. */
static fnz_status sum_to_size(fnzi_eag_op *s, fnzi_eag_window *w) {
  int64_t sizes[FNZ_MAX_RANK];
  uint32_t rank;
  FNZ_TRY(fnzi_eag_op_ints(s, 1, sizes, &rank));
  if (rank && rank == w->rank && memcmp(sizes, w->sizes, rank * sizeof *sizes) == 0)
    return fnzi_eag_view_itself(s, w);
  s->outcome = FNZI_EAG_COMPUTE;
  return FNZ_OK;
}

/* --- The table -------------------------------------------------------------------------------- */

static const struct {
  uint16_t op;
  fnzi_eag_view_rule *rule;
} rows[] = {
    {FNZI_ATEN_reshape, reshape},
    {FNZI_ATEN_reshape_as, reshape_as},
    {FNZI_ATEN_view_as, view_as},
    {FNZI_ATEN_flatten__using_ints, flatten},
    {FNZI_ATEN_ravel, ravel},
    {FNZI_ATEN_unflatten__int, unflatten},
    {FNZI_ATEN_expand_as, expand_as},
    {FNZI_ATEN_atleast_1d, atleast_1d},
    {FNZI_ATEN_atleast_2d, atleast_2d},
    {FNZI_ATEN_atleast_3d, atleast_3d},
    {FNZI_ATEN_movedim__int, movedim},
    {FNZI_ATEN_movedim__intlist, movedim},
    {FNZI_ATEN_moveaxis__int, movedim},
    {FNZI_ATEN_moveaxis__intlist, movedim},
    {FNZI_ATEN_numpy_T, reverse_dims},
    {FNZI_ATEN_mT, matrix_t},
    {FNZI_ATEN_mH, matrix_h},
    {FNZI_ATEN_adjoint, matrix_h},
    {FNZI_ATEN_matrix_H, matrix_h},
    {FNZI_ATEN_real, real},
    {FNZI_ATEN_imag, imag},
    {FNZI_ATEN_conj, conjugate},
    {FNZI_ATEN_conj_physical, conj_physical},
    {FNZI_ATEN_resolve_conj, resolve_conj},
    {FNZI_ATEN_resolve_neg, resolve_neg},
    {FNZI_ATEN_positive, fnzi_eag_view_itself},
    {FNZI_ATEN_contiguous, contiguous},
    {FNZI_ATEN_to__dtype, to},
    {FNZI_ATEN_to__dtype_layout, to},
    {FNZI_ATEN_to__device, to},
    {FNZI_ATEN_to__other, to_other},
    {FNZI_ATEN_type_as, to_other},
    {FNZI_ATEN_dropout, dropout},
    {FNZI_ATEN_dropout_, dropout},
    {FNZI_ATEN_feature_dropout, dropout},
    {FNZI_ATEN_feature_dropout_, dropout},
    {FNZI_ATEN_alpha_dropout, dropout},
    {FNZI_ATEN_alpha_dropout_, dropout},
    {FNZI_ATEN_feature_alpha_dropout, dropout},
    {FNZI_ATEN_feature_alpha_dropout_, dropout},
    {FNZI_ATEN_sum_to_size, sum_to_size},
};

fnzi_eag_view_rule *fnzi_eag_view_or_copy_rule(const fnz_op *op) {
  const uint16_t place = fnzi_op_place(op);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].op == place)
      return rows[i].rule;
  return fnzi_eag_split_rule(op);
}
