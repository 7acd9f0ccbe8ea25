/* lend.c - weights in memory of the caller.
 *
 * needs   a program that was read without the data of these weights
 * gives   the same one with blobs over that memory, one for each storage; what weights over the
 *         same bytes end as */
#include "program/lend.h"
#include "program/no_weight.h"

/* A weight and its new memory. */
typedef struct lent {
  fnzi_weight *weight;
  fnzi_blob *blob; /* retained */
  const fnz_geometry *geometry;
} lent;

typedef struct lending {
  fnz_program *p;
  const fnz_weight_loan *loans;
  lent *lent;        /* of loans[0 ... count) */
  fnzi_map storages; /* `data` -> the first loan of it */
  fnz_context *ctx;
} lending;

static void give_back(const fnz_weight_loan *loan) {
  if (loan->release)
    loan->release(loan->owner);
}

static fnz_status find_weight(const lending *l, const fnz_weight_loan *loan, fnzi_weight **out) {
  const fnz_geometry *g = loan->geometry;
  uint64_t at;
  if (!fnzi_map_get(&l->p->weight_index, loan->name, strlen(loan->name), &at))
    return fnzi_no_weight(l->ctx, l->p, loan->name);
  *out = &l->p->weights.data[at];
  if ((*out)->blob)
    return fnzi_fail(l->ctx, FNZ_CLASS_DUPLICATE, loan->name, "the weight has data already");
  if (g->dtype == (*out)->geometry->dtype && fnzi_same_sizes(g, (*out)->geometry))
    return FNZ_OK;
  char own[FNZI_SHAPE_TEXT], given[FNZI_SHAPE_TEXT];
  fnzi_shape_text((*out)->geometry, own);
  fnzi_shape_text(loan->geometry, given);
  return fnzi_fail(l->ctx, FNZ_CLASS_TYPE, loan->name,
                   "the program has %s, the loan is %s; lend the program's type", own, given);
}

static fnz_status take(lending *l, size_t k) {
  FNZ_TRY(find_weight(l, &l->loans[k], &l->lent[k].weight));
  const fnz_weight_loan *loan = &l->loans[k];
  int64_t low = 0, high = 0, bytes = 0;
  if (!fnzi_extent(loan->geometry, &low, &high) || low < 0 ||
      !fnzi_mul_i64(high, (int64_t)fnzi_dtype(loan->geometry->dtype)->bytes, &bytes) ||
      (uint64_t)bytes > loan->bytes)
    return fnzi_fail(
        l->ctx, FNZ_CLASS_BOUNDS, loan->name,
        "its window ends at byte %lld, its storage has %zu bytes; lend all of the memory",
        (long long)bytes, loan->bytes);
  FNZ_TRY(fnzi_intern_geometry(l->p, loan->geometry, &l->lent[k].geometry));
  /* The blob has the loan from then on. Storages without bytes are never shared. */
  uint64_t first;
  if (!loan->bytes || !fnzi_map_get(&l->storages, &loan->data, sizeof loan->data, &first)) {
    FNZ_TRY(fnzi_map_set(&l->storages, &loan->data, sizeof loan->data, k));
    return fnzi_blob_lend(l->ctx, loan, &l->lent[k].blob);
  }
  if (l->loans[first].bytes != loan->bytes)
    return fnzi_fail(l->ctx, FNZ_CLASS_BOUNDS, loan->name,
                     "its storage has another size than for %s", l->loans[first].name);
  l->lent[k].blob = fnzi_blob_retain(l->lent[first].blob);
  give_back(loan);
  return FNZ_OK;
}

fnz_status fnz_program_lend_weights(fnz_context *ctx, fnz_program *p, const fnz_weight_loan *loans,
                                    size_t count) {
  lending l = {.ctx = ctx, .p = p, .loans = loans};
  fnzi_arena arena;
  void *room = NULL;
  fnzi_arena_init(&arena, ctx);
  fnzi_map_init(&l.storages, ctx);
  fnz_status status = fnzi_arena_alloc(&arena, count, sizeof *l.lent, &room);
  l.lent = room;
  for (size_t k = 0; k < count; k++) {
    if (status == FNZ_OK)
      status = take(&l, k);
    if (status != FNZ_OK)
      give_back(&loans[k]);
  }
  for (size_t k = 0; k < count && status == FNZ_OK; k++)
    if (l.lent[k].weight->blob) /* two loans of one weight */
      status = fnzi_fail(ctx, FNZ_CLASS_DUPLICATE, loans[k].name, "the weight is lent twice");
    else
      l.lent[k].weight->blob = l.lent[k].blob;
  for (size_t k = 0; k < count && status == FNZ_OK; k++)
    l.lent[k].weight->geometry = l.lent[k].geometry;
  if (status == FNZ_OK)
    status = fnzi_share_finals(p);
  if (status != FNZ_OK && l.lent) {
    for (size_t k = 0; k < count; k++) {
      if (l.lent[k].weight && l.lent[k].weight->blob == l.lent[k].blob)
        l.lent[k].weight->blob = NULL;
      fnzi_blob_release(l.lent[k].blob);
    }
  }
  fnzi_map_free(&l.storages);
  fnzi_arena_free(&arena);
  return status;
}
