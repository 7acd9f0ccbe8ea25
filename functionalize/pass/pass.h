/* pass.h - one graph of a program, replayed through the wrapper over a recorder.
 *
 *   driver.c          the program: inputs, nodes, outputs; once more when inputs must be merged
 *   aliased_inputs.c  which inputs share memory, and how they come in
 *   inputs.c          the inputs of the graph become tensors
 *   nodes.c           the nodes are replayed; those of higher-order operators by regions/
 *   pass_stack.c      a pass over a body, on top of the pass that waits for it
 *   args.c            arguments that are no tensors
 *   recover.c         goes on after a failure where all failures are to be found
 *   outputs.c         outputs and the final values of written inputs; output_aliases.c,
 *                     epilogue.c */
#ifndef FNZI_PASS_H
#define FNZI_PASS_H

#include "functionalize/pass/aliased_inputs.h"
#include "functionalize/recorder/recorder.h"
#include "functionalize/wrapper/wrapper.h"

/* A memory whose inputs are windows of one root in this pass. */
typedef struct fnzi_joined {
  fnzi_alias *root;     /* its own window is all of the memory; held to the end */
  uint32_t value, base; /* of the target graph; the input that stands for it, `into`'s inputs */
  const char *name;     /* of a MEMORY input, NULL for one of the source's */
} fnzi_joined;

typedef struct fnzi_pass {
  fnz_context *ctx;
  const fnz_program *from;
  const fnzi_graph *graph; /* of `from`; becomes graph `into` of `to` */
  fnz_backend *recorder;
  fnz_world *world;
  fnzi_arena arena;
  fnzi_arena lives;     /* has `tensors`, which end before what the pass gives is built */
  fnz_tensor **tensors; /* per value of the source graph; NULL before and after its life */
  fnz_tensor **inputs;  /* per input of the source graph; held to the end, NULL for literals */
  fnzi_alias **roots;   /* the memory that each input came with; held to the end */
  uint32_t *last_use;   /* per value: the last node that uses it; NULL when all are replayed */
  fnz_program *to;
  uint32_t into;
  fnzi_memories *memories; /* of graph 0, over all attempts; NULL for other graphs */
  fnzi_joined *joined;     /* per first input of a memory; root NULL where it is not joined */
  bool epilogue;           /* final values are written at the end, and are no outputs */
  bool again;              /* memories must be joined in another way: this attempt is for nothing */
  /* Of graphs inside of a program, see regions.h. */
  uint32_t index;  /* of `graph` in `from` */
  uint32_t at;     /* the node whose turn it is */
  fnz_arg *others; /* per value that is no tensor: a handle, or the number it stands for */
  struct fnzi_passes *all;
  struct fnzi_pass *below;    /* waits for this one */
  struct fnzi_body *body;     /* what it makes; NULL for graph 0, and when inlined */
  struct fnzi_region *region; /* the node at `at`, while its bodies are made */
  bool inlined;               /* its nodes go where those of the pass below go */
  bool owns_world;            /* and the recorder */
  bool autocast;              /* the nodes run under an enabled autocast */
} fnzi_pass;

/* All passes over one program. */
typedef struct fnzi_passes {
  fnz_context *ctx;
  const fnz_program *from;
  fnz_program *to;
  fnz_views views;
  fnzi_arena arena;
  struct fnzi_body **bodies; /* per source graph, the newest first */
  bool *counts_from_storage; /* per source graph: some view in it, or below it, does */
  bool writes;               /* some operator does; if none does, strides are of no matter */
  fnzi_pass *top;            /* the others wait for it, each for the one above */
  uint32_t depth;
} fnzi_passes;

/* --- pass_stack.c ----------------------------------------------------------------------------- */
/* Makes the tables of p's graph that its replay needs. */
FNZ_MUST_CHECK fnz_status fnzi_pass_prepare(fnzi_pass *p);
/* Ends the tables that only the replay needs. */
void fnzi_pass_replayed(fnzi_pass *p);
/* Gives p a wrapper of its own over its recorder. */
FNZ_MUST_CHECK fnz_status fnzi_pass_world(fnzi_pass *p);
/* Puts a pass over `graph` on top, with tables of its own, and the wrapper and the recorder of the
 * pass below it. LIMIT when passes are nested too deep. */
FNZ_MUST_CHECK fnz_status fnzi_pass_push(fnzi_passes *all, uint32_t graph, fnzi_pass **out);
/* Ends the pass on top. */
void fnzi_pass_pop(fnzi_passes *all);

/* --- args.c ----------------------------------------------------------------------------------- */
/* An argument that is no tensor, as a node of the target takes it: a handle for a value, a number
 * where the value is known as one. */
FNZ_MUST_CHECK fnz_status fnzi_pass_other(const fnzi_pass *p, fnz_arg *arg);
/* The symbol of the target program for one of the source program. */
FNZ_MUST_CHECK fnz_status fnzi_pass_symbol(const fnzi_pass *p, uint32_t symbol, uint32_t *out);

/* --- nodes.c ---------------------------------------------------------------------------------- */
/* Replays the node at p->at, or puts a pass on top that this node has to wait for. */
FNZ_MUST_CHECK fnz_status fnzi_pass_step(fnzi_pass *p);

/* --- recover.c --------------------------------------------------------------------------------
 * Both give `status` back, unless somebody wants to know all failures: then it is noted, if it is
 * one of the program. */
FNZ_MUST_CHECK fnz_status fnzi_pass_excuse(fnzi_pass *p, const fnzi_node *node, fnz_status status);
/* The same for a node whose turn it was; its results become unknown values. */
FNZ_MUST_CHECK fnz_status fnzi_pass_go_on(fnzi_pass *p, const fnzi_node *node, fnz_status status);

/* --- inputs.c --------------------------------------------------------------------------------- */
/* What belongs to the program and not to a graph: versions, ranges, weights. */
FNZ_MUST_CHECK fnz_status fnzi_pass_heading(fnzi_pass *p);
/* Inputs of the target graph, and a tensor around each. */
FNZ_MUST_CHECK fnz_status fnzi_pass_inputs(fnzi_pass *p);
/* A tensor that looks at a window of the memory whose all is `root`: as the inputs of a graph do
 * that share memory. Wrap a value for all of the memory with fnz_tensor_wrap(), take that tensor's
 * node as `root` and call this for each input; all of them, and their views, alias from then on.
 * The root's tensor may be released when the others are there. BOUNDS when the window reaches
 * beyond the root, which must be dense where windows are not made of ranges of its dimensions. */
FNZ_MUST_CHECK fnz_status fnzi_pass_window(fnzi_pass *p, fnzi_alias *root,
                                           const fnz_geometry *window, fnz_tensor **out);
/* Ends what the inputs hold. */
void fnzi_pass_inputs_end(fnzi_pass *p);

/* --- outputs.c -------------------------------------------------------------------------------- */
/* Reads the final value of every mutated input and every output of the graph, builds the nodes that
 * these need, and makes them outputs of the target graph. */
FNZ_MUST_CHECK fnz_status fnzi_pass_outputs(fnzi_pass *p);

/* --- driver.c --------------------------------------------------------------------------------- */
/* Functionalizes a program without symbolic sizes. `options` are complete; `asked` gets notes,
 * `decisions` gets answers about aliasing; both may be NULL. */
FNZ_MUST_CHECK fnz_status fnzi_functionalize_plain(fnz_context *ctx, const fnz_program *program,
                                                   const fnz_functionalize_options *options,
                                                   fnzi_asked *asked, fnzi_decisions *decisions,
                                                   fnz_program **out);

#endif
