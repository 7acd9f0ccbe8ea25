/* pt2_write.h - what the parts of the .pt2 writer share.
 *
 *   pt2_write.c            the model and the archive around it
 *   pt2_write_payloads.c   an archive for a program that did not come from one
 *   pt2_write_graph.c      graphs and nodes
 *   pt2_write_wrapped.c    calls of custom operators that PyTorch wraps
 *   pt2_write_args.c       arguments and results
 *   pt2_write_values.c     tensors and symbolic numbers
 *   pt2_write_signature.c  inputs and outputs of graph 0
 *   pt2_write_names.c      names that Python and FX accept
 *   pt2_write_check.c      what .pt2 files cannot hold
 *   pt2_write_guards.c     guards as nodes */
#ifndef FNZI_PT2_WRITE_H
#define FNZI_PT2_WRITE_H

#include "program/formats/formats.h"
#include "program/pt2_metadata.h"
#include "program/formats/json_out.h"
#include "program/shapes/symbolic.h"

/* Which of SymInt, SymFloat and SymBool a symbolic value is. */
typedef enum fnzi_pt2_number { FNZI_SYM_INT, FNZI_SYM_FLOAT, FNZI_SYM_BOOL } fnzi_pt2_number;

typedef struct fnzi_pt2_names {
  const char **values; /* by value */
  const char **nodes;  /* by node; NULL: that of its one result */
  uint8_t *numbers;    /* by value: fnzi_pt2_number of a symbolic one */
  fnzi_map taken;      /* names of values and those made for the file; the value is 1 */
  fnzi_map next;       /* stem -> number to try */
} fnzi_pt2_names;

/* One run of the writer. */
typedef struct fnzi_pt2_out {
  fnz_context *ctx;
  const fnz_program *p;
  const fnzi_extras *x; /* NULL: the program is not from a .pt2 file */
  unsigned fields;      /* FNZI_SCHEMA_* */
  int minor;            /* of the schema */
  fnzi_arena arena;
  fnzi_exprs exprs;
  const char **expressions; /* by symbol, as .pt2 files have them; NULL: not made yet */
  fnz_buffer *bodies;       /* by graph: its JSON, for the node that takes it */
  fnzi_pt2_names *names;    /* by graph */
  const char **outputs;     /* of graph 0: the name of the value; NULL for a literal */
  bool *left_out;           /* per value of graph 0: an input that the file does not have */
  const uint64_t *copied;   /* of graph 0: values whose clones are outputs, in order */
  const char **clones;      /* their names */
  size_t nclones;
  const char *argument;           /* whose value is being written; NULL: it is none of a node's */
  fnz_buffer text;                /* scratch */
  const fnz_program *asked;       /* the program to write; `p` may be a copy of it */
  fnz_format_refused_fn *refused; /* gets to know of each refusal, and the writer goes on; NULL: the
                                   * first one ends it */
  void *user;                     /* of `refused` */
} fnzi_pt2_out;

/* --- pt2_write_wrapped.c ---------------------------------------------------------------------- */
/* The custom operator that writes, of a form that PyTorch says by wrapping it; NULL for others. */
const fnz_op *fnzi_pt2_wrapped(const fnz_op *op);
/* "higher_order.auto_functionalized" or that with "_v2"; NULL for others. */
const char *fnzi_pt2_wrapper_of(const fnz_op *op);
/* UNSUPPORTED for a form that PyTorch does not have and cannot wrap. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_check_wrapped(const fnzi_pt2_out *o, const fnz_op *op);
FNZ_MUST_CHECK fnz_status fnzi_pt2_put_wrapped_inputs(fnzi_pt2_out *o, fnzi_json_out *w,
                                                      uint32_t graph, const fnzi_node *node);
FNZ_MUST_CHECK fnz_status fnzi_pt2_put_wrapped_results(fnzi_pt2_out *o, fnzi_json_out *w,
                                                       uint32_t graph, const fnzi_node *node);

/* --- pt2_write_names.c ------------------------------------------------------------------------ */
/* Names for all values and nodes of a graph. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_make_names(fnzi_pt2_out *o, uint32_t graph);
/* A new name in a graph. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_fresh(fnzi_pt2_out *o, uint32_t graph, const char *stem,
                                         const char **out);
static inline bool fnzi_pt2_is_left_out(const fnzi_pt2_out *o, const fnz_arg *input) {
  return input->tag == FNZ_ARG_VALUE && o->left_out[input->u.value];
}
static inline const char *fnzi_pt2_name(const fnzi_pt2_out *o, uint32_t graph, uint64_t value) {
  return o->names[graph].values[value];
}

/* --- pt2_write_values.c ----------------------------------------------------------------------- */
/* Which numbers the symbolic values of a graph are. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_find_numbers(fnzi_pt2_out *o, uint32_t graph);
/* A TensorMeta. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_put_meta(fnzi_pt2_out *o, fnzi_json_out *w,
                                            const fnz_geometry *g, const char *device,
                                            bool requires_grad);
FNZ_MUST_CHECK fnz_status fnzi_pt2_put_device(fnzi_json_out *w, const char *device);
/* tensor_values, sym_int_values ... of a graph: four members, and the others that it has. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_put_tables(fnzi_pt2_out *o, fnzi_json_out *w, uint32_t graph);

/* --- pt2_write_args.c ------------------------------------------------------------------------- */
/* An Argument union. `param` has the type of an empty list; NULL when there is none. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_put_arg(fnzi_pt2_out *o, fnzi_json_out *w, uint32_t graph,
                                           const fnz_arg *arg, const fnzi_param *param);
/* "aten.add.Tensor" as "torch.ops.aten.add.Tensor". */
FNZ_MUST_CHECK fnz_status fnzi_pt2_put_operator(fnzi_pt2_out *o, fnzi_json_out *w,
                                                const char *name);
/* {"name": name}, a TensorArgument. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_put_tensor(fnzi_json_out *w, const char *name);
/* {"name": name, "class_fqn": class}. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_put_object(fnzi_pt2_out *o, fnzi_json_out *w, const char *name);

enum { FNZI_PT2_POSITIONAL = 1, FNZI_PT2_KEYWORD = 2 };

/* An argument of a node. `param` says what an empty list is one of; NULL: not known. */
typedef struct fnzi_pt2_input {
  const char *name;
  fnz_arg arg;
  const fnzi_param *param;
  int kind;
} fnzi_pt2_input;
FNZ_MUST_CHECK fnz_status fnzi_pt2_put_input(fnzi_pt2_out *o, fnzi_json_out *w, uint32_t graph,
                                             const fnzi_pt2_input *in);
FNZ_MUST_CHECK fnz_status fnzi_pt2_put_result(fnzi_pt2_out *o, fnzi_json_out *w, uint32_t graph,
                                              const fnz_arg *result);

/* --- pt2_pairs.c ------------------------------------------------------------------------------ */
/* The names of a call's arguments, or the number of its results. */
typedef struct fnzi_pt2_leaves {
  const char *const *names; /* NULL: of results */
  size_t count;
} fnzi_pt2_leaves;
/* The metadata of the graph module, including the pairs of an input and its new value. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_put_metadata(fnzi_pt2_out *o, fnzi_json_out *w);
/* The value of a member of the module's own call signature: in_spec, out_spec and forward_arg_names
 * get the program's further arguments and results, after their own. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_put_longer_call(fnzi_pt2_out *o, fnzi_json_out *w,
                                                   const fnzi_json *member,
                                                   const fnzi_pt2_leaves *inputs,
                                                   const fnzi_pt2_leaves *outputs);
/* A node of a tree text, whose children are written between these two. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_open_tree(fnzi_json_out *w, const char *type,
                                             const char *context);
FNZ_MUST_CHECK fnz_status fnzi_pt2_close_tree(fnzi_json_out *w);
FNZ_MUST_CHECK fnz_status fnzi_pt2_put_leaves(fnzi_json_out *w, size_t count);

/* --- pt2_write_check.c ------------------------------------------------------------------------ */
/* Reports a refusal of a node, or of none (FNZI_NO_NODE). It is no failure in a writer that
 * continues. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_go_on(const fnzi_pt2_out *o, fnz_status status, uint32_t graph,
                                         uint32_t node);
/* Something that .pt2 files cannot hold. */
fnz_status fnzi_pt2_cannot(const fnzi_pt2_out *o, const char *where, const char *what);
/* An argument that they cannot hold, by its name and text. */
fnz_status fnzi_pt2_refuse_arg(fnzi_pt2_out *o, uint32_t graph, const fnz_arg *arg,
                               const char *why);
/* Whether an item is read back as it is. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_check_arg(fnzi_pt2_out *o, uint32_t graph, const fnz_arg *arg);
/* The device of tensors is not known if a program is not from a .pt2 file; a device that a node
 * names shows that not all were on the CPU. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_check_devices(const fnzi_pt2_out *o);

/* --- pt2_write_guards.c ----------------------------------------------------------------------- */
/* The program with its conditions as nodes, which must go before `p` does; NULL: it has none. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_assert_guards(fnz_context *ctx, const fnz_program *p,
                                                 fnz_program **out);

/* --- pt2_write_graph.c, pt2_write_signature.c, pt2_write_payloads.c --------------------------- */
/* A Graph. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_put_graph(fnzi_pt2_out *o, fnzi_json_out *w, uint32_t graph);
/* How a higher-order operator returns its results; NONE for any other node. */
fnzi_extras_single fnzi_pt2_single(const fnzi_pt2_out *o, uint32_t graph, uint32_t node);
/* Checks that a .pt2 file can express the signature, and decides which inputs are left out and
 * which outputs need a clone. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_plan_outputs(fnzi_pt2_out *o);
/* A GraphSignature. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_put_signature(fnzi_pt2_out *o, fnzi_json_out *w);
/* The list module_call_graph. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_put_calls(fnzi_pt2_out *o, fnzi_json_out *w);
/* An archive around `model`. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_put_archive(fnzi_pt2_out *o, const fnz_buffer *model,
                                               fnz_buffer *out, struct fnzi_out_pieces *pieces);

#endif
