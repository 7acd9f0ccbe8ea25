/* program.h - a traced tensor program: reading its figures and walking over it.
 *
 * A program has graphs. Graph 0 is the program itself; higher-order operators (cond, ...) refer to
 * the others by index. A graph has inputs, nodes in execution order, and outputs; each value is
 * defined once, by an input or a node. Everything a program hands out is borrowed and lives as long
 * as the program. A finished program never changes and may be read by many threads. */
#ifndef FNZ_PROGRAM_H
#define FNZ_PROGRAM_H

#include <fnz/operator.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fnz_program fnz_program;

FNZ_API void fnz_program_destroy(fnz_program *program);

/** Checks everything that the rest of fnz relies on: definitions before uses, unique names,
 * argument types by schema, geometries that fit 64 bits, the signature. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_program_verify(fnz_context *ctx, const fnz_program *program);

/** Figures over all graphs. Inputs, outputs and list items do not count as nodes. */
typedef struct fnz_stats {
  size_t nodes;
  size_t views;     /* nodes whose result may share memory with an argument */
  size_t mutations; /* nodes that write an argument */
  size_t copies;    /* nodes that only move elements: *_copy, *_scatter, clone, copy */
  size_t mutated;   /* inputs, parameters and buffers named as mutated by the signature */
  size_t inputs, outputs, graphs;
  uint64_t weight_bytes;
} fnz_stats;

FNZ_API void fnz_program_get_stats(const fnz_program *program, fnz_stats *out);

/** "2.14.1", or "" when the file did not say. */
FNZ_API const char *fnz_program_torch_version(const fnz_program *program);
/** Schema version of the .pt2 file, 0.0 when the program came from elsewhere. */
FNZ_API void fnz_program_schema_version(const fnz_program *program, int *major, int *minor);

/* --- Walking ---------------------------------------------------------------------------------- */

FNZ_API size_t fnz_graph_count(const fnz_program *program);
FNZ_API size_t fnz_node_count(const fnz_program *program, size_t graph);

/** One node as data. `op` is NULL for a higher-order operator; `target` always names it.
 * args[i] belongs to argument i of the schema; FNZ_ARG_DEFAULT where none was given. */
typedef struct fnz_node_info {
  const char *target;
  const fnz_op *op;
  const fnz_arg *args;
  size_t nargs;
  const fnz_arg *outputs;
  size_t noutputs;
  const char *source; /* "file.py:7" or a stack trace; "" when unknown */
} fnz_node_info;

FNZ_API void fnz_node_get(const fnz_program *program, size_t graph, size_t node,
                          fnz_node_info *out);

FNZ_API const fnz_arg *fnz_graph_inputs(const fnz_program *program, size_t graph, size_t *count);
FNZ_API const fnz_arg *fnz_graph_outputs(const fnz_program *program, size_t graph, size_t *count);

/** Name and geometry of a value; the geometry is NULL for what is not a tensor. */
FNZ_API const char *fnz_value_name(const fnz_program *program, size_t graph, uint64_t value);
FNZ_API const fnz_geometry *fnz_value_geometry(const fnz_program *program, size_t graph,
                                               uint64_t value);

/* Kinds of inputs and outputs of graph 0, as torch.export's signature has them. Columns: name in
 * the text form. Order is ABI. */
#define FNZ_INPUT_KIND_ROWS(ROW)                                                                   \
  ROW(USER, "user")                                                                                \
  ROW(PARAMETER, "parameter")                                                                      \
  ROW(BUFFER, "buffer")                                                                            \
  ROW(CONSTANT, "constant") /* a tensor that the program carries */                                \
  ROW(OBJECT, "object")                                                                            \
  ROW(LITERAL, "literal") /* a user input that was a number, string or None */                     \
  ROW(TOKEN, "token")
#define FNZ_OUTPUT_KIND_ROWS(ROW)                                                                  \
  ROW(USER, "user")                                                                                \
  ROW(LOSS, "loss")                                                                                \
  ROW(BUFFER_MUTATION, "buffer_mutation")                                                          \
  ROW(PARAMETER_MUTATION, "parameter_mutation")                                                    \
  ROW(INPUT_MUTATION, "input_mutation")                                                            \
  ROW(PARAMETER_GRADIENT, "parameter_gradient")                                                    \
  ROW(INPUT_GRADIENT, "input_gradient")                                                            \
  ROW(TOKEN, "token")

#define FNZ_KIND_ENUM_IN(id, name)  FNZ_INPUT_##id,
#define FNZ_KIND_ENUM_OUT(id, name) FNZ_OUTPUT_##id,
typedef enum fnz_input_kind {
  FNZ_INPUT_KIND_ROWS(FNZ_KIND_ENUM_IN) FNZ_INPUT_KIND_COUNT
} fnz_input_kind;
typedef enum fnz_output_kind {
  FNZ_OUTPUT_KIND_ROWS(FNZ_KIND_ENUM_OUT) FNZ_OUTPUT_KIND_COUNT
} fnz_output_kind;
#undef FNZ_KIND_ENUM_IN
#undef FNZ_KIND_ENUM_OUT

/** Input k of graph 0. `target`: the fully qualified name of a parameter, buffer or constant, the
 * graph name of a user input. `persistent`: of a buffer. */
typedef struct fnz_input_spec {
  fnz_input_kind kind;
  const char *target;
  bool persistent;
} fnz_input_spec;

/** Output k of graph 0. `target`: what a mutation or gradient belongs to, else NULL. `metadata`:
 * the mutation also gave its target the sizes, strides and offset of the value's geometry. */
typedef struct fnz_output_spec {
  fnz_output_kind kind;
  const char *target;
  bool metadata;
} fnz_output_spec;

FNZ_API fnz_input_spec fnz_program_input(const fnz_program *program, size_t k);
FNZ_API fnz_output_spec fnz_program_output(const fnz_program *program, size_t k);

#ifdef __cplusplus
}
#endif
#endif
