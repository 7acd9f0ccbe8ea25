/* compare.h - numbers for expressions, so that equal ones have equal numbers.
 *
 * A *class* is a header (operator, plain arguments, geometry of the results) and operands, which
 * are classes. Two programs are numbered into one table: a class that both have is one that both
 * compute. Class 0 is nothing.
 *
 * Memory: a tensor's class says which window it is, its component's *state* what has been written
 * there; reading it is a class of both. A component is what may share memory. */
#ifndef FNZI_COMPARE_H
#define FNZI_COMPARE_H

#include "base/digest.h"
#include "program/program.h"

#include <fnz/compare.h>

/* The numbers, as the bytes of keys, are part of what fnz_program_hash() is of (docs/hash.md): new
 * ones come last. */
typedef enum fnzi_cmp_class_kind {
  FNZI_CLASS_INPUT,
  FNZI_CLASS_NODE,
  FNZI_CLASS_RESULT, /* one of several results of a node */
  FNZI_CLASS_READ,   /* a window, and the state of its memory */
  FNZI_CLASS_ROOT,   /* one of several tensors made by equal nodes in one component */
  FNZI_CLASS_GRAPH,
  FNZI_CLASS_PART,   /* of a signature, for the hash */
  FNZI_CLASS_PROGRAM /* all of it */
} fnzi_cmp_class_kind;

/* The first place of a class in a program: a node or, with is_input, an input. FNZI_NO_NODE: a
 * whole graph. */
typedef struct fnzi_cmp_place {
  uint32_t graph, index;
  bool is_input, is_there;
} fnzi_cmp_place;

typedef struct fnzi_cmp_class {
  const unsigned char *header; /* operands follow it, 4 bytes each */
  uint32_t header_bytes, noperands;
  fnzi_cmp_class_kind kind;
  fnzi_cmp_place spots[2]; /* the first one in either program */
} fnzi_cmp_class;

/* The memory of one graph while it is numbered; of graph 0 it stays. */
typedef struct fnzi_cmp_memory {
  bool is_tracked; /* some node makes a view or writes; else nothing below is there */
  uint32_t
      *component;  /* per value: a value that represents the component; see fnzi_cmp_component */
  uint32_t *state; /* per such value: class of the last write, 0 before */
  uint32_t *roots; /* tensors of their own in it */
  uint32_t *made;  /* of these, created by nodes so far */
  bool *moves;     /* some node changes sizes or strides of a tensor in it */
} fnzi_cmp_memory;

typedef struct fnzi_cmp_side {
  const fnz_program *p;
  uint32_t which;
  uint32_t *graphs;                 /* classes of regions */
  bool *writes, *random, *effects;  /* per graph: some node in it does */
  uint32_t *values;                 /* classes, of the graph at hand */
  fnzi_cmp_memory memory;           /* of the graph at hand */
  uint32_t random_now, effects_now; /* the last node of either sort */
} fnzi_cmp_side;

typedef struct fnzi_cmp_numbering {
  fnz_context *ctx;
  const fnz_program *programs[2];
  fnzi_arena arena;
  fnzi_map known; /* header and operands -> class */
  struct {
    fnzi_cmp_class *data;
    size_t count, capacity;
  } classes;
  fnz_buffer header; /* of the class that is being made */
  struct {
    uint32_t *data;
    size_t count, capacity;
  } operands;
  bool by_name; /* constants go by their names, whatever they hold */
} fnzi_cmp_numbering;

/* --- canonical.c ------------------------------------------------------------------------------ */
FNZ_MUST_CHECK fnz_status fnzi_cmp_numbering_init(fnz_context *ctx, fnzi_cmp_numbering *n);
void fnzi_cmp_numbering_free(fnzi_cmp_numbering *n);
/* Numbers all graphs, the program itself last: its values and memory stay in the side. */
FNZ_MUST_CHECK fnz_status fnzi_cmp_number_program(fnzi_cmp_numbering *n, fnzi_cmp_side *s);
/* The class of a value's content at the end of the graph. */
FNZ_MUST_CHECK fnz_status fnzi_cmp_number_read(fnzi_cmp_numbering *n, fnzi_cmp_side *s,
                                               uint64_t value, fnzi_cmp_place spot, uint32_t *out);
uint32_t fnzi_cmp_operand(const fnzi_cmp_class *e, uint32_t k);

/* The class of an input of the program, without its name. */
FNZ_MUST_CHECK fnz_status fnzi_cmp_number_input(fnzi_cmp_numbering *n, const fnzi_cmp_side *s,
                                                uint32_t k, uint32_t *out);

/* --- keys.c: the class that is being made ----------------------------------------------------- */
FNZ_MUST_CHECK fnz_status fnzi_cmp_key_start(fnzi_cmp_numbering *n, fnzi_cmp_class_kind kind);
FNZ_MUST_CHECK fnz_status fnzi_cmp_key_number(fnzi_cmp_numbering *n, int64_t number);
FNZ_MUST_CHECK fnz_status fnzi_cmp_key_text(fnzi_cmp_numbering *n, const char *text, size_t size);
FNZ_MUST_CHECK fnz_status fnzi_cmp_key_geometry(fnzi_cmp_numbering *n, const fnz_program *p,
                                                const fnz_geometry *g);
/* The content of a plain argument; of a list, a reference or a graph only its tag. */
FNZ_MUST_CHECK fnz_status fnzi_cmp_key_literal(fnzi_cmp_numbering *n, const fnz_arg *arg);
/* The same with everything in it. */
FNZ_MUST_CHECK fnz_status fnzi_cmp_key_tree(fnzi_cmp_numbering *n, const fnz_arg *arg);
/* The name and the content of argument i of an operator; nothing where it is the default. */
FNZ_MUST_CHECK fnz_status fnzi_cmp_key_given(fnzi_cmp_numbering *n, const fnz_op *op, size_t i,
                                             const fnz_arg *arg);
FNZ_MUST_CHECK fnz_status fnzi_cmp_key_operand(fnzi_cmp_numbering *n, uint32_t operand);
/* The class of the key; a new one is at `spot`. */
FNZ_MUST_CHECK fnz_status fnzi_cmp_key_end(fnzi_cmp_numbering *n, fnzi_cmp_class_kind kind,
                                           uint32_t which, fnzi_cmp_place spot, uint32_t *out);

/* --- components.c ----------------------------------------------------------------------------- */
/* The operator writes argument i, even if its schema does not declare it. */
bool fnzi_cmp_writes_param(const fnz_op *op, size_t i);
bool fnzi_cmp_op_writes(const fnz_op *op);
/* The node takes a graph for which which[graph] is true. */
bool fnzi_cmp_has_body(const fnzi_node *node, const bool *which);
/* Its result is a view of its argument; it computes nothing. */
bool fnzi_cmp_only_views(const fnz_op *op);
FNZ_MUST_CHECK fnz_status fnzi_cmp_memory_find(fnzi_cmp_numbering *n, const fnzi_cmp_side *s,
                                               uint32_t graph, fnzi_cmp_memory *out);
uint32_t fnzi_cmp_component(const fnzi_cmp_memory *m, uint64_t value);
/* Finds for each output of graph 0 the first output whose memory it may share; else an input,
 * counted after all outputs; else itself. In the arena; memory must be tracked. */
FNZ_MUST_CHECK fnz_status fnzi_cmp_sharing(fnzi_arena *arena, const fnzi_cmp_side *s,
                                           uint32_t **out);
/* The class of the last write to the memory of an input of graph 0; 0 for none. */
uint32_t fnzi_cmp_state_of(const fnzi_cmp_side *s, uint32_t input);

/* --- weights.c -------------------------------------------------------------------------------- */
bool fnzi_cmp_weights_equal(const fnzi_weight *a, const fnzi_weight *b);
/* The digest of its elements in row-major order; it has data. */
FNZ_MUST_CHECK fnz_status fnzi_cmp_digest_weight(fnz_context *ctx, const fnzi_weight *w,
                                                 unsigned char out[FNZI_DIGEST_BYTES]);

/* --- difference.c ----------------------------------------------------------------------------- */
/* Two arguments differ in more than the values that they refer to. Uses the key of n. */
FNZ_MUST_CHECK fnz_status fnzi_cmp_args_differ(fnzi_cmp_numbering *n, const fnz_arg *a,
                                               const fnz_arg *b, bool *out);
/* Follows two classes to the operands where they differ, and reports that; FNZ_DIFFERENT. */
fnz_status fnzi_cmp_report_classes(fnzi_cmp_numbering *n, const fnzi_cmp_side *sides,
                                   const char *where, uint32_t a, uint32_t b, fnz_difference **out);
/* The same for something that is no expression. */
fnz_status fnzi_cmp_report_plain(fnz_context *ctx, fnz_difference **out, const char *where,
                                 const char *format, ...) FNZI_PRINTF(4, 5);

#endif
