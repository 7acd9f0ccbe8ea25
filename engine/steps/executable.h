/* executable.h - an executable, a workspace and a state, as all files of the runner see them. Types
 * only; the functions are in the header of each layer, which sees itself and the layers below it:
 *
 *   engine/steps/steps.h     operands, prebuilt calls and moves
 *   engine/tile/tile.h       groups as tile programs
 *   engine/bind/bind.h       bindings and their runs
 *   engine/steps/device.h    the functions of a device, and states on it
 *   engine/engine.h          executables, workspaces and runs
 *
 * executable   fnz_compile() makes it; the caller frees it after its workspaces and states. It is
 *              constant afterwards, except for the atomic fields, so several threads may run it
 * workspace    memory of one run at a time, of the caller or one of `idle`. A thread has it to
 *              itself during a run. Errors of the run are in its context until engine.h copies them
 *              to the caller's
 * state        values that stay from run to run. One run at a time may use it
 *
 * Members of exe, ws and state live as long as these, unless a comment says otherwise. Fields named
 * `bytes` are in bytes; strides and offsets of a geometry are in elements. */
#ifndef FNZI_STP_EXECUTABLE_H
#define FNZI_STP_EXECUTABLE_H

#include "engine/steps/binding.h"
#include "run/run.h"

#include <fnz/numbers.h>

#include <stdatomic.h>

/* --- The executable --------------------------------------------------------------------------- */
/* Input k of graph 0. */
typedef struct fnzi_stp_input {
  bool is_tensor, is_scalar; /* neither: a literal, an object, a token */
  bool is_passed;            /* a user input, or memory that user inputs share */
  bool in_state;             /* a parameter or buffer with a final value, or of its memory */
  bool is_read_only;         /* in the state, and no run writes it */
  bool is_donated;
  bool is_shared;            /* shares memory with another input */
  bool is_guarded;           /* some guard says that it shares no memory with others */
  bool is_written;           /* has a final value */
  bool is_folded;            /* constants of the executable are computed from it */
  uint32_t memory;           /* the first input that shares memory with it; k itself */
  uint32_t slot;             /* INPUT or STATE, FNZI_PLN_NONE for none */
  const fnzi_weight *weight; /* NULL: the file has no data for it */
  const char *name;          /* "buffer.cache" */
  unsigned char *copy;       /* of a weight whose address is not aligned; NULL: none */
  size_t copy_bytes;
} fnzi_stp_input;

/* The memory of a weight that has data. */
static inline unsigned char *fnzi_stp_weight_start(const fnzi_stp_input *in) {
  return in->copy ? in->copy : fnzi_blob_data(in->weight->blob);
}

typedef struct fnzi_stp_slot {
  fnz_slot info;
  union {
    uint32_t input;  /* INPUT, STATE, and OUTPUT of a member: of graph 0 */
    uint32_t output; /* OUTPUT: of graph 0 */
  };
  bool is_member; /* OUTPUT: an input that was written through another input of the same memory */
  bool is_scalar; /* OUTPUT: a scalar, which is stored on the CPU */
} fnzi_stp_slot;

typedef struct fnzi_stp_slots {
  fnzi_stp_slot *data;
  size_t count, capacity;
} fnzi_stp_slots;

enum { FNZI_STP_IDLE = 16 };

typedef enum fnzi_stp_data_dependent {
  FNZI_STP_DATA_NONE,
  FNZI_STP_DATA_SCALARS, /* data-dependent scalars, but no such size */
  FNZI_STP_DATA_SIZES
} fnzi_stp_data_dependent;

struct fnz_executable {
  fnz_context *ctx; /* owned; memory of the executable comes from it, and runs do not use it */
  const fnz_program *program;
  const fnz_backend *kernels;
  int threads;
  bool is_unplanned, checks;
  bool in_place;   /* final values of donated inputs, and results that are these, are there */
  bool staging;    /* on a device: callers may pass memory of the CPU */
  bool is_printed; /* only its plan is, and it never runs */
  bool is_guest;   /* the device belongs to another owner, who closes it */
  fnzi_limits limits;
  fnzi_arena arena;
  fnzi_stp_expansion expansion; /* of a program of fixed sizes */
  const fnz_program *folded;    /* the same without what depends on weights alone, which is inputs
                                   of its graph 0 after the program's (fold.c); NULL */
  const uint32_t *const *folded_parts; /* as the parts of the expansion */
  fnzi_stp_input *inputs;              /* of graph 0 */
  uint32_t ninputs;                    /* of the graph 0 of `folded`, if there is one */
  uint32_t *owners;                    /* per output of graph 0: the input whose final value it is;
                                          FNZI_PLN_NONE for none, and if its sizes change */
  fnzi_stp_slots slots[3];
  struct {
    const struct fnzi_mapping **data;
    size_t count, capacity;
  } files; /* that are mapped, and whose weights a run reads */
  bool has_symbols;
  fnzi_stp_data_dependent data_dependent; /* what only a run knows */
  const struct fnzi_stp_device *gpu;      /* functions of its device: device.h; NULL: the CPU */
  struct fnzi_cuda_device *device;        /* of these functions, open; NULL: the CPU */
  int64_t threads_drawing;                /* threads of Philox for a run without a generator; 0: the
                                             generator is none of Philox */
  _Atomic(uint64_t) *device_weights;      /* per input: its address there; 0: not copied yet */
  _Atomic(fnz_workspace *) idle[FNZI_STP_IDLE];
};

/* --- A workspace ------------------------------------------------------------------------------ */
/* Blocks by size. A freed block is kept for the next request of its class, so that repeated runs
 * allocate nothing. */
enum { FNZI_STP_CLASSES = 256 };
typedef struct fnzi_stp_cache {
  fnz_allocator from;
  void *freed[FNZI_STP_CLASSES];
  size_t used; /* bytes of blocks that are not freed */
} fnzi_stp_cache;

/* Bindings for the sizes of earlier runs, in no order, with the hashes of these sizes. A cache that
 * grows by one in each run has a new size each time, and has all of them again for the next text.
 */
enum { FNZI_STP_BINDINGS = 64 };
typedef struct fnzi_stp_bindings {
  uint64_t hashes[FNZI_STP_BINDINGS];
  fnzi_stp_binding *data[FNZI_STP_BINDINGS];
  size_t count;
} fnzi_stp_bindings;

struct fnz_workspace {
  const fnz_executable *exe;
  fnzi_stp_cache cache;
  fnz_context *ctx; /* owned, over the cache */
  fnz_backend *backend;
  fnzi_krn_machine *machine;
  fnzi_arena arena;      /* as long as the workspace */
  fnzi_arena scratch;    /* of the kernel that runs; empty between thunks */
  fnzi_arena call_arena; /* of a call of the interface: where its outputs are */
  fnzi_arena run_arena;  /* of the run: needed to return its results */
  fnzi_stp_bindings bindings;
  fnzi_stp_binding *last; /* of the last run; NULL */
  uint64_t runs;

  /* The memory of a run. Lent to it by the caller: */
  fnzi_stp_run_input *inputs;       /* per input */
  fnz_geometry *layouts;            /* per input: of memory of the caller */
  fnzi_stp_run_output *outputs;     /* per OUTPUT slot */
  fnzi_stp_run_output arena_memory; /* the arena, if it is the caller's: without a layout */
  uint32_t *by_address; /* inputs, outputs, the arena, in order of address (overlap.c) */
  const fnz_executable_state *state; /* NULL */
  /* Owned by the workspace: */
  unsigned char *block; /* the arena and results */
  size_t block_bytes;
  unsigned char *saved; /* values of the state before the run (bind/undo.c) */
  size_t saved_bytes;
  /* Per output of graph 0: the elements of an output that shows the state, copied to `run_arena`
   * before the state got its final values, and their layout. NULL, or NULL for an output: none. */
  fnz_geometry *old_layouts;
  void **old_values;

  fnzi_run_steps *steps;  /* the interpreter at work; NULL */
  bool uses_folded;       /* the run is of exe->folded */
  size_t bodies_entered;  /* in this run */
  uint32_t refusing_node; /* 1 + the node that refuses a scalar; 0: the node of the step */
  bool measures;          /* `times` has the time of each step */
  fnz_step_time *times;
  size_t ntimes, times_bytes;

  /* On a device (engine/device/). Addresses are of the device. */
  void *stream;     /* lent to a guest for a run; NULL */
  bool is_async;    /* the run does not wait for its work; later work follows on the stream */
  bool host_absent; /* the CPU has no part in the run, and no memory for it */
  bool on_device;   /* the caller passes memory of the device: */
  uint64_t *device_in, *device_out;   /* per input and output of graph 0; 0: on the CPU */
  uint64_t *checked_in, *checked_out; /* per slot: an address that was checked; 0: none */
  uint64_t device_block;              /* buffers of the binding (memory.c) */
  size_t device_bytes;
  uint64_t replaced_weights; /* weights that the caller has replaced for the run */
  uint64_t device_results;   /* results for which the caller passes no memory, */
  size_t device_results_bytes;
  fnzi_stp_addresses device_late; /* and results of data-dependent sizes */
  unsigned char *shadow;          /* memory of the CPU for inputs that are on the device */
  size_t shadow_bytes;
  unsigned char *pinned; /* small copies in both directions (small.c) */
  size_t pinned_bytes;
  const fnzi_stp_binding *small_owner; /* flag and outputs in device_block are this binding's, */
  size_t small_end;                    /* up to this offset; NULL: no binding's */
  unsigned char *staging;              /* copies in both directions, packed */
  size_t staging_bytes;
  size_t device_step;                       /* the step that was queued last */
  size_t device_done;                       /* all steps before it are known to be computed */
  struct fnzi_dev_other_sizes *other_sizes; /* NULL: not needed yet */
};

/* --- A state ---------------------------------------------------------------------------------- */
struct fnz_executable_state {
  const fnz_executable *exe;
  fnz_context *ctx; /* owned */
  fnzi_arena arena;
  unsigned char **starts; /* per input of graph 0: start of its memory; NULL: not in the state */
  bool *has_values;       /* per input: it has elements; false for a weight without data before they
                         are read */
  /* Per input that is the first of its memory: bytes up to the end of its last window, and bytes
   * that the state owns, else 0. */
  size_t *extents, *bytes;
  struct fnzi_eng_pool *pool; /* pool.h: of states that share memory, which owns it; NULL: alone */
  struct fnzi_stp_device_state *device; /* device.h; NULL: without a device */
};

#endif
