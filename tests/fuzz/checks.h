/* checks.h - what holds of every program that was read or made. Each ends the process where it does
 * not. */
#ifndef FNZ_TESTS_FUZZ_CHECKS_H
#define FNZ_TESTS_FUZZ_CHECKS_H

#include "tests/fuzz/fuzz.h"

/* No bug is behind a refusal; the pass's result means the same as the run on aliasing memory, and
 * survives being written. In each dialect, and with the final values written by the last nodes:
 * forms of one promise. */
void check_dialects(fnz_context *ctx, const fnz_program *p, uint32_t hash);

/* Written and read again it prints as before. Through text and through CBOR: forms of one promise.
 */
void check_round_trips(fnz_context *ctx, const fnz_program *p, uint32_t hash);

#endif
