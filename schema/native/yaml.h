/* yaml.h - a YAML document as a tree of texts, lists and maps, with the line of each. */
#ifndef FNZI_YAML_H
#define FNZI_YAML_H

#include "base/base.h"

typedef enum fnzi_yaml_kind { FNZI_YAML_TEXT, FNZI_YAML_LIST, FNZI_YAML_MAP } fnzi_yaml_kind;

typedef struct fnzi_yaml {
  fnzi_yaml_kind kind;
  uint32_t line;    /* from 1 */
  const char *key;  /* of a member of a map, else NULL */
  const char *text; /* of FNZI_YAML_TEXT */
  bool plain;       /* not in quotes, so that it may be a bool or a number */
  uint32_t count;   /* of a list or map */
  struct fnzi_yaml *first, *last, *next;
} fnzi_yaml;

/* "list", "map" or "text", for messages. */
const char *fnzi_yaml_kind_name(fnzi_yaml_kind kind);

/* Reads one document of UTF-8 into the arena. Messages begin with `name`, as "name:line". Refused
 * besides what is no YAML: more than 16 MiB, nesting deeper than 8, more than a million nodes or
 * 256 keys in one map, aliases, anchors, tags, keys that are no text, a key twice in a map, zero
 * bytes, further documents. */
FNZ_MUST_CHECK fnz_status fnzi_yaml_read(fnzi_arena *arena, const char *name, const void *bytes,
                                         size_t size, fnzi_yaml **out);

#endif
