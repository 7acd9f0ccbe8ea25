/* builtin.c - operators outside ATen that need no declaration: the rows of builtin.def. */
#include "schema/custom.h"

typedef struct builtin {
  const char *schema, *like;
  uint32_t tags;
  bool is_asked;
  uint8_t order[FNZI_TURNED]; /* all 0: that of the schema */
} builtin;

static const builtin builtins[] = {
#define COLLECTIVE(schema)        {schema, NULL, FNZI_TAG_EFFECT, false, {0}},
#define LIBRARY(schema, like)     {schema, like, 0, false, {0}},
#define FOUND(schema)             {schema, NULL, FNZI_TAG_DYNAMIC_SHAPE, false, {0}},
#define TURNED(schema, like, ...) {schema, like, 0, false, {__VA_ARGS__}},
#define ASKED(schema)             {schema, NULL, 0, true, {0}},
#define ELSEWHERE(prefix, words)
#include "schema/builtin.def"
#undef COLLECTIVE
#undef LIBRARY
#undef FOUND
#undef TURNED
#undef ASKED
#undef ELSEWHERE
};

static const struct {
  const char *prefix, *words;
} elsewhere[] = {
#define COLLECTIVE(schema)
#define LIBRARY(schema, like)
#define FOUND(schema)
#define TURNED(schema, like, ...)
#define ASKED(schema)
#define ELSEWHERE(prefix, words) {prefix, words},
#include "schema/builtin.def"
#undef COLLECTIVE
#undef LIBRARY
#undef FOUND
#undef TURNED
#undef ASKED
#undef ELSEWHERE
};

static const builtin *find(const char *name) {
  size_t size = strlen(name);
  for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++)
    if (strncmp(builtins[i].schema, name, size) == 0 && builtins[i].schema[size] == '(')
      return &builtins[i];
  return NULL;
}

const char *fnzi_builtin_schema(const char *name) {
  const builtin *b = find(name);
  return b ? b->schema : NULL;
}

size_t fnzi_builtin_plain_size(const char *name) {
  const builtin *b = fnzi_ends_with(name, "_out") ? find(name) : NULL;
  return b && b->tags & FNZI_TAG_EFFECT ? strlen(name) - strlen("_out") : 0;
}

uint32_t fnzi_builtin_tags(const char *name) {
  const builtin *b = find(name);
  return b ? b->tags : 0;
}

bool fnzi_builtin_is_asked(const char *name) {
  const builtin *b = find(name);
  return b && b->is_asked;
}

const fnz_op *fnzi_builtin_like(const fnz_op *op) {
  const builtin *b = find(op->name);
  return b && b->like && strcmp(b->schema, op->schema) == 0 ? fnzi_ops_find(b->like) : NULL;
}

const uint8_t *fnzi_builtin_order(const fnz_op *op) {
  const builtin *b = find(op->name);
  return b && b->order[0] != b->order[1] ? b->order : NULL;
}

const char *fnzi_builtin_remedy(const char *name) {
  for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
    if (strncmp(elsewhere[i].prefix, name, strlen(elsewhere[i].prefix)) == 0)
      return elsewhere[i].words;
  return NULL;
}

size_t fnzi_builtin_count(void) {
  return sizeof builtins / sizeof *builtins;
}

const char *fnzi_builtin_at(size_t index) {
  return builtins[index].schema;
}
