/* text_print.h - what the two halves of the text writer share. text_print.c writes names, types and
 * arguments, text_write.c everything around them. */
#ifndef FNZI_TEXT_PRINT_H
#define FNZI_TEXT_PRINT_H

#include "program/formats/text.h"

typedef struct fnzi_printer {
  fnz_context *ctx;
  const fnz_program *p;
  fnz_buffer *out;
  uint32_t graph;
  size_t line;      /* where the current line starts, in bytes of `out` */
  fnzi_map sources; /* long source text -> number */
  fnzi_map regions; /* name of a graph -> how many have it */
} fnzi_printer;

FNZ_MUST_CHECK fnz_status fnzi_print(fnzi_printer *w, const char *text);
/* Prints a string with quotes and escapes. */
FNZ_MUST_CHECK fnz_status fnzi_print_quoted(fnzi_printer *w, const char *s);
/* Prints a name, without quotes if it has only letters, digits, underscores and `extra`. */
FNZ_MUST_CHECK fnz_status fnzi_print_name(fnzi_printer *w, const char *name, const char *extra);
FNZ_MUST_CHECK fnz_status fnzi_print_identifier(fnzi_printer *w, const char *name);
/* A comma, and a new line if the current line is long. */
FNZ_MUST_CHECK fnz_status fnzi_print_comma(fnzi_printer *w);
FNZ_MUST_CHECK fnz_status fnzi_print_line_end(fnzi_printer *w);

FNZ_MUST_CHECK fnz_status fnzi_print_tensor_type(fnzi_printer *w, const fnz_geometry *g);

/* Prints an item that is no list: an argument, or a value with its type. */
typedef fnz_status fnzi_item_printer(fnzi_printer *w, const fnz_arg *arg);
fnzi_item_printer fnzi_print_use, fnzi_print_definition;
/* An argument with the lists in it. */
FNZ_MUST_CHECK fnz_status fnzi_print_tree(fnzi_printer *w, const fnz_arg *arg,
                                          fnzi_item_printer *item);

/* Arguments of an operator with a schema: by position as long as nothing was left out before. */
FNZ_MUST_CHECK fnz_status fnzi_print_op_args(fnzi_printer *w, const fnz_op *op, const fnz_arg *args,
                                             uint32_t nargs);

/* --- text_sharing.c --------------------------------------------------------------------------- */
/* Print the memory that an input or an output shares, and the lines of the guards. */
FNZ_MUST_CHECK fnz_status fnzi_print_input_sharing(fnzi_printer *w, const fnz_input_spec *in);
FNZ_MUST_CHECK fnz_status fnzi_print_output_sharing(fnzi_printer *w, const fnz_output_spec *out);
FNZ_MUST_CHECK fnz_status fnzi_print_guards(fnzi_printer *w);

#endif
