/* region_draws.h - a program with bodies that is being drawn: its graphs, and in each the tensors
 * with their geometry and the text so far. */
#ifndef FNZI_SOAK_REGION_DRAWS_H
#define FNZI_SOAK_REGION_DRAWS_H

#include "soak/regions.h"

#include "base/base.h"
#include "program/program.h"

enum { REGION_VARS = 160, REGION_GRAPHS = 120, REGION_RANK = 4 };

/* Columns: id, how it is called. */
#define REGION_STEP_ROWS(ROW)                                                                      \
  ROW(VIEW, "view")                                                                                \
  ROW(WRITE, "write")                                                                              \
  ROW(TOKEN, "token into a cache")                                                                 \
  ROW(ADVANCE, "advance of a position")                                                            \
  ROW(RANDOM, "random numbers")                                                                    \
  ROW(COND, "cond")                                                                                \
  ROW(CALL, "call")                                                                                \
  ROW(WHILE, "while_loop")                                                                         \
  ROW(SCAN, "scan")                                                                                \
  ROW(MAP, "map")

typedef enum region_step {
#define REGION_STEP_ENUM(id, name) REGION_##id,
  REGION_STEP_ROWS(REGION_STEP_ENUM)
#undef REGION_STEP_ENUM
} region_step;

typedef struct var {
  char letter; /* its name: a letter and a number */
  unsigned id;
  const char *dtype;
  uint32_t rank;
  int64_t sizes[REGION_RANK], strides[REGION_RANK], offset;
} var;

/* A graph that is being written. */
typedef struct scope {
  fnz_buffer head, lines; /* its inputs, its nodes */
  var vars[REGION_VARS];
  size_t count;
} scope;

typedef struct region_gen {
  fnz_context *ctx;
  choices *c;
  fnzi_random_counts *counts;
  fnz_status status; /* of the text; the first failure stays */
  unsigned names, nodes;
  int budget;                       /* steps */
  fnz_buffer graphs[REGION_GRAPHS]; /* bodies, in the order in which they got their places */
  size_t ngraphs;
} region_gen;

void fnzi_region_put(region_gen *g, fnz_buffer *to, const char *format, ...) FNZI_PRINTF(3, 4);
void fnzi_region_put_var(region_gen *g, fnz_buffer *to, const var *v);
/* A step was drawn, or did not fit. */
void fnzi_region_count(region_gen *g, region_step step, bool fits);

/* --- Tensors */
var fnzi_region_dense(region_gen *g, const char *dtype, uint32_t rank, const int64_t *sizes);
const var *fnzi_region_keep(region_gen *g, scope *s, var v);
bool fnzi_region_has_floats(const scope *s);
/* Some tensor of floats; there is one in every scope that asks. */
const var *fnzi_region_pick(region_gen *g, const scope *s);
/* An index of one element; NULL for none. */
const var *fnzi_region_position(const scope *s);
void fnzi_region_drop_dim(var *v, uint32_t dim);

/* --- Nodes: all except views give new memory */
/* The result of a node, whose call follows; its end. */
void fnzi_region_define(region_gen *g, scope *s, const var *v);
void fnzi_region_end_node(region_gen *g, scope *s);
/* A node with this result, kept, of a call as printf() has it. */
var fnzi_region_node(region_gen *g, scope *s, var v, const char *format, ...) FNZI_PRINTF(4, 5);
var fnzi_region_clone(region_gen *g, scope *s, const var *of);
var fnzi_region_scaled(region_gen *g, scope *s, const var *of);
var fnzi_region_sum(region_gen *g, scope *s);
var fnzi_region_constant(region_gen *g, scope *s, const char *dtype, uint32_t rank,
                         const int64_t *sizes);
/* With these sizes, made of something in the scope. */
var fnzi_region_like(region_gen *g, scope *s, uint32_t rank, const int64_t *sizes);

/* --- Steps of a scope with floats */
void fnzi_region_view(region_gen *g, scope *s);
void fnzi_region_write(region_gen *g, scope *s);
/* A slice of a tensor gets other elements, at a position that is data. */
void fnzi_region_token(region_gen *g, scope *s);
/* Random numbers, new or written: bodies must keep the order of draws, with that outside of them.
 */
void fnzi_region_random(region_gen *g, scope *s);
/* The position goes on. */
void fnzi_region_advance(region_gen *g, scope *s);

#endif
