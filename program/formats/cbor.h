/* cbor.h - CBOR items in their one deterministic form (RFC 8949, 4.2), and the numbers that
 * docs/cbor-format.md gives the fields of a program. Below it lies libcbor's streaming layer. */
#ifndef FNZI_CBOR_H
#define FNZI_CBOR_H

#include "program/formats/formats.h"

/* The first bytes: an array of three that starts with this text; then the version and one map. */
#define FNZI_CBOR_MAGIC "fnz-cbor"
enum { FNZI_CBOR_VERSION = 1 };
/* The same of several programs, whose map has these keys, in order. */
#define FNZI_CBOR_METHODS_MAGIC "fnz-methods"
enum { FNZI_CBOR_METHODS_VERSION = 1, FNZI_CBOR_METHOD_NAME = 255 };
enum { FNZI_CBOR_METHODS_NAMES, FNZI_CBOR_METHODS_PROGRAMS, FNZI_CBOR_METHODS_BLOBS };

/* Keys of the map, in order. All are present, except the guards if there are none, and the file if
 * the weights are in blobs. */
#define FNZI_CBOR_KEY_ROWS(ROW)                                                                    \
  ROW(STRINGS, "strings")                                                                          \
  ROW(TORCH, "torch version")                                                                      \
  ROW(SCHEMA, "schema version")                                                                    \
  ROW(SYMBOLS, "symbols")                                                                          \
  ROW(RANGES, "ranges")                                                                            \
  ROW(OPERATORS, "operators")                                                                      \
  ROW(TYPES, "types")                                                                              \
  ROW(GRAPHS, "graphs")                                                                            \
  ROW(INPUTS, "inputs")                                                                            \
  ROW(OUTPUTS, "outputs")                                                                          \
  ROW(WEIGHTS, "weights")                                                                          \
  ROW(BLOBS, "blobs")                                                                              \
  ROW(GUARDS, "guards")                                                                            \
  ROW(FILE, "file of weights")

enum {
#define FNZI_CBOR_KEY_ENUM(id, name) FNZI_CBOR_KEY_##id,
  FNZI_CBOR_KEY_ROWS(FNZI_CBOR_KEY_ENUM)
#undef FNZI_CBOR_KEY_ENUM
      FNZI_CBOR_KEY_COUNT
};

enum { /* flags */
       FNZI_CBOR_CONJ = 1,
       FNZI_CBOR_NEG = 2,
       FNZI_CBOR_SINGLE = 1,
       FNZI_CBOR_PERSISTENT = 1,
       FNZI_CBOR_WRITTEN = 2,
       FNZI_CBOR_METADATA = 1,
       FNZI_CBOR_SET = 2
};

/* --- Writing ---------------------------------------------------------------------------------- */
typedef struct fnzi_encoder {
  fnz_context *ctx;
  fnz_buffer *out;
} fnzi_encoder;

FNZ_MUST_CHECK fnz_status fnzi_encode_uint(fnzi_encoder e, uint64_t n);
FNZ_MUST_CHECK fnz_status fnzi_encode_int(fnzi_encoder e, int64_t n);
FNZ_MUST_CHECK fnz_status fnzi_encode_float(fnzi_encoder e, double f);
FNZ_MUST_CHECK fnz_status fnzi_encode_bool(fnzi_encoder e, bool b);
FNZ_MUST_CHECK fnz_status fnzi_encode_null(fnzi_encoder e);
FNZ_MUST_CHECK fnz_status fnzi_encode_undefined(fnzi_encoder e);
FNZ_MUST_CHECK fnz_status fnzi_encode_array(fnzi_encoder e, size_t count);
FNZ_MUST_CHECK fnz_status fnzi_encode_map(fnzi_encoder e, size_t pairs);
/* The head before `size` bytes, which the caller appends. */
FNZ_MUST_CHECK fnz_status fnzi_encode_bytes_head(fnzi_encoder e, size_t size);
/* Fails with ENCODING when it is not UTF-8. */
FNZ_MUST_CHECK fnz_status fnzi_encode_text(fnzi_encoder e, const char *s, size_t size);

/* --- Reading ----------------------------------------------------------------------------- */
typedef enum fnzi_cbor_kind {
  FNZI_CBOR_NOTHING,
  FNZI_CBOR_UINT,  /* n */
  FNZI_CBOR_NINT,  /* -1 - n */
  FNZI_CBOR_BYTES, /* data, n bytes */
  FNZI_CBOR_TEXT,  /* data, n bytes, UTF-8 */
  FNZI_CBOR_ARRAY, /* n items follow */
  FNZI_CBOR_MAP,   /* n pairs follow */
  FNZI_CBOR_FLOAT, /* f */
  FNZI_CBOR_BOOL,  /* n */
  FNZI_CBOR_NULL,
  FNZI_CBOR_UNDEFINED,
  FNZI_CBOR_REFUSED
} fnzi_cbor_kind;

typedef struct fnzi_cbor_item {
  fnzi_cbor_kind kind;
  uint64_t n;
  double f;
  const char *data;
} fnzi_cbor_item;

typedef struct fnzi_decoder {
  fnz_context *ctx;
  const char *start, *at, *end;
  fnzi_cbor_item item; /* the last one read */
} fnzi_decoder;

/* The next item, or the head of the next container. Fails with TRUNCATED, SYNTAX, ENCODING (not the
 * shortest form, indefinite length, not UTF-8), UNSUPPORTED (tags). A container never announces
 * more items than there are bytes left. */
FNZ_MUST_CHECK fnz_status fnzi_decode(fnzi_decoder *d);
/* The same, and TYPE when it is of another kind. */
FNZ_MUST_CHECK fnz_status fnzi_decode_kind(fnzi_decoder *d, fnzi_cbor_kind kind);
FNZ_MUST_CHECK fnz_status fnzi_decode_uint(fnzi_decoder *d, uint64_t limit, uint64_t *out);
FNZ_MUST_CHECK fnz_status fnzi_decode_int(fnzi_decoder *d, int64_t *out);
FNZ_MUST_CHECK fnz_status fnzi_decode_array(fnzi_decoder *d, size_t *count);
/* An array of so many items. */
FNZ_MUST_CHECK fnz_status fnzi_decode_fixed(fnzi_decoder *d, size_t count);
/* The int64_t of the last item, a UINT or NINT; OVERFLOW when it is beyond. */
FNZ_MUST_CHECK fnz_status fnzi_item_int(fnzi_decoder *d, int64_t *out);
/* Fails at the last item: "byte 123". */
fnz_status fnzi_decode_fail(fnzi_decoder *d, fnz_class kind, const char *format, ...)
    FNZI_PRINTF(3, 4);
fnz_status fnzi_decode_at(fnzi_decoder *d, fnz_status status);

#endif
