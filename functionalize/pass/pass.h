/* pass.h - one graph of a program, replayed through the wrapper over a recorder.
 *
 *   driver.c          the program: inputs, nodes, outputs; once more when inputs must be merged
 *   regions/          nodes of higher-order operators
 *   nodes.c           all others
 *   aliased_inputs.c  which inputs share memory, and how they come in
 *   inputs.c          the inputs of the graph become tensors
 *   pass_stack.c      a pass over a body, on top of the pass that waits for it
 *   expand.c          a node that is replayed as calls of other operators; expand_sizes.c, where
 *                     its sizes are expressions
 *   args.c            arguments that are no tensors
 *   recover.c         goes on after a failure where all failures are to be found
 *   outputs.c         outputs and the final values of written inputs; output_aliases.c,
 *                     epilogue.c */
#ifndef FNZI_PASS_H
#define FNZI_PASS_H

#include "functionalize/pass/aliased_inputs.h"
#include "functionalize/recorder/recorder.h"
#include "functionalize/wrapper/wrapper.h"
#include "program/script.h"

/* An alias set whose inputs are windows of one root in this pass. One input of the target provides
 * the root. */
typedef struct fnzi_pass_merged {
  fnzi_wrap_alias *root; /* all of the memory; held to the end */
  uint32_t value, base;  /* of graph `into`: the base's value, its place among the inputs */
  const char *name; /* of an added MEMORY input; NULL where an input of the source is the base */
} fnzi_pass_merged;

/* Decides which nodes are replayed as calls of other operators. If may_expand() is false, the node
 * stays at all sizes.
 * whole     the node
 * *done     false: the node stays. Else `out` is the script that replaces it; free it with
 *           fnzi_script_free(); everything in it is in the arena. */
typedef struct fnzi_pass_expander fnzi_pass_expander;
struct fnzi_pass_expander {
  bool casts; /* regions under autocast become nodes, too: casts.c */
  bool
      pairs; /* complex results lie as steps give them: an order of eager's would take more nodes */
  bool (*may_expand)(const fnzi_pass_expander *self, const fnzi_script_whole *whole);
  fnz_status (*expand)(const fnzi_pass_expander *self, fnzi_arena *arena,
                       const fnzi_script_whole *whole, fnzi_script *out, bool *done);
};

/* Options of the pass: the complete options of fnz_functionalize(), and additions of
 * fnz_decompose(). */
typedef struct fnzi_pass_options {
  fnz_functionalize_options asked;
  const fnzi_pass_expander *expander; /* NULL for none */
  bool as_recorded;                   /* the recorder simplifies nothing */
  bool whole;                         /* an epilogue writes whole inputs: views are denied */
} fnzi_pass_options;

typedef struct fnzi_pass {
  fnz_context *ctx;
  const fnz_program *from;
  const fnzi_graph *graph; /* of `from`; becomes graph `into` of `to` */
  fnz_backend *recorder;
  fnz_wrapper *wrapper;
  fnzi_arena arena;
  fnzi_arena tensor_arena; /* of `tensors`, which end before the target graph is built */
  fnz_tensor **tensors;    /* per value of the source graph; NULL before and after its uses */
  fnz_tensor **inputs;     /* per input of the source graph; held to the end, NULL for literals */
  fnzi_wrap_alias **roots; /* the memory that each input comes with; held to the end */
  uint32_t *last_use;      /* per value: the last node that uses it; NULL after the replay */
  fnz_program *to;
  uint32_t into;
  fnzi_pass_alias_sets
      *alias_sets;          /* of graph 0's inputs, over all attempts; NULL for other graphs */
  fnzi_pass_merged *merged; /* per first input of an alias set; root NULL where it is not merged */
  bool epilogue;            /* final values are written at the end, and are no outputs */
  bool whole;               /* there, inputs are written as a whole */
  bool must_restart;        /* inputs must be merged in another way: this attempt is dropped */
  /* For bodies of higher-order operators, see regions.h: */
  uint32_t index;  /* of `graph` in `from` */
  uint32_t at;     /* the node that is replayed next */
  fnz_arg *others; /* per value that is no tensor: a handle, or the number that it is known to be */
  struct fnzi_pass_stack *all;
  struct fnzi_pass *below;       /* the pass that continues after this pass */
  struct fnzi_region_body *body; /* the body that it makes; NULL for graph 0, and when inlined */
  struct fnzi_region_op *region; /* the node at `at`, while its bodies are made */
  bool inlined;                  /* its nodes are recorded among the nodes of the pass below */
  bool owns_wrapper;             /* and the recorder; else it uses the pass below's */
  bool autocast;                 /* the nodes run under an enabled autocast */
  bool has_casts;                /* they do in the source, and are replayed on casts to: */
  fnz_dtype casts;
} fnzi_pass;

/* All passes over one program. */
typedef struct fnzi_pass_stack {
  fnz_context *ctx;
  const fnz_program *from;
  fnz_program *to;
  fnz_views views;
  const fnzi_pass_expander *expander; /* NULL for none */
  bool as_recorded;
  fnzi_arena arena;
  struct fnzi_region_body **bodies; /* per source graph, the newest first */
  bool *counts_from_storage;        /* per source graph: some view in it, or in its bodies, does */
  bool *sees_storage;               /* the same of copies of such views, too */
  bool writes;                      /* some operator writes; if none does, strides do not matter */
  fnzi_pass *top;                   /* the others wait, each for the pass above it */
  uint32_t depth;
} fnzi_pass_stack;

/* --- pass_stack.c ----------------------------------------------------------------------------- */
/* Makes the tables of p's graph that its replay needs. */
FNZ_MUST_CHECK fnz_status fnzi_pass_tables_make(fnzi_pass *p);
/* Ends the tables that only the replay needs. */
void fnzi_pass_tables_free(fnzi_pass *p);
/* Gives p a wrapper of its own over its recorder. */
FNZ_MUST_CHECK fnz_status fnzi_pass_wrapper_make(fnzi_pass *p);
/* Puts a pass over `graph` on top, with tables of its own, and the wrapper and the recorder of the
 * pass below it. LIMIT when passes are nested too deep. */
FNZ_MUST_CHECK fnz_status fnzi_pass_stack_push(fnzi_pass_stack *all, uint32_t graph,
                                               fnzi_pass **out);
/* Ends the pass on top. */
void fnzi_pass_stack_pop(fnzi_pass_stack *all);

/* --- args.c ----------------------------------------------------------------------------------- */
/* An argument that is no tensor, as a node of the target takes it: a handle for a value, a number
 * where the value is known as one. */
FNZ_MUST_CHECK fnz_status fnzi_pass_arg_other(const fnzi_pass *p, fnz_arg *arg);
/* The symbol of the target program for one of the source program. */
FNZ_MUST_CHECK fnz_status fnzi_pass_arg_symbol(const fnzi_pass *p, uint32_t symbol, uint32_t *out);

/* --- expand.c --------------------------------------------------------------------------------- */
/* Runs the request of the node at p->at as calls of other operators, if the expander replaces it;
 * else *done is false. */
FNZ_MUST_CHECK fnz_status fnzi_pass_node_expand(fnzi_pass *p, fnzi_wrap_request *request,
                                                bool *done);

/* --- expand_sizes.c --------------------------------------------------------------------------- */
/* As expander->expand(), of a node with words of `ints`. UNSUPPORTED where no script was found that
 * is right at all sizes. */
FNZ_MUST_CHECK fnz_status fnzi_pass_expand_sizes(fnzi_ints *ints,
                                                 const fnzi_pass_expander *expander,
                                                 fnzi_arena *arena, const fnzi_script_whole *whole,
                                                 fnzi_script *out, bool *done);

/* --- casts.c ---------------------------------------------------------------------------------- */
struct fnzi_hop;
/* The region runs under autocast, and may be replayed without: *known. */
FNZ_MUST_CHECK fnz_status fnzi_pass_casts_find(const fnzi_pass *p, const struct fnzi_hop *hop,
                                               bool *known);
/* The body of a region is to be replayed in place of it. */
void fnzi_pass_casts_begin(const fnzi_pass *p, const struct fnzi_hop *hop, fnzi_pass *body);
/* Casts of arguments, each with a reference. */
typedef struct fnzi_pass_cast_args {
  fnz_tensor **data;
  const fnz_tensor **of; /* the tensors that were cast */
  size_t count;
} fnzi_pass_cast_args;
/* Puts casts in place of arguments where autocast does; `made` ends with fnzi_pass_args_release(),
 * also after a failure. */
FNZ_MUST_CHECK fnz_status fnzi_pass_args_cast(fnzi_pass *p, fnzi_wrap_request *request,
                                              fnzi_pass_cast_args *made);
void fnzi_pass_args_release(fnzi_pass_cast_args *made);

/* --- nodes.c ---------------------------------------------------------------------------------- */
/* Replays the node at p->at, which is not of a higher-order operator that is known. */
FNZ_MUST_CHECK fnz_status fnzi_pass_node_replay(fnzi_pass *p, const fnzi_node *node);
/* Releases the tensors that the node at p->at was the last to use; the next node follows. */
void fnzi_pass_node_end(fnzi_pass *p);

/* --- recover.c -------------------------------------------------------------------------------- */
/* Notes a failure and returns FNZ_OK, where all failures of the program are to be found; else
 * returns `status`. `node` NULL: a failure of the program as a whole. */
FNZ_MUST_CHECK fnz_status fnzi_pass_failure_note(fnzi_pass *p, const fnzi_node *node,
                                                 fnz_status status);
/* The same for the node at p->at, whose results become tensors of unknown elements. */
FNZ_MUST_CHECK fnz_status fnzi_pass_failure_recover(fnzi_pass *p, const fnzi_node *node,
                                                    fnz_status status);

/* --- inputs.c --------------------------------------------------------------------------------- */
/* Copies versions, ranges and weights of the program. */
FNZ_MUST_CHECK fnz_status fnzi_pass_header_copy(fnzi_pass *p);
/* Makes the inputs of the target graph, and a tensor around each. */
FNZ_MUST_CHECK fnz_status fnzi_pass_inputs_make(fnzi_pass *p);
/* A tensor that is a window of `root`, as inputs that share memory are. `root` is the alias of a
 * tensor around a value for all of the memory; that tensor may be released when all windows are
 * made. BOUNDS when the window reaches beyond the root. The root must be dense unless windows are
 * ranges of its dimensions. */
FNZ_MUST_CHECK fnz_status fnzi_pass_tensor_window(fnzi_pass *p, fnzi_wrap_alias *root,
                                                  const fnz_geometry *window, fnz_tensor **out);
/* Releases what the inputs hold. */
void fnzi_pass_inputs_free(fnzi_pass *p);

/* --- outputs.c -------------------------------------------------------------------------------- */
/* Reads the final value of every mutated input and every output of the graph, builds the nodes that
 * these need, and makes them outputs of the target graph. */
FNZ_MUST_CHECK fnz_status fnzi_pass_outputs_make(fnzi_pass *p);

/* --- functional.c ----------------------------------------------------------------------------- */
/* *out: by its operators and its signature, the program is what a pass with these options gives. */
FNZ_MUST_CHECK fnz_status fnzi_pass_is_functional(fnz_context *ctx, const fnz_program *program,
                                                  const fnz_functionalize_options *asked,
                                                  bool *out);
/* Operators that go by places in memory are given values that lie in rows. */
bool fnzi_pass_reads_rows(const fnz_program *program);

/* --- driver.c --------------------------------------------------------------------------------- */
/* Functionalizes a program without symbols, of numbers or of words. `notes` may be NULL. */
FNZ_MUST_CHECK fnz_status fnzi_pass_program(fnz_context *ctx, const fnz_program *program,
                                            const fnzi_pass_options *options, fnzi_notes *notes,
                                            fnz_program **out);

#endif
