/* mlir_complex.h - complex numbers as two real ones, for ways that compute with them. */
#ifndef FNZI_DCM_MLIR_COMPLEX_H
#define FNZI_DCM_MLIR_COMPLEX_H

#include "functionalize/decompose/ways.h"

/* Two tensors that broadcast. im NULL: the number is real; re NULL: it is not given, or a step has
 * failed. */
typedef struct fnzi_dcm_cx {
  fnzi_krn_array *re, *im;
} fnzi_dcm_cx;

#define CX(re, im)     ((fnzi_dcm_cx){re, im})
#define GIVEN_CX(name) fnzi_dcm_cx_given(s, name)
#define GIVE_CX(z)     GIVE(fnzi_dcm_cx_whole(s, z))

/* --- mlir_complex.c --------------------------------------------------------------------------- */
/* The parts of a tensor, which may be real. */
fnzi_dcm_cx fnzi_dcm_cx_of(fnzi_dec_steps *s, fnzi_krn_array *a);
/* The parts of an argument: a tensor, or a scalar as a tensor. */
fnzi_dcm_cx fnzi_dcm_cx_given(fnzi_dec_steps *s, const char *name);
/* The parts as one complex tensor. */
fnzi_krn_array *fnzi_dcm_cx_whole(fnzi_dec_steps *s, fnzi_dcm_cx z);

/* --- mlir_arithmetic.c ------------------------------------------------------------------------ */
fnzi_dcm_cx fnzi_dcm_cx_plus(fnzi_dec_steps *s, fnzi_dcm_cx a, fnzi_dcm_cx b);
fnzi_dcm_cx fnzi_dcm_cx_times(fnzi_dec_steps *s, fnzi_dcm_cx a, fnzi_dcm_cx b);
/* Smith's division scales by the larger part of the divisor, so that nothing overflows. */
fnzi_dcm_cx fnzi_dcm_cx_over(fnzi_dec_steps *s, fnzi_dcm_cx a, fnzi_dcm_cx b);
fnzi_dcm_cx fnzi_dcm_cx_scaled(fnzi_dec_steps *s, fnzi_dcm_cx a, double factor);
/* The absolute value, scaled by the larger part. */
fnzi_krn_array *fnzi_dcm_cx_size(fnzi_dec_steps *s, fnzi_dcm_cx a);
/* From -pi to pi; of 0 it is 0, where IREE's atan2 gives no number. */
fnzi_krn_array *fnzi_dcm_cx_angle(fnzi_dec_steps *s, fnzi_dcm_cx a);
/* A real number as one that broadcasts with `like`. */
fnzi_dcm_cx fnzi_dcm_cx_number(fnzi_dec_steps *s, double number, fnzi_dcm_cx like);

#endif
