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

/* Over hashes: `predicate` decides which way the current node goes. *taken is the way that the hash
 * says; the function may choose the other one. */
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
  fnzi_run_decide_fn *decide; /* NULL: each predicate goes the way that its hash says */
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

/* Binds every input and opens the frame of graph 0. fnzi_run_close() must follow, also after a
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

/* --- Node by node (run/functional.c): for who computes other nodes by itself ------------------ */
typedef struct fnzi_run_steps fnzi_run_steps;
/* `given` as above. Everything made of `backend` ends with fnzi_run_steps_close(). */
FNZ_MUST_CHECK fnz_status fnzi_run_steps_open(fnz_context *ctx, const fnz_program *program,
                                              fnz_backend *backend, const fnz_array *const *given,
                                              fnzi_run_steps **out);
void fnzi_run_steps_close(fnzi_run_steps *steps);
/* A value of graph 0 that others have computed. Takes the handle, also when this fails. */
FNZ_MUST_CHECK fnz_status fnzi_run_steps_give(fnzi_run_steps *steps, uint64_t value,
                                              fnz_handle handle);
/* Borrowed, until a node has used it last; 0 when there is none. */
fnz_handle fnzi_run_steps_value(const fnzi_run_steps *steps, uint64_t value);
/* The number of a symbolic value that a node has made. */
FNZ_MUST_CHECK fnz_status fnzi_run_steps_number(fnzi_run_steps *steps, uint64_t value,
                                                fnz_arg *out);
/* A node of graph 0, whose arguments are there. */
FNZ_MUST_CHECK fnz_status fnzi_run_steps_node(fnzi_run_steps *steps, uint32_t node);

/* --- Memory of a run (run/memory.c) ----------------------------------------------------------- */
/* Bytes of the dense cells of a geometry (OVERFLOW). */
FNZ_MUST_CHECK fnz_status fnzi_run_dense_bytes(const fnzi_run_state *run, const fnz_geometry *g,
                                               size_t *out);

/* Memory of `elements` elements, of constant content: zero bytes, or for hashes cells that nothing
 * else has. Ends with the run or with fnzi_run_memory_drop(). */
FNZ_MUST_CHECK fnz_status fnzi_run_memory_create(fnzi_run_state *run, fnz_dtype dtype,
                                                 int64_t elements, fnzi_run_memory **out);
/* The same, but the first `filled` bytes are not zero: the caller fills them before they are read.
 */
FNZ_MUST_CHECK fnz_status fnzi_run_memory_unfilled(fnzi_run_state *run, fnz_dtype dtype,
                                                   int64_t elements, size_t filled,
                                                   fnzi_run_memory **out);
/* The same of a series of hashes. */
FNZ_MUST_CHECK fnz_status fnzi_run_memory_series(fnzi_run_state *run, fnz_dtype dtype,
                                                 int64_t elements, fnzi_cell start,
                                                 fnzi_run_memory **out);
/* All of the memory becomes a series. */
void fnzi_run_memory_become(fnzi_run_state *run, fnzi_run_memory *memory, fnzi_cell start);
/* Before cells are looked at or written: a series is stored. */
FNZ_MUST_CHECK fnz_status fnzi_run_memory_need(fnzi_run_state *run, fnzi_run_memory *memory);
/* The file has data for it. */
static inline bool fnzi_run_memory_has_data(const fnzi_run_memory *memory) {
  return memory->cells || memory->is_series;
}
/* The elements of a window, as a value of the backend. */
FNZ_MUST_CHECK fnz_status fnzi_run_memory_read(fnzi_run_state *run, fnzi_run_memory *memory,
                                               const fnz_geometry *g, fnz_handle *out);
void fnzi_run_memory_drop(fnzi_run_state *run, fnzi_run_memory *memory);
/* Memory of the caller, which is only read. */
FNZ_MUST_CHECK fnz_status fnzi_run_memory_borrow(fnzi_run_state *run, void *cells, size_t bytes,
                                                 fnzi_run_memory **out);
/* Drops it; the struct may become other memory, so that no tensor may use it any more. */
void fnzi_run_memory_end(fnzi_run_state *run, fnzi_run_memory *memory);

/* --- Given arrays (run/given.c) --------------------------------------------------------------- */
/* Makes run->bindings, with names and the given arrays; REF for an array with the name of no
 * input. */
FNZ_MUST_CHECK fnz_status fnzi_run_find_given(fnzi_run_state *run);
/* REF: no array was given for this input; the message lists the inputs there are. */
FNZ_MUST_CHECK fnz_status fnzi_run_refuse_missing(const fnzi_run_state *run, const char *name);
/* The array has the type and sizes of the geometry; NULL: none was given. */
FNZ_MUST_CHECK fnz_status fnzi_run_check_array(fnzi_run_state *run, const char *name,
                                               const fnz_geometry *g, const fnz_array *array);
/* Checks arrays without a run: their names, types and sizes, and missing user inputs. */
FNZ_MUST_CHECK fnz_status fnzi_run_check_given(fnz_context *ctx, const fnz_program *program,
                                               const fnz_arrays *inputs);

/* --- Inputs that lie in one memory (run/aliased_inputs.c) ------------------------------------- */
/* Fills run->shared. */
FNZ_MUST_CHECK fnz_status fnzi_run_find_shared(fnzi_run_state *run);
/* The memory of such an input, large enough for all of them; `*is_new` when it is the first. */
FNZ_MUST_CHECK fnz_status fnzi_run_bind_shared(fnzi_run_state *run, uint32_t k, bool *is_new);
/* Puts dense elements into it; they must equal the elements that other inputs have put there. */
FNZ_MUST_CHECK fnz_status fnzi_run_fill_shared(fnzi_run_state *run, uint32_t k, const void *data);
/* An array is given for some input of the memory of input k. */
bool fnzi_run_any_given(const fnzi_run_state *run, uint32_t k);
/* A weight without data in the file, in a memory that arrays of other inputs are given for: they
 * must fill all of it. */
FNZ_MUST_CHECK fnz_status fnzi_run_check_filled(fnzi_run_state *run, uint32_t k);
/* The handle of a value of graph 0. */
typedef fnz_status fnzi_run_handle_fn(void *user, uint64_t value, fnz_handle *out);
/* Emits an input that was written through another one, from the final values of its memory. */
FNZ_MUST_CHECK fnz_status fnzi_run_emit_member(fnzi_run_state *run, uint32_t k,
                                               fnzi_run_handle_fn *handle, void *user);
/* Emits a window of memory. */
FNZ_MUST_CHECK fnz_status fnzi_run_emit_memory(fnzi_run_state *run, const char *name,
                                               const fnz_geometry *g, fnzi_run_memory *memory);

/* --- Results (run/outputs.c; the names of inputs: run/bind.c)
 * ----------------------------------- */
/* The weight is a memory that other weights are windows of, with a name of its own in results. */
bool fnzi_run_is_whole_memory(const fnz_program *p, const char *name);

/* Calls visit(user, name, output) for each output the caller gets: "output.K", then the final value
 * of each input, in order: by `visit` if the signature names the input as mutated, else by
 * rest(user, k). Emits the outputs that are numbers itself, as tensors without dimensions: i64, f64
 * or bool. */
typedef fnz_status fnzi_run_output_fn(void *user, const char *name, uint64_t value);
typedef fnz_status fnzi_run_input_fn(void *user, size_t k);
FNZ_MUST_CHECK fnz_status fnzi_run_outputs(fnzi_run_state *run, fnzi_run_output_fn *visit,
                                           fnzi_run_input_fn *rest, void *user);

/* An unwritten input is emitted, unless it is a constant. */
bool fnzi_run_shows_unwritten(const fnzi_run_state *run, const fnzi_run_binding *b);
/* Names of final values that a run emits only with `everything`, though nothing that it did has
 * made them state: "constant.FQN" of a constant that was not written; on aliasing memory,
 * "left.NAME" of memory that an input came with, which it does not show as it did, but which was
 * not written or is shown all the same. */
#define FNZI_RUN_LEFT_CONSTANT "constant"
#define FNZI_RUN_LEFT_MEMORY   "left"
/* The first of these names, of an input; NULL for one that has none. */
FNZ_MUST_CHECK fnz_status fnzi_run_left_constant(fnzi_run_state *run, const fnzi_run_binding *b,
                                                 const char **out);
/* Downloads a value and emits it. */
FNZ_MUST_CHECK fnz_status fnzi_run_emit(fnzi_run_state *run, const char *name,
                                        const fnz_geometry *g, fnz_handle value);

/* The element of a tensor for a number, which takes 8 bytes at most: i64, f64 or bool. */
fnz_dtype fnzi_run_number_element(const fnz_arg *number, void *out);
/* The argument is a number, known or not. */
bool fnzi_run_is_number(const fnz_arg *arg);

/* The emit function of fnz_run(); `user` is the fnz_arrays. */
fnzi_run_emit_fn fnzi_run_emit_array;
/* Emits nothing. */
fnzi_run_emit_fn fnzi_run_emit_nothing;

/* --- Arguments and numbers (run/args.c) ------------------------------------------------------- */
/* Replaces the value of a tensor argument: by a handle, for a backend. */
typedef fnz_status fnzi_run_lower_fn(void *user, fnz_arg *arg);

/* The arguments of a call become a copy with symbols replaced by their numbers, defaults filled in
 * and tensors given to `value`, which may be NULL to leave them alone. `out`: the copy, in
 * run->scratch, for a caller that changes it; or NULL. */
FNZ_MUST_CHECK fnz_status fnzi_run_lower(fnzi_run_state *run, fnzi_run_lower_fn *value, void *user,
                                         fnz_request *call, fnz_arg **out);
/* Lowers without `value`, and applies: the arguments hold handles. */
FNZ_MUST_CHECK fnz_status fnzi_run_lower_apply(fnzi_run_state *run, fnz_request *call,
                                               fnz_handle *outputs, size_t count);

/* The number of a symbolic value of the current frame of a run, or the example that the program has
 * of it; *found false for neither. */
FNZ_MUST_CHECK fnz_status fnzi_run_number_find(fnzi_run_state *run, uint64_t value, bool *found,
                                               fnz_arg *out);
/* The same, for who looks up symbols: UNSUPPORTED for neither. */
FNZ_MUST_CHECK fnz_status fnzi_run_number_of(void *run, uint64_t value, fnz_arg *out);

/* Whether nodes of this operator read or check sizes and dtypes only: no kernel computes them. */
bool fnzi_run_is_number_op(const fnz_op *op);
/* Nodes that read or check sizes: sym_size.int, _assert_tensor_metadata, ... and the arithmetic on
 * sizes. `geometry(user, value)` returns the current geometry of a tensor. */
typedef const fnz_geometry *fnzi_run_geometry_fn(void *user, uint64_t value);
FNZ_MUST_CHECK fnz_status fnzi_run_number_node(fnzi_run_state *run, const fnzi_node *node,
                                               fnzi_run_geometry_fn *geometry, void *user,
                                               bool *done);
/* `item`: the number in a tensor of one element; unknown when the backend has no numbers. */
FNZ_MUST_CHECK fnz_status fnzi_run_read_number(fnzi_run_state *run, const fnzi_node *node,
                                               fnz_handle value);

/* It writes an argument, by its schema or, in training, as batch norm writes its statistics. */
bool fnzi_run_node_writes(const fnzi_node *node);
/* It goes by strides of an argument that does not lie in rows, as values do: a window of its
 * memory, or a number of it. */
bool fnzi_run_node_reads_memory(const fnzi_graph *graph, const fnzi_node *node);
/* No node does; UNSUPPORTED. */
FNZ_MUST_CHECK fnz_status fnzi_run_values_check(fnz_context *ctx, const fnz_program *program);
/* Both forms of batch norm begin with input, weight, bias, running mean and variance, training,
 * momentum, eps. */
bool fnzi_run_is_norm(const fnz_op *op);
enum { FNZI_RUN_NORM_MEAN = 3, FNZI_RUN_NORM_VAR, FNZI_RUN_NORM_TRAINING, FNZI_RUN_NORM_EPS = 7 };

/* The tensor results of a node, lists flattened; an undefined one is FNZ_ARG_NONE. In run->scratch.
 */
FNZ_MUST_CHECK fnz_status fnzi_run_node_results(fnzi_run_state *run, const fnzi_node *node,
                                                fnz_arg **out, size_t *count);

/* A call with its results; releases them when the backend gave another number of them. */
FNZ_MUST_CHECK fnz_status fnzi_run_apply(fnzi_run_state *run, const fnz_request *call,
                                         fnz_handle *outputs, size_t count);

/* Checks the types of a program that was read, once, before it runs. For the api.c files. */
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
