/* aliased_inputs.h - inputs of a program that lie in one memory (aliased_inputs.c). */
#ifndef FNZI_ALIASED_INPUTS_H
#define FNZI_ALIASED_INPUTS_H

#include "views/views.h"

/* How the inputs of one memory come into the pass. */
typedef enum fnzi_joining {
  FNZI_APART = 0, /* each with memory of its own: no write to one meets another */
  FNZI_BY_MEMBER, /* as windows of the input that shows all of it; as below where there is none */
  FNZI_BY_MEMORY  /* as windows of one more input, of kind MEMORY */
} fnzi_joining;

/* Lives as long as all passes over a program; memories are known by their first input. */
typedef struct fnzi_memories {
  uint32_t count;               /* of inputs */
  uint32_t *first;              /* per input: the first one of its memory; itself when alone */
  const fnz_geometry **windows; /* per input: its place in its memory; NULL for what is no tensor */
  uint8_t *joining;             /* per first input: fnzi_joining */
  bool shared;                  /* some memory has several inputs */
} fnzi_memories;

FNZ_MUST_CHECK fnz_status fnzi_memories_find(fnzi_arena *arena, const fnz_program *p,
                                             fnzi_memories *out);
/* Input k shows all bytes that any input of its memory shows, without gaps. */
bool fnzi_memory_stands(const fnzi_memories *m, uint32_t k);
/* All of a memory in one dimension, `out` pointing to *size: of its inputs' dtype, of bytes where
 * these differ. */
void fnzi_memory_geometry(const fnzi_memories *m, uint32_t first, int64_t *size, fnz_geometry *out);
/* Input k has a byte in common with another one. */
bool fnzi_memory_meets(const fnzi_memories *m, uint32_t k);
/* What is apart is joined or, when nothing is, gets an input of its own; false when that is so
 * already. */
bool fnzi_memories_join_all(fnzi_memories *m);

#endif
