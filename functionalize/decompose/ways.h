/* ways.h - what the functions of core.def and prims.def share. They are written as those of
 * kernels/decomp are, but only written down: there are no elements, and a step may be any operator
 * that has a row in kernels.def or decomp.def, or is a view. */
#ifndef FNZI_DCM_WAYS_H
#define FNZI_DCM_WAYS_H

#include "kernels/decomp/decomp.h"

/* Opens a way. */
#define TAKE_APART(name)                                                                           \
  fnzi_dec_fn fnzi_dcm_##name;                                                                     \
  void fnzi_dcm_##name(fnzi_dec_steps *s)

/* Tensors and numbers among the arguments, by name. */
#define GIVEN(name)       fnzi_dec_given_array(s, name)
#define GIVEN_INT(name)   fnzi_krn_named_int(s->call, name, 0)
#define GIVEN_FLOAT(name) fnzi_krn_named_float(s->call, name, 0)
#define GIVEN_BOOL(name)  fnzi_krn_named_bool(s->call, name, false)
/* An argument as it is. */
#define AS_GIVEN(name) (*fnzi_krn_named(s->call, name))
#define RANK(a)        ((int64_t)fnzi_dec_array_rank(a))
#define SIZE(a, dim)   fnzi_dec_array_size(a, dim)
#define GIVE(a)        fnzi_dec_result_give(s, a)

/* A way for some calls of an operator only: this one stays. */
static inline void fnzi_dcm_nothing_to_mend(fnzi_dec_steps *s) {
  fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED, "there is nothing to mend");
}

/* --- shape.c ---------------------------------------------------------------------------------- */
/* Under other sizes, as reshape: a view where the strides allow it, else of a copy. */
fnzi_krn_array *fnzi_dcm_reshaped(fnzi_dec_steps *s, fnzi_krn_array *a, const int64_t *sizes,
                                  size_t rank);
/* With two dimensions, counted from 0, in each other's place. */
fnzi_krn_array *fnzi_dcm_swapped(fnzi_dec_steps *s, fnzi_krn_array *a, int64_t first,
                                 int64_t second);
/* In other sizes by broadcasting; itself where it has them. */
fnzi_krn_array *fnzi_dcm_expanded(fnzi_dec_steps *s, fnzi_krn_array *a, const int64_t *sizes,
                                  size_t rank);

/* --- products.c ------------------------------------------------------------------------------- */
/* As matmul. */
fnzi_krn_array *fnzi_dcm_product(fnzi_dec_steps *s, fnzi_krn_array *a, fnzi_krn_array *b);

/* --- pointwise.c ------------------------------------------------------------------------------ */
/* PyTorch computes f16 and bf16 in f32 in between. */
fnzi_krn_array *fnzi_dcm_widened(fnzi_dec_steps *s, fnzi_krn_array *a);

#endif
