/* kernel.h - writing a kernel: one definition, and every variant of the operator follows.
 *
 * A *structured* kernel is a meta function, which says what the results look like, and an impl,
 * which fills results that are there already. Registered for any functional or out operator it
 * serves the whole group: the functional variant allocates the results; the in-place variant checks
 * that self fits and lets the impl write it, through a copy where it must; the out variant resizes;
 * the meta backend runs the meta function alone.
 *
 * A *plain* kernel has no meta function and does exactly what its own schema says; it makes its
 * results itself. From one for a functional operator the in-place variant follows by copying and
 * the out variant by resizing and copying; and, where the operator has no kernel otherwise, from
 * one for an in-place or mutable operator the functional variant by cloning the written arguments
 * (`ns::f_on_bases`: by cloning the memory that they share),
 * from one for an out operator the in-place variant with self as out=, from one for a view the
 * `_copy` variant by cloning. On the meta backend it is called as well, with memory that is NULL.
 *
 * A kernel replaces fnz's own. Groups are defined by the ATen table; a custom operator is a group
 * by itself. */
#ifndef FNZ_KERNEL_H
#define FNZ_KERNEL_H

#include <fnz/backend.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One call, as a kernel sees it. Ends when the kernel returns. */
typedef struct fnz_frame fnz_frame;

/** A tensor's memory. `data` is the element with all indices 0, NULL on the meta backend and for
 * None; strides of `geometry` count elements from there. */
typedef struct fnz_memory {
  void *data;
  const fnz_geometry *geometry; /* NULL for None */
} fnz_memory;

typedef fnz_status fnz_kernel_fn(fnz_frame *frame);

typedef struct fnz_kernel {
  const fnz_op *op;    /* any member of its group; must outlive the backend */
  fnz_kernel_fn *meta; /* NULL: a plain kernel */
  fnz_kernel_fn *impl;
  bool contiguous; /* impl wants row-major memory, for arguments and results */
  void *user;
} fnz_kernel;

/** Adds a kernel to a CPU or meta backend made by fnz; copied. In place of one that is there for
 * the same operator. Not while a call of the backend is at work. FNZ_BAD_INPUT (DUPLICATE) when
 * another member of the group has a structured one; FNZ_BAD_ARGUMENT for a backend that takes none,
 * and for a structured kernel of a view. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_kernel_register(fnz_context *ctx, fnz_backend *backend,
                                                      const fnz_kernel *kernel);

/* --- What a kernel asks ----------------------------------------------------------------------- */
FNZ_API fnz_context *fnz_frame_context(const fnz_frame *frame);
FNZ_API void *fnz_frame_user(const fnz_frame *frame);
/** An argument by its name in the kernel's own schema, converted and defaulted. NULL when the
 * schema has none. */
FNZ_API const fnz_arg *fnz_frame_arg(const fnz_frame *frame, const char *name);
/** The tensor of an FNZ_ARG_VALUE argument or list item; read-only unless the schema writes it. An
 * argument that the kernel's schema writes but the call has not (out= of a structured kernel) is
 * None: results are there by number. */
FNZ_API fnz_memory fnz_frame_tensor(const fnz_frame *frame, const fnz_arg *arg);
/** Appends a result, in a meta function or a plain kernel; not initialised. `strides` NULL:
 * row-major. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_frame_add_result(fnz_frame *frame, fnz_dtype dtype,
                                                       uint32_t rank, const int64_t *sizes,
                                                       const int64_t *strides);
/** For a plain kernel of a view: appends a result that is a window into an argument's memory.
 * FNZ_BAD_INPUT (BOUNDS) when it leaves that. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_frame_add_view(fnz_frame *frame, const fnz_arg *base,
                                                     const fnz_geometry *window);
/** Result k, to be filled. */
FNZ_API fnz_memory fnz_frame_result(const fnz_frame *frame, size_t k);
/** Zeroed memory that the meta function may leave to the impl: precomputed values. The same block
 * at every call of one frame; `bytes` counts at the first. NULL when memory runs out. */
FNZ_API void *fnz_frame_precomputed(fnz_frame *frame, size_t bytes);
/** Records a failure of the class, with the operator's name in front; returns its status. */
FNZ_API fnz_status fnz_frame_fail(fnz_frame *frame, fnz_class kind, const char *message);

#ifdef __cplusplus
}
#endif
#endif
