/* composite.c - operators that are one view after the other, or the argument itself: narrow, chunk,
 * unflatten. Values are dense here, so that none of them has to copy. */
#include "kernels/hash/hash.h"
#include "views/composites.h"
#include "views/views.h"

typedef struct tensors {
  fnzi_hash_value **data;
  const fnz_geometry **geometries; /* row-major */
  size_t count;
} tensors;

static fnz_status collect(fnzi_hash_call *h, tensors *t) {
  size_t count = 0;
  FNZI_EACH_ARG(each, h->args, h->op->nparams)
    count += each.arg->tag == FNZ_ARG_VALUE;
  FNZI_NEW(&h->arena, count, &t->data);
  FNZI_NEW(&h->arena, count, &t->geometries);
  t->count = 0;
  FNZI_EACH_ARG(each, h->args, h->op->nparams)
    if (each.arg->tag == FNZ_ARG_VALUE)
      t->data[t->count++] = fnzi_hash_value_of(each.arg->u.value);
  for (size_t k = 0; k < count; k++) {
    fnz_geometry *g;
    FNZI_NEW(&h->arena, 1, &g);
    FNZ_TRY(fnzi_hash_dense(h, t->data[k], g));
    t->geometries[k] = g;
  }
  return FNZ_OK;
}

fnz_status fnzi_hash_composite(fnzi_hash_call *h, bool *done) {
  const fnzi_composite_row *row = fnz_op_is_view(h->op) ? fnzi_composite_find(h->op) : NULL;
  const fnzi_op_call call = {h->op, h->args, h->op->nparams};
  fnzi_resolution r;
  tensors t;
  *done = false;
  if (!row)
    return FNZ_OK;
  FNZ_TRY(collect(h, &t));
  FNZ_TRY(fnzi_composite_resolve((fnzi_int_space){NULL, &h->arena}, row, &call, t.geometries,
                                 t.count, &r));
  bool views = !r.keep;
  for (size_t k = 0; k < r.count; k++)
    for (size_t s = 0; s < r.items[k].nsteps; s++)
      views = views && fnzi_view_find(r.items[k].steps[s].op);
  *done = views;
  for (size_t k = 0; *done && k < r.count; k++) {
    /* All views of an item; only the last one may have several windows. */
    const fnzi_composite_item *item = &r.items[k];
    const fnz_geometry *at = t.geometries[item->tensor];
    size_t count = 1;
    for (size_t j = 0; j < item->nsteps; j++) {
      fnz_geometry *windows;
      FNZ_TRY(fnzi_view_forward((fnzi_int_space){NULL, &h->arena},
                                fnzi_view_find(item->steps[j].op), &item->steps[j], at, &windows,
                                &count));
      at = windows;
    }
    for (size_t i = 0; i < count; i++)
      FNZ_TRY(fnzi_hash_pull(h, t.data[item->tensor], &at[i]));
  }
  return FNZ_OK;
}
