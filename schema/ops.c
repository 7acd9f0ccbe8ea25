/* ops.c - looking operators up, and asking what a schema says. */
#include "schema/aten_names.h"
#include "schema/schema.h"

/* --- Finding ---------------------------------------------------------------------------------- */

/* As strcmp(op name, the first `size` bytes of `name`). Names differ early: the call of strncmp
 * took twice as long. */
static int ops_compare(const fnz_op *op, const char *name, size_t size) {
  for (size_t i = 0; i < size; i++)
    if (op->name[i] != name[i])
      return (unsigned char)op->name[i] - (unsigned char)name[i];
  return op->name[size] != 0;
}

size_t fnzi_op_lower_bound(const char *name, size_t size) {
  size_t low = 0, high = fnzi_ops_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (ops_compare(&fnzi_ops[middle], name, size) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

const fnz_op *fnzi_ops_find(const char *name) {
  static const char space[] = "aten::", empty[] = ".default";
  if (strncmp(name, space, sizeof space - 1) == 0)
    name += sizeof space - 1;
  size_t size = strlen(name), tail = sizeof empty - 1;
  if (size > tail && strcmp(name + size - tail, empty) == 0)
    size -= tail;
  size_t index = fnzi_op_lower_bound(name, size);
  return index < fnzi_ops_count && ops_compare(&fnzi_ops[index], name, size) == 0 ? &fnzi_ops[index]
                                                                                  : NULL;
}

const fnz_op *fnzi_op_find_stem(const fnz_op *op, size_t length) {
  char name[256];
  size_t rest = strlen(op->overload);
  if (length + rest + 2 > sizeof name)
    return NULL;
  memcpy(name, op->base, length);
  name[length] = '.';
  memcpy(name + length + 1, op->overload, rest + 1);
  if (!rest)
    name[length] = '\0';
  return fnzi_ops_find(name);
}

size_t fnz_op_count(void) {
  return fnzi_ops_count;
}

const fnz_op *fnz_op_at(size_t index) {
  return index < fnzi_ops_count ? &fnzi_ops[index] : NULL;
}

const fnz_op *fnzi_op_by_index(uint16_t index) {
  return fnz_op_at(index);
}

bool fnzi_op_is_among(const fnz_op *op, const uint16_t *places, size_t count) {
  const uint16_t place = fnzi_op_place(op);
  for (size_t i = 0; i < count; i++)
    if (places[i] == place)
      return true;
  return false;
}

int fnzi_op_param_like(const fnz_op *op, const fnz_op *other, size_t i) {
  int named = fnzi_op_param(op, other->params[i].name);
  bool other_name = i < op->nparams && !op->params[i].is_out &&
                    op->params[i].type == other->params[i].type &&
                    fnzi_op_param(other, op->params[i].name) < 0;
  return named < 0 && other_name ? (int)i : named;
}

bool fnzi_op_is_item(const fnz_op *op) {
  static const uint16_t items[] = {FNZI_ATEN_item, FNZI_ATEN__local_scalar_dense};
  return fnzi_op_is_among(op, items, sizeof items / sizeof *items);
}

/* --- Asking ----------------------------------------------------------------------------------- */

const char *fnz_op_name(const fnz_op *op) {
  return op->name;
}

const char *fnz_op_schema(const fnz_op *op) {
  return op->schema;
}

const char *fnz_op_kind(const fnz_op *op) {
  switch (op->kind) {
  case FNZI_KIND_INPLACE:
    return "inplace";
  case FNZI_KIND_SCRATCH:
    return "scratch";
  case FNZI_KIND_OUT:
    return "out";
  case FNZI_KIND_MUTABLE:
    return "mutable";
  case FNZI_KIND_FUNCTIONAL:
    break;
  }
  return "functional";
}

bool fnzi_op_is_flat(const fnz_op *op) {
  static const char fused[] = "_fused_";
  return op->kind == FNZI_KIND_INPLACE && !fnzi_op_is_custom(op) &&
         strncmp(op->name, fused, sizeof fused - 1) == 0 && op->params[0].is_list;
}

bool fnz_op_is_view(const fnz_op *op) {
  return op->is_view;
}

bool fnz_op_is_mutating(const fnz_op *op) {
  for (size_t i = 0; i < op->nparams; i++)
    if (op->params[i].is_write)
      return true;
  return false;
}

const fnzi_param *fnzi_op_returned(const fnz_op *op, const fnzi_param *result) {
  for (size_t i = 0; i < op->nparams && result->is_write; i++)
    if (op->params[i].is_write && op->params[i].alias == result->alias)
      return &op->params[i];
  return NULL;
}

/* --- Arguments -------------------------------------------------------------------------------- */

int fnzi_op_param(const fnz_op *op, const char *name) {
  for (int i = 0; i < op->nparams; i++)
    if (*op->params[i].name == *name && strcmp(op->params[i].name, name) == 0)
      return i;
  return -1;
}
