/* point_float.h - the float classes: what f32 and f64 share. The includer defines T, SELF, NAME,
 * F(x), and what point_vector.h asks for.
 *
 * The table is read twice. Rows whose results are bool and rows of LONE become loops over elements
 * here, all others loops over vectors, where the same words mean what they say of a vector. */
#include "kernels/cpu/point_rows.h"

#define VALUE static
#include "kernels/cpu/point_float_values.h"
#include "kernels/cpu/point_special_values.h"

#define ELEMENTS_BOOL LOOP
#define ELEMENTS_SAME(name, arity, out, value)
#define ELEMENTS_KEPT(name, arity, out, value)
#define FLOAT(name, arity, out, value)      ELEMENTS_##out(name, arity, out, value)
#define ANY(name, arity, out, check, value) FLOAT(name, arity, out, value)
#define LONE                                LOOP
#include "kernels/point.def"
#undef FLOAT
#undef LONE

#include "kernels/cpu/point_vector.h"
#include "kernels/cpu/point_either_values.h"

#define VECTORS_BOOL(name, arity, value)
#define VECTORS_SAME                   VECTOR_LOOP
#define VECTORS_KEPT                   VECTOR_LOOP
#define FLOAT(name, arity, out, value) VECTORS_##out(name, arity, value)
#define MAPPED                         MAPPED_LOOP
#include "kernels/point.def"
#undef ANY
#undef FLOAT
#undef MAPPED

const fnzi_cpu_point NAME[] = {
#define FLOAT(name, arity, out, value)                         ENTRY(name, arity, PLAIN, out)
#define ANY(name, arity, out, check, value)                    ENTRY(name, arity, PLAIN, out)
#define LONE                                                   FLOAT
#define MAPPED(name, arity, before, function, accuracy, after) ENTRY(name, arity, PLAIN, SAME)
#include "kernels/point.def"
    END_OF_ROWS};
