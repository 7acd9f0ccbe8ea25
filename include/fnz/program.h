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

/** Destroy programs before their context. NULL is allowed. */
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
  size_t weights; /* parameters, buffers and constants */
  size_t no_data; /* weights without data: the file has only the geometry (the JSON of a .pt2 file
                     alone), or a pickle of torch (archives of torch 2.8 and before) */
  uint64_t weight_bytes; /* of all of them */
} fnz_stats;

/** Counts all of these. */
FNZ_API fnz_stats fnz_program_stats(const fnz_program *program);

/** "2.14.1", or "" when the file did not say. */
FNZ_API const char *fnz_program_torch_version(const fnz_program *program);
typedef struct fnz_schema_version {
  int major, minor;
} fnz_schema_version;

/** Schema version of the .pt2 file, 0.0 when the program came from elsewhere. */
FNZ_API fnz_schema_version fnz_program_schema_version(const fnz_program *program);

/** The member module_call_graph of the .pt2 file that the program comes from, as JSON: in_spec and
 * out_spec of its entry with fqn "" are PyTorch's texts of the tuples, lists and dicts whose leaves
 * the user inputs and the user outputs are, in order. Programs that fnz derives from that program
 * keep it. NULL if there was no such file or it has no such member. */
FNZ_API const char *fnz_program_module_call_graph(const fnz_program *program);

/* --- Walking ------------------------------------------------------------------------------------
 * Beyond the last graph, node, value, input or output there is nothing: counts of 0, NULL, "",
 * and structures of zeros. */

/** How many graphs a program has; how many nodes a graph has, 0 beyond the last graph. */
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

/** Node `node` of graph `graph`. */
FNZ_API fnz_node_info fnz_program_node(const fnz_program *program, size_t graph, size_t node);

/** The inputs and the outputs of a graph, `count` of them. */
FNZ_API const fnz_arg *fnz_graph_inputs(const fnz_program *program, size_t graph, size_t *count);
FNZ_API const fnz_arg *fnz_graph_outputs(const fnz_program *program, size_t graph, size_t *count);

/** A place in source text. `path` and `code` point into the text that was parsed. */
typedef struct fnz_place {
  const char *path;
  size_t path_size;
  long line;        /* 0 when the text has no number */
  const char *code; /* the statement there, NULL when the text does not show it */
  size_t code_size;
} fnz_place;

/** Appends a node in the text form, on one line, without its notes: with the types of its results,
 * "%y: f32[2] = neg(%x)", or only their names. FNZ_BAD_ARGUMENT when there is no such node. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_node_write(fnz_context *ctx, const fnz_program *program,
                                                 size_t graph, size_t node, bool types,
                                                 fnz_buffer *out);

/** The place that a node's `source` points to: in a stack trace the innermost frame outside
 * PyTorch, else the last frame; for "file.py:7" that line. The path is empty if `source` names
 * none. */
FNZ_API fnz_place fnz_source_place(const char *source);

/** The metadata of a node without its stack trace, as JSON text of an object such as
 * {"nn_module_stack": "...", "torch_fn": "linear_1;builtin_function_or_method.linear"}. Nodes of a
 * functional program have the metadata of the node they come from. "" if nothing is known. */
FNZ_API const char *fnz_node_metadata(const fnz_program *program, size_t graph, size_t node);

/** A module (torch.nn.Module) whose forward() called a node. Both texts point into the metadata and
 * are not terminated: "blocks.0.qkv", "torch.nn.modules.linear.Linear". The path of the module that
 * was exported has no characters. */
typedef struct fnz_module {
  const char *path;
  size_t path_size;
  const char *type;
  size_t type_size;
} fnz_module;

/** Module `k` around a node: 0 is the innermost one, the last one is the module that was exported.
 * All zero beyond the last one, and if the metadata has no "nn_module_stack". */
FNZ_API fnz_module fnz_node_module(const fnz_program *program, size_t graph, size_t node, size_t k);

/** Name and geometry of a value; the geometry is NULL if it is not a tensor. */
FNZ_API const char *fnz_value_name(const fnz_program *program, size_t graph, uint64_t value);
FNZ_API const fnz_geometry *fnz_value_geometry(const fnz_program *program, size_t graph,
                                               uint64_t value);

/** A symbolic number, by its index in geometries (fnz_geometry's `symbols`). `text`:
 * an expression in Python's spelling, "s77" or "2*s77 + 1". `least`, `greatest`: of a plain symbol,
 * its range; INT64_MIN and INT64_MAX where nothing bounds it. All zero where there is no such
 * number. */
typedef struct fnz_symbol {
  const char *text;
  bool has_example;
  int64_t example, least, greatest;
} fnz_symbol;

/** Symbolic number `index`, from 1 on. */
FNZ_API fnz_symbol fnz_program_symbol(const fnz_program *program, uint32_t index);

/* Kinds of inputs and outputs of graph 0, as torch.export's signature has them. Columns: name in
 * the text form. Order is ABI. */
#define FNZ_INPUT_KIND_ROWS(ROW)                                                                   \
  ROW(USER, "user")                                                                                \
  ROW(PARAMETER, "parameter")                                                                      \
  ROW(BUFFER, "buffer")                                                                            \
  ROW(CONSTANT, "constant") /* a tensor that the program carries */                                \
  ROW(OBJECT, "object")                                                                            \
  ROW(LITERAL, "literal") /* a user input that was a number, string or None */                     \
  ROW(TOKEN, "token")                                                                              \
  ROW(MEMORY, "memory") /* all of the memory that other inputs look at, in one dimension */
#define FNZ_OUTPUT_KIND_ROWS(ROW)                                                                  \
  ROW(USER, "user")                                                                                \
  ROW(LOSS, "loss")                                                                                \
  ROW(BUFFER_MUTATION, "buffer_mutation")                                                          \
  ROW(PARAMETER_MUTATION, "parameter_mutation")                                                    \
  ROW(INPUT_MUTATION, "input_mutation")                                                            \
  ROW(PARAMETER_GRADIENT, "parameter_gradient")                                                    \
  ROW(INPUT_GRADIENT, "input_gradient")                                                            \
  ROW(TOKEN, "token")                                                                              \
  ROW(MEMORY_MUTATION, "memory_mutation")

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

/** "user", "parameter", ... and "user", "loss", "buffer_mutation", ... Static. */
FNZ_API const char *fnz_input_kind_name(fnz_input_kind kind);
FNZ_API const char *fnz_output_kind_name(fnz_output_kind kind);

/** Input k of graph 0. `target`: the fully qualified name of a parameter, buffer or constant, the
 * graph name of a user input. `persistent`: of a buffer.
 *
 * Inputs may share memory: then the geometries of their values, with their offsets, are windows of
 * it. `shares`: 1 + the index of the first input in the same memory; 0 for that first input, and
 * for memory of its own. If the original of a functional program writes such memory, one input
 * represents all of it, and no node uses the others. It is the input that shows all elements, or an
 * additional input of kind FNZ_INPUT_MEMORY, which the caller makes from the others: the geometry
 * of its value says which elements it has. Only this input has an output with its final value;
 * `written` marks the other inputs whose elements a write has changed too. */
typedef struct fnz_input_spec {
  fnz_input_kind kind;
  const char *target;
  bool persistent;
  bool written;
  uint32_t shares;
} fnz_input_spec;

/* The memory of an output in the original program; see fnz_output_spec. Order is ABI. */
typedef enum fnz_sharing {
  FNZ_SHARING_NEW = 0,     /* memory of its own; unknown for a traced program, and for a result of a
                              body that may be its operand */
  FNZ_SHARING_INPUT,       /* it is the very tensor that is input `of` */
  FNZ_SHARING_INPUT_VIEW,  /* a view of input `of` */
  FNZ_SHARING_OUTPUT,      /* it is the very tensor that is output `of` */
  FNZ_SHARING_OUTPUT_VIEW, /* it is in the memory of output `of` */
  FNZ_SHARING_OWN,         /* memory of its own, although its value is that of an input or of an
                              earlier output: a caller that hands out memory has to copy it */
  FNZ_SHARING_COUNT
} fnz_sharing;

/** One call of a view operator. `args` as in a node, without the tensor at position 0; `index`:
 * which result, if the operator returns a list. */
typedef struct fnz_view_call {
  const fnz_op *op;
  const fnz_arg *args;
  uint32_t nargs, index;
} fnz_view_call;

/** Output k of graph 0. `target`: the input that a mutation or gradient belongs to; for a user
 * output the input whose new value it is, if the caller holds the state (FNZ_STATE_IO); else NULL.
 * `metadata`: the mutation also gave its target the sizes, strides and offset of the value's
 * geometry, or of `window` if it is set. `set`: it also moved its target to other memory, described
 * by `sharing`. FNZ_OUTPUT_MEMORY_MUTATION is the final content of an input of kind MEMORY. It may
 * also belong to an input that was moved to other memory, or shows less of its memory at the end:
 * then it is the final content of everything that the input showed at first, which other names of
 * that memory see.
 *
 * `sharing` is known for functional programs. It tells a caller how to make later writes to an
 * output visible where eager PyTorch shows them: take input `of` after its mutations, and call
 * `views` on it, one after the other. `window` is the result: strides and offset in the memory of
 * input `of`. Without `views`, only the window is known. If several outputs share memory, `of` of
 * each is the index of one of them, and each, including that output, has a `window`. An output in
 * memory of its own has a `window` too if its strides in the original differ from the value's
 * geometry. */
typedef struct fnz_output_spec {
  fnz_output_kind kind;
  const char *target;
  bool metadata;
  bool set;
  fnz_sharing sharing;
  uint32_t of;
  const fnz_geometry *window; /* NULL where it is not needed */
  const fnz_view_call *views;
  uint32_t nviews;
} fnz_output_spec;

/* Conditions on the inputs, without which a program may compute other results. Order is ABI. */
typedef enum fnz_guard_kind {
  FNZ_GUARD_DISJOINT = 0, /* no input in `names` that the program writes shares memory with another
                             input in `names` */
  FNZ_GUARD_CONDITION,    /* `text` holds, a condition on symbolic sizes */
  FNZ_GUARD_KIND_COUNT
} fnz_guard_kind;

typedef struct fnz_guard {
  fnz_guard_kind kind;
  const char *text;         /* NULL for DISJOINT */
  const char *const *names; /* graph names of user inputs; NULL for CONDITION */
  uint32_t count;
} fnz_guard;

/** How many guards a program has, and guard `k`. */
FNZ_API size_t fnz_program_guard_count(const fnz_program *program);
FNZ_API fnz_guard fnz_program_guard(const fnz_program *program, size_t k);

/** Declares that the user input `input` is in the memory of the user input `base`: the caller
 * passes tensors that alias. `window` is its window, counted from the start of the memory, whose
 * first window is the geometry of `base`. Its dtype, sizes and strides must be the traced ones. All
 * of fnz uses the declaration from then on: both interpreters, the engine, the pass, verification
 * and the written forms. For programs that no other thread uses yet. fnz_program_alias() in
 * <fnz/functionalize.h> takes "x=y[1:]" instead.
 *
 * Both may be weights, too: buffers, parameters and constants, by graph name or qualified name, for
 * example if an exporter has written one tensor twice. Their elements must be the same.
 *
 * Fails with REF (no such inputs), TYPE (another dtype, other sizes or strides), DUPLICATE (`input`
 * shares memory already), OVERLAP (weights with other elements), UNSUPPORTED (a user input and a
 * weight, symbolic sizes). */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_program_declare_alias(fnz_context *ctx, fnz_program *program,
                                                            const char *input, const char *base,
                                                            const fnz_geometry *window);

/** Called for each node of an operator without a rule for its results. */
typedef void fnz_unruled_fn(void *user, const char *op);

/** Compares the recorded types of a program with the rules of its operators. Dtype and sizes of
 * each result must equal the operator's for the recorded types of its arguments, symbolic sizes by
 * their examples. A view must be at its window, or at offset 0, because PyTorch drops offsets when
 * it saves a loaded file again. Elements of new results must not share memory. Arguments of
 * operators that neither write nor view must be accepted by the operator. Reading a file does not
 * check this.
 *
 * unruled  called for operators without a rule, such as custom operators; NULL: not needed.
 *
 * Fails with TYPE (the message names node, result, the recorded type and the rule's), and as the
 * operator does for arguments that it refuses (most often BOUNDS or TYPE). */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_program_check_types(fnz_context *ctx,
                                                          const fnz_program *program,
                                                          fnz_unruled_fn *unruled, void *user);

/** Computes missing strides and offsets of views. Text may omit them, and files with torch.vmap
 * regions do. Readers then assume contiguous layout; this function computes the layout from the
 * view operators. For programs that no other thread uses yet.
 *
 * Fails as fnz_program_check_types(). */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_program_place_views(fnz_context *ctx, fnz_program *program);

/** A parameter, buffer or constant. `name`: the qualified name, which is the `target` of its input.
 * `data`: the storage, `bytes` of little-endian elements; `geometry` is a window of it. NULL if the
 * file has only the geometry. Weights with the same storage share memory. */
typedef struct fnz_weight {
  const char *name;
  const fnz_geometry *geometry;
  const void *data;
  size_t bytes;
} fnz_weight;

/** All zero, with `name` NULL, if the program has no weight of that name. */
FNZ_API fnz_weight fnz_program_weight(const fnz_program *program, const char *name);

/** Renames the parameter, buffer or constant `name` to `to`, in the signature too. For
 * programs that no other thread uses yet. REF when there is none; DUPLICATE when `to` is taken. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_program_rename_weight(fnz_context *ctx, fnz_program *program,
                                                            const char *name, const char *to);

/** The entries of the signature for input `k` and for output `k` of graph 0. */
FNZ_API fnz_input_spec fnz_program_input(const fnz_program *program, size_t k);
FNZ_API fnz_output_spec fnz_program_output(const fnz_program *program, size_t k);

#ifdef __cplusplus
}
#endif
#endif
