/* computer.h - nodes that compute symbolic numbers, in a graph under construction.
 *
 * A number that an argument needs is read off the size of a value that is there already, or off
 * what a node has read from a tensor, and computed from that by arithmetic nodes. Equal numbers are
 * computed once. */
#ifndef FNZI_COMPUTER_H
#define FNZI_COMPUTER_H

#include "program/shapes/sizes.h"

/* Dimension `dim` of a value has this size. */
typedef struct fnzi_sight_size {
  uint64_t value;
  uint32_t dim;
  const fnzi_expr *size;
} fnzi_sight_size;

/* Locations of the scalars of a graph under construction. */
typedef struct fnzi_computer {
  fnz_context *ctx;
  fnzi_sizes *sizes;
  fnzi_point *recorded; /* numbers of the exporter's example, as far as there are any */
  const fnz_program *from;
  fnz_program *to;
  const fnzi_graph *source; /* of `from`: names of values are taken from it */
  uint32_t into;
  fnzi_map values;  /* id of an expression -> value of graph `into` */
  fnzi_map reals;   /* the same for its value as a floating point number */
  fnzi_map origins; /* id of a symbol -> index into sights */
  struct {
    fnzi_sight_size *data;
    size_t count, capacity;
  } sights;          /* sizes of values that have a symbol */
  fnzi_map names;    /* names that must stay free */
  const char *where; /* the source line of the node that needs the number */
} fnzi_computer;

void fnzi_computer_start(fnzi_computer *c, fnz_context *ctx);
void fnzi_computer_end(fnzi_computer *c);
/* The value has this size in dimension `dim`, from now on. */
FNZ_MUST_CHECK fnz_status fnzi_computer_see(fnzi_computer *c, uint64_t value, uint32_t dim,
                                            const fnzi_expr *size);
/* A symbolic value of the graph for `e`, with the name that the source has for it where that is
 * free. It is defined by `node`. */
FNZ_MUST_CHECK fnz_status fnzi_computer_define(fnzi_computer *c, const fnzi_expr *e, uint32_t node,
                                               uint32_t *value);
/* An argument that is `e`: a literal, or a value that nodes appended for it compute. */
FNZ_MUST_CHECK fnz_status fnzi_compute(fnzi_computer *c, const fnzi_expr *e, fnz_arg *out);
/* The same as a floating point number: a quotient of integers. */
FNZ_MUST_CHECK fnz_status fnzi_compute_real(fnzi_computer *c, const fnzi_expr *e, fnz_arg *out);
/* The program's symbol for the expression; 0 for a number. */
FNZ_MUST_CHECK fnz_status fnzi_symbol_of(fnzi_computer *c, const fnzi_expr *e, uint32_t *out);

/* --- computer_nodes.c ------------------------------------------------------------------------- */
enum { FNZI_NUMBER_MOST_ARGS = 3 };
/* The target of nodes that compute a function, as exporters write it; NULL: there is none. */
const char *fnzi_number_target(fnzi_function function);
/* Nodes of the target compute a double, whatever their operands are. */
bool fnzi_makes_double(const char *target);
/* The factor that makes all coefficients of a sum, or a number, integers; 0 if it exceeds 64
 * bits. */
int64_t fnzi_common_denominator(const fnzi_expr *e);
/* The source's node that computes `e` of numbers, as a double if wanted, and its graph; NULL: there
 * is none. */
FNZ_MUST_CHECK fnz_status fnzi_computer_find(fnzi_computer *c, const fnzi_expr *e, bool as_double,
                                             const fnzi_graph **graph, const fnzi_node **node);

#endif
