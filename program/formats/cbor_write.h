/* cbor_write.h - shared by the parts of the CBOR writer: the tables, which grow while the rest is
 * written to buffers. cbor_put.c writes indices into tables and arguments, cbor_signature.c writes
 * (and reads) the signature, cbor_write.c the rest. */
#ifndef FNZI_CBOR_WRITE_H
#define FNZI_CBOR_WRITE_H

#include "program/formats/cbor.h"
#include "program/formats/external.h"
#include "program/formats/out.h"

enum { FNZI_CBOR_RECENT = 64 };

typedef struct fnzi_cbor_writer {
  fnz_context *ctx;
  const fnz_program *p;
  fnz_buffer *out;
  fnzi_out_pieces *pieces;       /* where blobs may go; NULL: into `out` too */
  const fnzi_external *external; /* where the blobs are; NULL: in the CBOR */
  bool is_method;                /* its blobs follow all methods */
  fnzi_map string_index, type_index, blob_index;
  struct {
    const char **data;
    size_t count, capacity;
  } strings; /* without the empty one, which is 0 */
  struct {
    const char *s;
    uint64_t index;
  } recent[FNZI_CBOR_RECENT]; /* by address: most strings are written from one place many times */
  struct {
    const fnz_geometry **data;
    size_t count, capacity;
  } types;
  struct {
    fnzi_blob **data;
    size_t count, capacity;
  } blobs;
} fnzi_cbor_writer;

/* Writes a program as CBOR, with its weights in that file. */
FNZ_MUST_CHECK fnz_status fnzi_write_cbor_beside(fnz_context *ctx, const fnz_program *p,
                                                 const fnzi_external *external, fnz_buffer *out);

/* The array of a file up to its third item. */
FNZ_MUST_CHECK fnz_status fnzi_cbor_put_head(fnzi_encoder e, const char *magic, int version);
/* The fields of w->p, between the two that make the tables and end them. The blobs of
 * a method are not among them: fnzi_cbor_put_blobs() puts the blobs of all methods. */
void fnzi_cbor_writer_begin(fnzi_cbor_writer *w);
/* Another program, whose tables are its own; the blobs stay. */
void fnzi_cbor_writer_next(fnzi_cbor_writer *w, const fnz_program *p);
FNZ_MUST_CHECK fnz_status fnzi_cbor_put_fields(fnzi_cbor_writer *w);
FNZ_MUST_CHECK fnz_status fnzi_cbor_put_blobs(fnzi_cbor_writer *w, fnzi_encoder e);
void fnzi_cbor_writer_end(fnzi_cbor_writer *w);

/* An index into the strings, which gets a new entry if need be. NULL counts as "". */
FNZ_MUST_CHECK fnz_status fnzi_cbor_put_string(fnzi_cbor_writer *w, fnzi_encoder e, const char *s);
/* The same for types; not written. */
FNZ_MUST_CHECK fnz_status fnzi_cbor_find_type(fnzi_cbor_writer *w, const fnz_geometry *const *slot,
                                              uint64_t *index);
/* An array of arguments. */
FNZ_MUST_CHECK fnz_status fnzi_cbor_put_args(fnzi_encoder e, const fnz_arg *args, size_t count);
/* How many are written: defaults at the end of an operator's are left out. */
uint32_t fnzi_cbor_given_args(const fnz_op *op, const fnz_arg *args, uint32_t count);

/* --- cbor_signature.c ------------------------------------------------------------------------- */
FNZ_MUST_CHECK fnz_status fnzi_cbor_put_inputs(fnzi_cbor_writer *w, fnzi_encoder e);
FNZ_MUST_CHECK fnz_status fnzi_cbor_put_outputs(fnzi_cbor_writer *w, fnzi_encoder e);
FNZ_MUST_CHECK fnz_status fnzi_cbor_put_guards(fnzi_cbor_writer *w, fnzi_encoder e);

#endif
