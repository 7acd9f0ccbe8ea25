/* json.h - writing JSON piece by piece, in the form that Python's json.dumps gives by default: ", "
 * and ": " between things, floats as repr() prints them.
 *
 * Each function returns the first failure of the writer, and does nothing after it. So a caller may
 * check every call, or only the last one. */
#ifndef FNZI_BASE_JSON_H
#define FNZI_BASE_JSON_H

#include "base/base.h"

typedef struct fnzi_json_out {
  fnz_context *ctx;
  fnz_buffer *out;
  bool utf8;         /* strings keep their bytes; otherwise they become ASCII */
  fnz_status status; /* the first failure */
  /* Private: */
  bool follows; /* the next thing needs a comma before it */
  bool has_key; /* the next thing is the value of a key */
  bool breaks;  /* the next thing begins a line with `indent` spaces */
  int indent;
  uint32_t depth, nlists;
  struct {
    uint32_t depth;
    int indent, end;
  } lists[4]; /* from fnzi_json_open_lines(), until they are closed */
} fnzi_json_out;

/* '{' or '[', and the bracket that closes it. */
FNZI_SHARED fnz_status fnzi_json_open(fnzi_json_out *w, char bracket);
FNZI_SHARED fnz_status fnzi_json_close(fnzi_json_out *w, char bracket);
/* Opens a list or an object whose things have a line each, with `indent` spaces; at most four
 * levels of them.
 * key   NULL for none
 * end   spaces before the closing bracket, which has a line of its own if there are any things;
 *       FNZI_JSON_AFTER: the bracket follows the last thing */
enum { FNZI_JSON_AFTER = -1 };
FNZI_SHARED fnz_status fnzi_json_open_lines(fnzi_json_out *w, const char *key, char bracket,
                                            int indent, int end);
/* The next thing begins a line. */
void fnzi_json_break(fnzi_json_out *w, int indent);
/* Keys are ASCII without characters to escape; use fnzi_json_out_name() for other keys. */
fnz_status fnzi_json_key(fnzi_json_out *w, const char *key);
fnz_status fnzi_json_out_name(fnzi_json_out *w, const char *key, size_t size);
/* `s` must be UTF-8, unless w->utf8. */
fnz_status fnzi_json_out_string(fnzi_json_out *w, const char *s, size_t size);
fnz_status fnzi_json_out_int(fnzi_json_out *w, int64_t value);
/* Infinities and NaN are strings, as .pt2 files have them. */
fnz_status fnzi_json_out_float(fnzi_json_out *w, double value);
fnz_status fnzi_json_out_bool(fnzi_json_out *w, bool value);
fnz_status fnzi_json_out_null(fnzi_json_out *w);
/* Something that is JSON already. */
fnz_status fnzi_json_out_raw(fnzi_json_out *w, const char *json, size_t size);

/* Members: a key with its value. A text may be NULL: null. */
FNZI_SHARED fnz_status fnzi_json_out_text(fnzi_json_out *w, const char *key, const char *s);
FNZI_SHARED fnz_status fnzi_json_out_count(fnzi_json_out *w, const char *key, uint64_t value);
FNZI_SHARED fnz_status fnzi_json_out_number(fnzi_json_out *w, const char *key, int64_t value);
/* With so many digits behind the point. */
fnz_status fnzi_json_out_fixed(fnzi_json_out *w, const char *key, int digits, double value);
fnz_status fnzi_json_out_flag(fnzi_json_out *w, const char *key, bool value);
fnz_status fnzi_json_open_as(fnzi_json_out *w, const char *key, char bracket);

/* A string alone, as it is but for escapes. */
FNZ_MUST_CHECK fnz_status fnzi_json_put_string(fnz_context *ctx, fnz_buffer *out, const char *s,
                                               size_t size);

#endif
