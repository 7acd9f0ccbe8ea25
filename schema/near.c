/* near.c - operators with a name similar to a misspelt one. */
#include "base/near.h"
#include "schema/schema.h"

#include <fnz/operator.h>

static size_t base_length(const char *name) {
  const char *colons = strstr(name, "::"), *base = colons ? colons + 2 : name;
  return (size_t)(base - name) + strcspn(base, ".");
}

static fnz_status suggest(fnz_context *ctx, const fnz_op *const *own, size_t count,
                          const char *name, fnz_buffer *out) {
  fnzi_near near = {.count = 0};
  /* The name behind a namespace of Python: "add.Tensor" of "torch.ops.aten.add.Tensor". */
  static const char *const modules[] = {"torch.", "ops.", "aten."};
  for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
    if (strncmp(name, modules[i], strlen(modules[i])) == 0)
      name += strlen(modules[i]);
  /* A word without a dot is compared with names that have no overload, as people say them. */
  const bool has_overload = name[base_length(name)] != 0;
  const size_t table = count + fnz_op_count(), all = table + fnz_op_declared_count(ctx);
  for (size_t i = 0; i < all; i++) {
    const fnz_op *op = i < count   ? own[i]
                       : i < table ? fnz_op_at(i - count)
                                   : fnz_op_declared_at(ctx, i - table);
    const char *other = fnz_op_name(op);
    fnzi_near_consider(&near, name, other, has_overload ? strlen(other) : base_length(other));
  }
  return fnzi_near_put(ctx, &near, out);
}

fnz_status fnz_op_suggest(fnz_context *ctx, const char *name, fnz_buffer *out) {
  return suggest(ctx, NULL, 0, name, out);
}

fnz_status fnzi_put_near_op(fnz_context *ctx, const fnz_op *const *own, size_t count,
                            const char *name, fnz_buffer *out) {
  fnz_buffer near = {NULL, 0, 0};
  fnz_status status = suggest(ctx, own, count, name, &near);
  if (status == FNZ_OK)
    status = near.size ? fnzi_printf(ctx, out, "; did you mean %s?", near.data)
                       : fnzi_put_text(ctx, out, "");
  fnz_buffer_free(ctx, &near);
  return status;
}
