/* run.h - shared by the two interpreters: a program bound to a backend, and the cells of memory.
 *
 * functional.c runs programs without aliasing. eager/ runs any program on aliasing memory and is
 * the reference for the meaning of programs. So both use only the backend that is passed in: not
 * the pass, its view rules or a kernel. api.c chooses between them.
 *
 * Memory is made of *cells*: an element of a dtype takes backend->cell_bytes(dtype) bytes. A
 * backend of numbers has the element's own bytes there, a backend of hashes a hash per element or
 * per byte. */
#ifndef FNZI_RUN_H
#define FNZI_RUN_H

#include "base/series.h"
#include "program/program.h"

#include <fnz/backend.h>
#include <fnz/functionalize.h>

typedef struct fnzi_run_state fnzi_run_state;

/* The end of a message about a weight without data. */
#define FNZI_RUN_GET_DATA                                                                          \
  "; give it among the inputs, or take the archive that has it, saved by torch 2.9 or later, as "  \
  "earlier ones pickle it"

/* Receives one result: dense row-major cells, borrowed for the call. */
typedef fnz_status fnzi_run_emit_fn(void *user, const char *name, const fnz_geometry *geometry,
                                    const void *cells, size_t bytes);

/* An input or output of a program that has run, for tests of aliasing. `tensor` and `memory` say
 * whether two of them are the same. */
typedef struct fnzi_run_shown {
  bool is_input;
  size_t k;
  const void *tensor, *memory;
  const fnz_geometry *geometry;
} fnzi_run_shown;
typedef fnz_status fnzi_run_see_fn(void *user, const fnzi_run_shown *shown);

/* For a backend of hashes: values and memory that are a series (base/series.h) are not stored until
 * single cells are read. */
typedef struct fnzi_run_series {
  fnz_status (*make)(fnz_backend *backend, fnz_context *ctx, const fnz_geometry *g, fnzi_cell start,
                     fnz_handle *out);
  bool (*find)(fnz_handle value, fnzi_cell *start);
  /* Receives a result that is one, in place of fnzi_run_emit_fn. */
  fnz_status (*emit)(void *user, const char *name, const fnz_geometry *g, fnzi_cell start);
} fnzi_run_series;

/* Over hashes: `predicate` decides which branch the current node takes. *taken is what the hash
 * says; the function may choose the other branch. */
typedef fnz_status fnzi_run_decide_fn(void *user, const fnzi_run_state *run, uint64_t predicate,
                                      bool *taken);

typedef struct fnzi_run_options {
  const fnz_arrays *inputs; /* not used by a backend of hashes */
  uint64_t seed;            /* of the unknowns that a backend of hashes gets instead */
  bool check_schemas;       /* after each node, the promises of its schema are checked */
  bool borrows;    /* weights are read where the file has them, unless arrays are given for them */
  bool everything; /* also emit inputs, parameters and buffers that nothing has written */
  unsigned char *entered; /* NULL, or per graph of the program: set to 1 when it is run */
  fnzi_run_emit_fn *emit;
  const fnzi_run_series *series; /* NULL: all cells are stored */
  fnzi_run_see_fn *see; /* NULL, or called for every input and output; `user` as for `emit` */
  void *user;
  fnzi_run_decide_fn *decide; /* NULL: the hash of each predicate decides */
  void *decider;              /* the `user` of `decide` */
} fnzi_run_options;

FNZ_MUST_CHECK fnz_status fnzi_run_functional(fnz_context *ctx, const fnz_program *program,
                                              fnz_backend *backend,
                                              const fnzi_run_options *options);

/* --- Elements of memory (run/cells.c) --------------------------------------------------------- */
typedef struct fnzi_run_memory {
  unsigned char *cells; /* NULL for a series, and when the file has no data for it */
  size_t bytes;         /* of the cells */
  bool is_series;       /* which begins with `start`; see fnzi_run_memory_need() */
  fnzi_cell start;
  uint32_t users;                /* tensors over it */
  uint64_t version;              /* how often it was written */
  bool shared;                   /* by several inputs */
  bool is_borrowed;              /* the cells are the program's, and only read */
  struct fnzi_run_memory *known; /* while it is filled: 1 for each byte that some input has set */
  struct fnzi_run_memory *spare; /* the next one in the list of ended memories */
} fnzi_run_memory;

/* For strides and offsets that no element may be reached by: they wrap, and a negative one is
 * refused where a tensor is made. */
static inline int64_t fnzi_run_wrap_mul(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a * (uint64_t)b);
}
static inline int64_t fnzi_run_wrap_add(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* Dense row-major cells from memory and back. `cell` bytes per element; writes go in row-major
 * order, so that the last one wins where elements overlap. */
void fnzi_run_gather(const fnz_geometry *g, const unsigned char *memory, size_t cell,
                     unsigned char *dense);
void fnzi_run_scatter(const fnz_geometry *g, const unsigned char *dense, size_t cell,
                      unsigned char *memory);
/* The number in the bytes of one element; false for complex ones, for floats narrower than f32, and
 * for an u64 above 63 bits. */
bool fnzi_run_decode_number(fnz_dtype dtype, const void *bytes, fnz_arg *out);

/* --- A program bound to a backend (run/bind.c) ------------------------------------------------ */
typedef struct fnzi_run_binding { /* of input k of the program */
  fnz_input_kind kind;
  const char *target;
  const char *name;       /* "input.x", "buffer.bn.mean"; NULL when it is no result when written */
  const fnz_array *given; /* NULL for none, and for hashes */
  const fnz_geometry *geometry; /* NULL when it is not a tensor */
  fnzi_run_memory *memory;
  bool written; /* with shared memory: some write has met its elements */
} fnzi_run_binding;

/* The values of an interpreter begin with this. */
typedef struct fnzi_run_item {
  uint32_t users; /* values of frames that still need it */
} fnzi_run_item;

struct fnzi_run_state {
  fnz_context *ctx;
  const fnz_program *program;
  fnz_backend *backend;
  const fnzi_run_options *options;
  bool hashes;               /* the backend's elements are no numbers */
  fnzi_arena arena, scratch; /* of the run; of the current node */
  struct {
    fnzi_run_memory **data;
    size_t count, capacity;
  } memories;
  fnzi_run_memory *spare;     /* ended memories */
  fnzi_run_binding *bindings; /* one per input of graph 0 */
  bool *shared;               /* per input: it shares memory with another one */
  /* The current frame: the program itself, or a body of a higher-order operator (run/frames.c). */
  const fnzi_graph *graph;
  uint32_t node;         /* the current one */
  fnzi_run_item **items; /* per value; NULL when it has none */
  fnz_arg *numbers;      /* per value: the number of a symbol, FNZ_ARG_DEFAULT while unknown */
  uint32_t *last;        /* per value: the node that uses it last, FNZI_NO_NODE for results */
  struct {
    struct fnzi_run_frame *data;
    size_t count, capacity;
  } frames;
  struct fnzi_run_numbers *symbolic; /* run/numbers.h; NULL: the program has no symbols */
  uint32_t **lasts;                  /* per graph: `last`, NULL before it is first run */
  uint64_t bodies;                   /* bodies entered so far */
};

static inline void fnzi_run_release(const fnzi_run_state *run, fnz_handle value) {
  run->backend->release(run->backend->self, value);
}
static inline const fnz_geometry *fnzi_run_geometry_of(const fnzi_run_state *run,
                                                       fnz_handle value) {
  return run->backend->geometry(run->backend->self, value);
}

/* Binds every input and opens the frame of graph 0. Call fnzi_run_close() afterwards, also after a
 * failure. */
FNZ_MUST_CHECK fnz_status fnzi_run_open(fnzi_run_state *run, fnz_context *ctx,
                                        const fnz_program *program, fnz_backend *backend,
                                        const fnzi_run_options *options);
void fnzi_run_close(fnzi_run_state *run);
/* The same without memory. `given` has one array or NULL per input. Only sizes count; data are read
 * only if the program reads a scalar from them. options->inputs must be set. */
FNZ_MUST_CHECK fnz_status fnzi_run_open_sizes(fnzi_run_state *run, fnz_context *ctx,
                                              const fnz_program *program, fnz_backend *backend,
                                              const fnzi_run_options *options,
                                              const fnz_array *const *given);

/* --- Node by node (run/functional.c): for a caller that computes other nodes itself ----------- */
typedef struct fnzi_run_steps fnzi_run_steps;
/* Opens a run. `given`: as for fnzi_run_open_sizes(). fnzi_run_steps_close() releases all values of
 * `backend`. */
FNZ_MUST_CHECK fnz_status fnzi_run_steps_open(fnz_context *ctx, const fnz_program *program,
                                              fnz_backend *backend, const fnz_array *const *given,
                                              fnzi_run_steps **out);
void fnzi_run_steps_close(fnzi_run_steps *steps);
/* Sets a value of graph 0 that the caller has computed. Owns the handle, also after a failure. */
FNZ_MUST_CHECK fnz_status fnzi_run_steps_give(fnzi_run_steps *steps, uint64_t value,
                                              fnz_handle handle);
/* Returns the handle of a value, borrowed until its last use; 0: there is none. */
fnz_handle fnzi_run_steps_value(const fnzi_run_steps *steps, uint64_t value);
/* Returns the number of a symbolic value that a node has computed. */
FNZ_MUST_CHECK fnz_status fnzi_run_steps_number(fnzi_run_steps *steps, uint64_t value,
                                                fnz_arg *out);
/* Runs a node of graph 0 whose arguments have values. */
FNZ_MUST_CHECK fnz_status fnzi_run_steps_node(fnzi_run_steps *steps, uint32_t node);

/* --- Memory of a run (run/memory.c) ----------------------------------------------------------- */
/* Computes the bytes of dense elements of a geometry. Fails with OVERFLOW. */
FNZ_MUST_CHECK fnz_status fnzi_run_dense_bytes(const fnzi_run_state *run, const fnz_geometry *g,
                                               size_t *out);

/* Creates memory of `elements` elements: zero bytes, or hashes that no other element has. It is
 * freed with the run or by fnzi_run_memory_drop(). */
FNZ_MUST_CHECK fnz_status fnzi_run_memory_create(fnzi_run_state *run, fnz_dtype dtype,
                                                 int64_t elements, fnzi_run_memory **out);
/* The same, but leaves the first `filled` bytes undefined, for the caller to fill. */
FNZ_MUST_CHECK fnz_status fnzi_run_memory_unfilled(fnzi_run_state *run, fnz_dtype dtype,
                                                   int64_t elements, size_t filled,
                                                   fnzi_run_memory **out);
/* The same with a series of hashes as content. */
FNZ_MUST_CHECK fnz_status fnzi_run_memory_series(fnzi_run_state *run, fnz_dtype dtype,
                                                 int64_t elements, fnzi_cell start,
                                                 fnzi_run_memory **out);
/* Replaces the content by a series. */
void fnzi_run_memory_become(fnzi_run_state *run, fnzi_run_memory *memory, fnzi_cell start);
/* Stores a series as cells. Call before cells are read or written. */
FNZ_MUST_CHECK fnz_status fnzi_run_memory_need(fnzi_run_state *run, fnzi_run_memory *memory);
/* Returns whether it has content. False for a weight without data in the file. */
static inline bool fnzi_run_memory_has_data(const fnzi_run_memory *memory) {
  return memory->cells || memory->is_series;
}
/* Makes a value of the backend from the elements of a window. */
FNZ_MUST_CHECK fnz_status fnzi_run_memory_read(fnzi_run_state *run, fnzi_run_memory *memory,
                                               const fnz_geometry *g, fnz_handle *out);
void fnzi_run_memory_drop(fnzi_run_state *run, fnzi_run_memory *memory);
/* Wraps memory of the caller, which is only read. */
FNZ_MUST_CHECK fnz_status fnzi_run_memory_borrow(fnzi_run_state *run, void *cells, size_t bytes,
                                                 fnzi_run_memory **out);
/* Drops the memory and keeps the struct for other memory, so no tensor may use it any more. */
void fnzi_run_memory_end(fnzi_run_state *run, fnzi_run_memory *memory);

/* --- Given arrays (run/given.c) --------------------------------------------------------------- */
/* Makes run->bindings, with names and the caller's arrays. Fails with REF for an array whose name
 * no input has. */
FNZ_MUST_CHECK fnz_status fnzi_run_find_given(fnzi_run_state *run);
/* Fails with REF: the caller passed no array for this input. The message lists the inputs. */
FNZ_MUST_CHECK fnz_status fnzi_run_refuse_missing(const fnzi_run_state *run, const char *name);
/* Fails unless the array has the dtype and sizes of the geometry. NULL: the caller passed none. */
FNZ_MUST_CHECK fnz_status fnzi_run_check_array(fnzi_run_state *run, const char *name,
                                               const fnz_geometry *g, const fnz_array *array);
/* Checks arrays without a run: their names, types and sizes, and missing user inputs. */
FNZ_MUST_CHECK fnz_status fnzi_run_check_given(fnz_context *ctx, const fnz_program *program,
                                               const fnz_arrays *inputs);

/* --- Inputs that share memory (run/aliased_inputs.c) ------------------------------------------ */
/* Fills in run->shared. */
FNZ_MUST_CHECK fnz_status fnzi_run_find_shared(fnzi_run_state *run);
/* Binds input k to its memory, which is large enough for all inputs that share it. *is_new: k is
 * the first of them. */
FNZ_MUST_CHECK fnz_status fnzi_run_bind_shared(fnzi_run_state *run, uint32_t k, bool *is_new);
/* Writes dense elements to it. Fails if another input has written other elements there. */
FNZ_MUST_CHECK fnz_status fnzi_run_fill_shared(fnzi_run_state *run, uint32_t k, const void *data);
/* Returns whether the caller passed an array for an input in the memory of input k. */
bool fnzi_run_any_given(const fnzi_run_state *run, uint32_t k);
/* Checks a weight without data in the file: arrays for inputs in its memory must fill all of it. */
FNZ_MUST_CHECK fnz_status fnzi_run_check_filled(fnzi_run_state *run, uint32_t k);
/* Returns the handle of a value of graph 0. */
typedef fnz_status fnzi_run_handle_fn(void *user, uint64_t value, fnz_handle *out);
/* Emits an input that was written through another one, from the final values of its memory. */
FNZ_MUST_CHECK fnz_status fnzi_run_emit_member(fnzi_run_state *run, uint32_t k,
                                               fnzi_run_handle_fn *handle, void *user);
/* Emits a window of memory. */
FNZ_MUST_CHECK fnz_status fnzi_run_emit_memory(fnzi_run_state *run, const char *name,
                                               const fnz_geometry *g, fnzi_run_memory *memory);

/* --- Results (run/outputs.c; names of inputs: run/bind.c) ------------------------------------- */
/* Returns whether the weight is memory that other weights are windows of. It has a name of its own
 * in results. */
bool fnzi_run_is_whole_memory(const fnz_program *p, const char *name);

/* Calls visit(user, name, output) for each output of the caller, "output.K". Then, for each input
 * in order, calls `visit` with its final value if the signature names it as mutated, else
 * rest(user, k). Emits outputs that are numbers itself, as tensors without dimensions: i64, f64 or
 * bool. */
typedef fnz_status fnzi_run_output_fn(void *user, const char *name, uint64_t value);
typedef fnz_status fnzi_run_input_fn(void *user, size_t k);
FNZ_MUST_CHECK fnz_status fnzi_run_outputs(fnzi_run_state *run, fnzi_run_output_fn *visit,
                                           fnzi_run_input_fn *rest, void *user);

/* Returns whether an input that was not written is emitted: it is, unless it is a constant. */
bool fnzi_run_shows_unwritten(const fnzi_run_state *run, const fnzi_run_binding *b);
/* Names of values that are no state, and that a run emits with `everything` only. "constant.FQN": a
 * constant that was not written. "left.NAME", on aliasing memory: the first memory of an input that
 * has another window now, if it was not written or if another input shows it. */
#define FNZI_RUN_LEFT_CONSTANT "constant"
#define FNZI_RUN_LEFT_MEMORY   "left"
/* Returns the name "constant.FQN" of an input; NULL: it has none. */
FNZ_MUST_CHECK fnz_status fnzi_run_left_constant(fnzi_run_state *run, const fnzi_run_binding *b,
                                                 const char **out);
/* Downloads a value and emits it. */
FNZ_MUST_CHECK fnz_status fnzi_run_emit(fnzi_run_state *run, const char *name,
                                        const fnz_geometry *g, fnz_handle value);

/* Writes a number as an element of a tensor, at most 8 bytes; returns its dtype: i64, f64 or bool.
 */
fnz_dtype fnzi_run_number_element(const fnz_arg *number, void *out);
/* Returns whether the argument is a number, known or not. */
bool fnzi_run_is_number(const fnz_arg *arg);

/* The emit function of fnz_run(); `user` is the fnz_arrays. */
fnzi_run_emit_fn fnzi_run_emit_array;
/* Emits nothing. */
fnzi_run_emit_fn fnzi_run_emit_nothing;

/* --- Arguments and numbers (run/args.c) ------------------------------------------------------- */
/* Replaces the value of a tensor argument, for example by the handle of a backend. */
typedef fnz_status fnzi_run_lower_fn(void *user, fnz_arg *arg);

/* Replaces the arguments of a call by a copy with numbers for symbols, with defaults filled in, and
 * with tensors replaced by `value`; NULL: they stay. `out`: receives the copy, which is in
 * run->scratch, for a caller that changes it; or NULL. */
FNZ_MUST_CHECK fnz_status fnzi_run_lower(fnzi_run_state *run, fnzi_run_lower_fn *value, void *user,
                                         fnz_request *call, fnz_arg **out);
/* Lowers a call whose arguments are handles already, and applies it. */
FNZ_MUST_CHECK fnz_status fnzi_run_lower_apply(fnzi_run_state *run, fnz_request *call,
                                               fnz_handle *outputs, size_t count);

/* Finds the number of a symbolic value in the current frame, else the number that is recorded in
 * the program. *found: there is one. */
FNZ_MUST_CHECK fnz_status fnzi_run_number_find(fnzi_run_state *run, uint64_t value, bool *found,
                                               fnz_arg *out);
/* The same as a callback; fails with UNSUPPORTED if there is none. */
FNZ_MUST_CHECK fnz_status fnzi_run_number_of(void *run, uint64_t value, fnz_arg *out);

/* Returns whether nodes of this operator only read or check sizes and dtypes: no kernel computes
 * them. */
bool fnzi_run_is_number_op(const fnz_op *op);
/* Runs a node that reads or checks sizes (sym_size.int, _assert_tensor_metadata ...) or computes
 * with sizes; *done: it is such a node. `geometry(user, value)` returns the geometry of a tensor.
 */
typedef const fnz_geometry *fnzi_run_geometry_fn(void *user, uint64_t value);
FNZ_MUST_CHECK fnz_status fnzi_run_number_node(fnzi_run_state *run, const fnzi_node *node,
                                               fnzi_run_geometry_fn *geometry, void *user,
                                               bool *done);
/* Runs `item`: reads the number of a tensor of one element. It is unknown if the backend has no
 * numbers. */
FNZ_MUST_CHECK fnz_status fnzi_run_read_number(fnzi_run_state *run, const fnzi_node *node,
                                               fnz_handle value);

/* Returns whether the node writes an argument, by its schema or as batch norm in training does. */
bool fnzi_run_node_writes(const fnzi_node *node);
/* Returns whether the result depends on the strides or the offset of an argument that is not dense
 * and row-major, such as as_strided of a transposed tensor. Values have other strides than eager's.
 */
bool fnzi_run_node_reads_memory(const fnzi_graph *graph, const fnzi_node *node);
/* Fails with UNSUPPORTED if a node reads memory in that way. */
FNZ_MUST_CHECK fnz_status fnzi_run_values_check(fnz_context *ctx, const fnz_program *program);
/* Returns whether it is a batch norm. The first arguments of all of them are input, weight, bias,
 * running mean and variance, training, momentum, eps. */
bool fnzi_run_is_norm(const fnz_op *op);
enum { FNZI_RUN_NORM_MEAN = 3, FNZI_RUN_NORM_VAR, FNZI_RUN_NORM_TRAINING, FNZI_RUN_NORM_EPS = 7 };

/* Lists the tensor results of a node in run->scratch, with lists flattened. FNZ_ARG_NONE: an
 * undefined tensor. */
FNZ_MUST_CHECK fnz_status fnzi_run_node_results(fnzi_run_state *run, const fnzi_node *node,
                                                fnz_arg **out, size_t *count);

/* Applies a call, which must return `count` results; otherwise releases them and fails. */
FNZ_MUST_CHECK fnz_status fnzi_run_apply(fnzi_run_state *run, const fnz_request *call,
                                         fnz_handle *outputs, size_t count);

/* Checks the types of a program that was read, once, before it runs. For files with public
 * functions.
 */
FNZ_MUST_CHECK static inline fnz_status fnzi_run_types(fnz_context *ctx, const fnz_program *p) {
  return p->unchecked && *p->unchecked ? fnz_program_check_types(ctx, p, NULL, NULL) : FNZ_OK;
}

/* --- Promises of schemas (run/schema_check.c) ------------------------------------------------- */
/* Looks at what the call only reads, and after it at that and at the results; DIFFERENT when the
 * schema is not kept. fnzi_run_witness_end() must follow a beginning that succeeded; `outputs` NULL
 * when the call has failed. */
typedef struct witnesses fnzi_run_witnesses;
FNZ_MUST_CHECK fnz_status fnzi_run_witness_begin(fnzi_run_state *run, const fnz_request *call,
                                                 fnzi_run_witnesses **out);
FNZ_MUST_CHECK fnz_status fnzi_run_witness_end(fnzi_run_witnesses *seen, const fnz_op *op,
                                               const fnz_handle *outputs, size_t count);

#endif
