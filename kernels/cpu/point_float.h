/* point_float.h - the float classes: what f32 and f64 share. The includer defines T, SELF, NAME,
 * F(x), and what point_vector.h asks for.
 *
 * The table is read twice. Rows whose results are bool and rows of LONE become loops over elements
 * here, all others loops over vectors, for which the same words are defined. */
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
#undef FLOAT
#undef MAPPED

/* Rows that are links of chains: all rows except those in which a vector function takes most of the
 * time. */
#define HAS_LINKS_BOOL(name) NULL
#define HAS_LINKS_SAME(name) NULL
#define HAS_LINKS_KEPT(name) NULL
#ifdef CHAINS
#include "kernels/cpu/point_chain.h"
#endif
#undef ANY

#define SAME_BOOL(name) NULL
#define SAME_SAME(name) same_##name
#define SAME_KEPT       SAME_SAME
const fnzi_cpu_point NAME[] = {
#define FLOAT(name, arity, out, value)                                                             \
  LINKED(name, arity, PLAIN, out, HAS_LINKS_##out(name), SAME_##out(name))
#define ANY(name, arity, out, check, value) FLOAT(name, arity, out, value)
#define LONE(name, arity, out, value)       ENTRY(name, arity, PLAIN, out)
#define MAPPED(name, arity, before, function, accuracy, after)                                     \
  LINKED(name, arity, PLAIN, SAME, NULL, same_##name)
#include "kernels/point.def"
    END_OF_ROWS};
