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
typedef struct fnzi_eager {
  fnzi_run_item item;
  fnzi_run_memory *memory;
  const fnz_geometry *g;
  fnz_handle cached;        /* its value in the backend, 0 for none ... */
  uint64_t cached_version;  /* ... computed when the memory had this version */
  struct fnzi_eager *spare; /* the next one in the list of ended tensors */
  fnz_geometry *own;        /* the geometry it was created with, in `numbers` */
  int64_t *numbers;         /* sizes and strides */
  uint32_t room;            /* the rank that `numbers` has room for */
} fnzi_eager;

typedef struct fnzi_interp {
  fnzi_run_state run;
  struct {
    fnzi_eager **data;
    size_t count, capacity;
  } all;
  fnzi_eager *spare[FNZ_MAX_RANK + 1]; /* ended tensors, by the rank of their room */
  const fnz_geometry **initial;        /* per input, to see what changed */
  fnzi_run_memory **initial_memory;
} fnzi_interp;

/* The tensor of a value of the current frame, NULL for none. */
static inline fnzi_eager *fnzi_eager_of(const fnzi_interp *in, uint64_t value) {
  return (fnzi_eager *)in->run.items[value];
}

/* A geometry that can be changed. */
typedef struct fnzi_pane {
  fnz_dtype dtype;
  uint32_t rank;
  bool is_conj, is_neg;
  int64_t offset;
  int64_t sizes[FNZ_MAX_RANK], strides[FNZ_MAX_RANK];
} fnzi_pane;

/* What a view rule decided about its result. */
typedef enum fnzi_eag_outcome {
  FNZI_EAG_VIEW,   /* a window into the argument's memory */
  FNZI_EAG_SELF,   /* the argument itself */
  FNZI_EAG_COPY,   /* new memory in the window's shape, with the argument's elements */
  FNZI_EAG_CAST,   /* the same in another dtype */
  FNZI_EAG_MANY,   /* the rule has added its results */
  FNZI_EAG_COMPUTE /* no alias: the backend computes it */
} fnzi_eag_outcome;

/* The operator that is performed. */
typedef struct fnzi_act {
  fnzi_interp *in;
  fnz_context *ctx;
  const fnzi_node *node;
  const fnz_op *op;
  const fnz_arg *args; /* one per parameter: defaults filled in, symbols as numbers */
  fnzi_eager *self;    /* args[0], in a view rule */
  fnzi_eag_outcome outcome;
  const fnz_op *twin; /* the functional operator that computes what is written, and its arguments */
  const fnz_arg *twin_args;
  bool knows_own;            /* `own` is known: the dtype that the twin computes by itself, ... */
  fnz_dtype own;             /* ... when it is not elementwise and the target has another one */
  const fnzi_eager *cast_to; /* the first operand is cast to its dtype before the twin; NULL: not */
  bool in_loop; /* an operand overlaps the target: elements are computed one by one, as in eager */
  const uint32_t *order; /* of the dimensions in eager's loop; NULL where it does not matter */
  struct {
    fnzi_eager **data; /* NULL for an undefined one */
    size_t count, capacity;
  } results;
} fnzi_act;

/* --- window.c --------------------------------------------------------------------------------- */
void fnzi_pane_of(const fnz_geometry *g, fnzi_pane *out);
fnz_geometry fnzi_pane_geometry(const fnzi_pane *w); /* borrows the window's arrays */
int64_t fnzi_pane_elements(const fnzi_pane *w);

/* Arguments by their place. */
int64_t fnzi_act_int(const fnzi_act *s, size_t i, int64_t fallback);
FNZ_MUST_CHECK fnz_status fnzi_act_dim(fnzi_act *s, size_t i, uint32_t rank, uint32_t *out);
FNZ_MUST_CHECK fnz_status fnzi_act_ints(fnzi_act *s, size_t i, int64_t out[FNZ_MAX_RANK],
                                        uint32_t *count);
/* Replaces a size of -1, for `numel` elements. */
FNZ_MUST_CHECK fnz_status fnzi_act_infer(fnzi_act *s, int64_t *sizes, uint32_t rank, int64_t numel);
fnz_status fnzi_act_refuse(fnzi_act *s, const char *why, int64_t a, int64_t b); /* BOUNDS */
/* Fails when cells are no bytes: then memory has one dtype only. */
FNZ_MUST_CHECK fnz_status fnzi_act_need_bytes(fnzi_act *s);
/* Broadcasts `sizes`, with room for FNZ_MAX_RANK, with those of a tensor; BOUNDS where sizes differ
 * and none is 1. */
FNZ_MUST_CHECK fnz_status fnzi_act_join_sizes(fnzi_act *s, const fnz_geometry *g, int64_t *sizes,
                                              uint32_t *rank);

void fnzi_pane_dense(fnzi_pane *w); /* row-major strides and offset 0 */
/* Strides of a view of the window with other sizes; false when there are none. */
bool fnzi_pane_strides(const fnzi_pane *w, const int64_t *sizes, uint32_t rank, int64_t *out);
void fnzi_pane_slice(fnzi_pane *w, uint32_t dim, int64_t start, int64_t end, int64_t step);
/* The window begins `index` steps later along a dimension. */
void fnzi_pane_move(fnzi_pane *w, uint32_t dim, int64_t index);
void fnzi_pane_drop(fnzi_pane *w, uint32_t dim);
FNZ_MUST_CHECK fnz_status fnzi_pane_insert(fnzi_act *s, fnzi_pane *w, uint32_t dim, int64_t size,
                                           int64_t stride);
void fnzi_pane_swap(fnzi_pane *w, uint32_t a, uint32_t b);
FNZ_MUST_CHECK fnz_status fnzi_pane_expand(fnzi_act *s, fnzi_pane *w, const int64_t *sizes,
                                           uint32_t rank);
/* Adds dimensions of size 1 where atleast_3d does. */
FNZ_MUST_CHECK fnz_status fnzi_pane_grow(fnzi_act *s, fnzi_pane *w, uint32_t rank);
FNZ_MUST_CHECK fnz_status fnzi_pane_real(fnzi_act *s, fnzi_pane *w); /* as view_as_real */

/* --- strides.c -------------------------------------------------------------------------------- */
/* The strides that eager gives to an out= tensor that an elementwise operator resizes. */
void fnzi_act_resized_strides(fnzi_act *s, const fnz_op *twin, const fnz_arg *args, uint32_t rank,
                              const int64_t *sizes, int64_t *strides);
/* The geometry of a copy or a cast that keeps the order of dimensions: dense strides stay, others
 * are made dense in the order in which the dimensions lie. */
void fnzi_pane_preserve(fnzi_pane *w);

/* --- memory.c --------------------------------------------------------------------------------- */
/* A tensor with the window's geometry over memory. */
FNZ_MUST_CHECK fnz_status fnzi_eager_create(fnzi_interp *in, fnzi_run_memory *memory,
                                            const fnzi_pane *w, fnzi_eager **out);
/* Ends the tensor, and its memory with its last tensor. */
void fnzi_eager_end(fnzi_interp *in, fnzi_eager *t);
FNZ_MUST_CHECK fnz_status fnzi_eager_reshape(fnzi_interp *in, fnzi_eager *t, const fnzi_pane *w);
void fnzi_eager_forget(fnzi_interp *in, fnzi_eager *t); /* what is cached */
/* The tensor's value in the backend; borrowed until the memory is written. */
FNZ_MUST_CHECK fnz_status fnzi_eager_value(fnzi_interp *in, fnzi_eager *t, fnz_handle *out);
/* New memory with the window's geometry and the elements of a value (borrowed). */
FNZ_MUST_CHECK fnz_status fnzi_eager_store(fnzi_interp *in, const fnzi_pane *w, fnz_handle value,
                                           fnzi_eager **out);
/* Overwrites the elements of t one by one, dimensions in this order (NULL: row-major). The value
 * (owned) has t's dtype and sizes. */
FNZ_MUST_CHECK fnz_status fnzi_eager_write(fnzi_interp *in, fnzi_eager *t, fnz_handle owned,
                                           const uint32_t *order);
/* Puts the elements of a value (borrowed) into memory, where the geometry says. */
FNZ_MUST_CHECK fnz_status fnzi_eager_deposit(fnzi_interp *in, const fnz_geometry *g,
                                             const uint32_t *order, fnz_handle value,
                                             fnzi_run_memory *memory);
/* An operator of one tensor argument, given by its handle, and a dtype (or FNZ_DTYPE_COUNT). */
FNZ_MUST_CHECK fnz_status fnzi_eager_unary(fnzi_interp *in, const char *name, fnz_handle value,
                                           fnz_dtype dtype, fnz_handle *out);

/* --- ops.c ------------------------------------------------------------------------------------ */
FNZ_MUST_CHECK fnz_status fnzi_act_tensor(fnzi_act *s, const fnz_arg *arg, fnzi_eager **out);
/* The geometry of a tensor argument; `user` is the fnzi_act. */
const fnz_geometry *fnzi_act_geometry_of(void *user, const fnz_arg *arg);
/* The recorded geometry of result k of the node; NULL when the program records none. */
const fnz_geometry *fnzi_act_recorded(const fnzi_act *s, const fnz_arg *results, size_t k);
/* Arguments for the backend, in the scratch; `args` as in fnzi_act. */
FNZ_MUST_CHECK fnz_status fnzi_eager_lower(fnzi_interp *in, const fnz_op *op, const fnz_arg *args,
                                           size_t nargs, fnz_arg **out);
/* Applies an operator to tensors; `args` as in fnzi_act. */
FNZ_MUST_CHECK fnz_status fnzi_eager_apply(fnzi_interp *in, const fnz_op *op, const fnz_arg *args,
                                           size_t nargs, const fnz_geometry *const *expected,
                                           fnz_handle *outputs, size_t count);
/* Results of the operator: a tensor; a window into self; new memory for a computed value, 0 being
 * None. Recorded strides are those of eager; NULL when the program has none. */
FNZ_MUST_CHECK fnz_status fnzi_act_push(fnzi_act *s, fnzi_eager *tensor);
FNZ_MUST_CHECK fnz_status fnzi_act_piece(fnzi_act *s, const fnzi_pane *w);
FNZ_MUST_CHECK fnz_status fnzi_act_keep(fnzi_act *s, const fnz_geometry *recorded,
                                        fnz_handle value);
/* Computes a functional operator; the results get the recorded strides. `named` has the node's
 * result for each; NULL where `expected` knows all sizes. */
FNZ_MUST_CHECK fnz_status fnzi_act_compute(fnzi_act *s, const fnz_arg *named,
                                           const fnz_geometry **expected, size_t count);

/* --- split.c, view_or_copy.c, multi.c, views.c ------------------------------------------------ */
/* Turns the window of self into that of the result, or sets s->outcome. */
typedef fnz_status fnzi_pane_rule(fnzi_act *s, fnzi_pane *w);
/* The rule of an operator that cuts a tensor into pieces; NULL for others. */
fnzi_pane_rule *fnzi_piece_rule(const fnz_op *op);
/* The rule of an operator that is a view, its argument or a copy, depending on eager strides. */
fnzi_pane_rule *fnzi_composite_rule(const fnz_op *op);
FNZ_MUST_CHECK fnz_status fnzi_act_broadcast(fnzi_act *s);
FNZ_MUST_CHECK fnz_status fnzi_act_meshgrid(fnzi_act *s);
FNZ_MUST_CHECK fnz_status fnzi_act_at_least(fnzi_act *s);
/* einsum of one tensor that sums nothing: a window. `*done` is false for every other call. */
FNZ_MUST_CHECK fnz_status fnzi_act_einsum(fnzi_act *s, bool *done);
/* cartesian_prod of one tensor, which is that tensor; likewise. */
FNZ_MUST_CHECK fnz_status fnzi_act_cartesian_prod(fnzi_act *s, bool *done);
/* The result may be a window although the operator's schema does not say so. */
bool fnzi_node_hides_window(const fnzi_node *node);
/* Performs an operator that is a view or may be one. */
FNZ_MUST_CHECK fnz_status fnzi_act_view(fnzi_act *s, bool *done);

/* --- sets.c, norms.c, custom.c ---------------------------------------------------------------- */
FNZ_MUST_CHECK fnz_status fnzi_act_set_tensor(fnzi_act *s);
FNZ_MUST_CHECK fnz_status fnzi_act_set_window(fnzi_act *s);
FNZ_MUST_CHECK fnz_status fnzi_act_set_empty(fnzi_act *s);
/* The tensor gets the window's sizes, row-major from where it begins, and more memory if need be.
 */
FNZ_MUST_CHECK fnz_status fnzi_act_resize(fnzi_act *s, fnzi_eager *self, fnzi_pane *w);
FNZ_MUST_CHECK fnz_status fnzi_eag_resize(fnzi_act *s);    /* resize_ */
FNZ_MUST_CHECK fnz_status fnzi_eag_resize_as(fnzi_act *s); /* resize_as_ */
FNZ_MUST_CHECK fnz_status fnzi_act_nothing(fnzi_act *s);
FNZ_MUST_CHECK fnz_status fnzi_act_wait(fnzi_act *s);
/* Performs a normalization that writes its statistics. */
FNZ_MUST_CHECK fnz_status fnzi_act_norm(fnzi_act *s, bool *done);
/* Performs a declared operator that writes. */
FNZ_MUST_CHECK fnz_status fnzi_act_custom(fnzi_act *s);

/* --- dtypes.c --------------------------------------------------------------------------------- */
/* Decides how the twin computes in the dtype of the only target: dtype= may be set in `args`. */
FNZ_MUST_CHECK fnz_status fnzi_act_find_dtype(fnzi_act *s, const fnz_op *twin,
                                              const fnzi_eager *target, fnz_arg *args);
/* Applies the twin in that way. */
FNZ_MUST_CHECK fnz_status fnzi_act_apply_twin(fnzi_act *s, const fnz_op *twin, const fnz_arg *args,
                                              const fnz_geometry *const *expected,
                                              fnz_handle *outputs, size_t count);

/* --- write_check.c, write_number.c, write.c --------------------------------------------------- */
/* Does eager allow the twin's result to be written to `target`? `recorded`: the target's geometry
 * after the write, NULL when the program has none. Sets s->in_loop and s->order. */
FNZ_MUST_CHECK fnz_status fnzi_act_check(fnzi_act *s, const fnz_op *twin, const fnz_arg *args,
                                         const fnzi_eager *target, const fnz_geometry *recorded);
/* The same of a target that was just resized. Eager looks for operands in the target before it
 * resizes it, and then reads what it has written. */
FNZ_MUST_CHECK fnz_status fnzi_act_check_resized(fnzi_act *s, const fnzi_eager *target);
/* No argument but self lies in the target's memory; a number is read first. */
FNZ_MUST_CHECK fnz_status fnzi_act_check_apart(fnzi_act *s, const fnzi_eager *target);
/* Eager reads all of the operand before it writes anything, also where it works in a loop. */
bool fnzi_act_reads_first(fnzi_act *s, const fnz_op *twin, const fnz_arg *args,
                          const fnzi_eager *target, const fnzi_eager *operand);
/* Writes one number to chosen places of a target with several elements in one place; *done is false
 * for every other call. */
FNZ_MUST_CHECK fnz_status fnzi_act_write_chosen(fnzi_act *s, fnzi_eager *target, bool *done);
/* Performs an operator that writes by its schema. */
FNZ_MUST_CHECK fnz_status fnzi_act_write(fnzi_act *s);

/* --- special.c -------------------------------------------------------------------------------- */
/* Performs an operator that does not do what its schema says: lists, batch norm, set_, resize_. */
FNZ_MUST_CHECK fnz_status fnzi_act_special(fnzi_act *s, bool *done);

/* --- bodies.c --------------------------------------------------------------------------------- */
fnzi_interpreter fnzi_eager_interpreter(fnzi_interp *in,
                                        fnz_status (*node)(void *self, const fnzi_node *node));

#endif
