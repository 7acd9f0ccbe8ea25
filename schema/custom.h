/* custom.h - where declared operators are kept: in the context, or in one program. */
#ifndef FNZI_SCHEMA_CUSTOM_H
#define FNZI_SCHEMA_CUSTOM_H

#include "schema/schema.h"

/* Operators by name. A program's scope is nested in the scope of its context: names that the
 * context declares are found in it as well, and must not be declared otherwise. */
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
/* Finds an operator in the scope, its context or the table. NULL when there is none. */
const fnz_op *fnzi_scope_find(const fnzi_scope *scope, const char *name);

/* --- Known without being declared (schema/builtin.c, builtin.def, prims.def) ------------------ */
/* NULL when there is none of that name. */
const char *fnzi_builtin_schema(const char *name);
/* FNZI_TAG_EFFECT: its calls keep their number and order; FNZI_TAG_DYNAMIC_SHAPE. 0 when there is
 * none of that name. */
uint32_t fnzi_builtin_tags(const char *name);
/* The length of the name of the collective that returns a new tensor, for the `_out` collective
 * that writes into `out`; 0 for other operators. */
size_t fnzi_builtin_plain_size(const char *name);
/* Reading leaves it out. */
bool fnzi_builtin_is_asked(const char *name);
/* The ATen operator that computes the same as this declared one from the same leading arguments;
 * NULL for none. */
const fnz_op *fnzi_builtin_like(const fnz_op *op);
/* How a program that has a call of an operator of prims.def is read. */
typedef enum fnzi_prim_kind {
  FNZI_PRIM_STEPS, /* as it is */
  FNZI_PRIM_SAME,
  FNZI_PRIM_ELEMENTWISE,
  FNZI_PRIM_LOOSE,
  FNZI_PRIM_TWICE,
  FNZI_PRIM_broadcast,
  FNZI_PRIM_div,
  FNZI_PRIM_iota,
  FNZI_PRIM_random,
  FNZI_PRIM_uniform
} fnzi_prim_kind;
typedef struct fnzi_prim {
  fnzi_prim_kind kind;
  const char *as; /* the call that it becomes; of a rule of its own, words about it */
} fnzi_prim;
/* NULL if the operator is read as it is. */
const fnzi_prim *fnzi_builtin_prim(const fnz_op *op);
/* Why no program can have an operator of that name, and what to do; NULL when unknown. */
const char *fnzi_builtin_remedy(const char *name);
size_t fnzi_builtin_count(void);
const char *fnzi_builtin_at(size_t index); /* below the count */

#endif
