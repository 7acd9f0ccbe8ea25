/* point_float.h - the float classes: what f32 and f64 share. The includer defines T, SELF, NAME,
 * F(x), the vector type VECTOR of LANES lanes with LOAD, STORE and SPLAT, and SLEEF(x, accuracy),
 * the name of a vector function. SLEEF picks the processor's instructions; with fused multiply-add
 * its bits are the same for every vector length. */
#include "kernels/cpu/point_rows.h"

/* The rest of a chunk that does not fill a vector is computed in a padded one. */
#define MAP(function, accuracy, data, count)                                                       \
  int64_t full = count - count % LANES;                                                            \
  size_t rest_bytes = (size_t)(count - full) * sizeof(T);                                          \
  T rest[LANES] = {0};                                                                             \
  for (int64_t at = 0; at < full; at += LANES)                                                     \
    STORE(data + at, SLEEF(function, accuracy)(LOAD(data + at)));                                  \
  memcpy(rest, data + full, rest_bytes);                                                           \
  STORE(rest, SLEEF(function, accuracy)(LOAD(rest)));                                              \
  memcpy(data + full, rest, rest_bytes);

/* One value through a vector function of one or two arguments. */
#define SINGLE(function, accuracy)                                                                 \
  static T v_##function(T x) {                                                                     \
    T lane[LANES];                                                                                 \
    STORE(lane, SLEEF(function, accuracy)(SPLAT(x)));                                              \
    return lane[0];                                                                                \
  }
#define DOUBLE(function, accuracy)                                                                 \
  static T w_##function(T x, T y) {                                                                \
    T lane[LANES];                                                                                 \
    STORE(lane, SLEEF(function, accuracy)(SPLAT(x), SPLAT(y)));                                    \
    return lane[0];                                                                                \
  }
SINGLE(erf, u10)
SINGLE(exp, u10)
SINGLE(log1p, u10)
SINGLE(tanh, u10)
DOUBLE(pow, u10)
DOUBLE(atan2, u10)
DOUBLE(hypot, u05)
#define V(function, accuracy) v_##function
#define W(function, accuracy) w_##function

#define VALUE static
#include "kernels/cpu/point_float_values.h"
#include "kernels/cpu/point_special_values.h"

#define ANY    CHECKED_LOOP
#define FLOAT  LOOP
#define MAPPED MAPPED_LOOP
#include "kernels/point.def"
#undef ANY
#undef FLOAT
#undef MAPPED

const fnzi_cpu_point NAME[] = {
#define ANY(name, arity, out, check, value)                    ENTRY(name, arity, PLAIN, out)
#define FLOAT(name, arity, out, value)                         ENTRY(name, arity, PLAIN, out)
#define MAPPED(name, arity, before, function, accuracy, after) ENTRY(name, arity, PLAIN, SAME)
#include "kernels/point.def"
#undef ANY
#undef FLOAT
#undef MAPPED
    END_OF_ROWS};
