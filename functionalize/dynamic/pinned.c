/* pinned.c - expressions of the source program where some sizes turn out to be one number.
 *
 * A guard such as Eq((s0 + 1)//2, 3), or writes that go slice after slice, leave a size one number.
 * The result has that number in place of the symbol, and no node can read the symbol off a size
 * any more: 2*s0*s1 is 10*s1 there.
 *
 * needs   the trials of the fit
 * gives   the form of each of the first `known` expressions; of most of them, itself */
#include "functionalize/dynamic/dynamic.h"

/* A symbol has one value in all trials. Data symbols are excluded: data may give equal values by
 * chance, so they are read at run time. */
static fnz_status is_pinned(const fnzi_fit *f, const fnzi_expr *symbol, bool *yes,
                            int64_t *number) {
  int64_t next;
  *yes = f->ntrials > 1 && !symbol->is_real && !fnzi_is_data_symbol(symbol);
  for (size_t k = 0; k < f->ntrials && *yes; k++) {
    FNZ_TRY(fnzi_point_int(&f->trials[k]->point, symbol, yes, &next));
    *number = k == 0 ? next : *number;
    *yes = *yes && next == *number;
  }
  return FNZ_OK;
}

static fnz_status pin_symbols(fnzi_fit *f) {
  fnzi_sizes *s = f->sizes;
  for (size_t i = 0; i < s->free.count; i++) {
    const fnzi_expr *symbol = s->free.data[i];
    int64_t number = 0;
    bool yes;
    FNZ_TRY(is_pinned(f, symbol, &yes, &number));
    if (yes && symbol->id < f->known)
      FNZ_TRY(fnzi_expr_number(&s->set, number, 1, &f->forms[symbol->id]));
  }
  return FNZ_OK;
}

static fnz_status rebuild(fnzi_fit *f, const fnzi_expr *e, const fnzi_expr **out) {
  const fnzi_expr **parts;
  FNZI_NEW(f->arena, e->count, &parts);
  for (uint32_t i = 0; i < e->count; i++)
    parts[i] = f->forms[e->parts[i].expr->id];
  return fnzi_expr_with_parts(&f->sizes->set, e, parts, out);
}

/* An expression that has no value then, because it divides by 0 or overflows, has no form. */
static fnz_status find_form(fnzi_fit *f, const fnzi_expr *e, const fnzi_expr **out) {
  fnz_context *ctx = f->sizes->set.ctx;
  const fnz_error had = ctx->error;
  bool changed = *out != NULL, known = true;
  for (uint32_t i = 0; i < e->count; i++) {
    const fnzi_expr *part = f->forms[e->parts[i].expr->id];
    known = known && part;
    changed = changed || part != e->parts[i].expr;
  }
  if (!changed)
    *out = e;
  if (!changed || *out || !known || e->is_real)
    return FNZ_OK;
  fnz_status status = rebuild(f, e, out);
  if (status == FNZ_OK || fnzi_is_final(status))
    return status;
  ctx->error = had;
  *out = NULL;
  return FNZ_OK;
}

fnz_status fnzi_fit_find_forms(fnzi_fit *f) {
  FNZI_NEW(f->arena, f->known + 1, &f->forms);
  FNZ_TRY(pin_symbols(f));
  for (size_t i = 0; i < f->known; i++)
    FNZ_TRY(find_form(f, f->sizes->set.all.data[i], &f->forms[i]));
  return FNZ_OK;
}

const fnzi_expr *fnzi_fit_form(const fnzi_fit *f, const fnzi_expr *e) {
  return e->id < f->known ? f->forms[e->id] : e;
}
