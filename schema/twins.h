/* twins.h - which operators belong together; asked once, when the table is generated. */
#ifndef FNZI_SCHEMA_TWINS_H
#define FNZI_SCHEMA_TWINS_H

#include "schema/schema.h"

/* Fills functional, view_copy, view_of and inplace of `count` operators, sorted by name. DUPLICATE
 * when two functional operators claim the same signature and are not told apart by overload. */
FNZ_MUST_CHECK fnz_status fnzi_twins_find(fnz_context *ctx, fnz_op *ops, size_t count);

#endif
