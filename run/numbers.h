/* numbers.h - symbolic sizes in a run: the numbers of the symbols of the program.
 *
 * Symbols of inputs are solved from the sizes of the given arrays. Symbols that depend on data are
 * solved from the sizes of computed tensors, or read from a tensor. Ranges and guards of the
 * program are checked as soon as their symbols are known. */
#ifndef FNZI_NUMBERS_H
#define FNZI_NUMBERS_H

#include "program/shapes/sizes.h"
#include "run/run.h"

typedef struct fnzi_run_numbers {
  fnzi_sizes sizes;
  fnzi_point point;
  fnz_status failure; /* of a look-up that cannot return it */
} fnzi_run_numbers;

/* Makes run->symbolic from the given arrays, for hashes from the recorded sizes; NULL for a program
 * without symbols. fnzi_run_numbers_close() must follow. */
FNZ_MUST_CHECK fnz_status fnzi_run_numbers_open(fnzi_run_state *run);
void fnzi_run_numbers_close(fnzi_run_state *run);

/* The recorded geometry of a value of the current frame, with the numbers of this run. NULL when
 * there is none, or some size is not known yet. In `arena`. */
const fnz_geometry *fnzi_run_recorded(fnzi_run_state *run, fnzi_arena *arena, uint64_t value);
/* Solves symbols from the geometry of a value; BOUNDS when the program excludes it. */
FNZ_MUST_CHECK fnz_status fnzi_run_learn_sizes(fnzi_run_state *run, uint64_t value,
                                               const fnz_geometry *g);
/* The same from a number that was read from a tensor or computed. */
FNZ_MUST_CHECK fnz_status fnzi_run_learn_number(fnzi_run_state *run, uint64_t value,
                                                int64_t number);
/* The number of a symbolic value of the current frame; *known false when it is not known. */
FNZ_MUST_CHECK fnz_status fnzi_run_symbol_number(fnzi_run_state *run, uint64_t value, bool *known,
                                                 fnz_arg *out);

#endif
