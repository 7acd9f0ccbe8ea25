/* mlir.h - functional programs as MLIR in the torch dialect, as the IREE compiler reads it. */
#ifndef FNZ_MLIR_H
#define FNZ_MLIR_H

#include <fnz/methods.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The location of weights. Columns: name for --weights. Order is ABI. */
#define FNZ_MLIR_WEIGHTS_ROWS(ROW)                                                                 \
  ROW(EXTERNAL, "external") /* named parameters, in a safetensors file beside the text */          \
  ROW(ARGS, "args")         /* arguments of the function; the file has their values */             \
  ROW(INLINE, "inline")     /* in the text */
/* The location of final values of inputs, parameters and buffers. Columns: name for --state; order
 * is ABI. */
#define FNZ_MLIR_STATE_ROWS(ROW)                                                                   \
  ROW(RESULTS, "outputs")   /* leading results; the state itself is an argument */                 \
  ROW(GLOBALS, "globals")   /* parameters and buffers stay in the module, from call to call */     \
  ROW(EPILOGUE, "epilogue") /* the argument's own memory is overwritten */

typedef enum fnz_mlir_weights {
#define FNZ_MLIR_ENUM(id, name) FNZ_MLIR_WEIGHTS_##id,
  FNZ_MLIR_WEIGHTS_ROWS(FNZ_MLIR_ENUM)
#undef FNZ_MLIR_ENUM
      FNZ_MLIR_WEIGHTS_COUNT
} fnz_mlir_weights;
typedef enum fnz_mlir_state {
#define FNZ_MLIR_ENUM(id, name) FNZ_MLIR_STATE_##id,
  FNZ_MLIR_STATE_ROWS(FNZ_MLIR_ENUM)
#undef FNZ_MLIR_ENUM
      FNZ_MLIR_STATE_COUNT
} fnz_mlir_state;

typedef struct fnz_mlir_options {
  size_t size; /* sizeof(fnz_mlir_options) */
  fnz_mlir_weights weights;
  fnz_mlir_state state;
} fnz_mlir_options;
#define FNZ_MLIR_OPTIONS_INIT                                                                      \
  { sizeof(fnz_mlir_options), FNZ_MLIR_WEIGHTS_EXTERNAL, FNZ_MLIR_STATE_RESULTS }

/** Writes a functional program whose state is in its outputs, as fnz_functionalize() makes it by
 * default, as one function @main. The same program and options give the same bytes. Comments at
 * the beginning say what each argument and each result is. Complex tensors are written as real ones
 * with a last dimension of 2; of operators on them only views as pairs and back can be written.
 *
 * options  NULL for defaults.
 * text     must be empty; ends with fnz_buffer_free(), also after a failure.
 * weights  the same; a safetensors file with every weight that the text itself has not, nothing
 *          where there is none. NULL: not needed.
 * Fails with UNSUPPORTED, naming the node, for operators and values that the dialect does not have;
 * fnz_mlir_check() lists them all. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_mlir_write(fnz_context *ctx, const fnz_program *program,
                                                 const fnz_mlir_options *options, fnz_buffer *text,
                                                 fnz_buffer *weights);

/** fnz_mlir_write() into a file, and the weights into a second one, of the same name but with
 * ".safetensors" for ".mlir" at its end. Both appear whole, or neither; "-" is standard output, to
 * which only programs without a second file can be written (ARGUMENT). */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_mlir_save(fnz_context *ctx, const fnz_program *program,
                                                const fnz_mlir_options *options, const char *path);

/** As fnz_mlir_write() and fnz_mlir_save(), of several programs: a function each, over common
 * weights. Parameters and buffers of one name are one: the same type, and the same elements unless
 * one of the programs writes them; then they begin as the first program says that has them.
 * Constants of one name and other elements stay apart. With FNZ_MLIR_STATE_GLOBALS the functions
 * work on one state. fnz_program_rename_weight() makes names equal.
 *
 * Fails as those do; ARGUMENT for no method, or two of one name; DIFFERENT, naming both, where
 * weights of one name are not the same. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_mlir_write_methods(fnz_context *ctx,
                                                         const fnz_method *methods, size_t count,
                                                         const fnz_mlir_options *options,
                                                         fnz_buffer *text, fnz_buffer *weights);
FNZ_MUST_CHECK FNZ_API fnz_status fnz_mlir_save_methods(fnz_context *ctx, const fnz_method *methods,
                                                        size_t count,
                                                        const fnz_mlir_options *options,
                                                        const char *path);

/** Called for each node that cannot be written, in order; `error` is what fnz_mlir_write() would
 * fail with, and is borrowed for the call. */
typedef void fnz_mlir_refused_fn(void *user, size_t graph, size_t node, const fnz_error *error);

/** Everything of a program that fnz_mlir_write() would refuse. Fails without memory only. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_mlir_check(fnz_context *ctx, const fnz_program *program,
                                                 const fnz_mlir_options *options,
                                                 fnz_mlir_refused_fn *refused, void *user);

/** The dialect's operator for a functional operator, "aten.view" for view_copy; NULL where it has
 * none. Static. That it is registered does not mean that every call of it compiles. */
FNZ_API const char *fnz_mlir_op_name(const fnz_op *op);

#ifdef __cplusplus
}
#endif
#endif
