/* checks: 2
 * point_rows_test.c - the rows of point.def and point_ops.def fit together and to the operators. */
#include "tests/help/test.h"

#include "kernels/cpu/point.h"

typedef struct pair {
  const char *first, *second;
} pair;

/* The columns that name something; conditions and operands are left out. */
#define USE(op, when, row, ...) {op, row},
static const pair uses[] = {
#include "kernels/meta/point_ops.def"
};
#undef USE
#define COUNT(rows) (sizeof(rows) / sizeof *(rows))

static bool is_base(const char *name) {
  for (size_t i = 0; i < fnz_op_count(); i++)
    if (strcmp(fnz_op_at(i)->base, name) == 0)
      return true;
  return false;
}

static bool is_row(const char *name) {
  static const fnz_dtype classes[] = {FNZ_I64, FNZ_F32, FNZ_F64, FNZ_C64, FNZ_C128};
  for (size_t i = 0; i < COUNT(classes); i++)
    if (fnzi_cpu_point_find(classes[i], name))
      return true;
  return false;
}

static bool has_use(const char *op) {
  for (size_t i = 0; i < COUNT(uses); i++)
    if (strcmp(uses[i].first, op) == 0)
      return true;
  return false;
}

START_TEST(uses_are_sorted_and_have_rows) {
  for (size_t i = 0; i < COUNT(uses); i++) {
    ck_assert_msg(is_base(uses[i].first), "%s: no such operator", uses[i].first);
    ck_assert_msg(is_row(uses[i].second) || has_use(uses[i].second), "%s: no such row",
                  uses[i].second);
    ck_assert_msg(!i || strcmp(uses[i - 1].first, uses[i].first) <= 0, "%s: order", uses[i].first);
  }
}
END_TEST

/* f64 and c128 have the rows of f32 and c64. */
START_TEST(wide_classes_lack_nothing) {
  static const struct {
    const fnzi_cpu_point *narrow, *wide;
  } classes[] = {{fnzi_cpu_points_f32, fnzi_cpu_points_f64},
                 {fnzi_cpu_points_c64, fnzi_cpu_points_c128}};
  for (size_t i = 0; i < COUNT(classes); i++) {
    const fnzi_cpu_point *a = classes[i].narrow, *b = classes[i].wide;
    for (; a->name && b->name; a++, b++) {
      ck_assert_str_eq(a->name, b->name);
      ck_assert_uint_eq(a->arity, b->arity);
    }
    ck_assert(!a->name && !b->name);
  }
}
END_TEST

RUN_SUITE("point rows", uses_are_sorted_and_have_rows, wide_classes_lack_nothing)
