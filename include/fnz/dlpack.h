/* dlpack.h - memory of tensors to and from other libraries, by DLPack 1: PyTorch, JAX, NumPy.
 *
 * Memory that is looked at is borrowed, memory that is exported is shared: no element is copied.
 * The structures are DLPack's own; if its header is included before this header, its definitions
 * are used. */
#ifndef FNZ_DLPACK_H
#define FNZ_DLPACK_H

#include <fnz/call.h>
#include <fnz/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef DLPACK_DLPACK_H_
typedef enum { kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3, kDLCUDAManaged = 13 } DLDeviceType;

typedef struct {
  DLDeviceType device_type;
  int32_t device_id;
} DLDevice;

typedef enum {
  kDLInt = 0,
  kDLUInt = 1,
  kDLFloat = 2,
  kDLBfloat = 4,
  kDLComplex = 5,
  kDLBool = 6,
  kDLFloat8_e4m3fn = 10,
  kDLFloat8_e4m3fnuz = 11,
  kDLFloat8_e5m2 = 12,
  kDLFloat8_e5m2fnuz = 13,
  kDLFloat8_e8m0fnu = 14
} DLDataTypeCode;

typedef struct {
  uint8_t code, bits;
  uint16_t lanes;
} DLDataType;

typedef struct {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape, *strides; /* strides in elements; NULL: row-major */
  uint64_t byte_offset;     /* of the first element from `data` */
} DLTensor;

typedef struct {
  uint32_t major, minor;
} DLPackVersion;

#define DLPACK_FLAG_BITMASK_READ_ONLY 1UL

typedef struct DLManagedTensorVersioned {
  DLPackVersion version;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned *self); /* NULL: nothing ends */
  uint64_t flags;
  DLTensor dl_tensor;
} DLManagedTensorVersioned;

/* The structure of DLPack before version 1. */
typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;
#endif

/* --- Memory ----------------------------------------------------------------------------------- */
/** A tensor of another library as memory for a run or a kernel. It points into itself: not to be
 * moved. */
typedef struct fnz_dlpack_view {
  fnz_memory memory; /* `data` is the element with all indices 0; its geometry: */
  fnz_geometry geometry;
  int64_t sizes[FNZ_MAX_RANK], strides[FNZ_MAX_RANK];
  DLDevice device; /* where `data` is an address */
  bool read_only;
} fnz_dlpack_view;

/** tensor  borrowed: it must outlive all use of the view, and the caller ends it.
 *
 * Fails with UNSUPPORTED for another major version of DLPack, for devices other than CPU and CUDA,
 * and for element types that fnz has none of; BOUNDS for sizes and strides below zero, and when
 * these leave 63 bits or the address space; ARGUMENT for dimensions without a shape, and for
 * elements without memory or not at multiples of their size. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_dlpack_look(fnz_context *ctx,
                                                  const DLManagedTensorVersioned *tensor,
                                                  fnz_dlpack_view *out);

typedef struct fnz_dlpack_options {
  size_t size;     /* sizeof(fnz_dlpack_options) */
  DLDevice device; /* where the memory lies */
  bool read_only;
  /* Called once, when the other library is done; NULL: nothing ends. */
  void (*release)(void *owner);
  void *owner;
} fnz_dlpack_options;
#define FNZ_DLPACK_OPTIONS_INIT                                                                    \
  { sizeof(fnz_dlpack_options), {kDLCPU, 0}, false, NULL, NULL }

/** Exports memory to another library, for example the result of a run.
 *
 * memory   its geometry is copied, `data` must last until `release` is called.
 * options  NULL for defaults.
 * out      ends with out->deleter(out), which the other library calls, in any thread that the
 *          allocator of ctx and `release` can take; ctx may have ended. After a failure `release`
 *          is not called.
 *
 * Fails with UNSUPPORTED for a conjugate or negative bit. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_dlpack_make(fnz_context *ctx, const fnz_memory *memory,
                                                  const fnz_dlpack_options *options,
                                                  DLManagedTensorVersioned **out);

/** The same memory for a library that knows DLPack only as it was before version 1.
 *
 * tensor  moved in: it ends with `out`. After a failure it is still the caller's.
 * out     ends with out->deleter(out), as that of fnz_dlpack_make() does.
 *
 * Fails with UNSUPPORTED for read-only memory, which those versions cannot express. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_dlpack_make_unversioned(fnz_context *ctx,
                                                              DLManagedTensorVersioned *tensor,
                                                              DLManagedTensor **out);

/* --- Values of a backend ------------------------------------------------------------------------
 * Of the CPU backend and of the CUDA backend. One thread, as with all of a backend: the deleters
 * are called there, before the backend ends. */
/** The memory of a value, which the two share from now on: as long as it is lent, it cannot grow.
 * On a GPU it is ready when this returns. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_eager_to_dlpack(fnz_context *ctx, fnz_eager tensor,
                                                      DLManagedTensorVersioned **out);

/** Creates a value over another library's memory, which must be ready. Two values over one piece of
 * memory are not known to overlap: checks of one do not see writes through the other.
 * tensor  moved in; its deleter is called when no value uses the memory any more. After a
 *         failure it is still the caller's.
 * out     ends with fnz_eager_release().
 *
 * Fails as fnz_dlpack_look() does, and with ARGUMENT for memory on another device than the
 * backend's values. UNSUPPORTED for read-only memory, because values may be written, and on a GPU
 * for memory that is not aligned to 16 bytes. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_eager_from_dlpack(fnz_context *ctx, fnz_backend *backend,
                                                        DLManagedTensorVersioned *tensor,
                                                        fnz_eager *out);

#ifdef __cplusplus
}
#endif
#endif
