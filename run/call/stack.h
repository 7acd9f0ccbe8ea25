/* stack.h - the value stack behind fnz_call(): arguments, and after a call its results.
 *
 * stack.c pushes and takes, convert.c converts the arguments to the types of the schema, call.c
 * finds the backend and calls. Small stacks lie in the struct itself, so that a call of a few
 * arguments allocates nothing. */
#ifndef FNZI_STACK_H
#define FNZI_STACK_H

#include "schema/schema.h"

#include <fnz/call.h>

enum { FNZI_CALL_STACK_INLINE = 12 };

/* The parts of an entry that are not in its fnz_arg. */
typedef struct fnzi_call_entry {
  fnz_backend *backend; /* of a tensor */
  fnz_backend **items;  /* of a list of tensors, one per item; in the arena */
  const char *name;     /* of a named argument, else NULL; in the arena */
  bool owned;           /* the stack releases the tensors */
} fnzi_call_entry;

struct fnz_stack {
  fnz_context *ctx;
  fnz_backend *backend; /* for calls without tensors */
  fnzi_arena arena;     /* lists, strings and names */
  fnz_arg *args;        /* tensors as handles */
  fnzi_call_entry *entries;
  size_t count, capacity;
  bool out_of_memory; /* while pushing */
  char warning[FNZ_WARNING_BYTES];
  fnz_arg inline_args[FNZI_CALL_STACK_INLINE];
  fnzi_call_entry inline_entries[FNZI_CALL_STACK_INLINE];
};

void fnzi_call_stack_init(fnz_stack *stack, fnz_context *ctx, fnz_backend *backend);
void fnzi_call_stack_end(fnz_stack *stack);
/* Room for `want` entries. */
FNZ_MUST_CHECK fnz_status fnzi_call_stack_reserve(fnz_stack *stack, size_t want);
/* Releases the tensors that the stack owns from place `first` on. */
void fnzi_call_stack_release(fnz_stack *stack, size_t first);

/* --- convert.c -----------------------------------------------------------------------------------
 * One argument per parameter of the schema: named ones in their places, defaults filled in, types
 * converted. After a failure the caller clears the stack. */
FNZ_MUST_CHECK fnz_status fnzi_call_stack_arrange(fnz_stack *stack, const fnz_op *op);

#endif
