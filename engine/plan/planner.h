/* planner.h - what the files of the planner share: data about nodes and values of one plan.
 *
 *   nodes.c                  tensor operands and results of a node; programs with another graph
 *   facts.c                  how an operator reads and writes
 *   maps.c                   windows of views and of regions, and their reverse
 *   region.c                 results of nodes with bodies that may have the location of an operand
 *   scalars.c                nodes that wait for data-dependent scalars
 *   alike.c                  nodes of one kind
 *   members.c                nodes that may be in a group
 *   groups.c                 nodes that form one step
 *   arrange.c                the program in that order, lists split into items
 *   layout.c                 values that have channels last
 *   uses.c                   readers of a value, and the bytes of it that are needed
 *   hints.c                  placement hints (R7): locations that later uses prefer
 *   buffers.c                buffers, the values in them, and bytes that may be overwritten (R2b)
 *   result.c                 locations of computed values, also of groups; permission to write (R3)
 *   place.c                  locations of values and the steps, node by node (R1, R2, R8)
 *   finals.c                 final values and outputs (R4, R6)
 *   sets.c                   steps that run at once
 *   arena.c                  offsets of buffers
 *   planner.c                calls all of these, in order
 *   bodies.c, bodies_left.c  plans of bodies within a plan; bodies left to the interpreter
 *
 * check.c, check_facts.c, check_group.c, check_sets.c and check_order.c prove the finished plan.
 *
 * A planner lives as long as fnzi_pln_make(), in one thread. Tables are in its scratch arena, maps
 * and steps in the plan. Functions fail as fnzi_pln_make() does. */
#ifndef FNZI_PLN_PLANNER_H
#define FNZI_PLN_PLANNER_H

#include "engine/plan/bytes.h"
#include "engine/plan/plan.h"
#include "views/views.h"

/* How an operator reads and writes. */
typedef enum fnzi_pln_access {
  FNZI_PLN_ACCESS_UNKNOWN,
  FNZI_PLN_ACCESS_CALL,  /* reads all arguments, then writes results */
  FNZI_PLN_ACCESS_POINT, /* reads an element of each argument before it writes that of the result */
  FNZI_PLN_ACCESS_VIEW,  /* results are windows of argument 0 */
  FNZI_PLN_ACCESS_SAME,  /* the result equals argument `of`, if dtypes agree: clone, expand ... */
  FNZI_PLN_ACCESS_SCATTER, /* argument 0 with argument 1 in the window of view `through` */
  FNZI_PLN_ACCESS_BASE,    /* argument 0 with changes at data-dependent elements */
  FNZI_PLN_ACCESS_JOIN,    /* argument 0 is a list, whose tensors become one */
  FNZI_PLN_ACCESS_REGION   /* no call of an operator */
} fnzi_pln_access;

typedef struct fnzi_pln_fact {
  uint8_t access, argument;
  bool casts;            /* SAME: pointwise if dtypes differ */
  bool stacks;           /* JOIN: pieces are joined along a new dimension */
  bool elements;         /* POINT: on lists, item by item */
  bool strided;          /* VIEW, SCATTER: like as_strided, its strides count row-major elements */
  const fnzi_view *view; /* VIEW, SCATTER */
  const fnz_op *through; /* SCATTER: the view whose window is its region */
} fnzi_pln_fact;

typedef struct fnzi_pln_node {
  const fnzi_pln_fact *fact;
  uint8_t access;       /* that of `fact`, unless arguments of this node make it another one */
  bool is_point;        /* a group may compute it element by element */
  uint32_t first, last; /* nodes of its group; both the node itself if it is in none */
  uint32_t rank;        /* of the space of a group that has rows; else 0 */
  fnzi_pln_bytes
      region; /* SCATTER: the bytes it overwrites, in the frame of its base; exact or empty */
} fnzi_pln_node;

/* A *frame* is the memory that a value, its views and its updates would share if nothing was
 * copied. Bytes that later nodes need of a value (`need`) are counted in its frame. */
typedef struct fnzi_pln_value {
  const fnz_geometry *window; /* in its frame; NULL: no tensor */
  uint32_t last;              /* node that reads it last; `end` for outputs; NONE: no node does */
  uint32_t born;              /* node that computes it; NONE for inputs */
  uint32_t root;              /* the value that opened its frame */
  uint32_t use, uses;         /* index of its first reader in the planner's `uses`; their count */
  bool needs_all, has_image;
  bool is_result;         /* an output of the graph */
  bool follows;           /* it is in the frame of its operand, as a view or update of it */
  bool channels_last;     /* memory of its own has the layout of its window (layout.c) */
  fnzi_pln_bytes need;    /* bytes that later nodes read, unless needs_all */
  fnzi_pln_bytes image;   /* all bytes of the window, if has_image */
  fnzi_pln_location hint; /* placement hint; map NULL: none */
  bool shifted; /* its location in its buffer is its window in the frame, moved by `shift` bytes */
  int64_t shift;
  uint32_t next; /* the next value in the same list of fnzi_pln_tenants; NONE */
} fnzi_pln_value;

/* The values that are located in a buffer, linked by `next`, the last one first. The buffer of many
 * values is cut into cells; a value that is within one cell is in the list of that cell. */
enum { FNZI_PLN_CELLS = 256 };
typedef struct fnzi_pln_tenants {
  uint32_t head, count;
  int64_t cell;    /* bytes */
  uint32_t *cells; /* FNZI_PLN_CELLS of them; NULL while the values are few */
} fnzi_pln_tenants;

typedef struct fnzi_pln_list {
  uint32_t *data;
  size_t count, capacity;
} fnzi_pln_list;

typedef struct fnzi_pln_planner {
  fnz_context *ctx;
  const fnz_program *program;
  const fnzi_graph *graph;
  const fnzi_pln_policy *policy;
  fnzi_pln_plan *plan;
  fnzi_arena scratch;
  fnzi_pln_fact **facts; /* per operator of the table; NULL where it was not needed */
  fnzi_pln_node *nodes;
  fnzi_pln_value *values;
  uint32_t *uses;          /* nodes, of all values one after the other */
  uint32_t *input_buffers; /* per input: its buffer; NONE */
  const fnz_arg ***pairs;  /* per node with bodies: per result the operand whose location it may
                              take, NULL for none; NULL: no node has bodies */
  uint32_t *final_of;      /* per output: the input whose final value it is; NONE */
  struct {
    fnzi_pln_tenants *data;
    size_t count, capacity;
  } tenants;              /* per buffer */
  fnzi_pln_list operands; /* of the group that is placed: values from outside, each once */
  fnzi_pln_list results;  /* of the group that is placed: results with locations */
  uint32_t end;           /* number of nodes */
  uint32_t most;          /* most spans of one set of bytes; lowered once `spans` is large */
  size_t spans;           /* spans created so far */
} fnzi_pln_planner;

/* --- nodes.c ------------------------------------------------------------------------ */
static inline bool fnzi_pln_is_tensor(const fnzi_pln_planner *p, const fnz_arg *arg) {
  return fnzi_pln_tensor(p->graph, arg) != NULL;
}
/* Iterates over the tensors among arguments, as each.arg, like FNZI_EACH_ARG(). */
#define FNZI_PLN_EACH_TENSOR(each, p, args, count)                                                 \
  FNZI_EACH_ARG(each, args, count)                                                                 \
    if (!fnzi_pln_is_tensor(p, each.arg))                                                          \
      continue;                                                                                    \
    else
/* A tensor that a node takes: argument k, or item `item` of it if that is a list. */
typedef struct fnzi_pln_operand {
  uint32_t value, k, item;
} fnzi_pln_operand;
/* Iterates over the tensors that a node takes, in order. */
#define FNZI_PLN_EACH_OPERAND(each, p, node)                                                       \
  for (fnzi_pln_operand each = {.item = UINT32_MAX}; fnzi_pln_next_operand(p, node, &each);)
bool fnzi_pln_next_operand(const fnzi_pln_planner *p, const fnzi_node *node, fnzi_pln_operand *o);
/* Returns the first tensor among results, lists included; NONE. */
uint32_t fnzi_pln_result_in_lists(const fnzi_node *node);
/* The same, faster if the first result is a tensor. */
static inline uint32_t fnzi_pln_result_of(const fnzi_node *node) {
  bool is_plain = node->noutputs && node->outputs[0].tag == FNZ_ARG_VALUE;
  return is_plain ? (uint32_t)node->outputs[0].u.value : fnzi_pln_result_in_lists(node);
}
/* Returns the value of argument k; NONE if it is no value. */
static inline uint32_t fnzi_pln_argument(const fnzi_node *node, uint32_t k) {
  bool is_there = k < node->nargs && node->args[k].tag == FNZ_ARG_VALUE;
  return is_there ? (uint32_t)node->args[k].u.value : FNZI_PLN_NONE;
}

/* Returns whether the node only asserts recorded types and sizes. The interpreter skips such nodes,
 * too, because the assertions held when the program was traced. */
bool fnzi_pln_is_assertion(const fnzi_node *node);

/* Returns the results of the node: the items of its only output if that is a list, else all. */
static inline const fnz_arg *fnzi_pln_results(const fnzi_node *node, uint32_t *count) {
  bool is_list = node->noutputs == 1 && node->outputs[0].tag == FNZ_ARG_LIST;
  *count = is_list ? node->outputs[0].count : node->noutputs;
  return is_list ? node->outputs[0].u.list : node->outputs;
}

/* Returns whether the result may take the location of the operand (p->pairs). */
bool fnzi_pln_is_pair(const fnzi_pln_planner *p, const fnzi_node *node, uint32_t value,
                      const fnz_arg *operand);

/* --- facts.c ------------------------------------------------------------------------ */
FNZ_MUST_CHECK fnz_status fnzi_pln_fact_find(fnzi_pln_planner *p, const fnz_op *op,
                                             const fnzi_pln_fact **out);
/* Returns the access of this node: that of its operator's fact, unless its arguments change it. */
fnzi_pln_access fnzi_pln_node_access(const fnzi_pln_planner *p, const fnzi_node *node,
                                     const fnzi_pln_fact *fact);

/* Returns whether the result may have exactly the location of the operand, because the kernel reads
 * each element of it before it writes that element of the result. */
bool fnzi_pln_may_share(const fnzi_pln_planner *p, const fnzi_node *node, const fnzi_pln_fact *fact,
                        fnzi_pln_access access, uint32_t result, const fnzi_pln_operand *operand);

/* --- region.c ----------------------------------------------------------------------- */
/* Fills in p->pairs. A carried value may take the location of its initial value. So may a result
 * that a branch or a called body computes from an operand by updates or element by element. */
FNZ_MUST_CHECK fnz_status fnzi_pln_pairs_find(fnzi_pln_planner *p);

/* --- maps.c ------------------------------------------------------------------------- */
typedef struct fnzi_pln_windows {
  const fnz_geometry *data; /* NULL: no strides express them */
  size_t count;
} fnzi_pln_windows;
/* Finds the windows of a view's results over `base`. */
FNZ_MUST_CHECK fnz_status fnzi_pln_map_views(fnzi_pln_planner *p, const fnzi_node *node,
                                             const fnzi_pln_fact *fact, const fnz_geometry *base,
                                             fnzi_pln_windows *out);
/* Finds the window that a scatter writes over `base`; NULL: no strides express it. */
FNZ_MUST_CHECK fnz_status fnzi_pln_map_region(fnzi_pln_planner *p, const fnzi_node *node,
                                              const fnzi_pln_fact *fact, const fnz_geometry *base,
                                              const fnz_geometry **out);
/* Broadcasts `from` to the sizes of `like`. */
FNZ_MUST_CHECK fnz_status fnzi_pln_map_expand(fnzi_pln_planner *p, const fnz_geometry *from,
                                              const fnz_geometry *like, const fnz_geometry **out);
/* Finds the window at which the argument of a view must be for its only result to be at `map`;
 * NULL: there is none. */
FNZ_MUST_CHECK fnz_status fnzi_pln_map_back(fnzi_pln_planner *p, const fnzi_node *node,
                                            const fnzi_pln_fact *fact, const fnz_geometry *map,
                                            const fnz_geometry *argument, const fnz_geometry **out);
/* Makes a dense map from the start of a buffer, with eager's strides if they are dense and
 * `row_major` is false. */
FNZ_MUST_CHECK fnz_status fnzi_pln_map_dense(fnzi_pln_planner *p, const fnz_geometry *g,
                                             bool row_major, const fnz_geometry **out);
/* Makes a dense map from the start of a buffer in which dimension 1 is the innermost. */
FNZ_MUST_CHECK fnz_status fnzi_pln_map_channels_last(fnzi_pln_planner *p, const fnz_geometry *g,
                                                     const fnz_geometry **out);
/* Finds the windows of the pieces of a join at `map`, one per item of its list; NULL for a piece
 * without elements. */
FNZ_MUST_CHECK fnz_status fnzi_pln_map_pieces(fnzi_pln_planner *p, const fnzi_node *node,
                                              const fnzi_pln_fact *fact, const fnz_geometry *map,
                                              const fnz_geometry ***out);
/* Returns whether both show the same elements. */
bool fnzi_pln_map_equal(const fnz_geometry *a, const fnz_geometry *b);
FNZI_SHARED bool fnzi_pln_location_equal(fnzi_pln_location a, fnzi_pln_location b);
/* Returns whether no two elements share bytes; false if that is not clear. */
bool fnzi_pln_map_injective(const fnz_geometry *map);

/* --- layout.c ----------------------------------------------------------------------- */
/* Decides the layout of the results of a node whose operands have windows. */
FNZ_MUST_CHECK fnz_status fnzi_pln_layout_choose(fnzi_pln_planner *p, uint32_t n);

/* --- uses.c ------------------------------------------------------------------------- */
/* Fills in p->nodes, p->values and p->uses. */
FNZ_MUST_CHECK fnz_status fnzi_pln_uses_find(fnzi_pln_planner *p);
/* Returns the bytes of the value's window in its frame. */
FNZ_MUST_CHECK fnz_status fnzi_pln_image(fnzi_pln_planner *p, uint32_t value, fnzi_pln_bytes *out);

/* --- hints.c -------------------------------------------------------------------------- */
/* Fills in the placement hints of all values. */
FNZ_MUST_CHECK fnz_status fnzi_pln_hints_find(fnzi_pln_planner *p);

/* --- buffers.c ---------------------------------------------------------------------- */
FNZ_MUST_CHECK fnz_status fnzi_pln_buffer_add(fnzi_pln_planner *p, fnzi_pln_buffer buffer,
                                              uint32_t *out);
/* Computes the bytes from the start of the buffer to the end of `map`, a window of the value. Fails
 * with OVERFLOW. */
FNZ_MUST_CHECK fnz_status fnzi_pln_extent_bytes(fnzi_pln_planner *p, uint32_t value,
                                                const fnz_geometry *map, size_t *out);
/* Adds a temporary buffer for the value at `map`. */
FNZ_MUST_CHECK fnz_status fnzi_pln_buffer_for(fnzi_pln_planner *p, uint32_t value,
                                              const fnz_geometry *map, uint32_t *out);
/* Sets the location of the value. `like`: a value in the same frame, which must have the same shift
 * for the value to be `shifted`; NONE. */
void fnzi_pln_locate(fnzi_pln_planner *p, uint32_t value, fnzi_pln_location location,
                     uint32_t like);
/* Finds a value in the buffer that still needs a byte of `location` after `node`: *by; NONE. */
FNZ_MUST_CHECK fnz_status fnzi_pln_find_blocker(fnzi_pln_planner *p, uint32_t node,
                                                fnzi_pln_location location, uint32_t *by);
FNZ_MUST_CHECK fnz_status fnzi_pln_maps_overlap(fnzi_pln_planner *p, const fnz_geometry *a,
                                                const fnz_geometry *b, bool *overlap);
/* Returns whether a run may write the bytes of the buffer that no value needs. */
bool fnzi_pln_buffer_writable(const fnzi_pln_planner *p, uint32_t buffer);
/* Records that the step uses the buffer. */
void fnzi_pln_touch(fnzi_pln_planner *p, uint32_t buffer, uint32_t step);

/* --- members.c ----------------------------------------------------------------------------- */
typedef enum fnzi_pln_role_kind {
  FNZI_PLN_ROLE_NONE,
  FNZI_PLN_ROLE_POINT, /* element by element */
  FNZI_PLN_ROLE_ROW    /* row by row: it reads whole rows of argument 0 */
} fnzi_pln_role_kind;

typedef struct fnzi_pln_role {
  uint8_t kind;
  uint32_t dims;             /* ROW: count of the last dimensions of the space, which are one row */
  const fnz_geometry *space; /* the sizes of the result; for a ROW, of argument 0 */
} fnzi_pln_role;

/* The sizes of a value compared with the rows of a group. */
typedef enum fnzi_pln_cover {
  FNZI_PLN_COVER_OTHER,
  FNZI_PLN_COVER_ALL,    /* the sizes of the space */
  FNZI_PLN_COVER_ROW,    /* a scalar for each row: the last `dims` sizes are 1 */
  FNZI_PLN_COVER_DROPPED /* a scalar for each row, without the last `dims` dimensions: it does not
                            broadcast to the space as it should */
} fnzi_pln_cover;

/* Returns the space of a node; `kind` is not NONE. */
const fnz_geometry *fnzi_pln_role_space(const fnzi_graph *graph, const fnzi_node *node,
                                        fnzi_pln_role_kind kind);
FNZ_MUST_CHECK fnz_status fnzi_pln_role_find(fnz_context *ctx, const fnzi_graph *graph,
                                             const fnzi_node *node, fnzi_pln_role *out);
fnzi_pln_cover fnzi_pln_cover_of(const fnz_geometry *space, uint32_t dims, const fnz_geometry *g);

/* --- groups.c ------------------------------------------------------------------------------ */
/* Fills in steps, points and kinds of `out`. Nodes of one step are pointwise over one space or
 * compute rows of it. Steps run in the order of their numbers. */
FNZ_MUST_CHECK fnz_status fnzi_pln_groups_find(fnz_context *ctx, fnzi_arena *scratch,
                                               const fnzi_graph *graph, fnzi_pln_order *out);
/* Fills in first, last, is_point and rank of p->nodes: a group is consecutive nodes of one step. */
FNZ_MUST_CHECK fnz_status fnzi_pln_groups_set(fnzi_pln_planner *p);

/* --- result.c ------------------------------------------------------------------------- */
/* A search for an operand that shares bytes with a location which the node is to write. */
typedef struct fnzi_pln_clash {
  fnzi_pln_location location;
  uint32_t node;
  uint32_t result; /* value to be stored there, perhaps exactly over an operand; NONE for moves */
  uint32_t skip;   /* an operand that is not compared; NONE */
  uint32_t with;   /* the operand that was found; NONE */
} fnzi_pln_clash;
/* Sets c->with if the operand shares bytes with the location and may not. */
FNZ_MUST_CHECK fnz_status fnzi_pln_find_clash(fnzi_pln_planner *p, const fnzi_pln_operand *operand,
                                              fnzi_pln_clash *c);
/* Sets *out if node n, or its group, may write `location` (R2, R3). `result`: see fnzi_pln_clash.
 */
FNZ_MUST_CHECK fnz_status fnzi_pln_may_write(fnzi_pln_planner *p, uint32_t n,
                                             fnzi_pln_location location, uint32_t result,
                                             uint32_t skip, bool *out);
/* Finds a location for the value in a temporary buffer of its own. */
FNZ_MUST_CHECK fnz_status fnzi_pln_locate_new(fnzi_pln_planner *p, uint32_t value,
                                              const fnz_geometry *g, bool row_major,
                                              fnzi_pln_location *out);
/* Places the results of node n that have no location yet. */
FNZ_MUST_CHECK fnz_status fnzi_pln_place_results(fnzi_pln_planner *p, uint32_t n);
FNZ_MUST_CHECK fnz_status fnzi_pln_place_call(fnzi_pln_planner *p, uint32_t n);
FNZ_MUST_CHECK fnz_status fnzi_pln_place_group(fnzi_pln_planner *p, uint32_t n);
FNZ_MUST_CHECK fnz_status fnzi_pln_call_add(fnzi_pln_planner *p, uint32_t n, bool in_place);

/* --- place.c, finals.c, sets.c, arena.c ------------------------------------- */
FNZ_MUST_CHECK fnz_status fnzi_pln_place_all(fnzi_pln_planner *p);
FNZ_MUST_CHECK fnz_status fnzi_pln_move_add(fnzi_pln_planner *p, fnzi_pln_step move);
FNZ_MUST_CHECK fnz_status fnzi_pln_finals_add(fnzi_pln_planner *p);
FNZ_MUST_CHECK fnz_status fnzi_pln_sets_find(fnzi_pln_planner *p);
FNZ_MUST_CHECK fnz_status fnzi_pln_arena_layout(fnz_context *ctx, fnzi_pln_plan *plan);

#endif
