/* text_rows.c - the rows of point.def and of convert.def as text, by the types that they compute.
 * Nothing is computed here: the text of a row is its formula, letter by letter. */
#include "engine/cuda/text.h"

/* --- Rows ------------------------------------------------------------------------------------- */
#define PLAIN_ROW(name, arity, out, value) {#name, arity, FNZI_CUDA_OUT_##out, NULL, NULL, #value},
#define END_OF_ROWS                                                                                \
  { NULL, 0, 0, NULL, NULL, NULL }

static const fnzi_cuda_row integer_rows[] = {
#define ANY(name, arity, out, check, value)     PLAIN_ROW(name, arity, out, value)
#define INTEGER(name, arity, out, check, value) PLAIN_ROW(name, arity, out, value)
#include "kernels/point.def"
    END_OF_ROWS};
#undef INTEGER

static const fnzi_cuda_row float_rows[] = {
#define FLOAT(name, arity, out, value) PLAIN_ROW(name, arity, out, value)
#define LONE(name, arity, out, value)  PLAIN_ROW(name, arity, out, value)
#define MAPPED(name, arity, before, function, accuracy, after)                                     \
  {#name, arity, FNZI_CUDA_OUT_SAME, #before, #function, #after},
#include "kernels/point.def"
    END_OF_ROWS};
#undef ANY
#undef FLOAT
#undef LONE
#undef MAPPED

static const fnzi_cuda_row complex_rows[] = {
#define COMPLEX(name, arity, out, value) PLAIN_ROW(name, arity, out, value)
#include "kernels/point.def"
    END_OF_ROWS};
#undef COMPLEX

#define REST_ROW(name, arity, value) {#name, arity, FNZI_CUDA_OUT_SAME, NULL, NULL, #value},
static const fnzi_cuda_row half_rows[] = {
#define REST_HALF(name, arity, value) REST_ROW(name, arity, value)
#include "kernels/point.def"
    END_OF_ROWS};
#undef REST_HALF

static const fnzi_cuda_row bf16_rows[] = {
#define REST_BF16(name, arity, value) REST_ROW(name, arity, value)
#include "kernels/point.def"
    END_OF_ROWS};
#undef REST_BF16

/* --- Sections --------------------------------------------------------------------------------- */
#define REAL(type, suffix)                                                                         \
  "#define T " type "\n#define N T\n#define F(x) x" suffix "\n"                                    \
  "#define V(function, accuracy) F(function)\n#define W(function, accuracy) F(function)\n"
#define PAIRS(type, part, suffix)                                                                  \
  "typedef " type " T;\n#define PART " part "\n#define F(x) x" suffix "\n"
#define HALF(name)                                                                                 \
  "#define T float\n#define TO fnzi_krn_to_" name "\n#define FROM fnzi_krn_from_" name "\n"        \
  "VALUE float R(float x) {\n  return FROM(TO(x));\n}\n"

#define FLOAT_HELPERS                                                                              \
  {                                                                                                \
    fnzi_cuda_text_point_scalar, fnzi_cuda_text_point_float_values,                                \
        fnzi_cuda_text_point_special_values, fnzi_cuda_text_point_either_values                    \
  }
#define COMPLEX_HELPERS                                                                            \
  { fnzi_cuda_text_point_scalar, fnzi_cuda_text_complex, fnzi_cuda_text_point_complex_values }
#define HALF_HELPERS                                                                               \
  { fnzi_cuda_text_point_scalar, fnzi_cuda_text_point_rest_values }

const fnzi_cuda_section fnzi_cuda_sections[FNZI_CUDA_SECTIONS] = {
    {"f16", FNZ_F16, HALF("f16"), HALF_HELPERS, {half_rows}},
    {"bf16", FNZ_BF16, HALF("bf16"), HALF_HELPERS, {half_rows, bf16_rows}},
    {"i64",
     FNZ_I64,
     "#define T int64_t\n",
     {fnzi_cuda_text_point_scalar, fnzi_cuda_text_point_i64_values},
     {integer_rows}},
    {"f32", FNZ_F32, REAL("float", "##f"), FLOAT_HELPERS, {float_rows}},
    {"f64", FNZ_F64, REAL("double", ""), FLOAT_HELPERS, {float_rows}},
    {"c64", FNZ_C64, PAIRS("cell_C64", "float", "##f"), COMPLEX_HELPERS, {complex_rows}},
    {"c128", FNZ_C128, PAIRS("cell_C128", "double", ""), COMPLEX_HELPERS, {complex_rows}}};

static const fnzi_cuda_row *find_in(const fnzi_cuda_section *s, const char *name) {
  for (int t = 0; t < 2 && s->tables[t]; t++)
    for (const fnzi_cuda_row *row = s->tables[t]; row->name; row++)
      if (strcmp(row->name, name) == 0)
        return row;
  return NULL;
}

const fnzi_cuda_row *fnzi_cuda_row_find(fnz_dtype compute, const char *name, uint8_t *section) {
  /* A dtype without rows of its own is computed in a wider one. */
  const fnz_dtype wide = compute == FNZ_F16 || compute == FNZ_BF16         ? FNZ_F32
                         : compute == FNZ_BOOL || fnzi_is_integer(compute) ? FNZ_I64
                                                                           : compute;
  const fnz_dtype dtypes[] = {compute, wide};
  for (int d = 0; d < 2; d++)
    for (uint8_t s = 0; s < FNZI_CUDA_SECTIONS; s++) {
      const fnzi_cuda_row *row =
          fnzi_cuda_sections[s].dtype == dtypes[d] ? find_in(&fnzi_cuda_sections[s], name) : NULL;
      *section = s;
      if (row)
        return row;
    }
  return NULL;
}

/* --- Cells ------------------------------------------------------------------------------------ */
const fnzi_cuda_cell fnzi_cuda_cells[FNZ_DTYPE_COUNT] = {
#define CONVERT(id, type, read, wide, from_integer, from_double)                                   \
  [FNZ_##id] = {#id, #type, #read, #wide, #from_integer, #from_double},
#include "kernels/core/convert.def"
};
