/* point_rows.h - makes the loops and the table of one class. The includer defines T (the computing
 * type), SELF (its dtype), NAME (of the table), REAL_TYPE and REAL_DTYPE, and the row macros whose
 * rows it takes as LOOP. */
#include "kernels/cpu/point_out.h"
#include "kernels/cpu/point_scalar.h"

/* Missing operands repeat the last one; an unused operand costs nothing. */
#define OPERANDS(arity)                                                                            \
  const T *pa = in[0], *pb = in[(arity) > 1 ? 1 : 0], *pc = in[(arity) > 2 ? 2 : 0],               \
          *pd = in[(arity) > 3 ? 3 : 0];
#ifndef READ
#define READ(p) (p)[i]
#endif
#define ELEMENTS                                                                                   \
  T a = READ(pa), b = READ(pb), c = READ(pc), d = READ(pd);                                        \
  (void)a, (void)b, (void)c, (void)d;

#define LOOP(name, arity, out_kind, value)                                                         \
  static void run_##name(void *out, const void *const *in, int64_t count) {                        \
    OUT_TYPE_##out_kind *o = out;                                                                  \
    OPERANDS(arity)                                                                                \
    for (int64_t i = 0; i < count; i++) {                                                          \
      ELEMENTS                                                                                     \
      o[i] = RESULT(OUT_TYPE_##out_kind, value);                                                   \
    }                                                                                              \
  }
#define CHECKED_LOOP(name, arity, out, check, value) LOOP(name, arity, out, value)
#define IS_KEPT_SAME                                 false
#define IS_KEPT_KEPT                                 true
#define IS_KEPT_BOOL                                 false
#define IS_KEPT_REAL                                 false

/* Rows of the table. */
#define ENTRY(name, arity, check, out) LINKED(name, arity, check, out, NULL, NULL)
#define LINKED(name, arity, check, out, links, run_same)                                           \
  {#name, arity, FNZI_POINT_##check, IS_KEPT_##out, OUT_DTYPE_##out, run_##name, links, run_same},
#define END_OF_ROWS                                                                                \
  { NULL, 0, 0, false, FNZ_BOOL, NULL, NULL, NULL }
