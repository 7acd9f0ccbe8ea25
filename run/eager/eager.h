/* eager.h - the aliasing interpreter: its tensors, which are windows into memory, and its rules.
 *
 * It is the yardstick of the library, and shares no rule for views or writes with views/,
 * mutations/ or functionalize/ on purpose. From the bottom up:
 *
 *   overlap.c window.c strides.c     geometry: places in common, windows, eager's strides
 *   memory.c                         tensors
 *   ops.c                            what the rules of all operators use
 *   split.c view_or_copy.c multi.c views.c
 *                                    operators that are views, or may be one
 *   sets.c norms.c custom.c          rules of operators that change tensors
 *   dtypes.c write_check.c write_number.c write.c
 *                                    operators that write, by their schema
 *   special.c                        the table of operators that do something else
 *   bodies.c interp.c                nodes, bodies and programs */
#ifndef FNZI_RUN_EAGER_EAGER_H
#define FNZI_RUN_EAGER_EAGER_H

#include "run/eager/overlap.h"
#include "run/frames.h"

/* A tensor of the original program. In-place operators return the very tensor they wrote, so
 * several values of the graph may be one tensor. */
typedef struct fnzi_eag_tensor {
  fnzi_run_item item;
  fnzi_run_memory *memory;
  const fnz_geometry *g;
  fnz_handle cached;             /* its value in the backend, 0 for none ... */
  uint64_t cached_version;       /* ... computed when the memory had this version */
  struct fnzi_eag_tensor *spare; /* the next one in the list of ended tensors */
  fnz_geometry *own;             /* the geometry it was created with, in `numbers` */
  int64_t *numbers;              /* sizes and strides */
  uint32_t capacity;             /* the rank that `numbers` has room for */
} fnzi_eag_tensor;

typedef struct fnzi_eag_interp {
  fnzi_run_state run;
  struct {
    fnzi_eag_tensor **data;
    size_t count, capacity;
  } all;
  fnzi_eag_tensor *spare[FNZ_MAX_RANK + 1]; /* ended tensors, by the rank of their room */
  const fnz_geometry **initial;             /* per input, to see what changed */
  fnzi_run_memory **initial_memory;
} fnzi_eag_interp;

/* The tensor of a value of the current frame, NULL for none. */
static inline fnzi_eag_tensor *fnzi_eag_tensor_of(const fnzi_eag_interp *in, uint64_t value) {
  return (fnzi_eag_tensor *)in->run.items[value];
}
/* NULL also for an argument that is no tensor. */
static inline fnzi_eag_tensor *fnzi_eag_arg_tensor(const fnzi_eag_interp *in, const fnz_arg *arg) {
  return arg->tag == FNZ_ARG_VALUE ? fnzi_eag_tensor_of(in, arg->u.value) : NULL;
}

/* A geometry that can be changed. */
typedef struct fnzi_eag_window {
  fnz_dtype dtype;
  uint32_t rank;
  bool is_conj, is_neg;
  int64_t offset;
  int64_t sizes[FNZ_MAX_RANK], strides[FNZ_MAX_RANK];
} fnzi_eag_window;

/* The decision of a view rule about its result. */
typedef enum fnzi_eag_outcome {
  FNZI_EAG_VIEW,   /* a window into the argument's memory */
  FNZI_EAG_SELF,   /* the argument itself */
  FNZI_EAG_COPY,   /* new memory in the window's shape, with the argument's elements */
  FNZI_EAG_CAST,   /* the same in another dtype */
  FNZI_EAG_MANY,   /* the rule has added its results */
  FNZI_EAG_COMPUTE /* no alias: the backend computes it */
} fnzi_eag_outcome;

/* The operator that is performed. */
typedef struct fnzi_eag_op {
  fnzi_eag_interp *in;
  fnz_context *ctx;
  const fnzi_node *node;
  const fnz_op *op;
  const fnz_arg *args;   /* one per parameter: defaults filled in, symbols as numbers */
  fnzi_eag_tensor *self; /* args[0], in a view rule */
  fnzi_eag_outcome outcome;
  const fnz_op *twin; /* the functional operator that computes what is written, and its arguments */
  const fnz_arg *twin_args;
  bool knows_own; /* `own` is known: the dtype that the twin computes by itself, ... */
  fnz_dtype own;  /* ... when it is not elementwise and the target has another one */
  const fnzi_eag_tensor
      *cast_to; /* the first operand is cast to its dtype before the twin; NULL: not */
  bool in_loop; /* an operand overlaps the target: elements are computed one by one, as in eager */
  const uint32_t *order; /* of the dimensions in eager's loop; NULL where it does not matter */
  struct {
    fnzi_eag_tensor **data; /* NULL for an undefined one */
    size_t count, capacity;
  } results;
} fnzi_eag_op;

/* --- window.c --------------------------------------------------------------------------------- */
void fnzi_eag_window_of(const fnz_geometry *g, fnzi_eag_window *out);
fnz_geometry fnzi_eag_window_geometry(const fnzi_eag_window *w); /* borrows the window's arrays */
int64_t fnzi_eag_window_elements(const fnzi_eag_window *w);

/* Arguments by their place. */
int64_t fnzi_eag_op_int(const fnzi_eag_op *s, size_t i, int64_t fallback);
FNZ_MUST_CHECK fnz_status fnzi_eag_op_dim(fnzi_eag_op *s, size_t i, uint32_t rank, uint32_t *out);
FNZ_MUST_CHECK fnz_status fnzi_eag_op_ints(fnzi_eag_op *s, size_t i, int64_t out[FNZ_MAX_RANK],
                                           uint32_t *count);
/* Replaces a size of -1, for `numel` elements. */
FNZ_MUST_CHECK fnz_status fnzi_eag_op_infer_sizes(fnzi_eag_op *s, int64_t *sizes, uint32_t rank,
                                                  int64_t numel);
fnz_status fnzi_eag_op_refuse(fnzi_eag_op *s, const char *why, int64_t a, int64_t b); /* BOUNDS */
/* Fails when cells are no bytes: then memory has one dtype only. */
FNZ_MUST_CHECK fnz_status fnzi_eag_op_need_bytes(fnzi_eag_op *s);
/* Broadcasts `sizes`, an array of FNZ_MAX_RANK, with the sizes of a tensor; BOUNDS where sizes
 * differ and none is 1. */
FNZ_MUST_CHECK fnz_status fnzi_eag_op_broadcast_sizes(fnzi_eag_op *s, const fnz_geometry *g,
                                                      int64_t *sizes, uint32_t *rank);

void fnzi_eag_window_dense(fnzi_eag_window *w); /* row-major strides and offset 0 */
/* Strides of a view of the window with other sizes; false when there are none. */
bool fnzi_eag_window_strides(const fnzi_eag_window *w, const int64_t *sizes, uint32_t rank,
                             int64_t *out);
void fnzi_eag_window_slice(fnzi_eag_window *w, uint32_t dim, int64_t start, int64_t end,
                           int64_t step);
/* The window begins `index` steps later along a dimension. */
void fnzi_eag_window_move(fnzi_eag_window *w, uint32_t dim, int64_t index);
void fnzi_eag_window_drop(fnzi_eag_window *w, uint32_t dim);
FNZ_MUST_CHECK fnz_status fnzi_eag_window_insert(fnzi_eag_op *s, fnzi_eag_window *w, uint32_t dim,
                                                 int64_t size, int64_t stride);
void fnzi_eag_window_swap(fnzi_eag_window *w, uint32_t a, uint32_t b);
FNZ_MUST_CHECK fnz_status fnzi_eag_window_expand(fnzi_eag_op *s, fnzi_eag_window *w,
                                                 const int64_t *sizes, uint32_t rank);
/* Adds dimensions of size 1 where atleast_3d does. */
FNZ_MUST_CHECK fnz_status fnzi_eag_window_grow(fnzi_eag_op *s, fnzi_eag_window *w, uint32_t rank);
FNZ_MUST_CHECK fnz_status fnzi_eag_window_real(fnzi_eag_op *s,
                                               fnzi_eag_window *w); /* as view_as_real */

/* --- strides.c -------------------------------------------------------------------------------- */
/* The strides that eager gives to an out= tensor that an elementwise operator resizes. */
void fnzi_eag_resized_strides(fnzi_eag_op *s, const fnz_op *twin, const fnz_arg *args,
                              uint32_t rank, const int64_t *sizes, int64_t *strides);
/* The geometry of a copy or a cast that keeps the order of dimensions: dense strides stay, others
 * are made dense in the order in which the dimensions lie. */
void fnzi_eag_window_preserve(fnzi_eag_window *w);

/* --- memory.c --------------------------------------------------------------------------------- */
/* A tensor with the window's geometry over memory. */
FNZ_MUST_CHECK fnz_status fnzi_eag_tensor_create(fnzi_eag_interp *in, fnzi_run_memory *memory,
                                                 const fnzi_eag_window *w, fnzi_eag_tensor **out);
/* Ends the tensor, and its memory with its last tensor. */
void fnzi_eag_tensor_end(fnzi_eag_interp *in, fnzi_eag_tensor *t);
FNZ_MUST_CHECK fnz_status fnzi_eag_tensor_reshape(fnzi_eag_interp *in, fnzi_eag_tensor *t,
                                                  const fnzi_eag_window *w);
void fnzi_eag_tensor_forget(fnzi_eag_interp *in, fnzi_eag_tensor *t); /* drops cached values */
/* The tensor's value in the backend; borrowed until the memory is written. */
FNZ_MUST_CHECK fnz_status fnzi_eag_tensor_value(fnzi_eag_interp *in, fnzi_eag_tensor *t,
                                                fnz_handle *out);
/* New memory with the window's geometry and the elements of a value (borrowed). */
FNZ_MUST_CHECK fnz_status fnzi_eag_tensor_store(fnzi_eag_interp *in, const fnzi_eag_window *w,
                                                fnz_handle value, fnzi_eag_tensor **out);
/* Overwrites the elements of t one by one, dimensions in this order (NULL: row-major). The value
 * (owned) has t's dtype and sizes. */
FNZ_MUST_CHECK fnz_status fnzi_eag_tensor_write(fnzi_eag_interp *in, fnzi_eag_tensor *t,
                                                fnz_handle owned, const uint32_t *order);
/* Puts the elements of a value (borrowed) into memory, where the geometry says. */
FNZ_MUST_CHECK fnz_status fnzi_eag_deposit(fnzi_eag_interp *in, const fnz_geometry *g,
                                           const uint32_t *order, fnz_handle value,
                                           fnzi_run_memory *memory);
/* An operator of one tensor argument, given by its handle, and a dtype (or FNZ_DTYPE_COUNT). */
FNZ_MUST_CHECK fnz_status fnzi_eag_unary(fnzi_eag_interp *in, const char *name, fnz_handle value,
                                         fnz_dtype dtype, fnz_handle *out);

/* --- ops.c ------------------------------------------------------------------------------------ */
FNZ_MUST_CHECK fnz_status fnzi_eag_op_tensor(fnzi_eag_op *s, const fnz_arg *arg,
                                             fnzi_eag_tensor **out);
/* The geometry of a tensor argument; `user` is the fnzi_eag_op. */
const fnz_geometry *fnzi_eag_op_geometry(void *user, const fnz_arg *arg);
/* The recorded geometry of result k of the node; NULL when the program records none. */
const fnz_geometry *fnzi_eag_op_recorded(const fnzi_eag_op *s, const fnz_arg *results, size_t k);
/* Arguments for the backend, in the scratch; `args` as in fnzi_eag_op. */
FNZ_MUST_CHECK fnz_status fnzi_eag_lower(fnzi_eag_interp *in, fnz_request *call, fnz_arg **out);
/* Applies an operator to tensors; `args` as in fnzi_eag_op. */
FNZ_MUST_CHECK fnz_status fnzi_eag_apply(fnzi_eag_interp *in, fnz_request call, fnz_handle *outputs,
                                         size_t count);
/* Results of the operator: a tensor; a window into self; new memory for a computed value, 0 being
 * None. Recorded strides are eager's; NULL when the program has none. */
FNZ_MUST_CHECK fnz_status fnzi_eag_op_push(fnzi_eag_op *s, fnzi_eag_tensor *tensor);
FNZ_MUST_CHECK fnz_status fnzi_eag_op_push_window(fnzi_eag_op *s, const fnzi_eag_window *w);
FNZ_MUST_CHECK fnz_status fnzi_eag_op_push_value(fnzi_eag_op *s, const fnz_geometry *recorded,
                                                 fnz_handle value);
/* Computes a functional operator; the results get the recorded strides. `named` has the node's
 * result for each; NULL where `expected` knows all sizes. */
FNZ_MUST_CHECK fnz_status fnzi_eag_op_compute(fnzi_eag_op *s, const fnz_arg *named,
                                              const fnz_geometry **expected, size_t count);

/* --- split.c, view_or_copy.c, multi.c, views.c ------------------------------------------------ */
/* Turns the window of self into that of the result, or sets s->outcome. */
typedef fnz_status fnzi_eag_view_rule(fnzi_eag_op *s, fnzi_eag_window *w);
/* The argument itself is the result. */
FNZ_MUST_CHECK fnz_status fnzi_eag_view_itself(fnzi_eag_op *s, fnzi_eag_window *w);
/* The rule of an operator that cuts a tensor into pieces; NULL for others. */
fnzi_eag_view_rule *fnzi_eag_split_rule(const fnz_op *op);
/* The rule of an operator that is a view, its argument or a copy, depending on eager strides. */
fnzi_eag_view_rule *fnzi_eag_view_or_copy_rule(const fnz_op *op);
FNZ_MUST_CHECK fnz_status fnzi_eag_broadcast_tensors(fnzi_eag_op *s);
FNZ_MUST_CHECK fnz_status fnzi_eag_meshgrid(fnzi_eag_op *s);
FNZ_MUST_CHECK fnz_status fnzi_eag_at_least(fnzi_eag_op *s);
/* einsum of one tensor that sums nothing: a window. `*done` is false for every other call. */
FNZ_MUST_CHECK fnz_status fnzi_eag_einsum(fnzi_eag_op *s, bool *done);
/* cartesian_prod of one tensor, which is that tensor; likewise. */
FNZ_MUST_CHECK fnz_status fnzi_eag_cartesian_prod(fnzi_eag_op *s, bool *done);
/* The result may be a window although the operator's schema does not say this. */
bool fnzi_eag_hides_window(const fnzi_node *node);
/* Performs an operator that is a view or may be one. */
FNZ_MUST_CHECK fnz_status fnzi_eag_view(fnzi_eag_op *s, bool *done);

/* --- sets.c, norms.c, custom.c ---------------------------------------------------------------- */
FNZ_MUST_CHECK fnz_status fnzi_eag_set_tensor(fnzi_eag_op *s);
FNZ_MUST_CHECK fnz_status fnzi_eag_set_window(fnzi_eag_op *s);
FNZ_MUST_CHECK fnz_status fnzi_eag_set_empty(fnzi_eag_op *s);
/* The tensor gets the window's sizes, row-major from where it begins, and more memory if need be.
 */
FNZ_MUST_CHECK fnz_status fnzi_eag_resize_to(fnzi_eag_op *s, fnzi_eag_tensor *self,
                                             fnzi_eag_window *w);
FNZ_MUST_CHECK fnz_status fnzi_eag_resize(fnzi_eag_op *s);    /* resize_ */
FNZ_MUST_CHECK fnz_status fnzi_eag_resize_as(fnzi_eag_op *s); /* resize_as_ */
FNZ_MUST_CHECK fnz_status fnzi_eag_nothing(fnzi_eag_op *s);
FNZ_MUST_CHECK fnz_status fnzi_eag_wait(fnzi_eag_op *s);
/* Performs a normalization that writes its statistics. */
FNZ_MUST_CHECK fnz_status fnzi_eag_norm(fnzi_eag_op *s, bool *done);
/* Performs a declared operator that writes. */
FNZ_MUST_CHECK fnz_status fnzi_eag_custom(fnzi_eag_op *s);

/* --- dtypes.c --------------------------------------------------------------------------------- */
/* Decides how the twin computes in the dtype of the only target: dtype= may be set in `args`. */
FNZ_MUST_CHECK fnz_status fnzi_eag_find_dtype(fnzi_eag_op *s, const fnz_op *twin,
                                              const fnzi_eag_tensor *target, fnz_arg *args);
/* Applies the twin in that way. */
FNZ_MUST_CHECK fnz_status fnzi_eag_apply_twin(fnzi_eag_op *s, const fnz_op *twin,
                                              const fnz_arg *args,
                                              const fnz_geometry *const *expected,
                                              fnz_handle *outputs, size_t count);

/* --- alike.c ---------------------------------------------------------------------------------- */
/* The argument with the number that the operator writes to places that it chooses, where an element
 * that shares its place is written if any of them is chosen; -1: it writes otherwise. */
int fnzi_eag_chosen_number(fnzi_eag_op *s, const fnz_geometry *target);
/* The operator writes one number, to all elements of a place or to none; `sizes` then has one
 * element for each place, and room for FNZ_MAX_RANK. */
FNZ_MUST_CHECK fnz_status fnzi_eag_chosen_alike(fnzi_eag_op *s, const fnz_geometry *target,
                                                int64_t *sizes, bool *out);

/* --- write_check.c, write_number.c, write.c --------------------------------------------------- */
/* Does eager allow the twin's result to be written to `target`? `recorded`: the target's geometry
 * after the write, NULL when the program has none. Sets s->in_loop and s->order. */
FNZ_MUST_CHECK fnz_status fnzi_eag_check_write(fnzi_eag_op *s, const fnz_op *twin,
                                               const fnz_arg *args, const fnzi_eag_tensor *target,
                                               const fnz_geometry *recorded);
/* The same of a target that was just resized. Eager looks for operands in the target before it
 * resizes it, and then reads what it has written. */
FNZ_MUST_CHECK fnz_status fnzi_eag_check_resized(fnzi_eag_op *s, const fnzi_eag_tensor *target);
/* No argument but self lies in the target's memory; a number is read first. */
FNZ_MUST_CHECK fnz_status fnzi_eag_check_apart(fnzi_eag_op *s, const fnzi_eag_tensor *target);
/* Eager reads all of the operand before it writes anything, also where it works in a loop. */
bool fnzi_eag_reads_first(fnzi_eag_op *s, const fnz_op *twin, const fnz_arg *args,
                          const fnzi_eag_tensor *target, const fnzi_eag_tensor *operand);
/* Writes one number to chosen places of a target with several elements in one place; *done is false
 * for every other call. */
FNZ_MUST_CHECK fnz_status fnzi_eag_write_chosen(fnzi_eag_op *s, fnzi_eag_tensor *target,
                                                bool *done);
/* Performs an operator that writes by its schema. */
FNZ_MUST_CHECK fnz_status fnzi_eag_write(fnzi_eag_op *s);

/* --- special.c -------------------------------------------------------------------------------- */
/* Performs an operator that does not do what its schema says: lists, batch norm, set_, resize_. */
FNZ_MUST_CHECK fnz_status fnzi_eag_special(fnzi_eag_op *s, bool *done);

/* --- bodies.c --------------------------------------------------------------------------------- */
fnzi_run_interpreter fnzi_eag_interpreter(fnzi_eag_interp *in,
                                          fnz_status (*node)(void *self, const fnzi_node *node));

#endif
