/* device.h - a plan on a GPU: which steps run there, which on the CPU, and the copies between.
 *
 *   text.c                              steps of a binding -> works: launches, calls of libraries
 *   other_sizes.c                       sizes that are constants of kernels
 *   work.c, lower.c                     shared code; calls the GPU lowering of a kernel:
 *   sets.c                              steps that run at once
 *   record.c                            moves of elements, and formulas per element
 *   lower_rows.c, lower_norms.c         operators that compute rows, with
 *   row_codes.c, row_pieces.c, rows.c   the parts of such kernels
 *   product.c, conv.c, attention.c      the other operators
 *   library.c                           libraries for products, convolutions and attention
 *   plan.c                              works -> the place of each step, and its copies
 *   flag.c                              data out of bounds: the state is not changed
 *   memory.c, state.c, caller_memory.c  addresses of buffers; the state; memory of the caller
 *   small.c                             small buffers that are copied together
 *   launch.c, graph.c                   launches with addresses; graphs of launches
 *   run.c                               one run
 *   print.c                             prints works and copies
 *
 * Every buffer has memory on the device, and the device has the current values. If a step has no
 * kernel, the CPU computes it in the memory that it would use without a device. Before the step its
 * operands are copied to the CPU, unless they are known to be there. After it its results are
 * copied back, if a step on the device reads them.
 *
 * fnzi_dev_bind() makes a fnzi_dev_binding in the arena of its binding; fnzi_dev_unbind() frees its
 * kernels and memory on the device. The thread that has the workspace calls all functions,
 * between fnzi_cuda_enter() and fnzi_cuda_leave() except for the entries of fnzi_stp_device, which
 * enter the device themselves. Bytes and offsets are in bytes. Errors of the driver are INTERNAL
 * and may break the device for good (fnzi_cuda_is_broken()); NOMEM is its or the CPU's memory. */
#ifndef FNZI_DEV_H
#define FNZI_DEV_H

#include "engine/cuda/graph.h"
#include "engine/bind/bind.h"
#include "engine/steps/device.h"

/* --- plan.c */
typedef struct fnzi_dev_placement {
  bool on_host;
  uint32_t before, after; /* count of values copied to the CPU before it, and back after it */
  uint32_t *values;       /* first the values copied before, then the values copied after */
} fnzi_dev_placement;

typedef struct fnzi_dev_schedule {
  fnzi_dev_placement *steps; /* per step of the plan */
  uint32_t *outputs;         /* outputs of graph 0 that are copied to the CPU at the end */
  uint32_t noutputs;
  bool *host_reads; /* per constant buffer: the CPU needs it */
} fnzi_dev_schedule;

/* Chooses where each step runs. `on_device` per step: it has a kernel. `stays` per output of graph
 * 0: the CPU does not need it. */
FNZ_MUST_CHECK fnz_status fnzi_dev_schedule_find(fnzi_arena *arena, const fnzi_pln_plan *plan,
                                                 const bool *on_device, const bool *stays,
                                                 fnzi_dev_schedule *out);
/* Computes the range of bytes of a window in its buffer. *dense: the window has no gaps in it. */
void fnzi_dev_window_bytes(const fnz_geometry *map, int64_t *start, int64_t *bytes, bool *dense);

/* --- A binding on a device */
/* Marks in place of a buffer: the area where windows with gaps are packed, scratch of a step, and
 * the error flag of 16 bytes, which is zero before a run. */
#define FNZI_DEV_AT_STAGING FNZI_PLN_NONE
#define FNZI_DEV_AT_SCRATCH (FNZI_PLN_NONE - 1u)
#define FNZI_DEV_AT_FLAG    (FNZI_PLN_NONE - 2u)
/* The tables of sets; no address, but a scalar. */
#define FNZI_DEV_AT_TABLES  (FNZI_PLN_NONE - 3u)
#define FNZI_DEV_AT_NOTHING (FNZI_PLN_NONE - 4u)
/* No addresses: the seed of the generator, and its offset, to which the operand's offset is added.
 */
#define FNZI_DEV_AT_SEED   (FNZI_PLN_NONE - 6u)
#define FNZI_DEV_AT_OFFSET (FNZI_PLN_NONE - 7u)
/* Data-dependent scalars, which groups read (taken.c). */
#define FNZI_DEV_AT_SCALARS (FNZI_PLN_NONE - 5u)
/* Returns the buffer or the mark of a storage of the binding, or FNZI_PLN_NONE. */
static inline uint32_t fnzi_dev_memory_of(const fnzi_stp_binding *b,
                                          const fnzi_krn_storage *storage) {
  return storage == &b->scalar_cells ? FNZI_DEV_AT_SCALARS : fnzi_stp_buffer_of(b, storage);
}

/* Queues a call of a library on a stream. `what`: its descriptors, made with the step. */
typedef fnz_status fnzi_dev_library_call(fnz_context *ctx, const fnzi_cuda_device *device,
                                         const void *what, const uint64_t *addresses, void *stream);

typedef struct fnzi_dev_launch {
  uint32_t kernel, noperands;
  int64_t count;           /* elements or rows of the kernel's grid (text.h); 0: nothing to do */
  const uint32_t *buffers; /* per operand: its buffer, or a mark */
  int64_t *offsets;        /* per operand: bytes from the start of its buffer */
  const int64_t *sizes;    /* the kernel's table of sizes; NULL: none */
  const uint16_t *slots;   /* of a call on values: operands that are scalars of a group */
  uint32_t nslots;
  fnzi_dev_library_call *call; /* NULL: a kernel is launched */
  const void *descriptors;
} fnzi_dev_launch;

/* The work of the device for a step. */
typedef struct fnzi_dev_work {
  fnzi_dev_launch *launches; /* in order */
  uint32_t nlaunches;
  bool on_device;  /* false: the CPU computes it */
  size_t scratch;  /* bytes */
  uint64_t draws;  /* numbers by which it advances the generator */
  uint64_t drawn;  /* the sum of `draws` of steps since the last step of the CPU, with its own */
  const char *why; /* reason for the CPU; NULL: the operator has no GPU lowering */
  const char *library; /* on the device: the library, or why no library; NULL: none is needed */
} fnzi_dev_work;

typedef struct fnzi_dev_libraries fnzi_dev_libraries;

/* A copy between CPU and device. A window with gaps is packed row-major in the staging area. */
typedef struct fnzi_dev_transfer {
  uint32_t buffer;
  int64_t start, bytes; /* of a dense window in the buffer, of other windows in the staging area */
  bool dense;
  fnzi_dev_work pack, unpack;
  const fnz_geometry *map, *rows; /* of a window with gaps: its layout, and the packed one */
} fnzi_dev_transfer;

/* A launch of a stretch. */
typedef struct fnzi_dev_captured {
  const fnzi_dev_launch *launch;
  uint64_t *addresses;   /* of its operands in the graph */
  void *node;            /* of the graph; NULL: it cannot be changed */
  bool is_outside;       /* a library call whose memory changes: it is in no graph */
  size_t count;          /* launches of the part of the stretch that starts here; 0: no part does */
  fnzi_cuda_graph graph; /* of the part; none if it is one launch */
} fnzi_dev_captured;

/* Steps first..end - 1, with no step of the CPU between them. They are one graph, or several if
 * memory of a library call changes. */
typedef struct fnzi_dev_stretch {
  size_t first, end;
  uint32_t nlaunches;
  uint32_t ndraws; /* operands with the offset of the generator */
  fnzi_dev_captured *launches;
  uint64_t version; /* the version of the binding's addresses that the graphs have */
  uint8_t kind;
  uint8_t missed, recaptures; /* consecutive runs that could not use the graph; times that it
                                 was therefore captured again */
} fnzi_dev_stretch;

/* Operands of sets of steps that run at once, in memory that their kernels read. */
typedef struct fnzi_dev_tables {
  uint32_t *buffers; /* per word: the buffer of its address, or AT_NOTHING */
  int64_t *offsets;  /* per word: the offset in the buffer, or the scalar */
  size_t count;
  uint64_t *words;  /* of the last run */
  bool is_current;  /* the device's memory has the words */
  uint64_t address; /* address of that memory; 0: none yet */
} fnzi_dev_tables;

/* Small inputs and outputs and the flag, in adjacent memory (small.c). */
typedef struct fnzi_dev_small {
  size_t start, inputs_end, end; /* in the workspace's memory on the device: inputs, then outputs */
  bool *has;                     /* per buffer: it is small */
  bool any_output, is_downloaded; /* some are outputs; the CPU needs some in this run */
} fnzi_dev_small;

typedef struct fnzi_dev_binding {
  const fnzi_cuda_device *device;
  fnzi_dev_schedule schedule;
  fnzi_cuda_program program;
  fnzi_dev_libraries *libraries; /* NULL: no step calls a library */
  fnzi_dev_work *works;          /* per step */
  fnzi_dev_transfer **transfers; /* per value; NULL: not copied */
  fnzi_dev_transfer *outputs;    /* per output of the route */
  fnzi_dev_tables tables;
  uint64_t drawn_from; /* the offset of the generator after the last step of the CPU */
  fnzi_dev_small small;
  bool *used;                    /* per buffer: some kernel or copy uses it */
  uint64_t *addresses;           /* per buffer: its address in this run */
  uint64_t *last_addresses;      /* per buffer: its address in the run before */
  uint64_t last_block;           /* the workspace's memory in the run before */
  uint64_t version;              /* how often any of these changed */
  size_t *own;                   /* per buffer of the workspace: offset in its memory */
  size_t bytes;                  /* of the workspace's memory on the device: temporaries, results,
                                    inputs, the kept state, and the following offsets in it */
  size_t staging, staging_bytes; /* the staging area */
  size_t scratch, scratch_bytes; /* scratch of steps */
  size_t scalars;                /* data-dependent scalars */
  size_t flag;                   /* the error flag */
  size_t *saved;                 /* per buffer of the state that is kept before a run: offset */
  bool has_device_steps;         /* some step runs on the device */
  bool has_host_steps;           /* some step runs on the CPU */
  size_t first_writes;           /* the first step that writes to the state there; SIZE_MAX */
  bool has_flag;                 /* some step may set the flag */
  fnzi_dev_stretch **stretches;  /* per step: the stretch that starts there; NULL: none */
} fnzi_dev_binding;

enum {
  FNZI_DEV_OPERANDS = 97, /* the most of a kernel: the lanes of a group, and the flag */
  FNZI_DEV_ALIGNED = 16,  /* bytes that kernels load at a time: memory of a caller that is not
                             aligned to it is copied */
  FNZI_DEV_APART = 256,   /* bytes: buffers start at multiples of it */
  FNZI_DEV_FLAG = 16      /* bytes */
};

/* Appends `bytes` to an area that ends at *end: finds their offset, a multiple of `align`. Returns
 * false if the sum overflows. */
static inline bool fnzi_dev_reserve(size_t align, size_t bytes, size_t *offset, size_t *end) {
  size_t rest = *end % align;
  *offset = *end + (rest ? align - rest : 0);
  return fnzi_add_size(*offset, bytes, end) && *end < SIZE_MAX / 4;
}

/* --- state.c: functions of fnzi_stp_device, and: */
/* Allocates its memory on the CPU, without values. */
FNZ_MUST_CHECK fnz_status fnzi_dev_state_allocate(fnz_context *ctx, const fnz_executable_state *s);
/* Call before and after a run. */
FNZ_MUST_CHECK fnz_status fnzi_dev_state_fill(fnz_workspace *ws, fnzi_stp_binding *b);
FNZ_MUST_CHECK fnz_status fnzi_dev_state_ran(fnz_workspace *ws);

/* --- library.c: descriptors of libraries for the steps of a binding */
void fnzi_dev_library_end(fnzi_dev_binding *d);

/* --- text.c, other_sizes.c */
FNZ_MUST_CHECK fnz_status fnzi_dev_texts(fnz_workspace *ws, fnzi_stp_binding *b);
void fnzi_dev_sizes_end(fnz_workspace *ws);

/* --- memory.c */
FNZ_MUST_CHECK fnz_status fnzi_dev_layout(fnz_workspace *ws, fnzi_stp_binding *b);
/* Finds the addresses of all buffers in a run, and copies missing values to the device. */
FNZ_MUST_CHECK fnz_status fnzi_dev_upload(fnz_workspace *ws, fnzi_stp_binding *b);
/* Restores the state after a failed run. */
FNZ_MUST_CHECK fnz_status fnzi_dev_undo(fnz_workspace *ws, const fnzi_stp_binding *b);

/* --- small.c: one copy in each direction */
/* `is_input` per buffer: the run copies it to the device. Returns false if sizes overflow. */
bool fnzi_dev_small_layout(fnzi_stp_binding *b, const bool *is_input);
FNZ_MUST_CHECK fnz_status fnzi_dev_small_open(fnz_workspace *ws, const fnzi_stp_binding *b);
/* Says that the buffer is a result that is copied back with the flag. */
bool fnzi_dev_small_is_output(const fnzi_stp_binding *b, uint32_t buffer);
/* Returns the memory of the CPU for offset `offset` of the workspace's memory on the device. */
unsigned char *fnzi_dev_small_at(const fnz_workspace *ws, const fnzi_stp_binding *b, size_t offset);
/* Copies inputs to the device, if `any_input`. */
FNZ_MUST_CHECK fnz_status fnzi_dev_small_up(fnz_workspace *ws, fnzi_stp_binding *b, bool any_input);
/* Call after a run that succeeded. */
void fnzi_dev_small_ran(fnz_workspace *ws, const fnzi_stp_binding *b);
/* Copies the flag and outputs; the caller waits for them, and checks the flag. */
FNZ_MUST_CHECK fnz_status fnzi_dev_small_down(fnz_workspace *ws, const fnzi_stp_binding *b);
uint32_t fnzi_dev_small_flag(const fnz_workspace *ws, const fnzi_stp_binding *b);

/* --- caller_memory.c: memory of the device that the caller gives to a run */
void fnzi_dev_results_end(fnz_workspace *ws);

/* --- sets.c */
/* Writes the addresses of a run to the tables. The run sets `holds` at its end. */
FNZ_MUST_CHECK fnz_status fnzi_dev_tables_fill(fnz_workspace *ws, fnzi_stp_binding *b);
void fnzi_dev_tables_end(fnzi_dev_binding *d);

/* --- launch.c: an address in this run; addresses of operands; a launch; all launches of a work */
uint64_t fnzi_dev_address(const fnz_workspace *ws, const fnzi_stp_binding *b, uint32_t buffer,
                          int64_t offset);
void fnzi_dev_addresses(const fnz_workspace *ws, const fnzi_stp_binding *b,
                        const fnzi_dev_launch *launch, uint64_t *out);
/* A launch of a kernel with operands at these addresses. */
fnzi_cuda_start fnzi_dev_start_of(const fnzi_stp_binding *b, const fnzi_dev_launch *l,
                                  uint64_t *addresses);
FNZ_MUST_CHECK fnz_status fnzi_dev_launch_run(fnz_workspace *ws, const fnzi_stp_binding *b,
                                              const fnzi_dev_launch *launch, uint64_t *addresses);
FNZ_MUST_CHECK fnz_status fnzi_dev_work_run(fnz_workspace *ws, const fnzi_stp_binding *b,
                                            const fnzi_dev_work *work);
/* Returns the binding of a workspace if it has only one, with one node and one launch of this row
 * of point.def; else NULL. */
const fnzi_stp_binding *fnzi_dev_point_binding(const fnz_workspace *ws, const char *row);

/* --- graph.c */
FNZ_MUST_CHECK fnz_status fnzi_dev_stretches_find(fnzi_stp_binding *b);
void fnzi_dev_stretches_end(fnzi_stp_binding *b);
FNZ_MUST_CHECK fnz_status fnzi_dev_stretch_run(fnz_workspace *ws, const fnzi_stp_binding *b,
                                               fnzi_dev_stretch *stretch);

/* --- Functions of fnzi_stp_device: memory.c, run.c, print.c, caller_memory.c, state.c */
FNZ_MUST_CHECK fnz_status fnzi_dev_open(fnz_executable *exe, fnz_context *holder, const char *name,
                                        const char *cache);
void fnzi_dev_end(fnz_executable *exe);
void fnzi_dev_workspace_end(fnz_workspace *ws);
FNZ_MUST_CHECK fnz_status fnzi_dev_bind(fnz_workspace *ws, fnzi_stp_binding *b);
void fnzi_dev_unbind(fnz_workspace *ws, fnzi_stp_binding *b);
FNZ_MUST_CHECK fnz_status fnzi_dev_ready(fnz_workspace *ws, const fnzi_stp_binding *b, bool *runs);
FNZ_MUST_CHECK fnz_status fnzi_dev_run(fnz_workspace *ws, fnzi_stp_binding *b, bool *flagged);
FNZ_MUST_CHECK fnz_status fnzi_dev_print(fnz_context *ctx, const fnzi_stp_binding *b,
                                         fnz_buffer *out);
void fnzi_dev_print_json(fnzi_json_out *w, const fnzi_stp_binding *b);
FNZ_MUST_CHECK fnz_status fnzi_dev_check(fnz_workspace *ws, const char *name, const void *data,
                                         uint64_t *known);
FNZ_MUST_CHECK fnz_status fnzi_dev_memory_find(fnz_workspace *ws, const fnzi_stp_binding *b,
                                               bool all);
bool fnzi_dev_is_direct(const fnz_workspace *ws, const fnzi_stp_binding *b, uint32_t k);
FNZ_MUST_CHECK fnz_status fnzi_dev_put(fnz_workspace *ws, const void *from, size_t bytes,
                                       uint64_t *address);
FNZ_MUST_CHECK fnz_status fnzi_dev_state_make(fnz_executable_state *s, bool is_given);
void fnzi_dev_state_end(fnz_executable_state *s);
FNZ_MUST_CHECK fnz_status fnzi_dev_state_down(fnz_context *ctx, const fnz_executable_state *s);
FNZ_MUST_CHECK fnz_status fnzi_dev_state_up(fnz_context *ctx, const fnz_executable_state *s,
                                            bool shows);

#endif
