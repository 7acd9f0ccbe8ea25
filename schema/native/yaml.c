/* yaml.c - YAML to a tree, from the events of libyaml.
 *
 * libyaml 0.2.5 (MIT, kept by the YAML project, Debian's libyaml-dev) is there because the format
 * is far larger than it looks. Its parser hands out events without recursion; its own tree is not
 * used. It allocates with malloc for as long as one call lasts. */
#include "schema/native/yaml.h"

#include <yaml.h>

enum { MOST_BYTES = 1 << 24, MOST_DEPTH = 8, MOST_NODES = 1 << 20, MOST_KEYS = 256 };

typedef struct reader {
  fnzi_arena *arena;
  const char *name;
  yaml_parser_t parser;
  fnzi_yaml *open[MOST_DEPTH]; /* lists and maps that have not ended */
  int depth;
  const char *key; /* of the next member of the innermost map */
  fnzi_yaml *root;
  size_t nodes;
} reader;

const char *fnzi_yaml_kind_name(fnzi_yaml_kind kind) {
  static const char *const names[] = {"text", "list", "map"};
  return names[kind];
}

/* --- Failing ---------------------------------------------------------------------------------- */

static fnz_status refuse(const reader *r, fnz_class kind, size_t line, const char *what) {
  char where[160];
  snprintf(where, sizeof where, "%.128s:%zu", r->name, line);
  return fnzi_fail(r->arena->ctx, kind, where, "%s", what);
}

/* --- Building --------------------------------------------------------------------------------- */

/* Hangs a new node where the reader stands. */
static fnz_status hang(reader *r, fnzi_yaml *node) {
  fnzi_yaml *parent = r->depth ? r->open[r->depth - 1] : NULL;
  if (parent && parent->kind == FNZI_YAML_MAP && !r->key)
    return refuse(r, FNZ_CLASS_TYPE, node->line, "a key is a list or a map; keys are plain text");
  if (parent && parent->kind == FNZI_YAML_MAP) {
    if (parent->count == MOST_KEYS)
      return refuse(r, FNZ_CLASS_LIMIT, node->line, "a map has more than 256 keys");
    for (const fnzi_yaml *n = parent->first; n; n = n->next)
      if (strcmp(n->key, r->key) == 0)
        return refuse(r, FNZ_CLASS_DUPLICATE, node->line,
                      "a map has the same key twice; merge the two");
  }
  if (++r->nodes > MOST_NODES)
    return refuse(r, FNZ_CLASS_LIMIT, node->line, "the document has more than a million nodes");
  node->key = r->key;
  r->key = NULL;
  if (!parent)
    return r->root = node, FNZ_OK;
  if (parent->last)
    parent->last->next = node;
  else
    parent->first = node;
  parent->last = node;
  parent->count++;
  return FNZ_OK;
}

static fnz_status scalar(reader *r, const yaml_event_t *e, size_t line) {
  const char *text;
  fnzi_yaml *node;
  size_t size = e->data.scalar.length;
  if (e->data.scalar.anchor || e->data.scalar.tag)
    return refuse(r, FNZ_CLASS_UNSUPPORTED, line,
                  "anchors and tags are not read; write it plainly");
  if (memchr(e->data.scalar.value, 0, size))
    return refuse(r, FNZ_CLASS_SYNTAX, line, "a text has a zero byte");
  FNZ_TRY(fnzi_arena_string(r->arena, (const char *)e->data.scalar.value, size, &text));
  if (r->depth && r->open[r->depth - 1]->kind == FNZI_YAML_MAP && !r->key)
    return r->key = text, FNZ_OK;
  FNZI_NEW(r->arena, 1, &node);
  *node = (fnzi_yaml){.kind = FNZI_YAML_TEXT,
                      .line = (uint32_t)line,
                      .text = text,
                      .plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE};
  return hang(r, node);
}

static fnz_status open_node(reader *r, fnzi_yaml_kind kind, bool named, size_t line) {
  fnzi_yaml *node;
  if (named)
    return refuse(r, FNZ_CLASS_UNSUPPORTED, line,
                  "anchors and tags are not read; write it plainly");
  if (r->depth == MOST_DEPTH)
    return refuse(r, FNZ_CLASS_LIMIT, line, "lists and maps are nested deeper than 8");
  FNZI_NEW(r->arena, 1, &node);
  *node = (fnzi_yaml){.kind = kind, .line = (uint32_t)line};
  FNZ_TRY(hang(r, node));
  r->open[r->depth++] = node;
  return FNZ_OK;
}

static fnz_status take_event(reader *r, const yaml_event_t *e) {
  size_t line = e->start_mark.line + 1;
  switch (e->type) {
  case YAML_SCALAR_EVENT:
    return scalar(r, e, line);
  case YAML_SEQUENCE_START_EVENT:
    return open_node(r, FNZI_YAML_LIST, e->data.sequence_start.anchor || e->data.sequence_start.tag,
                     line);
  case YAML_MAPPING_START_EVENT:
    return open_node(r, FNZI_YAML_MAP, e->data.mapping_start.anchor || e->data.mapping_start.tag,
                     line);
  case YAML_SEQUENCE_END_EVENT:
  case YAML_MAPPING_END_EVENT:
    r->depth--;
    return FNZ_OK;
  case YAML_ALIAS_EVENT:
    return refuse(r, FNZ_CLASS_UNSUPPORTED, line, "aliases are not read; write it out");
  case YAML_DOCUMENT_START_EVENT:
    if (r->root)
      return refuse(r, FNZ_CLASS_UNSUPPORTED, line, "a second document begins; only one is read");
    return FNZ_OK;
  case YAML_NO_EVENT:
  case YAML_STREAM_START_EVENT:
  case YAML_STREAM_END_EVENT:
  case YAML_DOCUMENT_END_EVENT:
    break;
  }
  return FNZ_OK;
}

static fnz_status take_all(reader *r) {
  for (bool ended = false; !ended;) {
    yaml_event_t event;
    if (!yaml_parser_parse(&r->parser, &event)) {
      const yaml_parser_t *p = &r->parser;
      if (p->error == YAML_MEMORY_ERROR)
        return fnzi_no_memory(r->arena->ctx);
      return refuse(r, FNZ_CLASS_SYNTAX, p->problem_mark.line + 1,
                    p->problem ? p->problem : "this is not YAML");
    }
    fnz_status status = take_event(r, &event);
    ended = event.type == YAML_STREAM_END_EVENT;
    yaml_event_delete(&event);
    FNZ_TRY(status);
  }
  if (!r->root)
    return refuse(r, FNZ_CLASS_TRUNCATED, 1, "the document is empty");
  return FNZ_OK;
}

fnz_status fnzi_yaml_read(fnzi_arena *arena, const char *name, const void *bytes, size_t size,
                          fnzi_yaml **out) {
  reader r = {.arena = arena, .name = name};
  if (size > MOST_BYTES)
    return refuse(&r, FNZ_CLASS_LIMIT, 1, "the file is larger than 16 MiB");
  if (!fnzi_is_utf8(bytes, size))
    return refuse(&r, FNZ_CLASS_ENCODING, 1, "the file is not UTF-8");
  if (!yaml_parser_initialize(&r.parser))
    return fnzi_no_memory(arena->ctx);
  yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
  yaml_parser_set_input_string(&r.parser, bytes ? bytes : "", size); /* it asserts a pointer */
  fnz_status status = take_all(&r);
  yaml_parser_delete(&r.parser);
  *out = r.root;
  return status;
}
