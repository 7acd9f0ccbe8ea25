/* equations.h - numbers for symbols that conditions tie to each other: sums of symbols that must
 * equal another expression, like the sizes of the pieces of a split. */
#ifndef FNZI_EQUATIONS_H
#define FNZI_EQUATIONS_H

#include "program/shapes/sizes.h"

/* The next number of a draw, from 0 on. */
uint64_t fnzi_draw_next(fnzi_draw *draw);

/* Draws again, for each equation that the point's numbers break, so that they keep to it where the
 * bounds allow that: by the ids of expressions, as fnzi_draw_bounds() gives them. */
FNZ_MUST_CHECK fnz_status fnzi_equations_draw(fnzi_draw *draw, const fnzi_bounds *bounds,
                                              fnzi_point *point);
/* Changes one symbol of each equation that does not hold. Only symbols that still have their value
 * in `before` are changed; it holds a value per free symbol. */
FNZ_MUST_CHECK fnz_status fnzi_equations_mend(const fnzi_sizes *sizes, const fnzi_bounds *bounds,
                                              const int64_t *before, fnzi_point *point);
/* The numbers of the free symbols, 0 for one that has none. In `arena`. */
FNZ_MUST_CHECK fnz_status fnzi_free_numbers(const fnzi_sizes *sizes, fnzi_point *point,
                                            fnzi_arena *arena, int64_t **out);

#endif
