/* script.h - a decomposition that is written down instead of run: its effect on arguments of given
 * geometries, as calls of other operators (program/script.h).
 *
 * One that looks at elements, or makes a constant of its own, cannot be written down and is
 * refused. */
#ifndef FNZI_DECOMP_SCRIPT_H
#define FNZI_DECOMP_SCRIPT_H

#include "kernels/meta/meta.h"
#include "program/script.h"

struct fnzi_dec_steps;

/* --- script_make.c ---------------------------------------------------------------------------- */
/* Writes a decomposition down.
 * rows        the table of kernels.def, which has the types of steps
 * decompose   NULL: the function of the operator's own row (decomp.def)
 * out         everything in `arena`; ends with fnzi_script_free()
 * UNSUPPORTED when the operator has no decomposition or that cannot be written down; else as the
 * decomposition fails. */
FNZ_MUST_CHECK fnz_status fnzi_dec_script_make(fnzi_arena *arena, const fnzi_kernel *rows,
                                               const fnzi_script_whole *whole,
                                               void (*decompose)(struct fnzi_dec_steps *s),
                                               fnzi_script *out);

/* Fails as the operator itself does with such arguments. FNZ_OK when it has no row. */
FNZ_MUST_CHECK fnz_status fnzi_dec_call_check(fnz_context *ctx, const fnzi_kernel *rows,
                                              const fnzi_script_whole *whole);

/* --- script.c, for decomp.c ------------------------------------------------------------------- */
/* A script that is being written. */
typedef struct fnzi_dec_script {
  fnzi_script *to;
  fnzi_map numbers;                    /* by the address of an array */
  const fnz_geometry *const *expected; /* of fnzi_script_whole */
  size_t nexpected;
  uint64_t unread, open, open_dims;
} fnzi_dec_script;
/* The array gets the next number; NULL for a result that is undefined. */
FNZ_MUST_CHECK fnz_status fnzi_dec_script_array(fnzi_dec_script *script,
                                                const fnzi_krn_array *array);
/* A step was made: `from` is what was asked, `made` has the results. */
FNZ_MUST_CHECK fnz_status fnzi_dec_script_step(fnzi_dec_script *script, const fnzi_krn_call *whole,
                                               const fnz_request *from, const fnzi_krn_call *made);
/* The next result; NULL for an undefined one. */
FNZ_MUST_CHECK fnz_status fnzi_dec_script_result(fnzi_dec_script *script,
                                                 const fnzi_krn_call *whole,
                                                 const fnzi_krn_array *array);

#endif
