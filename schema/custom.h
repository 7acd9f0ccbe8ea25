/* custom.h - where declared operators are kept: in the context, or in one program. */
#ifndef FNZI_SCHEMA_CUSTOM_H
#define FNZI_SCHEMA_CUSTOM_H

#include "schema/schema.h"

/* Operators by name. A program's scope lies inside that of its context: what the context declares
 * is found there as well, and must not be declared otherwise. */
typedef struct fnzi_scope {
  fnz_context *ctx;
  fnzi_arena arena;
  fnzi_map names; /* -> index into list */
  struct {
    struct declared **data;
    size_t count, capacity;
  } list;
} fnzi_scope;

void fnzi_scope_init(fnzi_scope *scope, fnz_context *ctx);
void fnzi_scope_end(fnzi_scope *scope);

/* Declares as fnz_op_declare() does. */
FNZ_MUST_CHECK fnz_status fnzi_scope_declare(fnzi_scope *scope, const char *schema,
                                             const fnz_op **out);
/* Of the scope, of its context, of the table. NULL when there is none. */
const fnz_op *fnzi_scope_find(const fnzi_scope *scope, const char *name);

#endif
