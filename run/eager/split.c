/* split.c - operators that cut a tensor into pieces along one dimension. */
#include "run/eager/eager.h"
#include "schema/aten_names.h"

static fnz_status piece(fnzi_eag_op *s, const fnzi_eag_window *w, uint32_t dim, int64_t start,
                        int64_t end) {
  fnzi_eag_window cut = *w;
  fnzi_eag_window_slice(&cut, dim, start, end, 1);
  s->outcome = FNZI_EAG_MANY;
  return fnzi_eag_op_push_window(s, &cut);
}

static fnz_status narrow(fnzi_eag_op *s, fnzi_eag_window *w) {
  uint32_t dim;
  int64_t start = fnzi_eag_op_int(s, 2, 0), length = fnzi_eag_op_int(s, 3, -1);
  if (w->rank == 0)
    return fnzi_eag_op_refuse(s, "there is no dimension to narrow", 0, 0);
  FNZ_TRY(fnzi_eag_op_dim(s, 1, w->rank, &dim));
  int64_t size = w->sizes[dim];
  if (s->args[2].tag == FNZ_ARG_VALUE)
    return fnzi_fail(s->ctx, FNZ_CLASS_UNSUPPORTED, "", "the start of %s depends on data",
                     s->op->name);
  if (start < 0 && start != size)
    start += size;
  if (start < 0 || length < 0 || start > size || length > size - start)
    return fnzi_eag_op_refuse(s, "the piece leaves the dimension", start, length);
  fnzi_eag_window_slice(w, dim, start, start + length, 1);
  return FNZ_OK;
}

static fnz_status pieces_of(fnzi_eag_op *s, const fnzi_eag_window *w, uint32_t dim, int64_t size) {
  int64_t held = w->sizes[dim];
  if (size < 0 || (size == 0 && held > 0))
    return fnzi_eag_op_refuse(s, "the size is not possible", size, held);
  int64_t count = size == 0 ? 1 : (held + size - 1) / size;
  for (int64_t i = 0; i < (count > 0 ? count : 1); i++)
    FNZ_TRY(piece(s, w, dim, i * size, held - i * size < size ? held : (i + 1) * size));
  return FNZ_OK;
}

static fnz_status split(fnzi_eag_op *s, fnzi_eag_window *w) {
  uint32_t dim;
  if (w->rank == 0)
    return fnzi_eag_op_refuse(s, "there is no dimension to split", 0, 0);
  FNZ_TRY(fnzi_eag_op_dim(s, 2, w->rank, &dim));
  int64_t size = fnzi_eag_op_int(s, 1, 0);
  return pieces_of(s, w, dim, size > w->sizes[dim] && w->sizes[dim] > 0 ? w->sizes[dim] : size);
}

static fnz_status split_sizes(fnzi_eag_op *s, fnzi_eag_window *w) {
  uint32_t dim;
  int64_t start = 0;
  if (w->rank == 0)
    return fnzi_eag_op_refuse(s, "there is no dimension to split", 0, 0);
  FNZ_TRY(fnzi_eag_op_dim(s, 2, w->rank, &dim));
  const fnz_arg *list = &s->args[1];
  s->outcome = FNZI_EAG_MANY;
  for (uint32_t i = 0; list->tag == FNZ_ARG_LIST && i < list->count; i++) {
    int64_t size = list->u.list[i].u.i;
    if (list->u.list[i].tag != FNZ_ARG_INT || size < 0 || size > w->sizes[dim] - start)
      return fnzi_eag_op_refuse(s, "a piece leaves the dimension", size, w->sizes[dim]);
    FNZ_TRY(piece(s, w, dim, start, start + size));
    start += size;
  }
  if (start != w->sizes[dim])
    return fnzi_eag_op_refuse(s, "the sizes must add up", start, w->sizes[dim]);
  return FNZ_OK;
}

static fnz_status chunk(fnzi_eag_op *s, fnzi_eag_window *w) {
  uint32_t dim;
  int64_t chunks = fnzi_eag_op_int(s, 1, 0);
  if (w->rank == 0 || chunks <= 0)
    return fnzi_eag_op_refuse(s, "chunks must be positive", w->rank, chunks);
  FNZ_TRY(fnzi_eag_op_dim(s, 2, w->rank, &dim));
  if (w->sizes[dim] > 0)
    return pieces_of(s, w, dim, (w->sizes[dim] - 1) / chunks + 1);
  for (int64_t i = 0; i < chunks; i++)
    FNZ_TRY(piece(s, w, dim, 0, 0));
  return FNZ_OK;
}

static fnz_status sections(fnzi_eag_op *s, const fnzi_eag_window *w, uint32_t dim, int64_t count,
                           bool even) {
  int64_t size = w->sizes[dim], start = 0;
  if (count <= 0 || (even && size % count != 0))
    return fnzi_eag_op_refuse(s, "the dimension cannot be cut like this", size, count);
  for (int64_t i = 0; i < count; i++) {
    int64_t end = start + size / count + (i < size % count);
    FNZ_TRY(piece(s, w, dim, start, end));
    start = end;
  }
  return FNZ_OK;
}

static fnz_status cut_at(fnzi_eag_op *s, const fnzi_eag_window *w, uint32_t dim) {
  const fnz_arg *list = &s->args[1];
  int64_t start = 0;
  for (uint32_t i = 0; list->tag == FNZ_ARG_LIST && i < list->count; i++) {
    int64_t end = list->u.list[i].u.i;
    FNZ_TRY(piece(s, w, dim, start, end));
    start = end;
  }
  return piece(s, w, dim, start, INT64_MAX);
}

static fnz_status tensor_split(fnzi_eag_op *s, fnzi_eag_window *w) {
  uint32_t dim;
  if (w->rank == 0)
    return fnzi_eag_op_refuse(s, "there is no dimension to split", 0, 0);
  FNZ_TRY(fnzi_eag_op_dim(s, 2, w->rank, &dim));
  if (s->args[1].tag == FNZ_ARG_LIST)
    return cut_at(s, w, dim);
  return sections(s, w, dim, fnzi_eag_op_int(s, 1, 0), false);
}

/* hsplit, vsplit, dsplit: along dimension 1, 0, 2; hsplit along 0 when it is the only one. */
static fnz_status along(fnzi_eag_op *s, fnzi_eag_window *w, uint32_t dim) {
  if (w->rank <= dim)
    return fnzi_eag_op_refuse(s, "there are too few dimensions", w->rank, dim + 1);
  if (s->args[1].tag == FNZ_ARG_LIST)
    return cut_at(s, w, dim);
  return sections(s, w, dim, fnzi_eag_op_int(s, 1, 0), true);
}

static fnz_status hsplit(fnzi_eag_op *s, fnzi_eag_window *w) {
  return along(s, w, w->rank == 1 ? 0 : 1);
}

static fnz_status vsplit(fnzi_eag_op *s, fnzi_eag_window *w) {
  return w->rank < 2 ? fnzi_eag_op_refuse(s, "two dimensions are needed", w->rank, 2)
                     : along(s, w, 0);
}

static fnz_status dsplit(fnzi_eag_op *s, fnzi_eag_window *w) {
  return along(s, w, 2);
}

/* --- The table -------------------------------------------------------------------------------- */

static const struct {
  uint16_t op;
  fnzi_eag_view_rule *rule;
} rows[] = {
    {FNZI_ATEN_narrow, narrow},
    {FNZI_ATEN_narrow__Tensor, narrow},
    {FNZI_ATEN_split__Tensor, split},
    {FNZI_ATEN_unsafe_split__Tensor, split},
    {FNZI_ATEN_split__sizes, split_sizes},
    {FNZI_ATEN_split_with_sizes, split_sizes},
    {FNZI_ATEN_unsafe_split_with_sizes, split_sizes},
    {FNZI_ATEN_chunk, chunk},
    {FNZI_ATEN_unsafe_chunk, chunk},
    {FNZI_ATEN_tensor_split__sections, tensor_split},
    {FNZI_ATEN_tensor_split__indices, tensor_split},
    {FNZI_ATEN_hsplit__int, hsplit},
    {FNZI_ATEN_hsplit__array, hsplit},
    {FNZI_ATEN_vsplit__int, vsplit},
    {FNZI_ATEN_vsplit__array, vsplit},
    {FNZI_ATEN_dsplit__int, dsplit},
    {FNZI_ATEN_dsplit__array, dsplit},
};

fnzi_eag_view_rule *fnzi_eag_split_rule(const fnz_op *op) {
  const uint16_t place = fnzi_op_place(op);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].op == place)
      return rows[i].rule;
  return NULL;
}
