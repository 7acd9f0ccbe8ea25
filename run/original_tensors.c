/* original_tensors.c - operators on several tensors whose results are windows into them. */
#include "run/original.h"

static const fnz_arg *item(const fnzi_act *s, uint32_t k) {
  return &s->args[0].u.list[k];
}

static uint32_t length(const fnzi_act *s) {
  return s->args[0].tag == FNZ_ARG_LIST ? s->args[0].count : 0;
}

/* The k-th tensor seen with the sizes; itself when `same` and it has them. */
static fnz_status spread(fnzi_act *s, uint32_t k, const fnzi_pane *narrow, const int64_t *sizes,
                         uint32_t rank, bool same) {
  fnzi_pane w = *narrow;
  FNZ_TRY(fnzi_act_tensor(s, item(s, k), &s->self));
  bool has = same && w.rank == rank && memcmp(w.sizes, sizes, rank * sizeof *sizes) == 0;
  if (has)
    return fnzi_act_push(s, s->self);
  FNZ_TRY(fnzi_pane_expand(s, &w, sizes, rank));
  return fnzi_act_piece(s, &w);
}

/* --- broadcast_tensors ---------------------------------------------------------------------------
 */

/* Sizes of 1 and dimensions that are missing take those of the others. */
static fnz_status join_sizes(fnzi_act *s, const fnz_geometry *g, int64_t *sizes, uint32_t *rank) {
  for (; *rank < g->rank; (*rank)++) {
    memmove(sizes + 1, sizes, *rank * sizeof *sizes);
    sizes[0] = 1;
  }
  for (uint32_t d = 0; d < g->rank; d++) {
    int64_t *joined = &sizes[*rank - g->rank + d];
    if (*joined == 1)
      *joined = g->sizes[d];
    else if (g->sizes[d] != 1 && g->sizes[d] != *joined)
      return fnzi_act_refuse(s, "sizes do not broadcast", *joined, g->sizes[d]);
  }
  return FNZ_OK;
}

fnz_status fnzi_act_broadcast(fnzi_act *s) {
  int64_t sizes[FNZ_MAX_RANK];
  uint32_t rank = 0;
  fnzi_eager *t;
  for (uint32_t k = 0; k < length(s); k++) {
    FNZ_TRY(fnzi_act_tensor(s, item(s, k), &t));
    FNZ_TRY(join_sizes(s, t->g, sizes, &rank));
  }
  for (uint32_t k = 0; k < length(s); k++) {
    fnzi_pane w;
    FNZ_TRY(fnzi_act_tensor(s, item(s, k), &t));
    fnzi_pane_of(t->g, &w);
    FNZ_TRY(spread(s, k, &w, sizes, rank, true));
  }
  return FNZ_OK;
}

/* --- meshgrid ------------------------------------------------------------------------------------
 */

/* The k-th tensor becomes dimension k of all results. */
static fnz_status axis(fnzi_act *s, uint32_t k, uint32_t rank, fnzi_pane *w) {
  fnzi_eager *t;
  FNZ_TRY(fnzi_act_tensor(s, item(s, k), &t));
  if (t->g->rank > 1)
    return fnzi_act_refuse(s, "a tensor has more than one dimension", t->g->rank, k);
  fnzi_pane_of(t->g, w);
  int64_t size = w->rank == 0 ? 1 : w->sizes[0], stride = w->rank == 0 ? 1 : w->strides[0];
  w->rank = rank;
  for (uint32_t d = 0; d < rank; d++) {
    w->sizes[d] = d == k ? size : 1;
    w->strides[d] = d == k ? stride : d < k ? fnzi_wrap_mul(size, stride) : 1;
  }
  return FNZ_OK;
}

fnz_status fnzi_act_meshgrid(fnzi_act *s) {
  int64_t sizes[FNZ_MAX_RANK];
  fnzi_pane w;
  uint32_t rank = length(s);
  bool plain = s->op->nparams < 2 || strcmp(s->args[1].u.s, "ij") == 0;
  if (!plain || rank > FNZ_MAX_RANK)
    return fnzi_fail(s->ctx, FNZ_CLASS_UNSUPPORTED, "", "%s is run for indexing \"ij\" only",
                     s->op->name);
  for (uint32_t k = 0; k < rank; k++) {
    FNZ_TRY(axis(s, k, rank, &w));
    sizes[k] = w.sizes[k];
  }
  for (uint32_t k = 0; k < rank; k++) {
    FNZ_TRY(axis(s, k, rank, &w));
    FNZ_TRY(spread(s, k, &w, sizes, rank, false));
  }
  return FNZ_OK;
}
