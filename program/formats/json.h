/* json.h - JSON text as a tree of nodes in an arena, for the .pt2 and safetensors readers.
 *
 * Stricter than RFC 8259: one value and nothing behind it, integers are int64 and stay integers,
 * no key twice in one object, 64 levels at most. Nodes and strings live as long as the arena. */
#ifndef FNZI_JSON_H
#define FNZI_JSON_H

#include "base/base.h"

typedef enum fnzi_json_kind {
  FNZI_JSON_NULL,
  FNZI_JSON_BOOL,   /* i: 0 or 1 */
  FNZI_JSON_INT,    /* i */
  FNZI_JSON_FLOAT,  /* f, finite */
  FNZI_JSON_STRING, /* s, `count` bytes and a zero byte; may contain zero bytes */
  FNZI_JSON_ARRAY,  /* first; `count` items */
  FNZI_JSON_OBJECT  /* first; `count` members, each with a key */
} fnzi_json_kind;

typedef struct fnzi_json {
  const char *key; /* of a member, zero-terminated; NULL for an item and for the root */
  struct fnzi_json *next, *parent;
  union {
    struct fnzi_json *first;
    const char *s;
    int64_t i;
    double f;
  } u;
  uint32_t count, key_size;
  fnzi_json_kind kind;
} fnzi_json;

/* A parsed record. `record` names it in messages and must outlive the document. */
typedef struct fnzi_json_doc {
  fnz_context *ctx;
  const char *record;
  const fnzi_json *root;
} fnzi_json_doc;

enum { FNZI_JSON_MAX_DEPTH = 64 };

#ifdef __cplusplus
extern "C" {
#endif

/* Classes: TRUNCATED, SYNTAX, ENCODING, OVERFLOW (an integer outside int64), TYPE (a number outside
 * double), DUPLICATE, LIMIT (depth, 4 GiB of text, or hundreds of thousands of values in next to no
 * text). `bytes` are borrowed for the call only. */
FNZ_MUST_CHECK fnz_status fnzi_json_parse(fnzi_arena *arena, const char *record, const char *bytes,
                                          size_t size, fnzi_json_doc *out);

/* The same for text in the middle of a file, that need not be copied first: `behind` bytes follow
 * it. */
FNZ_MUST_CHECK fnz_status fnzi_json_parse_in(fnzi_arena *arena, const char *record,
                                             const char *bytes, size_t size, size_t behind,
                                             fnzi_json_doc *out);

/* For a text that was refused (json_refuse.c): reports the error and its place. */
fnz_status fnzi_json_refuse_number(fnz_context *ctx, const char *record, const char *bytes,
                                   size_t size);
fnz_status fnzi_json_refuse_depth(fnz_context *ctx, const char *record);
fnz_status fnzi_json_refuse_text(fnz_context *ctx, const char *record, const char *bytes,
                                 size_t size);

/* Fails with a `where` of record and path, "models/model.json: graph_module.graph.nodes[3].target".
 * `at` NULL names the record alone. */
fnz_status fnzi_json_fail(const fnzi_json_doc *doc, fnz_class kind, const fnzi_json *at,
                          const char *format, ...) FNZI_PRINTF(4, 5);
/* The same `where` for a failure that came from a function which does not know the place. */
fnz_status fnzi_json_at(const fnzi_json_doc *doc, fnz_status status, const fnzi_json *at);

/* The member of that key; NULL when there is none, when it is null, and when `object` is none. */
const fnzi_json *fnzi_json_find(const fnzi_json *object, const char *key);
/* The first item of a list that an object has; NULL when there is none. */
const fnzi_json *fnzi_json_first_item(const fnzi_json *object, const char *key);
/* The member of that key, which must be there and of that kind; otherwise TYPE. */
FNZ_MUST_CHECK fnz_status fnzi_json_need(const fnzi_json_doc *doc, const fnzi_json *object,
                                         const char *key, fnzi_json_kind kind,
                                         const fnzi_json **out);
FNZ_MUST_CHECK fnz_status fnzi_json_expect(const fnzi_json_doc *doc, const fnzi_json *node,
                                           fnzi_json_kind kind);
/* The one member of a union; TYPE when there are none or several. */
FNZ_MUST_CHECK fnz_status fnzi_json_only(const fnzi_json_doc *doc, const fnzi_json *object,
                                         const fnzi_json **out);

FNZ_MUST_CHECK fnz_status fnzi_json_int(const fnzi_json_doc *doc, const fnzi_json *node,
                                        int64_t *out);
/* Takes integers too, and the strings "Infinity", "-Infinity" and "NaN". */
FNZ_MUST_CHECK fnz_status fnzi_json_float(const fnzi_json_doc *doc, const fnzi_json *node,
                                          double *out);
/* A string without zero bytes (ENCODING otherwise). */
FNZ_MUST_CHECK fnz_status fnzi_json_text(const fnzi_json_doc *doc, const fnzi_json *node,
                                         const char **out);
/* fnzi_json_need() and fnzi_json_text() in one. */
FNZ_MUST_CHECK fnz_status fnzi_json_need_text(const fnzi_json_doc *doc, const fnzi_json *object,
                                              const char *key, const char **out);

/* A member that is true or false; `otherwise` when there is none. */
FNZ_MUST_CHECK fnz_status fnzi_json_flag(const fnzi_json_doc *doc, const fnzi_json *object,
                                         const char *key, bool otherwise, bool *out);

#ifdef __cplusplus
}
#endif
#endif
