/* builtin.c - operators outside ATen that need no declaration: the rows of collectives.def. */
#include "schema/custom.h"

static const char *const schemas[] = {
#define COLLECTIVE(schema) schema,
#define ELSEWHERE(prefix, words)
#include "schema/collectives.def"
#undef COLLECTIVE
#undef ELSEWHERE
};

static const struct {
  const char *prefix, *words;
} elsewhere[] = {
#define COLLECTIVE(schema)
#define ELSEWHERE(prefix, words) {prefix, words},
#include "schema/collectives.def"
#undef COLLECTIVE
#undef ELSEWHERE
};

const char *fnzi_builtin_schema(const char *name) {
  size_t size = strlen(name);
  for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++)
    if (strncmp(schemas[i], name, size) == 0 && schemas[i][size] == '(')
      return schemas[i];
  return NULL;
}

const char *fnzi_builtin_remedy(const char *name) {
  for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
    if (strncmp(elsewhere[i].prefix, name, strlen(elsewhere[i].prefix)) == 0)
      return elsewhere[i].words;
  return NULL;
}

size_t fnzi_builtin_count(void) {
  return sizeof schemas / sizeof *schemas;
}

const char *fnzi_builtin_at(size_t index) {
  return schemas[index];
}
