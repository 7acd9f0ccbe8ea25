/* symbolic_views.h - how one operator of a random program of unknown sizes is drawn. */
#ifndef FNZI_SOAK_SYMBOLIC_VIEWS_H
#define FNZI_SOAK_SYMBOLIC_VIEWS_H

#include "soak/symbolic_draws.h"

#include <string.h>

enum { SYMBOLIC_PARTS = 4 };

/* The results of an operator on a tensor. */
typedef struct view {
  tensor parts[SYMBOLIC_PARTS]; /* begin as the tensor itself */
  size_t count;                 /* of parts; 0: one, which is no list */
  char args[240];               /* behind the tensor */
} view;

/* False where it does not fit. */
typedef bool symbolic_view_fn(symbolic_gen *g, const tensor *t, view *out);

/* Columns: operator, with a remark after a blank; how it is drawn. */
#define SYMBOLIC_VIEW_ROWS(ROW)                                                                    \
  ROW("select.int", fnzi_draw_select)                                                              \
  ROW("narrow", fnzi_draw_narrow)                                                                  \
  ROW("slice.Tensor", fnzi_draw_slice)                                                             \
  ROW("transpose.int", fnzi_draw_transpose)                                                        \
  ROW("unsqueeze", fnzi_draw_unsqueeze)                                                            \
  ROW("diagonal", fnzi_draw_diagonal)                                                              \
  ROW("view", fnzi_draw_view_as_one)                                                               \
  ROW("split.Tensor", fnzi_draw_split)                                                             \
  ROW("unbind.int", fnzi_draw_unbind)                                                              \
  ROW("expand", fnzi_draw_expand)                                                                  \
  ROW("squeeze.dim", fnzi_draw_squeeze)                                                            \
  ROW("flatten.using_ints", fnzi_draw_flatten)                                                     \
  ROW("unflatten.int", fnzi_draw_unflatten)                                                        \
  ROW("reshape", fnzi_draw_reshape)                                                                \
  ROW("view to a product", fnzi_draw_product)                                                      \
  ROW("view to a quotient", fnzi_draw_quotient)                                                    \
  ROW("unfold", fnzi_draw_unfold)                                                                  \
  ROW("as_strided", fnzi_draw_as_strided)                                                          \
  ROW("chunk", fnzi_draw_chunk)                                                                    \
  ROW("split_with_sizes", fnzi_draw_split_with_sizes)                                              \
  ROW("select_scatter", fnzi_draw_select_scatter)                                                  \
  ROW("slice_scatter", fnzi_draw_slice_scatter)

#define SYMBOLIC_VIEW_FN(op, fn) symbolic_view_fn fn;
SYMBOLIC_VIEW_ROWS(SYMBOLIC_VIEW_FN)
#undef SYMBOLIC_VIEW_FN

void fnzi_view_say(view *v, const char *format, ...) FNZI_PRINTF(2, 3);
void fnzi_tensor_drop_dim(tensor *t, uint32_t dim);
/* Pieces of a dimension, each of `size` and the last one what is left; false for too many, and if
 * data decide how many. */
bool fnzi_view_cut(symbolic_gen *g, view *v, const tensor *t, uint32_t dim, const number *size);
/* The new one has no size and stride yet. */
void fnzi_tensor_add_dim(tensor *t, uint32_t dim);
/* Begins at element `by` of the dimension. */
void fnzi_tensor_move_on(tensor *t, uint32_t dim, const number *by);

#endif
