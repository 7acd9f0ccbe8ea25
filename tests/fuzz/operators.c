/* operators.c - another operator of the table in place of one. */
#include "tests/fuzz/mutate.h"

#include <fnz/operator.h>

#include <stdio.h>
#include <string.h>

/* The arguments in a schema, but what says which are written. */
static uint32_t hash_of_arguments(const fnz_op *op) {
  uint32_t h = 2166136261u;
  const char *s = strchr(fnz_op_schema(op), '(');
  for (int depth = 0; s && *s; s++) {
    depth += *s == '(';
    if (depth == 1)
      h = (h ^ (unsigned char)*s) * 16777619u;
    depth -= *s == ')';
    if (!depth)
      break;
  }
  return h;
}

/* The next one in the table from a random one on. */
static const fnz_op *find_alike(mutator *m, const fnz_op *op) {
  uint32_t count = (uint32_t)fnz_op_count(), at = mutate_below(m, count);
  uint32_t wanted = hash_of_arguments(op);
  for (uint32_t i = 0; i < count && i < MUTATE_OPERATORS; i++, at = (at + 1) % count) {
    if (!m->arguments[at])
      m->arguments[at] = hash_of_arguments(fnz_op_at(at));
    if (m->arguments[at] == wanted && fnz_op_at(at) != op)
      return fnz_op_at(at);
  }
  return NULL;
}

static const char prefix[] = "torch.ops.aten.", ending[] = ".default";

/* "torch.ops.aten.neg.default" in exported programs, "neg" elsewhere. */
static const fnz_op *find(tree_text name, bool is_exported) {
  char text[256];
  if (is_exported) {
    if (name.size <= sizeof prefix - 1 || memcmp(name.at, prefix, sizeof prefix - 1) != 0)
      return NULL;
    name.at += sizeof prefix - 1;
    name.size -= (uint32_t)(sizeof prefix - 1);
  }
  if (name.size >= sizeof text)
    return NULL;
  snprintf(text, sizeof text, "%.*s", (int)name.size, name.at);
  size_t size = strlen(text), tail = sizeof ending - 1;
  if (is_exported && size > tail && strcmp(text + size - tail, ending) == 0)
    text[size - tail] = 0;
  return fnz_op_find(NULL, text);
}

bool mutate_operator(mutator *m, tree_text name, bool alike, char *out, size_t capacity) {
  const fnz_op *op = find(name, !m->is_cbor);
  if (!op)
    return false;
  op = alike ? find_alike(m, op) : fnz_op_at(mutate_below(m, (uint32_t)fnz_op_count()));
  if (!op)
    return false;
  const char *to = fnz_op_name(op);
  if (m->is_cbor)
    snprintf(out, capacity, "%s", to);
  else
    snprintf(out, capacity, "%s%s%s", prefix, to, strchr(to, '.') ? "" : ending);
  return true;
}
