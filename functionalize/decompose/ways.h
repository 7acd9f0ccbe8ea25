/* ways.h - what the functions of core.def and prims.def share. They look like the functions of
 * kernels/decomp, but nothing is computed: each step is only recorded. A step may be a view, or any
 * operator that has a row in kernels.def or decomp.def. */
#ifndef FNZI_DCM_WAYS_H
#define FNZI_DCM_WAYS_H

#include "kernels/decomp/decomp.h"

/* Opens a way. */
#define TAKE_APART(name)                                                                           \
  fnzi_dec_fn fnzi_dcm_##name;                                                                     \
  void fnzi_dcm_##name(fnzi_dec_steps *s)

/* An argument as it is; None where the operator has no such parameter. */
#define AS_GIVEN(name)    fnzi_dcm_as_given(s, name)
#define SIZES(a)          fnzi_dcm_sizes(s, a)
#define NUMBER(value, of) fnzi_dcm_number(s, value, of)
#define WORD(text)        ((fnz_arg){.tag = FNZ_ARG_STRING, .count = sizeof text - 1, .u.s = text})

enum { FNZI_DCM_MOST_ARGS = 16 };

static inline fnz_arg fnzi_dcm_as_given(const fnzi_dec_steps *s, const char *name) {
  return fnzi_op_param(s->call->op, name) < 0 ? NONE : *fnzi_krn_named(s->call, name);
}
static inline bool fnzi_dcm_is_given(const fnz_arg *arg) {
  return arg->tag != FNZ_ARG_NONE && arg->tag != FNZ_ARG_DEFAULT;
}

/* Refuses a way that mends only some calls of an operator; this call stays. */
static inline void fnzi_dcm_nothing_to_mend(fnzi_dec_steps *s) {
  fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED, "there is nothing to mend");
}

/* Whether memory holds the elements in row-major order from place 0 on; true after an error. */
static inline bool fnzi_dcm_lies_in_rows(const fnzi_krn_array *a) {
  return !a || (fnzi_is_contiguous(&a->geometry) && a->geometry.offset == 0);
}

/* The dimensions that are reduced stay, with size 1. */
static inline bool fnzi_dcm_keeps_dims(const fnzi_dec_steps *s) {
  return fnzi_op_param(s->call->op, "keepdim") >= 0 && GIVEN_BOOL("keepdim");
}

/* How much less than the number of elements of a variance counts. */
static inline fnz_arg fnzi_dcm_correction(const fnzi_dec_steps *s) {
  fnz_arg given = fnzi_dcm_as_given(s, "correction");
  return fnzi_dcm_is_given(&given) ? given
                                   : I(fnzi_krn_named_bool(s->call, "unbiased", true) ? 1 : 0);
}

/* --- shape.c ---------------------------------------------------------------------------------- */
/* The argument `dim`, one dimension or several; an empty list for all. */
fnz_arg fnzi_dcm_dims(fnzi_dec_steps *s);
/* All dimensions except `but`; all where that is -1. */
fnz_arg fnzi_dcm_all_dims(fnzi_dec_steps *s, const fnzi_krn_array *a, int64_t but);
/* A number per channel of `x`, so that it broadcasts; NULL for none. */
static inline fnzi_krn_array *fnzi_dcm_per_channel(fnzi_dec_steps *s, fnzi_krn_array *a,
                                                   const fnzi_krn_array *x) {
  return a ? fnzi_dec_along(s, a, 1, (size_t)RANK(x)) : NULL;
}
/* The operator itself, with another first argument. */
fnzi_krn_array *fnzi_dcm_again(fnzi_dec_steps *s, fnzi_krn_array *first);
/* The sizes of a tensor, as an argument. */
fnz_arg fnzi_dcm_sizes(fnzi_dec_steps *s, const fnzi_krn_array *a);
/* The tensor as one dimension. */
fnzi_krn_array *fnzi_dcm_flat(fnzi_dec_steps *s, fnzi_krn_array *a);
/* The tensor with two dimensions, counted from 0, swapped. */
fnzi_krn_array *fnzi_dcm_swapped(fnzi_dec_steps *s, fnzi_krn_array *a, int64_t first,
                                 int64_t second);
/* The tensor broadcast to other sizes; itself if it has them. */
fnzi_krn_array *fnzi_dcm_expanded(fnzi_dec_steps *s, fnzi_krn_array *a, const int64_t *sizes,
                                  size_t rank);
/* Its elements in rows; itself where they are. */
fnzi_krn_array *fnzi_dcm_in_rows(fnzi_dec_steps *s, fnzi_krn_array *a);

/* --- creation.c ------------------------------------------------------------------------------- */
/* A number as a tensor without dimensions. */
fnzi_krn_array *fnzi_dcm_number(fnzi_dec_steps *s, fnz_arg value, fnz_dtype dtype);

/* --- products.c ------------------------------------------------------------------------------- */
/* As matmul. */
fnzi_krn_array *fnzi_dcm_product(fnzi_dec_steps *s, fnzi_krn_array *a, fnzi_krn_array *b);

/* --- pointwise.c ------------------------------------------------------------------------------ */
/* PyTorch computes f16 and bf16 in f32 in between. */
fnzi_krn_array *fnzi_dcm_widened(fnzi_dec_steps *s, fnzi_krn_array *a);
/* Casts integers to f32, as functions of real numbers do. */
fnzi_krn_array *fnzi_dcm_real(fnzi_dec_steps *s, fnzi_krn_array *a);

#endif
