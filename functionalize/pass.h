/* pass.h - one graph of a program on its way through the wrapper, as the files of the pass share
 * it.
 *
 *   inputs.c         the graph's inputs become tensors, its heading goes over
 *   functionalize.c  its nodes are replayed
 *   outputs.c        its outputs, and the final values of what it has written, come back
 */
#ifndef FNZI_PASS_H
#define FNZI_PASS_H

#include "functionalize/recorder.h"
#include "functionalize/world.h"

typedef struct fnzi_pass {
  fnz_context *ctx;
  const fnz_program *from;
  const fnzi_graph *graph; /* of `from`; becomes graph `into` of `to` */
  fnz_backend *recorder;
  fnz_world *world;
  fnzi_arena arena;
  fnz_tensor **tensors; /* per value of the source graph; NULL before and after its life */
  fnz_tensor **inputs;  /* per input of the source graph; held to the end, NULL for literals */
  fnzi_alias **roots;   /* the memory that each input came with; held to the end */
  uint32_t *last_use;   /* per value: the last node that uses it */
  fnz_program *to;
  uint32_t into;
} fnzi_pass;

/* --- inputs.c --------------------------------------------------------------------------------- */
/* What belongs to the program and not to a graph: versions, ranges, weights. */
FNZ_MUST_CHECK fnz_status fnzi_pass_heading(fnzi_pass *p);
/* Inputs of the target graph, and a tensor around each. */
FNZ_MUST_CHECK fnz_status fnzi_pass_inputs(fnzi_pass *p);

/* --- outputs.c -------------------------------------------------------------------------------- */
/* Reads the final value of every mutated input and every output of the graph, builds the nodes that
 * these need, and makes them outputs of the target graph. */
FNZ_MUST_CHECK fnz_status fnzi_pass_outputs(fnzi_pass *p);

#endif
