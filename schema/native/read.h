/* read.h - what the two halves of the reader share: an entry on its way, and its values. */
#ifndef FNZI_READ_H
#define FNZI_READ_H

#include "schema/native/native.h"
#include "schema/native/yaml.h"

/* One entry. What decides its flags and keys only when all is known stands here. */
typedef struct fnzi_native_entry {
  fnz_library *library;
  fnzi_native *native;
  bool function, method; /* variants */
} fnzi_native_entry;

/* FNZI_RULE_id broken at a line of the library's file. */
#define FNZI_BREAK(library, line, id, ...)                                                         \
  fnzi_native_rule_broken(library, line, FNZI_RULE_##id, __VA_ARGS__)

/* Typed values; value_type when they are something else. */
FNZ_MUST_CHECK fnz_status fnzi_native_value_text(const fnz_library *library, const fnzi_yaml *value,
                                                 const char **out);
FNZ_MUST_CHECK fnz_status fnzi_native_value_bool(const fnz_library *library, const fnzi_yaml *value,
                                                 bool *out);
FNZ_MUST_CHECK fnz_status fnzi_native_value_is(const fnz_library *library, const fnzi_yaml *value,
                                               fnzi_yaml_kind kind);
/* A text of letters, digits, underscores and the characters of `more`, one at least: word_form. */
FNZ_MUST_CHECK fnz_status fnzi_native_value_word(const fnz_library *library, const fnzi_yaml *value,
                                                 const char *more, const char **out);
bool fnzi_is_word(const char *text, size_t size, const char *more);

/* The next piece of a text that commas part, without the blanks around it; *at moves on. False at
 * the end. An empty text has one empty piece. */
typedef struct fnzi_native_piece {
  const char *start;
  size_t size;
} fnzi_native_piece;
bool fnzi_native_next_piece(const char **at, fnzi_native_piece *out);

/* Setters of the values that have an inner form (values.c). */
FNZ_MUST_CHECK fnz_status fnzi_native_set_dispatch(fnzi_native_entry *entry,
                                                   const fnzi_yaml *value);
FNZ_MUST_CHECK fnz_status fnzi_native_set_ufunc(fnzi_native_entry *entry, const fnzi_yaml *value);
FNZ_MUST_CHECK fnz_status fnzi_native_set_precomputed(fnzi_native_entry *entry,
                                                      const fnzi_yaml *value);

#endif
