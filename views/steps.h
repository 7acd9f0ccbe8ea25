/* steps.h - the operators that functionalization itself names: views for paths and composites,
 * functional operators that reverses and writes emit, and the two operators of an epilogue.
 *
 * A row has a short name and the operator's name, with "__" for the dot before an overload. A row
 * without such an operator does not compile. */
#ifndef FNZI_STEPS_H
#define FNZI_STEPS_H

#include "schema/schema.h"

#define FNZI_STEP_ROWS(ROW)                                                                        \
  ROW(AS_STRIDED, as_strided)                                                                      \
  ROW(CLONE, clone)                                                                                \
  ROW(CONJ, _conj)                                                                                 \
  ROW(DIAGONAL, diagonal)                                                                          \
  ROW(EXPAND, expand)                                                                              \
  ROW(NEG, _neg_view)                                                                              \
  ROW(PERMUTE, permute)                                                                            \
  ROW(SELECT, select__int)                                                                         \
  ROW(SLICE, slice__Tensor)                                                                        \
  ROW(SPLIT, split__Tensor)                                                                        \
  ROW(SPLIT_SIZES, split_with_sizes)                                                               \
  ROW(T, t)                                                                                        \
  ROW(TO_COPY, _to_copy)                                                                           \
  ROW(TRANSPOSE, transpose__int)                                                                   \
  ROW(UNSQUEEZE, unsqueeze)                                                                        \
  ROW(VIEW, view)                                                                                  \
  ROW(VIEW_AS_REAL, view_as_real)                                                                  \
  ROW(VIEW_COPY, view_copy)                                                                        \
  ROW(VIEW_DTYPE, view__dtype)

#define FNZI_EMIT_ROWS(ROW)                                                                        \
  ROW(AS_STRIDED_INPLACE, as_strided_)                                                             \
  ROW(AS_STRIDED_SCATTER, as_strided_scatter)                                                      \
  ROW(CAT, cat)                                                                                    \
  ROW(CLONE, clone)                                                                                \
  ROW(CONJ_COPY, _conj_copy)                                                                       \
  ROW(COPY_INPLACE, copy_)                                                                         \
  ROW(DIAGONAL_SCATTER, diagonal_scatter)                                                          \
  ROW(EXPAND_COPY, expand_copy)                                                                    \
  ROW(FULL, full)                                                                                  \
  ROW(NEG_COPY, _neg_view_copy)                                                                    \
  ROW(MEAN, mean__dim)                                                                             \
  ROW(PERMUTE_COPY, permute_copy)                                                                  \
  ROW(REPEAT, repeat)                                                                              \
  ROW(RESIZE, resize)                                                                              \
  ROW(SELECT_COPY, select_copy__int)                                                               \
  ROW(SELECT_SCATTER, select_scatter)                                                              \
  ROW(SLICE_COPY, slice_copy__Tensor)                                                              \
  ROW(SLICE_SCATTER, slice_scatter)                                                                \
  ROW(SQUEEZE_COPY, squeeze_copy__dim)                                                             \
  ROW(STACK, stack)                                                                                \
  ROW(TO_COPY, _to_copy)                                                                           \
  ROW(TRANSPOSE_COPY, transpose_copy__int)                                                         \
  ROW(T_COPY, t_copy)                                                                              \
  ROW(VIEW_AS_COMPLEX_COPY, view_as_complex_copy)                                                  \
  ROW(VIEW_AS_REAL_COPY, view_as_real_copy)                                                        \
  ROW(VIEW_COPY, view_copy)                                                                        \
  ROW(VIEW_DTYPE_COPY, view_copy__dtype)                                                           \
  ROW(NATIVE_BATCH_NORM, _native_batch_norm_legit_functional)

typedef enum fnzi_step_op {
#define FNZI_STEP_ENUM(id, op) FNZI_STEP_##id,
  FNZI_STEP_ROWS(FNZI_STEP_ENUM)
#undef FNZI_STEP_ENUM
      FNZI_STEP_COUNT
} fnzi_step_op;

typedef enum fnzi_emit_op {
#define FNZI_EMIT_ENUM(id, op) FNZI_EMIT_##id,
  FNZI_EMIT_ROWS(FNZI_EMIT_ENUM)
#undef FNZI_EMIT_ENUM
      FNZI_EMIT_NOTHING
} fnzi_emit_op;

const fnz_op *fnzi_op_of_step(fnzi_step_op step);
/* NULL for FNZI_EMIT_NOTHING. */
const fnz_op *fnzi_emitted_op(fnzi_emit_op op);

#endif
