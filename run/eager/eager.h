/* eager.h - the aliasing interpreter's own structures: tensors that look at memory, and the node
 * that is at work. */
#ifndef FNZI_RUN_EAGER_EAGER_H
#define FNZI_RUN_EAGER_EAGER_H

#include "run/eager/overlap.h"
#include "run/frames.h"

/* A tensor of the original program. In-place operators return the very tensor they wrote, so
 * several values of the graph may be one tensor. */
typedef struct fnzi_eager {
  fnzi_item item;
  fnzi_memory *memory;
  const fnz_geometry *g;
  fnz_handle cached;        /* its value in the backend, 0 for none ... */
  uint64_t cached_version;  /* ... as the memory was at this version */
  struct fnzi_eager *spare; /* the next one, of those that have ended */
  fnz_geometry *own;        /* what `g` was first, with room for sizes and strides */
  int64_t *numbers;
  uint32_t room; /* its rank */
} fnzi_eager;

typedef struct fnzi_interp {
  fnzi_run run;
  struct {
    fnzi_eager **data;
    size_t count, capacity;
  } all;
  fnzi_eager *spare[FNZ_MAX_RANK + 1]; /* tensors that have ended, by the rank of their room */
  const fnz_geometry **initial;        /* of the inputs, to see what changed */
  fnzi_memory **initial_memory;
} fnzi_interp;

/* The tensor that a value of the frame at work is, NULL for none. */
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
typedef enum fnzi_outcome {
  FNZI_OUTCOME_VIEW,   /* a window into the argument's memory */
  FNZI_OUTCOME_SELF,   /* the argument itself */
  FNZI_OUTCOME_COPY,   /* new memory that looks like the window, with the argument's elements */
  FNZI_OUTCOME_CAST,   /* the same in another dtype */
  FNZI_OUTCOME_MANY,   /* the rule has added its results */
  FNZI_OUTCOME_COMPUTE /* neither: the backend computes it */
} fnzi_outcome;

/* The node at work. */
typedef struct fnzi_act {
  fnzi_interp *in;
  fnz_context *ctx;
  const fnzi_node *node;
  const fnz_op *op;
  const fnz_arg *args; /* one per parameter: defaults filled in, symbols as numbers */
  fnzi_eager *self;    /* args[0] where a view rule is at work */
  fnzi_outcome outcome;
  const fnz_op *twin; /* that computes what is written, and its arguments */
  const fnz_arg *twin_args;
  bool knows_own;            /* `own` is the dtype that the twin gives */
  fnz_dtype own;             /* where that is not of the target, and the twin not elementwise */
  const fnzi_eager *cast_to; /* the first operand takes its dtype before the twin; NULL: none */
  bool in_loop; /* an operand overlaps what is written: element after element, as eager goes */
  const uint32_t *order; /* of the loop's dimensions, where it matters; else NULL */
  struct {
    fnzi_eager **data; /* NULL for an undefined one */
    size_t count, capacity;
  } results;
} fnzi_act;

/* --- interp.c --------------------------------------------------------------------------------- */
FNZ_MUST_CHECK fnz_status fnzi_act_tensor(fnzi_act *s, const fnz_arg *arg, fnzi_eager **out);
FNZ_MUST_CHECK fnz_status fnzi_act_push(fnzi_act *s, fnzi_eager *tensor);
/* New memory for a computed value, as a result of the node. The recorded strides are those of
 * eager; NULL when the program does not say. A value 0 is None. */
FNZ_MUST_CHECK fnz_status fnzi_act_keep(fnzi_act *s, const fnz_geometry *recorded,
                                        fnz_handle value);
/* A tensor with the window's geometry over memory. */
FNZ_MUST_CHECK fnz_status fnzi_eager_create(fnzi_interp *in, fnzi_memory *memory,
                                            const fnzi_pane *w, fnzi_eager **out);
/* The tensor is no more, and neither is its memory if no other looks at it. */
void fnzi_eager_end(fnzi_interp *in, fnzi_eager *t);
FNZ_MUST_CHECK fnz_status fnzi_eager_reshape(fnzi_interp *in, fnzi_eager *t, const fnzi_pane *w);
void fnzi_eager_forget(fnzi_interp *in, fnzi_eager *t); /* what is cached */
/* The tensor's value in the backend; borrowed until the memory is written. */
FNZ_MUST_CHECK fnz_status fnzi_eager_value(fnzi_interp *in, fnzi_eager *t, fnz_handle *out);
/* New memory with the window's geometry and the elements of a value (borrowed). */
FNZ_MUST_CHECK fnz_status fnzi_eager_store(fnzi_interp *in, const fnzi_pane *w, fnz_handle value,
                                           fnzi_eager **out);
/* Overwrites the elements of t, one after the other by dimensions in this order (NULL: as they
 * are). The value (owned) has t's dtype and sizes. */
FNZ_MUST_CHECK fnz_status fnzi_eager_write(fnzi_interp *in, fnzi_eager *t, fnz_handle owned,
                                           const uint32_t *order);
/* The elements of a value to where the geometry says. */
FNZ_MUST_CHECK fnz_status fnzi_eager_deposit(fnzi_interp *in, const fnz_geometry *g,
                                             const uint32_t *order, fnz_handle value,
                                             fnzi_memory *memory);
/* Arguments for the backend, in the scratch; `args` as in fnzi_act. */
FNZ_MUST_CHECK fnz_status fnzi_eager_lower(fnzi_interp *in, const fnz_op *op, const fnz_arg *args,
                                           size_t nargs, fnz_arg **out);
/* Applies an operator to tensors; `args` as in fnzi_act. */
FNZ_MUST_CHECK fnz_status fnzi_eager_apply(fnzi_interp *in, const fnz_op *op, const fnz_arg *args,
                                           size_t nargs, const fnz_geometry *const *expected,
                                           fnz_handle *outputs, size_t count);
/* An operator of one tensor argument, given by its handle, and a dtype (or FNZ_DTYPE_COUNT). */
FNZ_MUST_CHECK fnz_status fnzi_eager_unary(fnzi_interp *in, const char *name, fnz_handle value,
                                           fnz_dtype dtype, fnz_handle *out);
/* Recorded geometry of result k of the node; NULL when the program does not say. */
const fnz_geometry *fnzi_act_recorded(const fnzi_act *s, const fnz_arg *results, size_t k);
void fnzi_pane_of(const fnz_geometry *g, fnzi_pane *out);
fnz_geometry fnzi_pane_geometry(const fnzi_pane *w); /* borrows the window's arrays */
void fnzi_pane_dense(fnzi_pane *w);                  /* row-major strides and offset 0 */

/* --- bodies.c --------------------------------------------------------------------------------- */
fnzi_interpreter fnzi_eager_interpreter(fnzi_interp *in,
                                        fnz_status (*node)(void *self, const fnzi_node *node));

/* --- views.c, view_or_copy.c ------------------------------------------------------------------ */
typedef fnz_status fnzi_pane_rule(fnzi_act *s, fnzi_pane *w);
/* Does what the node says when it is a view or may be one. */
FNZ_MUST_CHECK fnz_status fnzi_act_view(fnzi_act *s, bool *done);
/* A result that is a window into self. */
FNZ_MUST_CHECK fnz_status fnzi_act_piece(fnzi_act *s, const fnzi_pane *w);

/* The rule of an operator that is a view, its argument or a copy, whatever eager strides say. */
fnzi_pane_rule *fnzi_composite_rule(const fnz_op *op);
fnzi_pane_rule *fnzi_piece_rule(const fnz_op *op); /* of those, the ones that cut */

/* --- dtypes.c --------------------------------------------------------------------------------- */

/* Finds out how the twin gets to the dtype of the only tensor that is written: dtype= may be set in
 * `args`. */
FNZ_MUST_CHECK fnz_status fnzi_act_find_dtype(fnzi_act *s, const fnz_op *twin,
                                              const fnzi_eager *target, fnz_arg *args);
/* Applies the twin, as found. */
FNZ_MUST_CHECK fnz_status fnzi_act_apply_twin(fnzi_act *s, const fnz_op *twin, const fnz_arg *args,
                                              const fnz_geometry *const *expected,
                                              fnz_handle *outputs, size_t count);

/* --- strides.c -------------------------------------------------------------------------------- */

/* The strides that eager gives to an out= tensor that an elementwise operator resizes. */
void fnzi_act_resized_strides(fnzi_act *s, const fnz_op *twin, const fnz_arg *args, uint32_t rank,
                              const int64_t *sizes, int64_t *strides);
/* What a copy or a cast of the window looks like where it keeps the order of dimensions: dense
 * strides stay, others are closed up in the order in which they lie. */
void fnzi_pane_preserve(fnzi_pane *w);

/* --- window.c --------------------------------------------------------------------------------- */
fnz_status fnzi_act_refuse(fnzi_act *s, const char *why, int64_t a, int64_t b); /* BOUNDS */
/* Sizes of 1 and dimensions that are missing take those of the others; BOUNDS where they differ.
 * `sizes` has room for FNZ_MAX_RANK. */
fnz_status fnzi_act_join_sizes(fnzi_act *s, const fnz_geometry *g, int64_t *sizes, uint32_t *rank);
/* Fails when cells are no bytes: then memory has one dtype only. */
FNZ_MUST_CHECK fnz_status fnzi_act_need_bytes(fnzi_act *s);
int64_t fnzi_pane_elements(const fnzi_pane *w);
int64_t fnzi_act_int(const fnzi_act *s, size_t i, int64_t fallback);
FNZ_MUST_CHECK fnz_status fnzi_act_dim(fnzi_act *s, size_t i, uint32_t rank, uint32_t *out);
FNZ_MUST_CHECK fnz_status fnzi_act_ints(fnzi_act *s, size_t i, int64_t out[FNZ_MAX_RANK],
                                        uint32_t *count);
/* Sizes with -1 worked out, for `numel` elements. */
FNZ_MUST_CHECK fnz_status fnzi_act_infer(fnzi_act *s, int64_t *sizes, uint32_t rank, int64_t numel);
/* Strides by which memory seen as `w` can be seen with other sizes; false when there are none. */
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
FNZ_MUST_CHECK fnz_status fnzi_pane_real(fnzi_act *s, fnzi_pane *w); /* as view_as_real */

/* --- write_check.c, write.c, special.c -------------------------------------------------------- */
/* May `target` be written with what the twin gives? `recorded`: what it looks like afterwards, NULL
 * when nobody says. Sets s->in_loop and s->order. */
FNZ_MUST_CHECK fnz_status fnzi_act_check(fnzi_act *s, const fnz_op *twin, const fnz_arg *args,
                                         const fnzi_eager *target, const fnz_geometry *recorded);
/* Writes one number to chosen places of a target with several elements in one place; *done is false
 * for every other call (write_number.c). */
FNZ_MUST_CHECK fnz_status fnzi_act_write_chosen(fnzi_act *s, fnzi_eager *target, bool *done);
/* What chooses them does not lie there; a number is read first. */
FNZ_MUST_CHECK fnz_status fnzi_act_check_apart(fnzi_act *s, const fnzi_eager *target);
/* May a target be written that was just resized? Eager looks for operands in what is written before
 * it resizes, and then reads what it has written. */
FNZ_MUST_CHECK fnz_status fnzi_act_check_resized(fnzi_act *s, const fnzi_eager *target);
/* Eager reads all of the operand before it writes anything: where it works in a loop, too. */
bool fnzi_act_reads_first(fnzi_act *s, const fnz_op *twin, const fnz_arg *args,
                          const fnzi_eager *target, const fnzi_eager *operand);
/* Of the tensor that an argument stands for; `user` is the fnzi_act. */
const fnz_geometry *fnzi_act_geometry_of(void *user, const fnz_arg *arg);
/* Two geometries of one memory have a byte in common. Element sizes may differ. */
FNZ_MUST_CHECK fnz_status fnzi_act_meet(fnzi_act *s, const fnz_geometry *a, const fnz_geometry *b,
                                        bool *meet);
/* Inputs that look at the memory and have an element in common with `g` were written. */
FNZ_MUST_CHECK fnz_status fnzi_note_write(fnzi_interp *in, const fnzi_memory *memory,
                                          const fnz_geometry *g);
/* Does what a declared operator that writes does (custom.c). */
FNZ_MUST_CHECK fnz_status fnzi_act_custom(fnzi_act *s);
/* Does what an operator that writes by its schema does. */
FNZ_MUST_CHECK fnz_status fnzi_act_write(fnzi_act *s);
/* Computes a functional operator; the results get the recorded strides. `named`, one per result:
 * what the program calls it; NULL where that is known to `expected`. */
FNZ_MUST_CHECK fnz_status fnzi_act_compute(fnzi_act *s, const fnz_arg *named,
                                           const fnz_geometry **expected, size_t count);
/* The tensor gets the window's sizes, row-major from where it begins, and more memory if need be.
 */
FNZ_MUST_CHECK fnz_status fnzi_act_resize(fnzi_act *s, fnzi_eager *self, fnzi_pane *w);
/* Operators that do not do what their schema says: lists, batch norm, set_ and resize_. */
FNZ_MUST_CHECK fnz_status fnzi_act_special(fnzi_act *s, bool *done);

/* --- norms.c ---------------------------------------------------------------------------------- */
/* Does what a normalization does that writes its statistics. */
FNZ_MUST_CHECK fnz_status fnzi_act_norm(fnzi_act *s, bool *done);

/* --- sets.c ----------------------------------------------------------------------------------- */
FNZ_MUST_CHECK fnz_status fnzi_act_set_tensor(fnzi_act *s);
FNZ_MUST_CHECK fnz_status fnzi_act_set_window(fnzi_act *s);
FNZ_MUST_CHECK fnz_status fnzi_act_set_empty(fnzi_act *s);
FNZ_MUST_CHECK fnz_status fnzi_act_nothing(fnzi_act *s);
FNZ_MUST_CHECK fnz_status fnzi_act_wait(fnzi_act *s);

/* --- multi.c ---------------------------------------------------------------------------------- */
FNZ_MUST_CHECK fnz_status fnzi_act_broadcast(fnzi_act *s);
FNZ_MUST_CHECK fnz_status fnzi_act_meshgrid(fnzi_act *s);
FNZ_MUST_CHECK fnz_status fnzi_act_at_least(fnzi_act *s);
/* Adds dimensions of size 1 where atleast_3d does. */
FNZ_MUST_CHECK fnz_status fnzi_pane_grow(fnzi_act *s, fnzi_pane *w, uint32_t rank);
/* The result may be a window although the operator's schema does not say so. */
bool fnzi_node_hides_window(const fnzi_node *node);
/* einsum of one tensor that sums nothing: a window. `*done` is false for every other call. */
FNZ_MUST_CHECK fnz_status fnzi_act_einsum(fnzi_act *s, bool *done);
/* cartesian_prod of one tensor, which is that tensor; likewise. */
FNZ_MUST_CHECK fnz_status fnzi_act_cartesian_prod(fnzi_act *s, bool *done);

#endif
