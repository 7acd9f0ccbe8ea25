/* mlir.c - the rows of mlir.def, and operators that the dialect has under another name. */
#include "schema/facts/mlir.h"

#include <fnz/mlir.h>

#include <stdlib.h>

static const char *const names[] = {
#define MLIR_VERSION(version)
#define MLIR_OP(name) name,
#include "schema/facts/mlir.def"
#undef MLIR_VERSION
#undef MLIR_OP
};

const char *fnzi_mlir_version(void) {
#define MLIR_VERSION(version) version
#define MLIR_OP(name)
  return
#include "schema/facts/mlir.def"
      ;
#undef MLIR_VERSION
#undef MLIR_OP
}

static int by_name(const void *key, const void *row) {
  return strcmp(key, *(const char *const *)row);
}

/* Operators with the values of another one, and the same parameters; the dialect does not lower the
 * first, or has no name for it. */
static const char *const renamed[][2] = {
    {"_reshape_copy", "view"},
    {"_unsafe_index.Tensor", "index.Tensor"},
    {"_unsafe_index_put", "index_put"},
    {"_unsafe_view", "view"},
    {"alias_copy", "alias"},
    {"lift_fresh_copy", "lift_fresh_copy"},
    {"sym_numel", "numel"},
    {"sym_size.int", "size.int"},
};

/* Operators that are registered, and not lowered in any form. */
static const char *const not_lowered[] = {"as_strided", "as_strided_scatter", "diagonal_scatter",
                                          "isfinite", "resize"};

const char *fnz_mlir_op_name(const fnz_op *whole) {
  const fnz_op *op = fnzi_op_canonical(whole);
  char text[128];
  const char *name = op->name, *copy = strstr(op->base, "_copy");
  const fnz_op *view =
      copy && strcmp(copy, "_copy") == 0 ? fnz_op_member(op, FNZ_MEMBER_VIEW) : NULL;
  name = view ? view->name : name;
  for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
    if (strcmp(renamed[i][0], op->name) == 0)
      name = renamed[i][1];
  size_t size = strlen(name);
  bool outside = strchr(name, ':') != NULL;
  static const char head[] = "aten.";
  if (size + sizeof head > sizeof text || outside)
    return NULL;
  for (size_t i = 0; i < sizeof not_lowered / sizeof *not_lowered; i++)
    if (strcmp(not_lowered[i], name) == 0)
      return NULL;
  memcpy(text, head, sizeof head - 1);
  memcpy(text + sizeof head - 1, name, size + 1);
  const char *const *row =
      bsearch(text, names, sizeof names / sizeof *names, sizeof *names, by_name);
  return row ? *row : NULL;
}

bool fnzi_mlir_is_pairs(const fnz_op *op) {
  return strcmp(op->name, "view_as_real") == 0 || strcmp(op->name, "view_as_real_copy") == 0 ||
         strcmp(op->name, "view_as_complex") == 0 || strcmp(op->name, "view_as_complex_copy") == 0;
}

bool fnzi_mlir_is_check(const fnz_op *op) {
  static const char *const checks[] = {"_assert_async",
                                       "_assert_async.msg",
                                       "_assert_scalar",
                                       "_assert_tensor_metadata",
                                       "sym_constrain_range",
                                       "sym_constrain_range_for_size",
                                       "_functional_assert_scalar",
                                       "_functional_assert_async.msg"};
  for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
    if (strcmp(checks[i], op->name) == 0)
      return true;
  return false;
}
