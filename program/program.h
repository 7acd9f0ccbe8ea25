/* program.h - the program as the library's own folders see it: build it, look at it, print it.
 *
 * Values, nodes and graphs are indices; everything variable in length lives in the program's arena.
 * Build with fnzi_program_create and the fnzi_..._add functions, end with fnz_program_verify; after
 * that nothing changes any more. */
#ifndef FNZI_PROGRAM_H
#define FNZI_PROGRAM_H

#include "base/base.h"
#include "schema/custom.h"
#include "schema/schema.h"

#include <fnz/arrays.h>
#include <fnz/backend.h>
#include <fnz/program.h>

#define FNZI_NO_NODE UINT32_MAX

typedef struct fnzi_value {
  const char *name;             /* unique in its graph */
  const fnz_geometry *geometry; /* NULL if it is no tensor */
  uint32_t node;                /* who defines it; FNZI_NO_NODE for an input of the graph */
  uint32_t symbol; /* of a symbolic int, float or bool: index into program->symbols, 0 for none */
  uint8_t number; /* of one that the engine knows the kind of: FNZ_ARG_INT, FLOAT or BOOL; else 0 */
} fnzi_value;

/* The parts of a node that is no call of an operator. */
typedef struct fnzi_node_other {
  const char *target;           /* "higher_order.cond", "_operator.add" */
  const char *const *arg_names; /* keyword or "" for each argument; may be NULL */
  const char *metadata;         /* as a call's */
} fnzi_node_other;

typedef struct fnzi_node {
  const fnz_op *op;   /* NULL for a higher-order operator, and arithmetic on numbers */
  fnz_arg *args;      /* op: one per parameter, FNZ_ARG_DEFAULT where not given */
  fnz_arg *outputs;   /* VALUE, LIST of VALUE, NONE, SYMBOL, TOKEN; one per return */
  const char *source; /* stack trace or "file:line", "" when unknown */
  union {
    const char
        *metadata; /* op: what else is known, as JSON text `{"key": "value"}`; NULL: nothing */
    const fnzi_node_other *other; /* no op */
  } u;
  uint32_t nargs, noutputs;
} fnzi_node;

/* The operator's name, or the target of a node without an operator. */
static inline const char *fnzi_node_target(const fnzi_node *node) {
  return node->op ? node->op->name : node->u.other->target;
}
static inline const char *fnzi_node_metadata(const fnzi_node *node) {
  return node->op ? node->u.metadata : node->u.other->metadata;
}
/* The keyword of an argument, "" for none. */
static inline const char *fnzi_node_arg_name(const fnzi_node *node, uint32_t i) {
  return node->op || !node->u.other->arg_names ? "" : node->u.other->arg_names[i];
}
/* Stores the parts of `all` that the node has fields for; a node of an operator has no target. */
static inline void fnzi_node_set(fnzi_node *node, const fnzi_node_other *all) {
  if (node->op)
    node->u.metadata = all->metadata;
  else
    node->u.other = all;
}

/* Value names of a graph -> index (program/values.c). */
typedef struct fnzi_names {
  uint64_t *slots;
  size_t capacity;
  size_t count;  /* of the first values, which are in the index; the others have fresh names */
  bool numbered; /* one in the index ends as fresh names do: "_" and a number */
} fnzi_names;
void fnzi_names_free(fnz_context *ctx, fnzi_names *names);

/* The node of the source program that a node comes from; FNZI_NO_NODE when unknown. */
typedef struct fnzi_source_node {
  uint32_t graph, node;
} fnzi_source_node;

/* Geometries and stems of names that were used lately are found without a map. */
enum { FNZI_RECENT = 8 };

/* Fresh names: the next number to try for a stem. */
typedef struct fnzi_counter {
  const char *stem;
  size_t size;
  uint64_t next;
} fnzi_counter;

typedef struct fnzi_graph {
  const char *name; /* "" for graph 0 */
  fnz_arg *inputs, *outputs;
  uint32_t ninputs, noutputs;
  uint32_t source;                      /* of a rewritten graph: the graph that it was made of */
  bool returns_single;                  /* of a region: a bare tensor instead of a tuple */
  const fnzi_source_node *source_nodes; /* of a rewritten graph, per node; NULL when unknown */
  struct {
    fnzi_value *data;
    size_t count, capacity;
  } values;
  struct {
    fnzi_node *data;
    size_t count, capacity;
  } nodes;
  struct {
    uint32_t *data;
    size_t count, capacity;
  } unsaid;                           /* values whose layout is not in the file */
  fnzi_names names;                   /* see fnzi_value_find */
  fnzi_map stems;                     /* stem of fresh names -> index into counters */
  uint32_t recent_stems[FNZI_RECENT]; /* 1 + such an index, each at its place; 0 for none */
  struct {
    fnzi_counter *data;
    size_t count, capacity;
  } counters;
} fnzi_graph;

/* A symbolic size: the exporter's text (sympy) and the example value. Index 0 is unused. */
typedef struct fnzi_symbol {
  const char *text;
  bool has_hint;
  int64_t hint;
} fnzi_symbol;

/* "s77" is in [min, max]; missing bounds are INT64_MIN and INT64_MAX. */
typedef struct fnzi_range {
  const char *symbol;
  int64_t min, max;
} fnzi_range;

struct fnzi_mapping;
/* Raw bytes of one storage, shared between programs by reference count (atomic). */
typedef struct fnzi_blob fnzi_blob;
/* The caller fills it. */
FNZ_MUST_CHECK fnz_status fnzi_blob_create(fnz_context *ctx, size_t bytes, fnzi_blob **out);
/* Takes the memory of a buffer over, which is empty afterwards, also after a failure. */
FNZ_MUST_CHECK fnz_status fnzi_blob_take(fnz_context *ctx, fnz_buffer *bytes, fnzi_blob **out);
/* Takes a mapping over, also after a failure. */
FNZ_MUST_CHECK fnz_status fnzi_blob_take_mapping(fnz_context *ctx, struct fnzi_mapping *mapping,
                                                 fnzi_blob **out);
/* Wraps bytes that a reader has found: a window of the program's file, or a copy if the file is
 * only borrowed. A window begins at any address. */
FNZ_MUST_CHECK fnz_status fnzi_blob_of(fnz_program *p, const void *bytes, size_t size,
                                       fnzi_blob **out);
/* A window of `whole`, in which the bytes lie; it is retained. */
FNZ_MUST_CHECK fnz_status fnzi_blob_window(fnz_context *ctx, fnzi_blob *whole, const void *bytes,
                                           size_t size, fnzi_blob **out);
fnzi_blob *fnzi_blob_retain(fnzi_blob *blob);
void fnzi_blob_release(fnzi_blob *blob);
FNZI_SHARED void *fnzi_blob_data(const fnzi_blob *blob);
size_t fnzi_blob_bytes(const fnzi_blob *blob);
/* The file whose pages the bytes are (program/mapping.h); NULL: none. */
const struct fnzi_mapping *fnzi_blob_mapping(const fnzi_blob *blob);
/* Before bytes are read: IO if they are pages of a file that changed. NULL: no blob. */
FNZ_MUST_CHECK fnz_status fnzi_blob_check(fnz_context *ctx, const fnzi_blob *blob);
/* The same for all weights of a program. */
FNZ_MUST_CHECK fnz_status fnzi_program_check_files(fnz_context *ctx, const fnz_program *p);

/* Data of the .pt2 file besides the program (program/pt2_metadata.h), shared like blobs. */
typedef struct fnzi_extras fnzi_extras;
fnzi_extras *fnzi_extras_retain(fnzi_extras *extras);
void fnzi_extras_release(fnzi_extras *extras);

/* A parameter, buffer or constant with its data: a window into a blob. Two weights with the same
 * blob share memory. blob NULL: the file has no data for it. */
typedef struct fnzi_weight {
  const char *name; /* fully qualified name */
  fnzi_blob *blob;
  const fnz_geometry *geometry;
} fnzi_weight;

enum { FNZI_MOST_SCHEMA = 9999 };

struct fnz_program {
  fnz_context *ctx; /* of the thread that builds it; only its allocator is used afterwards */
  fnzi_arena arena;
  fnzi_map strings;                        /* interned strings */
  fnzi_map geometries;                     /* interned geometries */
  const fnz_geometry *recent[FNZI_RECENT]; /* of them, each at its place; NULL for none */
  fnzi_map symbol_index;                   /* text -> index into symbols */
  fnzi_map weight_index;                   /* name -> index into weights */
  fnzi_map op_index;                       /* name of a custom operator -> index into custom_ops */
  fnzi_scope scope; /* operators that the program declares and its context does not */
  struct {
    fnzi_graph *data;
    size_t count, capacity;
  } graphs; /* [0] is the program; graphs refer only to later ones */
  struct {
    fnzi_symbol *data;
    size_t count, capacity;
  } symbols;
  struct {
    fnzi_range *data;
    size_t count, capacity;
  } ranges;
  struct {
    fnzi_weight *data;
    size_t count, capacity;
  } weights;
  struct {
    const fnz_op **data;
    size_t count, capacity;
  } custom_ops; /* that the program declares or uses, in that order */
  struct {
    fnz_guard *data;
    size_t count, capacity;
  } guards;                 /* names and texts are interned */
  fnz_input_spec *inputs;   /* graphs[0].ninputs of them */
  fnz_output_spec *outputs; /* graphs[0].noutputs of them */
  const char *torch_version;
  int schema_major, schema_minor; /* up to FNZI_MOST_SCHEMA, which the text form has room for */
  struct fnzi_ints *ints; /* of words that are expressions, while functionalize/ works; borrowed */
  int64_t slack;          /* of the pass: nodes that it may still make beyond 4 for each */
  struct fnzi_notes *notes; /* while functionalize/ makes it and keeps track of why; borrowed */
  fnzi_extras *extras;      /* NULL: it is not from a .pt2 file */
  fnzi_blob *file;          /* the bytes that it is read from, if it owns them; else NULL */
  const struct fnzi_weights_source *source; /* while it is read, of weights outside; else NULL */
  bool instantiated;       /* at some sizes, for which nothing says where views lie */
  _Atomic bool *unchecked; /* of a program that was read: its types were not held against rules;
                             NULL of others, which say what rules gave */
  bool says_no_sharing; /* read from a file that has no room for it: `sharing` of outputs is unknown
                         */
  bool is_rewritten; /* extras are of the program it was made from; see fnzi_graph.source_nodes */
};

/* --- Arguments of a pass ---------------------------------------------------------------------- */
/* The tag of an argument of a pass that is an expression: its word is `i`. An INT is a number of
 * any size, so no word of one can be an expression. */
enum {
  FNZI_ARG_SIZE = 32,
  FNZI_ARG_REAL, /* an expression as a floating point number: its id is `i`; a pass only carries it
                  */
  FNZI_ARG_TRUTH /* a condition, likewise */
};
static inline bool fnzi_arg_is_expr(const fnz_arg *arg) {
  return arg->tag >= FNZI_ARG_SIZE;
}

/* --- Building -----------------------------------------------------------------------------
 * Whatever is handed in is copied or interned unless said otherwise. */
/* An empty program. It has no graph yet: the first fnzi_graph_add makes graph 0. */
FNZ_MUST_CHECK FNZI_SHARED fnz_status fnzi_program_create(fnz_context *ctx, fnz_program **out);
FNZ_MUST_CHECK FNZI_SHARED fnz_status fnzi_graph_add(fnz_program *p, const char *name,
                                                     uint32_t *out);

void fnzi_graph_end(fnz_context *ctx, fnzi_graph *graph);

/* The same pointer for the same bytes. */
FNZ_MUST_CHECK fnz_status fnzi_intern(fnz_program *p, const char *s, size_t size, const char **out);
/* The same of a text that ends in a zero, in its place; NULL stays NULL. */
FNZ_MUST_CHECK fnz_status fnzi_intern_text(fnz_program *p, const char **text);
/* The same pointer for equal geometries. Checks rank, sizes >= 0 and that numel and the extent in
 * bytes fit 63 bits (LIMIT, BOUNDS, OVERFLOW). */
FNZ_MUST_CHECK FNZI_SHARED fnz_status fnzi_intern_geometry(fnz_program *p, const fnz_geometry *g,
                                                           const fnz_geometry **out);
/* Equal texts give the same index. */
FNZ_MUST_CHECK fnz_status fnzi_symbol_add(fnz_program *p, const char *text, bool has_hint,
                                          int64_t hint, uint32_t *out);

/* name must be new in the graph (DUPLICATE). geometry NULL, or from fnzi_intern_geometry. */
FNZ_MUST_CHECK FNZI_SHARED fnz_status fnzi_value_add(fnz_program *p, uint32_t graph,
                                                     const char *name, const fnz_geometry *geometry,
                                                     uint32_t node, uint32_t *out);
/* The file has no strides and offset for this value: a text without them, or a file in which they
 * describe something else. Values in ascending order. */
FNZ_MUST_CHECK fnz_status fnzi_value_unsaid(fnz_program *p, uint32_t graph, uint32_t value);
bool fnzi_value_is_unsaid(const fnzi_graph *graph, uint32_t value);
/* Like fnzi_value_add(), with a fresh name made from `stem`: "add", "add_1", ... */
FNZ_MUST_CHECK fnz_status fnzi_value_add_fresh(fnz_program *p, uint32_t graph, const char *stem,
                                               const fnz_geometry *geometry, uint32_t node,
                                               uint32_t *out);
/* Appends a node. `args`, `outputs` and `u.other` are deep-copied into the arena; `node` may leave
 * the first two NULL to have zeroed room of nargs and noutputs. The strings of `node` must live as
 * long as the program. */
FNZ_MUST_CHECK fnz_status fnzi_node_add(fnz_program *p, uint32_t graph, const fnzi_node *node,
                                        uint32_t *out);
/* The same for a node whose parts are all in the arena already: nothing is copied. */
FNZ_MUST_CHECK FNZI_SHARED fnz_status fnzi_node_append(fnz_program *p, uint32_t graph,
                                                       const fnzi_node *node, uint32_t *out);
/* As fnzi_node_set() of a copy of `all` in the arena. */
FNZ_MUST_CHECK fnz_status fnzi_node_keep(fnz_program *p, fnzi_node *node,
                                         const fnzi_node_other *all);
/* The arguments with lists and complex numbers of their own, in the arena; strings are the same.
 * There is space for `room` arguments, the last ones DEFAULT. A walk with FNZI_EACH_ARG over the
 * copy may change each argument, fnzi_each_own(). LIMIT where lists are nested too deep. */
FNZ_MUST_CHECK FNZI_SHARED fnz_status fnzi_args_clone(fnzi_arena *arena, const fnz_arg *args,
                                                      size_t count, size_t capacity, fnz_arg **out);
/* The type that a parameter takes, "int[1]?", and a given argument, "the str 'a'", for messages
 * (program/arg_words.c). */
const char *fnzi_param_words(const fnzi_param *p, char out[64]);
const char *fnzi_arg_words(const fnz_arg *arg, char out[80]);
/* Whether an argument is a number of an enumeration with `count` members. Callers may give any. */
bool fnzi_arg_is_below(const fnz_arg *arg, int64_t count);
/* Deep copy of a list of arguments into the arena of the program; strings are interned. */
FNZ_MUST_CHECK FNZI_SHARED fnz_status fnzi_args_copy(fnz_program *p, const fnz_arg *args,
                                                     size_t count, fnz_arg **out);
/* `blob` is retained. The name must be new (DUPLICATE). */
FNZ_MUST_CHECK fnz_status fnzi_weight_add(fnz_program *p, const char *name, fnzi_blob *blob,
                                          const fnz_geometry *geometry);

/* Zeroed room for the inputs, outputs and, of graph 0, their signature. The caller fills it in. */
FNZ_MUST_CHECK FNZI_SHARED fnz_status fnzi_graph_set_inputs(fnz_program *p, uint32_t graph,
                                                            size_t count);
FNZ_MUST_CHECK FNZI_SHARED fnz_status fnzi_graph_set_outputs(fnz_program *p, uint32_t graph,
                                                             size_t count);
FNZ_MUST_CHECK fnz_status fnzi_range_add(fnz_program *p, const char *symbol, int64_t min,
                                         int64_t max);
/* Appends a guard; its names and text are copied. */
FNZ_MUST_CHECK fnz_status fnzi_guard_add(fnz_program *p, const fnz_guard *guard);
/* A copy of `spec` that lives as long as the program. */
FNZ_MUST_CHECK fnz_status fnzi_output_spec_copy(fnz_program *p, const fnz_output_spec *spec,
                                                fnz_output_spec *out);
/* Declares an operator outside ATen by its schema, "ns::name.overload(...) -> ...". If the program
 * or its context has declared that name before, both must be the same operator, else DUPLICATE. */
FNZ_MUST_CHECK fnz_status fnzi_custom_op_add(fnz_program *p, const char *schema,
                                             const fnz_op **out);
/* The operator that `name` means in this program, as fnzi_op_find(). A custom one of the context
 * becomes one of the program, so that what is written of it can be read anywhere. */
FNZ_MUST_CHECK fnz_status fnzi_op_use(fnz_program *p, const char *name, const fnz_op **out);
/* fnzi_put_near_op() with the operators that the program declares. */
FNZ_MUST_CHECK fnz_status fnzi_op_put_near(const fnz_program *p, const char *name, fnz_buffer *out);
/* The same operator for a program of perhaps another context. */
FNZ_MUST_CHECK fnz_status fnzi_op_adopt(fnz_program *p, const fnz_op **op);

/* The same program in memory of `ctx`: values, nodes, graphs and symbols keep their indices.
 * Weights are shared. Ends with fnz_program_destroy(); NULL on failure (program/copy.c). */
FNZ_MUST_CHECK fnz_status fnzi_program_copy(fnz_context *ctx, const fnz_program *from,
                                            fnz_program **out);

/* Keeps the graphs order[0 ... count) in that order, graph 0 first, and ends the others; references
 * follow. Every graph that a kept graph refers to must be kept, and come after it. */
FNZ_MUST_CHECK fnz_status fnzi_graphs_arrange(fnz_program *p, const uint32_t *order, size_t count);

/* --- Looking ----------------------------------------------------------------------------- */
static inline fnzi_graph *fnzi_graph_at(const fnz_program *p, uint32_t graph) {
  return &p->graphs.data[graph];
}
/* The graph that the program runs; the others are bodies of its operators. */
static inline fnzi_graph *fnzi_graph_main(const fnz_program *p) {
  return fnzi_graph_at(p, 0);
}
static inline fnzi_value *fnzi_value_at(const fnz_program *p, uint32_t graph, uint64_t value) {
  return &p->graphs.data[graph].values.data[value];
}
static inline fnzi_node *fnzi_node_at(const fnz_program *p, uint32_t graph, uint32_t node) {
  return &p->graphs.data[graph].nodes.data[node];
}
/* The value of that name, `size` bytes; false when there is none. Names that fnzi_value_add_fresh
 * made after the last fnzi_value_add are looked for one by one. */
bool fnzi_value_find(const fnz_program *p, uint32_t graph, const char *name, size_t size,
                     uint64_t *out);
/* The argument refers to a value of its graph. */
static inline bool fnzi_is_reference(const fnz_arg *arg) {
  return arg->tag == FNZ_ARG_VALUE || arg->tag == FNZ_ARG_SYMBOL || arg->tag == FNZ_ARG_TOKEN ||
         arg->tag == FNZ_ARG_OBJECT;
}
/* NULL when there is none. */
const fnzi_weight *fnzi_weight_find(const fnz_program *p, const char *name);

/* The operator that `name` means in this program: of the ATen table, or declared by the program or
 * its context. NULL when there is none. */
const fnz_op *fnzi_op_find(const fnz_program *p, const char *name);

/* It only moves elements: *_copy, *_scatter, clone, copy. */
bool fnzi_op_is_copy(const fnz_op *op);

/* The first node of the epilogue: the nodes at the end of graph 0 that write its inputs and nothing
 * else (program/epilogue.c). The views that lead to a window of an input stand right before the
 * `copy_` that writes it, and no node of the epilogue reads another one's result but so. The number
 * of nodes when there is none. */
uint32_t fnzi_epilogue_start(const fnz_program *p);
/* The value whose memory `value` views in the end; itself if it is no view. */
uint64_t fnzi_value_memory(const fnz_program *p, uint32_t graph, uint64_t value);

/* The loop order of eager's iterator for an elementwise operator, from the outermost dimension to
 * the innermost. Larger strides of the written tensor are outside; for equal strides, the larger
 * size. If that does not order two dimensions, the strides of the read tensors do, one tensor after
 * the other. No operator reads more than FNZI_LOOP_READS of them. */
enum { FNZI_LOOP_READS = 8 };
void fnzi_loop_order(const fnz_geometry *target, const fnz_geometry *const *reads, size_t count,
                     uint32_t *order);
/* Strides that eager's TensorIterator gives a fresh result of these sizes: the dimension order of
 * the inputs. Inputs of lower rank broadcast. A single input gives the strides of a copy that
 * closes gaps. */
void fnzi_iterator_strides(const fnz_geometry *const *inputs, size_t count, uint32_t rank,
                           const int64_t *sizes, int64_t *out);
/* Eager's suggest_memory_format returns channels-last, for four dimensions or five: the strides
 * grow in that order, with gaps or without. Sizes of 1 count too, so a tensor that is also
 * row-major is not channels-last. */
bool fnzi_suggests_channels_last(const fnz_geometry *g);
/* The strides of a channels-last tensor, of four dimensions or five; a size of 0 counts as 1. */
void fnzi_channels_last_strides(const int64_t *sizes, uint32_t rank, int64_t *out);

/* The arguments that are no lists, in order, going into lists, as each.arg:
 *
 *     FNZI_EACH_ARG(each, node->args, node->nargs)
 *       if (fnzi_is_reference(each.arg))
 *         used[each.arg->u.value] = true;
 *
 * Lists are nested FNZI_MAX_NESTING deep at most: fnzi_args_copy() and readers refuse deeper ones,
 * which are passed over here. */
typedef struct fnzi_each {
  const fnz_arg *arg, *end; /* of this list */
} fnzi_each;
/* Apart, so that the two above stay in registers. */
typedef struct fnzi_each_lists {
  const fnz_arg *last;                    /* the end of the arguments, in a list */
  const fnz_arg *lists[FNZI_MAX_NESTING]; /* that it is in, outermost first */
  uint32_t depth;
} fnzi_each_lists;
/* The argument is a list, or there is none left in this list. The next one; NULL: there is none. */
FNZI_SHARED fnzi_each fnzi_each_into_list(fnzi_each_lists *in, fnzi_each each);

/* Here, because most arguments are no lists and most walks end outside of one. */
static inline bool fnzi_each_is_there(fnzi_each_lists *in, fnzi_each *each) {
  if (each->arg == each->end ? !in->depth : each->arg->tag != FNZ_ARG_LIST)
    return each->arg != each->end;
  *each = fnzi_each_into_list(in, *each);
  return each->arg != NULL;
}
static inline fnzi_each_lists *fnzi_each_start(fnzi_each_lists *in) {
  in->depth = 0;
  return in;
}
static inline fnzi_each fnzi_each_of(const fnz_arg *args, size_t count) {
  return (fnzi_each){args, args ? args + count : args};
}
/* The outer loop is there for its variable. */
#define FNZI_EACH_ARG(each, args, count)                                                           \
  for (fnzi_each_lists each##_in, *each##_once = fnzi_each_start(&each##_in); each##_once;         \
       each##_once = NULL)                                                                         \
    for (fnzi_each each = fnzi_each_of(args, count); fnzi_each_is_there(&each##_in, &each);        \
         each.arg++)

/* The same argument, of arguments that the caller owns (fnzi_args_clone()), to be changed. */
static inline fnz_arg *fnzi_each_own(const fnzi_each *each) {
  return (fnz_arg *)(uintptr_t)each->arg;
}

/* Arguments one by one, with the lists seen: OPEN and CLOSE come with the list itself.
 * COMPLEX counts as one item. Lists deeper than FNZI_MAX_NESTING end the walk with TOO_DEEP. */
typedef enum fnzi_step {
  FNZI_STEP_END,
  FNZI_STEP_ITEM,
  FNZI_STEP_OPEN,
  FNZI_STEP_CLOSE,
  FNZI_STEP_TOO_DEEP
} fnzi_step;
typedef struct fnzi_walk {
  struct {
    const fnz_arg *at, *end;
  } level[FNZI_MAX_NESTING + 1];
  uint32_t depth;
  const fnz_arg *arg; /* the current argument of the last step */
} fnzi_walk;
FNZI_SHARED void fnzi_walk_start(fnzi_walk *walk, const fnz_arg *args, size_t count);
FNZI_SHARED fnzi_step fnzi_walk_next(fnzi_walk *walk);

/* Marks the values that a node or an output of the graph takes; `used`: one per value. */
void fnzi_graph_uses(const fnzi_graph *graph, bool *used);

/* Enough room for the results when their number is unknown: a list result is as long as
 * a list argument, a dimension of a tensor (unbind), or as a number says (chunk). */
size_t fnzi_request_capacity(const fnz_backend *backend, const fnz_request *request);

static inline fnz_arg fnzi_arg_int(int64_t i) {
  return (fnz_arg){.tag = FNZ_ARG_INT, .u.i = i};
}
static inline fnz_arg fnzi_arg_value(fnz_handle h) {
  return (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = h};
}
static inline fnz_arg fnzi_arg_dtype(fnz_dtype d) {
  return (fnz_arg){.tag = FNZ_ARG_DTYPE, .u.i = d};
}
static inline fnz_arg fnzi_arg_default(void) {
  return (fnz_arg){.tag = FNZ_ARG_DEFAULT};
}
/* A list of INT items in the arena. */
FNZ_MUST_CHECK fnz_status fnzi_arg_ints(fnzi_arena *arena, const int64_t *items, size_t count,
                                        fnz_arg *out);

/* "node 12 (add_.Tensor at model.py:7)" into `out`, for messages. */
void fnzi_node_place(const fnz_program *p, uint32_t graph, uint32_t node, char out[160]);
/* The same of a node that is not in the graph yet; `node` is the number that it gets there. */
void fnzi_node_describe(const fnz_program *p, uint32_t graph, uint32_t node, const fnzi_node *n,
                        char out[160]);

/* --- Memory in the signature (program/sharing.c) ----------------------------------------- */
/* If two weights share bytes and the signature has the final value of only one, the other ends with
 * the same value: this sets `shares` and `written`. For a program whose file names weights one by
 * one. */
FNZ_MUST_CHECK fnz_status fnzi_share_finals(fnz_program *p);
/* Some tensor has a symbolic size, stride or offset, or some value is a symbolic number. */
bool fnzi_program_has_symbols(const fnz_program *p);

/* --- Weights that are one tensor (program/same_weights.c) -------------------------------- */
/* How long the name of an input is that the text begins with, the longest one, and which input; 0:
 * none. "x", "input.x", "b_cache", "layer.cache", "buffer.layer.cache" are names. */
size_t fnzi_input_at(const fnz_program *p, const char *text, uint32_t *out);
/* A weight's window of its storage; of others the geometry of the value. */
const fnz_geometry *fnzi_input_geometry(const fnz_program *p, uint32_t k);
/* The first element, row-major, at which weight a and the window of `base` differ, which has its
 * sizes; -1: they are the same. */
int64_t fnzi_weight_difference(const fnzi_weight *a, const fnz_geometry *window,
                               const fnzi_blob *base);
/* Weight a becomes a window of weight b's storage, where it has the same elements: else OVERLAP. */
FNZ_MUST_CHECK fnz_status fnzi_weights_join(fnz_context *ctx, fnz_program *p, uint32_t a,
                                            uint32_t b, const fnz_geometry *window);
/* Input k is a constant in `from` that its functional form writes, and shares no memory there. */
bool fnzi_is_written_constant(const fnz_program *from, const fnz_program *to, uint32_t k);
enum { FNZI_CONSTANT_WORDS = 512 };
/* Message and remedy for such a constant; they name a weight with the same elements. */
void fnzi_written_constant_say(const fnz_program *p, uint32_t k, char what[FNZI_CONSTANT_WORDS],
                               char remedy[FNZI_CONSTANT_WORDS]);

/* The checks of fnz_program_verify() on memory. */
FNZ_MUST_CHECK fnz_status fnzi_sharing_verify(fnz_context *ctx, const fnz_program *p);
/* The first of the inputs that share memory with input k; k if it is the first. */
static inline uint32_t fnzi_memory_of(const fnz_program *p, uint32_t k) {
  return p->inputs[k].shares ? p->inputs[k].shares - 1 : k;
}

/* --- Kinds of inputs and outputs (program/kinds.c) --------------------------------------- */
/* "user", "buffer_mutation", as the text form writes them. */
extern const char *const fnzi_input_kind_names[FNZ_INPUT_KIND_COUNT];
extern const char *const fnzi_output_kind_names[FNZ_OUTPUT_KIND_COUNT];

typedef enum fnzi_taker {
  FNZI_TAKEN_BY_NOBODY,
  FNZI_TAKEN_BY_USER,     /* a result for the caller of the program */
  FNZI_TAKEN_BY_TRAINING, /* a gradient */
  FNZI_TAKEN_AS_FINAL,    /* the final value of an input or weight */
} fnzi_taker;

enum { FNZI_NO_INPUT_KIND = -1 };

typedef struct fnzi_output_kind {
  fnzi_taker taker;
  int of;             /* the kind of input that the target names; FNZI_NO_INPUT_KIND */
  const char *prefix; /* of a final value: "buffer" of "buffer.NAME"; NULL */
} fnzi_output_kind;

const fnzi_output_kind *fnzi_output_kind_of(const fnz_output_spec *spec);
/* Final values of inputs and weights that have a name outside of the program. */
static inline bool fnzi_output_is_mutation(const fnz_output_spec *spec) {
  return fnzi_output_kind_of(spec)->prefix != NULL;
}
/* Results of a call: "output.K" is the K-th of these. */
static inline bool fnzi_output_is_result(const fnz_output_spec *spec) {
  fnzi_taker taker = fnzi_output_kind_of(spec)->taker;
  return taker == FNZI_TAKEN_BY_USER || taker == FNZI_TAKEN_BY_TRAINING;
}

/* --- Geometry (program/geometry.c) ------------------------------------------------------- */
/* Row-major strides of the sizes. */
FNZI_SHARED void fnzi_contiguous_strides(const int64_t *sizes, uint32_t rank, int64_t *out);
FNZI_SHARED bool fnzi_is_contiguous(const fnz_geometry *g);
/* Copies the elements of a window of the storage `from`, row by row, into `to`. */
void fnzi_geometry_gather(const fnz_geometry *g, const void *from, void *to);
/* A permutation of a contiguous tensor: fills its memory without gaps or overlap (PyTorch's
 * is_non_overlapping_and_dense). */
FNZI_SHARED bool fnzi_is_dense(const fnz_geometry *g);
FNZI_SHARED bool fnzi_same_sizes(const fnz_geometry *a, const fnz_geometry *b);
bool fnzi_has_sizes(const fnz_geometry *g, const int64_t *sizes, uint32_t rank);
/* Compares strides of geometries with the same sizes, except strides that do not matter. */
FNZI_SHARED bool fnzi_same_strides(const fnz_geometry *a, const fnz_geometry *b);
bool fnzi_geometry_equal(const fnz_geometry *a, const fnz_geometry *b);
/* The bytes of all elements stay within 63 bits. A size of 0 counts as 1: otherwise a zero would
 * hide sizes whose product no code can compute. */
bool fnzi_elements_fit(const fnz_geometry *g);
/* Lowest and one-past-highest element touched, in elements from the start of the storage; both 0
 * when there are no elements. False when that leaves 63 bits. */
FNZI_SHARED bool fnzi_extent(const fnz_geometry *g, int64_t *low, int64_t *high);
/* Every element of the window `part` of a memory surely is one of `all`, of the same dtype. */
bool fnzi_geometry_covers(const fnz_geometry *all, const fnz_geometry *part);
/* Wraps a negative dim; BOUNDS naming `what` when outside. A rank of 0 accepts 0 and -1. */
FNZ_MUST_CHECK FNZI_SHARED fnz_status fnzi_wrap_dim(fnz_context *ctx, const char *what, int64_t dim,
                                                    uint32_t rank, uint32_t *out);

enum { FNZI_SHAPE_TEXT = 96 };
/* "f32[2,3]", for messages; many dimensions are cut off with "...". */
void fnzi_shape_text(const fnz_geometry *g, char out[FNZI_SHAPE_TEXT]);

#endif
