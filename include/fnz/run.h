/* run.h - running programs node by node: the interpreter. <fnz/engine.h> compiles them instead. */
#ifndef FNZ_RUN_H
#define FNZ_RUN_H

#include <fnz/arrays.h>
#include <fnz/backend.h>
#include <fnz/program.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fnz_run_options {
  size_t size;   /* sizeof(fnz_run_options) */
  bool original; /* any program, on real aliasing memory: the definition of its meaning. Views and
                    writes happen in this process's memory, computing operators are evaluated by the
                    backend. Else the program must be functional, but for an epilogue and for views,
                    as fnz_compile() takes them */
  bool check_schemas; /* FNZ_DIFFERENT when an operator changes an argument that its schema only
                         reads, or a declared operator's result lies in an argument's memory; the
                         message names node, operator and argument. Costs a copy of every argument
                         of every node */
} fnz_run_options;
#define FNZ_RUN_OPTIONS_INIT                                                                       \
  { sizeof(fnz_run_options), false, false }

/** Runs a program.
 *
 * program  borrowed; may be shared with other threads during the call.
 * backend  who computes: fnz_cpu_backend_create(), say. Borrowed.
 * inputs   user inputs by graph name, "x" or "input.x"; sizes and dtypes must be the program's.
 *          An array called "parameter.FQN" or "buffer.FQN" (constants too), or by the graph name of
 *          one, replaces the file's data in this run, also for other weights over the same bytes,
 *          and if the file has none. "output.K" of this program is ignored, so that the outputs of
 *          one run may be among the inputs of the next. fnz_verify() takes the same names.
 * options  NULL for defaults.
 * outputs  an empty set of the same context. It gets "output.K" for the K-th user output, loss or
 *          gradient: tensors, and numbers as tensors of rank 0 (i64, f64 or bool); "input.NAME",
 *          "buffer.FQN", "parameter.FQN" for everything that the signature names as mutated.
 *
 * Fails with REF for a name that no input has and for an input that is missing, DUPLICATE for an
 * input under two names, OVERLAP where two that share memory disagree, TYPE and BOUNDS for other
 * types and sizes, UNSUPPORTED for an operator that the backend does not have, and as operators do,
 * with the node's place. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_run(fnz_context *ctx, const fnz_program *program,
                                          fnz_backend *backend, const fnz_arrays *inputs,
                                          const fnz_run_options *options, fnz_arrays *outputs);

#ifdef __cplusplus
}
#endif
#endif
