/* pt2.h - what the parts of the .pt2 reader share.
 *
 * pt2.c finds the records of an archive and reads the model; pt2_graph.c reads graphs and nodes,
 * pt2_wrappers.c wrapped custom operators, pt2_signature.c inputs and outputs of graph 0,
 * pt2_args.c arguments, pt2_values.c tensors and symbols, pt2_weights.c payloads. */
#ifndef FNZI_PT2_H
#define FNZI_PT2_H

#include "program/formats/json.h"
#include "program/formats/zip.h"
#include "program/program.h"

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
} fnzi_pt2;

/* The graph that is being read. */
typedef struct fnzi_pt2_scope {
  fnzi_pt2 *r;
  uint32_t fresh;            /* numbers the names that no file gives */
  uint32_t graph, node;      /* node: who defines what is defined now; FNZI_NO_NODE for inputs */
  const fnz_op *op;          /* of that node; NULL for a higher-order operator */
  fnzi_map tensors, symbols; /* value name -> member of tensor_values or of sym_*_values */
  const fnzi_json *objects;  /* custom_obj_values */
} fnzi_pt2_scope;

/* --- pt2_values.c ------------------------------------------------------------------------------
 */
/* A TensorMeta. `in` is the document it stands in. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_geometry(fnz_program *p, const fnzi_json_doc *in,
                                            const fnzi_json *meta, const fnz_geometry **out);
FNZ_MUST_CHECK fnz_status fnzi_pt2_dtype(const fnzi_json_doc *in, const fnzi_json *number,
                                         fnz_dtype *out);
/* Fills the tables of the scope from a Graph. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_tables(fnzi_pt2_scope *s, const fnzi_json *graph);
/* Adds the value `name`, found in the tables, with its geometry or symbol. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_define(fnzi_pt2_scope *s, const fnzi_json *at, const char *name,
                                          fnz_tag tag, fnz_arg *out);

/* --- pt2_args.c --------------------------------------------------------------------------------
 */
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
/* Adds the nodes that such a node stands for. `node` has its target, source and metadata. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_read_wrapper(fnzi_pt2_scope *s, const fnzi_json *json,
                                                const fnzi_json *inputs, const fnzi_json *outputs,
                                                const fnzi_node *node);

/* --- pt2_graph.c, pt2_signature.c, pt2_weights.c ------------------------------------------------
 */
/* All graphs: the ExportedProgram's own and those of higher-order operators. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_graphs(fnzi_pt2 *r, const fnzi_json *module);
FNZ_MUST_CHECK fnz_status fnzi_pt2_inputs(fnzi_pt2_scope *s, const fnzi_json *inputs,
                                          const fnzi_json *specs);
FNZ_MUST_CHECK fnz_status fnzi_pt2_outputs(fnzi_pt2_scope *s, const fnzi_json *outputs,
                                           const fnzi_json *specs);
/* A weight for each parameter, buffer and constant of the signature, with data as far as the
 * archive has any that is not pickled. `prefix` is the archive's root with its slash. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_weights(fnzi_pt2 *r, const fnzi_zip *zip, const char *prefix,
                                           const char *model);
/* The same for a program that comes without an archive or with pickled data: no weight has data. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_no_weights(fnzi_pt2 *r);
/* A whole record as bytes in the arena. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_parse_record(fnzi_arena *arena, const fnzi_zip *zip,
                                                const fnzi_zip_entry *entry, fnzi_json_doc *out);

#endif
