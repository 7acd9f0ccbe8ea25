/* names.c - names of operators as a caller gives them: "slice_scatter" for all overloads,
 * "add.Tensor", "slice_scatter.default" for one; "aten::" and "aten." before them say nothing. */
#include "functionalize/explain/explain.h"

#include <stdio.h>

/* Such a name, without the namespace aten. */
typedef struct given {
  const char *name;
  size_t size;
  bool whole; /* the empty overload, ".default", not all overloads */
} given;

static given parse_name(const char *name) {
  static const char empty[] = ".default";
  const size_t tail = sizeof empty - 1;
  if (strncmp(name, "aten::", 6) == 0)
    name += 6;
  else if (strncmp(name, "aten.", 5) == 0)
    name += 5;
  size_t size = strlen(name);
  bool is_empty = size > tail && strcmp(name + size - tail, empty) == 0;
  size -= is_empty ? tail : 0;
  return (given){name, size, is_empty};
}

/* A name without overload means all overloads. */
static bool matches(const given *d, const char *target) {
  return strncmp(d->name, target, d->size) == 0 &&
         (!target[d->size] || (!d->whole && strcspn(target, ".") == d->size));
}

bool fnzi_expl_name_matches(const char *name, const char *target) {
  const given d = parse_name(name);
  return matches(&d, target);
}

/* An operator of the table, the context or the program, or the target of another node. */
static bool is_known(const fnz_context *ctx, const fnz_program *p, const given *d) {
  static const char *const others[] = {"higher_order.", "_operator.", "math.", "torch."};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (strncmp(d->name, others[i], strlen(others[i])) == 0)
      return true;
  for (size_t i = 0; i < fnz_op_count(); i++)
    if (matches(d, fnz_op_name(fnz_op_at(i))))
      return true;
  for (size_t i = 0; i < fnz_op_declared_count(ctx); i++)
    if (matches(d, fnz_op_name(fnz_op_declared_at(ctx, i))))
      return true;
  /* One that the program has, or its functional form. */
  bool is_custom = false;
  for (size_t i = 0; i < p->custom_ops.count && !is_custom; i++) {
    const fnz_op *op = p->custom_ops.data[i], *twin = fnz_op_functional_twin(op);
    is_custom = matches(d, fnz_op_name(op)) || (twin && matches(d, fnz_op_name(twin)));
  }
  if (is_custom)
    return true;
  /* One that needs no declaration. */
  for (size_t i = 0; i < fnzi_builtin_count(); i++) {
    const char *schema = fnzi_builtin_at(i);
    char name[128];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(schema, "("), schema);
    if (matches(d, name))
      return true;
  }
  return false;
}

fnz_status fnzi_expl_name_check(fnz_context *ctx, const fnz_program *p, const char *what,
                                const char *name) {
  const given d = parse_name(name);
  if (d.size && is_known(ctx, p, &d))
    return FNZ_OK;
  fnz_buffer near = {NULL, 0, 0};
  fnz_status status = fnz_op_suggest(ctx, name, &near);
  if (status == FNZ_OK)
    status = fnzi_fail(ctx, FNZ_CLASS_REF, NULL, "%s: there is no operator \"%s\"%s%s%s", what,
                       name, near.size ? "; did you mean " : "", near.size ? near.data : "",
                       near.size ? "?" : "; fnz ops lists all");
  fnz_buffer_free(ctx, &near);
  return status;
}
