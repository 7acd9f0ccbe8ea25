/* dlpack.c - memory of tensors to and from other libraries by DLPack. */
#include "kernels/backends.h"
#include "kernels/eager/eager.h"

#include <fnz/dlpack.h>

enum { MAJOR = 1, MINOR = 0, ALIGNED = 16 };

/* --- Types ------------------------------------------------------------------------------------ */
static const struct {
  fnz_dtype dtype;
  uint8_t code, bits;
} types[] = {
    {FNZ_BOOL, kDLBool, 8},
    {FNZ_U8, kDLUInt, 8},
    {FNZ_I8, kDLInt, 8},
    {FNZ_I16, kDLInt, 16},
    {FNZ_I32, kDLInt, 32},
    {FNZ_I64, kDLInt, 64},
    {FNZ_F16, kDLFloat, 16},
    {FNZ_BF16, kDLBfloat, 16},
    {FNZ_F32, kDLFloat, 32},
    {FNZ_F64, kDLFloat, 64},
    {FNZ_C32, kDLComplex, 32},
    {FNZ_C64, kDLComplex, 64},
    {FNZ_C128, kDLComplex, 128},
    {FNZ_U16, kDLUInt, 16},
    {FNZ_U32, kDLUInt, 32},
    {FNZ_U64, kDLUInt, 64},
    {FNZ_F8_E4M3FN, kDLFloat8_e4m3fn, 8},
    {FNZ_F8_E5M2, kDLFloat8_e5m2, 8},
    {FNZ_F8_E4M3FNUZ, kDLFloat8_e4m3fnuz, 8},
    {FNZ_F8_E5M2FNUZ, kDLFloat8_e5m2fnuz, 8},
    {FNZ_F8_E8M0FNU, kDLFloat8_e8m0fnu, 8},
};

/* --- Looking ---------------------------------------------------------------------------------- */
static fnz_status check_kind(fnz_context *ctx, const DLManagedTensorVersioned *t,
                             fnz_dtype *dtype) {
  const DLTensor *d = &t->dl_tensor;
  const int device = (int)d->device.device_type;
  const size_t count = sizeof types / sizeof *types;
  size_t k = 0;
  if (t->version.major != MAJOR) /* where nothing else is known */
    return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "the tensor is of DLPack %u.%u, fnz knows %d.x: ask for that version",
                     (unsigned)t->version.major, (unsigned)t->version.minor, MAJOR);
  if (device != kDLCPU && device != kDLCUDA && device != kDLCUDAHost && device != kDLCUDAManaged)
    return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "the tensor lies on a device of DLPack's kind %d; fnz takes CPU and CUDA "
                     "(%d, %d, %d, %d)",
                     device, kDLCPU, kDLCUDA, kDLCUDAHost, kDLCUDAManaged);
  while (k < count && (types[k].code != d->dtype.code || types[k].bits != d->dtype.bits))
    k++;
  if (k == count || d->dtype.lanes != 1)
    return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "fnz has no type of DLPack's code %u with %u bits and %u lanes; convert it",
                     (unsigned)d->dtype.code, (unsigned)d->dtype.bits, (unsigned)d->dtype.lanes);
  if (d->ndim < 0 || d->ndim > FNZ_MAX_RANK)
    return fnzi_fail(ctx, FNZ_CLASS_BOUNDS, NULL, "the tensor has %d dimensions; at most %d",
                     (int)d->ndim, FNZ_MAX_RANK);
  if (d->ndim > 0 && !d->shape)
    return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL, "the tensor has %d dimensions, and no shape",
                     (int)d->ndim);
  *dtype = types[k].dtype;
  return FNZ_OK;
}

static fnz_status copy_sizes(fnz_context *ctx, const DLTensor *d, fnz_dlpack_view *out) {
  int64_t low, high, bytes;
  for (int32_t k = 0; k < d->ndim; k++) {
    out->sizes[k] = d->shape[k];
    out->strides[k] = d->strides ? d->strides[k] : 0;
    if (out->sizes[k] < 0 || out->strides[k] < 0)
      return fnzi_fail(ctx, FNZ_CLASS_BOUNDS, NULL,
                       "dimension %d of the tensor has size %lld and stride %lld; fnz takes none "
                       "below zero: copy it",
                       (int)k, (long long)out->sizes[k], (long long)out->strides[k]);
  }
  FNZ_TRY(fnzi_krn_sizes_check(ctx, out->geometry.rank, out->sizes,
                               fnzi_dtype(out->geometry.dtype)->bytes));
  if (!d->strides)
    fnzi_contiguous_strides(out->sizes, out->geometry.rank, out->strides);
  if (fnzi_extent(&out->geometry, &low, &high) &&
      fnzi_mul_i64(high, (int64_t)fnzi_dtype(out->geometry.dtype)->bytes, &bytes))
    return FNZ_OK;
  return fnzi_fail(ctx, FNZ_CLASS_BOUNDS, NULL, "the bytes of the tensor leave 63 bits");
}

/* All elements lie in memory that there is, at multiples of their size. */
static fnz_status check_places(fnz_context *ctx, const DLTensor *d, const fnz_geometry *g) {
  const size_t cell = fnzi_dtype(g->dtype)->bytes;
  const uintptr_t begin = (uintptr_t)d->data, at = begin + (uintptr_t)d->byte_offset;
  int64_t low, high;
  if (fnz_geometry_numel(g) == 0)
    return FNZ_OK;
  if (!d->data)
    return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL, "the tensor has elements, and no memory");
  if (at % (cell > 8 ? 8 : cell))
    return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL,
                     "elements of the tensor do not lie at multiples of their size");
  if (at < begin || !fnzi_extent(g, &low, &high) || at + (uintptr_t)high * cell < at)
    return fnzi_fail(ctx, FNZ_CLASS_BOUNDS, NULL,
                     "the tensor begins %llu bytes behind its memory, and leaves the address space",
                     (unsigned long long)d->byte_offset);
  return FNZ_OK;
}

fnz_status fnz_dlpack_look(fnz_context *ctx, const DLManagedTensorVersioned *tensor,
                           fnz_dlpack_view *out) {
  const DLTensor *d = &tensor->dl_tensor;
  fnz_dtype dtype = FNZ_U8;
  FNZ_TRY(check_kind(ctx, tensor, &dtype));
  out->geometry = (fnz_geometry){
      .dtype = dtype, .rank = (uint32_t)d->ndim, .sizes = out->sizes, .strides = out->strides};
  FNZ_TRY(copy_sizes(ctx, d, out));
  FNZ_TRY(check_places(ctx, d, &out->geometry));
  bool is_any = fnz_geometry_numel(&out->geometry) > 0; /* an offset to no element is not added */
  out->memory =
      (fnz_memory){is_any ? (unsigned char *)d->data + d->byte_offset : d->data, &out->geometry};
  out->device = d->device;
  out->read_only = (tensor->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
  return FNZ_OK;
}

/* --- Giving ----------------------------------------------------------------------------------- */
typedef struct lent {
  DLManagedTensorVersioned tensor; /* first */
  fnz_allocator allocator;
  size_t bytes; /* of all of this */
  void (*release)(void *owner);
  void *owner;
  int64_t numbers[]; /* sizes, strides */
} lent;

static void end_lent(DLManagedTensorVersioned *tensor) {
  lent *l = tensor->manager_ctx;
  const fnz_allocator allocator = l->allocator;
  if (l->release)
    l->release(l->owner);
  allocator.resize(allocator.user, l, l->bytes, 0);
}

fnz_status fnz_dlpack_make(fnz_context *ctx, const fnz_memory *memory,
                           const fnz_dlpack_options *options, DLManagedTensorVersioned **out) {
  const fnz_geometry *g = memory->geometry;
  fnz_dlpack_options o = FNZ_DLPACK_OPTIONS_INIT;
  DLDataType type = {kDLUInt, 8, 1};
  *out = NULL;
  FNZ_TRY(fnzi_options_take(ctx, options, sizeof o, &o));
  if (g->is_conj || g->is_neg)
    return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "DLPack has no conjugate and no negative bit; resolve it before");
  const size_t bytes = sizeof(lent) + 2 * (size_t)g->rank * sizeof(int64_t);
  lent *l = ctx->allocator.resize(ctx->allocator.user, NULL, 0, bytes);
  if (!l)
    return fnzi_no_memory(ctx);
  *l = (lent){.allocator = ctx->allocator, .bytes = bytes, .release = o.release, .owner = o.owner};
  for (uint32_t d = 0; d < g->rank; d++) {
    l->numbers[d] = g->sizes[d];
    l->numbers[g->rank + d] = g->strides[d];
  }
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (types[i].dtype == g->dtype)
      type = (DLDataType){types[i].code, types[i].bits, 1};
  l->tensor = (DLManagedTensorVersioned){.version = {MAJOR, MINOR},
                                         .manager_ctx = l,
                                         .deleter = end_lent,
                                         .flags = o.read_only ? DLPACK_FLAG_BITMASK_READ_ONLY : 0,
                                         .dl_tensor = {.data = memory->data,
                                                       .device = o.device,
                                                       .ndim = (int32_t)g->rank,
                                                       .dtype = type,
                                                       .shape = l->numbers,
                                                       .strides = l->numbers + g->rank}};
  *out = &l->tensor;
  return FNZ_OK;
}

typedef struct lent_unversioned {
  DLManagedTensor tensor; /* first */
  fnz_allocator allocator;
  DLManagedTensorVersioned *versioned;
} lent_unversioned;

static void end_unversioned(DLManagedTensor *tensor) {
  lent_unversioned *l = tensor->manager_ctx;
  const fnz_allocator allocator = l->allocator;
  if (l->versioned->deleter)
    l->versioned->deleter(l->versioned);
  allocator.resize(allocator.user, l, sizeof *l, 0);
}

fnz_status fnz_dlpack_make_unversioned(fnz_context *ctx, DLManagedTensorVersioned *tensor,
                                       DLManagedTensor **out) {
  *out = NULL;
  if (tensor->flags & DLPACK_FLAG_BITMASK_READ_ONLY)
    return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "the tensor is read-only, which DLPack before version 1 cannot say; copy it");
  lent_unversioned *l = ctx->allocator.resize(ctx->allocator.user, NULL, 0, sizeof *l);
  if (!l)
    return fnzi_no_memory(ctx);
  *l = (lent_unversioned){{tensor->dl_tensor, l, end_unversioned}, ctx->allocator, tensor};
  *out = &l->tensor;
  return FNZ_OK;
}

/* --- Values ----------------------------------------------------------------------------------- */
static fnz_status machine_of(fnz_context *ctx, const fnz_backend *backend, fnzi_krn_machine **out) {
  *out = fnzi_machine_of(backend);
  if (*out && (*out)->has_data)
    return FNZ_OK;
  if (backend)
    FNZ_TRY(fnzi_backend_check(ctx, backend));
  return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL,
                   "backend %s has no memory to share; the CPU and the CUDA backend do",
                   backend ? backend->name : "(none)");
}

/* A window of the memory, which is lent as long as it is there. */
typedef struct lent_value {
  fnz_context *ctx; /* the backend's */
  fnzi_krn_array *window;
} lent_value;

static void end_value(lent_value *l) {
  fnzi_krn_array_release(l->ctx, l->window);
  fnzi_free(l->ctx, l, sizeof *l);
}

static void give_back(void *owner) {
  lent_value *l = owner;
  l->window->storage->lent--;
  end_value(l);
}

static fnz_status take_window(fnz_context *ctx, fnzi_krn_machine *m, const fnzi_krn_array *a,
                              lent_value **out) {
  lent_value *l = fnzi_resize(m->ctx, NULL, 0, sizeof *l);
  *out = NULL;
  if (!l)
    return fnzi_no_memory(ctx);
  *l = (lent_value){.ctx = m->ctx};
  fnz_status status = fnzi_mem_array_window(m, ctx, a->storage, &a->geometry, &l->window);
  if (status == FNZ_OK)
    *out = l;
  else
    fnzi_free(m->ctx, l, sizeof *l);
  return status;
}

fnz_status fnz_eager_to_dlpack(fnz_context *ctx, fnz_eager tensor, DLManagedTensorVersioned **out) {
  fnzi_krn_array *a = fnzi_krn_array_of(tensor.handle);
  fnzi_krn_machine *m;
  lent_value *l;
  DLDevice device = {kDLCPU, 0};
  *out = NULL;
  FNZ_TRY(machine_of(ctx, tensor.backend, &m));
  if (!a)
    return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL, "an undefined tensor has no memory to share");
  FNZ_TRY(fnzi_mem_array_make_eager(m, ctx, a));
  FNZ_TRY(take_window(ctx, m, a, &l));
  const fnzi_krn_elsewhere *e = m->stock.elsewhere;
  if (e)
    device = (DLDevice){kDLCUDA, e->ordinal};
  const fnz_dlpack_options options = {
      .size = sizeof options, .device = device, .release = give_back, .owner = l};
  const fnz_memory memory = {fnzi_krn_array_data(l->window), &l->window->geometry};
  fnz_status status = fnz_dlpack_make(ctx, &memory, &options, out);
  if (status != FNZ_OK) {
    end_value(l);
    return status;
  }
  l->window->storage->lent++;
  if (e)
    status = e->wait(e->self, ctx);
  if (status != FNZ_OK) {
    (*out)->deleter(*out);
    *out = NULL;
  }
  return status;
}

static void end_foreign(void *owner) {
  DLManagedTensorVersioned *tensor = owner;
  if (tensor->deleter)
    tensor->deleter(tensor);
}

fnz_status fnz_eager_from_dlpack(fnz_context *ctx, fnz_backend *backend,
                                 DLManagedTensorVersioned *tensor, fnz_eager *out) {
  fnzi_krn_machine *m;
  fnz_dlpack_view view;
  fnzi_krn_array *made;
  *out = (fnz_eager){NULL, 0};
  FNZ_TRY(machine_of(ctx, backend, &m));
  FNZ_TRY(fnz_dlpack_look(ctx, tensor, &view));
  const fnzi_krn_elsewhere *e = m->stock.elsewhere;
  const int kind = (int)view.device.device_type, id = (int)view.device.device_id;
  bool lies_there = e ? kind == kDLCUDAManaged || (kind == kDLCUDA && id == e->ordinal)
                      : kind == kDLCPU || kind == kDLCUDAHost;
  if (!lies_there)
    return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL,
                     "the tensor lies on device %d of DLPack's kind %d, values of backend %s do "
                     "not: move it there",
                     id, kind, m->base.name);
  if (view.read_only)
    return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "the tensor is read-only, and values may be written: copy it");
  if (e && (uintptr_t)view.memory.data % ALIGNED)
    return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "the tensor lies at no multiple of %d bytes: copy it", ALIGNED);
  FNZ_TRY(fnzi_mem_array_over(m, ctx, &view.memory, &made));
  made->storage->owner = tensor;
  made->storage->end = end_foreign;
  *out = (fnz_eager){backend, fnzi_krn_array_handle(made)};
  return FNZ_OK;
}
