/* parse.h - the interface between the two halves of the schema parser. */
#ifndef FNZI_SCHEMA_PARSE_H
#define FNZI_SCHEMA_PARSE_H

#include "schema/schema.h"

/* Alias names by bit. A single letter has its own bit; a longer name, such as "a0", takes the
 * highest one that is free. */
enum { FNZI_ALIAS_BITS = 32, FNZI_ALIAS_LETTERS = 26 };

typedef struct fnzi_word {
  const char *start;
  size_t size;
} fnzi_word;

typedef struct fnzi_scan {
  fnzi_arena *arena;
  const char *text; /* the whole schema */
  const char *at;   /* the next byte */
  fnzi_word aliases[FNZI_ALIAS_BITS];
} fnzi_scan;

/* SYNTAX at the current column: "expected WANT before 'REST'". */
fnz_status fnzi_scan_fail(const fnzi_scan *s, const char *want);

/* A letter or underscore, then letters, digits and underscores; with `dots` also dots inside.
 * Empty when there is none. Does not skip spaces before it. */
fnzi_word fnzi_scan_word(fnzi_scan *s, bool dots);
bool fnzi_word_is(fnzi_word word, const char *text);

/* Skips spaces, then takes `text` when it comes next. */
bool fnzi_scan_accept(fnzi_scan *s, const char *text);
FNZ_MUST_CHECK fnz_status fnzi_scan_expect(fnzi_scan *s, const char *text);

/* The default value behind "=", for a parameter whose type is known (schema/defaults.c). */
FNZ_MUST_CHECK fnz_status fnzi_scan_default(fnzi_scan *s, fnzi_param *p);

#endif
