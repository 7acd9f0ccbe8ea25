/* table.h - the text form of the operator table, schema/aten.tsv: its writer and its reader share
 * this. The committed table is from PyTorch 2.14.1; `fnz ops --import` makes it.
 *
 * One operator per line, sorted by name, columns apart by tabs; a line that begins with '#' is a
 * comment; "-" stands for nothing. The columns from MODEL on hold the fields of
 * native_functions.yaml other than the schema. */
#ifndef FNZI_SCHEMA_TABLE_H
#define FNZI_SCHEMA_TABLE_H

#include "schema/schema.h"

/* Columns: enum, heading. */
#define FNZI_COLUMN_ROWS(ROW)                                                                      \
  ROW(NAME, "name")                                                                                \
  ROW(KIND, "kind")                                                                                \
  ROW(VIEW, "view")           /* "view" or "-" */                                                  \
  ROW(COMPOSITE, "composite") /* implicit, explicit (of either sort), or kernel for neither */     \
  ROW(TAGS, "tags")           /* without pt2_compliant_tag, which all have */                      \
  ROW(FUNCTIONAL, "functional twin")                                                               \
  ROW(VIEW_COPY, "view_copy twin")                                                                 \
  ROW(VIEW_OF, "view of this in-place view")                                                       \
  ROW(SCHEMA, "schema")                                                                            \
  ROW(MODEL, "model")       /* words of FNZI_FLAG_ROWS, then delegate=NAME and the like */         \
  ROW(DISPATCH, "dispatch") /* "CPU, CUDA: add_out; SparseCPU: add_out_sparse_cpu" */

typedef enum fnzi_column {
#define FNZI_COLUMN_ENUM(id, heading) FNZI_COLUMN_##id,
  FNZI_COLUMN_ROWS(FNZI_COLUMN_ENUM)
#undef FNZI_COLUMN_ENUM
      FNZI_COLUMN_COUNT
} fnzi_column;

/* FNZI_TAG_* of "core,pointwise"; names that fnz has no bit for do not count. */
uint32_t fnzi_tag_bits(const char *tags);

/* Fills flags and delegate from the column MODEL. The text is borrowed but for the delegate. */
FNZ_MUST_CHECK fnz_status fnzi_model_parse(fnzi_arena *arena, const char *model, fnz_op *op);

/* The class that the columns COMPOSITE and DISPATCH say. */
fnzi_composite fnzi_composite_parse(const char *composite, const char *dispatch);

#endif
