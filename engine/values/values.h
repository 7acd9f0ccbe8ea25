/* values.h - the CUDA backend: values in the memory of a GPU, operator by operator.
 *
 * Shared memory, views, in-place forms, out=, warnings and errors work the same as on the CPU,
 * because kernels/eager/ decides them. For memory, moves of elements and results it calls the
 * functions of fnzi_krn_elsewhere, which this module implements. A call is a program of one node
 * (program.c). It is compiled for the GPU at the first call with these dtypes, sizes and strides,
 * and kept (table.c).
 *
 *   gpu.c       the functions of a GPU for the engine
 *   backend.c   the backend
 *   memory.c    its memory
 *   call.c      a call: which tensors it reads, which it writes, and its key
 *   scalars.c   its numbers, as operands of the program
 *   program.c   a call -> a program
 *   table.c     programs that are kept, compiled
 *   run.c       a call by its program
 *   by_cpu.c    a call by the CPU, on copies
 *   describe.c  what an operator is on a GPU
 *
 * One thread at a time uses a backend and its values, as any fnz_backend. Calls queue work on
 * v->stream and return; only reading, releasing memory and errors of data wait. Errors are in the
 * context of the call. */
#ifndef FNZI_VAL_VALUES_H
#define FNZI_VAL_VALUES_H

#include "engine/device/device.h"
#include "engine/engine.h"
#include "kernels/meta/point.h"

/* --- The backend ------------------------------------------------------------------------------ */
enum { FNZI_VAL_PROGRAMS = 256 }; /* programs at most */

/* A call that was made before. */
typedef struct fnzi_val_compiled {
  fnz_buffer key;
  fnz_program *program;
  fnz_executable *exe;
  fnz_workspace *ws;
  fnzi_meta_point_code code; /* scalars of the last call; arity 0: none is in the table */
  uint64_t used;
} fnzi_val_compiled;

typedef struct fnzi_val {
  const fnzi_stp_device *gpu;
  fnz_context *ctx;
  fnzi_cuda_device device;
  void *stream;
  char name[16];
  const char *cache; /* in the arena */
  fnzi_arena arena;
  int threads;
  fnz_backend *cpu;  /* computes calls that no program can, and provides the shapes of kernels */
  fnz_backend *base; /* the machine */
  void (*end_machine)(void *self);
  fnzi_krn_kernels kernels;
  fnzi_krn_elsewhere elsewhere;
  fnzi_val_compiled *compiled[FNZI_VAL_PROGRAMS];
  size_t ncompiled;
  uint64_t calls;
  int guarded;    /* times that guard() has entered the device */
  uint64_t block; /* scratch of all programs, which run one after the other */
  size_t block_bytes;
  bool is_behind; /* the stream may be busy: calls synchronize only to read results or to release
                     memory */
  fnzi_stp_addresses freed; /* freed blocks that wait for a synchronization */
  size_t freed_bytes;       /* bytes of these blocks */
} fnzi_val;

/* --- backend.c -------------------------------------------------------------------------------- */
/* backend_create of fnzi_stp_device */
fnz_status fnzi_val_create(const fnzi_stp_device *gpu, fnz_context *ctx, const char *name,
                           int threads, const char *cache, fnz_backend **out);

/* --- memory.c --------------------------------------------------------------------------------- */
/* fnzi_krn_elsewhere */
fnz_status fnzi_val_allocate(void *self, fnz_context *ctx, size_t bytes, unsigned char **out);
void fnzi_val_free(void *self, unsigned char *data, size_t bytes);
fnz_status fnzi_val_clear(void *self, fnz_context *ctx, unsigned char *data, size_t bytes);
fnz_status fnzi_val_copy(void *self, fnz_context *ctx, unsigned char *to, const unsigned char *from,
                         size_t bytes);
fnz_status fnzi_val_upload(void *self, fnz_context *ctx, unsigned char *to, const void *from,
                           size_t bytes);
fnz_status fnzi_val_download(void *self, fnz_context *ctx, void *to, const unsigned char *from,
                             size_t bytes);
/* Like fnzi_cuda_enter(). Fails with UNSUPPORTED if the backend only describes a kind of GPU. */
FNZ_MUST_CHECK fnz_status fnzi_val_enter(const fnzi_val *v, fnz_context *ctx);
/* Call after a failure: makes sure that the stream no longer uses memory that is freed. */
void fnzi_val_synchronize(fnzi_val *v);
/* fnzi_krn_elsewhere */
fnz_status fnzi_val_done(void *self, fnz_context *ctx);

/* --- call.c: a call --------------------------------------------------------------------------- */
/* A tensor that is read. */
typedef struct fnzi_val_input {
  const fnzi_krn_array *array;
  uint32_t value; /* of the program */
} fnzi_val_input;

/* A result. A *target* is existing memory: the program has it as a buffer with the result as final
 * value, so that the plan writes in place. */
typedef struct fnzi_val_output {
  fnzi_krn_array *array; /* NULL: undefined */
  bool is_target;
  uint32_t value;      /* of a target: its buffer */
  fnz_geometry window; /* of a target: from `base` on */
  uint64_t base;       /* an address at which kernels may begin */
  size_t bytes;
} fnzi_val_output;

typedef struct fnzi_val_call {
  fnzi_val *v;
  fnz_context *ctx;
  fnzi_arena *scratch;
  const fnz_op *op;
  const fnz_arg *args;
  fnzi_val_input *inputs;
  fnzi_val_output *outputs;
  uint32_t ninputs, noutputs, ntargets;
  const fnzi_meta_point_code *code; /* the row that computes it, with scalars as operands; NULL: the
                                       program depends on its scalars */
} fnzi_val_call;

/* `call` has v, ctx, scratch, op and args. */
FNZ_MUST_CHECK fnz_status fnzi_val_call_find(fnzi_val_call *call, fnzi_krn_array *const *outputs,
                                             size_t noutputs);
/* The value of the program that an argument is. */
uint32_t fnzi_val_call_value(const fnzi_val_call *call, const fnzi_krn_array *array);
/* Returns whether two targets of writes share bytes. */
bool fnzi_val_targets_overlap(const fnzi_krn_array *a, const fnzi_krn_array *b);
/* Everything that the program depends on. */
FNZ_MUST_CHECK fnz_status fnzi_val_call_key(const fnzi_val_call *call, fnz_buffer *out);

/* --- scalars.c -------------------------------------------------------------------------------- */
/* Finds call->code, after fnzi_val_call_find(). */
FNZ_MUST_CHECK fnz_status fnzi_val_call_code(fnzi_val_call *call);
/* For a call with code: appends its operands to the key, unusual scalars without values. */
FNZ_MUST_CHECK fnz_status fnzi_val_scalars_put(const fnzi_val_call *call, fnz_buffer *out);
/* Replaces the scalars of a kept program by the call's. Returns false if that is impossible. */
bool fnzi_val_scalars_set(const fnzi_val_call *call, fnzi_val_compiled *compiled);

/* --- program.c -------------------------------------------------------------------------------- */
/* The results of the operator can be results of a node: all are tensors, and one at most a list. */
bool fnzi_val_is_node(const fnz_op *op, size_t noutputs);
FNZ_MUST_CHECK fnz_status fnzi_val_program_make(const fnzi_val_call *call, fnz_program **out);

/* --- table.c ---------------------------------------------------------------------------------- */
/* Finds the program of a call, or compiles it. It lives until the next call of this function. */
FNZ_MUST_CHECK fnz_status fnzi_val_compiled_find(const fnzi_val_call *call,
                                                 fnzi_val_compiled **out);
void fnzi_val_compiled_end_all(fnzi_val *v);

/* --- run.c ------------------------------------------------------------------------------------ */
/* fnzi_krn_elsewhere */
fnz_status fnzi_val_assign(void *self, fnz_context *ctx, const fnzi_krn_array *to,
                           const fnzi_krn_array *from);
fnz_status fnzi_val_run(void *self, fnzi_krn_call *call);

/* --- by_cpu.c --------------------------------------------------------------------------------- */
/* fnzi_krn_elsewhere */
fnz_status fnzi_val_by_cpu(void *self, fnzi_krn_call *call);
/* The same with new results, *count of them; `results` has capacity for call->capacity. */
FNZ_MUST_CHECK fnz_status fnzi_val_results_by_cpu(fnzi_val *v, const fnzi_krn_call *call,
                                                  fnzi_krn_array **results, size_t *count);

/* --- describe.c ------------------------------------------------------------------------------- */
const char *fnzi_val_describe(const fnz_op *op, bool is_window);

#endif
