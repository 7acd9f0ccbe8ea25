/* multi.c - operators of several tensors whose results are windows into these. */
#include "run/eager/eager.h"
#include "schema/aten_names.h"

static const fnz_arg *item(const fnzi_eag_op *s, uint32_t k) {
  return &s->args[0].u.list[k];
}

static uint32_t length(const fnzi_eag_op *s) {
  return s->args[0].tag == FNZ_ARG_LIST ? s->args[0].count : 0;
}

/* The k-th tensor, expanded to the sizes; the tensor itself when `same` and it has them. */
static fnz_status spread(fnzi_eag_op *s, uint32_t k, const fnzi_eag_window *narrow,
                         const int64_t *sizes, uint32_t rank, bool same) {
  fnzi_eag_window w = *narrow;
  FNZ_TRY(fnzi_eag_op_tensor(s, item(s, k), &s->self));
  bool has = same && w.rank == rank && memcmp(w.sizes, sizes, rank * sizeof *sizes) == 0;
  if (has)
    return fnzi_eag_op_push(s, s->self);
  FNZ_TRY(fnzi_eag_window_expand(s, &w, sizes, rank));
  return fnzi_eag_op_push_window(s, &w);
}

/* --- broadcast_tensors ------------------------------------------------------------------------ */

fnz_status fnzi_eag_broadcast_tensors(fnzi_eag_op *s) {
  int64_t sizes[FNZ_MAX_RANK];
  uint32_t rank = 0;
  fnzi_eag_tensor *t;
  for (uint32_t k = 0; k < length(s); k++) {
    FNZ_TRY(fnzi_eag_op_tensor(s, item(s, k), &t));
    FNZ_TRY(fnzi_eag_op_broadcast_sizes(s, t->g, sizes, &rank));
  }
  for (uint32_t k = 0; k < length(s); k++) {
    fnzi_eag_window w;
    FNZ_TRY(fnzi_eag_op_tensor(s, item(s, k), &t));
    fnzi_eag_window_of(t->g, &w);
    FNZ_TRY(spread(s, k, &w, sizes, rank, true));
  }
  return FNZ_OK;
}

/* --- meshgrid --------------------------------------------------------------------------------- */

/* "xy" counts the first two tensors the other way round. */
static uint32_t multi_place(const fnzi_eag_op *s, uint32_t k) {
  bool xy = s->op->nparams > 1 && strcmp(s->args[1].u.s, "xy") == 0;
  return xy && length(s) > 1 && k < 2 ? 1 - k : k;
}

/* The k-th tensor varies along dimension place(k) of all results. */
static fnz_status axis(fnzi_eag_op *s, uint32_t k, uint32_t rank, fnzi_eag_window *w) {
  fnzi_eag_tensor *t;
  FNZ_TRY(fnzi_eag_op_tensor(s, item(s, k), &t));
  if (t->g->rank > 1)
    return fnzi_eag_op_refuse(s, "a tensor has more than one dimension", t->g->rank, k);
  fnzi_eag_window_of(t->g, w);
  int64_t size = w->rank == 0 ? 1 : w->sizes[0], stride = w->rank == 0 ? 1 : w->strides[0];
  uint32_t at = multi_place(s, k);
  w->rank = rank;
  for (uint32_t d = 0; d < rank; d++) {
    w->sizes[d] = d == at ? size : 1;
    w->strides[d] = d == at ? stride : d < at ? fnzi_run_wrap_mul(size, stride) : 1;
  }
  return FNZ_OK;
}

fnz_status fnzi_eag_meshgrid(fnzi_eag_op *s) {
  int64_t sizes[FNZ_MAX_RANK];
  fnzi_eag_window w;
  uint32_t rank = length(s);
  if (rank > FNZ_MAX_RANK)
    return fnzi_eag_op_refuse(s, "too many tensors", rank, FNZ_MAX_RANK);
  for (uint32_t k = 0; k < rank; k++) {
    FNZ_TRY(axis(s, k, rank, &w));
    sizes[multi_place(s, k)] = w.sizes[multi_place(s, k)];
  }
  for (uint32_t k = 0; k < rank; k++) {
    FNZ_TRY(axis(s, k, rank, &w));
    FNZ_TRY(spread(s, k, &w, sizes, rank, false));
  }
  return FNZ_OK;
}

/* --- atleast_1d and others, of lists
 * ----------------------------------------------------------- */
fnz_status fnzi_eag_at_least(fnzi_eag_op *s) {
  static const uint16_t by_rank[] = {FNZI_ATEN_atleast_1d__Sequence, FNZI_ATEN_atleast_2d__Sequence,
                                     FNZI_ATEN_atleast_3d__Sequence};
  uint32_t rank = 1;
  while (rank < 3 && by_rank[rank - 1] != fnzi_op_place(s->op))
    rank++;
  for (uint32_t k = 0; k < length(s); k++) {
    fnzi_eag_window w;
    FNZ_TRY(fnzi_eag_op_tensor(s, item(s, k), &s->self));
    fnzi_eag_window_of(s->self->g, &w);
    if (w.rank >= rank) {
      FNZ_TRY(fnzi_eag_op_push(s, s->self));
      continue;
    }
    FNZ_TRY(fnzi_eag_window_grow(s, &w, rank));
    FNZ_TRY(fnzi_eag_op_push_window(s, &w));
  }
  return FNZ_OK;
}

/* --- einsum ----------------------------------------------------------------------------------- */

/* The summed strides of the dimensions with one letter (0: the ellipsis). */
typedef struct label_row {
  int64_t size, stride;
  bool used;
} label_row;

typedef struct letters {
  label_row rows[128];
  uint32_t dots; /* dimensions of the ellipsis; they have the rows 0, 1 ... */
} letters;

/* How many dimensions the text before the arrow names without the ellipsis; -1: another operand. */
static int letters_before(const char *at, bool *ellipsis) {
  int n = 0;
  for (*ellipsis = false; *at != 0 && *at != '-'; at++) {
    if (*at == ',')
      return -1;
    *ellipsis = *ellipsis || *at == '.';
    n += *at != '.' && *at != ' ';
  }
  return n;
}

static void take_dim(label_row *row, const fnzi_eag_window *w, uint32_t d) {
  row->size = w->sizes[d];
  row->stride = fnzi_run_wrap_add(row->stride, w->strides[d]);
  row->used = true;
}

/* The labels of the operand; `*twice` when one of them has several dimensions. */
static const char *read_operand(const char *at, const fnzi_eag_window *w, letters *l, bool *twice) {
  uint32_t d = 0;
  for (; *at != 0 && *at != '-'; at++) {
    if (*at == '.') {
      at += 2;
      for (uint32_t i = 0; i < l->dots; i++)
        take_dim(&l->rows[i], w, d++);
    } else if (*at != ' ') {
      label_row *row = &l->rows[(unsigned char)*at & 127];
      *twice = *twice || row->used;
      take_dim(row, w, d++);
    }
  }
  return at;
}

static bool give_dim(letters *l, uint32_t label, fnzi_eag_window *w) {
  label_row *row = &l->rows[label];
  if (!row->used || w->rank == FNZ_MAX_RANK)
    return false;
  w->sizes[w->rank] = row->size;
  w->strides[w->rank++] = row->stride;
  row->used = false;
  return true;
}

/* The window in the order behind the arrow, or in that of the letters; false when a label is left
 * over: it would be summed. */
static bool read_result(const char *at, letters *l, fnzi_eag_window *w) {
  bool fits = true;
  w->rank = 0;
  if (*at == 0)
    for (uint32_t label = 0; label < 128; label++)
      fits = (!l->rows[label].used || give_dim(l, label, w)) && fits;
  for (at += *at == 0 ? 0 : 2; *at != 0 && fits; at++)
    if (*at == '.') {
      at += 2;
      for (uint32_t i = 0; i < l->dots; i++)
        fits = give_dim(l, i, w) && fits;
    } else if (*at != ' ') {
      fits = give_dim(l, (unsigned char)*at & 127, w);
    }
  for (uint32_t label = 0; label < 128; label++)
    fits = fits && !l->rows[label].used;
  return fits;
}

fnz_status fnzi_eag_einsum(fnzi_eag_op *s, bool *done) {
  static const uint16_t einsum[] = {FNZI_ATEN_einsum};
  fnzi_eag_window w;
  bool ellipsis, twice = false;
  const fnz_arg *list = &s->args[1];
  *done = false;
  if (!fnzi_op_is_among(s->op, einsum, 1) || list->tag != FNZ_ARG_LIST || list->count != 1)
    return FNZ_OK;
  letters l = {.dots = 0};
  const char *equation = s->args[0].u.s, *arrow;
  int n = letters_before(equation, &ellipsis);
  FNZ_TRY(fnzi_eag_op_tensor(s, &list->u.list[0], &s->self));
  fnzi_eag_window_of(s->self->g, &w);
  if (n < 0 || (uint32_t)n > w.rank || (!ellipsis && (uint32_t)n != w.rank))
    return FNZ_OK;
  l.dots = w.rank - (uint32_t)n;
  arrow = read_operand(equation, &w, &l, &twice);
  *done = !(twice && *arrow == 0) && read_result(arrow, &l, &w);
  return *done ? fnzi_eag_op_push_window(s, &w) : FNZ_OK;
}

fnz_status fnzi_eag_cartesian_prod(fnzi_eag_op *s, bool *done) {
  static const uint16_t product[] = {FNZI_ATEN_cartesian_prod};
  const fnz_arg *list = &s->args[0];
  fnzi_eag_window w;
  *done = false;
  if (!fnzi_op_is_among(s->op, product, 1))
    return FNZ_OK;
  s->outcome = FNZI_EAG_COMPUTE;
  if (list->tag != FNZ_ARG_LIST || list->count != 1)
    return FNZ_OK;
  FNZ_TRY(fnzi_eag_op_tensor(s, &list->u.list[0], &s->self));
  fnzi_eag_window_of(s->self->g, &w);
  *done = w.rank == 1;
  return *done ? fnzi_eag_op_push_window(s, &w) : FNZ_OK;
}

/* --- Windows that are not in a schema
 * ----------------------------------------------------------- */
bool fnzi_eag_hides_window(const fnzi_node *node) {
  static const uint16_t lists[] = {FNZI_ATEN_broadcast_tensors,    FNZI_ATEN_meshgrid,
                                   FNZI_ATEN_meshgrid__indexing,   FNZI_ATEN_atleast_1d__Sequence,
                                   FNZI_ATEN_atleast_2d__Sequence, FNZI_ATEN_atleast_3d__Sequence};
  static const uint16_t einsum[] = {FNZI_ATEN_einsum}, product[] = {FNZI_ATEN_cartesian_prod};
  const fnz_op *op = node->op;
  if (op == NULL || op->is_view)
    return false;
  if (fnzi_op_is_among(op, einsum, 1))
    return node->nargs > 1 && node->args[1].tag == FNZ_ARG_LIST && node->args[1].count == 1;
  if (fnzi_op_is_among(op, product, 1))
    return node->nargs > 0 && node->args[0].tag == FNZ_ARG_LIST && node->args[0].count == 1;
  return fnzi_op_is_among(op, lists, sizeof lists / sizeof *lists) ||
         fnzi_eag_view_or_copy_rule(op) != NULL;
}
