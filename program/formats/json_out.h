/* json_out.h - writing JSON piece by piece, in the form that Python's json.dumps gives by default:
 * ", " and ": " between things, ASCII only, floats as repr() prints them. */
#ifndef FNZI_JSON_OUT_H
#define FNZI_JSON_OUT_H

#include "program/formats/json.h"

typedef struct fnzi_json_out {
  fnz_context *ctx;
  fnz_buffer *out;
  bool follows; /* the next thing follows another one and needs a comma */
} fnzi_json_out;

/* '{' or '[', and the bracket that closes it. */
FNZ_MUST_CHECK fnz_status fnzi_json_open(fnzi_json_out *w, char bracket);
FNZ_MUST_CHECK fnz_status fnzi_json_close(fnzi_json_out *w, char bracket);
/* Keys are ASCII without characters to escape; use fnzi_json_out_name() for other keys. */
FNZ_MUST_CHECK fnz_status fnzi_json_key(fnzi_json_out *w, const char *key);
FNZ_MUST_CHECK fnz_status fnzi_json_out_name(fnzi_json_out *w, const char *key, size_t size);
/* `s` must be UTF-8. */
FNZ_MUST_CHECK fnz_status fnzi_json_out_string(fnzi_json_out *w, const char *s, size_t size);
FNZ_MUST_CHECK fnz_status fnzi_json_out_int(fnzi_json_out *w, int64_t value);
/* Infinities and NaN are strings, as .pt2 files have them. */
FNZ_MUST_CHECK fnz_status fnzi_json_out_float(fnzi_json_out *w, double value);
/* Something that is JSON already: null, true, a whole object. */
FNZ_MUST_CHECK fnz_status fnzi_json_out_raw(fnzi_json_out *w, const char *json, size_t size);
/* A whole tree. */
FNZ_MUST_CHECK fnz_status fnzi_json_out_tree(fnzi_json_out *w, const fnzi_json *node);

/* A member that is a text. */
FNZ_MUST_CHECK fnz_status fnzi_json_out_text(fnzi_json_out *w, const char *key, const char *s);
FNZ_MUST_CHECK fnz_status fnzi_json_out_bool(fnzi_json_out *w, bool value);
FNZ_MUST_CHECK fnz_status fnzi_json_out_null(fnzi_json_out *w);

#endif
