/* core.h - functional operators on arrays: one row of kernels.def per operator.
 *
 * A row names a *shape rule*, which computes the geometry of every result from the arguments'
 * geometries, and a *kernel*, which fills results that are already allocated. The meta backend runs
 * shape rules only, the CPU backend both. Arguments arrive checked for arity, with the schema's
 * defaults filled in.
 *
 * A kernel that needs plain memory requests it: fnzi_krn_dense_get() and fnzi_krn_dense_get_as()
 * give an argument as row-major elements, fnzi_krn_result_get_as() gives memory for a result; they
 * copy and convert as needed. */
#ifndef FNZI_CORE_H
#define FNZI_CORE_H

#include "kernels/core/team.h"
#include "program/program.h"

#include <fnz/backend.h>

/* --- Memory that the CPU cannot reach ------------------------------------------------------------
 * A GPU allocates it and computes with its elements. Everything else is the same as on the CPU:
 * which operator is a view, which arguments an in-place one writes, which calls are refused. */
struct fnzi_krn_array;
struct fnzi_krn_call;
typedef struct fnzi_krn_elsewhere {
  void *self;
  int ordinal; /* of the device */
  /* Nothing is at work any more, whether or not that failed. */
  fnz_status (*wait)(void *self, fnz_context *ctx);
  /* At a multiple of 16 bytes; `bytes` is not 0. */
  fnz_status (*take)(void *self, fnz_context *ctx, size_t bytes, unsigned char **out);
  void (*give)(void *self, unsigned char *data, size_t bytes);
  fnz_status (*clear)(void *self, fnz_context *ctx, unsigned char *data, size_t bytes);
  fnz_status (*copy)(void *self, fnz_context *ctx, unsigned char *to, const unsigned char *from,
                     size_t bytes);
  /* From and to the CPU's memory. */
  fnz_status (*put)(void *self, fnz_context *ctx, unsigned char *to, const void *from,
                    size_t bytes);
  fnz_status (*get)(void *self, fnz_context *ctx, void *to, const unsigned char *from,
                    size_t bytes);
  /* As fnzi_krn_array_assign(). */
  fnz_status (*assign)(void *self, fnz_context *ctx, const struct fnzi_krn_array *to,
                       const struct fnzi_krn_array *from);
  /* Fills the results of a call, which have memory. */
  fnz_status (*run)(void *self, struct fnzi_krn_call *call);
  /* The whole of a call whose arguments are checked: the CPU computes it with copies, results and
   * all. */
  fnz_status (*by_cpu)(void *self, struct fnzi_krn_call *call);
  /* A description of the operator there, for people; `is_window`: the operator is a window on the
   * CPU. */
  const char *(*words)(const fnz_op *op, bool is_window);
} fnzi_krn_elsewhere;

/* --- Alignment -------------------------------------------------------------------------------- */
enum { FNZI_KRN_ALIGNMENT = 64 }; /* bytes: a line of the cache */
/* The first aligned address from there on. */
static inline unsigned char *fnzi_krn_aligned(void *from) {
  uintptr_t at = (uintptr_t)from + FNZI_KRN_ALIGNMENT - 1;
  return (unsigned char *)(at & ~(uintptr_t)(FNZI_KRN_ALIGNMENT - 1));
}

/* --- Arrays ----------------------------------------------------------------------------------- */
typedef struct fnzi_krn_storage {
  size_t refs, bytes;
  unsigned char *data; /* aligned to 64 bytes; NULL on the meta backend */
  struct fnzi_krn_stock *stock;
  void *block; /* of its own, NULL when it is small or another library's */
  size_t block_bytes;
  void (*end)(void *owner); /* of memory that is another library's; else NULL */
  void *owner;
  uint32_t lent; /* to how many others: then, and when it is another's, it cannot grow */
  struct fnzi_krn_storage *next; /* in the stock */
} fnzi_krn_storage;

enum { FNZI_FEW_DIMS = 6 };

/* A value of a backend; its handle is its address. `geometry` has the dtype, sizes and strides
 * that eager reports. `window` is where the elements lie: same dtype and sizes, but strides and
 * offset (in elements) into the storage, which arrays may share because values never change.
 *
 * An `eager` array is a tensor over memory: its elements lie at `geometry`, writes to its storage
 * change all arrays that share it, and its geometry may change. */
typedef struct fnzi_krn_array {
  fnz_geometry geometry, window;
  fnzi_krn_storage *storage; /* NULL on the meta backend, unless eager */
  size_t cell;               /* bytes of one element in the storage */
  struct fnzi_krn_stock *stock;
  struct fnzi_krn_array *next; /* in the stock */
  uint32_t refs;
  uint32_t capacity; /* dimensions that `dims` is for */
  bool eager;
  int64_t *dims; /* sizes, eager's strides, strides in the storage */
  int64_t few_dims[3 * FNZI_FEW_DIMS];
} fnzi_krn_array;

/* Data that a kernel keeps from call to call; `end` frees it. */
typedef struct fnzi_krn_kept {
  void *data;
  void (*end)(fnz_context *ctx, void *data);
} fnzi_krn_kept;

enum { FNZI_STOCK_BLOCKS = 16 };

/* Released arrays, storages and blocks of memory, kept for reuse; must outlive all arrays of the
 * backend. A block that goes back to the system comes anew as pages that the system zeroes. */
typedef struct fnzi_krn_stock {
  fnzi_krn_array *arrays;
  fnzi_krn_storage *storages;
  struct {
    void *data;
    size_t bytes;
  } blocks[FNZI_STOCK_BLOCKS]; /* oldest first */
  size_t block_bytes;          /* of them together */
  uint32_t narrays, nstorages, nblocks;
  fnzi_krn_kept kept;                  /* convolutions' plans (cpu/conv_kept.c) */
  fnzi_krn_kept packed;                /* weights of products (cpu/matmul_packed.c) */
  size_t packed_bytes;                 /* of them */
  bool has_data;                       /* false: storages have a size but no memory */
  const fnzi_krn_elsewhere *elsewhere; /* that has the memory; NULL: it is the CPU's */
} fnzi_krn_stock;

void fnzi_krn_stock_free(fnz_context *ctx, fnzi_krn_stock *stock);
/* Blocks of memory that are kept go back; false: there were none. */
FNZI_SHARED bool fnzi_krn_stock_trim(fnz_context *ctx, fnzi_krn_stock *stock);

static inline fnzi_krn_array *fnzi_krn_array_of(fnz_handle handle) {
  return (fnzi_krn_array *)(uintptr_t)handle;
}
static inline fnz_handle fnzi_krn_array_handle(const fnzi_krn_array *array) {
  return (fnz_handle)(uintptr_t)array;
}
static inline int64_t fnzi_krn_array_numel(const fnzi_krn_array *array) {
  return fnz_geometry_numel(&array->geometry);
}
/* A stride in bytes. It wraps: the stride of a dimension of size 1 may be any number. */
static inline int64_t fnzi_krn_stride_bytes(int64_t stride, size_t cell) {
  return (int64_t)((uint64_t)stride * cell);
}
/* Address of the element with all indices 0. Not for arrays without storage. */
static inline unsigned char *fnzi_krn_array_data(const fnzi_krn_array *array) {
  return array->storage->data + (size_t)array->window.offset * array->cell;
}

/* OVERFLOW when so many cells could not be addressed, also with sizes of 0 counted as 1. */
FNZ_MUST_CHECK fnz_status fnzi_krn_sizes_check(fnz_context *ctx, uint32_t rank,
                                               const int64_t *sizes, size_t cell);
/* A geometry without memory. `window` is dense: eager's strides when those are, else row-major.
 * geometry  copied, without its symbols; OVERFLOW when the bytes leave 63 bits. */
FNZ_MUST_CHECK FNZI_SHARED fnz_status fnzi_krn_array_create(fnz_context *ctx, fnzi_krn_stock *stock,
                                                            const fnz_geometry *geometry,
                                                            size_t cell, fnzi_krn_array **out);
/* The same as a part of an arena, which outlives all who use it; they may release it or not. */
FNZ_MUST_CHECK fnz_status fnzi_krn_array_in_arena(fnzi_arena *arena, fnzi_krn_stock *stock,
                                                  const fnz_geometry *geometry, size_t cell,
                                                  fnzi_krn_array **out);
/* Gives the array memory of its own, not initialised (zero on request). */
FNZ_MUST_CHECK FNZI_SHARED fnz_status fnzi_krn_array_allocate(fnz_context *ctx,
                                                              fnzi_krn_array *array, bool zero);
/* Gives the array a window into a storage; the storage is retained. BOUNDS when it leaves it. */
FNZ_MUST_CHECK fnz_status fnzi_krn_array_share(fnz_context *ctx, fnzi_krn_array *array,
                                               fnzi_krn_storage *storage,
                                               const fnz_geometry *window);
/* The array becomes eager, with another geometry over the same storage. */
FNZ_MUST_CHECK fnz_status fnzi_krn_array_rebase(fnz_context *ctx, fnzi_krn_array *array,
                                                const fnz_geometry *geometry);
/* Sets the window to the geometry; moves no element. */
void fnzi_krn_array_window_as_geometry(fnzi_krn_array *array);
/* Ends one reference. */
FNZI_SHARED void fnzi_krn_array_release(fnz_context *ctx, fnzi_krn_array *array);

FNZ_MUST_CHECK fnz_status fnzi_krn_storage_create(fnz_context *ctx, fnzi_krn_stock *stock,
                                                  size_t bytes, fnzi_krn_storage **out);
/* One over memory of another library; who has it says with `end` how that ends. */
FNZ_MUST_CHECK fnz_status fnzi_krn_storage_over(fnz_context *ctx, fnzi_krn_stock *stock,
                                                unsigned char *data, size_t bytes,
                                                fnzi_krn_storage **out);
void fnzi_krn_storage_release(fnz_context *ctx, fnzi_krn_storage *storage);
/* At least so many bytes; new ones are zero, old ones stay. */
FNZ_MUST_CHECK fnz_status fnzi_krn_storage_extend(fnz_context *ctx, fnzi_krn_storage *storage,
                                                  size_t bytes);
/* BOUNDS when the window leaves the storage. */
FNZ_MUST_CHECK fnz_status fnzi_krn_storage_holds(fnz_context *ctx, const fnzi_krn_storage *storage,
                                                 const fnz_geometry *window);

/* --- Calls ------------------------------------------------------------------------------------ */
typedef struct fnzi_krn_call {
  fnz_context *ctx;
  fnzi_krn_stock *stock;
  fnzi_arena scratch; /* ends with the call */
  const fnz_op *op;
  const fnz_op *asked; /* the operator that the caller named, where op computes it; else NULL */
  const fnz_arg *args; /* op->nparams, defaults filled in, tensors as handles */
  const fnz_geometry *const *expected;
  size_t nexpected;
  fnzi_krn_array **outputs; /* NULL entries are undefined tensors */
  size_t noutputs, capacity;
  struct fnzi_krn_pending_result *pending; /* results still to be copied from scratch memory */
  fnz_dtype target; /* of the tensor that result 0 is stored in; FNZ_DTYPE_COUNT without one */
  const struct fnzi_krn_kernels *kernels;
  const struct fnzi_kernel *row; /* that is evaluated */
  struct fnz_frame *frame;       /* of a registered kernel, else NULL */
  uint32_t by_data;              /* bit k: argument k is a data-dependent number, only its kind
                                    counts before the call runs */
  fnzi_krn_kept *own; /* where a call that runs again keeps results from `lasting` arguments; NULL:
                         they are not kept */
  uint32_t lasting;   /* bit k: argument k holds the same elements in all runs with `own` */
  struct fnzi_dec_script *script; /* a decomposition is written there, not done; else NULL */
  const struct fnzi_krn_recorder *record; /* records the kernel instead of running it (window.h);
                                             NULL */
  char *warning;                          /* FNZ_WARNING_BYTES of room; NULL: no warnings */
  fnzi_krn_team *team;
  bool has_data; /* false on the meta backend */
  bool is_done;  /* the results are filled before it runs */
} fnzi_krn_call;

/* Position of a parameter by name; the kernel's schema must have it. */
static inline const fnz_arg *fnzi_krn_named(const fnzi_krn_call *call, const char *name) {
  int i = fnzi_op_param(call->op, name);
  return i < 0 ? NULL : &call->args[i];
}
/* Numbers by name; `fallback` when the schema lacks it or it is None. */
FNZI_SHARED int64_t fnzi_krn_named_int(const fnzi_krn_call *call, const char *name,
                                       int64_t fallback);
FNZI_SHARED double fnzi_krn_named_float(const fnzi_krn_call *call, const char *name,
                                        double fallback);
static inline bool fnzi_krn_named_bool(const fnzi_krn_call *call, const char *name, bool fallback) {
  return fnzi_krn_named_int(call, name, fallback) != 0;
}
/* The dtype given, or `fallback`. */
fnz_dtype fnzi_krn_named_dtype(const fnzi_krn_call *call, const char *name, fnz_dtype fallback);
/* The dtype given, or that of the tensor which the result is to be stored in, or `fallback`: for
 * operators that compute in the dtype of their out= argument. */
fnz_dtype fnzi_krn_dtype_target(const fnzi_krn_call *call, fnz_dtype fallback);
/* That of the tensor which the result is to be stored in, when it can hold `computed`; else that.
 */
fnz_dtype fnzi_krn_dtype_castable(const fnzi_krn_call *call, fnz_dtype computed);
/* "" when absent. */
const char *fnzi_krn_named_string(const fnzi_krn_call *call, const char *name);
/* A list of integers (or one integer) in scratch memory; *count 0 when absent or None. */
FNZ_MUST_CHECK FNZI_SHARED fnz_status fnzi_krn_named_ints(fnzi_krn_call *call, const char *name,
                                                          const int64_t **out, size_t *count);
/* Exactly `want` integers: a list of one is repeated, an absent or empty one gives `fallback`.
 * TYPE otherwise. */
FNZ_MUST_CHECK fnz_status fnzi_krn_named_ints_of(fnzi_krn_call *call, const char *name, size_t want,
                                                 int64_t fallback, int64_t *out);
/* Eager multiplies by the factor in its computing type: TYPE when the factor of this name, if there
 * is one, does not fit that type. */
FNZ_MUST_CHECK fnz_status fnzi_krn_factor_check(const fnzi_krn_call *call, const char *name,
                                                fnz_dtype compute);
/* Any number argument (INT, FLOAT, BOOL) as double or integer. */
FNZI_SHARED double fnzi_krn_number_float(const fnz_arg *arg);
int64_t fnzi_krn_number_int(const fnz_arg *arg);

/* The tensor at an argument; NULL when None. */
static inline fnzi_krn_array *fnzi_krn_arg_array(const fnz_arg *arg) {
  return arg && arg->tag == FNZ_ARG_VALUE ? fnzi_krn_array_of(arg->u.value) : NULL;
}
static inline fnzi_krn_array *fnzi_krn_call_input(const fnzi_krn_call *call, size_t i) {
  return fnzi_krn_arg_array(&call->args[i]);
}
static inline fnzi_krn_array *fnzi_krn_named_array(const fnzi_krn_call *call, const char *name) {
  return fnzi_krn_arg_array(fnzi_krn_named(call, name));
}
static inline const fnz_geometry *fnzi_krn_call_geometry(const fnzi_krn_call *call, size_t i) {
  fnzi_krn_array *array = fnzi_krn_call_input(call, i);
  return array ? &array->geometry : NULL;
}

/* fnzi_fail with "operator: " in front of the message. */
fnz_status fnzi_krn_call_refuse(const fnzi_krn_call *call, fnz_class kind, const char *format, ...)
    FNZI_PRINTF(3, 4);

/* Sets a warning of eager, with "operator: " in front; a later warning replaces an earlier one. */
void fnzi_krn_call_warn(const fnzi_krn_call *call, const char *format, ...) FNZI_PRINTF(2, 3);

/* --- For shape rules -------------------------------------------------------------------------- */
/* Appends a result.
 * strides NULL means row-major. */
FNZ_MUST_CHECK fnz_status fnzi_shape_add(fnzi_krn_call *call, fnz_dtype dtype, uint32_t rank,
                                         const int64_t *sizes, const int64_t *strides);
/* Appends a result with the sizes of `like`: eager's preserve_format (dense strides are kept). */
FNZ_MUST_CHECK fnz_status fnzi_shape_add_like(fnzi_krn_call *call, fnz_dtype dtype,
                                              const fnz_geometry *like);
/* Appends a result in the argument memory_format: channels last, else row-major. */
FNZ_MUST_CHECK fnz_status fnzi_shape_add_format(fnzi_krn_call *call, fnz_dtype dtype, uint32_t rank,
                                                const int64_t *sizes);
/* Common sizes of broadcasting; BOUNDS naming both sizes when there are none. `sizes` has room for
 * FNZ_MAX_RANK. */
FNZ_MUST_CHECK fnz_status fnzi_meta_broadcast(fnzi_krn_call *call,
                                              const fnz_geometry *const *inputs, size_t count,
                                              uint32_t *rank, int64_t *sizes);

/* OVERFLOW when result 0 cannot hold the number of this name; a tensor of this name is fine. */
FNZ_MUST_CHECK fnz_status fnzi_meta_number_check(const fnzi_krn_call *call, const char *name);
/* OVERFLOW for a number that eager cannot convert, as facts.def has it. The results are there. */
FNZ_MUST_CHECK fnz_status fnzi_meta_numbers_check(const fnzi_krn_call *call);
/* TYPE unless argument 0 is of a floating-point type: for rows whose results have others. */
FNZ_MUST_CHECK fnz_status fnzi_krn_float_check(const fnzi_krn_call *call);
/* Fails: the size of the result depends on data, there is no data, and no size is recorded. */
FNZ_MUST_CHECK fnz_status fnzi_krn_size_refuse(const fnzi_krn_call *call);

/* --- For kernels ------------------------------------------------------------------------------ */
/* Row-major elements of an array: its own memory when they lie so, else a copy in scratch memory.
 * Valid until the call ends. */
FNZ_MUST_CHECK fnz_status fnzi_krn_dense_get(fnzi_krn_call *call, const fnzi_krn_array *array,
                                             const void **out);
/* The same, converted to `dtype`. */
FNZ_MUST_CHECK fnz_status fnzi_krn_dense_get_as(fnzi_krn_call *call, const fnzi_krn_array *array,
                                                fnz_dtype dtype, const void **out);
/* Memory for the row-major elements of result k as `dtype`: the result's own when that fits, else
 * scratch that is converted and copied into the result when the kernel returns FNZ_OK. */
FNZ_MUST_CHECK fnz_status fnzi_krn_result_get_as(fnzi_krn_call *call, size_t k, fnz_dtype dtype,
                                                 void **out);

/* The same with channels last: the dimension before the `spatial` last ones lies innermost. */
FNZ_MUST_CHECK fnz_status fnzi_krn_channels_last_get_as(fnzi_krn_call *call,
                                                        const fnzi_krn_array *array,
                                                        uint32_t spatial, fnz_dtype dtype,
                                                        const void **out);
FNZ_MUST_CHECK fnz_status fnzi_krn_channels_last_result(fnzi_krn_call *call, size_t k,
                                                        uint32_t spatial, fnz_dtype dtype,
                                                        void **out);
/* Elements from pixel to pixel if elements lie so: the number of channels if there are no gaps,
 * more if the image is some channels of another one. 0: they lie otherwise. */
int64_t fnzi_krn_channels_last_pitch(const fnz_geometry *g, uint32_t spatial);
static inline bool fnzi_krn_has_channels_last(const fnz_geometry *g, uint32_t spatial) {
  const int64_t pitch = fnzi_krn_channels_last_pitch(g, spatial);
  return pitch && pitch == g->sizes[g->rank - 1 - spatial];
}

/* Copies the results that fnzi_krn_result_get_as() kept in scratch memory to where they belong. */
FNZ_MUST_CHECK FNZI_SHARED fnz_status fnzi_krn_results_finish(fnzi_krn_call *call);

/* False for f8e8m0fnu, which no kernel converts. */
bool fnzi_krn_can_convert(fnz_dtype to, fnz_dtype from);
/* Dtypes of elements, which lie `stride` bytes apart. */
typedef struct fnzi_krn_conversion {
  fnz_dtype to, from;
  int64_t to_stride, from_stride;
} fnzi_krn_conversion;
/* Converts `count` elements as eager does on x86. Does nothing when they cannot be converted. */
FNZI_SHARED void fnzi_krn_convert(const fnzi_krn_conversion *c, void *to, const void *from,
                                  int64_t count);
static inline void fnzi_krn_convert_one(fnz_dtype to, void *dst, fnz_dtype from, const void *src) {
  fnzi_krn_convert(&(fnzi_krn_conversion){to, from, 0, 0}, dst, src, 1);
}
/* The same where nothing was or will be computed: NaN of 16 bits keeps its payload on the way to
 * f32 and back, a signalling one too. */
void fnzi_krn_convert_kept(const fnzi_krn_conversion *c, void *to, const void *from, int64_t count);
/* Two windows of the same sizes, which must not overlap: strides in elements, cells of `cell`
 * bytes; `to` and `from` point at the element with all indices 0. */
typedef struct fnzi_krn_copy {
  uint32_t rank;
  const int64_t *sizes;
  void *to;
  const int64_t *to_strides;
  const void *from;
  const int64_t *from_strides;
  size_t cell;
} fnzi_krn_copy;
void fnzi_krn_copy_cells(const fnzi_krn_copy *copy, fnzi_krn_team *team);
/* A number as one element of `dtype` (16 bytes of room); COMPLEX too. */
void fnzi_krn_number_cell(const fnz_arg *number, fnz_dtype dtype, void *out);

/* Loops over several operands of one shape. `row` gets the operands' addresses and strides in bytes
 * for `count` elements; rows are split at fixed places, so results do not depend on threads. */
enum { FNZI_LOOP_OPERANDS = 8 };
typedef struct fnzi_krn_loop {
  uint32_t rank, operands;
  int64_t sizes[FNZ_MAX_RANK];
  int64_t strides[FNZI_LOOP_OPERANDS][FNZ_MAX_RANK]; /* bytes */
  char *data[FNZI_LOOP_OPERANDS];
} fnzi_krn_loop;
typedef void fnzi_row_fn(const void *user, char *const *data, const int64_t *strides,
                         int64_t count);
FNZI_SHARED void fnzi_krn_loop_start(fnzi_krn_loop *loop, uint32_t rank, const int64_t *sizes);
/* Adds an operand that broadcasts to the loop's sizes; strides in elements of `cell` bytes. */
void fnzi_krn_loop_add(fnzi_krn_loop *loop, const void *data, uint32_t rank, const int64_t *sizes,
                       const int64_t *strides, size_t cell);
static inline void fnzi_krn_loop_add_array(fnzi_krn_loop *loop, const fnzi_krn_array *a) {
  fnzi_krn_loop_add(loop, fnzi_krn_array_data(a), a->window.rank, a->window.sizes,
                    a->window.strides, a->cell);
}
/* Joins dimensions that can be, and moves the shortest strides inside; `ordered` keeps row-major
 * order. Afterwards there is at least one dimension. */
FNZI_SHARED void fnzi_krn_loop_normalise(fnzi_krn_loop *loop, bool ordered);
/* Does that and runs; `ordered`: on one thread. */
void fnzi_krn_loop_run(fnzi_krn_loop *loop, fnzi_row_fn *row, const void *user, fnzi_krn_team *team,
                       bool ordered);
/* Copies operand 1 to operand 0, cells of `cell` bytes that do not overlap, in any order. */
void fnzi_krn_loop_copy(fnzi_krn_loop *loop, size_t cell, fnzi_krn_team *team);

/* --- The table -------------------------------------------------------------------------------- */
typedef fnz_status fnzi_shape_fn(fnzi_krn_call *call);
typedef fnz_status fnzi_kernel_fn(fnzi_krn_call *call);

/* Source of the results' memory. */
typedef enum fnzi_krn_result_memory {
  FNZI_MEMORY_NEW,   /* allocated, not initialised */
  FNZI_MEMORY_POINT, /* as NEW, or that of a dying argument of the same dtype and layout */
  FNZI_MEMORY_BASE,  /* result 0 starts as the value of argument 0: in place when that dies */
  FNZI_MEMORY_VIEW   /* the kernel gives the results their storage */
} fnzi_krn_result_memory;

/* Which element types an operator takes: of the tensor arguments that are not indices or masks. */
typedef enum fnzi_krn_accepts {
  FNZI_ACCEPTS_ANY,      /* moves cells only */
  FNZI_ACCEPTS_STANDARD, /* bool u8 i8 i16 i32 i64 f16 bf16 f32 f64 c64 */
  FNZI_ACCEPTS_NUMBERS,  /* and c128 */
  FNZI_ACCEPTS_REAL,     /* STANDARD without c64 */
  FNZI_ACCEPTS_INTEGRAL, /* bool u8 i8 i16 i32 i64 */
  FNZI_ACCEPTS_FLOAT     /* f16 bf16 f32 f64 */
} fnzi_krn_accepts;

/* The kernels of operators, by name: they are functions of a backend (fnzi_krn_kernels). */
typedef enum fnzi_krn_run {
#define RUN(name, ...) FNZI_RUN_##name,
#include "kernels/runs.def"
#undef RUN
  FNZI_RUNS
} fnzi_krn_run;

/* Which of the operators that a kernel serves. */
typedef enum fnzi_krn_mode {
  FNZI_MODE_none,
  FNZI_MODE_mean, /* of `sum` */
  FNZI_MODE_sum,  /* of `reduce` and `scan`: rows of folds.def */
  FNZI_MODE_prod,
  FNZI_MODE_amax,
  FNZI_MODE_amin,
  FNZI_MODE_any,
  FNZI_MODE_all,
  FNZI_MODE_max, /* of `reduce`: amax and amin of a whole tensor; of `arg` and `extreme` */
  FNZI_MODE_min,
  FNZI_MODE_add,           /* of `index_write` and `scatter`: adds to the present elements */
  FNZI_MODE_ones,          /* of `create` */
  FNZI_MODE_range,         /* of `arange`: with its end */
  FNZI_MODE_feature,       /* of `dropout`: whole channels, */
  FNZI_MODE_alpha,         /* to the least activation of SELU, */
  FNZI_MODE_feature_alpha, /* or both */
  FNZI_MODE_lower,         /* of `triangle` and `triangle_places` */
  FNZI_MODE_upper,
  FNZI_MODE_reflection /* of `pad_image`; else the edge again and again */
} fnzi_krn_mode;

typedef struct fnzi_kernel {
  fnzi_shape_fn *shape; /* NULL where an operator has no row */
  uint8_t accepts;      /* fnzi_krn_accepts */
  uint8_t memory;       /* fnzi_krn_result_memory */
  uint8_t mode;         /* fnzi_krn_mode */
  uint16_t run;         /* fnzi_krn_run */
} fnzi_kernel;

/* Facts on a kernel for other modules: the columns of runs.def, by fnzi_krn_run. */
typedef enum fnzi_krn_access {
  FNZI_ACCESS_CALL,
  FNZI_ACCESS_VIEW,
  FNZI_ACCESS_SAME,
  FNZI_ACCESS_COPY,
  FNZI_ACCESS_DROPOUT,
  FNZI_ACCESS_SCATTER,
  FNZI_ACCESS_CAT,
  FNZI_ACCESS_STACK
} fnzi_krn_access;
typedef enum fnzi_krn_fails {
  FNZI_FAILS_MAYBE,
  FNZI_FAILS_NEVER,
  FNZI_FAILS_AS_POINT,
  FNZI_FAILS_WITH_TRUTHS,
  FNZI_FAILS_WITH_DROPOUT,
  FNZI_FAILS_WITHOUT_STATISTICS
} fnzi_krn_fails;
typedef enum fnzi_krn_tile {
  FNZI_TILE_NONE,
  FNZI_TILE_POINT,
  FNZI_TILE_WHERE,
  FNZI_TILE_MASKED_FILL,
  FNZI_TILE_CAST
} fnzi_krn_tile;
typedef enum fnzi_krn_takes { FNZI_TAKES_NONE, FNZI_TAKES_ELEMENT } fnzi_krn_takes;
typedef enum fnzi_krn_gpu {
  FNZI_GPU_cpu,
  FNZI_GPU_rows,
  FNZI_GPU_recorded,
  FNZI_GPU_drawn,
  FNZI_GPU_addbmm,
  FNZI_GPU_addmm,
  FNZI_GPU_attention,
  FNZI_GPU_batch_norm,
  FNZI_GPU_conv,
  FNZI_GPU_group_norm,
  FNZI_GPU_linear,
  FNZI_GPU_matmul,
  FNZI_GPU_vdot,
  FNZI_GPUS
} fnzi_krn_gpu;
typedef struct fnzi_krn_facts {
  uint8_t access, fails, tile, takes, gpu;
} fnzi_krn_facts;
extern FNZI_SHARED const fnzi_krn_facts fnzi_krn_runs[FNZI_RUNS];
static inline const fnzi_krn_facts *fnzi_kernel_facts(const fnzi_kernel *row) {
  return &fnzi_krn_runs[row->run];
}

/* KERNEL(operator, accepts, memory, shape rule, kernel): fnzi_shape_<rule>, FNZI_RUN_<kernel>;
 * MODE() with a FNZI_MODE_<mode> behind. */
#define KERNEL(op, accepts, memory, shape, run) fnzi_shape_fn fnzi_shape_##shape;
#include "kernels/kernels.def"
#undef KERNEL

/* The same for libraries' operators, which have names; their rows follow the rows of the operator
 * table. */
#define LIBRARY_KERNEL(name, accepts, memory, shape, run) fnzi_shape_fn fnzi_shape_##shape;
#include "kernels/library.def"
#undef LIBRARY_KERNEL
enum {
#define LIBRARY_KERNEL(name, accepts, memory, shape, run) FNZI_LIBRARY_##shape,
#include "kernels/library.def"
#undef LIBRARY_KERNEL
  FNZI_LIBRARY_KERNELS
};

/* The functions of a backend. */
struct fnzi_meta_point_code;
typedef bool fnzi_code_fn(const fnzi_krn_call *call, struct fnzi_meta_point_code *out);
struct fnzi_meta_row_code;
typedef bool fnzi_row_code_fn(fnzi_krn_call *call, struct fnzi_meta_row_code *out);
typedef struct fnzi_krn_kernels {
  const fnzi_kernel *rows;     /* by index in the operator table; then the rows of library.def */
  fnzi_kernel_fn *const *runs; /* by fnzi_krn_run; NULL for shapes only */
  fnzi_code_fn *code;          /* takes a pointwise call apart; NULL for shapes only */
  fnzi_row_code_fn *row_code;  /* the same of a call that goes by rows */
} fnzi_krn_kernels;

/* The operator's place in the table; false for a custom one. */
bool fnzi_meta_op_index(const fnz_op *op, size_t *out);
/* The row of an operator; NULL when it has none. */
FNZI_SHARED const fnzi_kernel *fnzi_kernel_find(const fnzi_krn_kernels *kernels, const fnz_op *op);

#endif
