/* signature.h - what a comparison looks up by name in each of its two programs. */
#ifndef FNZI_SIGNATURE_H
#define FNZI_SIGNATURE_H

#include "program/program.h"

typedef struct fnzi_signature {
  const fnz_program *p;
  fnzi_map users;          /* name -> position of a user input */
  fnzi_map weights;        /* name -> input that is a parameter or buffer */
  fnzi_map ranges, guards; /* texts that are equal where ranges, guards are -> 1 */
  fnzi_arena arena;
} fnzi_signature;

/* The program has the data of an input of this kind: a parameter, buffer or constant. */
static inline bool fnzi_is_stored(fnz_input_kind kind) {
  return kind == FNZ_INPUT_PARAMETER || kind == FNZ_INPUT_BUFFER || kind == FNZ_INPUT_CONSTANT;
}
/* A parameter or buffer. */
bool fnzi_is_weight(const fnz_program *p, uint32_t input);
/* The first input from `input` on that is identified by its position; ninputs at the end. Constants
 * are identified by their elements. */
uint32_t fnzi_next_user(const fnz_program *p, uint32_t input);

FNZ_MUST_CHECK fnz_status fnzi_signature_of(fnz_context *ctx, const fnz_program *p,
                                            fnzi_signature *out);
void fnzi_signature_end(fnzi_signature *s);
/* `target` as the other program may have it as well: a user input is called by its position,
 * everything else by name. In the arena of the signature. */
FNZ_MUST_CHECK fnz_status fnzi_target_name(fnzi_signature *s, const char *target, const char **out);
/* The parameter or buffer of the name; false when there is none. */
bool fnzi_weight_input(const fnzi_signature *s, const char *name, uint32_t *input);
/* The same range, the same guard is there. */
FNZ_MUST_CHECK fnz_status fnzi_has_range(fnzi_signature *s, const fnzi_range *range, bool *out);
FNZ_MUST_CHECK fnz_status fnzi_has_guard(fnzi_signature *s, fnzi_signature *of,
                                         const fnz_guard *guard, bool *out);

/* The texts of all ranges, or guards, in ascending order, each once; in the arena. */
FNZ_MUST_CHECK fnz_status fnzi_range_texts(fnzi_signature *s, const char ***out, size_t *count);
FNZ_MUST_CHECK fnz_status fnzi_guard_texts(fnzi_signature *s, const char ***out, size_t *count);

#endif
