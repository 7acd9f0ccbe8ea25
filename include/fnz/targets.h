/* targets.h - consumers of exported programs, and the form in which each takes them. */
#ifndef FNZ_TARGETS_H
#define FNZ_TARGETS_H

#include <fnz/decompose.h>
#include <fnz/formats.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Columns: id, name, the set of operators that it takes (FNZ_DECOMPOSITION_ROWS of
 * <fnz/decompose.h>), the format that it reads (FNZ_FORMAT_ROWS), views (fnz_views), state
 * (fnz_state), in words. */
#define FNZ_TARGET_ROWS(ROW)                                                                       \
  ROW(EXECUTORCH, "executorch", executorch, PT2, KEEP, BUFFERS, "to_edge() of ExecuTorch")         \
  ROW(COREML, "coreml", coreml, PT2, KEEP, IO, "convert() of Core ML Tools")                       \
  ROW(OPENVINO, "openvino", openvino, PT2, KEEP, IO, "convert_model() of OpenVINO")                \
  ROW(ONNX, "onnx", onnx, PT2, KEEP, IO, "torch.onnx.export() of PyTorch")                         \
  ROW(TVM, "tvm", tvm, PT2, KEEP, IO, "from_exported_program() of TVM")                            \
  ROW(TORCH_MLIR, "torch-mlir", torch_mlir, PT2, KEEP, OUTPUTS, "torch_mlir.fx")                   \
  ROW(IREE, "iree", mlir, MLIR, COPY, OUTPUTS, "iree-compile")

typedef struct fnz_target {
  const char *name;  /* of FNZ_TARGET_ROWS; all words are static */
  const char *words; /* a description */
  const char *set;   /* for fnz_decompose_options */
  fnz_format format; /* for fnz_program_save(); of FNZ_FORMAT_MLIR fnz_mlir_save() */
  fnz_views views;   /* for fnz_functionalize_options and fnz_decompose_options */
  fnz_state state;   /* for fnz_functionalize_options */
} fnz_target;

/** NULL when there is none of that name. Static. */
FNZ_API const fnz_target *fnz_target_find(const char *name);
/** In the order of the rows; NULL beyond the last. Static. */
FNZ_API const fnz_target *fnz_target_at(size_t i);
/** The source of its list of operators, with the version: "onnxscript 0.7.2, ...". Static. */
FNZ_API const char *fnz_target_read_from(const fnz_target *target);
/** A target is known to lack a higher-order operator, such as "higher_order.cond". */
FNZ_API bool fnz_target_lacks(const fnz_target *target, const char *region);
/** A target is known to take inputs in row-major order alone. */
FNZ_API bool fnz_target_wants_rows(const fnz_target *target);

/** Prepares a program for a target: functionalizes it, with the target's views and form of state,
 * then decomposes it into the operators of its set, as little as possible. Operators that cannot be
 * expressed by the target's stay: fnz_decomposition_why_left() of the set gives the reason.
 *
 * program  borrowed, unchanged.
 * out      new; ends with fnz_program_destroy(). NULL on failure.
 * Fails as fnz_functionalize() and fnz_decompose(). */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_target_prepare(fnz_context *ctx, const fnz_target *target,
                                                     const fnz_program *program, fnz_program **out);

#ifdef __cplusplus
}
#endif
#endif
