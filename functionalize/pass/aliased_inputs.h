/* aliased_inputs.h - the alias sets among the inputs of a program (aliased_inputs.c). */
#ifndef FNZI_ALIASED_INPUTS_H
#define FNZI_ALIASED_INPUTS_H

#include "views/views.h"

/* How the inputs of one alias set come into the pass. */
typedef enum fnzi_pass_merge {
  FNZI_MERGE_NONE = 0,    /* each with memory of its own: no write to one overlaps another */
  FNZI_MERGE_INTO_MEMBER, /* as windows of the input that shows all of the memory; as below where
                     there is none */
  FNZI_MERGE_INTO_BASE    /* as windows of a synthetic base: one more input, of kind MEMORY */
} fnzi_pass_merge;

/* Kept over all attempts at a program. An alias set is identified by its first input. */
typedef struct fnzi_pass_alias_sets {
  uint32_t count;               /* of inputs */
  uint32_t *first;              /* per input: the first one of its alias set; itself when alone */
  const fnz_geometry **windows; /* per input: its window of the memory; NULL for no tensor */
  uint8_t *merge;               /* per first input: fnzi_pass_merge */
  bool shared;                  /* some alias set has several inputs */
} fnzi_pass_alias_sets;

FNZ_MUST_CHECK fnz_status fnzi_pass_alias_sets_find(fnzi_arena *arena, const fnz_program *p,
                                                    fnzi_pass_alias_sets *out);
/* Input k shows all bytes that the inputs of its alias set show, without gaps. */
bool fnzi_pass_alias_sets_cover(const fnzi_pass_alias_sets *m, uint32_t k);
/* The memory of an alias set in one dimension, `out` pointing to *size: of its inputs' dtype, or of
 * bytes where these differ. */
void fnzi_pass_alias_sets_memory(const fnzi_pass_alias_sets *m, uint32_t first, int64_t *size,
                                 fnz_geometry *out);
/* Input k overlaps another input. */
bool fnzi_pass_alias_sets_overlap(const fnzi_pass_alias_sets *m, uint32_t k);
/* Merges all alias sets, each into a member or, when all are, into a synthetic base; false when
 * that is done already. */
bool fnzi_pass_alias_sets_merge(fnzi_pass_alias_sets *m);

#endif
