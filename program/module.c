/* module.c - the metadata of a node, and the modules of the model that its text names.
 *
 * torch.export writes the modules around a call as one string, outermost first:
 * "key,path,type;key,path,type". A key or a path may have commas in brackets. */
#include "program/pt2_metadata.h"

static const char blanks[] = " \t\r\n";

const char *fnzi_node_all_metadata(const fnz_program *p, uint32_t graph, uint32_t node) {
  const char *own = fnzi_node_metadata(fnzi_node_at(p, graph, node));
  const fnzi_extras_node *from = own ? NULL : fnzi_extras_source_of(p, graph, node);
  return own ? own : from ? from->metadata : NULL;
}

const char *fnz_node_metadata(const fnz_program *p, size_t graph, size_t node) {
  if (node >= fnz_node_count(p, graph))
    return "";
  const char *all = fnzi_node_all_metadata(p, (uint32_t)graph, (uint32_t)node);
  return all ? all : "";
}

/* The characters from `start` to before `end`. */
typedef struct span {
  const char *start, *end;
} span;

/* The content of the string of JSON that begins with the quote at `quote`. */
static span string_at(const char *quote) {
  const char *end = quote + 1;
  while (*end && *end != '"')
    end += *end == '\\' && end[1] ? 2 : 1;
  return (span){quote + 1, end};
}

/* The string that is the value of the member `key`, empty if there is none. */
static span find_member(const char *json, const char *key) {
  for (const char *quote = strchr(json, '"'); quote;) {
    const span word = string_at(quote);
    const char *after = word.end + (*word.end == '"');
    after += strspn(after, blanks);
    if (*after == ':' && (size_t)(word.end - word.start) == strlen(key) &&
        memcmp(word.start, key, strlen(key)) == 0) {
      after++;
      after += strspn(after, blanks);
      return *after == '"' ? string_at(after) : (span){after, after};
    }
    quote = strchr(after, '"');
  }
  return (span){json, json};
}

/* The module that an item of the string describes; all zero if it has no three parts. */
static fnz_module parts_of(span item) {
  const char *comma[2];
  size_t commas = 0;
  int depth = 0;
  for (const char *s = item.start; s < item.end; s++) {
    depth += (*s == '[' || *s == '(') - (*s == ']' || *s == ')');
    if (*s != ',' || depth)
      continue;
    if (commas == 2)
      return (fnz_module){.path = NULL};
    comma[commas++] = s;
  }
  if (commas < 2)
    return (fnz_module){.path = NULL};
  const char *path = comma[0] + 1, *type = comma[1] + 1;
  return (fnz_module){path, (size_t)(comma[1] - path), type, (size_t)(item.end - type)};
}

fnz_module fnz_node_module(const fnz_program *p, size_t graph, size_t node, size_t k) {
  const span all = find_member(fnz_node_metadata(p, graph, node), "nn_module_stack");
  for (span item = {NULL, all.end}; item.end > all.start; item.end = item.start - 1, k--) {
    for (item.start = item.end; item.start > all.start && item.start[-1] != ';';)
      item.start--;
    if (k == 0)
      return parts_of(item);
    if (item.start == all.start)
      break;
  }
  return (fnz_module){.path = NULL};
}
