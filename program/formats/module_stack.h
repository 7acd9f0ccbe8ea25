/* module_stack.h - the modules of a model that called a node, as torch.export records them. */
#ifndef FNZI_MODULE_STACK_H
#define FNZI_MODULE_STACK_H

#include "program/program.h"

/* A module of the stack. Texts are windows of the stack. */
typedef struct fnzi_module {
  const char *path; /* "layers.0.mlp"; of size 0 for the model itself */
  const char *type; /* "Linear": the last word of the class */
  size_t path_size, type_size;
} fnzi_module;

/* Returns `nn_module_stack` from the metadata of a node, in the arena; NULL: there is none. */
FNZ_MUST_CHECK fnz_status fnzi_module_stack(fnzi_arena *arena, const char *metadata,
                                            const char **out);
/* Takes the next module of a stack, outermost first. The last one called the node. Returns false at
 * the end. */
bool fnzi_module_next(const char **stack, fnzi_module *out);

#endif
