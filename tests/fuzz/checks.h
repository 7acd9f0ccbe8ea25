/* checks.h - what holds of every program that was read or made: it survives being written, and the
 * pass agrees with the run on aliasing memory. Each ends the process where it does not. */
#ifndef FNZ_TESTS_FUZZ_CHECKS_H
#define FNZ_TESTS_FUZZ_CHECKS_H

#include "tests/fuzz/fuzz.h"

/* Written in the format `through` and read again, it prints as before. */
void check_round_trip(fnz_context *ctx, const fnz_program *p, fnz_format through);

/* No bug is behind a refusal, and what is accepted means the same and can be written. */
void check_pass(fnz_context *ctx, const fnz_program *p, fnz_views views, fnz_state state);

/* In every dialect, and with the final values written by the last nodes. */
void check_dialects(fnz_context *ctx, const fnz_program *p);

#endif
