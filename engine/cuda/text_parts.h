/* text_parts.h - parts that the texts of several kinds of kernels share (text.c). */
#ifndef FNZI_CUDA_TEXT_PARTS_H
#define FNZI_CUDA_TEXT_PARTS_H

#include "engine/cuda/text.h"

typedef struct fnzi_cuda_writer {
  fnz_context *ctx;
  fnz_buffer *out;
  const fnzi_cuda_group *group;
  fnzi_cuda_text *text;
  bool is_small; /* `index` is int32_t: fnzi_cuda_is_small() of the group */
  int width;     /* elements of a lane along the last dimension; 0: one */
} fnzi_cuda_writer;

#define PUT(w, ...) FNZ_TRY(fnzi_printf((w)->ctx, (w)->out, __VA_ARGS__))

/* --- Sizes (text_put.c) -------------------------------------------------------------------------
 * These functions return the text of a size, a stride, a count or an offset: a constant, or a
 * number of the kernel's table if the text is general. Decisions that depend on sizes in other ways
 * (the number of loops, the elements per vector) make another text. */
typedef struct fnzi_cuda_word {
  char text[112];
} fnzi_cuda_word;

fnzi_cuda_word fnzi_cuda_word_of(fnzi_cuda_text *text, int64_t value);
/* The same as an `index`. */
fnzi_cuda_word fnzi_cuda_word_index(fnzi_cuda_text *text, int64_t value);
/* The quotient of i, which is not negative, and below 2^31 if is_small; and its digit, i / inner %
 * size. Dividing by a value that is unknown to the compiler is slow, so the table has a factor and
 * a shift for small i. */
fnzi_cuda_word fnzi_cuda_word_over(fnzi_cuda_text *text, const char *i, int64_t by, bool is_small);
fnzi_cuda_word fnzi_cuda_word_digit(fnzi_cuda_text *text, const char *i, int64_t inner,
                                    int64_t size, bool is_small);
#define WORD(text_, value)  fnzi_cuda_word_of(text_, value).text
#define INDEX(text_, value) fnzi_cuda_word_index(text_, value).text
/* A double by its bits, which no locale and no rounding changes. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_put_double(const fnzi_cuda_writer *w, double v);

/* Returns the type of the parts of a complex dtype; other dtypes unchanged. */
static inline fnz_dtype fnzi_cuda_part_of(fnz_dtype d) {
  return d == FNZ_C32 ? FNZ_F16 : d == FNZ_C64 ? FNZ_F32 : d == FNZ_C128 ? FNZ_F64 : d;
}
/* The name of the dtype's type: "cell_F32" is "cell_" and this. */
const char *fnzi_cuda_type_name(fnz_dtype dtype);
/* Returns whether all offsets in bytes and all indices are below 2^31, and none is negative. */
bool fnzi_cuda_is_small(const fnzi_cuda_group *group);
/* For groups with rows: returns whether elements of several rows are adjacent in memory, not
 * elements of one row. */
bool fnzi_cuda_is_interleaved(const fnzi_cuda_group *group);
/* Constants: the indices i<d> of dimensions from `first` up to `end`, of their element `of`. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_put_indices(const fnzi_cuda_writer *w, uint32_t first,
                                                uint32_t end, const char *of);
/* Slot s<k> as a constant: a number, or the result of an instruction. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_put_number(const fnzi_cuda_writer *w, uint32_t k);
FNZ_MUST_CHECK fnz_status fnzi_cuda_put_ins(const fnzi_cuda_writer *w, fnzi_cuda_text *text,
                                            const fnzi_cuda_ins *ins);
/* The address of the element of lane k that the indices name. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_put_address(const fnzi_cuda_writer *w, uint32_t k);
/* Lane k loads, or stores. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_put_lane(const fnzi_cuda_writer *w, uint32_t k);

/* Writes the store of vector r<k>, of type lane<k>, by lane k; and these stores for all lanes. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_put_vector(const fnzi_cuda_writer *w, uint32_t k);
FNZ_MUST_CHECK fnz_status fnzi_cuda_put_vectors(const fnzi_cuda_writer *w);

/* Bytes of an element of a lane. */
static inline int64_t fnzi_cuda_lane_cell(const fnzi_cuda_group *g, uint32_t lane) {
  return (int64_t)fnzi_dtype((fnz_dtype)g->slots[g->lanes[lane].slot].dtype)->bytes;
}
/* Writes the computation of an element as a function of the kernel; and a call of it. The call
 * expects the slots of lanes that load, and variables r<k> for lanes that store. */
const char *fnzi_cuda_lane_type(const fnzi_cuda_group *group, uint32_t lane);
FNZ_MUST_CHECK fnz_status fnzi_cuda_put_element(const fnzi_cuda_writer *w, fnzi_cuda_text *text);
FNZ_MUST_CHECK fnz_status fnzi_cuda_put_use(const fnzi_cuda_writer *w);

/* text_wide.c: how many elements along the last dimension are loaded at once; 1: each by itself.
 * `by_rows`: values of rows do not count, and rows have vectors of their own. `is_general`: as many
 * as possible or one, so that the sizes of a dimension have two texts. */
int fnzi_cuda_width(const fnzi_cuda_group *group, bool by_rows, bool is_general);
/* Returns whether loads of 16 bytes, or one load of the whole vector, can load a vector of an
 * operand along a dimension. Also true for an operand that is read and does not depend on the
 * dimension. */
bool fnzi_cuda_loads_vectors(const fnzi_cuda_group *group, uint32_t lane, uint32_t along,
                             int width);
/* The same group over vectors: strides of its last dimension are theirs. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_widen(fnzi_arena *arena, const fnzi_cuda_group *group,
                                          int width, fnzi_cuda_group *out);
/* Elements of a lane in a vector: one that does not depend on the last dimension has one. */
int fnzi_cuda_vector_elements(const fnzi_cuda_group *group, uint32_t lane, int width);

/* text_transposed.c: returns whether an operand is contiguous along dimension *across, and results
 * along the last. */
bool fnzi_cuda_is_transposed(const fnzi_cuda_group *group, uint32_t *across);
FNZ_MUST_CHECK fnz_status fnzi_cuda_text_transposed(fnz_context *ctx, fnzi_cuda_text *text,
                                                    const fnzi_cuda_group *group, uint32_t across,
                                                    uint32_t *kernel, int64_t *count);

/* Adds the definitions that kernels with folds need (text_team.c). */
FNZ_MUST_CHECK fnz_status fnzi_cuda_use_folds(fnz_context *ctx, fnzi_cuda_text *text);

#endif
