/* cbor_read.h - what the parts of the CBOR reader share. cbor_parts.c reads tables, types and
 * arguments, cbor_read.c the rest of a program, cbor_methods.c several programs. */
#ifndef FNZI_CBOR_READ_H
#define FNZI_CBOR_READ_H

#include "program/formats/cbor.h"
#include "program/formats/external.h"

typedef struct fnzi_cbor_reader {
  fnz_context *ctx;
  fnz_program *p;
  fnzi_decoder d;
  uint32_t graph;
  fnz_buffer name; /* of the value that is being read, with a zero behind */
  struct {
    const char **data;
    size_t count, capacity;
  } strings; /* [0] is the empty one */
  struct {
    const fnz_geometry **data;
    size_t count, capacity;
  } types;
  struct {
    fnzi_weight *data;
    size_t count, capacity;
  } weights;
  struct { /* one more than the index of each weight's blob */
    size_t *data;
    size_t count, capacity;
  } weight_blobs;
  struct { /* per value of the graph: some node or input defines it */
    bool *data;
    size_t count, capacity;
  } defined;
  struct { /* items of the lists that are open */
    fnz_arg *data;
    size_t count, capacity;
  } items;
  fnzi_external external; /* the file of weights: its description, and all blobs */
  bool is_outside;        /* the blobs lie in that file */
  bool is_method;         /* of a file that has its blobs behind all methods */
  size_t used_strings, used_types, used_blobs;
} fnzi_cbor_reader;

/* --- cbor_read.c ------------------------------------------------------------------------------ */
/* The array of a file with this text and version, up to its third item. */
FNZ_MUST_CHECK fnz_status fnzi_cbor_head(fnzi_decoder *d, const char *magic, int newest);
/* The map of the fields. It does not add the weights of a method, which need the blobs. */
FNZ_MUST_CHECK fnz_status fnzi_cbor_fields(fnzi_cbor_reader *r);
FNZ_MUST_CHECK fnz_status fnzi_cbor_add_weights(fnzi_cbor_reader *r);
/* Fails if the file has further bytes. */
FNZ_MUST_CHECK fnz_status fnzi_cbor_tail(fnzi_decoder *d);
/* Fails if the bytes before the blobs are beyond the limit of the context. */
FNZ_MUST_CHECK fnz_status fnzi_cbor_check_bytes(fnzi_decoder *d);
/* Fails where a table has entries that nothing refers to. */
FNZ_MUST_CHECK fnz_status fnzi_cbor_check_used(fnzi_decoder *d, const char *table, size_t used,
                                               size_t count);
void fnzi_cbor_reader_end(fnzi_cbor_reader *r);

/* --- cbor_parts.c ----------------------------------------------------------------------------- */

/* An index into a table whose entries are numbered in the order of their first use. */
FNZ_MUST_CHECK fnz_status fnzi_cbor_use(fnzi_cbor_reader *r, uint64_t index, size_t count,
                                        size_t *used);
/* A text without zero bytes, interned. */
FNZ_MUST_CHECK fnz_status fnzi_cbor_text(fnzi_cbor_reader *r, const char **out);
/* An index into the strings. */
FNZ_MUST_CHECK fnz_status fnzi_cbor_string(fnzi_cbor_reader *r, const char **out);
/* The type whose index was just read. */
FNZ_MUST_CHECK fnz_status fnzi_cbor_type(fnzi_cbor_reader *r, const fnz_geometry **out);
/* The whole tables. */
FNZ_MUST_CHECK fnz_status fnzi_cbor_strings(fnzi_cbor_reader *r);
FNZ_MUST_CHECK fnz_status fnzi_cbor_types(fnzi_cbor_reader *r);
/* An array of arguments, into the program's arena. */
FNZ_MUST_CHECK fnz_status fnzi_cbor_args(fnzi_cbor_reader *r, uint32_t *count, fnz_arg **out);
/* The operator of node->target. */
FNZ_MUST_CHECK fnz_status fnzi_cbor_target(fnzi_cbor_reader *r, const char **target,
                                           const fnz_op **op);
/* The defaults that the file leaves out behind node->args. */
FNZ_MUST_CHECK fnz_status fnzi_cbor_pad_args(fnzi_cbor_reader *r, fnzi_node *node);

/* --- cbor_signature.c ------------------------------------------------------------------------- */
FNZ_MUST_CHECK fnz_status fnzi_cbor_read_inputs(fnzi_cbor_reader *r);
FNZ_MUST_CHECK fnz_status fnzi_cbor_read_outputs(fnzi_cbor_reader *r);
FNZ_MUST_CHECK fnz_status fnzi_cbor_read_guards(fnzi_cbor_reader *r);

#endif
