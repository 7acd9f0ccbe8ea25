/* point.h - pointwise operators as dense loops of one computing type; rows are in point.def.
 *
 * Values are computed in one of five classes: i64 for bool and integers (stored back they wrap),
 * f32 for the floats up to 32 bits, f64, c64 and c128. */
#ifndef FNZI_POINT_H
#define FNZI_POINT_H

#include "kernels/core/isa.h"
#include "kernels/cpu/cpu.h"
#include "kernels/meta/point.h"

typedef fnzi_meta_point_fn fnzi_point_fn;

typedef struct fnzi_cpu_point {
  const char *name;
  uint8_t arity, check; /* fnzi_meta_point_check */
  bool keeps;           /* the result is an operand's value, bit for bit */
  fnz_dtype out; /* of the result: the class, FNZ_BOOL, or the real type of a complex class */
  fnzi_point_fn *run;
  const fnzi_meta_links *links; /* NULL: it is none */
  fnzi_meta_same_fn *run_same;  /* NULL: there is none */
} fnzi_cpu_point;

/* End with a row whose name is NULL. In every instruction set the same rows, with the same bits. */
extern const fnzi_cpu_point fnzi_cpu_points_i64[], fnzi_cpu_points_f32[], fnzi_cpu_points_f64[],
    fnzi_cpu_points_i64_v3[], fnzi_cpu_points_f32_v3[], fnzi_cpu_points_f64_v3[],
    fnzi_cpu_points_i64_v4[], fnzi_cpu_points_f32_v4[], fnzi_cpu_points_f64_v4[],
    fnzi_cpu_points_c64[], fnzi_cpu_points_c128[];

/* Rows of integers again, computed in fewer bits, and rows of halves, as bits. */
#define FNZI_NARROW_ROWS(ROW)                                                                      \
  ROW(BOOL, truth) ROW(U8, u8) ROW(I8, i8) ROW(I16, i16) ROW(I32, i32) ROW(F16, f16) ROW(BF16, bf16)
#define FNZI_NARROW_ROW(id, name)                                                                  \
  extern const fnzi_cpu_point fnzi_cpu_points_##name[], fnzi_cpu_points_##name##_v3[],             \
      fnzi_cpu_points_##name##_v4[];
FNZI_NARROW_ROWS(FNZI_NARROW_ROW)
#undef FNZI_NARROW_ROW

/* The rows of a class for an instruction set that the build has; NULL when the class has none. */
const fnzi_cpu_point *fnzi_cpu_point_rows(fnzi_krn_isa isa, fnz_dtype class_dtype);
/* For this processor; NULL when the class has no such row. */
const fnzi_cpu_point *fnzi_cpu_point_find(fnz_dtype class_dtype, const char *name);

/* How a row is computed in an element type that has its own formula for it. */
typedef struct fnzi_cpu_rest {
  const char *name;
  fnzi_point_fn *run;
} fnzi_cpu_rest;

/* End with a row whose name is NULL. */
extern const fnzi_cpu_rest fnzi_cpu_rest_f16[], fnzi_cpu_rest_bf16[], fnzi_cpu_rest_f16_v3[],
    fnzi_cpu_rest_bf16_v3[], fnzi_cpu_rest_f16_v4[], fnzi_cpu_rest_bf16_v4[];

/* For a call that fnzi_meta_point_is_plain(), or one that has run; false for another one. */
bool fnzi_cpu_point_code(const fnzi_krn_call *call, fnzi_meta_point_code *out);

#endif
