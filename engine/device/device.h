/* device.h - a plan on a GPU: which steps run there, which on the CPU, and what is copied between.
 *
 *   text.c                             steps of a binding -> works: launches, calls of libraries
 *   met.c                              sizes that kernels have as constants
 *   work.c, by_way.c                   what works share; kernels go by ways (ways.def):
 *   sets.c                             steps that run at once
 *   record.c                           what moves elements, or computes each by itself
 *   row_ways.c, norm_ways.c            what goes by rows, by
 *   row_codes.c, row_pieces.c, rows.c  what such kernels are made of
 *   product.c, conv.c, attention.c     the rest
 *   library.c                          libraries that those call
 *   plan.c                             works -> where each step runs, what is copied for it
 *   flag.c                             places out of bounds: the state stays as it was
 *   room.c, state.c, given.c           where buffers lie; the state; what a run is given
 *   small.c                            what goes between the memories in one copy
 *   launch.c, graph.c                  launches with addresses; stretches of them
 *   run.c                              one run
 *   tell.c                             all that as text
 *
 * Every buffer has memory on the device, and the truth is there. A step that no kernel is made for
 * is computed by the CPU in the memory that it would have without a device: before it what it reads
 * is copied there, unless that is known to be there, after it what it has written is copied back,
 * if something on the device reads it. */
#ifndef FNZI_DEV_H
#define FNZI_DEV_H

#include "engine/cuda/graph.h"
#include "engine/bind/bind.h"

/* --- plan.c */
typedef struct fnzi_dev_where {
  bool on_host;
  uint32_t before, after; /* how many values are copied to the CPU before it, and back after it: */
  uint32_t *values;       /* those, then these */
} fnzi_dev_where;

typedef struct fnzi_dev_route {
  fnzi_dev_where *steps; /* per step of the plan */
  uint32_t *outputs;     /* of graph 0, that are copied to the CPU at the end */
  uint32_t noutputs;
  bool *host_reads; /* per constant buffer: the CPU has to have it */
} fnzi_dev_route;

/* `on_device` per step: there is a kernel for it. `stays` per output of graph 0: it is not needed
 * on the CPU. */
FNZ_MUST_CHECK fnz_status fnzi_dev_route_find(fnzi_arena *arena, const fnzi_pln_plan *plan,
                                              const bool *on_device, const bool *stays,
                                              fnzi_dev_route *out);
/* The bytes that a window lies within, from the start of its buffer. *dense: it is all of them. */
void fnzi_dev_window_bytes(const fnz_geometry *map, int64_t *start, int64_t *bytes, bool *dense);

/* --- A binding on a device */
/* In place of a buffer: the area that windows with gaps go by, memory of the step, and the flag:
 * 16 bytes, zero before a run. */
#define FNZI_DEV_AT_STAGING FNZI_PLN_NONE
#define FNZI_DEV_AT_SCRATCH (FNZI_PLN_NONE - 1u)
#define FNZI_DEV_AT_FLAG    (FNZI_PLN_NONE - 2u)
/* The tables of sets; and no address at all, but a number. */
#define FNZI_DEV_AT_TABLES  (FNZI_PLN_NONE - 3u)
#define FNZI_DEV_AT_NOTHING (FNZI_PLN_NONE - 4u)
/* No addresses either: the seed of the generator, and its offset, plus what is added to an address.
 */
#define FNZI_DEV_AT_SEED   (FNZI_PLN_NONE - 6u)
#define FNZI_DEV_AT_OFFSET (FNZI_PLN_NONE - 7u)
/* Numbers that data decide, which groups read (taken.c). */
#define FNZI_DEV_AT_TAKEN (FNZI_PLN_NONE - 5u)
/* The buffer, or the mark, that a storage of the binding is; FNZI_PLN_NONE for what is neither. */
static inline uint32_t fnzi_dev_memory_of(const fnzi_stp_binding *b,
                                          const fnzi_krn_storage *storage) {
  return storage == &b->taken ? FNZI_DEV_AT_TAKEN : fnzi_stp_buffer_of(b, storage);
}

/* Of a library, on a stream. `what`: what was made for it when the step was. */
typedef fnz_status fnzi_dev_library_call(fnz_context *ctx, const fnzi_cuda_device *device,
                                         const void *what, const uint64_t *addresses, void *stream);

typedef struct fnzi_dev_launch {
  uint32_t kernel, noperands;
  int64_t count; /* of what the kernel's grid goes by (text.h); 0: there is nothing to do */
  const uint32_t *buffers; /* per operand, or a mark; */
  int64_t *offsets;        /* and where it lies there, in bytes */
  const int64_t *numbers;  /* the kernel's table; NULL: it has none */
  const uint16_t *slots;   /* of a call on values: those that are numbers of a group */
  uint32_t nslots;
  fnzi_dev_library_call *call; /* NULL: the kernel */
  const void *what;
} fnzi_dev_launch;

/* What the device does for a step. */
typedef struct fnzi_dev_work {
  fnzi_dev_launch *launches; /* in order */
  uint32_t nlaunches;
  bool on_device;  /* false: the CPU computes it */
  size_t scratch;  /* bytes */
  uint64_t draws;  /* by how much it moves the offset of the generator; with the steps before it, */
  uint64_t drawn;  /* from the last one of the CPU on */
  const char *why; /* on the CPU; NULL: nothing of a GPU computes its operator */
  const char *by; /* on the device: a library, or why none; NULL: kernels, and none is looked for */
} fnzi_dev_work;

typedef struct fnzi_dev_libraries fnzi_dev_libraries;

/* A window that has gaps goes by the staging area, where its elements are row-major. */
typedef struct fnzi_dev_transfer {
  uint32_t buffer;
  int64_t start, bytes; /* of a dense one in the buffer; of another one in the staging area */
  bool dense;
  fnzi_dev_work pack, unpack;
  const fnz_geometry *map, *rows; /* of one with gaps: as it lies, and packed */
} fnzi_dev_transfer;

/* A launch of a stretch. */
typedef struct fnzi_dev_captured {
  const fnzi_dev_launch *launch;
  uint64_t *addresses;   /* of its operands, as the graph has them */
  void *node;            /* NULL: it has none that may be changed */
  bool is_apart;         /* a library's, whose memory moves: it is in no graph */
  size_t count;          /* a part of the stretch begins here, of so many launches; 0: none does */
  fnzi_cuda_graph graph; /* of the part; none where it is one launch */
} fnzi_dev_captured;

/* Steps first..end - 1, with no step of the CPU between them, as one graph, or as few where a
 * library's memory moves. */
typedef struct fnzi_dev_stretch {
  size_t first, end;
  uint32_t nlaunches;
  uint32_t ndraws; /* operands that say where the generator is */
  fnzi_dev_captured *launches;
  uint64_t version; /* of the binding's addresses: these are of that one */
  uint8_t kind;
  uint8_t missed, recaptures; /* runs in a row that the graph was of no use for; times that this
                                 made it anew */
} fnzi_dev_stretch;

/* Operands of sets of steps that run at once, where their kernels read them. */
typedef struct fnzi_dev_tables {
  uint32_t *buffers; /* per word: what its address is in, or AT_NOTHING; */
  int64_t *offsets;  /* and where there, or the number that it is */
  size_t count;
  uint64_t *words; /* those of the last run; */
  bool holds;      /* the device's memory has them, */
  uint64_t at;     /* which lies there; 0: there is none yet */
} fnzi_dev_tables;

/* Small inputs and outputs, and the flag, which lie side by side (small.c). */
typedef struct fnzi_dev_small {
  size_t start, inputs_end, end; /* in the workspace's memory on the device: inputs, and the rest */
  bool *has;                     /* per buffer: it is one of those */
  bool any_output, comes_back;   /* some are outputs; of this run some are the CPU's */
} fnzi_dev_small;

typedef struct fnzi_dev_binding {
  const fnzi_cuda_device *device;
  fnzi_dev_route route;
  fnzi_cuda_program program;
  fnzi_dev_libraries *libraries; /* NULL: no step calls one */
  fnzi_dev_work *works;          /* per step */
  fnzi_dev_transfer **transfers; /* per value; NULL: none is needed */
  fnzi_dev_transfer *outputs;    /* per output of the route */
  fnzi_dev_tables tables;
  uint64_t drawn_from; /* the offset of the generator behind the last step of the CPU */
  fnzi_dev_small small;
  bool *used;                    /* per buffer: some kernel or copy reaches it */
  uint64_t *at;                  /* per buffer: its address in this run */
  uint64_t *at_last;             /* the same of the run before, */
  uint64_t block_last;           /* the workspace's memory then, */
  uint64_t version;              /* and how often any of that changed */
  size_t *own;                   /* per buffer that is the workspace's: where there */
  size_t bytes;                  /* of the workspace's memory on the device: temporaries, results,
                                    inputs, what the state held before, */
  size_t staging, staging_bytes; /* the staging area, */
  size_t scratch, scratch_bytes; /* memory of steps, */
  size_t taken;                  /* numbers that data decide, */
  size_t flag;                   /* and the flag */
  size_t *kept;                  /* per buffer of the state that is kept before a run: where */
  bool runs;                     /* some step runs on the device, */
  bool by_cpu;                   /* and some on the CPU */
  size_t first_writes;           /* the first step that writes to the state there; SIZE_MAX */
  bool has_flag;                 /* and some may set the flag */
  fnzi_dev_stretch **stretches;  /* per step: the stretch that begins there; NULL: none */
} fnzi_dev_binding;

enum {
  FNZI_DEV_OPERANDS = 97, /* of a kernel at most: the lanes of a group, and the flag */
  FNZI_DEV_ALIGNED = 16,  /* bytes that kernels move at a time: memory of a caller lies so,
                                    or is copied */
  FNZI_DEV_APART = 256,   /* bytes, from one buffer to the next */
  FNZI_DEV_FLAG = 16      /* bytes */
};

/* --- A state on a device */
typedef struct fnzi_dev_state {
  uint64_t *at;  /* per input that is the first of its memory: where it lies; 0: nowhere yet */
  size_t *bytes; /* of those */
  bool is_shown; /* the caller has the CPU's memory, reads and writes it: it is brought up to date
                    after each run and copied before the next one */
  bool is_there; /* the caller has the device's, which what the CPU computes is copied to, */
  bool is_given; /* and it is the caller's: the CPU has none before it is needed */
  bool host_newer, device_newer;
  void *stream; /* what works with it is put there; NULL: nothing is at work but in a run */
  bool is_lost; /* it could not be restored after a run that failed: nothing runs with it */
} fnzi_dev_state;

/* --- state.c */
FNZ_MUST_CHECK fnz_status fnzi_dev_state_make(fnz_executable_state *s);
/* Of a state over memory of the device, which s->starts have. */
FNZ_MUST_CHECK fnz_status fnzi_dev_state_given(fnz_executable_state *s);
/* The CPU has memory for it, of whatever is in it. */
FNZ_MUST_CHECK fnz_status fnzi_dev_state_room(fnz_context *ctx, const fnz_executable_state *s);
/* All of it lies on the device, filled, for the caller to look at. */
FNZ_MUST_CHECK fnz_status fnzi_dev_state_show(fnz_executable_state *s);
/* What the CPU has computed, or read, is there where the caller looks. */
FNZ_MUST_CHECK fnz_status fnzi_dev_state_settle(fnz_context *ctx, const fnz_executable_state *s);
void fnzi_dev_state_end(fnz_executable_state *s);
/* The CPU's memory has what the device's has. */
FNZ_MUST_CHECK fnz_status fnzi_dev_state_down(fnz_context *ctx, const fnz_executable_state *s);
/* Before and after a run. */
FNZ_MUST_CHECK fnz_status fnzi_dev_state_up(fnz_workspace *ws, fnzi_stp_binding *b);
FNZ_MUST_CHECK fnz_status fnzi_dev_state_ran(fnz_workspace *ws);

/* --- library.c: what libraries keep for the steps of a binding */
void fnzi_dev_library_end(fnzi_dev_binding *d);

/* --- text.c; met.c: what it keeps in a workspace */
FNZ_MUST_CHECK fnz_status fnzi_dev_texts(fnz_workspace *ws, fnzi_stp_binding *b);
void fnzi_dev_met_end(fnz_workspace *ws);

/* --- room.c */
/* "cpu" and NULL open none. `holder`: run.h has it. */
FNZ_MUST_CHECK fnz_status fnzi_dev_open(fnz_executable *exe, fnz_context *holder, const char *name,
                                        const char *cache);
void fnzi_dev_end(fnz_executable *exe);
FNZ_MUST_CHECK fnz_status fnzi_dev_place(fnz_workspace *ws, fnzi_stp_binding *b);
void fnzi_dev_room_end(fnz_workspace *ws);
/* Addresses of all buffers in a run; what the device does not hold yet is copied there. */
FNZ_MUST_CHECK fnz_status fnzi_dev_fill(fnz_workspace *ws, fnzi_stp_binding *b);
/* What a failed run has written to the state is as it was. */
FNZ_MUST_CHECK fnz_status fnzi_dev_undo(fnz_workspace *ws, const fnzi_stp_binding *b);

/* --- small.c: what goes in one copy each way */
/* `is_input` per buffer: the run copies it there. False: too much memory. */
bool fnzi_dev_small_place(fnzi_stp_binding *b, const bool *is_input);
FNZ_MUST_CHECK fnz_status fnzi_dev_small_open(fnz_workspace *ws, const fnzi_stp_binding *b);
/* The buffer is a result that comes back with the flag; inputs do not, though they went small. */
bool fnzi_dev_small_comes(const fnzi_stp_binding *b, uint32_t buffer);
/* With the CPU: what lies at `at` in the workspace's memory on the device. */
unsigned char *fnzi_dev_small_at(const fnz_workspace *ws, const fnzi_stp_binding *b, size_t at);
/* Inputs are there, or the device has them. */
FNZ_MUST_CHECK fnz_status fnzi_dev_small_up(fnz_workspace *ws, fnzi_stp_binding *b, bool any_input);
/* After a run that ended well. */
void fnzi_dev_small_ran(fnz_workspace *ws, const fnzi_stp_binding *b);
/* The flag and outputs; the caller waits, and looks at the flag. */
FNZ_MUST_CHECK fnz_status fnzi_dev_small_down(fnz_workspace *ws, const fnzi_stp_binding *b);
uint32_t fnzi_dev_small_flag(const fnz_workspace *ws, const fnzi_stp_binding *b);

/* --- given.c: memory of the device that a run is given */
FNZ_MUST_CHECK fnz_status fnzi_dev_given_inputs(fnz_workspace *ws);
/* ARGUMENT where `data` does not lie there. *known: an address that does. */
FNZ_MUST_CHECK fnz_status fnzi_dev_given_known(fnz_workspace *ws, const char *name,
                                               const void *data, uint64_t *known);
/* The CPU's memory of inputs and of a state that the caller has there, with what the CPU reads of
 * them, or all; ws->host_absent: it has no part in the run, and there is none. Before storages have
 * addresses. */
FNZ_MUST_CHECK fnz_status fnzi_dev_given_room(fnz_workspace *ws, const fnzi_stp_binding *b,
                                              bool all);
/* Results that the caller has no memory for get some of the workspace, until the next run: those
 * that the device makes, and one of so many bytes. */
FNZ_MUST_CHECK fnz_status fnzi_dev_results_place(fnz_workspace *ws, const fnzi_stp_binding *b);
FNZ_MUST_CHECK fnz_status fnzi_dev_results_add(fnz_workspace *ws, size_t bytes, uint64_t *out);
void fnzi_dev_results_end(fnz_workspace *ws);
/* The run writes output k of graph 0 where it is wanted. */
bool fnzi_dev_is_direct(const fnz_workspace *ws, const fnzi_stp_binding *b, uint32_t k);
/* `bytes` of the CPU go to the device, at once. */
FNZ_MUST_CHECK fnz_status fnzi_dev_put(fnz_workspace *ws, const void *from, size_t bytes,
                                       uint64_t to);

/* --- sets.c: before a run the tables have its addresses; `holds` is for the run to say, at its
 * end. */
FNZ_MUST_CHECK fnz_status fnzi_dev_tables_fill(fnz_workspace *ws, fnzi_stp_binding *b);
void fnzi_dev_tables_end(fnzi_dev_binding *d);

/* --- launch.c: an address in this run, those of the operands of a launch; a launch; a work. */
uint64_t fnzi_dev_address(const fnz_workspace *ws, const fnzi_stp_binding *b, uint32_t buffer,
                          int64_t offset);
void fnzi_dev_addresses(const fnz_workspace *ws, const fnzi_stp_binding *b,
                        const fnzi_dev_launch *launch, uint64_t *out);
FNZ_MUST_CHECK fnz_status fnzi_dev_launch_run(fnz_workspace *ws, const fnzi_stp_binding *b,
                                              const fnzi_dev_launch *launch, uint64_t *addresses);
FNZ_MUST_CHECK fnz_status fnzi_dev_work_run(fnz_workspace *ws, const fnzi_stp_binding *b,
                                            const fnzi_dev_work *work);
/* The one binding of a workspace, where all that it does is one launch of this row of point.def on
 * its one node; else NULL. */
const fnzi_stp_binding *fnzi_dev_row(const fnz_workspace *ws, const char *row);

/* --- graph.c */
FNZ_MUST_CHECK fnz_status fnzi_dev_stretches_find(fnzi_stp_binding *b);
void fnzi_dev_stretches_end(fnzi_stp_binding *b);
FNZ_MUST_CHECK fnz_status fnzi_dev_stretch_run(fnz_workspace *ws, const fnzi_stp_binding *b,
                                               fnzi_dev_stretch *stretch);

/* --- run.c: what the engine calls where it has a device */
FNZ_MUST_CHECK fnz_status fnzi_dev_bind(fnz_workspace *ws, fnzi_stp_binding *b);
void fnzi_dev_unbind(fnz_workspace *ws, fnzi_stp_binding *b);
FNZ_MUST_CHECK fnz_status fnzi_dev_ready(fnz_workspace *ws, const fnzi_stp_binding *b);
/* *flagged: the flag was set; nothing has changed, and the CPU's memory is ready for a run. */
FNZ_MUST_CHECK fnz_status fnzi_dev_run(fnz_workspace *ws, fnzi_stp_binding *b, bool *flagged);

#endif
