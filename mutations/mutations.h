/* mutations.h - the writes of operators, and the writes that eager refuses.
 *
 * mutations.def has a row for each operator whose rule is not "drop the underscore". Eager makes
 * the same checks before it writes; they need geometries only. */
#ifndef FNZI_MUTATIONS_H
#define FNZI_MUTATIONS_H

#include "program/program.h"
#include "views/views.h"

/* The effect of an operator on its target. Columns: enum, name, the operator
 * of views/steps.h that makes the new value (NOTHING: none, or the functional twin), in words. */
#define FNZI_MUTATION_ROWS(ROW)                                                                    \
  ROW(NONE, "none", NOTHING, "writes nothing")                                                     \
  ROW(TWIN, "twin", NOTHING,                                                                       \
      "written arguments take the results of the functional twin, in order")                       \
  ROW(LIST, "list", NOTHING, "element after element of the lists, in order")                       \
  ROW(COPY, "copy", EXPAND_COPY, "self takes the second argument, broadcast and cast")             \
  ROW(FILL, "fill", FULL, "every element of self takes the second argument")                       \
  ROW(ZERO, "zero", FULL, "every element of self becomes 0")                                       \
  ROW(WINDOWS, "windows", FULL, "windows of self, such as the diagonal, take the second argument") \
  ROW(SET, "set", NOTHING, "self becomes another name of the second argument")                     \
  ROW(SET_EMPTY, "set_empty", FULL, "self becomes a new tensor without elements")                  \
  ROW(SET_WINDOW, "set_window", NOTHING,                                                           \
      "self becomes a window into the second argument's memory")                                   \
  ROW(WAIT, "wait", NOTHING, "its argument arrives: the same tensor, with the operator's value")   \
  ROW(RESIZE, "resize", RESIZE, "self gets other sizes over the same memory, or more memory")      \
  ROW(BATCH_NORM, "batch_norm", NATIVE_BATCH_NORM,                                                 \
      "in training it writes its running statistics, undeclared")                                  \
  ROW(INSTANCE_NORM, "instance_norm", NATIVE_BATCH_NORM,                                           \
      "from the input's statistics it updates its running ones, undeclared")                       \
  ROW(UNDECLARED, "undeclared", NOTHING,                                                           \
      "evaluated as it is; refused in training, where it writes its statistics, undeclared")       \
  ROW(NOTHING, "nothing", NOTHING, "declared as writing, but values stay as they are")             \
  ROW(REFUSED, "refused", NOTHING, "there is no rule for it")

typedef enum fnzi_mutation_kind {
#define FNZI_MUTATION_ENUM(id, name, emits, words) FNZI_MUTATION_##id,
  FNZI_MUTATION_ROWS(FNZI_MUTATION_ENUM)
#undef FNZI_MUTATION_ENUM
} fnzi_mutation_kind;

const char *fnzi_mutation_name(fnzi_mutation_kind kind);
const char *fnzi_mutation_words(fnzi_mutation_kind kind);
/* The operator that makes the new value; NULL if it is the functional twin, or none. */
const fnz_op *fnzi_mutation_emits(fnzi_mutation_kind kind);

/* The functional twin of an operator of kind TWIN. NULL when there is none. */
const fnz_op *fnzi_mutation_twin(const fnz_op *op);
/* Looks through the table: keep the answer. */
fnzi_mutation_kind fnzi_mutation_find(const fnz_op *op);

/* A functional elementwise operator for which doing it twice is doing it once (relu, clamp). Looks
 * through the table. */
bool fnzi_is_idempotent(const fnz_op *functional);

/* Under autocast this functional operator casts its arguments first, on some device; operators that
 * write do not. Looks through a table. */
bool fnzi_autocast_changes(const fnz_op *twin);

/* --- windows.c: windows that an operator of kind WINDOWS fills -------------------------------- */
/* Windows of one dimension, and their numbers. */
typedef struct fnzi_mutation_windows {
  fnz_geometry windows[2];
  int64_t sizes[2], strides[2];
  size_t count;
} fnzi_mutation_windows;
/* Finds the windows of self, in the order in which they are filled; args as in a request. Fails
 * with BOUNDS if self has none. */
FNZ_MUST_CHECK fnz_status fnzi_mutation_windows_find(fnz_context *ctx, fnzi_ints *s,
                                                     const fnz_op *op, const fnz_arg *args,
                                                     const fnz_geometry *self,
                                                     fnzi_mutation_windows *out);

/* --- A call that writes: reads.c, repeats.c --------------------------------------------------- */
/* It and its functional twin, with one argument per parameter of each. */
typedef struct fnzi_mutation_call {
  const fnz_op *op, *twin;
  const fnz_arg *args, *twin_args;
  fnzi_geometry_reader *geometry_of; /* the written tensor is known by the address of its own */
  void *user;
  bool elementwise; /* eager computes and writes it in one loop */
  fnzi_ints *ints;  /* of sizes that are expressions; NULL: all are numbers */
} fnzi_mutation_call;

/* Whether eager reads this operand as a number before it writes, and as nothing else. */
bool fnzi_mutation_reads_number(const fnzi_mutation_call *call, const fnz_geometry *operand);
/* Eager reads all of the operand into new memory before it writes the target: an out= operator that
 * PyTorch derives from the functional one copies its result, and a lazy conjugate or negative is
 * resolved, of the target with all that it may overlap. */
bool fnzi_mutation_reads_whole(const fnz_op *op, const fnz_geometry *target,
                               const fnz_geometry *operand);

/* When eager reads an operand of an operator that writes. */
typedef enum fnzi_reading {
  FNZI_READING_IN_STEP, /* each element when its place is written */
  FNZI_READING_FIRST    /* all of it before, into a copy, unless eager sees that they overlap */
} fnzi_reading;
fnzi_reading fnzi_mutation_reading(const fnzi_mutation_call *c, const fnz_geometry *target,
                                   const fnz_geometry *operand);

/* The argument with the number, or tensor of one element, that the operator writes to each place
 * that it chooses, where eager lets it write a target that shows an element in several places; -1:
 * there is none. An element is written if any of its places is chosen. */
int fnzi_mutation_number(const fnzi_mutation_call *c, const fnz_geometry *target);
/* Whether all indices of one memory location get the same value: the call writes one number,
 * elements share memory only along dimensions of stride 0, and along each of these it writes all
 * elements or none. */
bool fnzi_mutation_writes_alike(const fnzi_mutation_call *c, const fnz_geometry *target);

/* The question of a guard on the sizes of such a target. */
#define FNZI_MUTATION_ASKS_REPEATED                                                                \
  "it decides whether an element that is shown repeatedly is written"

/* The values that a write puts into places that share memory. */
typedef enum fnzi_spread {
  FNZI_SPREAD_ANY,
  FNZI_SPREAD_IDEMPOTENT, /* each place gets f(old), and f(f(x)) is f(x) */
  FNZI_SPREAD_CONSTANT    /* all places get the same */
} fnzi_spread;

fnzi_spread fnzi_mutation_spread(const fnzi_mutation_call *c, const fnz_geometry *target);

/* --- What is refused: checks.c, reads.c ------------------------------------------------------- */
/* How eager's loop goes over what an elementwise operator writes. */
typedef struct fnzi_loop {
  const fnz_geometry *const *reads; /* operands as the loop sees them: cast where eager casts */
  size_t nreads;
  bool reads_first; /* no element is read after it was written */
  int slices;       /* -1, or the dimension along which it may go slice after slice */
  bool in_order;    /* the target overlaps itself, and takes all results in the loop's order */
  bool whole;       /* the caller does not apply the operator slice after slice */
} fnzi_loop;

/* Whether eager recognizes that an element has several indices. */
bool fnzi_has_zero_stride(const fnz_geometry *g);

/* Sets loop->reads and nreads to the geometries that the loop reads. An operand that eager casts is
 * a copy; results that it stores only at the end are a row-major tensor. */
FNZ_MUST_CHECK fnz_status fnzi_mutation_loop_reads(fnzi_arena *arena, const fnzi_mutation_call *c,
                                                   const fnz_geometry *target,
                                                   const fnz_geometry *const *operands,
                                                   size_t count, fnzi_loop *loop);

/* May `target` be written? A tensor that shows an element in several places may when all places get
 * the same value; where a stride is 0 eager allows constants only. An elementwise operator may also
 * write it where all is read before anything is written (sets loop->in_order), or where eager's
 * loop writes slice after slice along one dimension (sets loop->slices). Else OVERLAP. loop   NULL
 * for an operator that is not elementwise */
FNZ_MUST_CHECK fnz_status fnzi_check_target(fnz_context *ctx, fnzi_ints *s, const fnz_op *op,
                                            const fnz_geometry *target, fnzi_spread spread,
                                            fnzi_loop *loop);

/* An operand in the memory that a call writes. */
typedef struct fnzi_operand {
  fnzi_ints *ints; /* NULL where all sizes are fixed */
  const fnz_geometry *geometry;
  const fnz_geometry *frame; /* of the root of their storage; NULL: not known */
  fnzi_reading reading;
} fnzi_operand;

/* May `operand`, of the same storage, be read while `target` is written? It may where they share no
 * memory. An elementwise operator may also read each element at its own place, or, where eager does
 * not see the overlap, before the element is written, or be applied slice after slice along one
 * dimension of the target (sets loop->slices). Everything else is refused (OVERLAP): eager refuses
 * it too, or its result depends on the machine.
 * loop   NULL for an operator that is not elementwise; else as fnzi_check_target() left it */
FNZ_MUST_CHECK fnz_status fnzi_check_operand(fnz_context *ctx, const fnz_op *op,
                                             const fnz_geometry *target,
                                             const fnzi_operand *operand, fnzi_loop *loop);
/* Whether each element of the operand is read at the location where its result is written. */
bool fnzi_is_at_own_locations(const fnz_geometry *target, const fnz_geometry *operand);
/* Checks that all strides are equal, also for dimensions of size 1: otherwise eager refuses an
 * operand with the target's elements (OVERLAP). */
FNZ_MUST_CHECK fnz_status fnzi_check_alike(fnz_context *ctx, fnzi_ints *s, const fnz_op *op,
                                           const fnz_geometry *target, const fnz_geometry *operand);
/* Such an operand may be read wholly before anything is written. It must be where the call goes
 * slice after slice because of another operand. */
bool fnzi_is_read_first(const fnz_geometry *target, const fnz_geometry *operand,
                        fnzi_reading reading);
/* An in-place operator reads the tensor that it writes, once. One that is not elementwise and gets
 * it as another argument too, `reads` times in all, reads places that it has written already:
 * OVERLAP. resized  an out= argument that gets other sizes first */
FNZ_MUST_CHECK fnz_status fnzi_check_own_reads(fnz_context *ctx, const fnzi_mutation_call *c,
                                               const fnzi_param *written,
                                               const fnz_geometry *target, size_t reads,
                                               bool resized);
/* The operator does not write the bytes between the elements, which are not the tensor's. */
FNZ_MUST_CHECK fnz_status fnzi_check_gaps(fnz_context *ctx, fnzi_ints *s, const fnz_op *op,
                                          const fnzi_param *written, const fnz_geometry *target);
/* The result of `op` may be stored in `target` (torch.can_cast); TYPE when not. */
FNZ_MUST_CHECK fnz_status fnzi_check_cast(fnz_context *ctx, const fnz_op *op, fnz_dtype result,
                                          fnz_dtype target);
/* The sizes of two operands broadcast; BOUNDS when not. */
FNZ_MUST_CHECK fnz_status fnzi_check_together(fnz_context *ctx, const fnz_op *op,
                                              const fnz_geometry *a, const fnz_geometry *b);
/* An operand's sizes broadcast to the target's; BOUNDS when not. */
FNZ_MUST_CHECK fnz_status fnzi_check_broadcast(fnz_context *ctx, const fnz_op *op,
                                               const fnz_geometry *target,
                                               const fnz_geometry *operand);

#endif
