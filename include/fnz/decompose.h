/* decompose.h - operators of a functional program as steps of other operators, for compilers that
 * know only some. */
#ifndef FNZ_DECOMPOSE_H
#define FNZ_DECOMPOSE_H

#include <fnz/explain.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The sets of operators that remain in the result. Columns: name, in words. */
#define FNZ_DECOMPOSITION_ROWS(ROW)                                                                \
  ROW(inference, "all operators, as functionalizing leaves them")                                  \
  ROW(core, "operators that PyTorch tags as core, and custom ones")                                \
  ROW(prims, "as core, with norms, softmax, means, variances, activations as their parts")         \
  ROW(runnable, "operators that have a kernel of their own")                                       \
  ROW(mlir, "operators that the torch dialect of IREE has and lowers")                             \
  ROW(executorch, "operators of ExecuTorch's portable kernels")                                    \
  ROW(coreml, "operators that Core ML Tools convert")                                              \
  ROW(openvino, "operators that OpenVINO converts")                                                \
  ROW(onnx, "operators that PyTorch's ONNX exporter has functions for")                            \
  ROW(tvm, "operators that TVM imports")                                                           \
  ROW(torch_mlir, "operators that the torch dialect of torch-mlir has")

typedef struct fnz_decompose_options {
  size_t size;     /* sizeof(fnz_decompose_options) */
  const char *set; /* a name of FNZ_DECOMPOSITION_ROWS; NULL: "core" */
  /* Names of operators that are taken apart besides, and of operators that stay although the set
   * has them taken apart: "linear" for all overloads, "linear.default" for one. "aten::" and
   * "aten." before them say nothing. */
  const char *const *decompose;
  size_t ndecompose;
  const char *const *keep;
  size_t nkeep;
  /* The form of views in the steps: `*_copy` operators, or plain ones, as in fnz_views. Views that
   * the program has already are not changed. */
  fnz_views views;
  /** Receives where each node of the result comes from (<fnz/explain.h>), among the nodes of
   * `program`: the operator that was taken apart, with FNZ_REASON_STEP, or the node itself. If
   * `program` was itself functionalized, look up the node found here with fnz_origins_at() in the
   * origins of functionalizing, which lead on to the source. New; ends with fnz_origins_destroy()
   * before the context does; NULL on failure. NULL: not wanted. */
  fnz_origins **origins;
} fnz_decompose_options;
#define FNZ_DECOMPOSE_OPTIONS_INIT                                                                 \
  { sizeof(fnz_decompose_options), NULL, NULL, 0, NULL, 0, FNZ_VIEWS_COPY, NULL }

/** Replaces operators by steps until only operators of the set remain, and operators that have no
 * steps: they look at elements, as nonzero does, or nothing computes them from others.
 * fnz_decomposition_why_left() says why a node was left. The copy of a view counts as the view.
 * Random operators stay. In the sets of consumers (executorch to torch_mlir) an operator stays,
 * too, if its steps would need operators that the set does not have; views have the form of
 * <fnz/targets.h>.
 *
 * Results equal the source's, except that steps may round otherwise than the operator at once.
 * Source lines, the signature and weights stay. Programs with symbolic sizes are taken apart at
 * several sizes, as they are functionalized; where the steps depend on the sizes guards keep others
 * out.
 *
 * The set "mlir" also has while_loop for scan, map and associative_scan, and of complex numbers
 * only views of pairs as such and back: what computes with them is taken apart into real operators.
 *
 * program  functional (fnz_functionalize()); borrowed, unchanged.
 * options  NULL for defaults.
 * out      new; ends with fnz_program_destroy(). NULL on failure.
 * Fails with FNZ_BAD_ARGUMENT for a set that there is not, and as REF for a name that no operator
 * has; with FNZ_UNSUPPORTED for an operator of options->decompose that has no steps; and as
 * fnz_functionalize(). */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_decompose(fnz_context *ctx, const fnz_program *program,
                                                const fnz_decompose_options *options,
                                                fnz_program **out);

/** Does this operator stay in that set? Custom operators do. False for a set that there is not. */
FNZ_API bool fnz_decomposition_keeps(const char *set, const fnz_op *op);

/** Why an operator is left in a program that fnz_decompose() has made with these options, though
 * the set does not have it: in words, static. NULL where the set has it or the options keep it, or
 * there is no such set.
 * options  NULL for defaults. */
FNZ_API const char *fnz_decomposition_why_left(const fnz_decompose_options *options,
                                               const fnz_op *op);

#ifdef __cplusplus
}
#endif
#endif
