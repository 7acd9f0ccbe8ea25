/* call.h - calling any operator, by a stack of arguments, on real memory: what eager PyTorch does.
 *
 * Views share memory with their argument, in-place operators write into it, out= arguments are
 * resized if necessary. For values instead of memory use <fnz/tensor.h>.
 *
 *   fnz_push_tensor(stack, x);
 *   fnz_push_tensor(stack, y);
 *   fnz_push_float(stack, 0.5);
 *   fnz_push_name(stack, "alpha");
 *   status = fnz_call_name(ctx, "add.Tensor", stack);
 *   if (status == FNZ_OK)
 *     sum = fnz_pop_tensor(stack);
 *
 * <fnz/ops.h> has a typed function for each operator that has a kernel on the CPU, or whose
 * functional variant has one, if its types can be written in C. */
#ifndef FNZ_CALL_H
#define FNZ_CALL_H

#include <fnz/backend.h>

#ifdef __cplusplus
extern "C" {
#endif

/** An eager tensor: a value of a backend, in memory that other tensors may share. Handle 0 is None.
 * Release it with fnz_eager_release(). */
typedef struct fnz_eager {
  fnz_backend *backend;
  fnz_handle handle;
} fnz_eager;

/** Nothing for None. */
FNZ_API void fnz_eager_release(fnz_eager tensor);
/** Dtype, sizes, strides and offset; borrowed until the tensor is released or changes. NULL for
 * None. */
FNZ_API const fnz_geometry *fnz_eager_geometry(fnz_eager tensor);

/** Scalars, as the typed functions of <fnz/ops.h> take them. */
FNZ_API fnz_arg fnz_scalar_int(int64_t value);
FNZ_API fnz_arg fnz_scalar_float(double value);

/** Arguments, and after a call its results. Used by one thread at a time. */
typedef struct fnz_stack fnz_stack;

/** backend  makes the results of calls without a tensor among their arguments: zeros, arange.
 *          Borrowed; must outlive the stack.
 * out      ends with fnz_stack_destroy(), before ctx. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_stack_create(fnz_context *ctx, fnz_backend *backend,
                                                   fnz_stack **out);
/** Releases the tensors that the stack still owns. NULL is allowed. */
FNZ_API void fnz_stack_destroy(fnz_stack *stack);

/* --- Arguments ----------------------------------------------------------------------------------
 * In the order of the schema. Pushing never fails: if memory runs out, the next fnz_call() fails
 * with FNZ_NO_MEMORY. Lists and strings are copied; tensors are borrowed until the call. */
FNZ_API void fnz_push_tensor(fnz_stack *stack, fnz_eager tensor);
FNZ_API void fnz_push_none(fnz_stack *stack);
FNZ_API void fnz_push_default(fnz_stack *stack); /* the schema's default */
FNZ_API void fnz_push_int(fnz_stack *stack, int64_t value);
FNZ_API void fnz_push_float(fnz_stack *stack, double value);
FNZ_API void fnz_push_bool(fnz_stack *stack, bool value);
FNZ_API void fnz_push_complex(fnz_stack *stack, double real, double imag);
FNZ_API void fnz_push_string(fnz_stack *stack, const char *value);
FNZ_API void fnz_push_dtype(fnz_stack *stack, fnz_dtype value);
FNZ_API void fnz_push_ints(fnz_stack *stack, const int64_t *values, size_t count);
FNZ_API void fnz_push_floats(fnz_stack *stack, const double *values, size_t count);
FNZ_API void fnz_push_tensors(fnz_stack *stack, const fnz_eager *tensors, size_t count);
/** Anything that has no tensor in it. */
FNZ_API void fnz_push_arg(fnz_stack *stack, const fnz_arg *arg);
/** Names the argument that was pushed last. All later arguments must be named too. */
FNZ_API void fnz_push_name(fnz_stack *stack, const char *name);
/** Drops everything. */
FNZ_API void fnz_stack_clear(fnz_stack *stack);

/* --- The call -----------------------------------------------------------------------------------
 * Takes everything on the stack as arguments and leaves the results: one entry per return of the
 * schema, which may be the first arguments of the next call. After a failure the stack is empty.
 *
 * Arguments are converted as PyTorch's argument parser does: integers to floats, bools to
 * integers, numbers to Scalars, a single integer to a list of fixed length. Missing arguments get
 * their defaults. A message about an argument contains its name, its type in the schema and the
 * given value.
 *
 * All tensors must be of one backend, as PyTorch requires one device. As an exception, a CPU tensor
 * without dimensions is copied to the backend of the others. An operator whose table row switches
 * the check off (copy_) also copies other tensors that it reads, except tensors in lists.
 *
 * An in-place operator's result is its argument, as another reference.
 *
 * Fails with FNZ_BAD_ARGUMENT when `op` is NULL, which fnz_op_find() returns for an unknown
 * name. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_call(fnz_context *ctx, const fnz_op *op, fnz_stack *stack);
/** The same by the name of the operator, as fnz_op_find() takes it. An unknown name is an error
 * that names the operators whose names are near. Each call looks the name up: keep the operator for
 * many calls. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_call_name(fnz_context *ctx, const char *name,
                                                fnz_stack *stack);

/** The warning that eager would have printed in the last call, "" for none; borrowed until the next
 * call. */
FNZ_API const char *fnz_stack_warning(const fnz_stack *stack);

/* --- Results ---------------------------------------------------------------------------------- */
FNZ_API size_t fnz_stack_count(const fnz_stack *stack);
/** Number of tensors at a place: 1 for a tensor, the length of a list, 0 for anything else. */
FNZ_API size_t fnz_stack_tensors(const fnz_stack *stack, size_t place);
/** Borrowed from the stack; tensor `item` of a list. None when there is no such tensor. */
FNZ_API fnz_eager fnz_stack_tensor(const fnz_stack *stack, size_t place, size_t item);
/** A number, string or list of numbers; borrowed. NULL when there is none or it is a tensor. */
FNZ_API const fnz_arg *fnz_stack_arg(const fnz_stack *stack, size_t place);
/** Moves a tensor of a result to the caller; None stays in its place. */
FNZ_API fnz_eager fnz_take_tensor(fnz_stack *stack, size_t place);
FNZ_API fnz_eager fnz_take_item(fnz_stack *stack, size_t place, size_t item);
/** Takes the last entry off the stack and moves its tensor to the caller. Returns None, and
 * destroys the entry, if it is no tensor. */
FNZ_API fnz_eager fnz_pop_tensor(fnz_stack *stack);

#ifdef __cplusplus
}
#endif
#endif
