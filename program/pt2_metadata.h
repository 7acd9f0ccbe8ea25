/* pt2_metadata.h - the data of a .pt2 file besides the program, kept so that the program, or its
 * functional form, can be written as .pt2 again: records of the archive, members of the model that
 * fnz does not look into, metadata of nodes, devices of values.
 *
 * The reader fills it in; afterwards it never changes. A program and programs made from it share it
 * by an atomic reference count, and it may outlive the context it was made with. */
#ifndef FNZI_PT2_METADATA_H
#define FNZI_PT2_METADATA_H

#include "program/program.h"

/* A record of the archive, in the archive's order. */
typedef struct fnzi_extras_record {
  const char *name; /* with the archive's root folder */
  fnzi_blob *blob;  /* NULL: the model's own place */
  uint32_t crc;
} fnzi_extras_record;

/* Texts by key. Columns: the meaning of the key; of the text. */
typedef enum fnzi_extras_kind {
  FNZI_EXTRA_PROGRAM, /* member of ExportedProgram; its value as JSON */
  FNZI_EXTRA_MODULE,  /* member of GraphModule; its value as JSON */
  FNZI_EXTRA_OBJECT,  /* name of a script object's value; its class */
  FNZI_EXTRA_GUARD,   /* a guard of the program that guards_code, a member, says; nothing */
  FNZI_EXTRA_KINDS    /* how many there are */
} fnzi_extras_kind;

typedef struct fnzi_extras_text {
  fnzi_extras_kind kind;
  const char *key, *text;
} fnzi_extras_text;

/* How a higher-order operator returns its one tensor; NONE where the file does not say. */
typedef enum fnzi_extras_single {
  FNZI_SINGLE_NONE,
  FNZI_SINGLE_BARE,
  FNZI_SINGLE_TUPLE
} fnzi_extras_single;

typedef struct fnzi_extras_node {
  const char *metadata; /* JSON text without the stack trace; NULL for none */
  uint32_t value;       /* the first one that it defines; UINT32_MAX for none */
  fnzi_extras_single single;
} fnzi_extras_node;

typedef struct fnzi_extras_value {
  uint16_t device; /* index into devices */
  bool requires_grad;
} fnzi_extras_value;

typedef struct fnzi_extras_graph {
  struct {
    fnzi_extras_node *data;
    size_t count, capacity;
  } nodes;
  struct {
    fnzi_extras_value *data;
    size_t count, capacity;
  } values;
} fnzi_extras_graph;

/* Fields that came with some minor version of the schema: older readers refuse them. */
enum {
  FNZI_SCHEMA_NODE_NAME = 1,   /* Node.name */
  FNZI_SCHEMA_ARG_KIND = 2,    /* NamedArgument.kind */
  FNZI_SCHEMA_HOP_RETURN = 4,  /* Node.is_hop_single_tensor_return */
  FNZI_SCHEMA_SYM_FLOATS = 8,  /* Graph.sym_float_values */
  FNZI_SCHEMA_OBJECTS = 16,    /* Graph.custom_obj_values */
  FNZI_SCHEMA_PARAMETERS = 32, /* OutputSpec.parameter_mutation */
  FNZI_SCHEMA_ALL = 63
};

struct fnzi_extras {
  fnz_context *own; /* of everything below */
  fnzi_arena arena;
  unsigned fields;     /* FNZI_SCHEMA_* */
  bool is_archive;     /* false: a model.json alone */
  const char *damaged; /* a record that could not be read; NULL: all could */
  struct {
    fnzi_extras_record *data;
    size_t count, capacity;
  } records;
  struct {
    fnzi_extras_text *data;
    size_t count, capacity;
  } texts;
  fnzi_map text_of[FNZI_EXTRA_KINDS]; /* keys to places among the texts */
  struct {
    const char **data;
    size_t count, capacity;
  } devices; /* the first one is the device of values without a known device */
  struct {
    fnzi_extras_graph *data;
    size_t count, capacity;
  } graphs; /* indexed like the graphs of the program that was read */
};

/* --- Filling it in: failures are recorded in `ctx` -------------------------------------------- */
FNZ_MUST_CHECK fnz_status fnzi_extras_create(fnz_context *ctx, fnzi_extras **out);
/* `blob` is retained. */
FNZ_MUST_CHECK fnz_status fnzi_extras_add_record(fnz_context *ctx, fnzi_extras *o, const char *name,
                                                 fnzi_blob *blob, uint32_t crc);
FNZ_MUST_CHECK fnz_status fnzi_extras_add_text(fnz_context *ctx, fnzi_extras *o,
                                               fnzi_extras_kind kind, const char *key,
                                               const char *text, size_t size);
/* The properties of value `value` of a graph. Values may be added in any order: skipped ones have
 * an unknown device and no gradient. */
FNZ_MUST_CHECK fnz_status fnzi_extras_set_value(fnz_context *ctx, fnzi_extras *o, uint32_t graph,
                                                uint32_t value, const char *device,
                                                bool requires_grad);
/* The metadata of the next node of a graph. Its metadata must live as long as the extras: see
 * fnzi_extras_keep(). */
FNZ_MUST_CHECK fnz_status fnzi_extras_add_node(fnz_context *ctx, fnzi_extras *o, uint32_t graph,
                                               const fnzi_extras_node *node);

/* A copy that lives as long as the extras. */
FNZ_MUST_CHECK fnz_status fnzi_extras_keep(fnz_context *ctx, fnzi_extras *o, const char *text,
                                           size_t size, const char **out);

/* --- Looking ---------------------------------------------------------------------------------- */
/* NULL when there is none; `o` may be NULL in all of these. */
const char *fnzi_extras_text_of(const fnzi_extras *o, fnzi_extras_kind kind, const char *key,
                                size_t size);
size_t fnzi_extras_node_count(const fnzi_extras *o, uint32_t graph);
/* Properties of a value of the program. If its node was made of a source node, they are read from
 * the first value that the source node defines. */
fnzi_extras_value fnzi_extras_note_of(const fnz_program *p, uint32_t graph, uint64_t value);
/* Metadata of the source node of a node, or of the node itself. */
const fnzi_extras_node *fnzi_extras_source_of(const fnz_program *p, uint32_t graph, uint32_t node);
/* The metadata that a node has itself, or else that of its source node; NULL for none. */
const char *fnzi_node_all_metadata(const fnz_program *p, uint32_t graph, uint32_t node);
/* "cpu", "cuda:0". */
const char *fnzi_extras_device(const fnzi_extras *o, fnzi_extras_value value);

#endif
