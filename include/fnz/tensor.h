/* tensor.h - the wrapper: tensors that may be viewed and written, over a backend that can do
 * neither.
 *
 * A wrapper holds tensors over the values of one backend. Operators called on them, by their ATen
 * names, behave as in eager PyTorch: views share memory with their base, in-place operators are
 * seen through every alias. The backend only ever computes functional operators, and only values
 * that are read. One thread at a time. */
#ifndef FNZ_TENSOR_H
#define FNZ_TENSOR_H

#include <fnz/backend.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fnz_wrapper fnz_wrapper;

/** backend  borrowed; must outlive the wrapper.
 * out      ends with fnz_wrapper_destroy(), which ends its tensors and releases their values. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_wrapper_create(fnz_context *ctx, fnz_backend *backend,
                                                     fnz_wrapper **out);
/** NULL is allowed. */
FNZ_API void fnz_wrapper_destroy(fnz_wrapper *wrapper);

/** A tensor with memory of its own, holding a value of the backend.
 * geometry     copied; NULL takes the backend's.
 * owned_value  moved in, also when the call fails.
 * out          borrowed from the wrapper until fnz_tensor_release(). */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_tensor_wrap(fnz_wrapper *wrapper,
                                                  const fnz_geometry *geometry,
                                                  fnz_handle owned_value, fnz_tensor **out);

/** The caller needs this tensor no more. Its memory lives on while other tensors share it. NULL is
 * allowed. */
FNZ_API void fnz_tensor_release(fnz_tensor *tensor);

/** Calls an operator: fnz_tensor_call(wrapper, "add_.Tensor", args, 2, outs, 1, &n).
 * args     by position of the schema; tensors are FNZ_ARG_VALUE with u.tensor. Fewer than the
 *          schema has means defaults for the rest.
 * outputs  room for `capacity` tensors, lists flattened; *count says how many came. Each ends with
 *          fnz_tensor_release(). In-place operators return the very tensor they wrote, as one more
 *          reference to it.
 * Fails with ARGUMENT when there is too little room, and as fnz_functionalize() does. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_tensor_call(fnz_wrapper *wrapper, const char *op,
                                                  const fnz_arg *args, size_t nargs,
                                                  fnz_tensor **outputs, size_t capacity,
                                                  size_t *count);

/** Geometry as eager has it; borrowed until the tensor's metadata change. */
FNZ_API const fnz_geometry *fnz_tensor_geometry(const fnz_tensor *tensor);
/** The backend's value of the tensor, brought up to date; borrowed as long as the tensor lives and
 * nothing is written to its memory. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_tensor_read(fnz_tensor *tensor, fnz_handle *out);
/** The two tensors share a storage. */
FNZ_API bool fnz_tensor_shares(const fnz_tensor *a, const fnz_tensor *b);
/** How often the storage of the tensor was written. */
FNZ_API uint64_t fnz_tensor_version(const fnz_tensor *tensor);

#ifdef __cplusplus
}
#endif
#endif
