/* decomp.h - operators that are computed by others, one after the other: a row STEPS(operator,
 * name) of decomp.def, and a function that a DECOMP(name) opens.
 *
 * A decomposition runs as the row's shape rule, on the CPU and on the meta backend alike, and gives
 * the results with fnzi_dec_result_give(). After a step has failed all further ones do nothing and
 * return NULL, and every fact about NULL is 0, so a decomposition need not check; s->status has the
 * failure. Arrays created by steps are released when it ends. A step is an operator with a kernel
 * of its own, never another decomposition.
 *
 * One definition serves running and rewriting: over geometries, with a script in the call, the
 * steps are written down (script.h), and there a step may be a decomposition. */
#ifndef FNZI_DECOMP_H
#define FNZI_DECOMP_H

#include "kernels/decomp/script.h"
#include "schema/aten_names.h"

typedef struct fnzi_dec_steps {
  fnzi_krn_call *call;     /* of the operator that is made */
  fnzi_arena scratch;      /* of the step in hand */
  fnzi_dec_script *script; /* where steps are written down; NULL: they are done */
  struct {
    fnzi_krn_array **data;
    size_t count, capacity;
  } made;
  fnz_status status;
} fnzi_dec_steps;

typedef void fnzi_dec_fn(fnzi_dec_steps *s);
FNZ_MUST_CHECK fnz_status fnzi_dec_run(fnzi_krn_call *call, fnzi_dec_fn *decompose);
#define DECOMP(name)                                                                               \
  static void name(fnzi_dec_steps *s);                                                             \
  fnz_status fnzi_shape_##name(fnzi_krn_call *call) {                                              \
    return fnzi_dec_run(call, name);                                                               \
  }                                                                                                \
  static void name(fnzi_dec_steps *s)

/* --- Arguments -------------------------------------------------------------------------------- */
/* NULL for an absent tensor. */
static inline fnz_arg V(fnzi_krn_array *a) {
  return (fnz_arg){.tag = a ? FNZ_ARG_VALUE : FNZ_ARG_NONE, .u.value = fnzi_krn_array_handle(a)};
}
static inline fnz_arg I(int64_t i) {
  return (fnz_arg){.tag = FNZ_ARG_INT, .u.i = i};
}
static inline fnz_arg F(double f) {
  return (fnz_arg){.tag = FNZ_ARG_FLOAT, .u.f = f};
}
static inline fnz_arg B(bool b) {
  return (fnz_arg){.tag = FNZ_ARG_BOOL, .u.i = b};
}
static inline fnz_arg DTYPE(fnz_dtype dtype) {
  return (fnz_arg){.tag = FNZ_ARG_DTYPE, .u.i = (int64_t)dtype};
}
#define NONE    ((fnz_arg){.tag = FNZ_ARG_NONE})
#define DEFAULT ((fnz_arg){.tag = FNZ_ARG_DEFAULT})
#define INTS(...)                                                                                  \
  fnzi_dec_ints(s, (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / 8)
/* In memory that lasts as long as the decomposition; NONE when that fails. */
fnz_arg fnzi_dec_ints(fnzi_dec_steps *s, const int64_t *ints, size_t count);
fnz_arg fnzi_dec_values(fnzi_dec_steps *s, fnzi_krn_array *const *arrays, size_t count);
/* Room for so many arrays, or arguments, that lasts as long; NULL when that fails. */
fnz_arg *fnzi_dec_args_room(fnzi_dec_steps *s, size_t count);
fnzi_krn_array **fnzi_dec_arrays_room(fnzi_dec_steps *s, size_t count);

/* --- Steps ------------------------------------------------------------------------------------ */
/* The result of an operator that has one, called with the first of its arguments. */
fnzi_krn_array *fnzi_dec_step(fnzi_dec_steps *s, size_t op, const fnz_arg *args, size_t nargs);
#define STEP(op, ...)                                                                              \
  fnzi_dec_step(s, FNZI_ATEN_##op, (const fnz_arg[]){__VA_ARGS__},                                 \
                sizeof((const fnz_arg[]){__VA_ARGS__}) / sizeof(fnz_arg))
/* The same, where the result has the geometry that is recorded of the first result of the operator
 * that is made: sizes depend on elements. Only where steps are written down. */
fnzi_krn_array *fnzi_dec_step_as_given(fnzi_dec_steps *s, size_t op, const fnz_arg *args,
                                       size_t nargs);
/* Its first `count` results. */
void fnzi_dec_step_into(fnzi_dec_steps *s, size_t op, const fnz_arg *args, size_t nargs,
                        fnzi_krn_array **out, size_t count);
#define STEPS_INTO(out, count, op, ...)                                                            \
  fnzi_dec_step_into(s, FNZI_ATEN_##op, (const fnz_arg[]){__VA_ARGS__},                            \
                     sizeof((const fnz_arg[]){__VA_ARGS__}) / sizeof(fnz_arg), out, count)
#define ADD(a, b) STEP(add__Tensor, V(a), V(b))
#define SUB(a, b) STEP(sub__Tensor, V(a), V(b))
#define MUL(a, b) STEP(mul__Tensor, V(a), V(b))
#define DIV(a, b) STEP(div__Tensor, V(a), V(b))
/* a where the mask is true, else b; and a with 0 where it is true. */
#define CHOSEN(mask, a, b) STEP(where__self, V(mask), V(a), V(b))
#define ZEROED(a, mask)    STEP(masked_fill__Scalar, V(a), V(mask), I(0))
static inline fnzi_krn_array *fnzi_dec_times(fnzi_dec_steps *s, fnzi_krn_array *a, double number) {
  return STEP(mul__Scalar, V(a), F(number));
}
/* Swaps the last two dimensions. */
static inline fnzi_krn_array *fnzi_dec_transposed(fnzi_dec_steps *s, fnzi_krn_array *a) {
  return STEP(transpose__int, V(a), I(-2), I(-1));
}
/* Zeros of the sizes that this argument has, in the dtype of the first input. */
fnzi_krn_array *fnzi_dec_zeros_of(fnzi_dec_steps *s, const char *sizes);

/* The elements in row-major order under other sizes, of as many elements. */
fnzi_krn_array *fnzi_dec_reshaped(fnzi_dec_steps *s, fnzi_krn_array *a, const int64_t *sizes,
                                  size_t rank);
#define RESHAPED(a, ...)                                                                           \
  fnzi_dec_reshaped(s, a, (const int64_t[]){__VA_ARGS__},                                          \
                    sizeof((const int64_t[]){__VA_ARGS__}) / 8)
bool fnzi_dec_has_sizes(const fnzi_krn_array *a, const int64_t *sizes, size_t rank);
/* The same: itself if it has them, a view where the strides allow it, else of a copy. */
fnzi_krn_array *fnzi_dec_viewed(fnzi_dec_steps *s, fnzi_krn_array *a, const int64_t *sizes,
                                size_t rank);
/* `count` places of a dimension from `start` on. */
fnzi_krn_array *fnzi_part(fnzi_dec_steps *s, fnzi_krn_array *a, int64_t dim, int64_t start,
                          int64_t count);
/* The elements along dimension `dim` of `rank`, all others of size 1: so it broadcasts. */
fnzi_krn_array *fnzi_dec_along(fnzi_dec_steps *s, fnzi_krn_array *a, int64_t dim, size_t rank);
/* Both under their common sizes. */
void fnzi_dec_broadcast_both(fnzi_dec_steps *s, fnzi_krn_array **a, fnzi_krn_array **b);
/* One after the other along a dimension. */
fnzi_krn_array *fnzi_dec_cat(fnzi_dec_steps *s, fnzi_krn_array *const *arrays, size_t count,
                             int64_t dim);
/* Every element so often along a dimension, one beside the other. */
fnzi_krn_array *fnzi_dec_interleaved(fnzi_dec_steps *s, fnzi_krn_array *a, int64_t dim,
                                     int64_t times);
/* As roll, in memory of its own, in rows. */
fnzi_krn_array *fnzi_dec_rolled(fnzi_dec_steps *s, fnzi_krn_array *a, const int64_t *shifts,
                                const int64_t *dims, size_t count);
/* In another element type, or `a` itself. */
fnzi_krn_array *fnzi_dec_cast(fnzi_dec_steps *s, fnzi_krn_array *a, fnz_dtype dtype);
/* `result` where eager has written it over `a`, in the type of `a`; the decomposition stops when
 * that cannot hold it. */
fnzi_krn_array *fnzi_dec_written_over(fnzi_dec_steps *s, const fnzi_krn_array *a,
                                      fnzi_krn_array *result);
/* Applies the last step of losses, by argument "reduction": the array, its mean or its sum. */
fnzi_krn_array *fnzi_dec_by_reduction(fnzi_dec_steps *s, fnzi_krn_array *a);

/* Releases what was made since `mark`, s->made.count of then, but for `kept` (of them NULL ones do
 * not count). */
void fnzi_dec_arrays_release(fnzi_dec_steps *s, size_t mark, fnzi_krn_array *const *kept,
                             size_t count);

/* --- Asking ----------------------------------------------------------------------------------- */
/* An argument of the operator that is made. */
static inline fnzi_krn_array *fnzi_dec_given_array(const fnzi_dec_steps *s, const char *name) {
  return fnzi_krn_named_array(s->call, name);
}
/* Tensor i of a list; NULL when there is none. */
fnzi_krn_array *fnzi_dec_given_item(const fnzi_dec_steps *s, const char *name, size_t i);
/* Number i of a tensor as an argument: complex numbers keep both parts. Without data it is 1, of
 * the same kind. */
fnz_arg fnzi_dec_number_at(fnzi_dec_steps *s, const fnzi_krn_array *a, int64_t i);
/* How many items a list has. */
size_t fnzi_dec_given_count(const fnzi_dec_steps *s, const char *name);
static inline uint32_t fnzi_dec_array_rank(const fnzi_krn_array *a) {
  return a ? a->geometry.rank : 0;
}
/* Negative dimensions count from the end; 0 where there is no such dimension. */
int64_t fnzi_dec_array_size(const fnzi_krn_array *a, int64_t dim);
static inline fnz_dtype fnzi_dec_array_dtype(const fnzi_krn_array *a) {
  return a ? a->geometry.dtype : FNZ_F32;
}
/* Transposed, and conjugated if it is complex. */
static inline fnzi_krn_array *fnzi_dec_adjoint(fnzi_dec_steps *s, fnzi_krn_array *a) {
  a = fnzi_dec_transposed(s, a);
  return fnzi_is_complex(fnzi_dec_array_dtype(a)) ? STEP(_conj_physical, V(a)) : a;
}
/* In which elements of the dtype are computed: 16-bit floats in f32. */
static inline fnz_dtype fnzi_dec_wide(fnz_dtype dtype) {
  return dtype == FNZ_F16 || dtype == FNZ_BF16 ? FNZ_F32 : dtype;
}
static inline int64_t fnzi_dec_array_numel(const fnzi_krn_array *a) {
  return a ? fnzi_krn_array_numel(a) : 0;
}
/* There are elements to look at. Without elements a rule for shapes goes on as if they were valid;
 * steps that are written down must not depend on them, so there the decomposition ends with a
 * refusal. Every read of elements comes after this check. */
bool fnzi_dec_can_look(fnzi_dec_steps *s);
/* The decomposition ends with this refusal, unless it has failed before. */
void fnzi_dec_refuse(fnzi_dec_steps *s, fnz_class kind, const char *format, ...) FNZI_PRINTF(3, 4);
/* The same for an argument that is not of floats. */
void fnzi_dec_need_floats(fnzi_dec_steps *s, const char *name, fnz_dtype dtype);
/* The same for a status. */
static inline void fnzi_dec_status_note(fnzi_dec_steps *s, fnz_status status) {
  s->status = s->status == FNZ_OK ? status : s->status;
}
/* The argument is an expression, or the size of this dimension of the first tensor is: the steps
 * must be right at other numbers, too. */
bool fnzi_dec_is_open(const fnzi_dec_steps *s, const char *name);
static inline bool fnzi_dec_size_is_open(const fnzi_dec_steps *s, int64_t dim) {
  return s->script && s->script->open_dims >> dim & 1;
}
/* A dimension of `a` from an argument, counted from 0; 0 when it stops. A tensor without dimensions
 * has one. */
uint32_t fnzi_dec_given_dim(fnzi_dec_steps *s, const char *name, const fnzi_krn_array *a);

/* --- Results ---------------------------------------------------------------------------------- */
/* The next result. */
void fnzi_dec_result_give(fnzi_dec_steps *s, fnzi_krn_array *a);
/* The next one is undefined. */
void fnzi_dec_result_none(fnzi_dec_steps *s);

/* --- Short names ------------------------------------------------------------------------------ */
/* Tensors and numbers among the arguments, by name. */
#define GIVEN(name)       fnzi_dec_given_array(s, name)
#define GIVEN_INT(name)   fnzi_krn_named_int(s->call, name, 0)
#define GIVEN_FLOAT(name) fnzi_krn_named_float(s->call, name, 0)
#define GIVEN_BOOL(name)  fnzi_krn_named_bool(s->call, name, false)
#define RANK(a)           ((int64_t)fnzi_dec_array_rank(a))
#define SIZE(a, dim)      fnzi_dec_array_size(a, dim)
#define DTYPE_OF(a)       fnzi_dec_array_dtype(a)
#define GIVE(a)           fnzi_dec_result_give(s, a)
#define CONTIGUOUS_FORMAT ((fnz_arg){.tag = FNZ_ARG_MEMORY_FORMAT, .u.i = 1})

/* A product of sizes; OVERFLOW, and 0, where it leaves 63 bits. */
static inline int64_t fnzi_dec_size_times(fnzi_dec_steps *s, int64_t a, int64_t b) {
  int64_t product = 0;
  if (fnzi_mul_i64(a, b, &product))
    return product;
  fnzi_dec_refuse(s, FNZ_CLASS_OVERFLOW, "a product of sizes leaves 63 bits");
  return 0;
}
#define SIZE_TIMES(a, b) fnzi_dec_size_times(s, a, b)

#endif
