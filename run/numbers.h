/* numbers.h - symbolic sizes in a run: which numbers the symbols of the program have this time.
 *
 * Symbols of inputs are solved from the sizes of the arrays that are given. Those that depend on
 * data get their number when a node gives a tensor whose size tells it, or reads it off a tensor.
 * Ranges and guards of the program are checked as soon as their symbols are known. */
#ifndef FNZI_NUMBERS_H
#define FNZI_NUMBERS_H

#include "program/shapes/sizes.h"
#include "run/run.h"

typedef struct fnzi_run_numbers {
  fnzi_sizes sizes;
  fnzi_point point;
  fnz_status failure; /* of a look-up whose caller cannot fail */
} fnzi_run_numbers;

/* Makes run->symbolic, NULL for a program without symbols, from the arrays given, or for hashes
 * from the exporter's example. fnzi_numbers_close() must follow. */
FNZ_MUST_CHECK fnz_status fnzi_numbers_open(fnzi_run_state *run);
void fnzi_numbers_close(fnzi_run_state *run);

/* What the program says of a value of the frame at work, with this run's numbers. NULL when it says
 * nothing, or some size is not known yet. In `arena`. */
const fnz_geometry *fnzi_recorded(fnzi_run_state *run, fnzi_arena *arena, uint64_t value);
/* The value is there, and looks like this: symbols may follow; BOUNDS when it cannot be. */
FNZ_MUST_CHECK fnz_status fnzi_saw(fnzi_run_state *run, uint64_t value, const fnz_geometry *g);
/* A number was read off a tensor or computed. */
FNZ_MUST_CHECK fnz_status fnzi_saw_number(fnzi_run_state *run, uint64_t value, int64_t number);
/* The number of a symbolic value of the frame; *known false when it is not known. */
FNZ_MUST_CHECK fnz_status fnzi_symbol_number(fnzi_run_state *run, uint64_t value, bool *known,
                                             fnz_arg *out);

#endif
