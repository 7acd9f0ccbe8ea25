/* twins.h - which operators belong together, and what of a schema decides it. */
#ifndef FNZI_SCHEMA_TWINS_H
#define FNZI_SCHEMA_TWINS_H

#include "schema/schema.h"

/* Fills functional, view_copy, view_of and inplace of `count` operators, sorted by name. DUPLICATE
 * when two functional operators claim the same signature and do not differ by overload. */
FNZ_MUST_CHECK fnz_status fnzi_twins_find(fnz_context *ctx, fnz_op *ops, size_t count);

/* Appends the signature by which operators belong together; see twins.c. EXACT: with names and
 * defaults of the parameters. OF_VIEW: a copying view has the base of its view. */
enum { FNZI_SIGNATURE_EXACT = 1, FNZI_SIGNATURE_OF_VIEW = 2 };
FNZ_MUST_CHECK fnz_status fnzi_signature_put(fnz_context *ctx, const fnz_op *op, uint32_t how,
                                             fnz_buffer *out);

/* Are the four parameters from `first` dtype, layout, device and pin_memory, keyword-only? These
 * only come together. */
bool fnzi_are_tensor_options(const fnz_op *op, size_t first);

/* Walks over the written parameters that no result returns, in the order in which a functional
 * twin returns them: self, out arguments, all others. Starts from a zeroed walk. */
typedef struct fnzi_written_walk {
  int group;
  size_t next;
} fnzi_written_walk;

bool fnzi_written_next(const fnz_op *op, fnzi_written_walk *walk, const fnzi_param **out);

#endif
