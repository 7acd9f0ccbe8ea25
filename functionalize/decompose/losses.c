/* losses.c - losses of classes, kept, averaged or summed. */
#include "functionalize/decompose/ways.h"

/* --- By classes ------------------------------------------------------------------------------- */
/* `a`, but 0 for each element of `skip` that is true. */
static fnzi_krn_array *unless(fnzi_dec_steps *s, fnzi_krn_array *skip, fnzi_krn_array *a) {
  return CHOSEN(skip, NUMBER(I(0), DTYPE_OF(a)), a);
}

/* The weight of each class in `classes`, in its sizes. */
static fnzi_krn_array *weights_at(fnzi_dec_steps *s, fnzi_krn_array *classes, fnz_dtype dtype) {
  fnzi_krn_array *weight = GIVEN("weight");
  if (!weight)
    return STEP(full_like, V(classes), F(1), DTYPE(dtype));
  fnzi_krn_array *picked = STEP(index_select, V(weight), I(0), V(fnzi_dcm_flat(s, classes)));
  return classes ? fnzi_dec_viewed(s, fnzi_dec_cast(s, picked, dtype), classes->geometry.sizes,
                                   fnzi_dec_array_rank(classes))
                 : NULL;
}

/* loss = -weight[target] * self[target], or 0 for a target that is ignored. The sum of weights is a
 * result of its own, which PyTorch has only of losses that are reduced. */
static void give_of_classes(fnzi_dec_steps *s, fnzi_krn_array *self, bool gives_total) {
  enum { KEPT, MEAN };
  fnz_dtype dtype = DTYPE_OF(self), given = DTYPE_OF(GIVEN("self"));
  const int64_t dim = RANK(self) > 1, reduction = GIVEN_INT("reduction");
  fnzi_krn_array *at = STEP(unsqueeze, V(GIVEN("target")), I(dim));
  fnzi_krn_array *skip = STEP(eq__Scalar, V(at), AS_GIVEN("ignore_index"));
  at = unless(s, skip, at);
  fnzi_krn_array *each = weights_at(s, at, dtype), *total = STEP(sum, V(unless(s, skip, each)));
  fnzi_krn_array *loss = STEP(neg, V(MUL(STEP(gather, V(self), I(dim), V(at)), each)));
  loss = STEP(squeeze__dim, V(unless(s, skip, loss)), I(dim));
  if (reduction != KEPT)
    loss = STEP(sum, V(loss));
  GIVE(fnzi_dec_cast(s, reduction == MEAN ? DIV(loss, total) : loss, given));
  if (gives_total)
    GIVE(fnzi_dec_cast(s, reduction == KEPT ? NUMBER(I(0), dtype) : total, given));
}

TAKE_APART(nll_loss) {
  give_of_classes(s, fnzi_dcm_widened(s, GIVEN("self")), false);
}

TAKE_APART(nll_loss_forward) {
  give_of_classes(s, fnzi_dcm_widened(s, GIVEN("self")), true);
}

/* By indices of classes; by probabilities, or smoothed, it stays. */
TAKE_APART(cross_entropy_loss) {
  fnzi_krn_array *self = fnzi_dcm_widened(s, GIVEN("self"));
  if (DTYPE_OF(GIVEN("target")) != FNZ_I64 || GIVEN_FLOAT("label_smoothing") != 0)
    fnzi_dcm_nothing_to_mend(s);
  give_of_classes(s, STEP(_log_softmax, V(self), I(RANK(self) > 1), B(false)), false);
}
