/* formats.h - readers and writers of whole programs, and pieces of the text form. */
#ifndef FNZI_FORMATS_H
#define FNZI_FORMATS_H

#include "program/program.h"

#include <fnz/arrays.h>
#include <fnz/formats.h>

typedef fnz_status fnzi_reader(fnz_context *ctx, const char *bytes, size_t size, fnz_program *out);
struct fnzi_out_pieces; /* out.h; NULL: all goes into `out` */
typedef fnz_status fnzi_writer(fnz_context *ctx, const fnz_program *p, fnz_buffer *out,
                               struct fnzi_out_pieces *pieces);
fnzi_reader fnzi_read_pt2, fnzi_read_json, fnzi_read_cbor, fnzi_read_text;
fnzi_writer fnzi_write_pt2, fnzi_write_json, fnzi_write_cbor, fnzi_write_text, fnzi_write_dot;
/* After a reader: limits, and what fnz_program_verify() checks. */
FNZ_MUST_CHECK fnz_status fnzi_program_finish(fnz_context *ctx, fnz_program *p);
/* The two halves of fnz_program_load(): the bytes of the file; and the program, whose weights may
 * be in a second file next to it. Releases `file`, also after a failure. */
FNZ_MUST_CHECK fnz_status fnzi_program_open(fnz_context *ctx, const char *path, fnz_format format,
                                            fnzi_blob **out);
FNZ_MUST_CHECK fnz_status fnzi_program_read_beside(fnz_context *ctx, const char *path,
                                                   fnzi_blob *file, fnz_format format,
                                                   fnz_program **out);
/* fnz_program_check_format() of both forms. */
FNZ_MUST_CHECK fnz_status fnzi_pt2_check(fnz_context *ctx, const fnz_program *p, bool is_archive,
                                         fnz_format_refused_fn *refused, void *user);
/* How a .pt2 file says a kind of input or output (pt2_signature.c). */
typedef struct fnzi_pt2_kind {
  const char *tag;    /* the key of its spec */
  const char *target; /* the key, in the spec, of a weight's or input's name; NULL: there is none */
} fnzi_pt2_kind;
extern const fnzi_pt2_kind fnzi_pt2_input_kinds[FNZ_INPUT_KIND_COUNT];
extern const fnzi_pt2_kind fnzi_pt2_output_kinds[FNZ_OUTPUT_KIND_COUNT];
/* Pieces of the text form, for messages: one node without its notes, an argument, a value with its
 * type, the type of a tensor. */
FNZ_MUST_CHECK fnz_status fnzi_write_node(fnz_context *ctx, const fnz_program *p, uint32_t graph,
                                          uint32_t node, fnz_buffer *out);
FNZ_MUST_CHECK fnz_status fnzi_write_use(fnz_context *ctx, const fnz_program *p, uint32_t graph,
                                         const fnz_arg *arg, fnz_buffer *out);
FNZ_MUST_CHECK fnz_status fnzi_write_definition(fnz_context *ctx, const fnz_program *p,
                                                uint32_t graph, const fnz_arg *arg,
                                                fnz_buffer *out);
FNZ_MUST_CHECK fnz_status fnzi_write_type(fnz_context *ctx, const fnz_program *p,
                                          const fnz_geometry *g, fnz_buffer *out);

/* fnz_arrays_add(), but the elements are not zero: the caller fills all of them. */
FNZ_MUST_CHECK fnz_status fnzi_arrays_add_unfilled(fnz_arrays *arrays, const char *name,
                                                   fnz_dtype dtype, uint32_t rank,
                                                   const int64_t *sizes, void **out_data);
/* Leaves the first `count` arrays; memory of the others ends with the set. */
void fnzi_arrays_shorten(fnz_arrays *arrays, size_t count);

#endif
