/* aliased_inputs.h - the alias sets among the inputs of a program (aliased_inputs.c). */
#ifndef FNZI_ALIASED_INPUTS_H
#define FNZI_ALIASED_INPUTS_H

#include "views/views.h"

/* How the inputs of one alias set come into the pass. */
typedef enum fnzi_joining {
  FNZI_APART = 0, /* each with memory of its own: no write to one overlaps another */
  FNZI_BY_MEMBER, /* as windows of the input that shows all of the memory; as below where there is
                     none */
  FNZI_BY_MEMORY  /* as windows of a synthetic base: one more input, of kind MEMORY */
} fnzi_joining;

/* Kept over all attempts at a program. An alias set is identified by its first input. */
typedef struct fnzi_memories {
  uint32_t count;               /* of inputs */
  uint32_t *first;              /* per input: the first one of its alias set; itself when alone */
  const fnz_geometry **windows; /* per input: its window of the memory; NULL for no tensor */
  uint8_t *merge;               /* per first input: fnzi_joining */
  bool shared;                  /* some alias set has several inputs */
} fnzi_memories;

FNZ_MUST_CHECK fnz_status fnzi_memories_find(fnzi_arena *arena, const fnz_program *p,
                                             fnzi_memories *out);
/* Input k shows all bytes that the inputs of its alias set show, without gaps. */
bool fnzi_memory_stands(const fnzi_memories *m, uint32_t k);
/* The memory of an alias set in one dimension, `out` pointing to *size: of its inputs' dtype, or of
 * bytes where these differ. */
void fnzi_memory_geometry(const fnzi_memories *m, uint32_t first, int64_t *size, fnz_geometry *out);
/* Input k overlaps another input. */
bool fnzi_memory_meets(const fnzi_memories *m, uint32_t k);
/* Merges all alias sets, each into a member or, when all are, into a synthetic base; false when
 * that is done already. */
bool fnzi_memories_join_all(fnzi_memories *m);

#endif
