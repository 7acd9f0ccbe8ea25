/* mlir.h - what the files of the MLIR writer share (docs/mlir.md).
 *
 * module.c     the module: comments, weights, the function with its arguments and results
 * state.c      which inputs are arguments, globals or nothing, and where final values go
 * shapes.c     ranges and equalities of symbolic sizes
 * node.c       a node that calls an operator
 * numbers.c    a node that computes numbers
 * regions.c    nodes with bodies: branches, loops, calls
 * args.c       arguments of operators
 * constants.c  constants, which come before the function's operations
 * words.c      names, types, numbers
 * weights.c    weights as globals, and as a safetensors file
 * methods.c    weights that several programs share
 *
 * Complex numbers are pairs of real ones throughout: in types, in weights, and in views of the one
 * as the other, which are another name of the same value.
 *
 * Names in the text: a value has its own one where that is an identifier, "%$7" else; "%$2.x" in
 * the second body that is written out. Names with a dot in the first place are the writer's. */
#ifndef FNZI_MLIR_H
#define FNZI_MLIR_H

#include "program/formats/out.h"
#include "program/program.h"

#include <fnz/mlir.h>

/* Operands of one operation, and their types, each separated by commas. */
typedef struct fnzi_mlir_list {
  fnz_buffer names, types;
} fnzi_mlir_list;

/* The kind of a value that is no tensor. */
typedef enum fnzi_mlir_number { FNZI_MLIR_INT, FNZI_MLIR_FLOAT, FNZI_MLIR_BOOL } fnzi_mlir_number;

/* A graph that is being written: graph 0, or a body at its node. */
typedef struct fnzi_mlir_frame {
  uint32_t graph, node; /* the next node */
  uint32_t instance;    /* 0 for graph 0, then counted */
  const char **names;   /* of values, NULL where not written yet */
  uint8_t *numbers;     /* fnzi_mlir_number of values */
  int phase;            /* of the node that the body belongs to (regions.c) */
} fnzi_mlir_frame;

/* The role of an input of the program. */
typedef enum fnzi_mlir_role {
  FNZI_MLIR_UNUSED,
  FNZI_MLIR_ARGUMENT,
  FNZI_MLIR_OVERWRITTEN, /* an argument, whose memory gets the final value */
  FNZI_MLIR_GLOBAL,
  FNZI_MLIR_MUTABLE /* a global that is stored at the end */
} fnzi_mlir_role;

enum { FNZI_MLIR_DEPTH = 32 };

/* The mark of the file of weights: FNZI_EXTERNAL_MARK(). */
#define FNZI_MLIR_KIND "weights of mlir"

/* A weight of the module: of the first program that has it. */
typedef struct fnzi_mlir_weight {
  const char *key; /* its name in the module, and in the file */
  uint32_t method, input;
  bool is_stored; /* some function stores its global */
} fnzi_mlir_weight;

/* The state that all functions of a module share. */
typedef struct fnzi_mlir_module {
  const fnz_method *methods;
  size_t count;
  fnzi_map keys; /* name -> weight */
  struct {
    fnzi_mlir_weight *data;
    size_t count, capacity;
  } weights;
} fnzi_mlir_module;

/* One function. */
typedef struct fnzi_mlir {
  fnz_context *ctx;
  const fnz_program *p;
  fnzi_mlir_module *module;
  uint32_t method;   /* of the module's */
  uint32_t *weights; /* per input of graph 0: the module's weight; UINT32_MAX for none */
  fnz_mlir_options options;
  fnz_mlir_refused_fn *refused; /* gets what cannot be written; NULL: that fails */
  void *user;
  fnzi_arena arena;
  uint8_t *roles;       /* fnzi_mlir_role per input of graph 0 */
  int64_t *finals;      /* per output of graph 0: the input that it is the final value of, or -1 */
  fnz_buffer constants; /* operations in front */
  fnz_buffer body;      /* those behind */
  fnz_buffer resources; /* of inline weights */
  fnz_buffer scratch;
  fnzi_map known;       /* names of constants, texts of numbered ones -> number */
  fnzi_mlir_list args;  /* of the operation that is being written */
  fnzi_mlir_list items; /* of a list among them */
  uint64_t fresh;       /* numbers of names that the writer makes up */
  uint32_t instances;
  uint32_t depth; /* frames in use; the last one is written */
  fnzi_mlir_frame frames[FNZI_MLIR_DEPTH];
} fnzi_mlir;

static inline fnzi_mlir_frame *fnzi_mlir_top(fnzi_mlir *w) {
  return &w->frames[w->depth - 1];
}

/* --- words.c ---------------------------------------------------------------------------------- */
/* A string with quotes and escapes. */
FNZ_MUST_CHECK fnz_status fnzi_mlir_put_quoted(fnz_context *ctx, fnz_buffer *out, const char *s,
                                               size_t size);
/* "f32", as tensors of the dialect have it; NULL if there is none. */
const char *fnzi_mlir_element(fnz_dtype dtype);
/* Complex numbers are pairs of real ones, in a last dimension of 2: the geometry with that, in
 * `scratch`; strides are not in it. Any other geometry as it is. */
typedef struct fnzi_mlir_scratch {
  fnz_geometry geometry;
  int64_t sizes[FNZ_MAX_RANK + 1];
  uint32_t symbols[FNZ_MAX_RANK + 1];
} fnzi_mlir_scratch;
const fnz_geometry *fnzi_mlir_as_pairs(const fnz_geometry *g, fnzi_mlir_scratch *scratch);
/* c10's number of an element type. */
int64_t fnzi_mlir_scalar_type(fnz_dtype dtype);
/* "!torch.vtensor<[2,?],f32>", and "!torch.tensor" for `mutable`. */
FNZ_MUST_CHECK fnz_status fnzi_mlir_put_tensor(fnzi_mlir *w, fnz_buffer *out, const fnz_geometry *g,
                                               bool is_mutable);
/* "tensor<2x?xf32>" */
FNZ_MUST_CHECK fnz_status fnzi_mlir_put_builtin(fnzi_mlir *w, fnz_buffer *out,
                                                const fnz_geometry *g);
FNZ_MUST_CHECK fnz_status fnzi_mlir_put_type(fnzi_mlir *w, fnz_buffer *out,
                                             const fnzi_mlir_frame *frame, const fnz_arg *value);
const char *fnzi_mlir_number_type(fnzi_mlir_number number);
/* A float as an attribute of this type: a decimal with a point, or its bits if no decimal denotes
 * it. */
FNZ_MUST_CHECK fnz_status fnzi_mlir_put_float(fnz_context *ctx, fnz_buffer *out, double value,
                                              fnz_dtype dtype);
/* The name of a value of the frame. */
FNZ_MUST_CHECK fnz_status fnzi_mlir_name(fnzi_mlir *w, fnzi_mlir_frame *frame, uint64_t value,
                                         const char **out);
/* A new name, "%.t7". */
FNZ_MUST_CHECK fnz_status fnzi_mlir_fresh(fnzi_mlir *w, const char **out);
/* ` loc("model.py":7:0)` and a new line. */
FNZ_MUST_CHECK fnz_status fnzi_mlir_put_end(fnzi_mlir *w, const fnzi_node *n);

/* --- constants.c ------------------------------------------------------------------------------ */
FNZ_MUST_CHECK fnz_status fnzi_mlir_int(fnzi_mlir *w, int64_t value, const char **out);
FNZ_MUST_CHECK fnz_status fnzi_mlir_bool(fnzi_mlir *w, bool value, const char **out);
FNZ_MUST_CHECK fnz_status fnzi_mlir_none(fnzi_mlir *w, const char **out);
FNZ_MUST_CHECK fnz_status fnzi_mlir_float(fnzi_mlir *w, double value, const char **out);
FNZ_MUST_CHECK fnz_status fnzi_mlir_string(fnzi_mlir *w, const char *s, size_t size,
                                           const char **out);
FNZ_MUST_CHECK fnz_status fnzi_mlir_device(fnzi_mlir *w, const char *device, const char **out);
/* A tensor without dimensions that holds a number, which is an INT, FLOAT or BOOL. */
FNZ_MUST_CHECK fnz_status fnzi_mlir_literal(fnzi_mlir *w, const fnz_arg *number, fnz_dtype dtype,
                                            const char **out);

/* --- args.c ----------------------------------------------------------------------------------- */
void fnzi_mlir_list_clear(fnzi_mlir_list *list);
FNZ_MUST_CHECK fnz_status fnzi_mlir_add(fnzi_mlir *w, fnzi_mlir_list *list, const char *name,
                                        const char *type);
/* A value, or a constant of the type that it has by itself. */
FNZ_MUST_CHECK fnz_status fnzi_mlir_add_plain(fnzi_mlir *w, fnzi_mlir_list *list,
                                              fnzi_mlir_frame *frame, const fnz_arg *arg);
/* All arguments of the node for the parameters of `op`, into w->args. */
FNZ_MUST_CHECK fnz_status fnzi_mlir_add_args(fnzi_mlir *w, const fnzi_node *n, const fnz_op *op);
/* Converts a scalar to another kind; *out is the name of the result. */
FNZ_MUST_CHECK fnz_status fnzi_mlir_convert(fnzi_mlir *w, const fnz_arg *arg, fnzi_mlir_number to,
                                            const char **out);
fnzi_mlir_number fnzi_mlir_number_of(fnzi_mlir *w, const fnz_arg *arg);

/* --- node.c, numbers.c, regions.c ------------------------------------------------------------- */
FNZ_MUST_CHECK fnz_status fnzi_mlir_put_call(fnzi_mlir *w, const fnzi_node *n);
FNZ_MUST_CHECK fnz_status fnzi_mlir_put_number(fnzi_mlir *w, const fnzi_node *n);
/* Graph 0 with all bodies; the frame of graph 0 stays. */
FNZ_MUST_CHECK fnz_status fnzi_mlir_put_graphs(fnzi_mlir *w);
/* Room for a graph on the stack. */
FNZ_MUST_CHECK fnz_status fnzi_mlir_enter(fnzi_mlir *w, uint32_t graph);
/* The kinds of numbers that a node gives. */
void fnzi_mlir_note_numbers(fnzi_mlir *w, const fnzi_node *n);

/* --- state.c ---------------------------------------------------------------------------------- */
FNZ_MUST_CHECK fnz_status fnzi_mlir_find_roles(fnzi_mlir *w);
/* The input that an output is the final value of; -1 for none. */
int64_t fnzi_mlir_final_of(const fnzi_mlir *w, uint32_t output);
static inline bool fnzi_mlir_is_argument(uint8_t role) {
  return role == FNZI_MLIR_ARGUMENT || role == FNZI_MLIR_OVERWRITTEN;
}
/* The output is a result of the function. */
bool fnzi_mlir_is_result(const fnzi_mlir *w, uint32_t output);

/* --- shapes.c, weights.c ---------------------------------------------------------------------- */
FNZ_MUST_CHECK fnz_status fnzi_mlir_put_shapes(fnzi_mlir *w, fnz_buffer *out);
FNZ_MUST_CHECK fnz_status fnzi_mlir_put_globals(fnzi_mlir *w, fnz_buffer *out);
/* "@name" of the weight of an input. */
FNZ_MUST_CHECK fnz_status fnzi_mlir_put_symbol(fnzi_mlir *w, fnz_buffer *out, uint32_t input);
/* The weight as a compact array: its own memory where that is one already. */
FNZ_MUST_CHECK fnz_status fnzi_mlir_compact(fnzi_mlir *w, const fnzi_weight *weight,
                                            fnz_array *out);
/* The file of the weights of all functions, its data as pieces where there are any (`pieces` not
 * NULL). */
FNZ_MUST_CHECK fnz_status fnzi_mlir_put_weights(fnzi_mlir *all, size_t count, fnz_buffer *out,
                                                fnzi_out_pieces *pieces);

/* --- methods.c -------------------------------------------------------------------------------- */
/* Which inputs of the functions are which weights of their module. After their roles are found. */
FNZ_MUST_CHECK fnz_status fnzi_mlir_join(fnzi_mlir *all, size_t count);
/* The function is the first to have the weight of this input. */
static inline bool fnzi_mlir_is_first(const fnzi_mlir *w, uint32_t input) {
  const uint32_t weight = w->weights[input];
  return weight != UINT32_MAX && w->module->weights.data[weight].method == w->method &&
         w->module->weights.data[weight].input == input;
}

#endif
