/* builtin.c - operators outside ATen that need no declaration: the rows of builtin.def and of
 * prims.def. */
#include "schema/custom.h"

typedef struct builtin {
  const char *schema, *like;
  uint32_t tags;
  bool is_asked;
} builtin;

static const builtin builtins[] = {
#define COLLECTIVE(schema)    {schema, NULL, FNZI_TAG_EFFECT, false},
#define LIBRARY(schema, like) {schema, like, 0, false},
#define FOUND(schema)         {schema, NULL, FNZI_TAG_DYNAMIC_SHAPE, false},
#define ASKED(schema)         {schema, NULL, 0, true},
#define ELSEWHERE(prefix, words)
#include "schema/builtin.def"
#undef COLLECTIVE
#undef LIBRARY
#undef FOUND
#undef ASKED
#undef ELSEWHERE
};

static const struct {
  const char *prefix, *words;
} elsewhere[] = {
#define COLLECTIVE(schema)
#define LIBRARY(schema, like)
#define FOUND(schema)
#define ASKED(schema)
#define ELSEWHERE(prefix, words) {prefix, words},
#include "schema/builtin.def"
#undef COLLECTIVE
#undef LIBRARY
#undef FOUND
#undef ASKED
#undef ELSEWHERE
};

static const char prims_space[] = "prims::";

/* Sorted by name. */
static const struct {
  const char *schema;
  fnzi_prim prim;
} prims[] = {
#define PRIM(schema, as)             {schema, {FNZI_PRIM_SAME, as}},
#define ELEMENTWISE(schema, as)      {schema, {FNZI_PRIM_ELEMENTWISE, as}},
#define LOOSE(schema, as)            {schema, {FNZI_PRIM_LOOSE, as}},
#define TWICE(schema, as)            {schema, {FNZI_PRIM_TWICE, as}},
#define PRIM_BY(schema, rule, words) {schema, {FNZI_PRIM_##rule, words}},
#define PRIM_STEPS(schema)           {schema, {FNZI_PRIM_STEPS, NULL}},
#include "schema/prims.def"
#undef PRIM
#undef ELEMENTWISE
#undef LOOSE
#undef TWICE
#undef PRIM_BY
#undef PRIM_STEPS
};

enum { BUILTINS = sizeof builtins / sizeof *builtins, PRIMS = sizeof prims / sizeof *prims };

/* Its place among the rows of prims.def; PRIMS where it has none. */
static size_t find_prim(const char *name) {
  size_t low = 0, high = strncmp(name, prims_space, sizeof prims_space - 1) == 0 ? PRIMS : 0;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    size_t size = strcspn(prims[middle].schema, "(");
    int order = strncmp(prims[middle].schema, name, size);
    order = order || !name[size] ? order : -1;
    if (order == 0)
      return middle;
    low = order < 0 ? middle + 1 : low;
    high = order < 0 ? high : middle;
  }
  return PRIMS;
}

static const builtin *builtin_find(const char *name) {
  size_t size = strlen(name);
  for (size_t i = 0; i < BUILTINS; i++)
    if (strncmp(builtins[i].schema, name, size) == 0 && builtins[i].schema[size] == '(')
      return &builtins[i];
  return NULL;
}

const char *fnzi_builtin_schema(const char *name) {
  size_t at = find_prim(name);
  const builtin *b = at < PRIMS ? NULL : builtin_find(name);
  return at < PRIMS ? prims[at].schema : b ? b->schema : NULL;
}

size_t fnzi_builtin_plain_size(const char *name) {
  const builtin *b = fnzi_ends_with(name, "_out") ? builtin_find(name) : NULL;
  return b && b->tags & FNZI_TAG_EFFECT ? strlen(name) - strlen("_out") : 0;
}

uint32_t fnzi_builtin_tags(const char *name) {
  const builtin *b = builtin_find(name);
  return b ? b->tags : 0;
}

bool fnzi_builtin_is_asked(const char *name) {
  const builtin *b = builtin_find(name);
  return b && b->is_asked;
}

const fnz_op *fnzi_builtin_like(const fnz_op *op) {
  const builtin *b = builtin_find(op->name);
  return b && b->like && strcmp(b->schema, op->schema) == 0 ? fnzi_ops_find(b->like) : NULL;
}

const fnzi_prim *fnzi_builtin_prim(const fnz_op *op) {
  size_t at = fnzi_op_is_custom(op) ? find_prim(op->name) : PRIMS;
  bool is_read = at < PRIMS && prims[at].prim.kind != FNZI_PRIM_STEPS;
  return is_read && strcmp(prims[at].schema, op->schema) == 0 ? &prims[at].prim : NULL;
}

const char *fnzi_builtin_remedy(const char *name) {
  for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
    if (strncmp(elsewhere[i].prefix, name, strlen(elsewhere[i].prefix)) == 0)
      return elsewhere[i].words;
  return NULL;
}

size_t fnzi_builtin_count(void) {
  return BUILTINS + PRIMS;
}

const char *fnzi_builtin_at(size_t index) {
  return index < BUILTINS ? builtins[index].schema : prims[index - BUILTINS].schema;
}
