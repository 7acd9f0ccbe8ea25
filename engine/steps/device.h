/* device.h - a device as the engine sees it: a struct of functions. The engine reaches a GPU
 * through it and by no other way, and knows nothing of CUDA. An executable for the CPU has none.
 * The struct is in libfnz_cuda, which engine/device.c opens when a caller asks for a GPU.
 *
 * Every entry is there; none is optional. A function that gets a workspace or a state reports
 * errors in the context of that, unless it gets a context. */
#ifndef FNZI_STP_DEVICE_H
#define FNZI_STP_DEVICE_H

#include "base/json.h"
#include "engine/steps/executable.h"

/* A state on a device. */
typedef struct fnzi_stp_device_state {
  uint64_t *addresses; /* per input that is the first of its memory: its address; 0: none yet */
  size_t *bytes;       /* of that memory */
  bool caller_on_host; /* the caller uses memory of the CPU: it is updated after each run and copied
                    to the device before the next one */
  bool caller_on_device; /* the caller uses memory of the device: results of the CPU are copied
                            there */
  bool is_callers; /* with is_there: the caller owns it. The CPU has no memory until a run needs it
                    */
  bool host_newer, device_newer;
  void *stream; /* of queued work that uses it; NULL: only runs use it */
  bool is_lost; /* it could not be restored after a failed run: no run may use it */
} fnzi_stp_device_state;

typedef struct fnzi_stp_device fnzi_stp_device;
struct fnzi_stp_device {
  /* --- The library, checked before all that follows */
  uint32_t abi;             /* FNZI_STP_DEVICE_ABI of engine/device_abi.h */
  const struct fnz_op *ops; /* the table of operators of the libfnz that it uses */

  /* --- An executable */
  /* Opens the device, sets exe->device, and exe->threads_drawing. `name` is "cuda", "cuda:1", or,
   * if the plan is only printed, "sm_90". `cache`: a folder for compiled kernels; NULL: none. The
   * GPU stays in use until `holder` is destroyed; NULL: until the executable is. */
  FNZ_MUST_CHECK fnz_status (*open)(fnz_executable *exe, fnz_context *holder, const char *name,
                                    const char *cache);
  /* Frees weights, and closes the device. Call it also after open() failed. */
  void (*end)(fnz_executable *exe);

  /* --- A binding */
  /* Puts a planned binding on the device: sets b->device. */
  FNZ_MUST_CHECK fnz_status (*bind)(fnz_workspace *ws, fnzi_stp_binding *b);
  /* Call it also after bind() failed. */
  void (*unbind)(fnz_workspace *ws, fnzi_stp_binding *b);
  /* Prints a line for each launch and each step of the CPU, and the sums. */
  FNZ_MUST_CHECK fnz_status (*print)(fnz_context *ctx, const fnzi_stp_binding *b, fnz_buffer *out);
  /* Writes the same as members of the plan's object. */
  void (*print_json)(fnzi_json_out *w, const fnzi_stp_binding *b);

  /* --- A run, in the order of these calls */
  /* Fails with ARGUMENT and `name` if `data` is no memory of the device. *known: an address that
   * is; it is not checked again. */
  FNZ_MUST_CHECK fnz_status (*check)(fnz_workspace *ws, const char *name, const void *data,
                                     uint64_t *known);
  /* Finds memory: on the device, if the caller uses memory there, for results without memory, until
   * the next run; on the CPU for inputs and a state that the caller has on the device, with the
   * values that the CPU reads, or, with `all`, with all values. If the CPU has no part in the run
   * it gets no memory, and ws->host_absent is set. Call it before storages have addresses. */
  FNZ_MUST_CHECK fnz_status (*find_memory)(fnz_workspace *ws, const fnzi_stp_binding *b, bool all);
  /* Copies a state to the CPU, if the CPU computes with it. *runs: some step runs on the device, so
   * that run() is called; else the CPU computes all. */
  FNZ_MUST_CHECK fnz_status (*ready)(fnz_workspace *ws, const fnzi_stp_binding *b, bool *runs);
  /* Runs all steps. *flagged: an index is out of bounds in the data. Then nothing has changed, and
   * the CPU's memory is ready for a run. */
  FNZ_MUST_CHECK fnz_status (*run)(fnz_workspace *ws, fnzi_stp_binding *b, bool *flagged);
  /* Returns whether the run writes output k of graph 0 directly to ws->device_out[k]. */
  bool (*is_direct)(const fnz_workspace *ws, const fnzi_stp_binding *b, uint32_t k);
  /* Copies bytes of the CPU to address *at of the device; 0: to new memory there, until the next
   * run. */
  FNZ_MUST_CHECK fnz_status (*put)(fnz_workspace *ws, const void *from, size_t bytes,
                                   uint64_t *address);
  /* Frees everything of a workspace that is on the device or belongs to copies. */
  void (*workspace_end)(fnz_workspace *ws);

  /* --- A state */
  /* Makes s->device. is_given: s->starts are addresses of the caller on the device. */
  FNZ_MUST_CHECK fnz_status (*state_make)(fnz_executable_state *s, bool is_given);
  void (*state_end)(fnz_executable_state *s);
  /* Copies the values of the device to the CPU, if they are newer. */
  FNZ_MUST_CHECK fnz_status (*state_down)(fnz_context *ctx, const fnz_executable_state *s);
  /* Copies results of the CPU to the memory on the device that the caller uses, if there are any.
   * shows: the caller uses memory there from now on, which has all values. */
  FNZ_MUST_CHECK fnz_status (*state_up)(fnz_context *ctx, const fnz_executable_state *s,
                                        bool shows);

  /* --- Without an executable */
  /* Makes a backend with values on the device. `self`: this struct. `name`: as for open(). */
  FNZ_MUST_CHECK fnz_status (*backend_create)(const fnzi_stp_device *self, fnz_context *ctx,
                                              const char *name, int threads, const char *cache,
                                              fnz_backend **out);
  /* Finds, without opening the device, the most threads with which PyTorch draws there. */
  FNZ_MUST_CHECK fnz_status (*threads_drawing)(fnz_context *ctx, const char *name, int64_t *out);
};

#endif
