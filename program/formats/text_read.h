/* text_read.h - what the two halves of the text reader share: the parser's state and the pieces of
 * a statement. text_parts.c reads types and arguments, text_call.c calls, text_read.c everything
 * around them. */
#ifndef FNZI_TEXT_READ_H
#define FNZI_TEXT_READ_H

#include "program/formats/text.h"
#include "program/formats/text_lex.h"

typedef struct fnzi_parser {
  fnz_context *ctx;
  fnz_program *p;
  fnzi_lexer x;
  uint32_t graph;
  fnzi_map regions; /* name of a graph -> its index, 0 when several have it */
  uint32_t nregions;
  bool said;       /* the last type had strides or an offset */
  fnz_buffer name; /* the name of the value that is being defined */
  struct {         /* per value of the graph: the tag it was defined with */
    uint8_t *data;
    size_t count, capacity;
  } tags;
  struct { /* items of the lists that are open */
    fnz_arg *data;
    size_t count, capacity;
  } items;
  struct { /* items of the current statement: results or arguments */
    fnz_arg *data;
    size_t count, capacity;
  } args;
  struct { /* keyword of each of `args` of a higher-order operator */
    const char **data;
    size_t count, capacity;
  } names;
  struct {
    fnz_input_spec *data;
    size_t count, capacity;
  } inputs;
  struct {
    fnz_output_spec *data;
    size_t count, capacity;
  } outputs;
  struct { /* the numbered source notes */
    const char **data;
    size_t count, capacity;
  } sources;
} fnzi_parser;

/* Steps over a token that must be there. */
FNZ_MUST_CHECK fnz_status fnzi_expect(fnzi_parser *r, fnzi_token kind, const char *text);
/* Steps over a token if it is there. */
FNZ_MUST_CHECK fnz_status fnzi_accept(fnzi_parser *r, fnzi_token kind, const char *text,
                                      bool *found);
/* The text of the current token, interned; stays at the token. It must not hold a zero byte. */
FNZ_MUST_CHECK fnz_status fnzi_token_text(fnzi_parser *r, const char **out);

FNZ_MUST_CHECK fnz_status fnzi_parse_int(fnzi_parser *r, int64_t *out);
FNZ_MUST_CHECK fnz_status fnzi_parse_name(fnzi_parser *r, const char **out);
FNZ_MUST_CHECK fnz_status fnzi_parse_string(fnzi_parser *r, const char **out);
FNZ_MUST_CHECK fnz_status fnzi_parse_tensor_type(fnzi_parser *r, const fnz_geometry **out);

/* `%x`, a number, a word ...: an argument that is no list. */
typedef fnz_status fnzi_item_parser(fnzi_parser *r, fnz_arg *out);
fnzi_item_parser fnzi_parse_use;
/* `%x: f32[3]`: a new value of the graph, defined by its next node or, before the first node, by
 * its inputs; or an argument. */
fnzi_item_parser fnzi_parse_input, fnzi_parse_result;
/* An argument with the lists in it; the lists live in the program's arena. */
FNZ_MUST_CHECK fnz_status fnzi_parse_tree(fnzi_parser *r, fnzi_item_parser *item, fnz_arg *out);

/* --- text_call.c ------------------------------------------------------------------------------ */
/* `add.Tensor`; *op NULL for a target that needs no schema. */
FNZ_MUST_CHECK fnz_status fnzi_parse_target(fnzi_parser *r, const char **target, const fnz_op **op);
/* `(%x, dim=0)` into r->args, and where op is NULL the names into r->names. */
FNZ_MUST_CHECK fnz_status fnzi_parse_args(fnzi_parser *r, const fnz_op *op);
/* A copy of r->args in the arena. */
FNZ_MUST_CHECK fnz_status fnzi_keep_args(fnzi_parser *r, fnz_arg **out, uint32_t *count);
/* `select.int(dim=0, index=1)`: an operator with a schema and its arguments, in the arena. r->args
 * is overwritten. */
FNZ_MUST_CHECK fnz_status fnzi_parse_call(fnzi_parser *r, const fnz_op **op, const fnz_arg **args,
                                          uint32_t *nargs);

/* --- text_strides.c --------------------------------------------------------------------------- */
/* Row-major strides of g's rank, sizes and symbols, with their symbols where sizes are symbolic. */
FNZ_MUST_CHECK fnz_status fnzi_usual_strides(fnzi_parser *r, const fnz_geometry *g,
                                             int64_t *strides, uint32_t *symbols);

/* --- text_sharing.c --------------------------------------------------------------------------- */
/* Parses the words after an input: `shares %x`, `written`; the inputs before it are in r->args. */
FNZ_MUST_CHECK fnz_status fnzi_parse_input_sharing(fnzi_parser *r, fnz_input_spec *spec);
/* Parses the words after an output: `is %x`, `in 0 as f32[3] by ...`. */
FNZ_MUST_CHECK fnz_status fnzi_parse_output_sharing(fnzi_parser *r, fnz_output_spec *spec);
/* A guard, behind that word. */
FNZ_MUST_CHECK fnz_status fnzi_parse_guard(fnzi_parser *r);

#endif
