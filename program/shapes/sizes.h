/* sizes.h - the symbolic sizes of a program: its expressions, the ranges and conditions of its
 * symbols, and the same program with numbers in place of them.
 *
 * sizes.c            expressions of a program, and whether numbers are allowed for its symbols
 * derived_symbols.c  symbols whose values follow from the bounds of a slice or from the bodies of a
 *                    region
 * instantiate.c      the program for given numbers
 * instance.c         one program that is moved from numbers to numbers
 * draw.c             numbers to try */
#ifndef FNZI_SIZES_H
#define FNZI_SIZES_H

#include "program/program.h"
#include "program/shapes/symbolic.h"

/* The source of a condition, and its name in messages. */
#define FNZI_CONDITION_ROWS(ROW)                                                                   \
  ROW(RANGE, "range")         /* of a symbol, by the file */                                       \
  ROW(GUARD, "guard")         /* of the program: found by the pass or an exporter */               \
  ROW(ASSERTION, "assertion") /* a node that asserts */
typedef enum fnzi_condition_kind {
#define FNZI_CONDITION_ENUM(id, name) FNZI_CONDITION_##id,
  FNZI_CONDITION_ROWS(FNZI_CONDITION_ENUM)
#undef FNZI_CONDITION_ENUM
} fnzi_condition_kind;

/* A condition that holds for every run of the program. */
typedef struct fnzi_condition {
  const fnzi_expr *expr; /* is in [min, max]; a truth value in [1, 1] */
  int64_t min, max;
  fnzi_condition_kind kind;
} fnzi_condition;

/* A symbol that bounds a slice, and the size of the dimension, INT64_MAX for one that is symbolic:
 * more of it is of no use. */
typedef struct fnzi_slice_bound {
  const fnzi_expr *symbol;
  int64_t most;
} fnzi_slice_bound;

/* Borrows the program. */
typedef struct fnzi_sizes {
  const fnz_program *program;
  fnzi_exprs set;
  const fnzi_expr **symbols; /* per symbol of the program; NULL: its text is no expression */
  struct {
    fnzi_condition *data;
    size_t count, capacity;
  } conditions;
  struct {
    const fnzi_expr **data;
    size_t count, capacity;
  } free; /* the symbols of sizes, symbolic numbers and guards */
  struct {
    fnzi_slice_bound *data;
    size_t count, capacity;
  } bounds;
  struct {
    const fnzi_expr **data; /* what symbols that slices make up stand for */
    size_t count, capacity;
  } meanings;
  size_t own;     /* so many expressions, the first ones, are the program's */
  uint8_t *asked; /* per expression of the program: a node that computes tensors, an assertion or an
                   * output takes it or an expression that contains it */
} fnzi_sizes;

/* fnzi_sizes_close() must follow, also after a failure. */
FNZ_MUST_CHECK fnz_status fnzi_sizes_open(fnzi_sizes *sizes, fnz_context *ctx,
                                          const fnz_program *program);
void fnzi_sizes_close(fnzi_sizes *sizes);
/* Gives symbols that slices and regions make up their meaning (derived_symbols.c).
 * Before any expression is read. */
FNZ_MUST_CHECK fnz_status fnzi_sizes_define(fnzi_sizes *sizes);
/* An input or a node determines each symbol of a size or a number (bound.c); REF. */
FNZ_MUST_CHECK fnz_status fnzi_sizes_check_determined(fnzi_sizes *sizes);
/* The truth value that exporters write for one that is read off data: Eq(u0, 1) of a symbol from 0
 * to 1. */
bool fnzi_is_read_truth(const fnzi_sizes *sizes, const fnzi_expr *expr, const fnzi_expr **symbol);
/* Marks, by the ids of the first `count` expressions, whatever is a part of one that is marked. */
void fnzi_mark_parts(const fnzi_sizes *sizes, size_t count, uint8_t *marks);
/* Some free symbol is a number that the program reads off data. */
bool fnzi_sizes_have_data(const fnzi_sizes *sizes);

/* A symbol of a number that depends on data: PyTorch's begin with "u". */
static inline bool fnzi_is_data_symbol(const fnzi_expr *e) {
  return e->kind == FNZI_EXPR_SYMBOL && e->atom_text[0] == 'u';
}

/* The condition that the numbers of `point` break first, NULL when there is none. Conditions on
 * symbols without a number are not looked at. */
FNZ_MUST_CHECK fnz_status fnzi_sizes_admit(const fnzi_sizes *sizes, fnzi_point *point,
                                           const fnzi_condition **broken);
/* "s0 = 3, s1 = 5" of the symbols that have a number, into `out`. */
FNZ_MUST_CHECK fnz_status fnzi_sizes_text(const fnzi_sizes *sizes, fnzi_point *point,
                                          fnz_buffer *out);
/* The text of a condition: "s0 from 2 to 8 (its range)", "s0 > 6 (its guard)". */
FNZ_MUST_CHECK fnz_status fnzi_sizes_put_condition(fnzi_sizes *sizes,
                                                   const fnzi_condition *condition,
                                                   fnz_buffer *out);
/* The numbers that the exporter recorded. *complete: every symbol has one. */
FNZ_MUST_CHECK fnz_status fnzi_sizes_recorded(const fnzi_sizes *sizes, fnzi_point *point,
                                              bool *complete);
/* Copies the numbers of symbols to the symbols of the same name in another program. */
FNZ_MUST_CHECK fnz_status fnzi_sizes_adopt(const fnzi_sizes *sizes, fnzi_point *point,
                                           const fnzi_sizes *from, fnzi_point *there);
/* Finds the numbers of symbols from a program without symbols that has the same inputs. */
FNZ_MUST_CHECK fnz_status fnzi_sizes_match(const fnzi_sizes *sizes, fnzi_point *point,
                                           const fnz_program *numbers);
/* The geometry with numbers in place of symbols. NULL when a size is not known; an offset that is
 * not known is 0, strides that are not are row-major. In `arena`; `g` itself when it has no
 * symbols. Negative sizes are BOUNDS. */
FNZ_MUST_CHECK fnz_status fnzi_sizes_geometry(const fnzi_sizes *sizes, fnzi_point *point,
                                              const fnz_geometry *g, fnzi_arena *arena,
                                              const fnz_geometry **out);

/* --- The program for given numbers (program/shapes/instantiate.c) ----------------------------- */
typedef enum fnzi_readings {
  FNZI_READINGS_KEPT, /* nodes that read a number off a tensor, or determine a size that depends on
                       * data, stay without a result */
  FNZI_READINGS_RUN,  /* the same, and assertions on sizes, which hold at these, are left out */
  FNZI_READINGS_WATCHED, /* a clone of that tensor takes their place and is a further user output */
} fnzi_readings;

/* A new program without symbols: every symbolic number becomes what it is at `point`, and nodes
 * that only compute such numbers disappear. Symbolic inputs become literals. It borrows strings and
 * arguments of the program, which must outlive it. */
FNZ_MUST_CHECK fnz_status fnzi_instantiate(const fnzi_sizes *sizes, fnzi_point *point,
                                           fnzi_readings readings, fnz_program **out);

/* The same program at one choice of numbers after the other: what depends on them changes in place,
 * which costs less than making it anew. Begins as {0}. */
typedef struct fnzi_instance_geometry {
  const fnz_geometry *from, *here;
} fnzi_instance_geometry;
typedef struct fnzi_instance_graph {
  uint64_t *values; /* per value of the program: its number in the instance */
  uint8_t *reals;   /* and whether it is a floating point number */
} fnzi_instance_graph;
typedef struct fnzi_instance {
  fnz_context *ctx;
  fnz_program *program;   /* NULL: not made yet */
  fnzi_arena arena, kept; /* of its geometries; of the lists below */
  fnzi_map known;         /* a geometry of the program -> its place in `geometries` */
  fnzi_instance_graph *graphs;
  struct {
    struct fnzi_moving *data; /* in the order in which the program was made */
    size_t count, capacity;
  } moving;
  struct {
    fnzi_instance_geometry *data;
    size_t count, capacity;
  } geometries;
} fnzi_instance;

/* Makes i->program what fnzi_instantiate() makes at `point`, with readings kept; `sizes` are of the
 * same program each time. After a failure its program is of no use until the next move. */
FNZ_MUST_CHECK fnz_status fnzi_instance_move(fnzi_instance *i, const fnzi_sizes *sizes,
                                             fnzi_point *point);
void fnzi_instance_free(fnzi_instance *i);

/* Its floats have no labels: sizes of its results are computed of them, or it is no operator. */
bool fnzi_is_unlabelled(const fnz_op *op);
/* All results of the node are numbers, and there is one. */
bool fnzi_shapes_gives_numbers(const fnzi_node *node);
/* The node computes a number from numbers and sizes alone. */
bool fnzi_is_size_node(const fnzi_node *node);
/* It determines a size that depends on data and that other nodes use: the tensor is needed for its
 * size, even where its elements are not. */
bool fnzi_determines_used(const fnzi_sizes *sizes, const fnzi_graph *graph, const fnzi_node *node);

/* --- Nodes that compute numbers (program/shapes/arithmetic.c)
 * ---------------------------------------- As exporters write them: _operator.add, torch.sym_max,
 * math.trunc ... by Python's rules; integers leave 64 bits with OVERFLOW. */
typedef fnz_status fnzi_shapes_number_of(void *user, uint64_t value, fnz_arg *out);
/* Computes the node's result. number(user, value) returns the scalars of symbolic arguments, NONE
 * if one is not known. *done false when it is no such node or a number is missing. */
FNZ_MUST_CHECK fnz_status fnzi_arithmetic(fnz_context *ctx, const fnzi_node *node,
                                          fnzi_shapes_number_of *number, void *user, fnz_arg *out,
                                          bool *done);

/* sym_size.int and sym_numel, and the results of these and of sym_stride.int for a tensor of
 * geometry `g`. */
bool fnzi_asks_size(const fnz_op *op);
FNZ_MUST_CHECK fnz_status fnzi_size_asked(fnz_context *ctx, const fnzi_node *node,
                                          const fnz_geometry *g, fnzi_shapes_number_of *number,
                                          void *user, int64_t *out);

/* --- Numbers to try (program/shapes/draw.c) --------------------------------------------------- */
typedef struct fnzi_draw {
  fnzi_sizes *sizes;
  uint64_t state;
  int64_t span; /* symbols lie within so much of the least they may be; smaller after failures */
} fnzi_draw;

/* The range of each symbol, by the ids of expressions. Without one it is a size, from 0 on, if it
 * depends on no data and bounds no slice. In `arena`. */
FNZ_MUST_CHECK fnz_status fnzi_draw_bounds(const fnzi_sizes *sizes, fnzi_arena *arena,
                                           fnzi_bounds **out);
enum { FNZI_LARGEST_END = 96 }; /* larger ends of ranges are not tried: programs run at these */

void fnzi_draw_start(fnzi_draw *draw, fnzi_sizes *sizes, uint64_t seed);
/* Different numbers for all symbols where there are as many, keeping to the conditions. *found
 * false when none could be found. */
FNZ_MUST_CHECK fnz_status fnzi_draw_numbers(fnzi_draw *draw, fnzi_point *point, bool *found);
/* The recorded sizes; numbers that they lack are drawn, and so are all if they break a condition.
 */
FNZ_MUST_CHECK fnz_status fnzi_draw_recorded(fnzi_draw *draw, fnzi_point *point, bool *found);
/* Special numbers, the k-th of a list that ends with *more false. `point` holds usual
 * numbers and gets the special ones; *found says that they keep to the conditions. */
FNZ_MUST_CHECK fnz_status fnzi_draw_special(fnzi_draw *draw, size_t k, fnzi_point *point,
                                            bool *more, bool *found);
/* An expression, and the number that it has at usual sizes. */
typedef struct fnzi_constant {
  const fnzi_expr *expr;
  int64_t number;
} fnzi_constant;
/* Sizes at which the expression has another number, likewise. They may be large. */
FNZ_MUST_CHECK fnz_status fnzi_draw_breakpoint(const fnzi_sizes *sizes,
                                               const fnzi_constant *constant, size_t k,
                                               fnzi_point *point, bool *more, bool *found);
/* At these numbers the values with symbolic sizes have no more elements than a program may take
 * time and memory for. The limit is needed because a file may claim any size. */
FNZ_MUST_CHECK fnz_status fnzi_sizes_are_bearable(const fnzi_sizes *sizes, fnzi_point *point,
                                                  bool *out);
/* At these numbers the values of the program have few elements, so that it can be tried there. */
FNZ_MUST_CHECK fnz_status fnzi_sizes_are_small(const fnzi_sizes *sizes, fnzi_point *point,
                                               bool *out);

#endif
