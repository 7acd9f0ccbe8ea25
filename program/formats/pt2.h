/* pt2.h - what the parts of the .pt2 reader share.
 *
 * pt2.c finds the records of an archive and reads the model; pt2_graph.c reads graphs and nodes,
 * pt2_wrappers.c wrapped custom operators, pt2_vmap.c vmap regions, pt2_emit.c makes nodes for
 * both; pt2_signature.c reads inputs and outputs of graph 0, pt2_guards.c what sizes must be,
 * pt2_args.c arguments, pt2_values.c tensors and symbols, pt2_weights.c payloads, pt2_records.c
 * records of the archive. */
#ifndef FNZI_PT2_H
#define FNZI_PT2_H

#include "program/formats/formats.h"
#include "program/batching/batching.h"
#include "program/formats/json.h"
#include "program/pt2_metadata.h"
#include "program/formats/zip.h"

enum { FNZI_PT2_TRACES = 32 };

/* One run of the reader over one model. */
typedef struct fnzi_pt2 {
  fnz_program *p;
  fnzi_json_doc doc;
  fnzi_arena *arena; /* scratch: JSON trees */
  fnz_buffer text;   /* scratch: one metadata text at a time */
  struct {
    const fnzi_json **data;
    size_t count, capacity;
  } bodies; /* JSON of graph k of the program; those at the end are not read yet */
  struct {
    const char *text; /* interned; NULL: none */
    size_t size;
  } traces[FNZI_PT2_TRACES];   /* by size: a line of the source makes several nodes */
  const fnzi_zip_entry *model; /* NULL for a model.json alone */
} fnzi_pt2;

/* The graph that is being read. */
typedef struct fnzi_pt2_scope {
  fnzi_pt2 *r;
  uint32_t fresh;            /* numbers the names that no file gives */
  uint32_t graph, node;      /* node: who defines what is defined now; FNZI_NO_NODE for inputs */
  const fnzi_node *reading;  /* the file's node that is being read, with its target and source; it
                              * is in no graph while its results are defined; NULL for inputs */
  const fnz_op *op;          /* of that node; NULL for a higher-order operator */
  fnzi_map tensors, symbols; /* value name -> member of tensor_values or of sym_*_values */
  const fnzi_json *objects;  /* custom_obj_values */
  fnzi_batch batch;          /* its vmap regions */
} fnzi_pt2_scope;

/* --- pt2_values.c ----------------------------------------------------------------------------- */
/* A TensorMeta. `in` is the document that contains it. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_geometry(fnz_program *p, const fnzi_json_doc *in,
                                            const fnzi_json *meta, const fnz_geometry **out);
FNZ_MUST_CHECK fnz_status fnzi_pt2_dtype(const fnzi_json_doc *in, const fnzi_json *number,
                                         fnz_dtype *out);
/* Fills the tables of the scope from a Graph. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_tables(fnzi_pt2_scope *s, const fnzi_json *graph);
/* Adds the value `name`, found in the tables, with its geometry or symbol. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_define(fnzi_pt2_scope *s, const fnzi_json *at, const char *name,
                                          fnz_tag tag, fnz_arg *out);

/* --- pt2_args.c ------------------------------------------------------------------------------- */
/* An Argument union whose names must be defined already. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_read_arg(fnzi_pt2_scope *s, const fnzi_json *argument,
                                            fnz_arg *out);
/* An Argument union that defines the values it names; literals stay literals. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_define_arg(fnzi_pt2_scope *s, const fnzi_json *argument,
                                              fnz_arg *out);
/* "torch.ops.aten.add_.Tensor" -> "add_.Tensor", "torch.ops.ns.f.default" -> "ns::f"; NULL when the
 * target is no operator. Interned. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_op_name(fnzi_pt2 *r, const char *target, const char **out);

/* How a schema would write the type of an Argument union: "Tensor", "int[]"; "" when unknown. */
const char *fnzi_pt2_type_of(const fnzi_json *argument);

/* --- pt2_wrappers.c --------------------------------------------------------------------------- */
/* "higher_order.auto_functionalized" and "..._v2". */
bool fnzi_pt2_is_wrapper(const char *target);
/* Adds the nodes that replace such a node. `node` has its target, source and metadata. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_read_wrapper(fnzi_pt2_scope *s, const fnzi_json *json,
                                                const fnzi_json *inputs, const fnzi_json *outputs,
                                                const fnzi_node *node);

/* --- pt2_emit.c ------------------------------------------------------------------------------
 * Nodes that no file contains, in place of a node of the file. */
typedef struct fnzi_pt2_maker {
  fnzi_pt2_scope *s;
  const fnzi_json *json; /* the file's node, for messages */
  const fnzi_node *like; /* source and metadata of all that is made */
  const char *stem;      /* new names begin with it */
} fnzi_pt2_maker;

/* A name, from stem and suffix, that neither the program has nor the file is going to define. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_new_name(const fnzi_pt2_maker *m, const char *suffix,
                                            const char **out);
/* The node that comes next defines what is defined from now on. */
uint32_t fnzi_pt2_next_node(const fnzi_pt2_maker *m);
/* `args` are the first `nargs` of the operator's, the others are defaults. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_put_node(const fnzi_pt2_maker *m, const fnz_op *op,
                                            const fnz_arg *args, size_t nargs, fnz_arg *outputs,
                                            size_t noutputs);
/* A call with one result. */
typedef struct fnzi_pt2_call {
  const char *op;
  const fnz_arg *args; /* the first `nargs` of the operator's, the others are defaults */
  size_t nargs;
  const fnz_geometry *looks; /* of the result, which is a new value named by stem and suffix */
  const char *suffix;
} fnzi_pt2_call;
/* A node for it. If `result` is not NULL, it is the name in the file of the result. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_make(const fnzi_pt2_maker *m, fnzi_pt2_call call,
                                        const fnzi_json *result, fnz_arg *out);

/* --- pt2_vmap.c ------------------------------------------------------------------------------- */
/* A node of a target that fnzi_batch_is_mark(). */
FNZ_MUST_CHECK fnz_status fnzi_pt2_vmap_mark(fnzi_pt2_scope *s, const fnzi_json *json,
                                             const fnzi_json *inputs, const fnzi_json *outputs,
                                             const fnzi_node *node);
/* A node of an operator within a region, with its arguments as the file has them. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_vmap_node(fnzi_pt2_scope *s, const fnzi_json *json,
                                             const fnzi_json *outputs, const fnzi_node *node,
                                             fnz_arg *args);
/* Fails when one of the arguments has such a dimension. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_vmap_none(fnzi_pt2_scope *s, const fnzi_json *json,
                                             const fnzi_node *node, const fnz_arg *args,
                                             size_t nargs);

/* --- pt2_extras.c ------------------------------------------------------------------------------
 * What only a writer of .pt2 needs (program/pt2_metadata.h). */
/* Members of ExportedProgram and GraphModule; which fields this schema has. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_keep_members(fnzi_pt2 *r, const fnzi_json *module);
/* Keeps the metadata of a value that was just defined; `meta` is its TensorMeta. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_keep_value(fnzi_pt2_scope *s, uint32_t value,
                                              const fnzi_json *meta);
/* Keeps the metadata of the nodes that the file's node has become. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_keep_nodes(fnzi_pt2_scope *s, const fnzi_json *node);
/* The classes of script objects. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_keep_objects(fnzi_pt2_scope *s);

/* --- pt2_graph.c, pt2_signature.c, pt2_weights.c ---------------------------------------------- */
/* All graphs: the ExportedProgram's own and the bodies of higher-order operators. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_graphs(fnzi_pt2 *r, const fnzi_json *module);
/* Adds the guards that the exporter found (pt2_guards.c). */
FNZ_MUST_CHECK fnz_status fnzi_pt2_guards(fnzi_pt2 *r);
FNZ_MUST_CHECK fnz_status fnzi_pt2_inputs(fnzi_pt2_scope *s, const fnzi_json *inputs,
                                          const fnzi_json *specs);
FNZ_MUST_CHECK fnz_status fnzi_pt2_outputs(fnzi_pt2_scope *s, const fnzi_json *outputs,
                                           const fnzi_json *specs);
/* A weight for each parameter, buffer and constant of the signature, with data as far as the
 * archive has any that is not pickled. `prefix` is the archive's root with its slash. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_weights(fnzi_pt2 *r, fnzi_zip *zip, const char *prefix,
                                           const char *model);
/* The same for a program that comes without an archive or with pickled data: no weight has data. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_no_weights(fnzi_pt2 *r);

/* --- pt2_records.c ---------------------------------------------------------------------------- */
/* The bytes of a record: a window of the file if it is stored uncompressed and the file is the
 * program's, else a copy. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_record(fnz_program *p, fnzi_zip *zip,
                                          const fnzi_zip_entry *entry, fnzi_blob **out);
/* A record of JSON. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_parse_record(fnzi_arena *arena, fnzi_zip *zip,
                                                const fnzi_zip_entry *entry, fnzi_json_doc *out);
/* All records of the archive. `blobs` maps names of records that are blobs already to indices into
 * `held`. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_keep_records(fnzi_pt2 *r, fnzi_zip *zip, const fnzi_map *blobs,
                                                fnzi_blob *const *held);

/* --- pt2_pairs.c ------------------------------------------------------------------------------ */
/* Reads the pairs of a user input and the user output that is its new value, if fnz wrote them.
 * After the graphs. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_read_pairs(fnzi_pt2 *r, const fnzi_json *module);

#endif
