/* module_stack.c - reads the modules of torch.export's nn_module_stack:
 * "key,layers.0,torch.nn.modules.linear.Linear;..." */
#include "program/formats/module_stack.h"

#include "program/formats/json.h"

#include <string.h>

/* The exporter has this in place of a module for nodes that it makes itself. */
static const char no_module[] = "_empty_nn_module_stack_from_metadata_hook";

fnz_status fnzi_module_stack(fnzi_arena *arena, const char *metadata, const char **out) {
  fnzi_json_doc doc;
  *out = NULL;
  if (!metadata)
    return FNZ_OK;
  fnz_status status = fnzi_json_parse(arena, "metadata", metadata, strlen(metadata), &doc);
  if (status != FNZ_OK) /* a text that says something else */
    return fnzi_is_final(status) ? status : FNZ_OK;
  const fnzi_json *stack = fnzi_json_find(doc.root, "nn_module_stack");
  *out = stack && stack->kind == FNZI_JSON_STRING ? stack->u.s : NULL;
  return FNZ_OK;
}

/* "key,layers.0,torch.nn.modules.linear.Linear" */
static bool take_entry(const char *from, const char *to, fnzi_module *out) {
  const char *first = memchr(from, ',', (size_t)(to - from)), *last = to, *type = to;
  while (last > from && *last != ',')
    last--;
  if (!first || first == last || strncmp(from, no_module, sizeof no_module - 1) == 0)
    return false;
  while (type > last + 1 && type[-1] != '.')
    type--;
  /* The number of the call, "@1", that a module called again has, is no part of the path. */
  const char *path = first + 1, *at = last;
  while (at > path && at[-1] >= '0' && at[-1] <= '9')
    at--;
  const char *end = at > path && at < last && at[-1] == '@' ? at - 1 : last;
  *out = (fnzi_module){.path = path,
                       .path_size = (size_t)(end - path),
                       .type = type,
                       .type_size = (size_t)(to - type)};
  return true;
}

bool fnzi_module_next(const char **stack, fnzi_module *out) {
  while (**stack) {
    const char *from = *stack, *end = from + strcspn(from, ";");
    *stack = end + (*end == ';');
    if (take_entry(from, end, out))
      return true;
  }
  return false;
}
