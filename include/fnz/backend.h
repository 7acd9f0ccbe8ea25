/* backend.h - evaluation of functional operators, as a struct of functions that the caller passes
 * in.
 *
 * A backend has *values*, dense tensors known only by a 64-bit handle. The functionalizer rewrites
 * calls into calls of functional operators and forwards these. So recording a program, running on
 * the CPU and running over hashes are the same mechanism. Backends that compute
 * numbers are in <fnz/numbers.h>. */
#ifndef FNZ_BACKEND_H
#define FNZ_BACKEND_H

#include <fnz/operator.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef uint64_t fnz_handle; /* 0 is never a value */

/** A request to apply one functional operator.
 *
 * args      one per parameter of the schema; tensors are FNZ_ARG_VALUE with a handle, also in
 *           lists. FNZ_ARG_LAST_USE on one says that its memory may be reused: the backend must not
 *           release it, but need not keep its contents.
 * expected  NULL when the caller does not know the results (the backend's shape rule decides). Else
 *           one entry per tensor result, lists flattened, `capacity` of apply() in number: the
 *           geometry it must have, or NULL for one that is not known or undefined. A result of
 *           another dtype or size is an error.
 * source    where the node came from, "" when unknown. */
typedef struct fnz_request {
  const fnz_op *op;
  const fnz_arg *args;
  size_t nargs;
  const fnz_geometry *const *expected;
  const char *source;
} fnz_request;

typedef struct fnz_backend {
  size_t size; /* sizeof(fnz_backend); functions beyond it count as NULL. Functions that take a
                  backend fail with FNZ_BAD_ARGUMENT if it ends before `destroy`, as 0 does */
  const char *name;
  void *self;

  /** Applies call->op. Every tensor result becomes a new value the caller releases. `outputs` has
   * room for `capacity` handles, undefined tensors are 0; *count says how many there are. With
   * too little room it fails with FNZ_BAD_ARGUMENT and keeps nothing: a split may have more pieces
   * than a program names, and is called again then. */
  fnz_status (*apply)(void *self, fnz_context *ctx, const fnz_request *call, fnz_handle *outputs,
                      size_t capacity, size_t *count);

  /** Ends a value. */
  void (*release)(void *self, fnz_handle value);

  /** Dtype, sizes and strides as eager would have them; borrowed until the value ends. */
  const fnz_geometry *(*geometry)(void *self, fnz_handle value);

  /** A new value from dense row-major elements. `cells` has cell_bytes(dtype) per element; a
   * backend of numbers has the dtype's own bytes there. */
  fnz_status (*upload)(void *self, fnz_context *ctx, const fnz_geometry *geometry,
                       const void *cells, fnz_handle *out);
  /** Dense row-major elements of a value into `cells`. */
  fnz_status (*download)(void *self, fnz_context *ctx, fnz_handle value, void *cells);
  /** Bytes by which this backend represents one element. */
  size_t (*cell_bytes)(void *self, fnz_dtype dtype);

  void (*destroy)(void *self);

  /** As apply, but with an operator of any kind and on memory that values may share, as eager
   * PyTorch does it: a view's result shares memory with its argument, an in-place operator writes
   * into it, an out= argument gets another size when its own is wrong. A result that is an argument
   * comes back as the same handle, which then needs one more release. `expected` is not looked at.
   * `warning` has room for FNZ_WARNING_BYTES: what eager would warn of, "" for nothing.
   * NULL when the backend has only values. A value given to apply must not be written by call. */
  fnz_status (*call)(void *self, fnz_context *ctx, const fnz_request *call, fnz_handle *outputs,
                     size_t capacity, size_t *count, char *warning);

  /** Do two values lie in one piece of memory? NULL when the backend does not know. */
  bool (*shares)(void *self, fnz_handle a, fnz_handle b);

  /** Makes the backend's device the current one of this thread (`enter`), and the former one again.
   * Stands around each call of fnz_call() but of operators whose row in the table switches the
   * device guard off. NULL when there is nothing to do. */
  void (*guard)(void *self, bool enter);
} fnz_backend;

#define FNZ_WARNING_BYTES 256

/** Shapes only: values are geometries, by the same shape rules that the CPU backend uses. Upload
 * ignores the cells, download fails.
 * out: ends with fnz_backend_destroy(). The context must outlive it and be used by one thread. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_meta_backend_create(fnz_context *ctx, fnz_backend **out);

/** Hashes instead of numbers: data movement is exact, every computing operator is an uninterpreted
 * function of its name, attributes and inputs, element by element. No kernel is needed, so any
 * operator works. Equal results mean equal for all input values of these shapes (up to collisions).
 * `bytewise`: one hash per byte instead of one per element; needed when memory is read under
 * several dtypes. `seed`: another seed, other places where data decides places.
 * out: ends with fnz_backend_destroy(). The context must outlive it and be used by one thread. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_hash_backend_create(fnz_context *ctx, uint64_t seed,
                                                          bool bytewise, fnz_backend **out);

/** After all of its values. NULL is allowed. */
FNZ_API void fnz_backend_destroy(fnz_backend *backend);

/** The operator has a kernel on the CPU backend of libfnz. libfnz_core says the same and has none.
 */
FNZ_API bool fnz_cpu_has_kernel(const fnz_op *op);

/** How a backend serves an operator. Texts are static. */
typedef struct fnz_kernel_facts {
  const char *way;     /* "computed", "computed into its argument"; NULL: not at all */
  const fnz_op *via;   /* the operator that does the work: itself, or another member of its group */
  const char *accepts; /* element types of the row: "any", "standard", ...; NULL without a row */
  const char *memory;  /* of the results: "new", "point", "base", "view"; NULL without a row */
  bool registered;     /* by fnz_kernel_register() */
} fnz_kernel_facts;

/** Fills `out` for any operator, on a backend of fnz; for other backends nothing is known. Fails
 * with FNZ_NO_MEMORY only. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_backend_get_kernel(fnz_context *ctx, fnz_backend *backend,
                                                         const fnz_op *op, fnz_kernel_facts *out);

#ifdef __cplusplus
}
#endif
#endif
