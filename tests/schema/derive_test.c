/* checks: 4
 * derive_test.c - derived variants: against all that PyTorch's generator adds to its table, and on
 * operators of other namespaces. */
#include "tests/schema/arena.h"

#include "schema/derive.h"

typedef fnz_status derivation(fnzi_arena *arena, const fnz_op *op, fnz_op **out);

/* --- Against the table ------------------------------------------------------------------------ */

/* How many generated rows of this kind equal a derivation by `derive` from another row; `tried`
 * counts derivations whose name belongs to a generated row. */
static size_t count_equal(derivation *derive, fnzi_kind kind, bool *seen) {
  size_t equal = 0;
  for (size_t i = 0; i < fnz_op_count(); i++) {
    fnz_op *made;
    const fnz_op *op = fnz_op_at(i), *row;
    if (derive(&arena, op, &made) != FNZ_OK || made->kind != kind)
      continue;
    row = fnz_op_find(NULL, made->name);
    if (!row || !(row->tags & FNZI_TAG_GENERATED) || seen[row - fnz_op_at(0)] ||
        strcmp(made->schema, row->schema) != 0)
      continue;
    ck_assert_str_eq(made->tags_text, row->tags_text);
    ck_assert(made->tags == row->tags && made->composite == row->composite);
    seen[row - fnz_op_at(0)] = true;
    equal++;
  }
  return equal;
}

START_TEST(all_generated_rows_are_derived) {
  bool *seen = calloc(fnz_op_count(), 1);
  ck_assert_ptr_nonnull(seen);
  begin();
  ck_assert_uint_eq(count_equal(fnzi_derive_functional, FNZI_KIND_FUNCTIONAL, seen), 41);
  ck_assert_uint_eq(count_equal(fnzi_derive_out, FNZI_KIND_OUT, seen), 477);
  for (size_t i = 0; i < fnz_op_count(); i++)
    ck_assert_msg(seen[i] == !!(fnz_op_at(i)->tags & FNZI_TAG_GENERATED), "%s", fnz_op_at(i)->name);
  free(seen);
  end();
}
END_TEST

/* --- Other namespaces ------------------------------------------------------------------------- */

typedef struct pair {
  derivation *derive;
  const char *from, *want;
} pair;

static const pair pairs[] = {
    {fnzi_derive_functional, "n::f.ov(Tensor(a!) x, Tensor y) -> Tensor",
     "n::f_functional.ov(Tensor x, Tensor y) -> (Tensor, Tensor x_out)"},
    {fnzi_derive_functional, "n::f(Tensor(a!)? x, Tensor(b!)[] y, *, int k=1) -> ()",
     "n::f_functional(Tensor? x, Tensor[] y, *, int k=1) -> (Tensor? x_out, Tensor[] y_out)"},
    {fnzi_derive_functional, "n::f_(Tensor y, Tensor(a!) self, Tensor(b!) z) -> Tensor(a!)",
     "n::f(Tensor y, Tensor self, Tensor z) -> (Tensor, Tensor z_out)"},
    {fnzi_derive_functional, "n::f(Tensor(a!) y, Tensor(b!) self) -> (Tensor r, int)",
     "n::f_functional(Tensor y, Tensor self) -> (Tensor r, int, Tensor self_out, Tensor y_out)"},
    {fnzi_derive_functional, "n::f.out(Tensor x, *, Tensor(a!) out) -> ()",
     "n::f.out(Tensor x) -> Tensor out_out"},
    {fnzi_derive_functional, "n::f(Tensor(a!) x, Tensor(b) y) -> Tensor(b)",
     "n::f_functional(Tensor x, Tensor y) -> (Tensor, Tensor x_out)"},
    {fnzi_derive_functional, "__ilshift__.T(Tensor(a!) self, int k) -> Tensor(a!)",
     "__lshift__.T(Tensor self, int k) -> Tensor"},
    {fnzi_derive_on_bases, "n::f_(Tensor(a!) x, Tensor(b!)[]? y, Tensor z, int k=2) -> ()",
     "n::f__on_bases(Tensor[] _all_bases, int[] x, int[] y, Tensor z, int k=2) -> Tensor[] "
     "_all_bases_out"},
    {fnzi_derive_on_bases, "n::f.ov(Tensor(a!) x, Tensor(b!)? y=None) -> (Tensor(a!), Tensor r)",
     "n::f_on_bases.ov(Tensor[] _all_bases, int[] x, int[] y=[]) -> (Tensor r, Tensor[] "
     "_all_bases_out)"},
    {fnzi_derive_out, "__ilshift__.T(Tensor(a!) self, int k) -> Tensor(a!)",
     "__lshift__.T_out(Tensor self, int k, *, Tensor(a!) out) -> Tensor(a!)"},
    {fnzi_derive_out, "n::f(Tensor x, *, int k=1) -> Tensor r",
     "n::f.out(Tensor x, *, int k=1, Tensor(a!) out) -> Tensor(a!)"},
    {fnzi_derive_out, "n::f.ov(Tensor(a) x) -> (Tensor, Tensor[], int k)",
     "n::f.ov_out(Tensor x, *, Tensor(b!) out0, Tensor(c!)[] out1) -> int k"},
    {fnzi_derive_out, "n::f(Tensor(a!) x) -> (Tensor, Tensor)",
     "n::f.out(Tensor(a!) x, *, Tensor(b!) out0, Tensor(c!) out1) -> (Tensor(b!), Tensor(c!))"},
    {fnzi_derive_out,
     "n::f(int[] s, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
     "bool? pin_memory=None, int k=2) -> Tensor",
     "n::f.out(int[] s, *, int k=2, Tensor(a!) out) -> Tensor(a!)"},
};

START_TEST(other_namespaces_follow_the_rules) {
  begin();
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    fnz_op *op, *made;
    OK(ctx, fnzi_schema_parse(&arena, pairs[i].from, &op));
    OK(ctx, pairs[i].derive(&arena, op, &made));
    ck_assert_str_eq(made->schema, pairs[i].want);
    ck_assert(made->tags & FNZI_TAG_GENERATED);
    ck_assert_int_eq(made->composite, FNZI_COMPOSITE_EXPLICIT);
  }
  end();
}
END_TEST

/* A written keyword-only argument that is read too stays when is_out is cleared. */
START_TEST(an_argument_that_is_no_output_stays) {
  fnz_op *op, *made;
  begin();
  OK(ctx, fnzi_schema_parse(&arena, "n::f(Tensor x, *, Tensor(a!) y) -> Tensor", &op));
  fnzi_param params[2] = {op->params[0], op->params[1]};
  params[1].is_out = false;
  op->params = params;
  op->kind = FNZI_KIND_MUTABLE;
  OK(ctx, fnzi_derive_functional(&arena, op, &made));
  ck_assert_str_eq(made->schema,
                   "n::f_functional(Tensor x, *, Tensor y) -> (Tensor, Tensor y_out)");
  end();
}
END_TEST

START_TEST(what_has_no_variant_is_refused) {
  static const struct {
    derivation *derive;
    const char *schema, *kind;
  } rows[] = {
      {fnzi_derive_functional, "n::f(Tensor x) -> Tensor", "TYPE"},
      {fnzi_derive_out, "n::f(Tensor x) -> int", "TYPE"},
      {fnzi_derive_out, "n::f(Tensor(a!) x) -> ()", "TYPE"},
      {fnzi_derive_out, "n::f(Tensor(a!) x) -> Tensor(a!)", "TYPE"},
      {fnzi_derive_out, "n::f_(Tensor(a!) x) -> Tensor(a!)", "TYPE"},
      {fnzi_derive_out, "n::f(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", "TYPE"},
      {fnzi_derive_out,
       "n::f(Tensor(a) a, Tensor(b) b, Tensor(c) c, Tensor(d) d, Tensor(e) e) -> ()", "TYPE"},
  };
  begin();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    fnz_op *op, *made;
    OK(ctx, fnzi_schema_parse(&arena, rows[i].schema, &op));
    FAILS(ctx, rows[i].kind, rows[i].derive(&arena, op, &made));
  }
  end();
}
END_TEST

RUN_SUITE("derive", all_generated_rows_are_derived, other_namespaces_follow_the_rules,
          an_argument_that_is_no_output_stays, what_has_no_variant_is_refused)
