/* load.h - opens a library at run time and fills a table of its functions.
 *
 * Any thread may call; a library that is opened twice is loaded once. The caller closes it after
 * the last use of its functions. */
#ifndef FNZI_LOAD_H
#define FNZI_LOAD_H

#include "base/base.h"

typedef struct fnzi_load_symbol {
  const char *name;
  size_t offset; /* of the pointer to the function within the table */
} fnzi_load_symbol;

/* A library to open, by one of several names. */
typedef struct fnzi_load_spec {
  const char *const *names; /* the best name first; NULL at the end */
  const char *advice;
  const fnzi_load_symbol *symbols;
  size_t nsymbols;
  fnz_status (*start)(fnz_context *ctx, void *table); /* NULL: there is nothing to start */
} fnzi_load_spec;

/* Opens the first library of the names that exists, has all functions and starts. Fails with
 * UNSUPPORTED, the advice and a reason per name, if there is none. */
FNZ_MUST_CHECK FNZI_SHARED fnz_status fnzi_load_open(fnz_context *ctx, const fnzi_load_spec *spec,
                                                     void *table, void **library);
FNZI_SHARED void fnzi_load_close(void *library);
/* Returns the size of the library's file; 0 if it is unknown. */
FNZI_SHARED uint64_t fnzi_load_bytes(void *library);
/* Finds the path that file `name` has in the folder of this library. Returns false if this library
 * is part of a program, or the path does not fit. */
bool fnzi_load_beside(const char *name, char *out, size_t capacity);

#endif
