/* plant_edit.h - a functional form in which a mistake is made, and the tools of all kinds: walking
 * over places, and changing nodes.
 *
 * A kind is a function that goes over all places at which it could make its mistake, and asks
 * fnzi_plant_here() at each; where the answer is yes it makes the mistake and says what it did. The
 * same function counts the places, when no place is wanted. The program is read from text for one
 * mistake and written as text afterwards, so values that no node defines any more may stay in it.
 */
#ifndef FNZI_SOAK_PLANT_EDIT_H
#define FNZI_SOAK_PLANT_EDIT_H

#include "program/program.h"

typedef struct fnzi_planting {
  fnz_program *p;
  uint64_t places;           /* seen so far */
  uint64_t wanted;           /* the one where the mistake is made; UINT64_MAX: none */
  uint64_t state;            /* draws whatever a place leaves open */
  char what[256];            /* "" while nothing was changed */
  const fnz_program *source; /* its conditions on sizes are left alone; NULL for none */
} fnzi_planting;

typedef fnz_status fnzi_plant_fn(fnzi_planting *t);
#define PLANT(id, name, plant, excuse) fnzi_plant_fn plant;
#include "soak/plants.def"
#undef PLANT

/* This is a place; true: make the mistake here. */
static inline bool fnzi_plant_here(fnzi_planting *t) {
  return t->places++ == t->wanted;
}
/* A number below n, which is not 0. */
uint64_t fnzi_plant_choose(fnzi_planting *t, uint64_t n);
/* Says the change; begins with the node, if it is one. */
fnz_status fnzi_plant_note(fnzi_planting *t, const char *format, ...) FNZI_PRINTF(2, 3);
fnz_status fnzi_plant_note_node(fnzi_planting *t, uint32_t graph, uint32_t node, const char *format,
                                ...) FNZI_PRINTF(4, 5);

/* A place in a walk; begins as {0}. */
typedef struct fnzi_plant_at {
  uint32_t graph, node, top; /* top: the argument in which the item is */
  bool began, walks;
  fnzi_graph *g;
  fnzi_node *n;
  fnz_arg *arg; /* the item */
  fnzi_walk walk;
} fnzi_plant_at;
/* The next node, in bodies too; none once the mistake was made. */
bool fnzi_plant_next_node(fnzi_planting *t, fnzi_plant_at *at);
/* The next argument of a node that is no list, in lists too. */
bool fnzi_plant_next_item(fnzi_planting *t, fnzi_plant_at *at);

/* The tensor that the node's first argument is, when it looks like `value`: what `value` was before
 * this node. */
bool fnzi_plant_before(const fnzi_graph *g, uint64_t value, uint64_t *out);
/* Another tensor that looks the same and is known at `node`. */
bool fnzi_plant_other(fnzi_planting *t, const fnzi_graph *g, uint64_t value, uint32_t node,
                      uint64_t *out);
const char *fnzi_plant_value_name(const fnzi_graph *g, uint64_t value);

/* It puts values into a base: the name of the operator has "scatter", "index_put" or the like. */
bool fnzi_plant_is_scatter(const fnzi_node *n);
bool fnzi_plant_is_random(const fnzi_node *n);
bool fnzi_plant_is_assertion(const fnzi_node *n);
/* Some node or output takes a result of the node. */
bool fnzi_plant_is_used(const fnzi_graph *g, const fnzi_node *n);

/* All that takes `from` takes `to`. */
void fnzi_plant_replace(fnzi_graph *g, uint64_t from, uint64_t to);
/* Nothing may take its results any more. */
void fnzi_plant_remove(fnzi_graph *g, uint32_t node);
/* Makes room for a node at `node`, zeroed; the others move up. */
FNZ_MUST_CHECK fnz_status fnzi_plant_insert(fnzi_planting *t, uint32_t graph, uint32_t node,
                                            fnzi_node **out);
/* Moves a node forward, to the position before the node at `to`. */
void fnzi_plant_move(fnzi_graph *g, uint32_t from, uint32_t to);
/* The same value with the strides of the reversed order of dimensions; false when that is no
 * change. */
bool fnzi_plant_has_other_strides(const fnz_geometry *g);
FNZ_MUST_CHECK fnz_status fnzi_plant_other_strides(fnzi_planting *t, fnzi_value *v);

/* Another comparison, or arithmetic on numbers; NULL when the operator is none. */
const char *fnzi_plant_other_comparison(fnzi_planting *t, const fnzi_node *n);
/* The node calls another operator of the same parameters from now on; false when there is none. */
FNZ_MUST_CHECK fnz_status fnzi_plant_set_operator(fnzi_planting *t, fnzi_node *n, const char *name,
                                                  bool *done);

/* The values of graph `graph` from which assertions (or else predicates of branches and loops)
 * follow, in the arena of the program. */
FNZ_MUST_CHECK fnz_status fnzi_plant_causes(fnzi_planting *t, uint32_t graph, bool of_assertions,
                                            uint8_t **out);

/* The item is a number that an operator computes with, not a dimension or a size: changes it by
 * one, or to the next double, and notes this. */
bool fnzi_plant_is_operand_number(const fnzi_plant_at *at);
fnz_status fnzi_plant_change_number(fnzi_planting *t, const fnzi_plant_at *at);
/* The item is another value from now on. */
fnz_status fnzi_plant_change_value(fnzi_planting *t, const fnzi_plant_at *at, uint64_t to);

#endif
